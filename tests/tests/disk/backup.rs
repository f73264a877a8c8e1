//! A backup of the service while it works, checked, restored and started: what was acknowledged before the backup and
//! taken by nobody is there once, and devices see that it is another store.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use integration_tests::device::Device;
use integration_tests::ledger::Ledger;
use integration_tests::mq::Mq;
use integration_tests::service::Service;
use integration_tests::traffic::{Devices, Getter, Putter};
use integration_tests::{tools, wait};
use serde_json::Value;

use crate::looks::{TIME, assert_clean, command, is_drained};
use crate::work::Work;
use crate::{DEVICE_SIM, GATEWAY};

const CONFIG: &str = "[store]\nsegment_bytes = 1048576\n";
/// Nobody gets from it meanwhile.
const LEFT: &str = "DEV.QUEUE.2";
/// A device that is not there meanwhile, and one that is asked for what its messages are called.
const AWAY: &str = "DEV00077";
const NAMED: &str = "DEV00099";

/// A backup, and what of the ledger must be in it.
#[track_caller]
fn back_up(service: &Service, to: &str, incremental: bool, ledger: &Ledger) -> (Value, Vec<String>) {
    let before = ledger.awaited();
    let data = service.data().display().to_string();
    let mut args = vec!["store", "backup", to, "--json", "--data", &data];
    args.extend(incremental.then_some("--incremental"));
    let made = command(&args, service.folder()).succeeded();
    let after = ledger.awaited();
    assert_clean(&service.folder().join(to), service.folder());
    (
        serde_json::from_str(&made.stdout).unwrap(),
        before.into_iter().filter(|name| after.contains(name)).collect(),
    )
}

/// Restores into a directory beside the backup, starts it, and takes everything out of it.
#[track_caller]
fn assert_restores(backup: &Path, must: &[String], others: &Ledger) -> String {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("restored");
    let (backup, at) = (backup.display().to_string(), data.display().to_string());
    let restored = command(&["store", "restore", &backup, "--data", &at], folder.path()).succeeded();
    assert!(restored.stdout.contains("new identity"), "{}", restored.stdout);
    assert_clean(&data, folder.path());
    let mut service = Service::prepare(GATEWAY).with_data(&data).with_config(CONFIG);
    service.restart();
    let mut app = Mq::connect(&service.connect_options("DEV.APP.SVRCONN")).unwrap();
    app.put_one(&format!("ORDERS%{NAMED}"), "GATE1", "after").unwrap();
    let pulled = Device::new(DEVICE_SIM, service.devices(), NAMED, service.folder()).pull(2);
    let uids: Vec<&str> = pulled.iter().map(|message| message["uid"].as_str().unwrap()).collect();
    assert_ne!(store_of(uids[0]), store_of(uids[1]), "the same identity: {pulled:#?}");

    let ledger = Arc::new(Ledger::expecting(must, others));
    let options = service.connect_options("DEV.APP.SVRCONN");
    let names: Vec<String> =
        (1..=3).map(|number| format!("DEV{number:05}")).chain([AWAY.to_owned()]).collect();
    let mut devices = Devices::new(service.devices(), &names, &ledger);
    devices.start(LEFT, 0, 0);
    let mut getters = ["DEV.QUEUE.1", LEFT, "DEV.QUEUE.3"].map(|queue| Getter::new(&options, queue, &ledger));
    wait::until("all that is there", TIME, || {
        for getter in &mut getters {
            while getter.get(20, std::time::Duration::ZERO)? > 0 {}
        }
        is_drained(&service).then_some(())
    });
    devices.stop();
    ledger.assert_exact();
    service.stop();
    assert_clean(&service.data(), service.folder());
    uids[0].to_owned()
}

/// The store's part of a name.
fn store_of(uid: &str) -> &str {
    uid.rsplit_once(|letter: char| !letter.is_ascii_alphanumeric()).expect("two parts").0
}

#[test]
fn a_backup_of_a_service_at_work_holds_what_was_acknowledged_before() {
    let mut service = Service::prepare(GATEWAY).with_config(CONFIG);
    service.restart();
    let options = service.connect_options("DEV.APP.SVRCONN");
    let mut app = Mq::connect(&options).unwrap();
    app.put_one(&format!("ORDERS%{NAMED}"), "GATE1", "before").unwrap();
    let work = Work::start(&service);
    let ledger = Arc::clone(&work.ledger);
    let end = Arc::new(AtomicBool::new(false));
    let units = vec![vec![700; 5], vec![1_100_000], vec![3_000]];
    let left = Putter::new(&options, (LEFT, ""), "left", &ledger).run(&end, units.clone());
    let away = Putter::new(&options, (&format!("ORDERS%{AWAY}"), "GATE1"), "away", &ledger).run(&end, units);
    let mut uids = Vec::new();
    for round in 0..tools::count(8, 2) {
        work.goes_on(100);
        let (report, must) = back_up(&service, "backup", round > 0, &ledger);
        eprintln!("backup {round}: {} messages must be in it; {report}", must.len());
        assert!(must.len() > 5, "{must:?}");
        assert_eq!(report["files_kept"] != 0, round > 0, "{report:#}");
        uids.push(assert_restores(&service.folder().join("backup"), &must, &ledger));
    }
    end.store(true, Ordering::Relaxed);
    left.join().unwrap();
    away.join().unwrap();
    // The first store has gone on all the time, and has kept its names.
    let pulled = Device::new(DEVICE_SIM, service.devices(), NAMED, service.folder()).pull(1);
    uids.push(pulled[0]["uid"].as_str().unwrap().to_owned());
    assert!(uids.iter().all(|uid| uid == &uids[0]), "a message of before has another name: {uids:?}");
    let mut devices = Devices::new(service.devices(), &[AWAY.to_owned()], &ledger);
    devices.start(LEFT, 0, 0);
    let getters_end = Arc::new(AtomicBool::new(false));
    let getter = Getter::new(&options, LEFT, &ledger).run(&getters_end, 20);
    work.end("backup", &service);
    getters_end.store(true, Ordering::Relaxed);
    getter.join().unwrap();
    devices.stop();
    service.stop();
    assert_clean(&service.data(), service.folder());
}
