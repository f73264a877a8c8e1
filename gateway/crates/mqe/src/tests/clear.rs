//! A purge: what waits is gone at once for everybody, ends in steps, is counted in the unit of its end, and a crash at
//! any point changes nothing of that.

use std::collections::BTreeSet;

use store::Commit;

use super::pair::{Decide, Pair, message, name};
use crate::Uid;
use crate::area::{Cleared, Counter, OnboardError};

fn clear(pair: &mut Pair) -> Cleared {
    pair.turn(|area, _, batch, _| area.clear(&name(0), batch)).unwrap()
}

fn step(pair: &mut Pair) -> bool {
    let due = pair.area.poll_timeout().is_some_and(|at| at <= pair.time);
    pair.gateway_timeout();
    due
}

fn purged(pair: &Pair) -> u64 {
    pair.view().counters.get(Counter::Purged)
}

#[test]
fn what_waits_is_gone_at_once_and_ends_in_steps() {
    let mut pair = Pair::new();
    for number in 0..2_500 {
        let mut message = message(number, (number % 3) as u8);
        message.expiry_ms = (number % 2 == 0).then_some(pair.wall_ms + 90_000);
        pair.offer(name(0), &message).unwrap();
    }
    pair.sync_all();
    let bytes = pair.view().bytes;
    assert_eq!(clear(&mut pair), Cleared { messages: 2_500, bytes, kept: 0 });
    let view = pair.view();
    assert_eq!((view.waiting, view.clearing, view.bytes, view.first), (0, 2_500, 0, None));
    assert_eq!(view.counters.get(Counter::Accepted), 2_500);
    assert_eq!(pair.area.messages(&name(0)).unwrap().count(), 0);
    // What comes later is not meant.
    pair.offer(name(0), &message(3_000, 0)).unwrap();
    let removed = pair.turn(|area, _, batch, out| area.remove_device(&name(0), batch, out));
    assert_eq!(removed, Err(OnboardError::HasMessages { device: name(0), messages: 2_501 }));
    pair.connect(0);
    pair.settle();
    assert_eq!(pair.have(0), [3_000]);
    let mut steps = Vec::new();
    while pair.view().clearing > 0 {
        assert!(step(&mut pair));
        steps.push(purged(&pair));
    }
    assert_eq!(steps, [1_000, 2_000, 2_500]);
    assert!(pair.area.poll_timeout().is_none_or(|at| at > pair.time), "nothing is left to do");
    pair.sync_all();
    assert_eq!(pair.disk.values(b"dX").len(), 0);
    assert_eq!(pair.area.bytes(), 0);
    pair.crash_gateway();
    let view = pair.view();
    assert_eq!((purged(&pair), view.counters.get(Counter::Accepted), view.waiting), (2_500, 2_501, 0));
}

/// Nothing to purge leaves nothing behind.
#[test]
fn an_empty_queue_is_purged() {
    let mut pair = Pair::new();
    pair.give(1, 0);
    pair.devices[0].decide = Decide::Hold;
    pair.connect(0);
    pair.settle();
    assert_eq!(clear(&mut pair), Cleared { messages: 0, bytes: 0, kept: 1 });
    assert_eq!(pair.disk.pending(), 0);
}

