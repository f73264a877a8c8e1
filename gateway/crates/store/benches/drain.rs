//! Draining: each body is read, then the messages of so many devices are confirmed in one batch, ten messages each, one
//! commit record a device.
//!
//! The floor is what `log` of the measurements does at its least: it reads each record from a file that holds them all,
//! verifies its checksum, and appends a record of 16 bytes for each (its number, its length, its checksum) in one write
//! and one fdatasync a batch, over the three kinds of file; what is where it knows without looking. It asserts nothing.
//!
//! `cargo bench -p store --bench drain [-- [--short] [--runs N] [--directory PATH]]`

#![expect(clippy::unwrap_used, reason = "a bench stops at the first surprise")]

mod rig;

use std::fs::File;
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Instant;

use rig::floor::{FloorFile, Mode};
use rig::{Args, Core};
use store::{Id, Position};

const BODY_BYTES: usize = 1024;
const DEVICE_MESSAGES: usize = 10;
const COMMIT_DEVICES: [usize; 2] = [32, 1];
const IN_FLIGHT: [u64; 2] = [1, 4];

/// A way of draining, and what its runs have given.
#[derive(Debug, Default)]
struct Row {
    rates: Vec<f64>,
    syncs: Vec<f64>,
    commit_ms: Vec<f64>,
}

fn main() {
    let Some(args) = Args::parse("drain") else { return };
    // Devices of a slice, for each number of devices a commit.
    let slices = args.pick([3200, 1500], [640, 150]);
    let devices = slices.iter().sum::<usize>() * IN_FLIGHT.len() * args.runs;
    println!(
        "{devices} devices with {DEVICE_MESSAGES} messages of {BODY_BYTES} bytes; times are of a commit"
    );
    let (mut core, _) = Core::open(&args.path("store"));
    let ids = core.load(devices * DEVICE_MESSAGES, devices, &rig::body(BODY_BYTES));
    let log = Log::create(&args.path("log"), devices * DEVICE_MESSAGES);
    let order = rig::shuffled(devices);
    let mut ours = order.iter().copied();
    let mut floors = Mode::ALL.map(|mode| FloorFile::create(&args.path(mode.name()), mode));
    let mut floor_rows: [[Row; 3]; 2] = Default::default();
    let mut rows: [[Row; 2]; 2] = Default::default();
    for run in 0..args.runs {
        for (kind, (together, slice)) in COMMIT_DEVICES.into_iter().zip(slices).enumerate() {
            let theirs = &order[run * slice..(run + 1) * slice];
            for (floor, row) in floors.iter_mut().zip(&mut floor_rows[kind]) {
                floor.renew();
                log.drain(theirs, devices, together, floor, row);
            }
            for (index, in_flight) in IN_FLIGHT.into_iter().enumerate() {
                let some: Vec<usize> = ours.by_ref().take(slice).collect();
                drain(&mut core, &ids, devices, &some, together, in_flight, &mut rows[kind][index]);
            }
        }
    }
    println!(
        "{:>7} {:>7} {:>10} {:>9} {:>7} {:>7} | {:>28} | {:>28} | {:>28}",
        "devices",
        "flying",
        "msg/s",
        "syncs/msg",
        "p50 ms",
        "p99 ms",
        "floor growing msg/s, ratio",
        "preallocated msg/s, ratio",
        "overwritten msg/s, ratio"
    );
    for (kind, together) in COMMIT_DEVICES.into_iter().enumerate() {
        for (in_flight, row) in IN_FLIGHT.into_iter().zip(&rows[kind]) {
            print!(
                "{together:>7} {in_flight:>7} {:>10.0} {:>9.5}",
                rig::median(&row.rates),
                rig::median(&row.syncs)
            );
            // With several on their way, a commit's own time says nothing.
            match row.commit_ms.as_slice() {
                [] => print!(" {:>7} {:>7}", "", ""),
                times => print!(" {:>7.2} {:>7.2}", rig::median(times), rig::percentile(times, 99)),
            }
            for floor in &floor_rows[kind] {
                print!(
                    " | {:>20.0}, {:>6.2}",
                    rig::median(&floor.rates),
                    rig::ratio(&row.rates, &floor.rates)
                );
            }
            println!();
        }
    }
    core.close();
}

fn drain(
    core: &mut Core,
    ids: &[Id],
    devices: usize,
    some: &[usize],
    together: usize,
    in_flight: u64,
    row: &mut Row,
) {
    let before = core.stat().syncs;
    let (begun, mut last) = (Instant::now(), Position::default());
    for group in some.chunks(together) {
        let commit_begun = Instant::now();
        let mine: Vec<Vec<Id>> = group
            .iter()
            .map(|device| (0..DEVICE_MESSAGES).map(|message| ids[message * devices + device]).collect())
            .collect();
        for id in mine.iter().flatten() {
            black_box(core.read(*id));
        }
        last = core.turn(|filling| mine.iter().for_each(|ids| filling.kill(ids)));
        core.wait(last, in_flight);
        if in_flight == 1 {
            row.commit_ms.push(commit_begun.elapsed().as_secs_f64() * 1e3);
        }
    }
    core.wait(last, 1);
    let messages = (some.len() * DEVICE_MESSAGES) as f64;
    row.rates.push(messages / begun.elapsed().as_secs_f64());
    row.syncs.push((core.stat().syncs - before) as f64 / messages);
}

/// The floor's file of messages: all of one length, each behind its checksum.
#[derive(Debug)]
struct Log {
    file: File,
}

const RECORD_BYTES: usize = 4 + rig::ENVELOPE_BYTES + BODY_BYTES;

impl Log {
    fn create(path: &Path, messages: usize) -> Self {
        let file = File::options().create(true).truncate(true).read(true).write(true).open(path).unwrap();
        let mut record = vec![b'b'; RECORD_BYTES];
        let checksum = crc32fast::hash(&record[4..]);
        record[..4].copy_from_slice(&checksum.to_le_bytes());
        let piece = record.repeat(1000);
        let mut left = messages * RECORD_BYTES;
        while left > 0 {
            let part = &piece[..left.min(piece.len())];
            file.write_all_at(part, (messages * RECORD_BYTES - left) as u64).unwrap();
            left -= part.len();
        }
        file.sync_all().unwrap();
        Self { file }
    }

    fn drain(&self, some: &[usize], devices: usize, together: usize, floor: &mut FloorFile, row: &mut Row) {
        let begun = Instant::now();
        let mut acknowledgements = Vec::new();
        for group in some.chunks(together) {
            acknowledgements.clear();
            for number in
                group.iter().flat_map(|device| (0..DEVICE_MESSAGES).map(move |m| m * devices + device))
            {
                let mut record = vec![0; RECORD_BYTES];
                self.file.read_exact_at(&mut record, (number * RECORD_BYTES) as u64).unwrap();
                assert_eq!(record[..4], crc32fast::hash(&record[4..]).to_le_bytes());
                black_box(&record);
                let begin = acknowledgements.len();
                acknowledgements.extend_from_slice(&(number as u64).to_le_bytes());
                acknowledgements.extend_from_slice(&8_u32.to_le_bytes());
                let checksum = crc32fast::hash(&acknowledgements[begin..]);
                acknowledgements.extend_from_slice(&checksum.to_le_bytes());
            }
            floor.append(&acknowledgements);
        }
        row.rates.push((some.len() * DEVICE_MESSAGES) as f64 / begun.elapsed().as_secs_f64());
    }
}
