//! MQeFields: an unordered set of (name, type, value), and its canonical bytes (mqe.md 1.2, 8.4).
//!
//! Bytes: count u16; for each field, in ascending order of the names: length of the name u8, name, type u8, value.
//! Values of fixed size stand as they are, others behind a length u32; an array is a count u32, the type of its
//! elements u8, and the elements. Big-endian. Equal objects have equal bytes, and what is not canonical is refused.

use std::collections::BTreeMap;

use bytes::{BufMut, Bytes, BytesMut};

use crate::wire::{Cursor, DecodeError, DecodeErrorKind};

/// The most values (fields and elements of arrays, nested ones included) of one object.
pub const VALUES_MAX: usize = 8_192;
/// The deepest nesting of objects.
pub const DEPTH_MAX: usize = 8;

/// A value of a field. The numbers are the type codes of the C interface (mqe.md 1.2).
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// 0xC0: bytes without a type.
    Bytes(Bytes),
    /// 0xC1: ASCII text.
    Ascii(String),
    /// 0xC2: text; UTF-16, big-endian, in the bytes.
    Unicode(String),
    /// 0xC3.
    Boolean(bool),
    /// 0xC4.
    Byte(u8),
    /// 0xC5.
    Short(i16),
    /// 0xC6.
    Int(i32),
    /// 0xC7; 8 bytes (the table's 4 is a mistake of the manual, mqe.md 1.2).
    Long(i64),
    /// 0xC8.
    Float(f32),
    /// 0xC9.
    Double(f64),
    /// 0xCA: values of one type, which is not itself an array. An empty one is a null (mqe.md 1.2): its type is bytes.
    Array(Vec<Value>),
    /// 0xCB: a nested object.
    Fields(Fields),
}

impl Value {
    fn code(&self) -> u8 {
        match self {
            Self::Bytes(_) => 0xC0,
            Self::Ascii(_) => 0xC1,
            Self::Unicode(_) => 0xC2,
            Self::Boolean(_) => 0xC3,
            Self::Byte(_) => 0xC4,
            Self::Short(_) => 0xC5,
            Self::Int(_) => 0xC6,
            Self::Long(_) => 0xC7,
            Self::Float(_) => 0xC8,
            Self::Double(_) => 0xC9,
            Self::Array(_) => 0xCA,
            Self::Fields(_) => 0xCB,
        }
    }
}

/// Why a field cannot be set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FieldError {
    /// The name may not be one.
    #[error(
        "{name:?} is not a field name: 1 to 255 visible ASCII characters without {{ }} [ ] # ( ) : ; , ' \" ="
    )]
    Name {
        /// The name.
        name: String,
    },
    /// ASCII text with other characters.
    #[error("the value of {name} is not ASCII text")]
    NotAscii {
        /// The field.
        name: String,
    },
    /// Elements of an array that differ in type, or are arrays themselves.
    #[error("the elements of {name} have not all the same simple type")]
    Mixed {
        /// The field.
        name: String,
    },
    /// Too many values, or too deep.
    #[error("{name} makes the object larger than {VALUES_MAX} values or deeper than {DEPTH_MAX} objects")]
    TooLarge {
        /// The field.
        name: String,
    },
}

/// A set of named values.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Fields(BTreeMap<String, Value>);

impl Fields {
    /// An empty object.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a field, replacing what it was. What is in is always encodable.
    pub fn set(&mut self, name: &str, value: Value) -> Result<(), FieldError> {
        if !is_name(name.as_bytes()) {
            return Err(FieldError::Name { name: name.to_owned() });
        }
        check(name, &value)?;
        let replaced = self.0.get(name).map_or(0, count);
        let values = self.values() - replaced + count(&value);
        if values > VALUES_MAX || depth(&value) >= DEPTH_MAX {
            return Err(FieldError::TooLarge { name: name.to_owned() });
        }
        self.0.insert(name.to_owned(), value);
        Ok(())
    }

    /// For names and values that are known to be right: those of our own tables.
    pub(crate) fn put(&mut self, name: &'static str, value: Value) {
        debug_assert!(is_name(name.as_bytes()));
        self.0.insert(name.to_owned(), value);
    }

