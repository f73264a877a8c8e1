//! What the records mean: the second half of FORMAT.md 3, and step 1 of 6 for the single record.

use std::collections::{BTreeMap, BTreeSet};

use super::checkpoint::Checkpoint;
use super::records::{Content, MessageRecord, Promise, Record};

#[derive(Debug, Default)]
pub(super) struct State<'a> {
    /// The real ones, by id.
    pub(super) messages: BTreeMap<u64, MessageRecord<'a>>,
    pub(super) keyed: BTreeMap<&'a [u8], &'a [u8]>,
    /// Those undecided, by id.
    pub(super) units: BTreeMap<u64, Unit<'a>>,
    /// Ids of all messages read: an id is given once.
    read: BTreeSet<u64>,
    /// Keys of all real changes that the checkpoint's lists let live.
    listed: BTreeSet<&'a [u8]>,
}

#[derive(Debug, Default)]
pub(super) struct Unit<'a> {
    pub(super) messages: Vec<MessageRecord<'a>>,
    /// In the order in which they were written.
    pub(super) changes: Vec<(&'a [u8], Option<&'a [u8]>)>,
    /// There once it is prepared.
    pub(super) promise: Option<Promise<'a>>,
}

impl<'a> State<'a> {
    /// A record that lives by the checkpoint's lists.
    pub(super) fn take_listed(
        &mut self,
        record: Record<'a>,
        checkpoint: &Checkpoint,
    ) -> Result<(), &'static str> {
        let prepared = checkpoint.prepared.contains(&record.unit);
        let undecided = record.unit != 0 && (prepared || checkpoint.open.contains(&record.unit));
        let unit = if undecided { record.unit } else { 0 };
        match record.content {
            Content::Message(message) => self.message(message, unit),
            Content::Keyed { key, value } => {
                // Chosen: of a key at most one real record lives; with two, nothing says which was made last.
                if !undecided && !self.listed.insert(key) {
                    return Err("the checkpoint lets two values of one key live");
                }
                self.change(key, value, unit);
                Ok(())
            }
            Content::Prepare(promise) if undecided && prepared => {
                let unit = self.units.entry(unit).or_default();
                match unit.promise.replace(promise) {
                    None => Ok(()),
                    Some(_) => Err("the checkpoint lets two prepare records of one unit live"),
                }
            }
            Content::Prepare(_) => {
                Err("a prepare record lives whose unit the checkpoint does not name as prepared")
            }
            // Chosen: the bit of these is always set.
            Content::Commit { .. } | Content::BackOut | Content::Moved { .. } => {
                Err("the checkpoint lets a record live of a kind that cannot")
            }
        }
    }

    /// Chosen: a prepared unit whose prepare record is not there has lost what it promised.
    pub(super) fn check_prepared(&self, checkpoint: &Checkpoint) -> Result<(), &'static str> {
        let is_there = |id| self.units.get(id).is_some_and(|unit| unit.promise.is_some());
        if checkpoint.prepared.iter().all(is_there) {
            Ok(())
        } else {
            Err("a prepared unit has no prepare record that lives")
        }
    }

    /// The next record of the journal.
    pub(super) fn apply(&mut self, record: Record<'a>) -> Result<(), &'static str> {
        let unit = record.unit;
        match record.content {
            Content::Message(message) => self.message(message, unit)?,
            Content::Keyed { key, value } => self.change(key, value, unit),
            Content::Commit { kills, changes } => {
                let work = self.units.remove(&unit).unwrap_or_default();
                self.messages.extend(work.messages.into_iter().map(|message| (message.id, message)));
                for (key, value) in work.changes {
                    self.change(key, value, 0);
                }
                for id in &kills {
                    self.messages.remove(id);
                }
                for change in changes {
                    if let Content::Keyed { key, value } = change.content {
                        self.change(key, value, 0);
                    }
                }
            }
            Content::BackOut => {
                self.units.remove(&unit);
            }
            Content::Prepare(_) if unit == 0 => return Err("a prepare record without a unit"),
            Content::Prepare(promise) => self.units.entry(unit).or_default().promise = Some(promise),
            Content::Moved { .. } => {}
        }
        Ok(())
    }

    fn message(&mut self, message: MessageRecord<'a>, unit: u64) -> Result<(), &'static str> {
        // Chosen: nothing says what a second one of the same id would mean.
        if !self.read.insert(message.id) {
            return Err("a message of this id was there before");
        }
        if unit == 0 {
            self.messages.insert(message.id, message);
        } else {
            self.units.entry(unit).or_default().messages.push(message);
        }
        Ok(())
    }

    fn change(&mut self, key: &'a [u8], value: Option<&'a [u8]>, unit: u64) {
        if unit != 0 {
            self.units.entry(unit).or_default().changes.push((key, value));
        } else if let Some(value) = value {
            self.keyed.insert(key, value);
        } else {
            self.keyed.remove(key);
        }
    }
}
