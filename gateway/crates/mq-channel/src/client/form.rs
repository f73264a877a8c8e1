//! Requests as bytes, and what their answers must look like.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use mq_wire::{
    ApiHeader, AttributesBody, Call, CloseBody, Coding, CompCode, ConnectBody, ConnectOptionsPart, Fcno,
    Fopa, GetBody, GetOptions, InitialData, InquireBody, Mqmd, Mqod, Mqpmo, Mqsts, OpenBody, Persistence,
    Put1Body, PutBody, Reason, SegmentType, StatBody, Writer,
};

use super::ClientConfig;
use crate::error::{OwnerError, PeerError};
use crate::link::{Arrived, Message};
use crate::negotiate::Agreed;
use crate::reply::{AsyncPuts, OpenDefaults, PutObject, Reply};
use crate::request::Request;

/// What was asked, as far as the answer depends on it.
#[derive(Debug)]
pub(crate) struct Form {
    segment_type: SegmentType,
    name: &'static str,
    /// Of an MQGET: the most data that may come.
    buffer_length: u32,
    /// Of an MQGET with wait: milliseconds, -1 for ever.
    wait: Option<i32>,
}

/// Brings a request into the form of the agreed level.
pub(crate) fn ask(request: Request, agreed: Agreed, out: Coding) -> Result<(Form, Message), OwnerError> {
    let name = request.name();
    let mut handle = 0;
    let mut buffer_length = 0;
    let mut wait = None;
    let mut payload = Bytes::new();
    let (segment_type, call) = match request {
        Request::Connect(_) => {
            return Err(OwnerError::CallNotPossible("that the connection makes itself: MQCONN"));
        }
        Request::Open { od, options } => {
            // FOPA came with FAP 9 (mq-wire-observed-base.md 2.2).
            let fopa = (agreed.fap_level >= 9).then(Fopa::short);
            let od = without_records(*od);
            (SegmentType::MQOPEN, Call::Open(Box::new(OpenBody { od, options, fopa, ..OpenBody::default() })))
        }
        Request::Close { handle: object, options } => {
            handle = object;
            (SegmentType::MQCLOSE, Call::Close(CloseBody { options }))
        }
        Request::Put { handle: object, md, pmo, data } => {
            handle = object;
            payload = data;
            let put = put_body(md, pmo, &payload, agreed)?;
            (SegmentType::MQPUT, Call::Put(Box::new(put)))
        }
        Request::Put1 { od, md, pmo, data } => {
            handle = -1;
            payload = data;
            let put = put_body(md, pmo, &payload, agreed)?;
            let od = without_records(*od);
            (SegmentType::MQPUT1, Call::Put1(Box::new(Put1Body { od, od_records: Bytes::new(), put })))
        }
        Request::Get { handle: object, md, gmo, buffer_length: room } => {
            handle = object;
            // More can never come, and the queue manager need not be asked to hold it ready.
            buffer_length = room.min(agreed.max_msg_length);
            wait = gmo.options.contains(GetOptions::WAIT).then_some(gmo.wait_interval);
            (SegmentType::MQGET, Call::Get(Box::new(GetBody { md, gmo, buffer_length })))
        }
        Request::Inquire { handle: object, selectors, int_count, char_length } => {
            handle = object;
            let body = InquireBody { int_attr_count: int_count, char_attr_length: char_length, selectors };
            (SegmentType::MQINQ, Call::Inquire(body))
        }
        Request::Set { handle: object, selectors, ints, chars } => {
            handle = object;
            let body = AttributesBody { selectors, int_attrs: ints, char_attrs: chars.into() };
            (SegmentType::MQSET, Call::Attributes(body))
        }
        Request::Commit => (SegmentType::MQCMIT, Call::Empty),
        Request::Back => (SegmentType::MQBACK, Call::Empty),
        Request::Disconnect => (SegmentType::MQDISC, Call::Empty),
        Request::Reserve => {
            return Err(OwnerError::CallNotPossible("that this end does not offer: SPI RESERVE"));
        }
        Request::Stat { kind } => {
            let body = StatBody { stat_type: kind, sts: Mqsts::default() };
            (SegmentType::MQSTAT, Call::Stat(Box::new(body)))
        }
    };
    let form = Form { segment_type, name, buffer_length, wait };
    Ok((form, message(segment_type, handle, &call, payload, buffer_length, out)))
}

/// MQCONN in the form of the agreed level (mq-wire-observed-base.md 2.2).
pub(crate) fn connect(config: &ClientConfig, agreed: Agreed, id: &InitialData, out: Coding) -> Message {
    let fcno = match agreed.fap_level {
        ..=6 => None,
        7..=11 => Some((1, 0)),
        _ => Some((2, Fcno::REST_LENGTHS[0])),
    };
    let mut area = [0; 128];
    area[..12].copy_from_slice(id.product_id.as_bytes());
    area[12..60].copy_from_slice(id.q_mgr_id.as_bytes());
    let body = ConnectBody {
        q_mgr_name: config.qmgr_name,
        appl_name: config.appl_name,
        appl_type: config.appl_type,
        options: Some(ConnectOptionsPart {
            // MQCONNX; 7 from FAP 12 on.
            options: if agreed.fap_level >= 12 { 7 } else { 3 },
            fcno: fcno.map(|(version, rest)| Fcno {
                version,
                flags: 0,
                area,
                rest: Bytes::from(vec![0; rest]),
            }),
            ..ConnectOptionsPart::default()
        }),
        ..ConnectBody::default()
    };
    message(SegmentType::MQCONN, 0, &Call::Connect(Box::new(body)), Bytes::new(), 0, out)
}

