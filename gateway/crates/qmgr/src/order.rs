//! Groups and segments at a put: what GroupId, MsgSeqNumber and Offset a message gets, and what the handle keeps of
//! the group or logical message that is not complete yet (mq-objects.md 1.2, 1.5; IBM MQ reference, "MQPMO options"
//! and the reasons 2185, 2241, 2242, 2245). Cutting a message into segments is in `segment`.

use mq_wire::{GroupId, MessageFlags, Mqmd, MsgType, Reason};

/// The highest sequence number, and the highest offset.
pub(crate) const PLACE_MAX: i32 = 999_999_999;

const GROUP: MessageFlags = MessageFlags::MSG_IN_GROUP.union(MessageFlags::LAST_MSG_IN_GROUP);
const SEGMENT: MessageFlags = MessageFlags::SEGMENT.union(MessageFlags::LAST_SEGMENT);
/// What no message can have: flags of a later version that must not be passed over.
const REJECTED: u32 = 0x0000_0FFF;
/// Flags of a later version that do no harm where the message only passes through.
const ACCEPTED_IF_XMIT: u32 = 0x000F_F000;

/// What a handle keeps of the last put: the group or the logical message that is not complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PutOrder {
    group_id: GroupId,
    /// Of the logical message that was put last.
    seq_number: i32,
    /// Where the next segment begins; none if the logical message is complete.
    next_offset: Option<i32>,
    flags: MessageFlags,
    persistent: bool,
    in_unit: bool,
    /// Whether the last put was in logical order.
    logical: bool,
}

impl PutOrder {
    /// What is not complete: 2242 or 2241.
    pub(crate) fn incomplete(&self) -> Reason {
        if self.next_offset.is_some() { Reason::INCOMPLETE_MSG } else { Reason::INCOMPLETE_GROUP }
    }

    /// As [`Self::incomplete`], if the application left the order to the queue manager: what a close warns of.
    pub(crate) fn left_incomplete(&self) -> Option<Reason> {
        self.logical.then(|| self.incomplete())
    }
}

/// How a message is put.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manner {
    /// MQPMO_LOGICAL_ORDER.
    pub(crate) logical: bool,
    pub(crate) persistent: bool,
    pub(crate) in_unit: bool,
    /// Bytes of the data.
    pub(crate) length: usize,
}

/// Whether the flags are known, or may be passed over (2249). Says them with those that others imply.
pub(crate) fn check_flags(flags: MessageFlags, remote: bool) -> Result<MessageFlags, Reason> {
    let refused = if remote { REJECTED } else { REJECTED | ACCEPTED_IF_XMIT };
    if flags.unknown() & refused != 0 {
        return Err(Reason::MSG_FLAGS_ERROR);
    }
    let mut flags = flags;
    flags.set(MessageFlags::SEGMENT, flags.intersects(SEGMENT));
    flags.set(MessageFlags::MSG_IN_GROUP, flags.intersects(GROUP));
    Ok(flags)
}

/// Whether the application's numbers are such (2250, 2251), where they count.
pub(crate) fn check_numbers(md: &Mqmd, logical: bool) -> Result<(), Reason> {
    if logical {
        return Ok(());
    }
    if !(1..=PLACE_MAX).contains(&md.msg_seq_number) {
        return Err(Reason::MSG_SEQ_NUMBER_ERROR);
    }
    if !(0..=PLACE_MAX).contains(&md.offset) {
        return Err(Reason::OFFSET_ERROR);
    }
    Ok(())
}

