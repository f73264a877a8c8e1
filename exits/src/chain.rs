//! The chain: runs the configured exits over batches of messages and says what became of each.
//!
//! ```text
//!  run(batch) --slices--> pool: queue --> instance (thread + runtime): exit 1, exit 2, ... for each message
//!      ^                                     |  late: abandoned and replaced (pool.rs)
//!      '------ verdicts, put back in order <-'
//! ```
//!
//! Parts: `guard` (panics and time limits of one call), `job` (a slice and what is known of it), `instance` (the
//! thread), `pool` (queue, watch, replacement), `stats`. What becomes of undelivered messages is the gateway's.

mod guard;
mod instance;
mod job;
mod pool;
mod stats;
#[cfg(test)]
mod tests;

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use mq_wire::{QMgrName, Reason};

pub(crate) use guard::{caught, guarded};
pub use stats::{ChainStatus, ExitStatus};

use crate::registry::Constructor;
use crate::{ExitConfig, ExitError, ExitMessage, Registry};
use pool::{Pool, locked};
use tokio::sync::RwLock;

/// What became of a message.
#[derive(Debug, Clone)]
pub enum Verdict {
    /// It goes on, as the exits left it.
    Pass(ExitMessage),
    /// It is not delivered: an exit refused it, or failed.
    Undelivered {
        /// The message as it came.
        message: ExitMessage,
        /// What its dead-letter header says: a reason or a feedback code.
        reason: Reason,
        /// The same for people, with the name of the exit.
        why: String,
    },
    /// It stays where it came from, like all that follow it: an exit closed the channel.
    CloseChannel {
        /// Which exit.
        why: String,
    },
    /// It stays where it came from, like all that follow it: exits can no longer be trusted to end, or one failed
    /// whose configuration says `on_failure = "stop"`.
    Stopped {
        /// What happened.
        why: String,
    },
}

/// The running exits.
#[derive(Debug)]
pub struct Chain {
    /// Those in force.
    pool: Mutex<Arc<Pool>>,
    /// Read by each batch, written by a reload: a batch is run by the exits with which it began.
    gate: RwLock<()>,
}

/// What a chain is made of.
#[derive(Debug)]
pub struct ChainBuilder<'a> {
    registry: &'a Registry,
    configs: Vec<ExitConfig>,
    gateway_names: Vec<QMgrName>,
    instances: Option<NonZeroUsize>,
    place: Place,
}

/// Where instances run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Threads,
    Tasks,
}

impl Place {
    /// The clock by which instances are late: tasks have that of their runtime, which a simulation moves.
    fn now(self) -> Instant {
        match self {
            Self::Threads => Instant::now(),
            Self::Tasks => tokio::time::Instant::now().into_std(),
        }
    }
}

/// An exit as the chain knows it.
#[derive(Clone)]
pub(crate) struct ExitPlan {
    config: ExitConfig,
    constructor: Constructor,
}

impl<'a> ChainBuilder<'a> {
    /// The names under which the gateway is addressed; the first is its own.
    pub fn gateway_names(self, names: impl IntoIterator<Item = QMgrName>) -> Self {
        Self { gateway_names: names.into_iter().collect(), ..self }
    }

    /// How many instances work in parallel. Default: as many as the machine has cores; one if an exit is serial.
    pub fn instances(self, instances: Option<NonZeroUsize>) -> Self {
        Self { instances, ..self }
    }

    /// Runs the instances as tasks of the runtime that starts them, not on threads of their own: an exit that does not
    /// await holds up all of that runtime. For simulations, whose every step can be had again.
    pub fn as_tasks(self) -> Self {
        Self { place: Place::Tasks, ..self }
    }

    /// Starts all exits of all instances.
    pub async fn start(self) -> Result<Chain, ExitError> {
        let mut exits = Vec::with_capacity(self.configs.len());
        for config in self.configs {
            let constructor = self
                .registry
                .constructor(&config.kind)
                .map_err(|error| error.starting(config.display_name()))?;
            exits.push(ExitPlan { config, constructor });
        }
        let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let instances = self.instances.map_or(cores, NonZeroUsize::get);
        // The chain comes first: when a start fails, dropping it ends what has started.
        let pool = Arc::new(Pool::new(exits, self.gateway_names.into(), cores, self.place));
        let chain = Chain { pool: Mutex::new(Arc::clone(&pool)), gate: RwLock::default() };
        pool.start(instances).await?;
        Ok(chain)
    }
}

