//! A script read as a whole: every command, every mistake, each with its place. Scripts come as bytes; who reads
//! files is somebody else.

use std::sync::Arc;

use crate::command::Command;
use crate::error::{Mistake, SyntaxError};
use crate::parse::parse;
use crate::resolve::resolve;
use crate::source::{COMMAND_CHARACTERS_MAX, Place, Source, commands};

/// A script that has been read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// What it is called in messages.
    pub name: Arc<str>,
    /// Its commands up to and with END.
    pub commands: Vec<Located>,
}

/// A command and where it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// Its number in the script, from 1.
    pub number: u32,
    /// Where it begins.
    pub place: Place,
    /// Its lines, joined.
    pub text: String,
    /// What it says, or all that is wrong with it: at least one mistake, in the order of the text.
    pub command: Result<Command, Vec<SyntaxError>>,
}

impl Script {
    /// All that is wrong.
    pub fn errors(&self) -> impl Iterator<Item = &SyntaxError> {
        self.commands.iter().filter_map(|located| located.command.as_ref().err()).flatten()
    }
}

/// Reads a script. Bytes that are not UTF-8 are taken for ISO 8859-1, which is what older scripts are.
pub fn read_script(name: &str, text: &[u8]) -> Script {
    let name: Arc<str> = name.into();
    let text = decode(text);
    let mut read = Vec::new();
    for (number, source) in (1..).zip(commands(&text)) {
        let command = read_source(&name, &source);
        let ended = command == Ok(Command::End);
        read.push(Located { number, place: source.begin(), text: source.text, command });
        if ended {
            break;
        }
    }
    Script { name, commands: read }
}

/// Reads one command, as from an administrator's line or a stored definition.
pub fn read_command(text: &str) -> Result<Command, Vec<SyntaxError>> {
    let mut script = read_script("command", text.as_bytes());
    match script.commands.len() {
        1 => script.commands.remove(0).command,
        0 => Err(vec![error(&script.name, Place { line: 1, column: 1 }, Mistake::EndOfInput)]),
        _ => {
            let second = &script.commands[1];
            let word = second.text.split_whitespace().next().unwrap_or_default().to_owned();
            Err(vec![error(&script.name, second.place, Mistake::Stray { word })])
        }
    }
}

fn read_source(file: &Arc<str>, source: &Source) -> Result<Command, Vec<SyntaxError>> {
    if source.unfinished {
        return Err(vec![error(file, source.begin(), Mistake::EndOfInput)]);
    }
    if source.text.chars().count() > COMMAND_CHARACTERS_MAX {
        let mistake = Mistake::TooLong { max: COMMAND_CHARACTERS_MAX };
        return Err(vec![error(file, source.begin(), mistake)]);
    }
    let resolved = parse(&source.text).map_err(|mistake| vec![mistake]).and_then(|words| resolve(&words));
    resolved.map_err(|mut mistakes| {
        mistakes.sort_by_key(|(offset, _)| *offset);
        mistakes.into_iter().map(|(offset, mistake)| error(file, source.place(offset), mistake)).collect()
    })
}

fn error(file: &Arc<str>, place: Place, mistake: Mistake) -> SyntaxError {
    SyntaxError { file: file.clone(), place, mistake }
}

fn decode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|byte| char::from(*byte)));
    }
    // A byte order mark is no part of the first command.
    text.strip_prefix('\u{feff}').map_or_else(|| text.clone(), str::to_owned)
}
