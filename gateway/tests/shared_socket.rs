//! A shared socket against the service: conversations are connections of their own, and nobody holds up another. The
//! client is one by hand, since ours does not share.

mod running;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use mq_wire::{
    ApiHeader, Body, Call, CapFlags1, CapFlags2, CapFlags3, CompCode, ConnectBody, ControlFlags1, GetBody,
    GetOptions, InitialData, InquireBody, Mqgmo, Mqmd, Mqod, Mqpmo, Mqsts, OpenBody, OpenOptions, PutBody,
    PutOptions, Reason, SegmentHeader, SegmentKind, SegmentType, Selector, SocketAction, SocketActionType,
    StatBody, Writer, encode_segment,
};

use running::Running;

const PROGRAM: &str = env!("CARGO_BIN_EXE_mqe-gateway");
/// Until what is awaited has come; generous, because a debug build on a busy machine is slow.
const TIME_MAX: Duration = Duration::from_secs(60);

/// The service, and where it listens.
struct Service {
    _running: Running,
    mq: String,
}

impl Service {
    #[expect(clippy::unwrap_used, reason = "without the service there is nothing to test")]
    fn start(folder: &Path, config: &str) -> Self {
        std::fs::write(folder.join("mqe-gateway.toml"), config).unwrap();
        let (running, word) = Running::start(Command::new(PROGRAM).current_dir(folder), &[]);
        Self { _running: running, mq: word("mq") }
    }
}

/// A client's end of a shared socket.
struct Socket {
    stream: TcpStream,
    read: Vec<u8>,
}

#[expect(clippy::unwrap_used, clippy::panic, reason = "in a test that is a failure like any other")]
impl Socket {
    /// Agreed, and connected in conversation 1.
    fn connect(service: &Service) -> Self {
        let stream = TcpStream::connect(&service.mq).unwrap();
        stream.set_read_timeout(Some(TIME_MAX)).unwrap();
        let mut socket = Self { stream, read: Vec::new() };
        let first = InitialData {
            fap_level: 14,
            cap_flags_1: CapFlags1::from_bits_retain(0x26),
            cap_flags_2: CapFlags2::from_bits_retain(0x51),
            cap_flags_3: CapFlags3::from_bits_retain(0x28),
            max_transmission_size: 32_748,
            max_msg_size: 104_857_600,
            heartbeat_interval: 300,
            conv_per_socket: 10,
            channel_name: "DEV.APP.SVRCONN".parse().unwrap(),
            ..InitialData::default()
        };
        socket.send(SegmentKind::Tsh, 0, SegmentType::INITIAL_DATA, &Body::InitialData(Box::new(first)));
        let (_, Body::InitialData(answer)) = socket.receive() else { panic!() };
        assert_eq!((answer.fap_level, answer.conv_per_socket), (14, 10));
        socket.send(SegmentKind::Tshm, 1, SegmentType::INITIAL_DATA, &Body::InitialData(answer));
        socket.receive();
        socket.conn(1);
        socket
    }

    fn conn(&mut self, conversation: u32) {
        let call = Call::Connect(Box::<ConnectBody>::default());
        let (api, _) = self.round(conversation, SegmentType::MQCONN, 0, call);
        assert_eq!(api.reason, Reason::NONE);
    }

    /// Another conversation.
    fn start(&mut self, conversation: u32) {
        let action = SocketAction {
            conversation_id: conversation,
            action: SocketActionType::START,
            ..SocketAction::default()
        };
        self.send(SegmentKind::Tshc, 0, SegmentType::SOCKET_ACTION, &Body::SocketAction(action));
        let (header, _) = self.receive();
        assert_eq!((header.kind, header.conversation_id), (SegmentKind::Tshm, conversation));
        self.conn(conversation);
    }

    fn send(&mut self, kind: SegmentKind, conversation_id: u32, segment_type: SegmentType, body: &Body) {
        let header = SegmentHeader { conversation_id, ..SegmentHeader::new(kind, segment_type) };
        let (mut bytes, mut segment) = (BytesMut::new(), BytesMut::new());
        body.encode(&mut Writer::new(&mut bytes, header.coding()));
        encode_segment(&header, &bytes, &mut segment);
        self.stream.write_all(&segment).unwrap();
    }

    fn call(&mut self, conversation: u32, segment_type: SegmentType, object_handle: i32, call: Call) {
        let api = ApiHeader { object_handle, ..ApiHeader::default() };
        self.send(SegmentKind::Tshm, conversation, segment_type, &Body::Call(api, call));
    }

