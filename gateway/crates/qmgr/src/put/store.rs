//! From a message that somebody puts to the records of the store: its descriptor completed, its place in a group, its
//! segments, and the reports on its arrival. First all is checked, then all is written: either goes for every record.

use bytes::Bytes;
use mq_wire::{
    Ccsid, CorrelId, GroupId, MessageFlags, Mqmd, Persistence, PutOptions, QMgrName, Reason, ReportOptions,
};
use mqsc::{Attribute, ObjectKind};
use store::{Batch, BodyFile, Commit, NewMessage, Room, UnitId};

use super::check::{Checked, check_descriptor};
use crate::connection::Route;
use crate::context::{Sender, set_context};
use crate::envelope::{envelope, take_extension, version_2, wrap};
use crate::error::reason;
use crate::headers;
use crate::held::Held;
use crate::index::{Entry, Flags};
use crate::manager::QueueManager;
use crate::object::Dynamic;
use crate::order::{self, Manner, PutOrder};
use crate::queue::{expiry_ms, owner};
use crate::report::ReportKind;
use crate::segment;
use crate::special::Special;
use crate::verb::{Now, Properties};

/// MQ_MSG_HEADER_LENGTH: room that a transmission queue needs beside the data (mq-objects.md 1.7).
const HEADER_LENGTH: u32 = 4_000;
/// MAXPRTY.
const PRIORITY_MAX: i32 = 9;

/// What a put is about.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) md: Mqmd,
    pub(crate) body: Bytes,
    /// The file that holds the end of the body.
    pub(crate) file: Option<BodyFile>,
    /// MQPMO_NEW_MSG_ID, MQPMO_NEW_CORREL_ID, MQPMO_LOGICAL_ORDER, MQPMO_SUPPRESS_REPLYTO, MQPMO_SYNCPOINT.
    pub(crate) options: PutOptions,
    /// What the handle has not completed.
    pub(crate) kept: Option<Box<PutOrder>>,
    /// Room above MAXMSGL of the queue manager: headers that are not the application's.
    pub(crate) headers: u32,
    /// Any descriptor that can be stored will do: it is somebody else's message, which is only passed on.
    pub(crate) any_descriptor: bool,
    /// Whether headers in front of the data are looked at, if the descriptor is of version 2.
    pub(crate) check_headers: bool,
    /// What the data begins with.
    pub(crate) properties: Properties,
}

/// A message that may be put.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// The descriptor of the whole.
    pub(crate) md: Mqmd,
    pub(crate) reason: Reason,
    pub(crate) order: Option<Box<PutOrder>>,
    /// The whole, or what is left after the cut.
    parts: Parts,
    file: Option<BodyFile>,
    properties: Properties,
}

#[derive(Debug)]
enum Parts {
    Whole(Bytes),
    Segments(Vec<(Mqmd, Bytes)>),
}

impl Prepared {
    /// Messages that it takes in a unit of work: segments, and reports on their arrival (mq-objects.md 3.2, MAXUMSGS).
    pub(crate) fn messages(&self, remote: bool) -> usize {
        let parts = self.parts();
        if !remote && ReportKind::Arrival.is_wanted(&self.md) { 2 * parts } else { parts }
    }

    /// Whether it is cut into segments.
    pub(crate) fn is_cut(&self) -> bool {
        matches!(self.parts, Parts::Segments(_))
    }

    fn parts(&self) -> usize {
        if let Parts::Segments(segments) = &self.parts { segments.len() } else { 1 }
    }

    pub(crate) fn is_persistent(&self) -> bool {
        self.md.persistence == Persistence::PERSISTENT
    }
}

