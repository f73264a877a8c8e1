//! Groups, claims, start groups, damage and tail, checkpoints, dropping: STORE.md 2 to 5.

use super::super::shared::Job;
use super::*;
use crate::layout::Spot;
use crate::{KeyedChange, Place};

#[test]
fn each_group_begins_at_a_4_kib_boundary_and_claims_what_was_synced_before_it() {
    let mut rig = Rig::new();
    for _ in 0..4 {
        rig.put(5000);
    }
    let groups: Vec<_> = rig.headers(1).into_iter().filter(|h| h.kind == GroupKind::Records).collect();
    assert_eq!(groups.len(), 4);
    for pair in groups.windows(2) {
        assert_eq!(pair[1].spot, pair[0].end());
        assert_eq!(pair[1].claim, pair[0].end());
    }
}

#[test]
fn what_waits_is_written_once_and_synced_once() {
    let mut rig = Rig::new();
    for _ in 0..3 {
        rig.submit(|batch| batch.message(message(100)));
    }
    assert_eq!(rig.journal().in_flight(), 3);
    rig.files.take_log();
    rig.journal().turn_inline();
    assert_eq!(rig.files.take_log(), ["write journal/00000001.seg", "sync journal/00000001.seg"]);
    assert_eq!((rig.journal().in_flight(), rig.journal().durable().batch), (0, 3));
    assert_eq!(rig.headers(1).iter().filter(|h| h.kind == GroupKind::Records).count(), 3);
}

#[test]
fn a_mark_claims_after_idling_but_only_once() {
    let mut rig = Rig::new();
    rig.put(10);
    let end = rig.headers(1).last().unwrap().end();
    rig.journal().idle_inline();
    let mark = *rig.headers(1).last().unwrap();
    assert!(is_mark(&mark));
    assert_eq!(mark.claim, end);
    rig.journal().idle_inline();
    assert_eq!(rig.headers(1).last(), Some(&mark));
    let stored = rig.put(10);
    assert_eq!(rig.journal().body(stored.id, stored.place).read().unwrap().body.len(), 10);
}

#[test]
fn no_mark_is_placed_where_a_batch_is_being_laid_out() {
    let mut rig = Rig::new();
    rig.put(10);
    let mut batch = rig.journal().begin();
    let stored = batch.message(message(20));
    rig.journal().idle_inline();
    assert!(!is_mark(rig.headers(1).last().unwrap()));
    rig.journal().submit(batch);
    rig.journal().turn_inline();
    let recovered = rig.reopen().unwrap();
    assert_eq!(recovered.messages.last().map(|m| m.id), Some(stored.id));
}

#[test]
fn an_empty_batch_that_is_open_does_not_keep_a_mark_away() {
    let mut rig = Rig::new();
    rig.put(10);
    let mut batch = rig.journal().begin();
    rig.journal().idle_inline();
    assert!(is_mark(rig.headers(1).last().unwrap()));
    let stored = batch.message(message(20));
    rig.journal().submit(batch);
    rig.journal().turn_inline();
    assert_eq!(rig.journal().body(stored.id, stored.place).read().unwrap().body.len(), 20);
}

#[test]
fn a_group_goes_into_a_new_segment_only_when_the_old_one_is_synced_claimed_and_sealed() {
    let mut rig = Rig::new();
    rig.put(30_000);
    rig.files.take_log();
    rig.put(30_000);
    let log = rig.files.take_log();
    let expected = [
        "write journal/00000001.seg",
        "sync journal/00000001.seg",
        "write journal/00000001.seg",
        "shorten journal/00000001.seg",
        "sync journal/00000001.seg",
        "create journal/00000002.seg",
        "sync directory journal",
        "write journal/00000002.seg",
        "sync journal/00000002.seg",
    ];
    assert_eq!(log, expected);
    let old = rig.headers(1);
    assert!(is_mark(old.last().unwrap()));
    assert_eq!(rig.headers(2)[0].claim, old.last().unwrap().end());
}

