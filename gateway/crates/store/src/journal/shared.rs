//! What the core and the committer share: the queue between them, how far the disk is, and figures.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::writer::Writer;
use crate::batch::Batch;
use crate::format::checkpoint::Checkpoint;
use crate::head::Head;
use crate::ledger::RealChange;
use crate::{Position, StoreError, Watch};

/// Of what waits, at most this is taken for one turn.
const TURN_BYTES: usize = 4 << 20;
const TURN_JOBS: usize = 256;

/// A batch that was handed over, and the keyed values that became real with it.
#[derive(Debug)]
pub(crate) struct Submitted {
    pub(crate) batch: Arc<Batch>,
    pub(crate) changes: Vec<RealChange>,
}

/// A checkpoint of one turn of the core, and the segments that nobody needs once it is durable.
#[derive(Debug)]
pub(crate) struct Taken {
    pub(crate) checkpoint: Checkpoint,
    pub(crate) droppable: Vec<u32>,
}

/// Work for the committer, in the order of the core's turns.
#[derive(Debug)]
pub(crate) enum Job {
    Batch(Submitted),
    Checkpoint(Taken),
    /// The last job.
    Close(Taken),
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
}

/// What the committer has done.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Figures {
    pub(crate) groups: u64,
    pub(crate) syncs: u64,
    pub(crate) records: u64,
}

impl Shared {
    pub(crate) fn new(head: Arc<Head>, watch: Arc<dyn Watch>, start: u32) -> Self {
        Self {
            head,
            watch,
            start,
            durable: AtomicU64::new(0),
            in_flight: AtomicUsize::new(0),
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

    pub(crate) fn set_figures(&self, writer: &Writer) {
        self.lock().figures =
            Figures { groups: writer.groups, syncs: writer.syncs, records: writer.records_written };
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
