//! The outbox: what must reach other queue managers later, in order, once and once only (ONCE.md 3). Puts of devices, reports
//! and dead letters are entered in the unit of their cause; each is a message record of its own.
//!
//! A pure state machine on the store's batches, like the area. A *target* is a queue manager; its task asks for the next
//! batch, which is noted as in flight, puts it in one unit of work with a sync message that names number and entries, and
//! ends it here. After a cut the sync message says what was committed.
//!
//! | key | value |
//! |---|---|
//! | `oT` target's name | version, number, last committed batch, ids in flight (count first), the queue manager's identifier |
//!
//! Owners of its records have the two top bits set; what is below is the target's number.

mod entry;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use bytes::{Buf, BufMut, BytesMut};
use store::{Batch, Commit, Id, Kill, Moved, NewMessage, OwnerId, Place, Recovered, UnitId};

use crate::{DeviceMessage, DeviceName, Now, digest};

pub use entry::{EntryKind, OutboxEntry};

/// Of owners of the outbox's records.
const OUTBOX_BITS: u64 = 0b11 << 62;
const TARGET: &[u8] = b"oT";
const VERSION: u8 = 1;

/// Waits of a device whose put found no room: doubled each time up to the longest.
const FIRST_HOLD: Duration = Duration::from_secs(1);
const LONGEST_HOLD: Duration = Duration::from_secs(60);

/// Whether an owner is the outbox's.
pub fn is_outbox(owner: OwnerId) -> bool {
    owner.0 & OUTBOX_BITS == OUTBOX_BITS
}

/// What a target may hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetSettings {
    /// Its name: that of the source.
    pub name: String,
    /// Most entries.
    pub messages_max: u32,
    /// Most bytes.
    pub bytes_max: u64,
}

/// An entry does not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OutboxError {
    /// It holds as much as it may.
    #[error("the outbox for {target} holds {messages} messages and {bytes} bytes, which is its limit")]
    Full {
        /// The target.
        target: String,
        /// Its entries.
        messages: usize,
        /// Their bytes.
        bytes: u64,
    },
    /// Nobody has configured it.
    #[error("there is no source {target} to put into")]
    NoTarget {
        /// The name.
        target: String,
    },
}

/// What is kept under a key that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("what the store says of the outbox for {target} cannot be read")]
pub struct OutboxRecoverError {
    /// The target.
    pub target: String,
}

/// What the journal knows of a target.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TargetState {
    /// The queue manager's identifier; empty until the first batch.
    pub q_mgr_id: String,
    /// The last batch that is known to be committed there.
    pub committed: u64,
    /// The entries of the batch that is under way, or was when it was cut.
    pub in_flight: Vec<Id>,
}

/// What waits for a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Depth {
    /// Entries.
    pub messages: usize,
    /// Their bytes.
    pub bytes: u64,
    /// The oldest.
    pub oldest: Option<Id>,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    place: Place,
    bytes: u32,
    /// Names the device whose order it keeps.
    lane: u64,
}

#[derive(Debug, Clone, Copy)]
struct Hold {
    until: Instant,
    tries: u32,
}

#[derive(Debug)]
struct Target {
    number: u32,
    settings: TargetSettings,
    entries: BTreeMap<Id, Entry>,
    bytes: u64,
    /// Entries of open units, and their bytes.
    unreal: (usize, u64),
    state: TargetState,
    holds: BTreeMap<u64, Hold>,
}

/// The outbox. See the module's text.
#[derive(Debug, Default)]
pub struct Outbox {
    targets: BTreeMap<String, Target>,
    by_number: BTreeMap<u32, String>,
    units: BTreeMap<UnitId, Vec<(u32, Id, Entry)>>,
}

