//! How the queue manager starts: from what the store recovered, or new with its default objects.

use std::collections::{BTreeMap, BTreeSet};

use mq_wire::QMgrName;
use mqsc::{Attributes, Name, ObjectKind};
use store::{Batch, Commit, Id, Position, Recovered, RecoveredMessage, Room};

use crate::clearing::{self, Clearing};
use crate::defaults;
use crate::error::{RecordError, StartError};
use crate::held::Table;
use crate::index::{Entry, Flags};
use crate::manager::QueueManager;
use crate::object::{Definition, Dynamic, key};
use crate::queue::{Directory, Expired, Object};
use crate::settings::Settings;
use crate::special::{Special, Specials};
use crate::sweep::Sweep;
use crate::verb::Now;

impl QueueManager {
    /// The queue manager with what the store recovered: keys that begin with `q`, messages whose owner has the top
    /// bit clear. Makes the default objects on the first start. Non-persistent messages die.
    pub fn new(
        settings: Settings,
        recovered: &Recovered,
        now: Now,
        batch: &mut Batch,
    ) -> Result<Self, StartError> {
        let read = Read::all(recovered)?;
        let mut commit = Commit::default();
        let first = read.this.is_none();
        if let Some(this) = &read.this {
            let (found, wanted) = (QMgrName(this.queue_name().0), settings.name);
            if found != wanted {
                return Err(StartError::OtherName { found, wanted });
            }
        }
        let this = read.this.unwrap_or_else(|| first_definition(&settings, now));
        let hash_key = read.hash_key.unwrap_or_else(|| {
            let key: Vec<u8> = settings.hash_key.iter().flat_map(|half| half.to_le_bytes()).collect();
            commit.set(key::HASH, key);
            settings.hash_key
        });
        if first {
            commit.set(this.key(), this.encode());
        }
        let mut manager = Self {
            hash_key,
            this,
            this_position: if first { batch.position() } else { Position::default() },
            directory: read.directory,
            channels: BTreeMap::new(),
            connections: BTreeMap::new(),
            units: BTreeMap::new(),
            held: Table::default(),
            locks: BTreeSet::new(),
            deadlines: BTreeSet::new(),
            next_turn: 0,
            // What was given counts, whatever is reserved: a number given twice would join two queues' messages.
            next_number: read.numbers_reserved.max(read.highest_number.saturating_add(1)),
            numbers_reserved: read.numbers_reserved,
            unique: 0,
            reserved: 0,
            expired: Expired::default(),
            reading: BTreeMap::new(),
            marks_end: BTreeSet::new(),
            specials: Specials::default(),
            watched: BTreeSet::new(),
            arrived: BTreeSet::new(),
            dirty: BTreeSet::new(),
            quiescing: false,
            stopping: false,
            room: Room::Enough,
            sweep: Sweep::default(),
            clearing: Clearing::default(),
            clear_at: None,
            highest_id: Id::new(batch.start(), 0),
            orphans: 0,
            reports_dropped: 0,
            settings,
        };
        for definition in read.channels {
            manager.channels.insert(definition.name.channel(), definition);
        }
        manager.take_messages(recovered, &read.backouts, &read.specials, &read.clearing, &mut commit);
        manager.sweep.at = Some(now.instant);
        manager.clear_at = (!manager.clearing.is_empty()).then_some(now.instant);
        let mut missing = if first { defaults::objects(&manager.settings) } else { Vec::new() };
        // The gateway cannot be without it.
        let gateway = defaults::gateway(&manager.settings);
        if manager.directory.number(gateway.1.queue()).is_none() {
            missing.push(gateway);
        }
        for (kind, name, given) in missing {
            let mut attributes = Attributes::defaults(kind);
            attributes.merge(&given);
            manager.add_definition(now, kind, name, attributes, batch.position(), &mut commit);
        }
        batch.commit(commit);
        Ok(manager)
    }

    fn take_messages(
        &mut self,
        recovered: &Recovered,
        backouts: &BTreeMap<u64, u16>,
        specials: &BTreeMap<u64, Special>,
        clearing: &BTreeMap<u64, Id>,
        commit: &mut Commit,
    ) {
        for message in recovered.messages.iter().filter(|message| message.owner.0 >> 63 == 0) {
            // NPMCLASS says whether the others survive, as far as they reached the disk.
            let kept = |object: &Object| object.facts.class_high && object.local.is_some();
            if !message.persistent && !self.directory.get(message.owner.0).is_some_and(kept) {
                commit.kill(message.id, message.place);
                continue;
            }
            let backouts = backouts.get(&message.id.as_u64()).copied().unwrap_or_default();
            let (number, mut entry) = (message.owner.0, recovered_entry(message, backouts));
            if let Some(special) = specials.get(&message.id.as_u64()) {
                entry.flags = special
                    .flags()
                    .with(Flags::PERSISTENT, message.persistent)
                    .with(Flags::KEPT, !message.persistent);
                self.specials.add(message.id, *special);
            }
            if clearing.get(&number).is_some_and(|up_to| message.id <= *up_to) {
                self.clearing.recover(number, message.priority, message.order, entry);
                continue;
            }
            let Some(object) = self.directory.get_mut(number) else {
                self.orphans += 1;
                continue;
            };
            let key = object.key(message.priority, message.order);
            let Some(local) = object.local.as_deref_mut() else {
                self.orphans += 1;
                continue;
            };
            local.insert(key, entry, &self.specials);
            if entry.expiry_ms != 0 {
                self.sweep.note(number, local, entry.expiry_ms);
            }
        }
        // Of messages that are no more.
        for id in specials.keys().map(|id| Id::from_u64(*id)).filter(|id| self.specials.get(*id).is_none()) {
            commit.remove(key::special(id));
        }
        // What was left did not survive the restart: it was not persistent.
        for number in clearing.keys().filter(|number| !self.clearing.contains(**number)) {
            commit.remove(key::clearing(*number));
        }
    }
}

