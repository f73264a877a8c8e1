//! `salvage` saves just the rest, and says what is missing.

use super::super::segment::path_of;
use super::super::{SalvageReport, backup, check, restore, salvage};
use super::*;

fn sample() -> Rig {
    let mut rig = Rig::new();
    rig.work();
    rig.put_long();
    rig.checkpoint();
    rig.work();
    rig
}

/// Salvages, and gives the report with what the new store holds.
fn saved(rig: &Rig) -> (SalvageReport, Holds) {
    let to = rig.path("saved");
    let report = salvage(&rig.data(), &to).unwrap();
    let holds = holds(&to).unwrap();
    let (_journal, _, recovered) = open(&to).unwrap();
    assert!(recovered.restored);
    let all = holds.messages.len() + holds.prepared.iter().map(|p| p.1.len()).sum::<usize>();
    assert_eq!(report.saved.len(), all);
    let list = std::fs::read_to_string(to.join("salvage.json")).unwrap();
    assert!(list.contains("\"saved\": [") && list.contains("\"doubtful\": ["));
    (report, holds)
}

/// The same but for the ids.
fn same(a: &Holds, b: &Holds) -> bool {
    (&a.keyed, &a.messages, &a.prepared) == (&b.keyed, &b.messages, &b.prepared)
}

#[test]
fn of_a_whole_store_everything_is_saved_under_new_ids() {
    let mut rig = sample();
    rig.kill();
    let expected = holds(&rig.data()).unwrap();
    let (report, found) = saved(&rig);
    assert!(same(&found, &expected));
    assert!(report.lost.is_empty() && report.doubtful.is_empty(), "{report:?}");
    assert!(found.ids.iter().min() > expected.ids.iter().max());
    assert!(!rig.path("saved.unfinished").exists());
}

#[test]
fn without_a_checkpoint_nothing_is_lost() {
    let mut rig = sample();
    rig.kill();
    let expected = holds(&rig.data()).unwrap();
    std::fs::remove_file(rig.data().join("checkpoint")).unwrap();
    let (report, found) = saved(&rig);
    assert!(same(&found, &expected));
    assert!(report.lost.is_empty() && report.doubtful.is_empty(), "{report:?}");
    assert!(report.notes[0].contains("checkpoint"));
}

#[test]
fn of_a_missing_segment_the_rest_is_saved() {
    let mut rig = sample();
    rig.close();
    let expected = holds(&rig.data()).unwrap();
    let number = rig.victim().place.segment;
    std::fs::remove_file(rig.data().join(path_of(number))).unwrap();
    let (report, found) = saved(&rig);
    let mut rest = expected.messages.clone();
    let gone: Vec<u64> = rig.live.iter().filter(|s| s.place.segment == number).map(|s| s.order).collect();
    assert!(gone.len() > 3);
    rest.retain(|order, _| !gone.contains(order));
    assert_eq!(found.messages, rest);
    assert_eq!((report.lost.len(), report.doubtful.len()), (1, 0), "{:?}", report.lost);
    assert!(report.lost[0].what.contains("missing"));
}

#[test]
fn of_a_destroyed_middle_the_rest_is_saved_and_the_lost_are_named() {
    for footer in [true, false] {
        let mut rig = sample();
        rig.close();
        let expected = holds(&rig.data()).unwrap();
        let number = rig.victim().place.segment;
        let path = rig.data().join(path_of(number));
        let original = std::fs::read(&path).unwrap();
        let mut bytes = original.clone();
        let destroyed = 20_000..45_000;
        bytes[destroyed.clone()].fill(0xa5);
        if !footer {
            let end = bytes.len();
            bytes[end - 10] ^= 1;
        }
        std::fs::write(&path, &bytes).unwrap();
        let (report, found) = saved(&rig);
        let lost: Vec<u64> =
            expected.messages.keys().filter(|o| !found.messages.contains_key(o)).copied().collect();
        assert!(lost.len() > 1);
        assert!(found.messages.iter().all(|(order, content)| expected.messages.get(order) == Some(content)));
        assert_eq!(found.prepared, expected.prepared);
        // Where the footer says where the records are, just those that were touched are lost.
        let touched = |s: &Stored| {
            let begin = s.place.offset as usize;
            let length = u32::from_le_bytes(rig_record(&original, begin)) as usize;
            s.place.segment == number && begin < destroyed.end && begin + length > destroyed.start
        };
        let gone: Vec<u64> =
            rig.live.iter().filter(|s| s.place.segment == number && touched(s)).map(|s| s.order).collect();
        assert!(gone.iter().all(|order| lost.contains(order)));
        if footer {
            assert_eq!(lost, gone);
            let named: Vec<u64> = report.lost.iter().flat_map(|l| &l.ids).map(|id| id.as_u64()).collect();
            assert_eq!(named, gone);
        }
        assert!(report.doubtful.is_empty(), "the checkpoint's list says what lives");
    }
}

