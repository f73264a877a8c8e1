//! The rows of ONCE.md 2, each with what breaks without it.

use std::time::Duration;

use super::pair::{Decide, Pair, message, name};
use crate::area::{AreaEffect, Counter, NonPersistent};
use crate::frame::{ErrorCode, Frame, Hello, VERSION};
use crate::{ConnId, Incarnation, RequestId, Sequence, SessionId};

/// Steps until the device's machine is ready and its first GET is at the gateway, without any more.
pub(super) fn until_get(pair: &mut Pair) -> ConnId {
    let conn = pair.connect(0);
    while !pair.devices[0].machine.is_ready() {
        pair.sync_all();
        pair.carry_up(conn, 1000);
        pair.sync_all();
        pair.carry_down(conn, 1000);
        while pair.device_sync(0) {}
    }
    pair.carry_up(conn, 1000);
    conn
}

fn hello(incarnation: Incarnation, last_session: SessionId) -> Hello {
    let (token, product) = (bytes::Bytes::new(), String::new());
    Hello { version: VERSION, device: name(0), incarnation, last_session, token, product }
}

fn mortal(pair: &Pair, number: u32, priority: u8) -> crate::DeviceMessage {
    let mut mortal = message(number, priority);
    mortal.expiry_ms = Some(pair.wall_ms + 10_000);
    mortal
}

fn sweep(pair: &mut Pair) {
    pair.pass(Duration::from_secs(40));
    pair.gateway_timeout();
    pair.pass(Duration::from_secs(40));
    pair.gateway_timeout();
    pair.sync_all();
}

#[test]
fn row_frames_wait_for_the_mark() {
    let mut pair = Pair::new();
    let message = mortal(&pair, 1, 0);
    pair.offer(name(0), &message).unwrap();
    pair.sync_all();
    let conn = until_get(&mut pair);
    assert_eq!(pair.view().in_doubt, 1);
    assert!(pair.links[&conn].down.is_empty(), "the mark is not on disk: nothing leaves");
    pair.sync_all();
    assert!(!pair.links[&conn].down.is_empty());
    // The device has it; the gateway crashes: it is in doubt, and does not expire.
    pair.carry_down(conn, 1000);
    while pair.device_sync(0) {}
    assert_eq!(pair.have(0), [1]);
    pair.crash_gateway();
    assert_eq!(pair.view().in_doubt, 1);
    sweep(&mut pair);
    assert_eq!(pair.view().counters.get(Counter::Expired), 0, "no end as expired while the device has it");
    pair.connect(0);
    pair.settle();
    assert_eq!(pair.view().counters.get(Counter::Delivered), 1);
}

#[test]
fn row_mark_per_priority_of_what_was_handed_out() {
    let mut pair = Pair::with(|settings| settings.limits.window_messages_max = 1);
    // The urgent one has the higher number; the other was never handed out.
    let (patient, urgent) = (mortal(&pair, 1, 0), mortal(&pair, 2, 9));
    pair.offer(name(0), &patient).unwrap();
    pair.offer(name(0), &urgent).unwrap();
    pair.sync_all();
    until_get(&mut pair);
    pair.sync_all();
    pair.crash_gateway();
    let urgent = pair.ledger.uid(2).unwrap();
    assert_eq!(pair.in_doubt().into_iter().collect::<Vec<_>>(), [urgent], "just what was handed out");
    sweep(&mut pair);
    let view = pair.view();
    assert_eq!(view.counters.get(Counter::Expired), 1, "the one never handed out is not kept from expiry");
    assert_eq!(view.in_doubt, 1);
}

#[test]
fn row_confirm_comes_after_the_durable_store() {
    let mut pair = Pair::new();
    pair.give(1, 0);
    let conn = until_get(&mut pair);
    pair.sync_all();
    pair.carry_down(conn, 1000);
    pair.carry_up(conn, 1000);
    pair.sync_all();
    assert_eq!(pair.view().in_doubt, 1, "the device's disk has not got it: no confirm");
    pair.crash_device(0);
    assert_eq!(pair.have(0), []);
    pair.connect(0);
    pair.settle();
    assert_eq!(pair.have(0), [1], "not lost");
    assert_eq!(pair.ledger.check(&[], true), []);
}

