//! What time does: long polls end, messages are sent again, expired ones go (ONCE.md 2, mqe.md 2.6).

use std::time::{Duration, Instant};

use store::{Batch, Commit};

use super::counters::Counter;
use super::{Area, AreaEffect};
use crate::Now;

/// Most messages that one step ends or looks at before it continues later.
const STEP_MAX: usize = 1_000;
/// Wall time may run away from the monotonic clock by so much before expiry stops (DESIGN.md 4).
const JUMP_MS: u64 = 60_000;
/// For so long it stops.
const JUMP_PAUSE: Duration = Duration::from_secs(600);

/// Where the sweep for expired messages is, and what the clock did.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    /// When it goes on.
    next: Option<Instant>,
    /// The device to look at next, while a sweep is under way.
    cursor: u32,
    last: Option<Now>,
    paused_until: Option<Instant>,
}

impl Sweep {
    pub(super) fn new(now: Now, every: Duration) -> Self {
        Self { next: Some(now.instant + every), last: Some(now), ..Self::default() }
    }
}

impl Area {
    /// When [`Area::handle_timeout`] wants to be called.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let timer = self.timers.first().map(|(at, _)| *at);
        let sweep = if self.expiring > 0 { self.sweep.next } else { None };
        [timer, sweep].into_iter().flatten().min()
    }

    /// Time has come.
    pub fn handle_timeout(&mut self, now: Now, batch: &mut Batch, out: &mut Vec<AreaEffect>) {
        self.latest = now.instant;
        while let Some((at, number)) = self.timers.first().copied()
            && at <= now.instant
        {
            self.timers.remove(&(at, number));
            let Some(device) = self.devices.get_mut(&number) else { continue };
            if let Some(live) = &mut device.live {
                live.timer = None;
            }
            // Room in doubt may have come free where the batch could not be added to (the end of a refused message).
            self.serve_waiting(number, now, batch, out);
            let Some(device) = self.devices.get(&number) else { continue };
            let over = device.link().and_then(|link| link.get).is_some_and(|get| get.until <= now.instant);
            if over {
                self.end_wait(number, out);
            }
            self.resend(number, now, out);
            self.set_timer_after(number, Some(now.instant));
        }
        self.sweep(now, batch);
    }

    /// Whether the sweep stands still because the clock jumped, and until when.
    pub fn sweep_paused_until(&self) -> Option<Instant> {
        self.sweep.paused_until
    }

    /// An operator says that the clock is right.
    pub fn resume_sweep(&mut self) {
        self.sweep.paused_until = None;
    }

    /// Ends messages of a device that have expired, at most a step's worth.
    pub(super) fn expire_some(&mut self, number: u32, now: Now, batch: &mut Batch) -> usize {
        let Some(device) = self.devices.get_mut(&number) else { return 0 };
        if device.expiring == 0 {
            return 0;
        }
        let before = device.counters;
        let mut commit = Commit::default();
        let expired = device.queue.take_where(STEP_MAX, |entry| entry.is_expired(now.wall_ms));
        for entry in &expired {
            device.left_queue(entry);
            self.expiring -= 1;
            self.bytes -= u64::from(entry.length());
            device.end(entry, Counter::Expired, &mut commit);
        }
        device.commit(&before, commit, batch);
        expired.len()
    }

    fn sweep(&mut self, now: Now, batch: &mut Batch) {
        self.watch_clock(now);
        if self.expiring == 0 || self.sweep.next.is_some_and(|next| next > now.instant) {
            return;
        }
        self.sweep.next = Some(now.instant + self.settings.sweep_every);
        if self.sweep.paused_until.is_some() {
            return;
        }
        let mut steps = 0;
        let from = self.sweep.cursor;
        let numbers: Vec<(u32, usize, bool)> = self
            .devices
            .range(from..)
            .map(|(number, device)| (*number, device.queue.len(), device.expiring > 0))
            .take(STEP_MAX)
            .collect();
        let all = numbers.len() < STEP_MAX;
        for (number, waiting, expiring) in &numbers {
            if *expiring {
                steps += waiting;
                if self.expire_some(*number, now, batch) == STEP_MAX {
                    // There may be more of this one.
                    return self.sweep_continues(*number, now);
                }
            }
            if steps >= STEP_MAX {
                return self.sweep_continues(number + 1, now);
            }
        }
        match numbers.last() {
            Some((number, ..)) if !all => self.sweep_continues(number + 1, now),
            _ => self.sweep.cursor = 0,
        }
    }

    fn sweep_continues(&mut self, number: u32, now: Now) {
        self.sweep.cursor = number;
        self.sweep.next = Some(now.instant);
    }

    fn watch_clock(&mut self, now: Now) {
        if let Some(last) = self.sweep.last.replace(now) {
            let passed = u64::try_from(now.instant.saturating_duration_since(last.instant).as_millis());
            let expected = last.wall_ms.saturating_add(passed.unwrap_or(u64::MAX));
            if now.wall_ms.abs_diff(expected) > JUMP_MS {
                self.sweep.paused_until = Some(now.instant + JUMP_PAUSE);
            }
        }
        if self.sweep.paused_until.is_some_and(|until| until <= now.instant) {
            self.sweep.paused_until = None;
        }
    }

    /// Sets the device's timer to what comes first: the end of its wait, or the time to send again; or now, if its
    /// wait could be served.
    pub(super) fn set_timer(&mut self, number: u32) {
        self.set_timer_after(number, None);
    }

    /// The same; what is due at `handled` was done, what is left of it (a window at once) comes a little later.
    fn set_timer_after(&mut self, number: u32, handled: Option<Instant>) {
        let resend_after = self.settings.resend_after;
        let Some(device) = self.devices.get_mut(&number) else { return };
        let waiting = !device.queue.is_empty();
        let Some(live) = device.live.as_mut() else { return };
        let servable = waiting && live.doubt.len() < self.settings.in_doubt_max as usize;
        let wait = live.link.as_ref().and_then(|link| link.get).map(|get| get.until);
        let wait = wait.map(|until| if servable { until.min(self.latest) } else { until });
        let resumed = live.link.as_ref().is_some_and(|link| link.resumed);
        // A letter to the dead-letter queue is tried again whether the device is there or not.
        let again = live.doubt.values().filter(|doubt| resumed || doubt.rejected.is_some());
        let again = again.filter_map(|doubt| doubt.sent).min().map(|sent| sent + resend_after);
        let at = [wait, again].into_iter().flatten().min();
        let at = at.map(|at| handled.map_or(at, |handled| at.max(handled + Duration::from_millis(1))));
        if at != live.timer {
            if let Some(old) = live.timer {
                self.timers.remove(&(old, number));
            }
            live.timer = at;
            if let Some(at) = at {
                self.timers.insert((at, number));
            }
        }
    }
}
