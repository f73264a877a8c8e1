//! What a call may not ask of this client, or of a queue manager of the agreed level. Everything else is for the queue
//! manager to check.
//!
//! A structure of a version that the level does not know is sent in the highest version that it knows, if nothing is
//! lost by that (mq-wire.md 3.2: what MQ 7.0 added came with FAP 9).

use mq_wire::{MessageFlags, Mqgmo, Mqmd, Mqod, Mqpmo, PutOptions, Reason};

/// From here on queue managers know MQOD 4, MQPMO 3 and MQGMO 4.
const SEVENTH_RELEASE: u8 = 9;

/// MQRC_OBJECT_STRING_ERROR.
const OBJECT_STRING_ERROR: Reason = Reason(2441);

/// MQOD of MQOPEN and MQPUT1.
pub(crate) fn od(od: Mqod, fap_level: u8) -> Result<Mqod, Reason> {
    if od.version >= 2 && od.recs_present != 0 {
        // A distribution list, which is not offered.
        return Err(Reason::RECS_PRESENT_ERROR);
    }
    if od.version < 4 {
        return Ok(od);
    }
    // What these strings hold cannot be given to this client.
    if od.object_string.length != 0 {
        return Err(OBJECT_STRING_ERROR);
    }
    if od.selection_string.length != 0 {
        return Err(Reason::SELECTION_STRING_ERROR);
    }
    let version = if fap_level < SEVENTH_RELEASE && od.version == 4 { 3 } else { od.version };
    Ok(Mqod { version, ..od })
}

/// MQPMO.
pub(crate) fn pmo(pmo: Mqpmo, fap_level: u8) -> Result<Mqpmo, Reason> {
    if pmo.version >= 2 && pmo.recs_present != 0 {
        return Err(Reason::RECS_PRESENT_ERROR);
    }
    if fap_level >= SEVENTH_RELEASE || pmo.version != 3 {
        return Ok(pmo);
    }
    if (pmo.original_msg_handle, pmo.new_msg_handle, pmo.action) != (0, 0, 0) {
        return Err(Reason::PMO_ERROR);
    }
    Ok(Mqpmo { version: 2, ..pmo })
}

/// MQGMO.
pub(crate) fn gmo(gmo: Mqgmo, fap_level: u8) -> Result<Mqgmo, Reason> {
    if fap_level >= SEVENTH_RELEASE || gmo.version != 4 {
        return Ok(gmo);
    }
    if gmo.msg_handle != 0 {
        return Err(Reason::WRONG_GMO_VERSION);
    }
    Ok(Mqgmo { version: 3, ..gmo })
}

/// Whether a put need not be answered: it was asked for so, and no ids but MsgId and CorrelId have to come back.
pub(crate) fn may_be_unanswered(md: &Mqmd, pmo: &Mqpmo) -> bool {
    let in_group = MessageFlags::MSG_IN_GROUP
        | MessageFlags::LAST_MSG_IN_GROUP
        | MessageFlags::SEGMENT
        | MessageFlags::LAST_SEGMENT;
    let makes_group_id = md.version >= 2 && md.msg_flags.intersects(in_group) && md.group_id.is_none();
    pmo.options.contains(PutOptions::ASYNC_RESPONSE)
        && !pmo.options.contains(PutOptions::LOGICAL_ORDER)
        && !makes_group_id
}

#[cfg(test)]
mod tests {
    use mq_wire::Mqcharv;

    use super::*;

    #[test]
    fn versions_are_lowered_to_what_the_level_knows() {
        let check = |fap_level, expected: [u32; 3]| {
            let versions = [
                od(Mqod { version: 4, ..Mqod::default() }, fap_level).unwrap().version,
                pmo(Mqpmo { version: 3, ..Mqpmo::default() }, fap_level).unwrap().version,
                gmo(Mqgmo { version: 4, ..Mqgmo::default() }, fap_level).unwrap().version,
            ];
            assert_eq!(versions.map(|version| version as u32), expected, "FAP {fap_level}");
        };
        check(4, [3, 2, 3]);
        check(8, [3, 2, 3]);
        check(9, [4, 3, 4]);
        check(12, [4, 3, 4]);
        assert_eq!(od(Mqod::default(), 4).unwrap().version, 1);
    }

    #[test]
    fn what_would_be_lost_is_refused() {
        let string = Mqcharv { length: 1, ..Mqcharv::default() };
        let refused = |outcome: Result<Mqod, Reason>| outcome.unwrap_err();
        assert_eq!(
            refused(od(Mqod { version: 2, recs_present: 1, ..Mqod::default() }, 12)),
            Reason::RECS_PRESENT_ERROR
        );
        assert_eq!(
            refused(od(Mqod { version: 4, object_string: string, ..Mqod::default() }, 12)),
            OBJECT_STRING_ERROR
        );
        assert_eq!(
            refused(od(Mqod { version: 4, selection_string: string, ..Mqod::default() }, 12)),
            Reason::SELECTION_STRING_ERROR
        );
        let records = Mqpmo { version: 2, recs_present: 2, ..Mqpmo::default() };
        assert_eq!(pmo(records, 12).unwrap_err(), Reason::RECS_PRESENT_ERROR);
        let handle = Mqpmo { version: 3, new_msg_handle: 1, ..Mqpmo::default() };
        assert_eq!((pmo(handle.clone(), 8).unwrap_err(), pmo(handle, 9).is_ok()), (Reason::PMO_ERROR, true));
        let handle = Mqgmo { version: 4, msg_handle: 1, ..Mqgmo::default() };
        assert_eq!(gmo(handle, 8).unwrap_err(), Reason::WRONG_GMO_VERSION);
    }

    #[test]
    fn puts_that_make_more_than_two_ids_are_answered() {
        let asked = Mqpmo { options: PutOptions::ASYNC_RESPONSE, ..Mqpmo::default() };
        let plain = Mqmd::default();
        let grouped = Mqmd { version: 2, msg_flags: MessageFlags::MSG_IN_GROUP, ..Mqmd::default() };
        let named = Mqmd { group_id: mq_wire::GroupId([1; 24]), ..grouped.clone() };
        assert!(may_be_unanswered(&plain, &asked));
        assert!(may_be_unanswered(&named, &asked));
        assert!(!may_be_unanswered(&grouped, &asked));
        assert!(!may_be_unanswered(&plain, &Mqpmo::default()));
        let logical = Mqpmo { options: asked.options | PutOptions::LOGICAL_ORDER, ..asked };
        assert!(!may_be_unanswered(&plain, &logical));
    }
}
