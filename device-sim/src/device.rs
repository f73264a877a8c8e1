//! A device: its durable store, its connection to the gateway, and what an application on it calls.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use std::time::Duration;
//! use device_sim::device::{Device, DeviceOptions, Place};
//!
//! let options = DeviceOptions {
//!     place: Place::Directory("state".into()),
//!     ..DeviceOptions::new("127.0.0.1:7414", "DEV00001".parse()?)
//! };
//! let mut device = Device::open(options).await?;
//! while let Some(message) = device.next(Duration::from_secs(15)).await? {
//!     // Use it, then say so: a message that is not marked as used is handed out again after a crash.
//!     device.used(&[message.uid]).await?;
//! }
//! device.close(Duration::from_secs(5)).await?;
//! # Ok(())
//! # }
//! ```
//!
//! A message is stored before it is confirmed, and handed to the application from the store; a put is stored before
//! it is sent, and kept until the gateway has said what became of it. The device connects, and connects again, by
//! itself, in a task of its own that ends with the [`Device`]. What frames mean and when they may be sent is
//! [`mqe::device_end`]'s; here are socket, disk, time and the application's calls.

mod driver;
mod file;
mod link;
mod memory;
mod options;
mod status;
mod storage;

use std::time::Duration;

use bytes::Bytes;
use mq_wire::{QMgrName, QName, Reason};
use mqe::device_end::DeviceState;
use mqe::frame::{ErrorCode, PutOutcome};
use mqe::{DeviceMessage, DeviceName, Sequence, Uid};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time;

pub use file::FileStore;
pub use memory::{MemoryDisk, MemoryStore};
pub use options::{DeviceOptions, Intake, Place, Route};
pub use status::{Counts, Status};
pub use storage::{Content, DeviceStore, Entry, Kept, StateError};

use driver::{Command, Decision, Driver};

/// A message that came.
#[derive(Debug, Clone, PartialEq)]
pub struct Received {
    /// Its name.
    pub uid: Uid,
    /// How often it was sent, this time included.
    pub deliveries: u8,
    /// Whether it was in the store already when the device was opened: it may have been handed out before.
    pub again: bool,
    /// The message.
    pub message: DeviceMessage,
}

/// A message to put.
#[derive(Debug, Clone, PartialEq)]
pub struct NewPut {
    /// The queue that it is for.
    pub queue: QName,
    /// The queue manager of that queue; blank lets the gateway's own decide.
    pub queue_manager: QMgrName,
    /// The message.
    pub message: DeviceMessage,
}

/// What [`Device::flush`] found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Flushed {
    /// Puts that were decided since the last time, and how.
    pub outcomes: Vec<(Sequence, PutOutcome)>,
    /// Puts that are not decided.
    pub open: usize,
}

/// Why a device cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// Its store.
    #[error(transparent)]
    State(#[from] StateError),
    /// The gateway will not have it, however often it comes.
    #[error("the gateway refuses the device: {code}: {text}; {}", code.meaning().unwrap_or_default())]
    Refused {
        /// What.
        code: ErrorCode,
        /// For people.
        text: String,
    },
    /// The connection over which the message came is gone, and the message will come again.
    #[error("the decision came too late: the connection broke, and the message will come again")]
    TooLate,
    /// The device's task is gone.
    #[error("the device was closed")]
    Closed,
}

/// A device. See the module's text.
#[derive(Debug)]
pub struct Device {
    commands: mpsc::Sender<Command>,
    inbox: mpsc::UnboundedReceiver<Received>,
    outcomes: mpsc::UnboundedReceiver<(Sequence, PutOutcome)>,
    status: watch::Receiver<Status>,
    task: JoinHandle<()>,
}

/// Calls that may wait for the device's task.
const COMMANDS_MAX: usize = 64;

impl Device {
    /// Opens the device's store and starts to connect.
    pub async fn open(options: DeviceOptions) -> Result<Self, DeviceError> {
        match options.place.clone() {
            Place::Memory(disk) => Ok(Self::open_on(options, disk.open())),
            Place::Directory(directory) => {
                let name = options.name;
                let opened = tokio::task::spawn_blocking(move || FileStore::open(&directory, name)).await;
                let store = opened.unwrap_or(Err(StateError::Failed))?;
                Ok(Self::open_on(options, store))
            }
        }
    }

    /// The same with a store of the caller's, whatever `options.place` says.
    pub fn open_on(options: DeviceOptions, store: impl DeviceStore) -> Self {
        let (commands, commanded) = mpsc::channel(COMMANDS_MAX);
        let (handed, inbox) = mpsc::unbounded_channel();
        let (decided, outcomes) = mpsc::unbounded_channel();
        let (told, status) = watch::channel(Status::default());
        let driver = Driver::new(options, store, commanded, handed, decided, told);
        let task = tokio::spawn(driver.run());
        Self { commands, inbox, outcomes, status, task }
    }

    /// The next message, or `None` if none comes in that time. Can be cancelled without loss.
    pub async fn next(&mut self, wait: Duration) -> Result<Option<Received>, DeviceError> {
        if let Ok(received) = self.inbox.try_recv() {
            return Ok(Some(received));
        }
        match time::timeout(wait, self.inbox.recv()).await {
            Err(_) => Ok(None),
            Ok(Some(received)) => Ok(Some(received)),
            Ok(None) => Err(self.gone()),
        }
    }

