//! The journal fails under a core that serves: whatever was acknowledged is there, once, and the service goes on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use store::{Room, StoreError};
use tokio::task::JoinHandle;

use super::*;
use crate::core::faulty::{Disk, Faulty};
use crate::core::handle::CoreHandle;
use crate::core::lanes::{Lane, Stopped};

/// A core that serves, on a store that fails.
pub(super) struct Live {
    pub(super) root: CoreHandle,
    pub(super) disk: Arc<Disk>,
    serving: Arc<AtomicBool>,
    core: JoinHandle<anyhow::Result<Core>>,
}

impl Live {
    pub(super) async fn new() -> Self {
        let (announcer, durable) = Announcer::new();
        let (store, recovered, disk) = Faulty::new(Arc::clone(&announcer));
        tokio::spawn(Arc::clone(&disk).run());
        let wiring = wiring(announcer);
        let serving = Arc::clone(&wiring.serving);
        let (core, _) = Core::start(Box::new(store), recovered, durable, wiring).await.unwrap();
        let root = core.handle();
        Self { root, disk, serving, core: tokio::spawn(core.serve()) }
    }

    async fn status(&self) -> crate::report::StatusReport {
        self.root.inquire(|answer| Command::Status { answer }).await.unwrap()
    }

    pub(super) async fn end(self) -> Core {
        self.root.newest().await.unwrap().send(Lane::Control, Command::Stop).await.unwrap();
        self.core.await.unwrap().unwrap()
    }

    /// Why the core ended.
    async fn failed(self) -> String {
        format!("{:#}", self.core.await.unwrap().unwrap_err())
    }
}

/// An MQ application's connection.
pub(super) struct App {
    core: CoreHandle,
    answers: mpsc::UnboundedReceiver<ToMq>,
    calls: u64,
}

/// The connection was dropped, or what it waited for will not be.
#[derive(Debug, PartialEq)]
pub(super) struct Gone;

impl From<Stopped> for Gone {
    fn from(_: Stopped) -> Self {
        Self
    }
}

impl App {
    pub(super) async fn connect(root: &CoreHandle) -> Result<Self, Gone> {
        let core = root.newest().await?;
        let (out, answers) = mpsc::unbounded_channel();
        core.send(Lane::Control, Command::MqOpened { conn: core.conn(), out }).await?;
        let mut app = Self { core, answers, calls: 0 };
        app.call(connect()).await?;
        Ok(app)
    }

    async fn send(&mut self, verb: Verb) -> Result<(), Gone> {
        self.calls += 1;
        let command = Command::Mq { conn: self.core.conn(), call: CallId(self.calls), verb };
        Ok(self.core.send(Lane::Intake, command).await?)
    }

    async fn answer(&mut self) -> Result<Reply, Gone> {
        let answer = tokio::select! {
            biased;
            () = self.core.ended() => return Err(Gone),
            answer = self.answers.recv() => answer.ok_or(Gone)?,
        };
        self.core.durable(answer.needs).await.map_err(|_| Gone)?;
        Ok(match answer.reply {
            MqReply::Plain(reply) => reply,
            MqReply::Got(got, _) => Reply::Got(got),
        })
    }

    pub(super) async fn call(&mut self, verb: Verb) -> Result<Reply, Gone> {
        self.send(verb).await?;
        self.answer().await
    }

    async fn get(&mut self, queue: &str, handle: Option<i32>) -> Result<(Option<store::Id>, i32), Gone> {
        let handle = match handle {
            Some(handle) => handle,
            None => {
                let od = Mqod { object_name: ObjectName(Chars::cut(queue)), ..Mqod::default() };
                let open = qmgr::OpenRequest { od, options: OpenOptions::INPUT_SHARED };
                match self.call(Verb::Open(Box::new(open))).await? {
                    Reply::Opened(opened) => opened.handle,
                    reply => panic!("{reply:?}"),
                }
            }
        };
        let gmo = Mqgmo { options: GetOptions::SYNCPOINT, ..Mqgmo::default() };
        let (msg_id, correl_id) = Default::default();
        let get = qmgr::GetRequest { msg_id, correl_id, ..qmgr::GetRequest::new(handle, gmo, 10_000) };
        match self.call(Verb::Get(Box::new(get))).await? {
            Reply::Got(got) => Ok((Some(got.id), handle)),
            _ => Ok((None, handle)),
        }
    }
}

