//! Crashes from a seed: random work on a simulated disk, stopped inside any file operation, also during a start and
//! several in a row; after each the journal must hold a state that its order allows, with everything acknowledged in
//! it and nothing in part, and never take back what it has shown (STORE.md 8).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;

use super::{Journal, OpenOptions};
use crate::files::sim::{Lie, Random, SimFiles};
use crate::{
    Batch, Commit, Id, KeyedChange, Kill, NewMessage, OwnerId, Place, Position, Prepare, Recovered, Store,
    StoreError, UnitId, Watch,
};

/// Remembers what it was told.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) durable: Mutex<Position>,
    pub(super) failed: Mutex<Vec<StoreError>>,
    pub(super) turns: AtomicU32,
}

impl Watch for Told {
    fn durable(&self, position: Position) {
        *self.durable.lock().unwrap() = position;
    }

    fn failed(&self, error: StoreError) {
        self.failed.lock().unwrap().push(error);
    }

    fn turn_wanted(&self) {
        self.turns.fetch_add(1, Ordering::Relaxed);
    }
}

type Changes = Vec<(Vec<u8>, Option<Vec<u8>>)>;

/// What a store holds, as its user sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct State {
    messages: BTreeSet<Id>,
    keyed: BTreeMap<Vec<u8>, Vec<u8>>,
    prepared: BTreeMap<UnitId, Unit>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Unit {
    messages: Vec<Id>,
    changes: Changes,
    kills: Vec<Id>,
}

struct World {
    random: Random,
    files: SimFiles,
    told: Arc<Told>,
    journal: Option<Box<Journal>>,
    batch: Option<Batch>,
    clock_ms: u64,
    values: u32,
    places: BTreeMap<Id, Place>,
    issued: BTreeSet<Id>,
    open: BTreeMap<UnitId, Unit>,
    state: State,
    /// What was acknowledged or shown, and what may be there beyond it, with the batch that makes it so.
    base: State,
    later: Vec<(u64, State)>,
}

type Checked = Result<(), String>;

fn body_of(id: Id) -> Vec<u8> {
    let length = (id.as_u64().wrapping_mul(2_654_435_761) >> 7) % 6000;
    format!("{id}/").into_bytes().into_iter().cycle().take(length as usize).collect()
}

fn state_of(recovered: &Recovered) -> State {
    let pair = |c: &KeyedChange| (c.key.clone(), c.value.as_ref().map(|v| v.to_vec()));
    State {
        messages: recovered.messages.iter().map(|m| m.id).collect(),
        keyed: recovered.keyed.iter().map(|(k, v)| (k.clone(), v.to_vec())).collect(),
        prepared: recovered
            .prepared
            .iter()
            .map(|p| {
                let unit = Unit {
                    messages: p.messages.iter().map(|m| m.id).collect(),
                    changes: p.changes.iter().map(pair).collect(),
                    kills: p.kills.iter().map(|k| k.id).collect(),
                };
                (p.unit, unit)
            })
            .collect(),
    }
}

impl World {
    fn new(seed: u64) -> Self {
        Self {
            random: Random::new(seed),
            files: SimFiles::new(seed ^ 0x5eed),
            told: Arc::default(),
            journal: None,
            batch: None,
            clock_ms: 0,
            values: 0,
            places: BTreeMap::new(),
            issued: BTreeSet::new(),
            open: BTreeMap::new(),
            state: State::default(),
            base: State::default(),
            later: Vec::new(),
        }
    }

    fn journal(&mut self) -> &mut Journal {
        self.journal.as_mut().unwrap()
    }

