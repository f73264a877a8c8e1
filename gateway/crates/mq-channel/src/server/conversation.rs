//! One conversation: from MQCONN, or what the client says about itself before, to MQDISC and its end.
//!
//! ```text
//!                                    reply: failed
//!   Identifying ──MQCONN──> Calling ───────────────> Disconnected <──┐
//!     │     ^                │   ^                                   │ reply to MQDISC
//!     └─────┘          reply │   │ a call                            │
//!   USERID, CONAUTH_INFO     v   │                                   │
//!                          Connected ──DISCINT──> Dead          (Calling)
//! ```
//!
//! One call is open at a time. A client that does not wait for the answer of a put sends the next call at once: that
//! one is held until the put was answered, and counts what became of it (mq-wire-observed-base.md 4.2).

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use mq_wire::{
    Body, Ccsid, Chars, Coding, CompCode, ConnAuth, ControlFlags1, Field, GetOptions, Reason, SegmentType,
    UserIdData,
};

use super::form::{self, Asked, Form};
use super::heartbeat::Heartbeat;
use super::{Shared, xa};
use crate::error::{ConnectionError, OwnerError, PeerError};
use crate::event::{CallId, Event};
use crate::link::{Address, Arrived, CALL_OVERHEAD_BYTES, Message};
use crate::negotiate::Agreed;
use crate::reply::{AsyncPuts, PutObject, Reply};
use crate::request::{Password, Request};

/// What a conversation sees of its connection.
pub(crate) struct Around<'a> {
    pub(crate) agreed: &'a Agreed,
    pub(crate) now: Instant,
    pub(crate) shared: &'a mut Shared,
}

/// One conversation; that of a connection without sharing is one too.
#[derive(Debug)]
pub(crate) struct Conversation {
    id: u32,
    state: State,
    /// What came while a put was open that is not answered.
    held: VecDeque<Arrived>,
    /// How puts went that were not answered.
    puts: AsyncPuts,
    /// One of them failed in the unit of work: it cannot be committed.
    unit_failed: bool,
    /// By handle: objects open for output, for MQSTAT.
    objects: BTreeMap<i32, PutObject>,
    /// Runs until MQCONN and after MQDISC.
    deadline: Option<Instant>,
}

/// Where a conversation stands; each state holds what exists then.
#[derive(Debug)]
enum State {
    /// The client says who it is; MQCONN ends that.
    Identifying(Identity),
    /// A call is open.
    Calling(Box<Calling>),
    /// Connected, no call is open.
    Connected {
        /// Since when.
        since: Instant,
    },
    /// MQDISC was answered, or MQCONN refused: the client is to end.
    Disconnected,
    /// This end has given it up: whatever is asked has this reason.
    Dead(Reason),
}

#[derive(Debug)]
struct Calling {
    call: CallId,
    /// Where the answer goes.
    to: Address,
    form: Form,
    /// Of an MQGET that waits on a connection without sharing.
    heartbeat: Option<Heartbeat>,
    /// How a commit goes on whose unit of work has to be backed out.
    backing_out: Option<BackingOut>,
}

/// The end of a unit of work in which a put has failed that was not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BackingOut {
    /// It is being backed out in place of MQCMIT.
    Commit,
    /// It is being backed out before MQDISC.
    BeforeDisconnect,
    /// It was, and MQDISC is under way.
    Disconnect,
}

/// What a client says about its user before MQCONN.
#[derive(Debug, Clone, Default)]
pub(crate) struct Identity {
    user: String,
    password: Option<Password>,
    /// CONAUTH_INFO has come: it counts more than USERID (mq-wire.md 3.5).
    authenticated: bool,
}

impl Conversation {
    /// A conversation that begins; until `deadline` it has to be connected.
    pub(crate) fn new(id: u32, identity: Identity, deadline: Instant) -> Self {
        Self {
            id,
            state: State::Identifying(identity),
            held: VecDeque::new(),
            puts: AsyncPuts::default(),
            unit_failed: false,
            objects: BTreeMap::new(),
            deadline: Some(deadline),
        }
    }

