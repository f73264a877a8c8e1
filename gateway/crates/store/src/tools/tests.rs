//! The tools on real directories: stores that the journal wrote, and what was done to them since.

mod backup;
mod check;
mod salvage;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::rebuild::Told;
use crate::{
    Batch, Commit, Id, Journal, KeyedChange, Kill, NewMessage, OpenOptions, OwnerId, Prepare, Recovered,
    RecoveredMessage, Store, StoreError, Stored, UnitId, Watch,
};

/// The smallest that there are, so that a test has several.
const SEGMENT_BYTES: u64 = 64 << 10;

/// A store in a directory of its own.
struct Rig {
    folder: tempfile::TempDir,
    told: Arc<Told>,
    journal: Option<Box<Journal>>,
    clock_ms: u64,
    live: Vec<Stored>,
    count: u64,
    /// Whether compaction may do something: else everything stays where it was written.
    compacts: bool,
    turns: u64,
}

impl Rig {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut rig = Self {
            folder,
            told: Arc::default(),
            journal: None,
            clock_ms: 0,
            live: Vec::new(),
            count: 0,
            compacts: false,
            turns: 0,
        };
        rig.open();
        rig
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn data(&self) -> PathBuf {
        self.path("data")
    }

    fn open(&mut self) {
        let (journal, told, _) = open(&self.data()).unwrap();
        (self.journal, self.told) = (Some(journal), told);
    }

    /// One turn of the core, durable when this returns.
    fn turn<T>(&mut self, work: impl FnOnce(&mut Batch) -> T) -> T {
        let journal = self.journal.as_mut().unwrap();
        let mut batch = journal.begin();
        let live = &mut self.live;
        let mut compact = |batch: &mut Batch| {
            journal.compact(batch, &mut |moved| {
                // Of one that is about to be killed the old place is known, no other.
                let here = live.iter_mut().find(|stored| stored.id == moved.id);
                here.map(|stored| stored.place = moved.to).is_some()
            });
        };
        // Before what else is in the batch or behind it.
        let first = self.compacts && self.turns.is_multiple_of(2);
        if first {
            compact(&mut batch);
        }
        let result = work(&mut batch);
        if self.compacts && !first {
            compact(&mut batch);
        }
        self.turns += 1;
        let position = journal.submit(batch);
        self.told.wait(position).unwrap();
        result
    }

    /// Messages that are real by themselves.
    fn put(&mut self, count: u64) {
        let first = self.count;
        self.count += count;
        let live = self.turn(|batch| {
            (first..first + count).map(|n| batch.message(message(n, None))).collect::<Vec<_>>()
        });
        self.live.extend(live);
    }

    /// A little of everything, in more than two segments.
    fn work(&mut self) {
        for round in 0..6 {
            self.put(8);
            let n = self.count;
            self.count += 2;
            let (unit, written) = self.turn(|batch| {
                let unit = batch.new_unit();
                batch.keyed(Some(unit), set(&format!("unit {round}"), "of a unit"));
                batch.keyed(None, set("plain", &format!("round {round}")));
                (unit, [n, n + 1].map(|n| batch.message(message(n, Some(unit)))))
            });
            let killed: Vec<Stored> = self.live.drain(..3).collect();
            self.turn(|batch| {
                let mut commit = Commit { unit: Some(unit), ..Commit::default() };
                killed.iter().for_each(|stored| commit.kill(stored.id, stored.place));
                commit.set("commit", format!("round {round}"));
                commit.remove(format!("unit {}", round - 1).into_bytes());
                batch.commit(commit);
            });
            self.live.extend(written);
        }
        let (n, victim) = (self.count, self.live[0]);
        self.count += 2;
        self.turn(|batch| {
            let unit = batch.new_unit();
            batch.message(message(n, Some(unit)));
            batch.keyed(Some(unit), set("prepared", "when committed"));
            let kills = vec![Kill { id: victim.id, place: victim.place }];
            batch.prepare(Prepare { unit, kills, note: Bytes::from_static(b"xid") });
            let open = batch.new_unit();
            batch.message(message(n + 1, Some(open)));
        });
    }

    /// Until compaction has moved something and a segment was used again.
    fn churn(&mut self) {
        self.compacts = true;
        for round in 0..400 {
            self.put(10);
            // One of each ten stays.
            let from = self.live.len() - 10;
            let killed: Vec<Stored> = self.live.drain(from..from + 9).collect();
            self.turn(|batch| {
                let mut commit = Commit::default();
                killed.iter().for_each(|stored| commit.kill(stored.id, stored.place));
                commit.set("round", round.to_string());
                batch.commit(commit);
            });
            if round % 5 == 4 {
                self.checkpoint();
            }
            let stat = self.journal.as_ref().unwrap().stat();
            if stat.moved_bytes > 20_000 && stat.recycled > 1 {
                return;
            }
        }
        panic!("nothing was moved: {:?}", self.journal.as_ref().unwrap().stat());
    }

    /// A message whose body ends in a file.
    fn put_long(&mut self) {
        let file = self.journal.as_ref().unwrap().body_files().write(&[7; 5000]).unwrap();
        let n = self.count;
        self.count += 1;
        let body = Bytes::from([vec![1; 100], vec![7; 5000]].concat());
        let stored =
            self.turn(|batch| batch.message(NewMessage { body, file: Some(file), ..message(n, None) }));
        self.live.push(stored);
    }

