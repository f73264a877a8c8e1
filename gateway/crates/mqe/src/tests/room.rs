//! Room in doubt that comes free without the device's own request: the GET that waits is served.

use std::time::Duration;

use super::pair::{Decide, Pair, name};
use super::to_device::until_get;
use crate::RequestId;

/// A message that ends in the dead-letter queue makes room for the next: the GET that waits gets it.
#[test]
fn row_room_in_doubt_after_a_dead_letter_is_for_the_get_that_waits() {
    let mut pair = Pair::with(|settings| settings.in_doubt_max = 1);
    let one = pair.give(1, 0);
    pair.devices[0].decide = Decide::Hold;
    let conn = until_get(&mut pair);
    pair.sync_all();
    let two = pair.give(2, 0);
    pair.turn(|area, now, batch, out| {
        area.get(now, conn, RequestId(60), 4, 1_000, 30_000, batch, out);
        let reason = mq_wire::Reason::UNKNOWN_OBJECT_NAME;
        area.reject(conn, RequestId(61), one, reason, batch, out);
    });
    assert_eq!(pair.in_doubt().into_iter().collect::<Vec<_>>(), [one], "there is no room");
    pair.pass(Duration::from_secs(1));
    pair.finish_letter();
    pair.gateway_timeout();
    assert_eq!(pair.in_doubt().into_iter().collect::<Vec<_>>(), [two]);
    // With nothing in doubt and no GET nothing is left to wait for.
    pair.turn(|area, now, batch, out| {
        let reason = mq_wire::Reason::UNKNOWN_OBJECT_NAME;
        area.reject(conn, RequestId(62), two, reason, batch, out);
        assert!(area.poll_timeout().is_some_and(|at| at > now.instant));
    });
    pair.finish_letter();
    assert_eq!(pair.area.poll_timeout(), None);
}

/// The same when an operator ends it.
#[test]
fn row_room_in_doubt_after_a_force_is_for_the_get_that_waits() {
    let mut pair = Pair::with(|settings| settings.in_doubt_max = 1);
    let one = pair.give(1, 0);
    pair.devices[0].decide = Decide::Hold;
    let conn = until_get(&mut pair);
    pair.sync_all();
    let two = pair.give(2, 0);
    pair.turn(|area, now, batch, out| area.get(now, conn, RequestId(60), 4, 1_000, 30_000, batch, out));
    pair.pass(Duration::from_secs(1));
    pair.turn(|area, now, batch, _| area.force(now, &name(0), one, batch)).unwrap();
    pair.gateway_timeout();
    assert_eq!(pair.in_doubt().into_iter().collect::<Vec<_>>(), [two]);
}
