//! Reports that the queue manager makes: when, where to, and what is in them.

use bytes::{Bytes, BytesMut};
use mq_wire::*;
use store::{Commit, UnitId};

use super::harness::*;
use crate::*;

const COA: ReportOptions = ReportOptions::COA;
const COD: ReportOptions = ReportOptions::COD;

/// A queue manager with a queue, and a queue for reports; handles of both.
fn world() -> (Qm, ConnId, i32, i32) {
    let mut qm = Qm::new();
    qm.script("DEFINE QLOCAL(Q)");
    qm.script("DEFINE QLOCAL(REPORTS)");
    let conn = qm.connect();
    let handles = (qm.open_all(conn, "Q"), qm.open_all(conn, "REPORTS"));
    (qm, conn, handles.0, handles.1)
}

/// A message that asks for reports.
fn asking(report: ReportOptions) -> Mqmd {
    Mqmd { version: 2, report, reply_to_q: QName::new("REPORTS").unwrap(), ..persistent() }
}

fn put(qm: &mut Qm, conn: ConnId, handle: i32, md: Mqmd, options: PutOptions, body: &str) -> Mqmd {
    match qm.put_md(conn, handle, md, options, body).reply {
        Reply::Put(put) => put.md,
        other => panic!("{other:?}"),
    }
}

fn header_of(taken: &Taken) -> Mqdlh {
    Mqdlh::decode(&mut Reader::new(&taken.body, Coding::NATIVE)).unwrap()
}

/// A message with this descriptor was got.
fn delivered(qm: &mut Qm, conn: ConnId, in_unit: bool, md: &Mqmd, expiry: i32) {
    let (envelope, body) = (envelope::envelope(md), Bytes::from_static(b"data"));
    qm.turn(|qm, now, batch, out| {
        qm.report_cod(now, conn, in_unit, Some((&envelope, &body)), expiry, Commit::default(), batch, out);
    });
}

#[test]
fn the_descriptor_of_a_report_field_by_field() {
    let (mut qm, conn, _, reports) = world();
    let options = OpenOptions::OUTPUT | OpenOptions::SET_ALL_CONTEXT;
    let handle = qm.open(conn, "Q", options);
    let md = Mqmd {
        msg_type: MsgType::REQUEST,
        expiry: 6_000,
        feedback: Feedback(70_000),
        encoding: Encoding::BIG,
        ccsid: Ccsid(850),
        format: Chars::cut("MQSTR"),
        priority: 7,
        msg_id: MsgId(id(1)),
        correl_id: CorrelId(id(2)),
        user_identifier: Chars::cut("somebody"),
        accounting_token: AccountingToken([3; 32]),
        appl_identity_data: Chars::cut("identity"),
        put_appl_type: ApplType::JAVA,
        put_appl_name: Chars::cut("other"),
        put_date: Chars::cut("19991231"),
        put_time: Chars::cut("23595999"),
        appl_origin_data: Chars::cut("orig"),
        group_id: GroupId(id(4)),
        msg_seq_number: 5,
        msg_flags: MessageFlags::MSG_IN_GROUP,
        ..asking(COA)
    };
    put(&mut qm, conn, handle, md.clone(), PutOptions::SET_ALL_CONTEXT, "hello");
    let report = qm.get(conn, reports, GetOptions::empty()).unwrap();
    let expected = Mqmd {
        report: ReportOptions::empty(),
        msg_type: MsgType::REPORT,
        expiry: -1,
        feedback: Feedback::COA,
        msg_id: report.md.msg_id,
        correl_id: CorrelId(id(1)),
        reply_to_q: QName::BLANK,
        reply_to_q_mgr: QMgrName::new("QM1").unwrap(),
        put_appl_type: ApplType::QMGR,
        put_appl_name: Chars::cut("QM1"),
        put_date: Chars::cut("20250101"),
        put_time: Chars::cut("00000000"),
        appl_origin_data: Chars::BLANK,
        original_length: -1,
        ..md
    };
    assert_eq!(report.md, expected);
    assert_eq!(&report.md.msg_id.0[..16], b"AMQ QM1         ");
    assert!(report.body.is_empty());
}

