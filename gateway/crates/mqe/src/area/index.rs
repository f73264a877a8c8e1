//! What is kept over the queues of all devices: how much memory they take, and when the sweep must look at which.
//!
//! The sweep has one entry for each device with a message that can expire, under the second in which its first one may
//! have; nothing for all the others.

use std::collections::BTreeSet;

use super::device::Device;
use super::queue::SubQueue;

/// The device has nothing that expires.
pub(super) const NEVER: u32 = u32::MAX;

/// The second of all that expires later than a number of seconds can say (2106). It never comes.
const FAR: u32 = NEVER - 1;

#[derive(Debug, Default)]
pub(super) struct Index {
    /// Seconds since 1970, and the numbers of devices. One may be early: the message of its second may have gone.
    due: BTreeSet<(u32, u32)>,
    /// About how many bytes the queues take.
    bytes: u64,
}

/// The second at whose beginning a message has expired.
fn second(expiry_ms: u64) -> u32 {
    u32::try_from(expiry_ms.div_ceil(1_000)).unwrap_or(FAR).min(FAR)
}

impl Index {
    /// The wall clock time in milliseconds at which the first device is to be looked at.
    pub(super) fn first_ms(&self) -> Option<u64> {
        self.due.first().map(|(second, _)| u64::from(*second) * 1_000)
    }

    /// The first device, if its time has come.
    pub(super) fn first(&self, wall_ms: u64) -> Option<u32> {
        let (second, number) = self.due.first()?;
        (*second < FAR && u64::from(*second) * 1_000 <= wall_ms).then_some(*number)
    }

    /// About how many bytes the queues take.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// A queue that took so many bytes before has changed.
    pub(super) fn resized(&mut self, before: u64, queue: &SubQueue) {
        self.bytes = self.bytes.saturating_sub(before) + queue.bytes();
    }

    /// A message that expires then (0 is never) begins to wait.
    pub(super) fn entered(&mut self, device: &mut Device, expiry_ms: u64) {
        if expiry_ms != 0 && second(expiry_ms) < device.due {
            self.set(device, second(expiry_ms));
        }
    }

    /// Messages left the queue, which took so many bytes before.
    pub(super) fn left(&mut self, device: &mut Device, before: u64) {
        self.resized(before, &device.queue);
        if device.due != NEVER && device.queue.expiring() == 0 {
            self.set(device, NEVER);
        }
    }

    /// The device was looked at: what is left expires from then on.
    pub(super) fn looked(&mut self, device: &mut Device, next_ms: Option<u64>) {
        self.set(device, next_ms.map_or(NEVER, second));
    }

    fn set(&mut self, device: &mut Device, second: u32) {
        if device.due != NEVER {
            self.due.remove(&(device.due, device.number));
        }
        device.due = second;
        if second != NEVER {
            self.due.insert((second, device.number));
        }
    }
}
