//! What is there at the first start (INTERFACE.md 2), asked for over a client connection.

use integration_tests::mq::{Mq, reason};
use integration_tests::service::Service;
use mq_client::ClientError;
use mq_wire::{Mqod, ObjectType, OpenOptions, Reason, Selector};

use crate::GATEWAY;

/// MQUS_NORMAL and MQUS_TRANSMISSION.
const NORMAL: i32 = 0;
const TRANSMISSION: i32 = 1;

/// Queue, usage, MAXDEPTH and MAXMSGL.
const QUEUES: &[(&str, i32, i32, i32)] = &[
    ("DEV.QUEUE.1", NORMAL, 5000, 4_194_304),
    ("DEV.QUEUE.2", NORMAL, 5000, 4_194_304),
    ("DEV.QUEUE.3", NORMAL, 5000, 4_194_304),
    ("DEV.DEAD.LETTER.QUEUE", NORMAL, 999_999_999, 104_857_600),
    ("GATE1", TRANSMISSION, 999_999_999, 104_857_600),
    ("SYSTEM.DEFAULT.LOCAL.QUEUE", NORMAL, 5000, 4_194_304),
    ("SYSTEM.DEAD.LETTER.QUEUE", NORMAL, 999_999_999, 104_857_600),
];

/// Queues that only have to be there; mq-objects.md 3.10 has no numbers for them that a user would rely on.
const PRESENT: &[&str] = &[
    "SYSTEM.ADMIN.COMMAND.QUEUE",
    "SYSTEM.ADMIN.CHANNEL.EVENT",
    "SYSTEM.ADMIN.PERFM.EVENT",
    "SYSTEM.ADMIN.QMGR.EVENT",
    "SYSTEM.CHANNEL.INITQ",
    "SYSTEM.CHANNEL.SYNCQ",
    "SYSTEM.CICS.INITIATION.QUEUE",
    "SYSTEM.DEFAULT.INITIATION.QUEUE",
];

fn deadq(admin: &mut Mq) -> String {
    let object = Mqod { object_type: ObjectType::Q_MGR, ..Mqod::default() };
    let handle = admin.open_object(object, OpenOptions::INQUIRE).unwrap();
    admin.characters(handle, Selector::CA_DEAD_LETTER_Q_NAME, 48).unwrap()
}

#[test]
fn the_default_objects_are_there() {
    let service = Service::start(GATEWAY);
    let mut admin = Mq::connect(&service.connect_options("DEV.ADMIN.SVRCONN")).unwrap();
    assert_eq!(admin.queue_manager(), "QM1");
    assert_eq!(deadq(&mut admin), "DEV.DEAD.LETTER.QUEUE");
    let mut wrong = Vec::new();
    for &(name, usage, depth_max, length_max) in QUEUES {
        let selectors = [
            Selector::IA_USAGE,
            Selector::IA_MAX_Q_DEPTH,
            Selector::IA_MAX_MSG_LENGTH,
            Selector::IA_CURRENT_Q_DEPTH,
        ];
        let handle =
            admin.open(name, "", OpenOptions::INQUIRE).unwrap_or_else(|error| panic!("{name}: {error}"));
        let found = admin.integers(handle, &selectors).unwrap();
        let expected = [usage, depth_max, length_max, 0];
        if found != expected {
            wrong.push(format!("{name}: USAGE, MAXDEPTH, MAXMSGL, CURDEPTH are {found:?}, not {expected:?}"));
        }
        admin.close(handle).unwrap();
    }
    for name in PRESENT {
        if let Err(error) = admin.open(name, "", OpenOptions::INQUIRE) {
            wrong.push(format!("{name}: {error}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn without_the_developer_objects_nobody_gets_in() {
    let service = {
        let mut service = Service::prepare(GATEWAY).with(&["--no-dev-objects"]);
        service.restart();
        service
    };
    for channel in ["DEV.APP.SVRCONN", "DEV.ADMIN.SVRCONN"] {
        let refused = Mq::connect(&service.connect_options(channel));
        assert_eq!(reason(refused), Reason::UNKNOWN_CHANNEL_NAME, "{channel}");
    }
    assert_eq!(service.get("/readyz").0, 200);
}

#[test]
fn who_gets_in() {
    let service = Service::start(GATEWAY);
    let mut app = Mq::connect(&service.connect_options("DEV.APP.SVRCONN")).unwrap();
    let mut check = |queue: &str, expected: Option<Reason>| {
        let outcome = app.open(queue, "", OpenOptions::OUTPUT);
        assert_eq!(outcome.as_ref().err().map(ClientError::reason), expected, "{queue}: {outcome:?}");
    };
    check("DEV.QUEUE.1", None);
    check("SYSTEM.ADMIN.COMMAND.QUEUE", Some(Reason::NOT_AUTHORIZED));
    check("NO.SUCH.QUEUE", Some(Reason::UNKNOWN_OBJECT_NAME));
    for channel in ["SYSTEM.DEF.SVRCONN", "SYSTEM.ADMIN.SVRCONN"] {
        assert_eq!(
            reason(Mq::connect(&service.connect_options(channel))),
            Reason::NOT_AUTHORIZED,
            "{channel}"
        );
    }
}

#[test]
fn administration_wants_its_token() {
    let service = Service::start(GATEWAY);
    let endpoints = std::fs::read_to_string(service.data().join("endpoints.json")).unwrap();
    let endpoints: serde_json::Value = serde_json::from_str(&endpoints).unwrap();
    assert_eq!(endpoints["mq"], service.mq().to_string());
    assert_eq!(endpoints["devices"], service.devices().to_string());
    assert_eq!(endpoints["admin"], service.admin().to_string());
    assert_eq!(service.get("/readyz").0, 200);
    assert_eq!(service.get("/status").0, 200);
    std::fs::write(service.data().join("admin.token"), "guessed\n").unwrap();
    assert_eq!(service.get("/status").0, 401);
    assert_eq!(service.get("/readyz").0, 200);
}
