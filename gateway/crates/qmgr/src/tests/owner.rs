//! The gateway's own way: locks, hand-over in one unit, puts in a unit, being told of messages.

use bytes::Bytes;
use mq_wire::*;
use store::{Commit, Id, UnitId};

use super::harness::*;
use crate::*;

const HOLDER: Holder = Holder(1);

fn gate() -> QName {
    QName::new("GATE1").unwrap()
}

fn start(messages: usize) -> Qm {
    let mut qm = Qm::new();
    let conn = qm.connect();
    for number in 0..messages {
        qm.put1(conn, ("GATE1", &format!("Q%DEV{number}")), PutOptions::empty(), Mqmd::default()).unwrap();
    }
    qm
}

fn lock(qm: &mut Qm, messages_max: usize, bytes_max: usize) -> Vec<Id> {
    let locked =
        qm.turn(|qm, now, _, _| qm.lock_next(now, &gate(), HOLDER, messages_max, bytes_max).unwrap());
    locked.iter().map(|locked| locked.id).collect()
}

fn putter(rights: Rights) -> Putter {
    Putter {
        user: Chars::cut("device"),
        appl_name: Chars::cut("DEV1"),
        appl_type: ApplType::USER,
        rights,
        context: PutContext::Default,
    }
}

fn put(queue: &str, q_mgr: &str, body: &str) -> UnitPut {
    UnitPut {
        queue: QName(Chars::cut(queue)),
        q_mgr: QMgrName(Chars::cut(q_mgr)),
        md: persistent(),
        body: Bytes::copy_from_slice(body.as_bytes()),
    }
}

#[test]
fn locks_are_in_order_and_bounded() {
    let mut qm = start(5);
    let first = lock(&mut qm, 2, usize::MAX);
    assert_eq!(first.len(), 2);
    // Each has 428 bytes of header and 4 of data.
    assert_eq!(lock(&mut qm, 10, 2 * 432 + 1).len(), 2);
    assert_eq!(lock(&mut qm, 10, 1).len(), 1, "one comes whatever its length");
    assert!(lock(&mut qm, 10, usize::MAX).is_empty());
    assert_eq!((qm.depth("GATE1"), qm.view("GATE1").uncommitted), (0, 5));
    qm.turn(|qm, now, batch, out| qm.unlock(now, HOLDER, &first, batch, out));
    qm.turn(|qm, now, batch, out| qm.unlock(now, Holder(2), &first, batch, out));
    assert_eq!(lock(&mut qm, 10, usize::MAX), first, "back at their places");
    qm.turn(|qm, now, batch, out| qm.unlock_all(now, HOLDER, batch, out));
    assert_eq!((qm.depth("GATE1"), qm.view("GATE1").uncommitted), (5, 0));
}

/// ONCE.md 4, last row: locks looked at again, new records and the deaths of the old in one unit.
#[test]
fn a_hand_over_is_one_unit() {
    let mut qm = start(3);
    let mut ids = lock(&mut qm, 2, usize::MAX);
    ids.push(Id::new(1, 999));
    let taken = qm.turn(|qm, now, batch, out| {
        let unit = batch.new_unit();
        let mut commit = Commit { unit: Some(unit), ..Commit::default() };
        let taken = qm.take_locked(HOLDER, &ids, &mut commit);
        let again = qm.take_locked(HOLDER, &ids, &mut commit);
        assert_eq!(again, [false, false, false], "a lock is taken once");
        batch.commit(commit);
        qm.unit_is_real(now, unit, batch, out);
        taken
    });
    assert_eq!(taken, [true, true, false]);
    assert_eq!((qm.depth("GATE1"), qm.view("GATE1").uncommitted), (1, 0));
    assert_eq!(qm.restart().depth("GATE1"), 1);
}

