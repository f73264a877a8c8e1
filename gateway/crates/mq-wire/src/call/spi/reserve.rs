//! SPI RESERVE, with which a client gets message identifiers in advance (mq-wire-observed-base.md 3.5).

use super::Parts;
use crate::{DecodeError, MsgId, Reader, Writer};

/// Request and reply of RESERVE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpiReserve {
    /// The client asks.
    Request {
        /// Length of an identifier: 24.
        id_length: u32,
        /// How many it wants.
        wanted: u32,
    },
    /// The queue manager grants.
    Reply {
        /// How many.
        granted: u32,
        /// Where in the identifier the client counts.
        counter_offset: u32,
        /// The first one. None of those granted may ever be used again.
        base: MsgId,
    },
}

const LETTER: u8 = b'R';

impl SpiReserve {
    /// Reads it.
    pub fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        if Parts::decode(reader, LETTER)?.reply {
            return Ok(Self::Reply {
                granted: reader.field("SPRO", "Granted")?,
                counter_offset: reader.field("SPRO", "CounterOffset")?,
                base: reader.field("SPRO", "BaseId")?,
            });
        }
        Ok(Self::Request {
            id_length: reader.field("SPRI", "IdLength")?,
            wanted: reader.field("SPRI", "Wanted")?,
        })
    }

    /// Appends it.
    pub fn encode(&self, writer: &mut Writer<'_>) {
        let (reply, more) = match self {
            Self::Request { .. } => (false, 8),
            Self::Reply { .. } => (true, 32),
        };
        Parts { in_out_version: 1, version: 1, reply, more }.encode(writer, LETTER);
        match self {
            Self::Request { id_length, wanted } => {
                writer.field(id_length);
                writer.field(wanted);
            }
            Self::Reply { granted, counter_offset, base } => {
                writer.field(granted);
                writer.field(counter_offset);
                writer.field(base);
            }
        }
    }
}
