//! The floor: what the disk takes when a program does nothing but write and call fdatasync, in one of three kinds of
//! file. They differ in what a sync has to do: a file that grows needs its length and its blocks written down, one with
//! reserved blocks that these now hold something, one that was written before nothing.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::FallocateFlags;

/// The kind of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Each write makes it longer.
    Growing,
    /// Blocks are reserved ahead in steps, as the store does it in a segment that is new.
    Preallocated,
    /// Every byte was written before, as in a segment that is used again.
    Overwritten,
}

impl Mode {
    pub(crate) const ALL: [Self; 3] = [Self::Growing, Self::Preallocated, Self::Overwritten];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Growing => "growing",
            Self::Preallocated => "preallocated",
            Self::Overwritten => "overwritten",
        }
    }
}

/// The length of the file that was written before; it is written from its beginning again and again.
const WRITTEN_BYTES: u64 = 256 << 20;
/// The others are made anew when they are longer.
const LENGTH_MAX: u64 = 512 << 20;
/// As the store's.
const STEP_BYTES: u64 = 4 << 20;

/// A file, and where it is written next.
#[derive(Debug)]
pub(crate) struct FloorFile {
    file: File,
    mode: Mode,
    at: u64,
    reserved: u64,
}

impl FloorFile {
    /// A new file.
    pub(crate) fn create(path: &Path, mode: Mode) -> Self {
        let file = File::create(path).unwrap();
        if mode == Mode::Overwritten {
            let piece = vec![b'o'; 1 << 20];
            for at in (0..WRITTEN_BYTES).step_by(piece.len()) {
                file.write_all_at(&piece, at).unwrap();
            }
        }
        file.sync_all().unwrap();
        Self { file, mode, at: 0, reserved: 0 }
    }

    /// Once before each slice, not measured.
    pub(crate) fn renew(&mut self) {
        if self.mode != Mode::Overwritten && self.at > LENGTH_MAX {
            self.file.set_len(0).unwrap();
            self.file.sync_all().unwrap();
            (self.at, self.reserved) = (0, 0);
        }
    }

    /// One write, one sync.
    pub(crate) fn append(&mut self, bytes: &[u8]) {
        let length = bytes.len() as u64;
        match self.mode {
            Mode::Growing => {}
            Mode::Preallocated if self.at + length > self.reserved => {
                let end = (self.at + length).next_multiple_of(STEP_BYTES);
                let more = end - self.reserved;
                rustix::fs::fallocate(&self.file, FallocateFlags::empty(), self.reserved, more).unwrap();
                self.reserved = end;
            }
            Mode::Preallocated => {}
            Mode::Overwritten if self.at + length > WRITTEN_BYTES => self.at = 0,
            Mode::Overwritten => {}
        }
        self.file.write_all_at(bytes, self.at).unwrap();
        self.file.sync_data().unwrap();
        self.at += length;
    }
}
