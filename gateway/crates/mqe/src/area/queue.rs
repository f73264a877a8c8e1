//! The index of a device's waiting messages: priority descending, order ascending; 24 bytes a message, 16 more for one
//! that can expire, nothing for a device without messages.

use std::collections::VecDeque;

use bytes::{Buf, BufMut};
use store::{Id, Place};

/// The longest message that an entry can hold: 27 bits.
pub(super) const LENGTH_MAX: u32 = (1 << 27) - 1;
const PERSISTENT: u32 = 1 << 27;
/// Its sender wants to hear of its end.
const REPORTS: u32 = 1 << 28;
const DELIVERIES_SHIFT: u32 = 29;
/// The most deliveries that are told apart.
const DELIVERIES_MAX: u8 = 7;
/// As many taken out of a lane one by one cost less than a walk over it.
const FEW: usize = 8;

/// A stored message. Its order key is its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) id: Id,
    /// 0 is never.
    pub(super) expiry_ms: u64,
    pub(super) place: Place,
    /// Length in the low 27 bits, persistence, whether a report of its end is wanted, and deliveries (stop at 7) above.
    packed: u32,
    pub(super) priority: u8,
}

impl Entry {
    pub(super) fn new(
        id: Id,
        place: Place,
        priority: u8,
        length: u32,
        expiry_ms: u64,
        persistent: bool,
    ) -> Self {
        let persistent = if persistent { PERSISTENT } else { 0 };
        Self { id, expiry_ms, place, packed: length.min(LENGTH_MAX) | persistent, priority }
    }

    /// The same; its sender wants to hear of its end, or not.
    pub(super) fn with_reports(mut self, wanted: bool) -> Self {
        self.packed = if wanted { self.packed | REPORTS } else { self.packed & !REPORTS };
        self
    }

    pub(super) fn reports(&self) -> bool {
        self.packed & REPORTS != 0
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
        if self.deliveries() < DELIVERIES_MAX {
            self.packed += 1 << DELIVERIES_SHIFT;
        }
    }

    pub(super) fn is_expired(&self, wall_ms: u64) -> bool {
        self.expiry_ms != 0 && self.expiry_ms <= wall_ms
    }
}

/// An entry where it waits: the priority is that of its lane, the expiry stands apart.
#[derive(Debug, Clone, Copy)]
struct Slot {
    id: Id,
    place: Place,
    packed: u32,
}

#[derive(Debug)]
struct Lane {
    slots: VecDeque<Slot>,
    priority: u8,
}

impl Lane {
    fn at(&self, id: Id) -> Option<usize> {
        self.slots.binary_search_by_key(&id, |slot| slot.id).ok()
    }
}

/// What a device with waiting messages has: nearly always one lane, and nothing that expires.
#[derive(Debug)]
#[expect(
    clippy::box_collection,
    reason = "what few devices have takes a pointer of all the others, not a list's head"
)]
struct Waiting {
    /// The lane of the highest priority; never empty.
    first: Lane,
    /// Lanes of lower priorities, descending; none is empty.
    more: Option<Box<Vec<Lane>>>,
    /// When each expires that can, in the order of the ids.
    expiries: Option<Box<VecDeque<(Id, u64)>>>,
}

/// Waiting messages.
#[derive(Debug, Default)]
pub(super) struct SubQueue(Option<Box<Waiting>>);

/// Bytes of an entry in the derived index.
const ENTRY_BYTES: usize = 8 + 8 + 12 + 4 + 1;

/// So many entries, one after the other.
pub(super) fn entry_bytes(count: usize, entries: impl Iterator<Item = Entry>) -> Vec<u8> {
    let mut out = Vec::with_capacity(count * ENTRY_BYTES);
    for Entry { id, expiry_ms, place, packed, priority } in entries {
        out.put_u64(id.as_u64());
        out.put_u64(expiry_ms);
        out.put_u32(place.segment);
        out.put_u32(place.offset);
        out.put_u32(place.record);
        out.put_u32(packed);
        out.put_u8(priority);
    }
    out
}

/// The entries of [`SubQueue::to_bytes`], of one or several after the other. None if it is not that.
pub(super) fn entries_from(mut bytes: &[u8]) -> Option<Vec<Entry>> {
    let count = bytes.len() / ENTRY_BYTES;
    if !bytes.len().is_multiple_of(ENTRY_BYTES) {
        return None;
    }
    let mut entry = || {
        let (id, expiry_ms) = (Id::from_u64(bytes.get_u64()), bytes.get_u64());
        let place = Place { segment: bytes.get_u32(), offset: bytes.get_u32(), record: bytes.get_u32() };
        Entry { id, expiry_ms, place, packed: bytes.get_u32(), priority: bytes.get_u8() }
    };
    Some((0..count).map(|_| entry()).collect())
}

/// What was found expired.
#[derive(Debug, Default)]
pub(super) struct Expired {
    pub(super) entries: Vec<Entry>,
    /// When the next one expires of those that are left; not later than the time asked for if not all fitted in.
    pub(super) next_ms: Option<u64>,
}

