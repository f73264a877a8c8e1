//! A folder: one element of XML with elements in it, of which those without further ones are properties.
//!
//! What is read is the part of XML that folders use: elements, attributes, character and entity references. Declarations,
//! comments and CDATA are refused, as they never stand there.

use super::PropertyValue;

/// Folders whose elements are properties, whatever they say (the IBM MQ reference, "Property names"). Those of
/// publish/subscribe commands (`psc`, `pscr`) are none.
const KNOWN: &[&str] =
    &["mcd", "jms", "usr", "mqext", "mq", "mq_usr", "mqema", "mqps", "mqtt", "sib", "sib_usr", "sib_context"];

/// Elements in each other. Names of properties have far fewer parts.
const DEPTH_MAX: usize = 64;

/// MQ_MAX_PROPERTY_NAME_LENGTH.
const NAME_BYTES_MAX: usize = 4095;

/// Bytes of all names of a folder together for a byte of its text. The names of groups stand in the text once, and in
/// those of all their members: without a bound a small message could take much memory.
const NAMES_PER_TEXT_MAX: usize = 8;

/// A folder that has been read.
#[derive(Debug, Clone, PartialEq)]
pub struct Folder {
    /// Its name.
    pub name: String,
    /// Whether its elements are properties: known for it, or with the attribute `content='properties'`.
    pub is_properties: bool,
    /// Its elements with a value, in order. Their folder is this one.
    pub properties: Vec<Property>,
}

/// A property.
#[derive(Debug, Clone, PartialEq)]
pub struct Property {
    /// The folder that it is in.
    pub folder: String,
    /// Its name there: the names of the elements around it and its own, with dots between.
    pub name: String,
    /// Its value.
    pub value: PropertyValue,
}

impl Property {
    /// Its name as an application knows it: with the folder before it, unless that is `usr`.
    pub fn full_name(&self) -> String {
        if self.folder == "usr" { self.name.clone() } else { format!("{}.{}", self.folder, self.name) }
    }
}

/// Text that is no folder.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no folder: {problem} at offset {offset}")]
pub struct FolderError {
    /// Where in the text.
    pub offset: usize,
    /// What is wrong.
    pub problem: &'static str,
}

impl Folder {
    /// Reads the text of a folder. Blanks and zeros around it are padding.
    pub fn parse(text: &str) -> Result<Self, FolderError> {
        let mut properties = Vec::new();
        let head = walk(text, &mut |open, value| {
            let names: Vec<_> = open.iter().map(|element| element.name).collect();
            let (folder, path) = names.split_first().map_or(("", &[][..]), |(folder, path)| (*folder, path));
            properties.push(Property { folder: folder.to_owned(), name: path.join("."), value });
        })?;
        Ok(Self { name: head.name.to_owned(), is_properties: head.is_properties, properties })
    }

    /// The text of a folder with these properties, which are those of it among these.
    pub(super) fn write(name: &str, properties: &[Property]) -> String {
        let mut text = format!("<{name}");
        let of_it = || properties.iter().filter(|property| property.folder == name);
        if of_it().any(|property| property.value == PropertyValue::Null) {
            text += " xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance'";
        }
        if !KNOWN.contains(&name) {
            text += " content='properties'";
        }
        text.push('>');
        for property in of_it() {
            let parts: Vec<_> = property.name.split('.').collect();
            let Some((last, groups)) = parts.split_last() else { continue };
            groups.iter().for_each(|group| text += &format!("<{group}>"));
            text += &format!("<{last}{}>", property.value.attribute());
            escape(&property.value.text(), &mut text);
            text += &format!("</{last}>");
            groups.iter().rev().for_each(|group| text += &format!("</{group}>"));
        }
        text + &format!("</{name}>")
    }
}

/// What can be said of a folder without keeping what is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head<'a> {
    pub(super) name: &'a str,
    pub(super) is_properties: bool,
    /// Whether it has a property.
    pub(super) has_any: bool,
}

impl<'a> Head<'a> {
    /// Reads the text of a folder, all of it.
    pub(super) fn parse(text: &'a str) -> Result<Self, FolderError> {
        walk(text, &mut |_, _| ())
    }
}

