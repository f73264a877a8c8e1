//! DEFINE, ALTER, DELETE: what becomes of definitions, and of those who use them.

use mq_wire::{QName, Reason};
use mqsc::{Attributes, Name, ObjectKind};
use store::{Batch, Commit, Position};

use crate::connection::Target;
use crate::manager::QueueManager;
use crate::marks::Marks;
use crate::object::{Definition, Dynamic, Facts};
use crate::queue::Object;
use crate::special::Specials;
use crate::verb::{Effect, Now};

impl QueueManager {
    /// Takes in a new definition with all its attributes.
    pub(crate) fn add_definition(
        &mut self,
        now: Now,
        kind: ObjectKind,
        name: Name,
        attributes: Attributes,
        position: Position,
        commit: &mut Commit,
    ) {
        let number = self.new_number(commit);
        let definition = Definition {
            kind,
            name,
            number,
            created_ms: now.wall_ms,
            altered_ms: now.wall_ms,
            dynamic: Dynamic::Predefined,
            attributes,
        };
        commit.set(definition.key(), definition.encode());
        if kind.is_channel() {
            self.channels.insert(name.channel(), definition);
        } else {
            self.directory.add(Object::new(definition, position));
        }
    }

    /// Changes attributes of a queue. Handles whose way is another now are of no more use (2041); gets that wait end
    /// when gets are inhibited (2016).
    pub(crate) fn alter_queue(
        &mut self,
        now: Now,
        number: u64,
        attributes: &Attributes,
        batch: &mut Batch,
        out: &mut Vec<Effect>,
    ) {
        let Some(object) = self.directory.get_mut(number) else { return };
        object.definition.attributes.merge(attributes);
        object.definition.altered_ms = now.wall_ms;
        let facts = Facts::of(&object.definition.attributes);
        let old = std::mem::replace(&mut object.facts, facts);
        let new_way = !old.same_route(&object.facts);
        let (reordered, inhibited) = (old.fifo != object.facts.fifo, !object.facts.get);
        object.version += u32::from(new_way);
        if object.definition.dynamic != Dynamic::Temporary {
            object.position = batch.position();
            let mut commit = Commit::default();
            commit.set(object.definition.key(), object.definition.encode());
            batch.commit(commit);
        }
        if reordered {
            object.reorder(&self.specials);
        }
        if new_way {
            self.end_waits(|route| route.passes(number), Reason::OBJECT_CHANGED, out);
        }
        if inhibited {
            self.end_waits(|route| route.passes(number), Reason::GET_INHIBITED, out);
        }
    }

    /// Changes attributes of a channel.
    pub(crate) fn alter_channel(&mut self, now: Now, name: Name, attributes: &Attributes, batch: &mut Batch) {
        let Some(definition) = self.channels.get_mut(&name.channel()) else { return };
        definition.attributes.merge(attributes);
        definition.altered_ms = now.wall_ms;
        let mut commit = Commit::default();
        commit.set(definition.key(), definition.encode());
        batch.commit(commit);
    }

    /// Changes attributes of the queue manager.
    pub(crate) fn alter_queue_manager(&mut self, now: Now, attributes: &Attributes, batch: &mut Batch) {
        self.this.attributes.merge(attributes);
        self.this.altered_ms = now.wall_ms;
        self.this_position = batch.position();
        let mut commit = Commit::default();
        commit.set(self.this.key(), self.this.encode());
        batch.commit(commit);
    }

    /// Whether somebody has the queue open, by whatever name, or holds messages of it.
    pub(crate) fn is_in_use(&self, number: u64) -> bool {
        let held =
            self.directory.local(number).is_some_and(|local| local.open > 0 || local.uncommitted() > 0);
        held || self.connections.values().any(|connection| {
            connection.handles.values().any(|handle| match &handle.target {
                Target::Queue(route) => route.passes(number),
                Target::QueueManager | Target::Default(_) => false,
            })
        })
    }

    /// Whether the attributes would change where messages go, or who may get them.
    pub(crate) fn changes_way(&self, number: u64, attributes: &Attributes) -> bool {
        let Some(object) = self.directory.get(number) else { return false };
        let mut altered = object.definition.attributes.clone();
        altered.merge(attributes);
        !Facts::of(&altered).same_route(&object.facts)
    }

    /// The attributes that lend themselves to a DEFINE: of the default object of the kind as it now is.
    pub(crate) fn lent(&self, kind: ObjectKind) -> Attributes {
        let name = kind.default_object().and_then(|name| QName::new(name).ok());
        let definition = name.and_then(|name| self.definition(kind, Name::from(name)));
        definition.map_or_else(|| Attributes::defaults(kind), |definition| definition.attributes.clone())
    }

    /// An object of this kind.
    pub(crate) fn definition(&self, kind: ObjectKind, name: Name) -> Option<&Definition> {
        let found = match kind {
            ObjectKind::QueueManager => Some(&self.this),
            kind if kind.is_channel() => self.channels.get(&name.channel()),
            _ => self.directory.by_name(name.queue()).map(|object| &object.definition),
        };
        found.filter(|definition| definition.kind == kind)
    }
}

impl Object {
    /// The messages in the order that the definition now says.
    fn reorder(&mut self, specials: &Specials) {
        let Some(mut local) = self.local.take() else { return };
        // Marks are of places, which are others now.
        local.marks = Marks::default();
        let index = std::mem::take(&mut local.index);
        for (key, entry) in index.behind(None) {
            local.index.insert(self.key(entry.priority, key.order), *entry, specials.of(entry));
        }
        self.local = Some(local);
    }
}
