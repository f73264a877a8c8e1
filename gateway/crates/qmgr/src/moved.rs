//! Compaction: where a message lies now.

use store::{Id, Moved, Place};

use crate::manager::QueueManager;

impl QueueManager {
    /// Where a message lies whose record has to be read first ([`Reply::ReadFirst`](crate::Reply::ReadFirst),
    /// [`Effect::ReadExpired`](crate::Effect::ReadExpired)), and the bytes of its data. None: nobody waits for it any
    /// more. Who reads later than it was told asks again, since it may have been moved.
    pub fn lies(&self, id: Id) -> Option<(Place, u32)> {
        let held = self.held.get(id).map(|held| &held.entry);
        held.or_else(|| self.expired.unread(id)).map(|entry| (entry.place, entry.body_length))
    }

    /// A message was written again at another place. Says whether the old one is kept nowhere any more. Answers that
    /// were given before may still name it: they are read as they are.
    ///
    /// Wherever a message can be, it is found by its key or its id, never by a walk.
    pub fn moved(&mut self, moved: &Moved) -> bool {
        if let Some(object) = self.directory.get_mut(moved.owner.0) {
            let key = object.key(moved.priority, moved.order);
            let local = object.local.as_deref_mut();
            if local.is_some_and(|local| local.index.set_place(key, moved.id, moved.to)) {
                return true;
            }
        }
        // An id that is nowhere is of a message that is no more: nobody keeps its old place either.
        let _ = self.held.set_place(moved.id, moved.to)
            || self.expired.set_place(moved.id, moved.to)
            || self.clearing.set_place(moved);
        true
    }
}
