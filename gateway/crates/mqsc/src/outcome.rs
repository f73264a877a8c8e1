//! What the queue manager answers to a command.

use mq_wire::Reason;

use crate::amq::Amq;
use crate::command::{Command, Name, Pattern};
use crate::kind::ObjectKind;
use crate::value::Value;
use crate::words::Attribute;

/// What the queue manager answers to a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It has been done.
    Done {
        /// The message that says so.
        message: Amq,
    },
    /// The objects that were asked for; at least one.
    Displayed(Vec<DisplayedObject>),
    /// Nothing was changed.
    Failed(Refusal),
}

impl Outcome {
    /// The command has been done.
    pub fn done(command: &Command) -> Self {
        command.done().map_or_else(|| Self::Displayed(Vec::new()), |message| Self::Done { message })
    }

    /// What a DISPLAY found.
    pub fn displayed(objects: Vec<DisplayedObject>, channels: bool, pattern: Pattern) -> Self {
        if objects.is_empty() {
            return Self::Failed(Refusal::NoneFound { channels, pattern });
        }
        Self::Displayed(objects)
    }
}

/// An object with the attributes that were asked for, in the order of [`Show::attributes`](crate::Show::attributes).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DisplayedObject {
    /// What it is.
    pub kind: ObjectKind,
    /// Its name.
    pub name: Name,
    /// What to show beside name and type.
    pub attributes: Vec<(Attribute, Value)>,
}

/// Why a command was not done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no such object, or it is of another kind than the command says.
    #[error("the {kind} {name} does not exist")]
    NotFound {
        /// The kind that was wanted.
        kind: ObjectKind,
        /// The name: of the object, or of the one named by LIKE.
        name: Name,
    },
    /// A DISPLAY found nothing.
    #[error("no {} matches {pattern}", if *channels { "channel" } else { "object" })]
    NoneFound {
        /// Whether channels were asked for.
        channels: bool,
        /// The name or generic name.
        pattern: Pattern,
    },
    /// There is one of this name already.
    #[error("{name} exists already; REPLACE replaces an object of the same type")]
    Exists {
        /// The kind that was to be defined.
        kind: ObjectKind,
        /// The name.
        name: Name,
    },
    /// Somebody uses it.
    #[error("{name} is in use")]
    InUse {
        /// The name.
        name: Name,
    },
    /// A queue with messages.
    #[error("the queue {name} holds messages; PURGE deletes them with it")]
    NotEmpty {
        /// The name.
        name: Name,
    },
    /// An attribute that does not go with the others or with the state of the object.
    #[error("{attribute} of {name}: {why}")]
    Attribute {
        /// The name.
        name: Name,
        /// The attribute at fault.
        attribute: Attribute,
        /// What is wrong.
        why: String,
    },
    /// Anything else, with the reason code.
    #[error("{name}: reason {reason}")]
    Reason {
        /// The name.
        name: Name,
        /// The reason code.
        reason: Reason,
    },
}

impl Refusal {
    /// The number of its message.
    pub fn amq(&self) -> Amq {
        match self {
            Self::NotFound { kind, .. } if kind.is_channel() => Amq::CHANNEL_NOT_FOUND,
            Self::NoneFound { channels: true, .. } => Amq::CHANNEL_NOT_FOUND,
            Self::NotFound { .. } | Self::NoneFound { .. } => Amq::NOT_FOUND,
            Self::Exists { kind, .. } if kind.is_channel() => Amq::CHANNEL_EXISTS,
            Self::Exists { .. } => Amq::EXISTS,
            Self::InUse { .. } => Amq::IN_USE,
            Self::NotEmpty { .. } => Amq::QUEUE_NOT_EMPTY,
            Self::Attribute { .. } => Amq::SYNTAX,
            Self::Reason { reason, .. } if *reason == Reason::NOT_AUTHORIZED => Amq::NOT_AUTHORIZED,
            Self::Reason { .. } => Amq::UNEXPECTED,
        }
    }
}
