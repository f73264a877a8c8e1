//! MQGET: what is checked, and which message is meant. How it is handed out is in `hand_out`, waiting in `offer`.

mod logical;
mod options;

use std::time::Duration;

use mq_wire::{CompCode, GetOptions, MatchOptions, Mqgmo, MsgToken, OpenOptions, Reason};
use store::{Batch, Position};

pub(crate) use self::logical::Progress;
use crate::connection::{Route, Target};
use crate::error::reason;
use crate::index::{Key, Want};
use crate::manager::{Answer, QueueManager, done};
use crate::marks::Owner;
use crate::queue::needs;
use crate::verb::{CallId, ConnId, Effect, GetRequest, Got, IdCheck, NotGot, Now, ReadFirst, Reply};

/// What a get wants, checked.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) handle: i32,
    pub(crate) queue: u64,
    /// The definition that was named when it was opened.
    pub(crate) named: u64,
    pub(crate) want: Want,
    pub(crate) which: Which,
    pub(crate) unit: InUnit,
    pub(crate) buffer_length: u32,
    pub(crate) md_version: i32,
    pub(crate) gmo: Mqgmo,
    pub(crate) check: Option<IdCheck>,
    /// Hashes that the next message in logical order has to have (2247).
    pub(crate) must: [Option<u64>; 2],
    /// Only what stands behind this place.
    pub(crate) after: Option<Key>,
    /// Only what is not marked for these.
    pub(crate) unmarked_for: Vec<Owner>,
}

/// Which message, and whether it stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    Take,
    TakeUnderCursor,
    BrowseFirst,
    BrowseNext,
    BrowseUnderCursor,
    /// None: the lock is given up.
    Unlock,
}

impl Which {
    pub(crate) fn browses(self) -> bool {
        matches!(self, Self::BrowseFirst | Self::BrowseNext | Self::BrowseUnderCursor)
    }

    pub(crate) fn under_cursor(self) -> bool {
        matches!(self, Self::TakeUnderCursor | Self::BrowseUnderCursor)
    }
}

/// Whether a get belongs to the unit of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InUnit {
    No,
    Yes,
    IfPersistent,
}

impl InUnit {
    pub(crate) fn is(self, persistent: bool) -> bool {
        match self {
            Self::No => false,
            Self::Yes => true,
            Self::IfPersistent => persistent,
        }
    }
}

impl Plan {
    pub(crate) fn browses(&self) -> bool {
        self.which.browses()
    }

    pub(crate) fn has(&self, option: GetOptions) -> bool {
        self.gmo.options.contains(option)
    }

    /// Whether nobody else is to have the message at the same time.
    pub(crate) fn takes(&self) -> bool {
        !self.browses() || self.has(GetOptions::LOCK)
    }

    /// Whether the message that it can have need not be the one that comes.
    pub(crate) fn looks_around(&self) -> bool {
        !self.want.select().1 || !self.unmarked_for.is_empty()
    }
}

/// What became of an attempt to get.
pub(crate) enum Outcome {
    Got {
        got: Box<Got>,
        needs: Option<Position>,
    },
    /// Its record has to be read first.
    Read {
        first: Box<ReadFirst>,
        needs: Option<Position>,
    },
    Nothing,
    Failed(Reason),
}

impl QueueManager {
    /// Gets a message, or waits: then there is no answer yet.
    #[expect(clippy::too_many_arguments, reason = "a call, and where its effects go")]
    pub(crate) fn get(
        &mut self,
        now: Now,
        conn: ConnId,
        call: CallId,
        request: &GetRequest,
        after: Option<Key>,
        batch: &mut Batch,
        out: &mut Vec<Effect>,
    ) -> Result<Option<Answer>, Reason> {
        let mut plan = self.plan(conn, request)?;
        plan.after = plan.after.max(after);
        if plan.which == Which::Unlock {
            let locked = self.unlock_browsed(now, (conn, plan.handle), batch, out);
            let reply = Reply::Plain { cc: CompCode::WARNING, reason: Reason::NO_MSG_LOCKED };
            return Ok(Some(Answer::now(if locked { done() } else { reply })));
        }
        self.serve(now, conn, call, plan, batch, out)
    }

