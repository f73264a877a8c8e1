//! The transmission queue of another queue manager, reached over its client protocol: ONCE.md 4 to the letter.
//!
//! ```text
//!  connect ──> exclusive open ──> recovery: sync message against journal ──> ready
//!
//!  unit of work:  MQGET ... MQGET │ dead letters, reports │ sync message replaced │ MQCMIT
//!  journal:                       │ batch n, invisible, durable ──────────────────┘    │ visible, n is the last
//! ```
//!
//! MQCMIT waits for both. Whatever breaks before it is backed out there and dropped here; whether it was done itself is
//! looked up after the next connect (`recovery`). Nothing is ever committed by accident: what is left open is backed out
//! before MQDISC, or goes with the socket.

mod recovery;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use mq_client::ClientError;
use mq_wire::{GetOptions, MatchOptions, Mqgmo, Mqmd, MsgId, OpenOptions, QMgrName, Reason};
use mqe_exits::{Direction, ExitMessage, Origin};
use qmgr::{ReportKind, ReportMessage, report_message};

use super::control::{SourceControl, State};
use super::listener::{BatchLimits, Pause, Taken, TransmissionQueue};
use crate::clock;
use crate::core::{
    Command, CoreHandle, Delivery, EXPIRED, HandOver, HandedOver, Lane, OutboxCommand, Refused, RefusedBy,
    RemoteBatch, TakenKey,
};
use crate::remote::{Backoff, Failed, Letters, Link, RemoteSettings, SyncQueue, qmgr_now};

/// Messages that are taken before the exits see the first of them.
const PIECE_MESSAGES_MAX: usize = 16;

/// The transmission queue of another queue manager.
#[derive(Debug)]
pub(crate) struct RemoteQueue {
    settings: Arc<RemoteSettings>,
    /// Identity of the store.
    store: [u8; 16],
    control: Arc<SourceControl>,
    origin: Origin,
    backoff: Backoff,
    core: Option<Arc<CoreHandle>>,
    open: Option<Open>,
    keys: u64,
}

/// What there is while it is connected.
#[derive(Debug)]
struct Open {
    link: Link,
    queue: i32,
    sync: Option<SyncQueue>,
    letters: Letters,
    /// Messages of the open unit of work.
    taken: Vec<(TakenKey, MsgId)>,
    /// Of these, what was done in the unit of work already.
    done: HashSet<TakenKey>,
}

impl RemoteQueue {
    pub(crate) fn new(settings: Arc<RemoteSettings>, store: [u8; 16], control: Arc<SourceControl>) -> Self {
        let origin = Origin::new(&settings.name, Direction::FromMq);
        let backoff = Backoff::new(&settings.name, &store);
        Self { settings, store, control, origin, backoff, core: None, open: None, keys: 0 }
    }

    /// The connection is no good any more.
    fn lost(&mut self, failed: Failed) -> Pause {
        self.open = None;
        Pause::Retry { why: failed.why().to_owned(), after: self.backoff.next() }
    }

    fn core(&self) -> Result<&Arc<CoreHandle>, Pause> {
        self.core.as_ref().ok_or(Pause::Recovery)
    }

    /// One MQGET. None: there is nothing now.
    async fn get(&mut self, wait: Option<Duration>) -> Result<Option<Taken>, Pause> {
        let Some(open) = &mut self.open else {
            return Err(Pause::Retry { why: LOST.to_owned(), after: Duration::ZERO });
        };
        let waiting = if wait.is_some() { GetOptions::WAIT } else { GetOptions::empty() };
        let gmo = Mqgmo {
            version: 2,
            options: GetOptions::SYNCPOINT | GetOptions::FAIL_IF_QUIESCING | waiting,
            wait_interval: wait.map_or(0, |wait| i32::try_from(wait.as_millis()).unwrap_or(i32::MAX)),
            match_options: MatchOptions::empty(),
            ..Mqgmo::default()
        };
        let md = Mqmd { version: 2, ..Mqmd::default() };
        let got = match open.link.connection.get_whole(open.queue, md, gmo).await {
            Ok(got) => got,
            // What is before it goes alone: the next unit of work begins with it.
            Err(error) if is_too_long(&error) && !open.taken.is_empty() => return Ok(None),
            Err(error) if is_too_long(&error) => {
                // Nothing but a message that was cut off could be had of it. A new connection has the channel's new length.
                let (queue, address) = (self.settings.queue, &open.link.address);
                let why = format!(
                    "the next message on {queue} cannot be got, and what is behind it waits: {error} ({address}), or take \
                     the message off the queue"
                );
                return Err(self.lost(Failed::Gone(why)));
            }
            Err(error) => return Err(self.lost(error.into())),
        };
        let Some(got) = got else {
            // All is well, as after a commit. That it could connect says less: calls may be refused again and again.
            self.backoff.reset();
            return Ok(None);
        };
        let key = TakenKey(self.keys);
        self.keys += 1;
        open.taken.push((key, got.md.msg_id));
        // What is left when it is got, which the queue manager has counted down (mqe.md 4.1).
        let expiry_ms = u64::try_from(got.md.expiry)
            .ok()
            .map_or(0, |tenths| clock::now().wall_ms.saturating_add(tenths.saturating_mul(100)));
        let message = ExitMessage::new(self.origin.clone(), got.md, got.data);
        Ok(Some(Taken { key, message, file: None, expiry_ms }))
    }
}

