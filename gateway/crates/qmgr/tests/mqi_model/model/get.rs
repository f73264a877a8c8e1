//! MQGET: mq-objects.md 1.6 and what IBM documents of its options.

use super::{Context, Handle, Message, Model, Progress, State, Waiter};
use crate::calls::value::*;
use crate::calls::{Body, Conn, Data, Gmo, Got, Hobj, Id, NO_ID, Outcome, Seen};

impl Model {
    pub(crate) fn get(&mut self, conn: Conn, hobj: Hobj, gmo: Gmo, buffer: usize) -> Outcome {
        let faults = self.get_faults(conn, hobj, &gmo);
        if let Some(first) = faults.first().copied() {
            self.also = faults;
            return Outcome::failed(first);
        }
        self.expire_locked(hobj, &gmo);
        if let Some(outcome) = self.get_now(conn, hobj, &gmo, buffer) {
            return outcome;
        }
        // What was locked is free when there is nothing more to browse, and before a wait begins.
        if gmo.options & (GMO_BROWSE_FIRST | GMO_BROWSE_NEXT) != 0 {
            self.unlock(hobj);
        }
        if gmo.options & GMO_WAIT == 0 || gmo.wait_ms == 0 {
            return Outcome::failed(2033);
        }
        let deadline = (gmo.wait_ms >= 0).then(|| self.now + u64::from(gmo.wait_ms.unsigned_abs()));
        self.waiters.push(Waiter { conn, hobj, gmo, buffer, deadline });
        Outcome { cc: 0, reason: 0, seen: Seen::Waits }
    }

    /// What a handle has locked is seen by its own gets: they end it if it has expired, as any get does that would return
    /// a message.
    fn expire_locked(&mut self, hobj: Hobj, gmo: &Gmo) {
        let Some(handle) = self.handles.get(&hobj).filter(|_| gmo.options & GMO_UNLOCK == 0) else { return };
        let inhibited = handle.resolved.path.iter().any(|index| self.objects[*index].def.get_inhibited);
        if inhibited || Self::changes_order(handle, gmo) {
            return;
        }
        let (now, object) = (self.now, handle.resolved.object);
        for message in &mut self.objects[object].messages {
            if message.locked_by == Some(hobj) && message.expires.is_some_and(|expires| expires <= now) {
                message.locked_by = None;
            }
        }
        let left = self.objects[object].messages.iter().any(|message| message.locked_by == Some(hobj));
        if let Some(handle) = self.handles.get_mut(&hobj).filter(|_| !left) {
            handle.locked = None;
        }
        self.expire();
    }

    /// BROWSE_NEXT in another order than the browse before it.
    fn changes_order(handle: &Handle, gmo: &Gmo) -> bool {
        let logical = gmo.options & GMO_LOGICAL_ORDER != 0;
        gmo.options & GMO_BROWSE_NEXT != 0 && handle.cursor.is_some() && handle.cursor_logical != logical
    }

