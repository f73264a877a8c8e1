//! The rows of ONCE.md 1, and enrolment.

use std::time::Duration;

use super::pair::{Decide, IDENTITY, Pair, message, name};
use crate::area::{Accepted, Counter, OnboardError, Onboarding, Undelivered};
use crate::frame::{ErrorCode, Frame, Hello};
use crate::{Incarnation, RequestId, StoreIdentity};

/// Of a device whose store is new.
fn hello() -> Hello {
    Hello {
        version: 1,
        device: name(0),
        incarnation: Incarnation(0),
        last_session: Default::default(),
        token: Default::default(),
        product: String::new(),
    }
}

/// Row "already gone depends on the position that made it true": the first confirm is not on disk yet, the same confirm
/// on a new session is not answered before it is.
#[test]
fn row_already_gone_waits_for_its_position() {
    let mut pair = Pair::new();
    pair.give(1, 0);
    pair.connect(0);
    pair.settle();
    assert_eq!(pair.have(0), [1]);
    // A second message whose confirm reaches the gateway and is not synced.
    pair.give(2, 0);
    let conn = pair.devices[0].conn.unwrap();
    while pair.have(0).len() < 2 {
        pair.sync();
        pair.carry_up(conn, 1000);
        pair.carry_down(conn, 1000);
        pair.device_sync(0);
    }
    pair.sync_all();
    pair.carry_up(conn, 1000);
    assert_eq!(pair.view().counters.get(Counter::Delivered), 2);
    assert!(pair.disk.pending() > 0, "the end of 2 is not on disk");
    // The device comes again and says the same.
    let conn = pair.connect(0);
    pair.carry_up(conn, 1000);
    pair.carry_down(conn, 1000);
    assert!(!pair.links[&conn].down.is_empty() || pair.disk.pending() > 0);
    while pair.device_sync(0) {}
    pair.carry_up(conn, 1000);
    pair.carry_down(conn, 1000);
    assert!(!pair.devices[0].machine.is_ready(), "RESUMED may not say what is not durable");
    // The crash takes the end with it; the device still has its note, so the message is not lost nor doubled.
    pair.crash_gateway();
    assert!(pair.devices[0].machine.state().noted.len() == 1);
    pair.connect(0);
    pair.settle();
    assert_eq!(pair.have(0), [1, 2]);
    assert_eq!(pair.view().counters.get(Counter::Delivered), 2);
    assert_eq!(pair.ledger.check(&[], true), []);
}

/// Row "none depends on the position that made it true": a message has expired, and that there is none is not said before its
/// end is on disk.
#[test]
fn row_none_waits_for_its_position() {
    let mut pair = Pair::new();
    let mut mortal = message(1, 0);
    mortal.expiry_ms = Some(pair.wall_ms + 1_000);
    pair.offer(name(0), &mortal).unwrap();
    let conn = pair.connect(0);
    pair.turn(|area, _, batch, out| {
        area.hello(conn, RequestId(1), &hello(), batch, out);
        area.resume(conn, RequestId(2), &[], &[], batch, out);
    });
    pair.sync_all();
    pair.pass(Duration::from_secs(2));
    let get = |pair: &mut Pair| {
        pair.links.get_mut(&conn).unwrap().down.clear();
        pair.turn(|area, now, batch, out| area.get(now, conn, RequestId(3), 10, 1 << 20, 0, batch, out));
        !pair.links[&conn].down.is_empty()
    };
    assert!(!get(&mut pair), "none was said before the end was on disk");
    assert_eq!(pair.view().counters.get(Counter::Expired), 1);
    pair.sync_all();
    assert!(!pair.links[&conn].down.is_empty(), "it is said then");
    assert!(get(&mut pair), "and again at once");
}

