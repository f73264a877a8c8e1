//! A batch on its way through the exits, and where each message then goes.

use std::sync::Arc;

use mq_wire::QMgrName;
use mqe_exits::{Chain, Verdict};

use super::address::{self, Addressing};
use super::listener::{Pause, Taken};
use crate::core::{CoreHandle, Delivery, HandOver, has_same_end, write_long};
use crate::report::ExitReport;

/// What looks at the messages of a source.
#[derive(Debug)]
pub(crate) struct Exits {
    pub(crate) chain: Arc<Chain>,
    /// The names under which the gateway is addressed; the first is its own.
    pub(crate) names: Arc<[QMgrName]>,
    /// Whether groups and segments are undelivered.
    pub(crate) refuses_segments: bool,
}

/// Where the messages of a piece go, as far as that can be said.
#[derive(Debug, Default)]
pub(super) struct Addressed {
    pub(super) deliveries: Vec<HandOver>,
    /// Why the rest stays.
    pub(super) pause: Option<Pause>,
}

impl Exits {
    /// Runs the exits on what was taken, and says where each message goes.
    pub(super) async fn run(&self, core: &CoreHandle, q_mgr: QMgrName, taken: Vec<Taken>) -> Addressed {
        let addressing =
            Addressing { q_mgr, names: Arc::clone(&self.names), refuses_segments: self.refuses_segments };
        let mut addressed = Addressed::default();
        let verdicts = self.chain.run(taken.iter().map(|taken| taken.message.clone()).collect()).await;
        for (Taken { key, message: original, file, expiry_ms }, verdict) in taken.into_iter().zip(verdicts) {
            let mut delivery = match verdict {
                Verdict::Pass(message) => address::delivery(message, &addressing, &original, expiry_ms),
                Verdict::Undelivered { reason, why, .. } => Delivery::Undeliverable { reason, why },
                Verdict::CloseChannel { why } | Verdict::Stopped { why } => {
                    addressed.pause = Some(Pause::Stop(why));
                    break;
                }
            };
            if let Delivery::Device { message, .. } | Delivery::Queue { message } = &mut delivery {
                let same =
                    file.as_ref().filter(|file| has_same_end(&message.payload, original.bytes(), file));
                message.file = match same {
                    Some(file) => Some(file.clone()),
                    None => match write_long(core, &message.payload).await {
                        Ok(file) => file,
                        Err(error) => {
                            let why = format!("a long message: {error}");
                            addressed.pause = Some(Pause::Retry { why, after: super::RETRY_AFTER });
                            break;
                        }
                    },
                };
            }
            addressed.deliveries.push(HandOver { key, original, file, delivery });
        }
        addressed
    }
}

/// The exits' part of the status.
pub(crate) fn exit_reports(chain: &Chain) -> Vec<ExitReport> {
    let exits = chain.status().exits;
    let report = |exit: mqe_exits::ExitStatus| ExitReport {
        name: exit.name,
        calls: exit.calls,
        refused: exit.refused,
        failures: exit.errors + exit.panics + exit.timeouts,
        late: exit.timeouts,
        mean_us: u64::try_from(exit.total.as_micros())
            .unwrap_or(u64::MAX)
            .checked_div(exit.calls)
            .unwrap_or_default(),
        max_us: u64::try_from(exit.max.as_micros()).unwrap_or(u64::MAX),
    };
    exits.into_iter().map(report).collect()
}
