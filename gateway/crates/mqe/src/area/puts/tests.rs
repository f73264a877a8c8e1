//! The put mark by itself.

use mq_wire::Reason;

use store::Id;

use super::{CREDIT_MAX, Decision, Look, PutMark};
use crate::Sequence;
use crate::frame::PutOutcome;

const TAKEN: Look = Look::Seen(PutOutcome::Taken);
const REFUSED: Look = Look::Seen(PutOutcome::Refused(Reason::Q_FULL));

fn mark(steps: &[(u64, bool)]) -> PutMark {
    let mut mark = PutMark::default();
    for (sequence, taken) in steps {
        let decision = if *taken { Decision::Taken } else { Decision::Refused(Reason::Q_FULL) };
        mark.record(Sequence(*sequence), decision);
    }
    assert_eq!(PutMark::from_bytes(&mark.to_bytes()), Ok(mark.clone()), "survives a restart");
    mark
}

fn check(steps: &[(u64, bool)], sequence: u64, expected: Look) {
    assert_eq!(mark(steps).look(Sequence(sequence)), expected, "{steps:?} then {sequence}");
}

#[test]
fn what_was_seen_keeps_its_outcome() {
    check(&[], 1, Look::New);
    check(&[], 0, Look::TooOld);
    check(&[(1, true)], 1, TAKEN);
    check(&[(1, false)], 1, REFUSED);
    check(&[(1, true)], 2, Look::New);
    check(&[(1, true), (3, true)], 2, Look::New);
    check(&[(1, true), (3, true), (2, false)], 2, REFUSED);
    check(&[(1, true), (3, true), (2, true)], 3, TAKEN);
    check(&[(5, true)], 1, Look::New);
}

#[test]
fn what_is_below_the_credit_is_not_remembered() {
    check(&[(1, true), (CREDIT_MAX, true)], 1, TAKEN);
    check(&[(1, true), (CREDIT_MAX, true)], 2, Look::New);
    check(&[(1, true), (CREDIT_MAX + 1, true)], 1, Look::TooOld);
    check(&[(1, false), (CREDIT_MAX + 1, true)], 2, Look::New);
    check(&[(u64::MAX, true)], u64::MAX, TAKEN);
    check(&[(u64::MAX, true)], 7, Look::TooOld);
    let long = mark(&[(1, true), (10_000, true)]);
    assert!(long.to_bytes().len() <= 10 + 2 * CREDIT_MAX as usize);
}

/// Ids that are far apart, so that none is taken for another.
fn entry(number: u64) -> Id {
    Id::from_u64(number << 40)
}

#[test]
fn a_put_waits_for_its_own_entry_and_then_has_an_outcome() {
    let mut mark = PutMark::default();
    for sequence in 1..=3 {
        mark.record(Sequence(sequence), Decision::WithEntry(entry(sequence)));
        assert_eq!(PutMark::from_bytes(&mark.to_bytes()), Ok(mark.clone()), "survives a restart");
    }
    let ended = [
        mark.entry_ended(2, entry(2), None),
        mark.entry_ended(3, entry(3), Some(Reason::Q_FULL)),
        // Not its own, and once more.
        mark.entry_ended(1, entry(3), None),
        mark.entry_ended(2, entry(2), None),
    ];
    assert_eq!(ended, [true, true, false, false]);
    assert_eq!([1, 2, 3, 4].map(|of| mark.look(Sequence(of))), [Look::Waits, TAKEN, REFUSED, Look::New]);
    assert_eq!(mark.waits().collect::<Vec<_>>(), [(1, entry(1))]);
    let before = mark.to_bytes();
    for length in before.len() - 13..before.len() {
        assert!(PutMark::from_bytes(&before[..length]).is_err(), "{length} of {}", before.len());
    }
    // What the device has long seen an answer to is not kept.
    mark.record(Sequence(CREDIT_MAX + 1), Decision::Taken);
    assert_eq!(mark.waits().count(), 0);
}

#[test]
fn broken_bytes_are_refused() {
    let bytes = mark(&[(1, true), (4, false)]).to_bytes();
    for length in 0..bytes.len() {
        let cut = PutMark::from_bytes(&bytes[..length]);
        assert!(cut.is_err() || length == bytes.len() - 6, "a prefix of {length}");
    }
}
