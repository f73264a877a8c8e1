//! `check` finds what was changed, and nothing where nothing was.

use super::super::{CheckReport, Severity, check, stat};
use super::*;

fn sample(killed: bool) -> Rig {
    let mut rig = Rig::new();
    rig.work();
    rig.put_long();
    rig.checkpoint();
    rig.work();
    rig.end(killed);
    rig
}

#[test]
fn a_healthy_store_has_no_findings() {
    for killed in [false, true] {
        let rig = sample(killed);
        let report = check(&rig.data()).unwrap();
        assert_eq!(report.findings, []);
        let expected = holds(&rig.data()).unwrap();
        let messages = expected.messages.len() + expected.prepared.iter().map(|p| p.1.len()).sum::<usize>();
        assert_eq!((report.messages, report.keys), (messages as u64, expected.keyed.len() as u64));
        assert_eq!(report.bodies, 1);
        let stat = stat(&rig.data()).unwrap();
        assert_eq!((stat.messages, stat.keys, stat.prepared), (report.messages, report.keys, 2));
        assert_eq!(stat.body_files, 1);
        assert_eq!(stat.by_segment.len() as u64, report.segments);
        assert!(stat.by_segment.iter().all(|segment| segment.live <= segment.records));
        let live: u32 = stat.by_segment.iter().map(|segment| segment.live).sum();
        // Each prepared unit has its record and one change beside its message.
        assert_eq!(u64::from(live), stat.messages + stat.keys + 2 * stat.prepared);
    }
}

/// Every byte that a start or a reader would miss is found; the others change nothing.
#[test]
fn a_flipped_byte_is_found_or_changes_nothing() {
    for killed in [false, true] {
        let mut rig = Rig::new();
        rig.work();
        rig.put_long();
        rig.checkpoint();
        rig.work();
        rig.put(1);
        rig.end(killed);
        let expected = holds(&rig.data()).unwrap();
        let last = *rig.live.last().unwrap();
        let newest = segments(&rig.data()).pop().unwrap();
        let mut files = segments(&rig.data());
        files.extend(["checkpoint", "format"].map(|name| rig.data().join(name)));
        files.extend(rig.data().join("bodies").read_dir().unwrap().map(|entry| entry.unwrap().path()));
        if killed {
            // Only what lies behind the checkpoint is another case.
            files.retain(|path| *path == newest);
        }
        let (mut found, mut harmless) = (0, 0);
        for path in &files {
            let original = std::fs::read(path).unwrap();
            // Something of each field of a header of a group, and here and there.
            let fields = [0, 9, 13, 21, 25, 33, 37, 41, 45, 49, 53, 61, 77, 80, 85, 88, 97];
            let places = (0..original.len()).filter(|at| fields.contains(&(at % 32_768)) || at % 4001 == 0);
            for at in places {
                flip(path, at);
                let report = check(&rig.data());
                if report.as_ref().map_or(true, CheckReport::is_damaged) {
                    found += 1;
                } else {
                    harmless += 1;
                    let place = format!("{} at {at}: {report:?}", path.display());
                    match holds(&rig.data()) {
                        Ok(now) if now == expected => {}
                        // The last group, which nothing claims yet: STORE.md 8.
                        Ok(mut now) if killed && *path == newest && at as u32 >= last.place.offset - 80 => {
                            now.messages.insert(last.order, expected.messages[&last.order].clone());
                            now.ids.push(last.id);
                            assert_eq!(now, expected, "{place}");
                        }
                        Ok(_) => panic!("{place}: something else is there"),
                        Err(error) => panic!("{place}: {error}"),
                    }
                }
                std::fs::write(path, &original).unwrap();
            }
        }
        assert!(found > 10 && harmless > 3, "{found} {harmless}");
    }
}

#[test]
fn what_is_damaged_is_named_with_whom_it_affects() {
    let rig = sample(false);
    let data = rig.data();
    // In a sealed segment: its footer says what stood there.
    let victim = rig.victim();
    let first = data.join(super::super::segment::path_of(victim.place.segment));
    flip(&first, victim.place.offset as usize + 100);
    let report = check(&data).unwrap();
    let finding = &report.findings[0];
    assert_eq!((finding.severity, &finding.path), (Severity::Damage, &first.display().to_string()));
    assert_eq!((finding.affected.records, &finding.affected.ids), (1, &vec![victim.id]));
    assert_eq!(finding.affected.owners.len(), 1);
    assert!(finding.to_do.contains("store salvage"));
    flip(&first, victim.place.offset as usize + 100);
    assert_eq!(check(&data).unwrap().findings, []);
    std::fs::remove_file(&first).unwrap();
    let report = check(&data).unwrap();
    assert!(
        report.findings[0].what.contains("missing") && report.findings[0].affected.records > 5,
        "{report:?}"
    );
}

#[test]
fn stray_files_and_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let rig = sample(false);
    let data = rig.data();
    for stray in ["notes.txt", "journal/x", "bodies/007", "bodies/12345", "checkpoint.new", "restored"] {
        std::fs::write(data.join(stray), "").unwrap();
        let report = check(&data).unwrap();
        assert!(!report.is_damaged());
        assert_eq!(report.findings.len(), 1, "{report:?}");
        assert_eq!(report.findings[0].path, data.join(stray).display().to_string());
        std::fs::remove_file(data.join(stray)).unwrap();
    }
    let segment = segments(&data).remove(0);
    std::fs::set_permissions(&segment, std::fs::Permissions::from_mode(0o444)).unwrap();
    let report = check(&data).unwrap();
    assert!(report.is_damaged() && report.findings[0].to_do.contains("chmod"), "{report:?}");
}

#[test]
fn what_is_no_store() {
    let folder = tempfile::tempdir().unwrap();
    let report = check(folder.path()).unwrap();
    assert!(report.is_damaged() && report.findings[0].what.contains("no data directory"));
    assert!(stat(folder.path()).is_err());
    assert!(check(&folder.path().join("nowhere")).is_err() || report.is_damaged());
    let mut rig = Rig::new();
    assert!(matches!(check(&rig.data()), Err(StoreError::InUse { .. })));
    rig.close();
    std::fs::write(rig.data().join("format"), "3\n").unwrap();
    assert!(matches!(check(&rig.data()), Err(StoreError::Format { found: 3, .. })));
}
