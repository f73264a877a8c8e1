//! What a store holds, by the meaning of its records (FORMAT.md 3), kept simple: all of it in maps.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use bytes::Bytes;

use super::foreseen::Foreseen;
use crate::bodies::BodyName;
use crate::format::record::{Parsed, ParsedCopy};
use crate::layout::Spot;
use crate::{Id, KeyedChange, Place, RecoveredMessage, UnitId};

/// A message that is real, or belongs to a unit that is not decided.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Message {
    pub(crate) entry: RecoveredMessage,
    /// Bytes of its record.
    pub(crate) length: u32,
    pub(crate) file: Option<BodyName>,
    pub(crate) unit: Option<UnitId>,
    /// What ended it, if anything did, lies behind this.
    pub(crate) lived: Spot,
}

/// What was written under a unit that is not decided.
#[derive(Debug, Default)]
pub(crate) struct Unit {
    pub(crate) messages: Vec<Id>,
    pub(crate) changes: Vec<(KeyedChange, Place)>,
    /// What its commit will kill, and the caller's note.
    pub(crate) prepared: Option<(Vec<Id>, Bytes, Place)>,
}

/// What a store holds.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    pub(crate) messages: BTreeMap<Id, Message>,
    pub(crate) keyed: BTreeMap<Vec<u8>, (Bytes, Place)>,
    pub(crate) units: BTreeMap<UnitId, Unit>,
    /// Messages of which it is known that they are dead.
    pub(crate) dead: HashSet<Id>,
    /// Units of which it is known that they are gone: what they wrote may be copied behind that.
    committed: HashSet<UnitId>,
    backed_out: HashSet<UnitId>,
    /// Whether copies that were moved are taken, because no list says what lives.
    take_moved: bool,
    /// Where the batch of the next records begins, at the earliest.
    pub(crate) batch: Spot,
    /// Of each key, where its value was made or removed last. Only with `take_moved`.
    made: HashMap<Vec<u8>, Spot>,
    /// Behind this nothing was missing so far.
    pub(crate) gap: Option<Spot>,
    /// Messages whose unit was taken for committed, because the record that decided it may be missing.
    pub(crate) assumed: BTreeSet<Id>,
    /// Units that are prepared, and may have been decided since.
    pub(crate) perhaps_decided: BTreeSet<UnitId>,
    /// Units that a start has ended.
    pub(crate) cut_off: u64,
}

impl Contents {
    pub(crate) fn new(take_moved: bool) -> Self {
        Self { take_moved, ..Self::default() }
    }

    /// The next record of the journal. `length` is that of the record.
    pub(crate) fn apply(&mut self, parsed: &Parsed, place: Place, length: u32) {
        match parsed {
            Parsed::Message(entry, unit, file) => self.message(*entry, length, *file, *unit, spot(place)),
            Parsed::Keyed(unit, change) => self.change(*unit, change, place),
            Parsed::Commit { unit, kills, changes } => {
                if let Some(unit) = unit {
                    self.commit(*unit, spot(place));
                }
                kills.iter().for_each(|id| self.kill(*id));
                for (change, place) in changes {
                    self.set(change, *place, spot(*place));
                }
            }
            Parsed::BackOut(unit) => self.back_out(*unit),
            Parsed::Prepare { unit, kills, note } => self.prepare(*unit, kills, note, place),
            Parsed::Moved(copies) if self.take_moved => self.moved(copies),
            Parsed::Moved(_) => {}
        }
    }

    /// A record that a checkpoint's list says lives. `known` are the units that are not decided.
    pub(crate) fn restore(
        &mut self,
        parsed: &Parsed,
        place: Place,
        length: u32,
        known: impl Fn(&UnitId) -> bool,
    ) {
        match parsed {
            Parsed::Message(entry, unit, file) => {
                self.message(*entry, length, *file, unit.filter(known), spot(place));
            }
            Parsed::Keyed(unit, change) => self.change(unit.filter(known), change, place),
            Parsed::Prepare { .. } => self.apply(parsed, place, length),
            Parsed::Commit { .. } | Parsed::BackOut(_) | Parsed::Moved(_) => {}
        }
    }

    /// What is known before the journal is read: messages that are dead, and units that were backed out.
    pub(crate) fn expect(&mut self, foreseen: &Foreseen) {
        self.dead.extend(&foreseen.dead);
        self.backed_out.extend(&foreseen.backed_out);
    }

