//! The queues of all types by name and number, and what a local queue has beside its definition.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::time::Instant;

use mq_wire::QName;
use mqsc::ObjectKind;
use store::{Batch, Commit, Id, OwnerId, Place, Position};

use crate::index::{Entry, Flags, Index, Key, Want};
use crate::marks::{Marks, Owner};
use crate::object::{Definition, Facts, key};
use crate::special::Specials;
use crate::verb::Now;
use crate::waiting::Waiting;

/// A queue of any type.
#[derive(Debug)]
pub(crate) struct Object {
    pub(crate) definition: Definition,
    pub(crate) facts: Facts,
    /// Goes up when where its messages go changes: handles opened before are of no more use (2041).
    pub(crate) version: u32,
    /// Since when the definition is as it is.
    pub(crate) position: Position,
    /// What a local queue has.
    pub(crate) local: Option<Box<Local>>,
}

impl Object {
    pub(crate) fn new(definition: Definition, position: Position) -> Self {
        let facts = Facts::of(&definition.attributes);
        let local = (definition.kind == ObjectKind::LocalQueue).then(Box::default);
        Self { definition, facts, version: 0, position, local }
    }

    pub(crate) fn number(&self) -> u64 {
        self.definition.number
    }

    /// Where a message of this priority stands.
    pub(crate) fn key(&self, priority: u8, order: u64) -> Key {
        Key { class: if self.facts.fifo { 0 } else { 9 - priority.min(9) }, order }
    }
}

/// A local queue: its messages and who uses it.
#[derive(Debug, Default)]
pub(crate) struct Local {
    /// What can be had.
    pub(crate) index: Index,
    pub(crate) waiting: Waiting,
    /// Puts that are not committed.
    pub(crate) uncommitted_puts: u64,
    /// Gets and locks that are not committed.
    pub(crate) uncommitted_gets: u64,
    /// Messages that handles have browsed and locked: off the index, but on the queue.
    pub(crate) locked: u64,
    /// Marks of browsing.
    pub(crate) marks: Marks,
    /// When the first of them ends, as the queue manager knows it.
    pub(crate) marks_end: Option<Instant>,
    pub(crate) open_input: u32,
    pub(crate) open_output: u32,
    /// Handles that are open, whatever for.
    pub(crate) open: u32,
    /// Whether the handle open for input excludes others.
    pub(crate) exclusive: bool,
    /// The newest batch that changed what is durably here: "none" depends on it.
    pub(crate) changed: Position,
    /// Messages that expired, ever.
    pub(crate) expired: u64,
    /// When something on it expires first, as the expiry sweep knows it.
    pub(crate) due: Option<u64>,
}

impl Local {
    /// CURDEPTH: a get in a unit of work counts at once, a put too (mq-objects.md, cases: depth).
    pub(crate) fn depth(&self) -> u64 {
        self.index.len() as u64 + self.uncommitted_puts + self.locked
    }

    /// A message is at this place.
    pub(crate) fn insert(&mut self, key: Key, entry: Entry, specials: &Specials) {
        self.index.insert(key, entry, specials.of(&entry));
        if !self.marks.is_empty() {
            self.marks.comes(key);
        }
    }

    /// A message leaves its place, with the marks that it has.
    pub(crate) fn remove(&mut self, key: Key) -> Option<Entry> {
        if !self.marks.is_empty() {
            self.marks.goes(key);
        }
        self.index.remove(key)
    }

    /// The first message behind `after` that is wanted, is not marked for any of these, and has not expired. Those
    /// found expired are put into `expired` and are to be removed.
    pub(crate) fn find(
        &mut self,
        want: &Want,
        marked_for: &[Owner],
        after: Option<Key>,
        wall_ms: u64,
        expired: &mut Vec<Key>,
    ) -> Option<Key> {
        let mut after = after;
        loop {
            let key = self.index.find(want, after, wall_ms, expired)?;
            if marked_for.is_empty() || self.marks.is_empty() {
                return Some(key);
            }
            match self.marks.step_over(marked_for, &self.index, key) {
                None => return Some(key),
                Some(behind) => after = Some(behind),
            }
        }
    }

    pub(crate) fn uncommitted(&self) -> u64 {
        self.uncommitted_puts + self.uncommitted_gets
    }

    /// The position on which an answer that shows the message depends.
    pub(crate) fn needs(&self, entry: &Entry, start: u32) -> Option<Position> {
        match entry.batch {
            0 => None,
            Entry::LATE => needs(self.changed),
            batch => Some(Position { start, batch: batch.into() }),
        }
    }
}

/// No position at all needs no waiting.
pub(crate) fn needs(position: Position) -> Option<Position> {
    (position != Position::default()).then_some(position)
}

/// Adds the death of a message, and of what is kept about it.
pub(crate) fn bury(entry: &Entry, commit: &mut Commit) {
    commit.kill(entry.id, entry.place);
    if entry.persistent() && entry.backouts > 0 {
        commit.remove(key::backouts(entry.id));
    }
    if entry.flags.contains(Flags::SPECIAL) && entry.survives() {
        commit.remove(key::special(entry.id));
    }
}

/// Every queue, by name and by number.
#[derive(Debug, Default)]
pub(crate) struct Directory {
    names: BTreeMap<QName, u64>,
    objects: BTreeMap<u64, Object>,
}

impl Directory {
    pub(crate) fn add(&mut self, object: Object) {
        self.names.insert(object.definition.queue_name(), object.number());
        self.objects.insert(object.number(), object);
    }

