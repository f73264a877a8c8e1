//! Units of work in the face of changes: of the queues that they put to and got from, and of their limits.

use mq_wire::*;
use mqsc::{Outcome, Refusal};

use super::harness::*;
use crate::*;

fn world() -> (Qm, ConnId, i32) {
    let mut qm = Qm::new();
    qm.script("DEFINE QLOCAL(Q)");
    let conn = qm.connect();
    let handle = qm.open_all(conn, "Q");
    (qm, conn, handle)
}

#[test]
fn a_put_is_committed_whatever_the_queue_refuses_by_then() {
    for change in ["PUT(DISABLED)", "GET(DISABLED)", "MAXDEPTH(0)", "MAXMSGL(0)", "NOSHARE", "DEFPSIST(NO)"] {
        let (mut qm, conn, handle) = world();
        qm.put_sync(conn, handle, "a");
        qm.script(&format!("ALTER QLOCAL(Q) {change}"));
        assert_eq!(reason(&qm.commit(conn).reply), Reason::NONE, "{change}");
        assert_eq!((qm.depth("Q"), qm.view("Q").uncommitted), (1, 0), "{change}");
        assert_eq!(qm.restart().depth("Q"), 1, "{change}");
    }
}

#[test]
fn what_is_committed_stands_in_the_order_that_the_queue_has_by_then() {
    let (mut qm, conn, handle) = world();
    for (body, priority) in [("low", 1), ("high", 9)] {
        let md = Mqmd { priority, ..persistent() };
        qm.put_md(conn, handle, md, PutOptions::SYNCPOINT, body);
    }
    qm.script("ALTER QLOCAL(Q) MSGDLVSQ(FIFO)");
    qm.commit(conn);
    assert_eq!(qm.drain(conn, handle), ["low", "high"]);
}

#[test]
fn a_queue_with_work_that_is_not_committed_stays() {
    let (mut qm, conn, handle) = world();
    qm.put(conn, handle, "got");
    qm.get(conn, handle, GetOptions::SYNCPOINT).unwrap();
    qm.put_sync(conn, handle, "put");
    qm.close(conn, handle, CloseOptions::empty());
    for command in ["DELETE QLOCAL(Q)", "DELETE QLOCAL(Q) PURGE"] {
        let refused = qm.mqsc(command);
        assert!(matches!(refused, Outcome::Failed(Refusal::InUse { .. })), "{command}: {refused:?}");
    }
    let name = QName::new("Q").unwrap();
    assert!(qm.turn(|qm, now, batch, out| qm.clear(now, &name, batch, out)).is_err());
    assert_eq!(reason(&qm.commit(conn).reply), Reason::NONE);
    assert_eq!(qm.depth("Q"), 1);
    qm.turn(|qm, now, batch, out| qm.clear(now, &name, batch, out)).unwrap();
    qm.script("DELETE QLOCAL(Q)");
}

#[test]
fn a_permanent_dynamic_queue_with_such_work_stays_too() {
    let mut qm = Qm::new();
    qm.script("DEFINE QMODEL(M) DEFTYPE(PERMDYN) SHARE DEFSOPT(SHARED)");
    let conn = qm.connect();
    let dynamic = Mqod { dynamic_q_name: ObjectName(Chars::cut("D")), ..od("", "M") };
    let handle = qm.open_od(conn, dynamic, IO).unwrap().handle;
    qm.put_sync(conn, handle, "a");
    for options in [CloseOptions::DELETE, CloseOptions::DELETE_PURGE] {
        assert_eq!(qm.close(conn, handle, options), Reason::Q_NOT_EMPTY, "{options:?}");
    }
    qm.commit(conn);
    assert_eq!(qm.close(conn, handle, CloseOptions::DELETE), Reason::Q_NOT_EMPTY);
    assert_eq!(qm.close(conn, handle, CloseOptions::DELETE_PURGE), Reason::NONE);
}