impl QueueManager {
    /// Checks a message against its way, and completes it. Writes nothing.
    pub(crate) fn prepare(
        &mut self,
        now: Now,
        sender: &Sender<'_>,
        route: &Route,
        message: Message,
        start: u32,
    ) -> Result<Prepared, Reason> {
        route.check(&self.directory)?;
        let Message { md, body, file, options, kept, headers, any_descriptor, check_headers, properties } =
            message;
        let second = md.version >= 2;
        let (md, body) = match take_extension(&md, &body, self.ccsid()) {
            Ok(Some(taken)) => taken,
            Err(_) if any_descriptor => (version_2(md), body),
            Err(reason) => return Err(reason),
            Ok(None) if options.contains(PutOptions::LOGICAL_ORDER) && md.version < 2 => {
                return Err(Reason::WRONG_MD_VERSION);
            }
            Ok(None) => (version_2(md), body),
        };
        let mut checked = Checked { flags: md.msg_flags, warning: Reason::NONE };
        if !any_descriptor {
            checked = check_descriptor(&md, options, route.remote)?;
        }
        if check_headers && second && !self.is_raw(route) {
            headers::check(&md, &body)?;
        }
        self.check_properties(properties)?;
        self.check_open(route)?;
        // Whatever is put in front, the end of what is stored is that of the body. A file with more is not of this one.
        let file = file.filter(|file| file.length() <= body.len() as u64);
        let (mut md, exceeds) = self.complete(now, sender, route, md, options, start)?;
        md.msg_flags = checked.flags;
        let (mut left, mut next) = (Reason::NONE, None);
        if !any_descriptor {
            let how = Manner {
                logical: options.contains(PutOptions::LOGICAL_ORDER),
                persistent: md.persistence == Persistence::PERSISTENT,
                in_unit: options.contains(PutOptions::SYNCPOINT),
                length: body.len(),
            };
            let new_id = || GroupId(self.new_msg_id(start).0);
            let (warning, kept) = order::arrange(kept.as_deref(), &mut md, how, new_id)?;
            (left, next) = (warning, kept.map(Box::new));
        }
        let parts = self.fit(route, &md, body, headers, start)?;
        let reason = [left, exceeds, checked.warning].into_iter().find(|reason| *reason != Reason::NONE);
        let reason = reason.unwrap_or(Reason::NONE);
        let prepared = Prepared { md, reason, order: next, parts, file, properties };
        self.check_room(now, route, &prepared)?;
        Ok(prepared)
    }

    /// Writes what was prepared into the batch, with the reports on its arrival. Nobody sees it yet.
    ///
    /// Without a unit of somebody's, records that must not be torn apart get one of their own, which is committed here.
    pub(crate) fn write(
        &mut self,
        now: Now,
        route: &Route,
        prepared: Prepared,
        unit: Option<UnitId>,
        batch: &mut Batch,
    ) -> Result<Vec<Held>, Reason> {
        let arrival = !route.remote && ReportKind::Arrival.is_wanted(&prepared.md);
        let properties = if route.remote { Properties::default() } else { prepared.properties };
        // Of what the header in front hides, only that a report on expiry is wanted counts on a transmission queue.
        let special = match route.remote {
            true => prepared.md.report.contains(ReportOptions::EXPIRATION),
            false => Special::of(&prepared.md, properties).is_some(),
        };
        let joined = prepared.is_cut() || arrival || special;
        let survives = prepared.is_persistent() || self.is_class_high(route.used);
        let own = (unit.is_none() && joined && survives).then(|| batch.new_unit());
        let unit = unit.or(own);
        let mut held = Vec::with_capacity(prepared.messages(route.remote));
        let Prepared { md, parts, file, properties, .. } = prepared;
        match parts {
            Parts::Whole(data) => {
                held.push(self.write_one(now, route, &md, data.clone(), file, properties, unit, batch)?);
                if arrival {
                    self.report(now, ReportKind::Arrival, (&md, &data), md.expiry, unit, batch, &mut held);
                }
            }
            Parts::Segments(segments) => {
                let mut properties = properties;
                for (md, data) in segments {
                    let properties = std::mem::take(&mut properties);
                    held.push(self.write_one(
                        now,
                        route,
                        &md,
                        data.clone(),
                        None,
                        properties,
                        unit,
                        batch,
                    )?);
                    if arrival {
                        self.report(
                            now,
                            ReportKind::Arrival,
                            (&md, &data),
                            md.expiry,
                            unit,
                            batch,
                            &mut held,
                        );
                    }
                }
            }
        }
        if own.is_some() {
            let mut commit = Commit { unit: own, ..Commit::default() };
            held.iter().for_each(|held| self.specials.write(&held.entry, &mut commit));
            batch.commit(commit);
        }
        Ok(held)
    }

