//! `audit`: a line of JSON for each message that passes: who sent what to whom. It never changes a message, and never refuses
//! one; where a line cannot be written the exit fails, and `on_failure` says what that means (`pass` keeps the flow).
//!
//! | option | values |
//! |---|---|
//! | `file` | where to; lines are appended. Without it they go to the log, at level `info`, target `audit` |
//! | `max_bytes` | at this length the file is renamed to `FILE.1` (an older one goes) and begun anew, 4096 to 1099511627776; the default is 67108864 |
//!
//! A line has `time_ms`, `direction`, `source`, `queue`, `queue_manager`, `message_id`, `correlation_id`, `user`, `put_time`,
//! `persistent`, `priority`, `format`, `bytes`. Data is never written. A message that is seen twice (after a crash) has two lines.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use mq_wire::Persistence;
use serde_json::json;

use crate::{DataOptions, Direction, ExitContext, ExitError, ExitMessage, ExitResponse, ReceiveExit};

/// The exit; see the head of its file.
#[derive(Debug)]
pub struct Audit {
    file: Option<PathBuf>,
    max_bytes: u64,
    open: Mutex<Option<Open>>,
}

#[derive(Debug)]
struct Open {
    file: File,
    bytes: u64,
}

impl Audit {
    /// Its kind in the configuration.
    pub const KIND: &'static str = "audit";

    /// From the data string.
    pub fn from_data(data: &str) -> Result<Self, ExitError> {
        let mut options = DataOptions::parse(data)?;
        let file = options.take("file").map(PathBuf::from);
        let max_bytes = options.take_number("max_bytes", 4096, 1 << 40)?.unwrap_or(64 << 20);
        options.finish(&["file", "max_bytes"])?;
        Ok(Self { file, max_bytes, open: Mutex::default() })
    }

    /// Writes a line with one call, so that lines of others who append stay whole.
    fn write(&self, line: &str) -> std::io::Result<()> {
        let Some(path) = &self.file else {
            tracing::info!(target: "audit", "{}", line.trim_end());
            return Ok(());
        };
        let mut slot = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let mut open = match slot.take() {
            Some(open) => open,
            None => Open::at(path)?,
        };
        if open.bytes > 0 && open.bytes + line.len() as u64 > self.max_bytes {
            let mut older = path.clone().into_os_string();
            older.push(".1");
            // Where it cannot be renamed no line is written: the bound holds, and each message says why.
            std::fs::rename(path, older)?;
            open = Open::at(path)?;
        }
        if let Err(error) = open.file.write_all(line.as_bytes()) {
            // The half of a line would run into the next one.
            open.file.set_len(open.bytes)?;
            return Err(error);
        }
        open.bytes += line.len() as u64;
        *slot = Some(open);
        Ok(())
    }
}

impl Open {
    fn at(path: &Path) -> std::io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        let bytes = file.metadata()?.len();
        Ok(Self { file, bytes })
    }
}

#[async_trait]
impl ReceiveExit for Audit {
    async fn init(&self, _: &crate::InitContext) -> Result<(), ExitError> {
        // A place that cannot be written is found at the start, not with the first message.
        match &self.file {
            Some(path) => Open::at(path)
                .map(drop)
                .map_err(|error| ExitError::failed(format!("{}: {error}", path.display()))),
            None => Ok(()),
        }
    }

    async fn receive(
        &self,
        cx: &mut ExitContext,
        message: &mut ExitMessage,
    ) -> Result<ExitResponse, ExitError> {
        if cx.is_dry_run() {
            return Ok(ExitResponse::Ok);
        }
        let header = message.xqh().ok();
        let md = header.as_ref().map(|header| &header.msg_desc);
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let hex = |id: &[u8; 24]| id.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let line = json!({
            "time_ms": u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
            "direction": match cx.direction() {
                Direction::FromMq => "from-mq",
                Direction::FromDevice => "from-device",
            },
            "source": cx.source(),
            "queue": header.as_ref().map(|header| header.remote_q_name.to_string()),
            "queue_manager": header.as_ref().map(|header| header.remote_q_mgr_name.to_string()),
            "message_id": md.map(|md| hex(&md.msg_id.0)),
            "correlation_id": md.map(|md| hex(&md.correl_id.0)),
            "user": md.map(|md| md.user_identifier.text()),
            "put_time": md.map(|md| format!("{}{}", md.put_date.text(), md.put_time.text())),
            "persistent": md.map(|md| md.persistence == Persistence::PERSISTENT),
            "priority": md.map(|md| md.priority),
            "format": md.map(|md| md.format.text()),
            "bytes": message.payload().map_or(message.bytes().len(), <[u8]>::len),
        });
        self.write(&format!("{line}\n"))
            .map_err(|error| ExitError::failed(format!("the audit file: {error}")))?;
        Ok(ExitResponse::Ok)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::testing::{Harness, TestMessage};

    #[tokio::test]
    async fn each_message_has_a_line_and_the_file_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("audit.jsonl");
        let exit = Audit::from_data(&format!("file={} max_bytes=4096", file.display())).unwrap();
        let mut harness = Harness::new(exit);
        harness.init().await.unwrap();
        for number in 0..30 {
            let mut message = TestMessage::to("ORDERS", "DEV1").payload(vec![b'x'; number]).build();
            assert_eq!(harness.run(&mut message).await.unwrap(), ExitResponse::Ok);
        }
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        let (older, newer) = (read("audit.jsonl.1"), read("audit.jsonl"));
        assert!(older.len() <= 4096 && newer.len() <= 4096);
        let lines: Vec<Value> =
            older.lines().chain(newer.lines()).map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.last().unwrap()["bytes"], 29);
        let first = &lines[0];
        assert_eq!(
            (first["queue"].as_str(), first["queue_manager"].as_str()),
            (Some("ORDERS"), Some("DEV1"))
        );
        assert_eq!(first["direction"], "from-mq");
    }

    #[tokio::test]
    async fn the_bound_holds_where_the_older_file_cannot_be_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("audit.jsonl");
        // A file cannot take the place of a folder that has something in it.
        std::fs::create_dir_all(folder.path().join("audit.jsonl.1/x")).unwrap();
        let exit = Audit::from_data(&format!("file={} max_bytes=4096", file.display())).unwrap();
        let mut harness = Harness::new(exit);
        let mut outcomes = Vec::new();
        for _ in 0..30 {
            let mut message = TestMessage::to("ORDERS", "DEV1").build();
            outcomes.push(harness.run(&mut message).await.is_ok());
        }
        let written = outcomes.iter().filter(|written| **written).count();
        assert!(written > 0 && outcomes[..written].iter().all(|written| *written), "{outcomes:?}");
        assert!(written < 30 && std::fs::metadata(&file).unwrap().len() <= 4096);
    }

    #[tokio::test]
    async fn a_file_that_cannot_be_written_is_found_at_the_start() {
        let harness = Harness::new(Audit::from_data("file=/proc/none/audit").unwrap());
        assert!(harness.init().await.unwrap_err().to_string().contains("/proc/none/audit"));
    }
}
