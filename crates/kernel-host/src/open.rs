//! Opens devices with limits for compute.

use std::sync::Arc;

use crate::adapter::{self, AdapterChoice};
use crate::error::Error;
use crate::gpu::Gpu;
use crate::poll::block_on;
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
}
