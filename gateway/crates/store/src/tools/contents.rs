//! What a store holds, by the meaning of its records (FORMAT.md 3), kept simple: all of it in maps.

use std::collections::{BTreeMap, HashMap, HashSet};

use bytes::Bytes;

use crate::bodies::BodyName;
use crate::format::record::{Parsed, ParsedCopy};
use crate::{Id, KeyedChange, Place, RecoveredMessage, UnitId};

/// A message that is real, or belongs to a unit that is not decided.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Message {
    pub(crate) entry: RecoveredMessage,
    /// Bytes of its record.
    pub(crate) length: u32,
    pub(crate) file: Option<BodyName>,
    pub(crate) unit: Option<UnitId>,
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
    /// Units of which it is known that they were committed, before what they wrote was read.
    pub(crate) committed: HashSet<UnitId>,
    /// Whether copies that were moved are taken, because no list says what lives.
    pub(crate) take_moved: bool,
}

impl Contents {
    /// The next record of the journal. `length` is that of the record.
    pub(crate) fn apply(&mut self, parsed: &Parsed, place: Place, length: u32) {
        match parsed {
            Parsed::Message(entry, unit, file) => self.message(*entry, length, *file, *unit),
            Parsed::Keyed(unit, change) => self.change(*unit, change, place),
            Parsed::Commit { unit, kills, changes } => {
                if let Some(unit) = unit {
                    self.commit(*unit);
                }
                kills.iter().for_each(|id| self.kill(*id));
                for (change, place) in changes {
                    self.set(change, *place);
                }
            }
            Parsed::BackOut(unit) => self.back_out(*unit),
            Parsed::Prepare { unit, kills, note } => {
                self.units.entry(*unit).or_default().prepared = Some((kills.clone(), note.clone(), place));
            }
            Parsed::Moved(copies) if self.take_moved => {
                for copy in copies {
                    self.moved(copy);
                }
            }
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
            Parsed::Message(entry, unit, file) => self.message(*entry, length, *file, unit.filter(known)),
            Parsed::Keyed(unit, change) => self.change(unit.filter(known), change, place),
            Parsed::Prepare { .. } => self.apply(parsed, place, length),
            Parsed::Commit { .. } | Parsed::BackOut(_) | Parsed::Moved(_) => {}
        }
    }

    /// Only what says that something has ended or become real: of a segment whose records are known to be dead.
    pub(crate) fn apply_ends(&mut self, parsed: &Parsed) {
        match parsed {
            Parsed::Commit { unit, kills, .. } => {
                self.committed.extend(unit);
                self.dead.extend(kills);
            }
            // Its records there are dead; there are no others.
            Parsed::BackOut(_)
            | Parsed::Message(..)
            | Parsed::Keyed(..)
            | Parsed::Prepare { .. }
            | Parsed::Moved(_) => {}
        }
    }

    /// A copy that was moved, without a list: it lived when it was moved.
    fn moved(&mut self, copy: &ParsedCopy) {
        let ParsedCopy { to: place, parsed, undecided, .. } = copy;
        let (place, length) = (*place, copy.bytes as u32);
        match parsed {
            Parsed::Message(entry, unit, file) => match self.messages.get_mut(&entry.id) {
                Some(known) => {
                    known.entry.place = entry.place;
                    // The record that made it real may be gone with its segment.
                    if !undecided
                        && let Some(unit) = known.unit.take().and_then(|unit| self.units.get_mut(&unit))
                    {
                        unit.messages.retain(|id| *id != entry.id);
                    }
                }
                None => self.message(*entry, length, *file, unit.filter(|_| *undecided)),
            },
            // One that was set again since would not have been moved, so it is the newest so far.
            Parsed::Keyed(None, change) => self.set(change, place),
            // Of a unit: its changes are there already, or they are moved all together.
            Parsed::Keyed(Some(unit), change) => {
                if !undecided || self.committed.contains(unit) {
                    self.set(change, place);
                    return;
                }
                let changes = &mut self.units.entry(*unit).or_default().changes;
                if !changes.iter().any(|(known, _)| known == change) {
                    changes.push((change.clone(), place));
                }
            }
            Parsed::Prepare { .. } => self.apply(parsed, place, length),
            Parsed::Commit { .. } | Parsed::BackOut(_) | Parsed::Moved(_) => {}
        }
    }

    fn message(
        &mut self,
        entry: RecoveredMessage,
        length: u32,
        file: Option<BodyName>,
        unit: Option<UnitId>,
    ) {
        if self.dead.contains(&entry.id) {
            return;
        }
        let unit = unit.filter(|unit| !self.committed.contains(unit));
        if let Some(unit) = unit {
            let known = self.messages.get(&entry.id).is_some_and(|known| known.unit == Some(unit));
            if !known {
                self.units.entry(unit).or_default().messages.push(entry.id);
            }
        }
        self.messages.insert(entry.id, Message { entry, length, file, unit });
    }

    fn change(&mut self, unit: Option<UnitId>, change: &KeyedChange, place: Place) {
        match unit.filter(|unit| !self.committed.contains(unit)) {
            Some(unit) => self.units.entry(unit).or_default().changes.push((change.clone(), place)),
            None => self.set(change, place),
        }
    }

    fn set(&mut self, change: &KeyedChange, place: Place) {
        match &change.value {
            Some(value) => drop(self.keyed.insert(change.key.clone(), (value.clone(), place))),
            None => drop(self.keyed.remove(&change.key)),
        }
    }

    fn kill(&mut self, id: Id) {
        self.messages.remove(&id);
        self.dead.insert(id);
    }

    /// What the unit wrote becomes real.
    pub(crate) fn commit(&mut self, unit: UnitId) {
        if self.take_moved {
            // What it wrote may be copied behind this.
            self.committed.insert(unit);
        }
        let Some(written) = self.units.remove(&unit) else { return };
        for id in written.messages {
            if let Some(message) = self.messages.get_mut(&id) {
                message.unit = None;
            }
        }
        for (change, place) in &written.changes {
            self.set(change, *place);
        }
    }

    /// The unit is gone, with what it wrote.
    pub(crate) fn back_out(&mut self, unit: UnitId) {
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
