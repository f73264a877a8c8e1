//! What a restart finds.

use mq_wire::*;

use super::harness::*;
use crate::*;

#[test]
fn persistent_messages_survive_in_their_order_and_others_do_not() {
    let mut qm = Qm::new();
    qm.script("DEFINE QLOCAL(Q)");
    let conn = qm.connect();
    let handle = qm.open_all(conn, "Q");
    for (body, priority) in [("a", 0), ("b", 5), ("c", 0)] {
        qm.put_md(conn, handle, Mqmd { priority, ..persistent() }, PutOptions::empty(), body);
    }
    qm.put_md(conn, handle, Mqmd::default(), PutOptions::empty(), "gone");
    qm.put_sync(conn, handle, "committed");
    qm.commit(conn);
    qm.put_sync(conn, handle, "open");
    assert_eq!(text(&qm.get(conn, handle, GetOptions::SYNCPOINT).unwrap().body), "b");
    let mut qm = qm.restart();
    let conn = qm.connect();
    let handle = qm.open_all(conn, "Q");
    assert_eq!(qm.depth("Q"), 4);
    qm.put(conn, handle, "new");
    assert_eq!(qm.drain(conn, handle), ["b", "a", "c", "committed", "new"]);
    let mut qm = qm.restart();
    assert_eq!(qm.depth("Q"), 0);
    assert!(qm.store().recovered().messages.is_empty());
    let conn = qm.connect();
    qm.open_all(conn, "Q");
}

/// The hashes in the store were made with the key of the first start.
#[test]
fn ids_match_after_a_restart() {
    let mut qm = Qm::new();
    let conn = qm.connect();
    let handle = qm.open_all(conn, "DEV.QUEUE.1");
    let md = Mqmd { msg_id: MsgId(id(3)), ..persistent() };
    qm.put(conn, handle, "other");
    qm.put_md(conn, handle, md, PutOptions::empty(), "mine");
    let mut qm = qm.restart();
    let conn = qm.connect();
    let handle = qm.open_all(conn, "DEV.QUEUE.1");
    let mut wanted = request(handle, GetOptions::empty(), 0);
    wanted.msg_id = MsgId(id(3));
    assert_eq!(text(&qm.get_with(conn, wanted).unwrap().body), "mine");
}

#[test]
fn backout_counts_are_hardened() {
    let mut qm = Qm::new();
    qm.script("DEFINE QLOCAL(SOFT) NOHARDENBO");
    let conn = qm.connect();
    for queue in ["DEV.QUEUE.1", "SOFT"] {
        let handle = qm.open_all(conn, queue);
        qm.put(conn, handle, "x");
        for _ in 0..2 {
            qm.get(conn, handle, GetOptions::SYNCPOINT).unwrap();
            qm.back(conn);
        }
    }
    let mut qm = qm.restart();
    let conn = qm.connect();
    for (queue, expected) in [("DEV.QUEUE.1", 2), ("SOFT", 0)] {
        let handle = qm.open_all(conn, queue);
        let taken = qm.get(conn, handle, GetOptions::empty()).unwrap();
        assert_eq!(taken.got.backout_count, expected, "{queue}");
    }
    assert!(qm.store().recovered().keyed.iter().all(|(key, _)| !key.starts_with(b"qb")));
}

#[test]
fn definitions_survive() {
    let mut qm = Qm::new();
    qm.script("DEFINE QLOCAL(Q) MAXDEPTH(3) DESCR('it''s mine')");
    qm.script("ALTER QMGR DEFXMITQ(GATE1) MAXUMSGS(5)");
    let before =
        (qm.qm.this.clone(), qm.qm.directory.by_name(QName::new("Q").unwrap()).unwrap().definition.clone());
    let mut qm = qm.restart();
    let after =
        (qm.qm.this.clone(), qm.qm.directory.by_name(QName::new("Q").unwrap()).unwrap().definition.clone());
    assert_eq!(before, after);
    qm.script("DEFINE QLOCAL(R)");
    let number = qm.qm.directory.number(QName::new("R").unwrap()).unwrap();
    assert!(number > after.1.number, "numbers are never given twice");
    let keys = qm.store().recovered().keyed;
    assert!(keys.iter().all(|(key, _)| key.starts_with(b"q")), "our keys only");
}