#[test]
fn a_batch_rolls_over_and_comes_back_whole() {
    let mut rig = Rig::new();
    let stored: Vec<Stored> = rig.write(|batch| (0..40).map(|_| batch.message(message(7000))).collect());
    assert!(stored.last().unwrap().place.segment > 4);
    for one in &stored {
        assert_eq!(rig.journal().body(one.id, one.place).read().unwrap().body.len(), 7000);
    }
    let recovered = rig.reopen().unwrap();
    assert_eq!(recovered.messages.len(), 40);
}

#[test]
fn a_record_larger_than_a_segment_has_one_of_its_own() {
    let mut rig = Rig::new();
    rig.put(10);
    let large = rig.put(1_000_000);
    let small = rig.put(10);
    assert_eq!((large.place.segment, small.place.segment), (2, 3));
    assert_eq!(rig.reopen().unwrap().messages.len(), 3);
    assert_eq!(rig.journal().body(large.id, large.place).read().unwrap().body.len(), 1_000_000);
}

#[test]
fn a_start_goes_on_in_a_new_segment_under_a_new_number() {
    let mut rig = Rig::new();
    rig.put(10);
    let end = rig.headers(1).last().unwrap().end();
    rig.files.take_log();
    rig.reopen().unwrap();
    let log = rig.files.take_log();
    let first = log.iter().position(|l| l == "create journal/00000002.seg").unwrap();
    // Nothing is removed or cleaned before the start group, its mark and the checkpoint are durable.
    let expected = [
        "create journal/00000002.seg",
        "write journal/00000002.seg",
        "sync journal/00000002.seg",
        "sync directory journal",
        "write journal/00000002.seg",
        "sync journal/00000002.seg",
        "create checkpoint.new",
        "write checkpoint.new",
        "sync checkpoint.new",
        "rename checkpoint",
        "sync directory ",
    ];
    // The first segment holds nothing that is not copied: it is kept to be
    // written again, last of all.
    assert_eq!(log[first..first + expected.len()], expected);
    assert_eq!(log[first + expected.len()..], ["rename journal/spare-1"]);
    let headers = rig.headers(2);
    // The put is not claimed by anything, so the start goes on before it and holds a copy.
    let from = Spot { segment: 1, offset: end.offset - 4096 };
    assert_eq!(headers[0].kind, GroupKind::Start { from });
    assert_eq!((headers[0].start, headers[0].records), (2, 1));
    assert!(is_mark(&headers[1]));
    assert_eq!(headers[1].claim, headers[0].end());
}

#[test]
fn the_checkpoint_is_synced_again_before_a_start_trusts_it() {
    let mut rig = Rig::new();
    rig.files.take_log();
    rig.reopen().unwrap();
    let log = rig.files.take_log();
    assert_eq!(log[..2], ["sync checkpoint", "sync directory "]);
}

#[test]
fn a_crash_loop_does_not_pile_up_segments() {
    let mut rig = Rig::new();
    rig.put(10);
    for _ in 0..20 {
        assert_eq!(rig.reopen().unwrap().messages.len(), 1);
        assert!(rig.segments().len() <= 2, "{:?}", rig.segments());
    }
}

/// A journal with five puts, and where the groups are.
fn five_puts(claimed: bool) -> (Rig, Vec<Stored>) {
    let mut rig = Rig::new();
    let stored = (0..5).map(|_| rig.put(3000)).collect();
    if claimed {
        rig.journal().idle_inline();
    }
    (rig, stored)
}

#[test]
fn a_truncated_tail_is_no_damage() {
    for cut in [1, 100, 3000] {
        let (mut rig, stored) = five_puts(false);
        let end = stored[4].place.offset as usize + 72 + 8 + 3000;
        rig.files.cut("journal/00000001.seg", end - cut);
        assert_eq!(rig.reopen().unwrap().messages.len(), 4);
    }
}

#[test]
fn a_flipped_byte_in_the_last_group_is_its_tail_while_nothing_claims_it() {
    let (mut rig, stored) = five_puts(false);
    rig.files.flip("journal/00000001.seg", stored[4].place.offset as usize + 500, 1);
    assert_eq!(rig.reopen().unwrap().messages.len(), 4);
}

