//! Heartbeats. Without sharing while an MQGET waits, the only time when a client reads them; on a shared socket whenever
//! nothing has come for some time (mq-wire.md 3.11, mq-wire-observed-base.md 7).

use std::time::{Duration, Instant};

use mq_wire::{ControlFlags1, SegmentType};

use crate::error::ConnectionError;
use crate::link::{Address, Outbound};

/// The least time that a client has for its answer, however short the interval is.
const GRACE_MIN: Duration = Duration::from_secs(10);
/// The most that is added to the interval before a silent client is dead (mq-wire.md 3.11).
const GRACE_MAX: Duration = Duration::from_secs(60);

/// The heartbeats of one waiting call.
#[derive(Debug)]
pub(crate) struct Heartbeat {
    interval: Duration,
    next: Instant,
    /// When the oldest heartbeat without an answer was sent.
    unanswered: Option<Instant>,
}

impl Heartbeat {
    /// Heartbeats of a call that begins now; none if the interval is 0.
    pub(crate) fn new(interval_s: u32, now: Instant) -> Option<Self> {
        let interval = Duration::from_secs(interval_s.into());
        (interval_s != 0).then(|| Self { interval, next: now + interval, unanswered: None })
    }

    /// When the next step is due. Whatever came since a heartbeat was sent is an answer to it.
    pub(crate) fn poll_timeout(&self, heard: Instant) -> Instant {
        match self.answer_due(heard) {
            Some(due) => due.min(self.next),
            None => self.next,
        }
    }

    /// Sends a heartbeat, or finds that the client is dead.
    pub(crate) fn handle_timeout(
        &mut self,
        now: Instant,
        heard: Instant,
        out: &mut Outbound,
    ) -> Result<(), ConnectionError> {
        match self.answer_due(heard) {
            Some(due) if due <= now => {
                return Err(ConnectionError::Silent("for a heartbeat in a waiting MQGET"));
            }
            Some(_) => {}
            None => self.unanswered = None,
        }
        if self.next <= now {
            // CONFIRM_REQUEST alone is what IBM's client was seen to answer in a waiting MQGET.
            out.control(Address::PLAIN, SegmentType::HEARTBEAT, ControlFlags1::CONFIRM_REQUEST, &[]);
            self.unanswered.get_or_insert(now);
            self.next = now + self.interval;
        }
        Ok(())
    }

    fn answer_due(&self, heard: Instant) -> Option<Instant> {
        let sent = self.unanswered.filter(|sent| heard <= *sent)?;
        Some(sent + self.interval.clamp(GRACE_MIN, GRACE_MAX))
    }
}

/// What is added to the interval before a server asks: the client's own heartbeat comes first (mq-wire.md 3.11).
const SERVER_DELAY: Duration = Duration::from_secs(5);

/// The heartbeats of a shared socket.
#[derive(Debug)]
pub(crate) struct SocketHeartbeat {
    interval: Duration,
    /// When the heartbeat was sent to which nothing has come yet.
    asked: Option<Instant>,
}

impl SocketHeartbeat {
    /// Heartbeats of a channel; none if the interval is 0.
    pub(crate) fn new(interval_s: u32) -> Option<Self> {
        (interval_s != 0).then(|| Self { interval: Duration::from_secs(interval_s.into()), asked: None })
    }

    /// When the next step is due. Whatever came since a heartbeat was sent is an answer to it.
    pub(crate) fn poll_timeout(&self, heard: Instant) -> Instant {
        match self.unanswered(heard) {
            Some(asked) => asked + self.interval.clamp(GRACE_MIN, GRACE_MAX),
            None => heard + self.interval + SERVER_DELAY,
        }
    }

    /// Sends a heartbeat, or finds that the client is dead.
    pub(crate) fn handle_timeout(
        &mut self,
        now: Instant,
        heard: Instant,
        out: &mut Outbound,
    ) -> Result<(), ConnectionError> {
        if self.poll_timeout(heard) > now {
            return Ok(());
        }
        if self.unanswered(heard).is_some() {
            return Err(ConnectionError::Silent("for a heartbeat on a shared socket"));
        }
        out.control(Address::SOCKET, SegmentType::HEARTBEAT, ControlFlags1::CONFIRM_REQUEST, &[]);
        self.asked = Some(now);
        Ok(())
    }

    fn unanswered(&self, heard: Instant) -> Option<Instant> {
        self.asked.filter(|asked| heard <= *asked)
    }
}
