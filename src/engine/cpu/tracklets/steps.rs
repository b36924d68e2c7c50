//! The search for tracklets step by step, for studies.

use std::time::Instant;

use crate::cancellation::Cancellation;
use crate::config::Config;
use crate::detector::Detector;
use crate::engine::cpu::tracklets::TrackletBuffers;
use crate::engine::plan::Search;
use crate::engine::tracklets::roi_hits::RoiHits;
use crate::engine::tracklets::search::TrackletSearch;
use crate::engine::tracklets::z_ranges::ZRanges;
use crate::error::Result;
use crate::spacepoint::RoiView;
use crate::tracklet::{Tracklet, TrackletVertex};

/// The search for tracklets and vertices in f32, with its memory: for studies.
pub struct TrackletSteps {
    tracklets: TrackletSearch,
    search: Search,
    buffers: TrackletBuffers<f32>,
}

impl TrackletSteps {
    /// # Errors
    /// A configuration that this detector cannot have.
    pub fn new(config: &Config, detector: &Detector) -> Result<Self> {
        let search = Search::new(config, detector)?;
        Ok(Self { tracklets: TrackletSearch::new(config, detector), search, buffers: TrackletBuffers::default() })
    }

    /// Returns the tracklets and vertices of the event that was searched last.
    pub fn found(&self) -> (&[Tracklet], &[TrackletVertex]) {
        (&self.buffers.tracklets, &self.buffers.vertices)
    }

    /// Searches an event, and returns the seconds that each step took: hits, triplets, chains,
    /// fits, vertices.
    ///
    /// # Errors
    /// A z range that makes no histogram.
    pub fn find(&mut self, roi: RoiView<'_>) -> Result<[f64; 5]> {
        let plan = self.search.plan(roi)?;
        let z_range = plan.z_range();
        let Self { tracklets, search, buffers } = self;
        let mut start = Instant::now();
        let mut time = || std::mem::replace(&mut start, Instant::now()).elapsed().as_secs_f64();
        let roi_hits = RoiHits::new(tracklets, search, &plan, roi);
        buffers.hits.fill(&roi_hits);
        let hits = time();
        buffers.find_triplets(tracklets, &ZRanges::one(z_range), Cancellation::default());
        let triplets = time();
        buffers.build_chains(Cancellation::default());
        let chains = time();
        let numbers: Vec<_> = buffers.chains().collect();
        buffers.fit(&roi_hits, &numbers);
        let fits = time();
        buffers.find_vertices(tracklets, z_range);
        Ok([hits, triplets, chains, fits, time()])
    }
}
