//! Elements and bytes that RoIs take in the buffers of a part.

use crate::engine::gpu::shaders::Density;
use crate::engine::gpu::shape::{RowSharing, SearchMethod, Shape};
use crate::engine::plan::RoiPlan;
use crate::engine::real::Real;
use crate::engine::records::{Peak, Sums};

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
