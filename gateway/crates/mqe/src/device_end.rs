//! The device's end: the device's half of ONCE.md 2 and 3 as a machine without socket, file or clock.
//!
//! ```text
//!  Off ──connected──> Settling ──HELLO──> Greeting ──WELCOME──> Persisting ──persisted, RESUME──> Resuming ──RESUMED──> Ready
//!   ^                     (all decided)                                                                                  │
//!   └──────────────────────────────── disconnected, ERROR that ends, silence ───────────────────────────────────────────┘
//! ```
//!
//! The owner has a socket and a durable store. It carries out [`Action`]s in their order and says when something is
//! durable. A message is the owner's to decide ([`Device::stored`], [`Device::reject`], [`Device::release`]); it says
//! `stored` only when the message *and* its [`DeviceRecord::Noted`] are on disk.

mod record;
mod state;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use bytes::Bytes;
use mq_wire::{QMgrName, QName, Reason};

use crate::frame::{
    Decoded, ErrorCode, FRAME_BYTES_MAX, Frame, Hello, Limits, MessageHead, Put, PutOutcome, Refusal,
    Splitter, VERSION, Welcome,
};
use crate::{DeviceMessage, DeviceName, RequestId, Sequence, Uid};

pub use record::{DeviceRecord, Records};
pub use state::{DeviceState, OutboxPut};

/// How a device behaves.
#[derive(Debug, Clone)]
pub struct DeviceSettings {
    /// Its name.
    pub name: DeviceName,
    /// What proves who it is.
    pub token: Bytes,
    /// What it is, for people.
    pub product: String,
    /// Whether it asks for messages by itself when it is ready.
    pub receive: bool,
    /// Messages of a window.
    pub window_messages: u32,
    /// Bytes of a window.
    pub window_bytes: u32,
    /// How long a GET waits at the gateway; 0 asks once, then only when [`Device::ask`] says so.
    pub wait_ms: u32,
    /// Messages after which it confirms although more of the window is to be stored.
    pub confirm_batch: usize,
    /// For so long it waits for an answer to HELLO and RESUME.
    pub handshake_timeout: Duration,
}

impl DeviceSettings {
    /// Reasonable ones.
    pub fn new(name: DeviceName) -> Self {
        Self {
            name,
            token: Bytes::new(),
            product: String::new(),
            receive: true,
            window_messages: 64,
            window_bytes: 256 * 1024,
            wait_ms: 30_000,
            confirm_batch: 32,
            handshake_timeout: Duration::from_secs(30),
        }
    }
}

/// Names a [`Action::Persist`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PersistToken(u64);

/// What the owner must do, in this order.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Append these records to the device's store, make them durable, and call [`Device::persisted`].
    Persist {
        /// To say it with.
        token: PersistToken,
        /// In this order.
        records: Vec<DeviceRecord>,
    },
    /// A message came that the device does not have: decide it.
    Deliver {
        /// Its name, deliveries, and what is left of its life.
        head: MessageHead,
        /// The message, all but the payload ([`DeviceMessage::from_envelope`]).
        envelope: Bytes,
        /// The payload.
        payload: Bytes,
    },
    /// A put was decided. May be said again after a crash of the device.
    PutDecided {
        /// Which.
        sequence: Sequence,
        /// How; never `Busy`.
        outcome: PutOutcome,
    },
    /// A GET brought nothing.
    Empty,
    /// The connection is over: close the socket. `retry_after` says when to come again, if the gateway did.
    Ended {
        /// Why.
        why: EndWhy,
        /// When to come again.
        retry_after: Option<Duration>,
    },
}

/// Why a connection ended on the device's side.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EndWhy {
    /// The gateway said so.
    #[error("the gateway says: {code}: {text}")]
    Gateway {
        /// What.
        code: ErrorCode,
        /// For people.
        text: String,
    },
    /// The gateway sent what cannot be read or may not come.
    #[error("the gateway sent what cannot be read: {0}")]
    Protocol(String),
    /// Nothing came for too long.
    #[error("the gateway is silent")]
    Silent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Off,
    /// Connected; what was read from the older connection is not decided yet, so RESUME could not name it.
    Settling,
    Greeting,
    /// Incarnation and session become durable.
    Persisting(PersistToken),
    Resuming,
    Ready,
}

/// What a token's records were for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Pending {
    Resume,
    Put(Sequence),
    Decided(Sequence),
    Refusal(Uid),
    Note,
}