/// The length of the record that begins there.
fn rig_record(segment: &[u8], at: usize) -> [u8; 4] {
    segment[at..at + 4].try_into().unwrap()
}

#[test]
fn what_may_have_ended_is_saved_as_doubtful() {
    let mut rig = sample();
    // Behind the checkpoint: a message is put, then ended; the end is destroyed.
    rig.put(2);
    let [kept, ended] = [rig.live[rig.live.len() - 2], rig.live[rig.live.len() - 1]];
    let key = rig.turn(|batch| {
        let mut commit = Commit::default();
        commit.kill(ended.id, ended.place);
        commit.set("last", "with the end");
        batch.commit(commit);
        batch.ops().len()
    });
    assert_eq!(key, 1);
    rig.put(1);
    rig.kill();
    let expected = holds(&rig.data()).unwrap();
    let needle = b"with the end";
    let find = |path: &PathBuf| {
        let bytes = std::fs::read(path).unwrap();
        bytes.windows(needle.len()).position(|window| window == needle)
    };
    let (path, at) = segments(&rig.data()).iter().find_map(|path| Some((path.clone(), find(path)?))).unwrap();
    flip(&path, at);
    assert!(holds(&rig.data()).is_err(), "a start stops at it");
    let (report, found) = saved(&rig);
    assert_eq!(report.lost.len(), 1, "{:?}", report.lost);
    assert!(found.messages.contains_key(&ended.order) && !expected.messages.contains_key(&ended.order));
    let doubtful: Vec<u64> = report.doubtful.iter().map(|doubt| doubt.id.as_u64()).collect();
    assert!(doubtful.contains(&ended.id.as_u64()) && doubtful.contains(&kept.id.as_u64()));
    let last = rig.live.last().unwrap();
    assert!(!doubtful.contains(&last.id.as_u64()), "it was put behind what is lost");
    // Nobody knows whether the units that were open were committed in between.
    let undecided = report.doubtful.iter().filter(|doubt| doubt.why.contains("never committed")).count();
    let mut rest = found.messages;
    rest.remove(&ended.order);
    rest.retain(|order, content| undecided == 0 || expected.messages.get(order) == Some(content));
    assert_eq!(rest, expected.messages);
    assert_eq!(found.ids.len(), expected.ids.len() + 1 + undecided);
}

#[test]
fn a_body_that_looks_like_a_record_is_none() {
    let mut rig = Rig::new();
    rig.put(3);
    // A message whose body is the image of a record, with a key that nobody set.
    let mut image = Vec::new();
    crate::format::record::write_keyed(&mut image, None, &set("forged", "value"));
    let body = Bytes::from(image.repeat(20));
    let stored = rig.turn(|batch| {
        let stored = batch.message(NewMessage { body, ..message(90, None) });
        batch.message(message(91, None));
        stored
    });
    rig.put(3);
    rig.checkpoint();
    rig.kill();
    let path = rig.data().join(path_of(stored.place.segment));
    // Its length too, so that its end has to be found.
    let offset = stored.place.offset as usize;
    flip(&path, offset);
    flip(&path, offset + 1);
    let (report, found) = saved(&rig);
    assert!(found.keyed.is_empty());
    assert_eq!(report.lost.len(), 1);
    // The record behind it is found, for it makes the number of records right.
    let orders: Vec<u64> = found.messages.keys().copied().collect();
    assert!(!orders.contains(&stored.order));
    assert_eq!(orders.len(), 7);
}

