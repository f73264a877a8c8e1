//! Room and compaction as the core sees them: whether new messages are taken, and what moved to another place.

use mqe::outbox::is_outbox;
use store::{Moved, OwnerId, Room};

use super::newest;
use super::turn::{Core, Turn};

/// Owners with this bit are the area's, or with the next one too the outbox's; the others are the queue manager's
/// (ARCHITECTURE.md, keys and owners).
const OF_AREA: u64 = 1 << 63;

/// Whether there is room, as the tasks around the core see it.
#[derive(Debug)]
pub(super) struct Space {
    room: newest::Sender<Room>,
}

impl Space {
    pub(super) fn new() -> Self {
        Self { room: newest::channel(Room::Enough).0 }
    }

    pub(super) fn watch(&self) -> newest::Receiver<Room> {
        self.room.receiver()
    }

    pub(super) fn room(&self) -> Room {
        *self.room.look()
    }
}

impl Core {
    /// Tells queue manager and area when there is no room for new messages any more, or again.
    pub(super) fn look_at_room(&mut self) {
        let room = self.store.room();
        if room == self.space.room() {
            return;
        }
        match room {
            Room::Short => tracing::error!(
                "the disk is full: new messages are refused until there is room; what drains the store goes on"
            ),
            Room::Enough => tracing::warn!("there is room on the disk again: new messages are taken"),
        }
        self.queue_manager.set_room(room);
        self.area.set_room(room);
        self.space.room.change(|known| *known = room);
    }

    /// Adds what compaction has read to the batch.
    pub(super) fn compact(&mut self, turn: &mut Turn) {
        let (queue_manager, area, outbox) = (&mut self.queue_manager, &mut self.area, &mut self.outbox);
        let mut dispatch = |moved: &Moved| match moved.owner {
            owner if is_outbox(owner) => outbox.moved(moved),
            OwnerId(owner) if owner & OF_AREA != 0 => area.moved(moved),
            _ => queue_manager.moved(moved),
        };
        let before = turn.batch.bytes();
        self.store.compact(&mut turn.batch, &mut dispatch);
        let moved = turn.batch.bytes() > before;
        turn.moved |= moved;
        turn.hurry |= moved;
    }
}
