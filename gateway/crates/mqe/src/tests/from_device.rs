//! The rows of ONCE.md 3, the local part: device to gateway to the local queue manager.

use std::time::Duration;

use super::pair::{Pair, Puts};
use crate::area::{AreaEffect, Counter, PutCheck};
use crate::frame::{ErrorCode, Frame, PutOutcome};
use crate::{ConnId, RequestId, Sequence};

fn ready(pair: &mut Pair) -> ConnId {
    let conn = pair.connect(0);
    pair.settle();
    conn
}

/// Puts and carries them to the gateway, as far as the exits.
fn put_up(pair: &mut Pair, conn: ConnId, numbers: &[u32]) {
    for number in numbers {
        pair.put(0, *number);
        while pair.device_sync(0) {}
    }
    pair.carry_up(conn, 10_000);
}

#[test]
fn row_mark_in_the_unit_of_the_put() {
    for syncs in 0..3 {
        let mut pair = Pair::new();
        let conn = ready(&mut pair);
        put_up(&mut pair, conn, &[1]);
        assert_eq!(pair.view().counters.get(Counter::PutTaken), 1);
        for _ in 0..syncs {
            pair.sync();
        }
        // The answer is lost, in any case.
        pair.crash_gateway();
        pair.connect(0);
        pair.settle();
        assert_eq!(pair.in_mq(), [1], "once, after {syncs} syncs");
        assert_eq!(pair.view().counters.get(Counter::PutTaken), 1);
        assert!(pair.devices[0].machine.is_settled());
    }
}

#[test]
fn row_answer_to_a_put_waits_until_it_is_durable() {
    let mut pair = Pair::new();
    let conn = ready(&mut pair);
    put_up(&mut pair, conn, &[1]);
    assert!(pair.links[&conn].down.is_empty());
    // Nor may a repeat on a new session be told "taken" before.
    let conn = pair.connect(0);
    for _ in 0..3 {
        pair.carry_up(conn, 1000);
        pair.carry_down(conn, 1000);
        while pair.device_sync(0) {}
    }
    assert_eq!(pair.devices[0].decided, []);
    pair.settle();
    assert_eq!(pair.devices[0].decided, [(Sequence(1), PutOutcome::Taken)]);
    assert_eq!(pair.in_mq(), [1]);
}

#[test]
fn row_already_taken_depends_on_the_position_of_the_put() {
    let mut pair = Pair::new();
    let conn = ready(&mut pair);
    put_up(&mut pair, conn, &[1]);
    let durable = pair.disk.durable();
    let effects = pair.turn(|area, _, _, out| {
        let check = area.put_arrived(conn, RequestId(77), Sequence(1), out);
        assert_eq!(check, PutCheck::Done);
        std::mem::take(out)
    });
    let [AreaEffect::Frame { needs, frame, .. }] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(*frame, Frame::PutAnswer(Sequence(1), PutOutcome::Taken));
    assert!(needs.is_some_and(|needs| needs > durable));
}

#[test]
fn row_second_look_after_the_exits() {
    let mut pair = Pair::new();
    pair.puts = Puts::Hold;
    let conn = ready(&mut pair);
    put_up(&mut pair, conn, &[1]);
    assert_eq!(pair.in_exits.len(), 1);
    // While it is in the exits the device comes again and repeats it.
    pair.connect(0);
    pair.settle();
    assert_eq!(pair.in_exits.len(), 2);
    pair.puts = Puts::Take;
    pair.settle();
    assert_eq!(pair.in_mq(), [1], "not twice");
    assert_eq!(pair.devices[0].decided, [(Sequence(1), PutOutcome::Taken)]);
}

#[test]
fn row_second_look_also_on_the_same_session() {
    let mut pair = Pair::new();
    pair.puts = Puts::Hold;
    let conn = ready(&mut pair);
    put_up(&mut pair, conn, &[1]);
    let (conn, _, put) = pair.in_exits.front().unwrap().clone();
    let check = pair.turn(|area, _, _, out| area.put_arrived(conn, RequestId(77), put.sequence, out));
    assert!(matches!(check, PutCheck::New(_)));
    pair.in_exits.push_back((conn, RequestId(77), put));
    pair.puts = Puts::Take;
    pair.settle();
    assert_eq!(pair.in_mq(), [1]);
}

#[test]
fn row_refusal_is_an_outcome_in_the_mark() {
    let refused = PutOutcome::Refused(mq_wire::Reason::NOT_AUTHORIZED);
    for syncs in 0..3 {
        let mut pair = Pair::new();
        pair.puts = Puts::Refuse;
        let conn = ready(&mut pair);
        put_up(&mut pair, conn, &[1]);
        for _ in 0..syncs {
            pair.sync();
        }
        let decided = pair.disk.pending() == 0;
        pair.crash_gateway();
        // The rights have changed: what was decided durably is not decided again.
        pair.puts = Puts::Take;
        put_up(&mut pair, conn, &[2]);
        pair.connect(0);
        pair.settle();
        if decided {
            assert_eq!(pair.in_mq(), [2]);
            assert_eq!(pair.devices[0].decided[0], (Sequence(1), refused));
        } else {
            assert_eq!(pair.in_mq(), [1, 2], "order holds");
        }
        assert!(pair.devices[0].machine.is_settled(), "no gap locks the device out");
    }
}

