//! The listener on the local transmission queue: locks a batch, runs the exits on it, hands it over to the devices.
//!
//! ```text
//!  RUNNING ──lock──> read ──> exits ──> address ──> hand over (one core command, one commit record) ──> RUNNING
//!     ^ └── queue empty: wait until something arrives                │
//!     └────────────── after a while ──────────── RETRYING <── too much can go neither to a device nor to the
//!                                                             dead-letter queue (some of it: locked, tried again)
//!  STOPPED <── an exit says CLOSE_CHANNEL, or the chain cannot go on
//! ```
//!
//! A disk without room for new messages pauses it too (RETRYING), and ends of generations of the core begin it anew.
//!
//! Nothing is decided here for good: the hand-over looks again at each lock, and until it is made the messages are
//! on the transmission queue.

mod address;

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mq_wire::{Coding, Mqmd, QMgrName, QName, Reader};
use mqe::DeviceName;
use mqe_exits::{Chain, Direction, ExitMessage, Origin, Verdict};
use qmgr::Holder;
use store::{BodyFile, Id, Position, Room};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::clock;
use crate::core::{
    Bodies, Command, CoreHandle, Delivery, HandOver, HandedOver, Lane, LockedBody, Stopped, has_same_end,
    write_long,
};
use crate::report::{ExitReport, SourceReport};

pub(crate) use address::{dead_letter, delivery};

/// The holder of the local listener's locks.
const HOLDER: Holder = Holder(1);

/// After how long a message that can go nowhere is tried again.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// What status says while there is no room.
const NO_ROOM: &str =
    "the disk is full: what is for devices waits on the transmission queue until there is room";

/// Messages that can go nowhere, at which the listener does not go on with others.
const STUCK_MESSAGES_MAX: usize = 10_000;

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
    /// The journal has failed.
    Recovery,
    /// There is no room for new messages.
    NoRoom,
    /// Something is wrong that may pass.
    Retry(String),
    /// An operator must look.
    Stop(String),
}

/// Moved and dead-lettered messages that status does not count yet: what is not on disk when the journal fails comes
/// again.
#[derive(Default)]
struct Uncounted {
    batches: VecDeque<(Position, u64, u64)>,
}

impl Uncounted {
    /// Counts what is on disk.
    fn settle(&mut self, core: &CoreHandle, state: &SourceState) {
        while let Some((_, moved, dead)) = self.batches.pop_front_if(|(at, ..)| core.is_durable(*at)) {
            state.count(moved, dead);
        }
    }

    fn last(&self) -> Option<Position> {
        self.batches.back().map(|(at, ..)| *at)
    }
}

