//! The derived index: it never changes an answer, whatever is done to its folder (STORE.md 7 and 8).

use std::path::Path;
use std::time::{Duration, Instant};

use super::*;
use crate::{Id, KeyedIndex, OwnerId, UnitId};

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

fn wait(index: &KeyedIndex, key: &str, value: Option<&str>) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while index.keyed(key.as_bytes()).as_deref() != value.map(str::as_bytes) {
        assert!(Instant::now() < deadline, "{key} does not become {value:?}");
        std::thread::yield_now();
    }
}

#[test]
fn it_answers_look_ups_outside_of_the_core() {
    let directory = tempfile::tempdir().unwrap();
    let (mut journal, _) = open(directory.path());
    let index = journal.keyed_index().unwrap();
    for (key, value) in [("a/1", "x"), ("a/2", "y"), ("b/1", "z"), ("a/1", "")] {
        set(&mut journal, key, value);
    }
    wait(&index, "b/1", Some("z"));
    wait(&index, "a/1", None);
    assert_eq!(index.scan(b"a/"), [(b"a/2".to_vec(), Bytes::from_static(b"y"))]);
    assert_eq!(index.scan(b"").len(), 2);
    journal.close().unwrap();
    assert_eq!(index.keyed(b"b/1"), None, "a closed store answers nothing");
    let (journal, _) = open(directory.path());
    wait(&journal.keyed_index().unwrap(), "b/1", Some("z"));
}

#[test]
fn what_a_start_takes_from_it_is_what_the_journal_says() {
    let directory = tempfile::tempdir().unwrap();
    let (mut journal, _) = open(directory.path());
    for number in 0..200 {
        set(&mut journal, &format!("k{number:03}"), &number.to_string());
    }
    journal.close().unwrap();
    let (mut journal, first) = open(directory.path());
    assert_eq!(first.keyed.len(), 200);
    set(&mut journal, "k000", "changed");
    set(&mut journal, "k001", "");
    drop(journal);
    let (journal, second) = open(directory.path());
    assert_eq!((second.keyed.len(), &second.keyed[0].1[..]), (199, &b"changed"[..]));
    let index = journal.keyed_index().unwrap();
    wait(&index, "k000", Some("changed"));
    wait(&index, "k001", None);
    assert_eq!(index.scan(b"k").len(), 199);
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
        if round % 2 == 0 {
            journal.close().unwrap();
        } else {
            drop(journal);
        }
        copy(&index, &saved.path().join(copies.to_string()));
        copies += 1;
        match round % 4 {
            0 => std::fs::remove_dir_all(&index).unwrap(),
            // An older one.
            1 => copy(&saved.path().join((copies / 2).to_string()), &index),
            2 => {
                for name in ["db", "conf"] {
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
    journal.close().unwrap();
    // A backup of everything but the index comes back.
    let newer = tempfile::tempdir().unwrap();
    copy(&directory.path().join("index"), newer.path());
    copy(saved.path(), directory.path());
    copy(newer.path(), &directory.path().join("index"));
    let (journal, recovered) = open(directory.path());
    assert_eq!(text(&recovered), [("k".to_owned(), "old".to_owned())]);
    let index = journal.keyed_index().unwrap();
    wait(&index, "k", Some("old"));
    assert_eq!(index.scan(b"").len(), 1);
}

/// sled has said that it cannot go on: the index answers nothing until a new one is filled from the journal.
#[test]
fn one_that_breaks_while_it_is_used_is_made_anew() {
    let directory = tempfile::tempdir().unwrap();
    let (mut journal, _) = open(directory.path());
    for number in 0..300 {
        set(&mut journal, &format!("k{number:03}"), "before");
    }
    let index = journal.keyed_index().unwrap();
    wait(&index, "k299", Some("before"));
    journal.break_index();
    assert_eq!(index.keyed(b"k299"), None);
    set(&mut journal, "k000", "while it is broken");
    set(&mut journal, "k001", "");
    let deadline = Instant::now() + Duration::from_secs(30);
    while index.keyed(b"k299").is_none() {
        assert!(Instant::now() < deadline, "it is not made anew");
        journal.maintain(0);
        std::thread::yield_now();
    }
    wait(&index, "k000", Some("while it is broken"));
    wait(&index, "k001", None);
    set(&mut journal, "k002", "afterwards");
    wait(&index, "k002", Some("afterwards"));
    assert_eq!(journal.stat().index_rebuilds, 1);
    journal.close().unwrap();
    let (journal, recovered) = open(directory.path());
    assert_eq!(recovered.keyed.len(), 299);
    assert_eq!(journal.stat().index_rebuilds, 0, "the new one is good enough for a start");
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
    assert!(!cold.put(one, 0, b"lost"), "whoever has them must keep them");
    assert_eq!(cold.get(two, 1), None, "the journal has them");
    journal.close().unwrap();
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
