//! MQINQ and MQSET, and who may open what.

use bytes::Bytes;
use mq_wire::*;

use super::harness::*;
use crate::*;

fn inquire(qm: &mut Qm, conn: ConnId, handle: i32, selectors: &[i32]) -> Result<Inquired, Reason> {
    match qm
        .call(
            conn,
            Verb::Inquire { handle, selectors: selectors.to_vec(), int_count: 256, char_length: 4096 },
        )
        .reply
    {
        Reply::Inquired(inquired) => Ok(*inquired),
        other => Err(reason(&other)),
    }
}

/// What the base client asks at its start (mq-wire-observed-base.md 2.3).
#[test]
fn the_queue_manager() {
    let mut qm = Qm::new();
    let conn = qm.connect_as(Rights::App);
    let od = Mqod { object_type: ObjectType::Q_MGR, ..Mqod::default() };
    let options = OpenOptions::INQUIRE | OpenOptions::FAIL_IF_QUIESCING;
    let handle = qm.open_od(conn, od.clone(), options).unwrap().handle;
    let inquired = inquire(&mut qm, conn, handle, &[31, 32, 2, 2015, 2032, 273]).unwrap();
    assert_eq!(inquired.integers, [930, 3, 819, 0]);
    assert_eq!(text(&inquired.characters), format!("{:48}{:48}", "QM1", "QM1_2025-01-01_00.00.00"));
    let inquired = inquire(&mut qm, conn, handle, &[2006, 2003, 30, 14, 13]).unwrap();
    assert_eq!(inquired.integers, [1, 9, 4_194_304]);
    let names = format!("{:48}{:48}", "DEV.DEAD.LETTER.QUEUE", "SYSTEM.ADMIN.COMMAND.QUEUE");
    assert_eq!(text(&inquired.characters), names);
    assert_eq!(inquire(&mut qm, conn, handle, &[9_999]).unwrap_err(), Reason::SELECTOR_ERROR);
    let input = OpenOptions::INPUT_SHARED;
    assert_eq!(qm.open_od(conn, od.clone(), input).unwrap_err(), Reason::OPTION_NOT_VALID_FOR_TYPE);
    let elsewhere = Mqod { object_q_mgr_name: QMgrName::new("QM2").unwrap(), ..od };
    assert_eq!(qm.open_od(conn, elsewhere, OpenOptions::INQUIRE).unwrap_err(), Reason::UNKNOWN_OBJECT_Q_MGR);
}

#[test]
fn queues() {
    let mut qm = Qm::new();
    qm.script("DEFINE QLOCAL(Q) DESCR('a queue') MAXDEPTH(77) BOTHRESH(3) BOQNAME(POISON)");
    qm.script("DEFINE QALIAS(A) TARGET(Q)");
    qm.script("DEFINE QREMOTE(R) RNAME(THERE) RQMNAME(QM2) XMITQ(GATE1)");
    let conn = qm.connect();
    let local = qm.open_all(conn, "Q");
    qm.put(conn, local, "x");
    qm.put_sync(conn, local, "y");
    let inquired =
        inquire(&mut qm, conn, local, &[3, 15, 17, 18, 20, 12, 22, 7, 8, 9, 10, 16, 5, 4, 23]).unwrap();
    assert_eq!(inquired.integers, [2, 77, 1, 1, 1, 0, 3, 1, 1, 0, 0, 0, 0, 2, 1]);
    let inquired = inquire(&mut qm, conn, local, &[2013, 2016, 2019, 2004, 2005]).unwrap();
    let expected = format!("{:64}{:48}{:48}{:12}{:8}", "a queue", "Q", "POISON", "2025-01-01", "00.00.00");
    assert_eq!(text(&inquired.characters), expected);
    let alias = qm.open(conn, "A", OpenOptions::INQUIRE);
    let inquired = inquire(&mut qm, conn, alias, &[20, 2002, 2016, 3]).unwrap();
    assert_eq!((inquired.cc, inquired.reason), (CompCode::WARNING, Reason::SELECTOR_NOT_FOR_TYPE));
    assert_eq!(inquired.integers, [3, -1]);
    assert_eq!(text(&inquired.characters), format!("{:48}{:48}", "Q", "A"));
    let remote = qm.open(conn, "R", OpenOptions::INQUIRE);
    let inquired = inquire(&mut qm, conn, remote, &[20, 2018, 2017, 2024]).unwrap();
    assert_eq!(inquired.integers, [6]);
    assert_eq!(text(&inquired.characters), format!("{:48}{:48}{:48}", "THERE", "QM2", "GATE1"));
    let output = qm.open(conn, "Q", OpenOptions::OUTPUT);
    assert_eq!(inquire(&mut qm, conn, output, &[3]).unwrap_err(), Reason::NOT_OPEN_FOR_INQUIRE);
}

