//! Descriptors as they are stored, and the transmission queue header (mq-objects.md 1.7).

use bytes::{Bytes, BytesMut};
use mq_wire::{
    ApplType, Ccsid, Chars, Coding, CorrelId, Encoding, FormatName, GroupId, MessageFlags, Mqmd, Mqmde,
    Mqxqh, MsgId, QMgrName, QName, Reader, Reason, ReportOptions, Writer,
};

use crate::clock::put_date_time;
use crate::verb::Now;

/// MQRO_ACCEPT_UNSUP_IF_XMIT_MASK: reports on arrival and delivery, which a transmission queue shall not make.
const ACCEPT_UNSUP_IF_XMIT: u32 = 0x0003_FF00;

/// The descriptor as the store keeps it: version 2, native coding.
pub(crate) fn envelope(md: &Mqmd) -> Bytes {
    let mut out = BytesMut::with_capacity(Mqmd::length(2));
    md.encode(&mut Writer::new(&mut out, Coding::NATIVE));
    out.freeze()
}

/// A descriptor in version 2: what version 1 does not have is as it is by default.
pub(crate) fn version_2(md: Mqmd) -> Mqmd {
    if md.version >= 2 {
        return Mqmd { version: 2, ..md };
    }
    without_extension(md)
}

/// A descriptor of version 2 that says no more than one of version 1.
pub(crate) fn without_extension(md: Mqmd) -> Mqmd {
    Mqmd {
        version: 2,
        group_id: GroupId::NONE,
        msg_seq_number: 1,
        offset: 0,
        msg_flags: MessageFlags::empty(),
        original_length: -1,
        ..md
    }
}

/// The descriptor and the data of a message whose data begins with an MQMDE, and whose descriptor says nothing of what
/// that does: one of version 2, and what follows. None if there is none that counts: it must be in the encoding and the character
/// set of the queue manager, else it is data. What is there and is none is an error (2248).
pub(crate) fn take_extension(md: &Mqmd, body: &Bytes, ccsid: Ccsid) -> Result<Option<(Mqmd, Bytes)>, Reason> {
    let own = md.encoding == Encoding::NATIVE && (md.ccsid == Ccsid::Q_MGR || md.ccsid == ccsid);
    let said = md.version >= 2 && is_extended(md);
    if said || md.format != FormatName::MD_EXTENSION || !own {
        return Ok(None);
    }
    let mut reader = Reader::new(body, Coding::NATIVE);
    let extension = Mqmde::decode(&mut reader).map_err(|_| Reason::MDE_ERROR)?;
    let whole = extension.version == 2 && extension.struc_length as usize == Mqmde::length(2);
    if !whole || extension.flags != 0 {
        return Err(Reason::MDE_ERROR);
    }
    let md = Mqmd {
        version: 2,
        encoding: extension.encoding,
        ccsid: extension.ccsid,
        format: extension.format,
        group_id: extension.group_id,
        msg_seq_number: extension.msg_seq_number,
        offset: extension.offset,
        msg_flags: extension.msg_flags,
        original_length: extension.original_length,
        ..md.clone()
    };
    Ok(Some((md, body.slice(Mqmde::length(2)..))))
}

/// A message as it goes onto a transmission queue: its descriptor there, and header and data.
pub(crate) fn wrap(
    now: Now,
    this: QMgrName,
    ccsid: Ccsid,
    destination: (QName, QMgrName),
    msg_id: MsgId,
    md: &Mqmd,
    body: &Bytes,
) -> (Mqmd, Bytes) {
    let (remote_q_name, remote_q_mgr_name) = destination;
    let extended = is_extended(md);
    let mut embedded = Mqmd { version: 1, ..md.clone() };
    if extended {
        embedded.encoding = Encoding::NATIVE;
        embedded.ccsid = ccsid;
        embedded.format = FormatName::MD_EXTENSION;
    }
    let header = Mqxqh { remote_q_name, remote_q_mgr_name, msg_desc: embedded, ..Mqxqh::default() };
    let mut out = BytesMut::with_capacity(Mqxqh::LENGTH + Mqmde::length(2) + body.len());
    let mut writer = Writer::new(&mut out, Coding::NATIVE);
    header.encode(&mut writer);
    if extended {
        Mqmde::of(md).encode(&mut writer);
    }
    writer.raw(body);
    let (put_date, put_time) = put_date_time(now.wall_ms);
    let outer = Mqmd {
        version: 2,
        report: ReportOptions::from_bits_retain(md.report.bits() & !ACCEPT_UNSUP_IF_XMIT),
        encoding: Encoding::NATIVE,
        ccsid,
        format: FormatName::XMIT_Q_HEADER,
        msg_id,
        correl_id: CorrelId::from(md.msg_id),
        put_appl_type: ApplType::QMGR,
        put_appl_name: Chars::cut(&this.0.text()),
        put_date,
        put_time,
        appl_origin_data: Chars::BLANK,
        ..version_2(Mqmd { version: 1, ..md.clone() })
    };
    (outer, out.freeze())
}

