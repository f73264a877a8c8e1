//! Name resolution: the test vectors of mq-objects.md 5.7, reply-to aliases (5.6), what is checked after it (5.4).

use mq_wire::*;

use super::harness::*;
use crate::*;

const OBJECTS: &str = "
    DEFINE QLOCAL(QL1)
    DEFINE QLOCAL(XQ2) USAGE(XMITQ)
    DEFINE QLOCAL(QM3) USAGE(XMITQ)
    DEFINE QALIAS(QA1) TARGET(QL1)
    DEFINE QALIAS(QA2) TARGET(QR2)
    DEFINE QALIAS(QA3) TARGET(QA1)
    DEFINE QALIAS(QA4) TARGET(NOQ)
    DEFINE QREMOTE(QR2) RNAME(R2) RQMNAME(QM2) XMITQ(XQ2)
    DEFINE QREMOTE(QR3) RNAME(R3) RQMNAME(QM3)
    DEFINE QREMOTE(QR4) RNAME(R4) RQMNAME(QM4)
    DEFINE QREMOTE(QR5) RNAME(R5) RQMNAME(QM1) XMITQ(XQ2)
    DEFINE QREMOTE(QR6) RNAME(R6) RQMNAME(QM6) XMITQ(NOQ)
    DEFINE QREMOTE(QR7) RNAME(R7) RQMNAME(QM7) XMITQ(QL1)
    DEFINE QREMOTE(QR8) RNAME(R8) RQMNAME(QM8) XMITQ(QA1)
    DEFINE QREMOTE(QR9) RNAME(R9) RQMNAME(QL1)
    DEFINE QREMOTE(QMA8) RQMNAME(QM8) XMITQ(XQ2)
    DEFINE QREMOTE(QMAL) RQMNAME(QM1)
    DEFINE QREMOTE(QMA9) RQMNAME(QM9)
    DEFINE QREMOTE(QMBL)
    DEFINE QMODEL(QMO)
";

/// What comes of a name, asked of each who resolves: where it leads, or the reason why it leads nowhere.
fn check(qm: &mut Qm, q_mgr: &str, queue: &str, expected: &str) {
    let names = format!("M {q_mgr:?} N {queue:?}");
    let explained = qm.qm.explain_route(QName(Chars::cut(queue)), QMgrName(Chars::cut(q_mgr)));
    let outcome = match &explained.outcome {
        RouteOutcome::Refused(reason) => reason.0.to_string(),
        outcome => outcome.to_string(),
    };
    assert_eq!(outcome, expected, "{names}: {:#?}", explained.steps);
    assert!(explained.steps.iter().all(|step| step.ends_with('.')), "{names}: {:#?}", explained.steps);
    assert!(!explained.steps.is_empty());
    let conn = qm.connect();
    let opened = qm.try_open(conn, (q_mgr, queue), OpenOptions::OUTPUT);
    let local = qm.try_open(conn, (q_mgr, queue), OpenOptions::OUTPUT | OpenOptions::RESOLVE_LOCAL_Q);
    let found = match (opened, local) {
        (Ok(opened), Ok(local)) => {
            let (od, used) = (opened.od, local.od.resolved_q_name);
            match od.resolved_q_mgr_name.to_string().as_str() {
                "QM1" => format!("local {}", od.resolved_q_name),
                q_mgr => format!("{} at {q_mgr} via {used}", od.resolved_q_name),
            }
        }
        (Err(reason), Err(_)) => reason.0.to_string(),
        other => panic!("{other:?}"),
    };
    assert_eq!(found, expected, "{names}");
    // MQPUT1 resolves likewise.
    match qm.put1(conn, (q_mgr, queue), PutOptions::empty(), Mqmd::default()) {
        Ok(put) => {
            let resolved = put.pmo.resolved_q_mgr_name.to_string();
            let q_mgr = if resolved == "QM1" { "local".to_owned() } else { resolved };
            assert!(expected.contains(&q_mgr), "{expected}: {q_mgr}");
        }
        Err(reason) => assert_eq!(reason.0.to_string(), expected),
    }
    qm.closed(conn);
}