#[test]
fn setting() {
    let mut qm = Qm::new();
    qm.script("DEFINE QLOCAL(Q)");
    let conn = qm.connect();
    let handle = qm.open(conn, "Q", OpenOptions::SET | OpenOptions::INQUIRE | IO);
    let set = |qm: &mut Qm, selectors: &[i32], integers: &[i32], characters: &str| {
        let characters = Bytes::copy_from_slice(characters.as_bytes());
        let (selectors, integers) = (selectors.to_vec(), integers.to_vec());
        reason(
            &qm.call(conn, Verb::Set(Box::new(SetRequest { handle, selectors, integers, characters }))).reply,
        )
    };
    assert_eq!(set(&mut qm, &[10, 2023, 29], &[1, 5], &format!("{:64}", "data")), Reason::NONE);
    assert_eq!(qm.put(conn, handle, "x"), Reason::PUT_INHIBITED);
    let inquired = inquire(&mut qm, conn, handle, &[10, 29, 2023]).unwrap();
    assert_eq!((&inquired.integers[..], text(&inquired.characters)), (&[1, 5][..], format!("{:64}", "data")));
    assert_eq!(set(&mut qm, &[15], &[1], ""), Reason::SELECTOR_ERROR, "MAXDEPTH is not for MQSET");
    assert_eq!(set(&mut qm, &[9], &[7], "").0, 2020);
    assert_eq!(set(&mut qm, &[9], &[], ""), Reason::INT_ATTR_COUNT_ERROR);
    assert_eq!(set(&mut qm, &[2023], &[], "short").0, 2006);
    assert_eq!(set(&mut qm, &[28], &[9], "").0, 2078);
    let qm = qm.restart();
    assert!(!qm.qm.directory.by_name(QName::new("Q").unwrap()).unwrap().facts.put, "it is durable");
}

#[test]
fn sharing() {
    let mut qm = Qm::new();
    qm.script("DEFINE QLOCAL(Q)");
    qm.script("DEFINE QLOCAL(ONE) NOSHARE");
    qm.script("DEFINE QLOCAL(EXCL) DEFSOPT(EXCL)");
    let conn = qm.connect();
    let shared = qm.open(conn, "Q", OpenOptions::INPUT_SHARED);
    let exclusive =
        |qm: &mut Qm| qm.try_open(conn, ("", "Q"), OpenOptions::INPUT_EXCLUSIVE).map(|opened| opened.handle);
    assert_eq!(exclusive(&mut qm), Err(Reason::OBJECT_IN_USE));
    qm.close(conn, shared, CloseOptions::empty());
    let only = exclusive(&mut qm).unwrap();
    assert_eq!(qm.try_open(conn, ("", "Q"), OpenOptions::INPUT_SHARED).unwrap_err(), Reason::OBJECT_IN_USE);
    qm.open(conn, "Q", OpenOptions::BROWSE | OpenOptions::OUTPUT);
    qm.close(conn, only, CloseOptions::empty());
    qm.open(conn, "Q", OpenOptions::INPUT_SHARED);
    for queue in ["ONE", "EXCL"] {
        let first = qm.open(conn, queue, OpenOptions::INPUT_AS_Q_DEF);
        let second = qm.try_open(conn, ("", queue), OpenOptions::INPUT_SHARED);
        assert_eq!(second.unwrap_err(), Reason::OBJECT_IN_USE, "{queue}");
        qm.close(conn, first, CloseOptions::empty());
        qm.open(conn, queue, OpenOptions::INPUT_AS_Q_DEF);
    }
}