#[test]
fn a_flipped_byte_in_claimed_data_is_damage_that_names_segment_and_place() {
    for (claimed, number) in [(true, 4), (true, 0), (false, 0), (false, 3)] {
        let (mut rig, stored) = five_puts(claimed);
        let place = stored[number].place;
        rig.files.flip("journal/00000001.seg", place.offset as usize + 500, 1);
        let Err(StoreError::Damaged { path, offset, what }) = rig.reopen() else { panic!("no damage") };
        assert_eq!(path, "journal/00000001.seg");
        assert_eq!(offset, u64::from(place.offset) - 80);
        assert!(what.contains("claims"), "{what}");
    }
}

#[test]
fn a_flipped_byte_before_a_start_group_is_damage_by_its_word() {
    let (mut rig, stored) = five_puts(true);
    let before = rig.files.content("checkpoint").unwrap();
    rig.reopen().unwrap();
    // As if the crash had come before the checkpoint of that start.
    let files = rig.files.fork(2);
    files.set_content("checkpoint", before);
    files.flip("journal/00000001.seg", stored[4].place.offset as usize + 500, 1);
    rig.files = files;
    let Err(StoreError::Damaged { path, what, .. }) = rig.open() else { panic!("no damage") };
    assert_eq!(path, "journal/00000001.seg");
    assert!(what.contains("goes on from"), "{what}");
}

#[test]
fn what_lies_between_a_cut_and_its_start_group_is_void_for_ever() {
    let (mut rig, stored) = five_puts(false);
    let before = rig.files.content("checkpoint").unwrap();
    rig.files.flip("journal/00000001.seg", stored[4].place.offset as usize + 500, 1);
    assert_eq!(rig.reopen().unwrap().messages.len(), 4);
    // The checkpoint is lost with its directory entry, and the tail is whole again: it stays void.
    let files = rig.files.fork(2);
    files.set_content("checkpoint", before);
    files.flip("journal/00000001.seg", stored[4].place.offset as usize + 500, 1);
    rig.files = files;
    assert_eq!(rig.open().unwrap().messages.len(), 4);
}

#[test]
fn a_start_group_that_is_torn_and_not_claimed_never_was() {
    let mut rig = Rig::new();
    rig.put(10);
    rig.journal().idle_inline();
    rig.journal = None;
    rig.files.kill();
    // The checkpoint's two syncs, the creation, and into the write of the start group.
    rig.files.set_fuse(Some(3));
    assert!(matches!(rig.open(), Err(StoreError::Io { .. })));
    rig.files.power_loss();
    let recovered = rig.open().unwrap();
    assert_eq!(recovered.messages.len(), 1);
    assert_eq!(rig.reopen().unwrap(), recovered);
}

#[test]
fn a_body_cannot_forge_a_group() {
    let mut rig = Rig::new();
    // A header that would claim more than there is, at every boundary that lies within the body.
    let mut body = vec![b'x'; 20_000];
    let begin = 2 * 4096 + 80 + 72 + 8;
    for at in (3 * 4096..begin + 16_000).step_by(4096) {
        let header = GroupHeader {
            kind: GroupKind::Mark,
            start: 1,
            spot: Spot { segment: 1, offset: at as u32 },
            nonce: 12345,
            previous: 0,
            payload_checksum: 0,
            payload_length: 0,
            first_record: 0,
            records: 0,
            claim: Spot { segment: 1, offset: 60_000 },
        };
        body[at - begin..at - begin + 80].copy_from_slice(&header.encode());
    }
    let body = Bytes::from(body);
    let stored = rig.write(|batch| batch.message(NewMessage { body, ..message(0) }));
    assert_eq!(stored.place.offset as usize + 72 + 8, begin);
    rig.files.flip("journal/00000001.seg", begin + 100, 1);
    // Torn, and nothing that counts claims it: a tail.
    assert_eq!(rig.reopen().unwrap().messages.len(), 0);
}

#[test]
fn a_checkpoint_that_is_missing_or_does_not_verify_is_damage() {
    let mut rig = Rig::new();
    rig.put(10);
    let good = rig.files.content("checkpoint").unwrap();
    rig.files.flip("checkpoint", 20, 1);
    assert_eq!(rig.reopen().unwrap().messages.len(), 1, "one copy is enough");
    let half = good.len() / 2;
    rig.files.flip("checkpoint", 20, 1);
    rig.files.flip("checkpoint", half + 20, 1);
    let Err(StoreError::Damaged { path, .. }) = rig.reopen() else { panic!("no damage") };
    assert_eq!(path, "checkpoint");
    crate::files::Files::remove(&rig.files, "checkpoint").unwrap();
    let Err(StoreError::Damaged { what, .. }) = rig.open() else { panic!("no damage") };
    assert!(what.contains("missing"), "{what}");
}

