//! A status report as OpenMetrics text. One table; no label has as many values as there are devices.

use std::fmt::Write;
use std::ops::RangeInclusive;

use crate::report::{ExitReport, HistogramReport, SourceReport, StatusReport};

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
    ("mqe_devices", Kind::Gauge, "Devices that are known.", |r| r.area.devices),
    ("mqe_device_messages", Kind::Gauge, "Messages that wait for devices or are in doubt.", |r| {
        r.area.messages
    }),
    ("mqe_device_messages_bytes", Kind::Gauge, "Their bytes.", |r| r.area.bytes),
    ("mqe_device_messages_in_doubt", Kind::Gauge, "Messages handed out and not confirmed.", |r| {
        r.area.in_doubt
    }),
    ("mqe_device_index_bytes", Kind::Gauge, "Memory that the index of these messages takes, roughly.", |r| {
        r.area.index_bytes
    }),
    ("mqe_device_index_bytes_max", Kind::Gauge, "Above this idle devices leave memory.", |r| {
        r.area.index_bytes_max
    }),
    ("mqe_devices_evicted", Kind::Gauge, "Devices whose messages are not in memory, or not all.", |r| {
        r.area.evicted_devices
    }),
    ("mqe_device_index_evictions", Kind::Counter, "Times at which the index of a device left memory.", |r| {
        r.area.evictions
    }),
    ("mqe_device_index_loads", Kind::Counter, "Times at which the index of a device came back.", |r| {
        r.area.loads
    }),
    ("mqe_device_index_rebuilds", Kind::Counter, "Times at which it came back from the journal.", |r| {
        r.area.rebuilds
    }),
    ("mqe_park_messages", Kind::Gauge, "Messages that are parked for devices that are not known.", |r| {
        r.area.parked
    }),
    ("mqe_park_messages_bytes", Kind::Gauge, "Their bytes.", |r| r.area.parked_bytes),
    (
        "mqe_device_messages_owed",
        Kind::Gauge,
        "Ends for which a report or a dead letter is still owed.",
        |r| r.area.owed,
    ),
    (
        "mqe_device_puts_waiting",
        Kind::Gauge,
        "Puts of devices that are answered when they are in their queue manager.",
        |r| r.area.puts_waiting,
    ),
    ("mqe_store_messages", Kind::Gauge, "Live messages in the store.", |r| r.store.messages),
    ("mqe_store_live_bytes", Kind::Gauge, "Bytes of live records.", |r| r.store.live_bytes),
    ("mqe_store_keys", Kind::Gauge, "Keys of keyed state in the store.", |r| r.store.keys),
    (
        "mqe_store_disk_bytes",
        Kind::Gauge,
        "Bytes on disk: segments, those kept for reuse, the reserve, bodies.",
        |r| r.store.disk_bytes,
    ),
    ("mqe_store_body_files", Kind::Gauge, "Files of long bodies.", |r| r.store.body_files),
    ("mqe_store_body_bytes", Kind::Gauge, "Their bytes.", |r| r.store.body_bytes),
    ("mqe_store_memory_bytes", Kind::Gauge, "Memory that the store's own maps take, roughly.", |r| {
        r.store.memory_bytes
    }),
    ("mqe_store_short_of_room", Kind::Gauge, "1 while the disk has no room for new messages.", |r| {
        u64::from(r.store.short_of_room)
    }),
    ("mqe_store_damaged", Kind::Gauge, "Records that compaction found damaged.", |r| {
        r.store.damaged.len() as u64
    }),
    ("mqe_store_segments", Kind::Gauge, "Segments of the journal.", |r| r.store.segments),
    ("mqe_store_groups", Kind::Counter, "Groups written since the start.", |r| r.store.groups),
    ("mqe_store_syncs", Kind::Counter, "Syncs since the start.", |r| r.store.syncs),
    ("mqe_store_records", Kind::Counter, "Records written since the start.", |r| r.store.records),
    ("mqe_store_checkpoints", Kind::Counter, "Checkpoints since the start.", |r| r.store.checkpoints),
    ("mqe_store_written_bytes", Kind::Counter, "Bytes written to segments, padding included.", |r| {
        r.store.written_bytes
    }),
    ("mqe_store_moved_bytes", Kind::Counter, "Bytes of records that compaction wrote again.", |r| {
        r.store.moved_bytes
    }),
    ("mqe_store_segments_compacted", Kind::Counter, "Segments that compaction has emptied.", |r| {
        r.store.compacted
    }),
    ("mqe_store_segments_recycled", Kind::Counter, "Segments that were used again.", |r| r.store.recycled),
    ("mqe_store_index_rebuilds", Kind::Counter, "Times at which the index was written anew.", |r| {
        r.store.index_rebuilds
    }),
    ("mqe_store_recoveries", Kind::Counter, "Recoveries in the process, after the journal failed.", |r| {
        r.store.recoveries
    }),
];

