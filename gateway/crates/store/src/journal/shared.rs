//! What the core and the committer share: the queue between them, how far the disk is, and figures.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::snapshot::Request;
use super::writer::{Writer, Written};
use crate::batch::Batch;
use crate::format::checkpoint::Checkpoint;
use crate::head::Head;
use crate::layout::Spot;
use crate::{BodyFile, Histogram, Position, Room, StoreError, Watch};

/// Of what waits, at most this is taken for one turn.
const TURN_BYTES: usize = 4 << 20;
const TURN_JOBS: usize = 256;

/// A batch that was handed over, and when.
#[derive(Debug)]
pub(crate) struct Submitted {
    pub(crate) batch: Arc<Batch>,
    pub(crate) since: Instant,
}

/// A checkpoint of one turn of the core, and the segments that nobody needs once it is durable.
#[derive(Debug)]
pub(crate) struct Taken {
    pub(crate) checkpoint: Checkpoint,
    pub(crate) droppable: Vec<u32>,
    /// Files of bodies that nobody uses as of then.
    pub(crate) dead_bodies: Vec<BodyFile>,
    /// Who wants a copy of the store as of then.
    pub(crate) snapshot: Option<Request>,
}

/// Work for the committer, in the order of the core's turns.
#[derive(Debug)]
pub(crate) enum Job {
    Batch(Submitted),
    Checkpoint(Taken),
    /// The last job.
    Close(Taken),
    /// Nothing was written for a while: old segments need not be kept.
    DropSpares,
    /// Go on in this segment, which the core has begun.
    Roll(u32),
}

/// What a wait of the committer ended with.
#[derive(Debug)]
pub(crate) enum Work {
    Jobs(Vec<Job>),
    Idle,
    Stop,
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) head: Arc<Head>,
    watch: Arc<dyn Watch>,
    start: u32,
    durable: AtomicU64,
    in_flight: AtomicUsize,
    short: AtomicBool,
    queue: Mutex<Queue>,
    wake: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    jobs: VecDeque<Job>,
    stop: bool,
    failed: Option<StoreError>,
    checkpointed: Option<Option<Taken>>,
    figures: Figures,
    synced: Option<Spot>,
}

/// What the committer has done.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Figures {
    pub(crate) written: Written,
    pub(crate) wait_us: Histogram,
    pub(crate) recycled: u64,
    /// Bytes kept beside the segments.
    pub(crate) kept_bytes: u64,
    /// What of the reserve the running service may take.
    pub(crate) left_bytes: u64,
}

impl Shared {
    pub(crate) fn new(head: Arc<Head>, watch: Arc<dyn Watch>, start: u32) -> Self {
        Self {
            head,
            watch,
            start,
            durable: AtomicU64::new(0),
            in_flight: AtomicUsize::new(0),
            short: AtomicBool::new(false),
            queue: Mutex::default(),
            wake: Condvar::new(),
        }
    }

    /// Hands a job over. After a failure it goes nowhere.
    pub(crate) fn push(&self, job: Job) {
        if matches!(job, Job::Batch(_)) {
            self.in_flight.fetch_add(1, Ordering::AcqRel);
        }
        let mut queue = self.lock();
        if queue.failed.is_none() {
            queue.jobs.push_back(job);
            self.wake.notify_one();
        }
    }

    /// Waits for work; with `idle_after`, not longer than that.
    pub(crate) fn wait(&self, idle_after: Option<Duration>) -> Work {
        let until = idle_after.map(|after| Instant::now() + after);
        let mut queue = self.lock();
        loop {
            if !queue.jobs.is_empty() {
                return Work::Jobs(queue.take());
            }
            if queue.stop {
                return Work::Stop;
            }
            queue = match until {
                None => self.wake.wait(queue).unwrap_or_else(PoisonError::into_inner),
                Some(until) => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Work::Idle;
                    }
                    self.wake.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    /// What waits, without waiting.
    #[cfg(test)]
    pub(crate) fn take(&self) -> Vec<Job> {
        self.lock().take()
    }

    /// No more jobs will come.
    pub(crate) fn stop(&self) {
        self.lock().stop = true;
        self.wake.notify_one();
    }

    /// Everything up to `position` is on disk, which are `count` batches more than before. After a failure nobody is
    /// told: the core may have found that the directory is gone while the committer was at it.
    pub(crate) fn durable(&self, position: Position, count: usize) {
        if self.failure().is_some() {
            return;
        }
        self.durable.store(position.batch, Ordering::Release);
        self.in_flight.fetch_sub(count, Ordering::AcqRel);
        self.watch.durable(position);
    }

    /// Nothing more will be on disk. The watch is told once.
    pub(crate) fn fail(&self, error: StoreError) {
        let mut queue = self.lock();
        queue.jobs.clear();
        if queue.failed.replace(error.clone()).is_none() {
            drop(queue);
            self.watch.failed(error);
        }
    }

    pub(crate) fn failure(&self) -> Option<StoreError> {
        self.lock().failed.clone()
    }

    pub(crate) fn durable_position(&self) -> Position {
        Position { start: self.start, batch: self.durable.load(Ordering::Acquire) }
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Acquire)
    }

    /// The committer has done with a checkpoint: it is durable, or none if it was given up.
    pub(crate) fn checkpointed(&self, outcome: Option<Taken>) {
        self.lock().checkpointed = Some(outcome);
    }

    /// What became of the checkpoint, once.
    pub(crate) fn take_checkpointed(&self) -> Option<Option<Taken>> {
        self.lock().checkpointed.take()
    }

    /// What was written, after each flush; and up to where the last sync that returned has come.
    pub(crate) fn set_figures(&self, writer: &Writer, waited: impl Iterator<Item = Instant>) {
        let mut queue = self.lock();
        let before = queue.synced.replace(writer.synced);
        let is_sealed = before.is_some_and(|before| before.segment != writer.synced.segment);
        let figures = &mut queue.figures;
        figures.written = writer.written_figures;
        figures.recycled = writer.space.recycled;
        figures.kept_bytes = writer.space.bytes();
        figures.left_bytes = writer.space.left();
        for since in waited {
            figures.wait_us.add(u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX));
        }
        drop(queue);
        let short = writer.space.is_short();
        if self.short.swap(short, Ordering::AcqRel) != short || is_sealed {
            self.watch.turn_wanted();
        }
    }

    pub(crate) fn room(&self) -> Room {
        if self.short.load(Ordering::Acquire) { Room::Short } else { Room::Enough }
    }

    /// The core has something to do of its own.
    pub(crate) fn want_turn(&self) {
        self.watch.turn_wanted();
    }

    /// Where the journal was known synced last.
    pub(crate) fn synced(&self) -> Option<Spot> {
        self.lock().synced
    }

    pub(crate) fn figures(&self) -> Figures {
        self.lock().figures
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn take(&mut self) -> Vec<Job> {
        let mut bytes = 0;
        let mut jobs = Vec::new();
        while jobs.len() < TURN_JOBS && bytes < TURN_BYTES {
            let Some(job) = self.jobs.pop_front() else { break };
            if let Job::Batch(submitted) = &job {
                bytes += submitted.batch.bytes;
            }
            jobs.push(job);
        }
        jobs
    }
}
