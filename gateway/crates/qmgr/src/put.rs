//! MQPUT, MQPUT1: who may put what where, the unit of work that a message goes into, and what the application gets back.
//! What is refused of the call itself is in `check`, what becomes of the message in `store`.

mod check;
mod store;

use ::store::{Batch, BodyFile};
use bytes::Bytes;
use mq_wire::{CompCode, Mqmd, Mqod, Mqpmo, ObjectType, OpenOptions, PutOptions, Reason};
use mqsc::ObjectKind;

use self::check::{Call, check_options};
pub(crate) use self::store::Message;
use crate::connection::{Route, Target};
use crate::context::{Sender, check_context, choose, given_back};
use crate::manager::{Answer, QueueManager};
use crate::order::PutOrder;
use crate::verb::{ConnId, Context, Effect, Now, Properties, Put1Request, PutDone, PutRequest, Reply};

/// What MQPUT and MQPUT1 have in common.
struct Put {
    md: Mqmd,
    pmo: Mqpmo,
    body: Bytes,
    properties: Properties,
    file: Option<BodyFile>,
    passed: Option<Box<Context>>,
    /// What the handle has not completed.
    kept: Option<Box<PutOrder>>,
}

impl QueueManager {
    pub(crate) fn put(
        &mut self,
        now: Now,
        conn: ConnId,
        (request, file): (PutRequest, Option<BodyFile>),
        batch: &mut Batch,
        out: &mut Vec<Effect>,
    ) -> Result<Answer, Reason> {
        let PutRequest { handle: number, md, pmo, body, passed, properties } = request;
        let connection = self.connections.get(&conn).ok_or(Reason::HCONN_ERROR)?;
        let handle = connection.handle(number)?;
        check_options(Call::Put, &pmo)?;
        let Target::Queue(route) = &handle.target else { return Err(Reason::NOT_OPEN_FOR_OUTPUT) };
        if !handle.options.contains(OpenOptions::OUTPUT) {
            return Err(Reason::NOT_OPEN_FOR_OUTPUT);
        }
        check_context(handle, pmo.options)?;
        let (route, kept) = (route.clone(), handle.put_order.clone());
        let (in_unit, begun) = (pmo.options.contains(PutOptions::SYNCPOINT), kept.is_some());
        let put = Put { md, pmo, body, properties, file, passed, kept };
        let (answer, order) = self.put_by(now, conn, &route, put, batch, out)?;
        if let Some(connection) = self.connections.get_mut(&conn) {
            if in_unit && (begun || order.is_some()) {
                connection.keep_orders(number);
            }
            if let Some(handle) = connection.handles.get_mut(&number) {
                handle.put_order = order;
            }
        }
        Ok(answer)
    }

    pub(crate) fn put1(
        &mut self,
        now: Now,
        conn: ConnId,
        (request, file): (Put1Request, Option<BodyFile>),
        batch: &mut Batch,
        out: &mut Vec<Effect>,
    ) -> Result<Answer, Reason> {
        let Put1Request { od, md, pmo, body, passed, properties } = request;
        let rights = self.connections.get(&conn).ok_or(Reason::HCONN_ERROR)?.rights;
        check_options(Call::Put1, &pmo)?;
        self.check_quiescing(conn, pmo.options.contains(PutOptions::FAIL_IF_QUIESCING))?;
        if od.object_type != ObjectType::Q {
            return Err(Reason::OBJECT_TYPE_ERROR);
        }
        check_no_list(&od)?;
        let mut options = OpenOptions::OUTPUT;
        for (put, open) in [
            (PutOptions::SET_ALL_CONTEXT, OpenOptions::SET_ALL_CONTEXT),
            (PutOptions::SET_IDENTITY_CONTEXT, OpenOptions::SET_IDENTITY_CONTEXT),
            (PutOptions::PASS_ALL_CONTEXT, OpenOptions::PASS_ALL_CONTEXT),
            (PutOptions::PASS_IDENTITY_CONTEXT, OpenOptions::PASS_IDENTITY_CONTEXT),
            (PutOptions::ALTERNATE_USER_AUTHORITY, OpenOptions::ALTERNATE_USER_AUTHORITY),
        ] {
            options.set(open, pmo.options.contains(put));
        }
        let route = self.route(&od, options, rights)?;
        self.check_not_model(&route)?;
        let put = Put { md, pmo, body, properties, file, passed, kept: None };
        self.put_by(now, conn, &route, put, batch, out).map(|(answer, _)| answer)
    }

