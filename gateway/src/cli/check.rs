//! `check`: all that is wrong with the configuration and the scripts. It opens nothing and changes nothing.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use mqe_exits::Registry;
use mqsc::{Effect, Script, read_script};
use serde_json::json;

use super::{PROGRAM, Said};
use crate::config::{Config, Location, Overrides, Problem, suggestion};
use crate::remote::RemoteSettings;

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  mqe-gateway check --config mqe-gateway.toml --mqsc objects.mqsc")]
pub(super) struct CheckArgs {
    /// Configuration file [default: ./mqe-gateway.toml if there is one]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// MQSC script, beside those of the configuration; can be repeated
    #[arg(long, value_name = "FILE")]
    mqsc: Vec<PathBuf>,
    /// Print problems and notes as a JSON object
    #[arg(long)]
    json: bool,
}

/// What was found.
#[derive(Debug, Default)]
struct Findings {
    /// What keeps the service from starting.
    problems: Vec<Problem>,
    /// What a person should know.
    notes: Vec<Problem>,
    /// What was read, for the person who wonders whether it was.
    read: Vec<String>,
}

pub(super) fn run(args: &CheckArgs, registry: &Registry) -> anyhow::Result<()> {
    let findings = check(args, registry);
    let mut out = io::stdout();
    if args.json {
        let list = |found: &[Problem]| found.iter().map(as_json).collect::<Vec<_>>();
        let report = json!({ "problems": list(&findings.problems), "notes": list(&findings.notes) });
        writeln!(out, "{report}")?;
    } else {
        for problem in &findings.problems {
            eprintln!("{PROGRAM}: {problem}");
        }
        for note in &findings.notes {
            writeln!(out, "note: {note}")?;
        }
        for read in &findings.read {
            writeln!(out, "{read}")?;
        }
    }
    if findings.problems.is_empty() { Ok(()) } else { Err(Said.into()) }
}

fn check(args: &CheckArgs, registry: &Registry) -> Findings {
    let mut findings = Findings::default();
    let overrides = Overrides { mqsc: args.mqsc.clone(), ..Overrides::default() };
    let (file, config, problems) = Config::examine(args.config.as_deref(), &overrides);
    let name =
        file.map_or_else(|| "the configuration (all defaults)".to_owned(), |file| file.display().to_string());
    findings.problems = problems;
    for (index, exit) in config.exits.iter().enumerate() {
        if !registry.kinds().any(|kind| kind == exit.kind) {
            let known: Vec<&str> = registry.kinds().collect();
            let near = suggestion(&exit.kind, known.iter().copied());
            let message = format!(
                "[[exit]] number {}: no exit is of kind {:?}, there are {}{near}",
                index + 1,
                exit.kind,
                known.join(", ")
            );
            findings.problems.push(Problem::of_values(message));
        } else if let Err(error) = registry.check(exit) {
            let (number, name) = (index + 1, exit.display_name());
            findings.problems.push(Problem::of_values(format!("[[exit]] number {number}, {name}: {error}")));
        }
    }
    let gateway = &config.gateway;
    if let Err(error) = registry.rule(&gateway.undelivered, &gateway.undelivered_data, Duration::ZERO) {
        findings.problems.push(Problem::of_values(format!("[gateway] undelivered: {error}")));
    }
    for source in &config.sources {
        if let Err(error) = RemoteSettings::of(&config, source) {
            let name = config.source_name(source);
            findings.problems.push(Problem::of_values(format!("[[source]] {name}: {error:#}")));
        }
    }
    findings.read.push(format!("{name}: {}", verdict(findings.problems.len())));
    for (section, address) in config.exposed() {
        let message = format!(
            "[{section}] listens on {address}: other machines can reach it, so run asks for --insecure"
        );
        findings.notes.push(Problem::of_values(message));
    }
    for script in &config.queue_manager.mqsc {
        check_script(script, &mut findings);
    }
    findings
}

fn check_script(file: &Path, findings: &mut Findings) {
    let text = match std::fs::read(file) {
        Ok(text) => text,
        Err(error) => {
            let message = format!("cannot read the script {}: {error}", file.display());
            findings.problems.push(Problem::of_values(message));
            return;
        }
    };
    let script = read_script(&file.display().to_string(), &text);
    let before = findings.problems.len();
    for error in script.errors() {
        let message = format!("{}: {}", error.mistake.amq(), error.mistake);
        findings.problems.push(at(file, error.place, message));
    }
    note_effects(file, &script, &mut findings.notes);
    let verdict = verdict(findings.problems.len() - before);
    findings.read.push(format!("{}: {} commands, {verdict}", file.display(), script.commands.len()));
}

/// Attributes that are kept and shown but do nothing yet.
fn note_effects(file: &Path, script: &Script, notes: &mut Vec<Problem>) {
    for located in &script.commands {
        let Ok(command) = &located.command else { continue };
        for (attribute, effect) in command.without_effect() {
            let when = if effect == Effect::Later { "in this version" } else { "here" };
            notes.push(at(
                file,
                located.place,
                format!("{attribute} is kept and shown, but has no effect {when}"),
            ));
        }
    }
}

fn at(file: &Path, place: mqsc::Place, message: String) -> Problem {
    let count = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    let place = Location { file: file.to_owned(), line: count(place.line), column: count(place.column) };
    Problem { place: Some(place), message }
}

fn verdict(problems: usize) -> String {
    match problems {
        0 => "nothing is wrong".to_owned(),
        1 => "1 problem".to_owned(),
        many => format!("{many} problems"),
    }
}

fn as_json(problem: &Problem) -> serde_json::Value {
    match &problem.place {
        None => json!({ "message": problem.message }),
        Some(Location { file, line, column }) => {
            json!({ "file": file, "line": line, "column": column, "message": problem.message })
        }
    }
}
