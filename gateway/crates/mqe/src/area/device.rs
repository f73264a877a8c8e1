//! What the area knows of one device. The resting part is small; what only a live or unsettled device has is apart.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use mq_wire::Reason;
use store::{Batch, Commit, Id, OwnerId, Position};

use super::counters::{Counter, Counters};
use super::keys;
use super::puts::PutMark;
use super::queue::{Entry, SubQueue};
use crate::{ConnId, DeviceName, Incarnation, RequestId, Sequence, SessionId};

/// The bit of owners that are devices; queues have it clear.
const DEVICE_BIT: u64 = 1 << 63;

/// The owner of a device's messages in the store.
pub(super) fn owner(number: u32) -> OwnerId {
    OwnerId(DEVICE_BIT | u64::from(number))
}

/// The device's number, if the owner is a device.
pub(super) fn number_of(owner: OwnerId) -> Option<u32> {
    if owner.0 & DEVICE_BIT == 0 { None } else { u32::try_from(owner.0 & !DEVICE_BIT).ok() }
}

#[derive(Debug)]
pub(super) struct Device {
    pub(super) name: DeviceName,
    pub(super) number: u32,
    /// The highest incarnation ever given.
    pub(super) given: Incarnation,
    /// The one in force.
    pub(super) in_force: Incarnation,
    /// The session of the last RESUME.
    pub(super) last_session: SessionId,
    /// Listed by an operator, not enrolled by itself.
    pub(super) listed: bool,
    /// An operator lets the next HELLO in, whatever its number.
    pub(super) reset: bool,
    /// The newest position at which something of it changed: "already gone" and "none" depend on it (ONCE.md 1).
    pub(super) newest: Position,
    pub(super) counters: Counters,
    pub(super) queue: SubQueue,
    /// Messages of open units.
    pub(super) unreal: u32,
    /// Bytes of everything it owns.
    pub(super) bytes: u64,
    /// Waiting messages that can expire.
    pub(super) expiring: u32,
    /// Marks of the last incarnations, the oldest first.
    pub(super) puts: Vec<(Incarnation, PutMark)>,
    pub(super) live: Option<Box<Live>>,
}

/// What an idle, settled device has not.
#[derive(Debug, Default)]
pub(super) struct Live {
    pub(super) doubt: BTreeMap<Id, InDoubt>,
    pub(super) mark: Mark,
    pub(super) tombs: BTreeSet<Id>,
    pub(super) link: Option<Link>,
    pub(super) timer: Option<Instant>,
}

/// A message that was handed out and not decided.
#[derive(Debug, Clone, Copy)]
pub(super) struct InDoubt {
    pub(super) entry: Entry,
    pub(super) priority: u8,
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
}

impl Mark {
    pub(super) fn covers(&self, priority: u8, id: Id) -> bool {
        self.orders.iter().any(|(p, order)| *p == priority && id.as_u64() <= *order)
    }

    /// Whether that changed it.
    pub(super) fn raise(&mut self, priority: u8, id: Id) -> bool {
        let order = id.as_u64();
        match self.orders.iter_mut().find(|(p, _)| *p == priority) {
            Some((_, highest)) if *highest >= order => false,
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
            last_session: SessionId(0),
            listed: false,
            reset: false,
            newest: Position::default(),
            counters: Counters::default(),
            queue: SubQueue::default(),
            unreal: 0,
            bytes: 0,
            expiring: 0,
            puts: Vec::new(),
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

    /// Lets the live part go when nothing is in it.
    pub(super) fn rest(&mut self) {
        let settled = self.live.as_ref().is_some_and(|live| {
            live.doubt.is_empty()
                && live.tombs.is_empty()
                && live.link.is_none()
                && live.mark.orders.is_empty()
        });
        if settled {
            self.live = None;
        }
    }

    /// A waiting message, at its place.
    pub(super) fn wait(&mut self, priority: u8, entry: Entry) {
        if entry.expiry_ms != 0 {
            self.expiring += 1;
        }
        self.queue.insert(priority, entry);
    }

    /// Bookkeeping for an entry that left the queue of the waiting.
    pub(super) fn left_queue(&mut self, entry: &Entry) {
        if entry.expiry_ms != 0 {
            self.expiring -= 1;
        }
    }

    /// The end of a message: its death, and the count. The caller adds the counters to the commit once.
    pub(super) fn end(&mut self, entry: &Entry, how: Counter, commit: &mut Commit) {
        commit.kill(entry.id, entry.place);
        self.bytes -= u64::from(entry.length());
        self.counters.add(how, 1);
    }

    /// Adds the commit to the batch, with the counters if they changed; from now on answers depend on it.
    pub(super) fn commit(&mut self, before: &Counters, mut commit: Commit, batch: &mut Batch) {
        self.commit_counters(before, &mut commit);
        if !commit.is_empty() {
            self.newest = batch.position();
            batch.commit(commit);
        }
    }

    /// Adds the counters to a commit that somebody else adds to the batch.
    pub(super) fn commit_counters(&self, before: &Counters, commit: &mut Commit) {
        if self.counters != *before {
            commit.set(keys::counters(self.number), self.counters.to_bytes());
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

    /// DESIGN.md 9: a known idle device costs at most 300 bytes, its place in the two maps included.
    #[test]
    fn an_idle_device_is_small() {
        assert!(size_of::<Device>() <= 272, "{}", size_of::<Device>());
    }
}
