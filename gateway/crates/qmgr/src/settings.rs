//! What the owner decides when it starts the queue manager.

use mq_wire::{Chars, QMgrName};

/// What the owner decides when it starts the queue manager.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Name of the queue manager.
    pub name: QMgrName,
    /// QMID: `name_YYYY-MM-DD_HH.MM.SS`, made at the first start and kept by the owner.
    pub id: Chars<48>,
    /// Name of the gateway: the default transmission queue that is made for it.
    pub gateway: QMgrName,
    /// Whether the developer defaults are made at the first start (INTERFACE.md 2).
    pub dev_objects: bool,
    /// Key of the 64-bit hashes of MsgId and CorrelId. Random at the first start; after that the one that is in the
    /// store counts, since the hashes are there too.
    pub hash_key: [u64; 2],
    /// Command level to announce (mq-wire-observed.md 2: 9xx).
    pub command_level: i32,
    /// Bounds.
    pub limits: Limits,
}

impl Settings {
    /// The defaults for a queue manager of this name.
    pub fn new(name: QMgrName, id: Chars<48>, gateway: QMgrName) -> Self {
        Self {
            name,
            id,
            gateway,
            dev_objects: true,
            hash_key: [0; 2],
            command_level: 930,
            limits: Limits::default(),
        }
    }
}

/// Bounds of what is done in one step.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Messages that go with one step of the expiry sweep.
    pub sweep_messages_max: usize,
    /// Milliseconds after which the expiry sweep comes by again.
    pub sweep_interval_ms: u64,
    /// Messages that one step of a CLEAR or a DELETE PURGE kills.
    pub clear_messages_max: usize,
    /// Connections at a time (2025).
    pub connections_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            sweep_messages_max: 1_000,
            sweep_interval_ms: 1_000,
            clear_messages_max: 1_000,
            connections_max: 100_000,
        }
    }
}
