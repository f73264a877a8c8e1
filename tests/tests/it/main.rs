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
mod outbox;
mod remote;
mod start_errors;

/// The gateway under test.
const GATEWAY: &str = env!("CARGO_BIN_EXE_mqe-gateway-under-test");
/// The device simulator under test.
const DEVICE_SIM: &str = env!("CARGO_BIN_EXE_device-sim-under-test");

/// A command of an operator against a service; its output.
#[track_caller]
fn tool(service: &integration_tests::service::Service, args: &[&str]) -> String {
    let mut command = std::process::Command::new(GATEWAY);
    command.args(args).arg("--data").arg(service.data()).current_dir(service.folder());
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{args:?}: {text}\n{}", String::from_utf8_lossy(&output.stderr));
    text
}