impl Outbox {
    /// The outbox with what the store holds. A target that is not configured any more keeps what it has.
    pub fn new(
        targets: &[TargetSettings],
        recovered: &Recovered,
        batch: &mut Batch,
    ) -> Result<Self, OutboxRecoverError> {
        let mut outbox = Self::default();
        for (key, value) in &recovered.keyed {
            let Some(name) = key.strip_prefix(TARGET) else { continue };
            let name = String::from_utf8_lossy(name).into_owned();
            let (number, state) =
                read_state(value).ok_or_else(|| OutboxRecoverError { target: name.clone() })?;
            let settings = TargetSettings { name, messages_max: 0, bytes_max: 0 };
            outbox.insert(number, settings, state);
        }
        for settings in targets {
            if let Some(target) = outbox.targets.get_mut(&settings.name) {
                target.settings = settings.clone();
                continue;
            }
            let number = outbox.by_number.last_key_value().map_or(1, |(number, _)| number + 1);
            outbox.insert(number, settings.clone(), TargetState::default());
            let mut commit = Commit::default();
            outbox.set(&settings.name, &mut commit);
            batch.commit(commit);
        }
        for message in recovered.messages.iter().filter(|message| is_outbox(message.owner)) {
            let number = (message.owner.0 & !OUTBOX_BITS) as u32;
            let bytes = message.envelope_length.saturating_add(message.body_length);
            let entry = Entry { place: message.place, bytes, lane: message.tags[0] };
            if let Some(target) = outbox.numbered(number) {
                target.bytes += u64::from(bytes);
                target.entries.insert(message.id, entry);
            }
        }
        Ok(outbox)
    }

    fn insert(&mut self, number: u32, settings: TargetSettings, state: TargetState) {
        self.by_number.insert(number, settings.name.clone());
        let target = Target {
            number,
            entries: BTreeMap::new(),
            bytes: 0,
            unreal: (0, 0),
            state,
            holds: BTreeMap::new(),
            settings,
        };
        self.targets.insert(target.settings.name.clone(), target);
    }

    fn numbered(&mut self, number: u32) -> Option<&mut Target> {
        self.targets.get_mut(self.by_number.get(&number)?)
    }

    /// Enters something in a unit: it is put when the unit is real.
    pub fn put(
        &mut self,
        target: &str,
        device: Option<&DeviceName>,
        entry: &OutboxEntry,
        unit: UnitId,
        batch: &mut Batch,
    ) -> Result<Id, OutboxError> {
        let found = self.targets.get_mut(target).filter(|target| target.settings.messages_max > 0);
        let found = found.ok_or_else(|| OutboxError::NoTarget { target: target.to_owned() })?;
        let envelope = entry.envelope();
        let message: &DeviceMessage = &entry.message;
        let bytes = envelope.len() + message.payload.len();
        let messages = found.entries.len() + found.unreal.0;
        let held = found.bytes + found.unreal.1;
        // What must be said of an end is not refused for want of room: it is as bounded as the messages that have ended.
        let bounded = matches!(entry.kind, EntryKind::Put);
        let full = messages >= found.settings.messages_max as usize
            || held + bytes as u64 > found.settings.bytes_max;
        if bounded && full {
            return Err(OutboxError::Full { target: target.to_owned(), messages, bytes: held });
        }
        let lane = device.map_or(0, lane_of);
        let stored = batch.message(NewMessage {
            unit: Some(unit),
            owner: OwnerId(OUTBOX_BITS | u64::from(found.number)),
            order: None,
            priority: 0,
            persistent: true,
            // It expires where it is put, or on its way there: then that is seen.
            expiry_ms: 0,
            tags: [lane, 0],
            envelope,
            body: message.payload.clone(),
            file: message.file.clone().filter(|file| file.length() <= message.payload.len() as u64),
        });
        let kept = Entry { place: stored.place, bytes: bytes as u32, lane };
        found.unreal = (found.unreal.0 + 1, found.unreal.1 + bytes as u64);
        self.units.entry(unit).or_default().push((found.number, stored.id, kept));
        Ok(stored.id)
    }

