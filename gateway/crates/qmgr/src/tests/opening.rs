//! What can be opened, how, and how it is closed.

use mq_wire::*;

use super::harness::*;
use crate::*;

fn start() -> (Qm, ConnId) {
    let mut qm = Qm::new();
    qm.script("DEFINE QLOCAL(Q)");
    let conn = qm.connect();
    (qm, conn)
}

/// IBM MQ reference, "Rules for validating MQI options".
#[test]
fn options_that_go_together() {
    use OpenOptions as O;
    let (mut qm, conn) = start();
    let mut check = |options: &[O], fits: bool| {
        let options = options.iter().fold(O::empty(), |all, option| all | *option);
        let reason = match qm.try_open(conn, ("", "Q"), options) {
            Ok(opened) => qm.close(conn, opened.handle, CloseOptions::empty()),
            Err(reason) => reason,
        };
        assert_eq!(reason, if fits { Reason::NONE } else { Reason::OPTIONS_ERROR }, "{options:?}");
    };
    let alone = [O::INPUT_AS_Q_DEF, O::INPUT_SHARED, O::INPUT_EXCLUSIVE, O::BROWSE, O::OUTPUT, O::INQUIRE];
    let more = [O::SET, O::BIND_ON_OPEN, O::BIND_NOT_FIXED, O::BIND_ON_GROUP];
    alone.into_iter().chain(more).for_each(|option| check(&[option], true));
    let not = [O::empty(), O::SAVE_ALL_CONTEXT, O::PASS_ALL_CONTEXT, O::SET_IDENTITY_CONTEXT, O::CO_OP];
    let nor = [O::ALTERNATE_USER_AUTHORITY, O::FAIL_IF_QUIESCING, O::RESOLVE_LOCAL_Q, O::READ_AHEAD];
    let these = [O::NO_MULTICAST, O::from_bits_retain(0x200_0000)];
    not.into_iter().chain(nor).chain(these).for_each(|option| check(&[option], false));
    check(&[O::INPUT_SHARED, O::INPUT_EXCLUSIVE], false);
    check(&[O::OUTPUT, O::BIND_ON_OPEN, O::BIND_NOT_FIXED], false);
    check(&[O::INPUT_SHARED, O::READ_AHEAD, O::NO_READ_AHEAD], false);
    check(&[O::SAVE_ALL_CONTEXT, O::OUTPUT], false);
    check(&[O::SAVE_ALL_CONTEXT, O::INPUT_SHARED], true);
    check(&[O::PASS_ALL_CONTEXT, O::INPUT_SHARED], false);
    check(&[O::CO_OP, O::INPUT_SHARED], false);
    check(&[O::CO_OP, O::BROWSE], true);
    check(&[O::NO_MULTICAST, O::INPUT_SHARED], false);
    check(&[O::NO_MULTICAST, O::OUTPUT], true);
}

