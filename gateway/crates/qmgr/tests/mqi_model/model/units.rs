//! Units of work, expiry, waiting calls, crash and restart: mq-objects.md 1.2, 3.2, 3.3 (NPMCLASS, HARDENBO).

use super::{Handle, Kind, Message, Model, State, TEMPORARY, Waiter};
use crate::calls::value::*;
use crate::calls::{Conn, Outcome};

impl Handle {
    /// A member of a group is put or got with it: a back-out goes back to here.
    pub(crate) fn begin_unit(&mut self, synced: bool) {
        if synced && self.before_unit.is_none() {
            self.before_unit = Some((self.putting.clone(), self.getting.clone()));
        }
    }
}

impl Model {
    pub(crate) fn commit(&mut self, conn: Conn) {
        for handle in self.handles.values_mut().filter(|handle| handle.conn == conn) {
            handle.before_unit = None;
        }
        for object in &mut self.objects {
            object.messages.retain(|m| m.state != State::GotBy(conn));
            let deleted = object.deleted;
            object.messages.retain(|m| !deleted || m.state != State::PutBy(conn));
            for message in &mut object.messages {
                if message.state == State::PutBy(conn) {
                    message.state = State::Available;
                }
            }
        }
    }

    /// Gets go back to their place with BackoutCount one higher, puts were never there.
    pub(crate) fn back_out(&mut self, conn: Conn) {
        self.back_out_counting(conn, 1);
    }

    fn back_out_counting(&mut self, conn: Conn, count: i32) {
        for handle in self.handles.values_mut().filter(|handle| handle.conn == conn) {
            if let Some((putting, getting)) = handle.before_unit.take() {
                (handle.putting, handle.getting) = (putting, getting);
            }
        }
        for object in &mut self.objects {
            object.messages.retain(|m| m.state != State::PutBy(conn));
            let deleted = object.deleted;
            object.messages.retain(|m| !deleted || m.state != State::GotBy(conn));
            for message in &mut object.messages {
                if message.state == State::GotBy(conn) {
                    message.state = State::Available;
                    message.md.backout += count;
                }
            }
        }
    }

    /// Takes away what has expired and could be seen (a locked message can not), then reports it where that was asked for, oldest
    /// expiry first: what has expired makes room for the reports.
    pub(crate) fn expire(&mut self) {
        let mut dead = Vec::new();
        let now = self.now;
        for object in &mut self.objects {
            let is_dead = |m: &Message| {
                m.state == State::Available
                    && m.locked_by.is_none()
                    && m.expires.is_some_and(|expires| expires <= now)
            };
            dead.extend(object.messages.iter().filter(|m| is_dead(m)).cloned());
            object.messages.retain(|m| !is_dead(m));
        }
        dead.sort_by_key(|m| (m.expires, m.serial));
        for message in dead.iter().filter(|m| m.md.report & RO_EXPIRATION != 0) {
            self.report(message, FB_EXPIRATION, message.md.report >> 22, None);
        }
    }

    /// Time goes by in tenths of a second, so that there is an order in what comes of it.
    pub(crate) fn pass(&mut self, ms: u64) -> Vec<(Conn, Outcome)> {
        let mut woken = Vec::new();
        for _ in 0..ms / 100 {
            self.now += 100;
            woken.extend(self.end_waits());
            self.expire();
            woken.extend(self.wake());
        }
        woken
    }

    /// Ends the waiting calls whose time is over.
    fn end_waits(&mut self) -> Vec<(Conn, Outcome)> {
        let now = self.now;
        let over = |waiter: &Waiter| waiter.deadline.is_some_and(|deadline| deadline <= now);
        let ended = self
            .waiters
            .iter()
            .filter(|waiter| over(waiter))
            .map(|waiter| (waiter.conn, Outcome::failed(2033)));
        let ended = ended.collect();
        self.waiters.retain(|waiter| !over(waiter));
        ended
    }

    /// Ends the waiting calls that can end: by a message in the order of waiting, by an inhibited or deleted queue.
    /// All that only browse come first: IBM says that a message wakes them all, and one of the others.
    pub(crate) fn wake(&mut self) -> Vec<(Conn, Outcome)> {
        let mut woken = Vec::new();
        loop {
            let mut progress = false;
            self.waiters.sort_by_key(|waiter| {
                waiter.gmo.options & GMO_BROWSES == 0 || waiter.gmo.options & GMO_LOCK != 0
            });
            let mut at = 0;
            while at < self.waiters.len() {
                let waiter = self.waiters[at].clone();
                let outcome = self.get_now(waiter.conn, waiter.hobj, &waiter.gmo, waiter.buffer);
                match outcome {
                    Some(outcome) => {
                        self.waiters.remove(at);
                        woken.push((waiter.conn, outcome));
                        progress = true;
                    }
                    None => at += 1,
                }
            }
            if !progress {
                return woken;
            }
        }
    }

    /// What is left after the queue manager ended without a word: units in doubt are backed out, non-persistent messages are
    /// gone but where NPMCLASS is HIGH, temporary dynamic queues too. BackoutCount is that of the back-outs that the queue manager lived to see, of
    /// persistent messages.
    pub(crate) fn crash(&mut self) {
        let conns: Vec<Conn> = self.conns.keys().copied().collect();
        self.waiters.clear();
        for conn in conns {
            self.back_out_counting(conn, 0);
        }
        self.conns.clear();
        self.handles.clear();
        for object in &mut self.objects {
            if object.def.dynamic == TEMPORARY && object.def.kind == Kind::Local {
                object.deleted = true;
            }
            if object.deleted {
                object.messages.clear();
            }
            let high = object.def.class_high;
            let survives = |m: &Message| m.md.persistence == 1 || high;
            object.messages.retain(survives);
            for message in &mut object.messages {
                message.locked_by = None;
                message.marked = None;
                if message.md.persistence != 1 {
                    message.md.backout = 0;
                }
            }
        }
    }
}
