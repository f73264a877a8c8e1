//! A shared socket: conversations that come and go and do not hold each other up, heartbeats, puts without answers.

mod late;

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use mq_channel::{
    CallId, ChannelTerms, ConnectionError, Event, HELD_BYTES_MAX, OpenDefaults, PeerError, Reply, Request,
    ServerConnection,
};
use mq_wire::{
    ApiHeader, Body, Call, CapFlags1, CapFlags2, CapFlags3, CompCode, ConnAuth, ConnectBody, GetBody,
    GetOptions, InitialData, Mqgmo, Mqmd, Mqod, Mqpmo, Mqsts, MsgId, OpenBody, OpenOptions, Put1Body,
    PutBody, PutOptions, Reason, SegmentHeader, SegmentKind, SegmentType, SocketAction, SocketActionType,
    SpiBody, SpiCall, SpiHeader, SpiReserve, SpiVerb, StatBody, UserIdData,
};

use crate::pair::{connect_reply, segment_with, server_config};

/// A client of several conversations, by hand.
struct Socket {
    time: Instant,
    server: ServerConnection,
}

/// What the server sent: header and body.
type Sent = (SegmentHeader, Body);

impl Socket {
    /// Connected in conversation 1.
    fn connected(terms: ChannelTerms) -> Self {
        let mut socket = Self::identifying(terms);
        socket.connect(1);
        socket
    }

    /// Agreed, and nothing more.
    fn identifying(terms: ChannelTerms) -> Self {
        let time = Instant::now();
        let mut socket = Self { time, server: ServerConnection::new(Arc::new(server_config()), time) };
        let first = InitialData {
            fap_level: 17,
            cap_flags_1: CapFlags1::from_bits_retain(0x26),
            cap_flags_2: CapFlags2::from_bits_retain(0x51),
            cap_flags_3: CapFlags3::from_bits_retain(0x28),
            max_transmission_size: 32_748,
            max_msg_size: 104_857_600,
            heartbeat_interval: 1,
            conv_per_socket: 10,
            channel_name: "DEV.APP.SVRCONN".parse().unwrap(),
            ..InitialData::default()
        };
        let header = SegmentHeader::new(SegmentKind::Tsh, SegmentType::INITIAL_DATA);
        socket.send(&segment_with(header, 0x31, &Body::InitialData(Box::new(first)))).unwrap();
        assert!(matches!(socket.server.poll_event(), Some(Event::ChannelRequested(_))));
        socket.server.channel_accepted(terms).unwrap();
        let (header, Body::InitialData(answer)) = socket.sent() else { panic!() };
        assert_eq!((header.kind, header.control_flags_1.bits()), (SegmentKind::Tsh, 0x02));
        socket.control(1, SegmentType::INITIAL_DATA, &Body::InitialData(answer)).unwrap();
        let (header, _) = socket.sent();
        assert_eq!((header.kind, header.control_flags_1.bits()), (SegmentKind::Tshm, 0x00));
        socket
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), ConnectionError> {
        self.server.handle_bytes(self.time, bytes)
    }

    fn control(
        &mut self,
        conversation: u32,
        segment_type: SegmentType,
        body: &Body,
    ) -> Result<(), ConnectionError> {
        let header = SegmentHeader {
            conversation_id: conversation,
            ..SegmentHeader::new(SegmentKind::Tshm, segment_type)
        };
        self.send(&segment_with(header, 0x30, body))
    }

    fn try_call(
        &mut self,
        conversation: u32,
        segment_type: SegmentType,
        call: Call,
    ) -> Result<(), ConnectionError> {
        self.control(conversation, segment_type, &Body::Call(ApiHeader::default(), call))
    }

    fn call(&mut self, conversation: u32, segment_type: SegmentType, call: Call) {
        self.try_call(conversation, segment_type, call).unwrap();
    }

    /// What the owner is asked, of which conversation.
    fn asked(&mut self) -> (u32, CallId, Request) {
        match self.server.poll_event() {
            Some(Event::Call { conversation, call, request }) => (conversation, call, request),
            other => panic!("{other:?} instead of a call"),
        }
    }

    fn reply(&mut self, call: CallId, reply: Reply) {
        self.server.reply(self.time, call, reply).unwrap();
    }