    /// All that is wrong with the call, whatever is on the queue.
    fn get_faults(&self, conn: Conn, hobj: Hobj, gmo: &Gmo) -> Vec<i32> {
        let Some(handle) = self.handles.get(&hobj).filter(|handle| handle.conn == conn) else {
            return vec![2019];
        };
        let options = gmo.options;
        let has = |bits: i32| options & bits != 0;
        let one_of = |bits: i32| (options & bits).count_ones() <= 1;
        let browse = has(GMO_BROWSES);
        let with_no_mark = GMO_LOCK | GMO_LOGICAL_ORDER | GMO_COMPLETE_MSG | GMO_ALL_MSGS | GMO_ALL_SEGMENTS;
        let valid = one_of(GMO_SYNCPOINT | GMO_NO_SYNCPOINT | GMO_IF_PERSISTENT)
            && one_of(GMO_BROWSES | GMO_UNDER_CURSOR | GMO_UNLOCK)
            && (!browse || !has(GMO_SYNCPOINT | GMO_IF_PERSISTENT))
            && (!has(GMO_LOCK) || browse)
            && (!has(GMO_UNLOCK) || options & !(GMO_UNLOCK | GMO_NO_SYNCPOINT) == 0)
            && (!has(GMO_MARK_HANDLE | GMO_MARK_CO_OP | GMO_UNMARKED) || browse)
            && one_of(GMO_MARK_HANDLE | GMO_MARK_CO_OP | GMO_UNMARK_HANDLE | GMO_UNMARK_CO_OP)
            && !(has(GMO_MARKS) && has(with_no_mark))
            // Segments would have to be of one kind.
            && !(has(GMO_COMPLETE_MSG) && has(GMO_IF_PERSISTENT));
        let needs_browse = browse || has(GMO_UNDER_CURSOR | GMO_UNLOCK);
        let needs_input = !browse && !has(GMO_UNLOCK);
        let token = gmo.matches & MO_TOKEN != 0;
        let checks = [
            (!valid, 2046),
            (gmo.matches & !0x3f != 0, 2247),
            // A token names one message: IBM allows no wait for it.
            (token && has(GMO_WAIT), 2331),
            (needs_browse && handle.options & OO_BROWSE == 0, 2036),
            (needs_input && handle.options & OO_INPUT_ANY == 0, 2037),
            (has(GMO_WAIT) && gmo.wait_ms < -1, 2090),
        ];
        let mut faults: Vec<i32> =
            checks.into_iter().filter(|(wrong, _)| *wrong).map(|(_, reason)| reason).collect();
        if !faults.is_empty() {
            if self.objects[handle.resolved.object].deleted {
                faults.push(2052);
            }
            if handle.resolved.path.iter().any(|index| self.objects[*index].def.get_inhibited) {
                faults.push(2016);
            }
        }
        faults
    }

    /// One look at the queue: what came of it, or nothing suitable.
    pub(crate) fn get_now(&mut self, conn: Conn, hobj: Hobj, gmo: &Gmo, buffer: usize) -> Option<Outcome> {
        let handle = self.handles.get(&hobj)?.clone();
        let object = handle.resolved.object;
        if self.objects[object].deleted {
            return Some(Outcome::failed(2052));
        }
        let options = gmo.options;
        if options & GMO_UNLOCK != 0 {
            let was = handle.locked.is_some();
            self.unlock(hobj);
            return Some(Outcome::warning(if was { 0 } else { 2209 }, Seen::Nothing));
        }
        if handle.resolved.path.iter().any(|index| self.objects[*index].def.get_inhibited) {
            return Some(Outcome::failed(2016));
        }
        let browse = options & GMO_BROWSES != 0;
        let logical = options & GMO_LOGICAL_ORDER != 0;
        if options & (GMO_UNDER_CURSOR | GMO_BROWSE_UNDER_CURSOR) != 0 {
            let under = handle.cursor.and_then(|(_, serial)| self.message(object, serial));
            let Some(message) = under.filter(|m| self.visible(m, hobj)).cloned() else {
                return Some(Outcome::failed(2034));
            };
            let progress = handle.getting.as_ref().filter(|_| !browse && !logical);
            let warning = progress.map_or(0, Progress::incomplete);
            return Some(self.deliver(conn, hobj, gmo, buffer, &[message], warning));
        }
        if Self::changes_order(&handle, gmo) {
            return Some(Outcome::failed(2259));
        }
        let first = options & GMO_BROWSE_FIRST != 0;
        let progress = if browse { handle.browsing.clone() } else { handle.getting.clone() };
        let mut warning = 0;
        if !logical && let Some(progress) = &progress {
            warning = progress.incomplete();
        }
        // BROWSE_FIRST scans as if there was no group, but says what was left.
        let progress = progress.filter(|_| !first);
        let candidates = self.candidates(object, hobj, &handle, gmo, progress.as_ref())?;
        if logical
            && !browse
            && let Some(progress) = progress.as_ref().filter(|p| p.unfinished())
            && progress.synced != Self::in_syncpoint(options, &candidates[0])
        {
            return Some(Outcome::failed(2245));
        }
        Some(self.deliver(conn, hobj, gmo, buffer, &candidates, warning))
    }

