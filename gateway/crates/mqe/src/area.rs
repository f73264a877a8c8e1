//! The store-and-forward area: a durable sub-queue for each device, and the rules of once and once only on the
//! gateway's side (ONCE.md 1 to 3, mqe.md 2.5, 2.6, 2.8).
//!
//! A pure state machine on the store's batches: what changes is added to the [`Batch`] of the turn, what must be said
//! or done comes out as [`AreaEffect`]s, each with the position that must be durable first. Bodies are never here;
//! an index entry is 24 bytes. Reading bodies, exits, rights and the queue manager are the owner's.
//!
//! *In the turn*: a method that takes a [`Commit`] changes memory at once, so the caller adds that commit to the
//! batch before it asks the area for anything else.

mod clear;
mod cold;
mod counters;
mod device;
mod devices;
mod expire;
mod hand_out;
mod index;
mod intake;
mod keys;
mod moved;
mod onboard;
mod owed;
mod park;
mod puts;
mod queue;
mod recover;
mod rest;
mod sessions;
mod settle;
mod view;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use mq_wire::{QMgrName, Reason};
#[cfg(doc)]
use store::{Batch, Commit};
use store::{Id, Place, Position, Room, UnitId};

use crate::frame::{ErrorCode, Frame, Limits, MessageHead};
use crate::{ConnId, DeviceName, RequestId, StoreIdentity, Uid};

pub use clear::Cleared;
pub use cold::{ColdError, ColdWork, cold_entries};
pub use counters::{Counter, Counters};
pub use device::owner as owner_of;
pub use intake::{Accepted, Undelivered};
pub use onboard::OnboardError;
pub use owed::Owed;
pub use park::{ParkLimits, ParkedView};
pub use puts::{PutCheck, PutGone};
pub use recover::RecoverError;
pub use view::{DeviceView, MessageState, MessageView};

use devices::Devices;

/// What an area is told once.
#[derive(Debug, Clone)]
pub struct AreaSettings {
    /// The gateway's name.
    pub gateway: QMgrName,
    /// The identity of the store; another one after a restore (ONCE.md 1).
    pub identity: StoreIdentity,
    /// Who may enrol itself.
    pub onboarding: Onboarding,
    /// What WELCOME says.
    pub limits: Limits,
    /// Most messages of one device (INTERFACE.md 2).
    pub device_messages_max: u32,
    /// Most bytes of one device (INTERFACE.md 2).
    pub device_bytes_max: u64,
    /// Most bytes of all devices.
    pub total_bytes_max: u64,
    /// Longest payload of a message for a device; with its envelope it must fit into a frame.
    pub message_bytes_max: u32,
    /// Most messages in doubt of one device; a GET gives nothing beyond.
    pub in_doubt_max: u32,
    /// Without a confirm for so long a message is sent again (ONCE.md 2).
    pub resend_after: Duration,
    /// Time between two sweeps for expired messages.
    pub sweep_every: Duration,
    /// Most bytes that the entries of waiting messages take in memory; above it those of idle devices leave it.
    pub index_bytes_max: u64,
    /// What becomes of non-persistent messages at a start (mqe.md 2.6, 10: `np_class`).
    pub non_persistent: NonPersistent,
    /// What the park area holds.
    pub park: ParkLimits,
}

impl AreaSettings {
    /// The defaults of INTERFACE.md 2, without anybody who may enrol itself.
    pub fn new(gateway: QMgrName, identity: StoreIdentity) -> Self {
        Self {
            gateway,
            identity,
            onboarding: Onboarding::default(),
            limits: Limits::default(),
            device_messages_max: 100_000,
            device_bytes_max: 1 << 30,
            total_bytes_max: u64::MAX,
            message_bytes_max: 4 * 1024 * 1024,
            in_doubt_max: 4_096,
            resend_after: Duration::from_secs(60),
            sweep_every: Duration::from_secs(30),
            index_bytes_max: 1 << 30,
            non_persistent: NonPersistent::LikePersistent,
            park: ParkLimits::default(),
        }
    }
}

