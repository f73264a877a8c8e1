//! A start: what the directory holds, and a new segment to go on in (STORE.md 3).
//!
//! Nothing is given out, removed or cleaned before the start group, its mark and the checkpoint are durable. A failure
//! anywhere here ends the start; only the next one may decide again.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::chain::{Chain, View};
use super::checkpoints;
use super::reader::{DIRECTORY, SegmentFile, Segments, Window, number_of, path_of};
use super::replay::Replay;
use super::space::Space;
use super::writer::{From, Writer};
use crate::bodies::{self, BodyFiles};
use crate::files::{Files, Lock, failed};
use crate::format::checkpoint::{Checkpoint, SegmentEntry};
use crate::format::footer::{self, Trailer};
use crate::format::record::{self, Head, Kind, Parsed};
use crate::format::{VERSION, group};
use crate::layout::Spot;
use crate::ledger::Ledger;
use crate::planted::{Bug, is_planted};
use crate::{Place, Recovered, StoreError, UnitId};

const FORMAT: &str = "format";
const FORMAT_NEW: &str = "format.new";
/// There from a restore until the first start on it is done.
pub(crate) const RESTORED: &str = "restored";
/// What differs is only what this one did not know (FORMAT.md).
const OLDEST_VERSION: u32 = 1;
/// An id has so many bits for the start.
const STARTS_MAX: u32 = 1 << 24;

/// A journal that can go on.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) writer: Writer,
    pub(crate) segments: Arc<Segments>,
    pub(crate) ledger: Ledger,
    pub(crate) recovered: Recovered,
}

/// Makes an empty store of an empty directory, or looks whether this program may read what is there. Gives the
/// version found.
pub(crate) fn prepare_directory(
    files: &dyn Files,
    lock: &dyn Lock,
    space: &mut Space,
) -> Result<u32, StoreError> {
    if let Some(file) = files.open(FORMAT).map_err(failed(files, "open", FORMAT))? {
        let mut bytes = [0; 16];
        let read = file.read_at(&mut bytes, 0).map_err(failed(files, "read", FORMAT))?;
        let text = std::str::from_utf8(&bytes[..read]).ok();
        let found = text.and_then(|t| t.trim().parse::<u32>().ok()).ok_or_else(|| StoreError::Damaged {
            path: files.show(FORMAT),
            offset: 0,
            what: "no version number".to_owned(),
        })?;
        if !(OLDEST_VERSION..=VERSION).contains(&found) {
            return Err(StoreError::Format { directory: files.show(""), found, known: VERSION });
        }
        return Ok(found);
    }
    // The format file comes last, so without it the store was never used.
    let names = files.list(DIRECTORY).map_err(failed(files, "list", DIRECTORY))?;
    if names.iter().any(|name| number_of(name).is_some()) {
        let what = "it is missing, but there is a journal".to_owned();
        return Err(StoreError::Damaged { path: files.show(FORMAT), offset: 0, what });
    }
    checkpoints::write(files, lock, space, &Checkpoint::default())
        .map_err(checkpoints::Failure::into_error)?;
    write_version(files)?;
    Ok(VERSION)
}

/// Makes the directories that are not there.
pub(crate) fn make_directories(files: &dyn Files) -> Result<(), StoreError> {
    for directory in [DIRECTORY, bodies::DIRECTORY] {
        files.make_directory(directory).map_err(failed(files, "create", directory))?;
    }
    Ok(())
}

/// Says that the directory has the present version.
fn write_version(files: &dyn Files) -> Result<(), StoreError> {
    if files.open(FORMAT_NEW).map_err(failed(files, "open", FORMAT_NEW))?.is_some() {
        files.remove(FORMAT_NEW).map_err(failed(files, "remove", FORMAT_NEW))?;
    }
    let file = files.create(FORMAT_NEW, 0).map_err(failed(files, "create", FORMAT_NEW))?;
    file.write_at(format!("{VERSION}\n").as_bytes(), 0).map_err(failed(files, "write", FORMAT_NEW))?;
    file.sync().map_err(failed(files, "sync", FORMAT_NEW))?;
    files.rename(FORMAT_NEW, FORMAT).map_err(failed(files, "rename", FORMAT_NEW))?;
    files.sync_directory("").map_err(failed(files, "sync", ""))
}

