//! A short conversation, whole and cut at every byte, with a device that lives on and with one that crashes.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use device_sim::device::{
    Content, Counts, Device, DeviceError, DeviceOptions, DeviceStore, Entry, Intake, MemoryDisk, MemoryStore,
    NewPut, Place, Route, StateError, text_message,
};
use device_sim::proxy::{Cut, Proxy};
use mq_wire::{QMgrName, QName, Reason};
use mqe::{DeviceName, Uid};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::gateway::Gateway;

/// Longer than anything here takes.
const LONG: Duration = Duration::from_secs(20);

fn name() -> DeviceName {
    "DEV00001".parse().unwrap()
}

fn options(address: impl Into<String>) -> DeviceOptions {
    DeviceOptions {
        pause_first: Duration::from_millis(1),
        pause_max: Duration::from_millis(5),
        ..DeviceOptions::new(address, name())
    }
}

fn new_put(text: &str) -> NewPut {
    let queue = QName::new("REPLIES").unwrap();
    NewPut { queue, queue_manager: QMgrName::BLANK, message: text_message(queue, text.to_owned()) }
}

/// Three messages, each answered.
const ASKED: [&str; 3] = ["one", "two", "three"];
const ANSWERED: [&str; 3] = ["re: one", "re: two", "re: three"];

/// Takes messages and answers them until there are so many.
async fn converse(device: &mut Device, heard: &mut Vec<String>, until: usize) -> Result<(), DeviceError> {
    while heard.len() < until {
        let received = device.next(LONG).await?.expect("a message within the time");
        let text = String::from_utf8(received.message.payload.to_vec()).unwrap();
        device.answer(&[received.uid], vec![new_put(&format!("re: {text}"))]).await?;
        heard.push(text);
    }
    Ok(())
}

async fn gateway() -> Gateway {
    let gateway = Gateway::start().await;
    ASKED.iter().for_each(|text| gateway.offer(name(), text));
    gateway
}

#[tokio::test]
async fn each_message_comes_once_and_each_answer_arrives() {
    let gateway = gateway().await;
    let counts = Arc::new(Counts::default());
    let options = DeviceOptions { counts: Arc::clone(&counts), ..options(gateway.address.to_string()) };
    let mut device = Device::open(options).await.unwrap();
    let mut heard = Vec::new();
    converse(&mut device, &mut heard, 3).await.unwrap();
    assert_eq!(heard, ASKED);
    let flushed = device.flush(LONG).await.unwrap();
    assert_eq!((flushed.outcomes.len(), flushed.open), (3, 0));
    assert!(device.close(LONG).await.unwrap());
    assert_eq!(gateway.taken(), ANSWERED);
    assert_eq!(counts.confirmed.load(Ordering::Relaxed), 3);
    assert_eq!(counts.sessions.load(Ordering::Relaxed), 1);
}

/// The first connection is cut; those after it are not.
async fn cut_once(cut: Cut) -> bool {
    let gateway = gateway().await;
    let proxy = Proxy::start(gateway.address.to_string(), move |_| cut).await.unwrap();
    let (cutting, straight) = (proxy.address().to_string(), gateway.address.to_string());
    let route = Route::Each(Arc::new(
        move |connection| if connection == 0 { cutting.clone() } else { straight.clone() },
    ));
    let mut device = Device::open(DeviceOptions { route, ..options("") }).await.unwrap();
    let mut heard = Vec::new();
    converse(&mut device, &mut heard, 3).await.unwrap();
    // Nothing more comes.
    let sessions = device.status().sessions;
    assert!(device.settle(LONG).await.unwrap(), "{cut:?}");
    assert!(device.try_next().is_none(), "{cut:?}");
    assert_eq!(heard, ASKED, "{cut:?}");
    assert_eq!(gateway.taken(), ANSWERED, "{cut:?}");
    proxy.cuts() > 0 || sessions > 1
}

/// The cuts of a conversation, byte by byte, until one comes too late to matter. Some at a time: each has a gateway
/// of its own.
async fn cut_everywhere(cut: fn(u64) -> Cut) {
    let mut at = 0;
    loop {
        let mut some = JoinSet::new();
        for _ in 0..32 {
            some.spawn(cut_once(cut(at)));
            at += 1;
        }
        let were_cut = some.join_all().await;
        if !were_cut.contains(&true) {
            break;
        }
    }
    assert!(at > 200, "a conversation of {at} bytes is too short to be one");
}

#[tokio::test]
async fn cut_at_every_byte_to_the_gateway() {
    cut_everywhere(Cut::Up).await;
}

#[tokio::test]
async fn cut_at_every_byte_from_the_gateway() {
    cut_everywhere(Cut::Down).await;
}

#[tokio::test]
async fn cut_before_every_answer() {
    cut_everywhere(Cut::Answer).await;
}

/// A store that stops the device for ever at one write, before or behind its sync, and says so.
#[derive(Debug)]
struct Stopping {
    store: MemoryStore,
    /// Writes that still go through.
    left: usize,
    is_synced: bool,
    stopped: mpsc::UnboundedSender<()>,
}

impl DeviceStore for Stopping {
    fn content(&self) -> &Content {
        self.store.content()
    }

    async fn write(&mut self, entries: Vec<Entry>) -> Result<(), StateError> {
        if self.left > 0 {
            self.left -= 1;
            return self.store.write(entries).await;
        }
        if self.is_synced {
            self.store.write(entries).await?;
        }
        self.stopped.send(()).unwrap();
        std::future::pending().await
    }
}

/// What an application keeps in its own memory, which survives its device.
#[derive(Default)]
struct Heard {
    texts: Vec<String>,
    /// The last one, until it is known to be answered.
    open: Option<Uid>,
}

