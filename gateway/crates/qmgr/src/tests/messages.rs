//! Puts and gets of single messages: order, match, limits, context, expiry, what is refused.

use bytes::Bytes;
use mq_wire::*;

use super::harness::*;
use crate::{Properties, *};

/// A queue manager with an open queue `Q`.
fn with_queue(attributes: &str) -> (Qm, ConnId, i32) {
    let mut qm = Qm::new();
    qm.script(&format!("DEFINE QLOCAL(Q) {attributes}"));
    let conn = qm.connect();
    let handle = qm.open_all(conn, "Q");
    (qm, conn, handle)
}

fn prioritised(priority: i32) -> Mqmd {
    Mqmd { priority, ..persistent() }
}

#[test]
fn a_message_comes_as_it_was_put() {
    let (mut qm, conn, handle) = with_queue("");
    let md = Mqmd { version: 2, format: Chars::cut("MQSTR"), priority: 3, ..persistent() };
    let Reply::Put(put) = qm.put_md(conn, handle, md, PutOptions::empty(), "hello").reply else { panic!() };
    let taken = qm.get(conn, handle, GetOptions::empty()).unwrap();
    assert_eq!(text(&taken.body), "hello");
    assert_eq!((taken.md.msg_id, taken.md.priority), (put.md.msg_id, 3));
    assert_eq!(taken.md.format.text(), "MQSTR");
    assert_eq!(taken.got.gmo.resolved_q_name.to_string(), "Q");
    assert_eq!((taken.got.expiry, taken.got.backout_count, taken.got.taken), (-1, 0, true));
    assert_eq!(qm.get(conn, handle, GetOptions::empty()).unwrap_err(), Reason::NO_MSG_AVAILABLE);
}

#[test]
fn order_by_priority_or_first_in_first_out() {
    let check = |attributes, expected: [&str; 5]| {
        let (mut qm, conn, handle) = with_queue(attributes);
        for (priority, body) in [(0, "a"), (9, "b"), (4, "c"), (9, "d"), (0, "e")] {
            qm.put_md(conn, handle, prioritised(priority), PutOptions::empty(), body);
        }
        assert_eq!(qm.drain(conn, handle), expected);
    };
    check("", ["b", "d", "c", "a", "e"]);
    check("MSGDLVSQ(FIFO)", ["a", "b", "c", "d", "e"]);
}

#[test]
fn the_order_can_be_altered() {
    let (mut qm, conn, handle) = with_queue("");
    let body = |body| {
        move |qm: &mut Qm, priority| {
            qm.put_md(conn, handle, prioritised(priority), PutOptions::empty(), body);
        }
    };
    body("a")(&mut qm, 0);
    body("b")(&mut qm, 5);
    let other = qm.connect();
    let held = qm.open_all(other, "Q");
    assert_eq!(text(&qm.get(other, held, GetOptions::SYNCPOINT).unwrap().body), "b");
    qm.script("ALTER QLOCAL(Q) MSGDLVSQ(FIFO)");
    body("c")(&mut qm, 9);
    qm.back(other);
    assert_eq!(qm.drain(conn, handle), ["a", "b", "c"]);
}

#[test]
fn a_priority_above_the_highest_is_a_warning() {
    let (mut qm, conn, handle) = with_queue("");
    let Reply::Put(put) = qm.put_md(conn, handle, prioritised(42), PutOptions::empty(), "x").reply else {
        panic!()
    };
    assert_eq!((put.cc, put.reason), (CompCode::WARNING, Reason::PRIORITY_EXCEEDS_MAXIMUM));
    assert_eq!(qm.get(conn, handle, GetOptions::empty()).unwrap().md.priority, 42);
}

