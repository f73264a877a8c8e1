//! One line on standard error that says how far a long command is, where a person looks at it.

use std::io::{IsTerminal, Write, stderr};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use store::tools::{Progress, progress};

use crate::cli::table::bytes;

/// A line that changes more often cannot be read, and a command that is done before needs none.
const EVERY: Duration = Duration::from_millis(250);

/// Does the work, which is called so.
pub(super) fn shown<T>(what: &str, work: impl FnOnce() -> T) -> T {
    if stderr().is_terminal() { beside(what, &mut stderr(), work) } else { work() }
}

/// The same, and writes the line beside. Nothing is left of it at the end.
fn beside<T>(what: &str, out: &mut (impl Write + Send), work: impl FnOnce() -> T) -> T {
    let (done, wait) = channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut lines = 0_u32;
            while wait.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                lines = lines.saturating_add(1);
                // Who cannot be told is not told.
                let _ = write!(out, "\r{}\x1b[K", line(what, &progress(), EVERY * lines));
                let _ = out.flush();
            }
            if lines > 0 {
                let _ = write!(out, "\r\x1b[K");
                let _ = out.flush();
            }
        });
        let result = work();
        // The thread sees the end, also when the work panics.
        drop(done);
        result
    })
}

fn line(what: &str, progress: &Progress, since: Duration) -> String {
    let mut line = format!("{what}: {} s", since.as_secs());
    for (did, count) in [("read", progress.read_bytes), ("written", progress.written_bytes)] {
        if count > 0 {
            line.push_str(&format!(", {} {did}", bytes(count)));
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let check = |read_bytes, written_bytes, since, expected: &str| {
            let progress = Progress { read_bytes, written_bytes };
            assert_eq!(line("restore", &progress, Duration::from_millis(since)), expected);
        };
        check(0, 0, 250, "restore: 0 s");
        check(3 << 20, 0, 2500, "restore: 2 s, 3.0 MiB read");
        check(3 << 20, 512, 61_000, "restore: 61 s, 3.0 MiB read, 512 B written");
    }

    /// Gives on what is written.
    struct Told(std::sync::mpsc::Sender<Vec<u8>>);

    impl Write for Told {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let _ = self.0.send(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_while_it_lasts_and_none_behind() {
        let (told, written) = channel();
        let mut first = beside("check", &mut Told(told), || written.recv().unwrap());
        written.try_iter().for_each(|more| first.extend(more));
        let text = String::from_utf8(first).unwrap();
        assert!(text.starts_with("\rcheck: 0 s") && text.ends_with("\r\x1b[K"), "{text:?}");
    }
}
