//! Whether space comes back. Two parts:
//!
//! 1. 1 GiB of messages of 1 KiB for 10,000 owners is stored and drained; then the core does what one does that nobody
//!    asks anything, and the bytes on disk are printed as time goes on.
//! 2. 1 GiB (10 with `--long`) goes through the store as fast as it can, each message dying soon, but for one of each
//!    segment that never does; compaction has to keep the disk small meanwhile, and its share of the writes is shown.
//!
//! Bytes on disk are those that the files take, all of them: segments, those kept to be written again, the reserve, the
//! checkpoint, sled. It asserts nothing.
//!
//! `cargo bench -p store --bench space [-- [--short] [--long] [--runs N] [--directory PATH]]`; each part is done once.

#![expect(clippy::unwrap_used, reason = "a bench stops at the first surprise")]

mod rig;

use std::collections::VecDeque;
use std::path::Path;
use std::time::{Duration, Instant};

use rig::{Args, Core};
use store::{Id, Stat};

const BODY_BYTES: usize = 1024;
const OWNERS: usize = 10_000;
const SEGMENT_BYTES: f64 = (64 << 20) as f64;
/// Messages that live in the second part, beside those that never die: what waits for devices that are there.
const WINDOW_MESSAGES: usize = 32_000;
const BATCH_MESSAGES: usize = 256;

fn main() {
    let Some(args) = Args::parse("space") else { return };
    come_back(&args);
    println!();
    go_through(&args, if args.long { 10 << 30 } else { args.pick(1 << 30, 512 << 20) });
}

fn come_back(args: &Args) {
    let bytes: usize = args.pick(1 << 30, 128 << 20);
    let seconds: &[u64] = args.pick(&[0, 1, 2, 5, 10, 15, 20, 30, 45, 60], &[0, 1, 5, 10, 15]);
    let directory = args.path("back");
    let (mut core, _) = Core::open(&directory);
    let empty = rig::disk_bytes(&directory);
    let begun = Instant::now();
    let ids = core.load(bytes / BODY_BYTES, OWNERS, &rig::body(BODY_BYTES));
    let (stored, stored_s) = (rig::disk_bytes(&directory), begun.elapsed().as_secs_f64());
    let live = core.stat().live_bytes;
    let begun = Instant::now();
    core.kill_all(&ids);
    println!(
        "1. {} MiB of bodies stored in {stored_s:.1} s and drained in {:.1} s, then at rest",
        bytes >> 20,
        { begun.elapsed().as_secs_f64() }
    );
    println!("{:>22} {:>10} {:>14} {:>9}", "", "disk MiB", "of the bodies", "segments");
    let row = |when: &str, disk: u64, stat: &Stat| {
        println!(
            "{when:>22} {:>10.1} {:>13.1}% {:>9}",
            disk as f64 / (1 << 20) as f64,
            disk as f64 * 100.0 / bytes as f64,
            stat.segments
        );
    };
    row("empty", empty, &Stat::default());
    row("stored", stored, &core.stat());
    println!("{:>22} {:>10.2} of the live records", "", stored as f64 / live as f64);
    let begun = Instant::now();
    for second in seconds {
        core.rest((begun + Duration::from_secs(*second)).saturating_duration_since(Instant::now()));
        row(&format!("{second} s after the drain"), rig::disk_bytes(&directory), &core.stat());
    }
    print_files(&directory);
    core.close();
    std::fs::remove_dir_all(&directory).unwrap();
}

/// What the rest is made of.
fn print_files(directory: &Path) {
    let mut journal: Vec<(String, u64)> = Vec::new();
    for entry in std::fs::read_dir(directory.join("journal")).unwrap().flatten() {
        journal.push((entry.file_name().to_string_lossy().into_owned(), entry.metadata().unwrap().len()));
    }
    journal.sort();
    let files: Vec<String> =
        journal.iter().map(|(name, bytes)| format!("{name} {} KiB", bytes >> 10)).collect();
    println!("   left: {}; index {} KiB", files.join(", "), rig::disk_bytes(&directory.join("index")) >> 10);
}

