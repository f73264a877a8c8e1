//! A fleet in both directions while the service is killed under it. Before every second start the derived index is
//! gone, or is an older copy: the journal is the truth.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use integration_tests::process::Process;
use integration_tests::seed::Seed;
use integration_tests::service::Service;
use integration_tests::{tools, wait};
use rand::RngExt;
use rand::rngs::StdRng;

use crate::GATEWAY;
use crate::fleet::{Fleet, exact};

/// The folder of the data directory that can be lost.
const INDEX: &str = "index";
/// A start serves something within this.
const PROGRESS: Duration = Duration::from_secs(60);
/// A fleet that is not disturbed any more comes to its end.
const END: Duration = Duration::from_secs(300);

#[test]
fn every_message_once_in_both_directions_through_kills() {
    let seed = Seed::new("crash_devices");
    let mut rng = seed.rng();
    let kills: u32 = tools::count(200, 5);
    let mut service = Service::start(GATEWAY);
    let (mut killed, mut fleets) = (0, 0);
    let begun = Instant::now();
    // A fleet that is through before the last kill is followed by another one over the same data.
    while killed < kills {
        fleets += 1;
        let (devices, messages) = tools::count((200, 20), (40, 10));
        let (prefix, seed) = (format!("DEV{fleets}X"), seed.number.wrapping_add(fleets));
        let fleet = Fleet { devices, messages, faults: "cut=0.1,crash=0.01", prefix, seed };
        let accepted = accepted(&service);
        let (mut process, report) = fleet.start(&service, &format!("fleet-{fleets}"));
        // A fleet that finds no queue manager when it begins is right to give up.
        wait::until("messages of the fleet", PROGRESS, || {
            (self::accepted(&service) > accepted).then_some(())
        });
        while killed < kills && serves(&service, &mut process, rng.random_range(20..400)) {
            wait::pause(Duration::from_micros(rng.random_range(0..20_000)));
            service.kill();
            killed += 1;
            if killed.is_multiple_of(2) {
                lose_index(&service, &mut rng);
            }
            service.restart();
        }
        exact(process, &report, END);
        let status = service.status();
        assert_eq!(status["area"]["messages"], 0, "{status:#}");
        assert_eq!(service.depth("DEV.DEAD.LETTER.QUEUE"), 0);
    }
    eprintln!("crash_devices: {killed} kills, {fleets} fleets, {:?}", begun.elapsed());
}

/// Messages that were taken in for devices since the data directory was made.
#[track_caller]
fn accepted(service: &Service) -> u64 {
    service.status()["area"]["ends"]["accepted"].as_u64().unwrap_or(0)
}

/// Waits until so many records more were written; false if the fleet has come to its end.
#[track_caller]
fn serves(service: &Service, fleet: &mut Process, records: u64) -> bool {
    let written = || service.status()["store"]["records"].as_u64().unwrap();
    let wanted = written() + records;
    wait::until("progress of the fleet", PROGRESS, || {
        if !fleet.is_running() {
            return Some(false);
        }
        (written() >= wanted).then_some(true)
    })
}

/// Removes the index, or puts back the copy that was made the last time.
fn lose_index(service: &Service, rng: &mut StdRng) {
    let index = service.data().join(INDEX);
    let copy = service.folder().join("older-index");
    assert!(index.exists(), "the service has made no index at {}", index.display());
    if copy.exists() && rng.random() {
        fs::remove_dir_all(&index).unwrap();
        fs::rename(&copy, &index).unwrap();
        return;
    }
    let _ = fs::remove_dir_all(&copy);
    copy_folder(&index, &copy);
    fs::remove_dir_all(&index).unwrap();
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
