//! Records come back as they were written; nothing that was cut or changed passes.

use super::*;
use crate::Kill;

const PLACE: Place = Place { segment: 3, offset: 4176, record: 5 };

fn unit() -> UnitId {
    UnitId(Id::new(2, 9))
}

fn message() -> (Stored, NewMessage) {
    let message = NewMessage {
        unit: Some(unit()),
        owner: OwnerId(77),
        order: None,
        priority: 4,
        persistent: true,
        expiry_ms: 123,
        tags: [1, 2],
        envelope: Bytes::from_static(b"envelope"),
        body: Bytes::from_static(b"the body"),
        file: None,
    };
    (Stored { id: Id::new(2, 10), order: 10, place: PLACE }, message)
}

fn commit() -> Commit {
    let mut commit = Commit { unit: Some(unit()), ..Commit::default() };
    commit.kill(Id::new(1, 1), PLACE);
    commit.kill(Id::new(1, 2), PLACE);
    commit.set("key", "value");
    commit.remove("gone");
    commit
}

fn prepare() -> Prepare {
    let kills = vec![Kill { id: Id::new(1, 3), place: PLACE }];
    Prepare { unit: unit(), kills, note: Bytes::from_static(b"xid") }
}

fn all_samples() -> Vec<(Vec<u8>, u64)> {
    let write = |f: &dyn Fn(&mut Vec<u8>)| {
        let mut out = Vec::new();
        f(&mut out);
        out
    };
    let (stored, message) = message();
    let set = KeyedChange { key: b"k".to_vec(), value: Some(Bytes::from_static(b"v")) };
    vec![
        (write(&|out| write_message(out, &stored, &message)), message_length(&message)),
        (write(&|out| write_keyed(out, Some(unit()), &set)), keyed_length(&set)),
        (write(&|out| write_commit(out, &commit())), commit_length(&commit())),
        (write(&|out| write_back_out(out, unit())), SHORT_HEAD),
        (write(&|out| write_prepare(out, &prepare())), prepare_length(&prepare())),
    ]
}

#[test]
fn every_record_has_the_length_that_was_laid_out_for_it() {
    for (bytes, length) in all_samples() {
        assert_eq!(bytes.len() as u64, length);
        assert_eq!(split(&bytes), Some(bytes.as_slice()));
        assert!(parse(&bytes, PLACE).is_some());
    }
}

#[test]
fn every_truncation_and_every_flipped_bit_is_seen() {
    for (bytes, _) in all_samples() {
        for length in 0..bytes.len() {
            assert_eq!(split(&bytes[..length]), None);
        }
        for bit in 0..bytes.len() * 8 {
            let mut bad = bytes.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(split(&bad), None, "bit {bit}");
        }
    }
}

#[test]
fn a_record_with_a_good_checksum_and_impossible_numbers_does_not_panic() {
    for (bytes, _) in all_samples() {
        for at in CHECKED_FROM..bytes.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut bad = bytes.clone();
                bad[at] = value;
                end(&mut bad, 0);
                let _ = parse(&bad, PLACE);
                let mut lines = Vec::new();
                if head(&bad).is_some() {
                    write_lines(&mut lines, 0, &bad);
                }
            }
        }
    }
}

#[test]
fn a_commit_names_its_kills_and_each_change_has_a_place_of_its_own() {
    let commit = commit();
    let mut bytes = Vec::new();
    write_commit(&mut bytes, &commit);
    let Some(Parsed::Commit { unit: found, kills, changes }) = parse(&bytes, PLACE) else { panic!() };
    assert_eq!((found, kills), (Some(unit()), vec![Id::new(1, 1), Id::new(1, 2)]));
    let places: Vec<Place> = change_places(&commit, PLACE).collect();
    assert_eq!(changes.iter().map(|c| c.1).collect::<Vec<_>>(), places);
    for ((change, place), expected) in changes.iter().zip(&commit.changes) {
        assert_eq!(change, expected);
        let at = (place.offset - PLACE.offset) as usize;
        let record = split(&bytes[at..]).unwrap();
        assert_eq!(parse(record, *place), Some(Parsed::Keyed(None, expected.clone())));
    }
}

#[test]
fn the_lines_of_a_footer_say_what_the_heads_say() {
    let mut lines = Vec::new();
    let mut count = 0;
    for (bytes, _) in all_samples() {
        count += write_lines(&mut lines, PLACE.offset, &bytes);
    }
    assert_eq!(count, 7);
    let mut cursor = Cursor::new(&lines);
    let heads: Vec<_> = (0..count).map(|_| Head::read_line(&mut cursor).unwrap()).collect();
    assert_eq!(cursor.remaining(), 0);
    let (stored, message) = message();
    let entry = heads[0].1.recovered(PLACE).unwrap();
    assert_eq!((entry.id, entry.owner, entry.tags), (stored.id, message.owner, message.tags));
    assert_eq!((entry.envelope_length, entry.body_length), (8, 8));
    assert_eq!(heads[0].1.unit, Some(unit()));
    let kinds: Vec<Kind> = heads.iter().map(|h| h.1.kind).collect();
    use Kind::{BackOut, Keyed, Message, Prepare};
    assert_eq!(kinds, [Message, Keyed, Kind::Commit, Keyed, Keyed, BackOut, Prepare]);
}
