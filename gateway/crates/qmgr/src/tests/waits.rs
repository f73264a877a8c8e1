//! Gets that wait.

use mq_wire::*;

use super::harness::*;
use crate::*;

fn start(queues: &[&str]) -> (Qm, ConnId) {
    let mut qm = Qm::new();
    for queue in queues {
        qm.script(&format!("DEFINE QLOCAL({queue})"));
    }
    let conn = qm.connect();
    (qm, conn)
}

fn wait(qm: &mut Qm, conn: ConnId, handle: i32, options: GetOptions, ms: i32) -> CallId {
    qm.send(conn, Verb::Get(Box::new(request(handle, options | GetOptions::WAIT, ms))))
}

#[test]
fn a_wait_ends_with_a_message_or_with_its_time() {
    let (mut qm, conn) = start(&["Q"]);
    let handle = qm.open_all(conn, "Q");
    let first = wait(&mut qm, conn, handle, GetOptions::empty(), 1_000);
    assert!(qm.answers.is_empty());
    qm.put(conn, handle, "x");
    assert_eq!(text(&qm.taken(first).unwrap().body), "x");
    let second = wait(&mut qm, conn, handle, GetOptions::empty(), 1_000);
    qm.pass(999);
    assert!(qm.answers.is_empty());
    qm.pass(1);
    assert_eq!(qm.taken(second).unwrap_err(), Reason::NO_MSG_AVAILABLE);
    let unlimited = wait(&mut qm, conn, handle, GetOptions::empty(), -1);
    qm.pass(1_000_000);
    assert!(qm.answers.is_empty());
    qm.put(conn, handle, "y");
    assert_eq!(text(&qm.taken(unlimited).unwrap().body), "y");
    assert_eq!(qm.view("Q").waiting, 0);
}

#[test]
fn those_who_wait_are_served_in_turn() {
    let (mut qm, conn) = start(&["Q"]);
    let handle = qm.open_all(conn, "Q");
    let calls: Vec<_> = (0..5).map(|_| wait(&mut qm, conn, handle, GetOptions::empty(), -1)).collect();
    for (number, call) in calls.into_iter().enumerate() {
        qm.put(conn, handle, &number.to_string());
        assert_eq!(text(&qm.taken(call).unwrap().body), number.to_string());
    }
}

/// A unit of work comes as a whole: who waits gets what stands first in it, not what was put first.
#[test]
fn a_unit_is_given_in_the_order_of_the_queue() {
    let (mut qm, conn) = start(&["Q"]);
    let handle = qm.open_all(conn, "Q");
    let other = qm.connect();
    let its = qm.open_all(other, "Q");
    let calls: Vec<_> = (0..2).map(|_| wait(&mut qm, other, its, GetOptions::SYNCPOINT, -1)).collect();
    for (priority, body) in [(1, "low"), (1, "second"), (5, "high")] {
        let md = Mqmd { priority, ..persistent() };
        qm.put_md(conn, handle, md, PutOptions::SYNCPOINT, body);
    }
    qm.commit(conn);
    let given: Vec<_> = calls.into_iter().map(|call| text(&qm.taken(call).unwrap().body)).collect();
    assert_eq!(given, ["high", "low"]);
    // So does a back-out.
    let third = qm.connect();
    let handle = qm.open_all(third, "Q");
    let again = wait(&mut qm, third, handle, GetOptions::empty(), 0);
    assert_eq!(text(&qm.taken(again).unwrap().body), "second");
    let calls: Vec<_> = (0..2).map(|_| wait(&mut qm, third, handle, GetOptions::empty(), -1)).collect();
    qm.back(other);
    let given: Vec<_> = calls.into_iter().map(|call| text(&qm.taken(call).unwrap().body)).collect();
    assert_eq!(given, ["high", "low"]);
}

#[test]
fn only_who_is_meant_is_woken() {
    let (mut qm, conn) = start(&["Q"]);
    let handle = qm.open_all(conn, "Q");
    let mut calls = Vec::new();
    for number in 1..=200_u8 {
        let mut wanted = request(handle, GetOptions::WAIT, -1);
        wanted.correl_id = CorrelId(id(number));
        calls.push((number, qm.send(conn, Verb::Get(Box::new(wanted)))));
    }
    let any = wait(&mut qm, conn, handle, GetOptions::empty(), -1);
    for (number, call) in calls.into_iter().rev() {
        let md = Mqmd { correl_id: CorrelId(id(number)), ..Mqmd::default() };
        qm.put_md(conn, handle, md, PutOptions::empty(), &number.to_string());
        assert_eq!(text(&qm.taken(call).unwrap().body), number.to_string());
        assert!(qm.answers.is_empty());
    }
    qm.put(conn, handle, "any");
    assert_eq!(text(&qm.taken(any).unwrap().body), "any");
}

