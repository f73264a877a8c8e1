//! Where messages lie, as compaction would have it: the queue manager is told new places, and has to name the newest one
//! wherever it names one, while the store in memory leaves everything where it is.

use std::collections::BTreeMap;

use store::mem::MemStore;
use store::{Id, Kill, Moved, Op, Place, RecoveredMessage};

#[derive(Debug, Clone, Copy)]
struct Lies {
    /// The last move; one that led nowhere if there was none.
    moved: Moved,
    real: Place,
}

#[derive(Debug, Default)]
pub(crate) struct Places {
    live: BTreeMap<Id, Lies>,
    /// Those that died in this step, which are still to be read.
    dead: BTreeMap<Id, Lies>,
    moves: u32,
}

impl Places {
    /// After a start.
    pub(crate) fn of(store: &MemStore) -> Self {
        let found = store.recovered().messages.into_iter().map(|message| {
            let RecoveredMessage { id, owner, order, priority, place, .. } = message;
            let moved = Moved { id, owner, order, priority, from: place, to: place };
            (id, Lies { moved, real: place })
        });
        Self { live: found.collect(), ..Self::default() }
    }

    /// What comes and what dies; a death names the place where the message lies now.
    pub(crate) fn note(&mut self, ops: &[Op]) {
        for op in ops {
            let kills: &[Kill] = match op {
                Op::Message(stored, message) => {
                    let (id, order, real) = (stored.id, stored.order, stored.place);
                    let (owner, priority) = (message.owner, message.priority);
                    let moved = Moved { id, owner, order, priority, from: real, to: real };
                    self.live.insert(id, Lies { moved, real });
                    &[]
                }
                Op::Commit(commit) => &commit.kills,
                Op::BackOut(_, kills) => kills,
                _ => &[],
            };
            for kill in kills {
                let lies = self.live.remove(&kill.id).expect("nothing dies twice");
                assert_eq!(kill.place, lies.moved.to, "{}", kill.id);
                self.dead.insert(kill.id, lies);
            }
        }
    }

    pub(crate) fn forget_dead(&mut self) {
        self.dead.clear();
    }

    /// Where the store has a message that the queue manager says to lie there.
    pub(crate) fn real(&self, id: Id, place: Place) -> Place {
        let lies = self.live.get(&id).or_else(|| self.dead.get(&id)).expect("a message that is there");
        assert_eq!(place, lies.moved.to, "{id}: an old place");
        lies.real
    }

    /// Every second message moves.
    pub(crate) fn compact(&mut self, mut tell: impl FnMut(&Moved)) {
        self.moves += 1;
        for (id, lies) in &mut self.live {
            if id.counter() % 2 == u64::from(self.moves) % 2 {
                let to = Place { segment: 1_000_000 + self.moves, ..lies.real };
                lies.moved = Moved { from: lies.moved.to, to, ..lies.moved };
                tell(&lies.moved);
            }
        }
    }
}
