//! The journal behind a checkpoint, by the rules of FORMAT.md 6, but going on behind damage: what a reader would stop
//! at is a [`Hole`]. Without holes the groups are just those that a reader takes.

use std::collections::{BTreeMap, HashSet};

use super::segment::Segment;
use crate::StoreError;
use crate::format::checkpoint::Checkpoint;
use crate::format::group::{GroupHeader, GroupKind};
use crate::layout::Spot;

/// The segments, and which starts are known.
#[derive(Debug)]
pub(crate) struct Journal {
    pub(crate) segments: BTreeMap<u32, Segment>,
    starts: HashSet<(u32, u64)>,
}

/// A group of the journal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Group {
    pub(crate) header: GroupHeader,
    /// Whether its payload verifies.
    pub(crate) sound: bool,
}

/// Where the journal is damaged.
#[derive(Debug, Clone)]
pub(crate) struct Hole {
    pub(crate) at: Spot,
    /// Where it goes on.
    pub(crate) to: Spot,
    /// How it is known that something was there.
    pub(crate) what: String,
    /// How many records are missing, where both ends say so.
    pub(crate) records: Option<(u32, u32)>,
}

/// The groups behind a checkpoint's position.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    /// Groups and holes in their order; a group whose payload does not verify is among the groups and has no hole.
    pub(crate) steps: Vec<Step>,
    /// Up to where the journal is known to have been synced.
    pub(crate) claim: Spot,
    pub(crate) end: Spot,
}

/// What comes next in the journal.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Group(Group),
    Hole(Hole),
}

impl Journal {
    /// The starts that are known are those of FORMAT.md 2. If the beginning of a segment is damaged, `lenient` takes
    /// it from the headers behind, where nothing is known of a start with that number.
    pub(crate) fn new(
        segments: BTreeMap<u32, Segment>,
        checkpoint: Option<&Checkpoint>,
        lenient: bool,
    ) -> Result<Self, StoreError> {
        let mut starts: HashSet<_> = checkpoint.map(|c| (c.start, c.nonce)).into_iter().collect();
        let mut headless = Vec::new();
        for segment in segments.values() {
            match segment.header(0)? {
                Some((header, _)) => drop(starts.insert((header.start, header.nonce))),
                None => headless.push(segment),
            }
        }
        for segment in headless.into_iter().filter(|_| lenient) {
            let numbers: HashSet<u32> = starts.iter().map(|s| s.0).collect();
            segment.headers(0, u64::MAX, |header, _| {
                let new = !numbers.contains(&header.start);
                if new {
                    starts.insert((header.start, header.nonce));
                }
                !new
            })?;
        }
        Ok(Self { segments, starts })
    }

    /// The starts that are known, by number.
    pub(crate) fn starts(&self) -> Vec<u32> {
        let mut numbers: Vec<u32> = self.starts.iter().map(|s| s.0).filter(|start| *start > 0).collect();
        numbers.sort_unstable();
        numbers
    }

    /// Whether it leads from the end of one segment to another one, and a segment between is not there.
    pub(crate) fn is_over_missing(&self, hole: &Hole) -> bool {
        let (from, to) = (hole.at.segment, hole.to.segment);
        // Counted, for the numbers are what somebody has written somewhere.
        from < to && (self.segments.range(from + 1..=to).count() as u64) < u64::from(to - from)
    }

    pub(crate) fn counts(&self, header: &GroupHeader) -> bool {
        self.starts.contains(&(header.start, header.nonce))
    }

    fn sound(&self, header: &GroupHeader) -> Result<bool, StoreError> {
        let Some(segment) = self.segments.get(&header.spot.segment) else { return Ok(false) };
        Ok(segment.payload(header)?.is_some_and(|(_, sound)| sound))
    }

    /// All headers that count at or behind `from`.
    fn headers(&self, from: Spot) -> Result<Vec<(GroupHeader, u32)>, StoreError> {
        let mut found = Vec::new();
        for (number, segment) in self.segments.range(from.segment..) {
            let begin = if *number == from.segment { u64::from(from.offset) } else { 0 };
            segment.headers(begin, u64::MAX, |header, checksum| {
                if self.counts(header) {
                    found.push((*header, checksum));
                }
                true
            })?;
        }
        Ok(found)
    }