    /// Opens, with crashes in it, until it is open; then compares.
    fn up(&mut self) -> Checked {
        for attempt in 0.. {
            let calm = attempt >= 5;
            if calm {
                self.files.set_failing_syncs(0);
            }
            self.files.set_room(None);
            self.files.set_fuse((!calm && self.random.one_in(2)).then(|| self.random.below(24)));
            if self.random.one_in(3) {
                self.files.evict();
            }
            self.told = Arc::default();
            let watch = Arc::clone(&self.told) as Arc<dyn Watch>;
            let options =
                OpenOptions { index: false, segment_bytes: 0, cache_bytes: 0, ..OpenOptions::new("", watch) };
            let opened = Journal::open_inline(Arc::new(self.files.clone()), &options);
            self.files.set_fuse(None);
            match opened {
                Ok((journal, recovered)) => {
                    self.journal = Some(Box::new(journal));
                    self.compare(&recovered)?;
                    if !self.files.is_stopped() {
                        return Ok(());
                    }
                    self.down();
                }
                Err(StoreError::Io { .. }) if !calm => self.down(),
                Err(error) => return Err(format!("the start failed: {error}")),
            }
        }
        Ok(())
    }

    fn down(&mut self) {
        self.batch = None;
        self.journal = None;
        if self.random.one_in(2) { self.files.kill() } else { self.files.power_loss() }
    }

    fn compare(&mut self, recovered: &Recovered) -> Checked {
        let got = state_of(recovered);
        let base = std::mem::take(&mut self.base);
        let later = std::mem::take(&mut self.later);
        if got != base && !later.iter().any(|l| l.1 == got) {
            return Err(format!("recovered {got:?}\nacknowledged {base:?}\nat most {:?}", later.last()));
        }
        self.open.clear();
        let prepared = recovered.prepared.iter().flat_map(|p| &p.messages);
        let entries = recovered.messages.iter().chain(prepared);
        self.places = entries.map(|m| (m.id, m.place)).collect();
        self.state = got.clone();
        self.base = got;
        self.read_all()
    }

    fn read_all(&mut self) -> Checked {
        let hidden = self.state.prepared.values().chain(self.open.values()).flat_map(|u| &u.messages);
        let ids: Vec<Id> = self.state.messages.iter().chain(hidden).copied().collect();
        for id in ids {
            let place = self.places[&id];
            let read = self.journal().body(id, place).read();
            let record = read.map_err(|error| format!("cannot read {id} at {place}: {error}"))?;
            if record.body != body_of(id) || record.envelope != id.to_string() {
                return Err(format!("message {id} at {place} is another one"));
            }
        }
        Ok(())
    }

    fn with_batch(&mut self, work: impl FnOnce(&mut Self, &mut Batch)) {
        let mut batch = match self.batch.take() {
            Some(batch) => batch,
            None => self.journal().begin(),
        };
        work(self, &mut batch);
        let position = batch.position().batch;
        if self.later.last().map_or(&self.base, |l| &l.1) != &self.state {
            self.later.push((position, self.state.clone()));
        }
        self.batch = Some(batch);
    }

    fn put(&mut self, batch: &mut Batch, unit: Option<UnitId>) -> Id {
        // The id is known only afterwards: the body follows from it, so it is computed ahead and checked.
        let id = Id::new(batch.start(), batch.next_id);
        let message = NewMessage {
            unit,
            owner: OwnerId(7),
            order: None,
            priority: 4,
            persistent: true,
            expiry_ms: 0,
            tags: [1, 2],
            envelope: Bytes::from(id.to_string()),
            body: Bytes::from(body_of(id)),
            file: None,
        };
        let stored = batch.message(message);
        assert_eq!(stored.id, id);
        self.places.insert(id, stored.place);
        id
    }

    fn kill(&self, id: Id) -> Kill {
        Kill { id, place: self.places[&id] }
    }

    /// A message that no unit holds.
    fn free_message(&mut self) -> Option<Id> {
        let held: BTreeSet<Id> =
            self.open.values().chain(self.state.prepared.values()).flat_map(|u| &u.kills).copied().collect();
        let free: Vec<Id> = self.state.messages.difference(&held).copied().collect();
        let index = self.random.below(free.len() as u32) as usize;
        free.get(index).copied()
    }

