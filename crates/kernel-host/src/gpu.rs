//! Opens the device with limits for compute, and returns its errors as values.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use naga::valid::Capabilities;

use crate::adapter::{self, AdapterChoice};
use crate::built::BuiltKernels;
use crate::error::Error;
use crate::memory::Memory;
use crate::poll::{Poller, Submission, block_on, first_error, look_whether_lost};
use crate::status::{Caught, Status, lock};
use crate::summary::AdapterSummary;

/// Options of a [`Gpu`].
#[derive(Clone, Debug, Default)]
pub struct GpuOptions {
    /// Selection of the adapter.
    pub adapter: AdapterChoice,
    /// Required features: their absence is [`Error::MissingFeature`].
    pub required_features: wgpu::Features,
    /// Optional features: [`Gpu::has`] reports whether they are available.
    pub optional_features: wgpu::Features,
}

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
    submissions: AtomicU64,
    memory: Arc<Memory>,
    built_kernels: BuiltKernels,
}

/// Returns the default limits of WebGPU, raised where compute gains, and lowered only where the
/// adapter has less.
fn device_limits(offered: &wgpu::Limits) -> wgpu::Limits {
    let mut limits = wgpu::Limits::default().or_worse_values_from(offered);
    limits.max_compute_workgroup_storage_size = offered.max_compute_workgroup_storage_size;
    limits.max_compute_invocations_per_workgroup = offered.max_compute_invocations_per_workgroup;
    limits.max_compute_workgroup_size_x = offered.max_compute_workgroup_size_x;
    limits.max_storage_buffer_binding_size = offered.max_storage_buffer_binding_size;
    limits.max_buffer_size = offered.max_buffer_size;
    limits
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

fn require(adapter: &str, required: wgpu::Features, offered: wgpu::Features) -> Result<(), Error> {
    let missing = required.difference(offered);
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = missing.iter_names().map(|(name, _)| name).collect();
    Err(Error::MissingFeature {
        adapter: adapter.to_owned(),
        feature: names.join(", "),
        hint: "choose an adapter that does, or a variant that does without".to_owned(),
    })
}

impl Gpu {
    /// Opens a device.
    ///
    /// # Errors
    /// [`Error::NoAdapter`], [`Error::NotOneAdapter`], [`Error::BadEnvironment`],
    /// [`Error::MissingFeature`] or [`Error::Device`].
    pub async fn new_async(options: &GpuOptions) -> Result<Self, Error> {
        if options.adapter == AdapterChoice::All {
            return Err(Error::NotOneAdapter);
        }
        let mut opened = Self::open_all_async(options).await?;
        Ok(opened.swap_remove(0))
    }

    /// Blocking form of [`Gpu::new_async`].
    ///
    /// # Errors
    /// As [`Gpu::new_async`].
    pub fn new(options: &GpuOptions) -> Result<Self, Error> {
        block_on(Self::new_async(options))
    }

    /// Opens a device on every selected adapter: with [`AdapterChoice::All`] on each hardware GPU,
    /// the best first, and with any other choice on one. The list is never empty. An open device is
    /// returned unchanged.
    ///
    /// # Errors
    /// [`Error::NoAdapter`] and [`Error::BadEnvironment`]; [`Error::MissingFeature`] or
    /// [`Error::Device`] of the first device that cannot be opened.
    pub async fn open_all_async(options: &GpuOptions) -> Result<Vec<Self>, Error> {
        if let AdapterChoice::Open(gpu) = &options.adapter {
            require(gpu.name(), options.required_features, gpu.features())?;
            return Ok(vec![gpu.clone()]);
        }
        let mut opened = Vec::new();
        for (adapter, summary) in adapter::select(&options.adapter).await? {
            let limits = device_limits(&adapter.limits());
            opened.push(Self::open(&adapter, summary, limits, options).await?);
        }
        Ok(opened)
    }

    /// Blocking form of [`Gpu::open_all_async`].
    ///
    /// # Errors
    /// As [`Gpu::open_all_async`].
    pub fn open_all(options: &GpuOptions) -> Result<Vec<Self>, Error> {
        block_on(Self::open_all_async(options))
    }

    /// Opens the best hardware GPU as [`Gpu::open_all_async`] does, for a program that falls back
    /// to the CPU. Returns `None` without a hardware GPU, whatever adapter `options` name.
    ///
    /// # Errors
    /// Errors that do not [leave the CPU](Error::leaves_the_cpu).
    pub async fn open_hardware_async(options: GpuOptions) -> Result<Option<Self>, Error> {
        match Self::new_async(&GpuOptions { adapter: AdapterChoice::Hardware, ..options }).await {
            Ok(gpu) => Ok(Some(gpu)),
            Err(error) if !error.leaves_the_cpu() => Err(error),
            Err(error) => {
                tracing::info!("no GPU, so the CPU engine: {error}");
                Ok(None)
            }
        }
    }

    /// Opens wgpu's noop backend: buffers hold data and kernels are checked but do nothing. It has
    /// WebGPU's default limits and no features. It exists on every machine, for tests of the host
    /// side.
    ///
    /// # Errors
    /// [`Error::NoAdapter`] or [`Error::Device`], if wgpu drops the backend.
    pub fn noop() -> Result<Self, Error> {
        let mut backend_options = wgpu::BackendOptions::default();
        backend_options.noop.enable = true;
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
            backends: wgpu::Backends::NOOP,
            flags: wgpu::InstanceFlags::empty(),
            backend_options,
            ..wgpu::InstanceDescriptor::new_without_display_handle()
        });
        block_on(async {
            let adapters = instance.enumerate_adapters(wgpu::Backends::NOOP).await;
            let Some(adapter) = adapters.first() else {
                return Err(Error::NoAdapter { wanted: "wgpu's noop adapter".to_owned(), candidates: Vec::new() });
            };
            let limits = wgpu::Limits::default();
            let summary = AdapterSummary::new(0, &adapter.get_info(), wgpu::Features::empty(), &limits);
            Self::open(adapter, summary, limits, &GpuOptions::default()).await
        })
    }

    async fn open(
        adapter: &wgpu::Adapter,
        summary: AdapterSummary,
        limits: wgpu::Limits,
        options: &GpuOptions,
    ) -> Result<Self, Error> {
        let offered = adapter.features();
        require(&summary.name, options.required_features, offered)?;
        let (device, queue) = adapter
            .request_device(&wgpu::DeviceDescriptor {
                label: Some(&summary.name),
                required_features: options.required_features | options.optional_features.intersection(offered),
                required_limits: limits,
                ..Default::default()
            })
            .await
            .map_err(|source| Error::Device { adapter: summary.name.clone(), source })?;
        tracing::debug!(adapter = %summary, "device opened");
        let status = Arc::new(Status::default());
        let reported = Arc::clone(&status);
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            let error = Caught::from(error).into_error("the device", 0, |message| Error::Validation { message });
            tracing::error!("{error}");
            lock(&reported.error).get_or_insert(error);
        }));
        let reported = Arc::clone(&status);
        device.set_device_lost_callback(move |reason, message| {
            let message = message.trim();
            reported.lose(if message.is_empty() { format!("{reason:?}").to_lowercase() } else { message.to_owned() });
        });
        Ok(Self::assemble(device, queue, summary, status))
    }

    /// Wraps the caller's own device, with its limits and features. Callbacks for uncaptured errors
    /// and for the loss of the device stay the caller's, so a loss is noticed here only when a call
    /// fails.
    #[must_use]
    pub fn from_device(adapter_name: &str, device: wgpu::Device, queue: wgpu::Queue) -> Self {
        let mut summary = AdapterSummary::new(0, &device.adapter_info(), device.features(), &device.limits());
        adapter_name.clone_into(&mut summary.name);
        Self::assemble(device, queue, summary, Arc::new(Status::default()))
    }

    fn assemble(device: wgpu::Device, queue: wgpu::Queue, summary: AdapterSummary, status: Arc<Status>) -> Self {
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
                submissions: AtomicU64::new(0),
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
        let index = self
            .catch(|| self.inner.queue.submit([encoder.finish()]))
            .map_err(|caught| caught.into_error("a submission", 0, |message| Error::Validation { message }))?;
        self.inner.status.check()?;
        let sequence = self.inner.submissions.fetch_add(1, Ordering::Relaxed);
        Ok(Submission { index, sequence })
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
