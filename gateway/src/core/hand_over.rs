//! The hand-over of a batch from a transmission queue to devices: one unit, one commit record (ONCE.md 4, last row).

use std::collections::HashSet;

use bytes::{Bytes, BytesMut};
use mq_wire::{
    Coding, Encoding, Feedback, FormatName, Mqdlh, Mqmd, QMgrName, Reason, ReportOptions, UserId, Writer,
};
use mqe::area::{Accepted, Undelivered};
use mqe::{DeviceMessage, DeviceName};
use qmgr::{Holder, PutContext, Putter, ReportKind, Rights, RouteOutcome, UnitPut};
use store::{Commit, Id, UnitId};

use super::command::{DeadLetter, Delivery, HandOver, HandedOver, Refused, RefusedBy, TakenKey};
use super::owed::EXPIRED;
use super::turn::{Core, Turn};
use crate::source;

/// Where a message went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Went {
    Moved,
    Parked,
    DeadLettered,
    Discarded,
}

impl Went {
    /// Of what becomes a dead letter, unless its own report options want it discarded.
    pub(super) fn of_dead_letter(dead: &DeadLetter) -> Self {
        if dead.md.report.contains(ReportOptions::DISCARD_MSG) { Self::Discarded } else { Self::DeadLettered }
    }
}

/// Why a message was not taken.
#[derive(Debug)]
pub(super) struct Refusal {
    reason: Reason,
    why: String,
    temporary: bool,
    by: RefusedBy,
}

impl Refusal {
    pub(super) fn of(undelivered: &Undelivered, by: RefusedBy) -> Self {
        let (reason, temporary) = (undelivered.reason(), undelivered.is_temporary());
        Self { reason, why: undelivered.to_string(), temporary, by }
    }

    pub(super) fn by_reason(reason: Reason, what: &str, by: RefusedBy) -> Self {
        let why = format!("{what}: {reason}: {}", reason.meaning().unwrap_or("see the reason code"));
        Self { reason, why, temporary: super::devices::is_temporary(reason), by }
    }

    /// It has no destination that could take it.
    pub(super) fn undeliverable(reason: Reason, why: &str) -> Self {
        Self { reason, why: why.to_owned(), temporary: false, by: RefusedBy::Destination }
    }

    pub(super) fn of_message(self, key: TakenKey) -> Refused {
        let Self { reason, why, temporary, by } = self;
        Refused { key, reason, why, temporary, by }
    }
}

impl HandedOver {
    pub(super) fn count(&mut self, went: Went) {
        match went {
            Went::Moved => self.moved += 1,
            Went::Parked => self.parked += 1,
            Went::DeadLettered => self.dead_lettered += 1,
            Went::Discarded => self.discarded += 1,
        }
    }
}

impl Core {
    /// Moves locked messages to where they go. What is refused stays locked, and what is for the same device stays
    /// behind it; what is not locked any more is somebody else's.
    pub(super) fn hand_over(
        &mut self,
        holder: Holder,
        deliveries: Vec<HandOver>,
        turn: &mut Turn,
    ) -> HandedOver {
        let mut handed_over = HandedOver { needs: turn.batch.position(), ..HandedOver::default() };
        let unit = turn.batch.new_unit();
        let mut commit = Commit { unit: Some(unit), ..Commit::default() };
        let mut held: HashSet<DeviceName> = HashSet::new();
        for handed in deliveries {
            let id = Id::from_u64(handed.key.0);
            // The second look: without the lock the message may have gone, and would be there twice.
            if !self.queue_manager.is_locked(holder, id) {
                continue;
            }
            let device = match &handed.delivery {
                Delivery::Device { device, .. } => Some(*device),
                _ => None,
            };
            if device.is_some_and(|device| held.contains(&device)) {
                handed_over.left.push(handed);
                continue;
            }
            match self.deliver(&handed, unit, &mut commit, turn) {
                Ok(went) => {
                    handed_over.count(went);
                    self.queue_manager.take_locked(holder, &[id], &mut commit);
                }
                Err(refusal) => {
                    handed_over.refused.push(refusal.of_message(handed.key));
                    handed_over.left.push(handed);
                    held.extend(device);
                }
            }
        }
        self.make_real(commit, turn);
        handed_over
    }

