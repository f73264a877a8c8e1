//! A device's store in memory, for simulated devices: it survives a simulated crash with what was synced, and
//! nothing else.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::storage::{Content, DeviceStore, Entry, StateError};

/// The "disk" of a simulated device. A device that is opened on it again finds what was synced.
#[derive(Debug, Clone, Default)]
pub struct MemoryDisk {
    synced: Arc<Mutex<Content>>,
    sync_time: Duration,
}

impl MemoryDisk {
    /// A disk whose syncs take so long; a crash in that time loses what was written.
    pub fn new(sync_time: Duration) -> Self {
        Self { synced: Arc::default(), sync_time }
    }

    /// Opens the store on it.
    pub fn open(&self) -> MemoryStore {
        MemoryStore { content: self.content(), disk: self.clone() }
    }

    /// What a device would find that is opened now.
    pub fn content(&self) -> Content {
        self.synced.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The store of one life of a simulated device.
#[derive(Debug)]
pub struct MemoryStore {
    content: Content,
    disk: MemoryDisk,
}

impl DeviceStore for MemoryStore {
    fn content(&self) -> &Content {
        &self.content
    }

    async fn write(&mut self, entries: Vec<Entry>) -> Result<(), StateError> {
        if self.disk.sync_time.is_zero() {
            // A crash can still come before the sync.
            tokio::task::yield_now().await;
        } else {
            tokio::time::sleep(self.disk.sync_time).await;
        }
        let mut synced = self.disk.synced.lock().unwrap_or_else(PoisonError::into_inner);
        for entry in &entries {
            synced.apply(entry);
            self.content.apply(entry);
        }
        Ok(())
    }
}
