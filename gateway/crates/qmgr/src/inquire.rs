//! MQINQ and MQSET, and the values that an attribute has: as it was defined, or as the queue manager supplies it.

use bytes::{BufMut, BytesMut};
use mq_wire::{CompCode, ObjectName, OpenOptions, QName, Reason, Selector};
use mqsc::{Attribute, Attributes, Keyword, ObjectKind, Value, row, row_by_selector};
use store::Batch;

use crate::connection::Target;
use crate::error::reason;
use crate::manager::{Answer, QueueManager, done, written};
use crate::object::{Definition, Dynamic};
use crate::queue::{Local, needs};
use crate::verb::{ConnId, Effect, Inquired, Now, Reply, SetRequest};

/// Selectors of characters begin here (MQCA_FIRST), those of integers below.
const FIRST_CHARACTERS: i32 = 2001;
/// The most selectors in a call (MQRC 2065).
const SELECTORS_MAX: usize = 256;
/// What stands for an integer that the type of queue does not have (MQIAV_NOT_APPLICABLE).
const NOT_APPLICABLE: i32 = -1;
const INT_ATTR_COUNT_TOO_SMALL: Reason = Reason(2022);
const CHAR_ATTRS_TOO_SHORT: Reason = Reason(2008);
/// Platform: UNIX (mq-wire.md 10.3).
const PLATFORM_UNIX: i32 = 3;

impl QueueManager {
    pub(crate) fn inquire(
        &self,
        conn: ConnId,
        handle: i32,
        selectors: &[i32],
        int_count: u32,
        char_length: u32,
    ) -> Result<Answer, Reason> {
        let connection = self.connections.get(&conn).ok_or(Reason::HCONN_ERROR)?;
        let handle = connection.handle(handle)?;
        if !handle.options.contains(OpenOptions::INQUIRE) {
            return Err(Reason::NOT_OPEN_FOR_INQUIRE);
        }
        if selectors.len() > SELECTORS_MAX {
            return Err(Reason::SELECTOR_COUNT_ERROR);
        }
        let (definition, local, position) = match &handle.target {
            Target::QueueManager => (&self.this, None, needs(self.this_position)),
            Target::Queue(route) => {
                route.check(&self.directory)?;
                let object = self.directory.get(route.first).ok_or(Reason::OBJECT_CHANGED)?;
                (&object.definition, object.local.as_deref(), self.position_of(route.first))
            }
        };
        let (mut integers, mut characters) = (Vec::new(), BytesMut::new());
        let (mut cc, mut reason) = (CompCode::OK, Reason::NONE);
        for selector in selectors {
            match self.selected(definition, local, *selector)? {
                Selected::Integer(value) => integers.push(value),
                Selected::Characters(value) => characters.put_slice(&value),
                Selected::NotForType(length) => {
                    (cc, reason) = (CompCode::WARNING, Reason::SELECTOR_NOT_FOR_TYPE);
                    match length {
                        None => integers.push(NOT_APPLICABLE),
                        Some(length) => characters.put_bytes(b'*', length),
                    }
                }
            }
        }
        // What there is no room for is left out, with a warning (mq-objects.md 2.2: 2022, 2008).
        if integers.len() > int_count as usize {
            integers.truncate(int_count as usize);
            (cc, reason) = (CompCode::WARNING, INT_ATTR_COUNT_TOO_SMALL);
        }
        if characters.len() > char_length as usize {
            characters.truncate(char_length as usize);
            (cc, reason) = (CompCode::WARNING, CHAR_ATTRS_TOO_SHORT);
        }
        let inquired = Inquired { cc, reason, integers, characters: characters.freeze() };
        Ok(Answer::at(position, Reply::Inquired(Box::new(inquired))))
    }

    fn selected(
        &self,
        definition: &Definition,
        local: Option<&Local>,
        selector: i32,
    ) -> Result<Selected, Reason> {
        let kind = definition.kind;
        let name = || Selected::Characters(definition.name.object().0.as_bytes().to_vec());
        match (Selector(selector), kind) {
            (Selector::CA_Q_MGR_NAME, ObjectKind::QueueManager) => {
                return Ok(Selected::Characters(self.settings.name.0.as_bytes().to_vec()));
            }
            // Not licensed (mq-wire-observed-base.md 2.3).
            (Selector::IA_ADVANCED_CAPABILITY, ObjectKind::QueueManager) => return Ok(Selected::Integer(0)),
            (Selector::CA_Q_NAME, kind) if kind.is_queue() => return Ok(name()),
            (Selector::IA_Q_TYPE, kind) if kind.is_queue() => {
                return Ok(Selected::Integer(kind.type_number().unwrap_or_default()));
            }
            _ => {}
        }
        if let Some(row) = row_by_selector(kind, selector) {
            let value = self.value(definition, local, row.attribute()).ok_or(Reason::SELECTOR_ERROR)?;
            if let Some(characters) = row.characters(&value) {
                return Ok(Selected::Characters(characters));
            }
            return row.number(&value).map(Selected::Integer).ok_or(Reason::SELECTOR_ERROR);
        }
        // Some other type of queue may have it: then it is a warning (2068).
        let others = ObjectKind::ALL.iter().filter(|other| kind.is_queue() && other.is_queue());
        let row =
            others.filter_map(|other| row_by_selector(*other, selector).map(|row| (*other, row))).next();
        let (other, row) = row.ok_or(Reason::SELECTOR_ERROR)?;
        if selector < FIRST_CHARACTERS {
            return Ok(Selected::NotForType(None));
        }
        let value = Attributes::defaults(other).get(row.attribute()).cloned();
        let length = value
            .and_then(|value| row.characters(&value))
            .map_or(ObjectName::BLANK.0.as_bytes().len(), |c| c.len());
        Ok(Selected::NotForType(Some(length)))
    }

