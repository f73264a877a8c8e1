//! No room in the store: intake is refused, draining goes on.

use mq_wire::*;
use mqsc::{Outcome, Refusal};
use store::{Commit, Room};

use super::harness::*;
use crate::*;

fn refusal(outcome: &Outcome) -> Reason {
    match outcome {
        Outcome::Failed(Refusal::Reason { reason, .. }) => *reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn puts_are_refused_and_what_drains_goes_on() {
    let mut qm = Qm::new();
    qm.script("DEFINE QLOCAL(Q)");
    let (conn, other) = (qm.connect(), qm.connect());
    let (handle, second) = (qm.open_all(conn, "Q"), qm.open_all(other, "Q"));
    for body in ["a", "b", "c"] {
        assert_eq!(qm.put(conn, handle, body), Reason::NONE);
    }
    assert_eq!(qm.put_sync(conn, handle, "before"), Reason::NONE);
    assert_eq!(qm.put_sync(other, second, "never"), Reason::NONE);
    qm.qm.set_room(Room::Short);
    assert_eq!(qm.put(conn, handle, "x"), Reason::STORAGE_MEDIUM_FULL);
    let answered = qm.put_md(conn, handle, Mqmd::default(), PutOptions::SYNCPOINT, "x");
    let failed = Reply::Plain { cc: CompCode::FAILED, reason: Reason::STORAGE_MEDIUM_FULL };
    assert_eq!(format!("{:?}", answered.reply), format!("{failed:?}"), "non-persistent ones too");
    let put1 = qm.put1(conn, ("GATE1", "ANY"), PutOptions::empty(), Mqmd::default());
    assert_eq!(put1.map(|_| ()), Err(Reason::STORAGE_MEDIUM_FULL));
    let long = Mqmd { msg_type: MsgType(0), ..persistent() };
    let wrong = qm.put_md(conn, handle, long, PutOptions::empty(), "x");
    assert_eq!(reason(&wrong.reply), Reason::MSG_TYPE_ERROR, "what is wrong in any case is told first");

    assert_eq!(text(&qm.get(conn, handle, GetOptions::BROWSE_FIRST).unwrap().body), "a");
    assert_eq!(text(&qm.get(other, second, GetOptions::SYNCPOINT).unwrap().body), "a");
    qm.back(other);
    assert_eq!(text(&qm.get(conn, handle, GetOptions::SYNCPOINT).unwrap().body), "a");
    assert_eq!(reason(&qm.commit(conn).reply), Reason::NONE, "of puts made before too");
    assert_eq!(qm.drain(conn, handle), ["b", "c", "before"]);
    assert_eq!(qm.close(conn, handle, CloseOptions::empty()), Reason::NONE);

    qm.qm.set_room(Room::Enough);
    assert_eq!(qm.put(other, second, "again"), Reason::NONE);
    assert_eq!(qm.restart().depth("Q"), 1);
}

#[test]
fn definitions_are_refused_and_deletions_are_not() {
    let mut qm = Qm::new();
    qm.script("DEFINE QLOCAL(Q)\nDEFINE QLOCAL(R)\nDEFINE CHANNEL(C) CHLTYPE(SVRCONN)");
    let conn = qm.connect();
    let handle = qm.open(conn, "Q", OpenOptions::SET | OpenOptions::INQUIRE);
    let model =
        Mqod { dynamic_q_name: ObjectName(Chars::cut("D.*")), ..od("", "SYSTEM.DEFAULT.MODEL.QUEUE") };
    qm.qm.set_room(Room::Short);
    for command in [
        "DEFINE QLOCAL(NEW)",
        "DEFINE QLOCAL(R) REPLACE",
        "DEFINE CHANNEL(D) CHLTYPE(SVRCONN)",
        "ALTER QLOCAL(R) MAXDEPTH(3)",
        "ALTER CHANNEL(C) CHLTYPE(SVRCONN) HBINT(3)",
        "ALTER QMGR DESCR('x')",
    ] {
        let outcome = qm.mqsc(command);
        assert_eq!(refusal(&outcome), Reason::STORAGE_NOT_AVAILABLE, "{command}");
    }
    let inhibit = SetRequest {
        handle,
        selectors: vec![Selector::IA_INHIBIT_PUT.0],
        integers: vec![1],
        characters: bytes::Bytes::new(),
    };
    let set = qm.call(conn, Verb::Set(Box::new(inhibit)));
    assert_eq!(reason(&set.reply), Reason::STORAGE_NOT_AVAILABLE);
    assert_eq!(qm.open_od(conn, model.clone(), IO).map(|_| ()), Err(Reason::STORAGE_NOT_AVAILABLE));
    qm.script("DELETE QLOCAL(R)\nDELETE CHANNEL(C)");
    assert!(matches!(qm.mqsc("DISPLAY QLOCAL(Q)"), Outcome::Displayed(_)));
    qm.qm.set_room(Room::Enough);
    qm.open_od(conn, model, IO).unwrap();
    qm.script("DEFINE QLOCAL(R)");
}

/// Dead letters, hand-overs and what devices put.
#[test]
fn the_owner_is_refused_too() {
    let mut qm = Qm::new();
    qm.qm.set_room(Room::Short);
    qm.turn(|qm, now, batch, _| {
        let unit = batch.new_unit();
        let mut commit = Commit { unit: Some(unit), ..Commit::default() };
        let who = Putter {
            user: Chars::BLANK,
            appl_name: Chars::BLANK,
            appl_type: ApplType::USER,
            rights: Rights::Admin,
            context: PutContext::SetAll,
        };
        let queue = qm.dead_letter_queue().unwrap();
        let put = UnitPut { queue, q_mgr: QMgrName::BLANK, md: persistent(), body: bytes::Bytes::new() };
        let outcome = qm.put_in_unit(now, &who, put, &mut commit, batch);
        assert_eq!(outcome.map(|_| ()), Err(Reason::STORAGE_MEDIUM_FULL));
        qm.unit_dropped(unit, batch);
        assert!(batch.is_empty());
    });
}
