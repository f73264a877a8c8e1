//! The properties of a message: what they are, how long they are, and the message without them.

use bytes::{Bytes, BytesMut};

use super::folder::Head;
use super::{Folder, Mqrfh2, Property, PropertyValue};
use crate::{Ccsid, Coding, Described, Encoding, FormatName, Reader, Reason, Writer};

/// Properties in the order in which they stand in the message.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Properties {
    list: Vec<Property>,
}

impl Properties {
    /// The value of a property by its full name; `usr.` before it may be there or not.
    pub fn get(&self, name: &str) -> Option<&PropertyValue> {
        let (folder, rest) = split(name);
        self.list
            .iter()
            .find(|property| {
                (property.folder == folder && property.name == rest) || property.full_name() == name
            })
            .map(|property| &property.value)
    }

    /// Adds a property, or gives the one of this full name another value.
    pub fn set(&mut self, name: &str, value: PropertyValue) -> Result<(), PropertyNameError> {
        check_property_name(name)?;
        let (folder, name) = split(name);
        match self.list.iter_mut().find(|property| property.folder == folder && property.name == name) {
            Some(property) => property.value = value,
            None => self.list.push(Property { folder: folder.to_owned(), name: name.to_owned(), value }),
        }
        Ok(())
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = &Property> {
        self.list.iter()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The text of a folder for each folder that has one, in the order of their first properties.
    fn folders(&self) -> Vec<String> {
        let mut names: Vec<&str> = Vec::new();
        for property in &self.list {
            if !names.contains(&property.folder.as_str()) {
                names.push(&property.folder);
            }
        }
        names.into_iter().map(|name| Folder::write(name, &self.list)).collect()
    }
}

/// Folder and name within it. A name without a dot is in `usr`.
fn split(name: &str) -> (&str, &str) {
    name.split_once('.').unwrap_or(("usr", name))
}

/// A name that a property cannot have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PropertyNameError {
    /// Nothing, or nothing between two dots or at an end.
    #[error("a part of the name is empty")]
    Empty,
    /// More than MQ_MAX_PROPERTY_NAME_LENGTH (4095).
    #[error("the name is longer than {max}")]
    TooLong {
        /// The most.
        max: usize,
    },
    /// A character that names do not have.
    #[error("the name has the character {found:?}")]
    Character {
        /// The first of them.
        found: char,
    },
    /// A word of selectors.
    #[error("the name is a word of selectors")]
    Keyword,
    /// Names of JMS and of the queue manager.
    #[error("the name is reserved")]
    Reserved,
}

/// Whether an application may give a property this name: parts of letters, digits, `_` and `$` that do not start with a
/// digit, with dots between; no word of selectors, and none that is reserved (`JMS...`, `usr.JMS...`, and `mq...` in any
/// case). (The IBM MQ reference, "Property names" and "Property name restrictions".)
pub fn check_property_name(name: &str) -> Result<(), PropertyNameError> {
    const MAX: usize = 4095;
    const KEYWORDS: [&str; 11] =
        ["NULL", "TRUE", "FALSE", "NOT", "AND", "OR", "BETWEEN", "LIKE", "IN", "IS", "ESCAPE"];
    if name.len() > MAX {
        return Err(PropertyNameError::TooLong { max: MAX });
    }
    for part in name.split('.') {
        let first = part.chars().next().ok_or(PropertyNameError::Empty)?;
        let wrong = |character: &char| !character.is_alphanumeric() && !matches!(character, '_' | '$');
        if let Some(found) =
            Some(first).filter(|first| first.is_numeric()).or_else(|| part.chars().find(wrong))
        {
            return Err(PropertyNameError::Character { found });
        }
    }
    if KEYWORDS.iter().any(|keyword| keyword.eq_ignore_ascii_case(name)) {
        return Err(PropertyNameError::Keyword);
    }
    let is_of_mq = name.get(..2).is_some_and(|start| start.eq_ignore_ascii_case("mq"));
    if is_of_mq || name.strip_prefix("usr.").unwrap_or(name).starts_with("JMS") {
        return Err(PropertyNameError::Reserved);
    }
    Ok(())
}

/// How many bytes at the front of the data are MQRFH2 with nothing but properties in them.
pub fn properties_length(of: Described, data: &[u8]) -> usize {
    behind_properties(of, data).1
}

/// What follows the MQRFH2 with nothing but properties at the front of the data, and where.
pub fn behind_properties(of: Described, data: &[u8]) -> (Described, usize) {
    let Chain { links, next, .. } = chain(of, data);
    let whole = links.iter().take_while(|link| link.is_properties());
    let (count, length) = whole.fold((0, 0), |(count, length), link| (count + 1, length + link.length));
    (links.get(count).map_or(next, |link| link.described), length)
}

/// The properties in the MQRFH2 at the front of the data.
pub fn properties_of(of: Described, data: &[u8]) -> Properties {
    let links = chain(of, data).links;
    let texts = links.iter().flat_map(|link| link.header.folders.iter().zip(&link.folders));
    let texts = texts.filter(|(_, folder)| folder.is_some()).map(|(text, _)| text);
    Properties { list: texts.flat_map(|text| Folder::parse(text).ok()).flat_map(|f| f.properties).collect() }
}

/// Whether one of the properties is in a folder that an application of older versions may expect in an MQRFH2: `mcd`,
/// `jms`, `usr` or `mqext`.
pub(super) fn has_compatible(of: Described, data: &[u8]) -> bool {
    let mut folders = chain(of, data).links.into_iter().flat_map(|link| link.folders);
    folders.any(|folder| folder.is_some_and(|folder| folder.is_compatible))
}

/// The message without its properties: an MQRFH2 that holds nothing else is gone, others keep the folders that are none.
/// Without properties it is the same bytes.
pub fn without_properties(of: Described, data: &Bytes) -> (Described, Bytes) {
    let Chain { links, next, length } = chain(of, data);
    if links.iter().all(|link| link.folders.iter().all(Option::is_none)) {
        return (of, data.clone());
    }
    let mut kept: Vec<_> = links.into_iter().filter(|link| !link.is_properties()).collect();
    let Some(first) = kept.first().map(|link| link.described) else {
        return (next, data.slice(length..));
    };
    // Each describes the one that follows it now.
    let mut following: Vec<_> = kept.iter().skip(1).map(|link| link.described).collect();
    following.push(next);
    let mut out = BytesMut::with_capacity(data.len());
    for (link, following) in kept.iter_mut().zip(following) {
        let mut folders = link.folders.iter();
        link.header.folders.retain(|_| folders.next().is_none_or(Option::is_none));
        describe(&mut link.header, following, link.described.ccsid);
        let coding = Coding::of(link.described.encoding, link.described.ccsid);
        link.header.encode(&mut Writer::as_read(&mut out, coding));
    }
    out.extend_from_slice(&data[length..]);
    (first, out.freeze())
}

/// The message with an MQRFH2 of these properties in front; as it is if there are none. The header is in native encoding,
/// and in the character set of the data if that can be one of headers.
pub fn rfh2_of(properties: &Properties, of: Described, data: &Bytes) -> (Described, Bytes) {
    if properties.is_empty() {
        return (of, data.clone());
    }
    let ccsid = if of.ccsid.is_known() && !of.ccsid.is_utf_16() { of.ccsid } else { Ccsid::UTF_8 };
    let described = Described { format: FormatName::RF_HEADER_2, encoding: Encoding::NATIVE, ccsid };
    let mut header = Mqrfh2 { folders: properties.folders(), ..Mqrfh2::default() };
    describe(&mut header, of, ccsid);
    header.ccsid = of.ccsid;
    let mut out = BytesMut::with_capacity(Mqrfh2::LEAST + data.len());
    header.encode(&mut Writer::new(&mut out, Coding::of(described.encoding, ccsid)));
    out.extend_from_slice(data);
    (described, out.freeze())
}

/// Says what follows a header in this character set. What was inherited and still can be is.
fn describe(header: &mut Mqrfh2, following: Described, ccsid: Ccsid) {
    (header.format, header.encoding) = (following.format, following.encoding);
    if header.ccsid.0 != following.ccsid.0 && !(header.ccsid == Ccsid::INHERIT && following.ccsid == ccsid) {
        header.ccsid = following.ccsid;
    }
}

/// MQRFH2 one behind the other that are looked at; further ones are data.
const HEADERS_MAX: usize = 256;

/// The MQRFH2 at the front of a message.
struct Chain {
    links: Vec<Link>,
    /// What follows them, and where.
    next: Described,
    length: usize,
}

struct Link {
    /// How it is described.
    described: Described,
    header: Mqrfh2,
    length: usize,
    /// For each of its folders, whether and which properties it holds.
    folders: Vec<Option<Holds>>,
}

/// A folder that holds properties.
#[derive(Clone, Copy)]
struct Holds {
    /// Whether it has one that [`has_compatible`] looks for.
    is_compatible: bool,
}

impl Holds {
    fn of(text: &str) -> Option<Self> {
        let head = Head::parse(text).ok().filter(|head| head.is_properties)?;
        Some(Self { is_compatible: head.has_any && matches!(head.name, "mcd" | "jms" | "usr" | "mqext") })
    }
}

impl Link {
    fn is_properties(&self) -> bool {
        !self.folders.is_empty() && self.folders.iter().all(Option::is_some)
    }
}

/// Whether the folders of properties can be read: what MQPUT refuses (2421).
pub fn check_folders(of: Described, data: &[u8]) -> Result<(), Reason> {
    const FOLDERS: [&str; 4] = ["mcd", "jms", "usr", "mqext"];
    let links = chain(of, data).links;
    let mut texts = links.iter().flat_map(|link| &link.header.folders);
    let is_bad = |text: &String| {
        let name = text.trim_start().strip_prefix('<').unwrap_or_default();
        let name = name.split(|c: char| c == '>' || c == '/' || c.is_whitespace()).next();
        name.is_some_and(|name| FOLDERS.contains(&name)) && Folder::parse(text).is_err()
    };
    if texts.any(is_bad) { Err(Reason::RFH_FORMAT_ERROR) } else { Ok(()) }
}

/// Reads headers as long as there are any. What cannot be read is data.
fn chain(of: Described, data: &[u8]) -> Chain {
    let mut chain = Chain { links: Vec::new(), next: of, length: 0 };
    while chain.next.format == FormatName::RF_HEADER_2 && chain.links.len() < HEADERS_MAX {
        let described = chain.next;
        let coding = Coding::of(described.encoding, described.ccsid);
        let mut reader = Reader::new(&data[chain.length..], coding);
        let Ok(header) = Mqrfh2::decode(&mut reader) else { break };
        let length = reader.position();
        let folders = header.folders.iter().map(|text| Holds::of(text)).collect();
        let inherits = matches!(header.ccsid, Ccsid::INHERIT | Ccsid::Q_MGR);
        chain.next = Described {
            format: header.format,
            encoding: header.encoding,
            ccsid: if inherits { described.ccsid } else { header.ccsid },
        };
        chain.length += length;
        chain.links.push(Link { described, header, length, folders });
    }
    chain
}

#[cfg(test)]
mod tests;
