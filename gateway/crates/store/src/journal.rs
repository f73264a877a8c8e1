//! The store on disk: the core's half of the journal.
//!
//! In its turn the core lays out batches, keeps the ledger of what lives, and takes checkpoints; the committer's thread
//! makes them durable. The rules and their reasons are in STORE.md, the bytes in `FORMAT.md`. Which segment is compacted,
//! and when, is in `upkeep`.

mod chain;
mod checkpoints;
mod committer;
mod compaction;
#[cfg(test)]
mod crash;
mod entries;
mod reader;
mod recover;
mod replay;
mod shared;
mod snapshot;
mod space;
#[cfg(test)]
mod tests;
mod upkeep;
mod writer;

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use committer::Committer;
use compaction::Compactor;
use reader::{Missing, Recent, Slot, Stored};
use shared::{Job, Shared, Submitted, Taken, Work};
use space::Space;
use upkeep::Upkeep;

pub use entries::EntriesTicket;
pub(crate) use reader::Segments;
pub use snapshot::SnapshotTicket;

use crate::batch::Batch;
use crate::files::real::RealFiles;
use crate::files::{Files, Lock, failed, still_ours};
use crate::format::record::{self, change_places};
use crate::head::Head;
use crate::index::ColdIndex;
use crate::layout::{Layout, Spot};
use crate::ledger::Ledger;
use crate::planted::{Bug, is_planted};
use crate::{
    BodyFiles, BodyRef, Id, Moved, Op, OwnerId, Place, Position, Recovered, Room, SegmentStat, Stat, Store,
    StoreError, Watch,
};

const LOCK: &str = "lock";
/// STORE.md 1.
const SEGMENT_BYTES: u64 = 64 << 20;
/// Less than this is not worth a segment.
const SEGMENT_BYTES_MIN: u64 = 64 << 10;
const CACHE_BYTES: usize = 2 << 20;
/// A mark follows after this time without work (STORE.md 2).
const MARK_AFTER: Duration = Duration::from_millis(100);
/// How a journal is opened.
#[derive(Debug, Clone)]
pub struct OpenOptions {
    /// The data directory; created if it is not there.
    pub directory: PathBuf,
    /// Who is told what became of the batches.
    pub watch: Arc<dyn Watch>,
    /// The size of a segment.
    pub segment_bytes: u64,
    /// Bytes of the newest batches that stay in memory for reading, beside those that are not on disk yet.
    pub cache_bytes: usize,
    /// Whether there is a derived index for what memory has no room for.
    pub index: bool,
}

impl OpenOptions {
    /// The usual way to open what is in `directory`.
    pub fn new(directory: impl Into<PathBuf>, watch: Arc<dyn Watch>) -> Self {
        Self {
            directory: directory.into(),
            watch,
            segment_bytes: SEGMENT_BYTES,
            cache_bytes: CACHE_BYTES,
            index: true,
        }
    }
}

/// The store on disk.
#[derive(Debug)]
pub struct Journal {
    shared: Arc<Shared>,
    segments: Arc<Segments>,
    worker: Option<Worker>,
    upkeep: Upkeep,
    index: Option<ColdIndex>,
    ledger: Ledger,
    start: u32,
    nonce: u64,
    /// The newest batch handed over.
    batch: u64,
    next_id: u64,
    next_unit: u64,
    /// The newest batches, oldest first, and their bytes.
    recent: VecDeque<Arc<Batch>>,
    recent_bytes: usize,
    /// Where messages lay that batches have moved which are not on disk yet: they are read there until then.
    moving: VecDeque<(Position, HashMap<Id, Place>)>,
    checkpoints: u64,
    recoveries: u64,
    index_rebuilds: u64,
    /// A checkpoint that the committer has not done yet.
    checkpoint_in_work: bool,
    /// The position of the newest checkpoint, and since when something lies behind it.
    covered: Spot,
    uncovered_since_ms: Option<u64>,
    /// Who waits for a copy of the store.
    snapshots: VecDeque<snapshot::Request>,
    /// The file that says so is still there.
    restored: bool,
    body_files: BodyFiles,
    options: OpenOptions,
    files: Arc<dyn Files>,
    lock: Arc<dyn Lock>,
}

#[derive(Debug)]
enum Worker {
    Thread(JoinHandle<()>),
    /// A test does the committer's turns itself.
    #[cfg(test)]
    Inline(Box<Committer>),
}

/// Whether the committer and the compactor have threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Threads {
    Own,
    #[cfg(test)]
    Inline,
}

