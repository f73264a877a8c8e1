//! What MQPUT and MQPUT1 check, in which order; groups, segments and extensions as they are stored.

use bytes::{Bytes, BytesMut};
use mq_wire::*;

use super::harness::*;
use crate::{ConnId, Put1Request, PutDone, PutRequest, Reply, Rights, Verb};

fn world(attributes: &str) -> (Qm, ConnId, i32) {
    let mut qm = Qm::new();
    qm.script(&format!("DEFINE QLOCAL(Q) {attributes}"));
    let conn = qm.connect();
    let handle = qm.open_all(conn, "Q");
    (qm, conn, handle)
}

fn put(
    qm: &mut Qm,
    conn: ConnId,
    handle: i32,
    md: Mqmd,
    pmo: Mqpmo,
    body: impl Into<Bytes>,
) -> Result<PutDone, Reason> {
    let (body, properties) = (body.into(), crate::Properties::default());
    let request = PutRequest { handle, md, pmo, body, passed: None, properties };
    match qm.call(conn, Verb::Put(Box::new(request))).reply {
        Reply::Put(put) => Ok(*put),
        other => Err(reason(&other)),
    }
}

fn put1(qm: &mut Qm, conn: ConnId, od: Mqod, pmo: Mqpmo) -> Result<PutDone, Reason> {
    let (md, body, properties) = (Mqmd::default(), Bytes::new(), crate::Properties::default());
    let request = Put1Request { od, md, pmo, body, passed: None, properties };
    match qm.call(conn, Verb::Put1(Box::new(request))).reply {
        Reply::Put(put) => Ok(*put),
        other => Err(reason(&other)),
    }
}

fn options(options: PutOptions) -> Mqpmo {
    Mqpmo { options, ..Mqpmo::default() }
}

fn flagged(msg_flags: MessageFlags) -> Mqmd {
    Mqmd { version: 2, msg_flags, ..persistent() }
}

/// A call with every fault has them taken away one by one: the order in which they are found.
#[test]
fn faults_are_found_in_this_order() {
    let (mut qm, conn, _) = world("MAXDEPTH(1) MAXMSGL(3)");
    let first = qm.open(conn, "Q", OpenOptions::OUTPUT);
    qm.put(conn, first, "x");
    qm.script("ALTER QLOCAL(Q) PUT(DISABLED)");
    let input = qm.open(conn, "Q", OpenOptions::INPUT_SHARED);
    let output = qm.open(conn, "Q", OpenOptions::OUTPUT);
    let passing = qm.open(conn, "Q", OpenOptions::OUTPUT | OpenOptions::PASS_ALL_CONTEXT);
    let wrong = PutOptions::SYNCPOINT | PutOptions::NO_SYNCPOINT;
    let pass = PutOptions::PASS_ALL_CONTEXT;
    let bad = Mqmd { expiry: 0, ..Mqmd::default() };
    let find = |qm: &mut Qm, handle, options_given, md: &Mqmd, body: &'static str| {
        put(qm, conn, handle, md.clone(), options(options_given), body).unwrap_err().0
    };
    assert_eq!(find(&mut qm, 999, wrong, &bad, "long"), 2019);
    assert_eq!(find(&mut qm, input, wrong, &bad, "long"), 2046);
    assert_eq!(find(&mut qm, input, pass, &bad, "long"), 2039);
    assert_eq!(find(&mut qm, output, pass, &bad, "long"), 2093);
    assert_eq!(find(&mut qm, passing, pass, &bad, "long"), 2097);
    assert_eq!(find(&mut qm, output, PutOptions::empty(), &bad, "long"), 2013);
    assert_eq!(find(&mut qm, output, PutOptions::empty(), &Mqmd::default(), "long"), 2051);
    qm.script("ALTER QLOCAL(Q) PUT(ENABLED)");
    assert_eq!(find(&mut qm, output, PutOptions::empty(), &Mqmd::default(), "long"), 2030);
    assert_eq!(find(&mut qm, output, PutOptions::empty(), &Mqmd::default(), "x"), 2053);
    qm.script("ALTER QLOCAL(Q) MAXDEPTH(2)");
    qm.script("ALTER QMGR MAXUMSGS(1)");
    put(&mut qm, conn, output, persistent(), options(PutOptions::SYNCPOINT), "x").unwrap();
    qm.script("ALTER QLOCAL(Q) MAXDEPTH(9)");
    assert_eq!(find(&mut qm, output, PutOptions::SYNCPOINT, &Mqmd::default(), "x"), 2024);
}

