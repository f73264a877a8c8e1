//! The queue manager's end of an MQI channel, with and without sharing (mq-wire.md 3.10.1, 3.10.2).
//!
//! ```text
//!           INITIAL_DATA             channel_accepted             INITIAL_DATA
//!   Start ───────────────> Deciding ──────────────────> Agreeing ──────────────> Open
//!                             │ channel_refused: STATUS                            │ end of the client
//!                             v                                                    v
//!                           Closed <───────────────────────────────────────────────┘
//! ```
//!
//! The second initial data fix the shape. What happens while the channel is open is in `open`, a conversation in
//! `conversation`. Whatever does not fit a state ends the connection with a STATUS. Until MQCONN has come and after
//! MQDISC a deadline runs, since clients never time out (mq-wire-observed.md 2).
//!
//! Memory of a connection: of each conversation at most one call of the agreed MAXMSGL and 8 KiB that is being joined,
//! and what the owner holds of an open one; of all of them together [`HELD_BYTES_MAX`] of calls that wait behind puts
//! that are not answered, and what the owner pushed at once; and one segment.

mod conversation;
mod form;
mod heartbeat;
mod open;
mod state;
mod xa;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use mq_wire::{Chars, Coding, QMgrName, StatusCode};

use crate::error::{ConnectionError, OwnerError};
use crate::event::{CallId, ChannelTerms, Event};
use crate::link::{Inbound, Outbound};
use crate::reply::Reply;
use crate::server::open::Goes;
use crate::server::state::State;

/// What does not differ between the connections of a queue manager.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerConfig {
    /// The queue manager.
    pub qmgr_name: QMgrName,
    /// Its identifier: name, `_`, date and time of its creation.
    pub qmgr_id: Chars<48>,
    /// Four letters, eight digits; `MQMM09040100` is a queue manager 9.4.1.
    pub product_id: Chars<12>,
    /// Byte order and character set of everything that is sent. Clients take them over.
    pub coding: Coding,
    /// The highest FAP level: 12 and less is without sharing; higher ones than 14 are read, but no tool shows them.
    pub fap_level_max: u8,
    /// Takes part in the protection of passwords, which nobody undoes here.
    pub random: [u8; 12],
    /// Longest segment in bytes.
    pub max_transmission: u32,
    /// The most time from the start until MQCONN has come, and from MQDISC to the end.
    pub handshake_timeout: Duration,
    /// The most time that a segment or call which has begun may pause, whatever else comes on a shared socket.
    pub stall_timeout: Duration,
}

impl ServerConfig {
    /// The configuration of a queue manager, with defaults for all else.
    pub fn new(qmgr_name: QMgrName, qmgr_id: Chars<48>) -> Self {
        Self {
            qmgr_name,
            qmgr_id,
            product_id: Chars::cut("MQMM09040100"),
            coding: Coding::NATIVE,
            fap_level_max: 14,
            random: [0; 12],
            max_transmission: 32_748,
            handshake_timeout: Duration::from_secs(60),
            stall_timeout: Duration::from_secs(120),
        }
    }
}

/// One connection of a client, from its first byte to its last.
///
/// After an error, and after [`Event::Ended`], the owner sends what [`Self::poll_output`] still has and closes the
/// socket; calls that are open need no reply then, and one that comes is ignored. The owner backs out what is left
/// over, unless [`Request::Disconnect`](crate::Request::Disconnect) was answered.
#[derive(Debug)]
pub struct ServerConnection {
    shared: Shared,
    state: State,
}

/// Bytes of calls that may wait before no more should be read.
pub const HELD_BYTES_MAX: usize = 256 * 1024;

/// What every state has.
#[derive(Debug)]
struct Shared {
    config: Arc<ServerConfig>,
    inbound: Inbound,
    outbound: Outbound,
    events: VecDeque<Event>,
    calls: u64,
    /// Whether the socket is shared.
    shared: bool,
    /// Runs until the second initial data.
    deadline: Option<Instant>,
    /// When something last came.
    heard: Instant,
}

impl ServerConnection {
    /// A connection that was just accepted.
    pub fn new(config: Arc<ServerConfig>, now: Instant) -> Self {
        let shared = Shared {
            inbound: Inbound::new(),
            outbound: Outbound::new(config.coding),
            events: VecDeque::new(),
            calls: 0,
            shared: false,
            deadline: Some(now + config.handshake_timeout),
            heard: now,
            config,
        };
        Self { shared, state: State::Start }
    }

    /// Whether everything is said: when all output is sent, close the socket.
    pub fn is_finished(&self) -> bool {
        matches!(self.state, State::Closed) && self.shared.outbound.is_empty()
    }

    /// Whether the client has ended in order or was refused by the owner: an end of the stream is no fault now.
    pub fn is_ended(&self) -> bool {
        match &self.state {
            State::Closed => true,
            State::Open(open) => open.is_over(),
            _ => false,
        }
    }

    /// Whether more should be read from the socket now. Else calls of a conversation wait for the answers of puts that
    /// its client did not wait for: replies change that.
    pub fn wants_input(&self) -> bool {
        match &self.state {
            State::Open(open) => open.held_bytes() <= HELD_BYTES_MAX,
            _ => true,
        }
    }

