//! A queue manager, a store in memory, a variable called `now`, and short ways to say what an application does.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use bytes::Bytes;
use mq_wire::*;
use mqsc::Outcome;
use store::mem::MemStore;
use store::{Batch, Id, Kill, Moved, Op, Place, Position, Store};

use crate::{Properties, *};

/// A queue manager with its store.
pub(super) struct Qm {
    pub(super) qm: QueueManager,
    store: Option<MemStore>,
    pub(super) now: Now,
    next: u64,
    /// Answers that have not been looked at.
    pub(super) answers: BTreeMap<CallId, Answered>,
    pub(super) arrived: Vec<String>,
    /// What has to be read first is not read at once, but left here.
    pub(super) reads_late: bool,
    pub(super) later: Vec<Later>,
    /// Every message that was written and has not died, as compaction would tell of it.
    live: BTreeMap<Id, Moved>,
    moves: u32,
}

/// What has to be read.
#[derive(Debug)]
pub(super) enum Later {
    Got(ConnId, CallId, Box<ReadFirst>),
    Expired(Id, Place),
}

/// An answer.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) needs: Option<Position>,
    pub(super) reply: Reply,
}

/// What a get brought.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) md: Mqmd,
    pub(super) body: Bytes,
    pub(super) got: Got,
}

pub(super) fn settings() -> Settings {
    let name = QMgrName::new("QM1").unwrap();
    let gateway = QMgrName::new("GATE1").unwrap();
    Settings { hash_key: [1, 2], ..Settings::new(name, Chars::cut("QM1_2025-01-01_00.00.00"), gateway) }
}

impl Qm {
    pub(super) fn new() -> Self {
        Self::bounded(Limits::default())
    }

    /// With these bounds, also after restarts.
    pub(super) fn bounded(limits: Limits) -> Self {
        Self::start(
            Settings { limits, ..settings() },
            MemStore::new(None),
            Now { wall_ms: 1_735_689_600_000, instant: Instant::now() },
        )
    }

    fn start(settings: Settings, (mut store, recovered): (MemStore, store::Recovered), now: Now) -> Self {
        let mut batch = store.begin();
        let qm = QueueManager::new(settings, &recovered, now, &mut batch).unwrap();
        store.submit(batch);
        let found = store.recovered().messages.into_iter().map(|message| {
            let store::RecoveredMessage { id, owner, order, priority, place, .. } = message;
            (id, Moved { id, owner, order, priority, from: place, to: place })
        });
        let live = found.collect();
        let (answers, arrived) = (BTreeMap::new(), Vec::new());
        let (reads_late, later) = (false, Vec::new());
        Self { qm, store: Some(store), now, next: 0, answers, arrived, reads_late, later, live, moves: 0 }
    }

    /// The process is gone, and comes again.
    pub(super) fn restart(self) -> Self {
        let settings = Settings { hash_key: [7, 7], limits: self.qm.settings.limits, ..settings() };
        Self::start(settings, self.store.unwrap().restart(), self.now)
    }

    pub(super) fn store(&self) -> &MemStore {
        self.store.as_ref().unwrap()
    }

    /// One turn of the core.
    pub(super) fn turn<T>(
        &mut self,
        act: impl FnOnce(&mut QueueManager, Now, &mut Batch, &mut Vec<Effect>) -> T,
    ) -> T {
        let store = self.store.as_mut().unwrap();
        let (mut batch, mut out) = (store.begin(), Vec::new());
        let result = act(&mut self.qm, self.now, &mut batch, &mut out);
        look_at_places(&self.live, &out);
        for op in batch.ops() {
            note(&mut self.live, op);
            look_at_places(&self.live, &out);
        }
        let position = store.submit(batch);
        let mut later: Vec<Later> = Vec::new();
        for effect in out {
            match effect {
                Effect::Answer { conn, call, reply: Reply::ReadFirst(first), .. } if !self.reads_late => {
                    later.push(Later::Got(conn, call, first));
                }
                Effect::ReadExpired { id, place } => later.push(Later::Expired(id, place)),
                Effect::Answer { call, needs, reply, .. } => {
                    assert!(needs.is_none_or(|needs| needs <= position), "{needs:?} will never come");
                    let before = self.answers.insert(call, Answered { needs, reply });
                    assert!(before.is_none(), "two answers to one call");
                }
                Effect::Arrived { queue } => self.arrived.push(queue.to_string()),
            }
        }
        if !self.reads_late {
            later.into_iter().for_each(|later| self.read_late(later));
        } else {
            self.later.extend(later);
        }
        result
    }

