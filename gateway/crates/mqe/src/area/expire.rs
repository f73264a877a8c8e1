//! What time does: long polls end, messages are sent again, expired ones go (ONCE.md 2, mqe.md 2.6).

use std::time::{Duration, Instant};

use store::{Batch, Commit};

use super::counters::Counter;
use super::queue::Expired;
use super::{Area, AreaEffect};
use crate::Now;

/// Most messages that one step ends, and most devices that it looks at, before it continues later.
const STEP_MAX: usize = 1_000;
/// Most messages of these devices that it looks at.
const LOOKS_MAX: usize = 100_000;
/// Wall time may run away from the monotonic clock by so much before expiry stops (DESIGN.md 4).
const JUMP_MS: u64 = 60_000;
/// For so long it stops.
const JUMP_PAUSE: Duration = Duration::from_secs(600);
/// While something can expire the clocks are compared at least so often: a jump is seen when it happens.
const WATCH_EVERY: Duration = Duration::from_secs(60);

/// When the sweep for expired messages goes on, and what the clock did.
#[derive(Debug)]
pub(super) struct Sweep {
    /// Not before.
    next: Instant,
    /// When the clocks were compared.
    last: Now,
    paused_until: Option<Instant>,
    /// Devices that were looked at.
    #[cfg(test)]
    pub(super) looked: usize,
}

impl Sweep {
    pub(super) fn new(now: Now, every: Duration) -> Self {
        Self {
            next: now.instant + every,
            last: now,
            paused_until: None,
            #[cfg(test)]
            looked: 0,
        }
    }
}

