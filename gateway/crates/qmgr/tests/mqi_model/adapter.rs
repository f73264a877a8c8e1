//! The queue manager under test, driven by the model's calls: with a store in memory, a clock that is a variable, and maps between
//! the names, ids and tokens that either side makes. What it answers comes back as the model would say it.

mod names;
mod places;
mod reading;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use bytes::Bytes;
use mq_wire::{
    ApplName, ApplType, Chars, CloseOptions, CorrelId, FormatName, GetOptions, GroupId, MatchOptions,
    MessageFlags, Mqgmo, Mqmd, Mqod, Mqpmo, MsgId, MsgType, ObjectName, OpenOptions, Persistence, PutOptions,
    QMgrName, QName, ReportOptions,
};
use mqsc::Refusal;
use qmgr::{
    CallId, ConnId, Connect, Context, Effect, GetRequest, Limits, Mismatch, Now, OpenRequest, Properties,
    Put1Request, PutRequest, QueueManager, Reply, Rights, SetRequest, Verb,
};
use store::mem::MemStore;
use store::{Batch, Id, Place, Record, Store};

use crate::calls::value::*;
use crate::calls::{Call, Conn, Gmo, Hobj, Md, Outcome, Seen, Step};
use crate::model::{Definition, Kind, Settings, TEMPORARY, program_of, user_of};
use names::Names;
use places::Places;

/// A call that has no answer yet.
#[derive(Debug, Clone)]
struct Pending {
    conn: Conn,
    hobj: Hobj,
    get: Option<GetRequest>,
}

/// The context that a handle keeps, if it keeps one, once it has one.
type Kept = Option<Option<Box<Context>>>;

pub(crate) struct Engine {
    qm: QueueManager,
    store: Option<MemStore>,
    places: Places,
    settings: qmgr::Settings,
    now: Now,
    next: u64,
    conns: BTreeMap<Conn, ConnId>,
    /// Handles by the model's numbers: the number here, and the context kept for it if it keeps one.
    handles: BTreeMap<Hobj, (i32, Kept)>,
    pending: BTreeMap<CallId, Pending>,
    answers: BTreeMap<CallId, Reply>,
    names: Names,
}

impl Engine {
    pub(crate) fn new(model: &Settings, definitions: &[Definition]) -> Self {
        let name = QMgrName(Chars::cut(&model.name));
        let limits = Limits { sweep_interval_ms: 0, clear_messages_max: 3, ..Limits::default() };
        let settings = qmgr::Settings {
            hash_key: [1, 2],
            limits,
            ..qmgr::Settings::new(name, Chars::cut("QM1_2025-01-01_00.00.00"), QMgrName(Chars::cut("GATE1")))
        };
        let now = Now { wall_ms: 1_735_689_600_000, instant: Instant::now() };
        let (qm, store) = start(settings.clone(), MemStore::new(None), now);
        let mut engine = Self {
            qm,
            places: Places::of(&store),
            store: Some(store),
            settings,
            now,
            next: 0,
            conns: BTreeMap::new(),
            handles: BTreeMap::new(),
            pending: BTreeMap::new(),
            answers: BTreeMap::new(),
            names: Names::default(),
        };
        for def in definitions {
            engine.define(def);
        }
        let Settings { max_uncommitted, max_handles, mark_ms, dead_q, .. } = model;
        engine.mqsc(&format!(
            "ALTER QMGR MAXUMSGS({max_uncommitted}) MAXHANDS({max_handles}) MARKINT({mark_ms}) DEADQ('{dead_q}')"
        ));
        engine
    }

