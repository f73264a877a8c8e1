//! MQINQ and MQSET (mq-wire.md 4.9).

use bytes::Bytes;

use super::take_slice;
use crate::{Coding, DecodeError, DecodeErrorKind, Field, Reader, Selector, Writer};

const TITLE: &str = "MQINQ";

/// Request of MQINQ: which attributes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InquireBody {
    /// Integers that the reply must hold, even if fewer integer selectors are given (mq-wire-observed-base.md 4.1).
    pub int_attr_count: u32,
    /// Characters that the reply must hold.
    pub char_attr_length: u32,
    /// The attributes wanted.
    pub selectors: Vec<Selector>,
}

impl InquireBody {
    /// Reads it.
    pub fn decode(body: &Bytes, coding: Coding) -> Result<Self, DecodeError> {
        Self::decode_next(&mut Reader::new(body, coding))
    }

    /// Appends it.
    pub fn encode(&self, writer: &mut Writer<'_>) {
        writer.field(&(self.selectors.len() as u32));
        writer.field(&self.int_attr_count);
        writer.field(&self.char_attr_length);
        for selector in &self.selectors {
            writer.field(selector);
        }
    }

    fn decode_next(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let count: u32 = reader.field(TITLE, "SelectorCount")?;
        let int_attr_count = reader.field(TITLE, "IntAttrCount")?;
        let char_attr_length = reader.field(TITLE, "CharAttrLength")?;
        let selectors = words(reader, "Selectors", count)?;
        Ok(Self { int_attr_count, char_attr_length, selectors })
    }
}

/// Reply to MQINQ, and request of MQSET: attributes with their values, first all integers, then all characters.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AttributesBody {
    /// Which attributes.
    pub selectors: Vec<Selector>,
    /// Their integers.
    pub int_attrs: Vec<i32>,
    /// Their characters, each attribute with its fixed length, in the character set of the segment.
    pub char_attrs: Bytes,
}

impl AttributesBody {
    /// Reads it.
    pub fn decode(body: &Bytes, coding: Coding) -> Result<Self, DecodeError> {
        let reader = &mut Reader::new(body, coding);
        let InquireBody { int_attr_count, char_attr_length, selectors } = InquireBody::decode_next(reader)?;
        let int_attrs = words(reader, "IntAttrs", int_attr_count)?;
        let char_attrs = take_slice(reader, body, TITLE, "CharAttrs", char_attr_length as usize)?;
        Ok(Self { selectors, int_attrs, char_attrs })
    }

    /// Appends it.
    pub fn encode(&self, writer: &mut Writer<'_>) {
        writer.field(&(self.selectors.len() as u32));
        writer.field(&(self.int_attrs.len() as u32));
        writer.field(&(self.char_attrs.len() as u32));
        for selector in &self.selectors {
            writer.field(selector);
        }
        for value in &self.int_attrs {
            writer.field(value);
        }
        writer.raw(&self.char_attrs);
    }
}

/// So many words of four bytes. Room is made for them after it is known that they are there.
fn words<T: Field>(reader: &mut Reader<'_>, field: &'static str, count: u32) -> Result<Vec<T>, DecodeError> {
    let left = reader.rest().len();
    let Some(length) = (count as usize).checked_mul(T::LENGTH).filter(|length| *length <= left) else {
        let kind = DecodeErrorKind::Range { found: count.into(), min: 0, max: (left / T::LENGTH) as i64 };
        return Err(reader.error(TITLE, field, kind));
    };
    let coding = reader.coding();
    let bytes = reader.take(TITLE, field, length)?;
    Ok(bytes.chunks_exact(T::LENGTH).map(|word| T::read(word, coding)).collect())
}