#[test]
fn matching_by_ids() {
    let (mut qm, conn, handle) = with_queue("");
    for (number, correl) in [(1, 7), (2, 7), (3, 8)] {
        let md = Mqmd { msg_id: MsgId(id(number)), correl_id: CorrelId(id(correl)), ..persistent() };
        qm.put_md(conn, handle, md, PutOptions::empty(), &format!("{number}/{correl}"));
    }
    let mut find = |msg: u8, correl: u8, version, match_options| {
        let mut wanted = request(handle, GetOptions::BROWSE_FIRST, 0);
        (wanted.gmo.version, wanted.gmo.match_options) = (version, match_options);
        (wanted.msg_id, wanted.correl_id) = (MsgId(id(msg)), CorrelId(id(correl)));
        qm.get_with(conn, wanted).map(|taken| {
            assert!(taken.got.check.is_none_or(|check| check.fits(&taken.md)));
            text(&taken.body)
        })
    };
    let none = Err(Reason::NO_MSG_AVAILABLE);
    let both = MatchOptions::MSG_ID | MatchOptions::CORREL_ID;
    assert_eq!(find(0, 0, 1, MatchOptions::empty()).unwrap(), "1/7");
    assert_eq!(
        find(2, 0, 1, MatchOptions::empty()).unwrap(),
        "2/7",
        "version 1 matches by both, zeros match all"
    );
    assert_eq!(find(0, 8, 1, MatchOptions::empty()).unwrap(), "3/8");
    assert_eq!(find(2, 7, 2, both).unwrap(), "2/7");
    assert_eq!(find(3, 7, 2, both), none);
    assert_eq!(find(3, 7, 2, MatchOptions::MSG_ID).unwrap(), "3/8");
    assert_eq!(find(3, 7, 2, MatchOptions::CORREL_ID).unwrap(), "1/7");
    assert_eq!(find(3, 9, 2, MatchOptions::empty()).unwrap(), "1/7");
    assert_eq!(find(4, 0, 2, both), none);
    assert_eq!(find(1, 0, 2, MatchOptions::from_bits_retain(0x40)), Err(Reason::MATCH_OPTIONS_ERROR));
}

#[test]
fn matching_by_token() {
    let (mut qm, conn, handle) = with_queue("");
    for body in ["a", "b", "c"] {
        qm.put(conn, handle, body);
    }
    qm.get(conn, handle, GetOptions::BROWSE_FIRST).unwrap();
    let second = qm.get(conn, handle, GetOptions::BROWSE_NEXT).unwrap();
    let mut wanted = request(handle, GetOptions::empty(), 0);
    (wanted.gmo.match_options, wanted.gmo.msg_token) = (MatchOptions::MSG_TOKEN, second.got.token);
    assert_eq!(text(&qm.get_with(conn, wanted.clone()).unwrap().body), "b");
    assert_eq!(qm.get_with(conn, wanted).unwrap_err(), Reason::NO_MSG_AVAILABLE);
}

#[test]
fn what_does_not_fit_the_buffer() {
    let (mut qm, conn, handle) = with_queue("");
    qm.put(conn, handle, "0123456789");
    let mut small = request(handle, GetOptions::empty(), 0);
    small.buffer_length = 4;
    let taken = qm.get_with(conn, small.clone()).unwrap();
    assert_eq!((taken.got.cc, taken.got.reason), (CompCode::WARNING, Reason::TRUNCATED_MSG_FAILED));
    assert_eq!((taken.got.body_length, taken.got.deliver_length, taken.got.taken), (10, 4, false));
    assert_eq!(qm.depth("Q"), 1);
    small.gmo.options = GetOptions::ACCEPT_TRUNCATED_MSG;
    let taken = qm.get_with(conn, small).unwrap();
    assert_eq!((taken.got.cc, taken.got.reason), (CompCode::WARNING, Reason::TRUNCATED_MSG_ACCEPTED));
    assert_eq!((taken.got.body_length, text(&taken.body).as_str()), (10, "0123"));
    assert_eq!(qm.depth("Q"), 0);
}

