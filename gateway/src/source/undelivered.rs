//! What becomes of messages that were not taken where they were to go: the configured rule is asked, and what it says is
//! turned into other deliveries, or into a wait (mqe.md 4.6).
//!
//! ```text
//!  the device ──refuses──> rule ──> park ──full──> dead-letter queue ──refuses──> later (RETRYING)
//!                           ├─────> dead-letter queue ──refuses──> park ──full──> later (RETRYING)
//!                           └─────> discard | later | stop
//! ```

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mq_wire::{MsgId, QMgrName, Reason};
use mqe::{DeviceMessage, DeviceName};
use mqe_exits::{Rule, UndeliveredAction, UndeliveredMessage};

use super::address;
use super::listener::Pause;
use crate::clock;
use crate::core::{Delivery, HandOver, Refused, RefusedBy, TakenKey};

/// Waits for room on a dead-letter queue and in the park area: doubled each time up to the longest (mqe.md 4.6).
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(300);

/// The undelivered rule of a source, and what it knows of the messages that wait.
#[derive(Debug)]
pub(crate) struct Undelivered {
    rule: Arc<Rule>,
    /// Under whose name messages are parked that are for no device.
    gateway: DeviceName,
    stuck: Option<Stuck>,
    /// What has been tried with messages of this batch.
    tried: HashMap<TakenKey, Tried>,
}

/// The message that is to be tried later.
#[derive(Debug)]
struct Stuck {
    /// The message id on the transmission queue: it stays when the message is given back.
    id: MsgId,
    attempts: u32,
    since: Instant,
}

#[derive(Debug)]
struct Tried {
    /// Why it was not delivered in the first place.
    reason: Reason,
    /// What waits in the park area until its device is known.
    parkable: Option<(DeviceName, Box<DeviceMessage>)>,
    park: bool,
    dead_letter: bool,
}

/// What is to be done with what was not moved.
#[derive(Debug)]
pub(super) enum Decision {
    /// Try again, with these deliveries in place of the old ones.
    Again(Vec<Option<Delivery>>),
    /// The message at this place waits, and all behind it.
    Later { at: usize, pause: Pause },
}

impl Undelivered {
    pub(crate) fn new(rule: Arc<Rule>, gateway: DeviceName) -> Self {
        Self { rule, gateway, stuck: None, tried: HashMap::new() }
    }

    /// Whether a message waits for its next try.
    pub(super) fn is_waiting(&self) -> bool {
        self.stuck.is_some()
    }

    /// A batch was moved as a whole.
    pub(super) fn moved_on(&mut self) {
        self.stuck = None;
        self.tried.clear();
    }

    /// A batch begins.
    pub(super) fn begin(&mut self) {
        self.tried.clear();
    }

    /// Decides about what was refused of what is left.
    pub(super) async fn decide(
        &mut self,
        q_mgr: QMgrName,
        left: &[HandOver],
        refused: &[Refused],
    ) -> Decision {
        let refused: HashMap<TakenKey, &Refused> =
            refused.iter().map(|refused| (refused.key, refused)).collect();
        let mut deliveries = Vec::with_capacity(left.len());
        for (at, handed) in left.iter().enumerate() {
            let Some(refused) = refused.get(&handed.key) else {
                deliveries.push(None);
                continue;
            };
            match self.decide_one(q_mgr, handed, refused).await {
                Ok(delivery) => deliveries.push(Some(delivery)),
                Err(pause) => return Decision::Later { at, pause },
            }
        }
        Decision::Again(deliveries)
    }

