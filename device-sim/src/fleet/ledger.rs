//! The ledger: what the applications put, and what the applications got, by number and checksum. It shares no filter
//! with the device library or the gateway, and knows nothing of them.

use std::collections::BTreeMap;

use serde::Serialize;

use super::payload::{Label, Stream, Unreadable, Way};

/// The most ids of one kind that a report lists; all are counted.
const LISTED_MAX: usize = 1_000;

/// The ledger of a run.
#[derive(Debug)]
pub struct Ledger {
    run: u64,
    streams: BTreeMap<Stream, Book>,
    foreign: u64,
    damaged: u64,
    /// Messages that came where they do not belong.
    astray: Vec<String>,
}

/// One sequence of messages.
#[derive(Debug, Default)]
struct Book {
    /// Put for certain: 1 to this.
    sent: u32,
    /// How often each came, by place; a byte is enough to tell one from more.
    came: Vec<u8>,
    distinct: u32,
    /// The highest that came.
    highest: u32,
    /// Those whose first arrival was behind a later one.
    late: Vec<u32>,
}

/// What an arrival is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// The first of this message, made so many microseconds after the run's begin.
    First {
        /// When it was made.
        made_us: u64,
    },
    /// It came before.
    Again,
    /// It came where it does not belong.
    Astray,
    /// It is none of this run's.
    Foreign,
    /// It is changed.
    Damaged,
}

/// What a ledger says of one way.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Account {
    /// Messages that were put, in committed units of work or confirmed.
    pub sent: u64,
    /// Different ones of them that came.
    pub delivered: u64,
    /// Put and not come.
    pub lost: Findings,
    /// Come more than once.
    pub duplicated: Findings,
    /// Come first behind a later one of the same device and queue.
    pub reordered: Findings,
    /// Come, and never put for certain.
    pub phantom: Findings,
}

/// Messages, by id: `down/device 1/queue 1/7`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Findings {
    /// How many.
    pub count: u64,
    /// Which; the first thousand.
    pub ids: Vec<String>,
}

impl Ledger {
    /// An empty one.
    pub fn new(run: u64) -> Self {
        Self { run, streams: BTreeMap::new(), foreign: 0, damaged: 0, astray: Vec::new() }
    }

    /// The messages of this sequence up to this one are put for certain.
    pub fn sent(&mut self, stream: Stream, sequence: u32) {
        let book = self.streams.entry(stream).or_default();
        book.sent = book.sent.max(sequence);
    }

    /// An application got a message, as one of `way` for `device` on `queue`, where it knows that.
    pub fn arrived(&mut self, payload: &[u8], way: Way, device: Option<u32>, queue: Option<u32>) -> Arrival {
        let label = match Label::read(payload) {
            Ok(label) if label.run == self.run => label,
            Ok(_) | Err(Unreadable::Foreign) => {
                self.foreign += 1;
                return Arrival::Foreign;
            }
            Err(Unreadable::Damaged) => {
                self.damaged += 1;
                return Arrival::Damaged;
            }
        };
        let stream = label.stream;
        if stream.way != way
            || device.is_some_and(|device| device != stream.device)
            || queue.is_some_and(|queue| queue != stream.queue)
            || label.sequence == 0
        {
            self.astray.push(format!("{stream}/{}", label.sequence));
            return Arrival::Astray;
        }
        self.streams.entry(stream).or_default().arrived(label)
    }

    /// How many different messages of this sequence came.
    pub fn distinct(&self, stream: Stream) -> u32 {
        self.streams.get(&stream).map_or(0, |book| book.distinct)
    }

    /// How many different messages came, one way.
    pub fn delivered(&self, way: Way) -> u64 {
        self.of(way).map(|(_, book)| u64::from(book.distinct)).sum()
    }

    /// How many messages are put for certain, one way.
    pub fn put(&self, way: Way) -> u64 {
        self.of(way).map(|(_, book)| u64::from(book.sent)).sum()
    }

    /// Messages that are none of this run's.
    pub fn foreign(&self) -> u64 {
        self.foreign
    }

    /// Messages that were changed on their way.
    pub fn damaged(&self) -> u64 {
        self.damaged
    }

    /// Messages that came where they do not belong, by id.
    pub fn astray(&self) -> Findings {
        let mut found = Findings::default();
        self.astray.iter().for_each(|id| found.add(id.clone()));
        found
    }

    /// What it says of one way.
    pub fn account(&self, way: Way) -> Account {
        let mut account = Account::default();
        for (stream, book) in self.of(way) {
            account.sent += u64::from(book.sent);
            account.delivered += u64::from(book.distinct);
            for sequence in 1..=book.sent.max(book.came.len() as u32) {
                let times = book.came.get(sequence as usize - 1).copied().unwrap_or(0);
                let id = || format!("{stream}/{sequence}");
                if times == 0 && sequence <= book.sent {
                    account.lost.add(id());
                }
                if times > 1 {
                    account.duplicated.add(id());
                }
                if times > 0 && sequence > book.sent {
                    account.phantom.add(id());
                }
            }
            for sequence in &book.late {
                account.reordered.add(format!("{stream}/{sequence}"));
            }
        }
        account
    }

