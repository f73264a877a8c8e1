//! The answers of the owner in the form in which the client asked.

use bytes::{Bytes, BytesMut};
use mq_wire::{
    ApiHeader, AttributesBody, Call, Coding, CompCode, Fopa, GetReplyBody, InquireBody, Mqgmo, Mqmd, Mqod,
    Mqpmo, Mqsts, MsgId, OpenBody, Put1ReplyBody, PutReplyBody, Reason, SegmentType, SpiBody, SpiCall,
    SpiCapability, SpiHeader, SpiOpen, SpiQuery, SpiReserve, SpiVerb, StatBody, Writer,
};

use super::{Form, FormBody};
use crate::error::OwnerError;
use crate::link::Message;
use crate::reply::{AsyncPuts, OpenDefaults, Reply};

impl Form {
    /// The owner's reply in this form.
    pub(crate) fn answer(self, reply: Reply, out: Coding) -> Result<Message, OwnerError> {
        let wrong = OwnerError::WrongReply(self.name);
        let (cc, reason) = reply.outcome();
        let mut handle = self.handle;
        let mut payload = Bytes::new();
        let call = match (self.body, reply) {
            (FormBody::SpiReserve { header, wanted }, Reply::Reserved { base, .. }) => {
                reserved(header, wanted, base)
            }
            (FormBody::Connect(body), Reply::Connect { qmgr_name, connection_id, .. }) => {
                Call::Connect(Box::new(body.reply(qmgr_name, connection_id)))
            }
            (FormBody::Open(body), Reply::Open { handle: opened, od, defaults, .. }) => {
                handle = opened;
                open_reply(*body, *od, defaults)
            }
            (FormBody::SpiOpen(header, open), Reply::Open { handle: opened, od, defaults, .. }) => {
                handle = opened;
                spi_open_reply(header, *open, *od, defaults)
            }
            (FormBody::Put { md: md_version, pmo: pmo_version, data_length }, Reply::Put { md, pmo, .. }) => {
                Call::PutReply(Box::new(put_reply(md, md_version, pmo, pmo_version, data_length)))
            }
            (
                FormBody::Put1 { od: asked, md: md_version, pmo: pmo_version, data_length },
                Reply::Put1 { od, md, pmo, .. },
            ) => Call::Put1Reply(Box::new(Put1ReplyBody {
                od: od_like(*od, &asked),
                od_records: Bytes::new(),
                put: put_reply(md, md_version, pmo, pmo_version, data_length),
            })),
            (
                FormBody::Get { md: md_version, gmo: gmo_version, buffer_length, .. },
                Reply::Get { md, gmo, total_length, data, .. },
            ) => {
                if data.len() > buffer_length as usize {
                    return Err(OwnerError::TooMuchData { length: data.len(), buffer_length });
                }
                payload = data;
                Call::GetReply(Box::new(GetReplyBody {
                    md: Mqmd { version: md_version, ..md },
                    gmo: gmo_out(gmo, gmo_version, out),
                    data_length: total_length,
                    data: Bytes::new(),
                }))
            }
            (
                FormBody::Get { unlocks: Some(asked), .. },
                Reply::Plain { cc: CompCode::OK | CompCode::WARNING, .. },
            ) => {
                let (md, gmo) = *asked;
                Call::GetReply(Box::new(GetReplyBody { md, gmo, data_length: 0, data: Bytes::new() }))
            }
            (FormBody::Inquire(asked), Reply::Inquire { ints, chars, .. }) => {
                inquire_reply(asked, ints, chars, out)
            }
            (FormBody::Stat(body), Reply::Stat { puts, .. }) => stat_reply(*body, &puts),
            (FormBody::Close, Reply::Plain { cc, .. }) => {
                if cc != CompCode::FAILED {
                    handle = -1;
                }
                Call::Empty
            }
            (FormBody::Plain | FormBody::Disconnect, Reply::Plain { .. }) => Call::Empty,
            (body, Reply::Plain { cc: CompCode::FAILED, reason }) => {
                return Ok(Self { body, ..self }.failed(reason, out));
            }
            _ => return Err(wrong),
        };
        let body = encode(&call, out);
        Ok(message_with(self.segment_type, cc, reason, handle, &body, payload, out))
    }

