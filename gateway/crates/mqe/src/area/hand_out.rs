//! GET: a window of messages goes in doubt, under a durable mark, before any of its frames leaves (ONCE.md 2).

use std::time::Duration;

use store::{Batch, Commit};

use super::counters::Counter;
use super::device::{InDoubt, WaitingGet};
use super::queue::Entry;
use super::settle::uid_of;
use super::{Area, AreaEffect, keys};
use crate::frame::{Frame, MessageHead};
use crate::{ConnId, Now, RequestId, Uid};

/// Most expired messages that one GET ends on its way to those that are not.
const EXPIRED_MAX: usize = 1_000;

/// What a GET asks for, within the limits.
#[derive(Debug, Clone, Copy)]
struct Window {
    request: RequestId,
    messages: u32,
    bytes: u32,
}

/// What a GET brought.
#[derive(Debug, Clone, Copy, Default)]
struct Given {
    given: u32,
    /// It stopped at so many expired ones that there may be others behind: the device asks again.
    more: bool,
}

impl Area {
    /// A device asks for messages; without any it waits up to `wait_ms`.
    #[expect(clippy::too_many_arguments, reason = "the body of GET, and where it goes")]
    pub fn get(
        &mut self,
        now: Now,
        conn: ConnId,
        request: RequestId,
        messages: u32,
        bytes: u32,
        wait_ms: u32,
        batch: &mut Batch,
        out: &mut Vec<AreaEffect>,
    ) {
        self.latest = now.instant;
        let Some(number) = self.resumed_session(conn, request, out) else { return };
        // One GET waits at a time: a new one ends the older.
        self.end_wait(number, out);
        let limits = &self.settings.limits;
        let window = Window {
            request,
            messages: messages.clamp(1, limits.window_messages_max),
            bytes: bytes.min(limits.window_bytes_max),
        };
        let wait_ms = wait_ms.min(limits.wait_ms_max);
        let Given { given, more } = self.hand_out(number, now, window, batch, out);
        if given > 0 || more || wait_ms == 0 {
            self.push_end(number, request, given, out);
        } else if let Some(link) = self.devices.get_mut(number).and_then(|device| device.link_mut()) {
            let until = now.instant + Duration::from_millis(u64::from(wait_ms));
            let Window { request, messages, bytes } = window;
            link.get = Some(WaitingGet { request, messages, bytes, until });
        }
        self.set_timer(number);
    }

    /// Gives a waiting GET what there is now. Whether one waited and got something.
    pub(super) fn serve_waiting(
        &mut self,
        number: u32,
        now: Now,
        batch: &mut Batch,
        out: &mut Vec<AreaEffect>,
    ) -> bool {
        let link = self.devices.get_mut(number).and_then(|device| device.link_mut());
        let Some(WaitingGet { request, messages, bytes, .. }) = link.and_then(|link| link.get) else {
            return false;
        };
        let window = Window { request, messages, bytes };
        let Given { given, more } = self.hand_out(number, now, window, batch, out);
        if given == 0 && !more {
            return false;
        }
        if let Some(link) = self.devices.get_mut(number).and_then(|device| device.link_mut()) {
            link.get = None;
        }
        self.push_end(number, request, given, out);
        self.set_timer(number);
        true
    }

    /// Ends a GET that waits, with nothing.
    pub(super) fn end_wait(&mut self, number: u32, out: &mut Vec<AreaEffect>) {
        let link = self.devices.get_mut(number).and_then(|device| device.link_mut());
        if let Some(get) = link.and_then(|link| link.get.take()) {
            self.push_end(number, get.request, 0, out);
        }
    }