impl Journal {
    /// Opens a data directory, or makes one. When this returns, the start is durable.
    pub fn open(options: OpenOptions) -> Result<(Self, Recovered), StoreError> {
        let files = Arc::new(RealFiles::new(&options.directory));
        Self::open_on(files, options, Threads::Own)
    }

    fn open_on(
        files: Arc<dyn Files>,
        mut options: OpenOptions,
        threads: Threads,
    ) -> Result<(Self, Recovered), StoreError> {
        options.segment_bytes = options.segment_bytes.clamp(SEGMENT_BYTES_MIN, u64::from(u32::MAX / 2));
        files.make_directory("").map_err(failed(files.as_ref(), "create", ""))?;
        let lock = files.lock(LOCK).map_err(failed(files.as_ref(), "lock", LOCK))?;
        let lock = lock.ok_or_else(|| StoreError::InUse { directory: files.show("") })?;
        Self::begin_start(files, Arc::from(lock), options, threads, None)
    }

    /// A start on a directory that we have; with a `cut` in a process that has served.
    fn begin_start(
        files: Arc<dyn Files>,
        lock: Arc<dyn Lock>,
        options: OpenOptions,
        threads: Threads,
        cut: Option<Spot>,
    ) -> Result<(Self, Recovered), StoreError> {
        let segment_bytes = options.segment_bytes;
        recover::make_directories(files.as_ref())?;
        let mut space = Space::open(&files, segment_bytes)?;
        let version = recover::prepare_directory(files.as_ref(), lock.as_ref(), &mut space)?;
        let nonce = getrandom::u64().map_err(|error| StoreError::Io {
            action: "get random bits for",
            path: files.show(""),
            error: error.to_string(),
        })?;
        let is_recovery = cut.is_some();
        let trusts_cache = is_recovery && is_planted(Bug::CutAtValid);
        let cut = cut.filter(|_| !trusts_cache);
        let begin = recover::Begin { segment_bytes, nonce, version, cut, is_recovery, trusts_cache };
        let recover::Opened { writer, segments, ledger, recovered } =
            recover::recover(&files, lock.as_ref(), space, &begin)?;
        let (start, written) = (writer.start, writer.written);
        let layout = Layout::new(segment_bytes, written, writer.records(), writer.lines_length());
        let shared = Shared::new(Arc::new(Head::new(layout)), Arc::clone(&options.watch), start);
        let shared = Arc::new(shared);
        shared.set_figures(&writer, std::iter::empty());
        let index = options.index.then(|| ColdIndex::new(&options.directory));
        let committer = Committer::new(
            (Arc::clone(&files), Arc::clone(&lock)),
            Arc::clone(&segments),
            Arc::clone(&shared),
            writer,
        );
        let (worker, compactor) = match threads {
            Threads::Own => (start_thread(&shared, committer)?, Compactor::start(Arc::clone(&shared))?),
            #[cfg(test)]
            Threads::Inline => (Worker::Inline(Box::new(committer)), Compactor::Inline(None)),
        };
        let journal = Self {
            shared,
            segments,
            worker: Some(worker),
            upkeep: Upkeep::new(compactor),
            index,
            ledger,
            start,
            nonce,
            batch: 0,
            next_id: 1,
            next_unit: 1,
            recent: VecDeque::new(),
            recent_bytes: 0,
            moving: VecDeque::new(),
            checkpoints: 1,
            recoveries: 0,
            index_rebuilds: 0,
            checkpoint_in_work: false,
            covered: written,
            uncovered_since_ms: None,
            snapshots: VecDeque::new(),
            restored: recovered.restored,
            body_files: BodyFiles::new(Arc::clone(&files), start),
            options,
            files,
            lock,
        };
        Ok((journal, recovered))
    }

    /// Enters what a batch says into the ledger.
    fn enter(&mut self, batch: &Batch) {
        // What became real matters to a replay only.
        let mut real = Vec::new();
        let ledger = &mut self.ledger;
        ledger.next_batch();
        for (op, place) in batch.ops.iter().zip(&batch.places) {
            let place = *place;
            match op {
                Op::Message(_, message) => {
                    let bytes = record::message_length(message);
                    ledger.message(message.unit, place, bytes, message.file.as_ref());
                }
                Op::Keyed(unit, change) => ledger.keyed(*unit, change.clone(), place, &mut real),
                Op::Commit(commit) => {
                    let kills = commit.kills.iter().copied();
                    let changes = commit.changes.iter().cloned().zip(change_places(commit, place));
                    ledger.commit(commit.unit, place, kills, changes, &mut real);
                }
                Op::BackOut(unit, written) => ledger.back_out(*unit, Some(place), written),
                Op::Prepare(prepare) => ledger.prepare(prepare.unit, place),
                Op::Moved(copies) => ledger.moved(place, copies, record::moved_places(copies, place)),
            }
        }
        for left in &batch.left {
            self.ledger.set_end(left.segment, left.offset);
        }
    }

