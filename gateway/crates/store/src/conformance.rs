//! One suite for every store: what the trait promises, held against memory and journal alike.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex};

use bytes::Bytes;

use crate::files::sim::Random;
use crate::mem::MemStore;
use crate::{
    Batch, Commit, Id, Journal, KeyedChange, Kill, NewMessage, OpenOptions, OwnerId, Position, Prepare,
    Recovered, Store, StoreError, Stored, UnitId, Watch,
};

#[derive(Debug, Default)]
struct Told {
    durable: Mutex<Position>,
    wake: Condvar,
}

impl Watch for Told {
    fn durable(&self, position: Position) {
        *self.durable.lock().unwrap() = position;
        self.wake.notify_all();
    }

    fn failed(&self, error: StoreError) {
        panic!("{error}");
    }
}

/// A store that can be started again.
struct Subject {
    kind: Kind,
    told: Arc<Told>,
    store: Option<Box<dyn Store>>,
    memory: Option<MemStore>,
    directory: tempfile::TempDir,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Memory,
    /// Closed before it is opened again.
    Closed,
    /// Dropped, as by a kill.
    Dropped,
}

impl Subject {
    fn new(kind: Kind) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut subject = Self { kind, told: Arc::default(), store: None, memory: None, directory };
        let recovered = subject.restart();
        assert_eq!(recovered, Recovered::default());
        subject
    }

    fn store(&mut self) -> &mut dyn Store {
        match &mut self.memory {
            Some(memory) => memory,
            None => self.store.as_mut().unwrap().as_mut(),
        }
    }

    /// Ends the store and starts it again.
    fn restart(&mut self) -> Recovered {
        self.told = Arc::default();
        let watch = Arc::clone(&self.told) as Arc<dyn Watch>;
        if self.kind == Kind::Memory {
            let (store, recovered) = match self.memory.take() {
                Some(memory) => memory.restart(),
                None => MemStore::new(Some(watch)),
            };
            self.memory = Some(store);
            return recovered;
        }
        if let Some(store) = self.store.take()
            && self.kind == Kind::Closed
        {
            store.close().unwrap();
        }
        let mut options = OpenOptions::new(self.directory.path(), watch);
        options.segment_bytes = 64 << 10;
        let (journal, recovered) = Journal::open(options).unwrap();
        self.store = Some(Box::new(journal));
        recovered
    }

    /// Hands a batch over and waits until it is durable.
    fn write<T>(&mut self, work: impl FnOnce(&mut Batch) -> T) -> T {
        let mut batch = self.store().begin();
        let result = work(&mut batch);
        let position = batch.position();
        let empty = batch.is_empty();
        let submitted = self.store().submit(batch);
        if !empty {
            assert_eq!(submitted, position);
            if self.kind != Kind::Memory {
                let durable = self.told.durable.lock().unwrap();
                drop(self.told.wake.wait_while(durable, |durable| *durable < position).unwrap());
            }
            assert!(self.store().durable() >= position);
        }
        result
    }
}

fn for_each(test: impl Fn(&mut Subject)) {
    for kind in [Kind::Memory, Kind::Closed, Kind::Dropped] {
        println!("{kind:?}");
        test(&mut Subject::new(kind));
    }
}

fn message(unit: Option<UnitId>, body: &str) -> NewMessage {
    NewMessage {
        unit,
        owner: OwnerId(5),
        order: None,
        priority: 3,
        persistent: true,
        expiry_ms: 99,
        tags: [11, 12],
        envelope: Bytes::from_static(b"envelope"),
        body: Bytes::copy_from_slice(body.as_bytes()),
        file: None,
    }
}

fn put(batch: &mut Batch, body: &str) -> Stored {
    batch.message(message(None, body))
}

fn set(key: &str, value: &str) -> KeyedChange {
    KeyedChange { key: key.into(), value: Some(Bytes::copy_from_slice(value.as_bytes())) }
}

fn kill_of(stored: &Stored) -> Kill {
    Kill { id: stored.id, place: stored.place }
}

fn ids(recovered: &Recovered) -> Vec<Id> {
    recovered.messages.iter().map(|m| m.id).collect()
}

fn keyed(recovered: &Recovered) -> Vec<(&str, &str)> {
    let text = |bytes| std::str::from_utf8(bytes).unwrap();
    recovered.keyed.iter().map(|(key, value)| (text(key), text(value))).collect()
}

