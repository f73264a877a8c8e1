//! `amqsget`: messages become lines. A message leaves its queue when its line is written.

use std::io::{self, BufWriter, Write};
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use mq_client::{Connection, Got};
use mq_wire::{CloseOptions, GetOptions, MatchOptions, Mqgmo, Mqmd, Mqod, ObjectName, OpenOptions, QMgrName};

use super::block_on;
use super::connect::ConnectArgs;
use super::lines::as_json;

/// Messages in one unit of work.
const UNIT_MESSAGES_MAX: u64 = 100;

#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  mqe-gateway amqsget DEV.QUEUE.1\n  mqe-gateway amqsget DEV.QUEUE.1 --wait 0 --count 10 --json"
)]
pub(super) struct GetArgs {
    /// Queue to get from
    #[arg(value_name = "QUEUE")]
    queue: ObjectName,
    /// Queue manager of the queue [default: the one connected to]
    #[arg(value_name = "QMGR")]
    qmgr: Option<QMgrName>,
    #[command(flatten)]
    connect: ConnectArgs,
    /// End when nothing came for so many seconds
    #[arg(long, value_name = "SECS", default_value_t = 15, value_parser = clap::value_parser!(u32).range(0..=2_000_000))]
    wait: u32,
    /// End after so many messages
    #[arg(long, value_name = "N")]
    count: Option<u64>,
    /// Print a JSON object for each message, with descriptor fields
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &GetArgs) -> anyhow::Result<()> {
    block_on(get_all(args))
}

async fn get_all(args: &GetArgs) -> anyhow::Result<()> {
    let mut connection = Connection::connect(&args.connect.options("amqsget")?).await?;
    let od = Mqod {
        object_name: args.queue,
        object_q_mgr_name: args.qmgr.unwrap_or(QMgrName::BLANK),
        ..Mqod::default()
    };
    let opened = connection
        .open(od, OpenOptions::INPUT_AS_Q_DEF | OpenOptions::FAIL_IF_QUIESCING)
        .await
        .with_context(|| format!("cannot open {}", args.queue))?;
    let mut out = BufWriter::new(io::stdout());
    let mut left = args.count.unwrap_or(u64::MAX);
    let mut uncommitted = 0;
    while left > 0 {
        // Waiting with an open unit of work would keep from others what is printed already.
        let wait = if uncommitted == 0 { args.wait } else { 0 };
        let got = connection
            .get(opened.handle, Mqmd::default(), get_options(wait), connection.max_msg_length())
            .await
            .with_context(|| format!("cannot get from {}", args.queue))?;
        match got {
            Some(message) => {
                print(args, &message, &mut out)?;
                left -= 1;
                uncommitted += 1;
                if uncommitted < UNIT_MESSAGES_MAX && left > 0 {
                    continue;
                }
            }
            None if uncommitted == 0 => break,
            None => {}
        }
        // Written first: if the line cannot be written, its message is backed out.
        out.flush()?;
        connection.commit().await?;
        uncommitted = 0;
    }
    connection.close(opened.handle, CloseOptions::empty()).await?;
    Ok(connection.disconnect().await?)
}

fn get_options(wait_seconds: u32) -> Mqgmo {
    let wait = if wait_seconds == 0 { GetOptions::empty() } else { GetOptions::WAIT };
    let milliseconds = Duration::from_secs(wait_seconds.into()).as_millis();
    Mqgmo {
        version: 2,
        options: wait | GetOptions::SYNCPOINT | GetOptions::FAIL_IF_QUIESCING,
        wait_interval: i32::try_from(milliseconds).unwrap_or(i32::MAX),
        match_options: MatchOptions::empty(),
        ..Mqgmo::default()
    }
}

fn print(args: &GetArgs, message: &Got, out: &mut impl Write) -> io::Result<()> {
    if args.json {
        return writeln!(out, "{}", as_json(&message.md, &message.data));
    }
    out.write_all(&message.data)?;
    out.write_all(b"\n")
}
