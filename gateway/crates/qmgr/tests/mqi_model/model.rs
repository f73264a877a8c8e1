//! The simplest possible queue manager in memory, from mq-objects.md 1, 2, 3.2 to 3.5 and 5 and from what IBM documents of MQ. No
//! index, no cleverness: every question is a walk over everything. It knows nothing of the crate that it is compared with.

mod checks;
mod get;
mod groups;
mod handles;
mod objects;
mod put;
mod units;

use std::collections::BTreeMap;

use crate::calls::value::*;
use crate::calls::{Call, Conn, Data, Gmo, Hobj, Id, Md, Outcome, Seen, Step};
pub(crate) use groups::Progress;
pub(crate) use objects::{Definition, Kind, Resolved};

pub(crate) const PERMANENT: u8 = 2;
pub(crate) const TEMPORARY: u8 = 3;

/// Attributes of the queue manager, mq-objects.md 3.2.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) name: String,
    pub(crate) max_uncommitted: usize,
    pub(crate) max_handles: usize,
    pub(crate) max_length: usize,
    pub(crate) mark_ms: u64,
    pub(crate) dead_q: String,
    pub(crate) default_xmitq: String,
}

/// Who may see a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Available,
    PutBy(Conn),
    GotBy(Conn),
}

#[derive(Clone, Debug)]
pub(crate) struct Message {
    /// Order of arrival on all queues; the model's token.
    pub(crate) serial: u64,
    pub(crate) md: Md,
    pub(crate) data: Data,
    pub(crate) state: State,
    pub(crate) expires: Option<u64>,
    pub(crate) locked_by: Option<Hobj>,
    /// Whose co-operative mark it is, and until when.
    pub(crate) marked: Option<(Hobj, u64)>,
}

#[derive(Clone, Debug)]
pub(crate) struct Object {
    pub(crate) def: Definition,
    pub(crate) messages: Vec<Message>,
    pub(crate) deleted: bool,
}

/// What of a message its receiver may pass on.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    pub(crate) user: String,
    pub(crate) identity: String,
    pub(crate) put_type: i32,
    pub(crate) put_name: String,
    pub(crate) origin: String,
}

#[derive(Clone, Debug)]
pub(crate) struct Handle {
    pub(crate) conn: Conn,
    pub(crate) resolved: Resolved,
    pub(crate) options: i32,
    /// This handle made the dynamic queue.
    pub(crate) creator: bool,
    /// Place of the browse cursor, and the message that it was put on.
    pub(crate) cursor: Option<(i32, u64)>,
    /// The place to go on from in logical order: of the first message of the group browsed last.
    pub(crate) logical_cursor: Option<(i32, u64)>,
    pub(crate) cursor_logical: bool,
    pub(crate) locked: Option<u64>,
    pub(crate) marks: Vec<u64>,
    pub(crate) saved: Option<Context>,
    /// `putting` and `getting` as they were before the unit of work touched them.
    pub(crate) before_unit: Option<(Option<Progress>, Option<Progress>)>,
    pub(crate) putting: Option<Progress>,
    pub(crate) getting: Option<Progress>,
    pub(crate) browsing: Option<Progress>,
}

#[derive(Clone, Debug)]
pub(crate) struct Connection {
    pub(crate) handles: Vec<Hobj>,
}

#[derive(Clone, Debug)]
pub(crate) struct Waiter {
    pub(crate) conn: Conn,
    pub(crate) hobj: Hobj,
    pub(crate) gmo: Gmo,
    pub(crate) buffer: usize,
    pub(crate) deadline: Option<u64>,
}

#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) settings: Settings,
    pub(crate) now: u64,
    pub(crate) objects: Vec<Object>,
    pub(crate) conns: BTreeMap<Conn, Connection>,
    pub(crate) handles: BTreeMap<Hobj, Handle>,
    pub(crate) waiters: Vec<Waiter>,
    /// Other reasons for which the call could have failed as well.
    also: Vec<i32>,
    next_serial: u64,
    next_id: u64,
    next_hobj: Hobj,
    next_dynamic: u64,
}

/// User and program of a connection, as its messages show them.
pub(crate) fn user_of(conn: Conn) -> String {
    format!("user{conn}")
}

pub(crate) fn program_of(conn: Conn) -> String {
    format!("program {conn}")
}

impl Model {
    pub(crate) fn new(settings: Settings, definitions: Vec<Definition>) -> Self {
        let mut model = Self {
            settings,
            now: 1_000_000,
            objects: Vec::new(),
            conns: BTreeMap::new(),
            handles: BTreeMap::new(),
            waiters: Vec::new(),
            also: Vec::new(),
            next_serial: 0,
            next_id: 0,
            next_hobj: 0,
            next_dynamic: 0,
        };
        for def in definitions {
            model.add(def);
        }
        model
    }

    pub(crate) fn add(&mut self, def: Definition) -> usize {
        self.objects.push(Object { def, messages: Vec::new(), deleted: false });
        self.objects.len() - 1
    }