impl Chain {
    /// The exits in their order. Without any, all messages pass.
    pub fn builder(registry: &Registry, configs: Vec<ExitConfig>) -> ChainBuilder<'_> {
        ChainBuilder { registry, configs, gateway_names: Vec::new(), instances: None, place: Place::Threads }
    }

    /// [`Chain::builder`] in one call.
    pub async fn start(
        registry: &Registry,
        configs: Vec<ExitConfig>,
        gateway_names: impl IntoIterator<Item = QMgrName>,
        instances: Option<NonZeroUsize>,
    ) -> Result<Self, ExitError> {
        Self::builder(registry, configs).gateway_names(gateway_names).instances(instances).start().await
    }

    /// Runs the exits over a batch: one verdict for each message, in the same order. After the first
    /// [`Verdict::CloseChannel`] or [`Verdict::Stopped`] there are only such ones; exits may have seen these messages
    /// all the same, and will see them again.
    ///
    /// Several batches of different sources may run at once. A source gives the next batch when it has the verdicts
    /// of the last one, so its order holds. If the call is dropped, exits end what they are
    /// at and leave the rest.
    ///
    /// Needs a tokio runtime with time.
    pub async fn run(&self, batch: Vec<ExitMessage>) -> Vec<Verdict> {
        if batch.is_empty() {
            return Vec::new();
        }
        let _batch = self.gate.read().await;
        let pool = self.pool();
        if pool.has_no_exits() {
            return batch.into_iter().map(Verdict::Pass).collect();
        }
        let mut verdicts = Vec::with_capacity(batch.len());
        for slice in pool.submit(batch) {
            verdicts.extend(pool.watch(slice).await);
        }
        end_at_first_stop(&mut verdicts);
        verdicts
    }

    /// What the exits would make of a message, whose origin is one of [`crate::Origin::dry_run`]: instances of its own see it, which
    /// end behind it. Statistics, user areas and numbers of the running ones stay as they are.
    pub async fn dry_run(&self, message: ExitMessage) -> Result<Verdict, ExitError> {
        let pool = Arc::new(self.pool().anew());
        let chain = Self { pool: Mutex::new(Arc::clone(&pool)), gate: RwLock::default() };
        pool.start(1).await?;
        let verdict = chain.run(vec![message]).await.pop();
        chain.term().await;
        verdict.ok_or_else(|| ExitError::failed("the exits gave no answer"))
    }

    /// What the exits have done so far, since they were started or started anew.
    pub fn status(&self) -> ChainStatus {
        self.pool().status()
    }

    /// Goes on with the exits of another chain, which has been started: batches that run end with the old ones, later ones
    /// see the new. Then the old ones end, each within its limit. So a chain that has stopped for good runs again.
    pub async fn reload(&self, other: Self) {
        let new = other.pool();
        let old = {
            let _alone = self.gate.write().await;
            std::mem::replace(&mut *locked(&self.pool), Arc::clone(&new))
        };
        // The other one would end them when it is dropped.
        *locked(&other.pool) = Arc::clone(&old);
        old.close();
        old.ended().await;
    }

    /// Ends all exits and waits for them, each within its limit. Batches that still run end as
    /// [`Verdict::Stopped`]. A chain that is dropped instead ends its exits in the background.
    pub async fn term(self) {
        let pool = self.pool();
        pool.close();
        pool.ended().await;
    }

    fn pool(&self) -> Arc<Pool> {
        Arc::clone(&locked(&self.pool))
    }
}

impl Drop for Chain {
    fn drop(&mut self) {
        self.pool().close();
    }
}

/// Slices run side by side, so messages behind one that stopped the channel may have passed: they stay too.
fn end_at_first_stop(verdicts: &mut [Verdict]) {
    let is_stop =
        |verdict: &Verdict| matches!(verdict, Verdict::CloseChannel { .. } | Verdict::Stopped { .. });
    if let Some(first) = verdicts.iter().position(is_stop) {
        let stop = verdicts[first].clone();
        verdicts[first + 1..].fill(stop);
    }
}
