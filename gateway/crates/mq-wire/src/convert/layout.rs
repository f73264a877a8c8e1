//! Structures of fixed length as tables: what each field is, in order. What varies in length behind them is for
//! `variable` and `pcf` to convert.
//!
//! Headers that this crate has no type for (MQIIH, MQCIH, MQWIH, MQRMH, MQDH, MQEPH) are here only, since nothing but
//! conversion reads them. Sources: the IBM MQ reference, "MQI data types"; mq-objects.md 1.2 to 1.12.

use super::between::Between;
use crate::{FormatName, Reason};

/// Some fields of one kind.
#[derive(Debug, Clone, Copy)]
pub(super) enum Fields {
    /// Text of so many bytes.
    Text(usize),
    /// So many integers of four bytes.
    Integers(usize),
    /// Bytes that stay as they are.
    Bytes(usize),
}

use Fields::{Bytes, Integers, Text};

impl Fields {
    const fn length(self) -> usize {
        match self {
            Text(length) | Bytes(length) => length,
            Integers(count) => 4 * count,
        }
    }
}

/// A header: how it is known, what is in it, and where it says what follows it.
#[derive(Debug)]
pub(super) struct Header {
    /// The format that announces it.
    pub(super) format: FormatName,
    /// The structure identifier.
    pub(super) id: [u8; 4],
    /// What is returned if it is not valid.
    pub(super) error: Reason,
    /// Each version with the length of its fixed part.
    pub(super) versions: &'static [(i32, usize)],
    /// The fields of the newest version.
    pub(super) fields: &'static [Fields],
    /// The offset of Encoding, which CodedCharSetId and Format follow.
    pub(super) next: usize,
    /// Where its length is, if it says it.
    pub(super) length: Length,
    /// Whether what follows is always in the same form as it: the fields that say so are reserved.
    pub(super) passes_form_on: bool,
}

/// How long a header is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Length {
    /// As its version says; there is no StrucLength.
    Version,
    /// As its version says, and StrucLength at offset 8 agrees.
    Fixed,
    /// As StrucLength says: this follows the fixed part.
    Variable(More),
}

/// What follows the fixed part of a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum More {
    /// Names and values as one string.
    Rfh,
    /// Folders.
    Rfh2,
    /// Four strings.
    Rmh,
    /// Records.
    Dh,
    /// Parameters of a command.
    Eph,
}

/// The start that most headers share: identifier, version, length, encoding, character set, format, flags.
const COMMON: usize = 12;

/// MQMD version 1, which MQXQH holds.
const XQH: &[Fields] = &[
    Text(4),
    Integers(1),
    Text(48),
    Text(48),
    // MQMD from here on: up to CodedCharSetId, Format, Priority and Persistence, MsgId and CorrelId.
    Text(4),
    Integers(7),
    Text(8),
    Integers(2),
    Bytes(48),
    // BackoutCount, the reply queue and its manager, UserIdentifier.
    Integers(1),
    Text(48),
    Text(48),
    Text(12),
    Bytes(32),
    // ApplIdentityData, PutApplType, and the rest.
    Text(32),
    Integers(1),
    Text(28),
    Text(8),
    Text(8),
    Text(4),
];

const DLH: &[Fields] = &[
    Text(4),
    Integers(2),
    Text(48),
    Text(48),
    Integers(2),
    Text(8),
    Integers(1),
    Text(28),
    Text(8),
    Text(8),
];

const MDE: &[Fields] = &[Text(4), Integers(4), Text(8), Integers(1), Bytes(24), Integers(4)];

const IIH: &[Fields] = &[
    Text(4),
    Integers(4),
    Text(8),
    Integers(1),
    // LTermOverride, MFSMapName, ReplyToFormat, Authenticator.
    Text(8),
    Text(8),
    Text(8),
    Text(8),
    Bytes(16),
    // TranState, CommitMode, SecurityScope, Reserved.
    Text(1),
    Text(1),
    Text(1),
    Text(1),
];

