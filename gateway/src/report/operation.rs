//! What an operator asks of a running service over the admin listener, and the answers.

use serde::{Deserialize, Serialize};

/// Something that an operator wants done. Each is logged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum Operation {
    /// With one source and its outbox, or with all of them.
    Source {
        /// Which; none is all.
        name: Option<String>,
        /// What.
        act: SourceAct,
        /// The queue manager was replaced, and nothing of the last batch with the old one can come again.
        #[serde(default)]
        new_queue_manager: bool,
        /// The outbox's sync message was cleared: what was under way is there, or is not.
        #[serde(default)]
        outbox: Option<ClearedOutbox>,
    },
    /// An entry of an outbox that cannot be read ends.
    DropEntry {
        /// The source.
        source: String,
        /// Its id, as status names it.
        entry: String,
    },
    /// With what is parked for a device, or for all.
    Park {
        /// What.
        act: ParkAct,
        /// For which device; none is all.
        device: Option<String>,
    },
    /// The exits are started anew from the configuration file.
    ReloadExits,
    /// A device becomes known.
    AddDevice {
        /// Its name.
        device: String,
    },
    /// The next HELLO of a device is let in, whatever its store.
    ResetDevice {
        /// Its name.
        device: String,
    },
}

/// What is done with a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SourceAct {
    /// It connects and moves messages, also if it had stopped by itself.
    Start,
    /// It ends its connection.
    Stop,
    /// It moves nothing, and keeps its connection.
    Pause,
    /// It goes on.
    Resume,
}

/// What became of the puts that were under way when the outbox's sync message was cleared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClearedOutbox {
    /// They are in the queue manager.
    Drained,
    /// They are not: put them again.
    Again,
}

/// What is done with parked messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ParkAct {
    /// The device is let in, and they wait for it.
    Release,
    /// They end.
    Purge,
}

/// What was done.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationReport {
    /// A sentence each.
    pub done: Vec<String>,
}

/// What is parked for a device that is not known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParkedReport {
    /// The device.
    pub device: String,
    /// Messages.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// When the oldest was parked: milliseconds since 1970.
    pub oldest_ms: u64,
}

/// Where a message would go that is put to a queue at a queue manager.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouteReport {
    /// What was looked at, and what was found: a sentence each.
    pub steps: Vec<String>,
    /// Where it ends.
    pub ends: String,
}
