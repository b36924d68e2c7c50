//! Tracklets on the CPU: hits, triplets, chains, fits, vertices.

pub(crate) mod chains;
pub(crate) mod hits;
#[cfg(feature = "internals")]
pub(crate) mod steps;
#[cfg(test)]
mod tests;
pub(crate) mod triplets;

use crate::engine::cpu::lanes::Lanes;
use crate::engine::cpu::tracklets::chains::Chains;
use crate::engine::cpu::tracklets::hits::PixelHits;
use crate::engine::cpu::tracklets::triplets::Triplets;
use crate::engine::tracklets::answer::Found;
use crate::engine::tracklets::search::TrackletSearch;
use crate::engine::tracklets::vertices::VertexBuffers;
use crate::engine::tracklets::z_ranges::ZRanges;
use crate::tracklet::{Tracklet, TrackletVertex};

/// Memory of the search in one event, and its answer.
#[derive(Debug, Default)]
pub(crate) struct TrackletBuffers<R> {
    pub(crate) hits: PixelHits<R>,
    pub(crate) triplets: Triplets<R>,
    chains: Chains<R>,
    /// The longest one first.
    pub(crate) tracklets: Vec<Tracklet>,
    vertex_buffers: VertexBuffers,
    /// Ascending in z.
    pub(crate) vertices: Vec<TrackletVertex>,
}

impl<R: Lanes> TrackletBuffers<R> {
    /// Finds the tracklets of the hits and their vertices. Returns whether there are too many.
    pub(crate) fn find(&mut self, search: &TrackletSearch, z_ranges: &ZRanges) -> bool {
        if self.find_triplets(search, z_ranges) || self.build_chains() {
            return true;
        }
        self.fit(search);
        self.find_vertices(search, z_ranges.hull());
        false
    }

    pub(crate) fn found(&self) -> Found<'_> {
        Found { tracklets: &self.tracklets, vertices: &self.vertices }
    }

    fn find_triplets(&mut self, search: &TrackletSearch, z_ranges: &ZRanges) -> bool {
        self.triplets.fill(search, &self.hits, z_ranges)
    }

    fn build_chains(&mut self) -> bool {
        self.chains.fill(&self.hits, &self.triplets)
    }

    fn find_vertices(&mut self, search: &TrackletSearch, z_range: [f64; 2]) {
        search.find_vertices(z_range, &mut self.tracklets, &mut self.vertex_buffers, &mut self.vertices);
    }

    fn fit(&mut self, search: &TrackletSearch) {
        let Self { hits, chains, tracklets, .. } = self;
        tracklets.clear();
        search.fit(&hits.exact, &hits.numbers, chains.kept.iter().map(|chain| &chain.hits), tracklets);
    }
}
