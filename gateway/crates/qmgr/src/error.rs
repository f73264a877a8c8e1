//! What can go wrong outside of a call. What a caller of MQ may see is a reason code.

use mq_wire::{QMgrName, Reason};

/// Why the queue manager cannot start from what the store holds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// A record of the store cannot be understood.
    #[error("cannot start the queue manager: {0}")]
    Record(#[from] RecordError),
    /// The store belongs to another queue manager.
    #[error(
        "the data directory belongs to the queue manager {found}, not to {wanted}: give that name, or another --data"
    )]
    OtherName {
        /// Whose it is.
        found: QMgrName,
        /// Who was to be started.
        wanted: QMgrName,
    },
}

/// A record of keyed state that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// Written by a newer version.
    #[error("the record {key} has version {version}: use a newer program")]
    Version {
        /// Its key.
        key: String,
        /// Its version.
        version: u8,
    },
    /// Not what it should be.
    #[error("the record {key} is damaged: {what}; restore a backup")]
    Damaged {
        /// Its key.
        key: String,
        /// What is wrong.
        what: &'static str,
    },
}

/// Reason codes that are not in the common list (mq-objects.md 2.2).
pub(crate) mod reason {
    use super::Reason;

    pub(crate) const DYNAMIC_Q_NAME_ERROR: Reason = Reason(2011);
    pub(crate) const MSG_MARKED_BROWSE_CO_OP: Reason = Reason(2200);
    pub(crate) const INCONSISTENT_BROWSE: Reason = Reason(2259);
    pub(crate) const PROPERTIES_TOO_BIG: Reason = Reason(2478);
}
