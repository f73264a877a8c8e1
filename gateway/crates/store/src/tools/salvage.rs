//! `store salvage`: a new store of what can still be read, and a list of what was saved, lost and is doubtful.
//!
//! What lives is decided by the checkpoint's list if there is one, else by the whole journal: what it says was ended is
//! ended. A message is doubtful when the record that ended it may be among what is lost, or is in a segment that is not
//! there; or when the record is that would have decided its unit. Such a unit is taken for committed: that a message is
//! doubled can be found and put right, that one is gone cannot. A unit that is prepared stays so.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::contents::Message;
use super::json;
use super::rebuild::Rebuild;
use super::restore::{mark_restored, must_be_empty};
use super::segment::{Lost, Segment, path_of};
use super::source::Source;
use super::survey::{FaultKind, Found, Options, Survey, survey};
use super::unfinished;
use crate::files::real::RealFiles;
use crate::format::{VERSION, record};
use crate::{Id, KeyedChange, Kill, NewMessage, OwnerId, Prepare, StoreError, UnitId, bodies};

/// The list, in the new data directory.
pub(crate) const LIST: &str = "salvage.json";

/// What a salvage has done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SalvageReport {
    /// What was read.
    pub from: String,
    /// The new store.
    pub to: String,
    /// Each message that was saved, those of prepared units included.
    pub saved: Vec<Saved>,
    /// Keys that were saved.
    pub keys: u64,
    /// Prepared units that were saved.
    pub prepared: u64,
    /// Units that were never decided: what they wrote was never real.
    pub undecided: u64,
    /// Places at which something is lost.
    pub lost: Vec<LostPart>,
    /// What is perhaps not as it should be; the messages are among those that were saved.
    pub doubtful: Vec<Doubt>,
    /// What to know before the store is used.
    pub notes: Vec<String>,
}

/// A message that was saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Saved {
    /// Its id in the old store.
    pub id: Id,
    /// Its id in the new one.
    pub new_id: Id,
    /// Whose it is.
    pub owner: OwnerId,
}

/// A place at which something is lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostPart {
    /// The file.
    pub path: String,
    /// Where in it.
    pub offset: u64,
    /// What was found there.
    pub what: String,
    /// Which records of the segment, if that is known.
    pub records: String,
    /// Messages that are known by id.
    pub ids: Vec<Id>,
    /// Whose these are.
    pub owners: Vec<OwnerId>,
}

/// A message that is perhaps not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doubt {
    /// Its id in the old store.
    pub id: Id,
    /// Whose it is.
    pub owner: OwnerId,
    /// Why.
    pub why: &'static str,
}

const MAY_BE_ENDED: &str = "perhaps doubled: the record that ended it may be among what is lost; it may have been delivered, taken or expired";
const MAY_BE_UNDECIDED: &str =
    "perhaps never committed: the record that ended its unit of work is lost, and it was taken for a commit";
const MAY_BE_DECIDED: &str =
    "perhaps decided already: the record that ended its prepared unit of work may be among what is lost";

/// Saves what can be read of the store in `from` into a new store in `to`, which is not there or empty.
pub fn salvage(from: &Path, to: &Path) -> Result<SalvageReport, StoreError> {
    let source = Source::new(from)?;
    let _held = source.hold()?;
    must_be_empty(to, "salvage into")?;
    let directory = building(to)?;
    let survey = survey(&source, Options { lenient: true, salvage: true })?;
    let mut report = SalvageReport {
        from: from.display().to_string(),
        to: to.display().to_string(),
        ..SalvageReport::default()
    };
    report.undecided = survey.contents.cut_off + survey.cut_off.len() as u64;
    lost_parts(&source, &survey, &mut report);
    let start = survey.contents.messages.keys().map(|id| id.start()).max().unwrap_or(0);
    let store = Rebuild::new(&directory, survey.newest_start.max(start))?;
    fill(&source, &survey, store, &mut report)?;
    report.doubtful = doubtful(&survey, &report.saved);
    notes(&source, &survey, &mut report);
    finish(&directory, to, &report)?;
    Ok(report)
}

