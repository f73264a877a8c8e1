//! Space on disk: reserved ahead in steps, given back, and what happens when there is none.

use std::os::unix::fs::MetadataExt;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::*;
use crate::Room;

/// What a segment of the usual size grows by, and the small one of a [`Rig`].
const STEP: u64 = 4 << 20;
const SMALL_STEP: usize = 32 << 10;

#[test]
fn a_start_reserves_one_step_which_grows_by_steps_and_is_given_back() {
    let directory = tempfile::tempdir().unwrap();
    let (mut journal, _) = directory::open(directory.path()).unwrap();
    let path = directory.path().join("journal/00000001.seg");
    for steps in 1..=3 {
        let reserved = std::fs::metadata(&path).unwrap();
        assert_eq!(reserved.len(), steps * STEP);
        assert!(reserved.blocks() * 512 >= steps * STEP, "{} blocks", reserved.blocks());
        let mut batch = journal.begin();
        batch.message(message(4 << 20));
        let position = journal.submit(batch);
        let deadline = Instant::now() + Duration::from_secs(30);
        while journal.durable() < position {
            assert!(Instant::now() < deadline, "the batch does not become durable");
            std::thread::yield_now();
        }
    }
    Box::new(journal).close().unwrap();
    let length = std::fs::metadata(&path).unwrap().len();
    assert!(length < (12 << 20) + (1 << 16), "the room behind the footer is given back: {length}");
}

