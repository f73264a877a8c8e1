//! A batch of records: what one turn of the core makes durable.
//!
//! Atomicity never comes from the batch: each operation is real by itself or not at all. Whatever belongs together
//! is written ahead under a unit ([`NewMessage::unit`]) and made real by one [`Commit`], which also kills old
//! messages and sets keyed state. Several machines may contribute to one [`Commit`] before it is added.

use std::sync::Arc;

use bytes::Bytes;

use crate::format::record;
use crate::head::Head;
use crate::layout::{GroupPlan, Layout, Spot};
use crate::{
    BodyFile, BodyRef, Id, OwnerId, Place, Position, ReadRecord, Record, RecoveredMessage, StoreError, UnitId,
};

/// A message to be stored.
#[derive(Debug, Clone)]
pub struct NewMessage {
    /// The unit that makes it real, or none: then it is real by itself.
    pub unit: Option<UnitId>,
    /// Whose it is.
    pub owner: OwnerId,
    /// The order key within owner and priority; `None` takes the id.
    pub order: Option<u64>,
    /// 0 to 9.
    pub priority: u8,
    /// Whether it survives a restart.
    pub persistent: bool,
    /// Wall clock milliseconds since 1970 at which it expires; 0 is never.
    pub expiry_ms: u64,
    /// Two hashes of the caller's, kept in the index (MsgId and CorrelId).
    pub tags: [u64; 2],
    /// The caller's description of the body.
    pub envelope: Bytes,
    /// The body, all of it.
    pub body: Bytes,
    /// The file that holds the end of the body, written before ([`crate::BodyFiles::write`]): the record has only
    /// what comes before that.
    pub file: Option<BodyFile>,
}

impl NewMessage {
    /// What a start would find of it, once it is real.
    pub fn recovered(&self, stored: &Stored) -> RecoveredMessage {
        RecoveredMessage {
            id: stored.id,
            owner: self.owner,
            order: stored.order,
            priority: self.priority,
            persistent: self.persistent,
            expiry_ms: self.expiry_ms,
            tags: self.tags,
            place: stored.place,
            envelope_length: self.envelope.len() as u32,
            body_length: self.body.len() as u32,
        }
    }
}

/// What became of a [`NewMessage`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stored {
    /// Its id.
    pub id: Id,
    /// Its order key.
    pub order: u64,
    /// Where it will lie.
    pub place: Place,
}

/// The death of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kill {
    /// Which message.
    pub id: Id,
    /// Where it lies.
    pub place: Place,
}

/// A change of keyed state: a value, or none to remove the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyedChange {
    /// Composite, big-endian, so that a scan is the order wanted.
    pub key: Vec<u8>,
    /// The new value.
    pub value: Option<Bytes>,
}

/// Makes a unit real, kills messages and changes keyed state: all of it or nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Commit {
    /// The unit whose records become real. None where nothing was written ahead.
    pub unit: Option<UnitId>,
    /// What dies with it.
    pub kills: Vec<Kill>,
    /// What is set with it.
    pub changes: Vec<KeyedChange>,
}

impl Commit {
    /// Adds a death.
    pub fn kill(&mut self, id: Id, place: Place) {
        self.kills.push(Kill { id, place });
    }

    /// Sets a key.
    pub fn set(&mut self, key: impl Into<Vec<u8>>, value: impl Into<Bytes>) {
        self.changes.push(KeyedChange { key: key.into(), value: Some(value.into()) });
    }

    /// Removes a key.
    pub fn remove(&mut self, key: impl Into<Vec<u8>>) {
        self.changes.push(KeyedChange { key: key.into(), value: None });
    }

    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        self.unit.is_none() && self.kills.is_empty() && self.changes.is_empty()
    }
}

/// A unit that was asked "can you commit?" and said yes: it survives a restart, with what it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepare {
    /// The unit; what was written under it before belongs to it.
    pub unit: UnitId,
    /// The messages that its commit will kill.
    pub kills: Vec<Kill>,
    /// The caller's description of it (the transaction manager's name for it, say).
    pub note: Bytes,
}

/// One operation of a batch, as it goes into the journal.
#[derive(Debug, Clone)]
pub enum Op {
    /// A message.
    Message(Stored, NewMessage),
    /// A change of keyed state that becomes real with its unit; without one it is real by itself.
    Keyed(Option<UnitId>, KeyedChange),
    /// A commit record.
    Commit(Commit),
    /// The end of a unit that did not become real, with what it had written.
    BackOut(UnitId, Vec<Kill>),
    /// A unit that is prepared.
    Prepare(Prepare),
    /// Copies of live records, which compaction has read elsewhere. Only [`crate::Store::compact`] adds this.
    Moved(Vec<MovedRecord>),
}

