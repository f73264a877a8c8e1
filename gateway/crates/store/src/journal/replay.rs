//! What the journal says: applies records, from a checkpoint's lists and from the groups behind it, in their order.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;

use crate::bodies::{BodyFile, BodyFiles, BodyName};
use crate::format::checkpoint::SegmentEntry;
use crate::format::record::Parsed;
use crate::ledger::{Ledger, RealChange};
use crate::planted::{Bug, is_planted};
use crate::{Id, KeyedChange, Kill, Place, PreparedUnit, Recovered, RecoveredMessage, UnitId};

/// The state that grows while records are applied.
#[derive(Debug)]
pub(crate) struct Replay {
    pub(crate) ledger: Ledger,
    messages: Messages,
    written: HashMap<UnitId, Vec<Id>>,
    prepared: HashMap<UnitId, (Vec<Id>, Bytes)>,
    keyed: BTreeMap<Vec<u8>, (Bytes, Place)>,
    files: BodyFiles,
}

/// Messages by id, in two large pieces of memory that go back to the system as a whole: a node for each would leave a
/// heap full of holes under everything that the process allocates afterwards.
#[derive(Debug, Default)]
struct Messages {
    entries: Vec<Entry>,
    by_id: HashMap<Id, u32>,
}

#[derive(Debug)]
struct Entry {
    message: RecoveredMessage,
    is_real: bool,
    is_alive: bool,
}

impl Messages {
    fn insert(&mut self, message: RecoveredMessage, is_real: bool) {
        let index = self.entries.len() as u32;
        self.entries.push(Entry { message, is_real, is_alive: true });
        if let Some(older) = self.by_id.insert(message.id, index)
            && let Some(entry) = self.entries.get_mut(older as usize)
        {
            entry.is_alive = false;
        }
    }

    fn get_mut(&mut self, id: Id) -> Option<&mut Entry> {
        self.entries.get_mut(*self.by_id.get(&id)? as usize)
    }

    fn get(&self, id: Id) -> Option<&RecoveredMessage> {
        self.entries.get(*self.by_id.get(&id)? as usize).map(|entry| &entry.message)
    }

    fn remove(&mut self, id: Id) -> Option<RecoveredMessage> {
        let index = self.by_id.remove(&id)?;
        let entry = self.entries.get_mut(index as usize)?;
        entry.is_alive = false;
        Some(entry.message)
    }

    /// The real ones in the order of their ids.
    fn into_real(self) -> Vec<RecoveredMessage> {
        let real = self.entries.into_iter().filter(|entry| entry.is_alive && entry.is_real);
        let mut real: Vec<RecoveredMessage> = real.map(|entry| entry.message).collect();
        if !real.is_sorted_by_key(|message| message.id) {
            real.sort_unstable_by_key(|message| message.id);
        }
        real
    }
}

impl Replay {
    pub(crate) fn new(files: BodyFiles) -> Self {
        Self {
            ledger: Ledger::default(),
            messages: Messages::default(),
            written: HashMap::new(),
            prepared: HashMap::new(),
            keyed: BTreeMap::new(),
            files,
        }
    }

    /// A segment of a checkpoint's list.
    pub(crate) fn restore(&mut self, entry: &SegmentEntry, nonce: u64) {
        self.ledger.restore(entry, nonce);
    }

    /// A live message of a checkpoint's list.
    pub(crate) fn restore_message(
        &mut self,
        entry: RecoveredMessage,
        unit: Option<UnitId>,
        bytes: u64,
        name: Option<BodyName>,
    ) {
        let file = self.file(name);
        self.ledger.restore_message(unit, entry.place, bytes, file.as_ref());
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

    /// The next record of the journal, of this length.
    pub(crate) fn apply(&mut self, parsed: Parsed, place: Place, bytes: u64) {
        let mut real = Vec::new();
        match parsed {
            Parsed::Message(entry, unit, name) => {
                let file = self.file(name);
                self.ledger.message(unit, place, bytes, file.as_ref());
                self.enter(entry, unit);
            }
            Parsed::Keyed(unit, change) => self.ledger.keyed(unit, change, place, &mut real),
            Parsed::Commit { unit, kills, changes } => {
                for id in unit.and_then(|u| self.written.remove(&u)).unwrap_or_default() {
                    if let Some(entry) = self.messages.get_mut(id) {
                        entry.is_real = true;
                    }
                }
                if let Some(unit) = unit {
                    self.prepared.remove(&unit);
                }
                let kills: Vec<Kill> = kills.iter().filter_map(|id| self.leave(*id)).collect();
                self.ledger.commit(unit, place, kills, changes, &mut real);
            }
            Parsed::BackOut(unit) => self.back_out(unit, Some(place)),
            Parsed::Prepare { unit, kills, note } => {
                self.prepared.insert(unit, (kills, note));
                self.ledger.prepare(unit, place);
            }
            Parsed::Moved(copies) => {
                for copy in &copies {
                    if let Some((id, to)) = self.ledger.replay_moved(copy)
                        && let Some(entry) = self.messages.get_mut(id)
                    {
                        entry.message.place = to;
                    }
                    if let Parsed::Keyed(_, change) = &copy.parsed
                        && let Some((_, place)) = self.keyed.get_mut(&change.key)
                        && *place == copy.from
                    {
                        *place = copy.to;
                    }
                }
                self.ledger.pass(place);
            }
        }
        for change in real {
            self.enter_key(change);
        }
    }

    fn file(&self, name: Option<BodyName>) -> Option<BodyFile> {
        name.map(|name| self.ledger.body_file(name.number).unwrap_or_else(|| self.files.handle(name)))
    }

    fn enter(&mut self, entry: RecoveredMessage, unit: Option<UnitId>) {
        if let Some(unit) = unit {
            self.written.entry(unit).or_default().push(entry.id);
        }
        self.messages.insert(entry, unit.is_none());
    }

    fn leave(&mut self, id: Id) -> Option<Kill> {
        self.messages.remove(id).map(|entry| Kill { id, place: entry.place })
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
    pub(crate) fn finish(mut self) -> (Ledger, Recovered) {
        let (open, _) = self.ledger.units();
        for unit in open {
            if !is_planted(Bug::NoBackout) {
                self.back_out(unit, None);
            }
        }
        let mut recovered = Recovered::default();
        let mut prepared: Vec<_> = std::mem::take(&mut self.prepared).into_iter().collect();
        prepared.sort_unstable_by_key(|(unit, _)| *unit);
        for (unit, (kills, note)) in prepared {
            let kill = |id| self.messages.get(id).map(|entry| Kill { id, place: entry.place });
            let mut written = self.written.remove(&unit).unwrap_or_default();
            // As they were written: those that were moved lie elsewhere.
            written.sort_unstable();
            recovered.prepared.push(PreparedUnit {
                unit,
                messages: written.iter().filter_map(|id| self.messages.get(*id)).copied().collect(),
                changes: self.ledger.changes_of(unit),
                kills: kills.into_iter().filter_map(kill).collect(),
                note,
            });
        }
        recovered.messages = self.messages.into_real();
        recovered.keyed = self.keyed.into_iter().map(|(key, (value, _))| (key, value)).collect();
        (self.ledger, recovered)
    }
}
