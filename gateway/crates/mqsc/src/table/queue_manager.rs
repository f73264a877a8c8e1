//! Attributes of the queue manager (mq-objects.md 3.2), in alphabetical order.

use Attribute::*;
use Initial::{Blank, Int, Word};
use ValueType::{Choice, Name};

use super::choices::{NO_YES, NONE_LEVEL, OFF_ON, OFF_ON_NONE, SWITCH};
use super::{Attribute, Initial, Row, UNNUMBERED, ValueType, int, set, shown, text};
use crate::kind::Kinds;
use crate::words::Keyword as K;

const Q: Kinds = Kinds::QUEUE_MANAGER;

const MAX: i32 = 999_999_999;

pub(super) static ROWS: &[Row] = &[
    set(Q, ACCTCONO, 136, SWITCH, Word(K::DISABLED)).never(),
    set(Q, ACCTINT, 135, int(0, 604_800), Int(1_800)).never(),
    set(Q, ACCTMQI, 133, OFF_ON, Word(K::OFF)).never(),
    set(Q, ACCTQ, 134, OFF_ON_NONE, Word(K::OFF)).never(),
    set(Q, ACTIVREC, 138, RECORDING, Word(K::MSG)).never(),
    // Real, but without a selector in our specifications.
    set(Q, ACTVCONO, UNNUMBERED, SWITCH, Word(K::DISABLED)).never(),
    set(Q, ACTVTRC, UNNUMBERED, OFF_ON, Word(K::OFF)).never(),
    shown(Q, ALTDATE, 2027, text(12)),
    shown(Q, ALTTIME, 2028, text(8)),
    set(Q, AUTHOREV, 47, SWITCH, Word(K::DISABLED)).later(),
    set(Q, CCSID, 2, int(1, 65_535), Int(819)),
    set(Q, CERTLABL, 2121, text(64), Blank).later(),
    set(Q, CERTVPOL, 252, Choice(&[(K::ANY, 0), (K::RFC5280, 1)]), Word(K::ANY)).never(),
    set(Q, CHAD, 55, SWITCH, Word(K::DISABLED)).later(),
    set(Q, CHADEV, 56, SWITCH, Word(K::DISABLED)).later(),
    set(Q, CHADEXIT, 2026, text(128), Blank).never(),
    // What is in force without it is in INTERFACE.md 2.
    set(Q, CHLAUTH, 248, SWITCH, Word(K::ENABLED)).never(),
    set(Q, CHLEV, 73, Choice(&[(K::ENABLED, 1), (K::DISABLED, 0), (K::EXCEPTION, 2)]), Word(K::DISABLED))
        .later(),
    set(Q, CLWLDATA, 2034, text(32), Blank).never(),
    set(Q, CLWLEXIT, 2033, text(128), Blank).never(),
    set(Q, CLWLLEN, 58, int(0, MAX), Int(100)).never(),
    set(Q, CLWLMRUC, 97, int(1, MAX), Int(MAX)).never(),
    set(Q, CLWLUSEQ, 98, Choice(&[(K::LOCAL, 0), (K::ANY, 1)]), Word(K::LOCAL)).never(),
    set(Q, CMDEV, 99, COMMAND_EVENTS, Word(K::DISABLED)).later(),
    shown(Q, CMDLEVEL, 31, int(0, MAX)),
    shown(Q, COMMANDQ, 2003, Name),
    set(Q, CONFIGEV, 51, SWITCH, Word(K::DISABLED)).later(),
    set(Q, CONNAUTH, 2125, Name, Initial::Name("SYSTEM.DEFAULT.AUTHINFO.IDPWOS")).never(),
    shown(Q, CRDATE, 2004, text(12)),
    shown(Q, CRTIME, 2005, text(8)),
    set(Q, CUSTOM, 2119, text(128), Blank).never(),
    set(Q, DEADQ, 2006, Name, Blank),
    set(Q, DEFCLXQ, 250, Choice(&[(K::SCTQ, 0), (K::CHANNEL, 1)]), Word(K::SCTQ)).never(),
    set(Q, DEFXMITQ, 2025, Name, Blank),
    set(Q, DESCR, 2014, text(64), Blank),
    shown(Q, DISTL, 34, NO_YES),
    set(Q, INHIBTEV, 48, SWITCH, Word(K::DISABLED)).later(),
    set(Q, IPADDRV, 93, Choice(&[(K::IPV4, 0), (K::IPV6, 1)]), Word(K::IPV4)).never(),
    set(Q, LOCALEV, 49, SWITCH, Word(K::DISABLED)).later(),
    set(Q, LOGGEREV, 94, SWITCH, Word(K::DISABLED)).never(),
    set(Q, MARKINT, 68, ValueType::Int { min: 0, max: MAX, words: &[(K::NOLIMIT, -1)] }, Int(5_000)),
    set(Q, MAXHANDS, 11, int(0, MAX), Int(256)),
    set(Q, MAXMSGL, 13, int(32_768, 104_857_600), Int(4_194_304)),
    set(Q, MAXPROPL, 192, PROPERTIES_LENGTH, Int(-1)),
    shown(Q, MAXPRTY, 14, int(0, 9)),
    set(Q, MAXUMSGS, 33, int(1, MAX), Int(10_000)),
    set(Q, MONACLS, 124, CLUSTER_LEVEL, Word(K::QMGR)).never(),
    set(Q, MONCHL, 122, NONE_LEVEL, Word(K::OFF)).later(),
    set(Q, MONQ, 123, NONE_LEVEL, Word(K::OFF)).later(),
    set(Q, PARENT, 2102, Name, Blank).never(),
    set(Q, PERFMEV, 53, SWITCH, Word(K::DISABLED)).later(),
    shown(Q, PLATFORM, 32, int(0, MAX)),
    set(Q, PSMODE, 187, PUBLISH_MODE, Word(K::ENABLED)).never(),
    set(Q, PSNPMSG, 203, UNDELIVERED, Word(K::DISCARD)).never(),
    set(Q, PSNPRES, 205, UNDELIVERED, Word(K::NORMAL)).never(),
    set(Q, PSRTYCNT, 206, int(0, MAX), Int(5)).never(),
    set(Q, PSSYNCPT, 207, Choice(&[(K::YES, 0), (K::IFPER, 1)]), Word(K::IFPER)).never(),
    shown(Q, QMID, 2032, text(48)),
    set(Q, REMOTEEV, 50, SWITCH, Word(K::DISABLED)).later(),
    set(Q, REPOS, 2035, Name, Blank).never(),
    set(Q, REPOSNL, 2036, Name, Blank).never(),
    set(Q, REVDNS, 254, Choice(&[(K::ENABLED, 0), (K::DISABLED, 1)]), Word(K::ENABLED)).never(),
    set(Q, ROUTEREC, 137, RECORDING, Word(K::MSG)).never(),
    set(Q, SCHINIT, 119, CONTROL, Word(K::QMGR)).later(),
    set(Q, SCMDSERV, 120, CONTROL, Word(K::QMGR)).later(),
    set(Q, SSLCRLNL, 2050, Name, Blank).never(),
    set(Q, SSLCRYP, 2051, text(256), Blank).never(),
    set(Q, SSLEV, 75, SWITCH, Word(K::DISABLED)).never(),
    set(Q, SSLFIPS, 92, NO_YES, Word(K::NO)).never(),
    set(Q, SSLKEYR, 2049, text(256), Blank).later(),
    set(Q, SSLRKEYC, 76, int(0, MAX), Int(0)).never(),
    set(Q, STATACLS, 130, CLUSTER_LEVEL, Word(K::QMGR)).never(),
    set(Q, STATCHL, 129, NONE_LEVEL, Word(K::OFF)).never(),
    set(Q, STATINT, 131, int(0, 604_800), Int(1_800)).never(),
    set(Q, STATMQI, 127, OFF_ON, Word(K::OFF)).never(),
    set(Q, STATQ, 128, OFF_ON_NONE, Word(K::OFF)).never(),
    set(Q, STRSTPEV, 52, SWITCH, Word(K::ENABLED)).later(),
    shown(Q, SYNCPT, 30, ValueType::Flag),
    set(Q, TREELIFE, 183, int(0, 604_000), Int(1_800)).never(),
    set(Q, TRIGINT, 25, int(0, MAX), Int(MAX)).later(),
    shown(Q, VERSION, 2120, text(8)),
];