#[test]
fn data_of_reports() {
    let (mut qm, conn, handle, reports) = world();
    let long = "x".repeat(250);
    for (report, length, expected) in [
        (ReportOptions::COA, 250, 0),
        (ReportOptions::COA_WITH_DATA, 250, 100),
        (ReportOptions::COA_WITH_DATA, 100, 100),
        (ReportOptions::COA_WITH_DATA, 5, 5),
        (ReportOptions::COA_WITH_FULL_DATA, 250, 250),
    ] {
        put(&mut qm, conn, handle, asking(report), PutOptions::empty(), &long[..length]);
        let report = qm.get(conn, reports, GetOptions::empty()).unwrap();
        assert_eq!(report.body, long.as_bytes()[..expected]);
        assert_eq!(report.md.original_length, -1, "it is for segments only");
    }
    // Headers do not count among the hundred.
    let mut header = BytesMut::from(&b"RFH \x02\0\0\0\x24\0\0\0\x22\x02\0\0\xB8\x04\0\0MQSTR   "[..]);
    header.extend_from_slice(&[0, 0, 0, 0, 0xB8, 4, 0, 0]);
    let data = format!("{}{long}", header.iter().map(|byte| char::from(*byte)).collect::<String>());
    let md = Mqmd { format: FormatName::RF_HEADER_2, ..asking(ReportOptions::COA_WITH_DATA) };
    let pmo = Mqpmo::default();
    let body = Bytes::from(data.chars().map(|c| c as u8).collect::<Vec<_>>());
    let properties = crate::Properties::default();
    let request = PutRequest { handle, md, pmo, body, passed: None, properties };
    assert_eq!(reason(&qm.call(conn, Verb::Put(Box::new(request))).reply), Reason::NONE);
    assert_eq!(qm.get(conn, reports, GetOptions::empty()).unwrap().body.len(), 36 + 100);
}

#[test]
fn ids_of_reports() {
    let (mut qm, conn, handle, reports) = world();
    for (passed, msg_id, correl_id) in [
        (ReportOptions::empty(), None, id(1)),
        (ReportOptions::PASS_MSG_ID, Some(id(1)), id(1)),
        (ReportOptions::PASS_CORREL_ID, None, id(2)),
        (ReportOptions::PASS_MSG_ID | ReportOptions::PASS_CORREL_ID, Some(id(1)), id(2)),
    ] {
        let ids = Mqmd { msg_id: MsgId(id(1)), correl_id: CorrelId(id(2)), ..asking(COA | passed) };
        put(&mut qm, conn, handle, ids, PutOptions::empty(), "x");
        let md = qm.get(conn, reports, GetOptions::empty()).unwrap().md;
        assert_eq!(md.correl_id.0, correl_id, "{passed:?}");
        match msg_id {
            Some(msg_id) => assert_eq!(md.msg_id.0, msg_id, "{passed:?}"),
            None => assert_eq!(&md.msg_id.0[..4], b"AMQ ", "{passed:?}"),
        }
    }
}

#[test]
fn arrival_is_in_the_unit_of_work_of_the_put() {
    let (mut qm, conn, handle, reports) = world();
    put(&mut qm, conn, handle, asking(COA), PutOptions::SYNCPOINT, "never");
    assert_eq!(qm.depth("REPORTS"), 1, "not committed");
    assert_eq!(qm.next(conn, reports), Err(Reason::NO_MSG_AVAILABLE));
    qm.back(conn);
    assert_eq!((qm.depth("Q"), qm.depth("REPORTS")), (0, 0));
    put(&mut qm, conn, handle, asking(COA), PutOptions::SYNCPOINT, "a");
    assert!(qm.commit(conn).needs.is_some());
    assert_eq!(qm.get(conn, reports, GetOptions::empty()).unwrap().md.feedback, Feedback::COA);
    put(&mut qm, conn, handle, asking(COA), PutOptions::SYNCPOINT, "lost");
    qm.closed(conn);
    let qm = qm.restart();
    assert_eq!((qm.depth("Q"), qm.depth("REPORTS")), (1, 0));
}

