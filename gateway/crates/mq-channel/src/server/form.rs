//! The form in which a client asked, so that the answer comes in the same: MQOPEN or SPI OPEN, the versions of
//! structures, the length of LPOO and FOPA (mq-wire-observed.md 2, mq-wire-observed-base.md 4.1).

use bytes::{Bytes, BytesMut};
use mq_wire::{
    ApiHeader, AttributesBody, Call, Coding, CompCode, ConnectBody, DecodeError, DecodeErrorKind, Fopa,
    GetReplyBody, InquireBody, Mqgmo, Mqmd, Mqod, Mqpmo, Mqsts, OpenBody, Put1ReplyBody, PutReplyBody,
    Reason, SegmentType, SpiBody, SpiCall, SpiCapability, SpiHeader, SpiOpen, SpiQuery, SpiVerb, StatBody,
    Writer,
};

use crate::error::{OwnerError, PeerError};
use crate::link::{Arrived, Message};
use crate::reply::{OpenDefaults, Reply};
use crate::request::{Connect, Request};

/// What a call turned out to be.
#[expect(clippy::large_enum_variant, reason = "moved once or twice; a box would be one allocation a call")]
#[derive(Debug)]
pub(crate) enum Asked {
    /// For the owner, who the client is still left out of MQCONN.
    Owner(Request, Form),
    /// For nobody but the machine: this is the answer.
    Answered(Message),
}

/// How a call was asked.
#[derive(Debug)]
pub(crate) struct Form {
    segment_type: SegmentType,
    handle: i32,
    name: &'static str,
    body: FormBody,
}

#[derive(Debug)]
enum FormBody {
    Connect(Box<ConnectBody>),
    Open(Box<OpenBody>),
    SpiOpen(SpiHeader, Box<SpiOpen>),
    Put {
        md: i32,
        pmo: i32,
        data_length: u32,
    },
    Put1 {
        od: Box<Mqod>,
        md: i32,
        pmo: i32,
        data_length: u32,
    },
    Get {
        md: i32,
        gmo: i32,
        buffer_length: u32,
    },
    Inquire(InquireBody),
    Stat(Box<StatBody>),
    Close,
    Disconnect,
    /// MQSET, MQCMIT, MQBACK: nothing but completion code and reason.
    Plain,
}

