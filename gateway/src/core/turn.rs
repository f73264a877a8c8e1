//! The core's turn: takes what waits, applies it, hands the batch over, lets the effects go.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use mq_wire::{QMgrName, Reason, UserId};
use mqe::area::{Area, AreaEffect, PutCheck};
use mqe::outbox::Outbox;
use qmgr::{CallId, ConnId, Effect, QueueManager};
use store::{Batch, Id, Place, Position, Store, StoreError};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::bodies::Bodies;
use super::cold::{Cold, ColdCounts};
use super::command::{ChannelTerms, Command, LockedBody, MqscResult, ToDevice, ToMq};
use super::durable::{Announcer, Durable};
use super::effects::is_unawaited;
use super::handle::{CoreHandle, Generation};
use super::lanes::{self, LaneSender, Lanes};
use super::newest;
use super::outbox::{NextBatch, OutboxBell, Targets};
use super::read_first::Reads;
use super::recovery::{Lasting, Machinery, Machines, Made, Recoveries};
use super::remote::Remotes;
use super::space::Space;
use super::tokens::Tokens;
use super::walk::{Walk, Walks};
use crate::clock::{self, Moment};

/// Bytes at which a batch is handed over although the one before it is still being written.
const BATCH_BYTES_FULL: usize = 1024 * 1024;

/// Commands after which a turn ends although more wait, so that answers leave.
const TURN_COMMANDS_MAX: usize = 1024;

/// Batches that may be with the committer: one is written while a full one waits.
const BATCHES_IN_FLIGHT_MAX: usize = 2;

/// Damaged messages that status remembers.
const DAMAGED_MAX: usize = 100;

/// How long a batch gathers in which nothing is waited for: puts in units of work, non-persistent messages. Each sync
/// costs about as much as twenty round trips, and who commits hands the batch over at once.
const GATHER: Duration = Duration::from_millis(3);

/// How often the store may take a checkpoint.
const MAINTAIN_EVERY: Duration = Duration::from_secs(1);

/// MQCHT_SVRCONN (mq-objects.md 3.7).
const SVRCONN: i32 = 7;

/// Queue manager, area and store, and whoever waits for their answers.
#[derive(Debug)]
pub(crate) struct Core {
    pub(super) store: Box<dyn Store>,
    pub(super) queue_manager: QueueManager,
    pub(super) area: Area,
    pub(super) tokens: Tokens,
    pub(super) remotes: Remotes,
    pub(super) outbox: Outbox,
    pub(super) targets: Targets,
    /// Taken by [`Core::run`].
    pub(super) lanes: Option<Lanes<Command>>,
    generation: Arc<Generation>,
    durable: Durable,
    pub(super) mq: HashMap<ConnId, mpsc::UnboundedSender<ToMq>>,
    /// Answers that leave when what they need is on disk. They wait here, so that a connection is woken once for each,
    /// and only for its own.
    pub(super) waiting: Vec<(ConnId, ToMq)>,
    /// What was on disk when they were last looked at.
    pub(super) let_go: Position,
    /// Reports that the queue manager had dropped when it was last asked.
    reports_dropped: u64,
    pub(super) devices: HashMap<mqe::ConnId, mpsc::UnboundedSender<ToDevice>>,
    maintained: Instant,
    stopped: bool,
    pub(super) space: Space,
    pub(super) walks: Walks,
    pub(super) cold: Cold,
    pub(super) reads: Reads,
    /// Why the dead-letter queue refused the last letter, for status; none if it took it.
    pub(super) letters_refused: Option<Reason>,
    pub(super) wiring: Wiring,
    pub(super) lasting: Lasting,
}

