//! What became of a device's messages: keyed state, changed in the unit of the cause (ONCE.md 1).

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
}

const COUNT: usize = 11;

/// The counters of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters([u64; COUNT]);

impl Counters {
    /// One of them.
    pub fn get(&self, counter: Counter) -> u64 {
        self.0[counter as usize]
    }

    pub(super) fn add(&mut self, counter: Counter, count: u64) {
        self.0[counter as usize] += count;
    }

    /// Each in seven bits a byte, lowest first: most are small.
    pub(super) fn to_bytes(self) -> Vec<u8> {
        let mut out = Vec::with_capacity(COUNT + 8);
        for mut value in self.0 {
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
        let mut counters = Self::default();
        let mut cursor = Cursor::new(bytes);
        for counter in &mut counters.0 {
            if cursor.left() == 0 {
                break;
            }
            for shift in (0..64).step_by(7) {
                let byte = cursor.u8("counters").ok()?;
                *counter |= u64::from(byte & 0x7F) << shift;
                if byte < 0x80 {
                    break;
                }
            }
        }
        Some(counters)
    }
}
