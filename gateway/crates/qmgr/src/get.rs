//! MQGET: which message, and whether it fits. Waiting is in `offer`.

use mq_wire::{CompCode, GetOptions, MatchOptions, Mqgmo, MsgToken, OpenOptions, Reason};
use store::{Batch, Commit, Position};

use crate::connection::{Route, Target};
use crate::held::Held;
use crate::index::{Entry, Key, Select};
use crate::manager::{Answer, QueueManager};
use crate::queue::{bury, needs};
use crate::verb::{CallId, ConnId, GetRequest, Got, IdCheck, NotGot, Now, Reply};

/// What a get wants, checked.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) handle: i32,
    pub(crate) queue: u64,
    pub(crate) select: Select,
    pub(crate) which: Which,
    pub(crate) unit: InUnit,
    pub(crate) accept_truncated: bool,
    pub(crate) buffer_length: u32,
    pub(crate) gmo: Mqgmo,
    pub(crate) check: Option<IdCheck>,
    /// Only what stands behind this place.
    pub(crate) after: Option<Key>,
}

/// Which message, and whether it stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    Take,
    TakeUnderCursor,
    BrowseFirst,
    BrowseNext,
    BrowseUnderCursor,
}

/// Whether a get belongs to the unit of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InUnit {
    No,
    Yes,
    IfPersistent,
}

impl Plan {
    pub(crate) fn browses(&self) -> bool {
        matches!(self.which, Which::BrowseFirst | Which::BrowseNext | Which::BrowseUnderCursor)
    }
}

const BROWSE: GetOptions =
    GetOptions::BROWSE_FIRST.union(GetOptions::BROWSE_NEXT).union(GetOptions::BROWSE_MSG_UNDER_CURSOR);
const SYNCPOINT: GetOptions = GetOptions::SYNCPOINT.union(GetOptions::SYNCPOINT_IF_PERSISTENT);
/// Not in this version: locks and marks of browsing, signals, leaving a message out of a back-out.
const NOT_SUPPORTED: GetOptions = GetOptions::SET_SIGNAL
    .union(GetOptions::LOCK)
    .union(GetOptions::UNLOCK)
    .union(GetOptions::MARK_SKIP_BACKOUT)
    .union(GetOptions::MARK_BROWSE_HANDLE)
    .union(GetOptions::MARK_BROWSE_CO_OP)
    .union(GetOptions::UNMARK_BROWSE_CO_OP)
    .union(GetOptions::UNMARK_BROWSE_HANDLE)
    .union(GetOptions::UNMARKED_BROWSE_MSG);

/// What became of an attempt to get.
pub(crate) enum Outcome {
    Got { got: Box<Got>, needs: Option<Position> },
    Nothing,
    Failed(Reason),
}

impl QueueManager {
    /// Gets a message, or waits: then there is no answer yet.
    pub(crate) fn get(
        &mut self,
        now: Now,
        conn: ConnId,
        call: CallId,
        request: &GetRequest,
        after: Option<Key>,
        batch: &mut Batch,
    ) -> Result<Option<Answer>, Reason> {
        let plan = self.plan(conn, request, after)?;
        match self.attempt(now, conn, &plan, batch) {
            Outcome::Got { got, needs } => return Ok(Some(Answer::at(needs, Reply::Got(got)))),
            Outcome::Failed(reason) => return Err(reason),
            Outcome::Nothing => {}
        }
        let under_cursor = matches!(plan.which, Which::TakeUnderCursor | Which::BrowseUnderCursor);
        let interval = plan.gmo.wait_interval;
        if plan.gmo.options.contains(GetOptions::WAIT) && interval != 0 && !under_cursor {
            let ms = u64::try_from(interval).ok();
            let deadline = ms.and_then(|ms| now.instant.checked_add(std::time::Duration::from_millis(ms)));
            self.wait(conn, call, plan, deadline);
            return Ok(None);
        }
        let reason = if under_cursor { Reason::NO_MSG_UNDER_CURSOR } else { Reason::NO_MSG_AVAILABLE };
        Ok(Some(self.nothing(plan, reason)))
    }