#[test]
fn row_note_is_forgotten_after_the_answer() {
    let mut pair = Pair::new();
    pair.give(1, 0);
    let conn = until_get(&mut pair);
    pair.sync_all();
    pair.carry_down(conn, 1000);
    while pair.device_sync(0) {}
    // CONFIRM is on its way and never arrives.
    assert!(!pair.links[&conn].up.is_empty());
    assert_eq!(pair.devices[0].machine.state().noted.len(), 1, "the note stays until the answer");
    pair.gateway_sees_end(conn);
    pair.connect(0);
    pair.settle();
    assert_eq!(pair.have(0), [1], "not a second time");
    assert_eq!(pair.view().counters.get(Counter::Delivered), 1);
    assert!(pair.devices[0].machine.state().noted.is_empty());
}

#[test]
fn row_frames_of_an_older_session_are_refused() {
    let mut pair = Pair::new();
    let message = mortal(&pair, 1, 0);
    pair.offer(name(0), &message).unwrap();
    pair.sync_all();
    let old = until_get(&mut pair);
    pair.sync_all();
    pair.carry_down(old, 1000);
    while pair.device_sync(0) {}
    assert!(!pair.links[&old].up.is_empty(), "the confirm on the old connection");
    // A second device of the same name; it has another store.
    let other = pair.add_device(0);
    pair.devices[other].decide = Decide::Hold;
    let new = pair.connect(other);
    for _ in 0..4 {
        pair.sync_all();
        pair.carry_up(new, 1000);
        pair.sync_all();
        pair.carry_down(new, 1000);
        while pair.device_sync(other) {}
    }
    assert_eq!(pair.view().in_doubt, 1, "handed to the second one");
    pair.carry_up(old, 1000);
    pair.sync_all();
    assert_eq!(pair.view().in_doubt, 1, "the older session's confirm ends nothing");
    pair.carry_down(old, 10_000);
    assert_eq!(pair.ended_with(0), Some(ErrorCode::FENCED));
}

#[test]
fn row_device_reads_nothing_more_from_the_old_connection() {
    let mut pair = Pair::new();
    let message = mortal(&pair, 1, 0);
    pair.offer(name(0), &message).unwrap();
    pair.sync_all();
    let old = until_get(&mut pair);
    pair.sync_all();
    assert!(!pair.links[&old].down.is_empty(), "the message is on its way");
    let new = pair.connect(0);
    pair.carry_down(old, 10_000);
    while pair.device_sync(0) {}
    assert_eq!(pair.have(0), [], "what the old connection still holds never comes");
    // It comes to wait again, and may expire.
    pair.devices[0].decide = Decide::Hold;
    pair.carry_up(new, 1000);
    pair.sync_all();
    pair.carry_down(new, 1000);
    while pair.device_sync(0) {}
    pair.pass(Duration::from_secs(11));
    pair.settle();
    assert_eq!(pair.view().counters.get(Counter::Expired), 1);
    assert_eq!(pair.have(0), []);
}

/// The device's half in time: what the owner holds undecided from the old connection holds HELLO back.
#[test]
fn row_device_decides_what_it_read_before_it_says_hello() {
    let mut pair = Pair::new();
    pair.give(1, 0);
    pair.devices[0].decide = Decide::Hold;
    let old = until_get(&mut pair);
    pair.sync_all();
    pair.carry_down(old, 1000);
    assert_eq!(pair.devices[0].held.len(), 1);
    let new = pair.connect(0);
    assert!(pair.links[&new].up.is_empty(), "RESUME could not name it yet");
    pair.devices[0].decide = Decide::Store;
    pair.decide_held(0);
    pair.act(0);
    while pair.device_sync(0) {}
    assert!(!pair.links[&new].up.is_empty());
    pair.settle();
    assert_eq!(pair.have(0), [1]);
    assert_eq!(pair.view().counters.get(Counter::Delivered), 1);
}

