//! Waiting for a condition: with a deadline, and never for a fixed time.

use std::time::{Duration, Instant};

/// Between two looks at a condition.
const STEP: Duration = Duration::from_millis(5);

/// Looks until the condition gives something; fails with what was waited for when the deadline is over.
#[track_caller]
pub fn until<T>(what: &str, within: Duration, mut condition: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + within;
    loop {
        if let Some(found) = condition() {
            return found;
        }
        assert!(Instant::now() < deadline, "not within {within:?}: {what}");
        pause(STEP);
    }
}

/// Lets a random span go by before the next blow: chance, not order, is what a test wants from it.
pub fn pause(span: Duration) {
    let deadline = Instant::now() + span;
    while let Some(rest) = deadline.checked_duration_since(Instant::now()).filter(|rest| !rest.is_zero()) {
        std::thread::park_timeout(rest);
    }
}
