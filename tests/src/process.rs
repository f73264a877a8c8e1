//! A program that a test runs: its lines as they come, its log in a file, killed when it is dropped.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use tempfile::TempDir;

use crate::wait;

/// Lines of a log that a failure shows.
const LINES_SHOWN: usize = 80;

/// A running program.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    lines: Receiver<String>,
    log: PathBuf,
    stdout: String,
    ended: Option<ExitStatus>,
}

/// A folder for a test, removed at its end.
pub fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// A program that has ended.
#[derive(Debug)]
pub struct Finished {
    /// How.
    pub status: ExitStatus,
    /// What it printed.
    pub stdout: String,
    /// What it said on standard error.
    pub stderr: String,
}

impl Finished {
    /// Fails with all it said unless it ended well.
    #[track_caller]
    pub fn succeeded(self) -> Self {
        assert!(self.status.success(), "{}\n{}\n{}", self.status, self.stdout, self.stderr);
        self
    }
}

impl Process {
    /// Starts it; standard error is added to `NAME.log` in the folder.
    #[track_caller]
    pub fn start(name: &str, mut command: Command, folder: &Path) -> Self {
        let log = folder.join(format!("{name}.log"));
        let stderr = OpenOptions::new().create(true).append(true).open(&log).unwrap();
        // What the environment of the tests says is not for the programs under test.
        for variable in ["MQE_DATA", "MQSERVER", "MQE_ADMIN_TOKEN"] {
            command.env_remove(variable);
        }
        command.stdout(Stdio::piped()).stderr(Stdio::from(stderr));
        let mut child = command.spawn().unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        let output = child.stdout.take().expect("it is piped");
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self { name: name.to_owned(), child, lines, log, stdout: String::new(), ended: None }
    }

    /// Runs it to its end.
    #[track_caller]
    pub fn run(name: &str, command: Command, folder: &Path, within: Duration) -> Finished {
        Self::start(name, command, folder).wait(within)
    }

    /// The number of the process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The next line that it prints; `None` when it prints no more.
    #[track_caller]
    pub fn line(&mut self, within: Duration) -> Option<String> {
        match self.lines.recv_timeout(within) {
            Ok(line) => {
                self.stdout.push_str(&line);
                self.stdout.push('\n');
                Some(line)
            }
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => {
                panic!("{} printed nothing for {within:?}; its log ends with\n{}", self.name, self.log_end())
            }
        }
    }

    /// A line that is there already.
    pub fn line_now(&mut self) -> Option<String> {
        let line = self.lines.try_recv().ok()?;
        self.stdout.push_str(&line);
        self.stdout.push('\n');
        Some(line)
    }

    /// Whether it still runs.
    pub fn is_running(&mut self) -> bool {
        if self.ended.is_none() {
            self.ended = self.child.try_wait().unwrap();
        }
        self.ended.is_none()
    }

    /// Waits for its end and takes all it printed.
    #[track_caller]
    pub fn wait(mut self, within: Duration) -> Finished {
        let deadline = Instant::now() + within;
        while self.line(deadline.saturating_duration_since(Instant::now())).is_some() {}
        let what = format!("the end of {}", self.name);
        let status = wait::until(&what, within, || self.child.try_wait().unwrap());
        self.ended = Some(status);
        Finished { status, stdout: std::mem::take(&mut self.stdout), stderr: self.log() }
    }

    /// Asks it to end (SIGTERM).
    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Tells it to read again what it can read again (SIGHUP).
    pub fn hang_up(&self) {
        self.signal(Signal::HUP);
    }

    /// Holds it where it is (SIGSTOP) while something is done.
    pub fn held<T>(&self, work: impl FnOnce() -> T) -> T {
        self.signal(Signal::STOP);
        let stat = format!("/proc/{}/stat", self.child.id());
        wait::until("a process that is held", Duration::from_secs(10), || {
            let stat = std::fs::read_to_string(&stat).unwrap();
            stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T')).then_some(())
        });
        let outcome = work();
        self.signal(Signal::CONT);
        outcome
    }

    fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).expect("a process has a number");
        rustix::process::kill_process(id, signal).unwrap();
    }

    /// Ends it at once (SIGKILL).
    pub fn kill(&mut self) {
        if self.is_running() {
            self.child.kill().unwrap();
            self.ended = Some(self.child.wait().unwrap());
        }
    }

    /// All it said on standard error.
    pub fn log(&self) -> String {
        std::fs::read(&self.log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }

    /// Its log from a position on, for a log that is asked for again and again.
    pub fn log_file(&self) -> File {
        File::open(&self.log).unwrap()
    }

    fn log_end(&self) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(LINES_SHOWN)..].join("\n")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            eprintln!("the log of {} ends with\n{}\n", self.name, self.log_end());
        }
    }
}
