//! Unmodified IBM classes against the service: every verb, and a fleet, with a capture that an independent dissector
//! reads.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use integration_tests::device::Device;
use integration_tests::java::Java;
use integration_tests::process::Process;
use integration_tests::relay::Relay;
use integration_tests::service::Service;
use integration_tests::{remote, tools};
use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::{DEVICE_SIM, GATEWAY};

const DEVICES: usize = 100;
const MESSAGES: usize = 1000;
const SIZE: usize = 200;
const TIME: Duration = Duration::from_secs(180);
/// Devices that are played at the same time.
const AT_ONCE: usize = 4;

/// Segments that the dissector calls malformed though they are right: message of the dissector and the reason.
///
/// None at present. What it merely does not know (MQCONN with a body of 472 bytes at FAP 15 and above, SPI RESERVE) it
/// shows as unknown, not as malformed.
const MALFORMED_ALL_THE_SAME: &[(&str, &str)] = &[];

/// Compiled once for all tests.
fn java() -> Option<&'static Java> {
    static JAVA: OnceLock<Option<Java>> = OnceLock::new();
    let prepare = || {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("interop-it");
        std::fs::create_dir_all(&folder).unwrap();
        Java::prepare(&folder)
    };
    JAVA.get_or_init(prepare).as_ref()
}

fn strings(args: &[&dyn ToString]) -> Vec<String> {
    args.iter().map(|arg| arg.to_string()).collect()
}

