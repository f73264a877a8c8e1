//! The listener on a transmission queue, whatever queue manager has it: takes a batch, runs the exits on it, addresses it,
//! hands it over to the devices, and decides what becomes of the rest.
//!
//! ```text
//!  STARTING ──open──> RUNNING: take ──> exits ──> address ──> hand over ──> take
//!      ^                  │  (a piece is taken while     │ refused
//!      │                  │   exits see the one before)  v
//!      │                  │                       undelivered rule: park, dead letter, discard, later, stop
//!      └── RETRYING <─────┴── something that may pass    │ by rule, exit or operator
//!                                                        v
//!                                                     STOPPED
//! ```
//!
//! Nothing is decided here for good: until a batch is handed over its messages are on the transmission queue.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use mq_wire::QMgrName;
use mqe_exits::ExitMessage;
use store::{BodyFile, Position, Room};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::control::{SourceControl, State, Wanted, rest};
use super::exits::{Addressed, Exits};
use super::undelivered::{Decision, Undelivered};
use crate::clock;
use crate::core::{CoreHandle, HandOver, HandedOver, Stopped, TakenKey};

/// How much a batch may hold.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BatchLimits {
    pub(crate) messages_max: usize,
    pub(crate) bytes_max: usize,
}

/// Why a source does not go on at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Pause {
    /// The core's generation has ended: all begins anew with the next one.
    Recovery,
    /// The service ends.
    End,
    /// An operator wants something else.
    Wanted,
    /// There is no room for new messages.
    NoRoom,
    /// Something is wrong that may pass.
    Retry { why: String, after: Duration },
    /// An operator must look.
    Stop(String),
}

impl From<Stopped> for Pause {
    /// The lanes are closed: the generation has ended, or the service has.
    fn from(_: Stopped) -> Self {
        Self::Recovery
    }
}

/// A message that a source has taken from its transmission queue.
#[derive(Debug)]
pub(crate) struct Taken {
    pub(crate) key: TakenKey,
    /// Its descriptor, and bytes that begin with the MQXQH.
    pub(crate) message: ExitMessage,
    /// The file of the store that holds the end of the bytes, if one does.
    pub(crate) file: Option<BodyFile>,
    /// Wall clock milliseconds at which it expires; 0 is never.
    pub(crate) expiry_ms: u64,
}

/// A transmission queue that the listener drains.
pub(crate) trait TransmissionQueue: Send {
    /// Makes it ready: connects, and decides about the last batch. Called before anything is taken, and again after each
    /// [`Pause`]; what is ready needs nothing.
    fn open(&mut self, core: &Arc<CoreHandle>) -> impl Future<Output = Result<(), Pause>> + Send;

    /// The next piece of the batch. The first one is waited for: if that is dropped, nothing is lost. Later ones are what
    /// can be had at once; an empty one says that the batch is complete.
    fn take(
        &mut self,
        first: bool,
        limits: BatchLimits,
    ) -> impl Future<Output = Result<Vec<Taken>, Pause>> + Send;

    /// Moves what was taken to where it goes, in one unit. If something is refused this is called again with what is left
    /// (local) or with all of the batch (remote: nothing is done before nothing is refused), other deliveries in place of
    /// those that were refused.
    fn hand_over(
        &mut self,
        deliveries: Vec<HandOver>,
    ) -> impl Future<Output = Result<HandedOver, Pause>> + Send;

    /// The name of the queue manager.
    fn q_mgr(&self) -> QMgrName;

    /// Whether a batch is moved as a whole or not at all.
    fn is_all_or_nothing(&self) -> bool;

    /// Gives back what was taken and not handed over. It comes again, in its order.
    fn give_back(&mut self) -> impl Future<Output = ()> + Send;

    /// The end: whatever is open is backed out, never committed.
    fn close(&mut self) -> impl Future<Output = ()> + Send;
}

/// A listener: what it drains, and what all of them have in common.
pub(crate) struct Listener<Q> {
    pub(crate) core: CoreHandle,
    pub(crate) queue: Q,
    pub(crate) control: Arc<SourceControl>,
    pub(crate) exits: Exits,
    pub(crate) undelivered: Undelivered,
    pub(crate) limits: BatchLimits,
    pub(crate) stop: CancellationToken,
}

/// What status says while there is no room.
const NO_ROOM: &str =
    "the disk is full: what is for devices waits on the transmission queue until there is room";