    /// A field.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// Removes a field.
    pub fn remove(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name)
    }

    /// All fields in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// How many fields there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The canonical bytes.
    pub fn to_bytes(&self) -> Bytes {
        let mut out = BytesMut::new();
        self.encode(&mut out);
        out.freeze()
    }

    /// Appends the canonical bytes.
    pub fn encode(&self, out: &mut BytesMut) {
        // `set` keeps the number of fields below VALUES_MAX, which fits.
        out.put_u16(self.0.len() as u16);
        for (name, value) in &self.0 {
            out.put_u8(name.len() as u8);
            out.put_slice(name.as_bytes());
            out.put_u8(value.code());
            encode_value(value, out);
        }
    }

    /// Reads an object that is all of `bytes`.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut cursor = Cursor::new(bytes);
        let mut left = VALUES_MAX;
        let fields = decode_fields(&mut cursor, DEPTH_MAX, &mut left)?;
        cursor.finish("Fields")?;
        Ok(fields)
    }

    fn values(&self) -> usize {
        self.0.values().map(count).sum()
    }

    /// Typed looks at a field, for the tables of messages and frames; absent and another type are one.
    pub(crate) fn bytes(&self, name: &str) -> Option<&Bytes> {
        if let Some(Value::Bytes(bytes)) = self.0.get(name) { Some(bytes) } else { None }
    }

    pub(crate) fn ascii(&self, name: &str) -> Option<&str> {
        if let Some(Value::Ascii(text)) = self.0.get(name) { Some(text) } else { None }
    }

    pub(crate) fn int(&self, name: &str) -> Option<i32> {
        match self.0.get(name) {
            Some(Value::Int(value)) => Some(*value),
            // mqe.md 4.5: some say byte, some say integer; accept any that fits.
            Some(Value::Byte(value)) => Some(i32::from(*value)),
            Some(Value::Short(value)) => Some(i32::from(*value)),
            Some(Value::Long(value)) => i32::try_from(*value).ok(),
            _ => None,
        }
    }

    pub(crate) fn long(&self, name: &str) -> Option<i64> {
        if let Some(Value::Long(value)) = self.0.get(name) { Some(*value) } else { None }
    }
}

/// Whether the bytes may be a field name: visible ASCII without the punctuation that names forbid (mqe.md 1.1, 1.2).
pub fn is_name(name: &[u8]) -> bool {
    (1..=255).contains(&name.len())
        && name.iter().all(|b| b.is_ascii_graphic() && !b"{}[]#():;,'\"=".contains(b))
}

