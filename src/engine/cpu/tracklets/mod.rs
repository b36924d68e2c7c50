//! Tracklets on the CPU: hits, triplets, chains, fits, vertices.

pub(crate) mod chains;
pub(crate) mod hits;
#[cfg(feature = "internals")]
pub(crate) mod steps;
#[cfg(test)]
mod tests;
pub(crate) mod triplets;

use crate::cancellation::Cancellation;
use crate::engine::cpu::lanes::Lanes;
use crate::engine::cpu::tracklets::chains::Chains;
use crate::engine::cpu::tracklets::hits::PixelHits;
use crate::engine::cpu::tracklets::triplets::Triplets;
use crate::engine::tracklets::answer::Found;
use crate::engine::tracklets::roi_hits::RoiHits;
use crate::engine::tracklets::search::{FitHit, TrackletSearch};
use crate::engine::tracklets::vertices::VertexBuffers;
use crate::engine::tracklets::z_ranges::ZRanges;
use crate::tracklet::{Tracklet, TrackletHits, TrackletVertex};

/// The hits of all chains.
#[derive(Debug, Default)]
struct OfChains {
    hits: Vec<FitHit>,
    numbers: Vec<u32>,
    /// Chains: places in `hits`.
    places: Vec<TrackletHits>,
}

/// Memory of the search in one event, and its answer.
#[derive(Debug, Default)]
pub(crate) struct TrackletBuffers<R> {
    pub(crate) hits: PixelHits<R>,
    pub(crate) triplets: Triplets<R>,
    chains: Chains<R>,
    /// The longest one first.
    pub(crate) tracklets: Vec<Tracklet>,
    /// Of chains, numbers of the RoI's spacepoints.
    numbers: Vec<TrackletHits>,
    of_chains: OfChains,
    vertex_buffers: VertexBuffers,
    /// Ascending in z.
    pub(crate) vertices: Vec<TrackletVertex>,
}

impl<R: Lanes> TrackletBuffers<R> {
    /// Finds the tracklets of an RoI and their vertices. Returns whether there are too many, or the
    /// search is cancelled.
    pub(crate) fn find(&mut self, hits: &RoiHits<'_>, z_ranges: &ZRanges, cancellation: Cancellation<'_>) -> bool {
        step!("hits", self.hits.fill(hits));
        if self.find_chains(hits.tracklets, z_ranges, cancellation) {
            return true;
        }
        let mut numbers = std::mem::take(&mut self.numbers);
        numbers.clear();
        numbers.extend(self.chains());
        self.fit_chains(hits, &numbers, z_ranges.hull());
        self.numbers = numbers;
        false
    }

    pub(crate) fn found(&self) -> Found<'_> {
        Found { tracklets: &self.tracklets, vertices: &self.vertices }
    }

    /// Finds the chains. Returns whether there are too many, or the search is cancelled.
    pub(crate) fn find_chains(
        &mut self,
        search: &TrackletSearch,
        z_ranges: &ZRanges,
        cancellation: Cancellation<'_>,
    ) -> bool {
        step!("triplets", self.find_triplets(search, z_ranges, cancellation))
            || step!("chains", self.build_chains(cancellation))
    }

    /// The chains, the best one first: numbers of the RoI's spacepoints.
    pub(crate) fn chains(&self) -> impl Iterator<Item = TrackletHits> {
        let number = |&hit: &u32| self.hits.numbers[hit as usize];
        self.chains.kept.iter().map(move |chain| chain.hits.as_slice().iter().map(number).collect())
    }

    fn find_triplets(&mut self, search: &TrackletSearch, z_ranges: &ZRanges, cancellation: Cancellation<'_>) -> bool {
        self.triplets.fill(search, &self.hits, z_ranges, cancellation)
    }

    fn build_chains(&mut self, cancellation: Cancellation<'_>) -> bool {
        self.chains.fill(&self.hits, &self.triplets, cancellation)
    }

    /// Finds the tracklets and vertices of chains, the best one first: numbers of the RoI's
    /// spacepoints.
    pub(crate) fn fit_chains(&mut self, hits: &RoiHits<'_>, chains: &[TrackletHits], z_range: [f64; 2]) {
        step!("fits", self.fit(hits, chains));
        step!("vertices", self.find_vertices(hits.tracklets, z_range));
    }

    fn fit(&mut self, hits: &RoiHits<'_>, chains: &[TrackletHits]) {
        let Self { of_chains: OfChains { hits: of_hits, numbers, places }, tracklets, .. } = self;
        of_hits.clear();
        numbers.clear();
        places.clear();
        for chain in chains {
            places.push((numbers.len() as u32..).take(chain.len()).collect());
            numbers.extend_from_slice(chain.as_slice());
            of_hits.extend(chain.as_slice().iter().map(|&number| hits.fit_hit(number)));
        }
        tracklets.clear();
        hits.tracklets.fit(of_hits, numbers, places.iter(), tracklets);
    }

    fn find_vertices(&mut self, search: &TrackletSearch, z_range: [f64; 2]) {
        search.find_vertices(z_range, &mut self.tracklets, &mut self.vertex_buffers, &mut self.vertices);
    }
}
