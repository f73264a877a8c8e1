//! Options of MQGET that go together, and those that do not (IBM MQ reference, "Rules for validating MQI options" and
//! "MQGMO options").

use mq_wire::{GetOptions, MatchOptions, Mqgmo, Reason};

use crate::get::Which;

pub(super) const BROWSE: GetOptions =
    GetOptions::BROWSE_FIRST.union(GetOptions::BROWSE_NEXT).union(GetOptions::BROWSE_MSG_UNDER_CURSOR);
const UNDER_CURSOR: GetOptions = GetOptions::MSG_UNDER_CURSOR.union(GetOptions::BROWSE_MSG_UNDER_CURSOR);
const SYNCPOINT: GetOptions = GetOptions::SYNCPOINT.union(GetOptions::SYNCPOINT_IF_PERSISTENT);
/// Only on z/OS; here as if they were not defined.
const NOT_HERE: GetOptions = GetOptions::SET_SIGNAL.union(GetOptions::MARK_SKIP_BACKOUT);
const MARK: GetOptions = GetOptions::MARK_BROWSE_HANDLE.union(GetOptions::MARK_BROWSE_CO_OP);
pub(super) const UNMARK: GetOptions = GetOptions::UNMARK_BROWSE_HANDLE.union(GetOptions::UNMARK_BROWSE_CO_OP);
pub(super) const CO_OP: GetOptions = GetOptions::MARK_BROWSE_CO_OP.union(GetOptions::UNMARK_BROWSE_CO_OP);
/// Groups and segments; they need version 2 of MQGMO.
const GROUPS: GetOptions = GetOptions::LOGICAL_ORDER
    .union(GetOptions::COMPLETE_MSG)
    .union(GetOptions::ALL_MSGS_AVAILABLE)
    .union(GetOptions::ALL_SEGMENTS_AVAILABLE);
const PROPERTIES: GetOptions = GetOptions::PROPERTIES_FORCE_MQRFH2
    .union(GetOptions::NO_PROPERTIES)
    .union(GetOptions::PROPERTIES_IN_HANDLE)
    .union(GetOptions::PROPERTIES_COMPATIBILITY);

/// Checks the options (2046, 2256, 2460), and says which message they mean.
pub(super) fn which(gmo: &Mqgmo) -> Result<Which, Reason> {
    let options = gmo.options;
    if !go_together(options) {
        return Err(Reason::OPTIONS_ERROR);
    }
    if gmo.version < 2 && options.intersects(GROUPS) {
        return Err(Reason::WRONG_GMO_VERSION);
    }
    if options.contains(GetOptions::PROPERTIES_IN_HANDLE) {
        // Nobody makes handles of messages here.
        return Err(Reason::HMSG_ERROR);
    }
    Ok(match options {
        options if options.contains(GetOptions::UNLOCK) => Which::Unlock,
        options if options.contains(GetOptions::BROWSE_FIRST) => Which::BrowseFirst,
        options if options.contains(GetOptions::BROWSE_NEXT) => Which::BrowseNext,
        options if options.contains(GetOptions::BROWSE_MSG_UNDER_CURSOR) => Which::BrowseUnderCursor,
        options if options.contains(GetOptions::MSG_UNDER_CURSOR) => Which::TakeUnderCursor,
        _ => Which::Take,
    })
}

fn go_together(options: GetOptions) -> bool {
    let one_of = |several: GetOptions| (options & several).bits().count_ones() <= 1;
    let has = |some: GetOptions| options.intersects(some);
    let browses = has(BROWSE);
    let known = options.unknown() == 0 && !has(NOT_HERE);
    let alone = one_of(BROWSE | GetOptions::MSG_UNDER_CURSOR)
        && one_of(SYNCPOINT | GetOptions::NO_SYNCPOINT)
        && one_of(GetOptions::MARK_BROWSE_HANDLE | GetOptions::UNMARK_BROWSE_HANDLE)
        && one_of(CO_OP)
        && one_of(PROPERTIES);
    let in_unit = !has(SYNCPOINT) || !(browses || has(GetOptions::LOCK | GetOptions::UNLOCK));
    let persistent = !(has(GetOptions::SYNCPOINT_IF_PERSISTENT) && has(GetOptions::COMPLETE_MSG));
    let lock = !has(GetOptions::LOCK) || browses;
    let unlock = !has(GetOptions::UNLOCK)
        || (GetOptions::UNLOCK | GetOptions::NO_SYNCPOINT | GetOptions::FAIL_IF_QUIESCING).contains(options);
    // Marks are of single messages that are browsed and stay with nobody.
    let marking = MARK | GetOptions::UNMARKED_BROWSE_MSG;
    let marks = !has(marking | UNMARK) || !has(GROUPS | GetOptions::LOCK | GetOptions::UNLOCK);
    let browsed = !has(marking) || browses;
    let unmarked = !(has(GetOptions::UNMARKED_BROWSE_MSG) && has(UNMARK));
    known && alone && in_unit && persistent && lock && unlock && marks && browsed && unmarked
}

