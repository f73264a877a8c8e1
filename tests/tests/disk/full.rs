//! A full disk: intake pauses and says so, everything that drains the store goes on, also over a SIGKILL, and intake
//! resumes by itself (STORE.md 6).

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use integration_tests::disk::Disk;
use integration_tests::ledger::{Ledger, Put};
use integration_tests::seed::Seed;
use integration_tests::service::Service;
use integration_tests::traffic::{Devices, Getter, Outcome, Putter};
use integration_tests::{tools, wait};
use rand::RngExt;
use serde_json::Value;

use crate::GATEWAY;
use crate::looks::{TIME, assert_clean, is_drained, is_short};

/// Small, so that reserve and journal fit.
const CONFIG: &str = "[store]\nsegment_bytes = 2097152\n";
const DISK_MIB: u64 = 96;
const LOCAL: &str = "DEV.QUEUE.1";
const FROM_DEVICES: &str = "DEV.QUEUE.3";
/// A unit of work that fills a disk, and one of long bodies.
const SEGMENT_BYTES: u64 = 2 << 20;
const UNIT: [usize; 8] = [100_000; 8];
const LONG: [usize; 1] = [1_500_000];
const SMALL: [usize; 1] = [500];

fn names(count: u32) -> Vec<String> {
    (1..=count).map(|number| format!("DEV{number:05}")).collect()
}

/// An application for each device, and one for the local queue.
fn putters(service: &Service, names: &[String], ledger: &Arc<Ledger>) -> Vec<Putter> {
    let options = service.connect_options("DEV.APP.SVRCONN");
    let to_devices = names.iter().map(|name| {
        Putter::new(&options, (&format!("ORDERS%{name}"), "GATE1"), &format!("to-{name}"), ledger)
    });
    to_devices.chain([Putter::new(&options, (LOCAL, ""), "local", ledger)]).collect()
}

/// Whether nothing more is given back by compaction: what is dead is less than it looks at, and no segment only waits
/// for a checkpoint.
#[track_caller]
fn is_settled(service: &Service) -> bool {
    let store = &service.status()["store"];
    let segments = store["by_segment"].as_array().unwrap();
    let number = |value: &Value| value.as_u64().unwrap();
    let bytes: u64 = segments.iter().map(|segment| number(&segment["bytes"])).sum();
    let sealed = &segments[..segments.len() - 1];
    sealed.iter().all(|segment| number(&segment["live"]) > 0)
        && bytes < number(&store["live_bytes"]) * 110 / 100 + 2 * SEGMENT_BYTES
}

/// Puts until nothing is taken any more.
fn fill(putters: &mut [Putter]) {
    let begun = Instant::now();
    let mut full = 0;
    while full < putters.len() {
        full = 0;
        for putter in &mut *putters {
            full += usize::from(
                putter.put(&UNIT) == Outcome::Full
                    && putter.put(&LONG) == Outcome::Full
                    && putter.put(&SMALL) == Outcome::Full,
            );
        }
        assert!(begun.elapsed() < TIME, "the disk is never full");
    }
}

#[test]
fn draining_goes_on_where_intake_pauses() {
    let Some(disk) = Disk::sound(DISK_MIB) else { return };
    let mut service = Service::prepare(GATEWAY).with_data(disk.path().join("data")).with_config(CONFIG);
    service.restart();
    let ledger = Arc::new(Ledger::default());
    let options = service.connect_options("DEV.APP.SVRCONN");
    let names = names(4);
    let mut devices = Devices::new(service.devices(), &names, &ledger);
    let mut putters = putters(&service, &names, &ledger);
    let mut local = Getter::new(&options, LOCAL, &ledger);
    let mut from_devices = Getter::new(&options, FROM_DEVICES, &ledger);

    let mut busy = Devices::new(service.devices(), &["DEV00009".to_owned()], &ledger);
    busy.start(FROM_DEVICES, 1, 500);
    wait::until("the first put of a device", TIME, || {
        (from_devices.get(1, Duration::ZERO)? == 1).then_some(())
    });
    busy.stop();

    for putter in &mut putters {
        for sizes in [&UNIT[..], &LONG, &UNIT, &SMALL] {
            assert_eq!(putter.put(sizes), Outcome::Done);
        }
    }
    service.wait_until_handed_over();
    let (_, last) = putters.split_at_mut(names.len());
    wait::until("a disk that stays full", TIME, || {
        fill(last);
        (is_short(&service) && is_settled(&service)).then_some(())
    });
    // A device that puts is told to wait, and keeps what it has.
    busy.start(FROM_DEVICES, 3, 500);
    wait::until("a session of the device", TIME, || {
        service.device("DEV00009").filter(|device| device["connected"] == true)
    });
    assert_eq!(from_devices.get(3, Duration::from_millis(300)), Some(0), "a put was taken without room");
    assert_eq!(local.get(2, Duration::ZERO), Some(2), "a get without room");
    assert_eq!(putters[0].put(&SMALL), Outcome::Full);

    // Killed while it is full, and what was still free is gone when it comes back.
    service.kill();
    disk.fill(0);
    service.restart();
    assert!(is_short(&service));
    assert_eq!(putters[0].put(&SMALL), Outcome::Broken, "the connection was killed");
    assert_eq!(putters[0].put(&SMALL), Outcome::Full);
    assert_eq!(local.get(2, Duration::ZERO), None, "the connection was killed");
    assert_eq!(local.get(2, Duration::ZERO), Some(2), "a get without room");
    let arrived = ledger.arrived();
    devices.start(FROM_DEVICES, 0, 0);
    wait::until("messages of devices without room", TIME, || {
        (ledger.arrived() >= arrived + 20).then_some(())
    });

    // All is drained; what then is free is enough, although the other file is still there.
    wait::until("all messages", TIME, || {
        while local.get(20, Duration::ZERO)? > 0 {}
        from_devices.get(20, Duration::ZERO)?;
        (ledger.missing() == 0).then_some(())
    });
    wait::until("intake by itself", TIME, || (putters[0].put(&SMALL) == Outcome::Done).then_some(()));
    assert!(!is_short(&service));

    wait::until("the last message", TIME, || is_drained(&service).then_some(()));
    devices.stop();
    busy.stop();
    eprintln!("disk full: {} taken, {} refused", ledger.count(Put::Taken), ledger.count(Put::Refused));
    ledger.assert_exact();
    service.stop();
    assert_clean(&service.data(), service.folder());
}

