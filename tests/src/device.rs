//! A device by hand: `device-sim pull` and `push` as processes, with a store of the device's own.

use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::process::{Finished, Process};

/// More than a device needs, however busy the machine is.
const END: Duration = Duration::from_secs(90);

/// A device with a store.
#[derive(Debug, Clone)]
pub struct Device {
    program: PathBuf,
    gateway: SocketAddr,
    name: String,
    folder: PathBuf,
}

impl Device {
    /// A device whose store and logs are in the folder.
    pub fn new(program: &str, gateway: SocketAddr, name: &str, folder: &Path) -> Self {
        Self { program: program.into(), gateway, name: name.to_owned(), folder: folder.to_owned() }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn command(&self, verb: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(verb).arg("--gateway").arg(self.gateway.to_string()).args(["--device", &self.name]);
        command.arg("--state").arg(self.folder.join(format!("state-{}", self.name)));
        command
    }

    /// Starts pulling.
    pub fn start_pull(&self, args: &[&str]) -> Process {
        let mut command = self.command("pull");
        command.args(args);
        Process::start(&format!("pull-{}", self.name), command, &self.folder)
    }

    /// Pulls so many messages, each as `device-sim pull` prints it; fails if there are fewer.
    #[track_caller]
    pub fn pull(&self, count: usize) -> Vec<Value> {
        let messages = self.pull_up_to(count, Duration::from_secs(30));
        assert_eq!(messages.len(), count, "messages of {}: {messages:#?}", self.name);
        messages
    }

    /// Pulls what comes until it is so many, or the wait is over.
    #[track_caller]
    pub fn pull_up_to(&self, count: usize, wait: Duration) -> Vec<Value> {
        let (count, wait) = (count.to_string(), wait.as_secs().to_string());
        let ended = self.start_pull(&["--max", &count, "--wait", &wait]).wait(END).succeeded();
        parse_lines(&ended)
    }

    /// Starts pushing, a message for each line.
    pub fn start_push(&self, to: &str, lines: &[String], args: &[&str]) -> Process {
        let input = self.folder.join(format!("input-{}", self.name));
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(&input, text).unwrap();
        let mut command = self.command("push");
        command.args(["--to", to]).args(args).stdin(Stdio::from(File::open(&input).unwrap()));
        Process::start(&format!("push-{}", self.name), command, &self.folder)
    }

    /// Pushes a message for each line, and waits until all are confirmed.
    #[track_caller]
    pub fn push(&self, to: &str, lines: &[String]) -> Finished {
        self.start_push(to, lines, &[]).wait(END).succeeded()
    }
}

#[track_caller]
fn parse_lines(ended: &Finished) -> Vec<Value> {
    let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    ended.stdout.lines().map(parse).collect()
}
