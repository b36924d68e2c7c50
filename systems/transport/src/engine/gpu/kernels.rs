//! The kernels of a step on a GPU, built once for all runs of a simulation.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use kernel_host::wgpu::Features;
use kernel_host::{Buffer, Checks, Gpu, Kernel, KernelDescriptor, KernelSource};

use super::count::storage;
use super::field::GpuField;
use super::params::{Params, at, table_rows};
use super::shaders::{self, Products};
use super::sort::{GpuGather, GpuSort, SortSettings};
use super::workspace::Workspace;
use crate::deposits::Grid;
use crate::engine::Kernels;
use crate::engine::gpu::trust::TRUSTED;
use crate::error::{Error, Result};
use crate::geometry::Mesh;
use crate::track::Process;
use crate::world::{Settings, SortBy, World};

/// The default workgroup size.
const WORKGROUP_SIZE: u32 = 128;
/// The workgroup size of the tail, which one workgroup makes; less on a device that allows less.
const TAIL_WORKGROUP_SIZE: u32 = 256;
/// The largest number of classes of a sort by volume; regions beyond it share classes.
const MOST_CLASSES: u32 = 512;

/// How a GPU runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GpuSettings {
    pub(crate) kernels: Kernels,
    pub(crate) sort_by: SortBy,
    pub(crate) checks: Checks,
    pub(crate) workgroup_size: Option<u32>,
    /// Steps of a dispatch of the tail; 0 is without a tail.
    pub(crate) tail_steps: u32,
}

impl Default for GpuSettings {
    fn default() -> Self {
        Self {
            kernels: Kernels::default(),
            sort_by: SortBy::default(),
            checks: TRUSTED,
            workgroup_size: None,
            tail_steps: 128,
        }
    }
}

/// The kernels of a step.
#[derive(Debug)]
pub(super) enum Stages {
    Split { step_length: Kernel, interact: Kernel },
    Monolithic(Kernel),
}

/// A simulation on a GPU.
pub(crate) struct GpuEngine {
    pub(super) gpu: Gpu,
    pub(super) params: Params,
    pub(super) field: GpuField,
    pub(super) tables: Buffer<[f32; 4]>,
    pub(super) plan: Kernel,
    pub(super) classify: Kernel,
    pub(super) gather: GpuGather,
    pub(super) stages: Stages,
    pub(super) settings: GpuSettings,
    /// Built when a run first has few tracks.
    tail: OnceLock<Kernel>,
    workspace: Mutex<Workspace>,
}

impl GpuEngine {
    /// Features that are used where a device has them.
    pub(crate) const FEATURES: Features = Features::TIMESTAMP_QUERY.union(Features::SHADER_INT64);

    pub(crate) fn new(gpu: Gpu, settings: &Settings, mesh: &Mesh, grid: &Grid, options: GpuSettings) -> Result<Self> {
        let most = most_threads(&gpu);
        let size = options.workgroup_size.unwrap_or(WORKGROUP_SIZE);
        if !(Process::COUNT as u32..=most).contains(&size) {
            let what = format!("workgroups of {size} threads: {} to {most} are wanted", Process::COUNT);
            return Err(Error::Options { what });
        }
        let field = GpuField::new(&gpu, &settings.field)?;
        let products = Products::on(&gpu);
        let mut sources = vec![shaders::plan(), shaders::classify()];
        match options.kernels {
            Kernels::Split => {
                let step_length = shaders::step_length(field.kind(), products, options.sort_by);
                sources.extend([step_length, shaders::interact(products)]);
            }
            Kernels::Monolithic => sources.push(shaders::monolithic(field.kind(), products)),
        }
        let constants = [("WORKGROUP_SIZE", f64::from(size))];
        let describe = |source| descriptor(source, &constants, options.checks);
        let descriptors: Vec<_> = sources.iter().map(describe).collect();
        let mut kernels = Kernel::build_all(&gpu, &descriptors)?.into_iter();
        let (Some(plan), Some(classify), Some(first)) = (kernels.next(), kernels.next(), kernels.next()) else {
            return Err(Error::TooLarge { what: "no kernels".to_owned() });
        };
        let stages = match kernels.next() {
            Some(interact) => Stages::Split { step_length: first, interact },
            None => Stages::Monolithic(first),
        };
        let classes = match options.sort_by {
            SortBy::Process => Process::COUNT as u32,
            SortBy::Volume => (mesh.regions.len() as u32 + 1).min(MOST_CLASSES),
        };
        let sorting = SortSettings { classes, size_at: at::SIZE as u32, threads: None, checks: options.checks };
        let mut tables = Buffer::new("tables", storage());
        tables.write(&gpu, &table_rows(&World::new(settings, mesh)))?;
        Ok(Self {
            params: Params::new(settings, mesh, grid, classes),
            field,
            tables,
            plan,
            classify,
            gather: GpuGather::new(&gpu, 0, options.checks)?,
            stages,
            settings: options,
            tail: OnceLock::new(),
            workspace: Mutex::new(Workspace::new(GpuSort::new(&gpu, &sorting)?, classes)),
            gpu,
        })
    }

    pub(crate) fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    pub(crate) fn description(&self) -> String {
        let adapter = self.gpu.summary();
        format!("GPU, f32, {} ({}, {})", adapter.name, adapter.kind, adapter.backend)
    }

    /// The kernel of the tail.
    pub(super) fn tail(&self) -> Result<&Kernel> {
        if let Some(tail) = self.tail.get() {
            return Ok(tail);
        }
        let source = shaders::tail(self.field.kind(), Products::on(&self.gpu));
        let size = f64::from(self.tail_threads());
        let constants = [("WORKGROUP_SIZE", size), ("TAIL_STEPS", f64::from(self.settings.tail_steps))];
        let kernel = Kernel::build(&self.gpu, &descriptor(&source, &constants, self.settings.checks))?;
        Ok(self.tail.get_or_init(|| kernel))
    }

    /// The workgroup size of the tail.
    pub(super) fn tail_threads(&self) -> u32 {
        self.settings.workgroup_size.unwrap_or(TAIL_WORKGROUP_SIZE).min(most_threads(&self.gpu))
    }

    pub(super) fn workspace(&self) -> MutexGuard<'_, Workspace> {
        self.workspace.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn most_threads(gpu: &Gpu) -> u32 {
    let limits = gpu.limits();
    limits.max_compute_invocations_per_workgroup.min(limits.max_compute_workgroup_size_x)
}

fn descriptor<'a>(source: &'a KernelSource, constants: &'a [(&'a str, f64)], checks: Checks) -> KernelDescriptor<'a> {
    KernelDescriptor { source, entry_points: &[], constants, checks }
}