#[test]
fn row_welcome_reserves_and_resume_puts_in_force() {
    let mut pair = Pair::new();
    // A HELLO(0) that is late: the device gave that connection up.
    let late = pair.connect(0);
    let bytes: Vec<u8> = pair.links[&late].up.iter().copied().collect();
    pair.connect(0);
    pair.settle();
    assert_eq!(pair.view().incarnation, Incarnation(2), "the first number was reserved and never used");
    // The same bytes once more, on a connection of their own.
    pair.give_up(0);
    let again = pair.connect(0);
    pair.links.get_mut(&again).unwrap().up = bytes.into_iter().collect();
    pair.devices[0].machine.disconnected();
    pair.carry_up(again, 1000);
    pair.sync_all();
    assert_eq!(pair.view().incarnation, Incarnation(2), "reserved only");
    pair.gateway_sees_end(again);
    pair.connect(0);
    pair.settle();
    assert!(pair.devices[0].machine.is_ready(), "the device is not locked out");
}

#[test]
fn row_welcome_waits_until_the_number_is_durable() {
    let mut pair = Pair::new();
    let conn = pair.connect(0);
    pair.carry_up(conn, 1000);
    assert!(pair.links[&conn].down.is_empty());
    pair.crash_gateway();
    pair.carry_down(conn, 0);
    let other = pair.add_device(0);
    pair.connect(other);
    pair.settle();
    let one = pair.devices[other].machine.state().incarnation;
    pair.give_up(other);
    pair.connect(0);
    pair.settle();
    assert_ne!(pair.devices[0].machine.state().incarnation, one, "two stores, two numbers");
}

#[test]
fn row_device_makes_the_number_durable_before_resume() {
    let mut pair = Pair::new();
    let conn = pair.connect(0);
    pair.carry_up(conn, 1000);
    pair.sync_all();
    pair.carry_down(conn, 1000);
    assert!(pair.links[&conn].up.is_empty(), "no RESUME before the device's disk has the number");
    pair.device_sync(0);
    assert!(!pair.links[&conn].up.is_empty());
}

#[test]
fn row_a_lower_incarnation_is_refused_and_a_reset_lets_it_in() {
    let mut pair = Pair::new();
    pair.connect(0);
    pair.settle();
    pair.give_up(0);
    let other = pair.add_device(0);
    pair.connect(other);
    pair.settle();
    pair.give_up(other);
    pair.connect(0);
    pair.settle();
    assert_eq!(pair.ended_with(0), Some(ErrorCode::INCARNATION));
    pair.turn(|area, _, batch, _| area.reset_device(&name(0), batch)).unwrap();
    pair.sync_all();
    pair.crash_gateway();
    pair.connect(0);
    pair.settle();
    assert!(pair.devices[0].machine.is_ready());
    assert_eq!(pair.view().incarnation, Incarnation(3));
    pair.give_up(0);
    pair.connect(other);
    pair.settle();
    assert_eq!(pair.ended_with(other), Some(ErrorCode::INCARNATION), "once only");
}

#[test]
fn row_a_copied_device_store_is_refused() {
    let mut pair = Pair::new();
    pair.connect(0);
    pair.settle();
    let copy = pair.add_device(0);
    pair.devices[copy].file = pair.devices[0].file.clone();
    pair.connect(0);
    pair.settle();
    pair.give_up(0);
    pair.crash_device(copy);
    pair.connect(copy);
    pair.settle();
    assert_eq!(pair.ended_with(copy), Some(ErrorCode::INCARNATION));
}

