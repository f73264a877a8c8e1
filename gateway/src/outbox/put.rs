//! What becomes of an entry in the unit of work: put where it goes, to the dead-letter queue there, or not at all because it has
//! expired.

use bytes::Bytes;
use mq_wire::{Chars, Mqmd, Mqod, Mqpmo, ObjectName, PutOptions, QMgrName, QName, Reason, ReportOptions};
use mqe::outbox::{EntryKind, OutboxEntry};
use qmgr::{ReportKind, ReportMessage, report_message};

use super::Open;
use crate::clock;
use crate::config::MessageContext;
use crate::core::{DeadLetter, EXPIRED, EndedHere};
use crate::remote::{Failed, RemoteSettings, qmgr_now};
use crate::report::SourceReport;

/// What became of an entry.
pub(super) enum Put {
    /// It ends with the unit of work.
    Done(End),
    /// There is no room for it now.
    Later(Reason),
    /// Not even the dead-letter queue there takes it, or its device waits to hear that it is refused.
    Never(Reason, String),
}

/// How an entry ends.
#[derive(Debug, Clone, Copy)]
pub(super) enum End {
    Put,
    DeadLettered,
    /// By the report options of its message.
    Discarded,
    Expired,
}

/// The ends of a batch.
#[derive(Debug, Default)]
pub(super) struct Counts {
    put: u64,
    dead_lettered: u64,
    discarded: u64,
    expired: u64,
}

impl Counts {
    pub(super) fn add(&mut self, end: End) {
        *match end {
            End::Put => &mut self.put,
            End::DeadLettered => &mut self.dead_lettered,
            End::Discarded => &mut self.discarded,
            End::Expired => &mut self.expired,
        } += 1;
    }

    /// Into what status says.
    pub(super) fn tell(&self, report: &mut SourceReport) {
        report.moved += self.put;
        report.dead_lettered += self.dead_lettered;
        report.discarded += self.discarded;
        report.expired += self.expired;
    }
}

/// Counts what has ended on this side.
pub(super) fn tell_ended(ended: EndedHere, report: &mut SourceReport) {
    match ended {
        EndedHere::DeadLettered => report.dead_lettered += 1,
        EndedHere::Parked => report.parked += 1,
        EndedHere::Discarded => report.discarded += 1,
        // Its device counts it.
        EndedHere::Refused | EndedHere::Gone => {}
    }
}

impl Open {
    /// Puts an entry in the unit of work. Of one whose device waits no dead letter is made there: the device is told.
    pub(super) async fn put(
        &mut self,
        settings: &RemoteSettings,
        entry: &OutboxEntry,
        awaited: bool,
    ) -> Result<Put, Failed> {
        let message = &entry.message;
        let Some((md, body)) = message.to_mq_with_properties(clock::now().wall_ms) else {
            return self.expired(entry).await;
        };
        let refused = match entry.kind {
            EntryKind::Put => {
                let to = (message.queue, entry.q_mgr);
                self.put_for(settings, entry, to, (md.clone(), body.clone())).await?
            }
            EntryKind::Report => {
                let (queue, q_mgr) = (message.queue, entry.q_mgr);
                self.letters.report(&mut self.link, ReportMessage { queue, q_mgr, md, body }).await?;
                return Ok(Put::Done(End::Put));
            }
            EntryKind::DeadLetter(reason) => Some((reason, String::new())),
        };
        let Some((reason, why)) = refused else { return Ok(Put::Done(End::Put)) };
        if is_temporary(reason) && entry.kind == EntryKind::Put {
            return Ok(Put::Later(reason));
        }
        if awaited {
            return Ok(Put::Never(reason, why));
        }
        if entry.kind == EntryKind::Put {
            let source = &settings.name;
            tracing::warn!(source, queue = %message.queue, %reason, why, "a put goes to the dead-letter queue there");
        }
        let (queue, q_mgr) = match entry.kind {
            EntryKind::DeadLetter(_) => (message.via_queue, message.via_qmgr),
            _ => (message.queue, if entry.q_mgr.is_blank() { self.link.q_mgr } else { entry.q_mgr }),
        };
        let discarded = md.report.contains(ReportOptions::DISCARD_MSG);
        let dead = DeadLetter { reason, queue, q_mgr, md, body, file: None };
        Ok(match self.letters.put(&mut self.link, &dead, false).await? {
            None => Put::Done(if discarded { End::Discarded } else { End::DeadLettered }),
            Some((refused, letter_why)) if is_for_ever(refused) => match entry.kind {
                EntryKind::Put => Put::Never(reason, format!("{why}; {letter_why}")),
                _ => Put::Never(refused, letter_why),
            },
            Some((reason, why)) => {
                tracing::warn!(source = settings.name, %reason, why, "the dead-letter queue there takes nothing");
                Put::Later(reason)
            }
        })
    }

