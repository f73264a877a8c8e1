//! Calls: the API header and the bodies behind it (mq-wire.md 4). A body is read after the segments of its call were
//! joined; bytes after its end are padding and ignored (mq-wire-observed-base.md 2.2).
//!
//! Message data is a slice of the body it came in, not a copy. Which call a handle or a channel may take is left to
//! the channel; what it does, to the queue manager.

mod api_header;
mod attributes;
mod close;
mod connect;
mod get;
mod open;
mod put;
mod spi;
mod stat;

use bytes::Bytes;

use crate::{Coding, CompCode, DecodeError, DecodeErrorKind, Reader, SegmentType, Writer};

pub use api_header::ApiHeader;
pub use attributes::{AttributesBody, InquireBody};
pub use close::CloseBody;
pub use connect::{ConnectBody, ConnectOptionsPart, Fcno};
pub use get::{GetBody, GetReplyBody};
pub use open::{Fopa, OpenBody};
pub use put::{Put1Body, Put1ReplyBody, PutBody, PutReplyBody};
pub use spi::{Lpoo, SpiBody, SpiCall, SpiCapability, SpiHeader, SpiOpen, SpiQuery, SpiReserve, SpiVerb};
pub use stat::{Mqsts, StatBody};

/// What stands behind the API header of a call or a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Call {
    /// Nothing: MQDISC, MQCMIT, MQBACK, their replies, and failed replies that were cut.
    Empty,
    /// MQCONN and its reply.
    Connect(Box<ConnectBody>),
    /// MQOPEN and its reply.
    Open(Box<OpenBody>),
    /// MQCLOSE.
    Close(CloseBody),
    /// MQPUT.
    Put(Box<PutBody>),
    /// The reply to MQPUT.
    PutReply(Box<PutReplyBody>),
    /// MQPUT1.
    Put1(Box<Put1Body>),
    /// The reply to MQPUT1.
    Put1Reply(Box<Put1ReplyBody>),
    /// MQGET.
    Get(Box<GetBody>),
    /// The reply to MQGET.
    GetReply(Box<GetReplyBody>),
    /// MQINQ.
    Inquire(InquireBody),
    /// The reply to MQINQ, and MQSET.
    Attributes(AttributesBody),
    /// A verb of the SPI and its reply.
    Spi(Box<SpiBody>),
    /// MQSTAT and its reply.
    Stat(Box<StatBody>),
    /// A call that is not decoded here.
    Opaque(Bytes),
}

impl Call {
    /// Reads what stands behind the API header of a segment of this type. `body` begins after that header.
    pub fn decode(
        segment_type: SegmentType,
        api: &ApiHeader,
        body: &Bytes,
        coding: Coding,
    ) -> Result<Self, DecodeError> {
        if !segment_type.is_reply() || api.comp_code != CompCode::FAILED {
            return Self::decode_whole(segment_type, api, body, coding);
        }
        // Nobody knows how far queue managers cut the bodies of failed replies (mq-wire.md 4.1); reason and
        // completion code, which are all that matters then, are in the API header.
        if body.is_empty() {
            return Ok(Self::Empty);
        }
        Ok(Self::decode_whole(segment_type, api, body, coding).unwrap_or_else(|_| Self::Opaque(body.clone())))
    }

