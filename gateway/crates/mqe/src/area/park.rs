//! The park area: messages for devices that are not known, until they are (mqe.md 2.6, 3).
//!
//! A device that is not known gets a record all the same, with a flag, and its messages lie in its sub-queue: when it
//! becomes known the flag goes, and they are there, in order. Until then nobody but this file knows of it. How long a
//! message may stay is counted from when it was parked; then it ends and a dead letter is owed for it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use mq_wire::Reason;
use store::{Batch, Commit, Id, UnitId};

use super::counters::{Counter, Counters, Counts};
use super::device::Flags;
use super::owed::Owed;
use super::{Accepted, Area, OnboardError, Undelivered, keys};
use crate::{DeviceMessage, DeviceName, Now};

/// Most messages that one step ends.
const STEP_MAX: usize = 1_000;
/// How often it is looked for those whose time is over.
const LOOK_EVERY: Duration = Duration::from_secs(30);

/// What the park area holds, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParkLimits {
    /// Most messages.
    pub messages_max: u32,
    /// Most bytes.
    pub bytes_max: u64,
    /// After so long a message is a dead letter.
    pub time_max: Duration,
}

impl Default for ParkLimits {
    /// The defaults of mqe.md 4.6.
    fn default() -> Self {
        Self { messages_max: 10_000, bytes_max: 256 << 20, time_max: Duration::from_secs(24 * 60 * 60) }
    }
}

/// The parked messages of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParkedView {
    /// The device that is not known.
    pub device: DeviceName,
    /// Messages.
    pub messages: usize,
    /// Their bytes.
    pub bytes: u64,
    /// When the oldest was parked: wall clock milliseconds.
    pub oldest_ms: u64,
}

/// What is parked.
#[derive(Debug)]
pub(super) struct Parked {
    /// By the device's number: when each was parked.
    devices: BTreeMap<u32, BTreeMap<Id, u64>>,
    /// The order in which their time is over.
    order: BTreeSet<(u64, u32, Id)>,
    /// What became of messages of devices that are forgotten.
    pub(super) ended: Counts,
    /// Messages and bytes, kept from one message that is parked to the next; none when anything has left since.
    totals: Option<(u64, u64)>,
    next_look: Instant,
}

impl Parked {
    pub(super) fn new(now: Now) -> Self {
        Self {
            devices: BTreeMap::new(),
            order: BTreeSet::new(),
            ended: Counts::default(),
            totals: None,
            next_look: now.instant,
        }
    }

    pub(super) fn add(&mut self, number: u32, id: Id, since_ms: u64) {
        self.devices.entry(number).or_default().insert(id, since_ms);
        self.order.insert((since_ms, number, id));
    }

    /// A message is parked no more. Whether it was.
    pub(super) fn remove(&mut self, number: u32, id: Id) -> bool {
        self.totals = None;
        let Some(messages) = self.devices.get_mut(&number) else { return false };
        let since_ms = messages.remove(&id);
        if let Some(since_ms) = since_ms {
            self.order.remove(&(since_ms, number, id));
        }
        if messages.is_empty() {
            self.devices.remove(&number);
        }
        since_ms.is_some()
    }

    /// The keys of a device's messages go.
    fn take(&mut self, number: u32, commit: &mut Commit) -> usize {
        self.totals = None;
        let messages = self.devices.remove(&number).unwrap_or_default();
        for (id, since_ms) in &messages {
            self.order.remove(&(*since_ms, number, *id));
            commit.remove(keys::parked(number, *id));
        }
        messages.len()
    }

    /// Something left that was not real yet.
    pub(super) fn recount(&mut self) {
        self.totals = None;
    }

    pub(super) fn next_look(&self) -> Instant {
        self.next_look
    }
}

impl Area {
    /// Holds a message for a device that is not known, in a unit. One that is known gets it.
    pub fn park(
        &mut self,
        now: Now,
        device: &DeviceName,
        message: &DeviceMessage,
        unit: UnitId,
        batch: &mut Batch,
    ) -> Result<Accepted, Undelivered> {
        let number = match self.devices.number(device) {
            Some(number) if !self.is_parked(number) => return self.accept(now, device, message, unit, batch),
            Some(number) => Some(number),
            None => None,
        };
        let envelope = self.fits(device, message)?;
        let ParkLimits { messages_max, bytes_max, .. } = self.settings.park;
        let bytes = (envelope.len() + message.payload.len()) as u64;
        let (messages, held) = self.parked.totals.unwrap_or_else(|| self.parked_totals());
        debug_assert_eq!((messages, held), self.parked_totals());
        self.parked.totals = Some((messages, held));
        if messages >= u64::from(messages_max) || held + bytes > bytes_max {
            return Err(Undelivered::ParkFull { messages, bytes: held });
        }
        let number = number.unwrap_or_else(|| self.create_parked(*device, batch));
        let accepted = self.write_ahead(now, (number, device), message, envelope, unit, batch)?;
        if let (Accepted::Stored(_), Some((messages, held))) = (&accepted, &mut self.parked.totals) {
            (*messages, *held) = (*messages + 1, *held + bytes);
        }
        Ok(accepted)
    }

    /// Messages and bytes that are parked, or being taken in.
    pub fn parked_totals(&self) -> (u64, u64) {
        let devices = self.parked_numbers.iter().filter_map(|number| self.devices.get(*number));
        devices.fold((0, 0), |(messages, bytes), device| {
            (messages + device.messages() as u64, bytes + device.bytes)
        })
    }

