//! Random calls that make sense often enough: the generator looks into the model to know handles, ids and what is half done, and
//! prefers the states in which queue managers go wrong (full queues, groups begun, several units at once, deleted queues).

mod features;
mod gets;
mod puts;
mod world;

use crate::calls::value::*;
use crate::calls::{Call, Conn, Hobj, Id, NO_ID};
use crate::model::{Handle, Kind, Model, PERMANENT, TEMPORARY};
pub(crate) use features::Features;
use world::QM;
pub(crate) use world::{definitions, settings};

/// xorshift64*: the same seed gives the same calls everywhere.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

pub(crate) struct Generator {
    pub(crate) random: Random,
    features: Features,
    counter: u32,
}

fn id(text: &str) -> Id {
    let mut id = NO_ID;
    id[..text.len()].copy_from_slice(text.as_bytes());
    id
}

impl Generator {
    pub(crate) fn new(seed: u64, features: Features) -> Self {
        Self { random: Random::new(seed), features, counter: 0 }
    }

    pub(crate) fn next(&mut self, model: &Model) -> Call {
        let waiting = |conn: &Conn| model.waiters.iter().any(|waiter| waiter.conn == *conn);
        let all: Vec<Conn> = model.conns.keys().copied().collect();
        let free: Vec<Conn> = all.iter().copied().filter(|conn| !waiting(conn)).collect();
        if self.features.crashes && self.random.below(2500) == 0 {
            return Call::Crash;
        }
        if self.features.commands && self.random.below(150) == 0 {
            return self.command(model);
        }
        if all.len() < 3 || free.is_empty() && all.len() < 6 || all.len() < 5 && self.random.percent(2) {
            let conn = (1..).find(|conn| !all.contains(conn)).unwrap_or(1);
            return Call::Connect { conn };
        }
        if free.is_empty() || self.random.below(200) == 0 {
            return Call::Lost { conn: self.random.pick(&all) };
        }
        let conn = self.random.pick(&free);
        let mine: Vec<Hobj> = model.conns[&conn].handles.clone();
        if mine.is_empty() || mine.len() < 4 && self.random.percent(25) {
            return self.open(conn, model);
        }
        if model.uncommitted(conn) > 5 && self.random.percent(12) {
            return if self.random.percent(60) { Call::Commit { conn } } else { Call::Back { conn } };
        }
        let hobj = self.random.pick(&mine);
        let handle = &model.handles[&hobj];
        match self.random.below(1000) {
            0..5 => Call::Disconnect { conn },
            // A known fault, see `expiry_of_locked`.
            5..35
                if !self.features.expiry_of_locked && model.handles.values().any(|h| h.locked.is_some()) =>
            {
                Call::Commit { conn }
            }
            5..35 => Call::Advance { ms: 100 * (1 + self.random.below(20) as u64) },
            35..75 => self.open(conn, model),
            75..120 => self.close(conn, hobj, handle, model),
            120..170 => self.put1(conn, model),
            170..215 => Call::Commit { conn },
            215..245 => Call::Back { conn },
            245..290 => self.inquire(conn, &mine, model),
            290..330 => self.set(conn, &mine, model),
            330..630 => match self.handle_for(OO_OUTPUT, &mine, model) {
                Some(hobj) => self.put(conn, hobj, &mine, model),
                None => self.open(conn, model),
            },
            _ => match self.handle_for(OO_INPUT_ANY | OO_BROWSE, &mine, model) {
                Some(hobj) => self.get(conn, hobj, model),
                None => self.open(conn, model),
            },
        }
    }

    /// CLEAR of a queue that nobody uses, if there is one; DELETE of one that was made.
    fn command(&mut self, model: &Model) -> Call {
        let local = |at: &usize| model.objects[*at].def.kind == Kind::Local && !model.objects[*at].deleted;
        let all: Vec<usize> = (0..model.objects.len()).filter(local).collect();
        let unused: Vec<usize> = all.iter().copied().filter(|at| !model.is_in_use(*at)).collect();
        let at = if unused.is_empty() || self.random.percent(10) { &all } else { &unused };
        let def = &model.objects[self.random.pick(at)].def;
        let (name, made) = (def.name.clone(), def.dynamic == PERMANENT);
        if made && self.random.percent(60) {
            return Call::Delete { name, purge: self.random.percent(50) };
        }
        Call::Clear { name }
    }

    /// One of the handles that can do it; now and then one that cannot.
    fn handle_for(&mut self, bits: i32, mine: &[Hobj], model: &Model) -> Option<Hobj> {
        if self.features.wrong && self.random.percent(1) {
            return Some(self.random.pick(mine));
        }
        let able: Vec<Hobj> =
            mine.iter().copied().filter(|hobj| model.handles[hobj].options & bits != 0).collect();
        (!able.is_empty()).then(|| self.random.pick(&able))
    }

    fn queue(&mut self, model: &Model) -> String {
        let locals =
            ["Q.A", "Q.A", "Q.FIFO", "Q.PERSISTENT", "Q.HIGH", "Q.ALONE", "Q.GROUPS", "Q.GROUPS", "Q.REPLY"];
        match self.random.below(100) {
            0..10 if self.features.aliases => "ALIAS.A".to_owned(),
            10..16 if self.features.remotes => "XMIT".to_owned(),
            16..22 if self.features.dynamic => {
                let made = model.objects.iter().filter(|o| o.def.dynamic != 0 && o.def.kind == Kind::Local);
                let names: Vec<&str> = made.map(|o| o.def.name.as_str()).collect();
                names.last().map_or_else(|| "Q.A".to_owned(), |_| self.random.pick(&names).to_owned())
            }
            _ => self.random.pick(&locals).to_owned(),
        }
    }

