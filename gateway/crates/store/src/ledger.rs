//! What lives: a dead bit for each record of each segment, the record that holds each key, and the units that are
//! not decided yet. The core's half of the journal, and what a checkpoint is taken from.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;

use crate::format::checkpoint::SegmentEntry;
use crate::{KeyedChange, Kill, Place, UnitId};

/// What lives in the journal.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    segments: BTreeMap<u32, Segment>,
    keys: HashMap<Box<[u8]>, Place>,
    units: HashMap<UnitId, Unit>,
    messages: u64,
}

#[derive(Debug, Default)]
struct Segment {
    end: u32,
    records: u32,
    dead: Vec<u8>,
    live: u32,
}

/// What was written under a unit.
#[derive(Debug, Default)]
struct Unit {
    messages: Vec<Place>,
    keyed: Vec<(KeyedChange, Place)>,
    prepared: Option<Place>,
}

/// A change of a key that became real: its value, or none, and where it lies.
#[derive(Debug, Clone)]
pub(crate) struct RealChange {
    pub(crate) key: Vec<u8>,
    pub(crate) value: Option<(Bytes, Place)>,
}

impl Ledger {
    /// A record was written; it lives.
    fn add(&mut self, place: Place) {
        let segment = self.segments.entry(place.segment).or_default();
        segment.grow(place.record + 1);
        segment.live += 1;
    }

    /// A record dies. Whether it lived.
    fn kill(&mut self, place: Place) -> bool {
        self.segments.get_mut(&place.segment).is_some_and(|segment| segment.kill(place.record))
    }

    /// A record was written whose effect is in the ledger itself: nothing needs it after the next checkpoint.
    fn pass(&mut self, place: Place) {
        self.add(place);
        self.kill(place);
    }

    pub(crate) fn message(&mut self, unit: Option<UnitId>, place: Place) {
        self.add(place);
        self.messages += 1;
        if let Some(unit) = unit {
            self.units.entry(unit).or_default().messages.push(place);
        }
    }

    pub(crate) fn kill_message(&mut self, place: Place) {
        if self.kill(place) {
            self.messages -= 1;
        }
    }

    /// A keyed record. What became real goes to `real`.
    pub(crate) fn keyed(
        &mut self,
        unit: Option<UnitId>,
        change: KeyedChange,
        place: Place,
        real: &mut Vec<RealChange>,
    ) {
        self.add(place);
        match unit {
            Some(unit) => self.units.entry(unit).or_default().keyed.push((change, place)),
            None => self.set(change, place, real),
        }
    }

    /// A commit record: what its unit wrote becomes real, then its own changes.
    pub(crate) fn commit(
        &mut self,
        unit: Option<UnitId>,
        place: Place,
        kills: impl IntoIterator<Item = Place>,
        changes: impl IntoIterator<Item = (KeyedChange, Place)>,
        real: &mut Vec<RealChange>,
    ) {
        self.pass(place);
        if let Some(unit) = unit.and_then(|u| self.units.remove(&u)) {
            for (change, place) in unit.keyed {
                self.set(change, place, real);
            }
            if let Some(place) = unit.prepared {
                self.kill(place);
            }
        }
        for place in kills {
            self.kill_message(place);
        }
        for (change, place) in changes {
            self.add(place);
            self.set(change, place, real);
        }
    }

    /// The end of a unit: what it wrote dies. `place` is that of the record that says so, if there is one.
    pub(crate) fn back_out(&mut self, unit: UnitId, place: Option<Place>, written: &[Kill]) {
        if let Some(place) = place {
            self.pass(place);
        }
        if let Some(unit) = self.units.remove(&unit) {
            for place in unit.messages {
                self.kill_message(place);
            }
            for place in unit.keyed.iter().map(|k| k.1).chain(unit.prepared) {
                self.kill(place);
            }
        }
        for kill in written {
            self.kill_message(kill.place);
        }
    }

    pub(crate) fn prepare(&mut self, unit: UnitId, place: Place) {
        self.add(place);
        // Prepared again: the newer record says what it holds.
        if let Some(older) = self.units.entry(unit).or_default().prepared.replace(place) {
            self.kill(older);
        }
    }