    /// Something is missing before `at`, or (not `unknown`) it was known before what stood there. A unit that was not
    /// seen behind that, and of whose end nothing stands elsewhere, was decided there if it was at all: it is taken for
    /// committed, for what lives must not be left out.
    pub(crate) fn missing(&mut self, at: Spot, unknown: bool, foreseen: &Foreseen) {
        if unknown {
            self.gap = self.gap.max(Some(at));
        }
        let open: Vec<UnitId> =
            self.units.keys().filter(|unit| foreseen.may_end(**unit, at)).copied().collect();
        for unit in open {
            let Some(written) = self.units.get(&unit) else { continue };
            if foreseen.committed.contains(&unit) {
                self.commit(unit, at);
            } else if !unknown {
                // Nobody has decided it there.
            } else if written.prepared.is_some() {
                self.perhaps_decided.insert(unit);
            } else {
                self.assumed.extend(&written.messages);
                self.commit(unit, at);
            }
        }
    }

    /// A unit of which only copies are there may have been decided in what is missing before them.
    fn missing_so_far(&mut self, foreseen: &Foreseen) {
        if let Some(gap) = self.gap {
            self.missing(gap, true, foreseen);
        }
    }

    /// A start: what earlier ones have left open is gone.
    pub(crate) fn start(&mut self, start: u32, foreseen: &Foreseen) {
        self.missing_so_far(foreseen);
        let open = self.open_units().into_iter().filter(|unit| unit.0.start() < start);
        for unit in open.filter(|unit| !foreseen.is_decided(*unit)).collect::<Vec<_>>() {
            self.back_out(unit);
            self.cut_off += 1;
        }
    }

    /// The journal is read: units that are known to be committed are, whatever is missing.
    pub(crate) fn end(&mut self, at: Spot, foreseen: &Foreseen) {
        self.missing_so_far(foreseen);
        let open = self.units.keys().filter(|unit| foreseen.committed.contains(unit));
        for unit in open.copied().collect::<Vec<_>>() {
            self.commit(unit, at);
        }
    }

    fn prepare(&mut self, unit: UnitId, kills: &[Id], note: &Bytes, place: Place) {
        if !self.is_gone(unit) {
            self.units.entry(unit).or_default().prepared = Some((kills.to_vec(), note.clone(), place));
        }
    }

    fn is_gone(&self, unit: UnitId) -> bool {
        self.committed.contains(&unit) || self.backed_out.contains(&unit)
    }

    /// Copies that were moved, without a list: what they are of lived where their batch begins.
    fn moved(&mut self, copies: &[ParsedCopy]) {
        let mut changes: BTreeMap<UnitId, Vec<&ParsedCopy>> = BTreeMap::new();
        for copy in copies {
            let place = copy.to;
            match &copy.parsed {
                Parsed::Message(entry, unit, file) => {
                    let unit = unit.filter(|_| copy.undecided);
                    self.message(*entry, copy.bytes as u32, *file, unit, self.batch);
                }
                Parsed::Keyed(Some(unit), _) if copy.undecided => {
                    changes.entry(*unit).or_default().push(copy);
                }
                Parsed::Keyed(_, change) => self.moved_key(change, copy.from, place),
                Parsed::Prepare { unit, kills, note } => self.prepare(*unit, kills, note, place),
                Parsed::Commit { .. } | Parsed::BackOut(_) | Parsed::Moved(_) => {}
            }
        }
        for (unit, copies) in changes {
            self.moved_changes(unit, &copies);
        }
    }

    /// The changes of a unit that was not decided: all that it had made, in their order.
    fn moved_changes(&mut self, unit: UnitId, copies: &[&ParsedCopy]) {
        if self.is_gone(unit) {
            // Just before, in the same batch: they are dead, but if the originals are missing they say what was set.
            if self.committed.contains(&unit) {
                for copy in copies {
                    if let Parsed::Keyed(_, change) = &copy.parsed {
                        self.moved_key(change, copy.from, copy.to);
                    }
                }
            }
            return;
        }
        let from: HashSet<Place> = copies.iter().map(|copy| copy.from).collect();
        let last = copies.iter().map(|copy| spot(copy.from)).max().unwrap_or_default();
        let written = self.units.entry(unit).or_default();
        let newer = |(_, place): &(KeyedChange, Place)| !from.contains(place) && spot(*place) > last;
        let rest: Vec<_> = written.changes.drain(..).filter(newer).collect();
        let copies = copies.iter().filter_map(|copy| match &copy.parsed {
            Parsed::Keyed(_, change) => Some((change.clone(), copy.to)),
            _ => None,
        });
        written.changes = copies.chain(rest).collect();
    }

