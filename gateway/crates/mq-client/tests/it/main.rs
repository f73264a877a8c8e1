//! The client over loopback sockets, against a queue manager of a few lines.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "in a test that is a failure like any other"
)]

mod calls;
mod failures;
mod server;
