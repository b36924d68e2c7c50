//! Waits for mappings of buffers.

use std::sync::PoisonError;

use crate::error::Error;
use crate::gpu::Gpu;
use crate::poll::{MapOutcome, SLICE, poll, wait_for_all};
use crate::status::lock;

impl MapOutcome {
    /// Waits until the result is known, which may be while the device still uses the buffer.
    pub(crate) fn wait(&self, gpu: &Gpu) -> Result<(), Error> {
        gpu.poll()?;
        if !self.is_known() {
            gpu.wait_for_all()?;
        }
        // By now the result is known, or another polling thread is about to report it.
        let (outcome, changed) = &*self.reported;
        let _known = changed
            .wait_timeout_while(lock(outcome), SLICE, |outcome| outcome.is_none())
            .unwrap_or_else(PoisonError::into_inner);
        Ok(())
    }

    /// [`MapOutcome::wait`] as a future.
    pub(crate) async fn wait_async(&self, gpu: &Gpu) -> Result<(), Error> {
        gpu.poll()?;
        if !self.is_known() {
            gpu.wait_in_background(None).await?;
            // Known by now, or being reported by another thread at this moment.
            self.wait(gpu)?;
        }
        Ok(())
    }
}

impl Gpu {
    /// Lets wgpu run the callbacks of finished work.
    fn poll(&self) -> Result<(), Error> {
        let _ = poll(self.device(), self.status(), wgpu::PollType::Poll);
        self.status().check()
    }

    /// Blocks until all work submitted so far is done.
    fn wait_for_all(&self) -> Result<(), Error> {
        wait_for_all(self.device(), self.status())
    }
}
