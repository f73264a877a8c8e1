//! The sources: listeners on transmission queues, of the embedded queue manager and of others, behind one trait.
//!
//! `listener` is what all have in common, with `exits` and `undelivered`; `local` is the embedded queue manager's; `address`
//! makes a device's message of one for a transmission queue; `control` is the administration's part.

mod address;
mod control;
mod exits;
mod listener;
mod local;
mod remote;
mod undelivered;

use std::time::Duration;

use mq_wire::Reason;

pub(crate) use address::{Addressing, dead_letter, delivery};
pub(crate) use control::{SourceControl, SourceKind, Sources, State, Wanted, rest};
pub(crate) use exits::{Exits, exit_reports};
pub(crate) use listener::{BatchLimits, Listener};
pub(crate) use local::LocalQueue;
pub(crate) use remote::RemoteQueue;
pub(crate) use undelivered::Undelivered;

/// After how long what may pass is tried again, where nothing says otherwise.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// A reason code with its meaning.
fn explain(reason: Reason) -> String {
    format!("{reason}: {}", reason.meaning().unwrap_or("see the reason code"))
}