    /// The next thing that was sent.
    fn sent(&mut self) -> Sent {
        let bytes = self.server.poll_output().expect("nothing was sent");
        let (header, length) = SegmentHeader::peek(&bytes, 1 << 20).unwrap().unwrap();
        assert_eq!(length, bytes.len());
        (header, Body::decode(&header, &bytes.slice(header.length()..), 14).unwrap())
    }

    /// The next thing that was sent is the answer to a call of this conversation.
    fn answer(&mut self, conversation: u32) -> (SegmentType, CompCode, Reason, Call) {
        let (header, body) = self.sent();
        assert_eq!((header.kind, header.conversation_id), (SegmentKind::Tshm, conversation));
        let Body::Call(api, call) = body else { panic!("{body:?}") };
        (header.segment_type, api.comp_code, api.reason, call)
    }

    fn is_silent(&mut self) -> bool {
        self.server.poll_output().is_none()
    }

    fn action(&mut self, conversation: u32, action: SocketActionType) -> Result<(), ConnectionError> {
        self.action_with(0x30, conversation, action)
    }

    fn action_with(
        &mut self,
        flags: u8,
        conversation: u32,
        action: SocketActionType,
    ) -> Result<(), ConnectionError> {
        let body =
            SocketAction { conversation_id: conversation, request_id: 0, action, parm_1: 30, parm_2: 13 };
        let header = SegmentHeader::new(SegmentKind::Tshc, SegmentType::SOCKET_ACTION);
        self.send(&segment_with(header, flags, &Body::SocketAction(body)))
    }

    /// MQCONN, answered.
    fn connect(&mut self, conversation: u32) {
        self.call(conversation, SegmentType::MQCONN, Call::Connect(Box::<ConnectBody>::default()));
        let (asked, call, request) = self.asked();
        assert!(asked == conversation && matches!(request, Request::Connect(_)), "{request:?}");
        self.reply(call, connect_reply());
        assert_eq!(self.answer(conversation).0, SegmentType::MQCONN_REPLY);
    }

    fn start(&mut self, conversation: u32) {
        self.action(conversation, SocketActionType::START).unwrap();
        let (header, body) = self.sent();
        assert_eq!((header.kind, header.control_flags_1.bits()), (SegmentKind::Tshm, 0));
        assert_eq!((header.conversation_id, header.request_id), (conversation, 0));
        let Body::SocketAction(answer) = body else { panic!("{body:?}") };
        assert_eq!((answer.conversation_id, answer.action), (conversation, SocketActionType::STARTED));
    }

    /// MQCMIT and its answer.
    fn commit(&mut self, conversation: u32) {
        self.call(conversation, SegmentType::MQCMIT, Call::Empty);
        let (asked, call, request) = self.asked();
        assert_eq!((asked, request), (conversation, Request::Commit));
        self.reply(call, Reply::DONE);
        assert_eq!(self.answer(conversation).0, SegmentType::MQCMIT_REPLY);
    }

    /// A get that waits; it is not answered.
    fn waiting_get(&mut self, conversation: u32) -> CallId {
        let gmo = Mqgmo { options: GetOptions::WAIT, wait_interval: -1, ..Mqgmo::default() };
        let body = GetBody { md: Mqmd::default(), gmo, buffer_length: 100 };
        self.call(conversation, SegmentType::MQGET, Call::Get(Box::new(body)));
        let (asked, call, request) = self.asked();
        assert!(asked == conversation && matches!(request, Request::Get { .. }), "{request:?}");
        call
    }

    fn pass(&mut self, seconds: u64) {
        self.time += Duration::from_secs(seconds);
    }
}

fn async_put(options: PutOptions, length: usize) -> Call {
    let pmo = Mqpmo { options: options | PutOptions::ASYNC_RESPONSE, ..Mqpmo::default() };
    let data = Bytes::from(vec![b'x'; length]);
    Call::Put(Box::new(PutBody { md: Mqmd::default(), pmo, records: Bytes::new(), data }))
}

fn put_done() -> Reply {
    let (md, pmo) = (Mqmd::default(), Mqpmo::default());
    Reply::Put { cc: CompCode::OK, reason: Reason::NONE, md, pmo }
}

