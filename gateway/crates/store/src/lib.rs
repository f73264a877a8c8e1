//! Durability behind one trait: the journal with its checkpoint is the truth, sled is a derived index.
//!
//! The crate knows nothing of MQ. It stores *messages* (an envelope and a body, with owner and order key), *keyed
//! state* (small values under composite big-endian keys) and *units* that make several of these real at once.
//! What an owner is, what an envelope holds and what a key means is for the callers to say.
//!
//! The caller is one single-threaded core. In its turn it takes a [`Batch`] from [`Store::begin`], lets its state
//! machines add records to it, and gives it back to [`Store::submit`]; a committer thread writes and syncs it while
//! the core gathers the next one. Nobody may be told "done" before the position of the batch is durable.

mod batch;
mod bodies;
#[cfg(test)]
mod conformance;
mod files;
mod format;
mod head;
mod ids;
mod index;
mod journal;
mod layout;
mod ledger;
pub mod mem;
mod planted;
#[cfg(test)]
mod second_reader;
mod stat;
pub mod tools;

use std::fmt::Debug;

use bytes::Bytes;

pub use batch::{Batch, Commit, KeyedChange, Kill, NewMessage, Op, Prepare, Stored};
pub use bodies::{BODY_FILE_BYTES, BodyFile, BodyFiles};
pub use ids::{Id, IdError, OwnerId, Place, Position, UnitId};
pub use index::ColdIndex;
pub use journal::{EntriesTicket, Journal, OpenOptions, SnapshotTicket};
pub use stat::{Histogram, SegmentStat, Stat};

/// A durable store of messages, keyed state and units.
pub trait Store: Send + Debug {
    /// Begins a batch. At most one is open at a time; its ids and places are those that come next.
    fn begin(&mut self) -> Batch;

    /// Hands a batch over to be written. Its records are readable at once through [`Store::body`], and durable when
    /// the [`Watch`] has been told of the position that comes back. An empty batch costs nothing and gets the
    /// position of the batch before it.
    fn submit(&mut self, batch: Batch) -> Position;

    /// A handle on a stored message that stays readable however long the reader takes, and after its death.
    fn body(&self, id: Id, place: Place) -> BodyRef;

    /// The newest position that is on disk.
    fn durable(&self) -> Position;

    /// Batches handed over that are not on disk yet. The core gathers while this is at its bound.
    fn in_flight(&self) -> usize;

    /// Called in the core's turn every second or so: takes a checkpoint when one is due, and looks whether the data
    /// directory is still there.
    fn maintain(&mut self, monotonic_ms: u64);

    /// Called in the core's turn, with the batch that is open: adds the copies of live records that compaction has
    /// read since (STORE.md 4). `moved` is told of each message; it says whether nobody keeps the old place any more.
    /// While somebody does, the store goes on to understand it. Costs nothing while there is nothing to move; when
    /// there is, [`Watch::turn_wanted`] was called.
    fn compact(&mut self, batch: &mut Batch, moved: &mut dyn FnMut(&Moved) -> bool);

    /// Whether new messages may be taken. What drains the store may go on in either case: space is kept for it.
    fn room(&self) -> Room;

    /// The files of long bodies.
    fn body_files(&self) -> BodyFiles;

    /// The messages of one owner as they are now, for whoever has let go of their index entries. They are read when the
    /// ticket is.
    fn entries(&mut self, owner: OwnerId) -> EntriesTicket;

    /// Where index entries may be put that memory has no room for; none if the store has no index.
    fn cold_index(&self) -> Option<ColdIndex>;

    /// A consistent copy of the store while it runs: the ticket is good when the next checkpoint is durable, which is
    /// due at once.
    fn snapshot(&mut self) -> SnapshotTicket;

    /// After [`Watch::failed`], in a process that has served: decides by STORE.md 3.4 what is real, begins a new start
    /// and goes on with that. Whoever was answered nothing must be told nothing: all positions and batches of before
    /// are void. An error means that the process must end. May block.
    fn recover(&mut self) -> Result<Recovered, StoreError>;

    /// Figures for status and benches.
    fn stat(&self) -> Stat;

    /// Ends cleanly: everything handed over is durable, a checkpoint is written, the directory is free again.
    fn close(self: Box<Self>) -> Result<(), StoreError>;
}

/// Told by the committer what has become of the batches; called on its thread, so it must not block.
pub trait Watch: Send + Sync + Debug {
    /// Every batch up to this one is on disk.
    fn durable(&self, position: Position);
    /// A write or a sync failed, or the directory is gone: nothing after the last durable position may be answered.
    /// In the second case it may be called in the core's turn.
    fn failed(&self, error: StoreError);
    /// The core should take a turn soon although nobody has asked it anything: compaction has something to move, or
    /// [`Store::room`] has changed.
    fn turn_wanted(&self) {}
}

/// Whether there is room for new messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Room {
    /// There is.
    #[default]
    Enough,
    /// The disk is full but for what is kept for draining: new messages are refused until there is room again, which
    /// the store finds out by itself.
    Short,
}

/// A message that compaction wrote again at another place, under the same id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moved {
    /// Which message.
    pub id: Id,
    /// Whose it is.
    pub owner: OwnerId,
    /// Its order key.
    pub order: u64,
    /// Its priority.
    pub priority: u8,
    /// Where it lay.
    pub from: Place,
    /// Where it lies now.
    pub to: Place,
}

