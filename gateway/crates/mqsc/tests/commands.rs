//! Commands as text in, what they say or what is wrong with them out; and the way back.

use mq_wire::{ChannelName, QName};
use mqsc::{
    Attribute, Attributes, Command, Define, DisplayedObject, Effect, Kinds, Name, ObjectKind, Outcome,
    Pattern, Refusal, Show, Value, definition, print_outcome, read_command, read_script,
};
use pretty_assertions::assert_eq;

/// What a command says, in short.
fn said(text: &str) -> String {
    let command = match read_command(text) {
        Ok(command) => command,
        Err(errors) => {
            let errors = errors.iter();
            let errors: Vec<_> = errors
                .map(|e| format!("{} {} {}", e.place.column, e.mistake.amq(), e.mistake.word()))
                .collect();
            return errors.join(", ");
        }
    };
    let listed = |attributes: &Attributes| {
        attributes.iter().map(|(attribute, value)| format!(" {attribute}={value:?}")).collect::<String>()
    };
    match command {
        Command::Define(d) => {
            let like = d.like.map(|name| format!(" like {name}")).unwrap_or_default();
            let replace = if d.replace { " replace" } else { "" };
            format!("define {} {}{like}{replace}{}", d.kind, d.name, listed(&d.attributes))
        }
        Command::Alter(a) => {
            let force = if a.force { " force" } else { "" };
            format!("alter {} {}{force}{}", a.kind, a.name, listed(&a.attributes))
        }
        Command::Delete(d) => {
            format!("delete {:?} {}{}", d.kinds, d.name, if d.purge { " purge" } else { "" })
        }
        Command::Display(d) => format!("display {:?} {} {:?}", d.kinds, d.pattern, d.show),
        Command::End => "end".to_owned(),
    }
}

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(said(text), expected, "{text}");
}

#[test]
fn define() {
    check("define qlocal(a)", "define local queue A");
    check("DEF QL('a') REPLACE", "define local queue a replace");
    check("def ql(a) noreplace like(b)", "define local queue A like B");
    check(
        "def qr(r) rname(q) rqmname('GATE1') xmitq(' ')",
        "define remote queue R RNAME=Name(\"Q\") RQMNAME=Name(\"GATE1\") XMITQ=Name(\"\")",
    );
    check("def qa(a) targq(b)", "define alias queue A TARGET=Name(\"B\")");
    check("def qm(m) deftype(permdyn)", "define model queue M DEFTYPE=Keyword(PERMDYN)");
    check(
        "def ql(a) noshare trigger maxdepth(5)",
        "define local queue A MAXDEPTH=Int(5) SHARE=Flag(false) TRIGGER=Flag(true)",
    );
    check(
        "def ql(a) descr(up) trigdata('Low')",
        "define local queue A DESCR=Text(\"UP\") TRIGDATA=Text(\"Low\")",
    );
    check(
        "def chl(C) chltype(svrconn) kaint(auto) sharecnv(1)",
        "define server-connection channel C KAINT=Int(-1) SHARECNV=Int(1)",
    );
    check(
        "def chl(C) chltype(svrconn) sendexit('a(b)','c(d)')",
        "define server-connection channel C SENDEXIT=List([Text(\"a(b)\"), Text(\"c(d)\")])",
    );
    check(
        "def chl(C) chltype(svrconn) comphdr(none,system) rcvexit(' ')",
        "define server-connection channel C COMPHDR=List([Keyword(NONE), Keyword(SYSTEM)]) RCVEXIT=List([])",
    );
}

#[test]
fn alter_delete_display() {
    check(
        "alter qmgr force deadq(x) maxmsgl(32768)",
        "alter queue manager  force DEADQ=Name(\"X\") MAXMSGL=Int(32768)",
    );
    check("alt ql(a) put(disabled)", "alter local queue A PUT=Keyword(DISABLED)");
    check("delete ql(a) purge", "delete {LocalQueue} A purge");
    check("delete ql(a) nopurge", "delete {LocalQueue} A");
    check("delete chl(a) chltable(qmgrtbl)", "delete {ServerConnection} A");
    check("dis ql(a)", "display {LocalQueue} A All");
    check("dis ql(a*)", "display {LocalQueue} A* Identity");
    check("dis q(*) type(qalias) all", "display {AliasQueue} * All");
    check(
        "dis queue('a.*') descr , curdepth",
        "display {LocalQueue, ModelQueue, AliasQueue, RemoteQueue} a.* Listed([DESCR, CURDEPTH])",
    );
    check("dis qmgr", "display {QueueManager} * All");
    check("dis chl(*) chltype(svrconn) mcauser", "display {ServerConnection} * Listed([MCAUSER])");
    check("end", "end");
}

