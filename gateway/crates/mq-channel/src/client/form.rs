//! Requests as bytes, and what their answers must look like.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use mq_wire::{
    ApiHeader, AttributesBody, Call, CloseBody, Coding, CompCode, ConnectBody, ConnectOptionsPart, Fcno,
    Field, Fopa, GetBody, GetOptions, InitialData, InquireBody, Mqgmo, Mqmd, Mqod, Mqpmo, Mqsts, MsgId,
    OpenBody, Persistence, Put1Body, PutBody, PutOptions, Reason, SegmentKind, SegmentType, SpiBody, SpiCall,
    SpiHeader, SpiReserve, SpiVerb, StatBody, Writer,
};

use super::{ClientConfig, ReservedIds, attributes};
use crate::error::{OwnerError, PeerError};
use crate::link::{Arrived, Message};
use crate::negotiate::Agreed;
use crate::reply::{AsyncPuts, OpenDefaults, PutObject, Reply};
use crate::request::Request;

/// What IBM's client asks for (mq-wire-observed-base.md 3.5): as many ids as there can be, in a reply of 44 bytes.
const RESERVE_IDS: u32 = 0xFF_FFFF;
const RESERVE_REPLY_BYTES: u32 = 44;

/// What was asked, as far as the answer depends on it.
#[derive(Debug)]
pub(crate) struct Form {
    segment_type: SegmentType,
    name: &'static str,
    /// Of an MQGET: the most data that may come.
    buffer_length: u32,
    /// Of an MQGET with wait: milliseconds, -1 for ever.
    wait: Option<i32>,
    /// Of an MQINQ: integers and characters that must come.
    attributes: (u32, u32),
}

/// Whether a put is answered, where both ends agreed that some are not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PutAnswer {
    Awaited,
    None,
}

impl PutAnswer {
    /// The options that say so. Without SPIREQUEST every put is answered, and what the caller said stays
    /// (mq-wire-observed-base.md 2.2, 4.2).
    fn say(self, agreed: Agreed, options: PutOptions) -> PutOptions {
        let both = PutOptions::ASYNC_RESPONSE | PutOptions::SYNC_RESPONSE;
        match self {
            _ if !agreed.spi => options,
            Self::Awaited => (options - both) | PutOptions::SYNC_RESPONSE,
            Self::None => (options - both) | PutOptions::ASYNC_RESPONSE,
        }
    }
}

/// Brings a request into the form of the agreed level. `room` is the most bytes that it may have as one segment.
pub(crate) fn ask(
    request: Request,
    agreed: Agreed,
    answer: PutAnswer,
    room: u32,
    out: Coding,
) -> Result<(Form, Message), OwnerError> {
    let name = request.name();
    let mut handle = 0;
    let mut buffer_length = 0;
    let mut wait = None;
    let mut attributes = (0, 0);
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
            let put = put_body(md, pmo, &payload, agreed, answer)?;
            (SegmentType::MQPUT, Call::Put(Box::new(put)))
        }
        Request::Put1 { od, md, pmo, data } => {
            handle = -1;
            payload = data;
            let put = put_body(md, pmo, &payload, agreed, answer)?;
            let od = without_records(*od);
            (SegmentType::MQPUT1, Call::Put1(Box::new(Put1Body { od, od_records: Bytes::new(), put })))
        }
        Request::Get { handle: object, md, gmo, buffer_length: room } => {
            handle = object;
            // More can never come, and the queue manager need not be asked to hold it ready.
            buffer_length = room.min(agreed.max_msg_length);
            wait = gmo.options.contains(GetOptions::WAIT).then_some(gmo.wait_interval);
            let gmo = with_status(gmo, |status| attributes::encode_byte(status, out));
            (SegmentType::MQGET, Call::Get(Box::new(GetBody { md, gmo, buffer_length })))
        }
        Request::Inquire { handle: object, selectors, int_count, char_length } => {
            handle = object;
            attributes = (int_count, char_length);
            let body = InquireBody { int_attr_count: int_count, char_attr_length: char_length, selectors };
            (SegmentType::MQINQ, Call::Inquire(body))
        }
        Request::Set { handle: object, selectors, ints, chars } => {
            handle = object;
            let char_attrs = attributes::encode(&chars, out);
            let body = AttributesBody { selectors, int_attrs: ints, char_attrs };
            (SegmentType::MQSET, Call::Attributes(body))
        }
        Request::Commit => (SegmentType::MQCMIT, Call::Empty),
        Request::Back => (SegmentType::MQBACK, Call::Empty),
        Request::Disconnect => (SegmentType::MQDISC, Call::Empty),
        Request::Reserve => {
            let header =
                SpiHeader { verb: SpiVerb::RESERVE, version: 1, max_reply_size: RESERVE_REPLY_BYTES };
            let wanted =
                SpiReserve::Request { id_length: <MsgId as Field>::LENGTH as u32, wanted: RESERVE_IDS };
            let body = SpiBody { header, call: SpiCall::Reserve(wanted) };
            (SegmentType::SPI, Call::Spi(Box::new(body)))
        }
        Request::Stat { kind } => {
            let body = StatBody { stat_type: kind, sts: Mqsts::default() };
            (SegmentType::MQSTAT, Call::Stat(Box::new(body)))
        }
    };
    let form = Form { segment_type, name, buffer_length, wait, attributes };
    let length = payload.len();
    let (message, bytes) = message(segment_type, handle, &call, payload, buffer_length, out);
    // Only where the queue manager cannot join segments; then nothing but data is ever too long.
    let over = bytes.saturating_sub(room as usize);
    if over > 0 {
        let max = u32::try_from(length.saturating_sub(over)).unwrap_or_default();
        return Err(OwnerError::MessageLength { length, max });
    }
    Ok((form, message))
}

