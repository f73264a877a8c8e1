//! The service as a process, for the tests of this package: started, awaited until it is ready, killed in the end.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// Until `ready`; a debug build on a busy machine needs seconds.
const READY_TIME_MAX: Duration = Duration::from_secs(60);

/// A running service; it is killed when the test ends, whatever happens.
pub(crate) struct Running(Child);

impl Running {
    /// Starts `run` with any ports and further arguments, as the command is. Gives the words of its `ready` line, by their
    /// names.
    #[expect(clippy::unwrap_used, reason = "without the service there is nothing to test")]
    pub(crate) fn start(command: &mut Command, more: &[&OsStr]) -> (Self, impl Fn(&str) -> String + use<>) {
        let any = "127.0.0.1:0";
        let mut child = command
            .args(["run", "--listen-mq", any, "--listen-devices", any, "--listen-admin", any])
            .args(more)
            .env_remove("MQE_DATA")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        // From here on it is killed if it does not get ready.
        let running = Self(child);
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || {
            let mut line = String::new();
            let read = out.read_line(&mut line).map(|_| line);
            // A test that has given up does not listen any more.
            let _ = sender.send(read);
        });
        let line = receiver.recv_timeout(READY_TIME_MAX).unwrap().unwrap();
        assert!(line.starts_with("ready queue-manager=QM1 gateway=GATE1 mq="), "{line:?}");
        let word = move |name: &str| {
            let mut words = line.split_whitespace().filter_map(|word| word.split_once('='));
            words.find(|(found, _)| *found == name).unwrap().1.to_owned()
        };
        (running, word)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
