//! The devices of a fleet: each takes turns on the connections that there are, until it has got and put all; and in
//! the end has a last look, whether something comes that it has got before.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::Context;
use mq_wire::QMgrName;
use mqe::DeviceName;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{self, Instant};

use super::inject::Injector;
use super::payload::{Label, Stream, Way};
use super::shared::Shared;
use crate::device::{self, Device, DeviceError, DeviceOptions, MemoryDisk, NewPut, Place, Route, StateError};

/// How long a device waits for the next message before it looks after the rest.
const WAIT: Duration = Duration::from_millis(250);
/// A device for which nothing comes leaves its connection to another one after so long, if there are too few.
const IDLE: Duration = Duration::from_millis(500);
/// Longest life of a device that is to crash after a message.
const CRASH_WITHIN_US: u64 = 20_000;
/// Puts without an answer beyond which a device waits.
const OPEN_PUTS_MAX: usize = 64;
/// Puts made at once.
const PUTS: usize = 16;
/// The state of a device that crashed may be written for so long.
const STATE_FREE_WITHIN: Duration = Duration::from_secs(5);
/// A sync of a simulated disk, where devices crash.
const SYNC_TIME: Duration = Duration::from_millis(1);

/// Runs all devices to their end.
pub(super) async fn run(shared: Arc<Shared>) -> anyhow::Result<()> {
    let turns = Arc::new(Semaphore::new(shared.options.connections.min(Semaphore::MAX_PERMITS)));
    let mut devices = JoinSet::new();
    for number in 1..=shared.options.devices {
        let player = Player::new(Arc::clone(&shared), number)?;
        devices.spawn(player.play(Arc::clone(&turns)));
    }
    let mut players = Vec::new();
    while let Some(ended) = devices.join_next().await {
        players.push(ended.context("a device's task failed")??);
    }
    // Nothing more is on its way: what now comes, comes twice.
    let mut looks = JoinSet::new();
    for player in players {
        looks.spawn(player.look_again(Arc::clone(&turns)));
    }
    while let Some(ended) = looks.join_next().await {
        ended.context("a device's task failed")??;
    }
    shared.devices_done.send_replace(true);
    Ok(())
}

/// A device, and the application on it, whose own memory survives a crash of the device.
struct Player {
    shared: Arc<Shared>,
    number: u32,
    name: DeviceName,
    place: Place,
    random: StdRng,
    injector: Option<Injector>,
    is_online: bool,
    /// Messages that the device library handed out.
    got: u64,
    /// Messages that were put, by queue; and their sum.
    put: u64,
}

/// How a turn on a connection ended.
enum Turn {
    Done,
    /// Nothing comes now: others may have the connection.
    Idle,
    Crash,
}

