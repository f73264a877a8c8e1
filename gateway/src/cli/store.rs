//! `store`: whether the store is whole, what is in it, backups, and what can be saved when it is not.

mod progress;
mod service;
mod show;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, Subcommand};
use store::StoreError;
use store::tools;

use progress::shown;

use super::Said;
use crate::clock;
use crate::config::StoreSection;
use crate::report::{BackupReport, BackupRequest, StoreReport};

#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  mqe-gateway store stat\n  mqe-gateway store backup /backup/mqe --incremental"
)]
pub(super) struct StoreArgs {
    #[command(subcommand)]
    command: StoreCommand,
}

#[derive(Debug, Subcommand)]
enum StoreCommand {
    /// Look at every byte of a stopped store or of a backup, and say what is wrong and what to do; change nothing
    #[command(after_help = "Example:\n  mqe-gateway store check --data /var/lib/mqe\n  \
        mqe-gateway store check --data /backup/mqe --json\n\nExit status: 0 nothing is damaged, 1 something is, 2 wrong usage.")]
    Check {
        #[command(flatten)]
        data: DataArgs,
    },
    /// Show segments, messages, bytes; of a running service through its admin listener
    #[command(
        after_help = "Example:\n  mqe-gateway store stat\n  mqe-gateway store stat --data /var/lib/mqe --json"
    )]
    Stat {
        #[command(flatten)]
        data: DataArgs,
        /// Address of the admin listener of a running service [default: from endpoints.json in the data directory]
        #[arg(long, value_name = "ADDR")]
        admin: Option<String>,
    },
    /// Copy the store as it is at one moment into TO; a running service goes on meanwhile
    #[command(after_help = "Example:\n  mqe-gateway store backup /backup/mqe\n  \
        mqe-gateway store backup /backup/mqe --incremental\n\n\
        With a running service it is the service that writes TO, so TO must be on its machine.\n\
        Whenever this is cut off, TO holds the earlier backup or the new one; the first time, none.")]
    Backup {
        /// A directory that is not there or empty, or (--incremental) holds an earlier backup
        #[arg(value_name = "TO")]
        to: PathBuf,
        /// Copy only what an earlier backup in TO does not have, and bring it up to date
        #[arg(long)]
        incremental: bool,
        #[command(flatten)]
        data: DataArgs,
        /// Address of the admin listener of a running service [default: from endpoints.json in the data directory]
        #[arg(long, value_name = "ADDR")]
        admin: Option<String>,
    },
    /// Make the data directory of the backup in FROM; it must not be there yet
    #[command(
        after_help = "Example:\n  mqe-gateway store restore /backup/mqe --data /var/lib/mqe-restored\n\n\
        The store goes on under a new identity. What that means for devices and for MQ is printed."
    )]
    Restore {
        /// The directory of the backup
        #[arg(value_name = "FROM")]
        from: PathBuf,
        #[command(flatten)]
        data: DataArgs,
    },
    /// Save what can be read of a damaged store into a new one, with a list of what was saved, lost and is doubtful
    #[command(after_help = "Example:\n  mqe-gateway store salvage /var/lib/mqe /var/lib/mqe-saved\n\n\
        FROM is only read. The list is TO/salvage.json. Restore a backup instead if there is a good one.")]
    Salvage {
        /// The damaged data directory, or a backup
        #[arg(value_name = "FROM")]
        from: PathBuf,
        /// The new data directory; it must not be there yet
        #[arg(value_name = "TO")]
        to: PathBuf,
        /// Print the report as JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
struct DataArgs {
    /// The data directory [default: mqe-data]
    #[arg(long, value_name = "DIR", env = "MQE_DATA")]
    data: Option<PathBuf>,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

impl DataArgs {
    fn directory(&self) -> PathBuf {
        self.data.clone().unwrap_or_else(|| StoreSection::default().directory)
    }

    /// Prints a report: as JSON where a script reads it.
    fn print(
        &self,
        json: impl FnOnce() -> serde_json::Value,
        text: impl FnOnce() -> String,
    ) -> io::Result<()> {
        print(self.json, json, text)
    }
}

fn print(
    as_json: bool,
    json: impl FnOnce() -> serde_json::Value,
    text: impl FnOnce() -> String,
) -> io::Result<()> {
    let mut out = io::stdout();
    if as_json { writeln!(out, "{:#}", json()) } else { out.write_all(text().as_bytes()) }
}

pub(super) fn run(args: &StoreArgs) -> anyhow::Result<()> {
    match &args.command {
        StoreCommand::Check { data } => check(data),
        StoreCommand::Stat { data, admin } => stat(data, admin.as_deref()),
        StoreCommand::Backup { to, incremental, data, admin } => {
            let request = BackupRequest { to: to.clone(), incremental: *incremental };
            backup(request, data, admin.as_deref())
        }
        StoreCommand::Restore { from, data } => {
            let report = shown("restore", || tools::restore(from, &data.directory()))?;
            Ok(data.print(|| show::restore_json(&report), || show::restore(&report))?)
        }
        StoreCommand::Salvage { from, to, json } => {
            let report = shown("salvage", || tools::salvage(from, to));
            let report = report.map_err(|error| when_stopped(error, "salvage"))?;
            Ok(print(*json, || show::salvage_json(&report), || show::salvage(&report))?)
        }
    }
}

fn check(data: &DataArgs) -> anyhow::Result<()> {
    let report = shown("check", || tools::check(&data.directory()));
    let report = report.map_err(|error| when_stopped(error, "check"))?;
    data.print(|| show::check_json(&report), || show::check(&report))?;
    if report.is_damaged() { Err(Said.into()) } else { Ok(()) }
}

/// Only stat and backup know how to ask a running service.
fn when_stopped(error: StoreError, command: &str) -> anyhow::Error {
    if !matches!(error, StoreError::InUse { .. }) {
        return error.into();
    }
    anyhow::Error::new(error).context(format!(
        "store {command} needs a stopped service, or a backup (store backup TO makes one of a running service)"
    ))
}

fn stat(data: &DataArgs, admin: Option<&str>) -> anyhow::Result<()> {
    let directory = data.directory();
    if admin.is_none() {
        match shown("stat", || tools::stat(&directory)) {
            Ok(stat) => return Ok(data.print(|| show::stopped_json(&stat), || show::stopped(&stat))?),
            Err(StoreError::InUse { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let text = service::get(&directory, admin, "/store")?;
    if data.json {
        return Ok(writeln!(io::stdout(), "{text}")?);
    }
    let report: StoreReport = serde_json::from_str(&text).context("the answer is not a report")?;
    Ok(io::stdout().write_all(show::running(&report).as_bytes())?)
}

fn backup(request: BackupRequest, data: &DataArgs, admin: Option<&str>) -> anyhow::Result<()> {
    let directory = data.directory();
    let now_ms = clock::now().wall_ms;
    let report = match admin {
        Some(_) => of_running(request, &directory, admin)?,
        None => match shown("backup", || tools::backup(&directory, &request.to, request.incremental, now_ms))
        {
            Ok(report) => report.into(),
            Err(StoreError::InUse { .. }) => of_running(request, &directory, admin)?,
            Err(error) => return Err(error.into()),
        },
    };
    Ok(data.print(|| serde_json::json!(report), || show::backup(&report))?)
}

fn of_running(
    mut request: BackupRequest,
    directory: &Path,
    admin: Option<&str>,
) -> anyhow::Result<BackupReport> {
    // The service is in another directory than we are.
    request.to = std::path::absolute(&request.to).context("TO is no path")?;
    let request = serde_json::to_string(&request)?;
    let text = shown("backup by the service", || service::post(directory, admin, "/store/backup", &request))?;
    serde_json::from_str(&text).context("the answer is not a report")
}

#[cfg(test)]
mod tests;
