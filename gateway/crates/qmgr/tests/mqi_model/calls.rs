//! The calls of the model test and what each of them shows, in types of neither side. Names, ids and handles in a call are
//! those of the model; `adapter` translates them for the queue manager.

use std::fmt;

/// A connection, by the number that the generator gave it.
pub(crate) type Conn = u32;
/// An object handle, by the number that the model gave it.
pub(crate) type Hobj = u32;
/// MsgId, CorrelId, GroupId.
pub(crate) type Id = [u8; 24];

pub(crate) const NO_ID: Id = [0; 24];

/// Values of mq-objects.md 1.2 to 1.6 and 1.13 that the model looks at.
pub(crate) mod value {
    pub(crate) const OO_INPUT_AS_Q_DEF: i32 = 0x1;
    pub(crate) const OO_INPUT_SHARED: i32 = 0x2;
    pub(crate) const OO_INPUT_EXCLUSIVE: i32 = 0x4;
    pub(crate) const OO_INPUT_ANY: i32 = 0x7;
    pub(crate) const OO_BROWSE: i32 = 0x8;
    pub(crate) const OO_OUTPUT: i32 = 0x10;
    pub(crate) const OO_INQUIRE: i32 = 0x20;
    pub(crate) const OO_SET: i32 = 0x40;
    pub(crate) const OO_SAVE_ALL: i32 = 0x80;
    pub(crate) const OO_PASS_IDENTITY: i32 = 0x100;
    pub(crate) const OO_PASS_ALL: i32 = 0x200;
    pub(crate) const OO_SET_IDENTITY: i32 = 0x400;
    pub(crate) const OO_SET_ALL: i32 = 0x800;
    pub(crate) const OO_CO_OP: i32 = 0x20000;

    pub(crate) const CO_NONE: i32 = 0;
    pub(crate) const CO_DELETE: i32 = 1;
    pub(crate) const CO_DELETE_PURGE: i32 = 2;

    pub(crate) const PMO_SYNCPOINT: i32 = 0x2;
    pub(crate) const PMO_NO_SYNCPOINT: i32 = 0x4;
    pub(crate) const PMO_NEW_MSG_ID: i32 = 0x40;
    pub(crate) const PMO_NEW_CORREL_ID: i32 = 0x80;
    pub(crate) const PMO_PASS_IDENTITY: i32 = 0x100;
    pub(crate) const PMO_PASS_ALL: i32 = 0x200;
    pub(crate) const PMO_SET_IDENTITY: i32 = 0x400;
    pub(crate) const PMO_SET_ALL: i32 = 0x800;
    pub(crate) const PMO_NO_CONTEXT: i32 = 0x4000;
    pub(crate) const PMO_CONTEXTS: i32 = 0x4f20;
    pub(crate) const PMO_LOGICAL_ORDER: i32 = 0x8000;

    pub(crate) const GMO_WAIT: i32 = 0x1;
    pub(crate) const GMO_SYNCPOINT: i32 = 0x2;
    pub(crate) const GMO_NO_SYNCPOINT: i32 = 0x4;
    pub(crate) const GMO_BROWSE_FIRST: i32 = 0x10;
    pub(crate) const GMO_BROWSE_NEXT: i32 = 0x20;
    pub(crate) const GMO_ACCEPT_TRUNCATED: i32 = 0x40;
    pub(crate) const GMO_UNDER_CURSOR: i32 = 0x100;
    pub(crate) const GMO_LOCK: i32 = 0x200;
    pub(crate) const GMO_UNLOCK: i32 = 0x400;
    pub(crate) const GMO_BROWSE_UNDER_CURSOR: i32 = 0x800;
    pub(crate) const GMO_BROWSES: i32 = 0x830;
    pub(crate) const GMO_IF_PERSISTENT: i32 = 0x1000;
    pub(crate) const GMO_LOGICAL_ORDER: i32 = 0x8000;
    pub(crate) const GMO_COMPLETE_MSG: i32 = 0x10000;
    pub(crate) const GMO_ALL_MSGS: i32 = 0x20000;
    pub(crate) const GMO_ALL_SEGMENTS: i32 = 0x40000;
    pub(crate) const GMO_MARK_HANDLE: i32 = 0x0010_0000;
    pub(crate) const GMO_MARK_CO_OP: i32 = 0x0020_0000;
    pub(crate) const GMO_UNMARK_CO_OP: i32 = 0x0040_0000;
    pub(crate) const GMO_UNMARK_HANDLE: i32 = 0x0080_0000;
    pub(crate) const GMO_UNMARKED: i32 = 0x0100_0000;
    pub(crate) const GMO_MARKS: i32 = 0x01f0_0000;

