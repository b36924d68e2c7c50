//! The plan of a part: how its RoIs are searched, how find_z's work is shared out, where each RoI's
//! data lie in the buffers, and which kernels run, in which order, with which grids. All of it is
//! decided here, once for a part.

#[cfg(feature = "internals")]
use std::fmt;

use crate::config::PairWeight;
use crate::engine::gpu::capacity::{ALIGNMENT, BufferSizes, Capacity, MOST_SHARE, aligned, row_bins, work_of};
use crate::engine::gpu::kernels::KernelName;
use crate::engine::gpu::shaders::{Density, Variant};
use crate::engine::gpu::shape::{CellTile, RowSharing, SearchMethod, Shape, WalkSize};
use crate::engine::plan::{RoiPlan, Search};
use crate::engine::real::Real;
use crate::engine::records::{Params, RoiWords};
use crate::error::Result;
use crate::options::Encoding;

/// Stages of sum_histos, and passes of highest_windows, each with its own params.
pub(crate) const STAGES: usize = 4;

/// Rows that a thread of sum_histos sums at once. More are summed in two stages.
const ROWS_AT_ONCE: u64 = 16;
/// Threads that share an RoI's rows where there are few RoIs.
const ROW_LANES: u32 = 8;
const FEW_ROIS: u64 = 64;

/// Most RoIs that are walked in one workgroup each, if they fit. More RoIs fill the device better
/// in stages (measured on an H200).
const WALKED_ROIS: usize = 256;

/// The plan of one part of a batch.
pub(crate) struct PartPlan<R: Real> {
    pub(crate) encoding: Encoding,
    pub(crate) method: SearchMethod,
    /// For the description.
    #[cfg(feature = "internals")]
    sharing: Sharing,
    pub(crate) variant: Variant,
    pub(crate) params: Params,
    pub(crate) rois: Vec<R::Roi>,
    /// The RoI of each row of histograms.
    pub(crate) row_rois: Vec<u32>,
    pub(crate) needs: BufferSizes,
    /// Tiles of slice_spacepoints, of cells, and of find_z, of bins.
    pub(crate) cell_tiles: u32,
    pub(crate) bin_tiles: u32,
    /// Dispatches of find_z.
    pub(crate) find_z_dispatches: u32,
    /// Whether some of an RoI's windows are background.
    pub(crate) counts_sums: bool,
    pub(crate) regions: Regions,
    /// All dispatches, in order.
    pub(crate) dispatches: Vec<Dispatch>,
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

impl Regions {
    /// Most RoIs of a joint submission.
    pub(crate) const JOINT_ROIS: usize = 256;
    /// Most rows of one, beyond those of [`Capacity::filling`].
    const JOINT_ROWS: usize = Capacity::MOST_FILLING + Self::JOINT_ROIS;

    /// With room for so many params, RoIs and rows.
    fn of<R: Real>(params: usize, rois: usize, rows: usize) -> Self {
        let params = params as u64 * ALIGNMENT;
        let row_rois = params + aligned((rois * size_of::<R::Roi>()) as u64);
        let spacepoints = row_rois + aligned(4 * rows as u64);
        Self { rois: params, row_rois, spacepoints, end: spacepoints }
    }

    /// Of a joint submission, before its RoIs are known.
    pub(crate) fn joint<R: Real>() -> Self {
        Self::of::<R>(STAGES + MOST_DISPATCHES as usize, Self::JOINT_ROIS, Self::JOINT_ROWS)
    }
}

/// The room for params and RoIs before the spacepoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Header {
    /// As much as the part needs.
    Exact,
    /// The same for all parts: spacepoints are written before all RoIs are known.
    Joint,
}

/// One dispatch of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dispatch {
    pub(crate) kernel: KernelName,
    pub(crate) entry_point: &'static str,
    /// The stage whose params it takes; of find_z's n-th dispatch where it has several, [`STAGES`]
    /// + n.
    pub(crate) params: usize,
    pub(crate) grid: [u32; 3],
}

/// Stages of `shaders/sum_histos/sum_histos.wgsl`.
pub(crate) const ROWS_IN_GROUPS: usize = 0;
pub(crate) const GROUPS: usize = 1;
const ALL_ROWS: usize = 2;

