//! The data directory: one process, versions, what cannot be used, and the committer's own thread.

use std::path::Path;
use std::time::{Duration, Instant};

use super::*;
use crate::files::{Files, Lock};

pub(super) fn open(directory: &Path) -> Result<(Journal, Recovered), StoreError> {
    Journal::open(OpenOptions::new(directory, Arc::new(Told::default())))
}

#[test]
fn a_second_process_is_refused_until_the_first_is_gone() {
    let directory = tempfile::tempdir().unwrap();
    let first = open(directory.path()).unwrap();
    let second = open(directory.path()).map(|_| ());
    let Err(StoreError::InUse { directory: named }) = &second else { panic!("{second:?}") };
    assert_eq!(Path::new(named), directory.path());
    drop(first);
    open(directory.path()).unwrap();
}

#[test]
fn a_directory_that_cannot_be_made_is_a_clear_error() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    std::fs::write(&file, "").unwrap();
    let opened = open(&file.join("data")).map(|_| ());
    let Err(StoreError::Io { action: "create", path, .. }) = &opened else { panic!("{opened:?}") };
    assert!(path.ends_with("file/data"), "{path}");
}

/// Like the simulated disk, but nothing can be created on it.
#[derive(Debug)]
struct ReadOnly(SimFiles);

impl Files for ReadOnly {
    fn make_directory(&self, path: &str) -> std::io::Result<()> {
        self.0.make_directory(path)
    }
    fn list(&self, path: &str) -> std::io::Result<Vec<String>> {
        self.0.list(path)
    }
    fn create(&self, _path: &str, _reserve: u64) -> std::io::Result<Arc<dyn crate::files::File>> {
        Err(std::io::ErrorKind::PermissionDenied.into())
    }
    fn open(&self, path: &str) -> std::io::Result<Option<Arc<dyn crate::files::File>>> {
        self.0.open(path)
    }
    fn rename(&self, from: &str, to: &str) -> std::io::Result<()> {
        self.0.rename(from, to)
    }
    fn remove(&self, path: &str) -> std::io::Result<()> {
        self.0.remove(path)
    }
    fn sync_directory(&self, path: &str) -> std::io::Result<()> {
        self.0.sync_directory(path)
    }
    fn lock(&self, path: &str) -> std::io::Result<Option<Box<dyn Lock>>> {
        Files::lock(&self.0, path)
    }
    fn show(&self, path: &str) -> String {
        format!("/data/{path}")
    }
}

#[test]
fn an_unwritable_directory_is_a_clear_error() {
    let options = OpenOptions { index: false, ..OpenOptions::new("", Arc::new(Told::default())) };
    let opened = Journal::open_inline(Arc::new(ReadOnly(SimFiles::new(1))), &options).map(|_| ());
    let error = opened.unwrap_err().to_string();
    assert_eq!(error, "cannot create /data/checkpoint.new: permission denied");
}

#[test]
fn a_newer_format_is_refused_and_an_unreadable_one_is_damage() {
    let directory = tempfile::tempdir().unwrap();
    drop(open(directory.path()).unwrap());
    let format = directory.path().join("format");
    std::fs::write(&format, "3\n").unwrap();
    let opened = open(directory.path()).map(|_| ());
    assert!(matches!(opened, Err(StoreError::Format { found: 3, known: 2, .. })), "{opened:?}");
    std::fs::write(&format, "what\n").unwrap();
    assert!(matches!(open(directory.path()).map(|_| ()), Err(StoreError::Damaged { .. })));
    std::fs::remove_file(&format).unwrap();
    assert!(matches!(open(directory.path()).map(|_| ()), Err(StoreError::Damaged { .. })));
}

#[test]
fn other_files_in_the_directory_are_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    drop(open(directory.path()).unwrap());
    for name in ["endpoints.json", "admin.token", "journal/notes.txt"] {
        std::fs::write(directory.path().join(name), "ours").unwrap();
    }
    drop(open(directory.path()).unwrap());
    for name in ["endpoints.json", "admin.token", "journal/notes.txt"] {
        assert_eq!(std::fs::read_to_string(directory.path().join(name)).unwrap(), "ours");
    }
}

