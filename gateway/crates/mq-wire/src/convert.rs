//! MQGMO_CONVERT: a whole message as the getter wants it (the IBM MQ reference, MQGET, "Data conversion"; mq-wire.md 6).
//!
//! A message is a chain of headers, each of which describes what follows it, and then data. Each part goes to the wanted
//! form from its own; what cannot be converted stays as it is with all that follows it, and the header in front of it (or
//! the message descriptor) describes it as it was. Message properties are no concern of this: take them out first
//! (`deliver`), as a queue manager does.
//!
//! Left to the caller: cutting what does not fit the buffer, and the completion code (a reason here is a warning).

mod between;
mod ims;
mod layout;
mod pcf;
mod trigger;
mod variable;

#[cfg(test)]
mod tests;

use bytes::Bytes;

use self::between::{Between, Form, ensure};
use self::layout::{HEADERS, Header, Length, More};
use self::pcf::Strings;
use crate::{ByteOrder, Ccsid, EbcdicNewline, Encoding, FormatName, Mqmd, Mqxqh, Reader, Reason};

/// What a message descriptor or a header says of the data that follows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Described {
    /// What it is.
    pub format: FormatName,
    /// How its numbers are laid out.
    pub encoding: Encoding,
    /// The character set of its text.
    pub ccsid: Ccsid,
}

impl Described {
    /// What this descriptor says.
    pub fn by(md: &Mqmd) -> Self {
        Self { format: md.format, encoding: md.encoding, ccsid: md.ccsid }
    }

    /// Puts it into a descriptor.
    pub fn describe_in(self, md: &mut Mqmd) {
        (md.format, md.encoding, md.ccsid) = (self.format, self.encoding, self.ccsid);
    }
}

/// How a message is wanted.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    /// Encoding of the descriptor that the getter gave.
    pub encoding: Encoding,
    /// Character set of that descriptor; 0 is that of the queue manager.
    pub ccsid: Ccsid,
    /// The queue manager's own.
    pub q_mgr_ccsid: Ccsid,
    /// Bytes that the getter has room for.
    pub buffer_length: usize,
    /// Whether it takes a part of what does not fit (MQGMO_ACCEPT_TRUNCATED_MSG).
    pub accept_truncated: bool,
    /// What becomes of EBCDIC newlines.
    pub newline: EbcdicNewline,
}

/// A message as it is returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Converted {
    /// What the descriptor says of it.
    pub described: Described,
    /// The data; the same bytes if nothing had to be changed.
    pub data: Bytes,
    /// What went wrong, with MQCC_WARNING; MQRC_NONE if nothing did.
    pub warning: Reason,
}

/// The message as it is wanted, as far as it can be.
///
/// - What is in the wanted form already stays as it is, without a copy and without a look at whether it is valid. An empty
///   message does too, and keeps its description.
/// - MQFMT_NONE and formats that no queue manager knows are not converted: 2110.
/// - Headers need a character set of one byte a character (or UTF-8). Where UTF-16 is wanted they go to that of the
///   queue manager, in its encoding, and only the data to UTF-16: 2272.
/// - What would not fit the buffer, and did before, is returned as it was: 2120. With `accept_truncated` it is for the
///   caller to cut.
/// - Characters that the target has not got become its substitution character, without a warning.
/// - A header that is damaged, or data that does not follow its format: 2110, from there on all stays as it is.
pub fn convert_message(of: Described, data: &Bytes, wanted: &Wanted) -> Converted {
    let converted = walk(of, data, wanted);
    let warning = if is_damage(converted.warning) { Reason::FORMAT_ERROR } else { converted.warning };
    Converted { warning, ..converted }
}

/// Reasons that say which structure is damaged.
fn is_damage(reason: Reason) -> bool {
    const COMMANDS: [Reason; 3] = [Reason::PCF_ERROR, Reason::TM_ERROR, Reason::RFH_STRING_ERROR];
    COMMANDS.contains(&reason) || HEADERS.iter().any(|header| header.error == reason)
}

