//! The application's end of an MQI channel, without sharing (mq-wire.md 3.10.1). It talks to any queue manager that
//! lets it: the responder's byte order, character set and lower values are taken over.
//!
//! ```text
//!   new: INITIAL_DATA ──> Proposing ──INITIAL_DATA CF1 0x02──> again, at most so many rounds
//!                            │ INITIAL_DATA CF1 0x00: USERID, then
//!                            ├─ with a password: CONAUTH_INFO ──> Authenticating ──STATUS──┐
//!                            └─ without: MQCONN ──> Connecting <── MQCONN ─────────────────┘
//!                                                      │ MQCONN_REPLY
//!                                          call ┌── Connected <──┐ reply
//!                                               └───> Calling ───┤
//!                                                                └──> Closed, after the reply to MQDISC: STATUS CF1 0x38
//! ```
//!
//! Nothing is ever sent twice and nothing is committed that was not asked for: what a broken connection leaves open
//! is for the owner to find out.
//!
//! Shape A of mq-wire-observed.md it stays, with FAP 12 and ConvPerSocket 0, which every queue manager grants. Shape B
//! would bring heartbeats between calls (here TCP's keep-alive finds a dead host) and a socket for several
//! conversations (here a connection has one); it would cost the password in clear, for from FAP 13 on its protection
//! is not public. FAP 14 has nothing that a client needs.

mod attributes;
mod form;
mod state;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use mq_wire::{
    ApplName, ApplType, ChannelName, Chars, Coding, ControlFlags1, MsgId, QMgrName, Reason, SegmentType,
};

use crate::error::{ConnectionError, OwnerError, PeerError};
use crate::event::CallId;
use crate::link::{Address, Inbound, Message, Outbound};
use crate::negotiate::Agreed;
use crate::reply::Reply;
use crate::request::{Password, Request};
use form::{Form, PutAnswer};
use state::State;

/// Who connects, to what, and how patient it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientConfig {
    /// The server-connection channel.
    pub channel: ChannelName,
    /// The queue manager wanted; blank takes any.
    pub qmgr_name: QMgrName,
    /// The user, or nothing.
    pub user: String,
    /// The password of `user`, sent in clear (FAP 12).
    pub password: Option<Password>,
    /// The application's name.
    pub appl_name: ApplName,
    /// Its kind.
    pub appl_type: ApplType,
    /// Four letters, eight digits.
    pub product_id: Chars<12>,
    /// The longest message in bytes that this end takes.
    pub max_msg_length: u32,
    /// Seconds between heartbeats in a waiting MQGET. The larger of both ends' values counts.
    pub heartbeat_s: u32,
    /// Whether to offer puts without answers (SPIREQUEST). If the queue manager agrees, [`ClientConnection::put`] can
    /// be used; every other put says that it wants an answer.
    pub offers_unanswered_puts: bool,
    /// The most time until MQCONN is answered.
    pub handshake_timeout: Duration,
    /// The most time until a call is answered, beyond the wait interval of MQGET.
    pub reply_timeout: Duration,
}

impl ClientConfig {
    /// The configuration for a channel, with defaults for all else.
    pub fn new(channel: ChannelName) -> Self {
        Self {
            channel,
            qmgr_name: QMgrName::BLANK,
            user: String::new(),
            password: None,
            appl_name: Chars::cut("mq-channel"),
            appl_type: ApplType::UNIX,
            product_id: Chars::cut("MQEG00010000"),
            max_msg_length: 100 * 1024 * 1024,
            heartbeat_s: 60,
            offers_unanswered_puts: false,
            handshake_timeout: Duration::from_secs(30),
            reply_timeout: Duration::from_secs(60),
        }
    }
}

/// Something that the owner of a client connection waits for.
#[expect(clippy::large_enum_variant, reason = "moved once or twice; a box would be one allocation a call")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientEvent {
    /// Calls can be made.
    Connected {
        /// The queue manager's real name.
        qmgr_name: QMgrName,
        /// The connection's id, where the queue manager gives one.
        connection_id: [u8; 24],
        /// The longest message that the channel takes.
        max_msg_length: u32,
    },
    /// MQCONN failed; the connection is over.
    Refused(Reason),
    /// The answer to a call.
    Reply {
        /// The call.
        call: CallId,
        /// Its answer; a failure is always [`Reply::Plain`].
        reply: Reply,
    },
    /// The answer to [`Request::Reserve`], if it is not a failure.
    Reserved {
        /// The call.
        call: CallId,
        /// The ids.
        ids: ReservedIds,
    },
}

