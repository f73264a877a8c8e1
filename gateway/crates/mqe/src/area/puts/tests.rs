//! The put mark by itself.

use mq_wire::Reason;

use super::{CREDIT_MAX, Look, PutMark};
use crate::Sequence;
use crate::frame::PutOutcome;

const TAKEN: Look = Look::Seen(PutOutcome::Taken);
const REFUSED: Look = Look::Seen(PutOutcome::Refused(Reason::Q_FULL));

fn mark(steps: &[(u64, bool)]) -> PutMark {
    let mut mark = PutMark::default();
    for (sequence, taken) in steps {
        mark.record(Sequence(*sequence), (!taken).then_some(Reason::Q_FULL));
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

#[test]
fn broken_bytes_are_refused() {
    let bytes = mark(&[(1, true), (4, false)]).to_bytes();
    for length in 0..bytes.len() {
        let cut = PutMark::from_bytes(&bytes[..length]);
        assert!(cut.is_err() || length == bytes.len() - 6, "a prefix of {length}");
    }
}
