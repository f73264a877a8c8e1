//! What the listener on a remote transmission queue and the outbox to its queue manager have in common: the connection, the
//! waits between tries, and the sync message. When anything is done with them is theirs.

mod backoff;
mod letters;
mod link;
mod settings;
mod sync;

pub(crate) use backoff::Backoff;
pub(crate) use letters::{Letters, qmgr_now};
pub(crate) use link::{Failed, Link};
pub(crate) use settings::RemoteSettings;
pub(crate) use sync::{Found, SyncDirection, SyncKey, SyncQueue};
