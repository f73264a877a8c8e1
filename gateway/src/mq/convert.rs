//! Requests of the channel machine as verbs of the queue manager, and its replies as those of the machine.

use bytes::Bytes;
use mq_channel as channel;
use mq_wire::{
    Ccsid, CompCode, Described, Encoding, FormatName, GetOptions, Mqmd, Mqod, Persistence, PropertyControl,
    Reason,
};
use qmgr::{Got, Verb};
use store::Record;

/// What a call leaves behind for its reply.
#[derive(Debug)]
pub(super) struct Pending {
    /// The machine's name for the call.
    pub(super) call: channel::CallId,
    /// The conversation it belongs to.
    pub(super) conversation: u32,
    /// What the reply needs of the request.
    pub(super) kept: Kept,
    /// What it puts or gets belongs to the unit of work, or may.
    pub(super) in_unit: bool,
}

/// What the reply needs of the request.
#[derive(Debug)]
pub(super) enum Kept {
    /// Nothing.
    Nothing,
    /// MQCONN: the id that the connection has for its client.
    Connect { connection_id: [u8; 24] },
    /// MQOPEN: whether contexts of this handle are to be kept.
    Open { save_context: bool },
    /// MQGET: to make the call again where the hash of an id was the same, and the id was not; and the form in which
    /// the data is wanted, if it is to be converted.
    Get { request: Box<qmgr::GetRequest>, wanted: Option<(Encoding, Ccsid)> },
    /// MQCLOSE: the handle whose context is forgotten.
    Close { handle: i32 },
    /// MQPUT1: the descriptor goes back.
    Put1 { od: Box<Mqod> },
    /// MQDISC: the connection ends with it.
    Disconnect,
}

/// The verb of a request, but for MQCONN (which needs to know the channel) and MQSTAT (which is not the core's).
pub(super) fn verb(
    request: channel::Request,
    passed: impl Fn(i32) -> Option<Box<qmgr::Context>>,
) -> Result<(Verb, Kept), Reason> {
    use channel::Request;
    Ok(match request {
        Request::Connect(_) | Request::Stat { .. } => return Err(Reason::FUNCTION_NOT_SUPPORTED),
        Request::Open { od, options } => {
            let save_context = options.contains(mq_wire::OpenOptions::SAVE_ALL_CONTEXT);
            (Verb::Open(Box::new(qmgr::OpenRequest { od: *od, options })), Kept::Open { save_context })
        }
        Request::Close { handle, options } => (Verb::Close { handle, options }, Kept::Close { handle }),
        Request::Put { handle, md, pmo, data } => {
            let passed = passed(pmo.context);
            let properties = properties(&md, &data)?;
            let put = qmgr::PutRequest { handle, md, pmo, body: data, passed, properties };
            (Verb::Put(Box::new(put)), Kept::Nothing)
        }
        Request::Put1 { od, md, pmo, data } => {
            let passed = passed(pmo.context);
            let properties = properties(&md, &data)?;
            let request = qmgr::Put1Request { od: (*od).clone(), md, pmo, body: data, passed, properties };
            (Verb::Put1(Box::new(request)), Kept::Put1 { od })
        }
        Request::Get { handle, md, gmo, buffer_length } => {
            // What version 1 does not have is as it is by default.
            let second = if md.version >= 2 { md.clone() } else { Mqmd::default() };
            let request = qmgr::GetRequest {
                handle,
                msg_id: md.msg_id,
                correl_id: md.correl_id,
                group_id: second.group_id,
                msg_seq_number: second.msg_seq_number,
                offset: second.offset,
                md_version: md.version,
                gmo,
                buffer_length,
            };
            let converts = request.gmo.options.contains(GetOptions::CONVERT);
            let wanted = converts.then_some((md.encoding, md.ccsid));
            (Verb::Get(Box::new(request.clone())), Kept::Get { request: Box::new(request), wanted })
        }
        Request::Inquire { handle, selectors, int_count, char_length } => {
            let selectors = selectors.into_iter().map(|selector| selector.0).collect();
            (Verb::Inquire { handle, selectors, int_count, char_length }, Kept::Nothing)
        }
        Request::Set { handle, selectors, ints, chars } => {
            let selectors = selectors.into_iter().map(|selector| selector.0).collect();
            let request = qmgr::SetRequest { handle, selectors, integers: ints, characters: chars.into() };
            (Verb::Set(Box::new(request)), Kept::Nothing)
        }
        Request::Reserve => (Verb::Reserve, Kept::Nothing),
        Request::Commit => (Verb::Commit, Kept::Nothing),
        Request::Back => (Verb::Back, Kept::Nothing),
        Request::Disconnect => (Verb::Disconnect, Kept::Disconnect),
    })
}

