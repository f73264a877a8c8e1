//! Protocol behaviour of both machines: a pair of them, or one of them and bytes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "in a test that is a failure like any other"
)]

mod bad_input;
mod mutated;
mod pair;
mod recorded;
mod shared;
mod split;
mod start;
mod timeouts;
mod verbs;