fn count(value: &Value) -> usize {
    match value {
        Value::Array(values) => 1 + values.iter().map(count).sum::<usize>(),
        Value::Fields(fields) => 1 + fields.values(),
        _ => 1,
    }
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(values) => values.iter().map(depth).max().unwrap_or(0),
        Value::Fields(fields) => 1 + fields.0.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

fn check(name: &str, value: &Value) -> Result<(), FieldError> {
    match value {
        Value::Ascii(text) if !text.is_ascii() => Err(FieldError::NotAscii { name: name.to_owned() }),
        Value::Array(values) => {
            let code = values.first().map(Value::code);
            if values.iter().any(|v| Some(v.code()) != code || matches!(v, Value::Array(_))) {
                return Err(FieldError::Mixed { name: name.to_owned() });
            }
            values.iter().try_for_each(|v| check(name, v))
        }
        _ => Ok(()),
    }
}

fn encode_value(value: &Value, out: &mut BytesMut) {
    match value {
        Value::Bytes(bytes) => put_counted(out, bytes),
        Value::Ascii(text) => put_counted(out, text.as_bytes()),
        Value::Unicode(text) => {
            let units: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
            put_counted(out, &units);
        }
        Value::Boolean(value) => out.put_u8(u8::from(*value)),
        Value::Byte(value) => out.put_u8(*value),
        Value::Short(value) => out.put_i16(*value),
        Value::Int(value) => out.put_i32(*value),
        Value::Long(value) => out.put_i64(*value),
        Value::Float(value) => out.put_f32(*value),
        Value::Double(value) => out.put_f64(*value),
        Value::Array(values) => {
            out.put_u32(values.len() as u32);
            out.put_u8(values.first().map_or(0xC0, Value::code));
            values.iter().for_each(|v| encode_value(v, out));
        }
        Value::Fields(fields) => {
            let mut inner = BytesMut::new();
            fields.encode(&mut inner);
            put_counted(out, &inner);
        }
    }
}

fn put_counted(out: &mut BytesMut, bytes: &[u8]) {
    out.put_u32(bytes.len() as u32);
    out.put_slice(bytes);
}

fn decode_fields(cursor: &mut Cursor<'_>, depth: usize, left: &mut usize) -> Result<Fields, DecodeError> {
    const WHAT: &str = "Fields.name";
    if depth == 0 {
        let kind = DecodeErrorKind::TooLarge { found: DEPTH_MAX as u64 + 1, max: DEPTH_MAX as u64 };
        return Err(cursor.error("Fields.depth", kind));
    }
    let mut fields = Fields::new();
    for _ in 0..cursor.u16("Fields.count")? {
        let at = cursor.clone();
        let name = cursor.short_text(WHAT)?;
        if !is_name(name.as_bytes()) {
            return Err(at.error(WHAT, DecodeErrorKind::Name));
        }
        if fields.0.last_key_value().is_some_and(|(last, _)| last.as_str() >= name) {
            return Err(at.error(WHAT, DecodeErrorKind::Order));
        }
        let code = cursor.u8("Fields.type")?;
        let value = decode_value(cursor, code, depth, left)?;
        fields.0.insert(name.to_owned(), value);
    }
    Ok(fields)
}

fn decode_value(
    cursor: &mut Cursor<'_>,
    code: u8,
    depth: usize,
    left: &mut usize,
) -> Result<Value, DecodeError> {
    const WHAT: &str = "Fields.value";
    let at = cursor.clone();
    *left = left.checked_sub(1).ok_or_else(|| {
        let max = VALUES_MAX as u64;
        at.error(WHAT, DecodeErrorKind::TooLarge { found: max + 1, max })
    })?;
    Ok(match code {
        0xC0 => Value::Bytes(Bytes::copy_from_slice(cursor.counted(WHAT, usize::MAX)?)),
        0xC1 => {
            let bytes = cursor.counted(WHAT, usize::MAX)?;
            let text = std::str::from_utf8(bytes).ok().filter(|text| text.is_ascii());
            Value::Ascii(text.ok_or_else(|| at.error(WHAT, DecodeErrorKind::Text))?.to_owned())
        }
        0xC2 => {
            let bytes = cursor.counted(WHAT, usize::MAX)?;
            let (pairs, odd) = bytes.as_chunks::<2>();
            let units = char::decode_utf16(pairs.iter().map(|pair| u16::from_be_bytes(*pair)));
            let text = units.collect::<Result<String, _>>().ok().filter(|_| odd.is_empty());
            Value::Unicode(text.ok_or_else(|| at.error(WHAT, DecodeErrorKind::Text))?)
        }
        0xC3 => match cursor.u8(WHAT)? {
            0 => Value::Boolean(false),
            1 => Value::Boolean(true),
            found => return Err(at.error(WHAT, DecodeErrorKind::Code { found })),
        },
        0xC4 => Value::Byte(cursor.u8(WHAT)?),
        0xC5 => Value::Short(cursor.array(WHAT).map(i16::from_be_bytes)?),
        0xC6 => Value::Int(cursor.array(WHAT).map(i32::from_be_bytes)?),
        0xC7 => Value::Long(cursor.array(WHAT).map(i64::from_be_bytes)?),
        0xC8 => Value::Float(cursor.array(WHAT).map(f32::from_be_bytes)?),
        0xC9 => Value::Double(cursor.array(WHAT).map(f64::from_be_bytes)?),
        0xCA => {
            let count = cursor.u32(WHAT)?;
            let element = cursor.u8("Fields.element type")?;
            if element == 0xCA || (count == 0 && element != 0xC0) || !(0xC0..=0xCB).contains(&element) {
                return Err(at.error("Fields.element type", DecodeErrorKind::Code { found: element }));
            }
            // Nothing is reserved on the word of `count`: each element takes bytes and a part of VALUES_MAX.
            let mut values = Vec::new();
            for _ in 0..count {
                values.push(decode_value(cursor, element, depth, left)?);
            }
            Value::Array(values)
        }
        0xCB => {
            let bytes = cursor.counted(WHAT, usize::MAX)?;
            let mut inner = Cursor::new(bytes);
            let fields = decode_fields(&mut inner, depth - 1, left)?;
            inner.finish(WHAT)?;
            Value::Fields(fields)
        }
        found => return Err(at.error("Fields.type", DecodeErrorKind::Code { found })),
    })
}

#[cfg(test)]
mod tests;
