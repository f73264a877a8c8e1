//! Work that takes time (a disk, room in the budget), done beside everything else, so that one conversation does not
//! hold up the others of its socket.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

/// Futures that are waited for together. There is at most one for each conversation.
pub(super) struct Works<T> {
    under_way: Vec<Pin<Box<dyn Future<Output = T> + Send>>>,
}

impl<T> Works<T> {
    /// None.
    pub(super) fn new() -> Self {
        Self { under_way: Vec::new() }
    }

    /// One more.
    pub(super) fn push(&mut self, work: impl Future<Output = T> + Send + 'static) {
        self.under_way.push(Box::pin(work));
    }

    /// The next that is done; for ever if there is none. Cancel safe.
    pub(super) async fn next(&mut self) -> T {
        poll_fn(|cx| {
            for index in 0..self.under_way.len() {
                if let Poll::Ready(done) = self.under_way[index].as_mut().poll(cx) {
                    drop(self.under_way.swap_remove(index));
                    return Poll::Ready(done);
                }
            }
            Poll::Pending
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn what_is_done_first_comes_first() {
        let mut works = Works::new();
        let (slow, waits) = oneshot::channel::<u32>();
        works.push(async move { waits.await.unwrap() });
        works.push(async { 2 });
        assert_eq!(works.next().await, 2);
        slow.send(1).unwrap();
        assert_eq!(works.next().await, 1);
        assert!(works.under_way.is_empty());
    }
}