fn walk(of: Described, data: &Bytes, wanted: &Wanted) -> Converted {
    let of = Described { ccsid: own(of.ccsid, wanted), ..of };
    if data.is_empty() {
        return Converted { described: of, data: data.clone(), warning: Reason::NONE };
    }
    let target = Form { encoding: wanted.encoding, ccsid: own(wanted.ccsid, wanted) };
    let mut walk =
        Walk { data, wanted, target, at: 0, out: None, first: of, header: None, undo: None, partial: false };
    let warning = walk.run(of);
    let (described, out, at) = (walk.first, walk.out, walk.at);
    let Some(mut out) = out else {
        return Converted { described, data: data.clone(), warning };
    };
    out.extend_from_slice(&data[at..]);
    let fitted = data.len() <= wanted.buffer_length;
    if fitted && out.len() > wanted.buffer_length && !wanted.accept_truncated {
        return Converted { described: of, data: data.clone(), warning: Reason::CONVERTED_MSG_TOO_BIG };
    }
    Converted { described, data: Bytes::from(out), warning }
}

/// MQCCSI_Q_MGR is that of the queue manager.
fn own(ccsid: Ccsid, wanted: &Wanted) -> Ccsid {
    if ccsid == Ccsid::Q_MGR { wanted.q_mgr_ccsid } else { ccsid }
}

/// A message on its way from part to part.
struct Walk<'a> {
    data: &'a [u8],
    wanted: &'a Wanted,
    target: Form,
    /// How much of the data is done.
    at: usize,
    /// What has become of that; none as long as nothing changed.
    out: Option<Vec<u8>>,
    /// What the descriptor says.
    first: Described,
    /// The header before the part that comes next.
    header: Option<Before>,
    /// The state before headers that cannot describe what follows them.
    undo: Option<Undo>,
    /// Whether headers went to the queue manager's form instead.
    partial: bool,
}

/// The header before a part.
#[derive(Clone, Copy)]
struct Before {
    /// Where in the result its description of the part is.
    next: usize,
    /// Its form in the result.
    form: Form,
    /// The character set that it gives for the part, as it stands there.
    ccsid: Ccsid,
    /// What that means.
    described: Described,
    /// Whether the description is not used.
    passes_form_on: bool,
}

struct Undo {
    described: Described,
    at: usize,
    length: Option<usize>,
    first: Described,
    header: Option<Before>,
}

