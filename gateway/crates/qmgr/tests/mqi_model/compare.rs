//! Both sides side by side: a call to the model and to the queue manager, and what is said when they differ.

use std::collections::{BTreeSet, VecDeque};
use std::fmt::Write;

use crate::adapter::Engine;
use crate::calls::value::*;
use crate::calls::{Call, Gmo, Got, NO_ID, Outcome, Seen, Step};
use crate::generate::{self, Features, Generator};
use crate::model::{Kind, Model};

/// A number from the environment.
pub(crate) fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Changes what came, to see whether the comparison notices.
pub(crate) type Fault<'a> = &'a mut dyn FnMut(&Call, &mut Step);

pub(crate) struct Pair {
    seed: u64,
    step: usize,
    shown: usize,
    features: Features,
    model: Model,
    engine: Engine,
    last: VecDeque<String>,
}

impl Pair {
    pub(crate) fn new(seed: u64, features: Features) -> Self {
        let (settings, definitions) = (generate::settings(), generate::definitions());
        let engine = Engine::new(&settings, &definitions);
        Self {
            seed,
            features,
            step: 0,
            shown: number("MQI_MODEL_SHOWN", 20),
            model: Model::new(settings, definitions),
            engine,
            last: VecDeque::new(),
        }
    }

    /// So many calls of the seed; then everything that is left on the queues is looked at.
    pub(crate) fn run(&mut self, calls: usize, fault: Fault<'_>) -> Result<(), String> {
        let mut generator = Generator::new(self.seed, self.features);
        let audit_every = number("MQI_MODEL_AUDIT", 1000);
        for number in 1..=calls {
            if number % audit_every == 0 {
                self.audit(fault)?;
            }
            if self.features.moves && number % 97 == 0 {
                self.engine.compact();
            }
            let call = generator.next(&self.model);
            if !self.engine.can_say(&call) {
                continue;
            }
            self.step(&call, fault)?;
            if call == Call::Crash {
                self.audit(fault)?;
            }
        }
        self.audit(fault)
    }

    pub(crate) fn step(&mut self, call: &Call, fault: Fault<'_>) -> Result<Outcome, String> {
        self.step += 1;
        let expected = self.model.apply(call);
        let mut came = self.engine.apply(call, &expected);
        fault(call, &mut came);
        if self.last.len() >= self.shown {
            self.last.pop_front();
        }
        self.last.push_back(format!("{:>6} {call:?}\n         -> {:?}", self.step, Brief(&expected)));
        let (a, mut b) = (shown(expected.clone()), shown(came));
        if b.outcome.cc == 2 && a.also.contains(&b.outcome.reason) {
            b.outcome.reason = a.outcome.reason;
        }
        b.also.clone_from(&a.also);
        let (should, is) = (self.model.depths(), self.engine.depths());
        if a == b && should == is {
            return Ok(expected.outcome);
        }
        let mut text = format!("seed {} step {}\n", self.seed, self.step);
        for line in &self.last {
            let _ = writeln!(text, "{line}");
        }
        let _ = write!(text, "expected {a:?}\ncame     {b:?}");
        for name in should.keys().chain(is.keys()).collect::<BTreeSet<_>>() {
            let (should, is) = (should.get(name).unwrap_or(&0), is.get(name).unwrap_or(&0));
            if should != is {
                let _ = write!(text, "\ndepth of {name}: expected {should}, came {is}");
            }
        }
        Err(text)
    }

    /// Browses all local queues, on a connection of its own.
    fn audit(&mut self, fault: Fault<'_>) -> Result<(), String> {
        let conn = 99;
        self.step(&Call::Connect { conn }, fault)?;
        let local = |o: &&crate::model::Object| !o.deleted && o.def.kind == Kind::Local;
        let names: Vec<String> =
            self.model.objects.iter().filter(local).map(|o| o.def.name.clone()).collect();
        for name in names {
            let options = OO_BROWSE | OO_INQUIRE;
            let open = Call::Open { conn, name, qm: String::new(), dynamic: String::new(), options };
            let Seen::Opened { hobj, .. } = self.step(&open, fault)?.seen else { continue };
            let selectors = vec![SEL_DEPTH, SEL_OPEN_INPUT, SEL_OPEN_OUTPUT];
            self.step(&Call::Inquire { conn, hobj, selectors }, fault)?;
            let gmo = Gmo {
                options: GMO_BROWSE_NEXT,
                wait_ms: 0,
                matches: 0,
                msg_id: NO_ID,
                correl_id: NO_ID,
                group_id: NO_ID,
                seq: 1,
                offset: 0,
                token: 0,
            };
            while self.step(&Call::Get { conn, hobj, gmo: gmo.clone(), buffer: 10_000 }, fault)?.cc == 0 {}
            self.step(&Call::Close { conn, hobj, options: CO_NONE }, fault)?;
        }
        self.step(&Call::Disconnect { conn }, fault)?;
        Ok(())
    }
}

/// A step with what is comparable: the ends of waiting calls by connection, data as far as it was returned.
fn shown(mut step: Step) -> Step {
    step.woken.sort_by_key(|(conn, _)| *conn);
    for outcome in step.woken.iter_mut().map(|(_, outcome)| outcome).chain([&mut step.outcome]) {
        match &mut outcome.seen {
            Seen::Got(got) => comparable(got),
            // Outside of groups what comes back of these is what went in.
            Seen::Put { group_id, seq, offset, .. } if *group_id == NO_ID => (*seq, *offset) = (1, 0),
            _ => {}
        }
    }
    step
}

fn comparable(got: &mut Got) {
    let header = got.data.header_length();
    if got.returned < header {
        got.data.header = None;
    }
    got.data.bytes.0.truncate(got.returned.saturating_sub(header));
    if let Some(crate::calls::Header::Transmission { md, .. }) = &mut got.data.header {
        // Of version 1: nothing of groups. The context of the date is not modelled.
        (md.group_id, md.seq, md.offset, md.flags, md.original_length) = (NO_ID, 1, 0, 0, -1);
    }
    if got.assembled {
        (got.md.flags, got.md.original_length) = (0, -1);
    }
}

/// A step in one line.
struct Brief<'a>(&'a Step);

impl std::fmt::Debug for Brief<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        brief(f, &self.0.outcome)?;
        self.0.woken.iter().try_for_each(|(conn, outcome)| {
            write!(f, ", wakes {conn}: ")?;
            brief(f, outcome)
        })
    }
}

fn brief(f: &mut std::fmt::Formatter<'_>, outcome: &Outcome) -> std::fmt::Result {
    write!(f, "{}/{} ", outcome.cc, outcome.reason)?;
    match &outcome.seen {
        Seen::Got(got) => {
            write!(f, "{:?} of {} {:?} token {}", got.data.bytes, got.length, got.md, got.token)
        }
        Seen::Put { msg_id, group_id, seq, offset, .. } => {
            let (msg_id, group_id) = (crate::calls::Short(msg_id), crate::calls::Short(group_id));
            write!(f, "msg {msg_id:?} group {group_id:?} {seq} {offset}")
        }
        other => write!(f, "{other:?}"),
    }
}