#[test]
fn row_a_lost_device_store_gets_what_is_in_doubt_again() {
    let mut pair = Pair::new();
    pair.give(1, 0);
    let conn = until_get(&mut pair);
    pair.sync_all();
    pair.carry_down(conn, 1000);
    while pair.device_sync(0) {}
    pair.lose_device_store(0);
    pair.gateway_sees_end(conn);
    pair.connect(0);
    pair.settle();
    assert_eq!(pair.have(0), [1], "the new store has it");
    assert_eq!(pair.view().incarnation, Incarnation(2));
}

#[test]
fn row_no_unlock_by_time_out() {
    let mut pair = Pair::new();
    let message = mortal(&pair, 1, 0);
    pair.offer(name(0), &message).unwrap();
    pair.sync_all();
    let conn = until_get(&mut pair);
    pair.sync_all();
    pair.carry_down(conn, 1000);
    let before = pair.links[&conn].down.len();
    pair.pass(Duration::from_secs(61));
    pair.gateway_timeout();
    pair.sync_all();
    assert!(pair.links[&conn].down.len() > before, "sent again on the same session");
    assert_eq!(pair.view().in_doubt, 1, "and still in doubt");
    sweep(&mut pair);
    assert_eq!(pair.view().counters.get(Counter::Expired), 0);
    pair.settle();
    assert_eq!(pair.have(0), [1], "the repeats were ignored");
    assert_eq!(pair.view().counters.get(Counter::Delivered), 1);
}

#[test]
fn row_no_expiry_in_doubt() {
    let mut pair = Pair::new();
    let message = mortal(&pair, 1, 0);
    pair.offer(name(0), &message).unwrap();
    pair.sync_all();
    let conn = until_get(&mut pair);
    pair.sync_all();
    pair.carry_down(conn, 1000);
    while pair.device_sync(0) {}
    pair.gateway_sees_end(conn);
    sweep(&mut pair);
    assert_eq!((pair.view().in_doubt, pair.view().waiting), (1, 0));
    pair.connect(0);
    pair.settle();
    assert_eq!(pair.view().counters.get(Counter::Delivered), 1);
    assert_eq!(pair.view().counters.get(Counter::Expired), 0);
}

#[test]
fn row_tombstone_after_force() {
    let mut pair = Pair::new();
    let uid = pair.give(1, 0);
    let conn = until_get(&mut pair);
    pair.sync_all();
    pair.carry_down(conn, 1000);
    while pair.device_sync(0) {}
    let forced = pair.turn(|area, now, batch, _| area.force(now, &name(0), uid, batch));
    assert_eq!(forced, Ok(true));
    pair.sync_all();
    pair.crash_gateway();
    assert_eq!((pair.view().tombstones, pair.view().in_doubt), (1, 0), "it survives");
    pair.connect(0);
    pair.settle();
    let view = pair.view();
    assert_eq!(view.counters.get(Counter::Late), 1, "what the device says of it is not lost");
    assert_eq!((view.tombstones, view.counters.get(Counter::Forced)), (0, 1));
    assert_eq!(view.counters.get(Counter::Delivered), 0);
    pair.crash_gateway();
    assert_eq!(pair.view().tombstones, 0, "settled for good");
    pair.connect(0);
    pair.settle();
    assert_eq!(pair.view().counters.get(Counter::Late), 1, "and counted once");
}

#[test]
fn row_repeat_of_a_rejected_message_is_ignored() {
    let mut pair = Pair::new();
    pair.give(1, 0);
    pair.devices[0].decide = Decide::Reject;
    let conn = until_get(&mut pair);
    pair.sync_all();
    pair.carry_down(conn, 1000);
    while pair.device_sync(0) {}
    // REJECT is on its way; the gateway sends the message again meanwhile.
    pair.pass(Duration::from_secs(61));
    pair.gateway_timeout();
    pair.sync_all();
    pair.devices[0].decide = Decide::Store;
    pair.settle();
    assert_eq!(pair.have(0), [], "dead-lettered, and not delivered too");
    assert_eq!(pair.dead_letters(), 1);
    assert_eq!(pair.view().counters.get(Counter::Rejected), 1);
    assert!(pair.devices[0].machine.is_settled());
}

