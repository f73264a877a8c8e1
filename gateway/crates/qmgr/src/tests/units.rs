//! Units of work: commit, back-out, lost connections, limits.

use mq_wire::*;

use super::harness::*;
use crate::*;

fn two_connections() -> (Qm, (ConnId, i32), (ConnId, i32)) {
    let mut qm = Qm::new();
    qm.script("DEFINE QLOCAL(Q)");
    let one = qm.connect();
    let other = qm.connect();
    let handles = (qm.open_all(one, "Q"), qm.open_all(other, "Q"));
    (qm, (one, handles.0), (other, handles.1))
}

#[test]
fn nobody_sees_an_uncommitted_put() {
    let (mut qm, (one, put), (other, get)) = two_connections();
    qm.put_sync(one, put, "a");
    qm.put(one, put, "b");
    assert_eq!(qm.next(one, put).unwrap(), "b", "the one who put it neither");
    assert_eq!(qm.next(other, get), Err(Reason::NO_MSG_AVAILABLE));
    assert!(qm.commit(one).needs.is_some());
    assert_eq!(qm.next(other, get).unwrap(), "a");
}

#[test]
fn a_committed_put_stands_where_it_was_put() {
    let (mut qm, (one, put), (other, get)) = two_connections();
    qm.put_sync(one, put, "a");
    qm.put(other, get, "b");
    qm.commit(one);
    assert_eq!(qm.drain(other, get), ["a", "b"]);
}

#[test]
fn a_back_out_puts_messages_back_to_their_places() {
    let (mut qm, (one, handle), (other, reader)) = two_connections();
    for body in ["a", "b", "c"] {
        qm.put(one, handle, body);
    }
    assert_eq!(qm.get(one, handle, GetOptions::SYNCPOINT).unwrap().got.backout_count, 0);
    qm.get(one, handle, GetOptions::SYNCPOINT).unwrap();
    qm.put_sync(one, handle, "never");
    assert_eq!((qm.depth("Q"), qm.view("Q").uncommitted), (2, 3));
    assert_eq!(text(&qm.get(other, reader, GetOptions::BROWSE_FIRST).unwrap().body), "c");
    qm.back(one);
    assert_eq!((qm.depth("Q"), qm.view("Q").uncommitted), (3, 0));
    let again = qm.get(other, reader, GetOptions::SYNCPOINT).unwrap();
    assert_eq!((text(&again.body).as_str(), again.got.backout_count), ("a", 1));
    qm.back(other);
    let again = qm.get(other, reader, GetOptions::SYNCPOINT).unwrap();
    assert_eq!(again.got.backout_count, 2);
    qm.commit(other);
    assert_eq!(qm.drain(one, handle), ["b", "c"]);
}

#[test]
fn disconnecting_commits_and_a_lost_connection_backs_out() {
    let (mut qm, (one, handle), (other, reader)) = two_connections();
    qm.put(one, handle, "got");
    qm.get(one, handle, GetOptions::SYNCPOINT).unwrap();
    qm.put_sync(one, handle, "put");
    qm.closed(one);
    assert_eq!(qm.drain(other, reader), ["got"]);
    let third = qm.connect();
    let handle = qm.open_all(third, "Q");
    qm.put_sync(third, handle, "put");
    assert!(qm.call(third, Verb::Disconnect).needs.is_some());
    assert_eq!(qm.drain(other, reader), ["put"]);
    assert_eq!(reason(&qm.call(third, Verb::Commit).reply), Reason::HCONN_ERROR);
    assert_eq!(qm.view("Q").open_input, 1);
}

#[test]
fn a_unit_has_a_limit() {
    let (mut qm, (one, handle), _) = two_connections();
    qm.script("ALTER QMGR MAXUMSGS(3)");
    qm.put(one, handle, "x");
    assert_eq!(qm.put_sync(one, handle, "a"), Reason::NONE);
    assert_eq!(qm.put_sync(one, handle, "b"), Reason::NONE);
    qm.get(one, handle, GetOptions::SYNCPOINT).unwrap();
    assert_eq!(qm.put_sync(one, handle, "c"), Reason::SYNCPOINT_LIMIT_REACHED);
    qm.put(one, handle, "y");
    let refused = qm.get(one, handle, GetOptions::SYNCPOINT).unwrap_err();
    assert_eq!(refused, Reason::SYNCPOINT_LIMIT_REACHED);
    qm.commit(one);
    assert_eq!(qm.put_sync(one, handle, "c"), Reason::NONE);
}

#[test]
fn syncpoint_if_persistent() {
    let (mut qm, (one, handle), _) = two_connections();
    qm.put(one, handle, "persistent");
    qm.put_md(one, handle, Mqmd::default(), PutOptions::empty(), "not");
    qm.get(one, handle, GetOptions::SYNCPOINT_IF_PERSISTENT).unwrap();
    qm.get(one, handle, GetOptions::SYNCPOINT_IF_PERSISTENT).unwrap();
    qm.back(one);
    assert_eq!(qm.drain(one, handle), ["persistent"]);
}

/// Ten thousand messages in a unit of work are in nobody's way.
#[test]
fn what_is_locked_costs_a_get_nothing() {
    let (mut qm, (one, handle), (other, reader)) = two_connections();
    qm.script("ALTER QLOCAL(Q) MAXDEPTH(100000)");
    for number in 0..10_001 {
        qm.put_md(one, handle, Mqmd::default(), PutOptions::empty(), &number.to_string());
    }
    for _ in 0..10_000 {
        qm.get(one, handle, GetOptions::SYNCPOINT).unwrap();
    }
    let number = qm.qm.directory.number(QName::new("Q").unwrap()).unwrap();
    let steps = |qm: &Qm| qm.qm.directory.local(number).unwrap().index.steps;
    let before = steps(&qm);
    assert_eq!(qm.next(other, reader).unwrap(), "10000");
    assert_eq!(steps(&qm) - before, 1);
    let mut matched = request(handle, GetOptions::empty(), 0);
    matched.correl_id = CorrelId(id(1));
    assert_eq!(qm.get_with(one, matched).unwrap_err(), Reason::NO_MSG_AVAILABLE);
    assert!(steps(&qm) - before <= 2);
}
