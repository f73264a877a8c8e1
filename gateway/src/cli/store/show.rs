//! The reports of `store`, for people and for scripts.

use std::fmt::Write;

use serde_json::{Value, json};
use store::tools::{CheckReport, Finding, RestoreReport, SalvageReport, Severity, StoppedStat};
use store::{Id, OwnerId, SegmentStat};

use crate::cli::table::{bytes, table, time};
use crate::report::{BackupReport, StoreReport};

/// As the store counts them.
const KINDS: [&str; 6] = ["message", "keyed", "commit", "back-out", "prepare", "moved"];
/// More of a kind are in the JSON only.
const SHOWN_MAX: usize = 20;

/// Adds a line. A String takes everything that is written to it.
macro_rules! line {
    ($out:expr, $($text:tt)*) => {{ let _ = writeln!($out, $($text)*); }};
}

pub(super) fn check(report: &CheckReport) -> String {
    let mut out = String::new();
    let what = if report.backup { "backup" } else { "store" };
    line!(
        out,
        "{what} {}: read {} in {} segments and {} files of bodies: {} messages, {} keys",
        report.directory,
        bytes(report.bytes),
        report.segments,
        report.bodies,
        report.messages,
        report.keys
    );
    for Finding { severity, path, offset, what, to_do, affected } in &report.findings {
        let place = offset.map_or_else(String::new, |offset| format!(" at {offset}"));
        line!(out, "\n{}: {path}{place}: {what}", word(*severity));
        if !affected.meaning.is_empty() {
            line!(out, "  means  {}", affected.meaning);
        }
        if !affected.ids.is_empty() {
            line!(out, "  ids    {}", some(&affected.ids));
            line!(out, "  owners {}", some(&affected.owners.iter().map(|owner| owner.0).collect::<Vec<_>>()));
        }
        line!(out, "  do     {to_do}");
    }
    let damage = report.findings.iter().filter(|finding| finding.severity == Severity::Damage).count();
    match (damage, report.findings.len()) {
        (0, 0) => line!(out, "nothing is wrong"),
        (0, _) => line!(out, "\nnothing is damaged"),
        (damage, _) => line!(out, "\n{damage} damaged"),
    }
    out
}

/// The first few of a list.
fn some(values: &[impl ToString]) -> String {
    let shown: Vec<String> = values.iter().take(SHOWN_MAX).map(ToString::to_string).collect();
    let more = values.len().saturating_sub(SHOWN_MAX);
    if more == 0 { shown.join(", ") } else { format!("{} and {more} more", shown.join(", ")) }
}

fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Damage => "DAMAGE",
        Severity::Harmless => "harmless",
        Severity::Note => "note",
    }
}

pub(super) fn check_json(report: &CheckReport) -> Value {
    let finding = |finding: &Finding| {
        json!({
            "severity": word(finding.severity).to_lowercase(),
            "path": finding.path,
            "offset": finding.offset,
            "what": finding.what,
            "to_do": finding.to_do,
            "meaning": finding.affected.meaning,
            "records": finding.affected.records,
            "ids": ids(&finding.affected.ids),
            "owners": owners(&finding.affected.owners),
        })
    };
    json!({
        "directory": report.directory,
        "backup": report.backup,
        "damaged": report.is_damaged(),
        "segments": report.segments,
        "messages": report.messages,
        "keys": report.keys,
        "bodies": report.bodies,
        "bytes": report.bytes,
        "findings": report.findings.iter().map(finding).collect::<Vec<_>>(),
    })
}

fn ids(ids: &[Id]) -> Vec<String> {
    ids.iter().map(ToString::to_string).collect()
}

fn owners(owners: &[OwnerId]) -> Vec<u64> {
    owners.iter().map(|owner| owner.0).collect()
}

