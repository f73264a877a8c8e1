//! The shipped rules' numbers, and the guard around a rule that fails.

use std::time::Duration;

use mq_wire::{Mqmd, QMgrName, QName, Reason};

use super::*;
use crate::{Direction, Origin, Registry};

const LIMIT: Duration = Duration::from_millis(50);

fn undelivered(reason: Reason, temporary: bool, attempt: u32) -> UndeliveredMessage {
    UndeliveredMessage {
        reason,
        why: "for a test".to_owned(),
        temporary,
        source: "GATE1".to_owned(),
        queue: QName::new("ORDERS%DEV1").unwrap(),
        q_mgr: QMgrName::new("GATE1").unwrap(),
        attempt,
        waited: Duration::ZERO,
        message: ExitMessage::new(Origin::new("GATE1", Direction::FromMq), Mqmd::default(), "no header"),
    }
}

async fn decide(kind: &str, data: &str, reason: Reason, temporary: bool, attempt: u32) -> UndeliveredAction {
    let rule = Registry::with_shipped().rule(kind, data, LIMIT).unwrap();
    rule.decide(undelivered(reason, temporary, attempt)).await
}

fn seconds(seconds: u64) -> UndeliveredAction {
    UndeliveredAction::Retry(Duration::from_secs(seconds))
}

#[tokio::test]
async fn fleet_parks_what_is_for_nobody_and_waits_for_what_passes() {
    let unknown = Reason::UNKNOWN_REMOTE_Q_MGR;
    assert_eq!(decide("fleet", "", unknown, false, 1).await, UndeliveredAction::Park);
    for reason in [Reason::XQH_ERROR, Reason::Q_FULL, Reason::MSG_TOO_BIG_FOR_Q] {
        assert_eq!(decide("fleet", "", reason, false, 1).await, UndeliveredAction::ReportOptions);
    }
    for (attempt, wait) in [(1, 1), (2, 2), (3, 4), (9, 256), (10, 300), (1_000_000, 300)] {
        assert_eq!(decide("fleet", "", Reason::Q_SPACE_NOT_AVAILABLE, true, attempt).await, seconds(wait));
    }
}

#[tokio::test]
async fn compat_waits_longer_each_time_and_then_stops() {
    for (attempt, wait) in [(1, 1), (2, 2), (3, 4), (9, 256)] {
        assert_eq!(decide("compat", "", Reason::Q_FULL, false, attempt).await, seconds(wait));
    }
    assert_eq!(decide("compat", "", Reason::Q_FULL, false, 10).await, UndeliveredAction::StopSource);
    let data = "first=2 max=5 tries=4";
    for (attempt, wait) in [(1, 2), (2, 4), (3, 5)] {
        assert_eq!(decide("compat", data, Reason::Q_FULL, true, attempt).await, seconds(wait));
    }
    assert_eq!(decide("compat", data, Reason::Q_FULL, true, 4).await, UndeliveredAction::StopSource);
}

#[test]
fn mistakes_in_kind_and_data_are_named() {
    let registry = Registry::with_shipped();
    let wrong = |kind: &str, data: &str| registry.rule(kind, data, LIMIT).unwrap_err().to_string();
    assert_eq!(
        wrong("flee", ""),
        "no undelivered rule is of kind \"flee\"; known kinds are compat, dlq, fleet"
    );
    assert_eq!(
        wrong("compat", "tries=0"),
        "option tries of the exit's data: must be a number from 1 to 1000000"
    );
    assert!(wrong("compat", "often=1").contains("is not known"));
    assert!(wrong("fleet", "often=1").contains("is not known"));
}

/// What a rule of somebody else's may do wrong.
#[derive(Debug, Clone, Copy)]
enum Wrong {
    Fails,
    Panics,
    Awaits,
    Blocks,
}