#[test]
fn handles_have_a_limit() {
    let mut qm = Qm::new();
    qm.script("ALTER QMGR MAXHANDS(2)");
    let conn = qm.connect();
    let first = qm.open_all(conn, "DEV.QUEUE.1");
    qm.open_all(conn, "DEV.QUEUE.1");
    let refused = qm.try_open(conn, ("", "DEV.QUEUE.1"), IO).unwrap_err();
    assert_eq!(refused, Reason::HANDLE_NOT_AVAILABLE);
    qm.close(conn, first, CloseOptions::empty());
    let again = qm.open_all(conn, "DEV.QUEUE.1");
    assert_ne!(again, first, "a number is not used again at once");
    assert_eq!(qm.close(conn, first, CloseOptions::empty()), Reason::HOBJ_ERROR);
}

#[test]
fn who_may_what() {
    let mut qm = Qm::new();
    qm.script("DEFINE QALIAS(COMMANDS) TARGET(SYSTEM.ADMIN.COMMAND.QUEUE)");
    let app = qm.connect_as(Rights::App);
    let mut open = |conn, q_mgr, queue, options| qm.try_open(conn, (q_mgr, queue), options).map(|_| ()).err();
    let refused = Some(Reason::NOT_AUTHORIZED);
    assert_eq!(open(app, "", "DEV.QUEUE.1", IO), None);
    assert_eq!(open(app, "GATE1", "ORDERS%DEV00042", OpenOptions::OUTPUT), None);
    assert_eq!(open(app, "", "SYSTEM.ADMIN.COMMAND.QUEUE", OpenOptions::OUTPUT), refused);
    assert_eq!(open(app, "", "SYSTEM.ADMIN.COMMAND.QUEUE", OpenOptions::INQUIRE), refused);
    assert_eq!(open(app, "", "COMMANDS", OpenOptions::OUTPUT), None, "the alias is what is asked about");
    assert_eq!(
        open(app, "", "SYSTEM.PROTECTION.POLICY.QUEUE", OpenOptions::BROWSE),
        Some(Reason::UNKNOWN_OBJECT_NAME)
    );
    assert_eq!(open(app, "", "DEV.QUEUE.1", OpenOptions::SET), refused);
    assert_eq!(open(app, "", "DEV.QUEUE.1", OpenOptions::OUTPUT | OpenOptions::SET_ALL_CONTEXT), refused);
    assert_eq!(open(app, "", "DEV.QUEUE.1", OpenOptions::OUTPUT | OpenOptions::PASS_ALL_CONTEXT), None);
    let set = qm.put1(app, ("", "DEV.QUEUE.1"), PutOptions::SET_ALL_CONTEXT, Mqmd::default());
    assert_eq!(set.unwrap_err(), Reason::NOT_AUTHORIZED);
    let admin = qm.connect();
    qm.open(admin, "SYSTEM.ADMIN.COMMAND.QUEUE", OpenOptions::OUTPUT | OpenOptions::SET_ALL_CONTEXT);
}

#[test]
fn connecting() {
    let mut qm = Qm::new();
    let connect = |q_mgr: &str| {
        Verb::Connect(Box::new(Connect {
            q_mgr: QMgrName(Chars::cut(q_mgr)),
            user: Chars::BLANK,
            appl_name: Chars::BLANK,
            appl_type: ApplType::UNIX,
            rights: Rights::App,
        }))
    };
    let answered = qm.call(ConnId(1), connect("QM1"));
    let Reply::Connected(connected) = answered.reply else { panic!() };
    assert_eq!((connected.q_mgr.to_string().as_str(), connected.ccsid), ("QM1", Ccsid::LATIN_1));
    assert_eq!(reason(&qm.call(ConnId(2), connect("QM2")).reply), Reason::Q_MGR_NAME_ERROR);
    assert_eq!(reason(&qm.call(ConnId(1), connect("")).reply), Reason::ALREADY_CONNECTED);
}
