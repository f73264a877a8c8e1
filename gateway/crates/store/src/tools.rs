//! What an operator does with a store: look whether it is whole, see what is in it, back it up, restore it, save what
//! can be saved. All of it on real directories, blocking, and but for the backup of a running service on a store that
//! nobody uses.
//!
//! The reading here is a second one, beside the journal's own: it goes on behind damage, where a start must stop.

mod backup;
mod bodies;
mod check;
mod contents;
mod foreseen;
mod json;
mod manifest;
mod old;
mod progress;
mod rebuild;
mod restore;
mod salvage;
mod segment;
mod snapshot;
mod source;
mod stat;
mod survey;
#[cfg(test)]
mod tests;
mod unfinished;
mod walk;

pub use backup::{BackupReport, backup};
pub use check::{Affected, CheckReport, Finding, Severity, check};
pub use progress::{Progress, progress};
pub use restore::{RestoreReport, restore};
pub use salvage::{Doubt, LostPart, SalvageReport, Saved, salvage};
pub use snapshot::Snapshot;
pub use stat::{StoppedStat, stat};
