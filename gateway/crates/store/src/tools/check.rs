//! `store check`: everything that is wrong with a stopped store or a backup, what it means and what to do.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use super::bodies;
use super::segment::{DIRECTORY, Lost, path_of};
use super::source::Source;
use super::survey::{CHECKPOINT, Fault, FaultKind, Found, Options, Survey, survey};
use super::unfinished;
use crate::format::VERSION;
use crate::{Id, OwnerId, StoreError};

/// More ids and owners than this are counted, not listed.
const LISTED_MAX: usize = 100;

const RESTORE_OR_SALVAGE: &str =
    "restore a backup (store restore), or see what can be saved from this (store salvage)";
const REST_IS_WHOLE: &str = "nothing needs it: no message is affected";

/// What a check has found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// The directory.
    pub directory: String,
    /// Whether it is a backup.
    pub backup: bool,
    /// What was read: segments, messages, keys, files of bodies.
    pub segments: u64,
    /// Live messages that were read.
    pub messages: u64,
    /// Keys that were read.
    pub keys: u64,
    /// Files of bodies that live messages name.
    pub bodies: u64,
    /// Bytes that were read.
    pub bytes: u64,
    /// What is wrong, worst first.
    pub findings: Vec<Finding>,
}

impl CheckReport {
    /// Whether something is lost, or a start would stop.
    pub fn is_damaged(&self) -> bool {
        self.findings.iter().any(|finding| finding.severity == Severity::Damage)
    }
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Something that is needed is not there, or a start would stop.
    Damage,
    /// Not as it was written, but nothing is lost by it.
    Harmless,
    /// Not wrong, but worth knowing.
    Note,
}

/// Something that a check has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// The file.
    pub path: String,
    /// Where in it, if it is a place.
    pub offset: Option<u64>,
    /// What was found.
    pub what: String,
    /// What to do.
    pub to_do: String,
    /// What it means for messages.
    pub affected: Affected,
}

/// The messages that a finding affects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Affected {
    /// In words.
    pub meaning: String,
    /// How many records that live, messages and others, as far as that is known.
    pub records: u64,
    /// Messages that are known by id, at most a hundred.
    pub ids: Vec<Id>,
    /// Whose they are, at most a hundred.
    pub owners: Vec<OwnerId>,
}

/// Checks a store that nobody uses, or a backup. Changes nothing.
pub fn check(directory: &Path) -> Result<CheckReport, StoreError> {
    let source = Source::new(directory)?;
    let _held = source.hold()?;
    let mut checker = Checker {
        report: CheckReport {
            directory: directory.display().to_string(),
            backup: source.manifest().is_some(),
            ..CheckReport::default()
        },
        source,
    };
    if checker.is_store()? {
        let survey = survey(&checker.source, Options::default())?;
        checker.checkpoint(&survey);
        checker.faults(&survey);
        checker.segments(&survey)?;
        checker.bodies(&survey)?;
        let report = &mut checker.report;
        report.segments = survey.parts.len() as u64;
        report.messages = survey.contents.messages.len() as u64;
        report.keys = survey.contents.keyed.len() as u64;
        report.bytes += survey.parts.values().map(|part| part.file_bytes).sum::<u64>();
    }
    checker.root()?;
    checker.report.findings.sort_by_key(|finding| finding.severity);
    Ok(checker.report)
}

#[derive(Debug)]
struct Checker {
    source: Source,
    report: CheckReport,
}

impl Checker {
    fn find(
        &mut self,
        severity: Severity,
        path: &str,
        offset: Option<u64>,
        (what, to_do): (impl Into<String>, &str),
        affected: Affected,
    ) {
        self.report.findings.push(Finding {
            severity,
            path: self.source.show(path),
            offset,
            what: what.into(),
            to_do: to_do.to_owned(),
            affected,
        });
    }

    /// The version; whether there is a store that we know.
    fn is_store(&mut self) -> Result<bool, StoreError> {
        if let Some(manifest) = self.source.manifest() {
            if manifest.format > VERSION {
                return Err(self.too_new(manifest.format));
            }
            self.backup_files()?;
            return Ok(true);
        }
        let Some(bytes) = self.source.read("format")? else {
            let no_store = self.source.list(DIRECTORY)?.is_empty();
            let (what, to_do) = if no_store {
                ("this is no data directory: there is no format file and no journal", "give the right --data")
            } else {
                (
                    "it is missing, but there is a journal: a start refuses; perhaps a restore was cut off, or this \
                     is an unfinished backup",
                    "do again what was cut off; or write the text 2 and a line feed into it if everything else is whole",
                )
            };
            self.find(Severity::Damage, "format", None, (what, to_do), all_or_nothing());
            return Ok(!no_store);
        };
        // An empty one may also be what is left of a damaged one.
        let begun = bytes.is_empty() && self.source.list(DIRECTORY)?.is_empty();
        if begun || unfinished::is(&bytes) {
            let said = (
                "what restore or salvage was making here was cut off: this is no store",
                "remove the directory, and do it again",
            );
            self.find(Severity::Damage, "format", None, said, all_or_nothing());
            return Ok(false);
        }
        let version = std::str::from_utf8(&bytes).ok().and_then(|text| text.trim().parse::<u32>().ok());
        match version {
            None => {
                let to_do = "write the text 2 and a line feed into it if everything else is whole";
                self.find(
                    Severity::Damage,
                    "format",
                    Some(0),
                    ("no version number", to_do),
                    all_or_nothing(),
                );
            }
            Some(version) if version > VERSION => return Err(self.too_new(version)),
            Some(version) if version < VERSION => {
                let what = format!(
                    "format {version}: the next start makes it {VERSION}, and older programs refuse it then"
                );
                self.find(Severity::Note, "format", None, (what, "nothing"), Affected::default());
            }
            Some(_) => {}
        }
        Ok(true)
    }

