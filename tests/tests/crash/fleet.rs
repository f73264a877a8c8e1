//! `device-sim fleet`: many devices, faulty connections, and a ledger that is exact; and that the ledger would find it
//! if it were not.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use integration_tests::process::Process;
use integration_tests::seed::Seed;
use integration_tests::service::Service;
use integration_tests::tools;
use serde_json::Value;

use crate::{DEVICE_SIM, GATEWAY};

/// Queues of each device.
pub(crate) const QUEUES: u32 = 2;

/// A fleet under test: what `device-sim fleet` is told.
#[derive(Debug, Clone)]
pub(crate) struct Fleet {
    pub(crate) devices: u32,
    /// Messages of each queue and way.
    pub(crate) messages: u32,
    /// Bytes of a message.
    pub(crate) size: u32,
    /// Messages of a unit of work: one of many long ones would never end between two kills.
    pub(crate) unit: u32,
    pub(crate) faults: &'static str,
    /// What the names of its devices begin with: another fleet on the same data has other devices.
    pub(crate) prefix: String,
    pub(crate) seed: u64,
}

impl Fleet {
    /// Starts it; the report is a file of the service's folder.
    pub(crate) fn start(&self, service: &Service, name: &str) -> (Process, PathBuf) {
        self.start_between(service, service, name)
    }

    /// The same; its applications are at another queue manager than the gateway's.
    pub(crate) fn start_between(&self, service: &Service, mq: &Service, name: &str) -> (Process, PathBuf) {
        let report = service.folder().join(format!("{name}.json"));
        let mut command = Command::new(DEVICE_SIM);
        command.arg("fleet").arg("--gateway").arg(service.devices().to_string());
        command.args(["--mq", &mq.server("DEV.APP.SVRCONN"), "--via", "GATE1"]);
        command.args(["--queues", &QUEUES.to_string(), "--device-prefix", &self.prefix]);
        command.args(["--devices", &self.devices.to_string(), "--messages", &self.messages.to_string()]);
        command.args(["--size", &self.size.to_string(), "--unit", &self.unit.to_string()]);
        // The last look of one fleet takes longer than a life in which another one still makes records.
        command.args(["--online", "0.5", "--direction", "both", "--give-up", "300"]);
        command.args(["--seed", &self.seed.to_string(), "--report"]).arg(&report);
        command.args(["--faults", self.faults]);
        (Process::start(name, command, service.folder()), report)
    }
}

/// The report of a fleet that has ended, after it was found to be exact.
#[track_caller]
pub(crate) fn exact(fleet: Process, report: &Path, within: Duration) -> Value {
    let ended = fleet.wait(within);
    let report = std::fs::read_to_string(report).unwrap_or_default();
    assert!(ended.status.success(), "{}\n{}\n{report}", ended.stdout, ended.stderr);
    serde_json::from_str(&report).unwrap()
}

#[test]
fn a_fleet_with_faulty_connections_is_exact() {
    let seed = Seed::new("fleet");
    let (devices, messages) = tools::count((2_000, 10), (50, 3));
    let service = Service::start(GATEWAY);
    let prefix = "DEV".to_owned();
    let fleet =
        Fleet { devices, messages, size: 200, unit: 50, faults: "cut=0.1", prefix, seed: seed.number };
    let (process, report) = fleet.start(&service, "fleet");
    let report = exact(process, &report, tools::count(Duration::from_secs(400), Duration::from_secs(120)));
    let status = service.status();
    assert_eq!(status["area"]["messages"], 0, "{status:#}\n{report:#}");
    assert_eq!(service.depth("GATE1"), 0);
    assert_eq!(service.depth("DEV.DEAD.LETTER.QUEUE"), 0);
    let delivered = status["area"]["ends"]["delivered"].as_u64();
    assert_eq!(delivered, Some(u64::from(devices * QUEUES * messages)), "{status:#}");
}

#[test]
fn the_ledger_finds_what_was_lost_doubled_and_swapped() {
    let service = Service::start(GATEWAY);
    let mut command = Command::new(DEVICE_SIM);
    command.args(["fleet", "--self-test", "--devices", "5", "--messages", "5"]);
    command.arg("--gateway").arg(service.devices().to_string());
    command
        .args(["--mq", &service.server("DEV.APP.SVRCONN"), "--report", "self.json"])
        .current_dir(service.folder());
    let process = Process::start("self-test", command, service.folder());
    let report = exact(process, &service.folder().join("self.json"), Duration::from_secs(120));
    for kind in ["lost", "duplicated", "reordered"] {
        assert_eq!(report["down"][kind]["count"], 1, "{kind}: {report:#}");
    }
}
