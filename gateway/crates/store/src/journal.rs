//! The store on disk: the core's half of the journal.
//!
//! In its turn the core lays out batches, keeps the ledger of what lives, and takes checkpoints; the committer's thread
//! makes them durable. The rules and their reasons are in STORE.md, the bytes in `FORMAT.md`. Left to later work:
//! compaction, eviction, body files, reserve segments, and recovery inside a running process.

mod chain;
mod checkpoints;
mod committer;
#[cfg(test)]
mod crash;
mod reader;
mod recover;
mod replay;
mod shared;
#[cfg(test)]
mod tests;
mod writer;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use committer::Committer;
use reader::{Missing, Recent, Segments};
use shared::{Job, Shared, Submitted, Taken, Work};

use crate::batch::Batch;
use crate::files::real::RealFiles;
use crate::files::{Files, Lock, failed, still_ours};
use crate::format::record::change_places;
use crate::head::Head;
use crate::index::{Identity, IndexCopy, IndexWriter};
use crate::layout::{Layout, Spot};
use crate::ledger::{Ledger, RealChange};
use crate::{
    BodyFiles, BodyRef, Id, KeyedIndex, Moved, Op, Place, Position, Recovered, Room, Stat, Store, StoreError,
    Watch,
};

const LOCK: &str = "lock";
/// STORE.md 1.
const SEGMENT_BYTES: u64 = 64 << 20;
/// Less than this is not worth a segment.
const SEGMENT_BYTES_MIN: u64 = 64 << 10;
const CACHE_BYTES: usize = 8 << 20;
/// A mark follows after this time without work (STORE.md 2).
const MARK_AFTER: Duration = Duration::from_millis(100);
/// A checkpoint is due after this many bytes, or this long after the first record that none covers (STORE.md 4).
const CHECKPOINT_BYTES: u64 = 64 << 20;
const CHECKPOINT_AFTER_MS: u64 = 60_000;

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
    /// Whether to keep the derived index of keyed state.
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
    index: Option<KeyedIndex>,
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
    cache_bytes: usize,
    checkpoints: u64,
    /// A checkpoint that the committer has not done yet.
    checkpoint_in_work: bool,
    /// The position of the newest checkpoint, and since when something lies behind it.
    covered: Spot,
    uncovered_since_ms: Option<u64>,
    segment_bytes: u64,
    body_files: BodyFiles,
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

impl Journal {
    /// Opens a data directory, or makes one. When this returns, the start is durable.
    pub fn open(options: OpenOptions) -> Result<(Self, Recovered), StoreError> {
        let files = Arc::new(RealFiles::new(&options.directory));
        let (mut journal, committer, recovered) = Self::open_with(files, &options)?;
        let shared = Arc::clone(&journal.shared);
        let thread = std::thread::Builder::new().name("store-committer".to_owned());
        let thread = thread.spawn(move || run(&shared, committer)).map_err(|error| StoreError::Io {
            action: "start",
            path: "the committer's thread".to_owned(),
            error: error.to_string(),
        })?;
        journal.worker = Some(Worker::Thread(thread));
        Ok((journal, recovered))
    }

