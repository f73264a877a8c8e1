//! Messages longer than 1 MiB lie in files of their own, one for each however far they go.

mod running;

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use device_sim::device::{Device, DeviceOptions, NewPut};
use mq_wire::{QMgrName, QName};
use mqe::DeviceMessage;

use running::Running;

const PROGRAM: &str = env!("CARGO_BIN_EXE_mqe-gateway");
/// Far more than anything here takes.
const LONG: Duration = Duration::from_secs(60);

/// The service, and where it listens.
struct Service {
    _running: Running,
    mq: String,
    devices: String,
}

impl Service {
    #[expect(clippy::unwrap_used, reason = "without the service there is nothing to test")]
    fn start(folder: &Path) -> Self {
        let (running, word) = Running::start(Command::new(PROGRAM).current_dir(folder), &[]);
        let mq = word("mq");
        let (host, port) = mq.rsplit_once(':').unwrap();
        let mq = format!("DEV.APP.SVRCONN/TCP/{host}({port})");
        Self { _running: running, mq, devices: word("devices") }
    }

    #[expect(clippy::unwrap_used, reason = "without the tool there is nothing to test")]
    async fn tool(&self, folder: &Path, args: &[&str]) -> Output {
        let mut command = Command::new(PROGRAM);
        command
            .args(args)
            .current_dir(folder)
            .env_remove("MQE_DATA")
            .env_remove("MQE_ADMIN_TOKEN")
            .env("MQSERVER", &self.mq)
            .stdin(Stdio::null());
        let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
        output
    }

    /// A figure of the store.
    #[expect(clippy::unwrap_used, reason = "without the figure there is nothing to test")]
    async fn figure(&self, folder: &Path, name: &str) -> u64 {
        let output = self.tool(folder, &["status", "--json"]).await;
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        report["store"][name].as_u64().unwrap()
    }

    async fn until_waiting(&self, folder: &Path, device: &str) {
        let waiting = async {
            loop {
                let output = self.tool(folder, &["devices", "list"]).await;
                let text = String::from_utf8_lossy(&output.stdout).into_owned();
                if text.lines().any(|line| line.starts_with(device)) {
                    return;
                }
            }
        };
        assert!(tokio::time::timeout(LONG, waiting).await.is_ok(), "it does not come to the device");
    }
}

fn bytes(length: usize) -> Vec<u8> {
    (0..length as u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_message_lies_in_one_file_on_its_way_to_a_device_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let service = Service::start(folder);
    let down = bytes(3_000_000);
    std::fs::write(folder.join("down"), &down).unwrap();
    let put = ["amqsput", "ORDERS%DEV1", "GATE1", "--persistent", "--file", "down"];
    service.tool(folder, &put).await;
    service.until_waiting(folder, "DEV1").await;
    assert_eq!(service.figure(folder, "body_files").await, 1, "the device's record names the same file");
    assert_eq!(service.figure(folder, "body_bytes").await, 3_000_000);
    assert!(service.figure(folder, "written_bytes").await < 500_000, "no record repeats it");

    // The gateway has no such queue: the dead letter has a header, and the same file.
    service.tool(folder, &["amqsput", "NOWHERE", "GATE1", "--persistent", "--file", "down"]).await;

    drop(service);
    let service = Service::start(folder);
    let options = DeviceOptions::new(service.devices.clone(), "DEV1".parse().unwrap());
    let mut device = Device::open(options).await.unwrap();
    let received = device.next(LONG).await.unwrap().expect("it comes");
    assert!(received.message.payload == down, "{} bytes", received.message.payload.len());

    let up = bytes(2_000_000);
    let queue = QName::new("DEV.QUEUE.1").unwrap();
    let message = DeviceMessage::new(queue, up.clone().into());
    let put = NewPut { queue, queue_manager: QMgrName::BLANK, message };
    device.answer(&[received.uid], vec![put]).await.unwrap();
    assert_eq!(device.flush(LONG).await.unwrap().open, 0);
    assert!(device.close(LONG).await.unwrap());
    assert!(service.figure(folder, "body_files").await >= 2);
    assert!(service.figure(folder, "written_bytes").await < 500_000);

    let output = service.tool(folder, &["amqsget", "DEV.QUEUE.1", "--wait", "0"]).await;
    assert!(output.stdout[..2_000_000] == up[..], "{} bytes", output.stdout.len());
    let output = service.tool(folder, &["amqsget", "DEV.DEAD.LETTER.QUEUE", "--wait", "0"]).await;
    assert!(output.stdout.ends_with(&[&down[..], b"\n"].concat()), "{} bytes", output.stdout.len());
}
