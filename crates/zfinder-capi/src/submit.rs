//! Batches that are searched while their caller goes on: `zf_submit()`.

use std::ffi::c_void;
use std::future::{Future, poll_fn};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::{Arc, LazyLock, Mutex};
use std::task::Poll;
use std::thread;

use futures_executor::ThreadPool;
use zfinder::{Error, Results};

use crate::SharedFinder;
use crate::batch::{Input, Scratch};
use crate::failure::{Failure, Outcome, code_of};
use crate::registry::lock;
use crate::types::{zf_batch, zf_callback, zf_code};

/// Threads that write batches to the GPU, compute on the CPU, and call callers back: one a core.
static THREADS: LazyLock<io::Result<ThreadPool>> =
    LazyLock::new(|| ThreadPool::builder().name_prefix("zfinder submit ").create());

/// The function that ends a submission, and its argument.
struct Callback {
    function: unsafe extern "C" fn(zf_code, *mut c_void),
    user: *mut c_void,
}

// SAFETY: the caller of `zf_submit` promises that the function may be called on any thread.
unsafe impl Send for Callback {}

impl Callback {
    /// Calls the function. Taken by value: it is called once.
    fn call(self, code: zf_code) {
        // SAFETY: the caller of `zf_submit` promises a function for this argument.
        unsafe { (self.function)(code, self.user) }
    }
}

/// Starts a search that ends with a call of `callback`.
///
/// # Safety
/// As `zf_submit()`.
pub(crate) unsafe fn submit(
    shared: Arc<SharedFinder>,
    batch: &zf_batch,
    results: Arc<Mutex<Results>>,
    callback: zf_callback,
    user: *mut c_void,
) -> Outcome<()> {
    let function = callback.ok_or_else(|| Failure::new(zf_code::ZF_NULL, "callback is NULL"))?;
    let callback = Callback { function, user };
    let threads = THREADS.as_ref().map_err(|error| Error::Thread(io::Error::new(error.kind(), error.to_string())))?;
    let mut scratch = lock(&shared.scratch).pop().unwrap_or_default();
    // SAFETY: the promise of this function's caller, until the callback.
    let input: Input<'static> = match unsafe { scratch.read(batch, shared.finder.config()) } {
        Ok(input) => input,
        Err(failure) => {
            lock(&shared.scratch).push(scratch);
            return Err(failure);
        }
    };
    lock(&results).clear();
    threads.spawn_ok(async move {
        let ended = catch(search(&shared, &mut scratch, &input, &results)).await;
        lock(&shared.scratch).push(scratch);
        let code = code_of(ended);
        // The caller may destroy both in the callback.
        drop((shared, results));
        callback.call(code);
    });
    Ok(())
}

async fn search(
    shared: &SharedFinder,
    scratch: &mut Scratch,
    input: &Input<'static>,
    results: &Mutex<Results>,
) -> Outcome<()> {
    let found = shared.finder.find_batch_async(scratch.view(input)?).await?;
    *lock(results) = found;
    Ok(())
}

/// Returns the output of a future, or its panic.
async fn catch<T>(future: impl Future<Output = T>) -> thread::Result<T> {
    let mut future = pin!(future);
    poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
        Ok(Poll::Pending) => Poll::Pending,
        Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
        Err(panic) => Poll::Ready(Err(panic)),
    })
    .await
}