/// Row "an answer leaves when what it says is durable", for every request that changes something.
#[test]
fn row_an_answer_leaves_when_what_it_says_is_durable() {
    let mut pair = Pair::new();
    let (first, second) = (pair.give(1, 0), pair.give(2, 0));
    let conn = pair.connect(0);
    pair.devices[0].decide = Decide::Hold;
    for _ in 0..4 {
        pair.sync_all();
        pair.carry_up(conn, 1000);
        pair.sync_all();
        pair.carry_down(conn, 1000);
        while pair.device_sync(0) {}
    }
    assert_eq!(pair.view().in_doubt, 2);
    let mut check = |what: &str, request: &dyn Fn(&mut Pair)| {
        assert!(pair.links[&conn].down.is_empty());
        request(&mut pair);
        assert!(pair.links[&conn].down.is_empty(), "{what} was answered before it was durable");
        pair.sync_all();
        assert!(!pair.links[&conn].down.is_empty(), "{what} was not answered");
        pair.links.get_mut(&conn).unwrap().down.clear();
    };
    check("CONFIRM", &|pair| {
        pair.turn(|area, now, batch, out| area.confirm(now, conn, RequestId(9), &[first], batch, out));
    });
    check("REJECT", &|pair| {
        let reason = mq_wire::Reason::UNKNOWN_OBJECT_NAME;
        pair.turn(|area, _, batch, out| area.reject(conn, RequestId(9), second, reason, batch, out));
        pair.finish_letter();
    });
    check("a refused put", &|pair| {
        let (sequence, reason) = (crate::Sequence(1), mq_wire::Reason::NOT_AUTHORIZED);
        pair.turn(|area, _, batch, out| {
            area.put_arrived(conn, RequestId(9), sequence, out);
            area.put_refused(conn, RequestId(9), sequence, reason, batch, out);
        });
    });
}

/// The same for RESUME, whose unit ends what the device has.
#[test]
fn row_resumed_leaves_when_its_unit_is_durable() {
    let mut pair = Pair::new();
    pair.give(1, 0);
    let conn = pair.connect(0);
    while pair.have(0).is_empty() {
        pair.sync_all();
        pair.carry_up(conn, 1000);
        pair.sync_all();
        pair.carry_down(conn, 1000);
        pair.device_sync(0);
    }
    // The confirm is lost; the device comes again as far as RESUME.
    pair.gateway_sees_end(conn);
    let conn = pair.connect(0);
    pair.carry_up(conn, 1000);
    pair.sync_all();
    pair.carry_down(conn, 1000);
    while pair.device_sync(0) {}
    pair.carry_up(conn, 1000);
    assert_eq!(pair.view().counters.get(Counter::Delivered), 1);
    assert!(pair.links[&conn].down.is_empty(), "RESUMED waits");
    assert_eq!(pair.devices[0].machine.state().noted.len(), 1, "and the note stays");
    pair.crash_gateway();
    pair.connect(0);
    pair.settle();
    assert_eq!(pair.have(0), [1]);
    assert_eq!(pair.view().counters.get(Counter::Delivered), 1);
}

/// Row "frames leave in the order in which the core made them": a message that is sent again stands before the answer
/// to its confirm, and the device ignores it.
#[test]
fn row_frames_leave_in_the_order_of_the_core() {
    let mut pair = Pair::new();
    pair.give(1, 0);
    let conn = pair.connect(0);
    // Delivered and stored; the confirm is on its way.
    while pair.have(0).is_empty() {
        pair.sync();
        pair.carry_up(conn, 1000);
        pair.carry_down(conn, 1000);
        pair.device_sync(0);
    }
    pair.pass(Duration::from_secs(61));
    pair.gateway_timeout();
    pair.carry_up(conn, 1000);
    pair.settle();
    assert_eq!(pair.have(0), [1], "the repeat came before CONFIRMED and was ignored");
    assert!(pair.devices[0].machine.is_settled());
}