    fn receive(&mut self) -> (SegmentHeader, Body) {
        loop {
            if let Some((header, length)) = SegmentHeader::peek(&self.read, 40_000).unwrap()
                && self.read.len() >= length
            {
                let segment: Vec<u8> = self.read.drain(..length).collect();
                let body = Bytes::copy_from_slice(&segment[header.length()..]);
                return (header, Body::decode(&header, &body, 14).unwrap());
            }
            let mut piece = [0; 4096];
            let read = self.stream.read(&mut piece).unwrap();
            assert!(read > 0, "the service has closed the socket");
            self.read.extend_from_slice(&piece[..read]);
        }
    }

    /// The next answer, which is one of this conversation.
    fn answer(&mut self, conversation: u32) -> (ApiHeader, Call) {
        let (header, body) = self.receive();
        assert_eq!(header.conversation_id, conversation, "{body:?}");
        let Body::Call(api, call) = body else { panic!("{body:?}") };
        (api, call)
    }

    fn round(
        &mut self,
        conversation: u32,
        segment_type: SegmentType,
        handle: i32,
        call: Call,
    ) -> (ApiHeader, Call) {
        self.call(conversation, segment_type, handle, call);
        self.answer(conversation)
    }

    fn open(&mut self, conversation: u32, queue: &str) -> i32 {
        let od = Mqod { object_name: queue.parse().unwrap(), ..Mqod::default() };
        let options = OpenOptions::OUTPUT | OpenOptions::INPUT_SHARED | OpenOptions::INQUIRE;
        let body = OpenBody { od, options, ..OpenBody::default() };
        let (api, _) = self.round(conversation, SegmentType::MQOPEN, 0, Call::Open(Box::new(body)));
        assert_eq!(api.reason, Reason::NONE);
        api.object_handle
    }

    fn depth(&mut self, conversation: u32, handle: i32) -> i32 {
        let selectors = vec![Selector::IA_CURRENT_Q_DEPTH];
        let body = InquireBody { int_attr_count: 1, char_attr_length: 0, selectors };
        let (_, call) = self.round(conversation, SegmentType::MQINQ, handle, Call::Inquire(body));
        let Call::Attributes(attributes) = call else { panic!("{call:?}") };
        attributes.int_attrs[0]
    }
}

fn put(options: PutOptions, data: &'static [u8]) -> Call {
    let pmo = Mqpmo { options, ..Mqpmo::default() };
    Call::Put(Box::new(PutBody { pmo, data: Bytes::from_static(data), ..PutBody::default() }))
}

fn get(options: GetOptions, wait_interval: i32) -> Call {
    let gmo = Mqgmo { options, wait_interval, ..Mqgmo::default() };
    Call::Get(Box::new(GetBody { md: Mqmd::default(), gmo, buffer_length: 100 }))
}

#[test]
fn a_waiting_get_is_answered_by_a_put_of_another_conversation() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), "");
    let mut socket = Socket::connect(&service);
    let waits = socket.open(1, "DEV.QUEUE.1");
    for conversation in [3, 5] {
        socket.start(conversation);
    }
    socket.call(1, SegmentType::MQGET, waits, get(GetOptions::WAIT, -1));
    let out = socket.open(3, "DEV.QUEUE.1");
    assert_eq!(socket.depth(3, out), 0, "it is served while the other one waits");
    socket.call(5, SegmentType::MQCMIT, 0, Call::Empty);
    assert_eq!(socket.answer(5).0.reason, Reason::NONE);
    socket.call(3, SegmentType::MQPUT, out, put(PutOptions::NO_SYNCPOINT, b"hello"));
    let mut answered = [socket.receive(), socket.receive()];
    answered.sort_by_key(|(header, _)| header.conversation_id);
    let [(first, Body::Call(_, Call::GetReply(got))), (third, Body::Call(api, _))] = answered else {
        panic!("{answered:?}")
    };
    assert_eq!((first.conversation_id, &got.data[..]), (1, &b"hello"[..]));
    assert_eq!((third.conversation_id, api.comp_code), (3, CompCode::OK));
}

