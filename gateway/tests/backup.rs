//! A backup of a running service, brought up to date, restored, and started.

mod running;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use running::Running;

const PROGRAM: &str = env!("CARGO_BIN_EXE_mqe-gateway");

/// The service, and where it listens.
struct Service {
    _running: Running,
    data: PathBuf,
    mq: String,
    admin: String,
}

impl Service {
    #[expect(clippy::unwrap_used, reason = "without the service there is nothing to test")]
    fn start(data: &Path) -> Self {
        let (running, word) =
            Running::start(&mut Command::new(PROGRAM), &["--data".as_ref(), data.as_os_str()]);
        let mq = word("mq");
        let (host, port) = mq.rsplit_once(':').unwrap();
        let mq = format!("DEV.APP.SVRCONN/TCP/{host}({port})");
        Self { _running: running, data: data.to_path_buf(), mq, admin: word("admin") }
    }

    #[expect(clippy::unwrap_used, reason = "without the tool there is nothing to test")]
    fn tool(&self, args: &[&str], input: &str) -> String {
        let mut child = Command::new(PROGRAM)
            .args(args)
            .env("MQSERVER", &self.mq)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{args:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Status and text of the answer to a request for a backup.
    #[expect(clippy::unwrap_used, reason = "without an answer there is nothing to test")]
    fn backup(&self, to: &Path, incremental: bool) -> (u16, String) {
        let token = std::fs::read_to_string(self.data.join("admin.token")).unwrap();
        let body = serde_json::json!({ "to": to, "incremental": incremental }).to_string();
        let request = format!(
            "POST /store/backup HTTP/1.0\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            token.trim(),
            body.len()
        );
        let mut stream = TcpStream::connect(&self.admin).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, text) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), text.to_owned())
    }
}

#[test]
fn a_backup_of_a_running_service_is_restored_to_what_was_acknowledged_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let (data, backup, restored) =
        (folder.path().join("data"), folder.path().join("backup"), folder.path().join("restored"));
    let service = Service::start(&data);
    let lines = |from: u32, to: u32| (from..to).map(|n| format!("message {n}\n")).collect::<String>();
    let put = ["amqsput", "DEV.QUEUE.1", "--persistent"];
    service.tool(&put, &lines(0, 30));
    let (status, text) = service.backup(&backup, false);
    assert_eq!(status, 200, "{text}");
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(report["bytes_copied"].as_u64() > Some(0), "{text}");

    service.tool(&put, &lines(30, 40));
    let (status, text) = service.backup(&backup, false);
    assert_eq!(status, 500, "{text}");
    assert!(text.contains("there is a backup already"), "{text}");
    let (status, text) = service.backup(&backup, true);
    assert_eq!(status, 200, "{text}");
    let (status, text) = service.backup(Path::new("elsewhere"), false);
    assert_eq!(status, 400, "{text}");
    let (status, text) = service.backup(&data.join("backup"), false);
    assert_eq!(status, 500, "{text}");
    assert!(text.contains("inside the data directory"), "{text}");

    // What is put behind it is not in it.
    service.tool(&put, &lines(40, 50));
    drop(service);
    store::tools::restore(&backup, &restored).unwrap();
    let service = Service::start(&restored);
    assert_eq!(service.tool(&["amqsget", "DEV.QUEUE.1", "--wait", "0"], ""), lines(0, 40));
}
