//! The outbox of a gateway to another queue manager: puts that wait for it, and what cannot be put as it is; and what is too
//! long for the channel on its way to a device.

use std::process::Command;
use std::time::Duration;

use device_sim::device::{DeviceOptions, Flushed, NewPut, text_message};
use integration_tests::device::Device;
use integration_tests::mq::{Mq, dead_letter, persistent};
use integration_tests::service::Service;
use integration_tests::{remote, wait};
use mq_client::Got;
use mq_wire::{Feedback, MsgType, OpenOptions, PutOptions, QMgrName, QName, Reason, ReportOptions};
use mqe::frame::PutOutcome;
use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::{DEVICE_SIM, GATEWAY, tool};

const TIME: Duration = Duration::from_secs(30);
const DEAD: &str = "DEV.DEAD.LETTER.QUEUE";

fn pair(source: &str, more: &str) -> (Service, Service) {
    let mut hq = remote::queue_manager(GATEWAY);
    hq.restart();
    let gateway = gateway(&hq, source, more);
    (hq, gateway)
}

fn gateway(hq: &Service, source: &str, more: &str) -> Service {
    let mut gateway = remote::gateway(GATEWAY, hq, source, more);
    gateway.restart();
    gateway.wait_until_source("outbox", "RUNNING");
    gateway
}

/// A queue manager with these definitions besides; they are read again at each start.
fn queue_manager(definitions: &str) -> Service {
    let mut hq = remote::queue_manager(GATEWAY);
    define(&hq, definitions);
    hq.restart();
    hq
}

fn define(hq: &Service, definitions: &str) {
    let script = hq.folder().join("gateway.mqsc");
    std::fs::write(script, format!("{}{definitions}\n", remote::DEFINITIONS)).unwrap();
}

/// Of the channel that the gateway uses.
fn longest(length: u32) -> String {
    format!("ALTER CHANNEL(DEV.ADMIN.SVRCONN) CHLTYPE(SVRCONN) MAXMSGL({length})")
}

fn app(service: &Service) -> Mq {
    Mq::connect(&service.connect_options("DEV.APP.SVRCONN")).unwrap()
}

fn long(length: usize) -> String {
    "long".repeat(length / 4)
}

fn device(gateway: &Service, name: &str) -> Device {
    Device::new(DEVICE_SIM, gateway.devices(), name, gateway.folder())
}

/// What status says of the outbox.
fn outbox(gateway: &Service) -> Value {
    gateway.source("outbox")
}

/// Waits until so many entries are left: what was put is committed then.
fn until_left(gateway: &Service, left: u64) {
    wait::until("the outbox", TIME, || (outbox(gateway)["waiting"] == left).then_some(()));
}

fn texts(mq: &mut Mq, queue: &str) -> Vec<String> {
    mq.drain(queue).iter().map(|got| String::from_utf8_lossy(&got.data).into_owned()).collect()
}

