//! What a device keeps over a crash, and the trait behind which it does so.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;

use bytes::Bytes;
use mqe::Uid;
use mqe::device_end::{DeviceRecord, DeviceState};

/// A change of what a device keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A change of the protocol's state. A [`DeviceRecord::Noted`] with an envelope carries a message.
    Record(DeviceRecord),
    /// How often the message of that name was sent to this device, when it was noted.
    Deliveries(Uid, u8),
    /// The application has used these messages: they need not be kept.
    Used(Vec<Uid>),
}

/// A message that the application has not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Its name.
    pub uid: Uid,
    /// How often it was sent.
    pub deliveries: u8,
    /// The message, all but the payload.
    pub envelope: Bytes,
    /// The payload.
    pub payload: Bytes,
}

/// What entries, applied in order, make.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Content {
    /// The protocol's state.
    pub state: DeviceState,
    /// Messages that the application has not used, in the order in which they came.
    unused: BTreeMap<u64, Kept>,
    places: HashMap<Uid, u64>,
    next_place: u64,
}

impl Content {
    /// What an entry changes.
    pub fn apply(&mut self, entry: &Entry) {
        match entry {
            Entry::Record(record) => {
                self.state.apply(record);
                // A note without an envelope says of a used message that it is not confirmed yet.
                if let DeviceRecord::Noted { uid, envelope, payload } = record
                    && !envelope.is_empty()
                    && !self.places.contains_key(uid)
                {
                    let (envelope, payload) = (envelope.clone(), payload.clone());
                    self.unused.insert(self.next_place, Kept { uid: *uid, deliveries: 1, envelope, payload });
                    self.places.insert(*uid, self.next_place);
                    self.next_place += 1;
                }
            }
            Entry::Deliveries(uid, deliveries) => {
                if let Some(kept) = self.places.get(uid).and_then(|place| self.unused.get_mut(place)) {
                    kept.deliveries = *deliveries;
                }
            }
            Entry::Used(uids) => {
                for uid in uids {
                    if let Some(place) = self.places.remove(uid) {
                        self.unused.remove(&place);
                    }
                }
            }
        }
    }

    /// Messages that the application has not used, in the order in which they came.
    pub fn unused(&self) -> impl ExactSizeIterator<Item = &Kept> {
        self.unused.values()
    }

    /// Entries that make the same content, but for places that nobody sees.
    pub fn snapshot(&self) -> Vec<Entry> {
        let carried = |record: &DeviceRecord| match record {
            DeviceRecord::Noted { uid, .. } => self.places.contains_key(uid),
            _ => false,
        };
        let mut entries = Vec::new();
        let mut settled = Vec::new();
        for kept in self.unused.values() {
            let Kept { uid, deliveries, envelope, payload } = kept.clone();
            entries.push(Entry::Record(DeviceRecord::Noted { uid, envelope, payload }));
            entries.push(Entry::Deliveries(uid, deliveries));
            if !self.state.noted.contains(&uid) {
                settled.push(uid);
            }
        }
        let records = self.state.snapshot().into_iter().filter(|record| !carried(record));
        entries.extend(records.map(Entry::Record));
        if !settled.is_empty() {
            entries.push(Entry::Record(DeviceRecord::Forgotten(settled)));
        }
        entries
    }
}

/// A device's durable store. One owner at a time.
pub trait DeviceStore: Debug + Send + 'static {
    /// What it holds: everything that was written.
    fn content(&self) -> &Content;

    /// Writes entries: all of them or none. When the future is ready they are durable. One that is dropped leaves it
    /// open whether they are: only a store that is opened again is good then.
    fn write(&mut self, entries: Vec<Entry>) -> impl Future<Output = Result<(), StateError>> + Send;
}

/// Why a device's store cannot do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// Another process, or another part of this one, has it.
    #[error("the device's state {directory} is in use: end the other program first, or give another --state")]
    InUse {
        /// The directory.
        directory: String,
    },
    /// It belongs to another device.
    #[error(
        "the state {directory} belongs to the device {found}, not to {wanted}: give each device its own --state"
    )]
    OtherDevice {
        /// The directory.
        directory: String,
        /// Whose it is.
        found: String,
        /// Who asked.
        wanted: String,
    },
    /// A file could not be read or written.
    #[error("cannot {action} {path}: {error}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: String,
        /// What the system said.
        error: String,
    },
    /// What had been durable does not verify.
    #[error(
        "the device's state {path} is damaged at byte {offset}: remove it, and have an operator reset the device at the gateway"
    )]
    Damaged {
        /// The file.
        path: String,
        /// Where.
        offset: usize,
    },
    /// An earlier write failed: what is durable is not known.
    #[error("the device's state failed earlier: open it again")]
    Failed,
}
