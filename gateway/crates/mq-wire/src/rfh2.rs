//! MQRFH2, the rules and formatting header version 2, and the message properties that it carries (mq-objects.md 1.11; the
//! IBM MQ reference, "MQRFH2" and "Property names").
//!
//! A message has its properties in the MQRFH2 at its front, in folders that are known for it or say so themselves. What a
//! getter sees of them is for [`deliver`] to say. Properties of the message descriptor are not among them, and message
//! handles are not here: on a channel there are none, the client's library makes them of what is in the data.

mod deliver;
mod folder;
mod properties;
mod value;

pub use self::deliver::{PropertyControl, deliver};
pub use self::folder::{Folder, FolderError, Property};
pub use self::properties::{
    Properties, PropertyNameError, behind_properties, check_folders, check_property_name, properties_length,
    properties_of, rfh2_of, without_properties,
};
pub use self::value::PropertyValue;

use crate::ccsid::{Charset, decode_in, encode_in};
use crate::{Ccsid, DecodeError, DecodeErrorKind, Encoding, FormatName, Reader, Writer};

/// The header with its folders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mqrfh2 {
    /// Encoding of the data that follows.
    pub encoding: Encoding,
    /// Character set of the data that follows.
    pub ccsid: Ccsid,
    /// Format of the data that follows.
    pub format: FormatName,
    /// Zero.
    pub flags: u32,
    /// Character set of the folders: 1208, 1200, 13488 or 17584.
    pub name_value_ccsid: Ccsid,
    /// The text of each folder, as it stands there with the blanks behind it. It is written with as many more as make its
    /// length a multiple of four.
    pub folders: Vec<String>,
}

impl Default for Mqrfh2 {
    fn default() -> Self {
        Self {
            encoding: Encoding::NATIVE,
            ccsid: Ccsid::INHERIT,
            format: FormatName::NONE,
            flags: 0,
            name_value_ccsid: Ccsid::UTF_8,
            folders: Vec::new(),
        }
    }
}

impl Mqrfh2 {
    /// The structure's name in the manuals.
    pub const TITLE: &'static str = "MQRFH2";
    /// The structure identifier.
    pub const ID: [u8; 4] = *b"RFH ";
    /// Length without folders.
    pub const LEAST: usize = 36;
    /// Its version.
    pub const VERSION: i32 = 2;
    /// The most folders that are read. There is no limit in MQ; what is in use has less than ten.
    pub const FOLDERS_MAX: usize = 1024;

    /// Reads the header: as many bytes as its StrucLength says, which its folders must fill.
    pub fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let start = reader.clone();
        reader.struc_id(Self::TITLE, Self::ID)?;
        let at_version = reader.clone();
        match reader.field(Self::TITLE, "Version")? {
            Self::VERSION => {}
            found => {
                return Err(at_version.error(Self::TITLE, "Version", DecodeErrorKind::Version { found }));
            }
        }
        let at_length = reader.clone();
        let struc_length: i32 = reader.field(Self::TITLE, "StrucLength")?;
        let length = usize::try_from(struc_length).unwrap_or_default();
        if length < Self::LEAST {
            let (found, min, max) = (i64::from(struc_length), Self::LEAST as i64, i64::from(i32::MAX));
            let kind = DecodeErrorKind::Range { found, min, max };
            return Err(at_length.error(Self::TITLE, "StrucLength", kind));
        }
        let mut whole = start.clone();
        whole.take(Self::TITLE, "NameValueData", length)?;
        let end = whole.position();
        let mut header = Self {
            encoding: reader.field(Self::TITLE, "Encoding")?,
            ccsid: reader.field(Self::TITLE, "CodedCharSetId")?,
            format: reader.field(Self::TITLE, "Format")?,
            flags: reader.field(Self::TITLE, "Flags")?,
            name_value_ccsid: Ccsid::UTF_8,
            folders: Vec::new(),
        };
        let at_ccsid = reader.clone();
        header.name_value_ccsid = reader.field(Self::TITLE, "NameValueCCSID")?;
        let charset = header.charset(reader).ok_or_else(|| {
            let kind = range(header.name_value_ccsid.0, 1200, 17_584);
            at_ccsid.error(Self::TITLE, "NameValueCCSID", kind)
        })?;
        while reader.position() < end {
            let at_length = reader.clone();
            let length: i32 = reader.field(Self::TITLE, "NameValueLength")?;
            let left = end.saturating_sub(reader.position());
            if header.folders.len() == Self::FOLDERS_MAX {
                let kind = range(Self::FOLDERS_MAX as i32 + 1, 0, Self::FOLDERS_MAX);
                return Err(at_length.error(Self::TITLE, "NameValueLength", kind));
            }
            let fits = usize::try_from(length).ok().filter(|length| *length <= left && length % 4 == 0);
            let Some(length) = fits.filter(|_| reader.position() <= end) else {
                let kind = range(length, 0, left);
                return Err(at_length.error(Self::TITLE, "NameValueLength", kind));
            };
            let at_text = reader.clone();
            let bytes = reader.take(Self::TITLE, "NameValueData", length)?;
            let text = decode_in(bytes, charset, header.name_value_ccsid).ok_or_else(|| {
                let kind = range(length as i32, 0, 0);
                at_text.error(Self::TITLE, "NameValueData", kind)
            })?;
            header.folders.push(text.into_owned());
        }
        Ok(header)
    }

    /// Appends the header.
    pub fn encode(&self, writer: &mut Writer<'_>) {
        let order = writer.coding().order;
        let charset = match self.name_value_ccsid {
            ccsid if ccsid.is_utf_16() => Charset::Utf16(order),
            _ => Charset::Utf8,
        };
        let folders: Vec<_> = self
            .folders
            .iter()
            .map(|text| {
                // Both sets have every character.
                let bytes = encode_in(text, charset, self.name_value_ccsid).unwrap_or_default();
                let mut bytes = bytes.into_owned();
                while !bytes.len().is_multiple_of(4) {
                    _ = charset.encode(' ', &mut bytes);
                }
                bytes
            })
            .collect();
        let length = Self::LEAST + folders.iter().map(|folder| 4 + folder.len()).sum::<usize>();
        writer.struc_id(Self::ID);
        writer.field(&Self::VERSION);
        writer.field(&(length as u32));
        writer.field(&self.encoding);
        writer.field(&self.ccsid);
        writer.field(&self.format);
        writer.field(&self.flags);
        writer.field(&self.name_value_ccsid);
        for folder in folders {
            writer.field(&(folder.len() as u32));
            writer.raw(&folder);
        }
    }

    /// The character set of the folders, if it is one of those.
    fn charset(&self, reader: &Reader<'_>) -> Option<Charset> {
        match self.name_value_ccsid {
            Ccsid::UTF_8 => Some(Charset::Utf8),
            ccsid if ccsid.is_utf_16() => Some(Charset::Utf16(reader.coding().order)),
            _ => None,
        }
    }
}

