//! What no device can take goes to the dead-letter queue with its original names, and holds nobody up.

use std::process::Command;
use std::time::Duration;

use integration_tests::device::Device;
use integration_tests::mq::{Mq, dead_letter, persistent};
use integration_tests::service::Service;
use integration_tests::wait;
use mq_wire::{FormatName, Mqmd, Persistence, Reason, ReportOptions};
use pretty_assertions::assert_eq;

use crate::{DEVICE_SIM, GATEWAY};

const DEAD: &str = "DEV.DEAD.LETTER.QUEUE";
const TIME: Duration = Duration::from_secs(30);

#[test]
fn acceptance_05_bad_addresses_are_dead_lettered_and_good_messages_behind_them_arrive() {
    let service = Service::start(GATEWAY);
    let mut app = Mq::connect(&service.connect_options("DEV.APP.SVRCONN")).unwrap();
    // Queue name at the gateway and the reason: what MQOPEN would say to such a name (mq-objects.md 10.5, 10.6).
    let bad = [
        ("ORDERS", Reason::UNKNOWN_OBJECT_NAME),
        ("%DEV00001", Reason::UNKNOWN_OBJECT_NAME),
        ("ORDERS%", Reason::UNKNOWN_OBJECT_Q_MGR),
        ("%", Reason::UNKNOWN_OBJECT_NAME),
    ];
    // One whose sender wants it discarded is no dead letter (mqe.md 10 #5).
    let discard = Mqmd { report: ReportOptions::DISCARD_MSG, ..persistent() };
    app.put_md("ORDERS", "GATE1", discard, "discarded").unwrap();
    for (index, (queue, _)) in bad.iter().enumerate() {
        app.put_one(queue, "GATE1", format!("bad {index}")).unwrap();
        app.put_one("ORDERS%DEV00001", "GATE1", format!("good {index}")).unwrap();
    }

    let device = Device::new(DEVICE_SIM, service.devices(), "DEV00001", service.folder());
    let payloads: Vec<String> =
        device.pull(bad.len()).iter().map(|m| m["payload"].as_str().unwrap().to_owned()).collect();
    let expected: Vec<String> = (0..bad.len()).map(|index| format!("good {index}")).collect();
    assert_eq!(payloads, expected);

    wait::until("all dead letters", TIME, || (service.depth(DEAD) == bad.len() as u64).then_some(()));
    let dead = app.drain(DEAD);
    assert_eq!(dead.len(), bad.len());
    for (index, (got, (queue, reason))) in dead.iter().zip(bad).enumerate() {
        let (header, body) = dead_letter(got);
        assert_eq!(header.dest_q_name.to_string(), queue);
        assert_eq!(header.dest_q_mgr_name.to_string(), "GATE1", "{queue}");
        assert_eq!(header.reason, reason, "{queue}");
        assert_eq!(header.format, FormatName::STRING, "{queue}");
        assert_eq!(got.md.persistence, Persistence::PERSISTENT, "{queue}");
        assert_eq!(&body[..], format!("bad {index}").as_bytes(), "{queue}");
    }
    let status = wait::until("what is on disk in the counts", TIME, || {
        Some(service.status()).filter(|status| status["sources"][0]["discarded"] == 1)
    });
    assert_eq!(status["sources"][0]["state"], "RUNNING", "{status:#}");
    assert_eq!(status["sources"][0]["dead_lettered"], bad.len());
}

#[test]
fn a_full_device_is_2053_and_others_go_on() {
    let mut service = Service::prepare(GATEWAY).with(&["--config", "small.toml"]);
    std::fs::write(service.folder().join("small.toml"), "[devices]\nmessages_max = 3\n").unwrap();
    service.restart();
    let mut app = Mq::connect(&service.connect_options("DEV.APP.SVRCONN")).unwrap();
    for index in 0..5 {
        app.put_one("ORDERS%DEV00001", "GATE1", format!("message {index}")).unwrap();
    }
    app.put_one("ORDERS%DEV00002", "GATE1", "for another").unwrap();

    let dead = wait::until("the dead letters", TIME, || {
        (service.depth(DEAD) == 2 && service.depth("GATE1") == 0).then(|| app.drain(DEAD))
    });
    for (index, got) in dead.iter().enumerate() {
        let (header, body) = dead_letter(got);
        assert_eq!(header.reason, Reason::Q_FULL);
        assert_eq!(header.dest_q_name.to_string(), "ORDERS%DEV00001");
        assert_eq!(header.dest_q_mgr_name.to_string(), "GATE1");
        assert_eq!(&body[..], format!("message {}", index + 3).as_bytes());
    }
    let pull = |name: &str, count| {
        let pulled = Device::new(DEVICE_SIM, service.devices(), name, service.folder()).pull(count);
        pulled.iter().map(|message| message["payload"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(pull("DEV00001", 3), ["message 0", "message 1", "message 2"]);
    assert_eq!(pull("DEV00002", 1), ["for another"]);
    // With room again, it takes messages again.
    app.put_one("ORDERS%DEV00001", "GATE1", "later").unwrap();
    assert_eq!(pull("DEV00001", 1), ["later"]);
}

/// mqe.md 4.6: "DLQ name missing or put fails: park".
#[test]
fn without_a_dead_letter_queue_what_a_full_device_refuses_is_parked_and_others_go_on() {
    let service = Service::prepare(GATEWAY).with_config("[devices]\nmessages_max = 3\n");
    let script = service.folder().join("no-letters.mqsc");
    std::fs::write(&script, "ALTER QMGR DEADQ(' ')\n").unwrap();
    let mut service = service.with(&["--mqsc", &script.display().to_string()]);
    service.restart();
    let mut app = Mq::connect(&service.connect_options("DEV.APP.SVRCONN")).unwrap();
    for index in 0..5 {
        app.put_one("ORDERS%DEV00001", "GATE1", format!("message {index}")).unwrap();
    }
    app.put_one("ORDERS%DEV00002", "GATE1", "for another").unwrap();
    service.wait_until_handed_over();

    let status = service.status();
    let source = &status["sources"][0];
    assert_eq!((&source["state"], &source["parked"]), (&"RUNNING".into(), &2.into()), "{status:#}");
    // For nobody who may become known: under the gateway's own name, until an operator or their time ends them.
    let parked = Command::new(GATEWAY).args(["park", "list", "--data"]).arg(service.data()).output().unwrap();
    let parked = String::from_utf8(parked.stdout).unwrap();
    assert!(parked.contains("GATE1") && !parked.contains("DEV00001"), "{parked}");
    let pull = |name: &str, count| {
        let pulled = Device::new(DEVICE_SIM, service.devices(), name, service.folder()).pull(count);
        pulled.iter().map(|message| message["payload"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(pull("DEV00001", 3), ["message 0", "message 1", "message 2"]);
    assert_eq!(pull("DEV00002", 1), ["for another"]);
}
