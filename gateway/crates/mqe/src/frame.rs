//! The frames of the device protocol: types, bytes, limits, error codes (mqe.md 8.3; `PROTOCOL.md` is the same for
//! people who write a device).
//!
//! A frame is: length u32 of what follows, type u8, request id u32, body. Big-endian. What frames mean, and in which
//! order they come, is for the two machines and the area.

mod body;
mod splitter;

use bytes::{BufMut, Bytes, BytesMut};
use mq_wire::{QMgrName, QName, Reason};

use crate::{DecodeError, DeviceName, Incarnation, RequestId, Sequence, SessionId, Uid};

pub use splitter::{FrameError, Splitter};

/// The version of the protocol that this crate speaks.
pub const VERSION: u16 = 1;
/// Longest frame by default, in bytes behind the length: 4 MiB of payload and what stands around it.
pub const FRAME_BYTES_MAX: usize = 4 * 1024 * 1024 + 64 * 1024;
/// Longest frame before HELLO was accepted.
pub const HELLO_BYTES_MAX: usize = 4 * 1024;
/// Most uids in one RESUME or CONFIRM.
pub const UIDS_MAX: usize = 16_384;
/// Bytes of the length field.
pub const LENGTH_BYTES: usize = 4;
/// Bytes of type and request id.
pub const HEAD_BYTES: usize = 5;

mq_wire::constants! {
    /// Why an ERROR frame was sent.
    pub struct ErrorCode, "MQE_" {
        PROTOCOL = 1, "a frame could not be read, or may not come here; the connection ends";
        UNKNOWN_TYPE = 2, "the frame's type is not known here; the connection stays";
        VERSION = 3, "the protocol version is not spoken here; the connection ends";
        TOO_LONG = 4, "the frame is longer than the limit; the connection ends";
        NOT_RESUMED = 5, "RESUME comes first; the connection stays";
        FENCED = 6, "a newer connection of this device took over; the connection ends";
        INCARNATION = 7, "the device's store is older than one that the gateway has seen; an operator must reset the device; the connection ends";
        UNKNOWN_DEVICE = 8, "the device is not known here and may not enrol itself; the connection ends";
        NOT_AUTHENTICATED = 9, "the credentials are not valid; the connection ends";
        LATER = 10, "not now, come again after the time named; the connection ends";
        CREDIT = 11, "more puts than the credit allows; the connection ends";
        SEQUENCE = 12, "the put's sequence is older than what the gateway remembers; the connection ends";
        TIMED_OUT = 13, "nothing came in time; the connection ends";
        STOPPING = 14, "the gateway is stopping; the connection ends";
    }
}

impl ErrorCode {
    /// Whether the connection ends behind the frame.
    pub fn ends(self) -> bool {
        !matches!(self, Self::UNKNOWN_TYPE | Self::NOT_RESUMED)
    }
}

/// What the device says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    /// The protocol version that it speaks.
    pub version: u16,
    /// Its name.
    pub device: DeviceName,
    /// The incarnation of its store; 0 if it has none.
    pub incarnation: Incarnation,
    /// The session under which its store last resumed; 0 if none.
    pub last_session: SessionId,
    /// What proves who it is; empty if nothing.
    pub token: Bytes,
    /// What it is, for people; at most 64 characters.
    pub product: String,
}

/// What the gateway answers to HELLO.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Welcome {
    /// The protocol version that will be spoken.
    pub version: u16,
    /// The gateway's name.
    pub gateway: QMgrName,
    /// The session that begins.
    pub session: SessionId,
    /// The device's incarnation from now on.
    pub incarnation: Incarnation,
    /// Limits that hold for this connection.
    pub limits: Limits,
    /// Messages that wait for the device.
    pub waiting: u32,
}

/// Limits that the gateway names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Milliseconds of silence after which the device sends PING; after three times that the gateway cuts.
    pub heartbeat_ms: u32,
    /// Longest frame, in bytes behind the length, in both directions.
    pub frame_bytes_max: u32,
    /// Most messages in a window.
    pub window_messages_max: u32,
    /// Most bytes in a window (one message may be larger).
    pub window_bytes_max: u32,
    /// Longest wait of a GET.
    pub wait_ms_max: u32,
    /// Puts that may be unanswered: no sequence at or above the lowest unanswered one + this.
    pub put_credit: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            heartbeat_ms: 60_000,
            frame_bytes_max: FRAME_BYTES_MAX as u32,
            window_messages_max: 256,
            window_bytes_max: 1024 * 1024,
            wait_ms_max: 300_000,
            put_credit: 64,
        }
    }
}

/// A message that the device will not take, and how it said so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// It can never take it: to the dead-letter queue, with this reason.
    Rejected(Reason),
    /// Not now: it waits again.
    Released,
}

/// What stands before a message's envelope in MESSAGE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageHead {
    /// Its name.
    pub uid: Uid,
    /// How often it was sent, this time included; stops at 7. For information only.
    pub deliveries: u8,
    /// Whether it may have been sent before.
    pub resent: bool,
    /// Milliseconds until it expires.
    pub remaining_ms: Option<u64>,
}

