//! The task of a device: the protocol machine, the store, the socket, and the application's calls.
//!
//! One turn: take what has happened, let the machine say what must be done, write all records of the turn with one
//! write of the store, tell the machine and the callers, send.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use mq_wire::Reason;
use mqe::device_end::{Action, Device as Machine, DeviceRecord, DeviceSettings, EndWhy, PersistToken};
use mqe::frame::{ErrorCode, MessageHead, PutOutcome};
use mqe::{DeviceMessage, Sequence, Uid};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use super::link::{Link, LinkEvent, Output};
use super::status::count;
use super::storage::{DeviceStore, Entry};
use super::{DeviceError, DeviceOptions, Intake, NewPut, Received, Status};

/// So many connections in a row may be taken over by another one of the same name before that is an error: a cut
/// connection's HELLO can reach the gateway behind the one of the connection that replaced it.
const FENCED_MAX: u32 = 10;

/// A call of the application.
#[derive(Debug)]
pub(super) enum Command {
    /// These are used and these are put, both or neither.
    Change { used: Vec<Uid>, puts: Vec<NewPut>, reply: oneshot::Sender<Vec<Sequence>> },
    /// With [`Intake::Ask`]: about a message. The answer is whether it was still to be decided.
    Decide { uid: Uid, decision: Decision, reply: oneshot::Sender<bool> },
}

/// What the application says of a message.
#[derive(Debug, Clone, Copy)]
pub(super) enum Decision {
    Accept,
    Reject(Reason),
    Release,
}

/// What is told when the records of the turn are durable.
#[derive(Debug, Default)]
struct Turn {
    entries: Vec<Entry>,
    tokens: Vec<PersistToken>,
    stored: Vec<Uid>,
    handed: Vec<Received>,
    decided: Vec<(Sequence, PutOutcome)>,
    changes: Vec<(oneshot::Sender<Vec<Sequence>>, Vec<Sequence>)>,
    decisions: Vec<oneshot::Sender<bool>>,
}

pub(super) struct Driver<S> {
    options: DeviceOptions,
    machine: Machine,
    store: S,
    link: Link,
    output: Output,
    turn: Turn,
    /// Messages that the application is to decide, on this connection.
    undecided: BTreeMap<Uid, (MessageHead, Bytes, Bytes)>,
    /// They were not stored, and their connection is gone: the next machine never saw them, as after a crash.
    forgets: bool,
    /// Messages handed out in this life.
    taken: u64,
    /// Nothing more waits on this connection, and it does not wait for more.
    emptied: bool,
    connections: u64,
    /// Connections that failed since the last that was ready.
    failures: u32,
    fenced: u32,
    status: Status,
    commands: mpsc::Receiver<Command>,
    inbox: mpsc::UnboundedSender<Received>,
    outcomes: mpsc::UnboundedSender<(Sequence, PutOutcome)>,
    told: watch::Sender<Status>,
}

impl<S: DeviceStore> Driver<S> {
    pub(super) fn new(
        options: DeviceOptions,
        store: S,
        commands: mpsc::Receiver<Command>,
        inbox: mpsc::UnboundedSender<Received>,
        outcomes: mpsc::UnboundedSender<(Sequence, PutOutcome)>,
        told: watch::Sender<Status>,
    ) -> Self {
        let machine = machine(&options, &store);
        let taken = store.content().unused().len() as u64;
        let mut driver = Self {
            options,
            machine,
            store,
            link: Link::Waiting(Instant::now()),
            output: Output::default(),
            turn: Turn::default(),
            undecided: BTreeMap::new(),
            forgets: false,
            taken,
            emptied: false,
            connections: 0,
            failures: 0,
            fenced: 0,
            status: Status::default(),
            commands,
            inbox,
            outcomes,
            told,
        };
        driver.look();
        driver
    }

    pub(super) async fn run(mut self) {
        if let Err(error) = self.drive().await {
            tracing::debug!(device = %self.options.name, %error, "device ended");
            self.status.error = Some(error);
            self.status.ready = false;
            self.tell();
        }
    }

    async fn drive(&mut self) -> Result<(), DeviceError> {
        self.hand_out_kept();
        loop {
            self.act().await?;
            while let Some(bytes) = self.machine.poll_output() {
                self.output.push(bytes);
            }
            let timeout = self.machine.poll_timeout().map(Instant::from_std);
            tokio::select! {
                command = self.commands.recv() => match command {
                    None => return Ok(()),
                    Some(command) => self.take_commands(command),
                },
                event = self.link.event(&mut self.output) => self.handle_link(event),
                () = until(timeout) => self.machine.handle_timeout(now()),
            }
        }
    }

    /// What was stored in an earlier life and not used.
    fn hand_out_kept(&mut self) {
        for kept in self.store.content().unused() {
            // What is in the store could be read when it was put there.
            if let Ok(message) = DeviceMessage::from_envelope(&kept.envelope, kept.payload.clone()) {
                let (uid, deliveries) = (kept.uid, kept.deliveries);
                let _ = self.inbox.send(Received { uid, deliveries, again: true, message });
            }
        }
    }