impl<Q: TransmissionQueue> Listener<Q> {
    /// Runs until the service stops.
    pub(crate) async fn run(mut self) {
        let mut wanted = self.control.watch();
        let mut uncounted = Uncounted::default();
        loop {
            let now_wanted = *wanted.borrow_and_update();
            let pause = match now_wanted {
                Wanted::Run => self.run_once(&mut wanted, &mut uncounted).await,
                Wanted::Pause => {
                    self.queue.give_back().await;
                    self.control.set_by_operator(State::Paused);
                    Pause::Stop(String::new())
                }
                Wanted::Stop => {
                    self.control.set(State::Stopping, None, None);
                    self.queue.close().await;
                    self.control.set_by_operator(State::Stopped);
                    Pause::Stop(String::new())
                }
            };
            let until = match pause {
                Pause::End => break,
                Pause::Recovery => {
                    // The locks and what was not on disk went with the generation.
                    uncounted = Uncounted::default();
                    continue;
                }
                Pause::Wanted | Pause::NoRoom => continue,
                Pause::Retry { why, after } => {
                    let at = clock::now().instant + after;
                    self.control.set(State::Retrying, Some(why), Some(at));
                    Some(at)
                }
                Pause::Stop(why) => {
                    if now_wanted == Wanted::Run {
                        self.queue.close().await;
                        self.control.set(State::Stopped, Some(why), None);
                    }
                    None
                }
            };
            if !rest(until, &mut wanted, &self.stop).await {
                break;
            }
        }
        self.queue.close().await;
    }

    /// Moves batches, in one generation of the core, until something is wrong or something else is wanted.
    async fn run_once(&mut self, wanted: &mut watch::Receiver<Wanted>, uncounted: &mut Uncounted) -> Pause {
        let core = tokio::select! {
            biased;
            () = self.stop.cancelled() => return Pause::End,
            newest = self.core.newest() => newest,
        };
        // Without a core there is no service.
        let Ok(core) = core else { return Pause::End };
        let core = Arc::new(core);
        let stop = self.stop.clone();
        let pause = tokio::select! {
            biased;
            () = stop.cancelled() => return Pause::End,
            () = core.ended() => Pause::Recovery,
            pause = self.batches(&core, wanted, uncounted) => pause,
        };
        uncounted.settle(&core, &self.control);
        match &pause {
            Pause::NoRoom => {
                self.queue.give_back().await;
                self.control.set(State::Retrying, Some(NO_ROOM.to_owned()), None);
                tokio::select! {
                    () = self.stop.cancelled() => return Pause::End,
                    _ = wanted.changed() => {}
                    // Whatever ends the wait is looked at where the next batch begins.
                    _ = core.enough_room() => {}
                }
            }
            Pause::Recovery => {}
            _ => self.queue.give_back().await,
        }
        pause
    }

    async fn batches(
        &mut self,
        core: &Arc<CoreHandle>,
        wanted: &mut watch::Receiver<Wanted>,
        uncounted: &mut Uncounted,
    ) -> Pause {
        // The next batch is to have no more messages: the one behind them is to be tried later.
        let mut next_max = None;
        loop {
            uncounted.settle(core, &self.control);
            if core.room() == Room::Short {
                return Pause::NoRoom;
            }
            if wanted.has_changed().unwrap_or(true) {
                return Pause::Wanted;
            }
            if let Err(pause) = self.queue.open(core).await {
                return pause;
            }
            if !self.undelivered.is_waiting() {
                self.control.set(State::Running, None, None);
            }
            let mut limits = self.limits;
            limits.messages_max = next_max.take().unwrap_or(limits.messages_max);
            let first =
                match first_piece(&mut self.queue, limits, core, &self.control, wanted, uncounted).await {
                    Ok(first) => first,
                    Err(pause) => return pause,
                };
            let (batch, mut pause) = match self.addressed(core, first, limits).await {
                Ok(addressed) => addressed,
                Err(pause) => return pause,
            };
            if pause.is_some() && self.queue.is_all_or_nothing() && !batch.is_empty() {
                // What is before the one that stopped it goes alone first.
                self.queue.give_back().await;
                next_max = Some(batch.len());
                continue;
            }
            if !batch.is_empty() {
                match self.move_batch(batch, uncounted).await {
                    Ok(Moved::All) => {}
                    Ok(Moved::After { first, later }) => {
                        if first > 0 {
                            self.queue.give_back().await;
                            next_max = Some(first);
                            continue;
                        }
                        pause = Some(later);
                    }
                    Err(pause) => return pause,
                }
            }
            if let Some(pause) = pause {
                return pause;
            }
        }
    }

