//! Reads and writes the fixed structures by tables of offsets copied from mq-wire.md 3 and 5. A structure is a bag of
//! named fields here: a test names those it looks at, everything else is zero or blank.

use std::collections::BTreeMap;

use crate::coding::Coding;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    U8,
    U16,
    U32,
    Chars(usize),
    Bytes(usize),
}

pub(crate) struct Layout {
    /// The structure identifier, four characters.
    pub(crate) id: &'static str,
    /// Version and length of each form; one entry with version 0 when the structure has no Version field.
    pub(crate) lengths: &'static [(u32, usize)],
    /// Name, offset, type. The identifier at 0 and the version at 4 are not among them.
    pub(crate) fields: &'static [(&'static str, usize, Kind)],
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Number(u32),
    Text(String),
    Bytes(Vec<u8>),
}

/// The fields of one structure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fields {
    pub(crate) version: u32,
    values: BTreeMap<&'static str, Value>,
}

impl Fields {
    pub(crate) fn new(version: u32) -> Fields {
        Fields { version, values: BTreeMap::new() }
    }

    pub(crate) fn number(&self, name: &str) -> u32 {
        match self.values.get(name) {
            Some(Value::Number(number)) => *number,
            other => panic!("{name} is {other:?}, no number"),
        }
    }

    pub(crate) fn text(&self, name: &str) -> &str {
        match self.values.get(name) {
            Some(Value::Text(text)) => text,
            other => panic!("{name} is {other:?}, no text"),
        }
    }

    pub(crate) fn bytes(&self, name: &str) -> &[u8] {
        match self.values.get(name) {
            Some(Value::Bytes(bytes)) => bytes,
            other => panic!("{name} is {other:?}, no bytes"),
        }
    }

    pub(crate) fn set(mut self, name: &'static str, value: impl Into<Value>) -> Fields {
        self.values.insert(name, value.into());
        self
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Value {
        Value::Number(number)
    }
}

impl From<i32> for Value {
    fn from(number: i32) -> Value {
        Value::Number(number as u32)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}

impl<const N: usize> From<[u8; N]> for Value {
    fn from(bytes: [u8; N]) -> Value {
        Value::Bytes(bytes.to_vec())
    }
}

impl Layout {
    /// The fields of the structure at the start of `bytes`, and its length there. The identifier is compared in the
    /// code page of the conversation, and a version that the table does not have is a fault of the sender.
    pub(crate) fn read(&self, bytes: &[u8], coding: Coding) -> (Fields, usize) {
        assert_eq!(coding.text(&bytes[..4]), self.id.trim_end(), "the identifier of {}", self.id);
        let (version, length) = match self.lengths {
            [(0, length)] => (0, *length),
            known => {
                let version = coding.read_u32(&bytes[4..]);
                *known
                    .iter()
                    .find(|known| known.0 == version)
                    .unwrap_or_else(|| panic!("{} {version}", self.id))
            }
        };
        assert!(bytes.len() >= length, "{} version {version} has {} of {length} bytes", self.id, bytes.len());
        (self.read_cut(&bytes[..length], version, coding), length)
    }

    /// Reads the fields that lie wholly in `bytes`: some structures are as long as the level says.
    pub(crate) fn read_cut(&self, bytes: &[u8], version: u32, coding: Coding) -> Fields {
        let mut fields = Fields::new(version);
        for (name, at, kind) in self.fields {
            if at + kind.length() > bytes.len() {
                continue;
            }
            let part = &bytes[*at..at + kind.length()];
            let value = match kind {
                Kind::U8 => Value::Number(u32::from(part[0])),
                Kind::U16 => Value::Number(u32::from(coding.read_u16(part))),
                Kind::U32 => Value::Number(coding.read_u32(part)),
                Kind::Chars(_) => Value::Text(coding.text(part)),
                Kind::Bytes(_) => Value::Bytes(part.to_vec()),
            };
            fields.values.insert(name, value);
        }
        fields
    }

    pub(crate) fn write(&self, fields: &Fields, coding: Coding) -> Vec<u8> {
        let length = self.lengths.iter().find(|known| known.0 == fields.version).map(|known| known.1);
        let length = length.unwrap_or_else(|| panic!("{} has no version {}", self.id, fields.version));
        self.write_cut(fields, length, coding)
    }

    /// Writes the first `length` bytes of the structure; a field the length cuts off is left out whole.
    pub(crate) fn write_cut(&self, fields: &Fields, length: usize, coding: Coding) -> Vec<u8> {
        let mut bytes = vec![0; length];
        bytes[..4].copy_from_slice(&coding.chars(self.id, 4));
        if self.lengths[0].0 != 0 {
            bytes[4..8].copy_from_slice(&coding.u32(fields.version));
        }
        for (name, at, kind) in self.fields {
            let end = at + kind.length();
            if end > length {
                continue;
            }
            let part = &mut bytes[*at..end];
            match (kind, fields.values.get(name)) {
                (Kind::Chars(width), None) => part.copy_from_slice(&coding.chars("", *width)),
                (_, None) => (),
                (Kind::U8, Some(Value::Number(number))) => part[0] = *number as u8,
                (Kind::U16, Some(Value::Number(number))) => part.copy_from_slice(&coding.u16(*number as u16)),
                (Kind::U32, Some(Value::Number(number))) => part.copy_from_slice(&coding.u32(*number)),
                (Kind::Chars(width), Some(Value::Text(text))) => {
                    part.copy_from_slice(&coding.chars(text, *width));
                }
                (Kind::Bytes(width), Some(Value::Bytes(value))) => {
                    part[..value.len().min(*width)].copy_from_slice(value);
                }
                (kind, value) => panic!("{name} of {} is {kind:?}, not {value:?}", self.id),
            }
        }
        let strange = fields.values.keys().find(|name| !self.fields.iter().any(|field| field.0 == **name));
        assert_eq!(strange, None, "no such field in {}", self.id);
        bytes
    }
}

impl Kind {
    fn length(&self) -> usize {
        match self {
            Kind::U8 => 1,
            Kind::U16 => 2,
            Kind::U32 => 4,
            Kind::Chars(length) | Kind::Bytes(length) => *length,
        }
    }
}
