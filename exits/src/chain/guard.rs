//! Guards around the code of exits: a panic becomes an error, and so does a call that does not end in time, if it
//! awaits. One that computes or blocks without end is the pool's concern.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::ExitError;

type Call<'a, T> = Pin<Box<dyn Future<Output = Result<T, ExitError>> + Send + 'a>>;

/// Runs code of an exit; a panic in it becomes [`ExitError::Panicked`].
pub(crate) fn caught<T>(call: &'static str, code: impl FnOnce() -> T) -> Result<T, ExitError> {
    // Nobody sees what the panic left half-done: the message is thrown away, and an exit's own state is its affair.
    catch_unwind(AssertUnwindSafe(code)).map_err(|payload| ExitError::Panicked { call, why: text(payload) })
}

/// Awaits a call of an exit: panics when it is made, polled and dropped are caught, and at the end of `limit` it is
/// dropped.
pub(crate) async fn guarded<'a, T>(
    call: &'static str,
    limit: Duration,
    make: impl FnOnce() -> Call<'a, T>,
) -> Result<T, ExitError> {
    let future = Guarded { call, future: Some(caught(call, make)?) };
    match tokio::time::timeout(limit, future).await {
        Ok(result) => result,
        Err(_) => Err(ExitError::Late { call, limit }),
    }
}

struct Guarded<'a, T> {
    call: &'static str,
    /// Gone when it has ended.
    future: Option<Call<'a, T>>,
}

impl<T> Guarded<'_, T> {
    fn end(&mut self) -> Result<(), ExitError> {
        let future = self.future.take();
        caught(self.call, || drop(future))
    }
}

impl<T> Future for Guarded<'_, T> {
    type Output = Result<T, ExitError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let Some(future) = this.future.as_mut() else { return Poll::Pending };
        let result = match caught(this.call, || future.as_mut().poll(cx)) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(result)) => result,
            Err(panicked) => Err(panicked),
        };
        Poll::Ready(this.end().and(result))
    }
}

impl<T> Drop for Guarded<'_, T> {
    fn drop(&mut self) {
        // The call is being given up for its time; a panic on top changes nothing.
        let _ = self.end();
    }
}

fn text(payload: Box<dyn Any + Send>) -> String {
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => payload.downcast_ref::<&str>().map_or("no text", |text| text).to_owned(),
    }
}