    fn handle_link(&mut self, event: LinkEvent) {
        match event {
            LinkEvent::Dial => {
                let address = self.options.route.address(self.connections);
                self.connections += 1;
                self.link = Link::dial(address, self.options.connect_timeout);
            }
            LinkEvent::Connected => {
                count(&self.options.counts.connections, 1);
                self.emptied = false;
                self.machine.connected(now());
            }
            LinkEvent::Broken(error) => self.broken(error.to_string(), None),
            LinkEvent::Moved => {
                let machine = &mut self.machine;
                if let Err(error) = self.link.read(|bytes| machine.handle_bytes(now(), bytes)) {
                    self.broken(error.to_string(), None);
                }
            }
        }
    }

    /// The connection is gone: another one after a pause.
    fn broken(&mut self, trouble: String, retry_after: Option<Duration>) {
        if matches!(self.link, Link::Up(_)) {
            count(&self.options.counts.breaks, 1);
        }
        tracing::debug!(device = %self.options.name, trouble, "connection over");
        self.machine.disconnected();
        self.output.clear();
        if !self.undecided.is_empty() {
            self.undecided.clear();
            self.forgets = true;
        }
        let pause = retry_after.unwrap_or_else(|| self.pause());
        self.failures = self.failures.saturating_add(1);
        self.link = Link::Waiting(Instant::now() + pause);
        self.status.ready = false;
        self.status.trouble = Some(trouble);
    }

    /// Longer with each failure, and not the same for all devices of a gateway that starts again.
    fn pause(&self) -> Duration {
        let doubled = self.options.pause_first.saturating_mul(1 << self.failures.min(16));
        let longest = doubled.min(self.options.pause_max);
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(self.options.name.trimmed());
        hasher.update(&self.connections.to_be_bytes());
        longest.mul_f64(0.5 + f64::from(hasher.finalize()) / f64::from(u32::MAX) / 2.0)
    }

    /// All calls that wait: their records are written together.
    fn take_commands(&mut self, first: Command) {
        let mut next = Some(first);
        while let Some(command) = next {
            match command {
                Command::Change { used, puts, reply } => self.change(used, puts, reply),
                Command::Decide { uid, decision, reply } => self.decide(uid, decision, reply),
            }
            next = self.commands.try_recv().ok();
        }
    }

    fn change(&mut self, used: Vec<Uid>, puts: Vec<NewPut>, reply: oneshot::Sender<Vec<Sequence>>) {
        if !used.is_empty() {
            self.turn.entries.push(Entry::Used(used));
        }
        count(&self.options.counts.put, puts.len());
        let put = |NewPut { queue, queue_manager, message }| {
            self.machine.put(now(), queue, queue_manager, &message)
        };
        let sequences = puts.into_iter().map(put).collect();
        self.turn.changes.push((reply, sequences));
    }

    fn decide(&mut self, uid: Uid, decision: Decision, reply: oneshot::Sender<bool>) {
        let Some((head, envelope, payload)) = self.undecided.remove(&uid) else {
            // Who asked may be gone.
            let _ = reply.send(false);
            return;
        };
        match decision {
            Decision::Accept => self.note(head, envelope, payload),
            Decision::Reject(reason) => self.machine.reject(now(), uid, reason),
            Decision::Release => self.machine.release(now(), uid),
        }
        self.turn.decisions.push(reply);
    }

    /// The message and the note that it is here, in one write.
    fn note(&mut self, head: MessageHead, envelope: Bytes, payload: Bytes) {
        let MessageHead { uid, deliveries, resent, .. } = head;
        let counts = &self.options.counts;
        count(&counts.stored, 1);
        count(&counts.resent, usize::from(resent));
        self.turn.entries.push(Entry::Record(DeviceRecord::Noted { uid, envelope, payload }));
        self.turn.entries.push(Entry::Deliveries(uid, deliveries));
        self.turn.stored.push(uid);
        self.taken += 1;
        self.fenced = 0;
    }

    /// Does what the machine says, until it has nothing more to say.
    async fn act(&mut self) -> Result<(), DeviceError> {
        loop {
            while let Some(action) = self.machine.poll_action() {
                self.apply(action)?;
            }
            if self.may_ask() {
                self.machine.ask(now());
            }
            let turn = std::mem::take(&mut self.turn);
            let is_idle = turn.entries.is_empty();
            if !is_idle {
                self.store.write(turn.entries).await?;
            }
            let now = now();
            turn.tokens.into_iter().for_each(|token| self.machine.persisted(now, token));
            turn.stored.into_iter().for_each(|uid| self.machine.stored(now, uid));
            if std::mem::take(&mut self.forgets) {
                self.machine = machine(&self.options, &self.store);
            }
            // Whoever sees that no put is open finds all outcomes.
            for outcome in turn.decided {
                let _ = self.outcomes.send(outcome);
            }
            self.look();
            // Whoever is told something below finds the status to be so. None of them has to be there any more.
            for received in turn.handed {
                let _ = self.inbox.send(received);
            }
            for (reply, sequences) in turn.changes {
                let _ = reply.send(sequences);
            }
            for reply in turn.decisions {
                let _ = reply.send(true);
            }
            if is_idle {
                return Ok(());
            }
        }
    }

