//! The core without a runtime: commands in, state and effects out. What only one of the machines does is tested there;
//! here is what must be one step over several.

mod cold;
mod outbox;
pub(crate) mod read_first;
mod recovery;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use bytes::Bytes;
use mq_wire::{
    ApplName, ApplType, Chars, Coding, CompCode, GetOptions, Mqdlh, Mqgmo, Mqmd, Mqod, Mqpmo, MsgType,
    QMgrName,
};
use mq_wire::{ObjectName, OpenOptions, PutOptions, QName, Reader, Reason, ReportOptions, UserId};
use mqe::area::{Area, AreaSettings, Onboarding};
use mqe::outbox::{Outbox, TargetSettings};
use mqe::{DeviceName, StoreIdentity};
use mqe_exits::{Direction, ExitMessage, Origin};
use qmgr::{CallId, ConnId, Holder, QueueManager, Reply, Rights, Settings, Verb};
use store::mem::MemStore;
use store::{Batch, Op, Record, Recovered};
use tokio::sync::{mpsc, oneshot};

use super::bodies::Bodies;
use super::command::{
    Command, Delivery, HandOver, HandedOver, LockedBody, MqReply, Refused, RefusedBy, TakenKey, ToMq,
};
use super::durable::Announcer;
use super::outbox::OutboxBell;
use super::recovery::{Machinery, Machines, Made};
use super::turn::{Core, Turn, Wiring};
use crate::clock::Moment;
use crate::service::Identity;
use crate::source::{self, Addressing, BatchLimits};

const APPLICATION: ConnId = ConnId(1);
const HOLDER: Holder = Holder(1);

fn name(text: &str) -> QMgrName {
    QMgrName::new(text).unwrap()
}

/// A queue manager with the developer defaults, and an area that takes devices named `DEV...`.
#[derive(Debug, Clone, Copy)]
struct TestMachinery {
    area: fn(&mut AreaSettings),
}

const PLAIN: TestMachinery = TestMachinery { area: |_| {} };

impl Machinery for TestMachinery {
    fn machines(&self, recovered: &Recovered, now: Moment, batch: &mut Batch) -> anyhow::Result<Machines> {
        let identity = Identity::recover(recovered, name("QM1"), now, batch)?;
        let settings = Settings::new(name("QM1"), identity.qmgr_id, name("GATE1"));
        let qmgr_now = qmgr::Now { wall_ms: now.wall_ms, instant: now.instant };
        let queue_manager = QueueManager::new(settings, recovered, qmgr_now, batch)?;
        let mut settings = AreaSettings {
            onboarding: Onboarding { patterns: vec!["DEV*".to_owned()], devices_max: 10 },
            device_messages_max: 3,
            ..AreaSettings::new(name("GATE1"), StoreIdentity(identity.store))
        };
        (self.area)(&mut settings);
        let mqe_now = mqe::Now { wall_ms: now.wall_ms, instant: now.instant };
        let area = Area::new(settings, recovered, mqe_now, batch)?;
        let target = TargetSettings { name: "hq".to_owned(), messages_max: 100, bytes_max: 1 << 20 };
        let outbox = Outbox::new(&[target], recovered, batch)?;
        Ok(Machines { queue_manager, area, outbox, identity })
    }
}

fn wiring(announcer: Arc<Announcer>) -> Wiring {
    Wiring {
        announcer,
        arrived: Arc::default(),
        bodies: Bodies::new(1 << 20),
        names: Arc::from([name("GATE1")]),
        outboxes: [("hq".to_owned(), Arc::new(OutboxBell { put_wait: true, ..OutboxBell::default() }))]
            .into(),
        device_puts: None,
        serving: Arc::new(AtomicBool::new(true)),
        machinery: Arc::new(PLAIN),
    }
}

