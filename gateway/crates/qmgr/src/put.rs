//! MQPUT, MQPUT1: what is checked, what becomes of the descriptor, where the message goes.

use bytes::Bytes;
use mq_wire::{
    Ccsid, CompCode, CorrelId, Mqmd, Mqpmo, MsgType, ObjectType, OpenOptions, Persistence, PutOptions,
    QMgrName, Reason, ReportOptions,
};
use mqsc::{Attribute, ObjectKind};
use store::{Batch, BodyFile, Commit, NewMessage, Room, UnitId};

use crate::connection::{Route, Target};
use crate::context::{Sender, check_context, choose, given_back, set_context};
use crate::envelope::{envelope, version_2, wrap};
use crate::held::Held;
use crate::index::{Entry, Flags};
use crate::manager::{Answer, QueueManager};
use crate::object::{Dynamic, key};
use crate::queue::{expiry_ms, owner};
use crate::special::Special;
use crate::verb::{ConnId, Context, Effect, Now, Properties, Put1Request, PutDone, PutRequest, Reply};

/// MQ_MSG_HEADER_LENGTH: room that a transmission queue needs beside the data (mq-objects.md 1.7).
const HEADER_LENGTH: u32 = 4_000;
/// MAXPRTY.
const PRIORITY_MAX: i32 = 9;

/// Report options that ask for a report, which needs a reply-to queue.
const REPORTS: ReportOptions = ReportOptions::EXCEPTION_WITH_FULL_DATA
    .union(ReportOptions::EXPIRATION_WITH_FULL_DATA)
    .union(ReportOptions::COA_WITH_FULL_DATA)
    .union(ReportOptions::COD_WITH_FULL_DATA)
    .union(ReportOptions::PAN)
    .union(ReportOptions::NAN);

/// What a put is about.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) md: Mqmd,
    pub(crate) body: Bytes,
    /// The file that holds the end of the body.
    pub(crate) file: Option<BodyFile>,
    pub(crate) new_msg_id: bool,
    pub(crate) new_correl_id: bool,
    /// Room above MAXMSGL of the queue manager: headers that are not the application's.
    pub(crate) headers: u32,
    /// Any descriptor that can be stored will do: it is somebody else's message, which is only passed on.
    pub(crate) any_descriptor: bool,
    /// What the data begins with.
    pub(crate) properties: Properties,
}

/// A message that is in the store.
#[derive(Debug)]
pub(crate) struct Accepted {
    pub(crate) held: Held,
    /// The descriptor of the message itself, also when it is wrapped.
    pub(crate) md: Mqmd,
    pub(crate) reason: Reason,
}

impl QueueManager {
    pub(crate) fn put(
        &mut self,
        now: Now,
        conn: ConnId,
        (request, file): (PutRequest, Option<BodyFile>),
        batch: &mut Batch,
        out: &mut Vec<Effect>,
    ) -> Result<Answer, Reason> {
        let connection = self.connections.get(&conn).ok_or(Reason::HCONN_ERROR)?;
        let handle = connection.handle(request.handle)?.clone();
        let Target::Queue(route) = &handle.target else { return Err(Reason::NOT_OPEN_FOR_OUTPUT) };
        if !handle.options.contains(OpenOptions::OUTPUT) {
            return Err(Reason::NOT_OPEN_FOR_OUTPUT);
        }
        let PutRequest { md, pmo, body, passed, properties, .. } = request;
        check_context(&handle, pmo.options)?;
        self.put_by(now, conn, route, (md, pmo, body, properties, file), passed.as_deref(), batch, out)
    }

