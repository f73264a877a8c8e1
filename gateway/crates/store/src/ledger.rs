//! What lives: a dead bit for each record of each segment, the record that holds each key, the units that are not
//! decided yet, and who uses which file of a body. The core's half of the journal, and what a checkpoint is taken from.

mod bodies;
mod keys;
mod segment;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bytes::Bytes;

use crate::batch::{MovedRecord, MovedWhat};
use crate::bodies::BodyFile;
use crate::format::checkpoint::SegmentEntry;
use crate::format::record::{Parsed, ParsedCopy};
use crate::planted::{Bug, is_planted};
use crate::{Id, KeyedChange, Kill, Place, UnitId};

use bodies::Bodies;
use keys::Keys;
pub(crate) use segment::Segment;

/// What lives in the journal.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    segments: BTreeMap<u32, Segment>,
    keys: Keys,
    units: HashMap<UnitId, Unit>,
    messages: u64,
    /// Random bits of the start that writes now.
    nonce: u64,
    /// Messages that were moved while somebody kept their old place: where they lie now.
    moved: HashMap<Id, Place>,
    bodies: Bodies,
}

/// What was written under a unit.
#[derive(Debug, Default)]
struct Unit {
    messages: BTreeSet<Place>,
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
    fn segment(&mut self, number: u32) -> &mut Segment {
        let nonce = self.nonce;
        self.segments.entry(number).or_insert_with(|| Segment::new(nonce))
    }

    /// The start that writes the segments from now on.
    pub(crate) fn begin_start(&mut self, nonce: u64) {
        self.nonce = nonce;
    }

    /// A record that is no message was written; it lives.
    fn add(&mut self, place: Place) {
        self.segment(place.segment).add(place.record);
    }

    /// A record that is no message dies. Whether it lived.
    fn kill(&mut self, place: Place) -> bool {
        self.segments.get_mut(&place.segment).is_some_and(|segment| segment.kill(place.record))
    }

    /// A record was written whose effect is in the ledger itself: nothing needs it after the next checkpoint.
    pub(crate) fn pass(&mut self, place: Place) {
        self.add(place);
        self.kill(place);
    }

    /// A message of `bytes` was written.
    pub(crate) fn message(
        &mut self,
        unit: Option<UnitId>,
        place: Place,
        bytes: u64,
        file: Option<&BodyFile>,
    ) {
        self.segment(place.segment).add_message(place.record, bytes);
        self.messages += 1;
        if let Some(file) = file {
            self.bodies.used(place, file);
        }
        if let Some(unit) = unit {
            self.units.entry(unit).or_default().messages.insert(place);
        }
    }

    /// A message dies, which lies there or did before it was moved.
    pub(crate) fn kill_message(&mut self, id: Id, place: Place) {
        let place = self.moved.remove(&id).unwrap_or(place);
        self.kill_message_at(place);
    }

