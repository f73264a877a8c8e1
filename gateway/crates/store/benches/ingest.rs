//! Durable ingest of messages, against a bare loop of append and fdatasync over the same bytes, in the same directory
//! and the same run. Prints messages a second, the ratio, and syncs per message; it asserts nothing.
//!
//! `cargo bench -p store --bench ingest [-- DIRECTORY [SLICES]]`. A directory in memory proves nothing.

#![expect(clippy::unwrap_used, reason = "a bench stops at the first surprise")]

use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use store::{Journal, NewMessage, OpenOptions, OwnerId, Position, Store, StoreError, Watch};

const ENVELOPE_BYTES: usize = 64;
const BODY_BYTES: usize = 1024;
/// Batches handed over before the producer waits, as a core does while it gathers the next.
const IN_FLIGHT_MAX: u64 = 4;
const SLICE: Duration = Duration::from_millis(100);

#[derive(Debug, Default)]
struct Told {
    state: Mutex<(Position, Option<StoreError>)>,
    wake: Condvar,
}

impl Watch for Told {
    fn durable(&self, position: Position) {
        self.state.lock().unwrap().0 = position;
        self.wake.notify_one();
    }

    fn failed(&self, error: StoreError) {
        self.state.lock().unwrap().1 = Some(error);
        self.wake.notify_one();
    }
}

impl Told {
    fn wait(&self, until: impl Fn(Position) -> bool) {
        let mut state = self.state.lock().unwrap();
        while !until(state.0) {
            assert!(state.1.is_none(), "{:?}", state.1);
            state = self.wake.wait(state).unwrap();
        }
    }
}

/// What was done, in how long.
#[derive(Default)]
struct Figures {
    messages: u64,
    seconds: f64,
    syncs: u64,
}

impl Figures {
    fn add(&mut self, messages: u64, begin: Instant, syncs: u64) {
        self.messages += messages;
        self.seconds += begin.elapsed().as_secs_f64();
        self.syncs += syncs;
    }

    fn per_second(&self) -> f64 {
        self.messages as f64 / self.seconds
    }

    fn syncs_per_message(&self) -> f64 {
        self.syncs as f64 / self.messages as f64
    }
}

struct Ingest {
    told: Arc<Told>,
    store: Box<dyn Store>,
    begun: Instant,
    body: Bytes,
    envelope: Bytes,
    figures: Figures,
}

impl Ingest {
    fn new(directory: &Path) -> Self {
        let told = Arc::new(Told::default());
        let watch = Arc::clone(&told) as Arc<dyn Watch>;
        let (journal, _) = Journal::open(OpenOptions::new(directory.join("store"), watch)).unwrap();
        Self {
            told,
            store: Box::new(journal),
            begun: Instant::now(),
            body: Bytes::from(vec![b'b'; BODY_BYTES]),
            envelope: Bytes::from(vec![b'e'; ENVELOPE_BYTES]),
            figures: Figures::default(),
        }
    }

    fn slice(&mut self, batch_messages: u64, in_flight_max: u64) {
        let before = self.store.stat().syncs;
        let begin = Instant::now();
        let (mut messages, mut last) = (0u64, Position::default());
        while begin.elapsed() < SLICE {
            let mut batch = self.store.begin();
            for number in 0..batch_messages {
                batch.message(message(number, self.envelope.clone(), self.body.clone()));
            }
            messages += batch_messages;
            last = self.store.submit(batch);
            self.store.maintain(self.begun.elapsed().as_millis() as u64);
            let least = Position { batch: (last.batch + 1).saturating_sub(in_flight_max), ..last };
            self.told.wait(|durable| durable >= least);
        }
        self.told.wait(|durable| durable >= last);
        self.figures.add(messages, begin, self.store.stat().syncs - before);
    }
}

struct Floor {
    file: std::fs::File,
    bytes: Vec<u8>,
    figures: Figures,
}