/// Where it is built: a half-filled store must not be taken for one.
fn building(to: &Path) -> Result<PathBuf, StoreError> {
    let refuse = |path: &Path, error: &str| StoreError::Io {
        action: "salvage into",
        path: path.display().to_string(),
        error: error.to_owned(),
    };
    let name = to.file_name().ok_or_else(|| refuse(to, "give the name of a directory"))?;
    let mut name = name.to_owned();
    name.push(".unfinished");
    let path = to.with_file_name(name);
    if path.exists() {
        return Err(refuse(&path, "it is there already, from a salvage that was cut off: remove it"));
    }
    Ok(path)
}

fn doubtful(survey: &Survey, saved: &[Saved]) -> Vec<Doubt> {
    let contents = &survey.contents;
    let why = |saved: &Saved| {
        let message = contents.messages.get(&saved.id)?;
        if contents.assumed.contains(&saved.id) {
            Some(MAY_BE_UNDECIDED)
        } else if message.unit.is_some_and(|unit| contents.perhaps_decided.contains(&unit)) {
            Some(MAY_BE_DECIDED)
        } else {
            contents.gap.filter(|gap| *gap > message.lived).map(|_| MAY_BE_ENDED)
        }
    };
    let doubt = |saved: &Saved| Some(Doubt { id: saved.id, owner: saved.owner, why: why(saved)? });
    saved.iter().filter_map(doubt).collect()
}

fn lost_parts(source: &Source, survey: &Survey, report: &mut SalvageReport) {
    for fault in &survey.faults {
        let journal = fault.kind == FaultKind::Journal && (fault.unknown || !fault.lost.is_empty());
        let live = matches!(fault.kind, FaultKind::Live | FaultKind::Missing) && !fault.lost.is_empty();
        if !journal && !live {
            continue;
        }
        // One that is there after all was copied, or moved.
        let gone = |id: &Id| !survey.contents.messages.contains_key(id) && !survey.contents.dead.contains(id);
        let entries = fault.lost.iter().filter_map(|lost| lost.head?.recovered(lost.place));
        let entries: Vec<_> = entries.filter(|entry| gone(&entry.id)).collect();
        let owners: BTreeSet<OwnerId> = entries.iter().map(|entry| entry.owner).collect();
        report.lost.push(LostPart {
            path: source.show(&path_of(fault.segment)),
            offset: fault.offset,
            what: fault.what.clone(),
            records: if fault.unknown { "not known".to_owned() } else { Lost::numbers(&fault.lost) },
            ids: entries.iter().map(|entry| entry.id).collect(),
            owners: owners.into_iter().collect(),
        });
    }
}

/// What a message consists of.
struct Content {
    envelope: Bytes,
    inline: Bytes,
    file: Option<Vec<u8>>,
}

/// Reads messages from their segments.
struct Reader<'a> {
    source: &'a Source,
    open: BTreeMap<u32, Segment>,
}

impl Reader<'_> {
    fn read(&mut self, message: &Message) -> Result<Result<Content, &'static str>, StoreError> {
        let place = message.entry.place;
        if !self.open.contains_key(&place.segment)
            && let Some(segment) = Segment::open(self.source, place.segment)?
        {
            self.open.insert(place.segment, segment);
        }
        let Some(segment) = self.open.get(&place.segment) else {
            return Ok(Err("the segment is missing"));
        };
        let bytes = segment.input.read(u64::from(place.offset), message.length as usize)?;
        let head = record::split(&bytes).and_then(|record| record::head(record)?.recovered(place));
        let Some(head) = head.filter(|head| head.id == message.entry.id) else {
            return Ok(Err("the record does not verify any more"));
        };
        let bytes = Bytes::from(bytes);
        let body_at = record::MESSAGE_HEAD as usize + head.envelope_length as usize;
        let envelope = bytes.slice(record::MESSAGE_HEAD as usize..body_at);
        let inline = bytes.slice(body_at..body_at + head.body_length as usize);
        let file = match &message.file {
            None => None,
            Some(name) => match super::bodies::read(self.source, name)? {
                Some(bytes) => Some(bytes),
                None => return Ok(Err("the file of its body is missing or does not verify")),
            },
        };
        Ok(Ok(Content { envelope, inline, file }))
    }
}

