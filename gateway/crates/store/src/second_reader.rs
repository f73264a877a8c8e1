//! A second reader of the store's files, written from FORMAT.md alone: it shares no line with the first, so it shares
//! no misunderstanding either. Every crash test compares what it finds with what a start finds.
//!
//! It reads whole files, checks more than a start must, and is in no hurry. It writes nothing, and leaves to others
//! what is derived (sled), what a start must decide beyond reading (numbers, leftovers, orphaned bodies), and the
//! rules about what lives through a start at all: a message that is not persistent is told like any other.
//!
//! Where FORMAT.md leaves a choice, the place says "chosen".

mod checkpoint;
mod raw;
mod records;
mod segments;
mod state;

use std::collections::{BTreeMap, BTreeSet};

use checkpoint::{Checkpoint, Listed};
use records::{InFile, MessageRecord, Record};
use segments::{Group, Segments, Spot};
use state::State;

/// Where the bytes come from: a real directory, or a simulated one. Paths are relative to the data directory, like
/// `journal`, `journal/00000001.seg`, `checkpoint`.
pub(crate) trait Source {
    /// The names in a directory; none when there is no such directory.
    fn list(&self, directory: &str) -> Vec<String>;
    /// The whole of a file; none when there is no such file.
    fn read(&self, path: &str) -> Option<Vec<u8>>;
}

/// What the store holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Held {
    /// By message id; only real ones.
    pub(crate) messages: BTreeMap<u64, Message>,
    pub(crate) keyed: BTreeMap<Vec<u8>, Vec<u8>>,
    /// By unit id.
    pub(crate) prepared: BTreeMap<u64, Prepared>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) owner: u64,
    pub(crate) order: u64,
    pub(crate) priority: u8,
    pub(crate) persistent: bool,
    pub(crate) expiry_ms: u64,
    pub(crate) tags: [u64; 2],
    pub(crate) envelope: Vec<u8>,
    /// The whole of it, also what lies in a file.
    pub(crate) body: Vec<u8>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Prepared {
    pub(crate) messages: BTreeMap<u64, Message>,
    /// In the order in which they were written; none removes the key.
    pub(crate) changes: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    /// Those that are there.
    pub(crate) kills: Vec<u64>,
    pub(crate) note: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// `format` is there and holds no number.
    NotAStore,
    Version(u32),
    Damaged {
        path: String,
        offset: u64,
        what: String,
    },
}

/// Reads the store as FORMAT.md 6 says. A directory that is not a store yet holds nothing.
pub(crate) fn read(source: &dyn Source) -> Result<Held, Refusal> {
    let numbers = segment_numbers(source);
    match source.read("format") {
        None if numbers.is_empty() => return Ok(Held::default()),
        None => return Err(damaged("format", 0, "it is missing, and there are segments")),
        Some(text) => check_version(&text)?,
    }
    let checkpoint = source
        .read("checkpoint")
        .ok_or("it is missing")
        .and_then(|file| checkpoint::read(&file))
        .map_err(|what| damaged("checkpoint", 0, what))?;

    // Leftovers are not read, not even for the starts that they name.
    let wanted: BTreeSet<u32> = checkpoint.segments.iter().map(|listed| listed.number).collect();
    let files = numbers
        .into_iter()
        .filter(|number| *number >= checkpoint.position.segment || wanted.contains(number))
        .filter_map(|number| Some((number, source.read(&segment_path(number))?)))
        .collect();
    let segments = Segments::new(files, (checkpoint.start, checkpoint.bits));

    let mut state = State::default();
    for listed in &checkpoint.segments {
        take_listed(&segments, listed, &checkpoint, &mut state)?;
    }
    state.check_prepared(&checkpoint).map_err(|what| damaged("checkpoint", 0, what))?;

    let mut journal = Journal::at(&segments, &checkpoint);
    let mut end = checkpoint.position;
    for piece in pieces(&segments, checkpoint.position)? {
        end = journal.read(piece, &mut state)?;
    }
    check_claims(&segments, end)?;
    hold(source, state)
}

