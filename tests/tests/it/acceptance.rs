//! Checks of mqe.md 10 that are nobody else's. Each has its number in its name, here and elsewhere: `cargo test acceptance_NN`.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::{Bytes, BytesMut};
use device_sim::device::{Device, DeviceOptions, NewPut, Received};
use integration_tests::frames::Frames;
use integration_tests::mq::{Mq, persistent};
use integration_tests::service::Service;
use integration_tests::wait;
use mq_client::Got;
use mq_wire::{
    AccountingToken, ApplType, Ccsid, Chars, Coding, CorrelId, Encoding, Feedback, FormatName, GetOptions,
    Mqmd, Mqxqh, MsgType, OpenOptions, Persistence, PutOptions, QMgrName, QName, ReportOptions, Writer,
};
use mqe::frame::{ErrorCode, Frame, Limits, PutOutcome};
use mqe::{DeviceMessage, Incarnation, SessionId};
use pretty_assertions::assert_eq;

use crate::GATEWAY;

const TIME: Duration = Duration::from_secs(30);
const DEVICE: &str = "DEV00001";
const ADDRESS: &str = "ORDERS%DEV00001";
const UP: &str = "DEV.QUEUE.1";

fn app(service: &Service) -> Mq {
    Mq::connect(&service.connect_options("DEV.ADMIN.SVRCONN")).unwrap()
}

/// The device gets so many messages, and puts each back as it is.
fn echo(service: &Service, count: usize) -> Vec<Received> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let options = DeviceOptions::new(service.devices().to_string(), DEVICE.parse().unwrap());
    let queue = QName::new(UP).unwrap();
    runtime.block_on(async {
        let mut device = Device::open(options).await.unwrap();
        let mut all = Vec::new();
        while all.len() < count {
            let received = device.next(TIME).await.unwrap().expect("a message");
            let message = DeviceMessage { queue, ..received.message.clone() };
            let put = NewPut { queue, queue_manager: QMgrName::BLANK, message };
            device.answer(&[received.uid], vec![put]).await.unwrap();
            all.push(received);
        }
        assert_eq!(device.flush(TIME).await.unwrap().open, 0);
        device.close(TIME).await.unwrap();
        all
    })
}

/// What came back.
fn came(app: &mut Mq, count: usize) -> Vec<Got> {
    let mut all = Vec::new();
    wait::until("what comes back", TIME, || {
        all.extend(app.drain(UP));
        (all.len() == count).then_some(())
    });
    all
}

