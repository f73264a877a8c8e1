//! Accepts connections and serves them within bounds: their number, the size and time of a request's head.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::AdminBackend;
use super::routes::{Shared, router};
use crate::config::Admin;

/// Header fields of a request at most.
const HEADERS_MAX: usize = 32;
/// Bytes of a request's head at most; a connection has one buffer of that size. hyper asks for 8 KiB at least.
const HEAD_BYTES_MAX: usize = 16 << 10;
/// Until a request's head must be there, from the end of the request before.
const HEAD_TIME_MAX: Duration = Duration::from_secs(10);
/// How long a stop waits for requests that are being answered.
const STOP_TIME_MAX: Duration = Duration::from_secs(2);
/// Pause after an accept that failed, as it does when the process has no file handle left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What can be configured of the bounds.
#[derive(Debug, Clone, Copy)]
pub struct AdminBounds {
    /// Connections at the same time; further ones wait to be accepted.
    pub connections_max: usize,
    /// Time of a request.
    pub request_time_max: Duration,
}

impl From<&Admin> for AdminBounds {
    fn from(admin: &Admin) -> Self {
        Self {
            connections_max: usize::try_from(admin.connections_max).unwrap_or(usize::MAX),
            request_time_max: Duration::from_secs(admin.request_seconds_max.into()),
        }
    }
}

/// Serves with the default bounds until `stop`.
pub async fn serve(
    listener: TcpListener,
    token: String,
    backend: Arc<dyn AdminBackend>,
    stop: CancellationToken,
) -> io::Result<()> {
    serve_bounded(listener, token, backend, AdminBounds::from(&Admin::default()), stop).await
}

/// Serves until `stop`; requests that are being answered then are finished.
pub async fn serve_bounded(
    listener: TcpListener,
    token: String,
    backend: Arc<dyn AdminBackend>,
    bounds: AdminBounds,
    stop: CancellationToken,
) -> io::Result<()> {
    let service = TowerToHyperService::new(router(Arc::new(Shared {
        token,
        backend,
        request_time_max: bounds.request_time_max,
    })));
    let places = Arc::new(Semaphore::new(bounds.connections_max.min(Semaphore::MAX_PERMITS)));
    let tracker = TaskTracker::new();
    loop {
        let place = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            place = Arc::clone(&places).acquire_owned() => place.map_err(io::Error::other)?,
        };
        let accepted = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                let connection = serve_connection(stream, service.clone(), stop.clone());
                tracker.spawn(async move {
                    connection.await;
                    drop(place);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "the admin listener could not accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    tracker.close();
    if tokio::time::timeout(STOP_TIME_MAX, tracker.wait()).await.is_err() {
        tracing::info!("admin requests were cut off by the stop");
    }
    Ok(())
}

async fn serve_connection(
    stream: TcpStream,
    service: TowerToHyperService<axum::Router>,
    stop: CancellationToken,
) {
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME_MAX)
        .max_headers(HEADERS_MAX)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let result = tokio::select! {
        result = connection.as_mut() => result,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = result {
        tracing::trace!(%error, "an admin connection ended");
    }
}