#[test]
fn wrong() {
    check("defi ql(a)", "1 AMQ8405 defi");
    check("define", "1 AMQ8405 DEFINE");
    check("define queue(a)", "8 AMQ8405 queue");
    check("define qmgr", "8 AMQ8405 qmgr");
    check("def ql a", "8 AMQ8405 a");
    check("def ql( )", "5 AMQ8405 ql");
    check("def ql(a-b)", "8 AMQ8424 a-b");
    check("def ql(a) maxdepth", "11 AMQ8405 MAXDEPTH");
    check("def ql(a) maxdepth()", "11 AMQ8405 MAXDEPTH");
    check("def ql(a) maxdepth(1,000)", "11 AMQ8405 MAXDEPTH");
    check("def ql(a) maxdepth(many)", "11 AMQ8405 MAXDEPTH");
    check("def ql(a) maxdepth(-1)", "11 AMQ8412 MAXDEPTH");
    check("def ql(a) maxdepth(99999999999)", "11 AMQ8412 MAXDEPTH");
    check("def ql(a) maxdepths(1)", "11 AMQ8405 maxdepths");
    check("def ql(a) rname(b)", "11 AMQ8405 RNAME");
    check("def ql(a) curdepth(1)", "11 AMQ8405 CURDEPTH");
    check("def ql(a) share noshare", "17 AMQ8411 NOSHARE");
    check("def ql(a) share(yes)", "11 AMQ8405 SHARE");
    check("def ql(a) nomaxdepth(5)", "11 AMQ8405 nomaxdepth");
    check("def qa(a) target(b) targq(c)", "21 AMQ8411 TARGQ");
    check("def ql(a) replace noreplace", "19 AMQ8411 NOREPLACE");
    check("def ql(a) put('enabled')", "11 AMQ8405 PUT");
    check("def ql(a) boqname(a-b)", "11 AMQ8424 BOQNAME");
    check("def chl(a) trptype(tcp)", "12 AMQ8405 trptype");
    check("def chl(a) chltype(receiver)", "12 AMQ8405 CHLTYPE");
    check("def chl(A23456789012345678901) chltype(svrconn)", "9 AMQ8424 A23456789012345678901");
    check("delete qr(r) purge", "14 AMQ8405 purge");
    check("dis ql(a*b)", "8 AMQ8424 a*b");
    check("dis ql(a) maxdepth(5)", "11 AMQ8405 MAXDEPTH");
    check("dis ql(a?*)", "8 AMQ8424 a?*");
    check("end now", "5 AMQ8405 now");
    check("def ql(a) +", "1 AMQ8406 ");
    check("", "1 AMQ8406 ");
    check("end\nend", "end");
    check("dis qmgr\nend", "1 AMQ8405 end");
}

#[test]
fn all_mistakes_are_found_and_placed() {
    let script = read_script(
        "site.mqsc",
        b"* header\ndefine qlocal(a) maxdepth(x) +\n   usage(y)\n\nfoo\ndef ql(ok)\r\nend\nbar\n",
    );
    let errors: Vec<_> = script.errors().map(ToString::to_string).collect();
    assert_eq!(
        errors,
        [
            "site.mqsc:2:18: AMQ8405: MAXDEPTH: \"X\" is not a number",
            "site.mqsc:3:4: AMQ8405: USAGE: \"Y\" is none of NORMAL, XMITQ",
            "site.mqsc:5:1: AMQ8405: \"foo\" is not a command; commands begin with DEFINE, ALTER, DELETE, DISPLAY or END",
        ]
    );
    assert_eq!(script.commands.len(), 4);
    assert_eq!(script.commands[3].command, Ok(Command::End));
}

