//! Name resolution (mq-objects.md 5.3): from the names of an object descriptor to the queue that is used here. It looks
//! at definitions and changes nothing; told to, it says each step. What of it is for people is in `route`.
//!
//! There are no clusters here: a name that only a cluster would know is not known (2085, 2087). A queue manager alias
//! for this queue manager may lead to one local definition of a remote queue (the note in 5.3), which leads away: so
//! there are no loops.

use mq_wire::{QMgrName, QName, Reason};
use mqsc::ObjectKind;

use crate::queue::{Directory, Object};

/// Where a name leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resolution {
    /// The queue at its destination.
    pub(crate) queue: QName,
    /// The queue manager of the destination.
    pub(crate) q_mgr: QMgrName,
    /// The local queue that is used: the queue itself, the transmission queue, or the model queue.
    pub(crate) used: u64,
    pub(crate) how: How,
    /// Every definition on the way, the one that was named first, the one that is used last.
    pub(crate) path: Vec<u64>,
}

/// What is at the end of the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    Local,
    /// Through a transmission queue, with an MQXQH.
    Remote,
    /// A dynamic queue has to be made.
    Model,
}

/// Who wants to know the steps. The unit does not, at no cost.
pub(crate) trait Trace {
    fn note(&mut self, step: impl FnOnce() -> String);
}

impl Trace for () {
    fn note(&mut self, _: impl FnOnce() -> String) {}
}

impl Trace for Vec<String> {
    fn note(&mut self, step: impl FnOnce() -> String) {
        self.push(step());
    }
}

/// What names mean here.
pub(crate) struct Resolver<'a> {
    pub(crate) directory: &'a Directory,
    /// This queue manager.
    pub(crate) this: QMgrName,
    /// DEFXMITQ.
    pub(crate) default_xmitq: QName,
}

