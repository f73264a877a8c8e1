//! What exits have done: counters that instances add to, and the status made of them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::ExitError;

/// Counters of one exit, over all instances.
#[derive(Debug, Default)]
pub(super) struct ExitStats {
    calls: AtomicU64,
    errors: AtomicU64,
    panics: AtomicU64,
    timeouts: AtomicU64,
    refused: AtomicU64,
    total_ns: AtomicU64,
    max_ns: AtomicU64,
    /// It answered MQXCC_SUPPRESS_EXIT.
    suppressed: AtomicBool,
}

impl ExitStats {
    pub(super) fn called(&self, took: Duration) {
        let ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.calls.fetch_add(1, Relaxed);
        self.total_ns.fetch_add(ns, Relaxed);
        self.max_ns.fetch_max(ns, Relaxed);
    }

    pub(super) fn failed(&self, error: &ExitError) {
        let counter = match error {
            ExitError::Panicked { .. } => &self.panics,
            ExitError::Late { .. } => &self.timeouts,
            _ => &self.errors,
        };
        counter.fetch_add(1, Relaxed);
    }

    pub(super) fn refused(&self) {
        self.refused.fetch_add(1, Relaxed);
    }

    /// True the first time.
    pub(super) fn suppress(&self) -> bool {
        !self.suppressed.swap(true, Relaxed)
    }

    pub(super) fn is_suppressed(&self) -> bool {
        self.suppressed.load(Relaxed)
    }

    /// Calls and nanoseconds.
    pub(super) fn load(&self) -> (u64, u64) {
        (self.calls.load(Relaxed), self.total_ns.load(Relaxed))
    }

    pub(super) fn status(&self, name: &str, kind: &str) -> ExitStatus {
        let (calls, total_ns) = self.load();
        ExitStatus {
            name: name.to_owned(),
            kind: kind.to_owned(),
            calls,
            refused: self.refused.load(Relaxed),
            errors: self.errors.load(Relaxed),
            panics: self.panics.load(Relaxed),
            timeouts: self.timeouts.load(Relaxed),
            total: Duration::from_nanos(total_ns),
            max: Duration::from_nanos(self.max_ns.load(Relaxed)),
            share: 0.0,
            suppressed: self.is_suppressed(),
        }
    }
}

/// What a chain has done since it was started.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChainStatus {
    /// The exits in their order.
    pub exits: Vec<ExitStatus>,
    /// The exit that took most of the time.
    pub slowest: Option<String>,
    /// Instances that work.
    pub instances: usize,
    /// Instances that were late and given up, since the start.
    pub abandoned: u64,
    /// Those of them that still have not returned; each may use a core.
    pub abandoned_now: usize,
    /// How many of these there may be before the chain stops.
    pub abandoned_max: usize,
    /// Why the chain has stopped for good, if it has: it must be started anew.
    pub stopped: Option<String>,
}

/// What one exit has done since the chain was started.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExitStatus {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: String,
    /// Calls for messages.
    pub calls: u64,
    /// Messages that it refused on purpose (MQXCC_SUPPRESS_FUNCTION).
    pub refused: u64,
    /// Calls that failed with an error, or returned what they may not.
    pub errors: u64,
    /// Calls that panicked.
    pub panics: u64,
    /// Calls that were late.
    pub timeouts: u64,
    /// Time in it; `total_us` where it is serialized.
    #[serde(rename = "total_us", serialize_with = "micros")]
    pub total: Duration,
    /// The longest call; `max_us` where it is serialized.
    #[serde(rename = "max_us", serialize_with = "micros")]
    pub max: Duration,
    /// Its part of the time in all exits, from 0 to 1.
    pub share: f64,
    /// It asked not to be called any more (MQXCC_SUPPRESS_EXIT).
    pub suppressed: bool,
}

/// Adds the shares and finds the slowest.
pub(super) fn compare(exits: &mut [ExitStatus]) -> Option<String> {
    let total: Duration = exits.iter().map(|exit| exit.total).sum();
    if total.is_zero() {
        return None;
    }
    for exit in exits.iter_mut() {
        exit.share = exit.total.as_secs_f64() / total.as_secs_f64();
    }
    exits.iter().max_by_key(|exit| exit.total).map(|exit| exit.name.clone())
}

fn micros<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX))
}
