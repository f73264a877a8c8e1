//! What became of the last batch: the sync message on the queue manager against the journal (ONCE.md 4, recovery). Done under
//! the exclusive open of the transmission queue, before anything is taken.
//!
//! | sync message | journal | what it means |
//! |---|---|---|
//! | n | n is prepared | MQ has committed: n becomes visible |
//! | n | n is the last one | MQ has not committed what came after: a prepared batch is dropped |
//! | none, and something on the queue is uncommitted | | an old unit of work may hold it: wait |
//! | none | | it was cleared: the messages themselves are looked for |
//! | another number, another store's | | somebody else was here: stop |

use std::sync::Arc;

use mq_wire::{GetOptions, MatchOptions, Mqgmo, Mqmd, MsgId};

use super::super::listener::Pause;
use super::RemoteQueue;
use crate::core::{Command, CoreHandle, Lane, RemoteState};
use crate::remote::{Failed, Found, Link, SyncDirection, SyncKey, SyncQueue};

impl RemoteQueue {
    /// Decides about the last batch, and gives the sync queue with its message.
    pub(super) async fn recover(
        &mut self,
        core: &Arc<CoreHandle>,
        link: &mut Link,
        queue: i32,
    ) -> Result<Option<SyncQueue>, Pause> {
        let source = self.settings.name.clone();
        let state = core.ask(Lane::Control, |answer| Command::RemoteState { source, answer }).await?;
        // What the journal says must be so after any crash from here on.
        core.durable(state.needs).await.map_err(|_| Pause::Recovery)?;
        let RemoteState { q_mgr_id, .. } = &state;
        if !q_mgr_id.is_empty() && *q_mgr_id != link.q_mgr_id {
            let name = &self.settings.name;
            return Err(Pause::Stop(format!(
                "the queue manager is {}, the last batch was with {q_mgr_id}: if it was replaced, and nothing of the old \
                 one's last batch can come again, say `sources start {name} --new-queue-manager`",
                link.q_mgr_id
            )));
        }
        let Some(sync_queue) = self.settings.sync_queue else {
            self.look_up(core, link, queue, &state).await?;
            if q_mgr_id.is_empty() {
                self.begin(core, link, state.committed).await?;
            }
            return Ok(None);
        };
        let key = SyncKey {
            store: self.store,
            source: self.settings.name.clone(),
            direction: SyncDirection::Source,
        };
        let mut sync = match SyncQueue::open(link, sync_queue, key).await {
            Ok(sync) => sync,
            Err(failed) => return Err(self.lost(failed)),
        };
        let found = match sync.find(link).await {
            Ok(found) => found,
            Err(failed) => return Err(self.lost(failed)),
        };
        match found {
            Found::Message { number, .. } => self.compare(core, link, &state, number).await?,
            Found::Foreign => {
                return Err(Pause::Stop(format!(
                    "the sync message on {sync_queue} is not this store's: was the store copied, or does another gateway \
                     use its name? Give one of them another name, or remove the message"
                )));
            }
            Found::Unsettled => {
                let why = format!(
                    "an older unit of work on {sync_queue} is not finished: nothing is decided until it is"
                );
                return Err(Pause::Retry { why, after: self.backoff.next() });
            }
            Found::None => {
                // The first time; or it was cleared, and the messages themselves must tell.
                if !q_mgr_id.is_empty() || state.prepared.is_some() {
                    tracing::warn!(
                        source = self.settings.name,
                        queue = %sync_queue,
                        "the sync message is gone: the last batch is looked for by its message ids"
                    );
                }
                let committed = self.look_up(core, link, queue, &state).await?;
                if let Err(failed) = write_anew(&mut sync, link, committed).await {
                    return Err(self.lost(failed));
                }
                self.begin(core, link, committed).await?;
            }
        }
        Ok(Some(sync))
    }

    async fn compare(
        &self,
        core: &CoreHandle,
        link: &Link,
        state: &RemoteState,
        number: u64,
    ) -> Result<(), Pause> {
        let prepared = state.prepared.as_ref().map(|batch| batch.number);
        if prepared == Some(number) {
            tracing::info!(
                source = self.settings.name,
                batch = number,
                "the queue manager had committed the batch"
            );
            self.decide(core, number, true).await
        } else if number == state.committed {
            if let Some(dropped) = prepared {
                tracing::info!(
                    source = self.settings.name,
                    batch = dropped,
                    "the queue manager had not committed the batch"
                );
                self.decide(core, dropped, false).await?;
            }
            if state.q_mgr_id.is_empty() {
                // Written in a start that did not get any further.
                self.begin(core, link, number).await?;
            }
            Ok(())
        } else {
            Err(Pause::Stop(format!(
                "the sync message has batch {number}, the store has {} (and undecided {prepared:?}): the store is an older \
                 copy, or another gateway uses its name; nothing can be decided",
                state.committed
            )))
        }
    }

    /// Without a sync message: MQ has committed if none of the batch's messages is there any more (mqe.md 4.2). Gives the
    /// number of the last batch that is committed.
    async fn look_up(
        &mut self,
        core: &CoreHandle,
        link: &mut Link,
        queue: i32,
        state: &RemoteState,
    ) -> Result<u64, Pause> {
        let Some(batch) = &state.prepared else { return Ok(state.committed) };
        for id in &batch.msg_ids {
            match is_there(link, queue, *id).await {
                Ok(false) => {}
                Ok(true) => {
                    self.decide(core, batch.number, false).await?;
                    return Ok(state.committed);
                }
                Err(failed) => return Err(self.lost(failed)),
            }
        }
        self.decide(core, batch.number, true).await?;
        Ok(batch.number)
    }

    /// Notes with which queue manager the source goes on, and from which number.
    async fn begin(&self, core: &CoreHandle, link: &Link, number: u64) -> Result<(), Pause> {
        let (source, q_mgr_id) = (self.settings.name.clone(), link.q_mgr_id.clone());
        let begin = |answer| Command::RemoteBegin { source, q_mgr_id, number, answer };
        let needs = core.ask(Lane::Complete, begin).await?;
        core.durable(Some(needs)).await.map_err(|_| Pause::Recovery)
    }
}

/// A sync message with the number of the last committed batch, in a unit of work of its own.
async fn write_anew(sync: &mut SyncQueue, link: &mut Link, number: u64) -> Result<(), Failed> {
    sync.replace(link, number, &[]).await?;
    link.connection.commit().await?;
    sync.committed();
    Ok(())
}

/// Whether a message is on the transmission queue: one that another unit of work holds cannot be, under the exclusive open.
async fn is_there(link: &mut Link, queue: i32, id: MsgId) -> Result<bool, Failed> {
    let options = GetOptions::BROWSE_FIRST | GetOptions::ACCEPT_TRUNCATED_MSG | GetOptions::FAIL_IF_QUIESCING;
    let gmo = Mqgmo { version: 2, options, match_options: MatchOptions::MSG_ID, ..Mqgmo::default() };
    let md = Mqmd { msg_id: id, ..Mqmd::default() };
    Ok(link.connection.get(queue, md, gmo, 0).await?.is_some())
}