fn stat(kind: u32) -> Call {
    Call::Stat(Box::new(StatBody { stat_type: kind, sts: Mqsts::default() }))
}

#[test]
fn a_get_that_waits_holds_up_its_own_conversation_only() {
    let mut socket = Socket::connected(ChannelTerms::default());
    let waits = socket.waiting_get(1);
    for conversation in [3, 5] {
        socket.start(conversation);
        socket.connect(conversation);
        socket.commit(conversation);
    }
    let waits_too = socket.waiting_get(5);
    socket.commit(3);
    socket.reply(waits_too, Reply::failed(Reason::NO_MSG_AVAILABLE));
    assert_eq!(socket.answer(5).2, Reason::NO_MSG_AVAILABLE);
    socket.reply(waits, Reply::failed(Reason::GET_INHIBITED));
    assert_eq!(socket.answer(1).2, Reason::GET_INHIBITED);
    // Its own is held to the protocol: there is one call at a time.
    socket.waiting_get(1);
    let error = socket.try_call(1, SegmentType::MQCMIT, Call::Empty).unwrap_err();
    let (segment, state) = (SegmentType::MQCMIT, "while a call is open");
    assert_eq!(error, ConnectionError::Peer(PeerError::Unexpected { segment, state }));
}

#[test]
fn calls_of_several_segments_may_be_mixed() {
    let mut socket = Socket::connected(ChannelTerms::default());
    socket.start(3);
    socket.connect(3);
    let parts: Vec<Vec<Vec<u8>>> = [1_u32, 3]
        .map(|conversation| {
            let header = SegmentHeader {
                conversation_id: conversation,
                request_id: 9,
                ..SegmentHeader::new(SegmentKind::Tshm, SegmentType::MQPUT)
            };
            let data = Bytes::from(vec![conversation as u8; 5000]);
            let put = PutBody { data, ..PutBody::default() };
            let body = Body::Call(ApiHeader::default(), Call::Put(Box::new(put)));
            let whole = segment_with(header, 0x30, &body);
            let chunks: Vec<&[u8]> = whole[36..].chunks(2000).collect();
            let last = chunks.len() - 1;
            let segment = |(index, chunk): (usize, &&[u8])| {
                let flags = [0x10, 0x00, 0x20][usize::from(index > 0) + usize::from(index == last)];
                segment_with(header, flags, &Body::Opaque(Bytes::copy_from_slice(chunk)))
            };
            chunks.iter().enumerate().map(segment).collect()
        })
        .into();
    for index in 0..parts[0].len() {
        for call in &parts {
            socket.send(&call[index]).unwrap();
        }
    }
    for conversation in [1, 3] {
        let (asked, call, request) = socket.asked();
        let Request::Put { data, .. } = request else { panic!("{request:?}") };
        assert_eq!((asked, data), (conversation, Bytes::from(vec![conversation as u8; 5000])));
        socket.reply(call, put_done());
        let (header, _) = socket.sent();
        assert_eq!((header.conversation_id, header.request_id), (conversation, 9), "as it was asked");
    }
}

#[test]
fn conversations_end_one_by_one() {
    let mut socket = Socket::connected(ChannelTerms::default());
    socket.start(3);
    socket.connect(3);
    let waits = socket.waiting_get(3);
    socket.action(3, SocketActionType::END).unwrap();
    assert_eq!(socket.server.poll_event(), Some(Event::ConversationEnded { conversation: 3 }));
    assert!(socket.is_silent(), "there is no answer");
    socket.reply(waits, Reply::failed(Reason::NO_MSG_AVAILABLE));
    assert!(socket.is_silent(), "nobody waits for it any more");
    // Its number is free again.
    socket.start(3);
    socket.connect(3);
    assert!(socket.server.reply(socket.time, waits, Reply::DONE).is_err(), "that call is not of this one");
}

