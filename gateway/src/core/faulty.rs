//! A store for tests that fails at the batch it is told to. What it knows then is what was synced before, in a model
//! of its own; ids, places and bodies are those of a store in memory.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use store::mem::MemStore;
use store::{
    Batch, BodyFiles, BodyRef, ColdIndex, Commit, EntriesTicket, Id, KeyedChange, Moved, Op, OwnerId, Place,
    Position, Recovered, RecoveredMessage, Room, SnapshotTicket, Stat, Store, StoreError, UnitId, Watch,
};
use tokio::sync::Notify;

use super::durable::Announcer;

/// The core's end.
#[derive(Debug)]
pub(crate) struct Faulty {
    inner: MemStore,
    /// Of another store: it goes on over recoveries.
    cold: Option<ColdIndex>,
    disk: Arc<Disk>,
}

/// The test's end, which does the committer's work too: see [`Disk::run`].
#[derive(Debug)]
pub(crate) struct Disk {
    state: Mutex<State>,
    announcer: Arc<Announcer>,
    work: Notify,
}

#[derive(Debug, Default)]
struct State {
    pending: VecDeque<(Position, Vec<Op>)>,
    /// Batches that were synced or failed, ever.
    batches: u64,
    fail_at: BTreeSet<u64>,
    held: bool,
    failed: bool,
    recovery_fails: bool,
    forgetful: bool,
    durable: Position,
    room: Room,
    to_move: Vec<Moved>,
    let_go: Vec<bool>,
    keyed: BTreeMap<Vec<u8>, Bytes>,
    messages: BTreeMap<Id, RecoveredMessage>,
    bodies: BTreeMap<Id, Bytes>,
    units: BTreeMap<UnitId, (Vec<RecoveredMessage>, Vec<KeyedChange>)>,
}

impl Faulty {
    pub(crate) fn new(announcer: Arc<Announcer>) -> (Self, Recovered, Arc<Disk>) {
        Self::with_index(announcer, None)
    }

    pub(crate) fn with_index(
        announcer: Arc<Announcer>,
        cold: Option<ColdIndex>,
    ) -> (Self, Recovered, Arc<Disk>) {
        let (inner, recovered) = MemStore::new(None);
        let disk = Arc::new(Disk { state: Mutex::default(), announcer, work: Notify::new() });
        disk.state().durable = inner.durable();
        (Self { inner, cold, disk: Arc::clone(&disk) }, recovered, disk)
    }
}

impl Disk {
    /// Syncs what is submitted, batch after batch, and lets others run in between.
    pub(crate) async fn run(self: Arc<Self>) {
        loop {
            self.work.notified().await;
            while self.sync() {
                tokio::task::yield_now().await;
            }
        }
    }

    /// The batches with these numbers, counted from the first of the process, fail.
    pub(crate) fn fail_at(&self, batches: impl IntoIterator<Item = u64>) {
        self.state().fail_at.extend(batches);
    }

    /// The next batch fails.
    pub(crate) fn fail_next(&self) {
        let next = self.batches() + 1;
        self.fail_at([next]);
    }

    /// Says this in the committer's place.
    pub(crate) fn fail_with(&self, error: StoreError) {
        self.announcer.failed(error);
    }

    /// The next recovery fails.
    pub(crate) fn fail_recovery(&self) {
        self.state().recovery_fails = true;
    }

    /// Whether it says of every owner that it has no messages.
    pub(crate) fn forget(&self, forgetful: bool) {
        self.state().forgetful = forgetful;
    }

    /// Syncs nothing until told otherwise.
    pub(crate) fn hold(&self, held: bool) {
        self.state().held = held;
        self.work.notify_one();
    }

    pub(crate) fn batches(&self) -> u64 {
        self.state().batches
    }

    pub(crate) fn set_room(&self, room: Room) {
        self.state().room = room;
        self.announcer.turn_wanted();
    }

    /// The next turn finds this moved.
    pub(crate) fn move_message(&self, moved: Moved) {
        self.state().to_move.push(moved);
        self.announcer.turn_wanted();
    }

    /// What the owners said to what was moved.
    pub(crate) fn let_go(&self) -> Vec<bool> {
        self.state().let_go.clone()
    }

    /// The live messages on disk.
    pub(crate) fn messages(&self) -> Vec<RecoveredMessage> {
        self.state().messages.values().copied().collect()
    }

    /// The body of a message that was on disk, ever.
    pub(crate) fn body_of(&self, id: Id) -> Option<Bytes> {
        self.state().bodies.get(&id).cloned()
    }