    /// As if it had expired on a queue: there is nothing to put but the report that its originator wants of that.
    async fn expired(&mut self, entry: &OutboxEntry) -> Result<Put, Failed> {
        let md = Mqmd { expiry: EXPIRED, ..entry.message.descriptor.clone() };
        let (md, data) = entry.message.joined(md);
        let (this, kind) = (self.link.q_mgr, ReportKind::Expiration);
        if let Some(report) = report_message(qmgr_now(), this, kind, &md, &data, md.expiry) {
            self.letters.report(&mut self.link, report).await?;
        }
        Ok(Put::Done(End::Expired))
    }

    /// MQPUT1 of a device's message; the reason, if it is refused.
    async fn put_for(
        &mut self,
        settings: &RemoteSettings,
        entry: &OutboxEntry,
        (queue, q_mgr): (QName, QMgrName),
        (mut md, body): (Mqmd, Bytes),
    ) -> Result<Option<(Reason, String)>, Failed> {
        let od = Mqod { object_name: ObjectName::from(queue), object_q_mgr_name: q_mgr, ..Mqod::default() };
        let mut options = PutOptions::SYNCPOINT | PutOptions::FAIL_IF_QUIESCING;
        if let (MessageContext::SetIdentity, Some(device)) = (settings.context, &entry.device) {
            options |= PutOptions::SET_IDENTITY_CONTEXT;
            // The authenticated name, never the device's word (DESIGN.md 6).
            md.user_identifier = Chars::cut(&device.to_string());
        }
        let pmo = Mqpmo { options, ..Mqpmo::default() };
        match self
            .link
            .connection
            .put1(od, md, pmo, body)
            .await
            .map_err(|error| Failed::from(error).in_unit())
        {
            Ok(_) => Ok(None),
            Err(Failed::Refused(reason, why)) => Ok(Some((reason, why))),
            Err(failed) => Err(failed),
        }
    }
}

/// Whether there may be room later: a full queue is drained, an inhibited one is allowed again.
fn is_temporary(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::Q_FULL
            | Reason::PUT_INHIBITED
            | Reason::Q_SPACE_NOT_AVAILABLE
            | Reason::STORAGE_NOT_AVAILABLE
            | Reason::STORAGE_MEDIUM_FULL
            // Of the unit of work: there is room in the next one.
            | Reason::SYNCPOINT_LIMIT_REACHED
            | Reason::RESOURCE_PROBLEM
    )
}

/// Whether the dead-letter queue never takes a message: there is none, or the message is too long for it or for the channel.
/// Anything else may pass.
fn is_for_ever(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::UNKNOWN_OBJECT_NAME
            | Reason::NOT_AUTHORIZED
            | Reason::MSG_TOO_BIG_FOR_Q
            | Reason::MSG_TOO_BIG_FOR_Q_MGR
            | Reason::MSG_TOO_BIG_FOR_CHANNEL
            | Reason::DATA_LENGTH_ERROR
            | Reason::BUFFER_LENGTH_ERROR
    )
}
