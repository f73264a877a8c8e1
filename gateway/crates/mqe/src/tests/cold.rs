//! Entries of idle devices leave memory, and nobody can tell but by the time it takes.

use std::collections::BTreeSet;
use std::time::Duration;

use super::pair::{Pair, message, name};
use crate::area::{Cleared, ColdWork, Counter, Undelivered};

/// A budget with which one of them may stay.
const ONE: u64 = 450;

/// Devices 0 to 2, each with ten messages.
fn filled(index_bytes_max: u64) -> Pair {
    let mut pair = Pair::with(|settings| settings.index_bytes_max = index_bytes_max);
    for number in 0..30 {
        pair.offer(name((number % 3) as usize), &message(number, (number % 2) as u8)).unwrap();
    }
    pair.sync_all();
    pair
}

/// Time for everything that waits for none.
fn calm(pair: &mut Pair) {
    for _ in 0..10 {
        pair.pass(Duration::from_millis(300));
        pair.gateway_timeout();
        while pair.cold_step() {}
        pair.sync_all();
    }
}

fn away(pair: &Pair) -> Vec<usize> {
    (0..3).map(|device| pair.area.device(&name(device)).unwrap().away).collect()
}

#[test]
fn idle_devices_leave_until_the_budget_is_kept() {
    let mut pair = filled(ONE);
    let full = pair.area.index_bytes();
    let views: Vec<_> = pair.area.devices(None).collect();
    calm(&mut pair);
    assert_eq!(away(&pair).iter().filter(|away| **away == 10).count(), 2);
    assert_eq!(pair.area.index_bytes(), full / 3);
    for (before, now) in views.iter().zip(pair.area.devices(None)) {
        assert_eq!((before.waiting, before.bytes, before.counters), (now.waiting, now.bytes, now.counters));
    }
    assert!(pair.area.poll_timeout().is_none_or(|at| at > pair.time));
    // After a start all are in memory, and leave it again.
    pair.crash_gateway();
    assert_eq!(away(&pair), [0, 0, 0]);
    calm(&mut pair);
    assert_eq!(away(&pair).iter().sum::<usize>(), 20);
}

#[test]
fn who_is_connected_stays_and_who_comes_gets_everything() {
    let mut pair = filled(0);
    pair.connect(0);
    pair.devices[0].decide = super::pair::Decide::Hold;
    pair.settle();
    calm(&mut pair);
    assert_eq!(away(&pair), [0, 10, 10], "a connected one is not at rest");
    // More for one that is away: in memory, then away as well.
    pair.offer(name(1), &message(100, 9)).unwrap();
    pair.sync_all();
    let view = pair.area.device(&name(1)).unwrap();
    assert_eq!((view.waiting, view.away, view.first), (11, 10, None));
    calm(&mut pair);
    assert_eq!(away(&pair), [0, 11, 10]);
    pair.offer(name(1), &message(101, 0)).unwrap();
    let device = pair.add_device(1);
    pair.connect(device);
    pair.settle();
    let have: BTreeSet<u32> = pair.have(device).into_iter().collect();
    let given = (0..30).filter(|number| number % 3 == 1).chain([100, 101]).collect::<BTreeSet<u32>>();
    assert_eq!((pair.have(device).len(), have), (12, given));
    assert_eq!(pair.have(device)[0], 100, "by priority, whatever was where");
    assert_eq!(away(&pair), [0, 0, 10]);
    assert!(pair.kept.keys().all(|(number, _)| *number == 3), "what came back is kept no more");
}

/// The device comes while its entries go, and goes while they come.
#[test]
fn both_at_once() {
    let mut pair = filled(0);
    let conn = pair.connect(0);
    pair.settle();
    pair.gateway_sees_end(conn);
    pair.give_up(0);
    calm(&mut pair);
    for number in 200..205 {
        pair.offer(name(0), &message(number, 0)).unwrap();
    }
    pair.offer(name(1), &message(205, 0)).unwrap();
    pair.sync_all();
    // Twice round: who was there lately is spared once.
    for _ in 0..3 {
        pair.pass(Duration::from_secs(2));
        pair.gateway_timeout();
    }
    let work: Vec<ColdWork> = std::iter::from_fn(|| pair.area.poll_cold()).collect();
    assert!(work.iter().any(|work| matches!(work, ColdWork::Evict { number: 1, .. })), "{work:?}");
    pair.connect(0);
    pair.cold.extend(work);
    pair.settle();
    assert_eq!(pair.have(0).len(), 15);
    // It comes, and is gone before its entries are there.
    let device = pair.add_device(2);
    let before = pair.area.device(&name(2)).unwrap();
    assert_eq!(before.away, 10);
    let conn = pair.connect(device);
    pair.carry_up(conn, 1_000);
    pair.gateway_sees_end(conn);
    while pair.cold_step() {}
    assert_eq!(pair.area.device(&name(2)).unwrap().session, None);
    pair.connect(device);
    pair.settle();
    assert_eq!(pair.have(device).len(), 10);
}

