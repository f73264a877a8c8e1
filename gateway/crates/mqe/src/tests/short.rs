//! The disk is full: nothing new is taken, what drains goes on, and afterwards all goes on in its order (STORE.md 6).

use std::time::Duration;

use mq_wire::Reason;
use store::Room;

use super::pair::{Decide, Pair, Puts, message, name};
use crate::area::{Counter, OnboardError, Undelivered};
use crate::frame::ErrorCode;

fn wait_out(pair: &mut Pair) {
    pair.pass(Duration::from_secs(3));
    pair.device_timeout(0);
    pair.settle();
}

#[test]
fn messages_are_refused_for_the_time() {
    let mut pair = Pair::new();
    pair.give(1, 0);
    pair.area.set_room(Room::Short);
    for device in [0, 1] {
        let refused = pair.offer(name(device), &message(2, 0)).unwrap_err();
        assert_eq!(refused, Undelivered::NoRoom { device: name(device) });
        assert_eq!((refused.reason(), refused.is_temporary()), (Reason::STORAGE_MEDIUM_FULL, true));
    }
    // What would be refused for good needs room elsewhere: it waits too.
    let mut bad = message(3, 0);
    bad.queue = Default::default();
    assert!(pair.offer(name(0), &bad).unwrap_err().is_temporary());
    assert_eq!(pair.area.device_count(), 1);
    pair.area.set_room(Room::Enough);
    pair.give(2, 0);
    assert_eq!(pair.view().counters.get(Counter::Accepted), 2);
}

#[test]
fn what_drains_goes_on() {
    let mut pair = Pair::new();
    for number in 0..8 {
        pair.give(number, 0);
    }
    pair.area.set_room(Room::Short);
    // A refusal, a release, confirms, and RESUMEs.
    pair.devices[0].decide = Decide::Hold;
    pair.connect(0);
    pair.settle();
    for decide in [Decide::Reject, Decide::Release, Decide::Store] {
        pair.devices[0].decide = decide;
        pair.decide_held(0);
        pair.act(0);
        pair.devices[0].decide = Decide::Hold;
        pair.settle();
        pair.connect(0);
        pair.settle();
    }
    pair.devices[0].decide = Decide::Store;
    pair.decide_held(0);
    pair.act(0);
    pair.settle();
    let view = pair.view();
    assert_eq!((view.waiting, view.in_doubt), (0, 0), "{view:?}");
    assert!(view.counters.get(Counter::Rejected) > 0);
    assert_eq!(view.counters.get(Counter::Rejected) + view.counters.get(Counter::Delivered), 8);
}

#[test]
fn puts_wait_and_go_on_in_their_order() {
    let mut pair = Pair::new();
    pair.connect(0);
    pair.settle();
    pair.put(0, 1);
    pair.settle();
    // One is in the exits when the room goes.
    pair.puts = Puts::Hold;
    pair.put(0, 2);
    pair.settle();
    assert_eq!(pair.in_exits.len(), 1);
    pair.area.set_room(Room::Short);
    pair.put(0, 3);
    pair.settle();
    pair.puts = Puts::Take;
    pair.put(0, 4);
    pair.settle();
    wait_out(&mut pair);
    assert_eq!(pair.in_mq(), [1]);
    // A refusal is a decision too.
    pair.puts = Puts::Refuse;
    wait_out(&mut pair);
    pair.puts = Puts::Take;
    assert_eq!(pair.view().counters.get(Counter::PutRefused), 0);
    // Also on another connection, and what was taken before is answered.
    pair.connect(0);
    pair.settle();
    wait_out(&mut pair);
    assert_eq!(pair.in_mq(), [1]);
    pair.area.set_room(Room::Enough);
    wait_out(&mut pair);
    assert_eq!(pair.in_mq(), [1, 2, 3, 4]);
    assert!(pair.devices[0].machine.is_settled());
    assert_eq!(pair.view().counters.get(Counter::PutTaken), 4);
}

#[test]
fn new_devices_come_later() {
    let mut pair = Pair::new();
    pair.connect(0);
    pair.settle();
    pair.area.set_room(Room::Short);
    let device = pair.add_device(1);
    pair.connect(device);
    pair.settle();
    assert_eq!(pair.ended_with(device), Some(ErrorCode::LATER));
    let listed = pair.turn(|area, _, batch, _| area.add_device(name(2), batch));
    assert_eq!(listed, Err(OnboardError::NoRoom { device: name(2) }));
    assert_eq!(pair.area.device_count(), 1);
    // A known one that lost its store is let in.
    pair.lose_device_store(0);
    pair.connect(0);
    pair.settle();
    assert!(pair.devices[0].machine.is_ready());
    pair.area.set_room(Room::Enough);
    pair.connect(device);
    pair.settle();
    assert!(pair.devices[device].machine.is_ready());
}
