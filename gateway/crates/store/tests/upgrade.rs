//! Directories that the program of format 1 wrote, opened with this one: everything is there, and the directory is one
//! of format 2 afterwards. The fixtures were written by the last commit before format 2 (9537ac0): segments of 64 KiB,
//! two starts, units committed, backed out, prepared and open; one closed cleanly, one copied while it was open.

#![expect(clippy::unwrap_used, clippy::panic, reason = "whatever does not go as it should fails the test")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use store::{
    Journal, OpenOptions, OwnerId, Position, Recovered, RecoveredMessage, Store, StoreError, UnitId, Watch,
};

#[derive(Debug)]
struct Deaf;

impl Watch for Deaf {
    fn durable(&self, _position: Position) {}
    fn failed(&self, error: StoreError) {
        panic!("{error}");
    }
}

/// `expected.txt`: lines of words. `-` is empty.
#[derive(Debug, Default)]
struct Expected {
    /// `message ID OWNER ORDER PRIORITY PERSISTENT EXPIRY TAG TAG ENVELOPE LENGTH CHECKSUM`: all but the first word.
    messages: BTreeMap<u64, Vec<String>>,
    /// `keyed KEY VALUE`.
    keyed: BTreeMap<Vec<u8>, Vec<u8>>,
    /// `prepared UNIT NOTE KILL,KILL,...`, `of-prepared UNIT` with the words of a message, `change UNIT KEY VALUE`,
    /// where the value may be `removed`.
    prepared: BTreeMap<u64, Unit>,
}

#[derive(Debug, Default)]
struct Unit {
    note: Vec<u8>,
    kills: Vec<u64>,
    messages: BTreeMap<u64, Vec<String>>,
    changes: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

fn number(word: &str) -> u64 {
    word.parse().unwrap()
}

fn hex(word: &str) -> Vec<u8> {
    if word == "-" {
        return Vec::new();
    }
    (0..word.len()).step_by(2).map(|at| u8::from_str_radix(&word[at..at + 2], 16).unwrap()).collect()
}

impl Expected {
    fn read(path: &Path) -> Self {
        let mut expected = Self::default();
        for line in std::fs::read_to_string(path).unwrap().lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let owned = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect::<Vec<String>>();
            match words[0] {
                "#" => {}
                "message" => drop(expected.messages.insert(number(words[1]), owned(&words[1..]))),
                "keyed" => drop(expected.keyed.insert(hex(words[1]), hex(words[2]))),
                "prepared" => {
                    let unit = expected.prepared.entry(number(words[1])).or_default();
                    unit.note = hex(words[2]);
                    unit.kills = words[3].split(',').map(number).collect();
                }
                "of-prepared" => {
                    let unit = expected.prepared.entry(number(words[1])).or_default();
                    unit.messages.insert(number(words[2]), owned(&words[2..]));
                }
                "change" => {
                    let unit = expected.prepared.entry(number(words[1])).or_default();
                    let value = (words[3] != "removed").then(|| hex(words[3]));
                    unit.changes.push((hex(words[2]), value));
                }
                word => panic!("{word}"),
            }
        }
        expected
    }

    fn compare(&self, store: &Journal, recovered: &Recovered) {
        let keyed: BTreeMap<_, _> = recovered.keyed.iter().map(|(k, v)| (k.clone(), v.to_vec())).collect();
        assert_eq!(keyed, self.keyed);
        assert_eq!(read_all(store, &recovered.messages), self.messages);
        let units: Vec<u64> = recovered.prepared.iter().map(|unit| unit.unit.0.as_u64()).collect();
        assert_eq!(units, self.prepared.keys().copied().collect::<Vec<_>>());
        for unit in &recovered.prepared {
            let UnitId(id) = unit.unit;
            let expected = &self.prepared[&id.as_u64()];
            assert_eq!(unit.note, expected.note);
            assert_eq!(unit.kills.iter().map(|kill| kill.id.as_u64()).collect::<Vec<_>>(), expected.kills);
            assert_eq!(read_all(store, &unit.messages), expected.messages);
            let changes = unit.changes.iter().map(|c| (c.key.clone(), c.value.as_ref().map(|v| v.to_vec())));
            assert_eq!(changes.collect::<Vec<_>>(), expected.changes);
        }
    }
}

/// Each message as the words of its line, its bytes read from the store.
fn read_all(store: &Journal, messages: &[RecoveredMessage]) -> BTreeMap<u64, Vec<String>> {
    let words = |m: &RecoveredMessage| {
        let record = store.body(m.id, m.place).read().unwrap();
        assert_eq!(record.owner, m.owner);
        assert_eq!(record.envelope.len(), m.envelope_length as usize);
        assert_eq!(record.body.len(), m.body_length as usize);
        let OwnerId(owner) = m.owner;
        let envelope: String = record.envelope.iter().map(|byte| format!("{byte:02x}")).collect();
        vec![
            m.id.as_u64().to_string(),
            owner.to_string(),
            m.order.to_string(),
            m.priority.to_string(),
            u8::from(m.persistent).to_string(),
            m.expiry_ms.to_string(),
            m.tags[0].to_string(),
            m.tags[1].to_string(),
            envelope,
            record.body.len().to_string(),
            crc32fast::hash(&record.body).to_string(),
        ]
    };
    messages.iter().map(|m| (m.id.as_u64(), words(m))).collect()
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn open(directory: &Path) -> Result<(Box<Journal>, Recovered), StoreError> {
    let mut options = OpenOptions::new(directory, Arc::new(Deaf));
    options.segment_bytes = 64 << 10;
    Journal::open(options).map(|(journal, recovered)| (Box::new(journal), recovered))
}

fn check(name: &str) {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    copy(&fixture(name), &data);
    std::fs::remove_file(data.join("expected.txt")).unwrap();
    let expected = Expected::read(&fixture(name).join("expected.txt"));
    assert!(expected.messages.len() > 40 && expected.keyed.len() > 5 && expected.prepared.len() == 2);
    assert_eq!(std::fs::read_to_string(data.join("format")).unwrap(), "1\n");
    // Twice: what the first start wrote is of the new format.
    for _ in 0..2 {
        let (journal, recovered) = open(&data).unwrap();
        expected.compare(&journal, &recovered);
        assert_eq!(std::fs::read_to_string(data.join("format")).unwrap(), "2\n");
        journal.close().unwrap();
    }
}

#[test]
fn a_store_of_format_1_that_was_closed_is_taken_over() {
    check("format-1-closed");
}

#[test]
fn a_store_of_format_1_that_was_killed_is_taken_over() {
    check("format-1-killed");
}

#[test]
fn a_newer_format_is_refused_by_number_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    copy(&fixture("format-1-closed"), &data);
    std::fs::write(data.join("format"), "3\n").unwrap();
    let error = open(&data).unwrap_err();
    assert!(matches!(error, StoreError::Format { found: 3, known: 2, .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("format 3") && text.contains("up to 2"), "{text}");
    assert_eq!(std::fs::read_to_string(data.join("format")).unwrap(), "3\n");
    assert_eq!(std::fs::read_dir(data.join("journal")).unwrap().count(), 5);
}
