//! The service as a process, and the tools against it: what is put comes out again, also after a kill.

mod running;

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use running::Running;

const PROGRAM: &str = env!("CARGO_BIN_EXE_mqe-gateway");

/// The service, and where it listens.
struct Service {
    _running: Running,
    mq: String,
}

impl Service {
    #[expect(clippy::unwrap_used, reason = "without the service there is nothing to test")]
    fn start(folder: &Path) -> Self {
        let (running, word) = Running::start(Command::new(PROGRAM).current_dir(folder), &[]);
        let mq = word("mq");
        let (host, port) = mq.rsplit_once(':').unwrap();
        Self { _running: running, mq: format!("DEV.APP.SVRCONN/TCP/{host}({port})") }
    }

    /// A tool with that input.
    #[expect(clippy::unwrap_used, reason = "without the tool there is nothing to test")]
    fn tool(&self, folder: &Path, args: &[&str], input: &str) -> Output {
        let mut child = Command::new(PROGRAM)
            .args(args)
            .current_dir(folder)
            .env_remove("MQE_DATA")
            .env_remove("MQE_ADMIN_TOKEN")
            .env("MQSERVER", &self.mq)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A tool that ends at once does not read.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        child.wait_with_output().unwrap()
    }

    /// What a tool that must succeed prints.
    fn print(&self, folder: &Path, args: &[&str], input: &str) -> String {
        let output = self.tool(folder, args, input);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), errors.as_ref()), (Some(0), ""), "{args:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

#[test]
fn what_is_put_comes_out_again() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let service = Service::start(folder);
    let put = service.print(folder, &["amqsput", "DEV.QUEUE.1"], "one\n\nthree\r\nfour");
    assert_eq!(put, "put 4 messages to DEV.QUEUE.1\n");
    let first = service.print(folder, &["amqsget", "DEV.QUEUE.1", "--wait", "0", "--count", "1"], "");
    assert_eq!(first, "one\n");
    let rest = service.print(folder, &["amqsget", "DEV.QUEUE.1", "--wait", "0"], "");
    assert_eq!(rest, "\nthree\nfour\n");
    assert_eq!(service.print(folder, &["amqsget", "DEV.QUEUE.1", "--wait", "0"], ""), "");

    std::fs::write(folder.join("data"), b"\xff\x00").unwrap();
    let args =
        ["amqsput", "DEV.QUEUE.2", "--file", "data", "--count", "2", "--reply-to", "DEV.QUEUE.3", "--json"];
    let ids: Vec<serde_json::Value> =
        service.print(folder, &args, "").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let got: Vec<serde_json::Value> = service
        .print(folder, &["amqsget", "DEV.QUEUE.2", "--wait", "0", "--json"], "")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!((ids.len(), got.len()), (2, 2));
    for (id, message) in ids.iter().zip(&got) {
        assert_eq!(id["message_id"], message["message_id"]);
        assert_eq!(message["payload_base64"], "/wA=");
        assert_eq!(message["reply_to"], "DEV.QUEUE.3");
    }
}

#[test]
fn persistent_messages_survive_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let service = Service::start(folder);
    let lines: String = (0..50).map(|n| format!("message {n}\n")).collect();
    service.print(folder, &["amqsput", "DEV.QUEUE.1", "--persistent"], &lines);
    drop(service);
    let service = Service::start(folder);
    assert_eq!(service.print(folder, &["amqsget", "DEV.QUEUE.1", "--wait", "0"], ""), lines);
    drop(service);
    let service = Service::start(folder);
    assert_eq!(service.print(folder, &["amqsget", "DEV.QUEUE.1", "--wait", "0"], ""), "");
}

#[test]
fn a_message_for_a_device_is_seen_in_status() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let service = Service::start(folder);
    let put = service.print(folder, &["amqsput", "ORDERS%DEV00042", "GATE1", "--persistent"], "hello\n");
    assert_eq!(put, "put 1 message to ORDERS%DEV00042 at GATE1\n");
    // The gateway moves it by itself, and soon: asking is the condition, its number of times the deadline.
    let seen = (0..200).any(|_| {
        let output = service.tool(folder, &["devices", "show", "DEV00042", "--json"], "");
        let report: Option<serde_json::Value> = serde_json::from_slice(&output.stdout).ok();
        report.is_some_and(|report| report["waiting"] == 1)
    });
    assert!(seen, "{}", service.print(folder, &["status"], ""));
    assert!(service.print(folder, &["status"], "").contains("nothing is wrong"));
}

#[test]
fn refusals_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let service = Service::start(folder);
    let check = |args: &[&str], part: &str| {
        let output = service.tool(folder, args, "x\n");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {errors}");
        assert!(
            errors.contains(part) && errors.lines().count() == 1,
            "{args:?}: {part:?} is not in: {errors}"
        );
    };
    check(&["amqsput", "NO.SUCH.QUEUE"], "2085 (MQRC_UNKNOWN_OBJECT_NAME)");
    check(&["amqsget", "NO.SUCH.QUEUE"], "2085 (MQRC_UNKNOWN_OBJECT_NAME)");
    check(&["amqsput", "Q", "NO.SUCH.QMGR"], "2087 (MQRC_UNKNOWN_REMOTE_Q_MGR)");
    let port = service.mq.rsplit_once('(').map(|(_, port)| port).unwrap_or_default();
    check(&["amqsput", "Q", "--connect", &format!("NO.SUCH.CHANNEL/TCP/127.0.0.1({port}")], "2540");
    check(&["amqsput", "Q", "--connect", "A/TCP/127.0.0.1(1)"], "cannot reach 127.0.0.1(1)");
    check(&["run", "--listen-mq", "127.0.0.1:0"], "is in use");
}