    fn decode_whole(
        segment_type: SegmentType,
        api: &ApiHeader,
        body: &Bytes,
        coding: Coding,
    ) -> Result<Self, DecodeError> {
        Ok(match segment_type {
            SegmentType::MQDISC
            | SegmentType::MQDISC_REPLY
            | SegmentType::MQCMIT
            | SegmentType::MQCMIT_REPLY
            | SegmentType::MQBACK
            | SegmentType::MQBACK_REPLY => Self::Empty,
            // Nothing comes back from these two; some queue managers send the request's body back all the same
            // (mq-wire-observed-base.md 4.1).
            SegmentType::MQCLOSE_REPLY | SegmentType::MQSET_REPLY if body.is_empty() => Self::Empty,
            SegmentType::MQCONN | SegmentType::MQCONN_REPLY => {
                Self::Connect(Box::new(ConnectBody::decode(body, coding)?))
            }
            SegmentType::MQOPEN | SegmentType::MQOPEN_REPLY => {
                Self::Open(Box::new(OpenBody::decode(body, coding)?))
            }
            SegmentType::MQCLOSE | SegmentType::MQCLOSE_REPLY => {
                Self::Close(CloseBody::decode(body, coding)?)
            }
            SegmentType::MQPUT => Self::Put(Box::new(PutBody::decode(body, coding)?)),
            SegmentType::MQPUT_REPLY => Self::PutReply(Box::new(PutReplyBody::decode(body, coding)?)),
            SegmentType::MQPUT1 => Self::Put1(Box::new(Put1Body::decode(body, coding)?)),
            SegmentType::MQPUT1_REPLY => Self::Put1Reply(Box::new(Put1ReplyBody::decode(body, coding)?)),
            SegmentType::MQGET => Self::Get(Box::new(GetBody::decode(body, coding)?)),
            SegmentType::MQGET_REPLY => {
                Self::GetReply(Box::new(GetReplyBody::decode(api.reason, body, coding)?))
            }
            SegmentType::MQINQ => Self::Inquire(InquireBody::decode(body, coding)?),
            SegmentType::MQINQ_REPLY | SegmentType::MQSET | SegmentType::MQSET_REPLY => {
                Self::Attributes(AttributesBody::decode(body, coding)?)
            }
            SegmentType::SPI | SegmentType::SPI_REPLY => Self::Spi(Box::new(SpiBody::decode(body, coding)?)),
            SegmentType::MQSTAT | SegmentType::MQSTAT_REPLY => {
                Self::Stat(Box::new(StatBody::decode(body, coding)?))
            }
            _ => Self::Opaque(body.clone()),
        })
    }

    /// Appends the body.
    pub fn encode(&self, writer: &mut Writer<'_>) {
        match self {
            Self::Empty => {}
            Self::Connect(body) => body.encode(writer),
            Self::Open(body) => body.encode(writer),
            Self::Close(body) => body.encode(writer),
            Self::Put(body) => body.encode(writer),
            Self::PutReply(body) => body.encode(writer),
            Self::Put1(body) => body.encode(writer),
            Self::Put1Reply(body) => body.encode(writer),
            Self::Get(body) => body.encode(writer),
            Self::GetReply(body) => body.encode(writer),
            Self::Inquire(body) => body.encode(writer),
            Self::Attributes(body) => body.encode(writer),
            Self::Spi(body) => body.encode(writer),
            Self::Stat(body) => body.encode(writer),
            Self::Opaque(bytes) => writer.raw(bytes),
        }
    }
}

/// The next bytes of a body as a slice of it.
fn take_slice(
    reader: &mut Reader<'_>,
    body: &Bytes,
    structure: &'static str,
    field: &'static str,
    length: usize,
) -> Result<Bytes, DecodeError> {
    let start = reader.position();
    reader.take(structure, field, length)?;
    Ok(body.slice(start..start + length))
}

/// The length in bytes of `count` records of a distribution list; 0 if their offset says that there are none.
fn records_length(
    reader: &Reader<'_>,
    structure: &'static str,
    count: i32,
    record_length: usize,
    offset: u32,
) -> Result<usize, DecodeError> {
    if count == 0 || offset == 0 {
        return Ok(0);
    }
    usize::try_from(count).ok().and_then(|count| count.checked_mul(record_length)).ok_or_else(|| {
        let kind = DecodeErrorKind::Range { found: count.into(), min: 0, max: i32::MAX.into() };
        reader.error(structure, "RecsPresent", kind)
    })
}
