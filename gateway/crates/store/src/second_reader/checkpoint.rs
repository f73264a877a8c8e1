//! The checkpoint: FORMAT.md 5. What is done with it stands in the parent.

use std::collections::BTreeSet;

use super::raw::{Cursor, crc32};
use super::segments::Spot;

const MAGIC: &[u8] = b"MQECKPT2";
/// Of version 1: without random bits in the list.
const MAGIC_1: &[u8] = b"MQECKPT1";

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Checkpoint {
    pub(super) start: u32,
    pub(super) bits: u64,
    /// P.
    pub(super) position: Spot,
    /// The checksum of the group that ends there.
    pub(super) before: u32,
    /// By number, each once.
    pub(super) segments: Vec<Listed>,
    pub(super) open: BTreeSet<u64>,
    pub(super) prepared: BTreeSet<u64>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Listed {
    pub(super) number: u32,
    pub(super) end: u32,
    pub(super) records: u32,
    /// Of the start that wrote it.
    pub(super) bits: Option<u64>,
    dead: Vec<u8>,
}

impl Listed {
    /// Of a record that is not in the list, nothing is known: it does not live by this list.
    pub(super) fn is_dead(&self, number: usize) -> bool {
        self.dead.get(number / 8).is_none_or(|byte| byte >> (number % 8) & 1 == 1)
    }
}

/// Reads the two copies.
///
/// Chosen: a copy must lie within its half; of a length that is odd or a half that is no whole number of blocks
/// nothing more is made, since one copy that verifies is enough.
pub(super) fn read(file: &[u8]) -> Result<Checkpoint, &'static str> {
    let (first, second) = file.split_at(file.len() / 2);
    let (has_bits, rest) = match (copy(first), copy(second)) {
        (Some(first), Some(second)) if first != second => return Err("its two copies differ"),
        (None, None) => return Err("no copy in it verifies"),
        (Some(rest), _) | (None, Some(rest)) => rest,
    };
    let mut cursor = Cursor::over(rest);
    let checkpoint = content(&mut cursor, has_bits).ok_or("a list in it is longer than the rest")?;
    if !cursor.rest.is_empty() {
        return Err("something follows behind its lists");
    }
    check(checkpoint)
}

fn copy(half: &[u8]) -> Option<(bool, &[u8])> {
    let mut cursor = Cursor::over(half);
    let magic = cursor.take(8)?;
    if magic != MAGIC && magic != MAGIC_1 {
        return None;
    }
    let (length, checksum) = (cursor.u32()?, cursor.u32()?);
    let rest = cursor.take_u32(length).filter(|rest| crc32(rest) == checksum)?;
    Some((magic == MAGIC, rest))
}

fn content(cursor: &mut Cursor<'_>, has_bits: bool) -> Option<Checkpoint> {
    let (start, bits) = (cursor.u32()?, cursor.u64()?);
    let position = Spot { segment: cursor.u32()?, offset: cursor.u32()? };
    let before = cursor.u32()?;
    // The counters matter to who goes on writing.
    cursor.take(16)?;
    let mut segments = Vec::new();
    for _ in 0..cursor.u32()? {
        let (number, end, records) = (cursor.u32()?, cursor.u32()?, cursor.u32()?);
        let bits = if has_bits { Some(cursor.u64()?) } else { None };
        let dead = cursor.take_u32(records.div_ceil(8))?.to_vec();
        segments.push(Listed { number, end, records, bits, dead });
    }
    let [open, prepared] = [units(cursor)?, units(cursor)?];
    segments.sort_by_key(|listed| listed.number);
    Some(Checkpoint { start, bits, position, before, segments, open, prepared })
}

fn units(cursor: &mut Cursor<'_>) -> Option<BTreeSet<u64>> {
    let count = cursor.u32()?;
    Some(cursor.ids(count)?.into_iter().collect())
}

/// Chosen: a list that contradicts itself or P is damage.
fn check(checkpoint: Checkpoint) -> Result<Checkpoint, &'static str> {
    if checkpoint.segments.windows(2).any(|pair| matches!(pair, [a, b] if a.number == b.number)) {
        return Err("it lists a segment twice");
    }
    let beyond = |listed: &Listed| Spot { segment: listed.number, offset: listed.end } > checkpoint.position;
    if checkpoint.segments.iter().any(beyond) {
        return Err("it lists a segment beyond its position");
    }
    Ok(checkpoint)
}