#[test]
fn the_last_one_says_that_it_closes_the_socket() {
    let mut socket = Socket::connected(ChannelTerms::default());
    socket.call(1, SegmentType::MQDISC, Call::Empty);
    let (_, call, request) = socket.asked();
    assert_eq!(request, Request::Disconnect);
    socket.reply(call, Reply::DONE);
    assert_eq!(socket.answer(1).0, SegmentType::MQDISC_REPLY);
    assert!(socket.server.is_ended());
    socket.action_with(0x38, 1, SocketActionType::END).unwrap();
    assert_eq!(socket.server.poll_event(), Some(Event::ConversationEnded { conversation: 1 }));
    assert_eq!(socket.server.poll_event(), Some(Event::Ended));
    assert!(socket.server.is_finished());

    // One that does not say so has some time for another conversation.
    let mut socket = Socket::connected(ChannelTerms::default());
    socket.action(1, SocketActionType::END).unwrap();
    assert_eq!(socket.server.poll_event(), Some(Event::ConversationEnded { conversation: 1 }));
    assert_eq!(socket.server.poll_timeout(), Some(socket.time + server_config().handshake_timeout));
    socket.start(3);
    socket.connect(3);
    socket.action(3, SocketActionType::END).unwrap();
    while socket.server.poll_event().is_some() {}
    socket.time = socket.server.poll_timeout().unwrap();
    socket.server.handle_timeout(socket.time).unwrap();
    assert_eq!(socket.server.poll_event(), Some(Event::Ended));
}

#[test]
fn what_does_not_belong_to_a_conversation_ends_the_connection() {
    let check = |wrong: fn(&mut Socket) -> Result<(), ConnectionError>, expected: PeerError| {
        let mut socket = Socket::connected(ChannelTerms { conversations: 2, ..ChannelTerms::default() });
        let error = wrong(&mut socket).unwrap_err();
        assert_eq!(error, ConnectionError::Peer(expected));
        let (status, _) = socket.sent();
        assert_eq!((status.kind, status.segment_type), (SegmentKind::Tshc, SegmentType::STATUS));
        assert_eq!(status.control_flags_1.bits(), 0x0A);
        assert!(socket.server.is_finished());
    };
    check(|socket| socket.try_call(3, SegmentType::MQCMIT, Call::Empty), PeerError::Conversation(3));
    check(|socket| socket.action(1, SocketActionType::START), PeerError::Conversation(1));
    check(|socket| socket.action(3, SocketActionType::END), PeerError::Conversation(3));
    let other = SocketActionType(7);
    check(|socket| socket.action(3, SocketActionType(7)), PeerError::SocketAction(other));
    let too_many = |socket: &mut Socket| {
        socket.start(3);
        socket.action(5, SocketActionType::START)
    };
    check(too_many, PeerError::Conversation(5));
    let plain = |socket: &mut Socket| {
        let body = Body::Call(ApiHeader::default(), Call::Empty);
        socket.send(&crate::pair::segment(SegmentType::MQCMIT, 0x30, &body))
    };
    check(plain, PeerError::Conversation(0));
    let plain_heartbeat = |socket: &mut Socket| {
        socket.send(&crate::pair::segment(SegmentType::HEARTBEAT, 0x31, &Body::Status(None)))
    };
    check(plain_heartbeat, PeerError::HeaderKind);
    let early = |socket: &mut Socket| {
        socket.start(3);
        socket.try_call(3, SegmentType::MQCMIT, Call::Empty)
    };
    let (segment, state) = (SegmentType::MQCMIT, "before MQCONN");
    check(early, PeerError::Unexpected { segment, state });
}

#[test]
fn heartbeats_concern_the_socket_as_a_whole() {
    let mut socket = Socket::connected(ChannelTerms { heartbeat_s: 20, ..ChannelTerms::default() });
    let header = SegmentHeader::new(SegmentKind::Tshc, SegmentType::HEARTBEAT);
    socket.send(&segment_with(header, 0x31, &Body::Status(None))).unwrap();
    let (answer, _) = socket.sent();
    assert_eq!((answer.kind, answer.segment_type), (SegmentKind::Tshc, SegmentType::HEARTBEAT));
    assert_eq!(answer.control_flags_1.bits(), 0x30);
    // Without a conversation it has the same right to know.
    let mut alone = Socket::connected(ChannelTerms { heartbeat_s: 20, ..ChannelTerms::default() });
    alone.action(1, SocketActionType::END).unwrap();
    alone.send(&segment_with(header, 0x31, &Body::Status(None))).unwrap();
    assert_eq!(alone.sent().0.segment_type, SegmentType::HEARTBEAT);
    // The client's comes after 20 seconds of silence, the server's some time after that.
    assert_eq!(socket.server.poll_timeout(), Some(socket.time + Duration::from_secs(25)));
    socket.pass(25);
    socket.server.handle_timeout(socket.time).unwrap();
    let (asked, _) = socket.sent();
    assert_eq!((asked.kind, asked.control_flags_1.bits()), (SegmentKind::Tshc, 0x01));
    // An answer, and all is well.
    socket.pass(1);
    socket.send(&segment_with(header, 0x30, &Body::Status(None))).unwrap();
    assert!(socket.is_silent(), "an answer is not answered");
    assert_eq!(socket.server.poll_timeout(), Some(socket.time + Duration::from_secs(25)));
    // None, and the client is dead.
    socket.pass(25);
    socket.server.handle_timeout(socket.time).unwrap();
    assert_eq!(socket.server.poll_timeout(), Some(socket.time + Duration::from_secs(20)));
    socket.pass(20);
    assert!(matches!(socket.server.handle_timeout(socket.time), Err(ConnectionError::Silent(_))));
}

