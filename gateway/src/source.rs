//! The listener on the local transmission queue: locks a batch, runs the exits on it, hands it over to the devices.
//!
//! ```text
//!  RUNNING ──lock──> read ──> exits ──> address ──> hand over (one core command, one commit record) ──> RUNNING
//!     ^ └── queue empty: wait until something arrives                │
//!     └────────────── after a while ──────────── RETRYING <── no dead-letter queue takes what must go there
//!  STOPPED <── an exit says CLOSE_CHANNEL, or the chain cannot go on
//! ```
//!
//! Nothing is decided here for good: the hand-over looks again at each lock, and until it is made the messages are
//! on the transmission queue.

mod address;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mq_wire::{Coding, Mqmd, QMgrName, QName, Reader};
use mqe_exits::{Chain, Direction, ExitMessage, Origin, Verdict};
use qmgr::Holder;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::core::{Bodies, Command, CoreHandle, Delivery, HandOver, HandedOver, Lane, LockedBody, Stopped};
use crate::report::{ExitReport, SourceReport};

pub(crate) use address::{dead_letter, delivery, split};

/// The holder of the local listener's locks.
const HOLDER: Holder = Holder(1);

/// How long a message that nobody can take keeps the listener from trying again.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// How much a batch may hold.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BatchLimits {
    pub(crate) messages_max: usize,
    pub(crate) bytes_max: usize,
}

/// The listener on a transmission queue of the embedded queue manager.
#[derive(Debug)]
pub(crate) struct LocalSource {
    pub(crate) core: CoreHandle,
    pub(crate) queue: QName,
    pub(crate) q_mgr: QMgrName,
    pub(crate) chain: Arc<Chain>,
    pub(crate) bodies: Bodies,
    pub(crate) limits: BatchLimits,
    /// Notified when something arrives on the queue.
    pub(crate) arrived: Arc<Notify>,
    pub(crate) stop: CancellationToken,
    pub(crate) state: Arc<SourceState>,
}

/// What status shows of a listener.
#[derive(Debug)]
pub(crate) struct SourceState {
    report: Mutex<SourceReport>,
}

impl SourceState {
    pub(crate) fn new(queue: &QName) -> Self {
        let report = SourceReport {
            name: "local".to_owned(),
            queue: queue.to_string(),
            state: "RUNNING".to_owned(),
            ..SourceReport::default()
        };
        Self { report: Mutex::new(report) }
    }

    pub(crate) fn report(&self) -> SourceReport {
        self.report.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, state: &str, reason: Option<String>) {
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        if report.state != state || report.reason != reason {
            match &reason {
                Some(reason) => tracing::warn!(queue = report.queue, state, reason, "listener"),
                None => tracing::info!(queue = report.queue, state, "listener"),
            }
        }
        state.clone_into(&mut report.state);
        report.reason = reason;
    }

    fn count(&self, moved: u64, dead_lettered: u64) {
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        report.moved += moved;
        report.dead_lettered += dead_lettered;
    }
}

/// Why the listener does not go on with the next batch at once.
enum Pause {
    /// Something is wrong that may pass.
    Retry(String),
    /// An operator must look.
    Stop(String),
}

/// Runs the listener until it is stopped.
pub(crate) async fn run(source: LocalSource) {
    loop {
        let pause = tokio::select! {
            biased;
            () = source.stop.cancelled() => return,
            pause = batches(&source) => pause,
        };
        match pause {
            Err(Stopped) => return,
            Ok(Pause::Stop(why)) => {
                source.state.set("STOPPED", Some(why));
                source.stop.cancelled().await;
                return;
            }
            Ok(Pause::Retry(why)) => {
                source.state.set("RETRYING", Some(why));
                tokio::select! {
                    () = source.stop.cancelled() => return,
                    () = tokio::time::sleep(RETRY_AFTER) => {}
                }
            }
        }
    }
}

