//! `status`: the state of everything, and what is wrong.

use std::fmt::Write as _;
use std::io::{self, Write};

use anyhow::Context;
use clap::Args;

use super::http::ServiceArgs;
use super::table::{bytes, table};
use crate::report::StatusReport;

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  mqe-gateway status\n  mqe-gateway status --json --data /var/lib/mqe")]
pub(super) struct StatusArgs {
    #[command(flatten)]
    service: ServiceArgs,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &StatusArgs) -> anyhow::Result<()> {
    let text = args.service.get_json("/status")?;
    if args.json {
        return Ok(writeln!(io::stdout(), "{text}")?);
    }
    let report: StatusReport = serde_json::from_str(&text).context("the answer is not a report")?;
    Ok(io::stdout().write_all(layout(&report).as_bytes())?)
}

fn layout(r: &StatusReport) -> String {
    let mut out = String::new();
    // A String takes everything that is written to it.
    let _ = writeln!(out, "queue manager  {}", r.queue_manager);
    let _ = writeln!(out, "gateway        {}", r.gateway);
    let _ = writeln!(out, "version        {}, up {}", r.version, duration(r.uptime_s));
    let listeners = &r.listeners;
    let _ = writeln!(
        out,
        "listeners      mq {}, devices {}, admin {}",
        listeners.mq, listeners.devices, listeners.admin
    );
    let _ = writeln!(
        out,
        "MQ clients     {} connected, {} since the start",
        r.mq_connections, r.mq_connections_total
    );
    let _ = writeln!(
        out,
        "devices        {} known, {} connected, {} connections since the start",
        r.area.devices, r.device_connections, r.device_connections_total
    );
    let _ = writeln!(
        out,
        "for devices    {} messages, {}, {} in doubt",
        r.area.messages,
        bytes(r.area.bytes),
        r.area.in_doubt
    );
    let a = &r.area;
    if a.evictions > 0 {
        let _ = writeln!(
            out,
            "their index    {} of {} in memory; {} devices not, {} went and {} came back so far, {} from the journal",
            bytes(a.index_bytes),
            bytes(a.index_bytes_max),
            a.evicted_devices,
            a.evictions,
            a.loads,
            a.rebuilds,
        );
    }
    let ends: Vec<String> = r
        .area
        .ends
        .iter()
        .filter(|(_, count)| **count > 0)
        .map(|(kind, count)| format!("{kind} {count}"))
        .collect();
    if !ends.is_empty() {
        let _ = writeln!(out, "so far         {}", ends.join(", "));
    }
    if r.area.parked > 0 {
        let _ = writeln!(
            out,
            "park           {} messages, {}, for devices that are not known",
            r.area.parked,
            bytes(r.area.parked_bytes)
        );
    }
    if r.area.puts_waiting > 0 {
        let _ = writeln!(out, "puts           {} wait for their queue manager", r.area.puts_waiting);
    }
    if r.area.owed > 0 {
        let _ = writeln!(out, "owed           {} reports and dead letters", r.area.owed);
    }
    let s = &r.store;
    let _ = writeln!(
        out,
        "store          {}: {} messages, {} live, {} on disk in {} segments, start {}",
        s.directory,
        s.messages,
        bytes(s.live_bytes),
        bytes(s.disk_bytes),
        s.segments,
        s.start
    );
    let _ = writeln!(
        out,
        "journal        {} groups, {} written, {:.0} % of it by compaction; half of the syncs within {}, 99 % within {}",
        s.groups,
        bytes(s.written_bytes),
        s.moved_share * 100.0,
        microseconds(s.sync_us.p50),
        microseconds(s.sync_us.p99),
    );
    let _ = writeln!(
        out,
        "segments       {:.0} % live, the fewest in one {:.0} %; {} compacted, {} used again; {} bodies in files, {}",
        s.live_share_average * 100.0,
        s.live_share_lowest * 100.0,
        s.compacted,
        s.recycled,
        s.body_files,
        bytes(s.body_bytes),
    );
    if s.short_of_room {
        out.push_str("room           none: new messages are refused\n");
    }
    if let Some(recovered) = &s.recovered {
        let _ = writeln!(out, "recoveries     {} in this process, last {recovered}", s.recoveries);
    }
    sections(r, &mut out);
    out.push('\n');
    if r.problems.is_empty() {
        out.push_str("nothing is wrong\n");
    }
    for problem in &r.problems {
        let _ = writeln!(out, "WRONG: {problem}");
    }
    out
}

fn sections(r: &StatusReport, out: &mut String) {
    let numbers = |values: &[u64]| values.iter().map(u64::to_string).collect::<Vec<_>>();
    if !r.queues.is_empty() {
        let rows: Vec<_> = r
            .queues
            .iter()
            .map(|q| {
                let mut row = vec![q.name.clone()];
                row.extend(numbers(&[q.depth, q.uncommitted, q.open_input.into(), q.open_output.into()]));
                row
            })
            .collect();
        out.push('\n');
        out.push_str(&table(&["QUEUE", "DEPTH", "UNCOMMITTED", "OPEN INPUT", "OPEN OUTPUT"], &rows));
    }
    if !r.sources.is_empty() {
        let rows: Vec<_> = r
            .sources
            .iter()
            .map(|s| {
                let mut row = vec![s.name.clone(), s.kind.clone(), s.queue.clone(), s.state.clone()];
                row.extend(numbers(&[s.moved, s.parked, s.dead_lettered, s.waiting]));
                row.push(s.reason.clone().unwrap_or_default());
                row
            })
            .collect();
        out.push('\n');
        out.push_str(&table(
            &["SOURCE", "KIND", "QUEUE", "STATE", "MOVED", "PARKED", "DEAD LETTERS", "WAITING", "REASON"],
            &rows,
        ));
    }
    if !r.exits.is_empty() {
        let rows: Vec<_> = r
            .exits
            .iter()
            .map(|e| {
                let mut row = vec![e.name.clone()];
                row.extend(numbers(&[e.calls, e.failures, e.mean_us]));
                row
            })
            .collect();
        out.push('\n');
        out.push_str(&table(&["EXIT", "CALLS", "FAILURES", "MEAN US"], &rows));
    }
}

fn microseconds(us: u64) -> String {
    match us {
        0..10_000 => format!("{us} us"),
        10_000..10_000_000 => format!("{} ms", us / 1_000),
        _ => format!("{} s", us / 1_000_000),
    }
}

fn duration(seconds: u64) -> String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min {} s", seconds % 60),
        (0, _, _) => format!("{hours} h {minutes} min"),
        _ => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{QueueReport, SourceReport};

    #[test]
    fn a_report_for_people() {
        let report = StatusReport {
            queue_manager: "QM1".to_owned(),
            gateway: "GATE1".to_owned(),
            uptime_s: 3700,
            queues: vec![QueueReport { name: "DEV.QUEUE.1".to_owned(), depth: 12, ..Default::default() }],
            sources: vec![SourceReport {
                name: "local".to_owned(),
                state: "STOPPED".to_owned(),
                reason: Some("2016".to_owned()),
                ..Default::default()
            }],
            problems: vec!["the listener is stopped: start it".to_owned()],
            ..Default::default()
        };
        let text = layout(&report);
        for part in [
            "queue manager  QM1\n",
            "up 1 h 1 min\n",
            "QUEUE        DEPTH  UNCOMMITTED  OPEN INPUT  OPEN OUTPUT\nDEV.QUEUE.1     12            0           0            0\n",
            "STOPPED",
            "\nWRONG: the listener is stopped: start it\n",
        ] {
            assert!(text.contains(part), "{part:?} in:\n{text}");
        }
    }
}
