//! Dynamic queues.

use mq_wire::*;

use super::harness::*;
use crate::*;

const MODEL: &str = "SYSTEM.DEFAULT.MODEL.QUEUE";

fn make(qm: &mut Qm, conn: ConnId, model: &str, name: &str) -> Result<(i32, String), Reason> {
    let od = Mqod { dynamic_q_name: ObjectName(Chars::cut(name)), ..od("", model) };
    qm.open_od(conn, od, IO.union(OpenOptions::BROWSE)).map(|opened| {
        assert_eq!(opened.od.object_q_mgr_name.to_string(), "QM1");
        assert_eq!(opened.od.resolved_q_name, opened.od.object_name);
        (opened.handle, opened.od.object_name.to_string())
    })
}

/// What the PCF agent of the base client does.
#[test]
fn a_temporary_queue_goes_with_its_handle() {
    let mut qm = Qm::new();
    let conn = qm.connect_as(Rights::App);
    let (handle, name) = make(&mut qm, conn, MODEL, "AMQ.*").unwrap();
    let (_, other) = make(&mut qm, conn, MODEL, "AMQ.*").unwrap();
    assert_ne!(name, other);
    assert!(name.starts_with("AMQ.") && name.len() <= 48, "{name}");
    assert_eq!(qm.put(conn, handle, "x"), Reason::PERSISTENT_NOT_ALLOWED);
    qm.put1(conn, ("", &name), PutOptions::empty(), Mqmd::default()).unwrap();
    assert_eq!(qm.next(conn, handle).unwrap(), "data");
    qm.put1(conn, ("", &name), PutOptions::empty(), Mqmd::default()).unwrap();
    let writer = qm.connect();
    let writing = qm.open(writer, &name, OpenOptions::OUTPUT);
    assert_eq!(qm.close(conn, handle, CloseOptions::empty()), Reason::NONE);
    assert_eq!(qm.put(writer, writing, "x"), Reason::Q_DELETED);
    assert_eq!(qm.try_open(conn, ("", &name), IO).unwrap_err(), Reason::UNKNOWN_OBJECT_NAME);
    qm.closed(conn);
    assert_eq!(qm.try_open(writer, ("", &other), IO).unwrap_err(), Reason::UNKNOWN_OBJECT_NAME);
    assert!(qm.store().recovered().messages.is_empty());
}

#[test]
fn a_permanent_queue_stays_until_it_is_deleted() {
    let mut qm = Qm::new();
    qm.script("DEFINE QMODEL(PERM) DEFTYPE(PERMDYN) MAXDEPTH(9) DEFSOPT(SHARED) SHARE");
    let conn = qm.connect();
    let (handle, name) = make(&mut qm, conn, "PERM", "MINE").unwrap();
    assert_eq!(name, "MINE");
    assert_eq!(make(&mut qm, conn, "PERM", "MINE").unwrap_err(), Reason::OBJECT_ALREADY_EXISTS);
    assert_eq!(qm.put(conn, handle, "x"), Reason::NONE);
    assert_eq!(qm.close(conn, handle, CloseOptions::empty()), Reason::NONE);
    let mut qm = qm.restart();
    let conn = qm.connect();
    let handle = qm.open_all(conn, "MINE");
    assert_eq!(qm.close(conn, handle, CloseOptions::DELETE), Reason::Q_NOT_EMPTY);
    qm.put_sync(conn, handle, "y");
    assert_eq!(qm.close(conn, handle, CloseOptions::DELETE_PURGE), Reason::Q_NOT_EMPTY, "uncommitted");
    qm.back(conn);
    assert_eq!(qm.close(conn, handle, CloseOptions::DELETE_PURGE), Reason::NONE);
    let mut qm = qm.restart();
    let conn = qm.connect();
    assert_eq!(qm.try_open(conn, ("", "MINE"), IO).unwrap_err(), Reason::UNKNOWN_OBJECT_NAME);
    assert!(qm.store().recovered().messages.is_empty());
}

#[test]
fn names_and_uses_that_are_refused() {
    let mut qm = Qm::new();
    let conn = qm.connect();
    for name in ["", "A B", "A*B", "THIS.PREFIX.IS.LONGER.THAN.33.CHARS.*"] {
        assert_eq!(make(&mut qm, conn, MODEL, name).unwrap_err().0, 2011, "{name}");
    }
    let put = qm.put1(conn, ("", MODEL), PutOptions::empty(), Mqmd::default());
    assert_eq!(put.unwrap_err(), Reason::Q_TYPE_ERROR);
    let predefined = qm.open_all(conn, "DEV.QUEUE.1");
    let refused = qm.close(conn, predefined, CloseOptions::DELETE);
    assert_eq!(refused, Reason::OPTION_NOT_VALID_FOR_TYPE);
}

/// What units of work hold of a temporary queue when it goes, goes with them.
#[test]
fn a_temporary_queue_goes_under_a_unit_of_work() {
    for commit in [true, false] {
        let mut qm = Qm::new();
        let conn = qm.connect();
        let other = qm.connect();
        let (handle, name) = make(&mut qm, conn, MODEL, "AMQ.*").unwrap();
        let writing = qm.open(other, &name, OpenOptions::OUTPUT);
        qm.put_md(other, writing, Mqmd::default(), PutOptions::SYNCPOINT, "a");
        qm.put_md(conn, handle, Mqmd::default(), PutOptions::empty(), "b");
        qm.get(conn, handle, GetOptions::SYNCPOINT).unwrap();
        assert_eq!(qm.close(conn, handle, CloseOptions::empty()), Reason::NONE);
        for conn in [conn, other] {
            if commit {
                assert_eq!(reason(&qm.commit(conn).reply), Reason::NONE);
            } else {
                qm.back(conn);
            }
        }
        assert!(qm.store().recovered().messages.is_empty(), "nothing is left behind");
    }
}