fn connect() -> Verb {
    Verb::Connect(Box::new(qmgr::Connect {
        q_mgr: QMgrName::BLANK,
        user: UserId::cut("app"),
        appl_name: ApplName::cut("test"),
        appl_type: ApplType::UNIX,
        rights: Rights::Admin,
    }))
}

/// A core on a store in memory, and an application that is connected to it.
struct Harness {
    core: Core,
    answers: mpsc::UnboundedReceiver<ToMq>,
    calls: u64,
}

impl Harness {
    fn new() -> Self {
        let (announcer, durable) = Announcer::new();
        let (store, recovered) = MemStore::new(Some(Arc::<Announcer>::clone(&announcer)));
        let wiring = wiring(announcer);
        let made = Made::of(Box::new(store), recovered, &PLAIN).unwrap();
        let core = Core::new(made, durable, wiring);
        let (out, answers) = mpsc::unbounded_channel();
        let mut harness = Self { core, answers, calls: 0 };
        harness.turn(Command::MqOpened { conn: APPLICATION, out });
        let connected = harness.call(connect());
        assert!(matches!(connected, Reply::Connected(_)), "{connected:?}");
        harness
    }

    /// One turn with one command; what it wrote into the journal.
    fn turn(&mut self, command: Command) -> Vec<Op> {
        let mut turn: Turn = self.core.begin();
        self.core.look_at_room();
        self.core.apply(command, &mut turn);
        let ops = turn.batch.ops().to_vec();
        self.core.submit(turn);
        ops
    }

    fn call(&mut self, verb: Verb) -> Reply {
        self.calls += 1;
        self.turn(Command::Mq { conn: APPLICATION, call: CallId(self.calls), verb });
        match self.answers.try_recv().expect("the store is in memory: every call is answered at once").reply {
            MqReply::Plain(reply) => reply,
            MqReply::Got(got, _) => Reply::Got(got),
        }
    }

    /// Puts a text to a queue at a queue manager.
    fn put(&mut self, queue: &str, q_mgr: &str, text: &str) {
        self.put_md(queue, q_mgr, Mqmd::default(), text);
    }

    fn put_md(&mut self, queue: &str, q_mgr: &str, md: Mqmd, text: &str) {
        let od = Mqod {
            object_name: ObjectName(Chars::cut(queue)),
            object_q_mgr_name: QMgrName(Chars::cut(q_mgr)),
            ..Mqod::default()
        };
        let pmo = Mqpmo { options: PutOptions::NO_SYNCPOINT, ..Mqpmo::default() };
        let body = Bytes::copy_from_slice(text.as_bytes());
        let put =
            qmgr::Put1Request { od, md, pmo, body, passed: None, properties: qmgr::Properties::default() };
        let reply = self.call(Verb::Put1(Box::new(put)));
        assert!(matches!(&reply, Reply::Put(done) if done.cc == CompCode::OK), "{reply:?}");
    }

    /// Gets a message's record from a queue.
    fn get(&mut self, queue: &str) -> Option<Record> {
        let od = Mqod { object_name: ObjectName(Chars::cut(queue)), ..Mqod::default() };
        let open = qmgr::OpenRequest { od, options: OpenOptions::INPUT_SHARED };
        let Reply::Opened(opened) = self.call(Verb::Open(Box::new(open))) else {
            panic!("{queue} does not open")
        };
        let gmo = Mqgmo { options: GetOptions::NO_SYNCPOINT, ..Mqgmo::default() };
        let (msg_id, correl_id) = Default::default();
        let get = qmgr::GetRequest { msg_id, correl_id, ..qmgr::GetRequest::new(opened.handle, gmo, 10_000) };
        match self.call(Verb::Get(Box::new(get))) {
            Reply::Got(got) => Some(self.core.store().body(got.id, got.place).read().unwrap()),
            _ => None,
        }
    }

    fn depth(&self, queue: &str) -> u64 {
        let name = QName::new(queue).unwrap();
        self.core.queue_manager.queues().find(|view| view.name == name).map_or(0, |view| view.depth)
    }

