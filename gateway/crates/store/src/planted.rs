//! Bugs that the crash test plants in the code to see that it would find them: the switches of the store's model, by
//! their names there (STORE.md 8). Outside of this crate's tests none is ever planted, and all of this is nothing.

/// A rule that is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bug {
    /// `bug-ack-before-sync`
    AckBeforeSync,
    /// `bug-drop-before-checkpoint`
    DropBeforeCheckpoint,
    /// `bug-no-dirsync`
    NoDirSync,
    /// `bug-checkpoint-not-synced`
    CheckpointNotSynced,
    /// `bug-checkpoint-rename-not-synced`
    CheckpointRenameNotSynced,
    /// `bug-checkpoint-ahead`
    CheckpointAhead,
    /// `bug-move-without-recheck`
    MoveWithoutRecheck,
    /// `bug-mark-before-sync`
    MarkBeforeSync,
    /// `bug-ignored-sync-error`
    IgnoredSyncError,
    /// `bug-retried-sync`
    RetriedSync,
    /// `bug-cut-at-valid`
    CutAtValid,
    /// `bug-body-unlinked-early`
    BodyUnlinkedEarly,
    /// `bug-body-not-synced`
    BodyNotSynced,
    /// `bug-orphans-early`
    OrphansEarly,
    /// `bug-no-backout`
    NoBackout,
    /// `start-durable` off
    StartNotDurable,
    /// `ck-resync` off
    CheckpointNotResynced,
    /// `key-order` off
    KeyOrderOfRecords,
    /// `commit-keys` off
    CommitKeysUncounted,
    /// `foot-name` off
    FooterUnnamed,
    /// `claim-rule` off: a bad group is never damage
    NothingClaims,
}

#[cfg(test)]
impl Bug {
    pub(crate) const ALL: [Self; 21] = [
        Self::AckBeforeSync,
        Self::DropBeforeCheckpoint,
        Self::NoDirSync,
        Self::CheckpointNotSynced,
        Self::CheckpointRenameNotSynced,
        Self::CheckpointAhead,
        Self::MoveWithoutRecheck,
        Self::MarkBeforeSync,
        Self::IgnoredSyncError,
        Self::RetriedSync,
        Self::CutAtValid,
        Self::BodyUnlinkedEarly,
        Self::BodyNotSynced,
        Self::OrphansEarly,
        Self::NoBackout,
        Self::StartNotDurable,
        Self::CheckpointNotResynced,
        Self::KeyOrderOfRecords,
        Self::CommitKeysUncounted,
        Self::FooterUnnamed,
        Self::NothingClaims,
    ];
}

#[cfg(test)]
thread_local! {
    static PLANTED: std::cell::Cell<Option<Bug>> = const { std::cell::Cell::new(None) };
}

/// Whether this one is planted now.
#[cfg(test)]
pub(crate) fn is_planted(bug: Bug) -> bool {
    PLANTED.get() == Some(bug)
}

/// Whether this one is planted: never.
#[cfg(not(test))]
pub(crate) const fn is_planted(_bug: Bug) -> bool {
    false
}

/// Plants one in what this thread does, or none.
#[cfg(test)]
pub(crate) fn plant(bug: Option<Bug>) {
    PLANTED.set(bug);
}