#[test]
fn a_message_and_the_report_on_it_survive_together() {
    let (mut qm, conn, handle, _) = world();
    put(&mut qm, conn, handle, asking(COA), PutOptions::empty(), "a");
    let light = Mqmd { persistence: Persistence::NOT_PERSISTENT, ..asking(COA) };
    put(&mut qm, conn, handle, light, PutOptions::empty(), "b");
    assert_eq!((qm.depth("Q"), qm.depth("REPORTS")), (2, 2));
    let qm = qm.restart();
    assert_eq!((qm.depth("Q"), qm.depth("REPORTS")), (1, 1));
}

#[test]
fn arrival_counts_in_the_limit_of_the_unit() {
    let (mut qm, conn, handle, _) = world();
    qm.script("ALTER QMGR MAXUMSGS(3)");
    let put = |qm: &mut Qm, report| {
        let md = if report { asking(COA) } else { persistent() };
        reason(&qm.put_md(conn, handle, md, PutOptions::SYNCPOINT, "x").reply)
    };
    assert_eq!(put(&mut qm, true), Reason::NONE);
    assert_eq!(put(&mut qm, true), Reason::SYNCPOINT_LIMIT_REACHED);
    assert_eq!(put(&mut qm, false), Reason::NONE);
    assert_eq!(put(&mut qm, false), Reason::SYNCPOINT_LIMIT_REACHED);
    qm.commit(conn);
    assert_eq!((qm.depth("Q"), qm.depth("REPORTS")), (2, 1));
}

#[test]
fn expiry_and_discard_are_passed_on() {
    let (mut qm, conn, handle, reports) = world();
    let passed = ReportOptions::PASS_DISCARD_AND_EXPIRY;
    for (report, expiry, expected, discard) in [
        (COA, 600, -1, false),
        (COA | ReportOptions::DISCARD_MSG, 600, -1, false),
        (COA | passed, 600, 600, false),
        (COA | passed | ReportOptions::DISCARD_MSG, 600, 600, true),
        (COA | passed, -1, -1, false),
    ] {
        let md = Mqmd { expiry, ..asking(report) };
        put(&mut qm, conn, handle, md, PutOptions::empty(), "x");
        let taken = qm.get(conn, reports, GetOptions::empty()).unwrap();
        assert_eq!((taken.md.expiry, taken.md.report == ReportOptions::DISCARD_MSG), (expected, discard));
    }
}

#[test]
fn delivery_at_once_and_in_a_unit_of_work() {
    let (mut qm, conn, handle, reports) = world();
    let passed = ReportOptions::PASS_DISCARD_AND_EXPIRY;
    let md = Mqmd { expiry: 600, ..asking(COD | passed) };
    delivered(&mut qm, conn, false, &md, 250);
    let report = qm.get(conn, reports, GetOptions::empty()).unwrap();
    assert_eq!((report.md.feedback, report.md.expiry), (Feedback::COD, 250));
    delivered(&mut qm, conn, true, &md, 250);
    assert_eq!(qm.next(conn, reports), Err(Reason::NO_MSG_AVAILABLE));
    assert_eq!(qm.depth("REPORTS"), 1);
    qm.back(conn);
    assert_eq!(qm.depth("REPORTS"), 0);
    qm.put_sync(conn, handle, "in the same unit");
    delivered(&mut qm, conn, true, &md, 250);
    qm.commit(conn);
    assert_eq!(qm.get(conn, reports, GetOptions::empty()).unwrap().md.feedback, Feedback::COD);
    assert_eq!(qm.depth("Q"), 1);
    delivered(&mut qm, conn, false, &asking(COA), 250);
    assert_eq!(qm.depth("REPORTS"), 0, "it was not asked for");
}

