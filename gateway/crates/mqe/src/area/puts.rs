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

/// What was seen of an incarnation's puts: the highest sequence, the gaps below it, and which were refused for good.
/// Gaps and refusals matter within the credit only: below it the device has seen an answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct PutMark {
    high: u64,
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
        if self.gaps.contains(&sequence) {
            return Look::New;
        }
        Look::Seen(
            self.refused.get(&sequence).map_or(PutOutcome::Taken, |reason| PutOutcome::Refused(*reason)),
        )
    }

    fn record(&mut self, sequence: Sequence, refused: Option<Reason>) {
        let Sequence(sequence) = sequence;
        if sequence > self.high {
            let first = (self.high + 1).max(sequence.saturating_sub(CREDIT_MAX - 1));
            self.gaps.extend(first..sequence);
            self.high = sequence;
        } else {
            self.gaps.remove(&sequence);
        }
        if let Some(reason) = refused {
            self.refused.insert(sequence, reason);
        }
        let kept = self.high.saturating_sub(CREDIT_MAX - 1);
        self.gaps = self.gaps.split_off(&kept);
        self.refused = self.refused.split_off(&kept);
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut out = self.high.to_be_bytes().to_vec();
        out.extend((self.gaps.len() as u16).to_be_bytes());
        out.extend(self.gaps.iter().flat_map(|gap| ((self.high - gap) as u16).to_be_bytes()));
        for (sequence, reason) in &self.refused {
            out.extend(((self.high - sequence) as u16).to_be_bytes());
            out.extend(reason.0.to_be_bytes());
        }
        out
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        const WHAT: &str = "put mark";
        let mut cursor = Cursor::new(bytes);
        let mut mark = Self { high: cursor.u64(WHAT)?, ..Self::default() };
        for _ in 0..cursor.u16(WHAT)? {
            let below = u64::from(cursor.u16(WHAT)?);
            mark.gaps.insert(mark.high.saturating_sub(below));
        }
        while cursor.left() > 0 {
            let below = u64::from(cursor.u16(WHAT)?);
            let reason = Reason(cursor.array(WHAT).map(i32::from_be_bytes)?);
            mark.refused.insert(mark.high.saturating_sub(below), reason);
        }
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
        let Some(device) = self.devices.get_mut(&number) else { return PutCheck::Done };
        let (name, newest) = (device.name, device.newest);
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
        let Some(device) = self.links.get(&conn).and_then(|number| self.devices.get_mut(number)) else {
            return;
        };
        if !batch.is_empty() {
            device.newest = device.newest.max(batch.position());
        }
        let needs = Some(device.newest);
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
        let Some(device) = self.links.get(&conn).and_then(|number| self.devices.get_mut(number)) else {
            return;
        };
        let Some(incarnation) = device.link().map(|link| link.incarnation) else { return };
        let (seen, newest) = (look(&device.puts, incarnation, sequence), device.newest);
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
        let Some(device) = self.links.get(&conn).and_then(|number| self.devices.get_mut(number)) else {
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
        let at = match device.puts.iter().position(|(of, _)| *of == incarnation) {
            Some(at) => at,
            None => {
                device.puts.reserve_exact(1);
                device.puts.push((incarnation, PutMark::default()));
                device.puts.sort_by_key(|(of, _)| *of);
                while device.puts.len() > INCARNATIONS_MAX {
                    let (of, _) = device.puts.remove(0);
                    commit.remove(keys::puts(device.number, of));
                }
                // The newest session has the newest incarnation.
                device.puts.len() - 1
            }
        };
        let (_, mark) = &mut device.puts[at];
        mark.record(sequence, refused);
        commit.set(keys::puts(device.number, incarnation), mark.to_bytes());
        let before = device.counters;
        let counter = if refused.is_some() { Counter::PutRefused } else { Counter::PutTaken };
        device.counters.add(counter, 1);
        device.commit_counters(&before, commit);
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
