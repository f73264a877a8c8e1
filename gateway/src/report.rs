//! What the service tells about itself: the answers of the admin listener, and what the commands print.

mod operation;
mod store;

use serde::{Deserialize, Serialize};

pub use operation::{
    ClearedOutbox, Operation, OperationReport, ParkAct, ParkedReport, RouteReport, SourceAct,
};
pub use store::{BackupReport, BackupRequest, HistogramReport, SegmentReport, StoreReport};

/// The answer to `status`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct StatusReport {
    /// Name of the queue manager.
    pub queue_manager: String,
    /// Name of the gateway.
    pub gateway: String,
    /// Version of the program.
    pub version: String,
    /// Seconds since the start.
    pub uptime_s: u64,
    /// Addresses that are listened on.
    pub listeners: Listeners,
    /// Connections of MQ clients now, and since the start.
    pub mq_connections: u64,
    /// MQ clients since the start.
    pub mq_connections_total: u64,
    /// Connections of devices now.
    pub device_connections: u64,
    /// Devices since the start.
    pub device_connections_total: u64,
    /// The queues that hold something or are open.
    pub queues: Vec<QueueReport>,
    /// The listeners on transmission queues.
    pub sources: Vec<SourceReport>,
    /// The area as a whole.
    pub area: AreaReport,
    /// The store.
    pub store: StoreReport,
    /// The exits, in the order of the chain.
    pub exits: Vec<ExitReport>,
    /// What is wrong, and what to do about it.
    pub problems: Vec<String>,
}

/// The addresses of the listeners.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Listeners {
    /// MQ clients.
    pub mq: String,
    /// Devices.
    pub devices: String,
    /// Administration.
    pub admin: String,
}

/// A queue.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct QueueReport {
    /// Its name.
    pub name: String,
    /// Messages on it.
    pub depth: u64,
    /// Of these, messages that a unit of work has put or got.
    pub uncommitted: u64,
    /// Handles open for getting.
    pub open_input: u32,
    /// Handles open for putting.
    pub open_output: u32,
}

/// A listener on a transmission queue, or the outbox to a queue manager.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SourceReport {
    /// Its name.
    pub name: String,
    /// local, remote or outbox.
    pub kind: String,
    /// The transmission queue.
    pub queue: String,
    /// The queue manager it is connected to, or was; empty for the embedded one.
    pub queue_manager: String,
    /// Where that is.
    pub address: String,
    /// STARTING, RUNNING, RETRYING, STOPPING, STOPPED or PAUSED.
    pub state: String,
    /// Since when: milliseconds since 1970.
    pub since_ms: u64,
    /// Why it is not running.
    pub reason: Option<String>,
    /// When it tries again: milliseconds since 1970.
    pub next_try_ms: Option<u64>,
    /// Messages moved since the start: to devices, or into the queue manager.
    pub moved: u64,
    /// Messages parked since the start.
    pub parked: u64,
    /// Messages sent to the dead-letter queue since the start.
    pub dead_lettered: u64,
    /// Messages discarded since the start, by their report options or by a rule.
    pub discarded: u64,
    /// Messages of the outbox that had expired before they could be put, since the start.
    pub expired: u64,
    /// The last batch that is committed in the other queue manager.
    pub batch: u64,
    /// Messages that wait in the outbox.
    pub waiting: u64,
    /// Their bytes.
    pub waiting_bytes: u64,
}

/// The store-and-forward area.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AreaReport {
    /// Devices that are known.
    pub devices: u64,
    /// Messages that wait or are in doubt.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Of these, messages handed out and not confirmed.
    pub in_doubt: u64,
    /// Ends since the data directory was made, by kind.
    pub ends: std::collections::BTreeMap<String, u64>,
    /// Bytes of memory that the index of these messages takes, roughly.
    pub index_bytes: u64,
    /// Above this idle devices leave memory (`index_bytes_max` of the section `store`).
    pub index_bytes_max: u64,
    /// Devices whose messages are not in memory, or not all.
    pub evicted_devices: u64,
    /// Messages that are parked for devices that are not known.
    pub parked: u64,
    /// Their bytes.
    pub parked_bytes: u64,
    /// Messages that have ended, and for which a report or a dead letter is still owed.
    pub owed: u64,
    /// Puts of devices that are answered when they are in their queue manager.
    pub puts_waiting: u64,
    /// Times at which the index of a device left memory, since the start.
    pub evictions: u64,
    /// Times at which it came back.
    pub loads: u64,
    /// Of these, times at which it was made anew from the journal.
    pub rebuilds: u64,
}

/// A device.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct DeviceReport {
    /// Its name.
    pub name: String,
    /// Whether it is connected now.
    pub connected: bool,
    /// Messages that wait for it.
    pub waiting: u64,
    /// Messages handed out and not confirmed.
    pub in_doubt: u64,
    /// Bytes of both.
    pub bytes: u64,
    /// The incarnation in force.
    pub incarnation: u32,
    /// Ends and puts since the device was made, by kind.
    pub counters: std::collections::BTreeMap<String, u64>,
}

/// An exit of the chain.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ExitReport {
    /// Its name.
    pub name: String,
    /// Messages it has seen.
    pub calls: u64,
    /// Messages it has refused.
    pub refused: u64,
    /// Failures, panics and time-outs.
    pub failures: u64,
    /// Of these, calls that were not done in time.
    pub late: u64,
    /// Mean time in microseconds.
    pub mean_us: u64,
    /// The longest call in microseconds.
    pub max_us: u64,
}
