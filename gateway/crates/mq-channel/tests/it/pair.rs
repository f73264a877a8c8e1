//! Two machines joined by byte pipes, and a variable called `time`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use mq_channel::{
    CallId, ChannelTerms, ClientConfig, ClientConnection, ClientEvent, ConnectionError, Event, Reply,
    Request, ServerConfig, ServerConnection,
};
use mq_wire::{
    Body, Chars, CompCode, ControlFlags1, Reason, SegmentHeader, SegmentKind, SegmentType, Writer,
    encode_segment,
};

pub(crate) fn server_config() -> ServerConfig {
    ServerConfig::new("QM1".parse().unwrap(), Chars::cut("QM1_2026-11-30_10.00.00"))
}

pub(crate) fn client_config() -> ClientConfig {
    ClientConfig {
        appl_name: Chars::cut("demo.Main"),
        user: "app".to_owned(),
        ..ClientConfig::new("DEV.APP.SVRCONN".parse().unwrap())
    }
}

/// A segment header that came by, and the length of the segment.
pub(crate) type Seen = (SegmentHeader, usize);

pub(crate) struct Pair {
    pub(crate) time: Instant,
    pub(crate) client: ClientConnection,
    pub(crate) server: ServerConnection,
    /// Bytes that are handed over at once; 0 is all there are.
    pub(crate) chop: usize,
    /// Segments that went to the server.
    pub(crate) up: Vec<Seen>,
    /// Segments that went to the client.
    pub(crate) down: Vec<Seen>,
}

impl Pair {
    pub(crate) fn new() -> Self {
        Self::with(server_config(), client_config())
    }

    pub(crate) fn with(server: ServerConfig, client: ClientConfig) -> Self {
        let time = Instant::now();
        Self {
            time,
            client: ClientConnection::new(Arc::new(client), time),
            server: ServerConnection::new(Arc::new(server), time),
            chop: 0,
            up: Vec::new(),
            down: Vec::new(),
        }
    }

    /// A pair that is connected.
    pub(crate) fn connected() -> Self {
        Self::new().connect(ChannelTerms::default())
    }

    /// Goes through the start of the channel and MQCONN.
    pub(crate) fn connect(mut self, terms: ChannelTerms) -> Self {
        self.drive();
        let Some(Event::ChannelRequested(_)) = self.server.poll_event() else {
            panic!("no channel was requested")
        };
        self.server.channel_accepted(terms).unwrap();
        self.drive();
        let (call, request) = self.called();
        assert!(matches!(request, Request::Connect(_)), "{request:?}");
        self.reply(call, connect_reply());
        self.drive();
        assert!(matches!(self.client.poll_event(), Some(ClientEvent::Connected { .. })));
        self
    }

    /// Moves bytes until none are left. Neither machine finds anything wrong.
    pub(crate) fn drive(&mut self) {
        self.try_drive().unwrap();
    }

    pub(crate) fn try_drive(&mut self) -> Result<(), ConnectionError> {
        loop {
            let up: Vec<u8> = std::iter::from_fn(|| self.client.poll_output()).flatten().collect();
            self.up.extend(segments(&up));
            let down: Vec<u8> = std::iter::from_fn(|| self.server.poll_output()).flatten().collect();
            self.down.extend(segments(&down));
            if up.is_empty() && down.is_empty() {
                return Ok(());
            }
            for piece in up.chunks(if self.chop == 0 { usize::MAX } else { self.chop }) {
                self.server.handle_bytes(self.time, piece)?;
            }
            for piece in down.chunks(if self.chop == 0 { usize::MAX } else { self.chop }) {
                self.client.handle_bytes(self.time, piece)?;
            }
        }
    }

    /// The call that the server has just got, and nothing else.
    pub(crate) fn called(&mut self) -> (CallId, Request) {
        match self.server.poll_event() {
            Some(Event::Call { conversation: 0, call, request }) => (call, request),
            other => panic!("{other:?} instead of a call"),
        }
    }

    pub(crate) fn reply(&mut self, call: CallId, reply: Reply) {
        self.server.reply(self.time, call, reply).unwrap();
    }

    /// One call and its reply: what the server was asked, and what the client was told.
    pub(crate) fn round(&mut self, request: Request, reply: Reply) -> (Request, Reply) {
        let sent = self.client.call(self.time, request).unwrap();
        self.drive();
        let (call, request) = self.called();
        self.reply(call, reply);
        self.drive();
        match self.client.poll_event() {
            Some(ClientEvent::Reply { call, reply }) => {
                assert_eq!(call, sent);
                (request, reply)
            }
            other => panic!("{other:?} instead of a reply"),
        }
    }

    pub(crate) fn pass(&mut self, seconds: u64) {
        self.time += Duration::from_secs(seconds);
    }
}

pub(crate) fn connect_reply() -> Reply {
    Reply::Connect {
        cc: CompCode::OK,
        reason: Reason::NONE,
        qmgr_name: "QM1".parse().unwrap(),
        connection_id: *b"AMQCQM1         \x01\x02\x03\x04\x05\x06\x07\x08",
    }
}

/// The segments of a piece of a stream that holds whole ones.
pub(crate) fn segments(mut bytes: &[u8]) -> Vec<Seen> {
    let mut seen = Vec::new();
    while !bytes.is_empty() {
        let (header, length) = SegmentHeader::peek(bytes, 1 << 20).unwrap().expect("a whole header");
        seen.push((header, length));
        bytes = &bytes[length..];
    }
    seen
}

/// A segment as a client of ours would write it.
pub(crate) fn segment(segment_type: SegmentType, flags: u8, body: &Body) -> Vec<u8> {
    segment_with(SegmentHeader::new(SegmentKind::Tsh, segment_type), flags, body)
}

/// A segment with another header.
pub(crate) fn segment_with(header: SegmentHeader, flags: u8, body: &Body) -> Vec<u8> {
    let header = SegmentHeader { control_flags_1: ControlFlags1::from_bits_retain(flags), ..header };
    let mut bytes = BytesMut::new();
    body.encode(&mut Writer::new(&mut bytes, header.coding()));
    let mut out = BytesMut::new();
    encode_segment(&header, &bytes, &mut out);
    out.to_vec()
}
