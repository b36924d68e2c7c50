//! Opens the device with limits for compute, and returns its errors as values.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use naga::valid::Capabilities;

use crate::built::BuiltKernels;
use crate::error::Error;
use crate::memory::Memory;
use crate::poll::{Poller, Submission, first_error, look_whether_lost};
use crate::status::{Caught, Status, lock};
use crate::summary::AdapterSummary;

/// An open device and its queue. Clones are cheap, and share the device and its built kernels.
#[derive(Clone, Debug)]
pub struct Gpu {
    inner: Arc<Inner>,
}

impl PartialEq for Gpu {
    /// Returns whether both are the same device.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }
}

impl Eq for Gpu {}

#[derive(Debug)]
struct Inner {
    device: wgpu::Device,
    queue: wgpu::Queue,
    summary: AdapterSummary,
    limits: wgpu::Limits,
    features: wgpu::Features,
    status: Arc<Status>,
    poller: Poller,
    /// Number of submissions. Held while one is made, so that numbers have the order of the queue.
    submissions: Mutex<u64>,
    memory: Arc<Memory>,
    built_kernels: BuiltKernels,
}

/// Returns the capabilities of naga for compute kernels on a device with these features.
pub fn capabilities(features: wgpu::Features) -> Capabilities {
    use wgpu::Features as F;
    // pack2x16float and related functions need no feature on any backend of this build.
    let mut capabilities = Capabilities::SHADER_FLOAT16_IN_FLOAT32;
    for (feature, capability) in [
        (F::SHADER_F64, Capabilities::FLOAT64),
        (F::SHADER_F16, Capabilities::SHADER_FLOAT16),
        (F::SHADER_I16, Capabilities::SHADER_INT16),
        (F::SHADER_INT64, Capabilities::SHADER_INT64),
        (F::SHADER_INT64_ATOMIC_MIN_MAX, Capabilities::SHADER_INT64_ATOMIC_MIN_MAX),
        (
            F::SHADER_INT64_ATOMIC_ALL_OPS,
            Capabilities::SHADER_INT64_ATOMIC_ALL_OPS.union(Capabilities::SHADER_INT64_ATOMIC_MIN_MAX),
        ),
        (F::SHADER_FLOAT32_ATOMIC, Capabilities::SHADER_FLOAT32_ATOMIC),
        (F::SUBGROUP, Capabilities::SUBGROUP),
        (F::SUBGROUP_BARRIER, Capabilities::SUBGROUP_BARRIER),
        (F::IMMEDIATES, Capabilities::IMMEDIATES),
    ] {
        if features.contains(feature) {
            capabilities |= capability;
        }
    }
    capabilities
}

impl Gpu {
    /// Wraps the caller's own device, with its limits and features. Callbacks for uncaptured errors
    /// and for the loss of the device stay the caller's, so a loss is noticed here only when a call
    /// fails.
    #[must_use]
    pub fn from_device(adapter_name: &str, device: wgpu::Device, queue: wgpu::Queue) -> Self {
        let mut summary = AdapterSummary::new(0, &device.adapter_info(), device.features(), &device.limits());
        adapter_name.clone_into(&mut summary.name);
        Self::assemble(device, queue, summary, Arc::new(Status::default()))
    }

    pub(crate) fn assemble(
        device: wgpu::Device,
        queue: wgpu::Queue,
        summary: AdapterSummary,
        status: Arc<Status>,
    ) -> Self {
        let poller = Poller::new(device.clone(), queue.clone(), Arc::clone(&status));
        Self {
            inner: Arc::new(Inner {
                limits: device.limits(),
                features: device.features(),
                device,
                queue,
                summary,
                status,
                poller,
                submissions: Mutex::new(0),
                memory: Arc::default(),
                built_kernels: BuiltKernels::default(),
            }),
        }
    }

    /// Returns the device.
    #[must_use]
    pub fn device(&self) -> &wgpu::Device {
        &self.inner.device
    }

    /// Returns its queue.
    #[must_use]
    pub fn queue(&self) -> &wgpu::Queue {
        &self.inner.queue
    }

