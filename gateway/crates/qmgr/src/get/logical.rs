//! Logical order: what a handle keeps of the group and the logical message of which it got something, one for gets that
//! take and one for those that browse, and what the next get in logical order wants (IBM MQ reference, "MQGMO
//! options", MQGMO_LOGICAL_ORDER).

use mq_wire::{GetOptions, MatchOptions, Reason};

use crate::connection::Handle;
use crate::get::Which;
use crate::index::{Key, Member, Ready, Spot, Want};
use crate::verb::GetRequest;

/// What a handle keeps of what it got last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Progress {
    /// What comes next; none if group and logical message are complete.
    next: Option<Spot>,
    /// Whether it was got within the unit of work.
    in_unit: bool,
    /// Whether it was got in logical order.
    logical: bool,
    /// Where the group, or the logical message, begins on the queue.
    start: Key,
}

impl Progress {
    /// After a message was got. The last segment that was got with it is `member`, at `spot`; none if it is in no
    /// group. `next_offset` is where another one of its logical message would be.
    pub(crate) fn after(
        before: Option<&Self>,
        key: Key,
        last: Option<(Spot, Member)>,
        next_offset: i32,
        (in_unit, logical): (bool, bool),
    ) -> Self {
        let next = last.and_then(|(spot, member)| {
            if !member.ends_message() {
                return Some(Spot { offset: next_offset, ..spot });
            }
            let goes_on = member.in_group() && !member.ends_group();
            goes_on.then_some(Spot { seq_number: spot.seq_number.saturating_add(1), offset: 0, ..spot })
        });
        let begun = before.filter(|before| {
            let follows = |next: Spot| last.is_some_and(|(spot, _)| spot.group_id == next.group_id);
            before.next.is_some_and(follows)
        });
        Self { next, in_unit, logical, start: begun.map_or(key, |before| before.start) }
    }

    /// What the handle has left incomplete (2242, 2241), if it went on in logical order so far.
    pub(crate) fn left_incomplete(&self) -> Option<Reason> {
        let next = self.next.filter(|_| self.logical)?;
        Some(if next.offset > 0 { Reason::INCOMPLETE_MSG } else { Reason::INCOMPLETE_GROUP })
    }

    /// Whether a get that goes on is consistent with what was got of the group (2245).
    pub(crate) fn check_unit(&self, in_unit: bool) -> Result<(), Reason> {
        if self.next.is_none() || self.in_unit == in_unit { Ok(()) } else { Err(Reason::INCONSISTENT_UOW) }
    }
}

/// What a get in logical order wants.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Logical {
    pub(super) want: Want,
    /// Hashes that the message has to have, whichever it is (2247).
    pub(super) must: [Option<u64>; 2],
    /// Behind which place it is.
    pub(super) after: Option<Key>,
}

/// Applies logical order to what is wanted otherwise.
pub(super) fn order(
    handle: &Handle,
    which: Which,
    request: &GetRequest,
    matching: MatchOptions,
    want: Want,
) -> Result<Logical, Reason> {
    let kept = handle.progress(which.browses()).filter(|_| which != Which::BrowseFirst);
    let spot = kept.and_then(|kept| kept.next);
    let first = Spot { group_id: request.group_id, seq_number: 1, offset: 0 };
    let next = spot.unwrap_or(first);
    // Whatever the application asks for, only this can come.
    let differs = |option, differs: bool| matching.contains(option) && differs;
    let wrong = differs(MatchOptions::MSG_SEQ_NUMBER, request.msg_seq_number != next.seq_number)
        || differs(MatchOptions::OFFSET, request.offset != next.offset)
        || (want.group_id.is_some_and(|wanted| wanted != next.group_id));
    if wrong {
        return Err(Reason::MATCH_OPTIONS_ERROR);
    }
    let has = |option| request.gmo.options.contains(option);
    let complete = has(GetOptions::COMPLETE_MSG);
    let whole = complete || has(GetOptions::ALL_SEGMENTS_AVAILABLE);
    let all = has(GetOptions::ALL_MSGS_AVAILABLE);
    let Some(spot) = spot else {
        let ready = match (all, complete, whole) {
            (true, true, _) => Ready::StartHeadOfGroup,
            (true, false, _) => Ready::StartOfGroup,
            (false, true, _) => Ready::StartHead,
            (false, false, true) => Ready::StartOfMessage,
            (false, false, false) => Ready::Start,
        };
        let want = Want { seq_number: None, offset: None, ready: Some(ready), ..want };
        let after = match which {
            Which::BrowseNext => kept.map(|kept| kept.start).or(handle.cursor),
            _ => None,
        };
        return Ok(Logical { want, must: [None; 2], after });
    };
    // Of a group that was begun the rest is not waited for as a whole, but each logical message is.
    let ready = match (spot.offset == 0, complete, whole || all) {
        (_, true, _) => Some(Ready::Head),
        (true, _, true) => Some(Ready::Message),
        _ => None,
    };
    let must = [want.msg_id, want.correl_id];
    Ok(Logical { want: Want { ready, at: want.at, ..Want::spot(spot) }, must, after: None })
}

/// What must be there beside the message, if it is not got in logical order.
pub(super) fn ready(options: GetOptions) -> Option<Ready> {
    let has = |option| options.contains(option);
    let all = has(GetOptions::ALL_MSGS_AVAILABLE);
    match (has(GetOptions::COMPLETE_MSG), all, has(GetOptions::ALL_SEGMENTS_AVAILABLE)) {
        (true, true, _) => Some(Ready::HeadInGroup),
        (true, false, _) => Some(Ready::Head),
        (false, true, _) => Some(Ready::Group),
        (false, false, true) => Some(Ready::Message),
        (false, false, false) => None,
    }
}
