//! The gateway as a process with a data directory of its own: started, killed, started again at the same addresses.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use mq_client::ConnectOptions;
use serde_json::Value;
use tempfile::TempDir;

use crate::process::{Finished, Process};
use crate::wait;

/// A start with its recovery; generous, because a debug build on a busy machine is slow.
const START: Duration = Duration::from_secs(60);
/// An orderly stop: the grace period of ten seconds and some more.
pub const STOP: Duration = Duration::from_secs(30);

/// A service under test.
#[derive(Debug)]
pub struct Service {
    /// Dropped before the folder: a failure shows the log, which is there.
    process: Option<Process>,
    program: PathBuf,
    folder: TempDir,
    data: PathBuf,
    args: Vec<String>,
    mq: SocketAddr,
    devices: SocketAddr,
    admin: SocketAddr,
    /// Of queue manager and gateway.
    names: (&'static str, &'static str),
    starts: u32,
}

impl Service {
    /// Starts it in a new folder with defaults.
    #[track_caller]
    pub fn start(program: &str) -> Self {
        let mut service = Self::prepare(program);
        service.restart();
        service
    }

    /// A service that is not started yet: arguments can be added, files put into its folder.
    pub fn prepare(program: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self {
            program: program.into(),
            data: folder.path().join("data"),
            folder,
            args: Vec::new(),
            mq: free_address(),
            devices: free_address(),
            admin: free_address(),
            process: None,
            names: ("QM1", "GATE1"),
            starts: 0,
        }
    }

    /// Its configuration gives queue manager and gateway these names.
    #[must_use]
    pub fn named(mut self, queue_manager: &'static str, gateway: &'static str) -> Self {
        self.names = (queue_manager, gateway);
        self
    }

    /// Adds arguments for every later start.
    #[must_use]
    pub fn with(mut self, args: &[&str]) -> Self {
        self.args.extend(args.iter().map(|arg| (*arg).to_owned()));
        self
    }

    /// Its data directory is there, and not in its folder.
    #[must_use]
    pub fn with_data(mut self, data: impl Into<PathBuf>) -> Self {
        self.data = data.into();
        self
    }

    /// Adds a configuration for every later start.
    #[must_use]
    pub fn with_config(self, text: &str) -> Self {
        let file = self.folder().join("under-test.toml");
        std::fs::write(&file, text).unwrap();
        self.with(&["--config", &file.display().to_string()])
    }

    /// Starts it (again), with the same data at the same addresses, and waits for `ready`.
    #[track_caller]
    pub fn restart(&mut self) {
        assert!(self.process.is_none(), "it runs");
        let mut process = self.spawn();
        self.starts += 1;
        let line = process.line(START);
        let Some(line) = line else {
            panic!("the service ended instead of being ready:\n{}", process.wait(STOP).stderr);
        };
        let (queue_manager, gateway) = self.names;
        let expected = format!(
            "ready queue-manager={queue_manager} gateway={gateway} mq={} devices={} admin={} data={}",
            self.mq,
            self.devices,
            self.admin,
            self.data().display()
        );
        assert_eq!(line, expected);
        self.process = Some(process);
    }

    /// Starts it and does not wait: for starts that should fail.
    pub fn spawn(&self) -> Process {
        Process::start("gateway", self.command(), self.folder())
    }

