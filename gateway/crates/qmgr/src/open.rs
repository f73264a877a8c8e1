//! MQOPEN and MQCLOSE: from a name to a handle (mq-objects.md 5), sharing, dynamic queues.

use std::sync::Arc;

use mq_wire::{
    Chars, CloseOptions, CompCode, Mqod, ObjectName, ObjectType, OpenOptions, QMgrName, QName, Reason,
    is_name_byte,
};
use mqsc::{Attribute, Keyword, Name, ObjectKind, row};
use store::{Batch, Commit, Id};

use crate::connection::{Handle, Route, Target, may_name};
use crate::error::reason;
use crate::manager::{Answer, QueueManager, done, written};
use crate::object::{Definition, Dynamic};
use crate::put::check_no_list;
use crate::queue::Object;
use crate::resolve::{How, Resolution};
use crate::shipped;
use crate::verb::{ConnId, Effect, Now, OpenRequest, Opened, QueueDefaults, Reply, Rights};

const INPUT: OpenOptions =
    OpenOptions::INPUT_AS_Q_DEF.union(OpenOptions::INPUT_SHARED).union(OpenOptions::INPUT_EXCLUSIVE);
/// Options that need a local queue (mq-objects.md 5.4).
const LOCAL_ONLY: OpenOptions = INPUT.union(OpenOptions::BROWSE).union(OpenOptions::SET);
const SET_CONTEXT: OpenOptions = OpenOptions::SET_IDENTITY_CONTEXT.union(OpenOptions::SET_ALL_CONTEXT);
const CONTEXT: OpenOptions =
    SET_CONTEXT.union(OpenOptions::PASS_IDENTITY_CONTEXT).union(OpenOptions::PASS_ALL_CONTEXT);
/// Options that ask for the destination, not only for the definition that is named.
const DESTINATION: OpenOptions =
    INPUT.union(OpenOptions::BROWSE).union(OpenOptions::OUTPUT).union(OpenOptions::RESOLVE_NAMES);

/// Options for objects that have nothing but attributes.
const ATTRIBUTES_ONLY: OpenOptions =
    OpenOptions::INQUIRE.union(OpenOptions::FAIL_IF_QUIESCING).union(OpenOptions::ALTERNATE_USER_AUTHORITY);

/// Longest beginning of a dynamic queue's name (mq-objects.md 3.1).
const DYNAMIC_PREFIX_MAX: usize = 33;

impl QueueManager {
    pub(crate) fn open(
        &mut self,
        now: Now,
        conn: ConnId,
        request: OpenRequest,
        batch: &mut Batch,
    ) -> Result<Answer, Reason> {
        let OpenRequest { mut od, options } = request;
        check_options(options)?;
        self.check_quiescing(conn, options.contains(OpenOptions::FAIL_IF_QUIESCING))?;
        let connection = self.connections.get(&conn).ok_or(Reason::HCONN_ERROR)?;
        if connection.handles.len() as i64 >= i64::from(self.number(Attribute::MAXHANDS)) {
            return Err(Reason::HANDLE_NOT_AVAILABLE);
        }
        let rights = connection.rights;
        if od.version >= 2 && od.recs_present < 0 {
            return Err(Reason::RECS_PRESENT_ERROR);
        }
        check_no_list(&od)?;
        match od.object_type {
            ObjectType::Q => {}
            ObjectType::Q_MGR => return self.open_queue_manager(conn, od, options),
            ObjectType::NAMELIST | ObjectType::PROCESS => return self.open_default(conn, od, options),
            _ => return Err(Reason::OBJECT_TYPE_ERROR),
        }
        let mut route = self.route(&od, options, rights)?;
        let mut made = false;
        let mut needs = self.position_of(route.first);
        if self
            .directory
            .get(route.used)
            .is_some_and(|object| object.definition.kind == ObjectKind::ModelQueue)
        {
            let (number, temporary) = self.make_dynamic(now, route.used, &od, rights, batch)?;
            let object = self.directory.get(number).ok_or(Reason::UNEXPECTED_ERROR)?;
            let name = object.definition.queue_name();
            made = temporary;
            needs = (!temporary).then(|| batch.position());
            route = Route { queue: name, used: number, path: vec![(number, 0)], first: number, ..route };
            (od.object_name, od.object_q_mgr_name) = (name.into(), self.settings.name);
        }
        let input = self.begin_use(&route, options)?;
        describe(&mut od, &route, options, self.directory.get(route.used), self.settings.name);
        let defaults = self.directory.get(route.first).map(queue_defaults);
        let target = Target::Queue(Arc::new(route));
        let connection = self.connections.get_mut(&conn).ok_or(Reason::HCONN_ERROR)?;
        let handle = connection.add(Handle { input, made, ..Handle::new(options, target) });
        let opened = Opened { handle, od, options, defaults };
        Ok(Answer::at(needs, Reply::Opened(Box::new(opened))))
    }

