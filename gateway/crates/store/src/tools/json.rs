//! Just as much JSON as a list needs that is written beside a store: objects of texts, numbers and lists.

use std::io::{self, Write};

/// A text in quotes.
pub(crate) fn text(value: &str) -> String {
    let mut out = String::with_capacity(value.len() + 2);
    out.push('"');
    for c in value.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A list in brackets, an element a line.
pub(crate) fn list<T>(
    out: &mut impl Write,
    name: &str,
    elements: impl IntoIterator<Item = T>,
    show: impl Fn(&T) -> String,
) -> io::Result<()> {
    write!(out, "  {}: [", text(name))?;
    let mut between = "\n";
    for element in elements {
        write!(out, "{between}    {}", show(&element))?;
        between = ",\n";
    }
    write!(out, "{}]", if between == "\n" { "" } else { "\n  " })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_lists() {
        assert_eq!(text("a \"b\" \\ \n ä"), r#""a \"b\" \\ \u000a ä""#);
        let mut out = Vec::new();
        list(&mut out, "n", [1, 2], i32::to_string).unwrap();
        list(&mut out, "e", [] as [i32; 0], i32::to_string).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "  \"n\": [\n    1,\n    2\n  ]  \"e\": []");
    }
}
