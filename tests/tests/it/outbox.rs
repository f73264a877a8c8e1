//! The outbox of a gateway to another queue manager: puts that wait for it, and what cannot be put as it is.

use std::process::Command;
use std::time::Duration;

use device_sim::device::{DeviceOptions, Flushed, NewPut, text_message};
use integration_tests::device::Device;
use integration_tests::mq::Mq;
use integration_tests::service::Service;
use integration_tests::{remote, wait};
use mq_wire::{Feedback, MsgType, QMgrName, QName, ReportOptions};
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

/// Puts to the queue at the gateway's default, and what became of them.
#[track_caller]
fn put(gateway: &Service, name: &str, queue: &str, texts: &[String], change: fn(&mut NewPut)) -> Flushed {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let options = DeviceOptions::new(gateway.devices().to_string(), name.parse().unwrap());
    let queue = QName::new(queue).unwrap();
    runtime.block_on(async {
        let mut device = device_sim::device::Device::open(options).await.unwrap();
        for text in texts {
            let mut put =
                NewPut { queue, queue_manager: QMgrName::BLANK, message: text_message(queue, text.clone()) };
            change(&mut put);
            device.put(put).await.unwrap();
        }
        let flushed = device.flush(TIME).await.unwrap();
        device.close(Duration::ZERO).await.unwrap();
        flushed
    })
}

/// A command against the gateway; its output.
#[track_caller]
fn tool(gateway: &Service, args: &[&str]) -> String {
    let mut command = Command::new(GATEWAY);
    command.args(args).arg("--data").arg(gateway.data()).current_dir(gateway.folder());
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{args:?}: {text}\n{}", String::from_utf8_lossy(&output.stderr));
    text
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

#[test]
fn a_put_that_expires_in_the_outbox_is_reported_and_counted_apart() {
    let (hq, gateway) = pair("", "");
    let late = |put: &mut NewPut| {
        put.message.expiry_ms = Some(1);
        if put.message.payload.ends_with(b"report") {
            put.message.descriptor.report = ReportOptions::EXPIRATION_WITH_FULL_DATA;
            put.message.descriptor.reply_to_q = QName::new("DEV.QUEUE.2").unwrap();
            put.message.descriptor.reply_to_q_mgr = QMgrName::new("HQ").unwrap();
        }
    };
    put(&gateway, "DEV00001", "DEV.QUEUE.1", &["late".to_owned(), "late, with a report".to_owned()], late);
    put(&gateway, "DEV00001", "DEV.QUEUE.1", &["in time".to_owned()], |_| {});
    let moved = || (outbox(&gateway)["moved"] == 1).then_some(());
    wait::until("the one in time", TIME, moved);
    let mut app = Mq::connect(&hq.connect_options("DEV.APP.SVRCONN")).unwrap();
    assert_eq!(texts(&mut app, "DEV.QUEUE.1"), ["in time"]);
    let reports = app.drain("DEV.QUEUE.2");
    assert_eq!(reports.len(), 1);
    let md = &reports[0].md;
    assert_eq!((md.msg_type, md.feedback), (MsgType::REPORT, Feedback::EXPIRATION));
    assert_eq!(&reports[0].data[..], b"late, with a report");
    let outbox = outbox(&gateway);
    assert_eq!((&outbox["expired"], &outbox["waiting"]), (&Value::from(2), &Value::from(0)));
    assert!(tool(&gateway, &["sources", "list"]).contains("EXPIRED"));
    let (_, metrics) = gateway.get("/metrics");
    let counts = metrics.lines().filter(|line| line.starts_with("mqe_source_messages_expired"));
    let outbox = counts.filter(|line| line.contains("outbox")).collect::<Vec<_>>();
    assert!(outbox.len() == 1 && outbox[0].ends_with(" 2"), "{outbox:?}");
}
