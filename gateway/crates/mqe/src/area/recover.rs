//! The area out of what the store recovered: just the unconfirmed up to the mark of their priority are in doubt
//! (ONCE.md 2).

use std::collections::{BTreeMap, BTreeSet};

use store::{Batch, Commit, Id, Recovered, RecoveredMessage, Room};

use super::counters::{Counter, Counters};
use super::device::{InDoubt, number_of};
use super::expire::Sweep;
use super::puts::{CREDIT_MAX, PutMark};
use super::queue::Entry;
use super::{Area, AreaSettings, NonPersistent, keys};
use crate::{DecodeError, DeviceName, Incarnation, Now};

/// Why the area cannot begin: the store holds what the area did not write.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecoverError {
    /// A value that cannot be read.
    #[error("the record under key {key:02x?} is not readable: {error}")]
    Value {
        /// The key.
        key: Vec<u8>,
        /// What is wrong with the value.
        error: DecodeError,
    },
    /// A key that is none of ours, or speaks of a device that does not exist.
    #[error("the key {key:02x?} is not one of the area's, or its device does not exist")]
    Key {
        /// The key.
        key: Vec<u8>,
    },
    /// A message of a device that does not exist.
    #[error("message {id} is for device number {number}, which does not exist")]
    Orphan {
        /// The message.
        id: Id,
        /// The device.
        number: u32,
    },
}

impl Area {
    /// The area with what the store holds: keys that begin with `d`, messages whose owner has the top bit set.
    pub fn new(
        mut settings: AreaSettings,
        recovered: &Recovered,
        now: Now,
        batch: &mut Batch,
    ) -> Result<Self, RecoverError> {
        // More than that is not remembered of a device's puts.
        settings.limits.put_credit = settings.limits.put_credit.clamp(1, CREDIT_MAX as u32);
        let mut area = Self {
            settings,
            identities: Vec::new(),
            names: BTreeMap::new(),
            devices: BTreeMap::new(),
            next_number: 1,
            enrolled: 0,
            links: BTreeMap::new(),
            units: BTreeMap::new(),
            timers: BTreeSet::new(),
            sessions_given: 0,
            room: Room::Enough,
            bytes: 0,
            expiring: 0,
            latest: now.instant,
            sweep: Sweep::default(),
        };
        let ours = || recovered.keyed.iter().filter(|(key, _)| key.first() == Some(&keys::AREA));
        for (key, value) in ours().filter(|(key, _)| key.starts_with(keys::DEVICE)) {
            area.recover_device(key, value)?;
        }
        for (key, value) in ours().filter(|(key, _)| !key.starts_with(keys::DEVICE)) {
            area.recover_key(key, value)?;
        }
        let mut lost: BTreeMap<u32, Vec<RecoveredMessage>> = BTreeMap::new();
        for message in &recovered.messages {
            let Some(number) = number_of(message.owner) else { continue };
            let Some(device) = area.devices.get_mut(&number) else {
                return Err(RecoverError::Orphan { id: message.id, number });
            };
            if !message.persistent && area.settings.non_persistent == NonPersistent::Lost {
                lost.entry(number).or_default().push(*message);
                continue;
            }
            let mut entry = entry_of(message);
            device.bytes += u64::from(entry.length());
            area.bytes += u64::from(entry.length());
            let live = device.live();
            if live.mark.covers(message.priority, message.id) {
                // How often is not known, but that it was: the next time it is sent again.
                entry.delivered();
                let doubt = InDoubt { entry, priority: message.priority, sent: None, rejected: None };
                live.doubt.insert(message.id, doubt);
            } else {
                area.expiring += u64::from(entry.expiry_ms != 0);
                device.wait(message.priority, entry);
                device.rest();
            }
        }
        for (number, messages) in lost {
            area.lose(number, &messages, now, batch);
        }
        area.note_identity(batch);
        area.sweep = Sweep::new(now, area.settings.sweep_every);
        Ok(area)
    }

    fn recover_device(&mut self, key: &[u8], value: &[u8]) -> Result<(), RecoverError> {
        let name = std::str::from_utf8(&key[keys::DEVICE.len()..]).ok();
        let name = name.and_then(|name| DeviceName::new(name).ok());
        let name = name.ok_or_else(|| RecoverError::Key { key: key.to_vec() })?;
        let device = keys::device_from(name, value)
            .map_err(|error| RecoverError::Value { key: key.to_vec(), error })?;
        let number = device.number;
        self.enrolled += u32::from(!device.listed);
        self.next_number = self.next_number.max(number + 1);
        self.names.insert(name, number);
        self.devices.insert(number, Box::new(device));
        Ok(())
    }

    fn recover_key(&mut self, key: &[u8], value: &[u8]) -> Result<(), RecoverError> {
        let unreadable = |error| RecoverError::Value { key: key.to_vec(), error };
        let unknown = || RecoverError::Key { key: key.to_vec() };
        match key.get(..2) {
            Some(keys::IDENTITIES) => {
                self.identities = keys::identities_from(value).map_err(unreadable)?;
                return Ok(());
            }
            Some(keys::NEXT_NUMBER) => {
                let number = value.try_into().map(u32::from_be_bytes).map_err(|_| unknown())?;
                self.next_number = self.next_number.max(number);
                return Ok(());
            }
            _ => {}
        }
        let (number, more) = keys::numbered(key).ok_or_else(unknown)?;
        let device = self.devices.get_mut(&number).ok_or_else(unknown)?;
        match key.get(..2) {
            Some(keys::MARK) => device.live().mark = keys::mark_from(value).map_err(unreadable)?,
            Some(keys::COUNTERS) => {
                device.counters = Counters::from_bytes(value).ok_or_else(unknown)?;
            }
            Some(keys::PUTS) => {
                let incarnation = u32::try_from(more).map_err(|_| unknown())?;
                let mark = PutMark::from_bytes(value).map_err(unreadable)?;
                // The keys come in the order of the incarnations.
                device.puts.push((Incarnation(incarnation), mark));
            }
            Some(keys::TOMBSTONE) => {
                device.live().tombs.insert(Id::from_u64(more));
            }
            _ => return Err(unknown()),
        }
        Ok(())
    }

    /// Non-persistent messages that the restart lost: counted, and a tombstone where the device may have them.
    fn lose(&mut self, number: u32, messages: &[RecoveredMessage], now: Now, batch: &mut Batch) {
        let Some(device) = self.devices.get_mut(&number) else { return };
        let before = device.counters;
        let mut commit = Commit::default();
        for message in messages {
            commit.kill(message.id, message.place);
            device.counters.add(Counter::LostNonPersistent, 1);
            if device.live().mark.covers(message.priority, message.id) {
                device.live().tombs.insert(message.id);
                commit.set(keys::tombstone(number, message.id), now.wall_ms.to_be_bytes().to_vec());
            }
        }
        device.commit(&before, commit, batch);
        device.rest();
    }

    /// A restored or copied store goes on under a new identity; what it took in before keeps the old one.
    fn note_identity(&mut self, batch: &mut Batch) {
        let identity = self.settings.identity;
        if self.identities.last().is_none_or(|(_, last)| *last != identity) {
            let from = if self.identities.is_empty() { 0 } else { batch.start() };
            self.identities.push((from, identity));
            let mut commit = Commit::default();
            commit.set(keys::IDENTITIES, keys::identities_value(&self.identities));
            batch.commit(commit);
        }
    }
}

fn entry_of(message: &RecoveredMessage) -> Entry {
    let length = message.envelope_length.saturating_add(message.body_length);
    Entry::new(message.id, message.place, length, message.expiry_ms, message.persistent)
}