    pub(crate) const MO_MSG_ID: i32 = 0x1;
    pub(crate) const MO_CORREL_ID: i32 = 0x2;
    pub(crate) const MO_GROUP_ID: i32 = 0x4;
    pub(crate) const MO_SEQ: i32 = 0x8;
    pub(crate) const MO_OFFSET: i32 = 0x10;
    pub(crate) const MO_TOKEN: i32 = 0x20;

    pub(crate) const RO_PASS_CORREL_ID: i32 = 0x40;
    pub(crate) const RO_PASS_MSG_ID: i32 = 0x80;
    pub(crate) const RO_COA: i32 = 0x100;
    pub(crate) const RO_COA_DATA: i32 = 0x300;
    pub(crate) const RO_COA_FULL: i32 = 0x700;
    pub(crate) const RO_COD: i32 = 0x800;
    pub(crate) const RO_COD_DATA: i32 = 0x1800;
    pub(crate) const RO_COD_FULL: i32 = 0x3800;
    pub(crate) const RO_PASS_DISCARD_AND_EXPIRY: i32 = 0x4000;
    pub(crate) const RO_EXPIRATION: i32 = 0x0020_0000;
    pub(crate) const RO_EXPIRATION_DATA: i32 = 0x0060_0000;
    pub(crate) const RO_EXPIRATION_FULL: i32 = 0x00e0_0000;
    pub(crate) const RO_EXCEPTION: i32 = 0x0100_0000;
    pub(crate) const RO_EXCEPTION_FULL: i32 = 0x0700_0000;
    pub(crate) const RO_DISCARD: i32 = 0x0800_0000;

    pub(crate) const MF_SEGMENT: i32 = 2;
    pub(crate) const MF_LAST_SEGMENT: i32 = 4;
    pub(crate) const MF_IN_GROUP: i32 = 8;
    pub(crate) const MF_LAST_IN_GROUP: i32 = 0x10;

    pub(crate) const FB_EXPIRATION: i32 = 258;
    pub(crate) const FB_COA: i32 = 259;
    pub(crate) const FB_COD: i32 = 260;

    /// Of a command, not a reason: somebody uses the queue.
    pub(crate) const REFUSED_IN_USE: i32 = 1;
    /// Likewise: there are messages on it.
    pub(crate) const REFUSED_NOT_EMPTY: i32 = 2;
    /// Likewise: there is none.
    pub(crate) const REFUSED_NOT_FOUND: i32 = 3;

    pub(crate) const SEL_INHIBIT_GET: i32 = 9;
    pub(crate) const SEL_INHIBIT_PUT: i32 = 10;
    pub(crate) const SEL_MAX_DEPTH: i32 = 15;
    pub(crate) const SEL_DEPTH: i32 = 3;
    pub(crate) const SEL_OPEN_INPUT: i32 = 17;
    pub(crate) const SEL_OPEN_OUTPUT: i32 = 18;
}