#[test]
fn row_repeat_of_a_released_message_is_ignored() {
    let mut pair = Pair::new();
    let message = mortal(&pair, 1, 0);
    pair.offer(name(0), &message).unwrap();
    pair.sync_all();
    pair.devices[0].decide = Decide::Release;
    let conn = until_get(&mut pair);
    pair.sync_all();
    pair.carry_down(conn, 1000);
    while pair.device_sync(0) {}
    pair.pass(Duration::from_secs(61));
    pair.gateway_timeout();
    pair.devices[0].decide = Decide::Store;
    pair.settle();
    assert_eq!(pair.have(0), [], "expired once it waited again, and not delivered too");
    assert_eq!(pair.view().counters.get(Counter::Expired), 1);
    assert!(pair.devices[0].machine.is_settled());
}

#[test]
fn row_refusals_are_said_again_in_resume() {
    for cut_before_gateway in [true, false] {
        let mut pair = Pair::new();
        pair.give(1, 0);
        pair.devices[0].decide = Decide::Reject;
        let conn = until_get(&mut pair);
        pair.sync_all();
        pair.carry_down(conn, 1000);
        while pair.device_sync(0) {}
        if !cut_before_gateway {
            pair.carry_up(conn, 1000);
        }
        pair.gateway_sees_end(conn);
        pair.crash_device(0);
        pair.crash_gateway();
        pair.devices[0].decide = Decide::Store;
        pair.connect(0);
        pair.settle();
        assert_eq!((pair.have(0).len(), pair.dead_letters()), (0, 1));
        assert!(pair.devices[0].machine.is_settled());
    }
}

/// The dead-letter put falls into a time in which the device resumes, on either side of it.
#[test]
fn row_a_rejected_message_ends_once_wherever_the_crash_falls() {
    for crash in 0..4 {
        let mut pair = Pair::new();
        pair.give(1, 0);
        pair.devices[0].decide = Decide::Reject;
        let conn = until_get(&mut pair);
        pair.sync_all();
        pair.carry_down(conn, 1000);
        while pair.device_sync(0) {}
        pair.carry_up(conn, 1000);
        assert_eq!(pair.letters.len(), 1);
        match crash {
            0 => pair.crash_gateway(),
            1 => {
                pair.finish_letter();
                pair.crash_gateway();
            }
            2 => {
                // The device comes again while the letter is on its way.
                pair.connect(0);
            }
            _ => {
                // The same, and the crash comes when RESUME was answered.
                until_get(&mut pair);
                pair.sync_all();
                pair.crash_gateway();
                assert_eq!(pair.view().in_doubt, 1, "still covered by the mark");
            }
        }
        pair.settle();
        pair.connect(0);
        pair.settle();
        assert_eq!((pair.have(0).len(), pair.dead_letters()), (0, 1), "crash {crash}");
        assert_eq!(pair.view().counters.get(Counter::Rejected), 1);
        assert!(pair.devices[0].machine.is_settled());
    }
}

/// The dead-letter queue does not take it: the letter comes again, by time and by the device's word.
#[test]
fn row_a_rejected_message_is_not_forgotten_when_its_letter_fails() {
    for by_time in [true, false] {
        let mut pair = Pair::new();
        pair.give(1, 0);
        pair.devices[0].decide = Decide::Reject;
        let conn = until_get(&mut pair);
        pair.sync_all();
        pair.carry_down(conn, 1000);
        while pair.device_sync(0) {}
        pair.carry_up(conn, 1000);
        assert_eq!(pair.letters.len(), 1);
        pair.letters.clear();
        if by_time {
            // Also when the device has gone.
            pair.gateway_sees_end(conn);
            pair.pass(Duration::from_secs(61));
            pair.gateway_timeout();
            assert_eq!(pair.letters.len(), 1);
            pair.finish_letter();
        }
        pair.connect(0);
        pair.settle();
        assert_eq!((pair.have(0).len(), pair.dead_letters()), (0, 1), "by time: {by_time}");
        assert!(pair.devices[0].machine.is_settled());
    }
}

