//! Messages come in: written ahead in the unit of a hand-over, visible when the unit is real (DESIGN.md 4).

use std::collections::BTreeSet;

use bytes::Bytes;
use mq_wire::{Reason, ReportOptions};
use store::{Batch, Commit, Kill, NewMessage, UnitId};

use super::counters::Counter;
use super::device::owner;
use super::onboard::NoDevice;
use super::queue::{Entry, LENGTH_MAX};
use super::{Area, AreaEffect, NonPersistent, keys};
use crate::frame::{Frame, HEAD_BYTES};
use crate::message::ENVELOPE_BYTES_MAX;
use crate::{DeviceMessage, DeviceName, Now, RequestId, Uid, digest};

/// Most expired messages that are ended to make room for one.
const EXPIRED_MAX: usize = 1_000;

/// Bytes of a MESSAGE frame that are neither envelope nor payload.
const MESSAGE_HEAD_BYTES: usize = HEAD_BYTES + Uid::LENGTH + 1 + 1 + 8 + 4;

/// What became of a message that was offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepted {
    /// Written; visible when its unit is real.
    Stored(Uid),
    /// It had expired; its unit counts it as taken and expired.
    Expired,
}

/// Why the area does not take a message; the undelivered rule decides (mqe.md 4.6).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Undelivered {
    /// The device is not known and may not enrol itself.
    #[error("device {device} is not known, and no onboarding pattern lets it in")]
    UnknownDevice {
        /// The device.
        device: DeviceName,
    },
    /// The name of the queue cannot be one.
    #[error("the queue name {name:?} for device {device} is not valid")]
    BadQueueName {
        /// The device.
        device: DeviceName,
        /// The name.
        name: String,
    },
    /// The device has as many messages or bytes as it may.
    #[error("device {device} holds {messages} messages and {bytes} bytes, which is its limit")]
    Full {
        /// The device.
        device: DeviceName,
        /// Its messages.
        messages: usize,
        /// Its bytes.
        bytes: u64,
    },
    /// All devices together have as many bytes as they may.
    #[error("all devices together hold {bytes} bytes, which is their limit")]
    AllFull {
        /// Bytes of all devices.
        bytes: u64,
    },
    /// The disk is full.
    #[error("the disk has no room for a message for device {device}: it waits until there is")]
    NoRoom {
        /// The device.
        device: DeviceName,
    },
    /// It has as many as it may, but some have expired: they end when its entries are in memory.
    #[error("the entries of device {device} are not in memory yet")]
    NotInMemory {
        /// The device.
        device: DeviceName,
    },
    /// The park area holds as much as it may.
    #[error("the park area holds {messages} messages and {bytes} bytes, which is its limit")]
    ParkFull {
        /// Messages in it.
        messages: u64,
        /// Their bytes.
        bytes: u64,
    },
    /// It does not fit into a frame, or is longer than a device's message may be.
    #[error("a message of {bytes} bytes for device {device} is longer than {max}")]
    TooBig {
        /// The device.
        device: DeviceName,
        /// Payload and envelope.
        bytes: usize,
        /// The most.
        max: usize,
    },
}

impl Undelivered {
    /// The reason for the dead-letter header.
    pub fn reason(&self) -> Reason {
        match self {
            Self::UnknownDevice { .. } => Reason::UNKNOWN_REMOTE_Q_MGR,
            Self::BadQueueName { .. } => Reason::UNKNOWN_OBJECT_NAME,
            Self::Full { .. } => Reason::Q_FULL,
            Self::AllFull { .. } | Self::ParkFull { .. } => Reason::Q_SPACE_NOT_AVAILABLE,
            Self::NoRoom { .. } => Reason::STORAGE_MEDIUM_FULL,
            Self::NotInMemory { .. } => Reason::STORAGE_NOT_AVAILABLE,
            Self::TooBig { .. } => Reason::MSG_TOO_BIG_FOR_Q,
        }
    }

    /// Whether it may go later without anybody doing anything: the whole intake waits (mqe.md 4.6, "total full";
    /// STORE.md 6).
    pub fn is_temporary(&self) -> bool {
        matches!(self, Self::AllFull { .. } | Self::NoRoom { .. } | Self::NotInMemory { .. })
    }
}

/// What was written in a unit that is not real yet.
#[derive(Debug, Default)]
pub(super) struct OpenUnit {
    /// In the order of their ids.
    pub(super) stored: Vec<Written>,
    /// Devices whose message had expired, one for each: these are only counted.
    expired: Vec<u32>,
}

/// A message of an open unit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Written {
    pub(super) number: u32,
    pub(super) entry: Entry,
}

