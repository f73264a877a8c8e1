//! MQGET in all its forms.

use super::{Generator, id};
use crate::calls::value::*;
use crate::calls::{Call, Conn, Gmo, Hobj, NO_ID};
use crate::model::{Handle, Model};

impl Generator {
    pub(super) fn get(&mut self, conn: Conn, hobj: Hobj, model: &Model) -> Call {
        let handle = &model.handles[&hobj];
        let (can_get, can_browse) = (handle.options & OO_INPUT_ANY != 0, handle.options & OO_BROWSE != 0);
        let mut options = 0;
        let browse = can_browse && (!can_get || self.random.percent(50));
        if browse {
            options = match self.random.below(100) {
                0..25 => GMO_BROWSE_FIRST,
                25..75 => GMO_BROWSE_NEXT,
                75..85 => GMO_BROWSE_UNDER_CURSOR,
                85..88 if self.features.locks => return self.unlock(conn, hobj),
                _ if can_get => GMO_UNDER_CURSOR,
                _ => GMO_BROWSE_NEXT,
            };
        }
        let under = options & (GMO_UNDER_CURSOR | GMO_BROWSE_UNDER_CURSOR) != 0;
        if options & GMO_BROWSES == 0 {
            options |=
                self.random.pick(&[0, GMO_NO_SYNCPOINT, GMO_SYNCPOINT, GMO_SYNCPOINT, GMO_IF_PERSISTENT]);
        } else if self.features.locks && self.random.percent(15) {
            options |= GMO_LOCK;
        }
        if self.features.marks
            && options & GMO_LOCK == 0
            && options & GMO_BROWSES != 0
            && self.random.percent(30)
        {
            options |= self.marks(handle.options & OO_CO_OP != 0, under);
        }
        let mut gmo = Gmo {
            options,
            wait_ms: 0,
            matches: 0,
            msg_id: NO_ID,
            correl_id: NO_ID,
            group_id: NO_ID,
            seq: 1,
            offset: 0,
            token: 0,
        };
        if !under {
            self.matches(&mut gmo, model, handle.resolved.object);
            self.grouping(&mut gmo, handle);
            // How many that browse are woken beside one that takes is unpredictable, says IBM.
            let takes = |gmo: &Gmo| gmo.options & GMO_BROWSES == 0 || gmo.options & GMO_LOCK != 0;
            let on_it = |hobj: &Hobj| model.handles[hobj].resolved.object == handle.resolved.object;
            let mixed = model.waiters.iter().any(|w| on_it(&w.hobj) && takes(&w.gmo) != takes(&gmo));
            if self.features.waits && !mixed && self.random.percent(8) {
                gmo.options |= GMO_WAIT;
                gmo.wait_ms = self.random.pick(&[0, 500, 1000, 3000, -1]);
            }
        }
        let mut buffer = 2000;
        let first = gmo.options & GMO_BROWSE_FIRST != 0 && !self.features.first_truncated;
        if self.features.truncation && !first && self.random.percent(12) {
            buffer = self.random.below(50);
            if self.random.percent(50) {
                gmo.options |= GMO_ACCEPT_TRUNCATED;
            }
        }
        if self.features.wrong && self.random.percent(1) {
            gmo.options |=
                self.random.pick(&[GMO_SYNCPOINT | GMO_NO_SYNCPOINT, GMO_BROWSE_FIRST | GMO_UNDER_CURSOR]);
        }
        Call::Get { conn, hobj, gmo, buffer }
    }

    fn unlock(&mut self, conn: Conn, hobj: Hobj) -> Call {
        let gmo = Gmo {
            options: GMO_UNLOCK,
            wait_ms: 0,
            matches: 0,
            msg_id: NO_ID,
            correl_id: NO_ID,
            group_id: NO_ID,
            seq: 1,
            offset: 0,
            token: 0,
        };
        Call::Get { conn, hobj, gmo, buffer: 0 }
    }

    fn marks(&mut self, co_op: bool, under: bool) -> i32 {
        match self.random.below(4) {
            0 if under => GMO_UNMARK_HANDLE,
            1 if under && co_op => GMO_UNMARK_CO_OP,
            0 if co_op => GMO_MARK_CO_OP | GMO_UNMARKED,
            1 => GMO_MARK_HANDLE,
            2 if !under => GMO_UNMARKED,
            _ if under => GMO_MARK_HANDLE,
            _ => GMO_MARK_HANDLE | GMO_UNMARKED,
        }
    }

    fn matches(&mut self, gmo: &mut Gmo, model: &Model, object: usize) {
        let messages = &model.objects[object].messages;
        if self.random.percent(60) || messages.is_empty() {
            gmo.matches = self.random.pick(&[0, 0, MO_MSG_ID | MO_CORREL_ID]);
            return;
        }
        let message = &messages[self.random.below(messages.len())];
        match self.random.below(6) {
            0 => (gmo.matches, gmo.msg_id) = (MO_MSG_ID, message.md.msg_id),
            1 => (gmo.matches, gmo.correl_id) = (MO_CORREL_ID, message.md.correl_id),
            2 => {
                gmo.matches = MO_MSG_ID | MO_CORREL_ID;
                (gmo.msg_id, gmo.correl_id) = (message.md.msg_id, message.md.correl_id);
            }
            3 if self.features.tokens => (gmo.matches, gmo.token) = (MO_TOKEN, message.serial),
            4 if self.features.group_matches => {
                (gmo.matches, gmo.group_id) = (MO_GROUP_ID, message.md.group_id);
            }
            5 if self.features.group_matches => {
                gmo.matches = MO_GROUP_ID | MO_SEQ | MO_OFFSET;
                (gmo.group_id, gmo.seq, gmo.offset) =
                    (message.md.group_id, message.md.seq, message.md.offset);
            }
            _ => (gmo.matches, gmo.correl_id) = (MO_CORREL_ID, id("correl.1")),
        }
    }

    /// Logical order and its relatives, with match options that go with them.
    fn grouping(&mut self, gmo: &mut Gmo, handle: &Handle) {
        if !self.features.logical || gmo.options & GMO_MARKS != 0 {
            return;
        }
        let browse = gmo.options & GMO_BROWSES != 0;
        let progress = if browse { &handle.browsing } else { &handle.getting };
        let unfinished = progress.as_ref().filter(|p| p.unfinished());
        let chance = if unfinished.is_some_and(|p| p.logical) { 90 } else { 15 };
        let next = gmo.options & GMO_BROWSE_NEXT != 0 && handle.cursor.is_some();
        let logical = self.random.percent(chance);
        if if next && self.random.percent(95) { handle.cursor_logical } else { logical } {
            gmo.options |= GMO_LOGICAL_ORDER;
            // Within a group the next message is given: there is nothing to match (2247).
            gmo.matches &= if unfinished.is_some() { 0 } else { MO_GROUP_ID };
            if let Some(progress) = unfinished.filter(|_| !browse && !self.random.percent(1)) {
                gmo.options &= !(GMO_SYNCPOINT | GMO_NO_SYNCPOINT | GMO_IF_PERSISTENT);
                gmo.options |= if progress.synced { GMO_SYNCPOINT } else { 0 };
            }
            gmo.options &= !(GMO_MARK_HANDLE | GMO_MARK_CO_OP | GMO_UNMARKED);
        }
        if self.random.percent(12) {
            gmo.options |= GMO_ALL_MSGS;
        }
        if self.features.complete && self.random.percent(6) {
            gmo.options |= GMO_ALL_SEGMENTS;
        }
        if self.features.complete && self.random.percent(12) {
            gmo.options |= GMO_COMPLETE_MSG;
        }
    }
}
