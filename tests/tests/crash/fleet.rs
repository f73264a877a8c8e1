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

/// A fleet under test: what `device-sim fleet` is told.
#[derive(Debug, Clone)]
pub(crate) struct Fleet {
    pub(crate) devices: u32,
    pub(crate) messages: u32,
    pub(crate) faults: &'static str,
    pub(crate) direction: &'static str,
    pub(crate) seed: u64,
}

impl Fleet {
    /// Starts it; the report is a file of the service's folder.
    pub(crate) fn start(&self, service: &Service, name: &str) -> (Process, PathBuf) {
        let report = service.folder().join(format!("{name}.json"));
        let mut command = Command::new(DEVICE_SIM);
        command.arg("fleet").arg("--gateway").arg(service.devices().to_string());
        command.args(["--mq", &service.server("DEV.APP.SVRCONN"), "--via", "GATE1", "--queues", "2"]);
        command.args(["--devices", &self.devices.to_string(), "--messages", &self.messages.to_string()]);
        command.args(["--size", "200", "--online", "0.5", "--direction", self.direction]);
        command.args(["--seed", &self.seed.to_string(), "--report"]).arg(&report);
        if !self.faults.is_empty() {
            command.args(["--faults", self.faults]);
        }
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
    let (devices, messages) = tools::count((2_000, 20), (50, 5));
    let service = Service::start(GATEWAY);
    let fleet = Fleet { devices, messages, faults: "0.1", direction: "both", seed: seed.number };
    let (process, report) = fleet.start(&service, "fleet");
    let report = exact(process, &report, tools::count(Duration::from_secs(400), Duration::from_secs(120)));
    let status = service.status();
    assert_eq!(status["area"]["messages"], 0, "{status:#}\n{report:#}");
    assert_eq!(service.depth("GATE1"), 0);
    assert_eq!(service.depth("DEV.DEAD.LETTER.QUEUE"), 0);
    let delivered = status["area"]["ends"]["delivered"].as_u64();
    assert_eq!(delivered, Some(u64::from(devices) * u64::from(messages)), "{status:#}");
}