    pub(crate) fn put1(
        &mut self,
        now: Now,
        conn: ConnId,
        (request, file): (Put1Request, Option<BodyFile>),
        batch: &mut Batch,
        out: &mut Vec<Effect>,
    ) -> Result<Answer, Reason> {
        let Put1Request { od, md, pmo, body, passed, properties } = request;
        let rights = self.connections.get(&conn).ok_or(Reason::HCONN_ERROR)?.rights;
        if self.quiescing {
            return Err(Reason::Q_MGR_QUIESCING);
        }
        if od.object_type != ObjectType::Q {
            return Err(Reason::OBJECT_TYPE_ERROR);
        }
        let mut options = OpenOptions::OUTPUT;
        options.set(OpenOptions::SET_ALL_CONTEXT, pmo.options.contains(PutOptions::SET_ALL_CONTEXT));
        options
            .set(OpenOptions::SET_IDENTITY_CONTEXT, pmo.options.contains(PutOptions::SET_IDENTITY_CONTEXT));
        let alternate = pmo.options.contains(PutOptions::ALTERNATE_USER_AUTHORITY);
        options.set(OpenOptions::ALTERNATE_USER_AUTHORITY, alternate);
        let route = self.route(&od, options, rights)?;
        if self
            .directory
            .get(route.used)
            .is_some_and(|object| object.definition.kind == ObjectKind::ModelQueue)
        {
            return Err(Reason::Q_TYPE_ERROR);
        }
        self.put_by(now, conn, &route, (md, pmo, body, properties, file), passed.as_deref(), batch, out)
    }

    #[expect(clippy::too_many_arguments, reason = "one call of two, which have this in common")]
    fn put_by(
        &mut self,
        now: Now,
        conn: ConnId,
        route: &Route,
        (md, mut pmo, body, properties, file): (Mqmd, Mqpmo, Bytes, Properties, Option<BodyFile>),
        passed: Option<&Context>,
        batch: &mut Batch,
        out: &mut Vec<Effect>,
    ) -> Result<Answer, Reason> {
        let options = pmo.options;
        check_options(options)?;
        if self.quiescing && options.contains(PutOptions::FAIL_IF_QUIESCING) {
            return Err(Reason::Q_MGR_QUIESCING);
        }
        let messages_max = self.unit_messages_max();
        let connection = self.connections.get(&conn).ok_or(Reason::HCONN_ERROR)?;
        let context = choose(connection.handles.get(&pmo.context), options, passed)?;
        let in_unit = options.contains(PutOptions::SYNCPOINT);
        if in_unit && connection.unit.messages() >= messages_max {
            return Err(Reason::SYNCPOINT_LIMIT_REACHED);
        }
        let sender = Sender {
            user: connection.user,
            appl_name: connection.appl_name,
            appl_type: connection.appl_type,
            context,
        };
        let unit = in_unit.then(|| connection.unit.id.unwrap_or_else(|| batch.new_unit()));
        let message = Message {
            md: md.clone(),
            body,
            file,
            new_msg_id: options.contains(PutOptions::NEW_MSG_ID),
            new_correl_id: options.contains(PutOptions::NEW_CORREL_ID),
            headers: 0,
            any_descriptor: false,
            properties,
        };
        let accepted = self.store(now, &sender, route, message, unit, batch)?;
        let persistent = accepted.held.entry.persistent();
        if in_unit {
            if let Some(connection) = self.connections.get_mut(&conn) {
                connection.unit.id = unit;
                connection.unit.puts.push(self.held.add(accepted.held));
            }
        } else {
            let position = persistent.then(|| batch.position());
            self.make_visible(now, vec![accepted.held], position, batch, out);
        }
        pmo.known_dest_count = i32::from(!route.remote);
        pmo.unknown_dest_count = i32::from(route.remote);
        pmo.invalid_dest_count = 0;
        pmo.resolved_q_name = route.queue;
        pmo.resolved_q_mgr_name = route.q_mgr;
        if options.contains(PutOptions::RESOLVE_LOCAL_Q)
            && let Some(object) = self.directory.get(route.used)
        {
            pmo.resolved_q_name = object.definition.queue_name();
        }
        let cc = if accepted.reason == Reason::NONE { CompCode::OK } else { CompCode::WARNING };
        let md = given_back(md, &accepted.md);
        let needs = (persistent && !in_unit).then(|| batch.position());
        let put = PutDone { cc, reason: accepted.reason, md, pmo };
        Ok(Answer::at(needs, Reply::Put(Box::new(put))))
    }