/// Reads a call.
pub(crate) fn ask(arrived: &Arrived, api: ApiHeader, call: Call, out: Coding) -> Result<Asked, PeerError> {
    let segment_type = arrived.header.segment_type;
    let handle = api.object_handle;
    let refused = |reason| Asked::Answered(message(segment_type, CompCode::FAILED, reason, handle, &[], out));
    let (request, body) = match call {
        Call::Connect(body) => {
            let connect = Connect {
                qmgr_name: body.q_mgr_name,
                appl_name: body.appl_name,
                appl_type: body.appl_type,
                accounting_token: body.accounting_token,
                ..Connect::default()
            };
            (Request::Connect(Box::new(connect)), FormBody::Connect(body))
        }
        Call::Open(body) if body.od.recs_present_or_zero() != 0 => {
            let form = Form { segment_type, handle, name: "MQOPEN", body: FormBody::Open(body) };
            return Ok(Asked::Answered(form.failed(CompCode::FAILED, Reason::RECS_PRESENT_ERROR, out)));
        }
        Call::Open(body) => {
            let request = Request::Open { od: Box::new(body.od.clone()), options: body.options };
            (request, FormBody::Open(body))
        }
        Call::Close(body) => (Request::Close { handle, options: body.options }, FormBody::Close),
        Call::Put(body) if body.pmo.recs_present_or_zero() != 0 => {
            return Ok(refused(Reason::RECS_PRESENT_ERROR));
        }
        Call::Put(body) => {
            let form = FormBody::Put {
                md: body.md.version,
                pmo: body.pmo.version,
                data_length: body.data.len() as u32,
            };
            let data = arrived.keep(body.data);
            (Request::Put { handle, md: body.md, pmo: body.pmo, data }, form)
        }
        Call::Put1(body)
            if body.od.recs_present_or_zero() != 0 || body.put.pmo.recs_present_or_zero() != 0 =>
        {
            return Ok(refused(Reason::RECS_PRESENT_ERROR));
        }
        Call::Put1(body) => {
            let put = body.put;
            let form = FormBody::Put1 {
                od: Box::new(body.od.clone()),
                md: put.md.version,
                pmo: put.pmo.version,
                data_length: put.data.len() as u32,
            };
            let data = arrived.keep(put.data);
            (Request::Put1 { od: Box::new(body.od), md: put.md, pmo: put.pmo, data }, form)
        }
        Call::Get(body) => {
            let form = FormBody::Get {
                md: body.md.version,
                gmo: body.gmo.version,
                buffer_length: body.buffer_length,
            };
            (Request::Get { handle, md: body.md, gmo: body.gmo, buffer_length: body.buffer_length }, form)
        }
        Call::Inquire(body)
            if body.int_attr_count > ATTRIBUTES_MAX || body.char_attr_length > ATTRIBUTES_MAX =>
        {
            return Ok(refused(Reason::SELECTOR_COUNT_ERROR));
        }
        Call::Inquire(body) => {
            let request = Request::Inquire {
                handle,
                selectors: body.selectors.clone(),
                int_count: body.int_attr_count,
                char_length: body.char_attr_length,
            };
            (request, FormBody::Inquire(body))
        }
        Call::Attributes(AttributesBody { selectors, int_attrs, char_attrs }) => {
            let chars = char_attrs.to_vec();
            (Request::Set { handle, selectors, ints: int_attrs, chars }, FormBody::Plain)
        }
        Call::Stat(body) => (Request::Stat { kind: body.stat_type }, FormBody::Stat(body)),
        Call::Spi(body) => match body.call {
            SpiCall::Open(open) => {
                let request =
                    Request::Open { od: Box::new(open.od.clone()), options: open.lpoo.open_options };
                (request, FormBody::SpiOpen(body.header, open))
            }
            SpiCall::Query(query) => {
                let body = encode(&spi_query(body.header, &query), out);
                return Ok(Asked::Answered(message(
                    segment_type,
                    CompCode::OK,
                    Reason::NONE,
                    handle,
                    &body,
                    out,
                )));
            }
            _ => return Ok(refused(Reason::FUNCTION_NOT_SUPPORTED)),
        },
        Call::Empty => match segment_type {
            SegmentType::MQCMIT => (Request::Commit, FormBody::Plain),
            SegmentType::MQBACK => (Request::Back, FormBody::Plain),
            SegmentType::MQDISC => (Request::Disconnect, FormBody::Disconnect),
            _ => return Err(PeerError::Unknown(segment_type)),
        },
        // MQSUB and MQSUBRQ (mq-wire.md 4.11); a type without a name has no reply that anybody would know.
        Call::Opaque(_) if segment_type.name().is_some() => {
            return Ok(refused(Reason::FUNCTION_NOT_SUPPORTED));
        }
        _ => return Err(PeerError::Unknown(segment_type)),
    };
    let name = request.name();
    Ok(Asked::Owner(request, Form { segment_type, handle, name, body }))
}

/// The reason for a structure that the caller of MQI has to answer for: one that is none, or of a version that does
/// not exist. What is cut off is the client's fault and has no reason.
pub(crate) fn reason_of(error: &DecodeError) -> Option<Reason> {
    if !matches!(error.kind, DecodeErrorKind::StrucId { .. } | DecodeErrorKind::Version { .. }) {
        return None;
    }
    match error.structure {
        Mqod::TITLE => Some(Reason::OD_ERROR),
        Mqmd::TITLE => Some(Reason::MD_ERROR),
        Mqpmo::TITLE => Some(Reason::PMO_ERROR),
        Mqgmo::TITLE => Some(Reason::GMO_ERROR),
        _ => None,
    }
}

/// A failure that is no more than an API header.
pub(crate) fn refused(segment_type: SegmentType, reason: Reason, out: Coding) -> Message {
    message(segment_type, CompCode::FAILED, reason, 0, &[], out)
}