/// What connects the core with what is around it.
#[derive(Debug)]
pub(crate) struct Wiring {
    /// What the store calls out.
    pub(crate) announcer: Arc<Announcer>,
    /// Something has arrived on the gateway's transmission queue.
    pub(crate) arrived: Arc<Notify>,
    /// The budget for bodies that the core itself needs.
    pub(crate) bodies: Bodies,
    /// The names under which the gateway is addressed; the first is its own.
    pub(crate) names: Arc<[QMgrName]>,
    /// What the tasks of the outboxes share with the core, by the names of their sources.
    pub(crate) outboxes: BTreeMap<String, Arc<OutboxBell>>,
    /// Where puts of devices go that name no queue manager, or an unknown one; none is the embedded queue manager.
    pub(crate) device_puts: Option<String>,
    /// Whether the service has begun to serve, and does not stop yet: only then a failed journal is recovered.
    pub(crate) serving: Arc<AtomicBool>,
    /// Makes queue manager and area, again after a failure.
    pub(crate) machinery: Arc<dyn Machinery>,
}

/// Where the answer to a lock goes.
type LockAnswer = oneshot::Sender<Result<Vec<LockedBody>, Reason>>;

/// Where the next batch of an outbox goes: number, entries with their lanes and whether devices wait for them, and when more
/// is due.
pub(super) type OutboxAnswer =
    (oneshot::Sender<NextBatch>, u64, Vec<(Id, Place, u64, bool)>, Option<Instant>);

/// What one turn makes: the batch, and what is to be said when it is handed over.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) now: Moment,
    pub(super) batch: Batch,
    pub(super) mq: Vec<Effect>,
    /// Of these so many do not leave at once.
    looked_at: usize,
    pub(super) area: Vec<AreaEffect>,
    /// Bodies that are wanted: they can be had when the batch is with the store.
    locked: Vec<(LockAnswer, Vec<qmgr::Locked>)>,
    /// The same, of entries of outboxes.
    pub(super) outbox: Vec<OutboxAnswer>,
    /// Puts whose clients do not wait: what is answered next waits for the disk.
    unawaited: HashSet<(ConnId, CallId)>,
    /// When it began.
    begun: Instant,
    /// Something in it may be waited for, or counts on being written soon; else it may gather for a while.
    pub(super) hurry: bool,
    /// Messages were moved in it: they can be read when it is with the store.
    pub(super) moved: bool,
}

impl Turn {
    pub(super) fn qmgr_now(&self) -> qmgr::Now {
        qmgr::Now { wall_ms: self.now.wall_ms, instant: self.now.instant }
    }

    pub(super) fn mqe_now(&self) -> mqe::Now {
        mqe::Now { wall_ms: self.now.wall_ms, instant: self.now.instant }
    }
}

impl Core {
    /// The first generation.
    pub(super) fn new(made: Made, durable: Durable, wiring: Wiring) -> Self {
        Self::of_generation(made, durable, wiring, None)
    }

    /// A generation, with what the one before has left.
    pub(super) fn of_generation(
        made: Made,
        durable: Durable,
        wiring: Wiring,
        lasting: Option<Lasting>,
    ) -> Self {
        let Made {
            store,
            machines: Machines { queue_manager, area, outbox, .. },
            tokens,
            remotes,
            targets,
            ..
        } = made;
        let (sender, lanes) = lanes::lanes();
        let space = Space::new();
        let generation = Arc::new(Generation {
            lanes: sender,
            durable: durable.clone(),
            ended: CancellationToken::new(),
            body_files: store.body_files(),
            room: space.watch(),
        });
        let now = clock::now().instant;
        let lasting = lasting.unwrap_or_else(|| Lasting {
            generations: newest::channel(Arc::clone(&generation)).0,
            started: now,
            helpers: TaskTracker::new(),
            damaged: BTreeMap::new(),
            recoveries: Recoveries::default(),
            cold: ColdCounts::default(),
        });
        lasting.generations.change(|newest| *newest = Arc::clone(&generation));
        Self {
            store,
            queue_manager,
            area,
            tokens,
            remotes,
            outbox,
            targets: targets.only(&wiring.outboxes),
            lanes: Some(lanes),
            generation,
            durable,
            mq: HashMap::new(),
            waiting: Vec::new(),
            let_go: Position::default(),
            reports_dropped: 0,
            devices: HashMap::new(),
            maintained: now,
            stopped: false,
            space,
            walks: Walks::new(),
            cold: Cold::default(),
            reads: Reads::new(),
            letters_refused: None,
            wiring,
            lasting,
        }
    }

