//! The attribute tables: one row says all that is known about an attribute of some kinds of objects. Checking,
//! defaults, DISPLAY and the numbers of MQINQ and PCF come from the row. The rows stand in the order in which they are
//! printed.

mod channel;
mod queue;
mod queue_manager;

use mq_wire::{Chars, ObjectName};

use crate::kind::{Kinds, ObjectKind};
use crate::parse::Word;
use crate::value::{Value, ValueError};
use crate::verb::Verb;
use crate::words::{Attribute, Keyword};

/// What is known about an attribute of some kinds of objects.
#[derive(Debug)]
pub struct Row {
    attribute: Attribute,
    kinds: Kinds,
    selector: i32,
    values: ValueType,
    default: Initial,
    verbs: &'static [Verb],
    effect: Effect,
}

/// What values an attribute has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueType {
    /// A number.
    Int {
        /// The least.
        min: i32,
        /// The most.
        max: i32,
        /// Words that stand for numbers, which may lie outside of the range.
        words: &'static [(Keyword, i32)],
    },
    /// Text of so many characters.
    Text {
        /// The most that fit; also the fixed length in MQINQ.
        max: usize,
    },
    /// The name of an object (48), or blank.
    Name,
    /// One of these words, with their numbers in MQINQ and PCF.
    Choice(&'static [(Keyword, i32)]),
    /// The word itself or the word with NO before it; 1 and 0 in MQINQ and PCF.
    Flag,
    /// Several values.
    List {
        /// What each is.
        of: &'static ValueType,
        /// How many there may be.
        max: usize,
    },
}

/// Whether an attribute has an effect. All are checked, kept and shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It has.
    Now,
    /// Not in this version.
    Later,
    /// It belongs to a part of MQ that is not offered, such as clusters.
    Never,
}

/// The value that an object has when nothing else is said.
#[derive(Debug, Clone, Copy)]
enum Initial {
    /// The queue manager supplies it; it cannot be set.
    Supplied,
    /// Blank, empty.
    Blank,
    Int(i32),
    Word(Keyword),
    Flag(bool),
    /// A list of one word.
    Words(Keyword),
    Name(&'static str),
}

/// Set by DEFINE and ALTER.
const SET: &[Verb] = &[Verb::Define, Verb::Alter, Verb::Display];
/// Only shown.
const SHOWN: &[Verb] = &[Verb::Display];
/// An attribute without a selector that a specification of ours gives.
const UNNUMBERED: i32 = 0;

const fn set(kinds: Kinds, attribute: Attribute, selector: i32, values: ValueType, default: Initial) -> Row {
    Row { attribute, kinds, selector, values, default, verbs: SET, effect: Effect::Now }
}

const fn shown(kinds: Kinds, attribute: Attribute, selector: i32, values: ValueType) -> Row {
    Row { attribute, kinds, selector, values, default: Initial::Supplied, verbs: SHOWN, effect: Effect::Now }
}

impl Row {
    const fn later(mut self) -> Self {
        self.effect = Effect::Later;
        self
    }

    const fn never(mut self) -> Self {
        self.effect = Effect::Never;
        self
    }
}

const fn int(min: i32, max: i32) -> ValueType {
    ValueType::Int { min, max, words: &[] }
}

const fn text(max: usize) -> ValueType {
    ValueType::Text { max }
}

/// Families of words that many attributes share, with their numbers (mq-objects.md 3).
mod choices {
    use Keyword::*;

    use super::{Keyword, ValueType};

