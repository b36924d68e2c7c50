//! The CPU engine: the four stages in the order of the walk, parallel over RoIs and over groups of slices. Each stage
//! is the twin of the shader of its name and can be read beside it.

pub(crate) mod find_peaks;
pub(crate) mod find_z;
pub(crate) mod slice_spacepoints;
pub(crate) mod sum_histos;

use rayon::prelude::*;

use crate::engine::encoding::{Compact, Encode, Lossless};
use crate::engine::plan::{RoiPlan, Search, Taken};
use crate::engine::real::{Point, Real};
use crate::engine::vertices::Vertices;
use crate::error::Result;
use crate::finder::{Accumulate, Encoding, EngineOptions, Precision};
use crate::histogram::{CompareExchange, FixedPoint, Peak, ZSum};
use crate::spacepoint::{RoiBatch, RoiView};
use crate::vertex::RoiResult;

pub(crate) struct CpuEngine {
    search: Search,
    accumulate: Accumulate,
    precision: Precision,
    compact: Option<Compact>,
}

/// Slices that share a histogram: few enough histograms to sum quickly, enough of them for every core.
const SLICES_PER_HISTOGRAM: u32 = 64;

impl CpuEngine {
    pub(crate) fn new(search: Search, options: &EngineOptions) -> Self {
        let compact = match options.encoding {
            Encoding::Compact => Compact::new(&search),
            Encoding::Lossless => None,
        };
        Self { search, accumulate: options.accumulate, precision: options.precision, compact }
    }

    pub(crate) fn description(&self) -> String {
        let threads = rayon::current_num_threads();
        format!("CPU engine, {threads} threads, {:?}", self.precision).to_lowercase().replace("cpu", "CPU")
    }

    pub(crate) fn find_batch(&self, batch: &RoiBatch) -> Result<Vec<RoiResult>> {
        (0..batch.len()).into_par_iter().map(|i| self.find(batch.roi(i))).collect()
    }

    pub(crate) fn find(&self, roi: RoiView<'_>) -> Result<RoiResult> {
        match (self.precision, self.accumulate) {
            (Precision::F32, Accumulate::Fixed) => self.find_in::<f32, FixedPoint>(roi),
            (Precision::F32, Accumulate::CompareExchange) => self.find_in::<f32, CompareExchange>(roi),
            (Precision::F64, Accumulate::Fixed) => self.find_in::<f64, FixedPoint>(roi),
            (Precision::F64, Accumulate::CompareExchange) => self.find_in::<f64, CompareExchange>(roi),
        }
    }

    fn find_in<R: Real, Z: ZSum>(&self, roi: RoiView<'_>) -> Result<RoiResult> {
        let plan = self.search.plan(roi)?;
        if plan.is_too_much() {
            return Ok(plan.result(plan.nothing_taken(), Vec::new(), true));
        }
        let mut points = Vec::with_capacity(roi.len());
        let mut taken = Taken { too_far: true, ..Taken::default() };
        if let Some(compact) = &self.compact {
            taken = self.search.pack::<R, _>(compact, &plan, roi, |block| {
                points.extend(block.iter().filter_map(|word| Encode::<R>::decode(compact, word)));
            });
        }
        // What the compact encoding cannot hold, the lossless one does.
        if taken.too_far {
            points.clear();
            taken = self
                .search
                .pack::<R, _>(&Lossless, &plan, roi, |block| points.extend(block.iter().filter_map(R::point)));
        }
        if taken.kept == 0 {
            return Ok(plan.result(taken, Vec::new(), false));
        }
        let mut vertices = Vertices::new(&self.search, &plan, self.accumulate);
        let capacity_exceeded = search_roi::<R, Z>(&self.search, &plan, &points, |peak| vertices.take(peak));
        Ok(plan.result(taken, vertices.found(), capacity_exceeded))
    }
}

/// The four stages on one RoI, whose peaks go to `take_peak` as long as it wants more. Returns whether counts went beyond
/// what words hold, so that there are none.
pub(crate) fn search_roi<R: Real, Z: ZSum>(
    search: &Search,
    plan: &RoiPlan,
    spacepoints: &[Point<R>],
    take_peak: impl FnMut(&Peak) -> bool,
) -> bool {
    let sliced = slice_spacepoints::slice_spacepoints::<R>(spacepoints, search.layers(), plan.slices);
    // Several histograms take much memory: one set of them.
    let each = if plan.histograms == 1 { SLICES_PER_HISTOGRAM } else { plan.slices };
    let groups = plan.slices.div_ceil(each);
    let histograms: Vec<_> = (0..groups)
        .into_par_iter()
        .map(|group| {
            let slices = group * each..((group + 1) * each).min(plan.slices);
            find_z::find_z::<R, Z>(search, plan, &sliced, slices)
        })
        .collect();
    let mut sum = sum_histos::sum_histos::<Z>(histograms);
    if sum.overflows() {
        return true;
    }
    find_peaks::find_peaks(&mut sum, &plan.bins, &search.config, plan.background_windows, take_peak);
    false
}