pub(super) fn stopped(stat: &StoppedStat) -> String {
    let mut out = String::new();
    let kind = if stat.backup_ms.is_some() { "backup" } else { "stopped" };
    line!(out, "store        {} ({kind})", stat.directory);
    line!(out, "messages     {}, {} of records", stat.messages, bytes(stat.live_bytes));
    line!(out, "keys         {}", stat.keys);
    line!(out, "units        {} prepared, {} cut off", stat.prepared, stat.cut_off);
    line!(out, "bodies       {} files, {}", stat.body_files, bytes(stat.body_bytes));
    line!(out, "on disk      {} in {} segments", bytes(stat.disk_bytes), stat.by_segment.len());
    line!(out, "checkpoint   {}, the journal ends at {}", stat.checkpoint, stat.end);
    line!(out, "starts       {}", some(&stat.starts));
    kinds(&mut out, KINDS.iter().copied().zip(stat.bytes_by_kind));
    segments(&mut out, stat.by_segment.iter().map(|s| (s.number, s.bytes, s.records, s.live)));
    if stat.faults > 0 {
        line!(out, "\nWRONG: {} places are not as they were written: store check says which", stat.faults);
    }
    out
}

/// The same of a running service.
pub(super) fn running(report: &StoreReport) -> String {
    let mut out = String::new();
    line!(out, "store        {} (running, start {})", report.directory, report.start);
    line!(out, "messages     {}, {} live", report.messages, bytes(report.live_bytes));
    line!(out, "keys         {}", report.keys);
    line!(out, "bodies       {} files, {}", report.body_files, bytes(report.body_bytes));
    line!(out, "on disk      {} in {} segments", bytes(report.disk_bytes), report.segments);
    line!(out, "checkpoints  {}, recoveries {}", report.checkpoints, report.recoveries);
    line!(
        out,
        "written      {} in {} groups, {} by compaction",
        bytes(report.written_bytes),
        report.groups,
        bytes(report.moved_bytes)
    );
    line!(out, "a sync       {} us half of them, {} us 99 of 100", report.sync_us.p50, report.sync_us.p99);
    kinds(&mut out, report.bytes_by_kind.iter().map(|(kind, bytes)| (kind.as_str(), *bytes)));
    segments(&mut out, report.by_segment.iter().map(|s| (s.number, s.bytes, s.records, s.live)));
    if report.short_of_room {
        line!(out, "\nWRONG: the disk is full, new messages are refused: make room");
    }
    for place in &report.damaged {
        line!(out, "\nWRONG: {place}: stop the service and run store check");
    }
    out
}

fn kinds<'a>(out: &mut String, kinds: impl Iterator<Item = (&'a str, u64)>) {
    let written: Vec<String> = kinds
        .filter(|(_, count)| *count > 0)
        .map(|(kind, count)| format!("{kind} {}", bytes(count)))
        .collect();
    if !written.is_empty() {
        line!(out, "records      {}", written.join(", "));
    }
}

fn segments(out: &mut String, segments: impl Iterator<Item = (u32, u64, u32, u32)>) {
    let rows: Vec<Vec<String>> = segments
        .map(|(number, bytes, records, live)| {
            let share = (u64::from(live) * 100).checked_div(records.into()).unwrap_or(0);
            [u64::from(number), bytes, records.into(), live.into(), share].map(|n| n.to_string()).to_vec()
        })
        .collect();
    if !rows.is_empty() {
        out.push('\n');
        out.push_str(&table(&["SEGMENT", "BYTES", "RECORDS", "LIVE", "LIVE %"], &rows));
    }
}

