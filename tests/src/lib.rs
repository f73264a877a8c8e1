//! End-to-end, crash, interoperability and tidy tests; benches that need several parts. The library holds what the
//! tests share; what is tested is in `tests/`.
//!
//! By default the tests are short enough for `cargo test --workspace`; with `MQE_TESTS=full` they run the numbers that
//! a release is judged by. `MQE_SEED=N` repeats a run that printed `seed N`; with `MQE_KEEP` a failed one leaves its folder.

// What tests share fails as loudly as they do themselves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests fail loudly")]

pub mod cuts;
pub mod delay;
pub mod device;
pub mod disk;
pub mod frames;
pub mod java;
pub mod ledger;
pub mod mq;
pub mod pcap;
pub mod ping;
pub mod process;
pub mod relay;
pub mod remote;
pub mod seed;
pub mod service;
pub mod tidy;
pub mod tools;
pub mod traffic;
pub mod wait;