/// Writes what the old store held into the new one.
fn fill(
    source: &Source,
    survey: &Survey,
    mut store: Rebuild,
    report: &mut SalvageReport,
) -> Result<(), StoreError> {
    let contents = &survey.contents;
    for (key, (value, _)) in &contents.keyed {
        store.keyed(None, KeyedChange { key: key.clone(), value: Some(value.clone()) })?;
    }
    report.keys = contents.keyed.len() as u64;
    let mut kills: HashMap<Id, Option<Kill>> = HashMap::new();
    let mut units: BTreeMap<UnitId, UnitId> = BTreeMap::new();
    for (unit, written) in &contents.units {
        units.insert(*unit, store.unit());
        kills.extend(written.prepared.iter().flat_map(|p| &p.0).map(|id| (*id, None)));
    }
    let mut reader = Reader { source, open: BTreeMap::new() };
    for (id, message) in &contents.messages {
        let entry = &message.entry;
        let Content { envelope, inline, file } = match reader.read(message)? {
            Ok(content) => content,
            Err(what) => {
                report.lost.push(of_message(source, message, what));
                continue;
            }
        };
        let (body, file) = match file {
            None => (inline, None),
            Some(end) => {
                let file = store.body_file(&end)?;
                (Bytes::from([inline.as_ref(), &end].concat()), Some(file))
            }
        };
        let stored = store.message(NewMessage {
            unit: message.unit.and_then(|unit| units.get(&unit).copied()),
            owner: entry.owner,
            order: Some(entry.order),
            priority: entry.priority,
            persistent: entry.persistent,
            expiry_ms: entry.expiry_ms,
            tags: entry.tags,
            envelope,
            body,
            file,
        })?;
        report.saved.push(Saved { id: *id, new_id: stored.id, owner: entry.owner });
        if let Some(kill) = kills.get_mut(id) {
            *kill = Some(Kill { id: stored.id, place: stored.place });
        }
    }
    for (old, written) in &contents.units {
        let Some(unit) = units.get(old).copied() else { continue };
        for (change, _) in &written.changes {
            store.keyed(Some(unit), change.clone())?;
        }
        let Some((ids, note, _)) = &written.prepared else { continue };
        let kills = ids.iter().filter_map(|id| kills.get(id).copied().flatten()).collect();
        store.prepare(Prepare { unit, kills, note: note.clone() })?;
        report.prepared += 1;
    }
    store.finish()
}

fn of_message(source: &Source, message: &Message, what: &str) -> LostPart {
    let entry = &message.entry;
    let (path, offset) = match &message.file {
        Some(name) => (bodies::path_of(name.number), 0),
        None => (path_of(entry.place.segment), u64::from(entry.place.offset)),
    };
    LostPart {
        path: source.show(&path),
        offset,
        what: what.to_owned(),
        records: entry.place.record.to_string(),
        ids: vec![entry.id],
        owners: vec![entry.owner],
    }
}