/// A copy of a record, byte for byte.
#[derive(Debug, Clone)]
pub struct MovedRecord {
    /// Where it lay.
    pub(crate) from: Place,
    pub(crate) bytes: Bytes,
    /// Its unit is not decided.
    pub(crate) undecided: bool,
    pub(crate) what: MovedWhat,
}

/// What a copy is of.
#[derive(Debug, Clone)]
pub(crate) enum MovedWhat {
    Message {
        id: Id,
        /// The unit under which it was written, decided or not.
        unit: Option<UnitId>,
        /// Somebody still keeps the old place.
        kept: bool,
    },
    Keyed(Vec<u8>),
    /// A change of a unit that is not decided, or the record that it is prepared.
    OfUnit(UnitId),
}

/// The records of one turn of the core. See the module's text on what is atomic.
#[derive(Debug)]
pub struct Batch {
    pub(crate) position: Position,
    pub(crate) next_id: u64,
    pub(crate) next_unit: u64,
    pub(crate) ops: Vec<Op>,
    /// Where the record of each operation lies.
    pub(crate) places: Vec<Place>,
    /// Index of the operation of each message: their ids follow each other.
    pub(crate) messages: Vec<u32>,
    pub(crate) groups: Vec<GroupPlan>,
    /// Where segments end that this batch leaves behind.
    pub(crate) left: Vec<Spot>,
    pub(crate) bytes: usize,
    /// Bytes of bodies that are in files, which this keeps in memory beside.
    pub(crate) file_bytes: usize,
    /// Fixed when the first record is added: until then the committer may still place a mark.
    layout: Option<Layout>,
    head: Arc<Head>,
}

impl Batch {
    /// A batch that belongs to no store, for tests of machines that write into one.
    pub fn detached(start: u32) -> Self {
        let layout = Layout::new(DETACHED_SEGMENT_BYTES, Spot { segment: 1, offset: 0 }, 0, 0);
        Self::new(Position { start, batch: 1 }, 1, 1, Arc::new(Head::new(layout)))
    }

    /// The batch with this position, whose ids and units begin here.
    pub(crate) fn new(position: Position, next_id: u64, next_unit: u64, head: Arc<Head>) -> Self {
        Self {
            position,
            next_id,
            next_unit,
            ops: Vec::new(),
            places: Vec::new(),
            messages: Vec::new(),
            groups: Vec::new(),
            left: Vec::new(),
            bytes: 0,
            file_bytes: 0,
            layout: None,
            head,
        }
    }

    /// The position at which what was added is durable; for the answers that depend on it.
    pub fn position(&self) -> Position {
        self.position
    }

    /// The number of this start.
    pub fn start(&self) -> u32 {
        self.position.start
    }

    /// A new unit id. It costs nothing until something is written under it.
    pub fn new_unit(&mut self) -> UnitId {
        let unit = UnitId(Id::new(self.position.start, self.next_unit));
        self.next_unit += 1;
        unit
    }

    /// Adds a message; id and place are final. Envelope and body together may have up to 1 GiB.
    pub fn message(&mut self, message: NewMessage) -> Stored {
        let id = Id::new(self.position.start, self.next_id);
        self.next_id += 1;
        let order = message.order.unwrap_or(id.as_u64());
        let place = self.place(record::message_length(&message), 1, record::MESSAGE_LINE);
        let stored = Stored { id, order, place };
        self.messages.push(self.ops.len() as u32);
        if let Some(file) = &message.file {
            self.file_bytes = self.file_bytes.saturating_add(file.name.length as usize);
        }
        self.push(Op::Message(stored, message), place);
        stored
    }

    /// Adds a change of keyed state under a unit, or one that is real by itself.
    pub fn keyed(&mut self, unit: Option<UnitId>, change: KeyedChange) {
        let place = self.place(record::keyed_length(&change), 1, record::SHORT_LINE);
        self.push(Op::Keyed(unit, change), place);
    }

    /// Adds a commit record; an empty one is left out.
    pub fn commit(&mut self, commit: Commit) {
        if !commit.is_empty() {
            let records = 1 + commit.changes.len() as u32;
            let lines = u64::from(records) * record::SHORT_LINE;
            let place = self.place(record::commit_length(&commit), records, lines);
            self.push(Op::Commit(commit), place);
        }
    }

    /// Ends a unit that shall never become real; `written` is what it had written.
    pub fn back_out(&mut self, unit: UnitId, written: Vec<Kill>) {
        let place = self.place(record::SHORT_HEAD, 1, record::SHORT_LINE);
        self.push(Op::BackOut(unit, written), place);
    }

