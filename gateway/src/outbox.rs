//! The task of an outbox: brings to a queue manager what waits for it, in units of work with a sync message that names just the
//! entries which were put (ONCE.md 3).
//!
//! ```text
//!  next batch (noted, durable) ──> MQPUT1 each │ sync message (number, entries) │ MQCMIT ──> they end ──> next batch
//! ```
//!
//! After a cut: a sync message one further than the journal says which entries are drained; an equal one that they are not;
//! none that an old unit of work is not finished. If it was cleared while something may be under way, an operator must say.

mod put;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mq_wire::Reason;
use mqe::outbox::{OutboxEntry, TargetState};
use store::{BodyRef, Id};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::clock;
use crate::config::PutsWhenStopped;
use crate::core::{
    Command, CoreHandle, EndedHere, Lane, NextBatch, NextEntry, OutboxBell, OutboxCommand, Stopped, read,
};
use crate::remote::{
    Backoff, Failed, Found, Letters, Link, RemoteSettings, SyncDirection, SyncKey, SyncQueue,
};
use crate::source::{SourceControl, State, Wanted, rest};

use put::{Counts, Put};

/// Brings the entries of an outbox to its queue manager.
pub(crate) struct OutboxTask {
    core: CoreHandle,
    settings: Arc<RemoteSettings>,
    /// Identity of the store.
    store: [u8; 16],
    control: Arc<SourceControl>,
    bell: Arc<OutboxBell>,
    /// Messages and bytes of a unit of work.
    limits: (usize, u64),
    stop: CancellationToken,
    backoff: Backoff,
    open: Option<Open>,
    /// Why the puts of a device wait, while others go on.
    held: Option<String>,
}

/// What there is while it is connected.
struct Open {
    link: Link,
    sync: SyncQueue,
    letters: Letters,
}

/// Why it does not go on at once.
enum Pause {
    /// The core's generation has ended.
    Recovery,
    Wanted,
    Retry(String),
    Stop(String),
}

impl From<Stopped> for Pause {
    fn from(_: Stopped) -> Self {
        Self::Recovery
    }
}

impl OutboxTask {
    pub(crate) fn new(
        core: CoreHandle,
        settings: Arc<RemoteSettings>,
        store: [u8; 16],
        control: Arc<SourceControl>,
        bell: Arc<OutboxBell>,
        limits: (usize, u64),
        stop: CancellationToken,
    ) -> Self {
        let backoff = Backoff::new(&settings.name, &store);
        Self { core, settings, store, control, bell, limits, stop, backoff, open: None, held: None }
    }

    /// Runs until the service stops.
    pub(crate) async fn run(mut self) {
        let mut wanted = self.control.watch();
        loop {
            let now_wanted = *wanted.borrow_and_update();
            let refuses = self.settings.puts_when_stopped == PutsWhenStopped::Refuse;
            self.bell.closed.store(refuses && now_wanted == Wanted::Stop, Ordering::Release);
            let pause = match now_wanted {
                Wanted::Run => {
                    let stop = self.stop.clone();
                    tokio::select! {
                        biased;
                        () = stop.cancelled() => break,
                        pause = self.run_once(&mut wanted) => pause,
                    }
                }
                Wanted::Pause => {
                    self.control.set_by_operator(State::Paused);
                    Pause::Stop(String::new())
                }
                Wanted::Stop => {
                    self.close().await;
                    self.control.set_by_operator(State::Stopped);
                    Pause::Stop(String::new())
                }
            };
            let until = match pause {
                Pause::Recovery => {
                    // What is under way is not known to the next generation; its socket ends it.
                    self.open = None;
                    continue;
                }
                Pause::Wanted => continue,
                Pause::Retry(why) => {
                    self.open = None;
                    let at = clock::now().instant + self.backoff.next();
                    self.control.set(State::Retrying, Some(why), Some(at));
                    Some(at)
                }
                Pause::Stop(why) => {
                    if now_wanted == Wanted::Run {
                        self.close().await;
                        self.control.set(State::Stopped, Some(why), None);
                    }
                    None
                }
            };
            if !rest(until, &mut wanted, &self.stop).await {
                break;
            }
        }
        self.close().await;
    }

