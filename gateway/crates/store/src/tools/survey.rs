//! All that can be known of a store by reading it: what it holds, and every fault. `check`, `stat` and `salvage` differ
//! in what they do with it.

use std::collections::{BTreeMap, BTreeSet};

use super::contents::Contents;
use super::foreseen::Foreseen;
use super::old;
use super::segment::{DIRECTORY, Footer, Lost, Payload, Records, Segment, number_of};
use super::source::Source;
use super::walk::{Group, Hole, Journal, Step};
use crate::format::checkpoint::{Checkpoint, SegmentEntry};
use crate::format::group::HEADER;
use crate::format::record::{KINDS, Kind, Parsed};
use crate::layout::Spot;
use crate::{Place, StoreError, UnitId};

/// The checkpoint's path.
pub(crate) const CHECKPOINT: &str = "checkpoint";

/// What the checkpoint's file holds.
#[derive(Debug)]
pub(crate) enum Found {
    Missing,
    Broken,
    /// The second is whether both copies verify.
    Good(Checkpoint, bool),
}

/// What was found of one segment.
#[derive(Debug, Default, Clone)]
pub(crate) struct Part {
    pub(crate) file_bytes: u64,
    /// Where its groups end, as far as they were read.
    pub(crate) end: u32,
    pub(crate) records: u32,
    /// Where the last thing ends that was written on purpose: a group, whether it counts or not, or the footer.
    pub(crate) used: u64,
    pub(crate) start: u32,
    pub(crate) sealed: bool,
    /// Below the checkpoint's position, and it does not need it.
    pub(crate) leftover: bool,
}

/// Something that is not as it was written.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    pub(crate) segment: u32,
    pub(crate) offset: u64,
    pub(crate) what: String,
    pub(crate) kind: FaultKind,
    pub(crate) lost: Vec<Lost>,
    /// More may be lost than that.
    pub(crate) unknown: bool,
}

/// What a fault means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultKind {
    /// The segment is needed, and it is not there.
    Missing,
    /// In the journal behind the checkpoint: no start accepts that. What it held may have ended other messages.
    Journal,
    /// Records that live by the checkpoint's list.
    Live,
    /// Only dead records, or nothing that is read at all.
    Dead,
    /// A footer does not count: the groups are read instead.
    Footer,
    /// Bytes that are not looked at.
    Unread,
}

/// All that was found.
#[derive(Debug)]
pub(crate) struct Survey {
    pub(crate) checkpoint: Found,
    pub(crate) parts: BTreeMap<u32, Part>,
    /// Names in the directory of segments that are not segments.
    pub(crate) others: Vec<String>,
    pub(crate) contents: Contents,
    pub(crate) faults: Vec<Fault>,
    /// Bytes of records by kind, dead ones included.
    pub(crate) bytes_by_kind: [u64; KINDS],
    pub(crate) starts: Vec<u32>,
    /// The end of the journal.
    pub(crate) end: Spot,
    /// Units that the journal left open: they are backed out at the next start.
    pub(crate) cut_off: Vec<UnitId>,
    pub(crate) newest_start: u32,
    /// Numbers of segments that are not there, from one to another, and may have been needed. Only a salvage without a
    /// checkpoint looks for them.
    pub(crate) missing: Vec<(u32, u32)>,
}

/// Reads the checkpoint.
pub(crate) fn read_checkpoint(source: &Source) -> Result<Found, StoreError> {
    let Some(bytes) = source.read(CHECKPOINT)? else { return Ok(Found::Missing) };
    Ok(Checkpoint::decode(&bytes).map_or(Found::Broken, |(checkpoint, whole)| Found::Good(checkpoint, whole)))
}

/// How a survey is made.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Options {
    /// Whether starts may be known from elsewhere than FORMAT.md 2 says (see [`Journal::new`]).
    pub(crate) lenient: bool,
    /// Whether to go on behind what is missing, and take what may have been decided there for committed.
    pub(crate) salvage: bool,
}

