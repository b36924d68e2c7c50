//! How many elements are of each class, on a GPU. Shader: count.wgsl.

use kernel_host::wgpu::{BindGroup, BindingResource, BufferUsages, ComputePass, Features};
use kernel_host::{Buffer, Checks, Gpu, Kernel, KernelDescriptor};

use super::shaders::{self, CountPiece};
use crate::classes::Count;
use crate::error::{Error, Result};

/// Threads of a workgroup, if not given, and workgroups at most: they fill any device, and take few
/// turns to add what they have.
const THREADS: u32 = 256;
const WORKGROUPS: u32 = 2048;
/// Classes of which each thread keeps counts.
const FEW: u32 = 8;
/// Elements that a thread may count in sixteen bits; some are left for it to take them in threes of
/// four.
const PACKED: u64 = 65_000;

/// Words of a status: how many elements are of no class, and the number of the first of them as all
/// ones less it. It is only ever added to: whoever looks at it clears it.
pub(crate) const STATUS: usize = 2;

/// The first element of no class that a status tells of.
pub(crate) fn refused(status: &[u32]) -> Option<u32> {
    match status {
        &[many, first] if many > 0 => Some(!first),
        _ => None,
    }
}

pub(crate) fn storage() -> BufferUsages {
    BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST
}

/// How to count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CountSettings {
    pub(crate) variant: Count,
    pub(crate) classes: u32,
    /// Which word of the buffer `size` says how many elements there are.
    pub(crate) size_at: u32,
    /// Threads of a workgroup: a power of two from 8 on.
    pub(crate) threads: Option<u32>,
    /// Workgroups at most.
    pub(crate) workgroups: Option<u32>,
    pub(crate) checks: Checks,
}

/// Input and output of a count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CountBuffers<'a> {
    pub(crate) size: &'a Buffer<u32>,
    /// Whole fours of it are looked at: reserve a multiple of 4.
    pub(crate) classes: &'a Buffer<u32>,
    /// A word a class.
    pub(crate) counts: &'a Buffer<u32>,
    pub(crate) status: &'a Buffer<u32>,
}

/// Buffers bound.
#[derive(Debug)]
pub(crate) struct CountJob {
    group: BindGroup,
    workgroups: u32,
}

/// Counts what lies on the device.
#[derive(Debug)]
pub(crate) struct GpuCount {
    kernel: Kernel,
    classes: u32,
    threads: u32,
    workgroups: u32,
}

impl GpuCount {
    pub(crate) fn new(gpu: &Gpu, settings: &CountSettings) -> Result<Self> {
        let limits = gpu.limits();
        let threads = threads(gpu, settings.threads, THREADS)?;
        let fits = 4 * u64::from(settings.classes) <= u64::from(limits.max_compute_workgroup_storage_size);
        let piece = match settings.variant {
            Count::Subgroups if !gpu.has(Features::SUBGROUP) => {
                return Err(Error::Gpu(kernel_host::Error::MissingFeature {
                    adapter: gpu.name().to_owned(),
                    feature: "SUBGROUP".to_owned(),
                    hint: "choose an adapter that does, or count by a tree".to_owned(),
                }));
            }
            Count::Tree if settings.classes <= FEW => CountPiece::Tree,
            Count::Subgroups if settings.classes <= FEW => CountPiece::Subgroups,
            Count::Tree | Count::Subgroups if fits => CountPiece::Workgroup,
            _ => CountPiece::Atomics,
        };
        let constants = [
            ("THREADS", threads.into()),
            ("CLASSES", settings.classes.into()),
            ("SIZE_AT", f64::from(settings.size_at)),
        ];
        let descriptor = KernelDescriptor {
            source: &shaders::count(piece),
            entry_points: &[],
            constants: &constants,
            checks: settings.checks,
        };
        let kernel = Kernel::build(gpu, &descriptor)?;
        let most = limits.max_compute_workgroups_per_dimension;
        let workgroups = settings.workgroups.unwrap_or(WORKGROUPS).clamp(1, most);
        Ok(Self { kernel, classes: settings.classes, threads, workgroups })
    }

    pub(crate) fn bind(&self, gpu: &Gpu, buffers: CountBuffers<'_>) -> Result<CountJob> {
        let bindings = [
            ("size", buffers.size.binding()?),
            ("classes", buffers.classes.binding()?),
            ("counts", with_room(buffers.counts, self.classes as usize)?),
            ("status", with_room(buffers.status, STATUS)?),
        ];
        let elements = buffers.classes.capacity() as u64;
        let threads = u64::from(self.threads);
        let least = elements.div_ceil(threads * PACKED).max(1);
        let workgroups = elements.div_ceil(4 * threads).min(self.workgroups.into()).max(least);
        Ok(CountJob { group: self.kernel.bind_group(gpu, &bindings)?, workgroups: workgroups as u32 })
    }

    /// Encodes a count that starts from zero.
    pub(crate) fn encode(&self, pass: &mut ComputePass<'_>, job: &CountJob) -> Result<()> {
        self.encode_zero(pass, job)?;
        self.encode_adding(pass, job)
    }

    /// Makes all counts zero.
    pub(crate) fn encode_zero(&self, pass: &mut ComputePass<'_>, job: &CountJob) -> Result<()> {
        let workgroups = self.classes.div_ceil(self.threads).min(1024);
        Ok(self.kernel.dispatch(pass, "zero", &job.group, [workgroups, 1, 1])?)
    }

    /// Adds to the counts that are there: one dispatch, where they are zero already.
    pub(crate) fn encode_adding(&self, pass: &mut ComputePass<'_>, job: &CountJob) -> Result<()> {
        Ok(self.kernel.dispatch(pass, "count", &job.group, [job.workgroups, 1, 1])?)
    }
}

/// Threads of a workgroup, as given if that can be.
pub(crate) fn threads(gpu: &Gpu, given: Option<u32>, usual: u32) -> Result<u32> {
    let limits = gpu.limits();
    let most = limits.max_compute_invocations_per_workgroup.min(limits.max_compute_workgroup_size_x);
    match given {
        None => Ok(usual),
        Some(size) if size.is_power_of_two() && (8..=most).contains(&size) => Ok(size),
        Some(size) => {
            let what = format!("{size} threads of a workgroup: only powers of two from 8 to {most} can be");
            Err(Error::Options { what })
        }
    }
}

/// The whole buffer, if it holds so many words.
pub(crate) fn with_room(buffer: &Buffer<u32>, wanted: usize) -> Result<BindingResource<'_>> {
    if buffer.capacity() < wanted {
        let (what, held) = (buffer.label().to_owned(), buffer.capacity());
        return Err(Error::Gpu(kernel_host::Error::BufferTooSmall { what, wanted, held }));
    }
    Ok(buffer.binding()?)
}