/// How a start goes about it.
#[derive(Debug)]
pub(crate) struct Begin {
    pub(crate) segment_bytes: u64,
    /// The random bits of the new start.
    pub(crate) nonce: u64,
    /// The version of the directory.
    pub(crate) version: u32,
    /// In a process that has served: where the last sync that returned has come. Nothing behind that is real, whatever
    /// the page cache shows (STORE.md 3.4).
    pub(crate) cut: Option<Spot>,
    /// In a process that has served.
    pub(crate) is_recovery: bool,
    /// A planted bug: everything that verifies is taken to be on disk.
    pub(crate) trusts_cache: bool,
}

/// Reads what is there, and begins a new start behind it.
pub(crate) fn recover(
    files: &Arc<dyn Files>,
    lock: &dyn Lock,
    space: Space,
    begin: &Begin,
) -> Result<Opened, StoreError> {
    let checkpoint = checkpoints::read(files.as_ref())?;
    let p = checkpoint.position;
    let names = files.list(DIRECTORY).map_err(failed(files.as_ref(), "list", DIRECTORY))?;
    let present: Vec<u32> = names.iter().filter_map(|name| number_of(name)).collect();
    let found = open_segments(files.as_ref(), &checkpoint, &present)?;
    let view = View::new(&found, &checkpoint)?;
    let start = view.newest_start().max(checkpoint.start).saturating_add(1);
    if start >= STARTS_MAX {
        return Err(damaged(&view, p, "it is of a start whose number cannot be"));
    }
    let mut replay = Replay::new(BodyFiles::new(Arc::clone(files), start));
    let Chain { groups, claim } = view.chain(&checkpoint, begin.cut)?;
    let claim = match groups.last() {
        Some(last) if begin.trusts_cache => last.header.end(),
        _ => claim,
    };
    for entry in &checkpoint.segments {
        load(&view, &checkpoint, entry, &mut replay)?;
    }
    let mut from = From { spot: claim, checksum: checkpoint.previous };
    let mut copies = Vec::new();
    for found in &groups {
        let Some((_, payload)) = view.group(found.header.spot)? else {
            return Err(damaged(&view, found.header.spot, "a group changed while it was read"));
        };
        if found.header.spot >= claim {
            copies.push(payload);
            continue;
        }
        from.checksum = found.checksum;
        let spot = found.header.spot;
        let offset = spot.offset + group::HEADER as u32;
        let first = Place { segment: spot.segment, offset, record: found.header.first_record };
        replay.ledger.begin_start(found.header.nonce);
        apply_all(&view, &payload, first, &mut replay)?;
        replay.ledger.set_end(spot.segment, found.header.end().offset);
    }
    let highest = present.iter().copied().chain([p.segment, claim.segment]).max().unwrap_or(0);
    let number = highest.checked_add(1).ok_or_else(|| damaged(&view, claim, "no segment number is left"))?;
    let segments = Arc::new(Segments::default());
    for segment in found.values() {
        segments.insert(Arc::clone(segment));
    }
    if is_planted(Bug::OrphansEarly) {
        remove_orphans(files.as_ref(), &replay.ledger);
    }
    let records: Vec<&[u8]> = copies.iter().flat_map(|payload| split_all(payload)).collect();
    let mut writer = Writer::start(
        Arc::clone(&segments),
        space,
        begin.segment_bytes,
        (start, begin.nonce),
        number,
        from,
        &records,
    )?;
    replay.ledger.begin_start(begin.nonce);
    if begin.is_recovery {
        writer.space.write_again_from(number);
    }
    let copied = Place { segment: number, offset: group::HEADER as u32, record: 0 };
    apply_all(&view, &records.concat(), copied, &mut replay)?;
    replay.ledger.set_end(number, writer.written.offset);
    let (mut ledger, mut recovered) = replay.finish();
    let checkpoint = take_checkpoint(&ledger, (start, begin.nonce), writer.written, (1, 1));
    let checkpoint = Checkpoint { previous: writer.last, ..checkpoint };
    checkpoints::write(files.as_ref(), lock, &mut writer.space, &checkpoint)
        .map_err(checkpoints::Failure::into_error)?;
    if begin.version != VERSION {
        write_version(files.as_ref())?;
        tracing::info!(from = begin.version, to = VERSION, "the store was upgraded");
    }
    ledger.forget(&ledger.wholly_dead(number));
    let needed: Vec<u32> = ledger.segments().map(|(number, _)| number).collect();
    // Else the files would seem to be read by somebody.
    drop((view, found));
    for unneeded in present.iter().filter(|n| !needed.contains(n)) {
        let slot = segments.forget(*unneeded);
        writer.retire(*unneeded, slot);
    }
    remove_orphans(files.as_ref(), &ledger);
    drop(ledger.take_dead_bodies());
    writer.space.refill();
    writer.space.keep_for_next_start();
    recovered.restored = files.open(RESTORED).map_err(failed(files.as_ref(), "open", RESTORED))?.is_some();
    Ok(Opened { writer, segments, ledger, recovered })
}

