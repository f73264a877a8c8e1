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

use crate::report::{DeviceReport, StatusReport, StoreReport};

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
    /// All devices, in the order of their names.
    async fn devices(&self) -> Vec<DeviceReport>;
    /// One device, if it is known.
    async fn device(&self, name: &str) -> Option<DeviceReport>;
}
