//! `route`: a dry run of a message's way. Name resolution by the embedded queue manager, the exits as they are, the device.

use mq_wire::{Mqmd, Mqxqh, QMgrName, QName};
use mqe_exits::{Direction, ExitMessage, Origin, Verdict};
use qmgr::RouteOutcome;

use super::backend::Backend;
use crate::core::{Command, Delivery};
use crate::report::RouteReport;
use crate::source::{Addressing, delivery};

/// Says each step, and where a message would end.
pub(super) async fn explain(backend: &Backend, queue: &str, q_mgr: &str) -> Result<RouteReport, String> {
    let queue = QName::new(queue).map_err(|error| format!("the queue {queue:?}: {error}"))?;
    let q_mgr = match q_mgr.trim() {
        "" => QMgrName::BLANK,
        name => QMgrName::new(name).map_err(|error| format!("the queue manager {name:?}: {error}"))?,
    };
    let stopped = |_| "the service is stopping: ask again".to_owned();
    let route = |answer| Command::Route { queue, q_mgr, answer };
    let found = backend.core.inquire(route).await.map_err(stopped)?;
    let mut steps = found.steps;
    let (queue, q_mgr) = match found.outcome {
        RouteOutcome::Remote { queue, q_mgr, transmission_queue } if transmission_queue == backend.queue => {
            steps.push(format!(
                "The gateway drains {transmission_queue}: the message is for {queue} at {q_mgr}."
            ));
            (queue, q_mgr)
        }
        // As a message that a remote queue manager has put on the gateway's transmission queue there.
        RouteOutcome::Refused(_) if backend.names.contains(&q_mgr) => (queue, q_mgr),
        outcome => return Ok(RouteReport { steps, ends: outcome.to_string() }),
    };
    let header = Mqxqh {
        remote_q_name: queue,
        remote_q_mgr_name: q_mgr,
        msg_desc: Mqmd::default(),
        ..Mqxqh::default()
    };
    let message = ExitMessage::wrap(Origin::dry_run("route", Direction::FromMq), &header, b"");
    let passed = match backend.chain.dry_run(message.clone()).await.map_err(|error| error.to_string())? {
        Verdict::Pass(passed) => passed,
        Verdict::Undelivered { reason, why, .. } => {
            steps.push(format!("The exits do not let it through: {why} ({reason})."));
            return Ok(RouteReport { steps, ends: "undelivered: the rule decides".to_owned() });
        }
        Verdict::CloseChannel { why } | Verdict::Stopped { why } => {
            steps.push(format!("The exits stop: {why}."));
            return Ok(RouteReport { steps, ends: "it stays on the transmission queue".to_owned() });
        }
    };
    if let Ok(after) = passed.xqh() {
        let (queue, q_mgr) = (after.remote_q_name, after.remote_q_mgr_name);
        steps.push(format!("Behind the exits it is for {queue} at {q_mgr}."));
    }
    let addressing =
        Addressing { q_mgr: backend.q_mgr, names: backend.names.clone(), refuses_segments: false };
    let ends = match delivery(passed, &addressing, &message, 0) {
        Delivery::Device { device, message } => {
            let ask = |answer| Command::DeviceRoute { device, answer };
            steps.push(format!("{}.", backend.core.inquire(ask).await.map_err(stopped)?));
            format!("queue {} at device {device}", message.queue)
        }
        Delivery::Queue { message } => {
            let queue = message.queue;
            let ask = |answer| Command::OwnQueueRoute { queue, answer };
            backend.core.inquire(ask).await.map_err(stopped)?
        }
        Delivery::Undeliverable { reason, why } => format!("undelivered: {why} ({reason})"),
        other => format!("{other:?}"),
    };
    Ok(RouteReport { steps, ends })
}