impl Area {
    /// Takes a message for a device in a unit: its record is written ahead, nobody sees it until
    /// [`Area::unit_is_real`]. A device that may enrol itself is created.
    pub fn accept(
        &mut self,
        now: Now,
        device: &DeviceName,
        message: &DeviceMessage,
        unit: UnitId,
        batch: &mut Batch,
    ) -> Result<Accepted, Undelivered> {
        let device = *device;
        let envelope = self.fits(&device, message)?;
        let number = self.find_or_enrol(&device, batch).map_err(|no| match no {
            NoDevice::Unknown => Undelivered::UnknownDevice { device },
            NoDevice::NoRoom => Undelivered::NoRoom { device },
        })?;
        self.write_ahead(now, (number, &device), message, envelope, unit, batch)
    }

    /// The envelope of a message, if it can be one for a device.
    pub(super) fn fits(&self, device: &DeviceName, message: &DeviceMessage) -> Result<Bytes, Undelivered> {
        let device = *device;
        if self.is_short() {
            // Before anything is decided: what is refused for good needs room in the dead-letter queue.
            return Err(Undelivered::NoRoom { device });
        }
        if message.queue.is_blank() || !message.queue.is_valid() {
            let name = message.queue.to_string();
            return Err(Undelivered::BadQueueName { device, name });
        }
        let envelope = message.envelope();
        let bytes = envelope.len() + message.payload.len();
        let frame_room = (self.settings.limits.frame_bytes_max as usize).saturating_sub(MESSAGE_HEAD_BYTES);
        let max = frame_room.min(LENGTH_MAX as usize);
        if message.payload.len() > self.settings.message_bytes_max as usize {
            return Err(Undelivered::TooBig { device, bytes, max: self.settings.message_bytes_max as usize });
        }
        if envelope.len() > ENVELOPE_BYTES_MAX || bytes > max {
            return Err(Undelivered::TooBig { device, bytes, max });
        }
        Ok(envelope)
    }

    /// Writes a message ahead for a device that has a number.
    pub(super) fn write_ahead(
        &mut self,
        now: Now,
        (number, device): (u32, &DeviceName),
        message: &DeviceMessage,
        envelope: Bytes,
        unit: UnitId,
        batch: &mut Batch,
    ) -> Result<Accepted, Undelivered> {
        let bytes = envelope.len() + message.payload.len();
        let expiry_ms = message.expiry_ms.unwrap_or(0);
        if expiry_ms != 0 && expiry_ms <= now.wall_ms {
            self.units.entry(unit).or_default().expired.push(number);
            return Ok(Accepted::Expired);
        }
        self.make_room(number, now, bytes as u64, *device, batch)?;
        let persistent =
            message.is_persistent() || self.settings.non_persistent == NonPersistent::LikePersistent;
        let priority = message.priority();
        let stored = batch.message(NewMessage {
            unit: Some(unit),
            owner: owner(number),
            order: None,
            priority,
            persistent,
            expiry_ms,
            tags: tags(message),
            envelope,
            body: message.payload.clone(),
            file: message.file.clone().filter(|file| file.length() <= message.payload.len() as u64),
        });
        let entry = Entry::new(stored.id, stored.place, priority, bytes as u32, expiry_ms, persistent)
            .with_reports(wants_reports(message));
        if let Some(found) = self.devices.get_mut(number) {
            found.unreal += 1;
            found.bytes += bytes as u64;
        }
        self.bytes += bytes as u64;
        self.units.entry(unit).or_default().stored.push(Written { number, entry });
        Ok(Accepted::Stored(self.uid(stored.id)))
    }

    /// Devices for which messages of a unit had expired: for the note of one that is prepared.
    pub fn unit_expired(&self, unit: UnitId) -> Vec<u32> {
        self.units.get(&unit).map(|unit| unit.expired.clone()).unwrap_or_default()
    }

    /// What the note of a prepared unit said.
    pub fn adopt_expired(&mut self, unit: UnitId, expired: Vec<u32>) {
        self.units.entry(unit).or_default().expired = expired;
    }

    /// Adds the counts of the unit to its commit, of messages that had expired, and since when messages are parked. Called
    /// once, in the turn and just before the commit is added to the batch.
    pub fn seal_unit(&mut self, now: Now, unit: UnitId, commit: &mut Commit) {
        let Some(OpenUnit { stored, expired }) = self.units.get(&unit) else { return };
        let mut marks = BTreeSet::new();
        for Written { number, entry } in stored {
            let live = self.devices.get_mut(*number).and_then(|device| device.live.as_deref_mut());
            if let Some(live) = live.filter(|live| live.mark.covers(entry.priority, entry.id)) {
                // The unit was open for long: after a restart it must not look handed out (ONCE.md 2).
                live.mark.except.insert(entry.id);
                marks.insert(*number);
            }
            if self.parked_numbers.contains(number) {
                commit.set(keys::parked(*number, entry.id), now.wall_ms.to_be_bytes().to_vec());
                self.parked.add(*number, entry.id, now.wall_ms);
            }
        }
        for number in marks {
            if let Some(live) = self.devices.get(number).and_then(|device| device.live.as_deref()) {
                commit.set(keys::mark(number), keys::mark_value(&live.mark));
            }
        }
        for number in expired {
            if let Some(device) = self.devices.get_mut(*number) {
                device.count(Counter::Expired, 1);
            }
        }
        for number in expired {
            if let Some(device) = self.devices.get_mut(*number) {
                device.commit_counters(commit);
            }
        }
    }

