//! MQPUT, MQPUT1 and the messages that the queue manager makes itself: mq-objects.md 1.2, 1.5, 1.7, 5.4, 5.6.

use super::{Context, Kind, Message, Model, Resolved, State, TEMPORARY, program_of, user_of};
use crate::calls::value::*;
use crate::calls::{Body, Conn, Data, Header, Hobj, Md, NO_ID, Outcome, Seen};

impl Model {
    pub fn put(
        &mut self,
        conn: Conn,
        hobj: Hobj,
        md: Md,
        options: i32,
        context: Hobj,
        data: Vec<u8>,
    ) -> Result<Outcome, i32> {
        let handle = self.handle(hobj)?.clone();
        if handle.conn != conn {
            return Err(2019);
        }
        if handle.options & OO_OUTPUT == 0 {
            return Err(2039);
        }
        Self::put_options_valid(options)?;
        let needs = [
            (PMO_PASS_ALL, OO_PASS_ALL, 2093),
            (PMO_PASS_IDENTITY, OO_PASS_IDENTITY | OO_PASS_ALL, 2094),
            (PMO_SET_ALL, OO_SET_ALL, 2095),
            (PMO_SET_IDENTITY, OO_SET_IDENTITY | OO_SET_ALL, 2096),
        ];
        for (option, open, reason) in needs {
            if options & option != 0 && handle.options & open == 0 {
                return Err(reason);
            }
        }
        let mut passed = None;
        if options & (PMO_PASS_ALL | PMO_PASS_IDENTITY) != 0 {
            let from = self.handles.get(&context).filter(|h| h.conn == conn).ok_or(2097)?;
            if from.options & OO_SAVE_ALL == 0 {
                return Err(2097);
            }
            passed = Some(from.saved.clone().ok_or(2098)?);
        }
        if self.objects[handle.resolved.object].deleted {
            return Err(2052);
        }
        self.put_on(conn, &handle.resolved, Some(hobj), md, options, passed, data)
    }

    pub fn put1(
        &mut self,
        conn: Conn,
        name: &str,
        qm: &str,
        md: Md,
        options: i32,
        data: Vec<u8>,
    ) -> Result<Outcome, i32> {
        Self::put_options_valid(options)?;
        if options & PMO_LOGICAL_ORDER != 0 {
            return Err(2046);
        }
        let resolved = self.resolve(qm, name)?;
        if resolved.is_model {
            return Err(2057);
        }
        self.put_on(conn, &resolved, None, md, options, None, data)
    }

    fn put_options_valid(options: i32) -> Result<(), i32> {
        let syncpoints = options & (PMO_SYNCPOINT | PMO_NO_SYNCPOINT);
        if syncpoints.count_ones() > 1 || (options & PMO_CONTEXTS).count_ones() > 1 {
            return Err(2046);
        }
        Ok(())
    }

    /// The checks of the descriptor that need no queue; the warning is 2049.
    fn check_md(md: &mut Md) -> Result<i32, i32> {
        if md.msg_type < 1 || md.msg_type > 999_999_999 {
            return Err(2029);
        }
        if md.expiry != -1 && md.expiry <= 0 {
            return Err(2013);
        }
        if ![0, 1, 2].contains(&md.persistence) {
            return Err(2047);
        }
        if md.priority < -1 {
            return Err(2050);
        }
        let reports = RO_COA_FULL | RO_COD_FULL | RO_EXPIRATION_FULL | 0x0700_0000;
        if (md.msg_type == 1 || md.report & reports != 0) && md.reply_q.is_empty() {
            return Err(2027);
        }
        if md.seq < 1 || md.seq > 999_999_999 {
            return Err(2250);
        }
        if md.offset < 0 || md.offset > 999_999_999 {
            return Err(2251);
        }
        let mut warning = 0;
        if md.priority > 9 {
            md.priority = 9;
            warning = 2049;
        }
        Ok(warning)
    }

