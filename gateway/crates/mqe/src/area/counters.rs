//! What became of a device's messages: keyed state, changed in the unit of the cause (ONCE.md 1).
//!
//! How many were taken in is not kept: it is how many there are and how many have ended, so that a message for a device
//! changes no counter, and a device that was only given messages has none stored.

use crate::wire::Cursor;

macro_rules! counters {
    ($($(#[$meta:meta])* $name:ident, $text:literal;)+) => {
        /// What is counted for each device.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Counter {
            $($(#[$meta])* $name,)+
        }

        impl Counter {
            /// Every counter, in the order in which they are stored.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// Its name in status and reports.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)+
                }
            }
        }
    };
}

counters! {
    /// Taken in for the device.
    Accepted, "accepted";
    /// Ended by a confirm or RESUME.
    Delivered, "delivered";
    /// Ended by expiry.
    Expired, "expired";
    /// Ended on the dead-letter queue because the device refused it.
    Rejected, "rejected";
    /// Ended by an operator's purge.
    Purged, "purged";
    /// Ended by an operator's force while in doubt.
    Forced, "forced";
    /// Non-persistent and lost at a start.
    LostNonPersistent, "lost_nonpersistent";
    /// Tombstones that the device's word settled.
    Late, "late";
    /// Uids above the mark or of another store: they ended nothing.
    Strange, "strange";
    /// Puts of the device that were taken.
    PutTaken, "put_taken";
    /// Puts of the device that were refused for good.
    PutRefused, "put_refused";
    /// Ended on the dead-letter queue, because nobody came for it in time.
    DeadLettered, "dead_lettered";
}

const COUNT: usize = 12;

/// How a message can end: each does so once.
const ENDS: [Counter; 7] = [
    Counter::Delivered,
    Counter::Expired,
    Counter::Rejected,
    Counter::Purged,
    Counter::Forced,
    Counter::LostNonPersistent,
    Counter::DeadLettered,
];

/// The counters of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters([u64; COUNT]);

impl Counters {
    /// One of them.
    pub fn get(&self, counter: Counter) -> u64 {
        self.0[counter as usize]
    }

    /// With how many were taken in, when so many of them are there.
    pub(super) fn with_live(mut self, live: u64) -> Self {
        let ended: u64 = ENDS.iter().map(|counter| self.get(*counter)).sum();
        self.0[Counter::Accepted as usize] = live + ended;
        self
    }
}

/// The counters in memory: few of them are ever used.
#[derive(Debug, Clone, Default)]
pub(super) struct Counts {
    delivered: u32,
    put_taken: u32,
    /// All of them, from the moment on when another one counts, or these two are too small.
    all: Option<Box<Counters>>,
}

impl Counts {
    pub(super) fn get(&self) -> Counters {
        self.all.as_deref().copied().unwrap_or_else(|| {
            let mut counters = Counters::default();
            counters.0[Counter::Delivered as usize] = u64::from(self.delivered);
            counters.0[Counter::PutTaken as usize] = u64::from(self.put_taken);
            counters
        })
    }

    pub(super) fn add(&mut self, counter: Counter, count: u64) {
        if let Some(all) = &mut self.all {
            all.0[counter as usize] += count;
            return;
        }
        let small = match counter {
            Counter::Delivered => Some(&mut self.delivered),
            Counter::PutTaken => Some(&mut self.put_taken),
            _ => None,
        };
        let sum = small.as_deref().and_then(|small| u32::try_from(u64::from(*small) + count).ok());
        match (small, sum) {
            (Some(small), Some(sum)) => *small = sum,
            _ => {
                let mut all = self.get();
                all.0[counter as usize] += count;
                self.all = Some(Box::new(all));
            }
        }
    }

    /// All of the other's too.
    pub(super) fn add_all(&mut self, other: &Self) {
        let other = other.get();
        for counter in Counter::ALL.iter().filter(|counter| other.get(**counter) > 0) {
            self.add(*counter, other.get(*counter));
        }
    }

    /// Each in seven bits a byte, lowest first: most are small.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(COUNT + 8);
        for mut value in self.get().0 {
            while value >= 0x80 {
                out.push(value as u8 | 0x80);
                value >>= 7;
            }
            out.push(value as u8);
        }
        out
    }

    /// Counters that a newer or older version wrote have more or fewer numbers.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut counts = Self::default();
        let mut cursor = Cursor::new(bytes);
        for counter in Counter::ALL {
            if cursor.left() == 0 {
                break;
            }
            let mut value = 0;
            for shift in (0..64).step_by(7) {
                let byte = cursor.u8("counters").ok()?;
                value |= u64::from(byte & 0x7F) << shift;
                if byte < 0x80 {
                    break;
                }
            }
            // An older version stored how many were taken in; it follows from the rest.
            if value > 0 && *counter != Counter::Accepted {
                counts.add(*counter, value);
            }
        }
        Some(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_exact_whatever_their_size() {
        assert_eq!(size_of::<Counts>(), 16);
        let mut counts = Counts::default();
        let mut expected = Counters::default();
        let far = u64::from(u32::MAX) - 1;
        for (counter, count) in [
            (Counter::Delivered, 7),
            (Counter::PutTaken, 1),
            (Counter::Delivered, far),
            (Counter::Late, 3),
            (Counter::Delivered, u64::from(u32::MAX) * 8),
            (Counter::PutTaken, 1),
            (Counter::Expired, 300),
        ] {
            counts.add(counter, count);
            expected.0[counter as usize] += count;
            assert_eq!(counts.get(), expected);
            assert_eq!(Counts::from_bytes(&counts.to_bytes()).map(|counts| counts.get()), Some(expected));
        }
        let ended = 7 + far + u64::from(u32::MAX) * 8 + 300;
        assert_eq!(counts.get().with_live(5).get(Counter::Accepted), ended + 5);
    }

    #[test]
    fn usual_ones_need_no_block() {
        let mut counts = Counts::default();
        counts.add(Counter::Delivered, 1_000_000);
        counts.add(Counter::PutTaken, 1_000_000);
        assert!(counts.all.is_none());
        let again = Counts::from_bytes(&counts.to_bytes()).unwrap();
        assert!(again.all.is_none());
    }

    #[test]
    fn what_was_taken_in_is_not_read() {
        let mut old = vec![0x85, 0x01];
        old.extend([2; 10]);
        let counts = Counts::from_bytes(&old).unwrap().get();
        assert_eq!((counts.get(Counter::Accepted), counts.get(Counter::Delivered)), (0, 2));
        assert!(Counts::from_bytes(&[0x80]).is_none(), "cut");
    }
}