#[test]
fn row_resume_settles_all_in_one_unit() {
    let mut pair = Pair::new();
    for number in 1..=4 {
        pair.give(number, 0);
    }
    let conn = until_get(&mut pair);
    pair.sync_all();
    pair.devices[0].decide = Decide::Hold;
    pair.carry_down(conn, 10_000);
    // Two of the four are stored when the link breaks.
    pair.devices[0].decide = Decide::Store;
    pair.decide_held(0);
    pair.device_sync(0);
    pair.device_sync(0);
    pair.crash_device(0);
    pair.gateway_sees_end(conn);
    assert_eq!(pair.view().in_doubt, 4);
    pair.devices[0].decide = Decide::Hold;
    until_get(&mut pair);
    pair.sync_all();
    assert_eq!(pair.view().counters.get(Counter::Delivered), 2);
    assert_eq!(pair.view().in_doubt, 2, "handed out again");
    let again: Vec<u8> = pair.area.messages(&name(0)).unwrap().map(|view| view.deliveries).collect();
    assert_eq!(again, [2, 2], "marked as sent before");
    pair.crash_gateway();
    until_get(&mut pair);
    let again: Vec<u8> = pair.area.messages(&name(0)).unwrap().map(|view| view.deliveries).collect();
    assert_eq!(again, [2, 2], "also when another run had sent them");
    pair.devices[0].decide = Decide::Store;
    pair.connect(0);
    pair.settle();
    assert_eq!(pair.have(0), [1, 2, 3, 4]);
    assert_eq!(pair.ledger.check(&[], true), []);
}

#[test]
fn row_resume_clears_the_mark() {
    let mut pair = Pair::with(|settings| settings.limits.window_messages_max = 1);
    let (one, two) = (mortal(&pair, 1, 0), mortal(&pair, 2, 9));
    pair.offer(name(0), &one).unwrap();
    pair.sync_all();
    let conn = until_get(&mut pair);
    pair.sync_all();
    pair.gateway_sees_end(conn);
    // The device never got it and says so; then another is handed out instead.
    pair.offer(name(0), &two).unwrap();
    pair.sync_all();
    until_get(&mut pair);
    pair.sync_all();
    pair.crash_gateway();
    let two = pair.ledger.uid(2).unwrap();
    assert_eq!(pair.in_doubt().into_iter().collect::<Vec<_>>(), [two]);
    sweep(&mut pair);
    assert_eq!(
        pair.view().counters.get(Counter::Expired),
        1,
        "the first is not kept from expiry for nothing"
    );
}

#[test]
fn row_resume_clears_the_mark_also_on_disk() {
    let mut pair = Pair::new();
    let message = mortal(&pair, 1, 0);
    pair.offer(name(0), &message).unwrap();
    pair.sync_all();
    let old = until_get(&mut pair);
    pair.sync_all();
    pair.give_up(0);
    pair.gateway_sees_end(old);
    assert_eq!(pair.view().in_doubt, 1);
    // The device resumes and asks for nothing.
    let (incarnation, last_session) = {
        let state = pair.devices[0].machine.state();
        (state.incarnation, state.session)
    };
    let hello = hello(incarnation, last_session);
    pair.turn(|area, _, batch, out| {
        area.hello(ConnId(100), RequestId(1), &hello, batch, out);
        area.resume(ConnId(100), RequestId(2), &[], &[], batch, out);
    });
    pair.sync_all();
    pair.crash_gateway();
    assert_eq!((pair.view().in_doubt, pair.view().waiting), (0, 1));
    sweep(&mut pair);
    assert_eq!(pair.view().counters.get(Counter::Expired), 1, "not kept from expiry for nothing");
}