impl SubQueue {
    pub(super) fn len(&self) -> usize {
        self.lanes().map(|lane| lane.slots.len()).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// About how many bytes it takes, what malloc takes included.
    pub(super) fn bytes(&self) -> u64 {
        let fixed = if self.is_empty() { 0 } else { 96 };
        (fixed + self.len() * size_of::<Slot>() + self.expiring() * size_of::<(Id, u64)>()) as u64
    }

    /// When the first one expires of those that can.
    pub(super) fn next_ms(&self) -> Option<u64> {
        self.expiries()?.iter().map(|(_, expiry_ms)| *expiry_ms).min()
    }

    /// All entries, one after the other, for the derived index.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        entry_bytes(self.len(), self.iter())
    }

    /// How many can expire.
    pub(super) fn expiring(&self) -> usize {
        self.expiries().map_or(0, VecDeque::len)
    }

    /// The highest id.
    pub(super) fn last_id(&self) -> Option<Id> {
        self.lanes().filter_map(|lane| lane.slots.back()).map(|slot| slot.id).max()
    }

    /// Puts an entry at its place; at the end, nearly always.
    pub(super) fn insert(&mut self, entry: Entry) {
        self.insert_expecting(entry, 1);
    }

    /// The same, when so many are known to come, this one included.
    pub(super) fn insert_expecting(&mut self, entry: Entry, count: usize) {
        let Entry { id, expiry_ms, place, packed, priority } = entry;
        let lane = Lane { slots: VecDeque::new(), priority };
        let waiting =
            self.0.get_or_insert_with(|| Box::new(Waiting { first: lane, more: None, expiries: None }));
        insert_in_order(&mut waiting.lane(priority).slots, Slot { id, place, packed }, count, |slot| slot.id);
        if expiry_ms != 0 {
            let expiries = waiting.expiries.get_or_insert_default();
            insert_in_order(expiries, (id, expiry_ms), 1, |(id, _)| *id);
        }
    }

    /// The message that is next.
    pub(super) fn first(&self) -> Option<Entry> {
        let Waiting { first, .. } = self.0.as_deref()?;
        first.slots.front().map(|slot| self.entry(first.priority, slot))
    }

    pub(super) fn pop_first(&mut self) -> Option<Entry> {
        let waiting = self.0.as_deref_mut()?;
        let slot = waiting.first.slots.pop_front()?;
        let entry = waiting.leave(waiting.first.priority, slot);
        self.tidy();
        Some(entry)
    }

    /// Looks for a message.
    pub(super) fn find(&self, id: Id) -> Option<Entry> {
        self.lanes().find_map(|lane| lane.at(id).map(|at| self.entry(lane.priority, &lane.slots[at])))
    }

    /// A message lies elsewhere now. Whether it was found.
    pub(super) fn set_place(&mut self, priority: u8, id: Id, place: Place) -> bool {
        let lane = self.lanes_mut().find(|lane| lane.priority == priority);
        let Some((lane, at)) = lane.and_then(|lane| lane.at(id).map(|at| (lane, at))) else { return false };
        lane.slots[at].place = place;
        true
    }

    pub(super) fn remove(&mut self, id: Id) -> Option<Entry> {
        let found = self.lanes_mut().find_map(|lane| {
            let at = lane.at(id)?;
            lane.slots.remove(at).map(|slot| (lane.priority, slot))
        });
        let (priority, slot) = found?;
        let entry = self.0.as_deref_mut()?.leave(priority, slot);
        self.tidy();
        Some(entry)
    }

    /// Takes out what has expired, at most `max`, in the order of the ids within each priority.
    pub(super) fn take_expired(&mut self, wall_ms: u64, max: usize) -> Expired {
        let Some(waiting) = self.0.as_deref_mut() else { return Expired::default() };
        let Some(expiries) = waiting.expiries.as_deref_mut() else { return Expired::default() };
        let mut due: Vec<(Id, u64)> = Vec::new();
        let mut next_ms: Option<u64> = None;
        expiries.retain(|(id, expiry_ms)| {
            let take = *expiry_ms <= wall_ms && due.len() < max;
            if take {
                due.push((*id, *expiry_ms));
            } else {
                next_ms = Some(next_ms.map_or(*expiry_ms, |next| next.min(*expiry_ms)));
            }
            !take
        });
        let entry = |priority, slot: &Slot, expiry_ms| {
            let Slot { id, place, packed } = *slot;
            Entry { id, expiry_ms, place, packed, priority }
        };
        let mut entries = Vec::with_capacity(due.len());
        if due.len() <= FEW {
            for (id, expiry_ms) in &due {
                entries.extend(self.lanes_mut().find_map(|lane| {
                    let slot = lane.at(*id).and_then(|at| lane.slots.remove(at))?;
                    Some(entry(lane.priority, &slot, *expiry_ms))
                }));
            }
        } else {
            for lane in self.lanes_mut() {
                let priority = lane.priority;
                lane.slots.retain(|slot| {
                    let found = due.binary_search_by_key(&slot.id, |(id, _)| *id);
                    entries.extend(found.ok().map(|at| entry(priority, slot, due[at].1)));
                    found.is_err()
                });
            }
        }
        if !due.is_empty() {
            self.tidy();
        }
        Expired { entries, next_ms }
    }