    fn put_on(
        &mut self,
        conn: Conn,
        resolved: &Resolved,
        hobj: Option<Hobj>,
        mut md: Md,
        options: i32,
        passed: Option<Context>,
        data: Vec<u8>,
    ) -> Result<Outcome, i32> {
        let synced = options & PMO_SYNCPOINT != 0;
        let reports = usize::from(resolved.remote.is_none() && md.report & RO_COA != 0);
        if synced && self.uncommitted(conn) + 1 + reports > self.settings.max_uncommitted {
            return Err(2024);
        }
        let mut warning = Self::check_md(&mut md)?;
        let first = &self.objects[resolved.path[0]].def;
        if md.priority == -1 {
            md.priority = first.priority;
        }
        if md.persistence == 2 {
            md.persistence = i32::from(first.persistent);
        }
        let length = data.len();
        let (grouped, progress) = self.put_progress(hobj, &mut md, options, length, synced)?;
        if grouped != 0 {
            warning = grouped;
        }
        let owner = synced.then_some(conn);
        if options & PMO_NEW_MSG_ID != 0 || md.msg_id == NO_ID {
            md.msg_id = self.new_id();
        }
        if options & PMO_NEW_CORREL_ID != 0 {
            md.correl_id = self.new_id();
        }
        self.fill_context(conn, &mut md, options, passed);
        self.resolve_reply(&mut md);
        md.backout = 0;
        let ids = (md.msg_id, md.correl_id, md.group_id, md.seq, md.offset);
        self.place_resolved(resolved, md, data, owner)?;
        if let (Some(hobj), Some(progress)) = (hobj, progress)
            && let Some(handle) = self.handles.get_mut(&hobj)
        {
            handle.putting = progress;
        }
        let (msg_id, correl_id, group_id, seq, offset) = ids;
        Ok(Outcome::warning(warning, Seen::Put { msg_id, correl_id, group_id, seq, offset }))
    }

    fn fill_context(&self, conn: Conn, md: &mut Md, options: i32, passed: Option<Context>) {
        let origin = (6, program_of(conn), String::new());
        let given = md.clone();
        md.user = user_of(conn);
        md.identity = String::new();
        (md.put_type, md.put_name, md.origin) = origin;
        if options & PMO_NO_CONTEXT != 0 {
            md.user = String::new();
            (md.put_type, md.put_name) = (0, String::new());
        }
        if options & (PMO_SET_IDENTITY | PMO_SET_ALL) != 0 {
            (md.user, md.identity) = (given.user, given.identity);
        }
        if options & PMO_SET_ALL != 0 {
            (md.put_type, md.put_name, md.origin) = (given.put_type, given.put_name, given.origin);
        }
        if let Some(passed) = passed {
            (md.user, md.identity) = (passed.user, passed.identity);
            if options & PMO_PASS_ALL != 0 {
                (md.put_type, md.put_name, md.origin) = (passed.put_type, passed.put_name, passed.origin);
            }
        }
    }

    /// mq-objects.md 5.6.
    fn resolve_reply(&self, md: &mut Md) {
        if md.reply_q.is_empty() || !md.reply_qm.is_empty() {
            return;
        }
        match self.find(&md.reply_q).map(|index| &self.objects[index].def.kind) {
            Some(Kind::Remote { q, qm, .. }) => (md.reply_q, md.reply_qm) = (q.clone(), qm.clone()),
            _ => md.reply_qm = self.settings.name.clone(),
        }
    }

    /// The checks of the queue that a message goes to, in this order.
    fn check_place(&self, resolved: &Resolved, md: &Md, length: usize) -> Result<(), i32> {
        let object = &self.objects[resolved.object];
        if object.deleted {
            return Err(2052);
        }
        if resolved.path.iter().any(|index| self.objects[*index].def.put_inhibited) {
            return Err(2051);
        }
        if md.persistence == 1 && object.def.dynamic == TEMPORARY {
            return Err(2048);
        }
        if length > self.settings.max_length {
            return Err(2031);
        }
        let room = if resolved.remote.is_some() {
            object.def.max_length.saturating_sub(4000)
        } else {
            object.def.max_length
        };
        if length > room {
            return Err(2030);
        }
        if self.depth(resolved.object) >= object.def.max_depth {
            return Err(2053);
        }
        Ok(())
    }