#[test]
fn a_unit_that_is_dropped_leaves_the_locks() {
    let mut qm = start(2);
    let ids = lock(&mut qm, 2, usize::MAX);
    qm.turn(|qm, now, batch, _| {
        let unit = batch.new_unit();
        let mut commit = Commit { unit: Some(unit), ..Commit::default() };
        qm.take_locked(HOLDER, &ids, &mut commit);
        let put = put("DEV.QUEUE.1", "", "x");
        qm.put_in_unit(now, &putter(Rights::Admin), put, &mut commit, batch).unwrap();
        qm.unit_dropped(unit, batch);
    });
    assert_eq!((qm.depth("DEV.QUEUE.1"), qm.view("DEV.QUEUE.1").uncommitted), (0, 0));
    qm.turn(|qm, now, batch, out| qm.unlock(now, HOLDER, &ids, batch, out));
    assert_eq!(qm.depth("GATE1"), 2);
    let qm = qm.restart();
    assert_eq!((qm.depth("GATE1"), qm.depth("DEV.QUEUE.1")), (2, 0));
}

#[test]
fn taking_without_a_unit_is_final_at_once() {
    let mut qm = start(1);
    let ids = lock(&mut qm, 1, usize::MAX);
    qm.turn(|qm, _, batch, _| {
        let mut commit = Commit::default();
        qm.take_locked(HOLDER, &ids, &mut commit);
        batch.commit(commit);
    });
    let conn = qm.connect();
    let handle = qm.open_all(conn, "GATE1");
    let call = qm.send(conn, Verb::Get(Box::new(request(handle, GetOptions::empty(), 0))));
    assert!(qm.answer(call).needs.is_some(), "that there is none depends on the taking");
    assert_eq!(qm.restart().depth("GATE1"), 0);
}

#[test]
fn a_put_in_a_unit_can_be_had_when_the_unit_is_real() {
    let mut qm = Qm::new();
    let conn = qm.connect();
    let handle = qm.open_all(conn, "DEV.QUEUE.1");
    let call = qm.send(conn, Verb::Get(Box::new(request(handle, GetOptions::WAIT, -1))));
    let unit_of = |qm: &mut Qm, put: UnitPut| -> (UnitId, Commit, PutOutcome) {
        qm.turn(|qm, now, batch, _| {
            let unit = batch.new_unit();
            let mut commit = Commit { unit: Some(unit), ..Commit::default() };
            let outcome = qm.put_in_unit(now, &putter(Rights::Device), put, &mut commit, batch).unwrap();
            (unit, commit, outcome)
        })
    };
    let (unit, commit, outcome) = unit_of(&mut qm, put("DEV.QUEUE.1", "", "from a device"));
    assert_eq!(
        (outcome.queue.to_string().as_str(), outcome.q_mgr.to_string().as_str()),
        ("DEV.QUEUE.1", "QM1")
    );
    assert!(qm.answers.is_empty());
    qm.turn(|qm, now, batch, out| {
        batch.commit(commit);
        qm.unit_is_real(now, unit, batch, out);
    });
    let taken = qm.taken(call).unwrap();
    assert_eq!(text(&taken.body), "from a device");
    assert_eq!(
        (taken.md.user_identifier.text(), taken.md.put_appl_name.text()),
        ("device".to_owned(), "DEV1".to_owned())
    );
    assert_eq!(taken.md.msg_id, outcome.md.msg_id);
}

