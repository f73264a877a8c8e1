//! Puts of devices: seen before, credit, BUSY, and the mark in the unit of the put (ONCE.md 3).
//!
//! The owner's path of a put: [`Area::put_arrived`]; if [`PutCheck::New`], rights and exits; then either, in one unit,
//! [`Area::put_in_unit`] with the put itself, and [`Area::put_answer`]; or [`Area::put_refused`]; or
//! [`Area::put_busy`].
//!
//! Where a put shall be answered when it is in another queue manager, its unit has [`Area::put_in_unit_with_entry`] instead:
//! the mark keeps which entry of the outbox the put waits for, so that a repeat waits too (ONCE.md 3), until
//! [`Area::entries_ended`].

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use mq_wire::Reason;
use store::{Batch, Commit, Id, Room};

use super::counters::Counter;
use super::device::Device;
use super::sessions::spread_ms;
use super::{Area, AreaEffect, keys};
use crate::frame::{ErrorCode, Frame, PutOutcome};
use crate::wire::Cursor;
use crate::{ConnId, DecodeError, DeviceName, Incarnation, Now, RequestId, Sequence};

/// How far below the highest sequence outcomes are kept; the credit is at most that.
pub(crate) const CREDIT_MAX: u64 = 256;
/// Incarnations whose marks are kept (ONCE.md 2).
const INCARNATIONS_MAX: usize = 8;
/// What a put behind a BUSY one is told to wait.
const BUSY_RETRY_MS: u32 = 1_000;

/// What to do with a put that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutCheck {
    /// It was not seen: go on, as this device.
    New(DeviceName),
    /// It was seen, and its entry in the outbox has not ended: call [`Area::put_waits`].
    Waits,
    /// It was answered, or the connection ended: nothing more to do.
    Done,
}

/// Why a put may not be made in the unit after all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PutGone {
    /// The session is not the newest any more; the device will repeat the put.
    #[error("the session of the put is over")]
    Fenced,
    /// It was decided in the meantime: answer with this.
    #[error("the put was decided already")]
    Seen(PutOutcome),
}

/// How a put is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decision {
    Taken,
    Refused(Reason),
    /// When this entry of the outbox ends.
    WithEntry(Id),
}

/// A put whose answer waits until its entry of the outbox has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PutWait {
    pub(super) device: u32,
    pub(super) incarnation: Incarnation,
    pub(super) sequence: u64,
}

/// What was seen of an incarnation's puts: the highest sequence, and what is not a plain "taken" below it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct PutMark {
    high: u64,
    /// None, nearly always.
    odd: Option<Box<Odd>>,
}

/// The gaps below the highest sequence, which were refused for good, and which wait for entries of the outbox. They matter
/// within the credit only: below it the device has seen an answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Odd {
    gaps: BTreeSet<u64>,
    refused: BTreeMap<u64, Reason>,
    waits: BTreeMap<u64, Id>,
}

/// In a stored mark, in the place of a reason: an entry's id follows, and the put waits for its end.
const WAITS: i32 = i32::MIN;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    New,
    Seen(PutOutcome),
    /// It is in the outbox, and answered when it has left it.
    Waits,
    TooOld,
}

impl PutMark {
    fn look(&self, sequence: Sequence) -> Look {
        let Sequence(sequence) = sequence;
        if sequence > self.high {
            return Look::New;
        }
        if sequence == 0 || self.high - sequence >= CREDIT_MAX {
            return Look::TooOld;
        }
        let Some(Odd { gaps, refused, waits }) = self.odd.as_deref() else {
            return Look::Seen(PutOutcome::Taken);
        };
        if gaps.contains(&sequence) {
            return Look::New;
        }
        if waits.contains_key(&sequence) {
            return Look::Waits;
        }
        Look::Seen(refused.get(&sequence).map_or(PutOutcome::Taken, |reason| PutOutcome::Refused(*reason)))
    }

