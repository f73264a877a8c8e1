//! The device library over real sockets, against a gateway that is nothing but the protocol's other end and the
//! store-and-forward area in memory.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "in a test that is a failure like any other"
)]

mod conversation;
mod gateway;
