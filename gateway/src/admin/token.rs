//! The token that everything but health and metrics needs: a file that only the service's user can read.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// The file in the data directory.
pub const TOKEN_FILE: &str = "admin.token";

/// Random bytes in a token.
const TOKEN_BYTES: usize = 32;

/// The token of the data directory; it is made when there is none.
pub fn ensure_token(data: &Path) -> io::Result<String> {
    match read_token(data) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => make_token(data),
        found => found,
    }
}

/// The token of the data directory.
pub fn read_token(data: &Path) -> io::Result<String> {
    let file = data.join(TOKEN_FILE);
    let text = fs::read_to_string(&file)?;
    let mode = fs::metadata(&file)?.permissions().mode();
    if mode & 0o077 != 0 {
        tracing::warn!(file = %file.display(), "others can read the admin token: chmod 600 it, or remove it and start again");
    }
    match text.trim() {
        "" => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("{} is empty: remove it and start again", file.display()),
        )),
        token => Ok(token.to_owned()),
    }
}

fn make_token(data: &Path) -> io::Result<String> {
    let mut bytes = [0; TOKEN_BYTES];
    crate::system::random(&mut bytes)?;
    let token: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    // Written aside, so that a kill never leaves an empty token behind.
    let unfinished = data.join("admin.token.new");
    match fs::remove_file(&unfinished) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
    writeln!(file, "{token}")?;
    file.sync_all()?;
    fs::rename(unfinished, data.join(TOKEN_FILE))?;
    Ok(token)
}

/// Compares without telling by its time how much of the guess is right.
pub(super) fn same_token(guess: &[u8], token: &[u8]) -> bool {
    let difference = guess.iter().zip(token).fold(0, |sum, (a, b)| sum | (a ^ b));
    std::hint::black_box(difference) == 0 && guess.len() == token.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_made_once_and_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let token = ensure_token(folder.path()).unwrap();
        assert_eq!(token.len(), 2 * TOKEN_BYTES);
        assert_eq!(ensure_token(folder.path()).unwrap(), token);
        let mode = fs::metadata(folder.path().join(TOKEN_FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn an_empty_token_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(TOKEN_FILE), " \n").unwrap();
        assert_eq!(ensure_token(folder.path()).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn tokens_compare_whole() {
        let check = |guess: &[u8], expected| assert_eq!(same_token(guess, b"abc"), expected);
        check(b"abc", true);
        check(b"ab", false);
        check(b"abcd", false);
        check(b"", false);
        check(b"abd", false);
    }
}
