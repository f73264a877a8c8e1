//! A store for tests that fails at the batch it is told to. Its disk is another store in memory, which holds what was
//! synced, and from which recoveries and restarts begin.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use store::mem::MemStore;
use store::{
    Batch, BodyFiles, BodyRef, ColdIndex, EntriesTicket, Id, Moved, Op, OwnerId, Place, Position, Recovered,
    RecoveredMessage, Room, SnapshotTicket, Stat, Store, StoreError, Watch,
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
    work: Notify,
}

#[derive(Debug)]
struct State {
    /// Of the process in which it is.
    announcer: Arc<Announcer>,
    pending: VecDeque<(Position, Vec<Op>)>,
    /// Batches that were synced or failed, ever.
    batches: u64,
    fail_at: BTreeSet<u64>,
    held: bool,
    failed: bool,
    recovery_fails: bool,
    forgetful: bool,
    room: Room,
    to_move: Vec<Moved>,
    let_go: Vec<bool>,
    /// What was synced.
    synced: MemStore,
}

impl Faulty {
    pub(crate) fn new(announcer: Arc<Announcer>) -> (Self, Recovered, Arc<Disk>) {
        Self::with_index(announcer, None)
    }

    pub(crate) fn with_index(
        announcer: Arc<Announcer>,
        cold: Option<ColdIndex>,
    ) -> (Self, Recovered, Arc<Disk>) {
        let disk = Arc::new(Disk::new(Arc::clone(&announcer)));
        let (faulty, recovered) = Self::start(&disk, announcer);
        (Self { cold, ..faulty }, recovered, disk)
    }

    /// The start of a process on a disk: what an earlier one had not synced is gone.
    pub(crate) fn start(disk: &Arc<Disk>, announcer: Arc<Announcer>) -> (Self, Recovered) {
        let mut state = disk.state();
        state.announcer = announcer;
        let (inner, recovered) = state.start();
        (Self { inner, cold: None, disk: Arc::clone(disk) }, recovered)
    }
}

impl Disk {
    /// An empty one.
    pub(crate) fn new(announcer: Arc<Announcer>) -> Self {
        let state = State {
            announcer,
            pending: VecDeque::new(),
            batches: 0,
            fail_at: BTreeSet::new(),
            held: false,
            failed: false,
            recovery_fails: false,
            forgetful: false,
            room: Room::default(),
            to_move: Vec::new(),
            let_go: Vec::new(),
            synced: MemStore::new(None).0,
        };
        Self { state: Mutex::new(state), work: Notify::new() }
    }

    /// Syncs what is submitted, batch after batch, and lets others run in between.
    pub(crate) async fn run(self: Arc<Self>) {
        loop {
            self.submitted().await;
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
        self.announcer().failed(error);
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
        self.announcer().turn_wanted();
    }

    /// The next turn finds this moved.
    pub(crate) fn move_message(&self, moved: Moved) {
        self.state().to_move.push(moved);
        self.announcer().turn_wanted();
    }

    /// What the owners said to what was moved.
    pub(crate) fn let_go(&self) -> Vec<bool> {
        self.state().let_go.clone()
    }

    /// The live messages on disk.
    pub(crate) fn messages(&self) -> Vec<RecoveredMessage> {
        self.recovered().messages
    }

    /// The body of a message that was on disk, ever.
    pub(crate) fn body_of(&self, id: Id) -> Option<Bytes> {
        self.state().synced.body(id, Place::default()).read().ok().map(|record| record.body)
    }

    /// Returns when something was submitted, or may have been.
    pub(crate) async fn submitted(&self) {
        self.work.notified().await;
    }

    /// Whether it has failed, and nothing has recovered since.
    pub(crate) fn has_failed(&self) -> bool {
        self.state().failed
    }

    /// What a start would find.
    pub(crate) fn recovered(&self) -> Recovered {
        self.state().synced.recovered()
    }

    /// The process is gone: of what it had submitted, so many batches were written all the same, and it was not told.
    pub(crate) fn crash(&self, written: usize) {
        let mut state = self.state();
        let written = written.min(state.pending.len());
        let batches: Vec<_> = state.pending.drain(..written).collect();
        batches.into_iter().for_each(|(position, ops)| state.synced.replay(position, ops));
        state.pending.clear();
    }

    /// Syncs the next batch that was submitted, if there is one, and says so.
    pub(crate) fn sync(&self) -> bool {
        let (outcome, announcer) = {
            let mut state = self.state();
            if state.held || state.failed {
                return false;
            }
            let Some((position, ops)) = state.pending.pop_front() else { return false };
            state.batches += 1;
            let number = state.batches;
            state.failed = state.fail_at.remove(&number);
            if !state.failed {
                state.synced.replay(position, ops);
            }
            ((!state.failed).then_some(position), Arc::clone(&state.announcer))
        };
        match outcome {
            Some(position) => announcer.durable(position),
            None => announcer.failed(io_error()),
        }
        true
    }

    fn announcer(&self) -> Arc<Announcer> {
        Arc::clone(&self.state().announcer)
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
    fn start(&mut self) -> (MemStore, Recovered) {
        self.pending.clear();
        self.failed = false;
        self.synced.start_from()
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
        self.disk.state().synced.durable()
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
        let (inner, recovered) = state.start();
        drop(state);
        self.inner = inner;
        Ok(recovered)
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