    fn open_with(
        files: Arc<dyn Files>,
        options: &OpenOptions,
    ) -> Result<(Self, Committer, Recovered), StoreError> {
        files.make_directory("").map_err(failed(files.as_ref(), "create", ""))?;
        let lock = files.lock(LOCK).map_err(failed(files.as_ref(), "lock", LOCK))?;
        let lock = lock.ok_or_else(|| StoreError::InUse { directory: files.show("") })?;
        let lock: Arc<dyn Lock> = Arc::from(lock);
        recover::prepare_directory(files.as_ref(), lock.as_ref())?;
        let copy = if options.index { IndexCopy::open(&options.directory) } else { IndexCopy::default() };
        let nonce = getrandom::u64().map_err(|error| StoreError::Io {
            action: "get random bits for",
            path: files.show(""),
            error: error.to_string(),
        })?;
        let segment_bytes = options.segment_bytes.clamp(SEGMENT_BYTES_MIN, u64::from(u32::MAX / 2));
        let recover::Opened { writer, segments, ledger, recovered, key_places, index_valid } =
            recover::recover(&files, lock.as_ref(), segment_bytes, nonce, &copy)?;
        let (start, written) = (writer.start, writer.written);
        let identity = Identity { start, spot: written, checksum: writer.last };
        let layout = Layout::new(segment_bytes, written, writer.records(), writer.lines_length());
        let shared = Shared::new(Arc::new(Head::new(layout)), Arc::clone(&options.watch), start);
        let shared = Arc::new(shared);
        shared.set_figures(&writer);
        let index = if options.index {
            Some(IndexWriter::start(copy, index_valid, &recovered.keyed, &key_places, identity)?)
        } else {
            None
        };
        let journal = Self {
            shared: Arc::clone(&shared),
            segments: Arc::clone(&segments),
            worker: None,
            index: index.as_ref().map(|index| index.index().clone()),
            ledger,
            start,
            nonce,
            batch: 0,
            next_id: 1,
            next_unit: 1,
            recent: VecDeque::new(),
            recent_bytes: 0,
            cache_bytes: options.cache_bytes,
            checkpoints: 1,
            checkpoint_in_work: false,
            covered: written,
            uncovered_since_ms: None,
            segment_bytes,
            body_files: BodyFiles::new(Arc::clone(&files), start),
            files: Arc::clone(&files),
            lock: Arc::clone(&lock),
        };
        Ok((journal, Committer::new((files, lock), segments, shared, writer, index), recovered))
    }

    /// Reads keyed state outside of the core; none if the store was opened without an index.
    pub fn keyed_index(&self) -> Option<KeyedIndex> {
        self.index.clone()
    }

    /// Enters what a batch says into the ledger, and gives the keyed values that became real.
    fn enter(&mut self, batch: &Batch) -> Vec<RealChange> {
        let mut real = Vec::new();
        let ledger = &mut self.ledger;
        for (op, place) in batch.ops.iter().zip(&batch.places) {
            let place = *place;
            match op {
                Op::Message(_, message) => ledger.message(message.unit, place),
                Op::Keyed(unit, change) => ledger.keyed(*unit, change.clone(), place, &mut real),
                Op::Commit(commit) => {
                    let kills = commit.kills.iter().map(|kill| kill.place);
                    let changes = commit.changes.iter().cloned().zip(change_places(commit, place));
                    ledger.commit(commit.unit, place, kills, changes, &mut real);
                }
                Op::BackOut(unit, written) => ledger.back_out(*unit, Some(place), written),
                Op::Prepare(prepare) => ledger.prepare(prepare.unit, place),
                Op::Moved(_) => {}
            }
        }
        for left in &batch.left {
            self.ledger.set_end(left.segment, left.offset);
        }
        if self.index.is_none() {
            real.clear();
        }
        real
    }

