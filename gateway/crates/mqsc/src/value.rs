//! The value of an attribute. Whether it fits is for the attribute's row to say.

use mq_wire::{NameError, ObjectName};

use crate::words::Keyword;

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A number. Words that stand for a number, such as NOLIMIT, are this number.
    Int(i32),
    /// Text without trailing blanks.
    Text(String),
    /// One of the words of the attribute.
    Keyword(Keyword),
    /// One of a pair of words such as SHARE (true) and NOSHARE.
    Flag(bool),
    /// The name of an object, or blank.
    Name(ObjectName),
    /// Several values.
    List(Vec<Value>),
}

/// A value that does not fit its attribute.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// Not a number where one belongs.
    #[error("{value:?} is not a number")]
    NotNumber {
        /// The text.
        value: String,
    },
    /// A number outside of the range.
    #[error("{value} is not within {min} to {max}")]
    Range {
        /// The text.
        value: String,
        /// The least that is allowed.
        min: i32,
        /// The most that is allowed.
        max: i32,
    },
    /// A word that the attribute does not know.
    #[error("{value:?} is none of {allowed}")]
    NotChoice {
        /// The text.
        value: String,
        /// The words that are allowed.
        allowed: String,
    },
    /// Text that is too long.
    #[error("{length} characters, at most {max} fit")]
    Length {
        /// The text.
        value: String,
        /// How many characters it has.
        length: usize,
        /// The most that fit.
        max: usize,
    },
    /// Text with a line end or a zero byte, which no script can hold.
    #[error("the text has a line end or a zero byte")]
    Control {
        /// The text.
        value: String,
    },
    /// Not a name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// Nothing between the parentheses.
    #[error("nothing stands between the parentheses")]
    Empty,
    /// More values than the attribute takes.
    #[error("{found} values, at most {max} are allowed")]
    TooMany {
        /// The values, separated by commas.
        value: String,
        /// How many there are.
        found: usize,
        /// How many there may be.
        max: usize,
    },
    /// A value of another type.
    #[error("a value of another type belongs here")]
    WrongType,
}

impl ValueError {
    /// The text that does not fit.
    pub fn value(&self) -> &str {
        match self {
            Self::NotNumber { value }
            | Self::Range { value, .. }
            | Self::NotChoice { value, .. }
            | Self::Length { value, .. }
            | Self::Control { value }
            | Self::TooMany { value, .. } => value,
            Self::Name(NameError::TooLong { name, .. } | NameError::Character { name, .. }) => name,
            Self::Name(NameError::Blank) | Self::Empty | Self::WrongType => "",
        }
    }
}