    fn record(&mut self, sequence: Sequence, decision: Decision) {
        let Sequence(sequence) = sequence;
        let Self { high, odd } = self;
        let next = sequence == *high + 1;
        if next && odd.is_none() && decision == Decision::Taken {
            *high = sequence;
            return;
        }
        let Odd { gaps, refused, waits } = &mut **odd.get_or_insert_default();
        if sequence > *high {
            let first = (*high + 1).max(sequence.saturating_sub(CREDIT_MAX - 1));
            gaps.extend(first..sequence);
            *high = sequence;
        } else {
            gaps.remove(&sequence);
        }
        match decision {
            Decision::Taken => {}
            Decision::Refused(reason) => drop(refused.insert(sequence, reason)),
            Decision::WithEntry(id) => drop(waits.insert(sequence, id)),
        }
        let kept = high.saturating_sub(CREDIT_MAX - 1);
        *gaps = gaps.split_off(&kept);
        *refused = refused.split_off(&kept);
        *waits = waits.split_off(&kept);
        self.tidy();
    }

    /// The entry that a put waited for has ended. False if it does not wait, or for another one.
    fn entry_ended(&mut self, sequence: u64, id: Id, refused_for: Option<Reason>) -> bool {
        let Some(odd) = self.odd.as_deref_mut() else { return false };
        if odd.waits.get(&sequence) != Some(&id) {
            return false;
        }
        odd.waits.remove(&sequence);
        if let Some(reason) = refused_for {
            odd.refused.insert(sequence, reason);
        }
        self.tidy();
        true
    }

    /// The puts that wait, and the entries that they wait for.
    pub(super) fn waits(&self) -> impl Iterator<Item = (u64, Id)> {
        self.odd.iter().flat_map(|odd| odd.waits.iter()).map(|(sequence, id)| (*sequence, *id))
    }

    fn tidy(&mut self) {
        let is_plain = |odd: &Odd| odd.gaps.is_empty() && odd.refused.is_empty() && odd.waits.is_empty();
        if self.odd.as_deref().is_some_and(is_plain) {
            self.odd = None;
        }
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let none = Odd::default();
        let Odd { gaps, refused, waits } = self.odd.as_deref().unwrap_or(&none);
        let mut out = self.high.to_be_bytes().to_vec();
        out.extend((gaps.len() as u16).to_be_bytes());
        out.extend(gaps.iter().flat_map(|gap| ((self.high - gap) as u16).to_be_bytes()));
        for (sequence, reason) in refused {
            out.extend(((self.high - sequence) as u16).to_be_bytes());
            out.extend(reason.0.to_be_bytes());
        }
        for (sequence, id) in waits {
            out.extend(((self.high - sequence) as u16).to_be_bytes());
            out.extend(WAITS.to_be_bytes());
            out.extend(id.as_u64().to_be_bytes());
        }
        out
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        const WHAT: &str = "put mark";
        let mut cursor = Cursor::new(bytes);
        let high = cursor.u64(WHAT)?;
        let mut odd = Odd::default();
        for _ in 0..cursor.u16(WHAT)? {
            let below = u64::from(cursor.u16(WHAT)?);
            odd.gaps.insert(high.saturating_sub(below));
        }
        while cursor.left() > 0 {
            let sequence = high.saturating_sub(cursor.u16(WHAT)?.into());
            match cursor.array(WHAT).map(i32::from_be_bytes)? {
                WAITS => drop(odd.waits.insert(sequence, Id::from_u64(cursor.u64(WHAT)?))),
                reason => drop(odd.refused.insert(sequence, Reason(reason))),
            }
        }
        let mut mark = Self { high, odd: Some(Box::new(odd)) };
        mark.tidy();
        Ok(mark)
    }
}

