//! The states of a client connection and what happens in each (the diagram is in the module above).

use std::ops::Range;

use bytes::{Bytes, BytesMut};
use mq_wire::{
    ApiHeader, Body, ByteOrder, Call, CapFlags1, CapFlags2, Ccsid, CompCode, ConnAuth, ControlFlags1,
    InitialData, SegmentHeader, SegmentType, UserIdData, Writer, encode_text,
};

use super::form::{self, Form};
use super::{ClientConfig, ClientEvent, END_FLAGS, Shared};
use crate::error::{ConnectionError, PeerError};
use crate::event::CallId;
use crate::link::{Address, Arrived, Outbound};
use crate::negotiate::{self, Agreed};
use crate::request::Password;

/// Queue managers were seen to need two.
const ROUNDS_MAX: u32 = 4;

/// Where a connection stands; each state holds what exists then.
#[derive(Debug)]
pub(crate) enum State {
    /// Initial data were sent.
    Proposing {
        /// What was sent.
        proposal: Box<InitialData>,
        /// How often.
        rounds: u32,
    },
    /// User and password were sent.
    Authenticating {
        /// What counts on this connection.
        agreed: Agreed,
        /// MQCONN, which comes next.
        id: Box<InitialData>,
    },
    /// MQCONN was sent.
    Connecting {
        /// What counts on this connection.
        agreed: Agreed,
    },
    /// No call is open.
    Connected {
        /// What counts on this connection.
        agreed: Agreed,
    },
    /// A call is open.
    Calling {
        /// What counts on this connection.
        agreed: Agreed,
        /// The call.
        call: CallId,
        /// What its answer is to look like.
        form: Form,
    },
    /// Nothing is read any more.
    Closed,
}

