//! Locks of browsing, and marks of browsing that end by themselves (IBM MQ reference, "MQGMO options": MQGMO_LOCK,
//! MQGMO_UNLOCK; MARKINT).
//!
//! A locked message is off the index, so that nobody else meets it, but counts as on the queue. Its own handle sees it:
//! for the time of a call it is back at its place. If it has expired meanwhile, that call ends it: no other would.

use std::time::{Duration, Instant};

use mq_wire::Reason;
use mqsc::Attribute;
use store::{Batch, Commit, Id};

use crate::get::{Outcome, Plan, Which};
use crate::held::Held;
use crate::index::{Entry, Key};
use crate::manager::QueueManager;
use crate::marks::Who;
use crate::queue::{Local, bury};
use crate::verb::{ConnId, Effect, Now};

impl QueueManager {
    /// Locks messages for a handle that has browsed them.
    pub(crate) fn lock_browsed(&mut self, (conn, handle): Who, queue: u64, messages: Vec<(Key, Entry)>) {
        let Some(local) = self.directory.local_mut(queue) else { return };
        let mut locked = Vec::with_capacity(messages.len());
        for (key, _) in messages {
            // It keeps its marks: it is still on the queue.
            let Some(entry) = local.index.remove(key) else { continue };
            local.locked += 1;
            locked.push(self.held.add(Held { queue, key, entry }));
        }
        if let Some(handle) = self.connections.get_mut(&conn).and_then(|c| c.handles.get_mut(&handle)) {
            handle.locked = locked;
        }
    }

    /// Puts what the handle has locked back to its place, for the time of its call. Says what that is.
    pub(crate) fn show_locked(&mut self, now: Now, conn: ConnId, plan: &Plan) -> Vec<(Key, Id)> {
        let handle = self.connections.get_mut(&conn).and_then(|c| c.handles.get_mut(&plan.handle));
        let ids = handle.map(|handle| std::mem::take(&mut handle.locked)).unwrap_or_default();
        ids.into_iter().filter_map(|id| self.show(now, id)).collect()
    }

    fn show(&mut self, now: Now, id: Id) -> Option<(Key, Id)> {
        let held = self.held.take(id)?;
        let object = self.directory.get_mut(held.queue)?;
        // The order of the queue may have been altered meanwhile.
        let key = object.key(held.entry.priority, held.key.order);
        let local = object.local.as_deref_mut()?;
        local.locked = local.locked.saturating_sub(1);
        local.insert(key, held.entry, &self.specials);
        if held.entry.is_expired(now.wall_ms) {
            self.expired.take(held.queue, local, &[key]);
            return None;
        }
        // It may stay there.
        self.note_expiry(now, held.queue, held.entry.expiry_ms);
        Some((key, id))
    }

    /// After the call: the messages are locked again, or everybody can have them.
    #[expect(clippy::too_many_arguments, reason = "a call and its outcome, and where its effects go")]
    pub(crate) fn settle_lock(
        &mut self,
        now: Now,
        conn: ConnId,
        plan: &Plan,
        shown: Vec<(Key, Id)>,
        outcome: &Outcome,
        batch: &mut Batch,
        out: &mut Vec<Effect>,
    ) {
        let keeps = match outcome {
            Outcome::Failed(_) => true,
            Outcome::Got { got, .. } if got.reason == Reason::TRUNCATED_MSG_FAILED => true,
            Outcome::Nothing => !matches!(plan.which, Which::BrowseFirst | Which::BrowseNext),
            Outcome::Got { .. } | Outcome::Read { .. } => !plan.browses(),
        };
        let there = |(key, id): &(Key, Id)| {
            let local = self.directory.local(plan.queue);
            local.is_some_and(|local| local.index.get(*key).is_some_and(|entry| entry.id == *id))
        };
        let left: Vec<(Key, Id)> = shown.into_iter().filter(there).collect();
        if keeps {
            let entries = left
                .into_iter()
                .filter_map(|(key, _)| Some((key, *self.directory.local(plan.queue)?.index.get(key)?)));
            let entries = entries.collect();
            self.lock_browsed((conn, plan.handle), plan.queue, entries);
        } else {
            let placed = left.into_iter().map(|(key, _)| (plan.queue, key)).collect();
            self.offer(now, placed, batch, out);
        }
    }

    /// Gives up what a handle has locked. Says whether there was anything.
    pub(crate) fn unlock_browsed(
        &mut self,
        now: Now,
        (conn, handle): Who,
        batch: &mut Batch,
        out: &mut Vec<Effect>,
    ) -> bool {
        let handle = self.connections.get_mut(&conn).and_then(|c| c.handles.get_mut(&handle));
        let ids = handle.map(|handle| std::mem::take(&mut handle.locked)).unwrap_or_default();
        let locked = !ids.is_empty();
        self.give_up_locks(now, ids, batch, out);
        locked
    }