    /// A failure: the API header alone, but a failed MQOPEN with its whole body (else the client says 2195).
    pub(crate) fn failed(self, reason: Reason, out: Coding) -> Message {
        let call = match self.body {
            FormBody::Open(body) => {
                let od = body.od.clone();
                open_reply(*body, od, OpenDefaults::default())
            }
            FormBody::SpiOpen(header, open) => {
                let od = open.od.clone();
                spi_open_reply(header, *open, od, OpenDefaults::default())
            }
            _ => Call::Empty,
        };
        message(self.segment_type, reason, self.handle, &encode(&call, out), out)
    }

    /// The answer to SPI QUERY.
    pub(super) fn capabilities(self, out: Coding) -> Message {
        let body = match self.body {
            FormBody::SpiQuery(header, query) => encode(&spi_query(header, &query), out),
            _ => Bytes::new(),
        };
        message_with(self.segment_type, CompCode::OK, Reason::NONE, self.handle, &body, Bytes::new(), out)
    }

    /// The answer to MQSTAT from what was counted.
    pub(crate) fn counted(self, puts: &AsyncPuts, out: Coding) -> Message {
        let call = match self.body {
            FormBody::Stat(body) => stat_reply(*body, puts),
            _ => Call::Empty,
        };
        let body = encode(&call, out);
        message_with(self.segment_type, CompCode::OK, Reason::NONE, self.handle, &body, Bytes::new(), out)
    }
}

/// A failure that is no more than an API header.
pub(crate) fn refused(segment_type: SegmentType, handle: i32, reason: Reason, out: Coding) -> Message {
    message(segment_type, reason, handle, &[], out)
}

/// A failure with this body.
pub(super) fn message(
    segment_type: SegmentType,
    reason: Reason,
    object_handle: i32,
    body: &[u8],
    out: Coding,
) -> Message {
    message_with(segment_type, CompCode::FAILED, reason, object_handle, body, Bytes::new(), out)
}

fn message_with(
    segment_type: SegmentType,
    comp_code: CompCode,
    reason: Reason,
    object_handle: i32,
    body: &[u8],
    data: Bytes,
    out: Coding,
) -> Message {
    // Every call that comes here has a reply; the type itself would at least be refused by the client.
    let segment_type = segment_type.reply().unwrap_or(segment_type);
    let api = ApiHeader { reply_length: 0, comp_code, reason, object_handle };
    Message::new(segment_type, api, body, data, 0, out)
}

fn encode(call: &Call, out: Coding) -> Bytes {
    let mut body = BytesMut::new();
    call.encode(&mut Writer::new(&mut body, out));
    body.freeze()
}

/// The owner's descriptor in the version that was asked; the strings' places are the client's business.
fn od_like(od: Mqod, asked: &Mqod) -> Mqod {
    Mqod {
        version: asked.version,
        object_string: asked.object_string,
        selection_string: asked.selection_string,
        res_object_string: asked.res_object_string,
        ..od
    }
}

fn open_reply(body: OpenBody, od: Mqod, defaults: OpenDefaults) -> Call {
    // Same length, never echoed: what the client's numbers mean in a reply is another thing (mq-wire-observed.md 2).
    let fopa = body.fopa.map(|asked| Fopa {
        def_persistence: defaults.persistence.0,
        def_put_response: defaults.put_response,
        def_read_ahead: defaults.read_ahead,
        property_control: defaults.property_control,
        struc_length: asked.length as u32,
        policy_offset: asked.length as u32,
        policy_length: 0,
        protection_error_queue: Default::default(),
        tail: Bytes::new(),
        ..asked
    });
    Call::Open(Box::new(OpenBody {
        od: od_like(od, &body.od),
        records: Bytes::new(),
        options: body.options,
        fopa,
        tail: Bytes::new(),
    }))
}

fn spi_open_reply(header: SpiHeader, asked: SpiOpen, od: Mqod, defaults: OpenDefaults) -> Call {
    let lpoo = mq_wire::Lpoo {
        def_persistence: defaults.persistence.0,
        def_put_response: defaults.put_response,
        def_read_ahead: defaults.read_ahead,
        property_control: defaults.property_control,
        // No policy block follows (mq-wire-observed.md 2).
        policy_offset: 0,
        policy_length: 0,
        protection_error_queue: Default::default(),
        ..asked.lpoo
    };
    let open = SpiOpen { reply: true, lpoo, od: od_like(od, &asked.od), tail: Bytes::new(), ..asked };
    Call::Spi(Box::new(SpiBody { header, call: SpiCall::Open(Box::new(open)) }))
}

