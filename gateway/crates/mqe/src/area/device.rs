//! What the area knows of one device. The resting part is small; what only a live or unsettled device has is apart.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use mq_wire::Reason;
use store::{Batch, Commit, Id, OwnerId, Position};

use super::clear::Clearing;
use super::counters::{Counter, Counters, Counts};
use super::index::{Index, NEVER};
use super::keys;
use super::owed::{Debts, Owed};
use super::puts::PutMark;
use super::queue::{Entry, SubQueue};
use crate::{ConnId, DeviceName, Incarnation, RequestId, Sequence, SessionId};

/// The bit of owners that are devices; queues have it clear.
const DEVICE_BIT: u64 = 1 << 63;

/// The owner of the messages in the store of the device with this number.
pub fn owner(number: u32) -> OwnerId {
    OwnerId(DEVICE_BIT | u64::from(number))
}

/// The device's number, if the owner is a device.
pub(super) fn number_of(owner: OwnerId) -> Option<u32> {
    if owner.0 & DEVICE_BIT == 0 { None } else { u32::try_from(owner.0 & !DEVICE_BIT).ok() }
}

/// The resting part: 136 bytes. A device that put something has 32 more in `puts`.
#[derive(Debug)]
pub(super) struct Device {
    pub(super) name: DeviceName,
    pub(super) number: u32,
    /// The highest incarnation ever given.
    pub(super) given: Incarnation,
    /// The one in force.
    pub(super) in_force: Incarnation,
    /// Messages of open units.
    pub(super) unreal: u32,
    /// The session of the last RESUME.
    pub(super) last_session: SessionId,
    /// Bytes of everything it owns.
    pub(super) bytes: u64,
    pub(super) counts: Counts,
    pub(super) queue: SubQueue,
    /// Marks of the last incarnations, the oldest first.
    pub(super) puts: Box<[(Incarnation, PutMark)]>,
    pub(super) live: Option<Box<Live>>,
    /// The second in which the sweep looks at it ([`Index`]).
    pub(super) due: u32,
    pub(super) flags: Flags,
}

/// What is so or not: in one byte, because all that a device has just fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Flags(u8);

impl Flags {
    /// Listed by an operator, not enrolled by itself.
    pub(super) const LISTED: Self = Self(1);
    /// An operator lets the next HELLO in, whatever its number.
    pub(super) const RESET: Self = Self(2);
    /// The counters are not stored as they are.
    pub(super) const COUNTED: Self = Self(4);
    /// It was there, or its entries were needed, since the eviction came by.
    pub(super) const RECENT: Self = Self(8);
    /// It is not known: its messages are parked.
    pub(super) const PARKED: Self = Self(16);

    pub(super) fn is(self, flag: Self) -> bool {
        self.0 & flag.0 != 0
    }

    /// Sets one, and says what it was.
    pub(super) fn set(&mut self, flag: Self, on: bool) -> bool {
        let was = self.is(flag);
        self.0 = if on { self.0 | flag.0 } else { self.0 & !flag.0 };
        was
    }

    /// Those that are in the device's record.
    pub(super) fn to_byte(self) -> u8 {
        self.0 & (Self::LISTED.0 | Self::RESET.0 | Self::PARKED.0)
    }

    pub(super) fn from_byte(byte: u8) -> Self {
        Self(Self(byte).to_byte())
    }
}

/// What an idle, settled device has not.
#[derive(Debug, Default)]
pub(super) struct Live {
    pub(super) doubt: BTreeMap<Id, InDoubt>,
    pub(super) mark: Mark,
    pub(super) tombs: BTreeSet<Id>,
    pub(super) link: Option<Link>,
    pub(super) timer: Option<Instant>,
    pub(super) clearing: Option<Box<Clearing>>,
}

/// A message that was handed out and not decided.
#[derive(Debug, Clone, Copy)]
pub(super) struct InDoubt {
    pub(super) entry: Entry,
    /// When it was last sent; none since the start.
    pub(super) sent: Option<Instant>,
    /// The device refused it, and the dead-letter queue has not got it yet.
    pub(super) rejected: Option<Reason>,
}

