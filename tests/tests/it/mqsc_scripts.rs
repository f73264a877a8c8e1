//! MQSC scripts at the start (INTERFACE.md 3).

use std::fs;

use integration_tests::mq::{Mq, reason};
use integration_tests::service::{STOP, Service};
use mq_wire::{OpenOptions, Reason, Selector};

use crate::GATEWAY;

fn depth_max(service: &Service, queue: &str) -> i32 {
    let mut app = Mq::connect(&service.connect_options("DEV.APP.SVRCONN")).unwrap();
    let handle = app.open(queue, "", OpenOptions::INQUIRE).unwrap();
    app.integers(handle, &[Selector::IA_MAX_Q_DEPTH]).unwrap()[0]
}

#[test]
fn a_script_is_applied_before_ready_and_only_warns_the_second_time() {
    let mut service = Service::prepare(GATEWAY).with(&["--mqsc", "one.mqsc", "--mqsc", "two.mqsc"]);
    fs::write(
        service.folder().join("one.mqsc"),
        "* Of the first script\nDEFINE QLOCAL(APP.ONE) MAXDEPTH(11)\n",
    )
    .unwrap();
    let two = "DEFINE QLOCAL(APP.TWO) +\n  MAXDEPTH(22)\nDEFINE QALIAS(APP.ALIAS) TARGET(APP.TWO)\n";
    fs::write(service.folder().join("two.mqsc"), two).unwrap();
    service.restart();
    assert_eq!(depth_max(&service, "APP.ONE"), 11);
    assert_eq!(depth_max(&service, "APP.TWO"), 22);
    let mut app = Mq::connect(&service.connect_options("DEV.APP.SVRCONN")).unwrap();
    app.put_one("APP.ALIAS", "", "through the alias").unwrap();
    let first = service.log();
    assert!(!first.contains("AMQ8150"), "{first}");
    assert!(service.stop().status.success());

    service.restart();
    assert_eq!(depth_max(&service, "APP.ONE"), 11);
    let log = service.log();
    let warned: Vec<&str> = log.lines().filter(|line| line.contains("AMQ8150")).collect();
    assert_eq!(warned.len(), 3, "each object exists: {warned:#?}");
    assert!(warned.iter().all(|line| line.contains("WARN")), "{warned:#?}");
    let mut app = Mq::connect(&service.connect_options("DEV.APP.SVRCONN")).unwrap();
    assert_eq!(app.drain("APP.TWO").len(), 1);
}

#[test]
fn of_a_script_with_a_mistake_nothing_is_applied() {
    let mut service = Service::prepare(GATEWAY);
    let good = service.folder().join("good.mqsc");
    let broken = service.folder().join("broken.mqsc");
    fs::write(&good, "DEFINE QLOCAL(APP.GOOD)\n").unwrap();
    fs::write(&broken, "DEFINE QLOCAL(APP.BEFORE)\nDEFNE QLOCAL(APP.BROKEN)\n").unwrap();
    let mut command = service.command();
    command.arg("--mqsc").arg(&good).arg("--mqsc").arg(&broken);
    let ended = integration_tests::process::Process::run("broken", command, service.folder(), STOP);
    assert_eq!(ended.status.code(), Some(1), "{}", ended.stderr);
    assert!(!ended.stdout.contains("ready"), "{}", ended.stdout);
    assert!(ended.stderr.contains("broken.mqsc:2:"), "{}", ended.stderr);

    service.restart();
    let mut app = Mq::connect(&service.connect_options("DEV.APP.SVRCONN")).unwrap();
    for queue in ["APP.GOOD", "APP.BEFORE"] {
        assert_eq!(reason(app.open(queue, "", OpenOptions::INQUIRE)), Reason::UNKNOWN_OBJECT_NAME, "{queue}");
    }
}