    /// Takes what was read from the socket. Complete segments are used up, the rest of one stays here: at most the
    /// agreed segment, and of a call at most the agreed message and its structures.
    pub fn handle_bytes(&mut self, now: Instant, bytes: &[u8]) -> Result<(), ConnectionError> {
        if matches!(self.state, State::Closed) {
            return Ok(());
        }
        self.shared.heard = now;
        self.shared.inbound.push(bytes);
        loop {
            let state = &self.state;
            let call_bytes_max = |conversation| state.call_bytes_max(conversation);
            let next = self.shared.inbound.next_within(now, call_bytes_max);
            let Some(arrived) = next.map_err(|error| self.fail(error.into()))? else { break };
            let state = std::mem::replace(&mut self.state, State::Closed);
            let next = state.handle(arrived, now, &mut self.shared).map_err(|e| self.fail(e))?;
            if matches!(next, State::Closed) {
                self.shared.inbound.clear();
            }
            self.state = next;
        }
        Ok(())
    }

    /// The client has closed its half of the socket. An error unless that was to be expected.
    pub fn handle_end_of_stream(&mut self) -> Result<(), ConnectionError> {
        let state = std::mem::replace(&mut self.state, State::Closed);
        self.shared.deadline = None;
        self.shared.inbound.clear();
        match state {
            State::Closed => Ok(()),
            State::Open(open) if open.is_over() => {
                self.shared.events.push_back(Event::Ended);
                Ok(())
            }
            other => Err(ConnectionError::Closed(other.name())),
        }
    }

    /// The time of [`Self::poll_timeout`] has come.
    pub fn handle_timeout(&mut self, now: Instant) -> Result<(), ConnectionError> {
        let stalled = self.stall_deadline().is_some_and(|at| at <= now);
        if self.shared.deadline.is_some_and(|at| at <= now) || stalled {
            let name = self.state.name();
            return Err(self.fail(ConnectionError::Silent(name)));
        }
        let State::Open(open) = &mut self.state else { return Ok(()) };
        match open.handle_timeout(now, &mut self.shared) {
            Ok(Goes::On) => Ok(()),
            Ok(Goes::Ended) => {
                self.close();
                self.shared.events.push_back(Event::Ended);
                Ok(())
            }
            Err(error) => Err(self.fail(error)),
        }
    }

    /// When [`Self::handle_timeout`] wants to be called.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let open = match &self.state {
            State::Open(open) => open.poll_timeout(self.shared.heard),
            _ => None,
        };
        [self.shared.deadline, self.stall_deadline(), open].into_iter().flatten().min()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.shared.events.pop_front()
    }

    /// The next bytes to send, in order.
    pub fn poll_output(&mut self) -> Option<Bytes> {
        self.shared.outbound.poll()
    }

    /// The channel of [`Event::ChannelRequested`] exists and has these terms.
    pub fn channel_accepted(&mut self, terms: ChannelTerms) -> Result<(), ConnectionError> {
        match std::mem::replace(&mut self.state, State::Closed) {
            State::Deciding { proposal } => {
                self.state = State::accepted(&proposal, terms, &mut self.shared);
                Ok(())
            }
            State::Closed => Ok(()),
            _ => Err(self.fail(OwnerError::NoChannelRequested.into())),
        }
    }

    /// The channel of [`Event::ChannelRequested`] cannot be had: the client is told and the connection is finished.
    pub fn channel_refused(&mut self, code: StatusCode) -> Result<(), ConnectionError> {
        match std::mem::replace(&mut self.state, State::Closed) {
            State::Deciding { .. } => {
                self.shared.refuse(code);
                self.close();
                Ok(())
            }
            State::Closed => Ok(()),
            _ => Err(self.fail(OwnerError::NoChannelRequested.into())),
        }
    }

    /// The answer to a call. A failed MQCONN, and every MQDISC, ends what can be asked.
    pub fn reply(&mut self, now: Instant, call: CallId, reply: Reply) -> Result<(), ConnectionError> {
        let outcome = match &mut self.state {
            State::Closed => return Ok(()),
            State::Open(open) => open.reply(call, reply, now, &mut self.shared),
            _ => Err(OwnerError::NoSuchCall.into()),
        };
        outcome.map_err(|error| self.fail(error))
    }

    /// Whether the client waits for the answer to a call. It does not where it put a message asynchronously: then the
    /// reply only tells what became of it.
    pub fn is_awaited(&self, call: CallId) -> bool {
        match &self.state {
            State::Open(open) => open.is_awaited(call),
            _ => true,
        }
    }

    /// Ends the connection because the queue manager does: waiting gets are told so (2162), whatever else comes sees a
    /// broken connection.
    pub fn terminate(&mut self) {
        match &mut self.state {
            State::Closed => return,
            State::Start => {}
            State::Open(open) => {
                if open.stop(&mut self.shared) {
                    self.shared.refuse(StatusCode::QM_TERMINATING);
                }
            }
            State::Deciding { .. } | State::Agreeing { .. } => {
                self.shared.refuse(StatusCode::QM_TERMINATING);
            }
        }
        self.close();
    }

    fn stall_deadline(&self) -> Option<Instant> {
        let since = self.shared.inbound.partial_since(self.shared.heard)?;
        Some(since + self.shared.config.stall_timeout)
    }

    fn close(&mut self) {
        self.state = State::Closed;
        self.shared.deadline = None;
        self.shared.inbound.clear();
    }

    /// Tells the client, where it makes sense, and closes.
    fn fail(&mut self, error: ConnectionError) -> ConnectionError {
        if let Some(code) = error.status() {
            self.shared.refuse(code);
        }
        self.close();
        error
    }
}

impl Shared {
    fn next_call(&mut self) -> u64 {
        self.calls += 1;
        self.calls
    }
}
