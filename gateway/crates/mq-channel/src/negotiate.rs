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
const FAP_LEVEL: u8 = 12;
/// The lowest level that names queue manager and heartbeat; IBM's client was seen to work down to it.
const FAP_LEVEL_MIN: u8 = 4;

/// What both ends announce (mq-wire.md 3.1).
const MAX_TRANSMISSION_SIZE: u32 = 32_748;

const CAP_1: CapFlags1 =
    CapFlags1::CONVERSION_CAPABLE.union(CapFlags1::SPLIT_MESSAGE).union(CapFlags1::MQREQUEST);
/// Not SPIREQUEST: without it every put is answered and message ids are not reserved (mq-wire-observed-base.md 3.5).
const CAP_2: CapFlags2 = CapFlags2::DIST_LIST_CAPABLE.union(CapFlags2::XAREQUEST);
/// The refusal of GEN_CONNTAG_CAP may be taken badly (mq-wire-observed.md 2); MULTIPLEX_SYNCGET is for shared sockets.
const CAP_3: CapFlags3 = CapFlags3::GEN_CONNTAG_CAP;

/// What counts once both ends have agreed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Agreed {
    pub(crate) fap_level: u8,
    pub(crate) segment_bytes_max: u32,
    pub(crate) max_msg_length: u32,
    pub(crate) heartbeat_s: u32,
}

impl Agreed {
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
    terms: ChannelTerms,
) -> InitialData {
    let mut answer = InitialData {
        fap_level: proposal.fap_level.min(FAP_LEVEL),
        max_transmission_size: proposal.max_transmission_size.min(config.max_transmission),
        max_msg_size: proposal.max_msg_size.min(terms.max_msg_length),
        heartbeat_interval: heartbeat(proposal.heartbeat_interval, terms.heartbeat_s),
        cap_flags_1: proposal.cap_flags_1 & CAP_1,
        ecap_flags_1: proposal.cap_flags_1 - CAP_1,
        cap_flags_2: proposal.cap_flags_2 & CAP_2,
        ecap_flags_2: proposal.cap_flags_2 - CAP_2,
        cap_flags_3: proposal.cap_flags_3 & CAP_3,
        ecap_flags_3: proposal.cap_flags_3 - CAP_3,
        conv_per_socket: 0,
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
    let not_above: [(&'static str, u32, u32); 4] = [
        ("FAP level", offer.fap_level.into(), again.fap_level.into()),
        ("MaxTransmissionSize", offer.max_transmission_size, again.max_transmission_size),
        ("MaxMsgSize", offer.max_msg_size, again.max_msg_size),
        ("ConvPerSocket", 0, u32::try_from(again.conv_per_socket).unwrap_or_default()),
    ];
    for (what, ours, theirs) in not_above {
        if theirs > ours {
            return Err(refuse(what, ours, theirs));
        }
    }
    if again.cap_flags_2.contains(CapFlags2::SPIREQUEST) {
        return Err(refuse("SPIREQUEST", 0_u8, 1_u8));
    }
    if again.channel_name != offer.channel_name {
        return Err(PeerError::OtherChannel.into());
    }
    let mut answer = InitialData {
        heartbeat_interval: heartbeat(again.heartbeat_interval, offer.heartbeat_interval),
        cap_flags_1: again.cap_flags_1 & CAP_1,
        ecap_flags_1: CapFlags1::empty(),
        err_flags_1: ErrFlags1::empty(),
        cap_flags_2: again.cap_flags_2 & CAP_2,
        ecap_flags_2: CapFlags2::empty(),
        cap_flags_3: again.cap_flags_3 & CAP_3,
        ecap_flags_3: CapFlags3::empty(),
        ..again.clone()
    };
    sign(&mut answer, config);
    Ok(answer)
}

/// What a client proposes.
pub(crate) fn propose(config: &ClientConfig) -> InitialData {
    InitialData {
        length: length_at(FAP_LEVEL),
        fap_level: FAP_LEVEL,
        cap_flags_1: CAP_1,
        cap_flags_2: CAP_2,
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

/// The body of a segment with initial data.
pub(crate) fn encode(id: &InitialData, coding: Coding) -> Bytes {
    let mut body = BytesMut::with_capacity(InitialData::WHOLE);
    id.encode(&mut Writer::new(&mut body, coding));
    body.freeze()
}

/// The larger one counts; none if one end has none (mq-wire.md 3.6).
fn heartbeat(ours: u32, theirs: u32) -> u32 {
    if ours == 0 || theirs == 0 { 0 } else { ours.max(theirs) }
}

/// What the responder says about itself.
fn sign(answer: &mut InitialData, config: &ServerConfig) {
    answer.ccsid = u16::try_from(config.coding.ccsid.0).unwrap_or_default();
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
