//! Puts with whatever stands in descriptor, options and data: each is answered, and what is refused leaves nothing.

use bytes::Bytes;
use mq_wire::*;
use proptest::prelude::*;

use super::harness::*;
use crate::{PutRequest, Reply, Verb};

/// A number as it may come: small, a flag, a limit, anything.
fn number() -> impl Strategy<Value = i32> {
    prop_oneof![
        -3..12_i32,
        (0..32_u32).prop_map(|bit| (1_u32 << bit).cast_signed()),
        Just(999_999_999),
        Just(1_000_000_000),
        Just(i32::MAX),
        any::<i32>(),
    ]
}

fn format() -> impl Strategy<Value = FormatName> {
    let known = proptest::sample::select(FormatName::BUILT_IN.to_vec());
    prop_oneof![4 => Just(FormatName::NONE), 6 => known, 1 => any::<[u8; 8]>().prop_map(FormatName::from_bytes)]
}

fn descriptor() -> impl Strategy<Value = Mqmd> {
    let numbers = proptest::collection::vec(number(), 9);
    let usual = (any::<bool>(), any::<bool>(), 0..2_u8, format(), any::<[u8; 24]>());
    (numbers, usual, proptest::sample::select(vec!["", "R", "A", "NOQ", "SYSTEM.ADMIN.COMMAND.QUEUE"]))
        .prop_map(|(numbers, (good, native, zeros, format, id), reply)| {
            let mut md = Mqmd {
                version: 1 + (numbers[0] & 1),
                format,
                encoding: if native { Encoding::NATIVE } else { Encoding::BIG },
                group_id: GroupId(if zeros == 0 { [0; 24] } else { id }),
                reply_to_q: QName(Chars::cut(reply)),
                msg_flags: MessageFlags::from_bits_retain(numbers[1].cast_unsigned()),
                report: ReportOptions::from_bits_retain(numbers[2].cast_unsigned()),
                ..persistent()
            };
            if good {
                md.msg_flags = MessageFlags::from_bits_retain(md.msg_flags.bits() & 0x1F);
                md.report = ReportOptions::from_bits_retain(md.report.bits() & 0x0FE0_7FC3);
                return md;
            }
            md.msg_type = MsgType(numbers[3]);
            md.expiry = numbers[4];
            md.priority = numbers[5];
            md.persistence = Persistence(numbers[6]);
            md.msg_seq_number = numbers[7];
            md.offset = numbers[8];
            md
        })
}

/// Data that begins with bytes that look like headers, or does not.
fn data() -> impl Strategy<Value = Bytes> {
    let header = prop_oneof![
        Just(Vec::new()),
        proptest::collection::vec(any::<u8>(), 0..80),
        (number(), proptest::collection::vec(any::<u8>(), 68))
            .prop_map(|(length, rest)| { [&b"MDE \x02\0\0\0"[..], &length.to_le_bytes(), &rest].concat() }),
        Just(
            b"MDE \x02\0\0\0\x48\0\0\0\x22\x02\0\0\0\0\0\0MQSTR   ".iter().copied().chain([0; 44]).collect()
        ),
    ];
    (header, 0..500_usize).prop_map(|(header, length)| Bytes::from([header, vec![b'x'; length]].concat()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn any_put_is_answered(
        puts in proptest::collection::vec((descriptor(), number(), any::<bool>(), data(), 0..3_usize), 1..12),
    ) {
        let mut qm = Qm::new();
        qm.script("DEFINE QLOCAL(Q) MAXMSGL(200) MAXDEPTH(20)");
        qm.script("DEFINE QLOCAL(R) MAXDEPTH(5)");
        qm.script("DEFINE QALIAS(A) TARGET(R)");
        qm.script("DEFINE QLOCAL(QM2) USAGE(XMITQ) MAXMSGL(4200)");
        qm.script("DEFINE QREMOTE(AWAY) RNAME(THERE) RQMNAME(QM2)");
        let conn = qm.connect();
        let handles = ["Q", "AWAY", "A"].map(|queue| qm.open(conn, queue, OpenOptions::OUTPUT));
        let depths = |qm: &Qm| ["Q", "R", "QM2", "DEV.DEAD.LETTER.QUEUE"].map(|queue| qm.depth(queue));
        for (md, options, sync, body, which) in puts {
            let mut options = PutOptions::from_bits_retain(options.cast_unsigned());
            options.set(PutOptions::SYNCPOINT, sync);
            let before = depths(&qm);
            let (pmo, properties) = (Mqpmo { options, ..Mqpmo::default() }, crate::Properties::default());
            let request = PutRequest { handle: handles[which], md, pmo, body, passed: None, properties };
            let reply = qm.call(conn, Verb::Put(Box::new(request))).reply;
            let after = depths(&qm);
            match &reply {
                Reply::Put(put) => {
                    prop_assert_ne!(put.cc, CompCode::FAILED);
                    prop_assert!(after > before || after.iter().sum::<u64>() > before.iter().sum());
                }
                refused => {
                    prop_assert_ne!(reason(refused), Reason::UNEXPECTED_ERROR);
                    prop_assert_eq!(after, before, "{:?}", refused);
                }
            }
        }
        let committed = depths(&qm);
        qm.commit(conn);
        prop_assert_eq!(depths(&qm), committed);
        qm.restart();
    }
}