/// Histograms of a workgroup: `HISTOGRAMS` in `shaders/find_peaks/highest_windows.wgsl`.
const HISTOGRAMS: u32 = 8;

impl<R: Real> PartPlan<R> {
    /// Plans RoIs whose spacepoints come in this encoding, each of `bytes`. Each RoI has room for
    /// all of its spacepoints; they begin where `header` says. `sum_threads` returns the threads of
    /// a workgroup of sum_histos; it is called only where that kernel runs.
    ///
    /// # Errors
    /// Errors of `sum_threads`.
    pub(crate) fn new<'a>(
        search: &Search,
        shape: &Shape,
        capacity: &Capacity,
        (encoding, bytes): (Encoding, usize),
        header: Header,
        plans: impl Iterator<Item = &'a RoiPlan> + Clone,
        sum_threads: impl FnOnce() -> Result<u32>,
    ) -> Result<Self> {
        let method = choose_method(shape, plans.clone());
        let sharing = Sharing::new::<R>(method, plans.clone(), capacity, shape);
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
        let params = params(search, shape, sharing, method, &needs);
        let has_background = |plan: &RoiPlan| {
            let windows = u64::from(plan.histograms) * u64::from(plan.bins.bins - 2);
            (1..windows).contains(&u64::from(plan.background_windows))
        };
        let mut plan = Self {
            encoding,
            method,
            #[cfg(feature = "internals")]
            sharing,
            variant: shape.variant(density),
            params,
            rois: plans.clone().zip(&words).map(|(plan, &words)| R::roi(plan.z_scale(), words)).collect(),
            row_rois,
            needs,
            cell_tiles: needs.most_cell_words.div_ceil(u64::from(shape.cell_tile(density).cell_words)) as u32,
            bin_tiles: (needs.most_bins as u32).div_ceil(shape.find_z(density).tile_bins),
            find_z_dispatches: sharing.dispatches.clamp(1, params.rows.max(1)),
            counts_sums: plans.clone().any(has_background),
            regions: Regions::default(),
            dispatches: Vec::new(),
            #[cfg(test)]
            words,
        };
        plan.regions = plan.regions(bytes, header);
        plan.dispatches = plan.dispatches(capacity, sum_threads)?;
        Ok(plan)
    }

    /// Returns which kernels run, in order.
    fn dispatches(&self, capacity: &Capacity, sum_threads: impl FnOnce() -> Result<u32>) -> Result<Vec<Dispatch>> {
        let rois = self.rois.len() as u32;
        let each = |kernel: KernelName| Dispatch { kernel, entry_point: kernel.stage(), params: 0, grid: [rois, 1, 1] };
        let SearchMethod::Stages(density) = self.method else { return Ok(vec![each(KernelName::Walk(self.encoding))]) };
        let slice = each(KernelName::SliceSpacepoints(self.encoding, density));
        let mut all = vec![Dispatch { grid: [rois, self.cell_tiles, 1], ..slice }];
        all.extend(self.find_z(each(KernelName::FindZ(density)), capacity.workgroups as u32));
        if self.variant.several {
            all.extend(self.highest_windows(each(KernelName::HighestWindows)));
        } else if !self.variant.fills_totals() {
            all.extend(self.sum_histos(each(KernelName::SumHistos), sum_threads()?));
        }
        all.push(each(KernelName::FindPeaks));
        Ok(all)
    }

    /// A workgroup a row and tile of bins.
    fn find_z(&self, one: Dispatch, most: u32) -> impl Iterator<Item = Dispatch> {
        (0..self.find_z_dispatches).map(move |dispatch| {
            let [first, end] = self.rows_of(dispatch);
            let width = (end - first).min(most);
            let grid = [width, (end - first).div_ceil(width.max(1)), self.bin_tiles];
            let params = if self.find_z_dispatches == 1 { 0 } else { STAGES + dispatch as usize };
            Dispatch { params, grid, ..one }
        })
    }

    /// In its two stages, or in both at once; four bins a thread.
    fn sum_histos(&self, one: Dispatch, threads: u32) -> Vec<Dispatch> {
        let blocks = (self.params.row_bins / 4).div_ceil(threads >> self.params.row_lanes_shift);
        let stage = |params, groups| Dispatch { params, grid: [groups, blocks, one.grid[0]], ..one };
        if self.sums_in_two_stages() {
            vec![stage(ROWS_IN_GROUPS, self.most_groups()), stage(GROUPS, 1)]
        } else {
            vec![stage(ALL_ROWS, 1)]
        }
    }

    /// Every pass of count_sums knows a digit more of the sums of windows.
    fn highest_windows(&self, one: Dispatch) -> Vec<Dispatch> {
        let one = Dispatch { grid: [one.grid[0], self.most_totals().div_ceil(HISTOGRAMS), 1], ..one };
        let passes = if self.counts_sums { STAGES } else { 0 };
        let count = |params| Dispatch { entry_point: "count_sums", params, ..one };
        (0..passes).map(count).chain([Dispatch { params: STAGES - 1, ..one }]).collect()
    }

    /// Where a part's data lie in its upload; a spacepoint is `bytes` long.
    fn regions(&self, bytes: usize, header: Header) -> Regions {
        let all = match header {
            Header::Exact => Regions::of::<R>(STAGES + self.more_params(), self.rois.len(), self.row_rois.len()),
            Header::Joint => Regions::joint::<R>(),
        };
        Regions { end: all.spacepoints + self.needs.spacepoints * bytes as u64, ..all }
    }

    /// Params, RoIs and the RoI of each row, as they are uploaded to their regions.
    pub(crate) fn header(&self) -> (Vec<u32>, &[u32], &[u32]) {
        let mut words = vec![0; (STAGES + self.more_params()) * ALIGNMENT as usize / 4];
        let mut places = words.chunks_exact_mut(ALIGNMENT as usize / 4);
        let mut put = |params: Params| {
            let own: &[u32] = bytemuck::cast_slice(std::slice::from_ref(&params));
            if let Some(place) = places.next() {
                place[..own.len()].copy_from_slice(own);
            }
        };
        for stage in 0..STAGES as u32 {
            put(Params { stage, ..self.params });
        }
        for dispatch in 0..self.more_params() as u32 {
            let [row_first, rows] = self.rows_of(dispatch);
            put(Params { row_first, rows, ..self.params });
        }
        (words, bytemuck::cast_slice(&self.rois), &self.row_rois)
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
        if self.find_z_dispatches > 1 { self.find_z_dispatches as usize } else { 0 }
    }

    /// First row and end of one of find_z's dispatches.
    pub(crate) fn rows_of(&self, dispatch: u32) -> [u32; 2] {
        let rows = u64::from(self.params.rows);
        [dispatch, dispatch + 1].map(|n| (rows * u64::from(n) / u64::from(self.find_z_dispatches)) as u32)
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

/// Describes the plan for people.
#[cfg(feature = "internals")]
impl<R: Real> fmt::Display for PartPlan<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rois, spacepoints, bytes) = (self.rois.len(), self.needs.spacepoints, self.regions.end);
        writeln!(f, "RoIs: {rois}; spacepoints: {spacepoints}, {}; bytes to upload: {bytes}", self.encoding)?;
        match self.method {
            SearchMethod::Walk => writeln!(f, "  method: walk, one workgroup an RoI")?,
            SearchMethod::Stages(density) => {
                let Params { share, lanes_shift, rows, row_bins, .. } = self.params;
                let (by, each) = match self.sharing.pairs {
                    RowSharing::Numbered { slices } => ("slices", slices),
                    RowSharing::Streamed { .. } => ("spacepoints", share),
                };
                let (density, threads) = (if density == Density::Low { "low" } else { "high" }, 1 << lanes_shift);
                writeln!(f, "  method: four stages, {density} density")?;
                writeln!(
                    f,
                    "  rows of pairs by {by}: {each}; rows: {rows} of {row_bins} bins; threads a spacepoint: {threads}"
                )?;
            }
        }
        for (at, Dispatch { kernel, entry_point, grid: [x, y, z], .. }) in self.dispatches.iter().enumerate() {
            writeln!(f, "  {at:>2} {:<18} {entry_point:<18} {x} x {y} x {z} workgroups", kernel.stage())?;
        }
        Ok(())
    }
}

