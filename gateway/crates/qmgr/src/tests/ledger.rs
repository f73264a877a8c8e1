//! A ledger over everything at once: units of work, gets that wait, lost connections, time, the owner's locks and
//! units, restarts. In the end every message that was told to be there went to exactly one, or is still there.

use std::collections::{BTreeMap, BTreeSet};

use mq_wire::*;
use proptest::prelude::*;
use store::{Commit, Id};

use super::harness::*;
use crate::*;

const CONNECTIONS: usize = 3;
const HOLDER: Holder = Holder(7);

#[derive(Debug, Clone)]
enum Step {
    Put {
        conn: usize,
        correl: u8,
        sync: bool,
    },
    /// With a wait, and perhaps by CorrelId.
    Get {
        conn: usize,
        correl: Option<u8>,
        sync: bool,
        wait_ms: i32,
    },
    Commit {
        conn: usize,
    },
    Back {
        conn: usize,
    },
    Lose {
        conn: usize,
    },
    Lock {
        messages: usize,
    },
    Unlock,
    /// Takes what is locked and puts a message, in one unit that becomes real or not.
    HandOver {
        real: bool,
    },
    Pass {
        ms: u64,
    },
    /// Everybody leaves, and the queue is cleared.
    Clear,
    Restart,
}

fn step() -> impl Strategy<Value = Step> {
    let conn = 0..CONNECTIONS;
    let correl = || 0..3_u8;
    prop_oneof![
        8 => (conn.clone(), correl(), any::<bool>()).prop_map(|(conn, correl, sync)| Step::Put { conn, correl, sync }),
        8 => (conn.clone(), prop::option::of(correl()), any::<bool>(), prop_oneof![Just(0), Just(50), Just(-1)])
            .prop_map(|(conn, correl, sync, wait_ms)| Step::Get { conn, correl, sync, wait_ms }),
        3 => conn.clone().prop_map(|conn| Step::Commit { conn }),
        2 => conn.clone().prop_map(|conn| Step::Back { conn }),
        1 => conn.prop_map(|conn| Step::Lose { conn }),
        2 => (1..4_usize).prop_map(|messages| Step::Lock { messages }),
        1 => Just(Step::Unlock),
        2 => any::<bool>().prop_map(|real| Step::HandOver { real }),
        2 => (1..100_u64).prop_map(|ms| Step::Pass { ms }),
        1 => Just(Step::Clear),
        1 => Just(Step::Restart),
    ]
}

/// What one connection does, as its application knows it.
#[derive(Default)]
struct App {
    conn: Option<(ConnId, i32)>,
    /// Calls that wait, and whether they are in the unit of work.
    waiting: BTreeMap<CallId, bool>,
    puts: BTreeSet<u32>,
    gets: BTreeSet<u32>,
}

#[derive(Default)]
struct Run {
    qm: Option<Qm>,
    apps: [App; CONNECTIONS],
    locked: Vec<Id>,
    next: u32,
    /// Messages that were told to be there.
    there: BTreeSet<u32>,
    /// Messages that went to somebody for good.
    gone: BTreeSet<u32>,
}

impl Run {
    fn qm(&mut self) -> &mut Qm {
        self.qm.as_mut().unwrap()
    }

    fn connect(&mut self, app: usize) -> (ConnId, i32) {
        if let Some(conn) = self.apps[app].conn {
            return conn;
        }
        let id = self.qm().connect();
        let handle = self.qm().open_all(id, "Q");
        self.apps[app] = App { conn: Some((id, handle)), ..App::default() };
        (id, handle)
    }

