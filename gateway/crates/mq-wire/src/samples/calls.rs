//! Samples of the bodies of calls.

use bytes::Bytes;

use super::structures::{gmo, md, od, pmo, sts};
use super::{List, written};
use crate::{
    AccountingToken, ApplType, AttributesBody, Chars, CloseBody, CloseOptions, ConnectBody, ConnectOptions,
    ConnectOptionsPart, Fcno, Fopa, GetBody, GetReplyBody, InquireBody, Lpoo, MsgId, OpenBody, OpenOptions,
    Put1Body, Put1ReplyBody, PutBody, PutReplyBody, QMgrName, Reason, Selector, SpiBody, SpiCall,
    SpiCapability, SpiHeader, SpiOpen, SpiQuery, SpiReserve, SpiVerb, StatBody,
};

macro_rules! add {
    ($list:expr, $name:literal, $ty:ty, $value:expr) => {
        add!($list, $name, $ty, $value, |_| false);
    };
    ($list:expr, $name:literal, $ty:ty, $value:expr, $legal_at:expr) => {
        $list.add_with_shorter(
            $name,
            |writer| $value.encode(writer),
            |bytes, coding| {
                let value = <$ty>::decode(&Bytes::copy_from_slice(bytes), coding)?;
                Ok(written(coding, |writer| value.encode(writer)))
            },
            $legal_at,
        );
    };
}

pub(super) fn add(list: &mut List<'_>) {
    add!(list, "MQCONN 112", ConnectBody, connect(None));
    add!(list, "MQCONN 120", ConnectBody, connect(Some(None)), |length| length == 112);
    let legal = |length| length == 112 || length == 120 || length >= 260;
    add!(list, "MQCONN 260", ConnectBody, connect(Some(Some((1, 0)))), legal);
    add!(list, "MQCONN 332", ConnectBody, connect(Some(Some((2, 72)))), legal);
    add!(list, "MQCONN 460", ConnectBody, connect(Some(Some((3, 200)))), legal);
    add!(list, "MQCONN 472", ConnectBody, connect(Some(Some((4, 212)))), legal);
    add!(list, "MQOPEN", OpenBody, open(None));
    add!(list, "MQOPEN with short FOPA", OpenBody, open(Some(Fopa::short())), |length| length == 204);
    add!(list, "MQOPEN with FOPA", OpenBody, open(Some(Fopa::default())), |length| length == 204);
    add!(list, "MQOPEN of a list", OpenBody, open_list());
    add!(list, "MQCLOSE", CloseBody, CloseBody { options: CloseOptions::DELETE_PURGE });
    add!(list, "MQPUT", PutBody, put());
    add!(list, "MQPUT to a list", PutBody, put_list());
    add!(list, "MQPUT_REPLY", PutReplyBody, put_reply());
    add!(list, "MQPUT1", Put1Body, Put1Body { od: od(1), od_records: Bytes::new(), put: put() });
    let reply = Put1ReplyBody { od: od(2), od_records: Bytes::new(), put: put_reply() };
    add!(list, "MQPUT1_REPLY", Put1ReplyBody, reply);
    add!(list, "MQGET", GetBody, GetBody { md: md(2), gmo: gmo(4), buffer_length: 4096 });
    list.add(
        "MQGET_REPLY",
        |writer| get_reply(6).encode(writer),
        |bytes, coding| {
            let value = GetReplyBody::decode(Reason::NONE, &Bytes::copy_from_slice(bytes), coding)?;
            Ok(written(coding, |writer| value.encode(writer)))
        },
    );
    list.add_with_shorter(
        "MQGET_REPLY with a part",
        |writer| get_reply(100_000).encode(writer),
        |bytes, coding| {
            let body = Bytes::copy_from_slice(bytes);
            let value = GetReplyBody::decode(Reason::TRUNCATED_MSG_FAILED, &body, coding)?;
            Ok(written(coding, |writer| value.encode(writer)))
        },
        |length| length >= 324 + 112 + 4,
    );
    add!(list, "MQINQ", InquireBody, inquire());
    add!(list, "MQINQ_REPLY", AttributesBody, attributes());
    add!(list, "MQSTAT", StatBody, StatBody { stat_type: 0, sts: sts(1) });
    add!(list, "SPI QUERY", SpiBody, spi(SpiVerb::QUERY, SpiCall::Query(SpiQuery::REQUEST)));
    add!(list, "SPI_REPLY QUERY", SpiBody, spi(SpiVerb::QUERY, query_reply()));
    add!(list, "SPI OPEN", SpiBody, spi(SpiVerb::OPEN, spi_open(Lpoo::short(), false, b"")));
    add!(
        list,
        "SPI_REPLY OPEN with policy",
        SpiBody,
        spi(SpiVerb::OPEN, spi_open(Lpoo::default(), true, b"policy"))
    );
    let request = SpiReserve::Request { id_length: 24, wanted: 0xFF_FFFF };
    add!(list, "SPI RESERVE", SpiBody, spi(SpiVerb::RESERVE, SpiCall::Reserve(request)));
    let reply = SpiReserve::Reply { granted: 1_000, counter_offset: 16, base: MsgId([9; 24]) };
    add!(list, "SPI_REPLY RESERVE", SpiBody, spi(SpiVerb::RESERVE, SpiCall::Reserve(reply)));
    let opaque = SpiCall::Opaque(Bytes::from_static(b"SPAU"));
    add!(list, "SPI ACTIVATE", SpiBody, spi(SpiVerb::ACTIVATE, opaque), |length| length >= 12);
}

