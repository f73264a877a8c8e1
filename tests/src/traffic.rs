//! Applications with a ledger: MQ clients that put and get, and devices, through whatever happens to the service.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use device_sim::device::{Device, DeviceOptions, MemoryDisk, NewPut, Place, text_message};
use mq_client::{ClientError, ConnectOptions, Got};
use mq_wire::{GetOptions, OpenOptions, PutOptions, QMgrName, Reason};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tokio::task::JoinHandle as Task;

use crate::ledger::{Ledger, Put, message};
use crate::mq::{Mq, persistent};

/// A device looks whether it shall end so often.
const LOOK: Duration = Duration::from_millis(50);
/// What a device may still need to be told that all it confirmed is confirmed.
const SETTLE: Duration = Duration::from_secs(30);

/// How a unit of work ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Committed.
    Done,
    /// There is no room (2192).
    Full,
    /// The connection is gone, or cannot be had.
    Broken,
}

/// A connection with a queue open, made when it is needed.
#[derive(Debug)]
struct Open {
    options: ConnectOptions,
    queue: String,
    queue_manager: String,
    how: OpenOptions,
    open: Option<(Mq, i32)>,
}

impl Open {
    fn get(&mut self) -> Option<(&mut Mq, i32)> {
        if self.open.is_none() {
            let mut app = Mq::connect(&self.options).ok()?;
            let handle = app.open(&self.queue, &self.queue_manager, self.how).ok()?;
            self.open = Some((app, handle));
        }
        self.open.as_mut().map(|(app, handle)| (app, *handle))
    }
}

/// An application that puts numbered messages to one queue.
#[derive(Debug)]
pub struct Putter {
    open: Open,
    sequence: String,
    number: u64,
    ledger: Arc<Ledger>,
}

impl Putter {
    /// For `queue` at `queue_manager`, which may be blank; the sequence names its messages.
    pub fn new(
        options: &ConnectOptions,
        (queue, queue_manager): (&str, &str),
        sequence: &str,
        ledger: &Arc<Ledger>,
    ) -> Self {
        Self {
            open: Open {
                options: options.clone(),
                queue: queue.to_owned(),
                queue_manager: queue_manager.to_owned(),
                how: OpenOptions::OUTPUT,
                open: None,
            },
            sequence: sequence.to_owned(),
            number: 0,
            ledger: Arc::clone(ledger),
        }
    }

    /// Puts messages of these sizes: one outside of a unit of work, several in one.
    #[track_caller]
    pub fn put(&mut self, sizes: &[usize]) -> Outcome {
        let alone = sizes.len() == 1;
        let options = if alone { PutOptions::NO_SYNCPOINT } else { PutOptions::SYNCPOINT };
        let Some((app, handle)) = self.open.get() else { return Outcome::Broken };
        let mut names = Vec::new();
        let mut ended = Ok(());
        for size in sizes {
            self.number += 1;
            let (name, bytes) = message(&self.sequence, self.number, *size);
            names.push(name);
            ended = app.put(handle, persistent(), options, bytes).map(drop);
            if ended.is_err() {
                break;
            }
        }
        let commits = ended.is_ok() && !alone;
        if commits {
            ended = app.commit();
        }
        let (put, outcome) = match &ended {
            Ok(()) => (Put::Taken, Outcome::Done),
            Err(error) if is_broken(error) && (alone || commits) => (Put::Doubtful, Outcome::Broken),
            Err(error) if is_broken(error) => (Put::Refused, Outcome::Broken),
            Err(error) if error.reason() == Reason::STORAGE_MEDIUM_FULL => (Put::Refused, Outcome::Full),
            Err(error) => panic!("{}: {error}", self.sequence),
        };
        if outcome == Outcome::Full && !alone && app.back().is_err() || outcome == Outcome::Broken {
            self.open.open = None;
        }
        self.ledger.put(&names, put);
        outcome
    }

    /// Puts again and again until it is told to end; sizes come from `sizes`, and are used in turn.
    pub fn run(mut self, until: &Arc<AtomicBool>, sizes: Vec<Vec<usize>>) -> JoinHandle<()> {
        let until = Arc::clone(until);
        std::thread::spawn(move || {
            for sizes in sizes.iter().cycle() {
                if until.load(Ordering::Relaxed) {
                    return;
                }
                if self.put(sizes) != Outcome::Done {
                    crate::wait::pause(LOOK);
                }
            }
        })
    }
}

/// An application that gets from one queue, in units of work.
#[derive(Debug)]
pub struct Getter {
    open: Open,
    ledger: Arc<Ledger>,
}

impl Getter {
    /// For a queue.
    pub fn new(options: &ConnectOptions, queue: &str, ledger: &Arc<Ledger>) -> Self {
        let open = Open {
            options: options.clone(),
            queue: queue.to_owned(),
            queue_manager: String::new(),
            how: OpenOptions::INPUT_SHARED,
            open: None,
        };
        Self { open, ledger: Arc::clone(ledger) }
    }

