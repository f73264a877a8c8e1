//! What can be asked, and by whom.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{DefaultBodyLimit, Path, Query, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::{get, post};

use super::token::same_token;
use super::{AdminBackend, BackupError, metrics};
use crate::report::{BackupRequest, Operation};

/// A path and little more.
const REQUEST_BYTES_MAX: usize = 16 * 1024;

/// What each request needs.
pub(super) struct Shared {
    pub(super) token: String,
    pub(super) backend: Arc<dyn AdminBackend>,
    pub(super) request_time_max: Duration,
}

/// Health and metrics for everybody, the rest for those who have the token.
pub(super) fn router(shared: Arc<Shared>) -> Router {
    let with_token = Router::new()
        .route("/status", get(status))
        .route("/store", get(store))
        .route("/devices", get(devices))
        .route("/devices/{name}", get(device))
        .route("/sources", get(sources))
        .route("/park", get(parked))
        .route("/exits", get(exits))
        .route("/route", get(route))
        .route("/operate", post(operate))
        .layer(DefaultBodyLimit::max(REQUEST_BYTES_MAX))
        .layer(from_fn_with_state(Arc::clone(&shared), check_token));
    // As long as it takes: it is the copying of the whole store.
    let backup = Router::new()
        .route("/store/backup", post(backup))
        .layer(DefaultBodyLimit::max(REQUEST_BYTES_MAX))
        .layer(from_fn_with_state(Arc::clone(&shared), check_token))
        .with_state(Arc::clone(&shared));
    Router::new()
        .route("/healthz", get(async || "alive\n"))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics_text))
        .merge(with_token)
        .fallback(unknown)
        .layer(from_fn_with_state(Arc::clone(&shared), limit_time))
        .with_state(shared)
        .merge(backup)
}

async fn ready(State(shared): State<Arc<Shared>>) -> Response {
    if shared.backend.ready() {
        (StatusCode::OK, "ready\n").into_response()
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "not ready: recovery is not done, or a listener is stopped\n")
            .into_response()
    }
}

async fn metrics_text(State(shared): State<Arc<Shared>>) -> Response {
    let report = shared.backend.status().await;
    ([(header::CONTENT_TYPE, metrics::CONTENT_TYPE)], metrics::text(&report)).into_response()
}

async fn status(State(shared): State<Arc<Shared>>) -> Response {
    Json(shared.backend.status().await).into_response()
}

async fn store(State(shared): State<Arc<Shared>>) -> Response {
    Json(shared.backend.store().await).into_response()
}

async fn backup(
    State(shared): State<Arc<Shared>>,
    request: Result<Json<BackupRequest>, JsonRejection>,
) -> Response {
    let request = match request {
        Ok(Json(request)) => request,
        Err(rejection) => {
            return (rejection.status(), format!("{}\n", rejection.body_text())).into_response();
        }
    };
    let error = match shared.backend.backup(request).await {
        Ok(report) => return Json(report).into_response(),
        Err(error) => error,
    };
    let status = match &error {
        BackupError::Relative { .. } => StatusCode::BAD_REQUEST,
        BackupError::Busy => StatusCode::CONFLICT,
        BackupError::Stopped => StatusCode::SERVICE_UNAVAILABLE,
        BackupError::Store(_) => StatusCode::INTERNAL_SERVER_ERROR,
    };
    (status, format!("no backup was made: {error}\n")).into_response()
}

async fn devices(State(shared): State<Arc<Shared>>) -> Response {
    Json(shared.backend.devices().await).into_response()
}

async fn device(State(shared): State<Arc<Shared>>, Path(name): Path<String>) -> Response {
    match shared.backend.device(&name).await {
        Some(report) => Json(report).into_response(),
        None => (StatusCode::NOT_FOUND, format!("there is no device {name}\n")).into_response(),
    }
}

async fn sources(State(shared): State<Arc<Shared>>) -> Response {
    Json(shared.backend.sources().await).into_response()
}

async fn parked(State(shared): State<Arc<Shared>>) -> Response {
    Json(shared.backend.parked().await).into_response()
}

async fn exits(State(shared): State<Arc<Shared>>) -> Response {
    Json(shared.backend.exits()).into_response()
}

/// `queue=...&q_mgr=...`.
#[derive(Debug, serde::Deserialize)]
struct RouteQuery {
    queue: String,
    #[serde(default)]
    q_mgr: String,
}

async fn route(
    State(shared): State<Arc<Shared>>,
    query: Result<Query<RouteQuery>, QueryRejection>,
) -> Response {
    match query {
        Ok(Query(RouteQuery { queue, q_mgr })) => answer(shared.backend.route(&queue, &q_mgr).await),
        Err(rejection) => (rejection.status(), format!("{}\n", rejection.body_text())).into_response(),
    }
}

async fn operate(
    State(shared): State<Arc<Shared>>,
    operation: Result<Json<Operation>, JsonRejection>,
) -> Response {
    match operation {
        Ok(Json(operation)) => answer(shared.backend.operate(operation).await),
        Err(rejection) => (rejection.status(), format!("{}\n", rejection.body_text())).into_response(),
    }
}

fn answer<T: serde::Serialize>(outcome: Result<T, String>) -> Response {
    match outcome {
        Ok(report) => Json(report).into_response(),
        Err(why) => (StatusCode::CONFLICT, format!("{why}\n")).into_response(),
    }
}

async fn unknown(request: Request) -> Response {
    (StatusCode::NOT_FOUND, format!("there is nothing at {}\n", request.uri().path())).into_response()
}

async fn check_token(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let given = request.headers().get(header::AUTHORIZATION).map(HeaderValue::as_bytes);
    let guess = given.and_then(|value| {
        let (scheme, token) = value.split_at_checked(7)?;
        scheme.eq_ignore_ascii_case(b"bearer ").then_some(token)
    });
    if guess.is_some_and(|guess| same_token(guess, shared.token.as_bytes())) {
        return next.run(request).await;
    }
    let sentence = if given.is_some() {
        "the token is wrong: it is in admin.token in the data directory of the service\n"
    } else {
        "a token is needed: send `Authorization: Bearer TOKEN`, it is in admin.token in the data directory of the service\n"
    };
    (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Bearer")], sentence).into_response()
}

async fn limit_time(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    match tokio::time::timeout(shared.request_time_max, next.run(request)).await {
        Ok(response) => response,
        Err(_) => (StatusCode::SERVICE_UNAVAILABLE, "no answer in time: the service is busy, ask again\n")
            .into_response(),
    }
}
