//! What applications were told of their messages, and what arrived: the account in the end must be exact.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What an application knows of a message that it put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// It was acknowledged: it must come once.
    Taken,
    /// It was refused, or backed out: it must not come.
    Refused,
    /// The connection broke before the answer: it may come, with all others of its unit of work, or not.
    Doubtful,
}

/// A ledger; the applications of a test share it.
#[derive(Debug, Default)]
pub struct Ledger {
    books: Mutex<Books>,
}

#[derive(Debug, Default)]
struct Books {
    entries: BTreeMap<String, Entry>,
    units: u64,
    /// The newest number of each sequence that came.
    newest: BTreeMap<String, u64>,
    wrong: Vec<String>,
}

#[derive(Debug, Default)]
struct Entry {
    put: Option<(Put, u64)>,
    got: u32,
    /// Got in a unit of work of which nobody knows whether it was committed.
    perhaps: u32,
}

/// The message of a sequence with this number and size, and its name.
pub fn message(sequence: &str, number: u64, size: usize) -> (String, Vec<u8>) {
    let name = format!("{sequence}/{number}/{size}");
    let bytes = body(&name, size);
    (name, bytes)
}

/// The name, and filling that differs from message to message.
fn body(name: &str, size: usize) -> Vec<u8> {
    let mut bytes = format!("{name} ").into_bytes();
    let mut state = name.bytes().fold(1_u64, |state, byte| state.wrapping_mul(31) + u64::from(byte));
    while bytes.len() < size {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        bytes.push(b'a' + u8::try_from((state >> 33) % 26).unwrap_or(0));
    }
    bytes
}

impl Ledger {
    /// The messages of one unit of work.
    pub fn put(&self, names: &[String], put: Put) {
        let mut books = self.books();
        books.units += 1;
        let unit = books.units;
        for name in names {
            books.entries.entry(name.clone()).or_default().put = Some((put, unit));
        }
    }

    /// A message came, and will not come again.
    pub fn got(&self, bytes: &[u8]) {
        let mut books = self.books();
        let Some(name) = books.name(bytes) else { return };
        let (sequence, number) = parts(&name);
        let newest = books.newest.entry(sequence.to_owned()).or_default();
        if number <= *newest {
            let line = format!("{name} came after number {newest}");
            books.wrong.push(line);
        } else {
            *newest = number;
        }
        books.entries.entry(name).or_default().got += 1;
    }

    /// A message came, and may or may not come again.
    pub fn perhaps_got(&self, bytes: &[u8]) {
        let mut books = self.books();
        if let Some(name) = books.name(bytes) {
            books.entries.entry(name).or_default().perhaps += 1;
        }
    }

    /// Messages that must come and have not.
    pub fn missing(&self) -> usize {
        self.books().entries.values().filter(|entry| entry.is_missing()).count()
    }

    /// Messages that came.
    pub fn arrived(&self) -> usize {
        self.books().entries.values().filter(|entry| entry.got > 0).count()
    }

    /// Messages of which this is known.
    pub fn count(&self, put: Put) -> usize {
        self.books().entries.values().filter(|entry| entry.put.is_some_and(|known| known.0 == put)).count()
    }

    /// The names of those that must come and have not.
    pub fn awaited(&self) -> Vec<String> {
        let books = self.books();
        let missing = books.entries.iter().filter(|(_, entry)| entry.is_missing());
        missing.map(|(name, _)| name.clone()).collect()
    }

    /// What a store should hold, according to a ledger that this one is not part of: `must` come, all others that
    /// were put and not refused may. Nothing may come twice.
    #[must_use]
    pub fn expecting(must: &[String], others: &Ledger) -> Self {
        let ledger = Self::default();
        for (name, entry) in &others.books().entries {
            if entry.put.is_none_or(|(put, _)| put != Put::Refused) {
                ledger.put(std::slice::from_ref(name), Put::Doubtful);
            }
        }
        for name in must {
            ledger.put(std::slice::from_ref(name), Put::Taken);
        }
        ledger
    }

    /// Fails if anything was lost, doubled, changed, torn from its unit of work or out of order.
    #[track_caller]
    pub fn assert_exact(&self) {
        let books = self.books();
        let mut wrong = books.wrong.clone();
        let mut units: BTreeMap<u64, [usize; 2]> = BTreeMap::new();
        for (name, entry) in &books.entries {
            let Entry { put, got, perhaps } = entry;
            let Some((put, unit)) = put else {
                wrong.push(format!("{name} came, and nobody put it"));
                continue;
            };
            if entry.is_missing() {
                wrong.push(format!("{name} is lost"));
            }
            if *got > 1 {
                wrong.push(format!("{name} came {got} times"));
            }
            if *put == Put::Refused && got + perhaps > 0 {
                wrong.push(format!("{name} was refused, and came"));
            }
            if *put == Put::Doubtful {
                units.entry(*unit).or_default()[usize::from(got + perhaps > 0)] += 1;
            }
        }
        let torn = units.values().filter(|[absent, present]| *absent > 0 && *present > 0).count();
        if torn > 0 {
            wrong.push(format!("{torn} units of work came in part"));
        }
        let shown = wrong.iter().take(20).cloned().collect::<Vec<_>>().join("\n");
        assert!(wrong.is_empty(), "{} things are wrong:\n{shown}", wrong.len());
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    fn is_missing(&self) -> bool {
        self.put.is_some_and(|(put, _)| put == Put::Taken) && self.got + self.perhaps == 0
    }
}

impl Books {
    /// The name of a message that is as it was made.
    fn name(&mut self, bytes: &[u8]) -> Option<String> {
        let name = bytes.split(|byte| *byte == b' ').next().and_then(|name| std::str::from_utf8(name).ok());
        let size = name.and_then(|name| name.rsplit('/').next()?.parse().ok());
        match (name, size) {
            (Some(name), Some(size)) if body(name, size) == bytes => Some(name.to_owned()),
            _ => {
                let begin = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned();
                self.wrong.push(format!("a message of {} bytes was changed: {begin:?}", bytes.len()));
                None
            }
        }
    }
}

fn parts(name: &str) -> (&str, u64) {
    let mut parts = name.rsplitn(3, '/');
    let number = parts.nth(1).and_then(|number| number.parse().ok()).unwrap_or(0);
    (parts.next().unwrap_or(name), number)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a ledger says of one unit of two messages.
    fn check(put: Put, come: &[u64], expected: bool) {
        let ledger = Ledger::default();
        let made = [1, 2].map(|number| message("s", number, 100));
        ledger.put(&made.clone().map(|(name, _)| name), put);
        for number in come {
            ledger.got(&message("s", *number, 100).1);
        }
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| ledger.assert_exact()));
        assert_eq!(outcome.is_ok(), expected, "{put:?} {come:?}");
    }

    #[test]
    fn the_ledger_finds_what_is_lost_doubled_swapped_torn_and_strange() {
        check(Put::Taken, &[1, 2], true);
        check(Put::Taken, &[1], false);
        check(Put::Taken, &[1, 2, 2], false);
        check(Put::Taken, &[2, 1], false);
        check(Put::Doubtful, &[], true);
        check(Put::Doubtful, &[1, 2], true);
        check(Put::Doubtful, &[2], false);
        check(Put::Refused, &[], true);
        check(Put::Refused, &[1], false);
        check(Put::Taken, &[1, 2, 3], false);
        let ledger = Ledger::default();
        let mut changed = message("s", 1, 100).1;
        changed[99] ^= 1;
        ledger.got(&changed);
        assert_eq!(ledger.arrived(), 0);
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| ledger.assert_exact())).is_err());
    }
}