    /// What it was doing, to follow "nothing came" or "unexpected".
    pub(crate) fn name(&self) -> &'static str {
        match &self.state {
            State::Identifying(_) => "before MQCONN",
            State::Calling(_) => "while a call is open",
            State::Connected { .. } => "between two calls",
            State::Disconnected => "after MQDISC",
            State::Dead(_) => "after it was given up",
        }
    }

    /// The most bytes of a call: calls stay short until somebody has connected.
    pub(crate) fn call_bytes_max(&self, agreed: &Agreed) -> usize {
        match self.state {
            State::Identifying(_) | State::Disconnected | State::Dead(_) => CALL_OVERHEAD_BYTES,
            State::Calling(_) | State::Connected { .. } => agreed.call_bytes_max(),
        }
    }

    /// Bytes of calls that wait for their turn.
    pub(crate) fn held_bytes(&self) -> usize {
        self.held.iter().map(|arrived| arrived.body.len()).sum()
    }

    /// Whether MQDISC was answered, or MQCONN refused.
    pub(crate) fn is_disconnected(&self) -> bool {
        matches!(self.state, State::Disconnected)
    }

    /// Whether something is still to be expected of it.
    pub(crate) fn is_alive(&self) -> bool {
        !matches!(self.state, State::Disconnected | State::Dead(_))
    }

    /// A segment, or a call whose segments have been joined, has come.
    pub(crate) fn handle(
        &mut self,
        arrived: Arrived,
        uid: &mut Identity,
        around: &mut Around<'_>,
    ) -> Result<(), ConnectionError> {
        let segment_type = arrived.header.segment_type;
        let is_call = segment_type.is_call() && !segment_type.is_reply();
        match &mut self.state {
            State::Identifying(identity) if !is_call => {
                if identity.handle(&arrived, around)? {
                    *uid = identity.clone();
                }
                Ok(())
            }
            State::Identifying(_) | State::Connected { .. } if is_call => self.called(&arrived, around),
            State::Calling(calling) if is_call && calling.form.silent().is_some() => {
                self.held.push_back(arrived);
                Ok(())
            }
            State::Dead(reason) if is_call => {
                let message = form::refused(segment_type, 0, *reason, around.shared.outbound.coding());
                around.shared.outbound.call(Address::of(&arrived.header), &message);
                Ok(())
            }
            // Who was late says who it is after it was given up: that is no fault of the others on the socket.
            State::Dead(_) if is_identity(segment_type) => {
                Identity::default().handle(&arrived, around)?;
                Ok(())
            }
            State::Connected { .. } if xa::is_call(segment_type) => {
                let body = xa::refused(&arrived, around.shared.outbound.coding());
                let whole = ControlFlags1::FIRST | ControlFlags1::LAST;
                let reply = segment_type.reply().unwrap_or(segment_type);
                around.shared.outbound.control(Address::of(&arrived.header), reply, whole, &body);
                Ok(())
            }
            _ => Err(unexpected(segment_type, self.name())),
        }
    }

    /// The owner answers a call.
    pub(crate) fn reply(
        &mut self,
        call: CallId,
        reply: Reply,
        uid: &mut Identity,
        around: &mut Around<'_>,
    ) -> Result<(), ConnectionError> {
        let calling = match std::mem::replace(&mut self.state, State::Disconnected) {
            State::Calling(calling) if calling.call == call => calling,
            // Given up meanwhile.
            dead @ State::Dead(_) => {
                self.state = dead;
                return Ok(());
            }
            other => {
                self.state = other;
                return Err(OwnerError::NoSuchCall.into());
            }
        };
        self.replied(*calling, reply, around)?;
        while matches!(self.state, State::Connected { .. })
            && let Some(next) = self.held.pop_front()
        {
            self.handle(next, uid, around)?;
        }
        Ok(())
    }

    /// Whether the client waits for the answer to a call.
    pub(crate) fn is_awaited(&self, call: CallId) -> bool {
        !matches!(&self.state, State::Calling(open) if open.call == call && open.form.silent().is_some())
    }

    /// It was not connected in time, nothing was asked for the channel's disconnect interval, or the owner ends it.
    /// Whatever comes has this reason.
    pub(crate) fn give_up(&mut self, reason: Reason) {
        self.state = State::Dead(reason);
        self.held.clear();
        self.objects.clear();
        self.deadline = None;
    }

    /// The queue manager stops: a get that waits is told, what else is open is not, since it may have been done. Says
    /// whether it was told.
    pub(crate) fn stop(&mut self, shared: &mut Shared) -> bool {
        if let State::Calling(calling) = std::mem::replace(&mut self.state, State::Disconnected)
            && calling.form.is_get()
        {
            let Calling { to, form, .. } = *calling;
            let message = form.failed(Reason::Q_MGR_STOPPING, shared.outbound.coding());
            shared.outbound.call(to, &message);
            return true;
        }
        false
    }

    /// When the handshake must be over, or the client have ended.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// When it has been idle for so long.
    pub(crate) fn idle_at(&self, idle: Option<Duration>) -> Option<Instant> {
        match self.state {
            State::Connected { since } => idle.map(|idle| since + idle),
            _ => None,
        }
    }

    /// The heartbeats of a waiting MQGET without sharing.
    pub(crate) fn heartbeat(&mut self) -> Option<&mut Heartbeat> {
        match &mut self.state {
            State::Calling(calling) => calling.heartbeat.as_mut(),
            _ => None,
        }
    }

    /// When they are due.
    pub(crate) fn heartbeat_at(&self, heard: Instant) -> Option<Instant> {
        match &self.state {
            State::Calling(calling) => {
                calling.heartbeat.as_ref().map(|heartbeat| heartbeat.poll_timeout(heard))
            }
            _ => None,
        }
    }

    /// A call has come and none is open.
    fn called(&mut self, arrived: &Arrived, around: &mut Around<'_>) -> Result<(), ConnectionError> {
        let segment_type = arrived.header.segment_type;
        // MQCONN is the first call, and never comes again.
        let identity = match &mut self.state {
            State::Identifying(identity) => Some(std::mem::take(identity)),
            _ => None,
        };
        if identity.is_some() != (segment_type == SegmentType::MQCONN) {
            let state = if identity.is_some() { "before MQCONN" } else { "after MQCONN" };
            return Err(unexpected(segment_type, state));
        }
        let (mut request, form) = match self.read(arrived, around)? {
            Asked::Owner(request, form) => (request, form),
            Asked::Refused(form, reason) => {
                self.refused(form, reason, Address::of(&arrived.header), around);
                return Ok(());
            }
            Asked::Answered(message) => {
                around.shared.outbound.call(Address::of(&arrived.header), &message);
                if identity.is_some() {
                    self.disconnected(around);
                }
                return Ok(());
            }
        };
        let mut backing_out = None;
        if let (Request::Connect(connect), Some(identity)) = (&mut request, identity) {
            connect.user = identity.user;
            connect.password = identity.password;
            self.deadline = None;
        } else if self.unit_failed && (form.is_commit() || form.is_disconnect()) {
            backing_out = Some(match form.is_commit() {
                true => BackingOut::Commit,
                false => BackingOut::BeforeDisconnect,
            });
            request = Request::Back;
        }
        let heartbeat = match &request {
            Request::Get { gmo, .. }
                if gmo.options.contains(GetOptions::WAIT) && !around.agreed.is_shared() =>
            {
                Heartbeat::new(around.agreed.heartbeat_s, around.now)
            }
            _ => None,
        };
        let call = self.emit(request, around);
        let to = Address::of(&arrived.header);
        self.state = State::Calling(Box::new(Calling { call, to, form, heartbeat, backing_out }));
        Ok(())
    }

    fn read(&self, arrived: &Arrived, around: &mut Around<'_>) -> Result<Asked, ConnectionError> {
        let segment_type = arrived.header.segment_type;
        let out = around.shared.outbound.coding();
        if arrived.is_cut {
            let max = self.call_bytes_max(around.agreed);
            let too_long = PeerError::CallLength { segment: segment_type, max };
            return form::cut(arrived, around.agreed, out).ok_or(too_long.into());
        }
        match Body::decode(&arrived.header, &arrived.body, around.agreed.fap_level) {
            Ok(Body::Call(api, body)) => Ok(form::ask(arrived, api, body, around.agreed, out)?),
            Ok(_) => Err(unexpected(segment_type, self.name())),
            Err(error) => match form::reason_of(&error) {
                Some(reason) if segment_type == SegmentType::MQOPEN => {
                    Ok(Asked::Answered(form::refused_open(arrived, reason, out)))
                }
                Some(reason) => Ok(Asked::Answered(form::refused(segment_type, 0, reason, out))),
                None => Err(PeerError::Decode { segment: segment_type, error }.into()),
            },
        }
    }

    /// A call that the owner never sees.
    fn refused(&mut self, form: Form, reason: Reason, to: Address, around: &mut Around<'_>) {
        match form.silent() {
            Some(_) => self.count(&form, CompCode::FAILED, reason),
            None => {
                let message = form.failed(reason, around.shared.outbound.coding());
                around.shared.outbound.call(to, &message);
            }
        }
    }

    fn replied(
        &mut self,
        calling: Calling,
        reply: Reply,
        around: &mut Around<'_>,
    ) -> Result<(), ConnectionError> {
        let Calling { to, form, backing_out, .. } = calling;
        let (cc, reason) = reply.outcome();
        let done = cc != CompCode::FAILED;
        if backing_out == Some(BackingOut::BeforeDisconnect) && done {
            let call = self.emit(Request::Disconnect, around);
            let backing_out = Some(BackingOut::Disconnect);
            self.state = State::Calling(Box::new(Calling { call, to, form, heartbeat: None, backing_out }));
            return Ok(());
        }
        let is_over = (form.is_disconnect() && done) || (form.is_connect() && !done);
        if form.is_commit() || form.is_back() || form.is_disconnect() {
            self.unit_failed &= !done;
        }
        if form.silent().is_some() {
            self.count(&form, cc, reason);
        } else {
            self.remember(&form, &reply);
            let message = self.message(form, backing_out.is_some(), reply, around)?;
            around.shared.outbound.call(to, &message);
        }
        if is_over {
            self.disconnected(around);
        } else {
            self.state = State::Connected { since: around.now };
        }
        Ok(())
    }

    fn message(
        &mut self,
        form: Form,
        backed_out: bool,
        reply: Reply,
        around: &Around<'_>,
    ) -> Result<Message, OwnerError> {
        let out = around.shared.outbound.coding();
        let done = matches!(reply, Reply::Plain { cc: CompCode::OK, .. });
        if form.is_stat() && done {
            return Ok(form.counted(&std::mem::take(&mut self.puts), out));
        }
        if backed_out && done {
            // What the unit of work was to do has not been done, and nothing of it is left (MQRC 2003).
            let reply = Reply::Plain { cc: CompCode::WARNING, reason: Reason::BACKED_OUT };
            return form.answer(reply, out);
        }
        form.answer(reply, out)
    }

    /// Keeps the names of objects for MQSTAT, while they are open.
    fn remember(&mut self, form: &Form, reply: &Reply) {
        if let (Some(asked), Reply::Open { cc, handle, od, .. }) = (form.opens_for_output(), reply)
            && *cc != CompCode::FAILED
        {
            self.objects.insert(*handle, PutObject::new(asked, Some(od)));
        }
        // A warning (2241, 2242) closes it as well.
        if let Some(handle) = form.closes()
            && reply.outcome().0 != CompCode::FAILED
        {
            self.objects.remove(&handle);
        }
    }

    fn count(&mut self, form: &Form, cc: CompCode, reason: Reason) {
        let objects = &self.objects;
        self.puts.count(cc, reason, || match form.put_object() {
            Ok(od) => PutObject::new(od, None),
            Err(handle) => objects.get(&handle).cloned().unwrap_or_default(),
        });
        let in_unit = form.silent().is_some_and(|silent| silent.in_unit);
        self.unit_failed |= in_unit && cc == CompCode::FAILED;
    }

    fn emit(&self, request: Request, around: &mut Around<'_>) -> CallId {
        let call = CallId { conversation: self.id, number: around.shared.next_call() };
        around.shared.events.push_back(Event::Call { conversation: self.id, call, request });
        call
    }

    fn disconnected(&mut self, around: &Around<'_>) {
        self.state = State::Disconnected;
        self.objects.clear();
        self.deadline = Some(around.now + around.shared.config.handshake_timeout);
    }
}

