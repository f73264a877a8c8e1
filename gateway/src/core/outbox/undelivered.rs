//! What the other queue manager can never take, not even on its dead-letter queue: a message that is longer than the channel, or
//! any where there is no such queue. It must not hold what is behind it, so it ends here (mqe.md 4.6, ONCE.md 3):
//!
//! ```text
//!  its device waits for the answer ──> refused, and told why
//!  else ──> discarded, if its report options say so
//!      ──> the dead-letter queue of the embedded queue manager ──refuses──> parked under the gateway's name ──full──> it waits
//! ```

use mq_wire::{Feedback, Mqmd, QMgrName, Reason, ReportOptions};
use mqe::outbox::{EntryKind, OutboxEntry};
use mqe::{DeviceMessage, DeviceName};
use qmgr::{ReportKind, ReportMessage, report_message};
use store::{Commit, Id};

use super::super::command::DeadLetter;
use super::super::owed::EXPIRED;
use super::super::turn::{Core, Turn};

/// How an entry has ended that could not be put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndedHere {
    /// Its device was told.
    Refused,
    Discarded,
    DeadLettered,
    Parked,
    /// Before: an operator has dropped it.
    Gone,
}

impl Core {
    /// Ends an entry that can never be put, for this reason; or says why it has to wait here.
    pub(super) fn undelivered(
        &mut self,
        source: &str,
        id: Id,
        reason: Reason,
        entry: OutboxEntry,
        turn: &mut Turn,
    ) -> Result<EndedHere, Reason> {
        if !self.outbox.has(id) {
            return Ok(EndedHere::Gone);
        }
        if self.area.is_awaited(id) {
            self.refuse_entry(source, id, reason, turn);
            return Ok(EndedHere::Refused);
        }
        let unit = turn.batch.new_unit();
        let mut commit = Commit { unit: Some(unit), ..Commit::default() };
        match self.keep_here(source, reason, entry, &mut commit, turn) {
            Ok(ended) => {
                self.outbox.remove(source, id, &mut commit);
                self.make_real(commit, turn);
                Ok(ended)
            }
            Err(reason) => {
                self.drop_unit(unit, turn);
                Err(reason)
            }
        }
    }

    /// An entry ends without having been put, and its device hears of that, if it waits.
    pub(in super::super) fn refuse_entry(&mut self, source: &str, id: Id, reason: Reason, turn: &mut Turn) {
        let mut commit = Commit::default();
        self.outbox.remove(source, id, &mut commit);
        self.area.entries_ended(&[id], Some(reason), &mut commit, &turn.batch, &mut turn.area);
        turn.batch.commit(commit);
    }

    fn keep_here(
        &mut self,
        source: &str,
        reason: Reason,
        entry: OutboxEntry,
        commit: &mut Commit,
        turn: &mut Turn,
    ) -> Result<EndedHere, Reason> {
        let OutboxEntry { kind, q_mgr, message, device } = entry;
        // As the header of a dead letter there would have named it.
        let (reason, queue, q_mgr) = match kind {
            EntryKind::DeadLetter(reason) => (reason, message.via_queue, message.via_qmgr),
            _ if q_mgr.is_blank() => (reason, message.queue, self.targets.name_of(source)),
            _ => (reason, message.queue, q_mgr),
        };
        let left = message.to_mq(turn.now.wall_ms);
        let md = left.unwrap_or_else(|| Mqmd { expiry: EXPIRED, ..message.descriptor.clone() });
        let (md, body) = message.joined(md);
        let ended = if md.report.contains(ReportOptions::DISCARD_MSG) {
            EndedHere::Discarded
        } else {
            let file = message.file.clone();
            let dead = DeadLetter { reason, queue, q_mgr, md: md.clone(), body: body.clone(), file };
            match self.letter(dead, commit, turn) {
                Ok(()) => EndedHere::DeadLettered,
                Err(_) => self.park_here(message.with_via(queue, q_mgr), commit, turn)?,
            }
        };
        // Behind it: where it has to wait there is nothing to report.
        self.report_exception(source, device, (&md, &body), Feedback(reason.0), commit, turn)?;
        Ok(ended)
    }

    /// Under the gateway's own name, like what comes from a source and is for no device.
    fn park_here(
        &mut self,
        message: DeviceMessage,
        commit: &Commit,
        turn: &mut Turn,
    ) -> Result<EndedHere, Reason> {
        let unit = commit.unit.ok_or(Reason::UOW_NOT_AVAILABLE)?;
        let own = self.wiring.names.first().copied().unwrap_or_default();
        let own = DeviceName::try_from(own).map_err(|_| Reason::UNKNOWN_REMOTE_Q_MGR)?;
        let parked = self.area.park(turn.mqe_now(), &own, &message, unit, &mut turn.batch);
        parked.map(|_| EndedHere::Parked).map_err(|undelivered| undelivered.reason())
    }

    /// The report that the originator wants: by the way that leads to its reply-to queue.
    fn report_exception(
        &mut self,
        source: &str,
        device: Option<DeviceName>,
        (md, body): (&Mqmd, &bytes::Bytes),
        feedback: Feedback,
        commit: &mut Commit,
        turn: &mut Turn,
    ) -> Result<(), Reason> {
        let (now, this) = (turn.qmgr_now(), self.queue_manager.name());
        let reply_to = md.reply_to_q_mgr;
        if reply_to.is_blank() || reply_to == this || self.wiring.names.contains(&reply_to) {
            let (manager, batch) = (&mut self.queue_manager, &mut turn.batch);
            return manager.exception_report(now, md, body, feedback, commit, batch).map(drop);
        }
        let unit = commit.unit.ok_or(Reason::UOW_NOT_AVAILABLE)?;
        let kind = ReportKind::Exception(feedback);
        let Some(report) = report_message(now, this, kind, md, body, md.expiry) else { return Ok(()) };
        let ReportMessage { queue, q_mgr, md, body } = report;
        let message = DeviceMessage::from_mq(queue, this, &md, body, turn.now.wall_ms);
        let entry = OutboxEntry { kind: EntryKind::Report, device, q_mgr, message };
        self.enter(source, device.as_ref(), &entry, unit, turn).map(drop)
    }
}

impl super::Targets {
    /// The name of the queue manager that a source leads to.
    fn name_of(&self, source: &str) -> QMgrName {
        self.0.get(source).copied().unwrap_or_default()
    }
}