pub(super) fn stopped_json(stat: &StoppedStat) -> Value {
    let segment = |s: &SegmentStat| json!({ "number": s.number, "bytes": s.bytes, "records": s.records, "live": s.live });
    let kinds: serde_json::Map<String, Value> =
        KINDS.iter().map(ToString::to_string).zip(stat.bytes_by_kind.map(Value::from)).collect();
    json!({
        "directory": stat.directory,
        "running": false,
        "backup_ms": stat.backup_ms,
        "messages": stat.messages,
        "keys": stat.keys,
        "prepared": stat.prepared,
        "cut_off": stat.cut_off,
        "body_files": stat.body_files,
        "body_bytes": stat.body_bytes,
        "live_bytes": stat.live_bytes,
        "disk_bytes": stat.disk_bytes,
        "segments": stat.by_segment.len(),
        "bytes_by_kind": kinds,
        "checkpoint": stat.checkpoint,
        "end": stat.end,
        "starts": stat.starts,
        "faults": stat.faults,
        "by_segment": stat.by_segment.iter().map(segment).collect::<Vec<_>>(),
    })
}

pub(super) fn backup(report: &BackupReport) -> String {
    let mut out = String::new();
    line!(out, "backup in {}, of start {} at {}", report.to, report.start, report.position);
    line!(out, "copied    {} files, {}", report.files_copied, bytes(report.bytes_copied));
    if report.files_kept + report.removed > 0 {
        line!(out, "kept      {} files, {}", report.files_kept, bytes(report.bytes_kept));
        line!(out, "removed   {} files that nothing needs any more", report.removed);
    }
    out
}

pub(super) fn restore(report: &RestoreReport) -> String {
    let mut out = String::new();
    line!(out, "restored {}: {} files, {}", report.to, report.files, bytes(report.bytes));
    line!(out, "the backup is of {}, start {} at {}", when(report.time_ms), report.start, report.position);
    sentences(&mut out, "What it means:", &report.meaning);
    sentences(&mut out, "What to do:", &report.to_do);
    out
}

fn when(time_ms: u64) -> String {
    time(time_ms).map_or_else(|| format!("{time_ms} ms since 1970"), |time| time.to_string())
}

fn sentences(out: &mut String, heading: &str, sentences: &[String]) {
    if !sentences.is_empty() {
        line!(out, "\n{heading}");
    }
    for sentence in sentences {
        line!(out, "- {sentence}");
    }
}

pub(super) fn restore_json(report: &RestoreReport) -> Value {
    json!({
        "to": report.to,
        "time_ms": report.time_ms,
        "start": report.start,
        "position": report.position,
        "files": report.files,
        "bytes": report.bytes,
        "meaning": report.meaning,
        "to_do": report.to_do,
    })
}

pub(super) fn salvage(report: &SalvageReport) -> String {
    let mut out = String::new();
    line!(
        out,
        "saved {} messages, {} keys, {} prepared units of {} into {}",
        report.saved.len(),
        report.keys,
        report.prepared,
        report.from,
        report.to
    );
    line!(out, "the list of everything is {}/salvage.json", report.to);
    for lost in report.lost.iter().take(SHOWN_MAX) {
        line!(out, "\nLOST: {} at {}: {}", lost.path, lost.offset, lost.what);
        line!(out, "  records {}", lost.records);
        if !lost.ids.is_empty() {
            line!(out, "  ids     {}", some(&lost.ids));
            line!(out, "  owners  {}", some(&owners(&lost.owners)));
        }
    }
    let more = report.lost.len().saturating_sub(SHOWN_MAX);
    if more > 0 {
        line!(out, "\nLOST: {more} more places, see the list");
    }
    if report.lost.is_empty() {
        line!(out, "nothing is known to be lost");
    }
    if !report.doubtful.is_empty() {
        let doubtful: Vec<Id> = report.doubtful.iter().map(|doubt| doubt.id).collect();
        line!(out, "\nDOUBTFUL: {} messages that were saved; the list says why", doubtful.len());
        line!(out, "  ids     {}", some(&doubtful));
    }
    if report.undecided > 0 {
        line!(out, "\n{} units were never decided: what they wrote was never real", report.undecided);
    }
    sentences(&mut out, "What to know:", &report.notes);
    out
}

