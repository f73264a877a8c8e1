//! A device's store in a directory: a file that only grows, `device.log`, and a lock.
//!
//! The file begins with a head (`MQEDEV1\n`, the device's name padded to 48 bytes). Then come *groups*, one for each
//! write: length u32 of the body, its CRC-32, the body. A group is there whole or not at all. The body is entries:
//! kind u8, then 1: a [`DeviceRecord`]; 2: deliveries u8 and a `Forgotten` record that carries the uid; 3: a
//! `Forgotten` record that carries the uids that were used. Big-endian.
//!
//! A file that has grown to several times of what it says is written anew beside the old one and renamed.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::{BufMut, BytesMut};
use mqe::DeviceName;
use mqe::device_end::{DeviceRecord, Records};

use super::storage::{Content, DeviceStore, Entry, StateError};

const MAGIC: &[u8; 8] = b"MQEDEV1\n";
const NAME_BYTES: usize = 48;
const HEAD_BYTES: usize = MAGIC.len() + NAME_BYTES;
const GROUP_HEAD_BYTES: usize = 8;
/// A smaller file is never written anew.
const COMPACT_BYTES_MIN: usize = 1024 * 1024;
/// A file is written anew when it has grown to so many times its length at the last time.
const COMPACT_TIMES: usize = 4;

/// The store. See the module's text.
#[derive(Debug)]
pub struct FileStore {
    content: Content,
    open: Arc<Open>,
    device: DeviceName,
    length: usize,
    compacted: usize,
    failed: bool,
}

/// What a write that goes on behind a dropped future still holds.
#[derive(Debug)]
struct Open {
    directory: PathBuf,
    file: File,
    /// Held as long as anybody may write.
    _lock: Arc<File>,
}

impl FileStore {
    /// Opens the store of a device, or makes it. Blocks on the disk for a moment.
    pub fn open(directory: &Path, device: DeviceName) -> Result<Self, StateError> {
        fs::create_dir_all(directory).map_err(io_error("create", directory))?;
        let lock = Arc::new(lock(directory)?);
        let path = log_path(directory);
        // Left over from a crash while the file was written anew: the old one holds all.
        let _ = fs::remove_file(new_path(directory));
        if !path.exists() {
            let open = replace(directory, lock, device, &Content::default())?;
            let length = HEAD_BYTES;
            let open = Arc::new(open);
            return Ok(Self {
                content: Content::default(),
                open,
                device,
                length,
                compacted: length,
                failed: false,
            });
        }
        let bytes = fs::read(&path).map_err(io_error("read", &path))?;
        let (content, length) = read(&bytes, device, directory)?;
        let file = OpenOptions::new().append(true).open(&path).map_err(io_error("open", &path))?;
        if length < bytes.len() {
            // A torn end: what it said was told to nobody.
            file.set_len(length as u64).map_err(io_error("cut", &path))?;
            file.sync_all().map_err(io_error("sync", &path))?;
        }
        let open = Arc::new(Open { directory: directory.to_owned(), file, _lock: lock });
        Ok(Self { content, open, device, length, compacted: length, failed: false })
    }

    /// The length of the file.
    pub fn length(&self) -> usize {
        self.length
    }

    async fn append(&mut self, group: BytesMut) -> Result<(), StateError> {
        let open = Arc::clone(&self.open);
        self.length += group.len();
        blocking(move || {
            let path = log_path(&open.directory);
            (&open.file).write_all(&group).map_err(io_error("write", &path))?;
            open.file.sync_data().map_err(io_error("sync", &path))
        })
        .await
    }

    async fn compact(&mut self) -> Result<(), StateError> {
        let (open, device, content) = (Arc::clone(&self.open), self.device, self.content.clone());
        let (open, length) = blocking(move || {
            let Open { directory, _lock: lock, .. } = &*open;
            let open = replace(directory, Arc::clone(lock), device, &content)?;
            let path = log_path(directory);
            let length = open.file.metadata().map_err(io_error("read", &path))?.len();
            Ok((open, length as usize))
        })
        .await?;
        self.open = Arc::new(open);
        (self.length, self.compacted) = (length, length);
        Ok(())
    }
}

impl DeviceStore for FileStore {
    fn content(&self) -> &Content {
        &self.content
    }

    async fn write(&mut self, entries: Vec<Entry>) -> Result<(), StateError> {
        if self.failed {
            return Err(StateError::Failed);
        }
        let mut group = BytesMut::new();
        encode_group(&entries, &mut group);
        // Until it is known how it ended.
        self.failed = true;
        self.append(group).await?;
        entries.iter().for_each(|entry| self.content.apply(entry));
        if self.length >= COMPACT_BYTES_MIN && self.length >= COMPACT_TIMES * self.compacted {
            self.compact().await?;
        }
        self.failed = false;
        Ok(())
    }
}

fn log_path(directory: &Path) -> PathBuf {
    directory.join("device.log")
}

fn new_path(directory: &Path) -> PathBuf {
    directory.join("device.log.new")
}

fn lock(directory: &Path) -> Result<File, StateError> {
    let path = directory.join("lock");
    let options = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
    let file = options.map_err(io_error("open", &path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            Err(StateError::InUse { directory: directory.display().to_string() })
        }
        Err(TryLockError::Error(error)) => Err(io_error("lock", &path)(error)),
    }
}

