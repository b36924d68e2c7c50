//! How a batch is cut to fit the adapter, and where each RoI's data lie in the buffers.

use kernel_host::{AdapterKind, Gpu};

use crate::engine::gpu::find_z::Teams;
use crate::engine::gpu::shaders::Variant;
use crate::engine::gpu::slice_spacepoints::Room;
use crate::engine::gpu::walk;
use crate::engine::gpu::workspace::{Params, Sums};
use crate::engine::plan::{RoiPlan, Search};
use crate::engine::real::{Real, RoiWords};
use crate::histogram::Peak;

/// What one dispatch and one set of buffers can hold.
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
    /// Rows of histograms beyond this gain nothing: the adapter is full, and memory is somebody else's too.
    const MOST_BYTES: u64 = 512 << 20;
    /// Enough work to fill a GPU, and small enough that one part is prepared while another computes (measured on an
    /// H200: docs/performance.md).
    const UPLOAD_BYTES: u64 = 16 << 20;

    /// Measured on an H200: docs/performance.md. A software adapter has a few cores.
    const FILLING: u64 = 2048;
    const FILLING_SOFTWARE: u64 = 256;

    /// Some systems kill a device whose dispatch lasts two seconds. The slowest GPUs that are worth having do 10^10 pairs
    /// in that time.
    const WORK: f64 = 2e9;
    const WORK_SOFTWARE: f64 = 5e7;

    pub(crate) fn of(gpu: &Gpu) -> Self {
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
}

/// Whose pairs fill a row of histograms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pairs {
    /// Those of a group of so many slices: `pairs/numbered.wgsl`.
    Numbered { slices: u32 },
    /// Those of a share of the spacepoints; None: by the amount of work. `pairs/streamed.wgsl`.
    Streamed { share: Option<u32> },
}

/// What is fixed when the engine is built.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) pairs: Pairs,
    /// Threads of find_z's workgroups.
    pub(crate) workgroup_size: u32,
    pub(crate) teams: Teams,
    pub(crate) tile_bins: u32,
    /// Of slice_spacepoints, for few spacepoints an RoI and for many.
    pub(crate) rooms: [Room; 2],
    /// Of the walk of an RoI in one workgroup.
    pub(crate) walk: Option<walk::Room>,
    pub(crate) layers: u32,
    /// Most peaks of an RoI that come back.
    pub(crate) peaks: u32,
    /// For few spacepoints an RoI, and for many.
    pub(crate) variants: [Variant; 2],
    /// Histograms of each charge, of each slice.
    pub(crate) charge_aware: bool,
    pub(crate) per_slice: bool,
}

/// Most spacepoints whose pairs one workgroup histograms: more would keep it busy for too long.
const MOST_SHARE: u32 = 1024;
/// Fewest: below this, filling a row is less work than summing it (measured on an H200: docs/performance.md).
const LEAST_SHARE: u32 = 128;

/// Rows that a thread of sum_histos sums at once. More are summed in two stages.
const ROWS_AT_ONCE: u32 = 16;
/// Threads that share an RoI's rows where there are few RoIs.
const ROW_LANES: u32 = 8;
const FEW_ROIS: usize = 64;
/// RoIs that are walked in one workgroup each, if they fit: more fill the device better in stages (measured on an H200:
/// docs/performance.md).
const WALKED_ROIS: usize = 256;

/// Where a binding may begin, in bytes: what every adapter allows.
pub(crate) const ALIGNMENT: u64 = 256;

fn aligned(bytes: u64) -> u64 {
    bytes.next_multiple_of(ALIGNMENT)
}

/// Elements that RoIs take in the buffers.
#[derive(Clone, Copy, Debug, Default)]
struct Needs {
    rois: u64,
    spacepoints: u64,
    cell_words: u64,
    /// Of the RoI with the most.
    most_cell_words: u64,
    histogram_rows: u64,
    partial_rows: u64,
    /// Histograms of their own.
    totals: u64,
    /// Of the widest histogram.
    bins: u64,
}

/// Words of workgroup memory that an RoI's cells take: two a word, as long as half of one counts its spacepoints.
fn cell_words(plan: &RoiPlan, cells: u64) -> u64 {
    if plan.spacepoints <= 0xffff { cells.div_ceil(2) } else { cells }
}

