//! Name resolution (mq-objects.md 5.3): from the names of an object descriptor to the queue that is used here.

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
    pub(crate) fn resolve(&self, q_mgr: QMgrName, queue: QName) -> Result<Resolution, Reason> {
        if !q_mgr.is_valid() {
            return Err(Reason::UNKNOWN_OBJECT_Q_MGR);
        }
        if self.is_local(q_mgr) {
            return self.local(queue, Vec::new());
        }
        if queue.is_blank() {
            return Err(Reason::REMOTE_Q_NAME_ERROR);
        }
        let Some(object) = self.find(QName(q_mgr.0)) else {
            let used = self.default_xmitq()?;
            return Ok(remote(queue, q_mgr, used, Vec::new()));
        };
        match object.definition.kind {
            ObjectKind::LocalQueue if object.facts.transmission => {
                Ok(remote(queue, q_mgr, object.number(), Vec::new()))
            }
            ObjectKind::LocalQueue => Err(Reason::XMIT_Q_USAGE_ERROR),
            ObjectKind::RemoteQueue if object.facts.rname.is_blank() => {
                let replacement = QMgrName(object.facts.rqmname.0);
                if self.is_local(replacement) {
                    return self.local(queue, vec![object.number()]);
                }
                let used = self.transmission_queue(object.facts.xmitq, replacement)?;
                Ok(remote(queue, replacement, used, vec![object.number()]))
            }
            _ => Err(Reason::UNKNOWN_REMOTE_Q_MGR),
        }
    }

    fn local(&self, queue: QName, mut path: Vec<u64>) -> Result<Resolution, Reason> {
        let mut object = self.find(queue).ok_or(Reason::UNKNOWN_OBJECT_NAME)?;
        path.push(object.number());
        if object.definition.kind == ObjectKind::AliasQueue {
            object = self.find(object.facts.target).ok_or(Reason::UNKNOWN_ALIAS_BASE_Q)?;
            if matches!(object.definition.kind, ObjectKind::AliasQueue | ObjectKind::ModelQueue) {
                return Err(Reason::ALIAS_BASE_Q_TYPE_ERROR);
            }
            path.push(object.number());
        }
        let how = match object.definition.kind {
            ObjectKind::RemoteQueue => return self.remote_definition(object, path),
            ObjectKind::ModelQueue => How::Model,
            _ => How::Local,
        };
        let queue = object.definition.queue_name();
        Ok(Resolution { queue, q_mgr: self.this, used: object.number(), how, path })
    }

    /// A local definition of a remote queue.
    fn remote_definition(&self, object: &Object, path: Vec<u64>) -> Result<Resolution, Reason> {
        let facts = &object.facts;
        if facts.rname.is_blank() {
            return Err(Reason::REMOTE_Q_NAME_ERROR);
        }
        let q_mgr = QMgrName(facts.rqmname.0);
        if self.is_local(q_mgr) {
            return Err(Reason::UNKNOWN_REMOTE_Q_MGR);
        }
        let used = self.transmission_queue(facts.xmitq, q_mgr)?;
        Ok(remote(facts.rname, q_mgr, used, path))
    }

    /// The transmission queue of a definition: its XMITQ, else the one named like the queue manager, else DEFXMITQ.
    fn transmission_queue(&self, xmitq: QName, q_mgr: QMgrName) -> Result<u64, Reason> {
        if xmitq.is_blank() {
            return match self.find(QName(q_mgr.0)) {
                Some(object) => usable(object, Reason::XMIT_Q_TYPE_ERROR, Reason::XMIT_Q_USAGE_ERROR),
                None => self.default_xmitq(),
            };
        }
        let object = self.find(xmitq).ok_or(Reason::UNKNOWN_XMIT_Q)?;
        usable(object, Reason::XMIT_Q_TYPE_ERROR, Reason::XMIT_Q_USAGE_ERROR)
    }

    fn default_xmitq(&self) -> Result<u64, Reason> {
        if self.default_xmitq.is_blank() {
            return Err(Reason::UNKNOWN_REMOTE_Q_MGR);
        }
        let object = self.find(self.default_xmitq).ok_or(Reason::UNKNOWN_DEF_XMIT_Q)?;
        usable(object, Reason::DEF_XMIT_Q_TYPE_ERROR, Reason::DEF_XMIT_Q_USAGE_ERROR)
    }

    fn is_local(&self, q_mgr: QMgrName) -> bool {
        q_mgr.is_blank() || q_mgr == self.this
    }

    fn find(&self, name: QName) -> Option<&Object> {
        self.directory.by_name(name)
    }
}

fn usable(object: &Object, not_local: Reason, not_transmission: Reason) -> Result<u64, Reason> {
    if object.definition.kind != ObjectKind::LocalQueue {
        return Err(not_local);
    }
    if !object.facts.transmission {
        return Err(not_transmission);
    }
    Ok(object.number())
}

fn remote(queue: QName, q_mgr: QMgrName, used: u64, mut path: Vec<u64>) -> Resolution {
    path.push(used);
    Resolution { queue, q_mgr, used, how: How::Remote, path }
}
