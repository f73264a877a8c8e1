//! Definitions and name resolution: mq-objects.md 3.3, 3.4, 5.3.

use super::{Model, PERMANENT, TEMPORARY};
use crate::calls::value::*;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Local,
    Model,
    Alias { target: String },
    Remote { q: String, qm: String, xmitq: String },
}

/// A queue definition; `dynamic` is 0, `PERMANENT` or `TEMPORARY`, of a model queue what it makes.
#[derive(Clone, Debug)]
pub(crate) struct Definition {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) put_inhibited: bool,
    pub(crate) get_inhibited: bool,
    pub(crate) priority: i32,
    pub(crate) persistent: bool,
    pub(crate) max_depth: usize,
    pub(crate) max_length: usize,
    pub(crate) share: bool,
    pub(crate) exclusive: bool,
    pub(crate) fifo: bool,
    pub(crate) transmission: bool,
    pub(crate) class_high: bool,
    pub(crate) dynamic: u8,
}

impl Definition {
    pub(crate) fn new(name: &str, kind: Kind) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            put_inhibited: false,
            get_inhibited: false,
            priority: 0,
            persistent: false,
            max_depth: 5000,
            max_length: 4_194_304,
            share: true,
            exclusive: false,
            fifo: false,
            transmission: false,
            class_high: false,
            dynamic: 0,
        }
    }
}

/// Where a name leads: `object` is the local queue used (the transmission queue of a remote one), `path` all objects on the way,
/// the first one first.
#[derive(Clone, Debug)]
pub(crate) struct Resolved {
    pub(crate) object: usize,
    pub(crate) path: Vec<usize>,
    pub(crate) remote: Option<(String, String)>,
    pub(crate) is_model: bool,
}

impl Model {
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.objects.iter().position(|object| !object.deleted && object.def.name == name)
    }

    /// mq-objects.md 5.3.
    pub(crate) fn resolve(&self, qm: &str, name: &str) -> Result<Resolved, i32> {
        if qm.contains(' ') {
            return Err(2086);
        }
        if qm.is_empty() || qm == self.settings.name {
            return self.resolve_local(name);
        }
        if name.is_empty() {
            return Err(2184);
        }
        let Some(index) = self.find(qm) else {
            let object = self.default_xmitq()?;
            return Ok(Self::remote(object, vec![object], name, qm));
        };
        let def = &self.objects[index].def;
        match &def.kind {
            Kind::Local if def.transmission => Ok(Self::remote(index, vec![index], name, qm)),
            Kind::Local => Err(2092),
            Kind::Model | Kind::Alias { .. } => Err(2087),
            Kind::Remote { q, .. } if !q.is_empty() => Err(2087),
            Kind::Remote { qm: target, .. } if *target == self.settings.name => {
                let mut resolved = self.resolve_local(name)?;
                resolved.path.insert(0, index);
                Ok(resolved)
            }
            Kind::Remote { qm: target, xmitq, .. } => {
                let object = self.pick_xmitq(xmitq, target)?;
                Ok(Self::remote(object, vec![index, object], name, target))
            }
        }
    }

    fn resolve_local(&self, name: &str) -> Result<Resolved, i32> {
        let first = self.find(name).ok_or(2085)?;
        let mut path = vec![first];
        let mut index = first;
        if let Kind::Alias { target } = &self.objects[first].def.kind {
            index = self.find(target).ok_or(2082)?;
            if matches!(self.objects[index].def.kind, Kind::Alias { .. } | Kind::Model) {
                return Err(2001);
            }
            path.push(index);
        }
        match &self.objects[index].def.kind {
            Kind::Remote { q, qm, xmitq } => {
                if q.is_empty() {
                    return Err(2184);
                }
                if qm.is_empty() || *qm == self.settings.name {
                    return Err(2087);
                }
                let object = self.pick_xmitq(xmitq, qm)?;
                path.push(object);
                Ok(Self::remote(object, path, q, qm))
            }
            Kind::Model => Ok(Resolved { object: index, path, remote: None, is_model: true }),
            _ => Ok(Resolved { object: index, path, remote: None, is_model: false }),
        }
    }

    fn remote(object: usize, path: Vec<usize>, q: &str, qm: &str) -> Resolved {
        Resolved { object, path, remote: Some((q.to_owned(), qm.to_owned())), is_model: false }
    }

    fn pick_xmitq(&self, xmitq: &str, qm: &str) -> Result<usize, i32> {
        let (found, missing) = if xmitq.is_empty() {
            match self.find(qm) {
                Some(found) => (Some(found), 0),
                None => return self.default_xmitq(),
            }
        } else {
            (self.find(xmitq), 2196)
        };
        let found = found.ok_or(missing)?;
        match self.objects[found].def.kind {
            Kind::Local if self.objects[found].def.transmission => Ok(found),
            Kind::Local => Err(2092),
            _ => Err(2091),
        }
    }

    fn default_xmitq(&self) -> Result<usize, i32> {
        if self.settings.default_xmitq.is_empty() {
            return Err(2087);
        }
        let found = self.find(&self.settings.default_xmitq).ok_or(2197)?;
        match self.objects[found].def.kind {
            Kind::Local if self.objects[found].def.transmission => Ok(found),
            Kind::Local => Err(2199),
            _ => Err(2198),
        }
    }

    /// A dynamic queue's name, mq-objects.md 3.1: blank, bad or with the asterisk in the wrong place is 2011.
    pub(crate) fn dynamic_name(&mut self, given: &str) -> Result<String, i32> {
        let good = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "./_%".contains(c));
        if given.is_empty() {
            return Err(2011);
        }
        if let Some(prefix) = given.strip_suffix('*') {
            if prefix.len() > 33 || !good(prefix) {
                return Err(2011);
            }
            self.next_dynamic += 1;
            return Ok(format!("{prefix}MODEL{:05}", self.next_dynamic));
        }
        if !good(given) {
            return Err(2011);
        }
        if self.find(given).is_some() {
            return Err(2100);
        }
        Ok(given.to_owned())
    }

    /// Makes the queue that a model queue stands for.
    pub(crate) fn make_dynamic(&mut self, model: usize, name: String) -> usize {
        let mut def = self.objects[model].def.clone();
        def.name = name;
        def.kind = Kind::Local;
        assert!(def.dynamic == PERMANENT || def.dynamic == TEMPORARY);
        self.add(def)
    }

    /// The checks of an MQOPEN's options that need no object.
    pub(crate) fn open_options_valid(options: i32) -> bool {
        let inputs = (options & OO_INPUT_ANY).count_ones();
        let access = OO_INPUT_ANY | OO_BROWSE | OO_OUTPUT | OO_INQUIRE | OO_SET;
        let contexts = OO_PASS_IDENTITY | OO_PASS_ALL | OO_SET_IDENTITY | OO_SET_ALL;
        inputs <= 1
            && options & access != 0
            && (options & OO_SAVE_ALL == 0 || inputs == 1)
            && (options & contexts == 0 || options & OO_OUTPUT != 0)
            && (options & OO_CO_OP == 0 || options & OO_BROWSE != 0)
    }
}
