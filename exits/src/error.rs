//! What can go wrong in an exit or around it, and which reason code the message's dead-letter header then gets.

use std::io;
use std::time::Duration;

use mq_wire::{DecodeError, Reason};

/// MQFB_STOPPED_BY_MSG_EXIT (mq-objects.md 2.4), in the field of MQDLH that takes reasons and feedback codes alike.
pub const STOPPED_BY_MSG_EXIT: Reason = Reason(268);

/// An exit, or the chain around it, that failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExitError {
    /// What an exit says when it cannot do its work; see [`ExitError::failed`].
    #[error("{why}")]
    Failed {
        /// What the dead-letter header will say.
        reason: Reason,
        /// What happened.
        why: String,
    },
    /// The message is not what it should be.
    #[error("the message cannot be read: {0}")]
    Message(#[from] DecodeError),
    /// The exit's data string has an option that cannot be used.
    #[error("option {option} of the exit's data: {why}")]
    Option {
        /// Its name.
        option: String,
        /// What is wrong with it, and what would be right.
        why: String,
    },
    /// The exit's code panicked.
    #[error("panicked in {call}: {why}")]
    Panicked {
        /// What was being called.
        call: &'static str,
        /// The panic's message.
        why: String,
    },
    /// A call took too long.
    #[error("{call} was not done after {limit:?}")]
    Late {
        /// What was being called.
        call: &'static str,
        /// The limit.
        limit: Duration,
    },
    /// The exit made the message too long.
    #[error("returned a message of {bytes} bytes, message_bytes_max is {bytes_max}")]
    TooLarge {
        /// Its length.
        bytes: usize,
        /// The most that is allowed.
        bytes_max: usize,
    },
    /// The exit returned a message whose transmission queue header is gone.
    #[error("returned a message without its transmission queue header")]
    HeaderLost,
    /// Nobody registered that kind of exit.
    #[error("no exit is of kind {kind:?}; known kinds are {known}")]
    UnknownKind {
        /// As configured.
        kind: String,
        /// What there is.
        known: String,
    },
    /// Nobody registered that kind of undelivered rule.
    #[error("no undelivered rule is of kind {kind:?}; known kinds are {known}")]
    UnknownRule {
        /// As configured.
        kind: String,
        /// What there is.
        known: String,
    },
    /// An exit could not be started.
    #[error("exit {exit} could not be started: {source}")]
    Start {
        /// Its name.
        exit: String,
        /// Why.
        source: Box<Self>,
    },
    /// The operating system gives no thread.
    #[error("no thread for an instance of the exits: {0}")]
    Thread(#[source] io::Error),
}

impl ExitError {
    /// The exit's work failed; the dead-letter header will say MQFB_STOPPED_BY_MSG_EXIT.
    pub fn failed(why: impl Into<String>) -> Self {
        Self::Failed { reason: STOPPED_BY_MSG_EXIT, why: why.into() }
    }

    /// An option of the data string is wrong.
    pub fn option(option: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Option { option: option.into(), why: why.into() }
    }

    /// What the dead-letter header of the message says.
    pub fn reason(&self) -> Reason {
        match self {
            Self::Failed { reason, .. } => *reason,
            Self::Message(_) => Reason::XQH_ERROR,
            Self::TooLarge { .. } => Reason::MSG_TOO_BIG_FOR_CHANNEL,
            _ => STOPPED_BY_MSG_EXIT,
        }
    }

    pub(crate) fn starting(self, exit: &str) -> Self {
        Self::Start { exit: exit.to_owned(), source: Box::new(self) }
    }
}
