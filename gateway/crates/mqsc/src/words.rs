//! The words of the language, each written once: attributes and the keywords that stand as values. What a word may
//! be used for is in `table`.

use std::fmt;

macro_rules! words {
    ($(#[$meta:meta])* pub enum $name:ident { $($word:ident)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[allow(missing_docs, reason = "the words explain themselves to who knows MQSC; the rest is in the tables")]
        pub enum $name { $($word),+ }

        impl $name {
            /// Every word.
            pub const WORDS: &'static [Self] = &[$(Self::$word),+];

            /// The word as it is written and printed.
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$word => stringify!($word),)+
                }
            }

            /// The word with this spelling, upper case.
            pub fn from_word(text: &str) -> Option<Self> {
                Self::WORDS.iter().copied().find(|known| known.word() == text)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.word())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.word())
            }
        }
    };
}

words! {
    /// An attribute of an object. Spelt as in MQSC, so that a search finds the word everywhere.
    pub enum Attribute {
        ACCTCONO ACCTINT ACCTMQI ACCTQ ACTIVREC ACTVCONO ACTVTRC ALTDATE ALTTIME AUTHOREV BOQNAME BOTHRESH
        CAPEXPRY CCSID CERTLABL CERTVPOL CHAD CHADEV CHADEXIT CHLAUTH CHLEV CLCHNAME CLUSNL CLUSTER CLWLDATA
        CLWLEXIT CLWLLEN CLWLMRUC CLWLPRTY CLWLRANK CLWLUSEQ CMDEV CMDLEVEL COMMANDQ COMPHDR COMPMSG CONFIGEV
        CONNAUTH CRDATE CRTIME CURDEPTH CUSTOM DEADQ DEFBIND DEFCLXQ DEFPRESP DEFPRTY DEFPSIST DEFREADA DEFSOPT
        DEFTYPE DEFXMITQ DESCR DISCINT DISTL GET HARDENBO HBINT IMGRCOVQ INHIBTEV INITQ IPADDRV IPPROCS KAINT
        LOCALEV LOGGEREV MARKINT MAXDEPTH MAXFSIZE MAXHANDS MAXINST MAXINSTC MAXMSGL MAXPROPL MAXPRTY MAXUMSGS
        MCAUSER MONACLS MONCHL MONQ MSGDLVSQ NPMCLASS OPPROCS PARENT PERFMEV PLATFORM PROCESS PROPCTL PSMODE
        PSNPMSG PSNPRES PSRTYCNT PSSYNCPT PUT QDEPTHHI QDEPTHLO QDPHIEV QDPLOEV QDPMAXEV QMID QSVCIEV QSVCINT
        RCVDATA RCVEXIT REMOTEEV REPOS REPOSNL RETINTVL REVDNS RNAME ROUTEREC RQMNAME SCHINIT SCMDSERV SCOPE
        SCYDATA SCYEXIT SENDDATA SENDEXIT SHARE SHARECNV SSLCAUTH SSLCIPH SSLCRLNL SSLCRYP SSLEV SSLFIPS SSLKEYR
        SSLPEER SSLRKEYC STATACLS STATCHL STATINT STATMQI STATQ STREAMQ STRMQOS STRSTPEV SYNCPT TARGET TARGTYPE
        TREELIFE TRIGDATA TRIGDPTH TRIGGER TRIGINT TRIGMPRI TRIGTYPE TRPTYPE USAGE VERSION XMITQ
    }
}

words! {
    /// A keyword that stands as a value.
    pub enum Keyword {
        ALL ANY ASPARENT ASYNC AUTO BESTEF CELL CHANNEL COMPAT DEFAULT DEPTH DISABLED DISCARD ENABLED EVERY EXCEPTION
        EXCL FIFO FIRST FORCE GROUP HIGH IFPER IPV4 IPV6 KEEP LOCAL LOW LU62 MANUAL MEDIUM MSG MUSTDUP NETBIOS NO
        NODISPLAY NOLIMIT NONE NORMAL NOTFIXED OFF OK ON OPEN OPTIONAL PERMDYN PREDEFINED PRIORITY QMGR QUEUE
        REQUIRED RFC5280 RLE SAFE SCTQ SHARED SPX SYNC SYSTEM TCP TEMPDYN TOPIC V6COMPAT XMITQ YES ZLIBFAST ZLIBHIGH
    }
}

/// Other spellings of attributes (mq-objects.md 3.3).
const SYNONYMS: &[(&str, Attribute)] = &[("TARGQ", Attribute::TARGET)];

impl Attribute {
    /// The attribute that a word of a command names, with `false` for the negated form of a pair such as SHARE and
    /// NOSHARE. The word is upper case. Whether the attribute is such a pair is for its row to say.
    pub(crate) fn spelt(word: &str) -> Option<(Self, bool)> {
        let synonym = SYNONYMS.iter().find(|(other, _)| *other == word).map(|(_, attribute)| *attribute);
        if let Some(attribute) = synonym.or_else(|| Self::from_word(word)) {
            return Some((attribute, true));
        }
        word.strip_prefix("NO").and_then(Self::from_word).map(|attribute| (attribute, false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_by_their_spellings() {
        let check = |word: &str, expected| assert_eq!(Attribute::spelt(word), expected, "{word}");
        check("MAXDEPTH", Some((Attribute::MAXDEPTH, true)));
        check("TARGQ", Some((Attribute::TARGET, true)));
        check("NOSHARE", Some((Attribute::SHARE, false)));
        check("NPMCLASS", Some((Attribute::NPMCLASS, true)));
        check("NOTHING", None);
        check("", None);
    }
}
