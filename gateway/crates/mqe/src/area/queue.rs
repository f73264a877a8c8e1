//! The index of a device's waiting messages: priority descending, order ascending, 32 bytes a message.

use std::collections::VecDeque;

use store::{Id, Place};

/// The longest message that an entry can hold: 27 bits.
pub(super) const LENGTH_MAX: u32 = (1 << 27) - 1;
const PERSISTENT: u32 = 1 << 27;
const DELIVERIES_SHIFT: u32 = 28;

/// A stored message. Its order key is its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) id: Id,
    /// 0 is never.
    pub(super) expiry_ms: u64,
    pub(super) place: Place,
    /// Length in the low 27 bits, persistence, and deliveries (stop at 15) above.
    packed: u32,
}

impl Entry {
    pub(super) fn new(id: Id, place: Place, length: u32, expiry_ms: u64, persistent: bool) -> Self {
        let persistent = if persistent { PERSISTENT } else { 0 };
        Self { id, expiry_ms, place, packed: length.min(LENGTH_MAX) | persistent }
    }

    pub(super) fn length(&self) -> u32 {
        self.packed & LENGTH_MAX
    }

    pub(super) fn persistent(&self) -> bool {
        self.packed & PERSISTENT != 0
    }

    pub(super) fn deliveries(&self) -> u8 {
        (self.packed >> DELIVERIES_SHIFT) as u8
    }

    pub(super) fn delivered(&mut self) {
        if self.deliveries() < 15 {
            self.packed += 1 << DELIVERIES_SHIFT;
        }
    }

    pub(super) fn is_expired(&self, wall_ms: u64) -> bool {
        self.expiry_ms != 0 && self.expiry_ms <= wall_ms
    }
}

#[derive(Debug, Clone)]
struct Lane {
    priority: u8,
    entries: VecDeque<Entry>,
}

/// Waiting messages.
#[derive(Debug, Clone, Default)]
pub(super) struct SubQueue(Vec<Lane>);

impl SubQueue {
    pub(super) fn len(&self) -> usize {
        self.0.iter().map(|lane| lane.entries.len()).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Puts an entry at its place; at the end, nearly always.
    pub(super) fn insert(&mut self, priority: u8, entry: Entry) {
        let at = match self.0.binary_search_by(|lane| priority.cmp(&lane.priority)) {
            Ok(at) => at,
            Err(at) => {
                self.0.reserve_exact(1);
                self.0.insert(at, Lane { priority, entries: VecDeque::new() });
                at
            }
        };
        let entries = &mut self.0[at].entries;
        if entries.len() == entries.capacity() {
            // An eighth at a time: doubling would cost up to as much again as the entries themselves.
            entries.reserve_exact(1 + entries.len() / 8);
        }
        let behind = entries.partition_point(|other| other.id < entry.id);
        if behind == entries.len() {
            entries.push_back(entry);
        } else {
            entries.insert(behind, entry);
        }
    }

    /// The message that is next, with its priority.
    pub(super) fn first(&self) -> Option<(u8, &Entry)> {
        let lane = self.0.first()?;
        lane.entries.front().map(|entry| (lane.priority, entry))
    }

    pub(super) fn pop_first(&mut self) -> Option<(u8, Entry)> {
        let lane = self.0.first_mut()?;
        let priority = lane.priority;
        let entry = lane.entries.pop_front()?;
        self.tidy(0);
        Some((priority, entry))
    }

    /// Looks for a message; with its priority.
    pub(super) fn find(&self, id: Id) -> Option<(u8, &Entry)> {
        self.0.iter().find_map(|lane| {
            let at = lane.entries.binary_search_by_key(&id, |entry| entry.id).ok()?;
            Some((lane.priority, &lane.entries[at]))
        })
    }

    /// A message lies elsewhere now. Whether it was found.
    pub(super) fn set_place(&mut self, priority: u8, id: Id, place: Place) -> bool {
        let Ok(at) = self.0.binary_search_by(|lane| priority.cmp(&lane.priority)) else { return false };
        let entries = &mut self.0[at].entries;
        let Ok(at) = entries.binary_search_by_key(&id, |entry| entry.id) else { return false };
        entries[at].place = place;
        true
    }

    pub(super) fn remove(&mut self, id: Id) -> Option<(u8, Entry)> {
        for at in 0..self.0.len() {
            let lane = &mut self.0[at];
            if let Ok(found) = lane.entries.binary_search_by_key(&id, |entry| entry.id) {
                let priority = lane.priority;
                let entry = lane.entries.remove(found)?;
                self.tidy(at);
                return Some((priority, entry));
            }
        }
        None
    }

    /// Takes out what `wanted` says, at most `max`.
    pub(super) fn take_where(&mut self, max: usize, wanted: impl Fn(&Entry) -> bool) -> Vec<Entry> {
        let mut taken = Vec::new();
        for lane in &mut self.0 {
            lane.entries.retain(|entry| {
                let take = taken.len() < max && wanted(entry);
                if take {
                    taken.push(*entry);
                }
                !take
            });
        }
        self.0.retain(|lane| !lane.entries.is_empty());
        taken
    }

    /// All of them in the order in which they are handed out.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u8, &Entry)> {
        self.0.iter().flat_map(|lane| lane.entries.iter().map(|entry| (lane.priority, entry)))
    }

    /// A lane without entries goes; one that was much longer gives memory back.
    fn tidy(&mut self, at: usize) {
        let entries = &mut self.0[at].entries;
        if entries.is_empty() {
            self.0.remove(at);
        } else if entries.capacity() > 64 && entries.len() < entries.capacity() / 4 {
            entries.shrink_to(entries.len() * 2);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(number: u64) -> Entry {
        Entry::new(Id::from_u64(number), Place::default(), 10, 0, true)
    }

    /// DESIGN.md 9: at most 40 bytes a stored message, what a deque keeps in reserve included.
    #[test]
    fn an_entry_is_small() {
        assert_eq!(size_of::<Entry>(), 32);
        let mut queue = SubQueue::default();
        (0..10_000).for_each(|number| queue.insert(0, entry(number)));
        assert!(queue.0[0].entries.capacity() * size_of::<Entry>() <= 40 * 10_000);
    }

    #[test]
    fn priority_then_order() {
        let mut queue = SubQueue::default();
        for (priority, number) in [(0, 5), (9, 6), (0, 3), (4, 7), (0, 4)] {
            queue.insert(priority, entry(number));
        }
        assert_eq!(queue.find(Id::from_u64(7)).map(|(priority, _)| priority), Some(4));
        assert!(queue.remove(Id::from_u64(4)).is_some());
        assert!(queue.remove(Id::from_u64(4)).is_none());
        let order = std::iter::from_fn(|| queue.pop_first()).map(|(_, entry)| entry.id.as_u64());
        assert_eq!(order.collect::<Vec<_>>(), [6, 7, 3, 5]);
        assert!(queue.is_empty());
    }

    #[test]
    fn deliveries_stop_at_fifteen() {
        let mut entry = entry(1);
        (0..20).for_each(|_| entry.delivered());
        assert_eq!((entry.deliveries(), entry.length(), entry.persistent()), (15, 10, true));
    }
}