/// Message ids that the queue manager will give to nobody else (mq-wire-observed-base.md 3.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReservedIds {
    /// The first one.
    pub base: MsgId,
    /// How many.
    pub granted: u32,
    /// From this byte on they are counted up, the first byte fastest.
    pub counter_offset: usize,
}

/// What was agreed with the queue manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientTerms {
    /// The level of the protocol.
    pub fap_level: u8,
    /// The longest message in bytes.
    pub max_msg_length: u32,
    /// The longest segment in bytes.
    pub segment_bytes_max: u32,
    /// Seconds between heartbeats in a waiting MQGET; 0 for none.
    pub heartbeat_s: u32,
    /// Whether a message may be longer than a segment.
    pub splits_messages: bool,
    /// Whether puts with ASYNC_RESPONSE are not answered.
    pub unanswered_puts: bool,
}

/// One connection to a queue manager, from its first byte to its last.
#[derive(Debug)]
pub struct ClientConnection {
    shared: Shared,
    state: State,
}

/// What every state has.
#[derive(Debug)]
struct Shared {
    config: Arc<ClientConfig>,
    inbound: Inbound,
    outbound: Outbound,
    events: VecDeque<ClientEvent>,
    calls: u64,
    /// When what is awaited must be there.
    deadline: Option<Instant>,
    /// Seconds between signs of life while an MQGET waits.
    heartbeat_s: u32,
    /// Whether a call may have several segments.
    splits_messages: bool,
    /// Bytes that came since a segment or an answer has begun that has not ended.
    partial_bytes: usize,
    /// When something last came.
    heard: Instant,
}

impl ClientConnection {
    /// A connection over a socket that was just made: the first bytes are ready to be sent.
    pub fn new(config: Arc<ClientConfig>, now: Instant) -> Self {
        let mut outbound = Outbound::new(Coding::NATIVE);
        let proposal = State::proposal(&config);
        State::propose(&proposal, &mut outbound);
        let shared = Shared {
            inbound: Inbound::new(),
            outbound,
            events: VecDeque::new(),
            calls: 0,
            deadline: Some(now + config.handshake_timeout),
            heartbeat_s: 0,
            splits_messages: true,
            partial_bytes: 0,
            heard: now,
            config,
        };
        Self { shared, state: State::Proposing { proposal: Box::new(proposal), rounds: 1 } }
    }

    /// Makes a call. There is one at a time; its answer comes as [`ClientEvent::Reply`].
    pub fn call(&mut self, now: Instant, request: Request) -> Result<CallId, OwnerError> {
        let agreed = self.idle()?;
        let (form, message) = self.ask(request, agreed, PutAnswer::Awaited)?;
        self.shared.outbound.call(Address::PLAIN, &message);
        self.shared.calls += 1;
        let call = CallId { conversation: 0, number: self.shared.calls };
        self.shared.heard = now;
        self.shared.deadline = form.patience(self.shared.config.reply_timeout).map(|patience| now + patience);
        self.state = State::Calling { agreed, call, form };
        Ok(call)
    }

    /// Makes an MQPUT or MQPUT1 that is not answered, where [`ClientTerms::unanswered_puts`] allows it. The next call
    /// can be made at once; what became of the put is for MQSTAT to tell.
    pub fn put(&mut self, request: Request) -> Result<(), OwnerError> {
        let agreed = self.idle()?;
        if !agreed.spi {
            return Err(OwnerError::CallNotPossible("without an answer, which was not agreed"));
        }
        if !matches!(request, Request::Put { .. } | Request::Put1 { .. }) {
            return Err(OwnerError::CallNotPossible("without an answer, which only puts can be"));
        }
        let (_, message) = self.ask(request, agreed, PutAnswer::None)?;
        self.shared.outbound.call(Address::PLAIN, &message);
        Ok(())
    }

    /// What was agreed, while the connection stands.
    pub fn terms(&self) -> Option<ClientTerms> {
        let (State::Connected { agreed } | State::Calling { agreed, .. }) = &self.state else { return None };
        Some(ClientTerms {
            fap_level: agreed.fap_level,
            max_msg_length: agreed.max_msg_length,
            segment_bytes_max: agreed.segment_bytes_max,
            heartbeat_s: agreed.heartbeat_s,
            splits_messages: self.shared.splits_messages,
            unanswered_puts: agreed.spi,
        })
    }

    /// Whether everything is said: when all output is sent, close the socket.
    pub fn is_finished(&self) -> bool {
        matches!(self.state, State::Closed) && self.shared.outbound.is_empty()
    }

