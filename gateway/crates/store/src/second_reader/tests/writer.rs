//! Makes stores by hand, from FORMAT.md as well: just enough for the tests of the second reader.

use std::collections::BTreeMap;

use super::super::Source;
use super::super::raw::crc32;

pub(super) const BLOCK: usize = 4096;
const BITS: u64 = 0x1122_3344_5566_7788;

/// A spot: segment and offset.
pub(super) type At = (u32, u32);

/// A directory in memory.
#[derive(Debug, Clone, Default)]
pub(super) struct Directory(pub(super) BTreeMap<String, Vec<u8>>);

impl Source for Directory {
    fn list(&self, directory: &str) -> Vec<String> {
        let within = format!("{directory}/");
        self.0.keys().filter_map(|path| path.strip_prefix(&within)).map(str::to_owned).collect()
    }

    fn read(&self, path: &str) -> Option<Vec<u8>> {
        self.0.get(path).cloned()
    }
}

impl Directory {
    pub(super) fn segment(&mut self, number: u32) -> &mut Vec<u8> {
        self.0.get_mut(&path(number)).unwrap()
    }
}

pub(super) fn path(number: u32) -> String {
    format!("journal/{number:08}.seg")
}

// Records.

fn record(kind: u8, flags: u8, priority: u8, count: usize, unit: u64, rest: &[u8]) -> Vec<u8> {
    let mut covered = vec![kind, flags, priority, 0];
    covered.extend(u32::try_from(count).unwrap().to_le_bytes());
    covered.extend(unit.to_le_bytes());
    covered.extend(rest);
    let mut bytes = u32::try_from(covered.len() + 8).unwrap().to_le_bytes().to_vec();
    bytes.extend(crc32(&covered).to_le_bytes());
    bytes.extend(covered);
    bytes
}

