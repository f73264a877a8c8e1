//! What the two ends agree upon when a channel starts (mq-wire.md 3.6, mq-wire-observed-base.md 3.1).
//!
//! Always in two rounds: the first answer carries ERROR and the responder's values, the initiator sends its initial
//! data again with those, the second answer consents. A first answer without ERROR would mean "your proposal stands",
//! and clients then ignore values that were changed silently.

use bytes::{Bytes, BytesMut};
use mq_wire::{CapFlags1, CapFlags2, CapFlags3, Coding, ErrFlags1, InitialData, Writer};

use crate::client::ClientConfig;
use crate::error::{ConnectionError, PeerError};
use crate::event::ChannelTerms;
use crate::link::{CALL_OVERHEAD_BYTES, SEGMENT_BYTES_MAX, SEGMENT_BYTES_MIN};
use crate::server::ServerConfig;

/// The level of shape A; from 13 on passwords are protected in a way that is not public (mq-wire-observed.md 1).
const PLAIN_FAP_LEVEL: u8 = 12;
/// The least level of shape B: below it clients read by REQUEST_MSGS on shared sockets (mq-wire-observed-base.md 1).
const SHARED_FAP_LEVEL_MIN: u8 = 13;
/// The lowest level that names queue manager and heartbeat; IBM's client was seen to work down to it.
const FAP_LEVEL_MIN: u8 = 4;

/// What both ends announce (mq-wire.md 3.1).
const MAX_TRANSMISSION_SIZE: u32 = 32_748;

const CAP_1: CapFlags1 =
    CapFlags1::CONVERSION_CAPABLE.union(CapFlags1::SPLIT_MESSAGE).union(CapFlags1::MQREQUEST);
/// With SPIREQUEST clients reserve message ids, and put without waiting for answers (mq-wire-observed-base.md 3.5).
const CAP_2: CapFlags2 =
    CapFlags2::DIST_LIST_CAPABLE.union(CapFlags2::XAREQUEST).union(CapFlags2::SPIREQUEST);
/// What our own client offers: it waits for the answer of every put.
const CLIENT_CAP_2: CapFlags2 = CapFlags2::DIST_LIST_CAPABLE.union(CapFlags2::XAREQUEST);
/// The refusal of GEN_CONNTAG_CAP may be taken badly (mq-wire-observed.md 2).
const CAP_3: CapFlags3 = CapFlags3::GEN_CONNTAG_CAP;
/// Without MULTIPLEX_SYNCGET a client reads by REQUEST_MSGS on shared sockets.
const SHARED_CAP_3: CapFlags3 = CAP_3.union(CapFlags3::MULTIPLEX_SYNCGET);

/// Which of the shapes of mq-wire-observed.md 1 is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A: one conversation, TSH segments.
    Plain {
        /// The highest level.
        fap_level: u8,
    },
    /// B: several conversations, TSHM segments, MQGET.
    Shared {
        /// The highest level.
        fap_level: u8,
        /// The most conversations.
        conversations: u32,
    },
}

impl Shape {
    /// What is offered. The client's first segment tells what it can do; whether a password will come is not in it, so
    /// channel and queue manager alone decide about that.
    pub(crate) fn offer(proposal: &InitialData, fap_level_max: u8, terms: &ChannelTerms) -> Self {
        let plain = Self::Plain { fap_level: proposal.fap_level.min(fap_level_max).min(PLAIN_FAP_LEVEL) };
        let fap_level = proposal.fap_level.min(fap_level_max);
        let wanted = u32::try_from(proposal.conv_per_socket).unwrap_or_default();
        let conversations = wanted.min(terms.conversations).min(CONVERSATIONS_MAX);
        let reads_by_get = proposal.cap_flags_3.contains(CapFlags3::MULTIPLEX_SYNCGET);
        if terms.passwords_in_clear || conversations == 0 || fap_level < SHARED_FAP_LEVEL_MIN || !reads_by_get
        {
            return plain;
        }
        Self::Shared { fap_level, conversations }
    }

    fn fap_level(self) -> u8 {
        match self {
            Self::Plain { fap_level } | Self::Shared { fap_level, .. } => fap_level,
        }
    }

    fn conversations(self) -> u32 {
        match self {
            Self::Plain { .. } => 0,
            Self::Shared { conversations, .. } => conversations,
        }
    }