    /// Resolves the names of a descriptor and checks rights and options against what is found.
    pub(crate) fn route(&self, od: &Mqod, options: OpenOptions, rights: Rights) -> Result<Route, Reason> {
        let name = QName::from(od.object_name);
        if !options.intersects(DESTINATION) && self.is_this(od.object_q_mgr_name) {
            let object = self.directory.by_name(name).ok_or(Reason::UNKNOWN_OBJECT_NAME)?;
            let kind = object.definition.kind;
            if matches!(kind, ObjectKind::AliasQueue | ObjectKind::RemoteQueue) {
                check_rights(rights, name, object, options)?;
                if kind == ObjectKind::RemoteQueue && options.intersects(LOCAL_ONLY) {
                    return Err(Reason::OPTION_NOT_VALID_FOR_TYPE);
                }
                let path = vec![(object.number(), object.version)];
                let (queue, q_mgr, number) = (QName::BLANK, QMgrName::BLANK, object.number());
                return Ok(Route { queue, q_mgr, remote: true, used: number, path, first: number });
            }
        }
        let found = self.resolver().resolve(od.object_q_mgr_name, name, &mut ())?;
        let Resolution { queue, q_mgr, used, how, path } = found;
        if !self.is_this(od.object_q_mgr_name) {
            // By way of a queue manager alias, even if that leads back here: puts only (IBM MQ reference, 2045, 2057).
            if options.intersects(LOCAL_ONLY | OpenOptions::INQUIRE) {
                return Err(Reason::OPTION_NOT_VALID_FOR_TYPE);
            }
            if how == How::Model {
                return Err(Reason::Q_TYPE_ERROR);
            }
        }
        let first = *path.first().ok_or(Reason::UNEXPECTED_ERROR)?;
        let object = self.directory.get(first).ok_or(Reason::UNEXPECTED_ERROR)?;
        check_rights(rights, object.definition.queue_name(), object, options)?;
        if rights == Rights::Device {
            // Neither by another name: commands and raw messages are not for devices.
            let raw =
                how != How::Remote && self.directory.get(used).is_some_and(|used| used.facts.transmission);
            if raw || !may_name(rights, queue) {
                return Err(Reason::NOT_AUTHORIZED);
            }
        }
        if how == How::Remote && options.intersects(LOCAL_ONLY) {
            return Err(Reason::OPTION_NOT_VALID_FOR_TYPE);
        }
        let version = |number: &u64| Some((*number, self.directory.get(*number)?.version));
        let path = path.iter().filter_map(version).collect();
        Ok(Route { queue, q_mgr, remote: how == How::Remote, used, path, first })
    }

    /// Counts a handle among the users of its queue, if they go together (2042). Says whether it is open for input,
    /// and whether it excludes others.
    fn begin_use(&mut self, route: &Route, options: OpenOptions) -> Result<Option<bool>, Reason> {
        let Some(object) = self.directory.get_mut(route.used) else { return Err(Reason::UNEXPECTED_ERROR) };
        let Some(local) = object.local.as_deref_mut() else { return Ok(None) };
        let mut input = None;
        if options.intersects(INPUT) {
            let wanted = options.contains(OpenOptions::INPUT_EXCLUSIVE)
                || (options.contains(OpenOptions::INPUT_AS_Q_DEF) && object.facts.def_exclusive);
            let exclusive = wanted || !object.facts.share;
            if local.exclusive || (exclusive && local.open_input > 0) {
                return Err(Reason::OBJECT_IN_USE);
            }
            local.exclusive = exclusive;
            local.open_input += 1;
            input = Some(exclusive);
        }
        local.open += 1;
        local.open_output += u32::from(options.contains(OpenOptions::OUTPUT));
        Ok(input)
    }