    fn waiting(&self, device: &str) -> usize {
        self.core.area.device(&DeviceName::new(device).unwrap()).map_or(0, |view| view.waiting)
    }

    fn lock(&mut self) -> Vec<LockedBody> {
        let (answer, mut answered) = oneshot::channel();
        let limits = BatchLimits { messages_max: 100, bytes_max: 1 << 20 };
        let queue = QName::new("GATE1").unwrap();
        self.turn(Command::Lock { queue, holder: HOLDER, limits, answer });
        answered.try_recv().unwrap().unwrap()
    }

    /// What the source makes of locked messages, with the destination rewritten as the shipped exit does.
    fn deliveries(locked: &[LockedBody]) -> Vec<HandOver> {
        let deliver = |locked: &LockedBody| {
            let record = locked.body.read().unwrap();
            let md = Mqmd::decode(&mut Reader::new(&record.envelope, Coding::NATIVE)).unwrap();
            let original = ExitMessage::new(Origin::new("GATE1", Direction::FromMq), md, record.body);
            let mut passed = original.clone();
            let mut xqh = passed.xqh_mut().unwrap();
            let address = xqh.remote_q_name.to_string();
            if let Some((queue, device)) = address.split_once('%') {
                xqh.remote_q_name = QName::new(queue).unwrap();
                xqh.remote_q_mgr_name = QMgrName::new(device).unwrap();
            }
            drop(xqh);
            let addressing =
                Addressing { q_mgr: name("QM1"), names: Arc::from([name("GATE1")]), refuses_segments: false };
            let delivery = source::delivery(passed, &addressing, &original, locked.expiry_ms);
            let key = TakenKey(locked.body.id().as_u64());
            HandOver { key, original, file: None, delivery }
        };
        locked.iter().map(deliver).collect()
    }

    #[track_caller]
    fn hand_over(&mut self, deliveries: Vec<HandOver>) -> (HandedOver, Vec<Op>) {
        let (answer, mut answered) = oneshot::channel();
        let ops = self.turn(Command::HandOver { holder: HOLDER, deliveries, answer });
        (answered.try_recv().unwrap(), ops)
    }

    /// The same; what is refused by its destination goes to the dead-letter queue, as the shipped rules want it in the
    /// end. What then is left was refused there.
    #[track_caller]
    fn hand_over_by_rule(&mut self, deliveries: Vec<HandOver>) -> HandedOver {
        let (mut done, _) = self.hand_over(deliveries);
        loop {
            let by_destination = |refused: &&Refused| refused.by == RefusedBy::Destination;
            let reasons: HashMap<TakenKey, Reason> = done
                .refused
                .iter()
                .filter(by_destination)
                .map(|refused| (refused.key, refused.reason))
                .collect();
            if reasons.is_empty() {
                return done;
            }
            let mut again = std::mem::take(&mut done.left);
            for handed in &mut again {
                if let Some(reason) = reasons.get(&handed.key) {
                    handed.delivery = Delivery::DeadLetter(*reason);
                }
            }
            let (next, _) = self.hand_over(again);
            let (moved, dead_lettered) = (done.moved + next.moved, done.dead_lettered + next.dead_lettered);
            done = HandedOver { moved, dead_lettered, ..next };
        }
    }
}

/// The header of a dead letter.
fn dead_letter(record: &Record) -> Mqdlh {
    Mqdlh::decode(&mut Reader::new(&record.body, Coding::NATIVE)).unwrap()
}

