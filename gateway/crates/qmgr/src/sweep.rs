//! Expiry: messages whose time is over go when somebody would get them, and by a sweep in bounded steps.
//!
//! The sweep comes by every second while something can expire, since expiry is by the wall clock, which may jump. It
//! looks only at what has expired: each queue has its messages that can expire by time, and here the queues stand by
//! the time of their first one.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::manager::QueueManager;
use crate::queue::Local;
use crate::verb::Now;

/// When what expires.
#[derive(Debug, Default)]
pub(crate) struct Sweep {
    /// When the sweep goes on; none if nothing can expire.
    pub(crate) at: Option<Instant>,
    /// Queues with messages that can expire, by when the first of them does, or did before it was taken: as
    /// [`Local::due`].
    due: BTreeSet<(u64, u64)>,
    /// Queues and messages looked at, ever: what a test counts instead of time.
    pub(crate) steps: u64,
}

impl Sweep {
    /// A message of the queue expires then.
    pub(crate) fn note(&mut self, number: u64, local: &mut Local, expiry_ms: u64) {
        if local.due.is_some_and(|due| due <= expiry_ms) {
            return;
        }
        if let Some(due) = local.due.replace(expiry_ms) {
            self.due.remove(&(due, number));
        }
        self.due.insert((expiry_ms, number));
    }

    /// Notes what can expire on a queue, whatever was noted before.
    pub(crate) fn renote(&mut self, number: u64, local: &mut Local) {
        if let Some(due) = local.due.take() {
            self.due.remove(&(due, number));
        }
        if let Some(first) = local.index.first_expiry() {
            self.note(number, local, first);
        }
    }
}

impl QueueManager {
    pub(crate) fn sweep_interval(&self) -> Duration {
        Duration::from_millis(self.settings.limits.sweep_interval_ms)
    }

    /// A message of a queue expires then; 0 is never.
    pub(crate) fn note_expiry(&mut self, now: Now, number: u64, expiry_ms: u64) {
        let Some(local) = self.directory.local_mut(number).filter(|_| expiry_ms != 0) else { return };
        self.sweep.note(number, local, expiry_ms);
        let interval = self.sweep_interval();
        self.sweep.at.get_or_insert(now.instant + interval);
    }

    /// One step: what has expired, up to so many messages as the limit says. Ends with a time for the next step, if
    /// there is still something that can expire: at once, if it has already.
    pub(crate) fn sweep(&mut self, now: Now) {
        let mut left = self.settings.limits.sweep_messages_max;
        while left > 0
            && let Some((at, number)) = self.sweep.due.first().copied()
        {
            let local = self.directory.local_mut(number);
            let real = local.as_ref().is_some_and(|local| local.index.first_expiry() == Some(at));
            if real && at > now.wall_ms {
                break;
            }
            self.sweep.due.remove(&(at, number));
            self.sweep.steps += 1;
            left -= 1;
            if let Some(local) = local {
                let keys = local.index.expired(now.wall_ms, left);
                left -= keys.len();
                self.sweep.steps += keys.len() as u64;
                self.expired.take(number, local, &keys);
                local.due = None;
                self.sweep.renote(number, local);
            }
        }
        let first = self.sweep.due.first().map(|(at, _)| *at);
        self.sweep.at = first.map(|at| match at <= now.wall_ms {
            true => now.instant,
            false => now.instant + self.sweep_interval(),
        });
    }

    /// Sweeps a queue because it is full.
    pub(crate) fn sweep_queue(&mut self, now: Now, number: u64) {
        if let Some(local) = self.directory.local_mut(number) {
            let keys = local.index.expired(now.wall_ms, self.settings.limits.sweep_messages_max);
            self.expired.take(number, local, &keys);
        }
    }

    /// The deaths of the expired are still to be written: soon.
    pub(crate) fn sweep_soon(&mut self, now: Now) {
        if !self.expired.is_empty() {
            self.sweep.at = Some(now.instant);
        }
    }
}
