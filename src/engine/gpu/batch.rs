//! How a batch is cut to fit the adapter, and where each RoI's data lie in the buffers.

use kernel_host::{AdapterKind, Gpu};

use crate::engine::gpu::workspace::Params;
use crate::engine::plan::{RoiPlan, Search, Taken};
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

    pub(crate) fn of(gpu: &Gpu) -> Self {
        let limits = gpu.limits();
        let software = gpu.summary().kind == AdapterKind::Software;
        Self {
            buffer_bytes: limits.max_storage_buffer_binding_size.min(limits.max_buffer_size).min(Self::MOST_BYTES),
            upload_bytes: Self::UPLOAD_BYTES,
            workgroups: u64::from(limits.max_compute_workgroups_per_dimension),
            filling: if software { Self::FILLING_SOFTWARE } else { Self::FILLING },
        }
    }
}

/// What is fixed when the engine is built.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// None: by the amount of work.
    pub(crate) slices_per_histogram: Option<u32>,
    pub(crate) tile_bins: u32,
    pub(crate) layers: u32,
    pub(crate) peaks: u32,
}

/// Elements that RoIs take in the buffers.
#[derive(Clone, Copy, Debug, Default)]
struct Needs {
    rois: u64,
    spacepoints: u64,
    /// Of the largest RoI.
    most_spacepoints: u64,
    cells: u64,
    histogram_rows: u64,
    partial_rows: u64,
    /// Of the widest histogram.
    bins: u64,
}

impl Needs {
    fn of(plan: &RoiPlan, shape: &Shape, slices_per_histogram: u32) -> Self {
        let rows = plan.slices.div_ceil(slices_per_histogram);
        Self {
            rois: 1,
            spacepoints: plan.spacepoints as u64,
            most_spacepoints: plan.spacepoints as u64,
            cells: u64::from(shape.layers) * u64::from(plan.slices) + 1,
            histogram_rows: u64::from(rows),
            partial_rows: u64::from(groups_of(rows)),
            bins: u64::from(plan.bins.bins),
        }
    }

    fn and(self, other: Self) -> Self {
        Self {
            rois: self.rois + other.rois,
            spacepoints: self.spacepoints + other.spacepoints,
            most_spacepoints: self.most_spacepoints.max(other.most_spacepoints),
            cells: self.cells + other.cells,
            histogram_rows: self.histogram_rows + other.histogram_rows,
            partial_rows: self.partial_rows + other.partial_rows,
            bins: self.bins.max(other.bins),
        }
    }