/// Section 6, step 1, for one segment of the list.
fn take_listed<'a>(
    segments: &'a Segments,
    listed: &Listed,
    checkpoint: &Checkpoint,
    state: &mut State<'a>,
) -> Result<(), Refusal> {
    let path = segment_path(listed.number);
    let Some(file) = segments.file(listed.number) else {
        return Err(damaged(&path, 0, "the checkpoint lists this segment, and it is missing"));
    };
    let mut live = Vec::new();
    if let Some((listed, found)) = listed.bits.zip(segments.first_bits(listed.number))
        && listed != found
    {
        return Err(damaged(&path, 0, "the segment is of another store".to_owned()));
    }
    let found = if let Some(footer) = segments.footer(listed.number) {
        let lines: Vec<_> = footer.lines.iter().filter(|line| line.offset < listed.end).collect();
        for (number, line) in lines.iter().enumerate().filter(|(number, _)| !listed.is_dead(*number)) {
            // Chosen: a start need not look at the record itself, this reader does.
            let record = footer.record(file, line).map_err(|what| damaged(&path, line.offset, what))?;
            live.push((number, record));
        }
        lines.len()
    } else {
        let all = scan(segments, listed)?;
        let found = all.len();
        live.extend(all.into_iter().enumerate().filter(|(number, _)| !listed.is_dead(*number)));
        found
    };
    if u32::try_from(found) != Ok(listed.records) {
        let what =
            format!("{found} records before the end that the checkpoint lists, not {}", listed.records);
        return Err(damaged(&path, listed.end, what));
    }
    for (_, record) in live {
        let offset = record.offset;
        state.take_listed(record, checkpoint).map_err(|what| damaged(&path, offset, what))?;
    }
    Ok(())
}

/// All records of a segment before the listed end, those within others included: the place of each is its number.
fn scan<'a>(segments: &'a Segments, listed: &Listed) -> Result<Vec<Record<'a>>, Refusal> {
    let mut all = Vec::new();
    let mut numbering = Some(0);
    let mut spot = Spot { segment: listed.number, offset: 0 };
    while spot.offset < listed.end {
        let Some(group) = segments.verifies(spot) else {
            return Err(damaged_at(spot, "a group before the listed end does not verify"));
        };
        if group.next.offset > listed.end {
            return Err(damaged_at(spot, "a group reaches over the listed end"));
        }
        for record in records_of(&group, &mut numbering)? {
            all.extend(record.flattened());
        }
        spot = group.next;
    }
    Ok(all)
}

/// A part of the journal that was written without a break.
#[derive(Debug, Clone, Copy)]
struct Piece {
    from: Spot,
    begins_with_start_group: bool,
    /// None for the last.
    limit: Option<Spot>,
}

/// Section 6, step 2.
fn pieces(segments: &Segments, position: Spot) -> Result<Vec<Piece>, Refusal> {
    let mut pieces = Vec::new();
    let mut limit = None;
    let mut highest = u32::MAX;
    while let Some((spot, goes_on_from)) = segments.highest_start_group(position.segment, highest) {
        if goes_on_from < position {
            return Err(damaged_at(spot, "a start group goes on from before the checkpoint's position"));
        }
        // Chosen: not in the document, but nothing can go on from itself, and so the search ends.
        if goes_on_from >= spot {
            return Err(damaged_at(spot, "a start group goes on from a place that is not before it"));
        }
        pieces.push(Piece { from: spot, begins_with_start_group: true, limit });
        limit = Some(goes_on_from);
        highest = goes_on_from.segment;
    }
    pieces.push(Piece { from: position, begins_with_start_group: false, limit });
    pieces.reverse();
    Ok(pieces)
}

/// Section 6, step 3: what is carried from group to group, and from piece to piece.
struct Journal<'a> {
    segments: &'a Segments,
    /// The checksum of the group before.
    before: u32,
    /// The number that the next record of this segment must have, where that is known.
    numbering: Option<u32>,
}

