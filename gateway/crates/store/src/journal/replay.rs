//! What the journal says: applies records, from a checkpoint's lists and from the groups behind it, in their order.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;

use crate::format::record::Parsed;
use crate::ledger::{Ledger, RealChange};
use crate::{Id, KeyedChange, Kill, Place, PreparedUnit, Recovered, RecoveredMessage, UnitId};

/// The state that grows while records are applied.
#[derive(Debug, Default)]
pub(crate) struct Replay {
    pub(crate) ledger: Ledger,
    messages: BTreeMap<Id, (RecoveredMessage, bool)>,
    written: HashMap<UnitId, Vec<Id>>,
    prepared: HashMap<UnitId, (Vec<Id>, Bytes)>,
    keyed: BTreeMap<Vec<u8>, (Bytes, Place)>,
}

impl Replay {
    /// A live message of a checkpoint's list.
    pub(crate) fn restore_message(&mut self, entry: RecoveredMessage, unit: Option<UnitId>) {
        self.ledger.restore_message(unit, entry.place);
        self.enter(entry, unit);
    }

    /// A live keyed record of a checkpoint's list.
    pub(crate) fn restore_keyed(&mut self, unit: Option<UnitId>, change: KeyedChange, place: Place) {
        if unit.is_none() {
            let value = change.value.clone().map(|v| (v, place));
            self.enter_key(RealChange { key: change.key.clone(), value });
        }
        self.ledger.restore_keyed(unit, change, place);
    }

    /// A live prepare record of a checkpoint's list.
    pub(crate) fn restore_prepare(&mut self, unit: UnitId, kills: Vec<Id>, note: Bytes, place: Place) {
        self.prepared.insert(unit, (kills, note));
        self.ledger.restore_prepare(unit, place);
    }

    /// The next record of the journal.
    pub(crate) fn apply(&mut self, parsed: Parsed, place: Place) {
        let mut real = Vec::new();
        match parsed {
            Parsed::Message(entry, unit, _) => {
                self.ledger.message(unit, place);
                self.enter(entry, unit);
            }
            Parsed::Keyed(unit, change) => self.ledger.keyed(unit, change, place, &mut real),
            Parsed::Commit { unit, kills, changes } => {
                for id in unit.and_then(|u| self.written.remove(&u)).unwrap_or_default() {
                    if let Some((_, is_real)) = self.messages.get_mut(&id) {
                        *is_real = true;
                    }
                }
                if let Some(unit) = unit {
                    self.prepared.remove(&unit);
                }
                let places: Vec<Place> = kills.iter().filter_map(|id| self.leave(*id)).collect();
                self.ledger.commit(unit, place, places, changes, &mut real);
            }
            Parsed::BackOut(unit) => self.back_out(unit, Some(place)),
            Parsed::Prepare { unit, kills, note } => {
                self.prepared.insert(unit, (kills, note));
                self.ledger.prepare(unit, place);
            }
            Parsed::Moved(_) => {}
        }
        for change in real {
            self.enter_key(change);
        }
    }

    fn enter(&mut self, entry: RecoveredMessage, unit: Option<UnitId>) {
        if let Some(unit) = unit {
            self.written.entry(unit).or_default().push(entry.id);
        }
        self.messages.insert(entry.id, (entry, unit.is_none()));
    }

    fn leave(&mut self, id: Id) -> Option<Place> {
        self.messages.remove(&id).map(|(entry, _)| entry.place)
    }

    fn enter_key(&mut self, change: RealChange) {
        match change.value {
            Some(value) => self.keyed.insert(change.key, value),
            None => self.keyed.remove(&change.key),
        };
    }

    fn back_out(&mut self, unit: UnitId, place: Option<Place>) {
        for id in self.written.remove(&unit).unwrap_or_default() {
            self.leave(id);
        }
        self.prepared.remove(&unit);
        self.ledger.back_out(unit, place, &[]);
    }

    /// Units that the crash cut off get dead bits; what is left is what the store holds.
    pub(crate) fn finish(mut self) -> (Ledger, Recovered, Vec<(Vec<u8>, Place)>) {
        let (open, _) = self.ledger.units();
        for unit in open {
            self.back_out(unit, None);
        }
        let mut recovered = Recovered::default();
        let mut prepared: Vec<_> = std::mem::take(&mut self.prepared).into_iter().collect();
        prepared.sort_unstable_by_key(|(unit, _)| *unit);
        for (unit, (kills, note)) in prepared {
            let kill = |id| self.messages.get(&id).map(|(entry, _)| Kill { id, place: entry.place });
            let written = self.written.get(&unit).into_iter().flatten();
            recovered.prepared.push(PreparedUnit {
                unit,
                messages: written.filter_map(|id| self.messages.get(id)).map(|m| m.0).collect(),
                changes: self.ledger.changes_of(unit),
                kills: kills.into_iter().filter_map(kill).collect(),
                note,
            });
        }
        recovered.messages = self.messages.into_values().filter(|m| m.1).map(|m| m.0).collect();
        let mut places = Vec::with_capacity(self.keyed.len());
        for (key, (value, place)) in self.keyed {
            places.push((key.clone(), place));
            recovered.keyed.push((key, value));
        }
        (self.ledger, recovered, places)
    }
}
