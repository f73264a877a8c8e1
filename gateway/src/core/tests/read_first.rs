//! Records that are read before the core goes on: how much of them is in memory at once.

use std::time::Duration;

use mq_wire::{FormatName, MessageFlags, Persistence, ReportOptions};
use qmgr::Reply;

use super::*;
use crate::core::bodies::Records;
use crate::core::handle::CoreHandle;
use crate::core::lanes::Lanes;
use crate::core::read_first::ReadRecord;

const BODY_BYTES: usize = 400 * 1024;
/// Of [`wiring`].
const BUDGET_BYTES: usize = 1 << 20;

impl Harness {
    fn put_long(&mut self, md: Mqmd, options: PutOptions, body: Bytes) {
        let od = Mqod { object_name: ObjectName(Chars::cut("DEV.QUEUE.1")), ..Mqod::default() };
        let pmo = Mqpmo { options, ..Mqpmo::default() };
        let (passed, properties) = Default::default();
        let put = qmgr::Put1Request { od, md, pmo, body, passed, properties };
        let reply = self.call(Verb::Put1(Box::new(put)));
        assert!(matches!(&reply, Reply::Put(done) if done.cc == CompCode::OK), "{reply:?}");
    }

    fn open(&mut self, queue: &str) -> i32 {
        let od = Mqod { object_name: ObjectName(Chars::cut(queue)), ..Mqod::default() };
        let options = OpenOptions::INPUT_SHARED | OpenOptions::OUTPUT | OpenOptions::BROWSE;
        match self.call(Verb::Open(Box::new(qmgr::OpenRequest { od, options }))) {
            Reply::Opened(opened) => opened.handle,
            other => panic!("{other:?}"),
        }
    }

    fn send_get(&mut self, handle: i32, options: GetOptions, buffer_length: u32) {
        let gmo = Mqgmo { version: 2, options, ..Mqgmo::default() };
        let get = qmgr::GetRequest::new(handle, gmo, buffer_length);
        self.calls += 1;
        self.turn(Command::Mq {
            conn: APPLICATION,
            call: CallId(self.calls),
            verb: Verb::Get(Box::new(get)),
        });
    }

    fn got(&mut self) -> (Box<qmgr::Got>, Records) {
        match self.answers.try_recv().expect("it is answered").reply {
            MqReply::Got(got, records) => (got, records),
            MqReply::Plain(other) => panic!("{other:?}"),
        }
    }

    /// So much later.
    fn pass(&mut self, time: Duration) {
        let mut turn = self.core.begin();
        turn.now.instant += time;
        turn.now.wall_ms += time.as_millis() as u64;
        self.core.queue_manager.handle_timeout(turn.qmgr_now(), &mut turn.batch, &mut turn.mq);
        self.core.submit(turn);
    }
}

/// What has come back to the core.
async fn read_back(lanes: &mut Lanes<Command>) -> Vec<Command> {
    let mut commands = Vec::new();
    assert!(lanes.ready().await);
    while lanes.round(|command| commands.push(command)) > 0 {}
    commands
}