impl Walk<'_> {
    fn run(&mut self, of: Described) -> Reason {
        let mut described = of;
        loop {
            let rest = &self.data[self.at..];
            if rest.is_empty() {
                return self.done();
            }
            let header = HEADERS.iter().find(|header| header.format == described.format);
            let step = match header {
                Some(header) => self.header(header, described),
                None => self.body(described).map(|()| None),
            };
            match step {
                Ok(Some(next)) => described = next,
                Ok(None) => return self.done(),
                Err(reason) => return self.failed(described, reason),
            }
        }
    }

    fn done(&self) -> Reason {
        if self.partial { Reason::PARTIALLY_CONVERTED } else { Reason::NONE }
    }

    /// The rest stays as it is.
    fn failed(&mut self, described: Described, reason: Reason) -> Reason {
        if let Some(undo) = self.undo.take() {
            (self.at, self.first, self.header) = (undo.at, undo.first, undo.header);
            match (undo.length, &mut self.out) {
                (Some(length), Some(out)) => out.truncate(length),
                _ => self.out = None,
            }
            self.describe(undo.described);
            return reason;
        }
        self.describe(described);
        reason
    }

    /// Converts a header and says what follows it; nothing if that cannot be known.
    fn header(&mut self, header: &'static Header, described: Described) -> Result<Option<Described>, Reason> {
        let from = Form { encoding: described.encoding, ccsid: described.ccsid };
        let to = self.header_target(header)?;
        let rest = &self.data[self.at..];
        let length = match self.measure(header, from) {
            Ok(length) => length,
            // What needs no conversion is nobody's business.
            Err(_) if from == to => return Ok(None),
            Err(reason) => return Err(reason),
        };
        let bytes = &rest[..length];
        let next = next_of(header, bytes, from);
        if header.passes_form_on && self.undo.is_none() {
            self.undo = Some(Undo {
                described,
                at: self.at,
                length: self.out.as_ref().map(Vec::len),
                first: self.first,
                header: self.header,
            });
        }
        let start = self.out.as_ref().map_or(self.at, Vec::len);
        if from != to {
            ensure(!from.ccsid.is_utf_16(), Reason::SOURCE_CCSID_ERROR)?;
            let between = Between::new(from, to, self.wanted.newline, true)?;
            let mut converted = Vec::with_capacity(length);
            convert_header(header, bytes, &between, &mut converted)?;
            self.out().extend_from_slice(&converted);
            self.describe(Described { format: described.format, encoding: to.encoding, ccsid: to.ccsid });
            self.partial |= to != self.target;
        } else if let Some(out) = &mut self.out {
            out.extend_from_slice(bytes);
        }
        self.at += length;
        if !header.passes_form_on {
            self.undo = None;
        }
        let resolved = if header.passes_form_on {
            Described { format: next.format, ..described }
        } else if next.ccsid == Ccsid::INHERIT {
            Described { ccsid: described.ccsid, ..next }
        } else {
            Described { ccsid: own(next.ccsid, self.wanted), ..next }
        };
        self.header = Some(Before {
            next: start + header.next,
            form: to,
            ccsid: next.ccsid,
            described: resolved,
            passes_form_on: header.passes_form_on,
        });
        Ok(Some(resolved))
    }

    /// The form that headers go to.
    fn header_target(&self, header: &Header) -> Result<Form, Reason> {
        if !self.target.ccsid.is_utf_16() {
            return Ok(self.target);
        }
        // What follows such a header has its form, and could not be UTF-16.
        ensure(!header.passes_form_on, Reason::TARGET_CCSID_ERROR)?;
        Ok(Form { encoding: Encoding::NATIVE, ccsid: self.wanted.q_mgr_ccsid })
    }

    /// The length of the header that comes next, if it is one.
    fn measure(&self, header: &Header, from: Form) -> Result<usize, Reason> {
        ensure(!from.ccsid.is_utf_16(), Reason::SOURCE_CCSID_ERROR)?;
        let rest = &self.data[self.at..];
        let mut reader = Reader::new(rest, from.coding());
        let invalid = |_| header.error;
        reader.struc_id("", header.id).map_err(invalid)?;
        let version: i32 = reader.field("", "Version").map_err(invalid)?;
        let known = header.versions.iter().find(|(known, _)| *known == version);
        let (_, fixed) = known.ok_or(header.error)?;
        let length = match header.length {
            Length::Version => *fixed,
            Length::Fixed | Length::Variable(_) => {
                let length: i32 = reader.field("", "StrucLength").map_err(invalid)?;
                usize::try_from(length).map_err(|_| header.error)?
            }
        };
        let is_variable = matches!(header.length, Length::Variable(_));
        let right = length == *fixed || (is_variable && length > *fixed);
        ensure(right && length <= rest.len(), header.error)?;
        if header.id == Mqxqh::ID {
            Mqxqh::decode(&mut Reader::new(rest, from.coding())).map_err(|_| header.error)?;
        }
        Ok(length)
    }

    /// Converts what follows the last header.
    fn body(&mut self, described: Described) -> Result<(), Reason> {
        let from = Form { encoding: described.encoding, ccsid: described.ccsid };
        if from == self.target {
            return Ok(());
        }
        let (to, newline, format) = (self.target, self.wanted.newline, described.format);
        let rest = &self.data[self.at..];
        let mut converted = Vec::new();
        let is_command = [FormatName::ADMIN, FormatName::EVENT, FormatName::PCF].contains(&format);
        if format == FormatName::STRING {
            let numbers = from.ccsid.is_utf_16() || to.ccsid.is_utf_16();
            let between = Between::new(from, to, newline, numbers)?;
            if between.keeps_text() {
                self.describe(Described { format, encoding: to.encoding, ccsid: to.ccsid });
                return Ok(());
            }
            between.text(rest, &mut converted)?;
        } else if is_command && from.ccsid == Ccsid::EMBEDDED {
            let between = Between::embedded(from, to, newline)?;
            pcf::message(rest, &Strings { between: &between, default: None }, &mut converted)?;
        } else if is_command {
            let between = Between::new(from, to, newline, true)?;
            pcf::message(rest, &Strings { between: &between, default: Some(&between) }, &mut converted)?;
        } else if format == FormatName::TRIGGER {
            ensure(!from.ccsid.is_utf_16(), Reason::SOURCE_CCSID_ERROR)?;
            ensure(!to.ccsid.is_utf_16(), Reason::TARGET_CCSID_ERROR)?;
            trigger::message(rest, &Between::new(from, to, newline, true)?, &mut converted)?;
        } else if format == FormatName::IMS_VAR_STRING {
            ims::message(rest, &Between::new(from, to, newline, true)?, &mut converted)?;
        } else {
            return Err(Reason::FORMAT_ERROR);
        }
        self.out().extend_from_slice(&converted);
        self.at = self.data.len();
        self.describe(Described { format, encoding: to.encoding, ccsid: to.ccsid });
        Ok(())
    }

    /// The result so far, from now on in memory of its own.
    fn out(&mut self) -> &mut Vec<u8> {
        self.out.get_or_insert_with(|| self.data[..self.at].to_vec())
    }

    /// Says of the part that comes next, or has just been converted, in which form it is.
    fn describe(&mut self, described: Described) {
        let Some(header) = self.header else {
            self.first = described;
            return;
        };
        // A reserved field stays as it is.
        if header.passes_form_on {
            return;
        }
        let ccsid = match header.ccsid {
            Ccsid::INHERIT if described.ccsid == header.form.ccsid => Ccsid::INHERIT,
            ccsid if ccsid != Ccsid::INHERIT && described.ccsid == header.described.ccsid => ccsid,
            _ => described.ccsid,
        };
        let unchanged = ccsid == header.ccsid && described.encoding == header.described.encoding;
        if unchanged && self.out.is_none() {
            return;
        }
        let between = [described.encoding.0, ccsid.0].map(|value| match header.form.encoding.byte_order() {
            ByteOrder::Big => value.to_be_bytes(),
            ByteOrder::Little => value.to_le_bytes(),
        });
        let out = self.out();
        for (field, bytes) in between.iter().enumerate() {
            let at = header.next + 4 * field;
            if let Some(place) = out.get_mut(at..at + 4) {
                place.copy_from_slice(bytes);
            }
        }
    }
}