    /// A model queue takes no messages (2057).
    pub(crate) fn check_not_model(&self, route: &Route) -> Result<(), Reason> {
        let object = self.directory.get(route.used);
        let model = object.is_some_and(|object| object.definition.kind == ObjectKind::ModelQueue);
        if model { Err(Reason::Q_TYPE_ERROR) } else { Ok(()) }
    }

    fn put_by(
        &mut self,
        now: Now,
        conn: ConnId,
        route: &Route,
        put: Put,
        batch: &mut Batch,
        out: &mut Vec<Effect>,
    ) -> Result<(Answer, Option<Box<PutOrder>>), Reason> {
        let Put { md, pmo, body, properties, file, passed, kept } = put;
        let options = pmo.options;
        self.check_quiescing(conn, options.contains(PutOptions::FAIL_IF_QUIESCING))?;
        let messages_max = self.unit_messages_max();
        let connection = self.connections.get(&conn).ok_or(Reason::HCONN_ERROR)?;
        let context = choose(connection.handles.get(&pmo.context), options, passed.as_deref())?;
        let sender = Sender {
            user: connection.user,
            appl_name: connection.appl_name,
            appl_type: connection.appl_type,
            context,
        };
        let in_unit = options.contains(PutOptions::SYNCPOINT);
        let (unit_id, unit_messages) = (connection.unit.id, connection.unit.messages());
        let message = Message {
            md: md.clone(),
            body,
            file,
            options,
            kept,
            headers: 0,
            any_descriptor: false,
            check_headers: true,
            properties,
        };
        let mut prepared = self.prepare(now, &sender, route, message, batch.start())?;
        if in_unit && unit_messages + prepared.messages(route.remote) > messages_max {
            return Err(Reason::SYNCPOINT_LIMIT_REACHED);
        }
        if !in_unit && prepared.is_cut() && unit_messages > 0 {
            // Segments need a unit of work, and the application has one that they do not belong to.
            return Err(Reason::UOW_NOT_AVAILABLE);
        }
        let unit = in_unit.then(|| unit_id.unwrap_or_else(|| batch.new_unit()));
        let (reason, persistent, order) = (prepared.reason, prepared.is_persistent(), prepared.order.take());
        let md = given_back(md, &prepared.md);
        let held = self.write(now, route, prepared, unit, batch)?;
        if !in_unit {
            let position = persistent.then(|| batch.position());
            self.make_visible(now, held, position, batch, out);
        } else if let Some(connection) = self.connections.get_mut(&conn) {
            connection.unit.id = unit;
            connection.unit.puts.extend(held.into_iter().map(|held| self.held.add(held)));
        }
        let pmo = self.described(pmo, route);
        let cc = if reason == Reason::NONE { CompCode::OK } else { CompCode::WARNING };
        let needs = (persistent && !in_unit).then(|| batch.position());
        let put = PutDone { cc, reason, md, pmo };
        Ok((Answer::at(needs, Reply::Put(Box::new(put))), order))
    }

    /// The options as they go back (mq-objects.md 1.5): where the message went.
    fn described(&self, mut pmo: Mqpmo, route: &Route) -> Mqpmo {
        pmo.known_dest_count = i32::from(!route.remote);
        pmo.unknown_dest_count = i32::from(route.remote);
        pmo.invalid_dest_count = 0;
        pmo.resolved_q_name = route.queue;
        pmo.resolved_q_mgr_name = route.q_mgr;
        if pmo.options.contains(PutOptions::RESOLVE_LOCAL_Q)
            && let Some(object) = self.directory.get(route.used)
        {
            pmo.resolved_q_name = object.definition.queue_name();
            pmo.resolved_q_mgr_name = self.settings.name;
        }
        pmo
    }
}

/// A distribution list, which DISTL(NO) says is not for this queue manager: it does not know what version 2 of the
/// descriptor brought for that (2044).
pub(crate) fn check_no_list(od: &Mqod) -> Result<(), Reason> {
    if od.version >= 2 && od.recs_present != 0 { Err(Reason::OD_ERROR) } else { Ok(()) }
}
