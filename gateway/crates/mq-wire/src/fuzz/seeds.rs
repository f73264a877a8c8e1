//! Messages that a queue manager converts, one of each format in every coding: where fuzzers and tests start from.

use bytes::BytesMut;

use crate::samples::CODINGS;
use crate::{
    ByteOrder, Ccsid, Chars, Coding, Encoding, FormatName, Mqdlh, Mqmde, Mqrfh2, Mqtm, Mqxqh, Writer,
};

/// Messages with their format and coding. What follows a header is text in the header's own form.
pub fn messages() -> Vec<(FormatName, Coding, Vec<u8>)> {
    CODINGS
        .into_iter()
        .flat_map(|coding| all(coding).map(|(format, bytes)| (format, coding, bytes)))
        .collect()
}

fn all(coding: Coding) -> [(FormatName, Vec<u8>); 15] {
    let encoding = if coding.order == ByteOrder::Big { Encoding::BIG } else { Encoding::LITTLE };
    let (ccsid, format) = (coding.ccsid, FormatName::STRING);
    let mut xqh = Mqxqh::default();
    (xqh.msg_desc.encoding, xqh.msg_desc.ccsid, xqh.msg_desc.format) = (encoding, ccsid, format);
    let folders = vec!["<usr><a dt='i4'>1</a></usr>".to_owned()];
    let text = |out: &mut Writer<'_>| out.field(&Chars::<8>::cut("some txt"));
    let followed = |write: &dyn Fn(&mut Writer<'_>)| {
        written(coding, |out| {
            write(out);
            text(out);
        })
    };
    let common = |id: [u8; 4], version: i32, length: i32, rest: &dyn Fn(&mut Writer<'_>)| {
        followed(&|out| {
            out.struc_id(id);
            [version, length, encoding.0, ccsid.0].iter().for_each(|value| out.field(value));
            out.field(&format);
            rest(out);
        })
    };
    let integers = |out: &mut Writer<'_>, values: &[i32]| values.iter().for_each(|value| out.field(value));
    let string = |out: &mut Writer<'_>| {
        integers(out, &[4, 28, 2016, 0, 8]);
        text(out);
    };
    let command = written(coding, |out| {
        integers(out, &[1, 36, 3, 13, 1, 1, 0, 0, 4]);
        string(out);
        integers(out, &[6, 40, 3011, ccsid.0, 2, 8]);
        (0..2).for_each(|_| text(out));
        integers(out, &[20, 16, 8001, 1, 5, 24, 1002, 2, 1, 2]);
        integers(out, &[14, 32, 2016, 18, 0, 8]);
        text(out);
    });
    [
        (FormatName::STRING, written(coding, text)),
        (FormatName::ADMIN, command),
        (FormatName::TRIGGER, written(coding, |out| Mqtm::default().encode(out))),
        (
            FormatName::IMS_VAR_STRING,
            followed(&|out| {
                out.field(&12_u16);
                out.field(&0_u16);
            }),
        ),
        (
            FormatName::MD_EXTENSION,
            followed(&|out| Mqmde { encoding, ccsid, format, ..Mqmde::default() }.encode(out)),
        ),
        (
            FormatName::DEAD_LETTER_HEADER,
            followed(&|out| Mqdlh { encoding, ccsid, format, ..Mqdlh::default() }.encode(out)),
        ),
        (FormatName::XMIT_Q_HEADER, followed(&|out| xqh.encode(out))),
        (
            FormatName::RF_HEADER_2,
            followed(&|out| {
                let (ccsid, folders) = (Ccsid::INHERIT, folders.clone());
                Mqrfh2 { encoding, ccsid, format, folders, ..Mqrfh2::default() }.encode(out);
            }),
        ),
        (
            FormatName::RF_HEADER,
            common(*b"RFH ", 1, 40, &|out| {
                integers(out, &[0]);
                text(out);
            }),
        ),
        (
            FormatName::IMS,
            common(*b"IIH ", 1, 84, &|out| {
                integers(out, &[0]);
                (0..4).for_each(|_| text(out));
                out.raw(&[1; 16]);
                out.field(&Chars::<4>::cut(" 0C "));
            }),
        ),
        (
            FormatName::CICS,
            common(*b"CIH ", 2, 180, &|out| {
                integers(out, &[7; 12]);
                out.raw(&[1; 8]);
                (0..10).for_each(|_| text(out));
                integers(out, &[8; 4]);
            }),
        ),
        (
            FormatName::WORK_INFO_HEADER,
            common(*b"WIH ", 1, 120, &|out| {
                integers(out, &[0]);
                (0..5).for_each(|_| text(out));
                out.raw(&[1; 16]);
                (0..4).for_each(|_| text(out));
            }),
        ),
        (
            FormatName::REF_MSG_HEADER,
            common(*b"RMH ", 1, 124, &|out| {
                integers(out, &[0]);
                text(out);
                out.raw(&[1; 24]);
                integers(out, &[8, 108, 0, 0, 8, 116, 0, 0, 0, 0, 0]);
                (0..2).for_each(|_| text(out));
            }),
        ),
        (
            FormatName::DIST_HEADER,
            common(*b"DH  ", 1, 172, &|out| {
                integers(out, &[0, 9, 1, 48, 144]);
                (0..12).for_each(|_| text(out));
                out.raw(&[1; 24]);
                integers(out, &[5]);
            }),
        ),
        (
            FormatName::EMBEDDED_PCF,
            common(*b"EPH ", 1, 96, &|out| {
                integers(out, &[0, 1, 36, 3, 1, 1, 1, 0, 0, 1]);
                string(out);
            }),
        ),
    ]
}

fn written(coding: Coding, write: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    let mut out = BytesMut::new();
    write(&mut Writer::new(&mut out, coding));
    out.to_vec()
}