/// Per priority the highest order key handed out since the last RESUME, and when (ONCE.md 2).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Mark {
    pub(super) when_ms: u64,
    pub(super) orders: Vec<(u8, u64)>,
    /// Of units that became real when something newer was handed out already: they were not.
    pub(super) except: BTreeSet<Id>,
}

impl Mark {
    pub(super) fn covers(&self, priority: u8, id: Id) -> bool {
        let below = self.orders.iter().any(|(p, order)| *p == priority && id.as_u64() <= *order);
        below && !self.except.contains(&id)
    }

    /// Whether that changed it.
    pub(super) fn raise(&mut self, priority: u8, id: Id) -> bool {
        let order = id.as_u64();
        let excepted = self.except.remove(&id);
        match self.orders.iter_mut().find(|(p, _)| *p == priority) {
            Some((_, highest)) if *highest >= order => excepted,
            Some((_, highest)) => {
                *highest = order;
                true
            }
            None => {
                self.orders.push((priority, order));
                true
            }
        }
    }
}

/// The newest session of a device.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) conn: ConnId,
    pub(super) session: SessionId,
    pub(super) incarnation: Incarnation,
    pub(super) resumed: bool,
    pub(super) get: Option<WaitingGet>,
    /// The put that was answered BUSY and not repeated.
    pub(super) busy: Option<Sequence>,
    /// Puts that were let through and not answered.
    pub(super) puts_in_flight: u32,
    /// Of these, those that wait for the end of their entries in the outbox, and until when.
    pub(super) put_waits: BTreeMap<Sequence, (RequestId, Instant)>,
    /// The newest position at which something of the device changed: "already gone" and "none" depend on it (ONCE.md 1).
    pub(super) newest: Position,
}

/// A GET that waits for a message.
#[derive(Debug, Clone, Copy)]
pub(super) struct WaitingGet {
    pub(super) request: RequestId,
    pub(super) messages: u32,
    pub(super) bytes: u32,
    pub(super) until: Instant,
}

impl Device {
    pub(super) fn new(name: DeviceName, number: u32) -> Self {
        Self {
            name,
            number,
            given: Incarnation(0),
            in_force: Incarnation(0),
            unreal: 0,
            last_session: SessionId(0),
            bytes: 0,
            counts: Counts::default(),
            queue: SubQueue::default(),
            puts: Box::default(),
            due: NEVER,
            flags: Flags::default(),
            live: None,
        }
    }

    /// The live part, made when it is not there.
    pub(super) fn live(&mut self) -> &mut Live {
        self.live.get_or_insert_default()
    }

    pub(super) fn link(&self) -> Option<&Link> {
        self.live.as_ref()?.link.as_ref()
    }

    pub(super) fn link_mut(&mut self) -> Option<&mut Link> {
        self.live.as_mut()?.link.as_mut()
    }

    pub(super) fn in_doubt(&self) -> usize {
        self.live.as_ref().map_or(0, |live| live.doubt.len())
    }

    /// Waiting, in doubt, and in open units.
    pub(super) fn messages(&self) -> usize {
        self.queue.len() + self.in_doubt() + self.unreal as usize
    }

    /// Messages that a purge has not come to yet; nobody sees them.
    pub(super) fn clearing(&self) -> usize {
        let clearing = self.live.as_deref().and_then(|live| live.clearing.as_deref());
        clearing.map_or(0, Clearing::len)
    }

    /// Looks for a message that waits, or that a purge has not come to yet.
    pub(super) fn find(&self, id: Id) -> Option<Entry> {
        let clearing =
            || self.live.as_deref()?.clearing.as_deref()?.rest().iter().find_map(|rest| rest.find(id));
        self.queue.find(id).or_else(clearing)
    }

    /// Takes it out: it ends by the device's word.
    pub(super) fn take(&mut self, id: Id, index: &mut Index) -> Option<Entry> {
        let before = self.queue.bytes();
        if let Some(entry) = self.queue.remove(id) {
            index.left(self, before);
            return Some(entry);
        }
        let entry = self.live.as_deref_mut()?.clearing.as_deref_mut()?.remove(id)?;
        self.bytes += u64::from(entry.length());
        Some(entry)
    }

    /// What became of its messages, of which so many are not in memory.
    pub(super) fn counters(&self, away: usize) -> Counters {
        self.counts.get().with_live((self.queue.len() + self.in_doubt() + self.clearing() + away) as u64)
    }