    /// Gets up to so many messages and commits; how many, none if the connection broke.
    #[track_caller]
    pub fn get(&mut self, most: usize, wait: Duration) -> Option<usize> {
        let outcome = self.try_get(most, wait);
        if outcome.is_none() {
            self.open.open = None;
        }
        outcome
    }

    #[track_caller]
    fn try_get(&mut self, most: usize, wait: Duration) -> Option<usize> {
        let (app, handle) = self.open.get()?;
        let mut all: Vec<Got> = Vec::new();
        while all.len() < most {
            match app.get(handle, GetOptions::SYNCPOINT, wait) {
                Ok(Some(got)) => all.push(got),
                Ok(None) => break,
                Err(error) if is_broken(&error) => return None,
                Err(error) => panic!("get: {error}"),
            }
        }
        let committed = app.commit();
        match &committed {
            Ok(()) => all.iter().for_each(|got| self.ledger.got(&got.data)),
            Err(error) if is_broken(error) => all.iter().for_each(|got| self.ledger.perhaps_got(&got.data)),
            Err(error) => panic!("commit: {error}"),
        }
        committed.ok().map(|()| all.len())
    }

    /// Gets again and again until it is told to end.
    pub fn run(mut self, until: &Arc<AtomicBool>, most: usize) -> JoinHandle<Self> {
        let until = Arc::clone(until);
        std::thread::spawn(move || {
            while !until.load(Ordering::Relaxed) {
                if self.get(most, LOOK).is_none() {
                    crate::wait::pause(LOOK);
                }
            }
            self
        })
    }
}

/// Whether the call failed with its connection, or because that ends.
fn is_broken(error: &ClientError) -> bool {
    error.is_broken()
        || matches!(
            error.reason(),
            Reason::Q_MGR_QUIESCING | Reason::CONNECTION_QUIESCING | Reason::Q_MGR_STOPPING
        )
}

/// Devices with durable stores in memory: they go on where they were when they are started again.
#[derive(Debug)]
pub struct Devices {
    runtime: Runtime,
    gateway: String,
    disks: BTreeMap<String, (MemoryDisk, u64)>,
    ledger: Arc<Ledger>,
    running: Vec<Task<()>>,
    stop: watch::Sender<bool>,
}

impl Devices {
    /// Devices that are not there yet.
    pub fn new(gateway: impl ToString, names: &[String], ledger: &Arc<Ledger>) -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        Self {
            runtime,
            gateway: gateway.to_string(),
            disks: names.iter().map(|name| (name.clone(), <(MemoryDisk, u64)>::default())).collect(),
            ledger: Arc::clone(ledger),
            running: Vec::new(),
            stop: watch::channel(false).0,
        }
    }

    /// All connect, take what comes, and each puts so many messages of this size to the queue.
    pub fn start(&mut self, queue: &str, puts: u64, size: usize) {
        self.stop.send_replace(false);
        for (name, (disk, number)) in &mut self.disks {
            let options = DeviceOptions {
                place: Place::Memory(disk.clone()),
                ..DeviceOptions::new(self.gateway.clone(), name.parse().unwrap())
            };
            let sequence = format!("from-{name}");
            let messages = (*number + 1..=*number + puts).map(|number| message(&sequence, number, size));
            let messages: Vec<_> = messages.collect();
            *number += puts;
            let (ledger, queue, stop) = (Arc::clone(&self.ledger), queue.to_owned(), self.stop.subscribe());
            self.running.push(self.runtime.spawn(play(options, queue, messages, ledger, stop)));
        }
    }

    /// All end in order, and have answers to all that they confirmed and put.
    #[track_caller]
    pub fn stop(&mut self) {
        self.stop.send_replace(true);
        for task in self.running.drain(..) {
            self.runtime.block_on(task).unwrap();
        }
    }
}

async fn play(
    options: DeviceOptions,
    queue: String,
    messages: Vec<(String, Vec<u8>)>,
    ledger: Arc<Ledger>,
    stop: watch::Receiver<bool>,
) {
    let name = options.name;
    let mut device = Device::open(options).await.unwrap();
    for (name, bytes) in messages {
        let queue = queue.parse().unwrap();
        let put = NewPut { queue, queue_manager: QMgrName::BLANK, message: text_message(queue, bytes) };
        device.put(put).await.unwrap();
        // It is durable on the device: it must come.
        ledger.put(&[name], Put::Taken);
    }
    while !*stop.borrow() {
        let received = device.next(LOOK).await.unwrap_or_else(|error| panic!("{name}: {error}"));
        let Some(received) = received else { continue };
        ledger.got(&received.message.payload);
        device.used(&[received.uid]).await.unwrap();
    }
    let status = device.status();
    assert!(device.close(SETTLE).await.unwrap(), "{name} is not settled: {status:?}");
}