#[test]
fn a_quiescing_queue_manager_refuses_whom_it_was_asked_to() {
    let (mut qm, conn, handle) = world("");
    qm.turn(|qm, _, _, out| qm.quiesce(out));
    let wanted = options(PutOptions::FAIL_IF_QUIESCING);
    assert_eq!(put(&mut qm, conn, handle, persistent(), wanted.clone(), "x").unwrap_err().0, 2161);
    put(&mut qm, conn, handle, persistent(), Mqpmo::default(), "x").unwrap();
    assert_eq!(put1(&mut qm, conn, od("", "Q"), wanted).unwrap_err().0, 2161);
    put1(&mut qm, conn, od("", "Q"), Mqpmo::default()).unwrap();
    assert_eq!(qm.depth("Q"), 2);
}

#[test]
fn distribution_lists_are_refused() {
    let (mut qm, conn, handle) = world("");
    let lists = Mqpmo { version: 2, recs_present: 2, ..Mqpmo::default() };
    assert_eq!(put(&mut qm, conn, handle, persistent(), lists.clone(), "x").unwrap_err().0, 2154);
    let list = Mqod { recs_present: 2, ..od("", "") };
    assert_eq!(put1(&mut qm, conn, list.clone(), Mqpmo::default()).unwrap_err().0, 2044);
    assert_eq!(qm.open_od(conn, list, OpenOptions::OUTPUT).unwrap_err().0, 2044);
    // Version 1 has no such field: what is there is nothing.
    let first = Mqpmo { version: 1, ..lists };
    put(&mut qm, conn, handle, persistent(), first, "x").unwrap();
}

#[test]
fn an_alternate_user_is_for_those_who_may() {
    let (mut qm, conn, handle) = world("");
    let wanted = options(PutOptions::ALTERNATE_USER_AUTHORITY);
    let other = Mqod { alternate_user_id: Chars::cut("other"), ..od("", "Q") };
    put1(&mut qm, conn, other.clone(), wanted.clone()).unwrap();
    let taken = qm.get(conn, handle, GetOptions::empty()).unwrap();
    assert_eq!(taken.md.user_identifier.text(), "app", "whose rights are used is not who puts");
    let app = qm.connect_as(Rights::App);
    assert_eq!(put1(&mut qm, app, other, wanted).unwrap_err(), Reason::NOT_AUTHORIZED);
}

#[test]
fn groups_come_back_and_are_stored_as_they_are() {
    let (mut qm, conn, handle) = world("");
    let logical = options(PutOptions::LOGICAL_ORDER);
    let member = flagged(MessageFlags::MSG_IN_GROUP);
    let first = put(&mut qm, conn, handle, member.clone(), logical.clone(), "a").unwrap();
    let second = put(&mut qm, conn, handle, first.md.clone(), logical.clone(), "b").unwrap();
    assert_eq!((first.md.msg_seq_number, second.md.msg_seq_number), (1, 2));
    assert!(!first.md.group_id.is_none());
    assert_eq!(first.md.group_id, second.md.group_id);
    let warned = put(&mut qm, conn, handle, persistent(), Mqpmo::default(), "c").unwrap();
    assert_eq!((warned.cc, warned.reason), (CompCode::WARNING, Reason::INCOMPLETE_GROUP));
    let last = flagged(MessageFlags::LAST_MSG_IN_GROUP);
    let other = put(&mut qm, conn, handle, last.clone(), logical.clone(), "d").unwrap();
    assert_ne!(other.md.group_id, first.md.group_id, "the put between ended what was kept");
    assert_eq!(other.md.msg_flags, last.msg_flags, "flags that others imply are not given back");
    put(&mut qm, conn, handle, member.clone(), logical.clone(), "e").unwrap();
    let alone = flagged(MessageFlags::empty());
    let refused = put(&mut qm, conn, handle, alone, logical.clone(), "f").unwrap_err();
    assert_eq!(refused, Reason::INCOMPLETE_GROUP);
    let refused = put(&mut qm, conn, handle, persistent(), logical, "f").unwrap_err();
    assert_eq!(refused, Reason::WRONG_MD_VERSION);
    let mut qm = qm.restart();
    let conn = qm.connect();
    let handle = qm.open_all(conn, "Q");
    let mut found = Vec::new();
    while let Ok(taken) = qm.get(conn, handle, GetOptions::empty()) {
        found.push((text(&taken.body), taken.md.msg_seq_number, taken.md.msg_flags.bits()));
    }
    let expected = [("a", 1, 8), ("b", 2, 8), ("c", 1, 0), ("d", 1, 24), ("e", 1, 8)];
    assert_eq!(found, expected.map(|(body, seq, flags)| (body.to_owned(), seq, flags)));
}