    fn open(&mut self, conn: Conn, model: &Model) -> Call {
        let mut qm = if self.random.percent(10) { QM.to_owned() } else { String::new() };
        let mut dynamic = "MADE.*".to_owned();
        let options;
        let mut name = self.queue(model);
        let output = OO_OUTPUT | self.context_opens();
        match self.random.below(100) {
            0..8 if self.features.remotes => {
                name = self.random.pick(&["REMOTE", "REMOTE", "ALIAS.REMOTE", "THERE"]).to_owned();
                if name == "THERE" {
                    qm = self.random.pick(&["QM.ALIAS", "XMIT"]).to_owned();
                }
                let wrong = self.features.wrong && self.random.percent(5);
                options = output | if wrong { OO_BROWSE } else { 0 };
            }
            8..16 if self.features.dynamic => {
                name = self.random.pick(&["MODEL.TEMPORARY", "MODEL.PERMANENT"]).to_owned();
                let put = if self.random.percent(70) { output } else { 0 };
                let browse = if self.random.percent(40) { OO_BROWSE } else { 0 };
                options = OO_INPUT_AS_Q_DEF | OO_INQUIRE | put | browse;
                if self.features.wrong && self.random.percent(6) {
                    dynamic = self.random.pick(&["", "BAD NAME*", "Q.A", "FINE.NAME"]).to_owned();
                }
            }
            16..20 if self.features.wrong => {
                name = self
                    .random
                    .pick(&["NOT.THERE", "ALIAS.NOWHERE", "ALIAS.ALIAS", "REMOTE.LOST", "QM.ALIAS"])
                    .to_owned();
                options = OO_OUTPUT;
            }
            20..22 if self.features.wrong => {
                options = self.random.pick(&[0, 0x6, OO_PASS_ALL | OO_BROWSE, OO_SAVE_ALL | OO_OUTPUT]);
            }
            22..45 => options = output | OO_INQUIRE,
            45..60 => options = OO_BROWSE | OO_INQUIRE,
            60..80 => options = OO_BROWSE | self.input() | OO_INQUIRE,
            80..95 => options = self.input() | output,
            _ => options = OO_INQUIRE | OO_SET,
        }
        let mut options = options;
        if options & OO_INPUT_ANY != 0 && self.features.contexts && self.random.percent(40) {
            options |= OO_SAVE_ALL;
        }
        if options & OO_BROWSE != 0 && self.features.marks && self.random.percent(40) {
            options |= OO_CO_OP;
        }
        Call::Open { conn, name, qm, dynamic, options }
    }

    fn input(&mut self) -> i32 {
        self.random.pick(&[
            OO_INPUT_AS_Q_DEF,
            OO_INPUT_SHARED,
            OO_INPUT_SHARED,
            OO_INPUT_SHARED,
            OO_INPUT_EXCLUSIVE,
        ])
    }

    fn context_opens(&mut self) -> i32 {
        if !self.features.contexts || !self.random.percent(40) {
            return 0;
        }
        self.random.pick(&[OO_PASS_IDENTITY, OO_PASS_ALL, OO_SET_IDENTITY, OO_SET_ALL])
    }

    fn close(&mut self, conn: Conn, hobj: Hobj, handle: &Handle, model: &Model) -> Call {
        let dynamic = model.objects[handle.resolved.object].def.dynamic != 0;
        let foreign = model.objects[handle.resolved.object].def.dynamic == TEMPORARY && !handle.creator;
        let gone = model.objects[handle.resolved.object].deleted && !self.features.deleted_delete;
        let dynamic = dynamic && (self.features.foreign_delete || !foreign) && !gone;
        let options = match self.random.below(100) {
            0..40 if dynamic => CO_DELETE,
            40..80 if dynamic => CO_DELETE_PURGE,
            0..3 if self.features.wrong && !foreign && !gone => CO_DELETE,
            _ => CO_NONE,
        };
        Call::Close { conn, hobj, options }
    }

    fn inquire(&mut self, conn: Conn, mine: &[Hobj], model: &Model) -> Call {
        let Some(hobj) = self.handle_for(OO_INQUIRE, mine, model) else { return self.open(conn, model) };
        let first = &model.objects[model.handles[&hobj].resolved.path[0]].def;
        let selectors = match first.kind {
            Kind::Local => vec![
                SEL_DEPTH,
                SEL_OPEN_INPUT,
                SEL_OPEN_OUTPUT,
                SEL_INHIBIT_GET,
                SEL_INHIBIT_PUT,
                SEL_MAX_DEPTH,
            ],
            Kind::Alias { .. } => vec![SEL_INHIBIT_GET, SEL_INHIBIT_PUT],
            _ => vec![SEL_INHIBIT_PUT],
        };
        Call::Inquire { conn, hobj, selectors }
    }

    fn set(&mut self, conn: Conn, mine: &[Hobj], model: &Model) -> Call {
        if !self.features.inhibits {
            return self.open(conn, model);
        }
        let able: Vec<Hobj> =
            mine.iter().copied().filter(|hobj| model.handles[hobj].options & OO_SET != 0).collect();
        let hobj = match able.is_empty() {
            true if self.features.wrong && self.random.percent(3) => self.random.pick(mine),
            true => return self.open(conn, model),
            false => self.random.pick(&able),
        };
        let value = if self.random.percent(30) { 1 } else { 0 };
        let values = match self.random.below(20) {
            0 if self.features.wrong => vec![(SEL_INHIBIT_GET, 7)],
            1..8 => vec![(SEL_INHIBIT_GET, value)],
            8..13 => vec![(SEL_INHIBIT_PUT, value)],
            _ => vec![(SEL_INHIBIT_GET, 0), (SEL_INHIBIT_PUT, 0)],
        };
        Call::Set { conn, hobj, values }
    }
}
