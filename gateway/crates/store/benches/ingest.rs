//! Durable ingest of messages, index included, against a bare loop of write and fdatasync of the same bytes over the
//! three kinds of file, in turns in the same run. Each batch sets a keyed value beside its messages, as the put of a
//! device sets its mark, so that sled has its work too. The store's own segments are new here: its kind of file is
//! `preallocated`. It asserts nothing.
//!
//! `cargo bench -p store --bench ingest [-- [--short] [--runs N] [--directory PATH]]`

#![expect(clippy::unwrap_used, reason = "a bench stops at the first surprise")]

mod rig;

use std::time::{Duration, Instant};

use rig::floor::{FloorFile, Mode};
use rig::{Args, Core};
use store::{KeyedChange, Position};

const BODY_BYTES: [usize; 3] = [100, 1024, 16 * 1024];
const BATCH_MESSAGES: [usize; 3] = [1, 32, 256];
/// Batches on their way before the producer waits.
const IN_FLIGHT: [u64; 2] = [1, 4];
const OWNERS: u64 = 10_000;

fn main() {
    let Some(args) = Args::parse("ingest") else { return };
    let slice = Duration::from_millis(args.pick(250, 60));
    println!("body and {} bytes of envelope; ratio is ours / floor of the same run", rig::ENVELOPE_BYTES);
    println!(
        "{:>6} {:>6} {:>7} {:>10} {:>7} {:>9} | {:>28} | {:>28} | {:>28}",
        "body",
        "batch",
        "flying",
        "msg/s",
        "MB/s",
        "syncs/msg",
        "floor growing msg/s, ratio",
        "preallocated msg/s, ratio",
        "overwritten msg/s, ratio"
    );
    for body_bytes in BODY_BYTES {
        for batch_messages in BATCH_MESSAGES {
            cell(&args, slice, body_bytes, batch_messages);
        }
    }
}

fn cell(args: &Args, slice: Duration, body_bytes: usize, batch_messages: usize) {
    let mut floors = Mode::ALL.map(|mode| FloorFile::create(&args.path(mode.name()), mode));
    let mut floor_rates = [const { Vec::new() }; Mode::ALL.len()];
    let (mut rates, mut syncs) = ([const { Vec::new() }; 2], [const { Vec::new() }; 2]);
    let (mut core, _) = Core::open(&args.path("store"));
    let bytes = vec![b'b'; batch_messages * (rig::ENVELOPE_BYTES + body_bytes)];
    let body = rig::body(body_bytes);
    for _ in 0..args.runs {
        for (floor, rates) in floors.iter_mut().zip(&mut floor_rates) {
            floor.renew();
            let (begun, mut messages) = (Instant::now(), 0);
            while begun.elapsed() < slice {
                floor.append(&bytes);
                messages += batch_messages;
            }
            rates.push(messages as f64 / begun.elapsed().as_secs_f64());
        }
        for (index, in_flight) in IN_FLIGHT.into_iter().enumerate() {
            let before = core.stat().syncs;
            let (begun, mut messages, mut last) = (Instant::now(), 0, Position::default());
            while begun.elapsed() < slice {
                last = core.turn(|filling| {
                    for number in messages..messages + batch_messages {
                        filling.message(number as u64 % OWNERS, &body);
                    }
                    filling.batch.keyed(None, mark(messages as u64));
                });
                messages += batch_messages;
                core.wait(last, in_flight);
            }
            core.wait(last, 1);
            rates[index].push(messages as f64 / begun.elapsed().as_secs_f64());
            syncs[index].push((core.stat().syncs - before) as f64 / messages as f64);
        }
    }
    core.close();
    std::fs::remove_dir_all(args.path("store")).unwrap();
    for (index, in_flight) in IN_FLIGHT.into_iter().enumerate() {
        let rate = rig::median(&rates[index]);
        print!(
            "{body_bytes:>6} {batch_messages:>6} {in_flight:>7} {rate:>10.0} {:>7.1} {:>9.5}",
            rate * (body_bytes + rig::ENVELOPE_BYTES) as f64 / 1e6,
            rig::median(&syncs[index])
        );
        for floor in &floor_rates {
            print!(" | {:>20.0}, {:>6.2}", rig::median(floor), rig::ratio(&rates[index], floor));
        }
        println!();
    }
}

/// What a device's put sets beside.
fn mark(number: u64) -> KeyedChange {
    let key = [b"mark/".as_slice(), &(number % OWNERS).to_be_bytes()].concat();
    KeyedChange { key, value: Some(number.to_le_bytes().repeat(2).into()) }
}