    /// The value of a key, which lived where the batch begins: what was made since then is newer.
    fn moved_key(&mut self, change: &KeyedChange, from: Place, to: Place) {
        let same = self.keyed.get(&change.key).is_some_and(|(_, place)| *place == from);
        let made = self.made.get(&change.key).copied();
        if same || made.is_none_or(|made| spot(from) > made || self.gap.is_some_and(|gap| gap > made)) {
            self.set(change, to, spot(to));
        }
    }

    /// A message, or a copy of one.
    fn message(
        &mut self,
        entry: RecoveredMessage,
        length: u32,
        file: Option<BodyName>,
        unit: Option<UnitId>,
        lived: Spot,
    ) {
        if self.dead.contains(&entry.id) {
            return;
        }
        if unit.is_some_and(|unit| self.backed_out.contains(&unit)) {
            return self.kill(entry.id);
        }
        let unit = unit.filter(|unit| !self.committed.contains(unit));
        let message = Message { entry, length, file, unit, lived };
        let before = self.messages.insert(entry.id, message).and_then(|before| before.unit);
        if before == unit {
            return;
        }
        if let Some(written) = before.and_then(|before| self.units.get_mut(&before)) {
            written.messages.retain(|id| *id != entry.id);
        }
        if let Some(unit) = unit {
            self.units.entry(unit).or_default().messages.push(entry.id);
        }
    }

    fn change(&mut self, unit: Option<UnitId>, change: &KeyedChange, place: Place) {
        match unit {
            Some(unit) if self.backed_out.contains(&unit) => {}
            Some(unit) if !self.committed.contains(&unit) => {
                self.units.entry(unit).or_default().changes.push((change.clone(), place));
            }
            Some(_) | None => self.set(change, place, spot(place)),
        }
    }

    fn set(&mut self, change: &KeyedChange, place: Place, made: Spot) {
        match &change.value {
            Some(value) => drop(self.keyed.insert(change.key.clone(), (value.clone(), place))),
            None => drop(self.keyed.remove(&change.key)),
        }
        if self.take_moved {
            self.made.insert(change.key.clone(), made);
        }
    }

    fn kill(&mut self, id: Id) {
        self.messages.remove(&id);
        self.dead.insert(id);
    }

    /// What the unit wrote becomes real, at this place.
    fn commit(&mut self, unit: UnitId, at: Spot) {
        if self.take_moved {
            self.committed.insert(unit);
        }
        let Some(written) = self.units.remove(&unit) else { return };
        for id in written.messages {
            if let Some(message) = self.messages.get_mut(&id) {
                message.unit = None;
            }
        }
        for (change, place) in &written.changes {
            self.set(change, *place, at);
        }
    }

    /// The unit is gone, with what it wrote.
    pub(crate) fn back_out(&mut self, unit: UnitId) {
        if self.take_moved {
            self.backed_out.insert(unit);
        }
        for id in self.units.remove(&unit).map(|written| written.messages).unwrap_or_default() {
            self.kill(id);
        }
    }

    /// The units that are not decided and not prepared.
    pub(crate) fn open_units(&self) -> Vec<UnitId> {
        self.units.iter().filter(|(_, unit)| unit.prepared.is_none()).map(|(id, _)| *id).collect()
    }

    /// Of each message, its place; of each key too, and of each prepared unit.
    pub(crate) fn places(&self) -> HashMap<u32, HashSet<u32>> {
        let mut places: HashMap<u32, HashSet<u32>> = HashMap::new();
        let messages = self.messages.values().map(|m| m.entry.place);
        let units = self.units.values().flat_map(|unit| {
            let prepared = unit.prepared.iter().map(|p| p.2);
            unit.changes.iter().map(|c| c.1).chain(prepared)
        });
        for place in messages.chain(self.keyed.values().map(|k| k.1)).chain(units) {
            places.entry(place.segment).or_default().insert(place.record);
        }
        places
    }
}

/// The spot of a record.
pub(crate) fn spot(place: Place) -> Spot {
    Spot { segment: place.segment, offset: place.offset }
}
