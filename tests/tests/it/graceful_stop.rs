//! SIGTERM: what is committed stays, what is not does not, and the process ends well within its grace period.

use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use integration_tests::mq::{Mq, persistent};
use integration_tests::service::Service;
use integration_tests::wait;
use mq_client::ClientError;
use mq_wire::{GetOptions, OpenOptions, PutOptions, Reason};

use crate::GATEWAY;

/// The grace period of a service (INTERFACE.md 3, `[limits] grace_seconds`), and some time to end in order.
const GRACE: Duration = Duration::from_secs(15);

#[test]
fn a_stop_keeps_what_was_committed_and_nothing_else() {
    let mut service = Service::start(GATEWAY);
    let options = service.connect_options("DEV.APP.SVRCONN");
    // A get that waits for a minute.
    let (waits, done) = channel();
    let waiter = {
        let options = options.clone();
        thread::spawn(move || {
            let mut app = Mq::connect(&options).unwrap();
            let handle = app.open("DEV.QUEUE.2", "", OpenOptions::INPUT_SHARED).unwrap();
            waits.send(()).unwrap();
            app.get(handle, GetOptions::FAIL_IF_QUIESCING, Duration::from_secs(60)).map(|got| got.is_some())
        })
    };
    done.recv_timeout(GRACE).unwrap();
    wait::until("an open handle", GRACE, || {
        let status = service.status();
        let queue =
            status["queues"].as_array().unwrap().iter().find(|queue| queue["name"] == "DEV.QUEUE.2").cloned();
        queue.filter(|queue| queue["open_input"] == 1)
    });
    // A unit of work that stays open: one message put, one got.
    let mut app = Mq::connect(&options).unwrap();
    let handle = app.open("DEV.QUEUE.1", "", OpenOptions::OUTPUT | OpenOptions::INPUT_SHARED).unwrap();
    for text in ["first", "second"] {
        app.put(handle, persistent(), PutOptions::SYNCPOINT, text).unwrap();
    }
    app.commit().unwrap();
    app.put(handle, persistent(), PutOptions::SYNCPOINT, "never committed").unwrap();
    let got = app.get(handle, GetOptions::SYNCPOINT, Duration::ZERO).unwrap().unwrap();
    assert_eq!(&got.data[..], b"first");

    let begun = Instant::now();
    let ended = service.stop();
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    assert!(begun.elapsed() < GRACE, "it took {:?}", begun.elapsed());
    assert!(ended.stderr.contains("stopped"), "{}", ended.stderr);
    // 2161 where it was told, 2009 where it was cut.
    let outcome = waiter.join().unwrap();
    let reason = outcome.as_ref().map_err(ClientError::reason);
    assert!(
        matches!(
            reason,
            Err(Reason::Q_MGR_QUIESCING | Reason::CONNECTION_QUIESCING | Reason::CONNECTION_BROKEN)
        ),
        "{outcome:?}"
    );

    service.restart();
    let mut app = Mq::connect(&options).unwrap();
    let left = app.drain("DEV.QUEUE.1");
    let texts: Vec<_> = left.iter().map(|got| String::from_utf8_lossy(&got.data).into_owned()).collect();
    assert_eq!(texts, ["first", "second"]);
    assert_eq!(left[0].md.backout_count, 1, "the stop backed its get out");
}

#[test]
fn an_idle_service_stops_at_once() {
    let mut service = Service::start(GATEWAY);
    let begun = Instant::now();
    let ended = service.stop();
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    assert!(begun.elapsed() < Duration::from_secs(5), "it took {:?}", begun.elapsed());
}