/// Checks the match options (2247, 2256, 2257, 2331).
pub(super) fn matching(gmo: &Mqgmo, md_version: i32) -> Result<MatchOptions, Reason> {
    if gmo.version < 2 {
        return Ok(MatchOptions::MSG_ID | MatchOptions::CORREL_ID);
    }
    let options = gmo.match_options;
    if options.unknown() != 0 {
        return Err(Reason::MATCH_OPTIONS_ERROR);
    }
    let second = MatchOptions::GROUP_ID | MatchOptions::MSG_SEQ_NUMBER | MatchOptions::OFFSET;
    if options.intersects(second) && md_version < 2 {
        return Err(Reason::WRONG_MD_VERSION);
    }
    if options.contains(MatchOptions::MSG_TOKEN) {
        if gmo.version < 3 {
            return Err(Reason::WRONG_GMO_VERSION);
        }
        if gmo.options.contains(GetOptions::WAIT) && !gmo.options.intersects(UNDER_CURSOR) {
            return Err(Reason::MSG_TOKEN_ERROR);
        }
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(options: &[GetOptions], expected: bool) {
        let options = options.iter().fold(GetOptions::empty(), |all, option| all | *option);
        assert_eq!(go_together(options), expected, "{options:?}");
    }

    #[test]
    fn what_goes_together() {
        use GetOptions as O;
        check(&[], true);
        check(&[O::WAIT, O::SYNCPOINT, O::CONVERT, O::FAIL_IF_QUIESCING, O::ACCEPT_TRUNCATED_MSG], true);
        for browse in [O::BROWSE_FIRST, O::BROWSE_NEXT, O::BROWSE_MSG_UNDER_CURSOR] {
            check(&[browse, O::LOCK, O::WAIT, O::NO_SYNCPOINT], true);
            check(&[browse, O::MARK_BROWSE_HANDLE, O::MARK_BROWSE_CO_OP, O::UNMARKED_BROWSE_MSG], true);
            check(&[browse, O::UNMARK_BROWSE_CO_OP, O::UNMARK_BROWSE_HANDLE], true);
            check(&[browse, O::LOGICAL_ORDER, O::COMPLETE_MSG], true);
            check(&[browse, O::SYNCPOINT], false);
            check(&[browse, O::SYNCPOINT_IF_PERSISTENT], false);
            check(&[browse, O::MSG_UNDER_CURSOR], false);
            check(&[browse, O::UNMARK_BROWSE_CO_OP, O::UNMARKED_BROWSE_MSG], false);
            for option in [O::LOGICAL_ORDER, O::COMPLETE_MSG, O::ALL_MSGS_AVAILABLE, O::LOCK] {
                check(&[browse, O::MARK_BROWSE_HANDLE, option], false);
                check(&[browse, O::UNMARKED_BROWSE_MSG, option], false);
            }
        }
        check(&[O::BROWSE_FIRST, O::BROWSE_NEXT], false);
        check(&[O::SYNCPOINT, O::NO_SYNCPOINT], false);
        check(&[O::SYNCPOINT_IF_PERSISTENT, O::COMPLETE_MSG], false);
        check(&[O::LOCK], false);
        check(&[O::MARK_BROWSE_HANDLE], false);
        check(&[O::UNMARKED_BROWSE_MSG], false);
        check(&[O::BROWSE_FIRST, O::MARK_BROWSE_CO_OP, O::UNMARK_BROWSE_CO_OP], false);
        check(&[O::UNLOCK], true);
        check(&[O::UNLOCK, O::NO_SYNCPOINT], true);
        for option in [O::WAIT, O::SYNCPOINT, O::LOCK, O::BROWSE_FIRST, O::ACCEPT_TRUNCATED_MSG] {
            check(&[O::UNLOCK, option], false);
        }
        check(&[O::NO_PROPERTIES, O::PROPERTIES_FORCE_MQRFH2], false);
        check(&[O::SET_SIGNAL], false);
        check(&[O::MARK_SKIP_BACKOUT, O::SYNCPOINT], false);
        check(&[O::from_bits_retain(0x4000_0000)], false);
    }
}
