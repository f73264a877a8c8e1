//! `PROTOCOL.md` is enough to write a device: the one in Python (`examples/device.py`) fetches and puts through a
//! connection that is cut at the worst moment, and everything comes once.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly, its helpers too")]

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bytes::Bytes;
use mq_wire::{QMgrName, QName};
use mqe::area::{Area, AreaEffect, AreaSettings, Counter, Onboarding, PutCheck};
use mqe::frame::{Frame, Limits, PutOutcome};
use mqe::gateway_end::{DeviceConnection, DeviceEvent};
use mqe::{ConnId, DeviceMessage, DeviceName, Now, StoreIdentity};
use store::mem::MemStore;
use store::{Batch, Commit, Recovered, Store};

struct Gateway {
    store: MemStore,
    area: Area,
    begun: Instant,
    puts: Vec<Bytes>,
    conns: u64,
    /// The connection is cut when CONFIRM has come, before anything is made of it.
    cut_at_confirm: bool,
}

impl Gateway {
    fn new() -> Self {
        let (mut store, _) = MemStore::new(None);
        let begun = Instant::now();
        let mut settings = AreaSettings::new(QMgrName::new("GATE1").unwrap(), StoreIdentity([5; 16]));
        settings.onboarding = Onboarding { patterns: vec!["DEV*".to_owned()], devices_max: 10 };
        let mut batch = store.begin();
        let now = Now { wall_ms: 1, instant: begun };
        let area = Area::new(settings, &Recovered::default(), now, &mut batch).unwrap();
        store.submit(batch);
        Self { store, area, begun, puts: Vec::new(), conns: 0, cut_at_confirm: false }
    }

    fn turn(&mut self, f: impl FnOnce(&mut Area, Now, &mut Batch, &mut Vec<AreaEffect>)) -> Vec<AreaEffect> {
        let instant = Instant::now();
        let now = Now { wall_ms: 1 + instant.duration_since(self.begun).as_millis() as u64, instant };
        let mut batch = self.store.begin();
        let mut out = Vec::new();
        f(&mut self.area, now, &mut batch, &mut out);
        self.store.submit(batch);
        out
    }

    fn give(&mut self, device: DeviceName, text: &str) {
        let message =
            DeviceMessage::new(QName::new("ORDERS").unwrap(), Bytes::copy_from_slice(text.as_bytes()));
        self.turn(|area, now, batch, out| {
            let unit = batch.new_unit();
            area.accept(now, &device, &message, unit, batch).unwrap();
            let mut commit = Commit { unit: Some(unit), ..Commit::default() };
            area.seal_unit(now, unit, &mut commit);
            batch.commit(commit);
            area.unit_is_real(now, unit, batch, out);
        });
    }

    fn serve(&mut self, mut socket: TcpStream) {
        self.conns += 1;
        let conn = ConnId(self.conns);
        let mut machine = DeviceConnection::new(Instant::now(), Limits::default(), Duration::from_secs(10));
        socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let mut buffer = [0; 4096];
        loop {
            let mut effects = Vec::new();
            match socket.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => machine.handle_bytes(Instant::now(), &buffer[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => break,
                Err(_) => effects.extend(self.turn(Area::handle_timeout)),
            }
            while let Some(event) = machine.poll_event() {
                let DeviceEvent::Request { request, frame } = event else { panic!("{event:?}") };
                if self.cut_at_confirm && matches!(frame, Frame::Confirm(_)) {
                    socket.shutdown(Shutdown::Both).unwrap();
                    self.area.closed(conn);
                    return;
                }
                let mut puts = std::mem::take(&mut self.puts);
                effects.extend(self.turn(|area, now, batch, out| match frame {
                    Frame::Hello(hello) => area.hello(conn, request, &hello, batch, out),
                    Frame::Resume { stored, refused } => {
                        area.resume(conn, request, &stored, &refused, batch, out);
                    }
                    Frame::Get { messages, bytes, wait_ms } => {
                        area.get(now, conn, request, messages, bytes, wait_ms, batch, out);
                    }
                    Frame::Confirm(uids) => area.confirm(now, conn, request, &uids, batch, out),
                    Frame::Put(put) => {
                        if let PutCheck::New(_) = area.put_arrived(conn, request, put.sequence, out) {
                            DeviceMessage::from_envelope(&put.envelope, put.payload.clone()).unwrap();
                            let mut commit = Commit::default();
                            area.put_in_unit(conn, put.sequence, &mut commit).unwrap();
                            batch.commit(commit);
                            puts.push(put.payload);
                            area.put_answer(conn, request, put.sequence, PutOutcome::Taken, batch, out);
                        }
                    }
                    other => panic!("{other:?}"),
                }));
                self.puts = puts;
            }
            for effect in effects {
                match effect {
                    AreaEffect::Frame { request, frame, .. } => machine.send(request, &frame),
                    AreaEffect::Message { request, head, id, place, .. } => {
                        let record = self.store.body(id, place).read().unwrap();
                        machine.send_message(request, head, record.envelope, record.body);
                    }
                    other => panic!("{other:?}"),
                }
            }
            while let Some(bytes) = machine.poll_output() {
                socket.write_all(&bytes).unwrap();
            }
        }
        self.area.closed(conn);
    }
}

/// Runs the device once; its lines.
fn device(gateway: &mut Gateway, listener: &TcpListener, state: &Path, more: &[&str]) -> Vec<String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/device.py");
    let port = listener.local_addr().unwrap().port().to_string();
    let child = Command::new("python3")
        .arg(script)
        .args(["127.0.0.1", &port, "DEV00001"])
        .arg(state)
        .args(["--wait", "100"])
        .args(more)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (socket, _) = listener.accept().unwrap();
    gateway.serve(socket);
    let output = child.wait_with_output().unwrap();
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn a_device_in_python_gets_and_puts_everything_once() {
    if Command::new("python3").arg("--version").output().is_err() {
        assert!(std::env::var_os("CI").is_none(), "python3 is missing: install it");
        eprintln!("skipped: python3 is not installed");
        return;
    }
    let name = DeviceName::new("DEV00001").unwrap();
    let directory = tempfile::tempdir().unwrap();
    let state = directory.path().join("state");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut gateway = Gateway::new();
    gateway.give(name, "first");
    gateway.give(name, "second");

    // The confirm is lost with the connection.
    gateway.cut_at_confirm = true;
    let lines = device(&mut gateway, &listener, &state, &["--put", "REPLIES", "hello"]);
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(lines[0].contains("\"taken\"") && lines[1].contains("first") && lines[2].contains("second"));
    assert_eq!(gateway.area.device(&name).unwrap().in_doubt, 2);

    // It comes again with what it noted: nothing is printed or put a second time.
    gateway.cut_at_confirm = false;
    gateway.give(name, "third");
    let lines = device(&mut gateway, &listener, &state, &[]);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("third") && lines[0].contains("\"ORDERS\""));
    assert_eq!(gateway.puts, ["hello"]);
    let view = gateway.area.device(&name).unwrap();
    assert_eq!((view.waiting, view.in_doubt), (0, 0));
    assert_eq!(view.counters.get(Counter::Delivered), 3);
    assert_eq!(view.counters.get(Counter::PutTaken), 1);
}