/// The message descriptor, as far as the model has one (mq-objects.md 1.2).
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Md {
    pub(crate) report: i32,
    pub(crate) msg_type: i32,
    pub(crate) expiry: i32,
    pub(crate) feedback: i32,
    pub(crate) format: String,
    pub(crate) priority: i32,
    pub(crate) persistence: i32,
    pub(crate) msg_id: Id,
    pub(crate) correl_id: Id,
    pub(crate) backout: i32,
    pub(crate) reply_q: String,
    pub(crate) reply_qm: String,
    pub(crate) user: String,
    pub(crate) identity: String,
    pub(crate) put_type: i32,
    pub(crate) put_name: String,
    pub(crate) origin: String,
    pub(crate) group_id: Id,
    pub(crate) seq: i32,
    pub(crate) offset: i32,
    pub(crate) flags: i32,
    pub(crate) original_length: i32,
}

impl Default for Md {
    fn default() -> Self {
        Self {
            report: 0,
            msg_type: 8,
            expiry: -1,
            feedback: 0,
            format: String::new(),
            priority: -1,
            persistence: 2,
            msg_id: NO_ID,
            correl_id: NO_ID,
            backout: 0,
            reply_q: String::new(),
            reply_qm: String::new(),
            user: String::new(),
            identity: String::new(),
            put_type: 0,
            put_name: String::new(),
            origin: String::new(),
            group_id: NO_ID,
            seq: 1,
            offset: 0,
            flags: 0,
            original_length: -1,
        }
    }
}

/// Only what is not initial: a trace of twenty calls has to be read.
impl fmt::Debug for Md {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let initial = Self::default();
        let mut out = f.debug_struct("Md");
        macro_rules! numbers {
            ($($field:ident)*) => { $(if self.$field != initial.$field { out.field(stringify!($field), &self.$field); })* };
        }
        macro_rules! ids {
            ($($field:ident)*) => { $(if self.$field != NO_ID { out.field(stringify!($field), &Short(&self.$field)); })* };
        }
        numbers!(report msg_type expiry feedback format priority persistence backout reply_q reply_qm user identity);
        numbers!(put_type put_name origin seq offset flags original_length);
        ids!(msg_id correl_id group_id);
        out.finish()
    }
}

/// An id for people: text if it is text, else the last bytes.
pub(crate) struct Short<'a>(pub &'a Id);

impl fmt::Debug for Short<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.iter().all(|byte| *byte == 0 || byte.is_ascii_graphic()) {
            let text: String =
                self.0.iter().filter(|byte| **byte != 0).map(|byte| char::from(*byte)).collect();
            return write!(f, "{text}");
        }
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// What stands before the data that an application gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Header {
    /// MQXQH, mq-objects.md 1.7.
    Transmission { q: String, qm: String, md: Box<Md> },
    /// MQDLH, mq-objects.md 1.8.
    DeadLetter { reason: i32, q: String, extension: Option<Extension> },
}

/// MQMDE behind an MQDLH: what the descriptor of a dead letter does not say (mq-objects.md 1.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Extension {
    pub(crate) group_id: Id,
    pub(crate) seq: i32,
    pub(crate) offset: i32,
    pub(crate) flags: i32,
    pub(crate) original_length: i32,
}

#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct Data {
    pub(crate) header: Option<Header>,
    pub(crate) bytes: Body,
}

impl Data {
    pub(crate) fn header_length(&self) -> usize {
        match self.header {
            None => 0,
            Some(Header::Transmission { .. }) => 428,
            Some(Header::DeadLetter { extension: None, .. }) => 172,
            Some(Header::DeadLetter { extension: Some(_), .. }) => 172 + 72,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.header_length() + self.bytes.0.len()
    }
}

/// Bytes of an application; in a trace only what tells them apart.
#[derive(Clone, PartialEq, Eq, Default)]
pub(crate) struct Body(pub Vec<u8>);

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first: String =
            self.0.iter().take_while(|byte| **byte != b' ').map(|byte| char::from(*byte)).collect();
        write!(f, "{first:?} {}", self.0.len())
    }
}

/// MQGMO, and what MQGET takes from the descriptor.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Gmo {
    pub(crate) options: i32,
    pub(crate) wait_ms: i32,
    pub(crate) matches: i32,
    pub(crate) msg_id: Id,
    pub(crate) correl_id: Id,
    pub(crate) group_id: Id,
    pub(crate) seq: i32,
    pub(crate) offset: i32,
    /// The model's token; 0 is none.
    pub(crate) token: u64,
}

