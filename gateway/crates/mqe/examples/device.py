#!/usr/bin/env python3
"""A device in the standard library of Python, written from PROTOCOL.md: fetches messages, prints each once, and puts one.

usage: device.py HOST PORT DEVICE STATE_FILE [--put QUEUE TEXT] [--wait MS]

STATE_FILE is the device's store: lines that only grow, each durable before anything is said that rests on it.
"""
import argparse, json, os, socket, struct

def fields(items):  # ascending names; int -> long, bytes -> bytes, str -> ASCII
    out = struct.pack(">H", len(items))
    for name, value in sorted(items.items()):
        kind, data = ((0xC7, struct.pack(">q", value)) if isinstance(value, int) else
                      (0xC0 if isinstance(value, bytes) else 0xC1, None))
        if data is None:
            raw = value if isinstance(value, bytes) else value.encode("ascii")
            data = struct.pack(">I", len(raw)) + raw
        out += struct.pack(">B", len(name)) + name.encode("ascii") + bytes([kind]) + data
    return out

def parse(data):  # the types that WELCOME and plain envelopes have
    count, at, result = struct.unpack_from(">H", data)[0], 2, {}
    for _ in range(count):
        length = data[at]
        name, kind, at = data[at + 1:at + 1 + length].decode(), data[at + 1 + length], at + 2 + length
        size = {0xC3: 1, 0xC4: 1, 0xC5: 2, 0xC6: 4, 0xC7: 8, 0xC8: 4, 0xC9: 8}.get(kind)
        if size is None:
            size, at = struct.unpack_from(">I", data, at)[0], at + 4
        raw, at = data[at:at + size], at + size
        result[name] = raw.decode("latin-1") if kind == 0xC1 else raw if kind > 0xC7 or kind == 0xC0 else int.from_bytes(raw, "big", signed=kind > 0xC4)
    return result

class Device:
    def __init__(self, name, path):
        self.name, self.incarnation, self.session, self.noted, self.outbox, self.next = name, 0, 0, set(), {}, 1
        self.file = open(path, "a+b")
        self.file.seek(0)
        good = 0
        for line in self.file:
            try:
                self.apply(json.loads(line))
            except ValueError:
                break  # a torn end
            good += len(line)
        self.file.truncate(good)

    def apply(self, record):
        kind, *rest = record
        if kind == "resuming": self.incarnation, self.session = rest
        elif kind == "noted": self.noted.add(rest[0])
        elif kind == "forgotten": self.noted -= set(rest[0])
        elif kind == "put": self.outbox[rest[0]] = rest[1:]; self.next = rest[0] + 1
        elif kind == "decided": self.outbox.pop(rest[0], None)

    def keep(self, *record):  # durable, then true
        self.file.write(json.dumps(record).encode() + b"\n")
        self.file.flush()
        os.fsync(self.file.fileno())
        self.apply(record)

    def send(self, kind, body=b"", request=1):
        self.sock.sendall(struct.pack(">IBI", 5 + len(body), kind, request) + body)

    def receive(self):
        def exactly(count):
            data = b""
            while len(data) < count:
                more = self.sock.recv(count - len(data))
                if not more: raise ConnectionError("the gateway closed the connection")
                data += more
            return data
        length, kind, _ = struct.unpack(">IBI", exactly(9))
        body = exactly(length - 5)
        if kind == 0xFF:
            code, retry, size = struct.unpack_from(">HII", body)
            raise ConnectionError(f"error {code}: {body[10:10 + size].decode()}")
        return kind, body

    def await_frame(self, wanted):
        while True:
            kind, body = self.receive()
            if kind == wanted: return body

    def uids(self, names):
        return struct.pack(">I", len(names)) + b"".join(bytes.fromhex(name) for name in names)

    def connect(self, host, port):
        self.sock = socket.create_connection((host, port))
        self.send(0x01, fields({"version": 1, "device": self.name, "incarnation": self.incarnation, "session": self.session}))
        welcome = parse(self.await_frame(0x81))
        self.keep("resuming", welcome["incarnation"], welcome["session"])
        named = sorted(self.noted)
        self.send(0x02, self.uids(named) + struct.pack(">I", 0))
        self.await_frame(0x82)
        self.keep("forgotten", named)

    def put(self, queue, text):
        self.keep("put", self.next, queue, text)

    def drain_outbox(self):  # one at a time: always within the credit, always in order
        for sequence, (queue, text) in sorted(self.outbox.items()):
            envelope = fields({"queue": queue, "format": "MQSTR", "ccsid": 1208})
            self.send(0x07, struct.pack(">QB", sequence, len(queue)) + queue.encode() + b"\0"
                      + struct.pack(">I", len(envelope)) + envelope + text.encode())
            _, outcome, detail = struct.unpack(">QBI", self.await_frame(0x88))
            if outcome == 2: return  # busy: a later run sends it again
            self.keep("decided", sequence)
            print(json.dumps({"put": sequence, "outcome": ["taken", "refused"][outcome], "reason": detail}), flush=True)

    def pull(self, wait_ms):
        while True:
            self.send(0x03, struct.pack(">III", 32, 1 << 18, wait_ms), request=2)
            given = 0
            while True:
                kind, body = self.receive()
                if kind == 0x84:
                    waiting = struct.unpack_from(">I", body, 4)[0]
                    break
                if kind == 0x83:
                    uid, size = body[:24].hex(), struct.unpack_from(">I", body, 34)[0]
                    if uid not in self.noted:
                        self.keep("noted", uid)
                        print(json.dumps({"queue": parse(body[38:38 + size])["queue"], "uid": uid,
                                          "payload": body[38 + size:].decode("utf-8", "replace")}), flush=True)
                    given += 1
            if not given and not waiting: return
            named = sorted(self.noted)
            self.send(0x04, self.uids(named), request=3)
            self.await_frame(0x85)
            self.keep("forgotten", named)

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("host"); parser.add_argument("port", type=int); parser.add_argument("device"); parser.add_argument("state")
    parser.add_argument("--put", nargs=2, metavar=("QUEUE", "TEXT"))
    parser.add_argument("--wait", type=int, default=1000, metavar="MS")
    arguments = parser.parse_args()
    device = Device(arguments.device, arguments.state)
    if arguments.put: device.put(*arguments.put)
    device.connect(arguments.host, arguments.port)
    device.drain_outbox()
    device.pull(arguments.wait)
