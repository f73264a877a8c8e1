//! The list of a backup: which files it consists of, under which paths they belong into a data directory, and their
//! checksums. It is written last, so what has none is not a backup.
//!
//! Lines of words, so that a person can read it: the last one is the checksum of all before it.

use std::fmt::Write as _;
use std::path::Path;

use crate::StoreError;
use crate::layout::Spot;

/// The file in the directory of a backup.
pub(crate) const NAME: &str = "manifest";
/// Being written.
pub(crate) const NEW: &str = "manifest.new";

const FIRST: &str = "mqe-store-backup 1";
/// A line is below 100 bytes: more files than a disk has.
const BYTES_MAX: u64 = 1 << 30;

/// What a backup consists of.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Manifest {
    /// The version of the store's format.
    pub(crate) format: u32,
    /// When it was made, in milliseconds since 1970.
    pub(crate) time_ms: u64,
    /// The start that was running, or had been.
    pub(crate) start: u32,
    /// The checkpoint's position.
    pub(crate) position: Spot,
    pub(crate) files: Vec<Stored>,
}

/// A file of a backup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stored {
    /// Its path in the data directory.
    pub(crate) path: String,
    /// Its path in the backup.
    pub(crate) stored: String,
    pub(crate) length: u64,
    pub(crate) checksum: u32,
}

impl Manifest {
    /// The list in the directory of a backup; none if there is none.
    pub(crate) fn load(root: &Path) -> Result<Option<Self>, StoreError> {
        let path = root.join(NAME);
        let failed = |error: std::io::Error| StoreError::Io {
            action: "read",
            path: path.display().to_string(),
            error: error.to_string(),
        };
        let damaged = |what: &str| StoreError::Damaged {
            path: path.display().to_string(),
            offset: 0,
            what: what.to_owned(),
        };
        match std::fs::metadata(&path) {
            Ok(about) if about.len() > BYTES_MAX => return Err(damaged("it is too long")),
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => return Ok(None),
            Err(error) => return Err(failed(error)),
        }
        let bytes = std::fs::read(&path).map_err(failed)?;
        let manifest = std::str::from_utf8(&bytes).ok().and_then(Self::decode);
        manifest.map(Some).ok_or_else(|| damaged("the list of the backup does not verify"))
    }

    pub(crate) fn encode(&self) -> String {
        let mut text = format!("{FIRST}\nformat {}\ntime_ms {}\n", self.format, self.time_ms);
        // A String takes everything that is written to it.
        let _ = writeln!(text, "start {}", self.start);
        let _ = writeln!(text, "position {} {}", self.position.segment, self.position.offset);
        for Stored { path, stored, length, checksum } in &self.files {
            let _ = writeln!(text, "file {path} {stored} {length} {checksum:08x}");
        }
        let checksum = crc32fast::hash(text.as_bytes());
        let _ = writeln!(text, "sum {checksum:08x}");
        text
    }

    pub(crate) fn decode(text: &str) -> Option<Self> {
        let last = text.strip_suffix('\n')?.rfind('\n')? + 1;
        let (checked, sum) = text.split_at(last);
        let sum = u32::from_str_radix(sum.strip_prefix("sum ")?.trim_end(), 16).ok()?;
        if crc32fast::hash(checked.as_bytes()) != sum {
            return None;
        }
        let mut lines = checked.lines();
        if lines.next()? != FIRST {
            return None;
        }
        let mut value = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix(' ');
        let format = value("format")?.parse().ok()?;
        let time_ms = value("time_ms")?.parse().ok()?;
        let start = value("start")?.parse().ok()?;
        let (segment, offset) = value("position")?.split_once(' ')?;
        let position = Spot { segment: segment.parse().ok()?, offset: offset.parse().ok()? };
        let files: Option<Vec<_>> = lines.map(Stored::decode).collect();
        Some(Self { format, time_ms, start, position, files: files? })
    }

    pub(crate) fn find(&self, path: &str) -> Option<&Stored> {
        self.files.iter().find(|file| file.path == path)
    }
}

impl Stored {
    fn decode(line: &str) -> Option<Self> {
        let mut words = line.strip_prefix("file ")?.split(' ');
        let (path, stored) = (words.next()?, words.next()?);
        let (length, checksum) = (words.next()?.parse().ok()?, words.next()?);
        let checksum = u32::from_str_radix(checksum, 16).ok()?;
        // It comes from outside: it must not lead out of the directory.
        let inside = |path: &str| {
            !path.is_empty() && path.split('/').all(|part| !part.is_empty() && part != "." && part != "..")
        };
        let whole = words.next().is_none() && inside(path) && inside(stored);
        whole.then(|| Self { path: path.to_owned(), stored: stored.to_owned(), length, checksum })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Manifest {
        let file = |path: &str, stored: &str| Stored {
            path: path.to_owned(),
            stored: stored.to_owned(),
            length: 8192,
            checksum: 0xdead_beef,
        };
        Manifest {
            format: 2,
            time_ms: 1_764_529_000_000,
            start: 4,
            position: Spot { segment: 7, offset: 4096 },
            files: vec![
                file("checkpoint", "checkpoint"),
                file("journal/00000007.seg", "journal/00000007.seg-1"),
            ],
        }
    }

    #[test]
    fn it_comes_back_and_every_flipped_bit_is_seen() {
        let text = sample().encode();
        assert_eq!(Manifest::decode(&text), Some(sample()));
        for at in 0..text.len() {
            let mut bad = text.clone().into_bytes();
            bad[at] ^= 1;
            let read = String::from_utf8(bad).ok().and_then(|bad| Manifest::decode(&bad));
            assert!(read.is_none_or(|read| read == sample()), "byte {at}");
            assert_eq!(Manifest::decode(&text[..at]), None, "cut at {at}");
        }
    }

    #[test]
    fn no_path_leads_out() {
        for path in ["../x", "/etc/passwd", "a/../../b", "a//b", "."] {
            let mut manifest = sample();
            manifest.files[0].path = path.to_owned();
            assert_eq!(Manifest::decode(&manifest.encode()), None, "{path}");
        }
    }
}
