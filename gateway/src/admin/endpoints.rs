//! `endpoints.json` in the data directory: the real addresses of the listeners, for the commands (INTERFACE.md 3).

use std::io;
use std::path::Path;

use crate::report::Listeners;

/// The file in the data directory.
pub const ENDPOINTS_FILE: &str = "endpoints.json";

/// Writes the addresses, all or nothing. They are true for this start only, so nothing is synced.
pub fn write_endpoints(data: &Path, listeners: &Listeners) -> io::Result<()> {
    let text = serde_json::to_string_pretty(listeners)? + "\n";
    let unfinished = data.join("endpoints.json.new");
    std::fs::write(&unfinished, text)?;
    std::fs::rename(unfinished, data.join(ENDPOINTS_FILE))
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