    pub(crate) fn apply(&mut self, call: &Call) -> Step {
        let mut woken = Vec::new();
        let outcome = match call.clone() {
            Call::Connect { conn } => {
                self.conns.insert(conn, Connection { handles: Vec::new() });
                Outcome::ok(Seen::Nothing)
            }
            Call::Disconnect { conn } => self.end(conn, true),
            Call::Lost { conn } => self.end(conn, false),
            Call::Open { conn, name, qm, dynamic, options } => {
                self.open(conn, &name, &qm, &dynamic, options).unwrap_or_else(Outcome::failed)
            }
            Call::Close { conn, hobj, options } => {
                self.close(conn, hobj, options).unwrap_or_else(Outcome::failed)
            }
            Call::Put { conn, hobj, md, options, context, data } => {
                self.put(conn, hobj, md, options, context, data.0).unwrap_or_else(Outcome::failed)
            }
            Call::Put1 { conn, name, qm, md, options, data } => {
                self.put1(conn, &name, &qm, md, options, data.0).unwrap_or_else(Outcome::failed)
            }
            Call::Get { conn, hobj, gmo, buffer } => self.get(conn, hobj, gmo, buffer),
            Call::Commit { conn } => {
                self.commit(conn);
                Outcome::ok(Seen::Nothing)
            }
            Call::Back { conn } => {
                self.back_out(conn);
                Outcome::ok(Seen::Nothing)
            }
            Call::Inquire { hobj, selectors, .. } => {
                self.inquire(hobj, &selectors).unwrap_or_else(Outcome::failed)
            }
            Call::Set { hobj, values, .. } => self.set(hobj, &values).unwrap_or_else(Outcome::failed),
            Call::Clear { name } => self.clear(&name),
            Call::Delete { name, purge } => self.delete_local(&name, purge),
            Call::Advance { ms } => {
                woken = self.pass(ms);
                Outcome::ok(Seen::Nothing)
            }
            Call::Crash => {
                self.crash();
                Outcome::ok(Seen::Nothing)
            }
        };
        self.expire();
        woken.extend(self.wake());
        Step { outcome, woken, also: std::mem::take(&mut self.also) }
    }

    pub(crate) fn new_id(&mut self) -> Id {
        self.next_id += 1;
        let mut id = [0; 24];
        let text = format!("made.{}", self.next_id);
        id[..text.len()].copy_from_slice(text.as_bytes());
        id
    }

    pub(crate) fn handle(&self, hobj: Hobj) -> Result<&Handle, i32> {
        self.handles.get(&hobj).ok_or(2019)
    }

    /// Everything of a queue that has to wait on nobody: CURDEPTH counts puts in doubt, and not gets in doubt (what IBM
    /// documents of CurrentQDepth).
    pub(crate) fn depth(&self, object: usize) -> usize {
        self.objects[object].messages.iter().filter(|m| !matches!(m.state, State::GotBy(_))).count()
    }

    /// CURDEPTH of all queues that have messages.
    pub(crate) fn depths(&self) -> BTreeMap<String, usize> {
        let there = self.objects.iter().enumerate().filter(|(_, object)| !object.deleted);
        let depths = there.map(|(index, object)| (object.def.name.clone(), self.depth(index)));
        depths.filter(|(_, depth)| *depth > 0).collect()
    }

    /// Messages in doubt of a connection, on all queues.
    pub(crate) fn uncommitted(&self, conn: Conn) -> usize {
        let mine = |m: &&Message| m.state == State::PutBy(conn) || m.state == State::GotBy(conn);
        self.objects.iter().map(|object| object.messages.iter().filter(mine).count()).sum()
    }

    /// The order of a queue: by priority and arrival, or by arrival alone (MSGDLVSQ).
    pub(crate) fn key(&self, object: usize, message: &Message) -> (i32, u64) {
        let fifo = self.objects[object].def.fifo;
        (if fifo { 0 } else { 9 - message.md.priority.min(9) }, message.serial)
    }

    fn inquire(&self, hobj: Hobj, selectors: &[i32]) -> Result<Outcome, i32> {
        let handle = self.handle(hobj)?;
        if handle.options & OO_INQUIRE == 0 {
            return Err(2038);
        }
        let index = handle.resolved.path[0];
        if self.objects[index].deleted {
            return Err(2052);
        }
        let def = &self.objects[index].def;
        let opens = |bits: i32| {
            let on_it = |h: &&Handle| {
                h.resolved.object == index && h.resolved.remote.is_none() && h.options & bits != 0
            };
            self.handles.values().filter(on_it).count()
        };
        let mut values = Vec::new();
        for selector in selectors {
            values.push(match *selector {
                SEL_INHIBIT_GET => i32::from(def.get_inhibited),
                SEL_INHIBIT_PUT => i32::from(def.put_inhibited),
                SEL_MAX_DEPTH => def.max_depth as i32,
                SEL_DEPTH => self.depth(index) as i32,
                SEL_OPEN_INPUT => opens(OO_INPUT_ANY) as i32,
                SEL_OPEN_OUTPUT => {
                    let through = |h: &&Handle| {
                        h.resolved.object == index
                            && h.resolved.remote.is_some()
                            && h.options & OO_OUTPUT != 0
                    };
                    (opens(OO_OUTPUT) + self.handles.values().filter(through).count()) as i32
                }
                _ => return Err(2067),
            });
        }
        Ok(Outcome::ok(Seen::Values(values)))
    }

    fn set(&mut self, hobj: Hobj, values: &[(i32, i32)]) -> Result<Outcome, i32> {
        let handle = self.handle(hobj)?;
        if handle.options & OO_SET == 0 {
            return Err(2040);
        }
        let index = handle.resolved.path[0];
        if self.objects[index].deleted {
            return Err(2052);
        }
        for (selector, value) in values {
            if ![SEL_INHIBIT_GET, SEL_INHIBIT_PUT].contains(selector) {
                return Err(2067);
            }
            if ![0, 1].contains(value) {
                return Err(2020);
            }
        }
        let def = &mut self.objects[index].def;
        for (selector, value) in values {
            match *selector {
                SEL_INHIBIT_GET => def.get_inhibited = *value == 1,
                _ => def.put_inhibited = *value == 1,
            }
        }
        Ok(Outcome::ok(Seen::Nothing))
    }
}