    async fn run_once(&mut self, wanted: &mut watch::Receiver<Wanted>) -> Pause {
        // Without a core there is no service.
        let Ok(core) = self.core.newest().await else { return Pause::Stop(String::new()) };
        tokio::select! {
            biased;
            () = core.ended() => Pause::Recovery,
            pause = self.batches(&core, wanted) => pause.err().unwrap_or(Pause::Wanted),
        }
    }

    /// Brings batch after batch until something is wrong or something else is wanted.
    async fn batches(
        &mut self,
        core: &CoreHandle,
        wanted: &mut watch::Receiver<Wanted>,
    ) -> Result<(), Pause> {
        loop {
            if wanted.has_changed().unwrap_or(true) {
                return Ok(());
            }
            self.ready(core).await?;
            let batch = self.next(core).await?;
            if batch.due.is_none() {
                self.held = None;
            }
            self.control.set(State::Running, self.held.clone(), None);
            if batch.entries.is_empty() {
                let look = clock::now().instant + LOOK_EVERY;
                tokio::select! {
                    biased;
                    _ = wanted.changed() => {
                        wanted.mark_changed();
                        return Ok(());
                    }
                    () = self.bell.rung.notified() => {}
                    () = clock::until(batch.due) => {}
                    () = clock::until(Some(look)) => self.look().await?,
                }
                continue;
            }
            core.durable(Some(batch.needs)).await.map_err(|_| Pause::Recovery)?;
            if let Err(failed) = self.bring(core, batch).await? {
                return Err(Pause::Retry(failed.why().to_owned()));
            }
        }
    }

    /// Whether the queue manager is still there: nothing else would show that it went while nothing is put.
    async fn look(&mut self) -> Result<(), Pause> {
        let Some(Open { link, sync, .. }) = &mut self.open else { return Ok(()) };
        sync.depth(link).await.map(drop).map_err(|failed| Pause::Retry(failed.why().to_owned()))
    }

    async fn next(&self, core: &CoreHandle) -> Result<NextBatch, Pause> {
        let source = self.settings.name.clone();
        let (messages_max, bytes_max) = self.limits;
        let next = |answer| Command::Outbox {
            command: OutboxCommand::Next { source, messages_max, bytes_max, answer },
        };
        Ok(core.ask(Lane::Complete, next).await?)
    }