#[test]
fn no_heartbeats_without_an_interval() {
    let socket = Socket::connected(ChannelTerms { heartbeat_s: 0, ..ChannelTerms::default() });
    assert_eq!(socket.server.poll_timeout(), None);
}

#[test]
fn idle_conversations_are_ended_by_the_disconnect_interval() {
    let terms = ChannelTerms { heartbeat_s: 0, idle_s: 10, ..ChannelTerms::default() };
    let mut socket = Socket::connected(terms);
    socket.start(3);
    socket.connect(3);
    // One that waits is not idle.
    let waits = socket.waiting_get(3);
    socket.pass(10);
    socket.server.handle_timeout(socket.time).unwrap();
    assert_eq!(socket.server.poll_event(), Some(Event::ConversationEnded { conversation: 1 }));
    socket.call(1, SegmentType::MQCMIT, Call::Empty);
    assert_eq!(socket.answer(1).2, Reason::CONNECTION_BROKEN);
    assert_eq!(socket.server.poll_timeout(), None);
    socket.reply(waits, Reply::failed(Reason::NO_MSG_AVAILABLE));
    assert_eq!(socket.server.poll_timeout(), Some(socket.time + Duration::from_secs(10)));
    socket.pass(10);
    assert_eq!(socket.server.handle_timeout(socket.time), Err(ConnectionError::Idle));
    assert!(socket.answer(3).0 == SegmentType::MQGET_REPLY && socket.is_silent(), "just closed");
}

#[test]
fn each_conversation_says_its_user_or_has_that_of_the_socket() {
    let mut socket = Socket::identifying(ChannelTerms::default());
    let uid = UserIdData { user_id: mq_wire::Chars::cut("APP"), ..UserIdData::default() };
    socket.control(1, SegmentType::USERID, &Body::UserId(Box::new(uid))).unwrap();
    let user = |socket: &mut Socket, conversation| {
        socket.call(conversation, SegmentType::MQCONN, Call::Connect(Box::default()));
        let (_, call, request) = socket.asked();
        let Request::Connect(connect) = request else { panic!("{request:?}") };
        socket.reply(call, connect_reply());
        socket.answer(conversation);
        connect.user
    };
    assert_eq!(user(&mut socket, 1), "APP");
    socket.start(3);
    assert_eq!(user(&mut socket, 3), "APP");
    socket.start(5);
    let caut = ConnAuth::new(Bytes::from_static(b"other"), Bytes::from_static(b"secret"), 14);
    socket.control(5, SegmentType::CONAUTH_INFO, &Body::ConnAuth(caut)).unwrap();
    let (consent, body) = socket.sent();
    assert_eq!((consent.kind, consent.conversation_id, body), (SegmentKind::Tshm, 5, Body::Status(None)));
    assert_eq!(user(&mut socket, 5), "other");
    socket.start(7);
    assert_eq!(user(&mut socket, 7), "APP");
}

