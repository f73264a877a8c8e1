//! What can be seen of a device from outside of its task.

use std::sync::atomic::{AtomicU64, Ordering};

use super::DeviceError;

/// How a device stands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Status {
    /// Whether it may send and receive: the gateway has answered RESUME.
    pub ready: bool,
    /// How often it became ready.
    pub sessions: u64,
    /// Whether nothing of its own waits for an answer.
    pub settled: bool,
    /// Puts that are not decided.
    pub open_puts: usize,
    /// Puts that were made by this store, ever.
    pub puts: u64,
    /// GETs that brought nothing: what waited for the device had been given.
    pub empty: u64,
    /// Why it is not ready, as far as known.
    pub trouble: Option<String>,
    /// Why it ended, if it did by itself.
    pub error: Option<DeviceError>,
}

impl Status {
    pub(super) fn is_over(&self) -> bool {
        self.error.is_some()
    }
}

macro_rules! counts {
    ($($(#[$meta:meta])* $name:ident;)+) => {
        /// What devices have done.
        #[derive(Debug, Default)]
        pub struct Counts { $( $(#[$meta])* pub $name: AtomicU64, )+ }

        impl Counts {
            /// Names and numbers.
            pub fn list(&self) -> Vec<(&'static str, u64)> {
                vec![$( (stringify!($name), self.$name.load(Ordering::Relaxed)), )+]
            }
        }
    };
}

counts! {
    /// Connections that were made.
    connections;
    /// Connections that got through RESUME.
    sessions;
    /// Connections that broke, whoever broke them.
    breaks;
    /// Messages that were stored durably.
    stored;
    /// Messages among them that the gateway had sent before.
    resent;
    /// Messages whose confirm was answered.
    confirmed;
    /// Refusals that were answered.
    refused;
    /// Puts that went into outboxes durably.
    put;
    /// Puts that the gateway took.
    taken;
    /// Puts that the gateway refused for good.
    put_refused;
}

/// One more, or several.
pub(super) fn count(counter: &AtomicU64, by: usize) {
    counter.fetch_add(by as u64, Ordering::Relaxed);
}