    /// Checks a message against its way and writes it into the batch. Nobody sees it yet.
    pub(crate) fn store(
        &mut self,
        now: Now,
        sender: &Sender<'_>,
        route: &Route,
        message: Message,
        unit: Option<UnitId>,
        batch: &mut Batch,
    ) -> Result<Accepted, Reason> {
        route.check(&self.directory)?;
        if !message.any_descriptor {
            check_descriptor(&message.md)?;
        }
        self.check_room(now, route, &message)?;
        let Message { md, body, file, new_msg_id, new_correl_id, properties, .. } = message;
        // Whatever is put in front, the end of what is stored is that of the body. A file with more is not of this one.
        let file = file.filter(|file| file.length() <= body.len() as u64);
        let (md, reason) =
            self.complete(now, sender, route, md, (new_msg_id, new_correl_id), batch.start())?;
        let expiry_ms = expiry_ms(now, md.expiry);
        let (stored_md, data) = if route.remote {
            let msg_id = self.new_msg_id(batch.start());
            let to = (route.queue, route.q_mgr);
            wrap(now, self.settings.name, self.ccsid(), to, msg_id, &md, &body)
        } else {
            (md.clone(), body)
        };
        // On a transmission queue the data begins with something else.
        let properties = if route.remote { Properties::default() } else { properties };
        let special = Special::of(&stored_md, properties);
        let tags = [self.tag(&stored_md.msg_id.0), self.tag(&stored_md.correl_id.0)];
        let priority = md.priority.clamp(0, PRIORITY_MAX) as u8;
        let persistent = md.persistence == Persistence::PERSISTENT;
        let body_length = u32::try_from(data.len()).map_err(|_| Reason::MSG_TOO_BIG_FOR_Q_MGR)?;
        // What is special becomes real with the message, or neither does.
        let own = (unit.is_none() && special.is_some()).then(|| batch.new_unit());
        let stored = batch.message(NewMessage {
            unit: unit.or(own),
            owner: owner(route.used),
            order: None,
            priority,
            persistent,
            expiry_ms,
            tags,
            envelope: envelope(&stored_md),
            body: data,
            file,
        });
        let (id, place) = (stored.id, stored.place);
        self.highest_id = id;
        let flags = special.map_or(Flags::default(), |special| special.flags());
        let flags = flags.with(Flags::PERSISTENT, persistent);
        if let Some(special) = special {
            self.specials.add(id, special);
        }
        if own.is_some() {
            let mut commit = Commit { unit: own, ..Commit::default() };
            commit.set(key::special(id), special.map(|special| special.encode()).unwrap_or_default());
            batch.commit(commit);
        }
        let entry = Entry { id, expiry_ms, tags, place, body_length, batch: 0, backouts: 0, priority, flags };
        let object = self.directory.get_mut(route.used).ok_or(Reason::UNEXPECTED_ERROR)?;
        let held = Held { queue: route.used, key: object.key(priority, stored.order), entry };
        if let Some(local) = object.local.as_deref_mut() {
            local.uncommitted_puts += 1;
        }
        Ok(Accepted { held, md, reason })
    }

    /// Whether every definition on the way takes messages (2051), this one fits (2030, 2031, 2053, 2048), and the store
    /// has room (2192).
    fn check_room(&mut self, now: Now, route: &Route, message: &Message) -> Result<(), Reason> {
        let inhibited =
            |(number, _): &(u64, u32)| self.directory.get(*number).is_some_and(|object| !object.facts.put);
        if route.path.iter().any(inhibited) {
            return Err(Reason::PUT_INHIBITED);
        }
        let q_mgr_max = u32::try_from(self.number(Attribute::MAXMSGL)).unwrap_or_default();
        let length = message.body.len() as u64;
        if length > u64::from(q_mgr_max) + u64::from(message.headers) {
            return Err(Reason::MSG_TOO_BIG_FOR_Q_MGR);
        }
        let object = self.directory.get(route.used).ok_or(Reason::UNEXPECTED_ERROR)?;
        let header = if route.remote { HEADER_LENGTH } else { 0 };
        if length > u64::from(object.facts.max_msgl.saturating_sub(header)) {
            return Err(Reason::MSG_TOO_BIG_FOR_Q);
        }
        let temporary = object.definition.dynamic == Dynamic::Temporary;
        if temporary && self.is_persistent(route, &message.md) {
            return Err(Reason::PERSISTENT_NOT_ALLOWED);
        }
        let full = |manager: &Self| {
            let object = manager.directory.get(route.used);
            object.is_some_and(|object| {
                object.local.as_ref().is_some_and(|local| local.depth() >= object.facts.max_depth)
            })
        };
        if full(self) {
            // What has expired makes room first.
            self.sweep_queue(now, route.used);
            if full(self) {
                return Err(Reason::Q_FULL);
            }
        }
        match self.room {
            Room::Enough => Ok(()),
            Room::Short => Err(Reason::STORAGE_MEDIUM_FULL),
        }
    }