#[test]
fn puts_without_answers_are_counted() {
    let mut socket = Socket::connected(ChannelTerms::default());
    let od = Mqod { object_name: "DEV.QUEUE.1".parse().unwrap(), ..Mqod::default() };
    let open = OpenBody { od: od.clone(), options: OpenOptions::OUTPUT, ..OpenBody::default() };
    socket.call(1, SegmentType::MQOPEN, Call::Open(Box::new(open)));
    let (_, call, _) = socket.asked();
    let (cc, reason, defaults) = (CompCode::OK, Reason::NONE, OpenDefaults::default());
    let resolved = Mqod { version: 4, resolved_q_name: od.object_name, ..od.clone() };
    socket.reply(call, Reply::Open { cc, reason, handle: 2, od: Box::new(resolved), defaults });
    socket.answer(1);

    let put = |socket: &mut Socket, reply: Reply| {
        let header =
            SegmentHeader { conversation_id: 1, ..SegmentHeader::new(SegmentKind::Tshm, SegmentType::MQPUT) };
        let api = ApiHeader { object_handle: 2, ..ApiHeader::default() };
        let body = Body::Call(api, async_put(PutOptions::NO_SYNCPOINT, 3));
        socket.send(&segment_with(header, 0x30, &body)).unwrap();
        let (_, call, request) = socket.asked();
        assert!(matches!(request, Request::Put { handle: 2, .. }), "{request:?}");
        socket.reply(call, reply);
        assert!(socket.is_silent());
    };
    put(&mut socket, put_done());
    let (cc, reason) = (CompCode::WARNING, Reason::PRIORITY_EXCEEDS_MAXIMUM);
    put(&mut socket, Reply::Put { cc, reason, md: Mqmd::default(), pmo: Mqpmo::default() });
    put(&mut socket, Reply::failed(Reason::Q_FULL));
    put(&mut socket, Reply::failed(Reason::PUT_INHIBITED));
    let put1 = Put1Body { od, put: PutBody::default(), ..Put1Body::default() };
    let pmo = Mqpmo { options: PutOptions::ASYNC_RESPONSE, ..Mqpmo::default() };
    let put1 = Put1Body { put: PutBody { pmo, ..put1.put }, ..put1 };
    socket.call(1, SegmentType::MQPUT1, Call::Put1(Box::new(put1)));
    let (_, call, _) = socket.asked();
    socket.reply(call, Reply::failed(Reason::UNKNOWN_OBJECT_NAME));
    assert!(socket.is_silent());

    // Once they are told, it begins anew.
    for (cc, reason, counts) in
        [(CompCode::FAILED, Reason::Q_FULL, (1, 1, 3)), (CompCode::OK, Reason::NONE, (0, 0, 0))]
    {
        socket.call(1, SegmentType::MQSTAT, stat(0));
        let (_, call, request) = socket.asked();
        assert_eq!(request, Request::Stat { kind: 0 });
        socket.reply(call, Reply::DONE);
        let (_, done, _, Call::Stat(body)) = socket.answer(1) else { panic!() };
        let sts = body.sts;
        assert_eq!((done, sts.comp_code, sts.reason), (CompCode::OK, cc, reason));
        assert_eq!((sts.put_success_count, sts.put_warning_count, sts.put_failure_count), counts);
        let name = if cc == CompCode::FAILED { "DEV.QUEUE.1" } else { "" };
        assert_eq!(
            (sts.object_name.to_string(), sts.resolved_object_name.to_string()),
            (name.into(), name.into())
        );
    }
    socket.call(1, SegmentType::MQSTAT, stat(1));
    assert_eq!(socket.answer(1).2, Reason(2430));
}

#[test]
fn what_comes_behind_a_put_without_answer_waits_for_its_turn() {
    let mut socket = Socket::connected(ChannelTerms::default());
    let length = 20_000;
    let puts = 2 + HELD_BYTES_MAX / length;
    for _ in 0..=puts {
        socket.call(1, SegmentType::MQPUT, async_put(PutOptions::NO_SYNCPOINT, length));
    }
    socket.call(1, SegmentType::MQCMIT, Call::Empty);
    assert!(!socket.server.wants_input(), "enough is held");
    for _ in 0..=puts {
        let (_, call, request) = socket.asked();
        assert!(matches!(request, Request::Put { .. }), "{request:?}");
        assert_eq!(socket.server.poll_event(), None, "one at a time");
        socket.reply(call, put_done());
    }
    assert!(socket.server.wants_input());
    let (_, call, request) = socket.asked();
    assert_eq!(request, Request::Commit);
    assert!(socket.is_silent());
    socket.reply(call, Reply::DONE);
    assert_eq!(socket.answer(1).0, SegmentType::MQCMIT_REPLY);
}

