//! The model test of the queue manager: random MQI calls of several connections, with crashes, against a simple queue manager
//! in memory that was written from the documents alone. A seed gives the same calls everywhere.
//!
//! `MQI_MODEL_SEEDS` says how many seeds (20 without), `MQI_MODEL_FIRST` which is the first, `MQI_MODEL_FEATURES` what is on or
//! off besides what is said in `generate::Features`, `MQI_MODEL_AUDIT` after how many calls all queues are looked at (1,000),
//! `MQI_MODEL_SHOWN` how many calls are shown of what led to a difference (20).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "in a test that is a failure like any other"
)]

mod adapter;
mod calls;
mod compare;
mod generate;
mod model;

use calls::value::SEL_DEPTH;
use calls::{Call, Got, Outcome, Seen, Step};
use compare::{Pair, number};
use generate::{Features, Generator};
use model::Model;

/// The model by itself: every call has an answer, and the interesting answers occur.
#[test]
fn the_generator_reaches_what_it_aims_at() {
    let mut seen = std::collections::BTreeMap::<i32, usize>::new();
    for seed in 1..=10 {
        let mut model = Model::new(generate::settings(), generate::definitions());
        let mut generator = Generator::new(seed, Features::ALL);
        for _ in 0..5000 {
            let call = generator.next(&model);
            let step = model.apply(&call);
            *seen.entry(step.outcome.reason).or_default() += 1;
        }
    }
    println!("reasons of 50,000 calls: {seen:?}");
    let aims = [
        0, 2001, 2016, 2024, 2033, 2034, 2042, 2045, 2051, 2052, 2053, 2055, 2079, 2080, 2082, 2085, 2087,
        2185, 2209, 2241, 2242, 2245,
    ];
    for reason in aims {
        assert!(seen.contains_key(&reason), "no call ended with {reason}");
    }
}

/// Seeds of this run: `MQI_MODEL_SEEDS` of them, 20 without.
fn seeds() -> std::ops::RangeInclusive<u64> {
    let (first, count) = (number("MQI_MODEL_FIRST", 1) as u64, number("MQI_MODEL_SEEDS", 20) as u64);
    first..=first + count - 1
}

/// What is on: `Features::NOW`, changed by `MQI_MODEL_FEATURES`.
fn features() -> Features {
    Features::NOW.changed(&std::env::var("MQI_MODEL_FEATURES").unwrap_or_default())
}

#[test]
fn hundred_thousand_calls() {
    let seeds = seeds();
    let features = features();
    println!("seeds {seeds:?}, 5,000 calls each, {features:?}");
    for seed in seeds {
        if let Err(text) = Pair::new(seed, features).run(5000, &mut |_, _| {}) {
            panic!("{text}");
        }
    }
}

/// Falsifies a step if it fits.
type Plant = Box<dyn FnMut(&Call, &mut Step) -> bool>;

/// Faults of a kind that the comparison must not pass over: each falsifies the first outcome that it fits.
#[test]
fn the_model_finds_planted_faults() {
    let mut plants: Vec<(&str, Plant)> = vec![
        (
            "a message is lost",
            Box::new(|_, step| match &step.outcome.seen {
                Seen::Got(_) => {
                    step.outcome = Outcome::failed(2033);
                    true
                }
                _ => false,
            }),
        ),
        (
            "a message has other data",
            Box::new(|_, step| {
                change(step, |got| match got.data.bytes.0.first_mut() {
                    Some(byte) => {
                        *byte ^= 1;
                        true
                    }
                    None => false,
                })
            }),
        ),
        (
            "the backout count is one too high",
            Box::new(|_, step| {
                change(step, |got| {
                    got.md.backout += 1;
                    true
                })
            }),
        ),
        (
            "two messages have one id",
            Box::new({
                let mut before = None;
                move |_, step| match &mut step.outcome.seen {
                    Seen::Put { msg_id, .. } => {
                        let first = *before.get_or_insert(*msg_id);
                        let other = first != *msg_id;
                        *msg_id = first;
                        other
                    }
                    _ => false,
                }
            }),
        ),
        (
            "the depth is one too low",
            Box::new(|call, step| match &mut step.outcome.seen {
                Seen::Values(values) if matches!(call, Call::Inquire { selectors, .. } if selectors[0] == SEL_DEPTH) =>
                {
                    values[0] -= 1;
                    true
                }
                _ => false,
            }),
        ),
        (
            "a full queue takes one more",
            Box::new(|_, step| {
                let full = step.outcome.reason == 2053;
                if full {
                    (step.outcome.cc, step.outcome.reason) = (0, 0);
                }
                full
            }),
        ),
        ("a waiting call is not woken", Box::new(|_, step| step.woken.pop().is_some())),
        (
            "another call is woken too",
            Box::new(|_, step| {
                let woken = step.woken.first().cloned();
                step.woken.extend(woken.map(|(conn, outcome)| (conn + 1, outcome)));
                !step.woken.is_empty()
            }),
        ),
        (
            "a warning is no warning",
            Box::new(|_, step| {
                let warning = step.outcome.cc == 1;
                if warning {
                    step.outcome.cc = 0;
                }
                warning
            }),
        ),
    ];
    for (what, plant) in &mut plants {
        let mut planted = false;
        let mut fault = |call: &Call, step: &mut Step| planted = planted || plant(call, step);
        let found = Pair::new(1, Features::NOW).run(5000, &mut fault);
        assert!(planted, "{what}: never planted");
        let text = found.expect_err(what);
        assert!(
            text.starts_with("seed 1 step ") && text.contains("\nexpected ") && text.contains("\ncame "),
            "{text}"
        );
    }
}

fn change(step: &mut Step, change: impl FnOnce(&mut Got) -> bool) -> bool {
    if let Seen::Got(got) = &mut step.outcome.seen { change(got) } else { false }
}
