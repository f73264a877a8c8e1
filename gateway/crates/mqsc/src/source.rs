//! From lines to commands: comments, continuation, semicolons (mq-objects.md 4.1). What a command says is for `parse`.
//!
//! A line may be of any length; a command is refused above 32,768 characters, the limit of MQ.

use std::fmt;

/// The most characters that a command may have when its lines are joined.
pub(crate) const COMMAND_CHARACTERS_MAX: usize = 32_768;

/// A place in a script; both are counted from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// A command with its lines joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Source {
    /// The lines, joined as their continuation signs say.
    pub(crate) text: String,
    /// Where in `text` a piece of a line begins, and the place of its first character.
    pieces: Vec<(usize, Place)>,
    /// Whether the input ended where another line was to follow.
    pub(crate) unfinished: bool,
}

impl Source {
    /// Where the character at a byte offset of the joined text stands in the script.
    pub(crate) fn place(&self, offset: usize) -> Place {
        let at = self.pieces.partition_point(|(start, _)| *start <= offset).saturating_sub(1);
        let Some((start, place)) = self.pieces.get(at) else { return Place { line: 1, column: 1 } };
        let before = self.text.get(*start..offset).map_or(0, |text| text.chars().count());
        Place { line: place.line, column: place.column.saturating_add(before as u32) }
    }

    /// Where it begins.
    pub(crate) fn begin(&self) -> Place {
        let blanks = self.text.len() - self.text.trim_start().len();
        self.place(blanks)
    }

    fn push(&mut self, piece: &str, place: Place) {
        self.pieces.push((self.text.len(), place));
        self.text.push_str(piece);
    }
}

/// How the next line goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Continuation {
    /// `+`: at its first nonblank character.
    Nonblank,
    /// `-`: at its first column.
    Column1,
}

/// A command that waits for another line.
struct Open {
    source: Source,
    continuation: Continuation,
    in_quotes: bool,
}

/// The commands of a script, in order. What is behind END is there too.
pub(crate) fn commands(script: &str) -> Vec<Source> {
    let mut commands = Vec::new();
    let mut open = None;
    for (index, line) in script.lines().enumerate() {
        if line.starts_with('*') || line.trim().is_empty() {
            continue;
        }
        let number = index as u32 + 1;
        let (mut rest, mut column) = (line, 1);
        loop {
            let (command, used) = read_piece(open.take(), rest, Place { line: number, column });
            match command {
                Piece::Complete(source) => commands.push(source),
                Piece::Open(still) => open = Some(still),
            }
            column += rest[..used].chars().count() as u32;
            rest = &rest[used..];
            if rest.trim().is_empty() {
                break;
            }
        }
    }
    commands.extend(open.map(|open| Source { unfinished: true, ..open.source }));
    commands.retain(|source| source.unfinished || !source.text.trim().is_empty());
    commands
}

enum Piece {
    Complete(Source),
    Open(Open),
}

/// Adds a line, or what is left of it, to the command that waits for it. Says how many bytes it took: up to and with
/// a semicolon, else all.
fn read_piece(open: Option<Open>, line: &str, place: Place) -> (Piece, usize) {
    let (mut source, start, mut in_quotes) = match open {
        None => (Source { text: String::new(), pieces: Vec::new(), unfinished: false }, 0, false),
        Some(open) => {
            let blanks = line.len() - line.trim_start().len();
            let start = if open.continuation == Continuation::Nonblank { blanks } else { 0 };
            (open.source, start, open.in_quotes)
        }
    };
    let place = Place { column: place.column + line[..start].chars().count() as u32, ..place };
    for (at, character) in line.char_indices().skip_while(|(at, _)| *at < start) {
        match character {
            '\'' => in_quotes = !in_quotes,
            ';' if !in_quotes => {
                source.push(&line[start..at], place);
                return (Piece::Complete(source), at + 1);
            }
            _ => {}
        }
    }
    let body = &line[start..];
    for (sign, continuation) in [('+', Continuation::Nonblank), ('-', Continuation::Column1)] {
        if let Some(body) = body.trim_end().strip_suffix(sign) {
            source.push(body, place);
            return (Piece::Open(Open { source, continuation, in_quotes }), line.len());
        }
    }
    source.push(body, place);
    (Piece::Complete(source), line.len())
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn check(script: &str, expected: &[(&str, u32)]) {
        let commands = commands(script);
        let found: Vec<_> = commands.iter().map(|c| (c.text.trim_end(), c.begin().line)).collect();
        assert_eq!(found, expected, "{script:?}");
    }

    #[test]
    fn lines_become_commands() {
        check("", &[]);
        check("* only\n\n   \n", &[]);
        check("A\nB", &[("A", 1), ("B", 2)]);
        check("A\r\nB\r\n", &[("A", 1), ("B", 2)]);
        check("\n\n  A", &[("  A", 3)]);
        check(" * not a comment", &[(" * not a comment", 1)]);
    }

    #[test]
    fn plus_goes_on_at_the_first_nonblank_and_minus_at_column_1() {
        check("A +\n   B", &[("A B", 1)]);
        check("A -\n   B", &[("A    B", 1)]);
        check("A+  \t\n   B", &[("AB", 1)]);
        check("'Fr-\ned'", &[("'Fred'", 1)]);
        check("'Fr+\n   ed'", &[("'Fred'", 1)]);
        check("A +\n* remark\n\n  B\nC", &[("A B", 1), ("C", 5)]);
        check("A + B", &[("A + B", 1)]);
    }

    #[test]
    fn a_semicolon_ends_a_command() {
        check("A;", &[("A", 1)]);
        check("A +\n;\nB", &[("A", 1), ("B", 3)]);
        check("A; B +\n C", &[("A", 1), (" B C", 1)]);
        check("A(';') B", &[("A(';') B", 1)]);
        check("A('x+\n;') B", &[("A('x;') B", 1)]);
        check(";;", &[]);
    }

    #[test]
    fn an_open_end_is_noticed() {
        let found = commands("A\nB +\n* nothing more");
        assert_eq!(found.iter().map(|c| c.unfinished).collect::<Vec<_>>(), [false, true]);
        assert_eq!(found[1].begin(), Place { line: 2, column: 1 });
    }

    #[test]
    fn places_are_those_of_the_script() {
        let found = commands("A +\n  B('ø') C\nX; Y");
        let place = |command: usize, text: &str| {
            let command = &found[command];
            let place = command.place(command.text.find(text).unwrap());
            (place.line, place.column)
        };
        assert_eq!(place(0, "A"), (1, 1));
        assert_eq!(place(0, "B"), (2, 3));
        assert_eq!(place(0, "C"), (2, 10));
        assert_eq!(place(2, "Y"), (3, 4));
    }
}
