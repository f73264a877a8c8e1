//! The hand-over of a batch from a transmission queue to devices: one unit, one commit record (ONCE.md 4, last row).

use std::collections::HashSet;

use bytes::{Bytes, BytesMut};
use mq_wire::{
    Coding, Encoding, Feedback, FormatName, Mqdlh, QMgrName, Reason, ReportOptions, UserId, Writer,
};
use mqe::DeviceName;
use mqe::area::Accepted;
use mqe_exits::ExitMessage;
use qmgr::{Holder, PutContext, Putter, Rights, UnitPut};
use store::{BodyFile, Commit, Id};

use super::command::{DeadLetter, Delivery, HandOver, HandedOver};
use super::turn::{Core, Turn};
use crate::source;

/// Where a message went.
enum Went {
    ToDevice,
    ToDeadLetters,
}

impl Core {
    /// Moves locked messages to where they go. What can go nowhere now stays locked, and what is for the same device
    /// stays behind it; what is not locked any more is somebody else's.
    pub(super) fn hand_over(
        &mut self,
        holder: Holder,
        deliveries: Vec<HandOver>,
        mut held: HashSet<DeviceName>,
        turn: &mut Turn,
    ) -> HandedOver {
        let mut handed_over = HandedOver { needs: turn.batch.position(), ..HandedOver::default() };
        let unit = turn.batch.new_unit();
        let mut commit = Commit { unit: Some(unit), ..Commit::default() };
        for HandOver { id, original, file, delivery } in deliveries {
            // The second look: without the lock the message may have gone, and would be there twice.
            if !self.queue_manager.is_locked(holder, id) {
                continue;
            }
            let device = match &delivery {
                Delivery::Device { device, .. } => Some(*device),
                Delivery::DeadLetter(_) => None,
            };
            if device.is_some_and(|device| held.contains(&device)) {
                handed_over.stuck.push((id, device));
                continue;
            }
            match self.deliver(id, (&original, file), delivery, &mut commit, turn) {
                Ok(Went::ToDevice) => handed_over.moved += 1,
                Ok(Went::ToDeadLetters) => handed_over.dead_lettered += 1,
                Err(reason) => {
                    handed_over.why.get_or_insert(reason);
                    handed_over.stuck.push((id, device));
                    held.extend(device);
                    continue;
                }
            }
            self.queue_manager.take_locked(holder, &[id], &mut commit);
        }
        self.make_real(commit, turn);
        handed_over
    }

    fn deliver(
        &mut self,
        id: Id,
        (original, original_file): (&ExitMessage, Option<BodyFile>),
        delivery: Delivery,
        commit: &mut Commit,
        turn: &mut Turn,
    ) -> Result<Went, Reason> {
        let Some(unit) = commit.unit else { return Err(Reason::UOW_NOT_AVAILABLE) };
        let reason = match delivery {
            Delivery::Device { device, message } => {
                match self.area.accept(turn.mqe_now(), &device, &message, unit, &mut turn.batch) {
                    Ok(Accepted::Stored(_) | Accepted::Expired) => return Ok(Went::ToDevice),
                    // Room comes by itself: a dead letter would be one for ever.
                    Err(undelivered) if undelivered.is_temporary() => return Err(undelivered.reason()),
                    Err(undelivered) => {
                        tracing::info!(%id, %undelivered, "to the dead-letter queue");
                        undelivered.reason()
                    }
                }
            }
            Delivery::DeadLetter(reason) => reason,
        };
        self.put_dead_letter(source::dead_letter(original, original_file, reason), commit, turn)?;
        Ok(Went::ToDeadLetters)
    }

    /// The end of a unit that queue manager and area have written into.
    pub(super) fn make_real(&mut self, mut commit: Commit, turn: &mut Turn) {
        let Some(unit) = commit.unit else { return };
        self.area.seal_unit(unit, &mut commit);
        if commit.kills.is_empty() && commit.changes.is_empty() {
            // Nothing was written ahead either: every message brings a kill or a change.
            return;
        }
        turn.batch.commit(commit);
        self.queue_manager.unit_is_real(turn.qmgr_now(), unit, &mut turn.batch, &mut turn.mq);
        self.area.unit_is_real(turn.mqe_now(), unit, &mut turn.batch, &mut turn.area);
    }

    /// Puts a dead letter in a unit, and the report that its originator wants of that (MQRO_EXCEPTION). With
    /// MQRO_DISCARD_MSG there is no letter.
    pub(super) fn put_dead_letter(
        &mut self,
        dead: DeadLetter,
        commit: &mut Commit,
        turn: &mut Turn,
    ) -> Result<(), Reason> {
        let (md, body, feedback) = (dead.md.clone(), dead.body.clone(), Feedback(dead.reason.0));
        if !md.report.contains(ReportOptions::DISCARD_MSG) {
            let outcome = self.try_dead_letter(dead, commit, turn);
            self.letters_refused = outcome.err();
            outcome?;
        }
        // Behind the letter: one that is refused leaves the message where it is, and nothing to report.
        let now = turn.qmgr_now();
        self.queue_manager.exception_report(now, &md, &body, feedback, commit, &mut turn.batch).map(drop)
    }

    /// The letter (mq-objects.md 1.8): the descriptor is the message's own but for format, coding and context, which stay
    /// the originator's.
    fn try_dead_letter(
        &mut self,
        dead: DeadLetter,
        commit: &mut Commit,
        turn: &mut Turn,
    ) -> Result<(), Reason> {
        let Some(queue) = self.queue_manager.dead_letter_queue() else {
            return Err(Reason::UNKNOWN_OBJECT_NAME);
        };
        let DeadLetter { reason, queue: dest_q_name, q_mgr: dest_q_mgr_name, mut md, body, file } = dead;
        let (put_date, put_time) = qmgr::put_date_time(turn.now.wall_ms);
        let header = Mqdlh {
            reason,
            dest_q_name,
            dest_q_mgr_name,
            encoding: md.encoding,
            ccsid: md.ccsid,
            format: md.format,
            put_appl_type: mq_wire::ApplType::UNIX,
            put_appl_name: mq_wire::ApplName::cut(APPL_NAME),
            put_date,
            put_time,
            ..Mqdlh::default()
        };
        md.format = FormatName::cut("MQDEAD");
        md.encoding = Encoding::NATIVE;
        md.ccsid = Coding::NATIVE.ccsid;
        let put = UnitPut { queue, q_mgr: QMgrName::BLANK, md, body: with_header(&header, &body) };
        let putter = Putter {
            user: UserId::BLANK,
            appl_name: mq_wire::ApplName::cut(APPL_NAME),
            appl_type: mq_wire::ApplType::UNIX,
            rights: Rights::Admin,
            context: PutContext::SetAll,
        };
        let now = turn.qmgr_now();
        let put = self.queue_manager.put_in_unit_with_file(now, &putter, put, file, commit, &mut turn.batch);
        put.map(|_| ())
    }
}

/// What dead letters and reports say put them.
pub(super) const APPL_NAME: &str = "mqe-gateway";

fn with_header(header: &Mqdlh, body: &Bytes) -> Bytes {
    let mut bytes = BytesMut::with_capacity(Mqdlh::length(1) + body.len());
    let mut writer = Writer::new(&mut bytes, Coding::NATIVE);
    header.encode(&mut writer);
    writer.raw(body);
    bytes.freeze()
}
