//! A value of which the newest counts. As `tokio::sync::watch`, but those who wait are woken in the order in which they
//! came (`watch` spreads them over groups by chance), so that one seed of the simulation has one course.

use std::fmt::Debug;
use std::ops::Deref;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// The end that changes the value. There is one; when it is gone, nothing changes any more.
#[derive(Debug)]
pub(crate) struct Sender<T>(Arc<Shared<T>>);

/// An end that awaits changes.
#[derive(Debug)]
pub(crate) struct Receiver<T>(Arc<Shared<T>>);

#[derive(Debug)]
struct Shared<T> {
    /// None: the sender is gone, and this was its last.
    state: Mutex<State<T>>,
    changed: Notify,
}

#[derive(Debug)]
struct State<T> {
    value: T,
    is_over: bool,
}

/// The sender is gone: what is awaited will not come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Over;

/// A pair of ends.
pub(crate) fn channel<T>(value: T) -> (Sender<T>, Receiver<T>) {
    let state = Mutex::new(State { value, is_over: false });
    let shared = Arc::new(Shared { state, changed: Notify::new() });
    (Sender(Arc::clone(&shared)), Receiver(shared))
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The value, held for a look.
pub(crate) struct Held<'a, T>(MutexGuard<'a, State<T>>);

impl<T> Deref for Held<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0.value
    }
}

impl<T> Sender<T> {
    /// Changes the value, and wakes all who wait.
    pub(crate) fn change(&self, change: impl FnOnce(&mut T)) {
        change(&mut self.0.lock().value);
        self.0.changed.notify_waiters();
    }

    /// The value.
    pub(crate) fn look(&self) -> Held<'_, T> {
        Held(self.0.lock())
    }

    /// Another end that awaits changes.
    pub(crate) fn receiver(&self) -> Receiver<T> {
        Receiver(Arc::clone(&self.0))
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.0.lock().is_over = true;
        self.0.changed.notify_waiters();
    }
}

impl<T> Receiver<T> {
    /// The value.
    pub(crate) fn look(&self) -> Held<'_, T> {
        Held(self.0.lock())
    }

    /// Waits until the look at a value gives something. Cancel safe.
    pub(crate) async fn wait<R>(&self, look: impl Fn(&T) -> Option<R>) -> Result<R, Over> {
        loop {
            let mut changed = pin!(self.0.changed.notified());
            // Before the look, so that no change is missed.
            changed.as_mut().enable();
            {
                let state = self.0.lock();
                if let Some(seen) = look(&state.value) {
                    return Ok(seen);
                }
                if state.is_over {
                    return Err(Over);
                }
            }
            changed.await;
        }
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_came_first_is_woken_first() {
        let (sender, receiver) = channel(0);
        let woken = Arc::new(Mutex::new(Vec::new()));
        let waiting: Vec<_> = (0..40)
            .map(|number| {
                let (receiver, woken) = (receiver.clone(), Arc::clone(&woken));
                tokio::spawn(async move {
                    receiver.wait(|value| (*value > 0).then_some(())).await.unwrap();
                    woken.lock().unwrap().push(number);
                })
            })
            .collect();
        tokio::task::yield_now().await;
        sender.change(|value| *value = 1);
        for one in waiting {
            one.await.unwrap();
        }
        assert_eq!(*woken.lock().unwrap(), (0..40).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn the_last_value_stays_and_nothing_else_is_waited_for() {
        let (sender, receiver) = channel(0);
        let waiting = tokio::spawn({
            let receiver = receiver.clone();
            async move { receiver.wait(|value| (*value == 2).then_some(())).await }
        });
        tokio::task::yield_now().await;
        sender.change(|value| *value = 1);
        drop(sender);
        assert_eq!(waiting.await.unwrap(), Err(Over));
        assert_eq!(receiver.wait(|value| (*value == 1).then_some(7)).await, Ok(7));
        assert_eq!(*receiver.look(), 1);
    }
}