    /// NPMCLASS(HIGH).
    fn is_class_high(&self, number: u64) -> bool {
        self.directory.get(number).is_some_and(|object| object.facts.class_high)
    }

    #[expect(clippy::too_many_arguments, reason = "all that a record is made of")]
    fn write_one(
        &mut self,
        now: Now,
        route: &Route,
        md: &Mqmd,
        data: Bytes,
        file: Option<BodyFile>,
        properties: Properties,
        unit: Option<UnitId>,
        batch: &mut Batch,
    ) -> Result<Held, Reason> {
        let wrapped = route.remote.then(|| {
            let msg_id = self.new_msg_id(batch.start());
            let to = (route.queue, route.q_mgr);
            wrap(now, self.settings.name, self.ccsid(), to, msg_id, md, &data)
        });
        // On a transmission queue the data begins with something else.
        let properties = if route.remote { Properties::default() } else { properties };
        let (stored_md, data) = match &wrapped {
            Some((outer, data)) => (outer, data.clone()),
            None => (md, data),
        };
        let special = Special::of(stored_md, properties);
        let tags = [self.tag(&stored_md.msg_id.0), self.tag(&stored_md.correl_id.0)];
        let expiry_ms = expiry_ms(now, md.expiry);
        let priority = md.priority.clamp(0, PRIORITY_MAX) as u8;
        let persistent = md.persistence == Persistence::PERSISTENT;
        let body_length = u32::try_from(data.len()).map_err(|_| Reason::MSG_TOO_BIG_FOR_Q_MGR)?;
        let stored = batch.message(NewMessage {
            unit,
            owner: owner(route.used),
            order: None,
            priority,
            persistent,
            expiry_ms,
            tags,
            envelope: envelope(stored_md),
            body: data,
            file,
        });
        let (id, place) = (stored.id, stored.place);
        self.highest_id = id;
        let flags = special.map_or(Flags::default(), |special| special.flags());
        let flags = flags.with(Flags::PERSISTENT, persistent);
        let flags = flags.with(Flags::KEPT, !persistent && self.is_class_high(route.used));
        if let Some(special) = special {
            self.specials.add(id, special);
        }
        let entry = Entry { id, expiry_ms, tags, place, body_length, batch: 0, backouts: 0, priority, flags };
        let object = self.directory.get_mut(route.used).ok_or(Reason::UNEXPECTED_ERROR)?;
        let held = Held { queue: route.used, key: object.key(priority, stored.order), entry };
        if let Some(local) = object.local.as_deref_mut() {
            local.uncommitted_puts += 1;
        }
        Ok(held)
    }

    /// Whether the message goes onto a transmission queue as it is: the sending end looks at what is in it
    /// (mq-objects.md 1.7).
    fn is_raw(&self, route: &Route) -> bool {
        !route.remote && self.directory.get(route.used).is_some_and(|object| object.facts.transmission)
    }

    /// Whether the properties of a message fit MAXPROPL (2478), which can be NOLIMIT (-1).
    fn check_properties(&self, properties: Properties) -> Result<(), Reason> {
        match self.this.attributes.int(Attribute::MAXPROPL).map(u32::try_from) {
            Some(Ok(most)) if properties.length > most => Err(reason::PROPERTIES_TOO_BIG),
            _ => Ok(()),
        }
    }

