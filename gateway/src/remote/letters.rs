//! What goes into the queue manager in the unit of work of a batch beside its messages: dead letters, and the reports that
//! senders want of arrivals and exceptions.

use mq_client::ClientError;
use mq_wire::{Feedback, Mqod, Mqpmo, ObjectName, OpenOptions, PutOptions, QName, Reason, ReportOptions};
use qmgr::{ReportKind, ReportMessage, report_message};

use super::link::{Failed, Link};
use crate::clock;
use crate::core::{DeadLetter, dead_letter_message};

/// The dead-letter queue, opened when it is first needed.
#[derive(Debug)]
pub(crate) struct Letters {
    queue: Option<QName>,
    /// Its handle, and whether the message's own context may be set.
    handle: Option<(i32, bool)>,
}

pub(crate) fn qmgr_now() -> qmgr::Now {
    let now = clock::now();
    qmgr::Now { wall_ms: now.wall_ms, instant: now.instant }
}

impl Letters {
    pub(crate) fn new(queue: Option<QName>) -> Self {
        Self { queue, handle: None }
    }

    /// Puts a dead letter, unless the message wants to be discarded, and the report of the exception. If the dead-letter queue
    /// does not take it, that is given.
    pub(crate) async fn put(
        &mut self,
        link: &mut Link,
        dead: &DeadLetter,
        discard: bool,
    ) -> Result<Option<(Reason, String)>, Failed> {
        let now = qmgr_now();
        let kind = ReportKind::Exception(Feedback(dead.reason.0));
        let report = report_message(now, link.q_mgr, kind, &dead.md, &dead.body, dead.md.expiry);
        if !discard && !dead.md.report.contains(ReportOptions::DISCARD_MSG) {
            let (md, body) = dead_letter_message(dead, now.wall_ms);
            let refused = self.letter(link, md, body).await?;
            if refused.is_some() {
                return Ok(refused);
            }
        }
        if let Some(report) = report {
            self.report(link, report).await?;
        }
        Ok(None)
    }

    /// Puts a report where it belongs, else to the dead-letter queue, else nowhere: nothing ever waits for a report.
    pub(crate) async fn report(&mut self, link: &mut Link, report: ReportMessage) -> Result<(), Failed> {
        let ReportMessage { queue, q_mgr, md, body } = report;
        let od = Mqod { object_name: ObjectName::from(queue), object_q_mgr_name: q_mgr, ..Mqod::default() };
        let pmo =
            Mqpmo { options: PutOptions::SYNCPOINT | PutOptions::FAIL_IF_QUIESCING, ..Mqpmo::default() };
        match link
            .connection
            .put1(od, md.clone(), pmo, body.clone())
            .await
            .map_err(|error| Failed::from(error).in_unit())
        {
            Ok(_) => Ok(()),
            Err(Failed::Refused(reason, why)) => {
                let dead = DeadLetter { reason, queue, q_mgr, md, body, file: None };
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
    match Failed::from(error).in_unit() {
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
