//! The model test of the queue manager: random MQI calls of several connections, with crashes, against a simple queue manager
//! in memory that was written from the documents alone. A seed gives the same calls everywhere.

mod calls;
mod generate;
mod model;

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
