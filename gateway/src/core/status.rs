//! The core's part of the reports.

use jiff::Timestamp;
use mqe::DeviceName;
use mqe::area::{Counter, DeviceView};

use super::cold::ColdCounts;
use super::turn::Core;
use crate::report::{AreaReport, DeviceReport, QueueReport, StatusReport, StoreReport};

impl Core {
    /// With what was found at the devices.
    pub(super) fn status(&self, area: AreaReport) -> StatusReport {
        let shown = |view: &qmgr::QueueView| view.depth > 0 || view.open_input > 0 || view.open_output > 0;
        let queues = self.queue_manager.queues().filter(shown).map(|view| QueueReport {
            name: view.name.to_string(),
            depth: view.depth,
            uncommitted: view.uncommitted,
            open_input: view.open_input,
            open_output: view.open_output,
        });
        let mut report = StatusReport {
            queue_manager: self.queue_manager.name().to_string(),
            queues: queues.collect(),
            area,
            store: self.store_report(),
            ..StatusReport::default()
        };
        if self.queue_manager.dead_letter_queue().is_none() {
            let what = "the queue manager has no dead-letter queue: what cannot be delivered is parked, and when the park area is full the listener waits; ALTER QMGR DEADQ(...)";
            report.problems.push(what.to_owned());
        } else if let Some(reason) = self.letters_refused {
            report.problems.push(format!(
                "the dead-letter queue refused the last letter ({reason}: {}): what it was for waits",
                reason.meaning().unwrap_or("see the reason code")
            ));
        }
        if report.store.short_of_room {
            report.problems.push(NO_ROOM.to_owned());
        }
        if let Some(recovered) = &report.store.recovered {
            report.problems.push(format!(
                "the journal could not be written {} times since the start, and was recovered, last {recovered}; look \
                 at the disk; a restart of the service clears this",
                report.store.recoveries
            ));
        }
        report.problems.extend(report.store.damaged.iter().map(|what| {
            format!("damaged: {what}: its segment stays; stop the service and see `mqe-gateway store check`")
        }));
        report.problems.extend(self.cold.problems());
        report.problems.extend(self.lasting.damaged.values().map(|what| format!("damaged: {what}")));
        report
    }

    /// The report with what memory has of the devices' messages.
    pub(super) fn with_memory(&self, area: AreaReport) -> AreaReport {
        let ColdCounts { evictions, loads, rebuilds } = self.lasting.cold;
        AreaReport {
            index_bytes: self.area.index_bytes(),
            index_bytes_max: self.area.index_bytes_max(),
            evicted_devices: self.area.evicted_devices() as u64,
            parked: self.area.parked_totals().0,
            parked_bytes: self.area.parked_totals().1,
            owed: self.area.owed() as u64,
            puts_waiting: self.area.puts_waiting() as u64,
            evictions,
            loads,
            rebuilds,
            ..area
        }
    }

    pub(super) fn device_report(&self, device: &DeviceName) -> Option<DeviceReport> {
        self.area.device(device).map(device_report)
    }

    pub(super) fn store_report(&self) -> StoreReport {
        let recoveries = &self.lasting.recoveries;
        StoreReport {
            recoveries: recoveries.count,
            recovered: recoveries.last.as_ref().map(|(why, when)| format!("{}: {why}", time(*when))),
            ..self.store().stat().into()
        }
    }
}

/// What to do without room.
const NO_ROOM: &str = "the disk is full: new messages are refused until there is room; make some, or let queues and \
                       devices be drained";

/// A wall clock time for people.
fn time(wall_ms: u64) -> String {
    let time = i64::try_from(wall_ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    time.map_or_else(|| "at some time".to_owned(), |time| format!("{time:.0}"))
}

pub(super) fn device_report(view: DeviceView) -> DeviceReport {
    DeviceReport {
        name: view.name.to_string(),
        connected: view.session.is_some(),
        waiting: view.waiting as u64,
        in_doubt: view.in_doubt as u64,
        bytes: view.bytes,
        incarnation: view.incarnation.0,
        counters: Counter::ALL
            .iter()
            .map(|counter| (counter.name().to_owned(), view.counters.get(*counter)))
            .collect(),
    }
}
