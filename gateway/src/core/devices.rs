//! The devices' commands: requests to the area, puts into the queue manager or another device's sub-queue, and what
//! a device refuses for good.

use mq_wire::{ApplName, ApplType, Chars, QMgrName, Reason};
use mqe::area::{Accepted, PutGone, Undelivered};
use mqe::frame::{FRAME_BYTES_MAX, Frame, PutOutcome};
use mqe::{ConnId, DeviceMessage, DeviceName, RequestId, Uid};
use qmgr::{PutContext, Putter, Rights, UnitPut};
use store::{BodyRef, Commit, Id, Record, UnitId};

use super::command::{Command, DeadLetter, DevicePut, DevicePutBody, RejectedMessage};
use super::lanes::Lane;
use super::turn::{Core, Turn};

impl Core {
    /// A request of a device, all but its puts.
    pub(super) fn device_request(&mut self, conn: ConnId, request: RequestId, frame: Frame, turn: &mut Turn) {
        let now = turn.mqe_now();
        let (batch, out) = (&mut turn.batch, &mut turn.area);
        match frame {
            Frame::Hello(hello) => self.area.hello(conn, request, &hello, batch, out),
            Frame::Resume { stored, refused } => {
                self.area.resume(conn, request, &stored, &refused, batch, out);
            }
            Frame::Get { messages, bytes, wait_ms } => {
                self.area.get(now, conn, request, messages, bytes, wait_ms, batch, out);
            }
            Frame::Confirm(uids) => self.area.confirm(now, conn, request, &uids, batch, out),
            Frame::Reject { uid, reason } => self.area.reject(conn, request, uid, reason, batch, out),
            Frame::Release(uid) => self.area.release(now, conn, request, uid, batch, out),
            // The machine answers PING, gives puts to the exits, and refuses what only a gateway may send.
            _ => {}
        }
    }

    /// Puts that came through the exits, in the order of their sequences. One that finds no room holds all behind it
    /// (ONCE.md 3: else the order is broken).
    pub(super) fn device_puts(&mut self, conn: ConnId, puts: Vec<DevicePut>, turn: &mut Turn) {
        let mut held = false;
        for put in puts {
            if held {
                self.area.put_busy(conn, put.request, put.sequence, busy_retry_ms(conn), &mut turn.area);
            } else {
                held = !self.device_put(conn, put, turn);
            }
        }
    }

    /// Decides a put; false if it found no room and nothing was decided.
    fn device_put(&mut self, conn: ConnId, put: DevicePut, turn: &mut Turn) -> bool {
        let DevicePut { request, sequence, device, body } = put;
        let unit = turn.batch.new_unit();
        let mut commit = Commit { unit: Some(unit), ..Commit::default() };
        let mut new_token = None;
        let written = body.and_then(|body| {
            if let Some((token, queue)) = body.token
                && self.tokens.add(token, device, queue, &mut commit)?
            {
                new_token = Some(token);
            }
            self.device_message(device, body, unit, &mut commit, turn)
        });
        let entry = match written {
            Ok(entry) => entry,
            Err(reason) => {
                new_token.iter().for_each(|token| self.tokens.forget(token));
                self.drop_unit(unit, turn);
                let (batch, out) = (&mut turn.batch, &mut turn.area);
                if is_temporary(reason) {
                    self.area.put_busy(conn, request, sequence, busy_retry_ms(conn), out);
                    return false;
                }
                tracing::info!(%device, %sequence, %reason, "a put of the device is refused");
                self.area.put_refused(conn, request, sequence, reason, batch, out);
                return true;
            }
        };
        let decided = match entry {
            Some(entry) => self.area.put_in_unit_with_entry(conn, sequence, entry, &mut commit),
            None => self.area.put_in_unit(conn, sequence, &mut commit),
        };
        match decided {
            Ok(()) if entry.is_some() => {
                self.make_real(commit, turn);
                self.area.put_waits(turn.mqe_now(), conn, request, sequence);
            }
            Ok(()) => {
                self.make_real(commit, turn);
                let (batch, out) = (&turn.batch, &mut turn.area);
                self.area.put_answer(conn, request, sequence, PutOutcome::Taken, batch, out);
            }
            Err(gone) => {
                new_token.iter().for_each(|token| self.tokens.forget(token));
                self.drop_unit(unit, turn);
                if let PutGone::Seen(outcome) = gone {
                    let (batch, out) = (&turn.batch, &mut turn.area);
                    self.area.put_answer(conn, request, sequence, outcome, batch, out);
                }
            }
        }
        true
    }