#[test]
fn a_listed_segment_that_is_missing_is_damage() {
    let (mut rig, _) = five_puts(true);
    rig.reopen().unwrap();
    rig.journal = None;
    crate::files::Files::remove(&rig.files, "journal/00000001.seg").unwrap();
    let Err(StoreError::Damaged { path, .. }) = rig.open() else { panic!("no damage") };
    assert_eq!(path, "journal/00000001.seg");
}

#[test]
fn a_segment_below_p_that_is_not_listed_is_a_leftover() {
    let mut rig = Rig::new();
    let old = rig.files.content("journal/00000001.seg").unwrap();
    rig.put(10);
    rig.reopen().unwrap();
    rig.journal = None;
    crate::files::Files::create(&rig.files, "journal/00000001.seg", 0).unwrap().write_at(&old, 0).unwrap();
    assert_eq!(rig.open().unwrap().messages.len(), 1);
    assert!(!rig.segments().contains(&"00000001.seg".to_owned()));
}

#[test]
fn a_segment_without_a_valid_footer_is_scanned() {
    for flip in [false, true] {
        let mut rig = Rig::new();
        for number in 0..30 {
            rig.put(4000);
            rig.write(|batch| {
                let mut commit = Commit::default();
                commit.set(format!("k{number}"), "v");
                batch.commit(commit);
            });
        }
        rig.checkpoint();
        let expected = rig.reopen().unwrap();
        assert_eq!((expected.messages.len(), expected.keyed.len()), (30, 30));
        if flip {
            let last = rig.files.content("journal/00000001.seg").unwrap().len() - 1;
            rig.files.flip("journal/00000001.seg", last, 1);
        }
        assert_eq!(rig.reopen().unwrap(), expected);
    }
}

#[test]
fn the_wholly_dead_go_with_a_durable_checkpoint_and_readers_read_on() {
    let mut rig = Rig::new();
    let stored: Vec<Stored> = (0..10).map(|_| rig.put(20_000)).collect();
    let handle = rig.journal().body(stored[0].id, stored[0].place);
    let segments = rig.segments().len();
    for one in &stored[..8] {
        rig.kill(one);
    }
    assert!(rig.segments().len() >= segments, "nothing goes before a checkpoint");
    rig.files.take_log();
    rig.checkpoint();
    let log = rig.files.take_log();
    let durable = log.iter().position(|l| l == "sync directory ").unwrap();
    let removed = log.iter().position(|l| l.starts_with("rename journal/spare")).unwrap();
    assert!(durable < removed, "{log:?}");
    assert!(rig.segments().len() <= segments - 3, "{:?}", rig.segments());
    assert_eq!(handle.read().unwrap().body.len(), 20_000);
    assert_eq!(rig.reopen().unwrap().messages.len(), 2);
}

#[test]
fn an_acknowledgement_pins_no_segment() {
    let mut rig = Rig::new();
    let old = rig.put(10);
    while rig.put(20_000).place.segment == 1 {}
    // The death is written into a later segment than the message, and the key lives in it.
    rig.write(|batch| {
        let mut commit = Commit::default();
        commit.kill(old.id, old.place);
        commit.set("mark", "1");
        batch.commit(commit);
    });
    rig.checkpoint();
    let recovered = rig.reopen().unwrap();
    assert!(recovered.messages.iter().all(|m| m.id != old.id));
    assert_eq!(recovered.keyed, [(b"mark".to_vec(), Bytes::from_static(b"1"))]);
}

#[test]
fn a_checkpoint_is_taken_a_minute_after_the_first_record_that_none_covers() {
    let mut rig = Rig::new();
    let at_start = rig.journal().stat().checkpoints;
    rig.put(10);
    for (at_ms, expected) in [(1000, 0), (60_999, 0), (61_000, 1), (200_000, 1)] {
        rig.journal().maintain(at_ms);
        rig.journal().turn_inline();
        rig.journal().maintain(at_ms);
        assert_eq!(rig.journal().stat().checkpoints - at_start, expected, "{at_ms}");
    }
}