/// What `DISPLAY QMGR EVENT` stands for: all event switches.
pub(super) const EVENTS: &[Attribute] = &[
    AUTHOREV, CHADEV, CHLEV, CMDEV, CONFIGEV, INHIBTEV, LOCALEV, LOGGEREV, PERFMEV, REMOTEEV, SSLEV, STRSTPEV,
];

const COMMAND_EVENTS: ValueType = Choice(&[(K::ENABLED, 1), (K::DISABLED, 0), (K::NODISPLAY, 3)]);
const PROPERTIES_LENGTH: ValueType = ValueType::Int { min: 0, max: 104_857_600, words: &[(K::NOLIMIT, -1)] };
const CLUSTER_LEVEL: ValueType =
    Choice(&[(K::QMGR, -3), (K::NONE, -1), (K::LOW, 17), (K::MEDIUM, 33), (K::HIGH, 65)]);
const RECORDING: ValueType = Choice(&[(K::MSG, 2), (K::QUEUE, 1), (K::DISABLED, 0)]);
const PUBLISH_MODE: ValueType = Choice(&[(K::ENABLED, 2), (K::COMPAT, 1), (K::DISABLED, 0)]);
const UNDELIVERED: ValueType = Choice(&[(K::DISCARD, 2), (K::KEEP, 3), (K::NORMAL, 0), (K::SAFE, 1)]);
const CONTROL: ValueType = Choice(&[(K::QMGR, 0), (K::MANUAL, 2)]);