/// What a header says of what follows it. It is as long as its version says, so all of that is there.
fn next_of(header: &Header, bytes: &[u8], from: Form) -> Described {
    let mut reader = Reader::new(bytes.get(header.next..).unwrap_or_default(), from.coding());
    Described {
        encoding: reader.field("", "Encoding").unwrap_or(from.encoding),
        ccsid: reader.field("", "CodedCharSetId").unwrap_or(from.ccsid),
        format: reader.field("", "Format").unwrap_or_default(),
    }
}

/// Converts a header that has been measured.
fn convert_header(header: &Header, bytes: &[u8], between: &Between, out: &mut Vec<u8>) -> Result<(), Reason> {
    let start = out.len();
    let fixed = match header.length {
        Length::Variable(_) => header.versions.iter().map(|(_, length)| *length).max().unwrap_or_default(),
        Length::Version | Length::Fixed => bytes.len(),
    };
    layout::convert(&bytes[..fixed], header.fields, between, out)?;
    match header.length {
        Length::Version | Length::Fixed => Ok(()),
        Length::Variable(More::Rfh) => variable::rfh(bytes, between, out, start),
        Length::Variable(More::Rfh2) => variable::rfh2(bytes, between, out),
        Length::Variable(More::Rmh) => variable::rmh(bytes, between, out, start),
        Length::Variable(More::Dh) => variable::dh(bytes, between, out, start),
        Length::Variable(More::Eph) => pcf::embedded(bytes, between, out, start),
    }
}