impl Floor {
    fn slice(&mut self, batch_messages: u64) {
        let begin = Instant::now();
        let mut writes = 0;
        while begin.elapsed() < SLICE {
            self.file.write_all(&self.bytes).unwrap();
            self.file.sync_data().unwrap();
            writes += 1;
        }
        self.figures.add(writes * batch_messages, begin, writes);
    }
}

/// Both in turns, in slices so short that what else the machine does hits both alike.
fn compare(directory: &Path, batch_messages: u64, in_flight_max: u64, slices: u32) {
    let path = directory.join("floor");
    let mut floor = Floor {
        file: std::fs::File::create(&path).unwrap(),
        bytes: vec![b'b'; batch_messages as usize * (ENVELOPE_BYTES + BODY_BYTES)],
        figures: Figures::default(),
    };
    let mut ingest = Ingest::new(directory);
    for _ in 0..slices {
        floor.slice(batch_messages);
        ingest.slice(batch_messages, in_flight_max);
    }
    let Ingest { store, figures: journal, .. } = ingest;
    store.close().unwrap();
    std::fs::remove_dir_all(directory.join("store")).unwrap();
    std::fs::remove_file(&path).unwrap();
    println!(
        "{batch_messages:5}  {in_flight_max:9}  {:11.0}  {:11.0}  {:5.2}  {:.5} ({:.5})",
        floor.figures.per_second(),
        journal.per_second(),
        journal.per_second() / floor.figures.per_second(),
        journal.syncs_per_message(),
        floor.figures.syncs_per_message(),
    );
}

/// How long a start takes after a kill, with this many messages stored.
fn restart(directory: &Path, messages: usize) -> Duration {
    let told = Arc::new(Told::default());
    let watch = Arc::clone(&told) as Arc<dyn Watch>;
    let options = OpenOptions::new(directory.join("store"), watch);
    let (mut store, _) = Journal::open(options.clone()).unwrap();
    let (body, envelope) = (Bytes::from(vec![b'b'; 256]), Bytes::from(vec![b'e'; ENVELOPE_BYTES]));
    for _ in 0..messages / 1000 {
        let mut batch = store.begin();
        for _ in 0..1000 {
            batch.message(message(0, envelope.clone(), body.clone()));
        }
        let last = store.submit(batch);
        store.maintain(0);
        told.wait(|durable| durable.batch + 8 > last.batch);
    }
    drop(store);
    let begin = Instant::now();
    let (store, recovered) = Journal::open(options).unwrap();
    let elapsed = begin.elapsed();
    assert_eq!(recovered.messages.len(), messages);
    drop(store);
    std::fs::remove_dir_all(directory.join("store")).unwrap();
    elapsed
}

fn message(number: u64, envelope: Bytes, body: Bytes) -> NewMessage {
    NewMessage {
        unit: None,
        owner: OwnerId(number % 100),
        order: None,
        priority: 4,
        persistent: true,
        expiry_ms: 0,
        tags: [number, 0],
        envelope,
        body,
        file: None,
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let target = option_env!("CARGO_TARGET_TMPDIR").unwrap_or(".");
    let directory = Path::new(arguments.first().map_or(target, String::as_str)).join("ingest");
    let slices = arguments.get(1).and_then(|s| s.parse().ok()).unwrap_or(20);
    std::fs::create_dir_all(&directory).unwrap();
    println!(
        "{} bytes a message, {slices} slices of {SLICE:?} for each, in {}",
        ENVELOPE_BYTES + BODY_BYTES,
        directory.display()
    );
    println!("batch  in flight      floor/s    journal/s  ratio  syncs/message (floor)");
    for batch_messages in [1, 32, 256] {
        for in_flight_max in [1, IN_FLIGHT_MAX] {
            compare(&directory, batch_messages, in_flight_max, slices);
        }
    }
    println!("start after a kill with 1,000,000 messages stored: {:.2?}", restart(&directory, 1_000_000));
    std::fs::remove_dir_all(&directory).unwrap();
}
