//! A call as a request of the owner, and what its answer needs of it: one function a call.

use mq_wire::{
    ApiHeader, AttributesBody, Call, Chars, Coding, ConnectBody, Field, GetBody, GetOptions, InquireBody,
    Mqod, Mqpmo, OpenBody, Put1Body, PutBody, Reason, SegmentType, SpiBody, SpiCall, SpiReserve, StatBody,
};

use super::{Asked, Form, FormBody, Silent, refused};
use crate::error::PeerError;
use crate::link::Arrived;
use crate::negotiate::Agreed;
use crate::request::{Connect, Request};

/// More attributes than there are; a count from outside must not become an allocation.
const ATTRIBUTES_MAX: u32 = 32_768;

/// A call that was read.
struct Read {
    request: Request,
    body: FormBody,
    silent: Option<Silent>,
    /// Why it is no call of the owner's.
    refusal: Option<Reason>,
}

impl Read {
    fn of(request: Request, body: FormBody) -> Self {
        Self { request, body, silent: None, refusal: None }
    }

    fn refused(self, refusal: Option<Reason>) -> Self {
        Self { refusal, ..self }
    }

    fn silent(self, silent: Option<Silent>) -> Self {
        Self { silent, ..self }
    }
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
    let not_served = || refused(segment_type, handle, Reason::FUNCTION_NOT_SUPPORTED, out);
    let read = match call {
        Call::Connect(body) => connect(body),
        Call::Open(body) => open(body),
        Call::Close(body) => Read::of(Request::Close { handle, options: body.options }, FormBody::Close),
        Call::Put(body) => put(arrived, handle, *body, agreed),
        Call::Put1(body) => put1(arrived, *body, agreed),
        Call::Get(body) => get(handle, *body, agreed),
        Call::Inquire(body) => inquire(handle, body),
        Call::Attributes(body) => set(arrived, handle, body),
        Call::Stat(body) => stat(body),
        Call::Spi(body) => match spi(*body) {
            Spi::Owner(read) => *read,
            Spi::Machine(body) => {
                let form = Form { segment_type, handle, name: "SPI QUERY", body, silent: None };
                return Ok(Asked::Answered(form.capabilities(out)));
            }
            Spi::NotServed => return Ok(Asked::Answered(not_served())),
        },
        Call::Empty => match segment_type {
            SegmentType::MQCMIT => Read::of(Request::Commit, FormBody::Plain),
            SegmentType::MQBACK => Read::of(Request::Back, FormBody::Plain),
            SegmentType::MQDISC => Read::of(Request::Disconnect, FormBody::Disconnect),
            _ => return Err(PeerError::Unknown(segment_type)),
        },
        // MQSUB and MQSUBRQ (mq-wire.md 4.11); a type without a name has no reply that anybody would know.
        Call::Opaque(_) if segment_type.name().is_some() => return Ok(Asked::Answered(not_served())),
        _ => return Err(PeerError::Unknown(segment_type)),
    };
    let Read { request, body, silent, refusal } = read;
    let form = Form { segment_type, handle, name: request.name(), body, silent };
    Ok(match refusal {
        Some(reason) => Asked::Refused(form, reason),
        None => Asked::Owner(request, form),
    })
}

fn connect(body: Box<ConnectBody>) -> Read {
    let connect = Connect {
        qmgr_name: body.q_mgr_name,
        appl_name: body.appl_name,
        appl_type: body.appl_type,
        accounting_token: body.accounting_token,
        ..Connect::default()
    };
    Read::of(Request::Connect(Box::new(connect)), FormBody::Connect(body))
}

fn open(body: Box<OpenBody>) -> Read {
    let refusal = no_list(&body.od);
    let request = Request::Open { od: Box::new(body.od.clone()), options: body.options };
    Read::of(request, FormBody::Open(body)).refused(refusal)
}

fn put(arrived: &Arrived, handle: i32, body: PutBody, agreed: &Agreed) -> Read {
    let silent = Silent::of(agreed, body.pmo.options);
    let refusal = no_records(&body.pmo).or_else(|| too_long(body.data.len(), agreed));
    let form =
        FormBody::Put { md: body.md.version, pmo: body.pmo.version, data_length: body.data.len() as u32 };
    let data = arrived.keep(body.data);
    let request = Request::Put { handle, md: body.md, pmo: body.pmo, data };
    Read::of(request, form).silent(silent).refused(refusal)
}

