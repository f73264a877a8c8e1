//! Compaction moves messages while they wait, are in doubt, or belong to a unit that is not real yet: their ends name
//! the newest place. (The disk checks the place of every kill.)

use store::{Commit, Id, Moved, OwnerId, Place};

use super::pair::{Decide, Pair, message, name};
use super::to_device::until_get;
use crate::area::Counter;

fn places(pair: &Pair) -> Vec<Place> {
    pair.area.messages(&name(0)).unwrap().map(|view| view.place).collect()
}

#[test]
fn what_waits_and_what_is_in_doubt_is_moved() {
    let mut pair = Pair::with(|settings| settings.limits.window_messages_max = 2);
    for number in 0..6 {
        pair.give(number, (number % 2) as u8);
    }
    pair.devices[0].decide = Decide::Hold;
    until_get(&mut pair);
    pair.sync_all();
    let view = pair.view();
    assert!(view.in_doubt > 0 && view.waiting > 0, "{view:?}");
    let before = places(&pair);
    pair.compact(|_| true);
    let after = places(&pair);
    assert!(before.iter().zip(&after).all(|(before, after)| before != after), "{before:?} {after:?}");
    pair.devices[0].decide = Decide::Store;
    pair.decide_held(0);
    pair.act(0);
    pair.settle();
    assert_eq!(pair.view().counters.get(Counter::Delivered), 6);
    assert_eq!(pair.ledger.check(&[], true), []);
}

#[test]
fn what_an_open_unit_holds_is_moved() {
    for commit in [true, false] {
        let mut pair = Pair::new();
        let unit = pair.turn(|area, now, batch, _| {
            let unit = batch.new_unit();
            let mut expired = message(9, 0);
            expired.expiry_ms = Some(1);
            for message in [message(1, 0), expired, message(2, 4), message(3, 0)] {
                area.accept(now, &name(0), &message, unit, batch).unwrap();
            }
            unit
        });
        pair.sync_all();
        pair.compact(|at| at != 1);
        pair.turn(|area, now, batch, out| {
            if commit {
                let mut commit = Commit { unit: Some(unit), ..Commit::default() };
                area.seal_unit(now, unit, &mut commit);
                batch.commit(commit);
                area.unit_is_real(now, unit, batch, out);
            } else {
                let written = area.unit_dropped(unit);
                assert_eq!(written.len(), 3);
                batch.back_out(unit, written);
            }
        });
        pair.connect(0);
        pair.settle();
        let mut have = pair.have(0);
        have.sort_unstable();
        assert_eq!(have, if commit { vec![1, 2, 3] } else { vec![] });
    }
}

#[test]
fn what_the_area_does_not_know_it_does_not_keep() {
    let mut pair = Pair::new();
    pair.give(1, 0);
    let view = pair.area.messages(&name(0)).unwrap().next().unwrap();
    let from = view.place;
    let to = Place { segment: 9, offset: 9, record: 9 };
    for (id, owner) in
        [(view.id, OwnerId(7)), (view.id, OwnerId(1 << 63 | 77)), (Id::new(77, 7), OwnerId(1 << 63 | 1))]
    {
        assert!(pair.area.moved(&Moved { id, owner, order: id.as_u64(), priority: 0, from, to }));
    }
    assert_eq!(places(&pair), [from]);
}
