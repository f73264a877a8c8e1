//! The outbox against a queue manager that may be cut off at any step, and a store that crashes (ONCE.md 3).

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use bytes::Bytes;
use mq_wire::{QMgrName, QName, Reason};
use store::mem::MemStore;
use store::{Commit, Id, Recovered, Store};

use super::*;
use crate::Now;

const HQ: &str = "hq";

fn settings() -> Vec<TargetSettings> {
    vec![TargetSettings { name: HQ.to_owned(), messages_max: 10, bytes_max: 100_000 }]
}

fn device(number: usize) -> DeviceName {
    DeviceName::new(&format!("DEV{number}")).unwrap()
}

fn entry(of: usize, text: &str) -> OutboxEntry {
    OutboxEntry {
        kind: EntryKind::Put,
        device: Some(device(of)),
        q_mgr: QMgrName::BLANK,
        message: DeviceMessage::new(QName::new("ORDERS").unwrap(), Bytes::copy_from_slice(text.as_bytes())),
    }
}

/// What the queue manager has: texts in the order of their commits, and the sync message.
#[derive(Debug, Default)]
struct Mq {
    queue: Vec<String>,
    sync: Option<(u64, Vec<Id>)>,
}

/// Outbox, store and queue manager; the gateway's side crashes, MQ's stays.
struct World {
    store: MemStore,
    outbox: Outbox,
    mq: Mq,
    now: Now,
}

impl World {
    fn new() -> Self {
        let (mut store, recovered) = MemStore::new(None);
        let outbox = Self::outbox(&mut store, &recovered);
        let now = Now { wall_ms: 1_000, instant: Instant::now() };
        let mut world = Self { store, outbox, mq: Mq { sync: Some((0, Vec::new())), ..Mq::default() }, now };
        world.write(|outbox, commit| outbox.begin(HQ, "HQ_1", 0, commit));
        world
    }

    fn outbox(store: &mut MemStore, recovered: &Recovered) -> Outbox {
        let mut batch = store.begin();
        let outbox = Outbox::new(&settings(), recovered, &mut batch).unwrap();
        store.submit(batch);
        outbox
    }

    fn write<T>(&mut self, change: impl FnOnce(&mut Outbox, &mut Commit) -> T) -> T {
        let mut batch = self.store.begin();
        let mut commit = Commit::default();
        let value = change(&mut self.outbox, &mut commit);
        batch.commit(commit);
        self.store.submit(batch);
        value
    }

    fn enter(&mut self, of: usize, text: &str) -> Result<Id, OutboxError> {
        let mut batch = self.store.begin();
        let unit = batch.new_unit();
        let id = self.outbox.put(HQ, Some(&device(of)), &entry(of, text), unit, &mut batch)?;
        batch.commit(Commit { unit: Some(unit), ..Commit::default() });
        self.outbox.unit_is_real(unit);
        self.store.submit(batch);
        Ok(id)
    }

    fn crash(&mut self) {
        let store = std::mem::replace(&mut self.store, MemStore::new(None).0);
        let (mut store, recovered) = store.restart();
        self.outbox = Self::outbox(&mut store, &recovered);
        self.store = store;
    }

    fn text(&self, id: Id, place: Place) -> String {
        let record = self.store.body(id, place).read().unwrap();
        let entry = OutboxEntry::from_record(&record.envelope, record.body).unwrap();
        String::from_utf8(entry.message.payload.to_vec()).unwrap()
    }

    fn next(&mut self, max: usize) -> (u64, Vec<(Id, Place)>) {
        let now = self.now;
        self.write(|outbox, commit| outbox.next_batch(now, HQ, max, 1 << 20, commit))
    }

    /// MQCMIT of a batch.
    fn commit(&mut self, number: u64, batch: &[(Id, Place)]) {
        for (id, place) in batch {
            let text = self.text(*id, *place);
            self.mq.queue.push(text);
        }
        self.mq.sync = Some((number, batch.iter().map(|(id, _)| *id).collect()));
    }