impl Area {
    /// A put came: is it new? If not it was answered here, with the outcome that it had.
    pub fn put_arrived(
        &mut self,
        conn: ConnId,
        request: RequestId,
        sequence: Sequence,
        out: &mut Vec<AreaEffect>,
    ) -> PutCheck {
        let Some(number) = self.resumed_session(conn, request, out) else { return PutCheck::Done };
        let credit = self.settings.limits.put_credit.min(CREDIT_MAX as u32);
        let Some(device) = self.devices.get_mut(number) else { return PutCheck::Done };
        let (name, newest) = (device.name, device.newest());
        let Some(link) = device.link() else { return PutCheck::Done };
        let (busy, in_flight, incarnation) = (link.busy, link.puts_in_flight, link.incarnation);
        // Also waits for its answer on this very connection: it counts once.
        let repeated = link.put_waits.contains_key(&sequence);
        if busy.is_some_and(|busy| sequence > busy) {
            let frame = Frame::PutAnswer(sequence, PutOutcome::Busy(BUSY_RETRY_MS));
            out.push(AreaEffect::Frame { conn, needs: None, request, frame });
            return PutCheck::Done;
        }
        let seen = look(&device.puts, incarnation, sequence);
        match seen {
            Look::New | Look::Waits if in_flight >= credit && !repeated => {
                self.end(conn, request, ErrorCode::CREDIT, "more puts than the credit allows", out);
                return PutCheck::Done;
            }
            Look::TooOld => {
                let text = "a sequence below what is remembered";
                self.end(conn, request, ErrorCode::SEQUENCE, text, out);
                return PutCheck::Done;
            }
            Look::New if self.room == Room::Short => {
                // As if the owner had found no room: nothing is decided, and those behind it wait.
                let retry_ms = BUSY_RETRY_MS + spread_ms(conn);
                let frame = Frame::PutAnswer(sequence, PutOutcome::Busy(retry_ms));
                out.push(AreaEffect::Frame { conn, needs: None, request, frame });
                if let Some(link) = device.link_mut() {
                    link.busy = Some(sequence);
                }
                return PutCheck::Done;
            }
            Look::Seen(outcome) => {
                let frame = Frame::PutAnswer(sequence, outcome);
                out.push(AreaEffect::Frame { conn, needs: Some(newest), request, frame });
            }
            Look::New | Look::Waits => {}
        }
        let check = match seen {
            Look::New => PutCheck::New(name),
            Look::Waits => PutCheck::Waits,
            Look::Seen(_) | Look::TooOld => PutCheck::Done,
        };
        if let Some(link) = device.link_mut() {
            if busy == Some(sequence) {
                link.busy = None;
            }
            link.puts_in_flight += u32::from(check != PutCheck::Done && !repeated);
        }
        check
    }

    /// The second look, in the unit of the put: if it is fine the mark is in the commit. Called once, in the turn and
    /// just before the commit is added to the batch.
    pub fn put_in_unit(
        &mut self,
        conn: ConnId,
        sequence: Sequence,
        commit: &mut Commit,
    ) -> Result<(), PutGone> {
        self.decide(conn, sequence, Decision::Taken, commit)
    }

    /// The same for a put whose answer waits for the end of this entry of the outbox, which is made in the same unit. Call
    /// [`Area::put_waits`] when the commit is in the batch.
    pub fn put_in_unit_with_entry(
        &mut self,
        conn: ConnId,
        sequence: Sequence,
        entry: Id,
        commit: &mut Commit,
    ) -> Result<(), PutGone> {
        self.decide(conn, sequence, Decision::WithEntry(entry), commit)
    }

    /// A put that is seen waits for the end of its entry. As long as any request of a device may wait; then it is told
    /// BUSY, which decides nothing, and comes again.
    pub fn put_waits(&mut self, now: Now, conn: ConnId, request: RequestId, sequence: Sequence) {
        let until = now.instant + Duration::from_millis(self.settings.limits.wait_ms_max.into());
        let Some(number) = self.links.get(&conn).copied() else { return };
        let Some(link) = self.devices.get_mut(number).and_then(Device::link_mut) else { return };
        link.put_waits.insert(sequence, (request, until));
        self.set_timer(number);
    }

    /// Entries of the outbox end in the unit of this commit, which is then added to the batch: puts that waited for them are
    /// decided and answered. What can never be put is `refused`.
    pub fn entries_ended(
        &mut self,
        entries: &[Id],
        refused: Option<Reason>,
        commit: &mut Commit,
        batch: &Batch,
        out: &mut Vec<AreaEffect>,
    ) {
        let mut touched = BTreeSet::new();
        for entry in entries {
            let Some(PutWait { device: number, incarnation, sequence }) = self.put_waits.remove(entry) else {
                continue;
            };
            let Some(device) = self.devices.get_mut(number) else { continue };
            let mark = device.puts.iter_mut().find(|(of, _)| *of == incarnation).map(|(_, mark)| mark);
            if !mark.is_some_and(|mark| mark.entry_ended(sequence, *entry, refused)) {
                continue;
            }
            device.count(if refused.is_some() { Counter::PutRefused } else { Counter::PutTaken }, 1);
            device.changed(batch.position(), &mut self.newest);
            touched.insert((number, incarnation));
            let needs = Some(device.newest());
            let outcome = refused.map_or(PutOutcome::Taken, PutOutcome::Refused);
            let sequence = Sequence(sequence);
            let Some(link) = device.link_mut().filter(|link| link.incarnation == incarnation) else {
                continue;
            };
            if let Some((request, _)) = link.put_waits.remove(&sequence) {
                link.puts_in_flight = link.puts_in_flight.saturating_sub(1);
                let (conn, frame) = (link.conn, Frame::PutAnswer(sequence, outcome));
                out.push(AreaEffect::Frame { conn, needs, request, frame });
            }
        }
        for (number, incarnation) in touched {
            let Some(device) = self.devices.get_mut(number) else { continue };
            if let Some((_, mark)) = device.puts.iter().find(|(of, _)| *of == incarnation) {
                commit.set(keys::puts(number, incarnation), mark.to_bytes());
            }
            device.commit_counters(commit);
            self.set_timer(number);
        }
    }