/// Requests of the older connection that were read before it was closed, and come into the core behind the new HELLO.
#[test]
fn row_frames_of_an_older_session_are_refused_in_the_core_too() {
    let mut pair = Pair::new();
    let uid = pair.give(1, 0);
    let old = until_get(&mut pair);
    pair.sync_all();
    assert_eq!(pair.view().in_doubt, 1);
    let effects = pair.turn(|area, now, batch, out| {
        area.hello(ConnId(100), RequestId(1), &hello(Incarnation(0), SessionId(0)), batch, out);
        out.clear();
        area.confirm(now, old, RequestId(50), &[uid], batch, out);
        area.get(now, old, RequestId(51), 1, 1, 0, batch, out);
        area.resume(old, RequestId(52), &[uid], &[], batch, out);
        area.put_arrived(old, RequestId(53), Sequence(1), out);
        std::mem::take(out)
    });
    let mut fenced = 0;
    for effect in effects {
        match effect {
            AreaEffect::Frame { conn, frame: Frame::Error { code, .. }, .. } => {
                assert_eq!((conn, code), (old, ErrorCode::FENCED));
                fenced += 1;
            }
            AreaEffect::Close { conn, .. } => assert_eq!(conn, old),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(fenced, 4);
    assert_eq!(pair.view().in_doubt, 1, "nothing ended");
    // Nor does the late end of the older connection end the newer session.
    pair.turn(|area, _, _, _| area.closed(old));
    assert_eq!(pair.view().session.map(|(conn, _)| conn), Some(ConnId(100)));
}

#[test]
fn row_a_message_that_was_not_refused_is_not_dead_lettered() {
    let mut pair = Pair::new();
    let uid = pair.give(1, 0);
    until_get(&mut pair);
    pair.sync_all();
    let finished = pair.turn(|area, _, batch, out| {
        let mut commit = store::Commit::default();
        let finished = area.finish_reject(&name(0), uid, &mut commit, batch, out);
        assert!(commit.is_empty());
        finished
    });
    assert!(!finished);
    assert_eq!(pair.view().in_doubt, 1);
}

/// What came and was not even told to the owner when the connection broke never came.
#[test]
fn row_device_forgets_what_it_read_and_did_not_tell() {
    let mut pair = Pair::new();
    pair.give(1, 0);
    let conn = until_get(&mut pair);
    pair.sync_all();
    let bytes: Vec<u8> = pair.links.get_mut(&conn).unwrap().down.drain(..).collect();
    pair.devices[0].machine.handle_bytes(pair.time, &bytes);
    pair.give_up(0);
    assert!(pair.devices[0].held.is_empty());
    pair.connect(0);
    pair.settle();
    assert!(pair.devices[0].machine.is_ready(), "HELLO does not wait for what nobody decides");
    assert_eq!(pair.have(0), [1]);
    assert_eq!(pair.view().counters.get(Counter::Delivered), 1);
}

#[test]
fn row_lost_non_persistent_messages_in_doubt_become_tombstones() {
    let mut pair = Pair::with(|settings| {
        settings.non_persistent = NonPersistent::Lost;
        settings.limits.window_messages_max = 1;
    });
    for number in 1..=2 {
        let mut volatile = message(number, 0);
        volatile.descriptor.persistence = mq_wire::Persistence::NOT_PERSISTENT;
        pair.offer(name(0), &volatile).unwrap();
    }
    pair.sync_all();
    let conn = until_get(&mut pair);
    pair.sync_all();
    pair.carry_down(conn, 1000);
    while pair.device_sync(0) {}
    pair.crash_gateway();
    let view = pair.view();
    assert_eq!(view.counters.get(Counter::LostNonPersistent), 2);
    assert_eq!((view.tombstones, view.waiting, view.in_doubt), (1, 0, 0));
    pair.connect(0);
    pair.settle();
    assert_eq!(pair.view().counters.get(Counter::Late), 1);
    assert_eq!(pair.view().tombstones, 0);
}
