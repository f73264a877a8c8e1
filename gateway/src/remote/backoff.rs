//! Waits between tries: 1, 2, 4 ... 60 seconds, each a little different from source to source, so that a fleet of gateways
//! does not come back in one moment.

use std::time::Duration;

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);

/// How often it was tried in vain.
#[derive(Debug, Clone)]
pub(crate) struct Backoff {
    tries: u32,
    /// Differs from source to source, and between gateways that call theirs the same.
    seed: u64,
}

impl Backoff {
    /// For a source with this name, of the gateway with this store.
    pub(crate) fn new(name: &str, store: &[u8; 16]) -> Self {
        Self { tries: 0, seed: mqe::digest(&[store, name.as_bytes()].concat()) }
    }

    /// It worked: the next wait is the first one again.
    pub(crate) fn reset(&mut self) {
        self.tries = 0;
    }

    /// The next wait.
    pub(crate) fn next(&mut self) -> Duration {
        let wait = FIRST.saturating_mul(1 << self.tries.min(6)).min(LONGEST);
        self.tries = self.tries.saturating_add(1);
        self.seed = self.seed.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
        // Up to an eighth less.
        wait - wait * (self.seed >> 48) as u32 / (8 * 0x1_0000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_a_minute_and_begin_again() {
        let mut backoff = Backoff::new("hq", &[1; 16]);
        let waits: Vec<u64> = (0..9).map(|_| backoff.next().as_millis() as u64).collect();
        for (wait, whole) in waits.iter().zip([1, 2, 4, 8, 16, 32, 60, 60, 60]) {
            let whole = whole * 1_000;
            assert!(*wait <= whole && *wait >= whole * 7 / 8, "{waits:?}");
        }
        assert_ne!(waits[7], waits[8]);
        backoff.reset();
        assert!(backoff.next() <= FIRST);
        let first = |name: &str, store| Backoff::new(name, &[store; 16]).next();
        assert_ne!(first("hq", 1), first("branch", 1));
        assert_ne!(first("hq", 1), first("hq", 2));
    }
}