    fn cap_flags_3(self) -> CapFlags3 {
        match self {
            Self::Plain { .. } => CAP_3,
            Self::Shared { .. } => SHARED_CAP_3,
        }
    }
}

/// More conversations are on no socket, whatever channel and client say: each of them is memory.
const CONVERSATIONS_MAX: u32 = 999;

/// What counts once both ends have agreed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Agreed {
    pub(crate) fap_level: u8,
    pub(crate) segment_bytes_max: u32,
    pub(crate) max_msg_length: u32,
    pub(crate) heartbeat_s: u32,
    /// Conversations of a shared socket; 0 without sharing.
    pub(crate) conversations: u32,
    /// Whether SPIREQUEST stands: asynchronous puts are not answered.
    pub(crate) spi: bool,
}

impl Agreed {
    /// Whether the socket is shared.
    pub(crate) fn is_shared(&self) -> bool {
        self.conversations != 0
    }

    /// The most bytes of a call: a message of the longest length with its structures.
    pub(crate) fn call_bytes_max(&self) -> usize {
        self.max_msg_length as usize + CALL_OVERHEAD_BYTES
    }
}

impl From<&InitialData> for Agreed {
    fn from(id: &InitialData) -> Self {
        Self {
            fap_level: id.fap_level,
            segment_bytes_max: id.max_transmission_size,
            max_msg_length: id.max_msg_size,
            heartbeat_s: id.heartbeat_interval,
            conversations: u32::try_from(id.conv_per_socket).unwrap_or_default(),
            spi: id.cap_flags_2.contains(CapFlags2::SPIREQUEST),
        }
    }
}

/// Whether a client asks, and not a sender or requester channel (mq-wire.md 3.3).
pub(crate) fn check_initiator(proposal: &InitialData) -> Result<(), ConnectionError> {
    if !proposal.cap_flags_1.contains(CapFlags1::MQREQUEST) {
        return Err(PeerError::NotAClient.into());
    }
    if proposal.fap_level < FAP_LEVEL_MIN {
        return Err(refuse("FAP level", FAP_LEVEL_MIN, proposal.fap_level));
    }
    if proposal.max_transmission_size < SEGMENT_BYTES_MIN {
        return Err(refuse("MaxTransmissionSize", SEGMENT_BYTES_MIN, proposal.max_transmission_size));
    }
    Ok(())
}

/// The responder's first answer: as long as the proposal, what is not known returned unchanged (mq-wire.md 3.1).
pub(crate) fn first_answer(
    proposal: &InitialData,
    config: &ServerConfig,
    terms: &ChannelTerms,
) -> InitialData {
    let shape = Shape::offer(proposal, config.fap_level_max, terms);
    let cap_3 = shape.cap_flags_3();
    let mut answer = InitialData {
        fap_level: shape.fap_level(),
        max_transmission_size: proposal.max_transmission_size.min(config.max_transmission),
        max_msg_size: proposal.max_msg_size.min(terms.max_msg_length),
        heartbeat_interval: heartbeat(proposal.heartbeat_interval, terms.heartbeat_s),
        cap_flags_1: proposal.cap_flags_1 & CAP_1,
        ecap_flags_1: proposal.cap_flags_1 - CAP_1,
        cap_flags_2: proposal.cap_flags_2 & CAP_2,
        ecap_flags_2: proposal.cap_flags_2 - CAP_2,
        cap_flags_3: proposal.cap_flags_3 & cap_3,
        ecap_flags_3: proposal.cap_flags_3 - cap_3,
        conv_per_socket: i32::try_from(shape.conversations()).unwrap_or_default(),
        // Of the algorithms of password protection the client's own list: its first one must be in front
        // (mq-wire-observed-base.md 3.2).
        ..proposal.clone()
    };
    let mut changed = ErrFlags1::empty();
    changed.set(ErrFlags1::FAP_LEVEL, answer.fap_level != proposal.fap_level);
    changed.set(
        ErrFlags1::MAX_TRANSMISSION_SIZE,
        answer.max_transmission_size != proposal.max_transmission_size,
    );
    changed.set(ErrFlags1::MAX_MSG_SIZE, answer.max_msg_size != proposal.max_msg_size);
    changed.set(ErrFlags1::HEARTBEAT_INTERVAL, answer.heartbeat_interval != proposal.heartbeat_interval);
    answer.err_flags_1 = changed;
    sign(&mut answer, config);
    answer
}