impl Identity {
    /// True if it is what the client says for all conversations of the socket.
    fn handle(&mut self, arrived: &Arrived, around: &mut Around<'_>) -> Result<bool, ConnectionError> {
        let segment = arrived.header.segment_type;
        let body = Body::decode(&arrived.header, &arrived.body, around.agreed.fap_level)
            .map_err(|error| PeerError::Decode { segment, error })?;
        match body {
            // No answer is sent (mq-wire.md 3.5).
            Body::UserId(uid) => {
                self.user_id(&uid);
                Ok(true)
            }
            Body::ConnAuth(caut) => {
                self.conn_auth(&caut, arrived.header.coding());
                // Consent is a header without a body; whether the password is right is said in reply to MQCONN
                // (mq-wire-observed-base.md 3.3).
                let to = Address::of(&arrived.header);
                around.shared.outbound.control(to, SegmentType::STATUS, ControlFlags1::empty(), &[]);
                Ok(false)
            }
            _ => Err(unexpected(segment, "before MQCONN")),
        }
    }

    fn user_id(&mut self, uid: &UserIdData) {
        if self.authenticated {
            return;
        }
        self.user = if uid.long_user_id.is_blank() { uid.user_id.text() } else { uid.long_user_id.text() };
        // Compatibility mode: a short password in clear (mq-wire-observed-base.md 2.2).
        let password = uid.password.0.trimmed();
        self.password = (!password.is_empty()).then(|| Password::new(password));
    }

    fn conn_auth(&mut self, caut: &ConnAuth, coding: Coding) {
        self.authenticated = true;
        self.user = text(&caut.user_id, coding);
        let password = caut.password_in_clear();
        self.password = (!password.is_empty()).then(|| Password::new(password));
    }
}

/// What a client says about its user.
fn is_identity(segment: SegmentType) -> bool {
    matches!(segment, SegmentType::USERID | SegmentType::CONAUTH_INFO)
}

pub(crate) fn unexpected(segment: SegmentType, state: &'static str) -> ConnectionError {
    // XA has names, but what comes at another time than a call is none that this machine serves (mq-wire.md 2.3).
    if segment.name().is_none() || segment.0 >= SegmentType::XA_START.0 {
        return PeerError::Unknown(segment).into();
    }
    PeerError::Unexpected { segment, state }.into()
}

/// A user's name as text. Names outside of the invariant characters exist in UTF-8 and Latin-1.
fn text(bytes: &[u8], coding: Coding) -> String {
    if coding.ccsid == Ccsid::UTF_8 {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    bytes.iter().map(|byte| char::from(Chars::<1>::read(&[*byte], coding).as_bytes()[0])).collect()
}