    /// The unit's commit was added to the batch. Gives the targets that have something now.
    pub fn unit_is_real(&mut self, unit: UnitId) -> BTreeSet<String> {
        let mut touched = BTreeSet::new();
        for (number, id, entry) in self.units.remove(&unit).unwrap_or_default() {
            let Some(target) = self.numbered(number) else { continue };
            target.arrived(&entry);
            target.bytes += u64::from(entry.bytes);
            target.entries.insert(id, entry);
            touched.insert(target.settings.name.clone());
        }
        touched
    }

    /// The unit will never be real. Gives what it had written.
    pub fn unit_dropped(&mut self, unit: UnitId) -> Vec<Kill> {
        let mut kills = Vec::new();
        for (number, id, entry) in self.units.remove(&unit).unwrap_or_default() {
            if let Some(target) = self.numbered(number) {
                target.arrived(&entry);
            }
            kills.push(Kill { id, place: entry.place });
        }
        kills
    }

    /// What the journal knows of a target.
    pub fn state(&self, target: &str) -> TargetState {
        self.targets.get(target).map(|target| target.state.clone()).unwrap_or_default()
    }

    /// A target goes on with this queue manager, from this number; nothing is in flight.
    pub fn begin(&mut self, target: &str, q_mgr_id: &str, number: u64, commit: &mut Commit) {
        if let Some(found) = self.targets.get_mut(target) {
            found.state =
                TargetState { q_mgr_id: q_mgr_id.to_owned(), committed: number, in_flight: Vec::new() };
            self.set(target, commit);
        }
    }

    /// The next entries in order, and the number of their batch; noted as in flight. None of a device that is held back. When
    /// the commit is durable so are the entries, and they may be put.
    pub fn next_batch(
        &mut self,
        now: Now,
        target: &str,
        messages_max: usize,
        bytes_max: u64,
        commit: &mut Commit,
    ) -> (u64, Vec<(Id, Place)>) {
        let Some(found) = self.targets.get_mut(target) else { return (0, Vec::new()) };
        let (mut entries, mut bytes) = (Vec::new(), 0);
        for (id, entry) in &found.entries {
            if found.holds.get(&entry.lane).is_some_and(|hold| hold.until > now.instant) {
                continue;
            }
            bytes += u64::from(entry.bytes);
            if entries.len() >= messages_max || (!entries.is_empty() && bytes > bytes_max) {
                break;
            }
            entries.push((*id, entry.place));
        }
        let number = found.state.committed + 1;
        if !entries.is_empty() {
            found.state.in_flight = entries.iter().map(|(id, _)| *id).collect();
            self.set(target, commit);
        }
        (number, entries)
    }

    /// The batch with this number was committed with these entries: they end. Nothing if that is known already.
    pub fn end(&mut self, target: &str, number: u64, ids: &[Id], commit: &mut Commit) -> bool {
        let Some(found) = self.targets.get_mut(target).filter(|found| found.state.committed + 1 == number)
        else {
            return false;
        };
        for id in ids {
            if let Some(entry) = found.entries.remove(id) {
                found.bytes -= u64::from(entry.bytes);
                found.holds.remove(&entry.lane);
                commit.kill(*id, entry.place);
            }
        }
        found.state.committed = number;
        found.state.in_flight.clear();
        self.set(target, commit);
        true
    }

    /// An entry ends without having been put. False if there is none.
    pub fn remove(&mut self, target: &str, id: Id, commit: &mut Commit) -> bool {
        let Some(found) = self.targets.get_mut(target) else { return false };
        let Some(entry) = found.entries.remove(&id) else { return false };
        found.bytes -= u64::from(entry.bytes);
        found.holds.remove(&entry.lane);
        commit.kill(id, entry.place);
        let in_flight = found.state.in_flight.len();
        found.state.in_flight.retain(|other| *other != id);
        if found.state.in_flight.len() < in_flight {
            self.set(target, commit);
        }
        true
    }