/// With options and FCNO of this version and so many bytes more.
fn connect(options: Option<Option<(u32, usize)>>) -> ConnectBody {
    ConnectBody {
        q_mgr_name: QMgrName(Chars::cut("QM1")),
        appl_name: Chars::cut("demo.Main"),
        appl_type: ApplType::JAVA,
        accounting_token: AccountingToken([1; 32]),
        options: options.map(|fcno| ConnectOptionsPart {
            options: 7,
            connect_options: ConnectOptions::HANDLE_SHARE_NO_BLOCK,
            fcno: fcno.map(|(version, more)| Fcno {
                version,
                flags: 1,
                area: [2; 128],
                rest: Bytes::from(vec![3; more]),
            }),
        }),
    }
}

fn open(fopa: Option<Fopa>) -> OpenBody {
    OpenBody { od: od(2), options: OpenOptions::OUTPUT | OpenOptions::INQUIRE, fopa, ..OpenBody::default() }
}

fn open_list() -> OpenBody {
    let mut open = open(None);
    (open.od.recs_present, open.od.object_rec_offset, open.od.response_rec_offset) = (2, 200, 392);
    OpenBody { records: Bytes::from(vec![4; 2 * (96 + 8)]), ..open }
}

fn put() -> PutBody {
    PutBody { md: md(2), pmo: pmo(2), records: Bytes::new(), data: Bytes::from_static(b"hello!") }
}

fn put_list() -> PutBody {
    let mut put = put();
    (put.pmo.recs_present, put.pmo.put_msg_rec_fields) = (2, 1 | 8);
    (put.pmo.put_msg_rec_offset, put.pmo.response_rec_offset) = (152, 208);
    PutBody { records: Bytes::from(vec![5; 2 * (24 + 4 + 8)]), ..put }
}

fn put_reply() -> PutReplyBody {
    PutReplyBody { md: md(1), pmo: pmo(1), records: Bytes::new(), data_length: 6 }
}

fn get_reply(data_length: u32) -> GetReplyBody {
    GetReplyBody { md: md(1), gmo: gmo(4), data_length, data: Bytes::from_static(b"hello!") }
}

fn inquire() -> InquireBody {
    let selectors = vec![Selector::IA_COMMAND_LEVEL, Selector::CA_Q_MGR_NAME];
    InquireBody { int_attr_count: 3, char_attr_length: 48, selectors }
}

fn attributes() -> AttributesBody {
    let InquireBody { selectors, .. } = inquire();
    AttributesBody { selectors, int_attrs: vec![941, 0, 0], char_attrs: Bytes::from(vec![b' '; 48]) }
}

fn spi(verb: SpiVerb, call: SpiCall) -> SpiBody {
    SpiBody { header: SpiHeader { verb, version: 1, max_reply_size: 444 }, call }
}

fn query_reply() -> SpiCall {
    let entry =
        |verb| SpiCapability { verb, in_out_version_max: 1, in_version_max: 2, out_version_max: 3, flags: 1 };
    let capabilities = vec![entry(SpiVerb::QUERY), SpiCapability::default(), entry(SpiVerb::OPEN)];
    SpiCall::Query(SpiQuery { capabilities: Some(capabilities), ..SpiQuery::REQUEST })
}

fn spi_open(lpoo: Lpoo, reply: bool, tail: &'static [u8]) -> SpiCall {
    let lpoo = Lpoo { open_options: OpenOptions::OUTPUT, def_persistence: 1, ..lpoo };
    let tail = Bytes::from_static(tail);
    SpiCall::Open(Box::new(SpiOpen { in_out_version: 1, version: 1, reply, lpoo, od: od(4), tail }))
}
