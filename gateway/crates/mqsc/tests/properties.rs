//! What holds for any input: what is printed reads back to the same, and nothing that comes from outside panics.

use mq_wire::{Chars, ObjectName};
use mqsc::{
    Alter, Attributes, Command, Define, Name, ObjectKind, Place, Row, Value, ValueType, Verb, definition,
    read_command, read_script, rows,
};
use proptest::prelude::*;
use proptest::sample::select;

/// The fuzz body: any bytes are a script; every mistake has a place within it.
fn read_anything(bytes: &[u8]) {
    let lines = bytes.split(|byte| *byte == b'\n').count() as u32;
    let script = read_script("fuzz", bytes);
    for error in script.errors() {
        let Place { line, column } = error.place;
        assert!((1..=lines).contains(&line) && column >= 1, "{error}");
        assert!(!error.to_string().is_empty());
    }
    for located in &script.commands {
        if let Ok(command) = &located.command {
            _ = (command.done(), command.without_effect());
        }
    }
}

fn value(of: ValueType) -> BoxedStrategy<Value> {
    match of {
        ValueType::Int { min, max, words } => {
            let words: Vec<_> = words.iter().map(|(_, number)| *number).chain([min, max]).collect();
            prop_oneof![min..=max, select(words)].prop_map(Value::Int).boxed()
        }
        ValueType::Text { max } => {
            // Trailing blanks have no meaning and are not kept.
            let text = proptest::collection::vec(
                prop_oneof![select(" '+-*;(),\t".chars().collect::<Vec<_>>()), any::<char>()],
                0..=max,
            );
            text.prop_map(|text| {
                let text: String = text.into_iter().filter(|c| !matches!(c, '\n' | '\r' | '\0')).collect();
                Value::Text(text.trim_end_matches(' ').to_owned())
            })
            .boxed()
        }
        ValueType::Name => {
            "([A-Za-z0-9./_%]{1,48})?".prop_map(|name| Value::Name(ObjectName(Chars::cut(&name)))).boxed()
        }
        ValueType::Choice(words) => {
            select(words.iter().map(|(keyword, _)| Value::Keyword(*keyword)).collect::<Vec<_>>()).boxed()
        }
        ValueType::Flag => any::<bool>().prop_map(Value::Flag).boxed(),
        ValueType::List { of, max } => {
            // One blank item is the empty list, and a list of words has at least one.
            let list = proptest::collection::vec(value(*of), 1..=max);
            list.prop_map(|mut items| {
                if matches!(items.as_slice(), [Value::Text(only)] if only.trim().is_empty()) {
                    items.clear();
                }
                Value::List(items)
            })
            .boxed()
        }
    }
}

fn settable(kind: ObjectKind) -> Vec<&'static Row> {
    let verb = if kind == ObjectKind::QueueManager { Verb::Alter } else { Verb::Define };
    rows(kind).filter(|row| row.allows(verb)).collect()
}

fn object() -> impl Strategy<Value = (ObjectKind, String, Vec<(&'static Row, Value)>, bool)> {
    let kind = select(ObjectKind::ALL.to_vec());
    kind.prop_flat_map(|kind| {
        let rows = proptest::sample::subsequence(settable(kind), 0..=12);
        let attributes = rows.prop_flat_map(|rows| {
            rows.into_iter().map(|row| (Just(row), value(row.values()))).collect::<Vec<_>>()
        });
        (Just(kind), "[A-Za-z0-9./_%]{1,20}", attributes, any::<bool>())
    })
}

proptest! {
    #[test]
    fn what_is_printed_reads_back((kind, name, values, replace) in object()) {
        let mut attributes = Attributes::new();
        for (row, value) in values {
            prop_assert_eq!(row.check(&value), Ok(()));
            attributes.set(row.attribute(), value);
        }
        let name = Name::from(mq_wire::QName::new(&name).unwrap());
        let text = definition(kind, name, &attributes, replace);
        let expected = if kind == ObjectKind::QueueManager {
            Command::Alter(Alter { kind, name: Name::BLANK, force: false, attributes })
        } else {
            Command::Define(Define { kind, name, like: None, replace, attributes })
        };
        prop_assert_eq!(read_command(&text), Ok(expected), "{}", text);
    }

    #[test]
    fn random_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        read_anything(&bytes);
    }

    #[test]
    fn random_words_do_not_panic(words in proptest::collection::vec(select(WORDS.to_vec()), 0..30)) {
        read_anything(words.concat().as_bytes());
    }
}

/// Pieces from which something like a command comes about now and then.
const WORDS: &[&str] = &[
    "define ",
    "ALTER ",
    "dis ",
    "delete ",
    "end",
    "ql",
    "QMGR ",
    "chl",
    "q",
    "(a)",
    "(A*)",
    "(",
    ")",
    "'",
    "''",
    "+\n",
    "-\n",
    "\n",
    ";",
    "* ",
    " ",
    ",",
    "\t",
    "\r\n",
    "maxdepth",
    "(5)",
    "noshare ",
    "SHARE ",
    "chltype(svrconn) ",
    "descr('x') ",
    "where",
    "all ",
    "ø",
    "\u{a0}",
    "like(b) ",
    "replace ",
    "type(qlocal)",
];

#[test]
fn every_truncation_of_the_scripts_is_read() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/cases/mqsc");
    for entry in std::fs::read_dir(folder).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        // The expectations are text as well as any, only longer.
        let bytes = &bytes[..bytes.len().min(4_000)];
        for end in (0..bytes.len()).step_by(7) {
            read_anything(&bytes[..end]);
        }
    }
}
