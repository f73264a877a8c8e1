//! Records: FORMAT.md 3, their bytes. What they mean is in `state`.
//!
//! Chosen: flags, counts and lengths that the document does not know are damage, never passed over.

use super::raw::{Cursor, crc32};

pub(super) const MESSAGE: u8 = 1;
const KEYED: u8 = 2;
const COMMIT: u8 = 3;
const BACK_OUT: u8 = 4;
const PREPARE: u8 = 5;
const MOVED: u8 = 6;

const ANY: &[u8] = &[MESSAGE, KEYED, COMMIT, BACK_OUT, PREPARE, MOVED];
const WITHIN_COMMIT: &[u8] = &[KEYED];
const WITHIN_MOVED: &[u8] = &[MESSAGE, KEYED, PREPARE];

#[derive(Debug, Clone)]
pub(super) struct Record<'a> {
    /// Where it lies in its segment.
    pub(super) offset: u32,
    pub(super) unit: u64,
    pub(super) content: Content<'a>,
}

#[derive(Debug, Clone)]
pub(super) enum Content<'a> {
    Message(MessageRecord<'a>),
    /// No value removes the key.
    Keyed {
        key: &'a [u8],
        value: Option<&'a [u8]>,
    },
    Commit {
        kills: Vec<u64>,
        changes: Vec<Record<'a>>,
    },
    BackOut,
    Prepare(Promise<'a>),
    Moved {
        copies: Vec<Record<'a>>,
    },
}

#[derive(Debug, Clone, Copy)]
pub(super) struct MessageRecord<'a> {
    pub(super) id: u64,
    pub(super) owner: u64,
    pub(super) order: u64,
    pub(super) priority: u8,
    pub(super) persistent: bool,
    pub(super) expiry_ms: u64,
    pub(super) tags: [u64; 2],
    pub(super) envelope: &'a [u8],
    /// What of the body lies in the record.
    pub(super) body: &'a [u8],
    pub(super) in_file: Option<InFile>,
}

/// The end of a body.
#[derive(Debug, Clone, Copy)]
pub(super) struct InFile {
    pub(super) number: u64,
    pub(super) length: u64,
    pub(super) checksum: u32,
}

#[derive(Debug, Clone)]
pub(super) struct Promise<'a> {
    pub(super) kills: Vec<u64>,
    pub(super) note: &'a [u8],
}

/// What is wrong with a record, and where.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) offset: u32,
    pub(super) what: String,
}

impl<'a> Record<'a> {
    /// Those within, which have the numbers behind its own.
    pub(super) fn nested(&self) -> &[Record<'a>] {
        match &self.content {
            Content::Commit { changes, .. } => changes,
            Content::Moved { copies } => copies,
            _ => &[],
        }
    }

    /// The record and those within, in the order of their numbers.
    pub(super) fn flattened(self) -> impl Iterator<Item = Record<'a>> {
        let nested = self.nested().to_vec();
        std::iter::once(self).chain(nested)
    }
}

/// The records of a payload that lies at this offset.
pub(super) fn all(payload: &[u8], offset: u32) -> Result<Vec<Record<'_>>, Fault> {
    sequence(&mut Cursor::over(payload), offset, None, ANY)
}

/// Just one record.
pub(super) fn one(bytes: &[u8], offset: u32) -> Result<Record<'_>, Fault> {
    let mut cursor = Cursor::over(bytes);
    let record = next(&mut cursor, offset, ANY)?;
    match cursor.rest {
        [] => Ok(record),
        _ => fault(offset, "the record is shorter than the place for it"),
    }
}

/// So many records, or all there are, one after the other to the end.
fn sequence<'a>(
    cursor: &mut Cursor<'a>,
    offset: u32,
    count: Option<u32>,
    allowed: &[u8],
) -> Result<Vec<Record<'a>>, Fault> {
    let whole = cursor.rest.len();
    let mut records = Vec::new();
    let mut at = offset;
    while !cursor.rest.is_empty() {
        records.push(next(cursor, at, allowed)?);
        let passed = u32::try_from(whole - cursor.rest.len()).unwrap_or(u32::MAX);
        at = offset.saturating_add(passed);
    }
    match count {
        Some(count) if u32::try_from(records.len()) != Ok(count) => {
            fault(offset, "there are more or fewer records within than the count says")
        }
        _ => Ok(records),
    }
}

