//! The calls of an application against the queue manager in a process of its own, with figures of the same run to
//! compare with. Prints figures and ratios; it asserts nothing.
//!
//! | part | what is compared |
//! |---|---|
//! | `round-trip` | one MQPUT and one MQGET, non-persistent, by mq-client, with a bare TCP ping-pong of the same bytes |
//! | `java` | the same by IBM's classes for Java, with a ping-pong in Java |
//! | `many` | persistent puts through 50 connections, with ping-pongs of the same bytes over 50 connections |
//! | `long` | calls on a queue of 1,000,000 messages, with the same on one of 1,000 |
//! | `idle` | memory and threads of 1,000 connections with an open queue |
//! | `remote` | a whole put (open, put, close) with 20,000 definitions of remote queues, with 10 |
//!
//! `cargo bench -p integration-tests --bench mqi [-- [--short] [PART]...]`: all parts without a name; `--short` has a
//! tenth of the messages. The data directory is in the folder for temporary files (`TMPDIR`).

#![expect(clippy::unwrap_used, clippy::panic, reason = "a bench stops at the first surprise")]

mod idle;
mod long;
mod many;
mod remote;
mod round_trip;

use std::time::Duration;

use integration_tests::service::Service;

/// What every part measures in.
const SLICE: Duration = Duration::from_millis(300);

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let short = args.iter().any(|arg| arg == "--short");
    let parts: Vec<&str> = args.iter().map(String::as_str).filter(|arg| !arg.starts_with("--")).collect();
    let wanted = |part: &str| parts.is_empty() || parts.contains(&part);
    if wanted("round-trip") {
        round_trip::run();
    }
    if wanted("java") {
        round_trip::run_java();
    }
    if wanted("many") {
        many::run();
    }
    if wanted("long") {
        long::run(if short { 100_000 } else { 1_000_000 });
    }
    if wanted("idle") {
        idle::run(if short { 100 } else { 1_000 });
    }
    if wanted("remote") {
        remote::run(if short { 2_000 } else { 20_000 });
    }
}

/// The service with a script.
fn service(script: &str) -> Service {
    let service = Service::prepare(env!("CARGO_BIN_EXE_mqe-gateway-under-test"));
    let file = service.folder().join("bench.mqsc");
    std::fs::write(&file, script).unwrap();
    let mut service = service.with(&["--mqsc", &file.display().to_string()]);
    service.restart();
    service
}

/// The one in the middle.
fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