/// Reads everything.
pub(crate) fn survey(source: &Source, options: Options) -> Result<Survey, StoreError> {
    let found = read_checkpoint(source)?;
    let (mut numbers, mut others) = (Vec::new(), Vec::new());
    for entry in source.list(DIRECTORY)? {
        match number_of(&entry.name).filter(|_| !entry.is_directory) {
            Some(number) => numbers.push(number),
            None => others.push(entry.name),
        }
    }
    let mut segments = BTreeMap::new();
    for number in &numbers {
        if let Some(segment) = Segment::open(source, *number)? {
            segments.insert(*number, segment);
        }
    }
    let checkpoint = match &found {
        Found::Good(checkpoint, _) => checkpoint.clone(),
        Found::Missing | Found::Broken => Checkpoint::default(),
    };
    let listed = matches!(found, Found::Good(..));
    let journal = Journal::new(segments, listed.then_some(&checkpoint), options.lenient)?;
    let mut surveyor = Surveyor {
        journal: &journal,
        parts: BTreeMap::new(),
        contents: Contents::new(!listed),
        faults: Vec::new(),
        bytes_by_kind: [0; KINDS],
    };
    let mut foreseen = Foreseen::default();
    let mut dropped = BTreeSet::new();
    if options.salvage && !listed {
        dropped = old::read(source, &journal, &mut foreseen)?;
    }
    surveyor.files(&checkpoint, listed)?;
    for entry in &checkpoint.segments {
        surveyor.listed(&checkpoint, entry)?;
    }
    let oldest = journal.segments.keys().next().copied().unwrap_or(0);
    let position = if listed { checkpoint.position } else { Spot { segment: oldest, offset: 0 } };
    let walk = journal.walk(position, listed.then_some(checkpoint.previous))?;
    if options.salvage {
        foreseen.look(&journal, &walk, listed, &dropped)?;
        surveyor.contents.expect(&foreseen);
    }
    for (index, step) in walk.steps.iter().enumerate() {
        let ahead = foreseen.steps.get(index);
        if let Some(ahead) = ahead {
            surveyor.contents.batch = ahead.batch;
            if let Some(start) = ahead.start {
                surveyor.contents.start(start, &foreseen);
            }
        }
        match step {
            Step::Group(group) => surveyor.group(group)?,
            // Without a list nobody can tell a segment that was dropped from one that was lost.
            Step::Hole(hole) if !listed && journal.is_over_missing(hole) => surveyor.beside_missing(hole)?,
            Step::Hole(hole) => surveyor.hole(hole)?,
        }
        if let Some((at, unknown)) = ahead.and_then(|ahead| ahead.missing) {
            surveyor.contents.missing(at, unknown, &foreseen);
        }
    }
    let Surveyor { parts, mut contents, faults, bytes_by_kind, .. } = surveyor;
    if options.salvage {
        contents.end(walk.end, &foreseen);
    }
    let cut_off = contents.open_units();
    cut_off.iter().for_each(|unit| contents.back_out(*unit));
    let starts = journal.starts();
    let newest_start = starts.last().copied().unwrap_or(0).max(checkpoint.start);
    Ok(Survey {
        checkpoint: found,
        parts,
        others,
        contents,
        faults,
        bytes_by_kind,
        starts,
        end: walk.end,
        cut_off,
        newest_start,
        missing: foreseen.missing,
    })
}

#[derive(Debug)]
struct Surveyor<'a> {
    journal: &'a Journal,
    parts: BTreeMap<u32, Part>,
    contents: Contents,
    faults: Vec<Fault>,
    bytes_by_kind: [u64; KINDS],
}