/// Rows of histograms that an RoI may fill.
fn rows_of(plan: &RoiPlan, pairs: Pairs) -> u32 {
    match pairs {
        Pairs::Numbered { slices } => plan.slices.div_ceil(slices),
        Pairs::Streamed { share } => (plan.spacepoints as u32).div_ceil(share.unwrap_or(MOST_SHARE)),
    }
}

impl Needs {
    fn of(plan: &RoiPlan, shape: &Shape, pairs: Pairs) -> Self {
        let rows = rows_of(plan, pairs);
        let cells = u64::from(shape.layers) * u64::from(plan.slices) + 1;
        Self {
            rois: 1,
            spacepoints: plan.spacepoints as u64,
            cell_words: cell_words(plan, cells),
            most_cell_words: cell_words(plan, cells),
            histogram_rows: u64::from(rows),
            partial_rows: u64::from(groups_of(rows)),
            totals: u64::from(plan.histograms),
            bins: u64::from(plan.bins.bins),
        }
    }

    fn and(self, other: Self) -> Self {
        Self {
            rois: self.rois + other.rois,
            spacepoints: self.spacepoints + other.spacepoints,
            cell_words: self.cell_words + other.cell_words,
            most_cell_words: self.most_cell_words.max(other.most_cell_words),
            histogram_rows: self.histogram_rows + other.histogram_rows,
            partial_rows: self.partial_rows + other.partial_rows,
            totals: self.totals + other.totals,
            bins: self.bins.max(other.bins),
        }
    }

    /// Of each buffer that may be large.
    fn bytes<R: Real>(&self, shape: &Shape) -> [u64; 9] {
        let row_bytes = 4 * row_bins(self.bins);
        [
            aligned(self.rois * size_of::<R::Roi>() as u64)
                + aligned(self.histogram_rows * 4)
                + self.spacepoints * size_of::<R::Spacepoint>() as u64,
            self.rois * u64::from(shape.peaks) * size_of::<Peak>() as u64,
            self.spacepoints * shape.variants[1].beside_bytes::<R>() as u64,
            self.spacepoints * 2 * size_of::<R>() as u64,
            self.cell_words * 4,
            self.histogram_rows * u64::from(shape.variants[1].row_parts()) * row_bytes,
            self.partial_rows * 2 * row_bytes,
            self.totals * u64::from(shape.variants[1].total_parts()) * row_bytes,
            self.rois * size_of::<Sums>() as u64,
        ]
    }

    fn fit<R: Real>(&self, capacity: &Capacity, shape: &Shape) -> bool {
        // Places in buffers are numbered in 32 bits.
        self.bytes::<R>(shape).iter().all(|&bytes| bytes <= capacity.buffer_bytes.min(u64::from(u32::MAX)))
            && self.rois <= capacity.workgroups
            && self.most_cell_words.div_ceil(u64::from(shape.rooms[1].tile)) <= capacity.workgroups
            && self.histogram_rows <= capacity.workgroups * capacity.workgroups
    }
}

/// About the bytes that an RoI by itself takes on the device.
pub(crate) fn bytes_of<R: Real>(plan: &RoiPlan, shape: &Shape) -> u64 {
    Needs::of(plan, shape, shape.pairs).bytes::<R>(shape).iter().sum()
}

/// Groups of sum_histos's first stage: about the square root of the rows (thesis, sumHistos).
fn groups_of(rows: u32) -> u32 {
    f64::from(rows).sqrt().ceil() as u32
}

/// Bins of a row with its padding, so that rows begin on a boundary that loads like.
fn row_bins(bins: u64) -> u64 {
    bins.next_multiple_of(64)
}