    pub(super) const NO_YES: ValueType = ValueType::Choice(&[(NO, 0), (YES, 1)]);
    /// Event switches and others: MQEVR.
    pub(super) const SWITCH: ValueType = ValueType::Choice(&[(ENABLED, 1), (DISABLED, 0)]);
    /// PUT and GET, where the attribute is called "inhibit": MQQA.
    pub(super) const ALLOWED: ValueType = ValueType::Choice(&[(ENABLED, 0), (DISABLED, 1)]);
    pub(super) const OFF_ON: ValueType = ValueType::Choice(&[(OFF, 0), (ON, 1)]);
    pub(super) const QMGR_OFF_ON: ValueType = ValueType::Choice(&[(QMGR, -3), (OFF, 0), (ON, 1)]);
    /// Levels of monitoring of an object: MQMON.
    pub(super) const QMGR_LEVEL: ValueType =
        ValueType::Choice(&[(QMGR, -3), (OFF, 0), (LOW, 17), (MEDIUM, 33), (HIGH, 65)]);
    /// Levels of monitoring of the queue manager.
    pub(super) const NONE_LEVEL: ValueType =
        ValueType::Choice(&[(NONE, -1), (OFF, 0), (LOW, 17), (MEDIUM, 33), (HIGH, 65)]);
    pub(super) const OFF_ON_NONE: ValueType = ValueType::Choice(&[(NONE, -1), (OFF, 0), (ON, 1)]);
}

/// The rows of a kind, in the order in which they are printed.
pub fn rows(kind: ObjectKind) -> impl Iterator<Item = &'static Row> {
    let table = match kind {
        ObjectKind::QueueManager => queue_manager::ROWS,
        ObjectKind::LocalQueue
        | ObjectKind::ModelQueue
        | ObjectKind::AliasQueue
        | ObjectKind::RemoteQueue => queue::ROWS,
        ObjectKind::ServerConnection => channel::ROWS,
    };
    table.iter().filter(move |row| row.kinds.contains(kind))
}

/// The row of an attribute, if objects of the kind have it.
pub fn row(kind: ObjectKind, attribute: Attribute) -> Option<&'static Row> {
    rows(kind).find(|row| row.attribute == attribute)
}

/// The row of an attribute by its selector in MQINQ, MQSET and PCF.
pub fn row_by_selector(kind: ObjectKind, selector: i32) -> Option<&'static Row> {
    rows(kind).find(|row| row.selector == selector && selector != UNNUMBERED)
}

/// The attributes that a word of DISPLAY stands for, if it is such a word.
pub(crate) fn group(kind: ObjectKind, word: &str) -> Option<&'static [Attribute]> {
    (kind == ObjectKind::QueueManager && word == "EVENT").then_some(queue_manager::EVENTS)
}

impl Row {
    /// The attribute.
    pub fn attribute(&self) -> Attribute {
        self.attribute
    }

    /// The number of the attribute in MQINQ, MQSET and PCF.
    pub fn selector(&self) -> Option<i32> {
        (self.selector != UNNUMBERED).then_some(self.selector)
    }

    /// What values it has.
    pub fn values(&self) -> ValueType {
        self.values
    }

    /// Whether it has an effect.
    pub fn effect(&self) -> Effect {
        self.effect
    }

    /// Whether the verb may name it.
    pub fn allows(&self, verb: Verb) -> bool {
        self.verbs.contains(&verb)
    }

    /// The value of a new queue manager's default object; none if it cannot be set.
    pub fn default_value(&self) -> Option<Value> {
        Some(match self.default {
            Initial::Supplied => return None,
            Initial::Blank => match self.values {
                ValueType::Name => Value::Name(ObjectName::BLANK),
                ValueType::List { .. } => Value::List(Vec::new()),
                _ => Value::Text(String::new()),
            },
            Initial::Int(number) => Value::Int(number),
            Initial::Word(keyword) => Value::Keyword(keyword),
            Initial::Flag(on) => Value::Flag(on),
            Initial::Words(keyword) => Value::List(vec![Value::Keyword(keyword)]),
            Initial::Name(name) => Value::Name(ObjectName(Chars::cut(name))),
        })
    }

    /// The value as a number, as MQINQ and PCF give it, unless it is characters there.
    pub fn number(&self, value: &Value) -> Option<i32> {
        self.values.number(value)
    }

