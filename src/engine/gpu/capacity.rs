//! Sizes of the buffers of a part, and the size of parts that fit the device.

use kernel_host::{AdapterKind, Gpu};

use crate::engine::gpu::shaders::Density;
use crate::engine::gpu::shape::{RowSharing, SearchMethod, Shape};
use crate::engine::plan::RoiPlan;
use crate::engine::real::Real;
use crate::engine::records::{Peak, Sums};
use crate::error::Error;

/// Alignment of bindings in bytes that every adapter supports.
pub(crate) const ALIGNMENT: u64 = 256;

/// Most spacepoints whose pairs one workgroup histograms: more would keep it busy for too long.
pub(crate) const MOST_SHARE: u32 = 1024;

pub(crate) fn aligned(bytes: u64) -> u64 {
    bytes.next_multiple_of(ALIGNMENT)
}

/// Bins of a row with its padding, so that rows begin on a boundary that loads like.
pub(crate) fn row_bins(bins: u64) -> u64 {
    bins.next_multiple_of(64)
}

/// Whether the device had no memory to give: nothing was begun, and less may fit.
pub(crate) fn is_out_of_memory(error: &Error) -> bool {
    matches!(error, Error::Gpu(kernel_host::Error::OutOfMemory { .. }))
}

/// Elements that RoIs take in the buffers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BufferSizes {
    pub(crate) rois: u64,
    pub(crate) spacepoints: u64,
    pub(crate) cell_words: u64,
    /// Of find_z's histograms.
    pub(crate) rows: u64,
    pub(crate) partial_rows: u64,
    /// RoIs' own histograms.
    pub(crate) totals: u64,
    /// Of the RoI with the most.
    pub(crate) most_cell_words: u64,
    pub(crate) most_rows: u64,
    pub(crate) most_partial_rows: u64,
    pub(crate) most_totals: u64,
    pub(crate) most_bins: u64,
}

impl BufferSizes {
    /// Of an RoI, searched by this method.
    pub(crate) fn new(plan: &RoiPlan, shape: &Shape, pairs: RowSharing, method: SearchMethod) -> Self {
        let spacepoints = plan.spacepoints as u64;
        let rows = match (method, pairs) {
            // An RoI that is walked leaves nothing between stages.
            (SearchMethod::Walk, _) => 0,
            (_, RowSharing::Numbered { slices }) => plan.slices.div_ceil(slices),
            (_, RowSharing::Streamed { share }) => (plan.spacepoints as u32).div_ceil(share.unwrap_or(MOST_SHARE)),
        };
        // Of sum_histos's first stage: about the square root of the rows (thesis, sumHistos).
        let partial_rows = f64::from(rows).sqrt().ceil() as u64;
        let cells = match method {
            SearchMethod::Walk => 0,
            SearchMethod::Stages(density) => shape.variant(density).pairing.cells_of(shape.layers, plan.slices),
        };
        // Two a word, as long as half of one counts the spacepoints.
        let cell_words = u64::from(if plan.spacepoints <= 0xffff { cells.div_ceil(2) } else { cells });
        let (rows, totals) = (u64::from(rows), u64::from(plan.histograms));
        Self {
            rois: 1,
            spacepoints,
            cell_words,
            rows,
            partial_rows,
            totals,
            most_cell_words: cell_words,
            most_rows: rows,
            most_partial_rows: partial_rows,
            most_totals: totals,
            most_bins: u64::from(plan.bins.bins),
        }
    }

    /// Of an RoI, by whichever method it is searched.
    pub(crate) fn most(plan: &RoiPlan, shape: &Shape, pairs: RowSharing) -> Self {
        Self::new(plan, shape, pairs, SearchMethod::Stages(Density::High))
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            rois: self.rois + other.rois,
            spacepoints: self.spacepoints + other.spacepoints,
            cell_words: self.cell_words + other.cell_words,
            rows: self.rows + other.rows,
            partial_rows: self.partial_rows + other.partial_rows,
            totals: self.totals + other.totals,
            most_cell_words: self.most_cell_words.max(other.most_cell_words),
            most_rows: self.most_rows.max(other.most_rows),
            most_partial_rows: self.most_partial_rows.max(other.most_partial_rows),
            most_totals: self.most_totals.max(other.most_totals),
            most_bins: self.most_bins.max(other.most_bins),
        }
    }

    /// Of each buffer that may be large.
    pub(crate) fn bytes<R: Real>(&self, shape: &Shape) -> [u64; 9] {
        let row_bytes = 4 * row_bins(self.most_bins);
        let variant = shape.variant(Density::High);
        [
            aligned(self.rois * size_of::<R::Roi>() as u64)
                + aligned(self.rows * 4)
                + self.spacepoints * size_of::<R::Spacepoint>() as u64,
            self.rois * u64::from(shape.peaks) * size_of::<Peak>() as u64,
            self.spacepoints * size_of::<R::Stored>() as u64,
            self.spacepoints * 2 * size_of::<R>() as u64,
            self.cell_words * 4,
            self.rows * u64::from(variant.row_parts()) * row_bytes,
            self.partial_rows * 2 * row_bytes,
            self.totals * u64::from(variant.total_parts()) * row_bytes,
            self.rois * size_of::<Sums>() as u64,
        ]
    }

    /// Tiles of the cells of the RoI with the most.
    pub(crate) fn tiles(&self, shape: &Shape) -> u64 {
        self.most_cell_words.div_ceil(u64::from(shape.cell_tile(Density::High).cell_words))
    }
}

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
    pub(crate) const MOST_FILLING: usize = Self::FILLING as usize;

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