/// A persistent put whose body is that number.
fn put(queue: &str, number: u64, options: PutOptions) -> Verb {
    let od = Mqod { object_name: ObjectName(Chars::cut(queue)), ..Mqod::default() };
    let pmo = Mqpmo { options, ..Mqpmo::default() };
    let md = Mqmd { persistence: mq_wire::Persistence::PERSISTENT, ..Mqmd::default() };
    let body = Bytes::copy_from_slice(&number.to_be_bytes());
    Verb::Put1(Box::new(qmgr::Put1Request {
        od,
        md,
        pmo,
        body,
        passed: None,
        properties: qmgr::Properties::default(),
    }))
}

/// What an application was told of each of its messages.
#[derive(Default)]
struct Told {
    tried: u64,
    put: BTreeSet<u64>,
    /// By body: how often its get was committed, and whether a commit of it was not answered.
    got: BTreeMap<u64, (u32, bool)>,
}

/// Puts messages, alone and in units of two, then gets them all, each in a unit of work; goes on from where it stood
/// whenever its connection is dropped.
async fn application(root: &CoreHandle, disk: &Disk) -> Told {
    let mut told = Told::default();
    let mut next = 0;
    while next < 4 {
        let Ok(mut app) = App::connect(root).await else { continue };
        while next < 4 {
            let (first, second) = (told.tried, told.tried + 1);
            told.tried += 2;
            let puts = async {
                if next % 2 == 0 {
                    app.call(put("DEV.QUEUE.1", first, PutOptions::NO_SYNCPOINT)).await?;
                    return Ok::<_, Gone>(vec![first]);
                }
                app.call(put("DEV.QUEUE.1", first, PutOptions::SYNCPOINT)).await?;
                app.call(put("DEV.QUEUE.1", second, PutOptions::SYNCPOINT)).await?;
                app.call(Verb::Commit).await?;
                Ok(vec![first, second])
            };
            let Ok(put) = puts.await else { break };
            told.put.extend(put);
            next += 1;
        }
    }
    let mut empty = false;
    while !empty {
        let Ok(mut app) = App::connect(root).await else { continue };
        let mut handle = None;
        while let Ok((found, opened)) = app.get("DEV.QUEUE.1", handle).await {
            handle = Some(opened);
            let Some(id) = found else {
                empty = true;
                break;
            };
            let body = disk.body_of(id).expect("only what is on disk can be got");
            let number = u64::from_be_bytes(body[..].try_into().unwrap());
            let count = told.got.entry(number).or_default();
            match app.call(Verb::Commit).await {
                Ok(_) => count.0 += 1,
                Err(Gone) => {
                    count.1 = true;
                    break;
                }
            }
        }
    }
    told
}

#[tokio::test]
async fn an_application_loses_nothing_and_gets_nothing_twice_wherever_the_journal_fails() {
    let live = Live::new().await;
    let begun = live.disk.batches();
    application(&live.root, &live.disk).await;
    let total = live.disk.batches();
    live.end().await;
    assert!(total > begun + 8, "{begun} {total}");
    for fail_at in begun + 1..=total {
        let live = Live::new().await;
        live.disk.fail_at([fail_at]);
        let told = application(&live.root, &live.disk).await;
        for number in 0..told.tried {
            let (got, unknown) = told.got.get(&number).copied().unwrap_or_default();
            assert!(got <= 1, "{number} came {got} times, failure at {fail_at}");
            if told.put.contains(&number) {
                assert!(got == 1 || unknown, "{number} is lost, failure at {fail_at}");
            }
        }
        assert_eq!(live.disk.messages(), [], "failure at {fail_at}");
        let store = live.status().await.store;
        assert_eq!(store.recoveries, 1, "failure at {fail_at}");
        assert!(store.recovered.is_some_and(|why| why.contains("input/output error")));
        live.end().await;
    }
}