/// DEFXMITQ, M, N, where it leads. First every vector of mq-objects.md 5.7, then what else 5.3 and 5.5 say.
const VECTORS: &[(&str, &str, &str, &str)] = &[
    ("", "", "QL1", "local QL1"),
    ("", "", "QA1", "local QL1"),
    ("", "", "QA2", "R2 at QM2 via XQ2"),
    ("", "", "QA3", "2001"),
    ("", "", "QR2", "R2 at QM2 via XQ2"),
    ("", "QM1", "QR2", "R2 at QM2 via XQ2"),
    ("", "", "QR3", "R3 at QM3 via QM3"),
    ("", "", "QR4", "2087"),
    ("XQ2", "", "QR4", "R4 at QM4 via XQ2"),
    ("NOPE", "", "QR4", "2197"),
    ("QA1", "", "QR4", "2198"),
    ("QL1", "", "QR4", "2199"),
    ("", "", "QR5", "2087"),
    ("", "", "QR6", "2196"),
    ("", "", "QR7", "2092"),
    ("", "", "QMA8", "2184"),
    ("", "", "NOQ", "2085"),
    ("", "", "XQ2", "local XQ2"),
    ("", "QM3", "ANY", "ANY at QM3 via QM3"),
    ("", "XQ2", "ANY", "ANY at XQ2 via XQ2"),
    ("", "QL1", "ANY", "2092"),
    ("", "QA1", "ANY", "2087"),
    ("", "QR2", "ANY", "2087"),
    ("", "QMA8", "ANY", "ANY at QM8 via XQ2"),
    ("", "QMAL", "QL1", "local QL1"),
    ("", "QMAL", "NOQ", "2085"),
    ("", "QMA9", "ANY", "2087"),
    ("XQ2", "QMA9", "ANY", "ANY at QM9 via XQ2"),
    ("", "UNKNOWN", "ANY", "2087"),
    ("XQ2", "UNKNOWN", "ANY", "ANY at UNKNOWN via XQ2"),
    ("", "BAD NAME", "ANY", "2086"),
    // From here on beside 5.7.
    ("", "", "QA4", "2082"),
    ("", "", "QR8", "2091"),
    ("", "", "QR9", "2092"),
    ("", "", "", "2085"),
    ("", "QM3", "", "2184"),
    ("", "QMAL", "", "2184"),
    ("", "QMO", "ANY", "2087"),
    ("", "QMAL", "QR2", "R2 at QM2 via XQ2"),
    ("", "QMAL", "QA2", "R2 at QM2 via XQ2"),
    ("", "QMAL", "QR5", "2087"),
    ("", "QMBL", "QL1", "local QL1"),
    ("NOPE", "UNKNOWN", "ANY", "2197"),
    ("QA1", "QMA9", "ANY", "2198"),
    ("QL1", "UNKNOWN", "ANY", "2199"),
    ("", "", "SYSTEM.PROTECTION.POLICY.QUEUE", "2085"),
    ("", "", "ONLY.A.CLUSTER.KNOWS", "2085"),
    ("", "CLUSTERQM", "ONLY.A.CLUSTER.KNOWS", "2087"),
    ("", "GATE1", "ORDERS%DEV00042", "ORDERS%DEV00042 at GATE1 via GATE1"),
];

/// Vectors of mq-objects.md 5.7: each name and each DEFXMITQ in it counts.
const VECTORS_OF_5_7: usize = 31;

#[test]
fn vectors() {
    let mut qm = Qm::new();
    qm.script(OBJECTS);
    for (default_xmitq, q_mgr, queue, expected) in VECTORS {
        qm.script(&format!("ALTER QMGR DEFXMITQ('{default_xmitq}')"));
        check(&mut qm, q_mgr, queue, expected);
    }
    println!("name resolution: {VECTORS_OF_5_7} vectors of 5.7, {} in all", VECTORS.len());
    assert_eq!(VECTORS[VECTORS_OF_5_7].2, "QA4");
}

