//! MQGET (mq-wire.md 4.8).

use bytes::Bytes;

use super::take_slice;
use crate::{Coding, DecodeError, Mqgmo, Mqmd, Reader, Reason, Writer};

const TITLE: &str = "MQGET";

/// Request of MQGET; the handle is in the API header.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GetBody {
    /// Ids to match, and the encoding wanted.
    pub md: Mqmd,
    /// How to get.
    pub gmo: Mqgmo,
    /// The most data the client takes.
    pub buffer_length: u32,
}

impl GetBody {
    /// Reads it.
    pub fn decode(body: &Bytes, coding: Coding) -> Result<Self, DecodeError> {
        let reader = &mut Reader::new(body, coding);
        Ok(Self {
            md: Mqmd::decode(reader)?,
            gmo: Mqgmo::decode(reader)?,
            buffer_length: reader.field(TITLE, "BufferLength")?,
        })
    }

    /// Appends it.
    pub fn encode(&self, writer: &mut Writer<'_>) {
        self.md.encode(writer);
        self.gmo.encode(writer);
        writer.field(&self.buffer_length);
    }
}

/// Reply to MQGET.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GetReplyBody {
    /// The descriptor of the message.
    pub md: Mqmd,
    /// With the resolved name and the state of group and segment.
    pub gmo: Mqgmo,
    /// Length of the whole message, also when less of it follows (mq-wire-observed-base.md 4.1).
    pub data_length: u32,
    /// The data that fitted the client's buffer.
    pub data: Bytes,
}

impl GetReplyBody {
    /// Reads it; the data is a slice of `body`. Only a reply that says so by its reason may hold less data than the
    /// message has; its data may then end in padding, so the client cuts it at its buffer length.
    pub fn decode(reason: Reason, body: &Bytes, coding: Coding) -> Result<Self, DecodeError> {
        let reader = &mut Reader::new(body, coding);
        let md = Mqmd::decode(reader)?;
        let gmo = Mqgmo::decode(reader)?;
        let data_length: u32 = reader.field(TITLE, "DataLength")?;
        let mut here = data_length as usize;
        if matches!(reason, Reason::TRUNCATED_MSG_ACCEPTED | Reason::TRUNCATED_MSG_FAILED) {
            here = here.min(reader.rest().len());
        }
        let data = take_slice(reader, body, TITLE, "data", here)?;
        Ok(Self { md, gmo, data_length, data })
    }

    /// Appends it.
    pub fn encode(&self, writer: &mut Writer<'_>) {
        self.encode_before_data(writer);
        writer.raw(&self.data);
    }

    /// Appends what stands before the data, for callers that send the data from where it lies.
    pub fn encode_before_data(&self, writer: &mut Writer<'_>) {
        self.md.encode(writer);
        self.gmo.encode(writer);
        writer.field(&self.data_length);
    }
}