impl Heard {
    async fn converse(&mut self, device: &mut Device) {
        while self.texts.len() < 3 {
            let received = device.next(LONG).await.unwrap().expect("a message within the time");
            let text = String::from_utf8(received.message.payload.to_vec()).unwrap();
            self.texts.push(text.clone());
            self.open = Some(received.uid);
            device.answer(&[received.uid], vec![new_put(&format!("re: {text}"))]).await.unwrap();
            self.open = None;
        }
        assert!(device.settle(LONG).await.unwrap());
    }

    /// After a crash the device's store says whether the last message was answered.
    fn look(&mut self, disk: &MemoryDisk) {
        if let Some(uid) = self.open.take()
            && disk.content().unused().any(|kept| kept.uid == uid)
        {
            self.texts.pop();
        }
    }
}

/// Whether the crash came before all was done.
async fn crash_at(write: usize, is_synced: bool) -> bool {
    let gateway = gateway().await;
    let disk = MemoryDisk::default();
    let options = options(gateway.address.to_string());
    let (stopped, mut stops) = mpsc::unbounded_channel();
    let store = Stopping { store: disk.open(), left: write, is_synced, stopped };
    let mut device = Device::open_on(options.clone(), store);
    let mut heard = Heard::default();
    let is_crash = tokio::select! {
        () = heard.converse(&mut device) => false,
        _ = stops.recv() => true,
    };
    device.crash().await;
    heard.look(&disk);
    let mut device = Device::open_on(options, disk.open());
    heard.converse(&mut device).await;
    assert!(device.try_next().is_none(), "write {write}, {is_synced}");
    assert_eq!(heard.texts, ASKED, "write {write}, {is_synced}");
    assert_eq!(gateway.taken(), ANSWERED, "write {write}, {is_synced}");
    is_crash
}

#[tokio::test]
async fn a_device_that_crashes_at_any_write_hears_once() {
    for is_synced in [false, true] {
        let mut write = 0;
        while crash_at(write, is_synced).await {
            write += 1;
        }
        assert!(write >= 5, "{write} writes are no conversation");
    }
}

#[tokio::test]
async fn a_store_on_disk_hands_out_again_what_was_not_used() {
    let gateway = gateway().await;
    let directory = tempfile::tempdir().unwrap();
    let place = Place::Directory(directory.path().to_owned());
    let options = DeviceOptions { place, ..options(gateway.address.to_string()) };
    let mut device = Device::open(options.clone()).await.unwrap();
    let first = device.next(LONG).await.unwrap().unwrap();
    assert!(!first.again);
    device.used(&[first.uid]).await.unwrap();
    let second = device.next(LONG).await.unwrap().unwrap();
    device.put(new_put("before the end")).await.unwrap();
    // It is locked as long as it lives.
    let error = Device::open(options.clone()).await.unwrap_err();
    assert!(matches!(error, DeviceError::State(StateError::InUse { .. })), "{error}");
    device.close(LONG).await.unwrap();
    let mut device = Device::open(options).await.unwrap();
    let again = device.next(LONG).await.unwrap().unwrap();
    assert_eq!((again.uid, again.again), (second.uid, true));
    let third = device.next(LONG).await.unwrap().unwrap();
    assert_eq!(third.message.payload, "three");
    assert_eq!(gateway.taken(), ["before the end"]);
}

#[tokio::test]
async fn an_application_decides() {
    let gateway = gateway().await;
    let options = DeviceOptions { intake: Intake::Ask, ..options(gateway.address.to_string()) };
    let mut device = Device::open(options).await.unwrap();
    let one = device.next(LONG).await.unwrap().unwrap();
    device.reject(one.uid, Reason::FORMAT_ERROR).await.unwrap();
    let two = device.next(LONG).await.unwrap().unwrap();
    device.release(two.uid).await.unwrap();
    let three = device.next(LONG).await.unwrap().unwrap();
    device.accept(three.uid).await.unwrap();
    assert_eq!(device.accept(three.uid).await, Err(DeviceError::TooLate));
    // What was released comes again.
    let again = device.next(LONG).await.unwrap().unwrap();
    assert_eq!((again.uid, again.deliveries), (two.uid, 2));
    device.accept(again.uid).await.unwrap();
    assert!(device.close(LONG).await.unwrap());
    assert_eq!(gateway.dead(), ["one"]);
}

#[tokio::test]
async fn it_takes_no_more_than_it_was_told_to() {
    let gateway = gateway().await;
    let disk = MemoryDisk::default();
    let take = |take_max| DeviceOptions {
        take_max: Some(take_max),
        place: Place::Memory(disk.clone()),
        ..options(gateway.address.to_string())
    };
    let mut device = Device::open(take(2)).await.unwrap();
    for text in ["one", "two"] {
        let received = device.next(LONG).await.unwrap().unwrap();
        assert_eq!(received.message.payload, text);
        device.used(&[received.uid]).await.unwrap();
    }
    assert!(device.close(LONG).await.unwrap());
    let mut device = Device::open(take(1)).await.unwrap();
    let received = device.next(LONG).await.unwrap().unwrap();
    assert_eq!(received.message.payload, "three");
}

#[tokio::test]
async fn what_is_refused_for_good_ends_the_device() {
    let gateway = Gateway::start().await;
    let unknown = DeviceOptions::new(gateway.address.to_string(), "OTHER".parse().unwrap());
    let mut device = Device::open(unknown).await.unwrap();
    let error = device.next(LONG).await.unwrap_err();
    assert!(matches!(error, DeviceError::Refused { .. }), "{error}");
    assert!(error.to_string().contains("OTHER"), "{error}");
}
