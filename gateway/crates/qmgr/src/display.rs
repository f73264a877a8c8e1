//! DISPLAY: the objects that are asked for, in the order of their names, so many a step.

use std::ops::Bound;

use mq_wire::{ChannelName, QName};
use mqsc::{Display, DisplayedObject, Name, ObjectKind, Pattern};

use crate::manager::QueueManager;
use crate::object::Definition;
use crate::queue::Local;

/// Objects that one step looks at.
const STEP_OBJECTS_MAX: usize = 1_000;

/// Where a DISPLAY goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DisplayCursor(Behind);

/// The last object that was looked at. One that was deleted meanwhile does as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Behind {
    Queue(QName),
    Channel(ChannelName),
}

impl QueueManager {
    /// One step of a DISPLAY: from the beginning, or behind what the step before has looked at. Ends with where to go
    /// on, if there may be more. What is defined or deleted between the steps may be shown or not.
    pub fn display(
        &self,
        display: &Display,
        from: Option<DisplayCursor>,
    ) -> (Vec<DisplayedObject>, Option<DisplayCursor>) {
        let kinds = display.kinds;
        let (mut objects, mut looked) = (Vec::new(), 0);
        if from.is_none() && kinds.contains(ObjectKind::QueueManager) {
            objects.push(self.displayed(display, &self.this, None));
        }
        let mut behind = from.map(|cursor| cursor.0);
        let named = |name: Name| display.pattern.matches(name);
        // Those that the pattern matches stand together, and it is the first name that could be among them.
        let (Pattern::Specific(first) | Pattern::Generic(first)) = display.pattern;
        if !matches!(behind, Some(Behind::Channel(_))) && kinds.iter().any(ObjectKind::is_queue) {
            let start = match behind {
                Some(Behind::Queue(name)) => Bound::Excluded(name),
                _ => Bound::Included(first.queue()),
            };
            for object in self.directory.from(start).take_while(|object| named(object.definition.name)) {
                if looked == STEP_OBJECTS_MAX {
                    return (objects, behind.map(DisplayCursor));
                }
                looked += 1;
                behind = Some(Behind::Queue(object.definition.queue_name()));
                if kinds.contains(object.definition.kind) {
                    objects.push(self.displayed(display, &object.definition, object.local.as_deref()));
                }
            }
        }
        if kinds.iter().any(ObjectKind::is_channel) {
            let start = match behind {
                Some(Behind::Channel(name)) => Bound::Excluded(name),
                _ => Bound::Included(first.channel()),
            };
            let channels = self.channels.range((start, Bound::Unbounded));
            for (name, definition) in channels.take_while(|(_, definition)| named(definition.name)) {
                if looked == STEP_OBJECTS_MAX {
                    return (objects, behind.map(DisplayCursor));
                }
                looked += 1;
                behind = Some(Behind::Channel(*name));
                if kinds.contains(definition.kind) {
                    objects.push(self.displayed(display, definition, None));
                }
            }
        }
        (objects, None)
    }

    /// All steps.
    pub(crate) fn display_all(&self, display: &Display) -> Vec<DisplayedObject> {
        let (mut objects, mut next) = self.display(display, None);
        while next.is_some() {
            let (more, after) = self.display(display, next);
            objects.extend(more);
            next = after;
        }
        objects
    }

    fn displayed(
        &self,
        display: &Display,
        definition: &Definition,
        local: Option<&Local>,
    ) -> DisplayedObject {
        let kind = definition.kind;
        let value = |attribute| Some((attribute, self.value(definition, local, attribute)?));
        let attributes = display.show.attributes(kind).filter_map(value).collect();
        DisplayedObject { kind, name: definition.name, attributes }
    }
}
