//! A store in memory: the same rules, nothing survives. For tests and simulation.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use bytes::Bytes;

use crate::batch::Layout;
use crate::{
    Batch, BodyRef, Id, NewMessage, Op, Place, Position, ReadRecord, Record, Recovered, Stat, Store,
    StoreError, Watch,
};

/// A store in memory; every batch is "durable" as soon as it is submitted.
#[derive(Debug)]
pub struct MemStore {
    start: u32,
    batches: u64,
    next_id: u64,
    next_unit: u64,
    layout: Layout,
    keyed: BTreeMap<Vec<u8>, Bytes>,
    shared: Arc<Shared>,
    watch: Option<Arc<dyn Watch>>,
}

#[derive(Debug, Default)]
struct Shared {
    records: Mutex<HashMap<Id, Record>>,
}

impl ReadRecord for Shared {
    fn read(&self, id: Id, place: Place) -> Result<Record, StoreError> {
        let records = self.records.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        records.get(&id).cloned().ok_or(StoreError::NotThere { id, place, what: "nothing" })
    }

    fn is_cached(&self, _place: Place) -> bool {
        true
    }
}

impl MemStore {
    /// An empty store.
    pub fn new(watch: Option<Arc<dyn Watch>>) -> (Self, Recovered) {
        let store = Self {
            start: 1,
            batches: 0,
            next_id: 1,
            next_unit: 1,
            layout: Layout::default(),
            keyed: BTreeMap::new(),
            shared: Arc::default(),
            watch,
        };
        (store, Recovered::default())
    }
}

impl Store for MemStore {
    fn begin(&mut self) -> Batch {
        Batch {
            position: Position { start: self.start, batch: self.batches + 1 },
            next_id: self.next_id,
            next_unit: self.next_unit,
            ops: Vec::new(),
            bytes: 0,
            layout: self.layout,
        }
    }

    fn submit(&mut self, batch: Batch) -> Position {
        if batch.is_empty() {
            return self.durable();
        }
        self.batches = batch.position.batch;
        self.next_id = batch.next_id;
        self.next_unit = batch.next_unit;
        self.layout = batch.layout;
        let mut records = self.shared.records.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        for op in batch.ops {
            match op {
                Op::Message(stored, message) => {
                    let NewMessage { owner, envelope, body, .. } = message;
                    records.insert(stored.id, Record { owner, envelope, body });
                }
                Op::Commit(commit) => {
                    for change in commit.changes {
                        match change.value {
                            Some(value) => self.keyed.insert(change.key, value),
                            None => self.keyed.remove(&change.key),
                        };
                    }
                }
                Op::BackOut(..) => {}
            }
        }
        drop(records);
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

    fn stat(&self) -> Stat {
        Stat { start: self.start, ..Stat::default() }
    }

    fn close(self: Box<Self>) -> Result<(), StoreError> {
        Ok(())
    }
}