    /// Puts a finished message where it goes: on its queue with its COA report, or into a transmission queue.
    fn place_resolved(
        &mut self,
        resolved: &Resolved,
        md: Md,
        data: Vec<u8>,
        owner: Option<Conn>,
    ) -> Result<(), i32> {
        self.check_place(resolved, &md, data.len())?;
        match &resolved.remote {
            None => {
                let message =
                    self.place(resolved.object, md, Data { header: None, bytes: Body(data) }, owner);
                if message.md.report & RO_COA != 0 {
                    self.report(&message, FB_COA, message.md.report >> 9, owner);
                }
            }
            Some((q, qm)) => {
                let outer = Md {
                    msg_id: self.new_id(),
                    correl_id: md.msg_id,
                    report: md.report & !0x0003_ff00,
                    format: "MQXMIT".to_owned(),
                    put_type: 7,
                    put_name: self.settings.name.clone(),
                    origin: String::new(),
                    group_id: NO_ID,
                    seq: 1,
                    offset: 0,
                    flags: 0,
                    original_length: -1,
                    ..md.clone()
                };
                let header = Header::Transmission { q: q.clone(), qm: qm.clone(), md: Box::new(md) };
                self.place(resolved.object, outer, Data { header: Some(header), bytes: Body(data) }, owner);
            }
        }
        Ok(())
    }

    fn place(&mut self, object: usize, md: Md, data: Data, owner: Option<Conn>) -> Message {
        self.next_serial += 1;
        let message = Message {
            serial: self.next_serial,
            expires: (md.expiry != -1).then(|| self.now + u64::from(md.expiry.unsigned_abs()) * 100),
            md,
            data,
            state: owner.map_or(State::Available, State::PutBy),
            locked_by: None,
            marked: None,
        };
        let key = self.key(object, &message);
        let at = self.objects[object].messages.iter().position(|other| self.key(object, other) > key);
        let messages = &mut self.objects[object].messages;
        messages.insert(at.unwrap_or(messages.len()), message.clone());
        message
    }

    /// A report message; bit 0 of `amount` is "with data", bit 1 "with full data". What cannot be put goes to the dead-letter
    /// queue, and if that cannot take it, nowhere.
    pub fn report(&mut self, original: &Message, feedback: i32, amount: i32, owner: Option<Conn>) {
        let from = &original.md;
        let bytes = match amount & 3 {
            0 => Vec::new(),
            1 => original.data.bytes.0.iter().copied().take(100).collect(),
            _ => original.data.bytes.0.clone(),
        };
        let discard = from.report & RO_PASS_DISCARD_AND_EXPIRY != 0;
        let left = original.expires.map_or(-1, |expires| (expires.saturating_sub(self.now) / 100) as i32);
        let md = Md {
            report: if discard { from.report & RO_DISCARD } else { 0 },
            msg_type: 4,
            expiry: if discard && feedback != FB_EXPIRATION { left } else { -1 },
            feedback,
            format: if amount & 3 == 0 { String::new() } else { from.format.clone() },
            msg_id: if from.report & RO_PASS_MSG_ID != 0 { from.msg_id } else { self.new_id() },
            correl_id: if from.report & RO_PASS_CORREL_ID != 0 { from.correl_id } else { from.msg_id },
            backout: 0,
            reply_q: String::new(),
            reply_qm: self.settings.name.clone(),
            put_type: 7,
            put_name: self.settings.name.clone(),
            origin: String::new(),
            ..from.clone()
        };
        let placed = match self.resolve(&from.reply_qm, &from.reply_q) {
            Ok(resolved) if resolved.is_model => Err(2057),
            Ok(resolved) => self.place_resolved(&resolved, md.clone(), bytes.clone(), owner),
            Err(reason) => Err(reason),
        };
        let Err(reason) = placed else { return };
        let Some(dead) = self.find(&self.settings.dead_q) else { return };
        let resolved = Resolved { object: dead, path: vec![dead], remote: None, is_model: false };
        if self.check_place(&resolved, &md, bytes.len() + 172).is_err() {
            return;
        }
        let header = Header::DeadLetter { reason, q: from.reply_q.clone() };
        let md = Md { format: "MQDEAD".to_owned(), ..md };
        self.place(dead, md, Data { header: Some(header), bytes: Body(bytes) }, owner);
    }
}
