//! What MQPUT and MQPUT1 refuse before anything is looked at but the call itself: options, and values that a
//! descriptor must not have (mq-objects.md 1.2, 1.5, 2.2; IBM MQ reference, "Report options and message flags").
//!
//! The fields of the descriptor are checked in the order in which they stand in it.

use mq_wire::{MessageFlags, Mqmd, Mqpmo, MsgType, PutOptions, Reason, ReportOptions};

use crate::order;

/// Report options that ask for a report, which needs a reply-to queue.
const REPORTS: ReportOptions = ReportOptions::EXCEPTION_WITH_FULL_DATA
    .union(ReportOptions::EXPIRATION_WITH_FULL_DATA)
    .union(ReportOptions::COA_WITH_FULL_DATA)
    .union(ReportOptions::COD_WITH_FULL_DATA)
    .union(ReportOptions::PAN)
    .union(ReportOptions::NAN);
/// MQRO_ACTIVITY: known, but only reports of activities come of it, which are not made here.
const ACTIVITY: u32 = 0x4;
/// MQRO_REJECT_UNSUP_MASK: options in here that are not known are refused.
const REJECTED: u32 = 0x101C_0000;
/// MQRO_ACCEPT_UNSUP_IF_XMIT_MASK: likewise, unless the message goes onto a transmission queue.
const ACCEPTED_IF_XMIT: u32 = 0x0003_FF00;
/// The range of feedback codes that applications have ends here.
const FEEDBACK_MAX: i32 = 999_999_999;
const MSG_TYPE_MAX: i32 = 999_999_999;

/// Which call it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    Put,
    Put1,
}

/// Options that do not exist, exclude each other, or are not for this call (2046); a distribution list, which DISTL(NO)
/// says is not for this queue manager (2154).
pub(crate) fn check_options(call: Call, pmo: &Mqpmo) -> Result<(), Reason> {
    let options = pmo.options;
    let context = PutOptions::DEFAULT_CONTEXT
        | PutOptions::NO_CONTEXT
        | PutOptions::PASS_IDENTITY_CONTEXT
        | PutOptions::PASS_ALL_CONTEXT
        | PutOptions::SET_IDENTITY_CONTEXT
        | PutOptions::SET_ALL_CONTEXT;
    let syncpoint = PutOptions::SYNCPOINT | PutOptions::NO_SYNCPOINT;
    let response = PutOptions::ASYNC_RESPONSE | PutOptions::SYNC_RESPONSE;
    let one_of = |several: PutOptions| (options & several).bits().count_ones() <= 1;
    let elsewhere = match call {
        Call::Put => PutOptions::ALTERNATE_USER_AUTHORITY,
        Call::Put1 => PutOptions::LOGICAL_ORDER,
    };
    let fits = options.unknown() == 0
        && one_of(context)
        && one_of(syncpoint)
        && one_of(response)
        && !options.intersects(elsewhere);
    if !fits {
        return Err(Reason::OPTIONS_ERROR);
    }
    if pmo.version >= 2 && pmo.recs_present != 0 {
        return Err(Reason::RECS_PRESENT_ERROR);
    }
    let handles = pmo.version >= 3 && (pmo.original_msg_handle, pmo.new_msg_handle) != (0, 0);
    match (handles, options.contains(PutOptions::MD_FOR_OUTPUT_ONLY)) {
        // A client sends no handles: what they hold is in the descriptor and the data already.
        (true, _) => Err(Reason::HMSG_ERROR),
        (false, true) => Err(Reason::MD_ERROR),
        (false, false) => Ok(()),
    }
}

/// What a descriptor says, checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Checked {
    /// The flags with those that others imply.
    pub(crate) flags: MessageFlags,
    /// None, or 2104.
    pub(crate) warning: Reason,
}