#[test]
fn what_a_put_that_failed_would_have_been_is_not_kept() {
    let (mut qm, conn, handle) = world("MAXMSGL(3)");
    let logical = options(PutOptions::LOGICAL_ORDER);
    let member = flagged(MessageFlags::MSG_IN_GROUP);
    put(&mut qm, conn, handle, member.clone(), logical.clone(), "a").unwrap();
    assert_eq!(put(&mut qm, conn, handle, member.clone(), logical.clone(), "long").unwrap_err().0, 2030);
    let next = put(&mut qm, conn, handle, member.clone(), logical.clone(), "b").unwrap();
    assert_eq!(next.md.msg_seq_number, 2);
    // Another handle knows nothing of it.
    let other = qm.open(conn, "Q", OpenOptions::OUTPUT);
    assert_eq!(put(&mut qm, conn, other, member, logical, "c").unwrap().md.msg_seq_number, 1);
}

#[test]
fn a_long_message_is_cut_if_it_may_be() {
    let (mut qm, conn, handle) = world("MAXMSGL(1000)");
    let body = Bytes::from((0..2_500).map(|byte| byte as u8).collect::<Vec<_>>());
    let whole = put(&mut qm, conn, handle, persistent(), Mqpmo::default(), body.clone());
    assert_eq!(whole.unwrap_err(), Reason::MSG_TOO_BIG_FOR_Q);
    let may = flagged(MessageFlags::SEGMENTATION_ALLOWED);
    let done = put(&mut qm, conn, handle, may.clone(), Mqpmo::default(), body.clone()).unwrap();
    assert_eq!((done.reason, qm.depth("Q"), done.md.offset), (Reason::NONE, 3, 0));
    let mut qm = qm.restart();
    let conn = qm.connect();
    let handle = qm.open_all(conn, "Q");
    let (mut found, mut data) = (Vec::new(), Vec::new());
    while let Ok(taken) = qm.get(conn, handle, GetOptions::empty()) {
        assert_eq!(taken.md.group_id, done.md.group_id);
        let first = taken.md.msg_id == done.md.msg_id;
        found.push((taken.md.offset, taken.md.original_length, taken.md.msg_flags.bits(), first));
        data.extend_from_slice(&taken.body);
    }
    assert_eq!(found, [(0, 992, 3, true), (992, 992, 3, false), (1_984, 516, 7, false)]);
    assert_eq!(data, body);
    // What has an inner form cannot be cut.
    let commands = Mqmd { format: FormatName::CHANNEL_COMPLETED, ..may };
    let refused = put(&mut qm, conn, handle, commands.clone(), Mqpmo::default(), body.clone()).unwrap_err();
    assert_eq!(refused, Reason::MSG_TOO_BIG_FOR_Q);
    qm.script("ALTER QMGR MAXMSGL(32768)");
    let longer = Bytes::from(vec![7; 40_000]);
    let refused = put(&mut qm, conn, handle, commands, Mqpmo::default(), longer).unwrap_err();
    assert_eq!(refused, Reason::MSG_TOO_BIG_FOR_Q_MGR);
}

#[test]
fn segments_are_put_together_or_not_at_all() {
    let (mut qm, conn, handle) = world("MAXMSGL(100) MAXDEPTH(4)");
    let may = flagged(MessageFlags::SEGMENTATION_ALLOWED);
    let three = "x".repeat(250);
    let sync = options(PutOptions::SYNCPOINT);
    put(&mut qm, conn, handle, may.clone(), sync.clone(), three.clone()).unwrap();
    assert_eq!((qm.depth("Q"), qm.view("Q").uncommitted), (3, 3));
    let full = put(&mut qm, conn, handle, may.clone(), sync.clone(), three.clone()).unwrap_err();
    assert_eq!((full, qm.depth("Q")), (Reason::Q_FULL, 3));
    let other = put(&mut qm, conn, handle, may.clone(), Mqpmo::default(), three.clone()).unwrap_err();
    assert_eq!(other, Reason::Q_FULL);
    qm.script("ALTER QLOCAL(Q) MAXDEPTH(9)");
    let other = put(&mut qm, conn, handle, may.clone(), Mqpmo::default(), three.clone()).unwrap_err();
    assert_eq!(other, Reason::UOW_NOT_AVAILABLE, "they would need a unit beside the one there is");
    put(&mut qm, conn, handle, may.clone(), Mqpmo::default(), "short").unwrap();
    qm.back(conn);
    assert_eq!(qm.depth("Q"), 1);
    qm.script("ALTER QMGR MAXUMSGS(2)");
    let many = put(&mut qm, conn, handle, may.clone(), sync, three.clone()).unwrap_err();
    assert_eq!(many, Reason::SYNCPOINT_LIMIT_REACHED);
    put(&mut qm, conn, handle, may, Mqpmo::default(), three).unwrap();
    assert_eq!((qm.depth("Q"), qm.restart().depth("Q")), (4, 4));
}

