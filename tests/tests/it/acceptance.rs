//! Acceptance checks of mqe.md 10 that no other test shows whole: one definition for a fleet, and every field both ways.

use std::time::Duration;

use device_sim::device::{Device, DeviceOptions, NewPut, device_name};
use integration_tests::mq::{Mq, persistent};
use integration_tests::service::Service;
use integration_tests::{remote, tools, wait};
use mq_wire::{
    AccountingToken, ApplType, Ccsid, Chars, CorrelId, Encoding, Feedback, GetOptions, GroupId, MessageFlags,
    Mqgmo, Mqmd, MsgId, MsgType, OpenOptions, Persistence, PutOptions, QMgrName, QName, ReportOptions,
};
use mqe::DeviceMessage;
use pretty_assertions::assert_eq;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use crate::GATEWAY;

const TIME: Duration = Duration::from_secs(120);
/// Devices that pull at the same time.
const AT_ONCE: usize = 50;
/// What each device gets: queue and priority in the order of arrival, and their places in the order in which they come.
const SENT: [(&str, i32); 5] = [("ORDERS", 0), ("PRICES", 9), ("ORDERS", 4), ("PRICES", 4), ("PRICES", 0)];
const COMES: [usize; 5] = [1, 2, 3, 0, 4];

/// "10,000 devices × 2 queues, 1 MQ definition: each device gets exactly its messages, in order by priority then arrival."
#[test]
fn acceptance_01_each_device_of_a_fleet_gets_exactly_its_messages_by_priority_then_arrival() {
    let devices = tools::count(10_000, 150) as u32;
    let service = Service::start(GATEWAY);
    let mut app = Mq::connect(&service.connect_options("DEV.APP.SVRCONN")).unwrap();
    let name = |device: u32| device_name("DEV", device).unwrap();
    for (queue, priority) in SENT {
        for device in 0..devices {
            let address = format!("{queue}%{}", name(device));
            let handle = app.open(&address, "GATE1", OpenOptions::OUTPUT).unwrap();
            let md = Mqmd { priority, ..persistent() };
            app.put(handle, md, PutOptions::SYNCPOINT, format!("{device} {priority} {queue}")).unwrap();
            app.close(handle).unwrap();
            if device % 100 == 99 {
                app.commit().unwrap();
            }
        }
        app.commit().unwrap();
    }
    let sent = SENT.len() as u64 * u64::from(devices);
    let waiting = || service.status()["area"]["messages"].as_u64() == Some(sent);
    wait::until("all messages", TIME, || waiting().then_some(()));

    let gateway = service.devices().to_string();
    Runtime::new().unwrap().block_on(async {
        let mut pulls = JoinSet::new();
        for device in 0..devices {
            if pulls.len() == AT_ONCE {
                pulls.join_next().await.unwrap().unwrap();
            }
            let options = DeviceOptions::new(gateway.clone(), name(device));
            pulls.spawn(async move {
                let mut pulling = Device::open(options).await.unwrap();
                let expected = COMES.map(|place| SENT[place]);
                for (queue, priority) in expected {
                    let got = pulling.next(TIME).await.unwrap().expect("a message");
                    assert_eq!(got.message.payload, format!("{device} {priority} {queue}"));
                    assert_eq!(got.message.queue.to_string(), queue);
                    pulling.used(&[got.uid]).await.unwrap();
                }
                assert!(pulling.close(TIME).await.unwrap(), "all is confirmed");
            });
        }
        while let Some(pulled) = pulls.join_next().await {
            pulled.unwrap();
        }
    });
    let area = &service.status()["area"];
    assert_eq!((&area["messages"], &area["ends"]["delivered"]), (&0.into(), &sent.into()), "{area:#}");
    assert_eq!(service.depth("DEV.DEAD.LETTER.QUEUE"), 0);
}