#[test]
fn a_checkpoint_that_has_no_room_is_given_up_and_the_next_one_made() {
    let mut rig = Rig::new();
    let stored: Vec<Stored> = (0..6).map(|_| rig.put(30_000)).collect();
    stored.iter().for_each(|one| rig.kill(one));
    let checkpoints = rig.journal().stat().checkpoints;
    rig.fill_disk();
    rig.checkpoint();
    assert_eq!(rig.journal().stat().checkpoints, checkpoints);
    rig.files.set_room(None);
    rig.put(10);
    rig.checkpoint();
    assert!(rig.journal().stat().checkpoints > checkpoints);
    assert_eq!(rig.segments().len(), 1);
}

#[test]
fn after_a_failed_write_nothing_is_acknowledged() {
    let mut rig = Rig::new();
    rig.put(10);
    rig.files.set_fuse(Some(0));
    rig.put(10);
    rig.files.kill();
    rig.put(10);
    rig.journal().idle_inline();
    rig.journal().maintain(1_000_000);
    assert_eq!(rig.told.failed.lock().unwrap().len(), 1);
    assert_eq!((rig.journal().durable().batch, rig.journal().in_flight()), (1, 2));
    let closed = rig.journal.take().unwrap().close();
    assert!(matches!(closed, Err(StoreError::Io { action: "write", .. })), "{closed:?}");
}

#[test]
fn a_clean_stop_seals_claims_and_leaves_nothing_to_replay() {
    let mut rig = Rig::new();
    rig.put(10);
    rig.journal.take().unwrap().close().unwrap();
    assert!(is_mark(rig.headers(1).last().unwrap()));
    let length = rig.files.content("journal/00000001.seg").unwrap().len();
    assert!(length < 5 * 4096, "the room behind the footer is given back: {length}");
    assert_eq!(rig.open().unwrap().messages.len(), 1);
    assert_eq!(rig.headers(2)[0].records, 0, "nothing had to be copied");
}

/// The core reads where the next group begins, the committer takes that block for a mark, then gets the checkpoint.
#[test]
fn a_checkpoint_is_not_lost_to_a_mark() {
    for idle_first in [true, false] {
        let mut rig = Rig::new();
        rig.put(10);
        if idle_first {
            rig.journal().idle_inline();
        }
        let taken = rig.journal().take_checkpoint();
        let position = taken.checkpoint.position;
        rig.journal().idle_inline();
        assert_eq!(rig.journal().shared.head.spot(), position, "what the checkpoint says still holds");
        rig.journal().shared.push(Job::Checkpoint(taken));
        rig.put(20);
        rig.journal().settle_checkpoint();
        assert_eq!(rig.journal().stat().checkpoints, 2);
        rig.put(10);
        rig.journal().idle_inline();
        assert!(is_mark(rig.headers(1).last().unwrap()), "marks are placed again");
        assert_eq!(rig.reopen().unwrap().messages.len(), 3);
    }
}

/// The same with the last checkpoint, while one before it is still being done.
#[test]
fn the_checkpoint_of_a_clean_close_is_not_lost_to_a_mark() {
    let mut rig = Rig::new();
    rig.put(10);
    let first = rig.journal().take_checkpoint();
    let last = rig.journal().take_checkpoint();
    rig.journal().shared.push(Job::Checkpoint(first));
    rig.journal().turn_inline();
    rig.journal().idle_inline();
    rig.journal().shared.push(Job::Close(last));
    rig.journal().turn_inline();
    rig.journal().settle_checkpoint();
    assert_eq!(rig.journal().stat().checkpoints, 2);
    assert_eq!(rig.reopen().unwrap().messages.len(), 1);
}