#[test]
fn what_later_versions_have_is_said_so() {
    let check = |text: &str, expected: &str| {
        let errors = read_command(text).unwrap_err();
        assert_eq!(
            errors[0].mistake.to_string(),
            format!("{expected} is not supported by this version"),
            "{text}"
        );
    };
    check("start chl(a)", "START CHANNEL");
    check("clear ql(a)", "CLEAR QLOCAL");
    check("ping qmgr", "PING QMGR");
    check("def pro(p)", "DEFINE PROCESS");
    check("def chl(a) chltype(sdr) conname(h(1414))", "DEFINE CHANNEL CHLTYPE(SDR)");
    check("dis ql(*) where(curdepth gt 0)", "DISPLAY QLOCAL WHERE");
    check("ref sec", "REFRESH SECURITY");
}

#[test]
fn attributes_without_effect_are_reported() {
    let command = read_command("alter qmgr chlauth(disabled) deadq(d) trigint(5)").unwrap();
    assert_eq!(
        command.without_effect(),
        [(Attribute::CHLAUTH, Effect::Never), (Attribute::TRIGINT, Effect::Later)]
    );
}

fn local(name: Name, attributes: Vec<(Attribute, Value)>) -> DisplayedObject {
    DisplayedObject { kind: ObjectKind::LocalQueue, name, attributes }
}

#[test]
fn answers_are_printed_as_runmqsc_does() {
    let check = |outcome: Outcome, expected: &str| assert_eq!(print_outcome(&outcome), expected);
    let name = |text: &str| Name::from(QName::new(text).unwrap());
    let done = Outcome::done(&read_command("def ql(a)").unwrap());
    check(done, "AMQ8006I: IBM MQ queue created.\n");
    check(
        Outcome::Displayed(vec![
            local(name("APP.Q"), vec![(Attribute::MAXDEPTH, Value::Int(100))]),
            local(
                name("B"),
                vec![
                    (Attribute::DESCR, Value::Text(String::new())),
                    (Attribute::SHARE, Value::Flag(false)),
                    (Attribute::TRIGDATA, Value::Text("t".repeat(30))),
                    (Attribute::USAGE, Value::Keyword(mqsc::Keyword::XMITQ)),
                ],
            ),
        ]),
        "AMQ8409I: Display Queue details.
   QUEUE(APP.Q)                            TYPE(QLOCAL)
   MAXDEPTH(100)
AMQ8409I: Display Queue details.
   QUEUE(B)                                TYPE(QLOCAL)
   DESCR( )                                NOSHARE
   TRIGDATA(tttttttttttttttttttttttttttttt)
   USAGE(XMITQ)
",
    );
    let channel: Name = ChannelName::new("C").unwrap().into();
    check(
        Outcome::Failed(Refusal::NotFound { kind: ObjectKind::ServerConnection, name: channel }),
        "AMQ8227E: the server-connection channel C does not exist.\n",
    );
    check(Outcome::displayed(Vec::new(), false, Pattern::ALL), "AMQ8147E: no object matches *.\n");
}

#[test]
fn generic_names_select() {
    let Ok(Command::Display(display)) = read_command("dis q(APP.*) descr maxdepth") else { panic!() };
    let matches = |name: &str| display.pattern.matches(QName::new(name).unwrap().into());
    assert!(matches("APP.Q") && matches("APP.") && !matches("APQ") && !matches("app.q"));
    let shown = |kind| display.show.attributes(kind).collect::<Vec<_>>();
    assert_eq!(shown(ObjectKind::LocalQueue), [Attribute::DESCR, Attribute::MAXDEPTH]);
    assert_eq!(shown(ObjectKind::RemoteQueue), [Attribute::DESCR]);
    assert_eq!(display.kinds, Kinds::QUEUES);
    assert_eq!(Show::Identity.attributes(ObjectKind::LocalQueue).count(), 0);
}

#[test]
fn a_definition_reads_back() {
    for kind in ObjectKind::ALL.iter().copied().filter(|kind| *kind != ObjectKind::QueueManager) {
        let name: Name = QName::new("A%b/c_D.9").unwrap().into();
        let attributes = Attributes::defaults(kind);
        let text = definition(kind, name, &attributes, true);
        let expected = Command::Define(Define { kind, name, like: None, replace: true, attributes });
        assert_eq!(read_command(&text).as_ref(), Ok(&expected), "{text}");
    }
    let text = "DEFINE CHANNEL('C') CHLTYPE(SVRCONN) +
   REPLACE +
   DESCR('it''s') +
   SENDEXIT('a(b)','c d')
";
    let Ok(Command::Define(define)) = read_command(text) else { panic!() };
    assert_eq!(definition(define.kind, define.name, &define.attributes, true), text);
}
