//! Definitions of objects, what the machine needs to know of them, and their record in the store.
//!
//! # Format
//!
//! Keyed state, every key begins with `q`:
//!
//! | key | value |
//! |---|---|
//! | `q` `Q` name | a queue of any type (they share one name space) |
//! | `q` `C` name | a channel |
//! | `q` `M` name | the queue manager |
//! | `q` `k` | the key of the hashes: two u64 |
//! | `q` `n` | object numbers below this may have been given: u64 |
//! | `q` `b` id (u64, big-endian) | backout count of a persistent message, if it was ever backed out: u16 |
//! | `q` `c` object number (u64, big-endian) | the queue is being cleared up to this id: version (u8, 1), u64 |
//! | `q` `s` id (u64, big-endian) | what is special about a message, see `special` |
//! | `q` `x` object number (u64, big-endian) | messages of the queue that expired, ever: u64 |
//!
//! A definition is: version (u8, 1), kind (u8), number (u64), created and altered (u64 each, milliseconds since
//! 1970), dynamic (u8: 0 predefined, 1 permanent), count of attributes (u16); each attribute: its word (u8 length,
//! characters) and its value: tag (u8), then 0 an i32, 1 text (u16 length, UTF-8), 2 a keyword (u8 length,
//! characters), 3 a flag (u8), 4 a name (u8 length, characters), 5 a list (u8 count, values). Integers are
//! little-endian. Bytes behind the last attribute are left for later versions, which may append without a new number.
//! A temporary dynamic queue has no record. The object number is the owner of the queue's messages in the store.

use bytes::{BufMut, Bytes, BytesMut};
use mq_wire::{Chars, ObjectName, QName};
use mqsc::{Attribute, Attributes, Keyword, Name, ObjectKind, Value};

use crate::error::RecordError;

/// How a queue came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dynamic {
    /// By DEFINE.
    Predefined,
    /// From a model queue, until it is deleted.
    Permanent,
    /// From a model queue, until the handle that made it is closed.
    Temporary,
}

/// An object as it was defined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Definition {
    pub(crate) kind: ObjectKind,
    pub(crate) name: Name,
    /// Never given to another object.
    pub(crate) number: u64,
    pub(crate) created_ms: u64,
    pub(crate) altered_ms: u64,
    pub(crate) dynamic: Dynamic,
    pub(crate) attributes: Attributes,
}

/// What the machine looks at all the time, taken from the attributes once.
#[derive(Debug, Clone)]
pub(crate) struct Facts {
    pub(crate) put: bool,
    pub(crate) get: bool,
    pub(crate) def_priority: u8,
    pub(crate) def_persistent: bool,
    pub(crate) max_depth: u64,
    pub(crate) max_msgl: u32,
    pub(crate) share: bool,
    pub(crate) def_exclusive: bool,
    pub(crate) fifo: bool,
    pub(crate) transmission: bool,
    pub(crate) harden: bool,
    /// NPMCLASS(HIGH): what is not persistent stays if the store has it.
    pub(crate) class_high: bool,
    pub(crate) target: QName,
    pub(crate) rname: QName,
    pub(crate) rqmname: QName,
    pub(crate) xmitq: QName,
}

impl Facts {
    pub(crate) fn of(attributes: &Attributes) -> Self {
        let enabled = |attribute| !attributes.is(attribute, Keyword::DISABLED);
        let number = |attribute| attributes.int(attribute).unwrap_or_default();
        let name = |attribute| QName::from(attributes.name(attribute).unwrap_or_default());
        Self {
            put: enabled(Attribute::PUT),
            get: enabled(Attribute::GET),
            def_priority: number(Attribute::DEFPRTY).clamp(0, 9) as u8,
            def_persistent: attributes.is(Attribute::DEFPSIST, Keyword::YES),
            max_depth: number(Attribute::MAXDEPTH).max(0) as u64,
            max_msgl: number(Attribute::MAXMSGL).max(0) as u32,
            share: attributes.flag(Attribute::SHARE).unwrap_or(true),
            def_exclusive: attributes.is(Attribute::DEFSOPT, Keyword::EXCL),
            fifo: attributes.is(Attribute::MSGDLVSQ, Keyword::FIFO),
            transmission: attributes.is(Attribute::USAGE, Keyword::XMITQ),
            class_high: attributes.is(Attribute::NPMCLASS, Keyword::HIGH),
            harden: attributes.flag(Attribute::HARDENBO).unwrap_or(true),
            target: name(Attribute::TARGET),
            rname: name(Attribute::RNAME),
            rqmname: name(Attribute::RQMNAME),
            xmitq: name(Attribute::XMITQ),
        }
    }

