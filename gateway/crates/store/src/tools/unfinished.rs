//! A data directory that is being made, by restore or salvage: until it is done its `format` says so, so that a start
//! refuses it, and nobody takes a part for the whole or an empty store.

use crate::StoreError;
use crate::files::{Files, failed};

/// The file with the version.
pub(crate) const FORMAT: &str = "format";
const FORMAT_NEW: &str = "format.new";
/// No number, so no version.
const TEXT: &str = "not finished: a restore or salvage was cut off here\n";

/// Whether these are the bytes of the `format` of an unfinished one, also where writing them was cut off.
pub(crate) fn is(format: &[u8]) -> bool {
    !format.is_empty() && TEXT.as_bytes().starts_with(format)
}

/// From now on a start refuses the directory.
pub(crate) fn begin(files: &dyn Files) -> Result<(), StoreError> {
    if files.open(FORMAT).map_err(failed(files, "open", FORMAT))?.is_some() {
        return replace(files, TEXT);
    }
    // Of a new one the name alone is refused, so it need not appear with its text.
    write(files, FORMAT, TEXT)?;
    files.sync_directory("").map_err(failed(files, "sync", ""))
}

/// It is a store of this version. Everything else in it must be durable.
pub(crate) fn end(files: &dyn Files, version: u32) -> Result<(), StoreError> {
    replace(files, &format!("{version}\n"))
}

fn replace(files: &dyn Files, text: &str) -> Result<(), StoreError> {
    write(files, FORMAT_NEW, text)?;
    files.rename(FORMAT_NEW, FORMAT).map_err(failed(files, "rename", FORMAT_NEW))?;
    files.sync_directory("").map_err(failed(files, "sync", ""))
}

fn write(files: &dyn Files, path: &str, text: &str) -> Result<(), StoreError> {
    let file = files.create(path, 0).map_err(failed(files, "create", path))?;
    file.write_at(text.as_bytes(), 0).map_err(failed(files, "write", path))?;
    file.sync().map_err(failed(files, "sync", path))
}