#[test]
fn what_a_device_may_not() {
    let mut qm = Qm::new();
    qm.script("DEFINE QALIAS(RAW) TARGET(GATE1)");
    qm.script("DEFINE QALIAS(COMMANDS) TARGET(SYSTEM.ADMIN.COMMAND.QUEUE)");
    qm.turn(|qm, now, batch, _| {
        let mut commit = Commit { unit: Some(batch.new_unit()), ..Commit::default() };
        let mut check = |queue, q_mgr, expected| {
            let outcome =
                qm.put_in_unit(now, &putter(Rights::Device), put(queue, q_mgr, "x"), &mut commit, batch);
            assert_eq!(outcome.map(|_| ()).err(), expected, "{queue} {q_mgr}");
        };
        check("SYSTEM.ADMIN.COMMAND.QUEUE", "", Some(Reason::NOT_AUTHORIZED));
        check("GATE1", "", Some(Reason::NOT_AUTHORIZED));
        check("ANY", "GATE1", None);
        check("RAW", "", Some(Reason::NOT_AUTHORIZED));
        check("COMMANDS", "", Some(Reason::NOT_AUTHORIZED));
        check("SYSTEM.ADMIN.COMMAND.QUEUE", "GATE1", Some(Reason::NOT_AUTHORIZED));
        check("NOT.THERE", "", Some(Reason::UNKNOWN_OBJECT_NAME));
        check("SYSTEM.DEFAULT.MODEL.QUEUE", "", Some(Reason::NOT_AUTHORIZED));
        check("DEV.QUEUE.1", "QM1", None);
    });
}

/// A dead letter keeps the context of its originator, and may be as long as a message with its headers.
#[test]
fn dead_letters() {
    let mut qm = Qm::new();
    let queue = qm.qm.dead_letter_queue().unwrap();
    assert_eq!(queue.to_string(), "DEV.DEAD.LETTER.QUEUE");
    qm.turn(|qm, now, batch, out| {
        let unit = batch.new_unit();
        let mut commit = Commit { unit: Some(unit), ..Commit::default() };
        let who = Putter { context: PutContext::SetAll, ..putter(Rights::Admin) };
        let md = Mqmd { user_identifier: Chars::cut("originator"), ..persistent() };
        let body = Bytes::from(vec![0; 4_194_304 + 428 + 172]);
        let put = UnitPut { queue, q_mgr: QMgrName::BLANK, md, body };
        let outcome = qm.put_in_unit(now, &who, put, &mut commit, batch).unwrap();
        assert_eq!(outcome.md.user_identifier.text(), "originator");
        batch.commit(commit);
        qm.unit_is_real(now, unit, batch, out);
    });
    assert_eq!(qm.depth("DEV.DEAD.LETTER.QUEUE"), 1);
    qm.script("ALTER QMGR DEADQ(NOT.THERE)");
    assert_eq!(qm.qm.dead_letter_queue(), None);
}

#[test]
fn the_owner_hears_of_messages() {
    let mut qm = start(1);
    assert!(qm.arrived.is_empty());
    assert!(qm.turn(|qm, _, _, _| qm.watch(&gate())));
    assert!(!qm.turn(|qm, _, _, _| qm.watch(&QName::new("NOT.THERE").unwrap())));
    let conn = qm.connect();
    assert_eq!(std::mem::take(&mut qm.arrived), ["GATE1"], "what is there already");
    qm.put1(conn, ("GATE1", "Q%D"), PutOptions::empty(), Mqmd::default()).unwrap();
    assert_eq!(std::mem::take(&mut qm.arrived), ["GATE1"]);
    qm.put1(conn, ("GATE1", "Q%D"), PutOptions::SYNCPOINT, Mqmd::default()).unwrap();
    assert!(qm.arrived.is_empty());
    qm.put1(conn, ("GATE1", "Q%D"), PutOptions::SYNCPOINT, Mqmd::default()).unwrap();
    qm.commit(conn);
    assert_eq!(std::mem::take(&mut qm.arrived), ["GATE1"], "once for both");
    let ids = lock(&mut qm, 1, usize::MAX);
    qm.turn(|qm, now, batch, out| qm.unlock(now, HOLDER, &ids, batch, out));
    assert_eq!(std::mem::take(&mut qm.arrived), ["GATE1"]);
}

