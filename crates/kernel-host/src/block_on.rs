//! Blocking forms of futures.

use std::future::Future;

use crate::error::Error;

/// The output of a future that this thread waits for. In a browser no thread may wait: there a future that is not ready at
/// once is an error.
///
/// # Errors
/// Those of the future, and [`Error::CannotWait`].
#[cfg(not(target_arch = "wasm32"))]
pub fn block_on<T, E: From<Error>>(future: impl Future<Output = Result<T, E>>) -> Result<T, E> {
    pollster::block_on(future)
}

/// The output of a future that this thread waits for. In a browser no thread may wait: there a future that is not ready at
/// once is an error.
///
/// # Errors
/// Those of the future, and [`Error::CannotWait`].
#[cfg(target_arch = "wasm32")]
pub fn block_on<T, E: From<Error>>(future: impl Future<Output = Result<T, E>>) -> Result<T, E> {
    use std::task::{Context, Poll, Waker};
    match std::pin::pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => Err(Error::CannotWait.into()),
    }
}