/// The device. See the module's text.
#[derive(Debug)]
pub struct Device {
    settings: DeviceSettings,
    state: DeviceState,
    phase: Phase,
    splitter: Splitter,
    output: VecDeque<Bytes>,
    actions: VecDeque<Action>,
    limits: Limits,
    heard: Instant,
    said: Instant,
    next_request: u32,
    next_token: u64,
    pending: BTreeMap<PersistToken, Pending>,
    /// Came, and the owner has not decided. False: not even told yet.
    undecided: BTreeMap<Uid, bool>,
    to_confirm: BTreeSet<Uid>,
    confirming: Option<(RequestId, Vec<Uid>)>,
    /// What RESUME named.
    resuming: Vec<Uid>,
    /// Refusals that this session has said.
    refusals_said: BTreeSet<Uid>,
    getting: Option<RequestId>,
    want: bool,
    /// Puts that are not durable here yet.
    unwritten: BTreeSet<Sequence>,
    /// Decided puts whose record is not durable here yet: they hold the credit.
    settling: BTreeSet<Sequence>,
    /// The highest sequence that this session has sent.
    sent: Sequence,
    busy_until: Option<Instant>,
}

impl Device {
    /// A device with what its store holds.
    pub fn new(now: Instant, settings: DeviceSettings, state: DeviceState) -> Self {
        Self {
            want: settings.receive,
            settings,
            state,
            phase: Phase::Off,
            splitter: Splitter::new(FRAME_BYTES_MAX),
            output: VecDeque::new(),
            actions: VecDeque::new(),
            limits: Limits::default(),
            heard: now,
            said: now,
            next_request: 0,
            next_token: 0,
            pending: BTreeMap::new(),
            undecided: BTreeMap::new(),
            to_confirm: BTreeSet::new(),
            confirming: None,
            resuming: Vec::new(),
            refusals_said: BTreeSet::new(),
            getting: None,
            unwritten: BTreeSet::new(),
            settling: BTreeSet::new(),
            sent: Sequence(0),
            busy_until: None,
        }
    }

    /// A new connection; an older one is given up, and nothing more is taken from it, read or unread (ONCE.md 2).
    pub fn connected(&mut self, now: Instant) {
        self.disconnected();
        self.phase = Phase::Settling;
        (self.heard, self.said) = (now, now);
        self.pump(now);
    }

    /// The connection is gone.
    pub fn disconnected(&mut self) {
        self.phase = Phase::Off;
        self.splitter = Splitter::new(FRAME_BYTES_MAX);
        self.output.clear();
        // What the owner was not told of never came.
        self.actions.retain(|action| !matches!(action, Action::Deliver { .. }));
        self.undecided.retain(|_, told| *told);
        self.to_confirm.clear();
        self.confirming = None;
        self.resuming.clear();
        self.refusals_said.clear();
        self.getting = None;
        self.sent = Sequence(0);
        self.busy_until = None;
    }

    /// Bytes came from the gateway.
    pub fn handle_bytes(&mut self, now: Instant, bytes: &[u8]) {
        if self.phase == Phase::Off {
            return;
        }
        self.heard = now;
        self.splitter.extend(bytes);
        while self.phase != Phase::Off {
            match self.splitter.next_frame() {
                Ok(None) => break,
                Err(error) => self.end(EndWhy::Protocol(error.to_string()), None),
                Ok(Some(bytes)) => match Frame::decode(&bytes) {
                    Err(error) => self.end(EndWhy::Protocol(error.to_string()), None),
                    Ok((request, Decoded::Frame(frame))) => self.handle_frame(now, request, frame),
                    // A newer gateway may say what an older device does not know.
                    Ok((_, Decoded::Unknown(_))) => {}
                },
            }
        }
        self.pump(now);
    }

    /// The records of an [`Action::Persist`] are durable.
    pub fn persisted(&mut self, now: Instant, token: PersistToken) {
        match self.pending.remove(&token) {
            Some(Pending::Resume) if self.phase == Phase::Persisting(token) => self.send_resume(now),
            Some(Pending::Put(sequence)) => {
                self.unwritten.remove(&sequence);
            }
            Some(Pending::Decided(sequence)) => {
                self.settling.remove(&sequence);
            }
            Some(Pending::Refusal(uid)) => self.say_refusal(now, uid),
            Some(Pending::Resume | Pending::Note) | None => {}
        }
        self.pump(now);
    }

    /// A delivered message and its [`DeviceRecord::Noted`] are durable.
    pub fn stored(&mut self, now: Instant, uid: Uid) {
        if self.undecided.remove(&uid).is_some() {
            self.state.noted.insert(uid);
            if self.phase == Phase::Ready {
                self.to_confirm.insert(uid);
            }
        }
        self.pump(now);
    }

