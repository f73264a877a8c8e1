//! Entries of devices leave memory under a budget of nothing, into the index of a real journal, and come back: every
//! message once, and in order.

use std::path::Path;
use std::time::Duration;

use mqe::area::owner_of;
use mqe::frame::{ErrorCode, Frame, Hello};
use mqe::{Incarnation, RequestId, SessionId};
use store::{ColdIndex, Journal, Store};
use tokio::task::JoinHandle;

use super::recovery::App;
use super::*;
use crate::core::ToDevice;
use crate::core::faulty::{Disk, Faulty};
use crate::core::handle::CoreHandle;
use crate::core::lanes::Lane;
use crate::report::StatusReport;

/// Far more than anything here takes.
const LONG: Duration = Duration::from_secs(60);

const NO_MEMORY: TestMachinery = TestMachinery {
    area: |settings| {
        settings.index_bytes_max = 0;
        settings.device_messages_max = 100;
    },
};

/// A core that serves, and where its devices' entries go.
struct Cold {
    root: CoreHandle,
    index: ColdIndex,
    core: JoinHandle<anyhow::Result<Core>>,
    told: u64,
}

impl Cold {
    async fn start(
        store: Box<dyn Store>,
        recovered: Recovered,
        index: ColdIndex,
        announcer: Arc<Announcer>,
        durable: crate::core::Durable,
    ) -> Self {
        let wiring = Wiring { machinery: Arc::new(NO_MEMORY), ..wiring(announcer) };
        let (core, _) = Core::start(store, recovered, durable, wiring).await.unwrap();
        let root = core.handle();
        Self { root, index, core: tokio::spawn(core.serve()), told: 0 }
    }

    async fn on_journal(directory: &Path) -> Self {
        let (announcer, durable) = Announcer::new();
        let options = store::OpenOptions::new(directory, Arc::<Announcer>::clone(&announcer));
        let (journal, recovered) = Journal::open(options).unwrap();
        let index = journal.cold_index().unwrap();
        Self::start(Box::new(journal), recovered, index, announcer, durable).await
    }

    /// On a store that fails; the index is that of a journal that must live as long.
    async fn on_faulty(index: ColdIndex) -> (Self, Arc<Disk>) {
        let (announcer, durable) = Announcer::new();
        let (store, recovered, disk) = Faulty::with_index(Arc::clone(&announcer), Some(index.clone()));
        tokio::spawn(Arc::clone(&disk).run());
        (Self::start(Box::new(store), recovered, index, announcer, durable).await, disk)
    }

    async fn close(self) {
        self.root.newest().await.unwrap().send(Lane::Control, Command::Stop).await.unwrap();
        self.core.await.unwrap().unwrap().close().unwrap();
    }

    async fn status(&self) -> StatusReport {
        self.root.inquire(|answer| Command::Status { answer }).await.unwrap()
    }

    /// Waits until so many devices are not in memory, and nothing is.
    async fn evicted(&self, devices: u64) -> StatusReport {
        let evicted = async {
            loop {
                let status = self.status().await;
                if (status.area.evicted_devices, status.area.index_bytes) == (devices, 0) {
                    return status;
                }
            }
        };
        tokio::time::timeout(LONG, evicted).await.expect("they stay in memory")
    }

    /// A message for each of these devices, with the next numbers, over the transmission queue.
    async fn tell(&mut self, devices: impl IntoIterator<Item = u32>) {
        let mut app = App::connect(&self.root).await.unwrap();
        for device in devices {
            let od = Mqod {
                object_name: ObjectName(Chars::cut(&format!("ORDERS%DEV{device}"))),
                object_q_mgr_name: name("GATE1"),
                ..Mqod::default()
            };
            let md = Mqmd { persistence: mq_wire::Persistence::PERSISTENT, ..Mqmd::default() };
            let pmo = Mqpmo { options: PutOptions::NO_SYNCPOINT, ..Mqpmo::default() };
            let body = Bytes::from(self.told.to_string());
            let put = Verb::Put1(Box::new(qmgr::Put1Request {
                od,
                md,
                pmo,
                body,
                passed: None,
                properties: qmgr::Properties::default(),
            }));
            let done = app.call(put).await.unwrap();
            assert!(matches!(&done, Reply::Put(done) if done.cc == CompCode::OK), "{done:?}");
            self.told += 1;
        }
        let core = self.root.newest().await.unwrap();
        let (queue, limits) =
            (QName::new("GATE1").unwrap(), BatchLimits { messages_max: 1000, bytes_max: 1 << 20 });
        let lock = |answer| Command::Lock { queue, holder: HOLDER, limits, answer };
        let locked = core.ask(Lane::Intake, lock).await.unwrap().unwrap();
        let deliveries = Harness::deliveries(&locked);
        let hand_over = |answer| Command::HandOver { holder: HOLDER, deliveries, answer };
        let handed_over = core.ask(Lane::Intake, hand_over).await.unwrap();
        assert_eq!(handed_over.moved as usize, locked.len());
        core.durable(Some(handed_over.needs)).await.unwrap();
    }
}