/// Removes the files of bodies that no live record names: those of earlier starts, since this one has written none.
/// In a running process somebody may be about to name one of its own; those are left to their handles.
fn remove_orphans(files: &dyn Files, ledger: &Ledger) {
    let names = match files.list(bodies::DIRECTORY) {
        Ok(names) => names,
        Err(error) => return tracing::warn!(%error, "the files of bodies cannot be listed"),
    };
    for number in names.iter().filter_map(|name| name.parse::<u64>().ok()) {
        if ledger.body_file(number).is_none() {
            let path = bodies::path_of(number);
            if let Err(error) = files.remove(&path) {
                tracing::warn!(%error, path = files.show(&path), "the file of a body that nobody needs stays");
            }
        }
    }
}

/// A checkpoint of what the ledger says, at `position`, but for the checksum there.
pub(crate) fn take_checkpoint(
    ledger: &Ledger,
    (start, nonce): (u32, u64),
    position: Spot,
    (next_id, next_unit): (u64, u64),
) -> Checkpoint {
    let (open, prepared) = ledger.units();
    let segments = ledger.entries(position.segment);
    Checkpoint { start, nonce, position, previous: 0, next_id, next_unit, segments, open, prepared }
}

/// Opens the segments that the checkpoint lists, and those from P on; older ones are leftovers.
fn open_segments(
    files: &dyn Files,
    checkpoint: &Checkpoint,
    present: &[u32],
) -> Result<BTreeMap<u32, Arc<SegmentFile>>, StoreError> {
    let listed = checkpoint.segments.iter().map(|s| s.number);
    let newer = present.iter().copied().filter(|n| *n >= checkpoint.position.segment);
    let mut found = BTreeMap::new();
    for number in listed.chain(newer) {
        let path = path_of(number);
        match files.open(&path).map_err(failed(files, "open", &path))? {
            Some(file) => found.insert(number, Arc::new(SegmentFile::new(files, number, file))),
            None => {
                let what = "the checkpoint needs this segment, and it is missing".to_owned();
                return Err(StoreError::Damaged { path: files.show(&path), offset: 0, what });
            }
        };
    }
    Ok(found)
}

