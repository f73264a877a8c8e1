//! Starts that cannot be: one clear line that says what to do, exit status 1 for what failed and 2 for wrong usage.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use integration_tests::process::{Finished, Process, folder};
use integration_tests::service::{STOP, Service, free_address};
use pretty_assertions::assert_eq;

use crate::GATEWAY;

#[track_caller]
fn run(folder: &Path, args: &[&str]) -> Finished {
    let mut command = Command::new(GATEWAY);
    command.args(args).current_dir(folder);
    // A log of its own for each, so that what it said is what is read.
    let name = format!("run-{}", fs::read_dir(folder).unwrap().count());
    Process::run(&name, command, folder, STOP)
}

/// The start fails with this status; its last line, the one for the person who started it, has all these parts.
#[track_caller]
fn refused(ended: &Finished, status: i32, parts: &[&str]) {
    assert_eq!(ended.status.code(), Some(status), "{}", ended.stderr);
    assert_eq!(ended.stdout, "", "nothing is for standard output");
    let errors: Vec<&str> = ended.stderr.lines().filter(|line| line.starts_with("mqe-gateway: ")).collect();
    assert_eq!(errors.len(), 1, "one line says it:\n{}", ended.stderr);
    for part in parts {
        assert!(errors[0].contains(part), "{part:?} is not in: {}", errors[0]);
    }
    assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
}

#[test]
fn a_second_process_on_the_same_data() {
    let service = Service::start(GATEWAY);
    let data = service.data();
    let addresses =
        ["--listen-mq", "127.0.0.1:0", "--listen-devices", "127.0.0.1:0", "--listen-admin", "127.0.0.1:0"];
    let args = [&["run", "--data", data.to_str().unwrap()][..], &addresses].concat();
    let ended = run(service.folder(), &args);
    refused(&ended, 1, &[data.to_str().unwrap(), "another"]);
    // The first one does not notice.
    assert_eq!(service.get("/readyz").0, 200);
}

#[test]
fn a_directory_that_cannot_be_written() {
    let folder = folder();
    fs::write(folder.path().join("file"), "not a folder").unwrap();
    for data in ["file/data", "/proc/mqe-data"] {
        let ended = run(folder.path(), &["run", "--data", data, "--listen-mq", "127.0.0.1:0"]);
        refused(&ended, 1, &[data]);
    }
}

#[test]
fn a_port_in_use() {
    let folder = folder();
    for option in ["--listen-mq", "--listen-devices", "--listen-admin"] {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap().to_string();
        let mut args = vec!["run", "--data", "data"];
        let free = "127.0.0.1:0";
        for each in ["--listen-mq", "--listen-devices", "--listen-admin"] {
            args.extend([each, if each == option { address.as_str() } else { free }]);
        }
        refused(&run(folder.path(), &args), 1, &[&address, option]);
    }
}

#[test]
fn a_configuration_that_cannot_be_read() {
    let folder = folder();
    let check = |config: &str, status: i32, parts: &[&str]| {
        fs::write(folder.path().join("mqe-gateway.toml"), config).unwrap();
        refused(&run(folder.path(), &["run", "--data", "data"]), status, parts);
        refused_by_check(&run(folder.path(), &["check"]), parts);
        assert!(!folder.path().join("data").exists(), "a start that was refused left something behind");
    };
    check("[queue_manager]\nname = \"QM1\n", 1, &["mqe-gateway.toml:2:"]);
    check("[devises]\n", 1, &["mqe-gateway.toml:1:", "devises", "devices"]);
    check("[devices]\nheartbeat = 5\n", 1, &["mqe-gateway.toml:2:1", "heartbeat_seconds"]);
    check(
        "[limits]\ngrace_seconds = \"long\"\n",
        1,
        &["mqe-gateway.toml:2:", "grace_seconds", "whole number"],
    );
    refused(&run(folder.path(), &["run", "--config", "missing.toml"]), 1, &["missing.toml"]);
}

/// `check` finds the same.
#[track_caller]
fn refused_by_check(ended: &Finished, parts: &[&str]) {
    assert_eq!(ended.status.code(), Some(1), "{}", ended.stderr);
    for part in parts {
        assert!(ended.stderr.contains(part), "{part:?} is not in: {}", ended.stderr);
    }
}

#[test]
fn a_script_that_cannot_be_applied() {
    let service = Service::prepare(GATEWAY);
    let folder = service.folder();
    fs::write(folder.join("broken.mqsc"), "DEFINE QLOCAL(A) MAXDEPTH(many)\n").unwrap();
    let start = |script: &str| {
        let mut command = service.command();
        command.arg("--mqsc").arg(script);
        Process::run(&format!("run-{script}"), command, folder, STOP)
    };
    let broken = start("broken.mqsc");
    assert_eq!(broken.status.code(), Some(1), "{}", broken.stderr);
    assert!(broken.stderr.contains("broken.mqsc:1:"), "{}", broken.stderr);
    refused(&start("missing.mqsc"), 1, &["missing.mqsc"]);
    let checked = run(folder, &["check", "--mqsc", "broken.mqsc", "--mqsc", "missing.mqsc"]);
    refused_by_check(&checked, &["broken.mqsc:1:", "missing.mqsc"]);
}

#[test]
fn a_listener_that_others_can_reach() {
    let folder = folder();
    for option in ["--listen-mq", "--listen-devices", "--listen-admin"] {
        let ended = run(folder.path(), &["run", "--data", "data", option, "0.0.0.0:0"]);
        refused(&ended, 1, &["0.0.0.0:0", "--insecure"]);
    }
    assert!(!folder.path().join("data").exists());
}

#[test]
fn wrong_usage() {
    let folder = folder();
    let address = free_address().to_string();
    for args in [
        vec!["run", "--listen-mq", "somewhere"],
        vec!["run", "--no-such-option"],
        vec!["walk"],
        vec!["run", "--listen-mq", &address, "extra"],
    ] {
        let ended = run(folder.path(), &args);
        assert_eq!(ended.status.code(), Some(2), "{args:?}: {}", ended.stderr);
        assert_eq!(ended.stdout, "");
        assert!(
            ended.stderr.contains("Usage") || ended.stderr.contains("--help"),
            "{args:?}: {}",
            ended.stderr
        );
    }
}
