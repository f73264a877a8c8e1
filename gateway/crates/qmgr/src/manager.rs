//! The queue manager as a whole: its state, how it starts, and how events come in.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use mq_wire::{Ccsid, ChannelName, CompCode, GetOptions, MsgId, QMgrName, QName, Reason};
use mqsc::{Attribute, ObjectKind};
use store::{Batch, Commit, Id, Position, Room, UnitId};

use crate::clearing::Clearing;
use crate::clock::definition_date_time;
use crate::connection::Connection;
use crate::hash::hash;
use crate::held::Table;
use crate::local::{ChannelView, Holder, OwnUnit, QueueView};
use crate::object::{Definition, key};
use crate::queue::{Directory, Expired, Local, needs};
use crate::read_first::Reading;
use crate::resolve::Resolver;
use crate::settings::Settings;
use crate::special::Specials;
use crate::sweep::Sweep;
use crate::verb::{CallId, ConnId, Connect, Connected, Effect, Now, Reply, Verb};
use crate::waiting::{Turn, Waiter};

/// The queue manager. See the crate's text.
#[derive(Debug)]
pub struct QueueManager {
    pub(crate) settings: Settings,
    /// Key of the hashes in the index and in the store.
    pub(crate) hash_key: [u64; 2],
    pub(crate) this: Definition,
    pub(crate) this_position: Position,
    pub(crate) directory: Directory,
    pub(crate) channels: BTreeMap<ChannelName, Definition>,
    pub(crate) connections: BTreeMap<ConnId, Connection>,
    /// Units of the owner ([`crate::local`]): what was put, what was taken.
    pub(crate) units: BTreeMap<UnitId, OwnUnit>,
    /// Messages that are off their queues, whoever holds them.
    pub(crate) held: Table,
    /// Messages locked by the owner.
    pub(crate) locks: BTreeSet<(Holder, Id)>,
    /// Waits that end by themselves.
    pub(crate) deadlines: BTreeSet<(Instant, u64, Turn)>,
    pub(crate) next_turn: Turn,
    /// The next object number, and the one up to which they are reserved durably.
    pub(crate) next_number: u64,
    pub(crate) numbers_reserved: u64,
    /// Ids made by this start: bytes of the descriptor, see [`QueueManager::unique`].
    pub(crate) unique: u64,
    /// Bases of ids given to clients by this start.
    pub(crate) reserved: u32,
    pub(crate) expired: Expired,
    /// Gets that took a message whose record is being read.
    pub(crate) reading: BTreeMap<(ConnId, CallId), Reading>,
    /// When the first co-operative mark on a queue ends.
    pub(crate) marks_end: BTreeSet<(Instant, u64)>,
    /// What few messages have beside their entry.
    pub(crate) specials: Specials,
    /// Names of which the owner wants to hear, whichever queue has them.
    pub(crate) watched: BTreeSet<QName>,
    /// Watched queues on which a message can be had since the owner was last told.
    pub(crate) arrived: BTreeSet<u64>,
    /// Queues of which something was taken for good without a batch at hand: with the next one they are as they are.
    pub(crate) dirty: BTreeSet<u64>,
    pub(crate) quiescing: bool,
    pub(crate) stopping: bool,
    /// Whether the store takes new messages.
    pub(crate) room: Room,
    pub(crate) sweep: Sweep,
    /// What was cleared and is still to be collected, and when.
    pub(crate) clearing: Clearing,
    pub(crate) clear_at: Option<Instant>,
    /// The newest message of this start.
    pub(crate) highest_id: Id,
    /// Messages in the store that belong to no queue.
    pub(crate) orphans: u64,
    /// Reports that no queue took.
    pub(crate) reports_dropped: u64,
}