/// Enters what lives in a segment that the checkpoint lists.
fn load(
    view: &View,
    checkpoint: &Checkpoint,
    entry: &SegmentEntry,
    replay: &mut Replay,
) -> Result<(), StoreError> {
    let Some(segment) = view.segment(entry.number) else { return Ok(()) };
    replay.restore(entry, view.nonce_of(entry)?);
    let mut window = Window::default();
    let mut live = |place: Place, head: &Head| {
        if place.offset >= entry.end {
            return Ok(());
        }
        if entry.is_dead(place.record) {
            if head.kind == Kind::Message {
                replay.ledger.restore_dead_message(place.segment, u64::from(head.length));
            }
            return Ok(());
        }
        let known = |unit: &UnitId| {
            checkpoint.open.binary_search(unit).is_ok() || checkpoint.prepared.binary_search(unit).is_ok()
        };
        let unit = head.unit.filter(known);
        if !head.has_file()
            && let Some(message) = head.recovered(place)
        {
            replay.restore_message(message, unit, u64::from(head.length), None);
            return Ok(());
        }
        let bytes = window.record(segment, place.offset, head.length)?;
        match record::parse(&bytes, place) {
            Some(Parsed::Keyed(_, change)) => replay.restore_keyed(unit, change, place),
            Some(Parsed::Prepare { unit, kills, note }) => replay.restore_prepare(unit, kills, note, place),
            Some(Parsed::Message(message, _, name)) => {
                replay.restore_message(message, unit, u64::from(head.length), name);
            }
            _ => return Err(segment.damaged(place.offset, "a live record is not what its line says")),
        }
        Ok(())
    };
    if let Some(lines) = read_footer(segment)? {
        for ((offset, head), record) in lines.iter().zip(0..) {
            live(Place { segment: entry.number, offset: *offset, record }, head)?;
        }
        return Ok(());
    }
    view.scan(entry.number, entry.end, |header, payload| {
        let mut lines = Vec::new();
        let mut offset = header.spot.offset + group::HEADER as u32;
        for record in split_all(payload) {
            record::write_lines(&mut lines, offset, record);
            offset += record.len() as u32;
        }
        let mut cursor = crate::format::Cursor::new(&lines);
        for record in (header.first_record..).take(header.records as usize) {
            let Some((offset, head)) = Head::read_line(&mut cursor) else {
                return Err(segment.damaged(header.spot.offset, "a group has fewer records than it says"));
            };
            live(Place { segment: entry.number, offset, record }, &head)?;
        }
        Ok(())
    })
}

/// The lines of the footer, if there is a valid one of this very segment.
pub(crate) fn read_footer(segment: &SegmentFile) -> Result<Option<Vec<(u32, Head)>>, StoreError> {
    let length = segment.length()?;
    let Some(at) = length.checked_sub(footer::TRAILER) else { return Ok(None) };
    let bytes = segment.read(at, footer::TRAILER as usize)?;
    let is_ours = |t: &Trailer| t.segment == segment.number || is_planted(Bug::FooterUnnamed);
    let Some(trailer) = Trailer::read(&bytes).filter(is_ours) else {
        return Ok(None);
    };
    if u64::from(trailer.end) + u64::from(trailer.lines_length) != at {
        return Ok(None);
    }
    let lines = segment.read(u64::from(trailer.end), trailer.lines_length as usize)?;
    Ok(trailer.lines(&lines))
}

/// Applies the records of a payload whose first one lies at `place`.
fn apply_all(view: &View, payload: &[u8], mut place: Place, replay: &mut Replay) -> Result<(), StoreError> {
    let spot = Spot { segment: place.segment, offset: place.offset };
    let mut rest = payload;
    while !rest.is_empty() {
        let parsed = record::split(rest).and_then(|r| Some((r.len(), record::parse(r, place)?)));
        let Some((length, parsed)) = parsed else {
            return Err(damaged(view, spot, "a record of a group that verifies makes no sense"));
        };
        let records = record::records_of(&parsed);
        replay.apply(parsed, place, length as u64);
        place.offset += length as u32;
        place.record += records;
        rest = &rest[length..];
    }
    Ok(())
}

/// The records of a payload.
pub(crate) fn split_all(mut payload: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let record = record::split(payload)?;
        payload = &payload[record.len()..];
        Some(record)
    })
}

fn damaged(view: &View, spot: Spot, what: &str) -> StoreError {
    match view.segment(spot.segment) {
        Some(segment) => segment.damaged(spot.offset, what),
        None => StoreError::Damaged {
            path: path_of(spot.segment),
            offset: u64::from(spot.offset),
            what: what.to_owned(),
        },
    }
}
