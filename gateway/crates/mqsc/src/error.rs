//! What can be wrong with a command before anybody tries to carry it out.

use std::sync::Arc;

use mq_wire::NameError;

use crate::amq::Amq;
use crate::kind::ObjectKind;
use crate::source::Place;
use crate::value::ValueError;
use crate::verb::Verb;

/// A mistake in a script, with its place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{place}: {}: {mistake}", mistake.amq())]
pub struct SyntaxError {
    /// The script.
    pub file: Arc<str>,
    /// Where the word at fault stands.
    pub place: Place,
    /// What is wrong.
    pub mistake: Mistake,
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the sentences say what the fields are")]
pub enum Mistake {
    #[error("{word:?} is not a command; commands begin with DEFINE, ALTER, DELETE, DISPLAY or END")]
    Verb { word: String },
    #[error("{verb} needs an object")]
    NounMissing { verb: Verb },
    #[error("{verb} does not go with {word:?}")]
    Noun { verb: Verb, word: String },
    #[error("{verb} {what} is not supported by this version")]
    NotSupported { verb: Verb, what: String },
    #[error("{noun} needs a name in parentheses before {word:?}")]
    NameMissing { noun: &'static str, word: String },
    #[error("{name:?} is not a name: {source}")]
    Name { name: String, source: NameError },
    #[error("a generic name has one * and it is the last character: {name:?}")]
    Generic { name: String },
    #[error("CHLTYPE must follow the name of the channel, before {word:?}")]
    TypeMissing { word: String },
    #[error("{word:?} is not a parameter of {verb}")]
    Unknown { verb: Verb, word: String },
    #[error("{word} is not an attribute of a {kind}")]
    NotOfKind { word: String, kind: ObjectKind },
    #[error("{word} can be displayed but not set")]
    ReadOnly { word: String },
    #[error("{word} needs a value in parentheses")]
    ValueMissing { word: String },
    #[error("{word} takes no value")]
    BareWord { word: String, value: String },
    #[error("{word}: {source}")]
    Value { word: String, source: ValueError },
    #[error("{word} is given twice, or together with its opposite")]
    Duplicate { word: String },
    #[error("{word:?} does not belong here")]
    Stray { word: String },
    #[error("a blank must stand before {word:?}")]
    BlankMissing { word: String },
    #[error("the closing parenthesis of {word} is missing")]
    Unclosed { word: String },
    #[error("the quotation marks in {word} are not in pairs; within a text, write two for one")]
    Quotes { word: String },
    #[error("the script ends within this command")]
    EndOfInput,
    #[error("the command has more than {max} characters")]
    TooLong { max: usize },
}

impl Mistake {
    /// The number of its message (mq-objects.md 4.8).
    pub fn amq(&self) -> Amq {
        match self {
            Self::Name { .. } | Self::Generic { .. } => Amq::NAME,
            Self::Value { source, .. } => match source {
                ValueError::Range { .. } => Amq::RANGE,
                ValueError::Length { .. } => Amq::LENGTH,
                ValueError::Name(_) => Amq::NAME,
                _ => Amq::SYNTAX,
            },
            Self::Duplicate { .. } => Amq::DUPLICATE,
            Self::EndOfInput => Amq::END_OF_INPUT,
            _ => Amq::SYNTAX,
        }
    }

    /// The word at fault.
    pub fn word(&self) -> &str {
        match self {
            Self::Verb { word }
            | Self::Noun { word, .. }
            | Self::NameMissing { word, .. }
            | Self::TypeMissing { word }
            | Self::Unknown { word, .. }
            | Self::NotOfKind { word, .. }
            | Self::ReadOnly { word }
            | Self::ValueMissing { word }
            | Self::BareWord { word, .. }
            | Self::Value { word, .. }
            | Self::Duplicate { word }
            | Self::Stray { word }
            | Self::BlankMissing { word }
            | Self::Unclosed { word }
            | Self::Quotes { word } => word,
            Self::Name { name, .. } | Self::Generic { name } => name,
            Self::NounMissing { verb } => verb.word(),
            Self::NotSupported { what, .. } => what,
            Self::EndOfInput | Self::TooLong { .. } => "",
        }
    }

    /// The value at fault, where the word is right.
    pub fn value(&self) -> Option<&str> {
        match self {
            Self::BareWord { value, .. } => Some(value),
            Self::Value { source, .. } => Some(source.value()),
            _ => None,
        }
    }
}