    fn hand_out(
        &mut self,
        number: u32,
        now: Now,
        window: Window,
        batch: &mut Batch,
        out: &mut Vec<AreaEffect>,
    ) -> Given {
        let Some(device) = self.devices.get_mut(number) else { return Given::default() };
        let Some(conn) = device.link().map(|link| link.conn) else { return Given::default() };
        let room = self.settings.in_doubt_max.saturating_sub(device.in_doubt() as u32);
        let messages = window.messages.min(room);
        let waiting_bytes = device.queue.bytes();
        let mut commit = Commit::default();
        let mut given: Vec<Entry> = Vec::new();
        let (mut bytes, mut expired, mut raised) = (0u64, 0, false);
        while (given.len() as u32) < messages && expired < EXPIRED_MAX {
            let Some(next) = device.queue.first() else { break };
            if next.is_expired(now.wall_ms) {
                let Some(entry) = device.queue.pop_first() else { break };
                self.bytes -= u64::from(entry.length());
                let debts = &mut self.debts;
                device.end_reported(&entry, Counter::Expired, now.instant, debts, &mut commit);
                expired += 1;
                continue;
            }
            bytes += u64::from(next.length());
            if !given.is_empty() && bytes > u64::from(window.bytes) {
                break;
            }
            let Some(mut entry) = device.queue.pop_first() else { break };
            entry.delivered();
            given.push(entry);
            let live = device.live();
            raised |= live.mark.raise(entry.priority, entry.id);
            let sent = Some(now.instant);
            live.doubt.insert(entry.id, InDoubt { entry, sent, rejected: None });
        }
        self.index.left(device, waiting_bytes);
        if raised {
            let live = device.live();
            live.mark.when_ms = now.wall_ms;
            commit.set(keys::mark(number), keys::mark_value(&live.mark));
        }
        device.commit(commit, batch, &mut self.newest);
        let needs = device.newest();
        for entry in &given {
            let head = message_head(self.uid(entry.id), entry, now);
            let (id, place, bytes) = (entry.id, entry.place, entry.length());
            let request = window.request;
            out.push(AreaEffect::Message { conn, needs, request, head, id, place, bytes });
        }
        Given { given: given.len() as u32, more: expired == EXPIRED_MAX }
    }

    /// Sends again what was not confirmed in time, at most one window at once; it stays in doubt (ONCE.md 2). What the
    /// device refused is said again to the owner.
    pub(super) fn resend(&mut self, number: u32, now: Now, out: &mut Vec<AreaEffect>) {
        let Some(device) = self.devices.get_mut(number) else { return };
        let (name, needs) = (device.name, device.newest());
        let conn = device.link().filter(|link| link.resumed).map(|link| link.conn);
        let limits = self.settings.limits;
        let (mut messages, mut bytes) = (0, 0u64);
        let mut again = Vec::new();
        for doubt in device.live().doubt.values_mut() {
            if doubt.sent.is_none_or(|sent| sent + self.settings.resend_after > now.instant) {
                continue;
            }
            if let Some(reason) = doubt.rejected {
                doubt.sent = Some(now.instant);
                let (uid, place) = (uid_of(&self.identities, doubt.entry.id), doubt.entry.place);
                out.push(AreaEffect::DeadLetter { device: name, uid, place, reason });
                continue;
            }
            if conn.is_none() {
                continue;
            }
            bytes += u64::from(doubt.entry.length());
            if messages > 0
                && (messages >= limits.window_messages_max || bytes > u64::from(limits.window_bytes_max))
            {
                break;
            }
            messages += 1;
            doubt.sent = Some(now.instant);
            doubt.entry.delivered();
            again.push(doubt.entry);
        }
        let Some(conn) = conn else { return };
        // As they were handed out first.
        again.sort_by_key(|entry| (std::cmp::Reverse(entry.priority), entry.id));
        for entry in &again {
            let head = message_head(self.uid(entry.id), entry, now);
            let (id, place, bytes) = (entry.id, entry.place, entry.length());
            out.push(AreaEffect::Message { conn, needs, request: RequestId(0), head, id, place, bytes });
        }
    }

    fn push_end(&self, number: u32, request: RequestId, given: u32, out: &mut Vec<AreaEffect>) {
        let Some(device) = self.devices.get(number) else { return };
        let Some(link) = device.link() else { return };
        let waiting = u32::try_from(device.queue.len()).unwrap_or(u32::MAX);
        let in_doubt = u32::try_from(device.in_doubt()).unwrap_or(u32::MAX);
        let frame = Frame::End { given, waiting, in_doubt };
        out.push(AreaEffect::Frame { conn: link.conn, needs: Some(device.newest()), request, frame });
    }
}

fn message_head(uid: Uid, entry: &Entry, now: Now) -> MessageHead {
    MessageHead {
        uid,
        deliveries: entry.deliveries(),
        resent: entry.deliveries() > 1,
        remaining_ms: (entry.expiry_ms != 0).then(|| entry.expiry_ms.saturating_sub(now.wall_ms)),
    }
}
