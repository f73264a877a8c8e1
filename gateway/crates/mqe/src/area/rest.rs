//! What a device leaves behind that comes to rest: nothing but its record, its counters and its put marks.
//!
//! The mark says what may be in doubt after a restart (ONCE.md 2). When nothing is in doubt and the device is gone it
//! says nothing: whatever was handed out has ended, or waits again by the device's own word. It is removed then, and
//! not at the next RESUME, which may never come: a device at rest shall cost little (DESIGN.md 9).

use store::{Batch, Commit};

use super::device::Device;
use super::{Area, keys};

/// Most marks that one step removes.
const STEP_MAX: usize = 1_000;

impl Area {
    /// Whether there is something to do that waits for no time.
    pub(super) fn has_chores(&self) -> bool {
        !self.resting.is_empty() || !self.clearing.is_empty()
    }

    /// Lets a device come to rest, if there is nothing that keeps it from it.
    pub(super) fn rest(&mut self, number: u32) {
        if self.devices.get_mut(number).is_some_and(Device::rest) {
            self.resting.insert(number);
        }
    }

    /// Adds a commit that is not of one device.
    pub(super) fn commit(&mut self, commit: Commit, batch: &mut Batch) {
        if !commit.is_empty() {
            self.newest = batch.position();
            batch.commit(commit);
        }
    }

    /// Removes marks that say nothing any more.
    pub(super) fn tidy_marks(&mut self, batch: &mut Batch) {
        let mut commit = Commit::default();
        while let Some(number) = self.resting.pop_first() {
            // It may have come back.
            if let Some(device) = self.devices.get_mut(number).filter(|device| device.has_idle_mark()) {
                device.live().mark = Default::default();
                device.rest();
                commit.remove(keys::mark(number));
                if commit.changes.len() >= STEP_MAX {
                    break;
                }
            }
        }
        self.commit(commit, batch);
    }
}
