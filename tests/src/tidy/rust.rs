//! Rust source as far as the rules need it: without comments and literals, product apart from tests, and the paths
//! that it names, `use` trees spelt out.

use crate::tidy::File;

/// A Rust file, split. Both parts keep the lines of the file: what belongs to the other part, comments and the text of
/// literals are blanks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// What the program is made of.
    pub product: String,
    /// What only tests, benches and examples see.
    pub tests: String,
}

/// A path such as `std::fs::read` and the line on which it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    /// The line, from 1.
    pub line: usize,
    /// The path without spaces; a `*` of `use` is kept.
    pub path: String,
}

impl Source {
    /// Splits a file.
    pub fn of(file: &File) -> Self {
        let code = without_comments_and_literals(&file.text);
        let folders: Vec<_> = file.path.split('/').rev().skip(1).collect();
        // The package of that name has its library in tests/src.
        let for_tests = folders.iter().any(|folder| matches!(*folder, "tests" | "benches" | "examples"))
            || file.path.ends_with("/tests.rs");
        if for_tests {
            return Self { product: blank(&code), tests: code };
        }
        split_tests(&code)
    }

    /// Every macro that is called and the line of the call.
    pub fn macros(code: &str) -> Vec<Path> {
        let tokens = tokens(code);
        let calls = tokens.windows(2).filter(|pair| pair[0].is_word() && pair[1].text == "!");
        calls.map(|pair| Path { line: pair[0].line, path: pair[0].text.to_owned() }).collect()
    }

    /// Every path of two or more segments, and every single name that a `use` brings in.
    pub fn paths(code: &str) -> Vec<Path> {
        let tokens = tokens(code);
        let mut paths = Vec::new();
        let mut at = 0;
        while at < tokens.len() {
            if tokens[at].text == "use" {
                at = use_tree(&tokens, at + 1, "", &mut paths);
            } else if tokens[at].is_word() {
                let line = tokens[at].line;
                let (path, next) = plain_path(&tokens, at);
                if path.contains("::") {
                    paths.push(Path { line, path });
                }
                at = next;
            } else {
                at += 1;
            }
        }
        paths
    }
}

#[derive(Debug, Clone, Copy)]
struct Token<'a> {
    text: &'a str,
    line: usize,
}

impl Token<'_> {
    fn is_word(&self) -> bool {
        self.text.starts_with(|c: char| c.is_alphabetic() || c == '_')
    }
}

fn tokens(code: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    for (index, text) in code.lines().enumerate() {
        let mut rest = text.trim_start();
        while let Some(first) = rest.chars().next() {
            let length = if first.is_alphanumeric() || first == '_' {
                rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())
            } else if rest.starts_with("::") {
                2
            } else {
                first.len_utf8()
            };
            tokens.push(Token { text: &rest[..length], line: index + 1 });
            rest = rest[length..].trim_start();
        }
    }
    tokens
}

fn text_at<'a>(tokens: &[Token<'a>], at: usize) -> &'a str {
    tokens.get(at).map_or("", |token| token.text)
}

fn plain_path(tokens: &[Token<'_>], mut at: usize) -> (String, usize) {
    let mut path = tokens[at].text.to_owned();
    while text_at(tokens, at + 1) == "::" && tokens.get(at + 2).is_some_and(Token::is_word) {
        path = format!("{path}::{}", tokens[at + 2].text);
        at += 2;
    }
    (path, at + 1)
}

/// Spells out one tree of a `use`; says where it goes on.
fn use_tree(tokens: &[Token<'_>], mut at: usize, prefix: &str, paths: &mut Vec<Path>) -> usize {
    let mut path = prefix.to_owned();
    while let Some(token) = tokens.get(at) {
        let line = token.line;
        match token.text {
            "::" => at += 1,
            "{" => {
                at += 1;
                while at < tokens.len() && text_at(tokens, at) != "}" {
                    let before = at;
                    at = use_tree(tokens, at, &path, paths);
                    at += usize::from(text_at(tokens, at) == "," || at == before);
                }
                return at + 1;
            }
            text if token.is_word() || text == "*" => {
                if text != "self" || path.is_empty() {
                    path = if path.is_empty() { text.to_owned() } else { format!("{path}::{text}") };
                }
                at += 1;
                if text_at(tokens, at) != "::" {
                    paths.push(Path { line, path });
                    return if text_at(tokens, at) == "as" { at + 2 } else { at };
                }
            }
            // No `use` of a name, as in `impl Trait + use<'a>`.
            _ => return at,
        }
    }
    at
}

/// Replaces comments and the text of string and character literals by blanks; lines stay.
fn without_comments_and_literals(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let after_word = out.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            block_comment(rest)
        } else if let Some(length) = raw_string(rest).filter(|_| !after_word) {
            length
        } else if first == '"' {
            quoted(rest, '"')
        } else if first == '\'' && is_character(rest) {
            quoted(rest, '\'')
        } else {
            out.push(first);
            at += first.len_utf8();
            continue;
        };
        out.push_str(&blank(&rest[..length]));
        at += length;
    }
    out
}

/// The same text with everything but line ends blank.
fn blank(text: &str) -> String {
    text.chars().map(|c| if c == '\n' { '\n' } else { ' ' }).collect()
}

fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// The length of a raw string such as `r#"..."#` or `br"..."`, if one begins here.
fn raw_string(text: &str) -> Option<usize> {
    let prefix = ["br", "cr", "r"].into_iter().find(|prefix| text.starts_with(prefix))?;
    let hashes = text[prefix.len()..].chars().take_while(|c| *c == '#').count();
    let begin = prefix.len() + hashes;
    let body = text[begin..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    Some(body.find(&end).map_or(text.len(), |at| begin + 1 + at + end.len()))
}

fn quoted(text: &str, mark: char) -> usize {
    let mut escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == mark => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Whether a quotation mark begins a character and not a lifetime.
fn is_character(text: &str) -> bool {
    let mut characters = text.chars().skip(1);
    match characters.next() {
        Some('\\') => true,
        Some(_) => characters.next() == Some('\''),
        None => false,
    }
}

/// Takes the items behind `#[cfg(test)]` apart from the rest.
fn split_tests(code: &str) -> Source {
    const MARK: &str = "#[cfg(test)]";
    let mut source = Source { product: String::new(), tests: String::new() };
    let mut rest = code;
    while let Some(at) = rest.find(MARK) {
        let (before, from) = rest.split_at(at);
        let (item, behind) = from.split_at(MARK.len() + item_length(&from[MARK.len()..]));
        source.product.push_str(before);
        source.tests.push_str(&blank(before));
        source.product.push_str(&blank(item));
        source.tests.push_str(item);
        rest = behind;
    }
    source.product.push_str(rest);
    source.tests.push_str(&blank(rest));
    source
}

/// An item ends with a semicolon, or a comma, outside of braces, or with the brace that closes its first one, unless
/// that is a tree of `use`.
fn item_length(code: &str) -> usize {
    let (mut braces, mut others) = (0_i32, 0_i32);
    let mut of_use = false;
    for (at, character) in code.char_indices() {
        match character {
            '{' => {
                of_use |= braces == 0 && ["::", "use"].iter().any(|end| code[..at].trim_end().ends_with(end));
                braces += 1;
            }
            '}' => {
                braces -= 1;
                if braces <= 0 && others <= 0 && !of_use {
                    return at + 1;
                }
            }
            '(' | '[' => others += 1,
            ')' | ']' => others -= 1,
            ';' | ',' if braces == 0 && others == 0 => return at + 1,
            _ => {}
        }
    }
    code.len()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn paths(code: &str) -> String {
        let paths: Vec<_> = Source::paths(code).iter().map(|p| format!("{}:{}", p.line, p.path)).collect();
        paths.join(" ")
    }

    #[test]
    fn paths_are_spelt_out() {
        let check = |code: &str, expected: &str| assert_eq!(paths(code), expected, "{code}");
        check("use std::fs;", "1:std::fs");
        check("use std::{fs, net::{self, TcpStream}};", "1:std::fs 1:std::net 1:std::net::TcpStream");
        check("use ::tokio as t; use sled;", "1:tokio 1:sled");
        check("use a::*;", "1:a::*");
        check("pub(crate) use a::b as c;\nfn f() { d::e::f(g::h) }", "1:a::b 2:d::e::f 2:g::h");
        check("use std::{\n    time::Instant,\n};", "2:std::time::Instant");
        check("fn f<'a>() -> impl Fn() + use<'a> { x::y() }", "1:x::y");
        check("use {a::b, c};", "1:a::b 1:c");
        check("Vec::<u8>::new()", "");
    }

    #[test]
    fn comments_and_literals_are_blank() {
        let check = |code: &str, expected: &str| {
            let found = without_comments_and_literals(code);
            assert_eq!(found.split_whitespace().collect::<Vec<_>>().join(" "), expected, "{code}");
        };
        check("a // b", "a");
        check("a /* b /* c */ d */ e", "a e");
        check("a(\"b \\\" c\", 'd', '\\'', 'e')", "a( , , , )");
        check("fn f<'a>(x: &'a str)", "fn f<'a>(x: &'a str)");
        check("a r#\"b \" c\"# d br\"e\" f", "a d f");
        check("for\"a\"", "for");
        check("r#type", "r#type");
    }

    #[test]
    fn tests_are_apart() {
        let check = |path: &str, code: &str, product: &str, tests: &str| {
            let source = Source::of(&File::new(path, code));
            let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(
                (words(&source.product), words(&source.tests)),
                (product.to_owned(), tests.to_owned())
            );
            assert_eq!(source.product.lines().count(), code.lines().count());
        };
        check(
            "a/src/x.rs",
            "a;\n#[cfg(test)]\nmod tests { b {} }\nc;",
            "a; c;",
            "#[cfg(test)] mod tests { b {} }",
        );
        check("a/src/x.rs", "#[cfg(test)]\nmod tests;\nc;", "c;", "#[cfg(test)] mod tests;");
        check("a/src/x.rs", "#[cfg(test)] use a::{b, c}; d", "d", "#[cfg(test)] use a::{b, c};");
        check("a/src/x/tests.rs", "a", "", "a");
        check("a/tests/x.rs", "a", "", "a");
    }
}
