//! Attributes with their values: what a command sets, or all that an object has.

use std::collections::BTreeMap;

use mq_wire::ObjectName;

use crate::kind::ObjectKind;
use crate::table::{row, rows};
use crate::value::Value;
use crate::words::{Attribute, Keyword};

/// Attributes with their values, in a fixed order.
///
/// Those of a command fit the kind of its object: type, range and length have been checked against the table. The
/// typed getters answer `None` for an attribute that is not there or is of another type.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Attributes(BTreeMap<Attribute, Value>);

impl Attributes {
    /// None at all.
    pub const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// Every attribute that can be set on an object of this kind, with the values of its SYSTEM.DEFAULT object when
    /// the queue manager is created (mq-objects.md 3.2, 3.3, 3.7).
    pub fn defaults(kind: ObjectKind) -> Self {
        rows(kind).filter_map(|row| Some((row.attribute(), row.default_value()?))).collect()
    }

    /// The value of one.
    pub fn get(&self, attribute: Attribute) -> Option<&Value> {
        self.0.get(&attribute)
    }

    /// The value of a number.
    pub fn int(&self, attribute: Attribute) -> Option<i32> {
        if let Some(Value::Int(number)) = self.get(attribute) { Some(*number) } else { None }
    }

    /// The value of a word.
    pub fn keyword(&self, attribute: Attribute) -> Option<Keyword> {
        if let Some(Value::Keyword(keyword)) = self.get(attribute) { Some(*keyword) } else { None }
    }

    /// Whether the word of a pair such as ENABLED and DISABLED, YES and NO is this one.
    pub fn is(&self, attribute: Attribute, keyword: Keyword) -> bool {
        self.keyword(attribute) == Some(keyword)
    }

    /// The value of a pair of bare words such as SHARE and NOSHARE.
    pub fn flag(&self, attribute: Attribute) -> Option<bool> {
        if let Some(Value::Flag(on)) = self.get(attribute) { Some(*on) } else { None }
    }

    /// The value of text.
    pub fn text(&self, attribute: Attribute) -> Option<&str> {
        if let Some(Value::Text(text)) = self.get(attribute) { Some(text) } else { None }
    }

    /// The value of a name; blank if none is given.
    pub fn name(&self, attribute: Attribute) -> Option<ObjectName> {
        if let Some(Value::Name(name)) = self.get(attribute) { Some(*name) } else { None }
    }

    /// The values of a list.
    pub fn list(&self, attribute: Attribute) -> Option<&[Value]> {
        if let Some(Value::List(values)) = self.get(attribute) { Some(values) } else { None }
    }

    /// The value as MQINQ and PCF give it, if it is a number there: words have numbers too.
    pub fn number(&self, kind: ObjectKind, attribute: Attribute) -> Option<i32> {
        row(kind, attribute)?.number(self.get(attribute)?)
    }

    /// The value as MQINQ and PCF give it, if it is characters there: padded with blanks to its fixed length.
    pub fn characters(&self, kind: ObjectKind, attribute: Attribute) -> Option<Vec<u8>> {
        row(kind, attribute)?.characters(self.get(attribute)?)
    }

    /// Sets one.
    pub fn set(&mut self, attribute: Attribute, value: Value) {
        self.0.insert(attribute, value);
    }

    /// Takes over each value of the others.
    pub fn merge(&mut self, others: &Self) {
        self.0.extend(others.iter().map(|(attribute, value)| (attribute, value.clone())));
    }

    /// Each with its value.
    pub fn iter(&self) -> impl Iterator<Item = (Attribute, &Value)> {
        self.0.iter().map(|(attribute, value)| (*attribute, value))
    }

    /// Whether this one is there.
    pub fn contains(&self, attribute: Attribute) -> bool {
        self.0.contains_key(&attribute)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(Attribute, Value)> for Attributes {
    fn from_iter<I: IntoIterator<Item = (Attribute, Value)>>(pairs: I) -> Self {
        Self(pairs.into_iter().collect())
    }
}