/// Case: depth. Uncommitted puts count, gets in a unit of work do not, a back-out may go above the limit.
#[test]
fn depth_and_its_limit() {
    let (mut qm, conn, handle) = with_queue("MAXDEPTH(5)");
    for body in ["1", "2", "3", "4", "5"] {
        assert_eq!(qm.put(conn, handle, body), Reason::NONE);
    }
    assert_eq!(qm.put(conn, handle, "6"), Reason::Q_FULL);
    let other = qm.connect();
    let taking = qm.open_all(other, "Q");
    for _ in 0..5 {
        qm.get(other, taking, GetOptions::SYNCPOINT).unwrap();
    }
    for body in ["6", "7", "8", "9", "10"] {
        assert_eq!(qm.put_sync(conn, handle, body), Reason::NONE);
    }
    assert_eq!((qm.depth("Q"), qm.view("Q").uncommitted), (5, 10));
    assert_eq!(qm.put(conn, handle, "11"), Reason::Q_FULL);
    qm.back(other);
    assert_eq!(reason(&qm.commit(conn).reply), Reason::NONE);
    assert_eq!((qm.depth("Q"), qm.view("Q").uncommitted), (10, 0));
    assert_eq!(qm.put(conn, handle, "11"), Reason::Q_FULL);
    assert_eq!(qm.drain(conn, handle), ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"]);
}

#[test]
fn lengths_and_their_limits() {
    let (mut qm, conn, handle) = with_queue("MAXMSGL(1000)");
    let long = |length| "x".repeat(length);
    assert_eq!(qm.put(conn, handle, &long(1_000)), Reason::NONE);
    assert_eq!(qm.put(conn, handle, &long(1_001)), Reason::MSG_TOO_BIG_FOR_Q);
    qm.script("ALTER QLOCAL(Q) MAXMSGL(40000)");
    qm.script("ALTER QMGR MAXMSGL(32768)");
    assert_eq!(qm.put(conn, handle, &long(32_768)), Reason::NONE);
    assert_eq!(qm.put(conn, handle, &long(32_769)), Reason::MSG_TOO_BIG_FOR_Q_MGR);
    qm.script("DEFINE QLOCAL(X) USAGE(XMITQ) MAXMSGL(5000)");
    let remote = qm.try_open(conn, ("X", "ANY"), OpenOptions::OUTPUT).unwrap().handle;
    assert_eq!(qm.put(conn, remote, &long(1_000)), Reason::NONE);
    assert_eq!(qm.put(conn, remote, &long(1_001)), Reason::MSG_TOO_BIG_FOR_Q, "4000 are for headers");
}

#[test]
fn descriptors_that_are_refused() {
    let (mut qm, conn, handle) = with_queue("");
    let mut check = |md, expected| {
        let answered = qm.put_md(conn, handle, md, PutOptions::empty(), "x");
        assert_eq!(reason(&answered.reply), expected);
    };
    let md = Mqmd::default;
    check(Mqmd { expiry: 0, ..md() }, Reason::EXPIRY_ERROR);
    check(Mqmd { expiry: -5, ..md() }, Reason::EXPIRY_ERROR);
    check(Mqmd { msg_type: MsgType(0), ..md() }, Reason::MSG_TYPE_ERROR);
    check(Mqmd { persistence: Persistence(3), ..md() }, Reason::PERSISTENCE_ERROR);
    check(Mqmd { priority: -2, ..md() }, Reason::PRIORITY_ERROR);
    check(Mqmd { msg_type: MsgType::REQUEST, ..md() }, Reason::MISSING_REPLY_TO_Q);
    check(Mqmd { report: ReportOptions::COA, ..md() }, Reason::MISSING_REPLY_TO_Q);
    check(Mqmd { report: ReportOptions::PASS_CORREL_ID, ..md() }, Reason::NONE);
}

#[test]
fn options_that_are_refused() {
    let (mut qm, conn, handle) = with_queue("");
    let put = |qm: &mut Qm, options| reason(&qm.put_md(conn, handle, Mqmd::default(), options, "x").reply);
    assert_eq!(put(&mut qm, PutOptions::SYNCPOINT | PutOptions::NO_SYNCPOINT), Reason::OPTIONS_ERROR);
    assert_eq!(put(&mut qm, PutOptions::NO_CONTEXT | PutOptions::DEFAULT_CONTEXT), Reason::OPTIONS_ERROR);
    assert_eq!(put(&mut qm, PutOptions::SET_ALL_CONTEXT).0, 2095);
    assert_eq!(put(&mut qm, PutOptions::SET_IDENTITY_CONTEXT).0, 2096);
    assert_eq!(put(&mut qm, PutOptions::PASS_ALL_CONTEXT).0, 2093);
    assert_eq!(put(&mut qm, PutOptions::PASS_IDENTITY_CONTEXT).0, 2094);
    let get = |qm: &mut Qm, options| qm.get(conn, handle, options).unwrap_err();
    assert_eq!(get(&mut qm, GetOptions::BROWSE_FIRST | GetOptions::BROWSE_NEXT), Reason::OPTIONS_ERROR);
    assert_eq!(get(&mut qm, GetOptions::BROWSE_FIRST | GetOptions::SYNCPOINT), Reason::OPTIONS_ERROR);
    assert_eq!(get(&mut qm, GetOptions::LOCK), Reason::OPTIONS_ERROR);
    assert_eq!(
        qm.get_with(conn, request(handle, GetOptions::WAIT, -2)).unwrap_err(),
        Reason::WAIT_INTERVAL_ERROR
    );
    assert_eq!(qm.get(conn, 99, GetOptions::empty()).unwrap_err(), Reason::HOBJ_ERROR);
    let output = qm.open(conn, "Q", OpenOptions::OUTPUT);
    assert_eq!(qm.get(conn, output, GetOptions::empty()).unwrap_err(), Reason::NOT_OPEN_FOR_INPUT);
    assert_eq!(qm.get(conn, output, GetOptions::BROWSE_FIRST).unwrap_err(), Reason::NOT_OPEN_FOR_BROWSE);
    let input = qm.open(conn, "Q", OpenOptions::INPUT_SHARED);
    assert_eq!(qm.put(conn, input, "x"), Reason::NOT_OPEN_FOR_OUTPUT);
    assert_eq!(reason(&qm.call(ConnId(4_711), Verb::Commit).reply), Reason::HCONN_ERROR);
}

#[test]
fn inhibited_queues() {
    let (mut qm, conn, handle) = with_queue("");
    qm.script("DEFINE QALIAS(A) TARGET(Q)");
    let alias = qm.open(conn, "A", IO);
    qm.put(conn, handle, "x");
    qm.script("ALTER QALIAS(A) PUT(DISABLED) GET(DISABLED)");
    assert_eq!(qm.put(conn, alias, "y"), Reason::PUT_INHIBITED);
    assert_eq!(qm.next(conn, alias), Err(Reason::GET_INHIBITED));
    assert_eq!(qm.put(conn, handle, "y"), Reason::NONE);
    qm.script("ALTER QLOCAL(Q) GET(DISABLED)");
    assert_eq!(qm.next(conn, handle), Err(Reason::GET_INHIBITED));
    qm.script("ALTER QLOCAL(Q) GET(ENABLED)");
    assert_eq!(qm.drain(conn, handle), ["x", "y"]);
}

#[test]
fn context() {
    let (mut qm, conn, handle) = with_queue("");
    let contexts = OpenOptions::SET_ALL_CONTEXT | OpenOptions::SET_IDENTITY_CONTEXT | OpenOptions::OUTPUT;
    let setting = qm.open(conn, "Q", contexts);
    let saving = qm.open(conn, "Q", OpenOptions::INPUT_SHARED | OpenOptions::SAVE_ALL_CONTEXT);
    let given = Mqmd {
        user_identifier: Chars::cut("somebody"),
        appl_identity_data: Chars::cut("identity"),
        put_appl_type: ApplType::JAVA,
        put_appl_name: Chars::cut("other"),
        put_date: Chars::cut("19991231"),
        put_time: Chars::cut("23595999"),
        appl_origin_data: Chars::cut("orig"),
        ..persistent()
    };
    let own = Context {
        user_identifier: Chars::cut("app"),
        put_appl_type: ApplType::UNIX,
        put_appl_name: Chars::cut("test"),
        put_date: Chars::cut("20250101"),
        put_time: Chars::cut("00000000"),
        ..Context::default()
    };
    let set = Context::of(&given);
    let identity = Context {
        user_identifier: set.user_identifier,
        accounting_token: set.accounting_token,
        appl_identity_data: set.appl_identity_data,
        ..own.clone()
    };
    let mut check = |to, options, passed: Option<&Context>, expected: &Context| {
        let pmo = Mqpmo { options, context: saving, ..Mqpmo::default() };
        let (md, body, passed) = (given.clone(), Bytes::new(), passed.cloned().map(Box::new));
        let answered = qm.call(
            conn,
            Verb::Put(Box::new(PutRequest {
                handle: to,
                md,
                pmo,
                body,
                passed,
                properties: Properties::default(),
            })),
        );
        let Reply::Put(put) = answered.reply else { return reason(&answered.reply) };
        let md = qm.get(conn, handle, GetOptions::empty()).unwrap().md;
        assert_eq!(&Context::of(&md), expected, "{options:?}");
        assert_eq!(Context::of(&put.md), *expected, "the application gets it back");
        Reason::NONE
    };
    check(handle, PutOptions::empty(), None, &own);
    check(handle, PutOptions::DEFAULT_CONTEXT, None, &own);
    check(handle, PutOptions::NO_CONTEXT, None, &Context::default());
    check(setting, PutOptions::SET_IDENTITY_CONTEXT, None, &identity);
    check(setting, PutOptions::SET_ALL_CONTEXT, None, &set);
    check(setting, PutOptions::PASS_ALL_CONTEXT, Some(&set), &set);
    assert_eq!(check(handle, PutOptions::PASS_ALL_CONTEXT, Some(&set), &set).0, 2093);
    assert_eq!(check(handle, PutOptions::PASS_IDENTITY_CONTEXT, Some(&set), &set).0, 2094);
    assert_eq!(check(handle, PutOptions::SET_ALL_CONTEXT, None, &set).0, 2095);
    assert_eq!(check(handle, PutOptions::SET_IDENTITY_CONTEXT, None, &set).0, 2096);
    let passing = OpenOptions::PASS_ALL_CONTEXT | OpenOptions::PASS_IDENTITY_CONTEXT | OpenOptions::OUTPUT;
    let passing = qm.open(conn, "Q", passing);
    let mut pass = |options, passed: Option<&Context>| {
        let pmo = Mqpmo { options, context: saving, ..Mqpmo::default() };
        let (md, body, passed) = (given.clone(), Bytes::new(), passed.cloned().map(Box::new));
        let put = PutRequest { handle: passing, md, pmo, body, passed, properties: Properties::default() };
        let reason = reason(&qm.call(conn, Verb::Put(Box::new(put))).reply);
        if reason != Reason::NONE {
            return Err(reason);
        }
        Ok(Context::of(&qm.get(conn, handle, GetOptions::empty()).unwrap().md))
    };
    assert_eq!(pass(PutOptions::PASS_ALL_CONTEXT, Some(&set)), Ok(set.clone()));
    assert_eq!(pass(PutOptions::PASS_IDENTITY_CONTEXT, Some(&set)), Ok(identity));
    assert_eq!(pass(PutOptions::PASS_ALL_CONTEXT, None), Err(Reason::CONTEXT_NOT_AVAILABLE));
}

#[test]
fn ids_are_made_and_never_twice() {
    let (mut qm, conn, handle) = with_queue("");
    let mut seen = std::collections::BTreeSet::new();
    let put = |qm: &mut Qm, conn, handle, options, md| {
        let Reply::Put(put) = qm.put_md(conn, handle, md, options, "x").reply else { panic!() };
        put.md
    };
    for _ in 0..100 {
        let md = put(&mut qm, conn, handle, PutOptions::empty(), Mqmd::default());
        assert_eq!(&md.msg_id.0[..16], b"AMQ QM1         ");
        assert!(seen.insert(md.msg_id.0));
    }
    let mine = Mqmd { msg_id: MsgId(id(1)), correl_id: CorrelId(id(2)), ..Mqmd::default() };
    assert_eq!(put(&mut qm, conn, handle, PutOptions::empty(), mine.clone()).msg_id.0, id(1));
    let md = put(&mut qm, conn, handle, PutOptions::NEW_MSG_ID | PutOptions::NEW_CORREL_ID, mine);
    assert!(seen.insert(md.msg_id.0) && seen.insert(md.correl_id.0));
    let mut qm = qm.restart();
    let conn = qm.connect();
    let handle = qm.open_all(conn, "Q");
    for _ in 0..100 {
        assert!(seen.insert(put(&mut qm, conn, handle, PutOptions::empty(), Mqmd::default()).msg_id.0));
    }
}

#[test]
fn the_expired_are_never_given() {
    let (mut qm, conn, handle) = with_queue("MAXDEPTH(3)");
    let expiring = |tenths| Mqmd { expiry: tenths, ..persistent() };
    for (tenths, body) in [(10, "a"), (50, "b"), (-1, "c")] {
        qm.put_md(conn, handle, expiring(tenths), PutOptions::empty(), body);
    }
    assert_eq!(qm.put(conn, handle, "d"), Reason::Q_FULL);
    // A second is over, the sweep has not come by: it is in nobody's way all the same.
    qm.now.wall_ms += 1_000;
    assert_eq!(qm.put(conn, handle, "d"), Reason::NONE, "the expired make room first");
    let browsed = qm.get(conn, handle, GetOptions::BROWSE_FIRST).unwrap();
    assert_eq!((text(&browsed.body).as_str(), browsed.got.expiry), ("b", 40));
    qm.now.wall_ms += 4_000;
    assert_eq!(qm.next(conn, handle).unwrap(), "c");
    assert_eq!(qm.view("Q").expired, 2);
    assert_eq!(qm.store().recovered().messages.len(), 1, "their deaths are in the journal");
    assert_eq!(qm.restart().view("Q").expired, 2, "with their number");
}

#[test]
fn the_sweep_finds_the_expired_in_bounded_steps() {
    let (mut qm, conn, handle) = with_queue("MAXDEPTH(100000)");
    qm.script("DEFINE QLOCAL(OTHER)");
    let other = qm.open_all(conn, "OTHER");
    qm.put_md(conn, handle, Mqmd { expiry: 100, ..Mqmd::default() }, PutOptions::empty(), "x");
    assert!(qm.qm.poll_timeout().is_some());
    qm.next(conn, handle).unwrap();
    qm.pass(5_000);
    assert_eq!(qm.qm.poll_timeout(), None, "nothing can expire");
    for number in 0..3_500 {
        let expiry = if number % 2 == 0 { 1 } else { 100_000 };
        qm.put_md(conn, handle, Mqmd { expiry, ..Mqmd::default() }, PutOptions::empty(), "x");
    }
    qm.put_md(conn, other, Mqmd { expiry: 1, ..Mqmd::default() }, PutOptions::empty(), "x");
    let depths = |qm: &Qm| (qm.depth("Q"), qm.depth("OTHER"));
    qm.pass(999);
    assert_eq!(depths(&qm), (3_500, 1), "the sweep has not come by");
    qm.now.wall_ms += 1;
    qm.now.instant += std::time::Duration::from_millis(1);
    let (mut left, mut steps) = (3_501, 0);
    while qm.qm.poll_timeout().is_some_and(|at| at <= qm.now.instant) {
        qm.turn(QueueManager::handle_timeout);
        let (depth, other) = depths(&qm);
        assert!(left - (depth + other) <= 1_000, "a step is bounded");
        (left, steps) = (depth + other, steps + 1);
    }
    assert_eq!((depths(&qm), steps), ((1_750, 0), 2), "and the next one comes at once");
    assert_eq!(qm.store().recovered().messages.len(), 1_750);
}

/// What does not expire costs a sweep nothing, on whichever queue it is.
#[test]
fn a_sweep_looks_at_what_has_expired() {
    let (mut qm, conn, handle) = with_queue("MAXDEPTH(100000)");
    for queue in 0..100 {
        qm.script(&format!("DEFINE QLOCAL(Q{queue})"));
        let md = Mqmd { expiry: 100_000, ..Mqmd::default() };
        qm.put1(conn, ("", &format!("Q{queue}")), PutOptions::empty(), md).unwrap();
    }
    for number in 0..5_000 {
        let expiry = if number % 500 == 0 { 20 + number / 100 } else { [-1, 100_000][number as usize % 2] };
        qm.put_md(conn, handle, Mqmd { expiry, ..Mqmd::default() }, PutOptions::empty(), "x");
    }
    let before = qm.qm.sweep.steps;
    for _ in 0..10 {
        qm.pass(1_000);
    }
    assert_eq!(qm.depth("Q"), 4_990);
    let steps = qm.qm.sweep.steps - before;
    assert!(steps <= 2 * 10, "{steps}");
}

/// Expiry is by the wall clock: whichever way it jumps, the sweep goes by it.
#[test]
fn the_sweep_follows_the_wall_clock() {
    let (mut qm, conn, handle) = with_queue("");
    for expiry in [100, 36_000] {
        qm.put_md(conn, handle, Mqmd { expiry, ..Mqmd::default() }, PutOptions::empty(), "x");
    }
    qm.now.wall_ms -= 60_000;
    qm.pass(30_000);
    assert_eq!(qm.depth("Q"), 2);
    qm.now.wall_ms += 3_600_000;
    qm.pass(1_000);
    assert_eq!(qm.depth("Q"), 1, "an hour at once");
    qm.now.wall_ms += 3_600_000;
    qm.pass(1_000);
    assert_eq!((qm.depth("Q"), qm.qm.poll_timeout()), (0, None));
}

/// A get finds many that have expired: off the queue with it, dead in steps.
#[test]
fn deaths_are_written_in_steps() {
    let (mut qm, conn, handle) = with_queue("MAXDEPTH(100000)");
    for _ in 0..2_500 {
        qm.put_md(conn, handle, Mqmd { expiry: 1, ..persistent() }, PutOptions::empty(), "x");
    }
    qm.put(conn, handle, "last");
    qm.now.wall_ms += 100;
    assert_eq!(qm.next(conn, handle).unwrap(), "last");
    assert_eq!((qm.depth("Q"), qm.view("Q").expired), (0, 1_000));
    qm.compact();
    assert_eq!(qm.store().recovered().messages.len(), 1_500);
    let mut qm = qm.restart();
    assert_eq!((qm.depth("Q"), qm.view("Q").expired), (1_500, 1_000), "nobody was told of those");
    qm.pass(0);
    assert_eq!((qm.depth("Q"), qm.view("Q").expired), (0, 2_500));
    assert!(qm.store().recovered().messages.is_empty());
}

#[test]
fn answers_wait_for_what_they_depend_on() {
    let (mut qm, conn, handle) = with_queue("");
    let put = |qm: &mut Qm, md, options| qm.put_md(conn, handle, md, options, "x").needs;
    assert!(put(&mut qm, persistent(), PutOptions::empty()).is_some());
    let get = |qm: &mut Qm, options| {
        let call = qm.send(conn, Verb::Get(Box::new(request(handle, options, 0))));
        qm.answer(call).needs
    };
    let browse = get(&mut qm, GetOptions::BROWSE_FIRST);
    assert!(browse.is_some(), "that it is there depends on its put");
    assert_eq!(get(&mut qm, GetOptions::SYNCPOINT), browse);
    assert_eq!(get(&mut qm, GetOptions::empty()), browse, "none: what was before may not be durable");
    let committed = qm.commit(conn).needs;
    assert!(committed > browse);
    assert_eq!(get(&mut qm, GetOptions::empty()), committed, "none: since it was taken");
    assert_eq!(qm.commit(conn).needs, None, "an empty unit says nothing");
    assert_eq!(put(&mut qm, persistent(), PutOptions::SYNCPOINT), None);
    qm.back(conn);
    assert_eq!(
        put(&mut qm, Mqmd::default(), PutOptions::empty()),
        None,
        "a non-persistent put waits for nobody"
    );
    assert_eq!(get(&mut qm, GetOptions::empty()), None, "nor does the get of it");
}

#[test]
fn an_id_with_the_same_hash_is_put_back() {
    for options in [GetOptions::SYNCPOINT, GetOptions::NO_SYNCPOINT] {
        let (mut qm, conn, handle) = with_queue("");
        let md = |number| Mqmd { msg_id: MsgId(id(number)), ..persistent() };
        qm.put_md(conn, handle, md(1), PutOptions::empty(), "first");
        qm.put_md(conn, handle, md(1), PutOptions::empty(), "second");
        qm.put_md(conn, handle, md(2), PutOptions::empty(), "other");
        let mut wanted = request(handle, options, 0);
        wanted.msg_id = MsgId(id(1));
        let call = qm.send(conn, Verb::Get(Box::new(wanted.clone())));
        let Reply::Got(got) = qm.answer(call).reply else { panic!() };
        // As if the reader had found another id.
        let record = store::Store::body(qm.store(), got.id, got.place).read().unwrap();
        let mismatch = Mismatch { got: *got, record: (record.envelope, record.body), request: wanted };
        qm.turn(|qm, now, batch, out| qm.mismatched(now, conn, call, mismatch, batch, out));
        assert_eq!(text(&qm.taken(call).unwrap().body), "second");
        qm.commit(conn);
        assert_eq!(qm.drain(conn, handle), ["first", "other"]);
    }
}

#[test]
fn a_message_travels_through_a_raw_transmission_queue_unwrapped() {
    let (mut qm, conn, _) = with_queue("");
    let handle = qm.open_all(conn, "GATE1");
    qm.put(conn, handle, "no header");
    assert_eq!(qm.next(conn, handle).unwrap(), "no header");
}
