//! What is still owed when a message has ended: a report to its sender, or a dead letter. The message ends, and is counted,
//! in one unit with the note of what is owed; its record lives on until the owner has done it (ONCE.md 3, "report in the
//! unit of the confirm").
//!
//! The owner reads the record, and calls [`Area::paid`] in the unit of what it did, or [`Area::unpaid`].

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use bytes::BufMut;
use mq_wire::Reason;
use store::{Commit, Id, Place};

use super::{Area, AreaEffect, keys};
use crate::wire::{Cursor, DecodeError};
use crate::{DecodeErrorKind, DeviceName};

/// Debts that the owner has and has not answered.
const GIVEN_MAX: usize = 64;
/// After so long one that could not be paid is tried again; doubled each time up to the longest.
const FIRST_WAIT: Duration = Duration::from_secs(5);
const LONGEST_WAIT: Duration = Duration::from_secs(300);

/// What is owed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owed {
    /// The device has it: a report on delivery, if the message asks for one.
    Delivered,
    /// It expired: a report of that, if the message asks for one.
    Expired,
    /// A dead letter with this reason.
    DeadLetter(Reason),
}

impl Owed {
    fn to_parts(self) -> (u8, i32) {
        match self {
            Self::Delivered => (1, 0),
            Self::Expired => (2, 0),
            Self::DeadLetter(reason) => (3, reason.0),
        }
    }

    fn of_parts(what: u8, reason: i32) -> Option<Self> {
        match what {
            1 => Some(Self::Delivered),
            2 => Some(Self::Expired),
            3 => Some(Self::DeadLetter(Reason(reason))),
            _ => None,
        }
    }
}

#[derive(Debug)]
struct Debt {
    device: DeviceName,
    owed: Owed,
    /// None until the start has found the message.
    place: Option<Place>,
    /// None while the owner has it.
    due: Option<Instant>,
    tries: u32,
}

/// All that is owed.
#[derive(Debug, Default)]
pub(super) struct Debts {
    all: BTreeMap<Id, Debt>,
    /// When each is due that the owner has not got.
    due: BTreeSet<(Instant, Id)>,
}

impl Debts {
    /// A message ends in the unit of this commit, and this is owed for it.
    pub(super) fn add(
        &mut self,
        (id, place): (Id, Place),
        device: DeviceName,
        owed: Owed,
        now: Instant,
        commit: &mut Commit,
    ) {
        let (what, reason) = owed.to_parts();
        let mut value = Vec::with_capacity(5 + device.trimmed().len());
        value.put_u8(what);
        value.put_i32(reason);
        value.put_slice(device.trimmed());
        commit.set(keys::owed(id), value);
        self.all.insert(id, Debt { device, owed, place: Some(place), due: Some(now), tries: 0 });
        self.due.insert((now, id));
    }

    /// From a key that a start has found.
    pub(super) fn recover(&mut self, id: Id, value: &[u8], now: Instant) -> Result<(), DecodeError> {
        const WHAT: &str = "what is owed";
        let mut cursor = Cursor::new(value);
        let (what, reason) = (cursor.u8(WHAT)?, cursor.u32(WHAT)? as i32);
        let wrong = |kind| DecodeError { what: WHAT, offset: 0, kind };
        let owed = Owed::of_parts(what, reason).ok_or(wrong(DecodeErrorKind::Code { found: what }))?;
        let name = value.get(5..).and_then(|name| std::str::from_utf8(name).ok());
        let device = name.and_then(|name| DeviceName::new(name).ok());
        let device = device.ok_or(wrong(DecodeErrorKind::Name))?;
        self.all.insert(id, Debt { device, owed, place: None, due: Some(now), tries: 0 });
        self.due.insert((now, id));
        Ok(())
    }

    /// Whether a message that a start has found has ended.
    pub(super) fn found(&mut self, id: Id, place: Place) -> bool {
        let debt = self.all.get_mut(&id);
        debt.map(|debt| debt.place = Some(place)).is_some()
    }

    /// Those whose messages a start has not found: there is nothing to do for them.
    pub(super) fn forget_lost(&mut self, commit: &mut Commit) {
        let lost: Vec<Id> =
            self.all.iter().filter(|(_, debt)| debt.place.is_none()).map(|(id, _)| *id).collect();
        for id in lost {
            self.remove(id);
            commit.remove(keys::owed(id));
        }
    }

    fn remove(&mut self, id: Id) -> Option<Debt> {
        let debt = self.all.remove(&id)?;
        if let Some(at) = debt.due {
            self.due.remove(&(at, id));
        }
        Some(debt)
    }

    /// The messages of a device.
    pub(super) fn of(&self, device: &DeviceName) -> Vec<Id> {
        let debts = self.all.iter().filter(|(_, debt)| debt.device == *device);
        debts.map(|(id, _)| *id).collect()
    }

    pub(super) fn has(&self, id: Id) -> bool {
        self.all.contains_key(&id)
    }

    pub(super) fn set_place(&mut self, id: Id, place: Place) -> bool {
        self.found(id, place)
    }

    pub(super) fn next_due(&self) -> Option<Instant> {
        let given = self.all.len() - self.due.len();
        self.due.first().map(|(at, _)| *at).filter(|_| given < GIVEN_MAX)
    }
}

impl Area {
    /// How many messages have ended for which something is owed.
    pub fn owed(&self) -> usize {
        self.debts.all.len()
    }

    /// What is owed for a message was done in the unit of this commit. False if nothing is owed: then nothing may be done.
    pub fn paid(&mut self, id: Id, commit: &mut Commit) -> bool {
        let Some(Debt { place: Some(place), .. }) = self.debts.remove(id) else { return false };
        commit.kill(id, place);
        commit.remove(keys::owed(id));
        true
    }

    /// It could not be done now.
    pub fn unpaid(&mut self, id: Id, now: Instant) {
        if let Some(debt) = self.debts.all.get_mut(&id).filter(|debt| debt.due.is_none()) {
            let wait = FIRST_WAIT.saturating_mul(1 << debt.tries.min(10)).min(LONGEST_WAIT);
            debt.tries += 1;
            debt.due = Some(now + wait);
            self.debts.due.insert((now + wait, id));
        }
    }

    /// Gives the owner what is due.
    pub(super) fn call_in(&mut self, now: Instant, out: &mut Vec<AreaEffect>) {
        while self.debts.next_due().is_some_and(|at| at <= now) {
            let Some((_, id)) = self.debts.due.pop_first() else { return };
            let Some(debt) = self.debts.all.get_mut(&id) else { continue };
            debt.due = None;
            if let Debt { device, owed, place: Some(place), .. } = debt {
                out.push(AreaEffect::Owes { id, place: *place, device: *device, owed: *owed });
            }
        }
    }
}
