//! The gateway has lost its connection, and the queue manager keeps the old unit of work for a while: with its handles, and
//! then without them. Until it ends nothing is decided; then there is exactly one copy, however it ends (ONCE.md 3 and 4). And
//! a standby, which has a store of its own, takes over when the first gateway's connection is gone.

use integration_tests::cuts::Fault;
use integration_tests::device::Device;
use integration_tests::service::Service;
use integration_tests::{remote, wait};

use crate::world::{TIME, World};
use crate::{DEVICE_SIM, GATEWAY};

#[test]
fn row_an_old_unit_of_work_that_is_not_finished_is_waited_for() {
    for commits in [true, false] {
        let mut world = World::new("wait_seconds = 1");
        world.cuts.arm(Fault::HoldCommit(1), None);
        world.put(&["one", "two"]);
        let held = world.cuts.held(TIME);
        held.cut_client();
        // The old connection still has the transmission queue.
        world.gateway.wait_until_source_says("remote", "RETRYING", "2042");
        held.close_queue().unwrap();
        // By now, not when its time has come.
        world.tool(&["sources", "start", "hq"]);
        // Nobody has it now, and the messages are not on it: that does not say that they were committed.
        world.gateway.wait_until_source_says("remote", "RETRYING", "is not finished");
        assert_eq!(world.hq.depth("GATE1"), 0);
        let status = world.gateway.status();
        assert_eq!(
            (&status["area"]["messages"], &world.gateway.source("remote")["batch"]),
            (&0.into(), &0.into())
        );
        if commits {
            held.finish_alone();
        } else {
            drop(held);
        }
        world.delivers(&["one", "two"], &format!("committed: {commits}"));
        world.put(&["three"]);
        world.delivers(&["three"], "it goes on");
    }
}

#[test]
fn row_an_old_unit_of_work_of_the_outbox_is_waited_for() {
    for commits in [true, false] {
        let mut world = World::new("wait_seconds = 1");
        world.cuts.arm(Fault::HoldCommit(1), None);
        world.device().push("DEV.QUEUE.1", &["up".to_owned()]);
        let held = world.cuts.held(TIME);
        held.cut_client();
        world.gateway.wait_until_source_says("outbox", "RETRYING", "is not finished");
        assert_eq!(world.app.drain("DEV.QUEUE.1").len(), 0);
        assert_eq!(world.gateway.source("outbox")["waiting"], 1);
        if commits {
            held.finish_alone();
        } else {
            drop(held);
        }
        wait::until("an empty outbox", TIME, || {
            (world.gateway.source("outbox")["waiting"] == 0).then_some(())
        });
        let came: Vec<_> = world.app.drain("DEV.QUEUE.1").into_iter().map(|got| got.data).collect();
        assert_eq!(came, ["up"], "committed: {commits}");
    }
}

/// Both have a device of that name: what one has delivered the other must never have.
#[test]
fn row_a_standby_takes_over_when_the_old_unit_of_work_has_ended() {
    for commits in [true, false] {
        let mut world = World::new("wait_seconds = 1");
        let mut standby = remote::gateway(GATEWAY, &world.hq, "wait_seconds = 1", "");
        standby.restart();
        standby.wait_until_source_says("remote", "RETRYING", "2042");
        world.cuts.arm(Fault::HoldCommit(1), None);
        world.put(&["one", "two"]);
        let held = world.cuts.held(TIME);
        world.gateway.kill();
        held.cut_client();
        // The first gateway is gone; its connection is not.
        tries(&standby);
        standby.wait_until_source_says("remote", "RETRYING", "2042");
        if commits {
            held.finish_alone();
        } else {
            drop(held);
        }
        standby.wait_until_source("remote", "RUNNING");
        world.put(&["three"]);
        let there = Device::new(DEVICE_SIM, standby.devices(), "DEV00001", standby.folder());
        let pulled = there.pull(if commits { 1 } else { 3 });
        assert_eq!(pulled.last().unwrap()["payload"], "three");
        // The first one comes back, and decides about its batch when it has the queue again.
        world.gateway.restart();
        world.gateway.wait_until_source_says("remote", "RETRYING", "2042");
        assert_eq!(world.gateway.status()["area"]["messages"], 0);
        standby.stop();
        world.put(&["four"]);
        let expected: &[&str] = if commits { &["one", "two", "four"] } else { &["four"] };
        world.delivers(expected, &format!("committed: {commits}"));
    }
}

/// It has tried again since.
#[track_caller]
fn tries(standby: &Service) {
    let next = || standby.source("remote")["next_try_ms"].as_u64();
    let before = next();
    wait::until("another try", TIME, || next().filter(|_| next() != before));
}
