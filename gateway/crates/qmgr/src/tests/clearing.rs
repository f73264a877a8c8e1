//! CLEAR QLOCAL and DELETE PURGE of many messages: at once for everybody, collected in steps, whatever restarts.

use mq_wire::*;
use mqsc::Refusal;

use super::harness::*;
use crate::*;

/// Messages that a step kills, by default.
const STEP_MESSAGES_MAX: usize = 1_000;

const MANY: usize = 2 * STEP_MESSAGES_MAX + 500;
/// Steps after the command until all is collected.
const STEPS: usize = 3;

fn name(queue: &str) -> QName {
    QName::new(queue).unwrap()
}

fn clear(qm: &mut Qm, queue: &str) -> Result<(), Refusal> {
    let name = name(queue);
    qm.turn(|qm, now, batch, out| qm.clear(now, &name, batch, out))
}

/// A queue with so many persistent messages of two priorities.
fn filled(queue: &str, messages: usize) -> Qm {
    let mut qm = Qm::new();
    qm.script(&format!("DEFINE QLOCAL({queue}) MAXDEPTH(100000)"));
    fill(&mut qm, queue, messages);
    qm
}

fn fill(qm: &mut Qm, queue: &str, messages: usize) {
    let conn = qm.connect();
    for number in 0..messages {
        let md = Mqmd { priority: (number % 2) as i32, ..persistent() };
        qm.put1(conn, ("", queue), PutOptions::empty(), md).unwrap();
    }
    qm.call(conn, Verb::Disconnect);
}

fn stored(qm: &Qm) -> usize {
    qm.store().recovered().messages.len()
}

/// Keys that say that something is being cleared.
fn keys(qm: &Qm) -> usize {
    qm.store().recovered().keyed.iter().filter(|(key, _)| key.starts_with(b"qc")).count()
}

/// One step, if there is one to make.
fn step(qm: &mut Qm) {
    assert!(qm.qm.poll_timeout().is_some_and(|at| at <= qm.now.instant), "it is asked for at once");
    qm.turn(QueueManager::handle_timeout);
}

#[test]
fn few_messages_go_with_the_command() {
    let mut qm = filled("Q", STEP_MESSAGES_MAX);
    clear(&mut qm, "Q").unwrap();
    assert_eq!((qm.depth("Q"), stored(&qm), keys(&qm), qm.qm.clearing()), (0, 0, 0, 0));
    let call = {
        let conn = qm.connect();
        let handle = qm.open_all(conn, "Q");
        qm.send(conn, Verb::Get(Box::new(request(handle, GetOptions::empty(), 0))))
    };
    let answered = qm.answer(call);
    assert_eq!(reason(&answered.reply), Reason::NO_MSG_AVAILABLE);
    assert!(answered.needs.is_some(), "that there is none depends on the command");
}

#[test]
fn many_messages_are_gone_at_once_and_collected_in_steps() {
    let mut qm = filled("Q", MANY);
    clear(&mut qm, "Q").unwrap();
    assert_eq!((qm.depth("Q"), qm.view("Q").uncommitted, qm.view("Q").expired), (0, 0, 0));
    let conn = qm.connect();
    let handle = qm.open_all(conn, "Q");
    qm.put(conn, handle, "new");
    let mut left = MANY;
    for _ in 0..STEPS {
        assert_eq!((qm.qm.clearing(), stored(&qm), keys(&qm)), (left as u64, left + 1, 1));
        qm.compact();
        step(&mut qm);
        left = left.saturating_sub(STEP_MESSAGES_MAX);
    }
    assert_eq!((qm.qm.clearing(), stored(&qm), keys(&qm)), (0, 1, 0), "the key goes with the last step");
    assert_eq!(qm.drain(conn, handle), ["new"]);
}

/// The process ends after each number of steps, in the middle of the command and between any two of its steps.
#[test]
fn a_restart_goes_on() {
    for steps in 0..=STEPS {
        let mut qm = filled("Q", MANY);
        clear(&mut qm, "Q").unwrap();
        fill(&mut qm, "Q", 2);
        for done in 0..=STEPS {
            if done >= steps {
                // From here on after each of them.
                qm = qm.restart();
                assert_eq!(qm.depth("Q"), 2, "{steps}, {done}");
            }
            if done < STEPS {
                step(&mut qm);
            }
        }
        assert_eq!((stored(&qm), keys(&qm), qm.qm.clearing(), qm.qm.orphans()), (2, 0, 0, 0));
    }
}

#[test]
fn a_queue_that_is_deleted_is_gone_at_once() {
    for steps in 0..=STEPS {
        let mut qm = filled("Q", MANY);
        qm.script("DELETE QLOCAL(Q) PURGE");
        assert!(qm.qm.directory.number(name("Q")).is_none());
        // Another queue of the same name has nothing to do with it.
        qm.script("DEFINE QLOCAL(Q) MAXDEPTH(100000)");
        fill(&mut qm, "Q", 2);
        for done in 0..=STEPS {
            if done >= steps {
                qm = qm.restart();
                assert_eq!(qm.depth("Q"), 2, "{steps}, {done}");
            }
            qm.compact();
            if done < STEPS {
                step(&mut qm);
            }
        }
        assert_eq!((stored(&qm), keys(&qm), qm.qm.clearing(), qm.qm.orphans()), (2, 0, 0, 0));
    }
}

