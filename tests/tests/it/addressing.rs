//! How MQ applications address devices (mqe.md 6.2, 6.3): each way with its definitions for a whole fleet with two queues each,
//! generated, loaded and used. What they count is what the article counts.

use std::fmt::Write;
use std::time::Instant;

use device_sim::device::{Device, DeviceOptions, Received};
use integration_tests::mq::{Mq, persistent};
use integration_tests::service::Service;
use integration_tests::{tools, wait};
use mq_wire::{Mqmd, OpenOptions, PutOptions};

use crate::GATEWAY;

const TIME: std::time::Duration = std::time::Duration::from_secs(300);

/// A way: its definitions for a device, those for all, and how a queue of a device is addressed.
struct Way {
    name: &'static str,
    of_device: fn(usize, &mut String),
    of_all: &'static str,
    /// Queue and queue manager that an application names.
    address: fn(usize, &str) -> (String, String),
    /// Definitions for 10,000 devices; what the product defines by itself is not among them.
    count: usize,
}

const WAYS: [Way; 4] = [
    Way {
        name: "a remote queue for each queue of each device",
        of_device: |device, out| {
            for queue in ["ORDERS", "PRICES"] {
                let _ = writeln!(
                    out,
                    "DEFINE QREMOTE(D{device:05}.{queue}) RNAME({queue}) RQMNAME(DEV{device:05}) XMITQ(FLEET)"
                );
            }
        },
        of_all: "DEFINE QLOCAL(FLEET) USAGE(XMITQ) MAXDEPTH(999999999)\n",
        address: |device, queue| (format!("D{device:05}.{queue}"), String::new()),
        count: 20_001,
    },
    Way {
        name: "a queue manager alias for each device",
        of_device: |device, out| {
            let _ = writeln!(out, "DEFINE QREMOTE(DEV{device:05}) RQMNAME(DEV{device:05}) XMITQ(FLEET)");
        },
        of_all: "DEFINE QLOCAL(FLEET) USAGE(XMITQ) MAXDEPTH(999999999)\n",
        address: |device, queue| (queue.to_owned(), format!("DEV{device:05}")),
        count: 10_001,
    },
    Way {
        name: "the default transmission queue",
        of_device: |_, _| {},
        of_all: "DEFINE QLOCAL(FLEET) USAGE(XMITQ) MAXDEPTH(999999999)\nALTER QMGR DEFXMITQ(FLEET)\n",
        address: |device, queue| (queue.to_owned(), format!("DEV{device:05}")),
        count: 1,
    },
    Way {
        name: "the device in the queue's name",
        of_device: |_, _| {},
        of_all: "DEFINE QREMOTE(GATE9) RQMNAME(GATE9) XMITQ(FLEET)\nDEFINE QLOCAL(FLEET) USAGE(XMITQ) MAXDEPTH(999999999)\n",
        address: |device, queue| (format!("{queue}%DEV{device:05}"), "GATE9".to_owned()),
        count: 1,
    },
];

/// The definitions of a way that are its own: the transmission queue that all need counts where the article counts it.
fn definitions(way: &Way, devices: usize) -> (String, usize) {
    let mut script = String::from(way.of_all);
    (0..devices).for_each(|device| (way.of_device)(device, &mut script));
    let count = match way.count {
        1 => 1,
        _ => script.lines().filter(|line| line.starts_with("DEFINE")).count(),
    };
    (script, count)
}

#[test]
fn definitions_are_as_many_as_the_article_counts() {
    for way in &WAYS {
        assert_eq!(definitions(way, 10_000).1, way.count, "{}", way.name);
    }
}

