//! From the text of a command to its words: keywords, values between parentheses, quotation marks. What the words
//! mean is for `resolve`.

use crate::error::Mistake;

/// A word, or the text between quotation marks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    /// As it is written, without the quotation marks.
    pub(crate) text: String,
    /// Whether it stood between quotation marks.
    pub(crate) quoted: bool,
    /// Where it begins in the command, in bytes.
    pub(crate) offset: usize,
}

impl Word {
    /// What it stands for: upper case unless it is quoted.
    pub(crate) fn value(&self) -> String {
        if self.quoted { self.text.clone() } else { self.text.to_ascii_uppercase() }
    }
}

/// A keyword, with or without values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parameter {
    /// The keyword.
    pub(crate) keyword: Word,
    /// What stands between its parentheses: `()` has no word, `( )` has a blank one.
    pub(crate) values: Option<Vec<Word>>,
}

/// Something wrong, and where in the command.
pub(crate) type At = (usize, Mistake);

/// The parameters of a command; verb and noun are the first two.
pub(crate) fn parse(command: &str) -> Result<Vec<Parameter>, At> {
    let mut scanner = Scanner { text: command, at: 0 };
    let mut parameters = Vec::new();
    loop {
        let blanks = scanner.skip_separators();
        if scanner.rest().is_empty() {
            return Ok(parameters);
        }
        let after_values = parameters.last().is_some_and(|last: &Parameter| last.values.is_some());
        let parameter = scanner.parameter()?;
        if blanks == 0 && after_values {
            let Word { text, offset, .. } = parameter.keyword;
            return Err((offset, Mistake::BlankMissing { word: text }));
        }
        parameters.push(parameter);
    }
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

fn is_separator(character: char) -> bool {
    character.is_whitespace() || character == ','
}

impl<'a> Scanner<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Passes over blanks and commas; says how many bytes that were.
    fn skip_separators(&mut self) -> usize {
        self.take_while(is_separator).len()
    }

    fn take_while(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let taken = &rest[..rest.find(|c| !belongs(c)).unwrap_or(rest.len())];
        self.at += taken.len();
        taken
    }

    fn parameter(&mut self) -> Result<Parameter, At> {
        let offset = self.at;
        let text = self.take_while(|c| !is_separator(c) && !matches!(c, '(' | ')' | '\''));
        if text.is_empty() || matches!(self.peek(), Some(')' | '\'')) {
            let stray = if text.is_empty() {
                self.peek().map_or_else(String::new, String::from)
            } else {
                text.to_owned()
            };
            return Err((offset, Mistake::Stray { word: stray }));
        }
        let keyword = Word { text: text.to_owned(), quoted: false, offset };
        let behind = self.at;
        self.take_while(char::is_whitespace);
        if self.peek() != Some('(') {
            // The blanks separate the next parameter.
            self.at = behind;
            return Ok(Parameter { keyword, values: None });
        }
        self.at += 1;
        let values = self.values(&keyword)?;
        Ok(Parameter { keyword, values: Some(values) })
    }

    /// The values up to and with the closing parenthesis.
    fn values(&mut self, keyword: &Word) -> Result<Vec<Word>, At> {
        let begin = self.at;
        let mut values: Vec<Word> = Vec::new();
        loop {
            let blanks = self.skip_separators();
            match self.peek() {
                None => return Err(unclosed(keyword, &values)),
                Some(')') => {
                    if values.is_empty() && blanks > 0 {
                        values.push(Word { text: " ".to_owned(), quoted: false, offset: begin });
                    }
                    self.at += 1;
                    return Ok(values);
                }
                Some('\'') => values.push(self.quoted(keyword)?),
                Some(_) => values.push(self.unquoted(keyword)?),
            }
        }
    }

    /// Text between quotation marks; two of them in a row are one in the text.
    fn quoted(&mut self, keyword: &Word) -> Result<Word, At> {
        let wrong = || (keyword.offset, Mistake::Quotes { word: keyword.text.clone() });
        let offset = self.at;
        let mut text = String::new();
        loop {
            self.at += 1;
            text.push_str(self.take_while(|c| c != '\''));
            if self.peek().is_none() {
                return Err(wrong());
            }
            self.at += 1;
            match self.peek() {
                Some('\'') => text.push('\''),
                Some(c) if !is_separator(c) && c != ')' => return Err(wrong()),
                _ => return Ok(Word { text, quoted: true, offset }),
            }
        }
    }

    /// A word; parentheses within it must be in pairs, as in `CONNAME(host(1414))`, which MQ refuses and many scripts
    /// have (mq-objects.md 4.1).
    fn unquoted(&mut self, keyword: &Word) -> Result<Word, At> {
        let offset = self.at;
        let mut depth = 0_u32;
        for (at, character) in self.rest().char_indices() {
            match character {
                '(' => depth += 1,
                ')' if depth > 0 => depth -= 1,
                ')' => return Ok(self.word(offset, at)),
                '\'' => return Err((keyword.offset, Mistake::Quotes { word: keyword.text.clone() })),
                c if is_separator(c) && depth == 0 => return Ok(self.word(offset, at)),
                _ => {}
            }
        }
        // The end, which the caller finds before the closing parenthesis.
        Ok(self.word(offset, self.rest().len()))
    }

    fn word(&mut self, offset: usize, length: usize) -> Word {
        self.at = offset + length;
        Word { text: self.text[offset..self.at].to_owned(), quoted: false, offset }
    }
}

