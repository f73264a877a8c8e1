//! What the admin listener asks: most is for the core, the rest is counted around it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use mq_wire::{QMgrName, QName};
use mqe_exits::Chain;
use store::tools::Snapshot;
use tokio::sync::Mutex;

use super::operate::ReloadExits;
use super::{operate, route};
use crate::admin::{AdminBackend, BackupError};
use crate::clock;
use crate::core::{Command, ConnectionCount, CoreHandle, OutboxCommand};
use crate::report::{
    BackupReport, BackupRequest, DeviceReport, ExitReport, Listeners, Operation, OperationReport,
    ParkedReport, RouteReport, SourceReport, StatusReport, StoreReport,
};
use crate::source::{self, Sources};

/// Who answers.
pub(super) struct Backend {
    pub(super) core: CoreHandle,
    /// From `ready` until the stop begins.
    pub(super) serving: Arc<AtomicBool>,
    pub(super) listeners: Listeners,
    pub(super) mq: Arc<ConnectionCount>,
    pub(super) devices: Arc<ConnectionCount>,
    pub(super) sources: Arc<Sources>,
    pub(super) chain: Arc<Chain>,
    pub(super) directory: PathBuf,
    /// Held while a backup is being made.
    pub(super) backup: Arc<Mutex<()>>,
    pub(super) gateway: String,
    pub(super) names: Arc<[QMgrName]>,
    pub(super) q_mgr: QMgrName,
    /// The gateway's transmission queue in the embedded queue manager.
    pub(super) queue: QName,
    pub(super) reload: ReloadExits,
    pub(super) started: std::time::Instant,
}

#[async_trait]
impl AdminBackend for Backend {
    fn ready(&self) -> bool {
        self.serving.load(Ordering::Acquire) && !self.core.is_recovering()
    }

    async fn status(&self) -> StatusReport {
        let core = self.core.inquire(|answer| Command::Status { answer }).await.unwrap_or_default();
        let mut report = StatusReport {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            uptime_s: clock::now().instant.duration_since(self.started).as_secs(),
            listeners: self.listeners.clone(),
            mq_connections: self.mq.now(),
            mq_connections_total: self.mq.total(),
            device_connections: self.devices.now(),
            device_connections_total: self.devices.total(),
            sources: self.sources().await,
            exits: source::exit_reports(&self.chain),
            ..core
        };
        report.gateway.clone_from(&self.gateway);
        report.store.directory = self.directory.display().to_string();
        for source in &report.sources {
            if let Some(reason) = &source.reason {
                let (name, kind, queue) = (&source.name, &source.kind, &source.queue);
                report.problems.push(format!("source {name} ({kind}, {queue}): {}: {reason}", source.state));
            }
        }
        report
    }

    async fn store(&self) -> StoreReport {
        let report = self.core.inquire(|answer| Command::Store { answer }).await.unwrap_or_default();
        StoreReport { directory: self.directory.display().to_string(), ..report }
    }

    async fn backup(&self, request: BackupRequest) -> Result<BackupReport, BackupError> {
        let BackupRequest { to, incremental } = request;
        if !to.is_absolute() {
            return Err(BackupError::Relative { to });
        }
        let busy = Arc::clone(&self.backup).try_lock_owned().map_err(|_| BackupError::Busy)?;
        let ticket = self.core.inquire(|answer| Command::Snapshot { answer }).await;
        let ticket = ticket.map_err(|_| BackupError::Stopped)?;
        let (directory, time_ms) = (self.directory.clone(), clock::now().wall_ms);
        // Whoever asked may go meanwhile: the copy is finished all the same.
        let copied = tokio::task::spawn_blocking(move || {
            let copied = Snapshot::of(ticket, &directory, time_ms)?.copy_to(&to, incremental);
            match &copied {
                Ok(report) => {
                    tracing::info!(to = report.to, bytes = report.bytes_copied, "a backup was made");
                }
                Err(error) => tracing::warn!(to = %to.display(), %error, "no backup was made"),
            }
            drop(busy);
            Ok(copied?)
        });
        copied.await.unwrap_or(Err(BackupError::Stopped)).map(BackupReport::from)
    }

    async fn devices(&self) -> Vec<DeviceReport> {
        self.core.inquire(|answer| Command::Devices { answer }).await.unwrap_or_default()
    }

    async fn sources(&self) -> Vec<SourceReport> {
        let depths = |answer| Command::Outbox { command: OutboxCommand::Depths { answer } };
        let depths = self.core.inquire(depths).await.unwrap_or_default();
        let mut reports = self.sources.reports();
        for report in reports.iter_mut().filter(|report| report.kind == "outbox") {
            if let Some((_, depth)) = depths.iter().find(|(name, _)| *name == report.name) {
                (report.waiting, report.waiting_bytes) = (depth.messages as u64, depth.bytes);
            }
        }
        reports
    }

    async fn parked(&self) -> Vec<ParkedReport> {
        self.core.inquire(|answer| Command::Parked { answer }).await.unwrap_or_default()
    }

    fn exits(&self) -> Vec<ExitReport> {
        source::exit_reports(&self.chain)
    }

    async fn route(&self, queue: &str, q_mgr: &str) -> Result<RouteReport, String> {
        route::explain(self, queue, q_mgr).await
    }

    async fn operate(&self, operation: Operation) -> Result<OperationReport, String> {
        operate::operate(self, operation).await
    }

    async fn device(&self, name: &str) -> Option<DeviceReport> {
        let device = mqe::DeviceName::new(name).ok()?;
        self.core.inquire(|answer| Command::DeviceReport { device, answer }).await.ok().flatten()
    }
}