/// Whether there is something in version 2 that version 1 cannot say.
pub(crate) fn is_extended(md: &Mqmd) -> bool {
    let default = Mqmd::default();
    (md.group_id, md.msg_seq_number, md.offset, md.msg_flags, md.original_length)
        != (
            default.group_id,
            default.msg_seq_number,
            default.offset,
            default.msg_flags,
            default.original_length,
        )
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use hex_literal::hex;
    use mq_wire::{MsgType, Persistence};

    use super::*;

    fn md() -> Mqmd {
        let mut md = Mqmd {
            version: 2,
            report: ReportOptions::COA | ReportOptions::EXPIRATION,
            msg_type: MsgType::REQUEST,
            expiry: 600,
            encoding: Encoding::BIG,
            ccsid: Ccsid::UTF_8,
            format: Chars::cut("MQSTR"),
            priority: 5,
            persistence: Persistence::PERSISTENT,
            reply_to_q: QName::new("REPLY").unwrap(),
            reply_to_q_mgr: QMgrName::new("QM1").unwrap(),
            user_identifier: Chars::cut("app"),
            put_appl_type: ApplType::JAVA,
            put_appl_name: Chars::cut("orders.Main"),
            put_date: Chars::cut("20250102"),
            put_time: Chars::cut("03040506"),
            ..Mqmd::default()
        };
        md.msg_id.0[0] = 0xA1;
        md.correl_id.0[0] = 0xB2;
        md
    }

    fn wrapped(md: &Mqmd) -> (Mqmd, Bytes) {
        let now = Now { wall_ms: 1_735_689_600_000, instant: Instant::now() };
        let to = (QName::new("ORDERS%DEV00042").unwrap(), QMgrName::new("GATE1").unwrap());
        let this = QMgrName::new("QM1").unwrap();
        let mut msg_id = MsgId::NONE;
        msg_id.0[0] = 0xC3;
        wrap(now, this, Ccsid::LATIN_1, to, msg_id, md, &Bytes::from_static(b"data"))
    }

    /// The table of mq-objects.md 1.7, right column.
    #[test]
    fn golden_header() {
        let (_, data) = wrapped(&md());
        let blanks = [b' '; 48];
        let mut expected = Vec::new();
        expected.extend(hex!("58514820 01000000")); // XQH, version 1
        expected.extend(b"ORDERS%DEV00042");
        expected.extend(&blanks[15..]);
        expected.extend(b"GATE1");
        expected.extend(&blanks[5..]);
        expected.extend(hex!("4D442020 01000000")); // MD, version 1
        expected.extend(hex!("00012000 01000000 58020000 00000000")); // report, request, expiry, feedback
        expected.extend(hex!("11010000 B8040000")); // encoding, ccsid
        expected.extend(b"MQSTR   ");
        expected.extend(hex!("05000000 01000000")); // priority, persistence
        expected.extend(hex!("A1 0000000000000000000000000000000000000000000000"));
        expected.extend(hex!("B2 0000000000000000000000000000000000000000000000"));
        expected.extend(hex!("00000000")); // backout count
        expected.extend(b"REPLY");
        expected.extend(&blanks[5..]);
        expected.extend(b"QM1");
        expected.extend(&blanks[3..]);
        expected.extend(b"app         ");
        expected.extend([0; 32]); // accounting token
        expected.extend(&blanks[..32]);
        expected.extend(hex!("1C000000")); // Java
        expected.extend(b"orders.Main                 ");
        expected.extend(b"2025010203040506    ");
        assert_eq!(expected.len(), 428);
        expected.extend(b"data");
        assert_eq!(data, expected);
    }

    /// The table of mq-objects.md 1.7, middle column.
    #[test]
    fn golden_descriptor() {
        let (outer, _) = wrapped(&md());
        let mut expected = Mqmd {
            report: ReportOptions::EXPIRATION,
            encoding: Encoding::NATIVE,
            ccsid: Ccsid::LATIN_1,
            format: Chars::cut("MQXMIT"),
            put_appl_type: ApplType::QMGR,
            put_appl_name: Chars::cut("QM1"),
            put_date: Chars::cut("20250101"),
            put_time: Chars::cut("00000000"),
            ..md()
        };
        expected.msg_id.0[0] = 0xC3;
        expected.correl_id.0[0] = 0xA1;
        assert_eq!(outer, expected);
        assert_eq!(envelope(&outer).len(), 364);
    }

    #[test]
    fn what_version_1_cannot_say_travels_in_an_extension() {
        let mut grouped = md();
        grouped.msg_flags = MessageFlags::MSG_IN_GROUP;
        grouped.msg_seq_number = 3;
        grouped.group_id.0[0] = 0xD4;
        let (outer, data) = wrapped(&grouped);
        assert_eq!(
            (outer.msg_flags, outer.msg_seq_number, outer.group_id.is_none()),
            (MessageFlags::empty(), 1, true)
        );
        assert_eq!(data.len(), 428 + 72 + 4);
        assert_eq!(&data[104 + 24..104 + 40], b"\x22\x02\x00\x00\x33\x03\x00\x00MQHMDE  ");
        let mut expected = Vec::from(hex!("4D444520 02000000 48000000 11010000 B8040000"));
        expected.extend(b"MQSTR   ");
        expected.extend(hex!("00000000 D4 0000000000000000000000000000000000000000000000"));
        expected.extend(hex!("03000000 00000000 08000000 FFFFFFFF"));
        assert_eq!(&data[428..500], expected);
        assert_eq!(&data[500..], b"data");
    }
}
