//! `route`: where a message would go, and why.

use std::io::{self, Write};

use anyhow::Context;
use clap::Args;

use super::http::{ServiceArgs, path_part};
use crate::report::RouteReport;

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  mqe-gateway route 'ORDERS%DEV00042' GATE1")]
pub(super) struct RouteArgs {
    /// The queue, as an application names it
    #[arg(value_name = "QUEUE")]
    queue: String,
    /// Its queue manager; without one the embedded queue manager
    #[arg(value_name = "QMGR", default_value = "")]
    q_mgr: String,
    #[command(flatten)]
    service: ServiceArgs,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &RouteArgs) -> anyhow::Result<()> {
    let path = format!("/route?queue={}&q_mgr={}", path_part(&args.queue), path_part(&args.q_mgr));
    let text = args.service.get_json(&path)?;
    let mut out = io::stdout().lock();
    if args.json {
        return Ok(writeln!(out, "{text}")?);
    }
    let RouteReport { steps, ends } = serde_json::from_str(&text).context("the answer is not a report")?;
    for (number, step) in steps.iter().enumerate() {
        writeln!(out, "{}. {step}", number + 1)?;
    }
    Ok(writeln!(out, "=> {ends}")?)
}
