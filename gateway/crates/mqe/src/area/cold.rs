//! Entries of idle devices leave memory when all of them together take too much (STORE.md 7).
//!
//! What is away is with the owner, in a derived index: it is asked to keep it and to bring it by [`Area::poll_cold`].
//! Only devices at rest are concerned: nothing in doubt, no mark, no connection, no open unit. Counts and bytes stay in
//! memory, so a message for such a device just waits behind them; its HELLO, its expiry and its purge wait until the
//! entries are there again. After a start all are in memory: what the owner has kept from before is of no use.
//!
//! Each work is answered, in a turn: [`ColdWork::Evict`] by [`Area::evicted`] or [`Area::not_evicted`],
//! [`ColdWork::Load`] by [`Area::loaded`] or [`Area::lost`].

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use bytes::Bytes;
use store::{Batch, Id, RecoveredMessage};

use super::device::{Device, Flags};
use super::queue::{Entry, entries_from, entry_bytes};
use super::recover::entry_of;
use super::sessions::come_later;
use super::{Area, AreaEffect, OnboardError};
use crate::frame::Hello;
use crate::{ConnId, DeviceName, Now, RequestId};

/// Most devices that one step looks at.
const STEP_MAX: usize = 1_000;
/// Most evictions that the owner has not answered.
const LEAVING_MAX: usize = 1_000;
/// And the bytes of these.
const LEAVING_BYTES_MAX: u64 = 64 << 20;
/// When nobody could be evicted it is tried again after this.
const AGAIN: Duration = Duration::from_secs(1);
/// And when the owner could not keep what it was asked to, after this.
const REFUSED: Duration = Duration::from_secs(30);

/// What the owner is asked to do with entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColdWork {
    /// Keep these bytes under this number and part, then call [`Area::evicted`]; if that cannot be,
    /// [`Area::not_evicted`].
    Evict {
        /// The device's number.
        number: u32,
        /// Counts from 0; an earlier one of the same number is replaced.
        part: u32,
        /// What to keep.
        entries: Bytes,
    },
    /// Bring them by [`Area::loaded`]: all parts in their order, one after the other. They are not needed any more then.
    /// If they are not kept any more, [`cold_entries`] makes the same of what the store has; if that has lost them too,
    /// call [`Area::lost`].
    Load {
        /// The device's number.
        number: u32,
        /// Parts from 0 on, this one excluded.
        parts: u32,
        /// The highest id among them: no other message of the device has an id up to it, but those that have ended.
        last: Id,
        /// Messages of it that have ended and are in the store still.
        ended: Vec<Id>,
    },
}

/// What [`Area::loaded`] takes, out of all messages of a device that are in the store; `last` is that of the
/// [`ColdWork::Load`].
pub fn cold_entries(messages: &[RecoveredMessage], last: Id, ended: &[Id]) -> Vec<u8> {
    let wanted = messages.iter().filter(|message| message.id <= last && !ended.contains(&message.id));
    let entries: Vec<Entry> = wanted.map(entry_of).collect();
    entry_bytes(entries.len(), entries.into_iter())
}

/// What was brought is not what was to be kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the entries of device number {number} are not what was kept: the derived index must be made anew")]
pub struct ColdError {
    /// The device's number.
    pub number: u32,
}

/// What is away, on its way there, or waiting for it.
#[derive(Debug)]
pub(super) struct Cold {
    away: BTreeMap<u32, Away>,
    /// What the owner was asked to keep and has not answered. One at a time for each device.
    leaving: BTreeMap<u32, Leaving>,
    leaving_bytes: u64,
    work: VecDeque<ColdWork>,
    /// Devices that came and wait for their entries.
    hellos: Vec<(u32, ConnId, RequestId, Hello)>,
    /// Which device is looked at next.
    cursor: u32,
    /// How many were looked at since one was evicted.
    fruitless: usize,
    /// Not before.
    next: Instant,
}

/// Entries that are on their way out, and in memory.
#[derive(Debug)]
struct Leaving {
    bytes: usize,
    /// None: they are not wanted out any more.
    checksum: Option<u32>,
}

/// Entries of a device that are not in memory.
#[derive(Debug)]
struct Away {
    parts: u32,
    count: usize,
    last: Id,
    /// When the first one expires.
    next_ms: Option<u64>,
    /// A purge takes them.
    clearing: bool,
    loading: bool,
}

impl Cold {
    pub(super) fn new(now: Now) -> Self {
        Self {
            away: BTreeMap::new(),
            leaving: BTreeMap::new(),
            leaving_bytes: 0,
            work: VecDeque::new(),
            hellos: Vec::new(),
            cursor: 0,
            fruitless: 0,
            next: now.instant,
        }
    }

    /// Whether entries of a device are not in memory.
    pub(super) fn is_away(&self, number: u32) -> bool {
        self.away.contains_key(&number)
    }

    /// Whether they were asked for.
    pub(super) fn is_coming(&self, number: u32) -> bool {
        self.away.get(&number).is_some_and(|away| away.loading)
    }