/// Values that a descriptor must not have. It is of version 2, whatever it was; `remote` says whether the message goes
/// onto a transmission queue.
pub(crate) fn check_descriptor(md: &Mqmd, options: PutOptions, remote: bool) -> Result<Checked, Reason> {
    let warning = check_report(md.report, remote)?;
    if !(1..=MSG_TYPE_MAX).contains(&md.msg_type.0) {
        return Err(Reason::MSG_TYPE_ERROR);
    }
    if md.expiry <= 0 && md.expiry != -1 {
        return Err(Reason::EXPIRY_ERROR);
    }
    if !(0..=FEEDBACK_MAX).contains(&md.feedback.0) {
        return Err(Reason::FEEDBACK_ERROR);
    }
    if md.priority < -1 {
        return Err(Reason::PRIORITY_ERROR);
    }
    if !(0..=2).contains(&md.persistence.0) {
        return Err(Reason::PERSISTENCE_ERROR);
    }
    let answer = md.msg_type == MsgType::REQUEST || md.report.intersects(REPORTS);
    let suppressed = options.contains(PutOptions::SUPPRESS_REPLYTO) && md.report.intersects(REPORTS);
    if (answer && md.reply_to_q.is_blank()) || suppressed {
        return Err(Reason::MISSING_REPLY_TO_Q);
    }
    order::check_numbers(md, options.contains(PutOptions::LOGICAL_ORDER))?;
    let flags = order::check_flags(md.msg_flags, remote)?;
    Ok(Checked { flags, warning })
}

/// Options that are not known: refused (2061) or passed over with a warning (2104), as their bits say. A bit that adds
/// data to a report which is not asked for is no option.
fn check_report(report: ReportOptions, remote: bool) -> Result<Reason, Reason> {
    let unknown = (report.unknown() & !ACTIVITY) | without_report(report);
    let refused = if remote { REJECTED } else { REJECTED | ACCEPTED_IF_XMIT };
    if unknown & refused != 0 {
        return Err(Reason::REPORT_OPTIONS_ERROR);
    }
    Ok(if unknown == 0 { Reason::NONE } else { Reason::UNKNOWN_REPORT_OPTION })
}

fn without_report(report: ReportOptions) -> u32 {
    let families = [
        [ReportOptions::COA, ReportOptions::COA_WITH_DATA, ReportOptions::COA_WITH_FULL_DATA],
        [ReportOptions::COD, ReportOptions::COD_WITH_DATA, ReportOptions::COD_WITH_FULL_DATA],
        [
            ReportOptions::EXPIRATION,
            ReportOptions::EXPIRATION_WITH_DATA,
            ReportOptions::EXPIRATION_WITH_FULL_DATA,
        ],
        [
            ReportOptions::EXCEPTION,
            ReportOptions::EXCEPTION_WITH_DATA,
            ReportOptions::EXCEPTION_WITH_FULL_DATA,
        ],
    ];
    let odd = |[plain, data, full]: &[ReportOptions; 3]| {
        let said = report & *full;
        let known = said.is_empty() || said == *plain || said == *data || said == *full;
        if known { 0 } else { (said & !*plain).bits() }
    };
    families.iter().map(odd).fold(0, |all, bits| all | bits)
}

#[cfg(test)]
mod tests {
    use mq_wire::{Feedback, Persistence, QName};

    use super::*;

    fn options(call: Call, bits: u32) -> u32 {
        let pmo = Mqpmo { options: PutOptions::from_bits_retain(bits), ..Mqpmo::default() };
        check_options(call, &pmo).map_or_else(|reason| reason.0 as u32, |()| 0)
    }

    #[test]
    fn options_that_do_not_go_together() {
        for bits in [0, 0x2, 0x4, 0x20, 0x1_0000, 0x2_0000, 0x20C2, 0x4_0000, 0x8_0000, 0x20_0000, 0x800_0000]
        {
            assert_eq!((options(Call::Put, bits), options(Call::Put1, bits)), (0, 0), "{bits:x}");
        }
        for bits in [0x1, 0x8, 0x10, 0x10_0000, 0x40_0000, 0x8000_0000, 0x6, 0x3_0000, 0x60 | 0x100, 0x4020] {
            assert_eq!((options(Call::Put, bits), options(Call::Put1, bits)), (2046, 2046), "{bits:x}");
        }
        assert_eq!((options(Call::Put, 0x1000), options(Call::Put1, 0x1000)), (2046, 0), "alternate user");
        assert_eq!((options(Call::Put, 0x8000), options(Call::Put1, 0x8000)), (0, 2046), "logical order");
        assert_eq!(options(Call::Put, 0x80_0000), 2026, "no handle whose descriptor it would be");
        let lists = Mqpmo { version: 2, recs_present: 2, ..Mqpmo::default() };
        assert_eq!(check_options(Call::Put, &lists), Err(Reason::RECS_PRESENT_ERROR));
        let handle = Mqpmo { version: 3, new_msg_handle: 7, ..Mqpmo::default() };
        assert_eq!(check_options(Call::Put, &handle), Err(Reason::HMSG_ERROR));
    }