    fn apply(&mut self, action: Action) -> Result<(), DeviceError> {
        match action {
            Action::Persist { token, records } => {
                for record in &records {
                    match record {
                        DeviceRecord::Forgotten(uids) => count(&self.options.counts.confirmed, uids.len()),
                        DeviceRecord::RefusalAnswered { .. } => count(&self.options.counts.refused, 1),
                        _ => {}
                    }
                }
                self.turn.entries.extend(records.into_iter().map(Entry::Record));
                self.turn.tokens.push(token);
            }
            Action::Deliver { head, envelope, payload } => self.delivered(head, envelope, payload),
            Action::PutDecided { sequence, outcome } => {
                self.fenced = 0;
                let counts = &self.options.counts;
                match outcome {
                    PutOutcome::Taken => count(&counts.taken, 1),
                    PutOutcome::Refused(_) => count(&counts.put_refused, 1),
                    PutOutcome::Busy(_) => {}
                }
                self.turn.decided.push((sequence, outcome));
            }
            Action::Empty => {
                self.fenced = 0;
                self.status.empty += 1;
                self.emptied = self.options.get_wait.is_zero();
            }
            Action::Ended { why, retry_after } => {
                if let EndWhy::Gateway { code, text } = &why {
                    self.judge(*code, text, retry_after)?;
                }
                self.broken(why.to_string(), retry_after);
            }
        }
        Ok(())
    }

    fn delivered(&mut self, head: MessageHead, envelope: Bytes, payload: Bytes) {
        let MessageHead { uid, deliveries, .. } = head;
        if self.options.intake != Intake::Ask && self.options.take_max.is_some_and(|max| self.taken >= max) {
            return self.machine.release(now(), uid);
        }
        match DeviceMessage::from_envelope(&envelope, payload.clone()) {
            // No repeat will make it readable.
            Err(_) => self.machine.reject(now(), uid, Reason::FORMAT_ERROR),
            Ok(message) => {
                self.turn.handed.push(Received { uid, deliveries, again: false, message });
                if self.options.intake == Intake::Ask {
                    self.undecided.insert(uid, (head, envelope, payload));
                } else {
                    self.note(head, envelope, payload);
                }
            }
        }
    }

    /// Whether the gateway's last word is one that time may change.
    fn judge(
        &mut self,
        code: ErrorCode,
        text: &str,
        retry_after: Option<Duration>,
    ) -> Result<(), DeviceError> {
        let is_final = match code {
            ErrorCode::LATER | ErrorCode::TIMED_OUT | ErrorCode::STOPPING => false,
            ErrorCode::FENCED => {
                self.fenced += 1;
                self.fenced >= FENCED_MAX
            }
            _ => retry_after.is_none(),
        };
        if is_final { Err(DeviceError::Refused { code, text: text.to_owned() }) } else { Ok(()) }
    }

    fn may_ask(&self) -> bool {
        match self.options.intake {
            _ if self.emptied => false,
            Intake::Off => false,
            Intake::Ask => self.undecided.is_empty(),
            Intake::Store => {
                self.options.take_max.is_none_or(|max| self.taken < max)
                    && self.store.content().unused().len() < self.options.unused_max
            }
        }
    }

    fn look(&mut self) {
        let state = self.machine.state();
        let was_ready = std::mem::replace(&mut self.status.ready, self.machine.is_ready());
        self.status.settled = self.machine.is_settled();
        self.status.open_puts = state.outbox.len();
        self.status.puts = state.next_sequence.0.saturating_sub(1);
        if self.status.ready && !was_ready {
            count(&self.options.counts.sessions, 1);
            self.status.sessions += 1;
            self.status.trouble = None;
            self.failures = 0;
        }
        self.tell();
    }

    fn tell(&self) {
        self.told.send_if_modified(|told| {
            let is_news = *told != self.status;
            if is_news {
                told.clone_from(&self.status);
            }
            is_news
        });
    }
}

fn machine(options: &DeviceOptions, store: &impl DeviceStore) -> Machine {
    let settings = DeviceSettings {
        token: options.token.clone(),
        product: options.product.clone(),
        // It is asked for each window, when there is room.
        receive: false,
        window_messages: options.window_messages,
        window_bytes: options.window_bytes,
        wait_ms: u32::try_from(options.get_wait.as_millis()).unwrap_or(u32::MAX),
        handshake_timeout: options.connect_timeout,
        ..DeviceSettings::new(options.name)
    };
    Machine::new(now(), settings, store.content().state.clone())
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// The runtime's clock, which tests can stop.
fn now() -> std::time::Instant {
    Instant::now().into_std()
}
