//! Two fleets in both directions, one with bodies that have files of their own, while the service is killed under them.
//! Segments are small, so that compaction, reuse and checkpoints come between the kills; and before every second start
//! the derived index is gone, or is an older copy: the journal is the truth.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use integration_tests::process::Process;
use integration_tests::seed::Seed;
use integration_tests::service::Service;
use integration_tests::{tools, wait};
use rand::RngExt;
use rand::rngs::StdRng;
use serde_json::Value;

use crate::fleet::{Fleet, exact};
use crate::folders::{INDEX, assert_clean, copy_folder};
use crate::{CONFIG, GATEWAY};

/// A start serves something within this.
const PROGRESS: Duration = Duration::from_secs(60);
/// A fleet that is not disturbed any more comes to its end.
const END: Duration = Duration::from_secs(400);
/// One life of so many lasts until the store has done of everything something.
const LONG_LIFE: u32 = 20;

/// What the store has done of its own, in all lives together; the newest is not in the sums yet.
#[derive(Debug, Default)]
struct Upkeep {
    sums: Figures,
    newest: Figures,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Figures {
    checkpoints: u64,
    compacted: u64,
    recycled: u64,
    moved_bytes: u64,
    body_files: u64,
}

impl Figures {
    fn of(store: &Value) -> Self {
        let number = |name: &str| store[name].as_u64().unwrap();
        Self {
            // That of the start is no news.
            checkpoints: number("checkpoints") - 1,
            compacted: number("compacted"),
            recycled: number("recycled"),
            moved_bytes: number("moved_bytes"),
            body_files: number("body_files"),
        }
    }

    fn add(&mut self, other: Self) {
        self.checkpoints += other.checkpoints;
        self.compacted += other.compacted;
        self.recycled += other.recycled;
        self.moved_bytes += other.moved_bytes;
        self.body_files += other.body_files;
    }

    fn has_all(&self) -> bool {
        self.checkpoints > 0 && self.compacted > 0 && self.recycled > 0 && self.moved_bytes > 0
    }
}

impl Upkeep {
    /// Looks at the service; how many records it has written.
    #[track_caller]
    fn look(&mut self, service: &Service) -> u64 {
        let status = service.status();
        let before = self.newest.body_files;
        self.newest = Figures::of(&status["store"]);
        // The only one that goes down again.
        self.newest.body_files = self.newest.body_files.max(before);
        status["store"]["records"].as_u64().unwrap()
    }

    fn life_ended(&mut self) {
        self.sums.add(std::mem::take(&mut self.newest));
    }
}

/// A fleet that runs, and where its report will be.
type Running = (Process, PathBuf);

#[test]
fn every_message_once_in_both_directions_through_kills() {
    let seed = Seed::new("crash_devices");
    let mut rng = seed.rng();
    let kills: u32 = tools::count(300, 6);
    let mut service = Service::prepare(GATEWAY).with_config(CONFIG);
    service.restart();
    let (mut killed, mut fleets) = (0, 0);
    let mut upkeep = Upkeep::default();
    let begun = Instant::now();
    // Fleets that are through before the last kill are followed by others over the same data.
    while killed < kills {
        fleets += 1;
        let mut running = start(&service, fleets, seed.number);
        while killed < kills && serves(&service, &mut running, rng.random_range(20..400), &mut upkeep) {
            if killed % LONG_LIFE == 1 {
                lives_long(&service, &mut running, &mut upkeep);
            }
            wait::pause(Duration::from_micros(rng.random_range(0..20_000)));
            service.kill();
            upkeep.life_ended();
            killed += 1;
            if killed.is_multiple_of(2) {
                lose_index(&service, &mut rng);
            }
            service.restart();
        }
        for (process, report) in running {
            exact(process, &report, END);
        }
        let status = service.status();
        assert_eq!(status["area"]["messages"], 0, "{status:#}");
        assert_eq!(service.depth("DEV.DEAD.LETTER.QUEUE"), 0);
        upkeep.look(&service);
    }
    upkeep.life_ended();
    eprintln!("crash_devices: {killed} kills, {fleets} fleets, {:?}, {:?}", begun.elapsed(), upkeep.sums);
    assert!(upkeep.sums.has_all(), "{:?}", upkeep.sums);
    // A few lives may be looked at while none waits.
    assert!(killed < 100 || upkeep.sums.body_files > 0, "{:?}", upkeep.sums);
    service.stop();
    assert_clean(&service.data(), service.folder());
}

/// One fleet of many devices, one of few and long messages; both have begun.
#[track_caller]
fn start(service: &Service, number: u64, seed: u64) -> [Running; 2] {
    let seed = seed.wrapping_add(number);
    let (devices, messages) = tools::count((200, 20), (40, 10));
    let (prefix, size) = (format!("DEV{number}X"), 2_000);
    let many = Fleet { devices, messages, size, unit: 50, faults: "cut=0.1,crash=0.01", prefix, seed };
    let (prefix, size, messages) = (format!("DEV{number}L"), 1_200_000, tools::count(8, 2));
    let long = Fleet { devices: 3, messages, size, unit: 2, faults: "", prefix, seed };
    [(many, "many"), (long, "long")].map(|(fleet, name)| {
        let accepted = accepted(service);
        let running = fleet.start(service, &format!("fleet-{name}-{number}"));
        // A fleet that finds no queue manager when it begins is right to give up.
        wait::until("messages of the fleet", PROGRESS, || (self::accepted(service) > accepted).then_some(()));
        running
    })
}

/// Messages that were taken in for devices since the data directory was made.
#[track_caller]
fn accepted(service: &Service) -> u64 {
    service.status()["area"]["ends"]["accepted"].as_u64().unwrap_or(0)
}

/// Waits until so many records more were written; false if the fleets have come to their end.
#[track_caller]
fn serves(service: &Service, fleets: &mut [Running], records: u64, upkeep: &mut Upkeep) -> bool {
    let wanted = upkeep.look(service) + records;
    wait::until("progress of the fleets", PROGRESS, || {
        if fleets.iter_mut().all(|(fleet, _)| !fleet.is_running()) {
            return Some(false);
        }
        (upkeep.look(service) >= wanted).then_some(true)
    })
}

/// Waits until the store has compacted and used again, or the fleets have come to their end.
#[track_caller]
fn lives_long(service: &Service, fleets: &mut [Running], upkeep: &mut Upkeep) {
    wait::until("upkeep of the store", PROGRESS, || {
        upkeep.look(service);
        let is_over = fleets.iter_mut().all(|(fleet, _)| !fleet.is_running());
        (is_over || upkeep.newest.has_all()).then_some(())
    });
}

/// Removes the index, puts back the copy that was made the last time, or puts something there that is none. Where all
/// entries have room in memory there is no index.
fn lose_index(service: &Service, rng: &mut StdRng) {
    let index = service.data().join(INDEX);
    let copy = service.folder().join("older-index");
    if index.exists() {
        if copy.exists() && rng.random_bool(0.5) {
            fs::remove_dir_all(&index).unwrap();
            fs::rename(&copy, &index).unwrap();
            return;
        }
        let _ = fs::remove_dir_all(&copy);
        copy_folder(&index, &copy);
        fs::remove_dir_all(&index).unwrap();
    }
    if rng.random_bool(0.5) {
        fs::create_dir_all(index.join("1")).unwrap();
        fs::write(index.join("1/db"), [0x5a; 3000]).unwrap();
    }
}
