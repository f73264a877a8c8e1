//! What the queue manager answers to a [`Request`](crate::Request).

use bytes::Bytes;
use mq_wire::{
    CompCode, Mqgmo, Mqmd, Mqod, Mqpmo, MsgId, ObjectName, ObjectType, Persistence, QMgrName, Reason,
};

/// The answer to one request, with completion code and reason.
///
/// Every request takes the variant of its name; Close, Set, Commit, Back, Disconnect and Stat take [`Reply::Plain`], and
/// so does a get that unlocks. A failure may be a [`Reply::Plain`] for every request: the machine adds what the client
/// insists on (a failed MQOPEN carries the whole body of the request, mq-wire-observed-base.md 4.1). Structures go out
/// in the version in which they were asked, whatever the `version` here is.
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
    /// SPI RESERVE.
    Reserved {
        /// What all the ids have in common; the last two bytes are zero, and the client counts in them.
        base: MsgId,
    },
    /// MQSTAT, from a queue manager that counts itself. A server connection counts what became of the puts that it
    /// did not answer; with [`Reply::DONE`] it tells that.
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
            Self::Reserved { .. } => (CompCode::OK, Reason::NONE),
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
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AsyncPuts {
    /// Completion code of the first failure, or of the first warning if nothing failed.
    pub cc: CompCode,
    /// Reason of it.
    pub reason: Reason,
    /// Puts that succeeded.
    pub successes: i32,
    /// Puts that succeeded with a warning.
    pub warnings: i32,
    /// Puts that failed.
    pub failures: i32,
    /// The object of that failure or warning.
    pub object: PutObject,
}

/// An object that messages are put to, as it was named and as it was resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PutObject {
    /// Its kind.
    pub object_type: ObjectType,
    /// Its name.
    pub name: ObjectName,
    /// Its queue manager.
    pub q_mgr_name: QMgrName,
    /// The queue that was resolved.
    pub resolved_name: ObjectName,
    /// Its queue manager.
    pub resolved_q_mgr_name: QMgrName,
}

impl Default for PutObject {
    /// None: what MQSTS has initially.
    fn default() -> Self {
        Self {
            object_type: ObjectType::Q,
            name: ObjectName::BLANK,
            q_mgr_name: QMgrName::BLANK,
            resolved_name: ObjectName::BLANK,
            resolved_q_mgr_name: QMgrName::BLANK,
        }
    }
}

impl PutObject {
    /// What was named in `asked` and came back resolved.
    pub(crate) fn new(asked: &Mqod, resolved: Option<&Mqod>) -> Self {
        let resolved = resolved.filter(|od| od.version >= 3);
        Self {
            object_type: asked.object_type,
            name: asked.object_name,
            q_mgr_name: asked.object_q_mgr_name,
            resolved_name: resolved.map(|od| od.resolved_q_name).unwrap_or_default(),
            resolved_q_mgr_name: resolved.map(|od| od.resolved_q_mgr_name).unwrap_or_default(),
        }
    }
}

impl AsyncPuts {
    /// Counts a put. The first warning is kept until something fails, the first failure for good.
    pub(crate) fn count(&mut self, cc: CompCode, reason: Reason, object: impl FnOnce() -> PutObject) {
        let count = match cc {
            CompCode::OK => &mut self.successes,
            CompCode::WARNING => &mut self.warnings,
            _ => &mut self.failures,
        };
        *count = count.saturating_add(1);
        if cc > self.cc {
            (self.cc, self.reason, self.object) = (cc, reason, object());
        }
    }
}