    pub(super) fn count(&mut self, counter: Counter, count: u64) {
        self.counts.add(counter, count);
        self.flags.set(Flags::COUNTED, true);
    }

    /// What answers to its newest session depend on.
    pub(super) fn newest(&self) -> Position {
        self.link().map_or(Position::default(), |link| link.newest)
    }

    /// Something of it changes at this position.
    pub(super) fn changed(&mut self, position: Position, newest: &mut Position) {
        *newest = position.max(*newest);
        if let Some(link) = self.link_mut() {
            link.newest = position.max(link.newest);
        }
    }

    /// Lets the live part go when nothing is in it. Whether it has a mark that says nothing any more.
    pub(super) fn rest(&mut self) -> bool {
        let settled = self.live.as_ref().is_some_and(|live| {
            live.doubt.is_empty()
                && live.tombs.is_empty()
                && live.link.is_none()
                && live.mark.orders.is_empty()
                && live.clearing.is_none()
        });
        if settled {
            self.live = None;
        }
        self.has_idle_mark()
    }

    /// Whether its mark is needed no more: nothing is in doubt, and nobody is there to whom more will be handed out.
    pub(super) fn has_idle_mark(&self) -> bool {
        let idle = |live: &Live| live.doubt.is_empty() && live.link.is_none() && !live.mark.orders.is_empty();
        self.live.as_deref().is_some_and(idle)
    }

    /// A waiting message, at its place.
    pub(super) fn wait(&mut self, entry: Entry, index: &mut Index) {
        let before = self.queue.bytes();
        index.entered(self, entry.expiry_ms);
        self.queue.insert(entry);
        index.resized(before, &self.queue);
    }

    /// The end of a message: its death, and the count. The caller adds the counters to the commit once.
    pub(super) fn end(&mut self, entry: &Entry, how: Counter, commit: &mut Commit) {
        commit.kill(entry.id, entry.place);
        self.ended(entry, how);
    }

    /// The same, by delivery or expiry: if the sender wants to hear of that, the record lives on.
    pub(super) fn end_reported(
        &mut self,
        entry: &Entry,
        how: Counter,
        now: Instant,
        debts: &mut Debts,
        commit: &mut Commit,
    ) {
        match how {
            Counter::Delivered if entry.reports() => {
                self.end_owing(entry, how, Owed::Delivered, now, debts, commit);
            }
            Counter::Expired if entry.reports() => {
                self.end_owing(entry, how, Owed::Expired, now, debts, commit);
            }
            _ => self.end(entry, how, commit),
        }
    }

    /// The end of a message for which something is owed.
    pub(super) fn end_owing(
        &mut self,
        entry: &Entry,
        how: Counter,
        owed: Owed,
        now: Instant,
        debts: &mut Debts,
        commit: &mut Commit,
    ) {
        debts.add((entry.id, entry.place), self.name, owed, now, commit);
        self.ended(entry, how);
    }

    fn ended(&mut self, entry: &Entry, how: Counter) {
        self.bytes -= u64::from(entry.length());
        self.count(how, 1);
    }

    /// Adds the commit to the batch, with the counters if they changed; from now on answers depend on it.
    pub(super) fn commit(&mut self, mut commit: Commit, batch: &mut Batch, newest: &mut Position) {
        self.commit_counters(&mut commit);
        if !commit.is_empty() {
            self.changed(batch.position(), newest);
            batch.commit(commit);
        }
    }

    /// Adds the counters, if they changed, to a commit that is added to the batch at once.
    pub(super) fn commit_counters(&mut self, commit: &mut Commit) {
        if self.flags.set(Flags::COUNTED, false) {
            commit.set(keys::counters(self.number), self.counts.to_bytes());
        }
    }

    /// The record that says who it is.
    pub(super) fn set_record(&self, commit: &mut Commit) {
        commit.set(keys::device(&self.name), keys::device_value(self));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DESIGN.md 9: a known idle device costs at most 300 bytes of the whole process, its keys in the store included.
    #[test]
    fn an_idle_device_is_small() {
        assert_eq!(size_of::<Option<Device>>(), 136);
        assert_eq!(size_of::<(Incarnation, PutMark)>(), 24);
    }
}