/// What arrives on a queue, when it is committed: the depth counts what is not.
#[track_caller]
fn arrived(mq: &mut Mq, queue: &str) -> Vec<Got> {
    wait::until(queue, TIME, || Some(mq.drain(queue)).filter(|all| !all.is_empty()))
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
    let mut app = app(&hq);
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
    let mut app = app(&hq);
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

/// ONCE.md 3: "what can never be put goes to the dead-letter queue"; what no queue there can take ends here.
#[test]
fn a_put_that_is_too_long_holds_nobody_and_is_a_dead_letter_where_one_can_be_made() {
    let hq = queue_manager(&format!("DEFINE QLOCAL(SHORT) MAXMSGL(1000)\n{}", longest(50_000)));
    let gateway = gateway(&hq, "", "");
    let (mut app, mut here) = (app(&hq), app(&gateway));
    let reported = |put: &mut NewPut| {
        put.message.descriptor.report = ReportOptions::EXCEPTION;
        put.message.descriptor.reply_to_q = QName::new("DEV.QUEUE.2").unwrap();
        put.message.descriptor.reply_to_q_mgr = QMgrName::new("HQ").unwrap();
    };
    put(&gateway, "DEV00001", "SHORT", &[long(2_000), "short".to_owned()], |_| {});
    assert_eq!(arrived(&mut app, "SHORT")[0].data, "short");
    let letters = app.drain(DEAD);
    let (header, body) = dead_letter(&letters[0]);
    assert_eq!((letters.len(), header.reason, body.len()), (1, Reason::MSG_TOO_BIG_FOR_Q, 2_000));
    // Neither this nor its dead letter goes through the channel.
    put(&gateway, "DEV00001", "DEV.QUEUE.1", &[long(100_000), "behind it".to_owned()], reported);
    let came = arrived(&mut app, "DEV.QUEUE.1");
    assert_eq!((came.len(), &came[0].data[..]), (1, &b"behind it"[..]));
    let letters = here.drain(DEAD);
    let (header, body) = dead_letter(&letters[0]);
    assert_eq!((letters.len(), header.reason, body.len()), (1, Reason::MSG_TOO_BIG_FOR_CHANNEL, 100_000));
    assert_eq!(
        (header.dest_q_name.to_string(), header.dest_q_mgr_name.to_string()),
        ("DEV.QUEUE.1".to_owned(), "HQ".to_owned())
    );
    let feedback = Feedback(Reason::MSG_TOO_BIG_FOR_CHANNEL.0);
    assert_eq!(arrived(&mut app, "DEV.QUEUE.2")[0].md.feedback, feedback);
    wait::until("an empty outbox", TIME, || (outbox(&gateway)["waiting"] == 0).then_some(()));
    let outbox = outbox(&gateway);
    assert_eq!((&outbox["dead_lettered"], &outbox["waiting"]), (&Value::from(2), &Value::from(0)));
    assert_eq!(hq.depth(DEAD), 0);
}

/// mqe.md 4.6: "DLQ name missing or put fails: park".
#[test]
fn a_put_that_is_too_long_is_parked_without_a_dead_letter_queue_and_refused_to_a_device_that_waits() {
    let hq = queue_manager(&longest(50_000));
    let mut gateway = remote::gateway(GATEWAY, &hq, "", "");
    let script = gateway.folder().join("no-letters.mqsc");
    std::fs::write(&script, "ALTER QMGR DEADQ(' ')\n").unwrap();
    gateway = gateway.with(&["--mqsc", &script.display().to_string()]);
    gateway.restart();
    gateway.wait_until_source("outbox", "RUNNING");
    put(&gateway, "DEV00001", "DEV.QUEUE.1", &[long(100_000), "behind it".to_owned()], |_| {});
    wait::until("the one behind it", TIME, || (hq.depth("DEV.QUEUE.1") == 1).then_some(()));
    wait::until("the long one", TIME, || (outbox(&gateway)["parked"] == 1).then_some(()));
    assert!(tool(&gateway, &["park", "list"]).contains("GATE1"));

    let waiting = self::gateway(&hq, "put_wait = true", "");
    let flushed = put(&waiting, "DEV00001", "DEV.QUEUE.1", &[long(100_000), "the next".to_owned()], |_| {});
    let outcomes: Vec<PutOutcome> = flushed.outcomes.iter().map(|(_, outcome)| *outcome).collect();
    assert_eq!(outcomes, [PutOutcome::Refused(Reason::MSG_TOO_BIG_FOR_CHANNEL), PutOutcome::Taken]);
    assert_eq!(texts(&mut app(&hq), "DEV.QUEUE.1"), ["behind it", "the next"]);
    assert_eq!((waiting.depth(DEAD), hq.depth(DEAD)), (0, 0));
}

#[test]
fn a_message_that_is_too_long_for_the_channel_says_so_and_what_is_before_it_goes_on() {
    let mut hq = queue_manager(&longest(50_000));
    let gateway = gateway(&hq, "", "");
    let mut app = app(&hq);
    // Together, so that they are in one batch.
    let target = app.open("ORDERS%DEV00001", "GATE1", OpenOptions::OUTPUT).unwrap();
    for text in ["before it".to_owned(), long(100_000), "behind it".to_owned()] {
        app.put(target, persistent(), PutOptions::SYNCPOINT, text).unwrap();
    }
    app.commit().unwrap();
    assert_eq!(device(&gateway, "DEV00001").pull(1)[0]["payload"], "before it");
    let reason = wait::until("a reason", TIME, || {
        let source = gateway.source("remote");
        let reason = source["reason"].as_str().unwrap_or_default().to_owned();
        (source["state"] == "RETRYING" && reason.contains("MAXMSGL")).then_some(reason)
    });
    assert!(reason.contains("GATE1") && reason.contains("DEV.ADMIN.SVRCONN"), "{reason}");
    assert!(gateway.status()["problems"].to_string().contains("MAXMSGL"));
    assert_eq!(hq.depth("GATE1"), 2, "they are kept");
    hq.stop();
    define(&hq, &longest(200_000));
    hq.restart();
    let pulled = device(&gateway, "DEV00001").pull(2);
    assert_eq!(pulled[0]["payload"].as_str().unwrap().len(), 100_000);
    assert_eq!(pulled[1]["payload"], "behind it");
}

#[test]
fn an_entry_that_cannot_be_read_holds_its_device_until_an_operator_drops_it() {
    let (mut hq, mut gateway) = pair("", "");
    hq.stop();
    let puts = ["before it", "NEEDLE IN THE OUTBOX", "behind it"].map(str::to_owned);
    put(&gateway, "DEV00001", "DEV.QUEUE.1", &puts, |_| {});
    gateway.stop();
    assert_eq!(super::damaged::change(&gateway, b"NEEDLE"), 1, "the entry is in the journal once");
    gateway.restart();
    put(&gateway, "DEV00002", "DEV.QUEUE.1", &["another device".to_owned()], |_| {});
    hq.restart();
    let mut app = app(&hq);
    until_left(&gateway, 2);
    assert_eq!(texts(&mut app, "DEV.QUEUE.1"), ["before it", "another device"]);
    let problem = |gateway: &Service| {
        let status = gateway.status();
        let problems = status["problems"].as_array().unwrap().clone();
        problems.iter().map(Value::to_string).find(|problem| problem.contains("sources drop hq"))
    };
    let told = wait::until("what to do", TIME, || problem(&gateway));
    let id = told.rsplit("sources drop hq ").next().unwrap().split('`').next().unwrap().to_owned();
    tool(&gateway, &["sources", "drop", "hq", &id]);
    until_left(&gateway, 0);
    assert_eq!(texts(&mut app, "DEV.QUEUE.1"), ["behind it"]);
    wait::until("no problem any more", TIME, || problem(&gateway).is_none().then_some(()));
    assert!(gateway.log().contains("was dropped, its message is lost"));
    // Nothing else can be lost by it.
    let again =
        Command::new(GATEWAY).args(["sources", "drop", "hq", &id, "--data"]).arg(gateway.data()).output();
    let again = again.unwrap();
    assert!(!again.status.success());
    assert!(String::from_utf8_lossy(&again.stderr).contains("has no entry"), "{again:?}");
}