#[test]
fn what_expires_comes_back_for_it() {
    let mut pair = filled(ONE);
    let mut mortal = message(300, 0);
    mortal.expiry_ms = Some(pair.wall_ms + 600_000);
    for device in 0..3 {
        pair.offer(name(device), &mortal).unwrap();
    }
    calm(&mut pair);
    let before = away(&pair).iter().sum::<usize>();
    assert_eq!(before, 22);
    pair.pass(Duration::from_secs(601));
    for _ in 0..6 {
        calm(&mut pair);
        pair.pass(Duration::from_secs(31));
    }
    let expired: u64 = pair.area.devices(None).map(|view| view.counters.get(Counter::Expired)).sum();
    assert_eq!(expired, 3);
    assert_eq!(away(&pair).iter().sum::<usize>(), 20, "and the others are away again");
}

#[test]
fn a_purge_takes_what_is_away() {
    for crash in [false, true] {
        let mut pair = filled(ONE);
        calm(&mut pair);
        let gone = (0..3).find(|device| pair.area.device(&name(*device)).unwrap().away > 0).unwrap();
        pair.offer(name(gone), &message(400, 0)).unwrap();
        pair.sync_all();
        let bytes = pair.area.device(&name(gone)).unwrap().bytes;
        let cleared = pair.turn(|area, _, batch, _| area.clear(&name(gone), batch)).unwrap();
        assert_eq!(cleared, Cleared { messages: 11, bytes, kept: 0 });
        pair.offer(name(gone), &message(401, 0)).unwrap();
        pair.sync_all();
        let view = pair.area.device(&name(gone)).unwrap();
        assert_eq!((view.waiting, view.clearing, view.counters.get(Counter::Accepted)), (1, 11, 12));
        pair.gateway_timeout();
        if crash {
            pair.sync_all();
            pair.crash_gateway();
        }
        calm(&mut pair);
        let view = pair.area.device(&name(gone)).unwrap();
        assert_eq!((view.waiting, view.clearing, view.counters.get(Counter::Purged)), (1, 0, 11));
        assert_eq!(pair.disk.values(b"dX").len(), 0);
    }
}

#[test]
fn moves_of_what_is_away_are_left_to_the_store() {
    let mut pair = filled(ONE);
    calm(&mut pair);
    pair.compact(|_| true);
    pair.sync_all();
    for device in 0..3 {
        assert_eq!(
            pair.turn(|area, _, _, _| area.warm(&name(device))),
            Ok(pair.area.device(&name(device)).unwrap().away == 0)
        );
        while pair.cold_step() {}
        assert_eq!(pair.turn(|area, _, _, _| area.warm(&name(device))), Ok(true));
        let index = if device == 0 { 0 } else { pair.add_device(device) };
        pair.connect(index);
        pair.settle();
        assert_eq!(pair.have(index).len(), 10, "the disk knows the places of all ends");
    }
}

/// A move or a message while entries are on their way out: they stay, as they are now.
#[test]
fn what_changes_on_its_way_out_stays() {
    let mut pair = filled(ONE);
    for _ in 0..3 {
        pair.gateway_timeout();
    }
    pair.cold.extend(std::iter::from_fn(|| pair.area.poll_cold()));
    assert_eq!(pair.cold.len(), 2, "{:?}", pair.cold);
    pair.compact(|_| true);
    while pair.cold_step() {}
    assert_eq!((away(&pair).iter().sum::<usize>(), pair.evictions), (0, 0));
    calm(&mut pair);
    assert_eq!((away(&pair).iter().sum::<usize>(), pair.evictions), (20, 2));
}

