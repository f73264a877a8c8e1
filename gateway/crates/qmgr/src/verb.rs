//! What crosses the seam between a connection and the queue manager: verbs in, effects out.

use std::time::Instant;

use bytes::Bytes;
use mq_wire::{
    AccountingToken, ApplName, ApplType, Ccsid, Chars, CloseOptions, CompCode, CorrelId, GroupId,
    MessageFlags, Mqgmo, Mqmd, Mqod, Mqpmo, MsgId, MsgToken, OpenOptions, QMgrName, QName, Reason, UserId,
};
use store::{BodyFile, Id, Place, Position};

use crate::special::Special;

/// The time, as the owner's clock says it.
#[derive(Debug, Clone, Copy)]
pub struct Now {
    /// Milliseconds since 1970, GMT: put dates and expiry.
    pub wall_ms: u64,
    /// Monotonic: everything else.
    pub instant: Instant,
}

/// A connection (conversation) of the owner, never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnId(pub u64);

/// The call to be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u64);

/// What an application may do by default (INTERFACE.md 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rights {
    /// Everything but SYSTEM queues, MQSET, setting context and other users; dynamic queues from model queues.
    App,
    /// Everything.
    Admin,
    /// Puts of a device: everything but SYSTEM and transmission queues (DESIGN.md 6).
    Device,
}

/// A call of an application.
#[derive(Debug, Clone)]
pub enum Verb {
    /// MQCONN, MQCONNX. Answered with [`Reply::Connected`].
    Connect(Box<Connect>),
    /// MQOPEN. Answered with [`Reply::Opened`].
    Open(Box<OpenRequest>),
    /// MQCLOSE. Answered with [`Reply::Plain`].
    Close {
        /// The object.
        handle: i32,
        /// How.
        options: CloseOptions,
    },
    /// MQPUT. Answered with [`Reply::Put`].
    Put(Box<PutRequest>),
    /// MQPUT1. Answered with [`Reply::Put`].
    Put1(Box<Put1Request>),
    /// MQPUT of data whose end, or all of it, is in a file already: the record names the file and repeats nothing of it.
    /// The data is given all the same. Else as [`Verb::Put`].
    PutFile(Box<PutRequest>, BodyFile),
    /// MQPUT1, the same way.
    Put1File(Box<Put1Request>, BodyFile),
    /// MQGET. Answered with [`Reply::Got`] or [`Reply::NotGot`], perhaps later.
    Get(Box<GetRequest>),
    /// MQINQ. Answered with [`Reply::Inquired`].
    Inquire {
        /// The object.
        handle: i32,
        /// Which attributes, in the order wanted.
        selectors: Vec<i32>,
        /// Integers for which there is room.
        int_count: u32,
        /// Characters for which there is room.
        char_length: u32,
    },
    /// MQSET. Answered with [`Reply::Plain`].
    Set(Box<SetRequest>),
    /// SPI RESERVE: MsgIds that the client makes itself. Answered with [`Reply::Reserved`].
    Reserve,
    /// MQCMIT. Answered with [`Reply::Plain`].
    Commit,
    /// MQBACK. Answered with [`Reply::Plain`].
    Back,
    /// MQDISC: commits, closes. Answered with [`Reply::Plain`].
    Disconnect,
}

impl Verb {
    /// The verb with the file that holds the end of its data, if there is one; only puts have data.
    #[must_use]
    pub fn with_file(self, file: Option<BodyFile>) -> Self {
        match (self, file) {
            (Self::Put(put), Some(file)) => Self::PutFile(put, file),
            (Self::Put1(put), Some(file)) => Self::Put1File(put, file),
            (verb, _) => verb,
        }
    }
}

/// MQCONN.
#[derive(Debug, Clone)]
pub struct Connect {
    /// The queue manager asked for; blank is any.
    pub q_mgr: QMgrName,
    /// The user that was authenticated.
    pub user: UserId,
    /// Name of the application, for PutApplName.
    pub appl_name: ApplName,
    /// Its kind, for PutApplType.
    pub appl_type: ApplType,
    /// What it may do.
    pub rights: Rights,
}