    /// After a cut: the sync message one further than the journal says what was drained.
    fn recover(&mut self) {
        let (number, entries) = self.mq.sync.clone().unwrap();
        let committed = self.outbox.state(HQ).committed;
        if number == committed + 1 {
            assert!(self.write(|outbox, commit| outbox.end(HQ, number, &entries, commit)));
        } else {
            assert_eq!(number, committed);
        }
    }

    fn drain(&mut self) {
        loop {
            let (number, batch) = self.next(2);
            if batch.is_empty() {
                return;
            }
            self.commit(number, &batch);
            let ids: Vec<Id> = batch.iter().map(|(id, _)| *id).collect();
            assert!(self.write(|outbox, commit| outbox.end(HQ, number, &ids, commit)));
        }
    }
}

/// "sync message names the entries": else twice in MQ, or told OK and nowhere.
#[test]
fn row_the_sync_message_names_the_entries_wherever_the_cut_falls() {
    // Behind: nothing, the batch noted, put and cut before MQCMIT, MQCMIT done and its answer lost, ended here.
    for (cut, crash) in (0..5).flat_map(|cut| [(cut, false), (cut, true)]) {
        let mut world = World::new();
        for (of, text) in [(1, "a1"), (2, "b1"), (1, "a2"), (2, "b2"), (1, "a3")] {
            world.enter(of, text).unwrap();
        }
        if cut >= 1 {
            let (number, batch) = world.next(3);
            // What is not in the unit of work in the end is not named: the second one found no room.
            let put = [batch[0], batch[2]];
            if cut >= 3 {
                world.commit(number, &put);
            }
            if cut >= 4 {
                let ids: Vec<Id> = put.iter().map(|(id, _)| *id).collect();
                assert!(world.write(|outbox, commit| outbox.end(HQ, number, &ids, commit)));
            }
        }
        if crash {
            world.crash();
        }
        world.recover();
        world.drain();
        let mut found = world.mq.queue.clone();
        let of = |device: char| {
            world.mq.queue.iter().filter(|text| text.starts_with(device)).cloned().collect::<Vec<_>>()
        };
        assert_eq!(of('a'), ["a1", "a2", "a3"], "cut {cut} crash {crash}");
        assert_eq!(of('b'), ["b1", "b2"], "cut {cut} crash {crash}");
        found.sort();
        assert_eq!(found.len(), 5);
        world.crash();
        assert_eq!(world.outbox.depth(HQ), Depth::default(), "cut {cut} crash {crash}");
    }
}

/// "entry durable before it is put": what is noted as in flight is written behind the entry.
#[test]
fn row_an_entry_is_durable_before_it_is_put() {
    let mut world = World::new();
    let mut batch = world.store.begin();
    let unit = batch.new_unit();
    world.outbox.put(HQ, None, &entry(1, "a1"), unit, &mut batch).unwrap();
    let mut commit = Commit::default();
    assert_eq!(world.outbox.next_batch(world.now, HQ, 9, 1 << 20, &mut commit).1, []);
    batch.commit(Commit { unit: Some(unit), ..Commit::default() });
    world.outbox.unit_is_real(unit);
    let entered = batch.position();
    let (_, entries) = world.outbox.next_batch(world.now, HQ, 9, 1 << 20, &mut commit);
    batch.commit(commit);
    assert_eq!((entries.len(), batch.position() >= entered), (1, true));
    world.store.submit(batch);
    world.crash();
    assert_eq!(world.outbox.state(HQ).in_flight.len(), 1);
}

#[test]
fn a_batch_ends_once() {
    let mut world = World::new();
    let id = world.enter(1, "a1").unwrap();
    let (number, _) = world.next(9);
    assert!(world.write(|outbox, commit| outbox.end(HQ, number, &[id], commit)));
    assert!(!world.write(|outbox, commit| outbox.end(HQ, number, &[id], commit)));
    assert!(!world.write(|outbox, commit| outbox.end(HQ, number + 2, &[id], commit)));
    assert_eq!(world.outbox.state(HQ).committed, 1);
}

