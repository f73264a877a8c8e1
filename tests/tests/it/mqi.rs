//! The case list of the MQI (`cases/mqi`), played with IBM's own classes against the service: in each shape of the
//! protocol, at each level, and in the other byte order. A row that was not played is a failure like one that came out
//! wrong. What the cases are, and how they are judged, is in `interop/java/Mqi*.java`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use integration_tests::java::Java;
use integration_tests::service::Service;
use integration_tests::tools;

use crate::GATEWAY;

/// The first line of a table of cases.
const HEADER: &str = "id\tverb\toptions\tstate\tcc\treason\tsection";
/// The whole list, on a busy machine.
const TIME: Duration = Duration::from_secs(900);
/// The channel that has every authority.
const CHANNEL: &str = "DEV.ADMIN.SVRCONN";
/// The folder whose cases end the service.
const ENDING: &str = "quiesce";
/// Reasons of mq-objects.md 2.2, ranges apart.
const REASONS: usize = 200;
/// Rows that the list has at least.
const ROWS_MIN: usize = 400;
/// What is played of levels and byte orders that are not the usual ones, if the full counts are not wanted.
const SHORT: &[&str] = &["connect", "group", "inquire", "property"];

/// How the protocol is spoken.
struct Shape {
    /// Conversations on a socket: 0 is shape A, more is shape B.
    sharing: u32,
    /// Keys of the configuration.
    config: &'static str,
}

/// A row of a table.
struct Row {
    id: String,
    completion: u32,
    reason: u32,
    section: String,
}

#[test]
fn mqi_shape_a() {
    play("shape A", &Shape { sharing: 0, config: "" });
}

#[test]
fn mqi_shape_b() {
    play("shape B", &Shape { sharing: 10, config: "" });
}

#[test]
fn mqi_shape_b_fap_13() {
    let shape = Shape { sharing: 10, config: "[queue_manager]\nfap_level_max = 13\n" };
    play_areas("shape B, FAP 13", &shape);
}

#[test]
fn mqi_big_endian() {
    let shape = Shape { sharing: 10, config: "[queue_manager]\nbyte_order = \"big\"\n" };
    play_areas("shape B, big-endian", &shape);
}

/// The folders below: queue managers of other kinds, each with tables of its own.
#[test]
fn mqi_other_queue_managers() {
    for folder in folders().into_iter().filter(|folder| !folder.ends_with(ENDING)) {
        for sharing in [0, 10] {
            play_folder(&folder, &Shape { sharing, config: "" });
        }
    }
}

/// The queue manager ends in order: each case has one of its own, and ends it.
#[test]
fn mqi_quiesce() {
    let folder = cases().join(ENDING);
    for sharing in [0, 10] {
        for row in rows(&folder) {
            let Some(java) = java() else { return };
            let mut service = start(&folder, &Shape { sharing, config: "" });
            let pid = format!("pid={}", service.process().id());
            let args =
                arguments(&service, &folder).into_iter().chain([pid, row.id.clone()]).collect::<Vec<_>>();
            let ended = java.run("Mqi", &args, service.folder(), TIME);
            assert!(
                ended.stdout.contains(&format!("ok {}\n", row.id)),
                "SHARECNV({sharing}): {}",
                ended.stdout
            );
        }
    }
}

#[test]
fn all_tables_are_whole() {
    let all: Vec<PathBuf> = std::iter::once(cases()).chain(folders()).collect();
    let rows: Vec<Row> = all.iter().flat_map(|folder| rows(folder)).collect();
    let mut ids = BTreeSet::new();
    for row in &rows {
        assert!(ids.insert(&row.id), "{} is there twice", row.id);
        assert!(row.completion <= 2, "{}: completion code {}", row.id, row.completion);
        assert_eq!(row.completion == 0, row.reason == 0, "{}: {}/{}", row.id, row.completion, row.reason);
        assert!(is_section(&row.section), "{}: no section: {:?}", row.id, row.section);
    }
    assert!(rows.len() >= ROWS_MIN, "{} rows", rows.len());
    println!("{} rows in {} folders", rows.len(), all.len());
}

/// Every reason of mq-objects.md 2.2: with the cases in which it comes, or with why none can bring it about.
#[test]
fn each_reason_has_its_cases() {
    let all = std::iter::once(cases()).chain(folders());
    let rows: Vec<Row> = all.flat_map(|folder| rows(&folder)).collect();
    let table = std::fs::read_to_string(cases().join("reasons.tsv")).unwrap();
    let (mut numbers, mut given, mut not) = (BTreeSet::new(), 0, 0);
    for line in table.lines().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [number, name, ids, why] = fields[..] else { panic!("four fields: {line}") };
        let reason: u32 = number.parse().unwrap();
        assert!(numbers.insert(reason), "{reason} is there twice");
        assert!(!name.is_empty() && ids.is_empty() != why.is_empty(), "cases, or why there are none: {line}");
        for id in ids.split_whitespace() {
            let row = rows.iter().find(|row| row.id == id);
            let row = row.unwrap_or_else(|| panic!("{reason} {name}: there is no case {id}"));
            assert_eq!(row.reason, reason, "{id} is of another reason");
        }
        if ids.is_empty() {
            not += 1;
        } else {
            given += 1;
        }
    }
    assert!(numbers.len() >= REASONS, "{} reasons", numbers.len());
    println!("{} reasons: {given} with cases, {not} with why there are none", numbers.len());
}

