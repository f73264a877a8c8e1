//! One segment on the socket (mq-wire.md 1): its header, read and written by hand.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::coding::Coding;

/// A test that hangs fails: nothing here takes the client that long.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) const INITIAL_DATA: u8 = 0x01;
pub(crate) const STATUS: u8 = 0x05;
pub(crate) const USERID: u8 = 0x08;
pub(crate) const HEARTBEAT: u8 = 0x09;
pub(crate) const CONAUTH_INFO: u8 = 0x0A;
pub(crate) const SOCKET_ACTION: u8 = 0x0C;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Header {
    Tsh,
    Tshm { conversation: u32, request: u32 },
    Tshc,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) header: Header,
    pub(crate) coding: Coding,
    pub(crate) segment_type: u8,
    /// ControlFlags1, mq-wire.md 1.3.
    pub(crate) cf1: u8,
    pub(crate) cf2: u8,
    pub(crate) encoding: u32,
    pub(crate) body: Vec<u8>,
}

impl Segment {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let coding = self.coding;
        let mut bytes = coding.chars(self.header.id(), 4);
        bytes.extend(((self.header.length() + self.body.len()) as u32).to_be_bytes());
        if let Header::Tshm { conversation, request } = self.header {
            bytes.extend(conversation.to_be_bytes());
            bytes.extend(request.to_be_bytes());
        }
        bytes.extend([if coding.big { 1 } else { 2 }, self.segment_type, self.cf1, self.cf2]);
        bytes.extend([0; 8]);
        bytes.extend(coding.u32(self.encoding));
        bytes.extend(coding.u16(coding.ccsid));
        bytes.extend([0, 0]);
        bytes.extend(&self.body);
        bytes
    }

    /// The next segment, or nothing when the client closed the connection between two segments.
    pub(crate) async fn read(socket: &mut TcpStream) -> Option<Segment> {
        let mut start = [0; 8];
        let first = within(socket.read(&mut start[..1])).await;
        if !matches!(first, Ok(1)) {
            return None;
        }
        within(socket.read_exact(&mut start[1..])).await.unwrap();
        let length = u32::from_be_bytes(start[4..].try_into().unwrap()) as usize;
        assert!((28..=200_000).contains(&length), "a segment of {length} bytes");
        let mut rest = vec![0; length - 8];
        within(socket.read_exact(&mut rest)).await.unwrap();
        let mut header = match &start[..4] {
            b"TSH " | [0xE3, 0xE2, 0xC8, 0x40] => Header::Tsh,
            b"TSHC" | [0xE3, 0xE2, 0xC8, 0xC3] => Header::Tshc,
            b"TSHM" | [0xE3, 0xE2, 0xC8, 0xD4] => Header::Tshm { conversation: 0, request: 0 },
            other => panic!("no transport segment header: {other:02X?}"),
        };
        if let Header::Tshm { conversation, request } = &mut header {
            *conversation = u32::from_be_bytes(rest[..4].try_into().unwrap());
            *request = u32::from_be_bytes(rest[4..8].try_into().unwrap());
            rest.drain(..8);
        }
        let big = match rest[0] {
            1 => true,
            2 => false,
            other => panic!("byte order {other}"),
        };
        let order = Coding { big, ccsid: 819 };
        let coding = Coding { big, ccsid: order.read_u16(&rest[16..]) };
        assert_eq!(
            coding.ebcdic(),
            start[0] == 0xE3,
            "the identifier is in the code page of the conversation"
        );
        assert_eq!(rest[3], 0, "ControlFlags2: no compression was agreed");
        assert_eq!(rest[18..20], [0, 0], "the reserved bytes of the header");
        Some(Segment {
            header,
            coding,
            segment_type: rest[1],
            cf1: rest[2],
            cf2: rest[3],
            encoding: order.read_u32(&rest[12..]),
            body: rest.split_off(20),
        })
    }

    pub(crate) async fn write(&self, socket: &mut TcpStream) {
        within(socket.write_all(&self.bytes())).await.unwrap();
    }
}

impl Header {
    pub(crate) fn length(self) -> usize {
        match self {
            Header::Tsh | Header::Tshc => 28,
            Header::Tshm { .. } => 36,
        }
    }

    fn id(self) -> &'static str {
        match self {
            Header::Tsh => "TSH",
            Header::Tshm { .. } => "TSHM",
            Header::Tshc => "TSHC",
        }
    }
}

/// Waits for the socket, and fails the test rather than hanging it.
pub(crate) async fn within<T>(work: impl Future<Output = T>) -> T {
    timeout(PATIENCE, work).await.expect("the client keeps the peer waiting")
}