#[test]
fn a_hand_over_is_one_unit_with_one_commit_record() {
    let mut harness = Harness::new();
    harness.put("ORDERS%DEV1", "GATE1", "one");
    harness.put("ORDERS%DEV2", "GATE1", "two");
    assert_eq!(harness.depth("GATE1"), 2);
    let locked = harness.lock();
    let (handed_over, ops) = harness.hand_over(Harness::deliveries(&locked));
    assert_eq!((handed_over.moved, handed_over.dead_lettered, handed_over.left.len()), (2, 0, 0));
    let ahead =
        ops.iter().filter(|op| matches!(op, Op::Message(_, message) if message.unit.is_some())).count();
    let commits: Vec<_> = ops
        .iter()
        .filter_map(|op| if let Op::Commit(commit) = op { commit.unit.map(|_| commit) } else { None })
        .collect();
    assert_eq!((ahead, commits.len()), (2, 1), "{ops:?}");
    assert_eq!(commits[0].kills.len(), 2, "the old ones die with it");
    assert_eq!((harness.depth("GATE1"), harness.waiting("DEV1"), harness.waiting("DEV2")), (0, 1, 1));
}

#[test]
fn local_second_look_else_one_message_has_two_entries() {
    let mut harness = Harness::new();
    harness.put("ORDERS%DEV1", "GATE1", "one");
    let locked = harness.lock();
    // The lock is given back while the exits are at work; somebody else takes the message.
    harness.turn(Command::Unlock { holder: HOLDER });
    assert!(harness.get("GATE1").is_some());
    let (handed_over, ops) = harness.hand_over(Harness::deliveries(&locked));
    assert_eq!((handed_over.moved, ops.len()), (0, 0), "{ops:?}");
    assert_eq!(harness.waiting("DEV1"), 0);
}

#[test]
fn the_same_hand_over_twice_moves_a_message_once() {
    let mut harness = Harness::new();
    harness.put("ORDERS%DEV1", "GATE1", "one");
    let locked = harness.lock();
    assert_eq!(harness.hand_over(Harness::deliveries(&locked)).0.moved, 1);
    assert_eq!(harness.hand_over(Harness::deliveries(&locked)).0.moved, 0);
    assert_eq!(harness.waiting("DEV1"), 1);
}

#[test]
fn what_no_device_takes_is_a_dead_letter_with_the_names_as_put() {
    let mut harness = Harness::new();
    harness.put("ORDERS%STRANGER", "GATE1", "for nobody");
    harness.put("ORDERS%DEV1", "GATE1", "for somebody");
    harness.put("NOSEPARATOR", "GATE1", "for the gateway itself");
    let locked = harness.lock();
    let handed_over = harness.hand_over_by_rule(Harness::deliveries(&locked));
    assert_eq!((handed_over.moved, handed_over.dead_lettered), (1, 2));
    let first = harness.get("DEV.DEAD.LETTER.QUEUE").unwrap();
    let header = dead_letter(&first);
    assert_eq!(header.dest_q_name, QName(Chars::cut("ORDERS%STRANGER")));
    assert_eq!(header.dest_q_mgr_name.to_string(), "GATE1");
    assert_eq!(header.reason, Reason::UNKNOWN_REMOTE_Q_MGR);
    assert_eq!(&first.body[Mqdlh::length(1)..], b"for nobody");
    let second = harness.get("DEV.DEAD.LETTER.QUEUE").unwrap();
    assert_eq!(dead_letter(&second).dest_q_name.to_string(), "NOSEPARATOR");
    assert_eq!(harness.waiting("DEV1"), 1);
}

#[test]
fn an_exception_is_reported_and_the_message_is_discarded_if_that_is_wanted() {
    let mut harness = Harness::new();
    let reply_to_q = QName::new("DEV.QUEUE.1").unwrap();
    let asking = |report| Mqmd { report, reply_to_q, ..Mqmd::default() };
    let exception = ReportOptions::EXCEPTION_WITH_FULL_DATA;
    harness.put_md("ORDERS%STRANGER", "GATE1", asking(exception), "for nobody");
    harness.put_md("ORDERS%STRANGER", "GATE1", asking(exception | ReportOptions::DISCARD_MSG), "for the bin");
    let locked = harness.lock();
    harness.hand_over_by_rule(Harness::deliveries(&locked));
    assert_eq!((harness.depth("GATE1"), harness.depth("DEV.DEAD.LETTER.QUEUE")), (0, 1));
    for expected in ["for nobody", "for the bin"] {
        let report = harness.get("DEV.QUEUE.1").unwrap();
        let md = Mqmd::decode(&mut Reader::new(&report.envelope, Coding::NATIVE)).unwrap();
        assert_eq!((md.feedback.0, md.msg_type), (Reason::UNKNOWN_REMOTE_Q_MGR.0, MsgType::REPORT));
        assert_eq!(&report.body[..], expected.as_bytes());
    }
    assert!(harness.get("DEV.QUEUE.1").is_none());
}