/// What becomes of a batch: parts that fit, and RoIs that never will.
pub(crate) struct Cut {
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
) -> Cut {
    let mut cut = Cut { parts: Vec::new(), too_large: Vec::new() };
    let mut part = Vec::new();
    let mut needs = Needs::default();
    let mut work = 0.0;
    for &index in wanted {
        let plan = &plans[index];
        let own = Needs::of(plan, shape, shape.pairs);
        if plan.is_too_much() || !own.fit::<R>(capacity, shape) {
            cut.too_large.push(index);
            continue;
        }
        let together = needs.and(own);
        let upload = together.spacepoints * bytes as u64;
        let own_work = work_of(plan);
        let full = upload > capacity.upload_bytes || work + own_work > capacity.work;
        if !part.is_empty() && (full || !together.fit::<R>(capacity, shape)) {
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
fn work_of(plan: &RoiPlan) -> f64 {
    let count = plan.spacepoints as f64;
    count * (1.0 + count * f64::from(plan.slices.min(3)) / f64::from(plan.slices))
}

/// How find_z's work is shared out in a part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sharing {
    pub(crate) pairs: Pairs,
    /// log2 of the threads that share a spacepoint's partners.
    pub(crate) lanes_shift: u32,
    pub(crate) dispatches: u32,
}

/// As asked, else enough workgroups to fill the device, and no more, as far as the buffers hold their histograms.
pub(crate) fn sharing<'a, R: Real>(
    plans: impl Iterator<Item = &'a RoiPlan> + Clone,
    capacity: &Capacity,
    shape: &Shape,
) -> Sharing {
    let Pairs::Streamed { share: asked } = shape.pairs else {
        return Sharing { pairs: shape.pairs, lanes_shift: 0, dispatches: dispatches(plans, capacity) };
    };
    let all: u64 = plans.clone().map(|plan| plan.spacepoints as u64).sum();
    let by_work = all.div_ceil(capacity.filling).clamp(u64::from(LEAST_SHARE), u64::from(MOST_SHARE)) as u32;
    let mut share = asked.unwrap_or(by_work.next_multiple_of(LEAST_SHARE));
    while asked.is_none() && share < MOST_SHARE {
        let pairs = Pairs::Streamed { share: Some(share) };
        let needs = plans.clone().map(|plan| Needs::of(plan, shape, pairs));
        if needs.reduce(Needs::and).is_none_or(|needs| needs.fit::<R>(capacity, shape)) {
            break;
        }
        share = (share * 2).min(MOST_SHARE);
    }
    // Threads that a small share leaves idle help with its spacepoints' partners.
    let idle = (shape.workgroup_size / share).clamp(1, MOST_LANES);
    // So do more of them where partners are many.
    let partners = (plans.clone().map(work_of).sum::<f64>() / all.max(1) as f64) as u32;
    let wanted = (partners / shape.teams.partners_a_lane).clamp(1, shape.teams.most_lanes);
    let lanes_shift = idle.max(wanted).ilog2();
    Sharing { pairs: Pairs::Streamed { share: Some(share) }, lanes_shift, dispatches: dispatches(plans, capacity) }
}

/// Dispatches of find_z: a part has little work or is one RoI, whose spacepoints may all lie in one slice.
fn dispatches<'a>(plans: impl Iterator<Item = &'a RoiPlan>, capacity: &Capacity) -> u32 {
    let most = plans.map(|plan| 0.5 * (plan.spacepoints as f64).powi(2)).fold(0.0, f64::max);
    ((most / capacity.work).ceil() as u32).clamp(1, MOST_DISPATCHES)
}

/// Each has its own params and bind group.
const MOST_DISPATCHES: u32 = 64;

const MOST_LANES: u32 = 8;

/// What is dispatched: the four stages, or all of them in one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    SliceSpacepoints,
    FindZ,
    SumHistos,
    /// In its place, where RoIs have several histograms.
    HighestWindows,
    FindPeaks,
    /// All of them, of an RoI in one workgroup.
    Walk,
}

impl Stage {
    /// The kernel's name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Stage::SliceSpacepoints => "slice_spacepoints",
            Stage::FindZ => "find_z",
            Stage::SumHistos => "sum_histos",
            Stage::HighestWindows => "highest_windows",
            Stage::FindPeaks => "find_peaks",
            Stage::Walk => "walk",
        }
    }
}

/// Where the RoIs of one part lie, and how large its dispatches are.
pub(crate) struct Layout<R: Real> {
    pub(crate) params: Params,
    pub(crate) rois: Vec<R::Roi>,
    /// The RoI of each row of histograms.
    pub(crate) row_rois: Vec<u32>,
    /// Room for spacepoints, those that take no part included.
    pub(crate) spacepoints: usize,
    pub(crate) cell_words: usize,
    pub(crate) partial_rows: usize,
    pub(crate) most_cell_words: u32,
    /// Which of the shape's rooms slice_spacepoints takes, and its tiles' words of cells.
    pub(crate) room: usize,
    pub(crate) tile_words: u32,
    /// Words of a bin in a row that find_z fills.
    pub(crate) row_parts: u32,
    /// Of what is kept beside a sorted spacepoint.
    pub(crate) beside_bytes: usize,
    /// Every RoI is walked in one workgroup.
    pub(crate) walked: bool,
    /// RoIs have several histograms: `totals` of them in all, and the one with the most so many.
    pub(crate) several: bool,
    pub(crate) totals: usize,
    pub(crate) most_totals: u32,
    /// Whether some of an RoI's windows are background.
    pub(crate) counts_sums: bool,
    pub(crate) most_groups: u32,
    pub(crate) tiles: u32,
    /// Of find_z.
    pub(crate) dispatches: u32,
    /// Whether sum_histos needs its first stage.
    pub(crate) two_stages: bool,
    /// Where each RoI's spacepoints and cells lie: for tests.
    #[cfg(test)]
    pub(crate) words: Vec<RoiWords>,
}

