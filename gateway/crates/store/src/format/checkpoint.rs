//! The checkpoint's content, which stands in its file twice: at the beginning, and at half of the length.

use super::{Append, BLOCK, Cursor};
use crate::layout::Spot;
use crate::{Id, UnitId};

const MAGIC: &[u8; 8] = b"MQECKPT2";
/// Of a checkpoint of format 1, which does not say whose the segments are.
const MAGIC_1: &[u8; 8] = b"MQECKPT1";
const PREFIX: usize = 16;

/// What the journal was at one point.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Checkpoint {
    /// The start that wrote it, and its random bits.
    pub(crate) start: u32,
    pub(crate) nonce: u64,
    /// Everything before this point is in the lists below.
    pub(crate) position: Spot,
    /// Checksum of the group before that point.
    pub(crate) previous: u32,
    /// The counters of that start.
    pub(crate) next_id: u64,
    pub(crate) next_unit: u64,
    pub(crate) segments: Vec<SegmentEntry>,
    pub(crate) open: Vec<UnitId>,
    pub(crate) prepared: Vec<UnitId>,
}

/// A segment that is needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SegmentEntry {
    pub(crate) number: u32,
    /// What lies behind this does not belong to the lists.
    pub(crate) end: u32,
    pub(crate) records: u32,
    /// Random bits of the start that wrote the segment; none where the checkpoint is of format 1.
    pub(crate) nonce: Option<u64>,
    /// A bit for each record; set is dead.
    pub(crate) dead: Vec<u8>,
}

impl SegmentEntry {
    pub(crate) fn is_dead(&self, record: u32) -> bool {
        record >= self.records
            || self.dead.get(record as usize / 8).is_none_or(|byte| byte & (1 << (record % 8)) != 0)
    }
}

impl Checkpoint {
    /// The whole file.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut payload = Vec::new();
        payload.put_u32(self.start);
        payload.put_u64(self.nonce);
        payload.put_u32(self.position.segment);
        payload.put_u32(self.position.offset);
        payload.put_u32(self.previous);
        payload.put_u64(self.next_id);
        payload.put_u64(self.next_unit);
        payload.put_u32(self.segments.len() as u32);
        for segment in &self.segments {
            payload.put_u32(segment.number);
            payload.put_u32(segment.end);
            payload.put_u32(segment.records);
            payload.put_u64(segment.nonce.unwrap_or_default());
            payload.extend_from_slice(&segment.dead);
        }
        for units in [&self.open, &self.prepared] {
            payload.put_u32(units.len() as u32);
            for unit in units {
                payload.put_u64(unit.0.as_u64());
            }
        }
        let mut copy = Vec::with_capacity(PREFIX + payload.len());
        copy.extend_from_slice(MAGIC);
        copy.put_u32(payload.len() as u32);
        copy.put_u32(crc32fast::hash(&payload));
        copy.extend_from_slice(&payload);
        copy.resize(copy.len().next_multiple_of(BLOCK as usize), 0);
        copy.extend_from_within(..);
        copy
    }

    /// The content of a file; the second value is whether both copies verify.
    pub(crate) fn decode(file: &[u8]) -> Option<(Self, bool)> {
        if !file.len().is_multiple_of(2 * BLOCK as usize) {
            return None;
        }
        let (first, second) = file.split_at(file.len() / 2);
        let (first, second) = (Self::decode_copy(first), Self::decode_copy(second));
        let whole = first.is_some() && first == second;
        match (first, second) {
            (Some(a), Some(b)) if a != b => None,
            (Some(a), _) | (None, Some(a)) => Some((a, whole)),
            (None, None) => None,
        }
    }

    fn decode_copy(bytes: &[u8]) -> Option<Self> {
        let mut cursor = Cursor::new(bytes);
        let magic = cursor.bytes(8)?;
        let has_nonces = magic == MAGIC;
        if !has_nonces && magic != MAGIC_1 {
            return None;
        }
        let length = cursor.u32()? as usize;
        let checksum = cursor.u32()?;
        let payload = cursor.bytes(length)?;
        if crc32fast::hash(payload) != checksum {
            return None;
        }
        let mut cursor = Cursor::new(payload);
        let mut checkpoint = Self {
            start: cursor.u32()?,
            nonce: cursor.u64()?,
            position: Spot { segment: cursor.u32()?, offset: cursor.u32()? },
            previous: cursor.u32()?,
            next_id: cursor.u64()?,
            next_unit: cursor.u64()?,
            ..Self::default()
        };
        for _ in 0..cursor.u32()? {
            let (number, end, records) = (cursor.u32()?, cursor.u32()?, cursor.u32()?);
            let nonce = if has_nonces { Some(cursor.u64()?) } else { None };
            let dead = cursor.bytes((records as usize).div_ceil(8))?.to_vec();
            checkpoint.segments.push(SegmentEntry { number, end, records, nonce, dead });
        }
        for units in [&mut checkpoint.open, &mut checkpoint.prepared] {
            for _ in 0..cursor.u32()? {
                units.push(UnitId(Id::from_u64(cursor.u64()?)));
            }
        }
        (cursor.remaining() == 0).then_some(checkpoint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_comes_back_and_survives_one_damaged_copy() {
        let checkpoint = Checkpoint {
            start: 4,
            nonce: 99,
            position: Spot { segment: 7, offset: 4096 },
            previous: 5,
            next_id: 6,
            next_unit: 7,
            segments: vec![SegmentEntry {
                number: 7,
                end: 4096,
                records: 9,
                nonce: Some(5),
                dead: vec![0b101, 1],
            }],
            open: vec![UnitId(Id::new(4, 1))],
            prepared: vec![UnitId(Id::new(3, 1))],
        };
        let file = checkpoint.encode();
        assert_eq!(Checkpoint::decode(&file), Some((checkpoint.clone(), true)));
        for at in 0..file.len() {
            let mut bad = file.clone();
            bad[at] ^= 0x40;
            assert_eq!(Checkpoint::decode(&bad).map(|c| c.0), Some(checkpoint.clone()), "byte {at}");
        }
        for length in 0..file.len() {
            assert_eq!(Checkpoint::decode(&file[..length]), None);
        }
        assert!(checkpoint.segments[0].is_dead(0));
        assert!(!checkpoint.segments[0].is_dead(1));
        assert!(checkpoint.segments[0].is_dead(8));
    }
}