fn next<'a>(cursor: &mut Cursor<'a>, offset: u32, allowed: &[u8]) -> Result<Record<'a>, Fault> {
    let mut ahead = *cursor;
    let bytes = ahead.u32().and_then(|length| cursor.take_u32(length));
    let Some(bytes) = bytes.filter(|bytes| bytes.len() >= 24) else {
        return fault(offset, "the length of a record is impossible");
    };
    let mut head = Cursor::over(bytes);
    let checksum = head.take(4).and_then(|_| head.u32());
    if checksum != Some(crc32(head.rest)) {
        return fault(offset, "the checksum of a record is wrong");
    }
    // The kind first: those that hold others must not hold themselves.
    let kind = head.byte().unwrap_or_default();
    if !allowed.contains(&kind) {
        return fault(offset, "a record of a kind that does not belong here");
    }
    match parse(kind, head, offset) {
        Some(record) => record,
        None => fault(offset, "the parts of a record do not fit into it"),
    }
}

/// From the flags on. None if something is too long.
fn parse<'a>(kind: u8, mut cursor: Cursor<'a>, offset: u32) -> Option<Result<Record<'a>, Fault>> {
    let (flags, priority, _zero) = (cursor.byte()?, cursor.byte()?, cursor.byte()?);
    let (count, unit) = (cursor.u32()?, cursor.u64()?);
    let highest_flags = match kind {
        MESSAGE => 3,
        KEYED => 1,
        _ => 0,
    };
    if flags > highest_flags {
        return Some(fault(offset, "a record with flags that are not known"));
    }
    let content = match kind {
        MESSAGE => Content::Message(message(cursor, flags, priority, count)?),
        KEYED => {
            let key = cursor.take_u32(count)?;
            Content::Keyed { key, value: (flags == 1).then_some(cursor.rest) }
        }
        COMMIT => {
            let (changes, _zero) = (cursor.u32()?, cursor.u32()?);
            let kills = cursor.ids(count)?;
            let at = offset.saturating_add(32).saturating_add(count.saturating_mul(8));
            match sequence(&mut cursor, at, Some(changes), WITHIN_COMMIT) {
                Ok(changes) if changes.iter().any(|change| change.unit != 0) => {
                    return Some(fault(offset, "a change within a commit has a unit"));
                }
                Ok(changes) => Content::Commit { kills, changes },
                Err(error) => return Some(Err(error)),
            }
        }
        BACK_OUT if count == 0 && cursor.rest.is_empty() => Content::BackOut,
        PREPARE => {
            let (length, _zero) = (cursor.u32()?, cursor.u32()?);
            let kills = cursor.ids(count)?;
            let note = cursor.take_u32(length).filter(|_| cursor.rest.is_empty())?;
            Content::Prepare(Promise { kills, note })
        }
        MOVED => {
            cursor.u64()?;
            let places = usize::try_from(count).ok()?.checked_mul(16)?;
            cursor.take(places)?;
            let at = offset.saturating_add(32).saturating_add(count.saturating_mul(16));
            match sequence(&mut cursor, at, Some(count), WITHIN_MOVED) {
                Ok(copies) => Content::Moved { copies },
                Err(error) => return Some(Err(error)),
            }
        }
        _ => return None,
    };
    Some(Ok(Record { offset, unit, content }))
}

fn message<'a>(mut cursor: Cursor<'a>, flags: u8, priority: u8, count: u32) -> Option<MessageRecord<'a>> {
    let (id, owner, order, expiry_ms) = (cursor.u64()?, cursor.u64()?, cursor.u64()?, cursor.u64()?);
    let tags = [cursor.u64()?, cursor.u64()?];
    let envelope = cursor.take_u32(count)?;
    let (body, in_file) = if flags & 2 == 0 {
        (cursor.rest, None)
    } else {
        let body = cursor.take(cursor.rest.len().checked_sub(24)?)?;
        let (number, length, checksum) = (cursor.u64()?, cursor.u64()?, cursor.u32()?);
        (body, Some(InFile { number, length, checksum }))
    };
    let persistent = flags & 1 == 1;
    Some(MessageRecord { id, owner, order, priority, persistent, expiry_ms, tags, envelope, body, in_file })
}

fn fault<T>(offset: u32, what: &str) -> Result<T, Fault> {
    Err(Fault { offset, what: what.to_owned() })
}