#[test]
fn expiration() {
    let (mut qm, conn, _, reports) = world();
    for (passed, expiry) in [(ReportOptions::empty(), -1), (ReportOptions::PASS_DISCARD_AND_EXPIRY, 600)] {
        let md = asking(ReportOptions::EXPIRATION_WITH_DATA | passed);
        let envelope = envelope::envelope(&md);
        let body = Bytes::from(vec![7; 250]);
        qm.turn(|qm, now, batch, out| {
            qm.report_expiration(now, Some((&envelope, &body)), Commit::default(), batch, out);
        });
        let report = qm.get(conn, reports, GetOptions::empty()).unwrap();
        assert_eq!((report.md.feedback, report.md.expiry), (Feedback::EXPIRATION, expiry));
        assert_eq!(report.body.len(), 100);
    }
}

#[test]
fn exceptions_are_reported_in_the_unit_of_the_owner() {
    let (mut qm, conn, _, reports) = world();
    let body = Bytes::from_static(b"not delivered");
    let report = |qm: &mut Qm, report: ReportOptions, real: bool| {
        qm.turn(|qm, now, batch, out| {
            let unit: UnitId = batch.new_unit();
            let mut commit = Commit { unit: Some(unit), ..Commit::default() };
            let md = asking(report);
            let feedback = Feedback::from(Reason::Q_FULL);
            let what = qm.exception_report(now, &md, &body, feedback, &mut commit, batch).unwrap();
            if real {
                batch.commit(commit);
                qm.unit_is_real(now, unit, batch, out);
            } else {
                qm.unit_dropped(unit, batch);
            }
            what
        })
    };
    let all = ReportOptions::EXCEPTION_WITH_FULL_DATA;
    assert_eq!(report(&mut qm, all, false), Undelivered::DeadLetter);
    assert_eq!(qm.depth("REPORTS"), 0, "the unit was dropped");
    assert_eq!(report(&mut qm, all | ReportOptions::DISCARD_MSG, true), Undelivered::Discard);
    let taken = qm.get(conn, reports, GetOptions::empty()).unwrap();
    assert_eq!((taken.md.feedback.0, text(&taken.body).as_str()), (2053, "not delivered"));
    assert_eq!(report(&mut qm, ReportOptions::DISCARD_MSG, true), Undelivered::Discard);
    assert_eq!(qm.depth("REPORTS"), 0, "none was asked for");
    let mut commit = Commit::default();
    let refused = qm.turn(|qm, now, batch, _| {
        qm.exception_report(now, &asking(all), &body, Feedback::NONE, &mut commit, batch)
    });
    assert_eq!(refused, Err(Reason::UOW_NOT_AVAILABLE));
}

#[test]
fn a_report_that_cannot_be_put_is_a_dead_letter() {
    let (mut qm, conn, handle, _) = world();
    qm.script("DEFINE QLOCAL(FULL) MAXDEPTH(0)");
    qm.script("DEFINE QLOCAL(CLOSED) PUT(DISABLED)");
    qm.script("DEFINE QLOCAL(SHORT) MAXMSGL(3)");
    let dead = qm.open_all(conn, "DEV.DEAD.LETTER.QUEUE");
    for (queue, q_mgr, why) in [
        ("FULL", "", 2053),
        ("CLOSED", "", 2051),
        ("SHORT", "", 2030),
        ("NOQ", "", 2085),
        ("ANY", "QM7", 2087),
        ("SYSTEM.DEFAULT.MODEL.QUEUE", "", 2035),
        ("SYSTEM.ADMIN.COMMAND.QUEUE", "", 2035),
        ("GATE1", "", 2035),
    ] {
        let md = Mqmd {
            format: FormatName::STRING,
            reply_to_q: QName::new(queue).unwrap(),
            reply_to_q_mgr: QMgrName(Chars::cut(q_mgr)),
            ..asking(ReportOptions::COA_WITH_FULL_DATA)
        };
        put(&mut qm, conn, handle, md, PutOptions::empty(), "data");
        let taken = qm.get(conn, dead, GetOptions::empty()).unwrap();
        let header = header_of(&taken);
        assert_eq!((header.reason.0, header.dest_q_name.to_string().as_str()), (why, queue));
        let expected = if q_mgr.is_empty() { "QM1" } else { q_mgr };
        assert_eq!(header.dest_q_mgr_name.to_string(), expected);
        assert_eq!((header.put_appl_type, header.put_appl_name.text()), (ApplType::QMGR, "QM1".to_owned()));
        assert_eq!(taken.md.format, FormatName::DEAD_LETTER_HEADER);
        assert_eq!((taken.md.msg_type, taken.md.feedback), (MsgType::REPORT, Feedback::COA));
        assert_eq!(header.format, FormatName::STRING);
        assert_eq!(taken.body[172..], *b"data");
    }
    assert_eq!(qm.qm.reports_dropped(), 0);
    // What version 1 cannot say is behind the MQDLH (mq-objects.md 1.8).
    let md = Mqmd {
        reply_to_q: QName::new("NOQ").unwrap(),
        msg_flags: MessageFlags::MSG_IN_GROUP,
        msg_seq_number: 5,
        ..asking(ReportOptions::COA_WITH_FULL_DATA)
    };
    put(&mut qm, conn, handle, md, PutOptions::empty(), "data");
    let taken = qm.get(conn, dead, GetOptions::empty()).unwrap();
    assert_eq!((header_of(&taken).format, taken.md.msg_seq_number), (FormatName::MD_EXTENSION, 1));
    assert_eq!(taken.body[172 + 72..], *b"data");
}

