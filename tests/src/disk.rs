//! A small disk of a test's own: ext4 in an image file on a loop device. It can be full; and where the image lies on a
//! tmpfs that has no room for some of its blocks, it really fails. What is done on it is the test's.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{FallocateFlags, fallocate, statvfs};
use tempfile::TempDir;

const MIB: u64 = 1 << 20;
/// Of the file systems that are made here, and of their loop devices' pages.
const BLOCK: u64 = 4096;
const PROGRAMS: [&str; 5] = ["mkfs.ext4", "dumpe2fs", "filefrag", "mount", "umount"];

/// A mounted file system; unmounted when it is dropped, also in a panic.
#[derive(Debug)]
pub struct Disk {
    /// In the order in which they were mounted.
    mounts: Vec<PathBuf>,
    image: PathBuf,
    folder: TempDir,
}

impl Disk {
    /// A sound disk of this size. `None` after a sentence on standard error where nothing may be mounted.
    pub fn sound(mib: u64) -> Option<Self> {
        let mut disk = Self::prepare("disk.img")?;
        disk.format(mib);
        disk.mount_image().then_some(disk)
    }

    /// A disk that seems to have `mib`, of which only `backed_mib` can be written beside what the file system needs
    /// for itself: behind that the device fails.
    pub fn thin(mib: u64, backed_mib: u64) -> Option<Self> {
        let mut disk = Self::prepare("backing/disk.img")?;
        if !disk.mount_backing(mib) {
            return None;
        }
        disk.format(mib);
        disk.back_metadata();
        disk.resize_backing(disk.backed() + backed_mib * MIB);
        disk.mount_image().then_some(disk)
    }

    /// A disk whose device is whole, so far: see [`Disk::break_behind`].
    pub fn breakable(mib: u64) -> Option<Self> {
        let mut disk = Self::prepare("backing/disk.img")?;
        if !disk.mount_backing(mib) {
            return None;
        }
        disk.format(mib);
        fill_holes(&disk.image, 0..mib * MIB);
        disk.mount_image().then_some(disk)
    }

