//! Reading of stored bodies outside of the core, under a global budget of bytes in flight.

use std::sync::Arc;

use store::{BodyRef, Record, StoreError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The budget counts in units of this many bytes.
const UNIT_BYTES: usize = 1024;

/// Reads bodies; clones share one budget.
#[derive(Debug, Clone)]
pub(crate) struct Bodies {
    budget: Arc<Semaphore>,
    units: u32,
}

/// A record with its share of the budget, given back when it is dropped: after it was written to its peer.
#[derive(Debug)]
pub(crate) struct HeldRecord {
    pub(crate) record: Record,
    _share: OwnedSemaphorePermit,
}

impl Bodies {
    /// A budget for all readers together.
    pub(crate) fn new(in_flight_bytes_max: usize) -> Self {
        let units = u32::try_from(in_flight_bytes_max / UNIT_BYTES).unwrap_or(u32::MAX >> 3).max(1);
        Self { budget: Arc::new(Semaphore::new(units as usize)), units }
    }

    /// Reads a record of about `length` bytes when the budget has room for it. One that is larger than the whole
    /// budget takes all of it.
    pub(crate) async fn read(&self, body: BodyRef, length: usize) -> Result<HeldRecord, StoreError> {
        let units = u32::try_from(length.div_ceil(UNIT_BYTES)).unwrap_or(u32::MAX).clamp(1, self.units);
        let Ok(share) = Arc::clone(&self.budget).acquire_many_owned(units).await else {
            unreachable!("the semaphore is never closed")
        };
        let record = if body.is_cached() {
            body.read()?
        } else {
            tokio::task::spawn_blocking(move || body.read()).await.unwrap_or_else(|panicked| {
                Err(StoreError::Io {
                    action: "read",
                    path: "a record".to_owned(),
                    error: panicked.to_string(),
                })
            })?
        };
        Ok(HeldRecord { record, _share: share })
    }
}