/// Name, kind, help, and its value for one of several.
type Each<T> = (&'static str, Kind, &'static str, fn(&T) -> u64);

/// Of each source and each outbox, with labels `source` and `kind` (local, remote, outbox).
const SOURCES: &[Each<SourceReport>] = &[
    ("mqe_source_running", Kind::Gauge, "1 while it is running.", |s| u64::from(s.state == "RUNNING")),
    ("mqe_source_retrying", Kind::Gauge, "1 while it waits for its next try.", |s| {
        u64::from(s.state == "RETRYING")
    }),
    (
        "mqe_source_messages_moved",
        Kind::Counter,
        "Messages moved: to devices, or into the queue manager.",
        |s| s.moved,
    ),
    ("mqe_source_messages_parked", Kind::Counter, "Messages parked.", |s| s.parked),
    ("mqe_source_messages_dead_lettered", Kind::Counter, "Messages sent to the dead-letter queue.", |s| {
        s.dead_lettered
    }),
    (
        "mqe_source_messages_discarded",
        Kind::Counter,
        "Messages discarded, as their options or a rule say.",
        |s| s.discarded,
    ),
    (
        "mqe_source_messages_expired",
        Kind::Counter,
        "Messages of the outbox that had expired before they could be put.",
        |s| s.expired,
    ),
    ("mqe_source_messages_waiting", Kind::Gauge, "Messages that wait in the outbox.", |s| s.waiting),
    ("mqe_source_messages_waiting_bytes", Kind::Gauge, "Their bytes.", |s| s.waiting_bytes),
];

/// Of each exit of the chain, with the label `exit`.
const EXITS: &[Each<ExitReport>] = &[
    ("mqe_exit_calls", Kind::Counter, "Messages that it has seen.", |e| e.calls),
    ("mqe_exit_refused", Kind::Counter, "Messages that it has refused.", |e| e.refused),
    ("mqe_exit_failures", Kind::Counter, "Failures, panics and time-outs.", |e| e.failures),
    ("mqe_exit_late", Kind::Counter, "Of these, calls that were not done in time.", |e| e.late),
    ("mqe_exit_microseconds_mean", Kind::Gauge, "Mean time of a call.", |e| e.mean_us),
    ("mqe_exit_microseconds_longest", Kind::Gauge, "The longest call.", |e| e.max_us),
];

/// Name, help, and its value in a report: shares, 0 to 1.
type Share = (&'static str, &'static str, fn(&StatusReport) -> f64);

const SHARES: &[Share] = &[
    ("mqe_store_live_share_lowest", "Live records in the segment that has the fewest, as a share.", |r| {
        r.store.live_share_lowest
    }),
    ("mqe_store_live_share_average", "Live records in all segments, as a share.", |r| {
        r.store.live_share_average
    }),
    ("mqe_store_moved_share", "What compaction wrote, as a share of all that was written.", |r| {
        r.store.moved_share
    }),
];

/// Name, help, units of the values in one of the metric's, the exponents of two that have a bucket, and its value.
type Distribution =
    (&'static str, &'static str, f64, RangeInclusive<usize>, fn(&StatusReport) -> &HistogramReport);

const DISTRIBUTIONS: &[Distribution] = &[
    ("mqe_store_group_bytes", "Bytes of each write.", 1.0, 12..=26, |r| &r.store.group_bytes),
    ("mqe_store_sync_seconds", "Time of each sync.", 1e6, 5..=24, |r| &r.store.sync_us),
    (
        "mqe_store_wait_seconds",
        "Time of each batch from being handed over to being on disk.",
        1e6,
        5..=24,
        |r| &r.store.wait_us,
    ),
];

