//! The kinds of objects and sets of them. What attributes a kind has is in `table`.

use std::fmt;

use crate::words::Keyword;

/// What an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectKind {
    /// The queue manager itself.
    QueueManager,
    /// QLOCAL
    LocalQueue,
    /// QMODEL
    ModelQueue,
    /// QALIAS
    AliasQueue,
    /// QREMOTE
    RemoteQueue,
    /// CHANNEL CHLTYPE(SVRCONN)
    ServerConnection,
}

impl ObjectKind {
    /// Every kind.
    pub const ALL: &'static [Self] = &[
        Self::QueueManager,
        Self::LocalQueue,
        Self::ModelQueue,
        Self::AliasQueue,
        Self::RemoteQueue,
        Self::ServerConnection,
    ];

    /// The noun that defines it.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::QueueManager => "QMGR",
            Self::LocalQueue => "QLOCAL",
            Self::ModelQueue => "QMODEL",
            Self::AliasQueue => "QALIAS",
            Self::RemoteQueue => "QREMOTE",
            Self::ServerConnection => "CHANNEL",
        }
    }

    /// The word before the name when it is displayed.
    pub const fn name_word(self) -> &'static str {
        match self {
            Self::QueueManager => "QMNAME",
            Self::LocalQueue | Self::ModelQueue | Self::AliasQueue | Self::RemoteQueue => "QUEUE",
            Self::ServerConnection => "CHANNEL",
        }
    }

    /// The word and value that say the type when it is displayed, such as TYPE(QLOCAL).
    pub const fn type_words(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::QueueManager => None,
            Self::LocalQueue | Self::ModelQueue | Self::AliasQueue | Self::RemoteQueue => {
                Some(("TYPE", self.noun()))
            }
            Self::ServerConnection => Some(("CHLTYPE", "SVRCONN")),
        }
    }

    /// The number of the type in MQINQ and PCF: MQQT (mq-objects.md 3.3) or MQCHT.
    pub const fn type_number(self) -> Option<i32> {
        match self {
            Self::QueueManager => None,
            Self::LocalQueue => Some(1),
            Self::ModelQueue => Some(2),
            Self::AliasQueue => Some(3),
            Self::RemoteQueue => Some(6),
            Self::ServerConnection => Some(7),
        }
    }

    /// The object that lends its attributes to a DEFINE without LIKE (mq-objects.md 3.10).
    pub const fn default_object(self) -> Option<&'static str> {
        match self {
            Self::QueueManager => None,
            Self::LocalQueue => Some("SYSTEM.DEFAULT.LOCAL.QUEUE"),
            Self::ModelQueue => Some("SYSTEM.DEFAULT.MODEL.QUEUE"),
            Self::AliasQueue => Some("SYSTEM.DEFAULT.ALIAS.QUEUE"),
            Self::RemoteQueue => Some("SYSTEM.DEFAULT.REMOTE.QUEUE"),
            Self::ServerConnection => Some("SYSTEM.DEF.SVRCONN"),
        }
    }

    /// Whether it is a queue of any type. All queues share one name space (mq-objects.md 3.1).
    pub const fn is_queue(self) -> bool {
        Kinds::QUEUES.contains(self)
    }

    /// Whether it is a channel of any type.
    pub const fn is_channel(self) -> bool {
        Kinds::CHANNELS.contains(self)
    }
}

impl fmt::Display for ObjectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::QueueManager => "queue manager",
            Self::LocalQueue => "local queue",
            Self::ModelQueue => "model queue",
            Self::AliasQueue => "alias queue",
            Self::RemoteQueue => "remote queue",
            Self::ServerConnection => "server-connection channel",
        })
    }
}

/// A set of kinds: what a noun covers, or which objects have an attribute.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Kinds(u32);

impl Kinds {
    /// No kind.
    pub const NONE: Self = Self(0);
    /// The queue manager.
    pub const QUEUE_MANAGER: Self = Self::of(&[ObjectKind::QueueManager]);
    /// All queues.
    pub const QUEUES: Self = Self::of(&[
        ObjectKind::LocalQueue,
        ObjectKind::ModelQueue,
        ObjectKind::AliasQueue,
        ObjectKind::RemoteQueue,
    ]);
    /// All channels.
    pub const CHANNELS: Self = Self::of(&[ObjectKind::ServerConnection]);

    /// The set of these kinds.
    pub const fn of(kinds: &[ObjectKind]) -> Self {
        let (mut bits, mut at) = (0, 0);
        while at < kinds.len() {
            bits |= 1 << kinds[at] as u32;
            at += 1;
        }
        Self(bits)
    }

    /// Whether the kind is in it.
    pub const fn contains(self, kind: ObjectKind) -> bool {
        self.0 & (1 << kind as u32) != 0
    }

    /// Whether nothing is in it.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The kinds, in the order of [`ObjectKind::ALL`].
    pub fn iter(self) -> impl Iterator<Item = ObjectKind> {
        ObjectKind::ALL.iter().copied().filter(move |kind| self.contains(*kind))
    }

    /// The only kind in it.
    pub fn single(self) -> Option<ObjectKind> {
        let mut kinds = self.iter();
        kinds.next().filter(|_| kinds.next().is_none())
    }
}

impl fmt::Debug for Kinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// A type of channel that MQSC has a word for (mq-objects.md 3.7), with the kind if this version has it.
pub(crate) fn channel_type(word: &str) -> Option<Option<ObjectKind>> {
    const TYPES: &[(&str, Option<ObjectKind>)] = &[
        ("SVRCONN", Some(ObjectKind::ServerConnection)),
        ("SDR", None),
        ("SVR", None),
        ("RCVR", None),
        ("RQSTR", None),
        ("CLNTCONN", None),
        ("CLUSSDR", None),
        ("CLUSRCVR", None),
        ("AMQP", None),
        ("MQTT", None),
    ];
    TYPES.iter().find(|(known, _)| *known == word).map(|(_, kind)| *kind)
}

/// A type of queue in `DISPLAY QUEUE(x) TYPE(..)`.
pub(crate) fn queue_type(word: &str) -> Option<Kinds> {
    if word == Keyword::ALL.word() {
        return Some(Kinds::QUEUES);
    }
    Kinds::QUEUES.iter().find(|kind| kind.noun() == word).map(|kind| Kinds::of(&[kind]))
}
