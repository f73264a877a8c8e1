//! Durable ingest of messages, against a bare loop of append and fdatasync over the same bytes, in the same directory
//! and the same run. Prints messages a second, the ratio, and syncs per message; it asserts nothing.
//!
//! `cargo bench -p store --bench ingest [-- DIRECTORY [SECONDS]]`. A directory in memory proves nothing.

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
const IN_FLIGHT_MAX: usize = 4;
const ROUNDS: usize = 3;

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

struct Figures {
    per_second: f64,
    syncs_per_message: f64,
}

fn journal(directory: &Path, batch_messages: usize, time: Duration, in_flight_max: usize) -> Figures {
    let told = Arc::new(Told::default());
    let watch = Arc::clone(&told) as Arc<dyn Watch>;
    let (journal, _) = Journal::open(OpenOptions::new(directory.join("store"), watch)).unwrap();
    let mut store: Box<dyn Store> = Box::new(journal);
    let body = Bytes::from(vec![b'b'; BODY_BYTES]);
    let envelope = Bytes::from(vec![b'e'; ENVELOPE_BYTES]);
    let before = store.stat().syncs;
    let begin = Instant::now();
    let (mut messages, mut last) = (0u64, Position::default());
    while begin.elapsed() < time {
        let mut batch = store.begin();
        for number in 0..batch_messages as u64 {
            batch.message(message(number, envelope.clone(), body.clone()));
        }
        messages += batch_messages as u64;
        last = store.submit(batch);
        store.maintain(begin.elapsed().as_millis() as u64);
        let least = Position { batch: last.batch.saturating_sub(in_flight_max as u64), ..last };
        told.wait(|durable| durable >= least);
    }
    told.wait(|durable| durable >= last);
    let elapsed = begin.elapsed().as_secs_f64();
    let syncs = store.stat().syncs - before;
    store.close().unwrap();
    std::fs::remove_dir_all(directory.join("store")).unwrap();
    Figures { per_second: messages as f64 / elapsed, syncs_per_message: syncs as f64 / messages as f64 }
}

fn floor(directory: &Path, batch_messages: usize, time: Duration) -> Figures {
    let path = directory.join("floor");
    let mut file = std::fs::File::create(&path).unwrap();
    let bytes = vec![b'b'; batch_messages * (ENVELOPE_BYTES + BODY_BYTES)];
    let begin = Instant::now();
    let mut writes = 0u64;
    while begin.elapsed() < time {
        file.write_all(&bytes).unwrap();
        file.sync_data().unwrap();
        writes += 1;
    }
    let elapsed = begin.elapsed().as_secs_f64();
    std::fs::remove_file(&path).unwrap();
    let messages = writes * batch_messages as u64;
    Figures { per_second: messages as f64 / elapsed, syncs_per_message: 1.0 / batch_messages as f64 }
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
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let target = option_env!("CARGO_TARGET_TMPDIR").unwrap_or(".");
    let directory = Path::new(arguments.first().map_or(target, String::as_str)).join("ingest");
    let seconds = arguments.get(1).and_then(|s| s.parse().ok()).unwrap_or(2.0);
    let time = Duration::from_secs_f64(seconds);
    std::fs::create_dir_all(&directory).unwrap();
    println!(
        "{} bytes a message, {ROUNDS} rounds of {seconds} s in {}",
        ENVELOPE_BYTES + BODY_BYTES,
        directory.display()
    );
    println!("batch  in flight      floor/s    journal/s  ratio  syncs/message (floor)");
    for batch_messages in [1, 32, 256] {
        for in_flight_max in [0, IN_FLIGHT_MAX] {
            for _ in 0..ROUNDS {
                let floor = floor(&directory, batch_messages, time);
                let journal = journal(&directory, batch_messages, time, in_flight_max);
                println!(
                    "{batch_messages:5}  {:9}  {:11.0}  {:11.0}  {:5.2}  {:.5} ({:.5})",
                    in_flight_max + 1,
                    floor.per_second,
                    journal.per_second,
                    journal.per_second / floor.per_second,
                    journal.syncs_per_message,
                    floor.syncs_per_message,
                );
            }
        }
    }
    println!("start after a kill with 1,000,000 messages stored: {:.2?}", restart(&directory, 1_000_000));
    std::fs::remove_dir_all(&directory).unwrap();
}
