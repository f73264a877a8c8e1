//! Messages whose records are read before something is done with them: reports on delivery and expiry; and properties.

use mq_wire::*;

use super::harness::*;
use crate::*;

fn start() -> (Qm, ConnId, i32, i32) {
    let mut qm = Qm::new();
    qm.script("DEFINE QLOCAL(Q)");
    qm.script("DEFINE QLOCAL(REPORTS)");
    let conn = qm.connect();
    let handles = (qm.open_all(conn, "Q"), qm.open_all(conn, "REPORTS"));
    (qm, conn, handles.0, handles.1)
}

fn asking(report: ReportOptions) -> Mqmd {
    Mqmd { report, reply_to_q: QName::new("REPORTS").unwrap(), ..persistent() }
}

fn put(qm: &mut Qm, conn: ConnId, handle: i32, md: Mqmd, body: &str) {
    assert_eq!(reason(&qm.put_md(conn, handle, md, PutOptions::empty(), body).reply), Reason::NONE);
}

fn report(qm: &mut Qm, conn: ConnId, reports: i32) -> Result<(Feedback, String), Reason> {
    qm.get(conn, reports, GetOptions::empty()).map(|taken| (taken.md.feedback, text(&taken.body)))
}

#[test]
fn a_delivery_is_reported_with_the_get() {
    let (mut qm, conn, handle, reports) = start();
    put(&mut qm, conn, handle, asking(ReportOptions::COD_WITH_FULL_DATA), "x");
    let mut small = request(handle, GetOptions::empty(), 0);
    small.buffer_length = 0;
    assert_eq!(qm.get_with(conn, small).unwrap().got.reason, Reason::TRUNCATED_MSG_FAILED);
    qm.get(conn, handle, GetOptions::BROWSE_FIRST).unwrap();
    assert_eq!(report(&mut qm, conn, reports), Err(Reason::NO_MSG_AVAILABLE), "it was not delivered");
    let taken = qm.get(conn, handle, GetOptions::SYNCPOINT).unwrap();
    assert_eq!((text(&taken.body).as_str(), taken.got.taken), ("x", true));
    assert_eq!(report(&mut qm, conn, reports), Err(Reason::NO_MSG_AVAILABLE), "not yet");
    qm.back(conn);
    assert_eq!(report(&mut qm, conn, reports), Err(Reason::NO_MSG_AVAILABLE), "it never was");
    qm.get(conn, handle, GetOptions::SYNCPOINT).unwrap();
    qm.commit(conn);
    assert_eq!(report(&mut qm, conn, reports), Ok((Feedback::COD, "x".to_owned())));
    put(&mut qm, conn, handle, asking(ReportOptions::COD_WITH_FULL_DATA), "y");
    let call = qm.send(conn, Verb::Get(Box::new(request(handle, GetOptions::empty(), 0))));
    let answered = qm.answer(call);
    assert!(matches!(answered.reply, Reply::Got(_)) && answered.needs.is_some(), "{answered:?}");
    assert_eq!(report(&mut qm, conn, reports), Ok((Feedback::COD, "y".to_owned())));
    assert!(qm.restart().store().recovered().messages.is_empty());
}

#[test]
fn a_wait_ends_with_a_message_that_is_read_first() {
    let (mut qm, conn, handle, reports) = start();
    let waiting = request(handle, GetOptions::WAIT | GetOptions::NO_SYNCPOINT, -1);
    let call = qm.send(conn, Verb::Get(Box::new(waiting)));
    put(&mut qm, conn, handle, asking(ReportOptions::COD), "x");
    assert_eq!(text(&qm.taken(call).unwrap().body), "x");
    assert_eq!(report(&mut qm, conn, reports), Ok((Feedback::COD, String::new())));
}