/// Reads the text of a folder and calls `each` with the elements around each value, that of the folder first.
fn walk<'a>(
    text: &'a str,
    each: &mut dyn FnMut(&[Element<'a>], PropertyValue),
) -> Result<Head<'a>, FolderError> {
    let mut scanner = Scanner { text, at: 0 };
    scanner.blanks();
    let root = scanner.open_tag()?;
    let is_properties = root.content == "properties" || KNOWN.contains(&root.name);
    let mut head = Head { name: root.name, is_properties, has_any: false };
    let (mut open, mut names_left) = (vec![root], NAMES_PER_TEXT_MAX * text.len());
    while let Some(element) = open.last_mut() {
        let mut ends = element.is_empty;
        if !ends {
            scanner.characters(&mut element.text)?;
            if scanner.take("</") {
                if scanner.name()? != element.name {
                    return scanner.error("the name of another element at its end");
                }
                scanner.blanks();
                scanner.expect(">", "an end without >")?;
                ends = true;
            }
        }
        if ends {
            if let Some(value) = value_of(&open, &mut names_left).or_else(|problem| scanner.error(problem))? {
                head.has_any = true;
                each(&open, value);
            }
            open.pop();
            continue;
        }
        element.has_elements = true;
        if open.len() == DEPTH_MAX {
            return scanner.error("elements too deep in each other");
        }
        open.push(scanner.open_tag()?);
    }
    scanner.blanks();
    if scanner.at == text.len() { Ok(head) } else { scanner.error("something after its end") }
}

/// The value of the innermost of these elements, if it has one: the folder itself and groups have none.
fn value_of(open: &[Element<'_>], names_left: &mut usize) -> Result<Option<PropertyValue>, &'static str> {
    let Some((element, around)) = open.split_last() else { return Ok(None) };
    if element.has_elements && !element.text.trim().is_empty() {
        return Err("text beside elements");
    }
    if element.has_elements || around.is_empty() {
        return Ok(None);
    }
    let name_bytes = open.iter().skip(1).map(|element| element.name.len() + 1).sum::<usize>() - 1;
    *names_left = names_left
        .checked_sub(name_bytes)
        .filter(|_| name_bytes <= NAME_BYTES_MAX)
        .ok_or("names too long")?;
    let value = match element.nil {
        true => Some(PropertyValue::Null),
        false => PropertyValue::parse(element.dt, element.text.clone()),
    };
    value.map(Some).ok_or("a value that is not of its type")
}

fn escape(text: &str, out: &mut String) {
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            _ => out.push(character),
        }
    }
}

/// An element that has been opened.
#[derive(Default)]
struct Element<'a> {
    name: &'a str,
    dt: &'a str,
    content: &'a str,
    nil: bool,
    /// Whether it ends with its start.
    is_empty: bool,
    has_elements: bool,
    text: String,
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn error<T>(&self, problem: &'static str) -> Result<T, FolderError> {
        Err(FolderError { offset: self.at, problem })
    }

    fn take(&mut self, token: &str) -> bool {
        let there = self.rest().starts_with(token);
        self.at += if there { token.len() } else { 0 };
        there
    }

    fn expect(&mut self, token: &str, problem: &'static str) -> Result<(), FolderError> {
        if self.take(token) { Ok(()) } else { self.error(problem) }
    }

    /// The text up to the first character that is one of these.
    fn until(&mut self, end: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let length = rest.find(end).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    fn blanks(&mut self) {
        self.until(|character| !character.is_ascii_whitespace() && character != '\0');
    }

    fn name(&mut self) -> Result<&'a str, FolderError> {
        let name = self.until(|c| c.is_whitespace() || c.is_control() || "<>/='\"&!?.;,()[]{}".contains(c));
        let starts_well = name.chars().next().is_some_and(|c| !c.is_ascii_digit() && c != '-');
        if starts_well { Ok(name) } else { self.error("no name") }
    }

    fn open_tag(&mut self) -> Result<Element<'a>, FolderError> {
        self.expect("<", "no element")?;
        let mut element = Element { name: self.name()?, ..Element::default() };
        loop {
            self.blanks();
            if self.take("/>") {
                element.is_empty = true;
                return Ok(element);
            }
            if self.take(">") {
                return Ok(element);
            }
            let attribute = self.name()?;
            self.blanks();
            self.expect("=", "an attribute without value")?;
            self.blanks();
            let Some(quote @ ('\'' | '"')) = self.rest().chars().next() else {
                return self.error("an attribute without quotes");
            };
            self.at += 1;
            let value = self.until(|character| character == quote || character == '<');
            self.expect(quote.encode_utf8(&mut [0; 4]), "an attribute without end")?;
            match attribute {
                "dt" => element.dt = value,
                "content" => element.content = value,
                "xsi:nil" => element.nil = matches!(value, "true" | "1"),
                _ => {}
            }
        }
    }

    /// The characters up to the next tag.
    fn characters(&mut self, out: &mut String) -> Result<(), FolderError> {
        loop {
            out.push_str(self.until(|character| character == '<' || character == '&'));
            if self.rest().is_empty() {
                return self.error("no end");
            }
            if !self.take("&") {
                return Ok(());
            }
            let reference = self.until(|character| character == ';' || character == '<');
            self.expect(";", "a reference without end")?;
            match reference_to(reference) {
                Some(character) => out.push(character),
                None => return self.error("a reference to nothing"),
            }
        }
    }
}

