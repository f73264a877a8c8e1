//! Names and numbers of the device protocol: device, store identity, uid, session, incarnation, sequence.

use std::fmt;
use std::str::FromStr;

use mq_wire::{NameError, QMgrName};
use store::Id;

use crate::wire::{Cursor, DecodeError};

/// The name of a device: that of its queue manager, without `/` (mqe.md 1.1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceName(QMgrName);

impl DeviceName {
    /// A device name from text.
    pub fn new(text: &str) -> Result<Self, NameError> {
        if text.contains('/') {
            return Err(NameError::Character { name: text.to_owned(), found: '/' });
        }
        QMgrName::new(text).map(Self)
    }

    /// The name as that of a queue manager.
    pub fn queue_manager(&self) -> QMgrName {
        self.0
    }

    /// The name without trailing blanks.
    pub fn trimmed(&self) -> &[u8] {
        self.0.trimmed()
    }
}

impl TryFrom<QMgrName> for DeviceName {
    type Error = NameError;
    fn try_from(name: QMgrName) -> Result<Self, NameError> {
        Self::new(&name.to_string())
    }
}

impl FromStr for DeviceName {
    type Err = NameError;
    fn from_str(text: &str) -> Result<Self, NameError> {
        Self::new(text)
    }
}

impl fmt::Display for DeviceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for DeviceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// Names a store. A restored or copied store goes on under a new one (ONCE.md 1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct StoreIdentity(pub [u8; 16]);

impl fmt::Display for StoreIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

impl fmt::Debug for StoreIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The name of a message on the wire: the store that took it in, and its id there (ONCE.md 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uid {
    /// The store that took the message in.
    pub store: StoreIdentity,
    /// The id that this store gave it.
    pub id: Id,
}

impl Uid {
    /// Its length on the wire.
    pub const LENGTH: usize = 24;

    /// Identity and id, big-endian.
    pub fn to_bytes(self) -> [u8; Self::LENGTH] {
        let mut bytes = [0; Self::LENGTH];
        bytes[..16].copy_from_slice(&self.store.0);
        bytes[16..].copy_from_slice(&self.id.as_u64().to_be_bytes());
        bytes
    }

    pub(crate) fn read(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let store = StoreIdentity(cursor.array("Uid.store")?);
        let id = Id::from_u64(cursor.u64("Uid.id")?);
        Ok(Self { store, id })
    }
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.store, self.id)
    }
}

macro_rules! numbers {
    ($($(#[$meta:meta])* $name:ident($ty:ty);)+) => { $(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub $ty);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    )+ };
}

/// FNV-1a, 64 bits: tells names and ids apart where a collision does no harm. Its values are in the store and on the wire.
pub fn digest(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xCBF2_9CE4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3))
}

numbers! {
    /// A session, given by the gateway at HELLO; the newest fences the older. 0 is none.
    SessionId(u64);
    /// Names a device's store. 0 is a device that has none yet, or lost it.
    Incarnation(u32);
    /// The number of a put within its incarnation, from 1.
    Sequence(u64);
    /// Ties an answer to its request; the device chooses it. 0 is for frames that nobody asked for.
    RequestId(u32);
    /// A connection, numbered by its owner and never used again.
    ConnId(u64);
}
