//! `amqsput`: lines become messages.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use bytes::Bytes;
use clap::Args;
use mq_client::Connection;
use mq_wire::{
    Ccsid, Chars, CloseOptions, Mqmd, Mqod, Mqpmo, MsgType, ObjectName, OpenOptions, Persistence, PutOptions,
    QMgrName, QName, Reason,
};
use serde_json::json;
use tokio::io::{AsyncReadExt, BufReader};

use super::connect::ConnectArgs;
use super::lines::{MESSAGE_BYTES_MAX, next_line};
use super::{PROGRAM, block_on};

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  echo hello | mqe-gateway amqsput DEV.QUEUE.1\n  \
                  mqe-gateway amqsput 'ORDERS%DEV00042' GATE1 --persistent --file order.xml")]
pub(super) struct PutArgs {
    /// Queue to put to
    #[arg(value_name = "QUEUE")]
    queue: ObjectName,
    /// Queue manager of the queue, such as GATE1 for devices [default: the one connected to]
    #[arg(value_name = "QMGR")]
    qmgr: Option<QMgrName>,
    #[command(flatten)]
    connect: ConnectArgs,
    /// Put the content of this file as one message, instead of the lines of standard input
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Put each message so many times
    #[arg(long, value_name = "N", default_value_t = 1)]
    count: u64,
    /// Messages survive a restart, whatever the queue's definition says
    #[arg(long)]
    persistent: bool,
    /// Messages are requests with this reply-to queue
    #[arg(long, value_name = "Q")]
    reply_to: Option<QName>,
    /// Print a JSON object for each message that was put
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &PutArgs) -> anyhow::Result<()> {
    block_on(put_all(args))
}

async fn put_all(args: &PutArgs) -> anyhow::Result<()> {
    let options = args.connect.options("amqsput")?;
    let file = match &args.file {
        Some(file) => Some(read_file(file).await?),
        None => None,
    };
    let mut connection = Connection::connect(&options).await?;
    let od = Mqod {
        object_name: args.queue,
        object_q_mgr_name: args.qmgr.unwrap_or(QMgrName::BLANK),
        ..Mqod::default()
    };
    let opened = connection
        .open(od, OpenOptions::OUTPUT | OpenOptions::FAIL_IF_QUIESCING)
        .await
        .with_context(|| format!("cannot open {}", args.target()))?;
    let mut putter = Putter { args, connection, handle: opened.handle, done: 0 };
    match file {
        Some(data) => putter.put(data).await?,
        None => {
            let mut input = BufReader::new(tokio::io::stdin());
            while let Some(line) = next_line(&mut input).await? {
                putter.put(line.into()).await?;
            }
        }
    }
    putter.end().await
}

/// The content of a file that fits into a message.
async fn read_file(file: &Path) -> anyhow::Result<Bytes> {
    let mut data = Vec::new();
    let read = async {
        let opened = tokio::fs::File::open(file).await?;
        opened.take(MESSAGE_BYTES_MAX + 1).read_to_end(&mut data).await
    };
    read.await.with_context(|| format!("cannot read {}", file.display()))?;
    anyhow::ensure!(
        data.len() as u64 <= MESSAGE_BYTES_MAX,
        "{} is longer than a message can be, {MESSAGE_BYTES_MAX} bytes",
        file.display()
    );
    Ok(data.into())
}

struct Putter<'a> {
    args: &'a PutArgs,
    connection: Connection,
    handle: i32,
    /// Messages that are put.
    done: u64,
}

impl Putter<'_> {
    async fn put(&mut self, data: Bytes) -> anyhow::Result<()> {
        for _ in 0..self.args.count {
            let md = self.args.descriptor(&data);
            // Each by itself: what was confirmed here is put, whatever happens to the next one.
            let options = PutOptions::NO_SYNCPOINT | PutOptions::FAIL_IF_QUIESCING;
            let pmo = Mqpmo { options, ..Mqpmo::default() };
            let put = self.connection.put(self.handle, md, pmo, data.clone()).await.with_context(|| {
                let before = self.done;
                format!("message {} for {} ({before} before it were put)", before + 1, self.args.target())
            })?;
            self.done += 1;
            if put.reason != Reason::NONE {
                let meaning = put.reason.meaning().unwrap_or_default();
                eprintln!("{PROGRAM}: message {}: warning {}: {meaning}", self.done, put.reason);
            }
            if self.args.json {
                let persistent = put.md.persistence == Persistence::PERSISTENT;
                let line = json!({ "message_id": put.md.msg_id.to_string(), "persistent": persistent });
                writeln!(io::stdout(), "{line}")?;
            }
        }
        Ok(())
    }

    async fn end(mut self) -> anyhow::Result<()> {
        self.connection.close(self.handle, CloseOptions::empty()).await?;
        self.connection.disconnect().await?;
        if !self.args.json {
            let messages = if self.done == 1 { "message" } else { "messages" };
            writeln!(io::stdout(), "put {} {messages} to {}", self.done, self.args.target())?;
        }
        Ok(())
    }
}

impl PutArgs {
    fn target(&self) -> String {
        match self.qmgr {
            Some(qmgr) => format!("{} at {qmgr}", self.queue),
            None => self.queue.to_string(),
        }
    }

    fn descriptor(&self, data: &[u8]) -> Mqmd {
        let text = std::str::from_utf8(data).is_ok();
        Mqmd {
            format: if text { Chars::cut("MQSTR") } else { Chars::BLANK },
            ccsid: if text { Ccsid::UTF_8 } else { Ccsid::Q_MGR },
            persistence: if self.persistent { Persistence::PERSISTENT } else { Persistence::AS_Q_DEF },
            msg_type: if self.reply_to.is_some() { MsgType::REQUEST } else { MsgType::DATAGRAM },
            reply_to_q: self.reply_to.unwrap_or(QName::BLANK),
            ..Mqmd::default()
        }
    }
}