    fn change(&mut self) -> (Vec<u8>, Option<Vec<u8>>) {
        self.values += 1;
        let value = (!self.random.one_in(4)).then(|| self.values.to_string().into_bytes());
        (vec![b'a' + self.random.below(4) as u8], value)
    }

    fn set(&mut self, (key, value): (Vec<u8>, Option<Vec<u8>>)) {
        match value {
            Some(value) => self.state.keyed.insert(key, value),
            None => self.state.keyed.remove(&key),
        };
    }

    fn some_unit(&mut self, batch: &mut Batch) -> UnitId {
        if self.open.is_empty() || (self.open.len() < 3 && self.random.one_in(2)) {
            let unit = batch.new_unit();
            self.open.insert(unit, Unit::default());
            return unit;
        }
        let index = self.random.below(self.open.len() as u32) as usize;
        *self.open.keys().nth(index).unwrap()
    }

    /// A unit to be decided: an open one or a prepared one.
    fn decide(&mut self) -> Option<(UnitId, Unit)> {
        let units: Vec<UnitId> = self.open.keys().chain(self.state.prepared.keys()).copied().collect();
        let unit = *units.get(self.random.below(units.len() as u32) as usize)?;
        let content = self.open.remove(&unit).or_else(|| self.state.prepared.remove(&unit));
        content.map(|content| (unit, content))
    }

    fn act(&mut self) {
        match self.random.below(20) {
            0..4 => self.with_batch(|world, batch| {
                let id = world.put(batch, None);
                world.issued.insert(id);
                world.state.messages.insert(id);
            }),
            4..7 => self.with_batch(|world, batch| {
                let unit = world.some_unit(batch);
                let id = world.put(batch, Some(unit));
                world.open.get_mut(&unit).unwrap().messages.push(id);
            }),
            7 => self.with_batch(|world, batch| {
                let unit = world.some_unit(batch);
                let (key, value) = world.change();
                world.open.get_mut(&unit).unwrap().changes.push((key.clone(), value.clone()));
                batch.keyed(Some(unit), KeyedChange { key, value: value.map(Bytes::from) });
            }),
            8 => {
                if let Some(id) = self.free_message() {
                    self.with_batch(|world, batch| {
                        let unit = world.some_unit(batch);
                        world.open.get_mut(&unit).unwrap().kills.push(id);
                    });
                }
            }
            9..12 => {
                if let Some((unit, content)) = self.decide() {
                    let change = self.random.one_in(2).then(|| self.change());
                    self.with_batch(|world, batch| world.commit(batch, unit, content, change));
                }
            }
            12 => {
                if let Some((unit, content)) = self.decide() {
                    let written = content.messages.iter().map(|id| self.kill(*id)).collect();
                    self.with_batch(|_, batch| batch.back_out(unit, written));
                }
            }
            13 => {
                if let Some((unit, content)) = self.open.pop_first() {
                    let kills = content.kills.iter().map(|id| self.kill(*id)).collect();
                    self.with_batch(|world, batch| {
                        batch.prepare(Prepare { unit, kills, note: Bytes::from_static(b"xid") });
                        world.state.prepared.insert(unit, content);
                    });
                }
            }
            14..17 => {
                if let Some(id) = self.free_message() {
                    self.with_batch(|world, batch| {
                        let mut commit = Commit::default();
                        commit.kills.push(world.kill(id));
                        batch.commit(commit);
                        world.state.messages.remove(&id);
                    });
                }
            }
            17 => self.with_batch(|world, batch| {
                let (key, value) = world.change();
                world.set((key.clone(), value.clone()));
                batch.keyed(None, KeyedChange { key, value: value.map(Bytes::from) });
            }),
            // Hand-over: a new message, the death of the old one and a mark, made real together.
            _ => {
                if let Some(id) = self.free_message() {
                    let change = self.change();
                    self.with_batch(|world, batch| {
                        let unit = batch.new_unit();
                        let new = world.put(batch, Some(unit));
                        let content = Unit { messages: vec![new], changes: vec![], kills: vec![id] };
                        world.commit(batch, unit, content, Some(change));
                    });
                }
            }
        }
    }