#[test]
fn what_no_queue_takes_is_counted_and_harms_nobody() {
    let (mut qm, conn, handle, _) = world();
    let nowhere = Mqmd { reply_to_q: QName::new("NOQ").unwrap(), ..asking(COA) };
    let passed = ReportOptions::PASS_DISCARD_AND_EXPIRY | ReportOptions::DISCARD_MSG;
    let discard = Mqmd { report: COA | passed, ..nowhere.clone() };
    put(&mut qm, conn, handle, discard, PutOptions::empty(), "x");
    assert_eq!((qm.qm.reports_dropped(), qm.depth("DEV.DEAD.LETTER.QUEUE")), (1, 0), "it is discarded");
    qm.script("ALTER QLOCAL(DEV.DEAD.LETTER.QUEUE) PUT(DISABLED)");
    put(&mut qm, conn, handle, nowhere.clone(), PutOptions::empty(), "x");
    qm.script("ALTER QMGR DEADQ(' ')");
    put(&mut qm, conn, handle, nowhere, PutOptions::SYNCPOINT, "x");
    qm.commit(conn);
    assert_eq!((qm.qm.reports_dropped(), qm.depth("Q")), (3, 3));
}

#[test]
fn a_report_goes_to_another_queue_manager() {
    let (mut qm, conn, handle, _) = world();
    qm.script("DEFINE QLOCAL(QM2) USAGE(XMITQ)");
    let md = Mqmd { reply_to_q_mgr: QMgrName::new("QM2").unwrap(), ..asking(COA) };
    put(&mut qm, conn, handle, md, PutOptions::empty(), "x");
    let transmission = qm.open_all(conn, "QM2");
    let taken = qm.get(conn, transmission, GetOptions::empty()).unwrap();
    let header = Mqxqh::decode(&mut Reader::new(&taken.body, Coding::NATIVE)).unwrap();
    assert_eq!(header.remote_q_name.to_string(), "REPORTS");
    assert_eq!((header.msg_desc.msg_type, header.msg_desc.feedback), (MsgType::REPORT, Feedback::COA));
}

