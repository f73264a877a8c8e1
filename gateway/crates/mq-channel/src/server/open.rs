//! A channel that has started: its conversations, and what concerns the socket as a whole.
//!
//! Without sharing there is one conversation, 0, in TSH segments. On a shared socket conversations come and go with
//! SOCKET_ACTION, each segment names its own, and heartbeats go in TSHC both ways (mq-wire-observed-base.md 3.4, 7).

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use mq_wire::{
    Body, ControlFlags1, Reason, SegmentKind, SegmentType, SocketAction, SocketActionType, Writer,
};

use super::Shared;
use super::conversation::{Around, Conversation, Identity, unexpected};
use super::heartbeat::SocketHeartbeat;
use crate::error::{ConnectionError, PeerError};
use crate::event::{CallId, ChannelTerms, Event};
use crate::link::{Address, Arrived};
use crate::negotiate::Agreed;
use crate::reply::Reply;

/// Whether the channel goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Goes {
    /// It does.
    On,
    /// The client has ended in order.
    Ended,
}

/// The channel.
#[derive(Debug)]
pub(crate) struct Open {
    agreed: Agreed,
    /// DISCINT.
    idle: Option<Duration>,
    /// Who the socket's conversations are when they do not say it themselves.
    uid: Identity,
    conversations: BTreeMap<u32, Conversation>,
    heartbeat: Option<SocketHeartbeat>,
    /// Runs while there is no conversation.
    deadline: Option<Instant>,
}

impl Open {
    /// The channel with its first conversation.
    pub(crate) fn new(agreed: Agreed, terms: &ChannelTerms, first: u32, deadline: Instant) -> Self {
        let conversation = Conversation::new(first, Identity::default(), deadline);
        let heartbeat = if agreed.is_shared() { SocketHeartbeat::new(agreed.heartbeat_s) } else { None };
        Self {
            agreed,
            idle: (terms.idle_s != 0).then(|| Duration::from_secs(terms.idle_s.into())),
            uid: Identity::default(),
            conversations: BTreeMap::from([(first, conversation)]),
            heartbeat,
            deadline: None,
        }
    }