fn u64s(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn u32s(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// All else about a message follows from its id, as in `tests::expected`.
pub(super) fn message(id: u64, unit: u64, body: &[u8]) -> Vec<u8> {
    let mut rest = u64s(&[id, id + 100, id + 200, id + 300, id + 400, id + 500]);
    rest.extend(b"envelope");
    rest.extend(body);
    record(1, 1, 4, 8, unit, &rest)
}

pub(super) fn message_in_file(id: u64, unit: u64, beginning: &[u8], number: u64, file: &[u8]) -> Vec<u8> {
    let mut rest = u64s(&[id, id + 100, id + 200, id + 300, id + 400, id + 500]);
    rest.extend(b"envelope");
    rest.extend(beginning);
    rest.extend(u64s(&[number, file.len() as u64]));
    rest.extend(u32s(&[crc32(file), 0]));
    record(1, 3, 4, 8, unit, &rest)
}

pub(super) fn set(key: &str, value: &str, unit: u64) -> Vec<u8> {
    record(2, 1, 0, key.len(), unit, format!("{key}{value}").as_bytes())
}

pub(super) fn remove(key: &str, unit: u64) -> Vec<u8> {
    record(2, 0, 0, key.len(), unit, key.as_bytes())
}

pub(super) fn commit(unit: u64, kills: &[u64], changes: &[Vec<u8>]) -> Vec<u8> {
    let mut rest = u32s(&[u32::try_from(changes.len()).unwrap(), 0]);
    rest.extend(u64s(kills));
    rest.extend(changes.concat());
    record(3, 0, 0, kills.len(), unit, &rest)
}

pub(super) fn back_out(unit: u64) -> Vec<u8> {
    record(4, 0, 0, 0, unit, &[])
}

pub(super) fn prepare(unit: u64, kills: &[u64], note: &[u8]) -> Vec<u8> {
    let mut rest = u32s(&[u32::try_from(note.len()).unwrap(), 0]);
    rest.extend(u64s(kills));
    rest.extend(note);
    record(5, 0, 0, kills.len(), unit, &rest)
}

/// Each copy with the segment, the offset and the number that it had.
pub(super) fn moved(copies: &[([u32; 3], Vec<u8>)]) -> Vec<u8> {
    let mut rest = u64s(&[0]);
    rest.extend(copies.iter().flat_map(|(place, _)| [u32s(place), u32s(&[0])].concat()));
    rest.extend(copies.iter().flat_map(|(_, copy)| copy.clone()));
    record(6, 0, 0, copies.len(), 0, &rest)
}

/// Offset within, and bytes, of a record and of those within it.
fn flattened(record: &[u8]) -> Vec<(usize, &[u8])> {
    let number = |at: usize| u32::from_le_bytes(record[at..at + 4].try_into().unwrap()) as usize;
    let mut all = vec![(0, record)];
    let mut at = match record[8] {
        3 => 32 + 8 * number(12),
        6 => 32 + 16 * number(12),
        _ => record.len(),
    };
    while at < record.len() {
        let length = number(at);
        all.push((at, &record[at..at + length]));
        at += length;
    }
    all
}

// The journal.

/// One start that writes.
#[derive(Debug, Clone)]
pub(super) struct Journal {
    pub(super) start: u32,
    pub(super) segment: u32,
    /// Of the group before.
    pub(super) before: u32,
    pub(super) claim: At,
    number: u32,
    lines: Vec<u8>,
    pub(super) files: BTreeMap<u32, Vec<u8>>,
}

impl Journal {
    /// A start that goes on in this segment: its start group comes first.
    pub(super) fn new(start: u32, segment: u32, goes_on: At, before: u32, copies: &[Vec<u8>]) -> Self {
        let files = BTreeMap::from([(segment, Vec::new())]);
        let mut journal =
            Self { start, segment, before, claim: goes_on, number: 0, lines: Vec::new(), files };
        journal.raw_group(2, copies, goes_on);
        journal
    }

    pub(super) fn bits(&self) -> u64 {
        BITS + u64::from(self.start)
    }

    pub(super) fn at(&self) -> At {
        (self.segment, u32::try_from(self.files[&self.segment].len()).unwrap())
    }

    /// The number that the next record has.
    pub(super) fn number(&self) -> u32 {
        self.number
    }

    /// Tells where the group lies. What is before it counts as known to be on disk from the group after it on.
    pub(super) fn group(&mut self, records: &[Vec<u8>]) -> At {
        self.raw_group(0, records, (0, 0))
    }

    pub(super) fn mark(&mut self) {
        self.claim = self.at();
        self.raw_group(1, &[], (0, 0));
    }

    fn raw_group(&mut self, kind: u32, records: &[Vec<u8>], goes_on: At) -> At {
        let at = self.at();
        let payload = records.concat();
        let mut offset = at.1 + 80;
        let mut held = 0;
        for record in records {
            for (within, bytes) in flattened(record) {
                let place = offset + u32::try_from(within).unwrap();
                let kept = if bytes[8] == 1 { 64 } else { 16 };
                self.lines.extend(u32s(&[place, u32::try_from(bytes.len()).unwrap()]));
                self.lines.extend(&bytes[8..8 + kept]);
                held += 1;
            }
            offset += u32::try_from(record.len()).unwrap();
        }
        let mut header = b"MQEGRP01".to_vec();
        header.extend(u32s(&[self.start, at.0, at.1, kind]));
        header.extend(self.bits().to_le_bytes());
        let length = u32::try_from(payload.len()).unwrap();
        header.extend(u32s(&[self.before, crc32(&payload), length, self.number, held]));
        header.extend(u32s(&[self.claim.0, self.claim.1, goes_on.0, goes_on.1, 0, 0]));
        self.before = crc32(&header);
        header.extend(self.before.to_le_bytes());
        let file = self.files.get_mut(&at.0).unwrap();
        file.extend(header);
        file.extend(payload);
        file.resize(file.len().next_multiple_of(BLOCK), 0);
        self.number += held;
        self.claim = at;
        at
    }

    /// Seals the segment and goes on in another one.
    pub(super) fn roll(&mut self, segment: u32) {
        self.mark();
        let (number, end) = self.at();
        let lines = std::mem::take(&mut self.lines);
        let mut trailer = b"MQEFOOT1".to_vec();
        let length = u32::try_from(lines.len()).unwrap();
        trailer.extend(u32s(&[number, self.start, end, self.number, length, crc32(&lines), 0]));
        let own = crc32(&trailer);
        trailer.extend(own.to_le_bytes());
        let file = self.files.get_mut(&number).unwrap();
        file.extend(lines);
        file.extend(trailer);
        self.files.insert(segment, Vec::new());
        (self.segment, self.number) = (segment, 0);
    }

    /// Its segments, in a store with a checkpoint of its own, or else with that of a new store.
    pub(super) fn store(&self, checkpoint: Option<&Checkpoint>) -> Directory {
        let checkpoint = checkpoint.map_or_else(new_checkpoint, Checkpoint::file);
        let mut directory = Directory::default();
        directory.0.insert("format".to_owned(), b"2\n".to_vec());
        directory.0.insert("lock".to_owned(), Vec::new());
        directory.0.insert("checkpoint".to_owned(), checkpoint);
        directory.0.extend(self.files.iter().map(|(number, file)| (path(*number), file.clone())));
        directory
    }

    /// A checkpoint of this start, of here.
    pub(super) fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            start: self.start,
            bits: self.bits(),
            position: self.at(),
            before: self.before,
            ..Checkpoint::default()
        }
    }
}

// The checkpoint.

#[derive(Debug, Clone, Default)]
pub(super) struct Checkpoint {
    pub(super) start: u32,
    pub(super) bits: u64,
    pub(super) position: At,
    pub(super) before: u32,
    /// Number, end, number of records, which are dead.
    pub(super) segments: Vec<(u32, u32, u32, Vec<u32>)>,
    pub(super) open: Vec<u64>,
    pub(super) prepared: Vec<u64>,
}

pub(super) fn new_checkpoint() -> Vec<u8> {
    Checkpoint::default().file()
}

impl Checkpoint {
    pub(super) fn file(&self) -> Vec<u8> {
        let mut rest = u32s(&[self.start]);
        rest.extend(u64s(&[self.bits]));
        rest.extend(u32s(&[self.position.0, self.position.1, self.before]));
        rest.extend(u64s(&[1, 1]));
        rest.extend(u32s(&[u32::try_from(self.segments.len()).unwrap()]));
        for (number, end, records, dead) in &self.segments {
            rest.extend(u32s(&[*number, *end, *records]));
            let mut bits = vec![0u8; records.div_ceil(8) as usize];
            for record in dead {
                bits[*record as usize / 8] |= 1 << (record % 8);
            }
            rest.extend(bits);
        }
        for units in [&self.open, &self.prepared] {
            rest.extend(u32s(&[u32::try_from(units.len()).unwrap()]));
            rest.extend(u64s(units));
        }
        let mut copy = b"MQECKPT1".to_vec();
        copy.extend(u32s(&[u32::try_from(rest.len()).unwrap(), crc32(&rest)]));
        copy.extend(rest);
        copy.resize(copy.len().next_multiple_of(BLOCK), 0);
        copy.repeat(2)
    }
}