/// Returns how these RoIs are searched.
pub(crate) fn choose_method<'a>(shape: &Shape, plans: impl Iterator<Item = &'a RoiPlan> + Clone) -> SearchMethod {
    let fits = |walk: WalkSize| {
        let cells = |plan: &RoiPlan| shape.variant(Density::Low).pairing.cells_of(shape.layers, plan.slices);
        plans.clone().all(|plan| walk.holds(plan, cells(plan)))
    };
    if plans.clone().count() <= WALKED_ROIS && shape.walk.is_some_and(fits) {
        return SearchMethod::Walk;
    }
    let is_low = plans.clone().all(|plan| plan.spacepoints <= CellTile::FEW as usize);
    SearchMethod::Stages(if is_low { Density::Low } else { Density::High })
}

/// The smallest share. Below it, filling a row costs less than summing it (measured on an H200).
const LEAST_SHARE: u32 = 128;
/// The same where third spacepoints are searched, which takes longer than summing (measured on an
/// H100: lab/records/2026-11-26-one-straight-path.md).
const LEAST_SHARE_OF_TRIPLETS: u32 = 32;

/// Threads that share a spacepoint's partners where a small share leaves them idle.
const MOST_LANES: u32 = 8;

/// Each dispatch of find_z has its own params and bind group.
const MOST_DISPATCHES: u32 = 64;

