//! A message whose body has a file of its own, from an MQ client to a device through SIGKILLs: the file is there as
//! long as the message, and goes some time later.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use integration_tests::ledger::Ledger;
use integration_tests::mq::Mq;
use integration_tests::seed::Seed;
use integration_tests::service::Service;
use integration_tests::traffic::{Devices, Getter, Outcome, Putter};
use integration_tests::{tools, wait};
use mq_wire::{GetOptions, OpenOptions};
use rand::RngExt;

use crate::GATEWAY;
use crate::looks::{TIME, assert_clean, command, is_drained};

const LONG: usize = 3 << 20;
const QUEUE: &str = "DEV.QUEUE.1";
/// A checkpoint comes within a minute (STORE.md 4).
const CHECKPOINT: Duration = Duration::from_secs(120);

/// Files below `bodies/`.
#[track_caller]
fn files(service: &Service) -> usize {
    fs::read_dir(service.data().join("bodies")).unwrap().count()
}

#[test]
fn the_file_of_a_long_body_lives_as_long_as_the_message() {
    let seed = Seed::new("bodies");
    let mut rng = seed.rng();
    let mut service = Service::start(GATEWAY);
    let ledger = Arc::new(Ledger::default());
    let options = service.connect_options("DEV.APP.SVRCONN");
    let mut putter = Putter::new(&options, ("ORDERS%DEV00001", "GATE1"), "long", &ledger);
    let mut devices = Devices::new(service.devices(), &["DEV00001".to_owned()], &ledger);
    let mut getter = Getter::new(&options, QUEUE, &ledger);
    for round in 0..tools::count(40, 2) {
        assert_eq!(putter.put(&[LONG]), Outcome::Done);
        wait::pause(Duration::from_micros(rng.random_range(0..100_000)));
        service.kill();
        service.restart();
        assert!(files(&service) > 0, "the message lives and its file is gone");
        assert_eq!(putter.put(&[500]), Outcome::Broken, "the connection was killed");
        // Pulled, and a long one put the other way; killed in between.
        devices.start(QUEUE, 1, LONG);
        wait::pause(Duration::from_micros(rng.random_range(0..300_000)));
        service.kill();
        service.restart();
        let mut through = Putter::new(&options, (QUEUE, ""), &format!("through-{round}"), &ledger);
        wait::until("the messages", TIME, || {
            getter.get(1, Duration::ZERO)?;
            (ledger.missing() == 0 && is_drained(&service)).then_some(())
        });
        devices.stop();
        // What is wrong today: as long as the put is among the newest 8 MiB in memory its file stays, and that is only
        // looked at by a checkpoint, of which there is none where nothing is written. So that much goes through here.
        for _ in 0..10 {
            assert_eq!(through.put(&[1_000_000]), Outcome::Done);
            assert_eq!(getter.get(1, Duration::ZERO), Some(1));
        }
        // A backup begins with a checkpoint: else that can take a minute.
        let (to, data) = (format!("backup-{round}"), service.data().display().to_string());
        command(&["store", "backup", &to, "--data", &data], service.folder()).succeeded();
        fs::remove_dir_all(service.folder().join(&to)).unwrap();
        wait::until("an empty folder of bodies", CHECKPOINT, || (files(&service) == 0).then_some(()));
        assert_eq!(service.status()["store"]["body_files"], 0);
    }
    ledger.assert_exact();
    service.stop();
    assert_eq!(files(&service), 0);
    assert_clean(&service.data(), service.folder());
}

/// A get outside of a unit of work kills the message in the turn that reads it; the file with its body is read all the
/// same, also when the message is not among the newest in memory.
#[test]
fn a_long_message_of_an_earlier_start_is_got_outside_of_a_unit_of_work() {
    let mut service = Service::start(GATEWAY);
    let ledger = Arc::new(Ledger::default());
    let options = service.connect_options("DEV.APP.SVRCONN");
    let mut putter = Putter::new(&options, (QUEUE, ""), "long", &ledger);
    let get = |service: &Service, options| {
        let mut app = Mq::connect(&service.connect_options("DEV.APP.SVRCONN")).unwrap();
        let handle = app.open(QUEUE, "", OpenOptions::INPUT_SHARED).unwrap();
        let got = app.get(handle, options, Duration::ZERO);
        app.disconnect().unwrap();
        got
    };
    assert_eq!(putter.put(&[LONG]), Outcome::Done);
    let newest = get(&service, GetOptions::NO_SYNCPOINT).unwrap().unwrap();
    ledger.got(&newest.data);
    for _ in 0..2 {
        assert_eq!(putter.put(&[LONG]), Outcome::Done);
    }
    service.kill();
    service.restart();
    let outside = get(&service, GetOptions::NO_SYNCPOINT).unwrap().unwrap();
    ledger.got(&outside.data);
    let in_a_unit = get(&service, GetOptions::SYNCPOINT).unwrap().unwrap();
    ledger.got(&in_a_unit.data);
    assert_eq!(service.depth(QUEUE), 0);
    assert_eq!(ledger.missing(), 0);
}