impl Area {
    /// When [`Area::handle_timeout`] wants to be called.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let timer = self.timers.first().map(|(at, _)| *at);
        let sweep = self.index.first_ms().map(|at_ms| self.next_sweep(at_ms));
        let chores = self.has_chores().then_some(self.latest);
        // While the sweep stands still, so does the time of what is parked.
        let paused_until = self.sweep.paused_until;
        let parked = (!self.parked_numbers.is_empty()).then(|| self.parked.next_look());
        let parked = parked.map(|at| paused_until.map_or(at, |until| at.max(until)));
        let others = [self.next_eviction(), self.debts.next_due(), parked];
        [timer, sweep, chores].into_iter().chain(others).flatten().min()
    }

    /// Time has come.
    pub fn handle_timeout(&mut self, now: Now, batch: &mut Batch, out: &mut Vec<AreaEffect>) {
        self.latest = now.instant;
        while let Some((at, number)) = self.timers.first().copied()
            && at <= now.instant
        {
            self.timers.remove(&(at, number));
            let Some(device) = self.devices.get_mut(number) else { continue };
            if let Some(live) = &mut device.live {
                live.timer = None;
            }
            // Room in doubt may have come free where the batch could not be added to (the end of a refused message).
            self.serve_waiting(number, now, batch, out);
            let Some(device) = self.devices.get(number) else { continue };
            let over = device.link().and_then(|link| link.get).is_some_and(|get| get.until <= now.instant);
            if over {
                self.end_wait(number, out);
            }
            self.end_put_waits(number, now.instant, out);
            self.resend(number, now, out);
            self.set_timer_after(number, Some(now.instant));
        }
        self.sweep(now, batch);
        self.clear_some(batch);
        self.tidy_marks(batch);
        self.evict_some(now);
        if self.sweep.paused_until.is_none() {
            self.look_at_parked(now, batch);
        }
        self.call_in(now.instant, out);
    }

    /// Whether the sweep stands still because the clock jumped, and until when.
    pub fn sweep_paused_until(&self) -> Option<Instant> {
        self.sweep.paused_until
    }

    /// An operator says that the clock is right.
    pub fn resume_sweep(&mut self) {
        self.sweep.paused_until = None;
    }

    /// Ends messages of a device that have expired, at most so many; how many these were.
    pub(super) fn expire_some(&mut self, number: u32, max: usize, now: Now, batch: &mut Batch) -> usize {
        let Some(device) = self.devices.get_mut(number) else { return 0 };
        let mut commit = Commit::default();
        let before = device.queue.bytes();
        let Expired { entries, next_ms } = device.queue.take_expired(now.wall_ms, max);
        self.index.resized(before, &device.queue);
        for entry in &entries {
            self.bytes -= u64::from(entry.length());
            device.end_reported(entry, Counter::Expired, now.instant, &mut self.debts, &mut commit);
        }
        for entry in &entries {
            self.left_park(number, entry.id, &mut commit);
        }
        let Some(device) = self.devices.get_mut(number) else { return 0 };
        let away_ms = self.cold.next_ms(number, now.wall_ms);
        self.index.looked(device, [next_ms, away_ms].into_iter().flatten().min());
        device.commit(commit, batch, &mut self.newest);
        entries.len()
    }

    /// A device costs a look at what it has that can expire, and only when something of it may have expired.
    fn sweep(&mut self, now: Now, batch: &mut Batch) {
        self.watch_clock(now);
        if self.sweep.next > now.instant || self.sweep.paused_until.is_some() {
            return;
        }
        self.sweep.next = now.instant + self.settings.sweep_every;
        let (mut ended, mut devices, mut looks) = (0, 0, 0);
        while let Some(number) = self.index.first(now.wall_ms) {
            if ended >= STEP_MAX || devices >= STEP_MAX || looks >= LOOKS_MAX {
                // There is more.
                self.sweep.next = now.instant;
                return;
            }
            devices += 1;
            looks += self.devices.get(number).map_or(0, |device| device.queue.expiring());
            ended += self.expire_some(number, STEP_MAX - ended, now, batch);
            #[cfg(test)]
            {
                self.sweep.looked += 1;
            }
        }
    }

    /// When the sweep goes on if the first message expires at this time of the wall clock.
    fn next_sweep(&self, at_ms: u64) -> Instant {
        let Sweep { next, last, paused_until, .. } = &self.sweep;
        let watch = last.instant + WATCH_EVERY;
        // Far away is never, and is looked at with the clocks.
        let first = last.instant.checked_add(Duration::from_millis(at_ms.saturating_sub(last.wall_ms)));
        let first = first.map_or(watch, |first| first.max(*next));
        paused_until.map_or(first, |until| until.max(first)).min(watch.max(*next))
    }

    fn watch_clock(&mut self, now: Now) {
        let last = std::mem::replace(&mut self.sweep.last, now);
        let passed = u64::try_from(now.instant.saturating_duration_since(last.instant).as_millis());
        let expected = last.wall_ms.saturating_add(passed.unwrap_or(u64::MAX));
        if now.wall_ms.abs_diff(expected) > JUMP_MS {
            self.sweep.paused_until = Some(now.instant + JUMP_PAUSE);
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
        let Some(device) = self.devices.get_mut(number) else { return };
        let waiting = !device.queue.is_empty();
        let Some(live) = device.live.as_mut() else { return };
        let servable = waiting && live.doubt.len() < self.settings.in_doubt_max as usize;
        let wait = live.link.as_ref().and_then(|link| link.get).map(|get| get.until);
        let wait = wait.map(|until| if servable { until.min(self.latest) } else { until });
        let resumed = live.link.as_ref().is_some_and(|link| link.resumed);
        // A letter to the dead-letter queue is tried again whether the device is there or not.
        let again = live.doubt.values().filter(|doubt| resumed || doubt.rejected.is_some());
        let again = again.filter_map(|doubt| doubt.sent).min().map(|sent| sent + resend_after);
        let put = live.link.as_ref().and_then(|link| link.put_waits.values().map(|(_, until)| *until).min());
        let at = [wait, again, put].into_iter().flatten().min();
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

#[cfg(test)]
mod tests;
