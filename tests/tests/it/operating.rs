//! What an operator does with a running gateway: sources paused and resumed, exits loaded anew, parked messages purged; and what
//! the lists look like.

use std::time::Duration;

use integration_tests::device::Device;
use integration_tests::mq::Mq;
use integration_tests::service::Service;
use integration_tests::{remote, wait};
use mq_wire::{GetOptions, OpenOptions};
use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::{DEVICE_SIM, GATEWAY, refused, tool};

const TIME: Duration = Duration::from_secs(30);

fn app(service: &Service) -> Mq {
    Mq::connect(&service.connect_options("DEV.APP.SVRCONN")).unwrap()
}

fn device(service: &Service, name: &str) -> Device {
    Device::new(DEVICE_SIM, service.devices(), name, service.folder())
}

#[track_caller]
fn both_are(gateway: &Service, state: &str) {
    gateway.wait_until_source("remote", state);
    gateway.wait_until_source("outbox", state);
}

fn pair() -> (Service, Service) {
    let mut hq = remote::queue_manager(GATEWAY);
    hq.restart();
    let mut gateway = remote::gateway(GATEWAY, &hq, "wait_seconds = 1", "");
    gateway.restart();
    both_are(&gateway, "RUNNING");
    (hq, gateway)
}

#[test]
fn a_source_that_is_paused_moves_nothing_and_holds_nothing() {
    let (hq, gateway) = pair();
    let mut app = app(&hq);
    assert_eq!(
        tool(&gateway, &["sources", "pause", "hq"]),
        "source hq (outbox) is paused\nsource hq (remote) is paused\n"
    );
    both_are(&gateway, "PAUSED");
    app.put_one("ORDERS%DEV00001", "GATE1", "down").unwrap();
    device(&gateway, "DEV00001").push("DEV.QUEUE.1", &["up".to_owned()]);
    // In nobody's unit of work, else it could not be seen here.
    let queue = app.open("GATE1", "", OpenOptions::BROWSE).unwrap();
    let found = wait::until("the message", TIME, || {
        app.get(queue, GetOptions::BROWSE_FIRST, Duration::ZERO).unwrap()
    });
    assert!(found.data.ends_with(b"down"));
    app.close(queue).unwrap();
    assert_eq!((hq.depth("GATE1"), hq.depth("DEV.QUEUE.1")), (1, 0));
    assert_eq!(gateway.source("outbox")["waiting"], 1);
    let reason = gateway.source("remote")["reason"].clone();
    assert_eq!(reason, "by an operator");
    assert!(gateway.status()["problems"].to_string().contains("PAUSED"), "{:#}", gateway.status());
    tool(&gateway, &["sources", "resume", "hq"]);
    assert_eq!(device(&gateway, "DEV00001").pull(1)[0]["payload"], "down");
    wait::until("the put", TIME, || (hq.depth("DEV.QUEUE.1") == 1).then_some(()));
    both_are(&gateway, "RUNNING");
    let unknown = refused(&gateway, &["sources", "pause", "hw"]);
    assert!(unknown.contains("there is no source hw; there are local, hq"), "{unknown}");
}

/// The exits of a service whose configuration is a file of its folder.
fn configure(service: &Service, exits: &str) {
    std::fs::write(service.folder().join("under-test.toml"), exits).unwrap();
}

fn exits(service: &Service) -> Vec<String> {
    let exits: Vec<Value> = serde_json::from_str(&tool(service, &["exits", "list", "--json"])).unwrap();
    exits.iter().map(|exit| exit["name"].as_str().unwrap().to_owned()).collect()
}

const REWRITE: &str = "[[exit]]\nname = \"rewrite\"\nkind = \"destination-rewrite\"\n";
const WITH_PREFIX: &str =
    "[[exit]]\nname = \"rewrite\"\nkind = \"destination-rewrite\"\ndata = \"prefix=DEV\"\n";
const NO_SUCH: &str = "[[exit]]\nname = \"rewrite\"\nkind = \"destination-rewriter\"\n";

#[test]
fn exits_are_loaded_anew_by_a_command_and_a_mistake_leaves_those_that_run() {
    let mut service = Service::prepare(GATEWAY).with_config(REWRITE);
    service.restart();
    let mut app = app(&service);
    let mut arrives = |queue: &str| {
        app.put_one(queue, "GATE1", queue.to_owned()).unwrap();
        assert_eq!(device(&service, "DEV00001").pull(1)[0]["payload"], queue);
    };
    arrives("ORDERS%DEV00001");
    configure(&service, WITH_PREFIX);
    let done = tool(&service, &["exits", "reload"]);
    assert_eq!(done, "the exits were started anew: rewrite\n");
    arrives("ORDERS%00001");
    configure(&service, NO_SUCH);
    let why = refused(&service, &["exits", "reload"]);
    assert!(why.contains("destination-rewriter"), "{why}");
    configure(&service, "[[exit]\n");
    let why = refused(&service, &["exits", "reload"]);
    assert!(why.contains("under-test.toml"), "{why}");
    arrives("ORDERS%00001");
    assert_eq!(exits(&service), ["rewrite"]);
}

