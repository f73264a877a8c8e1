//! The area out of what the store recovered: just the unconfirmed up to the mark of their priority are in doubt
//! (ONCE.md 2).

use std::collections::{BTreeMap, BTreeSet};

use store::{Batch, Commit, Id, Position, PreparedUnit, Recovered, RecoveredMessage, Room};

use super::clear::Clearing;
use super::cold::Cold;
use super::counters::{Counter, Counts};
use super::device::{Flags, InDoubt, number_of};
use super::devices::Devices;
use super::expire::Sweep;
use super::index::Index;
use super::intake::{REPORTS_TAG, Written};
use super::owed::Debts;
use super::park::Parked;
use super::puts::{CREDIT_MAX, PutMark, PutWait};
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

/// Most lost messages in one commit.
const LOST_MAX: usize = 1_000;

/// Non-persistent messages that a start ends.
#[derive(Debug, Default)]
struct Lost {
    commit: Commit,
    devices: BTreeSet<u32>,
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
        let sweep_every = settings.sweep_every;
        let mut area = Self {
            settings,
            identities: Vec::new(),
            devices: Devices::default(),
            next_number: 1,
            enrolled: 0,
            links: BTreeMap::new(),
            units: BTreeMap::new(),
            timers: BTreeSet::new(),
            sessions_given: 0,
            room: Room::Enough,
            bytes: 0,
            newest: Position::default(),
            index: Index::default(),
            latest: now.instant,
            sweep: Sweep::new(now, sweep_every),
            resting: BTreeSet::new(),
            clearing: BTreeSet::new(),
            cold: Cold::new(now),
            debts: Debts::default(),
            put_waits: BTreeMap::new(),
            parked: Parked::new(now),
            parked_numbers: BTreeSet::new(),
        };
        let ours = || recovered.keyed.iter().filter(|(key, _)| key.first() == Some(&keys::AREA));
        for (key, value) in ours().filter(|(key, _)| key.starts_with(keys::DEVICE)) {
            area.recover_device(key, value)?;
        }
        for (key, value) in ours().filter(|(key, _)| !key.starts_with(keys::DEVICE)) {
            area.recover_key(key, value, now)?;
        }
        area.recover_messages(&recovered.messages, now, batch)?;
        area.adopt_prepared(&recovered.prepared);
        let mut commit = Commit::default();
        area.debts.forget_lost(&mut commit);
        area.commit(commit, batch);
        area.note_identity(batch);
        Ok(area)
    }

    fn recover_messages(
        &mut self,
        messages: &[RecoveredMessage],
        now: Now,
        batch: &mut Batch,
    ) -> Result<(), RecoverError> {
        let lose = self.settings.non_persistent == NonPersistent::Lost;
        // First how many there are, so that each queue is made in one piece. No unit is open yet.
        for message in messages {
            let Some(number) = number_of(message.owner) else { continue };
            if self.debts.found(message.id, message.place) {
                continue;
            }
            let Some(device) = self.devices.get_mut(number) else {
                return Err(RecoverError::Orphan { id: message.id, number });
            };
            device.unreal += 1;
        }
        let mut lost = Lost::default();
        for message in messages {
            let Some(number) = number_of(message.owner).filter(|_| !self.debts.has(message.id)) else {
                continue;
            };
            let Some(device) = self.devices.get_mut(number) else { continue };
            let count = std::mem::take(&mut device.unreal) as usize;
            device.unreal = count.saturating_sub(1) as u32;
            let live = device.live.as_deref_mut();
            let live = live.filter(|live| live.mark.covers(message.priority, message.id));
            if lose && !message.persistent {
                if let Some(live) = live {
                    live.tombs.insert(message.id);
                    let key = keys::tombstone(number, message.id);
                    lost.commit.set(key, now.wall_ms.to_be_bytes().to_vec());
                }
                device.count(Counter::LostNonPersistent, 1);
                lost.commit.kill(message.id, message.place);
                if self.parked.remove(number, message.id) {
                    lost.commit.remove(keys::parked(number, message.id));
                }
                lost.devices.insert(number);
                if lost.commit.kills.len() >= LOST_MAX {
                    self.lose(std::mem::take(&mut lost), batch);
                }
                continue;
            }
            let mut entry = entry_of(message);
            self.bytes += u64::from(entry.length());
            let clearing = device.live.as_deref_mut().and_then(|live| live.clearing.as_deref_mut());
            if let Some(clearing) = clearing.filter(|clearing| clearing.covers(message.id)) {
                // Whatever the mark says: it waited when the purge began.
                clearing.insert(entry);
                continue;
            }
            let live = device.live.as_deref_mut();
            let live = live.filter(|live| live.mark.covers(message.priority, message.id));
            device.bytes += u64::from(entry.length());
            if let Some(live) = live {
                // How often is not known, but that it was: the next time it is sent again.
                entry.delivered();
                live.doubt.insert(message.id, InDoubt { entry, sent: None, rejected: None });
            } else {
                self.index.entered(device, entry.expiry_ms);
                device.queue.insert_expecting(entry, count);
            }
        }
        self.lose(lost, batch);
        for device in self.devices.iter_mut() {
            device.queue.shrink();
            self.index.resized(0, &device.queue);
            if device.rest() {
                self.resting.insert(device.number);
            }
        }
        Ok(())
    }

    /// Units that were prepared and are not decided: invisible as before.
    fn adopt_prepared(&mut self, prepared: &[PreparedUnit]) {
        for PreparedUnit { unit, messages, .. } in prepared {
            for message in messages {
                let Some(number) = number_of(message.owner) else { continue };
                let Some(device) = self.devices.get_mut(number) else { continue };
                let entry = entry_of(message);
                device.unreal += 1;
                device.bytes += u64::from(entry.length());
                self.bytes += u64::from(entry.length());
                self.units.entry(*unit).or_default().stored.push(Written { number, entry });
            }
        }
    }

    fn recover_device(&mut self, key: &[u8], value: &[u8]) -> Result<(), RecoverError> {
        let name = std::str::from_utf8(&key[keys::DEVICE.len()..]).ok();
        let name = name.and_then(|name| DeviceName::new(name).ok());
        let name = name.ok_or_else(|| RecoverError::Key { key: key.to_vec() })?;
        let device = keys::device_from(name, value)
            .map_err(|error| RecoverError::Value { key: key.to_vec(), error })?;
        let number = device.number;
        if device.flags.is(Flags::PARKED) {
            self.parked_numbers.insert(number);
        } else {
            self.enrolled += u32::from(!device.flags.is(Flags::LISTED));
        }
        self.next_number = self.next_number.max(number + 1);
        self.devices.insert(device);
        Ok(())
    }

    fn recover_key(&mut self, key: &[u8], value: &[u8], now: Now) -> Result<(), RecoverError> {
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
            Some(keys::PARKED_ENDS) => {
                self.parked.ended = Counts::from_bytes(value).ok_or_else(unknown)?;
                return Ok(());
            }
            Some(keys::OWED) => {
                let id = key.get(2..).and_then(|id| id.try_into().ok()).map(u64::from_be_bytes);
                let id = id.map(Id::from_u64).ok_or_else(unknown)?;
                return self.debts.recover(id, value, now.instant).map_err(unreadable);
            }
            _ => {}
        }
        let (number, more) = keys::numbered(key).ok_or_else(unknown)?;
        let device = self.devices.get_mut(number).ok_or_else(unknown)?;
        match key.get(..2) {
            Some(keys::MARK) => device.live().mark = keys::mark_from(value).map_err(unreadable)?,
            Some(keys::COUNTERS) => {
                device.counts = Counts::from_bytes(value).ok_or_else(unknown)?;
            }
            Some(keys::PUTS) => {
                let incarnation = u32::try_from(more).map_err(|_| unknown())?;
                let mark = PutMark::from_bytes(value).map_err(unreadable)?;
                let incarnation = Incarnation(incarnation);
                self.put_waits.extend(
                    mark.waits()
                        .map(|(sequence, id)| (id, PutWait { device: number, incarnation, sequence })),
                );
                // The keys come in the order of the incarnations.
                let mut puts = std::mem::take(&mut device.puts).into_vec();
                puts.push((incarnation, mark));
                device.puts = puts.into_boxed_slice();
            }
            Some(keys::CLEARING) => {
                let clearing = Clearing::from_bytes(value).map_err(unreadable)?;
                device.live().clearing = Some(Box::new(clearing));
                self.clearing.insert(number);
            }
            Some(keys::PARKED) => {
                let since_ms = value.try_into().map(u64::from_be_bytes).map_err(|_| unknown())?;
                self.parked.add(number, Id::from_u64(more), since_ms);
            }
            Some(keys::TOMBSTONE) => {
                device.live().tombs.insert(Id::from_u64(more));
            }
            _ => return Err(unknown()),
        }
        Ok(())
    }

    /// Non-persistent messages that the restart lost: counted, and a tombstone where the device may have them.
    fn lose(&mut self, lost: Lost, batch: &mut Batch) {
        let Lost { mut commit, devices } = lost;
        for number in devices {
            if let Some(device) = self.devices.get_mut(number) {
                device.commit_counters(&mut commit);
            }
        }
        self.commit(commit, batch);
    }

    /// A restored or copied store goes on under a new identity; what it took in before keeps the old one.
    fn note_identity(&mut self, batch: &mut Batch) {
        let identity = self.settings.identity;
        if self.identities.last().is_none_or(|(_, last)| *last != identity) {
            let from = if self.identities.is_empty() { 0 } else { batch.start() };
            self.identities.push((from, identity));
            let mut commit = Commit::default();
            commit.set(keys::IDENTITIES, keys::identities_value(&self.identities));
            self.commit(commit, batch);
        }
    }
}

/// The entry of a message as the store knows it.
pub(super) fn entry_of(message: &RecoveredMessage) -> Entry {
    let length = message.envelope_length.saturating_add(message.body_length);
    let RecoveredMessage { id, place, priority, expiry_ms, persistent, .. } = *message;
    let reports = message.tags[1] & REPORTS_TAG != 0;
    Entry::new(id, place, priority, length, expiry_ms, persistent).with_reports(reports)
}
