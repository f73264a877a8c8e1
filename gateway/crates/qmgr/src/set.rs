//! MQSET: all of what is wanted is set, or nothing. It has the effects of ALTER.

use mq_wire::{OpenOptions, Reason};
use mqsc::{Attribute, Attributes, ObjectKind, row_by_selector};
use store::Batch;

use crate::connection::Target;
use crate::inquire::{FIRST_CHARACTERS, SELECTORS_MAX};
use crate::manager::{Answer, QueueManager, done, written};
use crate::verb::{ConnId, Effect, Now, SetRequest};

impl QueueManager {
    pub(crate) fn set(
        &mut self,
        now: Now,
        conn: ConnId,
        request: &SetRequest,
        batch: &mut Batch,
        out: &mut Vec<Effect>,
    ) -> Result<Answer, Reason> {
        let connection = self.connections.get(&conn).ok_or(Reason::HCONN_ERROR)?;
        let handle = connection.handle(request.handle)?;
        if request.selectors.len() > SELECTORS_MAX {
            return Err(Reason::SELECTOR_LIMIT_EXCEEDED);
        }
        if !handle.options.contains(OpenOptions::SET) {
            return Err(Reason::NOT_OPEN_FOR_SET);
        }
        let Target::Queue(route) = &handle.target else { return Err(Reason::NOT_OPEN_FOR_SET) };
        route.check(&self.directory)?;
        let number = route.first;
        let object = self.directory.get(number).ok_or(Reason::OBJECT_CHANGED)?;
        let attributes = settings(object.definition.kind, request)?;
        if attributes.is_empty() {
            return Ok(Answer::at(self.position_of(number), done()));
        }
        self.may_define()?;
        self.alter_queue(now, number, &attributes, batch, out);
        Ok(Answer::at(written(batch), done()))
    }
}

/// What MQSET may change (mq-objects.md 3.3).
const SETTABLE: &[(Attribute, Reason)] = &[
    (Attribute::GET, Reason::INHIBIT_VALUE_ERROR),
    (Attribute::PUT, Reason::INHIBIT_VALUE_ERROR),
    (Attribute::DISTL, Reason::SELECTOR_ERROR),
    (Attribute::TRIGGER, Reason::TRIGGER_CONTROL_ERROR),
    (Attribute::TRIGTYPE, Reason::TRIGGER_TYPE_ERROR),
    (Attribute::TRIGMPRI, Reason::TRIGGER_MSG_PRIORITY_ERR),
    (Attribute::TRIGDPTH, Reason::TRIGGER_DEPTH_ERROR),
    (Attribute::TRIGDATA, Reason::CHAR_ATTR_LENGTH_ERROR),
];

/// The attributes that an MQSET sets. First every selector is looked at (2067), then whether there is a value for each
/// (2021, 2006), then the values.
fn settings(kind: ObjectKind, request: &SetRequest) -> Result<Attributes, Reason> {
    let mut wanted = Vec::with_capacity(request.selectors.len());
    let (mut int_count, mut char_length) = (0, 0);
    for selector in &request.selectors {
        let row = row_by_selector(kind, *selector).ok_or(Reason::SELECTOR_ERROR)?;
        let settable = SETTABLE.iter().find(|(attribute, _)| *attribute == row.attribute());
        let (_, refusal) = settable.ok_or(Reason::SELECTOR_ERROR)?;
        let length = (*selector >= FIRST_CHARACTERS)
            .then(|| row.default_value().and_then(|value| row.characters(&value)).map_or(0, |c| c.len()));
        int_count += usize::from(length.is_none());
        char_length += length.unwrap_or_default();
        wanted.push((row, length, *refusal));
    }
    if request.integers.len() < int_count {
        return Err(Reason::INT_ATTR_COUNT_ERROR);
    }
    if request.characters.len() < char_length {
        return Err(Reason::CHAR_ATTR_LENGTH_ERROR);
    }
    let mut attributes = Attributes::new();
    let (mut integers, mut characters) = (request.integers.iter(), &request.characters[..]);
    for (row, length, refusal) in wanted {
        let value = match length {
            None => row.value_from_number(*integers.next().ok_or(Reason::INT_ATTR_COUNT_ERROR)?),
            Some(length) => {
                let split = characters.split_at_checked(length);
                let (text, rest) = split.ok_or(Reason::CHAR_ATTR_LENGTH_ERROR)?;
                characters = rest;
                row.value_from_characters(text)
            }
        };
        attributes.set(row.attribute(), value.map_err(|_| refusal)?);
    }
    Ok(attributes)
}
