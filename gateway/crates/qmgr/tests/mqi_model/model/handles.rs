//! MQOPEN, MQCLOSE, and the deletion of dynamic queues: mq-objects.md 1.4, 3.3, 5.4 and IBM's table of close options.

use super::{Handle, Kind, Model, Progress, State, TEMPORARY};
use crate::calls::value::*;
use crate::calls::{Conn, Hobj, Outcome, Seen};

impl Model {
    pub(crate) fn open(
        &mut self,
        conn: Conn,
        name: &str,
        qm: &str,
        dynamic: &str,
        options: i32,
    ) -> Result<Outcome, i32> {
        if !Self::open_options_valid(options) {
            return Err(2046);
        }
        if self.conns[&conn].handles.len() >= self.settings.max_handles {
            return Err(2017);
        }
        let mut resolved = self.resolve(qm, name)?;
        let local_only = OO_INPUT_ANY | OO_BROWSE | OO_SET;
        if resolved.remote.is_some() && options & local_only != 0 {
            return Err(2045);
        }
        let creator = resolved.is_model;
        if creator {
            let name = self.dynamic_name(dynamic)?;
            resolved.object = self.make_dynamic(resolved.object, name);
            resolved.path = vec![resolved.object];
            resolved.is_model = false;
        }
        let mut options = options;
        let def = &self.objects[resolved.object].def;
        if options & OO_INPUT_AS_Q_DEF != 0 {
            options &= !OO_INPUT_AS_Q_DEF;
            options |= if def.exclusive { OO_INPUT_EXCLUSIVE } else { OO_INPUT_SHARED };
        }
        if options & OO_INPUT_SHARED != 0 && !def.share {
            options = options & !OO_INPUT_SHARED | OO_INPUT_EXCLUSIVE;
        }
        if options & OO_INPUT_ANY != 0 {
            let others = self
                .handles
                .values()
                .filter(|h| h.resolved.object == resolved.object && h.options & OO_INPUT_ANY != 0);
            let mut others = others.peekable();
            let in_use = if options & OO_INPUT_EXCLUSIVE != 0 {
                others.peek().is_some()
            } else {
                others.any(|h| h.options & OO_INPUT_EXCLUSIVE != 0)
            };
            if in_use {
                return Err(2042);
            }
        }
        self.next_hobj += 1;
        let hobj = self.next_hobj;
        let named = options & (OO_INPUT_ANY | OO_BROWSE | OO_OUTPUT) != 0;
        let (q, qm) = match &resolved.remote {
            _ if !named => (String::new(), String::new()),
            Some((q, qm)) => (q.clone(), qm.clone()),
            None => (self.objects[resolved.object].def.name.clone(), self.settings.name.clone()),
        };
        let handle = Handle {
            conn,
            resolved,
            options,
            creator,
            cursor: None,
            logical_cursor: None,
            cursor_logical: false,
            locked: None,
            marks: Vec::new(),
            saved: None,
            before_unit: None,
            putting: None,
            getting: None,
            browsing: None,
        };
        self.handles.insert(hobj, handle);
        if let Some(connection) = self.conns.get_mut(&conn) {
            connection.handles.push(hobj);
        }
        Ok(Outcome::ok(Seen::Opened { hobj, q, qm }))
    }

    pub(crate) fn close(&mut self, conn: Conn, hobj: Hobj, options: i32) -> Result<Outcome, i32> {
        let handle = self.handle(hobj)?;
        if handle.conn != conn {
            return Err(2019);
        }
        if ![CO_NONE, CO_DELETE, CO_DELETE_PURGE].contains(&options) {
            return Err(2046);
        }
        let index = handle.resolved.object;
        let aliased = handle.resolved.path.len() > 1 || handle.resolved.remote.is_some();
        let object = &self.objects[index];
        if options != CO_NONE && !object.deleted {
            let temporary = object.def.dynamic == TEMPORARY;
            if object.def.dynamic == 0
                || aliased
                || object.def.kind != Kind::Local
                || temporary && !handle.creator
            {
                return Err(2045);
            }
            let in_doubt = object.messages.iter().any(|m| m.state != State::Available);
            if !temporary && (in_doubt || options == CO_DELETE && !object.messages.is_empty()) {
                return Err(2055);
            }
        }
        let incomplete = |progress: &Option<Progress>| progress.as_ref().map_or(0, Progress::incomplete);
        let (put, got) = (incomplete(&handle.putting), incomplete(&handle.getting));
        let warning = if put != 0 { put } else { got };
        let delete = options != CO_NONE;
        self.drop_handle(hobj);
        if delete && !self.objects[index].deleted {
            self.delete(index);
        }
        Ok(Outcome::warning(warning, Seen::Nothing))
    }

    /// Takes a handle away with its lock and its marks; the temporary dynamic queue that it made goes with it.
    pub(crate) fn drop_handle(&mut self, hobj: Hobj) {
        let Some(handle) = self.handles.remove(&hobj) else { return };
        if let Some(connection) = self.conns.get_mut(&handle.conn) {
            connection.handles.retain(|other| *other != hobj);
        }
        for object in &mut self.objects {
            for message in &mut object.messages {
                if message.locked_by == Some(hobj) {
                    message.locked_by = None;
                }
                if message.marked.is_some_and(|(by, _)| by == hobj) {
                    message.marked = None;
                }
            }
        }
        let index = handle.resolved.object;
        if handle.creator && self.objects[index].def.dynamic == TEMPORARY && !self.objects[index].deleted {
            self.delete(index);
        }
    }

    /// The queue is gone for everybody; what is in doubt stays until its units end, and is then nowhere.
    fn delete(&mut self, index: usize) {
        let object = &mut self.objects[index];
        object.deleted = true;
        object.messages.retain(|m| m.state != State::Available);
    }

    /// Whether somebody has the queue open, by whatever name, or holds messages of it.
    pub(crate) fn is_in_use(&self, index: usize) -> bool {
        self.objects[index].messages.iter().any(|m| m.state != State::Available)
            || self.handles.values().any(|handle| handle.resolved.path.contains(&index))
    }

    /// CLEAR QLOCAL, mq-objects.md 4.3.
    pub(crate) fn clear(&mut self, name: &str) -> Outcome {
        let Some(index) = self.find(name) else { return Outcome::failed(REFUSED_NOT_FOUND) };
        if self.is_in_use(index) {
            return Outcome::failed(REFUSED_IN_USE);
        }
        self.objects[index].messages.clear();
        Outcome::ok(Seen::Nothing)
    }

    /// DELETE QLOCAL, mq-objects.md 4.3.
    pub(crate) fn delete_local(&mut self, name: &str, purge: bool) -> Outcome {
        let Some(index) = self.find(name) else { return Outcome::failed(REFUSED_NOT_FOUND) };
        if self.is_in_use(index) {
            return Outcome::failed(REFUSED_IN_USE);
        }
        if !purge && self.depth(index) > 0 {
            return Outcome::failed(REFUSED_NOT_EMPTY);
        }
        self.delete(index);
        Outcome::ok(Seen::Nothing)
    }

    /// MQDISC commits; a connection that is lost is backed out.
    pub(crate) fn end(&mut self, conn: Conn, commit: bool) -> Outcome {
        self.waiters.retain(|waiter| waiter.conn != conn);
        if commit {
            self.commit(conn);
        } else {
            self.back_out(conn);
        }
        let handles = self.conns.get(&conn).map(|c| c.handles.clone()).unwrap_or_default();
        for hobj in handles {
            self.drop_handle(hobj);
        }
        self.conns.remove(&conn);
        Outcome::ok(Seen::Nothing)
    }
}