    /// Where a device's message goes: another device of this gateway, or wherever name resolution says. Gives the entry of
    /// an outbox for whose end the answer waits, if it does.
    fn device_message(
        &mut self,
        device: DeviceName,
        body: DevicePutBody,
        unit: UnitId,
        commit: &mut Commit,
        turn: &mut Turn,
    ) -> Result<Option<Id>, Reason> {
        let DevicePutBody { queue, q_mgr, message, .. } = body;
        // A device that bears the name of this queue manager or of the gateway takes none of their messages.
        let is_ours = q_mgr == self.queue_manager.name() || self.wiring.names.contains(&q_mgr);
        let is_named = !q_mgr.is_blank() && !is_ours;
        let other = DeviceName::try_from(q_mgr).ok().filter(|_| is_named);
        if let Some(other) = other.filter(|other| self.area.device(other).is_some()) {
            return self.give_to_device(&other, message, unit, commit, turn).map(|()| None);
        }
        if let Some(source) = self.source_of(&q_mgr).filter(|_| is_named) {
            return self.put_into_outbox(&source, &device, QMgrName::BLANK, message, unit, turn);
        }
        if let Some(source) = self.wiring.device_puts.clone().filter(|_| !is_ours) {
            // A device that has not been heard of may be one by its name; any other name is MQ's to know.
            if let Some(other) = other.filter(|other| self.area.may_enrol(other)) {
                return self.give_to_device(&other, message, unit, commit, turn).map(|()| None);
            }
            return self.put_into_outbox(&source, &device, q_mgr, message, unit, turn);
        }
        let is_ours = !is_named;
        let Some((md, payload)) = message.to_mq_with_properties(turn.now.wall_ms) else {
            // Expired on its way: taken, and nothing to put.
            return Ok(None);
        };
        let putter = Putter {
            // The authenticated name, never the device's word (DESIGN.md 6).
            user: Chars::cut(&device.to_string()),
            appl_name: ApplName::cut(&device.to_string()),
            appl_type: ApplType::USER,
            rights: Rights::Device,
            context: PutContext::Default,
        };
        let put = UnitPut { queue, q_mgr, md, body: payload };
        let (now, file) = (turn.qmgr_now(), message.file.clone());
        let batch = &mut turn.batch;
        match self.queue_manager.put_in_unit_with_file(now, &putter, put, file, commit, batch) {
            Ok(_) => Ok(None),
            // Not a queue manager that MQ knows: perhaps a device that has not been heard of.
            Err(Reason::UNKNOWN_REMOTE_Q_MGR) if !is_ours => match DeviceName::try_from(q_mgr) {
                Ok(other) => self.give_to_device(&other, message, unit, commit, turn).map(|()| None),
                Err(_) => Err(Reason::UNKNOWN_REMOTE_Q_MGR),
            },
            Err(reason) => Err(reason),
        }
    }

