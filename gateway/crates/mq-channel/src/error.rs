//! What can go wrong on a connection, and whose fault it is. Every one of these ends the connection.

use mq_wire::{DecodeError, Reason, SegmentType, SocketActionType, StatusCode};

/// Why a connection is over.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectionError {
    /// The peer did what the protocol does not allow.
    #[error("the peer broke the protocol: {0}")]
    Peer(#[from] PeerError),
    /// The peer refused, or ended the channel, with a status.
    #[error("the peer ended the channel with status {0}")]
    Refused(StatusCode),
    /// The two ends cannot agree.
    #[error("the two ends cannot agree on {what}: {ours} here, {theirs} there")]
    Negotiation {
        /// The attribute.
        what: &'static str,
        /// What this end can do.
        ours: i64,
        /// What the peer wants.
        theirs: i64,
    },
    /// The peer closed the socket without ending the channel.
    #[error("the peer closed the socket {0}")]
    Closed(&'static str),
    /// The peer took too long.
    #[error("nothing came from the peer in time {0}")]
    Silent(&'static str),
    /// Nothing was asked for as long as the channel's DISCINT allows.
    #[error("no call came within the disconnect interval of the channel")]
    Idle,
    /// The owner of the machine did what its documentation forbids.
    #[error("the owner of the connection made a mistake: {0}")]
    Owner(#[from] OwnerError),
}

impl ConnectionError {
    /// What a program on this connection is told. The first answers to a client have reasons of their own
    /// (mq-wire-observed-base.md 5); whatever comes later is a broken connection.
    pub fn reason(&self) -> Reason {
        match self {
            Self::Refused(code) => refusal_reason(*code),
            Self::Negotiation { .. } => Reason::CHANNEL_CONFIG_ERROR,
            Self::Owner(_) => Reason::UNEXPECTED_ERROR,
            Self::Peer(_) | Self::Closed(_) | Self::Silent(_) | Self::Idle => Reason::CONNECTION_BROKEN,
        }
    }

    /// The status that tells the peer, where there is something to tell (mq-wire.md 3.8).
    pub(crate) fn status(&self) -> Option<StatusCode> {
        match self {
            Self::Peer(error) => Some(error.status()),
            Self::Negotiation { .. } => Some(StatusCode::NEGOTIATION_FAILED),
            Self::Silent(_) => Some(StatusCode::TIMEOUT_EXPIRED),
            Self::Owner(_) => Some(StatusCode::QM_UNAVAILABLE),
            Self::Refused(_) | Self::Closed(_) | Self::Idle => None,
        }
    }
}

/// What a peer can do wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PeerError {
    /// A segment's body cannot be read.
    #[error("{segment}: {error}")]
    Decode {
        /// The segment.
        segment: SegmentType,
        /// Structure, field and offset.
        error: DecodeError,
    },
    /// What should be a segment header is none.
    #[error("no segment header: {0}")]
    Header(DecodeError),
    /// A header of a kind that was not agreed.
    #[error("a segment header that does not fit what was agreed about sharing")]
    HeaderKind,
    /// A compressed segment; no compression is ever agreed.
    #[error("{0}: a compressed segment")]
    Compressed(SegmentType),
    /// Not a client: a sender or requester channel, say.
    #[error("the partner is not an MQ client, and this is a server-connection channel")]
    NotAClient,
    /// Another channel the second time.
    #[error("the second initial data name another channel")]
    OtherChannel,
    /// A type that nobody knows.
    #[error("{0}: not known")]
    Unknown(SegmentType),
    /// A known segment at the wrong time.
    #[error("{segment} {state}")]
    Unexpected {
        /// The segment.
        segment: SegmentType,
        /// What the connection was doing.
        state: &'static str,
    },
    /// A call longer than a message of the agreed length can be.
    #[error("{segment} of more than {max} bytes")]
    CallLength {
        /// The call.
        segment: SegmentType,
        /// The most.
        max: usize,
    },
    /// A conversation that was not started, or is started twice or beyond what was agreed.
    #[error("there is no conversation {0}, or it cannot be started")]
    Conversation(u32),
    /// Neither the start nor the end of a conversation.
    #[error("socket action {0}")]
    SocketAction(SocketActionType),
    /// FIRST and LAST do not fit together.
    #[error("{0}: its segments are out of order")]
    Continuation(SegmentType),
    /// An answer that does not fit the question.
    #[error("{0}: holds more than was asked for")]
    Answer(SegmentType),
}

impl PeerError {
    fn status(&self) -> StatusCode {
        match self {
            Self::Decode { .. } => StatusCode::PROTOCOL_INVALID_DATA,
            Self::Header(error) if error.field == "SegmentLength" => StatusCode::PROTOCOL_LENGTH,
            Self::Header(_) | Self::HeaderKind => StatusCode::PROTOCOL_ID,
            Self::CallLength { .. } => StatusCode::PROTOCOL_LENGTH,
            Self::NotAClient => StatusCode::CHANNEL_WRONG_TYPE,
            Self::OtherChannel => StatusCode::PROTOCOL_INVALID_DATA,
            Self::Compressed(_) => StatusCode::PROTOCOL_GENERAL,
            Self::Unknown(_) => StatusCode::PROTOCOL_SEGMENT_TYPE,
            Self::SocketAction(_) => StatusCode::SOCKET_ACTION_TYPE,
            Self::Conversation(_) => StatusCode::CONV_ID_ERROR,
            Self::Unexpected { .. } | Self::Continuation(_) | Self::Answer(_) => StatusCode::PROTOCOL_SEGMENT,
        }
    }
}

/// What the owner of a machine can do wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OwnerError {
    /// Nobody asked for a channel.
    #[error("a channel was accepted or refused that was not requested")]
    NoChannelRequested,
    /// No such call waits.
    #[error("a reply to a call that does not wait for one")]
    NoSuchCall,
    /// The reply is not one for the request.
    #[error("a reply that does not fit the {0}")]
    WrongReply(&'static str),
    /// More data than the client's buffer holds.
    #[error("{length} bytes for a buffer of {buffer_length}")]
    TooMuchData {
        /// Bytes in the reply.
        length: usize,
        /// Bytes that the client has room for.
        buffer_length: u32,
    },
    /// A second call before the first was answered, or before the connection stands.
    #[error("a call {0}")]
    CallNotPossible(&'static str),
    /// A message longer than the channel allows.
    #[error("{length} bytes of data, where the channel allows {max}")]
    MessageLength {
        /// Its length.
        length: usize,
        /// The most.
        max: u32,
    },
}

fn refusal_reason(code: StatusCode) -> Reason {
    match code {
        StatusCode::NO_CHANNEL => Reason::UNKNOWN_CHANNEL_NAME,
        StatusCode::CHANNEL_WRONG_TYPE => Reason::CHANNEL_CONFIG_ERROR,
        StatusCode::CONNECTION_LIMIT => Reason::MAX_CONNS_LIMIT_REACHED,
        StatusCode::CIPHER_SPEC | StatusCode::PEER_NAME | StatusCode::SSL_REFRESHING => Reason(2397),
        StatusCode::STANDBY_Q_MGR => Reason(2543),
        StatusCode::CHANNEL_UNAVAILABLE | StatusCode::CLOSED_BY_EXIT => Reason::CHANNEL_NOT_AVAILABLE,
        StatusCode::SECURITY_FAILURE => Reason::NOT_AUTHORIZED,
        StatusCode(0x0A..=0x12) => Reason::CHANNEL_CONFIG_ERROR,
        _ => Reason::Q_MGR_NOT_AVAILABLE,
    }
}
