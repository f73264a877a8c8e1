//! MQCLOSE (mq-wire.md 4.5). The reply needs no body.

use bytes::Bytes;

use crate::{CloseOptions, Coding, DecodeError, Reader, Writer};

/// Request of MQCLOSE; the handle is in the API header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CloseBody {
    /// What becomes of a dynamic queue.
    pub options: CloseOptions,
}

impl CloseBody {
    /// Reads it.
    pub fn decode(body: &Bytes, coding: Coding) -> Result<Self, DecodeError> {
        Ok(Self { options: Reader::new(body, coding).field("MQCLOSE", "Options")? })
    }

    /// Appends it.
    pub fn encode(&self, writer: &mut Writer<'_>) {
        writer.field(&self.options);
    }
}
