//! What becomes of a message that is not delivered: the rule, the shipped ones, and the guard around one that a program
//! brings (mqe.md 4.6). What each answer then does is the gateway's.

mod shipped;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use async_trait::async_trait;
use mq_wire::{QMgrName, QName, Reason};
use tokio::sync::oneshot::{self, error::TryRecvError};

use crate::chain::guarded;
use crate::{ExitError, ExitMessage};

pub use shipped::{Compat, Dlq, Fleet};

/// A message that was not delivered: a device or a queue refused it, or an exit did.
#[derive(Debug, Clone)]
pub struct UndeliveredMessage {
    /// What its dead-letter header would say.
    pub reason: Reason,
    /// The same for people.
    pub why: String,
    /// It may be taken later without anybody doing anything.
    pub temporary: bool,
    /// The source or device that it came from.
    pub source: String,
    /// The queue that it was sent to, as the application named it.
    pub queue: QName,
    /// The queue manager that it was sent to.
    pub q_mgr: QMgrName,
    /// The number of the try that failed, from 1. The count is that of the message at the head of its source.
    pub attempt: u32,
    /// How long ago the first try was.
    pub waited: Duration,
    /// The message as it came.
    pub message: ExitMessage,
}

/// What is to be done with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum UndeliveredAction {
    /// Hold it in the park area until its device is known, or its time is over. Where that is full: dead letter.
    Park,
    /// To the dead-letter queue, unless the message says that it is to be discarded (MQRO_DISCARD_MSG); its exception
    /// report is sent first. Where the dead-letter queue does not take it: park.
    ReportOptions,
    /// Throw it away; its exception report is sent first.
    Discard,
    /// Try it again after a while, and hold back all that is behind it.
    Retry(Duration),
    /// Leave it where it is and stop the source: an operator must start it again.
    StopSource,
}

/// The rule for messages that are not delivered.
///
/// It is asked in order, one message at a time for each source, and may be asked again about the same message: after a
/// crash, and when what it chose did not work out.
#[async_trait]
pub trait UndeliveredRule: Send + Sync + 'static {
    /// What is to be done. An error, a panic and an answer that comes too late mean [`UndeliveredAction::ReportOptions`].
    async fn decide(&self, undelivered: &UndeliveredMessage) -> Result<UndeliveredAction, ExitError>;
}

/// Calls that did not come back in time and still run, at which a rule is not asked any more.
const ABANDONED_MAX: usize = 2;
/// A call that awaits is cancelled at its limit; one that does not is given up this much later.
const GRACE: Duration = Duration::from_millis(200);

type Answer = oneshot::Receiver<Result<UndeliveredAction, ExitError>>;

/// A rule with a guard around it.
pub struct Rule {
    kind: String,
    rule: Arc<dyn UndeliveredRule>,
    /// One of ours: it never waits.
    shipped: bool,
    limit: Duration,
    failures: AtomicU64,
    /// Calls that nobody waits for any more; those that have come back go with the next look.
    abandoned: Mutex<Vec<Answer>>,
}

impl Rule {
    pub(crate) fn new(kind: &str, rule: Arc<dyn UndeliveredRule>, shipped: bool, limit: Duration) -> Self {
        let (failures, abandoned) = (AtomicU64::default(), Mutex::default());
        Self { kind: kind.to_owned(), rule, shipped, limit, failures, abandoned }
    }

    /// Its kind.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// How often it failed.
    pub fn failures(&self) -> u64 {
        self.failures.load(Relaxed)
    }

    /// What the rule says. One that fails is logged and counted, and the message's report options decide.
    ///
    /// Needs a tokio runtime with time.
    pub async fn decide(&self, undelivered: UndeliveredMessage) -> UndeliveredAction {
        let decided =
            if self.shipped { self.rule.decide(&undelivered).await } else { self.ask(undelivered).await };
        decided.unwrap_or_else(|error| {
            self.failures.fetch_add(1, Relaxed);
            tracing::error!(rule = self.kind, %error, "the undelivered rule failed: report options decide");
            UndeliveredAction::ReportOptions
        })
    }

    /// Asks on a thread where it may block. Not one of the runtime's: these are waited for when it ends, and a rule that
    /// never comes back would keep the program from ending.
    async fn ask(&self, undelivered: UndeliveredMessage) -> Result<UndeliveredAction, ExitError> {
        if self.abandoned() >= ABANDONED_MAX {
            return Err(ExitError::failed(format!(
                "{ABANDONED_MAX} calls of it have not come back: it is not asked until one does"
            )));
        }
        let (rule, limit) = (Arc::clone(&self.rule), self.limit);
        let runtime = tokio::runtime::Handle::current();
        let (reply, answer) = oneshot::channel();
        let call = move || {
            let decided = runtime.block_on(guarded("decide", limit, || rule.decide(&undelivered)));
            let _ = reply.send(decided);
        };
        thread::Builder::new().name("undelivered".to_owned()).spawn(call).map_err(ExitError::Thread)?;
        let mut asked = Asked { rule: self, answer: Some(answer) };
        let Some(answer) = &mut asked.answer else { return Err(ExitError::failed("nobody was asked")) };
        let decided = tokio::time::timeout(limit + GRACE, answer).await;
        if decided.is_ok() {
            asked.answer = None;
        }
        match decided {
            Ok(Ok(decided)) => decided,
            Ok(Err(_)) => Err(ExitError::failed("its thread ended without an answer")),
            Err(_) => Err(ExitError::Late { call: "decide", limit }),
        }
    }

    /// Calls that were given up and still run.
    fn abandoned(&self) -> usize {
        let mut abandoned = self.abandoned.lock().unwrap_or_else(PoisonError::into_inner);
        abandoned.retain_mut(|answer| matches!(answer.try_recv(), Err(TryRecvError::Empty)));
        abandoned.len()
    }
}

/// A call that is under way. If it is not waited for to its end (it is late, or its source is stopped), it counts as
/// given up until it comes back.
struct Asked<'a> {
    rule: &'a Rule,
    answer: Option<Answer>,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        if let Some(answer) = self.answer.take() {
            self.rule.abandoned.lock().unwrap_or_else(PoisonError::into_inner).push(answer);
        }
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rule").field("kind", &self.kind).field("failures", &self.failures()).finish()
    }
}

#[cfg(test)]
mod tests;