    fn plan(&self, conn: ConnId, request: &GetRequest, after: Option<Key>) -> Result<Plan, Reason> {
        let connection = self.connections.get(&conn).ok_or(Reason::HCONN_ERROR)?;
        let handle = connection.handle(request.handle)?;
        let gmo = &request.gmo;
        let which = which(gmo.options)?;
        let browses = gmo.options.intersects(BROWSE);
        let Target::Queue(route) = &handle.target else { return Err(Reason::NOT_OPEN_FOR_INPUT) };
        let browse_open = handle.options.contains(OpenOptions::BROWSE);
        if (browses || which == Which::TakeUnderCursor) && !browse_open {
            return Err(Reason::NOT_OPEN_FOR_BROWSE);
        }
        if !browses && handle.input.is_none() {
            return Err(Reason::NOT_OPEN_FOR_INPUT);
        }
        if gmo.options.contains(GetOptions::WAIT) && gmo.wait_interval < -1 {
            return Err(Reason::WAIT_INTERVAL_ERROR);
        }
        if self.quiescing && gmo.options.intersects(GetOptions::FAIL_IF_QUIESCING | GetOptions::WAIT) {
            return Err(Reason::Q_MGR_QUIESCING);
        }
        route.check(&self.directory)?;
        self.check_get(route)?;
        let unit = match gmo.options {
            options if options.contains(GetOptions::SYNCPOINT) => InUnit::Yes,
            options if options.contains(GetOptions::SYNCPOINT_IF_PERSISTENT) => InUnit::IfPersistent,
            _ => InUnit::No,
        };
        let (select, check) = self.select(request)?;
        Ok(Plan {
            handle: request.handle,
            queue: route.used,
            select,
            which,
            unit,
            accept_truncated: gmo.options.contains(GetOptions::ACCEPT_TRUNCATED_MSG),
            buffer_length: request.buffer_length,
            gmo: gmo.clone(),
            check: check.filter(|check| {
                // Under the cursor stands what stands there.
                let by_id = !matches!(which, Which::TakeUnderCursor | Which::BrowseUnderCursor);
                by_id && (check.msg_id.is_some() || check.correl_id.is_some())
            }),
            after,
        })
    }

    /// GET(DISABLED) of an alias or of the queue (2016).
    fn check_get(&self, route: &Route) -> Result<(), Reason> {
        let inhibited =
            |(number, _): &(u64, u32)| self.directory.get(*number).is_some_and(|object| !object.facts.get);
        if route.path.iter().any(inhibited) { Err(Reason::GET_INHIBITED) } else { Ok(()) }
    }

    /// Which messages match (mq-objects.md 1.6): with version 1 by both ids; an id of zeros matches all.
    fn select(&self, request: &GetRequest) -> Result<(Select, Option<IdCheck>), Reason> {
        let gmo = &request.gmo;
        let options =
            if gmo.version >= 2 { gmo.match_options } else { MatchOptions::MSG_ID | MatchOptions::CORREL_ID };
        if options.unknown() != 0 {
            return Err(Reason::MATCH_OPTIONS_ERROR);
        }
        if options.contains(MatchOptions::MSG_TOKEN) {
            if gmo.version < 3 {
                return Err(Reason::WRONG_GMO_VERSION);
            }
            return Ok((Select::At(place_of(gmo.msg_token).1), None));
        }
        if options.intersects(MatchOptions::GROUP_ID | MatchOptions::MSG_SEQ_NUMBER | MatchOptions::OFFSET) {
            return Err(Reason::FUNCTION_NOT_SUPPORTED);
        }
        let msg_id =
            Some(request.msg_id).filter(|id| options.contains(MatchOptions::MSG_ID) && !id.is_none());
        let correl_id =
            Some(request.correl_id).filter(|id| options.contains(MatchOptions::CORREL_ID) && !id.is_none());
        let select = match (msg_id, correl_id) {
            (None, None) => Select::Any,
            (Some(msg_id), None) => Select::MsgId(self.tag(&msg_id.0)),
            (None, Some(correl_id)) => Select::CorrelId(self.tag(&correl_id.0)),
            (Some(msg_id), Some(correl_id)) => Select::Both(self.tag(&msg_id.0), self.tag(&correl_id.0)),
        };
        Ok((select, Some(IdCheck { msg_id, correl_id })))
    }

    /// The message that is wanted, if it is there, handed out.
    pub(crate) fn attempt(&mut self, now: Now, conn: ConnId, plan: &Plan, batch: &mut Batch) -> Outcome {
        let cursor = self.connections.get(&conn).and_then(|c| c.handles.get(&plan.handle)?.cursor);
        let Some(local) = self.directory.local_mut(plan.queue) else {
            return Outcome::Failed(Reason::Q_DELETED);
        };
        let after = match plan.which {
            Which::BrowseNext => cursor.max(plan.after),
            _ => plan.after,
        };
        let mut expired = Vec::new();
        let found = match (plan.which, cursor) {
            (Which::TakeUnderCursor | Which::BrowseUnderCursor, None) => None,
            (Which::TakeUnderCursor | Which::BrowseUnderCursor, Some(cursor)) => {
                local.index.find(Select::At(cursor), None, now.wall_ms, &mut expired)
            }
            _ => local.index.find(plan.select, after, now.wall_ms, &mut expired),
        };
        self.expired.take(plan.queue, local, &expired);
        match found {
            Some(key) => self.hand_out(now, conn, plan, key, batch),
            None => Outcome::Nothing,
        }
    }