    /// A message that is there already.
    pub fn try_next(&mut self) -> Option<Received> {
        self.inbox.try_recv().ok()
    }

    /// The application has used these messages. When this returns it is durable.
    pub async fn used(&self, uids: &[Uid]) -> Result<(), DeviceError> {
        self.answer(uids, Vec::new()).await.map(drop)
    }

    /// Puts a message. When this returns it is durable in the outbox, not yet at the gateway: see
    /// [`Device::flush`].
    pub async fn put(&self, put: NewPut) -> Result<Sequence, DeviceError> {
        let sequences = self.answer(&[], vec![put]).await?;
        sequences.first().copied().ok_or(DeviceError::Closed)
    }

    /// These messages are used, and these are put, both or neither: an answer that is put once for each request.
    pub async fn answer(&self, used: &[Uid], puts: Vec<NewPut>) -> Result<Vec<Sequence>, DeviceError> {
        let (reply, answer) = oneshot::channel();
        self.command(Command::Change { used: used.to_vec(), puts, reply }).await?;
        answer.await.map_err(|_| self.gone())
    }

    /// With [`Intake::Ask`]: stores a message; it is confirmed, and still to be marked as used.
    pub async fn accept(&self, uid: Uid) -> Result<(), DeviceError> {
        self.decide(uid, Decision::Accept).await
    }

    /// With [`Intake::Ask`]: this message can never be taken. It goes to the dead-letter queue.
    pub async fn reject(&self, uid: Uid, reason: Reason) -> Result<(), DeviceError> {
        self.decide(uid, Decision::Reject(reason)).await
    }

    /// With [`Intake::Ask`]: not now. It waits at the gateway again.
    pub async fn release(&self, uid: Uid) -> Result<(), DeviceError> {
        self.decide(uid, Decision::Release).await
    }

    /// Waits until all puts are decided, or the time is over.
    pub async fn flush(&mut self, wait: Duration) -> Result<Flushed, DeviceError> {
        self.until(wait, |status| status.open_puts == 0).await?;
        let mut outcomes = Vec::new();
        while let Ok(outcome) = self.outcomes.try_recv() {
            outcomes.push(outcome);
        }
        let open = self.status.borrow().open_puts;
        Ok(Flushed { outcomes, open })
    }

    /// Waits until nothing of the device's own waits for an answer: all confirmed, refusals and puts answered.
    /// `false` if the time was over before.
    pub async fn settle(&mut self, wait: Duration) -> Result<bool, DeviceError> {
        self.until(wait, |status| status.settled).await
    }

    /// Waits until the status is as wanted. `false` if the time was over before.
    pub async fn until(
        &mut self,
        wait: Duration,
        mut wanted: impl FnMut(&Status) -> bool,
    ) -> Result<bool, DeviceError> {
        let look = self.status.wait_for(|status| status.is_over() || wanted(status));
        let found = time::timeout(wait, look).await;
        // The status is borrowed as long as what was found.
        match found.map(|status| status.is_ok_and(|status| !status.is_over())) {
            Err(_) => Ok(false),
            Ok(true) => Ok(true),
            Ok(false) => Err(self.gone()),
        }
    }

    /// How it stands now.
    pub fn status(&self) -> Status {
        self.status.borrow().clone()
    }

    /// Ends it in order: waits as long as that until everything is answered. `false` if something is not: it is in
    /// the store, and settled when the device is opened on it again.
    pub async fn close(mut self, wait: Duration) -> Result<bool, DeviceError> {
        let settled = self.settle(wait).await;
        let Self { commands, task, .. } = self;
        drop(commands);
        // A panic of the task has been seen as an error by now.
        let _ = task.await;
        settled
    }

    /// Ends it at once, wherever it stands: what is not durable is lost, nobody is told.
    pub async fn crash(self) {
        self.task.abort();
        let _ = self.task.await;
    }

    async fn decide(&self, uid: Uid, decision: Decision) -> Result<(), DeviceError> {
        let (reply, answer) = oneshot::channel();
        self.command(Command::Decide { uid, decision, reply }).await?;
        match answer.await {
            Ok(true) => Ok(()),
            Ok(false) => Err(DeviceError::TooLate),
            Err(_) => Err(self.gone()),
        }
    }

    async fn command(&self, command: Command) -> Result<(), DeviceError> {
        self.commands.send(command).await.map_err(|_| self.gone())
    }

    fn gone(&self) -> DeviceError {
        self.status.borrow().error.clone().unwrap_or(DeviceError::Closed)
    }
}

/// What a store holds of the protocol, for those who look at one from outside.
pub fn state_of(store: &impl DeviceStore) -> &DeviceState {
    &store.content().state
}

/// A message for a device or from one, with text as MQ programs send it.
pub fn text_message(queue: QName, text: impl Into<Bytes>) -> DeviceMessage {
    let mut message = DeviceMessage::new(queue, text.into());
    message.descriptor.format = mq_wire::Chars::cut("MQSTR");
    message.descriptor.ccsid = mq_wire::Ccsid::UTF_8;
    message.descriptor.persistence = mq_wire::Persistence::PERSISTENT;
    message
}

/// The name of a simulated device: a prefix and five digits.
pub fn device_name(prefix: &str, number: u32) -> Result<DeviceName, mq_wire::NameError> {
    DeviceName::new(&format!("{prefix}{number:05}"))
}
