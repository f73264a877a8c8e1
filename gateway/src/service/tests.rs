//! The service in this process, over sockets, on a store that fails: the applications' and the devices' own libraries
//! are at the other ends.

mod order;
mod remote;

use std::collections::BTreeMap;

use bytes::Bytes;
use device_sim::device::{self as sim, Device, DeviceOptions, NewPut};
use device_sim::fleet::{self, Direction, FleetOptions};
use mq_client::{ClientError, ConnectOptions, Connection};
use mq_wire::{
    Chars, GetOptions, Mqgmo, Mqmd, Mqod, Mqpmo, ObjectName, OpenOptions as Mqoo, Persistence, PutOptions,
    QMgrName, QName,
};
use mqe::DeviceName;
use store::Room;

use super::*;
use crate::admin::AdminBackend;
use crate::core::faulty::{Disk, Faulty};
use crate::report::StatusReport;

/// Until something that must happen has happened; far more than it takes.
const LONG: Duration = Duration::from_secs(60);

/// A service, but for signals and the line `ready`.
struct Running {
    service: Service,
    core_task: JoinHandle<anyhow::Result<Core>>,
    disk: Arc<Disk>,
    folder: tempfile::TempDir,
}

impl Running {
    async fn start() -> Self {
        Self::start_with(|_, _| {}).await
    }

    /// With another configuration; the folder is the service's.
    async fn start_with(change: impl FnOnce(&mut Config, &Path)) -> Self {
        let (announcer, durable) = Announcer::new();
        let (store, recovered, disk) = Faulty::new(Arc::clone(&announcer));
        Self::start_on(store, recovered, disk, (announcer, durable), change).await
    }

    /// On a disk that another one has left.
    async fn start_again(disk: Arc<Disk>, change: impl FnOnce(&mut Config, &Path)) -> Self {
        let (announcer, durable) = Announcer::new();
        let (store, recovered) = Faulty::start(&disk, Arc::clone(&announcer));
        Self::start_on(store, recovered, disk, (announcer, durable), change).await
    }

    async fn start_on(
        store: Faulty,
        recovered: Recovered,
        disk: Arc<Disk>,
        (announcer, durable): (Arc<Announcer>, Durable),
        change: impl FnOnce(&mut Config, &Path),
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let mut config = Config::default();
        config.store.directory = folder.path().to_path_buf();
        (config.queue_manager.listen, config.devices.listen, config.admin.listen) = (any, any, any);
        change(&mut config, folder.path());
        let config = Arc::new(config);
        tokio::spawn(Arc::clone(&disk).run());
        let (core, parts) = core_on(&config, Box::new(store), recovered, announcer, durable).await.unwrap();
        let names = [config.gateway.name];
        let chain = Chain::start(&Registry::with_shipped(), config.chain(), names, None).await.unwrap();
        let registry = Arc::new(Registry::with_shipped());
        let reload = ReloadExits { file: None, overrides: crate::config::Overrides::default(), registry };
        let rule = Registry::with_shipped().rule("fleet", "", Duration::from_secs(1)).unwrap();
        let mut service = Service::new(
            &config,
            parts,
            Arc::new(chain),
            Arc::new(rule),
            reload,
            Sockets::listen(&config).unwrap(),
        )
        .unwrap();
        let core_task = tokio::spawn(core.serve());
        service.start(&config).await.unwrap();
        service.serving(true);
        Self { service, core_task, disk, folder }
    }

    fn mq(&self) -> ConnectOptions {
        let (host, port) = self.service.listeners.mq.rsplit_once(':').unwrap();
        ConnectOptions::parse(&format!("DEV.APP.SVRCONN/TCP/{host}({port})")).unwrap()
    }

    async fn status(&self) -> StatusReport {
        self.service.backend.status().await
    }

    async fn end(self) {
        self.service.end(Duration::ZERO).await;
        close(self.core_task).await.unwrap();
        drop(self.folder);
    }
}

/// Puts a persistent message, again and again until it is acknowledged, each time with another text. The last one.
async fn put(running: &Running, queue: &str, q_mgr: &str, tried: &mut u32) -> String {
    loop {
        *tried += 1;
        let text = format!("{queue} {tried}");
        let (od, md, pmo) = put_for(queue, q_mgr, PutOptions::NO_SYNCPOINT);
        let Ok(mut connection) = Connection::connect(&running.mq()).await else { continue };
        if connection.put1(od, md, pmo, Bytes::from(text.clone())).await.is_ok() {
            // A break from here on changes nothing.
            let _ = connection.disconnect().await;
            return text;
        }
    }
}

