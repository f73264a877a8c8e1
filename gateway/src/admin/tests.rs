//! The listener over loopback, with a service that is none.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use super::*;

const TOKEN: &str = "0123456789abcdef";

#[derive(Default)]
struct Fake {
    ready: AtomicBool,
    hang: bool,
}

#[async_trait]
impl AdminBackend for Fake {
    fn ready(&self) -> bool {
        self.ready.load(Ordering::SeqCst)
    }
    async fn status(&self) -> StatusReport {
        if self.hang {
            std::future::pending::<()>().await;
        }
        let mut report =
            StatusReport { queue_manager: "QM1".to_owned(), mq_connections_total: 7, ..Default::default() };
        report.area.ends.insert("delivered".to_owned(), 41);
        report.sources = vec![SourceReport {
            name: "h\"q".to_owned(),
            kind: "remote".to_owned(),
            moved: 3,
            ..Default::default()
        }];
        report.exits = self.exits();
        report
    }
    async fn store(&self) -> StoreReport {
        StoreReport { keys: 12, ..StoreReport::default() }
    }
    async fn backup(&self, request: BackupRequest) -> Result<BackupReport, BackupError> {
        match request {
            BackupRequest { to, .. } if !to.is_absolute() => Err(BackupError::Relative { to }),
            BackupRequest { to, incremental: false } => {
                Ok(BackupReport { to: to.display().to_string(), files_copied: 3, ..Default::default() })
            }
            BackupRequest { incremental: true, .. } => Err(BackupError::Busy),
        }
    }
    async fn devices(&self) -> Vec<DeviceReport> {
        vec![DeviceReport { name: "DEV1".to_owned(), waiting: 3, ..Default::default() }]
    }
    async fn sources(&self) -> Vec<SourceReport> {
        vec![SourceReport { name: "hq".to_owned(), ..SourceReport::default() }]
    }

    async fn parked(&self) -> Vec<ParkedReport> {
        vec![ParkedReport { device: "DEV9".to_owned(), ..ParkedReport::default() }]
    }

    fn exits(&self) -> Vec<ExitReport> {
        vec![ExitReport { name: "rewrite".to_owned(), ..ExitReport::default() }]
    }

    async fn route(&self, queue: &str, q_mgr: &str) -> Result<RouteReport, String> {
        Ok(RouteReport { steps: Vec::new(), ends: format!("{queue} at {q_mgr}") })
    }

    async fn operate(&self, operation: Operation) -> Result<OperationReport, String> {
        match operation {
            Operation::ReloadExits => Ok(OperationReport { done: vec!["reloaded".to_owned()] }),
            _ => Err("say something else".to_owned()),
        }
    }

    async fn device(&self, name: &str) -> Option<DeviceReport> {
        self.devices().await.into_iter().find(|device| device.name == name)
    }
}

struct Running {
    address: SocketAddr,
    backend: Arc<Fake>,
    stop: CancellationToken,
    task: tokio::task::JoinHandle<std::io::Result<()>>,
}

impl Running {
    async fn start(backend: Fake, bounds: AdminBounds) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (backend, stop) = (Arc::new(backend), CancellationToken::new());
        let served: Arc<dyn AdminBackend> = Arc::<Fake>::clone(&backend);
        let task = tokio::spawn(serve_bounded(listener, TOKEN.to_owned(), served, bounds, stop.clone()));
        Self { address, backend, stop, task }
    }

    /// The whole answer to a request with this line and these header lines.
    async fn ask(&self, request: &str, headers: &str) -> String {
        self.ask_with(request, headers, "").await
    }

    /// The same, with a body.
    async fn ask_with(&self, request: &str, headers: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let text = format!("{request} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}\r\n{body}");
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    async fn end(self) {
        self.stop.cancel();
        self.task.await.unwrap().unwrap();
    }
}

fn bounds() -> AdminBounds {
    AdminBounds { connections_max: 4, request_time_max: Duration::from_secs(5) }
}

#[tokio::test]
async fn who_may_ask_what() {
    let running = Running::start(Fake::default(), bounds()).await;
    let token = format!("Authorization: Bearer {TOKEN}\r\n");
    let none = "";
    for (request, headers, status, content) in [
        ("GET /healthz", none, "200", "alive"),
        ("GET /readyz", none, "503", "not ready"),
        ("GET /metrics", none, "200", "mqe_mq_connections_accepted_total 7\n"),
        ("GET /status", none, "401", "a token is needed"),
        ("GET /status", "Authorization: Bearer wrong\r\n", "401", "the token is wrong"),
        ("GET /status", "Authorization: Basic abc\r\n", "401", "the token is wrong"),
        ("GET /status", "Authorization: é\r\n", "401", "the token is wrong"),
        ("GET /store", none, "401", "a token is needed"),
        ("GET /store", &token, "200", "\"keys\":12"),
        ("GET /devices", none, "401", "a token is needed"),
        ("GET /devices/DEV1", none, "401", "a token is needed"),
        ("GET /status", &token, "200", "\"queue_manager\":\"QM1\""),
        ("GET /devices", &token, "200", "[{\"name\":\"DEV1\""),
        ("GET /devices/DEV1", &token, "200", "\"waiting\":3"),
        ("GET /devices/DEV2", &token, "404", "there is no device DEV2"),
        ("GET /nothing", &token, "404", "there is nothing at /nothing"),
        ("POST /status", &token, "405", ""),
    ] {
        let answer = running.ask(request, headers).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{request}: {answer}");
        assert!(answer.contains(content), "{request}: {answer}");
    }
    running.backend.ready.store(true, Ordering::SeqCst);
    assert!(running.ask("GET /readyz", none).await.starts_with("HTTP/1.1 200 "));
    running.end().await;
}