    /// Adds the record that a unit is prepared: from now on it survives a restart.
    pub fn prepare(&mut self, prepare: Prepare) {
        let place = self.place(record::prepare_length(&prepare), 1, record::SHORT_LINE);
        self.push(Op::Prepare(prepare), place);
    }

    /// Adds copies of records; gives where each will lie.
    pub(crate) fn moved(&mut self, moved: Vec<MovedRecord>) -> Vec<Place> {
        let lines = record::moved_lines_length(&moved);
        let place = self.place(record::moved_length(&moved), 1 + moved.len() as u32, lines);
        let places = record::moved_places(&moved, place).collect();
        self.push(Op::Moved(moved), place);
        places
    }

    /// What was added so far.
    pub fn ops(&self) -> &[Op] {
        &self.ops
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// Bytes of all records so far, as they will be written; the core hands a batch over when it is large enough.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The body of a message that was added, before the batch is handed over.
    pub fn body(&self, id: Id) -> Option<BodyRef> {
        let (stored, message) = self.find(id)?;
        let NewMessage { owner, envelope, body, file, .. } = message.clone();
        let record = Record { owner, envelope, body, file };
        Some(BodyRef::new(id, stored.place, Arc::new(Added(record))))
    }

    /// The message with this id, if it is in this batch.
    pub(crate) fn find(&self, id: Id) -> Option<(&Stored, &NewMessage)> {
        let first = self.next_id.checked_sub(self.messages.len() as u64)?;
        let index = usize::try_from(id.counter().checked_sub(first)?).ok()?;
        match self.ops.get(*self.messages.get(index)? as usize)? {
            Op::Message(stored, message) if stored.id == id => Some((stored, message)),
            _ => None,
        }
    }

    /// Ends the last group and gives the layout back to the store.
    pub(crate) fn seal(&mut self) {
        if let Some(mut layout) = self.layout.take() {
            layout.close();
            self.head.give_back(layout);
        }
    }

    fn place(&mut self, bytes: u64, records: u32, lines: u64) -> Place {
        self.bytes = self.bytes.saturating_add(usize::try_from(bytes).unwrap_or(usize::MAX));
        let layout = self.layout.get_or_insert_with(|| self.head.take());
        let before = layout.end_of_group();
        let (place, opened) = layout.place(bytes, records, lines);
        if place.segment != before.segment {
            self.left.push(before);
        }
        if let Some(spot) = opened {
            self.groups.push(GroupPlan { spot, first_record: place.record, first_op: self.ops.len() });
        }
        place
    }

    fn push(&mut self, op: Op, place: Place) {
        self.ops.push(op);
        self.places.push(place);
    }
}

/// A record that is still to be written.
#[derive(Debug)]
struct Added(Record);

impl ReadRecord for Added {
    fn read(&self, _id: Id, _place: Place) -> Result<Record, StoreError> {
        Ok(self.0.clone())
    }

    fn is_cached(&self, _place: Place) -> bool {
        true
    }
}

const DETACHED_SEGMENT_BYTES: u64 = 64 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    /// What a batch will write bounds the gathering, whatever it is made of.
    #[test]
    fn every_record_counts() {
        let mut batch = Batch::detached(1);
        let unit = batch.new_unit();
        let (id, place) = (Id::new(1, 1), Place::default());
        let change = KeyedChange { key: vec![b'k'; 10], value: Some(Bytes::from(vec![0; 1_000])) };
        let mut commit = Commit::default();
        commit.set(vec![b'k'; 10], vec![0; 1_000]);
        (0..100).for_each(|_| commit.kill(id, place));
        let kills = vec![Kill { id, place }; 100];
        let message = NewMessage {
            unit: Some(unit),
            owner: OwnerId(1),
            order: None,
            priority: 0,
            persistent: true,
            expiry_ms: 0,
            tags: [0; 2],
            envelope: Bytes::from(vec![0; 500]),
            body: Bytes::from(vec![0; 500]),
            file: None,
        };
        let adds: [&dyn Fn(&mut Batch); 5] = [
            &|batch| _ = batch.message(message.clone()),
            &|batch| batch.keyed(Some(unit), change.clone()),
            &|batch| batch.prepare(Prepare { unit, kills: kills.clone(), note: Bytes::from(vec![0; 9]) }),
            &|batch| batch.commit(commit.clone()),
            &|batch| batch.back_out(unit, Vec::new()),
        ];
        for (add, least) in adds.iter().zip([1_000, 1_010, 809, 1_810, 8]) {
            let before = batch.bytes();
            add(&mut batch);
            assert!(batch.bytes() - before >= least, "{:?}", batch.ops().last());
        }
        // Just what lies between the first record and where the next one would.
        let end = batch.place(1, 1, 1);
        assert_eq!(batch.places[0].offset as usize + batch.bytes() - 1, end.offset as usize);
    }
}