#[test]
fn room_that_others_take_and_give_back() {
    let Some(disk) = Disk::sound(DISK_MIB) else { return };
    let mut service = Service::prepare(GATEWAY).with_data(disk.path().join("data")).with_config(CONFIG);
    service.restart();
    let ledger = Arc::new(Ledger::default());
    let names = names(2);
    let mut putters = putters(&service, &names, &ledger);
    let mut devices = Devices::new(service.devices(), &names, &ledger);
    devices.start(FROM_DEVICES, 0, 0);
    let mut local = Getter::new(&service.connect_options("DEV.APP.SVRCONN"), LOCAL, &ledger);
    for putter in &mut putters {
        assert_eq!(putter.put(&SMALL), Outcome::Done);
    }
    // First a long body has no room, then nothing has.
    wait::until("a long body without room", TIME, || {
        disk.fill(1 << 20);
        (putters[0].put(&LONG) == Outcome::Full).then_some(())
    });
    let foreign = disk.fill(0);
    fill(&mut putters);
    assert!(is_short(&service));
    assert_eq!(local.get(1, Duration::ZERO), Some(1), "a get without room");
    // A stop and a start need none.
    let stopped = service.stop();
    assert_eq!(stopped.status.code(), Some(0), "{}", stopped.stderr);
    assert_clean(&service.data(), service.folder());
    disk.fill(0);
    service.restart();
    for putter in &mut putters {
        assert_eq!(putter.put(&SMALL), Outcome::Broken, "the connection was ended");
    }
    fill(&mut putters);
    assert!(is_short(&service));
    fs::remove_file(foreign).unwrap();
    wait::until("intake by itself", TIME, || (putters[0].put(&SMALL) == Outcome::Done).then_some(()));
    assert!(!is_short(&service));
    wait::until("all messages", TIME, || {
        while local.get(20, Duration::ZERO)? > 0 {}
        (ledger.missing() == 0 && is_drained(&service)).then_some(())
    });
    devices.stop();
    ledger.assert_exact();
    service.stop();
    assert_clean(&service.data(), service.folder());
}

#[test]
fn kills_on_a_disk_that_is_full_again_and_again() {
    let seed = Seed::new("disk_full");
    let mut rng = seed.rng();
    let Some(disk) = Disk::sound(DISK_MIB) else { return };
    let mut service = Service::prepare(GATEWAY).with_data(disk.path().join("data")).with_config(CONFIG);
    service.restart();
    let ledger = Arc::new(Ledger::default());
    let options = service.connect_options("DEV.APP.SVRCONN");
    let names = names(6);
    let mut devices = Devices::new(service.devices(), &names, &ledger);
    let end = Arc::new(AtomicBool::new(false));
    let units = vec![UNIT.to_vec(), SMALL.to_vec(), LONG.to_vec(), vec![10_000; 20], vec![1_200_000; 2]];
    let mut putters: Vec<_> = putters(&service, &names, &ledger)
        .into_iter()
        .map(|putter| putter.run(&end, units.clone()))
        .collect();
    let rounds = tools::count(20, 1);
    for round in 0..rounds {
        // Nobody drains, until it is full.
        wait::until("a full disk", TIME, || is_short(&service).then_some(()));
        for _ in 0..rng.random_range(1..4) {
            wait::pause(Duration::from_micros(rng.random_range(0..200_000)));
            service.kill();
            service.restart();
        }
        let drained = Arc::new(AtomicBool::new(false));
        let getters =
            [LOCAL, FROM_DEVICES].map(|queue| Getter::new(&options, queue, &ledger).run(&drained, 20));
        devices.start(FROM_DEVICES, 5, 20_000);
        // Intake comes back and pauses again while all that goes on.
        let arrived = ledger.arrived();
        wait::until("messages", TIME, || (ledger.arrived() > arrived + 300).then_some(()));
        service.kill();
        service.restart();
        if round + 1 == rounds {
            end.store(true, Ordering::Relaxed);
            putters.drain(..).for_each(|putter| putter.join().unwrap());
        }
        let arrived = ledger.arrived();
        wait::until("messages", TIME, || {
            (ledger.missing() == 0 || ledger.arrived() > arrived + 300).then_some(())
        });
        if round + 1 == rounds {
            wait::until("all messages", TIME, || {
                (ledger.missing() == 0 && is_drained(&service)).then_some(())
            });
            wait::until("room", TIME, || (!is_short(&service)).then_some(()));
        }
        devices.stop();
        drained.store(true, Ordering::Relaxed);
        for getter in getters {
            getter.join().unwrap();
        }
    }
    let counts = [Put::Taken, Put::Refused, Put::Doubtful].map(|put| ledger.count(put));
    eprintln!("disk full: {rounds} rounds, {} starts, taken/refused/doubtful {counts:?}", service.starts());
    ledger.assert_exact();
    service.stop();
    assert_clean(&service.data(), service.folder());
}
