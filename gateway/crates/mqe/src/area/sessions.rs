//! HELLO, RESUME and the end of a connection: sessions, incarnations, fencing (ONCE.md 2).

use std::collections::BTreeMap;

use store::{Batch, Commit, Position};

use super::counters::Counter;
use super::device::{Flags, Link};
use super::onboard::NoDevice;
use super::{Area, AreaEffect, keys};
use crate::frame::{ErrorCode, Frame, Hello, Refusal, RejectOutcome, VERSION, Welcome};
use crate::{ConnId, Incarnation, RequestId, SessionId, Uid};

/// Bits of the counter in a session number; above it stands the number of the store's start, so that sessions grow
/// over restarts without being stored.
const SESSION_BITS: u32 = 40;

/// After what time a device comes again that found no room.
const LATER_MS: u32 = 10_000;

/// Up to a second more, so that not all come at once.
pub(super) fn spread_ms(conn: ConnId) -> u32 {
    (conn.0 % 1_000) as u32
}

impl Area {
    /// A device says who it is. The owner has checked its credentials.
    pub fn hello(
        &mut self,
        conn: ConnId,
        request: RequestId,
        hello: &Hello,
        batch: &mut Batch,
        out: &mut Vec<AreaEffect>,
    ) {
        if hello.version != VERSION {
            let text = format!("version {} is not spoken here, only {VERSION}", hello.version);
            return refuse(conn, request, ErrorCode::VERSION, text, out);
        }
        if self.links.contains_key(&conn) || self.cold.awaits(conn) {
            let text = "a second HELLO on one connection";
            return refuse(conn, request, ErrorCode::PROTOCOL, text, out);
        }
        let number = match self.find_or_enrol(&hello.device, batch) {
            Ok(number) => number,
            Err(NoDevice::Unknown) => {
                let text = format!("device {} is not known here", hello.device);
                return refuse(conn, request, ErrorCode::UNKNOWN_DEVICE, text, out);
            }
            Err(NoDevice::NoRoom) => {
                let text = "the disk of the gateway has no room for a new device";
                return come_later(conn, request, text, out);
            }
        };
        if self.wait_for_entries(number, conn, request, hello) {
            return;
        }
        let Some(device) = self.devices.get_mut(number) else { return };

        let known = hello.incarnation.0 != 0 && !device.flags.is(Flags::RESET);
        if known {
            let (low, high) = (device.in_force, device.given);
            if hello.incarnation < low || hello.incarnation > high {
                let text = format!(
                    "incarnation {} of the device's store, known are {low} to {high}",
                    hello.incarnation
                );
                return refuse_when(Some(self.newest), conn, request, ErrorCode::INCARNATION, text, out);
            }
            if hello.last_session < device.last_session {
                let text = format!(
                    "the device's store is a copy or was restored: it last resumed in session {}, session {} is recorded",
                    hello.last_session, device.last_session
                );
                return refuse_when(Some(self.newest), conn, request, ErrorCode::INCARNATION, text, out);
            }
        }
        let incarnation = if known {
            hello.incarnation
        } else {
            // Reserved: durable before WELCOME leaves; the first RESUME puts it in force.
            device.given = Incarnation(device.given.0 + 1);
            device.flags.set(Flags::RESET, false);
            let mut commit = Commit::default();
            device.set_record(&mut commit);
            device.commit(commit, batch, &mut self.newest);
            device.given
        };

        self.sessions_given += 1;
        let session = SessionId((u64::from(batch.start()) << SESSION_BITS) | self.sessions_given);
        // Whatever became of the device, also before a restart or in a session of before.
        let newest = self.newest;
        let old = device.live().link.replace(Link {
            conn,
            session,
            incarnation,
            resumed: false,
            get: None,
            busy: None,
            puts_in_flight: 0,
            put_waits: BTreeMap::new(),
            newest,
        });
        if let Some(old) = old {
            self.links.remove(&old.conn);
            let text = "a newer connection of this device took over";
            fence(old.conn, RequestId(0), text, out);
        }
        self.links.insert(conn, number);
        let waiting = u32::try_from(device.queue.len()).unwrap_or(u32::MAX);
        let frame = Frame::Welcome(Welcome {
            version: VERSION,
            gateway: self.settings.gateway,
            session,
            incarnation,
            limits: self.settings.limits,
            waiting,
        });
        out.push(AreaEffect::Frame { conn, needs: Some(newest), request, frame });
        self.set_timer(number);
    }

