//! The store's figures as they are reported, and its backups.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use store::{Histogram, Room, Stat};

/// The store. Sums count from this start of the store on, unless they say otherwise.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct StoreReport {
    /// The data directory.
    pub directory: String,
    /// The number of this start.
    pub start: u32,
    /// Live messages.
    pub messages: u64,
    /// Keys of keyed state.
    pub keys: u64,
    /// Bytes of live records.
    pub live_bytes: u64,
    /// Segments of the journal.
    pub segments: u64,
    /// Bytes on disk: segments, those kept for reuse, the reserve, bodies.
    pub disk_bytes: u64,
    /// Files of long bodies.
    pub body_files: u64,
    /// Their bytes.
    pub body_bytes: u64,
    /// Groups written.
    pub groups: u64,
    /// Syncs.
    pub syncs: u64,
    /// Records written.
    pub records: u64,
    /// Bytes of records written, by kind.
    pub bytes_by_kind: BTreeMap<String, u64>,
    /// Bytes written to segments, padding included.
    pub written_bytes: u64,
    /// Bytes of records that compaction wrote again.
    pub moved_bytes: u64,
    /// What compaction wrote, as a share of all that was written, 0 to 1.
    pub moved_share: f64,
    /// Segments that compaction has emptied.
    pub compacted: u64,
    /// Segments that were used again.
    pub recycled: u64,
    /// Checkpoints.
    pub checkpoints: u64,
    /// Bytes of each write.
    pub group_bytes: HistogramReport,
    /// Microseconds of each sync.
    pub sync_us: HistogramReport,
    /// Microseconds from handing a batch over to its being on disk.
    pub wait_us: HistogramReport,
    /// Times at which the index in sled was written anew.
    pub index_rebuilds: u64,
    /// Bytes of memory that the store's own maps take, roughly.
    pub memory_bytes: u64,
    /// Whether there is no room for new messages.
    pub short_of_room: bool,
    /// Recoveries in this process: how often the journal could not be written.
    pub recoveries: u64,
    /// When the last one was, and why.
    pub recovered: Option<String>,
    /// Records that compaction found damaged.
    pub damaged: Vec<String>,
    /// The share of live records in the segment that has the lowest, 0 to 1.
    pub live_share_lowest: f64,
    /// The share of live records in all segments together, 0 to 1.
    pub live_share_average: f64,
    /// Each segment.
    pub by_segment: Vec<SegmentReport>,
}

/// A segment.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct SegmentReport {
    /// Its number.
    pub number: u32,
    /// Where its groups end.
    pub bytes: u64,
    /// Records in it.
    pub records: u32,
    /// Those that live.
    pub live: u32,
}

/// How often values of each size were seen.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct HistogramReport {
    /// How many values.
    pub count: u64,
    /// Their sum.
    pub sum: u64,
    /// The largest.
    pub max: u64,
    /// What half of them do not reach, to a factor of two.
    pub p50: u64,
    /// What 99 of 100 do not reach, to a factor of two.
    pub p99: u64,
    /// The counts: number `n` has those below 2^n that the ones before have not.
    pub buckets: Vec<u64>,
}

/// What `POST /store/backup` takes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BackupRequest {
    /// Where to: an absolute path of a directory that is not there or empty, or holds an earlier backup.
    pub to: PathBuf,
    /// Whether to bring an earlier backup up to date.
    #[serde(default)]
    pub incremental: bool,
}

/// What a backup has done.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupReport {
    /// Where it is.
    pub to: String,
    /// The point of time, in milliseconds since 1970.
    pub time_ms: u64,
    /// The start of the store.
    pub start: u32,
    /// How far the journal was.
    pub position: String,
    /// Files that were copied.
    pub files_copied: u64,
    /// Their bytes.
    pub bytes_copied: u64,
    /// Files of the earlier backup that still hold.
    pub files_kept: u64,
    /// Their bytes.
    pub bytes_kept: u64,
    /// Files of the earlier backup that nothing needs any more.
    pub removed: u64,
}