#[test]
fn a_single_put_is_real_by_itself() {
    for_each(|subject| {
        let stored = subject.write(|batch| put(batch, "body"));
        assert_eq!(stored.order, stored.id.as_u64());
        let recovered = subject.restart();
        let [entry] = recovered.messages[..] else { panic!("{recovered:?}") };
        assert_eq!((entry.id, entry.owner, entry.order), (stored.id, OwnerId(5), stored.order));
        assert_eq!((entry.priority, entry.persistent, entry.expiry_ms), (3, true, 99));
        assert_eq!((entry.tags, entry.envelope_length, entry.body_length), ([11, 12], 8, 4));
        let record = subject.store().body(entry.id, entry.place).read().unwrap();
        assert_eq!(
            (record.owner, &record.envelope[..], &record.body[..]),
            (OwnerId(5), &b"envelope"[..], &b"body"[..])
        );
    });
}

#[test]
fn an_order_key_and_a_missing_persistence_come_back() {
    for_each(|subject| {
        subject.write(|batch| {
            batch.message(NewMessage { order: Some(42), persistent: false, ..message(None, "") })
        });
        let entry = subject.restart().messages[0];
        assert_eq!((entry.order, entry.persistent, entry.body_length), (42, false, 0));
    });
}

#[test]
fn a_unit_is_real_with_its_commit_and_gone_without() {
    for_each(|subject| {
        let (unit, kept) = subject.write(|batch| {
            let unit = batch.new_unit();
            let open = batch.new_unit();
            batch.message(message(Some(open), "open"));
            batch.keyed(Some(open), set("open", "1"));
            batch.keyed(Some(unit), set("unit", "1"));
            (unit, batch.message(message(Some(unit), "kept")))
        });
        subject.write(|batch| batch.commit(Commit { unit: Some(unit), ..Commit::default() }));
        let recovered = subject.restart();
        assert_eq!(ids(&recovered), [kept.id]);
        assert_eq!(keyed(&recovered), [("unit", "1")]);
        assert_eq!(subject.store().stat().messages, 1);
    });
}

#[test]
fn a_commit_kills_and_sets_together() {
    for_each(|subject| {
        let old = subject.write(|batch| put(batch, "old"));
        let new = subject.write(|batch| {
            let unit = batch.new_unit();
            let new = batch.message(message(Some(unit), "new"));
            let mut commit = Commit { unit: Some(unit), ..Commit::default() };
            commit.kill(old.id, old.place);
            commit.set("mark", "7");
            commit.set("gone", "x");
            commit.remove("gone");
            batch.commit(commit);
            new
        });
        let recovered = subject.restart();
        assert_eq!(ids(&recovered), [new.id]);
        assert_eq!(keyed(&recovered), [("mark", "7")]);
    });
}

#[test]
fn the_value_committed_last_lives() {
    for_each(|subject| {
        let unit = subject.write(|batch| {
            let unit = batch.new_unit();
            batch.keyed(Some(unit), set("k", "of the unit"));
            batch.keyed(None, set("k", "written later"));
            batch.keyed(None, set("b", "1"));
            batch.keyed(None, set("b", "2"));
            unit
        });
        subject.write(|batch| batch.commit(Commit { unit: Some(unit), ..Commit::default() }));
        assert_eq!(keyed(&subject.restart()), [("b", "2"), ("k", "of the unit")]);
        subject.write(|batch| batch.keyed(None, KeyedChange { key: b"k".to_vec(), value: None }));
        assert_eq!(keyed(&subject.restart()), [("b", "2")]);
    });
}

#[test]
fn a_backed_out_unit_leaves_nothing() {
    for_each(|subject| {
        subject.write(|batch| {
            let unit = batch.new_unit();
            let stored = batch.message(message(Some(unit), "x"));
            batch.keyed(Some(unit), set("k", "v"));
            batch.back_out(unit, vec![kill_of(&stored)]);
        });
        assert_eq!(subject.store().stat().messages, 0);
        assert_eq!(subject.restart(), Recovered::default());
    });
}

/// Gives the prepared unit, what it holds, and what was put under it.
fn prepare_one(subject: &mut Subject) -> (UnitId, Stored, Stored) {
    let held = subject.write(|batch| put(batch, "held"));
    subject.write(|batch| {
        let unit = batch.new_unit();
        let written = batch.message(message(Some(unit), "written"));
        batch.keyed(Some(unit), set("k", "v"));
        let note = Bytes::from_static(b"xid");
        batch.prepare(Prepare { unit, kills: vec![kill_of(&held)], note });
        (unit, held, written)
    })
}