#[test]
fn a_route_is_explained_step_by_step() {
    let mut qm = Qm::new();
    qm.script(OBJECTS);
    let explain = |qm: &Qm, q_mgr: &str, queue: &str| {
        qm.qm.explain_route(QName(Chars::cut(queue)), QMgrName(Chars::cut(q_mgr)))
    };
    let explained = explain(&qm, "", "QA2");
    let steps = [
        "No queue manager is named: QM1 looks the queue up itself.",
        "QA2 is an alias queue: its TARGET is 'QR2'.",
        "QR2 is a remote queue: R2 at 'QM2'.",
        "Its XMITQ is XQ2.",
        "XQ2 is a transmission queue: it is used.",
    ];
    assert_eq!(explained.steps, steps);
    assert_eq!(explained.outcome.to_string(), "R2 at QM2 via XQ2");
    let explained = explain(&qm, "QM7", "ANY");
    let steps = [
        "QM7 is another queue manager: a queue of that name says how to get there.",
        "There is no queue QM7.",
        "The queue manager has no DEFXMITQ, and belongs to no cluster.",
    ];
    assert_eq!(explained.steps, steps);
    assert_eq!(explained.outcome, RouteOutcome::Refused(Reason::UNKNOWN_REMOTE_Q_MGR));
    qm.script("ALTER QLOCAL(QL1) PUT(DISABLED)");
    let last = explain(&qm, "", "QA1").steps.pop();
    assert_eq!(last.unwrap(), "QL1 has PUT(DISABLED): until it is altered, a put ends with 2051.");
    let model = explain(&qm, "", "QMO").outcome;
    assert_eq!(model, RouteOutcome::Model { queue: QName::new("QMO").unwrap() });
}

#[test]
fn options_after_resolution() {
    let mut qm = Qm::new();
    qm.script(OBJECTS);
    let conn = qm.connect();
    let mut open = |q_mgr, queue, options| qm.try_open(conn, (q_mgr, queue), options).map(|_| ());
    for options in [OpenOptions::INPUT_SHARED, OpenOptions::BROWSE, OpenOptions::SET] {
        assert_eq!(open("", "QR2", options), Err(Reason::OPTION_NOT_VALID_FOR_TYPE), "{options:?}");
        assert_eq!(open("QM3", "ANY", options), Err(Reason::OPTION_NOT_VALID_FOR_TYPE), "{options:?}");
    }
    assert_eq!(open("", "QR2", OpenOptions::INQUIRE), Ok(()));
    assert_eq!(open("", "QR4", OpenOptions::INQUIRE), Ok(()), "only the definition is asked for");
    assert_eq!(open("", "QA4", OpenOptions::INQUIRE | OpenOptions::SET), Ok(()));
    assert_eq!(open("QM3", "ANY", OpenOptions::INQUIRE), Err(Reason::OPTION_NOT_VALID_FOR_TYPE));
    assert_eq!(open("", "QL1", OpenOptions::empty()), Err(Reason::OPTIONS_ERROR));
    let both = OpenOptions::INPUT_SHARED | OpenOptions::INPUT_EXCLUSIVE;
    assert_eq!(open("", "QL1", both), Err(Reason::OPTIONS_ERROR));
}

#[test]
fn puts_are_inhibited_anywhere_on_the_way() {
    let mut qm = Qm::new();
    qm.script(OBJECTS);
    let conn = qm.connect();
    for (definition, q_mgr, queue) in [
        ("QALIAS(QA2)", "", "QA2"),
        ("QREMOTE(QR2)", "", "QA2"),
        ("QLOCAL(XQ2)", "", "QA2"),
        ("QREMOTE(QMA8)", "QMA8", "ANY"),
        ("QLOCAL(QM3)", "QM3", "ANY"),
        ("QREMOTE(QMAL)", "QMAL", "QL1"),
    ] {
        qm.script(&format!("ALTER {definition} PUT(DISABLED)"));
        let refused = qm.put1(conn, (q_mgr, queue), PutOptions::empty(), Mqmd::default());
        assert_eq!(refused.unwrap_err(), Reason::PUT_INHIBITED, "{definition}");
        qm.script(&format!("ALTER {definition} PUT(ENABLED)"));
        qm.put1(conn, (q_mgr, queue), PutOptions::empty(), Mqmd::default()).unwrap();
    }
}

#[test]
fn defaults_are_those_of_the_definition_named_first() {
    let mut qm = Qm::new();
    qm.script("DEFINE QLOCAL(Q) DEFPRTY(2) DEFPSIST(NO)");
    qm.script("DEFINE QALIAS(A) TARGET(Q) DEFPRTY(7) DEFPSIST(YES)");
    let conn = qm.connect();
    let handle = qm.open_all(conn, "Q");
    let mut check = |name, priority, persistence| {
        qm.put1(conn, ("", name), PutOptions::empty(), Mqmd::default()).unwrap();
        let md = qm.get(conn, handle, GetOptions::empty()).unwrap().md;
        assert_eq!((md.priority, md.persistence), (priority, persistence), "{name}");
    };
    check("A", 7, Persistence::PERSISTENT);
    check("Q", 2, Persistence::NOT_PERSISTENT);
}

