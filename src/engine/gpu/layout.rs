//! Where each RoI's data lie in the buffers of a part.

use crate::engine::gpu::buffer_sizes::{ALIGNMENT, BufferSizes, MOST_SHARE, aligned, row_bins};
use crate::engine::gpu::capacity::Sharing;
use crate::engine::gpu::shaders::{Density, Variant};
use crate::engine::gpu::shape::{RowSharing, SearchMethod, Shape};
use crate::engine::plan::{RoiPlan, Search};
use crate::engine::real::Real;
use crate::engine::records::{Params, RoiWords};

/// Stages of sum_histos, and passes of highest_windows, each with its own params.
pub(crate) const STAGES: usize = 4;

/// Rows that a thread of sum_histos sums at once. More are summed in two stages.
const ROWS_AT_ONCE: u64 = 16;
/// Threads that share an RoI's rows where there are few RoIs.
const ROW_LANES: u32 = 8;
const FEW_ROIS: u64 = 64;

/// Where the RoIs of one part lie, and how they are searched.
pub(crate) struct Layout<R: Real> {
    pub(crate) method: SearchMethod,
    pub(crate) variant: Variant,
    pub(crate) params: Params,
    pub(crate) rois: Vec<R::Roi>,
    /// The RoI of each row of histograms.
    pub(crate) row_rois: Vec<u32>,
    pub(crate) needs: BufferSizes,
    /// Tiles of slice_spacepoints, of cells, and of find_z, of bins.
    pub(crate) cell_tiles: u32,
    pub(crate) bin_tiles: u32,
    /// Of find_z.
    pub(crate) dispatches: u32,
    /// Whether some of an RoI's windows are background.
    pub(crate) counts_sums: bool,
    /// Where each RoI's spacepoints and cells lie: for tests.
    #[cfg(test)]
    pub(crate) words: Vec<RoiWords>,
}

/// Bytes of a part's upload: params of each stage and dispatch, RoIs, the RoI of each row,
/// spacepoints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Regions {
    pub(crate) rois: u64,
    pub(crate) row_rois: u64,
    pub(crate) spacepoints: u64,
    pub(crate) end: u64,
}

impl<R: Real> Layout<R> {
    /// RoIs in order; each has room for all of its spacepoints.
    pub(crate) fn new<'a>(
        search: &Search,
        shape: &Shape,
        sharing: Sharing,
        plans: impl Iterator<Item = &'a RoiPlan> + Clone,
    ) -> Self {
        let method = shape.method(plans.clone());
        let density = method.density();
        let mut needs = BufferSizes::default();
        let mut row_rois = Vec::new();
        let mut words = Vec::new();
        for (i, plan) in plans.clone().enumerate() {
            let own = BufferSizes::new(plan, shape, sharing.pairs, method);
            words.push(words_of(plan, &needs, &own));
            needs = needs.and(own);
            row_rois.resize(needs.rows as usize, i as u32);
        }
        let variant = shape.variant(density);
        let params = params(search, shape, sharing, method, &needs);
        let has_background = |plan: &RoiPlan| {
            let windows = u64::from(plan.histograms) * u64::from(plan.bins.bins - 2);
            (1..windows).contains(&u64::from(plan.background_windows))
        };
        Self {
            method,
            variant,
            params,
            rois: plans.clone().zip(&words).map(|(plan, &words)| R::roi(plan.z_scale(), words)).collect(),
            row_rois,
            needs,
            cell_tiles: needs.most_cell_words.div_ceil(u64::from(shape.cell_tile(density).cell_words)) as u32,
            bin_tiles: (needs.most_bins as u32).div_ceil(shape.find_z(density).tile_bins),
            dispatches: sharing.dispatches.clamp(1, params.rows.max(1)),
            counts_sums: plans.clone().any(has_background),
            #[cfg(test)]
            words,
        }
    }

    /// Where a part's data lie in its upload; a spacepoint is `bytes` long.
    pub(crate) fn regions(&self, bytes: usize) -> Regions {
        let rois = (STAGES + self.more_params()) as u64 * ALIGNMENT;
        let row_rois = rois + aligned(size_of_val(self.rois.as_slice()) as u64);
        let spacepoints = row_rois + aligned(size_of_val(self.row_rois.as_slice()) as u64);
        Regions { rois, row_rois, spacepoints, end: spacepoints + self.needs.spacepoints * bytes as u64 }
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

    /// Whether sum_histos needs its first stage.
    pub(crate) fn sums_in_two_stages(&self) -> bool {
        self.needs.most_rows > ROWS_AT_ONCE << self.params.row_lanes_shift
    }

    /// Groups of rows of sum_histos's first stage.
    pub(crate) fn most_groups(&self) -> u32 {
        self.needs.most_partial_rows as u32
    }

    /// Histograms of the RoI with the most.
    pub(crate) fn most_totals(&self) -> u32 {
        self.needs.most_totals as u32
    }

    /// Words of find_z's rows.
    pub(crate) fn row_words(&self) -> usize {
        self.row_rois.len() * (self.variant.row_parts() * self.params.row_bins) as usize
    }

    /// Words of the RoIs' own histograms.
    pub(crate) fn total_words(&self) -> usize {
        self.needs.totals as usize * (self.params.total_parts * self.params.row_bins) as usize
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
}

/// An RoI's record, whose data begin where those of the RoIs before it end.
fn words_of(plan: &RoiPlan, before: &BufferSizes, own: &BufferSizes) -> RoiWords {
    RoiWords {
        spacepoint_first: before.spacepoints as u32,
        cell_first: before.cell_words as u32,
        histogram_first: before.rows as u32,
        histogram_count: own.rows as u32,
        partial_first: before.partial_rows as u32,
        partial_count: own.partial_rows as u32,
        total_first: before.totals as u32,
        totals: plan.histograms,
        ..plan.words()
    }
}

/// Returns the parameters that all RoIs of a part share.
fn params(search: &Search, shape: &Shape, sharing: Sharing, method: SearchMethod, needs: &BufferSizes) -> Params {
    let config = &search.config;
    let (slices_per_histogram, share, lanes_shift) = match (method, sharing.pairs) {
        // All of an RoI's pairs are one workgroup's.
        (SearchMethod::Walk, _) => (1, u32::MAX / 2, 0),
        (_, RowSharing::Numbered { slices }) => (slices, 1, sharing.lanes_shift),
        (_, RowSharing::Streamed { share }) => (1, share.unwrap_or(MOST_SHARE), sharing.lanes_shift),
    };
    Params {
        layers: shape.layers,
        inner_layers: config.first_layers.min(shape.layers - 1),
        slices_per_histogram,
        share,
        lanes_shift,
        row_first: 0,
        rows: needs.rows as u32,
        row_bins: row_bins(needs.most_bins) as u32,
        peaks: shape.peaks,
        least_weight: config.least_weight(),
        prefer_central: u32::from(config.prefer_central),
        stage: 0,
        // Few RoIs leave threads that can share each one's rows.
        row_lanes_shift: if needs.rois <= FEW_ROIS { ROW_LANES.ilog2() } else { 0 },
        total_parts: shape.variant(Density::High).total_parts(),
    }
}