#[test]
fn a_prepared_unit_survives_with_what_it_holds() {
    for_each(|subject| {
        let (unit, held, written) = prepare_one(subject);
        for _ in 0..3 {
            let recovered = subject.restart();
            assert_eq!(ids(&recovered), [held.id]);
            assert_eq!(keyed(&recovered), []);
            let [prepared] = &recovered.prepared[..] else { panic!("{recovered:?}") };
            assert_eq!(prepared.unit, unit);
            assert_eq!(prepared.messages.iter().map(|m| m.id).collect::<Vec<_>>(), [written.id]);
            assert_eq!(prepared.kills, [Kill { id: held.id, place: recovered.messages[0].place }]);
            assert_eq!(prepared.changes, [set("k", "v")]);
            assert_eq!(prepared.note, "xid");
            let place = prepared.messages[0].place;
            assert_eq!(subject.store().body(written.id, place).read().unwrap().body, "written");
        }
    });
}

#[test]
fn a_prepared_unit_is_decided_after_a_restart() {
    for_each(|subject| {
        let (unit, _, written) = prepare_one(subject);
        let kills = subject.restart().prepared.remove(0).kills;
        subject.write(|batch| batch.commit(Commit { unit: Some(unit), kills, changes: Vec::new() }));
        let recovered = subject.restart();
        assert_eq!(ids(&recovered), [written.id]);
        assert_eq!((keyed(&recovered), recovered.prepared.len()), (vec![("k", "v")], 0));
    });
    for_each(|subject| {
        let (unit, held, _) = prepare_one(subject);
        subject.restart();
        subject.write(|batch| batch.back_out(unit, Vec::new()));
        let recovered = subject.restart();
        assert_eq!(ids(&recovered), [held.id]);
        assert_eq!((keyed(&recovered), recovered.prepared.len()), (vec![], 0));
    });
}

#[test]
fn ids_and_units_are_given_once() {
    for_each(|subject| {
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..3 {
            for _ in 0..3 {
                // An empty batch costs nothing, but the unit it gave out is gone.
                let unit = subject.write(Batch::new_unit);
                assert!(seen.insert(unit.0));
            }
            let mut stored = std::collections::BTreeSet::new();
            for _ in 0..3 {
                assert!(stored.insert(subject.write(|batch| put(batch, "x")).id));
            }
            let start = subject.store().stat().start;
            assert!(stored.iter().all(|id| id.start() == start));
            subject.restart();
            assert!(subject.store().stat().start > start);
        }
    });
}

#[test]
fn a_message_is_readable_at_once_and_after_its_death() {
    for_each(|subject| {
        let mut batch = subject.store().begin();
        let stored = put(&mut batch, "body");
        subject.store().submit(batch);
        let handle = subject.store().body(stored.id, stored.place);
        assert_eq!(handle.read().unwrap().body, "body");
        subject.write(|batch| {
            batch.commit(Commit { kills: vec![kill_of(&stored)], ..Commit::default() });
        });
        assert_eq!(handle.read().unwrap().body, "body");
        assert_eq!(subject.restart(), Recovered::default());
    });
}

#[test]
fn a_handle_on_another_id_reads_nothing() {
    for_each(|subject| {
        let stored = subject.write(|batch| put(batch, "body"));
        let other = Id::new(stored.id.start(), stored.id.counter() + 1);
        let read = subject.store().body(other, stored.place).read();
        assert!(matches!(read, Err(StoreError::NotThere { .. })), "{read:?}");
    });
}

#[test]
fn a_batch_that_is_not_handed_over_leaves_nothing() {
    for_each(|subject| {
        let mut batch = subject.store().begin();
        put(&mut batch, "dropped");
        drop(batch);
        let stored = subject.write(|batch| put(batch, "kept"));
        assert_eq!(ids(&subject.restart()), [stored.id]);
    });
}

#[test]
fn everything_handed_over_becomes_durable() {
    for_each(|subject| {
        let mut last = Position::default();
        for number in 0..50 {
            let mut batch = subject.store().begin();
            put(&mut batch, &"x".repeat(number * 100));
            let position = subject.store().submit(batch);
            assert!(position > last);
            last = position;
        }
        subject.write(|batch| put(batch, "last"));
        assert_eq!(subject.store().in_flight(), 0);
        assert_eq!(subject.store().stat().messages, 51);
        assert_eq!(subject.restart().messages.len(), 51);
    });
}