    fn commit(
        &mut self,
        batch: &mut Batch,
        unit: UnitId,
        content: Unit,
        change: Option<(Vec<u8>, Option<Vec<u8>>)>,
    ) {
        let mut commit = Commit { unit: Some(unit), ..Commit::default() };
        for id in &content.kills {
            commit.kills.push(self.kill(*id));
            self.state.messages.remove(id);
        }
        self.state.messages.extend(content.messages);
        for change in content.changes {
            self.set(change);
        }
        if let Some((key, value)) = change {
            commit.changes.push(KeyedChange { key: key.clone(), value: value.clone().map(Bytes::from) });
            self.set((key, value));
        }
        batch.commit(commit);
    }

    fn submit(&mut self) {
        if let Some(batch) = self.batch.take() {
            self.journal().submit(batch);
        }
    }

    fn maintain(&mut self) {
        self.clock_ms += 60_000;
        let clock = self.clock_ms;
        self.journal().maintain(clock);
    }

    /// Takes up what the watch was told, and restarts if it was a failure.
    fn settle(&mut self) -> Checked {
        let durable = self.told.durable.lock().unwrap().batch;
        while self.later.first().is_some_and(|l| l.0 <= durable) {
            self.base = self.later.remove(0).1;
        }
        let failures = self.told.failed.lock().unwrap().len();
        match failures {
            0 if !self.files.is_stopped() => Ok(()),
            0 | 1 => {
                self.down();
                self.up()
            }
            _ => Err(format!("a failure was told {failures} times")),
        }
    }

    fn run(&mut self, steps: u32) -> Checked {
        self.files.set_failing_syncs(self.random.below(3));
        self.up()?;
        for _ in 0..steps {
            if self.random.one_in(12) {
                self.files.set_fuse(Some(self.random.below(8)));
            }
            if self.random.one_in(60) {
                self.files.set_room(Some(u64::from(self.random.below(4)) * 20_000));
            }
            match self.random.below(16) {
                0..9 => self.act(),
                9 | 10 => self.submit(),
                11 | 12 => self.journal().turn_inline(),
                13 => {
                    self.submit();
                    self.journal().turn_inline();
                }
                14 => match self.random.below(3) {
                    0 => self.journal().idle_inline(),
                    _ => self.maintain(),
                },
                _ => {
                    if self.random.one_in(3) {
                        self.submit();
                        if let Some(journal) = self.journal.take() {
                            let _ = journal.close();
                        }
                        self.settle_without_restart();
                    }
                    if self.journal.is_none() || self.random.one_in(3) {
                        self.down();
                        self.up()?;
                    }
                }
            }
            self.settle()?;
        }
        self.finish()
    }

    fn settle_without_restart(&mut self) {
        self.told.failed.lock().unwrap().clear();
        // The error is the same as the fuse's or the failing sync's: what was acknowledged stays so.
        let _ = self.settle();
    }

    /// Everything durable, then everything dies: does the room come back?
    fn finish(&mut self) -> Checked {
        self.calm();
        self.submit();
        self.journal().turn_inline();
        self.settle()?;
        self.calm();
        self.read_all()?;
        while let Some((unit, content)) = self.decide() {
            self.with_batch(|world, batch| world.commit(batch, unit, content, None));
        }
        while let Some(id) = self.state.messages.pop_first() {
            let kill = self.kill(id);
            self.with_batch(|_, batch| batch.commit(Commit { kills: vec![kill], ..Commit::default() }));
        }
        for key in std::mem::take(&mut self.state.keyed).into_keys() {
            self.with_batch(|_, batch| batch.keyed(None, KeyedChange { key, value: None }));
        }
        self.submit();
        for _ in 0..3 {
            self.maintain();
            self.journal().turn_inline();
        }
        self.settle()?;
        self.down();
        self.calm();
        self.up()?;
        let segments = self.journal().stat().segments;
        if self.base != State::default() || segments > 1 {
            return Err(format!("room does not come back: {segments} segments, {:?}", self.base));
        }
        Ok(())
    }