/// A whole new file in place of the old one, if there is one.
fn replace(
    directory: &Path,
    lock: Arc<File>,
    device: DeviceName,
    content: &Content,
) -> Result<Open, StateError> {
    let (new, path) = (new_path(directory), log_path(directory));
    let mut bytes = BytesMut::new();
    bytes.put_slice(MAGIC);
    bytes.put_slice(device.trimmed());
    bytes.put_bytes(b' ', NAME_BYTES - device.trimmed().len());
    if *content != Content::default() {
        encode_group(&content.snapshot(), &mut bytes);
    }
    let options = OpenOptions::new().create(true).truncate(false).append(true).open(&new);
    let mut file = options.map_err(io_error("create", &new))?;
    // A file that lies there from a crash is empty from here on.
    file.set_len(0).map_err(io_error("cut", &new))?;
    file.write_all(&bytes).map_err(io_error("write", &new))?;
    file.sync_all().map_err(io_error("sync", &new))?;
    fs::rename(&new, &path).map_err(io_error("rename", &new))?;
    let synced = File::open(directory).and_then(|opened| opened.sync_all());
    synced.map_err(io_error("sync", directory))?;
    Ok(Open { directory: directory.to_owned(), file, _lock: lock })
}

/// What a file says, and how long it is without a torn end.
fn read(bytes: &[u8], device: DeviceName, directory: &Path) -> Result<(Content, usize), StateError> {
    let damaged = |offset| StateError::Damaged { path: log_path(directory).display().to_string(), offset };
    // A file gets its name when it is whole.
    let (head, _) = bytes.split_at_checked(HEAD_BYTES).ok_or(damaged(0))?;
    let name = head.strip_prefix(MAGIC).ok_or(damaged(0))?.trim_ascii_end();
    if name != device.trimmed() {
        return Err(StateError::OtherDevice {
            directory: directory.display().to_string(),
            found: String::from_utf8_lossy(name).into_owned(),
            wanted: device.to_string(),
        });
    }
    let mut content = Content::default();
    let mut at = HEAD_BYTES;
    while let Some((entries, length)) = decode_group(&bytes[at..]) {
        entries.iter().for_each(|entry| content.apply(entry));
        at += length;
    }
    // Only the last write can be torn: a whole group behind one that is not whole means that what was durable is lost.
    let behind = group_length(&bytes[at..]).and_then(|length| bytes.get(at + length..));
    if behind.is_some_and(|rest| decode_group(rest).is_some()) {
        return Err(damaged(at));
    }
    Ok((content, at))
}

fn encode_group(entries: &[Entry], out: &mut BytesMut) {
    let start = out.len();
    out.put_bytes(0, GROUP_HEAD_BYTES);
    for entry in entries {
        match entry {
            Entry::Record(record) => {
                out.put_u8(1);
                record.encode(out);
            }
            Entry::Deliveries(uid, deliveries) => {
                out.put_slice(&[2, *deliveries]);
                DeviceRecord::Forgotten(vec![*uid]).encode(out);
            }
            Entry::Used(uids) => {
                out.put_u8(3);
                DeviceRecord::Forgotten(uids.clone()).encode(out);
            }
        }
    }
    let body = start + GROUP_HEAD_BYTES;
    let (length, checksum) = ((out.len() - body) as u32, crc32fast::hash(&out[body..]));
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    out[start + 4..body].copy_from_slice(&checksum.to_be_bytes());
}

/// What the head of a group says of its length, the head included.
fn group_length(bytes: &[u8]) -> Option<usize> {
    let length = u32::from_be_bytes(*bytes.first_chunk::<4>()?);
    (length > 0).then_some(GROUP_HEAD_BYTES + length as usize)
}

/// The entries of a whole group, and its length.
fn decode_group(bytes: &[u8]) -> Option<(Vec<Entry>, usize)> {
    let length = group_length(bytes)?;
    let group = bytes.get(..length)?;
    let (head, mut body) = group.split_at(GROUP_HEAD_BYTES);
    if crc32fast::hash(body).to_be_bytes() != head[4..] {
        return None;
    }
    let mut entries = Vec::new();
    while let Some((kind, rest)) = body.split_first() {
        let (deliveries, rest) = match kind {
            2 => rest.split_first()?,
            _ => (&0, rest),
        };
        let mut records = Records::new(rest);
        let record = records.next()?;
        entries.push(match (kind, record) {
            (1, record) => Entry::Record(record),
            (2, DeviceRecord::Forgotten(uids)) => Entry::Deliveries(*uids.first()?, *deliveries),
            (3, DeviceRecord::Forgotten(uids)) => Entry::Used(uids),
            _ => return None,
        });
        body = &rest[records.valid_bytes()..];
    }
    Some((entries, length))
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StateError> + Send + 'static,
) -> Result<T, StateError> {
    // It fails only when the runtime ends, or the work panics.
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(StateError::Failed))
}

fn io_error(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> StateError {
    let path = path.display().to_string();
    move |error| StateError::Io { action, path, error: error.to_string() }
}

#[cfg(test)]
mod tests;
