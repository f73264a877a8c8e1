//! MQOPEN (mq-wire.md 4.4) and FOPA, the open attributes behind it (mq-wire.md 5.12).

use bytes::Bytes;

use super::{records_length, take_slice};
use crate::{Chars, Coding, DecodeError, Mqod, OpenOptions, Reader, Writer};

const TITLE: &str = "MQOPEN";

/// Request and reply of MQOPEN. A failed reply must carry it whole (mq-wire-observed-base.md 4.1).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OpenBody {
    /// What to open; the reply has the resolved names.
    pub od: Mqod,
    /// Object and response records of a distribution list.
    pub records: Bytes,
    /// How to open it.
    pub options: OpenOptions,
    /// Attributes that the reply fills in.
    pub fopa: Option<Fopa>,
    /// What follows, such as FCMI.
    pub tail: Bytes,
}

impl OpenBody {
    /// Reads it.
    pub fn decode(body: &Bytes, coding: Coding) -> Result<Self, DecodeError> {
        let reader = &mut Reader::new(body, coding);
        let od = Mqod::decode(reader)?;
        let records = od_records(reader, body, &od)?;
        let options = reader.field(TITLE, "Options")?;
        // One to three bytes cannot be a structure, but its beginning.
        let fopa = match reader.rest().len() {
            0 => None,
            1..=3 => Some(Fopa::decode_next(reader)?),
            _ if reader.at_struc_id(Fopa::ID) => Some(Fopa::decode_next(reader)?),
            _ => None,
        };
        let length = reader.rest().len();
        let tail = take_slice(reader, body, TITLE, "tail", length)?;
        Ok(Self { od, records, options, fopa, tail })
    }

    /// Appends it.
    pub fn encode(&self, writer: &mut Writer<'_>) {
        self.od.encode(writer);
        writer.raw(&self.records);
        writer.field(&self.options);
        if let Some(fopa) = &self.fopa {
            fopa.encode(writer);
        }
        writer.raw(&self.tail);
    }
}

/// The object and response records behind an object descriptor (mq-wire.md 5.2).
pub(super) fn od_records(reader: &mut Reader<'_>, body: &Bytes, od: &Mqod) -> Result<Bytes, DecodeError> {
    let records = records_length(reader, Mqod::TITLE, od.recs_present, 96, od.object_rec_offset)?;
    let responses = records_length(reader, Mqod::TITLE, od.recs_present, 8, od.response_rec_offset)?;
    take_slice(reader, body, Mqod::TITLE, "ObjectRecords", records.saturating_add(responses))
}

sized_struct! {
    /// The open attributes; 28 or 84 bytes by `struc_length`.
    pub struct Fopa, "FOPA", id b"FOPA", least 28, whole 84 {
        /// 1 with 28 bytes.
        version: u32 = 1,
        /// Length of the structure.
        struc_length: u32 = 84,
        /// Default persistence; -1 unknown.
        def_persistence: i32 = -1,
        /// Default put response, 1 synchronous.
        def_put_response: i32 = -1,
        /// Default read-ahead, 2 disabled.
        def_read_ahead: i32 = -1,
        /// Property control.
        property_control: i32 = -1,
        /// Queue for what message protection refuses.
        protection_error_queue: Chars<48> = Chars::BLANK,
        /// Length or offset of the policy.
        policy_offset: u32 = 84,
        /// Length of the policy; 0 is none.
        policy_length: u32 = 0,
    }
}

impl Fopa {
    /// The short form, without message protection.
    pub fn short() -> Self {
        Self { length: Self::LEAST, struc_length: Self::LEAST as u32, ..Self::default() }
    }

    /// Reads the structure with the length that it says itself.
    pub fn decode_next(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut ahead = reader.clone();
        ahead.struc_id(Self::TITLE, Self::ID)?;
        ahead.take(Self::TITLE, "version", 4)?;
        let length: u32 = ahead.field(Self::TITLE, "struc_length")?;
        Self::decode(reader, length as usize)
    }
}
