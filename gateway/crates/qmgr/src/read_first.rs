//! Messages whose records have to be read before something is done with them: a report on them is wanted, or their ids
//! have to be looked at. The side of the connection, or the owner, reads them and comes back; until then a message that
//! is got is held for its call, and one that has expired dies later.

use bytes::Bytes;
use mq_wire::{Coding, Mqmd, Reader, Reason};
use store::{Batch, Commit, Id, Position};

use crate::envelope::envelope;
use crate::get::{Plan, place_of};
use crate::hand_out::expiry_left;
use crate::held::Held;
use crate::manager::{Answer, QueueManager, failed};
use crate::queue::bury;
use crate::verb::{CallId, ConnId, Effect, Got, Now, Part, ReadFirst, Reply};

/// A get that took a message whose record is being read.
#[derive(Debug)]
pub(crate) struct Reading {
    /// The message and its further segments, which are held.
    pub(crate) ids: Vec<Id>,
    pub(crate) in_unit: bool,
    /// Whether a report on the delivery is wanted.
    pub(crate) cod: bool,
    pub(crate) plan: Plan,
    /// The answer, when it has been read, and on what it depends in any case.
    pub(crate) got: Box<Got>,
    pub(crate) needs: Option<Position>,
}

impl QueueManager {
    /// Holds the message for the call, and says what is to be read.
    pub(crate) fn read_first(&mut self, who: (ConnId, CallId), reading: Reading) -> Box<ReadFirst> {
        let got = &reading.got;
        let first = ReadFirst { id: got.id, place: got.place, parts: got.parts.clone() };
        self.reading.insert(who, reading);
        Box::new(first)
    }

    /// The record of the message was read, or cannot be (2101): the get that [`Reply::ReadFirst`] was said to is answered. Of
    /// several records the envelope is that of the first, and the body all of them one behind the other.
    pub fn record_read(
        &mut self,
        now: Now,
        conn: ConnId,
        call: CallId,
        record: Option<(Bytes, Bytes)>,
        batch: &mut Batch,
        out: &mut Vec<Effect>,
    ) {
        let Some(reading) = self.reading.remove(&(conn, call)) else { return };
        let descriptor = record.as_ref().and_then(|(envelope, _)| descriptor(envelope));
        let other = match (&reading.got.check, &descriptor) {
            (Some(check), Some(md)) => !check.fits(md),
            _ => false,
        };
        let answered = if record.is_none() {
            // It stays: one segment that cannot be read must not take the others with it.
            self.give_back_read(now, reading.ids, batch, out);
            Err(Reason::OBJECT_DAMAGED)
        } else if other {
            // The hash was the same and the id is not: the get goes on behind this message.
            let mut plan = reading.plan;
            plan.after = Some(place_of(reading.got.token).1);
            self.give_back_read(now, reading.ids, batch, out);
            self.serve(now, conn, call, plan, batch, out)
        } else {
            let record = record.filter(|_| reading.cod);
            Ok(Some(self.deliver(now, conn, reading, record, batch, out)))
        };
        match answered {
            Ok(None) => {}
            Ok(Some(Answer { needs, reply })) => out.push(Effect::Answer { conn, call, needs, reply }),
            Err(reason) => out.push(Effect::Answer { conn, call, needs: None, reply: failed(reason) }),
        }
        self.finish(now, batch, out);
    }

    /// The message is taken for good or into the unit of work, and its report with it.
    fn deliver(
        &mut self,
        now: Now,
        conn: ConnId,
        reading: Reading,
        record: Option<(Bytes, Bytes)>,
        batch: &mut Batch,
        out: &mut Vec<Effect>,
    ) -> Answer {
        let Reading { ids, in_unit, mut got, needs, .. } = reading;
        let all: Vec<Held> = ids.iter().filter_map(|id| self.held.get(*id).copied()).collect();
        // Compaction may have moved them meanwhile.
        if let Some((first, rest)) = all.split_first() {
            got.place = first.entry.place;
            got.parts = rest.iter().map(part_of).collect();
        }
        let expiry = all.first().map_or(-1, |held| expiry_left(now, &held.entry));
        let mut end = Commit::default();
        let mut survives = false;
        if in_unit {
            if let Some(connection) = self.connections.get_mut(&conn) {
                connection.unit.gets.extend(ids);
            }
        } else {
            for held in self.held.take_all(ids) {
                bury(&held.entry, &mut end);
                self.specials.forget(&held.entry);
                survives |= held.entry.survives();
                if let Some(local) = self.directory.local_mut(held.queue) {
                    local.uncommitted_gets = local.uncommitted_gets.saturating_sub(1);
                    if held.entry.survives() {
                        local.changed = batch.position();
                    }
                }
            }
        }
        // Of a logical message that was put together there is one report, on the whole of it (IBM MQ documentation,
        // "Reports and segmented messages").
        let record = record.map(|(mut stored, body)| {
            if let Some(mut md) = descriptor(&stored).filter(|_| got.whole) {
                got.amend(&mut md);
                stored = envelope(&md);
            }
            (stored, body)
        });
        let record = record.as_ref().map(|(envelope, body)| (envelope, body));
        survives |= self.report_cod(now, conn, in_unit, record, expiry, end, batch, out);
        Answer::at(needs.max(survives.then(|| batch.position())), Reply::Got(got))
    }

    /// Messages that were held for a call are back at their places, as if they had not been got.
    pub(crate) fn give_back_read(
        &mut self,
        now: Now,
        ids: Vec<Id>,
        batch: &mut Batch,
        out: &mut Vec<Effect>,
    ) {
        self.place_again(now, ids, |local| &mut local.uncommitted_gets, batch, out);
    }

    /// The connection is gone: what was held for its calls goes back, without a count.
    pub(crate) fn drop_reading(&mut self, now: Now, conn: ConnId, batch: &mut Batch, out: &mut Vec<Effect>) {
        let calls = self.reading.range((conn, CallId(0))..=(conn, CallId(u64::MAX)));
        let calls: Vec<(ConnId, CallId)> = calls.map(|(who, _)| *who).collect();
        for who in calls {
            if let Some(reading) = self.reading.remove(&who) {
                self.give_back_read(now, reading.ids, batch, out);
            }
        }
    }

    /// The record of an expired message ([`Effect::ReadExpired`]) was read, or cannot be: it dies, and the report on it
    /// is written.
    pub fn expired_read(
        &mut self,
        now: Now,
        id: Id,
        record: Option<(Bytes, Bytes)>,
        batch: &mut Batch,
        out: &mut Vec<Effect>,
    ) {
        let record = record.as_ref().map(|(envelope, body)| (envelope, body));
        if let Some(end) = self.expired.end(id, &mut self.directory, &mut self.specials, batch) {
            self.report_expiration(now, record, end, batch, out);
        }
        self.finish(now, batch, out);
    }
}

fn part_of(held: &Held) -> Part {
    Part { id: held.entry.id, place: held.entry.place, body_length: held.entry.body_length }
}

fn descriptor(envelope: &Bytes) -> Option<Mqmd> {
    Mqmd::decode(&mut Reader::new(envelope, Coding::NATIVE)).ok()
}
