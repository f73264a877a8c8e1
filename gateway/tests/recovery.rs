//! The service as a process whose disk fails: it goes on in the same process, and what was acknowledged is there once.
//!
//! The failure is real: files may not grow beyond a limit that the shell sets, so a write of the journal fails.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_mqe-gateway");

/// 8 MiB in blocks of 512 bytes, as POSIX counts for `ulimit`: a segment of the journal wants more.
const FILE_BLOCKS_MAX: u32 = 16_384;

/// A running service; it is killed when the test ends, whatever happens.
struct Service {
    child: Child,
    mq: String,
}

impl Service {
    /// With a limit for its files. The signal for going beyond is ignored, so that the write fails.
    #[expect(clippy::unwrap_used, reason = "without the service there is nothing to test")]
    fn start(folder: &Path) -> Self {
        let script = format!(
            "trap '' XFSZ; ulimit -f {FILE_BLOCKS_MAX}; exec \"$0\" run --listen-mq 127.0.0.1:0 --listen-devices \
             127.0.0.1:0 --listen-admin 127.0.0.1:0 2> log"
        );
        let mut child = Command::new("sh")
            .args(["-c", &script, PROGRAM])
            .current_dir(folder)
            .env_remove("MQE_DATA")
            .env_remove("RUST_LOG")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let mut service = Self { child, mq: String::new() };
        let mq = line.split_whitespace().find_map(|word| word.strip_prefix("mq="));
        let (host, port) = mq.and_then(|mq| mq.rsplit_once(':')).unwrap();
        service.mq = format!("DEV.APP.SVRCONN/TCP/{host}({port})");
        service
    }

    #[expect(clippy::unwrap_used, reason = "without the tool there is nothing to test")]
    fn tool(&self, folder: &Path, args: &[&str]) -> Output {
        Command::new(PROGRAM)
            .args(args)
            .current_dir(folder)
            .env_remove("MQE_DATA")
            .env_remove("MQE_ADMIN_TOKEN")
            .env("MQSERVER", &self.mq)
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    /// The ids of the messages that a tool tells of, one JSON object a line.
    #[expect(clippy::unwrap_used, reason = "without the ids there is nothing to test")]
    fn ids(&self, folder: &Path, args: &[&str]) -> Vec<String> {
        let output = self.tool(folder, args);
        let lines = String::from_utf8_lossy(&output.stdout).into_owned();
        let id = |line: &str| {
            let message: serde_json::Value = serde_json::from_str(line).unwrap();
            message["message_id"].as_str().unwrap().to_owned()
        };
        lines.lines().map(id).collect()
    }

    #[expect(clippy::unwrap_used, reason = "without the figure there is nothing to test")]
    fn recoveries(&self, folder: &Path) -> u64 {
        let output = self.tool(folder, &["status", "--json"]);
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        report["store"]["recoveries"].as_u64().unwrap()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_journal_that_cannot_grow_is_recovered_in_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut service = Service::start(folder);
    std::fs::write(folder.join("data"), vec![b'x'; 500_000]).unwrap();
    let mut acknowledged = BTreeSet::new();
    // Each segment takes some of them, and each recovery begins a new one.
    let put = ["amqsput", "DEV.QUEUE.1", "--persistent", "--file", "data", "--count", "10", "--json"];
    for _ in 0..20 {
        acknowledged.extend(service.ids(folder, &put));
        if service.recoveries(folder) >= 2 {
            break;
        }
    }
    let log = std::fs::read_to_string(folder.join("log")).unwrap();
    assert!(service.recoveries(folder) >= 2, "{log}");
    assert!(log.contains("the store has recovered, the service goes on"), "{log}");
    let got = service.ids(folder, &["amqsget", "DEV.QUEUE.1", "--wait", "0", "--json"]);
    let unique: BTreeSet<String> = got.iter().cloned().collect();
    assert_eq!(unique.len(), got.len(), "nothing comes twice");
    assert!(acknowledged.is_subset(&unique), "nothing that was acknowledged is lost");
    let text = String::from_utf8_lossy(&service.tool(folder, &["status"]).stdout).into_owned();
    assert!(text.contains("WRONG: the journal could not be written"), "{text}");

    // It was one process, and ready once.
    assert!(service.child.try_wait().unwrap().is_none());
    let mut more = String::new();
    service.child.kill().unwrap();
    service.child.stdout.take().unwrap().read_to_string(&mut more).unwrap();
    assert_eq!(more, "");
    drop(service);
    let service = Service::start(folder);
    assert_eq!(
        service.ids(folder, &["amqsget", "DEV.QUEUE.1", "--wait", "0", "--json"]),
        Vec::<String>::new()
    );
}