#[test]
fn exits_are_loaded_anew_by_sighup_and_a_mistake_leaves_those_that_run() {
    let mut service = Service::prepare(GATEWAY).with_config(REWRITE);
    service.restart();
    let logged = |service: &Service, what: &str, times: usize| {
        wait::until(what, TIME, || (service.log().matches(what).count() == times).then_some(()));
    };
    configure(&service, &format!("{REWRITE}[[exit]]\nname = \"log\"\nkind = \"audit\"\n"));
    service.process().hang_up();
    logged(&service, "the rest of the configuration needs a restart", 1);
    assert_eq!(exits(&service), ["rewrite", "log"]);
    configure(&service, NO_SUCH);
    service.process().hang_up();
    logged(&service, "the rest of the configuration needs a restart", 2);
    assert!(service.log().contains("SIGHUP: the exits stay as they are"), "{}", service.log());
    assert_eq!(exits(&service), ["rewrite", "log"]);
    app(&service).put_one("ORDERS%DEV00001", "GATE1", "it still works").unwrap();
    assert_eq!(device(&service, "DEV00001").pull(1)[0]["payload"], "it still works");
}

#[test]
fn parked_messages_are_purged_for_a_device_and_for_all() {
    let service = Service::start(GATEWAY);
    let mut app = app(&service);
    for (name, count) in [("PUMP7", 3), ("PUMP8", 1), ("PUMP9", 2)] {
        for _ in 0..count {
            app.put_one(&format!("ORDERS%{name}"), "GATE1", "parked").unwrap();
        }
    }
    let parked = |count: u64| (service.status()["area"]["parked"] == count).then_some(());
    wait::until("parked messages", TIME, || parked(6));
    let done = tool(&service, &["park", "purge", "--device", "PUMP7"]);
    assert_eq!(done, "3 messages for device PUMP7 were purged\n");
    let list = tool(&service, &["park", "list"]);
    assert!(!list.contains("PUMP7") && list.contains("PUMP8") && list.contains("PUMP9"), "{list}");
    tool(&service, &["park", "purge"]);
    assert!(parked(0).is_some());
    assert_eq!(service.depth("DEV.DEAD.LETTER.QUEUE"), 0);
    // Who is let in later gets what comes later.
    tool(&service, &["devices", "add", "PUMP7"]);
    app.put_one("ORDERS%PUMP7", "GATE1", "after the purge").unwrap();
    assert_eq!(device(&service, "PUMP7").pull(1)[0]["payload"], "after the purge");
}

#[test]
fn the_lists_of_sources_and_exits() {
    let (hq, gateway) = pair();
    let mut app = app(&hq);
    for text in ["one", "two"] {
        app.put_one("ORDERS%DEV00001", "GATE1", text).unwrap();
    }
    app.put_one("ORDERS%PUMP7", "GATE1", "parked").unwrap();
    app.put_one("NOWHERE", "GATE1", "dead").unwrap();
    device(&gateway, "DEV00001").pull(2);
    device(&gateway, "DEV00001").push("DEV.QUEUE.1", &["up".to_owned()]);
    wait::until("all of it", TIME, || {
        let [remote, outbox] = ["remote", "outbox"].map(|kind| gateway.source(kind));
        (remote["moved"] == 2
            && remote["parked"] == 1
            && remote["dead_lettered"] == 1
            && outbox["moved"] == 1)
            .then_some(())
    });
    tool(&gateway, &["sources", "pause", "local"]);
    tool(&gateway, &["sources", "stop", "hq"]);
    both_are(&gateway, "STOPPED");
    gateway.wait_until_source("local", "PAUSED");
    device(&gateway, "DEV00001").push("DEV.QUEUE.1", &["waits".to_owned()]);
    insta::assert_snapshot!(tool(&gateway, &["sources", "list"]), @r"
    SOURCE  KIND    QUEUE      QUEUE MANAGER  STATE    MOVED  PARKED  DEAD LETTERS  DISCARDED  EXPIRED  WAITING   NEXT TRY  REASON
    local   local   GATE1                     PAUSED       0       0             0          0        0                      by an operator
    hq      outbox  MQE.SYNCQ  HQ             STOPPED      1       0             0          0        0  1 (86 B)            by an operator
    hq      remote  GATE1      HQ             STOPPED      2       1             1          0        0                      by an operator
    ");
    // How long they took is not the same twice.
    insta::with_settings!({ filters => [(r"(?m) +\d+ +\d+$", "  [MEAN]  [MAX]")] }, {
        insta::assert_snapshot!(tool(&gateway, &["exits", "list"]), @r"
        EXIT                 CALLS  REFUSED  FAILURES  LATE  MEAN US  MAX US
        destination-rewrite      6        0         0     0  [MEAN]  [MAX]
        ");
    });
}