/// Bytes of a part's upload: params of each stage and dispatch, RoIs, the RoI of each row, spacepoints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Regions {
    pub(crate) rois: u64,
    pub(crate) row_rois: u64,
    pub(crate) spacepoints: u64,
    pub(crate) end: u64,
}

/// Stages of sum_histos, and passes of highest_windows, each with its own params.
pub(crate) const STAGES: usize = 4;

impl<R: Real> Layout<R> {
    /// RoIs in order; each has room for all of its spacepoints.
    pub(crate) fn new<'a>(
        search: &Search,
        shape: &Shape,
        sharing: Sharing,
        plans: impl Iterator<Item = &'a RoiPlan> + Clone,
    ) -> Self {
        let config = &search.config;
        let most_spacepoints = plans.clone().map(|plan| plan.spacepoints).max().unwrap_or(0);
        let room = usize::from(most_spacepoints > Room::FEW as usize);
        let variant = shape.variants[room];
        let is_walked = |room: walk::Room| plans.clone().all(|plan| room.holds(plan, shape));
        let walked = plans.clone().count() <= WALKED_ROIS && shape.walk.is_some_and(is_walked);
        let layers = shape.layers;
        let (slices_per_histogram, share) = match sharing.pairs {
            Pairs::Numbered { slices } => (slices, 1),
            Pairs::Streamed { share } => (1, share.unwrap_or(MOST_SHARE)),
        };
        let mut layout = Self {
            params: Params {
                layers,
                inner_layers: config.first_layers.min(layers - 1),
                slices_per_histogram,
                share,
                lanes_shift: sharing.lanes_shift,
                peaks: shape.peaks,
                least_weight: config.least_weight(),
                prefer_central: u32::from(config.prefer_central),
                total_parts: variant.total_parts(),
                ..Params::default()
            },
            rois: Vec::new(),
            row_rois: Vec::new(),
            spacepoints: 0,
            cell_words: 0,
            partial_rows: 0,
            most_cell_words: 0,
            room,
            tile_words: shape.rooms[room].tile,
            row_parts: variant.row_parts(),
            beside_bytes: variant.beside_bytes::<R>(),
            walked,
            several: variant.several,
            totals: 0,
            most_totals: 0,
            counts_sums: false,
            most_groups: 0,
            tiles: 0,
            dispatches: 1,
            two_stages: false,
            #[cfg(test)]
            words: Vec::new(),
        };
        let (mut bins, mut most_rows) = (0, 0);
        for plan in plans {
            // An RoI that is walked leaves nothing between stages.
            let histogram_count = if walked { 0 } else { rows_of(plan, sharing.pairs) };
            let partial_count = groups_of(histogram_count);
            let cells = if walked { 0 } else { variant.cells_of(layers, plan.slices) };
            let words = RoiWords {
                spacepoint_first: layout.spacepoints as u32,
                cell_first: layout.cell_words as u32,
                histogram_first: layout.row_rois.len() as u32,
                histogram_count,
                partial_first: layout.partial_rows as u32,
                partial_count,
                total_first: layout.totals as u32,
                totals: plan.histograms,
                ..plan.words()
            };
            let rows = layout.row_rois.len() + histogram_count as usize;
            layout.row_rois.resize(rows, layout.rois.len() as u32);
            layout.rois.push(R::roi(plan.z_scale(), words));
            #[cfg(test)]
            layout.words.push(words);
            layout.spacepoints += plan.spacepoints;
            layout.cell_words += cell_words(plan, cells.into()) as usize;
            layout.partial_rows += partial_count as usize;
            layout.totals += plan.histograms as usize;
            layout.most_totals = layout.most_totals.max(plan.histograms);
            let windows = u64::from(plan.histograms) * u64::from(plan.bins.bins - 2);
            layout.counts_sums |= (1..windows).contains(&u64::from(plan.background_windows));
            layout.most_cell_words = layout.most_cell_words.max(cell_words(plan, cells.into()) as u32);
            layout.most_groups = layout.most_groups.max(partial_count);
            most_rows = most_rows.max(histogram_count);
            bins = bins.max(plan.bins.bins);
        }
        if walked {
            // All of an RoI's pairs are one workgroup's.
            (layout.params.share, layout.params.lanes_shift) = (u32::MAX / 2, 0);
        }
        // Few RoIs leave threads that can share each one's rows.
        let lanes_shift = if layout.rois.len() <= FEW_ROIS { ROW_LANES.ilog2() } else { 0 };
        layout.params.row_lanes_shift = lanes_shift;
        layout.two_stages = most_rows > ROWS_AT_ONCE << lanes_shift;
        layout.params.rows = layout.row_rois.len() as u32;
        layout.params.row_bins = row_bins(u64::from(bins)) as u32;
        layout.tiles = bins.div_ceil(shape.tile_bins);
        layout.dispatches = sharing.dispatches.clamp(1, layout.params.rows.max(1));
        layout
    }

    /// Where a part's data lie in its upload; a spacepoint is `bytes` long.
    pub(crate) fn regions(&self, bytes: usize) -> Regions {
        let rois = (STAGES + self.more_params()) as u64 * ALIGNMENT;
        let row_rois = rois + aligned(size_of_val(self.rois.as_slice()) as u64);
        let spacepoints = row_rois + aligned(size_of_val(self.row_rois.as_slice()) as u64);
        Regions { rois, row_rois, spacepoints, end: spacepoints + (self.spacepoints * bytes) as u64 }
    }

    /// Params and RoIs as they are uploaded before the spacepoints.
    pub(crate) fn header(&self, regions: &Regions) -> Vec<u32> {
        let mut header = vec![0u32; regions.spacepoints as usize / 4];
        let mut put = |at: u64, words: &[u32]| header[at as usize / 4..][..words.len()].copy_from_slice(words);
        for stage in 0..STAGES as u64 {
            let params = Params { stage: stage as u32, ..self.params };
            put(stage * ALIGNMENT, bytemuck::cast_slice(&[params]));
        }
        for dispatch in 0..self.more_params() as u32 {
            let [row_first, rows] = self.rows_of(dispatch);
            let params = Params { row_first, rows, ..self.params };
            put((STAGES as u64 + u64::from(dispatch)) * ALIGNMENT, bytemuck::cast_slice(&[params]));
        }
        put(regions.rois, bytemuck::cast_slice(&self.rois));
        put(regions.row_rois, &self.row_rois);
        header
    }

    /// What is dispatched, in order.
    pub(crate) fn stages(&self) -> &'static [Stage] {
        if self.walked {
            &[Stage::Walk]
        } else if self.several {
            &[Stage::SliceSpacepoints, Stage::FindZ, Stage::HighestWindows, Stage::FindPeaks]
        } else if self.row_parts == 0 {
            &[Stage::SliceSpacepoints, Stage::FindZ, Stage::FindPeaks]
        } else {
            &[Stage::SliceSpacepoints, Stage::FindZ, Stage::SumHistos, Stage::FindPeaks]
        }
    }

    /// Words of the RoIs' own histograms.
    pub(crate) fn total_words(&self) -> usize {
        self.totals * (self.params.total_parts * self.params.row_bins) as usize
    }

    /// Peaks of all RoIs.
    pub(crate) fn peaks(&self) -> usize {
        self.rois.len() * self.params.peaks as usize
    }

    /// Of find_z's dispatches, where one is not enough.
    fn more_params(&self) -> usize {
        if self.dispatches > 1 { self.dispatches as usize } else { 0 }
    }

    /// First row and end of one of find_z's dispatches.
    pub(crate) fn rows_of(&self, dispatch: u32) -> [u32; 2] {
        let rows = u64::from(self.params.rows);
        [dispatch, dispatch + 1].map(|n| (rows * u64::from(n) / u64::from(self.dispatches)) as u32)
    }

    /// Workgroups of so many rows: in two dimensions, tiles of bins in the third.
    pub(crate) fn row_grid(&self, rows: u32, most: u32) -> [u32; 3] {
        let width = rows.min(most);
        [width, rows.div_ceil(width.max(1)), self.tiles]
    }
}

#[cfg(test)]
#[path = "batch_tests.rs"]
mod tests;