/// A device's connection.
struct Dev {
    core: CoreHandle,
    answers: mpsc::UnboundedReceiver<ToDevice>,
    requests: u32,
}

impl Dev {
    /// Or what it was told instead.
    async fn connect(root: &CoreHandle, device: u32) -> Result<Self, ErrorCode> {
        let core = root.newest().await.unwrap();
        let (out, answers) = mpsc::unbounded_channel();
        let conn = mqe::ConnId(core.conn().0);
        core.send(Lane::Control, Command::DeviceOpened { conn, out }).await.unwrap();
        let mut dev = Self { core, answers, requests: 0 };
        let hello = Hello {
            version: mqe::frame::VERSION,
            device: DeviceName::new(&format!("DEV{device}")).unwrap(),
            incarnation: Incarnation(0),
            last_session: SessionId(0),
            token: Bytes::new(),
            product: String::new(),
        };
        dev.ask(Frame::Hello(hello)).await;
        match dev.answer().await {
            ToDevice::Frame { frame: Frame::Welcome(_), .. } => {}
            ToDevice::Frame { frame: Frame::Error { code, .. }, .. } => return Err(code),
            other => panic!("{other:?}"),
        }
        dev.ask(Frame::Resume { stored: Vec::new(), refused: Vec::new() }).await;
        let resumed = dev.answer().await;
        assert!(matches!(resumed, ToDevice::Frame { frame: Frame::Resumed { .. }, .. }), "{resumed:?}");
        Ok(dev)
    }

    async fn ask(&mut self, frame: Frame) {
        self.requests += 1;
        let command = Command::Device {
            conn: mqe::ConnId(self.core.conn().0),
            request: RequestId(self.requests),
            frame,
        };
        self.core.send(Lane::Complete, command).await.unwrap();
    }

    async fn answer(&mut self) -> ToDevice {
        let answer = tokio::time::timeout(LONG, self.answers.recv()).await.expect("no answer").unwrap();
        match &answer {
            ToDevice::Frame { needs, .. } => self.core.durable(*needs).await.unwrap(),
            ToDevice::Message { needs, .. } => self.core.durable(Some(*needs)).await.unwrap(),
            ToDevice::Close { .. } => {}
        }
        answer
    }

    /// Takes and confirms all that there is: the numbers, in the order in which they came.
    async fn take_all(&mut self) -> Vec<u64> {
        let mut taken = Vec::new();
        loop {
            self.ask(Frame::Get { messages: 2, bytes: 1 << 20, wait_ms: 0 }).await;
            let mut uids = Vec::new();
            loop {
                match self.answer().await {
                    ToDevice::Message { head, body, .. } => {
                        let record = crate::core::read(body).await.unwrap();
                        taken.push(std::str::from_utf8(&record.body).unwrap().parse().unwrap());
                        uids.push(head.uid);
                    }
                    ToDevice::Frame { frame: Frame::End { .. }, .. } => break,
                    other => panic!("{other:?}"),
                }
            }
            if uids.is_empty() {
                return taken;
            }
            let count = uids.len() as u32;
            self.ask(Frame::Confirm(uids)).await;
            match self.answer().await {
                ToDevice::Frame { frame: Frame::Confirmed { ended }, .. } => assert_eq!(ended, count),
                other => panic!("{other:?}"),
            }
        }
    }

    async fn close(self) {
        let conn = mqe::ConnId(self.core.conn().0);
        self.core.send(Lane::Control, Command::DeviceClosed { conn }).await.unwrap();
    }
}