enum Next<'a> {
    Group(Group<'a>),
    /// The limit is the beginning of a segment.
    Limit(Spot),
    None,
}

impl<'a> Journal<'a> {
    fn at(segments: &'a Segments, checkpoint: &Checkpoint) -> Self {
        let position = checkpoint.position;
        let listed = checkpoint.segments.iter().find(|listed| listed.number == position.segment);
        let numbering = listed.filter(|listed| listed.end == position.offset).map(|listed| listed.records);
        Self { segments, before: checkpoint.before, numbering }
    }

    /// Reads a piece and tells where it ends.
    fn read(&mut self, piece: Piece, state: &mut State<'a>) -> Result<Spot, Refusal> {
        let mut spot = piece.from;
        let mut start_group = piece.begins_with_start_group;
        while piece.limit != Some(spot) {
            if piece.limit.is_some_and(|limit| spot > limit) {
                return Err(damaged_at(spot, "a group reaches over the limit that a start group sets"));
            }
            let group = match self.next(spot, start_group, piece.limit)? {
                Next::Group(group) => group,
                Next::Limit(limit) => return Ok(limit),
                Next::None if piece.limit.is_none() => return Ok(spot),
                Next::None => {
                    return Err(damaged_at(spot, "no group here, and a later start group follows one"));
                }
            };
            start_group = false;
            if group.header.spot.offset == 0 {
                self.numbering = Some(0);
            }
            for record in records_of(&group, &mut self.numbering)? {
                let place = Spot { segment: group.header.spot.segment, offset: record.offset };
                state.apply(record).map_err(|what| damaged_at(place, what))?;
            }
            self.before = group.header.checksum;
            spot = group.next;
        }
        Ok(spot)
    }

    fn next(&self, spot: Spot, start_group: bool, limit: Option<Spot>) -> Result<Next<'a>, Refusal> {
        let here = self.segments.verifies(spot);
        if let Some(group) = here
            && group.header.before == self.before
            && group.header.is_start_group() == start_group
        {
            return Ok(Next::Group(group));
        }
        if start_group {
            // Chosen: read to the letter this would be the end of the last piece, with what the start group limits
            // void as well. But a start group claims what it goes on from.
            return Err(damaged_at(spot, "a start group names another group before it than the one found"));
        }
        let highest = limit.map_or(u32::MAX, |limit| limit.segment);
        let Some(rolled) = self.segments.rolled_over(spot.segment, highest, self.before) else {
            return Ok(Next::None);
        };
        if limit == Some(rolled) {
            return Ok(Next::Limit(rolled));
        }
        match self.segments.verifies(rolled) {
            Some(group) => Ok(Next::Group(group)),
            None if limit.is_none() => Ok(Next::None),
            None => Err(damaged_at(rolled, "a group does not verify, and a later start group follows it")),
        }
    }
}

/// Section 6, step 4.
fn check_claims(segments: &Segments, end: Spot) -> Result<(), Refusal> {
    match segments.counting_from(end).find(|header| header.claim > end) {
        None => Ok(()),
        Some(header) => {
            let (Spot { segment, offset }, claim) = (header.spot, header.claim);
            let what = format!(
                "the journal ends here, but the group at {segment}:{offset} claims up to {}:{}",
                claim.segment, claim.offset
            );
            Err(damaged_at(end, what))
        }
    }
}

/// The records of a group; the numbers in its header must be right, nested records counted (chosen: a reader does
/// not need them, but a second opinion may look).
fn records_of<'a>(group: &Group<'a>, numbering: &mut Option<u32>) -> Result<Vec<Record<'a>>, Refusal> {
    let header = &group.header;
    let Spot { segment, offset } = header.spot;
    if header.is_mark() {
        return match group.payload {
            [] => Ok(Vec::new()),
            _ => Err(damaged_at(header.spot, "a mark with a payload")),
        };
    }
    if !header.is_of_known_kind() {
        return Err(damaged_at(header.spot, "a group of an unknown kind"));
    }
    let first = offset.saturating_add(segments::HEADER_BYTES);
    let records = records::all(group.payload, first)
        .map_err(|fault| damaged_at(Spot { segment, offset: fault.offset }, fault.what))?;
    let held: usize = records.iter().map(|record| 1 + record.nested().len()).sum();
    if u32::try_from(held) != Ok(header.records) {
        let what = format!("a group of {held} records says that it holds {}", header.records);
        return Err(damaged_at(header.spot, what));
    }
    if numbering.is_some_and(|expected| expected != header.first_record) {
        return Err(damaged_at(header.spot, "the number of the first record of a group is wrong"));
    }
    *numbering = Some(header.first_record.saturating_add(header.records));
    Ok(records)
}

