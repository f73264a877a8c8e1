//! MQPUT and MQPUT1 (mq-wire.md 4.6, 4.7).

use bytes::Bytes;

use super::open::od_records;
use super::{records_length, take_slice};
use crate::{Coding, DecodeError, Mqmd, Mqod, Mqpmo, Reader, Writer};

const TITLE: &str = "MQPUT";

/// Request of MQPUT; the handle is in the API header.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PutBody {
    /// The descriptor as the application set it.
    pub md: Mqmd,
    /// How to put.
    pub pmo: Mqpmo,
    /// Put message and response records of a distribution list.
    pub records: Bytes,
    /// The data of the message.
    pub data: Bytes,
}

impl PutBody {
    /// Reads it; the data is a slice of `body`.
    pub fn decode(body: &Bytes, coding: Coding) -> Result<Self, DecodeError> {
        Self::decode_next(&mut Reader::new(body, coding), body)
    }

    /// Appends it.
    pub fn encode(&self, writer: &mut Writer<'_>) {
        self.encode_before_data(writer);
        writer.raw(&self.data);
    }

    /// Appends what stands before the data, for callers that send the data from where it lies.
    pub fn encode_before_data(&self, writer: &mut Writer<'_>) {
        self.md.encode(writer);
        self.pmo.encode(writer);
        writer.raw(&self.records);
        // A message is at most as long as the two sides agreed, which fits 32 bits.
        writer.field(&u32::try_from(self.data.len()).unwrap_or(u32::MAX));
    }

    fn decode_next(reader: &mut Reader<'_>, body: &Bytes) -> Result<Self, DecodeError> {
        let PutReplyBody { md, pmo, records, data_length } = PutReplyBody::decode_next(reader, body)?;
        let data = take_slice(reader, body, TITLE, "data", data_length as usize)?;
        Ok(Self { md, pmo, records, data })
    }
}

/// Reply to MQPUT: what the queue manager made of the request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PutReplyBody {
    /// The descriptor with ids and context filled in.
    pub md: Mqmd,
    /// With the resolved names.
    pub pmo: Mqpmo,
    /// Put message and response records of a distribution list.
    pub records: Bytes,
    /// Length of the message, as in the request.
    pub data_length: u32,
}

impl PutReplyBody {
    /// Reads it.
    pub fn decode(body: &Bytes, coding: Coding) -> Result<Self, DecodeError> {
        Self::decode_next(&mut Reader::new(body, coding), body)
    }

    /// Appends it.
    pub fn encode(&self, writer: &mut Writer<'_>) {
        self.md.encode(writer);
        self.pmo.encode(writer);
        writer.raw(&self.records);
        writer.field(&self.data_length);
    }

    fn decode_next(reader: &mut Reader<'_>, body: &Bytes) -> Result<Self, DecodeError> {
        let md = Mqmd::decode(reader)?;
        let pmo = Mqpmo::decode(reader)?;
        let records = pmo_records(reader, body, &pmo)?;
        Ok(Self { md, pmo, records, data_length: reader.field(TITLE, "DataLength")? })
    }
}

/// Request of MQPUT1.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Put1Body {
    /// Where to put.
    pub od: Mqod,
    /// Object and response records of a distribution list.
    pub od_records: Bytes,
    /// What to put.
    pub put: PutBody,
}

impl Put1Body {
    /// Reads it; the data is a slice of `body`.
    pub fn decode(body: &Bytes, coding: Coding) -> Result<Self, DecodeError> {
        let reader = &mut Reader::new(body, coding);
        let od = Mqod::decode(reader)?;
        let od_records = od_records(reader, body, &od)?;
        Ok(Self { od, od_records, put: PutBody::decode_next(reader, body)? })
    }

    /// Appends it.
    pub fn encode(&self, writer: &mut Writer<'_>) {
        self.od.encode(writer);
        writer.raw(&self.od_records);
        self.put.encode(writer);
    }
}

/// Reply to MQPUT1.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Put1ReplyBody {
    /// With the resolved names.
    pub od: Mqod,
    /// Object and response records of a distribution list.
    pub od_records: Bytes,
    /// What became of the put.
    pub put: PutReplyBody,
}

impl Put1ReplyBody {
    /// Reads it.
    pub fn decode(body: &Bytes, coding: Coding) -> Result<Self, DecodeError> {
        let reader = &mut Reader::new(body, coding);
        let od = Mqod::decode(reader)?;
        let od_records = od_records(reader, body, &od)?;
        Ok(Self { od, od_records, put: PutReplyBody::decode_next(reader, body)? })
    }

    /// Appends it.
    pub fn encode(&self, writer: &mut Writer<'_>) {
        self.od.encode(writer);
        writer.raw(&self.od_records);
        self.put.encode(writer);
    }
}

/// The put message and response records behind put-message options (mq-wire.md 5.4).
fn pmo_records(reader: &mut Reader<'_>, body: &Bytes, pmo: &Mqpmo) -> Result<Bytes, DecodeError> {
    let fields = [(1, 24), (2, 24), (4, 24), (8, 4), (0x10, 32)];
    let record =
        fields.iter().filter(|(bit, _)| pmo.put_msg_rec_fields & bit != 0).map(|(_, length)| length).sum();
    let records = records_length(reader, Mqpmo::TITLE, pmo.recs_present, record, pmo.put_msg_rec_offset)?;
    let responses = records_length(reader, Mqpmo::TITLE, pmo.recs_present, 8, pmo.response_rec_offset)?;
    take_slice(reader, body, Mqpmo::TITLE, "PutMsgRecords", records.saturating_add(responses))
}