/// The report as text.
pub(super) fn text(report: &StatusReport) -> String {
    let mut out = String::new();
    for (name, kind, help, value) in METRICS {
        head(name, *kind, help, &mut out);
        sample(name, *kind, "", value(report), &mut out);
    }
    each(SOURCES, &report.sources, &mut out, |s| {
        format!("{{source=\"{}\",kind=\"{}\"}}", escaped(&s.name), escaped(&s.kind))
    });
    each(EXITS, &report.exits, &mut out, |e| format!("{{exit=\"{}\"}}", escaped(&e.name)));
    for (name, help, value) in SHARES {
        let value = value(report);
        let _ = write!(out, "# TYPE {name} gauge\n# HELP {name} {help}\n{name} {value}\n");
    }
    for distribution in DISTRIBUTIONS {
        histogram(distribution, report, &mut out);
    }
    if !report.store.bytes_by_kind.is_empty() {
        let name = "mqe_store_record_bytes";
        let _ =
            write!(out, "# TYPE {name} counter\n# HELP {name} Bytes of records written since the start.\n");
        for (kind, bytes) in &report.store.bytes_by_kind {
            let _ = writeln!(out, "{name}_total{{kind=\"{kind}\"}} {bytes}");
        }
    }
    if !report.area.ends.is_empty() {
        let name = "mqe_device_messages_counted";
        let _ = write!(
            out,
            "# TYPE {name} counter\n# HELP {name} What became of messages for devices and of theirs, since the data directory was made.\n"
        );
        for (kind, count) in &report.area.ends {
            let kind = escaped(kind);
            let _ = writeln!(out, "{name}_total{{kind=\"{kind}\"}} {count}");
        }
    }
    out.push_str("# EOF\n");
    out
}

fn head(name: &str, kind: Kind, help: &str, out: &mut String) {
    let kind = match kind {
        Kind::Gauge => "gauge",
        Kind::Counter => "counter",
    };
    // A String takes everything that is written to it, here and below.
    let _ = write!(out, "# TYPE {name} {kind}\n# HELP {name} {help}\n");
}

fn sample(name: &str, kind: Kind, labels: &str, value: u64, out: &mut String) {
    let suffix = match kind {
        Kind::Gauge => "",
        Kind::Counter => "_total",
    };
    let _ = writeln!(out, "{name}{suffix}{labels} {value}");
}

/// A table's metrics of each of several; nothing if there are none.
fn each<T>(table: &[Each<T>], of: &[T], out: &mut String, labels: impl Fn(&T) -> String) {
    let labels: Vec<String> = of.iter().map(labels).collect();
    for (name, kind, help, value) in table.iter().filter(|_| !of.is_empty()) {
        head(name, *kind, help, out);
        for (one, labels) in of.iter().zip(&labels) {
            sample(name, *kind, labels, value(one), out);
        }
    }
}

/// The value of a label.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn histogram((name, help, units, exponents, value): &Distribution, report: &StatusReport, out: &mut String) {
    let HistogramReport { count, sum, buckets, .. } = value(report);
    // The same as above.
    let _ = write!(out, "# TYPE {name} histogram\n# HELP {name} {help}\n");
    let below = |exponent: usize| buckets.iter().take(exponent + 1).sum::<u64>();
    for exponent in exponents.clone() {
        // A bucket has what is below its bound, OpenMetrics asks for what is not above: the values are whole numbers.
        let bound = ((1u64 << exponent) - 1) as f64 / units;
        let _ = writeln!(out, "{name}_bucket{{le=\"{bound:?}\"}} {}", below(exponent));
    }
    let sum = *sum as f64 / units;
    let _ = write!(out, "{name}_bucket{{le=\"+Inf\"}} {count}\n{name}_sum {sum}\n{name}_count {count}\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_count_what_is_not_above_their_bound() {
        let mut report = StatusReport::default();
        let mut times = store::Histogram::default();
        [0, 31, 32, 63, 64, 1 << 40].into_iter().for_each(|us| times.add(us));
        report.store.sync_us = (&times).into();
        let text = text(&report);
        for line in [
            "# TYPE mqe_store_sync_seconds histogram\n",
            "mqe_store_sync_seconds_bucket{le=\"3.1e-5\"} 2\n",
            "mqe_store_sync_seconds_bucket{le=\"6.3e-5\"} 4\n",
            "mqe_store_sync_seconds_bucket{le=\"16.777215\"} 5\n",
            "mqe_store_sync_seconds_bucket{le=\"+Inf\"} 6\nmqe_store_sync_seconds_sum 1099511.627966\n\
             mqe_store_sync_seconds_count 6\n",
            "# TYPE mqe_store_live_share_lowest gauge\n",
            "mqe_store_group_bytes_bucket{le=\"4095.0\"} 0\n",
        ] {
            assert!(text.contains(line), "{line:?} is not in\n{text}");
        }
    }
}