impl Form {
    /// Whether it is MQCONN.
    pub(crate) fn is_connect(&self) -> bool {
        matches!(self.body, FormBody::Connect(_))
    }

    /// Whether it is MQDISC.
    pub(crate) fn is_disconnect(&self) -> bool {
        matches!(self.body, FormBody::Disconnect)
    }

    /// The owner's reply in this form.
    pub(crate) fn answer(self, reply: Reply, out: Coding) -> Result<Message, OwnerError> {
        let wrong = OwnerError::WrongReply(self.name);
        let (cc, reason) = reply.outcome();
        let mut handle = self.handle;
        let mut payload = Bytes::new();
        let call = match (self.body, reply) {
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
                FormBody::Get { md: md_version, gmo: gmo_version, buffer_length },
                Reply::Get { md, gmo, total_length, data, .. },
            ) => {
                if data.len() > buffer_length as usize {
                    return Err(OwnerError::TooMuchData { length: data.len(), buffer_length });
                }
                payload = data;
                Call::GetReply(Box::new(GetReplyBody {
                    md: Mqmd { version: md_version, ..md },
                    gmo: Mqgmo { version: gmo_version, ..gmo },
                    data_length: total_length,
                    data: Bytes::new(),
                }))
            }
            (FormBody::Inquire(asked), Reply::Inquire { ints, chars, .. }) => {
                inquire_reply(asked, ints, chars)
            }
            (FormBody::Stat(body), Reply::Stat { puts, .. }) => Call::Stat(Box::new(StatBody {
                sts: Mqsts {
                    comp_code: puts.cc,
                    reason: puts.reason,
                    put_success_count: puts.successes,
                    put_warning_count: puts.warnings,
                    put_failure_count: puts.failures,
                    ..body.sts
                },
                ..*body
            })),
            (FormBody::Close, Reply::Plain { cc, .. }) => {
                if cc != CompCode::FAILED {
                    handle = -1;
                }
                Call::Empty
            }
            (FormBody::Plain | FormBody::Disconnect, Reply::Plain { .. }) => Call::Empty,
            (body, Reply::Plain { cc: CompCode::FAILED, reason }) => {
                return Ok(Self { body, ..self }.failed(CompCode::FAILED, reason, out));
            }
            _ => return Err(wrong),
        };
        let body = encode(&call, out);
        Ok(message_with(self.segment_type, cc, reason, handle, &body, payload, out))
    }

    /// A failure: the API header alone, but a failed MQOPEN with its whole body (else the client says 2195).
    fn failed(self, cc: CompCode, reason: Reason, out: Coding) -> Message {
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
        message(self.segment_type, cc, reason, self.handle, &encode(&call, out), out)
    }
}

/// More attributes than there are; a count from outside must not become an allocation.
const ATTRIBUTES_MAX: u32 = 32_768;

fn message(
    segment_type: SegmentType,
    comp_code: CompCode,
    reason: Reason,
    object_handle: i32,
    body: &[u8],
    out: Coding,
) -> Message {
    message_with(segment_type, comp_code, reason, object_handle, body, Bytes::new(), out)
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

/// As many integers and characters as the request says, even if fewer were asked by selectors
/// (mq-wire-observed-base.md 4.1).
fn inquire_reply(asked: InquireBody, mut ints: Vec<i32>, mut chars: Vec<u8>) -> Call {
    ints.resize(asked.int_attr_count as usize, 0);
    chars.resize(asked.char_attr_length as usize, b' ');
    Call::Attributes(AttributesBody { selectors: asked.selectors, int_attrs: ints, char_attrs: chars.into() })
}

/// How many records of a distribution list come with a structure; older versions have none.
trait Records {
    fn recs_present_or_zero(&self) -> i32;
}

impl Records for Mqod {
    fn recs_present_or_zero(&self) -> i32 {
        if self.version >= 2 { self.recs_present } else { 0 }
    }
}

impl Records for Mqpmo {
    fn recs_present_or_zero(&self) -> i32 {
        if self.version >= 2 { self.recs_present } else { 0 }
    }
}