impl State {
    /// What the connection was doing, to follow "nothing came" or "unexpected".
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Proposing { .. } => "while the channel starts",
            Self::Authenticating { .. } => "in answer to user and password",
            Self::Connecting { .. } => "in answer to MQCONN",
            Self::Connected { .. } => "between two calls",
            Self::Calling { form, .. } => form.name(),
            Self::Closed => "after the end",
        }
    }

    /// What a client proposes.
    pub(crate) fn proposal(config: &ClientConfig) -> InitialData {
        let mut proposal = negotiate::propose(config);
        proposal.cap_flags_2.set(CapFlags2::SPIREQUEST, config.offers_unanswered_puts);
        proposal
    }

    /// Sends initial data.
    pub(crate) fn propose(proposal: &InitialData, out: &mut Outbound) {
        let body = negotiate::encode(proposal, out.coding());
        let flags = ControlFlags1::FIRST | ControlFlags1::LAST | ControlFlags1::CONFIRM_REQUEST;
        out.control(Address::PLAIN, SegmentType::INITIAL_DATA, flags, &body);
    }

    /// A segment, or a reply whose segments have been joined, has come.
    pub(crate) fn handle(self, arrived: &Arrived, shared: &mut Shared) -> Result<Self, ConnectionError> {
        let header = &arrived.header;
        let segment = header.segment_type;
        match (self, segment) {
            (Self::Authenticating { agreed, id }, SegmentType::STATUS)
                if is_consent(header, &arrived.body) =>
            {
                Self::connect(agreed, &id, shared)
            }
            (state, SegmentType::STATUS) => match decode(arrived)? {
                Body::Status(Some(status)) => Err(ConnectionError::Refused(status.code)),
                _ => Err(ConnectionError::Closed(state.name())),
            },
            (state, SegmentType::HEARTBEAT) => {
                if header.control_flags_1.contains(ControlFlags1::CONFIRM_REQUEST) {
                    let whole = ControlFlags1::FIRST | ControlFlags1::LAST;
                    shared.outbound.control(Address::PLAIN, SegmentType::HEARTBEAT, whole, &[]);
                }
                Ok(state)
            }
            (Self::Proposing { proposal, rounds }, SegmentType::INITIAL_DATA) => {
                let Body::InitialData(answer) = decode(arrived)? else {
                    return Err(unexpected(segment, "while the channel starts"));
                };
                Self::answered(&proposal, rounds, &answer, header, shared)
            }
            (Self::Connecting { agreed }, SegmentType::MQCONN_REPLY) => {
                Self::connected(agreed, arrived, shared)
            }
            (Self::Calling { agreed, call, form }, _) if form.is_answered_by(segment) => {
                let Body::Call(api, body) = decode(arrived)? else {
                    return Err(unexpected(segment, form.name()));
                };
                shared.deadline = None;
                if let (CompCode::OK | CompCode::WARNING, Call::Spi(spi)) = (api.comp_code, &body) {
                    let ids = form.reserved(spi)?;
                    shared.events.push_back(ClientEvent::Reserved { call, ids });
                    return Ok(Self::Connected { agreed });
                }
                let is_disconnect = form.is_disconnect() && api.comp_code != CompCode::FAILED;
                let reply = form.reply(arrived, api, body)?;
                shared.events.push_back(ClientEvent::Reply { call, reply });
                if is_disconnect {
                    shared.outbound.control(Address::PLAIN, SegmentType::STATUS, END_FLAGS, &[]);
                    return Ok(Self::Closed);
                }
                Ok(Self::Connected { agreed })
            }
            (state, _) => Err(unexpected(segment, state.name())),
        }
    }

    /// The responder's byte order and character set count from now on, and its values (mq-wire.md 0.3, 3.6).
    fn answered(
        proposal: &InitialData,
        rounds: u32,
        answer: &InitialData,
        header: &SegmentHeader,
        shared: &mut Shared,
    ) -> Result<Self, ConnectionError> {
        let theirs = header.coding();
        let mut coding = shared.outbound.coding();
        coding.order = theirs.order;
        // IBM's client writes to a queue manager in EBCDIC in EBCDIC, too (mq-wire-observed-base.md 2.2).
        if theirs.ccsid != Ccsid::Q_MGR {
            coding.ccsid = theirs.ccsid;
        }
        shared.outbound.set_coding(coding);
        let id = negotiate::adopt(proposal, answer)?;
        if header.control_flags_1.contains(ControlFlags1::ERROR) {
            if rounds == ROUNDS_MAX {
                return Err(ConnectionError::Negotiation {
                    what: "the number of rounds",
                    ours: ROUNDS_MAX.into(),
                    theirs: i64::from(rounds) + 1,
                });
            }
            Self::propose(&id, &mut shared.outbound);
            return Ok(Self::Proposing { proposal: Box::new(id), rounds: rounds + 1 });
        }
        let agreed = Agreed::from(&id);
        shared.heartbeat_s = agreed.heartbeat_s;
        shared.splits_messages = id.cap_flags_1.contains(CapFlags1::SPLIT_MESSAGE);
        shared.outbound.agree(agreed.segment_bytes_max);
        shared.inbound.agree(agreed.segment_bytes_max, agreed.call_bytes_max());
        let user = shared.config.user.clone();
        let uid = UserIdData {
            user_id: mq_wire::Chars::cut(&user.to_uppercase()),
            long_user_id: mq_wire::Chars::cut(&user),
            length: if agreed.fap_level < 5 { UserIdData::LEAST } else { UserIdData::WHOLE },
            ..UserIdData::default()
        };
        let whole = ControlFlags1::FIRST | ControlFlags1::LAST;
        let mut body = BytesMut::new();
        uid.encode(&mut Writer::new(&mut body, coding));
        shared.outbound.control(Address::PLAIN, SegmentType::USERID, whole, &body);
        let Some(password) = &shared.config.password else {
            return Self::connect(agreed, &id, shared);
        };
        let (user, password) = credentials(&user, password, coding.ccsid);
        let caut = ConnAuth::new(user, password, agreed.fap_level);
        let mut body = BytesMut::new();
        caut.encode(&mut Writer::new(&mut body, coding));
        shared.outbound.control(Address::PLAIN, SegmentType::CONAUTH_INFO, whole, &body);
        Ok(Self::Authenticating { agreed, id: Box::new(id) })
    }

    fn connect(agreed: Agreed, id: &InitialData, shared: &mut Shared) -> Result<Self, ConnectionError> {
        let message = form::connect(&shared.config, agreed, id, shared.outbound.coding());
        shared.outbound.call(Address::PLAIN, &message);
        Ok(Self::Connecting { agreed })
    }

    fn connected(agreed: Agreed, arrived: &Arrived, shared: &mut Shared) -> Result<Self, ConnectionError> {
        let header = connect_header(arrived);
        let Body::Call(api, call) = decode_as(&header, arrived)? else {
            return Err(unexpected(SegmentType::MQCONN_REPLY, "in answer to MQCONN"));
        };
        shared.deadline = None;
        if api.comp_code == CompCode::FAILED {
            shared.outbound.control(Address::PLAIN, SegmentType::STATUS, END_FLAGS, &[]);
            shared.events.push_back(ClientEvent::Refused(api.reason));
            return Ok(Self::Closed);
        }
        let Call::Connect(body) = call else {
            return Err(PeerError::Answer(SegmentType::MQCONN_REPLY).into());
        };
        let mut connection_id = [0; 24];
        if let Some(fcno) = body.options.as_ref().and_then(|part| part.fcno.as_ref()) {
            connection_id.copy_from_slice(fcno.connection_id());
        }
        shared.events.push_back(ClientEvent::Connected {
            qmgr_name: body.q_mgr_name,
            connection_id,
            max_msg_length: agreed.max_msg_length,
        });
        Ok(Self::Connected { agreed })
    }
}

