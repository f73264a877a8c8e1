//! A store in memory: the same rules, nothing survives. For tests and simulation.
//!
//! [`MemStore::recovered`] and [`MemStore::restart`] say what a restart would find, so that the conformance suite can
//! hold it against the journal.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::files::mem::MemFiles;
use crate::head::Head;
use crate::layout::{Layout, Spot};
use crate::{
    Batch, BodyFiles, BodyRef, ColdIndex, Commit, EntriesTicket, Id, KeyedChange, Moved, NewMessage, Op,
    OwnerId, Place, Position, Prepare, PreparedUnit, ReadRecord, Record, Recovered, RecoveredMessage, Room,
    SnapshotTicket, Stat, Store, StoreError, UnitId, Watch,
};

/// Only for the arithmetic of places.
const SEGMENT_BYTES: u64 = 64 << 20;

/// A store in memory; every batch is "durable" as soon as it is submitted.
#[derive(Debug)]
pub struct MemStore {
    start: u32,
    batches: u64,
    records: u64,
    next_id: u64,
    next_unit: u64,
    head: Arc<Head>,
    keyed: BTreeMap<Vec<u8>, Bytes>,
    messages: BTreeMap<Id, RecoveredMessage>,
    units: BTreeMap<UnitId, Unit>,
    shared: Arc<Shared>,
    watch: Option<Arc<dyn Watch>>,
    files: BodyFiles,
    room: Room,
    recoveries: u64,
}

/// A unit that is not decided.
#[derive(Debug, Clone, Default)]
struct Unit {
    messages: Vec<RecoveredMessage>,
    changes: Vec<KeyedChange>,
    prepared: Option<Prepare>,
}

#[derive(Debug, Default)]
struct Shared {
    records: Mutex<HashMap<Id, Record>>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, HashMap<Id, Record>> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ReadRecord for Shared {
    fn read(&self, id: Id, place: Place) -> Result<Record, StoreError> {
        self.lock().get(&id).cloned().ok_or(StoreError::NotThere { id, place, what: "nothing" })
    }

    fn is_cached(&self, _place: Place) -> bool {
        true
    }
}

impl MemStore {
    /// An empty store.
    pub fn new(watch: Option<Arc<dyn Watch>>) -> (Self, Recovered) {
        let layout = Layout::new(SEGMENT_BYTES, Spot { segment: 1, offset: 0 }, 0, 0);
        let store = Self {
            start: 1,
            batches: 0,
            records: 0,
            next_id: 1,
            next_unit: 1,
            head: Arc::new(Head::new(layout)),
            keyed: BTreeMap::new(),
            messages: BTreeMap::new(),
            units: BTreeMap::new(),
            shared: Arc::default(),
            watch,
            files: BodyFiles::new(Arc::<MemFiles>::default(), 1),
            room: Room::Enough,
            recoveries: 0,
        };
        (store, Recovered::default())
    }

    /// What [`Store::room`] says from now on.
    pub fn set_room(&mut self, room: Room) {
        self.room = room;
    }

    /// What a restart would find now.
    pub fn recovered(&self) -> Recovered {
        let prepared = self.units.iter().filter_map(|(unit, written)| {
            let prepare = written.prepared.as_ref()?;
            Some(PreparedUnit {
                unit: *unit,
                messages: written.messages.clone(),
                changes: written.changes.clone(),
                kills: prepare.kills.clone(),
                note: prepare.note.clone(),
            })
        });
        Recovered {
            keyed: self.keyed.iter().map(|(key, value)| (key.clone(), value.clone())).collect(),
            messages: self.messages.values().copied().collect(),
            prepared: prepared.collect(),
            restored: false,
        }
    }

    /// A start of the same store: open units are gone, ids are new.
    pub fn restart(mut self) -> (Self, Recovered) {
        let recovered = self.begin_start();
        (self, recovered)
    }

    /// Takes what another store was given in a batch: this one is the disk under that one, and holds what was synced.
    pub fn replay(&mut self, position: Position, ops: impl IntoIterator<Item = Op>) {
        self.batches = position.batch;
        for op in ops {
            self.records += 1;
            self.apply(op);
        }
    }

    /// A start from the disk that this is: a store of its own with what is here, and what it finds. Open units are gone,
    /// ids are new.
    pub fn start_from(&mut self) -> (Self, Recovered) {
        let recovered = self.begin_start();
        let layout = Layout::new(SEGMENT_BYTES, Spot { segment: self.start, offset: 0 }, 0, 0);
        let records = self.shared.lock().clone();
        let store = Self {
            head: Arc::new(Head::new(layout)),
            keyed: self.keyed.clone(),
            messages: self.messages.clone(),
            units: self.units.clone(),
            shared: Arc::new(Shared { records: Mutex::new(records) }),
            watch: None,
            files: self.files.clone(),
            ..*self
        };
        (store, recovered)
    }