    /// Whether what decides where messages go, or who may get them, is the same: else open handles are of no more
    /// use (mq-objects.md 5.4, 2041).
    pub(crate) fn same_route(&self, other: &Self) -> bool {
        (self.target, self.rname, self.rqmname, self.xmitq, self.transmission)
            == (other.target, other.rname, other.rqmname, other.xmitq, other.transmission)
    }
}

/// The version of a definition's record.
const VERSION: u8 = 1;

/// Kinds as they stand in the record.
const KINDS: &[(u8, ObjectKind)] = &[
    (0, ObjectKind::QueueManager),
    (1, ObjectKind::LocalQueue),
    (2, ObjectKind::ModelQueue),
    (3, ObjectKind::AliasQueue),
    (6, ObjectKind::RemoteQueue),
    (7, ObjectKind::ServerConnection),
];

/// Keys of the state that is not a definition.
pub(crate) mod key {
    pub(crate) const HASH: &[u8] = b"qk";
    pub(crate) const NUMBER: &[u8] = b"qn";
    const BACKOUTS: &[u8] = b"qb";
    const EXPIRED: &[u8] = b"qx";
    const CLEARING: &[u8] = b"qc";
    const SPECIAL: &[u8] = b"qs";

    pub(crate) fn backouts(id: store::Id) -> Vec<u8> {
        [BACKOUTS, &id.as_u64().to_be_bytes()].concat()
    }

    pub(crate) fn special(id: store::Id) -> Vec<u8> {
        [SPECIAL, &id.as_u64().to_be_bytes()].concat()
    }

    pub(crate) fn expired(number: u64) -> Vec<u8> {
        [EXPIRED, &number.to_be_bytes()].concat()
    }

    pub(crate) fn clearing(number: u64) -> Vec<u8> {
        [CLEARING, &number.to_be_bytes()].concat()
    }

    /// The number behind the prefix of a key of one of the kinds above.
    pub(crate) fn number_of(key: &[u8]) -> Option<u64> {
        Some(u64::from_be_bytes(key.get(2..)?.try_into().ok()?))
    }
}

impl Definition {
    pub(crate) fn queue_name(&self) -> QName {
        self.name.queue()
    }

    /// The key of its record.
    pub(crate) fn key(&self) -> Vec<u8> {
        let prefix: &[u8] = match self.kind {
            ObjectKind::QueueManager => b"qM",
            kind if kind.is_channel() => b"qC",
            _ => b"qQ",
        };
        [prefix, self.name.object().0.trimmed()].concat()
    }

    /// Its record.
    pub(crate) fn encode(&self) -> Bytes {
        let mut out = BytesMut::with_capacity(1024);
        out.put_u8(VERSION);
        out.put_u8(KINDS.iter().find(|(_, kind)| *kind == self.kind).map_or(u8::MAX, |(code, _)| *code));
        out.put_u64_le(self.number);
        out.put_u64_le(self.created_ms);
        out.put_u64_le(self.altered_ms);
        out.put_u8(u8::from(self.dynamic == Dynamic::Permanent));
        out.put_u16_le(self.attributes.len() as u16);
        for (attribute, value) in self.attributes.iter() {
            put_short(&mut out, attribute.word().as_bytes());
            put_value(&mut out, value);
        }
        out.freeze()
    }

    /// The definition of a record.
    pub(crate) fn decode(key: &[u8], record: &[u8]) -> Result<Self, RecordError> {
        let mut reader = Record { key, rest: record };
        let version = reader.byte()?;
        if version != VERSION {
            return Err(RecordError::Version { key: shown(key), version });
        }
        let code = reader.byte()?;
        let kind = KINDS.iter().find(|(known, _)| *known == code).map(|(_, kind)| *kind);
        let kind = kind.ok_or_else(|| reader.damaged("its kind is not known"))?;
        let name = Name::from(QName(Chars::cut(&String::from_utf8_lossy(key.get(2..).unwrap_or_default()))));
        let (number, created_ms, altered_ms) = (reader.number()?, reader.number()?, reader.number()?);
        let dynamic = if reader.byte()? == 0 { Dynamic::Predefined } else { Dynamic::Permanent };
        let count = u16::from_le_bytes(reader.take()?);
        let mut attributes = Attributes::new();
        for _ in 0..count {
            let word = reader.short()?;
            let attribute =
                Attribute::from_word(word).ok_or_else(|| reader.damaged("an attribute is not known"))?;
            attributes.set(attribute, reader.value(0)?);
        }
        Ok(Self { kind, name, number, created_ms, altered_ms, dynamic, attributes })
    }
}