#[test]
fn what_was_moved_is_where_it_lies_now() {
    let mut rig = Rig::new();
    rig.work();
    rig.churn();
    rig.put(3);
    rig.kill();
    let expected = holds(&rig.data()).unwrap();
    assert_eq!(check(&rig.data()).unwrap().findings, []);
    let to = rig.path("backup");
    backup(&rig.data(), &to, false, 1).unwrap();
    restore(&to, &rig.path("again")).unwrap();
    assert_eq!(holds(&rig.path("again")).unwrap(), expected);
    let (report, found) = saved(&rig);
    assert!(same(&found, &expected));
    assert!(report.lost.is_empty() && report.doubtful.is_empty(), "{report:?}");
    whatever_was_dropped(&rig, &expected);
}

/// Without the list everything is there too, but what was ended in segments that are gone may be back; then it is said.
fn without_a_list(rig: &Rig, expected: &Holds) {
    let _ = std::fs::remove_dir_all(rig.path("saved"));
    let _ = std::fs::remove_file(rig.data().join("checkpoint"));
    let (report, found) = saved(rig);
    let doubtful: Vec<u64> = report.doubtful.iter().map(|doubt| doubt.id.as_u64()).collect();
    for (order, content) in &expected.messages {
        let held = found.messages.get(order);
        // A unit that was decided since may be saved as one that is still prepared: whoever owns it decides again.
        let held = held.or_else(|| found.prepared.iter().find_map(|unit| unit.1.get(order)));
        assert_eq!(held, Some(content), "message {order} is left out");
        assert!(found.messages.contains_key(order) || doubtful.contains(order), "{order} is not told");
    }
    for (order, _) in found.messages.iter().filter(|(order, _)| !expected.messages.contains_key(order)) {
        assert!(doubtful.contains(order), "message {order} is back, and nobody is told");
    }
    for pair in &expected.keyed {
        let changes = || found.prepared.iter().flat_map(|unit| &unit.2);
        let perhaps = changes().any(|change| change.key == pair.0 && change.value.as_ref() == Some(&pair.1));
        let key = String::from_utf8_lossy(&pair.0);
        assert!(found.keyed.contains(pair) || perhaps, "{key:?} is left out or older");
    }
    for unit in &expected.prepared {
        assert!(found.prepared.contains(unit), "{unit:?}");
    }
    for unit in found.prepared.iter().filter(|unit| !expected.prepared.contains(unit)) {
        assert!(unit.1.keys().all(|order| doubtful.contains(order)), "{unit:?}");
    }
    assert!(report.lost.is_empty(), "{:?}", report.lost);
}

/// The segments of which nothing lives: a running store may have dropped each of them, and no others.
fn droppable(rig: &Rig) -> Vec<PathBuf> {
    let source = super::super::source::Source::new(&rig.data()).unwrap();
    let survey = super::super::survey::survey(&source, Default::default()).unwrap();
    let live: std::collections::HashSet<u32> = survey.contents.places().into_keys().collect();
    let newest = *survey.parts.keys().last().unwrap();
    let dead = survey.parts.keys().filter(|number| **number < newest && !live.contains(number));
    dead.map(|number| rig.data().join(path_of(*number))).collect()
}

/// Salvages without the list, whichever of these segments are gone. Gives how many there are.
fn whatever_was_dropped(rig: &Rig, expected: &Holds) -> usize {
    let mut files: Vec<(PathBuf, Vec<u8>)> =
        droppable(rig).into_iter().map(|path| (path.clone(), std::fs::read(path).unwrap())).collect();
    // Each one more makes it twice as long.
    files.truncate(5);
    for dropped in 0..1_u32 << files.len() {
        for (number, (path, bytes)) in files.iter().enumerate() {
            if dropped & 1 << number == 0 {
                std::fs::write(path, bytes).unwrap();
            } else {
                std::fs::remove_file(path).unwrap();
            }
        }
        without_a_list(rig, expected);
        for (path, bytes) in &files {
            std::fs::write(path, bytes).unwrap();
        }
    }
    files.len()
}

