//! `demo`: the main job in a temporary directory; what it shows is [`crate::demo`]'s.

use clap::Args;

use super::Said;
use crate::demo::{self, DemoOptions};

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  mqe-gateway demo --devices 1000 --messages 10")]
pub(super) struct DemoArgs {
    /// Devices
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(10..=10_000))]
    devices: u32,
    /// Messages for each device, and from each
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    messages: u32,
    /// Bytes of a message
    #[arg(long, value_name = "BYTES", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=1_048_576))]
    size: u32,
    /// Print the report as JSON in place of the story
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &DemoArgs) -> anyhow::Result<()> {
    let options = DemoOptions {
        devices: args.devices,
        messages: args.messages,
        size: args.size as usize,
        json: args.json,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    if runtime.block_on(demo::run(options))? { Ok(()) } else { Err(Said.into()) }
}
