//! Waiting for the device: blocking, spinning, or as a future.

use std::future::Future;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use futures_intrusive::channel::shared::oneshot_channel;

use crate::error::Error;
use crate::gpu::Gpu;
use crate::poll::{Job, MapOutcome, SLICE, Submission, is_done, poll, wait_for};
use crate::status::lock;

impl MapOutcome {
    /// Polls, and waits where the device still uses the buffer, until it is known.
    pub(crate) fn wait(&self, gpu: &Gpu) -> Result<(), Error> {
        gpu.poll()?;
        if !self.is_known() {
            gpu.wait_for_all()?;
        }
        // By now it was taken up; a thread that polled at the same time may be about to report it.
        let (outcome, changed) = &*self.reported;
        let _known = changed
            .wait_timeout_while(lock(outcome), SLICE, |outcome| outcome.is_none())
            .unwrap_or_else(PoisonError::into_inner);
        Ok(())
    }
}

impl Gpu {
    /// Blocks until `submission` is done.
    ///
    /// # Errors
    /// [`Error::DeviceLost`] if the device is or goes away; [`Error::Validation`] or [`Error::OutOfMemory`] for an
    /// earlier call on the device whose error nobody took.
    pub fn wait(&self, submission: &Submission) -> Result<(), Error> {
        wait_for(self.device(), self.status(), Some(&submission.index))
    }

    /// [`Gpu::wait`] that first asks again and again for as long as `spin`: on a fast device this answers about 25
    /// microseconds sooner than a thread that has to be woken, and it keeps a core busy meanwhile.
    ///
    /// # Errors
    /// As [`Gpu::wait`].
    pub fn wait_spinning(&self, submission: &Submission, spin: Duration) -> Result<(), Error> {
        let start = Instant::now();
        while start.elapsed() < spin {
            if is_done(self.device(), self.status(), Some(&submission.index), Duration::ZERO)? {
                return Ok(());
            }
            std::hint::spin_loop();
        }
        self.wait(submission)
    }

    /// A future that is ready when `submission` is done, on any executor. It may be dropped at any time.
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

    /// Lets wgpu run the callbacks of what is already done.
    pub(crate) fn poll(&self) -> Result<(), Error> {
        let _ = poll(self.device(), self.status(), wgpu::PollType::Poll);
        self.status().check()
    }

    /// Blocks until everything that is submitted by now is done.
    pub(crate) fn wait_for_all(&self) -> Result<(), Error> {
        wait_for(self.device(), self.status(), None)
    }
}