    /// How many there are.
    pub(super) fn count(&self, number: u32) -> usize {
        self.away.get(&number).map_or(0, |away| away.count)
    }

    /// How many of them are in nobody's way.
    pub(super) fn waiting(&self, number: u32) -> usize {
        self.away.get(&number).filter(|away| !away.clearing).map_or(0, |away| away.count)
    }

    /// How many of them a purge takes.
    pub(super) fn clearing(&self, number: u32) -> usize {
        self.count(number) - self.waiting(number)
    }

    /// The highest id of those that no purge takes yet.
    pub(super) fn last_id(&self, number: u32) -> Option<Id> {
        self.away.get(&number).filter(|away| !away.clearing).map(|away| away.last)
    }

    /// When the first one expires; if that is over they are asked for instead.
    pub(super) fn next_ms(&mut self, number: u32, wall_ms: u64) -> Option<u64> {
        let next_ms = self.away.get(&number).filter(|away| !away.loading)?.next_ms?;
        if next_ms > wall_ms {
            return Some(next_ms);
        }
        self.ask_for(number);
        None
    }

    /// A purge takes what is away.
    pub(super) fn clear(&mut self, number: u32) {
        if let Some(away) = self.away.get_mut(&number) {
            away.clearing = true;
            self.ask_for(number);
        }
    }

    /// Whether a HELLO of this connection waits for entries.
    pub(super) fn awaits(&self, conn: ConnId) -> bool {
        self.hellos.iter().any(|(_, other, ..)| *other == conn)
    }

    pub(super) fn closed(&mut self, conn: ConnId) {
        self.hellos.retain(|(_, other, ..)| *other != conn);
    }

    /// Asks for what is away, once.
    fn ask_for(&mut self, number: u32) {
        if let Some(away) = self.away.get_mut(&number).filter(|away| !away.loading) {
            away.loading = true;
            // What has ended is filled in when it is polled.
            let ended = Vec::new();
            self.work.push_back(ColdWork::Load { number, parts: away.parts, last: away.last, ended });
        }
    }
}

impl Area {
    /// What the owner must do with entries, in this order.
    pub fn poll_cold(&mut self) -> Option<ColdWork> {
        let mut work = self.cold.work.pop_front();
        if let Some(ColdWork::Load { number, ended, .. }) = &mut work
            && let Some(device) = self.devices.get(*number)
        {
            *ended = self.debts.of(&device.name);
        }
        work
    }

    /// The owner keeps what it was asked to. If the entries have changed meanwhile they stay, and what was kept is void;
    /// the next [`ColdWork::Evict`] replaces it. Whether they left memory.
    pub fn evicted(&mut self, number: u32) -> bool {
        let Some(Leaving { bytes, checksum }) = self.cold.leaving.remove(&number) else { return false };
        self.cold.leaving_bytes -= bytes as u64;
        let coming = self.cold.is_coming(number);
        let Some(device) = self.devices.get_mut(number).filter(|device| !coming && is_at_rest(device)) else {
            return false;
        };
        let entries = device.queue.to_bytes();
        if entries.len() != bytes || Some(crc32fast::hash(&entries)) != checksum {
            return false;
        }
        let Some(last) = device.queue.last_id() else { return false };
        let (count, next_ms) = (device.queue.len(), device.queue.next_ms());
        let before = device.queue.bytes();
        device.queue = Default::default();
        // The sweep goes on to look at it when its first message expires.
        self.index.resized(before, &device.queue);
        let empty = Away { parts: 0, count: 0, last, next_ms: None, clearing: false, loading: false };
        let away = self.cold.away.entry(number).or_insert(empty);
        away.parts += 1;
        away.count += count;
        away.last = away.last.max(last);
        away.next_ms = [away.next_ms, next_ms].into_iter().flatten().min();
        true
    }

    /// The owner cannot keep what it was asked to: it stays in memory, and for a while nothing else leaves it.
    pub fn not_evicted(&mut self, number: u32) {
        if let Some(Leaving { bytes, .. }) = self.cold.leaving.remove(&number) {
            self.cold.leaving_bytes -= bytes as u64;
            self.cold.next = self.cold.next.max(self.latest + REFUSED);
        }
    }

