//! Reading of stored bodies outside of the core, under a global budget of bytes in flight.

use std::sync::Arc;

use store::{BodyRef, Record, StoreError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The budget counts in units of this many bytes.
const UNIT_BYTES: usize = 1024;

/// The budget; clones share one.
///
/// Who waits for a share holds none: two that each hold one and wait for more would wait for ever. What needs several
/// bodies at once asks for their sum, or takes further shares with [`Bodies::try_share`] only.
#[derive(Debug, Clone)]
pub(crate) struct Bodies {
    budget: Arc<Semaphore>,
    units: u32,
}

/// A share of the budget, given back when it is dropped: after the bytes went to their peer.
#[derive(Debug)]
pub(crate) struct Share {
    _units: OwnedSemaphorePermit,
}

impl Bodies {
    /// A budget for all readers together.
    pub(crate) fn new(in_flight_bytes_max: u64) -> Self {
        let most = (Semaphore::MAX_PERMITS as u64).min(u64::from(u32::MAX));
        let units = (in_flight_bytes_max / UNIT_BYTES as u64).clamp(1, most) as u32;
        Self { budget: Arc::new(Semaphore::new(units as usize)), units }
    }

    /// Waits until so many bytes have room. More than the whole budget takes all of it.
    pub(crate) async fn share(&self, bytes: usize) -> Option<Share> {
        // The semaphore is never closed: there always is one in the end.
        let units = Arc::clone(&self.budget).acquire_many_owned(self.units_of(bytes)).await.ok()?;
        Some(Share { _units: units })
    }

    /// A further share, if there is room now.
    pub(crate) fn try_share(&self, bytes: usize) -> Option<Share> {
        let units = Arc::clone(&self.budget).try_acquire_many_owned(self.units_of(bytes)).ok()?;
        Some(Share { _units: units })
    }

    fn units_of(&self, bytes: usize) -> u32 {
        u32::try_from(bytes.div_ceil(UNIT_BYTES)).unwrap_or(u32::MAX).clamp(1, self.units)
    }
}

/// Reads a record, on the blocking pool where it is not in memory. The caller holds a share for it.
pub(crate) async fn read(body: BodyRef) -> Result<Record, StoreError> {
    if body.is_cached() {
        return body.read();
    }
    tokio::task::spawn_blocking(move || body.read()).await.unwrap_or_else(|panicked| {
        Err(StoreError::Io { action: "read", path: "a record".to_owned(), error: panicked.to_string() })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_wants_more_than_there_is_gets_all_of_it_and_no_more() {
        let bodies = Bodies::new(10 * 1024);
        let all = bodies.share(1 << 30).await.unwrap();
        assert!(bodies.try_share(1).is_none());
        drop(all);
        let half = bodies.share(5 * 1024).await.unwrap();
        assert!(bodies.try_share(6 * 1024).is_none());
        assert!(bodies.try_share(5 * 1024).is_some());
        drop(half);
    }
}