    /// The value as characters, as MQINQ and PCF give it: padded with blanks to the fixed length.
    pub fn characters(&self, value: &Value) -> Option<Vec<u8>> {
        let (text, length) = match (self.values, value) {
            (ValueType::Text { max }, Value::Text(text)) => (text.clone(), max),
            (ValueType::Name, Value::Name(name)) => return Some(name.0.as_bytes().to_vec()),
            _ => return None,
        };
        // ISO 8859-1 where it can be: the code page that a queue manager of ours has unless it is told another.
        let mut bytes: Vec<u8> = text.chars().map(|c| u8::try_from(c).unwrap_or(b'?')).collect();
        bytes.resize(length, b' ');
        Some(bytes)
    }

    /// The value that a number of MQSET or PCF stands for.
    pub fn value_from_number(&self, number: i32) -> Result<Value, ValueError> {
        let value = match self.values {
            ValueType::Flag => match number {
                0 => Value::Flag(false),
                1 => Value::Flag(true),
                _ => return Err(ValueError::Range { value: number.to_string(), min: 0, max: 1 }),
            },
            ValueType::Choice(words) => {
                let found = words.iter().find(|(_, known)| *known == number);
                let (keyword, _) = found.ok_or_else(|| not_choice(&number.to_string(), words))?;
                Value::Keyword(*keyword)
            }
            _ => Value::Int(number),
        };
        self.check(&value).map(|()| value)
    }

    /// The value that characters of MQSET or PCF stand for.
    pub fn value_from_characters(&self, characters: &[u8]) -> Result<Value, ValueError> {
        let text: String = characters.iter().map(|byte| char::from(*byte)).collect();
        self.values.read_one(text.trim_end_matches([' ', '\0']), true)
    }

    /// Whether the value fits.
    pub fn check(&self, value: &Value) -> Result<(), ValueError> {
        self.values.check(value)
    }

    /// The value of the words between the parentheses.
    pub(crate) fn read(&self, words: &[Word]) -> Result<Value, ValueError> {
        if let ValueType::List { of, max } = self.values {
            if words.len() > max {
                return Err(too_many(words, max));
            }
            if let [only] = words
                && only.text.trim().is_empty()
                && !matches!(of, ValueType::Choice(_))
            {
                return Ok(Value::List(Vec::new()));
            }
            let items = words.iter().map(|word| of.read_one(&word.value(), word.quoted));
            return if words.is_empty() {
                Err(ValueError::Empty)
            } else {
                items.collect::<Result<_, _>>().map(Value::List)
            };
        }
        match words {
            [] => Err(ValueError::Empty),
            [word] => self.values.read_one(&word.value(), word.quoted),
            several => Err(too_many(several, 1)),
        }
    }
}

impl ValueType {
    fn read_one(&self, text: &str, quoted: bool) -> Result<Value, ValueError> {
        let value = match *self {
            Self::Int { words, .. } => {
                if let Some((_, number)) = words.iter().find(|(keyword, _)| !quoted && keyword.word() == text)
                {
                    return Ok(Value::Int(*number));
                }
                Value::Int(self.read_number(text)?)
            }
            Self::Text { .. } => Value::Text(text.trim_end_matches(' ').to_owned()),
            Self::Name if text.trim().is_empty() => Value::Name(ObjectName::BLANK),
            Self::Name => Value::Name(ObjectName::new(text.trim_end())?),
            Self::Choice(words) => {
                let found = words.iter().find(|(keyword, _)| keyword.word() == text);
                Value::Keyword(found.ok_or_else(|| not_choice(text, words))?.0)
            }
            Self::Flag | Self::List { .. } => return Err(ValueError::WrongType),
        };
        self.check(&value)?;
        Ok(value)
    }