fn bytes_of(command: &Command) -> usize {
    match command {
        Command::ExpiredRead { read: ReadRecord { record: Some((_, body)), share: Some(_) }, .. } => {
            body.len()
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn many_long_messages_expire_at_once_under_the_budget() {
    const MESSAGES: usize = 20;
    let mut harness = Harness::new();
    let mut lanes = harness.core.lanes.take().unwrap();
    let md = Mqmd {
        expiry: 10,
        report: ReportOptions::EXPIRATION,
        reply_to_q: QName::new("DEV.QUEUE.2").unwrap(),
        ..Mqmd::default()
    };
    for _ in 0..MESSAGES {
        harness.put_long(md.clone(), PutOptions::NO_SYNCPOINT, Bytes::from(vec![b'x'; BODY_BYTES]));
    }
    harness.pass(Duration::from_secs(60));
    let mut reported = 0;
    while reported < MESSAGES {
        // As many come as have room, however long the core takes no notice of them.
        let mut held = read_back(&mut lanes).await;
        for _ in 0..100 {
            tokio::task::yield_now().await;
            while lanes.round(|command| held.push(command)) > 0 {}
        }
        let bytes: usize = held.iter().map(bytes_of).sum();
        assert!(bytes <= BUDGET_BYTES, "{bytes} bytes are under way");
        reported += held.len();
        for command in held {
            harness.turn(command);
        }
    }
    assert_eq!((harness.depth("DEV.QUEUE.1"), harness.depth("DEV.QUEUE.2")), (0, MESSAGES as u64));
    assert!(harness.core.wiring.bodies.try_share(BUDGET_BYTES).is_some(), "all of it was given back");
}

#[tokio::test]
async fn gets_wait_for_their_records_in_a_line() {
    const MESSAGES: usize = 40;
    let mut harness = Harness::new();
    let mut lanes = harness.core.lanes.take().unwrap();
    let md = Mqmd {
        report: ReportOptions::COD,
        reply_to_q: QName::new("DEV.QUEUE.2").unwrap(),
        ..Mqmd::default()
    };
    for _ in 0..MESSAGES {
        harness.put_long(md.clone(), PutOptions::NO_SYNCPOINT, Bytes::from_static(b"x"));
    }
    let handle = harness.open("DEV.QUEUE.1");
    for _ in 0..MESSAGES {
        harness.send_get(handle, GetOptions::NO_SYNCPOINT, 10);
    }
    let mut answered = 0;
    while answered < MESSAGES {
        let back = read_back(&mut lanes).await;
        assert!(back.len() <= 16, "{} at once", back.len());
        for command in back {
            harness.turn(command);
            harness.got();
            answered += 1;
        }
    }
    assert_eq!(harness.depth("DEV.QUEUE.2"), MESSAGES as u64);
}

#[tokio::test]
async fn a_get_of_an_application_that_is_gone_is_not_read() {
    let mut harness = Harness::new();
    let mut lanes = harness.core.lanes.take().unwrap();
    let md = Mqmd {
        report: ReportOptions::COD,
        reply_to_q: QName::new("DEV.QUEUE.2").unwrap(),
        ..Mqmd::default()
    };
    for _ in 0..20 {
        harness.put_long(md.clone(), PutOptions::NO_SYNCPOINT, Bytes::from_static(b"x"));
    }
    let handle = harness.open("DEV.QUEUE.1");
    for _ in 0..20 {
        harness.send_get(handle, GetOptions::NO_SYNCPOINT, 10);
    }
    harness.turn(Command::MqClosed { conn: APPLICATION });
    let mut back = 0;
    while back < 16 {
        for command in read_back(&mut lanes).await {
            back += 1;
            harness.turn(command);
        }
    }
    tokio::task::yield_now().await;
    assert_eq!(lanes.round(|command| panic!("{command:?}")), 0);
    assert_eq!((harness.depth("DEV.QUEUE.1"), harness.depth("DEV.QUEUE.2")), (20, 0));
}

#[test]
fn what_cannot_be_read_does_not_die_with_the_unit_of_work() {
    let mut harness = Harness::new();
    let md = Mqmd { persistence: Persistence::PERSISTENT, ..Mqmd::default() };
    for _ in 0..2 {
        harness.put_long(md.clone(), PutOptions::NO_SYNCPOINT, Bytes::from_static(b"x"));
    }
    let handle = harness.open("DEV.QUEUE.1");
    harness.send_get(handle, GetOptions::SYNCPOINT, 10);
    let bad = harness.got().0;
    harness.send_get(handle, GetOptions::SYNCPOINT, 10);
    let good = harness.got().0;
    harness.turn(Command::MqUnreadable { conn: APPLICATION, ids: vec![bad.id] });
    assert!(matches!(harness.call(Verb::Commit), Reply::Plain { cc: CompCode::OK, .. }));
    assert_eq!(harness.depth("DEV.QUEUE.1"), 1);
    harness.send_get(handle, GetOptions::NO_SYNCPOINT, 10);
    let again = harness.got().0;
    assert_eq!((again.id, again.backout_count), (bad.id, 0));
    assert_ne!(again.id, good.id);
    // Outside of a unit it is dead: nothing comes back.
    harness.turn(Command::MqUnreadable { conn: APPLICATION, ids: vec![bad.id] });
    assert_eq!(harness.depth("DEV.QUEUE.1"), 0);
}

/// [`got_of`] the segments `one`, `two!` and `three`.
pub(crate) fn got_in_segments(
    options: GetOptions,
    room: u32,
) -> (CoreHandle, qmgr::GetRequest, Box<qmgr::Got>, Records) {
    got_of(&["one", "two!", "three"], options, room)
}

/// A get of a whole message, browsed or taken, of text that was put in these segments; and the core.
pub(crate) fn got_of(
    parts: &[&str],
    options: GetOptions,
    room: u32,
) -> (CoreHandle, qmgr::GetRequest, Box<qmgr::Got>, Records) {
    let mut harness = Harness::new();
    let handle = harness.open("DEV.QUEUE.1");
    for (n, part) in parts.iter().enumerate() {
        let is_last = n + 1 == parts.len();
        let msg_flags = if is_last { MessageFlags::LAST_SEGMENT } else { MessageFlags::SEGMENT };
        let md = Mqmd { version: 2, msg_flags, format: FormatName::STRING, ..Mqmd::default() };
        let options = PutOptions::NO_SYNCPOINT | PutOptions::LOGICAL_ORDER;
        let pmo = Mqpmo { version: 2, options, ..Mqpmo::default() };
        let (passed, properties) = Default::default();
        let body = Bytes::copy_from_slice(part.as_bytes());
        let put = qmgr::PutRequest { handle, md, pmo, body, passed, properties };
        let reply = harness.call(Verb::Put(Box::new(put)));
        assert!(matches!(&reply, Reply::Put(_)), "{reply:?}");
    }
    let options = options | GetOptions::COMPLETE_MSG | GetOptions::ACCEPT_TRUNCATED_MSG;
    harness.send_get(handle, options, room);
    let gmo = Mqgmo { version: 2, options, ..Mqgmo::default() };
    let (got, records) = harness.got();
    (harness.core.handle(), qmgr::GetRequest::new(handle, gmo, room), got, records)
}

#[tokio::test]
async fn of_a_message_in_segments_as_many_are_read_as_fit() {
    for (room, text) in [(0, "one"), (3, "one"), (4, "onetwo!"), (8, "onetwo!three"), (99, "onetwo!three")] {
        let (_, _, got, records) = got_in_segments(GetOptions::BROWSE_FIRST, room);
        let needed = got.deliver_length as usize;
        assert_eq!((got.body_length, needed), (12, 12.min(room as usize)));
        assert_eq!(records.bytes_up_to(needed, 12), text.len(), "what its share is for");
        assert_eq!(records.read_up_to(needed).await.unwrap().body, text);
    }
}