pub(super) fn salvage_json(report: &SalvageReport) -> Value {
    let lost = report.lost.iter().map(|lost| {
        json!({
            "path": lost.path,
            "offset": lost.offset,
            "what": lost.what,
            "records": lost.records,
            "ids": ids(&lost.ids),
            "owners": owners(&lost.owners),
        })
    });
    let doubtful = report
        .doubtful
        .iter()
        .map(|doubt| json!({ "id": doubt.id.to_string(), "owner": doubt.owner.0, "why": doubt.why }));
    json!({
        "from": report.from,
        "to": report.to,
        "saved": report.saved.len(),
        "keys": report.keys,
        "prepared": report.prepared,
        "undecided": report.undecided,
        "lost": lost.collect::<Vec<_>>(),
        "doubtful": doubtful.collect::<Vec<_>>(),
        "notes": report.notes,
    })
}

#[cfg(test)]
mod tests {
    use store::tools::{Affected, Doubt, LostPart};

    use super::*;

    fn check_parts(text: &str, parts: &[&str]) {
        for part in parts {
            assert!(text.contains(part), "{part:?} in:\n{text}");
        }
    }

    #[test]
    fn a_check_for_people() {
        let affected = Affected {
            meaning: "one is gone".to_owned(),
            records: 1,
            ids: vec![Id::new(1, 7)],
            owners: vec![OwnerId(9)],
        };
        let finding = Finding {
            severity: Severity::Damage,
            path: "d/journal/00000001.seg".to_owned(),
            offset: Some(4096),
            what: "the group does not verify".to_owned(),
            to_do: "restore".to_owned(),
            affected,
        };
        let report = CheckReport { directory: "d".to_owned(), findings: vec![finding], ..Default::default() };
        check_parts(
            &check(&report),
            &[
                "\nDAMAGE: d/journal/00000001.seg at 4096: the group does not verify\n",
                "  ids    1-7\n  owners 9\n  do     restore\n",
                "\n1 damaged\n",
            ],
        );
        let json = check_json(&report);
        assert_eq!((&json["damaged"], &json["findings"][0]["severity"]), (&json!(true), &json!("damage")));
        check_parts(&check(&CheckReport::default()), &["nothing is wrong\n"]);
    }

    #[test]
    fn figures_for_people() {
        let by_segment = vec![SegmentStat { number: 3, bytes: 4096, records: 8, live: 2 }];
        let stat = StoppedStat { by_segment, starts: vec![1, 2], faults: 1, ..Default::default() };
        check_parts(
            &stopped(&stat),
            &[
                "starts       1, 2\n",
                "SEGMENT  BYTES  RECORDS  LIVE  LIVE %\n      3   4096        8     2      25\n",
                "WRONG: 1",
            ],
        );
        let report = StoreReport { short_of_room: true, start: 4, ..Default::default() };
        check_parts(&running(&report), &["(running, start 4)", "WRONG: the disk is full"]);
    }

    #[test]
    fn what_was_lost_for_people() {
        let lost = LostPart {
            path: "p".to_owned(),
            offset: 1,
            what: "gone".to_owned(),
            records: "3 to 5".to_owned(),
            ids: vec![Id::new(1, 2)],
            owners: vec![OwnerId(4)],
        };
        let doubtful =
            (0..30).map(|n| Doubt { id: Id::new(1, n), owner: OwnerId(1), why: "perhaps" }).collect();
        let report = SalvageReport { lost: vec![lost], doubtful, to: "t".to_owned(), ..Default::default() };
        check_parts(
            &salvage(&report),
            &[
                "LOST: p at 1: gone\n  records 3 to 5\n",
                "30 messages",
                "1-19 and 10 more\n",
                "t/salvage.json",
            ],
        );
        assert_eq!(salvage_json(&report)["lost"][0]["owners"], json!([4]));
        let restored = RestoreReport { time_ms: 0, meaning: vec!["so".to_owned()], ..Default::default() };
        check_parts(&restore(&restored), &["1970-01-01T00:00:00Z", "What it means:\n- so\n"]);
    }
}
