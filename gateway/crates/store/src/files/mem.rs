//! Files in memory, for the store in memory: what is written is there, and nothing ever fails.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{File, Files, Lock};

#[derive(Debug, Default)]
pub(crate) struct MemFiles {
    files: Mutex<BTreeMap<String, Arc<MemFile>>>,
}

#[derive(Debug, Default)]
struct MemFile(Mutex<Vec<u8>>);

#[derive(Debug)]
struct MemLock;

impl Lock for MemLock {
    fn is_in_place(&self) -> bool {
        true
    }
}

impl MemFiles {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Arc<MemFile>>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Files for MemFiles {
    fn make_directory(&self, _path: &str) -> io::Result<()> {
        Ok(())
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let files = self.lock();
        let names = files.keys().filter_map(|name| name.strip_prefix(path)?.strip_prefix('/'));
        Ok(names.map(ToOwned::to_owned).collect())
    }

    fn create(&self, path: &str, _reserve: u64) -> io::Result<Arc<dyn File>> {
        let file = Arc::<MemFile>::default();
        self.lock().insert(path.to_owned(), Arc::clone(&file));
        Ok(file)
    }

    fn open(&self, path: &str) -> io::Result<Option<Arc<dyn File>>> {
        Ok(self.lock().get(path).map(|file| Arc::clone(file) as Arc<dyn File>))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut files = self.lock();
        let file = files.remove(from).ok_or(io::ErrorKind::NotFound)?;
        files.insert(to.to_owned(), file);
        Ok(())
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        self.lock().remove(path).map(drop).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn sync_directory(&self, _path: &str) -> io::Result<()> {
        Ok(())
    }

    fn lock(&self, _path: &str) -> io::Result<Option<Box<dyn Lock>>> {
        Ok(Some(Box::new(MemLock)))
    }

    fn show(&self, path: &str) -> String {
        format!("memory:{path}")
    }
}

impl MemFile {
    fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl File for MemFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let content = self.lock();
        let from = usize::try_from(offset).map_or(content.len(), |offset| offset.min(content.len()));
        let length = buffer.len().min(content.len() - from);
        buffer[..length].copy_from_slice(&content[from..from + length]);
        Ok(length)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let from = usize::try_from(offset).map_err(io::Error::other)?;
        let mut content = self.lock();
        let end = content.len().max(from + bytes.len());
        content.resize(end, 0);
        content[from..from + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.lock().len() as u64)
    }

    fn reserve(&self, _length: u64) -> io::Result<()> {
        Ok(())
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        self.lock().resize(usize::try_from(length).map_err(io::Error::other)?, 0);
        Ok(())
    }
}