/// In doubt and in an open unit: both stay, through a crash as well.
#[test]
fn what_the_device_may_have_and_what_is_not_visible_stays() {
    for crash in [false, true] {
        let mut pair = Pair::with(|settings| settings.limits.window_messages_max = 2);
        for number in 0..6 {
            pair.give(number, 0);
        }
        pair.devices[0].decide = Decide::Hold;
        pair.connect(0);
        pair.settle();
        let in_doubt = pair.view().in_doubt;
        assert!(in_doubt > 0 && in_doubt < 6);
        let unit = pair.turn(|area, now, batch, _| {
            let unit = batch.new_unit();
            area.accept(now, &name(0), &message(10, 0), unit, batch).unwrap();
            unit
        });
        pair.give(11, 0);
        let cleared = clear(&mut pair);
        assert_eq!((cleared.messages, cleared.kept), (7 - in_doubt, in_doubt + 1));
        pair.give(12, 0);
        pair.turn(|area, now, batch, out| {
            let mut commit = Commit { unit: Some(unit), ..Commit::default() };
            area.seal_unit(now, unit, &mut commit);
            batch.commit(commit);
            area.unit_is_real(now, unit, batch, out);
        });
        pair.sync_all();
        if crash {
            pair.crash_gateway();
            assert_eq!((pair.view().clearing, pair.view().in_doubt), (7 - in_doubt, in_doubt));
        }
        // The device comes with an empty hand: what was in doubt waits again, and is not purged.
        pair.lose_device_store(0);
        pair.devices[0].decide = Decide::Store;
        pair.connect(0);
        pair.settle();
        while step(&mut pair) {}
        pair.settle();
        let have: BTreeSet<u32> = pair.have(0).into_iter().collect();
        let expected: BTreeSet<u32> = (0..in_doubt as u32).chain([10, 12]).collect();
        assert_eq!(have, expected);
        assert_eq!(purged(&pair), 7 - in_doubt as u64);
        assert_eq!(pair.view().counters.get(Counter::Accepted), 9);
    }
}

/// By turns a step of the area, and some of what is to be synced.
fn advance(pair: &mut Pair, at: usize) {
    match at % 2 {
        0 => drop(step(pair)),
        _ => _ = (0..70).map(|_| pair.sync()).filter(|synced| *synced).count(),
    }
}

/// After each sync, and between them, and again during what the restart goes on with.
#[test]
fn a_crash_at_any_point() {
    for (first, second) in (0..9).flat_map(|first| (0..6).map(move |second| (first, second))) {
        let mut pair = Pair::with(|settings| settings.device_messages_max = 1_800);
        for number in 0..1_700 {
            pair.offer(name(0), &message(number, (number % 2) as u8)).unwrap();
        }
        pair.sync_all();
        clear(&mut pair);
        // There is room at once for what comes later.
        for number in 2_000..2_200 {
            pair.offer(name(0), &message(number, 0)).unwrap();
        }
        clear(&mut pair);
        for at in 0..first {
            advance(&mut pair, at);
        }
        pair.crash_gateway();
        for at in 0..second {
            advance(&mut pair, at);
            let view = pair.view();
            let all = (view.waiting + view.clearing) as u64 + purged(&pair);
            assert_eq!(view.counters.get(Counter::Accepted), all, "after {first} and {second}");
        }
        pair.crash_gateway();
        while step(&mut pair) {}
        pair.sync_all();
        assert_eq!((pair.view().clearing, pair.disk.values(b"dX").len()), (0, 0));
        let waiting: BTreeSet<Uid> =
            pair.area.messages(&name(0)).unwrap().map(|message| message.uid).collect();
        let all = waiting.len() as u64 + purged(&pair);
        assert_eq!(pair.view().counters.get(Counter::Accepted), all, "after {first} and {second}");
        // Each command meant all that waited then, or is not on disk.
        for numbers in [0..1_700, 2_000..2_200] {
            let taken: Vec<Uid> = numbers.filter_map(|number| pair.ledger.uid(number)).collect();
            let left = taken.iter().filter(|uid| waiting.contains(uid)).count();
            assert!(left == 0 || left == taken.len(), "after {first} and {second}: {left}");
        }
    }
}

/// Messages move while they wait for their end.
#[test]
fn what_is_being_purged_is_moved() {
    let mut pair = Pair::new();
    for number in 0..1_500 {
        pair.offer(name(0), &message(number, (number % 3) as u8)).unwrap();
    }
    pair.sync_all();
    clear(&mut pair);
    pair.compact(|at| at % 2 == 0);
    step(&mut pair);
    pair.sync_all();
    pair.compact(|_| true);
    while step(&mut pair) {}
    pair.sync_all();
    pair.crash_gateway();
    assert_eq!((purged(&pair), pair.area.bytes()), (1_500, 0));
}
