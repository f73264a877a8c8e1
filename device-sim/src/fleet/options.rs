//! What a fleet is to play.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mq_client::ConnectOptions;
use mq_wire::{QMgrName, QName};
use mqe::DeviceName;

use super::faults::Faults;
use super::payload::Way;
use super::shared::Progress;
use crate::device::{self, Counts};

/// Which way messages go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From MQ to devices.
    Down,
    /// From devices to MQ.
    Up,
    /// Both, each as many.
    Both,
}

impl Direction {
    /// Whether MQ puts.
    pub fn is_down(self) -> bool {
        self != Self::Up
    }

    /// Whether devices put.
    pub fn is_up(self) -> bool {
        self != Self::Down
    }
}

/// A fleet.
#[derive(Debug, Clone)]
pub struct FleetOptions {
    /// The device listener, `host:port`.
    pub gateway: String,
    /// The queue manager.
    pub mq: ConnectOptions,
    /// The gateway's name, by which MQ addresses devices.
    pub via: QMgrName,
    /// Devices.
    pub devices: u32,
    /// Queues of each device.
    pub queues: u32,
    /// Messages of each queue and way.
    pub messages: u32,
    /// Bytes of a message, at least; its label takes about 90.
    pub size: usize,
    /// The fraction of devices that is there from the begin; the others come when all is put.
    pub online: f64,
    /// Devices connected at a time.
    pub connections: usize,
    /// Messages put to devices in a second; 0 is as fast as it goes.
    pub rate: f64,
    /// From which all that is random follows.
    pub seed: u64,
    /// Faults.
    pub faults: Faults,
    /// Which way messages go.
    pub direction: Direction,
    /// MQ connections that put, and as many that get.
    pub mq_connections: u32,
    /// Messages in a unit of work.
    pub unit_messages: u32,
    /// For the state messages of the applications that put.
    pub put_state_queue: QName,
    /// For the state message of the application that gets.
    pub get_state_queue: QName,
    /// Where devices put to.
    pub reply_queue: QName,
    /// Before the number in the names of devices.
    pub device_prefix: String,
    /// Before the number in the names of queues; the name, if a device has one only.
    pub queue_prefix: String,
    /// Between queue and device in an address.
    pub separator: char,
    /// Where devices keep their state, each in a directory of its own; none: in memory.
    pub state: Option<PathBuf>,
    /// Without progress for so long it is over.
    pub give_up: Duration,
    /// Loses, doubles and swaps a message behind the device's back: the ledger must find each.
    pub self_test: bool,
    /// A device puts one message for each that it got, as an answer; else it puts at once.
    pub answers: bool,
    /// Devices come when so many messages are put to them; 0 is at once.
    pub devices_after: u64,
    /// How far it is.
    pub progress: Arc<Progress>,
    /// What the devices have done.
    pub counts: Arc<Counts>,
}

impl FleetOptions {
    /// Defaults: 100 devices, 10 messages each, down, no faults.
    pub fn new(gateway: impl Into<String>, mq: ConnectOptions, via: QMgrName) -> Self {
        Self {
            gateway: gateway.into(),
            mq,
            via,
            devices: 100,
            queues: 1,
            messages: 10,
            size: 256,
            online: 0.5,
            connections: 10_000,
            rate: 0.0,
            seed: 1,
            faults: Faults::default(),
            direction: Direction::Down,
            mq_connections: 4,
            unit_messages: 50,
            put_state_queue: QName(mq_wire::Chars::cut("DEV.QUEUE.2")),
            get_state_queue: QName(mq_wire::Chars::cut("DEV.QUEUE.3")),
            reply_queue: QName(mq_wire::Chars::cut("DEV.QUEUE.1")),
            device_prefix: "DEV".to_owned(),
            queue_prefix: "FLEET.Q".to_owned(),
            separator: '%',
            state: None,
            give_up: Duration::from_secs(60),
            self_test: false,
            answers: false,
            devices_after: 0,
            progress: Arc::default(),
            counts: Arc::default(),
        }
    }

    /// Messages of one way.
    pub fn expected(&self, way: Way) -> u64 {
        let is_wanted = match way {
            Way::Down => self.direction.is_down(),
            Way::Up => self.direction.is_up(),
        };
        if is_wanted { u64::from(self.devices) * self.of_device() } else { 0 }
    }

    /// Messages of one device and way.
    pub(super) fn of_device(&self) -> u64 {
        u64::from(self.queues) * u64::from(self.messages)
    }

    /// A device's name; numbers are from 1.
    pub fn device_name(&self, number: u32) -> Result<DeviceName, mq_wire::NameError> {
        device::device_name(&self.device_prefix, number)
    }

    /// A device queue's name; numbers are from 1.
    pub fn queue_name(&self, number: u32) -> Result<QName, mq_wire::NameError> {
        QName::new(&self.queue_text(number))
    }

    /// The name as text: the only queue of a device has no number.
    pub(super) fn queue_text(&self, number: u32) -> String {
        if self.queues == 1 { self.queue_prefix.clone() } else { format!("{}{number}", self.queue_prefix) }
    }

    /// The number of a device's queue.
    pub(super) fn queue_number(&self, name: QName) -> Option<u32> {
        match name.to_string().strip_prefix(&self.queue_prefix)? {
            "" if self.queues == 1 => Some(1),
            number => number.parse().ok(),
        }
    }

    /// Whether it can be played at all.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        anyhow::ensure!(self.devices > 0 && self.queues > 0, "a fleet has at least one device and one queue");
        anyhow::ensure!(self.connections > 0, "a fleet has at least one connection");
        anyhow::ensure!(self.mq_connections > 0, "the application has at least one connection");
        anyhow::ensure!(self.unit_messages > 0, "a unit of work has at least one message");
        anyhow::ensure!((0.0..=1.0).contains(&self.online), "--online is a fraction from 0 to 1");
        anyhow::ensure!(self.rate >= 0.0 && self.rate.is_finite(), "--rate is messages in a second");
        self.device_name(self.devices)?;
        let queue = self.queue_name(self.queues)?;
        let address = format!("{queue}{}{}", self.separator, self.device_name(self.devices)?);
        QName::new(&address)?;
        let can_self_test = self.devices >= 3 && self.messages >= 3 && self.direction.is_down();
        anyhow::ensure!(
            !self.self_test || can_self_test,
            "the self-test needs three devices, three messages each, and messages to devices"
        );
        Ok(())
    }
}