    fn calm(&self) {
        self.files.set_fuse(None);
        self.files.set_failing_syncs(0);
        self.files.set_room(None);
    }
}

fn run(seed: u64, lie: Option<Lie>) -> Checked {
    let mut world = World::new(seed);
    world.files.set_lie(lie);
    world.run(70)
}

#[test]
fn crashes_in_every_file_operation_lose_nothing_acknowledged() {
    let seeds = std::env::var("STORE_CRASH_SEEDS").ok().and_then(|s| s.parse().ok()).unwrap_or(400);
    let first = std::env::var("STORE_CRASH_FROM").ok().and_then(|s| s.parse().ok()).unwrap_or(1);
    for seed in first..first + seeds {
        if let Err(error) = run(seed, None) {
            panic!("seed {seed}: {error}");
        }
    }
}

#[test]
fn each_broken_rule_of_the_disk_is_found() {
    for lie in [
        Lie::Directory("journal"),
        Lie::Directory(""),
        Lie::Files(".seg"),
        Lie::Files("checkpoint.new"),
        Lie::Lengths,
        Lie::FailedSync,
    ] {
        let found = (1..3000).find(|seed| {
            // What breaks may also show as a failed assertion of the test itself.
            let outcome = std::panic::catch_unwind(|| run(*seed, Some(lie)));
            !matches!(outcome, Ok(Ok(())))
        });
        assert!(found.is_some(), "{lie:?} was not found");
    }
}

#[test]
fn a_flipped_byte_is_reported_or_harmless() {
    for seed in 1..60 {
        let mut world = World::new(seed);
        world.run_until_claimed().unwrap();
        let (base, places) = (world.base.clone(), world.places.clone());
        world.journal = None;
        for flip in 0..12 {
            let files = world.files.fork(flip);
            let Some((path, offset)) = pick_byte(&files, &mut world.random) else { continue };
            files.flip(&path, offset, 1 << world.random.below(8));
            let watch = Arc::new(Told::default());
            let options = OpenOptions { index: false, segment_bytes: 0, ..OpenOptions::new("", watch) };
            let Ok((journal, recovered)) = Journal::open_inline(Arc::new(files), &options) else { continue };
            assert_eq!(state_of(&recovered), base, "seed {seed}, {path} at {offset}");
            for message in &recovered.messages {
                match journal.body(message.id, message.place).read() {
                    Ok(record) => assert_eq!(record.body, body_of(message.id)),
                    Err(StoreError::Damaged { .. } | StoreError::NotThere { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            assert!(base.messages.iter().all(|id| places.contains_key(id)));
        }
    }
}

impl World {
    /// Random work without faults, up to a moment at which everything is claimed.
    fn run_until_claimed(&mut self) -> Checked {
        self.up()?;
        for _ in 0..60 {
            self.act();
            if self.random.one_in(3) {
                self.submit();
                self.journal().turn_inline();
            }
            if self.random.one_in(15) {
                self.maintain();
            }
            if self.random.one_in(25) {
                self.submit();
                self.journal().turn_inline();
                self.settle()?;
                self.down();
                self.up()?;
            }
        }
        self.submit();
        self.journal().turn_inline();
        self.journal().idle_inline();
        self.settle()
    }
}

/// A byte that was written: not a hole of a segment, not the lock.
fn pick_byte(files: &SimFiles, random: &mut Random) -> Option<(String, usize)> {
    use crate::files::Files;
    let mut paths: Vec<String> =
        files.list("journal").unwrap().iter().map(|name| format!("journal/{name}")).collect();
    paths.push("checkpoint".to_owned());
    let path = paths.swap_remove(random.below(paths.len() as u32) as usize);
    let content = files.content(&path)?;
    let written: Vec<usize> = (0..content.len()).filter(|at| content[*at] != 0).collect();
    let offset = *written.get(random.below(written.len() as u32) as usize)?;
    Some((path, offset))
}
