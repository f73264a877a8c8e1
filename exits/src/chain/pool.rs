//! Queue, instances and watch. Whoever waits for verdicts also watches: each waiter looks at all desks when the next
//! one could be late, so no thread has to exist for it, and a source that goes away leaves nobody unwatched that
//! another one needs.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mq_wire::QMgrName;
use tokio::sync::{Notify, oneshot};
use tracing::{error, warn};

use super::instance::{self, Desk, Found};
use super::job::Job;
use super::stats::{ChainStatus, ExitStats, compare};
use super::{ExitPlan, Place, Verdict};
use crate::{ExitError, ExitMessage};

/// An exit that awaits is cancelled at its limit by its own instance; one that does not is given up this much later.
const GRACE: Duration = Duration::from_millis(200);
/// Work that is worth the waking of another thread.
const SLICE_WORTH_NS: u64 = 50_000;

/// What the instances of a chain share.
pub(super) struct Pool {
    pub(super) exits: Vec<ExitPlan>,
    pub(super) stats: Vec<ExitStats>,
    pub(super) gateway_names: Arc<[QMgrName]>,
    pub(super) place: Place,
    /// Notified when there is a job or the chain is closed.
    pub(super) changed: Notify,
    state: Mutex<State>,
    /// Messages that were given numbers.
    numbered: AtomicU64,
    abandoned_max: usize,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Box<Job>>,
    instances: Vec<Member>,
    next_instance: usize,
    abandoned: u64,
    abandoned_now: usize,
    /// Why no job is taken any more.
    stopped: Option<String>,
    closed: bool,
}

struct Member {
    desk: Arc<Desk>,
    ended: oneshot::Receiver<()>,
}

/// What an instance does next.
pub(super) enum Next {
    /// What lies on its desk now.
    Job,
    Wait,
    End,
}

/// A slice that has been submitted.
pub(super) struct Slice {
    count: usize,
    verdicts: oneshot::Receiver<Vec<Verdict>>,
}

impl Pool {
    pub(super) fn new(
        exits: Vec<ExitPlan>,
        gateway_names: Arc<[QMgrName]>,
        cores: usize,
        place: Place,
    ) -> Self {
        Self {
            stats: exits.iter().map(|_| ExitStats::default()).collect(),
            exits,
            gateway_names,
            place,
            changed: Notify::new(),
            state: Mutex::default(),
            numbered: AtomicU64::new(0),
            // At most one for two cores: one that spins takes a whole core.
            abandoned_max: (cores / 2).max(1),
        }
    }

    /// One of the same exits, which has not started any.
    pub(super) fn anew(&self) -> Self {
        let new = Self::new(self.exits.clone(), Arc::clone(&self.gateway_names), 1, self.place);
        Self { abandoned_max: self.abandoned_max, ..new }
    }

    pub(super) fn has_no_exits(&self) -> bool {
        self.exits.is_empty()
    }

    /// Starts `instances` of them; only one if an exit is serial, which the first one tells.
    pub(super) async fn start(self: &Arc<Self>, instances: usize) -> Result<(), ExitError> {
        if self.has_no_exits() {
            return Ok(());
        }
        let spawn = || self.spawn(&mut locked(&self.state));
        let first = spawn()?;
        if self.started(first).await? {
            return Ok(());
        }
        let starting = (1..instances).map(|_| spawn()).collect::<Result<Vec<_>, _>>()?;
        for ready in starting {
            self.started(ready).await?;
        }
        Ok(())
    }

    async fn started(&self, ready: oneshot::Receiver<Result<bool, ExitError>>) -> Result<bool, ExitError> {
        let limit = self.start_limit();
        match tokio::time::timeout(limit, ready).await {
            Ok(Ok(result)) => result,
            // The sender is gone without a word: the thread is.
            Ok(Err(_)) => Err(ExitError::failed("an instance of the exits ended in its start")),
            Err(_) => Err(ExitError::Late { call: "the start of the exits", limit }),
        }
    }

    fn spawn(
        self: &Arc<Self>,
        state: &mut State,
    ) -> Result<oneshot::Receiver<Result<bool, ExitError>>, ExitError> {
        let (ready, is_ready) = oneshot::channel();
        let (ends, ended) = oneshot::channel();
        let desk = Arc::new(Desk::new(state.next_instance, self.place));
        instance::spawn(self, Arc::clone(&desk), ready, ends)?;
        state.next_instance += 1;
        state.instances.push(Member { desk, ended });
        Ok(is_ready)
    }