    /// Entries that were asked for. What waited for them goes on. After an error they are still waited for.
    pub fn loaded(
        &mut self,
        number: u32,
        entries: &[u8],
        batch: &mut Batch,
        out: &mut Vec<AreaEffect>,
    ) -> Result<(), ColdError> {
        let Some(away) = self.cold.away.get(&number).filter(|away| away.loading) else { return Ok(()) };
        let (count, clearing) = (away.count, away.clearing);
        let entries = entries_from(entries).filter(|entries| entries.len() == count);
        let Some(entries) = entries else { return Err(ColdError { number }) };
        self.cold.away.remove(&number);
        if let Some(leaving) = self.cold.leaving.get_mut(&number) {
            // Its part would stand behind those that are here again.
            leaving.checksum = None;
        }
        if let Some(device) = self.devices.get_mut(number) {
            device.flags.set(Flags::RECENT, true);
            for entry in entries {
                if clearing {
                    device.live().clearing.get_or_insert_default().insert_counted(entry);
                } else {
                    device.wait(entry, &mut self.index);
                }
            }
            if clearing {
                self.clearing.insert(number);
            }
        }
        let hellos = std::mem::take(&mut self.cold.hellos);
        let (ready, others) = hellos.into_iter().partition(|(of, ..)| *of == number);
        self.cold.hellos = others;
        for (_, conn, request, hello) in ready {
            self.hello(conn, request, &hello, batch, out);
        }
        Ok(())
    }

    /// Entries that were asked for can be had from nowhere. The device is told to come later, and its messages stay
    /// where they are; whoever needs them next asks again.
    pub fn lost(&mut self, number: u32, out: &mut Vec<AreaEffect>) {
        let Some(away) = self.cold.away.get_mut(&number).filter(|away| away.loading) else { return };
        away.loading = false;
        let hellos = std::mem::take(&mut self.cold.hellos);
        let (told, others) = hellos.into_iter().partition(|(of, ..)| *of == number);
        self.cold.hellos = others;
        for (_, conn, request, _) in told {
            come_later(conn, request, "the messages for the device cannot be read now", out);
        }
    }

    /// Whether all entries of a device are in memory; if not they are asked for.
    pub fn warm(&mut self, device: &DeviceName) -> Result<bool, OnboardError> {
        let number = self.number(device)?;
        self.cold.ask_for(number);
        Ok(!self.cold.is_away(number))
    }

    /// About how many bytes the entries take that are in memory.
    pub fn index_bytes(&self) -> u64 {
        self.index.bytes()
    }

    /// Above how many of these bytes idle devices leave memory.
    pub fn index_bytes_max(&self) -> u64 {
        self.settings.index_bytes_max
    }

    /// How many devices have entries that are not in memory.
    pub fn evicted_devices(&self) -> usize {
        self.cold.away.len()
    }

    /// Whether the device's HELLO has to wait.
    pub(super) fn wait_for_entries(
        &mut self,
        number: u32,
        conn: ConnId,
        request: RequestId,
        hello: &Hello,
    ) -> bool {
        let waits = self.cold.is_away(number);
        if waits {
            self.cold.ask_for(number);
            self.cold.hellos.push((number, conn, request, hello.clone()));
        }
        waits
    }

    /// When the eviction goes on.
    pub(super) fn next_eviction(&self) -> Option<Instant> {
        self.may_evict().then_some(self.cold.next)
    }

    /// Evicts idle devices. It goes round: who was there since it came by is spared once.
    pub(super) fn evict_some(&mut self, now: Now) {
        if self.cold.next > now.instant {
            return;
        }
        for _ in 0..STEP_MAX {
            if !self.may_evict() {
                break;
            }
            if self.cold.fruitless > 2 * self.devices.len() {
                self.cold.fruitless = 0;
                self.cold.next = now.instant + AGAIN;
                return;
            }
            self.cold.fruitless += 1;
            let number = self.devices.starting_at(self.cold.cursor).next().map(|device| device.number);
            self.cold.cursor = number.map_or(0, |number| number.saturating_add(1));
            if let Some(number) = number {
                self.evict(number);
            }
        }
        self.cold.next = now.instant;
    }

    fn evict(&mut self, number: u32) {
        let cold = &mut self.cold;
        let Some(device) = self.devices.get_mut(number) else { return };
        let busy = cold.leaving.contains_key(&number) || cold.is_coming(number);
        let parked = self.parked_numbers.contains(&number);
        if busy
            || parked
            || !is_at_rest(device)
            || device.queue.is_empty()
            || device.flags.set(Flags::RECENT, false)
        {
            return;
        }
        let entries = device.queue.to_bytes();
        let (bytes, checksum) = (entries.len(), Some(crc32fast::hash(&entries)));
        cold.leaving.insert(number, Leaving { bytes, checksum });
        cold.leaving_bytes += bytes as u64;
        cold.fruitless = 0;
        let part = cold.away.get(&number).map_or(0, |away| away.parts);
        cold.work.push_back(ColdWork::Evict { number, part, entries: entries.into() });
    }

    /// Whether too much is in memory that is not on its way out, and the owner can do with more work.
    fn may_evict(&self) -> bool {
        let Cold { leaving, leaving_bytes, .. } = &self.cold;
        self.index.bytes().saturating_sub(*leaving_bytes) > self.settings.index_bytes_max
            && leaving.len() < LEAVING_MAX
            && *leaving_bytes < LEAVING_BYTES_MAX
    }
}

/// Nobody but new messages, expiry and purges can come to its entries.
fn is_at_rest(device: &Device) -> bool {
    device.live.is_none() && device.unreal == 0
}