fn notes(source: &Source, survey: &Survey, report: &mut SalvageReport) {
    let notes = &mut report.notes;
    if !matches!(survey.checkpoint, Found::Good(..)) {
        notes.push(
            "The checkpoint cannot be read, so what lives was found from the journal alone: what was ended in segments \
             that are gone may have come back, keys that were removed there too."
                .to_owned(),
        );
        if !survey.missing.is_empty() {
            let one = |(first, last): &(u32, u32)| match last - first {
                0 => first.to_string(),
                _ => format!("{first} to {last}"),
            };
            let numbers: Vec<String> = survey.missing.iter().map(one).collect();
            notes.push(format!(
                "Segments that are not there: {}. Most likely nothing lived in them any more and they were dropped; if \
                 they were lost, what they held is lost too.",
                numbers.join(", ")
            ));
        }
    }
    let version = source.read("format").ok().flatten();
    let version = version.as_deref().and_then(|bytes| std::str::from_utf8(bytes).ok());
    if source.manifest().is_none() && version.and_then(|v| v.trim().parse::<u32>().ok()) != Some(VERSION) {
        notes.push(format!("The files were read as those of format {VERSION}."));
    }
    if survey.faults.iter().any(|fault| matches!(fault.kind, FaultKind::Journal | FaultKind::Live)) {
        notes.push(
            "Keys (definitions, devices, marks, counters) may have an older value than they had, where the newer one is \
             among what is lost."
                .to_owned(),
        );
    }
    notes.push(
        "The messages have new ids; their order is kept. Keys were copied as they are, so ids in them still mean the old \
         store: a mark of what a device has in doubt works by order and still holds, but a purge that was not finished \
         hides nothing any more, and an entry of the outbox that names another message finds none."
            .to_owned(),
    );
    notes.push(
        "At its first start the store takes a new identity. Devices may see again what they had confirmed; a remote queue \
         manager's synchronization message is of the old identity, so sources and outbox stop and say so instead of guessing."
            .to_owned(),
    );
    notes
        .push("Keep the damaged directory, and never start it again once this store was started.".to_owned());
}

/// Writes the list, marks the store as a restored one and gives it its name.
fn finish(directory: &Path, to: &Path, report: &SalvageReport) -> Result<(), StoreError> {
    let failed = |action: &'static str, path: &Path| {
        let path = path.display().to_string();
        move |error: std::io::Error| StoreError::Io { action, path, error: error.to_string() }
    };
    let path = directory.join(LIST);
    let write = || {
        let file = std::fs::File::create(&path)?;
        let mut out = BufWriter::new(file);
        write_list(&mut out, report)?;
        out.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()
    };
    write().map_err(failed("write", &path))?;
    let files = RealFiles::new(directory);
    mark_restored(&files)?;
    unfinished::end(&files, VERSION)?;
    std::fs::rename(directory, to).map_err(failed("rename", directory))?;
    let parent = to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let synced = std::fs::File::open(parent).and_then(|parent| parent.sync_all());
    synced.map_err(failed("sync", parent))
}

fn write_list(out: &mut impl Write, report: &SalvageReport) -> std::io::Result<()> {
    let ids = |ids: &[Id]| ids.iter().map(|id| json::text(&id.to_string())).collect::<Vec<_>>().join(", ");
    let owners = |owners: &[OwnerId]| owners.iter().map(|owner| owner.0.to_string()).collect::<Vec<_>>();
    writeln!(out, "{{\n  \"from\": {},\n  \"to\": {},", json::text(&report.from), json::text(&report.to))?;
    let SalvageReport { keys, prepared, undecided, .. } = report;
    writeln!(out, "  \"keys\": {keys},\n  \"prepared\": {prepared},\n  \"undecided\": {undecided},")?;
    json::list(out, "notes", &report.notes, |note| json::text(note))?;
    writeln!(out, ",")?;
    json::list(out, "lost", &report.lost, |lost| {
        format!(
            "{{\"path\": {}, \"offset\": {}, \"what\": {}, \"records\": {}, \"ids\": [{}], \"owners\": [{}]}}",
            json::text(&lost.path),
            lost.offset,
            json::text(&lost.what),
            json::text(&lost.records),
            ids(&lost.ids),
            owners(&lost.owners).join(", ")
        )
    })?;
    writeln!(out, ",")?;
    json::list(out, "doubtful", &report.doubtful, |doubt| {
        let (id, why) = (json::text(&doubt.id.to_string()), json::text(doubt.why));
        format!("{{\"id\": {id}, \"owner\": {}, \"why\": {why}}}", doubt.owner.0)
    })?;
    writeln!(out, ",")?;
    json::list(out, "saved", &report.saved, |saved| {
        let (id, new) = (json::text(&saved.id.to_string()), json::text(&saved.new_id.to_string()));
        format!("{{\"id\": {id}, \"new_id\": {new}, \"owner\": {}}}", saved.owner.0)
    })?;
    writeln!(out, "\n}}")
}
