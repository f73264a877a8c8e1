//! SPI, the verbs behind MQI calls (mq-wire.md 4.12, mq-wire-observed-base.md 3.5): QUERY, OPEN and RESERVE. The other
//! verbs are kept as bytes.

mod open;
mod query;
mod reserve;

use bytes::Bytes;

use super::take_slice;
use crate::{Coding, DecodeError, DecodeErrorKind, Reader, Writer};

pub use open::{Lpoo, SpiOpen};
pub use query::{SpiCapability, SpiQuery};
pub use reserve::SpiReserve;

const TITLE: &str = "SPI";

constants! {
    /// A verb of the SPI.
    pub struct SpiVerb(u32), "" {
        QUERY = 1, "which verbs there are";
        PUT = 2, "put with options of its own";
        GET = 3, "get in batches";
        ACTIVATE = 4, "let a deferred message go";
        SYNCPOINT = 5, "not known";
        RESERVE = 6, "reserve message identifiers";
        SUBSCRIBE = 7, "subscribe";
        NOTIFY = 11, "not known";
        OPEN = 12, "open a queue";
    }
}

/// What every SPI call starts with, after the API header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SpiHeader {
    /// The verb.
    pub verb: SpiVerb,
    /// 1.
    pub version: u32,
    /// The longest reply wanted, counted after this header and SPxU.
    pub max_reply_size: u32,
}

/// Request and reply of a verb.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpiBody {
    /// The frame.
    pub header: SpiHeader,
    /// What is in it.
    pub call: SpiCall,
}

/// What is in the frame, by verb.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpiCall {
    /// QUERY.
    Query(SpiQuery),
    /// OPEN.
    Open(Box<SpiOpen>),
    /// RESERVE.
    Reserve(SpiReserve),
    /// Any other verb.
    Opaque(Bytes),
}

impl SpiBody {
    /// Reads it.
    pub fn decode(body: &Bytes, coding: Coding) -> Result<Self, DecodeError> {
        let reader = &mut Reader::new(body, coding);
        let header = SpiHeader {
            verb: reader.field(TITLE, "Verb")?,
            version: reader.field(TITLE, "Version")?,
            max_reply_size: reader.field(TITLE, "MaxReplySize")?,
        };
        let call = match header.verb {
            SpiVerb::QUERY => SpiCall::Query(SpiQuery::decode(reader)?),
            SpiVerb::OPEN => SpiCall::Open(Box::new(SpiOpen::decode(reader, body)?)),
            SpiVerb::RESERVE => SpiCall::Reserve(SpiReserve::decode(reader)?),
            _ => {
                let length = reader.rest().len();
                SpiCall::Opaque(take_slice(reader, body, TITLE, "call", length)?)
            }
        };
        Ok(Self { header, call })
    }

    /// Appends it.
    pub fn encode(&self, writer: &mut Writer<'_>) {
        writer.field(&self.header.verb);
        writer.field(&self.header.version);
        writer.field(&self.header.max_reply_size);
        match &self.call {
            SpiCall::Query(query) => query.encode(writer),
            SpiCall::Open(open) => open.encode(writer),
            SpiCall::Reserve(reserve) => reserve.encode(writer),
            SpiCall::Opaque(bytes) => writer.raw(bytes),
        }
    }
}

/// Length of SPxU, and of the part of SPxI and SPxO that they all have: identifier, version, length.
const PART_LENGTH: usize = 12;

/// The two structures of a verb: SPxU, which has nothing but a version, then SPxI or SPxO.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Parts {
    in_out_version: u32,
    version: u32,
    /// Whether the second one is SPxO.
    reply: bool,
    /// Bytes of the second one behind its first twelve.
    more: usize,
}

impl Parts {
    /// Reads both; `letter` is the x of their identifiers.
    fn decode(reader: &mut Reader<'_>, letter: u8) -> Result<Self, DecodeError> {
        reader.struc_id("SPxU", [b'S', b'P', letter, b'U'])?;
        let in_out_version = reader.field("SPxU", "Version")?;
        length(reader, "SPxU")?;
        let reply = reader.at_struc_id([b'S', b'P', letter, b'O']);
        let structure = if reply { "SPxO" } else { "SPxI" };
        reader.struc_id(structure, [b'S', b'P', letter, if reply { b'O' } else { b'I' }])?;
        let version = reader.field(structure, "Version")?;
        let more = length(reader, structure)?;
        Ok(Self { in_out_version, version, reply, more })
    }

    fn encode(self, writer: &mut Writer<'_>, letter: u8) {
        writer.struc_id([b'S', b'P', letter, b'U']);
        writer.field(&self.in_out_version);
        writer.field(&(PART_LENGTH as u32));
        writer.struc_id([b'S', b'P', letter, if self.reply { b'O' } else { b'I' }]);
        writer.field(&self.version);
        writer.field(&((PART_LENGTH + self.more) as u32));
    }
}

/// The Length of a structure, less what has been read of it.
fn length(reader: &mut Reader<'_>, structure: &'static str) -> Result<usize, DecodeError> {
    let at_length = reader.clone();
    let length: u32 = reader.field(structure, "Length")?;
    (length as usize).checked_sub(PART_LENGTH).ok_or_else(|| {
        let kind = DecodeErrorKind::Range { found: length.into(), min: 12, max: u32::MAX.into() };
        at_length.error(structure, "Length", kind)
    })
}