    /// The way into the core for the tasks around it.
    pub(crate) fn handle(&self) -> CoreHandle {
        CoreHandle::new(self.lasting.generations.receiver())
    }

    /// Applies commands until the last one, or until the journal fails: then it says why. All that waits in the lanes
    /// ends with this.
    pub(super) async fn run(&mut self) -> Option<Arc<StoreError>> {
        let mut lanes = self.lanes.take()?;
        let announcer = Arc::clone(&self.wiring.announcer);
        let mut said = std::pin::pin!(announcer.said());
        let mut alarm = clock::Alarm::new();
        let mut turn: Option<Turn> = None;
        while !self.stopped {
            // Where somebody waits, or the committer is at work, the end of the batch before is what is waited for.
            let gathers = |turn: &&Turn| turn.mq.is_empty() && self.store.in_flight() == 0;
            let gather = turn.as_ref().filter(gathers).map(|turn| turn.begun + GATHER);
            let timeout = [self.next_timeout(), gather].into_iter().flatten().min();
            // A full batch waits for the committer: what comes meanwhile waits in the lanes.
            let full = turn.as_ref().is_some_and(|turn| turn.batch.bytes() >= BATCH_BYTES_FULL);
            tokio::select! {
                biased;
                () = &mut said => said.set(announcer.said()),
                ready = lanes.ready(), if !full => if !ready { break },
                () = std::future::ready(()), if !self.walks.is_empty() => {}
                () = alarm.until(timeout) => {}
            }
            if let Some(error) = self.durable.failure() {
                // Before the lanes end, so that whoever finds them closed knows why.
                self.generation.ended.cancel();
                return Some(error);
            }
            let fresh = turn.is_none();
            let mut current = turn.take().unwrap_or_else(|| self.begin());
            current.now = clock::now();
            self.look_at_room();
            // First in a new batch, so that it has its share however much waits.
            let compacted = fresh && announcer.take_turn_wanted();
            if compacted {
                self.compact(&mut current);
            }
            let mut applied = 0;
            while applied < TURN_COMMANDS_MAX && current.batch.bytes() < BATCH_BYTES_FULL && !self.stopped {
                let taken = lanes.round(|command| self.apply(command, &mut current));
                if taken == 0 {
                    break;
                }
                applied += taken;
            }
            self.walk();
            let maintained = self.timeouts(&mut current);
            // Once a turn, so that commands are not held up.
            if !compacted
                && current.batch.bytes() < BATCH_BYTES_FULL
                && (maintained || announcer.take_turn_wanted())
            {
                self.compact(&mut current);
            }
            self.begin_cold_work();
            turn = self.hand_over_batch(current);
            // Behind the batch: while it is being written the answers are on their way.
            self.let_go();
        }
        if let Some(turn) = turn {
            self.submit(turn);
        }
        None
    }

    /// Closes the store in order. May block.
    pub(crate) fn close(self) -> anyhow::Result<()> {
        Ok(self.store.close()?)
    }

    pub(super) fn begin(&mut self) -> Turn {
        let now = clock::now();
        Turn {
            now,
            begun: now.instant,
            hurry: false,
            moved: false,
            batch: self.store.begin(),
            mq: Vec::new(),
            looked_at: 0,
            area: Vec::new(),
            locked: Vec::new(),
            outbox: Vec::new(),
            unawaited: HashSet::new(),
        }
    }