    fn deliver(
        &mut self,
        handed: &HandOver,
        unit: UnitId,
        commit: &mut Commit,
        turn: &mut Turn,
    ) -> Result<Went, Refusal> {
        let HandOver { original, file, delivery, .. } = handed;
        let letter = |reason| source::dead_letter(original, file.clone(), reason);
        match delivery {
            Delivery::Device { device, message } => self.device_in_unit(device, message, unit, commit, turn),
            Delivery::Park { device, message } => {
                match self.area.park(turn.mqe_now(), device, message, unit, &mut turn.batch) {
                    Ok(accepted) => {
                        self.report_accepted(&accepted, message, commit, turn);
                        Ok(Went::Parked)
                    }
                    Err(undelivered) => Err(Refusal::of(&undelivered, RefusedBy::Park)),
                }
            }
            Delivery::Queue { message } => self.own_queue(message, unit, commit, turn),
            Delivery::Undeliverable { reason, why } => Err(Refusal::undeliverable(*reason, why)),
            Delivery::DeadLetter(reason) => {
                let dead = letter(*reason);
                let went = Went::of_dead_letter(&dead);
                self.put_dead_letter(dead, commit, turn)
                    .map_err(|reason| {
                        Refusal::by_reason(reason, "the dead-letter queue", RefusedBy::DeadLetterQueue)
                    })
                    .map(|()| went)
            }
            Delivery::Discard(reason) => {
                let dead = letter(*reason);
                let (now, feedback) = (turn.qmgr_now(), Feedback(reason.0));
                let batch = &mut turn.batch;
                self.queue_manager
                    .exception_report(now, &dead.md, &dead.body, feedback, commit, batch)
                    .map_err(|reason| Refusal::by_reason(reason, "a report", RefusedBy::Destination))
                    .map(|_| Went::Discarded)
            }
        }
    }

    fn device_in_unit(
        &mut self,
        device: &DeviceName,
        message: &DeviceMessage,
        unit: UnitId,
        commit: &mut Commit,
        turn: &mut Turn,
    ) -> Result<Went, Refusal> {
        match self.area.accept(turn.mqe_now(), device, message, unit, &mut turn.batch) {
            Ok(accepted) => {
                self.report_accepted(&accepted, message, commit, turn);
                Ok(Went::Moved)
            }
            Err(undelivered) => Err(Refusal::of(&undelivered, RefusedBy::Destination)),
        }
    }

    /// The report on arrival, when the gateway answers for the message: parked ones too. Or on expiration, if it was late.
    fn report_accepted(
        &mut self,
        accepted: &Accepted,
        message: &DeviceMessage,
        commit: &mut Commit,
        turn: &mut Turn,
    ) {
        let kind = match accepted {
            Accepted::Stored(_) => ReportKind::Arrival,
            Accepted::Expired => ReportKind::Expiration,
        };
        let now = turn.qmgr_now();
        if kind.is_wanted(&message.descriptor) {
            let left = message.to_mq(turn.now.wall_ms).map_or(EXPIRED, |md| md.expiry);
            let (md, data) = message.joined(message.descriptor.clone());
            let (manager, batch) = (&mut self.queue_manager, &mut turn.batch);
            manager.report_in_unit(now, kind, &md, &data, left, commit, batch);
        }
    }

    /// A message for the gateway itself: a reply token leads to a device, anything else is a queue of the embedded queue
    /// manager. Never one that leads out again: it would come back here, and again (mqe.md 6.4 step 3).
    fn own_queue(
        &mut self,
        message: &DeviceMessage,
        unit: UnitId,
        commit: &mut Commit,
        turn: &mut Turn,
    ) -> Result<Went, Refusal> {
        let refused = |reason| Refusal::by_reason(reason, "a queue of the gateway", RefusedBy::Destination);
        if let Some((device, queue)) = self.tokens.find(&message.queue) {
            let message = DeviceMessage { queue, ..message.clone() };
            return self.device_in_unit(&device, &message, unit, commit, turn);
        }
        let route = self.queue_manager.explain_route(message.queue, QMgrName::BLANK);
        match route.outcome {
            RouteOutcome::Local { .. } => {}
            RouteOutcome::Refused(reason) => return Err(refused(reason)),
            _ => return Err(refused(Reason::UNKNOWN_OBJECT_NAME)),
        }
        let Some((md, body)) = message.to_mq_with_properties(turn.now.wall_ms) else {
            self.report_accepted(&Accepted::Expired, message, commit, turn);
            return Ok(Went::Discarded);
        };
        let put = UnitPut { queue: message.queue, q_mgr: QMgrName::BLANK, md, body };
        let putter = putter(Rights::Device);
        let (now, file) = (turn.qmgr_now(), message.file.clone());
        self.queue_manager
            .put_in_unit_with_file(now, &putter, put, file, commit, &mut turn.batch)
            .map_err(refused)
            .map(|_| Went::Moved)
    }