const CIH: &[Fields] = &[
    Text(4),
    Integers(4),
    Text(8),
    Integers(12),
    Bytes(8),
    // Function, AbendCode, Authenticator, Reserved1, ReplyToFormat.
    Text(4),
    Text(4),
    Text(8),
    Text(8),
    Text(8),
    // RemoteSysId, RemoteTransId, TransactionId, FacilityLike, AttentionId, StartCode, CancelCode, NextTransactionId.
    Text(4),
    Text(4),
    Text(4),
    Text(4),
    Text(4),
    Text(4),
    Text(4),
    Text(4),
    Text(8),
    Text(8),
    // Version 2: CursorPosition, ErrorOffset, InputItem, Reserved4.
    Integers(4),
];

const WIH: &[Fields] = &[Text(4), Integers(4), Text(8), Integers(1), Text(32), Text(8), Bytes(16), Text(32)];

const RFH: &[Fields] = &[Text(4), Integers(4), Text(8), Integers(1)];

const RFH2: &[Fields] = &[Text(4), Integers(4), Text(8), Integers(2)];

const RMH: &[Fields] = &[Text(4), Integers(4), Text(8), Integers(1), Text(8), Bytes(24), Integers(11)];

const DH: &[Fields] = &[Text(4), Integers(4), Text(8), Integers(5)];

/// With the MQCFH in it.
const EPH: &[Fields] = &[Text(4), Integers(4), Text(8), Integers(10)];

/// The trigger message, which is no header: nothing follows it (mq-objects.md 1.9).
pub(super) const TM: &[Fields] =
    &[Text(4), Integers(1), Text(48), Text(48), Text(64), Integers(1), Text(256), Text(128), Text(128)];

/// The headers that a queue manager converts.
pub(super) const HEADERS: &[Header] = &[
    Header {
        format: FormatName::MD_EXTENSION,
        id: *b"MDE ",
        error: Reason::MDE_ERROR,
        versions: &[(2, 72)],
        fields: MDE,
        next: COMMON,
        length: Length::Fixed,
        passes_form_on: false,
    },
    Header {
        format: FormatName::DEAD_LETTER_HEADER,
        id: *b"DLH ",
        error: Reason::DLH_ERROR,
        versions: &[(1, 172)],
        fields: DLH,
        next: 108,
        length: Length::Version,
        passes_form_on: false,
    },
    Header {
        format: FormatName::XMIT_Q_HEADER,
        id: *b"XQH ",
        error: Reason::XQH_ERROR,
        versions: &[(1, 428)],
        fields: XQH,
        next: crate::Mqxqh::MSG_DESC_OFFSET + 24,
        length: Length::Version,
        passes_form_on: false,
    },
    Header {
        format: FormatName::RF_HEADER,
        id: *b"RFH ",
        error: Reason::RFH_ERROR,
        versions: &[(1, 32)],
        fields: RFH,
        next: COMMON,
        length: Length::Variable(More::Rfh),
        passes_form_on: false,
    },
    Header {
        format: FormatName::RF_HEADER_2,
        id: *b"RFH ",
        error: Reason::RFH_ERROR,
        versions: &[(2, 36)],
        fields: RFH2,
        next: COMMON,
        length: Length::Variable(More::Rfh2),
        passes_form_on: false,
    },
    Header {
        format: FormatName::IMS,
        id: *b"IIH ",
        error: Reason::IIH_ERROR,
        versions: &[(1, 84)],
        fields: IIH,
        next: COMMON,
        length: Length::Fixed,
        passes_form_on: true,
    },
    Header {
        format: FormatName::CICS,
        id: *b"CIH ",
        error: Reason::CIH_ERROR,
        versions: &[(1, 164), (2, 180)],
        fields: CIH,
        next: COMMON,
        length: Length::Fixed,
        passes_form_on: true,
    },
    Header {
        format: FormatName::WORK_INFO_HEADER,
        id: *b"WIH ",
        error: Reason::WIH_ERROR,
        versions: &[(1, 120)],
        fields: WIH,
        next: COMMON,
        length: Length::Fixed,
        passes_form_on: false,
    },
    Header {
        format: FormatName::REF_MSG_HEADER,
        id: *b"RMH ",
        error: Reason::RMH_ERROR,
        versions: &[(1, 108)],
        fields: RMH,
        next: COMMON,
        length: Length::Variable(More::Rmh),
        passes_form_on: false,
    },
    Header {
        format: FormatName::DIST_HEADER,
        id: *b"DH  ",
        error: Reason::DH_ERROR,
        versions: &[(1, 48)],
        fields: DH,
        next: COMMON,
        length: Length::Variable(More::Dh),
        passes_form_on: false,
    },
    Header {
        format: FormatName::EMBEDDED_PCF,
        id: *b"EPH ",
        error: Reason::EPH_ERROR,
        versions: &[(1, 68)],
        fields: EPH,
        next: COMMON,
        length: Length::Variable(More::Eph),
        passes_form_on: false,
    },
];