/// Reports of the gateway: when a message is stored for its device, and when it expires there (mqe.md 9.4, 2).
#[test]
fn arrival_and_expiry_at_a_device_are_reported_to_the_sender() {
    let mut harness = Harness::new();
    let reply_to_q = QName::new("DEV.QUEUE.1").unwrap();
    let report = ReportOptions::COA | ReportOptions::EXPIRATION_WITH_FULL_DATA;
    harness.put_md(
        "ORDERS%DEV1",
        "GATE1",
        Mqmd { report, reply_to_q, expiry: 1, ..Mqmd::default() },
        "short",
    );
    let locked = harness.lock();
    assert_eq!(harness.hand_over(Harness::deliveries(&locked)).0.moved, 1);
    let feedback =
        |record: &Record| Mqmd::decode(&mut Reader::new(&record.envelope, Coding::NATIVE)).unwrap().feedback;
    assert_eq!(feedback(&harness.get("DEV.QUEUE.1").unwrap()), mq_wire::Feedback::COA);
    // Time passes: the area ends it, and owes the report.
    let mut turn = harness.core.begin();
    turn.now.wall_ms += 60_000;
    turn.now.instant += std::time::Duration::from_secs(60);
    let (now, later) = (turn.mqe_now(), turn.now);
    for _ in 0..2 {
        harness.core.area.handle_timeout(now, &mut turn.batch, &mut turn.area);
    }
    let owes = turn.area.pop().unwrap();
    harness.core.submit(turn);
    let mqe::area::AreaEffect::Owes { id, place, device, owed } = owes else { panic!("{owes:?}") };
    let record = harness.core.store().body(id, place).read();
    let mut turn = harness.core.begin();
    turn.now = later;
    harness.core.pay(super::owed::OwedRecord::new(id, device, owed, record), &mut turn);
    harness.core.submit(turn);
    let report = harness.get("DEV.QUEUE.1").unwrap();
    assert_eq!((feedback(&report), &report.body[..]), (mq_wire::Feedback::EXPIRATION, &b"short"[..]));
    assert_eq!((harness.core.area.owed(), harness.core.area.bytes()), (0, 0));
}

#[test]
fn a_reply_token_leads_to_the_queue_of_its_device() {
    let mut harness = Harness::new();
    let (device, queue) = (DeviceName::new("DEV1").unwrap(), QName::new("ANSWERS").unwrap());
    let token = super::tokens::reply_token(&device, &queue);
    let mut commit = store::Commit::default();
    assert_eq!(harness.core.tokens.add(token, device, queue, &mut commit), Ok(true));
    harness.put(&token.to_string(), "GATE1", "the answer");
    harness.put("DEV.QUEUE.1", "GATE1", "for the gateway itself");
    harness.put("NOWHERE", "GATE1", "for nobody");
    let locked = harness.lock();
    let (handed_over, _) = harness.hand_over(Harness::deliveries(&locked));
    assert_eq!((handed_over.moved, handed_over.refused.len()), (2, 1));
    assert_eq!(handed_over.refused[0].reason, Reason::UNKNOWN_OBJECT_NAME);
    assert_eq!(harness.waiting("DEV1"), 1);
    assert_eq!(&harness.get("DEV.QUEUE.1").unwrap().body[..], b"for the gateway itself");
}