    fn too_new(&self, found: u32) -> StoreError {
        StoreError::Format { directory: self.report.directory.clone(), found, known: VERSION }
    }

    /// In a backup every file has its checksum in the list.
    fn backup_files(&mut self) -> Result<(), StoreError> {
        let files = self.source.manifest().map(|manifest| manifest.files.clone()).unwrap_or_default();
        for file in files {
            let bytes = self.source.read(&file.path)?;
            self.report.bytes += file.length;
            let what = match bytes {
                None => "the list of the backup names it, and it is missing",
                Some(bytes) if bytes.len() as u64 != file.length => {
                    "it has another length than when it was written"
                }
                Some(bytes) if crc32fast::hash(&bytes) != file.checksum => "it is not as it was written",
                Some(_) => continue,
            };
            let to_do = "make another backup; to save what is in this one, store salvage";
            let affected =
                Affected { meaning: "a restore refuses this backup".to_owned(), ..Affected::default() };
            self.find(Severity::Damage, &file.path, None, (what, to_do), affected);
        }
        Ok(())
    }

    fn checkpoint(&mut self, survey: &Survey) {
        let what = match &survey.checkpoint {
            Found::Good(_, true) => return,
            Found::Good(_, false) => {
                let said = ("one of its two copies is damaged", "nothing: the next checkpoint writes both");
                let none = Affected { meaning: "no message is affected".to_owned(), ..Affected::default() };
                return self.find(Severity::Harmless, CHECKPOINT, None, said, none);
            }
            Found::Missing => "it is missing",
            Found::Broken => "it does not verify",
        };
        let meaning =
            "without it is not known which messages live: those that were taken since long could come back";
        let affected = Affected { meaning: meaning.to_owned(), ..Affected::default() };
        self.find(Severity::Damage, CHECKPOINT, Some(0), (what, RESTORE_OR_SALVAGE), affected);
    }

    fn faults(&mut self, survey: &Survey) {
        for fault in &survey.faults {
            let path = path_of(fault.segment);
            let affected = affected(fault, survey);
            let (severity, to_do) = match fault.kind {
                FaultKind::Missing if fault.lost.is_empty() => (
                    Severity::Damage,
                    "put it back, if it was moved away: a start needs it although nothing in it lives",
                ),
                FaultKind::Missing | FaultKind::Journal => (Severity::Damage, RESTORE_OR_SALVAGE),
                FaultKind::Live if affected.records == 0 && !fault.lost.is_empty() => {
                    (Severity::Harmless, "nothing: it goes with its segment")
                }
                FaultKind::Live => (Severity::Damage, RESTORE_OR_SALVAGE),
                FaultKind::Dead if self.is_sealed(survey, fault.segment) => {
                    (Severity::Harmless, "nothing: it goes with its segment")
                }
                // Without a footer the groups are what a start reads.
                FaultKind::Dead => (Severity::Damage, RESTORE_OR_SALVAGE),
                FaultKind::Footer | FaultKind::Unread => {
                    (Severity::Harmless, "nothing: it goes with its segment")
                }
            };
            self.find(severity, &path, Some(fault.offset), (fault.what.clone(), to_do), affected);
        }
    }

    fn is_sealed(&self, survey: &Survey, segment: u32) -> bool {
        survey.parts.get(&segment).is_some_and(|part| part.sealed)
    }

    fn segments(&mut self, survey: &Survey) -> Result<(), StoreError> {
        let none = || Affected { meaning: REST_IS_WHOLE.to_owned(), ..Affected::default() };
        for (number, part) in &survey.parts {
            let path = path_of(*number);
            if part.leftover {
                let said = (
                    "the checkpoint does not need this segment any more",
                    "nothing: the next start removes it",
                );
                self.find(Severity::Note, &path, None, said, none());
            }
            self.permissions(&path)?;
        }
        for name in &survey.others {
            let path = format!("{DIRECTORY}/{name}");
            let spare = name.strip_prefix("spare-").is_some_and(|n| n.parse::<u64>().is_ok());
            if spare || name == "reserve" || name.starts_with("reserve-") {
                continue;
            }
            let said = ("this is no file of a store", "see who put it there");
            self.find(Severity::Note, &path, None, said, none());
        }
        Ok(())
    }

