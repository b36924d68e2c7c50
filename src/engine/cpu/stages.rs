//! The stages one by one, for `cargo bench` and for pictures of histograms; no part of the API.

use crate::cancellation::Cancellation;
use crate::config::Config;
use crate::detector::Detector;
use crate::engine::cpu::find_z::{FindZBuffers, find_z, takes_zones};
use crate::engine::cpu::slice_spacepoints::slice_spacepoints;
use crate::engine::cpu::sum_histos::sum_histos;
use crate::engine::cpu::{Workspace, find_peaks};
use crate::engine::encoding::{Encode, Lossless};
use crate::engine::histogram::{FixedPoint, HistogramPair};
use crate::engine::plan::{RoiPlan, Search};
use crate::error::Result;
use crate::roi_batch::RoiBatch;
use crate::thesis::Accumulate;

/// The CPU engine's stages in f32 on one RoI of a batch, each on what the one before it left.
pub struct Stages {
    search: Search,
    plan: RoiPlan,
    workspace: Workspace<f32>,
    copy: HistogramPair,
}

impl Stages {
    /// All stages, once.
    ///
    /// # Errors
    /// A configuration or a z range out of range.
    pub fn new(config: &Config, detector: &Detector, batch: &RoiBatch, roi: usize) -> Result<Self> {
        let search = Search::new(config, detector)?;
        let plan = search.plan(batch.roi(roi))?;
        let mut stages = Self { search, plan, workspace: Workspace::default(), copy: HistogramPair::new(0, 0) };
        stages.pack(batch, roi)?;
        stages.slice_spacepoints();
        stages.find_z();
        stages.sum_histos();
        Ok(stages)
    }

    /// Plans the RoI and packs its spacepoints.
    ///
    /// # Errors
    /// A z range out of range.
    pub fn pack(&mut self, batch: &RoiBatch, roi: usize) -> Result<()> {
        self.plan = self.search.plan(batch.roi(roi))?;
        let spacepoints = &mut self.workspace.spacepoints;
        spacepoints.clear();
        self.search.pack::<f32, _>(&Lossless, &self.plan, batch.roi(roi), |words| {
            Encode::<f32>::decode(&Lossless, words, spacepoints);
        });
        Ok(())
    }

    /// The first stage.
    pub fn slice_spacepoints(&mut self) {
        let Workspace { spacepoints, sliced, .. } = &mut self.workspace;
        let zones = takes_zones(&self.search.config, spacepoints.len());
        slice_spacepoints(spacepoints, self.plan.slices, zones, sliced);
    }

    /// The second stage.
    pub fn find_z(&mut self) {
        let Workspace { sliced, parts, .. } = &mut self.workspace;
        parts.resize_with(1, FindZBuffers::default);
        let slices = 0..self.plan.slices;
        find_z(&self.search, &self.plan, Accumulate::Fixed, sliced, slices, Cancellation::default(), &mut parts[0]);
    }

    /// The third stage.
    pub fn sum_histos(&mut self) {
        let Workspace { parts, total, .. } = &mut self.workspace;
        sum_histos::<FixedPoint>(parts.iter().map(|part| &part.histogram), total);
    }

    /// The fourth stage, on a copy of the sum. Returns the weight of the first peak, or 0.
    pub fn find_peaks(&mut self) -> u32 {
        let Workspace { total, find_peaks, .. } = &mut self.workspace;
        // Into memory that is there.
        let copy = &mut self.copy;
        copy.n.clone_from(&total.n);
        copy.z.clone_from(&total.z);
        copy.pairs.clone_from(&total.pairs);
        copy.precisions.clone_from(&total.precisions);
        let (mut peaks, mut weight) = (0, 0);
        let config = &self.search.config;
        let windows = self.plan.background_windows;
        find_peaks::find_peaks(copy, &self.plan.bins, config, windows, find_peaks, |peak| {
            weight = if peaks == 0 { peak.n.iter().sum() } else { weight };
            peaks += 1;
            peaks < config.peaks as usize
        });
        weight
    }

    /// Weights in each bin: the sum of all histograms of the RoI.
    pub fn weights(&self) -> Vec<u64> {
        let mut weights = vec![0; self.plan.bins.bins as usize];
        for histogram in self.workspace.total.n.chunks(weights.len().max(1)) {
            weights.iter_mut().zip(histogram).for_each(|(sum, &n)| *sum += u64::from(n));
        }
        weights
    }

    /// Lower edge of the first bin, and width of a bin \[mm\].
    pub fn bins_mm(&self) -> (f64, f64) {
        let bins = &self.plan.bins;
        ((bins.offset - 0.5) * bins.width, bins.width)
    }

    /// Entries of nHisto: in pair mode, pairs with z12 within the range.
    pub fn entries(&self) -> u64 {
        self.workspace.total.n.iter().map(|&n| u64::from(n)).sum()
    }
}
