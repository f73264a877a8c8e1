//! Locks and marks of browsing.

use mq_wire::*;

use super::harness::*;
use crate::*;

const LOCK: GetOptions = GetOptions::LOCK;
const FIRST: GetOptions = GetOptions::BROWSE_FIRST;
const NEXT: GetOptions = GetOptions::BROWSE_NEXT;
const LOOK: GetOptions = GetOptions::BROWSE_MSG_UNDER_CURSOR;
const TAKE: GetOptions = GetOptions::MSG_UNDER_CURSOR;

/// A queue with a, b, c; two connections and their handles.
fn start() -> (Qm, [ConnId; 2], [i32; 2]) {
    let mut qm = Qm::new();
    qm.script("DEFINE QLOCAL(Q)");
    let conns = [qm.connect(), qm.connect()];
    let options = IO | OpenOptions::BROWSE | OpenOptions::CO_OP;
    let handles = conns.map(|conn| qm.open(conn, "Q", options));
    for body in ["a", "b", "c"] {
        qm.put(conns[0], handles[0], body);
    }
    (qm, conns, handles)
}

fn get(qm: &mut Qm, conn: ConnId, handle: i32, options: GetOptions) -> Result<String, u32> {
    qm.get(conn, handle, options).map(|taken| text(&taken.body)).map_err(|reason| reason.0 as u32)
}

