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
#[cfg(feature = "gpu")]
use crate::engine::tracklets::search::FitHit;
use crate::engine::tracklets::search::TrackletSearch;
use crate::engine::tracklets::vertices::VertexBuffers;
use crate::engine::tracklets::z_ranges::ZRanges;
#[cfg(feature = "gpu")]
use crate::tracklet::TrackletHits;
use crate::tracklet::{Tracklet, TrackletVertex};

/// Memory of the search in one event, and its answer.
#[derive(Debug, Default)]
pub(crate) struct TrackletBuffers<R> {
    pub(crate) hits: PixelHits<R>,
    pub(crate) triplets: Triplets<R>,
    chains: Chains<R>,
    /// The longest one first.
    pub(crate) tracklets: Vec<Tracklet>,
    /// Chains of another engine: places in `hits`.
    #[cfg(feature = "gpu")]
    places: Vec<TrackletHits>,
    vertex_buffers: VertexBuffers,
    /// Ascending in z.
    pub(crate) vertices: Vec<TrackletVertex>,
}

impl<R: Lanes> TrackletBuffers<R> {
    /// Finds the tracklets of the hits and their vertices. Returns whether there are too many.
    pub(crate) fn find(&mut self, search: &TrackletSearch, z_ranges: &ZRanges) -> bool {
        if self.find_chains(search, z_ranges) {
            return true;
        }
        self.fit(search);
        self.find_vertices(search, z_ranges.hull());
        false
    }

    pub(crate) fn found(&self) -> Found<'_> {
        Found { tracklets: &self.tracklets, vertices: &self.vertices }
    }

    /// Finds the chains. Returns whether there are too many.
    pub(crate) fn find_chains(&mut self, search: &TrackletSearch, z_ranges: &ZRanges) -> bool {
        self.find_triplets(search, z_ranges) || self.build_chains()
    }

    /// The chains, the best one first: numbers of the event's spacepoints.
    #[cfg(all(test, feature = "gpu"))]
    pub(crate) fn chains(&self) -> impl Iterator<Item = TrackletHits> {
        let number = |&hit: &u32| self.hits.numbers[hit as usize];
        self.chains.kept.iter().map(move |chain| chain.hits.as_slice().iter().map(number).collect())
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

    /// Finds the tracklets and vertices of chains that another engine found, the best one first:
    /// numbers of the RoI's spacepoints.
    #[cfg(feature = "gpu")]
    pub(crate) fn fit_chains(
        &mut self,
        search: &TrackletSearch,
        hit: impl Fn(u32) -> Option<FitHit>,
        chains: &[TrackletHits],
        z_range: [f64; 2],
    ) {
        let Self { hits: PixelHits { exact, numbers, .. }, places, tracklets, .. } = self;
        exact.clear();
        numbers.clear();
        places.clear();
        for chain in chains {
            places.push((numbers.len() as u32..).take(chain.len()).collect::<TrackletHits>());
            numbers.extend_from_slice(chain.as_slice());
            exact.extend(chain.as_slice().iter().map(|&number| hit(number).unwrap_or_default()));
        }
        tracklets.clear();
        search.fit(exact, numbers, places.iter(), tracklets);
        self.find_vertices(search, z_range);
    }

    fn fit(&mut self, search: &TrackletSearch) {
        let Self { hits, chains, tracklets, .. } = self;
        tracklets.clear();
        search.fit(&hits.exact, &hits.numbers, chains.kept.iter().map(|chain| &chain.hits), tracklets);
    }
}
