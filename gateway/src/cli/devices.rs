//! `devices list|show|add|reset`.

use std::io::{self, Write};

use anyhow::Context;
use clap::{Args, Subcommand};

use super::http::{ServiceArgs, path_part};
use super::table::{bytes, table};
use crate::report::{DeviceReport, Operation};

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  mqe-gateway devices list\n  mqe-gateway devices show DEV00042 --json")]
pub(super) struct DevicesArgs {
    #[command(subcommand)]
    command: DevicesCommand,
}

#[derive(Debug, Subcommand)]
enum DevicesCommand {
    /// All devices with what waits for them
    #[command(after_help = "Example:\n  mqe-gateway devices list --json")]
    List {
        #[command(flatten)]
        service: ServiceArgs,
        /// Print the report as JSON
        #[arg(long)]
        json: bool,
    },
    /// Make a device known; what is parked for it waits for it then
    #[command(after_help = "Example:\n  mqe-gateway devices add PUMP7")]
    Add(Named),
    /// Let the next HELLO of a device in, whatever became of its store
    #[command(after_help = "Example:\n  mqe-gateway devices reset DEV00042")]
    Reset(Named),
    /// One device
    #[command(after_help = "Example:\n  mqe-gateway devices show DEV00042")]
    Show {
        /// Its name
        #[arg(value_name = "D")]
        device: String,
        #[command(flatten)]
        service: ServiceArgs,
        /// Print the report as JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
struct Named {
    /// Its name
    #[arg(value_name = "D")]
    device: String,
    #[command(flatten)]
    service: ServiceArgs,
    /// Print what was done as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &DevicesArgs) -> anyhow::Result<()> {
    match &args.command {
        DevicesCommand::List { service, json } => {
            let text = service.get_json("/devices")?;
            if *json {
                return Ok(writeln!(io::stdout(), "{text}")?);
            }
            let devices: Vec<DeviceReport> =
                serde_json::from_str(&text).context("the answer is not a report")?;
            Ok(io::stdout().write_all(list(&devices).as_bytes())?)
        }
        DevicesCommand::Add(Named { device, service, json }) => {
            service.operate(&Operation::AddDevice { device: device.clone() }, *json)
        }
        DevicesCommand::Reset(Named { device, service, json }) => {
            service.operate(&Operation::ResetDevice { device: device.clone() }, *json)
        }
        DevicesCommand::Show { device, service, json } => {
            let answer = service.get(&format!("/devices/{}", path_part(device)))?;
            match answer.status {
                200 if *json => Ok(writeln!(io::stdout(), "{}", answer.body)?),
                200 => {
                    let report = serde_json::from_str(&answer.body).context("the answer is not a report")?;
                    Ok(io::stdout().write_all(show(&report).as_bytes())?)
                }
                status => anyhow::bail!("the service refuses: {} (status {status})", answer.body.trim()),
            }
        }
    }
}

fn list(devices: &[DeviceReport]) -> String {
    let rows: Vec<Vec<String>> = devices
        .iter()
        .map(|d| {
            let connected = if d.connected { "yes" } else { "no" };
            vec![
                d.name.clone(),
                connected.to_owned(),
                d.waiting.to_string(),
                d.in_doubt.to_string(),
                d.bytes.to_string(),
            ]
        })
        .collect();
    table(&["DEVICE", "CONNECTED", "WAITING", "IN DOUBT", "BYTES"], &rows)
}

fn show(d: &DeviceReport) -> String {
    let connected = if d.connected { "yes" } else { "no" };
    let mut lines = vec![
        ("device", d.name.clone()),
        ("connected", connected.to_owned()),
        ("waiting", d.waiting.to_string()),
        ("in doubt", d.in_doubt.to_string()),
        ("bytes", format!("{} ({})", d.bytes, bytes(d.bytes))),
        ("incarnation", d.incarnation.to_string()),
    ];
    lines.extend(d.counters.iter().map(|(kind, count)| (kind.as_str(), count.to_string())));
    let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    lines.iter().map(|(name, value)| format!("{name:<width$}  {value}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_for_people() {
        let counters = [("delivered".to_owned(), 5)].into();
        let device =
            DeviceReport { name: "DEV1".to_owned(), waiting: 2, bytes: 2048, counters, ..Default::default() };
        let expected = "device       DEV1\nconnected    no\nwaiting      2\nin doubt     0\nbytes        2048 (2.0 KiB)\n\
                        incarnation  0\ndelivered    5\n";
        assert_eq!(show(&device), expected);
        assert_eq!(
            list(&[device]),
            "DEVICE  CONNECTED  WAITING  IN DOUBT  BYTES\nDEV1    no               2         0   2048\n"
        );
    }
}
