//! Entries of idle devices on their way out of memory and back (STORE.md 7).
//!
//! The area says what must go and what must come. The derived index, and the journal where the index has lost something,
//! are used on the blocking pool; what came of it is a command to the same generation. Of each kind (out, in, in from
//! the journal) one job is under way at a time, so those who come do not wait behind those who go, and nobody behind a
//! long read of the journal.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use mqe::area::{ColdWork, cold_entries, owner_of};
use store::StoreError;
use tokio_util::task::TaskTracker;

use super::command::Command;
use super::lanes::Lane;
use super::turn::{Core, Turn};
use crate::system;

/// Devices in one job.
const JOB_DEVICES_MAX: usize = 256;
/// Bytes after which a job takes no more entries out.
const JOB_BYTES_MAX: usize = 4 << 20;
/// Devices whose entries cannot be had, as status remembers them.
const LOST_MAX: usize = 100;

/// Entries to be kept: number, part, and they.
type Leaving = (u32, u32, Bytes);

/// Entries to be brought.
#[derive(Debug, Clone)]
pub(crate) struct Load {
    number: u32,
    parts: u32,
    last: store::Id,
    /// Messages that have ended and are in the store still.
    ended: Vec<store::Id>,
}

/// What came of a job.
#[derive(Debug)]
pub(crate) enum ColdDone {
    /// Whether the entries of each device are kept.
    Evicted(Vec<(u32, bool)>),
    /// The entries of each; none where the index has lost them.
    Loaded(Vec<(Load, Option<Vec<u8>>)>),
    /// Those that came from the journal.
    Rebuilt(Load, Result<Vec<u8>, StoreError>),
}

/// What waits, and what is under way. It belongs to one generation.
#[derive(Debug, Default)]
pub(super) struct Cold {
    leaving: VecDeque<Leaving>,
    coming: VecDeque<Load>,
    missing: VecDeque<Load>,
    is_evicting: bool,
    is_loading: bool,
    is_rebuilding: bool,
    jobs: TaskTracker,
    /// Devices whose entries are nowhere, and why.
    lost: BTreeMap<u32, String>,
}

/// Since the start of the process.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct ColdCounts {
    /// Times at which the entries of a device left memory.
    pub(super) evictions: u64,
    /// Times at which they came back.
    pub(super) loads: u64,
    /// Of these, times at which the index had lost them and the journal was read.
    pub(super) rebuilds: u64,
}

impl Cold {
    /// Returns when no job has the index any more. Only after the lanes have ended.
    pub(super) async fn end(&self) {
        self.jobs.close();
        self.jobs.wait().await;
    }

    /// What is wrong, for status.
    pub(super) fn problems(&self) -> impl Iterator<Item = String> {
        self.lost.values().map(|what| {
            format!("damaged: {what}: the device waits; stop the service and see `mqe-gateway store check`")
        })
    }
}

impl Core {
    /// Begins what the area has asked for.
    pub(super) fn begin_cold_work(&mut self) {
        while let Some(work) = self.area.poll_cold() {
            match work {
                ColdWork::Evict { number, part, entries } => {
                    self.cold.leaving.push_back((number, part, entries));
                }
                ColdWork::Load { number, parts, last, ended } => {
                    self.cold.coming.push_back(Load { number, parts, last, ended });
                }
            }
        }
        if !self.cold.is_evicting && !self.cold.leaving.is_empty() {
            self.evict();
        }
        if !self.cold.is_loading && !self.cold.coming.is_empty() {
            self.load();
        }
    }

    /// Begins to read the journal for who is not in the index any more. Where the batch has just been handed over:
    /// what the store knows now is all that became of the messages.
    pub(super) fn begin_rebuild(&mut self) {
        if self.cold.is_rebuilding {
            return;
        }
        let Some(load) = self.cold.missing.pop_front() else { return };
        self.cold.is_rebuilding = true;
        let ticket = self.store.entries(owner_of(load.number));
        let ended = load.ended.clone();
        let read = move || Ok(cold_entries(&ticket.read()?, load.last, &ended));
        self.job(read, move |entries| ColdDone::Rebuilt(load, entries.unwrap_or(Err(StoreError::Stopped))));
    }