    /// Reads what has to be read first, and gives it to the queue manager.
    pub(super) fn read_late(&mut self, later: Later) {
        match later {
            Later::Got(conn, call, first) => {
                let record = self.records(first.id, first.place, &first.parts);
                self.turn(|qm, now, batch, out| qm.record_read(now, conn, call, Some(record), batch, out));
            }
            Later::Expired(id, place) => {
                let record = self.records(id, place, &[]);
                self.turn(|qm, now, batch, out| qm.expired_read(now, id, Some(record), batch, out));
            }
        }
    }

    /// The envelope of the first of these records, and the bodies of all of them.
    fn records(&self, id: Id, place: Place, parts: &[Part]) -> (Bytes, Bytes) {
        let record = self.store().body(id, place).read().unwrap();
        let mut body = record.body.to_vec();
        for part in parts {
            let further = self.store().body(part.id, part.place).read().unwrap();
            assert_eq!(further.body.len(), part.body_length as usize);
            body.extend_from_slice(&further.body);
        }
        (record.envelope, body.into())
    }

    /// Compaction moves every second message, those of units of work too.
    pub(super) fn compact(&mut self) {
        self.moves += 1;
        for (id, live) in &mut self.live {
            if id.counter() % 2 == u64::from(self.moves) % 2 {
                let to = Place { segment: 1_000 + self.moves, ..live.from };
                *live = Moved { from: live.to, to, ..*live };
                assert!(self.qm.moved(live), "an old place is kept somewhere");
            }
        }
    }

    /// Time goes by.
    pub(super) fn pass(&mut self, ms: u64) {
        self.now.wall_ms += ms;
        self.now.instant += Duration::from_millis(ms);
        while self.qm.poll_timeout().is_some_and(|at| at <= self.now.instant) {
            self.turn(QueueManager::handle_timeout);
        }
    }

    /// A call, without waiting for its answer.
    pub(super) fn send(&mut self, conn: ConnId, verb: Verb) -> CallId {
        self.next += 1;
        let call = CallId(self.next);
        self.turn(|qm, now, batch, out| qm.apply(now, conn, call, verb, batch, out));
        call
    }

    pub(super) fn answer(&mut self, call: CallId) -> Answered {
        self.answers.remove(&call).expect("an answer")
    }

    pub(super) fn call(&mut self, conn: ConnId, verb: Verb) -> Answered {
        let call = self.send(conn, verb);
        self.answer(call)
    }

    /// A connection of an administrator.
    pub(super) fn connect(&mut self) -> ConnId {
        self.connect_as(Rights::Admin)
    }

    pub(super) fn connect_as(&mut self, rights: Rights) -> ConnId {
        self.next += 1;
        let conn = ConnId(self.next);
        let connect = Connect {
            q_mgr: QMgrName::BLANK,
            user: Chars::cut("app"),
            appl_name: Chars::cut("test"),
            appl_type: ApplType::UNIX,
            rights,
        };
        let answered = self.call(conn, Verb::Connect(Box::new(connect)));
        assert!(matches!(answered.reply, Reply::Connected(_)), "{answered:?}");
        conn
    }

    pub(super) fn closed(&mut self, conn: ConnId) {
        self.turn(|qm, now, batch, out| qm.closed(now, conn, batch, out));
    }

    /// A command of MQSC.
    pub(super) fn mqsc(&mut self, text: &str) -> Outcome {
        let command = mqsc::read_command(text).unwrap();
        self.turn(|qm, now, batch, out| qm.run(now, &command, batch, out))
    }