impl QueueManager {
    /// A call of a connection.
    pub fn apply(
        &mut self,
        now: Now,
        conn: ConnId,
        call: CallId,
        verb: Verb,
        batch: &mut Batch,
        out: &mut Vec<Effect>,
    ) {
        self.clean(batch);
        let done = match verb {
            Verb::Connect(connect) => self.connect(conn, &connect),
            _ if !self.connections.contains_key(&conn) => Err(Reason::HCONN_ERROR),
            Verb::Disconnect => Ok(self.disconnect(now, conn, batch, out)),
            _ if self.stopping => Err(Reason::Q_MGR_STOPPING),
            Verb::Open(request) => self.open(now, conn, *request, batch),
            Verb::Close { handle, options } => self.close(now, (conn, handle), options, batch, out),
            Verb::Put(request) => self.put(now, conn, (*request, None), batch, out),
            Verb::PutFile(request, file) => self.put(now, conn, (*request, Some(file)), batch, out),
            Verb::Put1(request) => self.put1(now, conn, (*request, None), batch, out),
            Verb::Put1File(request, file) => self.put1(now, conn, (*request, Some(file)), batch, out),
            Verb::Get(request) => match self.get(now, conn, call, &request, None, batch, out) {
                Ok(None) => return self.finish(now, batch, out),
                Ok(Some(answer)) => Ok(answer),
                Err(reason) => Err(reason),
            },
            Verb::Inquire { handle, selectors, int_count, char_length } => {
                self.inquire(conn, handle, &selectors, int_count, char_length)
            }
            Verb::Set(request) => self.set(now, conn, &request, batch, out),
            Verb::Reserve => Ok(self.reserve(batch.start())),
            Verb::Commit => Ok(self.commit(now, conn, batch, out)),
            Verb::Back => Ok(self.back(now, conn, batch, out)),
        };
        let answer = done.unwrap_or_else(|reason| Answer::now(failed(reason)));
        out.push(Effect::Answer { conn, call, needs: answer.needs, reply: answer.reply });
        self.finish(now, batch, out);
    }

    /// The socket of a connection is gone: its unit of work is backed out, its handles are closed, its waits end.
    pub fn closed(&mut self, now: Now, conn: ConnId, batch: &mut Batch, out: &mut Vec<Effect>) {
        self.drop_waits(conn);
        self.drop_reading(now, conn, batch, out);
        self.back_out(now, conn, batch, out);
        self.close_all(now, conn, batch, out);
        self.connections.remove(&conn);
        self.finish(now, batch, out);
    }

