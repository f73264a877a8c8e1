//! Attributes of queues (mq-objects.md 3.3; order of 4.5, later additions at their place in the alphabet).

use Attribute::*;
use Initial::{Blank, Flag, Int, Word};
use ValueType::{Choice, Name};

use super::choices::{ALLOWED, NO_YES, QMGR_LEVEL, QMGR_OFF_ON, SWITCH};
use super::{Attribute, Initial, Row, UNNUMBERED, ValueType, int, set, shown, text};
use crate::kind::{Kinds, ObjectKind};
use crate::words::Keyword as K;

const L: Kinds = Kinds::of(&[ObjectKind::LocalQueue]);
const M: Kinds = Kinds::of(&[ObjectKind::ModelQueue]);
const A: Kinds = Kinds::of(&[ObjectKind::AliasQueue]);
const R: Kinds = Kinds::of(&[ObjectKind::RemoteQueue]);
const LM: Kinds = Kinds::of(&[ObjectKind::LocalQueue, ObjectKind::ModelQueue]);
const LMA: Kinds = Kinds::of(&[ObjectKind::LocalQueue, ObjectKind::ModelQueue, ObjectKind::AliasQueue]);
const LAR: Kinds = Kinds::of(&[ObjectKind::LocalQueue, ObjectKind::AliasQueue, ObjectKind::RemoteQueue]);
const LMAR: Kinds = Kinds::QUEUES;

const MAX: i32 = 999_999_999;