/// A document and what stands where in it.
fn is_section(text: &str) -> bool {
    let after = |document: &str| text.strip_prefix(document).and_then(|rest| rest.strip_prefix(' '));
    let numbered =
        ["mq-objects", "mq-wire", "mq-wire-observed", "mq-wire-observed-base"].into_iter().find_map(after);
    numbered.is_some_and(|section| section.starts_with(|first: char| first.is_ascii_digit()))
        || after("IBM MQ reference,").is_some_and(|topic| topic.len() > 2)
}

fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("cases/mqi")
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn folders() -> Vec<PathBuf> {
    entries(&cases()).into_iter().filter(|path| path.is_dir()).collect()
}

fn rows(folder: &Path) -> Vec<Row> {
    let tables = entries(folder).into_iter().filter(|path| path.extension().is_some_and(|end| end == "tsv"));
    let texts = tables.map(|table| std::fs::read_to_string(table).unwrap());
    texts.filter(|text| text.lines().next() == Some(HEADER)).flat_map(|text| table(&text)).collect()
}

fn table(text: &str) -> Vec<Row> {
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('\t').collect();
        let [id, _verb, _options, _state, completion, reason, section] = cells[..] else {
            panic!("not seven cells: {line}");
        };
        Row {
            id: id.to_owned(),
            completion: completion.parse().unwrap(),
            reason: reason.parse().unwrap(),
            section: section.to_owned(),
        }
    };
    text.lines().skip(1).filter(|line| !line.trim().is_empty()).map(row).collect()
}

/// Compiled once for all tests.
fn java() -> Option<&'static Java> {
    static JAVA: OnceLock<Option<Java>> = OnceLock::new();
    let prepare = || {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mqi-it");
        std::fs::create_dir_all(&folder).unwrap();
        Java::prepare(&folder)
    };
    JAVA.get_or_init(prepare).as_ref()
}

#[track_caller]
fn play(name: &str, shape: &Shape) {
    play_in(name, &cases(), shape);
}

/// The whole list with the full counts, else [`SHORT`].
#[track_caller]
fn play_areas(name: &str, shape: &Shape) {
    if tools::full() {
        return play(name, shape);
    }
    let is_short = |id: &str| SHORT.iter().any(|area| id.to_ascii_lowercase().starts_with(area));
    let wanted = rows(&cases()).into_iter().map(|row| row.id).filter(|id| is_short(id)).collect();
    play_rows(name, &cases(), shape, SHORT, &wanted);
}

#[track_caller]
fn play_folder(folder: &Path, shape: &Shape) {
    let name = format!("{}, {} conversations", folder.file_name().unwrap().display(), shape.sharing);
    play_in(&name, folder, shape);
}

/// Plays the tables of a folder: each row must be there, and be as the table says.
#[track_caller]
fn play_in(name: &str, folder: &Path, shape: &Shape) {
    let wanted = rows(folder).into_iter().map(|row| row.id).collect();
    play_rows(name, folder, shape, &[], &wanted);
}

#[track_caller]
fn play_rows(name: &str, folder: &Path, shape: &Shape, areas: &[&str], wanted: &BTreeSet<String>) {
    let Some(java) = java() else { return };
    let service = start(folder, shape);
    let mut args = arguments(&service, folder);
    args.extend(areas.iter().map(|area| (*area).to_owned()));
    let ended = java.run("Mqi", &args, service.folder(), TIME);
    let good: BTreeSet<String> =
        ended.stdout.lines().filter_map(|line| line.strip_prefix("ok ")).map(str::to_owned).collect();
    let failed: Vec<&str> = ended.stdout.lines().filter(|line| line.starts_with("FAILED")).collect();
    println!("{name}: {} rows, {} as the table says, {} not", wanted.len(), good.len(), failed.len());
    let missing: Vec<&String> = wanted.difference(&good).collect();
    assert!(
        failed.is_empty() && missing.is_empty() && ended.status.success(),
        "{name}: {failed:#?}\nnot good: {missing:?}\n{}",
        ended.stderr
    );
}

fn arguments(service: &Service, folder: &Path) -> Vec<String> {
    vec![service.mq().port().to_string(), CHANNEL.to_owned(), folder.display().to_string()]
}

/// The service with the objects of the cases, those of the folder, and its channel in the shape wanted.
fn start(folder: &Path, shape: &Shape) -> Service {
    let mut service = Service::prepare(GATEWAY);
    if !shape.config.is_empty() {
        service = service.with_config(shape.config);
    }
    let channel = service.folder().join("shape.mqsc");
    let definition = format!(
        "DEFINE CHANNEL({CHANNEL}) CHLTYPE(SVRCONN) TRPTYPE(TCP) SHARECNV({}) REPLACE\n",
        shape.sharing
    );
    std::fs::write(&channel, definition).unwrap();
    let scripts =
        [cases().join("setup.mqsc"), cases().join("setup-messages.mqsc"), folder.join("setup.mqsc"), channel];
    let mut seen = BTreeSet::new();
    for script in scripts.into_iter().filter(|script| script.exists()) {
        if seen.insert(script.clone()) {
            service = service.with(&["--mqsc", &script.display().to_string()]);
        }
    }
    service.restart();
    service
}
