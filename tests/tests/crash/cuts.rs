//! The connections between a gateway and its queue manager are cut at every single request, before it and with its answer
//! lost, and MQCMIT is answered with "backed out" and with other failures: after each of them exactly one copy, both ways (ONCE.md 3 and 4, mqe.md 4.2
//! and 4.4).

use std::time::Duration;

use integration_tests::cuts::Fault;
use integration_tests::{tools, wait};

use crate::world::{DEAD, TIME, World};

/// A round needs fewer requests than these: the gets, dead letter, sync message and MQCMIT of both connections.
const REQUESTS: u32 = 20;
/// And so many are connecting and recovery at least.
const RECOVERY: u32 = 14;

struct Rounds {
    world: World,
    round: u32,
}

impl Rounds {
    fn new(source: &str) -> Self {
        Self { world: World::new(source), round: 0 }
    }

    /// Two messages down, one dead letter, one message up; what arrives is just that.
    fn round(&mut self, fault: Fault, then: Option<Fault>) {
        self.round += 1;
        let round = self.round;
        let World { cuts, app, .. } = &mut self.world;
        cuts.arm(fault, then);
        for text in [format!("{round} one"), format!("{round} two")] {
            app.put_one("ORDERS%DEV00001", "GATE1", text).unwrap();
        }
        app.put_one("NOWHERE", "GATE1", format!("{round} dead")).unwrap();
        let device = self.world.device();
        device.push("DEV.QUEUE.1", &[format!("{round} up")]);
        let pulled = device.pull_up_to(2, TIME);
        let texts: Vec<&str> = pulled.iter().filter_map(|message| message["payload"].as_str()).collect();
        assert_eq!(texts, [format!("{round} one"), format!("{round} two")], "{fault:?}");
        for (queue, text) in [("DEV.QUEUE.1", "up"), (DEAD, "dead")] {
            let found =
                wait::until(text, TIME, || Some(self.world.app.drain(queue)).filter(|all| !all.is_empty()));
            assert_eq!(found.len(), 1, "{fault:?} {queue}");
            assert!(found[0].data.ends_with(format!("{round} {text}").as_bytes()), "{fault:?} {queue}");
        }
    }

    /// Nothing is left, and nothing comes twice.
    fn end(mut self) {
        let device = self.world.device();
        let World { hq, gateway, app, .. } = &mut self.world;
        assert_eq!(device.pull_up_to(1, Duration::from_secs(1)).len(), 0);
        for queue in ["DEV.QUEUE.1", DEAD] {
            assert_eq!(app.drain(queue).len(), 0, "{queue}");
        }
        assert_eq!(hq.depth("GATE1"), 0);
        let delivered = gateway.status()["area"]["ends"]["delivered"].as_u64();
        assert_eq!(delivered, Some(2 * u64::from(self.round)));
    }
}

#[test]
fn row_a_cut_at_any_request_or_answer_leaves_exactly_one_copy() {
    let step = tools::count(1, 3) as usize;
    let mut rounds = Rounds::new("wait_seconds = 1");
    let mut cut = 0;
    for n in (1..=REQUESTS).step_by(step) {
        for fault in [Fault::CutBefore(n), Fault::CutAfter(n)] {
            rounds.round(fault, None);
            cut += u32::from(rounds.world.cuts.done());
        }
    }
    eprintln!("cuts: {cut} of {} rounds were cut", rounds.round);
    // The last ones may be behind all that a round needs.
    assert!(2 * cut > rounds.round);
    rounds.end();
}

#[test]
fn row_a_unit_of_work_that_is_backed_out_instead_of_committed_goes_again() {
    let mut rounds = Rounds::new("wait_seconds = 1");
    for n in 1..=tools::count(6, 2) {
        rounds.round(Fault::BackOut(n), None);
    }
    rounds.end();
}

/// Any other reason does not say whether it was committed: it was, and the messages are neither lost nor there twice.
#[test]
fn row_a_commit_that_is_answered_with_another_failure_is_looked_up() {
    let mut rounds = Rounds::new("wait_seconds = 1");
    for n in 1..=tools::count(6, 3) {
        rounds.round(Fault::Deny(n), None);
        assert!(n > 1 || rounds.world.cuts.done());
    }
    rounds.end();
}

/// The connection breaks with the answer to MQCMIT lost or not sent, and again at each step of the recovery.
#[test]
fn row_a_cut_between_the_steps_of_recovery_decides_nothing_wrong() {
    let step = tools::count(3, 6) as usize;
    let mut rounds = Rounds::new("wait_seconds = 1\nbatch_messages_max = 2");
    for first in [8, 9, 10] {
        for n in (1..=RECOVERY).step_by(step) {
            rounds.round(Fault::CutAfter(first), Some(Fault::CutAfter(n)));
            rounds.round(Fault::CutBefore(first), Some(Fault::CutBefore(n)));
        }
    }
    rounds.end();
}
