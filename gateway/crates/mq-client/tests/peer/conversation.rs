//! The peer itself: accepts the client, plays the handshake of mq-wire.md 3 and then lets a test read call after call
//! and answer each as it likes. Everything the client must do whatever the test is about is asserted here: the order of
//! the segments, their headers, lengths and flags.

use std::net::SocketAddr;

use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};

use crate::coding::Coding;
use crate::layout::Fields;
use crate::segment::{self, Header, Segment, within};
use crate::setting::{CHANNEL, CONNECTION_ID, QM_ID, QUEUE_MANAGER, Setting};
use crate::structures::{CAUT, FCNO, ID, UID};

pub(crate) struct Peer {
    listener: TcpListener,
    pub(crate) setting: Setting,
}

/// One client on its socket.
pub(crate) struct Conversation {
    pub(crate) socket: TcpStream,
    pub(crate) setting: Setting,
    /// The first and the last initial data of the client.
    pub(crate) proposed: Fields,
    pub(crate) settled: Fields,
    pub(crate) user: Option<Fields>,
    /// User id and password of CONAUTH_INFO.
    pub(crate) credentials: Option<(String, String)>,
    pub(crate) shared: bool,
    /// Segments of the last call and of the last reply.
    pub(crate) segments_in: usize,
    pub(crate) segments_out: usize,
    pub(crate) heartbeats_answered: usize,
    header: Header,
}

/// A call of the client: the whole logical body, its segments joined.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) segment_type: u8,
    pub(crate) handle: u32,
    pub(crate) body: Vec<u8>,
    pub(crate) coding: Coding,
    header: Header,
}

/// The form of MQCONN that belongs to each level (mq-wire-observed-base.md 2.2): body length, FCNO version.
pub(crate) fn connect_form(fap: u32) -> (usize, Option<u32>) {
    match fap {
        0..=6 => (120, None),
        7..=11 => (260, Some(1)),
        12 | 13 => (332, Some(2)),
        14 => (460, Some(3)),
        _ => (472, Some(4)),
    }
}

impl Peer {
    pub(crate) async fn listen(setting: Setting) -> Peer {
        Peer { listener: TcpListener::bind("127.0.0.1:0").await.unwrap(), setting }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.listener.local_addr().unwrap()
    }

    /// The socket of the next client, nothing read.
    pub(crate) async fn socket(&self) -> TcpStream {
        let (socket, _) = within(self.listener.accept()).await.unwrap();
        socket.set_nodelay(true).unwrap();
        socket
    }

    /// The next client, connected: the handshake and MQCONN are over.
    pub(crate) async fn connected(&self) -> Conversation {
        let mut conversation = self.greeted().await;
        let call = conversation.call(0x81).await;
        conversation.check_connect(&call);
        conversation.answer_connect(&call, 0, 0).await;
        conversation
    }

    /// The next client after INITIAL_DATA, USERID and CONAUTH_INFO. MQCONN comes next.
    pub(crate) async fn greeted(&self) -> Conversation {
        let mut conversation = self.negotiated().await;
        conversation.user_id().await;
        conversation
    }

    /// The next client after both rounds of INITIAL_DATA.
    pub(crate) async fn negotiated(&self) -> Conversation {
        let mut socket = self.socket().await;
        let first = Segment::read(&mut socket).await.expect("the client sends the first segment");
        check_first(&first);
        let proposed = ID.read_cut(&first.body, 0, first.coding);
        let setting = self.setting.clone();
        let (answer, changed) = answer(&setting, &proposed);
        let length = setting.answer_bytes.unwrap_or(first.body.len());
        let mut reply = Segment {
            header: Header::Tsh,
            coding: setting.coding,
            segment_type: segment::INITIAL_DATA,
            cf1: if changed && !setting.one_round { 0x02 } else { 0x00 },
            cf2: 0,
            encoding: first.encoding,
            body: ID.write_cut(&answer, length, setting.coding),
        };
        reply.write(&mut socket).await;
        let shared = answer.number("ConvPerSocket") > 0 && answer.number("FapLevel") >= 9;
        let header = if shared { Header::Tshm { conversation: 1, request: 0 } } else { Header::Tsh };
        let mut settled = answer.clone();
        if reply.cf1 == 0x02 {
            let second = Segment::read(&mut socket).await.expect("the client sends its initial data again");
            settled = check_second(&second, &setting, &answer, header);
            reply.header = header;
            reply.cf1 = 0x00;
            let accepted =
                answer.set("ErrFlags1", 0).set("ECapFlags1", 0).set("ECapFlags2", 0).set("ECapFlags3", 0);
            reply.body = ID.write_cut(&accepted, second.body.len(), setting.coding);
            reply.write(&mut socket).await;
        }
        Conversation {
            socket,
            setting,
            proposed,
            settled,
            user: None,
            credentials: None,
            shared,
            segments_in: 0,
            segments_out: 0,
            heartbeats_answered: 0,
            header,
        }
    }
}