fn reference_to(reference: &str) -> Option<char> {
    match reference {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = reference.strip_prefix('#')?;
            let code = match number.strip_prefix('x') {
                Some(digits) => u32::from_str_radix(digits, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, name: &str, is_properties: bool, expected: &[(&str, PropertyValue)]) {
        let folder = Folder::parse(text).unwrap();
        assert_eq!((folder.name.as_str(), folder.is_properties), (name, is_properties), "{text}");
        let found: Vec<_> = folder.properties.iter().map(|p| (p.name.as_str(), p.value.clone())).collect();
        assert_eq!(found, expected, "{text}");
    }

    fn string(text: &str) -> PropertyValue {
        PropertyValue::String(text.to_owned())
    }

    #[test]
    fn folders_as_clients_write_them() {
        check("<mcd><Msd>jms_text</Msd></mcd>  ", "mcd", true, &[("Msd", string("jms_text"))]);
        check(
            "<jms><Dst>queue:///Q1</Dst><Tms>1700000000000</Tms><Dlv>2</Dlv></jms> ",
            "jms",
            true,
            &[("Dst", string("queue:///Q1")), ("Tms", string("1700000000000")), ("Dlv", string("2"))],
        );
        check(
            "<usr><count dt='i4'>5</count><ok dt=\"boolean\">1</ok><none xsi:nil='true'></none></usr>\0",
            "usr",
            true,
            &[
                ("count", PropertyValue::Int32(5)),
                ("ok", PropertyValue::Boolean(true)),
                ("none", PropertyValue::Null),
            ],
        );
        check("<psc><Command>RegPub</Command></psc>", "psc", false, &[("Command", string("RegPub"))]);
        check(
            "<app content='properties'>\n <a>\n  <b>x</b> <c/>\n </a>\n</app>",
            "app",
            true,
            &[("a.b", string("x")), ("a.c", string(""))],
        );
        check("<usr/>", "usr", true, &[]);
        check("<usr>text</usr>", "usr", true, &[]);
        check(
            "<usr ><a  dt = 'string' >&lt;&amp;&gt;&quot;&apos;&#65;&#x20AC; \u{e4}</a ></usr >",
            "usr",
            true,
            &[("a", string("<&>\"'A€ ä"))],
        );
    }

    #[test]
    fn what_is_no_folder_says_where() {
        for (text, offset) in [
            ("", 0),
            ("text", 0),
            ("<", 1),
            ("<usr", 4),
            ("<usr>", 5),
            ("<usr><a>1</a>", 13),
            ("<usr></mcd>", 10),
            ("<usr/><usr/>", 6),
            ("<usr><a b></a></usr>", 9),
            ("<usr><a b=1></a></usr>", 10),
            ("<usr><a b='1></a></usr>", 13),
            ("<usr>&no;</usr>", 9),
            ("<usr>&#xD800;</usr>", 13),
            ("<usr>&amp</usr>", 9),
            ("<usr><a dt='i4'>x</a></usr>", 21),
            ("<usr>text<a/></usr>", 19),
            ("<!-- --><usr/>", 1),
            ("<1/>", 2),
        ] {
            assert_eq!(Folder::parse(text).map_err(|error| error.offset), Err(offset), "{text}");
        }
        let deep = "<a>".repeat(100_000);
        assert_eq!(Folder::parse(&deep).unwrap_err().offset, 3 * DEPTH_MAX);
    }

    #[test]
    fn names_take_no_more_memory_than_the_text_warrants() {
        let problem = |text: String| Folder::parse(&text).map_err(|error| error.problem);
        let group = |name: usize, members: usize| {
            let (name, members) = ("g".repeat(name), "<a/>".repeat(members));
            format!("<usr><{name}>{members}</{name}></usr>")
        };
        assert_eq!(problem(group(5_000, 1)), Err("names too long"));
        assert_eq!(problem(group(1_000, 1_000)), Err("names too long"));
        assert_eq!(problem(group(20, 1_000)).map(|folder| folder.properties.len()), Ok(1_000));
    }
}