    /// The value of an attribute, for MQINQ and DISPLAY.
    pub(crate) fn value(
        &self,
        definition: &Definition,
        local: Option<&Local>,
        attribute: Attribute,
    ) -> Option<Value> {
        if let Some(value) = definition.attributes.get(attribute) {
            return Some(value.clone());
        }
        let [(created_date, created_time), (altered_date, altered_time)] = Self::dates(definition);
        let count = |number: u64| Value::Int(i32::try_from(number).unwrap_or(i32::MAX));
        let level = self.settings.command_level;
        Some(match attribute {
            Attribute::CRDATE => Value::Text(created_date),
            Attribute::CRTIME => Value::Text(created_time),
            Attribute::ALTDATE => Value::Text(altered_date),
            Attribute::ALTTIME => Value::Text(altered_time),
            Attribute::CURDEPTH => count(local?.depth()),
            Attribute::IPPROCS => count(local?.open_input.into()),
            Attribute::OPPROCS => count(local?.open_output.into()),
            Attribute::DEFTYPE => Value::Keyword(match definition.dynamic {
                Dynamic::Predefined => Keyword::PREDEFINED,
                Dynamic::Permanent => Keyword::PERMDYN,
                Dynamic::Temporary => Keyword::TEMPDYN,
            }),
            Attribute::CMDLEVEL => Value::Int(level),
            Attribute::VERSION => {
                Value::Text(format!("{:02}{:02}{:02}00", level / 100, level / 10 % 10, level % 10))
            }
            Attribute::PLATFORM => Value::Int(PLATFORM_UNIX),
            Attribute::MAXPRTY => Value::Int(9),
            Attribute::SYNCPT => Value::Flag(true),
            Attribute::DISTL => Value::Keyword(Keyword::NO),
            Attribute::QMID => Value::Text(self.settings.id.text()),
            Attribute::COMMANDQ => Value::Name(QName::new(COMMAND_QUEUE).ok()?.into()),
            _ => return row(definition.kind, attribute)?.default_value(),
        })
    }

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
        if !handle.options.contains(OpenOptions::SET) {
            return Err(Reason::NOT_OPEN_FOR_SET);
        }
        let Target::Queue(route) = &handle.target else { return Err(Reason::NOT_OPEN_FOR_SET) };
        route.check(&self.directory)?;
        let number = route.first;
        let object = self.directory.get(number).ok_or(Reason::OBJECT_CHANGED)?;
        let attributes = settings(object.definition.kind, request)?;
        self.may_define()?;
        self.alter_queue(now, number, &attributes, batch, out);
        Ok(Answer::at(written(batch), done()))
    }
}

/// The command queue, which the queue manager names (mq-objects.md 3.2).
pub(crate) const COMMAND_QUEUE: &str = "SYSTEM.ADMIN.COMMAND.QUEUE";

enum Selected {
    Integer(i32),
    Characters(Vec<u8>),
    /// With the length, if it is characters.
    NotForType(Option<usize>),
}

/// What MQSET may change (mq-objects.md 3.3).
const SETTABLE: &[(Attribute, Reason)] = &[
    (Attribute::GET, reason::INHIBIT_VALUE_ERROR),
    (Attribute::PUT, reason::INHIBIT_VALUE_ERROR),
    (Attribute::DISTL, Reason::SELECTOR_ERROR),
    (Attribute::TRIGGER, reason::TRIGGER_CONTROL_ERROR),
    (Attribute::TRIGTYPE, reason::TRIGGER_TYPE_ERROR),
    (Attribute::TRIGMPRI, reason::TRIGGER_MSG_PRIORITY_ERR),
    (Attribute::TRIGDPTH, reason::TRIGGER_DEPTH_ERROR),
    (Attribute::TRIGDATA, reason::CHAR_ATTR_LENGTH_ERROR),
];

/// The attributes that an MQSET sets.
fn settings(kind: ObjectKind, request: &SetRequest) -> Result<Attributes, Reason> {
    let mut attributes = Attributes::new();
    let mut integers = request.integers.iter();
    let mut characters: &[u8] = &request.characters;
    for selector in &request.selectors {
        let row = row_by_selector(kind, *selector).ok_or(Reason::SELECTOR_ERROR)?;
        let settable = SETTABLE.iter().find(|(attribute, _)| *attribute == row.attribute());
        let (attribute, refusal) = settable.ok_or(Reason::SELECTOR_ERROR)?;
        let value = if *selector < FIRST_CHARACTERS {
            let number = integers.next().ok_or(Reason::INT_ATTR_COUNT_ERROR)?;
            row.value_from_number(*number).map_err(|_| *refusal)?
        } else {
            let length = row.default_value().and_then(|value| row.characters(&value)).map_or(0, |c| c.len());
            let split = characters.split_at_checked(length);
            let (text, rest) = split.ok_or(reason::CHAR_ATTR_LENGTH_ERROR)?;
            characters = rest;
            row.value_from_characters(text).map_err(|_| *refusal)?
        };
        attributes.set(*attribute, value);
    }
    Ok(attributes)
}