#[test]
fn neither_transmission_nor_dead_letter_queues_are_where_a_message_arrives() {
    let (mut qm, conn, handle, _) = world();
    qm.script("DEFINE QLOCAL(QM2) USAGE(XMITQ)");
    qm.script("DEFINE QREMOTE(AWAY) RNAME(Q) RQMNAME(QM2)");
    qm.put1(conn, ("", "AWAY"), PutOptions::empty(), asking(COA | COD)).unwrap();
    let transmission = qm.open_all(conn, "QM2");
    let taken = qm.get(conn, transmission, GetOptions::empty()).unwrap();
    assert_eq!(taken.md.report, ReportOptions::empty());
    let header = Mqxqh::decode(&mut Reader::new(&taken.body, Coding::NATIVE)).unwrap();
    assert_eq!(header.msg_desc.report, COA | COD, "for the queue manager at the other end");
    for format in [FormatName::XMIT_Q_HEADER, FormatName::DEAD_LETTER_HEADER] {
        let md = Mqmd { version: 1, format, ..asking(COA | COD) };
        put(&mut qm, conn, handle, md.clone(), PutOptions::empty(), "x");
        delivered(&mut qm, conn, false, &md, -1);
    }
    assert_eq!(qm.depth("REPORTS"), 0);
}

#[test]
fn each_segment_is_reported_on() {
    let (mut qm, conn, _, reports) = world();
    qm.script("DEFINE QLOCAL(S) MAXMSGL(200)");
    let handle = qm.open_all(conn, "S");
    let msg_flags = MessageFlags::SEGMENTATION_ALLOWED;
    let md = Mqmd { msg_flags, ..asking(ReportOptions::COA_WITH_DATA) };
    let back = put(&mut qm, conn, handle, md, PutOptions::empty(), &"x".repeat(500));
    let mut found = Vec::new();
    while let Ok(report) = qm.get(conn, reports, GetOptions::empty()) {
        assert_eq!(report.md.group_id, back.group_id);
        assert!(report.md.msg_flags.contains(MessageFlags::SEGMENT));
        found.push((report.md.offset, report.body.len(), report.md.original_length));
    }
    assert_eq!(found, [(0, 100, 192), (192, 100, 192), (384, 100, 116)]);
}

/// A logical message that is put together again is delivered once.
#[test]
fn one_report_on_the_delivery_of_all_segments() {
    let (mut qm, conn, handle, reports) = world();
    for (body, offset, flags) in [("aaaa", 0, 2), ("bb", 4, 4)] {
        let msg_flags = MessageFlags::from_bits_retain(flags);
        let group_id = GroupId(id(7));
        let md = Mqmd { group_id, offset, msg_flags, ..asking(ReportOptions::COD_WITH_FULL_DATA) };
        put(&mut qm, conn, handle, md, PutOptions::empty(), body);
    }
    assert_eq!(text(&qm.get(conn, handle, GetOptions::COMPLETE_MSG).unwrap().body), "aaaabb");
    let report = qm.get(conn, reports, GetOptions::COMPLETE_MSG).unwrap();
    assert_eq!((report.md.feedback, text(&report.body).as_str()), (Feedback::COD, "aaaabb"));
    assert_eq!((report.md.original_length, report.got.gmo.segment_status), (6, b'L'));
    assert_eq!(qm.depth("REPORTS"), 0, "it was on the whole of it");
}

/// Reports on segments stand for what they are on, in any order, and are put together by kind (IBM MQ documentation,
/// "Reports and segmented messages").
#[test]
fn reports_on_segments_are_like_segments() {
    let (mut qm, conn, handle, reports) = world();
    let segment = |offset: i32, flags: u32, report: ReportOptions| Mqmd {
        group_id: GroupId(id(7)),
        offset,
        msg_flags: MessageFlags::from_bits_retain(flags),
        ..asking(report)
    };
    let get = |qm: &mut Qm, options: GetOptions| {
        let taken = qm.get(conn, reports, options).map_err(|reason| reason.0)?;
        Ok::<_, i32>((taken.md.feedback, taken.md.offset))
    };
    put(&mut qm, conn, handle, segment(0, 2, COA | COD), PutOptions::empty(), "aaaa");
    assert_eq!(get(&mut qm, GetOptions::COMPLETE_MSG), Err(2033));
    let none = GetOptions::empty();
    qm.get(conn, handle, none).unwrap();
    let put_last = |qm: &mut Qm| put(qm, conn, handle, segment(4, 4, COD), PutOptions::empty(), "bb");
    put_last(&mut qm);
    qm.get(conn, handle, none).unwrap();
    let browse = GetOptions::BROWSE_FIRST;
    assert_eq!(get(&mut qm, browse | GetOptions::ALL_SEGMENTS_AVAILABLE), Ok((Feedback::COA, 0)));
    assert_eq!(get(&mut qm, browse | GetOptions::COMPLETE_MSG), Ok((Feedback::COD, 0)));
    let mut qm = qm.restart();
    let conn = qm.connect();
    let reports = qm.open_all(conn, "REPORTS");
    let taken = qm.get(conn, reports, GetOptions::COMPLETE_MSG | GetOptions::LOGICAL_ORDER).unwrap();
    assert_eq!(taken.md.feedback, Feedback::COD);
    assert_eq!(qm.get(conn, reports, none).unwrap().md.feedback, Feedback::COA);
    assert_eq!(qm.depth("REPORTS"), 0);
}

