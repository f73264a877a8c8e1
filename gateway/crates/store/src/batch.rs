//! A batch of records: what one turn of the core makes durable.
//!
//! Atomicity never comes from the batch: each operation is real by itself or not at all. Whatever belongs together
//! is written ahead under a unit ([`NewMessage::unit`]) and made real by one [`Commit`], which also kills old
//! messages and sets keyed state. Several machines may contribute to one [`Commit`] before it is added.

use bytes::Bytes;

use crate::{Id, OwnerId, Place, Position, UnitId};

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
    /// The body.
    pub body: Bytes,
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

/// One operation of a batch, as it goes into the journal.
#[derive(Debug, Clone)]
pub enum Op {
    /// A message.
    Message(Stored, NewMessage),
    /// A commit record.
    Commit(Commit),
    /// The end of a unit that did not become real, with what it had written.
    BackOut(UnitId, Vec<Kill>),
}

/// The records of one turn of the core. See the module's text on what is atomic.
#[derive(Debug)]
pub struct Batch {
    pub(crate) position: Position,
    pub(crate) next_id: u64,
    pub(crate) next_unit: u64,
    pub(crate) ops: Vec<Op>,
    pub(crate) bytes: usize,
    pub(crate) layout: Layout,
}

/// Where the next record will lie. Grows with the journal's format; a plain counter for stores in memory.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Layout {
    pub(crate) next: Place,
}

impl Batch {
    /// A batch that belongs to no store, for tests of machines that write into one.
    pub fn detached(start: u32) -> Self {
        Self {
            position: Position { start, batch: 1 },
            next_id: 1,
            next_unit: 1,
            ops: Vec::new(),
            bytes: 0,
            layout: Layout::default(),
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

    /// Adds a message; id and place are final.
    pub fn message(&mut self, message: NewMessage) -> Stored {
        let id = Id::new(self.position.start, self.next_id);
        self.next_id += 1;
        let order = message.order.unwrap_or(id.as_u64());
        let place = self.layout.next;
        self.layout.next.record += 1;
        let stored = Stored { id, order, place };
        self.bytes += message.envelope.len() + message.body.len();
        self.ops.push(Op::Message(stored, message));
        stored
    }

    /// Adds a commit record; an empty one is left out.
    pub fn commit(&mut self, commit: Commit) {
        if !commit.is_empty() {
            self.ops.push(Op::Commit(commit));
        }
    }

    /// Ends a unit that shall never become real; `written` is what it had written.
    pub fn back_out(&mut self, unit: UnitId, written: Vec<Kill>) {
        self.ops.push(Op::BackOut(unit, written));
    }

    /// What was added so far.
    pub fn ops(&self) -> &[Op] {
        &self.ops
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// Bytes of envelopes and bodies so far; the core hands a batch over when it is large enough.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}
