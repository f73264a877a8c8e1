//! A disk that really fails: its device lies on a tmpfs without room for some of its blocks, so a write that the file
//! system had room for never reaches it, and the sync says so (STORE.md 3.4 and 6).

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use integration_tests::disk::Disk;
use integration_tests::ledger::Ledger;
use integration_tests::seed::Seed;
use integration_tests::service::Service;
use integration_tests::traffic::{Getter, Outcome, Putter};
use integration_tests::{tools, wait};
use rand::RngExt;

use crate::GATEWAY;
use crate::looks::{TIME, assert_clean, has_problem, is_drained};
use crate::work::Work;

const CONFIG: &str = "[store]\nsegment_bytes = 8388608\n";
const LOCAL: &str = "DEV.QUEUE.1";

/// Breaks what has space in the newest segment and is not written yet; false if there is nothing.
fn break_newest(service: &mut Service, disk: &Disk) -> bool {
    let journal = service.data().join("journal");
    service.process().held(|| {
        let names = fs::read_dir(journal).unwrap().map(|entry| entry.unwrap().path());
        let newest = names.filter(|path| path.extension().is_some_and(|kind| kind == "seg")).max().unwrap();
        let bytes = fs::read(&newest).unwrap();
        let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |at| at as u64 + 1);
        disk.break_behind(&newest, end.next_multiple_of(4096))
    })
}

#[test]
fn a_sync_that_fails_is_recovered_in_the_process() {
    let seed = Seed::new("disk_breaks");
    let mut rng = seed.rng();
    let Some(disk) = Disk::breakable(192) else { return };
    let mut service = Service::prepare(GATEWAY).with_data(disk.path().join("data")).with_config(CONFIG);
    service.restart();
    let id = service.process().id();
    let work = Work::start(&service);
    let recoveries = |service: &Service| service.status()["store"]["recoveries"].as_u64().unwrap();
    let rounds = tools::count(30, 2);
    for round in 1..=rounds {
        work.goes_on(rng.random_range(50..400));
        while recoveries(&service) < round {
            let written = |service: &Service| service.status()["store"]["written_bytes"].as_u64().unwrap();
            let broken_at = written(&service);
            let is_broken = break_newest(&mut service, &disk);
            // At most so much has space ahead.
            wait::until("a recovery, or another segment", TIME, || {
                let is_over = !is_broken || written(&service) > broken_at + (8 << 20);
                (is_over || recoveries(&service) >= round).then_some(())
            });
            disk.repair();
        }
        work.goes_on(100);
        let status = service.status();
        assert!(has_problem(&status, "was recovered"), "{status:#}");
        assert_eq!(service.get("/readyz").0, 200);
    }
    assert!(!disk.is_read_only());
    assert_eq!(service.process().id(), id);
    assert!(service.process().is_running());
    eprintln!("disk breaks: {} recoveries", recoveries(&service));
    work.end("disk breaks", &service);
    service.stop();
    assert_clean(&service.data(), service.folder());
}

#[test]
fn a_disk_with_less_than_it_says_ends_the_service_or_is_recovered() {
    let Some(disk) = Disk::thin(256, 24) else { return };
    let mut service = Service::prepare(GATEWAY).with_data(disk.path().join("data")).with_config(CONFIG);
    service.restart();
    let ledger = Arc::new(Ledger::default());
    let options = service.connect_options("DEV.APP.SVRCONN");
    let mut putter = Putter::new(&options, (LOCAL, ""), "local", &ledger);
    let mut getter = Getter::new(&options, LOCAL, &ledger);
    wait::until("a write that fails", TIME, || (putter.put(&[200_000; 5]) == Outcome::Broken).then_some(()));
    assert!(!disk.is_read_only(), "ext4 found it first");
    // A recovery writes too: it may find blocks that were used before, or none.
    let recovered = wait::until("a recovery or the end", TIME, || {
        if !service.process().is_running() {
            return Some(false);
        }
        let (_, body) = service.try_get("/status").ok()?;
        let status: serde_json::Value = serde_json::from_str(&body).ok()?;
        (status["store"]["recoveries"].as_u64()? > 0).then_some(true)
    });
    let ended = (!recovered).then(|| service.ended());
    disk.repair();
    if let Some(ended) = ended {
        assert_eq!(ended.status.code(), Some(1), "{}", ended.stderr);
        let line = ended.stderr.lines().last().unwrap();
        assert!(
            line.starts_with("mqe-gateway: ") && line.contains("the journal cannot be written"),
            "{line}"
        );
        service.restart();
    }
    eprintln!("thin disk: {}", if recovered { "recovered" } else { "ended and started again" });
    wait::until("a put", TIME, || (putter.put(&[500]) == Outcome::Done).then_some(()));
    wait::until("all messages", TIME, || {
        getter.get(10, Duration::ZERO)?;
        (ledger.missing() == 0 && is_drained(&service)).then_some(())
    });
    ledger.assert_exact();
    service.stop();
    assert_clean(&service.data(), service.folder());
}