/// Moves batch after batch until something is wrong.
async fn batches(source: &LocalSource) -> Result<Pause, Stopped> {
    loop {
        let locked = source
            .core
            .ask(Lane::Intake, |answer| Command::Lock {
                queue: source.queue,
                holder: HOLDER,
                limits: source.limits,
                answer,
            })
            .await?;
        let batch = match locked {
            Ok(batch) => batch,
            Err(reason) => {
                return Ok(Pause::Retry(format!(
                    "the transmission queue {} cannot be read: {reason}: {}",
                    source.queue,
                    reason.meaning().unwrap_or("see the reason code")
                )));
            }
        };
        if batch.is_empty() {
            source.state.set("RUNNING", None);
            source.arrived.notified().await;
            continue;
        }
        // Whatever happens from here on, what was locked is given back or handed over.
        let locked: Vec<store::Id> = batch.iter().map(|locked| locked.body.id()).collect();
        let Addressed { deliveries, pause } = addressed(source, batch).await;
        if let Some(rest) = locked.get(deliveries.len()..).filter(|rest| !rest.is_empty()) {
            source.core.send(Lane::Complete, Command::Unlock { holder: HOLDER, ids: rest.to_vec() }).await?;
        }
        let handed_over = source
            .core
            .ask(Lane::Complete, |answer| Command::HandOver { holder: HOLDER, deliveries, answer })
            .await?;
        let HandedOver { moved, dead_lettered, stuck } = handed_over;
        source.state.count(moved, dead_lettered);
        if let Some((count, reason)) = stuck {
            return Ok(Pause::Retry(format!(
                "{count} messages can go neither to a device nor to the dead-letter queue ({reason}): make room there, \
                 or name another one with ALTER QMGR DEADQ"
            )));
        }
        if let Some(pause) = pause {
            return Ok(pause);
        }
        source.state.set("RUNNING", None);
    }
}

/// Where the messages of a batch go, as far as that can be said: the first ones of the batch, and why no more.
#[derive(Default)]
struct Addressed {
    deliveries: Vec<HandOver>,
    pause: Option<Pause>,
}

/// Reads a batch, runs the exits on it, and says where each message goes.
async fn addressed(source: &LocalSource, batch: Vec<LockedBody>) -> Addressed {
    let mut addressed = Addressed::default();
    let origin = Origin::new(&source.queue.to_string(), Direction::FromMq);
    let mut messages = Vec::with_capacity(batch.len());
    let mut held = Vec::with_capacity(batch.len());
    for locked in batch {
        let (id, expiry_ms) = (locked.body.id(), locked.expiry_ms);
        let read = match source.bodies.read(locked.body, locked.length).await {
            Ok(record) => record,
            Err(error) => {
                addressed.pause = Some(Pause::Stop(format!("message {id} cannot be read ({error})")));
                break;
            }
        };
        let mut reader = Reader::new(&read.record.envelope, Coding::NATIVE);
        let descriptor = match Mqmd::decode(&mut reader) {
            Ok(descriptor) => descriptor,
            Err(error) => {
                let why = format!("the descriptor of message {id} cannot be read ({error})");
                addressed.pause = Some(Pause::Stop(why));
                break;
            }
        };
        let message = ExitMessage::new(origin.clone(), descriptor, read.record.body.clone());
        messages.push((id, expiry_ms, message));
        // The share of the budget, until the exits are through.
        held.push(read);
    }
    let verdicts = source.chain.run(messages.iter().map(|(_, _, message)| message.clone()).collect()).await;
    drop(held);
    for ((id, expiry_ms, original), verdict) in messages.into_iter().zip(verdicts) {
        let delivery = match verdict {
            Verdict::Pass(message) => delivery(message, source.q_mgr, expiry_ms),
            Verdict::Undelivered { reason, why, .. } => {
                tracing::warn!(%id, %reason, why, "an exit does not let the message through");
                Delivery::DeadLetter(reason)
            }
            Verdict::CloseChannel { why } | Verdict::Stopped { why } => {
                addressed.pause = Some(Pause::Stop(why));
                break;
            }
        };
        addressed.deliveries.push(HandOver { id, original, delivery });
    }
    addressed
}

/// The exits' part of the status.
pub(crate) fn exit_reports(chain: &Chain) -> Vec<ExitReport> {
    let exits = chain.status().exits;
    let report = |exit: mqe_exits::ExitStatus| ExitReport {
        name: exit.name,
        calls: exit.calls,
        failures: exit.errors + exit.panics + exit.timeouts,
        mean_us: u64::try_from(exit.total.as_micros())
            .unwrap_or(u64::MAX)
            .checked_div(exit.calls)
            .unwrap_or_default(),
    };
    exits.into_iter().map(report).collect()
}