    /// The device can never take a delivered message: it goes to the dead-letter queue.
    pub fn reject(&mut self, now: Instant, uid: Uid, reason: Reason) {
        self.refuse(now, uid, Refusal::Rejected(reason));
    }

    /// The device does not take a delivered message now: it waits again.
    pub fn release(&mut self, now: Instant, uid: Uid) {
        self.refuse(now, uid, Refusal::Released);
    }

    /// Puts a message into the outbox; it goes when it is durable there and the gateway gives credit.
    pub fn put(
        &mut self,
        now: Instant,
        queue: QName,
        queue_manager: QMgrName,
        message: &DeviceMessage,
    ) -> Sequence {
        let sequence = self.state.next_sequence;
        let put = OutboxPut {
            queue,
            queue_manager,
            envelope: message.envelope(),
            payload: message.payload.clone(),
        };
        let record = DeviceRecord::Put { sequence, put };
        self.state.apply(&record);
        self.unwritten.insert(sequence);
        self.persist(vec![record], Pending::Put(sequence));
        self.pump(now);
        sequence
    }

    /// Asks for messages, where the settings do not do it by themselves.
    pub fn ask(&mut self, now: Instant) {
        self.want = true;
        self.pump(now);
    }

    /// Time has come.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.busy_until.is_some_and(|until| until <= now) {
            self.busy_until = None;
        }
        let silent = match self.phase {
            Phase::Off | Phase::Settling | Phase::Persisting(_) => false,
            Phase::Greeting | Phase::Resuming => self.heard + self.settings.handshake_timeout <= now,
            Phase::Ready => self.heard + 3 * self.heartbeat() <= now,
        };
        if silent {
            return self.end(EndWhy::Silent, None);
        }
        if self.phase == Phase::Ready && self.said + self.heartbeat() <= now {
            self.send(now, &Frame::Ping);
        }
        self.pump(now);
    }

    /// When [`Device::handle_timeout`] wants to be called.
    pub fn poll_timeout(&self) -> Option<Instant> {
        match self.phase {
            Phase::Off | Phase::Settling | Phase::Persisting(_) => None,
            Phase::Greeting | Phase::Resuming => Some(self.heard + self.settings.handshake_timeout),
            Phase::Ready => {
                let life = (self.said + self.heartbeat()).min(self.heard + 3 * self.heartbeat());
                Some(self.busy_until.map_or(life, |busy| busy.min(life)))
            }
        }
    }

    /// What must be done.
    pub fn poll_action(&mut self) -> Option<Action> {
        let action = self.actions.pop_front()?;
        if let Action::Deliver { head, .. } = &action
            && let Some(told) = self.undecided.get_mut(&head.uid)
        {
            *told = true;
        }
        Some(action)
    }

    /// What must be written to the socket.
    pub fn poll_output(&mut self) -> Option<Bytes> {
        self.output.pop_front()
    }

    /// Whether RESUME was answered.
    pub fn is_ready(&self) -> bool {
        self.phase == Phase::Ready
    }

    /// Whether there is no connection.
    pub fn is_off(&self) -> bool {
        self.phase == Phase::Off
    }

    /// Whether nothing of its own waits for an answer: all confirmed, all refusals answered, the outbox empty.
    pub fn is_settled(&self) -> bool {
        self.undecided.is_empty()
            && self.state.noted.is_empty()
            && self.state.refusals.is_empty()
            && self.state.outbox.is_empty()
            && self.pending.is_empty()
    }

    /// What its store holds when all records so far are durable.
    pub fn state(&self) -> &DeviceState {
        &self.state
    }

    fn handle_frame(&mut self, now: Instant, request: RequestId, frame: Frame) {
        match (self.phase, frame) {
            (_, Frame::Error { code, retry_after_ms, text }) => {
                if code.ends() {
                    let retry =
                        (retry_after_ms > 0).then(|| Duration::from_millis(u64::from(retry_after_ms)));
                    self.end(EndWhy::Gateway { code, text }, retry);
                }
            }
            (Phase::Greeting, Frame::Welcome(welcome)) => self.handle_welcome(&welcome),
            (Phase::Resuming, Frame::Resumed { .. }) => self.handle_resumed(),
            (Phase::Ready, Frame::Message(head, envelope, payload)) => {
                self.handle_message(head, envelope, payload);
            }
            (Phase::Ready, Frame::End { given, waiting, .. }) => {
                if self.getting == Some(request) {
                    self.getting = None;
                    // The gateway may stop at many expired ones before it comes to those that are not.
                    let empty = given == 0 && waiting == 0;
                    self.want = self.settings.receive && (!empty || self.settings.wait_ms > 0);
                    if empty {
                        self.actions.push_back(Action::Empty);
                    }
                }
            }
            (Phase::Ready, Frame::Confirmed { .. }) => {
                if let Some((_, uids)) = self.confirming.take_if(|(asked, _)| *asked == request) {
                    self.forget(&uids);
                }
            }
            (Phase::Ready, Frame::Rejected(uid, _) | Frame::Released(uid)) => self.refusal_answered(uid),
            (Phase::Ready, Frame::PutAnswer(sequence, outcome)) => {
                self.handle_put_answer(now, sequence, outcome);
            }
            (Phase::Ready, Frame::Wake { .. }) => self.want |= self.settings.receive,
            (_, Frame::Pong) => {}
            _ => self.end(EndWhy::Protocol("a frame that may not come here".to_owned()), None),
        }
    }

    fn handle_welcome(&mut self, welcome: &Welcome) {
        if welcome.version != VERSION {
            let text = format!("version {} is not spoken here", welcome.version);
            return self.end(EndWhy::Protocol(text), None);
        }
        self.limits = welcome.limits;
        self.splitter.set_frame_bytes_max(welcome.limits.frame_bytes_max as usize);
        // Durable before the first RESUME that carries them (ONCE.md 2).
        let (incarnation, session) = (welcome.incarnation, welcome.session);
        let record = DeviceRecord::Resuming { incarnation, session };
        self.state.apply(&record);
        let token = self.persist(vec![record], Pending::Resume);
        self.phase = Phase::Persisting(token);
    }

    fn send_resume(&mut self, now: Instant) {
        let stored: Vec<Uid> = self.state.noted.iter().copied().collect();
        let refused: Vec<_> = self.state.refusals.iter().map(|(uid, refusal)| (*uid, *refusal)).collect();
        let released = refused.iter().filter(|(_, refusal)| *refusal == Refusal::Released);
        self.resuming = stored.iter().copied().chain(released.map(|(uid, _)| *uid)).collect();
        self.refusals_said = refused.iter().map(|(uid, _)| *uid).collect();
        self.phase = Phase::Resuming;
        self.send(now, &Frame::Resume { stored, refused });
    }

    fn handle_resumed(&mut self) {
        let named = std::mem::take(&mut self.resuming);
        let (released, stored): (Vec<Uid>, Vec<Uid>) =
            named.into_iter().partition(|uid| self.state.refusals.contains_key(uid));
        self.forget(&stored);
        released.into_iter().for_each(|uid| self.refusal_answered(uid));
        self.phase = Phase::Ready;
        self.want |= self.settings.receive;
    }

    fn handle_message(&mut self, head: MessageHead, envelope: Bytes, payload: Bytes) {
        let uid = head.uid;
        if self.state.noted.contains(&uid) {
            // A repeat of what is stored: said again, unless that is under way.
            let confirming = self.confirming.as_ref().is_some_and(|(_, uids)| uids.contains(&uid));
            if !confirming {
                self.to_confirm.insert(uid);
            }
            return;
        }
        // Between a refusal and its answer a repeat is ignored, as is one that is being decided.
        if self.state.refusals.contains_key(&uid) || self.undecided.contains_key(&uid) {
            return;
        }
        self.undecided.insert(uid, false);
        self.actions.push_back(Action::Deliver { head, envelope, payload });
    }

    fn handle_put_answer(&mut self, now: Instant, sequence: Sequence, outcome: PutOutcome) {
        if let PutOutcome::Busy(retry_after_ms) = outcome {
            if self.state.outbox.contains_key(&sequence) {
                self.sent = self.sent.min(Sequence(sequence.0.saturating_sub(1)));
                let until = now + Duration::from_millis(u64::from(retry_after_ms.max(1)));
                self.busy_until = Some(self.busy_until.map_or(until, |busy| busy.max(until)));
            }
            return;
        }
        if self.state.outbox.contains_key(&sequence) {
            let record = DeviceRecord::PutDecided { sequence };
            self.state.apply(&record);
            self.settling.insert(sequence);
            self.persist(vec![record], Pending::Decided(sequence));
            self.actions.push_back(Action::PutDecided { sequence, outcome });
        }
    }

    fn refuse(&mut self, now: Instant, uid: Uid, refusal: Refusal) {
        if self.undecided.remove(&uid).is_some() {
            let record = DeviceRecord::Refused { uid, refusal };
            self.state.apply(&record);
            self.persist(vec![record], Pending::Refusal(uid));
        }
        self.pump(now);
    }

    /// Says a refusal whose record is durable, unless this session's RESUME has said it.
    fn say_refusal(&mut self, now: Instant, uid: Uid) {
        let Some(refusal) = self.state.refusals.get(&uid).copied() else { return };
        if self.phase != Phase::Ready || !self.refusals_said.insert(uid) {
            return;
        }
        match refusal {
            Refusal::Rejected(reason) => self.send(now, &Frame::Reject { uid, reason }),
            Refusal::Released => self.send(now, &Frame::Release(uid)),
        };
    }

    fn refusal_answered(&mut self, uid: Uid) {
        self.refusals_said.remove(&uid);
        if self.state.refusals.contains_key(&uid) {
            let record = DeviceRecord::RefusalAnswered { uid };
            self.state.apply(&record);
            self.persist(vec![record], Pending::Note);
        }
    }

    /// The gateway has answered for these: they cannot come again.
    fn forget(&mut self, uids: &[Uid]) {
        let known: Vec<Uid> = uids.iter().copied().filter(|uid| self.state.noted.contains(uid)).collect();
        if !known.is_empty() {
            let record = DeviceRecord::Forgotten(known);
            self.state.apply(&record);
            self.persist(vec![record], Pending::Note);
        }
    }

    /// Sends what may be sent now.
    fn pump(&mut self, now: Instant) {
        if self.phase == Phase::Settling && self.undecided.is_empty() {
            self.phase = Phase::Greeting;
            let hello = Hello {
                version: VERSION,
                device: self.settings.name,
                incarnation: self.state.incarnation,
                last_session: self.state.session,
                token: self.settings.token.clone(),
                product: self.settings.product.clone(),
            };
            self.send(now, &Frame::Hello(hello));
        }
        if self.phase != Phase::Ready {
            return;
        }
        let enough = self.undecided.is_empty() || self.to_confirm.len() >= self.settings.confirm_batch;
        if self.confirming.is_none() && !self.to_confirm.is_empty() && enough {
            let uids: Vec<Uid> = std::mem::take(&mut self.to_confirm).into_iter().collect();
            let request = self.send(now, &Frame::Confirm(uids.clone()));
            self.confirming = Some((request, uids));
        }
        if self.want && self.getting.is_none() && self.undecided.is_empty() {
            self.want = false;
            let frame = Frame::Get {
                messages: self.settings.window_messages,
                bytes: self.settings.window_bytes,
                wait_ms: self.settings.wait_ms,
            };
            self.getting = Some(self.send(now, &frame));
        }
        self.send_puts(now);
    }

    /// Puts go in order, below the lowest unanswered sequence + credit, counted by what is durable here (ONCE.md 3).
    fn send_puts(&mut self, now: Instant) {
        if self.busy_until.is_some() {
            return;
        }
        let open = self.state.outbox.keys().next().into_iter().chain(self.settling.first()).min();
        let Some(lowest) = open.copied() else { return };
        let limit = Sequence(lowest.0.saturating_add(u64::from(self.limits.put_credit)));
        loop {
            let next = Sequence(self.sent.0.saturating_add(1));
            if next >= limit {
                return;
            }
            let Some((sequence, put)) = self.state.outbox.range(next..limit).next() else { return };
            if self.unwritten.contains(sequence) {
                return;
            }
            let OutboxPut { queue, queue_manager, envelope, payload } = put.clone();
            let sequence = *sequence;
            self.sent = sequence;
            self.send(now, &Frame::Put(Put { sequence, queue, queue_manager, envelope, payload }));
        }
    }

    fn persist(&mut self, records: Vec<DeviceRecord>, pending: Pending) -> PersistToken {
        self.next_token += 1;
        let token = PersistToken(self.next_token);
        self.pending.insert(token, pending);
        self.actions.push_back(Action::Persist { token, records });
        token
    }

    fn send(&mut self, now: Instant, frame: &Frame) -> RequestId {
        // 0 is for frames that nobody asked for.
        self.next_request = self.next_request.checked_add(1).unwrap_or(1);
        let request = RequestId(self.next_request);
        self.said = now;
        self.output.push_back(frame.to_bytes(request));
        request
    }

    fn end(&mut self, why: EndWhy, retry_after: Option<Duration>) {
        self.disconnected();
        self.actions.push_back(Action::Ended { why, retry_after });
    }

    fn heartbeat(&self) -> Duration {
        Duration::from_millis(u64::from(self.limits.heartbeat_ms.max(1)))
    }
}
