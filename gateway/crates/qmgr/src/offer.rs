//! Messages that come, and gets that wait for them: who is given what, and what ends a wait.

use std::time::Instant;

use mq_wire::{GroupId, Reason};
use store::{Batch, Position};

use crate::connection::{Route, Target};
use crate::get::{Outcome, Plan};
use crate::held::Held;
use crate::index::{Entry, Key};
use crate::manager::{QueueManager, failed};
use crate::verb::{CallId, ConnId, Effect, Now, Reply};
use crate::waiting::{Candidate, Turn, Waiter};

impl QueueManager {
    pub(crate) fn wait(&mut self, conn: ConnId, call: CallId, plan: Plan, deadline: Option<Instant>) {
        self.next_turn += 1;
        let (turn, queue) = (self.next_turn, plan.queue);
        let Some(local) = self.directory.local_mut(queue) else { return };
        local.waiting.add(turn, Waiter { conn, call, plan, deadline });
        if let Some(deadline) = deadline {
            self.deadlines.insert((deadline, queue, turn));
        }
        if let Some(connection) = self.connections.get_mut(&conn) {
            connection.waits.insert((queue, turn));
        }
    }

    /// Puts messages where they can be had, then gives them to those who wait for them, in the order of the queue.
    /// `position` is what made them real, none if that need not be waited for.
    pub(crate) fn make_visible(
        &mut self,
        now: Now,
        puts: Vec<Held>,
        position: Option<Position>,
        batch: &mut Batch,
        out: &mut Vec<Effect>,
    ) {
        let mut placed = Vec::with_capacity(puts.len());
        for Held { queue, key, mut entry } in puts {
            let Some(local) = self.directory.local_mut(queue) else {
                self.specials.forget(&entry);
                continue;
            };
            local.uncommitted_puts = local.uncommitted_puts.saturating_sub(1);
            if let Some(position) = position {
                local.changed = position;
                entry.batch = u32::try_from(position.batch).unwrap_or(Entry::LATE);
            }
            placed.extend(self.place(now, Held { queue, key, entry }));
        }
        self.offer(now, placed, batch, out);
    }

    /// Puts a message to its place on the queue. Says where, if it is there to be had.
    pub(crate) fn place(&mut self, now: Now, held: Held) -> Option<(u64, Key)> {
        let Held { queue, key, entry } = held;
        let object = self.directory.get_mut(queue)?;
        // The order of the queue may have been altered meanwhile.
        let key = object.key(entry.priority, key.order);
        let local = object.local.as_deref_mut()?;
        local.insert(key, entry, &self.specials);
        if entry.is_expired(now.wall_ms) {
            self.expired.take(queue, local, &[key]);
            return None;
        }
        self.note_expiry(now, queue, entry.expiry_ms);
        Some((queue, key))
    }

    /// Gives messages that have come to those who wait for them.
    pub(crate) fn offer(
        &mut self,
        now: Now,
        mut placed: Vec<(u64, Key)>,
        batch: &mut Batch,
        out: &mut Vec<Effect>,
    ) {
        placed.sort_unstable();
        for (queue, key) in placed {
            self.offer_one(now, queue, key, batch, out);
            if self.is_watched(queue)
                && self.directory.local(queue).is_some_and(|local| local.index.get(key).is_some())
            {
                self.arrived.insert(queue);
            }
        }
    }

    fn is_watched(&self, queue: u64) -> bool {
        let object = self.directory.get(queue);
        object.is_some_and(|object| self.watched.contains(&object.definition.queue_name()))
    }

    fn offer_one(&mut self, now: Now, queue: u64, key: Key, batch: &mut Batch, out: &mut Vec<Effect>) {
        let Some(local) = self.directory.local(queue).filter(|local| !local.waiting.is_empty()) else {
            return;
        };
        let Some(entry) = local.index.get(key) else { return };
        let group_id = local.index.member(key).map(|(spot, _)| spot.group_id);
        for turn in local.waiting.browsers(key, entry, group_id) {
            self.wake(now, queue, turn, None, batch, out);
        }
        let mut after = None;
        while let Some(candidate) = self.next_taker(queue, key, group_id, after) {
            let (turn, fits) = match candidate {
                Candidate::Fits(turn) => (turn, Some(key)),
                Candidate::Looks(turn) => (turn, None),
            };
            self.wake(now, queue, turn, fits, batch, out);
            after = Some(turn);
        }
    }

