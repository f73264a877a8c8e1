//! What is known of ends before the journal is read in its order: a salvage goes on behind what is missing, and the
//! record that decided a unit, or a copy that shows that it was decided, may stand behind that.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::contents::spot;
use super::segment::{Lost, Records};
use super::survey::records_of;
use super::walk::{Hole, Journal, Step, Walk};
use crate::format::group::{GroupHeader, GroupKind};
use crate::format::record::Parsed;
use crate::layout::Spot;
use crate::{Id, Place, StoreError, UnitId};

/// See the module's text.
#[derive(Debug, Default)]
pub(crate) struct Foreseen {
    /// Messages that something ended which the journal does not show any more.
    pub(super) dead: HashSet<Id>,
    /// Units of which it is known that they were committed, but not where.
    pub(super) committed: HashSet<UnitId>,
    /// Units that were backed out, as the journal does not show any more.
    pub(super) backed_out: HashSet<UnitId>,
    /// Units whose end stands in the journal.
    decided: HashSet<UnitId>,
    /// Where each unit was not decided yet.
    open_at: HashMap<UnitId, Spot>,
    /// Of each step of the walk.
    pub(super) steps: Vec<Ahead>,
    /// Numbers of segments that are not there, from one to another, and may have been needed.
    pub(super) missing: Vec<(u32, u32)>,
}

/// What is known of a step of the walk before it is taken.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    /// Where the batch of its records begins, at the earliest.
    pub(super) batch: Spot,
    /// The start that it begins.
    pub(super) start: Option<u32>,
    /// Something is missing before this, at the end of the step. If it is not unknown it was read elsewhere.
    pub(super) missing: Option<(Spot, bool)>,
}

impl Foreseen {
    /// Reads the whole journal. `dropped` are segments that are not there, of which all is known.
    pub(super) fn look(
        &mut self,
        journal: &Journal,
        walk: &Walk,
        listed: bool,
        dropped: &BTreeSet<u32>,
    ) -> Result<(), StoreError> {
        let mut batches = Batches::default();
        let oldest = journal.segments.keys().next().copied().unwrap_or(0);
        if !listed && self.lacks(&missing_between(journal, 0, oldest), dropped) {
            batches.is_broken = true;
        }
        for step in &walk.steps {
            let mut ahead = Ahead::default();
            let records = records_of(journal, step)?;
            match step {
                Step::Group(group) => {
                    ahead.batch = batches.enter(&group.header);
                    ahead.start =
                        matches!(group.header.kind, GroupKind::Start { .. }).then_some(group.header.start);
                    ahead.missing = last_end(&records).map(|at| (at, true));
                }
                Step::Hole(hole) if !listed && journal.is_over_missing(hole) => {
                    let between = missing_between(journal, hole.at.segment, hole.to.segment);
                    let last = between.last().map(|(_, last)| Spot { segment: *last, offset: 0 });
                    let at = if hole.to.offset > 0 { Some(hole.to) } else { last };
                    let beside = hole.to.offset > 0 && journal.segments.contains_key(&hole.to.segment);
                    let unknown = self.lacks(&between, dropped) || beside;
                    ahead.missing = at.map(|at| (at, unknown));
                }
                Step::Hole(Hole { to, records: None, .. }) => ahead.missing = Some((*to, true)),
                Step::Hole(_) => ahead.missing = last_end(&records).map(|at| (at, true)),
            }
            batches.is_broken |= ahead.missing.is_some_and(|(_, unknown)| unknown);
            for good in &records.good {
                self.read(&good.parsed, good.place, ahead.batch);
            }
            self.steps.push(ahead);
        }
        // What the journal shows it decides in its order.
        self.committed.retain(|unit| !self.decided.contains(unit));
        Ok(())
    }

    /// Whether something of these segments is not known.
    fn lacks(&mut self, missing: &[(u32, u32)], dropped: &BTreeSet<u32>) -> bool {
        let known = |(first, last): &(u32, u32)| {
            dropped.range(first..=last).count() as u64 == u64::from(last - first) + 1
        };
        let unknown = missing.iter().filter(|range| !known(range));
        let before = self.missing.len();
        self.missing.extend(unknown);
        self.missing.len() > before
    }