    /// Forgets the oldest batches in memory, but never one that is not on disk.
    fn trim_recent(&mut self) {
        self.trim_recent_to(self.options.cache_bytes);
    }

    fn trim_recent_to(&mut self, bytes: usize) {
        let durable = self.shared.durable_position();
        while self.recent_bytes > bytes
            && let Some(oldest) = self.recent.pop_front_if(|batch| batch.position <= durable)
        {
            self.recent_bytes -= memory_of(&oldest);
        }
        while self.moving.front().is_some_and(|moving| moving.0 <= durable) {
            self.moving.pop_front();
        }
    }

    /// A checkpoint of this turn, to be handed over in the same turn.
    fn take_checkpoint(&mut self) -> Taken {
        let position = self.shared.head.promise();
        self.ledger.set_end(position.segment, position.offset);
        self.uncovered_since_ms = None;
        self.checkpoint_in_work = true;
        let counters = (self.next_id, self.next_unit);
        let start = (self.start, self.nonce);
        let mut snapshot = self.snapshots.pop_front();
        if let Some(request) = &mut snapshot {
            request.bodies = self.ledger.body_files();
        }
        Taken {
            checkpoint: recover::take_checkpoint(&self.ledger, start, position, counters),
            droppable: self.ledger.wholly_dead(position.segment),
            dead_bodies: self.ledger.take_dead_bodies(),
            snapshot,
        }
    }

    /// Takes up what the committer has done of a checkpoint.
    fn settle_checkpoint(&mut self) {
        let Some(outcome) = self.shared.take_checkpointed() else { return };
        self.checkpoint_in_work = false;
        if let Some(Taken { checkpoint, droppable, .. }) = outcome {
            self.checkpoints += 1;
            self.covered = checkpoint.position;
            self.ledger.forget(&droppable);
            // The caller's first batch is behind us, with the new identity in it.
            if self.restored && self.shared.durable_position().batch > 0 {
                self.restored = false;
                if let Err(error) = self.files.remove(recover::RESTORED) {
                    tracing::warn!(%error, "the file that tells of the restore stays: the next start will be another first one");
                }
            }
        }
    }

    fn all_index_rebuilds(&self) -> u64 {
        self.index_rebuilds + self.index.as_ref().map_or(0, ColdIndex::rebuilds)
    }

    fn by_segment(&self) -> Vec<SegmentStat> {
        let current = self.shared.head.spot();
        let mut all: Vec<SegmentStat> = self.ledger.segments().map(|(n, segment)| segment.stat(n)).collect();
        // The ledger is told where a segment ends when a checkpoint is taken, or when it is left.
        if let Some(last) = all.last_mut().filter(|last| last.number == current.segment) {
            last.bytes = u64::from(current.offset);
        }
        all
    }

    /// Ends the committer, having done what was handed over.
    fn stop(&mut self) {
        self.shared.stop();
        let ended = match self.worker.take() {
            Some(Worker::Thread(thread)) => thread.join().is_ok(),
            #[cfg(test)]
            Some(Worker::Inline(_)) => true,
            None => true,
        };
        if !ended {
            tracing::error!("the committer's thread has panicked");
        }
    }
}

impl Store for Journal {
    fn begin(&mut self) -> Batch {
        let head = Arc::clone(&self.shared.head);
        // A batch that was begun and never handed over has left nothing behind.
        head.release();
        let position = Position { start: self.start, batch: self.batch + 1 };
        Batch::new(position, self.next_id, self.next_unit, head)
    }

    fn submit(&mut self, mut batch: Batch) -> Position {
        if batch.position.start != self.start {
            // Begun before a recovery: nothing of it was told to anybody.
            return Position { start: self.start, batch: self.batch };
        }
        self.next_unit = batch.next_unit;
        if batch.is_empty() {
            return Position { start: self.start, batch: self.batch };
        }
        batch.seal();
        self.batch = batch.position.batch;
        self.next_id = batch.next_id;
        if self.upkeep.touched() {
            self.shared.want_turn();
        }
        self.enter(&batch);
        let position = batch.position;
        let batch = Arc::new(batch);
        self.recent_bytes += memory_of(&batch);
        self.recent.push_back(Arc::clone(&batch));
        self.shared.push(Job::Batch(Submitted { batch, since: Instant::now() }));
        self.trim_recent();
        position
    }