impl Player {
    fn new(shared: Arc<Shared>, number: u32) -> anyhow::Result<Self> {
        let options = &shared.options;
        let name = options.device_name(number)?;
        let place = match &options.state {
            Some(directory) => Place::Directory(directory.join(name.to_string())),
            None if options.faults.crash > 0.0 => Place::Memory(MemoryDisk::new(SYNC_TIME)),
            None => Place::Memory(MemoryDisk::default()),
        };
        let mut random =
            StdRng::seed_from_u64(options.seed ^ u64::from(number).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let is_online = random.random_bool(options.online);
        let injector = options.self_test.then(Injector::default);
        Ok(Self { shared, number, name, place, random, injector, is_online, got: 0, put: 0 })
    }

    async fn play(mut self, turns: Arc<Semaphore>) -> anyhow::Result<Self> {
        let shared = Arc::clone(&self.shared);
        while shared.progress.put.load(Ordering::Relaxed) < shared.options.devices_after {
            time::sleep(WAIT / 10).await;
        }
        if !self.is_online {
            // The sender lives as long as `shared`.
            let _ = shared.all_put.subscribe().wait_for(|all_put| *all_put).await;
        }
        loop {
            let turn_of = turns.acquire().await.context("the fleet ended")?;
            let mut device = self.open(WAIT.max(Duration::from_secs(10))).await?;
            let ended = self.turn(&mut device).await;
            match ended.with_context(|| format!("device {}", self.name))? {
                Turn::Done => {
                    drop(device);
                    shared.progress.devices_done.fetch_add(1, Ordering::Relaxed);
                    return Ok(self);
                }
                Turn::Crash => {
                    shared.hardships.crashes.fetch_add(1, Ordering::Relaxed);
                    device.crash().await;
                }
                Turn::Idle => drop(device.close(IDLE).await),
            }
            drop(turn_of);
        }
    }

    /// A connection to a gateway on which nothing should wait.
    async fn look_again(mut self, turns: Arc<Semaphore>) -> anyhow::Result<()> {
        let _turn_of = turns.acquire().await.context("the fleet ended")?;
        let mut device = self.open(Duration::ZERO).await?;
        let name = self.name;
        loop {
            // Until a GET brings nothing, however often the connection breaks.
            let is_empty = device.until(WAIT, |status| status.empty > 0).await;
            let is_empty = is_empty.with_context(|| format!("device {name}"))?;
            while let Some(received) = device.try_next() {
                self.take(&received);
                device.used(&[received.uid]).await?;
            }
            if is_empty && device.settle(WAIT).await? {
                self.shared.progress.looked_again.fetch_add(1, Ordering::Relaxed);
                return Ok(());
            }
            self.note_trouble(&device);
        }
    }

    async fn open(&mut self, get_wait: Duration) -> anyhow::Result<Device> {
        let options = &self.shared.options;
        let defaults = DeviceOptions::new(options.gateway.clone(), self.name);
        let options = DeviceOptions {
            route: self.route(),
            place: self.place.clone(),
            get_wait,
            counts: Arc::clone(&self.shared.counts),
            ..defaults
        };
        let until = Instant::now() + STATE_FREE_WITHIN;
        loop {
            match Device::open(options.clone()).await {
                Ok(device) => return Ok(device),
                Err(DeviceError::State(StateError::InUse { .. })) if Instant::now() < until => {
                    time::sleep(SYNC_TIME).await;
                }
                Err(error) => return Err(error).with_context(|| format!("device {}", self.name)),
            }
        }
    }

    /// Some connections go through the proxy.
    fn route(&mut self) -> Route {
        let gateway = self.shared.options.gateway.clone();
        let Some(proxy) = &self.shared.proxy else { return Route::To(gateway) };
        let (cutting, fraction) = (proxy.address().to_string(), self.shared.options.faults.cut);
        let seed = self.random.random::<u64>();
        Route::Each(Arc::new(move |connection| {
            let mut random = StdRng::seed_from_u64(seed ^ connection);
            if random.random_bool(fraction) { cutting.clone() } else { gateway.clone() }
        }))
    }

    async fn turn(&mut self, device: &mut Device) -> Result<Turn, DeviceError> {
        let shared = Arc::clone(&self.shared);
        let options = &shared.options;
        let is_scarce = (options.connections as u64) < u64::from(options.devices);
        let wanted = |way| if options.expected(way) > 0 { options.of_device() } else { 0 };
        let (to_get, to_put) = (wanted(Way::Down), wanted(Way::Up));
        let mut moved = Instant::now();
        let mut crash_at: Option<Instant> = None;
        loop {
            let may_put = if options.answers { to_put.min(self.got) } else { to_put };
            if self.put < may_put && device.status().open_puts < OPEN_PUTS_MAX {
                self.put_some(device, may_put).await?;
                moved = Instant::now();
            }
            if self.got >= to_get && self.put >= to_put && device.settle(WAIT).await? {
                return Ok(Turn::Done);
            }
            let now = Instant::now();
            let wait = if self.put < may_put { Duration::from_millis(1) } else { WAIT };
            let wait = crash_at.map_or(wait, |at| wait.min(at.saturating_duration_since(now)));
            match device.next(wait).await? {
                Some(received) => {
                    self.take(&received);
                    device.used(&[received.uid]).await?;
                    moved = Instant::now();
                    if crash_at.is_none() && self.random.random_bool(options.faults.crash) {
                        let within = self.random.random_range(0..CRASH_WITHIN_US);
                        crash_at = Some(moved + Duration::from_micros(within));
                    }
                }
                None => self.note_trouble(device),
            }
            if crash_at.is_some_and(|at| at <= Instant::now()) {
                return Ok(Turn::Crash);
            }
            if is_scarce && moved.elapsed() >= IDLE {
                return Ok(Turn::Idle);
            }
        }
    }

    /// The application gets a message.
    fn take(&mut self, received: &device::Received) {
        self.got += 1;
        let shared = &self.shared;
        shared.progress.delivered.fetch_add(1, Ordering::Relaxed);
        let queue = shared.options.queue_number(received.message.queue);
        let payload = received.message.payload.clone();
        let payloads = match &mut self.injector {
            Some(injector) => injector.pass(payload),
            None => vec![payload],
        };
        for payload in payloads {
            // A queue of another name is number 0, and no message is for that.
            let queue = Some(queue.unwrap_or(0));
            shared.arrived(&payload, Way::Down, Some(self.number), queue, self.is_online);
        }
    }

    async fn put_some(&mut self, device: &Device, to_put: u64) -> Result<(), DeviceError> {
        let shared = &self.shared;
        let options = &shared.options;
        let numbers = self.put..to_put.min(self.put + PUTS as u64);
        let mut puts = Vec::new();
        let mut labels = Vec::new();
        for number in numbers {
            let queues = u64::from(options.queues);
            let queue = (number % queues) as u32 + 1;
            let sequence = (number / queues) as u32 + 1;
            let stream = Stream { way: Way::Up, device: self.number, queue };
            let label = Label { run: shared.run, stream, sequence, made_us: shared.elapsed_us() };
            let mut message = device::text_message(options.reply_queue, label.payload(options.size));
            message.descriptor.correl_id = shared.correl_id(self.number % options.mq_connections);
            puts.push(NewPut { queue: options.reply_queue, queue_manager: QMgrName::BLANK, message });
            labels.push((stream, sequence));
        }
        device.answer(&[], puts).await?;
        // Durable on the device: from here on it must arrive.
        let mut ledger = shared.ledger();
        labels.iter().for_each(|(stream, sequence)| ledger.sent(*stream, *sequence));
        drop(ledger);
        shared.progress.answered.fetch_add(labels.len() as u64, Ordering::Relaxed);
        self.put += labels.len() as u64;
        Ok(())
    }

    fn note_trouble(&self, device: &Device) {
        if let Some(trouble) = device.status().trouble {
            self.shared.note_trouble(format!("device {}: {trouble}", self.name));
        }
    }
}