impl Conversation {
    pub(crate) fn coding(&self) -> Coding {
        self.setting.coding
    }

    pub(crate) fn fap(&self) -> u32 {
        self.settled.number("FapLevel")
    }

    /// The next segment; everything about its header that never changes is checked.
    pub(crate) async fn segment(&mut self) -> Option<Segment> {
        let segment = Segment::read(&mut self.socket).await?;
        assert_eq!(segment.coding, self.coding(), "byte order and CCSID of the queue manager's first answer");
        match (segment.header, self.shared) {
            (Header::Tsh, false) | (Header::Tshc, true) => (),
            (Header::Tshm { conversation: 1, .. }, true) => {
                assert_eq!(segment.body.len() % 4, 0, "padded to 4");
            }
            (header, _) => panic!("{header:?} on a socket that is shared: {}", self.shared),
        }
        let most = self.setting.transmission_bytes_max as usize;
        let length = segment.header.length() + segment.body.len();
        assert!(length <= most, "a segment of {length} bytes where {most} were agreed");
        Some(segment)
    }

    /// USERID, and CONAUTH_INFO if it comes: that is seen by peeking, since MQCONN may follow at once.
    pub(crate) async fn user_id(&mut self) {
        let segment = self.segment().await.expect("USERID after the initial data");
        assert_eq!((segment.segment_type, segment.cf1), (segment::USERID, 0x30));
        let length = if self.fap() < 5 { 28 } else { 132 };
        assert_eq!(segment.body.len(), length, "USERID at FAP {}", self.fap());
        assert_eq!(self.coding().text(&segment.body[..4]), "UID");
        self.user = Some(UID.read_cut(&segment.body, 0, self.coding()));
        let type_at = self.header.length() - 19;
        let mut start = [0; 20];
        while within(self.socket.peek(&mut start)).await.unwrap() <= type_at {
            tokio::task::yield_now().await;
        }
        if start[type_at] != segment::CONAUTH_INFO {
            return;
        }
        let segment = self.segment().await.unwrap();
        assert_eq!(segment.cf1, 0x30);
        let (fields, _) = CAUT.read(&segment.body, self.coding());
        assert_eq!(fields.number("AuthType"), 1);
        let (user, password) =
            (fields.number("UserIdLength") as usize, fields.number("PasswordLength") as usize);
        let text = |bytes: &[u8]| self.coding().text(bytes);
        self.credentials =
            Some((text(&segment.body[24..24 + user]), text(&segment.body[24 + user..][..password])));
        self.control(segment::STATUS, 0x00, &[]).await;
    }

    /// The next call, which must be of this type.
    pub(crate) async fn call(&mut self, segment_type: u8) -> Call {
        let call = self.any_call().await.unwrap_or_else(|| panic!("call {segment_type:02X}, not the end"));
        assert_eq!(call.segment_type, segment_type, "the call that comes next");
        call
    }