impl Surveyor<'_> {
    /// The files, their footers, and which of them nothing needs.
    fn files(&mut self, checkpoint: &Checkpoint, listed: bool) -> Result<(), StoreError> {
        for (number, segment) in &self.journal.segments {
            let needed = *number >= checkpoint.position.segment
                || checkpoint.segments.iter().any(|entry| entry.number == *number);
            let footer = segment.footer()?;
            let mut part = Part { file_bytes: segment.input.length, ..Part::default() };
            part.leftover = listed && !needed;
            part.start = segment.header(0)?.map_or(0, |(header, _)| header.start);
            if let Footer::Good(trailer, _) = &footer {
                (part.sealed, part.end, part.records) = (true, trailer.end, trailer.records);
                part.used = segment.input.length;
            } else if *number >= checkpoint.position.segment {
                segment.headers(0, u64::MAX, |header, _| {
                    part.used = part.used.max(u64::from(header.end().offset));
                    true
                })?;
                part.used = part.used.min(segment.input.length);
            }
            self.parts.insert(*number, part);
            if matches!(footer, Footer::Broken) && needed {
                let what = "the footer does not count: the groups are read instead".to_owned();
                self.fault(*number, segment.input.length, what, FaultKind::Footer, Vec::new());
            }
        }
        Ok(())
    }

    fn fault(&mut self, segment: u32, offset: u64, what: String, kind: FaultKind, lost: Vec<Lost>) {
        self.faults.push(Fault { segment, offset, what, kind, lost, unknown: false });
    }

    fn count(&mut self, parsed: &Parsed, length: u32) {
        let kind = match parsed {
            Parsed::Message(..) => Kind::Message,
            Parsed::Keyed(..) => Kind::Keyed,
            Parsed::Commit { .. } => Kind::Commit,
            Parsed::BackOut(_) => Kind::BackOut,
            Parsed::Prepare { .. } => Kind::Prepare,
            Parsed::Moved(_) => Kind::Moved,
        };
        self.bytes_by_kind[kind as usize - 1] += u64::from(length);
    }

    /// A segment of the checkpoint's list: every record before its end, those that live and the others.
    fn listed(&mut self, checkpoint: &Checkpoint, entry: &SegmentEntry) -> Result<(), StoreError> {
        let Some(segment) = self.journal.segments.get(&entry.number) else {
            let what =
                format!("the checkpoint needs this segment ({} records), and it is missing", entry.records);
            let place = Place { segment: entry.number, ..Place::default() };
            let live = (0..entry.records).filter(|record| !entry.is_dead(*record)).count() as u32;
            let lost = (live > 0).then_some(Lost { place, count: live, head: None });
            self.fault(entry.number, 0, what, FaultKind::Missing, lost.into_iter().collect());
            return Ok(());
        };
        let footer = segment.footer()?;
        let (mut at, mut number) = (0, 0);
        while at < entry.end {
            let header = segment.header(u64::from(at))?.filter(|(h, _)| self.journal.counts(h));
            if let Some((header, _)) = header.filter(|(header, _)| header.spot.offset < entry.end) {
                let first = first_place(segment.number, at, header.first_record);
                let (bytes, sound) = segment.payload(&header)?.unwrap_or_default();
                let payload = Payload { first, count: header.records, bytes: &bytes, exact: true };
                let records = payload.records(if sound { None } else { footer.lines() });
                let agrees = sound && self.agrees(&records, &footer);
                self.list(checkpoint, entry, &records);
                if !sound {
                    let what = "the group's payload does not verify".to_owned();
                    self.list_fault(entry, at, what, records.lost);
                } else if !records.lost.is_empty() {
                    let what = "a record of a group that verifies makes no sense".to_owned();
                    self.list_fault(entry, at, what, records.lost);
                } else if !agrees {
                    let what = "the footer says something else than the records".to_owned();
                    self.fault(segment.number, u64::from(at), what, FaultKind::Live, Vec::new());
                }
                if !segment.is_padding_zero(&header)? {
                    let what = "behind the group stand bytes that nobody wrote there".to_owned();
                    self.fault(segment.number, u64::from(at), what, FaultKind::Unread, Vec::new());
                }
                number = header.first_record.saturating_add(header.records);
                at = header.end().offset;
                continue;
            }
            let mut next = None;
            segment.headers(u64::from(at), u64::from(entry.end), |header, _| {
                next = self.journal.counts(header).then_some(*header);
                next.is_none()
            })?;
            let to = next.map_or(entry.end, |header| header.spot.offset);
            let until = next.map_or(entry.records, |header| header.first_record);
            let records = between(segment, (at, to), (number, until), footer.lines())?;
            self.list(checkpoint, entry, &records);
            let what = format!("the header of the group does not verify; the next one is at {to}");
            self.list_fault(entry, at, what, records.lost);
            (at, number) = (to, until);
        }
        let part = self.parts.entry(entry.number).or_default();
        part.end = part.end.max(entry.end);
        part.records = part.records.max(entry.records);
        Ok(())
    }

    /// Whether the footer's lines say the same as the records.
    fn agrees(&self, records: &Records, footer: &Footer) -> bool {
        let Footer::Good(_, lines) = footer else { return true };
        records.good.iter().all(|good| {
            let line = lines.get(good.place.record as usize);
            line.is_some_and(|(offset, head)| {
                let same = *offset == good.place.offset && head.length == good.length;
                same && match &good.parsed {
                    Parsed::Message(entry, unit, _) => {
                        head.unit == *unit
                            && head.recovered(good.place).is_some_and(|line| {
                                let body_length = entry.body_length;
                                crate::RecoveredMessage { body_length, ..line } == *entry
                            })
                    }
                    Parsed::Keyed(unit, _) => head.kind == Kind::Keyed && head.unit == *unit,
                    Parsed::Commit { unit, .. } => head.kind == Kind::Commit && head.unit == *unit,
                    Parsed::BackOut(unit) => head.kind == Kind::BackOut && head.unit == Some(*unit),
                    Parsed::Prepare { unit, .. } => head.kind == Kind::Prepare && head.unit == Some(*unit),
                    Parsed::Moved(_) => head.kind == Kind::Moved,
                }
            })
        })
    }

    /// Takes the records that live by the checkpoint's list.
    fn list(&mut self, checkpoint: &Checkpoint, entry: &SegmentEntry, records: &Records) {
        let known = |unit: &UnitId| {
            checkpoint.open.binary_search(unit).is_ok() || checkpoint.prepared.binary_search(unit).is_ok()
        };
        let live = |place: &Place| !entry.is_dead(place.record);
        for good in &records.good {
            self.count(&good.parsed, good.length);
            match &good.parsed {
                Parsed::Commit { changes, .. } => {
                    for (change, place) in changes.iter().filter(|(_, place)| live(place)) {
                        let keyed = Parsed::Keyed(None, change.clone());
                        self.contents.restore(&keyed, *place, 0, known);
                    }
                }
                Parsed::Moved(copies) => {
                    for copy in copies.iter().filter(|copy| live(&copy.to)) {
                        self.contents.restore(&copy.parsed, copy.to, copy.bytes as u32, known);
                    }
                }
                parsed if live(&good.place) => {
                    self.contents.restore(parsed, good.place, good.length, known);
                }
                _ => {}
            }
        }
    }

    /// A fault in a listed segment, by what the list says of the records in it.
    fn list_fault(&mut self, entry: &SegmentEntry, at: u32, what: String, lost: Vec<Lost>) {
        let lives = |lost: &Lost| {
            (lost.place.record..).take(lost.count as usize).filter(|record| !entry.is_dead(*record)).count()
        };
        let live: Vec<Lost> = lost
            .iter()
            .filter(|lost| lives(lost) > 0)
            .map(|lost| Lost { count: lives(lost) as u32, ..*lost })
            .collect();
        if live.is_empty() {
            self.fault(entry.number, u64::from(at), what, FaultKind::Dead, lost);
        } else {
            self.fault(entry.number, u64::from(at), what, FaultKind::Live, live);
        }
    }

    /// A group of the journal behind the checkpoint.
    fn group(&mut self, group: &Group) -> Result<(), StoreError> {
        let header = &group.header;
        let Some(segment) = self.journal.segments.get(&header.spot.segment) else { return Ok(()) };
        let records = records_of(self.journal, &Step::Group(*group))?;
        self.replay(&records);
        let offset = u64::from(header.spot.offset);
        if !group.sound {
            let what = "the group's payload does not verify".to_owned();
            self.fault(segment.number, offset, what, FaultKind::Journal, records.lost);
        } else if !records.lost.is_empty() {
            let what = "a record of a group that verifies makes no sense".to_owned();
            self.fault(segment.number, offset, what, FaultKind::Journal, records.lost);
        }
        if !segment.is_padding_zero(header)? {
            let what = "behind the group stand bytes that nobody wrote there".to_owned();
            self.fault(segment.number, offset, what, FaultKind::Unread, Vec::new());
        }
        let part = self.parts.entry(segment.number).or_default();
        part.end = part.end.max(header.end().offset);
        part.records = part.records.max(header.first_record.saturating_add(header.records));
        Ok(())
    }

    fn replay(&mut self, records: &Records) {
        for good in &records.good {
            self.count(&good.parsed, good.length);
            self.contents.apply(&good.parsed, good.place, good.length);
        }
    }

    /// Where groups should be: what in there verifies by itself.
    fn hole(&mut self, hole: &Hole) -> Result<(), StoreError> {
        let Hole { at, what, records, .. } = hole;
        let found = records_of(self.journal, &Step::Hole(hole.clone()))?;
        self.replay(&found);
        self.fault(at.segment, u64::from(at.offset), what.clone(), FaultKind::Journal, found.lost);
        if records.is_none()
            && let Some(fault) = self.faults.last_mut()
        {
            fault.unknown = true;
        }
        Ok(())
    }

    /// A segment is not there, which may be as it should; but the ends of its neighbours should be.
    fn beside_missing(&mut self, hole: &Hole) -> Result<(), StoreError> {
        let Hole { at, to, .. } = *hole;
        let end = self.parts.get(&at.segment).filter(|part| part.sealed).map(|part| part.end);
        let mut damaged = Vec::new();
        if let Some(end) = end.filter(|end| *end > at.offset) {
            damaged.push((at, Spot { offset: end, ..at }));
        }
        if to.offset > 0 && self.journal.segments.contains_key(&to.segment) {
            damaged.push((Spot { offset: 0, ..to }, to));
        }
        for (at, to) in damaged {
            let what = format!("the group does not verify, and the segment goes on up to {to}");
            self.hole(&Hole { at, to, what, records: None })?;
        }
        Ok(())
    }
}

