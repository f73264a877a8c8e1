//! How far the journal is on disk, as the tasks outside of the core await it.

use std::sync::Arc;

use store::{Position, StoreError, Watch};
use tokio::sync::{Notify, watch};

/// What the committer has said last.
#[derive(Debug, Clone, Default)]
struct State {
    durable: Position,
    failed: Option<Arc<StoreError>>,
}

/// The committer's end; see [`Durable`].
#[derive(Debug)]
pub(crate) struct Announcer {
    state: watch::Sender<State>,
    /// Wakes the core: what it has gathered meanwhile can go.
    core: Arc<Notify>,
}

impl Watch for Announcer {
    fn durable(&self, position: Position) {
        self.state.send_modify(|state| state.durable = state.durable.max(position));
        self.core.notify_one();
    }

    fn failed(&self, error: StoreError) {
        self.state.send_modify(|state| {
            state.failed.get_or_insert_with(|| Arc::new(error));
        });
        self.core.notify_one();
    }
}

/// Awaits positions.
#[derive(Debug, Clone)]
pub(crate) struct Durable {
    state: watch::Receiver<State>,
}

/// The journal has failed, or is gone: what was waited for must not be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NotDurable;

impl Durable {
    /// Returns when the position is on disk. An answer that cannot be given because the disk failed is never given.
    pub(crate) async fn wait(&mut self, position: Option<Position>) -> Result<(), NotDurable> {
        let Some(position) = position else { return Ok(()) };
        let state = self.state.wait_for(|state| state.durable >= position || state.failed.is_some()).await;
        match state {
            Ok(state) if state.durable >= position => Ok(()),
            _ => Err(NotDurable),
        }
    }

    /// Whether the position is on disk already.
    pub(crate) fn is_durable(&self, position: Option<Position>) -> bool {
        position.is_none_or(|position| self.state.borrow().durable >= position)
    }

    /// Why the journal failed, if it did.
    pub(crate) fn failure(&self) -> Option<Arc<StoreError>> {
        self.state.borrow().failed.clone()
    }
}

/// Both ends; `core` is notified of every change.
pub(crate) fn durable(core: Arc<Notify>) -> (Arc<Announcer>, Durable) {
    let (sender, receiver) = watch::channel(State::default());
    (Arc::new(Announcer { state: sender, core }), Durable { state: receiver })
}