    /// Hands the batch over if the committer is free for it, and somebody waits for it or it has gathered for a while;
    /// else it goes on gathering.
    fn hand_over_batch(&mut self, mut turn: Turn) -> Option<Turn> {
        // What depends on nothing leaves at once: a non-persistent put or get never waits for a neighbour's sync.
        let Turn { mq, looked_at, batch, moved, .. } = &mut turn;
        if mq.len() > *looked_at {
            let new = mq.split_off(*looked_at);
            mq.extend(new.into_iter().filter(|effect| !self.leaves_at_once(effect, batch, *moved)));
            *looked_at = mq.len();
        }
        let in_flight = self.store.in_flight();
        let free = in_flight == 0
            || (turn.batch.bytes() >= BATCH_BYTES_FULL && in_flight < BATCHES_IN_FLIGHT_MAX)
            || turn.batch.is_empty();
        let wanted = turn.hurry
            || !(turn.mq.is_empty()
                && turn.area.is_empty()
                && turn.locked.is_empty()
                && turn.outbox.is_empty())
            || turn.batch.is_empty()
            || turn.now.instant >= turn.begun + GATHER;
        if (free && wanted) || self.stopped {
            self.submit(turn);
            return None;
        }
        if !turn.moved {
            self.begin_reads();
        }
        Some(turn)
    }

    pub(super) fn submit(&mut self, turn: Turn) {
        let Turn { batch, mq, area, locked, outbox, unawaited, .. } = turn;
        let position = batch.position();
        let dropped = self.queue_manager.reports_dropped();
        if dropped > self.reports_dropped {
            let reports = dropped - self.reports_dropped;
            tracing::warn!(
                reports,
                "neither their reply-to queue nor the dead-letter queue takes reports: they are dropped"
            );
            self.reports_dropped = dropped;
        }
        self.store.submit(batch);
        self.begin_rebuild();
        for effect in mq {
            self.mq_effect(effect, &unawaited);
        }
        for effect in area {
            self.area_effect(effect);
        }
        for (answer, locked) in locked {
            let bodies = locked.into_iter().map(|locked| LockedBody {
                body: self.store.body(locked.id, locked.place),
                length: locked.body_length as usize,
                expiry_ms: locked.expiry_ms,
            });
            // Whoever asked may be gone: the service stops, and the locks die with it.
            reply(answer, Ok(bodies.collect()));
        }
        self.give_batches(outbox, position);
        self.begin_reads();
    }

    fn next_timeout(&self) -> Option<Instant> {
        let maintain = Some(self.maintained + MAINTAIN_EVERY);
        [self.queue_manager.poll_timeout(), self.area.poll_timeout(), maintain].into_iter().flatten().min()
    }

    /// What is due by the clock; whether the store had its turn.
    fn timeouts(&mut self, turn: &mut Turn) -> bool {
        let now = turn.now.instant;
        let due = |timeout: Option<Instant>| timeout.is_some_and(|timeout| timeout <= now);
        if due(self.queue_manager.poll_timeout()) {
            self.queue_manager.handle_timeout(turn.qmgr_now(), &mut turn.batch, &mut turn.mq);
        }
        if due(self.area.poll_timeout()) {
            self.area.handle_timeout(turn.mqe_now(), &mut turn.batch, &mut turn.area);
        }
        let maintain = now >= self.maintained + MAINTAIN_EVERY;
        if maintain {
            self.maintained = now;
            let since = now.duration_since(self.lasting.started);
            self.store.maintain(u64::try_from(since.as_millis()).unwrap_or(u64::MAX));
        }
        maintain
    }

