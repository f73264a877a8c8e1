//! The text files of the workspace.

use std::fs;
use std::io;
use std::path::Path;

/// A text file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Where it is, from the root of the workspace, with `/`.
    pub path: String,
    /// What is in it.
    pub text: String,
}

impl File {
    /// A file that exists in memory only.
    pub fn new(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned() }
    }

    /// Whether it is Rust.
    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Whether it is the manifest of a package or of the workspace.
    pub fn is_manifest(&self) -> bool {
        self.path == "Cargo.toml" || self.path.ends_with("/Cargo.toml")
    }
}

/// Folders that hold no sources: what builds and runs leave behind, and the version control's own.
const SKIPPED: &[&str] = &["target", ".git", "mqe-data"];

/// All text files below the root; files that are not UTF-8 are left out.
pub fn read_tree(root: &Path) -> io::Result<Vec<File>> {
    let mut files = Vec::new();
    read_folder(root, "", &mut files)?;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn read_folder(folder: &Path, prefix: &str, files: &mut Vec<File>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        let kind = entry.file_type()?;
        if kind.is_dir() && !SKIPPED.contains(&name.as_str()) {
            read_folder(&entry.path(), &format!("{path}/"), files)?;
        } else if kind.is_file()
            && let Ok(text) = String::from_utf8(fs::read(entry.path())?)
        {
            files.push(File { path, text });
        }
    }
    Ok(())
}