    /// Commands that are done, one a line.
    pub(super) fn script(&mut self, lines: &str) {
        for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let outcome = self.mqsc(line);
            assert!(matches!(outcome, Outcome::Done { .. }), "{line}: {outcome:?}");
        }
    }

    pub(super) fn try_open(
        &mut self,
        conn: ConnId,
        (q_mgr, queue): (&str, &str),
        options: OpenOptions,
    ) -> Result<Opened, Reason> {
        self.open_od(conn, od(q_mgr, queue), options)
    }

    pub(super) fn open_od(&mut self, conn: ConnId, od: Mqod, options: OpenOptions) -> Result<Opened, Reason> {
        match self.call(conn, Verb::Open(Box::new(OpenRequest { od, options }))).reply {
            Reply::Opened(opened) => Ok(*opened),
            other => Err(reason(&other)),
        }
    }

    pub(super) fn open(&mut self, conn: ConnId, queue: &str, options: OpenOptions) -> i32 {
        self.try_open(conn, ("", queue), options).unwrap().handle
    }

    /// Open for everything that an application does with a local queue.
    pub(super) fn open_all(&mut self, conn: ConnId, queue: &str) -> i32 {
        let options =
            OpenOptions::INPUT_SHARED | OpenOptions::OUTPUT | OpenOptions::BROWSE | OpenOptions::INQUIRE;
        self.open(conn, queue, options)
    }

    pub(super) fn close(&mut self, conn: ConnId, handle: i32, options: CloseOptions) -> Reason {
        reason(&self.call(conn, Verb::Close { handle, options }).reply)
    }

    pub(super) fn put_md(
        &mut self,
        conn: ConnId,
        handle: i32,
        md: Mqmd,
        options: PutOptions,
        body: &str,
    ) -> Answered {
        let pmo = Mqpmo { options, ..Mqpmo::default() };
        let body = Bytes::copy_from_slice(body.as_bytes());
        self.call(
            conn,
            Verb::Put(Box::new(PutRequest {
                handle,
                md,
                pmo,
                body,
                passed: None,
                properties: Properties::default(),
            })),
        )
    }

    /// A persistent put outside of syncpoint.
    pub(super) fn put(&mut self, conn: ConnId, handle: i32, body: &str) -> Reason {
        reason(&self.put_md(conn, handle, persistent(), PutOptions::empty(), body).reply)
    }

    /// A persistent put in the unit of work.
    pub(super) fn put_sync(&mut self, conn: ConnId, handle: i32, body: &str) -> Reason {
        reason(&self.put_md(conn, handle, persistent(), PutOptions::SYNCPOINT, body).reply)
    }

    /// A put1 to names; with the descriptor as it went back, and the names as they were resolved.
    pub(super) fn put1(
        &mut self,
        conn: ConnId,
        (q_mgr, queue): (&str, &str),
        options: PutOptions,
        md: Mqmd,
    ) -> Result<PutDone, Reason> {
        let pmo = Mqpmo { options, ..Mqpmo::default() };
        let (od, body) = (od(q_mgr, queue), Bytes::from_static(b"data"));
        match self
            .call(
                conn,
                Verb::Put1(Box::new(Put1Request {
                    od,
                    md,
                    pmo,
                    body,
                    passed: None,
                    properties: Properties::default(),
                })),
            )
            .reply
        {
            Reply::Put(put) => Ok(*put),
            other => Err(reason(&other)),
        }
    }

    pub(super) fn get_with(&mut self, conn: ConnId, request: GetRequest) -> Result<Taken, Reason> {
        let call = self.send(conn, Verb::Get(Box::new(request)));
        self.taken(call)
    }

    /// What the answer to a get brings.
    pub(super) fn taken(&mut self, call: CallId) -> Result<Taken, Reason> {
        match self.answer(call).reply {
            Reply::Got(got) => Ok(self.read(*got)),
            other => Err(reason(&other)),
        }
    }

    /// As the side of a connection does it.
    pub(super) fn read(&self, got: Got) -> Taken {
        let (envelope, body) = self.records(got.id, got.place, &got.parts);
        let mut md = Mqmd::decode(&mut Reader::new(&envelope, Coding::NATIVE)).unwrap();
        got.amend(&mut md);
        let extension = vec![b'E'; got.extension_length as usize];
        let body = Bytes::from([&extension, &body[got.skip as usize..]].concat());
        assert_eq!(body.len(), got.body_length as usize);
        Taken { md, body: body.slice(..got.deliver_length as usize), got }
    }

    pub(super) fn get(&mut self, conn: ConnId, handle: i32, options: GetOptions) -> Result<Taken, Reason> {
        self.get_with(conn, request(handle, options, 0))
    }

    /// The body of the next message, outside of syncpoint.
    pub(super) fn next(&mut self, conn: ConnId, handle: i32) -> Result<String, Reason> {
        self.get(conn, handle, GetOptions::NO_SYNCPOINT).map(|taken| text(&taken.body))
    }

    /// All bodies in the order in which they come.
    pub(super) fn drain(&mut self, conn: ConnId, handle: i32) -> Vec<String> {
        std::iter::from_fn(|| self.next(conn, handle).ok()).collect()
    }

    pub(super) fn commit(&mut self, conn: ConnId) -> Answered {
        self.call(conn, Verb::Commit)
    }

    pub(super) fn back(&mut self, conn: ConnId) {
        assert_eq!(reason(&self.call(conn, Verb::Back).reply), Reason::NONE);
    }

    pub(super) fn view(&self, queue: &str) -> QueueView {
        self.qm.queues().find(|view| view.name.to_string() == queue).expect("a queue")
    }

    pub(super) fn depth(&self, queue: &str) -> u64 {
        self.view(queue).depth
    }
}