#[test]
fn a_device_that_is_held_back_holds_nobody_else_and_keeps_its_order() {
    let mut world = World::new();
    let first = world.enter(1, "a1").unwrap();
    world.enter(1, "a2").unwrap();
    world.enter(2, "b1").unwrap();
    let mut waits = Vec::new();
    for _ in 0..8 {
        let wait = world.outbox.hold(world.now, HQ, first).unwrap();
        waits.push(wait.as_secs());
        let (_, entries) = world.next(9);
        let texts: Vec<String> = entries.iter().map(|(id, place)| world.text(*id, *place)).collect();
        assert_eq!(texts, ["b1"]);
        assert_eq!(world.outbox.next_due(HQ), Some(world.now.instant + wait));
        world.now.instant += wait;
    }
    assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
    let (_, entries) = world.next(9);
    let texts: Vec<String> = entries.iter().map(|(id, place)| world.text(*id, *place)).collect();
    assert_eq!(texts, ["a1", "a2", "b1"]);
    world.now.instant += Duration::from_secs(1);
}

/// Else an operator would be asked about a batch of which nothing is left.
#[test]
fn an_entry_that_ends_without_being_put_is_in_flight_no_more_and_holds_nothing() {
    let mut world = World::new();
    let ids = ["a1", "a2", "b1"].map(|text| world.enter(1, text).unwrap());
    world.next(9);
    world.outbox.hold(world.now, HQ, ids[0]).unwrap();
    assert!(world.write(|outbox, commit| outbox.remove(HQ, ids[0], commit)));
    assert!(!world.write(|outbox, commit| outbox.remove(HQ, ids[0], commit)));
    assert_eq!((world.outbox.next_due(HQ), world.outbox.state(HQ).in_flight.len()), (None, 2));
    world.crash();
    assert_eq!((world.outbox.depth(HQ).messages, world.outbox.state(HQ).in_flight.len()), (2, 2));
    world.drain();
    assert_eq!(world.mq.queue, ["a2", "b1"]);
}

#[test]
fn it_is_bounded_and_an_unknown_target_is_refused() {
    let mut world = World::new();
    (0..10).for_each(|number| assert!(world.enter(1, &number.to_string()).is_ok()));
    assert!(matches!(world.enter(1, "more"), Err(OutboxError::Full { messages: 10, .. })));
    let mut batch = world.store.begin();
    let unit = batch.new_unit();
    let letter = OutboxEntry { kind: EntryKind::DeadLetter(Reason::Q_FULL), ..entry(1, "a letter") };
    assert!(world.outbox.put(HQ, None, &letter, unit, &mut batch).is_ok(), "ends are not refused");
    assert!(matches!(
        world.outbox.put("nobody", None, &letter, unit, &mut batch),
        Err(OutboxError::NoTarget { .. })
    ));
    let written = world.outbox.unit_dropped(unit);
    assert_eq!((written.len(), world.outbox.depth(HQ).messages), (1, 10));
    batch.back_out(unit, written);
    world.store.submit(batch);
    world.crash();
    assert_eq!(world.outbox.depth(HQ).messages, 10);
}

#[test]
fn entries_and_states_are_read_as_written_and_nothing_cut_is() {
    let mut sent = entry(1, "data");
    sent.kind = EntryKind::DeadLetter(Reason::Q_FULL);
    sent.q_mgr = QMgrName::new("OTHER").unwrap();
    let envelope = sent.envelope();
    assert_eq!(OutboxEntry::from_record(&envelope, sent.message.payload.clone()), Ok(sent));
    for length in 0..envelope.len() {
        assert!(OutboxEntry::from_record(&envelope[..length], Bytes::new()).is_err(), "{length}");
    }
    let mut world = World::new();
    world.enter(1, "a1").unwrap();
    world.next(9);
    let state = world.outbox.state(HQ);
    world.crash();
    assert_eq!(world.outbox.state(HQ), state);
    let seen: BTreeMap<&str, usize> =
        world.outbox.targets().map(|target| (target, world.outbox.depth(target).messages)).collect();
    assert_eq!(seen, BTreeMap::from([(HQ, 1)]));
}