    fn permissions(&mut self, path: &str) -> Result<(), StoreError> {
        // A backup is only read.
        if self.report.backup {
            return Ok(());
        }
        if self.source.open(path)?.is_some_and(|input| !input.writable) {
            let said = ("nobody may write it, so a start stops here", "chmod u+w it");
            self.find(Severity::Damage, path, None, said, all_or_nothing());
        }
        Ok(())
    }

    fn bodies(&mut self, survey: &Survey) -> Result<(), StoreError> {
        let mut named = HashSet::new();
        for message in survey.contents.messages.values() {
            let Some(name) = &message.file else { continue };
            named.insert(name.number);
            self.report.bytes += name.length;
            if let Some(what) = bodies::fault(&self.source, name)? {
                let affected = Affected {
                    meaning: "the message is there, but its body cannot be read".to_owned(),
                    records: 1,
                    ids: vec![message.entry.id],
                    owners: vec![message.entry.owner],
                };
                let path = crate::bodies::path_of(name.number);
                self.find(Severity::Damage, &path, Some(0), (what, RESTORE_OR_SALVAGE), affected);
            }
        }
        self.report.bodies = named.len() as u64;
        let present = bodies::list(&self.source)?;
        let none = || Affected { meaning: REST_IS_WHOLE.to_owned(), ..Affected::default() };
        for (number, _) in present.files {
            let path = crate::bodies::path_of(number);
            if !named.contains(&number) {
                let said = ("no message names this file", "nothing: a start removes it");
                self.find(Severity::Note, &path, None, said, none());
            }
        }
        for name in present.others {
            let path = format!("{}/{name}", crate::bodies::DIRECTORY);
            let said = ("this is no file of a store", "see who put it there");
            self.find(Severity::Note, &path, None, said, none());
        }
        Ok(())
    }

    /// What else is in the directory.
    fn root(&mut self) -> Result<(), StoreError> {
        if self.report.backup {
            return Ok(());
        }
        for path in ["format", CHECKPOINT, "lock"] {
            self.permissions(path)?;
        }
        for entry in self.source.list("")? {
            let (what, to_do) = match entry.name.as_str() {
                "lock" | "format" | CHECKPOINT | DIRECTORY | crate::bodies::DIRECTORY | "index" => continue,
                "endpoints.json" | "admin.token" | "salvage.json" => continue,
                "checkpoint.new" | "format.new" | "endpoints.json.new" => {
                    ("it was being written when the service ended", "nothing: it is not read")
                }
                "restored" => {
                    ("no start was done since the restore: the next one takes a new identity", "nothing")
                }
                _ => ("this is no file of a store", "see who put it there"),
            };
            self.find(Severity::Note, &entry.name, None, (what, to_do), Affected::default());
        }
        Ok(())
    }
}

fn all_or_nothing() -> Affected {
    Affected {
        meaning: "a start stops here; no message is lost by this itself".to_owned(),
        ..Affected::default()
    }
}

/// What a fault in a segment means for the messages.
fn affected(fault: &Fault, survey: &Survey) -> Affected {
    let mut affected = Affected::default();
    let (mut ids, mut owners) = (BTreeSet::new(), BTreeSet::new());
    for lost in &fault.lost {
        let entry = lost.head.and_then(|head| head.recovered(lost.place));
        // What was ended behind the checkpoint is no loss.
        if entry.is_some_and(|entry| survey.contents.dead.contains(&entry.id)) {
            continue;
        }
        affected.records += u64::from(lost.count);
        if let Some(entry) = entry {
            ids.insert(entry.id);
            owners.insert(entry.owner);
        }
    }
    affected.meaning = meaning(fault, affected.records);
    affected.ids = ids.into_iter().take(LISTED_MAX).collect();
    affected.owners = owners.into_iter().take(LISTED_MAX).collect();
    if fault.kind == FaultKind::Dead {
        affected = Affected { meaning: affected.meaning, ..Affected::default() };
    }
    affected
}

fn meaning(fault: &Fault, records: u64) -> String {
    let numbers = || Lost::numbers(&fault.lost);
    match fault.kind {
        FaultKind::Missing if records == 0 => "no message is affected".to_owned(),
        FaultKind::Missing => format!("{records} records that live are gone with it"),
        FaultKind::Journal if records == 0 => {
            "a start stops here; what stood there may have been new messages, or the end of older ones"
                .to_owned()
        }
        FaultKind::Journal => format!("a start stops here; lost are records {} of the segment", numbers()),
        FaultKind::Live if fault.lost.is_empty() => {
            "a start may take something else than what was written".to_owned()
        }
        FaultKind::Live if records == 0 => {
            "what stood there was ended since: no message is affected".to_owned()
        }
        FaultKind::Live => {
            format!(
                "records {} of the segment cannot be read; the start stops, or their reader is told",
                numbers()
            )
        }
        FaultKind::Dead if fault.lost.is_empty() => {
            "every record there can be read: no message is affected".to_owned()
        }
        FaultKind::Dead => "only dead records stand there: no message is affected".to_owned(),
        FaultKind::Footer => "no message is affected; a start takes longer".to_owned(),
        FaultKind::Unread => "nothing reads these bytes: no message is affected".to_owned(),
    }
}