#[test]
fn verbs() {
    let Some(java) = java() else { return };
    let service = Service::start(GATEWAY);
    let ended = java.run("Verbs", &strings(&[&service.mq().port()]), service.folder(), TIME);
    let failed: Vec<&str> = ended.stdout.lines().filter(|line| line.starts_with("FAILED")).collect();
    assert!(failed.is_empty() && ended.status.success(), "{failed:#?}\n{}\n{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.contains(" passed, 0 failed"), "{}", ended.stdout);
}

/// The article's case word for word: one definition in MQ, a message to `QueueA%Device0001` at the gateway's name, put by
/// IBM's own classes into a queue manager that the gateway reaches as a client; the device gets it under `QueueA`.
#[test]
fn the_articles_case() {
    let Some(java) = java() else { return };
    let mut hq = remote::queue_manager(GATEWAY);
    hq.restart();
    let mut gateway = remote::gateway(GATEWAY, &hq, "", "[devices]\npattern = \"Device*\"\n");
    gateway.restart();
    let put = strings(&[&hq.mq().port(), &"HQ", &"QueueA%Device0001", &"GATE1", &"word for word"]);
    java.run("Article", &put, hq.folder(), TIME).succeeded();
    let device = Device::new(DEVICE_SIM, gateway.devices(), "Device0001", gateway.folder());
    let message = &device.pull(1)[0];
    assert_eq!(message["queue"], "QueueA");
    assert_eq!(message["payload"], "word for word");
    assert_eq!(message["origin_qmgr"], "HQ");
    // A message property is a field of the device's message, and no header is in front of its data.
    assert_eq!(message["properties"]["colour"], "blue", "{message:#}");
    assert_eq!(message["format"], "MQSTR");
}

#[test]
fn fleet() {
    let (Some(java), Some(tshark)) = (java(), tools::program("tshark")) else { return };
    let service = Service::start(GATEWAY);
    let capture = service.folder().join("mq.pcap");
    let relay = Relay::start(service.mq(), &capture).unwrap();
    let port = relay.address().port();

    let put = strings(&[&"put", &port, &DEVICES, &MESSAGES, &50, &SIZE]);
    let ended = java.run("Fleet", &put, service.folder(), TIME).succeeded();
    assert!(ended.stdout.contains(&format!("put {MESSAGES}")), "{}", ended.stdout);
    service.wait_until_handed_over();

    let pulled = play_devices(&service);
    let numbers: Vec<BTreeSet<usize>> = pulled.iter().map(|messages| numbers(messages)).collect();
    for (device, numbers) in numbers.iter().enumerate() {
        let expected: BTreeSet<usize> = (device..MESSAGES).step_by(DEVICES).collect();
        assert_eq!(*numbers, expected, "device {device}");
    }
    check_message(&pulled[42][0]);

    let answers = strings(&[&"answers", &port, &"DEV.QUEUE.1", &MESSAGES, &30_000]);
    let ended = java.run("Fleet", &answers, service.folder(), TIME).succeeded();
    let answered: BTreeSet<&str> = ended.stdout.lines().collect();
    let expected: BTreeSet<String> = (0..MESSAGES).map(|number| format!("answer {number}")).collect();
    assert_eq!(answered, expected.iter().map(String::as_str).collect());
    assert_eq!(service.depth("DEV.QUEUE.1"), 0);
    assert_eq!(service.status()["area"]["messages"], 0);

    relay.flushed(|| dissect(&tshark, &capture, port));
}

/// Each device pulls all that waits for it and answers each message.
fn play_devices(service: &Service) -> Vec<Vec<Value>> {
    let pulled = Mutex::new(vec![Vec::new(); DEVICES]);
    let (gateway, folder) = (service.devices(), service.folder());
    std::thread::scope(|scope| {
        for first in 0..AT_ONCE {
            let pulled = &pulled;
            scope.spawn(move || {
                for index in (first..DEVICES).step_by(AT_ONCE) {
                    let name = format!("DEV{index:05}");
                    let device = Device::new(DEVICE_SIM, gateway, &name, folder);
                    let messages = device.pull(MESSAGES / DEVICES);
                    let answers: Vec<String> =
                        numbers(&messages).iter().map(|number| format!("answer {number}")).collect();
                    device.push("DEV.QUEUE.1@QM1", &answers);
                    pulled.lock().unwrap()[index] = messages;
                }
            });
        }
    });
    pulled.into_inner().unwrap()
}

/// The numbers at the beginning of the payloads, which must come in order.
fn numbers(messages: &[Value]) -> BTreeSet<usize> {
    let payload = |message: &Value| message["payload"].as_str().unwrap().to_owned();
    let numbers: Vec<usize> =
        messages.iter().map(|message| payload(message).split_once(':').unwrap().0.parse().unwrap()).collect();
    assert!(numbers.is_sorted(), "the order is lost: {numbers:?}");
    let set: BTreeSet<usize> = numbers.iter().copied().collect();
    assert_eq!(set.len(), numbers.len(), "a message came twice: {numbers:?}");
    set
}

/// What `device-sim pull` shows of a message of the fleet (INTERFACE.md 5).
fn check_message(message: &Value) {
    let payload = message["payload"].as_str().unwrap();
    assert!(payload.starts_with("42:") && payload.contains('#'), "{payload}");
    let expected = [
        ("device", Value::from("DEV00042")),
        ("queue", Value::from("ORDERS")),
        ("origin_qmgr", Value::from("QM1")),
        ("priority", Value::from(0)),
        ("persistent", Value::from(true)),
        ("format", Value::from("MQSTR")),
        ("ccsid", Value::from(1208)),
        ("deliveries", Value::from(1)),
        ("correlation_id", Value::Null),
        ("expiry_ms", Value::Null),
        ("properties", Value::Object(serde_json::Map::new())),
    ];
    for (field, value) in expected {
        assert_eq!(message[field], value, "{field} of {message:#}");
    }
    assert!(message["uid"].as_str().is_some_and(|uid| uid.matches('-').count() == 2), "{message:#}");
    // What the classes for Java say of themselves: big- or little-endian IEEE.
    assert!(matches!(message["encoding"].as_i64(), Some(273 | 546)), "{message:#}");
    assert!(message["message_id"].as_str().is_some_and(|id| id.len() == 48), "{message:#}");
    assert!(message["reply_to"].to_string().contains("DEV.QUEUE.1"), "{message:#}");
}

/// The capture as Wireshark's MQ dissector sees it.
fn dissect(tshark: &Path, capture: &Path, port: u16) {
    let folder = capture.parent().unwrap();
    let lines = |name: &str, filter: &str| -> Vec<String> {
        let mut command = Command::new(tshark);
        command.arg("-r").arg(capture).args(["-d", &format!("tcp.port=={port},mq"), "-Y", filter]);
        command.args(["-T", "fields", "-e", "frame.number", "-e", "_ws.col.Info"]);
        let ended = Process::run(name, command, folder, TIME).succeeded();
        ended.stdout.lines().map(str::to_owned).collect()
    };
    let all = lines("tshark-mq", "mq");
    // A put has a request and a reply, a get too.
    assert!(all.len() > 4 * MESSAGES, "the dissector saw {} segments only", all.len());
    for verb in ["MQPUT", "MQGET", "MQCMIT", "MQDISC"] {
        assert!(all.iter().any(|line| line.contains(verb)), "no {verb} was recognised");
    }
    let known = |line: &String| MALFORMED_ALL_THE_SAME.iter().any(|(message, _)| line.contains(message));
    let malformed: Vec<String> =
        lines("tshark-malformed", "_ws.malformed").into_iter().filter(|line| !known(line)).collect();
    assert!(malformed.is_empty(), "malformed: {malformed:#?}");
}