#[test]
fn segments_for_another_queue_manager() {
    let (mut qm, conn, _) = world("");
    qm.script("DEFINE QLOCAL(QM2) USAGE(XMITQ) MAXMSGL(4100)");
    let handle = qm.try_open(conn, ("QM2", "THERE"), OpenOptions::OUTPUT).unwrap().handle;
    let may = flagged(MessageFlags::SEGMENTATION_ALLOWED);
    let done = put(&mut qm, conn, handle, may, Mqpmo::default(), "x".repeat(150)).unwrap();
    let transmission = qm.open_all(conn, "QM2");
    let mut found = Vec::new();
    while let Ok(taken) = qm.get(conn, transmission, GetOptions::empty()) {
        let mut reader = Reader::new(&taken.body, Coding::NATIVE);
        let header = Mqxqh::decode(&mut reader).unwrap();
        assert_eq!(header.msg_desc.format, FormatName::MD_EXTENSION);
        let extension = Mqmde::decode(&mut reader).unwrap();
        assert_eq!(extension.group_id, done.md.group_id);
        assert_eq!(
            (taken.md.msg_flags.bits(), taken.md.group_id.is_none()),
            (0, true),
            "not in the outer one"
        );
        found.push((extension.offset, extension.msg_flags.bits(), reader.rest().len()));
    }
    assert_eq!(found, [(0, 3, 96), (96, 7, 54)]);
}

/// An MQMDE of a message that is the fifth of its group, in front of some text.
fn extended(change: impl FnOnce(&mut Mqmde)) -> Bytes {
    let mut extension = Mqmde {
        ccsid: Ccsid::UTF_8,
        encoding: Encoding::BIG,
        format: FormatName::STRING,
        group_id: GroupId(id(9)),
        msg_seq_number: 5,
        msg_flags: MessageFlags::MSG_IN_GROUP,
        ..Mqmde::default()
    };
    change(&mut extension);
    let mut out = BytesMut::new();
    let mut writer = Writer::new(&mut out, Coding::NATIVE);
    extension.encode(&mut writer);
    writer.raw(b"text");
    out.freeze()
}

#[test]
fn an_extension_in_front_of_the_data_counts() {
    let (mut qm, conn, handle) = world("");
    let plain = Mqmd { format: FormatName::MD_EXTENSION, ..persistent() };
    let same = extended(|_| ());
    for (md, counts) in [
        (plain.clone(), true),
        (Mqmd { ccsid: Ccsid::LATIN_1, ..plain.clone() }, true),
        (Mqmd { version: 2, ..plain.clone() }, true),
        (Mqmd { version: 2, msg_flags: MessageFlags::LAST_MSG_IN_GROUP, ..plain.clone() }, false),
        (Mqmd { encoding: Encoding::BIG, ..plain.clone() }, false),
        (Mqmd { ccsid: Ccsid(500), ..plain.clone() }, false),
        (Mqmd { format: FormatName::STRING, ..plain.clone() }, false),
    ] {
        put(&mut qm, conn, handle, md.clone(), Mqpmo::default(), same.clone()).unwrap();
        let taken = qm.get(conn, handle, GetOptions::empty()).unwrap();
        if counts {
            let found = (taken.md.group_id.0, taken.md.msg_seq_number, taken.md.msg_flags.bits());
            assert_eq!(found, (id(9), 5, 8), "{md:?}");
            let form = (taken.md.format, taken.md.ccsid, taken.md.encoding);
            assert_eq!(form, (FormatName::STRING, Ccsid::UTF_8, Encoding::BIG), "{md:?}");
            assert_eq!(text(&taken.body), "text");
        } else {
            assert_eq!((taken.body, taken.md.format), (same.clone(), md.format), "it is data");
        }
    }
    let mut refused = |body: Bytes| put(&mut qm, conn, handle, plain.clone(), Mqpmo::default(), body).err();
    for length in 0..72 {
        assert_eq!(refused(same.slice(..length)), Some(Reason::MDE_ERROR), "{length}");
    }
    for wrong in [
        extended(|extension| extension.struc_length = 60),
        extended(|extension| extension.flags = 1),
        extended(|extension| extension.version = 1),
    ] {
        assert_eq!(refused(wrong), Some(Reason::MDE_ERROR));
    }
    // What it says is checked as the descriptor is.
    assert_eq!(
        refused(extended(|extension| extension.msg_seq_number = 0)),
        Some(Reason::MSG_SEQ_NUMBER_ERROR)
    );
}

