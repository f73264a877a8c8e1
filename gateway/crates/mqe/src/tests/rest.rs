//! The mark goes when it says nothing any more: nothing is in doubt, and the device is gone.

use super::pair::{Decide, Pair, message, name};
use crate::area::{AreaEffect, Counter};
use crate::frame::Hello;
use crate::{ConnId, RequestId, Uid};

fn marks(pair: &Pair) -> usize {
    pair.disk.values(b"dM").len()
}

/// Time for what waits for none.
fn calm(pair: &mut Pair) {
    pair.gateway_timeout();
    pair.sync_all();
}

fn leave(pair: &mut Pair) {
    pair.give_up(0);
    pair.settle();
}

#[test]
fn a_settled_device_leaves_no_mark() {
    let mut pair = Pair::new();
    pair.give(1, 0);
    pair.connect(0);
    pair.settle();
    assert_eq!(pair.have(0), [1]);
    calm(&mut pair);
    assert_eq!(marks(&pair), 1, "it is still there");
    leave(&mut pair);
    calm(&mut pair);
    assert_eq!(marks(&pair), 0);
    // What comes later was never handed out, whatever happens.
    pair.give(2, 0);
    pair.crash_gateway();
    assert_eq!((pair.view().waiting, pair.view().in_doubt), (1, 0));
    pair.connect(0);
    pair.settle();
    assert_eq!(pair.have(0), [1, 2]);
    assert_eq!(pair.view().counters.get(Counter::Strange), 0);
}

/// Also when it comes back before the removal, or the crash comes before it is on disk.
#[test]
fn at_any_moment() {
    for (steps, crash) in (0..4).flat_map(|steps| [(steps, false), (steps, true)]) {
        let mut pair = Pair::new();
        pair.give(1, 0);
        pair.connect(0);
        pair.settle();
        leave(&mut pair);
        if steps > 0 {
            pair.gateway_timeout();
        }
        if steps > 1 {
            pair.sync();
        }
        if crash {
            pair.crash_gateway();
        }
        if steps > 2 {
            calm(&mut pair);
        }
        pair.give(2, 0);
        pair.connect(0);
        pair.settle();
        assert_eq!(pair.have(0), [1, 2], "{steps} {crash}");
        leave(&mut pair);
        calm(&mut pair);
        assert_eq!(marks(&pair), 0, "{steps} {crash}");
        assert_eq!(pair.view().counters.get(Counter::Delivered), 2);
        assert_eq!(pair.ledger.check(&[], true), []);
    }
}

#[test]
fn what_is_in_doubt_keeps_the_mark() {
    let mut pair = Pair::new();
    pair.give(1, 0);
    pair.devices[0].decide = Decide::Hold;
    pair.connect(0);
    pair.settle();
    leave(&mut pair);
    calm(&mut pair);
    assert_eq!((marks(&pair), pair.view().in_doubt), (1, 1));
    pair.crash_gateway();
    calm(&mut pair);
    assert_eq!((marks(&pair), pair.view().in_doubt), (1, 1));
    // An operator's word ends it; the tombstone stays for the device.
    let uid = *pair.in_doubt().first().unwrap();
    pair.turn(|area, now, batch, _| area.force(now, &name(0), uid, batch)).unwrap();
    calm(&mut pair);
    assert_eq!((marks(&pair), pair.view().tombstones), (0, 1));
    pair.crash_gateway();
    assert_eq!(pair.view().tombstones, 1);
}

/// A session without a machine on the other side, up to a message that it was handed out.
fn fetch(pair: &mut Pair, device: usize, conn: ConnId) -> Uid {
    pair.turn(|area, now, batch, out| {
        let hello = Hello {
            version: 1,
            device: name(device),
            incarnation: Default::default(),
            last_session: Default::default(),
            token: Default::default(),
            product: String::new(),
        };
        area.hello(conn, RequestId(1), &hello, batch, out);
        area.resume(conn, RequestId(2), &[], &[], batch, out);
        area.get(now, conn, RequestId(3), 1, 1, 0, batch, out);
        area.messages(&name(device)).unwrap().next().unwrap().uid
    })
}

/// What was released waits again, and a restart does not take it for handed out.
#[test]
fn what_was_released_waits_on() {
    let mut pair = Pair::new();
    pair.give(1, 0);
    let conn = ConnId(1_000);
    let uid = fetch(&mut pair, 0, conn);
    pair.turn(|area, now, batch, out| {
        area.release(now, conn, RequestId(4), uid, batch, out);
        area.closed(conn);
    });
    pair.sync_all();
    assert_eq!(marks(&pair), 1);
    calm(&mut pair);
    assert_eq!(marks(&pair), 0);
    pair.crash_gateway();
    assert_eq!((pair.view().waiting, pair.view().in_doubt), (1, 0));
    pair.connect(0);
    pair.settle();
    assert_eq!(pair.have(0), [1]);
}

/// A start after a crash with many connected devices removes their marks in steps.
#[test]
fn many_marks_go_in_steps() {
    let mut pair = Pair::with(|settings| settings.onboarding.devices_max = 10_000);
    for number in 0..2_500 {
        pair.offer(name(number as usize), &message(number, 0)).unwrap();
    }
    pair.sync_all();
    for number in 0..2_500 {
        let conn = ConnId(1_000_000 + number);
        let uid = fetch(&mut pair, number as usize, conn);
        pair.turn(|area, now, batch, out| area.confirm(now, conn, RequestId(4), &[uid], batch, out));
    }
    pair.sync_all();
    pair.crash_gateway();
    let mut left = vec![marks(&pair)];
    while pair.area.poll_timeout().is_some_and(|at| at <= pair.time) {
        calm(&mut pair);
        left.push(marks(&pair));
    }
    assert_eq!(left, [2_500, 1_500, 500, 0]);
}

/// A session on a connection, with a GET of one message; gives what was handed out.
fn session(pair: &mut Pair, conn: u64, incarnation: u32) -> Vec<Uid> {
    pair.turn(|area, now, batch, out| {
        let hello = Hello {
            version: 1,
            device: name(0),
            incarnation: crate::Incarnation(incarnation),
            last_session: crate::SessionId(u64::MAX),
            token: Default::default(),
            product: String::new(),
        };
        let conn = ConnId(conn);
        area.hello(conn, RequestId(1), &hello, batch, out);
        area.resume(conn, RequestId(2), &[], &[], batch, out);
        area.get(now, conn, RequestId(3), 1, 1, 0, batch, out);
        let uid = |effect: &AreaEffect| match effect {
            AreaEffect::Message { head, .. } => Some(head.uid),
            _ => None,
        };
        out.iter().filter_map(uid).collect()
    })
}

/// The mark of a device that has come back, and has something again, before its mark went is needed again.
#[test]
fn a_mark_that_is_needed_again_stays() {
    let mut pair = Pair::new();
    pair.give(1, 0);
    let uid = session(&mut pair, 1_000, 0)[0];
    pair.turn(|area, now, batch, out| {
        area.release(now, ConnId(1_000), RequestId(4), uid, batch, out);
        area.closed(ConnId(1_000));
    });
    assert_eq!(session(&mut pair, 1_001, 1), [uid]);
    calm(&mut pair);
    pair.crash_gateway();
    assert_eq!((marks(&pair), pair.view().in_doubt), (1, 1));
}