fn put_short(out: &mut BytesMut, text: &[u8]) {
    let text = &text[..text.len().min(usize::from(u8::MAX))];
    out.put_u8(text.len() as u8);
    out.put_slice(text);
}

fn put_value(out: &mut BytesMut, value: &Value) {
    match value {
        Value::Int(number) => {
            out.put_u8(0);
            out.put_i32_le(*number);
        }
        Value::Text(text) => {
            let text = &text.as_bytes()[..text.len().min(usize::from(u16::MAX))];
            out.put_u8(1);
            out.put_u16_le(text.len() as u16);
            out.put_slice(text);
        }
        Value::Keyword(keyword) => {
            out.put_u8(2);
            put_short(out, keyword.word().as_bytes());
        }
        Value::Flag(on) => {
            out.put_u8(3);
            out.put_u8(u8::from(*on));
        }
        Value::Name(name) => {
            out.put_u8(4);
            put_short(out, name.0.trimmed());
        }
        Value::List(values) => {
            let values = &values[..values.len().min(usize::from(u8::MAX))];
            out.put_u8(5);
            out.put_u8(values.len() as u8);
            for value in values {
                put_value(out, value);
            }
        }
    }
}

/// A record being read.
struct Record<'a> {
    key: &'a [u8],
    rest: &'a [u8],
}

impl<'a> Record<'a> {
    fn damaged(&self, what: &'static str) -> RecordError {
        RecordError::Damaged { key: shown(self.key), what }
    }

    fn slice(&mut self, length: usize) -> Result<&'a [u8], RecordError> {
        let (taken, rest) =
            self.rest.split_at_checked(length).ok_or_else(|| self.damaged("it is too short"))?;
        self.rest = rest;
        Ok(taken)
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], RecordError> {
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.slice(N)?);
        Ok(bytes)
    }

    fn byte(&mut self) -> Result<u8, RecordError> {
        self.take().map(|[byte]| byte)
    }

    fn number(&mut self) -> Result<u64, RecordError> {
        self.take().map(u64::from_le_bytes)
    }

    fn text(&mut self, length: usize) -> Result<&'a str, RecordError> {
        std::str::from_utf8(self.slice(length)?).map_err(|_| self.damaged("a text is not UTF-8"))
    }

    fn short(&mut self) -> Result<&'a str, RecordError> {
        let length = self.byte()?;
        self.text(length.into())
    }

    fn value(&mut self, depth: u8) -> Result<Value, RecordError> {
        Ok(match self.byte()? {
            0 => Value::Int(i32::from_le_bytes(self.take()?)),
            1 => {
                let length = u16::from_le_bytes(self.take()?);
                Value::Text(self.text(length.into())?.to_owned())
            }
            2 => {
                let keyword = Keyword::from_word(self.short()?);
                Value::Keyword(keyword.ok_or_else(|| self.damaged("a keyword is not known"))?)
            }
            3 => Value::Flag(self.byte()? != 0),
            4 => Value::Name(ObjectName(Chars::cut(self.short()?))),
            5 if depth == 0 => {
                let count = self.byte()?;
                Value::List((0..count).map(|_| self.value(1)).collect::<Result<_, _>>()?)
            }
            _ => return Err(self.damaged("a value is of no known type")),
        })
    }
}

fn shown(key: &[u8]) -> String {
    String::from_utf8_lossy(key).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_read_back_and_every_truncation_is_refused() {
        for kind in ObjectKind::ALL {
            let mut attributes = Attributes::defaults(*kind);
            let text = Value::Text("it's \u{fc}".to_owned());
            attributes.set(Attribute::DESCR, text.clone());
            attributes.set(Attribute::SENDEXIT, Value::List(vec![text, Value::Int(-1), Value::Flag(true)]));
            let definition = Definition {
                kind: *kind,
                name: Name::from(QName(Chars::cut("A.NAME"))),
                number: 7,
                created_ms: 1,
                altered_ms: u64::MAX,
                dynamic: Dynamic::Permanent,
                attributes,
            };
            let (key, record) = (definition.key(), definition.encode());
            assert_eq!(Definition::decode(&key, &record).unwrap(), definition);
            let longer = [&record[..], b"later"].concat();
            assert_eq!(Definition::decode(&key, &longer).unwrap(), definition, "later versions may append");
            for length in 0..record.len() {
                assert!(Definition::decode(&key, &record[..length]).is_err(), "{length}");
            }
        }
    }

    #[test]
    fn a_newer_record_is_refused() {
        let error = Definition::decode(b"qQX", &[2]).unwrap_err();
        assert_eq!(error, RecordError::Version { key: "qQX".to_owned(), version: 2 });
    }
}
