//! Records: messages, keyed state, commits, back-outs, prepared units, and copies of those that were moved. Each is
//! self-contained: it names messages by id and never refers to the bytes of another.
//!
//! Every record begins with its length, a checksum of the rest, and a head that also stands in the footer's line.

use bytes::Bytes;

use super::{Append, Cursor};
use crate::batch::MovedRecord;
use crate::bodies::BodyName;
use crate::{Commit, Id, KeyedChange, NewMessage, OwnerId, Place, Prepare, RecoveredMessage, Stored, UnitId};

/// The largest record: more does not fit the numbers of a place.
pub(crate) const LENGTH_MAX: u64 = 1 << 30;

/// Bytes of a message before envelope and body.
pub(crate) const MESSAGE_HEAD: u64 = 72;
/// Bytes of a keyed record before key and value, and of a back-out.
pub(crate) const SHORT_HEAD: u64 = 24;
/// Bytes of a commit or prepare before the ids.
pub(crate) const LONG_HEAD: u64 = 32;
/// Bytes of a footer's line of a message, and of anything else: the offset, and the head without its checksum.
pub(crate) const MESSAGE_LINE: u64 = MESSAGE_HEAD;
pub(crate) const SHORT_LINE: u64 = SHORT_HEAD;

const CHECKED_FROM: usize = 8;
const PERSISTENT: u8 = 1;
const SET: u8 = 1;
/// The end of a message's body is in a file; its name is the end of the record.
const IN_FILE: u8 = 2;
/// Bytes of that name.
const BODY_NAME: u64 = 24;
/// Bytes of an old place, and what else is said of a copy, in a record of what was moved.
const OLD_PLACE: u64 = 16;
/// The unit under which it was written is not decided yet.
const UNDECIDED: u32 = 1;

/// What a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Message = 1,
    Keyed = 2,
    Commit = 3,
    BackOut = 4,
    Prepare = 5,
    Moved = 6,
}

/// How many kinds there are.
pub(crate) const KINDS: usize = 6;

impl Kind {
    fn of(byte: u8) -> Option<Self> {
        Some(match byte {
            1 => Self::Message,
            2 => Self::Keyed,
            3 => Self::Commit,
            4 => Self::BackOut,
            5 => Self::Prepare,
            6 => Self::Moved,
            _ => return None,
        })
    }
}

/// The head of a record, as it stands in front of it and in the footer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) length: u32,
    pub(crate) kind: Kind,
    flags: u8,
    priority: u8,
    /// Length of the envelope or key, or number of the ids killed.
    count: u32,
    pub(crate) unit: Option<UnitId>,
    message: Option<MessageHead>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MessageHead {
    id: Id,
    owner: OwnerId,
    order: u64,
    expiry_ms: u64,
    tags: [u64; 2],
}

impl Head {
    /// Reads the length, and what follows the checksum.
    fn read(length: u32, cursor: &mut Cursor<'_>) -> Option<Self> {
        let kind = Kind::of(cursor.u8()?)?;
        let (flags, priority) = (cursor.u8()?, cursor.u8()?);
        cursor.u8()?;
        let count = cursor.u32()?;
        let unit = cursor.u64()?;
        let unit = (unit != 0).then_some(UnitId(Id::from_u64(unit)));
        let mut head = Self { length, kind, flags, priority, count, unit, message: None };
        if kind == Kind::Message {
            head.message = Some(MessageHead {
                id: Id::from_u64(cursor.u64()?),
                owner: OwnerId(cursor.u64()?),
                order: cursor.u64()?,
                expiry_ms: cursor.u64()?,
                tags: [cursor.u64()?, cursor.u64()?],
            });
        }
        Some(head)
    }

    /// Reads one line of a footer: the offset of the record, and its head.
    pub(crate) fn read_line(cursor: &mut Cursor<'_>) -> Option<(u32, Self)> {
        let offset = cursor.u32()?;
        let length = cursor.u32()?;
        Some((offset, Self::read(length, cursor)?))
    }

