//! `endpoints.json` in the data directory: the real addresses of the listeners, for the commands (INTERFACE.md 3).

use std::io;
use std::path::Path;

use crate::report::Listeners;

/// The file in the data directory.
pub const ENDPOINTS_FILE: &str = "endpoints.json";

/// Writes the addresses, all or nothing. They are true for this start only, so nothing is synced.
pub fn write_endpoints(data: &Path, listeners: &Listeners) -> io::Result<()> {
    let text = serde_json::to_string_pretty(listeners)? + "\n";
    let path = data.join(ENDPOINTS_FILE);
    if std::fs::read_to_string(&path).is_ok_and(|there| there == text) {
        return Ok(());
    }
    let unfinished = data.join("endpoints.json.new");
    let written = match std::fs::write(&unfinished, &text) {
        // On a full disk the old file still has a block of its own.
        Err(error) if error.kind() == io::ErrorKind::StorageFull => {
            let _ = std::fs::remove_file(&unfinished);
            std::fs::OpenOptions::new().write(true).open(&path).and_then(|mut file| {
                io::Write::write_all(&mut file, text.as_bytes())?;
                file.set_len(text.len() as u64)
            })
        }
        Err(error) => Err(error),
        Ok(()) => std::fs::rename(unfinished, &path),
    };
    written.map_err(|error| io::Error::new(error.kind(), format!("cannot write {}: {error}", path.display())))
}

/// The addresses that the last start wrote.
pub fn read_endpoints(data: &Path) -> io::Result<Listeners> {
    Ok(serde_json::from_str(&std::fs::read_to_string(data.join(ENDPOINTS_FILE))?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let listeners =
            Listeners { mq: "127.0.0.1:1".into(), devices: "[::1]:2".into(), admin: "127.0.0.1:3".into() };
        write_endpoints(folder.path(), &listeners).unwrap();
        let read = read_endpoints(folder.path()).unwrap();
        assert_eq!((read.mq, read.devices, read.admin), (listeners.mq, listeners.devices, listeners.admin));
    }
}