    /// The other end of [`Self::begin_use`].
    fn end_use(&mut self, handle: &Handle) {
        let Target::Queue(route) = &handle.target else { return };
        let Some(local) = self.directory.local_mut(route.used) else { return };
        local.open = local.open.saturating_sub(1);
        if handle.options.contains(OpenOptions::OUTPUT) {
            local.open_output = local.open_output.saturating_sub(1);
        }
        if let Some(exclusive) = handle.input {
            local.open_input = local.open_input.saturating_sub(1);
            local.exclusive = local.exclusive && !exclusive;
        }
    }

    fn open_queue_manager(
        &mut self,
        conn: ConnId,
        mut od: Mqod,
        options: OpenOptions,
    ) -> Result<Answer, Reason> {
        self.check_local(od.object_q_mgr_name)?;
        if !od.object_name.is_blank() {
            return Err(Reason::NAME_NOT_VALID_FOR_TYPE);
        }
        if !ATTRIBUTES_ONLY.contains(options) {
            return Err(Reason::OPTION_NOT_VALID_FOR_TYPE);
        }
        if od.version >= 3 {
            (od.resolved_q_name, od.resolved_q_mgr_name) = (ObjectName::BLANK, QMgrName::BLANK);
        }
        let handle = Handle::new(options, Target::QueueManager);
        let needs = crate::queue::needs(self.this_position);
        let connection = self.connections.get_mut(&conn).ok_or(Reason::HCONN_ERROR)?;
        let handle = connection.add(handle);
        Ok(Answer::at(needs, Reply::Opened(Box::new(Opened { handle, od, options, defaults: None }))))
    }

    /// Processes and namelists cannot be defined here, but each type has its default object.
    fn open_default(&mut self, conn: ConnId, mut od: Mqod, options: OpenOptions) -> Result<Answer, Reason> {
        self.check_local(od.object_q_mgr_name)?;
        let name = shipped::name(od.object_type).ok_or(Reason::OBJECT_TYPE_ERROR)?;
        if od.object_name != ObjectName(Chars::cut(name)) {
            return Err(Reason::UNKNOWN_OBJECT_NAME);
        }
        let connection = self.connections.get_mut(&conn).ok_or(Reason::HCONN_ERROR)?;
        if connection.rights != Rights::Admin {
            return Err(Reason::NOT_AUTHORIZED);
        }
        if !ATTRIBUTES_ONLY.contains(options) {
            return Err(Reason::OPTION_NOT_VALID_FOR_TYPE);
        }
        if od.version >= 3 {
            (od.resolved_q_name, od.resolved_q_mgr_name) = (ObjectName::BLANK, QMgrName::BLANK);
        }
        let handle = connection.add(Handle::new(options, Target::Default(od.object_type)));
        Ok(Answer::now(Reply::Opened(Box::new(Opened { handle, od, options, defaults: None }))))
    }

    fn is_this(&self, q_mgr: QMgrName) -> bool {
        q_mgr.is_blank() || q_mgr == self.settings.name
    }

    fn check_local(&self, q_mgr: QMgrName) -> Result<(), Reason> {
        if self.is_this(q_mgr) { Ok(()) } else { Err(Reason::UNKNOWN_OBJECT_Q_MGR) }
    }