/// Appends the fields of these bytes, as many as there are bytes.
pub(super) fn convert(
    bytes: &[u8],
    fields: &[Fields],
    between: &Between,
    out: &mut Vec<u8>,
) -> Result<(), Reason> {
    let mut rest = bytes;
    for field in fields {
        let Some((bytes, more)) = rest.split_at_checked(field.length()) else { break };
        match field {
            Text(_) => between.fixed_text(bytes, out)?,
            Integers(_) => between.numbers(bytes, 4, out),
            Bytes(_) => out.extend_from_slice(bytes),
        }
        rest = more;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FieldInfo, Mqdlh, Mqmd, Mqmde, Mqtm, Mqxqh};

    fn total(fields: &[Fields]) -> usize {
        fields.iter().map(|field| field.length()).sum()
    }

    #[test]
    fn the_fields_make_up_the_newest_version() {
        for header in HEADERS {
            assert_eq!(
                Some(total(header.fields)),
                header.versions.last().map(|(_, length)| *length),
                "{header:?}"
            );
            // Encoding, character set and format: integers, then text.
            let starts: Vec<_> =
                (0..header.fields.len()).map(|field| total(&header.fields[..field])).collect();
            let format = starts.iter().position(|start| *start == header.next + 8).unwrap();
            assert!(matches!(header.fields[format], Text(8)), "{header:?}");
        }
        assert_eq!(total(TM), 684);
    }

    /// Text fields of a structure must be text in the table, and other fields other: told by which bytes change
    /// when text changes.
    fn check(title: &str, fields: &[Fields], info: &[FieldInfo], shift: usize, text: &[&str]) {
        let mut kinds = Vec::new();
        for field in fields {
            let is_text = matches!(field, Text(_));
            kinds.extend(std::iter::repeat_n(is_text, field.length()));
        }
        for field in info.iter().filter(|field| field.version <= 2 && field.offset + shift < kinds.len()) {
            let expected = field.name == "StrucId" || text.contains(&field.name);
            let range = field.offset + shift..field.offset + shift + field.length;
            if field.name != "msg_desc" {
                assert!(kinds[range].iter().all(|kind| *kind == expected), "{title} {}", field.name);
            }
        }
    }

    #[test]
    fn the_tables_are_those_of_the_structures() {
        let applications = ["put_appl_name", "put_date", "put_time", "format"];
        let of = |more: &[&'static str]| [&applications[..], more].concat();
        check("MQDLH", DLH, Mqdlh::FIELDS, 0, &of(&["dest_q_name", "dest_q_mgr_name"]));
        check("MQMDE", MDE, Mqmde::FIELDS, 0, &["format"]);
        check("MQXQH", XQH, Mqxqh::FIELDS, 0, &["remote_q_name", "remote_q_mgr_name"]);
        let md = of(&[
            "reply_to_q",
            "reply_to_q_mgr",
            "user_identifier",
            "appl_identity_data",
            "appl_origin_data",
        ]);
        let version_1: Vec<_> = Mqmd::FIELDS.iter().copied().filter(|field| field.version <= 1).collect();
        check("MQMD", XQH, &version_1, Mqxqh::MSG_DESC_OFFSET, &md);
        let tm = ["q_name", "process_name", "trigger_data", "appl_id", "env_data", "user_data"];
        check("MQTM", TM, Mqtm::FIELDS, 0, &tm);
    }
}
