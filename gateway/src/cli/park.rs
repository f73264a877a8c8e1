//! `park list|release|purge`.

use std::io::{self, Write};

use anyhow::Context;
use clap::{Args, Subcommand};

use super::http::ServiceArgs;
use super::table::{bytes, table, time};
use crate::report::{Operation, ParkAct, ParkedReport};

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  mqe-gateway park list\n  mqe-gateway park release --device DEV00042")]
pub(super) struct ParkArgs {
    #[command(subcommand)]
    command: ParkCommand,
}

#[derive(Debug, Subcommand)]
enum ParkCommand {
    /// Messages for devices that are not known
    #[command(after_help = "Example:\n  mqe-gateway park list --json")]
    List {
        #[command(flatten)]
        service: ServiceArgs,
        /// Print the report as JSON
        #[arg(long)]
        json: bool,
    },
    /// Let the device in: what is parked waits for it
    #[command(after_help = "Example:\n  mqe-gateway park release --device DEV00042")]
    Release(Which),
    /// End what is parked
    #[command(after_help = "Example:\n  mqe-gateway park purge --device DEV00042")]
    Purge(Which),
}

#[derive(Debug, Args)]
struct Which {
    /// The device; without one all of them
    #[arg(long, value_name = "D")]
    device: Option<String>,
    #[command(flatten)]
    service: ServiceArgs,
    /// Print what was done as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &ParkArgs) -> anyhow::Result<()> {
    let (which, act) = match &args.command {
        ParkCommand::List { service, json } => {
            let text = service.get_json("/park")?;
            if *json {
                return Ok(writeln!(io::stdout(), "{text}")?);
            }
            let parked: Vec<ParkedReport> =
                serde_json::from_str(&text).context("the answer is not a report")?;
            return Ok(io::stdout().write_all(list(&parked).as_bytes())?);
        }
        ParkCommand::Release(which) => (which, ParkAct::Release),
        ParkCommand::Purge(which) => (which, ParkAct::Purge),
    };
    which.service.operate(&Operation::Park { act, device: which.device.clone() }, which.json)
}

fn list(parked: &[ParkedReport]) -> String {
    let rows: Vec<Vec<String>> = parked
        .iter()
        .map(|parked| {
            let at = time(parked.oldest_ms)
                .map_or_else(String::new, |at| at.strftime("%Y-%m-%d %H:%M:%S").to_string());
            vec![parked.device.clone(), parked.messages.to_string(), bytes(parked.bytes), at]
        })
        .collect();
    table(&["DEVICE", "MESSAGES", "BYTES", "OLDEST (UTC)"], &rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parked_messages_for_people() {
        let parked = ParkedReport {
            device: "DEV1".to_owned(),
            messages: 3,
            bytes: 2048,
            oldest_ms: 1_700_000_000_000,
        };
        let expected =
            "DEVICE  MESSAGES  BYTES    OLDEST (UTC)\nDEV1           3  2.0 KiB  2023-11-14 22:13:20\n";
        assert_eq!(list(&[parked]), expected);
    }
}
