//! The queue manager and the queues of the test: small depths, one of each kind.

use crate::model::{Definition, Kind, PERMANENT, Settings, TEMPORARY};

pub(crate) const QM: &str = "QM1";
pub(crate) const QM_OTHER: &str = "QM2";

/// The queue manager of the test.
pub(crate) fn settings() -> Settings {
    Settings {
        name: QM.to_owned(),
        max_uncommitted: 9,
        max_handles: 9,
        max_length: 4_194_304,
        mark_ms: 5000,
        dead_q: "DEAD".to_owned(),
        default_xmitq: String::new(),
    }
}

/// The queues of the test.
pub(crate) fn definitions() -> Vec<Definition> {
    let local = |name: &str, max_depth: usize| Definition { max_depth, ..Definition::new(name, Kind::Local) };
    let model = |name: &str, dynamic: u8| Definition {
        dynamic,
        share: dynamic == PERMANENT,
        exclusive: dynamic == TEMPORARY,
        max_depth: 6,
        ..Definition::new(name, Kind::Model)
    };
    let alias = |name: &str, target: &str| Definition::new(name, Kind::Alias { target: target.to_owned() });
    let remote = |name: &str, q: &str, qm: &str, xmitq: &str| {
        let kind = Kind::Remote { q: q.to_owned(), qm: qm.to_owned(), xmitq: xmitq.to_owned() };
        Definition::new(name, kind)
    };
    vec![
        Definition { max_length: 200, ..local("Q.A", 8) },
        Definition { fifo: true, priority: 3, ..local("Q.FIFO", 20) },
        Definition { persistent: true, priority: 4, ..local("Q.PERSISTENT", 25) },
        Definition { class_high: true, ..local("Q.HIGH", 15) },
        Definition { share: false, exclusive: true, ..local("Q.ALONE", 15) },
        local("Q.GROUPS", 60),
        local("Q.REPLY", 40),
        local("DEAD", 5000),
        Definition { transmission: true, max_length: 4300, ..local("XMIT", 12) },
        Definition { priority: 5, persistent: true, ..alias("ALIAS.A", "Q.A") },
        alias("ALIAS.REMOTE", "REMOTE"),
        alias("ALIAS.NOWHERE", "NOT.THERE"),
        alias("ALIAS.ALIAS", "ALIAS.A"),
        Definition { priority: 2, ..remote("REMOTE", "THERE", QM_OTHER, "XMIT") },
        remote("REMOTE.LOST", "THERE", "QM9", ""),
        remote("QM.ALIAS", "", QM_OTHER, "XMIT"),
        remote("REPLY.ALIAS", "Q.REPLY", QM, ""),
        model("MODEL.TEMPORARY", TEMPORARY),
        model("MODEL.PERMANENT", PERMANENT),
    ]
}
