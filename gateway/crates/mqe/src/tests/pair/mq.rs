//! What becomes of puts and of refused messages: keys of the same disk stand for MQ.

use bytes::Bytes;
use mq_wire::Reason;
use store::{Commit, Id};

use super::{Pair, Puts, number_of};
use crate::area::{AreaEffect, PutGone};
use crate::frame::PutOutcome;

/// Keys that stand for entries of the outbox.
const ENTRY: &[u8] = b"w";

impl Pair {
    /// The oldest put comes out of the exits, and is decided.
    pub(in super::super) fn out_of_exits(&mut self) {
        let Some((conn, request, put)) = self.in_exits.pop_front() else { return };
        let (sequence, how, key) = (put.sequence, self.puts, self.next_mq);
        self.next_mq += 1;
        self.turn(|area, now, batch, out| match how {
            Puts::Enter => {
                let mut commit = Commit::default();
                match area.put_in_unit_with_entry(conn, sequence, Id::from_u64(key), &mut commit) {
                    Ok(()) => {
                        commit.set([ENTRY, &key.to_be_bytes()].concat(), put.payload.clone());
                        batch.commit(commit);
                        area.put_waits(now, conn, request, sequence);
                    }
                    Err(PutGone::Seen(outcome)) => {
                        area.put_answer(conn, request, sequence, outcome, batch, out);
                    }
                    Err(PutGone::Fenced) => {}
                }
            }
            Puts::Refuse => area.put_refused(conn, request, sequence, Reason::NOT_AUTHORIZED, batch, out),
            Puts::Busy => area.put_busy(conn, request, sequence, 500, out),
            Puts::Take | Puts::Hold => {
                let mut commit = Commit::default();
                let outcome = match area.put_in_unit(conn, sequence, &mut commit) {
                    Ok(()) => {
                        // What stands for MQ: keys of the same store, in the same unit.
                        commit.set([&b"q"[..], &key.to_be_bytes()].concat(), put.payload.clone());
                        PutOutcome::Taken
                    }
                    Err(PutGone::Seen(outcome)) => outcome,
                    Err(PutGone::Fenced) => return,
                };
                batch.commit(commit);
                area.put_answer(conn, request, sequence, outcome, batch, out);
            }
        });
    }

    /// The oldest entry of the outbox is in MQ, or is refused there, and ends.
    pub(in super::super) fn drain(&mut self, refused: Option<Reason>) {
        let Some((key, payload)) = self.disk.first(ENTRY) else { return };
        let number = key[ENTRY.len()..].try_into().map(u64::from_be_bytes).unwrap();
        self.turn(|area, _, batch, out| {
            let mut commit = Commit::default();
            area.entries_ended(&[Id::from_u64(number)], refused, &mut commit, batch, out);
            commit.remove(key);
            if refused.is_none() {
                commit.set([&b"q"[..], &number.to_be_bytes()].concat(), payload);
            }
            batch.commit(commit);
        });
    }

    /// The oldest refused message goes to the dead-letter queue, or the oldest debt is paid: a key stands for what is
    /// then in MQ.
    pub(in super::super) fn finish_letter(&mut self) {
        let (device, uid) = match self.letters.pop_front() {
            None => return,
            Some(AreaEffect::Owes { id, .. }) => {
                return self.turn(|area, _, batch, _| {
                    let mut commit = Commit::default();
                    if area.paid(id, &mut commit) {
                        commit.set([&b"y"[..], &id.as_u64().to_be_bytes()].concat(), Bytes::new());
                        batch.commit(commit);
                    }
                });
            }
            Some(AreaEffect::DeadLetter { device, uid, .. }) => (device, uid),
            Some(_) => return,
        };
        self.turn(|area, _, batch, out| {
            let mut commit = Commit::default();
            if area.finish_reject(&device, uid, &mut commit, batch, out) {
                commit.set([&b"x"[..], &uid.to_bytes()].concat(), Bytes::new());
                batch.commit(commit);
            }
        });
    }

    /// The durable content of what stands for MQ, in the order of the puts.
    pub(in super::super) fn in_mq(&self) -> Vec<u32> {
        self.disk.values(b"q").iter().map(|payload| number_of(payload)).collect()
    }

    pub(in super::super) fn dead_letters(&self) -> usize {
        self.disk.values(b"x").len()
    }
}