    fn body(&self, id: Id, place: Place) -> BodyRef {
        let place = self.ledger.resolve(id, place);
        let file = self.ledger.body_at(place);
        if id.start() == self.start {
            let index = self.recent.partition_point(|batch| batch.next_id <= id.counter());
            if let Some(batch) = self.recent.get(index)
                && let Some((stored, _)) = batch.find(id)
            {
                let (batch, place) = (Arc::clone(batch), stored.place);
                return match self.segments.slot(place.segment) {
                    Some(slot) => BodyRef::new(id, place, Arc::new(Recent::new(&batch, slot, file))),
                    // The message is dead or was moved, and all of its segment was dead: it is nowhere else.
                    None => BodyRef::new(id, place, batch),
                };
            }
        }
        // While the copy is not on disk, the message is read where it was; that segment goes only after it is.
        let durable = self.shared.durable_position();
        let moving = self.moving.iter().rev().take_while(|(position, _)| *position > durable);
        let from = moving.filter_map(|(_, from)| from.get(&id).copied()).next();
        if let Some(from) = from
            && let Some(segment) = self.segments.get(from.segment)
        {
            let segment = Arc::new(Slot::from(segment));
            return BodyRef::new(id, from, Arc::new(Stored { segment, file }));
        }
        match self.segments.slot(place.segment) {
            Some(segment) => BodyRef::new(id, place, Arc::new(Stored { segment, file })),
            None => BodyRef::new(id, place, Arc::new(Missing)),
        }
    }

    fn durable(&self) -> Position {
        self.shared.durable_position()
    }

    fn in_flight(&self) -> usize {
        self.shared.in_flight()
    }

    fn maintain(&mut self, monotonic_ms: u64) {
        if self.shared.failure().is_none()
            && let Err(error) = still_ours(self.files.as_ref(), self.lock.as_ref())
        {
            self.shared.fail(error);
        }
        self.trim_recent();
        self.settle_checkpoint();
        self.keep_up(monotonic_ms);
        if !self.checkpoint_in_work && self.is_checkpoint_due(monotonic_ms) {
            let taken = self.take_checkpoint();
            self.shared.push(Job::Checkpoint(taken));
        }
    }

    fn compact(&mut self, batch: &mut Batch, moved: &mut dyn FnMut(&Moved) -> bool) {
        if batch.position.start == self.start {
            self.move_some(batch, moved);
        }
    }

    fn room(&self) -> Room {
        self.shared.room()
    }

    fn body_files(&self) -> BodyFiles {
        self.body_files.clone()
    }

    fn entries(&mut self, owner: OwnerId) -> EntriesTicket {
        let durable = self.shared.durable_position();
        let entries = self.ledger.entries(0).into_iter();
        let (open, prepared) = self.ledger.units();
        EntriesTicket {
            owner: owner.0,
            segments: entries.filter_map(|e| self.segments.slot(e.number).map(|slot| (e, slot))).collect(),
            undecided: open.into_iter().chain(prepared).collect(),
            batches: self.recent.iter().filter(|batch| batch.position > durable).map(Arc::clone).collect(),
            known: Vec::new(),
        }
    }

    fn cold_index(&self) -> Option<ColdIndex> {
        self.index.clone()
    }

    fn snapshot(&mut self) -> SnapshotTicket {
        let (request, ticket) = snapshot::pair();
        self.snapshots.push_back(request);
        ticket
    }

    fn recover(&mut self) -> Result<Recovered, StoreError> {
        self.stop();
        if let Some(StoreError::Replaced { directory }) = self.shared.failure() {
            return Err(StoreError::Replaced { directory });
        }
        let threads = match self.worker {
            #[cfg(test)]
            Some(Worker::Inline(_)) => Threads::Inline,
            _ => Threads::Own,
        };
        self.worker = None;
        if let Some(index) = &self.index {
            index.close();
        }
        let cut = self.shared.synced();
        let (files, lock) = (Arc::clone(&self.files), Arc::clone(&self.lock));
        let (mut next, recovered) = Self::begin_start(files, lock, self.options.clone(), threads, cut)?;
        next.recoveries = self.recoveries + 1;
        next.index_rebuilds += self.all_index_rebuilds();
        next.checkpoints += self.checkpoints;
        *self = next;
        Ok(recovered)
    }

