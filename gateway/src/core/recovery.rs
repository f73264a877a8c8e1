//! What a start makes of a store, and the recovery in a process that has served (STORE.md 3.4 and 6).
//!
//! When a write or a sync fails, memory is ahead of the disk. Nobody is answered, all connections are dropped, and
//! queue manager and area are made anew of what the store says is real: a new generation. Listeners, exits and
//! administration stay. Where that fails too, or in a start, the process ends: only the next one may decide again.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::Context;
use mqe::area::Area;
use mqe::outbox::Outbox;
use qmgr::QueueManager;
use store::{Batch, Commit, Id, Position, Recovered, Store, StoreError, Watch};
use tokio_util::task::TaskTracker;

use super::cold::ColdCounts;
use super::durable::Durable;
use super::handle::Generation;
use super::newest;
use super::outbox::Targets;
use super::remote::Remotes;
use super::tokens::Tokens;
use super::turn::{Core, Wiring};
use crate::clock::{self, Moment};
use crate::service::Identity;
use crate::system;

/// Time between the beginnings of two recoveries: a disk that fails again at once must not keep the process busy with
/// nothing else.
const RECOVERY_EVERY: Duration = Duration::from_secs(1);

/// Makes queue manager and area of what a store holds, with the same settings at each start and each recovery.
pub(crate) trait Machinery: Debug + Send + Sync {
    /// What must be written for it goes into the batch.
    fn machines(&self, recovered: &Recovered, now: Moment, batch: &mut Batch) -> anyhow::Result<Machines>;
}

/// What the core owns beside the store.
#[derive(Debug)]
pub(crate) struct Machines {
    pub(crate) queue_manager: QueueManager,
    pub(crate) area: Area,
    pub(crate) outbox: Outbox,
    pub(crate) identity: Identity,
}

/// A store with what was made of it; nothing may be served before `first` is durable (STORE.md 3.3).
#[derive(Debug)]
pub(super) struct Made {
    pub(super) store: Box<dyn Store>,
    pub(super) machines: Machines,
    pub(super) tokens: Tokens,
    pub(super) remotes: Remotes,
    pub(super) targets: Targets,
    first: Position,
}

impl Machines {
    /// A salvaged store has given its messages new ids: puts that wait for entries by their old ones would wait for ever. They
    /// count as taken, since what was saved goes on to its queue manager; what was lost is in the salvage's list. Refused, most
    /// of them would be put once more.
    fn end_lost_waits(&mut self, batch: &mut Batch) {
        let Self { area, outbox, .. } = self;
        let lost: Vec<Id> = area.awaited_entries().filter(|id| !outbox.has(*id)).collect();
        if lost.is_empty() {
            return;
        }
        tracing::error!(
            puts = lost.len(),
            "puts that devices wait for are not known by their ids, as after a salvage: they count as taken"
        );
        let mut commit = Commit::default();
        // Nobody is connected yet.
        area.entries_ended(&lost, None, &mut commit, batch, &mut Vec::new());
        batch.commit(commit);
    }
}

impl Made {
    /// Makes the machines and hands their first batch over. Takes its time where there is much: not for a runtime's
    /// thread.
    pub(super) fn of(
        mut store: Box<dyn Store>,
        recovered: Recovered,
        machinery: &dyn Machinery,
    ) -> anyhow::Result<Self> {
        let mut batch = store.begin();
        let mut machines = machinery.machines(&recovered, clock::now(), &mut batch)?;
        machines.end_lost_waits(&mut batch);
        let remotes = Remotes::recover(&recovered, &mut machines.area)?;
        let tokens = Tokens::recover(&recovered);
        let targets = Targets::recover(&recovered);
        drop(recovered);
        let first = store.submit(batch);
        Ok(Self { store, machines, tokens, remotes, targets, first })
    }

