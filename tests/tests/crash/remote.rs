//! A gateway and the queue manager that it reaches over the client protocol, both killed again and again under a fleet in
//! both directions: every message once (ONCE.md 3 and 4).

use std::time::{Duration, Instant};

use integration_tests::seed::Seed;
use integration_tests::{remote, tools, wait};
use rand::RngExt;

use crate::fleet::{Fleet, exact};
use crate::{CONFIG, GATEWAY};

/// A fleet that is not disturbed any more comes to its end.
const END: Duration = Duration::from_secs(400);

#[test]
fn every_message_once_between_a_fleet_and_a_remote_queue_manager_through_kills() {
    let seed = Seed::new("crash_remote");
    let mut rng = seed.rng();
    let kills: u32 = tools::count(300, 6);
    let mut hq = remote::queue_manager(GATEWAY);
    hq.restart();
    let mut service = remote::gateway(GATEWAY, &hq, "batch_messages_max = 20\nwait_seconds = 1", CONFIG);
    service.restart();
    let (mut killed, mut fleets) = (0, 0);
    let begun = Instant::now();
    while killed < kills {
        fleets += 1;
        let (devices, messages) = tools::count((200, 20), (30, 8));
        let prefix = format!("DEV{fleets}R");
        let seed = seed.number.wrapping_add(fleets);
        let fleet =
            Fleet { devices, messages, size: 500, unit: 25, faults: "cut=0.05,crash=0.01", prefix, seed };
        let (mut process, report) = fleet.start_between(&service, &hq, &format!("fleet-{fleets}"));
        wait::until("messages of the fleet", Duration::from_secs(60), || {
            (hq.status()["queues"].as_array().is_some_and(|queues| !queues.is_empty())).then_some(())
        });
        while killed < kills && process.is_running() {
            wait::pause(Duration::from_millis(rng.random_range(50..900)));
            if !process.is_running() {
                break;
            }
            let both = rng.random_range(0..5);
            if both != 1 {
                service.kill();
            }
            if both <= 1 {
                hq.kill();
                hq.restart();
            }
            if both != 1 {
                service.restart();
            }
            killed += 1;
        }
        exact(process, &report, END);
        assert_eq!(hq.depth("DEV.DEAD.LETTER.QUEUE"), 0);
        assert_eq!(service.status()["area"]["messages"], 0);
    }
    eprintln!("crash_remote: {killed} kills, {fleets} fleets, {:?}", begun.elapsed());
}