#[test]
fn other_entries_than_those_that_left_are_refused() {
    let mut pair = filled(ONE);
    calm(&mut pair);
    let gone = (0..3).find(|device| pair.area.device(&name(*device)).unwrap().away > 0).unwrap();
    assert_eq!(pair.turn(|area, _, _, _| area.warm(&name(gone))), Ok(false));
    let Some(ColdWork::Load { number, parts: 1, .. }) = pair.area.poll_cold() else { panic!("one load") };
    let entries = pair.kept[&(number, 0)].clone();
    for wrong in [&entries[..0], &entries[1..], &entries[33..]] {
        pair.turn(|area, _, batch, out| area.loaded(number, wrong, batch, out)).unwrap_err();
    }
    pair.turn(|area, _, batch, out| area.loaded(number, &entries, batch, out)).unwrap();
    assert_eq!(pair.area.device(&name(gone)).unwrap().away, 0);
    // Nobody asked for that.
    pair.turn(|area, _, batch, out| area.loaded(number, b"?", batch, out)).unwrap();
}

/// What could not be kept stays, and is tried again after a while.
#[test]
fn what_cannot_be_kept_stays() {
    let mut pair = filled(ONE);
    pair.index_broken = true;
    calm(&mut pair);
    assert_eq!((away(&pair), pair.evictions), (vec![0, 0, 0], 0));
    pair.index_broken = false;
    calm(&mut pair);
    assert_eq!(pair.evictions, 0, "not at once");
    pair.pass(Duration::from_secs(30));
    calm(&mut pair);
    assert_eq!(away(&pair).iter().sum::<usize>(), 20);
}

/// What was kept is gone: the store has the same, at the newest places.
#[test]
fn what_the_index_has_lost_comes_from_the_store() {
    let mut pair = filled(0);
    calm(&mut pair);
    pair.offer(name(1), &message(100, 0)).unwrap();
    calm(&mut pair);
    pair.offer(name(1), &message(101, 9)).unwrap();
    pair.sync_all();
    pair.compact(|at| at % 2 == 0);
    pair.index_broken = true;
    assert_eq!((away(&pair), pair.area.evicted_devices()), (vec![10, 11, 10], 3));
    let device = pair.add_device(1);
    pair.connect(device);
    pair.settle();
    assert_eq!((pair.have(device).len(), pair.have(device)[0]), (12, 101));
    assert_eq!(away(&pair), [10, 0, 10]);
}

/// Neither index nor store can give them: the device waits, others do not, and it is tried again.
#[test]
fn who_cannot_be_served_is_told_to_come_later() {
    let mut pair = filled(0);
    calm(&mut pair);
    let conn = pair.connect(0);
    pair.carry_up(conn, 1_000);
    let Some(ColdWork::Load { number, .. }) = pair.area.poll_cold() else { panic!("one load") };
    pair.turn(|area, _, _, out| area.lost(number, out));
    assert_eq!(pair.area.name_of(number), Some(name(0)));
    pair.gateway_sees_end(conn);
    pair.give_up(0);
    let device = pair.add_device(1);
    pair.connect(device);
    pair.settle();
    assert_eq!((pair.have(device).len(), away(&pair)), (10, vec![10, 0, 10]));
    // Nobody waits for it any more.
    pair.turn(|area, _, _, out| area.lost(number, out));
    pair.connect(0);
    pair.settle();
    assert_eq!((pair.have(0).len(), away(&pair)), (10, vec![0, 0, 10]));
}

/// Full, and some of it expired, but not in memory: it may go later.
#[test]
fn a_full_device_waits_for_its_entries() {
    let mut pair = Pair::with(|settings| {
        settings.index_bytes_max = 0;
        settings.device_messages_max = 5;
    });
    for number in 0..5 {
        let mut mortal = message(number, 0);
        mortal.expiry_ms = (number < 2).then_some(pair.wall_ms + 5_000);
        pair.offer(name(0), &mortal).unwrap();
    }
    calm(&mut pair);
    assert_eq!(pair.view().away, 5);
    let full = pair.offer(name(0), &message(9, 0)).unwrap_err();
    assert!(matches!(full, Undelivered::Full { messages: 5, .. }), "{full:?}");
    pair.pass(Duration::from_secs(5));
    let full = pair.offer(name(0), &message(9, 0)).unwrap_err();
    assert!(full.is_temporary(), "{full:?}");
    while pair.cold_step() {}
    pair.offer(name(0), &message(9, 0)).unwrap();
    assert_eq!(pair.view().counters.get(Counter::Expired), 2);
}