    /// Where the file system is.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("disk")
    }

    /// Bytes that can be written.
    pub fn free(&self) -> u64 {
        let stat = statvfs(self.path()).unwrap();
        stat.f_bavail * stat.f_frsize
    }

    /// Whether the file system has been made read-only, as ext4 does when its own journal fails.
    pub fn is_read_only(&self) -> bool {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        let path = self.path();
        let line = mounts.lines().find(|line| line.split(' ').nth(1) == path.to_str());
        line.is_some_and(|line| line.split(' ').nth(3).is_some_and(|options| options.starts_with("ro")))
    }

    /// Fills it with a file that has nothing to do with the store, and leaves so many bytes.
    pub fn fill(&self, leave: u64) -> PathBuf {
        let path = self.path().join("foreign");
        let file = OpenOptions::new().create(true).append(true).open(&path).unwrap();
        let mut piece = MIB;
        while piece >= BLOCK {
            if self.free() < leave + piece {
                piece /= 2;
                continue;
            }
            match (&file).write_all(&vec![b'f'; usize::try_from(piece).unwrap()]) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::StorageFull => piece /= 2,
                Err(error) => panic!("{}: {error}", path.display()),
            }
        }
        file.sync_all().unwrap();
        path
    }

    /// The device fails from now on where the blocks of this file are, behind `offset`; false if there are none.
    /// Nothing there may have been written: it would read as zeros.
    pub fn break_behind(&self, file: &Path, offset: u64) -> bool {
        // Blocks that are handed out late have no place yet.
        File::open(file).unwrap().sync_all().unwrap();
        let listed = output(Command::new("filefrag").args(["-e", "-b4096"]).arg(file));
        let image = OpenOptions::new().write(true).open(&self.image).unwrap();
        let mut broken = 0;
        for extent in listed.lines().filter_map(extent) {
            let skip = (offset / BLOCK).saturating_sub(extent.logical);
            if skip < extent.count {
                let (at, count) = (extent.physical + skip, extent.count - skip);
                let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
                fallocate(&image, flags, at * BLOCK, count * BLOCK).unwrap();
                broken += count;
            }
        }
        // What is used now is all there is.
        self.resize_backing(self.backed());
        broken > 0
    }

    /// The device is whole again.
    pub fn repair(&self) {
        let bytes = fs::metadata(&self.image).unwrap().len();
        self.resize_backing(bytes + MIB);
        fill_holes(&self.image, 0..bytes);
    }

    fn prepare(image: &str) -> Option<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let is_there = |name: &&str| std::env::split_paths(&path).any(|folder| folder.join(name).is_file());
        if let Some(missing) = PROGRAMS.iter().find(|name| !is_there(name)) {
            skipped(&format!("the program {missing} is not on the PATH"));
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        Some(Self { mounts: Vec::new(), image: folder.path().join(image), folder })
    }

    fn format(&self, mib: u64) {
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&self.image).unwrap();
        file.set_len(mib * MIB).unwrap();
        drop(file);
        let mut command = Command::new("mkfs.ext4");
        // Nothing is kept for root, who runs these tests; all that the file system needs for itself is there at once.
        command.args(["-q", "-F", "-b", "4096", "-m", "0", "-N", "4096", "-J", "size=4", "-E"]);
        command.arg("nodiscard,lazy_itable_init=0,lazy_journal_init=0").arg(&self.image);
        output(&mut command);
    }

    fn mount_backing(&mut self, mib: u64) -> bool {
        let path = self.folder.path().join("backing");
        fs::create_dir(&path).unwrap();
        let size = format!("size={}m", mib + 4);
        self.mount(Command::new("mount").args(["-t", "tmpfs", "-o", &size, "none"]).arg(&path), path.clone())
    }

    fn mount_image(&mut self) -> bool {
        let (image, path) = (self.image.clone(), self.path());
        fs::create_dir(&path).unwrap();
        self.mount(Command::new("mount").args(["-o", "loop"]).arg(image).arg(&path), path.clone())
    }

    fn mount(&mut self, command: &mut Command, path: PathBuf) -> bool {
        let refused = match command.output() {
            Ok(output) if output.status.success() => None,
            Ok(output) => {
                Some(String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or("it failed").to_owned())
            }
            Err(error) => Some(error.to_string()),
        };
        if let Some(why) = &refused {
            skipped(why);
        } else {
            self.mounts.push(path);
        }
        refused.is_none()
    }

    /// Bytes of the image that are there.
    fn backed(&self) -> u64 {
        let stat = statvfs(self.folder.path().join("backing")).unwrap();
        (stat.f_blocks - stat.f_bfree) * stat.f_frsize
    }

    fn resize_backing(&self, bytes: u64) {
        let size = format!("remount,size={}", bytes.next_multiple_of(BLOCK));
        output(Command::new("mount").args(["-o", &size]).arg(self.folder.path().join("backing")));
    }

    /// Gives room to all that the file system has written, or means to write again, for itself.
    fn back_metadata(&self) {
        let listed = output(Command::new("dumpe2fs").arg(&self.image));
        let mut from = 0;
        for line in listed.lines().filter_map(|line| line.strip_prefix("  Free blocks: ")) {
            for range in line.trim().split(", ").filter(|range| !range.is_empty()) {
                let (first, last) = range.split_once('-').unwrap_or((range, range));
                let (first, last): (u64, u64) = (first.parse().unwrap(), last.parse().unwrap());
                fill_holes(&self.image, from * BLOCK..first * BLOCK);
                from = last + 1;
            }
        }
        fill_holes(&self.image, from * BLOCK..fs::metadata(&self.image).unwrap().len());
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        for path in self.mounts.drain(..).rev() {
            let unmount = |args: &[&str]| {
                let output = Command::new("umount").args(args).arg(&path).output();
                output.is_ok_and(|output| output.status.success())
            };
            // Whatever still has a file open there keeps it only as long as it has.
            if !unmount(&[]) && !unmount(&["--lazy"]) {
                eprintln!("{} stays mounted", path.display());
            }
        }
    }
}

/// In the gate too: where it may not mount, it cannot.
fn skipped(why: &str) {
    eprintln!("skipped: no file system can be mounted here, so no disk can be made full or broken: {why}");
}

/// A piece of a file and where it is on the device, in blocks.
struct Extent {
    logical: u64,
    physical: u64,
    count: u64,
}

/// A line of `filefrag -e`: number, logical first..last, physical first..last, length and more.
fn extent(line: &str) -> Option<Extent> {
    let mut parts = line.split(':').map(str::trim);
    parts.next()?.parse::<u32>().ok()?;
    let first = |range: &str| range.split("..").next()?.trim().parse().ok();
    let (logical, physical) = (first(parts.next()?)?, first(parts.next()?)?);
    Some(Extent { logical, physical, count: parts.next()?.parse().ok()? })
}

/// Gives blocks to what has none, and changes nothing.
fn fill_holes(file: &Path, range: std::ops::Range<u64>) {
    let file = OpenOptions::new().write(true).open(file).unwrap();
    if !range.is_empty() {
        fallocate(&file, FallocateFlags::KEEP_SIZE, range.start, range.end - range.start).unwrap();
    }
}

/// What a program prints that must succeed.
#[track_caller]
fn output(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}