fn wall_ms() -> u64 {
    u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

#[test]
fn acceptance_06_expiry_counts_down_everywhere_in_the_unit_of_each() {
    const DAY: i32 = 24 * 3600 * 10;
    let service = Service::start(GATEWAY);
    let mut app = app(&service);
    let tool = |args: &[&str]| crate::tool(&service, args);
    let put = |app: &mut Mq, expiry: i32, text: &str| {
        app.put_md(ADDRESS, "GATE1", Mqmd { expiry, ..persistent() }, text.to_owned()).unwrap();
    };
    // On the transmission queue: what is left counts down there, and what is over is not handed over.
    tool(&["sources", "pause", "local"]);
    wait::until("a pause", TIME, || (service.status()["sources"][0]["state"] == "PAUSED").then_some(()));
    let begun = wall_ms();
    for (expiry, text) in [(2, "short"), (600, "a minute"), (30 * DAY, "thirty days"), (-1, "for ever")] {
        put(&mut app, expiry, text);
    }
    let queue = app.open("GATE1", "", OpenOptions::BROWSE).unwrap();
    let left = wait::until("the end of the short one, and time", TIME, || {
        let first = app.get(queue, GetOptions::BROWSE_FIRST, Duration::ZERO).unwrap()?;
        (first.data.ends_with(b"a minute") && first.md.expiry < 598).then_some(first.md.expiry)
    });
    tool(&["sources", "resume", "local"]);
    let received = echo(&service, 3);
    let texts: Vec<&[u8]> = received.iter().map(|received| &received.message.payload[..]).collect();
    assert_eq!(texts, [&b"a minute"[..], b"thirty days", b"for ever"]);
    // For the device: a point in time, also beyond what a number of milliseconds with 32 bits can say (24.8 days).
    let at: Vec<Option<u64>> = received.iter().map(|received| received.message.expiry_ms).collect();
    let expected = |tenths: i32| begun + 100 * u64::try_from(tenths).unwrap();
    let is_about = |at: Option<u64>, tenths| {
        at.is_some_and(|at| (expected(tenths)..expected(tenths) + 30_000).contains(&at))
    };
    assert!(is_about(at[0], 600) && is_about(at[1], 30 * DAY) && at[2].is_none(), "{begun} {at:?}");
    // And back in MQ: tenths of a second again, fewer than there were.
    let back: Vec<i32> = came(&mut app, 3).iter().map(|got| got.md.expiry).collect();
    assert!((1..=left).contains(&back[0]), "{left} {back:?}");
    assert!((30 * DAY - 300..30 * DAY).contains(&back[1]) && back[2] == -1, "{back:?}");
    // In the store-and-forward area: what is over is not given. And a device with another clock goes by what is left, which is
    // said beside the point in time.
    put(&mut app, 2, "over while it waits");
    put(&mut app, 600, "a minute again");
    service.wait_until_handed_over();
    let over = wall_ms() + 200;
    wait::until("the end of the first one", TIME, || (wall_ms() > over).then_some(()));
    let mut device = Frames::connect(service.devices(), DEVICE, Incarnation(0), SessionId(0));
    device.send(&Frame::Get { messages: 10, bytes: 1 << 20, wait_ms: 0 });
    let frame = device.receive();
    let Frame::Message(head, ..) = frame else { panic!("{frame:?}") };
    assert!(head.remaining_ms.is_some_and(|left| (30_000..=60_000).contains(&left)), "{head:?}");
    assert!(matches!(device.receive(), Frame::End { given: 1, waiting: 0, .. }));
    assert_eq!(service.status()["area"]["ends"]["expired"], 1);
}

#[test]
fn acceptance_07_a_put_that_is_repeated_makes_one_copy_however_late() {
    let mut service = Service::start(GATEWAY);
    let queue = QName::new(UP).unwrap();
    let message = |text: &str| {
        let mut message = DeviceMessage::new(queue, Bytes::from(text.to_owned()));
        message.descriptor.persistence = Persistence::PERSISTENT;
        message
    };
    let mut device = Frames::connect(service.devices(), DEVICE, Incarnation(0), SessionId(0));
    let nowhere = DeviceMessage::new(QName::new("NO.SUCH.QUEUE").unwrap(), Bytes::from_static(b"two"));
    assert_eq!(device.put(1, &message("one")), PutOutcome::Taken);
    let refused = device.put(2, &nowhere);
    assert!(matches!(refused, PutOutcome::Refused(_)), "{refused:?}");
    // At once, and after as many others as may be under way. Nothing of what is said again counts but its number.
    assert_eq!(device.put(1, &message("one, again")), PutOutcome::Taken);
    let last = u64::from(Limits::default().put_credit);
    for sequence in 3..=last {
        assert_eq!(device.put(sequence, &message("another")), PutOutcome::Taken);
    }
    assert_eq!(device.put(1, &message("one, again")), PutOutcome::Taken);
    // By another connection, and after a crash.
    let mut device = device.again(service.devices(), DEVICE);
    assert_eq!(device.put(1, &message("one, again")), PutOutcome::Taken);
    service.kill();
    service.restart();
    let mut device = device.again(service.devices(), DEVICE);
    for sequence in [1, last, 3] {
        assert_eq!(device.put(sequence, &message("again")), PutOutcome::Taken);
    }
    assert_eq!(device.put(2, &message("two, to where it can go")), refused);
    // So late that a device which keeps to its credit knows the answer: it is told that something is wrong with it.
    let far = 8 * last;
    for sequence in last + 1..=far {
        assert_eq!(device.put(sequence, &message("another")), PutOutcome::Taken);
    }
    let late = device.put_frame(1, &message("one, again"));
    assert!(matches!(late, Frame::Error { code: ErrorCode::SEQUENCE, .. }), "{late:?}");
    let texts: Vec<Bytes> = app(&service).drain(UP).into_iter().map(|got| got.data).collect();
    let mut expected = vec!["one"];
    expected.resize(usize::try_from(far).unwrap() - 1, "another");
    assert_eq!(texts, expected);
}

#[test]
fn acceptance_08_headers_and_bodies_go_to_a_device_and_back_unchanged() {
    let service = Service::start(GATEWAY);
    let mut app = app(&service);
    let sent = Mqmd {
        version: 2,
        report: ReportOptions::PASS_MSG_ID | ReportOptions::PASS_CORREL_ID,
        msg_type: MsgType::REQUEST,
        feedback: Feedback(65_536),
        encoding: Encoding::BIG,
        format: Chars::cut("MYFORMAT"),
        priority: 7,
        correl_id: CorrelId([2; 24]),
        reply_to_q: QName::new("ANSWERS").unwrap(),
        reply_to_q_mgr: QMgrName::new("QM9").unwrap(),
        user_identifier: Chars::cut("mueller"),
        accounting_token: AccountingToken([3; 32]),
        appl_identity_data: Chars::cut("identity"),
        put_appl_type: ApplType::JAVA,
        put_appl_name: Chars::cut("orders.jar"),
        put_date: Chars::cut("20261130"),
        put_time: Chars::cut("16595999"),
        appl_origin_data: Chars::cut("orig"),
        ..persistent()
    };
    // All that a byte can be, under each character set.
    let body: Vec<u8> = (0..=u8::MAX).cycle().take(1_000).collect();
    let ccsids = [1208, 819, 500, 1200, 37, 1381].map(Ccsid);
    let options = OpenOptions::OUTPUT | OpenOptions::SET_ALL_CONTEXT;
    let target = app.open(ADDRESS, "GATE1", options).unwrap();
    let mut put = Vec::new();
    for ccsid in ccsids {
        let md = Mqmd { ccsid, ..sent.clone() };
        let options = PutOptions::NO_SYNCPOINT | PutOptions::SET_ALL_CONTEXT;
        put.push(app.put(target, md, options, body.clone()).unwrap());
    }
    let received = echo(&service, ccsids.len());
    for ((sent, at_device), back) in put.iter().zip(&received).zip(came(&mut app, ccsids.len())) {
        let at_device = &at_device.message;
        assert_eq!(at_device.descriptor, Mqmd { version: 2, ..sent.clone() });
        assert_eq!((&at_device.payload[..], &back.data[..]), (&body[..], &body[..]), "{:?}", sent.ccsid);
        // Who has put it, and when, is the gateway's word: a device cannot say that it is somebody else.
        let now = back.md.clone();
        let name = Chars::cut(DEVICE);
        assert_eq!((now.user_identifier, now.put_appl_name), (name, Chars::cut(DEVICE)));
        let expected = Mqmd {
            version: 2,
            user_identifier: name,
            accounting_token: AccountingToken::NONE,
            appl_identity_data: Chars::BLANK,
            put_appl_type: ApplType::USER,
            put_appl_name: now.put_appl_name,
            put_date: now.put_date,
            put_time: now.put_time,
            appl_origin_data: Chars::BLANK,
            ..sent.clone()
        };
        assert_eq!(Mqmd { version: 2, ..now }, expected);
    }
}

/// A transmission queue header in the words of a queue manager on z/OS.
#[test]
fn acceptance_08_a_header_in_ebcdic_is_read() {
    let service = Service::start(GATEWAY);
    let mut app = app(&service);
    let coding = Coding::of(Encoding::BIG, Ccsid(500));
    let header = Mqxqh {
        remote_q_name: QName::new(ADDRESS).unwrap(),
        remote_q_mgr_name: QMgrName::new("GATE1").unwrap(),
        msg_desc: Mqmd { ccsid: Ccsid(500), encoding: Encoding::BIG, priority: 5, ..persistent() },
        ..Mqxqh::default()
    };
    let mut bytes = BytesMut::new();
    header.encode(&mut Writer::new(&mut bytes, coding));
    let text = [0xC8, 0x81, 0x93, 0x93, 0x96];
    bytes.extend_from_slice(&text);
    let format = FormatName::XMIT_Q_HEADER;
    let md = Mqmd { format, ccsid: Ccsid(500), encoding: Encoding::BIG, ..persistent() };
    app.put_md("GATE1", "", md, bytes.freeze()).unwrap();
    let received = echo(&service, 1).remove(0).message;
    assert_eq!((received.queue.to_string(), &received.payload[..]), ("ORDERS".to_owned(), &text[..]));
    let md = &received.descriptor;
    assert_eq!((md.ccsid, md.format, md.priority), (Ccsid(500), FormatName::STRING, 5));
    let back = came(&mut app, 1).remove(0);
    assert_eq!((back.md.ccsid, back.md.format, &back.data[..]), (Ccsid(500), FormatName::STRING, &text[..]));
}