#[test]
fn each_way_of_addressing_reaches_every_queue_of_every_device() {
    let devices = tools::count(10_000, 150) as usize;
    let config = "[gateway]\naliases = [\"GATE9\"]\ntransmission_queue = \"FLEET\"\n";
    for way in &WAYS {
        let (script, _) = definitions(way, devices);
        let service = Service::prepare(GATEWAY).with_config(config);
        let file = service.folder().join("fleet.mqsc");
        std::fs::write(&file, &script).unwrap();
        let mut service = service.with(&["--mqsc", &file.display().to_string()]);
        let begun = Instant::now();
        service.restart();
        let loaded = begun.elapsed();
        let mut app = Mq::connect(&service.connect_options("DEV.APP.SVRCONN")).unwrap();
        for device in 0..devices {
            for queue in ["ORDERS", "PRICES"] {
                let (queue, q_mgr) = (way.address)(device, queue);
                let handle = app.open(&queue, &q_mgr, OpenOptions::OUTPUT).unwrap();
                app.put(handle, persistent(), PutOptions::SYNCPOINT, "x").unwrap();
                app.close(handle).unwrap();
            }
            if device % 100 == 99 {
                app.commit().unwrap();
            }
        }
        app.commit().unwrap();
        let accepted = 2 * devices as u64;
        wait::until(way.name, TIME, || {
            (service.status()["area"]["messages"].as_u64() == Some(accepted)).then_some(())
        });
        for device in [0, devices / 2, devices - 1] {
            let report = service.device(&format!("DEV{device:05}")).unwrap();
            assert_eq!(report["waiting"], 2, "{}: {report:#}", way.name);
        }
        assert_eq!(service.depth("DEV.DEAD.LETTER.QUEUE"), 0, "{}", way.name);
        let lines = script.lines().count();
        eprintln!("addressing: {}: {lines} commands, ready after {loaded:?}", way.name);
    }
}

/// mqe.md 10 #1: with one definition each device gets just what is for it, by priority and then as it was put.
#[test]
fn acceptance_01_each_device_gets_its_messages_by_priority_then_arrival_with_one_definition() {
    let devices = tools::count(10_000, 100) as usize;
    let way = &WAYS[3];
    let (script, count) = definitions(way, devices);
    assert_eq!(count, 1);
    let config = "[gateway]\naliases = [\"GATE9\"]\ntransmission_queue = \"FLEET\"\n";
    let service = Service::prepare(GATEWAY).with_config(config);
    let file = service.folder().join("fleet.mqsc");
    std::fs::write(&file, &script).unwrap();
    let mut service = service.with(&["--mqsc", &file.display().to_string()]);
    service.restart();
    let mut app = Mq::connect(&service.connect_options("DEV.APP.SVRCONN")).unwrap();
    // The numbers say in which order the messages of a device must come: both queues' together.
    let put = [
        ("ORDERS", 4, 3),
        ("PRICES", 9, 1),
        ("ORDERS", 0, 6),
        ("PRICES", 4, 4),
        ("ORDERS", 9, 2),
        ("PRICES", 4, 5),
    ];
    for device in 0..devices {
        for (queue, priority, number) in put {
            let (address, q_mgr) = (way.address)(device, queue);
            let md = Mqmd { priority, ..persistent() };
            let handle = app.open(&address, &q_mgr, OpenOptions::OUTPUT).unwrap();
            app.put(handle, md, PutOptions::SYNCPOINT, format!("{device} {queue} {number}")).unwrap();
            app.close(handle).unwrap();
        }
        if device % 100 == 99 || device + 1 == devices {
            app.commit().unwrap();
        }
    }
    let accepted = put.len() * devices;
    wait::until("all messages in the area", TIME, || {
        (service.status()["area"]["messages"].as_u64() == Some(accepted as u64)).then_some(())
    });
    let mut expected = put;
    expected.sort_by_key(|(.., number)| *number);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        for number in 0..devices {
            let name = format!("DEV{number:05}").parse().unwrap();
            let options = DeviceOptions::new(service.devices().to_string(), name);
            let mut device = Device::open(options).await.unwrap();
            let mut came = Vec::new();
            while came.len() < put.len() {
                let Received { uid, message, .. } = device.next(TIME).await.unwrap().expect("a message");
                came.push((
                    message.queue.to_string(),
                    String::from_utf8_lossy(&message.payload).into_owned(),
                ));
                device.used(&[uid]).await.unwrap();
            }
            let texts =
                expected.map(|(queue, _, order)| (queue.to_owned(), format!("{number} {queue} {order}")));
            assert_eq!(came, texts);
            assert!(device.close(TIME).await.unwrap());
        }
    });
    assert_eq!(service.status()["area"]["messages"], 0);
    assert_eq!(service.depth("DEV.DEAD.LETTER.QUEUE"), 0);
}
