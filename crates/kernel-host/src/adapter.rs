//! Finds GPUs, and selects one.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use crate::error::Error;
use crate::gpu::Gpu;
use crate::poll::block_on;
use crate::summary::{AdapterKind, AdapterSummary};

/// Selection of an adapter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AdapterChoice {
    /// The best hardware: a discrete GPU before an integrated one before any other; never software.
    /// `WGPU_ADAPTER_NAME`, if set, turns this into [`AdapterChoice::Name`].
    #[default]
    Hardware,
    /// By the position in [`adapters`] under the same environment.
    Index(usize),
    /// The first whose name or driver contains this text, ignoring case.
    Name(String),
    /// The first with this PCI vendor, and this device if one is given.
    Pci {
        /// PCI vendor: 0x10de NVIDIA, 0x1002 AMD, 0x8086 Intel.
        vendor: u32,
        /// PCI device, or any.
        device: Option<u32>,
    },
    /// Every hardware GPU of the host, the best first, never software. A GPU that several backends
    /// or drivers offer counts once. For [`Gpu::open_all`](crate::Gpu::open_all), because it means
    /// several devices.
    All,
    /// An open device: the caller's own ([`Gpu::from_device`]), or one that several users share.
    /// They also share its compiled kernels and its limit of memory.
    Open(Gpu),
}

impl FromStr for AdapterChoice {
    type Err = Infallible;

    /// Parses `2` as an index, `10de:2335` and `10de:` as PCI ids, `all` as all hardware, the empty
    /// text as the best hardware, and any other text as a name.
    fn from_str(text: &str) -> Result<Self, Infallible> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(Self::Hardware);
        }
        if text == "all" {
            return Ok(Self::All);
        }
        if let Ok(index) = text.parse() {
            return Ok(Self::Index(index));
        }
        if let Some((vendor, device)) = text.split_once(':')
            && let Some(vendor) = hexadecimal(vendor)
        {
            if device.is_empty() {
                return Ok(Self::Pci { vendor, device: None });
            }
            if let Some(device) = hexadecimal(device) {
                return Ok(Self::Pci { vendor, device: Some(device) });
            }
        }
        Ok(Self::Name(text.to_owned()))
    }
}

fn hexadecimal(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    // from_str_radix would accept a sign.
    if digits.starts_with(['+', '-']) {
        return None;
    }
    u32::from_str_radix(digits, 16).ok()
}

impl fmt::Display for AdapterChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hardware => f.write_str("hardware"),
            Self::Index(index) => write!(f, "number {index}"),
            Self::Name(name) => write!(f, "named `{name}`"),
            Self::Pci { vendor, device: None } => write!(f, "of PCI vendor {vendor:04x}"),
            Self::Pci { vendor, device: Some(device) } => write!(f, "PCI device {vendor:04x}:{device:04x}"),
            Self::All => f.write_str("hardware, and `all` means all hardware GPUs"),
            Self::Open(gpu) => write!(f, "open already: {}", gpu.name()),
        }
    }
}

impl AdapterChoice {
    /// Returns the choice after the environment variables are applied.
    fn resolved(&self) -> Result<Self, Error> {
        if *self != Self::Hardware {
            return Ok(self.clone());
        }
        Ok(match environment("WGPU_ADAPTER_NAME", "a part of an adapter's name")? {
            Some(name) => Self::Name(name),
            None => Self::Hardware,
        })
    }

    /// Returns the positions in `candidates` of the adapters to use: at most one, except with
    /// [`AdapterChoice::All`].
    fn pick(&self, candidates: &[AdapterSummary]) -> Vec<usize> {
        let first = |wanted: &dyn Fn(&AdapterSummary) -> bool| candidates.iter().position(wanted).into_iter().collect();
        match self {
            Self::Hardware => hardware(candidates).into_iter().take(1).collect(),
            Self::Index(index) => first(&|c| c.index == *index),
            Self::Name(name) => first(&|c| c.matches_name(name)),
            Self::Pci { vendor, device } => {
                first(&|c| c.vendor == *vendor && device.is_none_or(|device| c.device == device))
            }
            Self::All => {
                let hardware = hardware(candidates);
                // Several backends and drivers may offer one GPU, but two GPUs of the same model
                // share backend and driver.
                let is_known = |c: &AdapterSummary| {
                    let same = |&&i: &&usize| (candidates[i].vendor, candidates[i].device) == (c.vendor, c.device);
                    let first = hardware.iter().find(same).map(|&i| &candidates[i]);
                    first.is_some_and(|first| (&first.backend, &first.driver) != (&c.backend, &c.driver))
                };
                hardware.iter().copied().filter(|&i| !is_known(&candidates[i])).collect()
            }
            // The device is chosen already.
            Self::Open(_) => Vec::new(),
        }
    }
}