    fn define(&mut self, def: &Definition) {
        let Definition { name, priority, max_depth, max_length, .. } = def;
        let yes = |on: bool, yes: &'static str, no: &'static str| if on { yes } else { no };
        let persistent = yes(def.persistent, "YES", "NO");
        let defaults = format!("DEFPRTY({priority}) DEFPSIST({persistent})");
        let local = format!(
            "{defaults} MAXDEPTH({max_depth}) MAXMSGL({max_length}) {} DEFSOPT({}) MSGDLVSQ({}) USAGE({}) NPMCLASS({})",
            yes(def.share, "SHARE", "NOSHARE"),
            yes(def.exclusive, "EXCL", "SHARED"),
            yes(def.fifo, "FIFO", "PRIORITY"),
            yes(def.transmission, "XMITQ", "NORMAL"),
            yes(def.class_high, "HIGH", "NORMAL"),
        );
        let text = match &def.kind {
            Kind::Local => format!("DEFINE QLOCAL('{name}') {local}"),
            Kind::Model => {
                let kind = yes(def.dynamic == TEMPORARY, "TEMPDYN", "PERMDYN");
                format!("DEFINE QMODEL('{name}') {local} DEFTYPE({kind})")
            }
            Kind::Alias { target } => format!("DEFINE QALIAS('{name}') {defaults} TARGET('{target}')"),
            Kind::Remote { q, qm, xmitq } => {
                format!("DEFINE QREMOTE('{name}') {defaults} RNAME('{q}') RQMNAME('{qm}') XMITQ('{xmitq}')")
            }
        };
        self.mqsc(&text);
    }