fn put1(arrived: &Arrived, body: Put1Body, agreed: &Agreed) -> Read {
    let put = body.put;
    let silent = Silent::of(agreed, put.pmo.options);
    let refusal =
        no_list(&body.od).or_else(|| no_records(&put.pmo)).or_else(|| too_long(put.data.len(), agreed));
    let form = FormBody::Put1 {
        od: Box::new(body.od.clone()),
        md: put.md.version,
        pmo: put.pmo.version,
        data_length: put.data.len() as u32,
    };
    let data = arrived.keep(put.data);
    let request = Request::Put1 { od: Box::new(body.od), md: put.md, pmo: put.pmo, data };
    Read::of(request, form).silent(silent).refused(refusal)
}

fn get(handle: i32, body: GetBody, agreed: &Agreed) -> Read {
    let unlocks = body.gmo.options.contains(GetOptions::UNLOCK);
    let form = FormBody::Get {
        md: body.md.version,
        gmo: body.gmo.version,
        buffer_length: body.buffer_length,
        unlocks: unlocks.then(|| Box::new((body.md.clone(), body.gmo.clone()))),
    };
    let refusal = i32::try_from(body.buffer_length).is_err().then_some(Reason::BUFFER_LENGTH_ERROR);
    // More than the channel allows can never come: what is longer is truncated.
    let buffer_length = body.buffer_length.min(agreed.max_msg_length);
    Read::of(Request::Get { handle, md: body.md, gmo: body.gmo, buffer_length }, form).refused(refusal)
}

fn inquire(handle: i32, body: InquireBody) -> Read {
    let refusal = if body.int_attr_count > ATTRIBUTES_MAX {
        Some(Reason::INT_ATTR_COUNT_ERROR)
    } else if body.char_attr_length > ATTRIBUTES_MAX {
        Some(Reason::CHAR_ATTR_LENGTH_ERROR)
    } else {
        None
    };
    let request = Request::Inquire {
        handle,
        selectors: body.selectors.clone(),
        int_count: body.int_attr_count,
        char_length: body.char_attr_length,
    };
    Read::of(request, FormBody::Inquire(body)).refused(refusal)
}

fn set(arrived: &Arrived, handle: i32, body: AttributesBody) -> Read {
    let AttributesBody { selectors, int_attrs, char_attrs } = body;
    let chars = chars_in(&char_attrs, arrived.header.coding());
    Read::of(Request::Set { handle, selectors, ints: int_attrs, chars }, FormBody::Plain)
}

fn stat(body: Box<StatBody>) -> Read {
    // MQRC_STAT_TYPE_ERROR: only MQSTAT_TYPE_ASYNC_ERROR is a queue manager's to answer, reconnection is a client's own
    // business.
    let refusal = (body.stat_type != 0).then_some(Reason(2430));
    Read::of(Request::Stat { kind: body.stat_type }, FormBody::Stat(body)).refused(refusal)
}

/// Whose a verb of the SPI is.
enum Spi {
    Owner(Box<Read>),
    /// QUERY.
    Machine(FormBody),
    NotServed,
}

fn spi(body: SpiBody) -> Spi {
    match body.call {
        SpiCall::Open(open) => {
            let refusal = no_list(&open.od);
            let request = Request::Open { od: Box::new(open.od.clone()), options: open.lpoo.open_options };
            let form = FormBody::SpiOpen(body.header, open);
            Spi::Owner(Box::new(Read::of(request, form).refused(refusal)))
        }
        SpiCall::Query(query) => Spi::Machine(FormBody::SpiQuery(body.header, query)),
        SpiCall::Reserve(SpiReserve::Request { id_length: 24, wanted }) => {
            let form = FormBody::SpiReserve { header: body.header, wanted };
            Spi::Owner(Box::new(Read::of(Request::Reserve, form)))
        }
        _ => Spi::NotServed,
    }
}

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
