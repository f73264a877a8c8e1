//! Commands, their answers and events (PCF): one header and its parameters, with groups in each other
//! (mq-objects.md 11.5; the IBM MQ reference, "Structures for commands and responses").
//!
//! Strings grow and shrink as they need. A string's own CodedCharSetId counts where it is not zero, and is then that of
//! the target; zero stays, and means that of the message.

use super::between::{Between, ensure};
use super::variable::{finish, size};
use crate::{Ccsid, Reason};

/// Length of MQCFH.
const CFH: usize = 36;
/// Offset of ParameterCount in it.
const PARAMETER_COUNT: usize = 32;

/// A whole message of this kind.
pub(super) fn message(bytes: &[u8], strings: &Strings<'_>, out: &mut Vec<u8>) -> Result<(), Reason> {
    let between = strings.between;
    let header = bytes.get(..CFH).ok_or(Reason::PCF_ERROR)?;
    ensure(between.integer(bytes, 4) == Some(size(CFH)), Reason::PCF_ERROR)?;
    between.numbers(header, 4, out);
    let count = between.count(bytes, PARAMETER_COUNT).ok_or(Reason::PCF_ERROR)?;
    parameters(&bytes[CFH..], count, strings, out)
}

/// What follows the fixed part of MQEPH, which holds an MQCFH. `bytes` is all of MQEPH, `out` its converted part.
pub(super) fn embedded(
    bytes: &[u8],
    between: &Between,
    out: &mut Vec<u8>,
    start: usize,
) -> Result<(), Reason> {
    /// Offset of the MQCFH.
    const HEADER: usize = 32;
    /// MQEPH_CCSID_EMBEDDED: each string says its own.
    const CCSID_EMBEDDED: i32 = 1;
    let is_embedded = between.integer(bytes, 28).is_some_and(|flags| flags & CCSID_EMBEDDED != 0);
    let strings = Strings { between, default: (!is_embedded).then_some(between) };
    ensure(between.integer(bytes, HEADER + 4) == Some(size(CFH)), Reason::PCF_ERROR)?;
    let count = between.count(bytes, HEADER + PARAMETER_COUNT).ok_or(Reason::PCF_ERROR)?;
    parameters(&bytes[HEADER + CFH..], count, &strings, out)?;
    finish(between, out, start)
}

/// How the strings of a message go.
#[derive(Debug)]
pub(super) struct Strings<'a> {
    /// The way of everything else.
    pub(super) between: &'a Between,
    /// The way of strings that do not say a character set; none if all have to.
    pub(super) default: Option<&'a Between>,
}

/// So many parameters, which must be all there is. A group says how many more belong to it.
fn parameters(bytes: &[u8], count: usize, strings: &Strings<'_>, out: &mut Vec<u8>) -> Result<(), Reason> {
    let between = strings.between;
    let (mut rest, mut left, mut own) = (bytes, count, None);
    while left > 0 {
        let length = between.count(rest, 4).ok_or(Reason::PCF_ERROR)?;
        let (parameter, more) = rest.split_at_checked(length).ok_or(Reason::PCF_ERROR)?;
        let kind = Kind::of(between.integer(rest, 0).unwrap_or_default()).ok_or(Reason::PCF_ERROR)?;
        ensure(length >= kind.fixed, Reason::PCF_ERROR)?;
        let start = out.len();
        between.numbers(&parameter[..kind.integers], 4, out);
        match kind.rest {
            Rest::Nothing => ensure(length == kind.fixed, Reason::PCF_ERROR)?,
            Rest::Group => {
                ensure(length == kind.fixed, Reason::PCF_ERROR)?;
                let members = between.count(parameter, 12).ok_or(Reason::PCF_ERROR)?;
                left = left.checked_add(members).ok_or(Reason::PCF_ERROR)?;
            }
            Rest::Number(width) => {
                ensure(length == kind.fixed, Reason::PCF_ERROR)?;
                between.numbers(&parameter[kind.integers..], width, out);
            }
            Rest::List(width) => {
                let members = between.count(parameter, 12).and_then(|count| count.checked_mul(width));
                ensure(members == Some(length - kind.fixed), Reason::PCF_ERROR)?;
                between.numbers(&parameter[kind.fixed..], width, out);
            }
            Rest::Bytes => {
                inside(between.count(parameter, kind.fixed - 4), length - kind.fixed)?;
                out.extend_from_slice(&parameter[kind.fixed..]);
            }
            Rest::String | Rest::Strings => string(parameter, &kind, strings, &mut own, out, start)?,
        }
        (rest, left) = (more, left - 1);
    }
    ensure(rest.is_empty(), Reason::PCF_ERROR)
}