    /// Whether it is a message whose body ends in a file: the record itself says in which.
    pub(crate) fn has_file(&self) -> bool {
        self.kind == Kind::Message && self.flags & IN_FILE != 0
    }

    /// Whether it is a message of this owner.
    pub(crate) fn is_message_of(&self, owner: OwnerId) -> bool {
        self.message.is_some_and(|message| message.owner == owner)
    }

    /// The index entry, if it is that of a message whose lengths are possible. Where the body ends in a file, its
    /// length is not in it: [`body_name`] says.
    pub(crate) fn recovered(&self, place: Place) -> Option<RecoveredMessage> {
        let message = self.message?;
        let name = if self.has_file() { BODY_NAME } else { 0 };
        let rest = u64::from(self.length).checked_sub(MESSAGE_HEAD + u64::from(self.count) + name)?;
        Some(RecoveredMessage {
            id: message.id,
            owner: message.owner,
            order: message.order,
            priority: self.priority,
            persistent: self.flags & PERSISTENT != 0,
            expiry_ms: message.expiry_ms,
            tags: message.tags,
            place,
            envelope_length: self.count,
            body_length: rest as u32,
        })
    }
}

/// A record as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Parsed {
    /// The third is the file that holds the end of the body.
    Message(RecoveredMessage, Option<UnitId>, Option<BodyName>),
    Keyed(Option<UnitId>, KeyedChange),
    /// Each change is a record of its own: the second number is where it lies.
    Commit {
        unit: Option<UnitId>,
        kills: Vec<Id>,
        changes: Vec<(KeyedChange, Place)>,
    },
    BackOut(UnitId),
    Prepare {
        unit: UnitId,
        kills: Vec<Id>,
        note: Bytes,
    },
    /// Copies of records, byte for byte: each with where it lay, and where it lies now if it lived there.
    Moved(Vec<ParsedCopy>),
}

/// A copy of a record, as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParsedCopy {
    pub(crate) from: Place,
    pub(crate) to: Place,
    pub(crate) bytes: u64,
    /// Its unit was not decided when it was moved: else it is real whatever unit it names.
    pub(crate) undecided: bool,
    /// A message, keyed record or prepare.
    pub(crate) parsed: Parsed,
}

/// Bytes of the record of a message.
pub(crate) fn message_length(message: &NewMessage) -> u64 {
    let name = if message.file.is_some() { BODY_NAME } else { 0 };
    MESSAGE_HEAD + message.envelope.len() as u64 + inline(message).len() as u64 + name
}

/// What of the body stands in the record.
fn inline(message: &NewMessage) -> &[u8] {
    let in_file = message.file.as_ref().map_or(0, |file| file.name.length as usize);
    &message.body[..message.body.len().saturating_sub(in_file)]
}

/// Bytes of a record of what was moved.
pub(crate) fn moved_length(moved: &[MovedRecord]) -> u64 {
    LONG_HEAD + moved.iter().map(|m| OLD_PLACE + m.bytes.len() as u64).sum::<u64>()
}

/// Bytes of its lines.
pub(crate) fn moved_lines_length(moved: &[MovedRecord]) -> u64 {
    let line = |m: &MovedRecord| if is_message(&m.bytes) { MESSAGE_LINE } else { SHORT_LINE };
    SHORT_LINE + moved.iter().map(line).sum::<u64>()
}

/// Where the copies in the record at `place` lie.
pub(crate) fn moved_places(moved: &[MovedRecord], place: Place) -> impl Iterator<Item = Place> + '_ {
    let mut offset = place.offset + (LONG_HEAD + OLD_PLACE * moved.len() as u64) as u32;
    moved.iter().zip(1..).map(move |(copy, number)| {
        let at = Place { segment: place.segment, offset, record: place.record + number };
        offset += copy.bytes.len() as u32;
        at
    })
}

/// Which kind a record is, counted from 0.
pub(crate) fn kind_index(record: &[u8]) -> Option<usize> {
    record.get(CHECKED_FROM).and_then(|kind| usize::from(*kind).checked_sub(1))
}

fn is_message(record: &[u8]) -> bool {
    record.get(CHECKED_FROM) == Some(&(Kind::Message as u8))
}