    /// The persistence of a message, by the definition that was named first.
    fn is_persistent(&self, route: &Route, md: &Mqmd) -> bool {
        match md.persistence {
            Persistence::AS_Q_DEF => {
                self.directory.get(route.first).is_some_and(|object| object.facts.def_persistent)
            }
            persistence => persistence == Persistence::PERSISTENT,
        }
    }

    /// The descriptor with all that is left to the queue manager.
    fn complete(
        &mut self,
        now: Now,
        sender: &Sender<'_>,
        route: &Route,
        md: Mqmd,
        (new_msg_id, new_correl_id): (bool, bool),
        start: u32,
    ) -> Result<(Mqmd, Reason), Reason> {
        let persistent = self.is_persistent(route, &md);
        let mut md = version_2(md);
        let mut warning = Reason::NONE;
        md.persistence = if persistent { Persistence::PERSISTENT } else { Persistence::NOT_PERSISTENT };
        if md.priority == -1 {
            let first = self.directory.get(route.first).ok_or(Reason::OBJECT_CHANGED)?;
            md.priority = first.facts.def_priority.into();
        } else if md.priority > PRIORITY_MAX {
            md.priority = PRIORITY_MAX;
            warning = Reason::PRIORITY_EXCEEDS_MAXIMUM;
        }
        if md.ccsid == Ccsid::Q_MGR {
            md.ccsid = self.ccsid();
        }
        md.backout_count = 0;
        if new_msg_id || md.msg_id.is_none() {
            md.msg_id = self.new_msg_id(start);
        }
        if new_correl_id {
            md.correl_id = CorrelId::from(self.new_msg_id(start));
        }
        self.substitute_reply_to(&mut md);
        set_context(now, sender, &mut md);
        Ok((md, warning))
    }

    /// Reply-to queue alias (mq-objects.md 5.6).
    fn substitute_reply_to(&self, md: &mut Mqmd) {
        if md.reply_to_q.is_blank() || !md.reply_to_q_mgr.is_blank() {
            return;
        }
        md.reply_to_q_mgr = self.settings.name;
        if let Some(object) = self.directory.by_name(md.reply_to_q)
            && object.definition.kind == ObjectKind::RemoteQueue
        {
            md.reply_to_q = object.facts.rname;
            md.reply_to_q_mgr = QMgrName(object.facts.rqmname.0);
        }
    }
}

fn check_options(options: PutOptions) -> Result<(), Reason> {
    let context = PutOptions::DEFAULT_CONTEXT
        | PutOptions::NO_CONTEXT
        | PutOptions::PASS_IDENTITY_CONTEXT
        | PutOptions::PASS_ALL_CONTEXT
        | PutOptions::SET_IDENTITY_CONTEXT
        | PutOptions::SET_ALL_CONTEXT;
    let syncpoint = PutOptions::SYNCPOINT | PutOptions::NO_SYNCPOINT;
    let response = PutOptions::ASYNC_RESPONSE | PutOptions::SYNC_RESPONSE;
    let one_of = |several: PutOptions| (options & several).bits().count_ones() <= 1;
    let fits = options.unknown() == 0 && one_of(context) && one_of(syncpoint) && one_of(response);
    if fits { Ok(()) } else { Err(Reason::OPTIONS_ERROR) }
}
/// Values that a descriptor must not have (mq-objects.md 1.2).
fn check_descriptor(md: &Mqmd) -> Result<(), Reason> {
    if md.msg_type.0 <= 0 || md.msg_type.0 > 999_999_999 {
        return Err(Reason::MSG_TYPE_ERROR);
    }
    if md.expiry <= 0 && md.expiry != -1 {
        return Err(Reason::EXPIRY_ERROR);
    }
    if md.feedback.0 < 0 {
        return Err(Reason::FEEDBACK_ERROR);
    }
    if !(0..=2).contains(&md.persistence.0) {
        return Err(Reason::PERSISTENCE_ERROR);
    }
    if md.priority < -1 {
        return Err(Reason::PRIORITY_ERROR);
    }
    let answer = md.msg_type == MsgType::REQUEST || md.report.intersects(REPORTS);
    if answer && md.reply_to_q.is_blank() {
        return Err(Reason::MISSING_REPLY_TO_Q);
    }
    Ok(())
}