    fn mqsc(&mut self, text: &str) {
        let command = mqsc::read_command(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
        let outcome = self.turn(|qm, now, batch, out| qm.run(now, &command, batch, out));
        assert!(matches!(outcome, mqsc::Outcome::Done { .. }), "{text}: {outcome:?}");
    }

    /// One turn of the core.
    fn turn<T>(&mut self, act: impl FnOnce(&mut QueueManager, Now, &mut Batch, &mut Vec<Effect>) -> T) -> T {
        let store = self.store.as_mut().expect("a store");
        let (mut batch, mut out) = (store.begin(), Vec::new());
        let result = act(&mut self.qm, self.now, &mut batch, &mut out);
        self.places.note(batch.ops());
        let position = store.submit(batch);
        let mut first = Vec::new();
        for effect in out {
            match effect {
                Effect::Answer { conn, call, reply: Reply::ReadFirst(read), .. } => {
                    let parts = read.parts.iter().map(|part| (part.id, part.place));
                    let places = std::iter::once((read.id, read.place)).chain(parts).collect();
                    first.push((Some((conn, call)), places));
                }
                Effect::ReadExpired { id, place } => first.push((None, vec![(id, place)])),
                Effect::Answer { call, needs, reply, .. } => {
                    assert!(needs.is_none_or(|needs| needs <= position), "{needs:?} will never come");
                    let before = self.answers.insert(call, reply);
                    assert!(before.is_none(), "two answers to one call");
                }
                Effect::Arrived { .. } => {}
            }
        }
        first.into_iter().for_each(|(call, places)| self.read_first(call, &places));
        result
    }

    /// Reads what the queue manager has to see before it goes on: for a get, or of a message that has expired.
    fn read_first(&mut self, call: Option<(ConnId, CallId)>, places: &[(Id, Place)]) {
        let records: Vec<_> = places.iter().map(|(id, place)| self.record(*id, *place)).collect();
        let body: Vec<u8> = records.iter().flat_map(|record| record.body.to_vec()).collect();
        let record = Some((records[0].envelope.clone(), Bytes::from(body)));
        match call {
            Some((conn, call)) => {
                self.turn(|qm, now, batch, out| qm.record_read(now, conn, call, record, batch, out));
            }
            None => {
                let id = places[0].0;
                self.turn(|qm, now, batch, out| qm.expired_read(now, id, record, batch, out));
            }
        }
    }

    /// A record, which lies where the queue manager should know it.
    fn record(&self, id: Id, place: Place) -> Record {
        let store = self.store.as_ref().expect("a store");
        store.body(id, self.places.real(id, place)).read().expect("a record")
    }

    /// Half of all messages lie elsewhere from now on.
    pub(crate) fn compact(&mut self) {
        let qm = &mut self.qm;
        self.places.compact(|moved| assert!(qm.moved(moved), "an old place is kept somewhere"));
    }

    /// A command, and why it was refused if it was.
    fn command(&mut self, call: &Call) -> Option<i32> {
        let done = match call {
            Call::Clear { name } => {
                let name = QName(Chars::cut(self.names.queue(name)));
                self.turn(|qm, now, batch, out| qm.clear(now, &name, batch, out))
            }
            Call::Delete { name, purge } => {
                let purge = if *purge { "PURGE" } else { "NOPURGE" };
                let text = format!("DELETE QLOCAL('{}') {purge}", self.names.queue(name));
                let command = mqsc::read_command(&text).expect("a command");
                match self.turn(|qm, now, batch, out| qm.run(now, &command, batch, out)) {
                    mqsc::Outcome::Failed(refusal) => Err(refusal),
                    _ => Ok(()),
                }
            }
            _ => return None,
        };
        done.err().map(|refusal| match refusal {
            Refusal::InUse { .. } => REFUSED_IN_USE,
            Refusal::NotEmpty { .. } => REFUSED_NOT_EMPTY,
            Refusal::NotFound { .. } => REFUSED_NOT_FOUND,
            other => panic!("{call:?}: {other:?}"),
        })
    }

    /// Does the call. `expected` is only looked at to know what the model calls a thing that was made here.
    pub(crate) fn apply(&mut self, call: &Call, expected: &Step) -> Step {
        let refused = self.command(call);
        let own = match call {
            Call::Crash => {
                let store = self.store.take().expect("a store");
                self.settings.hash_key = [7, 7];
                let (qm, store) = start(self.settings.clone(), store.restart(), self.now);
                self.places = Places::of(&store);
                (self.qm, self.store) = (qm, Some(store));
                self.conns.clear();
                self.handles.clear();
                self.pending.clear();
                self.names.forget_tokens();
                None
            }
            Call::Advance { ms } => {
                for _ in 0..ms / 100 {
                    self.now.wall_ms += 100;
                    self.now.instant += Duration::from_millis(100);
                    self.time_out();
                }
                None
            }
            Call::Lost { conn } => {
                let id = self.conns.remove(conn);
                self.pending.retain(|_, pending| pending.conn != *conn);
                if let Some(id) = id {
                    self.turn(|qm, now, batch, out| qm.closed(now, id, batch, out));
                }
                None
            }
            Call::Connect { conn } => {
                self.next += 1;
                self.conns.insert(*conn, ConnId(self.next));
                let connect = Connect {
                    q_mgr: QMgrName::BLANK,
                    user: Chars::cut(&user_of(*conn)),
                    appl_name: Chars::cut(&program_of(*conn)),
                    appl_type: ApplType::UNIX,
                    rights: Rights::Admin,
                };
                Some(self.send(*conn, 0, Verb::Connect(Box::new(connect))))
            }
            call => self.verb(call).map(|(conn, hobj, verb)| self.send(conn, hobj, verb)),
        };
        self.time_out();
        let mut step = self.outcomes(own, call, expected);
        if let Some(reason) = refused {
            step.outcome = Outcome::failed(reason);
        }
        self.places.forget_dead();
        step
    }

    /// Time-outs. With an interval of nothing the sweep always wants another turn.
    fn time_out(&mut self) {
        for _ in 0..3 {
            if self.qm.poll_timeout().is_some_and(|at| at <= self.now.instant) {
                self.turn(QueueManager::handle_timeout);
            }
        }
    }

    /// What came of it: of the call itself, and of calls that waited.
    fn outcomes(&mut self, own: Option<CallId>, call: &Call, expected: &Step) -> Step {
        let mut outcome = Outcome::ok(if own.is_some() { Seen::Waits } else { Seen::Nothing });
        let mut woken = Vec::new();
        let answers = std::mem::take(&mut self.answers);
        for (id, reply) in answers {
            let Some(pending) = self.pending.remove(&id) else { continue };
            if Some(id) == own {
                outcome = self.outcome(&pending, id, reply, &expected.outcome, call);
            } else {
                let other = expected.woken.iter().find(|(conn, _)| *conn == pending.conn);
                let nothing = Outcome::ok(Seen::Nothing);
                let expected = other.map_or(&nothing, |(_, outcome)| outcome);
                woken.push((pending.conn, self.outcome(&pending, id, reply, expected, call)));
            }
        }
        if let Call::Disconnect { conn } = call {
            self.conns.remove(conn);
        }
        Step { outcome, woken, also: Vec::new() }
    }

    fn send(&mut self, conn: Conn, hobj: Hobj, verb: Verb) -> CallId {
        self.next += 1;
        let call = CallId(self.next);
        let get = if let Verb::Get(get) = &verb { Some((**get).clone()) } else { None };
        self.pending.insert(call, Pending { conn, hobj, get });
        let id = self.conns[&conn];
        self.turn(|qm, now, batch, out| qm.apply(now, id, call, verb, batch, out));
        call
    }

    fn hobj(&self, hobj: Hobj) -> i32 {
        self.handles.get(&hobj).map_or(-1, |(handle, _)| *handle)
    }

    fn verb(&self, call: &Call) -> Option<(Conn, Hobj, Verb)> {
        let verb = match call {
            Call::Open { conn, name, qm, dynamic, options } => {
                let od = Mqod { dynamic_q_name: ObjectName(Chars::cut(dynamic)), ..self.od(name, qm) };
                let options = OpenOptions::from_bits_retain(options.cast_unsigned());
                (*conn, 0, Verb::Open(Box::new(OpenRequest { od, options })))
            }
            Call::Close { conn, hobj, options } => {
                let options = CloseOptions::from_bits_retain(options.cast_unsigned());
                (*conn, *hobj, Verb::Close { handle: self.hobj(*hobj), options })
            }
            Call::Put { conn, hobj, md, options, context, data } => {
                let (handle, passed) = match self.handles.get(context) {
                    Some((handle, kept)) => (*handle, kept.clone().flatten()),
                    None => (0, None),
                };
                let options = PutOptions::from_bits_retain(options.cast_unsigned());
                let pmo = Mqpmo { options, context: handle, ..Mqpmo::default() };
                let request = PutRequest {
                    handle: self.hobj(*hobj),
                    md: self.md(md),
                    pmo,
                    body: Bytes::copy_from_slice(&data.0),
                    passed,
                    properties: Properties::default(),
                };
                (*conn, *hobj, Verb::Put(Box::new(request)))
            }
            Call::Put1 { conn, name, qm, md, options, data } => {
                let options = PutOptions::from_bits_retain(options.cast_unsigned());
                let request = Put1Request {
                    od: self.od(name, qm),
                    md: self.md(md),
                    pmo: Mqpmo { options, ..Mqpmo::default() },
                    body: Bytes::copy_from_slice(&data.0),
                    passed: None,
                    properties: Properties::default(),
                };
                (*conn, 0, Verb::Put1(Box::new(request)))
            }
            Call::Get { conn, hobj, gmo, buffer } => {
                (*conn, *hobj, Verb::Get(Box::new(self.get(*hobj, gmo, *buffer))))
            }
            Call::Inquire { conn, hobj, selectors } => {
                let int_count = selectors.len() as u32;
                let verb = Verb::Inquire {
                    handle: self.hobj(*hobj),
                    selectors: selectors.clone(),
                    int_count,
                    char_length: 0,
                };
                (*conn, *hobj, verb)
            }
            Call::Set { conn, hobj, values } => {
                let (selectors, integers) = values.iter().copied().unzip();
                let request =
                    SetRequest { handle: self.hobj(*hobj), selectors, integers, characters: Bytes::new() };
                (*conn, *hobj, Verb::Set(Box::new(request)))
            }
            Call::Commit { conn } => (*conn, 0, Verb::Commit),
            Call::Back { conn } => (*conn, 0, Verb::Back),
            Call::Disconnect { conn } => (*conn, 0, Verb::Disconnect),
            Call::Connect { .. }
            | Call::Lost { .. }
            | Call::Clear { .. }
            | Call::Delete { .. }
            | Call::Advance { .. }
            | Call::Crash => return None,
        };
        Some(verb)
    }

    fn od(&self, name: &str, qm: &str) -> Mqod {
        Mqod {
            version: 4,
            object_name: ObjectName(Chars::cut(self.names.queue(name))),
            object_q_mgr_name: QMgrName(Chars::cut(qm)),
            ..Mqod::default()
        }
    }

    fn md(&self, md: &Md) -> Mqmd {
        Mqmd {
            version: 2,
            report: ReportOptions::from_bits_retain(md.report.cast_unsigned()),
            msg_type: MsgType(md.msg_type),
            expiry: md.expiry,
            format: FormatName::cut(&md.format),
            priority: md.priority,
            persistence: Persistence(md.persistence),
            msg_id: MsgId(self.names.id(&md.msg_id)),
            correl_id: CorrelId(self.names.id(&md.correl_id)),
            reply_to_q: QName(Chars::cut(self.names.queue(&md.reply_q))),
            reply_to_q_mgr: QMgrName(Chars::cut(&md.reply_qm)),
            user_identifier: Chars::cut(&md.user),
            appl_identity_data: Chars::cut(&md.identity),
            put_appl_type: ApplType(md.put_type),
            put_appl_name: ApplName::cut(&md.put_name),
            appl_origin_data: Chars::cut(&md.origin),
            group_id: GroupId(self.names.id(&md.group_id)),
            msg_seq_number: md.seq,
            offset: md.offset,
            msg_flags: MessageFlags::from_bits_retain(md.flags.cast_unsigned()),
            original_length: md.original_length,
            ..Mqmd::default()
        }
    }

    fn get(&self, hobj: Hobj, gmo: &Gmo, buffer: usize) -> GetRequest {
        let options = Mqgmo {
            version: 4,
            options: GetOptions::from_bits_retain(gmo.options.cast_unsigned()),
            wait_interval: gmo.wait_ms,
            match_options: MatchOptions::from_bits_retain(gmo.matches.cast_unsigned()),
            msg_token: self.names.token(gmo.token),
            ..Mqgmo::default()
        };
        GetRequest {
            msg_id: MsgId(self.names.id(&gmo.msg_id)),
            correl_id: CorrelId(self.names.id(&gmo.correl_id)),
            group_id: GroupId(self.names.id(&gmo.group_id)),
            msg_seq_number: gmo.seq,
            offset: gmo.offset,
            ..GetRequest::new(self.hobj(hobj), options, buffer as u32)
        }
    }

    /// As the side of a connection does it: a reader that finds other ids than asked for says so.
    fn mismatched(&mut self, pending: Pending, call: CallId, got: qmgr::Got, record: (Bytes, Bytes)) {
        let Some(request) = pending.get.clone() else { return };
        let id = self.conns[&pending.conn];
        self.pending.insert(call, pending);
        let mismatch = Mismatch { got, record, request };
        self.turn(|qm, now, batch, out| qm.mismatched(now, id, call, mismatch, batch, out));
    }

    /// Whether the call names nothing that the queue manager has not shown yet.
    pub(crate) fn can_say(&self, call: &Call) -> bool {
        let Call::Get { gmo, .. } = call else { return true };
        let ids = [&gmo.msg_id, &gmo.correl_id, &gmo.group_id];
        if !ids.into_iter().all(|id| self.names.knows_id(id)) {
            return false;
        }
        gmo.matches & MO_TOKEN == 0 || self.names.knows_token(gmo.token)
    }

    /// CURDEPTH of all queues that have messages, by the model's names.
    pub(crate) fn depths(&self) -> BTreeMap<String, usize> {
        let depths =
            self.qm.queues().map(|view| (self.names.known_queue(view.name.0.text()), view.depth as usize));
        depths.filter(|(_, depth)| *depth > 0).collect()
    }

    /// What a handle keeps, when it has been opened.
    fn opened(&mut self, hobj: Hobj, handle: i32, options: i32) {
        let keeps = (options & OO_SAVE_ALL != 0).then_some(None);
        self.handles.insert(hobj, (handle, keeps));
    }
}

fn start(
    settings: qmgr::Settings,
    (mut store, recovered): (MemStore, store::Recovered),
    now: Now,
) -> (QueueManager, MemStore) {
    let mut batch = store.begin();
    let qm = QueueManager::new(settings, &recovered, now, &mut batch).expect("a start");
    store.submit(batch);
    (qm, store)
}