    fn begin_start(&mut self) -> Recovered {
        self.units.retain(|_, unit| unit.prepared.is_some());
        self.start += 1;
        self.batches = 0;
        self.next_id = 1;
        self.next_unit = 1;
        self.recovered()
    }

    fn apply(&mut self, op: Op) {
        match op {
            Op::Message(stored, message) => {
                let entry = message.recovered(&stored);
                match message.unit {
                    Some(unit) => self.units.entry(unit).or_default().messages.push(entry),
                    None => drop(self.messages.insert(stored.id, entry)),
                }
                let NewMessage { owner, envelope, body, file, .. } = message;
                if let Some(file) = &file {
                    file.guard.name();
                }
                let record = Record { owner, envelope, body, file };
                self.shared.lock().insert(stored.id, record);
            }
            Op::Keyed(Some(unit), change) => self.units.entry(unit).or_default().changes.push(change),
            Op::Keyed(None, change) => self.set(change),
            Op::Commit(Commit { unit, kills, changes }) => {
                let written = unit.and_then(|u| self.units.remove(&u)).unwrap_or_default();
                self.messages.extend(written.messages.into_iter().map(|m| (m.id, m)));
                for kill in kills {
                    self.messages.remove(&kill.id);
                }
                for change in written.changes.into_iter().chain(changes) {
                    self.set(change);
                }
            }
            Op::BackOut(unit, written) => {
                self.units.remove(&unit);
                for kill in written {
                    self.messages.remove(&kill.id);
                }
            }
            Op::Prepare(prepare) => {
                let unit = prepare.unit;
                self.units.entry(unit).or_default().prepared = Some(prepare);
            }
            Op::Moved(_) => {}
        }
    }

    fn set(&mut self, change: KeyedChange) {
        match change.value {
            Some(value) => self.keyed.insert(change.key, value),
            None => self.keyed.remove(&change.key),
        };
    }
}

impl Store for MemStore {
    fn begin(&mut self) -> Batch {
        self.head.release();
        let position = Position { start: self.start, batch: self.batches + 1 };
        Batch::new(position, self.next_id, self.next_unit, Arc::clone(&self.head))
    }

    fn submit(&mut self, mut batch: Batch) -> Position {
        self.next_unit = batch.next_unit;
        if batch.is_empty() {
            return self.durable();
        }
        batch.seal();
        self.batches = batch.position.batch;
        self.next_id = batch.next_id;
        self.records += batch.ops.len() as u64;
        for op in batch.ops {
            self.apply(op);
        }
        let position = self.durable();
        if let Some(watch) = &self.watch {
            watch.durable(position);
        }
        position
    }

    fn body(&self, id: Id, place: Place) -> BodyRef {
        BodyRef::new(id, place, Arc::clone(&self.shared) as Arc<dyn ReadRecord>)
    }

    fn durable(&self) -> Position {
        Position { start: self.start, batch: self.batches }
    }

    fn in_flight(&self) -> usize {
        0
    }

    fn maintain(&mut self, _monotonic_ms: u64) {}

    fn compact(&mut self, _batch: &mut Batch, _moved: &mut dyn FnMut(&Moved) -> bool) {}

    fn room(&self) -> Room {
        self.room
    }

    fn body_files(&self) -> BodyFiles {
        self.files.clone()
    }

    fn entries(&mut self, owner: OwnerId) -> EntriesTicket {
        let known = self.messages.values().filter(|message| message.owner == owner).copied().collect();
        EntriesTicket { owner: owner.0, known, ..EntriesTicket::default() }
    }

    fn cold_index(&self) -> Option<ColdIndex> {
        None
    }

    fn snapshot(&mut self) -> SnapshotTicket {
        // There are no files to be copied: the request is dropped, and whoever waits is told so.
        crate::journal::no_snapshot()
    }

    fn recover(&mut self) -> Result<Recovered, StoreError> {
        self.recoveries += 1;
        Ok(self.begin_start())
    }

    fn stat(&self) -> Stat {
        let undecided: usize = self.units.values().map(|unit| unit.messages.len()).sum();
        Stat {
            messages: (self.messages.len() + undecided) as u64,
            records: self.records,
            start: self.start,
            keys: self.keyed.len() as u64,
            room: self.room,
            recoveries: self.recoveries,
            ..Stat::default()
        }
    }

    fn close(self: Box<Self>) -> Result<(), StoreError> {
        Ok(())
    }
}