/// mq-objects.md 3.2, MAXUMSGS.
#[test]
fn a_report_on_delivery_counts_in_the_unit_of_work() {
    let (mut qm, conn, handle, _) = world();
    qm.script("ALTER QMGR MAXUMSGS(2)");
    for _ in 0..2 {
        put(&mut qm, conn, handle, asking(COD), PutOptions::empty(), "x");
    }
    let sync = GetOptions::SYNCPOINT;
    qm.get(conn, handle, sync).unwrap();
    assert_eq!(qm.get(conn, handle, sync).unwrap_err(), Reason::SYNCPOINT_LIMIT_REACHED);
    qm.back(conn);
    qm.script("ALTER QMGR MAXUMSGS(1)");
    assert_eq!(qm.get(conn, handle, sync).unwrap_err(), Reason::SYNCPOINT_LIMIT_REACHED);
    qm.get(conn, handle, GetOptions::NO_SYNCPOINT).unwrap();
}

/// Of a message on a transmission queue too, and after a restart.
#[test]
fn expiry_on_a_transmission_queue_is_reported_after_a_restart() {
    let (mut qm, conn, _, _) = world();
    qm.script("DEFINE QLOCAL(XQ) USAGE(XMITQ)");
    qm.script("DEFINE QREMOTE(FAR) RNAME(FAR) RQMNAME(QM2) XMITQ(XQ)");
    let far = qm.open(conn, "FAR", OpenOptions::OUTPUT);
    let md = Mqmd { expiry: 10, ..asking(ReportOptions::EXPIRATION) };
    put(&mut qm, conn, far, md, PutOptions::empty(), "x");
    let mut qm = qm.restart();
    qm.pass(5_000);
    assert_eq!((qm.depth("XQ"), qm.depth("REPORTS")), (0, 1));
    assert_eq!(qm.store().recovered().keyed.iter().filter(|(key, _)| key.starts_with(b"qs")).count(), 0);
}

/// A queue may go while a unit of work has messages for it: what is known of them goes too.
#[test]
fn nothing_is_kept_of_messages_whose_queue_is_gone() {
    let (mut qm, maker, _, _) = world();
    let od = Mqod { dynamic_q_name: ObjectName(Chars::cut("DYN.*")), ..od("", "SYSTEM.DEFAULT.MODEL.QUEUE") };
    let opened = qm.open_od(maker, od, OpenOptions::INPUT_EXCLUSIVE).unwrap();
    let conn = qm.connect();
    let handle = qm.open(conn, &opened.od.object_name.to_string(), OpenOptions::OUTPUT);
    let md = Mqmd { persistence: Persistence::NOT_PERSISTENT, ..asking(COD) };
    put(&mut qm, conn, handle, md, PutOptions::SYNCPOINT, "x");
    let kept = |qm: &mut Qm| qm.turn(|qm, _, _, _| format!("{:?}", qm.specials));
    assert_ne!(kept(&mut qm), "Specials({})");
    qm.close(maker, opened.handle, CloseOptions::empty());
    qm.commit(conn);
    assert_eq!(kept(&mut qm), "Specials({})");
}