/// Whether a message is longer than the connection allows (2010, 2218; mq-client asks for no more than that itself).
fn is_too_long(error: &ClientError) -> bool {
    let too_long = [Reason::MSG_TOO_BIG_FOR_CHANNEL, Reason::DATA_LENGTH_ERROR];
    !error.is_broken() && too_long.contains(&error.reason())
}

const LOST: &str = "the connection is gone";

impl TransmissionQueue for RemoteQueue {
    async fn open(&mut self, core: &Arc<CoreHandle>) -> Result<(), Pause> {
        let same = self.core.as_ref().is_some_and(|own| Arc::ptr_eq(own, core));
        if same && self.open.as_ref().is_some_and(|open| open.link.connection.is_usable()) {
            return Ok(());
        }
        // Another generation knows nothing of an open unit of work: it is backed out with its socket.
        self.open = None;
        self.core = Some(Arc::clone(core));
        self.control.set(State::Starting, None, None);
        let mut link = match Link::connect(&self.settings).await {
            Ok(link) => link,
            Err(why) => return Err(Pause::Retry { why, after: self.backoff.next() }),
        };
        self.control.edit(|report| {
            report.queue_manager = link.q_mgr.to_string();
            report.address.clone_from(&link.address);
        });
        let command = OutboxCommand::Connected { source: self.settings.name.clone(), q_mgr: link.q_mgr };
        core.send(Lane::Control, Command::Outbox { command }).await?;
        let options = OpenOptions::INPUT_EXCLUSIVE | OpenOptions::BROWSE;
        let queue = match link.open(self.settings.queue, options).await {
            Ok(queue) => queue,
            // An old connection, which the queue manager has not given up yet, or another gateway.
            Err(Failed::Refused(Reason::OBJECT_IN_USE, why)) => {
                let why = format!(
                    "the transmission queue is in use, by another gateway or an older connection: {why}"
                );
                return Err(Pause::Retry { why, after: self.backoff.next() });
            }
            Err(failed) => return Err(self.lost(failed)),
        };
        let sync = self.recover(core, &mut link, queue).await?;
        let letters = Letters::new(self.settings.dead_letter_queue.or(link.dead_letter_queue));
        let (taken, done) = <(Vec<_>, HashSet<_>)>::default();
        self.open = Some(Open { link, queue, sync, letters, taken, done });
        Ok(())
    }

    async fn take(&mut self, first: bool, limits: BatchLimits) -> Result<Vec<Taken>, Pause> {
        let mut piece = Vec::new();
        let mut bytes = 0;
        while piece.len() < PIECE_MESSAGES_MAX.min(limits.messages_max) && bytes < limits.bytes_max {
            let waits = (first && piece.is_empty()).then_some(self.settings.wait);
            match self.get(waits).await? {
                Some(taken) => {
                    bytes += taken.message.bytes().len();
                    piece.push(taken);
                }
                None if waits.is_some() => {}
                None => break,
            }
        }
        Ok(piece)
    }

    async fn hand_over(&mut self, deliveries: Vec<HandOver>) -> Result<HandedOver, Pause> {
        // What the queue manager has to do comes first: it may refuse it.
        match self.letters(&deliveries).await {
            Ok(refused) if refused.is_empty() => {}
            Ok(refused) => return Ok(HandedOver { refused, left: deliveries, ..HandedOver::default() }),
            Err(failed) => return Err(self.lost(failed)),
        }
        let Some(open) = &self.open else {
            return Err(Pause::Retry { why: LOST.to_owned(), after: Duration::ZERO });
        };
        let core = Arc::clone(self.core()?);
        let source = self.settings.name.clone();
        let msg_ids = open.taken.iter().map(|(_, id)| *id).collect();
        let arrivals = deliveries.iter().filter_map(arrival).collect::<Vec<_>>();
        let batch = Box::new(RemoteBatch { source, deliveries, msg_ids });
        let prepared = core.ask(Lane::Complete, |answer| Command::RemotePrepare { batch, answer }).await?;
        if !prepared.handed_over.refused.is_empty() {
            return Ok(prepared.handed_over);
        }
        // The batch is written while the sync message is replaced; MQCMIT waits for both.
        let number = prepared.number;
        let (durable, replaced) =
            tokio::join!(core.durable(Some(prepared.handed_over.needs)), self.finish_unit(number, arrivals));
        if durable.is_err() {
            return Err(Pause::Recovery);
        }
        match replaced {
            Ok(true) => {}
            // Somebody has taken the sync message away: nothing is known any more but what recovery finds.
            Ok(false) => {
                let why = "the sync message is gone, its queue was cleared?".to_owned();
                return Err(self.lost(Failed::Gone(why)));
            }
            Err(failed) => return Err(self.lost(failed)),
        }
        let Some(open) = &mut self.open else {
            return Err(Pause::Retry { why: LOST.to_owned(), after: Duration::ZERO });
        };
        match open.link.connection.commit().await.map_err(Failed::from) {
            Ok(()) => {
                open.sync.iter_mut().for_each(SyncQueue::committed);
                open.taken.clear();
                open.done.clear();
                self.backoff.reset();
                self.decide(&core, number, true).await?;
                self.control.edit(|report| report.batch = number);
                Ok(prepared.handed_over)
            }
            // Backed out instead, and said so: the messages come again.
            Err(Failed::Refused(Reason::BACKED_OUT, why)) => {
                open.sync.iter_mut().for_each(SyncQueue::backed_out);
                open.taken.clear();
                open.done.clear();
                self.decide(&core, number, false).await?;
                let why = format!("the unit of work was not committed: {why}");
                Err(Pause::Retry { why, after: self.backoff.next() })
            }
            // Any other reason does not prove that it was backed out: recovery looks at the sync message.
            Err(failed) => Err(self.lost(failed)),
        }
    }

