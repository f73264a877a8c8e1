//! The connections between a gateway and its queue manager are cut at every single request, before it and with its answer
//! lost, and MQCMIT is answered with "backed out" and with other failures: after each of them exactly one copy, both ways (ONCE.md 3 and 4, mqe.md 4.2
//! and 4.4).

use std::time::Duration;

use integration_tests::cuts::{Cuts, Fault};
use integration_tests::device::Device;
use integration_tests::mq::Mq;
use integration_tests::service::Service;
use integration_tests::{remote, tools, wait};

use crate::{DEVICE_SIM, GATEWAY};

const TIME: Duration = Duration::from_secs(60);

/// A round needs fewer requests than these: the gets, dead letter, sync message and MQCMIT of both connections.
const REQUESTS: u32 = 20;
/// And so many are connecting and recovery at least.
const RECOVERY: u32 = 14;

struct World {
    hq: Service,
    gateway: Service,
    cuts: Cuts,
    app: Mq,
    round: u32,
}

impl World {
    fn new(source: &str) -> Self {
        let mut hq = remote::queue_manager(GATEWAY);
        hq.restart();
        let cuts = Cuts::start(hq.mq()).unwrap();
        let mut gateway = remote::gateway_at(GATEWAY, cuts.address(), source, "");
        gateway.restart();
        let app = Mq::connect(&hq.connect_options("DEV.APP.SVRCONN")).unwrap();
        Self { hq, gateway, cuts, app, round: 0 }
    }

    /// Two messages down, one dead letter, one message up; what arrives is just that.
    fn round(&mut self, fault: Fault, then: Option<Fault>) {
        self.round += 1;
        let round = self.round;
        self.cuts.arm(fault, then);
        for text in [format!("{round} one"), format!("{round} two")] {
            self.app.put_one("ORDERS%DEV00001", "GATE1", text).unwrap();
        }
        self.app.put_one("NOWHERE", "GATE1", format!("{round} dead")).unwrap();
        let device = Device::new(DEVICE_SIM, self.gateway.devices(), "DEV00001", self.gateway.folder());
        device.push("DEV.QUEUE.1", &[format!("{round} up")]);
        let pulled = device.pull_up_to(2, TIME);
        let texts: Vec<&str> = pulled.iter().filter_map(|message| message["payload"].as_str()).collect();
        assert_eq!(texts, [format!("{round} one"), format!("{round} two")], "{fault:?}");
        for (queue, text) in [("DEV.QUEUE.1", "up"), ("DEV.DEAD.LETTER.QUEUE", "dead")] {
            let found = wait::until(text, TIME, || Some(self.app.drain(queue)).filter(|all| !all.is_empty()));
            assert_eq!(found.len(), 1, "{fault:?} {queue}");
            assert!(found[0].data.ends_with(format!("{round} {text}").as_bytes()), "{fault:?} {queue}");
        }
    }

    /// Nothing is left, and nothing comes twice.
    fn end(mut self) {
        let device = Device::new(DEVICE_SIM, self.gateway.devices(), "DEV00001", self.gateway.folder());
        assert_eq!(device.pull_up_to(1, Duration::from_secs(1)).len(), 0);
        for queue in ["DEV.QUEUE.1", "DEV.DEAD.LETTER.QUEUE"] {
            assert_eq!(self.app.drain(queue).len(), 0, "{queue}");
        }
        assert_eq!(self.hq.depth("GATE1"), 0);
        let delivered = self.gateway.status()["area"]["ends"]["delivered"].as_u64();
        assert_eq!(delivered, Some(2 * u64::from(self.round)));
    }
}

#[test]
fn row_a_cut_at_any_request_or_answer_leaves_exactly_one_copy() {
    let step = tools::count(1, 3) as usize;
    let mut world = World::new("wait_seconds = 1");
    let mut cut = 0;
    for n in (1..=REQUESTS).step_by(step) {
        for fault in [Fault::CutBefore(n), Fault::CutAfter(n)] {
            world.round(fault, None);
            cut += u32::from(world.cuts.done());
        }
    }
    eprintln!("cuts: {cut} of {} rounds were cut", world.round);
    // The last ones may be behind all that a round needs.
    assert!(2 * cut > world.round);
    world.end();
}

#[test]
fn row_a_unit_of_work_that_is_backed_out_instead_of_committed_goes_again() {
    let mut world = World::new("wait_seconds = 1");
    for n in 1..=tools::count(6, 2) {
        world.round(Fault::BackOut(n), None);
    }
    world.end();
}

/// Any other reason does not say whether it was committed: it was, and the messages are neither lost nor there twice.
#[test]
fn row_a_commit_that_is_answered_with_another_failure_is_looked_up() {
    let mut world = World::new("wait_seconds = 1");
    for n in 1..=tools::count(6, 3) {
        world.round(Fault::Deny(n), None);
        assert!(n > 1 || world.cuts.done());
    }
    world.end();
}

/// The connection breaks with the answer to MQCMIT lost or not sent, and again at each step of the recovery.
#[test]
fn row_a_cut_between_the_steps_of_recovery_decides_nothing_wrong() {
    let step = tools::count(3, 6) as usize;
    let mut world = World::new("wait_seconds = 1\nbatch_messages_max = 2");
    for first in [8, 9, 10] {
        for n in (1..=RECOVERY).step_by(step) {
            world.round(Fault::CutAfter(first), Some(Fault::CutAfter(n)));
            world.round(Fault::CutBefore(first), Some(Fault::CutBefore(n)));
        }
    }
    world.end();
}