    /// The end of a unit that queue manager and area have written into.
    pub(super) fn make_real(&mut self, mut commit: Commit, turn: &mut Turn) {
        let Some(unit) = commit.unit else { return };
        self.area.seal_unit(turn.mqe_now(), unit, &mut commit);
        if commit.kills.is_empty() && commit.changes.is_empty() {
            // Nothing was written ahead either: every message brings a kill or a change.
            return;
        }
        turn.batch.commit(commit);
        self.queue_manager.unit_is_real(turn.qmgr_now(), unit, &mut turn.batch, &mut turn.mq);
        self.area.unit_is_real(turn.mqe_now(), unit, &mut turn.batch, &mut turn.area);
        let touched = self.outbox.unit_is_real(unit);
        self.ring(touched);
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
            self.letter(dead, commit, turn)?;
        }
        // Behind the letter: one that is refused leaves the message where it is, and nothing to report.
        let now = turn.qmgr_now();
        self.queue_manager.exception_report(now, &md, &body, feedback, commit, &mut turn.batch).map(drop)
    }

    /// Puts just the letter; status says whether the dead-letter queue takes letters.
    pub(super) fn letter(
        &mut self,
        dead: DeadLetter,
        commit: &mut Commit,
        turn: &mut Turn,
    ) -> Result<(), Reason> {
        let outcome = self.try_dead_letter(dead, commit, turn);
        self.letters_refused = outcome.err();
        outcome
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
        let (md, body) = dead_letter_message(&dead, turn.now.wall_ms);
        let (put, file) = (UnitPut { queue, q_mgr: QMgrName::BLANK, md, body }, dead.file);
        let (now, putter) = (turn.qmgr_now(), putter(Rights::Admin));
        let put = self.queue_manager.put_in_unit_with_file(now, &putter, put, file, commit, &mut turn.batch);
        put.map(|_| ())
    }
}

/// The gateway itself: what it puts keeps the context of its originator.
fn putter(rights: Rights) -> Putter {
    Putter {
        user: UserId::BLANK,
        appl_name: mq_wire::ApplName::cut(APPL_NAME),
        appl_type: mq_wire::ApplType::UNIX,
        rights,
        context: PutContext::SetAll,
    }
}

/// Descriptor and data of a dead letter (mq-objects.md 1.8): the message's own but for format, coding and header.
pub(crate) fn dead_letter_message(dead: &DeadLetter, wall_ms: u64) -> (Mqmd, Bytes) {
    let DeadLetter { reason, queue, q_mgr, md, body, .. } = dead;
    let (put_date, put_time) = qmgr::put_date_time(wall_ms);
    let header = Mqdlh {
        reason: *reason,
        dest_q_name: *queue,
        dest_q_mgr_name: *q_mgr,
        encoding: md.encoding,
        ccsid: md.ccsid,
        format: md.format,
        put_appl_type: mq_wire::ApplType::UNIX,
        put_appl_name: mq_wire::ApplName::cut(APPL_NAME),
        put_date,
        put_time,
        ..Mqdlh::default()
    };
    let format = FormatName::DEAD_LETTER_HEADER;
    let md = Mqmd { format, encoding: Encoding::NATIVE, ccsid: Coding::NATIVE.ccsid, ..md.clone() };
    (md, with_header(&header, body))
}

/// What dead letters and reports say put them.
pub(crate) const APPL_NAME: &str = "mqe-gateway";

fn with_header(header: &Mqdlh, body: &Bytes) -> Bytes {
    let mut bytes = BytesMut::with_capacity(Mqdlh::length(1) + body.len());
    let mut writer = Writer::new(&mut bytes, Coding::NATIVE);
    header.encode(&mut writer);
    writer.raw(body);
    bytes.freeze()
}