#[async_trait]
impl UndeliveredRule for Wrong {
    async fn decide(&self, _: &UndeliveredMessage) -> Result<UndeliveredAction, ExitError> {
        match self {
            Self::Fails => Err(ExitError::failed("for a test")),
            Self::Panics => panic!("for a test"),
            Self::Awaits => std::future::pending().await,
            Self::Blocks => {
                thread::park_timeout(Duration::from_secs(600));
                Ok(UndeliveredAction::Discard)
            }
        }
    }
}

#[tokio::test]
async fn a_rule_that_fails_leaves_it_to_the_report_options() {
    for wrong in [Wrong::Fails, Wrong::Panics, Wrong::Awaits] {
        let mut registry = Registry::new();
        registry.register_rule("mine", move |_| Ok(Arc::new(wrong)));
        let rule = registry.rule("mine", "", LIMIT).unwrap();
        for failures in 1..=4 {
            let action = rule.decide(undelivered(Reason::Q_FULL, false, 1)).await;
            assert_eq!((action, rule.failures()), (UndeliveredAction::ReportOptions, failures), "{wrong:?}");
        }
        assert_eq!(rule.abandoned(), 0, "{wrong:?}");
    }
}

#[test]
fn a_rule_that_never_comes_back_is_not_asked_any_more() {
    let mut registry = Registry::new();
    registry.register_rule("mine", |_| Ok(Arc::new(Wrong::Blocks)));
    let rule = registry.rule("mine", "", LIMIT).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        for _ in 0..ABANDONED_MAX + 3 {
            let action = rule.decide(undelivered(Reason::Q_FULL, false, 1)).await;
            assert_eq!(action, UndeliveredAction::ReportOptions);
        }
    });
    assert_eq!(rule.abandoned(), ABANDONED_MAX);
    // The end of a program does not wait for them.
    drop(runtime);
}

/// Answers when so many have asked.
struct Together(Arc<tokio::sync::Barrier>);

#[async_trait]
impl UndeliveredRule for Together {
    async fn decide(&self, _: &UndeliveredMessage) -> Result<UndeliveredAction, ExitError> {
        self.0.wait().await;
        Ok(UndeliveredAction::Discard)
    }
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_counts_as_given_up_until_it_comes_back() {
    let mut registry = Registry::new();
    let barrier = Arc::new(tokio::sync::Barrier::new(2));
    let rules = Arc::clone(&barrier);
    registry.register_rule("mine", move |_| Ok(Arc::new(Together(Arc::clone(&rules)))));
    let rule = registry.rule("mine", "", Duration::from_secs(10)).unwrap();
    // Its source is stopped when it has been asked.
    let asked = rule.decide(undelivered(Reason::Q_FULL, false, 1));
    assert!(is_pending(asked).await);
    assert_eq!(rule.abandoned(), 1);
    barrier.wait().await;
    while rule.abandoned() > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn many_sources_may_ask_at_once() {
    const SOURCES: usize = ABANDONED_MAX + 3;
    let mut registry = Registry::new();
    let all = Arc::new(tokio::sync::Barrier::new(SOURCES));
    registry.register_rule("mine", move |_| Ok(Arc::new(Together(Arc::clone(&all)))));
    let rule = Arc::new(registry.rule("mine", "", Duration::from_secs(10)).unwrap());
    let ask = |_| {
        let rule = Arc::clone(&rule);
        tokio::spawn(async move { rule.decide(undelivered(Reason::Q_FULL, false, 1)).await })
    };
    for asked in (0..SOURCES).map(ask).collect::<Vec<_>>() {
        assert_eq!(asked.await.unwrap(), UndeliveredAction::Discard);
    }
    assert_eq!(rule.failures(), 0);
}

/// Polls once, and drops it.
async fn is_pending(future: impl Future) -> bool {
    let mut future = std::pin::pin!(future);
    std::future::poll_fn(|cx| std::task::Poll::Ready(future.as_mut().poll(cx).is_pending())).await
}
