//! Turns peaks into vertices. A peak near an accepted vertex is mixed into it (specification,
//! section 2, Peaks). The host computes in f64 from words, so the CPU and the GPU engine agree.

use crate::config::Config;
use crate::engine::plan::{RoiPlan, Search};
use crate::histogram::Peak;
use crate::reach::TrackModel;
use crate::thesis::Accumulate;
use crate::vertex::{MeanBackground, Vertex};
use crate::z_bins::ZBins;

/// Makes the vertices of an RoI. Takes its peaks, highest first, until there are as many vertices
/// as requested.
pub(crate) struct VertexBuilder<'a> {
    config: &'a Config,
    bins: &'a ZBins,
    accumulate: Accumulate,
    tracks: TrackModel,
    background_windows: u32,
    all_windows: u32,
    /// Known from the first peak on.
    background: Option<MeanBackground>,
    /// A peak was below the least significance.
    ended: bool,
    /// Number of peaks so far.
    taken: u32,
    found: &'a mut Vec<Vertex>,
}

impl<'a> VertexBuilder<'a> {
    /// Clears `found` and fills it.
    pub(crate) fn new(
        search: &'a Search,
        plan: &'a RoiPlan,
        accumulate: Accumulate,
        found: &'a mut Vec<Vertex>,
    ) -> Self {
        found.clear();
        Self {
            config: &search.config,
            bins: &plan.bins,
            accumulate,
            tracks: search.tracks,
            background_windows: plan.background_windows,
            all_windows: plan.histograms.saturating_mul(plan.bins.bins - 2),
            background: None,
            ended: false,
            taken: 0,
            found,
        }
    }

    /// Whether another peak is wanted.
    pub(crate) fn want_more(&self) -> bool {
        !self.ended && (self.found.len() < self.config.peaks as usize || self.lacks_significance())
    }

    /// Whether no vertex is significant yet, and one of the next peaks may be. Where pairs weigh by
    /// pT, chance pairs of a crowded event can have the highest ranks.
    fn lacks_significance(&self) -> bool {
        self.config.ranks_beside_significance()
            && self.taken < self.config.first_peaks()
            && self.found.iter().all(Vertex::is_insignificant)
    }

    /// Takes the next peak. Returns whether another one is wanted.
    pub(crate) fn take(&mut self, peak: &Peak) -> bool {
        self.taken += 1;
        if self.background.is_none() {
            self.background = peak.background.mean(self.background_windows, self.all_windows);
        }
        let vertex = peak.vertex(self.bins, self.accumulate, self.background, self.tracks, self.config);
        let apart = |other: &Vertex| (other.z_mm - vertex.z_mm).abs();
        let nearest = self.found.iter_mut().min_by(|a, b| apart(a).total_cmp(&apart(b)));
        let separation = self.config.vertex_separation_bins * self.bins.width;
        match nearest {
            Some(near)
                if apart(near) < separation || apart(near) < vertex.z_mm.abs() * self.config.vertex_distance_cut =>
            {
                let mix = self.config.vertex_mixing;
                near.z_mm = mix * vertex.z_mm + (1.0 - mix) * near.z_mm;
                near.weight = mix * vertex.weight + (1.0 - mix) * near.weight;
            }
            _ if vertex.significance.is_some_and(|significance| significance < self.config.min_significance) => {
                self.ended = true;
            }
            _ => self.found.push(vertex),
        }
        self.want_more()
    }

    /// Brings the vertices into their final order: vertices at the level of the background are
    /// last.
    pub(crate) fn finish(self) {
        let mut significant = 0;
        for i in 0..self.found.len() {
            if !self.found[i].is_insignificant() {
                self.found[significant..=i].rotate_right(1);
                significant += 1;
            }
        }
        self.found.truncate(self.config.peaks as usize);
    }
}