/// MQOPEN.
#[derive(Debug, Clone)]
pub struct OpenRequest {
    /// Which object.
    pub od: Mqod,
    /// What for.
    pub options: OpenOptions,
}

/// MQPUT.
#[derive(Debug, Clone)]
pub struct PutRequest {
    /// The queue.
    pub handle: i32,
    /// The descriptor.
    pub md: Mqmd,
    /// The options.
    pub pmo: Mqpmo,
    /// The data.
    pub body: Bytes,
    /// For MQPMO_PASS_*: context of the message last got with the handle `pmo.context`. The side of the connection
    /// keeps it for handles opened with MQOO_SAVE_ALL_CONTEXT, since descriptors are not kept here.
    pub passed: Option<Box<Context>>,
    /// What the data begins with.
    pub properties: Properties,
}

/// MQPUT1.
#[derive(Debug, Clone)]
pub struct Put1Request {
    /// Which queue.
    pub od: Mqod,
    /// The descriptor.
    pub md: Mqmd,
    /// The options.
    pub pmo: Mqpmo,
    /// The data.
    pub body: Bytes,
    /// As [`PutRequest::passed`].
    pub passed: Option<Box<Context>>,
    /// What the data begins with.
    pub properties: Properties,
}

/// MQGET. Of the descriptor only what selects a message.
#[derive(Debug, Clone)]
pub struct GetRequest {
    /// The queue.
    pub handle: i32,
    /// MsgId of the descriptor.
    pub msg_id: MsgId,
    /// CorrelId of the descriptor.
    pub correl_id: CorrelId,
    /// GroupId of the descriptor, if it is of version 2; else none.
    pub group_id: GroupId,
    /// MsgSeqNumber of the descriptor, if it is of version 2; else 1.
    pub msg_seq_number: i32,
    /// Offset of the descriptor, if it is of version 2; else 0.
    pub offset: i32,
    /// Version of the descriptor.
    pub md_version: i32,
    /// The options.
    pub gmo: Mqgmo,
    /// Bytes that the application has room for.
    pub buffer_length: u32,
}

impl GetRequest {
    /// For whatever message the options select without ids.
    pub fn new(handle: i32, gmo: Mqgmo, buffer_length: u32) -> Self {
        let (msg_id, correl_id, group_id) = (MsgId::NONE, CorrelId::NONE, GroupId::NONE);
        Self {
            handle,
            msg_id,
            correl_id,
            group_id,
            msg_seq_number: 1,
            offset: 0,
            md_version: 2,
            gmo,
            buffer_length,
        }
    }
}

/// MQSET.
#[derive(Debug, Clone)]
pub struct SetRequest {
    /// The queue.
    pub handle: i32,
    /// Which attributes.
    pub selectors: Vec<i32>,
    /// Values of the integer attributes among them.
    pub integers: Vec<i32>,
    /// Values of the character attributes among them, each with its fixed length.
    pub characters: Bytes,
}

/// Identity and origin context of a message (mq-objects.md 1.2).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Context {
    /// UserIdentifier.
    pub user_identifier: UserId,
    /// AccountingToken.
    pub accounting_token: AccountingToken,
    /// ApplIdentityData.
    pub appl_identity_data: Chars<32>,
    /// PutApplType.
    pub put_appl_type: ApplType,
    /// PutApplName.
    pub put_appl_name: ApplName,
    /// PutDate.
    pub put_date: Chars<8>,
    /// PutTime.
    pub put_time: Chars<8>,
    /// ApplOriginData.
    pub appl_origin_data: Chars<4>,
}

impl Context {
    /// The context of a descriptor.
    pub fn of(md: &Mqmd) -> Self {
        Self {
            user_identifier: md.user_identifier,
            accounting_token: md.accounting_token,
            appl_identity_data: md.appl_identity_data,
            put_appl_type: md.put_appl_type,
            put_appl_name: md.put_appl_name,
            put_date: md.put_date,
            put_time: md.put_time,
            appl_origin_data: md.appl_origin_data,
        }
    }
}

