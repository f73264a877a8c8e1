//! What the parts of a fleet share.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime};

use hdrhistogram::Histogram;
use mq_wire::CorrelId;
use tokio::sync::watch;

use super::ledger::{Arrival, Ledger};
use super::options::FleetOptions;
use super::payload::Way;
use crate::device::Counts;
use crate::proxy::Proxy;

/// How far a fleet is.
#[derive(Debug, Default)]
pub struct Progress {
    /// Messages put to devices, in committed units of work.
    pub put: AtomicU64,
    /// Messages put in units of work that are not committed yet.
    pub in_unit: AtomicU64,
    /// Messages that devices got, repeats included.
    pub delivered: AtomicU64,
    /// Messages that devices put.
    pub answered: AtomicU64,
    /// Messages that MQ got from devices.
    pub read_back: AtomicU64,
    /// Devices that are done.
    pub devices_done: AtomicU64,
    /// Devices that have looked whether something comes again.
    pub looked_again: AtomicU64,
}

impl Progress {
    /// Grows whenever anything moves.
    pub fn total(&self) -> u64 {
        let Self { put, delivered, answered, read_back, devices_done, looked_again, .. } = self;
        [put, delivered, answered, read_back, devices_done, looked_again]
            .iter()
            .map(|counter| counter.load(Ordering::Relaxed))
            .sum()
    }
}

/// What the application's side of a fleet went through.
#[derive(Debug, Default)]
pub(super) struct Hardships {
    pub(super) mq_breaks: AtomicU64,
    pub(super) found_committed: AtomicU64,
    pub(super) found_backed_out: AtomicU64,
    pub(super) crashes: AtomicU64,
}

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) options: FleetOptions,
    /// Names the run in every payload.
    pub(super) run: u64,
    pub(super) begun: Instant,
    pub(super) proxy: Option<Proxy>,
    ledger: Mutex<Ledger>,
    latency: Mutex<[Histogram<u64>; 2]>,
    trouble: Mutex<Option<String>>,
    pub(super) counts: Arc<Counts>,
    pub(super) progress: Arc<Progress>,
    pub(super) hardships: Hardships,
    pub(super) all_put: watch::Sender<bool>,
    pub(super) devices_done: watch::Sender<bool>,
    pub(super) gave_up: AtomicBool,
}

impl Shared {
    pub(super) fn new(options: FleetOptions, proxy: Option<Proxy>) -> Self {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        // Two runs of one seed are two runs.
        let run = (now.as_micros() as u64) << 16 ^ options.seed;
        Self {
            run,
            begun: Instant::now(),
            proxy,
            ledger: Mutex::new(Ledger::new(run)),
            latency: Mutex::new([histogram(), histogram()]),
            trouble: Mutex::default(),
            counts: Arc::clone(&options.counts),
            progress: Arc::clone(&options.progress),
            hardships: Hardships::default(),
            all_put: watch::Sender::new(false),
            devices_done: watch::Sender::new(false),
            gave_up: AtomicBool::new(false),
            options,
        }
    }

    pub(super) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn latency(&self) -> MutexGuard<'_, [Histogram<u64>; 2]> {
        self.latency.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn elapsed_us(&self) -> u64 {
        self.begun.elapsed().as_micros() as u64
    }

    /// By which one of the applications that get knows its messages on the queue that devices put to: those of this
    /// run, and of its own devices, so that it sees their order.
    pub(super) fn correl_id(&self, worker: u32) -> CorrelId {
        let mut id = *b"MQFLEET.................";
        id[12..16].copy_from_slice(&worker.to_be_bytes());
        id[16..].copy_from_slice(&self.run.to_be_bytes());
        CorrelId(id)
    }

    /// Books an arrival; its time counts if it was awaited.
    pub(super) fn arrived(
        &self,
        payload: &[u8],
        way: Way,
        device: Option<u32>,
        queue: Option<u32>,
        was_awaited: bool,
    ) -> Arrival {
        let arrival = self.ledger().arrived(payload, way, device, queue);
        if let Arrival::First { made_us } = arrival
            && was_awaited
        {
            let took = self.elapsed_us().saturating_sub(made_us).max(1);
            self.latency()[way as usize].saturating_record(took);
        }
        arrival
    }

    /// Something that may pass; told when it does not.
    pub(super) fn note_trouble(&self, trouble: impl Into<String>) {
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = Some(trouble.into());
    }

    pub(super) fn trouble(&self) -> Option<String> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Microseconds, up to an hour, three digits.
#[expect(clippy::expect_used, reason = "1 < 3,600,000,000 and 3 digits are within what a histogram takes")]
fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 3_600_000_000, 3).expect("the bounds are fixed")
}
