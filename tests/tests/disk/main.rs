//! Disks that are full or fail, backups of a running service, and long bodies: the real service on real file systems.
//! Short by default; the numbers of a release with `MQE_TESTS=full`.

// Helpers of tests fail as loudly as the tests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails loudly")]

mod backup;
mod bodies;
mod failing;
mod full;
mod looks;
mod work;

/// The gateway under test.
const GATEWAY: &str = env!("CARGO_BIN_EXE_mqe-gateway-under-test");
/// The device simulator under test.
const DEVICE_SIM: &str = env!("CARGO_BIN_EXE_device-sim-under-test");