    pub(super) fn apply(&mut self, command: Command, turn: &mut Turn) {
        turn.hurry |= !matches!(command, Command::Mq { .. });
        match command {
            Command::MqOpened { conn, out } => {
                self.mq.insert(conn, out);
            }
            Command::Mq { conn, call, verb } => {
                if is_unawaited(&verb) {
                    turn.unawaited.insert((conn, call));
                }
                let now = turn.qmgr_now();
                self.queue_manager.apply(now, conn, call, verb, &mut turn.batch, &mut turn.mq);
            }
            Command::MqMismatched { conn, call, found } => {
                let now = turn.qmgr_now();
                self.queue_manager.mismatched(now, conn, call, *found, &mut turn.batch, &mut turn.mq);
            }
            Command::MqUnreadable { conn, ids } => {
                let now = turn.qmgr_now();
                self.queue_manager.unreadable(now, conn, ids, &mut turn.batch, &mut turn.mq);
            }
            // The share of the budget ends here; of a report with data the batch has the bytes, and its own bound.
            Command::RecordRead { conn, call, read } => {
                let now = turn.qmgr_now();
                self.reads.get_done();
                self.queue_manager.record_read(now, conn, call, read.record, &mut turn.batch, &mut turn.mq);
                drop(read.share);
            }
            Command::ExpiredRead { id, read } => {
                let now = turn.qmgr_now();
                self.reads.expired_done();
                self.queue_manager.expired_read(now, id, read.record, &mut turn.batch, &mut turn.mq);
                drop(read.share);
            }
            Command::MqClosed { conn } => {
                self.mq.remove(&conn);
                self.queue_manager.closed(turn.qmgr_now(), conn, &mut turn.batch, &mut turn.mq);
            }
            Command::Channel { channel, answer } => {
                let view = self.queue_manager.channel(&channel).filter(|view| view.chltype == SVRCONN);
                reply(
                    answer,
                    view.map(|view| ChannelTerms {
                        max_msg_length: u32::try_from(view.maxmsgl)
                            .ok()
                            .filter(|length| *length > 0)
                            .unwrap_or(MAX_MSG_LENGTH),
                        heartbeat_s: u32::try_from(view.hbint).unwrap_or_default(),
                        conversations: u32::try_from(view.sharecnv).unwrap_or_default(),
                        instances_max: u32::try_from(view.maxinst).unwrap_or_default(),
                        instances_of_client_max: u32::try_from(view.maxinstc).unwrap_or_default(),
                        idle_s: u32::try_from(view.discint).unwrap_or_default(),
                        ccsid: self.queue_manager.ccsid(),
                        mca_user: Some(view.mcauser)
                            .filter(|user| !user.is_empty())
                            .map(|user| UserId::cut(&user)),
                    }),
                );
            }
            Command::DeviceOpened { conn, out } => {
                self.devices.insert(conn, out);
            }
            Command::Device { conn, request, frame } => self.device_request(conn, request, frame, turn),
            Command::DevicePutsArrived { conn, puts, answer } => {
                let now = turn.mqe_now();
                let check = |(request, sequence)| {
                    match self.area.put_arrived(conn, request, sequence, &mut turn.area) {
                        PutCheck::New(device) => return Some(device),
                        PutCheck::Waits => self.area.put_waits(now, conn, request, sequence),
                        PutCheck::Done => {}
                    }
                    None
                };
                reply(answer, puts.into_iter().map(check).collect());
            }
            Command::DeviceClosed { conn } => {
                self.devices.remove(&conn);
                self.area.closed(conn);
            }
            Command::DevicePuts { conn, puts } => self.device_puts(conn, puts, turn),
            Command::Rejected { rejected } => self.rejected(*rejected, turn),
            Command::Owed { owed } => self.pay(*owed, turn),
            Command::Lock { queue, holder, limits, answer } => {
                // Each time: the queue may have been defined, or defined again, since.
                self.queue_manager.watch(&queue);
                let locked = self.queue_manager.lock_next(
                    turn.qmgr_now(),
                    &queue,
                    holder,
                    limits.messages_max,
                    limits.bytes_max,
                );
                match locked {
                    Ok(locked) => turn.locked.push((answer, locked)),
                    Err(reason) => {
                        reply(answer, Err(reason));
                    }
                }
            }
            Command::Unlock { holder } => {
                self.queue_manager.unlock_all(turn.qmgr_now(), holder, &mut turn.batch, &mut turn.mq);
            }
            Command::HandOver { holder, deliveries, answer } => {
                let handed_over = self.hand_over(holder, deliveries, turn);
                reply(answer, handed_over);
            }
            Command::RemoteState { source, answer } => {
                reply(answer, self.remote_state(&source));
            }
            Command::RemoteBegin { source, q_mgr_id, number, answer } => {
                self.remote_begin(source, q_mgr_id, number, turn);
                reply(answer, turn.batch.position());
            }
            Command::RemotePrepare { batch, answer } => {
                let outcome = self.remote_prepare(*batch, turn);
                reply(answer, outcome);
            }
            Command::RemoteDecide { source, number, committed, answer } => {
                self.remote_decide(&source, number, committed, turn);
                reply(answer, turn.batch.position());
            }
            Command::Outbox { command } => self.outbox_command(command, turn),
            Command::Mqsc { command, answer } => {
                let needs = |batch: &Batch| Some(batch.position()).filter(|_| !batch.is_empty());
                if let mqsc::Command::Display(display) = *command {
                    return self.begin_walk(Walk::display(display, needs(&turn.batch), answer));
                }
                let outcome =
                    self.queue_manager.run(turn.qmgr_now(), &command, &mut turn.batch, &mut turn.mq);
                reply(answer, MqscResult { outcome, needs: needs(&turn.batch) });
            }
            Command::Cold(done) => self.cold_done(done, turn),
            Command::Damaged { id, what } => self.damaged(id, what),
            Command::Status { answer } => {
                self.begin_walk(Walk::status(answer));
            }
            Command::Store { answer } => reply(answer, self.store_report()),
            Command::Snapshot { answer } => {
                // The checkpoint for it is taken where the store is looked after: now, not in a second.
                self.maintained = self.maintained.checked_sub(MAINTAIN_EVERY).unwrap_or(self.maintained);
                reply(answer, self.store.snapshot());
            }
            Command::Devices { answer } => {
                self.begin_walk(Walk::devices(answer));
            }
            Command::Parked { answer } => reply(answer, self.parked_reports()),
            Command::Operate { operation, answer } => {
                let outcome = self.operate(&operation, turn);
                reply(answer, outcome.map(|report| (report, turn.batch.position())));
            }
            Command::Route { queue, q_mgr, answer } => {
                reply(answer, self.queue_manager.explain_route(queue, q_mgr));
            }
            Command::DeviceRoute { device, answer } => reply(answer, self.device_route(&device)),
            Command::OwnQueueRoute { queue, answer } => reply(answer, self.own_queue_route(&queue)),
            Command::DeviceReport { device, answer } => {
                reply(answer, self.device_report(&device));
            }
            Command::Quiesce => {
                self.queue_manager.quiesce(&mut turn.mq);
            }
            Command::Stopping => {
                self.queue_manager.stopping(&mut turn.mq);
            }
            Command::Stop => self.stopped = true,
        }
    }

    /// A stored message cannot be read. Told once: who asks for it again finds the same.
    pub(super) fn damaged(&mut self, id: Id, what: String) {
        let damaged = &mut self.lasting.damaged;
        if damaged.len() < DAMAGED_MAX && !damaged.contains_key(&id) {
            tracing::error!(what, "a stored message cannot be read");
            damaged.insert(id, what);
        }
    }

    pub(super) fn store(&self) -> &dyn Store {
        &*self.store
    }

    pub(super) fn sender(&self) -> LaneSender<Command> {
        self.generation.lanes.for_connection()
    }
}

/// Answers a task. One that is gone, since its connection is or the service stops, needs no answer.
pub(super) fn reply<T>(answer: oneshot::Sender<T>, value: T) {
    drop(answer.send(value));
}

/// MAXMSGL of a channel that names none: that of the queue manager (mq-objects.md 3.2, 100 MiB).
const MAX_MSG_LENGTH: u32 = 104_857_600;
