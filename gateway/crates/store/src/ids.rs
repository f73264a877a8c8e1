//! Ids, owners, places and positions: the numbers that the store gives out.

use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

/// The id of a message: the number of the start in which it was made, and a counter. Never reused, never changed,
/// also when the record is moved.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(u64);

/// Bits of the counter: 2^40 ids a start, 2^24 starts.
const COUNTER_BITS: u32 = 40;
const COUNTER_MASK: u64 = (1 << COUNTER_BITS) - 1;

impl Id {
    /// An id from its two parts; bits that do not fit are cut off.
    pub const fn new(start: u32, counter: u64) -> Self {
        Self(((start as u64) << COUNTER_BITS) | (counter & COUNTER_MASK))
    }

    /// The number of the start that made it.
    pub const fn start(self) -> u32 {
        (self.0 >> COUNTER_BITS) as u32
    }

    /// The counter within its start.
    pub const fn counter(self) -> u64 {
        self.0 & COUNTER_MASK
    }

    /// The id as one number that sorts like the id.
    pub const fn as_u64(self) -> u64 {
        self.0
    }

    /// The id of [`Id::as_u64`].
    pub const fn from_u64(value: u64) -> Self {
        Self(value)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.start(), self.counter())
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// As it is printed.
impl FromStr for Id {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let wrong = |_: ParseIntError| IdError;
        let (start, counter) = text.split_once('-').ok_or(IdError)?;
        let id = Self::new(start.parse().map_err(wrong)?, counter.parse().map_err(wrong)?);
        // Bits that do not fit would make another one of it.
        if id.to_string() == text { Ok(id) } else { Err(IdError) }
    }
}

/// A text that is no id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an id is two numbers with a hyphen between them, like 3-17")]
pub struct IdError;

/// The id of a unit under which records are written ahead; made like an [`Id`], from a counter of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnitId(pub Id);

impl fmt::Display for UnitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unit {}", self.0)
    }
}

/// Whose a message is: a queue, a device's sub-queue, an outbox. The callers give the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OwnerId(pub u64);

/// Where a record lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Place {
    /// Number of the segment.
    pub segment: u32,
    /// Offset of the record in it, in bytes.
    pub offset: u32,
    /// Number of the record in it, which is the number of its dead bit.
    pub record: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08}.seg+{}", self.segment, self.offset)
    }
}

/// How far the journal has come: batches of one start, counted from 1. Positions of an older start are smaller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Position {
    /// The number of the start.
    pub start: u32,
    /// The number of the batch in it.
    pub batch: u64,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.start, self.batch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_as_it_is_printed_and_nothing_else_is() {
        for id in [Id::new(0, 0), Id::new(3, 17), Id::new((1 << 24) - 1, COUNTER_MASK)] {
            assert_eq!(id.to_string().parse(), Ok(id));
        }
        for text in ["", "3", "3-", "-17", "3-17-1", "03-17", "+3-17", "16777216-0", "0-1099511627776"] {
            assert_eq!(text.parse::<Id>(), Err(IdError), "{text}");
        }
    }
}
