//! The head of the journal: the one place where the core, which lays out batches, and the committer, which may want
//! a block for a mark after idling, agree on what comes next.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::layout::{Layout, Spot};

/// Where the next group begins, and who counts on its beginning there.
#[derive(Debug)]
pub(crate) struct Head {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    layout: Layout,
    /// A batch is being laid out there.
    taken: bool,
    /// Checkpoints of just that place that the committer has not got yet.
    promised: u32,
}

impl Head {
    pub(crate) fn new(layout: Layout) -> Self {
        Self { state: Mutex::new(State { layout, taken: false, promised: 0 }) }
    }

    /// The layout for a batch that gets its first record.
    pub(crate) fn take(&self) -> Layout {
        let mut state = self.lock();
        state.taken = true;
        state.layout
    }

    /// The layout behind a batch that is handed over.
    pub(crate) fn give_back(&self, layout: Layout) {
        let mut state = self.lock();
        state.layout = layout;
        state.taken = false;
    }

    /// A batch begins. One that was begun before and never handed over has left nothing behind.
    pub(crate) fn release(&self) {
        self.lock().taken = false;
    }

    /// The block for a mark, if the journal has been written up to `written` and nothing is laid out behind that.
    pub(crate) fn take_mark(&self, written: Spot) -> Option<Spot> {
        let mut state = self.lock();
        if state.taken || state.promised > 0 || state.layout.spot() != written {
            return None;
        }
        state.layout.take_mark()
    }

    /// Leaves the segment for the next one, whose first block is for a mark; gives where the old one ends. Not while a
    /// batch is laid out, or a checkpoint is on its way that counts on the place.
    pub(crate) fn leave_segment(&self) -> Option<Spot> {
        let mut state = self.lock();
        if state.taken || state.promised > 0 {
            return None;
        }
        Some(state.layout.leave_segment())
    }

    /// Where the next group begins, for a checkpoint: until [`Head::captured`] no mark moves it.
    pub(crate) fn promise(&self) -> Spot {
        let mut state = self.lock();
        state.promised += 1;
        state.layout.spot()
    }

    /// The committer has got a checkpoint.
    pub(crate) fn captured(&self) {
        let mut state = self.lock();
        state.promised = state.promised.saturating_sub(1);
    }

    /// Where the next group begins.
    pub(crate) fn spot(&self) -> Spot {
        self.lock().layout.spot()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
