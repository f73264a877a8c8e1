//! The form in which a client asked, so that the answer comes in the same: MQOPEN or SPI OPEN, the versions of
//! structures, the length of LPOO and FOPA (mq-wire-observed.md 2, mq-wire-observed-base.md 4.1). The answers are made
//! in `answer`, what is wrong with a body gets its reason in `wrong`.

mod answer;
mod wrong;

use bytes::BytesMut;
use mq_wire::{
    ApiHeader, AttributesBody, Call, Chars, Coding, ConnectBody, Field, GetOptions, InquireBody, Mqgmo, Mqmd,
    Mqod, Mqpmo, OpenBody, OpenOptions, PutOptions, Reason, SegmentType, SpiCall, SpiHeader, SpiOpen,
    SpiQuery, SpiReserve, StatBody,
};

use crate::error::PeerError;
use crate::link::{Arrived, Message};
use crate::negotiate::Agreed;
use crate::request::{Connect, Request};

pub(crate) use answer::refused;
pub(crate) use wrong::{cut, reason_of, refused_open};

/// What a call turned out to be.
#[expect(clippy::large_enum_variant, reason = "moved once or twice; a box would be one allocation a call")]
#[derive(Debug)]
pub(crate) enum Asked {
    /// For the owner, who the client is still left out of MQCONN.
    Owner(Request, Form),
    /// It is not for the owner: this is why.
    Refused(Form, Reason),
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
    /// Of a put that is not answered.
    silent: Option<Silent>,
}

/// A put that the client does not wait for (mq-wire-observed-base.md 4.2).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Silent {
    /// Whether it belongs to the unit of work.
    pub(crate) in_unit: bool,
}

#[derive(Debug)]
enum FormBody {
    Connect(Box<ConnectBody>),
    Open(Box<OpenBody>),
    SpiOpen(SpiHeader, Box<SpiOpen>),
    SpiQuery(SpiHeader, SpiQuery),
    SpiReserve {
        header: SpiHeader,
        wanted: u32,
    },
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
        /// Of an unlock, which brings no message: what goes back.
        unlocks: Option<Box<(Mqmd, Mqgmo)>>,
    },
    Inquire(InquireBody),
    Stat(Box<StatBody>),
    Close,
    Disconnect,
    /// MQSET, MQCMIT, MQBACK: nothing but completion code and reason.
    Plain,
}