/// The data of a put.
pub(super) fn data(verb: &Verb) -> Option<&Bytes> {
    match verb {
        Verb::Put(put) => Some(&put.body),
        Verb::Put1(put) => Some(&put.body),
        _ => None,
    }
}

/// The machine's reply for a reply of the queue manager that needs nothing from the store.
pub(super) fn reply(reply: qmgr::Reply, kept: &Kept) -> channel::Reply {
    match reply {
        qmgr::Reply::Connected(connected) => channel::Reply::Connect {
            cc: CompCode::OK,
            reason: Reason::NONE,
            qmgr_name: connected.q_mgr,
            connection_id: match kept {
                Kept::Connect { connection_id } => *connection_id,
                _ => [0; 24],
            },
        },
        qmgr::Reply::Opened(opened) => channel::Reply::Open {
            cc: CompCode::OK,
            reason: Reason::NONE,
            handle: opened.handle,
            od: Box::new(opened.od),
            defaults: open_defaults(opened.defaults),
        },
        qmgr::Reply::Put(done) => match kept {
            Kept::Put1 { od } => channel::Reply::Put1 {
                cc: done.cc,
                reason: done.reason,
                od: od.clone(),
                md: done.md,
                pmo: done.pmo,
            },
            _ => channel::Reply::Put { cc: done.cc, reason: done.reason, md: done.md, pmo: done.pmo },
        },
        qmgr::Reply::Inquired(inquired) => channel::Reply::Inquire {
            cc: inquired.cc,
            reason: inquired.reason,
            ints: inquired.integers,
            chars: inquired.characters.to_vec(),
        },
        qmgr::Reply::NotGot(not_got) => channel::Reply::failed(not_got.reason),
        qmgr::Reply::Plain { cc, reason } => match kept {
            // MQGMO_UNLOCK: a get that was done, and brings nothing.
            Kept::Get { request, .. } if cc != CompCode::FAILED => nothing_got(request, cc, reason),
            _ => channel::Reply::Plain { cc, reason },
        },
        qmgr::Reply::Reserved { base } => channel::Reply::Reserved { base },
        // A message that was found comes with its record: see `got`.
        qmgr::Reply::Got(_) | qmgr::Reply::ReadFirst(_) => channel::Reply::failed(Reason::UNEXPECTED_ERROR),
    }
}

/// The reply to a get without a message: what was asked with goes back as it was.
fn nothing_got(request: &qmgr::GetRequest, cc: CompCode, reason: Reason) -> channel::Reply {
    let md = Mqmd {
        version: request.md_version,
        msg_id: request.msg_id,
        correl_id: request.correl_id,
        group_id: request.group_id,
        msg_seq_number: request.msg_seq_number,
        offset: request.offset,
        ..Mqmd::default()
    };
    let gmo = request.gmo.clone();
    channel::Reply::Get { cc, reason, md, gmo, total_length: 0, data: Bytes::new() }
}

/// What a queue says about puts and gets; what is no queue says nothing of it.
fn open_defaults(queue: Option<qmgr::QueueDefaults>) -> channel::OpenDefaults {
    let defaults = queue.map(|queue| channel::OpenDefaults {
        persistence: if queue.persistent { Persistence::PERSISTENT } else { Persistence::NOT_PERSISTENT },
        put_response: queue.put_response,
        property_control: queue.property_control,
        ..channel::OpenDefaults::default()
    });
    // Read-ahead 2 (disabled) keeps clients on MQGET (mq-wire-observed-base.md 1).
    channel::OpenDefaults { read_ahead: 2, ..defaults.unwrap_or_default() }
}

/// What the data of a put begins with: the properties, and whether they are such as PROPCTL(COMPAT) delivers.
fn properties(md: &Mqmd, data: &Bytes) -> Result<qmgr::Properties, Reason> {
    if md.format != FormatName::RF_HEADER_2 {
        return Ok(qmgr::Properties::default());
    }
    let of = Described::by(md);
    mq_wire::check_folders(of, data)?;
    let (_, without) = mq_wire::without_properties(of, data);
    let length = u32::try_from(data.len() - without.len()).unwrap_or_default();
    if length == 0 {
        return Ok(qmgr::Properties::default());
    }
    let compatible = PropertyControl::Compatibility;
    let delivered = mq_wire::deliver(compatible, GetOptions::empty(), false, of, data);
    let compatible = delivered.is_ok_and(|(_, delivered)| delivered.len() == data.len());
    Ok(qmgr::Properties { length, compatible })
}

/// The descriptor that was stored with a message, as it is now.
pub(super) fn descriptor(got: &Got, record: &Record) -> Option<Mqmd> {
    let mut reader = mq_wire::Reader::new(&record.envelope, mq_wire::Coding::NATIVE);
    let mut md = Mqmd::decode(&mut reader).ok()?;
    got.amend(&mut md);
    Some(md)
}