    /// Does what is planned, or waits: then there is no answer yet.
    pub(crate) fn serve(
        &mut self,
        now: Now,
        conn: ConnId,
        call: CallId,
        plan: Plan,
        batch: &mut Batch,
        out: &mut Vec<Effect>,
    ) -> Result<Option<Answer>, Reason> {
        self.end_marks_of(now, plan.queue, batch, out);
        let locked = self.show_locked(now, conn, &plan);
        let outcome = self.attempt(now, conn, call, &plan, batch);
        if !locked.is_empty() {
            self.settle_lock(now, conn, &plan, locked, &outcome, batch, out);
        }
        match outcome {
            Outcome::Got { got, needs } => {
                if plan.gmo.options.intersects(options::UNMARK) {
                    self.unmarked(now, plan.queue, vec![place_of(got.token).1], batch, out);
                }
                return Ok(Some(Answer::at(needs, Reply::Got(got))));
            }
            Outcome::Read { first, needs } => return Ok(Some(Answer::at(needs, Reply::ReadFirst(first)))),
            Outcome::Failed(reason) => return Err(reason),
            Outcome::Nothing => {}
        }
        let under_cursor = plan.which.under_cursor();
        let interval = plan.gmo.wait_interval;
        if plan.has(GetOptions::WAIT) && interval != 0 && !under_cursor {
            let ms = u64::try_from(interval).ok();
            let deadline = ms.and_then(|ms| now.instant.checked_add(Duration::from_millis(ms)));
            self.wait(conn, call, plan, deadline);
            return Ok(None);
        }
        let reason = if under_cursor { Reason::NO_MSG_UNDER_CURSOR } else { Reason::NO_MSG_AVAILABLE };
        Ok(Some(self.nothing(plan, reason)))
    }

    fn plan(&self, conn: ConnId, request: &GetRequest) -> Result<Plan, Reason> {
        let connection = self.connections.get(&conn).ok_or(Reason::HCONN_ERROR)?;
        let handle = connection.handle(request.handle)?;
        let gmo = &request.gmo;
        let which = options::which(gmo)?;
        let Target::Queue(route) = &handle.target else { return Err(Reason::NOT_OPEN_FOR_INPUT) };
        let browse_open = handle.options.contains(OpenOptions::BROWSE);
        if (which.browses() || which == Which::TakeUnderCursor) && !browse_open {
            return Err(Reason::NOT_OPEN_FOR_BROWSE);
        }
        if matches!(which, Which::Take | Which::TakeUnderCursor) && handle.input.is_none() {
            return Err(Reason::NOT_OPEN_FOR_INPUT);
        }
        let co_op = handle.options.contains(OpenOptions::CO_OP);
        if gmo.options.intersects(options::CO_OP) && !co_op {
            return Err(Reason::OPTIONS_ERROR);
        }
        if gmo.options.contains(GetOptions::WAIT) && gmo.wait_interval < -1 {
            return Err(Reason::WAIT_INTERVAL_ERROR);
        }
        let matching = options::matching(gmo, request.md_version)?;
        self.check_quiescing(conn, gmo.options.contains(GetOptions::FAIL_IF_QUIESCING))?;
        route.check(&self.directory)?;
        if which != Which::Unlock {
            self.check_get(route)?;
        }
        let unit = match gmo.options {
            options if options.contains(GetOptions::SYNCPOINT) => InUnit::Yes,
            options if options.contains(GetOptions::SYNCPOINT_IF_PERSISTENT) => InUnit::IfPersistent,
            _ => InUnit::No,
        };
        let (mut want, check) = self.want(route.used, request, matching);
        let (mut must, mut after) = ([None; 2], None);
        if which == Which::BrowseNext {
            after = handle.cursor;
            let logical = gmo.options.contains(GetOptions::LOGICAL_ORDER);
            if handle.browsed_logically.is_some_and(|before| before != logical) {
                return Err(reason::INCONSISTENT_BROWSE);
            }
        }
        if which.under_cursor() {
            want = Want::default();
        } else if gmo.options.contains(GetOptions::LOGICAL_ORDER) {
            let order = logical::order(handle, which, request, matching, want)?;
            (want, must, after) = (order.want, order.must, order.after);
        } else {
            want.ready = logical::ready(gmo.options);
        }
        let mut unmarked_for = Vec::new();
        if gmo.options.contains(GetOptions::UNMARKED_BROWSE_MSG) {
            unmarked_for.push(Owner::Handle((conn, request.handle)));
            unmarked_for.extend(co_op.then_some(Owner::CoOp));
        }
        Ok(Plan {
            handle: request.handle,
            queue: route.used,
            named: route.first,
            want,
            which,
            unit,
            buffer_length: request.buffer_length,
            md_version: request.md_version,
            gmo: gmo.clone(),
            // Under the cursor stands what stands there.
            check: check.filter(|_| !which.under_cursor()),
            must,
            after,
            unmarked_for,
        })
    }