    /// Announces how far the start is on disk, and awaits its first batch. The committer tells only of what comes: a
    /// start that has nothing to write would wait for ever.
    fn durable<'a>(
        &self,
        wiring: &'a Wiring,
        durable: &'a Durable,
    ) -> impl Future<Output = anyhow::Result<()>> + use<'a> {
        wiring.announcer.durable(self.store.durable());
        let first = Some(self.first);
        async move {
            if durable.wait(first).await.is_err() {
                let why = durable.failure().map_or_else(String::new, |error| error.to_string());
                anyhow::bail!("the store cannot be written: {why}");
            }
            Ok(())
        }
    }
}

/// What stays when the core's state is made anew.
#[derive(Debug)]
pub(super) struct Lasting {
    /// The newest generation, for those who come.
    pub(super) generations: newest::Sender<Arc<Generation>>,
    pub(super) started: Instant,
    /// Readings that the core itself needs.
    pub(super) helpers: TaskTracker,
    /// Messages that cannot be read, for status.
    pub(super) damaged: BTreeMap<Id, String>,
    pub(super) recoveries: Recoveries,
    pub(super) cold: ColdCounts,
}

/// The recoveries of this process, for status.
#[derive(Debug, Default)]
pub(super) struct Recoveries {
    pub(super) count: u64,
    /// Why the last one, and when on the wall clock.
    pub(super) last: Option<(Arc<StoreError>, u64)>,
    began: Option<Instant>,
}

impl Recoveries {
    async fn begin(&mut self) {
        clock::until(Some(self.began.map_or_else(|| clock::now().instant, |began| began + RECOVERY_EVERY)))
            .await;
        self.began = Some(clock::now().instant);
    }
}

impl Core {
    /// The core at the start of the process, ready to serve.
    pub(crate) async fn start(
        store: Box<dyn Store>,
        recovered: Recovered,
        durable: Durable,
        wiring: Wiring,
    ) -> anyhow::Result<(Self, Identity)> {
        let made = Made::of(store, recovered, &*wiring.machinery)?;
        made.durable(&wiring, &durable).await?;
        let identity = made.machines.identity.clone();
        Ok((Self::new(made, durable, wiring), identity))
    }

    /// Serves until the last command, over recoveries.
    pub(crate) async fn serve(mut self) -> anyhow::Result<Self> {
        while let Some(error) = self.run().await {
            self = self.recover(error).await?;
        }
        self.cold.end().await;
        Ok(self)
    }

    /// The next generation, after the journal has failed.
    async fn recover(self, error: Arc<StoreError>) -> anyhow::Result<Self> {
        if !self.wiring.serving.load(Ordering::Acquire) || matches!(*error, StoreError::Replaced { .. }) {
            anyhow::bail!(
                "the journal cannot be written, nothing that was not on disk was answered: {error}"
            );
        }
        tracing::error!(%error, "the journal cannot be written: all connections are dropped, the store recovers");
        // What else there was goes here: the ways to connections, and whatever of theirs was waiting.
        let Self { store, queue_manager, area, wiring, mut lasting, cold, .. } = self;
        // Files of the index are opened anew.
        cold.end().await;
        lasting.recoveries.begin().await;
        let durable = wiring.announcer.next_start();
        let machinery = Arc::clone(&wiring.machinery);
        let recover = move || {
            // First the old ones, so that there is memory for the new.
            drop((queue_manager, area));
            let mut store = store;
            let recovered = store.recover()?;
            Made::of(store, recovered, &*machinery)
        };
        let cannot = || format!("the journal cannot be written ({error}), nor can the store recover");
        let made = system::blocking(recover).await.with_context(cannot)?.with_context(cannot)?;
        made.durable(&wiring, &durable).await.with_context(cannot)?;
        lasting.recoveries.count += 1;
        lasting.recoveries.last = Some((error, clock::now().wall_ms));
        tracing::warn!(recoveries = lasting.recoveries.count, "the store has recovered, the service goes on");
        Ok(Self::of_generation(made, durable, wiring, Some(lasting)))
    }
}