    /// Puts a batch in one unit of work.
    async fn bring(&mut self, core: &CoreHandle, batch: NextBatch) -> Result<Result<(), Failed>, Pause> {
        let Some(open) = &mut self.open else { return Ok(Err(Failed::Gone("no connection".to_owned()))) };
        let source = &self.settings.name;
        // Lanes of which one has found no room: what is behind it waits.
        let (mut done, mut held, mut counts) = (Vec::new(), BTreeSet::new(), Counts::default());
        for NextEntry { id, body, lane, awaited } in batch.entries {
            if held.contains(&lane) {
                continue;
            }
            let entry = match entry(body).await {
                Ok(entry) => entry,
                Err(why) => {
                    let what = format!(
                        "entry {id} of the outbox for {source} cannot be read, and the puts of its device wait: {why}; a \
                         backup may have it (`mqe-gateway store restore`), or lose it: `mqe-gateway sources drop {source} \
                         {id}`"
                    );
                    self.held = Some(what.clone());
                    core.send(Lane::Control, Command::Damaged { id, what }).await?;
                    hold(core, source, id).await?;
                    held.insert(lane);
                    continue;
                }
            };
            let queue = entry.message.queue;
            let why = match open.put(&self.settings, &entry, awaited).await {
                Ok(Put::Done(end)) => {
                    counts.add(end);
                    done.push(id);
                    continue;
                }
                Ok(Put::Later(reason)) => format!("no room there now: {reason}"),
                Ok(Put::Never(reason, why)) => match end_here(core, source, id, reason, entry).await? {
                    Ok(ended) => {
                        tracing::warn!(source, %id, %queue, %reason, why, ?ended, "it can never be put there");
                        self.control.edit(|report| put::tell_ended(ended, report));
                        continue;
                    }
                    Err(kept) => format!("there {reason} ({why}), and here {kept}"),
                },
                Err(failed) => return Ok(Err(failed)),
            };
            tracing::info!(source, %id, %queue, why, "an entry waits");
            self.held = Some(format!("the puts of a device to {queue} wait: {why}"));
            hold(core, source, id).await?;
            held.insert(lane);
        }
        if done.is_empty() {
            return Ok(open.link.connection.back().await.map_err(Failed::from));
        }
        match open.sync.replace(&mut open.link, batch.number, &done).await {
            Ok(true) => {}
            Ok(false) => {
                return Ok(Err(Failed::Gone("the sync message is gone, its queue was cleared?".to_owned())));
            }
            Err(failed) => return Ok(Err(failed)),
        }
        match open.link.connection.commit().await.map_err(Failed::from) {
            Ok(()) => open.sync.committed(),
            // Whatever the reason is, the sync message says on a new connection what became of it.
            Err(failed) => return Ok(Err(Failed::Gone(format!("MQCMIT: {}", failed.why())))),
        }
        self.backoff.reset();
        let number = batch.number;
        end(core, source, number, done).await?;
        self.control.edit(|report| {
            counts.tell(report);
            report.batch = number;
        });
        Ok(Ok(()))
    }

    /// Connects, and decides about the last batch.
    async fn ready(&mut self, core: &CoreHandle) -> Result<(), Pause> {
        if self.open.as_ref().is_some_and(|open| open.link.connection.is_usable()) {
            return Ok(());
        }
        self.open = None;
        self.control.set(State::Starting, None, None);
        let mut link = Link::connect(&self.settings).await.map_err(Pause::Retry)?;
        self.control.edit(|report| {
            report.queue_manager = link.q_mgr.to_string();
            report.address.clone_from(&link.address);
        });
        let source = self.settings.name.clone();
        let command = OutboxCommand::Connected { source, q_mgr: link.q_mgr };
        core.send(Lane::Control, Command::Outbox { command }).await?;
        let Some(queue) = self.settings.sync_queue else {
            return Err(Pause::Stop("without a sync queue nothing can be put once and once only".to_owned()));
        };
        let source = self.settings.name.clone();
        let key = SyncKey { store: self.store, source, direction: SyncDirection::Outbox };
        let sync = SyncQueue::open(&mut link, queue, key).await;
        let mut sync = sync.map_err(|failed| Pause::Retry(failed.why().to_owned()))?;
        self.recover(core, &mut link, &mut sync).await?;
        let letters = Letters::new(self.settings.dead_letter_queue.or(link.dead_letter_queue));
        self.open = Some(Open { link, sync, letters });
        Ok(())
    }