fn put_for(queue: &str, q_mgr: &str, options: PutOptions) -> (Mqod, Mqmd, Mqpmo) {
    let od = Mqod {
        object_name: ObjectName(Chars::cut(queue)),
        object_q_mgr_name: QMgrName(Chars::cut(q_mgr)),
        ..Mqod::default()
    };
    let md = Mqmd { persistence: Persistence::PERSISTENT, ..Mqmd::default() };
    (od, md, Mqpmo { options, ..Mqpmo::default() })
}

/// Everything on a queue, which stays there; from the beginning where the connection is dropped.
async fn browse_all(running: &Running, queue: &str) -> Vec<String> {
    loop {
        if let Ok(found) = try_browse(running, queue).await {
            return found;
        }
    }
}

async fn try_browse(running: &Running, queue: &str) -> Result<Vec<String>, ClientError> {
    let mut connection = Connection::connect(&running.mq()).await?;
    let od = Mqod { object_name: ObjectName(Chars::cut(queue)), ..Mqod::default() };
    let opened = connection.open(od, Mqoo::BROWSE).await?;
    let gmo = Mqgmo { options: GetOptions::BROWSE_NEXT, ..Mqgmo::default() };
    let mut found = Vec::new();
    while let Some(got) = connection.get(opened.handle, Mqmd::default(), gmo.clone(), 10_000).await? {
        found.push(String::from_utf8_lossy(&got.data).into_owned());
    }
    connection.disconnect().await?;
    Ok(found)
}