/// It is the name that is watched: also of a queue that comes later, or goes and comes again.
#[test]
fn the_owner_hears_of_messages_of_whichever_queue_has_the_name() {
    let mut qm = Qm::new();
    let conn = qm.connect();
    let later = QName::new("LATER").unwrap();
    assert!(!qm.turn(|qm, _, _, _| qm.watch(&later)), "there is no such queue yet");
    for _ in 0..2 {
        qm.script("DEFINE QLOCAL(LATER)");
        qm.put1(conn, ("", "LATER"), PutOptions::empty(), Mqmd::default()).unwrap();
        assert_eq!(std::mem::take(&mut qm.arrived), ["LATER"]);
        qm.script("DELETE QLOCAL(LATER) PURGE");
    }
    qm.turn(|qm, _, _, _| qm.unwatch(&later));
    qm.script("DEFINE QLOCAL(LATER)");
    qm.put1(conn, ("", "LATER"), PutOptions::empty(), Mqmd::default()).unwrap();
    assert!(qm.arrived.is_empty());
}

/// A message that nobody could put with MQPUT is dead-lettered all the same, as an MCA does.
#[test]
fn a_dead_letter_may_have_any_descriptor() {
    let strange = [
        (Mqmd { msg_type: MsgType::REQUEST, ..persistent() }, Reason::MISSING_REPLY_TO_Q),
        (Mqmd { report: ReportOptions::COA, ..persistent() }, Reason::MISSING_REPLY_TO_Q),
        (Mqmd { msg_type: MsgType(0), ..persistent() }, Reason::MSG_TYPE_ERROR),
        (Mqmd { msg_type: MsgType(-1), ..persistent() }, Reason::MSG_TYPE_ERROR),
        (Mqmd { feedback: Feedback(-1), ..persistent() }, Reason::FEEDBACK_ERROR),
        (Mqmd { expiry: 0, ..persistent() }, Reason::EXPIRY_ERROR),
        (Mqmd { expiry: -9, ..persistent() }, Reason::EXPIRY_ERROR),
        (Mqmd { priority: -9, ..persistent() }, Reason::PRIORITY_ERROR),
        (Mqmd { persistence: Persistence(9), ..persistent() }, Reason::PERSISTENCE_ERROR),
    ];
    for (md, refusal) in strange {
        let mut qm = Qm::new();
        let queue = qm.qm.dead_letter_queue().unwrap();
        let put = UnitPut { queue, q_mgr: QMgrName::BLANK, md: md.clone(), body: Bytes::from_static(b"x") };
        qm.turn(|qm, now, batch, out| {
            let unit = batch.new_unit();
            let mut commit = Commit { unit: Some(unit), ..Commit::default() };
            let outcome = qm.put_in_unit(now, &putter(Rights::Admin), put.clone(), &mut commit, batch);
            assert_eq!(outcome.unwrap_err(), refusal, "as an application: {md:?}");
            let who = Putter { context: PutContext::SetAll, ..putter(Rights::Admin) };
            qm.put_in_unit(now, &who, put, &mut commit, batch).unwrap();
            batch.commit(commit);
            qm.unit_is_real(now, unit, batch, out);
        });
        qm.pass(1_000);
        let conn = qm.connect();
        let handle = qm.open_all(conn, "DEV.DEAD.LETTER.QUEUE");
        let taken = qm.get(conn, handle, GetOptions::empty()).unwrap();
        assert_eq!((taken.md.msg_type, taken.md.feedback), (md.msg_type, md.feedback));
    }
}

#[test]
fn locks_pass_over_the_expired() {
    let mut qm = Qm::new();
    let conn = qm.connect();
    for expiry in [10, -1] {
        let md = Mqmd { expiry, ..Mqmd::default() };
        qm.put1(conn, ("GATE1", "Q%D"), PutOptions::empty(), md).unwrap();
    }
    qm.now.wall_ms += 1_000;
    assert_eq!(lock(&mut qm, 10, usize::MAX).len(), 1);
    qm.compact();
    qm.compact();
    qm.pass(0);
    assert_eq!(qm.store().recovered().messages.len(), 1, "its death is written soon");
}
