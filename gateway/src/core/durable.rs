//! How far the journal is on disk, as the tasks outside of the core await it, and what else the store calls out.
//!
//! Each start of the store, that of the process or that of a recovery in it, has a channel of its own: a failure is
//! the last word on its channel, so nobody can miss it, and a position that was not durable when its start ended
//! never becomes so by what a later one says.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use store::{Position, StoreError, Watch};
use tokio::sync::Notify;

use super::newest;

/// What the committer has said last.
#[derive(Debug, Clone, Default)]
struct State {
    /// How far the start before this one was on disk when it ended.
    before: Position,
    durable: Position,
    failed: Option<Arc<StoreError>>,
}

impl State {
    fn is_durable(&self, position: Position) -> bool {
        position <= self.before || (position.start > self.before.start && position <= self.durable)
    }
}

/// The store's end; see [`Durable`]. It lives as long as the store, over recoveries.
#[derive(Debug)]
pub(crate) struct Announcer {
    /// The channel of the start in force.
    state: Mutex<newest::Sender<State>>,
    /// Wakes the core: what it has gathered meanwhile can go.
    core: Notify,
    turn_wanted: AtomicBool,
}

impl Announcer {
    /// With the positions of the first start.
    pub(crate) fn new() -> (Arc<Self>, Durable) {
        let (sender, receiver) = newest::channel(State::default());
        let announcer =
            Self { state: Mutex::new(sender), core: Notify::new(), turn_wanted: AtomicBool::new(false) };
        (Arc::new(announcer), Durable { state: receiver })
    }

    /// The start in force is over, and another one begins: its positions. Whoever still waits for one of before is
    /// told that it will not come.
    pub(crate) fn next_start(&self) -> Durable {
        let mut current = self.lock();
        let before = current.look().durable;
        current.change(|state| {
            state.failed.get_or_insert_with(|| Arc::new(StoreError::Stopped));
        });
        let (sender, receiver) = newest::channel(State { before, durable: before, failed: None });
        *current = sender;
        Durable { state: receiver }
    }

    /// Returns when the store has said something since the last time.
    pub(crate) async fn said(&self) {
        self.core.notified().await;
    }

    /// Whether the store has asked for a turn since the last time.
    pub(crate) fn take_turn_wanted(&self) -> bool {
        self.turn_wanted.swap(false, Ordering::AcqRel)
    }

    fn lock(&self) -> MutexGuard<'_, newest::Sender<State>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watch for Announcer {
    fn durable(&self, position: Position) {
        self.lock().change(|state| state.durable = state.durable.max(position));
        self.core.notify_one();
    }

    fn failed(&self, error: StoreError) {
        self.lock().change(|state| {
            state.failed.get_or_insert_with(|| Arc::new(error));
        });
        self.core.notify_one();
    }

    fn turn_wanted(&self) {
        self.turn_wanted.store(true, Ordering::Release);
        self.core.notify_one();
    }
}

/// Awaits positions of one start.
#[derive(Debug, Clone)]
pub(crate) struct Durable {
    state: newest::Receiver<State>,
}

/// The journal has failed, or is gone: what was waited for must not be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NotDurable;

impl Durable {
    /// Returns when the position is on disk. An answer that cannot be given because the disk failed is never given.
    pub(crate) async fn wait(&self, position: Option<Position>) -> Result<(), NotDurable> {
        let Some(position) = position else { return Ok(()) };
        let look = |state: &State| match state.is_durable(position) {
            true => Some(Ok(())),
            false => state.failed.is_some().then_some(Err(NotDurable)),
        };
        self.state.wait(look).await.unwrap_or(Err(NotDurable))
    }

    /// Whether the position is on disk already.
    pub(crate) fn is_durable(&self, position: Position) -> bool {
        self.state.look().is_durable(position)
    }

    /// Why the journal failed, if it did.
    pub(crate) fn failure(&self) -> Option<Arc<StoreError>> {
        self.state.look().failed.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(start: u32, batch: u64) -> Position {
        Position { start, batch }
    }

    #[tokio::test]
    async fn what_was_not_durable_when_its_start_ended_never_is() {
        let (announcer, old) = Announcer::new();
        announcer.durable(at(3, 5));
        let waiting = tokio::spawn({
            let old = old.clone();
            async move { old.wait(Some(at(3, 6))).await }
        });
        let new = announcer.next_start();
        announcer.durable(at(4, 9));
        assert_eq!(waiting.await.unwrap(), Err(NotDurable));
        for durable in [&old, &new] {
            assert_eq!(durable.wait(Some(at(3, 5))).await, Ok(()));
            assert!(!durable.is_durable(at(3, 6)));
            assert!(durable.is_durable(at(2, 99)), "what was recovered is on disk");
        }
        assert_eq!(old.wait(Some(at(4, 1))).await, Err(NotDurable), "it knows nothing of the next start");
        assert_eq!(new.wait(Some(at(4, 9))).await, Ok(()));
        assert!(old.failure().is_some() && new.failure().is_none());
    }

    #[tokio::test]
    async fn a_failure_is_the_last_word_of_its_start() {
        let (announcer, old) = Announcer::new();
        announcer.failed(StoreError::Stopped);
        let new = announcer.next_start();
        announcer.durable(at(2, 1));
        assert!(old.failure().is_some());
        assert!(new.failure().is_none());
        announcer.failed(StoreError::Stopped);
        assert!(new.failure().is_some());
    }

    #[tokio::test]
    async fn a_wanted_turn_wakes_the_core_and_is_taken_once() {
        let (announcer, _durable) = Announcer::new();
        announcer.turn_wanted();
        announcer.said().await;
        assert!(announcer.take_turn_wanted());
        assert!(!announcer.take_turn_wanted());
    }
}
