//! The engine: which stages run, and what an RoI without histograms means.

use super::histograms::Histograms;
use super::tracklets::ReferenceTracklets;
use crate::batch_view::BatchView;
use crate::cancellation::Cancellation;
use crate::config::Config;
use crate::detector::Detector;
use crate::engine::tracklets::answer::TrackletAnswer;
use crate::error::Result;
use crate::results::{Results, RoiSummary, Status};
use crate::spacepoint::{RoiView, Spacepoint, normalised, usable};
use crate::vertex::Vertex;
use crate::z_bins::ZBins;

/// The reference engine: serial, in f64, straight from the specification.
pub struct ReferenceEngine {
    pub(super) config: Config,
    pub(super) detector: Detector,
    pub(super) neighbours: Vec<Vec<u32>>,
    /// Layers that take part, a bit each.
    pub(super) layers: u64,
    /// Searches for tracklets, if the configuration asks for them.
    tracklets: Option<ReferenceTracklets>,
}

/// An RoI in histograms, before peaks are looked for; without any where nothing can be.
pub struct FilledRoi {
    /// The answer, without its vertices.
    pub summary: RoiSummary,
    /// The histograms of each charge and of each slice.
    pub histograms: Histograms,
    pub(super) bins: ZBins,
}

#[cfg(feature = "internals")]
impl FilledRoi {
    /// Returns the lower edge of the first bin \[mm\].
    pub fn low_mm(&self) -> f64 {
        (self.bins.offset - 0.5) * self.bins.width
    }

    /// Returns the width of a bin \[mm\].
    pub fn bin_mm(&self) -> f64 {
        self.bins.width
    }

    /// Returns the number of bins of a histogram.
    pub fn bins(&self) -> usize {
        self.bins.bins as usize
    }
}

impl ReferenceEngine {
    /// Makes the engine.
    ///
    /// # Errors
    /// A configuration that this detector cannot have.
    pub fn new(config: &Config, detector: &Detector) -> Result<Self> {
        Ok(Self {
            config: config.clone(),
            detector: detector.clone(),
            neighbours: detector.neighbours(config),
            layers: detector.layers_taking_part(config)?,
            tracklets: config.takes_tracklets().then(|| ReferenceTracklets::new(config, detector)),
        })
    }

    /// Finds the vertices of every RoI of a batch, and appends them to `results`.
    ///
    /// # Errors
    /// An RoI whose z range makes no histogram.
    pub fn find_batch<'a>(&self, batch: impl Into<BatchView<'a>>, results: &mut Results) -> Result<()> {
        let batch = batch.into();
        for roi in batch.iter() {
            batch.cancellation.check()?;
            let mut filled = self.fill_unless_cancelled(roi, batch.cancellation)?;
            let peaks = self.find_peaks(&mut filled);
            let mut vertices: Vec<Vertex> = peaks.into_iter().map(|peak| peak.vertex).collect();
            let mut answer = TrackletAnswer::default();
            let can_be_searched = matches!(filled.summary.status, Status::Ok | Status::NoPeak);
            if let (Some(search), Some(sliced), true) = (&self.tracklets, self.slice_spacepoints(roi), can_be_searched)
            {
                self.find_tracklets(search, roi, &sliced, &mut vertices, &mut answer);
                filled.summary.status = if vertices.is_empty() { Status::NoPeak } else { Status::Ok };
            }
            results.push(filled.summary, vertices);
            results.push_tracklets(answer.tracklets);
        }
        Ok(())
    }

    /// Fills the histograms. The status is that of an RoI without a peak, where peaks can be looked
    /// for.
    ///
    /// # Errors
    /// A z range that makes no histogram.
    pub fn fill(&self, roi: RoiView<'_>) -> Result<FilledRoi> {
        self.fill_unless_cancelled(roi, Cancellation::default())
    }

    fn fill_unless_cancelled(&self, roi: RoiView<'_>, cancellation: Cancellation<'_>) -> Result<FilledRoi> {
        let bins = self.config.z_bins(roi.descriptor.eta, roi.descriptor.z_range)?;
        let summary = RoiSummary::new(roi.descriptor.id, Status::BadSpacepoint);
        let mut filled = FilledRoi { summary, bins, histograms: Histograms::empty(&bins, 0) };
        let Some(sliced) = self.slice_spacepoints(roi) else { return Ok(filled) };
        let summary = &mut filled.summary;
        summary.spacepoints = sliced.kept as u64;
        summary.outside_window = sliced.outside as u64;
        if sliced.kept == 0 {
            summary.status = Status::Empty;
            return Ok(filled);
        }
        let all_bins = u64::from(self.config.histograms(sliced.slices as u32)) * u64::from(bins.bins);
        let candidates = self.count_candidates(&sliced, roi.descriptor.eta);
        if all_bins > Config::MOST_BINS_OF_ALL || candidates.exceed(&self.config) {
            summary.status = Status::CapacityExceeded;
            return Ok(filled);
        }
        summary.status = Status::NoPeak;
        filled.histograms = self.find_z(&sliced, &bins, roi.descriptor.eta, cancellation)?;
        Ok(filled)
    }

    /// Returns a spacepoint about the beam; none if it is invalid.
    pub fn about_beam(&self, s: Spacepoint) -> Option<Spacepoint> {
        if !usable(s.rho, s.phi, s.z) {
            return None;
        }
        let [x0, y0] = self.config.beam_at(s.z);
        let about = if self.config.is_beam_at_origin() {
            Spacepoint { phi: normalised(s.phi), ..s }
        } else {
            Spacepoint::from_xyz(s.rho * s.phi.cos() - x0, s.rho * s.phi.sin() - y0, s.z, s.layer)
        };
        usable(about.rho, about.phi, about.z).then_some(about)
    }
}
