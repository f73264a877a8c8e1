//! Applications and devices that go on through whatever a test does, and their account in the end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use integration_tests::ledger::{Ledger, Put};
use integration_tests::service::Service;
use integration_tests::traffic::{Devices, Getter, Putter};
use integration_tests::wait;

use crate::looks::{TIME, is_drained};

const LOCAL: &str = "DEV.QUEUE.1";
const FROM_DEVICES: &str = "DEV.QUEUE.3";

/// Applications and devices at work, until they are told to end.
pub(crate) struct Work {
    pub(crate) ledger: Arc<Ledger>,
    devices: Devices,
    putters_end: Arc<AtomicBool>,
    getters_end: Arc<AtomicBool>,
    putters: Vec<JoinHandle<()>>,
    getters: Vec<JoinHandle<Getter>>,
}

impl Work {
    pub(crate) fn start(service: &Service) -> Self {
        let ledger = Arc::new(Ledger::default());
        let options = service.connect_options("DEV.APP.SVRCONN");
        let names: Vec<String> = (1..=3).map(|number| format!("DEV{number:05}")).collect();
        let units = vec![vec![300], vec![2_000; 10], vec![60_000; 3], vec![1_200_000]];
        let (putters_end, getters_end) = <(Arc<AtomicBool>, Arc<AtomicBool>)>::default();
        let putter = |(queue, manager): (&str, &str), name: &str| {
            Putter::new(&options, (queue, manager), name, &ledger).run(&putters_end, units.clone())
        };
        let mut putters: Vec<_> = names
            .iter()
            .map(|name| putter((&format!("ORDERS%{name}"), "GATE1"), &format!("to-{name}")))
            .collect();
        putters.push(putter((LOCAL, ""), "local"));
        let getter = |queue| Getter::new(&options, queue, &ledger).run(&getters_end, 10);
        let getters = [LOCAL, FROM_DEVICES].map(getter).into_iter().collect();
        let mut devices = Devices::new(service.devices(), &names, &ledger);
        devices.start(FROM_DEVICES, 200, 1_000);
        Self { ledger, devices, putters_end, getters_end, putters, getters }
    }

    /// Something more arrives.
    #[track_caller]
    pub(crate) fn goes_on(&self, messages: usize) {
        let arrived = self.ledger.arrived();
        wait::until("messages", TIME, || (self.ledger.arrived() >= arrived + messages).then_some(()));
    }

    /// No more is put, all arrives, and the account is exact.
    #[track_caller]
    pub(crate) fn end(mut self, name: &str, service: &Service) {
        self.putters_end.store(true, Ordering::Relaxed);
        for putter in self.putters {
            putter.join().unwrap();
        }
        let ledger = &self.ledger;
        wait::until("all messages", TIME, || (ledger.missing() == 0 && is_drained(service)).then_some(()));
        self.devices.stop();
        self.getters_end.store(true, Ordering::Relaxed);
        for getter in self.getters {
            getter.join().unwrap();
        }
        let counts = [Put::Taken, Put::Refused, Put::Doubtful].map(|put| ledger.count(put));
        eprintln!("{name}: taken/refused/doubtful {counts:?}");
        ledger.assert_exact();
    }
}