    /// The record of a key's value is now this one; the older one dies. A removal needs no record once the older
    /// value's bit says that it is dead.
    fn set(&mut self, change: KeyedChange, place: Place, real: &mut Vec<RealChange>) {
        let KeyedChange { key, value } = change;
        let older = match value {
            Some(_) => self.keys.insert(key.clone().into_boxed_slice(), place),
            None => {
                self.kill(place);
                self.keys.remove(key.as_slice())
            }
        };
        if let Some(older) = older {
            self.kill(older);
        }
        real.push(RealChange { key, value: value.map(|v| (v, place)) });
    }

    /// The units that are not decided, open ones and prepared ones.
    pub(crate) fn units(&self) -> (Vec<UnitId>, Vec<UnitId>) {
        let (mut open, mut prepared) = (Vec::new(), Vec::new());
        for (id, unit) in &self.units {
            if unit.prepared.is_some() { &mut prepared } else { &mut open }.push(*id);
        }
        open.sort_unstable();
        prepared.sort_unstable();
        (open, prepared)
    }

    /// The keyed changes that were written under a unit, in their order.
    pub(crate) fn changes_of(&self, unit: UnitId) -> Vec<KeyedChange> {
        let keyed = self.units.get(&unit).map(|u| u.keyed.as_slice()).unwrap_or_default();
        keyed.iter().map(|k| k.0.clone()).collect()
    }

    /// Live messages, those of undecided units included.
    pub(crate) fn messages(&self) -> u64 {
        self.messages
    }

    /// The number of records of a segment.
    #[cfg(test)]
    pub(crate) fn live(&self, segment: u32) -> u32 {
        self.segments.get(&segment).map_or(0, |s| s.live)
    }

    /// The groups of the segment end here.
    pub(crate) fn set_end(&mut self, segment: u32, end: u32) {
        self.segments.entry(segment).or_default().end = end;
    }

    /// The segment has this many records, all dead but those that will be added again from a checkpoint's list.
    pub(crate) fn restore(&mut self, entry: &SegmentEntry) {
        let segment = self.segments.entry(entry.number).or_default();
        segment.end = entry.end;
        segment.grow(entry.records);
        for record in 0..entry.records {
            segment.dead[record as usize / 8] |= 1 << (record % 8);
        }
    }

    /// A record of a restored segment lives; what it is must be said with one of the other calls first.
    fn revive(&mut self, place: Place) {
        if let Some(segment) = self.segments.get_mut(&place.segment) {
            segment.dead[place.record as usize / 8] &= !(1 << (place.record % 8));
        }
    }

    /// A message of a checkpoint's list.
    pub(crate) fn restore_message(&mut self, unit: Option<UnitId>, place: Place) {
        self.revive(place);
        self.message(unit, place);
    }

    /// A keyed record of a checkpoint's list.
    pub(crate) fn restore_keyed(&mut self, unit: Option<UnitId>, change: KeyedChange, place: Place) {
        self.revive(place);
        self.keyed(unit, change, place, &mut Vec::new());
    }

    /// A prepared unit of a checkpoint's list.
    pub(crate) fn restore_prepare(&mut self, unit: UnitId, place: Place) {
        self.revive(place);
        self.prepare(unit, place);
    }

    /// The segments in which something lives, and all from `current` on, as a checkpoint lists them.
    pub(crate) fn entries(&self, current: u32) -> Vec<SegmentEntry> {
        let needed = self.segments.iter().filter(|(number, segment)| segment.live > 0 || **number >= current);
        needed
            .map(|(number, segment)| SegmentEntry {
                number: *number,
                end: segment.end,
                records: segment.records,
                dead: segment.dead[..(segment.records as usize).div_ceil(8)].to_vec(),
            })
            .collect()
    }

    /// The segments before `current` in which nothing lives.
    pub(crate) fn wholly_dead(&self, current: u32) -> Vec<u32> {
        let dead = self.segments.range(..current).filter(|(_, segment)| segment.live == 0);
        dead.map(|(number, _)| *number).collect()
    }