    /// Returns the limits of the device.
    #[must_use]
    pub fn limits(&self) -> &wgpu::Limits {
        &self.inner.limits
    }

    /// Returns the features of the device.
    #[must_use]
    pub fn features(&self) -> wgpu::Features {
        self.inner.features
    }

    /// Returns whether the device has all of these features.
    #[must_use]
    pub fn has(&self, feature: wgpu::Features) -> bool {
        self.inner.features.contains(feature)
    }

    /// Returns the capabilities of naga for this device.
    pub fn capabilities(&self) -> Capabilities {
        capabilities(self.inner.features)
    }

    /// Returns the properties of the adapter. (Memory sizes and features are the adapter's, not the
    /// device's.)
    #[must_use]
    pub fn summary(&self) -> &AdapterSummary {
        &self.inner.summary
    }

    /// Returns the adapter's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.summary.name
    }

    /// Returns the reason for the loss of the device, if it was lost.
    #[must_use]
    pub fn lost(&self) -> Option<String> {
        self.inner.status.lost()
    }

    /// Returns a new command encoder.
    #[must_use]
    pub fn encoder(&self, label: &str) -> wgpu::CommandEncoder {
        self.inner.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some(label) })
    }

    /// Finishes the encoder and submits it to the queue.
    ///
    /// # Errors
    /// [`Error::DeviceLost`]; [`Error::Validation`] or [`Error::OutOfMemory`] for the encoded
    /// commands, or (once) for an earlier call on the device whose error nobody received.
    pub fn submit(&self, encoder: wgpu::CommandEncoder) -> Result<Submission, Error> {
        self.inner.status.check()?;
        let submit = || {
            let commands = encoder.finish();
            let mut submissions = lock(&self.inner.submissions);
            let index = self.inner.queue.submit([commands]);
            *submissions += 1;
            let done = Arc::<AtomicBool>::default();
            let by_callback = done.clone();
            self.inner.queue.on_submitted_work_done(move || by_callback.store(true, Ordering::Release));
            Submission { index, sequence: *submissions - 1, done }
        };
        let submission = self
            .catch(submit)
            .map_err(|caught| caught.into_error("a submission", 0, |message| Error::Validation { message }))?;
        self.inner.status.check()?;
        Ok(submission)
    }

    pub(crate) fn status(&self) -> &Status {
        &self.inner.status
    }

    /// Returns the reason for the loss of the device, if the loss explains a failure.
    pub(crate) fn lost_after_failure(&self) -> Option<String> {
        look_whether_lost(&self.inner.device, &self.inner.status);
        self.lost()
    }

    pub(crate) fn memory(&self) -> &Arc<Memory> {
        &self.inner.memory
    }

    pub(crate) fn built_kernels(&self) -> &BuiltKernels {
        &self.inner.built_kernels
    }

    pub(crate) fn poller(&self) -> &Poller {
        &self.inner.poller
    }

    /// Ends a mapping. wgpu reports an error if the device's owner has just destroyed the device:
    /// the next call finds out.
    pub(crate) fn unmap(&self, raw: &wgpu::Buffer) {
        let _ = self.catch(|| raw.unmap());
    }

    /// Runs `work` and returns wgpu's errors in it, instead of passing them to the device's
    /// handler.
    pub(crate) fn catch<R>(&self, work: impl FnOnce() -> R) -> Result<R, Caught> {
        let device = &self.inner.device;
        let internal = device.push_error_scope(wgpu::ErrorFilter::Internal);
        let memory = device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let validation = device.push_error_scope(wgpu::ErrorFilter::Validation);
        let result = work();
        // All three are popped, innermost first, before any result is read.
        let error = first_error([validation.pop(), memory.pop(), internal.pop()], &self.inner.status);
        // On a lost device wgpu silently returns invalid objects, or refuses commands that refer to
        // them.
        let lost = if error.is_some() { self.lost_after_failure() } else { self.lost() };
        match (lost, error) {
            (Some(reason), _) => Err(Caught::Lost(reason)),
            (None, Some(error)) => Err(error.into()),
            (None, None) => Ok(result),
        }
    }
}
