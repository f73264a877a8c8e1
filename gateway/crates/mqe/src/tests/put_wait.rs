//! Puts that are answered when they are in the other queue manager (ONCE.md 3: "where a queue waits for MQ before it answers,
//! the answer to a repeat waits too").

use std::time::Duration;

use mq_wire::Reason;

use super::pair::{Pair, Puts};
use crate::area::Counter;
use crate::frame::PutOutcome;
use crate::{RequestId, Sequence};

fn entering() -> Pair {
    let mut pair = Pair::new();
    pair.puts = Puts::Enter;
    pair.connect(0);
    pair.settle();
    pair
}

fn put(pair: &mut Pair, numbers: &[u32]) {
    for number in numbers {
        pair.put(0, *number);
    }
    pair.settle();
}

fn drain(pair: &mut Pair) {
    pair.drain(None);
    pair.settle();
}

fn taken(sequence: u64) -> (Sequence, PutOutcome) {
    (Sequence(sequence), PutOutcome::Taken)
}

#[test]
fn row_the_answer_waits_for_the_end_of_the_entry() {
    let mut pair = entering();
    put(&mut pair, &[1]);
    assert_eq!(pair.devices[0].decided, [], "it is not in MQ");
    assert_eq!(pair.view().counters.get(Counter::PutTaken), 0);
    pair.drain(None);
    assert_eq!(pair.devices[0].decided, [], "its end is not durable");
    pair.settle();
    assert_eq!(pair.devices[0].decided, [taken(1)]);
    assert_eq!((pair.in_mq(), pair.view().counters.get(Counter::PutTaken)), (vec![1], 1));
    assert!(pair.devices[0].machine.is_settled());
}

#[test]
fn row_the_answer_to_a_repeat_waits_too_whatever_broke() {
    let breaks: [fn(&mut Pair); 4] = [
        |_| {},
        |pair| pair.crash_gateway(),
        |pair| pair.crash_device(0),
        |pair| {
            pair.crash_gateway();
            pair.crash_device(0);
        },
    ];
    for (number, fault) in breaks.iter().enumerate() {
        let mut pair = entering();
        put(&mut pair, &[1, 2]);
        for _ in 0..2 {
            fault(&mut pair);
            pair.connect(0);
            pair.settle();
            assert_eq!(pair.devices[0].decided, [], "break {number}: not before it is in MQ");
        }
        drain(&mut pair);
        assert_eq!(pair.devices[0].decided, [taken(1)], "break {number}");
        fault(&mut pair);
        pair.connect(0);
        pair.settle();
        drain(&mut pair);
        assert_eq!(pair.in_mq(), [1, 2], "break {number}: each once");
        assert_eq!(pair.devices[0].decided.last(), Some(&taken(2)), "break {number}");
        assert_eq!(pair.view().counters.get(Counter::PutTaken), 2, "break {number}");
        assert!(pair.devices[0].machine.is_settled(), "break {number}");
    }
}

/// The entry and the mark are one unit: a crash leaves both or none.
#[test]
fn row_an_entry_that_was_not_durable_is_made_once() {
    for syncs in 0..3 {
        let mut pair = entering();
        pair.put(0, 1);
        while pair.device_sync(0) {}
        let conn = pair.devices[0].conn.unwrap();
        pair.carry_up(conn, 10_000);
        for _ in 0..syncs {
            pair.sync();
        }
        pair.crash_gateway();
        pair.connect(0);
        pair.settle();
        drain(&mut pair);
        drain(&mut pair);
        assert_eq!((pair.in_mq(), pair.devices[0].decided.clone()), (vec![1], vec![taken(1)]), "{syncs}");
    }
}

/// The end of the entry is lost with the answer: the sync message says after the crash that it has ended.
#[test]
fn row_an_end_that_was_not_durable_is_said_again() {
    let mut pair = entering();
    put(&mut pair, &[1]);
    pair.drain(None);
    pair.crash_gateway();
    pair.connect(0);
    pair.settle();
    assert_eq!(pair.devices[0].decided, []);
    drain(&mut pair);
    assert_eq!((pair.in_mq(), pair.devices[0].decided.clone()), (vec![1], vec![taken(1)]));
}