    /// When [`Self::handle_timeout`] has something to do.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let wait = self.deadlines.first().map(|(deadline, ..)| *deadline);
        let marks = self.marks_end.first().map(|(at, _)| *at);
        [wait, marks, self.sweep.at, self.clear_at].into_iter().flatten().min()
    }

    /// Ends waits and marks whose time is over, and goes on with the expiry sweep and with what is being cleared.
    pub fn handle_timeout(&mut self, now: Now, batch: &mut Batch, out: &mut Vec<Effect>) {
        while let Some((_, number, turn)) =
            self.deadlines.first().copied().filter(|(at, ..)| *at <= now.instant)
        {
            self.end_wait(number, turn, Reason::NO_MSG_AVAILABLE, out);
        }
        self.end_marks(now, batch, out);
        if self.sweep.at.is_some_and(|at| at <= now.instant) {
            self.sweep(now);
        }
        if self.clear_at.is_some_and(|at| at <= now.instant) {
            self.clear_some(now, batch);
        }
        self.finish(now, batch, out);
    }

    /// The queue manager is about to stop, when its applications have ended: nobody connects any more. Calls that ask
    /// for it with a FAIL_IF_QUIESCING option fail with 2161, gets that wait among them; others go on.
    pub fn quiesce(&mut self, out: &mut Vec<Effect>) {
        self.quiescing = true;
        let asks = |waiter: &Waiter| waiter.plan.has(GetOptions::FAIL_IF_QUIESCING);
        self.end_waits_of(|waiter, _| asks(waiter), Reason::Q_MGR_QUIESCING, out);
    }

    /// As [`Self::quiesce`], of one connection: 2202.
    pub fn quiesce_connection(&mut self, conn: ConnId, out: &mut Vec<Effect>) {
        let Some(connection) = self.connections.get_mut(&conn) else { return };
        connection.quiescing = true;
        let asks = |waiter: &Waiter| waiter.conn == conn && waiter.plan.has(GetOptions::FAIL_IF_QUIESCING);
        self.end_waits_of(|waiter, _| asks(waiter), Reason::CONNECTION_QUIESCING, out);
    }

    /// The queue manager stops now: every get that waits ends with 2162, and so does every call but MQDISC.
    pub fn stopping(&mut self, out: &mut Vec<Effect>) {
        (self.quiescing, self.stopping) = (true, true);
        self.end_waits(|_| true, Reason::Q_MGR_STOPPING, out);
    }

    /// Whether a call that asks to fail while something quiesces has to (2161, 2202).
    pub(crate) fn check_quiescing(&self, conn: ConnId, asks: bool) -> Result<(), Reason> {
        if self.quiescing && asks {
            return Err(Reason::Q_MGR_QUIESCING);
        }
        match self.connections.get(&conn) {
            Some(connection) if connection.quiescing && asks => Err(Reason::CONNECTION_QUIESCING),
            _ => Ok(()),
        }
    }

    /// Says whether the store has room, whenever that changes. While it is short, puts end with 2192, definitions and
    /// MQSET with 2071 (STORE.md 6). All that drains goes on: gets, browses, commits (of puts made before too),
    /// back-outs, closes, DELETE.
    pub fn set_room(&mut self, room: Room) {
        self.room = room;
    }

    /// From now on the owner hears with [`Effect::Arrived`] that a message can be had on the local queue of this
    /// name, also when it is defined later, or deleted and defined again. Says whether there is one now.
    pub fn watch(&mut self, queue: &QName) -> bool {
        self.watched.insert(*queue);
        let Some(number) = self.directory.number(*queue) else { return false };
        let Some(local) = self.directory.local(number) else { return false };
        if local.index.len() > 0 {
            self.arrived.insert(number);
        }
        true
    }

    /// The owner does not want to hear of the queue any more.
    pub fn unwatch(&mut self, queue: &QName) {
        self.watched.remove(queue);
    }

    /// DEADQ, if it is set and a local queue.
    pub fn dead_letter_queue(&self) -> Option<QName> {
        let name = QName::from(self.this.attributes.name(Attribute::DEADQ)?);
        self.directory.by_name(name).filter(|object| object.local.is_some()).map(|_| name)
    }

    /// The name of the queue manager.
    pub fn name(&self) -> QMgrName {
        self.settings.name
    }

    /// Its character set.
    pub fn ccsid(&self) -> Ccsid {
        Ccsid(self.this.attributes.int(Attribute::CCSID).unwrap_or(Ccsid::LATIN_1.0))
    }

    /// A channel, as the listener needs it.
    pub fn channel(&self, name: &ChannelName) -> Option<ChannelView> {
        let definition = self.channels.get(name)?;
        let int = |attribute| definition.attributes.int(attribute).unwrap_or_default();
        Some(ChannelView {
            name: *name,
            chltype: definition.kind.type_number()?,
            maxmsgl: int(Attribute::MAXMSGL),
            hbint: int(Attribute::HBINT),
            mcauser: definition.attributes.text(Attribute::MCAUSER).unwrap_or_default().to_owned(),
            sharecnv: int(Attribute::SHARECNV),
            maxinst: int(Attribute::MAXINST),
            maxinstc: int(Attribute::MAXINSTC),
            discint: int(Attribute::DISCINT),
        })
    }

    /// Every queue, in the order of their names.
    pub fn queues(&self) -> impl Iterator<Item = QueueView> {
        self.directory.iter().map(|object| {
            let local = object.local.as_deref();
            QueueView {
                name: object.definition.queue_name(),
                q_type: object.definition.kind.type_number().unwrap_or_default(),
                transmission: object.facts.transmission,
                depth: local.map_or(0, Local::depth),
                uncommitted: local.map_or(0, Local::uncommitted),
                open_input: local.map_or(0, |local| local.open_input),
                open_output: local.map_or(0, |local| local.open_output),
                waiting: local.map_or(0, |local| local.waiting.len() as u64),
                expired: local.map_or(0, |local| local.expired),
            }
        })
    }

    /// Connections there are.
    pub fn connections(&self) -> usize {
        self.connections.len()
    }

    /// Messages in the store that belong to no queue, found at the start and left alone.
    pub fn orphans(&self) -> u64 {
        self.orphans
    }

    fn connect(&mut self, conn: ConnId, connect: &Connect) -> Result<Answer, Reason> {
        if self.stopping {
            return Err(Reason::Q_MGR_STOPPING);
        }
        if self.quiescing {
            return Err(Reason::Q_MGR_QUIESCING);
        }
        if !connect.q_mgr.is_blank() && connect.q_mgr != self.settings.name {
            return Err(Reason::Q_MGR_NAME_ERROR);
        }
        if self.connections.len() >= self.settings.limits.connections_max {
            return Err(Reason::MAX_CONNS_LIMIT_REACHED);
        }
        if self.connections.contains_key(&conn) {
            return Err(Reason::ALREADY_CONNECTED);
        }
        self.connections.insert(conn, Connection::new(connect));
        let connected = Connected { q_mgr: self.settings.name, id: self.settings.id, ccsid: self.ccsid() };
        Ok(Answer::now(Reply::Connected(Box::new(connected))))
    }

    fn disconnect(&mut self, now: Now, conn: ConnId, batch: &mut Batch, out: &mut Vec<Effect>) -> Answer {
        self.drop_waits(conn);
        self.drop_reading(now, conn, batch, out);
        let answer = self.commit(now, conn, batch, out);
        self.close_all(now, conn, batch, out);
        self.connections.remove(&conn);
        answer
    }

    /// What every event ends with: deaths of the expired are written, the owner hears of messages.
    pub(crate) fn finish(&mut self, now: Now, batch: &mut Batch, out: &mut Vec<Effect>) {
        self.clean(batch);
        self.expired.write(&mut self.directory, &mut self.specials, batch);
        let unread = self.expired.tell();
        out.extend(unread.into_iter().map(|(id, place)| Effect::ReadExpired { id, place }));
        self.sweep_soon(now);
        self.tell_arrived(out);
    }

    /// The record that took the messages is in this batch, or in the one before if there is nothing in this one yet:
    /// a batch that stays empty is never durable.
    fn clean(&mut self, batch: &Batch) {
        let mut position = batch.position();
        if batch.is_empty() {
            position.batch = position.batch.saturating_sub(1);
        }
        for number in std::mem::take(&mut self.dirty) {
            if let Some(local) = self.directory.local_mut(number) {
                local.changed = local.changed.max(position);
            }
        }
    }

    pub(crate) fn tell_arrived(&mut self, out: &mut Vec<Effect>) {
        for number in std::mem::take(&mut self.arrived) {
            if let Some(object) = self.directory.get(number) {
                out.push(Effect::Arrived { queue: object.definition.queue_name() });
            }
        }
    }

    pub(crate) fn resolver(&self) -> Resolver<'_> {
        let default_xmitq = self.this.attributes.name(Attribute::DEFXMITQ).unwrap_or_default();
        Resolver { directory: &self.directory, this: self.settings.name, default_xmitq: default_xmitq.into() }
    }

    /// Whether a definition may be written (2071).
    pub(crate) fn may_define(&self) -> Result<(), Reason> {
        match self.room {
            Room::Enough => Ok(()),
            Room::Short => Err(Reason::STORAGE_NOT_AVAILABLE),
        }
    }

    /// A number of the queue manager's own attributes.
    pub(crate) fn number(&self, attribute: Attribute) -> i32 {
        self.this.attributes.int(attribute).unwrap_or_default()
    }

    /// MAXUMSGS.
    pub(crate) fn unit_messages_max(&self) -> usize {
        self.number(Attribute::MAXUMSGS).try_into().unwrap_or_default()
    }

    /// A MsgId that was never given: `AMQ `, the beginning of the queue manager's name, the number of the start (3
    /// bytes: the store has 2^24 of them) and a counter (5 bytes).
    pub(crate) fn new_msg_id(&mut self, start: u32) -> MsgId {
        self.unique += 1;
        let mut id = [b' '; 24];
        id[..4].copy_from_slice(b"AMQ ");
        id[4..16].copy_from_slice(&self.settings.name.0.as_bytes()[..12]);
        id[16..19].copy_from_slice(&start.to_be_bytes()[1..]);
        id[19..].copy_from_slice(&self.unique.to_be_bytes()[3..]);
        MsgId(id)
    }

    /// A base for MsgIds that a client makes itself: its last two bytes are for counting, the others were never given.
    fn reserve(&mut self, start: u32) -> Answer {
        // The counters of `new_msg_id` never reach the top bit.
        const RESERVED: u32 = 0x80_0000;
        self.reserved = (self.reserved + 1) % RESERVED;
        let mut base = self.new_msg_id(start);
        base.0[19..22].copy_from_slice(&(RESERVED | self.reserved).to_be_bytes()[1..]);
        base.0[22..].fill(0);
        Answer::now(Reply::Reserved { base })
    }

    /// The hash of an id.
    pub(crate) fn tag(&self, id: &[u8; 24]) -> u64 {
        hash(self.hash_key, id)
    }

    /// An object number that was never given. Reserved durably some at a time, so that a temporary dynamic queue
    /// costs no record. The caller adds the commit to the batch whatever happens: the next number may rest on it.
    pub(crate) fn new_number(&mut self, commit: &mut Commit) -> u64 {
        const RESERVE: u64 = 1_000;
        let number = self.next_number;
        self.next_number += 1;
        if self.next_number > self.numbers_reserved {
            self.numbers_reserved = number + RESERVE;
            commit.set(key::NUMBER, self.numbers_reserved.to_le_bytes().to_vec());
        }
        number
    }

    /// Since when a definition, and the messages if it is a local queue, are as an answer shows them.
    pub(crate) fn position_of(&self, number: u64) -> Option<Position> {
        let object = self.directory.get(number)?;
        let changed = object.local.as_ref().map_or(Position::default(), |local| local.changed);
        needs(object.position.max(changed))
    }

    /// The definition of the queue manager or a queue, with the kind, for MQINQ and DISPLAY.
    pub(crate) fn dates(definition: &Definition) -> [(String, String); 2] {
        [definition_date_time(definition.created_ms), definition_date_time(definition.altered_ms)]
    }

    /// A channel's kind is needed where only its name is known.
    pub(crate) fn kind_of(&self, name: QName) -> Option<ObjectKind> {
        self.directory.by_name(name).map(|object| object.definition.kind)
    }
}

/// An answer, and what it depends on.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) needs: Option<Position>,
    pub(crate) reply: Reply,
}

impl Answer {
    /// It depends on nothing.
    pub(crate) fn now(reply: Reply) -> Self {
        Self { needs: None, reply }
    }

    pub(crate) fn at(needs: Option<Position>, reply: Reply) -> Self {
        Self { needs, reply }
    }
}

/// The position of what was just written; none if nothing was, since an empty batch is never durable.
pub(crate) fn written(batch: &Batch) -> Option<Position> {
    (!batch.is_empty()).then(|| batch.position())
}

pub(crate) fn failed(reason: Reason) -> Reply {
    Reply::Plain { cc: CompCode::FAILED, reason }
}

pub(crate) fn done() -> Reply {
    Reply::Plain { cc: CompCode::OK, reason: Reason::NONE }
}