    fn stat(&self) -> Stat {
        let figures = self.shared.figures();
        let written = figures.written;
        let (segments, segment_bytes) = self.segments.sizes();
        let (body_files, body_bytes) = self.ledger.bodies();
        let moved = written.by_kind.last().copied().unwrap_or_default();
        Stat {
            messages: self.ledger.messages(),
            keys: self.ledger.keys() as u64,
            live_bytes: self.ledger.live_bytes(),
            segments,
            disk_bytes: segment_bytes + figures.kept_bytes + body_bytes,
            body_files,
            body_bytes,
            groups: written.groups,
            syncs: written.syncs,
            records: written.records,
            bytes_by_kind: written.by_kind,
            written_bytes: written.bytes,
            moved_bytes: moved,
            compacted: self.upkeep.compacted,
            recycled: figures.recycled,
            group_bytes: written.group_bytes,
            sync_us: written.sync_us,
            wait_us: figures.wait_us,
            checkpoints: self.checkpoints,
            recoveries: self.recoveries,
            index_rebuilds: self.all_index_rebuilds(),
            memory_bytes: self.ledger.memory() + self.recent_bytes as u64,
            room: self.room(),
            damaged: self.upkeep.damaged.clone(),
            start: self.start,
            by_segment: self.by_segment(),
        }
    }

    fn close(mut self: Box<Self>) -> Result<(), StoreError> {
        let taken = self.take_checkpoint();
        self.shared.push(Job::Close(taken));
        #[cfg(test)]
        self.turn_inline();
        self.stop();
        self.settle_checkpoint();
        match self.shared.failure() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.stop();
        if let Some(index) = &self.index {
            index.close();
        }
    }
}

#[cfg(test)]
impl Journal {
    /// Opens on other files, with the committer's turns left to the caller.
    fn open_inline(files: Arc<dyn Files>, options: &OpenOptions) -> Result<(Self, Recovered), StoreError> {
        Self::open_on(files, options.clone(), Threads::Inline)
    }

    /// One turn of the committer, if it has no thread.
    fn turn_inline(&mut self) {
        self.inline(|committer, shared| committer.turn(shared.take()));
    }

    /// What the committer does after a while without work.
    fn idle_inline(&mut self) {
        self.inline(|committer, _| committer.idle());
    }

    /// The committer looks whether there is room again, whenever it has last looked.
    fn look_for_room_inline(&mut self) {
        self.inline(|committer, _| {
            committer.look_for_room_now();
            Ok(())
        });
    }

    /// As after an error of the index's.
    fn break_index(&self) {
        if let Some(index) = &self.index {
            index.give_up();
        }
    }

    /// Nothing is kept for bad times any more.
    fn use_up_reserve_inline(&mut self) {
        self.inline(|committer, _| {
            committer.writer.space.use_up();
            Ok(())
        });
    }

    fn inline(&mut self, work: impl FnOnce(&mut Committer, &Shared) -> Result<(), StoreError>) {
        if let Some(Worker::Inline(committer)) = &mut self.worker
            && self.shared.failure().is_none()
            && let Err(error) = work(committer, &self.shared)
        {
            self.shared.fail(error);
        }
    }
}

fn start_thread(shared: &Arc<Shared>, committer: Committer) -> Result<Worker, StoreError> {
    let shared = Arc::clone(shared);
    let thread = std::thread::Builder::new().name("store-committer".to_owned());
    let thread = thread.spawn(move || run(&shared, committer)).map_err(|error| StoreError::Io {
        action: "start",
        path: "the committer's thread".to_owned(),
        error: error.to_string(),
    })?;
    Ok(Worker::Thread(thread))
}

/// The committer's thread.
fn run(shared: &Shared, mut committer: Committer) {
    let _told = TellOfPanic(shared);
    loop {
        let result = match shared.wait(committer.wants_idle().then_some(MARK_AFTER)) {
            Work::Jobs(jobs) => committer.turn(jobs),
            Work::Idle => committer.idle(),
            Work::Stop => return,
        };
        if let Err(error) = result {
            shared.fail(error);
            return;
        }
    }
}

/// A committer that panics acknowledges nothing more, and somebody must hear of it.
struct TellOfPanic<'a>(&'a Shared);

impl Drop for TellOfPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.fail(StoreError::Stopped);
        }
    }
}

/// The ticket of a store that cannot be copied.
pub(crate) fn no_snapshot() -> SnapshotTicket {
    snapshot::pair().1
}

/// What a batch in memory costs, roughly.
fn memory_of(batch: &Batch) -> usize {
    let each = size_of::<Op>() + size_of::<Place>();
    batch.bytes + batch.file_bytes + batch.ops.capacity() * each
}
