//! What a command says, with every value checked. Whether it can be done is for the queue manager to say.

use std::fmt;

use mq_wire::{ChannelName, Chars, ObjectName, QMgrName, QName};

use crate::amq::Amq;
use crate::attributes::Attributes;
use crate::kind::{Kinds, ObjectKind};
use crate::table::{Effect, Row, row, rows};
use crate::words::Attribute;

/// A command of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// DEFINE
    Define(Define),
    /// ALTER
    Alter(Alter),
    /// DELETE
    Delete(Delete),
    /// DISPLAY
    Display(Display),
    /// END: nothing behind it is read.
    End,
}

/// DEFINE: what is not among the attributes comes from `like`, else from the default object as it now is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Define {
    /// What to define.
    pub kind: ObjectKind,
    /// Its name.
    pub name: Name,
    /// The object that lends its attributes.
    pub like: Option<Name>,
    /// Whether an object of this name and kind is replaced; its messages stay.
    pub replace: bool,
    /// What is given.
    pub attributes: Attributes,
}

/// ALTER: only what is named changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alter {
    /// What to alter.
    pub kind: ObjectKind,
    /// Its name; blank for the queue manager.
    pub name: Name,
    /// Whether it is altered although somebody uses it.
    pub force: bool,
    /// What is given.
    pub attributes: Attributes,
}

/// DELETE
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delete {
    /// What it may be; several, since DELETE CHANNEL does not say the type.
    pub kinds: Kinds,
    /// Its name.
    pub name: Name,
    /// Whether its messages are deleted with it.
    pub purge: bool,
}

/// DISPLAY
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Display {
    /// Which kinds of objects.
    pub kinds: Kinds,
    /// Which names; everything for the queue manager.
    pub pattern: Pattern,
    /// Which attributes.
    pub show: Show,
}

/// The name of an object, checked for the length that its kind allows: 20 for channels, 48 for all others.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Name(ObjectName);

impl Name {
    /// No name.
    pub const BLANK: Self = Self(ObjectName::BLANK);

    pub(crate) fn checked(name: ObjectName) -> Self {
        Self(name)
    }

    /// The name of an object.
    pub fn object(self) -> ObjectName {
        self.0
    }

    /// The name of a queue.
    pub fn queue(self) -> QName {
        QName(self.0.0)
    }

    /// The name of a channel.
    pub fn channel(self) -> ChannelName {
        ChannelName(Chars::cut(&self.0.0.text()))
    }
}

impl From<QName> for Name {
    fn from(name: QName) -> Self {
        Self(name.into())
    }
}

impl From<QMgrName> for Name {
    fn from(name: QMgrName) -> Self {
        Self(name.into())
    }
}

impl From<ChannelName> for Name {
    fn from(name: ChannelName) -> Self {
        Self(ObjectName(Chars::cut(&name.0.text())))
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// Which names a DISPLAY is about: one, or all that begin with something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// Exactly this one.
    Specific(Name),
    /// `NAME*`; for `*` the name is blank.
    Generic(Name),
}

impl Pattern {
    /// Every name.
    pub const ALL: Self = Self::Generic(Name::BLANK);

    /// Whether it is about this name.
    pub fn matches(&self, name: Name) -> bool {
        match self {
            Self::Specific(wanted) => *wanted == name,
            Self::Generic(beginning) => name.0.trimmed().starts_with(beginning.0.trimmed()),
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Specific(name) => write!(f, "{name}"),
            Self::Generic(beginning) => write!(f, "{beginning}*"),
        }
    }
}

/// Which attributes a DISPLAY shows. Name and type are always shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Show {
    /// Name and type only: a generic name without a list.
    Identity,
    /// All there are: ALL, or a specific name without a list.
    All,
    /// These, where an object has them.
    Listed(Vec<Attribute>),
}

impl Show {
    /// The attributes to show of an object of this kind, in the order in which they are printed.
    pub fn attributes(&self, kind: ObjectKind) -> impl Iterator<Item = Attribute> {
        rows(kind).map(Row::attribute).filter(move |attribute| match self {
            Self::Identity => false,
            Self::All => true,
            Self::Listed(listed) => listed.contains(attribute),
        })
    }
}

impl Command {
    /// The message when it has been done; none for DISPLAY, whose message comes with each object, and END.
    pub fn done(&self) -> Option<Amq> {
        match self {
            Self::Define(define) if define.kind.is_channel() => Some(Amq::CHANNEL_CREATED),
            Self::Define(_) => Some(Amq::QUEUE_CREATED),
            Self::Alter(alter) if alter.kind.is_channel() => Some(Amq::CHANNEL_CHANGED),
            Self::Alter(alter) if alter.kind == ObjectKind::QueueManager => Some(Amq::QUEUE_MANAGER_CHANGED),
            Self::Alter(_) => Some(Amq::QUEUE_CHANGED),
            Self::Delete(delete) if delete.kinds.iter().any(ObjectKind::is_channel) => {
                Some(Amq::CHANNEL_DELETED)
            }
            Self::Delete(_) => Some(Amq::QUEUE_DELETED),
            Self::Display(_) | Self::End => None,
        }
    }

    /// The attributes that it sets and that have no effect in this version: they are kept and shown, and a script's
    /// author should be told.
    pub fn without_effect(&self) -> Vec<(Attribute, Effect)> {
        let (kind, attributes) = match self {
            Self::Define(define) => (define.kind, &define.attributes),
            Self::Alter(alter) => (alter.kind, &alter.attributes),
            Self::Delete(_) | Self::Display(_) | Self::End => return Vec::new(),
        };
        let effects =
            attributes.iter().filter_map(|(attribute, _)| Some((attribute, row(kind, attribute)?.effect())));
        effects.filter(|(_, effect)| *effect != Effect::Now).collect()
    }
}
