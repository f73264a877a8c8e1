//! Random work on a simulated disk, and what must be there after each crash.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;

use super::super::{Journal, OpenOptions};
use super::Told;
use crate::bodies::BodyFile;
use crate::files::Files;
use crate::files::sim::{Random, SimFiles};
use crate::second_reader::{self, Held, Source};
use crate::{
    Batch, Commit, Id, KeyedChange, Kill, NewMessage, OwnerId, Place, Position, Prepare, Recovered, Room,
    Store, StoreError, UnitId, Watch,
};

type Changes = Vec<(Vec<u8>, Option<Vec<u8>>)>;

/// What a store holds, as its user sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct State {
    pub(super) messages: BTreeSet<Id>,
    keyed: BTreeMap<Vec<u8>, Vec<u8>>,
    prepared: BTreeMap<UnitId, Unit>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Unit {
    messages: Vec<Id>,
    changes: Changes,
    kills: Vec<Id>,
}

pub(super) struct World {
    pub(super) random: Random,
    pub(super) files: SimFiles,
    told: Arc<Told>,
    pub(super) journal: Option<Box<Journal>>,
    batch: Option<Batch>,
    clock_ms: u64,
    values: u32,
    pub(super) places: BTreeMap<Id, Place>,
    /// What the body of each is made from: a hand-over keeps it.
    contents: BTreeMap<Id, u64>,
    pub(super) issued: BTreeSet<Id>,
    open: BTreeMap<UnitId, Unit>,
    state: State,
    /// What was acknowledged or shown, and what may be there beyond it, with the batch that makes it so.
    pub(super) base: State,
    later: Vec<(u64, State)>,
    /// How often something happened that the test is about.
    pub(super) seen: Seen,
}

/// What has happened.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Seen {
    pub(super) crashes: u32,
    pub(super) recoveries: u32,
    pub(super) moved: u32,
    pub(super) recycled: u64,
    pub(super) files: u32,
    pub(super) short: u32,
}

impl Seen {
    pub(super) fn add(&mut self, other: Self) {
        self.crashes += other.crashes;
        self.recoveries += other.recoveries;
        self.moved += other.moved;
        self.recycled += other.recycled;
        self.files += other.files;
        self.short += other.short;
    }

    /// Whether each of them has happened.
    pub(super) fn is_everything(&self) -> bool {
        let Self { crashes, recoveries, moved, recycled, files, short } = *self;
        [crashes, recoveries, moved, files, short].iter().all(|count| *count > 0) && recycled > 0
    }
}

pub(super) type Checked = Result<(), String>;

pub(super) fn body_of(content: u64) -> Vec<u8> {
    let length = (content.wrapping_mul(2_654_435_761) >> 7) % 6000;
    format!("{content}/").into_bytes().into_iter().cycle().take(length as usize).collect()
}