    /// The unit's commit was added to the batch: its messages are visible, and go out to those who wait.
    pub fn unit_is_real(&mut self, now: Now, unit: UnitId, batch: &mut Batch, out: &mut Vec<AreaEffect>) {
        let Some(OpenUnit { stored, expired }) = self.units.remove(&unit) else { return };
        for number in expired {
            if let Some(device) = self.devices.get_mut(number) {
                device.changed(batch.position(), &mut self.newest);
            }
        }
        // In the order in which the devices first appear.
        let mut touched: Vec<(u32, bool)> = Vec::new();
        let mut seen = BTreeSet::new();
        for Written { number, entry } in stored {
            let Some(device) = self.devices.get_mut(number) else { continue };
            device.changed(batch.position(), &mut self.newest);
            if seen.insert(number) {
                touched.push((number, device.queue.is_empty()));
            }
            device.unreal -= 1;
            device.wait(entry, &mut self.index);
        }
        for (number, was_empty) in touched {
            if !self.serve_waiting(number, now, batch, out) && was_empty {
                self.wake(number, out);
            }
        }
    }

    /// The unit will never be real. Gives what it had written, for the end of the unit in the store.
    pub fn unit_dropped(&mut self, unit: UnitId) -> Vec<Kill> {
        let mut kills = Vec::new();
        for Written { number, entry } in self.units.remove(&unit).unwrap_or_default().stored {
            let Some(device) = self.devices.get_mut(number) else { continue };
            device.unreal -= 1;
            device.bytes -= u64::from(entry.length());
            self.bytes -= u64::from(entry.length());
            kills.push(Kill { id: entry.id, place: entry.place });
        }
        self.parked.recount();
        kills
    }

    /// Limits: what has expired goes first, then the message is refused (mqe.md 2.6, 5).
    fn make_room(
        &mut self,
        number: u32,
        now: Now,
        bytes: u64,
        name: DeviceName,
        batch: &mut Batch,
    ) -> Result<(), Undelivered> {
        let (messages_max, bytes_max) =
            (self.settings.device_messages_max as usize, self.settings.device_bytes_max);
        let full = |area: &Self| {
            let device = area.devices.get(number)?;
            let messages = device.messages() + area.cold.waiting(number);
            let full = messages >= messages_max || device.bytes + bytes > bytes_max;
            full.then_some(Undelivered::Full { device: name, messages, bytes: device.bytes })
        };
        if full(self).is_some() {
            self.expire_some(number, EXPIRED_MAX, now, batch);
            if let Some(refusal) = full(self) {
                // What has expired may be among what is not in memory.
                let comes = self.cold.is_coming(number);
                return Err(if comes { Undelivered::NotInMemory { device: name } } else { refusal });
            }
        }
        if self.bytes.saturating_add(bytes) > self.settings.total_bytes_max {
            return Err(Undelivered::AllFull { bytes: self.bytes });
        }
        Ok(())
    }

    fn wake(&mut self, number: u32, out: &mut Vec<AreaEffect>) {
        let Some(device) = self.devices.get(number) else { return };
        let Some(link) = device.link().filter(|link| link.resumed && link.get.is_none()) else { return };
        let waiting = u32::try_from(device.queue.len()).unwrap_or(u32::MAX);
        if waiting > 0 {
            let (conn, needs) = (link.conn, Some(device.newest()));
            out.push(AreaEffect::Frame {
                conn,
                needs,
                request: RequestId(0),
                frame: Frame::Wake { waiting },
            });
        }
    }
}

/// What the store keeps beside the message: hashes of its ids, and in the lowest bit of the second whether its sender wants
/// to hear of its end.
fn tags(message: &DeviceMessage) -> [u64; 2] {
    let md = &message.descriptor;
    let reports = u64::from(wants_reports(message));
    [digest(&md.msg_id.0), (digest(&md.correl_id.0) & !REPORTS_TAG) | reports]
}

/// The bit of the second tag.
pub(super) const REPORTS_TAG: u64 = 1;

/// Whether its sender wants to hear of its delivery or of its expiry.
fn wants_reports(message: &DeviceMessage) -> bool {
    message.descriptor.report.intersects(ReportOptions::COD | ReportOptions::EXPIRATION)
}