impl From<store::tools::BackupReport> for BackupReport {
    fn from(report: store::tools::BackupReport) -> Self {
        let store::tools::BackupReport { to, time_ms, start, position, removed, .. } = report;
        Self {
            to,
            time_ms,
            start,
            position,
            files_copied: report.files_copied,
            bytes_copied: report.bytes_copied,
            files_kept: report.files_kept,
            bytes_kept: report.bytes_kept,
            removed,
        }
    }
}

/// As [`Stat::bytes_by_kind`] has them.
const KINDS: [&str; 6] = ["message", "keyed", "commit", "back-out", "prepare", "moved"];

impl From<Stat> for StoreReport {
    fn from(stat: Stat) -> Self {
        let records: u64 = stat.by_segment.iter().map(|segment| u64::from(segment.records)).sum();
        let live: u64 = stat.by_segment.iter().map(|segment| u64::from(segment.live)).sum();
        let share = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
        // An empty segment has nothing that could be dead.
        let with_records = stat.by_segment.iter().filter(|segment| segment.records > 0);
        let lowest =
            with_records.map(|segment| share(segment.live.into(), segment.records.into())).reduce(f64::min);
        Self {
            directory: String::new(),
            start: stat.start,
            messages: stat.messages,
            keys: stat.keys,
            live_bytes: stat.live_bytes,
            segments: stat.segments,
            disk_bytes: stat.disk_bytes,
            body_files: stat.body_files,
            body_bytes: stat.body_bytes,
            groups: stat.groups,
            syncs: stat.syncs,
            records: stat.records,
            bytes_by_kind: KINDS.iter().map(ToString::to_string).zip(stat.bytes_by_kind).collect(),
            written_bytes: stat.written_bytes,
            moved_bytes: stat.moved_bytes,
            moved_share: share(stat.moved_bytes, stat.written_bytes),
            compacted: stat.compacted,
            recycled: stat.recycled,
            checkpoints: stat.checkpoints,
            group_bytes: (&stat.group_bytes).into(),
            sync_us: (&stat.sync_us).into(),
            wait_us: (&stat.wait_us).into(),
            index_rebuilds: stat.index_rebuilds,
            memory_bytes: stat.memory_bytes,
            short_of_room: stat.room == Room::Short,
            recoveries: stat.recoveries,
            recovered: None,
            damaged: stat.damaged,
            live_share_lowest: lowest.unwrap_or_default(),
            live_share_average: share(live, records),
            by_segment: stat.by_segment.iter().map(SegmentReport::from).collect(),
        }
    }
}

impl From<&store::SegmentStat> for SegmentReport {
    fn from(segment: &store::SegmentStat) -> Self {
        let store::SegmentStat { number, bytes, records, live } = *segment;
        Self { number, bytes, records, live }
    }
}

impl From<&Histogram> for HistogramReport {
    fn from(histogram: &Histogram) -> Self {
        Self {
            count: histogram.count(),
            sum: histogram.sum(),
            max: histogram.max(),
            p50: histogram.percentile(50),
            p99: histogram.percentile(99),
            buckets: histogram.buckets().to_vec(),
        }
    }
}

#[cfg(test)]
mod tests {
    use store::SegmentStat;

    use super::*;

    #[test]
    fn shares_are_of_what_there_is() {
        let segment = |number, records, live| SegmentStat { number, bytes: 4096, records, live };
        let mut stat = Stat { written_bytes: 1000, moved_bytes: 250, ..Stat::default() };
        stat.by_segment = vec![segment(1, 10, 1), segment(2, 30, 19), segment(3, 0, 0)];
        stat.bytes_by_kind = [1, 2, 3, 4, 5, 250];
        let report = StoreReport::from(stat);
        let shares = (report.live_share_lowest, report.live_share_average, report.moved_share);
        assert_eq!(shares, (0.1, 0.5, 0.25));
        assert_eq!(report.bytes_by_kind["back-out"], 4);
        assert_eq!(report.bytes_by_kind["moved"], 250);
        let empty = StoreReport::from(Stat::default());
        assert_eq!((empty.live_share_lowest, empty.live_share_average, empty.moved_share), (0.0, 0.0, 0.0));
    }
}
