//! A batch is prepared, the gateway is killed, and before it comes back the sync queue or the transmission queue is not what it
//! was: cleared by an operator, or its messages have expired. Nothing is doubled, and the source goes on by itself (ONCE.md 4;
//! mqe.md 4.2).

use std::time::Duration;

use integration_tests::cuts::Fault;
use integration_tests::mq::persistent;
use integration_tests::wait;
use mq_wire::{GetOptions, Mqmd, OpenOptions};

use crate::world::{TIME, World};

const SYNC: &str = "MQE.SYNCQ";
const TRANSMISSION: &str = "GATE1";

/// A batch of two messages is prepared, and its unit of work has ended so; the gateway is down.
fn prepared(md: &Mqmd, committed: bool) -> World {
    let mut world = World::new("wait_seconds = 1");
    world.cuts.arm(Fault::HoldCommit(1), None);
    world.put_as(md, &["one", "two"]);
    let held = world.cuts.held(TIME);
    world.kill(held, committed);
    world
}

/// The gateway comes back; what is put now comes behind what is expected.
fn goes_on(mut world: World, expected: &[&str], what: &str) {
    world.put(&["behind"]);
    world.gateway.restart();
    world.delivers(&[expected, &["behind"]].concat(), what);
    world.wait_until_running();
    assert_eq!(world.app.drain(SYNC).len(), 2, "{what}: one for each direction");
}

#[test]
fn row_a_sync_queue_that_was_cleared_with_a_batch_prepared_is_replaced_by_the_messages_themselves() {
    for committed in [true, false] {
        let mut world = prepared(&persistent(), committed);
        assert_eq!(world.app.drain(SYNC).len(), 2);
        goes_on(world, &["one", "two"], &format!("committed: {committed}"));
    }
}

/// Of puts that were under way nobody knows but who looks: they are neither lost nor put twice by a guess (ONCE.md 3).
#[test]
fn row_a_sync_queue_that_was_cleared_with_puts_under_way_waits_for_an_operators_word() {
    for (committed, word) in [(true, "drained"), (false, "again")] {
        let mut world = World::new("wait_seconds = 1");
        world.cuts.arm(Fault::HoldCommit(1), None);
        world.device().push("DEV.QUEUE.1", &["one".to_owned(), "two".to_owned()]);
        let held = world.cuts.held(TIME);
        world.kill(held, committed);
        assert_eq!(world.app.drain(SYNC).len(), 2);
        world.gateway.restart();
        world.gateway.wait_until_source_says("outbox", "STOPPED", "--outbox drained");
        world.device().push("DEV.QUEUE.1", &["three".to_owned()]);
        let under_way = world.gateway.source("outbox")["waiting"].as_u64().unwrap();
        assert!((2..=3).contains(&under_way), "{under_way}");
        world.tool(&["sources", "start", "hq", "--outbox", word]);
        wait::until("an empty outbox", TIME, || {
            (world.gateway.source("outbox")["waiting"] == 0).then_some(())
        });
        let came: Vec<_> = world.app.drain("DEV.QUEUE.1").into_iter().map(|got| got.data).collect();
        assert_eq!(came, ["one", "two", "three"], "{word}");
        assert_eq!(world.app.drain(SYNC).len(), 2, "{word}: one for each direction");
    }
}

#[test]
fn row_a_transmission_queue_that_was_cleared_with_a_batch_prepared_gives_nothing_twice() {
    // The sync message says that nothing was committed: who cleared the queue wanted them gone.
    let mut world = prepared(&persistent(), false);
    assert_eq!(world.app.drain(TRANSMISSION).len(), 2);
    goes_on(world, &[], "cleared");
    // Neither is left: they look as if they had been committed.
    let mut world = prepared(&persistent(), false);
    assert_eq!((world.app.drain(TRANSMISSION).len(), world.app.drain(SYNC).len()), (2, 2));
    goes_on(world, &["one", "two"], "both cleared");
    // One is left: none was committed.
    let mut world = prepared(&persistent(), false);
    let queue = world.app.open(TRANSMISSION, "", OpenOptions::INPUT_SHARED).unwrap();
    world.app.get_one(queue, Duration::ZERO);
    world.app.close(queue).unwrap();
    assert_eq!(world.app.drain(SYNC).len(), 2);
    goes_on(world, &["two"], "the first one taken away, and the sync queue cleared");
}

#[test]
fn row_messages_that_expired_with_their_batch_prepared_hold_up_nothing() {
    let soon = Mqmd { expiry: 10, ..persistent() };
    for (committed, cleared) in [(false, false), (false, true), (true, false)] {
        let what = format!("committed: {committed}, cleared: {cleared}");
        let mut world = prepared(&soon, committed);
        if cleared {
            world.app.drain(SYNC);
        }
        // Also those that were committed are over by then: this one is younger than they are.
        world.put_as(&soon, &["younger"]);
        let queue = world.app.open(TRANSMISSION, "", OpenOptions::BROWSE).unwrap();
        wait::until("expired messages", TIME, || {
            let found = world.app.get(queue, GetOptions::BROWSE_FIRST, Duration::ZERO).unwrap();
            found.is_none().then_some(())
        });
        world.app.close(queue).unwrap();
        goes_on(world, &[], &what);
    }
}
