//! How long a put waits for the disk while the store does something else beside, against how long it waits when it does
//! nothing, in turns in the same run. One producer, messages of 1 KiB, one or 32 in a batch, each batch waits until it
//! is durable. What goes on beside:
//!
//! - compaction: segments of which every second message is dead are moved, as fast as the store does that by itself;
//! - checkpoints: 1,000,000 messages live, and a checkpoint is taken as soon as the one before is done;
//! - a backup: the same store, and another thread copies consistent points of it, one after the other;
//! - a purge: 1,000,000 messages die, a thousand in each turn.
//!
//! The times of a run are those of its slice; "touched" are the puts in whose turn something was added beside. It
//! asserts nothing.
//!
//! `cargo bench -p store --bench tail [-- [--short] [--runs N] [--directory PATH]]`

#![expect(clippy::unwrap_used, reason = "a bench stops at the first surprise")]

mod rig;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::Bytes;
use rig::{Args, Core};
use store::tools::Snapshot;
use store::{Id, SnapshotTicket};

const BODY_BYTES: usize = 1024;
const OWNERS: usize = 10_000;
const BATCH_MESSAGES: [usize; 2] = [1, 32];
/// Of what is in the way when it is many: small ones.
const MANY_BODY_BYTES: usize = 100;
const STEP_MESSAGES: usize = 1000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Load {
    Compaction,
    Checkpoints,
    Backup,
    Purge,
}

impl Load {
    const ALL: [Self; 4] = [Self::Compaction, Self::Checkpoints, Self::Backup, Self::Purge];

    fn name(self) -> &'static str {
        match self {
            Self::Compaction => "compaction",
            Self::Checkpoints => "checkpoints",
            Self::Backup => "backup",
            Self::Purge => "purge",
        }
    }
}

/// Milliseconds that puts have waited, slice by slice.
#[derive(Debug, Default)]
struct Waits {
    p50: Vec<f64>,
    p99: Vec<f64>,
    max: Vec<f64>,
    touched_p99: Vec<f64>,
    touched_percent: Vec<f64>,
}

impl Waits {
    fn add(&mut self, puts: &[(f64, bool)]) {
        let all: Vec<f64> = puts.iter().map(|put| put.0).collect();
        let touched: Vec<f64> = puts.iter().filter(|put| put.1).map(|put| put.0).collect();
        self.p50.push(rig::percentile(&all, 50));
        self.p99.push(rig::percentile(&all, 99));
        self.max.push(rig::percentile(&all, 100));
        self.touched_p99.push(rig::percentile(&touched, 99));
        self.touched_percent.push(touched.len() as f64 * 100.0 / puts.len() as f64);
    }
}

fn main() {
    let Some(args) = Args::parse("tail") else { return };
    println!(
        "{:<12} {:>5} | {:>22} | {:>30} | {:>9} {:>9} | {:>20} | did",
        "beside",
        "batch",
        "quiet ms p50, p99, max",
        "with it ms p50, p99, max",
        "p50 ratio",
        "p99 ratio",
        "touched, their p99"
    );
    for load in Load::ALL {
        for batch_messages in BATCH_MESSAGES {
            measure(&args, load, batch_messages);
        }
    }
}

fn measure(args: &Args, load: Load, batch_messages: usize) {
    let many = args.pick(1_000_000, 100_000);
    let directory = args.path(load.name());
    let (mut core, _) = Core::open(&directory);
    if matches!(load, Load::Checkpoints | Load::Backup) {
        core.load(many, OWNERS, &rig::body(MANY_BODY_BYTES));
    }
    let (mut quiet, mut busy) = (Waits::default(), Waits::default());
    let mut bench = Bench {
        core,
        body: rig::body(BODY_BYTES),
        batch_messages,
        slice: Duration::from_millis(args.pick(1000, 300)),
        directory: directory.clone(),
        target: args.path("target"),
        purged: Vec::new(),
    };
    let mut did = Vec::new();
    for run in 0..args.runs {
        bench.prepare(load, args.pick(256 << 20, 192 << 20), many);
        // Which of the two is first changes, so that nothing favours one.
        for quiet_now in [run % 2 == 0, run % 2 == 1] {
            bench.core.settle();
            if quiet_now {
                quiet.add(&bench.quiet());
            } else {
                let (puts, done) = bench.busy(load);
                busy.add(&puts);
                did.push(done);
            }
        }
    }
    let of = |waits: &Waits| [&waits.p50, &waits.p99, &waits.max].map(|values| rig::median(values));
    let ([p50, p99, max], [busy_p50, busy_p99, busy_max]) = (of(&quiet), of(&busy));
    let unit = match load {
        Load::Compaction => "MiB moved",
        Load::Checkpoints => "checkpoints",
        Load::Backup => "MiB copied",
        Load::Purge => "thousands purged",
    };
    println!(
        "{:<12} {batch_messages:>5} | {p50:>6.2}, {p99:>6.2}, {max:>6.2} | {busy_p50:>8.2}, {busy_p99:>8.2}, {busy_max:>10.2} | \
         {:>9.2} {:>9.2} | {:>10.1}%, {:>7.2} | {:.0} {unit} a slice",
        load.name(),
        rig::ratio(&busy.p50, &quiet.p50),
        rig::ratio(&busy.p99, &quiet.p99),
        rig::median(&busy.touched_percent),
        rig::median(&busy.touched_p99),
        rig::median(&did)
    );
    bench.core.close();
    std::fs::remove_dir_all(&directory).unwrap();
}

