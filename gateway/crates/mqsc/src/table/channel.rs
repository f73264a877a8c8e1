//! Attributes of channels (mq-objects.md 3.7), in alphabetical order.

use Attribute::*;
use Initial::{Blank, Int, Word, Words};
use ValueType::{Choice, List};

use super::choices::QMGR_LEVEL;
use super::{Attribute, Initial, Row, ValueType, int, set, shown, text};
use crate::kind::{Kinds, ObjectKind};
use crate::words::Keyword as K;

const SVRCONN: Kinds = Kinds::of(&[ObjectKind::ServerConnection]);

const MAX: i32 = 999_999_999;

/// Up to eight exits or their data, by position.
const EXITS: ValueType = List { of: &text(128), max: 8 };
const EXIT_DATA: ValueType = List { of: &text(32), max: 8 };

pub(super) static ROWS: &[Row] = &[
    shown(SVRCONN, ALTDATE, 2027, text(12)),
    shown(SVRCONN, ALTTIME, 2028, text(8)),
    set(SVRCONN, CERTLABL, 2121, text(64), Blank).later(),
    set(SVRCONN, COMPHDR, 1575, HEADER_COMPRESSION, Words(K::NONE)).never(),
    set(SVRCONN, COMPMSG, 1576, MESSAGE_COMPRESSION, Words(K::NONE)).never(),
    set(SVRCONN, DESCR, 3502, text(64), Blank),
    set(SVRCONN, DISCINT, 1503, int(0, 999_999), Int(0)),
    set(SVRCONN, HBINT, 1563, int(0, 999_999), Int(300)),
    set(SVRCONN, KAINT, 1566, KEEP_ALIVE, Int(-1)).later(),
    set(SVRCONN, MAXINST, 1618, int(0, MAX), Int(MAX)),
    set(SVRCONN, MAXINSTC, 1619, int(0, MAX), Int(MAX)),
    set(SVRCONN, MAXMSGL, 1510, int(0, 104_857_600), Int(4_194_304)),
    set(SVRCONN, MCAUSER, 3527, text(64), Blank),
    set(SVRCONN, MONCHL, 122, QMGR_LEVEL, Word(K::QMGR)).later(),
    set(SVRCONN, RCVDATA, 3516, EXIT_DATA, Blank).later(),
    set(SVRCONN, RCVEXIT, 3511, EXITS, Blank).later(),
    set(SVRCONN, SCYDATA, 3513, text(32), Blank).later(),
    set(SVRCONN, SCYEXIT, 3508, text(128), Blank).later(),
    set(SVRCONN, SENDDATA, 3515, EXIT_DATA, Blank).later(),
    set(SVRCONN, SENDEXIT, 3510, EXITS, Blank).later(),
    set(SVRCONN, SHARECNV, 1615, int(0, MAX), Int(10)),
    set(SVRCONN, SSLCAUTH, 1568, Choice(&[(K::REQUIRED, 0), (K::OPTIONAL, 1)]), Word(K::REQUIRED)).later(),
    set(SVRCONN, SSLCIPH, 3544, text(32), Blank).later(),
    set(SVRCONN, SSLPEER, 3545, text(1024), Blank).later(),
    set(SVRCONN, TRPTYPE, 1501, TRANSPORT, Word(K::TCP)),
];

const TRANSPORT: ValueType = Choice(&[(K::TCP, 2), (K::LU62, 1), (K::NETBIOS, 3), (K::SPX, 4)]);
const KEEP_ALIVE: ValueType = ValueType::Int { min: 0, max: 99_999, words: &[(K::AUTO, -1)] };
const HEADER_COMPRESSION: ValueType = List { of: &Choice(&[(K::NONE, 0), (K::SYSTEM, 8)]), max: 2 };
const MESSAGE_COMPRESSION: ValueType = List {
    of: &Choice(&[(K::NONE, 0), (K::RLE, 1), (K::ZLIBFAST, 2), (K::ZLIBHIGH, 4), (K::ANY, 0x0FFF_FFFF)]),
    max: 16,
};