    /// Messages that were locked can be had again.
    pub(crate) fn give_up_locks(&mut self, now: Now, ids: Vec<Id>, batch: &mut Batch, out: &mut Vec<Effect>) {
        self.place_again(now, ids, |local| &mut local.locked, batch, out);
    }

    /// Messages that were held can be had again, as if nobody had had them; those whose queue was deleted end. `counter` is
    /// where their queue counts them.
    pub(crate) fn place_again(
        &mut self,
        now: Now,
        ids: Vec<Id>,
        counter: impl Fn(&mut Local) -> &mut u64,
        batch: &mut Batch,
        out: &mut Vec<Effect>,
    ) {
        if ids.is_empty() {
            return;
        }
        let (mut placed, mut lost) = (Vec::new(), Commit::default());
        for held in self.held.take_all(ids) {
            let Some(local) = self.directory.local_mut(held.queue) else {
                bury(&held.entry, &mut lost);
                self.specials.forget(&held.entry);
                continue;
            };
            let counter = counter(local);
            *counter = counter.saturating_sub(1);
            placed.extend(self.place(now, held));
        }
        batch.commit(lost);
        self.offer(now, placed, batch, out);
    }

    /// When a co-operative mark that is made now ends: MARKINT.
    pub(crate) fn mark_ends(&self, now: Now) -> Option<Instant> {
        let ms = u64::try_from(self.number(Attribute::MARKINT)).ok()?;
        now.instant.checked_add(Duration::from_millis(ms))
    }

    /// Notes when the first mark on a queue ends.
    pub(crate) fn note_marks(&mut self, queue: u64) {
        let Some(local) = self.directory.local_mut(queue) else { return };
        let first = local.marks.first_end();
        if first == local.marks_end {
            return;
        }
        let before = std::mem::replace(&mut local.marks_end, first);
        if let Some(before) = before {
            self.marks_end.remove(&(before, queue));
        }
        if let Some(first) = first {
            self.marks_end.insert((first, queue));
        }
    }

    /// Ends the marks whose time is over.
    pub(crate) fn end_marks(&mut self, now: Now, batch: &mut Batch, out: &mut Vec<Effect>) {
        while let Some((_, queue)) = self.marks_end.first().copied().filter(|(at, _)| *at <= now.instant) {
            self.marks_end.pop_first();
            if let Some(local) = self.directory.local_mut(queue) {
                local.marks_end = None;
            }
            self.end_marks_of(now, queue, batch, out);
            self.note_marks(queue);
        }
    }

    /// As [`Self::end_marks`], of one queue.
    pub(crate) fn end_marks_of(&mut self, now: Now, queue: u64, batch: &mut Batch, out: &mut Vec<Effect>) {
        let Some(local) = self.directory.local_mut(queue).filter(|local| !local.marks.is_empty()) else {
            return;
        };
        let ended = local.marks.end(now.instant);
        self.unmarked(now, queue, ended, batch, out);
    }

    /// Messages are not marked any more: somebody may wait for that.
    pub(crate) fn unmarked(
        &mut self,
        now: Now,
        queue: u64,
        keys: Vec<Key>,
        batch: &mut Batch,
        out: &mut Vec<Effect>,
    ) {
        if keys.is_empty() {
            return;
        }
        let Some(local) = self.directory.local(queue).filter(|local| !local.waiting.is_empty()) else {
            return;
        };
        let there = keys.into_iter().filter(|key| local.index.get(*key).is_some());
        let placed = there.map(|key| (queue, key)).collect();
        self.offer(now, placed, batch, out);
    }

    /// A handle is closed, or its connection is gone: its locks and its marks go.
    pub(crate) fn end_browsing(
        &mut self,
        now: Now,
        (conn, number): Who,
        handle: &crate::connection::Handle,
        batch: &mut Batch,
        out: &mut Vec<Effect>,
    ) {
        self.give_up_locks(now, handle.locked.clone(), batch, out);
        let crate::connection::Target::Queue(route) = &handle.target else { return };
        let queue = route.used;
        let Some(local) = self.directory.local_mut(queue).filter(|local| !local.marks.is_empty()) else {
            return;
        };
        let unmarked = local.marks.close((conn, number));
        self.note_marks(queue);
        self.unmarked(now, queue, unmarked, batch, out);
    }
}
