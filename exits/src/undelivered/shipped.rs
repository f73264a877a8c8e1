//! The shipped rules, with the numbers of mqe.md 4.6.

use std::time::Duration;

use async_trait::async_trait;
use mq_wire::Reason;

use super::{UndeliveredAction, UndeliveredMessage, UndeliveredRule};
use crate::{DataOptions, ExitError};

/// The longest wait.
const WAIT_MAX: Duration = Duration::from_secs(300);

/// 1, 2, 4, 8 ... times `first`, up to `max`.
fn doubled(first: Duration, attempt: u32, max: Duration) -> Duration {
    first.saturating_mul(1 << attempt.saturating_sub(1).min(20)).min(max)
}

/// For a fleet: one message never holds up the others for long. An unknown device's messages are parked, what may pass is
/// tried again for ever, and the rest goes by its report options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fleet;

impl Fleet {
    /// Its name in configurations.
    pub const KIND: &'static str = "fleet";
}

#[async_trait]
impl UndeliveredRule for Fleet {
    async fn decide(&self, undelivered: &UndeliveredMessage) -> Result<UndeliveredAction, ExitError> {
        let UndeliveredMessage { reason, temporary, attempt, .. } = undelivered;
        Ok(if *temporary {
            UndeliveredAction::Retry(doubled(Duration::from_secs(1), *attempt, WAIT_MAX))
        } else if *reason == Reason::UNKNOWN_REMOTE_Q_MGR {
            UndeliveredAction::Park
        } else {
            UndeliveredAction::ReportOptions
        })
    }
}

/// As MQ Everyplace: growing waits, then the listener stops, and the message is still on the transmission queue.
///
/// Data: `first=1 max=300 tries=10`: seconds of the first and of the longest wait, and tries before the stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compat {
    first: Duration,
    max: Duration,
    tries: u32,
}

impl Compat {
    /// Its name in configurations.
    pub const KIND: &'static str = "compat";

    /// From its data string.
    pub fn from_data(data: &str) -> Result<Self, ExitError> {
        let mut options = DataOptions::parse(data)?;
        let first = options.take_number("first", 1, 3600)?.unwrap_or(1);
        let max = options.take_number("max", 1, 86_400)?.unwrap_or(300);
        let tries = options.take_number("tries", 1, 1_000_000)?.unwrap_or(10);
        options.finish(&["first", "max", "tries"])?;
        Ok(Self { first: Duration::from_secs(first), max: Duration::from_secs(max), tries: tries as u32 })
    }
}

#[async_trait]
impl UndeliveredRule for Compat {
    async fn decide(&self, undelivered: &UndeliveredMessage) -> Result<UndeliveredAction, ExitError> {
        let attempt = undelivered.attempt;
        Ok(if attempt >= self.tries {
            UndeliveredAction::StopSource
        } else {
            UndeliveredAction::Retry(doubled(self.first, attempt, self.max))
        })
    }
}

/// Whatever cannot be delivered now goes by its report options: to the dead-letter queue, or nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Dlq;

impl Dlq {
    /// Its name in configurations.
    pub const KIND: &'static str = "dlq";
}

#[async_trait]
impl UndeliveredRule for Dlq {
    async fn decide(&self, _: &UndeliveredMessage) -> Result<UndeliveredAction, ExitError> {
        Ok(UndeliveredAction::ReportOptions)
    }
}