    /// Puts a batch into the queue, in slices.
    pub(super) fn submit(&self, batch: Vec<ExitMessage>) -> Vec<Slice> {
        let mut number = self.numbered.fetch_add(batch.len() as u64, Relaxed) + 1;
        let mut state = locked(&self.state);
        let size = batch.len().div_ceil(self.slices(batch.len(), state.instances.len()));
        let mut slices = Vec::new();
        let mut rest = batch.into_iter();
        loop {
            let messages: Vec<ExitMessage> = rest.by_ref().take(size).collect();
            if messages.is_empty() {
                break;
            }
            let (reply, verdicts) = oneshot::channel();
            let count = messages.len();
            slices.push(Slice { count, verdicts });
            let mut job = Box::new(Job::new(messages, number, reply));
            number += count as u64;
            if let Some(why) = state.why_stopped() {
                job.stop(why);
                job.finish();
            } else {
                state.jobs.push_back(job);
                self.changed.notify_one();
            }
        }
        slices
    }

    /// How many slices a batch is worth: with quick exits one, with slow ones as many as it has messages, so that all
    /// instances have something to do to its end.
    fn slices(&self, messages: usize, instances: usize) -> usize {
        if instances <= 1 {
            return 1;
        }
        let max = messages.max(1);
        let (calls, total_ns) = self
            .stats
            .iter()
            .map(ExitStats::load)
            .fold((0, 0), |(calls, sum), (c, ns)| (u64::max(calls, c), u64::saturating_add(sum, ns)));
        if calls == 0 {
            return max.min(instances);
        }
        let work_ns = (total_ns / calls).saturating_mul(messages as u64);
        usize::try_from(work_ns / SLICE_WORTH_NS).unwrap_or(max).clamp(1, max)
    }

    /// Waits for a slice, and watches all instances meanwhile.
    pub(super) async fn watch(self: &Arc<Self>, slice: Slice) -> Vec<Verdict> {
        let Slice { count, mut verdicts } = slice;
        let mut next_look = self.place.now() + self.shortest_limit();
        let mut stalled = false;
        loop {
            let wait = next_look.saturating_duration_since(self.place.now());
            match tokio::time::timeout(wait, &mut verdicts).await {
                Ok(Ok(verdicts)) => return verdicts,
                Ok(Err(_)) => {
                    let why = ENDED.to_owned();
                    return vec![Verdict::Stopped { why }; count];
                }
                Err(_) => {}
            }
            let now = self.place.now();
            // A whole process that stood still (a suspended machine) is not the exits' fault: once, they get time to
            // catch up.
            stalled = !stalled && now > next_look + GRACE;
            next_look = if stalled { now + GRACE } else { self.look(now) };
        }
    }

    /// Looks at all desks; gives up the instances that are late. Says when to look again.
    fn look(self: &Arc<Self>, now: Instant) -> Instant {
        let mut state = locked(&self.state);
        let mut next_look = now + self.shortest_limit();
        let mut late = Vec::new();
        state.instances.retain(|member| {
            let limit = |exit: usize| self.exits[exit].config.time_limit + GRACE;
            match member.desk.look(now, self.start_limit(), limit) {
                Found::Idle => true,
                Found::Until(until) => {
                    next_look = next_look.min(until);
                    true
                }
                found => {
                    late.push(found);
                    false
                }
            }
        });
        for found in late {
            self.give_up(&mut state, found);
        }
        next_look
    }

