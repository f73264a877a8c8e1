//! A stored message whose bytes were changed on the disk: it is never handed out, everybody who asks is told, and status
//! names it.

use std::fs;
use std::time::Duration;

use integration_tests::mq::{Mq, persistent, reason};
use integration_tests::service::Service;
use mq_wire::{GetOptions, OpenOptions, PutOptions, Reason};

use crate::GATEWAY;

#[test]
fn a_changed_message_is_told_and_named_and_never_handed_out() {
    let mut service = Service::start(GATEWAY);
    let options = service.connect_options("DEV.APP.SVRCONN");
    let mut app = Mq::connect(&options).unwrap();
    let handle = app.open("DEV.QUEUE.1", "", OpenOptions::OUTPUT).unwrap();
    for text in ["the first message", "NEEDLE IN THE JOURNAL", "the third message"] {
        app.put(handle, persistent(), PutOptions::NO_SYNCPOINT, text).unwrap();
    }
    app.disconnect().unwrap();
    service.stop();
    assert_eq!(change(&service, b"NEEDLE"), 1, "the message is in the journal once");

    service.restart();
    let mut app = Mq::connect(&options).unwrap();
    let handle = app.open("DEV.QUEUE.1", "", OpenOptions::INPUT_SHARED).unwrap();
    assert_eq!(&app.get_one(handle, Duration::ZERO).data[..], b"the first message");
    let damaged = app.get(handle, GetOptions::NO_SYNCPOINT, Duration::ZERO);
    assert_eq!(reason(damaged), Reason::OBJECT_DAMAGED);
    let status = service.status();
    let problems = status["problems"].as_array().unwrap();
    assert!(problems.iter().any(|problem| problem.to_string().contains("damaged")), "{status:#}");
    // That get had taken it, outside of a unit of work: what is behind it can be had.
    assert_eq!(&app.get_one(handle, Duration::ZERO).data[..], b"the third message");
}

/// Changes a byte of each place where the journal has these; how many there were.
pub(super) fn change(service: &Service, bytes: &[u8]) -> usize {
    let mut changed = 0;
    for entry in fs::read_dir(service.data().join("journal")).unwrap() {
        let path = entry.unwrap().path();
        let mut content = fs::read(&path).unwrap();
        let places: Vec<usize> =
            (0..content.len() - bytes.len()).filter(|place| content[*place..].starts_with(bytes)).collect();
        for place in &places {
            content[*place] ^= 0x20;
        }
        fs::write(&path, content).unwrap();
        changed += places.len();
    }
    changed
}
