//! A fleet: many simulated devices and the MQ application at the other end, with a ledger of what must arrive.
//!
//! The application puts to `QUEUE%DEVICE` at the gateway in units of work; the devices, some of them offline until all
//! is put, some through cut connections, some crashing, take it, and put messages of their own to an MQ queue, which the
//! application reads back. In the end the ledger says exactly what was lost, doubled or out of order. Service and
//! connections may be killed and started again meanwhile.
//!
//! Nothing is printed here: [`run`] gives a [`Report`], [`Progress`] says how far it is.

mod devices;
mod faults;
mod getter;
mod inject;
mod ledger;
mod limits;
mod options;
mod payload;
mod putter;
mod report;
mod shared;
mod units;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::Context;
use tokio::task::JoinSet;
use tokio::time::{self, Instant};

use crate::proxy::{Cut, Proxy};

pub use faults::{Faults, FaultsError};
pub use ledger::{Account, Arrival, Findings, Ledger};
pub use options::{Direction, FleetOptions};
pub use payload::{Label, Stream, Unreadable, Way};
pub use report::{Latency, Report, WayReport};
pub use shared::Progress;
pub use units::UnitsError;

use shared::Shared;

/// Descriptors beside those of the devices' connections.
const OTHER_DESCRIPTORS: u64 = 256;
/// How often it is looked at whether anything moves.
const WATCH_EVERY: Duration = Duration::from_millis(500);

/// Plays the fleet to its end. An error is one of the set-up or of MQ; what went wrong with messages is in the report.
pub async fn run(options: FleetOptions) -> anyhow::Result<Report> {
    options.check()?;
    // A connection through the proxy has two ends more in this process.
    let connections = options.connections.min(options.devices as usize) as f64;
    let wanted = (connections * (1.0 + 2.0 * options.faults.cut)).ceil() as u64 + OTHER_DESCRIPTORS;
    let descriptors = limits::raise_descriptors(wanted);
    if descriptors < wanted {
        tracing::warn!(
            descriptors,
            wanted,
            "too few file descriptors for so many connections: raise `ulimit -n`"
        );
    }
    let proxy = match options.faults.cut > 0.0 {
        true => {
            let seed = options.seed;
            let plan = move |connection| Cut::of_seed(seed, connection);
            let started = Proxy::start(options.gateway.clone(), plan).await;
            Some(started.context("cannot start the proxy that cuts connections")?)
        }
        false => None,
    };
    let shared = Arc::new(Shared::new(options, proxy));
    let outcome = play(&shared).await?;
    Ok(report::make(&shared, outcome))
}

/// Runs all parts until all is done, or nothing moves any more. Why it gave up, if it did.
async fn play(shared: &Arc<Shared>) -> anyhow::Result<Option<String>> {
    let mut parts: JoinSet<anyhow::Result<()>> = JoinSet::new();
    let options = &shared.options;
    let mut putters = JoinSet::new();
    if options.direction.is_down() {
        for worker in 0..options.mq_connections {
            putters.spawn(putter::run(Arc::clone(shared), worker));
        }
    }
    {
        let shared = Arc::clone(shared);
        parts.spawn(async move {
            while let Some(ended) = putters.join_next().await {
                ended.context("a task of the application failed")??;
            }
            shared.all_put.send_replace(true);
            Ok(())
        });
    }
    if options.direction.is_up() {
        for worker in 0..options.mq_connections {
            parts.spawn(getter::run(Arc::clone(shared), worker));
        }
    }
    parts.spawn(devices::run(Arc::clone(shared)));
    let (mut seen, mut since) = (shared.progress.total(), Instant::now());
    let mut watch = time::interval(WATCH_EVERY);
    loop {
        tokio::select! {
            ended = parts.join_next() => match ended {
                None => return Ok(None),
                Some(ended) => ended.context("a part of the fleet failed")??,
            },
            _ = watch.tick() => {
                let total = shared.progress.total();
                if total != seen {
                    (seen, since) = (total, Instant::now());
                }
                if since.elapsed() >= options.give_up {
                    let trouble = shared.trouble().unwrap_or_else(|| "nothing that was told".to_owned());
                    let seconds = options.give_up.as_secs();
                    shared.gave_up.store(true, Ordering::Relaxed);
                    return Ok(Some(format!("nothing moved for {seconds} s; the last trouble: {trouble}")));
                }
            }
        }
    }
}
