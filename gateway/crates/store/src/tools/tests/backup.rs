//! Backup and restore: all there, or clearly refused.

use super::super::manifest::{self, Manifest};
use super::super::restore::write;
use super::super::snapshot::Snapshot;
use super::super::{backup, check, restore, stat};
use super::*;
use crate::files::sim::SimFiles;

fn restored(rig: &Rig, from: &Path, name: &str) -> Result<Holds, StoreError> {
    let to = rig.path(name);
    restore(from, &to)?;
    holds(&to)
}

#[test]
fn of_a_stopped_store_everything_comes_back() {
    for killed in [false, true] {
        let mut rig = Rig::new();
        rig.work();
        rig.put_long();
        rig.checkpoint();
        rig.work();
        rig.end(killed);
        let expected = holds(&rig.data()).unwrap();
        let to = rig.path("backup");
        let report = backup(&rig.data(), &to, false, 1_000).unwrap();
        assert_eq!((report.time_ms, report.files_kept), (1_000, 0));
        assert_eq!(restored(&rig, &to, "again").unwrap(), expected);
        let (_journal, _, recovered) = open(&rig.path("again")).unwrap();
        assert!(recovered.restored, "the first start must take a new identity");
        // A backup is whole, and says when it was made.
        assert_eq!(check(&to).unwrap().findings, []);
        let stat = stat(&to).unwrap();
        assert_eq!((stat.backup_ms, stat.keys), (Some(1_000), expected.keyed.len() as u64));
    }
}

fn snapshot(rig: &mut Rig) -> Snapshot {
    let ticket = rig.journal.as_mut().unwrap().snapshot();
    let data = rig.data();
    let waiting = std::thread::spawn(move || Snapshot::of(ticket, &data, 5));
    rig.maintain_until("the point", |_| waiting.is_finished());
    waiting.join().unwrap().unwrap()
}

/// What is in the store now.
fn now(rig: &mut Rig) -> Holds {
    rig.kill();
    let holds = holds(&rig.data()).unwrap();
    rig.open();
    holds
}

#[test]
fn of_a_running_store_its_point_comes_back_whatever_follows() {
    let mut rig = Rig::new();
    rig.work();
    rig.put_long();
    let expected = now(&mut rig);
    let snapshot = snapshot(&mut rig);
    // What follows empties the segments that are being copied, and ends the body.
    let dead: Vec<Stored> = rig.live.drain(..).collect();
    rig.turn(|batch| {
        let mut commit = Commit::default();
        dead.iter().for_each(|stored| commit.kill(stored.id, stored.place));
        batch.commit(commit);
    });
    rig.work();
    rig.checkpoint();
    rig.put(1);
    rig.checkpoint();
    let to = rig.path("backup");
    snapshot.copy_to(&to, false).unwrap();
    assert_eq!(restored(&rig, &to, "again").unwrap(), expected);
}

#[test]
fn an_incremental_one_copies_what_is_new() {
    let mut rig = Rig::new();
    rig.work();
    rig.put_long();
    let to = rig.path("backup");
    let first = snapshot(&mut rig).copy_to(&to, true).unwrap();
    assert_eq!((first.files_kept, first.removed), (0, 0));
    rig.put(20);
    let second = snapshot(&mut rig).copy_to(&to, true).unwrap();
    assert!(
        second.files_kept >= 2 && second.bytes_kept > 60_000,
        "a sealed segment and the body: {second:?}"
    );
    assert!(second.removed >= 2, "the old checkpoint, and the segment that was not full: {second:?}");
    let expected = now(&mut rig);
    assert_eq!(restored(&rig, &to, "again").unwrap(), expected);
    // Nothing of the first one stays that the second does not name.
    let list = Manifest::load(&to).unwrap().unwrap();
    let mut named: Vec<_> = list.files.iter().map(|file| to.join(&file.stored)).collect();
    named.push(to.join(manifest::NAME));
    for directory in [to.clone(), to.join("journal"), to.join("bodies")] {
        for entry in std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
            assert!(entry.is_dir() || named.contains(&entry), "{}", entry.display());
        }
    }
}