    /// The command line of a start.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.current_dir(self.folder()).arg("run").arg("--data").arg(self.data());
        for (option, address) in
            [("--listen-mq", self.mq), ("--listen-devices", self.devices), ("--listen-admin", self.admin)]
        {
            command.arg(option).arg(address.to_string());
        }
        command.args(&self.args);
        command
    }

    /// Kills it (SIGKILL).
    #[track_caller]
    pub fn kill(&mut self) {
        let mut process = self.process.take().expect("it runs");
        assert!(process.is_running(), "the service had ended by itself");
        process.kill();
    }

    /// Asks it to end (SIGTERM), and waits until it has.
    #[track_caller]
    pub fn stop(&mut self) -> Finished {
        let process = self.process.take().expect("it runs");
        process.terminate();
        process.wait(STOP)
    }

    /// How it ended by itself.
    #[track_caller]
    pub fn ended(&mut self) -> Finished {
        self.process.take().expect("it was started").wait(STOP)
    }

    /// The running process.
    pub fn process(&mut self) -> &mut Process {
        self.process.as_mut().expect("it runs")
    }

    /// Its folder: the data directory, the log, what a test puts there.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Its data directory.
    pub fn data(&self) -> PathBuf {
        self.data.clone()
    }

    /// Where MQ clients connect.
    pub fn mq(&self) -> SocketAddr {
        self.mq
    }

    /// Where devices connect.
    pub fn devices(&self) -> SocketAddr {
        self.devices
    }

    /// Where administration listens.
    pub fn admin(&self) -> SocketAddr {
        self.admin
    }

    /// The MQ listener in the form of MQSERVER.
    pub fn server(&self, channel: &str) -> String {
        format!("{channel}/TCP/127.0.0.1({})", self.mq.port())
    }

    /// How an application of the tests connects.
    pub fn connect_options(&self, channel: &str) -> ConnectOptions {
        ConnectOptions::parse(&self.server(channel)).unwrap()
    }

    /// How often it was started.
    pub fn starts(&self) -> u32 {
        self.starts
    }

    /// All that all starts have logged.
    pub fn log(&self) -> String {
        let log = std::fs::read(self.folder().join("gateway.log")).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }

    /// Status and body of a GET with the token; fails if nobody answers.
    #[track_caller]
    pub fn get(&self, path: &str) -> (u16, String) {
        self.try_get(path).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Status and body of a GET with the token.
    pub fn try_get(&self, path: &str) -> std::io::Result<(u16, String)> {
        let token = std::fs::read_to_string(self.data().join("admin.token"))?;
        let mut stream = TcpStream::connect(self.admin)?;
        stream.set_read_timeout(Some(START))?;
        write!(stream, "GET {path} HTTP/1.0\r\nAuthorization: Bearer {}\r\n\r\n", token.trim())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
        let body = answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned());
        status.zip(body).ok_or_else(|| std::io::Error::other(format!("no HTTP: {answer:?}")))
    }

    /// `/status`.
    #[track_caller]
    pub fn status(&self) -> Value {
        let (status, body) = self.get("/status");
        assert_eq!(status, 200, "{body}");
        serde_json::from_str(&body).unwrap()
    }

    /// What status says of a source: `local`, `remote` or `outbox`.
    #[track_caller]
    pub fn source(&self, kind: &str) -> Value {
        let status = self.status();
        let sources = status["sources"].as_array().unwrap();
        sources.iter().find(|source| source["kind"] == kind).unwrap().clone()
    }

    /// Waits until a source is in this state.
    #[track_caller]
    pub fn wait_until_source(&self, kind: &str, state: &str) {
        self.wait_until_source_says(kind, state, "");
    }

    /// The same, for a reason with this in it.
    #[track_caller]
    pub fn wait_until_source_says(&self, kind: &str, state: &str, reason: &str) {
        wait::until(&format!("{kind} {state} {reason}"), START, || {
            let source = self.source(kind);
            let is_reason = source["reason"].as_str().unwrap_or_default().contains(reason);
            (source["state"] == state && is_reason).then_some(())
        });
    }

    /// A device of `/devices/NAME`, if it is known.
    #[track_caller]
    pub fn device(&self, name: &str) -> Option<Value> {
        let (status, body) = self.get(&format!("/devices/{name}"));
        (status == 200).then(|| serde_json::from_str(&body).unwrap())
    }

    /// The messages on a queue. Queues without any are not in the report.
    #[track_caller]
    pub fn depth(&self, queue: &str) -> u64 {
        let status = self.status();
        let queues = status["queues"].as_array().unwrap();
        let found = queues.iter().find(|candidate| candidate["name"] == queue);
        found.and_then(|found| found["depth"].as_u64()).unwrap_or(0)
    }

    /// Waits until the transmission queue is empty: all was handed to devices, or was dead-lettered.
    #[track_caller]
    pub fn wait_until_handed_over(&self) {
        wait::until("an empty transmission queue", START, || (self.depth("GATE1") == 0).then_some(()));
    }

    /// Resident memory in KiB.
    pub fn resident_kib(&mut self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process().id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("VmRSS is there");
        line.trim().trim_end_matches("kB").trim().parse().unwrap()
    }
}

impl Drop for Service {
    /// With `MQE_KEEP` a failed test leaves its folder, for those who look why.
    fn drop(&mut self) {
        if std::thread::panicking() && std::env::var_os("MQE_KEEP").is_some() {
            self.folder.disable_cleanup(true);
            eprintln!("kept: {}", self.folder().display());
        }
    }
}

/// An address on which nobody listens, below the ports that the system gives to outgoing connections: a client that
/// tries again and again while the service is down could otherwise be given the service's own port, and meet itself.
pub fn free_address() -> SocketAddr {
    const FIRST: u16 = 20_000;
    const COUNT: u16 = 12_000;
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Test programs that run at the same time begin at different places.
    let begin = u16::try_from(std::process::id().wrapping_mul(97) % u32::from(COUNT)).unwrap_or(0);
    let candidates = std::iter::from_fn(|| Some(NEXT.fetch_add(1, Ordering::Relaxed)));
    let mut free = candidates.take(usize::from(COUNT)).filter_map(|step| {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, FIRST + (begin + step) % COUNT));
        TcpListener::bind(address).ok().map(|_| address)
    });
    free.next().expect("a port is free")
}
