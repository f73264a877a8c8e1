//! The API header, first in every call and reply (mq-wire.md 4.1).

use crate::{ByteOrder, Coding, CompCode, DecodeError, Reader, Reason, Writer};

const TITLE: &str = "API";

/// What every call and reply starts with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ApiHeader {
    /// In replies the length of the whole, counted as if it were one TSH segment; in requests what the client expects
    /// back. Always big-endian. Nobody checks it.
    pub reply_length: u32,
    /// Completion code; 0 in requests.
    pub comp_code: CompCode,
    /// Reason; 0 in requests.
    pub reason: Reason,
    /// Handle of the object; 0 or -1 for none.
    pub object_handle: i32,
}

impl ApiHeader {
    /// Bytes on the wire.
    pub const LENGTH: usize = 16;

    /// Reads it.
    pub fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let coding = reader.coding();
        reader.set_coding(Coding { order: ByteOrder::Big, ..coding });
        let reply_length = reader.field(TITLE, "ReplyLength");
        reader.set_coding(coding);
        Ok(Self {
            reply_length: reply_length?,
            comp_code: reader.field(TITLE, "CompCode")?,
            reason: reader.field(TITLE, "Reason")?,
            object_handle: reader.field(TITLE, "ObjectHandle")?,
        })
    }

    /// Appends it.
    pub fn encode(&self, writer: &mut Writer<'_>) {
        writer.raw(&self.reply_length.to_be_bytes());
        writer.field(&self.comp_code);
        writer.field(&self.reason);
        writer.field(&self.object_handle);
    }

    /// The `reply_length` of a reply whose body behind this header has so many bytes: 28, 16 and those, whatever
    /// header the segment has (mq-wire.md 4.1).
    pub fn reply_length_of(body_length: usize) -> u32 {
        u32::try_from(28 + Self::LENGTH + body_length).unwrap_or(u32::MAX)
    }
}