    fn next_taker(
        &self,
        queue: u64,
        key: Key,
        group_id: Option<GroupId>,
        after: Option<Turn>,
    ) -> Option<Candidate> {
        let local = self.directory.local(queue)?;
        local.waiting.taker(key, local.index.get(key)?, group_id, after)
    }

    /// Serves one who waits, with the message at a place or with what is first.
    fn wake(
        &mut self,
        now: Now,
        queue: u64,
        turn: Turn,
        key: Option<Key>,
        batch: &mut Batch,
        out: &mut Vec<Effect>,
    ) {
        let Some(waiter) = self.directory.local(queue).and_then(|local| local.waiting.get(turn)) else {
            return;
        };
        let (conn, call, plan) = (waiter.conn, waiter.call, waiter.plan.clone());
        let outcome = match key {
            Some(key) if plan.after.is_some_and(|after| key <= after) => Outcome::Nothing,
            Some(key) => self.hand_out(now, conn, call, &plan, key, batch),
            None => self.attempt(now, conn, call, &plan, batch),
        };
        let (needs, reply) = match outcome {
            Outcome::Nothing => return,
            Outcome::Got { got, needs } => (needs, Reply::Got(got)),
            Outcome::Read { first, needs } => (needs, Reply::ReadFirst(first)),
            Outcome::Failed(reason) => (None, failed(reason)),
        };
        self.remove_wait(queue, turn);
        out.push(Effect::Answer { conn, call, needs, reply });
    }

    fn remove_wait(&mut self, queue: u64, turn: Turn) -> Option<Waiter> {
        let waiter = self.directory.local_mut(queue)?.waiting.remove(turn)?;
        if let Some(deadline) = waiter.deadline {
            self.deadlines.remove(&(deadline, queue, turn));
        }
        if let Some(connection) = self.connections.get_mut(&waiter.conn) {
            connection.waits.remove(&(queue, turn));
        }
        Some(waiter)
    }

    /// Ends a wait with a reason.
    pub(crate) fn end_wait(&mut self, queue: u64, turn: Turn, reason: Reason, out: &mut Vec<Effect>) {
        let Some(waiter) = self.remove_wait(queue, turn) else { return };
        let Waiter { conn, call, plan, .. } = waiter;
        let answer = self.nothing(plan, reason);
        out.push(Effect::Answer { conn, call, needs: answer.needs, reply: answer.reply });
    }

    /// Ends every wait on a queue.
    pub(crate) fn end_waits_on(&mut self, queue: u64, reason: Reason, out: &mut Vec<Effect>) {
        let Some(local) = self.directory.local(queue) else { return };
        for turn in local.waiting.iter().map(|(turn, _)| turn).collect::<Vec<_>>() {
            self.end_wait(queue, turn, reason, out);
        }
    }

    /// Ends every wait of which this is true of its route.
    pub(crate) fn end_waits(
        &mut self,
        which: impl Fn(&Route) -> bool,
        reason: Reason,
        out: &mut Vec<Effect>,
    ) {
        self.end_waits_of(|_, route| which(route), reason, out);
    }

    /// Ends every wait of which this is true.
    pub(crate) fn end_waits_of(
        &mut self,
        which: impl Fn(&Waiter, &Route) -> bool,
        reason: Reason,
        out: &mut Vec<Effect>,
    ) {
        let mut ending = Vec::new();
        for object in self.directory.iter() {
            let Some(local) = object.local.as_deref() else { continue };
            for (turn, waiter) in local.waiting.iter() {
                let handle =
                    self.connections.get(&waiter.conn).and_then(|c| c.handles.get(&waiter.plan.handle));
                if let Some(Target::Queue(route)) = handle.map(|handle| &handle.target)
                    && which(waiter, route)
                {
                    ending.push((turn, object.number()));
                }
            }
        }
        ending.sort_unstable();
        for (turn, number) in ending {
            self.end_wait(number, turn, reason, out);
        }
    }

    /// Drops the waits of a connection without an answer.
    pub(crate) fn drop_waits(&mut self, conn: ConnId) {
        let Some(connection) = self.connections.get(&conn) else { return };
        for (queue, turn) in connection.waits.clone() {
            self.remove_wait(queue, turn);
        }
    }
}
