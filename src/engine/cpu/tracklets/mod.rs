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
use crate::engine::plan::Search;
use crate::engine::tracklets::search::TrackletSearch;
use crate::engine::tracklets::vertices::VertexBuffers;
use crate::spacepoint::RoiView;
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
    /// Finds the tracklets and the vertices of an event. `search` says where the beam is, and which
    /// spacepoints are valid.
    pub(crate) fn find(&mut self, tracklets: &TrackletSearch, search: &Search, roi: RoiView<'_>) {
        self.hits.fill(tracklets, search, roi);
        self.find_triplets(tracklets);
        self.build_chains(tracklets);
        self.fit(tracklets);
        self.find_vertices(tracklets);
    }

    fn find_triplets(&mut self, search: &TrackletSearch) {
        self.triplets.fill(search, &self.hits);
    }

    fn build_chains(&mut self, search: &TrackletSearch) {
        self.chains.fill(search, &self.hits, &self.triplets);
    }

    fn find_vertices(&mut self, search: &TrackletSearch) {
        search.find_vertices(&mut self.tracklets, &mut self.vertex_buffers, &mut self.vertices);
    }

    fn fit(&mut self, search: &TrackletSearch) {
        let Self { hits, chains, tracklets, .. } = self;
        tracklets.clear();
        search.fit(&hits.exact, &hits.numbers, chains.kept.iter().map(|chain| &chain.hits), tracklets);
    }
}