    /// Forgets the oldest batches in memory, but never one that is not on disk.
    fn trim_recent(&mut self) {
        let durable = self.shared.durable_position();
        while self.recent_bytes > self.cache_bytes
            && let Some(oldest) = self.recent.pop_front_if(|batch| batch.position <= durable)
        {
            self.recent_bytes -= memory_of(&oldest);
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
        Taken {
            checkpoint: recover::take_checkpoint(&self.ledger, start, position, counters),
            droppable: self.ledger.wholly_dead(position.segment),
        }
    }

    /// Takes up what the committer has done of a checkpoint.
    fn settle_checkpoint(&mut self) {
        let Some(outcome) = self.shared.take_checkpointed() else { return };
        self.checkpoint_in_work = false;
        if let Some(Taken { checkpoint, droppable }) = outcome {
            self.checkpoints += 1;
            self.covered = checkpoint.position;
            self.ledger.forget(&droppable);
        }
    }

    fn uncovered_bytes(&self) -> u64 {
        let Spot { segment, offset } = self.shared.head.spot();
        let segments = u64::from(segment.saturating_sub(self.covered.segment));
        (segments * self.segment_bytes + u64::from(offset)).saturating_sub(u64::from(self.covered.offset))
    }

    fn is_checkpoint_due(&mut self, monotonic_ms: u64) -> bool {
        let bytes = self.uncovered_bytes();
        if bytes == 0 {
            return false;
        }
        let since = *self.uncovered_since_ms.get_or_insert(monotonic_ms);
        bytes >= CHECKPOINT_BYTES || monotonic_ms.saturating_sub(since) >= CHECKPOINT_AFTER_MS
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
        self.next_unit = batch.next_unit;
        if batch.is_empty() {
            return Position { start: self.start, batch: self.batch };
        }
        batch.seal();
        self.batch = batch.position.batch;
        self.next_id = batch.next_id;
        let changes = self.enter(&batch);
        let position = batch.position;
        let batch = Arc::new(batch);
        self.recent_bytes += memory_of(&batch);
        self.recent.push_back(Arc::clone(&batch));
        self.shared.push(Job::Batch(Submitted { batch, changes }));
        self.trim_recent();
        position
    }

    fn body(&self, id: Id, place: Place) -> BodyRef {
        if id.start() == self.start {
            let index = self.recent.partition_point(|batch| batch.next_id <= id.counter());
            if let Some(batch) = self.recent.get(index).filter(|batch| batch.find(id).is_some()) {
                let batch = Arc::clone(batch);
                return match self.segments.slot(place.segment) {
                    Some(slot) => BodyRef::new(id, place, Arc::new(Recent::new(&batch, slot))),
                    // The message is dead, and so was all of its segment: it is nowhere else.
                    None => BodyRef::new(id, place, batch),
                };
            }
        }
        match self.segments.get(place.segment) {
            Some(segment) => BodyRef::new(id, place, segment),
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
        if !self.checkpoint_in_work && self.is_checkpoint_due(monotonic_ms) {
            let taken = self.take_checkpoint();
            self.shared.push(Job::Checkpoint(taken));
        }
    }

    fn compact(&mut self, _batch: &mut Batch, _moved: &mut dyn FnMut(&Moved) -> bool) {}

    fn room(&self) -> Room {
        Room::Enough
    }

    fn body_files(&self) -> BodyFiles {
        self.body_files.clone()
    }

    fn recover(&mut self) -> Result<Recovered, StoreError> {
        Err(StoreError::Stopped)
    }

    fn stat(&self) -> Stat {
        let figures = self.shared.figures();
        let (segments, disk_bytes) = self.segments.sizes();
        Stat {
            messages: self.ledger.messages(),
            live_bytes: self.ledger.live_bytes(),
            segments,
            disk_bytes,
            groups: figures.groups,
            syncs: figures.syncs,
            records: figures.records,
            checkpoints: self.checkpoints,
            start: self.start,
            ..Stat::default()
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
    }
}

#[cfg(test)]
impl Journal {
    /// Opens on other files, with the committer's turns left to the caller.
    fn open_inline(files: Arc<dyn Files>, options: &OpenOptions) -> Result<(Self, Recovered), StoreError> {
        let (mut journal, committer, recovered) = Self::open_with(files, options)?;
        journal.worker = Some(Worker::Inline(Box::new(committer)));
        Ok((journal, recovered))
    }

    /// One turn of the committer, if it has no thread.
    fn turn_inline(&mut self) {
        self.inline(|committer, shared| committer.turn(shared.take()));
    }

    /// What the committer does after a while without work.
    fn idle_inline(&mut self) {
        self.inline(|committer, _| committer.idle());
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

/// What a batch in memory costs, roughly.
fn memory_of(batch: &Batch) -> usize {
    batch.bytes + batch.ops.len() * (size_of::<Op>() + size_of::<Place>())
}
