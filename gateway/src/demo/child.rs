//! The service as a process that can be killed and started again.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::report::StatusReport;

/// From the start to `ready`, at most.
const READY_WITHIN: Duration = Duration::from_secs(30);
/// From SIGTERM to the end, at most.
const END_WITHIN: Duration = Duration::from_secs(20);

/// A running service.
#[derive(Debug)]
pub(super) struct Service {
    child: Child,
    directory: PathBuf,
    /// Where MQ clients connect.
    pub(super) mq: String,
    /// Where devices connect.
    pub(super) devices: String,
    admin: String,
}

impl Service {
    /// Starts one on free ports.
    pub(super) async fn start(directory: &Path) -> anyhow::Result<Self> {
        let any = "127.0.0.1:0".to_owned();
        Self::spawn(directory.to_owned(), [any.clone(), any.clone(), any]).await
    }

    /// Kills it, as the kernel does; its process number.
    pub(super) fn kill(&mut self) -> anyhow::Result<u32> {
        let number = self.child.id().context("the service has ended by itself")?;
        self.child.start_kill().context("cannot kill the service")?;
        Ok(number)
    }

    /// Starts a killed one again, on the same ports and data.
    pub(super) async fn restart(mut self) -> anyhow::Result<Self> {
        self.child.wait().await.context("cannot wait for the service")?;
        Self::spawn(self.directory, [self.mq, self.devices, self.admin]).await
    }

    /// What the service tells about itself.
    pub(super) async fn status(&self) -> anyhow::Result<StatusReport> {
        let (admin, data) = (self.admin.clone(), data(&self.directory));
        tokio::task::spawn_blocking(move || crate::cli::status_of(admin, data)).await?
    }

    /// Stops it in order.
    pub(super) async fn stop(mut self) -> anyhow::Result<()> {
        // The only way to send SIGTERM without unsafe code of ours is a library that has it.
        if let Some(pid) = self.child.id().and_then(|id| rustix::process::Pid::from_raw(id.cast_signed())) {
            rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
        }
        let ended = tokio::time::timeout(END_WITHIN, self.child.wait())
            .await
            .context("the service does not stop")??;
        anyhow::ensure!(ended.success(), "the service ended with {ended}; see its log");
        Ok(())
    }

    async fn spawn(directory: PathBuf, [mq, devices, admin]: [String; 3]) -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("cannot find this program")?;
        let log = File::options().create(true).append(true).open(directory.join("service.log"))?;
        let mut child = Command::new(program)
            .arg("run")
            .arg("--data")
            .arg(data(&directory))
            .args(["--listen-mq", &mq, "--listen-devices", &devices, "--listen-admin", &admin])
            // A configuration file that lies around is not the demo's.
            .current_dir(&directory)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .context("cannot start the service")?;
        let out = child.stdout.take().context("the service has no output")?;
        let mut line = String::new();
        let mut out = BufReader::new(out);
        tokio::time::timeout(READY_WITHIN, out.read_line(&mut line))
            .await
            .context("the service does not get ready")??;
        let address = |name: &str| {
            let value = line.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
            value.map(str::to_owned)
        };
        match (address("mq"), address("devices"), address("admin")) {
            (Some(mq), Some(devices), Some(admin)) => Ok(Self { child, directory, mq, devices, admin }),
            _ => {
                let log = std::fs::read_to_string(directory.join("service.log")).unwrap_or_default();
                anyhow::bail!(
                    "the service did not start: {}",
                    log.lines().last().unwrap_or("it says nothing")
                )
            }
        }
    }
}

fn data(directory: &Path) -> PathBuf {
    directory.join("data")
}
