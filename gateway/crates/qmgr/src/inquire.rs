//! MQINQ, and the values that an attribute has: as it was defined, or as the queue manager supplies it. MQSET is in `set`.

use bytes::{BufMut, BytesMut};
use mq_wire::{CompCode, ObjectName, ObjectType, OpenOptions, QName, Reason, Selector};
use mqsc::{Attribute, Attributes, Keyword, ObjectKind, Value, row, row_by_selector};

use crate::connection::Target;
use crate::manager::{Answer, QueueManager};
use crate::object::{Definition, Dynamic};
use crate::queue::{Local, needs};
use crate::shipped::{self, Shipped};
use crate::verb::{ConnId, Inquired, Reply};

/// Selectors of characters begin here (MQCA_FIRST), those of integers below.
pub(crate) const FIRST_CHARACTERS: i32 = 2001;
/// The most selectors in a call (2066).
pub(crate) const SELECTORS_MAX: usize = 256;
/// What stands for an integer that the type of queue does not have (MQIAV_NOT_APPLICABLE).
const NOT_APPLICABLE: i32 = -1;
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
        if selectors.len() > SELECTORS_MAX {
            return Err(Reason::SELECTOR_LIMIT_EXCEEDED);
        }
        if !handle.options.contains(OpenOptions::INQUIRE) {
            return Err(Reason::NOT_OPEN_FOR_INQUIRE);
        }
        let (asked, position) = match &handle.target {
            Target::QueueManager => (Asked::Object(&self.this, None), needs(self.this_position)),
            Target::Default(kind) => (Asked::Shipped(*kind), needs(self.this_position)),
            Target::Queue(route) => {
                route.check(&self.directory)?;
                // An alias is asked about itself, not about what it leads to.
                let object = self.directory.get(route.first).ok_or(Reason::OBJECT_CHANGED)?;
                let asked = Asked::Object(&object.definition, object.local.as_deref());
                (asked, self.position_of(route.first))
            }
        };
        let (mut integers, mut characters) = (Vec::new(), BytesMut::new());
        // Of several warnings the first of these is given.
        let (mut for_other_type, mut too_few, mut too_short) = (false, false, false);
        for selector in selectors {
            let selected = match asked {
                Asked::Object(definition, local) => self.selected(definition, local, *selector)?,
                Asked::Shipped(kind) => self.shipped(kind, *selector)?,
            };
            let value = match selected {
                Selected::NotForType(length) => {
                    for_other_type = true;
                    match length {
                        None => Selected::Integer(NOT_APPLICABLE),
                        Some(length) => Selected::Characters(vec![b'*'; length]),
                    }
                }
                value => value,
            };
            match value {
                Selected::Integer(value) if integers.len() < int_count as usize => integers.push(value),
                // What there is no room for is left out; of characters that is a whole attribute, and all behind it.
                Selected::Characters(value)
                    if !too_short && characters.len() + value.len() <= char_length as usize =>
                {
                    characters.put_slice(&value);
                }
                Selected::Integer(_) => too_few = true,
                Selected::Characters(_) | Selected::NotForType(_) => too_short = true,
            }
        }
        let (cc, reason) = match (for_other_type, too_few, too_short) {
            (true, _, _) => (CompCode::WARNING, Reason::SELECTOR_NOT_FOR_TYPE),
            (_, true, _) => (CompCode::WARNING, Reason::INT_ATTR_COUNT_TOO_SMALL),
            (_, _, true) => (CompCode::WARNING, Reason::CHAR_ATTRS_TOO_SHORT),
            _ => (CompCode::OK, Reason::NONE),
        };
        let inquired = Inquired { cc, reason, integers, characters: characters.freeze() };
        Ok(Answer::at(position, Reply::Inquired(Box::new(inquired))))
    }

    fn shipped(&self, kind: ObjectType, selector: i32) -> Result<Selected, Reason> {
        let [(date, time), _] = Self::dates(&self.this);
        let padded = |text: &str, length| Selected::Characters(format!("{text:length$}").into_bytes());
        Ok(match shipped::value(kind, selector).ok_or(Reason::SELECTOR_ERROR)? {
            Shipped::Integer(value) => Selected::Integer(value),
            Shipped::Text(text, length) => padded(text, length),
            Shipped::MadeDate => padded(&date, 12),
            Shipped::MadeTime => padded(&time, 8),
        })
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
}

/// The command queue, which the queue manager names (mq-objects.md 3.2).
pub(crate) const COMMAND_QUEUE: &str = "SYSTEM.ADMIN.COMMAND.QUEUE";

/// What is asked about.
#[derive(Clone, Copy)]
enum Asked<'a> {
    Object(&'a Definition, Option<&'a Local>),
    Shipped(ObjectType),
}

enum Selected {
    Integer(i32),
    Characters(Vec<u8>),
    /// With the length, if it is characters.
    NotForType(Option<usize>),
}
