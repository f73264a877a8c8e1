//! The context of a message: who put it, when, on whose behalf (mq-objects.md 1.2, 1.5).

use mq_wire::{ApplName, ApplType, Mqmd, OpenOptions, PutOptions, Reason, UserId};

use crate::clock::put_date_time;
use crate::connection::Handle;
use crate::verb::{Context, Now};

/// Who puts, and where the context of the message comes from.
#[derive(Debug)]
pub(crate) struct Sender<'a> {
    pub(crate) user: UserId,
    pub(crate) appl_name: ApplName,
    pub(crate) appl_type: ApplType,
    pub(crate) context: Chosen<'a>,
}

/// Where the context of a message comes from.
#[derive(Debug)]
pub(crate) enum Chosen<'a> {
    Default,
    None,
    SetIdentity,
    SetAll,
    PassIdentity(&'a Context),
    PassAll(&'a Context),
}

/// Whether the handle was opened for the context that is wanted (2093 to 2096). MQOO_SET_ALL_CONTEXT implies the other
/// three, MQOO_SET_IDENTITY_CONTEXT and MQOO_PASS_ALL_CONTEXT imply MQOO_PASS_IDENTITY_CONTEXT.
pub(crate) fn check_context(handle: &Handle, options: PutOptions) -> Result<(), Reason> {
    let set_identity = OpenOptions::SET_IDENTITY_CONTEXT | OpenOptions::SET_ALL_CONTEXT;
    let pass_all = OpenOptions::PASS_ALL_CONTEXT | OpenOptions::SET_ALL_CONTEXT;
    let pass_identity = OpenOptions::PASS_IDENTITY_CONTEXT | pass_all | set_identity;
    let pairs = [
        (PutOptions::PASS_ALL_CONTEXT, pass_all, Reason::NOT_OPEN_FOR_PASS_ALL),
        (PutOptions::PASS_IDENTITY_CONTEXT, pass_identity, Reason::NOT_OPEN_FOR_PASS_IDENT),
        (PutOptions::SET_ALL_CONTEXT, OpenOptions::SET_ALL_CONTEXT, Reason::NOT_OPEN_FOR_SET_ALL),
        (PutOptions::SET_IDENTITY_CONTEXT, set_identity, Reason::NOT_OPEN_FOR_SET_IDENT),
    ];
    for (wanted, opened, reason) in pairs {
        if options.contains(wanted) && !handle.options.intersects(opened) {
            return Err(reason);
        }
    }
    Ok(())
}

/// Where the context comes from (2097, 2098).
pub(crate) fn choose<'a>(
    from: Option<&Handle>,
    options: PutOptions,
    passed: Option<&'a Context>,
) -> Result<Chosen<'a>, Reason> {
    if options.intersects(PutOptions::PASS_ALL_CONTEXT | PutOptions::PASS_IDENTITY_CONTEXT) {
        if !from.is_some_and(|handle| handle.options.contains(OpenOptions::SAVE_ALL_CONTEXT)) {
            return Err(Reason::CONTEXT_HANDLE_ERROR);
        }
        let context = passed.ok_or(Reason::CONTEXT_NOT_AVAILABLE)?;
        let all = options.contains(PutOptions::PASS_ALL_CONTEXT);
        return Ok(if all { Chosen::PassAll(context) } else { Chosen::PassIdentity(context) });
    }
    Ok(match options {
        options if options.contains(PutOptions::SET_ALL_CONTEXT) => Chosen::SetAll,
        options if options.contains(PutOptions::SET_IDENTITY_CONTEXT) => Chosen::SetIdentity,
        options if options.contains(PutOptions::NO_CONTEXT) => Chosen::None,
        _ => Chosen::Default,
    })
}

/// Writes the context into the descriptor. What the queue manager makes itself has neither an accounting token, for
/// there is no account that it knows of a user, nor data of the application.
pub(crate) fn set_context(now: Now, sender: &Sender<'_>, md: &mut Mqmd) {
    let (put_date, put_time) = put_date_time(now.wall_ms);
    let own = Context {
        user_identifier: sender.user,
        put_appl_type: sender.appl_type,
        put_appl_name: sender.appl_name,
        put_date,
        put_time,
        ..Context::default()
    };
    let given = Context::of(md);
    let identity_of = |identity: &Context| Context {
        user_identifier: identity.user_identifier,
        accounting_token: identity.accounting_token,
        appl_identity_data: identity.appl_identity_data,
        ..own.clone()
    };
    let context = match sender.context {
        Chosen::Default => own,
        Chosen::None => Context { put_appl_type: ApplType::NO_CONTEXT, ..Context::default() },
        Chosen::SetIdentity => identity_of(&given),
        Chosen::PassIdentity(passed) => identity_of(passed),
        Chosen::SetAll => given,
        Chosen::PassAll(passed) => passed.clone(),
    };
    write_context(md, &context);
}

fn write_context(md: &mut Mqmd, context: &Context) {
    md.user_identifier = context.user_identifier;
    md.accounting_token = context.accounting_token;
    md.appl_identity_data = context.appl_identity_data;
    md.put_appl_type = context.put_appl_type;
    md.put_appl_name = context.put_appl_name;
    md.put_date = context.put_date;
    md.put_time = context.put_time;
    md.appl_origin_data = context.appl_origin_data;
}

/// The descriptor as the application gets it back: its own, with the ids and the context that the message has, and its
/// place in group and logical message.
pub(crate) fn given_back(asked: Mqmd, stored: &Mqmd) -> Mqmd {
    let mut md = Mqmd { msg_id: stored.msg_id, correl_id: stored.correl_id, ..asked };
    if md.version >= 2 {
        (md.group_id, md.msg_seq_number, md.offset) = (stored.group_id, stored.msg_seq_number, stored.offset);
    }
    write_context(&mut md, &Context::of(stored));
    md
}
