//! The core's side of the outbox: where puts of devices go, what must reach other queue managers later, and the commands of the
//! tasks that bring it there (ONCE.md 3).
//!
//! | key | value |
//! |---|---|
//! | `gN` source | the name of its queue manager |

mod undelivered;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mq_wire::{Chars, QMgrName, Reason};
use mqe::outbox::{Depth, EntryKind, OutboxEntry, OutboxError, TargetState};
use mqe::{DeviceMessage, DeviceName};
use store::{BodyRef, Commit, Id, Position, Recovered, UnitId};
use tokio::sync::{Notify, oneshot};

use super::turn::{Core, Turn, reply};

pub(crate) use undelivered::EndedHere;

const NAME: &[u8] = b"gN";

/// What the core and the task of an outbox share.
#[derive(Debug, Default)]
pub(crate) struct OutboxBell {
    /// Rung when something is in it.
    pub(crate) rung: Notify,
    /// The source is stopped, and puts of devices are to be refused meanwhile.
    pub(crate) closed: AtomicBool,
    /// Devices are answered when their puts are in the queue manager.
    pub(crate) put_wait: bool,
}

/// Which queue manager each source leads to. What a source said last counts until it says something else, also over
/// restarts; sources that are not configured any more lead nowhere.
#[derive(Debug, Default)]
pub(crate) struct Targets(BTreeMap<String, QMgrName>);

impl Targets {
    pub(super) fn recover(recovered: &Recovered) -> Self {
        let ours = recovered.keyed.iter().filter_map(|(key, value)| {
            let source = key.strip_prefix(NAME)?;
            let q_mgr = QMgrName(Chars::cut(&String::from_utf8_lossy(value)));
            Some((String::from_utf8_lossy(source).into_owned(), q_mgr))
        });
        Self(ours.collect())
    }

    /// Without the sources that are not configured any more: nobody would empty their outboxes.
    pub(super) fn only(mut self, configured: &BTreeMap<String, Arc<OutboxBell>>) -> Self {
        self.0.retain(|source, _| configured.contains_key(source));
        self
    }

    /// The source that leads to a queue manager. Of several it is always the same one, or a device's puts would
    /// overtake each other.
    pub(super) fn of(&self, q_mgr: &QMgrName) -> Option<&str> {
        self.0.iter().find(|(_, other)| *other == q_mgr).map(|(source, _)| source.as_str())
    }
}

/// What the task of an outbox asks.
#[derive(Debug)]
pub(crate) enum OutboxCommand {
    /// A source has connected to a queue manager of this name.
    Connected { source: String, q_mgr: QMgrName },
    /// What the journal knows of it.
    State { source: String, answer: oneshot::Sender<TargetState> },
    /// It goes on with this queue manager, from this number.
    Begin { source: String, q_mgr_id: String, number: u64, answer: oneshot::Sender<Position> },
    /// The next batch; nothing may be put before it is durable.
    Next { source: String, messages_max: usize, bytes_max: u64, answer: oneshot::Sender<NextBatch> },
    /// The batch was committed there with these entries.
    End { source: String, number: u64, ids: Vec<Id>, answer: oneshot::Sender<Position> },
    /// This entry can never be put there, for this reason: it ends here, or has to wait.
    Undelivered {
        source: String,
        id: Id,
        reason: Reason,
        entry: Box<OutboxEntry>,
        answer: oneshot::Sender<Result<EndedHere, Reason>>,
    },
    /// The device of this entry is held back.
    Hold { source: String, id: Id },
    /// An operator says what became of the batch that was under way when the sync message was cleared.
    Cleared { source: String, drained: bool, answer: oneshot::Sender<(usize, Position)> },
    /// An operator says that the queue manager was replaced: nothing of the last batch with the old one can come again.
    Replaced { source: String, answer: oneshot::Sender<Position> },
    /// What waits in all of them.
    Depths { answer: oneshot::Sender<Vec<(String, Depth)>> },
}