    fn give_to_device(
        &mut self,
        other: &DeviceName,
        message: DeviceMessage,
        unit: UnitId,
        commit: &mut Commit,
        turn: &mut Turn,
    ) -> Result<(), Reason> {
        match self.area.accept(turn.mqe_now(), other, &message, unit, &mut turn.batch) {
            Ok(Accepted::Stored(_) | Accepted::Expired) => Ok(()),
            // A full device that never comes must not hold up the one that puts: as with messages from MQ.
            Err(undelivered @ Undelivered::Full { .. }) => {
                let (queue, q_mgr) = message.address(other);
                let left = message.to_mq(turn.now.wall_ms).unwrap_or_else(|| message.descriptor.clone());
                let (md, body) = message.joined(left);
                let dead =
                    DeadLetter { reason: undelivered.reason(), queue, q_mgr, md, body, file: message.file };
                self.put_dead_letter(dead, commit, turn)
            }
            Err(undelivered) => Err(undelivered.reason()),
        }
    }

    /// The end of a unit that shall not become real.
    pub(super) fn drop_unit(&mut self, unit: UnitId, turn: &mut Turn) {
        self.queue_manager.unit_dropped(unit, &mut turn.batch);
        let mut written = self.area.unit_dropped(unit);
        written.extend(self.outbox.unit_dropped(unit));
        if !written.is_empty() {
            turn.batch.back_out(unit, written);
        }
    }

    /// A device refused a message for good: it is read outside of the core, and comes back as a command.
    pub(super) fn dead_letter_later(&self, device: DeviceName, uid: Uid, body: BodyRef, reason: Reason) {
        let (sender, bodies) = (self.sender(), self.wiring.bodies.clone());
        self.lasting.helpers.spawn(async move {
            let _share = bodies.share(FRAME_BYTES_MAX).await;
            match super::read(body).await {
                Ok(record) => {
                    let rejected = Box::new(RejectedMessage { device, uid, reason, record });
                    // If the service stops the device says its refusal again when it comes back.
                    let _ = sender.send(Lane::Complete, Command::Rejected { rejected }).await;
                }
                Err(error) => tracing::error!(%device, %uid, %error, "a refused message cannot be read"),
            }
        });
    }

    /// The message that a device refused goes to the dead-letter queue, and ends there, in one unit.
    pub(super) fn rejected(&mut self, rejected: RejectedMessage, turn: &mut Turn) {
        let RejectedMessage { device, uid, reason, record } = rejected;
        let Record { envelope, body, file, .. } = record;
        let message = match DeviceMessage::from_envelope(&envelope, body) {
            Ok(message) => message,
            Err(error) => {
                tracing::error!(%device, %uid, %error, "a refused message cannot be read");
                return;
            }
        };
        let unit = turn.batch.new_unit();
        let mut commit = Commit { unit: Some(unit), ..Commit::default() };
        let (queue, q_mgr) = message.address(&device);
        // An expired one is dead-lettered all the same: the device has spoken.
        let left = message.to_mq(turn.now.wall_ms).unwrap_or_else(|| message.descriptor.clone());
        let (md, body) = message.joined(left);
        let dead = DeadLetter { reason, queue, q_mgr, md, body, file };
        if let Err(reason) = self.dead_letter_of(&device, message.origin_qmgr, dead, &mut commit, turn) {
            // It stays in doubt: the device repeats its refusal, and finds a dead-letter queue then, or not.
            tracing::warn!(%device, %uid, %reason, "the dead-letter queue does not take a refused message");
            return self.drop_unit(unit, turn);
        }
        if self.area.finish_reject(&device, uid, &mut commit, &turn.batch, &mut turn.area) {
            self.make_real(commit, turn);
        } else {
            self.drop_unit(unit, turn);
        }
    }
}

/// Whether the same put may be taken later: then the device keeps it, and order behind it (ONCE.md 3).
pub(super) fn is_temporary(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::Q_FULL
            | Reason::PUT_INHIBITED
            | Reason::Q_SPACE_NOT_AVAILABLE
            | Reason::STORAGE_NOT_AVAILABLE
            | Reason::MEDIUM_FULL
            | Reason::Q_MGR_QUIESCING
    )
}

/// After how long a device repeats a put that found no room: one to two seconds, so that not all come at once.
fn busy_retry_ms(conn: ConnId) -> u32 {
    1_000 + (conn.0 % 1_000) as u32
}
