//! A gateway, its queue manager, and a relay between them that does wrong what it is told; and what a test asks of them.

use std::process::Command;
use std::time::Duration;

use integration_tests::cuts::{Cuts, Held};
use integration_tests::device::Device;
use integration_tests::mq::{Mq, persistent};
use integration_tests::service::Service;
use integration_tests::{remote, wait};
use mq_wire::{Mqmd, OpenOptions, PutOptions};
use serde_json::Value;

use crate::{DEVICE_SIM, GATEWAY};

pub(crate) const TIME: Duration = Duration::from_secs(60);
pub(crate) const DEAD: &str = "DEV.DEAD.LETTER.QUEUE";

pub(crate) struct World {
    pub(crate) hq: Service,
    pub(crate) gateway: Service,
    pub(crate) cuts: Cuts,
    pub(crate) app: Mq,
}

impl World {
    /// Both are at work.
    pub(crate) fn new(source: &str) -> Self {
        let mut hq = remote::queue_manager(GATEWAY);
        hq.restart();
        let cuts = Cuts::start(hq.mq()).unwrap();
        let mut gateway = remote::gateway_at(GATEWAY, cuts.address(), source, "");
        gateway.restart();
        let app = Mq::connect(&hq.connect_options("DEV.APP.SVRCONN")).unwrap();
        let world = Self { hq, gateway, cuts, app };
        world.wait_until_running();
        world
    }

    pub(crate) fn device(&self) -> Device {
        Device::new(DEVICE_SIM, self.gateway.devices(), "DEV00001", self.gateway.folder())
    }

    /// Puts messages for the device in one unit of work, so that they are in one batch.
    pub(crate) fn put(&mut self, texts: &[&str]) {
        self.put_as(&persistent(), texts);
    }

    pub(crate) fn put_as(&mut self, md: &Mqmd, texts: &[&str]) {
        let addressed: Vec<_> = texts.iter().map(|text| ("ORDERS%DEV00001", *text)).collect();
        self.put_to(md, &addressed);
    }

    /// Queues at the gateway, and messages for them.
    pub(crate) fn put_to(&mut self, md: &Mqmd, messages: &[(&str, &str)]) {
        for (queue, text) in messages {
            let handle = self.app.open(queue, "GATE1", OpenOptions::OUTPUT).unwrap();
            self.app.put(handle, md.clone(), PutOptions::SYNCPOINT, (*text).to_owned()).unwrap();
            self.app.close(handle).unwrap();
        }
        self.app.commit().unwrap();
    }

    /// The device gets just these, and neither queue manager nor gateway has more.
    #[track_caller]
    pub(crate) fn delivers(&self, expected: &[&str], what: &str) {
        let texts = |messages: Vec<Value>| -> Vec<String> {
            messages.iter().filter_map(|message| message["payload"].as_str().map(str::to_owned)).collect()
        };
        assert_eq!(texts(self.device().pull_up_to(expected.len(), TIME)), expected, "{what}");
        let is_left =
            |queue: &Value| queue["name"] == "GATE1" && (queue["depth"] != 0 || queue["uncommitted"] != 0);
        wait::until("an empty transmission queue", TIME, || {
            (!self.hq.status()["queues"].as_array().unwrap().iter().any(is_left)).then_some(())
        });
        let waiting = || (self.gateway.status()["area"]["messages"] == 0).then_some(());
        wait::until("an area without messages", TIME, waiting);
    }

    #[track_caller]
    pub(crate) fn wait_until_running(&self) {
        for kind in ["remote", "outbox"] {
            self.gateway.wait_until_source(kind, "RUNNING");
        }
    }

    /// The gateway is killed. What is held is its last word, and is done all the same; or what it had begun is backed out.
    #[track_caller]
    pub(crate) fn kill(&mut self, held: Held, finish: bool) {
        self.gateway.kill();
        if finish {
            held.finish_alone();
        } else {
            drop(held);
        }
        let queue = wait::until("the end of the old connection", TIME, || {
            self.app.open("GATE1", "", OpenOptions::INPUT_EXCLUSIVE).ok()
        });
        self.app.close(queue).unwrap();
    }

    /// An operator's command; its output.
    #[track_caller]
    pub(crate) fn tool(&self, args: &[&str]) -> String {
        let mut command = Command::new(GATEWAY);
        command.args(args).arg("--data").arg(self.gateway.data()).current_dir(self.gateway.folder());
        let output = command.output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{args:?}: {text}\n{}", String::from_utf8_lossy(&output.stderr));
        text
    }
}
