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
        let mut scanner = Scanner { text, at: 0 };
        scanner.blanks();
        let root = scanner.open_tag()?;
        let mut folder = Self {
            name: root.name.to_owned(),
            is_properties: root.content == "properties" || KNOWN.contains(&root.name),
            properties: Vec::new(),
        };
        let mut open = vec![root];
        while let Some(element) = open.last_mut() {
            if element.is_empty {
                folder.close(&open, scanner.at)?;
                open.pop();
                continue;
            }
            scanner.characters(&mut element.text)?;
            if scanner.take("</") {
                if scanner.name()? != element.name {
                    return scanner.error("the name of another element at its end");
                }
                scanner.blanks();
                scanner.expect(">", "an end without >")?;
                folder.close(&open, scanner.at)?;
                open.pop();
            } else {
                element.has_elements = true;
                if open.len() == DEPTH_MAX {
                    return scanner.error("elements too deep in each other");
                }
                open.push(scanner.open_tag()?);
            }
        }
        scanner.blanks();
        if scanner.at == text.len() { Ok(folder) } else { scanner.error("something after its end") }
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

    /// The innermost of these elements ends here.
    fn close(&mut self, open: &[Element<'_>], offset: usize) -> Result<(), FolderError> {
        let Some((element, around)) = open.split_last() else { return Ok(()) };
        if element.has_elements || around.is_empty() {
            let problem = "text beside elements";
            let is_blank = element.text.trim().is_empty() || !element.has_elements;
            return if is_blank { Ok(()) } else { Err(FolderError { offset, problem }) };
        }
        let value = match element.nil {
            true => Some(PropertyValue::Null),
            false => PropertyValue::parse(element.dt, element.text.clone()),
        };
        let problem = "a value that is not of its type";
        let value = value.ok_or(FolderError { offset, problem })?;
        let names: Vec<_> = open[1..].iter().map(|element| element.name).collect();
        self.properties.push(Property { folder: self.name.clone(), name: names.join("."), value });
        Ok(())
    }
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
}
