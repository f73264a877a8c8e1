//! A data directory of one moment with the index of a later one, as when half of it was restored: what the journal
//! holds is there, and nothing of the time in between.

use std::fs;
use std::path::Path;

use integration_tests::device::Device;
use integration_tests::mq::Mq;
use integration_tests::process::folder;
use integration_tests::service::Service;
use mq_wire::{OpenOptions, Selector};
use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::folders::{INDEX, assert_clean, copy_folder};
use crate::{CONFIG, DEVICE_SIM, GATEWAY};

const QUEUES: [&str; 3] = ["DEV.QUEUE.1", "EARLY", "LATE"];
const DEVICES: [&str; 2] = ["DEV00001", "DEV00002"];

/// A service on this directory, with an MQSC script.
#[track_caller]
fn start(data: &Path, script: &str) -> (Service, Mq) {
    let service = Service::prepare(GATEWAY).with_data(data).with_config(CONFIG);
    fs::write(service.folder().join("under-test.mqsc"), script).unwrap();
    let mut service = service.with(&["--mqsc", "under-test.mqsc"]);
    service.restart();
    let app = Mq::connect(&service.connect_options("DEV.APP.SVRCONN")).unwrap();
    (service, app)
}

#[track_caller]
fn put(app: &mut Mq, to: &str, at: &str, texts: &[&str]) {
    for text in texts {
        app.put_one(to, at, (*text).to_owned()).unwrap();
    }
}

/// All that a store holds, as its users see it: it is taken out.
#[track_caller]
fn content(data: &Path) -> Value {
    let (mut service, mut app) = start(data, "");
    let devices = DEVICES.map(|name| service.device(name));
    let queues = QUEUES.map(|queue| {
        let handle = app.open(queue, "", OpenOptions::INQUIRE).ok()?;
        let depth_max = app.integers(handle, &[Selector::IA_MAX_Q_DEPTH]).unwrap();
        let texts = app.drain(queue).into_iter().map(|got| String::from_utf8(got.data.to_vec()).unwrap());
        Some((depth_max, texts.collect::<Vec<_>>()))
    });
    let pulled = DEVICES.map(|name| {
        let waiting = service.device(name).map_or(0, |device| device["waiting"].as_u64().unwrap());
        let device = Device::new(DEVICE_SIM, service.devices(), name, service.folder());
        if waiting > 0 { device.pull(usize::try_from(waiting).unwrap()) } else { Vec::new() }
    });
    service.stop();
    assert_clean(data, service.folder());
    serde_json::json!({ "devices": devices, "queues": queues, "pulled": pulled })
}

#[test]
fn an_index_of_a_later_moment_changes_nothing() {
    let folder = folder();
    let [data, early, reference] = ["data", "early", "reference"].map(|name| folder.path().join(name));
    let (mut service, mut app) = start(&data, "DEFINE QLOCAL(EARLY) MAXDEPTH(11)");
    put(&mut app, "EARLY", "", &["one", "two"]);
    put(&mut app, "DEV.QUEUE.1", "", &["three"]);
    put(&mut app, "ORDERS%DEV00001", "GATE1", &["four", "five", "six"]);
    service.wait_until_handed_over();
    service.stop();
    copy_folder(&data, &early);
    copy_folder(&data, &reference);

    let (mut service, mut app) = start(&data, "DEFINE QLOCAL(LATE)\nALTER QLOCAL(EARLY) MAXDEPTH(22)");
    put(&mut app, "LATE", "", &["seven"]);
    put(&mut app, "ORDERS%DEV00002", "GATE1", &["eight"]);
    service.wait_until_handed_over();
    assert_eq!(app.drain("EARLY").len(), 2);
    Device::new(DEVICE_SIM, service.devices(), "DEV00001", service.folder()).pull(2);
    service.stop();
    let _ = fs::remove_dir_all(early.join(INDEX));
    if data.join(INDEX).exists() {
        copy_folder(&data.join(INDEX), &early.join(INDEX));
    }
    // Whatever a later start has left there.
    fs::create_dir_all(early.join(INDEX).join("1")).unwrap();
    fs::write(early.join(INDEX).join("1/db"), [0x5a; 3000]).unwrap();

    let expected = content(&reference);
    assert_eq!(expected["queues"][1], serde_json::json!([[11], ["one", "two"]]));
    let found = content(&early);
    assert_eq!(found, expected);
}