/// What has to happen outside.
#[derive(Debug, Clone)]
pub enum Effect {
    /// An answer to a call.
    Answer {
        /// To whom.
        conn: ConnId,
        /// To which call.
        call: CallId,
        /// None: it leaves at once; a position: when that is durable.
        needs: Option<Position>,
        /// What it says.
        reply: Reply,
    },
    /// A report is wanted on a message that has expired: its record is to be read, and given to
    /// `QueueManager::expired_read`. Said once of each message.
    ReadExpired {
        /// Its id in the store.
        id: Id,
        /// Where it lies.
        place: Place,
    },
    /// A message can be had on a queue that is watched.
    Arrived {
        /// The queue.
        queue: QName,
    },
}

/// What an answer says.
#[derive(Debug, Clone)]
pub enum Reply {
    /// To [`Verb::Connect`].
    Connected(Box<Connected>),
    /// To [`Verb::Open`], when it was opened.
    Opened(Box<Opened>),
    /// To a put that was done, perhaps with a warning.
    Put(Box<PutDone>),
    /// To a get that found a message.
    Got(Box<Got>),
    /// To a get that found a message of which more has to be known: the records are to be read and given to
    /// `QueueManager::record_read`, which answers the call.
    ReadFirst(Box<ReadFirst>),
    /// To a get that found none.
    NotGot(Box<NotGot>),
    /// To [`Verb::Inquire`].
    Inquired(Box<Inquired>),
    /// To [`Verb::Reserve`]: the last two bytes are zero and for the client to count in.
    Reserved {
        /// What all the ids have in common.
        base: MsgId,
    },
    /// To all others, and to what could not be done.
    Plain {
        /// Completion code.
        cc: CompCode,
        /// Reason code.
        reason: Reason,
    },
}

/// The queue manager that was connected.
#[derive(Debug, Clone)]
pub struct Connected {
    /// Its name.
    pub q_mgr: QMgrName,
    /// Its identifier.
    pub id: Chars<48>,
    /// Its character set.
    pub ccsid: Ccsid,
}

/// An object that was opened.
#[derive(Debug, Clone)]
pub struct Opened {
    /// Its handle.
    pub handle: i32,
    /// The descriptor as it goes back.
    pub od: Mqod,
    /// The options as they were understood.
    pub options: OpenOptions,
    /// What the definition says about puts and gets; none for what is not a queue.
    pub defaults: Option<QueueDefaults>,
}

/// Attributes of a queue that its users act upon (mq-objects.md 3.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueDefaults {
    /// DEFPSIST.
    pub persistent: bool,
    /// DEFPRESP: 1 synchronous, 2 asynchronous.
    pub put_response: i32,
    /// PROPCTL: 0 compatibility, 1 none, 2 all, 3 force, 4 as version 6.
    pub property_control: i32,
}

/// Message properties at the beginning of the data: MQRFH2 headers (mq-objects.md 1.11).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Properties {
    /// Bytes that they take; 0 if there are none.
    pub length: u32,
    /// Whether one of them is named `mcd.`, `jms.`, `usr.` or `mqext.`: what decides under PROPCTL(COMPAT).
    pub compatible: bool,
}

/// A further record of a message that consists of several (segments put together again).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Its id in the store.
    pub id: Id,
    /// Where it lies.
    pub place: Place,
    /// Bytes of its data.
    pub body_length: u32,
}

/// A put that was done.
#[derive(Debug, Clone)]
pub struct PutDone {
    /// OK or warning.
    pub cc: CompCode,
    /// Why a warning.
    pub reason: Reason,
    /// The descriptor as it goes back: what was resolved and made.
    pub md: Mqmd,
    /// The options as they go back: the names that were resolved.
    pub pmo: Mqpmo,
}

