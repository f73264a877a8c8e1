//! `kill -9` at random moments, again and again, and a ledger that must be exact afterwards. Short by default; the
//! numbers of a release with `MQE_TESTS=full`.

// Helpers of tests fail as loudly as the tests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails loudly")]

mod cleared;
mod cuts;
mod devices;
mod fleet;
mod folders;
mod index;
mod mq;
mod old_work;
mod remote;
mod stops;
mod world;

/// Segments as small as they may be: then there are many.
const CONFIG: &str = "[store]\nsegment_bytes = 1048576\n";
/// The gateway under test.
const GATEWAY: &str = env!("CARGO_BIN_EXE_mqe-gateway-under-test");
/// The device simulator under test.
const DEVICE_SIM: &str = env!("CARGO_BIN_EXE_device-sim-under-test");
