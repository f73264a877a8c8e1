//! From one encoding and character set to another: what every part of a message needs.

use crate::ccsid::Charset;
use crate::{ByteOrder, Ccsid, Coding, Converter, EbcdicNewline, Encoding, Field, Reason, UnknownCcsid};

/// An encoding with a character set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Form {
    pub(super) encoding: Encoding,
    pub(super) ccsid: Ccsid,
}

impl Form {
    pub(super) fn coding(self) -> Coding {
        Coding::of(self.encoding, self.ccsid)
    }
}

/// The way from one form to another.
#[derive(Debug)]
pub(super) struct Between {
    pub(super) from: Form,
    pub(super) to: Form,
    newline: EbcdicNewline,
    /// None if text stays as it is.
    text: Option<Converter>,
    /// A blank of the target.
    blank: Vec<u8>,
}

impl Between {
    /// The way, or what is not known of its ends: 2111 to 2118. `numbers` says whether there are integers to convert.
    pub(super) fn new(from: Form, to: Form, newline: EbcdicNewline, numbers: bool) -> Result<Self, Reason> {
        check_encodings(from.encoding, to.encoding, numbers)?;
        let mut between = Self::numbers_only(from, to, newline);
        between.text = between.converter(from.ccsid)?;
        if let Some(charset) = Charset::of(to.ccsid, to.encoding) {
            between.blank.clear();
            // Every character set has a blank.
            _ = charset.encode(' ', &mut between.blank);
        }
        Ok(between)
    }

    /// A way on which no text is known to lie: each string names its own set.
    pub(super) fn embedded(from: Form, to: Form, newline: EbcdicNewline) -> Result<Self, Reason> {
        check_encodings(from.encoding, to.encoding, true)?;
        Charset::of(to.ccsid, to.encoding).ok_or(Reason::TARGET_CCSID_ERROR)?;
        Self::new(Form { ccsid: to.ccsid, ..from }, to, newline, true)
    }

    fn numbers_only(from: Form, to: Form, newline: EbcdicNewline) -> Self {
        Self { from, to, newline, text: None, blank: vec![b' '] }
    }

    fn converter(&self, ccsid: Ccsid) -> Result<Option<Converter>, Reason> {
        if ccsid == self.to.ccsid && !ccsid.is_utf_16() {
            return Ok(None);
        }
        let from = (ccsid, self.from.encoding);
        match Converter::new(from, (self.to.ccsid, self.to.encoding), self.newline) {
            Ok(converter) => Ok(Some(converter).filter(|converter| !converter.is_identity())),
            Err(UnknownCcsid::Source(_)) => Err(Reason::SOURCE_CCSID_ERROR),
            Err(UnknownCcsid::Target(_)) => Err(Reason::TARGET_CCSID_ERROR),
        }
    }

    /// The same way for text in another set.
    pub(super) fn with_source(&self, ccsid: Ccsid) -> Result<Self, Reason> {
        Ok(Self {
            from: Form { ccsid, ..self.from },
            to: self.to,
            newline: self.newline,
            text: self.converter(ccsid)?,
            blank: self.blank.clone(),
        })
    }

    /// Whether text stays as it is.
    pub(super) fn keeps_text(&self) -> bool {
        self.text.is_none()
    }

    fn swaps(&self) -> bool {
        self.from.encoding.byte_order() != self.to.encoding.byte_order()
    }

    /// The integer at this offset of what was put, if it is there.
    pub(super) fn integer(&self, bytes: &[u8], offset: usize) -> Option<i32> {
        let end = offset.checked_add(4)?;
        bytes.get(offset..end).map(|bytes| i32::read(bytes, self.from.coding()))
    }

    /// The length or count at this offset.
    pub(super) fn count(&self, bytes: &[u8], offset: usize) -> Option<usize> {
        self.integer(bytes, offset).and_then(|value| usize::try_from(value).ok())
    }