    fn read_number(&self, text: &str) -> Result<i32, ValueError> {
        let digits = text.strip_prefix('-').unwrap_or(text);
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(ValueError::NotNumber { value: text.to_owned() });
        }
        // Digits that are no i32 are a number out of range all the same.
        text.parse().map_err(|_| self.out_of_range(text.to_owned()))
    }

    fn out_of_range(&self, value: String) -> ValueError {
        let (min, max) =
            if let Self::Int { min, max, .. } = *self { (min, max) } else { (i32::MIN, i32::MAX) };
        ValueError::Range { value, min, max }
    }

    fn check(&self, value: &Value) -> Result<(), ValueError> {
        match (*self, value) {
            (Self::Int { min, max, words }, Value::Int(number)) => {
                let known = (min..=max).contains(number) || words.iter().any(|(_, known)| known == number);
                if known { Ok(()) } else { Err(self.out_of_range(number.to_string())) }
            }
            (Self::Text { max }, Value::Text(text)) => {
                let length = text.chars().count();
                if length > max {
                    return Err(ValueError::Length { value: text.clone(), length, max });
                }
                if text.contains(['\n', '\r', '\0']) {
                    return Err(ValueError::Control { value: text.clone() });
                }
                Ok(())
            }
            (Self::Name, Value::Name(name)) if name.is_valid() => Ok(()),
            (Self::Choice(words), Value::Keyword(keyword)) => {
                let known = words.iter().any(|(known, _)| known == keyword);
                if known { Ok(()) } else { Err(not_choice(keyword.word(), words)) }
            }
            (Self::Flag, Value::Flag(_)) => Ok(()),
            (Self::List { of, max }, Value::List(values)) => {
                if values.len() > max {
                    return Err(ValueError::TooMany { value: String::new(), found: values.len(), max });
                }
                values.iter().try_for_each(|value| of.check(value))
            }
            _ => Err(ValueError::WrongType),
        }
    }

    fn number(&self, value: &Value) -> Option<i32> {
        match (*self, value) {
            (_, Value::Int(number)) => Some(*number),
            (_, Value::Flag(on)) => Some(i32::from(*on)),
            (Self::Choice(words), Value::Keyword(keyword)) => {
                words.iter().find(|(known, _)| known == keyword).map(|(_, number)| *number)
            }
            _ => None,
        }
    }

    /// The word that stands for a number, if one does.
    pub(crate) fn word_of(&self, number: i32) -> Option<Keyword> {
        let Self::Int { words, .. } = *self else { return None };
        words.iter().find(|(_, known)| *known == number).map(|(keyword, _)| *keyword)
    }
}

fn not_choice(value: &str, words: &[(Keyword, i32)]) -> ValueError {
    let allowed: Vec<_> = words.iter().map(|(keyword, _)| keyword.word()).collect();
    ValueError::NotChoice { value: value.to_owned(), allowed: allowed.join(", ") }
}

fn too_many(words: &[Word], max: usize) -> ValueError {
    let all: Vec<_> = words.iter().map(Word::value).collect();
    ValueError::TooMany { value: all.join(","), found: words.len(), max }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_consistent() {
        for kind in ObjectKind::ALL {
            let mut attributes = Vec::new();
            let mut selectors = Vec::new();
            for row in rows(*kind) {
                let name = format!("{kind} {}", row.attribute);
                assert!(!attributes.contains(&row.attribute), "{name} stands twice");
                attributes.push(row.attribute);
                if let Some(selector) = row.selector() {
                    assert!(!selectors.contains(&selector), "{name}: selector {selector} stands twice");
                    selectors.push(selector);
                    assert_eq!(row_by_selector(*kind, selector).map(Row::attribute), Some(row.attribute));
                }
                assert_eq!(row.default_value().is_some(), row.allows(Verb::Alter), "{name}");
                if let Some(value) = row.default_value() {
                    assert_eq!(row.check(&value), Ok(()), "{name}");
                    if let Some(number) = row.number(&value) {
                        assert_eq!(row.value_from_number(number), Ok(value), "{name}");
                    } else if let Some(characters) = row.characters(&value) {
                        assert_eq!(row.value_from_characters(&characters), Ok(value), "{name}");
                    }
                }
            }
        }
    }

    #[test]
    fn every_word_is_used() {
        let rows: Vec<_> = ObjectKind::ALL.iter().flat_map(|kind| rows(*kind)).collect();
        for attribute in Attribute::WORDS {
            assert!(rows.iter().any(|row| row.attribute == *attribute), "{attribute} has no row");
        }
        for attribute in rows.iter().filter(|row| row.values == ValueType::Flag).map(|row| row.attribute) {
            let negated = format!("NO{attribute}");
            assert_eq!(Attribute::spelt(&negated), Some((attribute, false)));
        }
    }
}
