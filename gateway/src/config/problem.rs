//! What is wrong with a file, and where. What to say is for those who find it.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Something wrong at a place of a file, or in what flags and environment add to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The place; without one it is not a file that is wrong.
    pub place: Option<Location>,
    /// What is wrong, and what to do about it.
    pub message: String,
}

/// A place in a file; line and column count from 1, columns in characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// The file.
    pub file: PathBuf,
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl Problem {
    /// A problem that is not in a file.
    pub fn of_values(message: impl Into<String>) -> Self {
        Self { place: None, message: message.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Location { file, line, column }) = &self.place {
            write!(f, "{}:{line}:{column}: ", file.display())?;
        }
        f.write_str(&self.message)
    }
}

/// Everything that is wrong, at least one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

/// The text of a file while it is read, with what was found wrong so far.
#[derive(Debug)]
pub struct Source<'a> {
    file: &'a Path,
    text: &'a str,
    /// What was found wrong.
    pub problems: Vec<Problem>,
}

impl<'a> Source<'a> {
    /// A text that came from `file`.
    pub fn new(file: &'a Path, text: &'a str) -> Self {
        Self { file, text, problems: Vec::new() }
    }

    /// The folder that relative paths in the file start from.
    pub fn folder(&self) -> &'a Path {
        self.file.parent().unwrap_or(Path::new(""))
    }

    /// Notes a problem at the byte where the span starts.
    pub fn problem(&mut self, span: Range<usize>, message: impl Into<String>) {
        let mut start = span.start.min(self.text.len());
        while !self.text.is_char_boundary(start) {
            start -= 1;
        }
        let before = &self.text[..start];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let place = Location {
            file: self.file.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        };
        self.problems.push(Problem { place: Some(place), message: message.into() });
    }
}
