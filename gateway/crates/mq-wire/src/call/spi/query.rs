//! SPI QUERY, which verbs the queue manager has (mq-wire.md 4.12.2).

use super::Parts;
use crate::{DecodeError, DecodeErrorKind, Reader, SpiVerb, Writer};

/// Request and reply of QUERY.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpiQuery {
    /// Version of SPQU.
    pub in_out_version: u32,
    /// Version of SPQI or SPQO.
    pub version: u32,
    /// The verbs, each at the position of its number; `None` in the request.
    pub capabilities: Option<Vec<SpiCapability>>,
}

/// What the queue manager can do with a verb; all zeros if it has not got it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SpiCapability {
    /// The verb.
    pub verb: SpiVerb,
    /// Newest version of SPxU.
    pub in_out_version_max: u32,
    /// Newest version of SPxI.
    pub in_version_max: u32,
    /// Newest version of SPxO.
    pub out_version_max: u32,
    /// 1 for a verb that is there.
    pub flags: u32,
}

const LETTER: u8 = b'Q';
const ENTRY_LENGTH: usize = 20;

impl SpiQuery {
    /// The request.
    pub const REQUEST: Self = Self { in_out_version: 1, version: 1, capabilities: None };

    /// Reads it.
    pub fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let parts = Parts::decode(reader, LETTER)?;
        let mut query =
            Self { in_out_version: parts.in_out_version, version: parts.version, capabilities: None };
        if parts.reply {
            let at_count = reader.clone();
            let count: u32 = reader.field("SPQO", "Count")?;
            if parts.more as u64 != 4 + ENTRY_LENGTH as u64 * u64::from(count) {
                let max = parts.more.saturating_sub(4) / ENTRY_LENGTH;
                let kind = DecodeErrorKind::Range { found: count.into(), min: 0, max: max as i64 };
                return Err(at_count.error("SPQO", "Count", kind));
            }
            // Each entry takes its bytes, so the list is never longer than what is there.
            let entries = (0..count).map(|_| SpiCapability::decode(reader));
            query.capabilities = Some(entries.collect::<Result<_, _>>()?);
        }
        Ok(query)
    }

    /// Appends it.
    pub fn encode(&self, writer: &mut Writer<'_>) {
        let entries = self.capabilities.as_deref();
        let more = entries.map_or(0, |entries| 4 + ENTRY_LENGTH * entries.len());
        let (in_out_version, version, reply) = (self.in_out_version, self.version, entries.is_some());
        Parts { in_out_version, version, reply, more }.encode(writer, LETTER);
        if let Some(entries) = entries {
            writer.field(&(entries.len() as u32));
            for entry in entries {
                entry.encode(writer);
            }
        }
    }
}

impl SpiCapability {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            verb: reader.field("SPQO", "Verb")?,
            in_out_version_max: reader.field("SPQO", "MaxInOutVersion")?,
            in_version_max: reader.field("SPQO", "MaxInVersion")?,
            out_version_max: reader.field("SPQO", "MaxOutVersion")?,
            flags: reader.field("SPQO", "Flags")?,
        })
    }

    fn encode(&self, writer: &mut Writer<'_>) {
        writer.field(&self.verb);
        writer.field(&self.in_out_version_max);
        writer.field(&self.in_version_max);
        writer.field(&self.out_version_max);
        writer.field(&self.flags);
    }
}
