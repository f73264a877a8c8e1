//! `sources list|start|stop|pause|resume|drop`.

use std::io::{self, Write};

use anyhow::Context;
use clap::{Args, Subcommand, ValueEnum};

use super::http::ServiceArgs;
use super::table::{bytes, table, time};
use crate::report::{ClearedOutbox, Operation, SourceAct, SourceReport};

#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  mqe-gateway sources list\n  mqe-gateway sources stop hq\n  mqe-gateway sources start hq"
)]
pub(super) struct SourcesArgs {
    #[command(subcommand)]
    command: SourcesCommand,
}

#[derive(Debug, Subcommand)]
enum SourcesCommand {
    /// The listeners on transmission queues and the outboxes, with state and reason
    #[command(after_help = "Example:\n  mqe-gateway sources list --json")]
    List {
        #[command(flatten)]
        service: ServiceArgs,
        /// Print the report as JSON
        #[arg(long)]
        json: bool,
    },
    /// Connect and move messages, also after a stop by itself
    #[command(after_help = "Example:\n  mqe-gateway sources start hq")]
    Start {
        #[command(flatten)]
        which: Which,
        /// The queue manager was replaced, and nothing of the last batch with the old one can come again
        #[arg(long)]
        new_queue_manager: bool,
        /// The outbox's sync message was cleared: what was under way is in the queue manager (drained), or not (again)
        #[arg(long, value_name = "drained|again")]
        outbox: Option<Cleared>,
    },
    /// End the connections of a source and its outbox
    #[command(after_help = "Example:\n  mqe-gateway sources stop hq")]
    Stop(Which),
    /// Move nothing for a while
    #[command(after_help = "Example:\n  mqe-gateway sources pause hq")]
    Pause(Which),
    /// Lose an entry of the outbox that cannot be read, so that the puts behind it go on
    #[command(after_help = "Example:\n  mqe-gateway sources drop hq 3-17")]
    Drop {
        /// The source
        #[arg(value_name = "NAME")]
        name: String,
        /// The entry, as `mqe-gateway status` names it
        #[arg(value_name = "ID")]
        entry: String,
        #[command(flatten)]
        service: ServiceArgs,
        /// Print what was done as JSON
        #[arg(long)]
        json: bool,
    },
    /// Go on after a pause
    #[command(after_help = "Example:\n  mqe-gateway sources resume hq")]
    Resume(Which),
}

#[derive(Debug, Args)]
struct Which {
    /// The source; without a name all of them
    #[arg(value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    service: ServiceArgs,
    /// Print what was done as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Cleared {
    Drained,
    Again,
}

pub(super) fn run(args: &SourcesArgs) -> anyhow::Result<()> {
    let (which, act, new_queue_manager, outbox) = match &args.command {
        SourcesCommand::List { service, json } => {
            let text = service.get_json("/sources")?;
            if *json {
                return Ok(writeln!(io::stdout(), "{text}")?);
            }
            let sources: Vec<SourceReport> =
                serde_json::from_str(&text).context("the answer is not a report")?;
            return Ok(io::stdout().write_all(list(&sources).as_bytes())?);
        }
        SourcesCommand::Start { which, new_queue_manager, outbox } => {
            let outbox = outbox.map(|outbox| match outbox {
                Cleared::Drained => ClearedOutbox::Drained,
                Cleared::Again => ClearedOutbox::Again,
            });
            (which, SourceAct::Start, *new_queue_manager, outbox)
        }
        SourcesCommand::Drop { name, entry, service, json } => {
            let operation = Operation::DropEntry { source: name.clone(), entry: entry.clone() };
            return service.operate(&operation, *json);
        }
        SourcesCommand::Stop(which) => (which, SourceAct::Stop, false, None),
        SourcesCommand::Pause(which) => (which, SourceAct::Pause, false, None),
        SourcesCommand::Resume(which) => (which, SourceAct::Resume, false, None),
    };
    let operation = Operation::Source { name: which.name.clone(), act, new_queue_manager, outbox };
    which.service.operate(&operation, which.json)
}

fn list(sources: &[SourceReport]) -> String {
    let rows: Vec<Vec<String>> = sources
        .iter()
        .map(|source| {
            let s = source;
            let waiting = match s.kind.as_str() {
                "outbox" => format!("{} ({})", s.waiting, bytes(s.waiting_bytes)),
                _ => String::new(),
            };
            let next = s
                .next_try_ms
                .and_then(time)
                .map_or_else(String::new, |at| at.strftime("%H:%M:%S").to_string());
            let numbers =
                [s.moved, s.parked, s.dead_lettered, s.discarded, s.expired].map(|number| number.to_string());
            let head = [&s.name, &s.kind, &s.queue, &s.queue_manager, &s.state].map(Clone::clone);
            let tail = [waiting, next, s.reason.clone().unwrap_or_default()];
            head.into_iter().chain(numbers).chain(tail).collect()
        })
        .collect();
    let head = [
        "SOURCE",
        "KIND",
        "QUEUE",
        "QUEUE MANAGER",
        "STATE",
        "MOVED",
        "PARKED",
        "DEAD LETTERS",
        "DISCARDED",
        "EXPIRED",
        "WAITING",
        "NEXT TRY",
        "REASON",
    ];
    table(&head, &rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_for_people() {
        let source = SourceReport {
            name: "hq".to_owned(),
            kind: "remote".to_owned(),
            queue: "GATE1".to_owned(),
            queue_manager: "HQ".to_owned(),
            state: "RETRYING".to_owned(),
            reason: Some("nobody answers".to_owned()),
            next_try_ms: Some(3_723_000),
            moved: 7,
            ..Default::default()
        };
        let text = list(&[source]);
        assert!(text.ends_with("01:02:03  nobody answers\n"), "{text}");
        assert!(text.contains("hq      remote  GATE1  HQ             RETRYING      7"), "{text}");
    }
}
