//! Bad input: a store with any byte flipped, any file missing, cut, doubled, or taken from another store is refused with
//! the place named, or holds everything that was acknowledged; never silently less.

use super::*;
use crate::files::Files;
use crate::{Commit, Id, KeyedChange, Prepare};

/// What is in the store, with every body read.
#[derive(Debug, PartialEq, Eq)]
struct Content {
    keyed: Vec<(Vec<u8>, Bytes)>,
    /// The body, or none where reading it is an error that says so.
    messages: Vec<(Id, Option<Bytes>)>,
    prepared: usize,
}

/// A small store with some of everything: two starts, a sealed segment, a body in a file, prepared and open units.
fn small_store() -> Rig {
    let mut rig = Rig::new();
    let first: Vec<Stored> = (0..5).map(|number| rig.put(100 * number)).collect();
    let body = Bytes::from(vec![b'l'; 3000]);
    let file = rig.journal().body_files().write(&body[1000..]).unwrap();
    rig.write(|batch| batch.message(NewMessage { body, file: Some(file), ..message(0) }));
    rig.write(|batch| {
        let unit = batch.new_unit();
        batch.message(NewMessage { unit: Some(unit), ..message(50) });
        let change = KeyedChange { key: b"of the unit".to_vec(), value: Some(Bytes::from_static(b"v")) };
        batch.keyed(Some(unit), change);
        let kills = vec![Kill { id: first[0].id, place: first[0].place }];
        batch.prepare(Prepare { unit, kills, note: Bytes::from_static(b"note") });
    });
    rig.journal.take().unwrap().close().unwrap();
    rig.open().unwrap();
    rig.put(700);
    rig.kill(&first[1]);
    rig.write(|batch| {
        let mut commit = Commit { unit: Some(batch.new_unit()), ..Commit::default() };
        batch.message(NewMessage { unit: commit.unit, ..message(60) });
        commit.set("key", "value");
        commit.set("other", "value");
        batch.commit(commit);
        let unit = batch.new_unit();
        batch.message(NewMessage { unit: Some(unit), ..message(40) });
    });
    rig.journal().idle_inline();
    rig.journal = None;
    rig.files.kill();
    rig
}

fn content(files: SimFiles) -> Result<Content, StoreError> {
    files.kill();
    let mut rig = Rig { files, told: Arc::default(), journal: None, clock_ms: 0 };
    let recovered = rig.open()?;
    let journal = rig.journal();
    let read = |m: &crate::RecoveredMessage| match journal.body(m.id, m.place).read() {
        Ok(record) => Some(record.body),
        Err(StoreError::Damaged { .. } | StoreError::NotThere { .. }) => None,
        Err(error) => panic!("{error}"),
    };
    let messages = recovered.messages.iter().map(|m| (m.id, read(m))).collect();
    Ok(Content { keyed: recovered.keyed.clone(), messages, prepared: recovered.prepared.len() })
}

/// Whether `got` is the store, at most with bodies that say that they are damaged.
fn is_whole(got: &Content, expected: &Content) -> bool {
    got.keyed == expected.keyed
        && got.prepared == expected.prepared
        && got.messages.len() == expected.messages.len()
        && got
            .messages
            .iter()
            .zip(&expected.messages)
            .all(|((id, body), (wanted, whole))| id == wanted && (body.is_none() || body == whole))
}

fn all_files(files: &SimFiles) -> Vec<String> {
    let below = |directory: &str| {
        let names = Files::list(files, directory).unwrap();
        names.into_iter().map(|name| format!("{directory}/{name}")).collect::<Vec<_>>()
    };
    let mut paths = vec!["format".to_owned(), "checkpoint".to_owned()];
    paths.extend(below("journal"));
    paths.extend(below("bodies"));
    paths
}

fn is_named(error: &StoreError) -> bool {
    let text = error.to_string();
    matches!(error, StoreError::Damaged { .. } | StoreError::Format { .. })
        && ["checkpoint", "format", ".seg", "bodies/"]
            .iter()
            .any(|part| text.contains(part) || text.contains("data directory"))
}