#[test]
fn row_busy_holds_later_puts() {
    let mut pair = Pair::new();
    let conn = ready(&mut pair);
    pair.puts = Puts::Hold;
    put_up(&mut pair, conn, &[1, 2, 3]);
    assert_eq!(pair.in_exits.len(), 3);
    // The first is told BUSY; the others are through the exits already.
    pair.puts = Puts::Busy;
    pair.out_of_exits();
    pair.puts = Puts::Take;
    pair.settle();
    assert_eq!(pair.in_mq(), [], "those behind wait for the first");
    pair.pass(Duration::from_secs(2));
    pair.device_timeout(0);
    pair.settle();
    assert_eq!(pair.in_mq(), [1, 2, 3], "order kept");
    assert!(pair.devices[0].machine.is_settled());
}

#[test]
fn row_busy_refuses_what_comes_later_on_the_session() {
    let mut pair = Pair::new();
    let conn = ready(&mut pair);
    pair.puts = Puts::Busy;
    put_up(&mut pair, conn, &[1]);
    pair.puts = Puts::Hold;
    // The device has not read BUSY yet and sends on.
    put_up(&mut pair, conn, &[2]);
    assert!(pair.in_exits.is_empty(), "answered at once, no exit sees it");
    pair.puts = Puts::Take;
    pair.sync_all();
    assert_eq!(pair.in_mq(), []);
    pair.settle();
    pair.pass(Duration::from_secs(2));
    pair.device_timeout(0);
    pair.settle();
    assert_eq!(pair.in_mq(), [1, 2]);
}

#[test]
fn row_busy_for_a_put_that_was_decided_holds_nothing() {
    let mut pair = Pair::new();
    let conn = ready(&mut pair);
    put_up(&mut pair, conn, &[1]);
    pair.turn(|area, _, _, out| area.put_busy(conn, RequestId(77), Sequence(1), 500, out));
    put_up(&mut pair, conn, &[2]);
    pair.settle();
    assert_eq!(pair.in_mq(), [1, 2]);
}

#[test]
fn row_the_device_keeps_to_the_credit() {
    let mut pair = Pair::with(|settings| settings.limits.put_credit = 2);
    let conn = ready(&mut pair);
    pair.puts = Puts::Hold;
    put_up(&mut pair, conn, &[1, 2, 3, 4, 5]);
    assert_eq!(pair.in_exits.len(), 2, "no sequence at or above the lowest unanswered one + credit");
    pair.puts = Puts::Take;
    pair.out_of_exits();
    pair.puts = Puts::Hold;
    pair.sync_all();
    pair.carry_down(conn, 10_000);
    pair.carry_up(conn, 10_000);
    assert_eq!(pair.in_exits.len(), 1, "the device's disk does not have the answer yet");
    pair.puts = Puts::Take;
    pair.settle();
    assert_eq!(pair.in_mq(), [1, 2, 3, 4, 5]);
}

#[test]
fn row_more_than_the_credit_ends_the_connection() {
    let mut pair = Pair::with(|settings| settings.limits.put_credit = 2);
    let conn = ready(&mut pair);
    for sequence in 1..=3 {
        pair.turn(|area, _, _, out| {
            area.put_arrived(conn, RequestId(sequence), Sequence(sequence.into()), out)
        });
    }
    pair.settle();
    assert_eq!(pair.ended_with(0), Some(ErrorCode::CREDIT));
}

#[test]
fn row_an_outcome_is_answered_again_after_crashes_of_the_device() {
    let mut pair = Pair::new();
    let conn = ready(&mut pair);
    put_up(&mut pair, conn, &[1, 2]);
    pair.sync_all();
    pair.carry_down(conn, 10_000);
    // The device has read the answers, its disk has not got them.
    assert_eq!(pair.devices[0].decided.len(), 2);
    pair.crash_device(0);
    assert_eq!(pair.devices[0].machine.state().outbox.len(), 2);
    pair.connect(0);
    pair.settle();
    assert_eq!(pair.in_mq(), [1, 2]);
    assert!(pair.devices[0].machine.is_settled());
}

#[test]
fn row_an_outbox_put_goes_when_it_is_durable_on_the_device() {
    let mut pair = Pair::new();
    let conn = ready(&mut pair);
    pair.put(0, 1);
    assert!(pair.links[&conn].up.is_empty());
    pair.crash_device(0);
    pair.connect(0);
    pair.settle();
    assert_eq!(pair.in_mq(), [], "the application was never told that it is safe");
    let next = pair.put(0, 2);
    assert_eq!(next, Sequence(1));
    pair.settle();
    assert_eq!(pair.in_mq(), [2]);
}

#[test]
fn row_marks_belong_to_an_incarnation() {
    let mut pair = Pair::new();
    let conn = ready(&mut pair);
    put_up(&mut pair, conn, &[1, 2]);
    pair.settle();
    pair.lose_device_store(0);
    pair.connect(0);
    pair.settle();
    // The new store counts from one again.
    pair.put(0, 3);
    pair.settle();
    assert_eq!(pair.in_mq(), [1, 2, 3]);
    for number in 4..16 {
        pair.lose_device_store(0);
        pair.connect(0);
        pair.settle();
        pair.put(0, number);
        pair.settle();
    }
    assert_eq!(pair.in_mq().len(), 15);
    assert_eq!(pair.disk.values(b"dP").len(), 8, "the last eight are kept");
    pair.crash_gateway();
    pair.connect(0);
    pair.settle();
    pair.put(0, 99);
    pair.settle();
    assert_eq!(pair.in_mq().last(), Some(&99));
}
