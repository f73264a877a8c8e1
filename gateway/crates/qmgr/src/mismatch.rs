//! A reader found another id than was asked for: two ids have one hash. The message goes back to its place, and the
//! get goes on behind it.
//!
//! Of 2^64 hashes under a key that nobody outside knows this happens about never, but then it must be right. A
//! message that was taken outside of a unit of work is dead already: the reader has its record, and it is stored once
//! more with its old place in the order. (Between the two a crash would lose it: the price of not waiting for the
//! reader each time.)

use bytes::Bytes;
use store::{Batch, Commit, Id, NewMessage};

use crate::held::Held;
use crate::index::{Entry, Flags, Key};
use crate::manager::{Answer, QueueManager, failed};
use crate::queue::owner;
use crate::verb::{CallId, ConnId, Effect, GetRequest, Got, Now};

/// What a reader found that was not what was asked for.
#[derive(Debug, Clone)]
pub struct Mismatch {
    /// The answer that led to it; it must not leave.
    pub got: Got,
    /// The record that was read: envelope and body.
    pub record: (Bytes, Bytes),
    /// What was asked for.
    pub request: GetRequest,
}

impl QueueManager {
    /// Puts the message back and goes on with the get behind it; the answer comes as to the get itself.
    pub fn mismatched(
        &mut self,
        now: Now,
        conn: ConnId,
        call: CallId,
        mismatch: Mismatch,
        batch: &mut Batch,
        out: &mut Vec<Effect>,
    ) {
        let Mismatch { got, record, request } = mismatch;
        let (queue, key) = crate::get::place_of(got.token);
        let ids = std::iter::once(got.id).chain(got.parts.iter().map(|part| part.id)).collect();
        if got.taken && !self.give_back(now, conn, ids, batch, out) {
            self.store_again(now, (queue, key), &got, record, batch, out);
        }
        let answer = match self.get(now, conn, call, &request, Some(key), batch, out) {
            Ok(None) => return self.finish(now, batch, out),
            Ok(Some(answer)) => answer,
            Err(reason) => Answer::now(failed(reason)),
        };
        out.push(Effect::Answer { conn, call, needs: answer.needs, reply: answer.reply });
        self.finish(now, batch, out);
    }

    /// Messages that were got cannot be read: those that are in the unit of work go back to their places, so that its
    /// commit does not kill what nobody has seen. What was got outside of a unit is dead already, and stays so.
    pub fn unreadable(
        &mut self,
        now: Now,
        conn: ConnId,
        ids: Vec<Id>,
        batch: &mut Batch,
        out: &mut Vec<Effect>,
    ) {
        self.give_back(now, conn, ids, batch, out);
        self.finish(now, batch, out);
    }

    /// Gives messages of the unit of work back, as if they had not been got. Says whether they were in it.
    fn give_back(
        &mut self,
        now: Now,
        conn: ConnId,
        ids: Vec<Id>,
        batch: &mut Batch,
        out: &mut Vec<Effect>,
    ) -> bool {
        let Some(connection) = self.connections.get_mut(&conn) else { return false };
        let before = connection.unit.gets.len();
        connection.unit.gets.retain(|id| !ids.contains(id));
        if connection.unit.gets.len() == before {
            return false;
        }
        self.give_back_read(now, ids, batch, out);
        true
    }

    fn store_again(
        &mut self,
        now: Now,
        (queue, key): (u64, Key),
        got: &Got,
        (envelope, body): (Bytes, Bytes),
        batch: &mut Batch,
        out: &mut Vec<Effect>,
    ) {
        if self.directory.local(queue).is_none() {
            return;
        }
        let Ok(md) = mq_wire::Mqmd::decode(&mut mq_wire::Reader::new(&envelope, mq_wire::Coding::NATIVE))
        else {
            return;
        };
        let tags = [self.tag(&md.msg_id.0), self.tag(&md.correl_id.0)];
        let persistent = md.persistence == mq_wire::Persistence::PERSISTENT;
        let priority = md.priority.clamp(0, 9) as u8;
        let expiry_ms = crate::queue::expiry_ms(now, got.expiry);
        let length = u32::try_from(body.len()).unwrap_or(u32::MAX);
        // What is special becomes real with the message, as it did at the put.
        let unit = got.special.is_some().then(|| batch.new_unit());
        let stored = batch.message(NewMessage {
            unit,
            owner: owner(queue),
            order: Some(key.order),
            priority,
            persistent,
            expiry_ms,
            tags,
            envelope,
            body,
            file: None,
        });
        self.highest_id = stored.id;
        let backouts = u16::try_from(got.backout_count).unwrap_or(u16::MAX);
        let mut commit = Commit { unit, ..Commit::default() };
        if persistent && backouts > 0 {
            commit.set(crate::object::key::backouts(stored.id), backouts.to_le_bytes().to_vec());
        }
        let flags = got.special.as_ref().map_or(Flags::default(), |special| special.flags());
        if let Some(special) = got.special.as_deref() {
            commit.set(crate::object::key::special(stored.id), special.encode());
            self.specials.add(stored.id, *special);
        }
        batch.commit(commit);
        let flags = flags.with(Flags::PERSISTENT, persistent);
        let entry = Entry {
            id: stored.id,
            expiry_ms,
            tags,
            place: stored.place,
            body_length: length,
            batch: u32::try_from(batch.position().batch).unwrap_or(Entry::LATE),
            backouts,
            priority,
            flags,
        };
        if let Some(local) = self.directory.local_mut(queue) {
            local.changed = batch.position();
        }
        let placed = self.place(now, Held { queue, key, entry }).into_iter().collect();
        self.offer(now, placed, batch, out);
    }
}