#[test]
fn headers_are_looked_at_behind_a_descriptor_of_version_2() {
    let (mut qm, conn, handle) = world("");
    qm.script("DEFINE QLOCAL(X) USAGE(XMITQ)");
    let raw = qm.open(conn, "X", OpenOptions::OUTPUT);
    let first = Mqmd { format: FormatName::XMIT_Q_HEADER, ..persistent() };
    let second = Mqmd { version: 2, ..first.clone() };
    put(&mut qm, conn, handle, first, Mqpmo::default(), "none").unwrap();
    assert_eq!(put(&mut qm, conn, handle, second.clone(), Mqpmo::default(), "none").unwrap_err().0, 2260);
    // What is wrong on a transmission queue is found at its end.
    put(&mut qm, conn, raw, second, Mqpmo::default(), "none").unwrap();
}

#[test]
fn of_several_warnings_one_is_given() {
    let (mut qm, conn, handle) = world("");
    let report = ReportOptions::from_bits_retain(0x8);
    let unknown = Mqmd { version: 2, report, ..persistent() };
    let done = put(&mut qm, conn, handle, unknown.clone(), Mqpmo::default(), "x").unwrap();
    assert_eq!((done.cc, done.reason.0), (CompCode::WARNING, 2104));
    assert_eq!(qm.get(conn, handle, GetOptions::empty()).unwrap().md.report, report, "it is kept");
    let both = Mqmd { priority: 10, ..unknown };
    let done = put(&mut qm, conn, handle, both, Mqpmo::default(), "x").unwrap();
    assert_eq!((done.cc, done.reason), (CompCode::WARNING, Reason::PRIORITY_EXCEEDS_MAXIMUM));
    assert_eq!(done.md.priority, 10, "the application's own is not changed");
    put(&mut qm, conn, handle, Mqmd { priority: 9, ..persistent() }, Mqpmo::default(), "y").unwrap();
    let first = qm.get(conn, handle, GetOptions::empty()).unwrap();
    assert_eq!((text(&first.body).as_str(), first.md.priority), ("x", 10), "kept, and in the place of 9");
}

/// Reason 2478 (IBM MQ reference).
#[test]
fn properties_that_are_longer_than_maxpropl() {
    let mut qm = Qm::new();
    qm.script("DEFINE QLOCAL(Q)");
    let conn = qm.connect();
    let handle = qm.open_all(conn, "Q");
    let put = |qm: &mut Qm, length: u32| {
        let properties = crate::Properties { length, compatible: true };
        let body = Bytes::from(vec![b'x'; 100]);
        let (md, pmo, passed) = (persistent(), Mqpmo::default(), None);
        let request = PutRequest { handle, md, pmo, body, passed, properties };
        reason(&qm.call(conn, Verb::Put(Box::new(request))).reply).0
    };
    assert_eq!(put(&mut qm, 100), 0, "NOLIMIT");
    qm.script("ALTER QMGR MAXPROPL(40)");
    assert_eq!((put(&mut qm, 40), put(&mut qm, 41), put(&mut qm, 0)), (0, 2478, 0));
    qm.script("ALTER QMGR MAXPROPL(0)");
    assert_eq!((put(&mut qm, 1), put(&mut qm, 0)), (2478, 0));
    qm.script("ALTER QMGR MAXPROPL(NOLIMIT)");
    assert_eq!(put(&mut qm, 100), 0);
    assert_eq!(qm.depth("Q"), 5);
}