#[test]
fn a_unit_of_work_with_a_put_that_failed_cannot_be_committed() {
    let failing_put = |socket: &mut Socket| {
        socket.call(1, SegmentType::MQPUT, async_put(PutOptions::SYNCPOINT, 3));
        let (_, call, _) = socket.asked();
        socket.reply(call, Reply::failed(Reason::Q_FULL));
    };
    let mut socket = Socket::connected(ChannelTerms::default());
    failing_put(&mut socket);
    socket.call(1, SegmentType::MQCMIT, Call::Empty);
    let (_, call, request) = socket.asked();
    assert_eq!(request, Request::Back);
    socket.reply(call, Reply::DONE);
    let (answered, cc, reason, _) = socket.answer(1);
    assert_eq!((answered, cc, reason), (SegmentType::MQCMIT_REPLY, CompCode::WARNING, Reason::BACKED_OUT));
    socket.commit(1);

    // Backed out by the program, all is well.
    failing_put(&mut socket);
    socket.call(1, SegmentType::MQBACK, Call::Empty);
    let (_, call, request) = socket.asked();
    assert_eq!(request, Request::Back);
    socket.reply(call, Reply::DONE);
    assert_eq!(socket.answer(1).2, Reason::NONE);
    socket.commit(1);

    // MQDISC would commit.
    failing_put(&mut socket);
    socket.call(1, SegmentType::MQDISC, Call::Empty);
    for expected in [Request::Back, Request::Disconnect] {
        let (_, call, request) = socket.asked();
        assert_eq!(request, expected);
        assert!(socket.is_silent());
        socket.reply(call, Reply::DONE);
    }
    let (answered, cc, reason, _) = socket.answer(1);
    assert_eq!((answered, cc, reason), (SegmentType::MQDISC_REPLY, CompCode::WARNING, Reason::BACKED_OUT));
    assert!(socket.server.is_ended());

    // Outside of a unit of work it is MQSTAT's alone.
    let mut socket = Socket::connected(ChannelTerms::default());
    socket.call(1, SegmentType::MQPUT, async_put(PutOptions::NO_SYNCPOINT, 3));
    let (_, call, _) = socket.asked();
    socket.reply(call, Reply::failed(Reason::Q_FULL));
    socket.commit(1);
}

#[test]
fn a_put_too_long_for_the_channel_is_counted_too() {
    let mut socket = Socket::connected(ChannelTerms { max_msg_length: 100, ..ChannelTerms::default() });
    socket.call(1, SegmentType::MQPUT, async_put(PutOptions::NO_SYNCPOINT, 101));
    assert!(socket.is_silent());
    socket.call(1, SegmentType::MQSTAT, stat(0));
    let (_, call, _) = socket.asked();
    socket.reply(call, Reply::DONE);
    let (_, _, _, Call::Stat(body)) = socket.answer(1) else { panic!() };
    assert_eq!((body.sts.put_failure_count, body.sts.reason), (1, Reason::MSG_TOO_BIG_FOR_CHANNEL));
}

#[test]
fn ids_are_reserved_with_room_for_the_client_to_count() {
    let mut socket = Socket::connected(ChannelTerms::default());
    for (wanted, expected) in [(0xFF_FFFF, 0x7FFF), (5, 5), (0, 1)] {
        let header = SpiHeader { verb: SpiVerb::RESERVE, version: 1, max_reply_size: 44 };
        let call = SpiCall::Reserve(SpiReserve::Request { id_length: 24, wanted });
        socket.call(1, SegmentType::SPI, Call::Spi(Box::new(SpiBody { header, call })));
        let (_, call, request) = socket.asked();
        assert_eq!(request, Request::Reserve);
        let base = MsgId(*b"AMQ QM1         123456\0\0");
        socket.reply(call, Reply::Reserved { base });
        let (_, _, reason, Call::Spi(body)) = socket.answer(1) else { panic!() };
        assert_eq!(reason, Reason::NONE);
        let reserved = SpiReserve::Reply { granted: expected, counter_offset: 23, base };
        assert_eq!(body.call, SpiCall::Reserve(reserved));
    }
}