#[tokio::test]
async fn what_a_dropped_connection_left_is_not_applied_after_the_recovery() {
    let live = Live::new().await;
    let mut app = App::connect(&live.root).await.unwrap();
    let old = live.root.newest().await.unwrap();
    live.disk.hold(true);
    live.disk.fail_next();
    // One is being written, the next one waits for it.
    app.send(put("DEV.QUEUE.1", 1, PutOptions::NO_SYNCPOINT)).await.unwrap();
    app.send(put("DEV.QUEUE.1", 2, PutOptions::NO_SYNCPOINT)).await.unwrap();
    live.status().await;
    live.disk.hold(false);
    assert_eq!(app.answer().await.map(drop), Err(Gone));
    // Until here nothing else ran: this is in the lanes when they end, or finds them closed.
    let left = app.send(put("DEV.QUEUE.1", 3, PutOptions::NO_SYNCPOINT)).await;
    let newest = live.root.newest().await.unwrap();
    assert!(left.is_err() || newest.conn() > old.conn());
    assert_eq!(old.ask(Lane::Control, |answer| Command::Status { answer }).await.map(drop), Err(Stopped));
    assert!(live.status().await.queues.is_empty());
    assert_eq!(live.disk.messages(), []);
    let mut again = App::connect(&live.root).await.unwrap();
    again.call(put("DEV.QUEUE.1", 4, PutOptions::NO_SYNCPOINT)).await.unwrap();
    assert_eq!(live.disk.messages().len(), 1);
    live.end().await;
}

#[tokio::test]
async fn what_is_not_persistent_waits_for_no_disk() {
    let live = Live::new().await;
    let mut app = App::connect(&live.root).await.unwrap();
    let (_, handle) = app.get("DEV.QUEUE.1", None).await.unwrap();
    live.disk.hold(true);
    let mut persistent = App::connect(&live.root).await.unwrap();
    persistent.send(put("DEV.QUEUE.2", 1, PutOptions::NO_SYNCPOINT)).await.unwrap();
    for number in 2..5 {
        let Verb::Put1(mut put) = put("DEV.QUEUE.1", number, PutOptions::NO_SYNCPOINT) else {
            panic!("a put is a put")
        };
        put.md.persistence = mq_wire::Persistence::NOT_PERSISTENT;
        app.call(Verb::Put1(put)).await.unwrap();
        let gmo = Mqgmo { options: GetOptions::NO_SYNCPOINT, ..Mqgmo::default() };
        app.send(Verb::Get(Box::new(qmgr::GetRequest::new(handle, gmo, 10)))).await.unwrap();
        let answer = app.answers.recv().await.unwrap();
        let MqReply::Got(_, records) = answer.reply else { panic!("{answer:?}") };
        // Its body is to be had although it is in no batch that the store has.
        assert_eq!((answer.needs, records.first.is_cached()), (None, true));
        assert_eq!(records.first.read().unwrap().body[..], number.to_be_bytes());
    }
    assert_eq!(live.disk.messages(), [], "the other one waits");
    live.disk.hold(false);
    persistent.answer().await.unwrap();
    assert!(live.disk.messages().iter().any(|message| message.persistent));
    live.end().await;
}

