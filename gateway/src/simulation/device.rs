//! A device: the machine that devices run, a disk that outlives it, and puts of its own.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io;
use std::rc::Rc;
use std::time::{Duration, Instant};

use mq_wire::{Persistence, QMgrName, QName};
use mqe::device_end::{Action, Device as Machine, DeviceRecord, DeviceSettings, DeviceState};
use mqe::frame::PutOutcome;
use mqe::{DeviceMessage, DeviceName};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::context;
use super::ledger::{Ledger, Message};
use super::net::Stream;
use crate::clock;

const CONNECT_MAX: Duration = Duration::from_secs(10);
/// Milliseconds between two connections at most, between two puts, and for a write.
const PAUSE_MAX: u64 = 3_000;
const PUT_EVERY_MAX: u64 = 2_000;
const WRITE_MAX: u64 = 3;

/// What outlives a crash.
#[derive(Debug, Default)]
pub(crate) struct DeviceDisk {
    state: DeviceState,
}

impl DeviceDisk {
    /// Whether nothing waits for an answer.
    pub(crate) fn is_settled(&self) -> bool {
        self.state.noted.is_empty() && self.state.refusals.is_empty() && self.state.outbox.is_empty()
    }
}

pub(crate) struct Device {
    pub(crate) number: usize,
    pub(crate) disk: Rc<RefCell<DeviceDisk>>,
    pub(crate) ledger: Rc<RefCell<Ledger>>,
    /// So many messages it puts in all its lives.
    pub(crate) puts: u64,
    /// The messages that it did not want yet.
    pub(crate) released: RefCell<BTreeSet<u32>>,
}

pub(crate) fn name(number: usize) -> String {
    format!("DEV{number:05}")
}

/// Why a connection is over.
enum Over {
    Socket(io::Error),
    /// The gateway said so, and when to come again.
    Ended(Option<Duration>),
}

impl From<io::Error> for Over {
    fn from(error: io::Error) -> Self {
        Self::Socket(error)
    }
}

impl Device {
    /// Lives until its host crashes.
    pub(crate) async fn live(self) {
        let settings = DeviceSettings {
            window_messages: 1 + context::roll(8) as u32,
            confirm_batch: 1 + context::roll(4) as usize,
            wait_ms: 3_000,
            handshake_timeout: CONNECT_MAX,
            ..DeviceSettings::new(DeviceName::new(&name(self.number)).unwrap())
        };
        let mut machine = Machine::new(now(), settings, self.disk.borrow().state.clone());
        loop {
            let pause = match self.connection(&mut machine).await {
                Over::Ended(Some(pause)) => pause,
                Over::Ended(None) => context::moment(PAUSE_MAX),
                Over::Socket(error) => {
                    tracing::debug!(device = self.number, %error, "connection over");
                    context::moment(PAUSE_MAX)
                }
            };
            machine.disconnected();
            tokio::time::sleep(pause).await;
        }
    }

    async fn connection(&self, machine: &mut Machine) -> Over {
        match self.converse(machine).await {
            Err(over) => over,
            Ok(never) => match never {},
        }
    }

    async fn converse(&self, machine: &mut Machine) -> Result<std::convert::Infallible, Over> {
        let connected = tokio::time::timeout(CONNECT_MAX, Stream::connect("gateway", 7414)).await;
        let mut stream = connected.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))?;
        machine.connected(now());
        let mut buffer = [0; 4096];
        let mut put_at = now() + context::moment(PUT_EVERY_MAX);
        loop {
            self.act(machine).await?;
            while let Some(bytes) = machine.poll_output() {
                stream.write_all(&bytes).await?;
            }
            let timeout = machine.poll_timeout();
            let may_put = machine.state().next_sequence.0 <= self.puts;
            tokio::select! {
                biased;
                read = stream.read(&mut buffer) => match read? {
                    0 => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                    length => machine.handle_bytes(now(), &buffer[..length]),
                },
                () = clock::until(timeout) => machine.handle_timeout(now()),
                () = clock::until(Some(put_at)), if may_put => {
                    put_at = now() + context::moment(PUT_EVERY_MAX);
                    self.put(machine);
                }
            }
        }
    }

    fn put(&self, machine: &mut Machine) {
        let text = Message::Up((self.number, machine.state().next_sequence.0)).text();
        let mut message = DeviceMessage::new(QName::new("DEV.QUEUE.1").unwrap(), text.into());
        message.descriptor.persistence = Persistence::PERSISTENT;
        machine.put(now(), message.queue, QMgrName::new("HQ").unwrap(), &message);
    }

    async fn act(&self, machine: &mut Machine) -> Result<(), Over> {
        while let Some(action) = machine.poll_action() {
            match action {
                Action::Persist { token, records } => {
                    self.write(&records).await;
                    machine.persisted(now(), token);
                }
                Action::Deliver { head, envelope, payload } => {
                    let number = match Message::of(&payload) {
                        Some(Message::Down(number)) => number,
                        other => panic!("device {} got {other:?}", self.number),
                    };
                    if self.is_unwanted(number) {
                        machine.release(now(), head.uid);
                        continue;
                    }
                    let noted = DeviceRecord::Noted { uid: head.uid, envelope, payload };
                    self.write(&[noted]).await;
                    self.ledger.borrow_mut().arrived(number, self.number);
                    machine.stored(now(), head.uid);
                }
                Action::PutDecided { sequence, outcome } => {
                    let taken = outcome == PutOutcome::Taken;
                    self.ledger.borrow_mut().device_put_answered((self.number, sequence.0), taken);
                }
                Action::Empty => {}
                Action::Ended { retry_after, .. } => return Err(Over::Ended(retry_after)),
            }
        }
        Ok(())
    }

    /// Whether it releases a message: one in twenty, and what comes before another that it has released and that is ahead
    /// of it, since releases let later ones through.
    fn is_unwanted(&self, number: u32) -> bool {
        let mut released = self.released.borrow_mut();
        let first = released.first().copied();
        let unwanted = first.is_some_and(|first| first < number)
            || (!released.contains(&number) && context::roll(20) == 0);
        if unwanted {
            released.insert(number)
        } else {
            released.remove(&number)
        };
        unwanted
    }

    /// Takes its time; a crash before the end leaves nothing.
    async fn write(&self, records: &[DeviceRecord]) {
        tokio::time::sleep(context::moment(WRITE_MAX)).await;
        let mut disk = self.disk.borrow_mut();
        for record in records {
            disk.state.apply(record);
            if let DeviceRecord::Put { sequence, .. } = record {
                self.ledger.borrow_mut().device_put((self.number, sequence.0));
            }
        }
    }
}

fn now() -> Instant {
    clock::now().instant
}