    /// What keeps its order with an entry has the same lane.
    pub fn lane(&self, target: &str, id: Id) -> Option<u64> {
        Some(self.targets.get(target)?.entries.get(&id)?.lane)
    }

    /// The device of an entry is held back for a while: its put found no room. Gives for how long.
    pub fn hold(&mut self, now: Now, target: &str, id: Id) -> Option<Duration> {
        let found = self.targets.get_mut(target)?;
        let lane = found.entries.get(&id)?.lane;
        let hold = found.holds.entry(lane).or_insert(Hold { until: now.instant, tries: 0 });
        let wait = FIRST_HOLD.saturating_mul(1 << hold.tries.min(6)).min(LONGEST_HOLD);
        *hold = Hold { until: now.instant + wait, tries: hold.tries.saturating_add(1) };
        Some(wait)
    }

    /// Whether an entry waits, for whatever target.
    pub fn has(&self, id: Id) -> bool {
        self.targets.values().any(|target| target.entries.contains_key(&id))
    }

    /// When something that is held back may go on.
    pub fn next_due(&self, target: &str) -> Option<Instant> {
        self.targets.get(target)?.holds.values().map(|hold| hold.until).min()
    }

    /// What waits for a target.
    pub fn depth(&self, target: &str) -> Depth {
        self.targets.get(target).map_or(Depth::default(), |target| Depth {
            messages: target.entries.len(),
            bytes: target.bytes,
            oldest: target.entries.first_key_value().map(|(id, _)| *id),
        })
    }

    /// All targets.
    pub fn targets(&self) -> impl Iterator<Item = &str> {
        self.targets.keys().map(String::as_str)
    }

    /// A live entry lies elsewhere now. True if the old place is kept nowhere after that.
    pub fn moved(&mut self, moved: &Moved) -> bool {
        if let Some(target) = self.numbered((moved.owner.0 & !OUTBOX_BITS) as u32)
            && let Some(entry) = target.entries.get_mut(&moved.id)
        {
            entry.place = moved.to;
            return true;
        }
        let mut open = self.units.values_mut().flatten();
        if let Some((.., entry)) = open.find(|(_, id, _)| *id == moved.id) {
            entry.place = moved.to;
        }
        true
    }

    fn set(&self, target: &str, commit: &mut Commit) {
        let Some(Target { number, state, .. }) = self.targets.get(target) else { return };
        let TargetState { q_mgr_id, committed, in_flight } = state;
        let mut value = BytesMut::with_capacity(17 + 8 * in_flight.len() + q_mgr_id.len());
        value.put_u8(VERSION);
        value.put_u32(*number);
        value.put_u64(*committed);
        value.put_u32(in_flight.len() as u32);
        in_flight.iter().for_each(|id| value.put_u64(id.as_u64()));
        value.put_slice(q_mgr_id.as_bytes());
        commit.set([TARGET, target.as_bytes()].concat(), value.freeze());
    }
}

impl Target {
    /// An entry of an open unit is none any more.
    fn arrived(&mut self, entry: &Entry) {
        self.unreal = (self.unreal.0.saturating_sub(1), self.unreal.1.saturating_sub(u64::from(entry.bytes)));
    }
}

fn read_state(mut value: &[u8]) -> Option<(u32, TargetState)> {
    if value.try_get_u8().ok()? != VERSION {
        return None;
    }
    let (number, committed) = (value.try_get_u32().ok()?, value.try_get_u64().ok()?);
    let count = value.try_get_u32().ok()? as usize;
    if value.len() < count.checked_mul(8)? {
        return None;
    }
    let in_flight = (0..count).map(|_| Id::from_u64(value.get_u64())).collect();
    let q_mgr_id = std::str::from_utf8(value).ok()?.to_owned();
    Some((number, TargetState { q_mgr_id, committed, in_flight }))
}

/// Names a device's lane; 0 is nobody's.
fn lane_of(device: &DeviceName) -> u64 {
    digest(device.trimmed()).max(1)
}