    fn fit<R: Real>(&self, capacity: &Capacity, shape: &Shape) -> bool {
        let row_bytes = 8 * row_bins(self.bins);
        let bytes = [
            self.rois * size_of::<R::Roi>() as u64,
            self.rois * u64::from(shape.peaks) * size_of::<Peak>() as u64,
            self.spacepoints * size_of::<R::Spacepoint>() as u64,
            self.cells * 4,
            self.histogram_rows * row_bytes,
            self.partial_rows * row_bytes,
            self.rois * row_bytes,
        ];
        // Places in buffers are numbered in 32 bits.
        bytes.iter().all(|&bytes| bytes <= capacity.buffer_bytes.min(u64::from(u32::MAX)))
            && self.rois <= capacity.workgroups
            && self.most_spacepoints.div_ceil(64) <= capacity.workgroups
    }
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

/// Cuts a batch into parts that fit; RoIs with nothing to search are in none.
pub(crate) fn cut<R: Real>(plans: &[RoiPlan], capacity: &Capacity, shape: &Shape) -> Cut {
    let mut cut = Cut { parts: Vec::new(), too_large: Vec::new() };
    let mut part = Vec::new();
    let mut needs = Needs::default();
    for (index, plan) in plans.iter().enumerate() {
        if plan.is_empty() {
            continue;
        }
        let own = Needs::of(plan, shape, shape.slices_per_histogram.unwrap_or(MOST_SLICES_PER_HISTOGRAM));
        if !own.fit::<R>(capacity, shape) {
            cut.too_large.push(index);
            continue;
        }
        let together = needs.and(own);
        let upload = together.spacepoints * size_of::<R::Spacepoint>() as u64;
        if !part.is_empty() && (upload > capacity.upload_bytes || !together.fit::<R>(capacity, shape)) {
            cut.parts.push(std::mem::take(&mut part));
            needs = own;
        } else {
            needs = together;
        }
        part.push(index);
    }
    if !part.is_empty() {
        cut.parts.push(part);
    }
    cut
}

/// Beyond this, a histogram's slices keep one workgroup busy for too long.
const MOST_SLICES_PER_HISTOGRAM: u32 = 1024;

/// Slices that share a histogram in a part: as asked, else enough workgroups to fill the device, and no more, as far as
/// the buffers hold their histograms.
pub(crate) fn slices_per_histogram<'a, R: Real>(
    plans: impl Iterator<Item = &'a RoiPlan> + Clone,
    capacity: &Capacity,
    shape: &Shape,
) -> u32 {
    if let Some(slices) = shape.slices_per_histogram {
        return slices;
    }
    let all: u64 = plans.clone().map(|plan| u64::from(plan.slices)).sum();
    let mut slices = all.div_ceil(capacity.filling).clamp(1, u64::from(MOST_SLICES_PER_HISTOGRAM)) as u32;
    while slices < MOST_SLICES_PER_HISTOGRAM {
        let needs = plans.clone().map(|plan| Needs::of(plan, shape, slices));
        if needs.reduce(Needs::and).is_none_or(|needs| needs.fit::<R>(capacity, shape)) {
            break;
        }
        slices = (slices * 2).min(MOST_SLICES_PER_HISTOGRAM);
    }
    slices
}

/// Where the RoIs of one part lie, and how large its dispatches are.
pub(crate) struct Layout<R: Real> {
    pub(crate) params: Params,
    pub(crate) rois: Vec<R::Roi>,
    /// Room for spacepoints, those not taken included.
    pub(crate) spacepoints: usize,
    pub(crate) cells: usize,
    pub(crate) histogram_rows: usize,
    pub(crate) partial_rows: usize,
    pub(crate) most_spacepoints: u32,
    pub(crate) most_histograms: u32,
    pub(crate) most_groups: u32,
    pub(crate) tiles: u32,
    /// Where each RoI's spacepoints and cells lie: for tests.
    #[cfg(test)]
    pub(crate) words: Vec<RoiWords>,
}