#[tokio::test]
async fn a_backup_is_asked_for_with_a_token_and_a_place() {
    let running = Running::start(Fake::default(), bounds()).await;
    let token = format!("Authorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n");
    for (headers, body, status, content) in [
        ("", "{}", "401", "a token is needed"),
        (&token, r#"{"to":"/backup/of/today"}"#, "200", r#""to":"/backup/of/today""#),
        (&token, r#"{"to":"today"}"#, "400", "today is not an absolute path"),
        (&token, r#"{"to":"/backup","incremental":true}"#, "409", "a backup is being made already"),
        (&token, r#"{"to":"/backup","full":true}"#, "422", "unknown field `full`"),
        (&token, "/backup", "400", "JSON"),
        (&token, &format!(r#"{{"to":"/{}"}}"#, "x".repeat(20_000)), "413", ""),
    ] {
        let headers = format!("{headers}Content-Length: {}\r\n", body.len());
        let answer = running.ask_with("POST /store/backup", &headers, body).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{body:.40}: {answer}");
        assert!(answer.contains(content), "{body:.40}: {answer}");
    }
    running.end().await;
}

#[tokio::test]
async fn metrics_are_open_metrics() {
    let running = Running::start(Fake::default(), bounds()).await;
    let answer = running.ask("GET /metrics", "").await;
    assert!(
        answer.contains("content-type: application/openmetrics-text; version=1.0.0; charset=utf-8"),
        "{answer}"
    );
    assert!(answer.contains("mqe_device_messages_counted_total{kind=\"delivered\"} 41\n"), "{answer}");
    let labels = "{source=\"h\\\"q\",kind=\"remote\"}";
    assert!(answer.contains(&format!("mqe_source_messages_moved_total{labels} 3\n")), "{answer}");
    assert!(answer.contains(&format!("mqe_source_running{labels} 0\n")), "{answer}");
    assert!(answer.contains("mqe_exit_calls_total{exit=\"rewrite\"} 0\n"), "{answer}");
    assert!(answer.ends_with("# EOF\n"), "{answer}");
    running.end().await;
}

#[tokio::test]
async fn a_request_that_takes_too_long_is_answered() {
    let backend = Fake { hang: true, ..Fake::default() };
    let running =
        Running::start(backend, AdminBounds { request_time_max: Duration::from_millis(20), ..bounds() })
            .await;
    let answer = running.ask("GET /metrics", "").await;
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    running.end().await;
}

#[tokio::test]
async fn a_head_that_is_too_long_is_refused() {
    let running = Running::start(Fake::default(), bounds()).await;
    let answer = running.ask("GET /healthz", &format!("X: {}\r\n", "x".repeat(15 << 10))).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    let many: String = (0..40).map(|n| format!("X{n}: x\r\n")).collect();
    let answer = running.ask("GET /healthz", &many).await;
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    running.end().await;
}

#[tokio::test]
async fn connections_beyond_the_bound_wait() {
    let running =
        Arc::new(Running::start(Fake::default(), AdminBounds { connections_max: 1, ..bounds() }).await);
    let mut holder = TcpStream::connect(running.address).await.unwrap();
    ask_alive(&mut holder).await;
    let second = Arc::clone(&running);
    let waiter = tokio::spawn(async move { second.ask("GET /healthz", "").await });
    // Each answer is a chance for the second connection to be served beside the first.
    for _ in 0..50 {
        ask_alive(&mut holder).await;
        assert!(!waiter.is_finished(), "served beside the first");
    }
    drop(holder);
    assert!(waiter.await.unwrap().starts_with("HTTP/1.1 200 "));
    Arc::into_inner(running).unwrap().end().await;
}

/// A request on a connection that stays.
async fn ask_alive(stream: &mut TcpStream) {
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"alive\n") {
        assert_ne!(stream.read_buf(&mut answer).await.unwrap(), 0, "the connection ended");
    }
}

#[tokio::test]
async fn a_stop_does_not_wait_for_idle_connections() {
    let running = Running::start(Fake::default(), bounds()).await;
    let mut idle = TcpStream::connect(running.address).await.unwrap();
    ask_alive(&mut idle).await;
    running.end().await;
}