#[test]
fn objects_that_are_no_queues() {
    let (mut qm, conn) = start();
    let application = qm.connect_as(Rights::App);
    let mut check = |conn, object_type, q_mgr, name, options, expected: u32| {
        let reason = match qm.open_od(conn, Mqod { object_type, ..od(q_mgr, name) }, options) {
            Ok(opened) => qm.close(conn, opened.handle, CloseOptions::empty()),
            Err(reason) => reason,
        };
        assert_eq!(reason.0 as u32, expected, "{object_type:?} {name:?}");
    };
    let (inquire, output) = (OpenOptions::INQUIRE, OpenOptions::OUTPUT);
    check(conn, ObjectType::Q_MGR, "", "", inquire, 0);
    check(conn, ObjectType::Q_MGR, "QM1", "", inquire | OpenOptions::FAIL_IF_QUIESCING, 0);
    check(conn, ObjectType::Q_MGR, "", "QM1", inquire, 2194);
    check(conn, ObjectType::Q_MGR, "OTHER", "", inquire, 2086);
    check(conn, ObjectType::Q_MGR, "", "", output, 2045);
    check(conn, ObjectType::PROCESS, "", "SYSTEM.DEFAULT.PROCESS", inquire, 0);
    check(conn, ObjectType::PROCESS, "", "SYSTEM.DEFAULT.PROCESS", output, 2045);
    check(application, ObjectType::PROCESS, "", "SYSTEM.DEFAULT.PROCESS", inquire, 2035);
    check(conn, ObjectType::PROCESS, "", "Q", inquire, 2085);
    check(conn, ObjectType::NAMELIST, "", "SYSTEM.DEFAULT.NAMELIST", inquire, 0);
    check(conn, ObjectType::NAMELIST, "OTHER", "SYSTEM.DEFAULT.NAMELIST", inquire, 2086);
    check(conn, ObjectType(99), "", "Q", inquire, 2043);
    for (recs_present, expected) in [(1, Reason::OD_ERROR), (-1, Reason::RECS_PRESENT_ERROR)] {
        let list = Mqod { recs_present, ..od("", "Q") };
        assert_eq!(qm.open_od(conn, list, output).unwrap_err(), expected);
    }
}

#[test]
fn by_way_of_a_queue_manager_alias_to_here_there_are_only_puts() {
    let (mut qm, conn) = start();
    qm.script("DEFINE QREMOTE(HERE) RNAME('') RQMNAME(QM1) XMITQ('')");
    let handle = qm.try_open(conn, ("HERE", "Q"), OpenOptions::OUTPUT).unwrap().handle;
    assert_eq!(qm.put(conn, handle, "x"), Reason::NONE);
    for options in [OpenOptions::INPUT_SHARED, OpenOptions::BROWSE, OpenOptions::INQUIRE, OpenOptions::SET] {
        let opened = qm.try_open(conn, ("HERE", "Q"), options | OpenOptions::OUTPUT);
        assert_eq!(opened.unwrap_err(), Reason::OPTION_NOT_VALID_FOR_TYPE);
    }
    let model = qm.try_open(conn, ("HERE", "SYSTEM.DEFAULT.MODEL.QUEUE"), OpenOptions::OUTPUT);
    assert_eq!(model.unwrap_err(), Reason::Q_TYPE_ERROR);
    assert_eq!(qm.depth("Q"), 1);
}

#[test]
fn handles_are_counted() {
    let (mut qm, conn) = start();
    qm.script("ALTER QMGR MAXHANDS(2)");
    let handles = [0; 2].map(|_| qm.open(conn, "Q", OpenOptions::OUTPUT));
    let third = qm.try_open(conn, ("", "Q"), OpenOptions::OUTPUT);
    assert_eq!(third.unwrap_err(), Reason::HANDLE_NOT_AVAILABLE);
    let other = qm.connect();
    qm.open(other, "Q", OpenOptions::OUTPUT);
    qm.close(conn, handles[0], CloseOptions::empty());
    qm.open(conn, "Q", OpenOptions::OUTPUT);
}

/// MQCO_DELETE of a temporary queue is for the handle that made it; a queue that is gone can be closed in any way.
#[test]
fn who_may_delete_a_dynamic_queue() {
    let (mut qm, conn) = start();
    let other = qm.connect();
    let make = |qm: &mut Qm, model: &str| {
        let od = Mqod { dynamic_q_name: ObjectName(Chars::cut("DYN.*")), ..od("", model) };
        let opened = qm.open_od(conn, od, IO).unwrap();
        (opened.handle, opened.od.object_name.to_string())
    };
    let (mine, name) = make(&mut qm, "SYSTEM.DEFAULT.MODEL.QUEUE");
    let its = qm.open(other, &name, OpenOptions::OUTPUT);
    for options in [CloseOptions::DELETE, CloseOptions::DELETE_PURGE] {
        assert_eq!(qm.close(other, its, options), Reason::OPTION_NOT_VALID_FOR_TYPE);
    }
    assert_eq!(qm.close(conn, mine, CloseOptions::DELETE), Reason::NONE);
    assert_eq!(qm.put(other, its, "x"), Reason::Q_DELETED);
    assert_eq!(qm.close(other, its, CloseOptions::DELETE), Reason::NONE);
    qm.script("DEFINE QMODEL(PERM) DEFTYPE(PERMDYN) SHARE DEFSOPT(SHARED)");
    let (mine, name) = make(&mut qm, "PERM");
    let its = qm.open(other, &name, IO);
    assert_eq!(qm.close(other, its, CloseOptions::DELETE), Reason::NONE, "whoever has it open may");
    assert_eq!(qm.put(conn, mine, "x"), Reason::Q_DELETED);
    assert_eq!(qm.close(conn, mine, CloseOptions::DELETE_PURGE), Reason::NONE);
}

