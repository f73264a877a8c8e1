//! Reports that look at all devices, and DISPLAY: in steps, so that a hundred thousand of them do not hold up what else
//! waits.

use std::collections::VecDeque;

use mqe::DeviceName;
use mqe::area::Counter;
use mqsc::{Display, DisplayedObject, ObjectKind, Outcome};
use qmgr::DisplayCursor;
use store::Position;
use tokio::sync::oneshot;

use super::command::MqscResult;
use super::status::device_report;
use super::turn::{Core, reply};
use crate::report::{AreaReport, DeviceReport, StatusReport};

/// Devices looked at in one step (DESIGN.md 4, bounded steps).
const STEP_DEVICES_MAX: usize = 1_000;

/// A report in the making.
#[derive(Debug)]
pub(super) enum Walk {
    Devices(DeviceWalk),
    Display(Box<DisplayWalk>),
}

/// Over the devices.
#[derive(Debug)]
pub(super) struct DeviceWalk {
    /// The last device that was looked at.
    after: Option<DeviceName>,
    what: What,
}

#[derive(Debug)]
enum What {
    Status { totals: Box<Totals>, answer: oneshot::Sender<StatusReport> },
    Devices { list: Vec<DeviceReport>, answer: oneshot::Sender<Vec<DeviceReport>> },
}

/// Over the objects of the queue manager.
#[derive(Debug)]
pub(super) struct DisplayWalk {
    display: Display,
    after: Option<DisplayCursor>,
    objects: Vec<DisplayedObject>,
    needs: Option<Position>,
    answer: oneshot::Sender<MqscResult>,
}

#[derive(Debug, Default)]
struct Totals {
    devices: u64,
    waiting: u64,
    in_doubt: u64,
    bytes: u64,
    /// In the order of [`Counter::ALL`].
    ends: Vec<u64>,
}

impl Walk {
    pub(super) fn status(answer: oneshot::Sender<StatusReport>) -> Self {
        let totals = Totals { ends: vec![0; Counter::ALL.len()], ..Totals::default() };
        Self::Devices(DeviceWalk { after: None, what: What::Status { totals: Box::new(totals), answer } })
    }

    pub(super) fn devices(answer: oneshot::Sender<Vec<DeviceReport>>) -> Self {
        Self::Devices(DeviceWalk { after: None, what: What::Devices { list: Vec::new(), answer } })
    }

    pub(super) fn display(
        display: Display,
        needs: Option<Position>,
        answer: oneshot::Sender<MqscResult>,
    ) -> Self {
        Self::Display(Box::new(DisplayWalk { display, after: None, objects: Vec::new(), needs, answer }))
    }
}

/// The reports in the making, in the order in which they were asked for.
pub(super) type Walks = VecDeque<Walk>;

impl Core {
    /// Begins a report; it is answered at once where there is little to look at.
    pub(super) fn begin_walk(&mut self, walk: Walk) {
        self.walks.push_back(walk);
        if self.walks.len() == 1 {
            self.walk();
        }
    }

    /// One step of the oldest report.
    pub(super) fn walk(&mut self) {
        let Some(walk) = self.walks.pop_front() else { return };
        let rest = match walk {
            Walk::Devices(walk) => self.walk_devices(walk).map(Walk::Devices),
            Walk::Display(walk) => self.walk_objects(walk).map(Walk::Display),
        };
        if let Some(rest) = rest {
            self.walks.push_front(rest);
        }
    }

    /// Gives back what has not come to its end.
    fn walk_devices(&self, mut walk: DeviceWalk) -> Option<DeviceWalk> {
        let mut looked_at = 0;
        for view in self.area.devices(walk.after.as_ref()).take(STEP_DEVICES_MAX) {
            looked_at += 1;
            walk.after = Some(view.name);
            match &mut walk.what {
                What::Status { totals, .. } => {
                    totals.devices += 1;
                    totals.waiting += view.waiting as u64;
                    totals.in_doubt += view.in_doubt as u64;
                    totals.bytes += view.bytes;
                    for (sum, counter) in totals.ends.iter_mut().zip(Counter::ALL) {
                        *sum += view.counters.get(*counter);
                    }
                }
                What::Devices { list, .. } => list.push(device_report(view)),
            }
        }
        if looked_at == STEP_DEVICES_MAX {
            return Some(walk);
        }
        match walk.what {
            What::Status { mut totals, answer } => {
                // Ends of messages for devices that are not known are ends too.
                let parked = self.area.parked_counters();
                for (sum, counter) in totals.ends.iter_mut().zip(Counter::ALL) {
                    *sum += parked.get(*counter);
                }
                reply(answer, self.status(self.with_memory((*totals).into())));
            }
            What::Devices { list, answer } => reply(answer, list),
        }
        None
    }

    /// The same.
    fn walk_objects(&self, mut walk: Box<DisplayWalk>) -> Option<Box<DisplayWalk>> {
        let (objects, after) = self.queue_manager.display(&walk.display, walk.after);
        walk.objects.extend(objects);
        walk.after = after;
        if walk.after.is_some() {
            return Some(walk);
        }
        let DisplayWalk { display, objects, needs, answer, .. } = *walk;
        let channels = display.kinds.iter().any(ObjectKind::is_channel);
        let outcome = Outcome::displayed(objects, channels, display.pattern);
        reply(answer, MqscResult { outcome, needs });
        None
    }
}

impl From<Totals> for AreaReport {
    fn from(totals: Totals) -> Self {
        let Totals { devices, waiting, in_doubt, bytes, ends } = totals;
        // Without devices nothing can have ended, but in the park area.
        let none = devices == 0 && ends.iter().all(|sum| *sum == 0);
        let ends = Counter::ALL.iter().map(|counter| counter.name().to_owned()).zip(ends);
        let ends = if none { Default::default() } else { ends.collect() };
        Self { devices, messages: waiting + in_doubt, bytes, in_doubt, ends, ..Self::default() }
    }
}