#[test]
fn an_alias_that_leads_elsewhere_by_then_changes_nothing() {
    let (mut qm, conn, _) = world();
    qm.script("DEFINE QLOCAL(OTHER)");
    qm.script("DEFINE QALIAS(A) TARGET(Q)");
    let alias = qm.open(conn, "A", OpenOptions::OUTPUT);
    qm.put_sync(conn, alias, "a");
    qm.script("ALTER QALIAS(A) TARGET(OTHER) FORCE");
    assert_eq!(qm.put_sync(conn, alias, "b"), Reason::OBJECT_CHANGED);
    qm.commit(conn);
    assert_eq!((qm.depth("Q"), qm.depth("OTHER")), (1, 0));
    qm.put1(conn, ("", "A"), PutOptions::SYNCPOINT, persistent()).unwrap();
    qm.close(conn, alias, CloseOptions::empty());
    qm.script("DELETE QALIAS(A)");
    qm.commit(conn);
    assert_eq!(qm.depth("OTHER"), 1);
}

#[test]
fn several_connections_have_units_of_their_own() {
    let (mut qm, one, first) = world();
    let two = qm.connect();
    let second = qm.open_all(two, "Q");
    qm.put_sync(one, first, "one");
    qm.put_sync(two, second, "two");
    qm.back(one);
    assert_eq!(qm.next(one, first), Err(Reason::NO_MSG_AVAILABLE));
    qm.commit(two);
    qm.get(one, first, GetOptions::SYNCPOINT).unwrap();
    assert_eq!(qm.next(two, second), Err(Reason::NO_MSG_AVAILABLE));
    qm.closed(one);
    assert_eq!(qm.next(two, second).unwrap(), "two");
}

/// Whoever has lost the connection before the answer to MQCMIT came finds all of it or nothing.
#[test]
fn a_commit_whose_answer_is_lost_is_done_or_not() {
    let (mut qm, conn, handle) = world();
    qm.put_sync(conn, handle, "a");
    qm.put_sync(conn, handle, "b");
    let call = qm.send(conn, Verb::Commit);
    qm.closed(conn);
    assert!(qm.answer(call).needs.is_some(), "it is told when it is on disk");
    assert_eq!(qm.depth("Q"), 2, "what was committed is not backed out with the connection");
    assert_eq!(qm.restart().depth("Q"), 2);
}

#[test]
fn a_long_unit_of_work() {
    let (mut qm, conn, handle) = world();
    qm.script("ALTER QLOCAL(Q) MAXDEPTH(20000)");
    for _ in 0..10_000 {
        assert_eq!(qm.put_sync(conn, handle, "x"), Reason::NONE);
    }
    assert_eq!(qm.put_sync(conn, handle, "x"), Reason::SYNCPOINT_LIMIT_REACHED);
    // A limit that is lowered meanwhile ends nothing that has begun.
    qm.script("ALTER QMGR MAXUMSGS(5)");
    assert_eq!(reason(&qm.commit(conn).reply), Reason::NONE);
    assert_eq!(qm.depth("Q"), 10_000);
    for _ in 0..5 {
        qm.get(conn, handle, GetOptions::SYNCPOINT).unwrap();
    }
    let refused = qm.get(conn, handle, GetOptions::SYNCPOINT).unwrap_err();
    assert_eq!(refused, Reason::SYNCPOINT_LIMIT_REACHED);
    assert_eq!(qm.put_sync(conn, handle, "x"), Reason::SYNCPOINT_LIMIT_REACHED, "gets count too");
    qm.back(conn);
    assert_eq!(qm.restart().depth("Q"), 10_000);
}

#[test]
fn a_store_without_room_lets_what_was_begun_end() {
    let (mut qm, conn, handle) = world();
    qm.put_sync(conn, handle, "a");
    qm.qm.set_room(store::Room::Short);
    assert_eq!(qm.put_sync(conn, handle, "b"), Reason::STORAGE_MEDIUM_FULL);
    assert_eq!(reason(&qm.commit(conn).reply), Reason::NONE);
    assert_eq!(qm.restart().depth("Q"), 1);
}
