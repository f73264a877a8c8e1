//! MQPUT, MQPUT1 and the messages that the queue manager makes itself: mq-objects.md 1.2, 1.5, 1.7, 5.4, 5.6.

use super::{Context, Kind, Message, Model, Progress, Resolved, State, program_of, user_of};
use crate::calls::value::*;
use crate::calls::{Body, Conn, Data, Extension, Header, Hobj, Md, NO_ID, Outcome, Seen};

/// In no group and no segment.
const OUTSIDE: Extension = Extension { group_id: NO_ID, seq: 1, offset: 0, flags: 0, original_length: -1 };

impl Model {
    pub(crate) fn put(
        &mut self,
        conn: Conn,
        hobj: Hobj,
        md: Md,
        options: i32,
        context: Hobj,
        data: Vec<u8>,
    ) -> Result<Outcome, i32> {
        let handle = self.handle(hobj)?.clone();
        let (faults, passed) = self.handle_faults(conn, &handle, options, context);
        self.put_on((conn, Some(hobj)), &handle.resolved, md, options, (faults, passed), data)
    }

    pub(crate) fn put1(
        &mut self,
        conn: Conn,
        name: &str,
        qm: &str,
        md: Md,
        options: i32,
        data: Vec<u8>,
    ) -> Result<Outcome, i32> {
        let mut faults = Self::put_option_faults(options);
        if options & PMO_LOGICAL_ORDER != 0 {
            faults.push(2046);
        }
        let resolved = self.resolve(qm, name)?;
        if resolved.is_model {
            return Err(2057);
        }
        self.put_on((conn, None), &resolved, md, options, (faults, None), data)
    }

    fn put_on(
        &mut self,
        (conn, hobj): (Conn, Option<Hobj>),
        resolved: &Resolved,
        mut md: Md,
        options: i32,
        (mut faults, passed): (Vec<i32>, Option<Context>),
        data: Vec<u8>,
    ) -> Result<Outcome, i32> {
        let synced = options & PMO_SYNCPOINT != 0;
        let reports = usize::from(resolved.remote.is_none() && md.report & RO_COA != 0);
        if synced && self.uncommitted(conn) + 1 + reports > self.settings.max_uncommitted {
            faults.push(2024);
        }
        faults.extend(Self::md_faults(&md));
        let mut warning = if md.priority > 9 { 2049 } else { 0 };
        let first = &self.objects[resolved.path[0]].def;
        if md.priority == -1 {
            md.priority = first.priority;
        }
        if md.persistence == 2 {
            md.persistence = i32::from(first.persistent);
        }
        let length = data.len();
        faults.extend(self.place_faults(resolved, &md, length));
        let (grouped, progress) = match self.put_progress(hobj, &mut md, options, length, synced) {
            Ok(progress) => progress,
            Err(reason) => {
                faults.push(reason);
                (0, None)
            }
        };
        if let Some(first) = faults.first().copied() {
            self.also = faults;
            return Err(first);
        }
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
            let unfinished =
                |progress: &Option<Progress>| progress.as_ref().is_some_and(Progress::unfinished);
            handle.begin_unit(synced && (unfinished(&handle.putting) || unfinished(&progress)));
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

    /// mq-objects.md 5.6, 1.7: ReplyToQMgr is never left blank.
    fn resolve_reply(&self, md: &mut Md) {
        if !md.reply_qm.is_empty() {
            return;
        }
        match self.find(&md.reply_q).map(|index| &self.objects[index].def.kind) {
            Some(Kind::Remote { q, qm, .. }) => (md.reply_q, md.reply_qm) = (q.clone(), qm.clone()),
            _ => md.reply_qm = self.settings.name.clone(),
        }
    }

    /// Puts a finished message where it goes: on its queue with its COA report, or into a transmission queue.
    fn place_resolved(
        &mut self,
        resolved: &Resolved,
        md: Md,
        data: Vec<u8>,
        owner: Option<Conn>,
    ) -> Result<(), i32> {
        if let Some(reason) = self.place_faults(resolved, &md, data.len()).first() {
            return Err(*reason);
        }
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
    pub(crate) fn report(&mut self, original: &Message, feedback: i32, amount: i32, owner: Option<Conn>) {
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
            // What is left is passed on; of a message that has expired nothing is, and its report has a minute.
            expiry: match feedback {
                _ if !discard => -1,
                FB_EXPIRATION => 600,
                _ => left,
            },
            feedback,
            msg_id: if from.report & RO_PASS_MSG_ID != 0 { from.msg_id } else { self.new_id() },
            correl_id: if from.report & RO_PASS_CORREL_ID != 0 { from.correl_id } else { from.msg_id },
            backout: 0,
            reply_q: String::new(),
            reply_qm: self.settings.name.clone(),
            put_type: 7,
            put_name: self.settings.name.clone(),
            origin: String::new(),
            original_length: if from.flags & MF_SEGMENT != 0 {
                original.data.bytes.0.len() as i32
            } else {
                -1
            },
            ..from.clone()
        };
        let placed = match self.resolve(&from.reply_qm, &from.reply_q) {
            Ok(resolved) if resolved.is_model => Err(2057),
            Ok(resolved) => self.place_resolved(&resolved, md.clone(), bytes.clone(), owner),
            Err(reason) => Err(reason),
        };
        let Err(reason) = placed else { return };
        // The report has it from its message: nobody wants it on the dead-letter queue.
        if md.report & RO_DISCARD != 0 {
            return;
        }
        let Some(dead) = self.find(&self.settings.dead_q) else { return };
        let resolved = Resolved { object: dead, path: vec![dead], remote: None, is_model: false };
        let Md { group_id, seq, offset, flags, original_length, .. } = md;
        let extension = Extension { group_id, seq, offset, flags, original_length };
        let extension = (extension != OUTSIDE).then_some(extension);
        let header = Header::DeadLetter { reason, q: from.reply_q.clone(), extension };
        let data = Data { header: Some(header), bytes: Body(bytes) };
        if !self.place_faults(&resolved, &md, data.len()).is_empty() {
            return;
        }
        // Behind an MQDLH it is in no group and no segment: that goes into an MQMDE.
        let outside = Md { group_id: NO_ID, seq: 1, offset: 0, flags: 0, original_length: -1, ..md };
        let md = Md { format: "MQDEAD".to_owned(), ..outside };
        self.place(dead, md, data, owner);
    }
}
