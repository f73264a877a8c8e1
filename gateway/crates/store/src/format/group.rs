//! The header of a group, and the three kinds of group: records, mark, start (STORE.md 2 and 3).

use super::{Append, Cursor};
use crate::layout::Spot;

/// Bytes of a header.
pub(crate) const HEADER: u64 = 80;

const MAGIC: &[u8; 8] = b"MQEGRP01";
const CHECKED: usize = HEADER as usize - 4;

/// What a group is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GroupKind {
    /// Records of batches.
    Records,
    /// Nothing but a claim.
    Mark,
    /// The first group of a start: goes on from this spot, with copies of what survived behind it.
    Start { from: Spot },
}

/// The header of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GroupHeader {
    pub(crate) kind: GroupKind,
    pub(crate) start: u32,
    pub(crate) spot: Spot,
    /// Random bits of the start, so that no body can pass for a group.
    pub(crate) nonce: u64,
    /// Checksum of the group before, across segments too.
    pub(crate) previous: u32,
    pub(crate) payload_checksum: u32,
    pub(crate) payload_length: u32,
    pub(crate) first_record: u32,
    pub(crate) records: u32,
    /// Up to where the journal was known synced when this was written.
    pub(crate) claim: Spot,
}

impl GroupHeader {
    /// The bytes, the last four of which are the checksum by which the next group names this one.
    pub(crate) fn encode(&self) -> [u8; HEADER as usize] {
        let (kind, from) = match self.kind {
            GroupKind::Records => (0, Spot::default()),
            GroupKind::Mark => (1, Spot::default()),
            GroupKind::Start { from } => (2, from),
        };
        let mut out = Vec::with_capacity(HEADER as usize);
        out.extend_from_slice(MAGIC);
        for number in [self.start, self.spot.segment, self.spot.offset, kind] {
            out.put_u32(number);
        }
        out.put_u64(self.nonce);
        for number in [
            self.previous,
            self.payload_checksum,
            self.payload_length,
            self.first_record,
            self.records,
            self.claim.segment,
            self.claim.offset,
            from.segment,
            from.offset,
            0,
            0,
        ] {
            out.put_u32(number);
        }
        let checksum = crc32fast::hash(&out);
        out.put_u32(checksum);
        let mut bytes = [0; HEADER as usize];
        bytes.copy_from_slice(&out);
        bytes
    }

    /// The header in `bytes` and its checksum, if they are one.
    pub(crate) fn decode(bytes: &[u8]) -> Option<(Self, u32)> {
        let checked = bytes.get(..CHECKED)?;
        let mut cursor = Cursor::new(bytes);
        if cursor.bytes(8)? != MAGIC {
            return None;
        }
        let start = cursor.u32()?;
        let spot = Spot { segment: cursor.u32()?, offset: cursor.u32()? };
        let kind = cursor.u32()?;
        let nonce = cursor.u64()?;
        let previous = cursor.u32()?;
        let payload_checksum = cursor.u32()?;
        let payload_length = cursor.u32()?;
        let first_record = cursor.u32()?;
        let records = cursor.u32()?;
        let claim = Spot { segment: cursor.u32()?, offset: cursor.u32()? };
        let from = Spot { segment: cursor.u32()?, offset: cursor.u32()? };
        cursor.bytes(8)?;
        let checksum = cursor.u32()?;
        if crc32fast::hash(checked) != checksum {
            return None;
        }
        let kind = match kind {
            0 => GroupKind::Records,
            1 => GroupKind::Mark,
            2 => GroupKind::Start { from },
            _ => return None,
        };
        let header = Self {
            kind,
            start,
            spot,
            nonce,
            previous,
            payload_checksum,
            payload_length,
            first_record,
            records,
            claim,
        };
        Some((header, checksum))
    }

    /// The checksum in the encoded header, by which the next group names this one.
    pub(crate) fn checksum(bytes: &[u8; HEADER as usize]) -> u32 {
        let [.., a, b, c, d] = *bytes;
        u32::from_le_bytes([a, b, c, d])
    }

    /// Whether it begins a start.
    pub(crate) fn is_start(&self) -> bool {
        matches!(self.kind, GroupKind::Start { .. })
    }

    /// Where the next group begins.
    pub(crate) fn end(&self) -> Spot {
        let end = crate::layout::align(u64::from(self.spot.offset) + HEADER + u64::from(self.payload_length));
        Spot { segment: self.spot.segment, offset: u32::try_from(end).unwrap_or(u32::MAX) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> GroupHeader {
        GroupHeader {
            kind: GroupKind::Start { from: Spot { segment: 2, offset: 8192 } },
            start: 7,
            spot: Spot { segment: 3, offset: 0 },
            nonce: 0x0123_4567_89ab_cdef,
            previous: 1,
            payload_checksum: 2,
            payload_length: 5000,
            first_record: 0,
            records: 3,
            claim: Spot { segment: 2, offset: 8192 },
        }
    }

    #[test]
    fn a_header_comes_back_and_every_flipped_bit_is_seen() {
        let bytes = sample().encode();
        assert_eq!(GroupHeader::decode(&bytes).map(|h| h.0), Some(sample()));
        assert_eq!(sample().end(), Spot { segment: 3, offset: 8192 });
        for bit in 0..bytes.len() * 8 {
            let mut bad = bytes;
            bad[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(GroupHeader::decode(&bad), None, "bit {bit}");
        }
        for length in 0..bytes.len() {
            assert_eq!(GroupHeader::decode(&bytes[..length]), None);
        }
    }
}