/// What is handed out is to be read where it lies now.
fn look_at_places(live: &BTreeMap<Id, Moved>, out: &[Effect]) {
    for effect in out {
        if let Effect::Answer { reply: Reply::Got(got), .. } = effect
            && let Some(moved) = live.get(&got.id)
        {
            assert_eq!(got.place, moved.to);
        }
    }
}

/// What dies is named where it lies now.
fn note(live: &mut BTreeMap<Id, Moved>, op: &Op) {
    let kills: &[Kill] = match op {
        Op::Message(stored, message) => {
            let (id, order, place) = (stored.id, stored.order, stored.place);
            let (owner, priority) = (message.owner, message.priority);
            live.insert(id, Moved { id, owner, order, priority, from: place, to: place });
            &[]
        }
        Op::Commit(commit) => &commit.kills,
        Op::BackOut(_, kills) => kills,
        _ => &[],
    };
    for kill in kills {
        let moved = live.remove(&kill.id).expect("nothing dies twice");
        assert_eq!(kill.place, moved.to, "{}", kill.id);
    }
}

/// Shared input and output.
pub(super) const IO: OpenOptions = OpenOptions::INPUT_SHARED.union(OpenOptions::OUTPUT);

pub(super) fn od(q_mgr: &str, queue: &str) -> Mqod {
    let (object_name, object_q_mgr_name) = (ObjectName(Chars::cut(queue)), QMgrName(Chars::cut(q_mgr)));
    Mqod { version: 4, object_name, object_q_mgr_name, ..Mqod::default() }
}

pub(super) fn persistent() -> Mqmd {
    Mqmd { persistence: Persistence::PERSISTENT, ..Mqmd::default() }
}

pub(super) fn id(number: u8) -> [u8; 24] {
    [number; 24]
}

pub(super) fn request(handle: i32, options: GetOptions, wait_interval: i32) -> GetRequest {
    let gmo = Mqgmo { version: 4, options, wait_interval, ..Mqgmo::default() };
    GetRequest::new(handle, gmo, 1 << 20)
}

pub(super) fn reason(reply: &Reply) -> Reason {
    match reply {
        Reply::Plain { reason, .. } => *reason,
        Reply::NotGot(not) => not.reason,
        Reply::Put(put) => put.reason,
        Reply::Got(got) => got.reason,
        Reply::Inquired(inquired) => inquired.reason,
        Reply::Connected(_) | Reply::Opened(_) | Reply::Reserved { .. } | Reply::ReadFirst(_) => Reason::NONE,
    }
}

pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}