    async fn decide_one(
        &mut self,
        source_q_mgr: QMgrName,
        handed: &HandOver,
        refused: &Refused,
    ) -> Result<Delivery, Pause> {
        // Not the rule's concern: it goes on by itself, and whatever the rule chose would need room too.
        if refused.reason == Reason::STORAGE_MEDIUM_FULL {
            return Err(Pause::NoRoom);
        }
        let tried = self.tried.entry(handed.key).or_insert_with(|| Tried {
            reason: refused.reason,
            parkable: match &handed.delivery {
                // A device that is known and full, or takes nothing of its kind, would refuse it again.
                Delivery::Device { device, message } if refused.reason == Reason::UNKNOWN_REMOTE_Q_MGR => {
                    Some((*device, message.clone()))
                }
                _ => None,
            },
            park: false,
            dead_letter: false,
        });
        match refused.by {
            RefusedBy::Destination => {}
            RefusedBy::DeadLetterQueue => {
                tried.dead_letter = true;
                return self.without_rule(source_q_mgr, handed, refused);
            }
            RefusedBy::Park => {
                tried.park = true;
                return self.without_rule(source_q_mgr, handed, refused);
            }
        }
        let id = handed.original.descriptor().msg_id;
        let (attempt, waited) = self.attempt(id);
        let (queue, q_mgr) = address::addressed_to(&handed.original);
        let source = handed.original.origin().source();
        let undelivered = UndeliveredMessage {
            reason: refused.reason,
            why: refused.why.clone(),
            temporary: refused.temporary,
            source: source.to_owned(),
            queue,
            q_mgr,
            attempt,
            waited,
            message: handed.original.clone(),
        };
        let action = self.rule.decide(undelivered).await;
        let (reason, why) = (refused.reason, &refused.why);
        match action {
            UndeliveredAction::Retry(after) => {
                let why = format!("a message for {queue} at {q_mgr} waits, try {attempt}: {why}");
                Err(Pause::Retry { why, after })
            }
            UndeliveredAction::StopSource => Err(Pause::Stop(format!(
                "by rule, after try {attempt} with a message for {queue} at {q_mgr}: {why}; it is still on the \
                 transmission queue: mend the cause, then start the source"
            ))),
            action => {
                tracing::warn!(source, %queue, %q_mgr, %reason, why, ?action, "undelivered");
                match action {
                    UndeliveredAction::Park => {
                        let (device, message) = self.parkable(source_q_mgr, handed);
                        Ok(Delivery::Park { device, message })
                    }
                    UndeliveredAction::Discard => Ok(Delivery::Discard(reason)),
                    _ => Ok(Delivery::DeadLetter(reason)),
                }
            }
        }
    }

    /// What the rule chose did not take it: the other one of park and dead-letter queue, or later.
    fn without_rule(
        &mut self,
        q_mgr: QMgrName,
        handed: &HandOver,
        refused: &Refused,
    ) -> Result<Delivery, Pause> {
        let Some(tried) = self.tried.get(&handed.key) else {
            return Ok(Delivery::DeadLetter(refused.reason));
        };
        match tried {
            Tried { dead_letter: false, reason, .. } => Ok(Delivery::DeadLetter(*reason)),
            Tried { park: false, .. } => {
                let (device, message) = self.parkable(q_mgr, handed);
                Ok(Delivery::Park { device, message })
            }
            Tried { .. } => {
                let (attempt, _) = self.attempt(handed.original.descriptor().msg_id);
                let doubled = FIRST_WAIT.saturating_mul(1 << (attempt - 1).min(10));
                let why = format!(
                    "a message can go neither to the dead-letter queue nor into the park area: {}",
                    refused.why
                );
                Err(Pause::Retry { why, after: doubled.min(LONGEST_WAIT) })
            }
        }
    }

    /// A message that is for no device, or that its device refuses, is parked under the gateway's own name.
    fn parkable(&self, q_mgr: QMgrName, handed: &HandOver) -> (DeviceName, Box<DeviceMessage>) {
        let kept = self.tried.get(&handed.key).and_then(|tried| tried.parkable.clone());
        kept.unwrap_or_else(|| (self.gateway, Box::new(address::parked_whole(&handed.original, q_mgr))))
    }

    /// The number of this try, and how long the message has waited.
    fn attempt(&mut self, id: MsgId) -> (u32, Duration) {
        let now = clock::now().instant;
        match &mut self.stuck {
            Some(stuck) if stuck.id == id => {
                stuck.attempts = stuck.attempts.saturating_add(1);
                (stuck.attempts, now.duration_since(stuck.since))
            }
            stuck => {
                *stuck = Some(Stuck { id, attempts: 1, since: now });
                (1, Duration::ZERO)
            }
        }
    }
}