    /// Hands out the message at this place.
    pub(crate) fn hand_out(
        &mut self,
        now: Now,
        conn: ConnId,
        plan: &Plan,
        key: Key,
        batch: &mut Batch,
    ) -> Outcome {
        let messages_max = self.unit_messages_max();
        let Some(object) = self.directory.get_mut(plan.queue) else { return Outcome::Nothing };
        let queue_name = object.definition.queue_name();
        let Some(local) = object.local.as_deref_mut() else { return Outcome::Nothing };
        let Some(entry) = local.index.get(key).copied() else { return Outcome::Nothing };
        let Some(connection) = self.connections.get_mut(&conn) else { return Outcome::Nothing };
        let fits = entry.body_length <= plan.buffer_length;
        let shown = fits || plan.accept_truncated;
        let (cc, reason) = match (fits, plan.accept_truncated) {
            (true, _) => (CompCode::OK, Reason::NONE),
            (false, true) => (CompCode::WARNING, Reason::TRUNCATED_MSG_ACCEPTED),
            (false, false) => (CompCode::WARNING, Reason::TRUNCATED_MSG_FAILED),
        };
        let mut needs_position = local.needs(&entry, batch.start());
        if plan.browses() && shown {
            // A browse that ends in 2080 leaves the cursor where it was: the client simply asks again
            // (mq-wire-observed-base.md 4.1).
            if let Some(handle) = connection.handles.get_mut(&plan.handle) {
                handle.cursor = Some(key);
            }
        }
        let taken = shown && !plan.browses();
        if taken {
            let in_unit = match plan.unit {
                InUnit::No => false,
                InUnit::Yes => true,
                InUnit::IfPersistent => entry.persistent(),
            };
            if in_unit && connection.unit.messages() >= messages_max {
                return Outcome::Failed(Reason::SYNCPOINT_LIMIT_REACHED);
            }
            local.index.remove(key);
            if in_unit {
                local.uncommitted_gets += 1;
                connection.unit.gets.push(self.held.add(Held { queue: plan.queue, key, entry }));
            } else {
                let mut commit = Commit::default();
                bury(&entry, &mut commit);
                self.specials.forget(&entry);
                batch.commit(commit);
                if entry.persistent() {
                    local.changed = batch.position();
                    needs_position = Some(batch.position());
                }
            }
        }
        let deliver_length = entry.body_length.min(plan.buffer_length);
        let got = Got {
            cc,
            reason,
            id: entry.id,
            place: entry.place,
            parts: Vec::new(),
            body_length: entry.body_length,
            deliver_length,
            backout_count: entry.backouts.into(),
            expiry: expiry_left(now, &entry),
            gmo: Mqgmo {
                resolved_q_name: queue_name,
                group_status: b' ',
                segment_status: b' ',
                segmentation: b' ',
                msg_token: token(plan.queue, key),
                returned_length: deliver_length.try_into().unwrap_or(i32::MAX),
                ..plan.gmo.clone()
            },
            token: token(plan.queue, key),
            check: plan.check.map(Box::new),
            taken,
            handle: plan.handle,
        };
        Outcome::Got { got: Box::new(got), needs: needs_position }
    }

    pub(crate) fn nothing(&self, plan: Plan, reason: Reason) -> Answer {
        let changed = self.directory.local(plan.queue).map_or(Position::default(), |local| local.changed);
        Answer::at(needs(changed), Reply::NotGot(Box::new(NotGot { reason, gmo: plan.gmo })))
    }
}

fn which(options: GetOptions) -> Result<Which, Reason> {
    if options.intersects(NOT_SUPPORTED) {
        return Err(Reason::FUNCTION_NOT_SUPPORTED);
    }
    let one_of = |several: GetOptions| (options & several).bits().count_ones() <= 1;
    let browses = options.intersects(BROWSE);
    let fits = options.unknown() == 0
        && one_of(BROWSE | GetOptions::MSG_UNDER_CURSOR)
        && one_of(SYNCPOINT | GetOptions::NO_SYNCPOINT)
        && !(browses && options.intersects(SYNCPOINT));
    if !fits {
        return Err(Reason::OPTIONS_ERROR);
    }
    Ok(match options {
        options if options.contains(GetOptions::BROWSE_FIRST) => Which::BrowseFirst,
        options if options.contains(GetOptions::BROWSE_NEXT) => Which::BrowseNext,
        options if options.contains(GetOptions::BROWSE_MSG_UNDER_CURSOR) => Which::BrowseUnderCursor,
        options if options.contains(GetOptions::MSG_UNDER_CURSOR) => Which::TakeUnderCursor,
        _ => Which::Take,
    })
}

/// Tenths of a second that are left; at least one, for a message that is given has not expired.
fn expiry_left(now: Now, entry: &Entry) -> i32 {
    if entry.expiry_ms == 0 {
        return -1;
    }
    let tenths = entry.expiry_ms.saturating_sub(now.wall_ms).div_ceil(100);
    i32::try_from(tenths).unwrap_or(i32::MAX).max(1)
}

/// The token of a message: its queue and its place, which no other message ever has.
fn token(queue: u64, key: Key) -> MsgToken {
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
