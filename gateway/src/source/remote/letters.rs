//! What a source puts into the queue manager in the unit of work of a batch: dead letters, and the reports that the senders
//! want of arrivals and exceptions.

use mq_client::ClientError;
use mq_wire::{Feedback, Mqod, Mqpmo, ObjectName, OpenOptions, PutOptions, QName, Reason, ReportOptions};
use qmgr::{ReportKind, ReportMessage, report_message};

use super::super::address;
use crate::clock;
use crate::core::{Delivery, HandOver, Refused, RefusedBy, dead_letter_message};
use crate::remote::{Failed, Link};

/// The dead-letter queue, opened when it is first needed.
#[derive(Debug)]
pub(super) struct Letters {
    queue: Option<QName>,
    /// Its handle, and whether the message's own context may be set.
    handle: Option<(i32, bool)>,
}

/// The report that the sender of a message wants when it has arrived at its device.
pub(super) fn arrival(handed: &HandOver) -> Option<ReportMessage> {
    let (Delivery::Device { message, .. } | Delivery::Queue { message }) = &handed.delivery else {
        return None;
    };
    let now = clock::now();
    let left = message.to_mq(now.wall_ms).map_or(-1, |md| md.expiry);
    let (md, data) = (&message.descriptor, &message.payload);
    report_message(qmgr_now(), message.origin_qmgr, ReportKind::Arrival, md, data, left)
}

fn qmgr_now() -> qmgr::Now {
    let now = clock::now();
    qmgr::Now { wall_ms: now.wall_ms, instant: now.instant }
}

impl Letters {
    pub(super) fn new(queue: Option<QName>) -> Self {
        Self { queue, handle: None }
    }

    /// Puts a dead letter, unless the message wants to be discarded, and the report of the exception. If the dead-letter queue
    /// does not take it, that is given.
    pub(super) async fn put(
        &mut self,
        link: &mut Link,
        handed: &HandOver,
        reason: Reason,
        discard: bool,
    ) -> Result<Option<Refused>, Failed> {
        let dead = address::dead_letter(&handed.original, None, reason);
        let now = qmgr_now();
        let kind = ReportKind::Exception(Feedback(reason.0));
        let report = report_message(now, link.q_mgr, kind, &dead.md, &dead.body, dead.md.expiry);
        if !discard && !dead.md.report.contains(ReportOptions::DISCARD_MSG) {
            let (md, body) = dead_letter_message(&dead, now.wall_ms);
            if let Some((reason, why)) = self.letter(link, md, body).await? {
                let by = RefusedBy::DeadLetterQueue;
                return Ok(Some(Refused { key: handed.key, reason, why, temporary: false, by }));
            }
        }
        if let Some(report) = report {
            self.report(link, report).await?;
        }
        Ok(None)
    }

    /// Puts a report where it belongs, else to the dead-letter queue, else nowhere: nothing ever waits for a report.
    pub(super) async fn report(&mut self, link: &mut Link, report: ReportMessage) -> Result<(), Failed> {
        let ReportMessage { queue, q_mgr, md, body } = report;
        let od = Mqod { object_name: ObjectName::from(queue), object_q_mgr_name: q_mgr, ..Mqod::default() };
        let pmo =
            Mqpmo { options: PutOptions::SYNCPOINT | PutOptions::FAIL_IF_QUIESCING, ..Mqpmo::default() };
        match link.connection.put1(od, md.clone(), pmo, body.clone()).await.map_err(Failed::from) {
            Ok(_) => Ok(()),
            Err(Failed::Refused(reason, why)) => {
                let dead = crate::core::DeadLetter { reason, queue, q_mgr, md, body, file: None };
                let (md, body) = dead_letter_message(&dead, clock::now().wall_ms);
                if self.letter(link, md, body).await?.is_some() {
                    tracing::warn!(%queue, %q_mgr, why, "a report can be put nowhere: it is dropped");
                }
                Ok(())
            }
            Err(failed) => Err(failed),
        }
    }

    /// Puts a letter; why not, if the queue does not take it.
    async fn letter(
        &mut self,
        link: &mut Link,
        md: mq_wire::Mqmd,
        body: bytes::Bytes,
    ) -> Result<Option<(Reason, String)>, Failed> {
        let Some(queue) = self.queue else {
            let why = "the queue manager has no dead-letter queue".to_owned();
            return Ok(Some((Reason::UNKNOWN_OBJECT_NAME, why)));
        };
        let (handle, sets) = match self.handle {
            Some(handle) => handle,
            None => match open(link, queue).await {
                Ok(handle) => *self.handle.insert(handle),
                Err(Failed::Refused(reason, why)) => return Ok(Some((reason, why))),
                Err(failed) => return Err(failed),
            },
        };
        let context = if sets { PutOptions::SET_ALL_CONTEXT } else { PutOptions::empty() };
        let options = PutOptions::SYNCPOINT | PutOptions::FAIL_IF_QUIESCING | context;
        let pmo = Mqpmo { options, ..Mqpmo::default() };
        match link.connection.put(handle, md, pmo, body).await {
            Ok(_) => Ok(None),
            Err(error) => refusal(error, queue),
        }
    }
}

fn refusal(error: ClientError, queue: QName) -> Result<Option<(Reason, String)>, Failed> {
    match Failed::from(error) {
        Failed::Refused(reason, why) => Ok(Some((reason, format!("{queue}: {why}")))),
        failed => Err(failed),
    }
}

/// Opens the dead-letter queue; without the right to set all context the letters have that of the channel's user.
async fn open(link: &mut Link, queue: QName) -> Result<(i32, bool), Failed> {
    match link.open(queue, OpenOptions::OUTPUT | OpenOptions::SET_ALL_CONTEXT).await {
        Err(Failed::Refused(Reason::NOT_AUTHORIZED, _)) => {
            link.open(queue, OpenOptions::OUTPUT).await.map(|handle| (handle, false))
        }
        opened => opened.map(|handle| (handle, true)),
    }
}
