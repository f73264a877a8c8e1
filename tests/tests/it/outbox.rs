//! The outbox of a gateway to another queue manager: puts that wait for it, and what cannot be put as it is.

use std::time::Duration;

use integration_tests::device::Device;
use integration_tests::mq::Mq;
use integration_tests::service::Service;
use integration_tests::{remote, wait};
use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::{DEVICE_SIM, GATEWAY};

const TIME: Duration = Duration::from_secs(30);

fn pair(source: &str, more: &str) -> (Service, Service) {
    let mut hq = remote::queue_manager(GATEWAY);
    hq.restart();
    let mut gateway = remote::gateway(GATEWAY, &hq, source, more);
    gateway.restart();
    until(&gateway, "RUNNING");
    (hq, gateway)
}

fn device(gateway: &Service, name: &str) -> Device {
    Device::new(DEVICE_SIM, gateway.devices(), name, gateway.folder())
}

/// What status says of the outbox.
fn outbox(gateway: &Service) -> Value {
    let status = gateway.status();
    let sources = status["sources"].as_array().unwrap();
    sources.iter().find(|source| source["kind"] == "outbox").unwrap().clone()
}

#[track_caller]
fn until(gateway: &Service, state: &str) {
    wait::until(&format!("outbox {state}"), TIME, || (outbox(gateway)["state"] == state).then_some(()));
}

fn texts(mq: &mut Mq, queue: &str) -> Vec<String> {
    mq.drain(queue).iter().map(|got| String::from_utf8_lossy(&got.data).into_owned()).collect()
}

/// ONCE.md 3: "where a queue waits for MQ before it answers, the answer to a repeat waits too".
#[test]
fn a_put_that_waits_is_answered_when_it_is_in_the_queue_manager_also_by_a_gateway_that_was_killed() {
    let (mut hq, mut gateway) = pair("put_wait = true", "[devices]\nlong_poll_seconds_max = 1\n");
    hq.stop();
    let lines = ["one", "two", "three"].map(str::to_owned);
    let mut push = device(&gateway, "DEV00001").start_push("DEV.QUEUE.1", &lines, &["--wait", "120"]);
    let waiting = |gateway: &Service, what: &str| {
        wait::until(what, TIME, || (gateway.status()["area"]["puts_waiting"] == 3).then_some(()));
        wait::until(what, TIME, || {
            let device = gateway.device("DEV00001")?;
            (device["connected"] == true).then_some(())
        });
        assert_eq!(outbox(gateway)["waiting"], 3, "{what}");
        let taken = gateway.device("DEV00001").unwrap()["counters"]["put_taken"].as_u64();
        assert_eq!(taken.unwrap_or(0), 0, "{what}");
    };
    waiting(&gateway, "three puts that wait");
    gateway.kill();
    gateway.restart();
    waiting(&gateway, "the same three puts, with the device connected again");
    assert!(push.is_running(), "{}", push.log());
    hq.restart();
    push.wait(TIME).succeeded();
    let mut app = Mq::connect(&hq.connect_options("DEV.APP.SVRCONN")).unwrap();
    assert_eq!(texts(&mut app, "DEV.QUEUE.1"), lines, "each once, in order");
    let status = gateway.status();
    assert_eq!(status["area"]["puts_waiting"], 0);
    assert_eq!(outbox(&gateway)["waiting"], 0);
}