#[test]
fn every_flipped_byte_is_refused_with_its_place_or_harmless() {
    let rig = small_store();
    let expected = content(rig.files.fork(0)).unwrap();
    let (mut refused, mut told, mut harmless) = (0, 0, 0);
    for path in all_files(&rig.files) {
        let bytes = rig.files.content(&path).unwrap();
        for (at, byte) in bytes.iter().enumerate() {
            // Rows of zeros are what was never written, or padding: some of them will do.
            if *byte == 0 && at % 61 != 0 {
                continue;
            }
            let files = rig.files.fork(at as u64);
            files.flip(&path, at, 1 << (at % 8));
            match content(files) {
                Err(error) => {
                    assert!(is_named(&error), "{path} at {at}: {error}");
                    refused += 1;
                }
                Ok(got) if got == expected => harmless += 1,
                Ok(got) => {
                    assert!(is_whole(&got, &expected), "{path} at {at}: {got:?}");
                    told += 1;
                }
            }
        }
    }
    println!("refused {refused}, told when read {told}, harmless {harmless}");
    assert!(refused > 1000 && told > 1000, "refused {refused}, told {told}");
}

#[test]
fn files_that_are_missing_cut_or_doubled_are_refused_or_harmless() {
    let rig = small_store();
    let expected = content(rig.files.fork(0)).unwrap();
    for path in all_files(&rig.files) {
        let bytes = rig.files.content(&path).unwrap();
        let check = |files: SimFiles, what: &str| match content(files) {
            Err(error) => assert!(is_named(&error), "{path} {what}: {error}"),
            Ok(got) => assert!(is_whole(&got, &expected), "{path} {what}: {got:?}"),
        };
        let files = rig.files.fork(1);
        Files::remove(&files, &path).unwrap();
        check(files, "missing");
        let files = rig.files.fork(1);
        files.set_content(&path, [bytes.as_slice(), &bytes].concat());
        check(files, "doubled");
        // What nothing behind it claims may be cut without a trace (FORMAT.md 6): the last segment up to its mark.
        let last = rig.headers(2).iter().map(|h| h.end().offset as usize).max().unwrap_or(0);
        for length in (0..bytes.len()).step_by(487).chain([1, 4095, 4096, 4097]) {
            if length >= bytes.len() || (path.ends_with("00000002.seg") && length < last) {
                continue;
            }
            let files = rig.files.fork(1);
            files.cut(&path, length);
            check(files, &format!("cut to {length}"));
        }
    }
}

#[test]
fn files_of_another_store_are_refused_or_harmless() {
    let (rig, mut other) = (small_store(), Rig::new());
    let expected = content(rig.files.fork(0)).unwrap();
    for number in 0..9 {
        other.put(200 * number);
    }
    other.journal.take().unwrap().close().unwrap();
    other.open().unwrap();
    other.put(10);
    other.journal().idle_inline();
    for path in all_files(&rig.files).iter().filter(|path| !path.starts_with("bodies")) {
        let Some(foreign) = other.files.content(path) else { continue };
        let files = rig.files.fork(1);
        files.set_content(path, foreign);
        match content(files) {
            Err(error) => assert!(is_named(&error), "{path}: {error}"),
            Ok(got) => assert!(is_whole(&got, &expected), "{path}: {got:?}"),
        }
    }
}

/// A copy of a running store that was made file by file, in any order, without asking anybody.
#[test]
fn a_directory_half_copied_is_refused_or_whole() {
    let rig = small_store();
    let expected = content(rig.files.fork(0)).unwrap();
    let paths = all_files(&rig.files);
    for kept in 0..1u32 << paths.len().min(8) {
        let files = rig.files.fork(u64::from(kept));
        for (index, path) in paths.iter().enumerate().take(8) {
            if kept & 1 << index == 0 {
                Files::remove(&files, path).unwrap();
            }
        }
        let has_journal = Files::list(&files, "journal").unwrap().iter().any(|name| name.ends_with(".seg"));
        match content(files) {
            Err(error) => assert!(is_named(&error), "{kept:b}: {error}"),
            // Nothing of a store but perhaps its checkpoint: that is an empty directory.
            Ok(got) if got.messages.is_empty() => assert!(!has_journal, "{kept:b}: {got:?}"),
            Ok(got) => assert!(is_whole(&got, &expected), "{kept:b}: {got:?}"),
        }
    }
}