    /// The journal from `position` on; the group before it has the checksum `previous`. That is none if there is no
    /// checkpoint: then it is the beginning of the oldest segment.
    pub(crate) fn walk(&self, position: Spot, previous: Option<u32>) -> Result<Walk, StoreError> {
        let headers = self.headers(position)?;
        let claim = headers.iter().map(|(header, _)| header.claim).chain([position]).max();
        let claim = claim.unwrap_or(position);
        let mut walk = Walk { claim, ..Walk::default() };
        // Each begins where the second says, and ends at the limit.
        let mut pieces = Vec::new();
        let mut limit: Option<Spot> = None;
        for (header, _) in headers.iter().rev() {
            let GroupKind::Start { from } = header.kind else { continue };
            let beyond = limit.is_some_and(|limit| header.spot.segment > limit.segment);
            if header.spot.segment <= position.segment || header.spot.offset != 0 || beyond {
                continue;
            }
            // One that is claimed was real, also if it does not verify any more.
            if !self.sound(header)? && claim <= header.spot {
                continue;
            }
            pieces.push((header.spot, limit));
            if from < position && previous.is_some() {
                let what = format!("its start group goes on from {from}, before the checkpoint's {position}");
                let hole = Hole { at: header.spot, to: header.spot, what, records: None };
                walk.steps.push(Step::Hole(hole));
            }
            limit = Some(from.max(position));
        }
        pieces.push((position, limit));
        let mut last = previous;
        for (begin, limit) in pieces.into_iter().rev() {
            self.piece(&headers, (begin, limit), previous.is_none(), &mut last, &mut walk)?;
        }
        Ok(walk)
    }

    /// Whether the next group is sound, at the beginning of a segment, and one before it is not there.
    fn goes_on_behind_missing(&self, end: Spot, next: Option<GroupHeader>) -> Result<bool, StoreError> {
        let next = next.filter(|header| header.spot.offset == 0 && header.spot.segment > end.segment);
        let Some(header) = next else { return Ok(false) };
        let between = end.segment + 1..header.spot.segment;
        let numbers = between.len();
        Ok(self.segments.range(between).count() < numbers && self.sound(&header)?)
    }

    fn piece(
        &self,
        headers: &[(GroupHeader, u32)],
        (begin, limit): (Spot, Option<Spot>),
        previous_unknown: bool,
        last: &mut Option<u32>,
        walk: &mut Walk,
    ) -> Result<(), StoreError> {
        let within = |spot: Spot| spot >= begin && limit.is_none_or(|limit| spot < limit);
        let mut rest = headers.iter().filter(|(header, _)| within(header.spot)).peekable();
        let (mut end, mut records) = (begin, (begin.offset == 0).then_some(0));
        let must = |end: Spot| match limit {
            Some(limit) => Some(format!("the journal goes on from {limit}")),
            None if walk.claim > end => {
                Some(format!("the journal was synced up to {}, a later group claims", walk.claim))
            }
            None => None,
        };
        let mut steps = Vec::new();
        while limit != Some(end) {
            // A header within a group that was taken is none that we wrote.
            while rest.next_if(|(header, _)| header.spot < end).is_some() {}
            let next = rest.peek().copied().copied();
            let linked = next.filter(|(header, _)| {
                last.is_none_or(|last| header.previous == last)
                    && (header.spot == begin || !header.is_start())
                    && limit.is_none_or(|limit| header.end() <= limit || limit.segment > header.spot.segment)
            });
            if let Some((header, checksum)) = linked.filter(|(header, _)| header.spot == end) {
                rest.next();
                let sound = self.sound(&header)?;
                if !sound && must(end).is_none() {
                    break;
                }
                steps.push(Step::Group(Group { header, sound }));
                *last = Some(checksum);
                end = header.end();
                records = header.first_record.checked_add(header.records);
                continue;
            }
            let rolled = linked.filter(|(header, _)| {
                last.is_some() && header.spot.offset == 0 && header.spot.segment > end.segment
            });
            if let Some((header, _)) = rolled
                && (limit.is_some() || walk.claim > header.spot || self.sound(&header)?)
            {
                (end, records) = (header.spot, Some(0));
                continue;
            }
            let why = match must(end) {
                Some(why) => why,
                // Nobody need claim it: a segment goes when a later one was on disk.
                None if previous_unknown && self.goes_on_behind_missing(end, next.map(|n| n.0))? => {
                    "the journal goes on behind a segment that is not there".to_owned()
                }
                None => break,
            };
            let to = match (next, limit) {
                (Some((header, _)), _) => header.spot,
                (None, Some(limit)) => limit,
                (None, None) => walk.claim,
            };
            let same = next.filter(|(header, _)| header.spot.segment == end.segment);
            let records_missing = records.zip(same).map(|(first, (header, _))| (first, header.first_record));
            let what = format!("the group does not verify, and {why}");
            steps.push(Step::Hole(Hole { at: end, to, what, records: records_missing }));
            if last.take().is_none() && to == end {
                // It does not belong here, whatever was before it.
                rest.next();
            }
            records = (to.segment == end.segment).then_some(records_missing.map(|r| r.1)).flatten();
            end = to;
            if next.is_none() {
                break;
            }
        }
        walk.steps.extend(steps);
        walk.end = end;
        Ok(())
    }
}