    /// All of them in the order in which they are handed out.
    pub(super) fn iter(&self) -> impl Iterator<Item = Entry> {
        self.lanes().flat_map(|lane| lane.slots.iter().map(|slot| self.entry(lane.priority, slot)))
    }

    /// Gives back what was reserved and is not needed.
    pub(super) fn shrink(&mut self) {
        self.lanes_mut().for_each(|lane| lane.slots.shrink_to_fit());
        if let Some(expiries) = self.0.as_deref_mut().and_then(|waiting| waiting.expiries.as_deref_mut()) {
            expiries.shrink_to_fit();
        }
    }

    fn lanes(&self) -> impl Iterator<Item = &Lane> {
        self.0.iter().flat_map(|waiting| {
            std::iter::once(&waiting.first).chain(waiting.more.iter().flat_map(|more| more.iter()))
        })
    }

    fn lanes_mut(&mut self) -> impl Iterator<Item = &mut Lane> {
        self.0.iter_mut().flat_map(|waiting| {
            let Waiting { first, more, .. } = waiting.as_mut();
            std::iter::once(first).chain(more.iter_mut().flat_map(|more| more.iter_mut()))
        })
    }

    fn expiries(&self) -> Option<&VecDeque<(Id, u64)>> {
        self.0.as_deref()?.expiries.as_deref()
    }

    fn entry(&self, priority: u8, slot: &Slot) -> Entry {
        let Slot { id, place, packed } = *slot;
        let expiry_ms = self.expiries().and_then(|expiries| {
            let at = place_of_expiry(expiries, id)?;
            Some(expiries[at].1)
        });
        Entry { id, expiry_ms: expiry_ms.unwrap_or(0), place, packed, priority }
    }

    /// Lanes without entries go; what was much longer gives memory back.
    fn tidy(&mut self) {
        let Some(waiting) = self.0.as_deref_mut() else { return };
        if let Some(more) = &mut waiting.more {
            more.retain(|lane| !lane.slots.is_empty());
            if waiting.first.slots.is_empty() && !more.is_empty() {
                waiting.first = more.remove(0);
            }
            if more.is_empty() {
                waiting.more = None;
            }
        }
        if waiting.first.slots.is_empty() {
            self.0 = None;
            return;
        }
        shrink_when_long(&mut waiting.first.slots);
        waiting
            .more
            .iter_mut()
            .flat_map(|more| more.iter_mut())
            .for_each(|lane| shrink_when_long(&mut lane.slots));
        if let Some(expiries) = &mut waiting.expiries {
            shrink_when_long(expiries);
        }
        if waiting.expiries.as_ref().is_some_and(|expiries| expiries.is_empty()) {
            waiting.expiries = None;
        }
    }
}

impl Waiting {
    /// The lane of a priority, made when it is not there.
    fn lane(&mut self, priority: u8) -> &mut Lane {
        if priority == self.first.priority {
            return &mut self.first;
        }
        let more = self.more.get_or_insert_default();
        if priority > self.first.priority {
            let old = std::mem::replace(&mut self.first, Lane { slots: VecDeque::new(), priority });
            more.reserve_exact(1);
            more.insert(0, old);
            return &mut self.first;
        }
        let at = match more.binary_search_by(|lane| priority.cmp(&lane.priority)) {
            Ok(at) => at,
            Err(at) => {
                more.reserve_exact(1);
                more.insert(at, Lane { slots: VecDeque::new(), priority });
                at
            }
        };
        &mut more[at]
    }

    /// A slot that left its lane, with its expiry.
    fn leave(&mut self, priority: u8, slot: Slot) -> Entry {
        let Slot { id, place, packed } = slot;
        let expiry_ms = self.expiries.as_deref_mut().and_then(|expiries| {
            let at = place_of_expiry(expiries, id)?;
            expiries.remove(at).map(|(_, expiry_ms)| expiry_ms)
        });
        Entry { id, expiry_ms: expiry_ms.unwrap_or(0), place, packed, priority }
    }
}

/// Where the expiry of a message stands: in front, nearly always.
fn place_of_expiry(expiries: &VecDeque<(Id, u64)>, id: Id) -> Option<usize> {
    if expiries.front().is_some_and(|(first, _)| *first == id) {
        return Some(0);
    }
    expiries.binary_search_by_key(&id, |(id, _)| *id).ok()
}

fn insert_in_order<T>(all: &mut VecDeque<T>, one: T, count: usize, id: impl Fn(&T) -> Id) {
    if all.len() == all.capacity() {
        // An eighth at a time: doubling would cost up to as much again as the entries themselves.
        all.reserve_exact(count.max(1 + all.len() / 8));
    }
    let behind = all.partition_point(|other| id(other) < id(&one));
    if behind == all.len() {
        all.push_back(one);
    } else {
        all.insert(behind, one);
    }
}

fn shrink_when_long<T>(all: &mut VecDeque<T>) {
    if all.capacity() > 64 && all.len() < all.capacity() / 4 {
        all.shrink_to(all.len() * 2);
    }
}

#[cfg(test)]
mod tests;
