//! The states of a server connection and what happens in each (the diagram is in the module above).

use std::time::Instant;

use bytes::BytesMut;
use mq_wire::{
    Body, Ccsid, Chars, Coding, ConnAuth, ControlFlags1, Field, InitialData, SegmentType, Status, StatusCode,
    UserIdData, Writer,
};

use super::Shared;
use super::form::{self, Asked, Form};
use super::heartbeat::Heartbeat;
use crate::error::{ConnectionError, OwnerError, PeerError};
use crate::event::{CallId, ChannelRequest, ChannelTerms, Event};
use crate::link::Arrived;
use crate::negotiate::{self, Agreed};
use crate::reply::Reply;
use crate::request::{Password, Request};

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
    },
    /// The client says who it is; MQCONN ends that.
    Identifying {
        /// What counts on this connection.
        agreed: Agreed,
        /// Who it is.
        identity: Identity,
    },
    /// A call is open.
    Calling {
        /// What counts on this connection.
        agreed: Agreed,
        /// The call.
        call: CallId,
        /// How it was asked.
        form: Form,
        /// Of an MQGET that waits.
        heartbeat: Option<Heartbeat>,
    },
    /// Connected, no call is open.
    Connected {
        /// What counts on this connection.
        agreed: Agreed,
    },
    /// MQDISC was answered, or MQCONN refused: the client is to end.
    Disconnected,
    /// Nothing is read any more, the rest of the output is sent.
    Closed,
}

/// What a client says about its user before MQCONN.
#[derive(Debug, Default)]
pub(crate) struct Identity {
    user: String,
    password: Option<Password>,
    /// CONAUTH_INFO has come: it counts more than USERID (mq-wire.md 3.5).
    authenticated: bool,
}

impl State {
    /// What the connection was doing, to follow "nothing came" or "unexpected".
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Start => "before the first initial data",
            Self::Deciding { .. } => "while the channel is looked up",
            Self::Agreeing { .. } => "before the second initial data",
            Self::Identifying { .. } => "before MQCONN",
            Self::Calling { .. } => "while a call is open",
            Self::Connected { .. } => "between two calls",
            Self::Disconnected => "after MQDISC",
            Self::Closed => "after the end",
        }
    }

    /// A segment, or a call whose segments have been joined, has come.
    pub(crate) fn handle(
        self,
        arrived: &Arrived,
        now: Instant,
        shared: &mut Shared,
    ) -> Result<Self, ConnectionError> {
        let segment_type = arrived.header.segment_type;
        match (self, segment_type) {
            (Self::Start, SegmentType::INITIAL_DATA) => Self::proposed(arrived, shared),
            (Self::Agreeing { offer }, SegmentType::INITIAL_DATA) => Self::agreed(&offer, arrived, shared),
            (Self::Identifying { agreed, identity }, _) => identity.handle(agreed, arrived, now, shared),
            (state @ (Self::Calling { .. } | Self::Connected { .. }), SegmentType::HEARTBEAT) => {
                // Without CONFIRM_REQUEST it is the answer to ours (mq-wire.md 3.11).
                if arrived.header.control_flags_1.contains(ControlFlags1::CONFIRM_REQUEST) {
                    let whole = ControlFlags1::FIRST | ControlFlags1::LAST;
                    shared.outbound.control(SegmentType::HEARTBEAT, whole, &[]);
                }
                Ok(state)
            }
            (Self::Disconnected, SegmentType::STATUS) => {
                shared.deadline = None;
                shared.events.push_back(Event::Ended);
                Ok(Self::Closed)
            }
            (state, SegmentType::STATUS) if !matches!(state, Self::Start) => match decode(arrived, 0)? {
                Body::Status(Some(status)) => Err(ConnectionError::Refused(status.code)),
                _ => Err(ConnectionError::Closed(state.name())),
            },
            (Self::Connected { agreed }, _) if segment_type.is_call() && !segment_type.is_reply() => {
                Self::called(agreed, None, arrived, now, shared)
            }
            (state, _) => Err(unexpected(segment_type, state.name())),
        }
    }

    /// The owner accepts the channel.
    pub(crate) fn accepted(proposal: &InitialData, terms: ChannelTerms, shared: &mut Shared) -> Self {
        let offer = negotiate::first_answer(proposal, &shared.config, terms);
        let body = negotiate::encode(&offer, shared.outbound.coding());
        shared.outbound.control(SegmentType::INITIAL_DATA, ControlFlags1::ERROR, &body);
        Self::Agreeing { offer: Box::new(offer) }
    }

    /// The owner answers a call.
    pub(crate) fn reply(
        self,
        call: CallId,
        reply: Reply,
        now: Instant,
        shared: &mut Shared,
    ) -> Result<Self, OwnerError> {
        let Self::Calling { agreed, call: open, form, .. } = self else { return Err(OwnerError::NoSuchCall) };
        if open != call {
            return Err(OwnerError::NoSuchCall);
        }
        let done = reply.outcome().0 != mq_wire::CompCode::FAILED;
        let is_over = (form.is_disconnect() && done) || (form.is_connect() && !done);
        let message = form.answer(reply, shared.outbound.coding())?;
        shared.outbound.call(&message);
        if is_over {
            shared.deadline = Some(now + shared.config.handshake_timeout);
            return Ok(Self::Disconnected);
        }
        Ok(Self::Connected { agreed })
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

    fn agreed(offer: &InitialData, arrived: &Arrived, shared: &mut Shared) -> Result<Self, ConnectionError> {
        let again = initial_data(arrived)?;
        let answer = negotiate::second_answer(offer, &again, &shared.config)?;
        let agreed = Agreed::from(&answer);
        let body = negotiate::encode(&answer, shared.outbound.coding());
        shared.outbound.control(SegmentType::INITIAL_DATA, ControlFlags1::empty(), &body);
        shared.outbound.agree(agreed.segment_bytes_max);
        // Calls stay short until somebody has connected.
        shared.inbound.agree(agreed.segment_bytes_max, crate::link::CALL_OVERHEAD_BYTES);
        Ok(Self::Identifying { agreed, identity: Identity::default() })
    }

    /// A call has come and none is open.
    fn called(
        agreed: Agreed,
        identity: Option<Identity>,
        arrived: &Arrived,
        now: Instant,
        shared: &mut Shared,
    ) -> Result<Self, ConnectionError> {
        let segment_type = arrived.header.segment_type;
        // MQCONN is the first call, and never comes again.
        if identity.is_some() != (segment_type == SegmentType::MQCONN) {
            let state = if identity.is_some() { "before MQCONN" } else { "after MQCONN" };
            return Err(unexpected(segment_type, state));
        }
        let decoded = Body::decode(&arrived.header, &arrived.body, agreed.fap_level);
        let (api, body) = match decoded {
            Ok(Body::Call(api, body)) => (api, body),
            Ok(_) => return Err(unexpected(segment_type, "between two calls")),
            Err(error) => {
                let Some(reason) = form::reason_of(&error) else {
                    return Err(PeerError::Decode { segment: segment_type, error }.into());
                };
                shared.outbound.call(&form::refused(segment_type, reason, shared.outbound.coding()));
                return Ok(Self::Connected { agreed });
            }
        };
        let (mut request, form) = match form::ask(arrived, api, body, shared.outbound.coding())? {
            Asked::Owner(request, form) => (request, form),
            Asked::Answered(message) => {
                shared.outbound.call(&message);
                return Ok(Self::Connected { agreed });
            }
        };
        if let (Request::Connect(connect), Some(identity)) = (&mut request, identity) {
            connect.user = identity.user;
            connect.password = identity.password;
            shared.deadline = None;
            shared.inbound.agree(agreed.segment_bytes_max, agreed.call_bytes_max());
        }
        let heartbeat = match &request {
            Request::Get { gmo, .. } if gmo.options.contains(mq_wire::GetOptions::WAIT) => {
                Heartbeat::new(agreed.heartbeat_s, now)
            }
            _ => None,
        };
        let call = shared.next_call();
        shared.events.push_back(Event::Call { conversation: 0, call, request });
        Ok(Self::Calling { agreed, call, form, heartbeat })
    }
}