fn unlock(qm: &mut Qm, conn: ConnId, handle: i32) -> (CompCode, u32) {
    match qm.call(conn, Verb::Get(Box::new(request(handle, GetOptions::UNLOCK, 0)))).reply {
        Reply::Plain { cc, reason } => (cc, reason.0 as u32),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_locked_message_is_nobody_elses() {
    let (mut qm, [me, other], [mine, its]) = start();
    assert_eq!(get(&mut qm, me, mine, FIRST | LOCK).unwrap(), "a");
    assert_eq!((qm.depth("Q"), qm.view("Q").uncommitted), (3, 0), "it is on the queue");
    assert_eq!(get(&mut qm, other, its, FIRST).unwrap(), "b");
    assert_eq!(get(&mut qm, other, its, FIRST | LOCK).unwrap(), "b");
    assert_eq!(get(&mut qm, other, its, GetOptions::empty()).unwrap(), "b", "one's own");
    assert_eq!(get(&mut qm, me, mine, LOOK | LOCK).unwrap(), "a");
    qm.compact();
    assert_eq!(get(&mut qm, me, mine, TAKE | GetOptions::SYNCPOINT).unwrap(), "a");
    assert_eq!(unlock(&mut qm, me, mine), (CompCode::WARNING, 2209));
    qm.back(me);
    assert_eq!(get(&mut qm, other, its, GetOptions::empty()).unwrap(), "a", "backed out it is not locked");
    assert_eq!(unlock(&mut qm, me, mine), (CompCode::WARNING, 2209));
}

#[test]
fn what_gives_a_lock_up() {
    let (mut qm, [me, other], [mine, its]) = start();
    let first = |qm: &mut Qm| get(qm, other, its, FIRST).unwrap();
    let lock = |qm: &mut Qm| assert_eq!(get(qm, me, mine, FIRST | LOCK).unwrap(), "a");
    lock(&mut qm);
    assert_eq!(unlock(&mut qm, me, mine), (CompCode::OK, 0));
    assert_eq!(first(&mut qm), "a");
    lock(&mut qm);
    assert_eq!(get(&mut qm, me, mine, NEXT | LOCK).unwrap(), "b");
    assert_eq!(first(&mut qm), "a", "it moved on");
    lock(&mut qm);
    assert_eq!(get(&mut qm, me, mine, NEXT).unwrap(), "b");
    assert_eq!((first(&mut qm).as_str(), unlock(&mut qm, me, mine).1), ("a", 2209));
    lock(&mut qm);
    assert_eq!(get(&mut qm, me, mine, LOOK).unwrap(), "a");
    assert_eq!(first(&mut qm), "a");
    lock(&mut qm);
    let mut small = request(mine, NEXT | LOCK, 0);
    small.buffer_length = 0;
    assert_eq!(qm.get_with(me, small).unwrap().got.reason, Reason::TRUNCATED_MSG_FAILED);
    assert_eq!(first(&mut qm), "b", "2080 leaves it");
    assert_eq!(get(&mut qm, me, mine, FIRST | NEXT), Err(2046));
    assert_eq!(first(&mut qm), "b", "a failure too");
    let mut none = request(mine, FIRST | LOCK, 0);
    none.msg_id = MsgId(id(9));
    assert_eq!(qm.get_with(me, none).unwrap_err(), Reason::NO_MSG_AVAILABLE);
    assert_eq!(first(&mut qm), "a", "2033 does not");
    lock(&mut qm);
    let another = qm.open_all(me, "Q");
    assert_eq!(get(&mut qm, me, another, FIRST).unwrap(), "b");
    qm.close(me, mine, CloseOptions::empty());
    assert_eq!(first(&mut qm), "a");
    assert_eq!(get(&mut qm, me, another, FIRST | LOCK).unwrap(), "a");
    qm.closed(me);
    assert_eq!(first(&mut qm), "a");
    assert_eq!(qm.drain(other, its), ["a", "b", "c"]);
    let taken: Vec<_> = qm.store().recovered().messages;
    assert!(taken.is_empty());
}

/// Whatever gives the lock up, the sweep finds the message when its time is over.
#[test]
fn a_message_that_was_locked_expires() {
    let (mut qm, [me, _], [mine, _]) = start();
    qm.drain(me, mine);
    for (expiry, body) in [(30, "later"), (10, "soon")] {
        let md = Mqmd { expiry, ..persistent() };
        qm.put_md(me, mine, md, PutOptions::empty(), body);
    }
    assert_eq!(get(&mut qm, me, mine, FIRST | LOCK).unwrap(), "later");
    qm.pass(2_000);
    assert_eq!(qm.depth("Q"), 1);
    assert_eq!(get(&mut qm, me, mine, NEXT), Err(2033), "which gives the lock up");
    qm.pass(5_000);
    assert_eq!(qm.depth("Q"), 0);
}

#[test]
fn who_waits_gets_what_is_unlocked() {
    let (mut qm, [me, other], [mine, its]) = start();
    qm.drain(me, mine);
    qm.put(me, mine, "x");
    assert_eq!(get(&mut qm, me, mine, FIRST | LOCK).unwrap(), "x");
    let call = qm.send(other, Verb::Get(Box::new(request(its, GetOptions::WAIT, -1))));
    assert!(qm.answers.is_empty());
    unlock(&mut qm, me, mine);
    let taken = qm.taken(call).unwrap();
    assert_eq!((text(&taken.body).as_str(), taken.got.backout_count), ("x", 0));
    // A browse that locks gets it alone.
    let calls = [(me, mine), (other, its)].map(|(conn, handle)| {
        qm.send(conn, Verb::Get(Box::new(request(handle, NEXT | LOCK | GetOptions::WAIT, 1_000))))
    });
    qm.put(me, mine, "y");
    assert_eq!(text(&qm.taken(calls[0]).unwrap().body), "y");
    assert!(qm.answers.is_empty());
    qm.pass(1_000);
    assert_eq!(qm.taken(calls[1]).unwrap_err(), Reason::NO_MSG_AVAILABLE);
}

#[test]
fn marks_of_a_handle() {
    let (mut qm, [me, other], [mine, its]) = start();
    let once = GetOptions::MARK_BROWSE_HANDLE | GetOptions::UNMARKED_BROWSE_MSG | FIRST;
    for expected in [Ok("a"), Ok("b"), Ok("c"), Err(2033)] {
        assert_eq!(get(&mut qm, me, mine, once), expected.map(str::to_owned));
    }
    assert_eq!(get(&mut qm, other, its, once).unwrap(), "a", "others have their own");
    assert_eq!(get(&mut qm, me, mine, FIRST).unwrap(), "a");
    assert_eq!(get(&mut qm, me, mine, LOOK | GetOptions::UNMARK_BROWSE_HANDLE).unwrap(), "a");
    assert_eq!(get(&mut qm, me, mine, once).unwrap(), "a");
    assert_eq!(get(&mut qm, other, its, GetOptions::SYNCPOINT).unwrap(), "a");
    qm.back(other);
    assert_eq!(get(&mut qm, me, mine, once).unwrap(), "a", "a get took the mark away");
    qm.close(me, mine, CloseOptions::empty());
    let mine = qm.open_all(me, "Q");
    assert_eq!(get(&mut qm, me, mine, once).unwrap(), "a");
    let unmark = GetOptions::UNMARK_BROWSE_HANDLE | GetOptions::MARK_BROWSE_HANDLE;
    assert_eq!(get(&mut qm, me, mine, FIRST | unmark), Err(2046));
    assert_eq!(get(&mut qm, me, mine, FIRST | GetOptions::MARK_BROWSE_CO_OP), Err(2046), "not co-operating");
}

#[test]
fn marks_of_those_who_co_operate() {
    let (mut qm, [me, other], [mine, its]) = start();
    let once = GetOptions::MARK_BROWSE_CO_OP | GetOptions::UNMARKED_BROWSE_MSG | FIRST;
    assert_eq!(get(&mut qm, me, mine, once).unwrap(), "a");
    assert_eq!(get(&mut qm, other, its, once).unwrap(), "b");
    assert_eq!(get(&mut qm, other, its, FIRST | GetOptions::MARK_BROWSE_CO_OP), Err(2200));
    let alone = qm.open_all(me, "Q");
    let unmarked = FIRST | GetOptions::UNMARKED_BROWSE_MSG;
    assert_eq!(get(&mut qm, me, alone, unmarked).unwrap(), "a", "it is not one of them");
    assert_eq!(get(&mut qm, me, mine, once).unwrap(), "c");
    let call = qm.send(other, Verb::Get(Box::new(request(its, once | GetOptions::WAIT, -1))));
    assert!(qm.answers.is_empty());
    // MARKINT is five seconds.
    qm.pass(4_999);
    assert!(qm.answers.is_empty());
    qm.pass(1);
    assert_eq!(text(&qm.taken(call).unwrap().body), "a");
    let unmark = FIRST | GetOptions::UNMARK_BROWSE_CO_OP;
    assert_eq!(get(&mut qm, me, mine, unmark).unwrap(), "a");
    assert_eq!(get(&mut qm, me, mine, once).unwrap(), "a");
    qm.close(me, mine, CloseOptions::empty());
    assert_eq!(get(&mut qm, other, its, once).unwrap(), "a", "its marks went with it");
    qm.script("ALTER QMGR MARKINT(NOLIMIT)");
    assert_eq!(get(&mut qm, other, its, once).unwrap(), "b");
    qm.pass(1_000_000);
    assert_eq!(get(&mut qm, other, its, once).unwrap(), "a");
    assert_eq!(get(&mut qm, other, its, once).unwrap(), "c");
    assert_eq!(get(&mut qm, other, its, once), Err(2033));
    assert_eq!(qm.drain(me, alone), ["a", "b", "c"], "marks are for browsing only");
}

#[test]
fn a_first_browse_that_does_not_fit_is_before_the_first_message() {
    let (mut qm, [me, _], [mine, _]) = start();
    while get(&mut qm, me, mine, NEXT).is_ok() {}
    let mut small = request(mine, FIRST, 0);
    small.buffer_length = 0;
    assert_eq!(qm.get_with(me, small).unwrap().got.reason, Reason::TRUNCATED_MSG_FAILED);
    assert_eq!(get(&mut qm, me, mine, NEXT).unwrap(), "a");
}

/// The sweep does not see it, and nobody else does: the next get by its own handle ends it.
#[test]
fn a_message_that_expires_while_it_is_locked() {
    let (mut qm, [me, other], [mine, its]) = start();
    qm.drain(me, mine);
    qm.script("DEFINE QLOCAL(REPORTS)");
    let md = Mqmd {
        version: 2,
        expiry: 10,
        report: ReportOptions::EXPIRATION,
        reply_to_q: QName::new("REPORTS").unwrap(),
        ..persistent()
    };
    qm.put_md(me, mine, md, PutOptions::empty(), "short");
    qm.put(me, mine, "long");
    assert_eq!(get(&mut qm, me, mine, FIRST | LOCK).unwrap(), "short");
    qm.pass(5_000);
    assert_eq!((qm.depth("Q"), qm.depth("REPORTS")), (2, 0));
    assert_eq!(get(&mut qm, other, its, TAKE), Err(2034));
    let mut long = request(mine, GetOptions::empty(), 0);
    long.gmo.match_options = MatchOptions::MSG_ID;
    long.msg_id = MsgId(id(9));
    assert_eq!(qm.get_with(me, long).unwrap_err(), Reason::NO_MSG_AVAILABLE);
    assert_eq!((qm.depth("Q"), qm.depth("REPORTS")), (1, 1), "whatever was asked for");
    assert_eq!(unlock(&mut qm, me, mine), (CompCode::WARNING, 2209));
    assert_eq!(get(&mut qm, me, mine, TAKE), Err(2034));
    assert_eq!(qm.drain(other, its), ["long"]);
}

/// Who browses what is not marked meets a message that was locked while he came by.
#[test]
fn a_message_that_was_locked_is_not_marked() {
    let (mut qm, [me, other], [mine, its]) = start();
    let once = GetOptions::MARK_BROWSE_HANDLE | GetOptions::UNMARKED_BROWSE_MSG | FIRST;
    assert_eq!(get(&mut qm, other, its, FIRST | LOCK).unwrap(), "a");
    assert_eq!(get(&mut qm, me, mine, once).unwrap(), "b");
    assert_eq!(get(&mut qm, me, mine, once).unwrap(), "c");
    assert_eq!(get(&mut qm, me, mine, once), Err(2033));
    assert_eq!(get(&mut qm, other, its, NEXT).unwrap(), "b", "which gives the lock up");
    assert_eq!(get(&mut qm, me, mine, once).unwrap(), "a");
}