    /// Whether a put waits for this entry of the outbox.
    pub fn is_awaited(&self, entry: Id) -> bool {
        self.put_waits.contains_key(&entry)
    }

    /// The device that waits for this entry of the outbox.
    pub fn awaiting(&self, entry: Id) -> Option<DeviceName> {
        let wait = self.put_waits.get(&entry)?;
        Some(self.devices.get(wait.device)?.name)
    }

    /// How many puts wait for entries of the outbox.
    pub fn puts_waiting(&self) -> usize {
        self.put_waits.len()
    }

    /// The entries of the outbox that puts wait for.
    pub fn awaited_entries(&self) -> impl Iterator<Item = Id> {
        self.put_waits.keys().copied()
    }

    /// Puts that have waited as long as they may: with one told BUSY all behind it come again.
    pub(super) fn end_put_waits(&mut self, number: u32, now: Instant, out: &mut Vec<AreaEffect>) {
        let Some(link) = self.devices.get_mut(number).and_then(Device::link_mut) else { return };
        if !link.put_waits.values().any(|(_, until)| *until <= now) {
            return;
        }
        let waits = std::mem::take(&mut link.put_waits);
        let conn = link.conn;
        link.puts_in_flight = link.puts_in_flight.saturating_sub(waits.len() as u32);
        let lowest = waits.first_key_value().map(|(sequence, _)| *sequence);
        link.busy = [link.busy, lowest].into_iter().flatten().min();
        for (sequence, (request, _)) in waits {
            let frame = Frame::PutAnswer(sequence, PutOutcome::Busy(BUSY_RETRY_MS + spread_ms(conn)));
            out.push(AreaEffect::Frame { conn, needs: None, request, frame });
        }
    }

    /// The answer to a put whose unit was added to the batch, or that [`PutGone::Seen`] speaks of.
    pub fn put_answer(
        &mut self,
        conn: ConnId,
        request: RequestId,
        sequence: Sequence,
        outcome: PutOutcome,
        batch: &Batch,
        out: &mut Vec<AreaEffect>,
    ) {
        // Another connection than the newest: nobody listens, the device will ask again.
        let Some(device) = self.links.get(&conn).and_then(|number| self.devices.get_mut(*number)) else {
            return;
        };
        if !batch.is_empty() {
            device.changed(batch.position(), &mut self.newest);
        }
        let needs = Some(device.newest());
        if let Some(link) = device.link_mut() {
            link.puts_in_flight = link.puts_in_flight.saturating_sub(1);
        }
        out.push(AreaEffect::Frame { conn, needs, request, frame: Frame::PutAnswer(sequence, outcome) });
    }

    /// Refused for good: an outcome like any other, in the mark.
    pub fn put_refused(
        &mut self,
        conn: ConnId,
        request: RequestId,
        sequence: Sequence,
        reason: Reason,
        batch: &mut Batch,
        out: &mut Vec<AreaEffect>,
    ) {
        let mut commit = Commit::default();
        let outcome = match self.decide(conn, sequence, Decision::Refused(reason), &mut commit) {
            Ok(()) => PutOutcome::Refused(reason),
            Err(PutGone::Seen(outcome)) => outcome,
            Err(PutGone::Fenced) => return,
        };
        batch.commit(commit);
        self.put_answer(conn, request, sequence, outcome, batch, out);
    }