    async fn recover(&self, core: &CoreHandle, link: &mut Link, sync: &mut SyncQueue) -> Result<(), Pause> {
        let source = self.settings.name.clone();
        let state = |answer| Command::Outbox { command: OutboxCommand::State { source, answer } };
        let TargetState { q_mgr_id, committed, in_flight } = core.ask(Lane::Control, state).await?;
        let name = &self.settings.name;
        if !q_mgr_id.is_empty() && q_mgr_id != link.q_mgr_id {
            return Err(Pause::Stop(format!(
                "the queue manager is {}, the last batch was with {q_mgr_id}: if it was replaced, say `sources start {name} \
                 --new-queue-manager`",
                link.q_mgr_id
            )));
        }
        let retry = |failed: Failed| Pause::Retry(failed.why().to_owned());
        match sync.find(link).await.map_err(retry)? {
            Found::Message { number, entries } if number == committed + 1 => {
                tracing::info!(source = name, batch = number, "the queue manager had committed the batch");
                end(core, name, number, entries).await
            }
            Found::Message { number, .. } if number == committed => {
                if q_mgr_id.is_empty() {
                    self.begin(core, link, number).await?;
                }
                Ok(())
            }
            Found::Message { number, .. } => Err(Pause::Stop(format!(
                "the sync message has batch {number}, the store has {committed}: the store is an older copy, or another \
                 gateway uses its name; nothing can be decided"
            ))),
            Found::Foreign => Err(Pause::Stop(
                "the sync message is not this store's: was the store copied, or does another gateway use its name?".to_owned(),
            )),
            Found::Unsettled => {
                let why = "an older unit of work is not finished: nothing is decided until it is";
                Err(Pause::Retry(why.to_owned()))
            }
            Found::None => {
                if !q_mgr_id.is_empty() && !in_flight.is_empty() {
                    return Err(Pause::Stop(format!(
                        "the sync message was cleared while {} puts were under way: look whether they are in {}, and say \
                         `sources start {name} --outbox drained` or `--outbox again`",
                        in_flight.len(),
                        link.q_mgr
                    )));
                }
                sync.replace(link, committed, &[]).await.map_err(retry)?;
                link.connection.commit().await.map_err(|error| retry(error.into()))?;
                sync.committed();
                self.begin(core, link, committed).await
            }
        }
    }

    async fn begin(&self, core: &CoreHandle, link: &Link, number: u64) -> Result<(), Pause> {
        let (source, q_mgr_id) = (self.settings.name.clone(), link.q_mgr_id.clone());
        let begin =
            |answer| Command::Outbox { command: OutboxCommand::Begin { source, q_mgr_id, number, answer } };
        let needs = core.ask(Lane::Complete, begin).await?;
        core.durable(Some(needs)).await.map_err(|_| Pause::Recovery)
    }

    /// The end of the connection: what is open is backed out, which MQDISC would commit.
    async fn close(&mut self) {
        let Some(Open { mut link, .. }) = self.open.take() else { return };
        if link.connection.is_usable() && link.connection.back().await.is_ok() {
            let _ = tokio::time::timeout(LAST_WORD_MAX, link.connection.disconnect()).await;
        }
    }
}

/// How often an idle connection is used.
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// How long the end of a connection may take.
const LAST_WORD_MAX: Duration = Duration::from_secs(5);

/// The entry of a record.
async fn entry(body: BodyRef) -> Result<OutboxEntry, String> {
    let record = read(body).await.map_err(|error| error.to_string())?;
    let entry = OutboxEntry::from_record(&record.envelope, record.body).map_err(|error| error.to_string())?;
    Ok(OutboxEntry { message: entry.message.with_file(record.file), ..entry })
}

async fn hold(core: &CoreHandle, source: &str, id: Id) -> Result<(), Pause> {
    let command = OutboxCommand::Hold { source: source.to_owned(), id };
    Ok(core.send(Lane::Complete, Command::Outbox { command }).await?)
}

/// What there can never be put ends on this side, or the reason why it has to wait.
async fn end_here(
    core: &CoreHandle,
    source: &str,
    id: Id,
    reason: Reason,
    entry: OutboxEntry,
) -> Result<Result<EndedHere, Reason>, Pause> {
    let (source, entry) = (source.to_owned(), Box::new(entry));
    let ended = |answer| Command::Outbox {
        command: OutboxCommand::Undelivered { source, id, reason, entry, answer },
    };
    Ok(core.ask(Lane::Complete, ended).await?)
}

async fn end(core: &CoreHandle, source: &str, number: u64, ids: Vec<Id>) -> Result<(), Pause> {
    let source = source.to_owned();
    let end = |answer| Command::Outbox { command: OutboxCommand::End { source, number, ids, answer } };
    // The next batch is noted behind it, and awaited before anything more is put.
    core.ask(Lane::Complete, end).await?;
    Ok(())
}