/// Row "a uid above the mark ends nothing": the word of a store on a message that it was never handed.
#[test]
fn row_a_uid_above_the_mark_ends_nothing() {
    let mut pair = Pair::new();
    let conn = pair.connect(0);
    pair.settle();
    let uid = pair.give(1, 0);
    // Take the waiting GET away, so that the message waits.
    pair.connect(0);
    pair.devices[0].machine.disconnected();
    pair.gateway_sees_end(conn);
    let conn = *pair.links.keys().next_back().unwrap();
    pair.turn(|area, _, batch, out| {
        area.hello(conn, RequestId(1), &hello(), batch, out);
        area.resume(conn, RequestId(2), &[], &[], batch, out);
    });
    assert_eq!(pair.view().waiting, 1);
    pair.turn(|area, now, batch, out| area.confirm(now, conn, RequestId(3), &[uid], batch, out));
    assert_eq!(pair.view().waiting, 1, "still there");
    assert_eq!(pair.view().counters.get(Counter::Strange), 1);
    let foreign = crate::Uid { store: StoreIdentity([9; 16]), id: uid.id };
    pair.turn(|area, now, batch, out| {
        area.get(now, conn, RequestId(4), 1, 1, 0, batch, out);
        area.confirm(now, conn, RequestId(5), &[foreign], batch, out);
    });
    assert_eq!(pair.view().in_doubt, 1, "handed out, and another store's number does not end it");
    assert_eq!(pair.view().counters.get(Counter::Strange), 2);
}

/// Row "a restored store goes on under a new identity": new messages have it, old ones keep theirs.
#[test]
fn row_a_restored_store_goes_on_under_a_new_identity() {
    let mut pair = Pair::new();
    let old = pair.give(1, 0);
    pair.settings.identity = StoreIdentity([8; 16]);
    pair.crash_gateway();
    let new = pair.give(2, 0);
    assert_eq!((old.store, new.store), (IDENTITY, StoreIdentity([8; 16])));
    let stated: Vec<_> = pair.area.messages(&name(0)).unwrap().map(|view| view.uid).collect();
    assert_eq!(stated, [old, new]);
    pair.crash_gateway();
    let stated: Vec<_> = pair.area.messages(&name(0)).unwrap().map(|view| view.uid).collect();
    assert_eq!(stated, [old, new], "also after another start");
}

/// Row "every end and every counter changes in the unit of its cause": wherever the crash falls, what was taken is
/// what is there and what has ended.
#[test]
fn row_every_end_is_counted_in_the_unit_of_its_cause() {
    for syncs in 0..12 {
        let mut pair = Pair::new();
        for number in 0..3 {
            pair.offer(name(0), &message(number, 0)).unwrap();
        }
        let conn = pair.connect(0);
        for _ in 0..syncs {
            pair.sync();
            pair.carry_up(conn, 1000);
            pair.carry_down(conn, 1000);
            while pair.device_sync(0) {}
        }
        pair.crash_gateway();
        let Some(view) = pair.area.device(&name(0)) else { continue };
        let taken = view.counters.get(Counter::Accepted);
        let ended = view.counters.get(Counter::Delivered);
        assert_eq!(taken, ended + (view.waiting + view.in_doubt) as u64, "after {syncs} syncs");
    }
}

#[test]
fn devices_enrol_by_pattern_up_to_the_cap() {
    let mut pair = Pair::with(|settings| {
        settings.onboarding = Onboarding { patterns: vec!["DEV*".to_owned()], devices_max: 2 };
    });
    pair.give(1, 0);
    pair.offer(name(1), &message(2, 0)).unwrap();
    let refused = pair.offer(name(2), &message(3, 0)).unwrap_err();
    assert_eq!(refused, Undelivered::UnknownDevice { device: name(2) });
    assert_eq!(refused.reason(), mq_wire::Reason::UNKNOWN_REMOTE_Q_MGR);
    let other = crate::DeviceName::new("TILL1").unwrap();
    assert!(pair.offer(other, &message(4, 0)).is_err());
    pair.turn(|area, _, batch, _| area.add_device(other, batch)).unwrap();
    pair.offer(other, &message(5, 0)).unwrap();
    pair.sync_all();
    pair.crash_gateway();
    assert!(pair.area.device(&other).unwrap().listed, "the list survives");
    // Nothing of an unknown device gets in by HELLO either.
    let device = pair.add_device(2);
    pair.connect(device);
    pair.settle();
    assert_eq!(pair.ended_with(device), Some(ErrorCode::UNKNOWN_DEVICE));
}