/// Bytes of a keyed record.
pub(crate) fn keyed_length(change: &KeyedChange) -> u64 {
    SHORT_HEAD + change.key.len() as u64 + change.value.as_ref().map_or(0, |v| v.len() as u64)
}

/// Bytes of a commit record, those of its changes included.
pub(crate) fn commit_length(commit: &Commit) -> u64 {
    let changes: u64 = commit.changes.iter().map(keyed_length).sum();
    LONG_HEAD + 8 * commit.kills.len() as u64 + changes
}

/// Bytes of a prepare record.
pub(crate) fn prepare_length(prepare: &Prepare) -> u64 {
    LONG_HEAD + 8 * prepare.kills.len() as u64 + prepare.note.len() as u64
}

/// Where the changes of the commit record at `place` lie, one after the other.
pub(crate) fn change_places(commit: &Commit, place: Place) -> impl Iterator<Item = Place> + '_ {
    let mut offset = place.offset + (LONG_HEAD as u32) + 8 * commit.kills.len() as u32;
    commit.changes.iter().zip(1..).map(move |(change, number)| {
        let at = Place { segment: place.segment, offset, record: place.record + number };
        offset += keyed_length(change) as u32;
        at
    })
}

fn unit_number(unit: Option<UnitId>) -> u64 {
    unit.map_or(0, |u| u.0.as_u64())
}

/// Appends the head of a record, with room for length and checksum; gives where it begins.
fn begin(
    out: &mut Vec<u8>,
    kind: Kind,
    flags: u8,
    priority: u8,
    count: usize,
    unit: Option<UnitId>,
) -> usize {
    let at = out.len();
    out.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0, 0, kind as u8, flags, priority, 0]);
    out.put_u32(count as u32);
    out.put_u64(unit_number(unit));
    at
}

/// Fills in length and checksum of the record that begins at `at`.
fn end(out: &mut [u8], at: usize) {
    let length = (out.len() - at) as u32;
    out[at..at + 4].copy_from_slice(&length.to_le_bytes());
    let checksum = crc32fast::hash(&out[at + CHECKED_FROM..]);
    out[at + 4..at + 8].copy_from_slice(&checksum.to_le_bytes());
}

/// Appends a message.
pub(crate) fn write_message(out: &mut Vec<u8>, stored: &Stored, message: &NewMessage) {
    let persistent = if message.persistent { PERSISTENT } else { 0 };
    let flags = persistent | if message.file.is_some() { IN_FILE } else { 0 };
    let at = begin(out, Kind::Message, flags, message.priority, message.envelope.len(), message.unit);
    for number in [
        stored.id.as_u64(),
        message.owner.0,
        stored.order,
        message.expiry_ms,
        message.tags[0],
        message.tags[1],
    ] {
        out.put_u64(number);
    }
    out.extend_from_slice(&message.envelope);
    out.extend_from_slice(inline(message));
    if let Some(file) = &message.file {
        out.put_u64(file.name.number);
        out.put_u64(file.name.length);
        out.put_u32(file.name.checksum);
        out.put_u32(0);
    }
    end(out, at);
}

/// Appends a keyed record.
pub(crate) fn write_keyed(out: &mut Vec<u8>, unit: Option<UnitId>, change: &KeyedChange) {
    let flags = if change.value.is_some() { SET } else { 0 };
    let at = begin(out, Kind::Keyed, flags, 0, change.key.len(), unit);
    out.extend_from_slice(&change.key);
    if let Some(value) = &change.value {
        out.extend_from_slice(value);
    }
    end(out, at);
}

/// Appends a commit record.
pub(crate) fn write_commit(out: &mut Vec<u8>, commit: &Commit) {
    let at = begin(out, Kind::Commit, 0, 0, commit.kills.len(), commit.unit);
    out.put_u32(commit.changes.len() as u32);
    out.put_u32(0);
    for kill in &commit.kills {
        out.put_u64(kill.id.as_u64());
    }
    for change in &commit.changes {
        write_keyed(out, None, change);
    }
    end(out, at);
}