/// The copy of what a simulated disk holds, as a directory.
fn dump(files: &SimFiles, to: &Path) {
    use crate::files::Files;
    for directory in ["", "journal", "bodies"] {
        std::fs::create_dir_all(to.join(directory)).unwrap();
        for name in files.list(directory).unwrap_or_default() {
            let path = if directory.is_empty() { name } else { format!("{directory}/{name}") };
            if let Some(content) = files.content(&path) {
                std::fs::write(to.join(&path), content).unwrap();
            }
        }
    }
}

#[test]
fn cut_off_anywhere_the_earlier_one_holds_or_the_new_one() {
    let mut rig = Rig::new();
    rig.work();
    let old = now(&mut rig);
    let disk = SimFiles::new(1);
    snapshot(&mut rig).copy_into(&disk, None).unwrap();
    rig.work();
    rig.put_long();
    let new = now(&mut rig);
    let second = snapshot(&mut rig);
    let target = rig.path("backup");
    dump(&disk, &target);
    let earlier = Manifest::load(&target).unwrap().unwrap();
    let (mut olds, mut news) = (0, 0);
    for operations in 0.. {
        for seed in 0..3 {
            let disk = disk.fork(seed + 10);
            disk.set_fuse(Some(operations));
            let outcome = second.copy_into(&disk, Some(&earlier));
            let done = !disk.is_stopped();
            disk.set_fuse(None);
            disk.power_loss();
            std::fs::remove_dir_all(&target).unwrap();
            dump(&disk, &target);
            let found = restored(&rig, &target, "again").unwrap();
            std::fs::remove_dir_all(rig.path("again")).unwrap();
            olds += usize::from(found == old);
            news += usize::from(found == new);
            assert!(found == new || (found == old && outcome.is_err()), "after {operations}, seed {seed}");
            if done {
                assert!(outcome.is_ok() && olds > 20 && news > 3, "{olds} {news}");
                return;
            }
        }
    }
}

#[test]
fn the_first_one_that_is_cut_off_is_refused() {
    let mut rig = Rig::new();
    rig.work();
    let snapshot = snapshot(&mut rig);
    let expected = now(&mut rig);
    for operations in 0.. {
        let disk = SimFiles::new(operations.into());
        disk.set_fuse(Some(operations));
        let outcome = snapshot.copy_into(&disk, None);
        let done = !disk.is_stopped();
        disk.set_fuse(None);
        disk.power_loss();
        let target = rig.path(&format!("backup {operations}"));
        dump(&disk, &target);
        match restored(&rig, &target, &format!("again {operations}")) {
            Ok(found) => assert_eq!(found, expected),
            Err(error) => {
                assert!(outcome.is_err() && error.to_string().contains("not finished"), "{error}");
                // Nor does it pass for a store, or for an earlier backup.
                if target.join("journal").read_dir().unwrap().next().is_some() {
                    assert!(open(&target).is_err());
                }
                let empty = target.read_dir().unwrap().all(|entry| entry.unwrap().path().is_dir());
                assert!(snapshot.copy_to(&target, false).is_err() || empty);
            }
        }
        if done {
            assert!(outcome.is_ok() && operations > 10);
            return;
        }
    }
}