/// The strings of a parameter of which the integers are written already: CodedCharSetId, for a list the count, and the
/// length of each stand at the end of those. `own` is the way of the last one that named a set of its own.
fn string(
    parameter: &[u8],
    kind: &Kind,
    strings: &Strings<'_>,
    own: &mut Option<Between>,
    out: &mut Vec<u8>,
    start: usize,
) -> Result<(), Reason> {
    let between = strings.between;
    let is_list = matches!(kind.rest, Rest::Strings);
    let ccsid_at = kind.fixed - if is_list { 12 } else { 8 };
    let length_at = kind.fixed - 4;
    let count = if is_list { between.count(parameter, kind.fixed - 8) } else { Some(1) };
    let count = count.ok_or(Reason::PCF_ERROR)?;
    let length = between.count(parameter, length_at).ok_or(Reason::PCF_ERROR)?;
    let text_length = inside(count.checked_mul(length), parameter.len() - kind.fixed)?;
    let text = &parameter[kind.fixed..kind.fixed + text_length];

    let ccsid = Ccsid(between.integer(parameter, ccsid_at).unwrap_or_default());
    let way = match (ccsid, strings.default) {
        (Ccsid::Q_MGR, Some(default)) => default,
        (Ccsid::Q_MGR, None) if text.is_empty() => between,
        (Ccsid::Q_MGR, None) => return Err(Reason::SOURCE_CCSID_ERROR),
        (ccsid, _) => {
            between.put_at(between.to.ccsid.0, out, start + ccsid_at);
            match own.take_if(|own| own.from.ccsid == ccsid) {
                Some(known) => own.insert(known),
                None => own.insert(between.with_source(ccsid)?),
            }
        }
    };
    if way.keeps_text() {
        out.extend_from_slice(&parameter[kind.fixed..]);
        return Ok(());
    }
    let mut converted = Vec::new();
    let mut ends = Vec::new();
    for text in text.chunks(length.max(1)) {
        way.text(text, &mut converted)?;
        ends.push(converted.len());
    }
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let longest = starts.zip(&ends).map(|(from, to)| to - from).max().unwrap_or_default();
    let mut from = 0;
    for to in ends {
        let end = out.len() + longest;
        out.extend_from_slice(&converted[from..to]);
        way.pad(end, out);
        from = to;
    }
    out.resize(start + (out.len() - start).next_multiple_of(4), 0);
    between.put_at(size(longest), out, start + length_at);
    between.put_at(size(out.len() - start), out, start + 4);
    Ok(())
}

/// The length of what lies in so many bytes.
fn inside(length: Option<usize>, bytes: usize) -> Result<usize, Reason> {
    length.filter(|length| *length <= bytes).ok_or(Reason::PCF_ERROR)
}

/// A kind of parameter (MQCFT_*).
struct Kind {
    /// Length of what every one has.
    fixed: usize,
    /// Bytes at its start that are integers.
    integers: usize,
    rest: Rest,
}

/// What follows the integers.
#[derive(Clone, Copy)]
enum Rest {
    Nothing,
    /// A number of so many bytes.
    Number(usize),
    /// As many numbers of so many bytes as the integer at 12 says.
    List(usize),
    /// Bytes, with their length before them.
    Bytes,
    /// Text, with character set and length before it.
    String,
    /// Texts of one length, with character set, count and length before them.
    Strings,
    /// As many parameters as the integer at 12 says.
    Group,
}

impl Kind {
    fn of(value: i32) -> Option<Self> {
        let (fixed, integers, rest) = match value {
            // MQCFIN, MQCFST, MQCFIL, MQCFSL.
            3 => (16, 16, Rest::Nothing),
            4 => (20, 20, Rest::String),
            5 => (16, 16, Rest::List(4)),
            6 => (24, 24, Rest::Strings),
            // MQCFBS; MQCFIF, MQCFSF, MQCFBF, the filters.
            9 => (16, 16, Rest::Bytes),
            13 => (20, 20, Rest::Nothing),
            14 => (24, 24, Rest::String),
            15 => (20, 20, Rest::Bytes),
            // MQCFGR; MQCFIN64 and MQCFIL64.
            20 => (16, 16, Rest::Group),
            23 => (24, 16, Rest::Number(8)),
            25 => (16, 16, Rest::List(8)),
            _ => return None,
        };
        Some(Self { fixed, integers, rest })
    }
}