/// The responder's consent to what the initiator sent again, if it keeps to the first answer.
pub(crate) fn second_answer(
    offer: &InitialData,
    again: &InitialData,
    config: &ServerConfig,
) -> Result<InitialData, ConnectionError> {
    check_initiator(again)?;
    let conversations = u32::try_from(again.conv_per_socket).unwrap_or_default();
    let not_above: [(&'static str, u32, u32); 4] = [
        ("FAP level", offer.fap_level.into(), again.fap_level.into()),
        ("MaxTransmissionSize", offer.max_transmission_size, again.max_transmission_size),
        ("MaxMsgSize", offer.max_msg_size, again.max_msg_size),
        ("ConvPerSocket", u32::try_from(offer.conv_per_socket).unwrap_or_default(), conversations),
    ];
    for (what, ours, theirs) in not_above {
        if theirs > ours {
            return Err(refuse(what, ours, theirs));
        }
    }
    // A socket that is shared all the same would be read by REQUEST_MSGS.
    if conversations != 0 && again.fap_level < SHARED_FAP_LEVEL_MIN {
        return Err(refuse("FAP level", SHARED_FAP_LEVEL_MIN, again.fap_level));
    }
    if conversations != 0 && !again.cap_flags_3.contains(CapFlags3::MULTIPLEX_SYNCGET) {
        return Err(refuse("MULTIPLEX_SYNCGET", 1_u8, 0_u8));
    }
    if again.cap_flags_2.contains(CapFlags2::SPIREQUEST) && !offer.cap_flags_2.contains(CapFlags2::SPIREQUEST)
    {
        return Err(refuse("SPIREQUEST", 0_u8, 1_u8));
    }
    if again.channel_name != offer.channel_name {
        return Err(PeerError::OtherChannel.into());
    }
    let cap_3 = if conversations == 0 { CAP_3 } else { SHARED_CAP_3 };
    let mut answer = InitialData {
        heartbeat_interval: heartbeat(again.heartbeat_interval, offer.heartbeat_interval),
        conv_per_socket: i32::try_from(conversations).unwrap_or_default(),
        cap_flags_1: again.cap_flags_1 & CAP_1,
        ecap_flags_1: CapFlags1::empty(),
        err_flags_1: ErrFlags1::empty(),
        cap_flags_2: again.cap_flags_2 & CAP_2,
        ecap_flags_2: CapFlags2::empty(),
        cap_flags_3: again.cap_flags_3 & cap_3,
        ecap_flags_3: CapFlags3::empty(),
        ..again.clone()
    };
    sign(&mut answer, config);
    Ok(answer)
}

/// What a client proposes.
pub(crate) fn propose(config: &ClientConfig) -> InitialData {
    InitialData {
        length: length_at(PLAIN_FAP_LEVEL),
        fap_level: PLAIN_FAP_LEVEL,
        cap_flags_1: CAP_1,
        cap_flags_2: CLIENT_CAP_2,
        max_transmission_size: MAX_TRANSMISSION_SIZE,
        max_msg_size: config.max_msg_length,
        channel_name: config.channel,
        ccsid: Coding::NATIVE.ccsid.0 as u16,
        q_mgr_name: config.qmgr_name,
        heartbeat_interval: config.heartbeat_s,
        // Length of what follows this field (mq-wire.md 3.1).
        efl_length: 0x6A,
        conv_per_socket: 0,
        product_id: config.product_id,
        ..InitialData::default()
    }
}

/// What a client makes of an answer: every value that was lowered is taken over.
pub(crate) fn adopt(ours: &InitialData, theirs: &InitialData) -> Result<InitialData, ConnectionError> {
    if theirs.fap_level < FAP_LEVEL_MIN {
        return Err(refuse("FAP level", FAP_LEVEL_MIN, theirs.fap_level));
    }
    if theirs.max_transmission_size < SEGMENT_BYTES_MIN {
        return Err(refuse("MaxTransmissionSize", SEGMENT_BYTES_MIN, theirs.max_transmission_size));
    }
    if theirs.conv_per_socket > 0 {
        return Err(refuse("ConvPerSocket", 0, u32::try_from(theirs.conv_per_socket).unwrap_or_default()));
    }
    let fap_level = ours.fap_level.min(theirs.fap_level);
    Ok(InitialData {
        length: length_at(fap_level),
        fap_level,
        max_transmission_size: ours.max_transmission_size.min(theirs.max_transmission_size),
        max_msg_size: ours.max_msg_size.min(theirs.max_msg_size),
        heartbeat_interval: heartbeat(ours.heartbeat_interval, theirs.heartbeat_interval),
        cap_flags_1: ours.cap_flags_1 & theirs.cap_flags_1,
        cap_flags_2: ours.cap_flags_2 & theirs.cap_flags_2,
        cap_flags_3: ours.cap_flags_3 & theirs.cap_flags_3,
        ccsid: theirs.ccsid,
        q_mgr_id: theirs.q_mgr_id,
        ..ours.clone()
    })
}

/// The body of a segment with initial data, with the character set it is written in.
pub(crate) fn encode(id: &InitialData, coding: Coding) -> Bytes {
    let mut body = BytesMut::with_capacity(InitialData::WHOLE);
    let ccsid = u16::try_from(coding.ccsid.0).unwrap_or_default();
    InitialData { ccsid, ..id.clone() }.encode(&mut Writer::new(&mut body, coding));
    body.freeze()
}

/// The larger one counts; none if one end has none (mq-wire.md 3.6).
fn heartbeat(ours: u32, theirs: u32) -> u32 {
    if ours == 0 || theirs == 0 { 0 } else { ours.max(theirs) }
}

/// What the responder says about itself.
fn sign(answer: &mut InitialData, config: &ServerConfig) {
    answer.random = config.random;
    answer.q_mgr_name = config.qmgr_name;
    answer.q_mgr_id = config.qmgr_id;
    answer.product_id = config.product_id;
    answer.efl_length = 0;
}

/// How long the structure is that a client sends at a level (mq-wire-observed-base.md 2.2).
fn length_at(fap_level: u8) -> usize {
    match fap_level {
        ..=8 => 128,
        9 => 160,
        _ => 208,
    }
}

fn refuse(what: &'static str, ours: impl Into<i64>, theirs: impl Into<i64>) -> ConnectionError {
    ConnectionError::Negotiation { what, ours: ours.into(), theirs: theirs.into() }
}

const _: () = assert!(MAX_TRANSMISSION_SIZE <= SEGMENT_BYTES_MAX);

#[cfg(test)]
mod tests {
    use super::*;

    /// The first segment of IBM's client (mq-wire-observed-base.md 2.1).
    fn java() -> InitialData {
        InitialData {
            fap_level: 17,
            cap_flags_1: CAP_1,
            cap_flags_3: SHARED_CAP_3,
            conv_per_socket: 10,
            ..InitialData::default()
        }
    }

    #[test]
    fn channel_and_first_segment_decide_about_the_shape() {
        let check = |proposal: InitialData, fap_level_max, terms: ChannelTerms, fap_level, conversations| {
            let shape = Shape::offer(&proposal, fap_level_max, &terms);
            assert_eq!((shape.fap_level(), shape.conversations()), (fap_level, conversations), "{terms:?}");
            let gets = shape.cap_flags_3().contains(CapFlags3::MULTIPLEX_SYNCGET);
            assert_eq!(gets, conversations != 0);
        };
        let terms = ChannelTerms::default();
        check(java(), 14, terms, 14, 10);
        check(java(), 13, terms, 13, 10);
        check(java(), 12, terms, 12, 0);
        check(java(), 14, ChannelTerms { conversations: 1, ..terms }, 14, 1);
        check(java(), 14, ChannelTerms { conversations: u32::MAX, ..terms }, 14, 10);
        check(java(), 14, ChannelTerms { conversations: 0, ..terms }, 12, 0);
        check(java(), 14, ChannelTerms { passwords_in_clear: true, ..terms }, 12, 0);
        check(InitialData { conv_per_socket: 0, ..java() }, 14, terms, 12, 0);
        check(InitialData { conv_per_socket: -1, ..java() }, 14, terms, 12, 0);
        check(InitialData { conv_per_socket: i32::MAX, ..java() }, 14, terms, 14, 10);
        check(InitialData { fap_level: 12, ..java() }, 14, terms, 12, 0);
        check(InitialData { fap_level: 13, ..java() }, 14, terms, 13, 10);
        check(InitialData { fap_level: 4, ..java() }, 14, terms, 4, 0);
        check(InitialData { cap_flags_3: CAP_3, ..java() }, 14, terms, 12, 0);
        let many = ChannelTerms { conversations: u32::MAX, ..terms };
        check(InitialData { conv_per_socket: i32::MAX, ..java() }, 14, many, 14, CONVERSATIONS_MAX);
    }
}