/// What a store holds when it is opened, given to the core once.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// The keyed state, in the order of the keys.
    pub keyed: Vec<(Vec<u8>, Bytes)>,
    /// The live messages, in the order of their ids. Non-persistent ones are among them: the caller decides.
    pub messages: Vec<RecoveredMessage>,
    /// The units that were prepared and not decided, in the order of their ids.
    pub prepared: Vec<PreparedUnit>,
    /// Whether this is the first start on a restored backup: what was handed out after the backup was made is not
    /// known here, so the store needs a new identity (ONCE.md 1).
    pub restored: bool,
}

/// A unit that was prepared and is not decided; it waits for its commit or back-out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreparedUnit {
    /// Which unit.
    pub unit: UnitId,
    /// The messages written under it, invisible until it is committed; not among [`Recovered::messages`].
    pub messages: Vec<RecoveredMessage>,
    /// The keyed changes written under it.
    pub changes: Vec<KeyedChange>,
    /// The messages that its commit will kill; they are among [`Recovered::messages`].
    pub kills: Vec<Kill>,
    /// What the caller said of it.
    pub note: Bytes,
}

/// The index entry of a message that was found at start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecoveredMessage {
    /// Its id, never reused.
    pub id: Id,
    /// Whose it is.
    pub owner: OwnerId,
    /// The order key within owner and priority.
    pub order: u64,
    /// 0 to 9.
    pub priority: u8,
    /// Whether it survives a restart.
    pub persistent: bool,
    /// Wall clock milliseconds since 1970 at which it expires; 0 is never.
    pub expiry_ms: u64,
    /// Two hashes that the caller chose (MsgId and CorrelId).
    pub tags: [u64; 2],
    /// Where it lies.
    pub place: Place,
    /// Bytes of the envelope alone.
    pub envelope_length: u32,
    /// Bytes of the body alone.
    pub body_length: u32,
}

/// A handle on a stored message: reads, and checks id and checksum, outside of the core.
#[derive(Debug, Clone)]
pub struct BodyRef {
    id: Id,
    source: std::sync::Arc<dyn ReadRecord>,
    place: Place,
}

impl BodyRef {
    /// A handle on the record at `place` of `source`.
    pub fn new(id: Id, place: Place, source: std::sync::Arc<dyn ReadRecord>) -> Self {
        Self { id, source, place }
    }

    /// The id of the message.
    pub fn id(&self) -> Id {
        self.id
    }

    /// Reads the record. May block on the disk: call it where blocking is allowed, unless [`BodyRef::is_cached`].
    pub fn read(&self) -> Result<Record, StoreError> {
        self.source.read(self.id, self.place)
    }

    /// Whether [`BodyRef::read`] answers from memory, if it comes before the store needs the room.
    pub fn is_cached(&self) -> bool {
        self.source.is_cached(self.place)
    }
}

/// Reads records of one piece of the store (a segment, a group in memory).
pub trait ReadRecord: Send + Sync + Debug {
    /// Reads and verifies the message `id` at `place`.
    fn read(&self, id: Id, place: Place) -> Result<Record, StoreError>;
    /// Whether the bytes at `place` are in memory.
    fn is_cached(&self, place: Place) -> bool;
}

/// A message as it was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Whose it is (or was).
    pub owner: OwnerId,
    /// The caller's description of the body.
    pub envelope: Bytes,
    /// The body, all of it.
    pub body: Bytes,
    /// The file that holds the end of the body, if one does: who stores the same body again may name it again.
    pub file: Option<BodyFile>,
}

/// Why the store cannot do what it was asked.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Another process has the directory.
    #[error(
        "the data directory {directory} is in use by another process: stop that one, or give another --data"
    )]
    InUse {
        /// The directory.
        directory: String,
    },
    /// The directory is no longer the one that was opened: what is acknowledged would be nowhere.
    #[error(
        "the data directory {directory} was removed or replaced while it was in use: nothing more is written; put it \
         back or restore a backup, and start again"
    )]
    Replaced {
        /// The directory.
        directory: String,
    },
    /// The directory was written by a newer version.
    #[error(
        "the data directory {directory} has format {found}, this program knows up to {known}: use a newer program"
    )]
    Format {
        /// The directory.
        directory: String,
        /// The version in its `format` file.
        found: u32,
        /// The newest version that we can read.
        known: u32,
    },
    /// A file could not be read or written.
    #[error("cannot {action} {path}: {error}")]
    Io {
        /// What was tried: "create", "write", "sync", ...
        action: &'static str,
        /// The file.
        path: String,
        /// What the system said.
        error: String,
    },
    /// What had been synced does not verify.
    #[error("{path} is damaged at {offset}: {what}; restore a backup, or see what can be saved")]
    Damaged {
        /// The file.
        path: String,
        /// Where in it.
        offset: u64,
        /// What does not fit.
        what: String,
    },
    /// A record is larger than any place can hold.
    #[error("a record of {bytes} bytes is larger than the store takes (1 GiB)")]
    TooLarge {
        /// Its length.
        bytes: u64,
    },
    /// The store was closed, or has failed before.
    #[error("the store is not running any more")]
    Stopped,
    /// A record asked for is not there.
    #[error("message {id} is not at {place}: {what}")]
    NotThere {
        /// The message.
        id: Id,
        /// Where it should be.
        place: Place,
        /// What is there.
        what: &'static str,
    },
}