/// The highest and the last of what was seen.
#[derive(Debug, Default)]
struct Seen {
    disk_max: u64,
    /// Disk above 1.15 times what lives, in segments.
    beyond_max: f64,
    beyond: Vec<f64>,
}

impl Seen {
    fn look(&mut self, directory: &Path, stat: &Stat) -> (u64, f64) {
        let disk = rig::disk_bytes(directory);
        let beyond = (disk as f64 - 1.15 * stat.live_bytes as f64) / SEGMENT_BYTES;
        self.disk_max = self.disk_max.max(disk);
        self.beyond_max = self.beyond_max.max(beyond);
        self.beyond.push(beyond);
        (disk, beyond)
    }
}

fn go_through(args: &Args, bytes: u64) {
    const LOOK_EVERY: Duration = Duration::from_millis(250);
    let directory = args.path("through");
    let (mut core, _) = Core::open(&directory);
    let body = rig::body(BODY_BYTES);
    let mut window: VecDeque<Id> = VecDeque::new();
    let (mut segment, mut stay) = (0, 0_u64);
    let mut seen = Seen::default();
    let (begun, mut looked, mut stored) = (Instant::now(), Instant::now(), 0_u64);
    while stored * (BODY_BYTES as u64) < bytes {
        let die: Vec<Id> = window.drain(..window.len().saturating_sub(WINDOW_MESSAGES)).collect();
        let last = core.turn(|filling| {
            for _ in 0..BATCH_MESSAGES {
                let new = filling.message(stored % OWNERS as u64, &body);
                stored += 1;
                // The first of each segment, wherever that is by now.
                if new.place.segment == segment {
                    window.push_back(new.id);
                } else {
                    (segment, stay) = (new.place.segment, stay + 1);
                }
            }
            if !die.is_empty() {
                filling.kill(&die);
            }
        });
        core.wait(last, 2);
        if looked.elapsed() >= LOOK_EVERY {
            looked = Instant::now();
            seen.look(&directory, &core.stat());
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    println!(
        "2. {:.1} GiB of bodies through the store in {seconds:.1} s ({:.0} msg/s), {WINDOW_MESSAGES} messages live, \
         and {stay} that never die",
        bytes as f64 / (1 << 30) as f64,
        stored as f64 / seconds
    );
    let figures = |when: &str, seen: &mut Seen, core: &Core| {
        let stat = core.stat();
        let (disk, beyond) = seen.look(&directory, &stat);
        println!(
            "{when:>22}: disk {:.1} MiB, live {:.1} MiB, beyond 1.15 x live: {beyond:.2} segments",
            disk as f64 / (1 << 20) as f64,
            stat.live_bytes as f64 / (1 << 20) as f64
        );
    };
    figures("at the end", &mut seen, &core);
    println!(
        "{:>22}: disk {:.1} MiB, beyond 1.15 x live: {:.2} segments at most, {:.2} in the middle",
        "meanwhile",
        seen.disk_max as f64 / (1 << 20) as f64,
        seen.beyond_max,
        rig::median(&seen.beyond)
    );
    let stat = core.stat();
    println!(
        "{:>22}: {:.2}% of the bytes written ({:.1} MiB) by compaction, {} segments emptied by it, {} written again, \
         {} checkpoints",
        "writes",
        stat.moved_bytes as f64 * 100.0 / stat.written_bytes as f64,
        stat.moved_bytes as f64 / (1 << 20) as f64,
        stat.compacted,
        stat.recycled,
        stat.checkpoints
    );
    for seconds in [args.pick(5, 2), args.pick(15, 2), args.pick(40, 10)] {
        core.rest(Duration::from_secs(seconds));
        figures(&format!("{seconds} s of rest later"), &mut seen, &core);
    }
    print_files(&directory);
    core.close();
}