/// The table of a 9.1.2 queue manager, which IBM's clients were tried with: entries left out change nothing, they ask
/// all the same (mq-wire.md 4.12.2, mq-wire-observed-base.md 3.5). Positions 9 and 10 are empty.
fn spi_query(header: SpiHeader, asked: &SpiQuery) -> Call {
    const VERSIONS: [(u32, u32, u32, u32); 10] = [
        (1, 2, 2, 2),
        (2, 1, 3, 1),
        (3, 2, 2, 3),
        (4, 1, 1, 1),
        (5, 1, 1, 1),
        (6, 1, 1, 1),
        (7, 1, 1, 1),
        (8, 1, 1, 1),
        (11, 1, 1, 1),
        (12, 1, 2, 2),
    ];
    let mut capabilities = vec![SpiCapability::default(); 12];
    for (verb, in_out_version_max, in_version_max, out_version_max) in VERSIONS {
        capabilities[verb as usize - 1] = SpiCapability {
            verb: SpiVerb(verb),
            in_out_version_max,
            in_version_max,
            out_version_max,
            flags: 1,
        };
    }
    let query = SpiQuery {
        in_out_version: asked.in_out_version,
        version: asked.version,
        capabilities: Some(capabilities),
    };
    Call::Spi(Box::new(SpiBody { header, call: SpiCall::Query(query) }))
}

fn put_reply(md: Mqmd, md_version: i32, pmo: Mqpmo, pmo_version: i32, data_length: u32) -> PutReplyBody {
    PutReplyBody {
        md: Mqmd { version: md_version, ..md },
        pmo: Mqpmo { version: pmo_version, recs_present: 0, ..pmo },
        records: Bytes::new(),
        data_length,
    }
}

/// The options in the version that was asked. The states of group and segment are characters, though single ones.
fn gmo_out(mut gmo: Mqgmo, version: i32, out: Coding) -> Mqgmo {
    gmo.version = version;
    for state in [&mut gmo.group_status, &mut gmo.segment_status, &mut gmo.segmentation] {
        *state = super::chars_out(vec![*state], out).first().copied().unwrap_or(*state);
    }
    gmo
}

/// As many integers and characters as the request says, even if fewer were asked by selectors
/// (mq-wire-observed-base.md 4.1).
fn inquire_reply(asked: InquireBody, mut ints: Vec<i32>, mut chars: Vec<u8>, out: Coding) -> Call {
    ints.resize(asked.int_attr_count as usize, 0);
    chars.resize(asked.char_attr_length as usize, b' ');
    let char_attrs = super::chars_out(chars, out).into();
    Call::Attributes(AttributesBody { selectors: asked.selectors, int_attrs: ints, char_attrs })
}

/// Ids that a client may make of one base: it counts in the last two of its 24 bytes, from 0, the lower byte first.
/// They are a signed count to some.
const RESERVED_IDS: u32 = 0x7FFF;

/// Where the client counts, the first byte being 1: its lower byte is the last but one (mq-wire-observed-jms.md 5.1).
const RESERVED_COUNTER: u32 = 23;

fn reserved(header: SpiHeader, wanted: u32, base: MsgId) -> Call {
    let granted = wanted.clamp(1, RESERVED_IDS);
    let reserve = SpiReserve::Reply { granted, counter_offset: RESERVED_COUNTER, base };
    Call::Spi(Box::new(SpiBody { header, call: SpiCall::Reserve(reserve) }))
}

fn stat_reply(body: StatBody, puts: &AsyncPuts) -> Call {
    Call::Stat(Box::new(StatBody {
        sts: Mqsts {
            comp_code: puts.cc,
            reason: puts.reason,
            put_success_count: puts.successes,
            put_warning_count: puts.warnings,
            put_failure_count: puts.failures,
            object_type: puts.object.object_type,
            object_name: puts.object.name,
            object_q_mgr_name: puts.object.q_mgr_name,
            resolved_object_name: puts.object.resolved_name,
            resolved_q_mgr_name: puts.object.resolved_q_mgr_name,
            ..body.sts
        },
        ..body
    }))
}
