//! CLEAR QLOCAL, and the messages of queues that are deleted: as many as there are, in bounded steps (STORE.md 4).
//!
//! What is cleared leaves its queue at once and as a whole: from then on nobody sees it and it counts nowhere. What one
//! step cannot kill is collected by the next ones. For that, "cleared up to this id" is durable first, and goes with
//! the last step; so a restart goes on, and what is put meanwhile is not touched. Both commands are refused while a
//! unit of work or a lock holds anything of the queue, therefore there are no exceptions to write down.

use std::collections::BTreeMap;

use bytes::Bytes;
use mq_wire::QName;
use mqsc::{Name, ObjectKind, Refusal};
use store::{Batch, Commit, Id, Moved};

use crate::error::RecordError;
use crate::index::{Entry, Index, Key};
use crate::manager::QueueManager;
use crate::object::key;
use crate::queue::bury;
use crate::special::Specials;
use crate::verb::{Effect, Now};

/// What is still to be collected, by the number of the queue, which is never given to another one.
#[derive(Debug, Default)]
pub(crate) struct Clearing(BTreeMap<u64, Backlog>);

/// Messages of one queue.
#[derive(Debug, Default)]
struct Backlog {
    /// Whether keyed state speaks of it: not for temporary dynamic queues, whose messages die with the process.
    recorded: bool,
    /// One for each command.
    indexes: Vec<Index>,
}

impl Clearing {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A message that was being cleared when the process ended.
    pub(crate) fn recover(&mut self, number: u64, priority: u8, order: u64, entry: Entry) {
        let backlog = self.0.entry(number).or_default();
        backlog.recorded = true;
        if backlog.indexes.is_empty() {
            backlog.indexes.push(Index::default());
        }
        if let Some(index) = backlog.indexes.first_mut() {
            index.insert(Key { class: 9 - priority.min(9), order }, entry, None);
        }
    }

    pub(crate) fn contains(&self, number: u64) -> bool {
        self.0.contains_key(&number)
    }

    /// The message lies elsewhere now. Says whether it is here.
    pub(crate) fn set_place(&mut self, moved: &Moved) -> bool {
        let Some(backlog) = self.0.get_mut(&moved.owner.0) else { return false };
        // The order that the queue had when it was cleared need not be the one that it has now.
        let keys = [0, 9 - moved.priority.min(9)].map(|class| Key { class, order: moved.order });
        let mut indexes = backlog.indexes.iter_mut();
        indexes.any(|index| keys.iter().any(|key| index.set_place(*key, moved.id, moved.to)))
    }

    fn add(&mut self, number: u64, mut index: Index, recorded: bool) {
        index.forget_all();
        let backlog = self.0.entry(number).or_default();
        backlog.recorded |= recorded;
        backlog.indexes.push(index);
    }

    /// The next step: what it kills, and what is no longer to be remembered.
    fn step(&mut self, messages_max: usize, specials: &mut Specials) -> Commit {
        let mut commit = Commit::default();
        let Some(mut first) = self.0.first_entry() else { return commit };
        let number = *first.key();
        let backlog = first.get_mut();
        if let Some(index) = backlog.indexes.first_mut() {
            for entry in index.take_first(messages_max) {
                bury(&entry, &mut commit);
                specials.forget(&entry);
            }
            if index.len() == 0 {
                backlog.indexes.remove(0);
            }
        }
        if backlog.indexes.is_empty() {
            if backlog.recorded {
                commit.remove(key::clearing(number));
            }
            first.remove();
        }
        commit
    }

    fn messages(&self) -> u64 {
        self.0.values().flat_map(|backlog| &backlog.indexes).map(|index| index.len() as u64).sum()
    }
}

/// The version of the record that a queue is being cleared.
const VERSION: u8 = 1;

/// Up to which id a queue was cleared, as keyed state: version and id. Later versions may append.
pub(crate) fn encode(up_to: Id) -> Bytes {
    let mut value = vec![VERSION];
    value.extend(up_to.as_u64().to_le_bytes());
    value.into()
}

/// The other way round.
pub(crate) fn decode(key: &[u8], value: &[u8]) -> Result<Id, RecordError> {
    let key = || String::from_utf8_lossy(key).into_owned();
    if let Some(version) = value.first().copied().filter(|version| *version != VERSION) {
        return Err(RecordError::Version { key: key(), version });
    }
    let id = value.get(1..9).and_then(|id| id.try_into().ok()).map(u64::from_le_bytes);
    let damaged = || RecordError::Damaged { key: key(), what: "an id belongs here" };
    id.map(Id::from_u64).ok_or_else(damaged)
}

impl QueueManager {
    /// CLEAR QLOCAL: the queue is empty at once, for everybody. Refused while somebody has it open, or holds messages
    /// of it (AMQ8148).
    pub fn clear(
        &mut self,
        now: Now,
        queue: &QName,
        batch: &mut Batch,
        out: &mut Vec<Effect>,
    ) -> Result<(), Refusal> {
        let name = Name::from(*queue);
        let number = self.directory.number(*queue).filter(|number| self.directory.local(*number).is_some());
        let number = number.ok_or(Refusal::NotFound { kind: ObjectKind::LocalQueue, name })?;
        if self.is_in_use(number) {
            return Err(Refusal::InUse { name });
        }
        // The highest id there is: no message of this start is newer, and those of earlier ones are older.
        let up_to = self.highest_id.max(Id::new(batch.start(), 0));
        // Of an empty queue nothing is written, and nobody may wait for that.
        if let Some(local) = self.directory.local_mut(number).filter(|local| local.index.len() > 0) {
            local.changed = batch.position();
            let index = std::mem::take(&mut local.index);
            let mut commit = Commit::default();
            self.discard(now, number, index, Some(up_to), &mut commit);
            batch.commit(commit);
        }
        self.finish(now, batch, out);
        Ok(())
    }

    /// Messages that are cleared already, and still in the store.
    pub fn clearing(&self) -> u64 {
        self.clearing.messages()
    }

    /// Messages that left their queue die: now if they are few, else step by step. `up_to` is up to which id all
    /// messages of the queue are gone; none if no restart will find any of them.
    pub(crate) fn discard(
        &mut self,
        now: Now,
        number: u64,
        mut index: Index,
        up_to: Option<Id>,
        commit: &mut Commit,
    ) {
        let messages_max = self.settings.limits.clear_messages_max;
        if index.len() <= messages_max {
            for entry in index.take_first(messages_max) {
                bury(&entry, commit);
                self.specials.forget(&entry);
            }
            return;
        }
        if let Some(up_to) = up_to {
            commit.set(key::clearing(number), encode(up_to));
        }
        self.clearing.add(number, index, up_to.is_some());
        self.clear_at = Some(now.instant);
    }

    /// One step.
    pub(crate) fn clear_some(&mut self, now: Now, batch: &mut Batch) {
        let messages_max = self.settings.limits.clear_messages_max.max(1);
        batch.commit(self.clearing.step(messages_max, &mut self.specials));
        self.clear_at = (!self.clearing.is_empty()).then_some(now.instant);
    }
}