/// MQCONN in the form of the agreed level (mq-wire-observed-base.md 2.2).
pub(crate) fn connect(config: &ClientConfig, agreed: Agreed, id: &InitialData, out: Coding) -> Message {
    let fcno = match agreed.fap_level {
        ..=6 => None,
        7..=11 => Some((1, 0)),
        _ => Some((2, Fcno::REST_LENGTHS[0])),
    };
    let mut start = BytesMut::with_capacity(60);
    let writer = &mut Writer::new(&mut start, out);
    writer.field(&id.product_id);
    writer.field(&id.q_mgr_id);
    let mut area = [0; 128];
    area[..start.len()].copy_from_slice(&start);
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
    message(SegmentType::MQCONN, 0, &Call::Connect(Box::new(body)), Bytes::new(), 0, out).0
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

    /// The type of its answer.
    pub(crate) fn answer_type(&self) -> SegmentType {
        self.segment_type.reply().unwrap_or(self.segment_type)
    }

    /// Whether a segment of this type answers it.
    pub(crate) fn is_answered_by(&self, segment_type: SegmentType) -> bool {
        self.segment_type.reply() == Some(segment_type)
    }

    /// The ids that were reserved.
    pub(crate) fn reserved(&self, spi: &SpiBody) -> Result<ReservedIds, PeerError> {
        let SpiCall::Reserve(SpiReserve::Reply { granted, counter_offset, base }) = spi.call else {
            return Err(PeerError::Answer(SegmentType::SPI_REPLY));
        };
        // IBM's client refuses both of these (mq-wire-observed-base.md 3.5).
        let counter_offset = counter_offset as usize;
        if granted == 0 || !(1..<MsgId as Field>::LENGTH).contains(&counter_offset) {
            return Err(PeerError::Answer(SegmentType::SPI_REPLY));
        }
        Ok(ReservedIds { base, granted, counter_offset })
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
                let coding = arrived.header.coding();
                let gmo = with_status(body.gmo, |status| attributes::decode_byte(status, coding));
                Reply::Get { cc, reason, md: body.md, gmo, total_length: body.data_length, data }
            }
            (SegmentType::MQINQ, Call::Attributes(body)) => {
                let (ints, chars) = self.attributes;
                if body.int_attrs.len() != ints as usize || body.char_attrs.len() != chars as usize {
                    let state = "with other lengths of the attributes than were asked for";
                    return Err(PeerError::Unexpected { segment: SegmentType::MQINQ_REPLY, state });
                }
                let chars = attributes::decode(&body.char_attrs, arrived.header.coding());
                Reply::Inquire { cc, reason, ints: body.int_attrs, chars }
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

fn put_body(
    md: Mqmd,
    pmo: Mqpmo,
    data: &Bytes,
    agreed: Agreed,
    answer: PutAnswer,
) -> Result<PutBody, OwnerError> {
    if data.len() > agreed.max_msg_length as usize {
        return Err(OwnerError::MessageLength { length: data.len(), max: agreed.max_msg_length });
    }
    let pmo = Mqpmo { recs_present: 0, options: answer.say(agreed, pmo.options), ..pmo };
    Ok(PutBody { md, pmo, records: Bytes::new(), data: data.clone() })
}

/// The status bytes of MQGMO are characters (mq-wire.md 5.5), which mq-wire holds as they are on the wire.
fn with_status(gmo: Mqgmo, translate: impl Fn(u8) -> u8) -> Mqgmo {
    // Version 1 has none.
    if gmo.version < 2 {
        return gmo;
    }
    Mqgmo {
        group_status: translate(gmo.group_status),
        segment_status: translate(gmo.segment_status),
        segmentation: translate(gmo.segmentation),
        reserved_1: translate(gmo.reserved_1),
        ..gmo
    }
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

/// A call, and the bytes that it would have as one segment.
fn message(
    segment_type: SegmentType,
    object_handle: i32,
    call: &Call,
    data: Bytes,
    reply_room: u32,
    out: Coding,
) -> (Message, usize) {
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
    let bytes = SegmentKind::Tsh.header_length() + ApiHeader::LENGTH + body.len() + data.len();
    (Message::new(segment_type, api, &body, data, reply_room, out), bytes)
}
