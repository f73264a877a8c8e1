//! The command line: what can be said, and how a command ends. Each command has a file of its own in `cli/`.

mod amqsget;
mod amqsput;
mod check;
mod connect;
mod demo;
mod devices;
mod exits;
mod http;
mod init;
mod lines;
mod mqrc;
mod park;
mod route;
mod run;
mod sources;
mod status;
mod store;
mod table;

#[cfg(test)]
mod tests;

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use mqe_exits::Registry;

use crate::config::Problems;
use crate::report::StatusReport;

/// The program's name in its messages.
const PROGRAM: &str = "mqe-gateway";

/// What the command line says.
#[derive(Debug, Parser)]
#[command(
    name = PROGRAM,
    version,
    about = "MQ to MQ Everyplace gateway with an embedded queue manager",
    after_help = "Example:\n  mqe-gateway run\n  echo hello | mqe-gateway amqsput 'ORDERS%DEV00042' GATE1"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the service: queue manager, gateway, device listener
    Run(run::RunArgs),
    /// Run the main job in a temporary directory, with a kill in the middle, and prove that nothing was lost
    Demo(demo::DemoArgs),
    /// Write an annotated configuration and an example MQSC script
    Init(init::InitArgs),
    /// Say all that is wrong with the configuration and the scripts; change nothing
    Check(check::CheckArgs),
    /// Show queue manager, listeners, devices and store of the running service, and what is wrong
    Status(status::StatusArgs),
    /// Show the devices of the running service
    Devices(devices::DevicesArgs),
    /// Show, start, stop and pause the listeners on transmission queues and their outboxes
    Sources(sources::SourcesArgs),
    /// Show, release and purge messages that are parked for devices that are not known
    Park(park::ParkArgs),
    /// Show the exits, and start them anew
    Exits(exits::ExitsArgs),
    /// Say where a message would go, and why
    Route(route::RouteArgs),
    /// Check, measure, back up, restore and salvage the store
    Store(store::StoreArgs),
    /// Put each line of standard input as a message
    Amqsput(amqsput::PutArgs),
    /// Get messages and print each as a line
    Amqsget(amqsget::GetArgs),
    /// Say what a reason code means and what to do
    Mqrc(mqrc::MqrcArgs),
}

/// Does what the command line says. `registry` holds the exits that a configuration can name.
pub fn main(registry: Registry) -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Without a terminal to print to there is nobody to tell.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let result = match cli.command {
        Command::Run(args) => run::run(args, registry),
        Command::Demo(args) => demo::run(&args),
        Command::Init(args) => init::run(&args),
        Command::Check(args) => check::run(&args, &registry),
        Command::Status(args) => status::run(&args),
        Command::Devices(args) => devices::run(&args),
        Command::Sources(args) => sources::run(&args),
        Command::Park(args) => park::run(&args),
        Command::Exits(args) => exits::run(&args),
        Command::Route(args) => route::run(&args),
        Command::Store(args) => store::run(&args),
        Command::Amqsput(args) => amqsput::run(&args),
        Command::Amqsget(args) => amqsget::run(&args),
        Command::Mqrc(args) => mqrc::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => report(&error),
    }
}

/// The status of a service, for `demo`. Blocks.
pub(crate) fn status_of(admin: String, data: PathBuf) -> anyhow::Result<StatusReport> {
    let text = http::ServiceArgs::at(admin, data).get_json("/status")?;
    Ok(serde_json::from_str(&text)?)
}

/// A command that has said all there is to say and still failed.
#[derive(Debug, thiserror::Error)]
#[error("failed")]
struct Said;

fn report(error: &anyhow::Error) -> ExitCode {
    let io = error.chain().find_map(|cause| cause.downcast_ref::<io::Error>());
    if io.is_some_and(|io| io.kind() == io::ErrorKind::BrokenPipe) {
        // The reader of our output has seen enough, as `head` does.
        return ExitCode::SUCCESS;
    }
    if let Some(Problems(problems)) = error.downcast_ref() {
        for problem in problems {
            eprintln!("{PROGRAM}: {problem}");
        }
    } else if error.downcast_ref::<Said>().is_none() {
        eprintln!("{PROGRAM}: {}", one_line(&chain(error)));
    }
    ExitCode::FAILURE
}

/// An error and its causes; a cause that the text before it has told already is left out.
fn chain(error: &anyhow::Error) -> String {
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

/// Texts of others may have several lines; an error is one.
fn one_line(text: &str) -> String {
    text.split('\n').map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

/// A runtime for a command that talks to one queue manager.
fn block_on<T>(future: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let result = runtime.block_on(future);
    // A thread may still wait for a terminal's next line.
    runtime.shutdown_background();
    result
}