    fn of(&self, way: Way) -> impl Iterator<Item = (&Stream, &Book)> {
        self.streams.iter().filter(move |(stream, _)| stream.way == way)
    }
}

impl Account {
    /// Whether everything that was put came once and in order.
    pub fn is_exact(&self) -> bool {
        [&self.lost, &self.duplicated, &self.reordered, &self.phantom].iter().all(|found| found.count == 0)
    }
}

impl Findings {
    fn add(&mut self, id: String) {
        self.count += 1;
        if self.ids.len() < LISTED_MAX {
            self.ids.push(id);
        }
    }
}

impl Book {
    fn arrived(&mut self, label: Label) -> Arrival {
        let index = label.sequence as usize - 1;
        if self.came.len() <= index {
            self.came.resize(index + 1, 0);
        }
        let times = &mut self.came[index];
        *times = times.saturating_add(1);
        if *times > 1 {
            return Arrival::Again;
        }
        self.distinct += 1;
        if label.sequence < self.highest {
            self.late.push(label.sequence);
        }
        self.highest = self.highest.max(label.sequence);
        Arrival::First { made_us: label.made_us }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: Stream = Stream { way: Way::Down, device: 1, queue: 1 };

    fn message(stream: Stream, sequence: u32) -> bytes::Bytes {
        Label { run: 1, stream, sequence, made_us: 0 }.payload(100)
    }

    /// What a ledger says of ten messages of which these came, in this order.
    fn account(arrivals: &[u32]) -> Account {
        let mut ledger = Ledger::new(1);
        ledger.sent(STREAM, 10);
        for sequence in arrivals {
            ledger.arrived(&message(STREAM, *sequence), Way::Down, Some(1), Some(1));
        }
        ledger.account(Way::Down)
    }

    fn check(arrivals: &[u32], lost: &[u32], duplicated: &[u32], reordered: &[u32], phantom: &[u32]) {
        let found = account(arrivals);
        let ids = |sequences: &[u32]| -> Vec<String> {
            sequences.iter().map(|sequence| format!("{STREAM}/{sequence}")).collect()
        };
        assert_eq!(found.lost.ids, ids(lost), "lost of {arrivals:?}");
        assert_eq!(found.duplicated.ids, ids(duplicated), "duplicated of {arrivals:?}");
        assert_eq!(found.reordered.ids, ids(reordered), "reordered of {arrivals:?}");
        assert_eq!(found.phantom.ids, ids(phantom), "phantom of {arrivals:?}");
        let is_clean = [lost, duplicated, reordered, phantom].iter().all(|found| found.is_empty());
        assert_eq!(found.is_exact(), is_clean);
    }

    #[test]
    fn finds_what_is_wrong_and_nothing_else() {
        check(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], &[], &[], &[], &[]);
        check(&[1, 2, 3, 5, 6, 7, 8, 9, 10], &[4], &[], &[], &[]);
        check(&[1, 2, 3, 4, 4, 5, 6, 7, 8, 9, 10], &[], &[4], &[], &[]);
        check(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 2], &[], &[2], &[], &[]);
        check(&[1, 2, 4, 3, 5, 6, 7, 8, 9, 10], &[], &[], &[3], &[]);
        check(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], &[], &[], &[], &[11]);
        check(&[2, 1, 1, 4, 5, 6, 7, 8, 9], &[3, 10], &[1], &[1], &[]);
        check(&[], &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], &[], &[], &[]);
    }

    #[test]
    fn what_is_not_its_own_is_told_apart() {
        let mut ledger = Ledger::new(1);
        ledger.sent(STREAM, 1);
        let good = message(STREAM, 1);
        let mut bad = good.to_vec();
        bad[50] ^= 1;
        assert_eq!(ledger.arrived(&bad, Way::Down, None, None), Arrival::Damaged);
        assert_eq!(ledger.arrived(b"hello", Way::Down, None, None), Arrival::Foreign);
        let other = Label { run: 2, stream: STREAM, sequence: 1, made_us: 0 }.payload(100);
        assert_eq!(ledger.arrived(&other, Way::Down, None, None), Arrival::Foreign);
        assert_eq!(ledger.arrived(&good, Way::Down, Some(2), Some(1)), Arrival::Astray);
        assert_eq!(ledger.arrived(&good, Way::Up, Some(1), Some(1)), Arrival::Astray);
        assert_eq!(ledger.arrived(&good, Way::Down, Some(1), Some(1)), Arrival::First { made_us: 0 });
        assert_eq!(ledger.arrived(&good, Way::Down, None, None), Arrival::Again);
        assert_eq!((ledger.foreign(), ledger.damaged(), ledger.astray().count), (2, 1, 2));
    }
}