impl Form {
    /// The call's name.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// Whether it is MQDISC.
    pub(crate) fn is_disconnect(&self) -> bool {
        self.segment_type == SegmentType::MQDISC
    }

    /// Whether it is an MQGET that waits.
    pub(crate) fn waits(&self) -> bool {
        self.wait.is_some()
    }

    /// How long the answer may take: not at all limited when MQGET waits for ever.
    pub(crate) fn patience(&self, reply_timeout: Duration) -> Option<Duration> {
        match self.wait {
            None => Some(reply_timeout),
            Some(milliseconds) => {
                let milliseconds = u64::try_from(milliseconds).ok()?;
                Some(reply_timeout + Duration::from_millis(milliseconds))
            }
        }
    }

    /// Whether a segment of this type answers it.
    pub(crate) fn is_answered_by(&self, segment_type: SegmentType) -> bool {
        self.segment_type.reply() == Some(segment_type)
    }

    /// The reply that has come. A failure is told by completion code and reason alone, since nobody knows how far
    /// queue managers cut the rest (mq-wire.md 4.1).
    pub(crate) fn reply(self, arrived: &Arrived, api: ApiHeader, body: Call) -> Result<Reply, PeerError> {
        let (cc, reason) = (api.comp_code, api.reason);
        if cc == CompCode::FAILED {
            return Ok(Reply::Plain { cc, reason });
        }
        Ok(match (self.segment_type, body) {
            (SegmentType::MQOPEN, Call::Open(body)) => Reply::Open {
                cc,
                reason,
                handle: api.object_handle,
                defaults: body.fopa.as_ref().map(defaults).unwrap_or_default(),
                od: Box::new(body.od),
            },
            (SegmentType::MQPUT, Call::PutReply(body)) => {
                Reply::Put { cc, reason, md: body.md, pmo: body.pmo }
            }
            (SegmentType::MQPUT1, Call::Put1Reply(body)) => {
                Reply::Put1 { cc, reason, od: Box::new(body.od), md: body.put.md, pmo: body.put.pmo }
            }
            (SegmentType::MQGET, Call::GetReply(body)) => {
                let room = self.buffer_length as usize;
                let cut = matches!(reason, Reason::TRUNCATED_MSG_ACCEPTED | Reason::TRUNCATED_MSG_FAILED);
                let mut data = body.data;
                if data.len() > room {
                    if !cut {
                        return Err(PeerError::Answer(SegmentType::MQGET_REPLY));
                    }
                    data.truncate(room);
                }
                let data = arrived.keep(data);
                Reply::Get { cc, reason, md: body.md, gmo: body.gmo, total_length: body.data_length, data }
            }
            (SegmentType::MQINQ, Call::Attributes(body)) => {
                Reply::Inquire { cc, reason, ints: body.int_attrs, chars: body.char_attrs.to_vec() }
            }
            (SegmentType::MQSTAT, Call::Stat(body)) => Reply::Stat {
                cc,
                reason,
                puts: AsyncPuts {
                    cc: body.sts.comp_code,
                    reason: body.sts.reason,
                    successes: body.sts.put_success_count,
                    warnings: body.sts.put_warning_count,
                    failures: body.sts.put_failure_count,
                    object: PutObject {
                        object_type: body.sts.object_type,
                        name: body.sts.object_name,
                        q_mgr_name: body.sts.object_q_mgr_name,
                        resolved_name: body.sts.resolved_object_name,
                        resolved_q_mgr_name: body.sts.resolved_q_mgr_name,
                    },
                },
            },
            (
                SegmentType::MQCLOSE
                | SegmentType::MQSET
                | SegmentType::MQCMIT
                | SegmentType::MQBACK
                | SegmentType::MQDISC,
                _,
            ) => Reply::Plain { cc, reason },
            _ => return Err(PeerError::Answer(arrived.header.segment_type)),
        })
    }
}

fn put_body(md: Mqmd, pmo: Mqpmo, data: &Bytes, agreed: Agreed) -> Result<PutBody, OwnerError> {
    if data.len() > agreed.max_msg_length as usize {
        return Err(OwnerError::MessageLength { length: data.len(), max: agreed.max_msg_length });
    }
    let pmo = Mqpmo { recs_present: 0, ..pmo };
    Ok(PutBody { md, pmo, records: Bytes::new(), data: data.clone() })
}

fn without_records(od: Mqod) -> Mqod {
    Mqod { recs_present: 0, ..od }
}

fn defaults(fopa: &Fopa) -> OpenDefaults {
    OpenDefaults {
        persistence: Persistence(fopa.def_persistence),
        put_response: fopa.def_put_response,
        read_ahead: fopa.def_read_ahead,
        property_control: fopa.property_control,
    }
}

fn message(
    segment_type: SegmentType,
    object_handle: i32,
    call: &Call,
    data: Bytes,
    reply_room: u32,
    out: Coding,
) -> Message {
    let mut body = BytesMut::new();
    let writer = &mut Writer::new(&mut body, out);
    // The data of a put is sent from where it lies, behind its length.
    match call {
        Call::Put(put) => put.encode_before_data(writer),
        Call::Put1(put1) => {
            put1.od.encode(writer);
            put1.put.encode_before_data(writer);
        }
        other => other.encode(writer),
    }
    let api = ApiHeader { object_handle, ..ApiHeader::default() };
    Message::new(segment_type, api, &body, data, reply_room, out)
}