#[test]
fn without_a_list_whatever_was_dropped() {
    let mut rig = Rig::new();
    rig.work();
    // Units that end in other segments than they begin in, one way or the other, and one at a later start.
    let begin = |rig: &mut Rig, name: &str, prepared: bool| {
        let n = rig.count;
        rig.count += 1;
        rig.turn(|batch| {
            let unit = batch.new_unit();
            let stored = batch.message(message(n, Some(unit)));
            batch.keyed(Some(unit), set(name, "of a unit"));
            if prepared {
                let note = Bytes::copy_from_slice(name.as_bytes());
                batch.prepare(Prepare { unit, kills: Vec::new(), note });
            }
            (unit, stored)
        })
    };
    let end = |rig: &mut Rig, (unit, stored): (UnitId, Stored), commits: bool| {
        rig.turn(|batch| match commits {
            true => batch.commit(Commit { unit: Some(unit), ..Commit::default() }),
            false => batch.back_out(unit, vec![Kill { id: stored.id, place: stored.place }]),
        });
    };
    // What fills segments and is dead soon.
    let fill = |rig: &mut Rig| {
        for _ in 0..3 {
            rig.put(20);
            let from = rig.live.len() - 20;
            let killed: Vec<Stored> = rig.live.drain(from..).collect();
            rig.turn(|batch| {
                let mut commit = Commit::default();
                killed.iter().for_each(|stored| commit.kill(stored.id, stored.place));
                commit.set("filled", "again");
                batch.commit(commit);
            });
        }
    };
    let committed = begin(&mut rig, "committed", false);
    let backed_out = begin(&mut rig, "backed out", false);
    begin(&mut rig, "cut off", false);
    begin(&mut rig, "in doubt", true);
    let later = begin(&mut rig, "prepared", true);
    fill(&mut rig);
    end(&mut rig, committed, true);
    end(&mut rig, backed_out, false);
    fill(&mut rig);
    rig.put(2);
    rig.kill();
    rig.open();
    fill(&mut rig);
    end(&mut rig, later, true);
    fill(&mut rig);
    rig.put(2);
    rig.kill();
    let expected = holds(&rig.data()).unwrap();
    assert!(whatever_was_dropped(&rig, &expected) > 3);
}

#[test]
fn an_empty_store_is_saved_too() {
    let mut rig = Rig::new();
    rig.close();
    let (report, found) = saved(&rig);
    assert!(found.messages.is_empty() && report.lost.is_empty(), "{report:?}");
}

#[test]
fn one_that_is_cut_off_is_no_store() {
    let rig = Rig::new();
    let part = rig.path("to.unfinished");
    let mut store = super::super::rebuild::Rebuild::new(&part, 3).unwrap();
    for n in 0..3 {
        store.message(message(n, None)).unwrap();
    }
    // Everything is there but the last steps.
    store.finish().unwrap();
    assert!(open(&part).unwrap_err().to_string().contains("version"));
    let found = check(&part).unwrap();
    assert!(found.is_damaged() && found.findings[0].what.contains("cut off"), "{found:?}");
}

#[test]
fn what_is_in_the_way_is_not_touched() {
    let mut rig = sample();
    assert!(matches!(salvage(&rig.data(), &rig.path("to")), Err(StoreError::InUse { .. })));
    rig.close();
    let full = rig.path("full");
    std::fs::create_dir(&full).unwrap();
    std::fs::write(full.join("x"), "x").unwrap();
    assert!(salvage(&rig.data(), &full).unwrap_err().to_string().contains("not empty"));
    std::fs::create_dir(rig.path("to.unfinished")).unwrap();
    assert!(salvage(&rig.data(), &rig.path("to")).unwrap_err().to_string().contains("cut off"));
}