#[test]
fn twenty_five_kills_leave_at_most_one_step_each() {
    let directory = tempfile::tempdir().unwrap();
    let segment_bytes = 1 << 20;
    for kills in 0..=25 {
        let watch = Arc::new(Told::default());
        let options = OpenOptions { segment_bytes, ..OpenOptions::new(directory.path(), watch) };
        let (mut journal, recovered) = Journal::open(options).unwrap();
        assert_eq!(recovered.messages.len(), kills);
        let mut batch = journal.begin();
        batch.message(message(10));
        journal.submit(batch);
        // Dropped, not closed: the segment is neither sealed nor shortened.
        drop(journal);
    }
    let segments: Vec<u64> = std::fs::read_dir(directory.path().join("journal"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_name().to_str().unwrap().ends_with(".seg"))
        .map(|entry| entry.metadata().unwrap())
        .map(|metadata| metadata.len().max(metadata.blocks() * 512))
        .collect();
    assert!(segments.len() <= 26, "{segments:?}");
    assert!(segments.iter().all(|bytes| *bytes <= segment_bytes / 2), "{segments:?}");
}

#[test]
fn a_start_works_with_less_than_a_segment_free() {
    let mut rig = Rig::new();
    rig.put(10);
    rig.fill_disk();
    // One step, and the checkpoint.
    rig.files.set_room(Some(SMALL_STEP as u64 + 8192));
    let recovered = rig.reopen().unwrap();
    let entry = recovered.messages[0];
    assert_eq!(rig.journal().body(entry.id, entry.place).read().unwrap().body.len(), 10);
    // What is small can be drained, and a clean stop needs no room but the checkpoint's.
    rig.kill(&Stored { id: entry.id, order: entry.order, place: entry.place });
    rig.journal.take().unwrap().close().unwrap();
    rig.files.set_room(None);
    assert_eq!(rig.open().unwrap(), Recovered::default());
}

#[test]
fn a_start_without_room_for_a_step_fails_clearly_and_leaves_nothing_behind() {
    let mut rig = Rig::new();
    rig.put(10);
    rig.fill_disk();
    rig.files.set_room(Some(SMALL_STEP as u64 - 1));
    for _ in 0..3 {
        let Err(StoreError::Io { action: "create", path, .. }) = rig.reopen() else { panic!("no error") };
        assert_eq!(path, "journal/00000002.seg");
        assert_eq!(rig.segments(), ["00000001.seg"]);
    }
    rig.files.set_room(None);
    assert_eq!(rig.reopen().unwrap().messages.len(), 1);
}

#[test]
fn without_any_room_a_write_fails_clearly_and_loses_nothing_acknowledged() {
    for bytes in [10, 50_000] {
        let mut rig = Rig::new();
        rig.put(bytes);
        rig.fill_disk();
        let mut puts = 1;
        while rig.told.failed.lock().unwrap().is_empty() {
            rig.put(30_000);
            puts += 1;
            assert!(puts < 10, "no failure");
        }
        let failed = rig.told.failed.lock().unwrap().clone();
        let [StoreError::Io { action, path, error }] = &failed[..] else { panic!("{failed:?}") };
        assert!(["reserve space in", "create"].contains(action), "{action}");
        assert!(path.starts_with("journal/0000000"), "{path}");
        assert!(error.contains("no storage space"), "{error}");
        let durable = rig.journal().durable().batch;
        assert_eq!(durable, puts - 1);
        rig.files.set_room(None);
        assert_eq!(rig.reopen().unwrap().messages.len() as u64, durable);
    }
}

/// STORE.md 6: intake pauses, what drains goes on out of the reserve, intake resumes by itself.
#[test]
fn a_full_disk_pauses_intake_and_gives_the_reserve_to_those_who_drain() {
    let mut rig = Rig::new();
    let stored: Vec<Stored> = (0..20).map(|_| rig.put(20_000)).collect();
    rig.files.set_room(Some(0));
    assert_eq!(rig.journal().room(), Room::Enough, "nothing has been asked for yet");
    let mut drained = 0;
    for one in &stored {
        // Each takes a block of its own, so the reserve is needed soon.
        rig.kill(one);
        drained += 1;
        rig.checkpoint();
        if rig.journal().room() == Room::Short {
            break;
        }
    }
    assert_eq!(rig.journal().room(), Room::Short);
    for one in &stored[drained..] {
        rig.kill(one);
        rig.checkpoint();
    }
    assert!(rig.told.failed.lock().unwrap().is_empty(), "{:?}", rig.told.failed.lock().unwrap());
    assert_eq!(rig.journal().stat().messages, 0);
    assert!(rig.told.turns.load(Ordering::Relaxed) > 0, "the core is told that it may look");
    // What was drained is room again, as much as the reserve had and more.
    rig.look_for_room();
    assert_eq!(rig.journal().room(), Room::Enough);
    rig.put(20_000);
    assert_eq!(rig.reopen().unwrap().messages.len(), 1);
}

#[test]
fn a_start_on_a_full_disk_uses_the_reserve_and_takes_nothing_in() {
    let mut rig = Rig::new();
    let stored = rig.put(10);
    rig.files.set_room(Some(0));
    rig.reopen().unwrap();
    assert_eq!(rig.journal().room(), Room::Short);
    rig.kill(&stored);
    assert!(rig.told.failed.lock().unwrap().is_empty());
    rig.look_for_room();
    assert_eq!(rig.journal().room(), Room::Short, "still");
    rig.files.set_room(None);
    rig.look_for_room();
    assert_eq!(rig.journal().room(), Room::Enough);
    assert_eq!(rig.reopen().unwrap(), Recovered::default());
}

/// The step comes before the write of the group that needs it, and no mark ever needs one.
#[test]
fn a_segment_grows_only_when_a_group_needs_it() {
    let mut rig = Rig::new();
    assert_eq!(rig.files.content("journal/00000001.seg").unwrap().len(), SMALL_STEP);
    rig.put(10);
    rig.files.take_log();
    rig.put(10_000);
    let log = rig.files.take_log();
    let name = "journal/00000001.seg";
    assert_eq!(log, [format!("reserve {name}"), format!("write {name}"), format!("sync {name}")]);
    rig.journal().idle_inline();
    rig.put(10);
    assert!(!rig.files.take_log().contains(&format!("reserve {name}")));
    assert_eq!(rig.files.content(name).unwrap().len(), 2 * SMALL_STEP);
}

#[test]
fn a_segment_of_any_length_is_taken() {
    let mut rig = Rig::new();
    rig.put(10);
    rig.journal().idle_inline();
    let end = rig.headers(1).last().unwrap().end().offset as usize;
    rig.journal = None;
    for length in [end, end + 1, end + 511, end + 4095, end + 4096, end + 5000, SMALL_STEP + 1, 300_000] {
        let files = rig.files.fork(1);
        let mut content = files.content("journal/00000001.seg").unwrap();
        content.resize(length, 0);
        files.set_content("journal/00000001.seg", content);
        files.kill();
        let mut other = Rig { files, told: Arc::default(), journal: None, clock_ms: 0 };
        assert_eq!(other.open().unwrap().messages.len(), 1, "{length}");
        assert_eq!(other.reopen().unwrap().messages.len(), 1, "{length}");
    }
}