    /// What the device has stored and refused, in one unit (ONCE.md 2).
    pub fn resume(
        &mut self,
        conn: ConnId,
        request: RequestId,
        stored: &[Uid],
        refused: &[(Uid, Refusal)],
        batch: &mut Batch,
        out: &mut Vec<AreaEffect>,
    ) {
        let Some(number) = self.newest_session(conn, request, out) else { return };
        let Some(device) = self.devices.get_mut(number) else { return };
        let Some(link) = device.link() else { return };
        if link.resumed {
            // What was handed out since may be on its way: it cannot be taken back on this connection.
            let text = "a second RESUME on one connection";
            return self.end(conn, request, ErrorCode::PROTOCOL, text, out);
        }
        let (incarnation, session) = (link.incarnation, link.session);
        if incarnation < device.in_force {
            let text = "a newer incarnation of the device is in force";
            return self.end(conn, request, ErrorCode::INCARNATION, text, out);
        }
        if let Some(link) = device.link_mut() {
            link.resumed = true;
        }
        let mut commit = Commit::default();
        (device.in_force, device.last_session) = (incarnation, session);
        device.set_record(&mut commit);

        let mut ended = 0;
        for uid in stored {
            ended += u32::from(self.settle(number, uid, &mut commit));
        }
        // Before the mark is cleared: it says which refusals are of what was handed out.
        let mut letters = Vec::new();
        for (uid, refusal) in refused {
            if let Refusal::Rejected(reason) = refusal
                && !self.begin_reject(number, uid, *reason, &mut commit, &mut letters)
            {
                let frame = Frame::Rejected(*uid, RejectOutcome::Gone);
                let needs = Some(batch.position());
                letters.push(AreaEffect::Frame { conn, needs, request: RequestId(0), frame });
            }
        }

        let Some(device) = self.devices.get_mut(number) else { return };
        let live = device.live();
        let tombs = std::mem::take(&mut live.tombs);
        let (rejected, undecided): (Vec<_>, Vec<_>) =
            std::mem::take(&mut live.doubt).into_iter().partition(|(_, doubt)| doubt.rejected.is_some());
        live.doubt = rejected.into_iter().collect();
        let had_mark = !std::mem::take(&mut live.mark).orders.is_empty();
        // What is on its way to the dead-letter queue stays in doubt, also after a crash.
        let still: Vec<_> = live.doubt.iter().map(|(id, doubt)| (doubt.entry.priority, *id)).collect();
        for (priority, id) in still {
            live.mark.raise(priority, id);
        }
        if !live.mark.orders.is_empty() {
            commit.set(keys::mark(number), keys::mark_value(&live.mark));
        } else if had_mark {
            commit.remove(keys::mark(number));
        }
        for id in &tombs {
            commit.remove(keys::tombstone(number, *id));
        }
        if !tombs.is_empty() {
            device.count(Counter::Late, tombs.len() as u64);
        }
        for (_, doubt) in undecided {
            device.wait(doubt.entry, &mut self.index);
        }
        device.commit(commit, batch, &mut self.newest);
        let needs = Some(device.newest());
        out.push(AreaEffect::Frame { conn, needs, request, frame: Frame::Resumed { ended } });
        out.append(&mut letters);
        self.set_timer(number);
    }

    /// The connection is gone. What was handed out on it stays in doubt.
    pub fn closed(&mut self, conn: ConnId) {
        self.cold.closed(conn);
        let Some(number) = self.links.remove(&conn) else { return };
        if let Some(device) = self.devices.get_mut(number) {
            if device.link().is_some_and(|link| link.conn == conn) {
                device.live().link = None;
                device.flags.set(Flags::RECENT, true);
            }
            self.set_timer(number);
            self.rest(number);
        }
    }

    /// The device whose newest session this connection has; every other is told that it is fenced.
    pub(super) fn newest_session(
        &self,
        conn: ConnId,
        request: RequestId,
        out: &mut Vec<AreaEffect>,
    ) -> Option<u32> {
        let number = self.links.get(&conn).copied();
        if number.is_none() {
            fence(conn, request, "this connection has no session any more", out);
        }
        number
    }

    /// The same, when its RESUME was applied: GET, PUT and the rest come behind it.
    pub(super) fn resumed_session(
        &self,
        conn: ConnId,
        request: RequestId,
        out: &mut Vec<AreaEffect>,
    ) -> Option<u32> {
        let number = self.newest_session(conn, request, out)?;
        let resumed = self.devices.get(number)?.link().is_some_and(|link| link.resumed);
        if !resumed {
            let frame = Frame::error(ErrorCode::NOT_RESUMED, 0, "RESUME comes first");
            out.push(AreaEffect::Frame { conn, needs: None, request, frame });
        }
        resumed.then_some(number)
    }

    /// Ends a connection with an error, and its session.
    pub(super) fn end(
        &mut self,
        conn: ConnId,
        request: RequestId,
        code: ErrorCode,
        text: &str,
        out: &mut Vec<AreaEffect>,
    ) {
        refuse(conn, request, code, text, out);
        self.closed(conn);
    }
}

fn fence(conn: ConnId, request: RequestId, text: &str, out: &mut Vec<AreaEffect>) {
    refuse(conn, request, ErrorCode::FENCED, text, out);
}

fn refuse(
    conn: ConnId,
    request: RequestId,
    code: ErrorCode,
    text: impl Into<String>,
    out: &mut Vec<AreaEffect>,
) {
    refuse_when(None, conn, request, code, text, out);
}

/// Not now, though nothing is wrong with who asks.
pub(super) fn come_later(
    conn: ConnId,
    request: RequestId,
    text: impl Into<String>,
    out: &mut Vec<AreaEffect>,
) {
    let frame = Frame::error(ErrorCode::LATER, LATER_MS + spread_ms(conn), text);
    out.push(AreaEffect::Frame { conn, needs: None, request, frame });
    out.push(AreaEffect::Close { conn, why: ErrorCode::LATER });
}

/// A refusal that rests on what must be durable first.
fn refuse_when(
    needs: Option<Position>,
    conn: ConnId,
    request: RequestId,
    code: ErrorCode,
    text: impl Into<String>,
    out: &mut Vec<AreaEffect>,
) {
    out.push(AreaEffect::Frame { conn, needs, request, frame: Frame::error(code, 0, text) });
    out.push(AreaEffect::Close { conn, why: code });
}
