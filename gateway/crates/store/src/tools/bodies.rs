//! The files of long bodies, read for the tools.

use super::source::Source;
use crate::StoreError;
use crate::bodies::{BodyName, DIRECTORY, path_of};

/// Bytes read at once when only the checksum counts.
const PIECE_BYTES: usize = 1 << 20;

/// What is wrong with the file, if anything is.
pub(crate) fn fault(source: &Source, name: &BodyName) -> Result<Option<&'static str>, StoreError> {
    let Some(input) = source.open(&path_of(name.number))? else {
        return Ok(Some("the file of a body is missing"));
    };
    if input.length != name.length {
        return Ok(Some("the file of a body has another length"));
    }
    let mut checksum = crc32fast::Hasher::new();
    let mut offset = 0;
    while offset < input.length {
        let bytes = input.read(offset, PIECE_BYTES)?;
        if bytes.is_empty() {
            break;
        }
        checksum.update(&bytes);
        offset += bytes.len() as u64;
    }
    Ok((checksum.finalize() != name.checksum).then_some("the file of a body does not verify"))
}

/// The bytes of the file, if they verify.
pub(crate) fn read(source: &Source, name: &BodyName) -> Result<Option<Vec<u8>>, StoreError> {
    let bytes = source.read(&path_of(name.number))?;
    Ok(bytes.filter(|bytes| bytes.len() as u64 == name.length && crc32fast::hash(bytes) == name.checksum))
}

/// What is in the directory of the bodies.
#[derive(Debug, Default)]
pub(crate) struct Present {
    /// The number of each file, and its bytes.
    pub(crate) files: Vec<(u64, u64)>,
    /// Names that are none of these.
    pub(crate) others: Vec<String>,
}

/// Looks what is there.
pub(crate) fn list(source: &Source) -> Result<Present, StoreError> {
    let mut present = Present::default();
    for entry in source.list(DIRECTORY)? {
        // Just as the store writes it: no zeros in front, no sign.
        match entry.name.parse::<u64>().ok().filter(|n| !entry.is_directory && n.to_string() == entry.name) {
            Some(number) => {
                let input = source.open(&path_of(number))?;
                present.files.push((number, input.map_or(0, |input| input.length)));
            }
            None => present.others.push(entry.name),
        }
    }
    Ok(present)
}