#[test]
fn row_what_can_never_be_put_is_refused_and_stays_refused() {
    let mut pair = entering();
    put(&mut pair, &[1, 2]);
    pair.drain(Some(Reason::MSG_TOO_BIG_FOR_CHANNEL));
    pair.sync_all();
    // The answer is lost.
    pair.crash_gateway();
    pair.connect(0);
    pair.settle();
    let refused = (Sequence(1), PutOutcome::Refused(Reason::MSG_TOO_BIG_FOR_CHANNEL));
    assert_eq!(pair.devices[0].decided, [refused]);
    drain(&mut pair);
    assert_eq!((pair.in_mq(), pair.devices[0].decided[1]), (vec![2], taken(2)));
    let counters = pair.view().counters;
    assert_eq!((counters.get(Counter::PutTaken), counters.get(Counter::PutRefused)), (1, 1));
}

/// A request of a device never waits longer than WELCOME says: BUSY decides nothing, and the put comes again.
#[test]
fn a_wait_ends_with_busy_and_the_repeat_finds_its_entry() {
    let mut pair = Pair::with(|settings| settings.limits.wait_ms_max = 5_000);
    pair.puts = Puts::Enter;
    pair.connect(0);
    pair.settle();
    put(&mut pair, &[1, 2]);
    for _ in 0..3 {
        pair.pass(Duration::from_secs(5));
        pair.gateway_timeout();
        pair.settle();
        pair.pass(Duration::from_secs(3));
        pair.device_timeout(0);
        pair.settle();
    }
    assert_eq!((pair.devices[0].decided.clone(), pair.ended_with(0)), (vec![], None));
    // In MQ while the device pauses: it hears it when it comes again.
    pair.pass(Duration::from_secs(5));
    pair.gateway_timeout();
    pair.settle();
    drain(&mut pair);
    assert_eq!(pair.devices[0].decided, []);
    pair.put(0, 3);
    pair.pass(Duration::from_secs(3));
    pair.device_timeout(0);
    pair.settle();
    assert_eq!(pair.devices[0].decided, [taken(1)]);
    drain(&mut pair);
    drain(&mut pair);
    assert_eq!(pair.in_mq(), [1, 2, 3], "in order, each once");
    assert!(pair.devices[0].machine.is_settled());
}

#[test]
fn waits_are_bounded_by_the_credit() {
    let mut pair = Pair::with(|settings| settings.limits.put_credit = 3);
    pair.puts = Puts::Enter;
    pair.connect(0);
    pair.settle();
    put(&mut pair, &[1, 2, 3, 4, 5]);
    assert_eq!(pair.area.awaited_entries().count(), 3, "the device sends no more");
    // One that is repeated on the connection counts once.
    let conn = pair.devices[0].conn.unwrap();
    pair.turn(|area, now, _, out| {
        area.put_arrived(conn, RequestId(99), Sequence(1), out);
        area.put_waits(now, conn, RequestId(99), Sequence(1));
    });
    (0..5).for_each(|_| drain(&mut pair));
    assert_eq!(pair.in_mq(), [1, 2, 3, 4, 5]);
    assert_eq!((pair.area.awaited_entries().count(), pair.ended_with(0)), (0, None));
    assert!(pair.devices[0].machine.is_settled());
}

#[test]
fn a_put_of_a_store_that_was_lost_answers_nobody() {
    let mut pair = entering();
    put(&mut pair, &[1]);
    pair.lose_device_store(0);
    pair.connect(0);
    pair.settle();
    put(&mut pair, &[2]);
    drain(&mut pair);
    assert_eq!((pair.in_mq(), pair.devices[0].decided.clone()), (vec![1], vec![]), "the old store's");
    drain(&mut pair);
    assert_eq!((pair.in_mq(), pair.devices[0].decided.clone()), (vec![1, 2], vec![taken(1)]));
}
