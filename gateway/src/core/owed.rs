//! What is owed for messages that have ended (`mqe::area::Owed`): their records are read beside the core, and come back as
//! commands, which make the report or the dead letter in one unit with the end of the debt (ONCE.md 3).

use mq_wire::{Mqmd, QMgrName, Reason};
use mqe::area::Owed;
use mqe::outbox::{EntryKind, OutboxEntry};
use mqe::{DeviceMessage, DeviceName};
use qmgr::{ReportKind, ReportMessage, report_message};
use store::{BodyRef, Commit, Id, Record, StoreError};

use super::bodies::Share;
use super::command::{Command, DeadLetter};
use super::lanes::Lane;
use super::turn::{Core, Turn};

/// A message for which something is owed, read.
#[derive(Debug)]
pub(crate) struct OwedRecord {
    id: Id,
    device: DeviceName,
    owed: Owed,
    record: Result<Record, StoreError>,
    /// Its share of the budget, until the core has done with it.
    _share: Option<Share>,
}

impl OwedRecord {
    #[cfg(test)]
    pub(super) fn new(id: Id, device: DeviceName, owed: Owed, record: Result<Record, StoreError>) -> Self {
        Self { id, device, owed, record, _share: None }
    }
}

/// What is passed on of an expiry that is over, in tenths of a second: a minute, else the report would expire at once.
pub(crate) const EXPIRED: i32 = 600;

impl Core {
    /// Reads a message for which something is owed.
    pub(super) fn owed_later(&self, id: Id, device: DeviceName, owed: Owed, body: BodyRef) {
        let (sender, bodies) = (self.sender(), self.wiring.bodies.clone());
        self.lasting.helpers.spawn(async move {
            let share = bodies.share(mqe::frame::FRAME_BYTES_MAX).await;
            let record = super::read(body).await;
            let owed = Box::new(OwedRecord { id, device, owed, record, _share: share });
            // If the service stops it is owed still at the next start.
            let _ = sender.send(Lane::Complete, Command::Owed { owed }).await;
        });
    }

    /// Pays what is owed, or says that it cannot be done now.
    pub(super) fn pay(&mut self, owed: OwedRecord, turn: &mut Turn) {
        let OwedRecord { id, device, owed, record, .. } = owed;
        let message = record.map_err(|error| error.to_string()).and_then(|record| {
            let Record { envelope, body, file, .. } = record;
            DeviceMessage::from_envelope(&envelope, body)
                .map(|message| message.with_file(file))
                .map_err(|error| error.to_string())
        });
        let message = match message {
            Ok(message) => message,
            Err(error) => {
                let what = format!("message {id} of device {device}, for which {owed:?} is owed: {error}");
                self.damaged(id, what);
                return self.area.unpaid(id, turn.now.instant);
            }
        };
        let unit = turn.batch.new_unit();
        let mut commit = Commit { unit: Some(unit), ..Commit::default() };
        if let Err(reason) = self.put_owed(&device, message, owed, &mut commit, turn) {
            tracing::warn!(%device, %id, ?owed, %reason, "what is owed for a message cannot be put now");
            self.drop_unit(unit, turn);
            return self.area.unpaid(id, turn.now.instant);
        }
        if self.area.paid(id, &mut commit) {
            self.make_real(commit, turn);
        } else {
            self.drop_unit(unit, turn);
        }
    }

    fn put_owed(
        &mut self,
        device: &DeviceName,
        message: DeviceMessage,
        owed: Owed,
        commit: &mut Commit,
        turn: &mut Turn,
    ) -> Result<(), Reason> {
        let left = message.to_mq(turn.now.wall_ms);
        let md = left.unwrap_or_else(|| Mqmd { expiry: EXPIRED, ..message.descriptor.clone() });
        let (md, data) = message.joined(md);
        let kind = match owed {
            Owed::Delivered => ReportKind::Delivery,
            Owed::Expired => ReportKind::Expiration,
            Owed::DeadLetter(reason) => {
                let (queue, q_mgr) = message.address(device);
                let DeviceMessage { file, origin_qmgr, .. } = message;
                let dead = DeadLetter { reason, queue, q_mgr, md, body: data, file };
                return self.dead_letter_of(device, origin_qmgr, dead, commit, turn);
            }
        };
        if let (Some(source), Some(unit)) = (self.source_of(&message.origin_qmgr), commit.unit) {
            let this = message.origin_qmgr;
            let Some(report) = report_message(turn.qmgr_now(), this, kind, &md, &data, md.expiry) else {
                return Ok(());
            };
            let ReportMessage { queue, q_mgr, md, body } = report;
            let message = DeviceMessage::from_mq(queue, this, &md, body, turn.now.wall_ms);
            let entry = OutboxEntry { kind: EntryKind::Report, device: Some(*device), q_mgr, message };
            return self.enter(&source, Some(device), &entry, unit, turn).map(drop);
        }
        let (now, expiry) = (turn.qmgr_now(), md.expiry);
        self.queue_manager.report_in_unit(now, kind, &md, &data, expiry, commit, &mut turn.batch);
        Ok(())
    }

    /// A dead letter that is decided later goes to the queue manager that its message came from.
    pub(super) fn dead_letter_of(
        &mut self,
        device: &DeviceName,
        origin: QMgrName,
        dead: DeadLetter,
        commit: &mut Commit,
        turn: &mut Turn,
    ) -> Result<(), Reason> {
        let (Some(source), Some(unit)) = (self.source_of(&origin), commit.unit) else {
            return self.put_dead_letter(dead, commit, turn);
        };
        let DeadLetter { reason, queue, q_mgr, md, body, file } = dead;
        let message = DeviceMessage::from_mq(queue, origin, &md, body, turn.now.wall_ms);
        let message = message.with_via(queue, q_mgr).with_file(file);
        let entry = OutboxEntry {
            kind: EntryKind::DeadLetter(reason),
            device: Some(*device),
            q_mgr: QMgrName::BLANK,
            message,
        };
        self.enter(&source, Some(device), &entry, unit, turn).map(drop)
    }
}
