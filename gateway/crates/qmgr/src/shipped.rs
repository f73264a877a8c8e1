//! The process and the namelist that every queue manager is made with (mq-objects.md 3.6, 3.8, 3.10). In this version
//! nobody can define another, or change these: what MQINQ answers of them is fixed.

use mq_wire::ObjectType;

/// A value of an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shipped {
    Integer(i32),
    /// Text, and the length that it has in MQINQ.
    Text(&'static str, usize),
    /// When the queue manager was made.
    MadeDate,
    MadeTime,
}

use Shipped::{Integer, MadeDate, MadeTime, Text};

/// Applications of UNIX (MQAT_UNIX).
const UNIX: i32 = 6;

const PROCESS: &[(i32, Shipped)] = &[
    (1, Integer(UNIX)),
    (2001, Text("", 256)),
    (2007, Text("", 128)),
    (2011, Text("", 64)),
    (2012, Text("SYSTEM.DEFAULT.PROCESS", 48)),
    (2021, Text("", 128)),
    (2027, MadeDate),
    (2028, MadeTime),
];

const NAMELIST: &[(i32, Shipped)] = &[
    // No names, so those (2020) take no characters.
    (19, Integer(0)),
    (2009, Text("", 64)),
    (2010, Text("SYSTEM.DEFAULT.NAMELIST", 48)),
    (2020, Text("", 0)),
    (2027, MadeDate),
    (2028, MadeTime),
];

/// The name of the object of this type, if there is one.
pub(crate) fn name(kind: ObjectType) -> Option<&'static str> {
    match kind {
        ObjectType::PROCESS => Some("SYSTEM.DEFAULT.PROCESS"),
        ObjectType::NAMELIST => Some("SYSTEM.DEFAULT.NAMELIST"),
        _ => None,
    }
}

/// What a selector asks of the object of this type.
pub(crate) fn value(kind: ObjectType, selector: i32) -> Option<Shipped> {
    let table = match kind {
        ObjectType::PROCESS => PROCESS,
        ObjectType::NAMELIST => NAMELIST,
        _ => return None,
    };
    table.iter().find(|(known, _)| *known == selector).map(|(_, value)| *value)
}