/// An open that is refused has taken no number whose reservation nobody wrote.
#[test]
fn numbers_are_never_given_twice_though_opens_were_refused() {
    let model = "SYSTEM.DEFAULT.MODEL.QUEUE";
    let dynamic = |name| Mqod { dynamic_q_name: ObjectName(Chars::cut(name)), ..od("", model) };
    for refused in ["NOT A NAME", "DEV.QUEUE.1"] {
        // The first number of a run crosses what is reserved.
        let mut qm = Qm::new().restart();
        let conn = qm.connect();
        qm.open_od(conn, dynamic(refused), IO).unwrap_err();
        qm.script("DEFINE QLOCAL(Q)");
        let given = number(&qm, "Q");
        let handle = qm.open_all(conn, "Q");
        qm.put(conn, handle, "mine");
        let mut qm = qm.restart();
        qm.script("DEFINE QLOCAL(R)");
        qm.script("DEFINE QLOCAL(S)");
        let later = [number(&qm, "R"), number(&qm, "S")];
        assert!(later.iter().all(|later| *later > given), "{given}, then {later:?}");
        let mut qm = qm.restart();
        assert_eq!([qm.depth("Q"), qm.depth("R"), qm.depth("S")], [1, 0, 0]);
        // Neither is that of a queue that is no more.
        qm.script("DELETE QLOCAL(S)");
        let mut qm = qm.restart();
        qm.script("DEFINE QLOCAL(T)");
        assert!(number(&qm, "T") > later[1]);
    }
}

/// A store in which the reservation was lost: what was given counts.
#[test]
fn numbers_begin_behind_the_highest_that_a_definition_has() {
    let mut qm = Qm::new();
    qm.script("DEFINE QLOCAL(Q)");
    qm.turn(|_, _, batch, _| {
        let mut commit = store::Commit::default();
        commit.set(object::key::NUMBER, 1_u64.to_le_bytes().to_vec());
        batch.commit(commit);
    });
    let mut qm = qm.restart();
    qm.script("DEFINE QLOCAL(R)");
    assert!(number(&qm, "R") > number(&qm, "Q"));
}

fn number(qm: &Qm, queue: &str) -> u64 {
    qm.qm.directory.number(QName::new(queue).unwrap()).unwrap()
}

#[test]
fn a_store_belongs_to_one_queue_manager() {
    let qm = Qm::new();
    let other = Settings { name: QMgrName::new("QM2").unwrap(), ..settings() };
    let recovered = qm.store().recovered();
    let error = QueueManager::new(other, &recovered, qm.now, &mut store::Batch::detached(2)).unwrap_err();
    assert!(matches!(error, StartError::OtherName { .. }), "{error}");
}

/// The owner of a message says whose it is: ours have the top bit clear, others are left alone.
#[test]
fn messages_of_others_are_left_alone() {
    let mut qm = Qm::new();
    let message = |owner| store::NewMessage {
        unit: None,
        owner: store::OwnerId(owner),
        order: None,
        priority: 0,
        persistent: owner != 1 << 63,
        expiry_ms: 0,
        tags: [0; 2],
        envelope: bytes::Bytes::new(),
        body: bytes::Bytes::new(),
        file: None,
    };
    qm.turn(|_, _, batch, _| {
        batch.message(message(1 << 63));
        batch.message(message(987_654_321));
    });
    let qm = qm.restart();
    assert_eq!(qm.store().recovered().messages.len(), 2);
    assert_eq!(qm.qm.orphans(), 1);
}