#[test]
fn a_creation_that_was_cut_off_is_begun_again() {
    for fuse in 0..20 {
        let files = SimFiles::new(u64::from(fuse));
        files.set_fuse(Some(fuse));
        let mut rig = Rig { files, told: Arc::default(), journal: None, clock_ms: 0 };
        let _ = rig.open();
        rig.journal = None;
        rig.files.power_loss();
        assert_eq!(rig.open().unwrap(), Recovered::default(), "fuse {fuse}");
        rig.put(10);
        assert_eq!(rig.reopen().unwrap().messages.len(), 1);
    }
}

#[test]
fn the_thread_claims_after_idling() {
    let directory = tempfile::tempdir().unwrap();
    let (mut journal, _) = open(directory.path()).unwrap();
    let groups = journal.stat().groups;
    let mut batch = journal.begin();
    batch.message(message(10));
    journal.submit(batch);
    let deadline = Instant::now() + Duration::from_secs(30);
    while journal.stat().groups < groups + 2 {
        assert!(Instant::now() < deadline, "no mark was written");
        std::thread::yield_now();
    }
}

/// The files of a directory with their contents, the index left out, which is derived.
fn contents(directory: &Path) -> std::collections::BTreeMap<std::path::PathBuf, Vec<u8>> {
    [directory.to_owned(), directory.join("journal")]
        .iter()
        .flat_map(|folder| std::fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .map(|path| (path.clone(), std::fs::read(&path).unwrap()))
        .collect()
}

#[test]
fn a_directory_that_is_removed_while_in_use_is_a_failure() {
    let parent = tempfile::tempdir().unwrap();
    let data = parent.path().join("data");
    let told = Arc::new(Told::default());
    let watch = Arc::clone(&told) as Arc<dyn Watch>;
    let options = OpenOptions { index: false, ..OpenOptions::new(&data, watch) };
    let (mut journal, _) = Journal::open(options).unwrap();
    journal.maintain(0);
    assert!(told.failed.lock().unwrap().is_empty());
    std::fs::remove_dir_all(&data).unwrap();
    for second in 1..4 {
        journal.maintain(second * 1000);
    }
    let failed = told.failed.lock().unwrap().clone();
    let [StoreError::Replaced { directory }] = &failed[..] else { panic!("{failed:?}") };
    assert_eq!(Path::new(directory), data);
    // What is handed over now is not acknowledged.
    let mut batch = journal.begin();
    batch.message(message(10));
    let position = journal.submit(batch);
    let closed = Box::new(journal).close();
    assert!(matches!(closed, Err(StoreError::Replaced { .. })), "{closed:?}");
    assert!(*told.durable.lock().unwrap() < position);
    assert!(!data.exists());
}

#[test]
fn a_stop_writes_nothing_into_the_directory_of_another_store() {
    for maintained in [false, true] {
        let parent = tempfile::tempdir().unwrap();
        let data = parent.path().join("data");
        let (mut old, _) = open(&data).unwrap();
        std::fs::rename(&data, parent.path().join("moved")).unwrap();
        let (mut new, _) = open(&data).unwrap();
        let mut batch = old.begin();
        batch.message(message(10));
        old.submit(batch);
        let before = contents(&data);
        if maintained {
            old.maintain(60_000);
        }
        let closed = Box::new(old).close();
        assert!(matches!(closed, Err(StoreError::Replaced { .. })), "{closed:?}");
        assert_eq!(contents(&data), before);
        new.maintain(0);
        Box::new(new).close().unwrap();
        open(&data).unwrap();
    }
}

/// A new segment would be created in it, too.
#[test]
fn no_segment_is_begun_in_the_directory_of_another_store() {
    let parent = tempfile::tempdir().unwrap();
    let data = parent.path().join("data");
    let (mut old, _) = open(&data).unwrap();
    std::fs::rename(&data, parent.path().join("moved")).unwrap();
    drop(open(&data).unwrap());
    let before = contents(&data);
    let mut batch = old.begin();
    batch.message(message(60 << 20));
    batch.message(message(10 << 20));
    old.submit(batch);
    let closed = Box::new(old).close();
    assert!(matches!(closed, Err(StoreError::Replaced { .. })), "{closed:?}");
    assert_eq!(contents(&data), before);
}
