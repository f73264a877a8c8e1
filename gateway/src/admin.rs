//! The listener for administration: health, metrics and reports over HTTP, bounded in every way. What the reports say
//! is for the service, which stands behind [`AdminBackend`].

mod endpoints;
mod metrics;
mod routes;
mod serve;
mod token;

#[cfg(test)]
mod tests;

use async_trait::async_trait;

use crate::report::{
    BackupReport, BackupRequest, DeviceReport, ExitReport, Operation, OperationReport, ParkedReport,
    RouteReport, SourceReport, StatusReport, StoreReport,
};

pub use endpoints::{ENDPOINTS_FILE, read_endpoints, write_endpoints};
pub use serve::{AdminBounds, serve, serve_bounded};
pub use token::{TOKEN_FILE, ensure_token, read_token};

/// What the listener asks the service.
#[async_trait]
pub trait AdminBackend: Send + Sync + 'static {
    /// Whether all listeners accept and recovery is done.
    fn ready(&self) -> bool;
    /// The state of everything.
    async fn status(&self) -> StatusReport;
    /// The store's figures.
    async fn store(&self) -> StoreReport;
    /// Copies the store as it is now. One at a time, and as long as it takes.
    async fn backup(&self, request: BackupRequest) -> Result<BackupReport, BackupError>;
    /// All devices, in the order of their names.
    async fn devices(&self) -> Vec<DeviceReport>;
    /// One device, if it is known.
    async fn device(&self, name: &str) -> Option<DeviceReport>;
    /// The sources and their outboxes.
    async fn sources(&self) -> Vec<SourceReport>;
    /// What is parked.
    async fn parked(&self) -> Vec<ParkedReport>;
    /// The exits, in the order of the chain.
    fn exits(&self) -> Vec<ExitReport>;
    /// Where a message would go; an error if the names are none.
    async fn route(&self, queue: &str, q_mgr: &str) -> Result<RouteReport, String>;
    /// Does something; an error says what to do instead.
    async fn operate(&self, operation: Operation) -> Result<OperationReport, String>;
}

/// Why there is no backup.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackupError {
    /// It is not where a backup can be.
    #[error("{} is not an absolute path: the service may be in another directory than you are", to.display())]
    Relative {
        /// What was asked for.
        to: std::path::PathBuf,
    },
    /// There is one in the making.
    #[error("a backup is being made already: wait until it is done")]
    Busy,
    /// The service ends, or the store failed.
    #[error("the service is stopping, or its journal failed: ask again")]
    Stopped,
    /// The target, or the store.
    #[error("{0}")]
    Store(#[from] store::StoreError),
}