/// How find_z's work is shared out in a part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sharing {
    pub(crate) pairs: RowSharing,
    /// log2 of the threads that share a spacepoint's partners.
    pub(crate) lanes_shift: u32,
    pub(crate) dispatches: u32,
}

impl Sharing {
    /// As requested, else enough workgroups to fill the device, and no more, as far as the buffers
    /// hold their histograms.
    pub(crate) fn new<'a, R: Real>(
        method: SearchMethod,
        plans: impl Iterator<Item = &'a RoiPlan> + Clone,
        capacity: &Capacity,
        shape: &Shape,
    ) -> Self {
        let dispatches = find_z_dispatches(plans.clone(), capacity);
        let RowSharing::Streamed { share: requested } = shape.pairs else {
            return Self { pairs: shape.pairs, lanes_shift: 0, dispatches };
        };
        let all: u64 = plans.clone().map(|plan| plan.spacepoints as u64).sum();
        let size = shape.find_z(method.density());
        let has_triplets = shape.variant(Density::High).pair_weight != PairWeight::One;
        let least = if has_triplets { LEAST_SHARE_OF_TRIPLETS } else { LEAST_SHARE };
        let by_work = all.div_ceil(capacity.filling).clamp(u64::from(least), u64::from(MOST_SHARE)) as u32;
        let mut share = requested.unwrap_or(by_work.next_multiple_of(least));
        while requested.is_none() && share < MOST_SHARE {
            let pairs = RowSharing::Streamed { share: Some(share) };
            let needs = plans.clone().map(|plan| BufferSizes::most(plan, shape, pairs)).reduce(BufferSizes::and);
            if needs.is_none_or(|needs| capacity.holds::<R>(&needs, shape)) {
                break;
            }
            share = (share * 2).min(MOST_SHARE);
        }
        // Threads that a small share leaves idle help with its spacepoints' partners.
        let idle = (size.threads / share).clamp(1, MOST_LANES);
        // So do more of them where partners are many.
        let partners = (plans.map(work_of).sum::<f64>() / all.max(1) as f64) as u32;
        let wanted = (partners / size.partners_a_lane).clamp(1, size.most_lanes);
        let lanes_shift = idle.max(wanted).ilog2();
        Self { pairs: RowSharing::Streamed { share: Some(share) }, lanes_shift, dispatches }
    }
}

/// Dispatches of find_z: a part has little work or is one RoI, whose spacepoints may all lie in one
/// slice.
fn find_z_dispatches<'a>(plans: impl Iterator<Item = &'a RoiPlan>, capacity: &Capacity) -> u32 {
    let most = plans.map(|plan| 0.5 * (plan.spacepoints as f64).powi(2)).fold(0.0, f64::max);
    ((most / capacity.work).ceil() as u32).clamp(1, MOST_DISPATCHES)
}

#[cfg(test)]
#[path = "part_plan_tests.rs"]
mod tests;