    /// Nothing was decided. Later puts of the session are refused until this one is repeated.
    pub fn put_busy(
        &mut self,
        conn: ConnId,
        request: RequestId,
        sequence: Sequence,
        retry_after_ms: u32,
        out: &mut Vec<AreaEffect>,
    ) {
        let Some(device) = self.links.get(&conn).and_then(|number| self.devices.get_mut(*number)) else {
            return;
        };
        let Some(incarnation) = device.link().map(|link| link.incarnation) else { return };
        let (seen, newest) = (look(&device.puts, incarnation, sequence), device.newest());
        let Some(link) = device.link_mut() else { return };
        link.puts_in_flight = link.puts_in_flight.saturating_sub(1);
        if let Look::Seen(outcome) = seen {
            // Decided on another way: holding the others for it would hold them for ever.
            let frame = Frame::PutAnswer(sequence, outcome);
            return out.push(AreaEffect::Frame { conn, needs: Some(newest), request, frame });
        }
        // The lowest holds all behind it.
        link.busy = Some(link.busy.map_or(sequence, |busy| busy.min(sequence)));
        let frame = Frame::PutAnswer(sequence, PutOutcome::Busy(retry_after_ms));
        out.push(AreaEffect::Frame { conn, needs: None, request, frame });
    }

    fn decide(
        &mut self,
        conn: ConnId,
        sequence: Sequence,
        decision: Decision,
        commit: &mut Commit,
    ) -> Result<(), PutGone> {
        let Some(device) = self.links.get(&conn).and_then(|number| self.devices.get_mut(*number)) else {
            return Err(PutGone::Fenced);
        };
        let Some(link) = device.link() else { return Err(PutGone::Fenced) };
        // A put that went through the exits while one before it was told BUSY: order says that it waits.
        if link.busy.is_some_and(|busy| sequence > busy) {
            return Err(PutGone::Seen(PutOutcome::Busy(BUSY_RETRY_MS)));
        }
        let incarnation = link.incarnation;
        match look(&device.puts, incarnation, sequence) {
            Look::New => {}
            Look::Seen(outcome) => return Err(PutGone::Seen(outcome)),
            // Told BUSY it comes again, and finds that it waits.
            Look::Waits => {
                if let Some(link) = device.link_mut() {
                    link.busy = Some(sequence);
                }
                return Err(PutGone::Seen(PutOutcome::Busy(BUSY_RETRY_MS)));
            }
            Look::TooOld => return Err(PutGone::Fenced),
        }
        if self.room == Room::Short {
            if let Some(link) = device.link_mut() {
                link.busy = Some(sequence);
            }
            return Err(PutGone::Seen(PutOutcome::Busy(BUSY_RETRY_MS + spread_ms(conn))));
        }
        if !device.puts.iter().any(|(of, _)| *of == incarnation) {
            let mut puts = std::mem::take(&mut device.puts).into_vec();
            puts.push((incarnation, PutMark::default()));
            puts.sort_by_key(|(of, _)| *of);
            // The newest session has the newest incarnation.
            for (of, mark) in puts.drain(..puts.len().saturating_sub(INCARNATIONS_MAX)) {
                commit.remove(keys::puts(device.number, of));
                for (_, id) in mark.waits() {
                    self.put_waits.remove(&id);
                }
            }
            device.puts = puts.into_boxed_slice();
        }
        if let Some((_, mark)) = device.puts.iter_mut().find(|(of, _)| *of == incarnation) {
            mark.record(sequence, decision);
            commit.set(keys::puts(device.number, incarnation), mark.to_bytes());
        }
        match decision {
            Decision::Taken => device.count(Counter::PutTaken, 1),
            Decision::Refused(_) => device.count(Counter::PutRefused, 1),
            // Counted when it is decided.
            Decision::WithEntry(id) => {
                let wait = PutWait { device: device.number, incarnation, sequence: sequence.0 };
                self.put_waits.insert(id, wait);
            }
        }
        device.commit_counters(commit);
        Ok(())
    }
}

fn look(puts: &[(Incarnation, PutMark)], incarnation: Incarnation, sequence: Sequence) -> Look {
    match puts.iter().find(|(of, _)| *of == incarnation) {
        Some((_, mark)) => mark.look(sequence),
        None if sequence.0 == 0 => Look::TooOld,
        None => Look::New,
    }
}

#[cfg(test)]
mod tests;