/// The records of a group, or those that verify by themselves where groups should be.
pub(super) fn records_of(journal: &Journal, step: &Step) -> Result<Records, StoreError> {
    match step {
        Step::Group(Group { header, sound }) => {
            let Some(segment) = journal.segments.get(&header.spot.segment) else {
                return Ok(Records::default());
            };
            let first = first_place(segment.number, header.spot.offset, header.first_record);
            let bytes = segment.payload(header)?.map(|payload| payload.0).unwrap_or_default();
            let footer = if *sound { Footer::None } else { segment.footer()? };
            let payload = Payload { first, count: header.records, bytes: &bytes, exact: true };
            Ok(payload.records(footer.lines()))
        }
        Step::Hole(Hole { at, to, records: Some(numbers), .. }) => {
            let Some(segment) = journal.segments.get(&at.segment) else { return Ok(Records::default()) };
            let footer = segment.footer()?;
            between(segment, (at.offset, to.offset), *numbers, footer.lines())
        }
        Step::Hole(_) => Ok(Records::default()),
    }
}

fn first_place(segment: u32, group: u32, record: u32) -> Place {
    Place { segment, offset: group.saturating_add(HEADER as u32), record }
}

/// What verifies between two places of a segment where the header of a group should be.
fn between(
    segment: &Segment,
    (from, to): (u32, u32),
    (first, until): (u32, u32),
    lines: Option<&super::segment::Lines>,
) -> Result<Records, StoreError> {
    let place = first_place(segment.number, from, first);
    let bytes = segment.input.read(u64::from(place.offset), to.saturating_sub(place.offset) as usize)?;
    let payload = Payload { first: place, count: until.saturating_sub(first), bytes: &bytes, exact: false };
    Ok(payload.records(lines))
}