    /// Puts an integer over what is at this offset. Only for offsets at which something was written.
    pub(super) fn put_at(&self, value: i32, out: &mut [u8], offset: usize) {
        if let Some(place) = out.get_mut(offset..offset + 4) {
            place.copy_from_slice(&self.bytes(value));
        }
    }

    fn bytes(&self, value: i32) -> [u8; 4] {
        match self.to.encoding.byte_order() {
            ByteOrder::Big => value.to_be_bytes(),
            ByteOrder::Little => value.to_le_bytes(),
        }
    }

    /// Appends numbers of so many bytes each.
    pub(super) fn numbers(&self, bytes: &[u8], width: usize, out: &mut Vec<u8>) {
        if !self.swaps() {
            return out.extend_from_slice(bytes);
        }
        for number in bytes.chunks(width.max(1)) {
            out.extend(number.iter().rev());
        }
    }

    /// Appends text, however long it becomes.
    pub(super) fn text(&self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
        match &self.text {
            None => out.extend_from_slice(bytes),
            Some(converter) => {
                converter.convert(bytes, out).map_err(|_| Reason::DBCS_ERROR)?;
            }
        }
        Ok(())
    }

    /// Appends text that must stay as long as it is: padded with blanks, or without the blanks at its end and what
    /// follows its first zero if it grew.
    pub(super) fn fixed_text(&self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
        let (start, end) = (out.len(), out.len() + bytes.len());
        self.text(bytes, out)?;
        if out.len() > end {
            out.truncate(start);
            self.text(self.significant(bytes), out)?;
        }
        if out.len() > end {
            return Err(Reason::CONVERTED_STRING_TOO_BIG);
        }
        self.pad(end, out);
        Ok(())
    }

    /// Appends blanks up to this length; zeros for what is too short for one.
    pub(super) fn pad(&self, end: usize, out: &mut Vec<u8>) {
        while out.len() + self.blank.len() <= end {
            out.extend_from_slice(&self.blank);
        }
        out.resize(end.max(out.len()), 0);
    }

    /// What counts of a string: up to the first zero, without blanks at the end. Only strings that grow are asked, and
    /// only those of single bytes and of UTF-8 do.
    fn significant<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        let blank = if self.from.ccsid.is_ebcdic() { 0x40 } else { b' ' };
        let bytes = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        let end = bytes.iter().rposition(|byte| *byte != blank).map_or(0, |last| last + 1);
        &bytes[..end]
    }
}

/// Whether both encodings exist. A part of an encoding that is the same on both sides is not looked at. `numbers` needs
/// integers to be defined. (MQENC_*: mq-objects.md 1.13.)
fn check_encodings(from: Encoding, to: Encoding, numbers: bool) -> Result<(), Reason> {
    const INTEGER: i32 = !0xFF0;
    let part = |mask: i32| (from.0 & mask, to.0 & mask);
    let (source, target) = part(INTEGER);
    if source != target || numbers {
        let known = |integer| matches!(integer, 1 | 2) || (integer == 0 && !numbers);
        ensure(known(source), Reason::SOURCE_INTEGER_ENC_ERROR)?;
        ensure(known(target), Reason::TARGET_INTEGER_ENC_ERROR)?;
    }
    let (source, target) = part(0xF0);
    if source != target {
        ensure(source <= 0x20, Reason::SOURCE_DECIMAL_ENC_ERROR)?;
        ensure(target <= 0x20, Reason::TARGET_DECIMAL_ENC_ERROR)?;
    }
    let (source, target) = part(0xF00);
    if source != target {
        ensure(source <= 0x400, Reason::SOURCE_FLOAT_ENC_ERROR)?;
        ensure(target <= 0x400, Reason::TARGET_FLOAT_ENC_ERROR)?;
    }
    Ok(())
}

/// The reason unless it is so.
pub(super) fn ensure(so: bool, reason: Reason) -> Result<(), Reason> {
    if so { Ok(()) } else { Err(reason) }
}
