//! What can go wrong with a connection or a call, as MQ reason codes and as sentences.

use std::io;

use mq_channel::{ConnectionError, OwnerError};
use mq_wire::{ChannelName, QMgrName, Reason, StatusCode};

use crate::results::Got;

/// Why a call, or the connection, failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// Nobody listens there, or the host is not known or cannot be reached.
    #[error(
        "cannot reach {host}({port}): {source}; check host and port, and that the queue manager and its listener run"
    )]
    Unreachable {
        /// The host.
        host: String,
        /// The port.
        port: u16,
        /// What the operating system says.
        source: io::Error,
    },
    /// The queue manager refused the channel, or does not fit it.
    #[error("channel {channel} cannot be started: {source}; reason {}", explain(*reason))]
    Channel {
        /// The channel.
        channel: ChannelName,
        /// The reason.
        reason: Reason,
        /// What happened.
        source: ConnectionError,
    },
    /// The queue manager refused the connection.
    #[error("the queue manager refused the connection{}: reason {}", wanted(*qmgr_name), explain(*reason))]
    Refused {
        /// The queue manager wanted, or blank.
        qmgr_name: QMgrName,
        /// The reason.
        reason: Reason,
    },
    /// The queue manager did not do what was asked, and said why.
    #[error("{call} failed with reason {}", explain(*reason))]
    Call {
        /// The call.
        call: &'static str,
        /// The reason.
        reason: Reason,
    },
    /// The message is longer than the buffer and stays on its queue.
    #[error(
        "MQGET: the message has {total_length} bytes, more than the buffer; it stays on its queue: get it with a longer buffer"
    )]
    TooLongForBuffer {
        /// The length of the whole message.
        total_length: u32,
        /// Its descriptor, and as much of it as fits.
        start: Box<Got>,
    },
    /// The message is longer than the channel allows: it was not sent, or stays on its queue.
    #[error("the message has {length} bytes, the channel allows {max}: raise MAXMSGL of the channel")]
    TooLongForChannel {
        /// The length of the message.
        length: usize,
        /// The most.
        max: u32,
    },
    /// The connection broke while a unit of work was to be committed (MQCMIT, or MQDISC with one open). It was committed
    /// or backed out as a whole, and only its traces tell which: a program that may not do its work twice has to look.
    #[error(
        "{call}: {source}; whether the unit of work was committed is not known: connect again, and look before doing it again"
    )]
    OutcomeUnknown {
        /// The call.
        call: &'static str,
        /// What happened.
        source: BreakCause,
    },
    /// The queue manager had ended the connection before the call: it was not made, and the open unit of work is backed
    /// out.
    #[error("{call} was not made, the connection had ended before: {source}; connect again")]
    Ended {
        /// The call.
        call: &'static str,
        /// What happened.
        source: BreakCause,
    },
    /// The connection broke in a call. Nobody knows whether the call was done; the open unit of work is backed out.
    #[error("{call}: {source}; connect again, and find out whether the call was done")]
    Broken {
        /// The call.
        call: &'static str,
        /// What happened.
        source: BreakCause,
    },
    /// The connection broke earlier, or a call was abandoned.
    #[error("the connection is not usable any more: an earlier call broke or was abandoned; connect again")]
    Unusable,
}

/// How a connection breaks.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BreakCause {
    /// The socket.
    #[error("the socket broke: {0}")]
    Socket(#[from] io::Error),
    /// The protocol, or silence.
    #[error(transparent)]
    Protocol(#[from] ConnectionError),
    /// A mistake in this crate.
    #[error("the call could not be made: {0}")]
    Call(#[from] OwnerError),
}

impl ClientError {
    /// The MQ reason code.
    pub fn reason(&self) -> Reason {
        match self {
            Self::Unreachable { .. } => Reason::HOST_NOT_AVAILABLE,
            Self::Channel { reason, .. } | Self::Refused { reason, .. } | Self::Call { reason, .. } => {
                *reason
            }
            Self::TooLongForBuffer { .. } => Reason::TRUNCATED_MSG_FAILED,
            Self::TooLongForChannel { .. } => Reason::MSG_TOO_BIG_FOR_CHANNEL,
            Self::OutcomeUnknown { .. } | Self::Ended { .. } | Self::Broken { .. } | Self::Unusable => {
                Reason::CONNECTION_BROKEN
            }
        }
    }

    /// The status with which the queue manager refused or ended the channel, if it said one. Where a channel starts it
    /// decides about the reason; later the reason is 2009 whatever it is, as with IBM's client
    /// (mq-wire-observed-base.md 5).
    pub fn status(&self) -> Option<StatusCode> {
        let source = match self {
            Self::Channel { source, .. } => source,
            Self::OutcomeUnknown { source, .. }
            | Self::Ended { source, .. }
            | Self::Broken { source, .. } => match source {
                BreakCause::Protocol(source) => source,
                _ => return None,
            },
            _ => return None,
        };
        match source {
            ConnectionError::Refused(code) => Some(*code),
            _ => None,
        }
    }

    /// Whether the call may have been done although it failed.
    pub fn is_in_doubt(&self) -> bool {
        matches!(self, Self::OutcomeUnknown { .. } | Self::Broken { .. })
    }

    /// Whether the connection can be used no more. Otherwise the failure was that of one call.
    pub fn is_broken(&self) -> bool {
        !matches!(self, Self::Call { .. } | Self::TooLongForBuffer { .. } | Self::TooLongForChannel { .. })
    }
}

fn explain(reason: Reason) -> String {
    match reason.meaning() {
        Some(meaning) => format!("{reason}: {meaning}"),
        None => reason.to_string(),
    }
}

fn wanted(qmgr_name: QMgrName) -> String {
    if qmgr_name.is_blank() { String::new() } else { format!(" to {qmgr_name}") }
}