#[tokio::test]
async fn a_waiting_get_ends_with_its_generation() {
    let live = Live::new().await;
    let mut app = App::connect(&live.root).await.unwrap();
    let (_, handle) = app.get("DEV.QUEUE.1", None).await.unwrap();
    let gmo =
        Mqgmo { options: GetOptions::NO_SYNCPOINT | GetOptions::WAIT, wait_interval: -1, ..Mqgmo::default() };
    let (msg_id, correl_id) = Default::default();
    let get = qmgr::GetRequest { msg_id, correl_id, ..qmgr::GetRequest::new(handle, gmo, 10) };
    app.send(Verb::Get(Box::new(get))).await.unwrap();
    let mut other = App::connect(&live.root).await.unwrap();
    live.disk.fail_next();
    let put = put("DEV.QUEUE.2", 1, PutOptions::NO_SYNCPOINT);
    let (waited, put) = tokio::join!(app.answer(), other.call(put));
    assert!(waited.is_err() && put.is_err());
    live.end().await;
}

#[tokio::test]
async fn only_a_process_that_serves_recovers() {
    let live = Live::new().await;
    let mut app = App::connect(&live.root).await.unwrap();
    live.serving.store(false, Ordering::Release);
    live.disk.fail_next();
    assert!(app.call(put("DEV.QUEUE.1", 1, PutOptions::NO_SYNCPOINT)).await.is_err());
    let why = live.failed().await;
    assert!(why.starts_with("the journal cannot be written, nothing that was not on disk"), "{why}");

    let live = Live::new().await;
    let directory = "mqe-data".to_owned();
    live.disk.fail_with(StoreError::Replaced { directory });
    let why = live.failed().await;
    assert!(why.contains("the data directory mqe-data was removed or replaced"), "{why}");

    let live = Live::new().await;
    live.disk.fail_recovery();
    live.disk.fail_with(StoreError::Stopped);
    let root = live.root.connection();
    let why = live.failed().await;
    assert!(why.contains("nor can the store recover") && why.contains("input/output error"), "{why}");
    assert!(root.newest().await.is_err(), "nobody waits for a core that is gone");
}

#[tokio::test]
async fn room_is_told_to_all_and_comes_back_by_itself() {
    let live = Live::new().await;
    let mut app = App::connect(&live.root).await.unwrap();
    let reason = |reply: Reply| match reply {
        Reply::Put(done) => done.reason,
        Reply::Plain { reason, .. } => reason,
        reply => panic!("{reply:?}"),
    };
    live.disk.set_room(Room::Short);
    let report = live.status().await;
    assert_eq!(app.core.room(), Room::Short);
    assert!(report.problems.iter().any(|problem| problem.contains("the disk is full")), "{report:?}");
    let refused = app.call(put("DEV.QUEUE.1", 1, PutOptions::NO_SYNCPOINT)).await.unwrap();
    assert_eq!(reason(refused), Reason::MEDIUM_FULL);
    live.disk.set_room(Room::Enough);
    app.core.enough_room().await.unwrap();
    let taken = app.call(put("DEV.QUEUE.1", 1, PutOptions::NO_SYNCPOINT)).await.unwrap();
    assert_eq!(reason(taken), Reason::NONE);
    assert_eq!(live.status().await.problems, Vec::<String>::new());
    live.end().await;
}

#[tokio::test]
async fn what_compaction_moves_is_told_to_its_owner() {
    let live = Live::new().await;
    let mut app = App::connect(&live.root).await.unwrap();
    app.call(put("DEV.QUEUE.1", 1, PutOptions::NO_SYNCPOINT)).await.unwrap();
    let message = live.disk.messages()[0];
    let to = store::Place { segment: 9, offset: 4096, record: 0 };
    let moved = store::Moved {
        id: message.id,
        owner: message.owner,
        order: message.order,
        priority: message.priority,
        from: message.place,
        to,
    };
    live.disk.move_message(moved);
    live.status().await;
    let disk = Arc::clone(&live.disk);
    let core = live.end().await;
    let queue = core.queue_manager.queues().find(|view| view.depth == 1).map(|view| view.name.to_string());
    assert_eq!((queue.as_deref(), disk.let_go()), (Some("DEV.QUEUE.1"), vec![true]));
}
