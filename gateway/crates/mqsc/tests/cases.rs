//! The scripts of `tests/cases/mqsc`: what each command says, or what is wrong with it, against `expected.json`. What
//! becomes of the commands in a queue manager is tested where there is one.

use std::fs;
use std::path::PathBuf;

use mqsc::{Attributes, Command, Effect, Located, Mistake, Value, read_script};
use serde_json::Value as Json;

/// How many commands had which outcome.
#[derive(Default, Debug)]
struct Counts {
    understood: usize,
    refused: usize,
    not_supported: usize,
    not_asserted: usize,
}

#[test]
fn every_script_is_read_as_expected() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../tests/cases/mqsc");
    let expected = fs::read_to_string(folder.join("expected.json")).unwrap();
    let expected: Json = serde_json::from_str(&expected).unwrap();
    let mut counts = Counts::default();
    let mut wrong = Vec::new();
    let mut scripts = 0;
    for (file, expected) in expected["files"].as_object().unwrap() {
        scripts += 1;
        let script = read_script(file, &fs::read(folder.join(file)).unwrap());
        let list = expected["list"].as_array().unwrap();
        if script.commands.len() != list.len() {
            wrong.push(format!("{file}: {} commands, {} expected", script.commands.len(), list.len()));
        }
        for (located, expected) in script.commands.iter().zip(list) {
            if let Err(why) = check(located, expected, &mut counts) {
                wrong.push(format!("{file}:{} {:?}: {why}", located.place.line, located.text));
            }
        }
    }
    println!("{scripts} scripts: {counts:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(scripts, 39);
    assert!(counts.understood > 150 && counts.refused > 25, "{counts:?}");
}

fn check(located: &Located, expected: &Json, counts: &mut Counts) -> Result<(), String> {
    same("number", &Json::from(located.number), &expected["n"])?;
    same("line", &Json::from(located.place.line), &expected["line"])?;
    let unsure = expected["unsure_of"].as_str().unwrap_or_default();
    let error = expected["outcome"] == "error";
    let command = match &located.command {
        Ok(command) => command,
        Err(errors) => {
            let first = &errors[0];
            if let Mistake::NotSupported { verb, what } = &first.mistake {
                counts.not_supported += 1;
                same("verb", &Json::from(verb.word()), &expected["verb"])?;
                let noun = what.split(' ').next();
                same("type", &Json::from(noun), &expected["type"])?;
                return if of_later_version(verb.word(), what) { Ok(()) } else { Err(first.to_string()) };
            }
            if unsure.contains("outcome") {
                counts.not_asserted += 1;
                return Ok(());
            }
            counts.refused += 1;
            if !error || expected["class"] != "syntax" {
                return Err(format!("refused with {first}"));
            }
            same("word", &Json::from(first.mistake.word()), &or_empty(&expected["word"]))?;
            if let Some(value) = expected.get("value") {
                same("value", &Json::from(first.mistake.value().unwrap_or_default()), value)?;
            }
            if !unsure.contains("message number") {
                same("message", &Json::from(first.mistake.amq().to_string()), &expected["msg"])?;
            }
            return Ok(());
        }
    };
    counts.understood += 1;
    if error && expected["class"] == "syntax" && !unsure.contains("outcome") {
        return Err(format!("understood, {} expected", expected["msg"]));
    }
    if !error && let (Some(message), Json::String(_)) = (command.done(), &expected["msg"]) {
        same("message", &Json::from(message.to_string()), &expected["msg"])?;
    }
    check_content(command, expected)
}

/// Whether it is right that this version does not have it: objects and verbs that belong to other parts of MQ.
fn of_later_version(verb: &str, what: &str) -> bool {
    let objects =
        ["QLOCAL", "QMODEL", "QALIAS", "QREMOTE", "QUEUE", "QMGR", "CHANNEL", "CHANNEL CHLTYPE(SVRCONN)"];
    let verbs = ["DEFINE", "ALTER", "DELETE", "DISPLAY"];
    !(objects.contains(&what) && verbs.contains(&verb))
}

fn check_content(command: &Command, expected: &Json) -> Result<(), String> {
    let (verb, kind, name, attributes) = match command {
        Command::Define(define) => {
            let mut attributes = Attributes::new();
            if define.like.is_none() {
                attributes = Attributes::defaults(define.kind);
            }
            attributes.merge(&define.attributes);
            ("DEFINE", define.kind, define.name.to_string(), attributes)
        }
        Command::Alter(alter) => ("ALTER", alter.kind, alter.name.to_string(), alter.attributes.clone()),
        Command::Delete(delete) => {
            same("verb", &Json::from("DELETE"), &expected["verb"])?;
            return same("name", &Json::from(delete.name.to_string()), &expected["name"]);
        }
        Command::Display(display) => {
            same("verb", &Json::from("DISPLAY"), &expected["verb"])?;
            let name = expected["name"].as_str().unwrap_or("*");
            return same("name", &Json::from(display.pattern.to_string()), &Json::from(name));
        }
        Command::End => return same("verb", &Json::from("END"), &expected["verb"]),
    };
    same("verb", &Json::from(verb), &expected["verb"])?;
    same("type", &Json::from(kind.noun()), &expected["type"])?;
    same("name", &Json::from(name), &or_empty(&expected["name"]))?;
    if let Some(values) = expected["attrs"].as_object() {
        for (word, wanted) in values {
            if word == "CHLTYPE" {
                continue;
            }
            // What neither the command nor a default gives comes from another object.
            if let Some((_, value)) = attributes.iter().find(|(attribute, _)| attribute.word() == word) {
                same(word, &as_json(value), wanted)?;
            }
        }
    }
    let effects = command.without_effect();
    let never = effects.iter().filter(|(_, effect)| *effect == Effect::Never);
    let never: Vec<_> = never.map(|(attribute, _)| attribute.word()).collect();
    if let Some(not_enforced) = expected["not_enforced"].as_array() {
        for word in not_enforced {
            if !never.iter().any(|known| word == known) {
                return Err(format!("{word} should be reported as without effect, only {never:?} are"));
            }
        }
    }
    if expected["outcome"] == "accepted-not-enforced" && effects.is_empty() {
        return Err("should say that it has no effect".to_owned());
    }
    Ok(())
}

/// A value as `expected.json` writes it.
fn as_json(value: &Value) -> Json {
    match value {
        Value::Int(number) => Json::from(*number),
        Value::Text(text) => Json::from(text.as_str()),
        Value::Name(name) => Json::from(name.to_string()),
        Value::Keyword(keyword) => Json::from(keyword.word()),
        Value::Flag(on) => Json::from(*on),
        Value::List(items) => items.iter().map(as_json).collect(),
    }
}

fn or_empty(expected: &Json) -> Json {
    if expected.is_null() { Json::from("") } else { expected.clone() }
}

fn same(what: &str, found: &Json, expected: &Json) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{what} {found}, {expected} expected")) }
}