impl Resolver<'_> {
    /// Resolves the names of an object descriptor.
    pub(crate) fn resolve(
        &self,
        q_mgr: QMgrName,
        queue: QName,
        trace: &mut impl Trace,
    ) -> Result<Resolution, Reason> {
        if !q_mgr.is_valid() {
            trace.note(|| format!("The queue manager name '{q_mgr}' breaks the rules for names."));
            return Err(Reason::UNKNOWN_OBJECT_Q_MGR);
        }
        if self.is_local(q_mgr) {
            trace.note(|| match q_mgr.is_blank() {
                true => format!("No queue manager is named: {} looks the queue up itself.", self.this),
                false => format!("{q_mgr} is this queue manager: it looks the queue up itself."),
            });
            return self.local(queue, Vec::new(), trace);
        }
        if queue.is_blank() {
            trace.note(|| format!("{q_mgr} is another queue manager, and no queue there is named."));
            return Err(Reason::REMOTE_Q_NAME_ERROR);
        }
        trace.note(|| {
            format!("{q_mgr} is another queue manager: a queue of that name says how to get there.")
        });
        let Some(object) = self.find(QName(q_mgr.0)) else {
            trace.note(|| format!("There is no queue {q_mgr}."));
            let used = self.default_xmitq(trace)?;
            return Ok(remote(queue, q_mgr, used, Vec::new()));
        };
        match object.definition.kind {
            ObjectKind::LocalQueue if object.facts.transmission => {
                trace.note(|| format!("{q_mgr} is a transmission queue: it is used."));
                Ok(remote(queue, q_mgr, object.number(), Vec::new()))
            }
            ObjectKind::LocalQueue => {
                trace.note(|| format!("{q_mgr} is a local queue, but not with USAGE(XMITQ)."));
                Err(Reason::XMIT_Q_USAGE_ERROR)
            }
            ObjectKind::RemoteQueue if object.facts.rname.is_blank() => {
                let replacement = QMgrName(object.facts.rqmname.0);
                if self.is_local(replacement) {
                    trace.note(|| format!("{q_mgr} is a queue manager alias of this queue manager."));
                    return self.local(queue, vec![object.number()], trace);
                }
                trace.note(|| format!("{q_mgr} is a queue manager alias of {replacement}."));
                let used = self.transmission_queue(object.facts.xmitq, replacement, trace)?;
                Ok(remote(queue, replacement, used, vec![object.number()]))
            }
            kind => {
                trace.note(|| match kind {
                    ObjectKind::RemoteQueue => {
                        format!("{q_mgr} is a remote queue with an RNAME: that is no queue manager alias.")
                    }
                    _ => format!("{q_mgr} is {}: that leads to no queue manager.", one(kind)),
                });
                Err(Reason::UNKNOWN_REMOTE_Q_MGR)
            }
        }
    }

    fn local(&self, queue: QName, mut path: Vec<u64>, trace: &mut impl Trace) -> Result<Resolution, Reason> {
        let Some(mut object) = self.find(queue) else {
            trace.note(|| format!("There is no queue '{queue}'."));
            return Err(Reason::UNKNOWN_OBJECT_NAME);
        };
        path.push(object.number());
        if object.definition.kind == ObjectKind::AliasQueue {
            let target = object.facts.target;
            trace.note(|| format!("{queue} is an alias queue: its TARGET is '{target}'."));
            let Some(base) = self.find(target) else {
                trace.note(|| format!("There is no queue '{target}'."));
                return Err(Reason::UNKNOWN_ALIAS_BASE_Q);
            };
            object = base;
            let kind = object.definition.kind;
            if matches!(kind, ObjectKind::AliasQueue | ObjectKind::ModelQueue) {
                trace.note(|| format!("{target} is {}: an alias cannot lead there.", one(kind)));
                return Err(Reason::ALIAS_BASE_Q_TYPE_ERROR);
            }
            path.push(object.number());
        }
        let queue = object.definition.queue_name();
        let how = match object.definition.kind {
            ObjectKind::RemoteQueue => return self.remote_definition(object, path, trace),
            ObjectKind::ModelQueue => {
                trace.note(|| format!("{queue} is a model queue: MQOPEN makes a dynamic queue of it."));
                How::Model
            }
            _ => {
                trace.note(|| match object.facts.transmission {
                    true => format!("{queue} is a transmission queue: whoever puts there brings the MQXQH."),
                    false => format!("{queue} is a local queue."),
                });
                How::Local
            }
        };
        Ok(Resolution { queue, q_mgr: self.this, used: object.number(), how, path })
    }

    /// A local definition of a remote queue.
    fn remote_definition(
        &self,
        object: &Object,
        path: Vec<u64>,
        trace: &mut impl Trace,
    ) -> Result<Resolution, Reason> {
        let (facts, name) = (&object.facts, object.definition.queue_name());
        let q_mgr = QMgrName(facts.rqmname.0);
        if facts.rname.is_blank() {
            trace.note(|| format!("{name} is a remote queue without an RNAME: it is no queue."));
            return Err(Reason::REMOTE_Q_NAME_ERROR);
        }
        trace.note(|| format!("{name} is a remote queue: {} at '{q_mgr}'.", facts.rname));
        if self.is_local(q_mgr) {
            trace.note(|| "Its RQMNAME is no other queue manager.".to_owned());
            return Err(Reason::UNKNOWN_REMOTE_Q_MGR);
        }
        let used = self.transmission_queue(facts.xmitq, q_mgr, trace)?;
        Ok(remote(facts.rname, q_mgr, used, path))
    }

    /// The transmission queue of a definition: its XMITQ, else the one named like the queue manager, else DEFXMITQ.
    fn transmission_queue(
        &self,
        xmitq: QName,
        q_mgr: QMgrName,
        trace: &mut impl Trace,
    ) -> Result<u64, Reason> {
        const WRONG: [Reason; 2] = [Reason::XMIT_Q_TYPE_ERROR, Reason::XMIT_Q_USAGE_ERROR];
        if xmitq.is_blank() {
            trace.note(|| format!("It has no XMITQ: a queue named {q_mgr} is looked for."));
            return match self.find(QName(q_mgr.0)) {
                Some(object) => usable(object, WRONG, trace),
                None => {
                    trace.note(|| format!("There is no queue {q_mgr}."));
                    self.default_xmitq(trace)
                }
            };
        }
        trace.note(|| format!("Its XMITQ is {xmitq}."));
        let Some(object) = self.find(xmitq) else {
            trace.note(|| format!("There is no queue {xmitq}."));
            return Err(Reason::UNKNOWN_XMIT_Q);
        };
        usable(object, WRONG, trace)
    }

    fn default_xmitq(&self, trace: &mut impl Trace) -> Result<u64, Reason> {
        let name = self.default_xmitq;
        if name.is_blank() {
            trace.note(|| "The queue manager has no DEFXMITQ, and belongs to no cluster.".to_owned());
            return Err(Reason::UNKNOWN_REMOTE_Q_MGR);
        }
        trace.note(|| format!("The DEFXMITQ of the queue manager is {name}."));
        let Some(object) = self.find(name) else {
            trace.note(|| format!("There is no queue {name}."));
            return Err(Reason::UNKNOWN_DEF_XMIT_Q);
        };
        usable(object, [Reason::DEF_XMIT_Q_TYPE_ERROR, Reason::DEF_XMIT_Q_USAGE_ERROR], trace)
    }

    fn is_local(&self, q_mgr: QMgrName) -> bool {
        q_mgr.is_blank() || q_mgr == self.this
    }

    fn find(&self, name: QName) -> Option<&Object> {
        self.directory.by_name(name)
    }
}

/// Whether a queue can be used as a transmission queue: the reasons if it is not local, or not for that.
fn usable(
    object: &Object,
    [not_local, not_transmission]: [Reason; 2],
    trace: &mut impl Trace,
) -> Result<u64, Reason> {
    let (name, kind) = (object.definition.queue_name(), object.definition.kind);
    if kind != ObjectKind::LocalQueue {
        trace.note(|| format!("{name} is {}, not a local queue.", one(kind)));
        return Err(not_local);
    }
    if !object.facts.transmission {
        trace.note(|| format!("{name} is a local queue, but not with USAGE(XMITQ)."));
        return Err(not_transmission);
    }
    trace.note(|| format!("{name} is a transmission queue: it is used."));
    Ok(object.number())
}

/// A queue of this type, for a sentence.
fn one(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::LocalQueue => "a local queue",
        ObjectKind::ModelQueue => "a model queue",
        ObjectKind::AliasQueue => "an alias queue",
        ObjectKind::RemoteQueue => "a remote queue",
        _ => "no queue",
    }
}

fn remote(queue: QName, q_mgr: QMgrName, used: u64, mut path: Vec<u64>) -> Resolution {
    path.push(used);
    Resolution { queue, q_mgr, used, how: How::Remote, path }
}