#[test]
fn what_a_conversation_leaves_open_is_backed_out_and_its_handles_are_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), "");
    let mut socket = Socket::connect(&service);
    let watcher = socket.open(1, "DEV.QUEUE.1");
    socket.start(3);
    let out = socket.open(3, "DEV.QUEUE.1");
    let (api, _) = socket.round(3, SegmentType::MQPUT, out, put(PutOptions::SYNCPOINT, b"one"));
    assert_eq!(api.reason, Reason::NONE);
    assert_eq!(socket.depth(1, watcher), 1, "it is there, though nobody can get it");
    // Another's handle is none.
    let (api, _) = socket.round(1, SegmentType::MQPUT, out + 1, put(PutOptions::SYNCPOINT, b"two"));
    assert_eq!(api.reason, Reason::HOBJ_ERROR);
    let end = SocketAction { conversation_id: 3, action: SocketActionType::END, ..SocketAction::default() };
    socket.send(SegmentKind::Tshc, 0, SegmentType::SOCKET_ACTION, &Body::SocketAction(end));
    // The end goes before what comes behind it on the socket.
    assert_eq!(socket.depth(1, watcher), 0);

    // A lost socket ends all of them.
    socket.start(3);
    for conversation in [1, 3] {
        let handle = socket.open(conversation, "DEV.QUEUE.1");
        let (api, _) =
            socket.round(conversation, SegmentType::MQPUT, handle, put(PutOptions::SYNCPOINT, b"lost"));
        assert_eq!(api.reason, Reason::NONE);
    }
    drop(socket);
    let mut socket = Socket::connect(&service);
    let watcher = socket.open(1, "DEV.QUEUE.1");
    let begun = Instant::now();
    while socket.depth(1, watcher) != 0 {
        assert!(begun.elapsed() < TIME_MAX, "it is not backed out");
    }
}

#[test]
fn puts_without_answers_are_there_when_the_next_call_is_answered() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), "");
    let mut socket = Socket::connect(&service);
    let queue = socket.open(1, "DEV.QUEUE.1");
    for _ in 0..500 {
        socket.call(1, SegmentType::MQPUT, queue, put(PutOptions::ASYNC_RESPONSE, b"x"));
    }
    // One that fails: there is no such handle.
    socket.call(1, SegmentType::MQPUT, 77, put(PutOptions::ASYNC_RESPONSE, b"x"));
    assert_eq!(socket.depth(1, queue), 500);
    let stat = Call::Stat(Box::new(StatBody { stat_type: 0, sts: Mqsts::default() }));
    let (_, Call::Stat(body)) = socket.round(1, SegmentType::MQSTAT, 0, stat) else { panic!() };
    let sts = body.sts;
    assert_eq!((sts.put_success_count, sts.put_failure_count, sts.reason), (500, 1, Reason::HOBJ_ERROR));
}

#[test]
fn a_client_that_stops_reading_is_cut_off_and_nobody_waits_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let config = "[limits]\nwrite_stall_seconds_max = 1\n";
    let service = Service::start(folder.path(), config);
    let mut stuck = Socket::connect(&service);
    let mut other = Socket::connect(&service);
    let handle = other.open(1, "DEV.QUEUE.2");
    // It asks for a sign of life again and again, and reads none.
    let asks = SegmentHeader {
        control_flags_1: ControlFlags1::CONFIRM_REQUEST,
        ..SegmentHeader::new(SegmentKind::Tshc, SegmentType::HEARTBEAT)
    };
    let mut beats = BytesMut::new();
    for _ in 0..2000 {
        encode_segment(&asks, &[], &mut beats);
    }
    stuck.stream.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
    let mut cut = false;
    let begun = Instant::now();
    while !cut && begun.elapsed() < TIME_MAX {
        cut = match stuck.stream.write_all(&beats) {
            Ok(()) => false,
            // Its own end is full too: it waits for the service to give it up.
            Err(error) => {
                !matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut)
            }
        };
        assert_eq!(other.depth(1, handle), 0, "others are served meanwhile");
    }
    assert!(cut, "a client that takes nothing is still connected");
}

#[test]
fn a_call_of_no_conversation_ends_the_socket() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), "");
    let mut socket = Socket::connect(&service);
    socket.call(9, SegmentType::MQCMIT, 0, Call::Empty);
    let (header, body) = socket.receive();
    assert_eq!((header.kind, header.segment_type), (SegmentKind::Tshc, SegmentType::STATUS));
    assert!(matches!(body, Body::Status(Some(_))));
    let mut rest = Vec::new();
    assert_eq!(socket.stream.read_to_end(&mut rest).unwrap(), 0);
    Socket::connect(&service);
}