    pub(crate) fn remove(&mut self, number: u64) -> Option<Object> {
        let object = self.objects.remove(&number)?;
        self.names.remove(&object.definition.queue_name());
        Some(object)
    }

    pub(crate) fn number(&self, name: QName) -> Option<u64> {
        self.names.get(&name).copied()
    }

    pub(crate) fn by_name(&self, name: QName) -> Option<&Object> {
        self.objects.get(self.names.get(&name)?)
    }

    pub(crate) fn get(&self, number: u64) -> Option<&Object> {
        self.objects.get(&number)
    }

    pub(crate) fn get_mut(&mut self, number: u64) -> Option<&mut Object> {
        self.objects.get_mut(&number)
    }

    pub(crate) fn local(&self, number: u64) -> Option<&Local> {
        self.objects.get(&number)?.local.as_deref()
    }

    pub(crate) fn local_mut(&mut self, number: u64) -> Option<&mut Local> {
        self.objects.get_mut(&number)?.local.as_deref_mut()
    }

    /// Those from a name on, in the order of their names.
    pub(crate) fn from(&self, start: Bound<QName>) -> impl Iterator<Item = &Object> {
        let numbers = self.names.range((start, Bound::Unbounded)).map(|(_, number)| number);
        numbers.filter_map(|number| self.objects.get(number))
    }

    /// All, in the order of their names.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Object> {
        self.names.values().filter_map(|number| self.objects.get(number))
    }
}

/// Deaths of the expired that are written with one event.
const DEATHS_MAX: usize = 1_000;

/// Messages that were found expired: off their queues, their deaths still to be written.
#[derive(Debug, Default)]
pub(crate) struct Expired {
    dying: BTreeMap<Id, (u64, Entry)>,
    /// On whose end a report is wanted: their records have to be read first.
    unread: BTreeMap<Id, (u64, Entry)>,
    /// Those of them of which the owner has to hear.
    untold: BTreeSet<Id>,
}

impl Expired {
    /// Whether there are deaths to be written.
    pub(crate) fn is_empty(&self) -> bool {
        self.dying.is_empty()
    }

    /// Takes the messages with these keys off the queue.
    pub(crate) fn take(&mut self, number: u64, local: &mut Local, keys: &[Key]) {
        for key in keys {
            let Some(entry) = local.remove(*key) else { continue };
            if entry.flags.contains(Flags::EXPIRATION) {
                self.untold.insert(entry.id);
                self.unread.insert(entry.id, (number, entry));
            } else {
                self.dying.insert(entry.id, (number, entry));
            }
        }
    }

    /// The message lies elsewhere now. Says whether it is here.
    pub(crate) fn set_place(&mut self, id: Id, place: Place) -> bool {
        let entry = self.dying.get_mut(&id).or_else(|| self.unread.get_mut(&id));
        let Some((_, entry)) = entry else { return false };
        entry.place = place;
        true
    }

    /// A message that has to be read, and was not yet.
    pub(crate) fn unread(&self, id: Id) -> Option<&Entry> {
        self.unread.get(&id).map(|(_, entry)| entry)
    }

    /// Messages that the owner has to read, each said once.
    pub(crate) fn tell(&mut self) -> Vec<(Id, Place)> {
        let untold = std::mem::take(&mut self.untold);
        untold.into_iter().filter_map(|id| Some((id, self.unread.get(&id)?.1.place))).collect()
    }

    /// The death of a message that was read.
    pub(crate) fn end(
        &mut self,
        id: Id,
        directory: &mut Directory,
        specials: &mut Specials,
        batch: &Batch,
    ) -> Option<Commit> {
        let dead = self.unread.remove(&id)?;
        let mut commit = Commit::default();
        bury_expired([dead], directory, specials, batch, &mut commit);
        Some(commit)
    }

    /// Writes the deaths, up to a thousand, and the counters with them. The others come with the next batches: a message
    /// that has expired once does so after a restart too.
    pub(crate) fn write(&mut self, directory: &mut Directory, specials: &mut Specials, batch: &mut Batch) {
        if self.dying.is_empty() {
            return;
        }
        let mut commit = Commit::default();
        let dying = &mut self.dying;
        let dead = std::iter::from_fn(|| dying.pop_first()).map(|(_, dead)| dead).take(DEATHS_MAX);
        bury_expired(dead, directory, specials, batch, &mut commit);
        batch.commit(commit);
    }
}

/// Adds the deaths of expired messages, and the counters of their queues.
fn bury_expired(
    dead: impl IntoIterator<Item = (u64, Entry)>,
    directory: &mut Directory,
    specials: &mut Specials,
    batch: &Batch,
    commit: &mut Commit,
) {
    let mut counters = BTreeMap::new();
    for (number, entry) in dead {
        bury(&entry, commit);
        specials.forget(&entry);
        if let Some(local) = directory.local_mut(number) {
            local.expired += 1;
            counters.insert(number, local.expired);
            if entry.survives() {
                local.changed = batch.position();
            }
        }
    }
    for (number, count) in counters {
        commit.set(key::expired(number), count.to_le_bytes().to_vec());
    }
}

/// The owner number in the store of a queue's messages. The top bit is for others.
pub(crate) fn owner(number: u64) -> OwnerId {
    OwnerId(number)
}

/// Milliseconds at which something with this Expiry (tenths of a second) ends; 0 is never, as is all that is no time.
pub(crate) fn expiry_ms(now: Now, expiry: i32) -> u64 {
    let tenths = u64::try_from(expiry).ok().filter(|tenths| *tenths > 0);
    tenths.map_or(0, |tenths| now.wall_ms.saturating_add(tenths * 100))
}