    fn q_mgr(&self) -> QMgrName {
        let connected = self.open.as_ref().map(|open| open.link.q_mgr);
        connected.or(self.settings.q_mgr).unwrap_or_default()
    }

    fn is_all_or_nothing(&self) -> bool {
        true
    }

    async fn give_back(&mut self) {
        let Some(open) = &mut self.open else { return };
        if !open.link.connection.is_usable() {
            // A call was given up. With its socket the unit of work is backed out too, and a get that waits gets nothing more.
            self.open = None;
            return;
        }
        if open.taken.is_empty() {
            return;
        }
        open.taken.clear();
        open.done.clear();
        open.sync.iter_mut().for_each(SyncQueue::backed_out);
        if open.link.connection.back().await.is_err() {
            self.open = None;
        }
    }

    async fn close(&mut self) {
        // MQDISC would commit.
        self.give_back().await;
        if let Some(Open { link, .. }) = self.open.take()
            && link.connection.is_usable()
            && let Err(error) = link.connection.disconnect().await
        {
            tracing::debug!(source = self.settings.name, %error, "the connection did not end in order");
        }
    }
}

impl RemoteQueue {
    /// The last calls before MQCMIT: reports on arrival, and the sync message. False: that was not there.
    async fn finish_unit(&mut self, number: u64, arrivals: Vec<ReportMessage>) -> Result<bool, Failed> {
        let Some(open) = &mut self.open else { return Err(Failed::Gone(LOST.to_owned())) };
        for report in arrivals {
            open.letters.report(&mut open.link, report).await?;
        }
        match &mut open.sync {
            Some(sync) => sync.replace(&mut open.link, number, &[]).await,
            None => Ok(true),
        }
    }

    async fn decide(&self, core: &CoreHandle, number: u64, committed: bool) -> Result<(), Pause> {
        let source = self.settings.name.clone();
        let decide = |answer| Command::RemoteDecide { source, number, committed, answer };
        core.ask(Lane::Complete, decide).await?;
        Ok(())
    }

    /// Dead letters and reports of exceptions, in the unit of work. What the queue manager does not take is refused.
    async fn letters(&mut self, deliveries: &[HandOver]) -> Result<Vec<Refused>, Failed> {
        let Some(open) = &mut self.open else { return Err(Failed::Gone(LOST.to_owned())) };
        let mut refused = Vec::new();
        for handed in deliveries {
            let (reason, discard) = match &handed.delivery {
                Delivery::DeadLetter(reason) => (*reason, false),
                Delivery::Discard(reason) => (*reason, true),
                _ => continue,
            };
            if open.done.contains(&handed.key) {
                continue;
            }
            let dead = super::dead_letter(&handed.original, None, reason);
            match open.letters.put(&mut open.link, &dead, discard).await? {
                None => {
                    open.done.insert(handed.key);
                }
                Some((reason, why)) => {
                    let by = RefusedBy::DeadLetterQueue;
                    refused.push(Refused { key: handed.key, reason, why, temporary: false, by });
                }
            }
        }
        Ok(refused)
    }
}

/// The report that the sender of a message wants when the gateway answers for it, or when it has expired on its way.
fn arrival(handed: &HandOver) -> Option<ReportMessage> {
    let (Delivery::Device { message, .. } | Delivery::Park { message, .. } | Delivery::Queue { message }) =
        &handed.delivery
    else {
        return None;
    };
    let left = message.to_mq(clock::now().wall_ms).map(|md| md.expiry);
    // Without what is left it has expired on its way.
    let kind = if left.is_some() { ReportKind::Arrival } else { ReportKind::Expiration };
    if !kind.is_wanted(&message.descriptor) {
        return None;
    }
    let (md, data) = message.joined(message.descriptor.clone());
    report_message(qmgr_now(), message.origin_qmgr, kind, &md, &data, left.unwrap_or(EXPIRED))
}
