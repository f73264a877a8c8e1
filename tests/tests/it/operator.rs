//! What an operator does while the service runs: exits started anew, a source that pauses, parked messages purged, and the word
//! that an outbox needs when its sync message is gone.

use std::process::{Command, Output};
use std::time::Duration;

use integration_tests::cuts::{Cuts, Fault};
use integration_tests::device::Device;
use integration_tests::mq::Mq;
use integration_tests::service::Service;
use integration_tests::{remote, wait};
use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::{DEVICE_SIM, GATEWAY};

const TIME: Duration = Duration::from_secs(30);

fn app(service: &Service) -> Mq {
    Mq::connect(&service.connect_options("DEV.APP.SVRCONN")).unwrap()
}

fn device(service: &Service, name: &str) -> Device {
    Device::new(DEVICE_SIM, service.devices(), name, service.folder())
}

fn run(service: &Service, args: &[&str]) -> Output {
    Command::new(GATEWAY).args(args).arg("--data").arg(service.data()).output().unwrap()
}

#[track_caller]
fn tool(service: &Service, args: &[&str]) -> String {
    let output = run(service, args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn source(service: &Service, kind: &str) -> Value {
    let status = service.status();
    let sources = status["sources"].as_array().unwrap();
    sources.iter().find(|source| source["kind"] == kind).unwrap().clone()
}

#[track_caller]
fn until(service: &Service, kind: &str, state: &str) {
    wait::until(&format!("{kind} {state}"), TIME, || (source(service, kind)["state"] == state).then_some(()));
}

/// Words of a table, line by line: columns are as wide as what is in them.
fn words(table: &str) -> Vec<String> {
    table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn exits_are_started_anew_by_command_and_by_signal_and_a_mistake_leaves_them_as_they_are() {
    const DENY: &str = "[[exit]]\nkind = \"access-list\"\ndata = \"deny_devices=DEV00002\"\n";
    const REWRITE: &str = "[[exit]]\nkind = \"destination-rewrite\"\n";
    let mut service = Service::prepare(GATEWAY).with_config(REWRITE);
    let file = service.folder().join("under-test.toml");
    service.restart();
    let mut app = app(&service);
    // Where the next message for DEV00002 goes: to it, or to the dead-letter queue.
    let mut arrives = |service: &Service, text: &'static str| {
        app.put_one("ORDERS%DEV00002", "GATE1", text).unwrap();
        service.wait_until_handed_over();
        let dead = app.drain("DEV.DEAD.LETTER.QUEUE");
        if dead.is_empty() {
            assert_eq!(device(service, "DEV00002").pull(1)[0]["payload"], text);
        }
        dead.is_empty()
    };
    assert!(arrives(&service, "as configured"));
    std::fs::write(&file, format!("{REWRITE}{DENY}")).unwrap();
    assert!(arrives(&service, "not read yet"));
    let said = tool(&service, &["exits", "reload"]);
    assert!(said.contains("destination-rewrite, access-list"), "{said}");
    assert!(!arrives(&service, "denied"));

    std::fs::write(&file, format!("{REWRITE}[[exit]]\nkind = \"acces-list\"\n")).unwrap();
    let wrong = run(&service, &["exits", "reload"]);
    let why = String::from_utf8_lossy(&wrong.stderr);
    assert!(!wrong.status.success() && why.contains("acces-list") && why.contains("access-list"), "{why}");
    assert!(!arrives(&service, "denied still"));

    std::fs::write(&file, REWRITE).unwrap();
    service.process().hang_up();
    let exits = || service.status()["exits"].as_array().unwrap().len();
    wait::until("the signal's reload", TIME, || (exits() == 1).then_some(()));
    assert!(arrives(&service, "by signal"));
}

#[test]
fn a_source_pauses_and_goes_on_and_the_lists_say_so() {
    let service = Service::start(GATEWAY);
    let mut app = app(&service);
    app.put_one("ORDERS%DEV00001", "GATE1", "before").unwrap();
    service.wait_until_handed_over();
    tool(&service, &["sources", "pause", "local"]);
    until(&service, "local", "PAUSED");
    app.put_one("ORDERS%DEV00001", "GATE1", "meanwhile").unwrap();
    assert_eq!(service.depth("GATE1"), 1);
    insta::assert_debug_snapshot!(words(&tool(&service, &["sources", "list"])));
    tool(&service, &["sources", "resume", "local"]);
    service.wait_until_handed_over();
    let pulled = device(&service, "DEV00001").pull(2);
    assert_eq!((&pulled[0]["payload"], &pulled[1]["payload"]), (&"before".into(), &"meanwhile".into()));
    let list = words(&tool(&service, &["exits", "list"]));
    // What they took differs from time to time.
    let counts = list.iter().map(|line| line.split(' ').take(4).collect::<Vec<_>>().join(" "));
    insta::assert_debug_snapshot!(counts.collect::<Vec<_>>());
}

#[test]
fn what_is_parked_is_purged_for_one_device_or_for_all() {
    let service = Service::start(GATEWAY);
    let mut app = app(&service);
    for (name, count) in [("PUMP1", 2), ("PUMP2", 1), ("PUMP3", 1)] {
        for _ in 0..count {
            app.put_one(&format!("ORDERS%{name}"), "GATE1", "parked").unwrap();
        }
    }
    let parked = || service.status()["area"]["parked"].as_u64();
    wait::until("parked messages", TIME, || (parked() == Some(4)).then_some(()));
    let said = tool(&service, &["park", "purge", "--device", "PUMP1"]);
    assert!(said.contains("2 messages for device PUMP1 were purged"), "{said}");
    assert_eq!(parked(), Some(2));
    let unknown = run(&service, &["park", "purge", "--device", "PUMP9"]);
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("nothing is parked for device PUMP9"));
    tool(&service, &["park", "purge"]);
    assert_eq!(parked(), Some(0));
    assert_eq!(service.depth("DEV.DEAD.LETTER.QUEUE"), 0, "purged is not dead-lettered");
}

/// ONCE.md 3: "cleared = an operator says drained or again".
#[test]
fn an_outbox_whose_sync_message_was_cleared_with_puts_under_way_waits_for_an_operators_word() {
    // With the word that is right in each case: the commit was done, or never came.
    for (fault, word) in [(Fault::Hush(1), "drained"), (Fault::Keep(1), "again")] {
        let mut hq = remote::queue_manager(GATEWAY);
        hq.restart();
        let cuts = Cuts::start(hq.mq()).unwrap();
        let mut gateway = remote::gateway_at(GATEWAY, cuts.address(), "", "");
        gateway.restart();
        until(&gateway, "outbox", "RUNNING");
        until(&gateway, "remote", "RUNNING");
        cuts.arm(fault, None);
        device(&gateway, "DEV00001").push("DEV.QUEUE.1", &["once".to_owned()]);
        wait::until("the commit", TIME, || cuts.done().then_some(()));
        gateway.kill();
        let mut app = app(&hq);
        wait::until("a sync queue without units of work", TIME, || {
            (app.drain("MQE.SYNCQ").len() == 2).then_some(())
        });
        gateway.restart();
        until(&gateway, "outbox", "STOPPED");
        let reason = source(&gateway, "outbox")["reason"].as_str().unwrap().to_owned();
        assert!(reason.contains("1 puts") && reason.contains("--outbox drained"), "{reason}");
        // The other direction had nothing under way, and goes on.
        until(&gateway, "remote", "RUNNING");
        tool(&gateway, &["sources", "start", "hq", "--outbox", word]);
        device(&gateway, "DEV00001").push("DEV.QUEUE.1", &["behind it".to_owned()]);
        wait::until("the outbox", TIME, || (source(&gateway, "outbox")["waiting"] == 0).then_some(()));
        let texts: Vec<_> = app.drain("DEV.QUEUE.1").into_iter().map(|got| got.data).collect();
        assert_eq!(texts, ["once", "behind it"], "{word}");
    }
}