/// A reader that is slow holds no batch in memory once it is on disk.
#[test]
fn a_handle_reads_the_batch_while_it_is_there_and_the_segment_after_that() {
    let mut rig = Rig::new();
    // Of the batches that are not on disk two go into segments that do not exist yet.
    let stored: Vec<Stored> = (0..3).map(|_| rig.submit(|batch| batch.message(message(40_000)))).collect();
    assert_eq!(stored.last().unwrap().place.segment, 3);
    let handles: Vec<_> = stored.iter().map(|s| rig.journal().body(s.id, s.place)).collect();
    for handle in &handles {
        assert!(handle.is_cached());
        assert_eq!(handle.read().unwrap().body.len(), 40_000, "before it is written");
    }
    let batches: Vec<_> = rig.journal().recent.iter().map(Arc::downgrade).collect();
    rig.journal().turn_inline();
    rig.journal().maintain(0);
    assert!(batches.iter().all(|batch| batch.upgrade().is_none()), "the handles hold no batch");
    stored.iter().for_each(|stored| rig.kill(stored));
    rig.put(40_000);
    rig.checkpoint();
    assert!(!rig.segments().contains(&"00000002.seg".to_owned()));
    for handle in &handles {
        assert!(!handle.is_cached());
        assert_eq!(handle.read().unwrap().body.len(), 40_000, "also when its segment is gone");
    }
}

#[test]
fn units_cut_off_by_a_crash_get_dead_bits() {
    let mut rig = Rig::new();
    let unit = rig.write(|batch| {
        let unit = batch.new_unit();
        batch.message(NewMessage { unit: Some(unit), ..message(100) });
        let change = KeyedChange { key: b"k".to_vec(), value: Some(Bytes::from_static(b"v")) };
        batch.keyed(Some(unit), change);
        unit
    });
    rig.journal().idle_inline();
    assert_eq!(rig.reopen().unwrap(), Recovered::default());
    assert_eq!(rig.journal().ledger.units(), (vec![], vec![]));
    // Also when its commit comes too late: the unit is of another start.
    rig.write(|batch| batch.commit(Commit { unit: Some(unit), ..Commit::default() }));
    assert_eq!(rig.reopen().unwrap(), Recovered::default());
    assert_eq!(rig.segments().len(), 1);
}

#[test]
fn an_open_unit_lives_on_behind_a_checkpoint() {
    let mut rig = Rig::new();
    let unit = rig.write(|batch| {
        let unit = batch.new_unit();
        batch.message(NewMessage { unit: Some(unit), ..message(100) });
        unit
    });
    rig.checkpoint();
    rig.write(|batch| batch.commit(Commit { unit: Some(unit), ..Commit::default() }));
    rig.journal().idle_inline();
    assert_eq!(rig.reopen().unwrap().messages.len(), 1);
}

#[test]
fn a_body_that_was_damaged_is_reported_when_it_is_read() {
    let (mut rig, stored) = five_puts(true);
    rig.checkpoint();
    rig.reopen().unwrap();
    let Place { segment, offset, .. } = stored[2].place;
    rig.files.flip(&format!("journal/{segment:08}.seg"), offset as usize + 1000, 4);
    let read = rig.journal().body(stored[2].id, stored[2].place).read();
    assert!(matches!(read, Err(StoreError::Damaged { .. })), "{read:?}");
}

#[test]
fn a_crash_between_any_two_file_operations_keeps_what_was_acknowledged() {
    let run = |fuse: u32| -> bool {
        let mut rig = Rig::new();
        let first = rig.put(20_000);
        rig.files.set_fuse(Some(fuse));
        let mut acknowledged = 1;
        for _ in 0..4 {
            rig.put(20_000);
        }
        rig.checkpoint();
        acknowledged = acknowledged.max(rig.told.durable.lock().unwrap().batch as usize);
        let reached = !rig.files.is_stopped();
        rig.journal = None;
        rig.files.power_loss();
        for again in 0..30 {
            let files = rig.files.fork(u64::from(again));
            let mut next = Rig { files, told: Arc::default(), journal: None, clock_ms: 0 };
            next.files.set_fuse(Some(again));
            let _ = next.open();
            next.journal = None;
            next.files.power_loss();
            let recovered = next.open().unwrap();
            assert!(recovered.messages.len() >= acknowledged, "fuse {fuse}, then {again}");
            let entry = recovered.messages[0];
            assert_eq!(entry.id, first.id);
            assert_eq!(next.journal().body(entry.id, entry.place).read().unwrap().body.len(), 20_000);
        }
        reached
    };
    assert!((0..60).any(run), "the last fuse does not go off");
}