/// Devices that are created by their first message or first HELLO.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Onboarding {
    /// Names that may; `*` stands for any characters. None: listed devices only.
    pub patterns: Vec<String>,
    /// The most devices there may be by that.
    pub devices_max: u32,
}

/// What becomes of non-persistent messages at a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NonPersistent {
    /// They survive.
    LikePersistent,
    /// They are lost, and counted; those in doubt leave a tombstone.
    Lost,
}

/// What must be said or done, in this order for each connection.
#[derive(Debug, Clone, PartialEq)]
pub enum AreaEffect {
    /// A frame for a connection.
    Frame {
        /// For whom.
        conn: ConnId,
        /// What must be durable before it leaves.
        needs: Option<Position>,
        /// Which request it answers.
        request: RequestId,
        /// The frame.
        frame: Frame,
    },
    /// A MESSAGE frame whose envelope and payload are read outside of the core. Frames behind it wait for it.
    Message {
        /// For whom.
        conn: ConnId,
        /// What must be durable before it leaves.
        needs: Position,
        /// Which GET it answers; 0 when it is sent again.
        request: RequestId,
        /// What stands before the envelope.
        head: MessageHead,
        /// Where envelope and payload lie.
        id: Id,
        /// Where envelope and payload lie.
        place: Place,
        /// Bytes of both.
        bytes: u32,
    },
    /// The connection ends, behind the frames before it.
    Close {
        /// Which.
        conn: ConnId,
        /// Why, for the log.
        why: ErrorCode,
    },
    /// A message has ended, and something is owed for that: read it, do it, and call [`Area::paid`] in that unit; or
    /// [`Area::unpaid`], if it cannot be done now.
    Owes {
        /// The message.
        id: Id,
        /// Where it lies.
        place: Place,
        /// Whose it was.
        device: DeviceName,
        /// What is owed.
        owed: Owed,
    },
    /// A device refused a message for good: read it, put it to the dead-letter queue with `reason`, and call
    /// [`Area::finish_reject`] in the unit of that put. Where that does not come about nothing need be said: it comes
    /// again after [`AreaSettings::resend_after`], and when the device repeats its refusal.
    DeadLetter {
        /// Who refused it.
        device: DeviceName,
        /// Its name.
        uid: Uid,
        /// Where it lies.
        place: Place,
        /// Why.
        reason: Reason,
    },
}

/// The area. See the module's text.
#[derive(Debug)]
pub struct Area {
    settings: AreaSettings,
    /// Identities with the first start of each.
    identities: Vec<(u32, StoreIdentity)>,
    devices: Devices,
    next_number: u32,
    /// Devices that enrolled themselves.
    enrolled: u32,
    links: BTreeMap<ConnId, u32>,
    units: BTreeMap<UnitId, intake::OpenUnit>,
    timers: BTreeSet<(Instant, u32)>,
    sessions_given: u64,
    /// While it is short nothing new is taken.
    room: Room,
    bytes: u64,
    /// The newest position at which something of any device changed.
    newest: Position,
    index: index::Index,
    /// The latest time that anybody said.
    latest: Instant,
    sweep: expire::Sweep,
    /// Devices whose mark may be removed.
    resting: BTreeSet<u32>,
    /// Devices with a purge that has not come to its end.
    clearing: BTreeSet<u32>,
    cold: cold::Cold,
    debts: owed::Debts,
    /// Puts that are answered when these entries of the outbox end.
    put_waits: BTreeMap<Id, puts::PutWait>,
    parked: park::Parked,
    /// Devices that are not known, and for which messages are parked.
    parked_numbers: BTreeSet<u32>,
}

impl Area {
    /// Says whether the store has room. While it is short, messages, puts and new devices are told to come later; what
    /// drains the store goes on (STORE.md 6).
    pub fn set_room(&mut self, room: Room) {
        self.room = room;
    }

    fn is_short(&self) -> bool {
        self.room == Room::Short
    }
}
