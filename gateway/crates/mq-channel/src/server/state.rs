//! The states of a server connection and what happens in each (the diagram is in the module above).

use std::time::Instant;

use bytes::BytesMut;
use mq_wire::{
    Body, Coding, ControlFlags1, InitialData, SegmentKind, SegmentType, Status, StatusCode, Writer,
};

use super::Shared;
use super::conversation::unexpected;
use super::open::{Goes, Open};
use crate::error::{ConnectionError, PeerError};
use crate::event::{ChannelRequest, ChannelTerms, Event};
use crate::link::{Address, Arrived, CALL_OVERHEAD_BYTES};
use crate::negotiate::{self, Agreed};

/// Where a connection stands; each state holds what exists then.
#[derive(Debug)]
pub(crate) enum State {
    /// Nothing has come.
    Start,
    /// The owner looks for the channel.
    Deciding {
        /// The client's first initial data.
        proposal: Box<InitialData>,
    },
    /// The client is to send its initial data again, with our values.
    Agreeing {
        /// Our first answer.
        offer: Box<InitialData>,
        /// What the channel allows.
        terms: ChannelTerms,
    },
    /// The channel has started.
    Open(Box<Open>),
    /// Nothing is read any more, the rest of the output is sent.
    Closed,
}

impl State {
    /// What the connection was doing, to follow "nothing came" or "unexpected".
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Start => "before the first initial data",
            Self::Deciding { .. } => "while the channel is looked up",
            Self::Agreeing { .. } => "before the second initial data",
            Self::Open(open) => open.name(),
            Self::Closed => "after the end",
        }
    }

    /// The most bytes of a call; none if there is no such conversation.
    pub(crate) fn call_bytes_max(&self, conversation: u32) -> Option<usize> {
        match self {
            Self::Open(open) => open.call_bytes_max(conversation),
            _ => Some(CALL_OVERHEAD_BYTES),
        }
    }

    /// A segment, or a call whose segments have been joined, has come.
    pub(crate) fn handle(
        self,
        arrived: Arrived,
        now: Instant,
        shared: &mut Shared,
    ) -> Result<Self, ConnectionError> {
        match (self, arrived.header.segment_type) {
            (Self::Start, SegmentType::INITIAL_DATA) => Self::proposed(&arrived, shared),
            (Self::Agreeing { offer, terms }, SegmentType::INITIAL_DATA) => {
                Self::agreed(&offer, &terms, &arrived, now, shared)
            }
            (Self::Open(mut open), _) => Ok(match open.handle(arrived, now, shared)? {
                Goes::On => Self::Open(open),
                Goes::Ended => Self::ended(shared),
            }),
            (state, SegmentType::STATUS) if !matches!(state, Self::Start) => match decode(&arrived, 0)? {
                Body::Status(Some(status)) => Err(ConnectionError::Refused(status.code)),
                _ => Err(ConnectionError::Closed(state.name())),
            },
            (state, segment_type) => Err(unexpected(segment_type, state.name())),
        }
    }

    /// The client has ended in order.
    pub(crate) fn ended(shared: &mut Shared) -> Self {
        shared.deadline = None;
        shared.events.push_back(Event::Ended);
        Self::Closed
    }

    /// The owner accepts the channel.
    pub(crate) fn accepted(proposal: &InitialData, terms: ChannelTerms, shared: &mut Shared) -> Self {
        if let Some(ccsid) = terms.ccsid {
            let coding = Coding { ccsid, ..shared.outbound.coding() };
            shared.outbound.set_coding(coding);
        }
        let offer = negotiate::first_answer(proposal, &shared.config, &terms);
        // The client changes over with its second initial data.
        shared.inbound.share(offer.conv_per_socket != 0);
        let body = negotiate::encode(&offer, shared.outbound.coding());
        shared.outbound.control(Address::PLAIN, SegmentType::INITIAL_DATA, ControlFlags1::ERROR, &body);
        Self::Agreeing { offer: Box::new(offer), terms }
    }

    fn proposed(arrived: &Arrived, shared: &mut Shared) -> Result<Self, ConnectionError> {
        let proposal = initial_data(arrived)?;
        negotiate::check_initiator(&proposal)?;
        shared.events.push_back(Event::ChannelRequested(ChannelRequest {
            channel: proposal.channel_name,
            qmgr_name: proposal.q_mgr_name,
            product_id: proposal.product_id,
            fap_level: proposal.fap_level,
        }));
        Ok(Self::Deciding { proposal })
    }

    fn agreed(
        offer: &InitialData,
        terms: &ChannelTerms,
        arrived: &Arrived,
        now: Instant,
        shared: &mut Shared,
    ) -> Result<Self, ConnectionError> {
        let again = initial_data(arrived)?;
        let answer = negotiate::second_answer(offer, &again, &shared.config)?;
        let agreed = Agreed::from(&answer);
        let kind = if agreed.is_shared() { SegmentKind::Tshm } else { SegmentKind::Tsh };
        if arrived.header.kind != kind {
            return Err(PeerError::HeaderKind.into());
        }
        shared.inbound.share(agreed.is_shared());
        let body = negotiate::encode(&answer, shared.outbound.coding());
        let to = Address::of(&arrived.header);
        shared.outbound.control(to, SegmentType::INITIAL_DATA, ControlFlags1::empty(), &body);
        shared.outbound.agree(agreed.segment_bytes_max);
        shared.inbound.agree(agreed.segment_bytes_max, CALL_OVERHEAD_BYTES);
        // From now on the conversation has it.
        let deadline = shared.deadline.take().unwrap_or(now + shared.config.handshake_timeout);
        shared.shared = agreed.is_shared();
        let first = arrived.header.conversation_id;
        Ok(Self::Open(Box::new(Open::new(agreed, terms, first, deadline))))
    }
}

impl Shared {
    /// Sends a status that ends the channel: CLOSE must be set, else clients do not take it (base 5). On a shared socket
    /// it concerns the whole of it: told to conversations it is not noticed (mq-wire-observed-jms.md 4.9).
    pub(crate) fn refuse(&mut self, code: StatusCode) {
        let mut body = BytesMut::new();
        Status::new(code).encode(&mut Writer::new(&mut body, self.outbound.coding()));
        let flags = ControlFlags1::ERROR | ControlFlags1::CLOSE_CHANNEL;
        let to = if self.shared { Address::SOCKET } else { Address::PLAIN };
        self.outbound.control(to, SegmentType::STATUS, flags, &body);
    }
}

fn decode(arrived: &Arrived, fap_level: u8) -> Result<Body, ConnectionError> {
    let segment = arrived.header.segment_type;
    Body::decode(&arrived.header, &arrived.body, fap_level)
        .map_err(|error| PeerError::Decode { segment, error }.into())
}

fn initial_data(arrived: &Arrived) -> Result<Box<InitialData>, ConnectionError> {
    match decode(arrived, 0)? {
        Body::InitialData(id) => Ok(id),
        _ => Err(unexpected(arrived.header.segment_type, "instead of initial data")),
    }
}