/// A batch of an outbox.
#[derive(Debug)]
pub(crate) struct NextBatch {
    pub(crate) number: u64,
    pub(crate) entries: Vec<NextEntry>,
    pub(crate) needs: Position,
    /// When something that is held back may go on.
    pub(crate) due: Option<std::time::Instant>,
}

/// An entry of a batch.
#[derive(Debug)]
pub(crate) struct NextEntry {
    pub(crate) id: Id,
    pub(crate) body: BodyRef,
    /// Those with the same one keep their order.
    pub(crate) lane: u64,
    /// Its device waits for what becomes of it.
    pub(crate) awaited: bool,
}

impl Core {
    pub(super) fn outbox_command(&mut self, command: OutboxCommand, turn: &mut Turn) {
        let mut commit = Commit::default();
        let needs = turn.batch.position();
        match command {
            OutboxCommand::Connected { source, q_mgr } => {
                if self.targets.0.get(&source) != Some(&q_mgr) {
                    commit.set([NAME, source.as_bytes()].concat(), q_mgr.0.trimmed().to_vec());
                    self.targets.0.insert(source, q_mgr);
                }
            }
            OutboxCommand::State { source, answer } => reply(answer, self.outbox.state(&source)),
            OutboxCommand::Begin { source, q_mgr_id, number, answer } => {
                self.outbox.begin(&source, &q_mgr_id, number, &mut commit);
                reply(answer, needs);
            }
            OutboxCommand::Next { source, messages_max, bytes_max, answer } => {
                let now = turn.mqe_now();
                let (number, entries) =
                    self.outbox.next_batch(now, &source, messages_max, bytes_max, &mut commit);
                let due = self.outbox.next_due(&source);
                turn.batch.commit(commit);
                // Entries of this very batch can be read when it is with the store.
                let entries = entries.into_iter().map(|(id, place)| {
                    let lane = self.outbox.lane(&source, id).unwrap_or_default();
                    (id, place, lane, self.area.is_awaited(id))
                });
                turn.outbox.push((answer, number, entries.collect(), due));
                return;
            }
            OutboxCommand::End { source, number, ids, answer } => {
                self.end_entries(&source, number, &ids, &mut commit, turn);
                reply(answer, needs);
            }
            OutboxCommand::Cleared { source, drained, answer } => {
                let TargetState { q_mgr_id, committed, in_flight } = self.outbox.state(&source);
                if drained {
                    self.end_entries(&source, committed + 1, &in_flight, &mut commit, turn);
                } else {
                    self.outbox.begin(&source, &q_mgr_id, committed, &mut commit);
                }
                reply(answer, (in_flight.len(), needs));
            }
            OutboxCommand::Replaced { source, answer } => {
                let TargetState { committed, .. } = self.outbox.state(&source);
                self.outbox.begin(&source, "", committed, &mut commit);
                self.remote_replaced(&source, turn);
                reply(answer, needs);
            }
            OutboxCommand::Depths { answer } => {
                let depths = self.outbox.targets().map(|name| (name.to_owned(), self.outbox.depth(name)));
                reply(answer, depths.collect());
            }
            OutboxCommand::Undelivered { source, id, reason, entry, answer } => {
                let ended = self.undelivered(&source, id, reason, *entry, turn);
                reply(answer, ended);
            }
            OutboxCommand::Hold { source, id } => {
                let held = self.outbox.hold(turn.mqe_now(), &source, id);
                tracing::info!(source, %id, ?held, "a put finds no room there: its device's puts wait");
            }
        }
        turn.batch.commit(commit);
    }

    /// Entries that were put end, and devices hear of those that they wait for.
    fn end_entries(&mut self, source: &str, number: u64, ids: &[Id], commit: &mut Commit, turn: &mut Turn) {
        if self.outbox.end(source, number, ids, commit) {
            self.area.entries_ended(ids, None, commit, &turn.batch, &mut turn.area);
        }
    }