impl fmt::Debug for Gmo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Gmo {{ {:#x}", self.options)?;
        if self.options & value::GMO_WAIT != 0 {
            write!(f, " wait {}", self.wait_ms)?;
        }
        write!(f, " match {:#x}", self.matches)?;
        let ids = [(1, "msg", &self.msg_id), (2, "correl", &self.correl_id), (4, "group", &self.group_id)];
        for (bit, name, id) in ids {
            if self.matches & bit != 0 {
                write!(f, " {name} {:?}", Short(id))?;
            }
        }
        if self.matches & 0x38 != 0 {
            write!(f, " seq {} offset {} token {}", self.seq, self.offset, self.token)?;
        }
        write!(f, " }}")
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Connect {
        conn: Conn,
    },
    Disconnect {
        conn: Conn,
    },
    /// The client is gone without a word.
    Lost {
        conn: Conn,
    },
    Open {
        conn: Conn,
        name: String,
        qm: String,
        dynamic: String,
        options: i32,
    },
    Close {
        conn: Conn,
        hobj: Hobj,
        options: i32,
    },
    Put {
        conn: Conn,
        hobj: Hobj,
        md: Md,
        options: i32,
        context: Hobj,
        data: Body,
    },
    Put1 {
        conn: Conn,
        name: String,
        qm: String,
        md: Md,
        options: i32,
        data: Body,
    },
    Get {
        conn: Conn,
        hobj: Hobj,
        gmo: Gmo,
        buffer: usize,
    },
    Commit {
        conn: Conn,
    },
    Back {
        conn: Conn,
    },
    Inquire {
        conn: Conn,
        hobj: Hobj,
        selectors: Vec<i32>,
    },
    Set {
        conn: Conn,
        hobj: Hobj,
        values: Vec<(i32, i32)>,
    },
    /// CLEAR QLOCAL.
    Clear {
        name: String,
    },
    /// DELETE QLOCAL.
    Delete {
        name: String,
        purge: bool,
    },
    /// Time goes on by so many milliseconds.
    Advance {
        ms: u64,
    },
    /// The queue manager ends without a word and starts again.
    Crash,
}

/// What an MQGET showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Got {
    pub(crate) md: Md,
    pub(crate) data: Data,
    /// Bytes put into the buffer.
    pub(crate) returned: usize,
    /// DataLength.
    pub(crate) length: usize,
    pub(crate) group_status: u8,
    pub(crate) segment_status: u8,
    pub(crate) token: u64,
    pub(crate) q: String,
    /// More than one segment was put together: the flags are nobody's.
    pub(crate) assembled: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    Nothing,
    /// The call has not ended yet.
    Waits,
    Opened {
        hobj: Hobj,
        q: String,
        qm: String,
    },
    Put {
        msg_id: Id,
        correl_id: Id,
        group_id: Id,
        seq: i32,
        offset: i32,
    },
    Got(Box<Got>),
    Values(Vec<i32>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) cc: i32,
    pub(crate) reason: i32,
    pub(crate) seen: Seen,
}

impl Outcome {
    pub(crate) fn ok(seen: Seen) -> Self {
        Self { cc: 0, reason: 0, seen }
    }

    pub(crate) fn failed(reason: i32) -> Self {
        Self { cc: 2, reason, seen: Seen::Nothing }
    }

    pub(crate) fn warning(reason: i32, seen: Seen) -> Self {
        Self { cc: if reason == 0 { 0 } else { 1 }, reason, seen }
    }
}

/// Everything that one call brought about: its own end, and the ends of calls that waited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) outcome: Outcome,
    pub(crate) woken: Vec<(Conn, Outcome)>,
    /// Of a call that failed: all that is wrong with it. Which of it is said first is nowhere written.
    pub(crate) also: Vec<i32>,
}
