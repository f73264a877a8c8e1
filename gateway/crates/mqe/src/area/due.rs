//! When the sweep must look at which device: one entry for each device with a message that can expire, under the second
//! in which its first one may have. Nothing for all the others.

use std::collections::BTreeSet;

use super::device::Device;

/// The device has nothing that expires.
pub(super) const NEVER: u32 = u32::MAX;

/// The second of all that expires later than a number of seconds can say (2106). It never comes.
const FAR: u32 = NEVER - 1;

/// Seconds since 1970, and the numbers of devices. An entry may be early: the message of its second may have gone.
#[derive(Debug, Default)]
pub(super) struct Due(BTreeSet<(u32, u32)>);

/// The second at whose beginning a message has expired.
fn second(expiry_ms: u64) -> u32 {
    u32::try_from(expiry_ms.div_ceil(1_000)).unwrap_or(FAR).min(FAR)
}

impl Due {
    /// The wall clock time in milliseconds at which the first device is to be looked at.
    pub(super) fn first_ms(&self) -> Option<u64> {
        self.0.first().map(|(second, _)| u64::from(*second) * 1_000)
    }

    /// The first device, if its time has come.
    pub(super) fn first(&self, wall_ms: u64) -> Option<u32> {
        let (second, number) = self.0.first()?;
        (*second < FAR && u64::from(*second) * 1_000 <= wall_ms).then_some(*number)
    }

    /// A message that expires then (0 is never) begins to wait.
    pub(super) fn entered(&mut self, device: &mut Device, expiry_ms: u64) {
        if expiry_ms != 0 && second(expiry_ms) < device.due {
            self.set(device, second(expiry_ms));
        }
    }

    /// Messages left the queue, or all of them.
    pub(super) fn left(&mut self, device: &mut Device) {
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
            self.0.remove(&(device.due, device.number));
        }
        device.due = second;
        if second != NEVER {
            self.0.insert((second, device.number));
        }
    }
}
