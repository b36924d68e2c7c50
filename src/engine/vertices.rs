//! Turns peaks into vertices. A peak near an accepted vertex is mixed into it (specification,
//! section 2, Peaks). The host computes in f64 from words, so the CPU and the GPU engine agree.

use crate::config::{Config, PairWeight};
use crate::engine::plan::{RoiPlan, Search};
use crate::engine::records::Peak;
use crate::engine::z_estimate::PeakOfTracks;
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
            && !self.found.iter().any(Vertex::is_significant)
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
            if self.found[i].is_significant() {
                self.found[significant..=i].rotate_right(1);
                significant += 1;
            }
        }
        self.found.truncate(self.config.peaks as usize);
    }
}

impl Peak {
    /// The vertex that it means, over such a background and of such tracks. In f64 from words, so
    /// that every engine rounds alike.
    pub(crate) fn vertex(
        &self,
        bins: &ZBins,
        accumulate: Accumulate,
        background: Option<MeanBackground>,
        tracks: TrackModel,
        config: &Config,
    ) -> Vertex {
        let n: f64 = self.n.iter().map(|&n| f64::from(n)).sum();
        // The background's entries move the mean as well, and say nothing of the vertex.
        let signal = n - background.map_or(0.0, |background| background.entries);
        let pairs: u64 = self.pairs.iter().map(|&pairs| u64::from(pairs)).sum();
        // Weights by pT are no numbers of entries: pairs are.
        let entries = if config.pair_weight == PairWeight::Pt { pairs as f64 } else { n };
        let of_tracks = PeakOfTracks { peak: self, entries, share: (signal / n).powi(2), tracks };
        let mean = config.z_estimate.mean(&of_tracks, bins, accumulate, config.beam_width_mm);
        let rank = config.ranking.value(self.rank);
        let (z_mm, z_error_mm) = (mean.z_mm, mean.error_mm());
        let significance = background.and_then(|b| b.significance(config.significance, n, entries / tracks.entries));
        let background = background.map(|background| background.entries);
        Vertex { z_mm, z_error_mm, weight: n, pairs, rank, significance, background, ..Vertex::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Preset;
    use crate::engine::histogram::{CompareExchange, FixedPoint, OFFSET_STEPS, ZSum};
    use crate::engine::records::{Background, Cluster};

    #[test]
    fn a_peak_is_the_mean_of_its_entries() {
        let bins = ZBins::new((-200.0, 200.0), 0.2).expect("valid");
        let entries = [(41.93, 3), (42.0, 1), (42.11, 5), (42.25, 2)];
        let total: u32 = entries.iter().map(|e| e.1).sum();
        let mean = entries.iter().map(|&(z, w)| z * f64::from(w)).sum::<f64>() / f64::from(total);
        let place = |z: f64| (z / bins.width - bins.offset).round_ties_even();
        let middle = place(42.1);
        for accumulate in [Accumulate::Fixed, Accumulate::CompareExchange] {
            let mut peak = Peak {
                bin: middle as u32,
                n: [0; 3],
                z: [0; 3],
                pairs: [0; 3],
                rank: 0,
                cluster: Cluster::default(),
                flags: 0,
                background: Background::default(),
            };
            for (z, weight) in entries {
                let i = (place(z) - middle + 1.0) as usize;
                let steps = (z / bins.width - bins.offset - place(z) + 0.5) * f64::from(OFFSET_STEPS);
                let steps = steps.floor() as u32;
                peak.n[i] += weight;
                peak.z[i] = match accumulate {
                    Accumulate::Fixed => FixedPoint::accumulate(peak.z[i], weight, z as f32, steps),
                    Accumulate::CompareExchange => CompareExchange::accumulate(peak.z[i], weight, z as f32, steps),
                };
            }
            let vertex = peak.vertex(
                &bins,
                accumulate,
                None,
                TrackModel { entries: 1.0, z_resolution_mm: None, precision: 1.0 },
                &Config::preset(Preset::Default),
            );
            approx::assert_abs_diff_eq!(vertex.z_mm, mean, epsilon = 2e-4);
            assert_eq!(vertex.weight, f64::from(total));
        }
    }
}
