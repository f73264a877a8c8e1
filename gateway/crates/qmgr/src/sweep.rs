//! Expiry: messages whose time is over go when somebody would get them, and by a sweep in bounded steps.

use std::time::{Duration, Instant};

use mq_wire::QName;

use crate::index::Key;
use crate::manager::QueueManager;
use crate::verb::Now;

impl QueueManager {
    pub(crate) fn sweep_interval(&self) -> Duration {
        Duration::from_millis(self.settings.limits.sweep_interval_ms)
    }

    /// One step: so many messages as the limit says, going round all queues with messages that can expire. Ends with
    /// a time for the next step, if there is still something that can expire.
    pub(crate) fn sweep(&mut self, now: Now) {
        let mut left = self.settings.limits.sweep_messages_max;
        let queues: Vec<(QName, u64)> = self
            .directory
            .iter()
            .filter(|object| object.local.as_ref().is_some_and(|local| local.index.expiring() > 0))
            .map(|object| (object.definition.queue_name(), object.number()))
            .collect();
        // Each queue once, the one where the last step stopped first.
        let (before, from): (Vec<_>, Vec<_>) =
            queues.into_iter().partition(|(name, _)| *name < self.sweep_from);
        self.sweep_from = QName::BLANK;
        for (name, number) in from.into_iter().chain(before) {
            if left == 0 {
                self.sweep_from = name;
                break;
            }
            left -= self.sweep_some(now, number, left);
            if self.directory.local(number).is_some_and(|local| local.sweep.is_some()) {
                self.sweep_from = name;
                break;
            }
        }
        self.sweep_at = self.next_sweep(now.instant);
    }

    fn next_sweep(&self, from: Instant) -> Option<Instant> {
        let mut locals = self.directory.iter().filter_map(|object| object.local.as_ref());
        locals.any(|local| local.index.expiring() > 0).then(|| from + self.sweep_interval())
    }

    /// Sweeps a queue because it is full.
    pub(crate) fn sweep_queue(&mut self, now: Now, number: u64) {
        if self.directory.local(number).is_some_and(|local| local.index.expiring() > 0) {
            self.sweep_some(now, number, self.settings.limits.sweep_messages_max);
        }
    }

    /// Looks at up to `max` messages of a queue, from where the last look ended. Says at how many.
    fn sweep_some(&mut self, now: Now, number: u64, max: usize) -> usize {
        let Some(local) = self.directory.local_mut(number) else { return 0 };
        let (mut looked, mut last, mut expired) = (0, None, Vec::new());
        for (key, entry) in local.index.behind(local.sweep).take(max) {
            looked += 1;
            last = Some(key);
            if entry.is_expired(now.wall_ms) {
                expired.push(key);
            }
        }
        let more = |last: &Key| local.index.behind(Some(*last)).next().is_some();
        local.sweep = last.filter(more);
        self.expired.take(number, local, &expired);
        looked
    }
}
