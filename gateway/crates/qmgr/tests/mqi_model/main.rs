//! The model test of the queue manager: random MQI calls of several connections, with crashes, against a simple queue manager
//! in memory that was written from the documents alone. A seed gives the same calls everywhere.

mod adapter;
mod calls;
mod compare;
mod generate;
mod model;

use compare::Pair;
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
    let count = std::env::var("MQI_MODEL_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(20);
    let first = std::env::var("MQI_MODEL_FIRST").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
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
        if let Err(text) = Pair::new(seed).run(features, 5000, &mut |_, _| {}) {
            panic!("{text}");
        }
    }
}