    /// The segments known.
    pub(crate) fn segments(&self) -> impl Iterator<Item = u32> {
        self.segments.keys().copied()
    }

    /// Segments that are gone.
    pub(crate) fn forget(&mut self, segments: &[u32]) {
        for segment in segments {
            self.segments.remove(segment);
        }
    }

    /// How many bytes of the journal live, taking the records of a segment to be of like size.
    pub(crate) fn live_bytes(&self) -> u64 {
        let parts = self.segments.values().filter(|s| s.records > 0);
        parts.map(|s| u64::from(s.end) * u64::from(s.live) / u64::from(s.records)).sum()
    }
}

impl Segment {
    fn grow(&mut self, records: u32) {
        if records > self.records {
            self.records = records;
            let bytes = (records as usize).div_ceil(8);
            if bytes > self.dead.len() {
                self.dead.resize(bytes, 0);
            }
        }
    }

    fn kill(&mut self, record: u32) -> bool {
        let bit = 1 << (record % 8);
        match self.dead.get_mut(record as usize / 8) {
            Some(byte) if record < self.records && *byte & bit == 0 => {
                *byte |= bit;
                self.live -= 1;
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Id;

    fn at(segment: u32, record: u32) -> Place {
        Place { segment, offset: 80 + record * 100, record }
    }

    fn set(key: &str, value: &str) -> KeyedChange {
        KeyedChange { key: key.into(), value: Some(Bytes::copy_from_slice(value.as_bytes())) }
    }

    #[test]
    fn the_value_committed_last_lives_not_the_record_written_last() {
        let (mut ledger, mut real) = (Ledger::default(), Vec::new());
        let unit = UnitId(Id::new(1, 1));
        ledger.keyed(Some(unit), set("k", "of the unit"), at(1, 0), &mut real);
        ledger.keyed(None, set("k", "written later"), at(2, 0), &mut real);
        ledger.commit(Some(unit), at(2, 1), [], [], &mut real);
        assert_eq!((ledger.live(1), ledger.live(2)), (1, 0));
        assert_eq!(real.len(), 2);
    }

    #[test]
    fn a_removal_leaves_nothing_alive() {
        let (mut ledger, mut real) = (Ledger::default(), Vec::new());
        ledger.keyed(None, set("k", "v"), at(1, 0), &mut real);
        ledger.keyed(None, KeyedChange { key: "k".into(), value: None }, at(1, 1), &mut real);
        assert_eq!(ledger.live(1), 0);
        assert_eq!(ledger.wholly_dead(2), [1]);
    }

    #[test]
    fn a_backed_out_unit_leaves_nothing_alive() {
        let (mut ledger, mut real) = (Ledger::default(), Vec::new());
        let unit = UnitId(Id::new(1, 1));
        ledger.message(Some(unit), at(1, 0));
        ledger.keyed(Some(unit), set("k", "v"), at(1, 1), &mut real);
        ledger.prepare(unit, at(1, 2));
        assert_eq!(ledger.units(), (vec![], vec![unit]));
        ledger.back_out(unit, Some(at(1, 3)), &[Kill { id: Id::new(1, 1), place: at(1, 0) }]);
        assert_eq!((ledger.live(1), ledger.messages()), (0, 0));
        assert!(real.is_empty());
    }

    #[test]
    fn a_checkpoint_lists_what_lives_and_the_current_segment() {
        let mut ledger = Ledger::default();
        for record in 0..10 {
            ledger.message(None, at(1, record));
        }
        ledger.message(None, at(2, 0));
        ledger.kill_message(at(2, 0));
        ledger.set_end(3, 0);
        ledger.kill_message(at(1, 9));
        let entries = ledger.entries(3);
        assert_eq!(entries.iter().map(|e| e.number).collect::<Vec<_>>(), [1, 3]);
        assert!(entries[0].is_dead(9) && !entries[0].is_dead(8));
        let mut again = Ledger::default();
        again.restore(&entries[0]);
        for record in 0..9 {
            again.restore_message(None, at(1, record));
        }
        assert_eq!(again.entries(1)[0], entries[0]);
    }
}