    /// Takes the rest of a batch, a piece while the exits see the one before. Gives what can be handed over, and why the
    /// rest of the batch stays.
    async fn addressed(
        &mut self,
        core: &CoreHandle,
        first: Vec<Taken>,
        limits: BatchLimits,
    ) -> Result<(Vec<HandOver>, Option<Pause>), Pause> {
        let (mut piece, mut left, mut batch) = (first, limits, Vec::new());
        while !piece.is_empty() {
            left.messages_max = left.messages_max.saturating_sub(piece.len());
            let bytes: usize = piece.iter().map(|taken| taken.message.bytes().len()).sum();
            left.bytes_max = left.bytes_max.saturating_sub(bytes);
            let q_mgr = self.queue.q_mgr();
            let (queue, exits) = (&mut self.queue, &self.exits);
            let next = async {
                if left.messages_max == 0 || left.bytes_max == 0 {
                    return Ok(Vec::new());
                }
                queue.take(false, left).await
            };
            let (Addressed { deliveries, pause }, next) = tokio::join!(exits.run(core, q_mgr, piece), next);
            batch.extend(deliveries);
            if pause.is_some() {
                return Ok((batch, pause));
            }
            piece = next?;
        }
        Ok((batch, None))
    }

    /// Hands a batch over; what is refused goes where the rule says.
    async fn move_batch(
        &mut self,
        mut batch: Vec<HandOver>,
        uncounted: &mut Uncounted,
    ) -> Result<Moved, Pause> {
        let mut later = None;
        self.undelivered.begin();
        loop {
            let handed_over = self.queue.hand_over(batch).await?;
            let HandedOver { refused, left, .. } = &handed_over;
            if refused.is_empty() {
                uncounted.add(handed_over);
                self.undelivered.moved_on();
                return Ok(later.map_or(Moved::All, |later| Moved::After { first: 0, later }));
            }
            let decided = self.undelivered.decide(self.queue.q_mgr(), left, refused).await;
            let HandedOver { left, .. } = uncounted.add(handed_over);
            match decided {
                Decision::Again(deliveries) => {
                    batch = left;
                    for (handed, delivery) in batch.iter_mut().zip(deliveries) {
                        if let Some(delivery) = delivery {
                            handed.delivery = delivery;
                        }
                    }
                }
                Decision::Later { at, pause } if self.queue.is_all_or_nothing() || at == 0 => {
                    return Ok(Moved::After { first: at, later: pause });
                }
                Decision::Later { at, pause } => {
                    // Those before it are for nobody who waits.
                    batch = left;
                    batch.truncate(at);
                    later.get_or_insert(pause);
                }
            }
        }
    }
}

/// What became of a batch.
enum Moved {
    All,
    /// So many messages may go alone first; then this.
    After {
        first: usize,
        later: Pause,
    },
}

/// Waits for the first piece of a batch. Meanwhile what becomes durable is counted.
async fn first_piece<Q: TransmissionQueue>(
    queue: &mut Q,
    limits: BatchLimits,
    core: &CoreHandle,
    control: &SourceControl,
    wanted: &mut watch::Receiver<Wanted>,
    uncounted: &mut Uncounted,
) -> Result<Vec<Taken>, Pause> {
    let mut take = std::pin::pin!(queue.take(true, limits));
    loop {
        tokio::select! {
            biased;
            _ = wanted.changed() => {
                wanted.mark_changed();
                return Err(Pause::Wanted);
            }
            piece = &mut take => return piece,
            // One that will not be on disk ends the generation.
            Ok(()) = core.durable(uncounted.last()), if uncounted.last().is_some() => {
                uncounted.settle(core, control);
            }
        }
    }
}

/// What was moved and status does not count yet: what is not on disk when the journal fails comes again.
#[derive(Default)]
struct Uncounted {
    batches: VecDeque<HandedOver>,
}

impl Uncounted {
    /// Remembers the counts; gives back the rest.
    fn add(&mut self, mut handed_over: HandedOver) -> HandedOver {
        let left = std::mem::take(&mut handed_over.left);
        let refused = std::mem::take(&mut handed_over.refused);
        let HandedOver { moved, parked, dead_lettered, discarded, needs, .. } = handed_over;
        if moved + parked + dead_lettered + discarded > 0 {
            let counts =
                HandedOver { moved, parked, dead_lettered, discarded, needs, ..HandedOver::default() };
            self.batches.push_back(counts);
        }
        HandedOver { left, refused, ..handed_over }
    }

    /// Counts what is on disk.
    fn settle(&mut self, core: &CoreHandle, control: &SourceControl) {
        while let Some(done) = self.batches.pop_front_if(|batch| core.is_durable(batch.needs)) {
            control.edit(|report| {
                report.moved += done.moved;
                report.parked += done.parked;
                report.dead_lettered += done.dead_lettered;
                report.discarded += done.discarded;
            });
        }
    }

    fn last(&self) -> Option<Position> {
        self.batches.back().map(|batch| batch.needs)
    }
}