/// A closing parenthesis is missing: blamed is the value that looks like a parameter of its own, else the keyword.
fn unclosed(keyword: &Word, values: &[Word]) -> At {
    let inner = values.iter().skip(1).find(|value| !value.quoted && value.text.contains('('));
    let word = inner.unwrap_or(keyword);
    let text = word.text.split('(').next().unwrap_or_default().to_owned();
    (word.offset, Mistake::Unclosed { word: text })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    /// Keywords as they are; values in brackets, quoted ones with quotation marks.
    fn shown(command: &str) -> String {
        match parse(command) {
            Err((at, mistake)) => format!("{at}: {}", mistake.word()),
            Ok(parameters) => {
                let parameters = parameters.iter().map(|parameter| {
                    let values = parameter.values.as_ref().map(|values| {
                        let values = values.iter();
                        let values: Vec<_> = values
                            .map(|v| if v.quoted { format!("'{}'", v.text) } else { v.value() })
                            .collect();
                        format!("[{}]", values.join("|"))
                    });
                    format!("{}{}", parameter.keyword.value(), values.unwrap_or_default())
                });
                parameters.collect::<Vec<_>>().join(" ")
            }
        }
    }

    #[test]
    fn words_quotes_and_parentheses() {
        let check = |command: &str, expected: &str| assert_eq!(shown(command), expected, "{command}");
        check("", "");
        check("def ql(a)", "DEF QL[A]");
        check(" , def , ql (a) , replace , , ", "DEF QL[A] REPLACE");
        check("X('a''b')", "X['a'b']");
        check("X('''')", "X[''']");
        check("X('')", "X['']");
        check("X()", "X[]");
        check("X( )", "X[ ]");
        check("X( 7)", "X[7]");
        check("X(a,b c 'd')", "X[A|B|C|'d']");
        check("X(h(1414)) Y", "X[H(1414)] Y");
        check("X(a(1), b(2))", "X[A(1)|B(2)]");
        check("X ('a')", "X['a']");
        check("a\tb\u{a0}c", "A B C");
    }

    #[test]
    fn what_is_wrong_is_blamed() {
        let check = |command: &str, expected: &str| assert_eq!(shown(command), expected, "{command}");
        check("X('a')Y(1)", "6: Y");
        check("X('a'b)", "0: X");
        check("X('a", "0: X");
        check("X(a'b)", "0: X");
        check("X(", "0: X");
        check("X(a", "0: X");
        check("D QL(W DEF(Y)", "7: DEF");
        check("X(h(1414)", "0: X");
        check("X(h(1414", "0: X");
        check("A b) c(d)", "2: b");
        check("A )", "2: )");
        check("A 'b'", "2: '");
        check("(a)", "0: (");
    }
}