    /// The next call, joined from its segments. A heartbeat in between is answered (mq-wire-observed-base.md 7).
    pub(crate) async fn any_call(&mut self) -> Option<Call> {
        let first = loop {
            let segment = self.segment().await?;
            match segment.segment_type {
                segment::HEARTBEAT if segment.header == Header::Tshc => {
                    assert_eq!(
                        (segment.cf1 & 0x01, segment.body.len()),
                        (1, 0),
                        "a heartbeat that wants an answer"
                    );
                    self.heartbeat(0x30).await;
                }
                _ => break segment,
            }
        };
        assert!(first.segment_type >= 0x80, "an MQI call, not {:02X}", first.segment_type);
        assert_eq!(first.cf1 & !0x20, 0x10, "the first segment of a call has FIRST and may have LAST");
        self.segments_in = 1;
        let header = first.header;
        let mut body = first.body;
        let mut last = first.cf1 & 0x20 != 0;
        let mut filled = header.length() + body.len();
        while !last {
            let room = self.setting.transmission_bytes_max as usize;
            assert!(filled + 4 > room, "{filled} of {room} bytes: a segment that is not the last is full");
            let more = self.segment().await.expect("the call goes on");
            assert_eq!((more.segment_type, more.header), (first.segment_type, header));
            assert_eq!(more.cf1 & !0x20, 0, "a continuation has LAST at most");
            last = more.cf1 & 0x20 != 0;
            filled = header.length() + more.body.len();
            body.extend(more.body);
            self.segments_in += 1;
        }
        let coding = self.coding();
        let length = u32::from_be_bytes(body[..4].try_into().unwrap());
        assert!(length as usize + 4 >= 28 + body.len() || self.segments_in == 1, "ReplyLength {length}");
        assert_eq!(body[4..12], [0; 8], "CompCode and Reason of a request");
        let handle = coding.read_u32(&body[12..]);
        body.drain(..16);
        Some(Call { segment_type: first.segment_type, handle, body, coding, header })
    }

    /// Answers `call` with a body, split over as many segments as the agreed maximum wants.
    pub(crate) async fn reply(&mut self, call: &Call, codes: (u32, u32), handle: u32, body: &[u8]) {
        for segment in self.reply_segments(call, codes, handle, body) {
            segment.write(&mut self.socket).await;
        }
    }

    /// The segments of a reply, for tests that send only some of them.
    pub(crate) fn reply_segments(
        &mut self,
        call: &Call,
        codes: (u32, u32),
        handle: u32,
        body: &[u8],
    ) -> Vec<Segment> {
        let coding = self.coding();
        let mut whole = ((28 + 16 + body.len()) as u32).to_be_bytes().to_vec();
        whole.extend(coding.u32(codes.0));
        whole.extend(coding.u32(codes.1));
        whole.extend(coding.u32(handle));
        whole.extend(body);
        let most = self.setting.transmission_bytes_max as usize - call.header.length();
        let parts: Vec<&[u8]> = whole.chunks(most).collect();
        self.segments_out = parts.len();
        let last = parts.len() - 1;
        let flags = |at| if at == 0 { 0x10 } else { 0 } | if at == last { 0x20 } else { 0 };
        let segment = |(at, part): (usize, &&[u8])| Segment {
            header: call.header,
            coding,
            segment_type: call.segment_type + 0x10,
            cf1: flags(at),
            cf2: 0,
            encoding: if coding.big { 273 } else { 546 },
            body: part.to_vec(),
        };
        parts.iter().enumerate().map(segment).collect()
    }

    /// Answers with the API header alone (mq-wire-observed-base.md 4.1).
    pub(crate) async fn fail(&mut self, call: &Call, reason: u32) {
        self.reply(call, (2, reason), call.handle, &[]).await;
    }

    /// MQCONN as the agreed level wants it (mq-wire-observed-base.md 2.2).
    pub(crate) fn check_connect(&self, call: &Call) {
        let (length, version) = connect_form(self.fap());
        assert_eq!(call.body.len(), length, "MQCONN at FAP {}", self.fap());
        let number = |at: usize| self.coding().read_u32(&call.body[at..]);
        assert_eq!(number(112), if self.fap() < 12 { 3 } else { 7 }, "Options of MQCONN");
        if let Some(version) = version {
            let (fields, _) = FCNO.read(&call.body[120..], self.coding());
            assert_eq!(fields.version, version, "FCNO at FAP {}", self.fap());
        }
    }

    /// The reply to MQCONN: the request with the name and the connection id filled in (mq-wire.md 4.2).
    pub(crate) async fn answer_connect(&mut self, call: &Call, comp_code: u32, reason: u32) {
        let mut body = call.body.clone();
        body.resize(self.setting.connect_body.unwrap_or(body.len()), 0);
        body[..48].copy_from_slice(&self.coding().chars(QUEUE_MANAGER, 48));
        if body.len() >= 120 + 12 + 24 {
            body[132..156].copy_from_slice(&CONNECTION_ID);
        }
        self.reply(call, (comp_code, reason), 0, &body).await;
    }