/// Writes the place of a message in its group and logical message into its descriptor, which is of version 2 and has
/// been checked. Says the warning, and what the handle has to keep. `new_id` makes an id that was never given.
pub(crate) fn arrange(
    kept: Option<&PutOrder>,
    md: &mut Mqmd,
    how: Manner,
    new_id: impl FnOnce() -> GroupId,
) -> Result<(Reason, Option<PutOrder>), Reason> {
    let flags = md.msg_flags;
    let segment = flags.contains(MessageFlags::SEGMENT);
    let last = flags.contains(MessageFlags::LAST_SEGMENT);
    let grouped = flags.contains(MessageFlags::MSG_IN_GROUP);
    // A report on a segment says its length, whatever data it has.
    if segment && !last && how.length == 0 && md.msg_type != MsgType::REPORT {
        return Err(Reason::SEGMENT_LENGTH_ZERO);
    }
    let mut warning = Reason::NONE;
    match kept {
        Some(kept) if how.logical => goes_on(kept, md, how)?,
        _ if how.logical => {
            (md.group_id, md.msg_seq_number, md.offset) = (GroupId::NONE, 1, 0);
        }
        kept => {
            warning = kept.and_then(PutOrder::left_incomplete).unwrap_or(Reason::NONE);
            if !grouped {
                md.msg_seq_number = 1;
            }
            if !segment {
                md.offset = 0;
            }
        }
    }
    if !(segment || grouped || flags.contains(MessageFlags::SEGMENTATION_ALLOWED)) {
        md.group_id = GroupId::NONE;
    } else if md.group_id.is_none() {
        md.group_id = new_id();
    }
    set_original_length(md, how.length)?;
    // A report on a segment stands for all of it, however much of its data it has.
    let length = if segment { Some(md.original_length) } else { i32::try_from(how.length).ok() };
    let end = length.and_then(|length| md.offset.checked_add(length));
    let end = end.filter(|end| *end <= PLACE_MAX).ok_or(Reason::OFFSET_ERROR)?;
    let whole = !segment || last;
    let closed = !grouped || (whole && flags.contains(MessageFlags::LAST_MSG_IN_GROUP));
    let next = (!(whole && closed)).then(|| PutOrder {
        group_id: md.group_id,
        seq_number: md.msg_seq_number,
        next_offset: (!whole).then_some(end),
        flags,
        persistent: how.persistent,
        in_unit: how.in_unit,
        logical: how.logical,
    });
    Ok((warning, next))
}

/// The next message of what is not complete, in logical order.
fn goes_on(kept: &PutOrder, md: &mut Mqmd, how: Manner) -> Result<(), Reason> {
    let same = |flag| kept.flags.contains(flag) == md.msg_flags.contains(flag);
    match kept.next_offset {
        Some(offset) => {
            let fits = md.msg_flags.contains(MessageFlags::SEGMENT)
                && same(MessageFlags::MSG_IN_GROUP)
                && same(MessageFlags::LAST_MSG_IN_GROUP);
            if !fits {
                return Err(Reason::INCOMPLETE_MSG);
            }
            (md.msg_seq_number, md.offset) = (kept.seq_number, offset);
        }
        None => {
            if !md.msg_flags.contains(MessageFlags::MSG_IN_GROUP) {
                return Err(Reason::INCOMPLETE_GROUP);
            }
            if kept.seq_number >= PLACE_MAX {
                return Err(Reason::MSG_SEQ_NUMBER_ERROR);
            }
            (md.msg_seq_number, md.offset) = (kept.seq_number + 1, 0);
        }
    }
    if kept.persistent != how.persistent {
        return Err(Reason::INCONSISTENT_PERSISTENCE);
    }
    if kept.in_unit != how.in_unit {
        return Err(Reason::INCONSISTENT_UOW);
    }
    md.group_id = kept.group_id;
    Ok(())
}

