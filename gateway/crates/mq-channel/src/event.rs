//! What the server end of a channel tells its owner.

use mq_wire::{Ccsid, ChannelName, Chars, QMgrName};

use crate::request::Request;

/// Names a call between [`Event::Call`] and its reply; never used twice on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId {
    pub(crate) conversation: u32,
    pub(crate) number: u64,
}

/// Something that the owner of a server connection has to act upon.
#[expect(clippy::large_enum_variant, reason = "moved once or twice; a box would be one allocation a call")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A client wants this channel: answer with `channel_accepted` or `channel_refused`.
    ChannelRequested(ChannelRequest),
    /// A call: answer with exactly one `reply`.
    Call {
        /// The conversation that it belongs to: 0 for the only one of a connection without sharing. The first call of
        /// each is MQCONN.
        conversation: u32,
        /// To be given back with the reply.
        call: CallId,
        /// What is asked.
        request: Request,
    },
    /// A conversation of a shared socket is over, in order or not: what it left open is to be backed out. Its calls
    /// need no reply any more, and one that comes is ignored. Others go on.
    ConversationEnded {
        /// Which.
        conversation: u32,
    },
    /// The client ended in order, after MQDISC: nothing comes any more.
    Ended,
}

/// What a client says about itself when it asks for a channel (mq-wire.md 3.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelRequest {
    /// The channel.
    pub channel: ChannelName,
    /// The queue manager that it wants, or blank. MQCONN says it again and is the place to check it.
    pub qmgr_name: QMgrName,
    /// Product and version of the client, such as `MQJB09040100`.
    pub product_id: Chars<12>,
    /// Its FAP level.
    pub fap_level: u8,
}

/// What a channel allows; the owner's answer to [`Event::ChannelRequested`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChannelTerms {
    /// MAXMSGL: longest message in bytes. The lower of both ends' values counts.
    pub max_msg_length: u32,
    /// HBINT: seconds between heartbeats, 0 for none. The larger of both ends' values counts.
    pub heartbeat_s: u32,
    /// SHARECNV: conversations on a socket, 0 for a socket without sharing. The lower of both ends' values counts.
    pub conversations: u32,
    /// DISCINT: seconds without a call after which a conversation is ended, 0 for never.
    pub idle_s: u32,
    /// A password may be checked, and the socket has no TLS: clients must send it in clear, which they do up to FAP 12
    /// (mq-wire-observed.md 1).
    pub passwords_in_clear: bool,
    /// Character set of everything that is sent; none: that of the configuration.
    pub ccsid: Option<Ccsid>,
}

impl Default for ChannelTerms {
    /// What a channel has when its definition says nothing: 4 MiB, 300 seconds, 10 conversations (mq-objects.md 3.7).
    fn default() -> Self {
        Self {
            max_msg_length: 4_194_304,
            heartbeat_s: 300,
            conversations: 10,
            idle_s: 0,
            passwords_in_clear: false,
            ccsid: None,
        }
    }
}
