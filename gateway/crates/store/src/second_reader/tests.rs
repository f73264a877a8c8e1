//! Stores made by hand, and what the second reader finds in them. Whether it agrees with the first reader is the
//! business of the crash tests.

mod writer;

use super::{Held, Message, Refusal, raw, read};
use writer::{
    BLOCK, Checkpoint, Directory, Journal, back_out, commit, message, message_in_file, moved, path, prepare,
    remove, set,
};

fn expected(id: u64, body: &[u8]) -> (u64, Message) {
    let message = Message {
        owner: id + 100,
        order: id + 200,
        priority: 4,
        persistent: true,
        expiry_ms: id + 300,
        tags: [id + 400, id + 500],
        envelope: b"envelope".to_vec(),
        body: body.to_vec(),
    };
    (id, message)
}

/// What is held but for prepared units, in short: messages as `id=body`, keys as `key=value`.
#[track_caller]
fn check(store: &Directory, wanted: &str) {
    assert_eq!(short(&read(store).unwrap()), wanted);
}

fn short(held: &Held) -> String {
    let text = String::from_utf8_lossy;
    let messages = held.messages.iter().map(|(id, message)| format!("{id}={}", text(&message.body)));
    let keyed = held.keyed.iter().map(|(key, value)| format!("{}={}", text(key), text(value)));
    messages.chain(keyed).collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn check_damaged(store: &Directory, wanted_path: &str, wanted_offset: usize) {
    match read(store) {
        Err(Refusal::Damaged { path, offset, what }) => {
            assert_eq!((path.as_str(), offset), (wanted_path, wanted_offset as u64), "{what}");
        }
        other => panic!("not damaged: {other:?}"),
    }
}

/// The first start of a new store.
fn first() -> Journal {
    Journal::new(1, 1, (0, 0), 0, &[])
}

#[test]
fn checksum_is_the_one_of_the_document() {
    assert_eq!(raw::crc32(b"123456789"), 0xCBF4_3926);
}

#[test]
fn not_a_store_yet() {
    let mut store = Directory::default();
    check(&store, "");
    store.0.insert("lock".to_owned(), Vec::new());
    store.0.insert("checkpoint".to_owned(), writer::new_checkpoint());
    check(&store, "");
    store.0.insert(path(1), Vec::new());
    check_damaged(&store, "format", 0);
}

#[test]
fn empty_store() {
    let mut store = Directory::default();
    store.0.insert("format".to_owned(), b"2\n".to_vec());
    check_damaged(&store, "checkpoint", 0);
    store.0.insert("checkpoint".to_owned(), writer::new_checkpoint());
    check(&store, "");
    check(&first().store(None), "");
}

#[test]
fn versions() {
    for (text, wanted) in [
        ("1\n", Ok(())),
        ("2\n", Ok(())),
        ("3\n", Err(Refusal::Version(3))),
        ("0\n", Err(Refusal::Version(0))),
        ("2", Err(Refusal::NotAStore)),
        ("02\n", Err(Refusal::NotAStore)),
        ("+2\n", Err(Refusal::NotAStore)),
        ("", Err(Refusal::NotAStore)),
        ("4294967296\n", Err(Refusal::NotAStore)),
    ] {
        let mut store = first().store(None);
        store.0.insert("format".to_owned(), text.into());
        assert_eq!(read(&store).map(|_| ()), wanted, "{text:?}");
    }
}

#[test]
fn one_group_with_everything() {
    let mut journal = first();
    journal.group(&[
        message(1, 0, b"one"),
        message(2, 0, b"two"),
        set("a", "1", 0),
        set("b", "2", 0),
        set("a", "3", 0),
        remove("b", 0),
        // Committed, with a kill of one before and of one of its own, and of one that is not there.
        message(3, 7, b"three"),
        message(4, 7, b"four"),
        set("c", "unit", 7),
        set("d", "unit", 7),
        commit(7, &[2, 4, 99], &[set("d", "commit", 0), remove("a", 0)]),
        // Backed out.
        message(5, 8, b"five"),
        set("a", "never", 8),
        back_out(8),
        // Prepared.
        message(6, 9, b"six"),
        set("e", "1", 9),
        remove("c", 9),
        set("e", "2", 9),
        prepare(9, &[1, 2], b"note"),
        // Prepared and decided.
        message(7, 10, b"seven"),
        prepare(10, &[1], b""),
        back_out(10),
        message(8, 11, b"eight"),
        prepare(11, &[], b""),
        commit(11, &[], &[]),
        // Open.
        message(9, 12, b"nine"),
        // A commit without a unit.
        commit(0, &[3], &[set("f", "", 0)]),
    ]);
    let store = journal.store(None);
    check(&store, "1=one 8=eight c=unit d=commit f=");
    let held = read(&store).unwrap();
    assert_eq!(held.messages[&1], expected(1, b"one").1);
    let [(unit, prepared)] = held.prepared.iter().collect::<Vec<_>>()[..] else { panic!("{held:?}") };
    assert_eq!((*unit, &prepared.kills[..], &prepared.note[..]), (9, &[1][..], &b"note"[..]));
    assert_eq!(prepared.messages, [expected(6, b"six")].into());
    let changes = [("e", Some("1")), ("c", None), ("e", Some("2"))];
    let bytes = |(key, value): (&str, Option<&str>)| (key.into(), value.map(Into::into));
    assert_eq!(prepared.changes, changes.map(bytes));
}

#[test]
fn a_message_that_is_not_persistent() {
    let mut journal = first();
    let mut record = message(1, 0, b"");
    record[9] = 0;
    let sum = raw::crc32(&record[8..]);
    record[4..8].copy_from_slice(&sum.to_le_bytes());
    journal.group(&[record]);
    assert!(!read(&journal.store(None)).unwrap().messages[&1].persistent);
}

#[test]
fn a_unit_over_groups_segments_and_a_checkpoint() {
    let mut journal = first();
    journal.group(&[message(1, 7, b"one"), set("a", "list", 7), message(2, 8, b"two")]);
    let records = journal.number();
    let mut checkpoint = journal.checkpoint();
    checkpoint.segments = vec![(1, journal.at().1, records, vec![])];
    checkpoint.open = vec![7, 8];
    journal.group(&[message(3, 7, b"three"), set("a", "journal", 7)]);
    // Not decided: gone.
    check(&journal.store(Some(&checkpoint)), "");
    // Made before the checkpoint: real.
    let mut decided = checkpoint.clone();
    decided.open = vec![7];
    check(&journal.store(Some(&decided)), "2=two");
    journal.roll(4);
    journal.group(&[commit(7, &[], &[])]);
    check(&journal.store(None), "1=one 3=three a=journal");
    check(&journal.store(Some(&checkpoint)), "1=one 3=three a=journal");
}

#[test]
fn rolled_segment_with_footer() {
    let mut journal = first();
    journal.group(&[message(1, 0, b"one"), message(2, 0, b"two")]);
    journal.group(&[commit(0, &[], &[set("a", "1", 0), set("b", "1", 0)]), set("a", "2", 0)]);
    let (end, records) = (journal.at().1, journal.number());
    assert_eq!(records, 6);
    journal.roll(3);
    journal.group(&[message(3, 0, b"three"), commit(0, &[2], &[])]);
    let store = journal.store(None);
    check(&store, "1=one 3=three a=2 b=1");

    // Listed: the commits and what they killed are dead, and so is the first value of `a`.
    let mut checkpoint = journal.checkpoint();
    checkpoint.segments = vec![(1, end + 4096, records, vec![1, 2, 3]), (3, journal.at().1, 2, vec![1])];
    journal.group(&[set("b", "2", 0)]);
    let store = journal.store(Some(&checkpoint));
    check(&store, "1=one 3=three a=2 b=2");

    // Without the footer it is read group by group; with it, the header of the group is not looked at.
    let mut without = store.clone();
    without.segment(1).truncate(end as usize + BLOCK);
    check(&without, "1=one 3=three a=2 b=2");
    without.segment(1)[BLOCK] ^= 1;
    check_damaged(&without, &path(1), BLOCK);
    let mut with = store.clone();
    with.segment(1)[BLOCK] ^= 1;
    check(&with, "1=one 3=three a=2 b=2");
    // A record that lives is; one that is dead is not.
    with.segment(1)[BLOCK + 80 + 50] ^= 1;
    check_damaged(&with, &path(1), BLOCK + 80);
    let mut dead = store.clone();
    let length = message(1, 0, b"one").len();
    dead.segment(1)[BLOCK + 80 + length + 20] ^= 1;
    check(&dead, "1=one 3=three a=2 b=2");
    // A footer that names another segment does not count.
    let mut other = store.clone();
    let file = other.segment(1);
    let trailer = file.len() - 40;
    file[trailer + 8] = 9;
    let sum = raw::crc32(&file[trailer..trailer + 36]);
    file[trailer + 36..].copy_from_slice(&sum.to_le_bytes());
    check(&other, "1=one 3=three a=2 b=2");
    // A listed segment is missed; a leftover is not looked at.
    let mut missing = store.clone();
    missing.0.remove(&path(1));
    check_damaged(&missing, &path(1), 0);
    let mut leftover = store;
    leftover.0.insert(path(2), first().files[&1].clone());
    check(&leftover, "1=one 3=three a=2 b=2");
}

#[test]
fn what_a_list_must_not_say() {
    let mut journal = first();
    journal.group(&[set("a", "1", 0), set("a", "2", 0), commit(0, &[], &[]), message(1, 3, b"x")]);
    journal.group(&[prepare(3, &[], b"")]);
    let listed = |dead: &[u32], prepared: &[u64], records| {
        let mut checkpoint = journal.checkpoint();
        checkpoint.segments = vec![(1, journal.at().1, records, dead.to_vec())];
        checkpoint.prepared = prepared.to_vec();
        journal.store(Some(&checkpoint))
    };
    check(&listed(&[0, 2], &[3], 5), "a=2");
    assert_eq!(read(&listed(&[0, 2], &[3], 5)).unwrap().prepared.len(), 1);
    check(&listed(&[0, 2, 4], &[], 5), "1=x a=2");
    // Two values of a key, a commit that lives, a prepare record too much, one too few, a wrong number.
    check_damaged(&listed(&[2], &[3], 5), &path(1), BLOCK + 80 + set("a", "1", 0).len());
    check_damaged(&listed(&[0], &[3], 5), &path(1), BLOCK + 80 + 2 * set("a", "1", 0).len());
    check_damaged(&listed(&[0, 2], &[], 5), &path(1), 2 * BLOCK + 80);
    check_damaged(&listed(&[0, 2, 4], &[3], 5), "checkpoint", 0);
    check_damaged(&listed(&[0, 2], &[3], 4), &path(1), 3 * BLOCK);
}

#[test]
fn start_group_with_copies() {
    let mut old = first();
    old.group(&[message(1, 0, b"one"), message(2, 5, b"two")]);
    old.mark();
    let goes_on = old.at();
    let before = old.before;
    // Not claimed: copied. What was open is not.
    old.group(&[message(3, 0, b"three"), message(4, 5, b"four"), set("a", "1", 0)]);
    old.group(&[message(5, 0, b"void")]);
    old.roll(2);
    old.group(&[message(6, 0, b"void, too")]);
    let copies = [message(3, 0, b"three"), set("a", "1", 0)];
    let mut new = Journal::new(2, 4, goes_on, before, &copies);
    new.files.extend(old.files.clone());
    check(&new.store(None), "1=one 3=three a=1");
    new.mark();
    new.group(&[message(7, 0, b"seven"), commit(0, &[1], &[])]);
    let store = new.store(None);
    check(&store, "3=three 7=seven a=1");

    // One more, that goes on from behind the first group of the second.
    let last =
        Journal::new(3, 9, (4, 4096), new.files[&4][76..80].try_into().map(u32::from_le_bytes).unwrap(), &[]);
    let mut third = store.clone();
    third.0.insert(path(9), last.files[&9].clone());
    check(&third, "1=one 3=three a=1");
    // A start group that does not verify never was.
    third.segment(9).truncate(50);
    check(&third, "3=three 7=seven a=1");

    // It claims what it goes on from.
    let mut broken = store.clone();
    broken.segment(1)[BLOCK + 90] ^= 1;
    check_damaged(&broken, &path(1), BLOCK);
    let mut cut = store.clone();
    cut.segment(1).truncate(2 * BLOCK);
    check_damaged(&cut, &path(1), 2 * BLOCK);
    // It must follow the group that is there.
    let mut wrong = store.clone();
    wrong.0.insert(path(4), Journal::new(2, 4, goes_on, before ^ 1, &copies).files[&4].clone());
    check_damaged(&wrong, &path(4), 0);
    // It must not go on from before the checkpoint, nor from itself.
    let mut early = new.store(Some(&old.checkpoint()));
    check_damaged(&early, &path(4), 0);
    early.0.insert("checkpoint".to_owned(), writer::new_checkpoint());
    early.0.insert(path(4), Journal::new(2, 4, (4, 0), before, &copies).files[&4].clone());
    check_damaged(&early, &path(4), 0);
}

#[test]
fn a_piece_that_rolls_before_its_limit() {
    let mut old = first();
    old.group(&[message(1, 0, b"one")]);
    old.roll(3);
    old.group(&[message(2, 0, b"two")]);
    let (goes_on, before) = (old.at(), old.before);
    let mut new = Journal::new(2, 5, goes_on, before, &[]);
    new.files.extend(old.files);
    let store = new.store(None);
    check(&store, "1=one 2=two");
    let mut broken = store.clone();
    broken.segment(3)[100] ^= 1;
    check_damaged(&broken, &path(3), 0);
    let mut missing = store;
    missing.0.remove(&path(3));
    check_damaged(&missing, &path(1), 3 * BLOCK);
}

#[test]
fn torn_tail() {
    let mut journal = first();
    journal.group(&[message(1, 0, b"one")]);
    let whole = journal.store(None);
    journal.group(&[message(2, 0, &[b'2'; 6000])]);
    let store = journal.store(None);
    let length = store.0[&path(1)].len();
    assert_eq!(length, 4 * BLOCK);
    for cut in (2 * BLOCK..length).filter(|cut| cut % 13 == 0 || cut % BLOCK < 90) {
        let mut torn = store.clone();
        torn.segment(1).truncate(cut);
        let written = cut >= 2 * BLOCK + 80 + message(2, 0, &[0; 6000]).len();
        let wanted = if written { &store } else { &whole };
        assert_eq!(read(&torn), read(wanted), "cut at {cut}");
    }
    // A part of it is missing, and something valid may lie behind: a group of the same start that claims no more.
    let mut hole = store.clone();
    hole.segment(1)[3 * BLOCK..].fill(0);
    let claim = journal.claim;
    journal.group(&[message(3, 0, b"three")]);
    assert_eq!(claim, (1, 8192));
    let file = journal.files[&1].clone();
    hole.segment(1).extend(&file[4 * BLOCK..]);
    check(&hole, "1=one");
    // Space that is reserved and not written.
    let mut reserved = store;
    reserved.segment(1).resize(20 * BLOCK + 17, 0);
    assert_eq!(read(&reserved).unwrap().messages.len(), 2);
}

#[test]
fn a_claim_makes_damage() {
    let mut journal = first();
    let at = journal.group(&[message(1, 0, b"one")]);
    assert_eq!(at, (1, 4096));
    journal.mark();
    let mut store = journal.store(None);
    store.segment(1)[BLOCK + 100] ^= 1;
    check_damaged(&store, &path(1), BLOCK);

    // Also from another segment, and also when the last group of the one before is cut away.
    journal.roll(2);
    journal.group(&[message(2, 0, b"two")]);
    let store = journal.store(None);
    check(&store, "1=one 2=two");
    for cut in 0..3 * BLOCK {
        let mut cut_off = store.clone();
        cut_off.segment(1).truncate(cut);
        if cut < 80 {
            // The header of the start is gone, but that of the second segment names it, too.
            check_damaged(&cut_off, &path(0), 0);
        } else if cut < BLOCK + 80 + message(1, 0, b"one").len() {
            check_damaged(&cut_off, &path(1), BLOCK);
        }
    }
}

/// All of what a store consists of.
fn small_store() -> Directory {
    let mut old = first();
    old.group(&[message(1, 0, b"one"), set("a", "1", 0), message(2, 5, b"two"), set("b", "1", 5)]);
    old.group(&[message(3, 0, b"three"), commit(0, &[], &[set("c", "1", 0), set("d", "1", 0)])]);
    old.roll(2);
    old.group(&[prepare(5, &[1], b"note"), message_in_file(4, 0, b"four", 77, b" and more")]);
    let mut checkpoint = old.checkpoint();
    checkpoint.segments = vec![(1, 16384, 8, vec![5]), (2, 4096, 2, vec![])];
    checkpoint.prepared = vec![5];
    old.group(&[set("a", "2", 0), message(5, 0, b"five")]);
    old.mark();
    let mut new = Journal::new(2, 4, old.at(), old.before, &[message(6, 0, b"six")]);
    new.files.extend(old.files);
    new.group(&[commit(0, &[3], &[remove("d", 0)])]);
    new.roll(5);
    new.group(&[message(7, 0, b"seven")]);
    new.mark();
    let mut store = new.store(Some(&checkpoint));
    store.0.insert("bodies/77".to_owned(), b" and more".to_vec());
    store
}

/// A byte of padding is like any other: of a long row of zeros one in sixty-four is enough.
fn worth_a_flip(bytes: &[u8], at: usize) -> bool {
    at.is_multiple_of(16)
        || bytes[at.saturating_sub(8)..bytes.len().min(at + 8)].iter().any(|byte| *byte != 0)
}

#[test]
fn one_flipped_bit() {
    let store = small_store();
    check(&store, "1=one 4=four and more 5=five 6=six 7=seven a=2 c=1");
    let whole = read(&store).unwrap();
    assert_eq!(whole.prepared[&5].changes, [(b"b".to_vec(), Some(b"1".to_vec()))]);
    let (mut refused, mut less) = (0, Vec::new());
    for (path, bytes) in &store.0 {
        let mut flipped = store.clone();
        for at in (0..bytes.len()).filter(|at| worth_a_flip(bytes, *at)) {
            for bit in 0..8 {
                flipped.0.get_mut(path).unwrap()[at] ^= 1 << bit;
                match read(&flipped) {
                    Err(_) => refused += 1,
                    Ok(held) if held == whole => {}
                    Ok(held) => less.push((path.clone(), at, bit, short(&held))),
                }
                flipped.0.get_mut(path).unwrap()[at] ^= 1 << bit;
            }
        }
    }
    assert!(refused > 5000, "{refused}");
    // Here every group is claimed, and each start known from more than one place: nothing is told as less.
    assert_eq!(less, []);
}

#[test]
fn one_file_cut_or_gone() {
    let store = small_store();
    let whole = read(&store).unwrap();
    for (path, bytes) in store.0.iter().filter(|(path, _)| *path != "lock") {
        // The newest segment may be cut or gone: nothing else claims what it held.
        let may_be_less = *path == writer::path(5);
        let check_cut = |cut: Option<usize>| {
            let mut changed = store.clone();
            match cut {
                Some(cut) => changed.0.get_mut(path).unwrap().truncate(cut),
                None => drop(changed.0.remove(path)),
            }
            match read(&changed) {
                Err(_) => {}
                Ok(held) if may_be_less => assert!(held.messages.len() >= whole.messages.len() - 1),
                Ok(held) => assert_eq!(held, whole, "{path} cut at {cut:?}"),
            }
        };
        check_cut(None);
        let cuts = (0..bytes.len()).filter(|at| worth_a_flip(bytes, *at));
        cuts.for_each(|cut| check_cut(Some(cut)));
    }
}

#[test]
fn the_last_group_while_nothing_claims_it() {
    let mut journal = first();
    journal.group(&[message(1, 0, b"one")]);
    journal.group(&[message(2, 0, b"two")]);
    let mut store = journal.store(None);
    store.segment(1)[2 * BLOCK + 100] ^= 1;
    check(&store, "1=one");
    // Nor what claims it, if that goes, too.
    journal.roll(2);
    journal.group(&[message(3, 0, b"three")]);
    let mut store = journal.store(None);
    check(&store, "1=one 2=two 3=three");
    store.0.remove(&path(2));
    check(&store, "1=one 2=two");
    store.segment(1).truncate(2 * BLOCK);
    check(&store, "1=one");
}

/// As the document stands, this is read as a shorter journal, whatever marks claim: a start that no checkpoint and no
/// second segment names is known from one header alone. So nothing may count on a start before its first checkpoint.
#[test]
fn the_only_header_that_names_a_start() {
    let mut journal = first();
    journal.group(&[message(1, 0, b"one")]);
    journal.mark();
    let mut store = journal.store(None);
    check(&store, "1=one");
    store.segment(1)[75] ^= 1;
    check(&store, "");
    // With a checkpoint of that start it is damage.
    let checkpoint = Checkpoint { position: (0, 0), before: 0, ..journal.checkpoint() };
    store.0.insert("checkpoint".to_owned(), checkpoint.file());
    check_damaged(&store, &path(0), 0);
}

#[test]
fn recycled_file_with_old_groups_behind() {
    // Segment 1 is written again as segment 3: its old groups and its old footer still lie behind.
    let mut journal = first();
    journal.group(&[message(1, 0, b"one")]);
    journal.group(&[message(2, 0, b"two")]);
    journal.roll(2);
    journal.group(&[set("a", "1", 0)]);
    let mut checkpoint = journal.checkpoint();
    checkpoint.segments = vec![(2, journal.at().1, 1, vec![])];
    let mut old = journal.files.remove(&1).unwrap();
    journal.roll(3);
    let untouched = {
        let mut store = journal.store(Some(&checkpoint));
        store.0.insert(path(3), old.clone());
        store
    };
    check(&untouched, "a=1");
    journal.group(&[message(3, 0, b"three")]);
    let new = &journal.files[&3];
    old[..new.len()].copy_from_slice(new);
    let mut store = journal.store(Some(&checkpoint));
    store.0.insert(path(3), old);
    check(&store, "3=three a=1");
    // The same when it is listed: the old footer is that of another segment.
    let mut checkpoint = journal.checkpoint();
    checkpoint.segments = vec![(3, journal.at().1, 1, vec![])];
    store.0.insert("checkpoint".to_owned(), checkpoint.file());
    check(&store, "3=three");
    // Others that are not read.
    store.0.insert("journal/spare-1".to_owned(), b"anything".to_vec());
    store.0.insert("journal/reserve".to_owned(), b"anything".to_vec());
    store.0.insert("journal/4.seg".to_owned(), b"anything".to_vec());
    check(&store, "3=three");
}

#[test]
fn moved_records() {
    let mut journal = first();
    let originals = [message(1, 0, b"one"), set("a", "1", 0), set("b", "1", 6), prepare(6, &[1], b"")];
    journal.group(&originals);
    let places = [0, 1, 2, 3].map(|number: u32| [1, 4096, number]);
    journal.roll(2);
    let copies: Vec<_> = places.into_iter().zip(originals).collect();
    journal.group(&[message(2, 0, b"two"), moved(&copies)]);
    let end = journal.at().1;
    journal.group(&[commit(0, &[1], &[])]);
    // Behind the checkpoint they change nothing.
    let store = journal.store(None);
    check(&store, "2=two a=1");
    assert_eq!(read(&store).unwrap().prepared[&6].changes.len(), 1);
    // Before it the copies are in the list, and the segment of the originals is not.
    let mut checkpoint = Checkpoint { position: (2, end), before: 0, ..journal.checkpoint() };
    checkpoint.before = u32::from_le_bytes(journal.files[&2][76..80].try_into().unwrap());
    checkpoint.segments = vec![(2, end, 6, vec![1])];
    checkpoint.prepared = vec![6];
    let mut store = journal.store(Some(&checkpoint));
    store.0.remove(&path(1));
    check(&store, "2=two a=1");
    assert_eq!(read(&store).unwrap().prepared[&6].changes.len(), 1);
    // With a footer just the same.
    let mut sealed = journal.clone();
    sealed.roll(3);
    let mut store = sealed.store(Some(&checkpoint));
    store.0.remove(&path(1));
    check(&store, "2=two a=1");
    // What died at its old place is dead in the copy.
    checkpoint.segments = vec![(2, end, 6, vec![1, 3])];
    check(&journal.store(Some(&checkpoint)), "2=two");
}

#[test]
fn body_in_a_file() {
    let mut journal = first();
    let end = b"the end";
    journal.group(&[
        message_in_file(1, 0, b"begin, ", 5, end),
        message_in_file(2, 0, b"", 5, end),
        message_in_file(3, 0, b"gone", 6, end),
        commit(0, &[3], &[]),
        message_in_file(4, 9, b"open", 7, end),
        message_in_file(5, 8, b"prepared, ", 5, end),
        prepare(8, &[], b""),
    ]);
    let mut store = journal.store(None);
    check_damaged(&store, "bodies/5", 0);
    store.0.insert("bodies/5".to_owned(), end.to_vec());
    check(&store, "1=begin, the end 2=the end");
    assert_eq!(read(&store).unwrap().prepared[&8].messages, [expected(5, b"prepared, the end")].into());
    store.0.insert("bodies/5".to_owned(), b"the END".to_vec());
    check_damaged(&store, "bodies/5", 0);
    store.0.insert("bodies/5".to_owned(), b"the end.".to_vec());
    check_damaged(&store, "bodies/5", 0);
}

#[test]
fn checkpoint_copies() {
    let mut journal = first();
    journal.group(&[message(1, 0, b"one")]);
    let good = writer::new_checkpoint();
    let half = good.len() / 2;
    let check_file = |file: Vec<u8>, wanted: Option<&str>| {
        let mut store = journal.store(None);
        store.0.insert("checkpoint".to_owned(), file);
        match wanted {
            Some(wanted) => check(&store, wanted),
            None => check_damaged(&store, "checkpoint", 0),
        }
    };
    let changed = |places: &[usize]| {
        let mut file = good.clone();
        for place in places {
            file[*place] ^= 1;
        }
        file
    };
    check_file(changed(&[20]), Some("1=one"));
    check_file(changed(&[half + 20]), Some("1=one"));
    check_file(changed(&[20, half + 20]), None);
    check_file(changed(&[half - 1]), Some("1=one"));
    let other = journal.checkpoint().file();
    check_file([&good[..half], &other[half..]].concat(), None);
    for length in 0..2 * (16 + 52) {
        check_file(good[..length].to_vec(), None);
    }
}

#[test]
fn records_that_are_nonsense_do_not_panic() {
    // A group that verifies, with a record whose own checksum is right, cut and bent in every way.
    let samples = [
        message(1, 0, b"body"),
        message_in_file(1, 0, b"", 1, b""),
        set("key", "value", 0),
        commit(3, &[1, 2], &[set("a", "b", 0), remove("c", 0)]),
        prepare(3, &[1], b"note"),
        moved(&[([1, 0, 0], message(1, 0, b"")), ([1, 0, 1], set("a", "b", 0))]),
    ];
    for sample in samples {
        for at in 0..sample.len() {
            for value in [0, 1, 6, 7, 0x7F, 0xFF] {
                let mut record = sample.clone();
                record[at] = value;
                check_any(&record);
                let sum = raw::crc32(&record[8..]);
                record[4..8].copy_from_slice(&sum.to_le_bytes());
                check_any(&record);
            }
            check_any(&sample[..at]);
        }
    }
}

fn check_any(record: &[u8]) {
    let _ = super::records::all(record, u32::MAX - 50);
    if let Ok(record) = super::records::one(record, 4096) {
        let mut state = super::State::default();
        let _ = state.apply(record);
    }
}

#[test]
fn records_within_records_end() {
    let mut record = moved(&[]);
    for _ in 0..2000 {
        record = moved(&[([0; 3], record)]);
    }
    assert!(super::records::one(&record, 0).is_err());
}
