//! The derived index: it never changes an answer, whatever is done to its folder (STORE.md 7 and 8).

use std::path::Path;

use super::*;
use crate::{ColdIndex, Id, OwnerId, UnitId};

fn open(directory: &Path) -> (Box<Journal>, Recovered) {
    let (journal, recovered) = Journal::open(OpenOptions::new(directory, Arc::new(Told::default()))).unwrap();
    (Box::new(journal), recovered)
}

fn set(journal: &mut Journal, key: &str, value: &str) {
    let mut batch = journal.begin();
    let mut commit = Commit::default();
    match value {
        "" => commit.remove(key),
        _ => commit.set(key, value.to_owned()),
    }
    batch.commit(commit);
    journal.submit(batch);
}

fn copy(from: &Path, to: &Path) {
    let _ = std::fs::remove_dir_all(to);
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn text(recovered: &Recovered) -> Vec<(String, String)> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    recovered.keyed.iter().map(|(key, value)| (text(key), text(value))).collect()
}

/// So many entries that sled gets some of them.
fn fill(cold: &ColdIndex) {
    for owner in 0..100 {
        assert!(cold.put(OwnerId(owner), 0, &[owner as u8; 1000]));
    }
}

#[test]
fn its_folder_deleted_damaged_or_of_another_time_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let saved = tempfile::tempdir().unwrap();
    let index = directory.path().join("index");
    let mut expected = std::collections::BTreeMap::new();
    let mut copies = 0;
    for round in 0..12 {
        let (mut journal, recovered) = open(directory.path());
        let wanted: Vec<_> = expected.clone().into_iter().collect();
        assert_eq!(text(&recovered), wanted, "round {round}");
        for number in 0..10 {
            let key = format!("k{}", (round * 7 + number * 3) % 40);
            let value = if number % 4 == 3 { String::new() } else { format!("{round}-{number}") };
            set(&mut journal, &key, &value);
            if value.is_empty() {
                expected.remove(&key)
            } else {
                expected.insert(key, value)
            };
        }
        fill(&journal.cold_index().unwrap());
        if round % 2 == 0 {
            journal.close().unwrap();
        } else {
            drop(journal);
        }
        // It goes with its store; a kill would leave it.
        let (left, _) = open(saved.path().join("of").as_path());
        fill(&left.cold_index().unwrap());
        copy(&saved.path().join("of/index"), &saved.path().join(copies.to_string()));
        drop(left);
        copy(&saved.path().join(copies.to_string()), &index);
        copies += 1;
        match round % 4 {
            0 => std::fs::remove_dir_all(&index).unwrap(),
            // An older one.
            1 => copy(&saved.path().join((copies / 2).to_string()), &index),
            2 => {
                for name in ["1/db", "1/conf", "2"] {
                    std::fs::write(index.join(name), [0x5a; 3000]).unwrap();
                }
            }
            _ => {}
        }
    }
}

#[test]
fn a_newer_one_than_the_journal_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let saved = tempfile::tempdir().unwrap();
    let (mut journal, _) = open(directory.path());
    set(&mut journal, "k", "old");
    journal.close().unwrap();
    copy(directory.path(), saved.path());
    let (mut journal, _) = open(directory.path());
    set(&mut journal, "k", "new");
    set(&mut journal, "only in the newer one", "x");
    fill(&journal.cold_index().unwrap());
    let newer = tempfile::tempdir().unwrap();
    copy(&directory.path().join("index"), newer.path());
    drop(journal);
    // A backup of everything but the index comes back.
    copy(saved.path(), directory.path());
    copy(newer.path(), &directory.path().join("index"));
    let (journal, recovered) = open(directory.path());
    assert_eq!(text(&recovered), [("k".to_owned(), "old".to_owned())]);
    assert_eq!(journal.cold_index().unwrap().get(OwnerId(1), 1), None);
}

#[test]
fn cold_entries_are_kept_until_the_next_start() {
    let directory = tempfile::tempdir().unwrap();
    let (journal, _) = open(directory.path());
    let cold = journal.cold_index().unwrap();
    let (one, two) = (OwnerId(1), OwnerId(2));
    assert_eq!(cold.get(one, 1), None);
    assert!(cold.put(one, 0, b"entries") && cold.put(one, 0, b"newer") && cold.put(two, 0, b""));
    assert!(cold.put(one, 1, b" part"));
    assert_eq!(cold.get(one, 2), Some(b"newer part".to_vec()));
    assert_eq!((cold.get(one, 1), cold.get(two, 1)), (Some(b"newer".to_vec()), Some(Vec::new())));
    assert_eq!(cold.get(two, 2), None, "a part is missing");
    cold.remove(one, 2);
    assert_eq!(cold.get(one, 1), None);
    journal.break_index();
    assert_eq!(cold.get(two, 1), None, "the journal has them");
    assert!(cold.put(one, 0, b"again"));
    assert_eq!((cold.get(one, 1), journal.stat().index_rebuilds), (Some(b"again".to_vec()), 1));
    journal.close().unwrap();
    assert!(!cold.put(one, 0, b"late"), "whoever has them must keep them");
    let (journal, _) = open(directory.path());
    let cold = journal.cold_index().unwrap();
    assert_eq!((cold.get(one, 1), cold.get(two, 1)), (None, None));
}

/// Those of one owner among others, on disk and not yet, of a unit that is decided and of one that is not.
#[test]
fn the_entries_of_an_owner_are_read_from_the_journal() {
    let mut rig = Rig::new();
    let of = |owner: u64, unit| NewMessage { owner: OwnerId(owner), unit, ..message(3000) };
    let mut wanted = Vec::new();
    for number in 0..60 {
        let stored = rig.write(|batch| batch.message(of(number % 3, None)));
        if number % 3 == 1 {
            wanted.push(stored);
        }
    }
    let dead = wanted.remove(4);
    rig.kill(&dead);
    let real = rig.submit(|batch| {
        batch.message(of(1, Some(UnitId(Id::new(1, 999)))));
        let unit = batch.new_unit();
        let stored = batch.message(of(1, Some(unit)));
        batch.commit(Commit { unit: Some(unit), ..Commit::default() });
        stored
    });
    wanted.push(real);
    let entries = rig.journal().entries(OwnerId(1)).read().unwrap();
    let ids = |entries: &[crate::RecoveredMessage]| entries.iter().map(|e| e.id).collect::<Vec<_>>();
    assert_eq!(ids(&entries), wanted.iter().map(|w| w.id).collect::<Vec<_>>());
    assert!(entries.iter().zip(&wanted).all(|(entry, wanted)| entry.place == wanted.place));
    rig.journal().turn_inline();
    assert_eq!(rig.journal().entries(OwnerId(1)).read().unwrap(), entries, "when it is on disk too");
}