pub(super) fn state_of(recovered: &Recovered) -> State {
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
    pub(super) fn new(seed: u64) -> Self {
        Self {
            random: Random::new(seed),
            files: SimFiles::new(seed ^ 0x5eed),
            told: Arc::default(),
            journal: None,
            batch: None,
            clock_ms: 0,
            values: 0,
            places: BTreeMap::new(),
            contents: BTreeMap::new(),
            issued: BTreeSet::new(),
            open: BTreeMap::new(),
            state: State::default(),
            base: State::default(),
            later: Vec::new(),
            seen: Seen::default(),
        }
    }

    pub(super) fn content(&self, id: Id) -> u64 {
        self.contents[&id]
    }

    pub(super) fn journal(&mut self) -> &mut Journal {
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
            // The first reader has not written anything yet.
            let before = self.random.one_in(3).then(|| second_reader::read(&self.files));
            self.told = Arc::default();
            let watch = Arc::clone(&self.told) as Arc<dyn Watch>;
            let options =
                OpenOptions { index: false, segment_bytes: 0, cache_bytes: 0, ..OpenOptions::new("", watch) };
            let opened = Journal::open_inline(Arc::new(self.files.clone()), &options);
            self.files.set_fuse(None);
            match opened {
                Ok((journal, recovered)) => {
                    self.journal = Some(Box::new(journal));
                    match before {
                        Some(Ok(held)) => self.agrees(&recovered, &held)?,
                        Some(Err(refusal)) => {
                            return Err(format!("the second reader refuses what was started: {refusal:?}"));
                        }
                        None => {}
                    }
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

    pub(super) fn down(&mut self) {
        self.seen.crashes += 1;
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

    /// Whether the second reader, which knows FORMAT.md and not this code, has found the same.
    fn agrees(&self, recovered: &Recovered, held: &Held) -> Checked {
        let keyed = recovered.keyed.iter().map(|(key, value)| (key.clone(), value.to_vec()));
        if keyed.collect::<BTreeMap<_, _>>() != held.keyed {
            return Err(format!("the second reader has keys {:?}", held.keyed));
        }
        let mine: BTreeSet<u64> = recovered.messages.iter().map(|m| m.id.as_u64()).collect();
        if mine != held.messages.keys().copied().collect() {
            return Err(format!("the second reader has messages {:?}", held.messages.keys()));
        }
        let prepared: Vec<u64> = recovered.prepared.iter().map(|p| p.unit.0.as_u64()).collect();
        if prepared != held.prepared.keys().copied().collect::<Vec<_>>() {
            return Err(format!("the second reader has prepared {:?}", held.prepared.keys()));
        }
        for (mine, theirs) in recovered.prepared.iter().zip(held.prepared.values()) {
            let ids: BTreeSet<u64> = mine.messages.iter().map(|m| m.id.as_u64()).collect();
            let changes = mine.changes.iter().map(|c| (c.key.clone(), c.value.as_ref().map(|v| v.to_vec())));
            let kills: Vec<u64> = mine.kills.iter().map(|kill| kill.id.as_u64()).collect();
            if ids != theirs.messages.keys().copied().collect()
                || changes.collect::<Vec<_>>() != theirs.changes
                || kills != theirs.kills
            {
                return Err(format!("the second reader has another prepared unit: {theirs:?}"));
            }
        }
        let all = held.messages.iter().chain(held.prepared.values().flat_map(|p| &p.messages));
        for (id, message) in all {
            let content = self.contents.get(&Id::from_u64(*id));
            if content.is_none_or(|content| message.body != body_of(*content)) {
                return Err(format!("the second reader has another body of {}", Id::from_u64(*id)));
            }
        }
        Ok(())
    }

    fn read_all(&mut self) -> Checked {
        let hidden = self.state.prepared.values().chain(self.open.values()).flat_map(|u| &u.messages);
        let ids: Vec<Id> = self.state.messages.iter().chain(hidden).copied().collect();
        let entries = self.journal().entries(OwnerId(7)).read();
        let entries = entries.map_err(|error| format!("the entries cannot be read: {error}"))?;
        if entries.iter().map(|entry| entry.id).collect::<BTreeSet<_>>() != self.state.messages {
            return Err(format!("entries {entries:?} instead of {:?}", self.state.messages));
        }
        for entry in entries {
            let read = self.journal().body(entry.id, entry.place).read();
            if !read.is_ok_and(|record| record.body.len() == entry.body_length as usize) {
                return Err(format!("the entry {entry:?} is wrong"));
            }
        }
        for id in ids {
            let place = self.places[&id];
            let read = self.journal().body(id, place).read();
            let record = read.map_err(|error| format!("cannot read {id} at {place}: {error}"))?;
            if record.body != body_of(self.contents[&id]) || record.envelope != id.to_string() {
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
        let content = batch.next_id << 8 | u64::from(batch.start() & 0xFF);
        let file = if self.random.one_in(4) { self.write_file(content) } else { None };
        self.put_content(batch, unit, content, file)
    }

    /// The second half of a body, in a file of its own. Without one if that fails.
    fn write_file(&mut self, content: u64) -> Option<BodyFile> {
        let body = body_of(content);
        let file = self.journal().body_files().write(&body[body.len() / 2..]).ok();
        self.seen.files += u32::from(file.is_some());
        file
    }

    fn put_content(
        &mut self,
        batch: &mut Batch,
        unit: Option<UnitId>,
        content: u64,
        file: Option<BodyFile>,
    ) -> Id {
        // The id is known only afterwards: the envelope follows from it, so it is computed ahead and checked.
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
            body: Bytes::from(body_of(content)),
            file,
        };
        let stored = batch.message(message);
        assert_eq!(stored.id, id);
        self.places.insert(id, stored.place);
        self.contents.insert(id, content);
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
            // Hand-over: a new message with the body of the old one, that one's death and a mark, made real together.
            _ => {
                if let Some(id) = self.free_message() {
                    let change = self.change();
                    let place = self.places[&id];
                    let file = self.journal().body(id, place).read().ok().and_then(|record| record.file);
                    let content = self.contents[&id];
                    self.with_batch(|world, batch| {
                        let unit = batch.new_unit();
                        let new = world.put_content(batch, Some(unit), content, file);
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

    pub(super) fn maintain(&mut self) {
        self.clock_ms += if self.random.one_in(3) { 60_000 } else { 1_000 };
        let clock = self.clock_ms;
        self.journal().maintain(clock);
    }

    /// Lets compaction move something. Whoever keeps places may take up the new ones or not.
    fn compact(&mut self) {
        self.with_batch(|world, batch| {
            let World { journal, places, random, seen, .. } = world;
            let Some(journal) = journal else { return };
            journal.compact(batch, &mut |moved| {
                seen.moved += 1;
                let known = random.one_in(2);
                if let Some(place) = places.get_mut(&moved.id).filter(|_| known) {
                    *place = moved.to;
                }
                known
            });
        });
    }

    /// The process goes on after a failure, without a new one.
    fn recover(&mut self) -> Checked {
        self.batch = None;
        self.seen.recoveries += 1;
        if self.random.one_in(2) {
            self.files.evict();
        }
        self.told.failed.lock().unwrap().clear();
        *self.told.durable.lock().unwrap() = Position::default();
        self.files.set_room(None);
        self.files.set_fuse(self.random.one_in(3).then(|| self.random.below(24)));
        let recovered = self.journal().recover();
        self.files.set_fuse(None);
        match recovered {
            Ok(recovered) => {
                self.compare(&recovered)?;
                if self.files.is_stopped() {
                    self.down();
                    self.up()?;
                }
                Ok(())
            }
            // The process ends.
            Err(StoreError::Io { .. }) => {
                self.down();
                self.up()
            }
            Err(error) => Err(format!("the recovery failed: {error}")),
        }
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
            1 if !self.files.is_stopped() && self.journal.is_some() && self.random.one_in(2) => {
                self.recover()
            }
            0 | 1 => {
                self.down();
                self.up()
            }
            _ => Err(format!("a failure was told {failures} times")),
        }
    }

    pub(super) fn run(&mut self, steps: u32) -> Checked {
        self.files.set_failing_syncs(self.random.below(3));
        self.up()?;
        for _ in 0..steps {
            if self.random.one_in(12) {
                self.files.set_fuse(Some(self.random.below(8)));
            }
            if self.random.one_in(25) {
                self.files.set_failing_syncs(1 + self.random.below(2));
            }
            if self.random.one_in(60) {
                self.files.set_room(Some(u64::from(self.random.below(4)) * 20_000));
            }
            match self.random.below(18) {
                16 | 17 => {
                    self.maintain();
                    self.compact();
                }
                0..9 => self.act(),
                9 | 10 => self.submit(),
                11 | 12 => self.journal().turn_inline(),
                13 => {
                    self.submit();
                    self.journal().turn_inline();
                }
                14 => match self.random.below(5) {
                    0 => self.journal().idle_inline(),
                    1 => self.journal().look_for_room_inline(),
                    2 | 3 => self.compact(),
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
            if let Some(journal) = &self.journal {
                self.seen.short += u32::from(journal.room() == Room::Short);
                self.seen.recycled = self.seen.recycled.max(journal.stat().recycled);
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

impl World {
    /// Random work without faults, up to a moment at which everything is claimed.
    pub(super) fn run_until_claimed(&mut self) -> Checked {
        self.up()?;
        for _ in 0..60 {
            self.act();
            if self.random.one_in(3) {
                self.submit();
                self.journal().turn_inline();
            }
            if self.random.one_in(15) {
                self.maintain();
                self.compact();
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

impl Source for SimFiles {
    fn list(&self, directory: &str) -> Vec<String> {
        Files::list(self, directory).unwrap_or_default()
    }

    fn read(&self, path: &str) -> Option<Vec<u8>> {
        self.content(path)
    }
}