    /// What it was doing, to follow "nothing came" or "unexpected".
    pub(crate) fn name(&self) -> &'static str {
        let mut conversations = self.conversations.values();
        match (conversations.next(), conversations.next()) {
            (None, _) => "without a conversation",
            (Some(only), None) => only.name(),
            _ => "on a shared socket",
        }
    }

    /// The most bytes of a call of a conversation; none if there is no such conversation.
    pub(crate) fn call_bytes_max(&self, conversation: u32) -> Option<usize> {
        self.conversations.get(&conversation).map(|found| found.call_bytes_max(&self.agreed))
    }

    /// Bytes of calls that wait for their turn.
    pub(crate) fn held_bytes(&self) -> usize {
        self.conversations.values().map(Conversation::held_bytes).sum()
    }

    /// Whether nothing is left to be told: an end of the stream is in order.
    pub(crate) fn is_over(&self) -> bool {
        self.conversations.values().all(Conversation::is_disconnected)
    }

    /// A segment, or a call whose segments have been joined, has come.
    pub(crate) fn handle(
        &mut self,
        arrived: Arrived,
        now: Instant,
        shared: &mut Shared,
    ) -> Result<Goes, ConnectionError> {
        let (kind, segment_type) = (arrived.header.kind, arrived.header.segment_type);
        if (kind == SegmentKind::Tsh) == self.agreed.is_shared() {
            return Err(PeerError::HeaderKind.into());
        }
        match segment_type {
            SegmentType::HEARTBEAT => self.heartbeat(&arrived, shared),
            SegmentType::SOCKET_ACTION if self.agreed.is_shared() => {
                return self.action(&arrived, now, shared);
            }
            SegmentType::STATUS => return self.status(&arrived),
            _ => {
                let id = arrived.header.conversation_id;
                let Some(conversation) =
                    self.conversations.get_mut(&id).filter(|_| kind != SegmentKind::Tshc)
                else {
                    return Err(PeerError::Conversation(id).into());
                };
                let mut around = Around { agreed: &self.agreed, now, shared };
                conversation.handle(arrived, &mut self.uid, &mut around)
            }
        }
        .map(|()| Goes::On)
    }

    /// The owner answers a call.
    pub(crate) fn reply(
        &mut self,
        call: CallId,
        reply: Reply,
        now: Instant,
        shared: &mut Shared,
    ) -> Result<(), ConnectionError> {
        // It ended before its owner could answer.
        let Some(conversation) = self.conversations.get_mut(&call.conversation) else { return Ok(()) };
        let mut around = Around { agreed: &self.agreed, now, shared };
        conversation.reply(call, reply, &mut self.uid, &mut around)
    }

    /// Whether the client waits for the answer to a call.
    pub(crate) fn is_awaited(&self, call: CallId) -> bool {
        self.conversations.get(&call.conversation).is_none_or(|conversation| conversation.is_awaited(call))
    }

    /// The queue manager stops. Says whether a status should follow: without sharing a client that was just answered
    /// takes it for the answer.
    pub(crate) fn stop(&mut self, shared: &mut Shared) -> bool {
        let mut answered = false;
        for conversation in self.conversations.values_mut() {
            answered |= conversation.stop(shared);
        }
        self.agreed.is_shared() || !answered
    }

    /// When [`Self::handle_timeout`] has something to do.
    pub(crate) fn poll_timeout(&self, heard: Instant) -> Option<Instant> {
        let conversations = self.conversations.values().flat_map(|conversation| {
            let (idle_at, beat) = (conversation.idle_at(self.idle), conversation.heartbeat_at(heard));
            [conversation.deadline(), idle_at, beat].into_iter().flatten()
        });
        let socket = self.heartbeat.as_ref().map(|heartbeat| heartbeat.poll_timeout(heard));
        conversations.chain(socket).chain(self.deadline).min()
    }

    /// What is due.
    pub(crate) fn handle_timeout(
        &mut self,
        now: Instant,
        shared: &mut Shared,
    ) -> Result<Goes, ConnectionError> {
        let late = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        let heard = shared.heard;
        let mut over = late(self.deadline);
        let (mut ended, mut given_up) = (Vec::new(), Vec::new());
        let in_time = |found: &Conversation| found.is_alive() && !late(found.deadline());
        let is_used = self.conversations.values().any(in_time);
        for (id, conversation) in &mut self.conversations {
            if late(conversation.deadline()) {
                if conversation.is_disconnected() {
                    // The work is done and was answered: that the client does not hang up is nobody's loss.
                    ended.push(*id);
                } else if is_used {
                    // The others on the socket are not to suffer. No segment ends a single conversation from here: the
                    // client hears of it when it asks for something, MQCONN at first.
                    conversation.give_up(Reason::CONNECTION_BROKEN);
                    given_up.push(*id);
                } else {
                    return Err(ConnectionError::Silent(conversation.name()));
                }
            }
            if late(conversation.idle_at(self.idle)) {
                conversation.give_up(Reason::CONNECTION_BROKEN);
                given_up.push(*id);
            }
            if let Some(heartbeat) = conversation.heartbeat() {
                heartbeat.handle_timeout(now, heard, &mut shared.outbound)?;
            }
        }
        for id in &ended {
            self.conversations.remove(id);
        }
        over |= self.conversations.is_empty() && !ended.is_empty();
        if over {
            return Ok(Goes::Ended);
        }
        let events = ended.into_iter().chain(given_up);
        shared.events.extend(events.map(|conversation| Event::ConversationEnded { conversation }));
        if !self.conversations.values().any(Conversation::is_alive) && !self.is_over() {
            return Err(ConnectionError::Idle);
        }
        if let Some(heartbeat) = &mut self.heartbeat {
            heartbeat.handle_timeout(now, heard, &mut shared.outbound)?;
        }
        Ok(Goes::On)
    }

    fn heartbeat(&mut self, arrived: &Arrived, shared: &mut Shared) -> Result<(), ConnectionError> {
        // Without sharing they belong to an MQGET; the client of a shared socket sends them at any time.
        let starting = self.conversations.values().all(|conversation| conversation.deadline().is_some());
        if starting && !self.agreed.is_shared() {
            return Err(unexpected(arrived.header.segment_type, self.name()));
        }
        // Without CONFIRM_REQUEST it is the answer to ours (mq-wire.md 3.11).
        if arrived.header.control_flags_1.contains(ControlFlags1::CONFIRM_REQUEST) {
            let to = if self.agreed.is_shared() { Address::SOCKET } else { Address::PLAIN };
            let whole = ControlFlags1::FIRST | ControlFlags1::LAST;
            shared.outbound.control(to, SegmentType::HEARTBEAT, whole, &[]);
        }
        Ok(())
    }

    /// A conversation starts or ends.
    fn action(
        &mut self,
        arrived: &Arrived,
        now: Instant,
        shared: &mut Shared,
    ) -> Result<Goes, ConnectionError> {
        let segment = arrived.header.segment_type;
        let action = match Body::decode(&arrived.header, &arrived.body, self.agreed.fap_level) {
            Ok(Body::SocketAction(action)) => action,
            Ok(_) => return Err(unexpected(segment, self.name())),
            Err(error) => return Err(PeerError::Decode { segment, error }.into()),
        };
        let id = action.conversation_id;
        match action.action {
            SocketActionType::START => {
                let is_full = self.conversations.len() >= self.agreed.conversations as usize;
                if is_full || self.conversations.contains_key(&id) {
                    return Err(PeerError::Conversation(id).into());
                }
                let deadline = now + shared.config.handshake_timeout;
                self.conversations.insert(id, Conversation::new(id, self.uid.clone(), deadline));
                self.deadline = None;
                // The ids of the question; the numbers behind them are for traces only (mq-wire.md 3.9).
                let answer = SocketAction { action: SocketActionType::STARTED, ..action };
                let mut body = BytesMut::new();
                answer.encode(&mut Writer::new(&mut body, shared.outbound.coding()));
                let to = Address::conversation(id, action.request_id);
                shared.outbound.control(to, segment, ControlFlags1::empty(), &body);
                Ok(Goes::On)
            }
            SocketActionType::END => {
                if self.conversations.remove(&id).is_none() {
                    return Err(PeerError::Conversation(id).into());
                }
                shared.inbound.forget(id);
                shared.events.push_back(Event::ConversationEnded { conversation: id });
                if !self.conversations.is_empty() {
                    return Ok(Goes::On);
                }
                // With the last one the client says that it closes the socket (mq-wire-observed-base.md 2.3).
                if arrived.header.control_flags_1.contains(ControlFlags1::CLOSE_CHANNEL) {
                    return Ok(Goes::Ended);
                }
                self.deadline = Some(now + shared.config.handshake_timeout);
                Ok(Goes::On)
            }
            other => Err(PeerError::SocketAction(other).into()),
        }
    }

    fn status(&self, arrived: &Arrived) -> Result<Goes, ConnectionError> {
        if self.is_over() {
            return Ok(Goes::Ended);
        }
        let segment = arrived.header.segment_type;
        match Body::decode(&arrived.header, &arrived.body, self.agreed.fap_level) {
            Ok(Body::Status(Some(status))) => Err(ConnectionError::Refused(status.code)),
            Ok(_) => Err(ConnectionError::Closed(self.name())),
            Err(error) => Err(PeerError::Decode { segment, error }.into()),
        }
    }
}
