//! Random calls that make sense often enough: the generator looks into the model to know handles, ids and what is half done, and
//! prefers the states in which queue managers go wrong (full queues, groups begun, several units at once, deleted queues).

use crate::calls::value::*;
use crate::calls::{Body, Call, Conn, Gmo, Hobj, Id, Md, NO_ID};
use crate::model::{Definition, Handle, Kind, Model, PERMANENT, Settings, TEMPORARY};

macro_rules! features {
    ($($name:ident $on:literal, $what:literal;)+) => {
        /// What may occur; a queue manager in building is compared without what it does not have yet.
        #[derive(Clone, Copy, Debug)]
        pub struct Features { $(#[doc = $what] pub $name: bool,)+ }

        impl Features {
            /// Everything that the model has.
            pub const ALL: Self = Self { $($name: true,)+ };
            /// What the queue manager has.
            pub const NOW: Self = Self { $($name: $on,)+ };

            /// `NOW` with those changed that are named: `groups` or `+groups` on, `-groups` off, `all` all on.
            pub fn changed(mut self, text: &str) -> Self {
                for word in text.split([',', ' ']).filter(|word| !word.is_empty()) {
                    let on = !word.starts_with('-');
                    match word.trim_start_matches(['+', '-']) {
                        "all" => { $(self.$name = on;)+ }
                        $(stringify!($name) => self.$name = on,)+
                        other => panic!("no feature {other}"),
                    }
                }
                self
            }
        }
    };
}

features! {
    expiry true, "messages that expire";
    coa false, "reports of arrival";
    cod false, "reports of delivery";
    expirations false, "reports of expiry";
    groups false, "groups, in logical order and out of it";
    segments false, "segments of logical messages";
    complete false, "MQGMO_COMPLETE_MSG";
    locks false, "MQGMO_LOCK and MQGMO_UNLOCK";
    marks false, "marks of browsed messages";
    truncation true, "buffers that are too small";
    first_truncated false, "MQGMO_BROWSE_FIRST among them";
    tokens true, "MQMO_MATCH_MSG_TOKEN";
    dynamic true, "dynamic queues";
    foreign_delete false, "MQCO_DELETE of a temporary queue by another handle than its maker's";
    deleted_delete false, "MQCO_DELETE of a queue that is deleted already";
    aliases true, "aliases of queues";
    remotes true, "remote definitions and transmission queues";
    waits true, "gets that wait";
    contexts true, "context set, passed, saved";
    inhibits true, "MQSET of the inhibiting attributes";
    crashes true, "the end of the queue manager without a word";
    wrong true, "calls that are wrong";
}

/// xorshift64*: the same seed gives the same calls everywhere.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

pub const QM: &str = "QM1";
pub const QM_OTHER: &str = "QM2";

/// The queue manager of the test.
pub fn settings() -> Settings {
    Settings {
        name: QM.to_owned(),
        max_uncommitted: 9,
        max_handles: 9,
        max_length: 4_194_304,
        mark_ms: 5000,
        dead_q: "DEAD".to_owned(),
        default_xmitq: String::new(),
    }
}

/// The queues of the test.
pub fn definitions() -> Vec<Definition> {
    let local = |name: &str, max_depth: usize| Definition { max_depth, ..Definition::new(name, Kind::Local) };
    let model = |name: &str, dynamic: u8| Definition {
        dynamic,
        share: dynamic == PERMANENT,
        exclusive: dynamic == TEMPORARY,
        max_depth: 6,
        ..Definition::new(name, Kind::Model)
    };
    let alias = |name: &str, target: &str| Definition::new(name, Kind::Alias { target: target.to_owned() });
    let remote = |name: &str, q: &str, qm: &str, xmitq: &str| {
        let kind = Kind::Remote { q: q.to_owned(), qm: qm.to_owned(), xmitq: xmitq.to_owned() };
        Definition::new(name, kind)
    };
    vec![
        Definition { max_length: 200, ..local("Q.A", 8) },
        Definition { fifo: true, priority: 3, ..local("Q.FIFO", 20) },
        Definition { persistent: true, priority: 4, ..local("Q.PERSISTENT", 25) },
        Definition { class_high: true, ..local("Q.HIGH", 15) },
        Definition { share: false, exclusive: true, ..local("Q.ALONE", 15) },
        local("Q.GROUPS", 60),
        local("Q.REPLY", 40),
        local("DEAD", 5000),
        Definition { transmission: true, max_length: 4300, ..local("XMIT", 12) },
        Definition { priority: 5, persistent: true, ..alias("ALIAS.A", "Q.A") },
        alias("ALIAS.REMOTE", "REMOTE"),
        alias("ALIAS.NOWHERE", "NOT.THERE"),
        alias("ALIAS.ALIAS", "ALIAS.A"),
        Definition { priority: 2, ..remote("REMOTE", "THERE", QM_OTHER, "XMIT") },
        remote("REMOTE.LOST", "THERE", "QM9", ""),
        remote("QM.ALIAS", "", QM_OTHER, "XMIT"),
        remote("REPLY.ALIAS", "Q.REPLY", QM, ""),
        model("MODEL.TEMPORARY", TEMPORARY),
        model("MODEL.PERMANENT", PERMANENT),
    ]
}

/// What is wrong with a put.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wrong {
    Nothing,
    Md,
    Options,
    Context,
}

pub struct Generator {
    pub random: Random,
    features: Features,
    counter: u32,
}

fn id(text: &str) -> Id {
    let mut id = NO_ID;
    id[..text.len()].copy_from_slice(text.as_bytes());
    id
}

impl Generator {
    pub fn new(seed: u64, features: Features) -> Self {
        Self { random: Random::new(seed), features, counter: 0 }
    }

    pub fn next(&mut self, model: &Model) -> Call {
        let waiting = |conn: &Conn| model.waiters.iter().any(|waiter| waiter.conn == *conn);
        let all: Vec<Conn> = model.conns.keys().copied().collect();
        let free: Vec<Conn> = all.iter().copied().filter(|conn| !waiting(conn)).collect();
        if self.features.crashes && self.random.below(2500) == 0 {
            return Call::Crash;
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
                options = self.random.pick(&[0, 0x6, OO_PASS_ALL | OO_BROWSE, OO_SAVE_ALL | OO_OUTPUT])
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

    fn data(&mut self) -> Vec<u8> {
        self.counter += 1;
        let length = match self.random.below(100) {
            0..3 => 0,
            3..8 => 190 + self.random.below(30),
            8..10 => 290 + self.random.below(20),
            10..20 => 90 + self.random.below(30),
            _ => 6 + self.random.below(30),
        };
        let text = format!("#{} ", self.counter);
        text.bytes().cycle().take(length).collect()
    }

    fn md(&mut self, wrong: bool) -> Md {
        let mut md = Md::default();
        if self.random.percent(50) {
            md.priority = self.random.below(10) as i32;
        }
        md.persistence = self.random.pick(&[2, 2, 0, 1, 1]);
        if self.random.percent(30) {
            md.msg_id = id(self.random.pick(&["given.1", "given.2", "given.3"]));
        }
        if self.random.percent(40) {
            md.correl_id = id(self.random.pick(&["correl.1", "correl.2", "correl.3"]));
        }
        if self.random.percent(30) {
            md.format = "MQSTR".to_owned();
        }
        if self.features.expiry && self.random.percent(12) {
            md.expiry = 1 + self.random.below(60) as i32;
        }
        if self.random.percent(8) {
            md.msg_type = self.random.pick(&[1, 2, 70_000]);
            md.reply_q = self.random.pick(&["Q.REPLY", "REPLY.ALIAS", "NOT.THERE"]).to_owned();
        }
        self.reports(&mut md);
        if wrong {
            match self.random.below(6) {
                0 => md.msg_type = 0,
                1 => md.expiry = 0,
                2 => md.persistence = 7,
                3 => md.priority = -5,
                4 => md.priority = 12,
                _ => (md.msg_type, md.reply_q) = (1, String::new()),
            }
        }
        md
    }

    fn reports(&mut self, md: &mut Md) {
        let mut kinds = Vec::new();
        let Features { coa, cod, expirations, .. } = self.features;
        let all = [
            (coa, [RO_COA, RO_COA_DATA, RO_COA_FULL]),
            (cod, [RO_COD, RO_COD_DATA, RO_COD_FULL]),
            (expirations, [RO_EXPIRATION, RO_EXPIRATION_DATA, RO_EXPIRATION_FULL]),
        ];
        all.iter().filter(|(on, _)| *on).for_each(|(_, some)| kinds.extend(some));
        if kinds.is_empty() || !self.random.percent(12) {
            return;
        }
        kinds.push(RO_EXCEPTION);
        md.report = self.random.pick(&kinds) | self.random.pick(&kinds);
        md.report |= self.random.pick(&[
            0,
            0,
            RO_PASS_MSG_ID,
            RO_PASS_CORREL_ID,
            RO_PASS_DISCARD_AND_EXPIRY | RO_DISCARD,
        ]);
        md.reply_q = self.random.pick(&["Q.REPLY", "Q.REPLY", "REPLY.ALIAS"]).to_owned();
    }

    fn put_options(&mut self) -> i32 {
        let mut options = self.random.pick(&[0, PMO_NO_SYNCPOINT, PMO_SYNCPOINT, PMO_SYNCPOINT]);
        if self.random.percent(20) {
            options |= PMO_NEW_MSG_ID;
        }
        if self.random.percent(10) {
            options |= PMO_NEW_CORREL_ID;
        }
        options
    }

    /// What may be wrong with a put, if anything: only one thing, since which of two is said first is nowhere written.
    fn wrong_of_put(&mut self, conn: Conn, path: &[usize], model: &Model) -> Wrong {
        let trouble = |index: &usize| {
            let object = &model.objects[*index];
            object.deleted || object.def.put_inhibited || model.depth(*index) >= object.def.max_depth
        };
        let limit = model.uncommitted(conn) + 2 >= model.settings.max_uncommitted;
        if !self.features.wrong || !self.random.percent(4) || limit || path.iter().any(trouble) {
            return Wrong::Nothing;
        }
        self.random.pick(&[Wrong::Md, Wrong::Options, Wrong::Context])
    }

    fn put(&mut self, conn: Conn, hobj: Hobj, mine: &[Hobj], model: &Model) -> Call {
        let handle = &model.handles[&hobj];
        let wrong = self.wrong_of_put(conn, &handle.resolved.path, model);
        let mut md = self.md(wrong == Wrong::Md);
        let mut data = self.data();
        let mut options = self.put_options();
        if wrong == Wrong::Options {
            let data = Body(data);
            return Call::Put { conn, hobj, md, options: PMO_SYNCPOINT | PMO_NO_SYNCPOINT, context: 0, data };
        }
        let grouping = handle.resolved.remote.is_none() && self.features.groups;
        let unfinished = handle.putting.as_ref().filter(|progress| progress.unfinished());
        let on_groups = model.objects[handle.resolved.object].def.name == "Q.GROUPS";
        if let Some(progress) = unfinished.filter(|p| p.logical && grouping && self.random.percent(88)) {
            options = options & !(PMO_SYNCPOINT | PMO_NO_SYNCPOINT) | PMO_LOGICAL_ORDER;
            if progress.synced != self.random.percent(1) {
                options |= PMO_SYNCPOINT;
            }
            if !self.random.percent(2) {
                md.persistence = progress.persistence;
            }
            md.flags = if progress.in_group { MF_IN_GROUP } else { 0 };
            if progress.in_message {
                md.flags |= if self.random.percent(50) { MF_LAST_SEGMENT } else { MF_SEGMENT };
                md.flags |= if progress.last_in_group { MF_LAST_IN_GROUP } else { 0 };
            } else {
                md.flags |= if self.random.percent(50) { MF_LAST_IN_GROUP } else { 0 };
                if self.features.segments && self.random.percent(15) {
                    md.flags |= MF_SEGMENT;
                }
            }
        } else if grouping && self.random.percent(if on_groups { 50 } else { 5 }) {
            if self.random.percent(50) {
                options |= PMO_LOGICAL_ORDER;
                md.flags = if self.random.percent(15) { MF_LAST_IN_GROUP } else { MF_IN_GROUP };
                if self.features.segments && self.random.percent(25) {
                    md.flags = self.random.pick(&[MF_SEGMENT, MF_SEGMENT | MF_IN_GROUP]);
                }
            } else {
                let last = 2 + self.random.below(2) as i32;
                md.group_id = id(self.random.pick(&["group.1", "group.2", "group.3"]));
                md.seq = 1 + self.random.below(last as usize) as i32;
                md.flags = if md.seq == last { MF_LAST_IN_GROUP } else { MF_IN_GROUP };
                if self.features.segments && self.random.percent(20) {
                    data.resize(20, b's');
                    let at = self.random.below(3) as i32;
                    md.group_id = id(self.random.pick(&["parts.1", "parts.2"]));
                    (md.seq, md.offset) = (1, 20 * at);
                    md.flags = if at == 2 { MF_LAST_SEGMENT } else { MF_SEGMENT };
                }
            }
        }
        if md.flags & MF_SEGMENT != 0 && data.is_empty() && !self.random.percent(3) {
            data.push(b'x');
        }
        let mut context = 0;
        let bad_context = wrong == Wrong::Context;
        if self.features.contexts && wrong != Wrong::Md && (bad_context || self.random.percent(30)) {
            let fits = [
                (OO_SET_ALL, PMO_SET_ALL),
                (OO_SET_IDENTITY, PMO_SET_IDENTITY),
                (OO_PASS_ALL, PMO_PASS_ALL),
                (OO_PASS_IDENTITY, PMO_PASS_IDENTITY),
            ];
            let fit = fits
                .iter()
                .find(|(open, _)| handle.options & open != 0)
                .map_or(PMO_NO_CONTEXT, |(_, put)| *put);
            let any = [PMO_SET_ALL, PMO_PASS_ALL, PMO_PASS_IDENTITY, PMO_SET_IDENTITY];
            let saved = |h: &Hobj| model.handles[h].saved.is_some();
            options |= if bad_context && mine.iter().any(saved) { self.random.pick(&any) } else { fit };
            if options & (PMO_SET_ALL | PMO_SET_IDENTITY) != 0 {
                (md.user, md.identity) = ("someone".to_owned(), "identity".to_owned());
                (md.put_type, md.put_name, md.origin) = (70_000, "a program".to_owned(), "orig".to_owned());
            }
            if options & (PMO_PASS_ALL | PMO_PASS_IDENTITY) != 0 {
                let saving = mine.iter().copied().filter(|h| {
                    if bad_context { saved(h) } else { model.handles[h].options & OO_SAVE_ALL != 0 }
                });
                let saving: Vec<Hobj> = saving.collect();
                context = if saving.is_empty() { self.random.pick(mine) } else { self.random.pick(&saving) };
            }
        }
        Call::Put { conn, hobj, md, options, context, data: Body(data) }
    }

    fn put1(&mut self, conn: Conn, model: &Model) -> Call {
        let mut name = self.queue(model);
        let mut qm = String::new();
        if self.features.remotes && self.random.percent(12) {
            (name, qm) = match self.random.below(3) {
                0 => ("REMOTE".to_owned(), qm),
                1 => ("ALIAS.REMOTE".to_owned(), qm),
                _ => ("ELSEWHERE".to_owned(), "QM.ALIAS".to_owned()),
            };
        }
        if self.features.wrong && self.random.percent(4) {
            name = self
                .random
                .pick(&["NOT.THERE", "MODEL.PERMANENT", "ALIAS.NOWHERE", "REMOTE.LOST"])
                .to_owned();
        }
        let resolved = model.resolve(&qm, &name).ok().filter(|resolved| !resolved.is_model);
        let wrong = match &resolved {
            Some(resolved) => self.wrong_of_put(conn, &resolved.path, model),
            None => Wrong::Nothing,
        };
        let md = self.md(wrong == Wrong::Md);
        let options = match wrong {
            _ if resolved.is_none() => 0,
            Wrong::Options => PMO_SYNCPOINT | PMO_NO_SYNCPOINT,
            _ => self.put_options(),
        };
        Call::Put1 { conn, name, qm, md, options, data: Body(self.data()) }
    }

    fn get(&mut self, conn: Conn, hobj: Hobj, model: &Model) -> Call {
        let handle = &model.handles[&hobj];
        let (can_get, can_browse) = (handle.options & OO_INPUT_ANY != 0, handle.options & OO_BROWSE != 0);
        let mut options = 0;
        let browse = can_browse && (!can_get || self.random.percent(50));
        if browse {
            options = match self.random.below(100) {
                0..25 => GMO_BROWSE_FIRST,
                25..75 => GMO_BROWSE_NEXT,
                75..85 => GMO_BROWSE_UNDER_CURSOR,
                85..88 if self.features.locks => return self.unlock(conn, hobj),
                _ if can_get => GMO_UNDER_CURSOR,
                _ => GMO_BROWSE_NEXT,
            };
        }
        let under = options & (GMO_UNDER_CURSOR | GMO_BROWSE_UNDER_CURSOR) != 0;
        if options & GMO_BROWSES == 0 {
            options |=
                self.random.pick(&[0, GMO_NO_SYNCPOINT, GMO_SYNCPOINT, GMO_SYNCPOINT, GMO_IF_PERSISTENT]);
        } else if self.features.locks && self.random.percent(15) {
            options |= GMO_LOCK;
        }
        if self.features.marks && options & GMO_BROWSES != 0 && self.random.percent(30) {
            options |= self.marks(handle.options & OO_CO_OP != 0, under);
        }
        let mut gmo = Gmo {
            options,
            wait_ms: 0,
            matches: 0,
            msg_id: NO_ID,
            correl_id: NO_ID,
            group_id: NO_ID,
            seq: 1,
            offset: 0,
            token: 0,
        };
        if !under {
            self.matches(&mut gmo, model, handle.resolved.object);
            self.grouping(&mut gmo, handle);
            if self.features.waits && self.random.percent(8) {
                gmo.options |= GMO_WAIT;
                gmo.wait_ms = self.random.pick(&[0, 500, 1000, 3000, -1]);
            }
        }
        let mut buffer = 2000;
        let first = gmo.options & GMO_BROWSE_FIRST != 0 && !self.features.first_truncated;
        if self.features.truncation && !first && self.random.percent(12) {
            buffer = self.random.below(50);
            if self.random.percent(50) {
                gmo.options |= GMO_ACCEPT_TRUNCATED;
            }
        }
        if self.features.wrong && self.random.percent(1) {
            gmo.options |=
                self.random.pick(&[GMO_SYNCPOINT | GMO_NO_SYNCPOINT, GMO_BROWSE_FIRST | GMO_UNDER_CURSOR]);
        }
        Call::Get { conn, hobj, gmo, buffer }
    }

    fn unlock(&mut self, conn: Conn, hobj: Hobj) -> Call {
        let gmo = Gmo {
            options: GMO_UNLOCK,
            wait_ms: 0,
            matches: 0,
            msg_id: NO_ID,
            correl_id: NO_ID,
            group_id: NO_ID,
            seq: 1,
            offset: 0,
            token: 0,
        };
        Call::Get { conn, hobj, gmo, buffer: 0 }
    }

    fn marks(&mut self, co_op: bool, under: bool) -> i32 {
        match self.random.below(4) {
            0 if under => GMO_UNMARK_HANDLE,
            1 if under && co_op => GMO_UNMARK_CO_OP,
            0 if co_op => GMO_MARK_CO_OP | GMO_UNMARKED,
            1 => GMO_MARK_HANDLE,
            2 if !under => GMO_UNMARKED,
            _ if under => GMO_MARK_HANDLE,
            _ => GMO_MARK_HANDLE | GMO_UNMARKED,
        }
    }

    fn matches(&mut self, gmo: &mut Gmo, model: &Model, object: usize) {
        let messages = &model.objects[object].messages;
        if self.random.percent(60) || messages.is_empty() {
            gmo.matches = self.random.pick(&[0, 0, MO_MSG_ID | MO_CORREL_ID]);
            return;
        }
        let message = &messages[self.random.below(messages.len())];
        match self.random.below(6) {
            0 => (gmo.matches, gmo.msg_id) = (MO_MSG_ID, message.md.msg_id),
            1 => (gmo.matches, gmo.correl_id) = (MO_CORREL_ID, message.md.correl_id),
            2 => {
                gmo.matches = MO_MSG_ID | MO_CORREL_ID;
                (gmo.msg_id, gmo.correl_id) = (message.md.msg_id, message.md.correl_id);
            }
            3 if self.features.tokens => (gmo.matches, gmo.token) = (MO_TOKEN, message.serial),
            4 if self.features.groups => (gmo.matches, gmo.group_id) = (MO_GROUP_ID, message.md.group_id),
            5 if self.features.groups => {
                gmo.matches = MO_GROUP_ID | MO_SEQ | MO_OFFSET;
                (gmo.group_id, gmo.seq, gmo.offset) =
                    (message.md.group_id, message.md.seq, message.md.offset);
            }
            _ => (gmo.matches, gmo.correl_id) = (MO_CORREL_ID, id("correl.1")),
        }
    }

    /// Logical order and its relatives, with match options that go with them.
    fn grouping(&mut self, gmo: &mut Gmo, handle: &Handle) {
        if !self.features.groups {
            return;
        }
        let browse = gmo.options & GMO_BROWSES != 0;
        let progress = if browse { &handle.browsing } else { &handle.getting };
        let unfinished = progress.as_ref().filter(|p| p.unfinished());
        let chance = if unfinished.is_some_and(|p| p.logical) { 90 } else { 15 };
        let next = gmo.options & GMO_BROWSE_NEXT != 0 && handle.cursor.is_some();
        let logical = self.random.percent(chance);
        if if next && self.random.percent(95) { handle.cursor_logical } else { logical } {
            gmo.options |= GMO_LOGICAL_ORDER;
            gmo.matches &= MO_GROUP_ID;
            if let Some(progress) = unfinished.filter(|_| !browse && !self.random.percent(1)) {
                gmo.options &= !(GMO_SYNCPOINT | GMO_NO_SYNCPOINT | GMO_IF_PERSISTENT);
                gmo.options |= if progress.synced { GMO_SYNCPOINT } else { 0 };
            }
            gmo.options &= !(GMO_MARK_HANDLE | GMO_MARK_CO_OP | GMO_UNMARKED);
        }
        if self.random.percent(12) {
            gmo.options |= GMO_ALL_MSGS;
        }
        if self.features.segments && self.random.percent(6) {
            gmo.options |= GMO_ALL_SEGMENTS;
        }
        if self.features.segments && self.features.complete && self.random.percent(12) {
            gmo.options |= GMO_COMPLETE_MSG;
        }
    }
}