    fn sync(&self) -> bool {
        let synced = {
            let mut state = self.state();
            if state.held || state.failed {
                return false;
            }
            let Some((position, ops)) = state.pending.pop_front() else { return false };
            state.batches += 1;
            let number = state.batches;
            if state.fail_at.remove(&number) {
                state.failed = true;
                None
            } else {
                ops.into_iter().for_each(|op| state.apply(op));
                state.durable = position;
                Some(position)
            }
        };
        match synced {
            Some(position) => self.announcer.durable(position),
            None => self.announcer.failed(io_error()),
        }
        true
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn io_error() -> StoreError {
    StoreError::Io {
        action: "sync",
        path: "journal/00000001.seg".to_owned(),
        error: "input/output error".to_owned(),
    }
}

impl State {
    fn apply(&mut self, op: Op) {
        match op {
            Op::Message(stored, message) => {
                let entry = message.recovered(&stored);
                self.bodies.insert(stored.id, message.body);
                match message.unit {
                    Some(unit) => self.units.entry(unit).or_default().0.push(entry),
                    None => drop(self.messages.insert(entry.id, entry)),
                }
            }
            Op::Keyed(Some(unit), change) => self.units.entry(unit).or_default().1.push(change),
            Op::Keyed(None, change) => self.set(change),
            Op::Commit(Commit { unit, kills, changes }) => {
                let (messages, written) = unit.and_then(|unit| self.units.remove(&unit)).unwrap_or_default();
                self.messages.extend(messages.into_iter().map(|message| (message.id, message)));
                for kill in kills {
                    self.messages.remove(&kill.id);
                }
                written.into_iter().chain(changes).for_each(|change| self.set(change));
            }
            Op::BackOut(unit, _) => drop(self.units.remove(&unit)),
            Op::Prepare(_) | Op::Moved(_) => {}
        }
    }

    fn set(&mut self, KeyedChange { key, value }: KeyedChange) {
        match value {
            Some(value) => self.keyed.insert(key, value),
            None => self.keyed.remove(&key),
        };
    }
}

impl Store for Faulty {
    fn begin(&mut self) -> Batch {
        self.inner.begin()
    }

    fn submit(&mut self, batch: Batch) -> Position {
        if !batch.is_empty() {
            self.disk.state().pending.push_back((batch.position(), batch.ops().to_vec()));
            self.disk.work.notify_one();
        }
        self.inner.submit(batch)
    }

    fn body(&self, id: Id, place: Place) -> BodyRef {
        self.inner.body(id, place)
    }

    fn durable(&self) -> Position {
        self.disk.state().durable
    }

    fn in_flight(&self) -> usize {
        self.disk.state().pending.len()
    }

    fn maintain(&mut self, _monotonic_ms: u64) {}

    fn compact(&mut self, _batch: &mut Batch, moved: &mut dyn FnMut(&Moved) -> bool) {
        let to_move = std::mem::take(&mut self.disk.state().to_move);
        let let_go: Vec<bool> = to_move.iter().map(moved).collect();
        self.disk.state().let_go.extend(let_go);
    }

    fn room(&self) -> Room {
        self.disk.state().room
    }

    fn body_files(&self) -> BodyFiles {
        self.inner.body_files()
    }

    fn recover(&mut self) -> Result<Recovered, StoreError> {
        let mut state = self.disk.state();
        if std::mem::take(&mut state.recovery_fails) {
            return Err(io_error());
        }
        self.inner.recover()?;
        state.pending.clear();
        state.units.clear();
        state.failed = false;
        state.durable = self.inner.durable();
        Ok(Recovered {
            keyed: state.keyed.iter().map(|(key, value)| (key.clone(), value.clone())).collect(),
            messages: state.messages.values().copied().collect(),
            prepared: Vec::new(),
            restored: false,
        })
    }

    fn entries(&mut self, owner: OwnerId) -> EntriesTicket {
        if self.disk.state().forgetful {
            return EntriesTicket::default();
        }
        self.inner.entries(owner)
    }

    fn cold_index(&self) -> Option<ColdIndex> {
        self.cold.clone()
    }

    fn snapshot(&mut self) -> SnapshotTicket {
        self.inner.snapshot()
    }

    fn stat(&self) -> Stat {
        Stat { room: self.room(), ..self.inner.stat() }
    }

    fn close(self: Box<Self>) -> Result<(), StoreError> {
        Ok(())
    }
}