fn range(found: i32, min: i64, max: impl TryInto<i64>) -> DecodeErrorKind {
    DecodeErrorKind::Range { found: i64::from(found), min, max: max.try_into().unwrap_or(i64::MAX) }
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;

    use super::*;
    use crate::{ByteOrder, Coding};

    fn written(header: &Mqrfh2, coding: Coding) -> Vec<u8> {
        let mut out = BytesMut::new();
        header.encode(&mut Writer::new(&mut out, coding));
        out.to_vec()
    }

    #[test]
    fn bytes_of_a_header() {
        let header = Mqrfh2 {
            encoding: Encoding::BIG,
            ccsid: Ccsid::UTF_8,
            format: FormatName::STRING,
            folders: vec!["<mcd><Msd>jms_text</Msd></mcd>".to_owned()],
            ..Mqrfh2::default()
        };
        let coding = Coding { order: ByteOrder::Big, ccsid: Ccsid::LATIN_1 };
        let bytes = written(&header, coding);
        // Version, StrucLength, Encoding, CCSID; Format; Flags, NameValueCCSID; NameValueLength, folder, blanks.
        let expected = [
            &b"RFH \0\0\0\x02\0\0\0\x48\0\0\x01\x11\0\0\x04\xB8MQSTR   \0\0\0\0\0\0\x04\xB8\0\0\0\x20"[..],
            b"<mcd><Msd>jms_text</Msd></mcd>  ",
        ];
        assert_eq!(bytes, expected.concat());
        let read = Mqrfh2::decode(&mut Reader::new(&bytes, coding)).unwrap();
        assert_eq!(read.folders, ["<mcd><Msd>jms_text</Msd></mcd>  "]);
        assert_eq!((read.encoding, read.ccsid, read.format), (header.encoding, header.ccsid, header.format));
    }

    #[test]
    fn folders_in_utf_16_have_the_order_of_the_header() {
        for (order, first) in [(ByteOrder::Big, [0, b'<']), (ByteOrder::Little, [b'<', 0])] {
            for ccsid in [1200, 13488, 17584].map(Ccsid) {
                let folders = vec!["<usr><a>ä€😀</a></usr>".to_owned(), "<b/>".to_owned()];
                let header = Mqrfh2 { name_value_ccsid: ccsid, folders, ..Mqrfh2::default() };
                let coding = Coding { order, ccsid: Ccsid(500) };
                let bytes = written(&header, coding);
                assert_eq!(bytes[40..42], first);
                let read = Mqrfh2::decode(&mut Reader::new(&bytes, coding)).unwrap();
                let folders: Vec<_> = read.folders.iter().map(|folder| folder.trim_end()).collect();
                assert_eq!(folders, header.folders);
                assert_eq!(written(&read, coding), bytes);
            }
        }
    }

    #[test]
    fn what_is_no_header_says_where() {
        let header = Mqrfh2 { folders: vec!["<usr/>".to_owned()], ..Mqrfh2::default() };
        let good = written(&header, Coding::NATIVE);
        let error = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut bytes = good.clone();
            change(&mut bytes);
            let error = Mqrfh2::decode(&mut Reader::new(&bytes, Coding::NATIVE)).unwrap_err();
            (error.field, error.offset)
        };
        assert_eq!(error(&|bytes| bytes[0] = 0), ("StrucId", 0));
        assert_eq!(error(&|bytes| bytes[4] = 1), ("Version", 4));
        assert_eq!(error(&|bytes| bytes[8] = 35), ("StrucLength", 8));
        assert_eq!(error(&|bytes| bytes[11] = 0x80), ("StrucLength", 8));
        assert_eq!(error(&|bytes| bytes[8] += 1), ("NameValueData", 0));
        assert_eq!(error(&|bytes| bytes[8] -= 1), ("NameValueLength", 36));
        assert_eq!(error(&|bytes| bytes[8] = 38), ("NameValueLength", 36));
        assert_eq!(
            error(&|bytes| bytes[32..34].copy_from_slice(&819_u16.to_le_bytes())),
            ("NameValueCCSID", 32)
        );
        assert_eq!(error(&|bytes| bytes[36] = 7), ("NameValueLength", 36));
        assert_eq!(error(&|bytes| bytes[36] = 12), ("NameValueLength", 36));
        assert_eq!(error(&|bytes| bytes[39] = 0xFF), ("NameValueLength", 36));
        assert_eq!(error(&|bytes| bytes[41] = 0xFF), ("NameValueData", 40));
    }
}