    /// Makes a dynamic queue of a model queue. Says its number, and whether it is temporary.
    fn make_dynamic(
        &mut self,
        now: Now,
        model: u64,
        od: &Mqod,
        rights: Rights,
        batch: &mut Batch,
    ) -> Result<(u64, bool), Reason> {
        if !may_name(rights, od.dynamic_q_name.into()) {
            return Err(Reason::NOT_AUTHORIZED);
        }
        self.may_define()?;
        let model = self.directory.get(model).ok_or(Reason::UNEXPECTED_ERROR)?;
        let mut attributes = model.definition.attributes.clone();
        let temporary = !attributes.is(Attribute::DEFTYPE, Keyword::PERMDYN);
        let wanted = DynamicName::of(od.dynamic_q_name)?;
        if let DynamicName::Given(name) = wanted
            && self.directory.number(name).is_some()
        {
            return Err(Reason::OBJECT_ALREADY_EXISTS);
        }
        // From here on nothing may fail: a number that is taken may be the first of a reservation, which is in the
        // commit.
        let mut commit = Commit::default();
        let (number, name) = loop {
            let number = self.new_number(&mut commit);
            let name = wanted.with(number, batch.start());
            if self.directory.number(name).is_none() {
                break (number, name);
            }
        };
        // DEFTYPE of a local queue is not an attribute but how it came to be.
        let inherited = attributes.iter().filter(|(attribute, _)| *attribute != Attribute::DEFTYPE);
        attributes = inherited.map(|(attribute, value)| (attribute, value.clone())).collect();
        let definition = Definition {
            kind: ObjectKind::LocalQueue,
            name: Name::from(name),
            number,
            created_ms: now.wall_ms,
            altered_ms: now.wall_ms,
            dynamic: if temporary { Dynamic::Temporary } else { Dynamic::Permanent },
            attributes,
        };
        let mut position = store::Position::default();
        if !temporary {
            commit.set(definition.key(), definition.encode());
            position = batch.position();
        }
        batch.commit(commit);
        self.directory.add(Object::new(definition, position));
        Ok((number, temporary))
    }

    pub(crate) fn close(
        &mut self,
        now: Now,
        (conn, number): (ConnId, i32),
        options: CloseOptions,
        batch: &mut Batch,
        out: &mut Vec<Effect>,
    ) -> Result<Answer, Reason> {
        let known = CloseOptions::DELETE | CloseOptions::DELETE_PURGE | CloseOptions::QUIESCE;
        let both = CloseOptions::DELETE | CloseOptions::DELETE_PURGE;
        if !known.contains(options) || options.contains(both) {
            return Err(Reason::OPTIONS_ERROR);
        }
        let connection = self.connections.get(&conn).ok_or(Reason::HCONN_ERROR)?;
        let handle = connection.handle(number)?.clone();
        let mut needs = None;
        let warning = handle.left_incomplete();
        // A queue that is gone is closed, whatever was to become of it (IBM MQ reference, 2052).
        let gone = |route: &Route| !route.remote && self.directory.get(route.used).is_none();
        let gone = matches!(&handle.target, Target::Queue(route) if gone(route));
        if options.intersects(both) && !gone {
            let purge = options.contains(CloseOptions::DELETE_PURGE);
            self.check_delete(&handle, purge)?;
            if let Target::Queue(route) = &handle.target {
                self.end_handle(now, conn, number, batch, out);
                self.delete_queue(now, route.used, batch, out);
                needs = written(batch);
            }
        } else {
            self.end_handle(now, conn, number, batch, out);
            self.drop_made(now, &handle, batch, out);
        }
        let reply = match warning {
            None => done(),
            Some(reason) => Reply::Plain { cc: CompCode::WARNING, reason },
        };
        Ok(Answer::at(needs, reply))
    }

