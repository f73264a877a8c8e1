//! Rules over files as text: how Rust files open and how long they are, what must not be left behind, and no path of
//! the machine on which something was written.

use crate::tidy::{File, Path, Source};

/// The most lines that a Rust file may have.
const RUST_LINES_MAX: usize = 700;

/// Every Rust file says what it is for, and is short enough to be read.
pub fn openings_and_lengths(files: &[File]) -> Vec<String> {
    let mut problems = Vec::new();
    for File { path, text } in files.iter().filter(|file| file.is_rust()) {
        if !text.starts_with("//! ") {
            problems.push(format!("{path}:1: opens without //! saying what the file is for"));
        }
        let lines = text.lines().count();
        if lines > RUST_LINES_MAX {
            problems
                .push(format!("{path}: {lines} lines, at most {RUST_LINES_MAX} are allowed: find the seam"));
        }
    }
    problems
}

/// Nothing is left to be done, no test is left out, and no test sleeps.
pub fn placeholders(files: &[File]) -> Vec<String> {
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        let source = Source::of(file);
        let mut wrong = |line: usize, what: &str| problems.push(format!("{}:{line}: {what}", file.path));
        for code in [&source.product, &source.tests] {
            for Path { line, path } in Source::macros(code) {
                if matches!(path.as_str(), "todo" | "unimplemented") {
                    wrong(line, &format!("{path}! is no implementation"));
                }
            }
            for (index, line) in code.lines().enumerate() {
                let packed: String = line.split_whitespace().collect();
                let attribute = packed.contains("#[") || packed.contains("#![");
                if packed.contains("#[ignore") || (attribute && packed.contains(",ignore")) {
                    wrong(index + 1, "an ignored test tests nothing: assert what happens today");
                }
            }
        }
        // A bench may measure one who sleeps.
        let bench = file.path.contains("/benches/");
        for Path { line, path } in Source::paths(&source.tests).into_iter().filter(|_| !bench) {
            if ["thread::sleep", "time::sleep"].iter().any(|sleep| path.ends_with(sleep)) {
                wrong(
                    line,
                    &format!("{path} in a test: pause time, or wait for a condition with a deadline"),
                );
            }
        }
    }
    problems
}

/// Folders that exist on the machine of whoever wrote a file, not on the reader's. Put together, so that this file
/// does not have them.
const MACHINE_FOLDERS: &[&str] = &[concat!("/", "work"), concat!("/", "tmp")];

/// No text file names a path of a machine.
pub fn machine_paths(files: &[File]) -> Vec<String> {
    let mut problems = Vec::new();
    for file in files {
        for (index, line) in file.text.lines().enumerate() {
            for folder in MACHINE_FOLDERS.iter().filter(|folder| names_folder(line, folder)) {
                problems.push(format!("{}:{}: names {folder}", file.path, index + 1));
            }
        }
    }
    problems
}

/// Whether the folder stands there by itself: not within a longer path, not as the beginning of a longer name.
fn names_folder(line: &str, folder: &str) -> bool {
    let part_of_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '~');
    line.match_indices(folder).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let behind = line[at + folder.len()..].chars().next();
        // Behind a closing bracket or brace the path goes on from something that is not of the machine.
        !before.is_some_and(|c| part_of_name(c) || matches!(c, '}' | ']' | ')'))
            && !behind.is_some_and(part_of_name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rule: fn(&[File]) -> Vec<String>, path: &str, text: &str, expected: Option<&str>) {
        let problems = rule(&[File::new(path, text)]);
        assert_eq!(problems.is_empty(), expected.is_none(), "{text}: {problems:?}");
        assert!(
            problems.iter().all(|problem| problem.contains(expected.unwrap_or_default())),
            "{problems:?}"
        );
    }

    #[test]
    fn files_open_with_what_they_are_for() {
        check(openings_and_lengths, "a.rs", "//! What.\n", None);
        check(openings_and_lengths, "a.rs", "// What.\n", Some("a.rs:1: opens without"));
        check(openings_and_lengths, "a.rs", "//!\n", Some("opens without"));
        check(openings_and_lengths, "a.rs", "\n//! What.\n", Some("opens without"));
        check(openings_and_lengths, "a.rs", "", Some("opens without"));
        check(openings_and_lengths, "a.md", "", None);
    }

    #[test]
    fn files_are_short() {
        let of = |lines: usize| format!("//! What.\n{}", "\n".repeat(lines - 1));
        check(openings_and_lengths, "a.rs", &of(RUST_LINES_MAX), None);
        check(openings_and_lengths, "a.rs", &of(RUST_LINES_MAX + 1), Some("701 lines"));
    }

    #[test]
    fn nothing_is_left_to_be_done() {
        check(placeholders, "a/src/a.rs", "fn f() { todo!() }", Some("a.rs:1: todo!"));
        check(
            placeholders,
            "a/src/a.rs",
            "\nfn f() { core::unimplemented ! () }",
            Some("a.rs:2: unimplemented!"),
        );
        check(placeholders, "a/src/a.rs", "// todo!()\nlet a = \"todo!()\";", None);
        check(placeholders, "a/tests/a.rs", "#[test]\n#[ignore]\nfn f() {}", Some("a.rs:2: an ignored test"));
        check(placeholders, "a/tests/a.rs", "#[ ignore = \"slow\" ]", Some("ignored"));
        check(placeholders, "a/tests/a.rs", "#[cfg_attr(unix, ignore)]", Some("ignored"));
        check(placeholders, "a/tests/a.rs", "fn ignore() {}", None);
    }

    #[test]
    fn tests_do_not_sleep() {
        check(placeholders, "a/tests/a.rs", "std::thread::sleep(a)", Some("std::thread::sleep in a test"));
        check(placeholders, "a/tests/a.rs", "use std::{thread::sleep, fs};", Some("thread::sleep"));
        check(
            placeholders,
            "a/src/a.rs",
            "#[cfg(test)] mod tests { use tokio::time::sleep; }",
            Some("time::sleep"),
        );
        check(placeholders, "a/src/a/tests.rs", "tokio::time::sleep(a).await", Some("time::sleep"));
        check(placeholders, "a/src/a.rs", "tokio::time::sleep(a).await", None);
        check(placeholders, "a/benches/a.rs", "std::thread::sleep(a)", None);
    }

    #[test]
    fn no_machine_is_named() {
        let check = |text: &str, wrong: bool| {
            let text = text.replace('@', "/");
            check(machine_paths, "a.md", &text, wrong.then_some("a.md:1: names "));
        };
        check("see @tmp@x", true);
        check("`@work`", true);
        check("\"@work@main\"", true);
        check("src@work@a", false);
        check("@workspace", false);
        check("${HOME}@tmp", false);
        check("@tmpfs, @var", false);
    }
}
