//! MQSC: definitions that are made, altered, deleted, shown.

use mq_wire::*;
use mqsc::{Outcome, Refusal};

use super::harness::*;

fn refusal(outcome: Outcome) -> Refusal {
    match outcome {
        Outcome::Failed(refusal) => refusal,
        other => panic!("{other:?}"),
    }
}

/// What a DISPLAY shows: name and values.
fn shown(qm: &mut Qm, command: &str) -> Vec<String> {
    let Outcome::Displayed(objects) = qm.mqsc(command) else { return Vec::new() };
    let line = |object: &mqsc::DisplayedObject| {
        let values: Vec<_> = object.attributes.iter().map(|(a, v)| format!("{a}={v:?}")).collect();
        format!("{} {}", object.name, values.join(" ")).trim_end().to_owned()
    };
    objects.iter().map(line).collect()
}

#[test]
fn define_takes_from_like_or_from_the_default_as_it_now_is() {
    let mut qm = Qm::new();
    qm.script("DEFINE QLOCAL(ONE) MAXDEPTH(7)");
    qm.script("DEFINE QLOCAL(TWO) LIKE(ONE) MAXMSGL(100)");
    qm.script("ALTER QLOCAL(SYSTEM.DEFAULT.LOCAL.QUEUE) MAXDEPTH(11)");
    qm.script("DEFINE QLOCAL(THREE)");
    assert_eq!(
        shown(&mut qm, "DISPLAY QLOCAL(TWO) MAXDEPTH MAXMSGL"),
        ["TWO MAXDEPTH=Int(7) MAXMSGL=Int(100)"]
    );
    assert_eq!(
        shown(&mut qm, "DISPLAY QLOCAL(T*) MAXDEPTH"),
        ["THREE MAXDEPTH=Int(11)", "TWO MAXDEPTH=Int(7)"]
    );
    let missing = refusal(qm.mqsc("DEFINE QLOCAL(FOUR) LIKE(NOPE)"));
    assert!(matches!(missing, Refusal::NotFound { .. }));
}

#[test]
fn replace_sets_every_attribute_and_keeps_messages() {
    let mut qm = Qm::new();
    qm.script("DEFINE QLOCAL(Q) MAXDEPTH(7) DESCR('old')");
    let conn = qm.connect();
    let handle = qm.open_all(conn, "Q");
    qm.put(conn, handle, "x");
    assert!(matches!(refusal(qm.mqsc("DEFINE QLOCAL(Q)")), Refusal::Exists { .. }));
    assert!(matches!(refusal(qm.mqsc("DEFINE QALIAS(Q) TARGET(A) REPLACE")), Refusal::Exists { .. }));
    qm.script("DEFINE QLOCAL(Q) DESCR('new') REPLACE");
    assert_eq!(
        shown(&mut qm, "DISPLAY QLOCAL(Q) MAXDEPTH CURDEPTH"),
        ["Q CURDEPTH=Int(1) MAXDEPTH=Int(5000)"]
    );
    let in_use = refusal(qm.mqsc("DEFINE QLOCAL(Q) USAGE(XMITQ) REPLACE"));
    assert!(matches!(in_use, Refusal::InUse { .. }));
    assert_eq!(qm.next(conn, handle).unwrap(), "x");
}

#[test]
fn alter_changes_what_is_named() {
    let mut qm = Qm::new();
    qm.script("DEFINE QLOCAL(Q) MAXDEPTH(7) DESCR('text')");
    qm.pass(86_400_000);
    qm.script("ALTER QLOCAL(Q) MAXDEPTH(8)");
    let expected =
        "Q ALTDATE=Text(\"2025-01-02\") CRDATE=Text(\"2025-01-01\") DESCR=Text(\"text\") MAXDEPTH=Int(8)";
    assert_eq!(shown(&mut qm, "DISPLAY QLOCAL(Q) CRDATE ALTDATE DESCR MAXDEPTH"), [expected]);
    assert!(matches!(refusal(qm.mqsc("ALTER QALIAS(Q) DESCR('x')")), Refusal::NotFound { .. }));
    assert!(matches!(refusal(qm.mqsc("ALTER QLOCAL(NOPE) DESCR('x')")), Refusal::NotFound { .. }));
    qm.script("ALTER QMGR DESCR('mine')");
    assert_eq!(shown(&mut qm, "DISPLAY QMGR DESCR PLATFORM"), ["QM1 DESCR=Text(\"mine\") PLATFORM=Int(3)"]);
}

#[test]
fn delete_takes_care() {
    let mut qm = Qm::new();
    qm.script("DEFINE QLOCAL(Q)");
    qm.script("DEFINE QALIAS(A) TARGET(Q)");
    let conn = qm.connect();
    let handle = qm.open_all(conn, "A");
    qm.put(conn, handle, "x");
    assert!(matches!(refusal(qm.mqsc("DELETE QLOCAL(Q)")), Refusal::InUse { .. }));
    assert!(matches!(refusal(qm.mqsc("DELETE QALIAS(A)")), Refusal::InUse { .. }));
    qm.put_sync(conn, handle, "y");
    qm.close(conn, handle, CloseOptions::empty());
    assert!(matches!(refusal(qm.mqsc("DELETE QLOCAL(Q) PURGE")), Refusal::InUse { .. }), "uncommitted");
    qm.back(conn);
    assert!(matches!(refusal(qm.mqsc("DELETE QLOCAL(Q)")), Refusal::NotEmpty { .. }));
    assert!(matches!(refusal(qm.mqsc("DELETE QALIAS(Q)")), Refusal::NotFound { .. }));
    qm.script("DELETE QLOCAL(Q) PURGE\nDELETE QALIAS(A)");
    assert!(qm.store().recovered().messages.is_empty());
    let qm = qm.restart();
    assert!(qm.qm.queues().all(|view| !["Q", "A"].contains(&view.name.to_string().as_str())));
}