impl Identity {
    fn handle(
        mut self,
        agreed: Agreed,
        arrived: &Arrived,
        now: Instant,
        shared: &mut Shared,
    ) -> Result<State, ConnectionError> {
        match decode(arrived, agreed.fap_level)? {
            // No answer is sent (mq-wire.md 3.5).
            Body::UserId(uid) => self.user_id(&uid),
            Body::ConnAuth(caut) => {
                self.conn_auth(&caut, arrived.header.coding());
                // Consent is a header without a body; whether the password is right is said in reply to MQCONN
                // (mq-wire-observed-base.md 3.3).
                shared.outbound.control(SegmentType::STATUS, ControlFlags1::empty(), &[]);
            }
            Body::Status(Some(status)) => return Err(ConnectionError::Refused(status.code)),
            Body::Status(None) => return Err(ConnectionError::Closed("before MQCONN")),
            _ => return State::called(agreed, Some(self), arrived, now, shared),
        }
        Ok(State::Identifying { agreed, identity: self })
    }

    fn user_id(&mut self, uid: &UserIdData) {
        if self.authenticated {
            return;
        }
        self.user = if uid.long_user_id.is_blank() { uid.user_id.text() } else { uid.long_user_id.text() };
        // Compatibility mode: a short password in clear (mq-wire-observed-base.md 2.2).
        let password = uid.password.0.trimmed();
        self.password = (!password.is_empty()).then(|| Password::new(password));
    }

    fn conn_auth(&mut self, caut: &ConnAuth, coding: Coding) {
        self.authenticated = true;
        self.user = text(&caut.user_id, coding);
        let password = caut.password_in_clear();
        self.password = (!password.is_empty()).then(|| Password::new(password));
    }
}

impl Shared {
    /// Sends a status that ends the channel: CLOSE must be set, else clients do not take it (base 5).
    pub(crate) fn refuse(&mut self, code: StatusCode) {
        let mut body = BytesMut::new();
        Status::new(code).encode(&mut Writer::new(&mut body, self.outbound.coding()));
        let flags = ControlFlags1::ERROR | ControlFlags1::CLOSE_CHANNEL;
        self.outbound.control(SegmentType::STATUS, flags, &body);
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

fn unexpected(segment: SegmentType, state: &'static str) -> ConnectionError {
    // XA has names, but is not offered by what this machine serves (mq-wire.md 2.3).
    if segment.name().is_none() || segment.0 >= SegmentType::XA_START.0 {
        return PeerError::Unknown(segment).into();
    }
    PeerError::Unexpected { segment, state }.into()
}

/// A user's name as text. Names outside of the invariant characters exist in UTF-8 and Latin-1.
fn text(bytes: &[u8], coding: Coding) -> String {
    if coding.ccsid == Ccsid::UTF_8 {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    bytes.iter().map(|byte| char::from(Chars::<1>::read(&[*byte], coding).as_bytes()[0])).collect()
}