/// What became of a put. The outcome of a sequence never changes (but for `Busy`, which decides nothing).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PutOutcome {
    /// Taken, durably.
    Taken,
    /// Refused for good.
    Refused(Reason),
    /// Nothing was decided; repeat this sequence, and all behind it, after so many milliseconds.
    Busy(u32),
}

/// How a rejected message ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RejectOutcome {
    /// It is on the dead-letter queue.
    DeadLettered,
    /// It was gone already, or never handed out to this device.
    Gone,
}

/// A put of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Put {
    /// Its number within the incarnation.
    pub sequence: Sequence,
    /// The queue that it is for.
    pub queue: QName,
    /// The queue manager of that queue; blank lets the gateway's own decide.
    pub queue_manager: QMgrName,
    /// The message, all but the payload.
    pub envelope: Bytes,
    /// The payload.
    pub payload: Bytes,
}

/// A frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// 0x01, device: who I am.
    Hello(Hello),
    /// 0x02, device: what I have stored, and refused, and saw no answer to.
    Resume {
        /// Stored, not seen confirmed.
        stored: Vec<Uid>,
        /// Refused, not seen answered.
        refused: Vec<(Uid, Refusal)>,
    },
    /// 0x03, device: give me messages.
    Get {
        /// At most so many.
        messages: u32,
        /// At most so many bytes (but always one message).
        bytes: u32,
        /// Milliseconds to wait if there is none.
        wait_ms: u32,
    },
    /// 0x04, device: these are stored.
    Confirm(Vec<Uid>),
    /// 0x05, device: I can never take this one.
    Reject {
        /// Which.
        uid: Uid,
        /// Why.
        reason: Reason,
    },
    /// 0x06, device: not now.
    Release(Uid),
    /// 0x07, device: a message for MQ or another device.
    Put(Put),
    /// 0x08, device: I am still here.
    Ping,
    /// 0x81: session and limits.
    Welcome(Welcome),
    /// 0x82: all that RESUME named as stored or released may be forgotten.
    Resumed {
        /// How many of them ended now.
        ended: u32,
    },
    /// 0x83: a message.
    Message(MessageHead, Bytes, Bytes),
    /// 0x84: the end of what a GET gives.
    End {
        /// Messages given.
        given: u32,
        /// Messages that still wait.
        waiting: u32,
        /// Messages in doubt.
        in_doubt: u32,
    },
    /// 0x85: what CONFIRM named may be forgotten.
    Confirmed {
        /// How many of them ended now.
        ended: u32,
    },
    /// 0x86: the refusal may be forgotten.
    Rejected(Uid, RejectOutcome),
    /// 0x87: the refusal may be forgotten.
    Released(Uid),
    /// 0x88: what became of a put.
    PutAnswer(Sequence, PutOutcome),
    /// 0x89: so am I.
    Pong,
    /// 0x8A: messages wait, and no GET does.
    Wake {
        /// How many.
        waiting: u32,
    },
    /// 0xFF: something is wrong.
    Error {
        /// What.
        code: ErrorCode,
        /// Milliseconds after which it may be tried again; 0 if that does not depend on time.
        retry_after_ms: u32,
        /// For people.
        text: String,
    },
}

impl Frame {
    /// An ERROR frame.
    pub fn error(code: ErrorCode, retry_after_ms: u32, text: impl Into<String>) -> Self {
        Self::Error { code, retry_after_ms, text: text.into() }
    }

    /// Its bytes, the length included.
    pub fn to_bytes(&self, request: RequestId) -> Bytes {
        let mut out = BytesMut::new();
        self.encode(request, &mut out);
        out.freeze()
    }

    /// Appends its bytes, the length included.
    pub fn encode(&self, request: RequestId, out: &mut BytesMut) {
        let start = out.len();
        out.put_u32(0);
        out.put_u8(self.code());
        out.put_u32(request.0);
        body::encode(self, out);
        let length = (out.len() - start - LENGTH_BYTES) as u32;
        out[start..start + LENGTH_BYTES].copy_from_slice(&length.to_be_bytes());
    }

    /// Reads a frame without its length. An unknown type is [`Decoded::Unknown`], no error.
    pub fn decode(bytes: &Bytes) -> Result<(RequestId, Decoded), DecodeError> {
        body::decode(bytes)
    }

    fn code(&self) -> u8 {
        match self {
            Self::Hello(_) => 0x01,
            Self::Resume { .. } => 0x02,
            Self::Get { .. } => 0x03,
            Self::Confirm(_) => 0x04,
            Self::Reject { .. } => 0x05,
            Self::Release(_) => 0x06,
            Self::Put(_) => 0x07,
            Self::Ping => 0x08,
            Self::Welcome(_) => 0x81,
            Self::Resumed { .. } => 0x82,
            Self::Message(..) => 0x83,
            Self::End { .. } => 0x84,
            Self::Confirmed { .. } => 0x85,
            Self::Rejected(..) => 0x86,
            Self::Released(_) => 0x87,
            Self::PutAnswer(..) => 0x88,
            Self::Pong => 0x89,
            Self::Wake { .. } => 0x8A,
            Self::Error { .. } => 0xFF,
        }
    }
}

/// What a frame turned out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decoded {
    /// A frame.
    Frame(Frame),
    /// A type that this version does not know.
    Unknown(u8),
}