    fn in_syncpoint(options: i32, message: &Message) -> bool {
        options & GMO_SYNCPOINT != 0 || options & GMO_IF_PERSISTENT != 0 && message.md.persistence == 1
    }

    fn visible(&self, message: &Message, hobj: Hobj) -> bool {
        message.state == State::Available
            && message.locked_by.is_none_or(|by| by == hobj)
            && message.expires.is_none_or(|expires| expires > self.now)
    }

    fn message(&self, object: usize, serial: u64) -> Option<&Message> {
        self.objects[object].messages.iter().find(|m| m.serial == serial)
    }

    /// The first message that suits, or all segments of it for COMPLETE_MSG.
    fn candidates(
        &self,
        object: usize,
        hobj: Hobj,
        handle: &Handle,
        gmo: &Gmo,
        progress: Option<&Progress>,
    ) -> Option<Vec<Message>> {
        let options = gmo.options;
        let logical = options & GMO_LOGICAL_ORDER != 0;
        let going_on = progress.filter(|p| logical && p.unfinished());
        for message in &self.objects[object].messages {
            if !self.visible(message, hobj) {
                continue;
            }
            let md = &message.md;
            let segment = md.flags & MF_SEGMENT != 0;
            let in_group = md.flags & MF_IN_GROUP != 0;
            if let Some(progress) = going_on {
                let (seq, offset) = if progress.in_message {
                    (progress.seq, progress.next_offset)
                } else {
                    (progress.seq + 1, 0)
                };
                if (!in_group && !segment)
                    || md.group_id != progress.group_id
                    || md.seq != seq
                    || md.offset != offset
                {
                    continue;
                }
            } else {
                let from = if logical { handle.logical_cursor } else { handle.cursor };
                if options & GMO_BROWSE_NEXT != 0
                    && from.is_some_and(|from| self.key(object, message) <= from)
                {
                    continue;
                }
                if logical && (in_group && md.seq != 1 || segment && md.offset != 0) {
                    continue;
                }
            }
            if !self.matches(message, gmo, going_on.is_some()) || !self.unmarked(message, handle, options) {
                continue;
            }
            if going_on.is_none()
                && options & GMO_ALL_MSGS != 0
                && !self.group_complete(object, hobj, message)
            {
                continue;
            }
            // All messages means all segments too, of each logical message that is begun.
            let begins = going_on.is_none_or(|progress| !progress.in_message);
            let all_segments = options & (GMO_ALL_SEGMENTS | GMO_ALL_MSGS) != 0;
            if begins && all_segments && self.segments(object, hobj, message, false).is_none() {
                continue;
            }
            if options & GMO_COMPLETE_MSG != 0 && segment {
                if md.offset != 0 {
                    continue;
                }
                let Some(serials) = self.segments(object, hobj, message, true) else { continue };
                return Some(
                    serials.iter().filter_map(|serial| self.message(object, *serial)).cloned().collect(),
                );
            }
            return Some(vec![message.clone()]);
        }
        None
    }

    fn matches(&self, message: &Message, gmo: &Gmo, going_on: bool) -> bool {
        let id =
            |bit: i32, wanted: &Id, has: &Id| gmo.matches & bit == 0 || *wanted == NO_ID || wanted == has;
        let md = &message.md;
        id(MO_MSG_ID, &gmo.msg_id, &md.msg_id)
            && id(MO_CORREL_ID, &gmo.correl_id, &md.correl_id)
            && (going_on || id(MO_GROUP_ID, &gmo.group_id, &md.group_id))
            && (going_on || gmo.matches & MO_SEQ == 0 || gmo.seq == md.seq)
            && (going_on || gmo.matches & MO_OFFSET == 0 || gmo.offset == md.offset)
            && (gmo.matches & MO_TOKEN == 0 || gmo.token == message.serial)
    }

