//! `rate-limit`: so many messages a second, for each device or for all together, by token buckets.
//!
//! | option | values |
//! |---|---|
//! | `per_second` | messages, 1 to 1000000; must be given |
//! | `burst` | messages that may come at once after a rest, 1 to 1000000; the default is `per_second` |
//! | `per` | `device` (the default), `total` |
//! | `action` | `wait` (the message, and what is behind it on its source, waits; the default), `refuse` (undelivered with 2071) |
//!
//! A wait counts for the exit's time limit: give it one that is longer than the longest wait. All instances share the buckets;
//! a device that has been quiet long enough to have a full bucket is forgotten. At most 100,000 devices are remembered: while
//! there are so many that are not quiet, those that are new share one bucket.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use mq_wire::Reason;

use crate::{DataOptions, Direction, ExitContext, ExitError, ExitMessage, ExitResponse, ReceiveExit};

/// Devices that are remembered at the same time. Names come from applications: there may be any number of them.
const DEVICES_MAX: usize = 100_000;
/// No look for full buckets before this time after the last: it looks at all of them.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// The bucket of all that find no place of their own, and of everything with `per=total`.
const SHARED: &str = "";

/// The exit; see the head of its file.
#[derive(Debug)]
pub struct RateLimit {
    per_second: f64,
    burst: f64,
    per_device: bool,
    refuses: bool,
    buckets: Mutex<Buckets>,
}

#[derive(Debug, Default)]
struct Buckets {
    of: HashMap<String, Bucket>,
    looked: Option<Instant>,
}

/// Tokens, which may be owed, at a moment.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    tokens: f64,
    at: Instant,
}

impl RateLimit {
    /// Its kind in the configuration.
    pub const KIND: &'static str = "rate-limit";

    /// From the data string.
    pub fn from_data(data: &str) -> Result<Self, ExitError> {
        let mut options = DataOptions::parse(data)?;
        let per_second = options.take_number("per_second", 1, 1_000_000)?;
        let per_second = per_second.ok_or_else(|| ExitError::option("per_second", "is missing"))?;
        let burst = options.take_number("burst", 1, 1_000_000)?.unwrap_or(per_second);
        let exit = Self {
            per_second: per_second as f64,
            burst: burst as f64,
            per_device: options.take_choice("per", &[("device", true), ("total", false)])?,
            refuses: options.take_choice("action", &[("wait", false), ("refuse", true)])?,
            buckets: Mutex::default(),
        };
        options.finish(&["per_second", "burst", "per", "action"])?;
        Ok(exit)
    }

    /// Takes a token; how long until it is there. One that is not waited for is not taken.
    fn take(&self, name: String, now: Instant) -> Duration {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let name = if buckets.of.len() < DEVICES_MAX || buckets.of.contains_key(&name) {
            name
        } else {
            let due = |at: Instant| now.saturating_duration_since(at) >= LOOK_AGAIN;
            if buckets.looked.is_none_or(due) {
                buckets.looked = Some(now);
                buckets.of.retain(|_, bucket| self.filled(*bucket, now) < self.burst);
            }
            if buckets.of.len() < DEVICES_MAX { name } else { SHARED.to_owned() }
        };
        let bucket = buckets.of.entry(name).or_insert(Bucket { tokens: self.burst, at: now });
        let tokens = self.filled(*bucket, now) - 1.0;
        if tokens < 0.0 && self.refuses {
            return Duration::from_secs_f64(-tokens / self.per_second);
        }
        *bucket = Bucket { tokens, at: now };
        Duration::from_secs_f64((-tokens / self.per_second).max(0.0))
    }

    fn filled(&self, bucket: Bucket, now: Instant) -> f64 {
        let since = now.saturating_duration_since(bucket.at).as_secs_f64();
        (bucket.tokens + since * self.per_second).min(self.burst)
    }
}

#[async_trait]
impl ReceiveExit for RateLimit {
    async fn receive(
        &self,
        cx: &mut ExitContext,
        message: &mut ExitMessage,
    ) -> Result<ExitResponse, ExitError> {
        if cx.is_dry_run() {
            return Ok(ExitResponse::Ok);
        }
        let name = match (self.per_device, cx.direction()) {
            (false, _) => SHARED.to_owned(),
            (true, Direction::FromMq) => message.xqh()?.remote_q_mgr_name.to_string(),
            (true, Direction::FromDevice) => cx.source().to_owned(),
        };
        let wait = self.take(name, tokio::time::Instant::now().into_std());
        if wait.is_zero() {
            return Ok(ExitResponse::Ok);
        }
        if self.refuses {
            let why = format!("more than {} messages a second", self.per_second);
            return Ok(ExitResponse::SuppressFunction { reason: Reason::STORAGE_NOT_AVAILABLE, why });
        }
        tokio::time::sleep(wait).await;
        Ok(ExitResponse::Ok)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Harness, TestMessage};

    #[tokio::test(start_paused = true)]
    async fn messages_wait_for_their_tokens() {
        let mut harness = Harness::new(RateLimit::from_data("per_second=10 burst=2").unwrap());
        let begun = tokio::time::Instant::now();
        let mut took = Vec::new();
        for device in ["DEV1", "DEV1", "DEV1", "DEV2", "DEV1"] {
            let mut message = TestMessage::to("Q", device).build();
            assert_eq!(harness.run(&mut message).await.unwrap(), ExitResponse::Ok);
            took.push(begun.elapsed().as_millis() / 10 * 10);
        }
        assert_eq!(took, [0, 0, 100, 100, 200]);
    }

    #[tokio::test(start_paused = true)]
    async fn or_are_refused_and_what_was_refused_costs_nothing() {
        let data = "per_second=10 burst=1 per=total action=refuse";
        let mut harness = Harness::new(RateLimit::from_data(data).unwrap());
        let mut passes = async |device: &str| {
            let mut message = TestMessage::to("Q", device).build();
            harness.run(&mut message).await.unwrap() == ExitResponse::Ok
        };
        assert!(passes("DEV1").await);
        for _ in 0..5 {
            assert!(!passes("DEV2").await);
        }
        tokio::time::advance(Duration::from_millis(101)).await;
        assert!(passes("DEV2").await);
    }

    #[test]
    fn names_without_end_share_a_bucket_until_others_are_quiet() {
        let exit = RateLimit::from_data("per_second=1 burst=1 action=refuse").unwrap();
        let now = Instant::now();
        for device in 0..DEVICES_MAX {
            assert!(exit.take(format!("DEV{device}"), now).is_zero());
        }
        assert!(exit.take("NEW1".to_owned(), now).is_zero());
        assert!(!exit.take("NEW2".to_owned(), now).is_zero(), "it shares with NEW1");
        assert_eq!(exit.buckets.lock().unwrap().of.len(), DEVICES_MAX + 1);
        let later = now + Duration::from_secs(2);
        for device in ["NEW1", "NEW2", "NEW3"] {
            assert!(exit.take(device.to_owned(), later).is_zero());
        }
        assert_eq!(exit.buckets.lock().unwrap().of.len(), 3);
    }

    #[test]
    fn mistakes_name_the_option() {
        let wrong = |data: &str| RateLimit::from_data(data).unwrap_err().to_string();
        assert!(wrong("").contains("per_second") && wrong("per_second=0").contains("from 1 to 1000000"));
    }
}
