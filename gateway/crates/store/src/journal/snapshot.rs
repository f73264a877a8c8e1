//! A consistent copy of a running store: what a checkpoint lists, with the files held open until they are copied.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use super::reader::SegmentFile;
use crate::format::checkpoint::Checkpoint;
use crate::{BodyFile, StoreError};

/// The store as of one durable checkpoint. Its files stay readable, and are not written again, while this is held.
#[derive(Debug, Clone)]
pub(crate) struct Parts {
    pub(crate) checkpoint: Checkpoint,
    pub(crate) segments: Vec<Arc<SegmentFile>>,
    pub(crate) bodies: Vec<BodyFile>,
}

type Outcome = Option<Result<Parts, StoreError>>;

#[derive(Debug, Default)]
struct Slot {
    outcome: Mutex<Outcome>,
    done: Condvar,
}

/// The store's end: is filled once, at the latest when it is dropped.
#[derive(Debug)]
pub(crate) struct Request {
    slot: Arc<Slot>,
    /// Files of bodies as of the checkpoint's turn.
    pub(crate) bodies: Vec<BodyFile>,
}

/// The asker's end.
#[derive(Debug)]
pub struct SnapshotTicket {
    slot: Arc<Slot>,
}

pub(crate) fn pair() -> (Request, SnapshotTicket) {
    let slot = Arc::<Slot>::default();
    (Request { slot: Arc::clone(&slot), bodies: Vec::new() }, SnapshotTicket { slot })
}

impl Request {
    pub(crate) fn fill(&self, outcome: Result<Parts, StoreError>) {
        let mut slot = self.slot.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        if slot.is_none() {
            *slot = Some(outcome);
            self.slot.done.notify_all();
        }
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        self.fill(Err(StoreError::Stopped));
    }
}

impl SnapshotTicket {
    /// Waits until the checkpoint is durable. Blocks; not for the core.
    pub(crate) fn parts(self) -> Result<Parts, StoreError> {
        let mut slot = self.slot.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(outcome) = slot.take() {
                return outcome;
            }
            slot = self.slot.done.wait(slot).unwrap_or_else(PoisonError::into_inner);
        }
    }
}
