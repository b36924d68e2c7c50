//! Waiting for the device: blocking, spinning, or as a future.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures_intrusive::channel::shared::oneshot_channel;

use crate::error::Error;
use crate::gpu::Gpu;
use crate::poll::{Job, Submission, is_done_within};

impl Gpu {
    /// Blocks until `submission` is done. Of several threads that wait, one waits in the driver and
    /// wakes the others.
    ///
    /// # Errors
    /// [`Error::DeviceLost`] if the device is or goes away; [`Error::Validation`] or
    /// [`Error::OutOfMemory`] for an earlier call on the device whose error nobody took.
    pub fn wait(&self, submission: &Submission) -> Result<(), Error> {
        self.poller().wait(submission)
    }

    /// [`Gpu::wait`] that first asks again and again for as long as `spin`: on a fast device this
    /// answers about 25 microseconds sooner than a thread that has to be woken, and it keeps a core
    /// busy meanwhile.
    ///
    /// # Errors
    /// As [`Gpu::wait`].
    pub fn wait_spinning(&self, submission: &Submission, spin: Duration) -> Result<(), Error> {
        if is_done_within(self.device(), self.status(), submission, spin)? {
            return Ok(());
        }
        self.wait(submission)
    }

    /// A future that is ready when `submission` is done, on any executor. It may be dropped at any
    /// time.
    ///
    /// # Errors
    /// As [`Gpu::wait`].
    pub fn wait_async(&self, submission: &Submission) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        self.wait_in_background(Some(submission.clone()))
    }

    /// Waits for `submission`, or for everything that is submitted by now.
    pub(crate) fn wait_in_background(
        &self,
        submission: Option<Submission>,
    ) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        let gpu = self.clone();
        async move {
            gpu.status().check()?;
            let (sender, receiver) = oneshot_channel();
            let wanted = Arc::new(());
            gpu.poller().request(Job { submission, wanted: Arc::downgrade(&wanted), sender });
            let outcome = receiver.receive().await;
            // Kept until here: a job that nobody wants any more is skipped.
            drop(wanted);
            outcome.unwrap_or_else(|| {
                Err(Error::DeviceLost { reason: "the thread that waits for it has ended".to_owned() })
            })
        }
    }
}
