//! A disk that really fails: its device lies on a tmpfs without room for some of its blocks, so a write that the file
//! system had room for never reaches it, and the sync says so (STORE.md 3.4 and 6).

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use integration_tests::disk::Disk;
use integration_tests::ledger::{Ledger, Put};
use integration_tests::seed::Seed;
use integration_tests::service::Service;
use integration_tests::traffic::{Devices, Getter, Outcome, Putter};
use integration_tests::{tools, wait};
use rand::RngExt;

use crate::GATEWAY;
use crate::looks::{TIME, assert_clean, has_problem, is_drained};

const CONFIG: &str = "[store]\nsegment_bytes = 8388608\n";
const LOCAL: &str = "DEV.QUEUE.1";
const FROM_DEVICES: &str = "DEV.QUEUE.3";

/// The newest segment, and where its groups end.
fn newest_segment(service: &Service) -> (PathBuf, u64) {
    let status = service.status();
    let segment = status["store"]["by_segment"].as_array().unwrap().last().unwrap();
    let name = format!("{:08}.seg", segment["number"].as_u64().unwrap());
    let path = service.data().join("journal").join(name);
    // The segment that is being written has no end yet: look for the last byte that is not zero.
    let bytes = std::fs::read(&path).unwrap();
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |at| at as u64 + 1);
    (path, end.next_multiple_of(4096))
}

/// Applications and devices at work, until they are told to end.
struct Work {
    ledger: Arc<Ledger>,
    devices: Devices,
    putters_end: Arc<AtomicBool>,
    getters_end: Arc<AtomicBool>,
    putters: Vec<std::thread::JoinHandle<()>>,
    getters: Vec<std::thread::JoinHandle<Getter>>,
}

impl Work {
    fn start(service: &Service, long: bool) -> Self {
        let ledger = Arc::new(Ledger::default());
        let options = service.connect_options("DEV.APP.SVRCONN");
        let names: Vec<String> = (1..=3).map(|number| format!("DEV{number:05}")).collect();
        let mut units = vec![vec![300], vec![2_000; 10], vec![60_000; 3]];
        if long {
            units.push(vec![1_200_000]);
        }
        let (putters_end, getters_end) = <(Arc<AtomicBool>, Arc<AtomicBool>)>::default();
        let putter = |(queue, manager): (&str, &str), name: &str| {
            Putter::new(&options, (queue, manager), name, &ledger).run(&putters_end, units.clone())
        };
        let mut putters: Vec<_> = names
            .iter()
            .map(|name| putter((&format!("ORDERS%{name}"), "GATE1"), &format!("to-{name}")))
            .collect();
        putters.push(putter((LOCAL, ""), "local"));
        let getter = |queue| Getter::new(&options, queue, &ledger).run(&getters_end, 10);
        let getters = [LOCAL, FROM_DEVICES].map(getter).into_iter().collect();
        let mut devices = Devices::new(service.devices(), &names, &ledger);
        devices.start(FROM_DEVICES, 200, 1_000);
        Self { ledger, devices, putters_end, getters_end, putters, getters }
    }

    /// Something more arrives.
    #[track_caller]
    fn goes_on(&self, messages: usize) {
        let arrived = self.ledger.arrived();
        wait::until("messages", TIME, || (self.ledger.arrived() >= arrived + messages).then_some(()));
    }

    /// No more is put, all arrives, and the account is exact.
    #[track_caller]
    fn end(mut self, name: &str, service: &Service) {
        self.putters_end.store(true, Ordering::Relaxed);
        for putter in self.putters {
            putter.join().unwrap();
        }
        let ledger = &self.ledger;
        wait::until("all messages", TIME, || (ledger.missing() == 0 && is_drained(service)).then_some(()));
        self.devices.stop();
        self.getters_end.store(true, Ordering::Relaxed);
        for getter in self.getters {
            getter.join().unwrap();
        }
        let counts = [Put::Taken, Put::Refused, Put::Doubtful].map(|put| ledger.count(put));
        eprintln!("{name}: taken/refused/doubtful {counts:?}");
        ledger.assert_exact();
    }
}

#[test]
fn a_sync_that_fails_is_recovered_in_the_process() {
    let seed = Seed::new("disk_breaks");
    let mut rng = seed.rng();
    let Some(disk) = Disk::breakable(192) else { return };
    let mut service = Service::prepare(GATEWAY).with_data(disk.path().join("data")).with_config(CONFIG);
    service.restart();
    let id = service.process().id();
    let work = Work::start(&service, true);
    let recoveries = |service: &Service| service.status()["store"]["recoveries"].as_u64().unwrap();
    let rounds = tools::count(30, 2);
    for round in 1..=rounds {
        work.goes_on(rng.random_range(50..400));
        // What is reserved in the newest segment, and not written yet, is gone from the device.
        let (segment, end) = newest_segment(&service);
        disk.break_behind(&segment, end + (256 << 10));
        wait::until("a recovery", TIME, || (recoveries(&service) >= round).then_some(()));
        disk.repair();
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