/// What is not persistent is there after a restart if the store has it, and if the queue says so.
#[test]
fn the_class_of_messages_that_are_not_persistent() {
    let (mut qm, conn) = start();
    qm.script("DEFINE QLOCAL(HIGH) NPMCLASS(HIGH)");
    for queue in ["Q", "HIGH"] {
        let handle = qm.open_all(conn, queue);
        for offset in [0, 4] {
            let last = if offset == 4 { MessageFlags::LAST_SEGMENT } else { MessageFlags::SEGMENT };
            let (group_id, msg_flags) = (GroupId(id(1)), last);
            let md = Mqmd { version: 2, group_id, offset, msg_flags, ..Mqmd::default() };
            assert_eq!(reason(&qm.put_md(conn, handle, md, PutOptions::empty(), "text").reply), Reason::NONE);
        }
        qm.put(conn, handle, "persistent");
    }
    let mut qm = qm.restart();
    let conn = qm.connect();
    assert_eq!((qm.depth("Q"), qm.depth("HIGH")), (1, 3));
    let handle = qm.open_all(conn, "HIGH");
    let whole = qm.get(conn, handle, GetOptions::COMPLETE_MSG).unwrap();
    assert_eq!((text(&whole.body).as_str(), whole.md.persistence.0), ("texttext", 0));
    assert_eq!(qm.drain(conn, handle), ["persistent"]);
    assert_eq!(qm.restart().store().recovered().messages.len(), 1);
}

/// Whatever would be there again after a restart is gone on disk before anybody has it.
#[test]
fn a_get_of_what_survives_waits_for_the_disk() {
    let (mut qm, conn) = start();
    qm.script("DEFINE QLOCAL(HIGH) NPMCLASS(HIGH)");
    for (queue, waits) in [("Q", false), ("HIGH", true)] {
        let handle = qm.open_all(conn, queue);
        qm.put_md(conn, handle, Mqmd::default(), PutOptions::empty(), "x");
        let got = qm.call(conn, Verb::Get(Box::new(request(handle, GetOptions::empty(), 0))));
        assert!(matches!(got.reply, Reply::Got(_)));
        assert_eq!(got.needs.is_some(), waits, "{queue}");
    }
}

#[test]
fn a_delete_that_is_refused_changes_nothing() {
    let (mut qm, conn) = start();
    qm.script("DEFINE QMODEL(PERM) DEFTYPE(PERMDYN) SHARE DEFSOPT(SHARED)");
    let od = Mqod { dynamic_q_name: ObjectName(Chars::cut("DYN.*")), ..od("", "PERM") };
    let opened = qm.open_od(conn, od, IO).unwrap();
    let name = opened.od.object_name.to_string();
    qm.put_md(conn, opened.handle, Mqmd::default(), PutOptions::SYNCPOINT, "x");
    assert_eq!(qm.close(conn, opened.handle, CloseOptions::DELETE), Reason::Q_NOT_EMPTY);
    qm.commit(conn);
    let again = qm.open_all(conn, &name);
    assert_eq!(qm.next(conn, again).unwrap(), "x");
}
