//! The product as its users have it: processes, real sockets, a data directory. One program for all of these tests, as
//! each one links the whole gateway.

// Helpers of tests fail as loudly as the tests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails loudly")]

mod acceptance;
mod addressing;
mod bad_calls;
mod bad_input;
mod damaged;
mod dead_letters;
mod defaults;
mod graceful_stop;
mod interop;
mod mqi;
mod mqsc_scripts;
mod operating;
mod outbox;
mod remote;
mod start_errors;

use std::process::{Command, Output};

use integration_tests::service::Service;

/// The gateway under test.
const GATEWAY: &str = env!("CARGO_BIN_EXE_mqe-gateway-under-test");
/// The device simulator under test.
const DEVICE_SIM: &str = env!("CARGO_BIN_EXE_device-sim-under-test");

/// A command of an operator against a service; its output.
#[track_caller]
fn tool(service: &Service, args: &[&str]) -> String {
    let output = command(service, args);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{args:?}: {text}\n{}", String::from_utf8_lossy(&output.stderr));
    text
}

/// One that is refused; why.
#[track_caller]
fn refused(service: &Service, args: &[&str]) -> String {
    let output = command(service, args);
    assert_eq!(output.status.code(), Some(1), "{args:?}: {}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr).unwrap()
}

fn command(service: &Service, args: &[&str]) -> Output {
    let mut command = Command::new(GATEWAY);
    command.args(args).arg("--data").arg(service.data()).current_dir(service.folder());
    command.output().unwrap()
}
