//! The machine against a simple model: whatever connections do, nothing is lost, doubled or out of order.

use std::collections::BTreeMap;

use mq_wire::*;
use proptest::prelude::*;

use super::harness::*;
use crate::*;

const CONNECTIONS: usize = 3;

#[derive(Debug, Clone)]
enum Step {
    Put { conn: usize, priority: u8, sync: bool, persistent: bool },
    Get { conn: usize, sync: bool },
    GetByCorrelId { conn: usize, priority: u8, sync: bool },
    Browse { conn: usize, first: bool },
    Commit { conn: usize },
    Back { conn: usize },
    Disconnect { conn: usize },
    Lose { conn: usize },
    Restart,
}

fn step() -> impl Strategy<Value = Step> {
    let conn = 0..CONNECTIONS;
    prop_oneof![
        8 => (conn.clone(), 0..3_u8, any::<bool>(), any::<bool>())
            .prop_map(|(conn, priority, sync, persistent)| Step::Put { conn, priority, sync, persistent }),
        6 => (conn.clone(), any::<bool>()).prop_map(|(conn, sync)| Step::Get { conn, sync }),
        3 => (conn.clone(), 0..3_u8, any::<bool>())
            .prop_map(|(conn, priority, sync)| Step::GetByCorrelId { conn, priority, sync }),
        3 => (conn.clone(), any::<bool>()).prop_map(|(conn, first)| Step::Browse { conn, first }),
        2 => conn.clone().prop_map(|conn| Step::Commit { conn }),
        2 => conn.clone().prop_map(|conn| Step::Back { conn }),
        1 => conn.clone().prop_map(|conn| Step::Disconnect { conn }),
        1 => conn.prop_map(|conn| Step::Lose { conn }),
        1 => Just(Step::Restart),
    ]
}

/// A message of the model. Its CorrelId says its priority, so that several have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Message {
    priority: u8,
    persistent: bool,
    backouts: i32,
}

/// By what stands first: priority from the highest, then the order of the puts.
type Place = (u8, u32);

#[derive(Default)]
struct Model {
    queue: BTreeMap<Place, Message>,
    puts: [BTreeMap<Place, Message>; CONNECTIONS],
    gets: [BTreeMap<Place, Message>; CONNECTIONS],
    cursors: [Option<Place>; CONNECTIONS],
    next: u32,
}

impl Model {
    fn commit(&mut self, conn: usize) {
        self.queue.append(&mut self.puts[conn]);
        self.gets[conn].clear();
    }

    fn back_out(&mut self, conn: usize) {
        self.puts[conn].clear();
        for (place, message) in std::mem::take(&mut self.gets[conn]) {
            self.queue.insert(place, Message { backouts: message.backouts + 1, ..message });
        }
    }

    /// What is expected of a get: the number and the backout count of the message.
    fn get(&mut self, conn: usize, sync: bool, wanted: Option<u8>) -> Option<(u32, i32)> {
        let fits = |message: &Message| wanted.is_none_or(|priority| priority == message.priority);
        let place = *self.queue.iter().find(|(_, message)| fits(message))?.0;
        let message = self.queue.remove(&place)?;
        if sync {
            self.gets[conn].insert(place, message);
        }
        Some((place.1, message.backouts))
    }

    fn browse(&mut self, conn: usize, first: bool) -> Option<(u32, i32)> {
        let cursor = self.cursors[conn].filter(|_| !first);
        let (place, message) = self.queue.iter().find(|(place, _)| cursor.is_none_or(|at| **place > at))?;
        self.cursors[conn] = Some(*place);
        Some((place.1, message.backouts))
    }

    fn restart(&mut self) {
        // A crash is no back-out: the counts stay as they were.
        for conn in 0..CONNECTIONS {
            self.puts[conn].clear();
            self.queue.append(&mut self.gets[conn]);
        }
        self.queue.retain(|_, message| message.persistent);
        self.cursors = Default::default();
    }
}

struct Run {
    qm: Option<Qm>,
    model: Model,
    conns: Vec<(ConnId, i32)>,
}

impl Run {
    fn qm(&mut self) -> &mut Qm {
        self.qm.as_mut().unwrap()
    }

    fn connect(&mut self, conn: usize) {
        let id = self.qm().connect();
        let handle = self.qm().open_all(id, "Q");
        self.model.cursors[conn] = None;
        self.conns[conn] = (id, handle);
    }

