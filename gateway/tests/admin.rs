//! `mqe-gateway status` and `devices` as processes, against the admin listener with a service that is none.

use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

use async_trait::async_trait;
use mqe_gateway::admin::{AdminBackend, BackupError, ensure_token, serve, write_endpoints};
use mqe_gateway::report::{
    BackupReport, BackupRequest, DeviceReport, ExitReport, Listeners, Operation, OperationReport,
    ParkedReport, RouteReport, SourceReport, StatusReport, StoreReport,
};
use tokio_util::sync::CancellationToken;

struct Fake;

#[async_trait]
impl AdminBackend for Fake {
    fn ready(&self) -> bool {
        true
    }
    async fn status(&self) -> StatusReport {
        let problems = vec!["the dead-letter queue is full: get or remove messages".to_owned()];
        StatusReport {
            queue_manager: "QM1".to_owned(),
            gateway: "GATE1".to_owned(),
            problems,
            ..Default::default()
        }
    }
    async fn store(&self) -> StoreReport {
        StoreReport::default()
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
        let device =
            |name: &str, waiting| DeviceReport { name: name.to_owned(), waiting, ..Default::default() };
        vec![device("DEV1", 3), device("DEV%/2", 1000)]
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

/// Runs the program with that data directory, without what the environment of the tests says.
#[expect(clippy::unwrap_used, reason = "without the program there is nothing to test")]
async fn program(data: &Path, args: &[&str], token: Option<&str>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mqe-gateway"));
    command.args(args).current_dir(data).env("MQE_DATA", data).env_remove("MQE_ADMIN_TOKEN");
    command.envs(token.map(|token| ("MQE_ADMIN_TOKEN", token)));
    tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_running_service_says() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let token = ensure_token(data).unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let admin = listener.local_addr().unwrap().to_string();
    write_endpoints(data, &Listeners { admin: admin.clone(), ..Default::default() }).unwrap();
    let stop = CancellationToken::new();
    let server = tokio::spawn(serve(listener, token.clone(), Arc::new(Fake), stop.clone()));

    for (args, given, status, out, err) in [
        (&["status"][..], None, 0, "queue manager  QM1\n", ""),
        (&["status"], None, 0, "WRONG: the dead-letter queue is full: get or remove messages\n", ""),
        (&["status", "--json"], None, 0, "\"gateway\":\"GATE1\"", ""),
        (&["status"], Some(token.as_str()), 0, "GATE1", ""),
        (&["status"], Some("wrong"), 1, "", "the service refuses: the token is wrong"),
        (&["devices", "list"], None, 0, "DEV1    no               3", ""),
        (&["devices", "list", "--json"], None, 0, "[{\"name\":\"DEV1\"", ""),
        (&["devices", "show", "DEV%/2"], None, 0, "waiting      1000\n", ""),
        (&["devices", "show", "DEV3"], None, 1, "", "there is no device DEV3"),
        (&["status", "--admin", "127.0.0.1:1"], None, 1, "", "no answer from the service at 127.0.0.1:1"),
    ] {
        let output = program(data, args, given).await;
        let (stdout, stderr) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(status), "{args:?}: {stdout}{stderr}");
        assert!(stdout.contains(out), "{args:?}: {out:?} is not in: {stdout}");
        assert!(stderr.contains(err) && stderr.is_empty() == err.is_empty(), "{args:?}: {stderr}");
    }
    stop.cancel();
    server.await.unwrap().unwrap();
}