pub(super) static ROWS: &[Row] = &[
    set(LM, ACCTQ, 134, QMGR_OFF_ON, Word(K::QMGR)).never(),
    shown(LMAR, ALTDATE, 2027, text(12)),
    shown(LMAR, ALTTIME, 2028, text(8)),
    set(LM, BOQNAME, 2019, Name, Blank),
    set(LM, BOTHRESH, 22, int(0, MAX), Int(0)),
    set(LM, CAPEXPRY, UNNUMBERED, EXPIRY_CAP, Int(-1)).never(),
    set(L, CLCHNAME, UNNUMBERED, text(20), Blank).never(),
    set(LAR, CLUSNL, 2030, Name, Blank).never(),
    set(LAR, CLUSTER, 2029, Name, Blank).never(),
    set(LAR, CLWLPRTY, 96, int(0, 9), Int(0)).never(),
    set(LAR, CLWLRANK, 95, int(0, 9), Int(0)).never(),
    set(L, CLWLUSEQ, 98, Choice(&[(K::QMGR, -3), (K::ANY, 1), (K::LOCAL, 0)]), Word(K::QMGR)).never(),
    shown(LMAR, CRDATE, 2004, text(12)),
    shown(LMAR, CRTIME, 2005, text(8)),
    shown(L, CURDEPTH, 3, int(0, MAX)),
    set(LMAR, CUSTOM, 2119, text(128), Blank).never(),
    set(LAR, DEFBIND, 61, Choice(&[(K::OPEN, 0), (K::NOTFIXED, 1), (K::GROUP, 2)]), Word(K::OPEN)).never(),
    set(LMAR, DEFPRTY, 6, int(0, 9), Int(0)),
    set(LMAR, DEFPSIST, 5, NO_YES, Word(K::NO)),
    set(LMAR, DEFPRESP, 184, Choice(&[(K::SYNC, 1), (K::ASYNC, 2)]), Word(K::SYNC)),
    set(LMA, DEFREADA, 188, Choice(&[(K::NO, 0), (K::YES, 1), (K::DISABLED, 2)]), Word(K::NO)),
    set(L, DEFSOPT, 4, OPEN_OPTION, Word(K::SHARED)),
    set(M, DEFSOPT, 4, OPEN_OPTION, Word(K::EXCL)),
    shown(L, DEFTYPE, 7, DEFINITION),
    set(M, DEFTYPE, 7, Choice(&[(K::PERMDYN, 2), (K::TEMPDYN, 3)]), Word(K::TEMPDYN)),
    set(LMAR, DESCR, 2013, text(64), Blank),
    set(LM, DISTL, 34, NO_YES, Word(K::NO)).never(),
    set(LMA, GET, 9, ALLOWED, Word(K::ENABLED)),
    set(LM, HARDENBO, 8, ValueType::Flag, Flag(true)),
    set(LM, IMGRCOVQ, UNNUMBERED, Choice(&[(K::QMGR, -3), (K::YES, 1), (K::NO, 0)]), Word(K::QMGR)).never(),
    set(LM, INITQ, 2008, Name, Blank).later(),
    shown(L, IPPROCS, 17, int(0, MAX)),
    set(LM, MAXDEPTH, 15, int(0, MAX), Int(5_000)),
    set(LM, MAXFSIZE, UNNUMBERED, FILE_SIZE, Int(-1)).never(),
    set(LM, MAXMSGL, 13, int(0, 104_857_600), Int(4_194_304)),
    set(LM, MONQ, 123, QMGR_LEVEL, Word(K::QMGR)).later(),
    set(LM, MSGDLVSQ, 16, Choice(&[(K::PRIORITY, 0), (K::FIFO, 1)]), Word(K::PRIORITY)),
    set(LM, TRIGGER, 24, ValueType::Flag, Flag(false)).later(),
    set(LM, NPMCLASS, 78, Choice(&[(K::NORMAL, 0), (K::HIGH, 10)]), Word(K::NORMAL)),
    shown(L, OPPROCS, 18, int(0, MAX)),
    set(LM, PROCESS, 2012, Name, Blank).later(),
    set(LMAR, PUT, 10, ALLOWED, Word(K::ENABLED)),
    set(LMA, PROPCTL, 190, PROPERTIES, Word(K::COMPAT)),
    set(LM, QDEPTHHI, 40, int(0, 100), Int(80)).later(),
    set(LM, QDEPTHLO, 41, int(0, 100), Int(20)).later(),
    set(LM, QDPHIEV, 43, SWITCH, Word(K::DISABLED)).later(),
    set(LM, QDPLOEV, 44, SWITCH, Word(K::DISABLED)).later(),
    set(LM, QDPMAXEV, 42, SWITCH, Word(K::ENABLED)).later(),
    set(LM, QSVCIEV, 46, Choice(&[(K::HIGH, 1), (K::OK, 2), (K::NONE, 0)]), Word(K::NONE)).later(),
    set(LM, QSVCINT, 54, int(0, MAX), Int(MAX)).later(),
    set(LM, RETINTVL, 21, int(0, MAX), Int(MAX)),
    set(R, RNAME, 2018, Name, Blank),
    set(R, RQMNAME, 2017, Name, Blank),
    set(LAR, SCOPE, 45, Choice(&[(K::QMGR, 1), (K::CELL, 2)]), Word(K::QMGR)).never(),
    set(L, SHARE, 23, ValueType::Flag, Flag(true)),
    set(M, SHARE, 23, ValueType::Flag, Flag(false)),
    set(LM, STATQ, 128, QMGR_OFF_ON, Word(K::QMGR)).never(),
    set(LM, STREAMQ, UNNUMBERED, Name, Blank).never(),
    set(LM, STRMQOS, UNNUMBERED, Choice(&[(K::BESTEF, 0), (K::MUSTDUP, 1)]), Word(K::BESTEF)).never(),
    set(A, TARGET, 2002, Name, Blank),
    set(A, TARGTYPE, 193, Choice(&[(K::QUEUE, 1), (K::TOPIC, 8)]), Word(K::QUEUE)),
    set(LM, TRIGDATA, 2023, text(64), Blank).later(),
    set(LM, TRIGDPTH, 29, int(1, MAX), Int(1)).later(),
    set(LM, TRIGMPRI, 26, int(0, 9), Int(0)).later(),
    set(LM, TRIGTYPE, 28, TRIGGER_TYPE, Word(K::FIRST)).later(),
    set(LM, USAGE, 12, Choice(&[(K::NORMAL, 0), (K::XMITQ, 1)]), Word(K::NORMAL)),
    set(R, XMITQ, 2024, Name, Blank),
];

const OPEN_OPTION: ValueType = Choice(&[(K::SHARED, 2), (K::EXCL, 4)]);
const DEFINITION: ValueType = Choice(&[(K::PREDEFINED, 1), (K::PERMDYN, 2), (K::TEMPDYN, 3)]);
const TRIGGER_TYPE: ValueType = Choice(&[(K::NONE, 0), (K::FIRST, 1), (K::EVERY, 2), (K::DEPTH, 3)]);
const PROPERTIES: ValueType =
    Choice(&[(K::COMPAT, 0), (K::NONE, 1), (K::ALL, 2), (K::FORCE, 3), (K::V6COMPAT, 4)]);
const EXPIRY_CAP: ValueType =
    ValueType::Int { min: 0, max: MAX, words: &[(K::NOLIMIT, -1), (K::ASPARENT, -2)] };
/// Megabytes.
const FILE_SIZE: ValueType = ValueType::Int { min: 20, max: 267_386_880, words: &[(K::DEFAULT, -1)] };