fn recovered_entry(message: &RecoveredMessage, backouts: u16) -> Entry {
    Entry {
        id: message.id,
        expiry_ms: message.expiry_ms,
        tags: message.tags,
        place: message.place,
        body_length: message.body_length,
        batch: 0,
        backouts,
        priority: message.priority,
        flags: Flags::default()
            .with(Flags::PERSISTENT, message.persistent)
            .with(Flags::KEPT, !message.persistent),
    }
}

fn first_definition(settings: &Settings, now: Now) -> Definition {
    let mut attributes = Attributes::defaults(ObjectKind::QueueManager);
    attributes.merge(&defaults::queue_manager(settings));
    Definition {
        kind: ObjectKind::QueueManager,
        name: Name::from(QMgrName(settings.name.0)),
        number: 0,
        created_ms: now.wall_ms,
        altered_ms: now.wall_ms,
        dynamic: Dynamic::Predefined,
        attributes,
    }
}

/// The keyed state that is ours, understood.
#[derive(Default)]
struct Read {
    this: Option<Definition>,
    directory: Directory,
    channels: Vec<Definition>,
    hash_key: Option<[u64; 2]>,
    numbers_reserved: u64,
    /// Of all definitions.
    highest_number: u64,
    /// By message id.
    backouts: BTreeMap<u64, u16>,
    /// By message id.
    specials: BTreeMap<u64, Special>,
    /// By object number: up to which message it was cleared.
    clearing: BTreeMap<u64, Id>,
}

impl Read {
    fn all(recovered: &Recovered) -> Result<Self, RecordError> {
        let mut read = Self { numbers_reserved: 1, ..Self::default() };
        let mut expired = BTreeMap::new();
        for (key, value) in &recovered.keyed {
            let damaged =
                |what| RecordError::Damaged { key: String::from_utf8_lossy(key).into_owned(), what };
            let number = || <[u8; 8]>::try_from(&value[..]).map(u64::from_le_bytes);
            match key.get(..2) {
                Some(b"qQ") => {
                    let definition = Definition::decode(key, value)?;
                    read.highest_number = read.highest_number.max(definition.number);
                    read.directory.add(Object::new(definition, Position::default()));
                }
                Some(b"qC") => {
                    let definition = Definition::decode(key, value)?;
                    read.highest_number = read.highest_number.max(definition.number);
                    read.channels.push(definition);
                }
                Some(b"qM") => read.this = Some(Definition::decode(key, value)?),
                Some(key::HASH) => {
                    let (halves, rest) = value.as_chunks::<8>();
                    match (halves, rest) {
                        ([one, two], []) => {
                            read.hash_key = Some([u64::from_le_bytes(*one), u64::from_le_bytes(*two)]);
                        }
                        _ => return Err(damaged("two numbers belong here")),
                    }
                }
                Some(key::NUMBER) => {
                    read.numbers_reserved = number().map_err(|_| damaged("a number belongs here"))?;
                }
                Some(b"qb") => {
                    let count = <[u8; 2]>::try_from(&value[..]).map(u16::from_le_bytes);
                    let id = key::number_of(key).ok_or_else(|| damaged("its key has no id"))?;
                    read.backouts.insert(id, count.map_err(|_| damaged("a count belongs here"))?);
                }
                Some(b"qs") => {
                    let id = key::number_of(key).ok_or_else(|| damaged("its key has no id"))?;
                    read.specials.insert(id, Special::decode(key, value)?);
                }
                Some(b"qc") => {
                    let queue = key::number_of(key).ok_or_else(|| damaged("its key has no number"))?;
                    read.highest_number = read.highest_number.max(queue);
                    read.clearing.insert(queue, clearing::decode(key, value)?);
                }
                Some(b"qx") => {
                    let queue = key::number_of(key).ok_or_else(|| damaged("its key has no number"))?;
                    expired.insert(queue, number().map_err(|_| damaged("a number belongs here"))?);
                }
                // Of others, or of a later version that an older one may pass over.
                _ => {}
            }
        }
        for (number, count) in expired {
            if let Some(local) = read.directory.local_mut(number) {
                local.expired = count;
            }
        }
        Ok(read)
    }
}