    /// What became of messages of devices that never became known. Those of one that does are among its own then.
    pub fn parked_counters(&self) -> Counters {
        let mut all = self.parked.ended.clone();
        let devices = self.parked_numbers.iter().filter_map(|number| self.devices.get(*number));
        let waiting: usize = devices
            .map(|device| {
                all.add_all(&device.counts);
                device.queue.len()
            })
            .sum();
        all.get().with_live(waiting as u64)
    }

    /// What is parked, in the order of the devices' numbers.
    pub fn parked(&self) -> impl Iterator<Item = ParkedView> {
        self.parked_numbers.iter().filter_map(|number| {
            let device = self.devices.get(*number)?;
            let oldest_ms = self.parked.devices.get(number).and_then(|messages| messages.values().min());
            Some(ParkedView {
                device: device.name,
                messages: device.queue.len(),
                bytes: device.bytes,
                oldest_ms: oldest_ms.copied()?,
            })
        })
    }

    /// An operator lets a device in for which messages are parked: they wait for it now. How many these are.
    pub fn park_release(&mut self, device: &DeviceName, batch: &mut Batch) -> Result<u64, OnboardError> {
        let unknown = OnboardError::Unknown { device: *device };
        let number = self.devices.number(device).filter(|number| self.is_parked(*number)).ok_or(unknown)?;
        let messages = self.devices.get(number).map_or(0, |found| found.queue.len() as u64);
        self.unpark(number, true, batch);
        Ok(messages)
    }

    /// An operator ends what is parked for a device, at most so many; how many these were. The caller asks again.
    pub fn park_purge(&mut self, device: &DeviceName, batch: &mut Batch) -> Result<u64, OnboardError> {
        let unknown = OnboardError::Unknown { device: *device };
        let number = self.devices.number(device).filter(|number| self.is_parked(*number)).ok_or(unknown)?;
        let Some(found) = self.devices.get_mut(number) else { return Ok(0) };
        let (before, mut commit, mut ended) = (found.queue.bytes(), Commit::default(), 0);
        while ended < STEP_MAX as u64
            && let Some(entry) = found.queue.pop_first()
        {
            self.bytes -= u64::from(entry.length());
            found.end(&entry, Counter::Purged, &mut commit);
            commit.remove(keys::parked(number, entry.id));
            self.parked.remove(number, entry.id);
            ended += 1;
        }
        self.index.left(found, before);
        found.commit(commit, batch, &mut self.newest);
        Ok(ended)
    }

    /// Whether it is only known as one for which messages are parked.
    pub(super) fn is_parked(&self, number: u32) -> bool {
        self.parked_numbers.contains(&number)
    }

    /// The device becomes known.
    pub(super) fn unpark(&mut self, number: u32, listed: bool, batch: &mut Batch) {
        let mut commit = Commit::default();
        self.parked.take(number, &mut commit);
        self.parked_numbers.remove(&number);
        if !listed {
            self.enrolled += 1;
        }
        let Some(device) = self.devices.get_mut(number) else { return };
        device.flags.set(Flags::PARKED, false);
        device.flags.set(Flags::LISTED, listed);
        device.set_record(&mut commit);
        device.commit(commit, batch, &mut self.newest);
    }

    /// A message of it has ended by itself: its expiry, or its time here.
    pub(super) fn left_park(&mut self, number: u32, id: Id, commit: &mut Commit) {
        if self.parked_numbers.contains(&number) {
            commit.remove(keys::parked(number, id));
            self.parked.remove(number, id);
        }
    }

    /// Ends those whose time is over, and forgets devices for which nothing is parked any more.
    pub(super) fn look_at_parked(&mut self, now: Now, batch: &mut Batch) {
        if self.parked_numbers.is_empty() || self.parked.next_look > now.instant {
            return;
        }
        self.parked.next_look = now.instant + LOOK_EVERY;
        let time_ms = u64::try_from(self.settings.park.time_max.as_millis()).unwrap_or(u64::MAX);
        let mut ended = 0;
        while let Some((since_ms, number, id)) = self.parked.order.first().copied()
            && since_ms.saturating_add(time_ms) <= now.wall_ms
        {
            if ended == STEP_MAX {
                self.parked.next_look = now.instant;
                return;
            }
            ended += 1;
            self.parked.remove(number, id);
            let Some(device) = self.devices.get_mut(number) else { continue };
            let before = device.queue.bytes();
            let Some(entry) = device.queue.remove(id) else { continue };
            self.index.left(device, before);
            self.bytes -= u64::from(entry.length());
            let (mut commit, owed) = (Commit::default(), Owed::DeadLetter(Reason::UNKNOWN_REMOTE_Q_MGR));
            let how = Counter::DeadLettered;
            device.end_owing(&entry, how, owed, now.instant, &mut self.debts, &mut commit);
            commit.remove(keys::parked(number, id));
            device.commit(commit, batch, &mut self.newest);
        }
        let empty: Vec<u32> = self.parked_numbers.iter().copied().collect();
        for number in empty {
            let Some(device) = self.devices.get(number) else { continue };
            if device.messages() > 0 || self.cold.is_away(number) {
                continue;
            }
            let mut commit = Commit::default();
            // They stay known: how each message ended is counted for ever (DESIGN.md 6).
            self.parked.ended.add_all(&device.counts);
            commit.set(keys::PARKED_ENDS, self.parked.ended.to_bytes());
            commit.remove(keys::device(&device.name));
            commit.remove(keys::counters(number));
            commit.set(keys::NEXT_NUMBER, self.next_number.to_be_bytes().to_vec());
            self.parked.take(number, &mut commit);
            self.parked_numbers.remove(&number);
            self.devices.remove(number);
            self.commit(commit, batch);
        }
    }
}
