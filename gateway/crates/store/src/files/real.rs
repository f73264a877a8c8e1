//! The real file layer: a directory of this machine.

use std::fs::{self, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{File, Files, Lock};

/// Files under one directory.
#[derive(Debug)]
pub(crate) struct RealFiles {
    root: PathBuf,
}

impl RealFiles {
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    fn path(&self, path: &str) -> PathBuf {
        if path.is_empty() { self.root.clone() } else { self.root.join(path) }
    }
}

impl Files for RealFiles {
    fn make_directory(&self, path: &str) -> io::Result<()> {
        let path = self.path(path);
        if path.is_dir() {
            return Ok(());
        }
        fs::create_dir_all(&path)?;
        match path.parent() {
            // The entry of the new directory lives in its parent; "" is the current one.
            Some(parent) if parent.as_os_str().is_empty() => fs::File::open(".")?.sync_all(),
            Some(parent) => fs::File::open(parent)?.sync_all(),
            None => Ok(()),
        }
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let names = fs::read_dir(self.path(path))?.map(|entry| entry.map(|e| e.file_name()));
        names.filter_map(|name| name.map(|n| n.into_string().ok()).transpose()).collect()
    }

    fn create(&self, path: &str, reserve: u64) -> io::Result<Arc<dyn File>> {
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(self.path(path))?;
        let file = RealFile(file);
        if reserve > 0
            && let Err(error) = file.reserve(reserve)
        {
            // An empty file of that name would be in the way of the next attempt.
            let _ = fs::remove_file(self.path(path));
            return Err(error);
        }
        Ok(Arc::new(file))
    }

    fn open(&self, path: &str) -> io::Result<Option<Arc<dyn File>>> {
        // Writable, because some systems sync nothing through a handle that only reads.
        match OpenOptions::new().read(true).write(true).open(self.path(path)) {
            Ok(file) => Ok(Some(Arc::new(RealFile(file)))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path(from), self.path(to))
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        fs::remove_file(self.path(path))
    }

    fn sync_directory(&self, path: &str) -> io::Result<()> {
        fs::File::open(self.path(path))?.sync_all()
    }

    fn lock(&self, path: &str) -> io::Result<Option<Box<dyn Lock>>> {
        let path = self.path(path);
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(&path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Box::new(RealLock { file, path }))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn show(&self, path: &str) -> String {
        self.path(path).display().to_string()
    }
}

#[derive(Debug)]
struct RealLock {
    file: fs::File,
    path: PathBuf,
}

impl Lock for RealLock {
    fn is_in_place(&self) -> bool {
        // While we have the file open, no other one can get its inode.
        match (self.file.metadata(), fs::metadata(&self.path)) {
            (Ok(ours), Ok(there)) => (ours.dev(), ours.ino()) == (there.dev(), there.ino()),
            (_, Err(error)) => {
                !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
            }
            (Err(_), _) => true,
        }
    }
}

#[derive(Debug)]
struct RealFile(fs::File);

impl File for RealFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut done = 0;
        while done < buffer.len() {
            match self.0.read_at(&mut buffer[done..], offset + done as u64) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_all_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn reserve(&self, length: u64) -> io::Result<()> {
        let present = self.length()?;
        let Some(more) = length.checked_sub(present).filter(|more| *more > 0) else { return Ok(()) };
        // The new length is real with the next `sync`: fdatasync leaves out only what is not needed to read the data.
        let flags = rustix::fs::FallocateFlags::empty();
        match rustix::io::retry_on_intr(|| rustix::fs::fallocate(&self.0, flags, present, more)) {
            // A file system that cannot reserve still can write.
            Err(rustix::io::Errno::OPNOTSUPP) => self.0.set_len(length),
            outcome => Ok(outcome?),
        }
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }
}
