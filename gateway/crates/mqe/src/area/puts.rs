//! Puts of devices: seen before, credit, BUSY, and the mark in the unit of the put (ONCE.md 3).
//!
//! The owner's path of a put: [`Area::put_arrived`]; if [`PutCheck::New`], rights and exits; then either, in one unit,
//! [`Area::put_in_unit`] with the put itself, and [`Area::put_answer`]; or [`Area::put_refused`]; or
//! [`Area::put_busy`].

use std::collections::{BTreeMap, BTreeSet};

use mq_wire::Reason;
use store::{Batch, Commit, Room};

use super::counters::Counter;
use super::sessions::spread_ms;
use super::{Area, AreaEffect, keys};
use crate::frame::{ErrorCode, Frame, PutOutcome};
use crate::wire::Cursor;
use crate::{ConnId, DecodeError, DeviceName, Incarnation, RequestId, Sequence};

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

/// What was seen of an incarnation's puts: the highest sequence, and what is not a plain "taken" below it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct PutMark {
    high: u64,
    /// None, nearly always.
    odd: Option<Box<Odd>>,
}

/// The gaps below the highest sequence, and which were refused for good. They matter within the credit only: below it
/// the device has seen an answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Odd {
    gaps: BTreeSet<u64>,
    refused: BTreeMap<u64, Reason>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    New,
    Seen(PutOutcome),
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
        let Some(Odd { gaps, refused }) = self.odd.as_deref() else { return Look::Seen(PutOutcome::Taken) };
        if gaps.contains(&sequence) {
            return Look::New;
        }
        Look::Seen(refused.get(&sequence).map_or(PutOutcome::Taken, |reason| PutOutcome::Refused(*reason)))
    }

    fn record(&mut self, sequence: Sequence, refused_for: Option<Reason>) {
        let Sequence(sequence) = sequence;
        let Self { high, odd } = self;
        let next = sequence == *high + 1;
        if next && odd.is_none() && refused_for.is_none() {
            *high = sequence;
            return;
        }
        let Odd { gaps, refused } = &mut **odd.get_or_insert_default();
        if sequence > *high {
            let first = (*high + 1).max(sequence.saturating_sub(CREDIT_MAX - 1));
            gaps.extend(first..sequence);
            *high = sequence;
        } else {
            gaps.remove(&sequence);
        }
        if let Some(reason) = refused_for {
            refused.insert(sequence, reason);
        }
        let kept = high.saturating_sub(CREDIT_MAX - 1);
        *gaps = gaps.split_off(&kept);
        *refused = refused.split_off(&kept);
        self.tidy();
    }

    fn tidy(&mut self) {
        if self.odd.as_ref().is_some_and(|odd| odd.gaps.is_empty() && odd.refused.is_empty()) {
            self.odd = None;
        }
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let none = Odd::default();
        let Odd { gaps, refused } = self.odd.as_deref().unwrap_or(&none);
        let mut out = self.high.to_be_bytes().to_vec();
        out.extend((gaps.len() as u16).to_be_bytes());
        out.extend(gaps.iter().flat_map(|gap| ((self.high - gap) as u16).to_be_bytes()));
        for (sequence, reason) in refused {
            out.extend(((self.high - sequence) as u16).to_be_bytes());
            out.extend(reason.0.to_be_bytes());
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
            let below = u64::from(cursor.u16(WHAT)?);
            let reason = Reason(cursor.array(WHAT).map(i32::from_be_bytes)?);
            odd.refused.insert(high.saturating_sub(below), reason);
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
        if busy.is_some_and(|busy| sequence > busy) {
            let frame = Frame::PutAnswer(sequence, PutOutcome::Busy(BUSY_RETRY_MS));
            out.push(AreaEffect::Frame { conn, needs: None, request, frame });
            return PutCheck::Done;
        }
        let seen = look(&device.puts, incarnation, sequence);
        match seen {
            Look::New if in_flight >= credit => {
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
            Look::New => {}
        }
        let new = seen == Look::New;
        if let Some(link) = device.link_mut() {
            if busy == Some(sequence) {
                link.busy = None;
            }
            link.puts_in_flight += u32::from(new);
        }
        if new { PutCheck::New(name) } else { PutCheck::Done }
    }

    /// The second look, in the unit of the put: if it is fine the mark is in the commit. Called once, in the turn and
    /// just before the commit is added to the batch.
    pub fn put_in_unit(
        &mut self,
        conn: ConnId,
        sequence: Sequence,
        commit: &mut Commit,
    ) -> Result<(), PutGone> {
        self.decide(conn, sequence, None, commit)
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
        let outcome = match self.decide(conn, sequence, Some(reason), &mut commit) {
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
        refused: Option<Reason>,
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
            for (of, _) in puts.drain(..puts.len().saturating_sub(INCARNATIONS_MAX)) {
                commit.remove(keys::puts(device.number, of));
            }
            device.puts = puts.into_boxed_slice();
        }
        if let Some((_, mark)) = device.puts.iter_mut().find(|(of, _)| *of == incarnation) {
            mark.record(sequence, refused);
            commit.set(keys::puts(device.number, incarnation), mark.to_bytes());
        }
        device.count(if refused.is_some() { Counter::PutRefused } else { Counter::PutTaken }, 1);
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