/// A queue of the gateway that leads back to it would make a message circle for ever.
#[test]
fn a_queue_of_the_gateway_never_leads_out_again() {
    let mut harness = Harness::new();
    let (answer, _answered) = oneshot::channel();
    let command = mqsc::read_command("DEFINE QREMOTE(LOOP) RNAME(LOOP) RQMNAME(GATE1)").unwrap();
    harness.turn(Command::Mqsc { command: Box::new(command), answer });
    harness.put("LOOP", "GATE1", "round and round");
    let locked = harness.lock();
    let (handed_over, _) = harness.hand_over(Harness::deliveries(&locked));
    assert_eq!((handed_over.moved, handed_over.refused[0].reason), (0, Reason::UNKNOWN_OBJECT_NAME));
}

#[test]
fn a_full_device_does_not_block_the_others() {
    let mut harness = Harness::new();
    for number in 0..5 {
        harness.put("ORDERS%DEV1", "GATE1", &format!("{number}"));
    }
    harness.put("ORDERS%DEV2", "GATE1", "behind them");
    let locked = harness.lock();
    let handed_over = harness.hand_over_by_rule(Harness::deliveries(&locked));
    assert_eq!((handed_over.moved, handed_over.dead_lettered), (4, 2));
    assert_eq!((harness.waiting("DEV1"), harness.waiting("DEV2")), (3, 1));
    assert_eq!(dead_letter(&harness.get("DEV.DEAD.LETTER.QUEUE").unwrap()).reason, Reason::Q_FULL);
}

#[test]
fn without_a_dead_letter_queue_the_message_stays_and_the_others_go() {
    let mut harness = Harness::new();
    let (answer, mut answered) = oneshot::channel();
    let command = mqsc::read_command("ALTER QMGR DEADQ(' ')").unwrap();
    harness.turn(Command::Mqsc { command: Box::new(command), answer });
    let outcome = answered.try_recv().unwrap().outcome;
    assert!(matches!(outcome, mqsc::Outcome::Done { .. }), "{outcome:?}");
    harness.put("ORDERS%STRANGER", "GATE1", "for nobody");
    harness.put("ORDERS%DEV1", "GATE1", "for somebody");
    let locked = harness.lock();
    let handed_over = harness.hand_over_by_rule(Harness::deliveries(&locked));
    assert_eq!(handed_over.moved, 1);
    assert_eq!(handed_over.refused[0].reason, Reason::UNKNOWN_OBJECT_NAME);
    assert_eq!((handed_over.left.len(), harness.waiting("DEV1")), (1, 1));
    assert_eq!(harness.lock().len(), 0, "it stays locked, out of the way of others");
    harness.turn(Command::Unlock { holder: HOLDER });
    assert_eq!(harness.lock().len(), 1, "and can be tried again");
}

#[test]
fn what_is_for_a_device_stays_behind_what_it_refused() {
    let mut harness = Harness::new();
    for number in 0..5 {
        harness.put("ORDERS%DEV1", "GATE1", &format!("{number}"));
    }
    harness.put("ORDERS%DEV2", "GATE1", "another");
    let locked = harness.lock();
    // Three fit. The fourth is refused, and the fifth must not pass it.
    let (handed_over, _) = harness.hand_over(Harness::deliveries(&locked));
    assert_eq!((handed_over.moved, handed_over.refused.len(), handed_over.left.len()), (4, 1, 2));
    let refused = &handed_over.refused[0];
    assert_eq!((refused.reason, refused.by), (Reason::Q_FULL, RefusedBy::Destination));
    assert_eq!(refused.key, handed_over.left[0].key);
    // It goes elsewhere: then the fifth is decided.
    let mut left = handed_over.left;
    left[0].delivery = Delivery::DeadLetter(Reason::Q_FULL);
    let (handed_over, _) = harness.hand_over(left);
    assert_eq!((handed_over.dead_lettered, handed_over.refused.len(), handed_over.left.len()), (1, 1, 1));
}