/// Runs the listener until it is stopped.
pub(crate) async fn run(source: LocalSource) {
    let mut uncounted = Uncounted::default();
    loop {
        // The locks end with the generation of the core in which they were taken: another one is begun with nothing.
        let generation = tokio::select! {
            biased;
            () = source.stop.cancelled() => return,
            newest = source.core.newest() => newest,
        };
        let Ok(core) = generation else { return };
        let pause = tokio::select! {
            biased;
            () = source.stop.cancelled() => return,
            () = core.ended() => Ok(Pause::Recovery),
            pause = batches(&source, &core, &mut uncounted) => pause,
        };
        uncounted.settle(&core, &source.state);
        match pause {
            Ok(Pause::Recovery) => uncounted = Uncounted::default(),
            // The end of the generation may be seen by its closed lanes first. If the core has ended for good, there
            // is no newest one either.
            Err(Stopped) if core.has_ended() => uncounted = Uncounted::default(),
            Err(Stopped) => return,
            Ok(Pause::NoRoom) => {
                source.state.set("RETRYING", Some(NO_ROOM.to_owned()));
                tokio::select! {
                    () = source.stop.cancelled() => return,
                    // Whatever ends the wait is looked at where the next batch begins.
                    _ = core.enough_room() => {}
                }
            }
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

/// Messages that can go nowhere now: they stay locked, and are tried again after a while. The others go on.
#[derive(Default)]
struct Stuck {
    ids: Vec<Id>,
    /// Whose messages wait behind one of them, so that their order holds.
    devices: HashSet<DeviceName>,
    why: Option<String>,
    again: Option<Instant>,
}

impl Stuck {
    fn add(&mut self, stuck: Vec<(Id, Option<DeviceName>)>, why: Option<String>) {
        for (id, device) in stuck {
            self.ids.push(id);
            self.devices.extend(device);
        }
        if self.why.is_none() {
            self.why = why;
        }
        self.again.get_or_insert(clock::now().instant + RETRY_AFTER);
    }

    /// For status; none if all is well.
    fn reason(&self) -> Option<String> {
        let count = self.ids.len();
        let why = self.why.as_deref().unwrap_or("they wait behind another message of their device");
        (count > 0).then(|| format!("{count} messages can go nowhere: {why}"))
    }
}

/// Moves batch after batch until something is wrong.
async fn batches(
    source: &LocalSource,
    core: &CoreHandle,
    uncounted: &mut Uncounted,
) -> Result<Pause, Stopped> {
    let mut stuck = Stuck::default();
    loop {
        uncounted.settle(core, &source.state);
        if core.room() == Room::Short {
            core.send(Lane::Complete, Command::Unlock { holder: HOLDER, ids: stuck.ids }).await?;
            return Ok(Pause::NoRoom);
        }
        if stuck.again.is_some_and(|again| again <= clock::now().instant) {
            let Stuck { ids, .. } = std::mem::take(&mut stuck);
            core.send(Lane::Complete, Command::Unlock { holder: HOLDER, ids }).await?;
        }
        if stuck.ids.len() >= STUCK_MESSAGES_MAX {
            let reason = stuck.reason().unwrap_or_default();
            core.send(Lane::Complete, Command::Unlock { holder: HOLDER, ids: stuck.ids }).await?;
            return Ok(Pause::Retry(reason));
        }
        let locked = core
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
                core.send(Lane::Complete, Command::Unlock { holder: HOLDER, ids: stuck.ids }).await?;
                return Ok(Pause::Retry(format!(
                    "the transmission queue {} cannot be read: {reason}: {}",
                    source.queue,
                    reason.meaning().unwrap_or("see the reason code")
                )));
            }
        };
        source.state.set("RUNNING", stuck.reason());
        if batch.is_empty() {
            tokio::select! {
                () = source.arrived.notified() => {}
                () = clock::until(stuck.again) => {}
                // One that will not be on disk ends the generation.
                Ok(()) = core.durable(uncounted.last()), if uncounted.last().is_some() => {}
            }
            continue;
        }
        // Whatever happens from here on, what was locked is given back, handed over, or stuck.
        let ids: HashSet<Id> = batch.iter().map(|locked| locked.body.id()).collect();
        let Addressed { deliveries, unreadable, pause } = addressed(source, core, batch).await;
        let known = deliveries.iter().map(|delivery| delivery.id).chain(unreadable.iter().map(|(id, _)| *id));
        let rest: Vec<Id> = ids.difference(&known.collect()).copied().collect();
        if !rest.is_empty() {
            core.send(Lane::Complete, Command::Unlock { holder: HOLDER, ids: rest }).await?;
        }
        for (id, why) in unreadable {
            stuck.add(vec![(id, None)], Some(why));
        }
        let held = stuck.devices.clone();
        let handed_over = core
            .ask(Lane::Complete, |answer| Command::HandOver { holder: HOLDER, deliveries, held, answer })
            .await?;
        let HandedOver { moved, dead_lettered, stuck: more, why, needs } = handed_over;
        if moved + dead_lettered > 0 {
            uncounted.batches.push_back((needs, moved, dead_lettered));
        }
        if !more.is_empty() {
            stuck.add(
                more,
                why.map(|reason| format!("{reason}: {}", reason.meaning().unwrap_or("see the reason code"))),
            );
        }
        if let Some(pause) = pause {
            core.send(Lane::Complete, Command::Unlock { holder: HOLDER, ids: stuck.ids }).await?;
            return Ok(pause);
        }
    }
}

/// Where the messages of a batch go, as far as that can be said.
#[derive(Default)]
struct Addressed {
    deliveries: Vec<HandOver>,
    /// What cannot be read, and why.
    unreadable: Vec<(Id, String)>,
    /// Why the rest of the batch stays.
    pause: Option<Pause>,
}

/// Reads a batch, runs the exits on it, and says where each message goes.
async fn addressed(source: &LocalSource, core: &CoreHandle, batch: Vec<LockedBody>) -> Addressed {
    let mut addressed = Addressed::default();
    let origin = Origin::new(&source.queue.to_string(), Direction::FromMq);
    let mut messages = Vec::with_capacity(batch.len());
    // One share for all, until the exits are through.
    let share = source.bodies.share(batch.iter().map(|locked| locked.length).sum()).await;
    for locked in batch {
        let (id, expiry_ms) = (locked.body.id(), locked.expiry_ms);
        match message(origin.clone(), locked).await {
            Ok((message, file)) => messages.push((id, expiry_ms, message, file)),
            Err(why) => {
                let what = format!("message {id} on {}: {why}", source.queue);
                // A core that has ended tells nobody any more.
                let _ = core.send(Lane::Control, Command::Damaged { id, what }).await;
                addressed.unreadable.push((id, why));
            }
        }
    }
    let verdicts =
        source.chain.run(messages.iter().map(|(_, _, message, _)| message.clone()).collect()).await;
    drop(share);
    for ((id, expiry_ms, original, file), verdict) in messages.into_iter().zip(verdicts) {
        let mut delivery = match verdict {
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
        if let Delivery::Device { message, .. } = &mut delivery {
            let same = file.as_ref().filter(|file| has_same_end(&message.payload, original.bytes(), file));
            message.file = match same {
                Some(file) => Some(file.clone()),
                None => match write_long(core, &message.payload).await {
                    Ok(file) => file,
                    Err(error) => {
                        addressed.pause = Some(Pause::Retry(format!("a long message: {error}")));
                        break;
                    }
                },
            };
        }
        addressed.deliveries.push(HandOver { id, original, file, delivery });
    }
    addressed
}

/// A locked message as the exits see it, and the file that holds the end of it, if one does.
async fn message(origin: Origin, locked: LockedBody) -> Result<(ExitMessage, Option<BodyFile>), String> {
    let record = crate::core::read(locked.body).await.map_err(|error| error.to_string())?;
    let descriptor = Mqmd::decode(&mut Reader::new(&record.envelope, Coding::NATIVE))
        .map_err(|error| format!("its descriptor: {error}"))?;
    Ok((ExitMessage::new(origin, descriptor, record.body), record.file))
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