async fn take_all(cold: &Cold, device: u32) -> Vec<u64> {
    let mut dev = Dev::connect(&cold.root, device).await.unwrap();
    let taken = dev.take_all().await;
    dev.close().await;
    taken
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_comes_gets_everything_once_and_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let mut cold = Cold::on_journal(directory.path()).await;
    for _ in 0..3 {
        cold.tell(1..=5).await;
    }
    let status = cold.evicted(5).await;
    assert_eq!((status.area.messages, status.area.index_bytes_max, status.area.loads), (15, 0, 0));
    // Behind what is not in memory, and then not in memory either.
    cold.tell([2, 2]).await;
    cold.evicted(5).await;
    assert_eq!(take_all(&cold, 1).await, [0, 5, 10]);
    assert_eq!(take_all(&cold, 2).await, [1, 6, 11, 15, 16]);
    // The index has lost one, and one part of another.
    cold.tell([4]).await;
    cold.evicted(3).await;
    // The numbers of devices are given in the order in which they were first named.
    cold.index.remove(owner_of(3), 1);
    cold.index.remove(owner_of(4), 1);
    cold.tell([3]).await;
    assert_eq!(take_all(&cold, 3).await, [2, 7, 12, 18]);
    assert_eq!(take_all(&cold, 4).await, [3, 8, 13, 17]);
    let status = cold.status().await;
    assert_eq!((status.area.rebuilds, status.area.loads, status.problems), (2, 4, Vec::new()));
    assert_eq!((status.area.evicted_devices, status.area.messages), (1, 3));
    assert!(status.area.evictions >= 7);
    assert_eq!(cold.index.get(owner_of(1), 1), None, "what came back is not kept");
    cold.close().await;
    // Another start: what was kept before is of no use to it.
    let cold = Cold::on_journal(directory.path()).await;
    cold.evicted(1).await;
    assert_eq!(take_all(&cold, 5).await, [4, 9, 14]);
    for device in 1..=4 {
        assert_eq!(take_all(&cold, device).await, [0; 0]);
    }
    cold.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recovery_in_between_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let options = store::OpenOptions::new(directory.path(), Announcer::new().0);
    let (journal, _) = Journal::open(options).unwrap();
    let (mut cold, disk) = Cold::on_faulty(journal.cold_index().unwrap()).await;
    cold.tell(1..=3).await;
    cold.tell([1, 2]).await;
    let before = cold.evicted(3).await.area.evictions;
    // One has come when the disk fails.
    let first = Dev::connect(&cold.root, 1).await.unwrap();
    disk.fail_next();
    let mut app = App::connect(&cold.root).await.unwrap();
    let (od, pmo) = (
        Mqod { object_name: ObjectName(Chars::cut("DEV.QUEUE.1")), ..Mqod::default() },
        Mqpmo { options: PutOptions::NO_SYNCPOINT, ..Mqpmo::default() },
    );
    let md = Mqmd { persistence: mq_wire::Persistence::PERSISTENT, ..Mqmd::default() };
    let put = qmgr::Put1Request {
        od,
        md,
        pmo,
        body: Bytes::new(),
        passed: None,
        properties: qmgr::Properties::default(),
    };
    assert!(app.call(Verb::Put1(Box::new(put))).await.is_err());
    first.core.ended().await;
    drop(first);
    let status = cold.evicted(3).await;
    assert_eq!((status.store.recoveries, status.area.messages), (1, 5));
    assert!(status.area.evictions >= before + 3, "all were in memory again");
    assert_eq!(take_all(&cold, 1).await, [0, 3]);
    assert_eq!(take_all(&cold, 2).await, [1, 4]);
    assert_eq!(take_all(&cold, 3).await, [2]);
    assert_eq!(cold.status().await.area.rebuilds, 0);
    cold.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_cannot_be_found_waits_and_others_go_on() {
    let directory = tempfile::tempdir().unwrap();
    let options = store::OpenOptions::new(directory.path(), Announcer::new().0);
    let (journal, _) = Journal::open(options).unwrap();
    let (mut cold, disk) = Cold::on_faulty(journal.cold_index().unwrap()).await;
    cold.tell(1..=2).await;
    cold.evicted(2).await;
    cold.index.remove(owner_of(1), 1);
    disk.forget(true);
    for _ in 0..2 {
        assert_eq!(Dev::connect(&cold.root, 1).await.map(drop), Err(ErrorCode::LATER));
    }
    let problems = cold.status().await.problems;
    assert!(
        matches!(&problems[..], [one] if one.contains("the messages that wait for device DEV1 cannot be found")),
        "{problems:?}"
    );
    assert_eq!(take_all(&cold, 2).await, [1]);
    // What comes for it waits behind them.
    cold.tell([1]).await;
    disk.forget(false);
    assert_eq!(take_all(&cold, 1).await, [0, 2]);
    let status = cold.status().await;
    assert_eq!((status.area.rebuilds, status.problems), (1, Vec::new()));
    cold.close().await;
}

/// A store without an index keeps everything in memory.
#[tokio::test]
async fn without_an_index_nothing_leaves() {
    let (announcer, durable) = Announcer::new();
    let (store, recovered, disk) = Faulty::new(Arc::clone(&announcer));
    tokio::spawn(Arc::clone(&disk).run());
    let directory = tempfile::tempdir().unwrap();
    let (journal, _) = Journal::open(store::OpenOptions::new(directory.path(), Announcer::new().0)).unwrap();
    let index = journal.cold_index().unwrap();
    let mut cold = Cold::start(Box::new(store), recovered, index, announcer, durable).await;
    cold.tell([1, 1]).await;
    assert_eq!(take_all(&cold, 1).await, [0, 1]);
    let area = cold.status().await.area;
    assert_eq!((area.evictions, area.evicted_devices), (0, 0));
    cold.close().await;
}