    /// A control segment in the header of this conversation.
    pub(crate) async fn control(&mut self, segment_type: u8, cf1: u8, body: &[u8]) {
        self.control_in(self.header, segment_type, cf1, body).await;
    }

    /// A heartbeat in the header it belongs in: TSHC on a shared socket, else TSH.
    pub(crate) async fn heartbeat(&mut self, cf1: u8) {
        let header = if self.shared { Header::Tshc } else { Header::Tsh };
        self.control_in(header, segment::HEARTBEAT, cf1, &[]).await;
    }

    /// Waits for the answer to a heartbeat of ours: FIRST and LAST without CONFIRM_REQUEST.
    pub(crate) async fn heartbeat_answer(&mut self) {
        let answer = self.segment().await.expect("the client answers the heartbeat");
        assert_eq!((answer.segment_type, answer.body.len()), (segment::HEARTBEAT, 0));
        assert_eq!(answer.cf1 & 0x01, 0, "an answer asks for none");
        let wanted = if self.shared { Header::Tshc } else { Header::Tsh };
        assert_eq!(answer.header, wanted);
        self.heartbeats_answered += 1;
    }

    async fn control_in(&mut self, header: Header, segment_type: u8, cf1: u8, body: &[u8]) {
        let coding = self.coding();
        let encoding = if coding.big { 273 } else { 546 };
        let segment = Segment { header, coding, segment_type, cf1, cf2: 0, encoding, body: body.to_vec() };
        segment.write(&mut self.socket).await;
    }

    /// STATUS with a code (mq-wire.md 3.8), in the flags given.
    pub(crate) async fn status(&mut self, code: u32, cf1: u8) {
        let body = [self.coding().u32(8), self.coding().u32(code)].concat();
        self.control(segment::STATUS, cf1, &body).await;
    }

    /// MQDISC and what follows it, until the client closes (mq-wire-observed-base.md 2.3).
    pub(crate) async fn disconnected(mut self) {
        let call = self.call(0x82).await;
        assert!(call.body.is_empty());
        self.reply(&call, (0, 0), 0, &[]).await;
        let end = self.segment().await.expect("the segment that ends the conversation");
        match self.shared {
            false => assert_eq!((end.segment_type, end.cf1, end.body.len()), (segment::STATUS, 0x38, 0)),
            true => {
                assert_eq!(
                    (end.header, end.segment_type, end.cf1),
                    (Header::Tshc, segment::SOCKET_ACTION, 0x38)
                );
                assert_eq!(self.coding().read_u32(&end.body[8..]), 2, "type: end of a conversation");
            }
        }
        self.ended().await;
    }

    /// The client closes the socket and sends nothing more.
    pub(crate) async fn ended(mut self) {
        let more = Segment::read(&mut self.socket).await;
        assert_eq!(more, None, "nothing follows");
    }

    /// Ends the connection from this side.
    pub(crate) async fn hang_up(mut self) {
        self.socket.shutdown().await.unwrap();
    }
}

/// The client's first segment: always TSH, whatever comes later (mq-wire.md 3.10).
fn check_first(first: &Segment) {
    assert_eq!(first.header, Header::Tsh);
    assert_eq!(first.segment_type, segment::INITIAL_DATA);
    assert!(matches!(first.cf1, 0x01 | 0x31), "ControlFlags1 {:02X}", first.cf1);
    assert!(matches!(first.body.len(), 208 | 240), "initial data of {} bytes", first.body.len());
    assert_eq!(first.coding.text(&first.body[..4]), "ID");
    let id = ID.read_cut(&first.body, 0, first.coding);
    assert_eq!(id.number("CapFlags1") & 0x26, 0x26, "an MQI client that splits messages");
    for name in ["ECapFlags1", "ErrFlags1", "ECapFlags2", "ErrFlags2", "MaxMsgsPerBatch", "SeqWrapValue"] {
        assert_eq!(id.number(name), 0, "{name}");
    }
    assert_eq!(id.text("ChannelName"), CHANNEL);
    assert_eq!(id.number("CCSID"), u32::from(first.coding.ccsid));
    assert_eq!(id.bytes("HdrCompList"), [0x00, 0xFF], "no compression");
    let mut list = [0xFF; 16];
    list[0] = 0;
    assert_eq!(id.bytes("MsgCompList"), list, "no compression");
    if id.number("CapFlags3") & 0x20 != 0 || id.number("FapLevel") >= 13 {
        assert_eq!(first.body.len(), 240);
    }
}