/// OriginalLength: the application's in a report on a segment (2252), the length of the data in any other segment.
fn set_original_length(md: &mut Mqmd, length: usize) -> Result<(), Reason> {
    if !md.msg_flags.contains(MessageFlags::SEGMENT) {
        md.original_length = -1;
        return Ok(());
    }
    let length = i32::try_from(length).unwrap_or(i32::MAX);
    if md.msg_type != MsgType::REPORT {
        md.original_length = length;
        return Ok(());
    }
    let least = i32::from(!md.msg_flags.contains(MessageFlags::LAST_SEGMENT));
    let fits = md.original_length >= least && md.original_length >= length;
    if fits { Ok(()) } else { Err(Reason::ORIGINAL_LENGTH_ERROR) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREE: Manner = Manner { logical: false, persistent: true, in_unit: false, length: 10 };
    const ORDERED: Manner = Manner { logical: true, ..FREE };

    /// Puts one behind the other; what became of each as `group seq offset reason`, or the reason of a refusal.
    fn check(puts: &[(u32, Manner)], expected: &[&str]) {
        let (mut kept, mut ids, mut found) = (None, 0, Vec::new());
        for (flags, how) in puts {
            let msg_flags = check_flags(MessageFlags::from_bits_retain(*flags), false).unwrap();
            let mut md = Mqmd { version: 2, msg_flags, group_id: GroupId([0; 24]), ..Mqmd::default() };
            (md.msg_seq_number, md.offset) = (7, 70);
            let new_id = || {
                ids += 1;
                GroupId([ids; 24])
            };
            match arrange(kept.as_ref(), &mut md, *how, new_id) {
                Ok((warning, next)) => {
                    kept = next;
                    let (group, seq, offset) = (md.group_id.0[0], md.msg_seq_number, md.offset);
                    found.push(format!("{group} {seq} {offset} {}", warning.0));
                }
                Err(reason) => found.push(reason.0.to_string()),
            }
        }
        assert_eq!(found, expected);
    }

    const ALLOWED: u32 = 1;
    const PART: u32 = 2;
    const LAST_PART: u32 = 4;
    const MEMBER: u32 = 8;
    const LAST_MEMBER: u32 = 16;

    #[test]
    fn without_logical_order_the_application_says_where() {
        check(&[(0, FREE)], &["0 1 0 0"]);
        check(&[(ALLOWED, FREE)], &["1 1 0 0"]);
        check(&[(MEMBER, FREE), (LAST_MEMBER, FREE)], &["1 7 0 0", "2 7 0 0"]);
        check(&[(PART, FREE), (LAST_PART, FREE)], &["1 1 70 0", "2 1 70 0"]);
        check(&[(MEMBER | PART, FREE)], &["1 7 70 0"]);
    }

    #[test]
    fn in_logical_order_the_queue_manager_counts() {
        check(&[(0, ORDERED), (ALLOWED, ORDERED)], &["0 1 0 0", "1 1 0 0"]);
        let group = [(MEMBER, ORDERED), (MEMBER, ORDERED), (LAST_MEMBER, ORDERED), (MEMBER, ORDERED)];
        check(&group, &["1 1 0 0", "1 2 0 0", "1 3 0 0", "2 1 0 0"]);
        let segments = [(PART, ORDERED), (PART, ORDERED), (LAST_PART, ORDERED), (PART, ORDERED)];
        check(&segments, &["1 1 0 0", "1 1 10 0", "1 1 20 0", "2 1 0 0"]);
        let both = [
            (MEMBER | PART, ORDERED),
            (MEMBER | LAST_PART, ORDERED),
            (LAST_MEMBER | PART, ORDERED),
            (LAST_MEMBER | LAST_PART, ORDERED),
            (0, ORDERED),
        ];
        check(&both, &["1 1 0 0", "1 1 10 0", "1 2 0 0", "1 2 10 0", "0 1 0 0"]);
    }

    #[test]
    fn what_does_not_go_on_is_refused() {
        check(&[(MEMBER, ORDERED), (0, ORDERED), (PART, ORDERED)], &["1 1 0 0", "2241", "2241"]);
        check(&[(PART, ORDERED), (0, ORDERED), (MEMBER, ORDERED)], &["1 1 0 0", "2242", "2242"]);
        let other_group =
            [(MEMBER | PART, ORDERED), (LAST_MEMBER | LAST_PART, ORDERED), (LAST_PART, ORDERED)];
        check(&other_group, &["1 1 0 0", "2242", "2242"]);
        let not_persistent = Manner { persistent: false, ..ORDERED };
        check(&[(MEMBER, ORDERED), (MEMBER, not_persistent)], &["1 1 0 0", "2185"]);
        let in_unit = Manner { in_unit: true, ..ORDERED };
        check(&[(MEMBER, ORDERED), (MEMBER, in_unit)], &["1 1 0 0", "2245"]);
    }

    #[test]
    fn leaving_the_order_is_warned_of_once_and_it_can_be_taken_up_again() {
        check(
            &[(MEMBER, ORDERED), (MEMBER, FREE), (MEMBER, FREE), (LAST_MEMBER, ORDERED)],
            &["1 1 0 0", "2 7 0 2241", "3 7 0 0", "3 8 0 0"],
        );
        check(&[(PART, ORDERED), (0, FREE), (0, FREE)], &["1 1 0 0", "0 1 0 2242", "0 1 0 0"]);
        check(&[(PART, FREE), (LAST_PART, ORDERED)], &["1 1 70 0", "1 1 80 0"]);
    }

    #[test]
    fn segments_have_a_length_and_an_end() {
        let empty = Manner { length: 0, ..FREE };
        check(&[(PART, empty), (MEMBER | PART, empty), (LAST_PART, empty)], &["2253", "2253", "1 1 70 0"]);
        let long = Manner { length: 999_999_999, ..ORDERED };
        check(&[(PART, long), (PART, ORDERED), (PART, FREE)], &["1 1 0 0", "2251", "2 1 70 2242"]);
    }

    #[test]
    fn a_report_on_a_segment_stands_for_all_of_it() {
        let flags = MessageFlags::SEGMENT;
        let mut md = Mqmd { version: 2, msg_type: MsgType::REPORT, msg_flags: flags, ..Mqmd::default() };
        md.original_length = 500;
        let how = Manner { length: 0, ..ORDERED };
        let (_, kept) = arrange(None, &mut md, how, || GroupId([1; 24])).unwrap();
        arrange(kept.as_ref(), &mut md, how, || GroupId([2; 24])).unwrap();
        assert_eq!(md.offset, 500);
    }

    #[test]
    fn flags() {
        let check =
            |bits, remote| check_flags(MessageFlags::from_bits_retain(bits), remote).map(|f| f.bits());
        assert_eq!(check(LAST_PART | LAST_MEMBER, false), Ok(LAST_PART | PART | MEMBER | LAST_MEMBER));
        for (bits, here, there) in [(0x20, false, false), (0x1000, false, true), (0x10_0000, true, true)] {
            assert_eq!((check(bits, false).is_ok(), check(bits, true).is_ok()), (here, there), "{bits:x}");
        }
    }

    #[test]
    fn the_length_of_what_a_report_is_about() {
        let check = |msg_type, flags: u32, original_length, length| {
            let msg_flags = check_flags(MessageFlags::from_bits_retain(flags), false).unwrap();
            let mut md = Mqmd { version: 2, msg_type, msg_flags, original_length, ..Mqmd::default() };
            set_original_length(&mut md, length).map(|()| md.original_length).map_err(|reason| reason.0)
        };
        assert_eq!(check(MsgType::DATAGRAM, 0, 9, 5), Ok(-1));
        assert_eq!(check(MsgType::DATAGRAM, PART, 9, 5), Ok(5));
        assert_eq!(check(MsgType::REPORT, PART, 9, 5), Ok(9));
        assert_eq!(check(MsgType::REPORT, PART, 4, 5), Err(2252));
        assert_eq!(check(MsgType::REPORT, PART, 0, 0), Err(2252));
        assert_eq!(check(MsgType::REPORT, LAST_PART, 0, 0), Ok(0));
        assert_eq!(check(MsgType::REPORT, LAST_PART, -1, 0), Err(2252));
    }
}