/// Appends the back-out of a unit.
pub(crate) fn write_back_out(out: &mut Vec<u8>, unit: UnitId) {
    let at = begin(out, Kind::BackOut, 0, 0, 0, Some(unit));
    end(out, at);
}

/// Appends a prepared unit.
pub(crate) fn write_prepare(out: &mut Vec<u8>, prepare: &Prepare) {
    let at = begin(out, Kind::Prepare, 0, 0, prepare.kills.len(), Some(prepare.unit));
    out.put_u32(prepare.note.len() as u32);
    out.put_u32(0);
    for kill in &prepare.kills {
        out.put_u64(kill.id.as_u64());
    }
    out.extend_from_slice(&prepare.note);
    end(out, at);
}

/// Appends copies of records.
pub(crate) fn write_moved(out: &mut Vec<u8>, moved: &[MovedRecord]) {
    let at = begin(out, Kind::Moved, 0, 0, moved.len(), None);
    out.put_u64(0);
    for copy in moved {
        out.put_u32(copy.from.segment);
        out.put_u32(copy.from.offset);
        out.put_u32(copy.from.record);
        out.put_u32(if copy.undecided { UNDECIDED } else { 0 });
    }
    for copy in moved {
        out.extend_from_slice(&copy.bytes);
    }
    end(out, at);
}

/// Appends the lines of the record at the beginning of `record`, which lies at `offset` of its segment, and of the
/// changes or copies in it. Gives how many records that is.
pub(crate) fn write_lines(out: &mut Vec<u8>, offset: u32, record: &[u8]) -> u32 {
    let mut line = |offset: u32, record: &[u8]| {
        let head = if record[CHECKED_FROM] == Kind::Message as u8 { MESSAGE_HEAD } else { SHORT_HEAD };
        out.put_u32(offset);
        out.extend_from_slice(&record[..4]);
        out.extend_from_slice(&record[CHECKED_FROM..record.len().min(head as usize)]);
    };
    line(offset, record);
    let mut records = 1;
    for (at, change) in records_in(record) {
        line(offset + at as u32, change);
        records += 1;
    }
    records
}

/// The records within a commit record or one of what was moved that verifies, each with where it begins; nothing for
/// other kinds.
fn records_in(record: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let each = match record.get(CHECKED_FROM).copied().and_then(Kind::of) {
        Some(Kind::Commit) => Some(8),
        Some(Kind::Moved) => Some(OLD_PLACE),
        _ => None,
    };
    let count = record.get(12..16).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes);
    let mut at = each.map(|each| (LONG_HEAD + each * u64::from(count)) as usize);
    std::iter::from_fn(move || {
        let begin = at?;
        let rest = record.get(begin..)?;
        let inner = rest.get(..length_of(rest)?)?;
        at = Some(begin + inner.len());
        Some((begin, inner))
    })
}

/// The length that the record at the beginning of `bytes` says of itself, if it is there whole.
fn length_of(bytes: &[u8]) -> Option<usize> {
    let length = bytes.get(..4).and_then(|b| b.try_into().ok()).map(u32::from_le_bytes)? as usize;
    (length >= SHORT_HEAD as usize && length <= bytes.len()).then_some(length)
}

/// The record at the beginning of `bytes`, verified.
pub(crate) fn split(bytes: &[u8]) -> Option<&[u8]> {
    let record = bytes.get(..length_of(bytes)?)?;
    let checksum = record.get(4..8).and_then(|b| b.try_into().ok()).map(u32::from_le_bytes)?;
    (crc32fast::hash(&record[CHECKED_FROM..]) == checksum).then_some(record)
}

/// The head of a record that [`split`] gave.
pub(crate) fn head(record: &[u8]) -> Option<Head> {
    Head::read(record.len() as u32, &mut Cursor::new(record.get(CHECKED_FROM..)?))
}

