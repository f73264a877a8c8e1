//! What a client asks of a queue manager, independent of the form in which it was asked: MQOPEN and SPI OPEN are one
//! request here. What the calls mean is the queue manager's business.

use std::fmt;

use bytes::Bytes;
use mq_wire::{
    AccountingToken, ApplName, ApplType, CloseOptions, Mqgmo, Mqmd, Mqod, Mqpmo, OpenOptions, QMgrName,
    Selector,
};

/// One call of a connection, from MQCONN to MQDISC (mq-wire.md 2.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// MQCONN, MQCONNX: with what the client said about itself before.
    Connect(Box<Connect>),
    /// MQOPEN, or SPI OPEN.
    Open {
        /// What to open.
        od: Box<Mqod>,
        /// MQOO_*.
        options: OpenOptions,
    },
    /// MQCLOSE.
    Close {
        /// The open object.
        handle: i32,
        /// MQCO_*.
        options: CloseOptions,
    },
    /// MQPUT.
    Put {
        /// The open queue.
        handle: i32,
        /// The descriptor as the application set it.
        md: Mqmd,
        /// MQPMO.
        pmo: Mqpmo,
        /// The message data.
        data: Bytes,
    },
    /// MQPUT1.
    Put1 {
        /// Where to.
        od: Box<Mqod>,
        /// The descriptor as the application set it.
        md: Mqmd,
        /// MQPMO.
        pmo: Mqpmo,
        /// The message data.
        data: Bytes,
    },
    /// MQGET. It may wait for long; everything else is answered soon.
    Get {
        /// The open queue.
        handle: i32,
        /// Ids to match, conversion wanted.
        md: Mqmd,
        /// MQGMO, with the wait interval.
        gmo: Mqgmo,
        /// The most data bytes that the reply may hold.
        buffer_length: u32,
    },
    /// MQINQ.
    Inquire {
        /// The open object.
        handle: i32,
        /// Attributes, in order.
        selectors: Vec<Selector>,
        /// Integers that the reply holds, whatever the selectors say.
        int_count: u32,
        /// Characters that the reply holds.
        char_length: u32,
    },
    /// MQSET.
    Set {
        /// The open object.
        handle: i32,
        /// Attributes, in order.
        selectors: Vec<Selector>,
        /// Values of the integer attributes.
        ints: Vec<i32>,
        /// Values of the character attributes, one after the other.
        chars: Vec<u8>,
    },
    /// MQCMIT.
    Commit,
    /// MQBACK.
    Back,
    /// MQDISC. It commits an open unit of work (mq-wire.md 4.3).
    Disconnect,
    /// SPI RESERVE: ids for messages that the client puts without waiting.
    Reserve,
    /// MQSTAT: how asynchronous puts went. All of them have been asked for, and answered, before it.
    Stat {
        /// 0: errors of asynchronous puts.
        kind: u32,
    },
}

impl Request {
    /// The name in the manuals.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Connect(_) => "MQCONN",
            Self::Open { .. } => "MQOPEN",
            Self::Close { .. } => "MQCLOSE",
            Self::Put { .. } => "MQPUT",
            Self::Put1 { .. } => "MQPUT1",
            Self::Get { .. } => "MQGET",
            Self::Inquire { .. } => "MQINQ",
            Self::Set { .. } => "MQSET",
            Self::Commit => "MQCMIT",
            Self::Back => "MQBACK",
            Self::Disconnect => "MQDISC",
            Self::Reserve => "SPI RESERVE",
            Self::Stat { .. } => "MQSTAT",
        }
    }
}

/// Who connects, and to what.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Connect {
    /// The queue manager wanted; blank or starting with `*` takes any (mq-wire.md 4.2).
    pub qmgr_name: QMgrName,
    /// The application's name.
    pub appl_name: ApplName,
    /// Its kind.
    pub appl_type: ApplType,
    /// Its accounting token.
    pub accounting_token: AccountingToken,
    /// Who it runs as, by its own word: from CONAUTH_INFO if there was one, else from USERID (mq-wire.md 3.5).
    pub user: String,
    /// The password in clear, if there was one.
    pub password: Option<Password>,
}

/// A password. It never shows itself in logs.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(Vec<u8>);

impl Password {
    /// A password of these bytes.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// Its bytes, for the one who checks it.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(..)")
    }
}