    fn number(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    fn leave(&mut self, number: u32) {
        assert!(self.there.contains(&number), "{number} was never told to be there");
        assert!(self.gone.insert(number), "{number} was given twice");
    }

    fn step(&mut self, step: Step) {
        self.qm().compact();
        match step {
            Step::Put { conn: app, correl, sync } => {
                let (conn, handle) = self.connect(app);
                let number = self.number();
                let md = Mqmd { correl_id: CorrelId(id(correl + 1)), ..persistent() };
                let options = if sync { PutOptions::SYNCPOINT } else { PutOptions::NO_SYNCPOINT };
                // A message outside of syncpoint may go to one who waits before the put is answered.
                let into = if sync { &mut self.apps[app].puts } else { &mut self.there };
                into.insert(number);
                let put = self.qm().put_md(conn, handle, md, options, &number.to_string());
                assert_eq!(reason(&put.reply), Reason::NONE);
            }
            Step::Get { conn: app, correl, sync, wait_ms } => {
                let (conn, handle) = self.connect(app);
                let options = if sync { GetOptions::SYNCPOINT } else { GetOptions::NO_SYNCPOINT };
                let mut wanted = request(handle, options | GetOptions::WAIT, wait_ms);
                if let Some(correl) = correl {
                    wanted.correl_id = CorrelId(id(correl + 1));
                }
                let call = self.qm().send(conn, Verb::Get(Box::new(wanted)));
                self.apps[app].waiting.insert(call, sync);
            }
            Step::Commit { conn: app } => {
                let (conn, _) = self.connect(app);
                let (puts, gets) =
                    (std::mem::take(&mut self.apps[app].puts), std::mem::take(&mut self.apps[app].gets));
                self.there.extend(puts);
                gets.into_iter().for_each(|number| self.leave(number));
                self.qm().commit(conn);
            }
            Step::Back { conn: app } => {
                let (conn, _) = self.connect(app);
                self.apps[app].puts.clear();
                self.apps[app].gets.clear();
                self.qm().back(conn);
            }
            Step::Lose { conn: app } => {
                if let Some((conn, _)) = self.apps[app].conn {
                    self.apps[app] = App::default();
                    self.qm().closed(conn);
                }
            }
            Step::Lock { messages } => {
                let queue = QName::new("Q").unwrap();
                let lock = |qm: &mut QueueManager, now, _: &mut _, _: &mut _| {
                    qm.lock_next(now, &queue, HOLDER, messages, usize::MAX).unwrap()
                };
                let locked = self.qm().turn(lock);
                self.locked.extend(locked.iter().map(|locked| locked.id));
            }
            Step::Unlock => {
                let ids = std::mem::take(&mut self.locked);
                self.qm().turn(|qm, now, batch, out| qm.unlock(now, HOLDER, &ids, batch, out));
            }
            Step::HandOver { real } => self.hand_over(real),
            Step::Pass { ms } => self.qm().pass(ms),
            Step::Clear => self.clear(),
            Step::Restart => {
                self.qm = self.qm.take().map(Qm::restart);
                self.apps = Default::default();
                self.locked.clear();
            }
        }
        self.look_at_answers();
    }

    fn clear(&mut self) {
        for app in 0..CONNECTIONS {
            self.step(Step::Lose { conn: app });
        }
        let queue = QName::new("Q").unwrap();
        let clear =
            |qm: &mut QueueManager, now, batch: &mut _, out: &mut _| qm.clear(now, &queue, batch, out);
        if !self.locked.is_empty() {
            assert!(self.qm().turn(clear).is_err(), "what is locked is in use");
            self.step(Step::Unlock);
        }
        self.qm().turn(clear).unwrap();
        assert_eq!(self.qm().depth("Q"), 0);
        self.gone.clone_from(&self.there);
    }

    fn hand_over(&mut self, real: bool) {
        let ids = if real { std::mem::take(&mut self.locked) } else { self.locked.clone() };
        let number = self.number();
        if real {
            self.there.insert(number);
        }
        let before: Vec<u32> = ids.iter().map(|id| self.number_of(*id)).collect();
        let taken = self.qm().turn(|qm, now, batch, out| {
            let unit = batch.new_unit();
            let mut commit = Commit { unit: Some(unit), ..Commit::default() };
            let taken = qm.take_locked(HOLDER, &ids, &mut commit);
            let who = Putter {
                user: Chars::BLANK,
                appl_name: Chars::BLANK,
                appl_type: ApplType::USER,
                rights: Rights::Device,
                context: PutContext::Default,
            };
            let md = Mqmd { correl_id: CorrelId(id(1)), ..persistent() };
            let body = number.to_string().into();
            let put = UnitPut { queue: QName::new("Q").unwrap(), q_mgr: QMgrName::BLANK, md, body };
            qm.put_in_unit(now, &who, put, &mut commit, batch).unwrap();
            if real {
                batch.commit(commit);
                qm.unit_is_real(now, unit, batch, out);
            } else {
                qm.unit_dropped(unit, batch);
            }
            taken
        });
        assert!(taken.iter().all(|taken| *taken), "what is locked stays locked");
        if real {
            before.into_iter().for_each(|number| self.leave(number));
        }
    }

    /// The number in a message that is in the store.
    fn number_of(&mut self, id: Id) -> u32 {
        let recovered = self.qm().store().recovered();
        let message = recovered.messages.iter().find(|message| message.id == id).expect("a locked message");
        let record = store::Store::body(self.qm().store(), id, message.place).read().unwrap();
        text(&record.body).parse().unwrap()
    }

    fn look_at_answers(&mut self) {
        let answers = std::mem::take(&mut self.qm().answers);
        for (call, answered) in answers {
            let app = self.apps.iter_mut().find(|app| app.waiting.contains_key(&call));
            let app = app.unwrap_or_else(|| panic!("nobody waits for {answered:?}"));
            let sync = app.waiting.remove(&call).unwrap();
            let Reply::Got(got) = answered.reply else { continue };
            let taken = self.qm.as_ref().unwrap().read(*got);
            let number: u32 = text(&taken.body).parse().unwrap();
            if sync {
                assert!(self.there.contains(&number) && !self.gone.contains(&number), "{number}");
                app.gets.insert(number);
            } else {
                self.leave(number);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_message_goes_to_exactly_one(steps in prop::collection::vec(step(), 1..100)) {
        let mut qm = Qm::bounded(Limits { clear_messages_max: 2, ..Limits::default() });
        qm.script("DEFINE QLOCAL(Q) MAXDEPTH(1000)");
        let mut run = Run { qm: Some(qm), ..Run::default() };
        for step in steps {
            run.step(step);
        }
        run.step(Step::Restart);
        let (conn, handle) = run.connect(0);
        for body in run.qm().drain(conn, handle) {
            run.leave(body.parse().unwrap());
        }
        run.qm().pass(0);
        prop_assert_eq!(&run.there, &run.gone);
        let recovered = run.qm().store().recovered();
        prop_assert!(recovered.messages.is_empty());
        prop_assert!(recovered.keyed.iter().all(|(key, _)| !key.starts_with(b"qb")), "no count is left behind");
        prop_assert!(recovered.keyed.iter().all(|(key, _)| !key.starts_with(b"qc")), "nothing is being cleared");
    }
}