/// What a record that [`split`] gave says. It lies at `place`.
pub(crate) fn parse(record: &[u8], place: Place) -> Option<Parsed> {
    let head = head(record)?;
    let mut cursor = Cursor::new(record);
    match head.kind {
        Kind::Message => {
            let mut entry = head.recovered(place)?;
            let name = head.has_file().then(|| body_name(record));
            if let Some(name) = name {
                let whole = u64::from(entry.body_length).checked_add(name?.length)?;
                entry.body_length = u32::try_from(whole).ok()?;
            }
            Some(Parsed::Message(entry, head.unit, name.flatten()))
        }
        Kind::Keyed => {
            cursor.bytes(SHORT_HEAD as usize)?;
            let key = cursor.bytes(head.count as usize)?.to_vec();
            let value = cursor.bytes(cursor.remaining())?;
            let value = (head.flags & SET != 0).then(|| Bytes::copy_from_slice(value));
            Some(Parsed::Keyed(head.unit, KeyedChange { key, value }))
        }
        Kind::Commit => {
            cursor.bytes(SHORT_HEAD as usize)?;
            let count = cursor.u32()?;
            cursor.u32()?;
            let kills = ids(&mut cursor, head.count)?;
            let mut changes = Vec::new();
            for ((at, change), number) in records_in(record).zip(1..) {
                let at = Place {
                    segment: place.segment,
                    offset: place.offset.checked_add(at as u32)?,
                    record: place.record.checked_add(number)?,
                };
                let Some(Parsed::Keyed(None, change)) = parse(split(change)?, at) else { return None };
                changes.push((change, at));
            }
            let whole = changes.len() == count as usize;
            whole.then_some(Parsed::Commit { unit: head.unit, kills, changes })
        }
        Kind::BackOut => Some(Parsed::BackOut(head.unit?)),
        Kind::Prepare => {
            cursor.bytes(SHORT_HEAD as usize)?;
            let note_length = cursor.u32()? as usize;
            cursor.u32()?;
            let kills = ids(&mut cursor, head.count)?;
            let note = Bytes::copy_from_slice(cursor.bytes(note_length)?);
            Some(Parsed::Prepare { unit: head.unit?, kills, note })
        }
        Kind::Moved => {
            cursor.bytes(LONG_HEAD as usize)?;
            if (cursor.remaining() as u64) < u64::from(head.count) * OLD_PLACE {
                return None;
            }
            let mut copies = Vec::new();
            for ((at, copy), number) in records_in(record).zip(1..) {
                let from = Place { segment: cursor.u32()?, offset: cursor.u32()?, record: cursor.u32()? };
                let undecided = cursor.u32()? & UNDECIDED != 0;
                let to = Place {
                    segment: place.segment,
                    offset: place.offset.checked_add(at as u32)?,
                    record: place.record.checked_add(number)?,
                };
                let parsed = parse(split(copy)?, to)?;
                let plain =
                    matches!(parsed, Parsed::Message(..) | Parsed::Keyed(..) | Parsed::Prepare { .. });
                let bytes = copy.len() as u64;
                copies.push(plain.then_some(ParsedCopy { from, to, bytes, undecided, parsed })?);
            }
            (copies.len() == head.count as usize).then_some(Parsed::Moved(copies))
        }
    }
}

/// The name of the file at the end of the record of a message whose body ends in one.
pub(crate) fn body_name(record: &[u8]) -> Option<BodyName> {
    let at = record.len().checked_sub(BODY_NAME as usize)?;
    let mut cursor = Cursor::new(record.get(at..)?);
    Some(BodyName { number: cursor.u64()?, length: cursor.u64()?, checksum: cursor.u32()? })
}

/// What a record says, and how many records it counts for.
pub(crate) fn records_of(parsed: &Parsed) -> u32 {
    match parsed {
        Parsed::Commit { changes, .. } => 1 + changes.len() as u32,
        Parsed::Moved(copies) => 1 + copies.len() as u32,
        _ => 1,
    }
}

fn ids(cursor: &mut Cursor<'_>, count: u32) -> Option<Vec<Id>> {
    if cursor.remaining() < count as usize * 8 {
        return None;
    }
    (0..count).map(|_| cursor.u64().map(Id::from_u64)).collect()
}

#[cfg(test)]
mod tests;