impl<R: Real> Layout<R> {
    /// RoIs in order; each has room for all of its spacepoints, of which those taken come first.
    pub(crate) fn new<'a>(
        search: &Search,
        shape: &Shape,
        slices_per_histogram: u32,
        rois: impl Iterator<Item = (&'a RoiPlan, Taken)>,
    ) -> Self {
        let config = &search.config;
        let layers = shape.layers;
        let mut layout = Self {
            params: Params {
                layers,
                inner_layers: config.first_layers.min(layers - 1),
                slices_per_histogram,
                row_bins: 0,
                peaks: config.peaks,
                least_weight: config.least_weight(),
                prefer_central: u32::from(config.prefer_central),
                ..Params::default()
            },
            rois: Vec::new(),
            spacepoints: 0,
            cells: 0,
            histogram_rows: 0,
            partial_rows: 0,
            most_spacepoints: 0,
            most_histograms: 0,
            most_groups: 0,
            tiles: 0,
            #[cfg(test)]
            words: Vec::new(),
        };
        let mut bins = 0;
        for (plan, taken) in rois {
            let histogram_count = plan.slices.div_ceil(slices_per_histogram);
            let partial_count = groups_of(histogram_count);
            let words = RoiWords {
                spacepoint_first: layout.spacepoints as u32,
                cell_first: layout.cells as u32,
                histogram_first: layout.histogram_rows as u32,
                histogram_count,
                partial_first: layout.partial_rows as u32,
                partial_count,
                ..plan.words(taken)
            };
            layout.rois.push(R::roi(plan.z_scale(), words));
            #[cfg(test)]
            layout.words.push(words);
            layout.spacepoints += plan.spacepoints;
            layout.cells += (layers * plan.slices + 1) as usize;
            layout.histogram_rows += histogram_count as usize;
            layout.partial_rows += partial_count as usize;
            layout.most_spacepoints = layout.most_spacepoints.max(taken.kept as u32);
            layout.most_histograms = layout.most_histograms.max(histogram_count);
            layout.most_groups = layout.most_groups.max(partial_count);
            bins = bins.max(plan.bins.bins);
        }
        layout.params.row_bins = row_bins(u64::from(bins)) as u32;
        layout.tiles = bins.div_ceil(shape.tile_bins);
        layout
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::detector::Detector;
    use crate::spacepoint::{PhiWindow, RoiBatch, RoiDescriptor, Spacepoint};

    const SHAPE: Shape = Shape { slices_per_histogram: None, tile_bins: 2048, layers: 19, peaks: 1 };
    const WEBGPU: Capacity =
        Capacity { buffer_bytes: 128 << 20, upload_bytes: 16 << 20, workgroups: 65_535, filling: 2048 };

    /// RoIs of a tenth of a radian with so many spacepoints each.
    fn plans(spacepoints: impl IntoIterator<Item = usize>) -> Vec<RoiPlan> {
        let window = Some(PhiWindow::new(0.0, 0.1).expect("a window"));
        let mut batch = RoiBatch::new();
        for count in spacepoints {
            let point = Spacepoint { rho: 50.0, phi: 0.05, z: 0.0, layer: 0 };
            batch.push(RoiDescriptor { window, ..RoiDescriptor::default() }, std::iter::repeat_n(point, count));
        }
        let search = Search::new(&Config::default(), &Detector::atlas2010());
        batch.iter().map(|roi| search.plan(roi).expect("a plan")).collect()
    }

    /// Every RoI with spacepoints is in one part, in order, and every part fits.
    #[test]
    fn a_cut_loses_nothing() {
        for (what, counts) in [
            ("more RoIs than workgroups of a dimension", vec![1; 70_000]),
            ("empty ones among them", (0..3000).map(|i| i % 3).collect()),
            ("more than an upload", vec![100_000; 25]),
            ("one larger than an upload", vec![10, 2_000_000, 10]),
            ("none", vec![]),
        ] {
            let plans = plans(counts.iter().copied());
            let cut = cut::<f32>(&plans, &WEBGPU, &SHAPE);
            assert!(cut.too_large.is_empty(), "{what}");
            let searched: Vec<usize> = cut.parts.iter().flatten().copied().collect();
            let wanted: Vec<usize> = (0..counts.len()).filter(|&i| counts[i] > 0).collect();
            assert_eq!(searched, wanted, "{what}");
            for part in &cut.parts {
                let own = part.iter().map(|&i| &plans[i]);
                let slices = slices_per_histogram::<f32>(own.clone(), &WEBGPU, &SHAPE);
                let needs = own.map(|plan| Needs::of(plan, &SHAPE, slices)).reduce(Needs::and).expect("no empty part");
                assert!(needs.fit::<f32>(&WEBGPU, &SHAPE), "{what}: {needs:?}, {slices} slices a histogram");
            }
        }
    }

    #[test]
    fn what_never_fits_is_told() {
        let plans = plans([10, 9_000_000, 10]);
        let cut = cut::<f32>(&plans, &WEBGPU, &SHAPE);
        assert_eq!((cut.parts, cut.too_large), (vec![vec![0, 2]], vec![1]));
    }

    #[test]
    fn few_slices_share_a_histogram_when_there_is_little_work() {
        let slices = |rois| slices_per_histogram::<f32>(plans(vec![1; rois]).iter(), &WEBGPU, &SHAPE);
        assert_eq!((slices(1), slices(1000)), (1, 15)); // 29 slices an RoI
        assert!(slices(60_000) > slices(1000));
    }
}