#[test]
fn a_restore_that_is_cut_off_is_no_store() {
    let mut rig = Rig::new();
    rig.work();
    rig.put_long();
    rig.close();
    let expected = holds(&rig.data()).unwrap();
    let from = rig.path("backup");
    backup(&rig.data(), &from, false, 1).unwrap();
    let source = super::super::source::Source::new(&from).unwrap();
    for power_is_lost in [false, true] {
        for operations in 0.. {
            let disk = SimFiles::new(operations.into());
            disk.set_fuse(Some(operations));
            let outcome = write(&source, source.manifest().unwrap(), &disk);
            let done = !disk.is_stopped();
            disk.set_fuse(None);
            if power_is_lost {
                disk.power_loss();
            }
            let target = rig.path(&format!("again {operations} {power_is_lost}"));
            dump(&disk, &target);
            let has_files = target.read_dir().unwrap().any(|entry| entry.unwrap().path().is_file());
            match holds(&target) {
                Ok(found) if has_files => assert_eq!(found, expected, "{operations}"),
                // Nothing was begun.
                Ok(_) => assert!(operations < 10 && outcome.is_err()),
                Err(error) => {
                    assert!(outcome.is_err() && error.to_string().contains("version"), "{error}");
                    let found = check(&target).unwrap();
                    assert!(found.is_damaged() && found.findings[0].what.contains("cut off"), "{found:?}");
                    let error = restore(&from, &target).unwrap_err().to_string();
                    assert!(error.contains("cut off") || error.contains("not empty"), "{error}");
                }
            }
            if done {
                assert!(outcome.is_ok() && operations > 10);
                break;
            }
        }
    }
}

#[test]
fn a_changed_byte_of_a_backup_is_found_before_anything_is_written() {
    let mut rig = Rig::new();
    rig.work();
    rig.put_long();
    rig.close();
    let to = rig.path("backup");
    backup(&rig.data(), &to, false, 1).unwrap();
    let list = Manifest::load(&to).unwrap().unwrap();
    for file in &list.files {
        let path = to.join(&file.stored);
        let bytes = std::fs::read(&path).unwrap();
        flip(&path, bytes.len() / 2);
        let error = restore(&to, &rig.path("again")).unwrap_err();
        assert!(error.to_string().contains(&path.display().to_string()), "{error}");
        assert!(!rig.path("again").exists());
        assert!(check(&to).unwrap().is_damaged());
        std::fs::write(&path, bytes).unwrap();
    }
    flip(&to.join(manifest::NAME), 40);
    let error = restore(&to, &rig.path("again")).unwrap_err();
    assert!(error.to_string().contains("does not verify"), "{error}");
}

#[test]
fn damage_is_not_copied() {
    let mut rig = Rig::new();
    rig.work();
    let snapshot = snapshot(&mut rig);
    let place = rig.victim().place;
    let segment = rig.data().join(super::super::segment::path_of(place.segment));
    flip(&segment, place.offset as usize + 100);
    let error = snapshot.copy_to(&rig.path("backup"), false).unwrap_err();
    let StoreError::Damaged { path, offset, .. } = &error else { panic!("{error}") };
    assert_eq!(*path, segment.display().to_string());
    assert!((*offset..*offset + 20_000).contains(&u64::from(place.offset)), "{error}");
    rig.close();
    assert!(backup(&rig.data(), &rig.path("other"), false, 1).is_err());
}

#[test]
fn targets_that_are_refused() {
    let mut rig = Rig::new();
    rig.work();
    let busy = backup(&rig.data(), &rig.path("busy"), false, 1).unwrap_err();
    assert!(matches!(busy, StoreError::InUse { .. }), "{busy}");
    rig.close();
    let refuse = |to: &Path, incremental, part: &str| {
        let error = backup(&rig.data(), to, incremental, 1).unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    };
    refuse(&rig.data().join("backup"), false, "inside the data directory");
    refuse(&rig.data(), true, "inside the data directory");
    let full = rig.path("full");
    std::fs::create_dir(&full).unwrap();
    std::fs::write(full.join("x"), "x").unwrap();
    refuse(&full, false, "not empty");
    refuse(&full, true, "no finished backup");
    let to = rig.path("backup");
    backup(&rig.data(), &to, false, 1).unwrap();
    refuse(&to, false, "--incremental");
    assert!(restore(&to, &full).unwrap_err().to_string().contains("not empty"));
    assert!(restore(&rig.data(), &rig.path("new")).unwrap_err().to_string().contains("no backup"));
    assert!(backup(&to, &rig.path("new"), false, 1).unwrap_err().to_string().contains("a backup itself"));
}
