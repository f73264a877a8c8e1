//! A store that keeps what was synced, and forgets the rest in a crash.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use store::{
    Batch, Commit, Id, Kill, Moved, Op, OwnerId, Place, Position, PreparedUnit, Recovered, RecoveredMessage,
    UnitId,
};

#[derive(Debug, Default)]
pub(super) struct Disk {
    batches: u32,
    pending: VecDeque<(Position, Vec<Op>, Vec<Moved>)>,
    durable: Position,
    keyed: BTreeMap<Vec<u8>, Bytes>,
    messages: BTreeMap<Id, RecoveredMessage>,
    units: BTreeMap<UnitId, Vec<RecoveredMessage>>,
    /// Of these, the ones that a crash spares, with what their owner noted.
    prepared: BTreeMap<UnitId, Bytes>,
    /// Bodies stay readable after the death of their message.
    bodies: BTreeMap<Id, (Bytes, Bytes)>,
    /// Where each message lies that lives as the core knows it, what is not synced included.
    places: BTreeMap<Id, Place>,
    /// Old places that somebody keeps.
    kept: BTreeMap<Id, Vec<Place>>,
    /// Moves of the batch that is open.
    moving: Vec<Moved>,
    moves: u32,
}

impl Disk {
    /// Every batch has a start of its own, so that ids and positions grow over batches and crashes.
    pub(super) fn begin(&mut self) -> Batch {
        self.batches += 1;
        Batch::detached(self.batches)
    }

    pub(super) fn submit(&mut self, batch: &Batch) {
        let moving = std::mem::take(&mut self.moving);
        if batch.is_empty() && moving.is_empty() {
            return;
        }
        for op in batch.ops() {
            match op {
                Op::Message(stored, message) => {
                    self.bodies.insert(stored.id, (message.envelope.clone(), message.body.clone()));
                    self.places.insert(stored.id, stored.place);
                }
                Op::Commit(Commit { kills, .. }) | Op::BackOut(_, kills) => {
                    for Kill { id, place } in kills {
                        let newest = self.places.remove(id);
                        let kept = self.kept.remove(id).unwrap_or_default();
                        let known = newest == Some(*place) || (newest.is_some() && kept.contains(place));
                        assert!(known, "{id} dies twice, or elsewhere");
                    }
                }
                _ => {}
            }
        }
        self.pending.push_back((batch.position(), batch.ops().to_vec(), moving));
    }

    /// Messages that compaction may move: they are on disk, and live.
    pub(super) fn movable(&self) -> Vec<Id> {
        let written = self.units.values().flatten().map(|message| message.id);
        let real = self.messages.keys().copied();
        written.chain(real).filter(|id| self.places.contains_key(id)).collect()
    }

    /// Whether the area keeps the place where the message lay.
    pub(super) fn told(&mut self, moved: &Moved, kept: bool) {
        if kept {
            self.kept.entry(moved.id).or_default().push(moved.from);
        } else {
            self.kept.remove(&moved.id);
        }
    }

    /// Moves one of them in the turn whose batch is open; the area must be told.
    pub(super) fn relocate(&mut self, id: Id) -> Moved {
        let written = self.units.values().flatten().find(|message| message.id == id);
        let RecoveredMessage { owner, order, priority, .. } =
            *written.or_else(|| self.messages.get(&id)).unwrap();
        self.moves += 1;
        let to = Place { segment: 1_000_000 + self.moves, offset: self.moves, record: self.moves };
        let from = self.places.insert(id, to).unwrap();
        let moved = Moved { id, owner, order, priority, from, to };
        self.moving.push(moved);
        moved
    }

    /// Syncs the oldest batch. False if there was none.
    pub(super) fn sync(&mut self) -> bool {
        let Some((position, ops, moved)) = self.pending.pop_front() else { return false };
        ops.into_iter().for_each(|op| self.apply(op));
        for Moved { id, to, .. } in moved {
            let written = self.units.values_mut().flatten().find(|message| message.id == id);
            if let Some(message) = written.or(self.messages.get_mut(&id)) {
                message.place = to;
            }
        }
        self.durable = position;
        true
    }

    pub(super) fn crash(&mut self) -> Recovered {
        self.pending.clear();
        self.units.retain(|unit, _| self.prepared.contains_key(unit));
        self.kept.clear();
        let all = self.messages.values().chain(self.units.values().flatten());
        self.places = all.map(|message| (message.id, message.place)).collect();
        self.recovered()
    }

    pub(super) fn recovered(&self) -> Recovered {
        Recovered {
            keyed: self.keyed.iter().map(|(key, value)| (key.clone(), value.clone())).collect(),
            messages: self.messages.values().copied().collect(),
            prepared: self
                .prepared
                .iter()
                .map(|(unit, note)| PreparedUnit {
                    unit: *unit,
                    messages: self.units[unit].clone(),
                    changes: Vec::new(),
                    kills: Vec::new(),
                    note: note.clone(),
                })
                .collect(),
            restored: false,
        }
    }

    /// The messages of an owner that are on disk.
    pub(super) fn messages_of(&self, owner: OwnerId) -> Vec<RecoveredMessage> {
        self.messages.values().filter(|message| message.owner == owner).copied().collect()
    }

    pub(super) fn durable(&self) -> Position {
        self.durable
    }

    pub(super) fn pending(&self) -> usize {
        self.pending.len()
    }

    pub(super) fn body(&self, id: Id) -> (Bytes, Bytes) {
        self.bodies[&id].clone()
    }

    /// The first durable key that begins so, with its value.
    pub(super) fn first(&self, prefix: &[u8]) -> Option<(Vec<u8>, Bytes)> {
        let found = self.keyed.iter().find(|(key, _)| key.starts_with(prefix));
        found.map(|(key, value)| (key.to_vec(), value.clone()))
    }

    /// Values of the durable keys that begin so.
    pub(super) fn values(&self, prefix: &[u8]) -> Vec<Bytes> {
        let keys = self.keyed.iter().filter(|(key, _)| key.starts_with(prefix));
        keys.map(|(_, value)| value.clone()).collect()
    }

    fn apply(&mut self, op: Op) {
        match op {
            Op::Message(stored, message) => {
                let entry = message.recovered(&stored);
                match message.unit {
                    Some(unit) => self.units.entry(unit).or_default().push(entry),
                    None => drop(self.messages.insert(entry.id, entry)),
                }
            }
            Op::Commit(Commit { unit, kills, changes }) => {
                let real = unit.and_then(|unit| self.units.remove(&unit)).unwrap_or_default();
                unit.and_then(|unit| self.prepared.remove(&unit));
                self.messages.extend(real.into_iter().map(|entry| (entry.id, entry)));
                for kill in kills {
                    assert!(self.messages.remove(&kill.id).is_some(), "{} dies twice", kill.id);
                }
                for change in changes {
                    match change.value {
                        Some(value) => drop(self.keyed.insert(change.key, value)),
                        None => drop(self.keyed.remove(&change.key)),
                    }
                }
            }
            Op::BackOut(unit, _) => {
                self.units.remove(&unit);
                self.prepared.remove(&unit);
            }
            Op::Prepare(prepare) => drop(self.prepared.insert(prepare.unit, prepare.note)),
            Op::Keyed(..) | Op::Moved(_) => unreachable!("the area does not use them"),
        }
    }
}
