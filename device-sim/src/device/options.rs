//! How a device behaves.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use mqe::DeviceName;

use super::memory::MemoryDisk;
use super::status::Counts;

/// What a device is told once.
#[derive(Debug, Clone)]
pub struct DeviceOptions {
    /// Where the gateway is.
    pub route: Route,
    /// The device's name.
    pub name: DeviceName,
    /// What proves who it is.
    pub token: Bytes,
    /// What it is, for people.
    pub product: String,
    /// Where it keeps its state.
    pub place: Place,
    /// Whether it takes messages, and who decides about them.
    pub intake: Intake,
    /// Messages asked for at once.
    pub window_messages: u32,
    /// Bytes asked for at once.
    pub window_bytes: u32,
    /// How long a GET waits at the gateway. Zero: it asks until nothing comes, then no more on that connection.
    pub get_wait: Duration,
    /// With [`Intake::Store`]: it takes so many messages in its life; what comes beyond is released.
    pub take_max: Option<u64>,
    /// With [`Intake::Store`]: it asks for nothing while the application has not used so many.
    pub unused_max: usize,
    /// The most time that connecting and the handshake may take.
    pub connect_timeout: Duration,
    /// The pause before it connects again; it doubles with each failure.
    pub pause_first: Duration,
    /// The longest pause.
    pub pause_max: Duration,
    /// Where to count; a fleet counts all its devices in one place.
    pub counts: Arc<Counts>,
}

impl DeviceOptions {
    /// Defaults: state in memory, stores and confirms what comes.
    pub fn new(gateway: impl Into<String>, name: DeviceName) -> Self {
        Self {
            route: Route::To(gateway.into()),
            name,
            token: Bytes::new(),
            product: format!("device-sim {}", env!("CARGO_PKG_VERSION")),
            place: Place::Memory(MemoryDisk::default()),
            intake: Intake::Store,
            window_messages: 64,
            window_bytes: 256 * 1024,
            get_wait: Duration::from_secs(30),
            take_max: None,
            unused_max: 256,
            connect_timeout: Duration::from_secs(15),
            pause_first: Duration::from_millis(50),
            pause_max: Duration::from_secs(1),
            counts: Arc::default(),
        }
    }
}

/// Where to connect.
#[derive(Clone)]
pub enum Route {
    /// Always there: `host:port`.
    To(String),
    /// Asked before each connection, with its number from 0.
    Each(Arc<dyn Fn(u64) -> String + Send + Sync>),
}

impl Route {
    pub(super) fn address(&self, connection: u64) -> String {
        match self {
            Self::To(address) => address.clone(),
            Self::Each(choose) => choose(connection),
        }
    }
}

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::To(address) => f.write_str(address),
            Self::Each(_) => f.write_str("chosen for each connection"),
        }
    }
}

/// Where the state is.
#[derive(Debug, Clone)]
pub enum Place {
    /// In memory: gone with the last clone of the disk.
    Memory(MemoryDisk),
    /// In a directory of its own.
    Directory(PathBuf),
}

/// Whether a device takes messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intake {
    /// It asks for messages, stores them and confirms them.
    Store,
    /// It asks for messages, and the application decides about each while the connection lasts. No more are asked
    /// for before all of a window are decided. Those undecided when the connection breaks come again.
    Ask,
    /// It asks for none.
    Off,
}
