//! Vertices of tracklets beside those of peaks.

use super::engine::ReferenceEngine;
use super::slices::Sliced;
use super::tracklets::ReferenceTracklets;
use crate::config::Tracklets;
use crate::engine::tracklets::answer::{Found, TrackletAnswer};
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
        let find = |z_range: [f64; 2]| {
            let search = search.with_z_range(z_range);
            let mut tracklets = search.find_among(roi, sliced.is_kept()).tracklets;
            let found = search.find_vertices(&mut tracklets);
            (tracklets, found)
        };
        let whole = roi.descriptor.z_range.unwrap_or((self.config.z_min_mm, self.config.z_max_mm));
        if self.config.all_vertices || self.config.tracklets == Tracklets::All {
            let (tracklets, found) = find(whole.into());
            let found = Found { tracklets: &tracklets, vertices: &found };
            if self.config.all_vertices {
                answer.take_all(&self.config, vertices, found);
                vertices.clone_from(&answer.vertices);
            } else {
                answer.refine(&self.config, vertices, 0, found);
            }
            return;
        }
        for place in 0..vertices.len() {
            let (tracklets, found) = find(TrackletAnswer::z_range_near(vertices[place].z_mm));
            let found = Found { tracklets: &tracklets, vertices: &found };
            answer.refine(&self.config, &mut vertices[place..=place], place, found);
        }
    }
}
