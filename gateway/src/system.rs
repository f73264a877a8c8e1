//! What is asked of the machine beside clock and sockets: random bits, and threads that may block.

use std::io;

use tokio::task::JoinError;

/// Fills with bits that nobody can foresee.
pub(crate) fn random(bytes: &mut [u8]) -> io::Result<()> {
    #[cfg(test)]
    if crate::simulation::random(bytes) {
        return Ok(());
    }
    getrandom::fill(bytes)
        .map_err(|error| io::Error::other(format!("the system gives no random bits: {error}")))
}

/// Does what may block, beside the runtime's threads.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, JoinError> {
    #[cfg(test)]
    if turmoil::in_simulation() {
        // In its turn, so that one seed has one course.
        return tokio::spawn(async { work() }).await;
    }
    tokio::task::spawn_blocking(work).await
}