#[test]
fn a_device_is_removed_when_it_has_nothing() {
    let mut pair = Pair::new();
    pair.give(1, 0);
    let refused = pair.turn(|area, _, batch, out| area.remove_device(&name(0), batch, out));
    assert_eq!(refused, Err(OnboardError::HasMessages { device: name(0), messages: 1 }));
    pair.connect(0);
    pair.settle();
    pair.turn(|area, _, batch, out| area.remove_device(&name(0), batch, out)).unwrap();
    pair.settle();
    assert_eq!(pair.ended_with(0), Some(ErrorCode::UNKNOWN_DEVICE));
    pair.sync_all();
    pair.crash_gateway();
    assert_eq!(pair.area.device_count(), 0);
    pair.give(2, 0);
    assert_eq!(pair.view().counters.get(Counter::Accepted), 1, "a new device of the same name");
}

#[test]
fn limits_refuse_and_expired_ones_make_room() {
    let mut pair = Pair::with(|settings| settings.device_messages_max = 2);
    let mut mortal = message(1, 0);
    mortal.expiry_ms = Some(pair.wall_ms + 5_000);
    pair.offer(name(0), &mortal).unwrap();
    pair.give(2, 0);
    let full = pair.offer(name(0), &message(3, 0)).unwrap_err();
    assert_eq!(full.reason(), mq_wire::Reason::Q_FULL);
    assert!(!full.is_temporary());
    pair.pass(Duration::from_secs(6));
    pair.offer(name(0), &message(3, 0)).unwrap();
    assert_eq!(pair.view().counters.get(Counter::Expired), 1);
    let mut late = message(4, 0);
    late.expiry_ms = Some(1);
    assert_eq!(pair.offer(name(0), &late), Ok(Accepted::Expired));
    assert_eq!(pair.view().counters.get(Counter::Expired), 2);
}

#[test]
fn what_is_too_long_for_a_frame_is_refused() {
    let mut pair = Pair::with(|settings| settings.message_bytes_max = 10);
    let mut long = message(1, 0);
    long.payload = bytes::Bytes::from(vec![b'1'; 11]);
    let refused = pair.offer(name(0), &long).unwrap_err();
    assert_eq!(refused.reason(), mq_wire::Reason::MSG_TOO_BIG_FOR_Q);
}

#[test]
fn a_unit_that_is_dropped_leaves_nothing() {
    let mut pair = Pair::new();
    pair.turn(|area, now, batch, _| {
        let unit = batch.new_unit();
        area.accept(now, &name(0), &message(1, 0), unit, batch).unwrap();
        let written = area.unit_dropped(unit);
        assert_eq!(written.len(), 1);
        batch.back_out(unit, written);
    });
    let view = pair.view();
    assert_eq!((view.waiting, view.arriving, view.bytes), (0, 0, 0));
    assert_eq!(view.counters.get(Counter::Accepted), 0);
    pair.sync_all();
    pair.crash_gateway();
    assert_eq!(pair.view().waiting, 0);
}

#[test]
fn an_idle_session_is_woken_and_a_long_poll_served() {
    let mut pair = Pair::new();
    pair.devices[0].machine.connected(pair.time);
    let conn = pair.connect(0);
    pair.settle();
    // It waits in a long poll; the message goes at once.
    pair.offer(name(0), &message(1, 0)).unwrap();
    pair.settle();
    assert_eq!(pair.have(0), [1]);
    // The poll ends after its time, with nothing.
    pair.pass(Duration::from_secs(31));
    pair.gateway_timeout();
    pair.sync_all();
    let bytes: Vec<u8> = pair.links[&conn].down.iter().copied().collect();
    let (_, frame) = Frame::decode(&bytes::Bytes::from(bytes[4..].to_vec())).unwrap();
    assert!(matches!(frame, crate::frame::Decoded::Frame(Frame::End { given: 0, .. })), "{frame:?}");
    pair.settle();
}