/// What this queue manager can accept of a proposal, and whether it differs (mq-wire.md 3.6).
fn answer(setting: &Setting, proposed: &Fields) -> (Fields, bool) {
    let number = |name| proposed.number(name);
    let fap = number("FapLevel").min(u32::from(setting.fap));
    let transmission = number("MaxTransmissionSize").min(setting.transmission_bytes_max);
    let message = number("MaxMsgSize").min(setting.message_bytes_max);
    let heartbeat = number("HeartbeatInterval").max(setting.heartbeat_seconds);
    let conversations = number("ConvPerSocket").min(setting.conversations);
    let cap2 = number("CapFlags2") & if setting.spi { 0x51 } else { 0x11 };
    let cap3 = number("CapFlags3") & if fap >= 13 { 0x28 } else { 0x20 };
    let flag = |changed, bit| if changed { bit } else { 0 };
    let error = flag(transmission != number("MaxTransmissionSize"), 0x04)
        | flag(fap != number("FapLevel"), 0x08)
        | flag(message != number("MaxMsgSize"), 0x10)
        | flag(heartbeat != number("HeartbeatInterval"), 0x80);
    let (refused2, refused3) = (number("CapFlags2") & !cap2, number("CapFlags3") & !cap3);
    let changed = error != 0
        || refused2 != 0
        || refused3 != 0
        || conversations != number("ConvPerSocket")
        || number("CCSID") != u32::from(setting.coding.ccsid);
    let fields = proposed
        .clone()
        .set("FapLevel", fap)
        .set("ErrFlags1", error as u32)
        .set("MaxTransmissionSize", transmission)
        .set("MaxMsgSize", message)
        .set("HeartbeatInterval", heartbeat)
        .set("EFLLength", 0)
        .set("ConvPerSocket", conversations)
        .set("CapFlags2", cap2)
        .set("ECapFlags2", refused2)
        .set("CapFlags3", cap3)
        .set("ECapFlags3", refused3)
        .set("CCSID", u32::from(setting.coding.ccsid))
        .set("QMgrName", QUEUE_MANAGER)
        .set("ProductId", "MQMM09010200")
        .set("QMId", QM_ID);
    (fields, changed)
}

/// The client's second initial data: the agreed values, nothing of its own any more (mq-wire.md 3.6 step 4).
fn check_second(second: &Segment, setting: &Setting, answer: &Fields, header: Header) -> Fields {
    assert_eq!(second.header, header, "TSHM from the second initial data on, if shared");
    assert_eq!(second.segment_type, segment::INITIAL_DATA);
    assert!(matches!(second.cf1, 0x01 | 0x31), "ControlFlags1 {:02X}", second.cf1);
    assert_eq!(second.coding, setting.coding, "byte order and CCSID of the answer");
    let fap = answer.number("FapLevel");
    let length = match fap {
        0..=8 => 128,
        9 => 160,
        10..=12 => 208,
        _ => 240,
    };
    assert_eq!(second.body.len(), length, "the second initial data at FAP {fap}");
    let id = ID.read_cut(&second.body, 0, second.coding);
    for name in [
        "FapLevel",
        "MaxTransmissionSize",
        "MaxMsgSize",
        "HeartbeatInterval",
        "CapFlags1",
        "CapFlags2",
        "CCSID",
    ] {
        assert_eq!(id.number(name), answer.number(name), "{name} is taken over");
    }
    for name in ["ECapFlags1", "ErrFlags1", "ECapFlags2", "ErrFlags2"] {
        assert_eq!(id.number(name), 0, "{name}");
    }
    assert_eq!(id.text("ChannelName"), CHANNEL);
    if length > 128 {
        assert_eq!(id.number("ConvPerSocket"), answer.number("ConvPerSocket"));
        assert_eq!(id.number("ECapFlags3"), 0);
    }
    if length > 160 && setting.answer_bytes.is_none_or(|bytes| bytes > 160) {
        assert_eq!(id.text("QMId"), QM_ID, "the queue manager's identifier comes back");
    }
    id
}
