//! The objects that a new queue manager has (mq-objects.md 3.10, INTERFACE.md 2).

use mq_wire::{Chars, QName};
use mqsc::{Attribute, Attributes, Keyword, Name, ObjectKind, Value};

use crate::settings::Settings;

/// MAXDEPTH and MAXMSGL of what must not fill up: the gateway's transmission queue and the dead-letter queue.
const DEPTH_MAX: i32 = 999_999_999;
const LENGTH_MAX: i32 = 104_857_600;

const DEV_DEAD_LETTER_QUEUE: &str = "DEV.DEAD.LETTER.QUEUE";
const SYSTEM_DEAD_LETTER_QUEUE: &str = "SYSTEM.DEAD.LETTER.QUEUE";

/// An object to make, and what differs from the default of its kind.
pub(crate) type Default = (ObjectKind, Name, Attributes);

const LOCAL: &[&str] = &[
    "SYSTEM.DEFAULT.LOCAL.QUEUE",
    "SYSTEM.CHANNEL.SYNCQ",
    "SYSTEM.ADMIN.COMMAND.QUEUE",
    "SYSTEM.ADMIN.QMGR.EVENT",
    "SYSTEM.ADMIN.PERFM.EVENT",
    "SYSTEM.ADMIN.CHANNEL.EVENT",
    "SYSTEM.ADMIN.COMMAND.EVENT",
    "SYSTEM.ADMIN.CONFIG.EVENT",
    "SYSTEM.ADMIN.LOGGER.EVENT",
    "SYSTEM.ADMIN.ACCOUNTING.QUEUE",
    "SYSTEM.ADMIN.STATISTICS.QUEUE",
    "SYSTEM.ADMIN.ACTIVITY.QUEUE",
    "SYSTEM.ADMIN.TRACE.ROUTE.QUEUE",
    "SYSTEM.AUTH.DATA.QUEUE",
    "SYSTEM.CHLAUTH.DATA.QUEUE",
    "SYSTEM.PENDING.DATA.QUEUE",
];
/// Trigger messages have 684 bytes.
const INITIATION: &[&str] = &["SYSTEM.DEFAULT.INITIATION.QUEUE", "SYSTEM.CICS.INITIATION.QUEUE"];
const MODEL: &[&str] =
    &["SYSTEM.DEFAULT.MODEL.QUEUE", "SYSTEM.MQSC.REPLY.QUEUE", "SYSTEM.MQEXPLORER.REPLY.MODEL"];
const CHANNELS: &[&str] = &["SYSTEM.DEF.SVRCONN", "SYSTEM.ADMIN.SVRCONN"];

/// Everything that is made at the first start.
pub(crate) fn objects(settings: &Settings) -> Vec<Default> {
    let mut objects = Vec::new();
    let mut add = |kind, name: &str, attributes: &[(Attribute, Value)]| {
        let name = Name::from(QName(Chars::cut(name)));
        objects.push((kind, name, attributes.iter().cloned().collect::<Attributes>()));
    };
    for name in LOCAL {
        add(ObjectKind::LocalQueue, name, &[]);
    }
    for name in INITIATION {
        add(ObjectKind::LocalQueue, name, &[(Attribute::MAXMSGL, Value::Int(1_000))]);
    }
    let channel_initiation =
        [(Attribute::MAXDEPTH, Value::Int(1_000)), (Attribute::MAXMSGL, Value::Int(1_000))];
    add(ObjectKind::LocalQueue, "SYSTEM.CHANNEL.INITQ", &channel_initiation);
    add(ObjectKind::LocalQueue, SYSTEM_DEAD_LETTER_QUEUE, &unbounded());
    for name in MODEL {
        add(ObjectKind::ModelQueue, name, &[]);
    }
    add(ObjectKind::AliasQueue, "SYSTEM.DEFAULT.ALIAS.QUEUE", &[]);
    add(ObjectKind::RemoteQueue, "SYSTEM.DEFAULT.REMOTE.QUEUE", &[]);
    for name in CHANNELS {
        add(ObjectKind::ServerConnection, name, &[]);
    }
    let auto = [(Attribute::DESCR, Value::Text("Auto-defined by".to_owned()))];
    add(ObjectKind::ServerConnection, "SYSTEM.AUTO.SVRCONN", &auto);
    if settings.dev_objects {
        for name in ["DEV.QUEUE.1", "DEV.QUEUE.2", "DEV.QUEUE.3"] {
            add(ObjectKind::LocalQueue, name, &[]);
        }
        add(ObjectKind::LocalQueue, DEV_DEAD_LETTER_QUEUE, &unbounded());
        let app = [(Attribute::MCAUSER, Value::Text("app".to_owned()))];
        add(ObjectKind::ServerConnection, "DEV.APP.SVRCONN", &app);
        add(ObjectKind::ServerConnection, "DEV.ADMIN.SVRCONN", &[]);
    }
    objects
}

/// The transmission queue of the gateway.
pub(crate) fn gateway(settings: &Settings) -> Default {
    let mut attributes: Attributes = unbounded().into_iter().collect();
    attributes.set(Attribute::USAGE, Value::Keyword(Keyword::XMITQ));
    // What is left to the queue manager shall reach its device after a restart too.
    attributes.set(Attribute::DEFPSIST, Value::Keyword(Keyword::YES));
    attributes.set(Attribute::DESCR, Value::Text("Messages for devices".to_owned()));
    (ObjectKind::LocalQueue, Name::from(QName(settings.gateway.0)), attributes)
}

/// What a new queue manager's attributes are, where they differ from the table.
pub(crate) fn queue_manager(settings: &Settings) -> Attributes {
    let name = if settings.dev_objects { DEV_DEAD_LETTER_QUEUE } else { SYSTEM_DEAD_LETTER_QUEUE };
    let mut attributes = Attributes::new();
    attributes.set(Attribute::DEADQ, Value::Name(QName(Chars::cut(name)).into()));
    attributes
}

fn unbounded() -> [(Attribute, Value); 2] {
    [(Attribute::MAXDEPTH, Value::Int(DEPTH_MAX)), (Attribute::MAXMSGL, Value::Int(LENGTH_MAX))]
}