    /// Answers for batches whose entries are with the store.
    pub(super) fn give_batches(&self, batches: Vec<super::turn::OutboxAnswer>, needs: Position) {
        for (answer, number, entries, due) in batches {
            let entries = entries.into_iter().map(|(id, place, lane, awaited)| {
                let body = self.store().body(id, place);
                NextEntry { id, body, lane, awaited }
            });
            reply(answer, NextBatch { number, entries: entries.collect(), needs, due });
        }
    }

    /// Wakes the tasks of these targets.
    pub(super) fn ring(&self, targets: BTreeSet<String>) {
        for bell in targets.iter().filter_map(|target| self.wiring.outboxes.get(target)) {
            bell.rung.notify_one();
        }
    }

    /// The source whose outbox takes what is for a queue manager that is not the embedded one.
    pub(super) fn source_of(&self, q_mgr: &QMgrName) -> Option<String> {
        if q_mgr.is_blank() || *q_mgr == self.queue_manager.name() {
            return None;
        }
        self.targets.of(q_mgr).map(str::to_owned)
    }

    /// A put of a device for another queue manager. Gives the entry for whose end its answer waits, if it does.
    pub(super) fn put_into_outbox(
        &mut self,
        source: &str,
        device: &DeviceName,
        q_mgr: QMgrName,
        message: DeviceMessage,
        unit: UnitId,
        turn: &mut Turn,
    ) -> Result<Option<Id>, Reason> {
        let bell = self.wiring.outboxes.get(source);
        let put_wait = bell.is_some_and(|bell| bell.put_wait);
        if bell.is_some_and(|bell| bell.closed.load(Ordering::Acquire)) {
            // The device keeps it, and comes again.
            return Err(Reason::Q_MGR_QUIESCING);
        }
        let entry = OutboxEntry { kind: EntryKind::Put, device: Some(*device), q_mgr, message };
        let id = self.enter(source, Some(device), &entry, unit, turn)?;
        Ok(Some(id).filter(|_| put_wait))
    }

    /// Enters something in a unit.
    pub(super) fn enter(
        &mut self,
        source: &str,
        device: Option<&DeviceName>,
        entry: &OutboxEntry,
        unit: UnitId,
        turn: &mut Turn,
    ) -> Result<Id, Reason> {
        let entered = self.outbox.put(source, device, entry, unit, &mut turn.batch);
        entered.map_err(|error| {
            tracing::warn!(%error, "nothing can be entered");
            match error {
                OutboxError::Full { .. } => Reason::Q_FULL,
                OutboxError::NoTarget { .. } => Reason::UNKNOWN_REMOTE_Q_MGR,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(leads: &[(&str, &str)]) -> Targets {
        let q_mgr = |name: &str| QMgrName(Chars::cut(name));
        Targets(leads.iter().map(|(source, name)| ((*source).to_owned(), q_mgr(name))).collect())
    }

    #[test]
    fn a_source_that_was_renamed_leads_nowhere_under_its_old_name() {
        let configured = BTreeMap::from([("new".to_owned(), Arc::default())]);
        let targets = targets(&[("old", "HQ"), ("zold", "HQ"), ("new", "HQ")]).only(&configured);
        assert_eq!(targets.of(&QMgrName(Chars::cut("HQ"))), Some("new"));
        let removed = self::targets(&[("old", "HQ")]).only(&configured);
        assert_eq!(removed.of(&QMgrName(Chars::cut("HQ"))), None);
    }

    #[test]
    fn of_two_sources_to_one_queue_manager_always_the_same_takes_the_puts() {
        let mut targets = targets(&[("a", "HQ")]);
        let hq = QMgrName(Chars::cut("HQ"));
        targets.0.insert("b".to_owned(), hq);
        assert_eq!(targets.of(&hq), Some("a"));
    }
}