/// Reads a call.
pub(crate) fn ask(
    arrived: &Arrived,
    api: ApiHeader,
    call: Call,
    agreed: &Agreed,
    out: Coding,
) -> Result<Asked, PeerError> {
    let segment_type = arrived.header.segment_type;
    let handle = api.object_handle;
    let mut silent = None;
    // What is no call of the owner's, and why.
    let mut refusal = None;
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
        Call::Open(body) => {
            refusal = no_list(&body.od);
            let request = Request::Open { od: Box::new(body.od.clone()), options: body.options };
            (request, FormBody::Open(body))
        }
        Call::Close(body) => (Request::Close { handle, options: body.options }, FormBody::Close),
        Call::Put(body) => {
            silent = Silent::of(agreed, body.pmo.options);
            refusal = no_records(&body.pmo).or_else(|| too_long(body.data.len(), agreed));
            let form = FormBody::Put {
                md: body.md.version,
                pmo: body.pmo.version,
                data_length: body.data.len() as u32,
            };
            let data = arrived.keep(body.data);
            (Request::Put { handle, md: body.md, pmo: body.pmo, data }, form)
        }
        Call::Put1(body) => {
            let put = body.put;
            silent = Silent::of(agreed, put.pmo.options);
            refusal = no_list(&body.od)
                .or_else(|| no_records(&put.pmo))
                .or_else(|| too_long(put.data.len(), agreed));
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
            let unlocks = body.gmo.options.contains(GetOptions::UNLOCK);
            let form = FormBody::Get {
                md: body.md.version,
                gmo: body.gmo.version,
                buffer_length: body.buffer_length,
                unlocks: unlocks.then(|| Box::new((body.md.clone(), body.gmo.clone()))),
            };
            if i32::try_from(body.buffer_length).is_err() {
                refusal = Some(Reason::BUFFER_LENGTH_ERROR);
            }
            // More than the channel allows can never come: what is longer is truncated.
            let buffer_length = body.buffer_length.min(agreed.max_msg_length);
            (Request::Get { handle, md: body.md, gmo: body.gmo, buffer_length }, form)
        }
        Call::Inquire(body) => {
            if body.int_attr_count > ATTRIBUTES_MAX {
                refusal = Some(Reason::INT_ATTR_COUNT_ERROR);
            } else if body.char_attr_length > ATTRIBUTES_MAX {
                refusal = Some(Reason::CHAR_ATTR_LENGTH_ERROR);
            }
            let request = Request::Inquire {
                handle,
                selectors: body.selectors.clone(),
                int_count: body.int_attr_count,
                char_length: body.char_attr_length,
            };
            (request, FormBody::Inquire(body))
        }
        Call::Attributes(AttributesBody { selectors, int_attrs, char_attrs }) => {
            let chars = chars_in(&char_attrs, arrived.header.coding());
            (Request::Set { handle, selectors, ints: int_attrs, chars }, FormBody::Plain)
        }
        Call::Stat(body) => {
            if body.stat_type != 0 {
                // MQRC_STAT_TYPE_ERROR: only MQSTAT_TYPE_ASYNC_ERROR is a queue manager's to answer, reconnection is a
                // client's own business.
                refusal = Some(Reason(2430));
            }
            (Request::Stat { kind: body.stat_type }, FormBody::Stat(body))
        }
        Call::Spi(body) => match body.call {
            SpiCall::Open(open) => {
                let request =
                    Request::Open { od: Box::new(open.od.clone()), options: open.lpoo.open_options };
                refusal = no_list(&open.od);
                (request, FormBody::SpiOpen(body.header, open))
            }
            SpiCall::Query(query) => {
                let body = FormBody::SpiQuery(body.header, query);
                let form = Form { segment_type, handle, name: "SPI QUERY", body, silent };
                return Ok(Asked::Answered(form.capabilities(out)));
            }
            SpiCall::Reserve(SpiReserve::Request { id_length: 24, wanted }) => {
                (Request::Reserve, FormBody::SpiReserve { header: body.header, wanted })
            }
            _ => {
                return Ok(Asked::Answered(refused(
                    segment_type,
                    handle,
                    Reason::FUNCTION_NOT_SUPPORTED,
                    out,
                )));
            }
        },
        Call::Empty => match segment_type {
            SegmentType::MQCMIT => (Request::Commit, FormBody::Plain),
            SegmentType::MQBACK => (Request::Back, FormBody::Plain),
            SegmentType::MQDISC => (Request::Disconnect, FormBody::Disconnect),
            _ => return Err(PeerError::Unknown(segment_type)),
        },
        // MQSUB and MQSUBRQ (mq-wire.md 4.11); a type without a name has no reply that anybody would know.
        Call::Opaque(_) if segment_type.name().is_some() => {
            return Ok(Asked::Answered(refused(segment_type, handle, Reason::FUNCTION_NOT_SUPPORTED, out)));
        }
        _ => return Err(PeerError::Unknown(segment_type)),
    };
    let form = Form { segment_type, handle, name: request.name(), body, silent };
    Ok(match refusal {
        Some(reason) => Asked::Refused(form, reason),
        None => Asked::Owner(request, form),
    })
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

    /// Whether it is MQCMIT.
    pub(crate) fn is_commit(&self) -> bool {
        self.segment_type == SegmentType::MQCMIT
    }

    /// Whether it is MQBACK.
    pub(crate) fn is_back(&self) -> bool {
        self.segment_type == SegmentType::MQBACK
    }

    /// Whether it is MQGET.
    pub(crate) fn is_get(&self) -> bool {
        matches!(self.body, FormBody::Get { .. })
    }

    /// Whether it is MQSTAT.
    pub(crate) fn is_stat(&self) -> bool {
        matches!(self.body, FormBody::Stat(_))
    }

    /// Of a put that is not answered.
    pub(crate) fn silent(&self) -> Option<Silent> {
        self.silent
    }

    /// The object that a put was for, as the client named it: of MQPUT its handle, of MQPUT1 its descriptor.
    pub(crate) fn put_object(&self) -> Result<&Mqod, i32> {
        match &self.body {
            FormBody::Put1 { od, .. } => Ok(od),
            _ => Err(self.handle),
        }
    }

    /// The handle that a successful MQCLOSE makes void.
    pub(crate) fn closes(&self) -> Option<i32> {
        matches!(self.body, FormBody::Close).then_some(self.handle)
    }

    /// The object that is opened, if messages can be put to it.
    pub(crate) fn opens_for_output(&self) -> Option<&Mqod> {
        let (od, options) = match &self.body {
            FormBody::Open(body) => (&body.od, body.options),
            FormBody::SpiOpen(_, open) => (&open.od, open.lpoo.open_options),
            _ => return None,
        };
        options.contains(OpenOptions::OUTPUT).then_some(od)
    }
}

impl Silent {
    fn of(agreed: &Agreed, options: PutOptions) -> Option<Self> {
        let silent = agreed.spi && options.contains(PutOptions::ASYNC_RESPONSE);
        silent.then_some(Self { in_unit: options.contains(PutOptions::SYNCPOINT) })
    }
}

/// More attributes than there are; a count from outside must not become an allocation.
const ATTRIBUTES_MAX: u32 = 32_768;

/// Distribution lists are not served: a descriptor with records is not valid. Older versions have none.
fn no_list(od: &Mqod) -> Option<Reason> {
    refusal_of_records(od.version, od.recs_present, Reason::OD_ERROR)
}

/// The same of the put-message options.
fn no_records(pmo: &Mqpmo) -> Option<Reason> {
    refusal_of_records(pmo.version, pmo.recs_present, Reason::PMO_ERROR)
}

fn refusal_of_records(version: i32, records: i32, reason: Reason) -> Option<Reason> {
    match records {
        _ if version < 2 => None,
        0 => None,
        1.. => Some(reason),
        _ => Some(Reason::RECS_PRESENT_ERROR),
    }
}

/// A message longer than the channel allows, which the client did not find itself.
fn too_long(length: usize, agreed: &Agreed) -> Option<Reason> {
    (length > agreed.max_msg_length as usize).then_some(Reason::MSG_TOO_BIG_FOR_CHANNEL)
}

/// Character attributes as the owner has them: in ASCII, like all names.
fn chars_in(bytes: &[u8], coding: Coding) -> Vec<u8> {
    if !coding.ccsid.is_ebcdic() {
        return bytes.to_vec();
    }
    bytes.iter().map(|byte| Chars::<1>::read(&[*byte], coding).as_bytes()[0]).collect()
}

/// The same on their way to the client.
fn chars_out(chars: Vec<u8>, coding: Coding) -> Vec<u8> {
    if !coding.ccsid.is_ebcdic() {
        return chars;
    }
    let mut out = BytesMut::with_capacity(chars.len());
    for byte in chars {
        Chars::<1>::from_bytes([byte]).write(&mut out, coding);
    }
    out.to_vec()
}