    fn unmarked(&self, message: &Message, handle: &Handle, options: i32) -> bool {
        if options & GMO_UNMARKED == 0 {
            return true;
        }
        let co_op = message.marked.is_some_and(|(_, until)| until > self.now);
        !(handle.marks.contains(&message.serial) || handle.options & OO_CO_OP != 0 && co_op)
    }

    fn unlock(&mut self, hobj: Hobj) {
        let Some(handle) = self.handles.get_mut(&hobj) else { return };
        let object = handle.resolved.object;
        handle.locked = None;
        for message in &mut self.objects[object].messages {
            if message.locked_by == Some(hobj) {
                message.locked_by = None;
            }
        }
    }

    /// Gives one message (or the segments of one) to the caller, with everything that follows from it.
    fn deliver(
        &mut self,
        conn: Conn,
        hobj: Hobj,
        gmo: &Gmo,
        buffer: usize,
        found: &[Message],
        warning: i32,
    ) -> Outcome {
        let options = gmo.options;
        let object = self.handles[&hobj].resolved.object;
        let first = found[0].clone();
        let last = &found[found.len() - 1];
        let browse = options & GMO_BROWSES != 0;
        let synced = !browse && Self::in_syncpoint(options, &first);
        let bytes: Vec<u8> = found.iter().flat_map(|m| m.data.bytes.0.iter().copied()).collect();
        let data = Data { header: first.data.header.clone(), bytes: Body(bytes) };
        let length = data.len();
        let mut md = first.md.clone();
        if let Some(expires) = first.expires {
            md.expiry = (expires.saturating_sub(self.now) / 100) as i32;
        }
        let in_group = md.flags & MF_IN_GROUP != 0;
        let segment = md.flags & MF_SEGMENT != 0;
        let got = Got {
            group_status: if !in_group {
                b' '
            } else if md.flags & MF_LAST_IN_GROUP != 0 {
                b'L'
            } else {
                b'G'
            },
            segment_status: if !segment {
                b' '
            } else if last.md.flags & MF_LAST_SEGMENT != 0 {
                b'L'
            } else {
                b'S'
            },
            md,
            returned: length.min(buffer),
            length,
            token: first.serial,
            q: self.objects[object].def.name.clone(),
            assembled: found.len() > 1,
            data,
        };
        let seen = Seen::Got(Box::new(got));
        let truncated = length > buffer;
        if truncated && options & GMO_ACCEPT_TRUNCATED == 0 {
            // The cursor stays, but BROWSE_FIRST puts it before the first message (what IBM documents of 2080).
            if options & GMO_BROWSE_FIRST != 0
                && let Some(handle) = self.handles.get_mut(&hobj)
            {
                (handle.cursor, handle.logical_cursor, handle.browsing) = (None, None, None);
            }
            return Outcome::warning(2080, seen);
        }
        // What is taken in parts has to be taken in a unit of work, and there is one of somebody else's making.
        let in_parts = found.len() > 1 && first.md.persistence == 1 && !browse && !synced;
        if in_parts && self.uncommitted(conn) > 0 {
            return Outcome::failed(2255);
        }
        if synced {
            // The report on delivery counts as well (mq-objects.md 3.2, MAXUMSGS).
            let report = usize::from(first.md.report & RO_COD != 0);
            if self.uncommitted(conn) + found.len() + report > self.settings.max_uncommitted {
                return Outcome::failed(2024);
            }
        }
        if browse {
            self.after_browse(hobj, object, gmo, &first, last, found);
        } else {
            self.after_get(conn, hobj, object, gmo, found, synced);
        }
        let reason = if truncated { 2079 } else { warning };
        Outcome::warning(reason, seen)
    }

