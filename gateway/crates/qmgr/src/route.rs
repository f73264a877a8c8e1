//! Where a message for a name would go, and why: name resolution for people (the `route` command).

use std::fmt;

use mq_wire::{QMgrName, QName, Reason};

use crate::manager::QueueManager;
use crate::resolve::How;

/// How a name was resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteExplanation {
    /// What was looked up, what was found and what follows: a sentence each.
    pub steps: Vec<String>,
    /// Where it ends.
    pub outcome: RouteOutcome,
}

/// Where a name leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RouteOutcome {
    /// To a queue here.
    Local {
        /// The queue.
        queue: QName,
    },
    /// To another queue manager.
    Remote {
        /// The queue there.
        queue: QName,
        /// The queue manager.
        q_mgr: QMgrName,
        /// The transmission queue here.
        transmission_queue: QName,
    },
    /// To a dynamic queue, which MQOPEN would make; MQPUT1 ends with 2057.
    Model {
        /// The model queue.
        queue: QName,
    },
    /// Nowhere.
    Refused(Reason),
}

impl fmt::Display for RouteOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local { queue } => write!(f, "local {queue}"),
            Self::Remote { queue, q_mgr, transmission_queue } => {
                write!(f, "{queue} at {q_mgr} via {transmission_queue}")
            }
            Self::Model { queue } => write!(f, "a dynamic queue made of {queue}"),
            Self::Refused(reason) => write!(f, "{reason}"),
        }
    }
}

impl QueueManager {
    /// Explains where a message for the names would go. A blank queue manager is this one.
    pub fn explain_route(&self, queue: QName, q_mgr: QMgrName) -> RouteExplanation {
        let mut steps = Vec::new();
        let found = match self.resolver().resolve(q_mgr, queue, &mut steps) {
            Ok(found) => found,
            Err(reason) => return RouteExplanation { steps, outcome: RouteOutcome::Refused(reason) },
        };
        for object in found.path.iter().filter_map(|number| self.directory.get(*number)) {
            if !object.facts.put {
                let name = object.definition.queue_name();
                steps.push(format!("{name} has PUT(DISABLED): until it is altered, a put ends with 2051."));
            }
        }
        let used = self.directory.get(found.used).map(|object| object.definition.queue_name());
        let outcome = match found.how {
            How::Local => RouteOutcome::Local { queue: found.queue },
            How::Model => RouteOutcome::Model { queue: found.queue },
            How::Remote => RouteOutcome::Remote {
                queue: found.queue,
                q_mgr: found.q_mgr,
                transmission_queue: used.unwrap_or_default(),
            },
        };
        RouteExplanation { steps, outcome }
    }
}
