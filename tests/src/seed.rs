//! Random numbers that can be had again: the seed is printed first, and again when the test fails.

use std::time::{SystemTime, UNIX_EPOCH};

use rand::SeedableRng;
use rand::rngs::StdRng;

/// Prints the seed when it is dropped in a panic.
#[derive(Debug)]
pub struct Seed {
    test: &'static str,
    /// The number.
    pub number: u64,
}

impl Seed {
    /// The seed of `MQE_SEED`, or a new one.
    pub fn new(test: &'static str) -> Self {
        let given = std::env::var("MQE_SEED").ok().and_then(|text| text.parse().ok());
        let fresh = || {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            u64::from(now.subsec_nanos()) << 20 ^ now.as_secs()
        };
        let number = given.unwrap_or_else(fresh);
        eprintln!("{test}: seed {number}");
        Self { test, number }
    }

    /// Random numbers.
    pub fn rng(&self) -> StdRng {
        self.rng_of(0)
    }

    /// Random numbers of one of several workers.
    pub fn rng_of(&self, worker: u64) -> StdRng {
        StdRng::seed_from_u64(self.number.wrapping_add(worker))
    }
}

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}: failed with seed {}; MQE_SEED={} repeats it", self.test, self.number, self.number);
        }
    }
}