#[test]
fn what_is_being_read_is_held_for_its_call() {
    let (mut qm, conn, handle, reports) = start();
    put(&mut qm, conn, handle, asking(ReportOptions::COD), "x");
    qm.reads_late = true;
    let lost = qm.connect();
    let its = qm.open_all(lost, "Q");
    let call = qm.send(lost, Verb::Get(Box::new(request(its, GetOptions::empty(), 0))));
    assert!(matches!(qm.answer(call).reply, Reply::ReadFirst(_)));
    assert_eq!(qm.get(conn, handle, GetOptions::empty()).unwrap_err(), Reason::NO_MSG_AVAILABLE);
    qm.closed(lost);
    qm.reads_late = false;
    qm.compact();
    for later in std::mem::take(&mut qm.later) {
        qm.read_late(later);
    }
    let taken = qm.get(conn, handle, GetOptions::empty()).unwrap();
    assert_eq!((text(&taken.body).as_str(), taken.got.backout_count), ("x", 0), "it went back, uncounted");
    assert_eq!(report(&mut qm, conn, reports), Ok((Feedback::COD, String::new())));
    assert_eq!(report(&mut qm, conn, reports), Err(Reason::NO_MSG_AVAILABLE), "once");
}

#[test]
fn what_cannot_be_read_stays() {
    let (mut qm, conn, handle, reports) = start();
    put(&mut qm, conn, handle, asking(ReportOptions::COD), "x");
    qm.reads_late = true;
    let call = qm.send(conn, Verb::Get(Box::new(request(handle, GetOptions::empty(), 0))));
    qm.answer(call);
    qm.turn(|qm, now, batch, out| qm.record_read(now, conn, call, None, batch, out));
    assert_eq!(qm.taken(call).unwrap_err(), Reason::OBJECT_DAMAGED);
    assert_eq!((qm.depth("Q"), qm.view("Q").uncommitted), (1, 0));
    assert_eq!(report(&mut qm, conn, reports), Err(Reason::NO_MSG_AVAILABLE));
    qm.turn(|qm, now, batch, out| qm.record_read(now, conn, call, None, batch, out));
    assert!(qm.answers.is_empty(), "there is no such call any more");
}

#[test]
fn expiry_is_reported_once() {
    let (mut qm, conn, handle, reports) = start();
    let md = Mqmd { expiry: 10, ..asking(ReportOptions::EXPIRATION_WITH_FULL_DATA) };
    put(&mut qm, conn, handle, md.clone(), "x");
    put(&mut qm, conn, handle, Mqmd { expiry: 10, ..persistent() }, "no report");
    qm.reads_late = true;
    qm.pass(2_000);
    assert_eq!((qm.depth("Q"), qm.later.len()), (0, 1));
    assert_eq!(qm.view("Q").expired, 1, "the other is not dead before it was read");
    qm.pass(10_000);
    assert_eq!(qm.later.len(), 1, "said once");
    // Whoever has not read it when the process ends hears of it again.
    let mut qm = qm.restart();
    qm.pass(1_000);
    let conn = qm.connect();
    let reports_again = qm.open_all(conn, "REPORTS");
    assert_eq!(report(&mut qm, conn, reports_again), Ok((Feedback::EXPIRATION, "x".to_owned())));
    assert_eq!(report(&mut qm, conn, reports_again), Err(Reason::NO_MSG_AVAILABLE));
    assert_eq!(qm.view("Q").expired, 2);
    assert!(qm.restart().store().recovered().messages.is_empty());
    let _ = reports;
}

#[test]
fn a_get_or_browse_finds_what_has_expired() {
    for options in [GetOptions::empty(), GetOptions::BROWSE_FIRST] {
        let (mut qm, conn, handle, reports) = start();
        let md = Mqmd { expiry: 10, ..asking(ReportOptions::EXPIRATION) };
        put(&mut qm, conn, handle, md, "x");
        qm.now.wall_ms += 2_000;
        assert_eq!(qm.get(conn, handle, options).unwrap_err(), Reason::NO_MSG_AVAILABLE);
        assert_eq!(report(&mut qm, conn, reports), Ok((Feedback::EXPIRATION, String::new())));
    }
}

