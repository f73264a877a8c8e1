//! A status report as OpenMetrics text. One table; no label has as many values as there are devices.

use std::fmt::Write;

use crate::report::StatusReport;

/// What OpenMetrics asks for.
pub(super) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

#[derive(Clone, Copy)]
enum Kind {
    Gauge,
    Counter,
}

/// Name, kind, help, and its value in a report.
type Metric = (&'static str, Kind, &'static str, fn(&StatusReport) -> u64);

const METRICS: &[Metric] = &[
    ("mqe_uptime_seconds", Kind::Gauge, "Seconds since the start.", |r| r.uptime_s),
    ("mqe_problems", Kind::Gauge, "What status says is wrong.", |r| r.problems.len() as u64),
    ("mqe_mq_connections", Kind::Gauge, "Connections of MQ clients.", |r| r.mq_connections),
    ("mqe_mq_connections_accepted", Kind::Counter, "Connections of MQ clients since the start.", |r| {
        r.mq_connections_total
    }),
    ("mqe_device_connections", Kind::Gauge, "Connections of devices.", |r| r.device_connections),
    ("mqe_device_connections_accepted", Kind::Counter, "Connections of devices since the start.", |r| {
        r.device_connections_total
    }),
    ("mqe_queue_messages", Kind::Gauge, "Messages on queues.", |r| r.queues.iter().map(|q| q.depth).sum()),
    ("mqe_queue_uncommitted_messages", Kind::Gauge, "Of these, messages in open units of work.", |r| {
        r.queues.iter().map(|q| q.uncommitted).sum()
    }),
    ("mqe_source_messages_moved", Kind::Counter, "Messages moved to devices since the start.", |r| {
        r.sources.iter().map(|s| s.moved).sum()
    }),
    (
        "mqe_source_messages_dead_lettered",
        Kind::Counter,
        "Messages that no device could take since the start.",
        |r| r.sources.iter().map(|s| s.dead_lettered).sum(),
    ),
    ("mqe_devices", Kind::Gauge, "Devices that are known.", |r| r.area.devices),
    ("mqe_device_messages", Kind::Gauge, "Messages that wait for devices or are in doubt.", |r| {
        r.area.messages
    }),
    ("mqe_device_messages_bytes", Kind::Gauge, "Their bytes.", |r| r.area.bytes),
    ("mqe_device_messages_in_doubt", Kind::Gauge, "Messages handed out and not confirmed.", |r| {
        r.area.in_doubt
    }),
    ("mqe_exit_calls", Kind::Counter, "Messages that exits have seen since the start.", |r| {
        r.exits.iter().map(|e| e.calls).sum()
    }),
    ("mqe_exit_failures", Kind::Counter, "Failures, panics and time-outs of exits since the start.", |r| {
        r.exits.iter().map(|e| e.failures).sum()
    }),
    ("mqe_store_messages", Kind::Gauge, "Live messages in the store.", |r| r.store.messages),
    ("mqe_store_live_bytes", Kind::Gauge, "Bytes of live records.", |r| r.store.live_bytes),
    ("mqe_store_disk_bytes", Kind::Gauge, "Bytes of the journal on disk.", |r| r.store.disk_bytes),
    ("mqe_store_segments", Kind::Gauge, "Segments of the journal.", |r| r.store.segments),
    ("mqe_store_groups", Kind::Counter, "Groups written since the start.", |r| r.store.groups),
    ("mqe_store_syncs", Kind::Counter, "Syncs since the start.", |r| r.store.syncs),
    ("mqe_store_records", Kind::Counter, "Records written since the start.", |r| r.store.records),
    ("mqe_store_checkpoints", Kind::Counter, "Checkpoints since the start.", |r| r.store.checkpoints),
];

/// The report as text.
pub(super) fn text(report: &StatusReport) -> String {
    let mut out = String::new();
    for (name, kind, help, value) in METRICS {
        let value = value(report);
        // A String takes everything that is written to it.
        let _ = match kind {
            Kind::Gauge => write!(out, "# TYPE {name} gauge\n# HELP {name} {help}\n{name} {value}\n"),
            Kind::Counter => {
                write!(out, "# TYPE {name} counter\n# HELP {name} {help}\n{name}_total {value}\n")
            }
        };
    }
    if !report.area.ends.is_empty() {
        let name = "mqe_device_messages_counted";
        let _ = write!(
            out,
            "# TYPE {name} counter\n# HELP {name} What became of messages for devices and of theirs, since the data directory was made.\n"
        );
        for (kind, count) in &report.area.ends {
            let kind = kind.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = writeln!(out, "{name}_total{{kind=\"{kind}\"}} {count}");
        }
    }
    out.push_str("# EOF\n");
    out
}