    /// A record of the journal, whose batch begins at `batch` at the earliest.
    fn read(&mut self, parsed: &Parsed, place: Place, batch: Spot) {
        match parsed {
            Parsed::Message(_, Some(unit), _)
            | Parsed::Keyed(Some(unit), _)
            | Parsed::Prepare { unit, .. } => {
                self.open(*unit, spot(place));
            }
            Parsed::Commit { unit: Some(unit), .. } | Parsed::BackOut(unit) => {
                self.decided.insert(*unit);
            }
            Parsed::Moved(copies) => {
                for copy in copies {
                    match &copy.parsed {
                        // Of a unit that was decided only what was committed is moved.
                        Parsed::Message(_, Some(unit), _) | Parsed::Keyed(Some(unit), _)
                            if !copy.undecided =>
                        {
                            self.committed.insert(*unit);
                        }
                        // It may have been decided in the batch that moved it, before this.
                        Parsed::Message(_, Some(unit), _)
                        | Parsed::Keyed(Some(unit), _)
                        | Parsed::Prepare { unit, .. } => self.open(*unit, batch),
                        _ => {}
                    }
                }
            }
            Parsed::Message(_, None, _) | Parsed::Keyed(None, _) | Parsed::Commit { unit: None, .. } => {}
        }
    }

    /// A record of a segment that was dropped: nothing in it lives.
    pub(crate) fn dropped(&mut self, parsed: &Parsed) {
        match parsed {
            Parsed::Commit { unit, kills, .. } => {
                self.committed.extend(unit);
                self.dead.extend(kills);
            }
            Parsed::BackOut(unit) => drop(self.backed_out.insert(*unit)),
            Parsed::Moved(_) => self.read(parsed, Place::default(), Spot::default()),
            Parsed::Message(..) | Parsed::Keyed(..) | Parsed::Prepare { .. } => {}
        }
    }

    /// Whether the end of the unit stands in the journal, or is known.
    pub(super) fn is_decided(&self, unit: UnitId) -> bool {
        self.decided.contains(&unit) || self.committed.contains(&unit)
    }

    /// Whether the end of the unit may have stood in what is missing before `at`.
    pub(super) fn may_end(&self, unit: UnitId, at: Spot) -> bool {
        !self.decided.contains(&unit) && self.open_at.get(&unit).is_none_or(|open| *open < at)
    }

    fn open(&mut self, unit: UnitId, at: Spot) {
        let open = self.open_at.entry(unit).or_default();
        *open = at.max(*open);
    }
}

/// The last record that is lost and may have ended something.
fn last_end(records: &Records) -> Option<Spot> {
    let ends = |lost: &&Lost| lost.head.is_none_or(|head| head.recovered(lost.place).is_none());
    records.lost.iter().filter(ends).map(|lost| spot(lost.place)).max()
}

/// Numbers behind `from` up to `to` of segments that are not there, from one to another.
fn missing_between(journal: &Journal, from: u32, to: u32) -> Vec<(u32, u32)> {
    let mut missing = Vec::new();
    let mut next = u64::from(from) + 1;
    let there = journal.segments.range(from..=to.max(from)).map(|(number, _)| u64::from(*number));
    for number in there.filter(|number| *number > u64::from(from)).chain([u64::from(to) + 1]) {
        if next < number {
            // Both are numbers of segments.
            missing.push((next as u32, (number - 1) as u32));
        }
        next = number + 1;
    }
    missing
}

/// Follows where batches begin: one has one group in each segment.
#[derive(Debug, Default)]
struct Batches {
    at: Spot,
    segment: u32,
    /// Something is missing before the next group.
    is_broken: bool,
}

impl Batches {
    fn enter(&mut self, header: &GroupHeader) -> Spot {
        if header.kind == GroupKind::Mark {
            return self.at;
        }
        if header.spot.offset > 0 {
            self.at = header.spot;
        } else if self.is_broken {
            self.at = Spot { segment: self.segment, offset: 0 };
        }
        (self.segment, self.is_broken) = (header.spot.segment, false);
        self.at
    }
}