#[test]
fn who_has_too_small_a_buffer_is_told_and_the_next_is_served() {
    let (mut qm, conn) = start(&["Q"]);
    let handle = qm.open_all(conn, "Q");
    let mut small = request(handle, GetOptions::WAIT, -1);
    small.buffer_length = 2;
    let first = qm.send(conn, Verb::Get(Box::new(small)));
    let second = wait(&mut qm, conn, handle, GetOptions::empty(), -1);
    qm.put(conn, handle, "long");
    assert_eq!(qm.taken(first).unwrap().got.reason, Reason::TRUNCATED_MSG_FAILED);
    assert_eq!(text(&qm.taken(second).unwrap().body), "long");
}

#[test]
fn a_committed_and_a_backed_out_message_wake_too() {
    let (mut qm, conn) = start(&["Q"]);
    let handle = qm.open_all(conn, "Q");
    let other = qm.connect();
    let its = qm.open_all(other, "Q");
    let call = wait(&mut qm, other, its, GetOptions::SYNCPOINT, -1);
    qm.put_sync(conn, handle, "x");
    assert!(qm.answers.is_empty());
    qm.commit(conn);
    assert_eq!(text(&qm.taken(call).unwrap().body), "x");
    // The one who waited goes away with it: the next gets it, with its count.
    let next = wait(&mut qm, conn, handle, GetOptions::empty(), -1);
    qm.closed(other);
    let taken = qm.taken(next).unwrap();
    assert_eq!((text(&taken.body).as_str(), taken.got.backout_count), ("x", 1));
    assert!(qm.store().recovered().keyed.iter().all(|(key, _)| !key.starts_with(b"qb")), "its count is gone");
}

#[test]
fn what_ends_a_wait() {
    let check = |command: &str, expected| {
        let (mut qm, conn) = start(&["Q"]);
        qm.script("DEFINE QALIAS(A) TARGET(Q)");
        let handle = qm.open_all(conn, "A");
        let call = wait(&mut qm, conn, handle, GetOptions::empty(), -1);
        qm.script(command);
        assert_eq!(qm.taken(call).unwrap_err(), expected, "{command}");
        assert_eq!(qm.view("Q").waiting, 0);
    };
    check("ALTER QLOCAL(Q) GET(DISABLED)", Reason::GET_INHIBITED);
    check("ALTER QALIAS(A) GET(DISABLED)", Reason::GET_INHIBITED);
    check("ALTER QALIAS(A) TARGET(OTHER) FORCE", Reason::OBJECT_CHANGED);
    check("ALTER QLOCAL(Q) USAGE(XMITQ) FORCE", Reason::OBJECT_CHANGED);
}

#[test]
fn quiescing_ends_waits_and_refuses_what_is_new() {
    let (mut qm, conn) = start(&["Q"]);
    let handle = qm.open_all(conn, "Q");
    let call = wait(&mut qm, conn, handle, GetOptions::FAIL_IF_QUIESCING, -1);
    let other = wait(&mut qm, conn, handle, GetOptions::empty(), -1);
    qm.put_sync(conn, handle, "x");
    qm.put_sync(conn, handle, "z");
    qm.turn(|qm, _, _, out| qm.quiesce(out));
    assert_eq!(qm.taken(call).unwrap_err(), Reason::Q_MGR_QUIESCING);
    let asking = IO | OpenOptions::FAIL_IF_QUIESCING;
    assert_eq!(qm.try_open(conn, ("", "Q"), asking).unwrap_err(), Reason::Q_MGR_QUIESCING);
    let late = qm.open(conn, "Q", IO);
    assert_eq!(qm.get(conn, late, GetOptions::FAIL_IF_QUIESCING).unwrap_err(), Reason::Q_MGR_QUIESCING);
    let failing = reason(&qm.put_md(conn, handle, persistent(), PutOptions::FAIL_IF_QUIESCING, "y").reply);
    assert_eq!(failing, Reason::Q_MGR_QUIESCING);
    assert_eq!(reason(&qm.commit(conn).reply), Reason::NONE, "work that was begun can be ended");
    assert_eq!(text(&qm.taken(other).unwrap().body), "x", "who did not ask goes on waiting");
    assert_eq!(qm.next(conn, handle).unwrap(), "z");
    let last = wait(&mut qm, conn, handle, GetOptions::empty(), -1);
    qm.put_sync(conn, handle, "lost");
    qm.turn(|qm, _, _, out| qm.stopping(out));
    assert_eq!(qm.taken(last).unwrap_err(), Reason::Q_MGR_STOPPING);
    assert_eq!(qm.put(conn, handle, "y"), Reason::Q_MGR_STOPPING);
    assert_eq!(reason(&qm.call(conn, Verb::Disconnect).reply), Reason::NONE);
}

