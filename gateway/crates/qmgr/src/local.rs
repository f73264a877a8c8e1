//! The gateway's own way to the queues, without a connection: locks on a transmission queue, and puts in a unit of
//! the owner that also holds what the owner writes (ONCE.md 4, last row).
//!
//! A lock takes the message off the queue, like a get in a unit of work, until it is given back or taken for good.

use bytes::Bytes;
use mq_wire::{ApplName, ApplType, ChannelName, Mqmd, QMgrName, QName, Reason, UserId};
use store::{Id, Place};

use crate::verb::Rights;

/// Who holds locks. The owner gives the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Holder(pub u64);

/// A message that was locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Locked {
    /// Its id.
    pub id: Id,
    /// Where it lies.
    pub place: Place,
    /// Its order key within queue and priority.
    pub order: u64,
    /// 0 to 9.
    pub priority: u8,
    /// Whether it is persistent.
    pub persistent: bool,
    /// Wall clock milliseconds at which it expires; 0 is never.
    pub expiry_ms: u64,
    /// Bytes of its data.
    pub body_length: u32,
    /// How often it was given back.
    pub backout_count: u16,
}

/// Who puts with [`crate::QueueManager::put_in_unit`].
#[derive(Debug, Clone)]
pub struct Putter {
    /// UserIdentifier.
    pub user: UserId,
    /// PutApplName.
    pub appl_name: ApplName,
    /// PutApplType.
    pub appl_type: ApplType,
    /// What it may do.
    pub rights: Rights,
    /// Where the context of the message comes from.
    pub context: PutContext,
}

/// Where the context of a message comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutContext {
    /// From the putter and the clock.
    Default,
    /// Identity as in the descriptor, origin from the putter and the clock.
    SetIdentity,
    /// All as in the descriptor: dead letters keep the originator's (mq-objects.md 1.8).
    SetAll,
}

/// Where a message went.
#[derive(Debug, Clone)]
pub struct PutOutcome {
    /// The queue that was resolved.
    pub queue: QName,
    /// Its queue manager.
    pub q_mgr: QMgrName,
    /// The descriptor as the putter gets it back.
    pub md: Mqmd,
    /// None, or a warning (2049).
    pub reason: Reason,
    /// Id in the store.
    pub id: Id,
}

/// What the listener needs to know of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelView {
    /// Its name.
    pub name: ChannelName,
    /// Its type (MQCHT_*: 7 is SVRCONN).
    pub chltype: i32,
    /// Longest message; 0 is that of the queue manager.
    pub maxmsgl: i32,
    /// Heartbeat interval in seconds.
    pub hbint: i32,
    /// User that its connections have; empty: their own.
    pub mcauser: String,
    /// Conversations on a socket.
    pub sharecnv: i32,
    /// Connections at a time.
    pub maxinst: i32,
    /// Connections at a time of one client.
    pub maxinstc: i32,
    /// Seconds without a call after which a connection ends; 0 is never.
    pub discint: i32,
}

/// A queue, for status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueView {
    /// Its name.
    pub name: QName,
    /// Its type (MQQT_*: 1 local, 2 model, 3 alias, 6 remote).
    pub q_type: i32,
    /// Whether it is a transmission queue.
    pub transmission: bool,
    /// Messages on it, uncommitted puts among them.
    pub depth: u64,
    /// Puts, gets and locks that are not committed.
    pub uncommitted: u64,
    /// Handles open for input.
    pub open_input: u32,
    /// Handles open for output.
    pub open_output: u32,
    /// Gets that wait.
    pub waiting: u64,
    /// Messages that expired on it, ever.
    pub expired: u64,
}

/// A message of the owner's for [`crate::QueueManager::put_in_unit`].
#[derive(Debug, Clone)]
pub struct UnitPut {
    /// Its queue.
    pub queue: QName,
    /// The queue manager of the queue; blank is this one.
    pub q_mgr: QMgrName,
    /// Its descriptor.
    pub md: Mqmd,
    /// Its data.
    pub body: Bytes,
}