    /// An instance was late: its message ends by the exit's policy, and another instance goes on, if there may be
    /// another one.
    fn give_up(self: &Arc<Self>, state: &mut State, found: Found) {
        state.abandoned += 1;
        state.abandoned_now += 1;
        let job = match found {
            Found::Late { mut job, exit } => {
                let (config, stats) = (&self.exits[exit].config, &self.stats[exit]);
                let error = ExitError::Late { call: "receive", limit: config.time_limit };
                stats.called(config.time_limit + GRACE);
                stats.failed(&error);
                warn!(
                    exit = config.display_name(),
                    abandoned = state.abandoned_now,
                    abandoned_max = self.abandoned_max,
                    "an exit does not return; its thread is given up and replaced"
                );
                match instance::failure(config.on_failure, config.display_name(), &error) {
                    Some(ending) => job.settle(ending),
                    None => job.skip_exit(exit),
                }
                Some(job)
            }
            _ => {
                let limit = self.start_limit();
                let late = ExitError::Late { call: "the start of an instance that replaces another", limit };
                self.stop(state, &late.to_string());
                None
            }
        };
        if state.why_stopped().is_none() {
            if state.abandoned_now > self.abandoned_max {
                let number = state.abandoned_now;
                self.stop(
                    state,
                    &format!("exits do not return: {number} threads of them had to be given up"),
                );
            } else if let Err(error) = self.spawn(state) {
                self.stop(state, &error.to_string());
            }
        }
        let Some(mut job) = job else { return };
        if let Some(why) = state.why_stopped() {
            job.stop(why);
        }
        if job.is_done() {
            job.finish();
        } else {
            state.jobs.push_front(job);
            self.changed.notify_one();
        }
    }

    /// The next job for an instance.
    pub(super) fn next_job(&self, desk: &Desk) -> Next {
        let mut state = locked(&self.state);
        if state.closed || desk.is_abandoned() {
            return Next::End;
        }
        let Some(job) = state.jobs.pop_front() else { return Next::Wait };
        match desk.put(job) {
            Ok(()) => Next::Job,
            Err(job) => {
                state.jobs.push_front(job);
                self.changed.notify_one();
                Next::End
            }
        }
    }

    /// An instance could not be started: whoever waits for its start is told, and one that replaces another stops
    /// the chain.
    pub(super) fn not_started(&self, ready: oneshot::Sender<Result<bool, ExitError>>, error: ExitError) {
        let why = error.to_string();
        if ready.send(Err(error)).is_err() {
            self.stop(&mut locked(&self.state), &why);
        }
    }

    /// A thread has come to its end; if it had been given up, its core is free again.
    pub(super) fn returned(&self, desk: &Desk) {
        if desk.is_abandoned() {
            locked(&self.state).abandoned_now -= 1;
        }
    }

    /// No job is run any more; those in the queue stay where they came from.
    fn stop(&self, state: &mut State, why: &str) {
        if state.stopped.is_none() {
            error!(why, "the exits have stopped; start them anew when the cause is mended");
            state.stopped = Some(why.to_owned());
        }
        for mut job in state.jobs.drain(..) {
            job.stop(why);
            job.finish();
        }
    }

    /// Lets all instances end when they have done what they are at.
    pub(super) fn close(&self) {
        let mut state = locked(&self.state);
        state.closed = true;
        for mut job in state.jobs.drain(..) {
            job.stop(ENDED);
            job.finish();
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// Waits until all instances that are not abandoned have ended, but not for ever.
    pub(super) async fn ended(&self) {
        let members = std::mem::take(&mut locked(&self.state).instances);
        let limit = self.start_limit() + self.exits.iter().map(|exit| exit.config.time_limit).sum();
        let all = async {
            for member in members {
                let _ = member.ended.await;
            }
        };
        if tokio::time::timeout(limit, all).await.is_err() {
            warn!(?limit, "exits did not end in time; their threads are left behind");
        }
    }

    pub(super) fn status(&self) -> ChainStatus {
        let named = self.stats.iter().zip(&self.exits);
        let mut exits: Vec<_> =
            named.map(|(stats, exit)| stats.status(exit.config.display_name(), &exit.config.kind)).collect();
        let slowest = compare(&mut exits);
        let state = locked(&self.state);
        ChainStatus {
            exits,
            slowest,
            instances: state.instances.len(),
            abandoned: state.abandoned,
            abandoned_now: state.abandoned_now,
            abandoned_max: self.abandoned_max,
            stopped: state.stopped.clone(),
        }
    }

    fn start_limit(&self) -> Duration {
        self.exits.iter().map(|exit| exit.config.start_limit).sum::<Duration>() + GRACE
    }

    fn shortest_limit(&self) -> Duration {
        self.exits.iter().map(|exit| exit.config.time_limit).min().unwrap_or_default() + GRACE
    }
}

const ENDED: &str = "the exits have been ended";

impl State {
    fn why_stopped(&self) -> Option<&str> {
        self.stopped.as_deref().or(self.closed.then_some(ENDED))
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("status", &self.status()).finish_non_exhaustive()
    }
}

/// Locks for a few lines. What a panic would leave half-done is only counted and queued, so a poisoned lock is as
/// good as another.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