/// A descriptor with a value in each field.
fn full() -> Mqmd {
    Mqmd {
        version: 2,
        report: ReportOptions::COA | ReportOptions::PASS_CORREL_ID,
        msg_type: MsgType::REQUEST,
        expiry: 36_000,
        feedback: Feedback(300),
        encoding: Encoding::BIG,
        ccsid: Ccsid(500),
        format: Chars::cut("MYFORMAT"),
        priority: 7,
        persistence: Persistence::PERSISTENT,
        msg_id: MsgId([1; 24]),
        correl_id: CorrelId([2; 24]),
        backout_count: 0,
        reply_to_q: QName::new("REPLY.HERE").unwrap(),
        reply_to_q_mgr: QMgrName::new("QM9").unwrap(),
        user_identifier: Chars::cut("mueller"),
        accounting_token: AccountingToken([3; 32]),
        appl_identity_data: Chars::cut("identity of the application"),
        put_appl_type: ApplType::JAVA,
        put_appl_name: Chars::cut("an application"),
        put_date: Chars::cut("20261130"),
        put_time: Chars::cut("16000000"),
        appl_origin_data: Chars::cut("orig"),
        group_id: GroupId([4; 24]),
        msg_seq_number: 5,
        offset: 0,
        msg_flags: MessageFlags::MSG_IN_GROUP,
        original_length: -1,
    }
}
/// No text of any code page.
const BODY: &[u8] = &[0, 0xFF, 0xC1, 0xD8, 13, 10, 0x80, 0];

/// "Header fields round-trip MQ → MQe → MQ; body bytes identical for any CCSID." Through a gateway with its own queue
/// manager, and through one that is a client of another.
#[test]
fn acceptance_08_each_field_and_the_body_there_and_back() {
    let local = Service::start(GATEWAY);
    there_and_back(&local, &local, "QM1");
    let mut hq = remote::queue_manager(GATEWAY);
    hq.restart();
    let mut gateway = remote::gateway(GATEWAY, &hq, "", "");
    gateway.restart();
    there_and_back(&hq, &gateway, "HQ");
}

fn there_and_back(hq: &Service, gateway: &Service, q_mgr: &str) {
    let mut app = Mq::connect(&hq.connect_options("DEV.ADMIN.SVRCONN")).unwrap();
    let all = OpenOptions::OUTPUT | OpenOptions::SET_ALL_CONTEXT;
    let handle = app.open("ORDERS%DEV00001", "GATE1", all).unwrap();
    app.put(handle, full(), PutOptions::NO_SYNCPOINT | PutOptions::SET_ALL_CONTEXT, BODY).unwrap();
    let options = DeviceOptions::new(gateway.devices().to_string(), "DEV00001".parse().unwrap());
    let arrived = Runtime::new().unwrap().block_on(async {
        let mut device = Device::open(options).await.unwrap();
        let got = device.next(TIME).await.unwrap().expect("the message");
        device.used(&[got.uid]).await.unwrap();
        let message = DeviceMessage { queue: QName::new("DEV.QUEUE.1").unwrap(), ..got.message.clone() };
        let (queue, queue_manager) = (message.queue, QMgrName::new(q_mgr).unwrap());
        device.put(NewPut { queue, queue_manager, message }).await.unwrap();
        assert!(device.close(TIME).await.unwrap(), "all is confirmed");
        got.message
    });
    assert_eq!(arrived.payload, BODY);
    // The expiry is a moment in the message, not what is left.
    assert!(arrived.expiry_ms.is_some());
    assert_eq!(arrived.descriptor, Mqmd { expiry: -1, ..full() });
    let queue = app.open("DEV.QUEUE.1", "", OpenOptions::INPUT_SHARED).unwrap();
    let gmo = Mqgmo {
        options: GetOptions::NO_SYNCPOINT | GetOptions::WAIT,
        wait_interval: 30_000,
        ..Mqgmo::default()
    };
    let md = Mqmd { version: 2, ..Mqmd::default() };
    let back = app.get_by(queue, md, gmo).unwrap().expect("it comes back");
    assert_eq!(back.data, BODY);
    assert!((35_000..=36_000).contains(&back.md.expiry), "counted down: {}", back.md.expiry);
    // Who has put it is not for a device to say: that is its context (or the channel's, where `context` is "default").
    let Mqmd { user_identifier, put_appl_name, put_appl_type, put_date, put_time, .. } = back.md;
    assert_ne!((user_identifier.text(), put_date.text()), ("mueller".into(), "20261130".into()));
    let context = Mqmd {
        user_identifier,
        accounting_token: back.md.accounting_token,
        appl_identity_data: back.md.appl_identity_data,
        put_appl_type,
        put_appl_name,
        put_date,
        put_time,
        appl_origin_data: back.md.appl_origin_data,
        ..full()
    };
    assert_eq!(back.md, Mqmd { expiry: back.md.expiry, ..context });
    if gateway.mq() == hq.mq() {
        assert_eq!((user_identifier.text(), put_appl_name.text()), ("DEV00001".into(), "DEV00001".into()));
    }
}
