//! Properties of an adapter.

use std::fmt;

/// Kind of an adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdapterKind {
    /// A GPU with its own memory.
    DiscreteGpu,
    /// A GPU that shares the memory of the CPU.
    IntegratedGpu,
    /// A GPU handed to a virtual machine.
    VirtualGpu,
    /// A program that runs shaders on the CPU (lavapipe, SwiftShader, WARP).
    Software,
    /// Another kind, or unknown.
    Other,
}

impl From<wgpu::DeviceType> for AdapterKind {
    fn from(device_type: wgpu::DeviceType) -> Self {
        match device_type {
            wgpu::DeviceType::DiscreteGpu => Self::DiscreteGpu,
            wgpu::DeviceType::IntegratedGpu => Self::IntegratedGpu,
            wgpu::DeviceType::VirtualGpu => Self::VirtualGpu,
            wgpu::DeviceType::Cpu => Self::Software,
            wgpu::DeviceType::Other => Self::Other,
        }
    }
}

impl fmt::Display for AdapterKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::DiscreteGpu => "discrete GPU",
            Self::IntegratedGpu => "integrated GPU",
            Self::VirtualGpu => "virtual GPU",
            Self::Software => "software",
            Self::Other => "other",
        })
    }
}

/// Properties by which a user chooses an adapter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdapterSummary {
    /// Its place in [`adapters`](crate::adapters), which is what
    /// [`AdapterChoice::Index`](crate::AdapterChoice::Index) counts.
    pub index: usize,
    /// The name that the driver gives.
    pub name: String,
    /// Kind of the adapter.
    pub kind: AdapterKind,
    /// The graphics interface: `vulkan`, `metal`, `dx12`.
    pub backend: String,
    /// PCI vendor.
    pub vendor: u32,
    /// PCI device.
    pub device: u32,
    /// Name and version of the driver.
    pub driver: String,
    /// Whether shaders may use `f64`.
    pub shader_f64: bool,
    /// Whether passes can be timed.
    pub timestamps: bool,
    /// Whether shaders may use subgroup operations.
    pub subgroups: bool,
    /// Bytes of workgroup memory.
    pub workgroup_memory: u32,
    /// Bytes of the largest storage binding.
    pub max_binding: u64,
}

impl AdapterSummary {
    pub(crate) fn new(index: usize, info: &wgpu::AdapterInfo, features: wgpu::Features, limits: &wgpu::Limits) -> Self {
        Self {
            index,
            name: info.name.clone(),
            kind: info.device_type.into(),
            backend: info.backend.to_string(),
            vendor: info.vendor,
            device: info.device,
            driver: format!("{} {}", info.driver, info.driver_info).trim().to_owned(),
            shader_f64: features.contains(wgpu::Features::SHADER_F64),
            timestamps: features.contains(wgpu::Features::TIMESTAMP_QUERY),
            subgroups: features.contains(wgpu::Features::SUBGROUP),
            workgroup_memory: limits.max_compute_workgroup_storage_size,
            max_binding: limits.max_storage_buffer_binding_size,
        }
    }

    pub(crate) fn matches_name(&self, part: &str) -> bool {
        let part = part.trim().to_lowercase();
        // An empty name would match everything, software included.
        !part.is_empty() && (self.name.to_lowercase().contains(&part) || self.driver.to_lowercase().contains(&part))
    }
}

impl fmt::Display for AdapterSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "[{}] {} ({}, {}, {:04x}:{:04x}",
            self.index, self.name, self.kind, self.backend, self.vendor, self.device
        )?;
        if !self.driver.is_empty() {
            write!(f, ", {}", self.driver)?;
        }
        write!(
            f,
            "; {} KiB workgroup memory, bindings up to {} MiB",
            self.workgroup_memory / 1024,
            self.max_binding / (1024 * 1024)
        )?;
        for (offered, what) in
            [(self.shader_f64, "f64"), (self.timestamps, "timestamps"), (self.subgroups, "subgroups")]
        {
            if offered {
                write!(f, ", {what}")?;
            }
        }
        f.write_str(")")
    }
}
