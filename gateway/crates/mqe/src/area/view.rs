//! What a person may see of the area: devices and their messages. Iterators, so that long lists go in pieces.

use store::{Id, Place};

use super::counters::Counters;
use super::device::{Device, Flags};
use super::{Area, OnboardError};
use crate::{ConnId, DeviceName, Incarnation, SessionId, Uid};

/// A device as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceView {
    /// Its name.
    pub name: DeviceName,
    /// Whether an operator listed it; else it enrolled itself.
    pub listed: bool,
    /// Messages that wait.
    pub waiting: usize,
    /// Of these and of those being purged, how many are not in memory ([`Area::warm`]).
    pub away: usize,
    /// Messages that were handed out and not decided.
    pub in_doubt: usize,
    /// Messages of units that are not real yet.
    pub arriving: usize,
    /// Messages that a purge has not come to yet; they are not among those that wait.
    pub clearing: usize,
    /// Forced ends that the device has not answered.
    pub tombstones: usize,
    /// Bytes of all its messages.
    pub bytes: u64,
    /// The oldest message that waits, of the highest priority; none when it is not in memory.
    pub first: Option<Uid>,
    /// Connection and session, if it is connected.
    pub session: Option<(ConnId, SessionId)>,
    /// Whether the session's RESUME was applied.
    pub resumed: bool,
    /// The incarnation in force.
    pub incarnation: Incarnation,
    /// What became of its messages.
    pub counters: Counters,
}

/// What state a message is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MessageState {
    /// It waits.
    Waiting,
    /// It was handed out, and is not decided.
    InDoubt,
    /// The device refused it; it is on its way to the dead-letter queue.
    Rejected,
}

/// A message of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageView {
    /// Its name.
    pub uid: Uid,
    /// Its id in the store.
    pub id: Id,
    /// Where it lies.
    pub place: Place,
    /// 0 to 9.
    pub priority: u8,
    /// Whether it is stored as persistent.
    pub persistent: bool,
    /// Bytes of envelope and payload.
    pub bytes: u32,
    /// When it expires, wall clock milliseconds; none is never.
    pub expiry_ms: Option<u64>,
    /// How often it was sent; stops at 7.
    pub deliveries: u8,
    /// Its state.
    pub state: MessageState,
}

impl Area {
    /// How many devices there are.
    pub fn device_count(&self) -> usize {
        self.devices.len() - self.parked_numbers.len()
    }

    /// Bytes of all messages.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The devices in the order of their names, behind `after`.
    pub fn devices<'a>(&'a self, after: Option<&DeviceName>) -> impl Iterator<Item = DeviceView> + use<'a> {
        let known = self.devices.after(after).filter(|device| !device.flags.is(Flags::PARKED));
        known.map(|device| self.view(device))
    }

    /// One device.
    pub fn device(&self, name: &DeviceName) -> Option<DeviceView> {
        let number = self.number(name).ok()?;
        self.devices.get(number).map(|device| self.view(device))
    }

    /// The name of the device with this number.
    pub fn name_of(&self, number: u32) -> Option<DeviceName> {
        self.devices.get(number).map(|device| device.name)
    }

    /// The device whose newest session a connection has.
    pub fn device_of(&self, conn: ConnId) -> Option<DeviceName> {
        let number = self.links.get(&conn)?;
        self.devices.get(*number).map(|device| device.name)
    }

    /// The messages of a device: first those in doubt, by id, then those that wait, in the order in which they go.
    /// Those that are not in memory are not among them: see [`Area::warm`].
    pub fn messages<'a>(
        &'a self,
        name: &DeviceName,
    ) -> Result<impl Iterator<Item = MessageView> + use<'a>, OnboardError> {
        let number = self.number(name)?;
        let device = self.devices.get(number).ok_or(OnboardError::Unknown { device: *name })?;
        let doubt = device.live.iter().flat_map(|live| live.doubt.values()).map(|doubt| {
            let state = if doubt.rejected.is_some() { MessageState::Rejected } else { MessageState::InDoubt };
            (doubt.entry, state)
        });
        let waiting = device.queue.iter().map(|entry| (entry, MessageState::Waiting));
        Ok(doubt.chain(waiting).map(|(entry, state)| MessageView {
            uid: self.uid(entry.id),
            id: entry.id,
            place: entry.place,
            priority: entry.priority,
            persistent: entry.persistent(),
            bytes: entry.length(),
            expiry_ms: (entry.expiry_ms != 0).then_some(entry.expiry_ms),
            deliveries: entry.deliveries(),
            state,
        }))
    }

    fn view(&self, device: &Device) -> DeviceView {
        let first = device.queue.first().filter(|_| !self.cold.is_away(device.number));
        DeviceView {
            name: device.name,
            listed: device.flags.is(Flags::LISTED),
            waiting: device.queue.len() + self.cold.waiting(device.number),
            away: self.cold.count(device.number),
            in_doubt: device.in_doubt(),
            arriving: device.unreal as usize,
            clearing: device.clearing() + self.cold.clearing(device.number),
            tombstones: device.live.as_ref().map_or(0, |live| live.tombs.len()),
            bytes: device.bytes,
            first: first.map(|entry| self.uid(entry.id)),
            session: device.link().map(|link| (link.conn, link.session)),
            resumed: device.link().is_some_and(|link| link.resumed),
            incarnation: device.in_force,
            counters: device.counters(self.cold.count(device.number)),
        }
    }
}