    /// Whether MQCO_DELETE may be done (mq-objects.md 2.2: 2045, 2055).
    fn check_delete(&self, handle: &Handle, purge: bool) -> Result<(), Reason> {
        let Target::Queue(route) = &handle.target else { return Err(Reason::OPTION_NOT_VALID_FOR_TYPE) };
        route.check(&self.directory)?;
        let object = self.directory.get(route.used).ok_or(Reason::Q_DELETED)?;
        let Some(local) = object.local.as_deref() else { return Err(Reason::OPTION_NOT_VALID_FOR_TYPE) };
        if route.remote || object.definition.dynamic == Dynamic::Predefined {
            return Err(Reason::OPTION_NOT_VALID_FOR_TYPE);
        }
        let temporary = object.definition.dynamic == Dynamic::Temporary;
        // A temporary one goes with the handle that made it, and with no other.
        if temporary && !handle.made {
            return Err(Reason::OPTION_NOT_VALID_FOR_TYPE);
        }
        if !temporary && (local.uncommitted() > 0 || (!purge && local.depth() > 0)) {
            return Err(Reason::Q_NOT_EMPTY);
        }
        Ok(())
    }

    /// Takes a handle away, with the gets that wait on it.
    fn end_handle(&mut self, now: Now, conn: ConnId, number: i32, batch: &mut Batch, out: &mut Vec<Effect>) {
        let Some(connection) = self.connections.get(&conn) else { return };
        for (queue, turn) in connection.waits.clone() {
            let waits = self.directory.local(queue).and_then(|local| local.waiting.get(turn));
            if waits.is_some_and(|waiter| waiter.plan.handle == number) {
                self.end_wait(queue, turn, Reason::HOBJ_ERROR, out);
            }
        }
        let Some(connection) = self.connections.get_mut(&conn) else { return };
        if let Some(handle) = connection.handles.remove(&number) {
            self.end_use(&handle);
            self.end_browsing(now, (conn, number), &handle, batch, out);
        }
    }

    /// A temporary dynamic queue goes with the handle that made it.
    fn drop_made(&mut self, now: Now, handle: &Handle, batch: &mut Batch, out: &mut Vec<Effect>) {
        if let (true, Target::Queue(route)) = (handle.made, &handle.target) {
            self.delete_queue(now, route.used, batch, out);
        }
    }

    /// Closes all that a connection has open.
    pub(crate) fn close_all(&mut self, now: Now, conn: ConnId, batch: &mut Batch, out: &mut Vec<Effect>) {
        let Some(connection) = self.connections.get_mut(&conn) else { return };
        for (number, handle) in std::mem::take(&mut connection.handles) {
            self.end_use(&handle);
            self.end_browsing(now, (conn, number), &handle, batch, out);
            self.drop_made(now, &handle, batch, out);
        }
    }

    /// Deletes a queue with all that can be had of it. What units of work hold of it dies with them.
    pub(crate) fn delete_queue(&mut self, now: Now, number: u64, batch: &mut Batch, out: &mut Vec<Effect>) {
        self.end_waits_on(number, Reason::Q_DELETED, out);
        let Some(object) = self.directory.remove(number) else { return };
        self.arrived.remove(&number);
        let mut commit = Commit::default();
        let durable = object.definition.dynamic != Dynamic::Temporary;
        if durable {
            commit.remove(object.definition.key());
        }
        if let Some(local) = object.local {
            let all = durable.then_some(Id::from_u64(u64::MAX));
            self.discard(now, number, local.index, all, &mut commit);
            if local.expired > 0 {
                commit.remove(crate::object::key::expired(number));
            }
        }
        batch.commit(commit);
    }
}

/// The name that a dynamic queue is to have.
enum DynamicName {
    Given(QName),
    /// The beginning of one, and something unique for `*`.
    Generic(String),
}

impl DynamicName {
    fn of(wanted: ObjectName) -> Result<Self, Reason> {
        let text = wanted.trimmed();
        let (prefix, generic) = match text.split_last() {
            Some((b'*', prefix)) => (prefix, true),
            Some(_) => (text, false),
            None => return Err(reason::DYNAMIC_Q_NAME_ERROR),
        };
        let too_long = generic && prefix.len() > DYNAMIC_PREFIX_MAX;
        if too_long || !prefix.iter().all(|byte| is_name_byte(*byte)) {
            return Err(reason::DYNAMIC_Q_NAME_ERROR);
        }
        if generic {
            Ok(Self::Generic(prefix.iter().map(|byte| char::from(*byte)).collect()))
        } else {
            Ok(Self::Given(wanted.into()))
        }
    }

