//! What time does to the area: the bounded sweep, the clock that jumps, windows that are sent again in pieces.

use std::time::Duration;

use super::pair::{Pair, message, name};
use crate::area::Counter;

fn mortals(pair: &mut Pair, count: u32) {
    for number in 0..count {
        let mut mortal = message(number, 0);
        mortal.expiry_ms = Some(pair.wall_ms + 1_000);
        pair.offer(name((number % 3) as usize), &mortal).unwrap();
    }
    pair.sync_all();
}

fn expired(pair: &Pair) -> u64 {
    pair.area.devices(None).map(|view| view.counters.get(Counter::Expired)).sum()
}

#[test]
fn the_sweep_goes_in_steps() {
    let mut pair = Pair::new();
    mortals(&mut pair, 4_500);
    assert_eq!(pair.area.poll_timeout(), Some(pair.time + Duration::from_secs(30)));
    pair.pass(Duration::from_secs(30));
    let mut steps = 0;
    while pair.area.poll_timeout().is_some_and(|at| at <= pair.time) {
        let before = expired(&pair);
        pair.gateway_timeout();
        assert!(expired(&pair) - before <= 1_500, "bounded");
        steps += 1;
    }
    assert!(steps >= 3);
    assert_eq!(expired(&pair), 4_500);
    assert_eq!(pair.area.poll_timeout(), None, "nothing left that can expire");
    pair.sync_all();
    pair.crash_gateway();
    assert_eq!((expired(&pair), pair.area.bytes()), (4_500, 0));
}

#[test]
fn a_clock_that_jumps_stops_the_sweep() {
    let mut pair = Pair::new();
    mortals(&mut pair, 3);
    pair.wall_ms += 3_600_000;
    pair.pass(Duration::from_secs(30));
    pair.gateway_timeout();
    assert_eq!(expired(&pair), 0);
    assert!(pair.area.sweep_paused_until().is_some());
    pair.pass(Duration::from_secs(300));
    pair.gateway_timeout();
    assert_eq!(expired(&pair), 0, "not yet");
    pair.pass(Duration::from_secs(300));
    pair.gateway_timeout();
    assert_eq!(expired(&pair), 3, "ten minutes later the new time is taken as the right one");
}

#[test]
fn an_operator_says_that_the_clock_is_right() {
    let mut pair = Pair::new();
    mortals(&mut pair, 3);
    pair.wall_ms += 3_600_000;
    pair.pass(Duration::from_secs(30));
    pair.gateway_timeout();
    pair.area.resume_sweep();
    pair.pass(Duration::from_secs(30));
    pair.gateway_timeout();
    assert_eq!(expired(&pair), 3);
}

#[test]
fn a_get_comes_to_what_stands_behind_many_expired_ones() {
    let mut pair = Pair::new();
    for number in 0..2_500 {
        let mut mortal = message(number, 0);
        mortal.expiry_ms = Some(pair.wall_ms + 1_000);
        pair.offer(name(0), &mortal).unwrap();
    }
    pair.give(9_999, 0);
    pair.pass(Duration::from_secs(2));
    pair.connect(0);
    pair.settle();
    assert_eq!(pair.have(0), [9_999]);
    assert_eq!(expired(&pair), 2_500);
}
