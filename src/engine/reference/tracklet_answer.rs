//! Vertices of tracklets beside those of peaks.

use super::engine::ReferenceEngine;
use super::slices::Sliced;
use super::tracklets::ReferenceTracklets;
use crate::config::Tracklets;
use crate::engine::tracklets::answer::{Found, TrackletAnswer};
use crate::engine::tracklets::z_ranges::ZRanges;
use crate::spacepoint::RoiView;
use crate::vertex::Vertex;

impl ReferenceEngine {
    /// Finds tracklets, and with them all vertices, or x, y and z of the vertices of peaks.
    pub(super) fn find_tracklets(
        &self,
        search: &ReferenceTracklets,
        roi: RoiView<'_>,
        sliced: &Sliced,
        vertices: &mut Vec<Vertex>,
        answer: &mut TrackletAnswer,
    ) {
        let (low, high) = roi.descriptor.z_range.unwrap_or((self.config.z_min_mm, self.config.z_max_mm));
        let z_ranges = match self.config.all_vertices || self.config.tracklets == Tracklets::All {
            true => ZRanges::one([low, high]),
            false => TrackletAnswer::z_ranges_near(vertices.iter().map(|vertex| vertex.z_mm)),
        };
        let search = search.with_z_ranges(z_ranges.as_slice());
        let mut tracklets = search.find_among(roi, sliced.is_kept()).tracklets;
        let found = search.find_vertices(&mut tracklets);
        let found = Found { tracklets: &tracklets, vertices: &found };
        if self.config.all_vertices {
            answer.take_all(&self.config, vertices, found);
            vertices.clone_from(&answer.vertices);
        } else {
            answer.refine(&self.config, vertices, found);
        }
    }
}