    fn with(&self, number: u64, start: u32) -> QName {
        match self {
            Self::Given(name) => *name,
            // At most 33 and 15 characters: 3 bytes of the start are enough (see Id), and numbers are never reused.
            Self::Generic(prefix) => {
                QName(Chars::cut(&format!("{prefix}{:06X}{:09X}", start & 0xFF_FFFF, number & 0xF_FFFF_FFFF)))
            }
        }
    }
}

fn check_options(options: OpenOptions) -> Result<(), Reason> {
    let one_of = |several: OpenOptions| (options & several).bits().count_ones() <= 1;
    let binding = OpenOptions::BIND_ON_OPEN | OpenOptions::BIND_NOT_FIXED | OpenOptions::BIND_ON_GROUP;
    let access =
        LOCAL_ONLY | OpenOptions::OUTPUT | OpenOptions::INQUIRE | OpenOptions::RESOLVE_NAMES | binding;
    let ahead = OpenOptions::NO_READ_AHEAD | OpenOptions::READ_AHEAD;
    let known = options.unknown() == 0 && options.intersects(access);
    let exclusive = one_of(INPUT) && one_of(binding) && one_of(ahead);
    let context = !options.intersects(CONTEXT) || options.contains(OpenOptions::OUTPUT);
    let save = !options.contains(OpenOptions::SAVE_ALL_CONTEXT) || options.intersects(INPUT);
    let co_op = !options.contains(OpenOptions::CO_OP) || options.contains(OpenOptions::BROWSE);
    let multicast = !options.contains(OpenOptions::NO_MULTICAST) || options.contains(OpenOptions::OUTPUT);
    let fits = known && exclusive && context && save && co_op && multicast;
    if fits { Ok(()) } else { Err(Reason::OPTIONS_ERROR) }
}

/// What may be opened by whom (INTERFACE.md 2, DESIGN.md 6).
fn check_rights(rights: Rights, name: QName, object: &Object, options: OpenOptions) -> Result<(), Reason> {
    let model = object.definition.kind == ObjectKind::ModelQueue;
    let special = SET_CONTEXT | OpenOptions::SET | OpenOptions::ALTERNATE_USER_AUTHORITY;
    let allowed = match rights {
        Rights::Admin => true,
        Rights::App => (model || may_name(rights, name)) && !options.intersects(special),
        Rights::Device => may_name(rights, name) && !options.intersects(special),
    };
    if allowed { Ok(()) } else { Err(Reason::NOT_AUTHORIZED) }
}

/// What the definition that was named says about puts and gets.
fn queue_defaults(object: &Object) -> QueueDefaults {
    let attributes = &object.definition.attributes;
    let number = |attribute: Attribute| {
        let row = row(object.definition.kind, attribute)?;
        row.number(attributes.get(attribute)?)
    };
    QueueDefaults {
        persistent: object.facts.def_persistent,
        put_response: number(Attribute::DEFPRESP).unwrap_or(1),
        property_control: number(Attribute::PROPCTL).unwrap_or(0),
    }
}

/// What MQOPEN gives back in the descriptor (mq-objects.md 1.4).
fn describe(od: &mut Mqod, route: &Route, options: OpenOptions, used: Option<&Object>, this: QMgrName) {
    if od.version >= 2 {
        od.known_dest_count = i32::from(!route.remote);
        od.unknown_dest_count = i32::from(route.remote);
        od.invalid_dest_count = 0;
    }
    if od.version >= 3 {
        let named = options.intersects(INPUT | OpenOptions::BROWSE | OpenOptions::OUTPUT);
        let used = used.filter(|_| options.contains(OpenOptions::RESOLVE_LOCAL_Q));
        let (queue, q_mgr) =
            used.map_or((route.queue, route.q_mgr), |object| (object.definition.queue_name(), this));
        od.resolved_q_name = if named { queue.into() } else { ObjectName::BLANK };
        od.resolved_q_mgr_name = if named { q_mgr } else { QMgrName::BLANK };
    }
    if od.version >= 4 {
        od.resolved_type = ObjectType::Q;
    }
}