#[test]
fn reply_to_aliases() {
    let mut qm = Qm::new();
    qm.script("DEFINE QREMOTE(REPLYALIAS) RNAME(REPLIES) RQMNAME(BACKROUTE) XMITQ(NOQ)");
    let conn = qm.connect();
    let handle = qm.open_all(conn, "DEV.QUEUE.1");
    let mut check = |queue: &str, q_mgr: &str, expected: (&str, &str)| {
        let (reply_to_q, reply_to_q_mgr) = (QName(Chars::cut(queue)), QMgrName(Chars::cut(q_mgr)));
        let md = Mqmd { reply_to_q, reply_to_q_mgr, ..Mqmd::default() };
        qm.put_md(conn, handle, md, PutOptions::empty(), "x");
        let md = qm.get(conn, handle, GetOptions::empty()).unwrap().md;
        let found = (md.reply_to_q.to_string(), md.reply_to_q_mgr.to_string());
        assert_eq!((found.0.as_str(), found.1.as_str()), expected, "{queue} {q_mgr}");
    };
    check("REPLYALIAS", "", ("REPLIES", "BACKROUTE"));
    check("REPLYALIAS", "QM9", ("REPLYALIAS", "QM9"));
    check("NOT.THERE", "", ("NOT.THERE", "QM1"));
    check("", "", ("", "QM1"));
}

/// What a real application puts to a device, byte for byte where it is ours to say (mq-objects.md 1.7).
#[test]
fn a_message_for_the_gateway_is_wrapped() {
    let mut qm = Qm::new();
    let conn = qm.connect();
    let md = Mqmd {
        format: Chars::cut("MQSTR"),
        reply_to_q: QName::new("REPLY").unwrap(),
        correl_id: CorrelId(id(9)),
        ..Mqmd::default()
    };
    let put = qm.put1(conn, ("GATE1", "ORDERS%DEV00042"), PutOptions::empty(), md).unwrap();
    assert_eq!(put.pmo.unknown_dest_count, 1);
    let handle = qm.open_all(conn, "GATE1");
    let taken = qm.get(conn, handle, GetOptions::empty()).unwrap();
    let mut reader = Reader::new(&taken.body, Coding::NATIVE);
    let header = Mqxqh::decode(&mut reader).unwrap();
    assert_eq!(reader.rest(), b"data");
    assert_eq!(header.remote_q_name.to_string(), "ORDERS%DEV00042");
    assert_eq!(header.remote_q_mgr_name.to_string(), "GATE1");
    let inner = header.msg_desc;
    assert_eq!((inner.msg_id, inner.correl_id), (put.md.msg_id, CorrelId(id(9))));
    assert_eq!((inner.ccsid, inner.priority, inner.put_appl_type), (Ccsid::LATIN_1, 0, ApplType::UNIX));
    assert_eq!(inner.reply_to_q_mgr.to_string(), "QM1");
    assert_eq!(inner.persistence, Persistence::PERSISTENT, "DEFPSIST of the transmission queue");
    let outer = taken.md;
    assert_eq!(outer.format.text(), "MQXMIT");
    assert_eq!(
        (outer.version, outer.put_appl_type, outer.put_appl_name.text()),
        (2, ApplType::QMGR, "QM1".to_owned())
    );
    assert_eq!(outer.correl_id, CorrelId::from(inner.msg_id));
    assert_ne!(outer.msg_id, inner.msg_id);
    assert_eq!(&outer.msg_id.0[..16], b"AMQ QM1         ");
    assert_eq!(
        (inner.put_date.text(), inner.put_time.text()),
        ("20250101".to_owned(), "00000000".to_owned())
    );
}

#[test]
fn open_handles_know_when_their_way_has_changed() {
    let mut qm = Qm::new();
    qm.script(OBJECTS);
    let conn = qm.connect();
    let handle = qm.open(conn, "QA1", OpenOptions::OUTPUT);
    assert!(matches!(
        qm.mqsc("ALTER QALIAS(QA1) TARGET(QR2)"),
        mqsc::Outcome::Failed(mqsc::Refusal::InUse { .. })
    ));
    assert_eq!(qm.put(conn, handle, "x"), Reason::NONE);
    qm.script("ALTER QALIAS(QA1) TARGET(QR2) FORCE");
    assert_eq!(qm.put(conn, handle, "x"), Reason::OBJECT_CHANGED);
}