#[test]
fn xa_is_answered_and_refused() {
    let mut socket = Socket::connected(ChannelTerms::default());
    for code in 0xA1..=0xAA_u8 {
        let fields: [u8; 20] = [0, 0, 0, 48, 0, 0, 0, 0, 0, 0, 0, 4, 7, 0, 0, 0, 3, b'Q', b'M', b'1'];
        let body = Body::Opaque(Bytes::copy_from_slice(&fields));
        socket.control(1, SegmentType(code), &body).unwrap();
        let (header, Body::Opaque(answer)) = socket.sent() else { panic!() };
        assert_eq!(header.segment_type, SegmentType(code + 0x10));
        let value = i32::from_le_bytes(answer[4..8].try_into().unwrap());
        assert_eq!(value, if code == 0xA3 { -3 } else { -6 }, "{code:x}");
        assert_eq!(answer[8..16], fields[8..16], "flags and resource manager");
        assert_eq!(answer.len(), if code == 0xA9 { 20 } else { 16 });
        assert_eq!(answer[..4], (28 + answer.len() as u32).to_be_bytes());
    }
    socket.commit(1);
}

#[test]
fn calls_that_nobody_serves_are_answered() {
    let mut socket = Socket::connected(ChannelTerms::default());
    for segment_type in [SegmentType::MQSUB, SegmentType::MQSUBRQ] {
        socket.call(1, segment_type, Call::Opaque(Bytes::from_static(&[0; 400])));
        let (answered, cc, reason, _) = socket.answer(1);
        assert_eq!(Some(answered), segment_type.reply());
        assert_eq!((cc, reason), (CompCode::FAILED, Reason::FUNCTION_NOT_SUPPORTED));
    }
    for verb in [SpiVerb::PUT, SpiVerb::GET, SpiVerb::SUBSCRIBE, SpiVerb::NOTIFY, SpiVerb(99)] {
        let header = SpiHeader { verb, version: 1, max_reply_size: 0 };
        let call = SpiCall::Opaque(Bytes::new());
        socket.call(1, SegmentType::SPI, Call::Spi(Box::new(SpiBody { header, call })));
        assert_eq!(socket.answer(1).2, Reason::FUNCTION_NOT_SUPPORTED, "{verb}");
    }
    socket.commit(1);
}

#[test]
fn padding_is_no_data() {
    let mut socket = Socket::connected(ChannelTerms::default());
    let header =
        SegmentHeader { conversation_id: 1, ..SegmentHeader::new(SegmentKind::Tshm, SegmentType::MQPUT) };
    let put = PutBody { data: Bytes::from_static(b"abc"), ..PutBody::default() };
    let mut segment = segment_with(header, 0x30, &Body::Call(ApiHeader::default(), Call::Put(Box::new(put))));
    segment.push(0x5A);
    let length = (segment.len() as u32).to_be_bytes();
    segment[4..8].copy_from_slice(&length);
    socket.send(&segment).unwrap();
    let (_, _, Request::Put { data, .. }) = socket.asked() else { panic!() };
    assert_eq!(&data[..], b"abc");
}

#[test]
fn a_queue_manager_that_stops_tells_the_gets_that_wait() {
    let mut socket = Socket::connected(ChannelTerms::default());
    socket.waiting_get(1);
    socket.start(3);
    socket.connect(3);
    socket.call(3, SegmentType::MQCMIT, Call::Empty);
    socket.server.terminate();
    assert_eq!(socket.answer(1).2, Reason::Q_MGR_STOPPING);
    // Of the commit nobody knows: its client finds the connection broken.
    let (status, body) = socket.sent();
    assert_eq!((status.kind, status.segment_type), (SegmentKind::Tshc, SegmentType::STATUS));
    assert!(matches!(body, Body::Status(Some(_))));
    assert!(socket.server.is_finished());
}

#[test]
fn a_socket_that_is_lost_ends_all_of_it() {
    let mut socket = Socket::connected(ChannelTerms::default());
    socket.start(3);
    socket.connect(3);
    assert!(matches!(socket.server.handle_end_of_stream(), Err(ConnectionError::Closed(_))));
    assert!(socket.server.is_finished());
}
