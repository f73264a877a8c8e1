//! The verbs and nouns of the language, with their short forms, and which go together (mq-objects.md 4.3).

use std::fmt;

use crate::kind::{Kinds, ObjectKind};

macro_rules! verbs {
    ($($variant:ident = $word:literal $(, $short:literal)?;)+) => {
        /// A verb of MQSC. Those that no [`Command`](crate::Command) exists for are known, so that they can be named.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Verb {
            $(#[doc = concat!("`", $word, "`")] $variant),+
        }

        impl Verb {
            /// The word in full.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// The verb with this spelling, upper case; only the documented short forms exist.
            pub fn from_word(word: &str) -> Option<Self> {
                match word {
                    $($word $(| $short)? => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }
    };
}

verbs! {
    Alter = "ALTER", "ALT";
    Clear = "CLEAR";
    Define = "DEFINE", "DEF";
    Delete = "DELETE";
    Display = "DISPLAY", "DIS";
    End = "END";
    Ping = "PING";
    Refresh = "REFRESH", "REF";
    Reset = "RESET";
    Resolve = "RESOLVE";
    Resume = "RESUME";
    Set = "SET";
    Start = "START", "STA";
    Stop = "STOP";
    Suspend = "SUSPEND";
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// A noun.
#[derive(Debug)]
pub(crate) struct Noun {
    /// The word in full.
    pub(crate) word: &'static str,
    /// Its short form; empty if it has none.
    short: &'static str,
    /// The verbs that go with it in MQ.
    pub(crate) verbs: &'static [Verb],
    /// The kinds that it covers in this version; none: not supported yet.
    pub(crate) kinds: Kinds,
    /// How long a name may be; 0: it has no name.
    pub(crate) name_length_max: usize,
}

impl Noun {
    /// The noun with this spelling, upper case.
    pub(crate) fn from_word(word: &str) -> Option<&'static Self> {
        NOUNS.iter().find(|noun| noun.word == word || (!noun.short.is_empty() && noun.short == word))
    }
}

/// The verbs of a thing that is defined and that is all.
const DEFINED: &[Verb] = &[Verb::Define, Verb::Alter, Verb::Delete, Verb::Display];
/// The verbs of a thing that also runs.
const RUN: &[Verb] = &[Verb::Define, Verb::Alter, Verb::Delete, Verb::Display, Verb::Start, Verb::Stop];

const fn noun(
    word: &'static str,
    short: &'static str,
    verbs: &'static [Verb],
    kinds: Kinds,
    name_length_max: usize,
) -> Noun {
    Noun { word, short, verbs, kinds, name_length_max }
}

static NOUNS: &[Noun] = {
    use Verb::*;
    &[
        noun(
            "QLOCAL",
            "QL",
            &[Define, Alter, Delete, Display, Clear],
            Kinds::of(&[ObjectKind::LocalQueue]),
            48,
        ),
        noun("QMODEL", "QM", DEFINED, Kinds::of(&[ObjectKind::ModelQueue]), 48),
        noun("QALIAS", "QA", DEFINED, Kinds::of(&[ObjectKind::AliasQueue]), 48),
        noun("QREMOTE", "QR", DEFINED, Kinds::of(&[ObjectKind::RemoteQueue]), 48),
        noun("QUEUE", "Q", &[Display], Kinds::QUEUES, 48),
        noun(
            "QMGR",
            "",
            &[Alter, Display, Ping, Refresh, Reset, Resume, Start, Suspend],
            Kinds::QUEUE_MANAGER,
            0,
        ),
        noun(
            "CHANNEL",
            "CHL",
            &[Define, Alter, Delete, Display, Start, Stop, Ping, Reset, Resolve],
            Kinds::CHANNELS,
            20,
        ),
        noun("PROCESS", "PRO", DEFINED, Kinds::NONE, 48),
        noun("NAMELIST", "NL", DEFINED, Kinds::NONE, 48),
        noun("LISTENER", "LSTR", RUN, Kinds::NONE, 48),
        noun("SERVICE", "", RUN, Kinds::NONE, 48),
        noun("AUTHINFO", "", DEFINED, Kinds::NONE, 48),
        noun("TOPIC", "", DEFINED, Kinds::NONE, 48),
        noun("SUB", "", DEFINED, Kinds::NONE, 10_240),
        noun("CHLAUTH", "", &[Set, Display], Kinds::NONE, 20),
        noun("AUTHREC", "", &[Set, Delete, Display], Kinds::NONE, 0),
        noun("SECURITY", "SEC", &[Refresh, Alter, Display], Kinds::NONE, 0),
        noun("CLUSTER", "", &[Refresh, Reset], Kinds::NONE, 48),
        noun("CHINIT", "CHI", &[Start, Stop, Display], Kinds::NONE, 0),
        noun("CONN", "", &[Display, Stop], Kinds::NONE, 48),
        noun("QSTATUS", "QS", &[Display], Kinds::NONE, 48),
        noun("CHSTATUS", "CHS", &[Display], Kinds::NONE, 20),
        noun("LSSTATUS", "", &[Display], Kinds::NONE, 48),
        noun("SVSTATUS", "", &[Display], Kinds::NONE, 48),
        noun("QMSTATUS", "", &[Display], Kinds::NONE, 0),
    ]
};