    /// Takes what was read from the socket.
    pub fn handle_bytes(&mut self, now: Instant, bytes: &[u8]) -> Result<(), ConnectionError> {
        if matches!(self.state, State::Closed) {
            return Ok(());
        }
        self.shared.heard = now;
        self.shared.inbound.push(bytes);
        while let Some(arrived) = self.shared.inbound.next(now).map_err(|error| self.fail(error.into()))? {
            let state = std::mem::replace(&mut self.state, State::Closed);
            let next = state.handle(&arrived, &mut self.shared).map_err(|error| self.fail(error))?;
            if matches!(next, State::Closed) {
                self.close();
            }
            self.state = next;
        }
        let is_partial = self.shared.inbound.is_partial();
        self.shared.partial_bytes = if is_partial { self.shared.partial_bytes + bytes.len() } else { 0 };
        if let State::Calling { agreed, form, .. } = &self.state
            && is_partial
        {
            // Twice, for the headers of its segments: an answer without end is none.
            let max = agreed.call_bytes_max();
            if self.shared.partial_bytes > 2 * max {
                let error = PeerError::CallLength { segment: form.answer_type(), max };
                return Err(self.fail(error.into()));
            }
            // A long answer is on its way: as long as it goes on, it is in time.
            let more = now + self.shared.config.reply_timeout;
            self.shared.deadline = self.shared.deadline.map(|at| at.max(more));
        }
        Ok(())
    }

    /// The queue manager has closed its half of the socket. An error unless the connection was over.
    pub fn handle_end_of_stream(&mut self) -> Result<(), ConnectionError> {
        if matches!(self.state, State::Closed) {
            return Ok(());
        }
        let name = self.state.name();
        Err(self.fail(ConnectionError::Closed(name)))
    }

    /// The time of [`Self::poll_timeout`] has come.
    pub fn handle_timeout(&mut self, now: Instant) -> Result<(), ConnectionError> {
        if self.poll_timeout().is_some_and(|at| at <= now) {
            let name = self.state.name();
            return Err(self.fail(ConnectionError::Silent(name)));
        }
        Ok(())
    }

    /// When [`Self::handle_timeout`] wants to be called.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let silence = match &self.state {
            State::Calling { form, .. } if form.waits() => {
                self.silence_max().map(|max| self.shared.heard + max)
            }
            _ => None,
        };
        [self.shared.deadline, silence].into_iter().flatten().min()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<ClientEvent> {
        self.shared.events.pop_front()
    }

    /// The next bytes to send, in order.
    pub fn poll_output(&mut self) -> Option<Bytes> {
        self.shared.outbound.poll()
    }

    /// How long a queue manager may be silent while an MQGET waits: interval and a minute, twice the interval when
    /// that is shorter (mq-wire.md 3.11), and never less than it takes a busy one to get round to it.
    fn silence_max(&self) -> Option<Duration> {
        let interval = Duration::from_secs(self.shared.heartbeat_s.into());
        let grace = interval.clamp(Duration::from_secs(30), Duration::from_secs(60));
        (self.shared.heartbeat_s != 0).then(|| interval + grace)
    }

    /// A call can be made only while none is open.
    fn idle(&self) -> Result<Agreed, OwnerError> {
        match &self.state {
            State::Connected { agreed } => Ok(*agreed),
            State::Calling { .. } => Err(OwnerError::CallNotPossible("while another one is open")),
            State::Closed => Err(OwnerError::CallNotPossible("after the end of the connection")),
            _ => Err(OwnerError::CallNotPossible("before the connection stands")),
        }
    }

    fn ask(
        &self,
        request: Request,
        agreed: Agreed,
        answer: PutAnswer,
    ) -> Result<(Form, Message), OwnerError> {
        let room = if self.shared.splits_messages { u32::MAX } else { agreed.segment_bytes_max };
        form::ask(request, agreed, answer, room, self.shared.outbound.coding())
    }

    fn close(&mut self) {
        self.state = State::Closed;
        self.shared.deadline = None;
        self.shared.inbound.clear();
    }

    /// Tells the queue manager that this end closes, and closes.
    fn fail(&mut self, error: ConnectionError) -> ConnectionError {
        if error.status().is_some() {
            self.shared.outbound.control(Address::PLAIN, SegmentType::STATUS, END_FLAGS, &[]);
        }
        self.close();
        error
    }
}

/// With a header-only STATUS and these flags a client ends (mq-wire-observed-base.md 2.3): 0x38.
const END_FLAGS: ControlFlags1 =
    ControlFlags1::FIRST.union(ControlFlags1::LAST).union(ControlFlags1::CLOSE_CHANNEL);
