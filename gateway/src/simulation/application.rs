//! The applications at the queue manager: one puts messages for devices, one gets what devices put, both in units of work.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use mq_client::{ClientError, ConnectOptions};
use mq_wire::{GetOptions, Mqgmo, Mqmd, Mqod, Mqpmo, OpenOptions, Persistence, PutOptions};

use super::context;
use super::device;
use super::ledger::{Ledger, Message, Outcome, Up};
use super::net;

/// Milliseconds between two units of work at most, and before it connects again.
const UNIT_EVERY_MAX: u64 = 600;
const PAUSE_MAX: u64 = 3_000;
/// Messages of a unit at most.
const UNIT_MAX: u64 = 12;

/// What outlives a crash.
#[derive(Debug)]
pub(crate) struct Application {
    pub(crate) ledger: Rc<RefCell<Ledger>>,
    pub(crate) devices: usize,
    pub(crate) messages: u32,
    /// The number of the next message.
    pub(crate) next: Cell<u32>,
}

impl Application {
    pub(crate) fn is_done(&self) -> bool {
        self.next.get() > self.messages
    }

    /// Puts until all is put.
    pub(crate) async fn put(self: Rc<Self>) -> turmoil::Result {
        while !self.is_done() {
            if let Err(error) = self.put_units().await {
                tracing::debug!(%error, "putting again");
                tokio::time::sleep(context::moment(PAUSE_MAX)).await;
            }
        }
        Ok(())
    }

    async fn put_units(&self) -> Result<(), ClientError> {
        let mut connection = net::connect(&options()).await?;
        while !self.is_done() {
            let count = (1 + context::roll(UNIT_MAX) as u32).min(self.messages + 1 - self.next.get());
            let first = self.next.replace(self.next.get() + count);
            let unit: Vec<(u32, usize)> = (first..first + count)
                .map(|number| (number, context::roll(self.devices as u64) as usize))
                .collect();
            for (number, device) in &unit {
                let od = Mqod {
                    object_name: format!("ORDERS%{}", device::name(*device)).parse().unwrap(),
                    object_q_mgr_name: "GATE1".parse().unwrap(),
                    ..Mqod::default()
                };
                let md = Mqmd { persistence: Persistence::PERSISTENT, ..Mqmd::default() };
                let pmo = Mqpmo { options: PutOptions::SYNCPOINT, ..Mqpmo::default() };
                // What is put and not committed goes with the connection.
                connection.put1(od, md, pmo, Bytes::from(Message::Down(*number).text())).await?;
            }
            let unit = self.ledger.borrow_mut().put(&unit);
            if context::roll(10) == 0 {
                connection.back().await?;
                self.ledger.borrow_mut().put_ended(unit, Outcome::BackedOut);
            } else {
                match connection.commit().await {
                    Ok(()) => self.ledger.borrow_mut().put_ended(unit, Outcome::Committed),
                    Err(error) => {
                        if !matches!(error, ClientError::OutcomeUnknown { .. }) {
                            self.ledger.borrow_mut().put_ended(unit, Outcome::BackedOut);
                        }
                        return Err(error);
                    }
                }
            }
            tokio::time::sleep(context::moment(UNIT_EVERY_MAX)).await;
        }
        connection.disconnect().await
    }

    /// Gets for ever.
    pub(crate) async fn get(self: Rc<Self>) -> turmoil::Result {
        loop {
            if let Err(error) = self.get_units().await {
                tracing::debug!(%error, "getting again");
                tokio::time::sleep(context::moment(PAUSE_MAX)).await;
            }
        }
    }

    async fn get_units(&self) -> Result<(), ClientError> {
        let mut connection = net::connect(&options()).await?;
        let od = Mqod { object_name: "DEV.QUEUE.1".parse().unwrap(), ..Mqod::default() };
        let queue = connection.open(od, OpenOptions::INPUT_EXCLUSIVE).await?.handle;
        let gmo = Mqgmo {
            options: GetOptions::SYNCPOINT | GetOptions::WAIT,
            wait_interval: 1_000,
            ..Mqgmo::default()
        };
        loop {
            let mut unit: Vec<Up> = Vec::new();
            for _ in 0..=context::roll(UNIT_MAX) {
                let Some(got) = connection.get(queue, Mqmd::default(), gmo.clone(), 1_000).await? else {
                    break;
                };
                match Message::of(&got.data) {
                    Some(Message::Up(up)) => unit.push(up),
                    other => panic!("the application got {other:?}"),
                }
            }
            if unit.is_empty() {
                continue;
            }
            let unit = self.ledger.borrow_mut().got(unit);
            if context::roll(10) == 0 {
                connection.back().await?;
                self.ledger.borrow_mut().get_ended(unit, Outcome::BackedOut);
            } else {
                match connection.commit().await {
                    Ok(()) => self.ledger.borrow_mut().get_ended(unit, Outcome::Committed),
                    Err(error) => {
                        if !matches!(error, ClientError::OutcomeUnknown { .. }) {
                            self.ledger.borrow_mut().get_ended(unit, Outcome::BackedOut);
                        }
                        return Err(error);
                    }
                }
            }
            tokio::time::sleep(context::moment(UNIT_EVERY_MAX)).await;
        }
    }
}

fn options() -> ConnectOptions {
    ConnectOptions {
        connect_timeout: Duration::from_secs(10),
        ..ConnectOptions::parse("DEV.APP.SVRCONN/TCP/hq(1414)").unwrap()
    }
}