/// A message that was found. Its descriptor and data are to be read at `place`; what is said here overrides the
/// descriptor that is stored.
#[derive(Debug, Clone)]
pub struct Got {
    /// OK, or warning 2079 (taken, cut off) or 2080 (left where it was; data is to be cut off all the same).
    pub cc: CompCode,
    /// Why a warning.
    pub reason: Reason,
    /// Its id in the store.
    pub id: Id,
    /// Where it lies.
    pub place: Place,
    /// What follows it, in order: the data of all of them is that of the message.
    pub parts: Vec<Part>,
    /// Whether it is a logical message in one piece, which was put or kept in segments: see [`Got::amend`].
    pub whole: bool,
    /// Bytes of properties at the front that are not delivered, with the header that they stand in.
    pub skip: u32,
    /// Bytes of an MQMDE that goes in front of the data, since a descriptor of version 1 cannot say it all: 72 or 0.
    pub extension_length: u32,
    /// Bytes of its data, with the MQMDE and without what is skipped: DataLength, also when less is delivered.
    pub body_length: u32,
    /// Bytes of it that fit into the buffer.
    pub deliver_length: u32,
    /// BackoutCount.
    pub backout_count: i32,
    /// Expiry that is left, in tenths of a second; -1 unlimited.
    pub expiry: i32,
    /// The options as they go back.
    pub gmo: Mqgmo,
    /// Token of the message: unique and stable, matchable with MQMO_MATCH_MSG_TOKEN.
    pub token: MsgToken,
    /// What the reader has to check in the descriptor; if it is another, `QueueManager::mismatched`.
    pub check: Option<Box<IdCheck>>,
    /// Whether the message left the queue with this get (browse and 2080 leave it).
    pub taken: bool,
    /// Handle it was got with; its context is to be kept if that was opened with MQOO_SAVE_ALL_CONTEXT.
    pub handle: i32,
    /// What is kept beside its entry.
    pub(crate) special: Option<Box<Special>>,
}

impl Got {
    /// Makes the descriptor that is stored that of the message as it is got.
    pub fn amend(&self, md: &mut Mqmd) {
        (md.backout_count, md.expiry) = (self.backout_count, self.expiry);
        if self.whole {
            // It is its own only segment.
            md.msg_flags.insert(MessageFlags::SEGMENT | MessageFlags::LAST_SEGMENT);
        }
        if !self.parts.is_empty() {
            // That is of the first one alone.
            md.original_length = -1;
        }
    }
}

/// Records that have to be read before a get can be answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadFirst {
    /// Its id in the store.
    pub id: Id,
    /// Where it lies.
    pub place: Place,
    /// What follows it, in order.
    pub parts: Vec<Part>,
}

/// The ids that were asked for; matching was by a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdCheck {
    /// The MsgId that it must have.
    pub msg_id: Option<MsgId>,
    /// The CorrelId that it must have.
    pub correl_id: Option<CorrelId>,
}

impl IdCheck {
    /// Whether the descriptor has the ids.
    pub fn fits(&self, md: &Mqmd) -> bool {
        self.msg_id.is_none_or(|id| id == md.msg_id) && self.correl_id.is_none_or(|id| id == md.correl_id)
    }
}

/// A get that found nothing.
#[derive(Debug, Clone)]
pub struct NotGot {
    /// 2033, or what ended the wait: 2016, 2019, 2041, 2052, 2161, 2162, 2202.
    pub reason: Reason,
    /// The options as they go back.
    pub gmo: Mqgmo,
}

/// Values of attributes.
#[derive(Debug, Clone)]
pub struct Inquired {
    /// OK, or warning with 2068.
    pub cc: CompCode,
    /// Why a warning.
    pub reason: Reason,
    /// Values of the integer selectors, in the order of the selectors.
    pub integers: Vec<i32>,
    /// Values of the character selectors, each with its fixed length, in the order of the selectors.
    pub characters: Bytes,
}
