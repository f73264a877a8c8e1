//! Messages that compaction wrote again at another place: a later kill or read names the new one (STORE.md 4).

use store::Moved;

use super::Area;
use super::device::number_of;

impl Area {
    /// A live message lies elsewhere now. True if the area keeps the old place nowhere after
    /// that, also not in what was evicted. In the turn, and not
    /// between a method that took a `Commit` and the moment when that commit is added to the batch.
    pub fn moved(&mut self, moved: &Moved) -> bool {
        if self.debts.set_place(moved.id, moved.to) {
            return true;
        }
        let number = number_of(moved.owner);
        let Some(device) = number.and_then(|number| self.devices.get_mut(number)) else { return true };
        if device.queue.set_place(moved.priority, moved.id, moved.to) {
            return true;
        }
        let clearing = device.live.as_deref_mut().and_then(|live| live.clearing.as_deref_mut());
        if clearing.is_some_and(|clearing| {
            clearing.rest_mut().iter_mut().any(|rest| rest.set_place(moved.priority, moved.id, moved.to))
        }) {
            return true;
        }
        if let Some(doubt) = device.live.as_mut().and_then(|live| live.doubt.get_mut(&moved.id)) {
            doubt.entry.place = moved.to;
            return true;
        }
        if device.unreal > 0 {
            // Units that are open at the same time are few.
            for unit in self.units.values_mut() {
                if let Ok(at) = unit.stored.binary_search_by_key(&moved.id, |written| written.entry.id) {
                    unit.stored[at].entry.place = moved.to;
                    return true;
                }
            }
        }
        // What is not in memory goes on to have the old place.
        !number.is_some_and(|number| self.cold.is_away(number))
    }
}
