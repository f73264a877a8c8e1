//! What the queue manager answers to a [`Request`](crate::Request).

use bytes::Bytes;
use mq_wire::{CompCode, Mqgmo, Mqmd, Mqod, Mqpmo, Persistence, QMgrName, Reason};

/// The answer to one request, with completion code and reason.
///
/// Every request takes the variant of its name, Close, Set, Commit, Back and Disconnect take [`Reply::Plain`]. A
/// failure may be a [`Reply::Plain`] for every request: the machine adds what the client insists on (a failed MQOPEN
/// carries the whole body of the request, mq-wire-observed-base.md 4.1). Structures go out in the version in which
/// they were asked, whatever the `version` here is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// MQCONN.
    Connect {
        /// Completion code.
        cc: CompCode,
        /// Reason.
        reason: Reason,
        /// The queue manager's real name.
        qmgr_name: QMgrName,
        /// `AMQC`, 12 characters of the queue manager's name, 8 unique bytes (mq-wire.md 4.2).
        connection_id: [u8; 24],
    },
    /// MQOPEN.
    Open {
        /// Completion code.
        cc: CompCode,
        /// Reason.
        reason: Reason,
        /// The handle: not 0.
        handle: i32,
        /// The descriptor with the names that were resolved.
        od: Box<Mqod>,
        /// What the object's definition says about puts and gets.
        defaults: OpenDefaults,
    },
    /// MQPUT.
    Put {
        /// Completion code.
        cc: CompCode,
        /// Reason.
        reason: Reason,
        /// The descriptor with ids and context filled in.
        md: Mqmd,
        /// With the resolved names.
        pmo: Mqpmo,
    },
    /// MQPUT1.
    Put1 {
        /// Completion code.
        cc: CompCode,
        /// Reason.
        reason: Reason,
        /// The descriptor with the names that were resolved.
        od: Box<Mqod>,
        /// The descriptor with ids and context filled in.
        md: Mqmd,
        /// With the resolved names.
        pmo: Mqpmo,
    },
    /// MQGET.
    Get {
        /// Completion code.
        cc: CompCode,
        /// Reason.
        reason: Reason,
        /// The message's descriptor.
        md: Mqmd,
        /// With the resolved name and the status bytes.
        gmo: Mqgmo,
        /// The length of the whole message, also where less is delivered (mq-wire-observed-base.md 4.1).
        total_length: u32,
        /// What is delivered: at most `buffer_length` of the request.
        data: Bytes,
    },
    /// MQINQ.
    Inquire {
        /// Completion code.
        cc: CompCode,
        /// Reason.
        reason: Reason,
        /// Values of the integer selectors, in order. The machine fills up to IntAttrCount.
        ints: Vec<i32>,
        /// Values of the character selectors, in order, padded to their lengths.
        chars: Vec<u8>,
    },
    /// MQSTAT.
    Stat {
        /// Completion code.
        cc: CompCode,
        /// Reason.
        reason: Reason,
        /// What became of asynchronous puts.
        puts: AsyncPuts,
    },
    /// Completion code and reason are all.
    Plain {
        /// Completion code.
        cc: CompCode,
        /// Reason.
        reason: Reason,
    },
}

impl Reply {
    /// Done, nothing more to say.
    pub const DONE: Self = Self::Plain { cc: CompCode::OK, reason: Reason::NONE };

    /// Not done; fits every request.
    pub const fn failed(reason: Reason) -> Self {
        Self::Plain { cc: CompCode::FAILED, reason }
    }

    /// Completion code and reason.
    pub fn outcome(&self) -> (CompCode, Reason) {
        match self {
            Self::Connect { cc, reason, .. }
            | Self::Open { cc, reason, .. }
            | Self::Put { cc, reason, .. }
            | Self::Put1 { cc, reason, .. }
            | Self::Get { cc, reason, .. }
            | Self::Inquire { cc, reason, .. }
            | Self::Stat { cc, reason, .. }
            | Self::Plain { cc, reason } => (*cc, *reason),
        }
    }
}

/// What a successful open says about the object (mq-wire.md 4.12.6, 5.12).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenDefaults {
    /// DEFPSIST; -1 for what is not a queue.
    pub persistence: Persistence,
    /// DEFPRESP: 1 synchronous, 2 asynchronous.
    pub put_response: i32,
    /// DEFREADA: 0 no, 1 yes, 2 disabled.
    pub read_ahead: i32,
    /// PROPCTL: 0 compatibility.
    pub property_control: i32,
}

impl Default for OpenDefaults {
    fn default() -> Self {
        Self { persistence: Persistence::NOT_PERSISTENT, put_response: 1, read_ahead: 0, property_control: 0 }
    }
}

/// The part of MQSTS that tells how asynchronous puts went since the last MQSTAT.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AsyncPuts {
    /// Completion code of the first failure.
    pub cc: CompCode,
    /// Reason of the first failure.
    pub reason: Reason,
    /// Puts that succeeded.
    pub successes: i32,
    /// Puts that succeeded with a warning.
    pub warnings: i32,
    /// Puts that failed.
    pub failures: i32,
}
