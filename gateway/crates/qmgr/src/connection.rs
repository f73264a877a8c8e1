//! A connection of an application: its user, its open handles, its unit of work.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mq_wire::{ApplName, ApplType, ObjectType, OpenOptions, QMgrName, QName, Reason, UserId};
use store::{Id, UnitId};

use crate::get::Progress;
use crate::index::Key;
use crate::order::PutOrder;
use crate::queue::Directory;
use crate::verb::{Connect, Rights};
use crate::waiting::Turn;

/// A connection of an application.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) user: UserId,
    pub(crate) appl_name: ApplName,
    pub(crate) appl_type: ApplType,
    pub(crate) rights: Rights,
    pub(crate) handles: BTreeMap<i32, Handle>,
    next_handle: i32,
    pub(crate) unit: Unit,
    /// Its gets that wait, by queue and turn.
    pub(crate) waits: BTreeSet<(u64, Turn)>,
    /// It is to end soon: calls that ask to fail then do (2202).
    pub(crate) quiescing: bool,
}

/// A unit of work. What it holds is in the table of what is held.
#[derive(Debug, Default)]
pub(crate) struct Unit {
    /// Under which its puts are written ahead; given with the first put.
    pub(crate) id: Option<UnitId>,
    pub(crate) puts: Vec<Id>,
    pub(crate) gets: Vec<Id>,
    /// Where handles were in their groups when the unit began, of those that went on in it.
    pub(crate) orders: Vec<Orders>,
}

/// Where a handle was in its groups.
#[derive(Debug)]
pub(crate) struct Orders {
    handle: i32,
    took: Option<Box<Progress>>,
    put_order: Option<Box<PutOrder>>,
}

impl Unit {
    /// Messages in it, as MAXUMSGS counts them.
    pub(crate) fn messages(&self) -> usize {
        self.puts.len() + self.gets.len()
    }
}

/// An open object.
#[derive(Debug, Clone)]
pub(crate) struct Handle {
    pub(crate) options: OpenOptions,
    pub(crate) target: Target,
    /// The message last browsed.
    pub(crate) cursor: Option<Key>,
    /// Whether it was browsed in logical order.
    pub(crate) browsed_logically: Option<bool>,
    /// The group or logical message of which something was taken, and browsed.
    pub(crate) took: Option<Box<Progress>>,
    pub(crate) browsed: Option<Box<Progress>>,
    /// Messages that were browsed and locked.
    pub(crate) locked: Vec<Id>,
    /// Whether it counts among the handles open for input, and excludes others.
    pub(crate) input: Option<bool>,
    /// Whether it made the temporary dynamic queue, which goes when it is closed.
    pub(crate) made: bool,
    /// The group or logical message that puts have not completed.
    pub(crate) put_order: Option<Box<PutOrder>>,
}

impl Handle {
    pub(crate) fn new(options: OpenOptions, target: Target) -> Self {
        Self {
            options,
            target,
            cursor: None,
            browsed_logically: None,
            took: None,
            browsed: None,
            locked: Vec::new(),
            input: None,
            made: false,
            put_order: None,
        }
    }

    /// Where it is in a group, when it takes messages or browses.
    pub(crate) fn progress(&self, browses: bool) -> Option<&Progress> {
        if browses { self.browsed.as_deref() } else { self.took.as_deref() }
    }

    pub(crate) fn progress_mut(&mut self, browses: bool) -> &mut Option<Box<Progress>> {
        if browses { &mut self.browsed } else { &mut self.took }
    }

    /// What a close warns of: a group or a logical message was left incomplete (2241, 2242).
    pub(crate) fn left_incomplete(&self) -> Option<Reason> {
        let put = self.put_order.as_ref().and_then(|order| order.left_incomplete());
        put.or_else(|| self.took.as_ref().and_then(|took| took.left_incomplete()))
    }
}

/// What a handle stands for.
#[derive(Debug, Clone)]
pub(crate) enum Target {
    QueueManager,
    /// A default object of a type of which there are no others: a process, a namelist.
    Default(ObjectType),
    Queue(Arc<Route>),
}

/// A queue as it was resolved when it was opened.
#[derive(Debug, Clone)]
pub(crate) struct Route {
    /// The queue at its destination.
    pub(crate) queue: QName,
    /// The queue manager of the destination.
    pub(crate) q_mgr: QMgrName,
    /// Whether a transmission queue header is needed.
    pub(crate) remote: bool,
    /// The local queue that is used.
    pub(crate) used: u64,
    /// Every definition on the way, with its version.
    pub(crate) path: Vec<(u64, u32)>,
    /// What the definition named first is, for MQINQ and MQSET and the defaults of messages.
    pub(crate) first: u64,
}

impl Route {
    /// Whether everything on the way is as it was.
    pub(crate) fn check(&self, directory: &Directory) -> Result<(), Reason> {
        for (number, version) in &self.path {
            match directory.get(*number) {
                None if *number == self.used && !self.remote => return Err(Reason::Q_DELETED),
                Some(object) if object.version == *version => {}
                _ => return Err(Reason::OBJECT_CHANGED),
            }
        }
        Ok(())
    }

    pub(crate) fn passes(&self, number: u64) -> bool {
        self.path.iter().any(|(other, _)| *other == number)
    }
}

impl Connection {
    pub(crate) fn new(connect: &Connect) -> Self {
        Self {
            user: connect.user,
            appl_name: connect.appl_name,
            appl_type: connect.appl_type,
            rights: connect.rights,
            handles: BTreeMap::new(),
            next_handle: 1,
            unit: Unit::default(),
            waits: BTreeSet::new(),
            quiescing: false,
        }
    }

    /// Takes a handle in and gives its number: never one that is in use, one used before only after all others.
    pub(crate) fn add(&mut self, handle: Handle) -> i32 {
        loop {
            let number = self.next_handle;
            self.next_handle = if number == i32::MAX { 1 } else { number + 1 };
            if let Entry::Vacant(free) = self.handles.entry(number) {
                free.insert(handle);
                return number;
            }
        }
    }

    /// Keeps where a handle is in its groups, if the unit of work has not done so: a back-out goes back there.
    pub(crate) fn keep_orders(&mut self, number: i32) {
        if self.unit.orders.iter().any(|orders| orders.handle == number) {
            return;
        }
        if let Some(handle) = self.handles.get(&number) {
            let (took, put_order) = (handle.took.clone(), handle.put_order.clone());
            self.unit.orders.push(Orders { handle: number, took, put_order });
        }
    }

    /// The unit of work is backed out: its handles are where they were.
    pub(crate) fn restore_orders(&mut self, orders: Vec<Orders>) {
        for Orders { handle, took, put_order } in orders {
            if let Some(handle) = self.handles.get_mut(&handle) {
                (handle.took, handle.put_order) = (took, put_order);
            }
        }
    }

    pub(crate) fn handle(&self, number: i32) -> Result<&Handle, Reason> {
        self.handles.get(&number).ok_or(Reason::HOBJ_ERROR)
    }
}

/// Whether the names of SYSTEM objects are closed to the one who asks.
pub(crate) fn may_name(rights: Rights, name: QName) -> bool {
    rights == Rights::Admin || !name.trimmed().starts_with(b"SYSTEM.")
}
