//! The command line of `device-sim`: what its words are; what they do is in the parts.

mod fleet;
mod json;
mod pull;
mod push;

use std::io::IsTerminal;
use std::net::ToSocketAddrs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use mqe::DeviceName;
use tracing_subscriber::EnvFilter;

use crate::device::{DeviceOptions, MemoryDisk, Place};

const WITHOUT_STATE: &str = "\
Without --state the device keeps nothing when the program ends: it is one that lost its store. The gateway then gives \
it a new incarnation each time, what it had not confirmed comes again (\"possibly delivered to both\"), and what it \
had not put yet is gone. With --state DIR every message is printed once, and every line put once, however often link \
or gateway break.";

/// Simulated devices for mqe-gateway: one by hand, or a fleet with a ledger.
#[derive(Debug, Parser)]
#[command(name = "device-sim", version, about, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Take a device's messages: one JSON object a line for each.
    #[command(
        after_long_help = WITHOUT_STATE,
        after_help = "Example: device-sim pull --gateway 127.0.0.1:7414 --device DEV00001 --state dev1 --wait 5"
    )]
    Pull(pull::PullArgs),
    /// Put each line of standard input as a device, and say what was confirmed.
    #[command(
        after_long_help = WITHOUT_STATE,
        after_help = "Example: echo hello | device-sim push --device DEV00001 --state dev1 --to DEV.QUEUE.1"
    )]
    Push(push::PushArgs),
    /// Play many devices and the MQ application at the other end, and prove that each message came once.
    #[command(
        after_help = "Example: device-sim fleet --devices 2000 --messages 20 --faults cut=0.1 --direction both --report fleet.json"
    )]
    Fleet(Box<fleet::FleetArgs>),
}

/// Which device, where.
#[derive(Debug, Clone, Args)]
struct DeviceArgs {
    /// The gateway's device listener
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7414", value_parser = address)]
    gateway: String,
    /// The device's name
    #[arg(long, value_name = "D")]
    device: DeviceName,
    /// Where the device keeps its state; without it, it is a device that lost its store (see --help)
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// End when nothing happened for so long; meanwhile it connects again by itself
    #[arg(long, value_name = "SECS", default_value = "15", value_parser = seconds)]
    wait: Duration,
}

impl DeviceArgs {
    fn options(&self) -> DeviceOptions {
        let place = match &self.state {
            Some(directory) => Place::Directory(directory.clone()),
            None => Place::Memory(MemoryDisk::default()),
        };
        DeviceOptions { place, ..DeviceOptions::new(self.gateway.clone(), self.device) }
    }
}

/// Runs the program that was called with these words. Standard output, standard error and the exit status are its own.
pub(crate) fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let is_error = error.use_stderr();
            let _ = error.print();
            return if is_error { ExitCode::from(2) } else { ExitCode::SUCCESS };
        }
    };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn"));
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    // A program that this is called from may have one already.
    let _ = log.try_init();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("device-sim: cannot start: {error}");
            return ExitCode::FAILURE;
        }
    };
    let outcome = runtime.block_on(async {
        match cli.command {
            Command::Pull(args) => pull::run(args).await,
            Command::Push(args) => push::run(args).await,
            Command::Fleet(args) => fleet::run(args).await,
        }
    });
    // A read of standard input that nobody waits for any more must not hold the end up.
    runtime.shutdown_background();
    match outcome {
        Ok(status) => status,
        Err(error) => {
            eprintln!("device-sim: {}", explain(&error));
            ExitCode::FAILURE
        }
    }
}

/// The causes, without those that the one before has said already.
fn explain(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

/// `host:port`.
fn address(text: &str) -> Result<String, String> {
    let form = || format!("{text:?} is not host:port");
    let (host, port) = text.rsplit_once(':').ok_or_else(form)?;
    let is_port = port.parse::<u16>().is_ok_and(|port| port != 0);
    if host.is_empty() || !is_port {
        return Err(form());
    }
    text.to_socket_addrs().map_err(|error| format!("{text:?}: {error}"))?;
    Ok(text.to_owned())
}

/// Seconds, with a fraction if wanted.
fn seconds(text: &str) -> Result<Duration, String> {
    let number: f64 = text.parse().map_err(|_| format!("{text:?} is not a number of seconds"))?;
    Duration::try_from_secs_f64(number).map_err(|_| format!("{text:?} is not a number of seconds"))
}

#[cfg(test)]
mod tests;
