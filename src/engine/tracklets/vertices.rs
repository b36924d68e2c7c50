//! All vertices of an event: places where tracklets are dense, one after the other, and then all
//! together by expectation and maximisation of a mixture. The reference has the same definitions,
//! without an order along z.

use pulp::{Arch, NullaryFnOnce};

use crate::engine::tracklets::dense_places::Density;
use crate::engine::tracklets::mixture::{Mixture, densities};
use crate::engine::tracklets::places::Places;
use crate::engine::tracklets::search::TrackletSearch;
use crate::engine::tracklets::vertex_fit::{Lines, Members};
use crate::tracklet::{Tracklet, TrackletVertex};

/// Memory of the search for vertices.
#[derive(Debug, Default)]
pub(crate) struct VertexBuffers {
    places: Places,
    density: Density,
    /// z of dense places.
    dense: Vec<f64>,
    mixture: Mixture,
    /// Of each vertex.
    members: Vec<Members>,
}

impl TrackletSearch {
    /// Finds the vertices of tracklets, ascending in z, and sets the vertex of each tracklet.
    pub(crate) fn find_vertices(
        &self,
        z_range: [f64; 2],
        tracklets: &mut [Tracklet],
        buffers: &mut VertexBuffers,
        vertices: &mut Vec<TrackletVertex>,
    ) {
        let VertexBuffers { places, density, dense, mixture, members } = buffers;
        let beam_width = self.config.beam_width_mm;
        places.fill(beam_width, z_range, tracklets);
        density.find_dense_places(z_range, places, dense);
        mixture.maximise(self.config.tracklet_significance, dense, places);
        Arch::new().dispatch(FitVertices { beam_width, tracklets, places, mixture, members, vertices });
    }
}

/// Assigns tracklets to vertices, and fits the vertices.
struct FitVertices<'a> {
    beam_width: f64,
    tracklets: &'a mut [Tracklet],
    places: &'a Places,
    mixture: &'a mut Mixture,
    members: &'a mut Vec<Members>,
    vertices: &'a mut Vec<TrackletVertex>,
}

impl NullaryFnOnce for FitVertices<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { beam_width, tracklets, places, mixture, members, vertices } = self;
        let Mixture { vertices: candidates, near, .. } = mixture;
        let candidates = &*candidates;
        members.resize(candidates.len().max(members.len()), Members::default());
        members.iter_mut().for_each(Members::clear);
        tracklets.iter_mut().for_each(|tracklet| tracklet.set_vertex(None));
        vertices.clear();
        for candidate in candidates {
            let place = [0.0, 0.0, candidate.z];
            let errors = [beam_width, beam_width, candidate.z_error];
            let mut covariance = [[0.0; 3]; 3];
            (0..3).for_each(|i| covariance[i][i] = errors[i] * errors[i]);
            let significance = (2.0 * candidate.gain).max(0.0).sqrt();
            let weight = candidate.tracklets;
            vertices.push(TrackletVertex { place, covariance, weight, tracklets: 0, significance, sum_pt2: 0.0 });
        }
        for (class, max_error) in places.classes() {
            let mut first = 0;
            for eight in class {
                let (range, by_total) = densities(eight, max_error, candidates, &mut first, near);
                let lines = Lines::new(tracklets, &eight.of, beam_width);
                for (number, &density) in range.zip(near.iter()) {
                    let probabilities = density * by_total;
                    for (lane, &probability) in probabilities.0.iter().enumerate() {
                        if probability > 0.0 {
                            members[number].push(&lines, lane, probability, candidates[number].z);
                        }
                        if probability > 0.5 {
                            let tracklet = &mut tracklets[eight.of[lane] as usize];
                            tracklet.set_vertex(Some(number));
                            vertices[number].tracklets += 1;
                            vertices[number].sum_pt2 += tracklet.pt_gev * tracklet.pt_gev;
                        }
                    }
                }
            }
        }
        for ((vertex, candidate), members) in vertices.iter_mut().zip(candidates).zip(members) {
            if let Some((place, covariance)) = members.fit(candidate.z, candidate.tracklets, beam_width) {
                (vertex.place, vertex.covariance) = (place, covariance);
            }
        }
    }
}