/// Both as they go out: the user in the code page of the conversation. The password is bytes, not text, except for a
/// queue manager in EBCDIC, where the same bytes would be another password.
fn credentials(user: &str, password: &Password, ccsid: Ccsid) -> (Bytes, Bytes) {
    let user_bytes = encode_text(user, ccsid).unwrap_or(user.as_bytes().into());
    let text = std::str::from_utf8(password.as_bytes()).ok().filter(|_| ccsid.is_ebcdic());
    let translated = text.and_then(|text| encode_text(text, ccsid));
    let password_bytes = translated.unwrap_or(password.as_bytes().into());
    (Bytes::copy_from_slice(&user_bytes), Bytes::copy_from_slice(&password_bytes))
}

/// Header only, without ERROR and CLOSE (mq-wire-observed-base.md 3.3).
fn is_consent(header: &SegmentHeader, body: &Bytes) -> bool {
    let refusing = ControlFlags1::ERROR | ControlFlags1::CLOSE_CHANNEL;
    body.is_empty() && !header.control_flags_1.intersects(refusing)
}

/// The header of an MQCONN reply as it should be: queue managers on z/OS answer in EBCDIC and big-endian whatever their
/// header says (mq-wire.md 0.3). Names are of characters that are ASCII, or else EBCDIC above 0x80; a failure may come
/// without a name, and then only its completion code tells the order.
fn connect_header(arrived: &Arrived) -> SegmentHeader {
    const COMP_CODE: Range<usize> = 4..8;
    let mut header = arrived.header;
    let name_in_ebcdic = arrived.body.get(ApiHeader::LENGTH).is_some_and(|first| *first >= 0x80);
    let code_in_big = matches!(arrived.body.get(COMP_CODE), Some([0, 0, 0, 1 | 2]));
    if name_in_ebcdic && !header.coding().ccsid.is_ebcdic() {
        header.ebcdic = true;
        header.order = ByteOrder::Big;
    }
    if code_in_big {
        header.order = ByteOrder::Big;
    }
    header
}

fn decode(arrived: &Arrived) -> Result<Body, ConnectionError> {
    decode_as(&arrived.header, arrived)
}

fn decode_as(header: &SegmentHeader, arrived: &Arrived) -> Result<Body, ConnectionError> {
    let segment = header.segment_type;
    // The level matters for CONAUTH_INFO alone, which queue managers do not send.
    Body::decode(header, &arrived.body, 0).map_err(|error| PeerError::Decode { segment, error }.into())
}

fn unexpected(segment: SegmentType, state: &'static str) -> ConnectionError {
    match segment.name() {
        Some(_) => PeerError::Unexpected { segment, state }.into(),
        None => PeerError::Unknown(segment).into(),
    }
}