#[test]
fn channels() {
    let mut qm = Qm::new();
    qm.script("DEFINE CHANNEL(MINE) CHLTYPE(SVRCONN) MCAUSER('someone') MAXMSGL(1000) SHARECNV(0) HBINT(30)");
    let name = ChannelName::new("MINE").unwrap();
    let view = qm.qm.channel(&name).unwrap();
    assert_eq!((view.chltype, view.maxmsgl, view.sharecnv, view.hbint), (7, 1_000, 0, 30));
    assert_eq!(view.mcauser, "someone");
    qm.script("ALTER CHANNEL(MINE) CHLTYPE(SVRCONN) HBINT(60)");
    let mut qm = qm.restart();
    assert_eq!(qm.qm.channel(&name).unwrap().hbint, 60);
    assert_eq!(shown(&mut qm, "DISPLAY CHANNEL(MINE) HBINT"), ["MINE HBINT=Int(60)"]);
    qm.script("DELETE CHANNEL(MINE)");
    assert_eq!(qm.restart().qm.channel(&name), None);
}

/// INTERFACE.md 2.
#[test]
fn a_new_queue_manager_has_its_objects() {
    let mut qm = Qm::new();
    let expected = ["DEV.DEAD.LETTER.QUEUE", "DEV.QUEUE.1", "DEV.QUEUE.2", "DEV.QUEUE.3"];
    assert_eq!(shown(&mut qm, "DISPLAY QUEUE(DEV*)"), expected);
    let gate = "GATE1 MAXDEPTH=Int(999999999) MAXMSGL=Int(104857600) USAGE=XMITQ";
    assert_eq!(shown(&mut qm, "DISPLAY QLOCAL(GATE1) MAXDEPTH MAXMSGL USAGE").len(), 1, "{gate}");
    assert_eq!(shown(&mut qm, "DISPLAY CHANNEL(DEV*)"), ["DEV.ADMIN.SVRCONN", "DEV.APP.SVRCONN"]);
    for name in ["SYSTEM.DEF.SVRCONN", "SYSTEM.AUTO.SVRCONN"] {
        assert!(qm.qm.channel(&ChannelName::new(name).unwrap()).is_some(), "{name}");
    }
    let systems = shown(&mut qm, "DISPLAY QUEUE(SYSTEM*)");
    for name in ["SYSTEM.DEFAULT.LOCAL.QUEUE", "SYSTEM.DEFAULT.MODEL.QUEUE", "SYSTEM.CHANNEL.INITQ"] {
        assert!(systems.iter().any(|system| system == name), "{name}");
    }
    qm.script("DELETE QLOCAL(DEV.QUEUE.3)");
    let mut qm = qm.restart();
    assert_eq!(shown(&mut qm, "DISPLAY QUEUE(DEV*)"), expected[..3], "what was deleted stays deleted");
    let all = shown(&mut qm, "DISPLAY QLOCAL(GATE1) ALL");
    assert!(
        all[0].contains("DEFTYPE=PREDEFINED") || all[0].contains("DEFTYPE=Keyword(PREDEFINED)"),
        "{all:?}"
    );
}

#[test]
fn a_display_of_many_objects_goes_in_steps() {
    let mut qm = Qm::new();
    let start = shown(&mut qm, "DISPLAY QUEUE(*)").len();
    for number in 0..2_500 {
        qm.script(&format!("DEFINE {}(Q.{number:04})", ["QLOCAL", "QREMOTE"][number % 2]));
    }
    let steps = |qm: &Qm, command: &str| {
        let mqsc::Command::Display(display) = mqsc::read_command(command).unwrap() else {
            panic!("{command}")
        };
        let (mut lengths, mut names, mut next) = (Vec::new(), Vec::new(), None);
        loop {
            let (objects, after) = qm.qm.display(&display, next);
            lengths.push(objects.len());
            names.extend(objects.iter().map(|object| object.name.to_string()));
            match after {
                Some(_) => next = after,
                None => return (lengths, names),
            }
        }
    };
    let (lengths, names) = steps(&qm, "DISPLAY QUEUE(*)");
    assert_eq!(lengths, [1_000, 1_000, 500 + start]);
    assert!(names.is_sorted());
    assert_eq!(names, shown(&mut qm, "DISPLAY QUEUE(*)"));
    let (lengths, names) = steps(&qm, "DISPLAY QLOCAL(Q.*)");
    assert_eq!(lengths, [500, 500, 250], "those of other kinds were looked at too");
    assert_eq!((names.first().unwrap().as_str(), names.last().unwrap().as_str()), ("Q.0000", "Q.2498"));
    assert_eq!(steps(&qm, "DISPLAY QUEUE(Q.1000)"), (vec![1], vec!["Q.1000".to_owned()]));
    assert_eq!(steps(&qm, "DISPLAY QMGR"), (vec![1], vec!["QM1".to_owned()]));
    assert_eq!(steps(&qm, "DISPLAY CHANNEL(DEV.*)").0, [2]);
}
