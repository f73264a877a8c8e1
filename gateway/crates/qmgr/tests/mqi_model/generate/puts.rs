//! MQPUT and MQPUT1.

use super::{Features, Generator, id};
use crate::calls::value::*;
use crate::calls::{Body, Call, Conn, Hobj, Md};
use crate::model::Model;

/// What is wrong with a put.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wrong {
    Nothing,
    Md,
    Options,
    Context,
}

impl Generator {
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

    /// A member of a group, or a segment, in no order. No group has two of a number: nobody says which of them is meant.
    fn member(&mut self, md: &mut Md, data: &mut Vec<u8>, model: &Model) {
        let number = self.counter / 20;
        let segments = self.features.segments && self.random.percent(20);
        let count = if segments { 3 } else { 2 + (number % 3) as i32 };
        let group_id = id(&format!("{}.{number}", if segments { "parts" } else { "group" }));
        let mut all =
            model.objects.iter().flat_map(|object| &object.messages).filter(|m| m.md.group_id == group_id);
        let at = self.random.below(count as usize) as i32;
        let (seq, offset) = if segments { (1, 20 * at) } else { (at + 1, 0) };
        if all.any(|m| m.md.seq == seq && m.md.offset == offset) {
            return;
        }
        (md.group_id, md.seq, md.offset) = (group_id, seq, offset);
        if segments {
            data.resize(20, b's');
            md.persistence = 0;
            md.flags = if at == count - 1 { MF_LAST_SEGMENT } else { MF_SEGMENT };
        } else {
            md.flags = if at == count - 1 { MF_LAST_IN_GROUP } else { MF_IN_GROUP };
        }
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

    pub(super) fn put(&mut self, conn: Conn, hobj: Hobj, mine: &[Hobj], model: &Model) -> Call {
        let handle = &model.handles[&hobj];
        let wrong = self.wrong_of_put(conn, &handle.resolved.path, model);
        let mut md = self.md(wrong == Wrong::Md);
        let mut data = self.data();
        let mut options = self.put_options();
        if wrong == Wrong::Options {
            let data = Body(data);
            return Call::Put { conn, hobj, md, options: PMO_SYNCPOINT | PMO_NO_SYNCPOINT, context: 0, data };
        }
        if handle.resolved.remote.is_some() {
            md.report &= !RO_EXPIRATION_FULL;
        }
        let grouping = handle.resolved.remote.is_none() && self.features.groups;
        let unfinished = handle.putting.as_ref().filter(|progress| progress.unfinished());
        let on_groups = model.objects[handle.resolved.object].def.name == "Q.GROUPS";
        if let Some(progress) = unfinished.filter(|p| p.logical && grouping && self.random.percent(88)) {
            // A back-out can lead a handle to a place of which there is a message already, and no group has two of a number,
            // no message segments that overlap.
            let next = match progress.in_message {
                true => (progress.seq, progress.next_offset),
                false => (progress.seq + 1, 0),
            };
            let mut all = model.objects.iter().flat_map(|object| &object.messages);
            if all.any(|m| m.md.group_id == progress.group_id && (m.md.seq, m.md.offset) >= next) {
                return Call::Close { conn, hobj, options: CO_NONE };
            }
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
                self.member(&mut md, &mut data, model);
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

    pub(super) fn put1(&mut self, conn: Conn, model: &Model) -> Call {
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
        let mut md = self.md(wrong == Wrong::Md);
        // The report would have the transmission header in its data, which the model does not know.
        if resolved.as_ref().is_some_and(|resolved| resolved.remote.is_some()) {
            md.report &= !RO_EXPIRATION_FULL;
        }
        let options = match wrong {
            _ if resolved.is_none() => 0,
            Wrong::Options => PMO_SYNCPOINT | PMO_NO_SYNCPOINT,
            _ => self.put_options(),
        };
        Call::Put1 { conn, name, qm, md, options, data: Body(self.data()) }
    }
}