    /// What came of a job.
    pub(super) fn cold_done(&mut self, done: ColdDone, turn: &mut Turn) {
        match done {
            ColdDone::Evicted(outcomes) => {
                self.cold.is_evicting = false;
                for (number, kept) in outcomes {
                    if !kept {
                        self.area.not_evicted(number);
                    } else if self.area.evicted(number) {
                        self.lasting.cold.evictions += 1;
                    }
                }
            }
            ColdDone::Loaded(outcomes) => {
                self.cold.is_loading = false;
                for (load, entries) in outcomes {
                    let loaded =
                        entries.is_some_and(|entries| self.loaded(load.number, &entries, turn).is_ok());
                    if !loaded {
                        self.cold.missing.push_back(load);
                    }
                }
            }
            ColdDone::Rebuilt(load, entries) => {
                self.cold.is_rebuilding = false;
                let loaded = entries.map_err(|error| error.to_string());
                let loaded = loaded.and_then(|entries| self.loaded(load.number, &entries, turn));
                match loaded {
                    Ok(()) => self.lasting.cold.rebuilds += 1,
                    Err(why) => self.lost(load.number, &why, turn),
                }
            }
        }
    }

    fn loaded(&mut self, number: u32, entries: &[u8], turn: &mut Turn) -> Result<(), String> {
        self.area
            .loaded(number, entries, &mut turn.batch, &mut turn.area)
            .map_err(|error| error.to_string())?;
        self.lasting.cold.loads += 1;
        self.cold.lost.remove(&number);
        Ok(())
    }

    fn lost(&mut self, number: u32, why: &str, turn: &mut Turn) {
        let device = self.area.name_of(number).map_or_else(|| number.to_string(), |name| name.to_string());
        let what = format!("the messages that wait for device {device} cannot be found: {why}");
        let lost = &mut self.cold.lost;
        // Told once: the device comes again and again.
        if lost.len() < LOST_MAX && !lost.contains_key(&number) {
            tracing::error!("{what}");
            lost.insert(number, what);
        }
        self.area.lost(number, &mut turn.area);
    }

    fn evict(&mut self) {
        let Some(index) = self.store.cold_index() else {
            for (number, ..) in self.cold.leaving.drain(..) {
                self.area.not_evicted(number);
            }
            return;
        };
        let mut entries: Vec<Leaving> = Vec::new();
        let mut bytes = 0;
        while entries.len() < JOB_DEVICES_MAX
            && bytes < JOB_BYTES_MAX
            && let Some(leaving) = self.cold.leaving.pop_front()
        {
            bytes += leaving.2.len();
            entries.push(leaving);
        }
        let numbers: Vec<u32> = entries.iter().map(|(number, ..)| *number).collect();
        self.cold.is_evicting = true;
        let put = move || {
            let put =
                |(number, part, entries): Leaving| (number, index.put(owner_of(number), part, &entries));
            entries.into_iter().map(put).collect()
        };
        self.job(put, |kept| {
            let none = || numbers.into_iter().map(|number| (number, false)).collect();
            ColdDone::Evicted(kept.unwrap_or_else(none))
        });
    }

    fn load(&mut self) {
        let count = self.cold.coming.len().min(JOB_DEVICES_MAX);
        let loads: Vec<Load> = self.cold.coming.drain(..count).collect();
        let Some(index) = self.store.cold_index() else {
            return self.cold.missing.extend(loads);
        };
        let asked = loads.clone();
        self.cold.is_loading = true;
        let get = move || {
            let get = |load: Load| {
                let owner = owner_of(load.number);
                let entries = index.get(owner, load.parts);
                // Before anybody knows that they were here, so that they cannot have gone again meanwhile.
                index.remove(owner, load.parts);
                (load, entries)
            };
            loads.into_iter().map(get).collect()
        };
        self.job(get, |entries| {
            let none = || asked.into_iter().map(|load| (load, None)).collect();
            ColdDone::Loaded(entries.unwrap_or_else(none))
        });
    }

    /// Does this on the blocking pool, and has a command made of it; of none, if it panicked.
    fn job<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
        done: impl FnOnce(Option<T>) -> ColdDone + Send + 'static,
    ) {
        let sender = self.sender();
        self.cold.jobs.spawn(async move {
            let worked = system::blocking(work).await.ok();
            // If the generation has ended, so has the area that asked.
            let _ = sender.send(Lane::Control, Command::Cold(done(worked))).await;
        });
    }
}