struct Bench {
    core: Core,
    body: Bytes,
    batch_messages: usize,
    slice: Duration,
    directory: PathBuf,
    target: PathBuf,
    /// What is left to be purged.
    purged: Vec<Id>,
}

impl Bench {
    /// Not measured: what the load needs.
    fn prepare(&mut self, load: Load, sparse_bytes: usize, many: usize) {
        match load {
            Load::Compaction => {
                let ids = self.core.load(sparse_bytes / BODY_BYTES, OWNERS, &self.body);
                let half: Vec<Id> = ids.into_iter().step_by(2).collect();
                self.core.kill_all(&half);
            }
            Load::Purge => self.purged = self.core.load(many, OWNERS, &rig::body(MANY_BODY_BYTES)),
            Load::Checkpoints | Load::Backup => {}
        }
    }

    /// Puts alone.
    fn quiet(&mut self) -> Vec<(f64, bool)> {
        let (begun, mut puts) = (Instant::now(), Vec::new());
        while begun.elapsed() < self.slice {
            let put = Instant::now();
            let last = self.core.bare_turn(|filling| {
                (0..self.batch_messages).for_each(|owner| _ = filling.message(owner as u64, &self.body));
            });
            self.core.wait(last, 1);
            puts.push((put.elapsed().as_secs_f64() * 1e3, false));
        }
        puts
    }

    /// Puts with something beside, and how much of that was done.
    fn busy(&mut self, load: Load) -> (Vec<(f64, bool)>, f64) {
        let (mut moved, mut checkpoints) = (self.core.stat().moved_bytes, self.core.stat().checkpoints);
        let copier = (load == Load::Backup).then(|| Copier::start(&self.directory, &self.target));
        let (moved_before, checkpoints_before) = (moved, checkpoints);
        let (begun, mut puts, mut purged) = (Instant::now(), Vec::new(), 0);
        if load == Load::Checkpoints {
            drop(self.core.store.snapshot());
        }
        loop {
            let in_time = begun.elapsed() < self.slice;
            // Purge and backup are measured to their ends.
            let goes_on = match (load, &copier) {
                (Load::Purge, _) => !self.purged.is_empty(),
                (_, Some(copier)) => in_time || copier.is_busy(),
                _ => in_time,
            };
            if !goes_on {
                break;
            }
            let put = Instant::now();
            if load == Load::Checkpoints {
                self.core.maintain();
            }
            let step: Vec<Id> = match load {
                Load::Purge => self.purged.split_off(self.purged.len().saturating_sub(STEP_MESSAGES)),
                _ => Vec::new(),
            };
            if let Some(copier) = copier.as_ref().filter(|_| in_time) {
                copier.give(&mut self.core);
            }
            let last = self.core.turn(|filling| {
                (0..self.batch_messages).for_each(|owner| _ = filling.message(owner as u64, &self.body));
                if !step.is_empty() {
                    filling.kill(&step);
                }
            });
            self.core.wait(last, 1);
            let waited = put.elapsed().as_secs_f64() * 1e3;
            // Not measured: what has happened.
            let stat = self.core.stat();
            let touched = match load {
                Load::Compaction => stat.moved_bytes > moved,
                _ => true,
            };
            puts.push((waited, touched));
            purged += step.len();
            if load == Load::Checkpoints && stat.checkpoints > checkpoints {
                drop(self.core.store.snapshot());
            }
            (moved, checkpoints) = (stat.moved_bytes, stat.checkpoints);
        }
        let did = match load {
            Load::Compaction => (moved - moved_before) as f64 / (1 << 20) as f64,
            Load::Checkpoints => (checkpoints - checkpoints_before) as f64,
            Load::Backup => copier.map(Copier::stop).unwrap_or_default() as f64 / (1 << 20) as f64,
            Load::Purge => purged as f64 / 1e3,
        };
        (puts, did)
    }
}

/// Copies points of a running store, one after the other.
struct Copier {
    tickets: Sender<SnapshotTicket>,
    busy: Arc<AtomicBool>,
    thread: JoinHandle<u64>,
}

impl Copier {
    fn start(directory: &Path, target: &Path) -> Self {
        let (tickets, queue) = channel::<SnapshotTicket>();
        let busy = Arc::new(AtomicBool::new(false));
        let (directory, target, done) = (directory.to_owned(), target.to_owned(), Arc::clone(&busy));
        let thread = std::thread::spawn(move || {
            let mut bytes = 0;
            for (number, ticket) in queue.iter().enumerate() {
                let point = Snapshot::of(ticket, &directory, 0).unwrap();
                bytes += point.copy_to(&target.join(number.to_string()), false).unwrap().bytes_copied;
                done.store(false, Ordering::Release);
            }
            // Removing would disturb too, and is no part of a backup.
            std::fs::remove_dir_all(&target).unwrap();
            bytes
        });
        Self { tickets, busy, thread }
    }

    fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Acquire)
    }

    /// One more point, if it is done with the one before.
    fn give(&self, core: &mut Core) {
        if !self.is_busy() {
            self.busy.store(true, Ordering::Release);
            self.tickets.send(core.store.snapshot()).unwrap();
            core.maintain();
        }
    }

    fn stop(self) -> u64 {
        drop(self.tickets);
        self.thread.join().unwrap()
    }
}