#[test]
fn status_tells_what_is_damaged_and_what_the_dead_letter_queue_refuses() {
    let mut harness = Harness::new();
    let problems = |harness: &mut Harness| {
        let (answer, mut answered) = oneshot::channel();
        harness.turn(Command::Status { answer });
        answered.try_recv().unwrap().problems
    };
    assert_eq!(problems(&mut harness), Vec::<String>::new());
    for _ in 0..2 {
        let what = "message 1-7 for a device: 00000001.seg is damaged".to_owned();
        harness.turn(Command::Damaged { id: store::Id::new(1, 7), what });
    }
    assert_eq!(problems(&mut harness), ["damaged: message 1-7 for a device: 00000001.seg is damaged"]);
    let (answer, _answered) = oneshot::channel();
    let command = mqsc::read_command("ALTER QLOCAL(DEV.DEAD.LETTER.QUEUE) PUT(DISABLED)").unwrap();
    harness.turn(Command::Mqsc { command: Box::new(command), answer });
    harness.put("ORDERS%STRANGER", "GATE1", "for nobody");
    let locked = harness.lock();
    let handed_over = harness.hand_over_by_rule(Harness::deliveries(&locked));
    let refused = &handed_over.refused[0];
    assert_eq!((refused.reason, refused.by), (Reason::PUT_INHIBITED, RefusedBy::DeadLetterQueue));
    let found = problems(&mut harness);
    assert!(found.iter().any(|problem| problem.contains("2051")), "{found:?}");
}

#[test]
fn a_display_over_many_queues_is_made_in_steps() {
    let mut harness = Harness::new();
    let run = |harness: &mut Harness, text: &str| {
        let (answer, answered) = oneshot::channel();
        let command = Box::new(mqsc::read_command(text).unwrap());
        harness.turn(Command::Mqsc { command, answer });
        answered
    };
    for number in 0..2_500 {
        run(&mut harness, &format!("DEFINE QLOCAL(MANY.{number:05})"));
    }
    let mut many = run(&mut harness, "DISPLAY QLOCAL(MANY*) CURDEPTH");
    let mut none = run(&mut harness, "DISPLAY QLOCAL(NONE*)");
    assert!(many.try_recv().is_err());
    // What comes meanwhile is not held up.
    harness.put("MANY.00001", "", "text");
    (0..2).for_each(|_| harness.core.walk());
    match many.try_recv().unwrap().outcome {
        mqsc::Outcome::Displayed(objects) => assert_eq!(objects.len(), 2_500),
        outcome => panic!("{outcome:?}"),
    }
    harness.core.walk();
    let outcome = none.try_recv().unwrap().outcome;
    assert!(matches!(outcome, mqsc::Outcome::Failed(mqsc::Refusal::NoneFound { .. })), "{outcome:?}");
}

#[test]
fn a_report_over_many_devices_is_made_in_steps() {
    let mut harness = Harness::new();
    let mut turn = harness.core.begin();
    for number in 0..2_500 {
        let device = DeviceName::new(&format!("LIST{number:05}")).unwrap();
        harness.core.area.add_device(device, &mut turn.batch).unwrap();
    }
    harness.core.submit(turn);
    let (answer, mut status) = oneshot::channel();
    harness.turn(Command::Status { answer });
    let (answer, mut devices) = oneshot::channel();
    harness.turn(Command::Devices { answer });
    assert!(status.try_recv().is_err());
    harness.core.walk();
    harness.core.walk();
    assert_eq!(status.try_recv().unwrap().area.devices, 2_500);
    (0..3).for_each(|_| harness.core.walk());
    let names: Vec<String> = devices.try_recv().unwrap().into_iter().map(|device| device.name).collect();
    assert_eq!((names.len(), names[2_499].as_str()), (2_500, "LIST02499"));
}