    fn after_browse(
        &mut self,
        hobj: Hobj,
        object: usize,
        gmo: &Gmo,
        first: &Message,
        last: &Message,
        found: &[Message],
    ) {
        let options = gmo.options;
        let logical = options & GMO_LOGICAL_ORDER != 0;
        self.unlock(hobj);
        let until = self.now + self.settings.mark_ms;
        let key = self.key(object, first);
        let Some(handle) = self.handles.get_mut(&hobj) else { return };
        if options & GMO_BROWSE_UNDER_CURSOR == 0 {
            let going_on = logical
                && options & GMO_BROWSE_FIRST == 0
                && handle.browsing.as_ref().is_some_and(Progress::unfinished);
            if !going_on {
                handle.logical_cursor = Some(key);
            }
            handle.cursor = Some(key);
            handle.cursor_logical = logical;
            handle.browsing = Some(Progress::after(&last.md, last.data.len(), false, logical));
        }
        if options & GMO_LOCK != 0 {
            handle.locked = Some(first.serial);
        }
        for message in found {
            if options & GMO_MARK_HANDLE != 0 && !handle.marks.contains(&message.serial) {
                handle.marks.push(message.serial);
            }
            if options & GMO_UNMARK_HANDLE != 0 {
                handle.marks.retain(|serial| *serial != message.serial);
            }
        }
        for message in &mut self.objects[object].messages {
            if found.iter().all(|m| m.serial != message.serial) {
                continue;
            }
            if options & GMO_LOCK != 0 {
                message.locked_by = Some(hobj);
            }
            if options & GMO_MARK_CO_OP != 0 {
                message.marked = Some((hobj, until));
            }
            if options & GMO_UNMARK_CO_OP != 0 {
                message.marked = None;
            }
        }
    }

    fn after_get(
        &mut self,
        conn: Conn,
        hobj: Hobj,
        object: usize,
        gmo: &Gmo,
        found: &[Message],
        synced: bool,
    ) {
        let logical = gmo.options & GMO_LOGICAL_ORDER != 0;
        let taken = |m: &Message| found.iter().any(|other| other.serial == m.serial);
        for message in &mut self.objects[object].messages {
            if taken(message) {
                message.locked_by = None;
                message.marked = None;
                message.state = State::GotBy(conn);
            }
        }
        // A message that comes back is nobody's old acquaintance.
        for handle in self.handles.values_mut() {
            handle.marks.retain(|serial| found.iter().all(|m| m.serial != *serial));
        }
        if !synced {
            self.objects[object].messages.retain(|m| !taken(m));
        }
        let md = &found[0].md;
        let last = &found[found.len() - 1];
        if let Some(handle) = self.handles.get_mut(&hobj) {
            if handle.locked.is_some_and(|serial| found.iter().any(|m| m.serial == serial)) {
                handle.locked = None;
            }
            let grouped = md.flags & (MF_IN_GROUP | MF_SEGMENT) != 0;
            if handle.getting.is_some() || logical || grouped {
                handle.begin_unit(synced);
                handle.getting = Some(Progress::after(&last.md, last.data.len(), synced, logical));
            }
            if handle.options & OO_SAVE_ALL != 0 {
                handle.saved = Some(Context {
                    user: md.user.clone(),
                    identity: md.identity.clone(),
                    put_type: md.put_type,
                    put_name: md.put_name.clone(),
                    origin: md.origin.clone(),
                });
            }
        }
        // There is one report on all that was put together ("Reports and segmented messages").
        let mut message = found[0].clone();
        if message.md.report & RO_COD == 0 {
            return;
        }
        if gmo.options & GMO_COMPLETE_MSG != 0 && message.md.flags & MF_SEGMENT != 0 {
            message.md.flags |= MF_LAST_SEGMENT;
        }
        message.data.bytes = Body(found.iter().flat_map(|m| m.data.bytes.0.iter().copied()).collect());
        self.report(&message, FB_COD, message.md.report >> 12, synced.then_some(conn));
    }
}