/// PROPCTL of the definition that was named, and the options of the call (mq-objects.md 3.3).
#[test]
fn properties_that_are_not_delivered_are_skipped() {
    let mut qm = Qm::new();
    qm.script("DEFINE QLOCAL(Q)");
    let conn = qm.connect();
    let output = qm.open(conn, "Q", OpenOptions::OUTPUT);
    for compatible in [true, false] {
        let put = PutRequest {
            handle: output,
            md: persistent(),
            pmo: Mqpmo::default(),
            body: bytes::Bytes::from_static(b"<usr/>data"),
            passed: None,
            properties: verb::Properties { length: 6, compatible },
        };
        assert_eq!(reason(&qm.call(conn, Verb::Put(Box::new(put))).reply), Reason::NONE);
    }
    qm.put(conn, output, "none");
    let as_queue = GetOptions::empty();
    let both = ["<usr/>data", "<usr/>data"];
    for (control, options, expected) in [
        ("COMPAT", as_queue, ["<usr/>data", "data"]),
        ("NONE", as_queue, ["data", "data"]),
        ("ALL", as_queue, both),
        ("FORCE", as_queue, both),
        ("V6COMPAT", as_queue, both),
        ("NONE", GetOptions::PROPERTIES_FORCE_MQRFH2, both),
        ("ALL", GetOptions::NO_PROPERTIES, ["data", "data"]),
        ("ALL", GetOptions::PROPERTIES_COMPATIBILITY, ["<usr/>data", "data"]),
    ] {
        qm.script(&format!("DEFINE QALIAS(A) TARGET(Q) PROPCTL({control}) REPLACE"));
        let alias = qm.open(conn, "A", OpenOptions::BROWSE);
        for expected in expected.into_iter().chain(["none"]) {
            let taken = qm.get(conn, alias, GetOptions::BROWSE_NEXT | options).unwrap();
            assert_eq!(text(&taken.body), expected, "{control} {options:?}");
            assert_eq!(taken.got.body_length as usize, expected.len());
            assert_eq!(taken.got.reason, Reason::NONE);
        }
        qm.close(conn, alias, CloseOptions::empty());
    }
    let input = qm.open_all(conn, "Q");
    let mut exact = request(input, GetOptions::NO_PROPERTIES, 0);
    exact.buffer_length = 4;
    assert_eq!(text(&qm.get_with(conn, exact).unwrap().body), "data", "what is skipped needs no room");
    let in_handle = request(input, GetOptions::PROPERTIES_IN_HANDLE, 0);
    assert_eq!(qm.get_with(conn, in_handle).unwrap_err().0, 2460);
}

/// Segments that are asked for by an id leave the queue when the id was looked at: a hash is not enough.
#[test]
fn ids_of_segments_are_looked_at_before_they_are_taken() {
    let (mut qm, conn, handle, _) = start();
    for (group, body) in [(1, "first"), (2, "other")] {
        for (offset, flag) in [(0, MessageFlags::SEGMENT), (5, MessageFlags::LAST_SEGMENT)] {
            let (msg_id, group_id) = (MsgId(id(9)), GroupId(id(group)));
            let md = Mqmd { version: 2, msg_id, group_id, offset, msg_flags: flag, ..persistent() };
            put(&mut qm, conn, handle, md, body);
        }
    }
    qm.reads_late = true;
    let mut wanted = request(handle, GetOptions::COMPLETE_MSG, 0);
    wanted.msg_id = MsgId(id(9));
    let call = qm.send(conn, Verb::Get(Box::new(wanted)));
    assert!(matches!(qm.answer(call).reply, Reply::ReadFirst(_)));
    // As if another id had the same hash.
    let md = Mqmd { version: 2, msg_id: MsgId(id(8)), ..persistent() };
    let record = (envelope::envelope(&md), bytes::Bytes::from_static(b"firstfirst"));
    qm.turn(|qm, now, batch, out| qm.record_read(now, conn, call, Some(record), batch, out));
    let Reply::ReadFirst(behind) = qm.answer(call).reply else { panic!("it goes on behind it") };
    qm.reads_late = false;
    qm.read_late(Later::Got(conn, call, behind));
    assert_eq!(text(&qm.taken(call).unwrap().body), "otherother");
    assert_eq!(qm.depth("Q"), 2);
    let rest = qm.get(conn, handle, GetOptions::COMPLETE_MSG).unwrap();
    assert_eq!((text(&rest.body).as_str(), rest.got.backout_count), ("firstfirst", 0));
}