/// Returns the positions of hardware, the best first, and otherwise in order.
fn hardware(candidates: &[AdapterSummary]) -> Vec<usize> {
    let rank = |position: usize| match candidates[position].kind {
        AdapterKind::DiscreteGpu => Some(0),
        AdapterKind::IntegratedGpu => Some(1),
        AdapterKind::VirtualGpu | AdapterKind::Other => Some(2),
        AdapterKind::Software => None,
    };
    let mut hardware: Vec<usize> = (0..candidates.len()).filter(|&i| rank(i).is_some()).collect();
    hardware.sort_by_key(|&i| rank(i));
    hardware
}

/// Returns a variable that is set and not empty.
fn environment(variable: &'static str, expected: &str) -> Result<Option<String>, Error> {
    match std::env::var(variable) {
        Ok(value) if value.trim().is_empty() => Ok(None),
        Ok(value) => Ok(Some(value)),
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(std::env::VarError::NotUnicode(value)) => Err(Error::BadEnvironment {
            variable,
            value: value.to_string_lossy().into_owned(),
            expected: expected.to_owned(),
        }),
    }
}

const BACKENDS: &str = "a comma-separated list of vulkan, metal, dx12";

/// Parses a list of backends as in `WGPU_BACKEND`.
fn parse_backends(list: &str) -> Result<wgpu::Backends, Error> {
    let mut backends = wgpu::Backends::empty();
    for name in list.split(',') {
        // wgpu only logs an unknown name, so a typing error would silently change the list.
        let backend = wgpu::Backends::from_comma_list(name);
        if backend.is_empty() {
            return Err(Error::BadEnvironment {
                variable: "WGPU_BACKEND",
                value: list.to_owned(),
                expected: BACKENDS.to_owned(),
            });
        }
        backends |= backend;
    }
    Ok(backends)
}

/// Returns one instance for each set of backends, for the life of the process. Drivers are loaded
/// and unloaded with an instance, and some cannot be loaded more than about thirty times (observed
/// with NVIDIA's).
fn instance(backends: wgpu::Backends) -> wgpu::Instance {
    static INSTANCES: Mutex<Vec<(wgpu::Backends, wgpu::Instance)>> = Mutex::new(Vec::new());
    let mut instances = INSTANCES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, instance)) = instances.iter().find(|(of, _)| *of == backends) {
        return instance.clone();
    }
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
        backends,
        // No validation layers, even in debug builds, because they cost more than the kernels.
        // WGPU_* turns them on.
        flags: wgpu::InstanceFlags::empty().with_env(),
        backend_options: wgpu::BackendOptions::from_env_or_default(),
        ..wgpu::InstanceDescriptor::new_without_display_handle()
    });
    instances.push((backends, instance.clone()));
    instance
}

/// Returns every adapter with its summary, in wgpu's order.
async fn enumerate() -> Result<Vec<(wgpu::Adapter, AdapterSummary)>, Error> {
    // By default, every backend that can compute.
    let backends = match environment("WGPU_BACKEND", BACKENDS)? {
        Some(list) => parse_backends(&list)?,
        None => wgpu::Backends::PRIMARY,
    };
    let instance = instance(backends);
    let adapters = instance.enumerate_adapters(backends).await;
    Ok(adapters
        .into_iter()
        .enumerate()
        .map(|(index, adapter)| {
            let summary = AdapterSummary::new(index, &adapter.get_info(), adapter.features(), &adapter.limits());
            (adapter, summary)
        })
        .collect())
}

/// Returns every adapter of the backends that `WGPU_BACKEND` allows.
///
/// # Errors
/// [`Error::BadEnvironment`] if `WGPU_BACKEND` names an unknown backend. Without adapters the list
/// is empty.
pub async fn adapters_async() -> Result<Vec<AdapterSummary>, Error> {
    let found = enumerate().await?;
    Ok(found.into_iter().map(|(_, summary)| summary).collect())
}

/// Blocking form of [`adapters_async`].
///
/// # Errors
/// As [`adapters_async`].
pub fn adapters() -> Result<Vec<AdapterSummary>, Error> {
    block_on(adapters_async())
}

/// Returns the adapters of a choice: at least one.
pub(crate) async fn select(choice: &AdapterChoice) -> Result<Vec<(wgpu::Adapter, AdapterSummary)>, Error> {
    let choice = choice.resolved()?;
    let found = enumerate().await?;
    let summaries: Vec<AdapterSummary> = found.iter().map(|(_, summary)| summary.clone()).collect();
    let picked = choice.pick(&summaries);
    if picked.is_empty() {
        return Err(Error::NoAdapter { wanted: choice.to_string(), candidates: summaries });
    }
    Ok(picked.into_iter().map(|position| found[position].clone()).collect())
}

#[cfg(test)]
#[path = "adapter_tests.rs"]
mod tests;
