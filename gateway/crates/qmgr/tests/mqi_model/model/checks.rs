//! What can be wrong with a put: everything that is, not only the first, since no document says in which order it is looked at.

use super::{Context, Handle, Model, Resolved, TEMPORARY};
use crate::calls::value::*;
use crate::calls::{Conn, Hobj, Md};

impl Model {
    /// mq-objects.md 1.5: two of a kind.
    pub(crate) fn put_option_faults(options: i32) -> Vec<i32> {
        let syncpoints = options & (PMO_SYNCPOINT | PMO_NO_SYNCPOINT);
        if syncpoints.count_ones() > 1 || (options & PMO_CONTEXTS).count_ones() > 1 {
            vec![2046]
        } else {
            Vec::new()
        }
    }

    /// What the handle does not allow, and the context to pass.
    pub(crate) fn handle_faults(
        &self,
        conn: Conn,
        handle: &Handle,
        options: i32,
        context: Hobj,
    ) -> (Vec<i32>, Option<Context>) {
        let mut faults = Self::put_option_faults(options);
        if handle.conn != conn {
            faults.push(2019);
        }
        if handle.options & OO_OUTPUT == 0 {
            faults.push(2039);
        }
        // What may be set may be passed too (MQOO_SET_*).
        let needs = [
            (PMO_PASS_ALL, OO_PASS_ALL | OO_SET_ALL, 2093),
            (PMO_PASS_IDENTITY, OO_PASS_IDENTITY | OO_PASS_ALL | OO_SET_IDENTITY | OO_SET_ALL, 2094),
            (PMO_SET_ALL, OO_SET_ALL, 2095),
            (PMO_SET_IDENTITY, OO_SET_IDENTITY | OO_SET_ALL, 2096),
        ];
        for (option, open, reason) in needs {
            if options & option != 0 && handle.options & open == 0 {
                faults.push(reason);
            }
        }
        let mut passed = None;
        if options & (PMO_PASS_ALL | PMO_PASS_IDENTITY) != 0 {
            let from = self.handles.get(&context).filter(|h| h.conn == conn && h.options & OO_SAVE_ALL != 0);
            passed = from.and_then(|from| from.saved.clone());
            match from {
                None => faults.push(2097),
                Some(_) if passed.is_none() => faults.push(2098),
                Some(_) => {}
            }
        }
        (faults, passed)
    }

    /// mq-objects.md 1.2.
    pub(crate) fn md_faults(md: &Md) -> Vec<i32> {
        let reports = RO_COA_FULL | RO_COD_FULL | RO_EXPIRATION_FULL | RO_EXCEPTION_FULL;
        let checks = [
            (!(1..=999_999_999).contains(&md.msg_type), 2029),
            (md.expiry != -1 && md.expiry <= 0, 2013),
            (![0, 1, 2].contains(&md.persistence), 2047),
            (md.priority < -1, 2050),
            ((md.msg_type == 1 || md.report & reports != 0) && md.reply_q.is_empty(), 2027),
            (!(1..=999_999_999).contains(&md.seq), 2250),
            (!(0..=999_999_999).contains(&md.offset), 2251),
        ];
        checks.into_iter().filter(|(wrong, _)| *wrong).map(|(_, reason)| reason).collect()
    }

    /// What the queues on the way do not allow; the descriptor has its defaults already.
    pub(crate) fn place_faults(&self, resolved: &Resolved, md: &Md, length: usize) -> Vec<i32> {
        let object = &self.objects[resolved.object];
        let header = if resolved.remote.is_some() { 4000 } else { 0 };
        let checks = [
            (object.deleted, 2052),
            (resolved.path.iter().any(|index| self.objects[*index].def.put_inhibited), 2051),
            (md.persistence == 1 && object.def.dynamic == TEMPORARY, 2048),
            (length > self.settings.max_length, 2031),
            (length + header > object.def.max_length, 2030),
            (self.depth(resolved.object) >= object.def.max_depth, 2053),
        ];
        checks.into_iter().filter(|(wrong, _)| *wrong).map(|(_, reason)| reason).collect()
    }
}