/// Section 6, step 5: what is left, with the bodies that lie in files. Those of dead messages may be gone.
fn hold(source: &dyn Source, state: State<'_>) -> Result<Held, Refusal> {
    let mut held = Held::default();
    for (id, message) in &state.messages {
        held.messages.insert(*id, whole(source, message)?);
    }
    for (key, value) in &state.keyed {
        held.keyed.insert(key.to_vec(), value.to_vec());
    }
    for (unit, work) in &state.units {
        let Some(promise) = &work.promise else { continue };
        let mut prepared = Prepared { note: promise.note.to_vec(), ..Prepared::default() };
        prepared.kills = promise.kills.iter().copied().filter(|id| state.messages.contains_key(id)).collect();
        for message in &work.messages {
            prepared.messages.insert(message.id, whole(source, message)?);
        }
        for (key, value) in &work.changes {
            prepared.changes.push((key.to_vec(), value.map(<[u8]>::to_vec)));
        }
        held.prepared.insert(*unit, prepared);
    }
    Ok(held)
}

fn whole(source: &dyn Source, message: &MessageRecord<'_>) -> Result<Message, Refusal> {
    let mut body = message.body.to_vec();
    if let Some(InFile { number, length, checksum }) = message.in_file {
        let path = format!("bodies/{number}");
        let Some(file) = source.read(&path) else {
            return Err(damaged(&path, 0, "a message has its body here, and the file is missing"));
        };
        if u64::try_from(file.len()) != Ok(length) || raw::crc32(&file) != checksum {
            return Err(damaged(&path, 0, "length or checksum is not what the message says"));
        }
        body.extend_from_slice(&file);
    }
    Ok(Message {
        owner: message.owner,
        order: message.order,
        priority: message.priority,
        persistent: message.persistent,
        expiry_ms: message.expiry_ms,
        tags: message.tags,
        envelope: message.envelope.to_vec(),
        body,
    })
}

/// Chosen: one number has one name; `1.seg` and `000000001.seg` are no segments.
fn segment_numbers(source: &dyn Source) -> BTreeSet<u32> {
    let number = |name: &str| {
        let name = name.rsplit('/').next()?;
        let number = name.strip_suffix(".seg")?.parse().ok()?;
        (format!("{number:08}.seg") == name).then_some(number)
    };
    source.list("journal").iter().filter_map(|name| number(name)).collect()
}

fn segment_path(number: u32) -> String {
    format!("journal/{number:08}.seg")
}

fn check_version(text: &[u8]) -> Result<(), Refusal> {
    let version = || -> Option<u32> {
        let digits = std::str::from_utf8(text.strip_suffix(b"\n")?).ok()?;
        let version: u32 = digits.parse().ok()?;
        (version.to_string() == digits).then_some(version)
    };
    match version() {
        Some(1 | 2) => Ok(()),
        Some(other) => Err(Refusal::Version(other)),
        None => Err(Refusal::NotAStore),
    }
}

fn damaged(path: &str, offset: u32, what: impl Into<String>) -> Refusal {
    Refusal::Damaged { path: path.to_owned(), offset: u64::from(offset), what: what.into() }
}

fn damaged_at(spot: Spot, what: impl Into<String>) -> Refusal {
    damaged(&segment_path(spot.segment), spot.offset, what)
}

#[cfg(test)]
mod tests;
