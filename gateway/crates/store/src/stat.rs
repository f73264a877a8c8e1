//! Figures of a store, for status, metrics and benches.

use crate::Room;

/// Figures of a store. Sums count from this start on, unless they say otherwise.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stat {
    /// Live messages, those of undecided units included.
    pub messages: u64,
    /// Keys of keyed state.
    pub keys: u64,
    /// Bytes of the live records, taking those of one segment to be of like size.
    pub live_bytes: u64,
    /// Segments on disk.
    pub segments: u64,
    /// Bytes on disk: segments, those kept for reuse, the reserve, bodies.
    pub disk_bytes: u64,
    /// Files of long bodies, and their bytes.
    pub body_files: u64,
    /// Bytes of the files of long bodies.
    pub body_bytes: u64,
    /// Groups written.
    pub groups: u64,
    /// Syncs.
    pub syncs: u64,
    /// Records written.
    pub records: u64,
    /// Bytes of records written, by kind: message, keyed, commit, back-out, prepare, moved.
    pub bytes_by_kind: [u64; 6],
    /// Bytes written to segments, padding included.
    pub written_bytes: u64,
    /// Bytes of records that compaction wrote again.
    pub moved_bytes: u64,
    /// Segments that compaction has emptied.
    pub compacted: u64,
    /// Segments that were used again.
    pub recycled: u64,
    /// Bytes of each write.
    pub group_bytes: Histogram,
    /// Microseconds of each sync.
    pub sync_us: Histogram,
    /// Microseconds that each batch waited from being handed over to being durable.
    pub wait_us: Histogram,
    /// Checkpoints.
    pub checkpoints: u64,
    /// Recoveries in this process.
    pub recoveries: u64,
    /// Times at which the index in sled was written anew.
    pub index_rebuilds: u64,
    /// Bytes of memory that the store's own maps take, roughly.
    pub memory_bytes: u64,
    /// Whether new messages are taken.
    pub room: Room,
    /// Records that compaction found damaged, as "segment, offset, what".
    pub damaged: Vec<String>,
    /// The number of this start.
    pub start: u32,
    /// Each segment.
    pub by_segment: Vec<SegmentStat>,
}

/// Figures of one segment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SegmentStat {
    /// Its number.
    pub number: u32,
    /// Where its groups end.
    pub bytes: u64,
    /// Records in it.
    pub records: u32,
    /// Those that live.
    pub live: u32,
}

const BUCKETS: usize = 40;

/// How often values of each size were seen: bucket `n` counts those below 2^n.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Histogram {
    buckets: [u64; BUCKETS],
    sum: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { buckets: [0; BUCKETS], sum: 0, max: 0 }
    }
}

impl Histogram {
    /// One more value.
    pub fn add(&mut self, value: u64) {
        let bucket = (u64::BITS - value.leading_zeros()) as usize;
        self.buckets[bucket.min(BUCKETS - 1)] += 1;
        self.sum = self.sum.saturating_add(value);
        self.max = self.max.max(value);
    }

    /// How many values.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// Their sum.
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// The largest.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// A bound that `percent` of the values do not reach, exact to a factor of two; the largest value where that is
    /// less.
    pub fn percentile(&self, percent: u8) -> u64 {
        let wanted = (self.count() * u64::from(percent)).div_ceil(100);
        let mut seen = 0;
        for (bucket, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return (1u64 << bucket).min(self.max);
            }
        }
        self.max
    }

    /// The counts: bucket `n` has those below 2^n that the buckets before have not.
    pub fn buckets(&self) -> &[u64] {
        &self.buckets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_right_to_a_factor_of_two() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.percentile(99), 0);
        (1..=100).for_each(|value| histogram.add(value));
        histogram.add(u64::MAX);
        assert_eq!(histogram.count(), 101);
        assert_eq!(histogram.percentile(50), 64);
        assert_eq!(histogram.percentile(99), 128);
        assert_eq!(histogram.max(), u64::MAX);
    }
}