    fn step(&mut self, step: Step) {
        self.qm().compact();
        match step {
            Step::Put { conn, priority, sync, persistent } => {
                let number = self.model.next;
                self.model.next += 1;
                let persistence =
                    if persistent { Persistence::PERSISTENT } else { Persistence::NOT_PERSISTENT };
                let correl_id = CorrelId(id(priority + 1));
                let md = Mqmd { priority: priority.into(), persistence, correl_id, ..Mqmd::default() };
                let options = if sync { PutOptions::SYNCPOINT } else { PutOptions::NO_SYNCPOINT };
                let (id, handle) = self.conns[conn];
                let put = self.qm().put_md(id, handle, md, options, &number.to_string());
                assert_eq!(reason(&put.reply), Reason::NONE);
                let message = Message { priority, persistent, backouts: 0 };
                let into = if sync { &mut self.model.puts[conn] } else { &mut self.model.queue };
                into.insert((9 - priority, number), message);
            }
            Step::Get { conn, sync } => {
                let expected = self.model.get(conn, sync, None);
                self.check(conn, options(sync), None, expected);
            }
            Step::GetByCorrelId { conn, priority, sync } => {
                let expected = self.model.get(conn, sync, Some(priority));
                self.check(conn, options(sync), Some(priority), expected);
            }
            Step::Browse { conn, first } => {
                let expected = self.model.browse(conn, first);
                let option = if first { GetOptions::BROWSE_FIRST } else { GetOptions::BROWSE_NEXT };
                self.check(conn, option, None, expected);
            }
            Step::Commit { conn } => {
                let id = self.conns[conn].0;
                self.qm().commit(id);
                self.model.commit(conn);
            }
            Step::Back { conn } => {
                let id = self.conns[conn].0;
                self.qm().back(id);
                self.model.back_out(conn);
            }
            Step::Disconnect { conn } => {
                let id = self.conns[conn].0;
                self.qm().call(id, Verb::Disconnect);
                self.model.commit(conn);
                self.connect(conn);
            }
            Step::Lose { conn } => {
                let id = self.conns[conn].0;
                self.qm().closed(id);
                self.model.back_out(conn);
                self.connect(conn);
            }
            Step::Restart => {
                self.qm = self.qm.take().map(Qm::restart);
                self.model.restart();
                for conn in 0..CONNECTIONS {
                    self.connect(conn);
                }
            }
        }
        let view = self.qm().view("Q");
        let count = |maps: &[BTreeMap<Place, Message>]| maps.iter().map(BTreeMap::len).sum::<usize>() as u64;
        let (puts, gets) = (count(&self.model.puts), count(&self.model.gets));
        assert_eq!((view.depth, view.uncommitted), (self.model.queue.len() as u64 + puts, puts + gets));
    }

    fn check(&mut self, conn: usize, options: GetOptions, wanted: Option<u8>, expected: Option<(u32, i32)>) {
        let (conn, handle) = self.conns[conn];
        let mut wants = request(handle, options, 0);
        if let Some(priority) = wanted {
            wants.correl_id = CorrelId(id(priority + 1));
        }
        let found = self.qm().get_with(conn, wants);
        let found = found.ok().map(|taken| (text(&taken.body).parse().unwrap(), taken.got.backout_count));
        assert_eq!(found, expected);
    }
}

fn options(sync: bool) -> GetOptions {
    if sync { GetOptions::SYNCPOINT } else { GetOptions::NO_SYNCPOINT }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_lost_doubled_or_out_of_order(steps in prop::collection::vec(step(), 1..80)) {
        let mut qm = Qm::new();
        qm.script("DEFINE QLOCAL(Q) MAXDEPTH(1000)");
        let mut run = Run { qm: Some(qm), model: Model::default(), conns: vec![(ConnId(0), 0); CONNECTIONS] };
        for conn in 0..CONNECTIONS {
            run.connect(conn);
        }
        for step in steps {
            run.step(step);
        }
        // In the end every message is where the model has it.
        run.step(Step::Restart);
        let (conn, handle) = run.conns[0];
        let left = run.qm().drain(conn, handle);
        let expected: Vec<_> = run.model.queue.keys().map(|(_, number)| number.to_string()).collect();
        prop_assert_eq!(left, expected);
        prop_assert!(run.qm().store().recovered().messages.is_empty());
    }
}
