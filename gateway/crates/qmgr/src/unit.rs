//! MQCMIT, MQBACK: the end of a unit of work, of an application or of the owner.
//!
//! HARDENBO hardens the count of each back-out that this process lives to see; a get that a crash cuts off is not counted,
//! since that would cost a record for every get in a unit of work.

use store::{Batch, Commit, Kill};

use crate::held::{Ended, Held};
use crate::manager::{Answer, QueueManager, done};
use crate::object::key;
use crate::queue::bury;
use crate::verb::{ConnId, Effect, Now};

impl QueueManager {
    pub(crate) fn commit(
        &mut self,
        now: Now,
        conn: ConnId,
        batch: &mut Batch,
        out: &mut Vec<Effect>,
    ) -> Answer {
        let Some(connection) = self.connections.get_mut(&conn) else { return Answer::now(done()) };
        let unit = std::mem::take(&mut connection.unit);
        if unit.messages() == 0 {
            return Answer::now(done());
        }
        let unit = self.held.end(unit);
        let mut commit = Commit { unit: unit.id.filter(|_| !unit.puts.is_empty()), ..Commit::default() };
        self.add_deaths(&unit, &mut commit);
        for held in unit.puts.iter().filter(|held| self.directory.local(held.queue).is_some()) {
            self.specials.write(&held.entry, &mut commit);
        }
        batch.commit(commit);
        self.settle(now, unit, batch, out);
        Answer::at(Some(batch.position()), done())
    }

    pub(crate) fn back(
        &mut self,
        now: Now,
        conn: ConnId,
        batch: &mut Batch,
        out: &mut Vec<Effect>,
    ) -> Answer {
        self.back_out(now, conn, batch, out);
        Answer::now(done())
    }

    /// Backs out the unit of work of a connection: what it put never was, what it got is back at its place.
    pub(crate) fn back_out(&mut self, now: Now, conn: ConnId, batch: &mut Batch, out: &mut Vec<Effect>) {
        let Some(connection) = self.connections.get_mut(&conn) else { return };
        let mut unit = std::mem::take(&mut connection.unit);
        connection.restore_orders(std::mem::take(&mut unit.orders));
        let unit = self.held.end(unit);
        self.forget_puts(&unit, batch);
        self.put_back(now, unit.gets, batch, out);
    }

    /// What a unit that becomes real kills: what it got, and what it put on queues that are no more.
    pub(crate) fn add_deaths(&self, unit: &Ended, commit: &mut Commit) {
        for held in &unit.gets {
            bury(&held.entry, commit);
        }
        for held in unit.puts.iter().filter(|held| self.directory.local(held.queue).is_none()) {
            bury(&held.entry, commit);
        }
    }

    /// A unit is real: what it got is gone, what it put can be had.
    pub(crate) fn settle(&mut self, now: Now, unit: Ended, batch: &mut Batch, out: &mut Vec<Effect>) {
        let position = batch.position();
        for held in unit.gets {
            self.specials.forget(&held.entry);
            if let Some(local) = self.directory.local_mut(held.queue) {
                local.uncommitted_gets = local.uncommitted_gets.saturating_sub(1);
                local.changed = position;
            }
        }
        self.make_visible(now, unit.puts, Some(position), batch, out);
    }

    /// What a unit put never was.
    pub(crate) fn forget_puts(&mut self, unit: &Ended, batch: &mut Batch) {
        for held in &unit.puts {
            self.specials.forget(&held.entry);
            if let Some(local) = self.directory.local_mut(held.queue) {
                local.uncommitted_puts = local.uncommitted_puts.saturating_sub(1);
            }
        }
        if let (Some(id), false) = (unit.id, unit.puts.is_empty()) {
            let kill = |held: &Held| Kill { id: held.entry.id, place: held.entry.place };
            batch.back_out(id, unit.puts.iter().map(kill).collect());
        }
    }

    /// Messages that were got go back to their places, with their backout counts one higher. The counts of
    /// persistent ones are hardened first, so that whoever gets one at once can take the count away again.
    pub(crate) fn put_back(&mut self, now: Now, gets: Vec<Held>, batch: &mut Batch, out: &mut Vec<Effect>) {
        let mut commit = Commit::default();
        let mut back = Vec::with_capacity(gets.len());
        for mut held in gets {
            let Some(object) = self.directory.get_mut(held.queue) else {
                bury(&held.entry, &mut commit);
                self.specials.forget(&held.entry);
                continue;
            };
            held.entry.backouts = held.entry.backouts.saturating_add(1);
            if held.entry.persistent() && object.facts.harden {
                commit.set(key::backouts(held.entry.id), held.entry.backouts.to_le_bytes().to_vec());
            }
            if let Some(local) = object.local.as_deref_mut() {
                local.uncommitted_gets = local.uncommitted_gets.saturating_sub(1);
            }
            back.push(held);
        }
        batch.commit(commit);
        let placed = back.into_iter().filter_map(|held| self.place(now, held)).collect();
        self.offer(now, placed, batch, out);
    }
}
