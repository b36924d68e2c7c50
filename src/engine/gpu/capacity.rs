//! How a batch is cut into parts that fit the adapter.

use kernel_host::{AdapterKind, Gpu};

use crate::engine::gpu::buffer_sizes::BufferSizes;
use crate::engine::gpu::shape::Shape;
use crate::engine::plan::RoiPlan;
use crate::engine::real::Real;

/// Capacity of one dispatch and of one set of buffers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Capacity {
    /// Bytes of a storage buffer.
    pub(crate) buffer_bytes: u64,
    /// Bytes of a part's spacepoints, unless one RoI alone has more.
    pub(crate) upload_bytes: u64,
    /// Workgroups of one dimension.
    pub(crate) workgroups: u64,
    /// Workgroups of find_z that fill the device.
    pub(crate) filling: u64,
    /// Pairs of one dispatch, as estimated.
    pub(crate) work: f64,
}

impl Capacity {
    /// Rows of histograms beyond this gain nothing: the adapter is full, and memory is somebody
    /// else's too.
    const MOST_BYTES: u64 = 512 << 20;
    /// Enough work to fill a GPU, and small enough that one part is prepared while another computes
    /// (measured on an H200).
    const UPLOAD_BYTES: u64 = 16 << 20;

    /// Measured on an H200. A software adapter has a few cores.
    const FILLING: u64 = 2048;
    const FILLING_SOFTWARE: u64 = 256;

    /// Some systems kill a device whose dispatch lasts two seconds. The slowest GPUs that are worth
    /// having do 10^10 pairs in that time.
    const WORK: f64 = 2e9;
    const WORK_SOFTWARE: f64 = 5e7;

    pub(crate) fn new(gpu: &Gpu) -> Self {
        let limits = gpu.limits();
        let software = gpu.summary().kind == AdapterKind::Software;
        Self {
            buffer_bytes: limits.max_storage_buffer_binding_size.min(limits.max_buffer_size).min(Self::MOST_BYTES),
            upload_bytes: Self::UPLOAD_BYTES,
            workgroups: u64::from(limits.max_compute_workgroups_per_dimension),
            work: if software { Self::WORK_SOFTWARE } else { Self::WORK },
            filling: if software { Self::FILLING_SOFTWARE } else { Self::FILLING },
        }
    }

    pub(crate) fn holds<R: Real>(&self, needs: &BufferSizes, shape: &Shape) -> bool {
        // Places in buffers are numbered in 32 bits.
        needs.bytes::<R>(shape).iter().all(|&bytes| bytes <= self.buffer_bytes.min(u64::from(u32::MAX)))
            && needs.rois <= self.workgroups
            && needs.tiles(shape) <= self.workgroups
            && needs.rows <= self.workgroups * self.workgroups
    }
}

/// About the bytes that an RoI by itself takes on the device.
pub(crate) fn bytes_of<R: Real>(plan: &RoiPlan, shape: &Shape) -> u64 {
    BufferSizes::most(plan, shape, shape.pairs).bytes::<R>(shape).iter().sum()
}

/// A batch after planning: parts that fit, and RoIs that never fit.
pub(crate) struct BatchPartition {
    /// RoIs of the batch, part by part.
    pub(crate) parts: Vec<Vec<usize>>,
    /// RoIs too large for the adapter even alone.
    pub(crate) too_large: Vec<usize>,
}

/// Cuts the wanted RoIs of a batch into parts that fit. A spacepoint is `bytes` long on its way.
pub(crate) fn cut<R: Real>(
    plans: &[RoiPlan],
    wanted: &[usize],
    bytes: usize,
    capacity: &Capacity,
    shape: &Shape,
) -> BatchPartition {
    let mut cut = BatchPartition { parts: Vec::new(), too_large: Vec::new() };
    let mut part = Vec::new();
    let mut needs = BufferSizes::default();
    let mut work = 0.0;
    for &index in wanted {
        let plan = &plans[index];
        let own = BufferSizes::most(plan, shape, shape.pairs);
        if plan.is_too_much() || !capacity.holds::<R>(&own, shape) {
            cut.too_large.push(index);
            continue;
        }
        let together = needs.and(own);
        let upload = together.spacepoints * bytes as u64;
        let own_work = work_of(plan);
        let full = upload > capacity.upload_bytes || work + own_work > capacity.work;
        if !part.is_empty() && (full || !capacity.holds::<R>(&together, shape)) {
            cut.parts.push(std::mem::take(&mut part));
            (needs, work) = (own, own_work);
        } else {
            (needs, work) = (together, work + own_work);
        }
        part.push(index);
    }
    if !part.is_empty() {
        cut.parts.push(part);
    }
    cut
}

/// About how many pairs of neighbouring slices an RoI has, if its spacepoints are spread evenly.
pub(crate) fn work_of(plan: &RoiPlan) -> f64 {
    let count = plan.spacepoints as f64;
    count * (1.0 + count * f64::from(plan.slices.min(3)) / f64::from(plan.slices))
}
