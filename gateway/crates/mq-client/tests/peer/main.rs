//! The client against a queue manager played by a script. The peer was written from mq-wire.md and the pages of what was
//! observed, not from the code under test: it has readers, writers, code pages and tables of offsets of its own, so
//! that a mistake in the codecs shows. It asserts field by field what the client sends, and answers as a queue manager
//! of any level, byte order and code page may, or badly, or not at all.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "in a test that is a failure like any other"
)]

mod answers;
mod asynchronous;
mod attributes;
mod bad_input;
mod coding;
mod conversation;
mod ends;
mod gets;
mod heartbeats;
mod layout;
mod open_close;
mod pair;
mod puts;
mod segment;
mod session;
mod setting;
mod splits;
mod starts;
mod structures;
mod units;