/// Two messages go to a device that answers each: through put, hand-over, hand-out, confirm, and the device's puts.
async fn there_and_back(running: &Running, name: &str) -> (Vec<String>, Vec<String>, Vec<String>) {
    let mut tried = 0;
    let mut acknowledged = Vec::new();
    for _ in 0..2 {
        acknowledged.push(put(running, &format!("ORDERS%{name}"), "GATE1", &mut tried).await);
    }
    let options = DeviceOptions {
        pause_first: Duration::from_millis(5),
        ..DeviceOptions::new(running.service.listeners.devices.clone(), name.parse().unwrap())
    };
    let mut device = Device::open(options).await.unwrap();
    let mut came = Vec::new();
    while !acknowledged.iter().all(|text| came.contains(text)) {
        let received = device.next(LONG).await.unwrap().expect("what was acknowledged comes");
        let text = String::from_utf8(received.message.payload.to_vec()).unwrap();
        let queue = QName::new("DEV.QUEUE.1").unwrap();
        let put = NewPut {
            queue,
            queue_manager: QMgrName::BLANK,
            message: sim::text_message(queue, format!("answer to {text}")),
        };
        device.answer(&[received.uid], vec![put]).await.unwrap();
        came.push(text);
    }
    assert_eq!(device.flush(LONG).await.unwrap().open, 0);
    assert!(device.settle(LONG).await.unwrap());
    // What was put and not acknowledged may come too, behind the others or between them.
    while let Some(received) = device.try_next() {
        came.push(String::from_utf8(received.message.payload.to_vec()).unwrap());
    }
    device.close(LONG).await.unwrap();
    let answers = browse_all(running, "DEV.QUEUE.1").await;
    (acknowledged, came, answers)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_for_a_device_and_its_answer_exist_once_wherever_the_journal_fails() {
    let running = Running::start().await;
    let begun = running.disk.batches();
    there_and_back(&running, "DEV1").await;
    let total = running.disk.batches();
    running.end().await;
    assert!(total > begun + 8, "{begun} {total}");
    let mut recovered = 0;
    for fail_at in begun + 1..=total {
        let running = Running::start().await;
        running.disk.fail_at([fail_at]);
        let (acknowledged, came, answers) = there_and_back(&running, "DEV1").await;
        let mut count: BTreeMap<&str, u32> = BTreeMap::new();
        came.iter().for_each(|text| *count.entry(text).or_default() += 1);
        assert!(count.values().all(|count| *count == 1), "failure at {fail_at}: {came:?}");
        let mut expected: Vec<String> =
            came.iter().take(answers.len()).map(|text| format!("answer to {text}")).collect();
        expected.sort();
        let mut found = answers.clone();
        found.sort();
        assert_eq!(found, expected, "failure at {fail_at}");
        assert!(answers.len() >= acknowledged.len());
        let report = running.status().await;
        recovered += report.store.recoveries;
        assert!(report.store.recoveries <= 1);
        assert_eq!(report.area.in_doubt, 0, "failure at {fail_at}");
        running.end().await;
    }
    // How many batches there are depends on what goes together: the last ones may not be reached.
    assert!(recovered >= (total - begun) * 2 / 3, "{recovered} of {}", total - begun);
}

/// A device refuses a message for good; it is read, and goes to the dead-letter queue.
async fn refused(running: &Running) -> (Vec<String>, Vec<String>) {
    let mut tried = 0;
    let acknowledged = put(running, "ORDERS%DEV1", "GATE1", &mut tried).await;
    let options = DeviceOptions {
        pause_first: Duration::from_millis(5),
        intake: sim::Intake::Ask,
        ..DeviceOptions::new(running.service.listeners.devices.clone(), "DEV1".parse().unwrap())
    };
    let mut device = Device::open(options).await.unwrap();
    let mut refused = Vec::new();
    while !refused.contains(&acknowledged) {
        let received = device.next(LONG).await.unwrap().expect("what was acknowledged comes");
        let text = String::from_utf8(received.message.payload.to_vec()).unwrap();
        match device.reject(received.uid, mq_wire::Reason::FORMAT_ERROR).await {
            Ok(()) => refused.push(text),
            // The connection broke before that was said: it comes again.
            Err(sim::DeviceError::TooLate) => {}
            Err(error) => panic!("{error}"),
        }
    }
    assert!(device.settle(LONG).await.unwrap());
    device.close(LONG).await.unwrap();
    let letters = browse_all(running, "DEV.DEAD.LETTER.QUEUE").await;
    (refused, letters)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_message_is_one_dead_letter_wherever_the_journal_fails() {
    let running = Running::start().await;
    let begun = running.disk.batches();
    refused(&running).await;
    let total = running.disk.batches();
    running.end().await;
    for fail_at in begun + 1..=total {
        let running = Running::start().await;
        running.disk.fail_at([fail_at]);
        let (refused, letters) = refused(&running).await;
        // A put that was not acknowledged may be there too.
        for text in &refused {
            let found = letters.iter().filter(|letter| letter.ends_with(text.as_str())).count();
            assert_eq!(found, 1, "{text}, failure at {fail_at}: {letters:?}");
        }
        assert!(letters.len() <= refused.len(), "failure at {fail_at}: {letters:?}");
        running.end().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fleet_with_answers_over_several_failures() {
    let running = Running::start().await;
    running.disk.fail_at([20, 45, 46, 90]);
    let options = FleetOptions {
        devices: 10,
        messages: 12,
        direction: Direction::Both,
        answers: true,
        unit_messages: 5,
        mq_connections: 1,
        seed: 7,
        ..FleetOptions::new(
            running.service.listeners.devices.clone(),
            running.mq(),
            QMgrName::new("GATE1").unwrap(),
        )
    };
    let report = fleet::run(options).await.unwrap();
    assert!(report.exact, "{report}");
    let status = running.status().await;
    assert!(status.store.recoveries >= 3, "{}", status.store.recoveries);
    assert_eq!((status.area.messages, status.area.in_doubt), (0, 0));
    running.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_listener_waits_for_room_and_goes_on_by_itself() {
    let running = Running::start().await;
    let device = DeviceName::new("DEV1").unwrap();
    let waiting =
        async || running.service.core.inquire(|answer| Command::DeviceReport { device, answer }).await;
    // Put while there is room, and on the transmission queue when there is none any more.
    let mut connection = Connection::connect(&running.mq()).await.unwrap();
    let (od, md, pmo) = put_for("ORDERS%DEV1", "GATE1", PutOptions::SYNCPOINT);
    connection.put1(od, md, pmo, Bytes::from_static(b"one")).await.unwrap();
    running.disk.set_room(Room::Short);
    until(async || running.service.core.connection().room() == Room::Short).await;
    connection.commit().await.unwrap();
    until(async || running.status().await.sources[0].state == "RETRYING").await;
    let report = running.status().await;
    assert!(
        report.problems.iter().any(|problem| problem.contains("RETRYING: the disk is full")),
        "{report:?}"
    );
    running.disk.set_room(Room::Enough);
    until(async || waiting().await.unwrap().is_some_and(|device| device.waiting == 1)).await;
    assert_eq!(running.status().await.sources[0].state, "RUNNING");
    running.end().await;
}

/// Asks until it is so.
async fn until(is_so: impl AsyncFn() -> bool) {
    let ask = async {
        while !is_so().await {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LONG, ask).await.expect("it does not come about");
}