#[test]
fn one_connection_quiesces() {
    let (mut qm, conn) = start(&["Q"]);
    let other = qm.connect();
    let (handle, its) = (qm.open_all(conn, "Q"), qm.open_all(other, "Q"));
    let call = wait(&mut qm, conn, handle, GetOptions::FAIL_IF_QUIESCING, -1);
    let waits = wait(&mut qm, other, its, GetOptions::FAIL_IF_QUIESCING, -1);
    qm.turn(|qm, _, _, out| qm.quiesce_connection(conn, out));
    assert_eq!(qm.taken(call).unwrap_err(), Reason::CONNECTION_QUIESCING);
    let failing = reason(&qm.put_md(conn, handle, persistent(), PutOptions::FAIL_IF_QUIESCING, "y").reply);
    assert_eq!(failing, Reason::CONNECTION_QUIESCING);
    assert_eq!(qm.put(conn, handle, "x"), Reason::NONE);
    assert_eq!(text(&qm.taken(waits).unwrap().body), "x");
}

#[test]
fn closing_ends_a_wait() {
    let (mut qm, conn) = start(&["Q"]);
    let handle = qm.open_all(conn, "Q");
    let call = wait(&mut qm, conn, handle, GetOptions::empty(), -1);
    assert_eq!(qm.close(conn, handle, CloseOptions::empty()), Reason::NONE);
    assert_eq!(qm.taken(call).unwrap_err(), Reason::HOBJ_ERROR);
    let handle = qm.open_all(conn, "Q");
    let lost = wait(&mut qm, conn, handle, GetOptions::empty(), 5_000);
    qm.closed(conn);
    qm.pass(10_000);
    assert!(!qm.answers.contains_key(&lost), "nobody is there to hear it");
    assert_eq!(qm.qm.poll_timeout(), None);
}

#[test]
fn a_unit_that_is_full_ends_the_wait() {
    let (mut qm, conn) = start(&["Q"]);
    let handle = qm.open_all(conn, "Q");
    let call = wait(&mut qm, conn, handle, GetOptions::SYNCPOINT, -1);
    qm.script("ALTER QMGR MAXUMSGS(1)");
    qm.put_sync(conn, handle, "mine");
    let other = qm.connect();
    let its = qm.open_all(other, "Q");
    qm.put(other, its, "x");
    assert_eq!(qm.taken(call).unwrap_err(), Reason::SYNCPOINT_LIMIT_REACHED);
    assert_eq!(qm.next(other, its).unwrap(), "x");
}

#[test]
fn browsers_wait_beside_takers() {
    let (mut qm, conn) = start(&["Q"]);
    let handle = qm.open_all(conn, "Q");
    qm.put(conn, handle, "old");
    qm.get(conn, handle, GetOptions::BROWSE_FIRST).unwrap();
    let browse = wait(&mut qm, conn, handle, GetOptions::BROWSE_NEXT, -1);
    let other = qm.connect();
    let its = qm.open_all(other, "Q");
    assert_eq!(qm.next(other, its).unwrap(), "old");
    let take = wait(&mut qm, other, its, GetOptions::empty(), -1);
    qm.put(other, its, "new");
    assert_eq!(text(&qm.taken(browse).unwrap().body), "new");
    assert_eq!(text(&qm.taken(take).unwrap().body), "new");
    assert_eq!(qm.depth("Q"), 0);
}
