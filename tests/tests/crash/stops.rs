//! The gateway is stopped while a request of a batch, or the answer to it, is under way: at each step of the batch, by a signal, by
//! two of them, and by an operator who stops the source; and it is killed there. Whatever was begun is committed as a whole or
//! backed out, and MQDISC, which would commit, never ends an open unit of work (ONCE.md 4).

use integration_tests::cuts::{Fault, Held};
use integration_tests::mq::persistent;
use integration_tests::{tools, wait};

use crate::world::{DEAD, TIME, World};

/// A batch of two messages and a dead letter needs so many requests.
const REQUESTS: u32 = 9;

/// Stops with the n-th request of a batch not done, for each n, and with its answer not there; and starts again.
fn stopped_at_each_step(stop: fn(&mut World, Held)) {
    let step = tools::count(1, 3) as usize;
    let faults = (1..=REQUESTS).step_by(step).flat_map(|n| [Fault::HoldRequest(n), Fault::HoldAnswer(n)]);
    let mut world = World::new("wait_seconds = 1");
    for fault in faults.chain([Fault::HoldCommit(1)]) {
        let what = format!("{fault:?}");
        world.cuts.arm(fault, None);
        let [one, two] = ["one", "two"].map(|text| ("ORDERS%DEV00001", text));
        world.put_to(&persistent(), &[one, ("NOWHERE", "dead"), two]);
        let held = world.cuts.held(TIME);
        stop(&mut world, held);
        world.delivers(&["one", "two"], &what);
        let app = &mut world.app;
        let dead =
            wait::until("the dead letter", TIME, || Some(app.drain(DEAD)).filter(|all| !all.is_empty()));
        assert_eq!(dead.len(), 1, "{what}");
    }
    assert_eq!(world.cuts.disconnected_in_unit(), 0);
    assert_eq!(world.app.drain(DEAD).len(), 0);
}

#[test]
fn row_a_stop_by_a_signal_at_any_step_of_a_batch_leaves_exactly_one_copy() {
    stopped_at_each_step(|world, held| {
        let ended = world.gateway.stop();
        assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
        drop(held);
        world.gateway.restart();
    });
}

#[test]
fn row_a_stop_at_once_at_any_step_of_a_batch_leaves_exactly_one_copy() {
    stopped_at_each_step(|world, held| {
        world.gateway.process().terminate();
        let ended = world.gateway.stop();
        assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
        drop(held);
        world.gateway.restart();
    });
}

#[test]
fn row_a_source_that_is_stopped_at_any_step_of_a_batch_leaves_exactly_one_copy() {
    stopped_at_each_step(|world, held| {
        world.tool(&["sources", "stop", "hq"]);
        held.pass();
        for kind in ["remote", "outbox"] {
            world.gateway.wait_until_source_says(kind, "STOPPED", "by an operator");
        }
        world.tool(&["sources", "start", "hq"]);
    });
}

/// mqe.md 10 #2, for a queue manager of its own. That of the gateway has no steps between which a kill could fall, but for those
/// of the journal: kills of it at random are in `devices`.
#[test]
fn acceptance_02_a_kill_at_any_step_of_a_batch_leaves_exactly_one_copy() {
    stopped_at_each_step(|world, held| {
        world.kill(held, false);
        world.gateway.restart();
    });
}