/// Random work on memory and journal side by side: after each restart both say the same, places aside.
#[test]
fn memory_and_journal_agree() {
    for (kind, seed) in [(Kind::Closed, 1), (Kind::Closed, 2), (Kind::Dropped, 3), (Kind::Dropped, 4)] {
        let mut subjects = [Subject::new(Kind::Memory), Subject::new(kind)];
        let mut lives: [Lives; 2] = [Lives::default(), Lives::default()];
        let mut random = Random::new(seed);
        for _ in 0..6 {
            for _ in 0..40 {
                let script: Vec<u32> = (0..8).map(|_| random.below(1000)).collect();
                for (subject, lives) in subjects.iter_mut().zip(&mut lives) {
                    subject.write(|batch| lives.play(batch, &script));
                }
            }
            let [memory, journal] = &mut subjects;
            let (mut expected, mut found) = (memory.restart(), journal.restart());
            lives[0].after_restart(&expected);
            lives[1].after_restart(&found);
            for recovered in [&mut expected, &mut found] {
                for entry in recovered.prepared.iter_mut().flat_map(|p| &mut p.messages) {
                    entry.place = crate::Place::default();
                }
                for kill in recovered.prepared.iter_mut().flat_map(|p| &mut p.kills) {
                    kill.place = crate::Place::default();
                }
                recovered.messages.iter_mut().for_each(|m| m.place = crate::Place::default());
            }
            assert_eq!(expected, found, "{kind:?}, seed {seed}");
        }
    }
}

/// What the script's next steps may use.
#[derive(Default)]
struct Lives {
    free: BTreeMap<Id, Kill>,
    open: Vec<UnitWork>,
    prepared: Vec<(UnitId, Vec<Kill>)>,
}

struct UnitWork {
    unit: UnitId,
    written: Vec<Kill>,
    kills: Vec<Kill>,
}

impl Lives {
    fn play(&mut self, batch: &mut Batch, script: &[u32]) {
        for step in script {
            let pick = *step as usize / 10;
            match step % 10 {
                0..3 => {
                    let stored = put(batch, &"b".repeat(pick * 17));
                    self.free.insert(stored.id, kill_of(&stored));
                }
                3 => {
                    let unit = batch.new_unit();
                    let stored = batch.message(message(Some(unit), "in a unit"));
                    batch.keyed(Some(unit), set(&format!("k{}", pick % 7), &pick.to_string()));
                    let kills = self.free.pop_first().map(|f| f.1).into_iter().collect();
                    self.open.push(UnitWork { unit, written: vec![kill_of(&stored)], kills });
                }
                4 | 5 if !self.open.is_empty() => {
                    let work = self.open.remove(pick % self.open.len());
                    let mut commit = Commit { unit: Some(work.unit), kills: work.kills, ..Commit::default() };
                    commit.set(format!("k{}", pick % 5), pick.to_string());
                    batch.commit(commit);
                    self.free.extend(work.written.into_iter().map(|kill| (kill.id, kill)));
                }
                6 if !self.open.is_empty() => {
                    let work = self.open.remove(pick % self.open.len());
                    batch.back_out(work.unit, work.written);
                    self.free.extend(work.kills.into_iter().map(|kill| (kill.id, kill)));
                }
                7 if !self.open.is_empty() && self.prepared.len() < 3 => {
                    let work = self.open.remove(pick % self.open.len());
                    self.prepared.push((work.unit, work.kills.clone()));
                    batch.prepare(Prepare { unit: work.unit, kills: work.kills, note: Bytes::new() });
                }
                8 if !self.prepared.is_empty() => {
                    let (unit, kills) = self.prepared.remove(pick % self.prepared.len());
                    batch.commit(Commit { unit: Some(unit), kills, changes: Vec::new() });
                }
                _ => {
                    if let Some((_, kill)) = self.free.pop_first() {
                        batch.commit(Commit { kills: vec![kill], ..Commit::default() });
                    }
                    batch.keyed(None, KeyedChange { key: format!("k{}", pick % 7).into(), value: None });
                }
            }
        }
    }

    fn after_restart(&mut self, recovered: &Recovered) {
        self.open.clear();
        self.prepared = recovered.prepared.iter().map(|p| (p.unit, p.kills.clone())).collect();
        let held: Vec<Id> = self.prepared.iter().flat_map(|p| &p.1).map(|k| k.id).collect();
        let free = recovered.messages.iter().filter(|m| !held.contains(&m.id));
        self.free = free.map(|m| (m.id, Kill { id: m.id, place: m.place })).collect();
    }
}
