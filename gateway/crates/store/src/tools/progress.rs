//! How far the tools of this process have come, for whoever shows it. A command line runs one of them at a time; so these
//! are counters of the process, like those of an operating system.

use std::sync::atomic::{AtomicU64, Ordering};

static READ: AtomicU64 = AtomicU64::new(0);
static WRITTEN: AtomicU64 = AtomicU64::new(0);

/// What the tools of this process have done so far, all together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Bytes of stores and backups that were read; some are read twice.
    pub read_bytes: u64,
    /// Bytes of stores and backups that were written.
    pub written_bytes: u64,
}

/// How far they are.
pub fn progress() -> Progress {
    let [read_bytes, written_bytes] = [&READ, &WRITTEN].map(|counter| counter.load(Ordering::Relaxed));
    Progress { read_bytes, written_bytes }
}

pub(super) fn add_read(bytes: usize) {
    READ.fetch_add(bytes as u64, Ordering::Relaxed);
}

pub(super) fn add_written(bytes: usize) {
    WRITTEN.fetch_add(bytes as u64, Ordering::Relaxed);
}
