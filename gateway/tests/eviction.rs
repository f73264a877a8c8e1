//! The service as a process with next to no memory for the index of what waits for devices: everything that was
//! acknowledged comes to every device once and in order, over a kill and a start.

mod running;

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use bytes::Bytes;
use device_sim::device::{Device, DeviceOptions};
use mq_client::{ConnectOptions, Connection};
use mq_wire::{Chars, Mqmd, Mqod, Mqpmo, ObjectName, Persistence, PutOptions, QMgrName};

use running::Running;

const PROGRAM: &str = env!("CARGO_BIN_EXE_mqe-gateway");
/// Far more than anything here takes.
const LONG: Duration = Duration::from_secs(120);
const DEVICES: u64 = 300;
/// Room for a few of them.
const INDEX_BYTES_MAX: u64 = 2_000;

/// The service, and where it listens.
struct Service {
    _running: Running,
    mq: ConnectOptions,
    devices: String,
}

impl Service {
    #[expect(clippy::unwrap_used, reason = "without the service there is nothing to test")]
    fn start(folder: &Path) -> Self {
        let mut command = Command::new(PROGRAM);
        let (running, word) = Running::start(command.current_dir(folder).env("RUST_LOG", "warn"), &[]);
        let mq = word("mq");
        let (host, port) = mq.rsplit_once(':').unwrap();
        let mq = ConnectOptions::parse(&format!("DEV.APP.SVRCONN/TCP/{host}({port})")).unwrap();
        Self { _running: running, mq, devices: word("devices") }
    }

    /// A message for each device: its body is the number of the round.
    #[expect(clippy::unwrap_used, reason = "without the messages there is nothing to test")]
    async fn tell_all(&self, round: u64) {
        let mut connection = Connection::connect(&self.mq).await.unwrap();
        for device in 0..DEVICES {
            let od = Mqod {
                object_name: ObjectName(Chars::cut(&format!("ORDERS%{}", name(device)))),
                object_q_mgr_name: QMgrName(Chars::cut("GATE1")),
                ..Mqod::default()
            };
            let md = Mqmd { persistence: Persistence::PERSISTENT, ..Mqmd::default() };
            let pmo = Mqpmo { options: PutOptions::SYNCPOINT, ..Mqpmo::default() };
            connection.put1(od, md, pmo, Bytes::from(round.to_string())).await.unwrap();
        }
        connection.commit().await.unwrap();
        connection.disconnect().await.unwrap();
    }

    /// What came to a device before there was nothing more, and was confirmed.
    #[expect(clippy::unwrap_used, reason = "without the messages there is nothing to test")]
    async fn take_all(&self, device: u64) -> Vec<u64> {
        let options = DeviceOptions::new(self.devices.clone(), name(device).parse().unwrap());
        let mut device = Device::open(options).await.unwrap();
        let mut taken = Vec::new();
        while let Some(received) =
            device.next(if taken.len() < 4 { LONG } else { Duration::ZERO }).await.unwrap()
        {
            taken.push(std::str::from_utf8(&received.message.payload).unwrap().parse().unwrap());
            device.used(&[received.uid]).await.unwrap();
        }
        assert!(device.close(LONG).await.unwrap());
        taken
    }

    /// Waits until the area's report is as wanted.
    #[expect(clippy::unwrap_used, reason = "without the figures there is nothing to test")]
    async fn until(&self, folder: &Path, wanted: impl Fn(&dyn Fn(&str) -> u64) -> bool) -> serde_json::Value {
        let mut report = serde_json::Value::Null;
        let until = async {
            loop {
                let output = status(folder).await;
                assert!(output.status.success(), "{output:?}");
                report = serde_json::from_slice(&output.stdout).unwrap();
                if wanted(&|name| report["area"][name].as_u64().unwrap()) {
                    return;
                }
            }
        };
        let came = tokio::time::timeout(LONG, until).await;
        assert!(came.is_ok(), "it does not come to that: {}", report["area"]);
        report
    }
}

fn name(device: u64) -> String {
    format!("DEV{device:05}")
}

#[expect(clippy::unwrap_used, reason = "without the figures there is nothing to test")]
async fn status(folder: &Path) -> Output {
    let mut command = Command::new(PROGRAM);
    command
        .args(["status", "--json"])
        .current_dir(folder)
        .env_remove("MQE_DATA")
        .env_remove("MQE_ADMIN_TOKEN")
        .stdin(Stdio::null());
    tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn devices_that_left_memory_get_everything_over_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let config = format!("[store]\nindex_bytes_max = {INDEX_BYTES_MAX}\n");
    std::fs::write(folder.join("mqe-gateway.toml"), config).unwrap();
    let service = Service::start(folder);
    let away = |messages: u64| {
        move |figure: &dyn Fn(&str) -> u64| {
            figure("messages") == messages
                && figure("index_bytes") <= INDEX_BYTES_MAX
                && figure("evicted_devices") > DEVICES - 20
        }
    };
    service.tell_all(0).await;
    service.tell_all(1).await;
    service.until(folder, away(2 * DEVICES)).await;
    // Behind what is away.
    service.tell_all(2).await;
    let report = service.until(folder, away(3 * DEVICES)).await;
    assert_eq!(report["area"]["loads"], 0);
    assert_eq!(report["problems"], serde_json::json!([]));
    drop(service);

    let service = Service::start(folder);
    service.until(folder, away(3 * DEVICES)).await;
    service.tell_all(3).await;
    service.until(folder, away(4 * DEVICES)).await;
    for device in 0..DEVICES {
        assert_eq!(service.take_all(device).await, [0, 1, 2, 3], "{}", name(device));
    }
    let report = service.until(folder, |figure| figure("messages") == 0).await;
    assert_eq!((&report["area"]["evicted_devices"], &report["area"]["rebuilds"]), (&0.into(), &0.into()));
    assert!(report["area"]["loads"].as_u64().is_some_and(|loads| loads > DEVICES - 20));
}
