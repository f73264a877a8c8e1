//! What an operator does with devices and parked messages, and the core's part of `route`.

use mq_wire::{QMgrName, QName, Reason};
use mqe::DeviceName;
use qmgr::RouteOutcome;
use store::Id;

use super::turn::{Core, Turn};
use crate::report::{Operation, OperationReport, ParkAct, ParkedReport};

/// Parked messages that one command ends.
const PURGE_MAX: u64 = 10_000;

impl Core {
    pub(super) fn parked_reports(&self) -> Vec<ParkedReport> {
        let report = |view: mqe::area::ParkedView| ParkedReport {
            device: view.device.to_string(),
            messages: view.messages as u64,
            bytes: view.bytes,
            oldest_ms: view.oldest_ms,
        };
        self.area.parked().map(report).collect()
    }

    /// Does something with devices. What is about tasks is done there.
    pub(super) fn operate(
        &mut self,
        operation: &Operation,
        turn: &mut Turn,
    ) -> Result<OperationReport, String> {
        let name = |name: &str| DeviceName::new(name).map_err(|error| format!("{name}: {error}"));
        let done = match operation {
            Operation::AddDevice { device } => {
                let device = name(device)?;
                self.area.add_device(device, &mut turn.batch).map_err(|error| error.to_string())?;
                vec![format!("device {device} is known")]
            }
            Operation::ResetDevice { device } => {
                let device = name(device)?;
                self.area.reset_device(&device, &mut turn.batch).map_err(|error| error.to_string())?;
                vec![format!("the next HELLO of device {device} is let in, under a new incarnation")]
            }
            Operation::DropEntry { source, entry } => vec![self.drop_entry(source, entry, turn)?],
            Operation::Park { act, device } => {
                let devices = match device {
                    Some(device) => vec![name(device)?],
                    None => self.area.parked().map(|view| view.device).collect(),
                };
                let mut done = Vec::new();
                for device in devices {
                    done.push(self.park_act(*act, &device, turn)?);
                }
                done
            }
            Operation::Source { .. } | Operation::ReloadExits => Vec::new(),
        };
        for line in &done {
            tracing::info!(what = line, "an operator's act");
        }
        Ok(OperationReport { done })
    }

    /// Ends an entry of an outbox that cannot be read, so that what is behind it goes on. One that can be read is never lost by
    /// a word: it is put, or ends as the rules say.
    fn drop_entry(&mut self, source: &str, entry: &str, turn: &mut Turn) -> Result<String, String> {
        let id: Id = entry.parse().map_err(|error: store::IdError| format!("{entry}: {error}"))?;
        if self.outbox.lane(source, id).is_none() {
            return Err(format!("the outbox for {source} has no entry {id}"));
        }
        let Some(why) = self.lasting.damaged.remove(&id) else {
            return Err(format!(
                "entry {id} was not found damaged: it is put when its queue manager takes it"
            ));
        };
        let device = self.area.awaiting(id);
        self.refuse_entry(source, id, Reason::OBJECT_DAMAGED, turn);
        self.ring([source.to_owned()].into());
        let told = device.map_or_else(String::new, |device| format!("; device {device} is told"));
        // What is lost stays in the log.
        tracing::warn!(source, %id, ?device, why, "an entry of the outbox was dropped, its message is lost");
        Ok(format!("entry {id} of the outbox for {source} was dropped, its message is lost{told}"))
    }

    fn park_act(&mut self, act: ParkAct, device: &DeviceName, turn: &mut Turn) -> Result<String, String> {
        let nothing = |_| format!("nothing is parked for device {device}");
        if act == ParkAct::Release {
            let messages = self.area.park_release(device, &mut turn.batch).map_err(nothing)?;
            return Ok(format!("device {device} is known, {messages} messages wait for it"));
        }
        let mut purged = 0;
        loop {
            let step = self.area.park_purge(device, &mut turn.batch).map_err(nothing)?;
            purged += step;
            if step == 0 || purged >= PURGE_MAX {
                let more = if step == 0 { "" } else { ", there are more: say it again" };
                return Ok(format!("{purged} messages for device {device} were purged{more}"));
            }
        }
    }

    /// What would become of a message for a device.
    pub(super) fn device_route(&self, device: &DeviceName) -> String {
        match self.area.device(device) {
            Some(view) => format!("device {device} is known; {} messages wait for it", view.waiting),
            None if self.area.may_enrol(device) => {
                format!("device {device} is not known, and becomes known with its first message")
            }
            None => format!("device {device} is not known, and no onboarding rule lets it in: undelivered"),
        }
    }

    /// Where a queue of the gateway itself leads.
    pub(super) fn own_queue_route(&self, queue: &QName) -> String {
        if let Some((device, queue)) = self.tokens.find(queue) {
            return format!("it is a reply token for queue {queue} of device {device}");
        }
        match self.queue_manager.explain_route(*queue, QMgrName::BLANK).outcome {
            RouteOutcome::Local { queue } => {
                format!("it is for the gateway itself, whose queue {queue} is there")
            }
            _ => format!("it is for the gateway itself, which has no local queue {queue}: undelivered"),
        }
    }
}
