//! The search for tracklets step by step, for studies.

use std::time::Instant;

use crate::config::Config;
use crate::detector::Detector;
use crate::engine::cpu::tracklets::TrackletBuffers;
use crate::engine::plan::Search;
use crate::engine::tracklets::search::TrackletSearch;
use crate::error::Result;
use crate::spacepoint::RoiView;
use crate::tracklet::{Tracklet, TrackletCuts, TrackletVertex};

/// The search for tracklets and vertices in f32, with its memory: for studies.
pub struct TrackletSteps {
    tracklets: TrackletSearch,
    search: Search,
    buffers: TrackletBuffers<f32>,
}

impl TrackletSteps {
    /// # Errors
    /// A configuration that this detector cannot have.
    pub fn new(config: &Config, detector: &Detector, cuts: TrackletCuts) -> Result<Self> {
        let search = Search::new(config, detector)?;
        Ok(Self { tracklets: TrackletSearch::new(config, detector, cuts), search, buffers: TrackletBuffers::default() })
    }

    /// Searches an event. Returns its tracklets and vertices.
    pub fn find(&mut self, roi: RoiView<'_>) -> (&[Tracklet], &[TrackletVertex]) {
        self.buffers.find(&self.tracklets, &self.search, roi);
        (&self.buffers.tracklets, &self.buffers.vertices)
    }

    /// Searches an event, and returns the seconds that each step took: hits, triplets, chains,
    /// fits, vertices.
    pub fn time(&mut self, roi: RoiView<'_>) -> [f64; 5] {
        let steps: [fn(&mut Self, RoiView<'_>); 5] = [
            |this, roi| this.buffers.hits.fill(&this.tracklets, &this.search, roi),
            |this, _| this.buffers.find_triplets(&this.tracklets),
            |this, _| this.buffers.build_chains(&this.tracklets),
            |this, _| this.buffers.fit(&this.tracklets),
            |this, _| this.buffers.find_vertices(&this.tracklets),
        ];
        steps.map(|step| {
            let start = Instant::now();
            step(self, roi);
            start.elapsed().as_secs_f64()
        })
    }
}