    /// Whether every definition on the way takes messages (2051).
    fn check_open(&self, route: &Route) -> Result<(), Reason> {
        let inhibited =
            |(number, _): &(u64, u32)| self.directory.get(*number).is_some_and(|object| !object.facts.put);
        if route.path.iter().any(inhibited) { Err(Reason::PUT_INHIBITED) } else { Ok(()) }
    }

    /// The message as it fits the queue and the queue manager, cut into segments if it must and may be (2031, 2030).
    fn fit(
        &mut self,
        route: &Route,
        md: &Mqmd,
        body: Bytes,
        headers: u32,
        start: u32,
    ) -> Result<Parts, Reason> {
        let object = self.directory.get(route.used).ok_or(Reason::UNEXPECTED_ERROR)?;
        let header = if route.remote { HEADER_LENGTH } else { 0 };
        let q_max = u64::from(object.facts.max_msgl.saturating_sub(header));
        let q_mgr_max = u64::from(u32::try_from(self.number(Attribute::MAXMSGL)).unwrap_or_default());
        let q_mgr_max = q_mgr_max + u64::from(headers);
        let length = body.len() as u64;
        if length <= q_max && length <= q_mgr_max {
            return Ok(Parts::Whole(body));
        }
        if md.msg_flags.contains(MessageFlags::SEGMENTATION_ALLOWED) {
            let max = usize::try_from(q_max.min(q_mgr_max)).unwrap_or(usize::MAX);
            if let Some(segments) = segment::cut(md, &body, max, || self.new_msg_id(start)) {
                return Ok(Parts::Segments(segments));
            }
        }
        Err(if length > q_mgr_max { Reason::MSG_TOO_BIG_FOR_Q_MGR } else { Reason::MSG_TOO_BIG_FOR_Q })
    }

    /// Whether the queue takes persistent messages, if it is one (2048), has room (2053), and the store too (2192).
    fn check_room(&mut self, now: Now, route: &Route, prepared: &Prepared) -> Result<(), Reason> {
        let object = self.directory.get(route.used).ok_or(Reason::UNEXPECTED_ERROR)?;
        if object.definition.dynamic == Dynamic::Temporary && prepared.is_persistent() {
            return Err(Reason::PERSISTENT_NOT_ALLOWED);
        }
        let more = prepared.parts() as u64;
        let full = |manager: &Self| {
            let object = manager.directory.get(route.used);
            object.is_some_and(|object| {
                object.local.as_ref().is_some_and(|local| local.depth() + more > object.facts.max_depth)
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
        mut md: Mqmd,
        options: PutOptions,
        start: u32,
    ) -> Result<(Mqmd, Reason), Reason> {
        let persistent = self.is_persistent(route, &md);
        let mut warning = Reason::NONE;
        md.persistence = if persistent { Persistence::PERSISTENT } else { Persistence::NOT_PERSISTENT };
        if md.priority == -1 {
            let first = self.directory.get(route.first).ok_or(Reason::OBJECT_CHANGED)?;
            md.priority = first.facts.def_priority.into();
        } else if md.priority > PRIORITY_MAX {
            // It stands where the highest stands, and keeps what was given (IBM MQ reference, Priority).
            warning = Reason::PRIORITY_EXCEEDS_MAXIMUM;
        }
        if md.ccsid == Ccsid::Q_MGR {
            md.ccsid = self.ccsid();
        }
        md.backout_count = 0;
        if options.contains(PutOptions::NEW_MSG_ID) || md.msg_id.is_none() {
            md.msg_id = self.new_msg_id(start);
        }
        if options.contains(PutOptions::NEW_CORREL_ID) {
            md.correl_id = CorrelId::from(self.new_msg_id(start));
        }
        self.substitute_reply_to(&mut md);
        set_context(now, sender, &mut md);
        Ok((md, warning))
    }

    /// Reply-to queue alias (mq-objects.md 5.6). The queue manager of the reply-to queue is never left blank (1.7).
    fn substitute_reply_to(&self, md: &mut Mqmd) {
        if !md.reply_to_q_mgr.is_blank() {
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
