//! The queue against a plain sorted list, and its bytes.

use std::collections::BTreeMap;

use store::{Id, Place};

use super::{Entry, Lane, Slot, SubQueue, Waiting};

fn entry(number: u64, priority: u8, expiry_ms: u64) -> Entry {
    let place = Place { segment: 1, offset: number as u32, record: 0 };
    Entry::new(Id::from_u64(number), place, priority, 10, expiry_ms, true)
}

/// What malloc takes for a block: 8 bytes of its own, in steps of 16, at least 32.
fn block(bytes: usize) -> usize {
    if bytes == 0 { 0 } else { (bytes + 8).next_multiple_of(16).max(32) }
}

fn bytes(queue: &SubQueue) -> usize {
    let Some(waiting) = queue.0.as_deref() else { return 0 };
    let slots: usize = queue.lanes().map(|lane| block(lane.slots.capacity() * size_of::<Slot>())).sum();
    let more = waiting.more.as_ref().map_or(0, |more| block(24) + block(more.capacity() * size_of::<Lane>()));
    let expiries = waiting.expiries.as_ref().map_or(0, |all| block(32) + block(all.capacity() * 16));
    block(size_of::<Waiting>()) + slots + more + expiries
}

/// DESIGN.md 9: at most 40 bytes a stored message, with what malloc takes and a deque keeps in reserve.
#[test]
fn a_message_is_small() {
    assert_eq!((size_of::<Slot>(), size_of::<SubQueue>(), size_of::<Waiting>()), (24, 8, 56));
    for (count, most) in [(1, 120), (2, 72), (10, 34), (100, 28), (10_000, 27)] {
        let mut queue = SubQueue::default();
        (0..count).for_each(|number| queue.insert(entry(number, 0, 0)));
        assert!(bytes(&queue) <= most * count as usize, "{count}: {}", bytes(&queue));
    }
    // One that can expire costs 16 more.
    for (count, most) in [(10, 56), (100, 45), (10_000, 45)] {
        let mut queue = SubQueue::default();
        (0..count).for_each(|number| queue.insert(entry(number, 0, 1)));
        assert!(bytes(&queue) <= most * count as usize, "{count}: {}", bytes(&queue));
    }
}

#[test]
fn an_empty_queue_has_no_blocks() {
    let mut queue = SubQueue::default();
    for number in 0..50 {
        queue.insert(entry(number, (number % 3) as u8, number % 2));
    }
    while queue.pop_first().is_some() {}
    assert_eq!(bytes(&queue), 0);
}

#[test]
fn what_is_known_to_come_is_reserved_once() {
    let mut queue = SubQueue::default();
    (0..10).for_each(|number| queue.insert_expecting(entry(number, 0, 0), 10 - number as usize));
    assert!(queue.lanes().all(|lane| lane.slots.capacity() == 10));
    queue.insert_expecting(entry(10, 4, 0), 7);
    queue.shrink();
    assert!(queue.lanes().all(|lane| lane.slots.capacity() == lane.slots.len()));
}

#[test]
fn priority_then_order() {
    let mut queue = SubQueue::default();
    for (priority, number) in [(0, 5), (9, 6), (0, 3), (4, 7), (0, 4)] {
        queue.insert(entry(number, priority, 0));
    }
    assert_eq!(queue.find(Id::from_u64(7)).map(|entry| entry.priority), Some(4));
    assert_eq!(queue.last_id(), Some(Id::from_u64(7)));
    assert!(queue.remove(Id::from_u64(4)).is_some());
    assert!(queue.remove(Id::from_u64(4)).is_none());
    let order = std::iter::from_fn(|| queue.pop_first()).map(|entry| entry.id.as_u64());
    assert_eq!(order.collect::<Vec<_>>(), [6, 7, 3, 5]);
    assert!(queue.is_empty());
}

#[test]
fn deliveries_stop_at_seven() {
    let mut entry = entry(1, 0, 0);
    (0..20).for_each(|_| entry.delivered());
    assert_eq!((entry.deliveries(), entry.length(), entry.persistent()), (7, 10, true));
}

#[test]
fn expired_ones_are_taken_in_pieces() {
    let mut queue = SubQueue::default();
    for number in 0..40 {
        queue.insert(entry(number, (number % 2) as u8, if number % 4 == 3 { 0 } else { 100 + number % 4 }));
    }
    let expired = queue.take_expired(99, 100);
    assert_eq!((expired.entries.len(), expired.next_ms), (0, Some(100)));
    let expired = queue.take_expired(101, 15);
    assert_eq!((expired.entries.len(), expired.next_ms), (15, Some(100)));
    assert!(expired.entries.iter().all(|entry| entry.is_expired(101)));
    let expired = queue.take_expired(101, 15);
    assert_eq!((expired.entries.len(), expired.next_ms), (5, Some(102)));
    assert_eq!((queue.len(), queue.expiring()), (20, 10));
    let expired = queue.take_expired(102, 15);
    assert_eq!((expired.entries.len(), expired.next_ms), (10, None));
    assert_eq!((queue.len(), queue.expiring()), (10, 0));
}

#[test]
fn the_queue_is_a_sorted_list() {
    // A fixed multiplicative walk is random enough.
    let mut state = 1u64;
    let mut roll = move |sides: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % sides
    };
    let mut queue = SubQueue::default();
    let mut list: BTreeMap<(std::cmp::Reverse<u8>, Id), Entry> = BTreeMap::new();
    let key = |entry: &Entry| (std::cmp::Reverse(entry.priority), entry.id);
    for step in 0..20_000u64 {
        let some = list.values().nth(roll(list.len().max(1) as u64) as usize).copied();
        match roll(8) {
            0..4 => {
                let expiry_ms = if roll(3) == 0 { step + roll(2_000) + 1 } else { 0 };
                let number = if roll(4) == 0 { roll(1 << 20) } else { (1 << 20) + step };
                let entry = entry(number, roll(4) as u8, expiry_ms);
                if !list.values().any(|other| other.id == entry.id) {
                    queue.insert(entry);
                    list.insert(key(&entry), entry);
                }
            }
            4 | 5 => assert_eq!(queue.pop_first(), list.pop_first().map(|(_, entry)| entry)),
            6 => {
                if let Some(some) = some {
                    assert_eq!(queue.find(some.id), Some(some));
                    assert_eq!(queue.remove(some.id), list.remove(&key(&some)));
                }
            }
            _ => {
                let expired = queue.take_expired(step, 20).entries;
                for entry in &expired {
                    assert_eq!(list.remove(&key(entry)), Some(*entry));
                }
                assert!(expired.len() == 20 || !list.values().any(|entry| entry.is_expired(step)));
                if let Some(some) = some.filter(|some| list.contains_key(&key(some))) {
                    let place = Place { segment: 2, ..some.place };
                    assert!(queue.set_place(some.priority, some.id, place));
                    list.insert(key(&some), Entry { place, ..some });
                }
            }
        }
        assert_eq!((queue.len(), queue.first()), (list.len(), list.values().next().copied()));
        if step % 1_000 == 0 {
            assert!(queue.iter().eq(list.values().copied()));
            assert_eq!(queue.expiring(), list.values().filter(|entry| entry.expiry_ms != 0).count());
        }
    }
}