/// While one is collected the queue is cleared again, altered, and deleted.
#[test]
fn commands_one_after_another() {
    let mut qm = filled("Q", MANY);
    clear(&mut qm, "Q").unwrap();
    qm.script("ALTER QLOCAL(Q) MSGDLVSQ(FIFO)");
    step(&mut qm);
    fill(&mut qm, "Q", MANY);
    clear(&mut qm, "Q").unwrap();
    qm.compact();
    fill(&mut qm, "Q", 3);
    clear(&mut qm, "Q").unwrap();
    let mut qm = qm.restart();
    assert_eq!(qm.depth("Q"), 0);
    assert_eq!(qm.qm.clearing() as usize, 2 * MANY - STEP_MESSAGES_MAX);
    fill(&mut qm, "Q", MANY);
    qm.script("DELETE QLOCAL(Q) PURGE");
    assert_eq!(qm.qm.clearing() as usize, 3 * MANY - STEP_MESSAGES_MAX);
    step(&mut qm);
    let mut qm = qm.restart();
    qm.compact();
    qm.pass(0);
    assert_eq!((stored(&qm), keys(&qm), qm.qm.orphans()), (0, 0, 0));
    qm.script("DEFINE QLOCAL(Q)");
    assert_eq!(qm.depth("Q"), 0);
}

#[test]
fn dynamic_queues() {
    let mut qm = Qm::new();
    qm.script("ALTER QMODEL(SYSTEM.DEFAULT.MODEL.QUEUE) MAXDEPTH(100000)");
    qm.script("DEFINE QMODEL(PERM) DEFTYPE(PERMDYN) MAXDEPTH(100000)");
    let conn = qm.connect();
    let dynamic = |model| Mqod { dynamic_q_name: ObjectName(Chars::cut("D.*")), ..od("", model) };
    let temporary = qm.open_od(conn, dynamic("SYSTEM.DEFAULT.MODEL.QUEUE"), IO).unwrap().handle;
    let permanent = qm.open_od(conn, dynamic("PERM"), IO).unwrap().handle;
    for handle in [temporary, permanent] {
        for _ in 0..MANY {
            qm.put_md(conn, handle, Mqmd::default(), PutOptions::empty(), "x");
        }
    }
    assert_eq!(qm.close(conn, temporary, CloseOptions::empty()), Reason::NONE);
    assert_eq!((keys(&qm), qm.qm.clearing() as usize), (0, MANY), "no restart finds any of them");
    assert_eq!(qm.close(conn, permanent, CloseOptions::DELETE_PURGE), Reason::NONE);
    assert_eq!((keys(&qm), qm.qm.clearing() as usize), (1, 2 * MANY));
    for _ in 0..2 * STEPS {
        step(&mut qm);
    }
    assert_eq!((keys(&qm), stored(&qm)), (0, 0));
    // What is not persistent is gone with the process, and so is what is remembered of it.
    let handle = qm.open_od(conn, dynamic("PERM"), IO).unwrap().handle;
    for _ in 0..MANY {
        qm.put_md(conn, handle, Mqmd::default(), PutOptions::empty(), "x");
    }
    qm.close(conn, handle, CloseOptions::DELETE_PURGE);
    let qm = qm.restart();
    assert_eq!((keys(&qm), stored(&qm), qm.qm.clearing()), (0, 0, 0));
}

#[test]
fn clear_takes_care() {
    let mut qm = filled("Q", 3);
    qm.script("DEFINE QALIAS(A) TARGET(Q)");
    assert!(matches!(clear(&mut qm, "A"), Err(Refusal::NotFound { .. })));
    assert!(matches!(clear(&mut qm, "NOT.THERE"), Err(Refusal::NotFound { .. })));
    let conn = qm.connect();
    let handle = qm.open_all(conn, "A");
    assert!(matches!(clear(&mut qm, "Q"), Err(Refusal::InUse { .. })), "open, by whatever name");
    qm.get(conn, handle, GetOptions::SYNCPOINT).unwrap();
    qm.put_sync(conn, handle, "x");
    qm.close(conn, handle, CloseOptions::empty());
    assert!(matches!(clear(&mut qm, "Q"), Err(Refusal::InUse { .. })), "uncommitted");
    qm.commit(conn);
    assert_eq!(qm.depth("Q"), 3);
    clear(&mut qm, "Q").unwrap();
    clear(&mut qm, "Q").expect("an empty one too");
    assert_eq!(qm.restart().depth("Q"), 0);
}

/// Nothing is written, so no answer may wait for it.
#[test]
fn an_empty_queue_is_cleared() {
    let mut qm = filled("Q", 0);
    clear(&mut qm, "Q").unwrap();
    let conn = qm.connect();
    let handle = qm.open_all(conn, "Q");
    assert_eq!(qm.next(conn, handle), Err(Reason::NO_MSG_AVAILABLE));
}

#[test]
fn the_record_reads_back() {
    use crate::clearing::{decode, encode};
    let id = store::Id::new(7, 9);
    let record = encode(id);
    assert_eq!(decode(b"qc", &record), Ok(id));
    assert_eq!(decode(b"qc", &[&record[..], b"later"].concat()), Ok(id), "later versions may append");
    for length in 0..record.len() {
        assert!(decode(b"qc", &record[..length]).is_err());
    }
    assert!(matches!(decode(b"qc", &[2]), Err(RecordError::Version { version: 2, .. })));
}
