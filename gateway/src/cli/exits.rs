//! `exits list|reload`.

use std::io::{self, Write};

use anyhow::Context;
use clap::{Args, Subcommand};

use super::http::ServiceArgs;
use super::table::table;
use crate::report::{ExitReport, Operation};

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  mqe-gateway exits list\n  mqe-gateway exits reload")]
pub(super) struct ExitsArgs {
    #[command(subcommand)]
    command: ExitsCommand,
}

#[derive(Debug, Subcommand)]
enum ExitsCommand {
    /// The exits of the chain, in their order, with what they did
    #[command(after_help = "Example:\n  mqe-gateway exits list --json")]
    List {
        #[command(flatten)]
        service: ServiceArgs,
        /// Print the report as JSON
        #[arg(long)]
        json: bool,
    },
    /// Start the exits anew from the configuration file; if that fails the running ones stay
    #[command(after_help = "Example:\n  mqe-gateway exits reload")]
    Reload {
        #[command(flatten)]
        service: ServiceArgs,
        /// Print what was done as JSON
        #[arg(long)]
        json: bool,
    },
}

pub(super) fn run(args: &ExitsArgs) -> anyhow::Result<()> {
    match &args.command {
        ExitsCommand::List { service, json } => {
            let text = service.get_json("/exits")?;
            if *json {
                return Ok(writeln!(io::stdout(), "{text}")?);
            }
            let exits: Vec<ExitReport> = serde_json::from_str(&text).context("the answer is not a report")?;
            Ok(io::stdout().write_all(list(&exits).as_bytes())?)
        }
        ExitsCommand::Reload { service, json } => service.operate(&Operation::ReloadExits, *json),
    }
}

fn list(exits: &[ExitReport]) -> String {
    let rows: Vec<Vec<String>> = exits
        .iter()
        .map(|exit| {
            let numbers = [exit.calls, exit.refused, exit.failures, exit.late, exit.mean_us, exit.max_us];
            std::iter::once(exit.name.clone()).chain(numbers.map(|number| number.to_string())).collect()
        })
        .collect();
    table(&["EXIT", "CALLS", "REFUSED", "FAILURES", "LATE", "MEAN US", "MAX US"], &rows)
}