    /// GET(DISABLED) of an alias or of the queue (2016).
    fn check_get(&self, route: &Route) -> Result<(), Reason> {
        let inhibited =
            |(number, _): &(u64, u32)| self.directory.get(*number).is_some_and(|object| !object.facts.get);
        if route.path.iter().any(inhibited) { Err(Reason::GET_INHIBITED) } else { Ok(()) }
    }

    /// Which messages match (mq-objects.md 1.6); an id of zeros matches all.
    fn want(&self, queue: u64, request: &GetRequest, matching: MatchOptions) -> (Want, Option<IdCheck>) {
        let on = |option| matching.contains(option);
        let msg_id = Some(request.msg_id).filter(|id| on(MatchOptions::MSG_ID) && !id.is_none());
        let correl_id = Some(request.correl_id).filter(|id| on(MatchOptions::CORREL_ID) && !id.is_none());
        let want = Want {
            at: on(MatchOptions::MSG_TOKEN).then(|| match place_of(request.gmo.msg_token) {
                (number, key) if number == queue => key,
                _ => NOWHERE,
            }),
            msg_id: msg_id.map(|id| self.tag(&id.0)),
            correl_id: correl_id.map(|id| self.tag(&id.0)),
            group_id: Some(request.group_id).filter(|id| on(MatchOptions::GROUP_ID) && !id.is_none()),
            seq_number: on(MatchOptions::MSG_SEQ_NUMBER).then_some(request.msg_seq_number),
            offset: on(MatchOptions::OFFSET).then_some(request.offset),
            ready: None,
        };
        let check = IdCheck { msg_id, correl_id };
        (want, Some(check).filter(|check| check.msg_id.is_some() || check.correl_id.is_some()))
    }

    /// The message that is wanted, if it is there, handed out.
    pub(crate) fn attempt(
        &mut self,
        now: Now,
        conn: ConnId,
        call: CallId,
        plan: &Plan,
        batch: &mut Batch,
    ) -> Outcome {
        let cursor = match plan.which.under_cursor() {
            true => self.connections.get(&conn).and_then(|c| c.handles.get(&plan.handle)?.cursor),
            false => None,
        };
        let Some(local) = self.directory.local_mut(plan.queue) else {
            return Outcome::Failed(Reason::Q_DELETED);
        };
        let mut expired = Vec::new();
        let found = match (plan.which.under_cursor(), cursor) {
            (true, None) => None,
            (true, at) => {
                let want = Want { at, ..plan.want };
                local.find(&want, &plan.unmarked_for, None, now.wall_ms, &mut expired)
            }
            _ => local.find(&plan.want, &plan.unmarked_for, plan.after, now.wall_ms, &mut expired),
        };
        self.expired.take(plan.queue, local, &expired);
        match found {
            Some(key) => self.hand_out(now, conn, call, plan, key, batch),
            None => Outcome::Nothing,
        }
    }

    pub(crate) fn nothing(&self, plan: Plan, reason: Reason) -> Answer {
        let changed = self.directory.local(plan.queue).map_or(Position::default(), |local| local.changed);
        Answer::at(needs(changed), Reply::NotGot(Box::new(NotGot { reason, gmo: plan.gmo })))
    }
}

/// No message is here.
const NOWHERE: Key = Key { class: u8::MAX, order: u64::MAX };

/// The token of a message: its queue and its place, which no other message ever has.
pub(crate) fn token(queue: u64, key: Key) -> MsgToken {
    let mut token = [0; 16];
    token[..8].copy_from_slice(&key.order.to_be_bytes());
    token[8] = key.class + 1;
    token[9..].copy_from_slice(&queue.to_be_bytes()[1..]);
    MsgToken(token)
}

/// The queue and the place that a token says.
pub(crate) fn place_of(token: MsgToken) -> (u64, Key) {
    let (mut order, mut queue) = ([0; 8], [0; 8]);
    order.copy_from_slice(&token.0[..8]);
    queue[1..].copy_from_slice(&token.0[9..]);
    let key = Key { class: token.0[8].wrapping_sub(1), order: u64::from_be_bytes(order) };
    (u64::from_be_bytes(queue), key)
}