    #[test]
    fn report_options_that_are_not_known() {
        let check = |bits, remote| match check_report(ReportOptions::from_bits_retain(bits), remote) {
            Ok(reason) | Err(reason) => reason.0,
        };
        for bits in [0, 0x4, 0xC0, 0x700, 0x3800, 0x4000, 0xE0_0000, 0x700_0000, 0xF00_0000, 0x0FE0_7FC7] {
            assert_eq!((check(bits, false), check(bits, true)), (0, 0), "{bits:x}");
        }
        for (bits, here, there) in [
            (0x1000_0000, 2061, 2061),
            (0x4_0000, 2061, 2061),
            (0x8000, 2061, 2104),
            (0x2_0000, 2061, 2104),
            (0x200, 2061, 2104),
            (0x500, 2061, 2104),
            (0x10, 2104, 2104),
            (0x40_0000, 2104, 2104),
            (0x8000_0000, 2104, 2104),
        ] {
            assert_eq!((check(bits, false), check(bits, true)), (here, there), "{bits:x}");
        }
    }

    /// A descriptor with every fault has them taken away one by one: the order in which they are found.
    #[test]
    fn fields_are_checked_in_the_order_of_the_descriptor() {
        let mut md = Mqmd {
            version: 2,
            report: ReportOptions::from_bits_retain(0x1000_0000),
            msg_type: MsgType(0),
            expiry: 0,
            feedback: Feedback(-1),
            priority: -2,
            persistence: Persistence(3),
            msg_seq_number: 0,
            offset: -1,
            msg_flags: MessageFlags::from_bits_retain(0x20),
            ..Mqmd::default()
        };
        type Cure = fn(&mut Mqmd);
        let cures: [(i32, Cure); 10] = [
            (2061, |md| md.report = ReportOptions::empty()),
            (2029, |md| md.msg_type = MsgType::REQUEST),
            (2013, |md| md.expiry = -1),
            (2014, |md| md.feedback = Feedback(999_999_999)),
            (2050, |md| md.priority = -1),
            (2047, |md| md.persistence = Persistence::AS_Q_DEF),
            (2027, |md| md.reply_to_q = QName::new("REPLY").unwrap()),
            (2250, |md| md.msg_seq_number = 1),
            (2251, |md| md.offset = 0),
            (2249, |md| md.msg_flags = MessageFlags::LAST_SEGMENT),
        ];
        for (expected, cure) in cures {
            let found = check_descriptor(&md, PutOptions::empty(), false);
            assert_eq!(found.map_err(|reason| reason.0), Err(expected));
            cure(&mut md);
        }
        let flags = MessageFlags::SEGMENT | MessageFlags::LAST_SEGMENT;
        let checked = Checked { flags, warning: Reason::NONE };
        assert_eq!(check_descriptor(&md, PutOptions::empty(), false), Ok(checked));
    }

    #[test]
    fn values_at_the_edges() {
        let check = |md: Mqmd| {
            let md = Mqmd { version: 2, ..md };
            check_descriptor(&md, PutOptions::empty(), false).map_or_else(|reason| reason.0, |_| 0)
        };
        let plain = Mqmd::default;
        for (msg_type, expected) in
            [(1, 2027), (65_535, 0), (65_536, 0), (999_999_999, 0), (1_000_000_000, 2029), (-1, 2029)]
        {
            assert_eq!(check(Mqmd { msg_type: MsgType(msg_type), ..plain() }), expected, "{msg_type}");
        }
        for (expiry, expected) in [(1, 0), (i32::MAX, 0), (-1, 0), (-2, 2013), (0, 2013)] {
            assert_eq!(check(Mqmd { expiry, ..plain() }), expected, "{expiry}");
        }
        for (feedback, expected) in [(0, 0), (1, 0), (65_535, 0), (65_536, 0), (1_000_000_000, 2014)] {
            assert_eq!(check(Mqmd { feedback: Feedback(feedback), ..plain() }), expected, "{feedback}");
        }
        for (report, expected) in [(0x1, 2027), (0x100, 2027), (0x20_0000, 2027), (0xC0, 0), (0x800_0000, 0)]
        {
            let report = ReportOptions::from_bits_retain(report);
            assert_eq!(check(Mqmd { report, ..plain() }), expected, "{report:?}");
        }
    }
}