    /// One more checkpoint. Where a turn has just taken one there is nothing to cover, so something is written.
    fn checkpoint(&mut self) {
        let before = self.journal.as_ref().unwrap().stat().checkpoints;
        self.turn(|batch| batch.keyed(None, KeyedChange { key: b"nothing".to_vec(), value: None }));
        self.maintain_until("a checkpoint", |rig| rig.journal.as_ref().unwrap().stat().checkpoints > before);
    }

    fn maintain_until(&mut self, what: &str, is_done: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(60);
        let mut turns = 0_u32;
        while !is_done(self) {
            assert!(Instant::now() < deadline, "{what} did not come in {turns} turns");
            turns += 1;
            self.clock_ms += 100_000;
            self.journal.as_mut().unwrap().maintain(self.clock_ms);
            std::thread::yield_now();
            std::fs::metadata(self.folder.path()).unwrap();
        }
    }

    fn close(&mut self) {
        self.journal.take().unwrap().close().unwrap();
    }

    /// A live message in a segment that is sealed and that the checkpoint lists, and how long its record is at least.
    fn victim(&self) -> Stored {
        let newest = self.live.last().unwrap().place.segment;
        let sealed: Vec<_> = self.live.iter().filter(|s| s.place.segment < newest).collect();
        **sealed
            .iter()
            .find(|s| sealed.iter().filter(|o| o.place.segment == s.place.segment).count() > 3)
            .unwrap()
    }

    fn end(&mut self, killed: bool) {
        if killed {
            self.kill();
        } else {
            self.close();
        }
    }

    /// The process is gone; what was written is there.
    fn kill(&mut self) {
        drop(self.journal.take());
    }
}

fn open(directory: &Path) -> Result<(Box<Journal>, Arc<Told>, Recovered), StoreError> {
    let told = Arc::<Told>::default();
    let options = OpenOptions {
        index: false,
        segment_bytes: SEGMENT_BYTES,
        ..OpenOptions::new(directory, Arc::clone(&told) as Arc<dyn Watch>)
    };
    let (journal, recovered) = Journal::open(options)?;
    Ok((Box::new(journal), told, recovered))
}

fn message(n: u64, unit: Option<UnitId>) -> NewMessage {
    NewMessage {
        unit,
        owner: OwnerId(n % 3),
        order: None,
        priority: (n % 10) as u8,
        persistent: true,
        expiry_ms: 0,
        tags: [n, n * 7],
        envelope: Bytes::from(format!("envelope {n}")),
        body: Bytes::from(vec![n as u8; 1500 + (n as usize * 37) % 900]),
        file: None,
    }
}

fn set(key: &str, value: &str) -> KeyedChange {
    KeyedChange { key: key.into(), value: Some(Bytes::copy_from_slice(value.as_bytes())) }
}

/// What a store holds, with every body read.
#[derive(Debug, PartialEq, Eq)]
struct Holds {
    keyed: Vec<(Vec<u8>, Bytes)>,
    /// By order key, which stays when a store is rebuilt.
    messages: BTreeMap<u64, String>,
    prepared: Vec<Prepared>,
    ids: Vec<Id>,
}

/// Note, messages, changes and the number of kills of a prepared unit.
type Prepared = (Bytes, BTreeMap<u64, String>, Vec<KeyedChange>, usize);

/// Opens a copy of the directory.
fn holds(directory: &Path) -> Result<Holds, StoreError> {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    copy(directory, &data);
    let (journal, _, recovered) = open(&data)?;
    read(&journal, &recovered)
}

fn read(journal: &Journal, recovered: &Recovered) -> Result<Holds, StoreError> {
    let read = |messages: &[RecoveredMessage]| {
        messages
            .iter()
            .map(|m| {
                let record = journal.body(m.id, m.place).read()?;
                let numbers = format!("{:?} {} {:?} {} ", m.owner, m.priority, m.tags, m.body_length);
                let body = crc32fast::hash(&record.body);
                Ok((m.order, format!("{numbers} {:?} {body:08x}", record.envelope)))
            })
            .collect::<Result<BTreeMap<_, _>, StoreError>>()
    };
    let mut prepared = Vec::new();
    for unit in &recovered.prepared {
        prepared.push((unit.note.clone(), read(&unit.messages)?, unit.changes.clone(), unit.kills.len()));
    }
    Ok(Holds {
        keyed: recovered.keyed.clone(),
        messages: read(&recovered.messages)?,
        prepared,
        ids: recovered.messages.iter().map(|m| m.id).collect(),
    })
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Changes a byte of a file.
fn flip(path: &Path, offset: usize) {
    let mut bytes = std::fs::read(path).unwrap();
    bytes[offset] ^= 0x10;
    std::fs::write(path, bytes).unwrap();
}

/// The segments of a data directory, by number.
fn segments(data: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(data.join("journal")).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<_> = entries.filter(|path| path.extension().is_some_and(|e| e == "seg")).collect();
    found.sort();
    found
}
