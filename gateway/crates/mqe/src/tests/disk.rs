//! A store that keeps what was synced, and forgets the rest in a crash.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use store::{Batch, Commit, Id, Op, Position, Recovered, RecoveredMessage, UnitId};

#[derive(Debug, Default)]
pub(super) struct Disk {
    batches: u32,
    pending: VecDeque<(Position, Vec<Op>)>,
    durable: Position,
    keyed: BTreeMap<Vec<u8>, Bytes>,
    messages: BTreeMap<Id, RecoveredMessage>,
    units: BTreeMap<UnitId, Vec<RecoveredMessage>>,
    /// Bodies stay readable after the death of their message.
    bodies: BTreeMap<Id, (Bytes, Bytes)>,
}

impl Disk {
    /// Every batch has a start of its own, so that ids and positions grow over batches and crashes.
    pub(super) fn begin(&mut self) -> Batch {
        self.batches += 1;
        Batch::detached(self.batches)
    }

    pub(super) fn submit(&mut self, batch: &Batch) {
        if batch.is_empty() {
            return;
        }
        for op in batch.ops() {
            if let Op::Message(stored, message) = op {
                self.bodies.insert(stored.id, (message.envelope.clone(), message.body.clone()));
            }
        }
        self.pending.push_back((batch.position(), batch.ops().to_vec()));
    }

    /// Syncs the oldest batch. False if there was none.
    pub(super) fn sync(&mut self) -> bool {
        let Some((position, ops)) = self.pending.pop_front() else { return false };
        ops.into_iter().for_each(|op| self.apply(op));
        self.durable = position;
        true
    }

    pub(super) fn crash(&mut self) -> Recovered {
        self.pending.clear();
        self.units.clear();
        self.recovered()
    }

    pub(super) fn recovered(&self) -> Recovered {
        Recovered {
            keyed: self.keyed.iter().map(|(key, value)| (key.clone(), value.clone())).collect(),
            messages: self.messages.values().copied().collect(),
            prepared: Vec::new(),
            restored: false,
        }
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

    /// Values of the durable keys that begin so.
    pub(super) fn values(&self, prefix: &[u8]) -> Vec<Bytes> {
        let keys = self.keyed.iter().filter(|(key, _)| key.starts_with(prefix));
        keys.map(|(_, value)| value.clone()).collect()
    }

    fn apply(&mut self, op: Op) {
        match op {
            Op::Message(stored, message) => {
                let entry = RecoveredMessage {
                    id: stored.id,
                    owner: message.owner,
                    order: stored.order,
                    priority: message.priority,
                    persistent: message.persistent,
                    expiry_ms: message.expiry_ms,
                    tags: message.tags,
                    place: stored.place,
                    envelope_length: message.envelope.len() as u32,
                    body_length: message.body.len() as u32,
                };
                match message.unit {
                    Some(unit) => self.units.entry(unit).or_default().push(entry),
                    None => drop(self.messages.insert(entry.id, entry)),
                }
            }
            Op::Commit(Commit { unit, kills, changes }) => {
                let real = unit.and_then(|unit| self.units.remove(&unit)).unwrap_or_default();
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
            Op::BackOut(unit, _) => drop(self.units.remove(&unit)),
            Op::Keyed(..) | Op::Prepare(_) | Op::Moved(_) => unreachable!("the area does not use them"),
        }
    }
}
