//! The steps of the search, one after the other.

use super::chains;
use super::hits::PixelHits;
use super::search::ReferenceTracklets;
use super::vertices;
use crate::spacepoint::RoiView;
use crate::tracklet::{Tracklet, TrackletVertex};

/// Tracklets of an event, and numbers of the stages before.
#[derive(Clone, Debug, Default)]
pub struct TrackletsOfEvent {
    /// Spacepoints of pixel layers.
    pub hits: usize,
    /// Pairs of spacepoints that may begin a tracklet.
    pub doublets: usize,
    /// Triplets of spacepoints.
    pub triplets: usize,
    /// Kept tracklets, the longest one first.
    pub tracklets: Vec<Tracklet>,
}

impl ReferenceTracklets {
    /// Finds the tracklets of an event. Spacepoints on other layers than pixel layers take no part;
    /// invalid ones do not either.
    pub fn find(&self, roi: RoiView<'_>) -> TrackletsOfEvent {
        self.find_among(roi, |_| true)
    }

    /// Finds the tracklets of the spacepoints with these places in the event.
    pub(in super::super) fn find_among(&self, roi: RoiView<'_>, takes: impl Fn(usize) -> bool) -> TrackletsOfEvent {
        let hits = PixelHits::new(&self.detector, &self.config, roi, takes);
        let (triplets, doublets) = self.find_triplets(&hits);
        let chains = self.build_chains(&triplets);
        let chains = chains::select(chains);
        let tracklets = chains.iter().map(|chain| self.fit(&hits, chain)).collect();
        TrackletsOfEvent { hits: hits.count(), doublets, triplets: triplets.len(), tracklets }
    }

    /// Finds the vertices of tracklets, sorted by z, and sets the vertex of each tracklet.
    pub fn find_vertices(&self, tracklets: &mut [Tracklet]) -> Vec<TrackletVertex> {
        let (Some(first), Some(last)) = (self.z_ranges.first(), self.z_ranges.last()) else { return Vec::new() };
        vertices::find(&self.config, [first[0], last[1]], tracklets)
    }
}
