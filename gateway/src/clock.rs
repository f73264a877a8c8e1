//! The only place where the system's clocks are read. Everything else gets the time as a parameter.

use std::pin::Pin;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::time::Sleep;

/// A moment on both clocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    /// Milliseconds since 1970, for put times and expiry.
    pub(crate) wall_ms: u64,
    /// The monotonic clock, for everything else.
    pub(crate) instant: Instant,
}

/// Waits for a moment, or for ever.
pub(crate) async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment.into()).await,
        None => std::future::pending().await,
    }
}

/// Waits again and again, for moments that mostly only move on: the timer is set anew when it is to end earlier, or has
/// ended. So it may end before its time, and whoever waits looks at the clock.
#[derive(Debug)]
pub(crate) struct Alarm {
    sleep: Pin<Box<Sleep>>,
    at: Option<Instant>,
}

impl Alarm {
    pub(crate) fn new() -> Self {
        Self { sleep: Box::pin(tokio::time::sleep(Duration::ZERO)), at: None }
    }

    /// As [`until`], or earlier. Cancel safe.
    pub(crate) async fn until(&mut self, moment: Option<Instant>) {
        let Some(moment) = moment else { return std::future::pending().await };
        if self.at.is_none_or(|at| moment < at) {
            self.sleep.as_mut().reset(moment.into());
            self.at = Some(moment);
        }
        self.sleep.as_mut().await;
        // Over: the next one is set anew.
        self.at = None;
    }
}

/// Reads both clocks.
pub(crate) fn now() -> Moment {
    let since = since_1970();
    let wall_ms = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
    // The runtime's clock, which tests can stop.
    Moment { wall_ms, instant: tokio::time::Instant::now().into_std() }
}

fn since_1970() -> Duration {
    #[cfg(test)]
    if let Some(since) = crate::simulation::since_1970() {
        return since;
    }
    // A wall clock before 1970 is a machine without a clock: messages then carry that date, nothing else depends on it.
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