    fn kill_message_at(&mut self, place: Place) {
        if self.segments.get_mut(&place.segment).is_some_and(|segment| segment.kill_message(place.record)) {
            self.messages -= 1;
            self.bodies.released(place);
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
        kills: impl IntoIterator<Item = Kill>,
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
        for kill in kills {
            self.kill_message(kill.id, kill.place);
        }
        for (change, place) in changes {
            self.add(place);
            if is_planted(Bug::CommitKeysUncounted) {
                self.kill(place);
            }
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
                self.kill_message_at(place);
            }
            for place in unit.keyed.iter().map(|k| k.1).chain(unit.prepared) {
                self.kill(place);
            }
        }
        for kill in written {
            self.kill_message(kill.id, kill.place);
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
        if is_planted(Bug::KeyOrderOfRecords) && self.keys.get(&key).is_some_and(|there| there > place) {
            self.kill(place);
            return;
        }
        let older = match value {
            Some(_) => self.keys.insert(&key, place),
            None => {
                self.kill(place);
                self.keys.remove(&key)
            }
        };
        if let Some(older) = older {
            self.kill(older);
        }
        real.push(RealChange { key, value: value.map(|v| (v, place)) });
    }

    /// A record of what was moved, and where its copies lie: each lives if just that record lived at its old place
    /// (STORE.md 4: what died in the meantime stays dead).
    pub(crate) fn moved(
        &mut self,
        place: Place,
        copies: &[MovedRecord],
        places: impl Iterator<Item = Place>,
    ) {
        self.pass(place);
        for (copy, to) in copies.iter().zip(places) {
            let from = copy.from;
            match &copy.what {
                MovedWhat::Message { id, unit, kept } => {
                    if self.move_message(*unit, from, to, copy.bytes.len() as u64) {
                        if *kept {
                            self.moved.insert(*id, to);
                        } else {
                            self.moved.remove(id);
                        }
                    }
                }
                MovedWhat::Keyed(key) => self.move_keyed(key, from, to),
                MovedWhat::OfUnit(unit) => self.move_of_unit(*unit, from, to),
            }
        }
    }

    /// The same for one copy as it was read. Gives the message that lies elsewhere now.
    pub(crate) fn replay_moved(&mut self, copy: &ParsedCopy) -> Option<(Id, Place)> {
        let (from, to) = (copy.from, copy.to);
        match &copy.parsed {
            Parsed::Message(entry, unit, _) => {
                return self.move_message(*unit, from, to, copy.bytes).then_some((entry.id, to));
            }
            Parsed::Keyed(Some(unit), _) if self.is_undecided(*unit) => self.move_of_unit(*unit, from, to),
            Parsed::Keyed(_, change) => self.move_keyed(&change.key, from, to),
            Parsed::Prepare { unit, .. } => self.move_of_unit(*unit, from, to),
            _ => {}
        }
        None
    }

    /// Whether it lived.
    fn move_message(&mut self, unit: Option<UnitId>, from: Place, to: Place, bytes: u64) -> bool {
        self.segment(to.segment).add_message(to.record, bytes);
        let lived = self.segments.get_mut(&from.segment).is_some_and(|s| s.kill_message(from.record))
            || is_planted(Bug::MoveWithoutRecheck);
        if !lived {
            self.segment(to.segment).kill_message(to.record);
            return false;
        }
        self.bodies.moved(from, to);
        if let Some(unit) = unit.and_then(|unit| self.units.get_mut(&unit))
            && unit.messages.remove(&from)
        {
            unit.messages.insert(to);
        }
        true
    }

    fn move_keyed(&mut self, key: &[u8], from: Place, to: Place) {
        self.add(to);
        if self.keys.get(key) == Some(from) {
            self.keys.insert(key, to);
            self.kill(from);
        } else {
            self.kill(to);
        }
    }

    fn move_of_unit(&mut self, unit: UnitId, from: Place, to: Place) {
        self.add(to);
        let held = self.units.get_mut(&unit).and_then(|unit| {
            let prepared = unit.prepared.as_mut().filter(|place| **place == from);
            prepared.or_else(|| unit.keyed.iter_mut().map(|k| &mut k.1).find(|place| **place == from))
        });
        let dead = match held {
            Some(place) => std::mem::replace(place, to),
            None => to,
        };
        self.kill(dead);
    }

    /// Whether the record at this place lives.
    pub(crate) fn is_live(&self, place: Place) -> bool {
        self.segments.get(&place.segment).is_some_and(|segment| segment.is_live(place.record))
    }

    /// Where a message lies that somebody looks for there.
    pub(crate) fn resolve(&self, id: Id, place: Place) -> Place {
        if self.moved.is_empty() { place } else { self.moved.get(&id).copied().unwrap_or(place) }
    }

    /// The changes of an undecided unit, in their order, and where they lie.
    pub(crate) fn keyed_of(&self, unit: UnitId) -> &[(KeyedChange, Place)] {
        self.units.get(&unit).map(|u| u.keyed.as_slice()).unwrap_or_default()
    }

    /// Whether the unit is not decided.
    pub(crate) fn is_undecided(&self, unit: UnitId) -> bool {
        self.units.contains_key(&unit)
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
        self.keyed_of(unit).iter().map(|k| k.0.clone()).collect()
    }

    /// Live messages, those of undecided units included.
    pub(crate) fn messages(&self) -> u64 {
        self.messages
    }

    /// Keys that have a value.
    pub(crate) fn keys(&self) -> usize {
        self.keys.len()
    }

    /// The number of records of a segment.
    #[cfg(test)]
    pub(crate) fn live(&self, segment: u32) -> u32 {
        self.segments.get(&segment).map_or(0, Segment::live)
    }

    /// The groups of the segment end here.
    pub(crate) fn set_end(&mut self, segment: u32, end: u32) {
        self.segment(segment).end = end;
    }

    /// The segment was written by a start with these random bits; it has this many records, all dead but those that will be added again from a checkpoint's list.
    pub(crate) fn restore(&mut self, entry: &SegmentEntry, nonce: u64) {
        let segment = self.segment(entry.number);
        segment.nonce = nonce;
        segment.end = entry.end;
        segment.restore(entry.records);
    }

    /// A dead message of a checkpoint's list: only its bytes count, for the share of those that live.
    pub(crate) fn restore_dead_message(&mut self, segment: u32, bytes: u64) {
        self.segment(segment).count_message(bytes);
    }

    /// A message of a checkpoint's list.
    pub(crate) fn restore_message(
        &mut self,
        unit: Option<UnitId>,
        place: Place,
        bytes: u64,
        file: Option<&BodyFile>,
    ) {
        self.segment(place.segment).revive(place.record);
        self.message(unit, place, bytes, file);
    }

    /// A keyed record of a checkpoint's list.
    pub(crate) fn restore_keyed(&mut self, unit: Option<UnitId>, change: KeyedChange, place: Place) {
        self.segment(place.segment).revive(place.record);
        self.keyed(unit, change, place, &mut Vec::new());
    }

    /// A prepared unit of a checkpoint's list.
    pub(crate) fn restore_prepare(&mut self, unit: UnitId, place: Place) {
        self.segment(place.segment).revive(place.record);
        self.prepare(unit, place);
    }

    /// The segments in which something lives, and all from `current` on, as a checkpoint lists them.
    pub(crate) fn entries(&self, current: u32) -> Vec<SegmentEntry> {
        let needed =
            self.segments.iter().filter(|(number, segment)| segment.live() > 0 || **number >= current);
        needed.map(|(number, segment)| segment.entry(*number)).collect()
    }

    /// A segment as a checkpoint would list it now.
    pub(crate) fn entry(&self, number: u32) -> Option<SegmentEntry> {
        self.segments.get(&number).map(|segment| segment.entry(number))
    }

    /// The segments before `current` in which nothing lives.
    pub(crate) fn wholly_dead(&self, current: u32) -> Vec<u32> {
        let dead = self.segments.range(..current).filter(|(_, segment)| segment.live() == 0);
        dead.map(|(number, _)| *number).collect()
    }

    /// Whether something lives in a segment that is known.
    pub(crate) fn segment_lives(&self, number: u32) -> bool {
        self.segments.get(&number).is_some_and(|segment| segment.live() > 0)
    }

    /// Each segment.
    pub(crate) fn segments(&self) -> impl Iterator<Item = (u32, &Segment)> {
        self.segments.iter().map(|(number, segment)| (*number, segment))
    }

    /// Segments that are gone.
    pub(crate) fn forget(&mut self, segments: &[u32]) {
        for segment in segments {
            self.segments.remove(segment);
        }
    }

    /// How many bytes of the journal live; see [`Segment::live_bytes`].
    pub(crate) fn live_bytes(&self) -> u64 {
        self.segments.values().map(Segment::live_bytes).sum()
    }

    /// A batch will be entered.
    pub(crate) fn next_batch(&mut self) {
        self.bodies.next_batch();
    }

    /// Files of bodies whose last user has died since this was last asked.
    pub(crate) fn take_dead_bodies(&mut self) -> Vec<BodyFile> {
        self.bodies.take_dead()
    }

    /// The file that holds the end of the body at this place.
    pub(crate) fn body_at(&self, place: Place) -> Option<BodyFile> {
        self.bodies.at(place)
    }

    /// The file of a body that is in use.
    pub(crate) fn body_file(&self, number: u64) -> Option<BodyFile> {
        self.bodies.get(number)
    }

    /// The files of bodies in use, and their bytes.
    pub(crate) fn bodies(&self) -> (u64, u64) {
        self.bodies.figures()
    }

    /// The files of bodies in use.
    pub(crate) fn body_files(&self) -> Vec<BodyFile> {
        self.bodies.all()
    }

    /// Bytes of memory that the ledger takes, roughly.
    pub(crate) fn memory(&self) -> u64 {
        let segments: usize = self.segments.values().map(Segment::memory).sum();
        (segments + self.keys.memory() + self.moved.capacity() * (size_of::<(Id, Place)>() + 1)) as u64
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
        ledger.message(Some(unit), at(1, 0), 100, None);
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
            ledger.message(None, at(1, record), 100, None);
        }
        ledger.message(None, at(2, 0), 100, None);
        ledger.kill_message(Id::new(1, 20), at(2, 0));
        ledger.set_end(3, 0);
        ledger.kill_message(Id::new(1, 9), at(1, 9));
        let entries = ledger.entries(3);
        assert_eq!(entries.iter().map(|e| e.number).collect::<Vec<_>>(), [1, 3]);
        assert!(entries[0].is_dead(9) && !entries[0].is_dead(8));
        let mut again = Ledger::default();
        again.restore(&entries[0], 0);
        for record in 0..9 {
            again.restore_message(None, at(1, record), 100, None);
        }
        assert_eq!(again.entries(1)[0], entries[0]);
    }
}
