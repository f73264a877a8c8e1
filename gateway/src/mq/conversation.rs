//! What a socket's task keeps of each conversation. In the core it is a connection of its own, with its unit of work,
//! handles and waiting get.

use std::collections::HashMap;
use std::sync::Arc;

use mq_wire::{CompCode, GetOptions, PutOptions};
use qmgr::{ConnId, Context, Verb};
use store::Position;

use super::convert::Kept;
use crate::core::{Command, CoreHandle, Farewell};

/// A conversation.
#[derive(Debug)]
pub(super) struct Conversation {
    /// Its own way into the core: the order of its calls is kept there.
    pub(super) core: Arc<CoreHandle>,
    farewell: Farewell,
    /// Contexts of messages got with handles that were opened to save them. None: nothing was got yet.
    contexts: HashMap<i32, Option<Box<Context>>>,
    /// Something was put or got in a unit of work that may be open: a stop in order leaves it the grace period.
    pub(super) in_unit: bool,
    /// When this is on disk, so is what was put without an answer.
    unanswered: Option<Position>,
}

impl Conversation {
    /// A conversation with its own connection of the core.
    pub(super) fn new(core: CoreHandle) -> Self {
        let core = Arc::new(core);
        let farewell = Farewell::new(Arc::clone(&core), Command::MqClosed { conn: core.conn() });
        Self { core, farewell, contexts: HashMap::new(), in_unit: false, unanswered: None }
    }

    /// Its number in the core.
    pub(super) fn conn(&self) -> ConnId {
        self.core.conn()
    }

    /// It is over: what it left open is backed out.
    pub(super) async fn end(self) {
        self.farewell.say().await;
    }

    /// The context of the message last got with a handle.
    pub(super) fn passed(&self, handle: i32) -> Option<Box<Context>> {
        self.contexts.get(&handle).cloned().flatten()
    }

    /// A message was got with a handle.
    pub(super) fn got(&mut self, in_unit: bool, handle: i32, context: Box<Context>) {
        self.in_unit |= in_unit;
        if let Some(saved) = self.contexts.get_mut(&handle) {
            *saved = Some(context);
        }
    }

    /// A handle was opened or closed.
    pub(super) fn handled(&mut self, kept: &Kept, reply: &qmgr::Reply) {
        match (kept, reply) {
            (Kept::Open { save_context: true }, qmgr::Reply::Opened(opened)) => {
                self.contexts.insert(opened.handle, None);
            }
            // A warning (2241, 2242) closes it as well.
            (Kept::Close { handle }, qmgr::Reply::Plain { cc, .. }) if *cc != CompCode::FAILED => {
                self.contexts.remove(handle);
            }
            _ => {}
        }
    }

    /// A call begins: whether what it puts or gets belongs to the unit of work, or may. That there is something in it
    /// says the answer: who polls an empty queue has nothing to lose.
    pub(super) fn calls(&mut self, verb: &Verb) -> bool {
        match verb {
            Verb::Put(put) => put.pmo.options.contains(PutOptions::SYNCPOINT),
            Verb::Put1(put) => put.pmo.options.contains(PutOptions::SYNCPOINT),
            Verb::Get(get) => get.gmo.options.intersects(IN_UNIT),
            Verb::Commit | Verb::Back | Verb::Disconnect => {
                self.in_unit = false;
                false
            }
            _ => false,
        }
    }

    /// The answer to a put.
    pub(super) fn put(&mut self, in_unit: bool, reply: &qmgr::Reply) {
        self.in_unit |= in_unit && matches!(reply, qmgr::Reply::Put(_));
    }

    /// A put that the client does not wait for is done when this is on disk.
    pub(super) fn put_unanswered(&mut self, needs: Option<Position>) {
        self.unanswered = self.unanswered.max(needs);
    }

    /// What has to be on disk before an answer leaves: what was put before without one, too.
    pub(super) fn needs(&mut self, needs: Option<Position>) -> Option<Position> {
        self.unanswered.take().max(needs)
    }
}

/// Gets that belong to the unit of work, or may.
const IN_UNIT: GetOptions = GetOptions::SYNCPOINT.union(GetOptions::SYNCPOINT_IF_PERSISTENT);

#[cfg(test)]
mod tests {
    use mq_wire::{Mqgmo, Mqmd, Mqod, Mqpmo, Reason};

    use super::*;
    use crate::core::tests::read_first::got_in_segments;

    fn conversation() -> Conversation {
        Conversation::new(got_in_segments(GetOptions::BROWSE_FIRST, 0).0)
    }

    fn plain(cc: CompCode, reason: Reason) -> qmgr::Reply {
        qmgr::Reply::Plain { cc, reason }
    }

    #[tokio::test]
    async fn a_handle_closed_with_a_warning_is_forgotten() {
        let mut conversation = conversation();
        let open = Kept::Open { save_context: true };
        let opened = |handle| {
            let (od, options, defaults) = Default::default();
            let opened = qmgr::Opened { handle, od, options, defaults };
            qmgr::Reply::Opened(Box::new(qmgr::Opened { od: Mqod::default(), ..opened }))
        };
        for handle in 1..=3 {
            conversation.handled(&open, &opened(handle));
        }
        let replies = [
            plain(CompCode::OK, Reason::NONE),
            plain(CompCode::WARNING, Reason(2241)),
            plain(CompCode::FAILED, Reason::HOBJ_ERROR),
        ];
        for (handle, reply) in (1..).zip(&replies) {
            conversation.handled(&Kept::Close { handle }, reply);
        }
        assert_eq!(conversation.contexts.keys().collect::<Vec<_>>(), [&3]);
    }

    #[tokio::test]
    async fn a_unit_is_open_when_something_is_in_it() {
        let mut conversation = conversation();
        let get = |options| {
            let gmo = Mqgmo { options, ..Mqgmo::default() };
            Verb::Get(Box::new(qmgr::GetRequest::new(1, gmo, 10)))
        };
        // Who polls an empty queue holds up no stop.
        assert!(conversation.calls(&get(GetOptions::SYNCPOINT)) && !conversation.in_unit);
        assert!(conversation.calls(&get(GetOptions::SYNCPOINT_IF_PERSISTENT)));
        assert!(!conversation.calls(&get(GetOptions::NO_SYNCPOINT)));
        conversation.got(false, 1, Box::default());
        assert!(!conversation.in_unit);
        conversation.got(true, 1, Box::default());
        assert!(conversation.in_unit);
        conversation.calls(&Verb::Commit);
        assert!(!conversation.in_unit);

        let (cc, reason, md) = (CompCode::OK, Reason::NONE, Mqmd::default());
        let done = qmgr::Reply::Put(Box::new(qmgr::PutDone { cc, reason, md, pmo: Mqpmo::default() }));
        conversation.put(true, &plain(CompCode::FAILED, Reason::Q_FULL));
        conversation.put(false, &done);
        assert!(!conversation.in_unit);
        conversation.put(true, &done);
        assert!(conversation.in_unit);
    }
}
