//! How long a start takes, from the call to the first body: 1,000,000 messages of 256 bytes for 100,000 owners, after
//! the process had ended without a word or in order; with nothing else in the store's past, or with ten times as much
//! stored and drained before. Each run opens a copy of its own; files are in the page cache. It asserts nothing.
//!
//! `cargo bench -p store --bench restart [-- [--short] [--runs N] [--directory PATH]]`

#![expect(clippy::unwrap_used, reason = "a bench stops at the first surprise")]

mod rig;

use std::path::Path;
use std::time::Instant;

use rig::{Args, Core};

const BODY_BYTES: usize = 256;
const TIMES_BEFORE: usize = 10;

const KINDS: [(&str, bool, bool); 4] = [
    ("killed", false, false),
    ("killed, ten times as much drained before", true, false),
    ("closed", false, true),
    ("closed, ten times as much drained before", true, true),
];

fn main() {
    let Some(args) = Args::parse("restart") else { return };
    let (messages, owners) = args.pick((1_000_000, 100_000), (100_000, 10_000));
    println!("{messages} messages of {BODY_BYTES} bytes, {owners} owners");
    for (number, (_, drained, closed)) in KINDS.into_iter().enumerate() {
        make(&args.path(&number.to_string()), messages, owners, drained, closed);
    }
    let (mut opens, mut firsts) = ([const { Vec::new() }; 4], [const { Vec::new() }; 4]);
    for _ in 0..args.runs {
        for number in 0..KINDS.len() {
            let copy = args.path("copy");
            copy_all(&args.path(&number.to_string()), &copy);
            let begun = Instant::now();
            let (core, recovered) = Core::open(&copy);
            opens[number].push(begun.elapsed().as_secs_f64());
            let first = recovered.messages.first().unwrap();
            assert_eq!(core.store.body(first.id, first.place).read().unwrap().body.len(), BODY_BYTES);
            firsts[number].push(begun.elapsed().as_secs_f64());
            assert_eq!(recovered.messages.len(), messages);
            drop(core);
            std::fs::remove_dir_all(&copy).unwrap();
        }
    }
    println!("{:<42} {:>9} {:>12} {:>7} {:>9}", "", "open s", "first body s", "ratio", "disk MiB");
    for (number, (name, ..)) in KINDS.into_iter().enumerate() {
        println!(
            "{name:<42} {:>9.3} {:>12.3} {:>7.2} {:>9.1}",
            rig::median(&opens[number]),
            rig::median(&firsts[number]),
            rig::ratio(&firsts[number], &firsts[0]),
            rig::disk_bytes(&args.path(&number.to_string())) as f64 / (1 << 20) as f64
        );
    }
}

fn make(directory: &Path, messages: usize, owners: usize, drained: bool, closed: bool) {
    let (mut core, _) = Core::open(directory);
    let body = rig::body(BODY_BYTES);
    if drained {
        for _ in 0..TIMES_BEFORE {
            let ids = core.load(messages, owners, &body);
            core.kill_all(&ids);
        }
    }
    core.load(messages, owners, &body);
    if closed {
        core.close();
    }
}

/// Copies a directory, and waits until the disk has it: what is written back later would disturb.
fn copy_all(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.metadata().unwrap().is_dir() {
            copy_all(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), &target).unwrap();
            std::fs::File::open(&target).unwrap().sync_all().unwrap();
        }
    }
}
