//! Printing: what runmqsc shows for an answer (mq-objects.md 4.4), and definitions as MQSC that reads back to the same
//! object.

use std::fmt::Write as _;

use crate::amq::Amq;
use crate::attributes::Attributes;
use crate::command::Name;
use crate::kind::ObjectKind;
use crate::outcome::{DisplayedObject, Outcome};
use crate::table::{Row, ValueType, row, rows};
use crate::value::Value;
use crate::verb::Verb;

/// An answer as runmqsc shows it, each line with its end.
pub fn print_outcome(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Done { message } => format!("{}: {}\n", message.with_letter(), message.text()),
        Outcome::Displayed(objects) => objects.iter().map(print_object).collect(),
        Outcome::Failed(refusal) => format!("{}: {refusal}.\n", refusal.amq().with_letter()),
    }
}

/// One displayed object with its heading.
pub fn print_object(object: &DisplayedObject) -> String {
    let kind = object.kind;
    let message = match kind {
        ObjectKind::QueueManager => Amq::DISPLAY_QUEUE_MANAGER,
        kind if kind.is_channel() => Amq::DISPLAY_CHANNEL,
        _ => Amq::DISPLAY_QUEUE,
    };
    let mut items = vec![format!("{}({})", kind.name_word(), object.name)];
    items.extend(kind.type_words().map(|(word, value)| format!("{word}({value})")));
    items.extend(
        object.attributes.iter().filter_map(|(attribute, value)| Some(shown(row(kind, *attribute)?, value))),
    );
    format!("{}: {}\n{}", message.with_letter(), message.text(), columns(&items))
}

/// The definition of an object as a DEFINE command over several lines; of the queue manager as an ALTER command.
/// Attributes that cannot be set are left out.
pub fn definition(kind: ObjectKind, name: Name, attributes: &Attributes, replace: bool) -> String {
    let (verb, mut text) = match kind {
        ObjectKind::QueueManager => (Verb::Alter, "ALTER QMGR".to_owned()),
        _ => (Verb::Define, format!("DEFINE {}({})", kind.noun(), quoted(&name.to_string()))),
    };
    if kind.is_channel()
        && let Some((word, value)) = kind.type_words()
    {
        _ = write!(text, " {word}({value})");
    }
    if replace && verb == Verb::Define {
        text.push_str(" +\n   REPLACE");
    }
    for row in rows(kind).filter(|row| row.allows(verb)) {
        if let Some(value) = attributes.get(row.attribute()) {
            _ = write!(text, " +\n   {}", written(row, value));
        }
    }
    text.push('\n');
    text
}

/// An attribute as DISPLAY shows it.
fn shown(row: &Row, value: &Value) -> String {
    item(row, value, |text| if text.is_empty() { " ".to_owned() } else { text.to_owned() })
}

/// An attribute as a script has it.
fn written(row: &Row, value: &Value) -> String {
    item(row, value, quoted)
}

fn item(row: &Row, value: &Value, text: fn(&str) -> String) -> String {
    let word = row.attribute();
    match value {
        Value::Flag(true) => word.to_string(),
        Value::Flag(false) => format!("NO{word}"),
        value => format!("{word}({})", plain(row.values(), value, text)),
    }
}

fn plain(values: ValueType, value: &Value, text: fn(&str) -> String) -> String {
    match value {
        Value::Int(number) => {
            values.word_of(*number).map_or_else(|| number.to_string(), |keyword| keyword.to_string())
        }
        Value::Text(value) => text(value),
        Value::Name(name) => text(&name.to_string()),
        Value::Keyword(keyword) => keyword.to_string(),
        Value::Flag(on) => i32::from(*on).to_string(),
        Value::List(items) if items.is_empty() => text(""),
        Value::List(items) => {
            let of = if let ValueType::List { of, .. } = values { *of } else { values };
            let items: Vec<_> = items.iter().map(|item| plain(of, item, text)).collect();
            items.join(",")
        }
    }
}

fn quoted(text: &str) -> String {
    if text.is_empty() { "' '".to_owned() } else { format!("'{}'", text.replace('\'', "''")) }
}

/// Two columns: the first 40 wide, for what has fewer than 38 characters; the second for what has at most 36.
fn columns(items: &[String]) -> String {
    let mut lines = String::new();
    let mut first: Option<&str> = None;
    for item in items {
        let length = item.chars().count();
        match first.take() {
            Some(left) if length <= 36 => _ = writeln!(lines, "   {left:<40}{item}"),
            Some(left) => _ = writeln!(lines, "   {left}\n   {item}"),
            None if length >= 38 => _ = writeln!(lines, "   {item}"),
            None => first = Some(item),
        }
    }
    if let Some(left) = first {
        _ = writeln!(lines, "   {left}");
    }
    lines
}
