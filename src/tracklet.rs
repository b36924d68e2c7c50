//! Tracklets, and the vertices that they come from.

use crate::spacepoint::normalised;
use crate::vertex::Vertex;

/// A short track of pixel spacepoints, fitted. All parameters are about the beam
/// ([`Config::beam_spot_mm`](crate::Config::beam_spot_mm)).
///
/// A track with these parameters passes the distance rho from the beam at the azimuth phi0 +
/// curvature rho / 2 - d0 / rho and at z = z0 + cot(theta) s, with the arc length
/// s = rho (1 + curvature^2 rho^2 / 24).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(bytemuck::Pod, bytemuck::Zeroable)]
#[non_exhaustive]
#[repr(C)]
pub struct Tracklet {
    /// z at the beam \[mm\].
    pub z0_mm: f64,
    /// Cotangent of the polar angle: the slope of z.
    pub cot_theta: f64,
    /// Azimuth at the beam \[rad\], from -pi to pi.
    pub phi0: f64,
    /// Curvature \[1/mm\], positive if the azimuth grows with rho.
    pub curvature: f64,
    /// Transverse impact parameter \[mm\], held near 0 by the beam: x sin(phi0) - y cos(phi0) of
    /// the place nearest to the beam.
    pub d0_mm: f64,
    /// Transverse momentum \[GeV\].
    pub pt_gev: f64,
    /// Of the line in z, with two degrees of freedom fewer than spacepoints.
    pub chi2: f64,
    /// Covariance of z0 and cot(theta): (z0, z0), (z0, cot), (cot, cot).
    pub z_covariance: [f64; 3],
    /// Covariance of phi0, curvature c and d0: (phi0, phi0), (phi0, c), (phi0, d0), (c, c),
    /// (c, d0), (d0, d0).
    pub bend_covariance: [f64; 6],
    pub(crate) hits: TrackletHits,
    /// [`Tracklet::vertex`], or -1.
    pub(crate) vertex: i32,
}

/// Without spacepoints.
impl Default for Tracklet {
    fn default() -> Self {
        Self {
            z0_mm: 0.0,
            cot_theta: 0.0,
            phi0: 0.0,
            curvature: 0.0,
            d0_mm: 0.0,
            pt_gev: 0.0,
            chi2: 0.0,
            z_covariance: [0.0; 3],
            bend_covariance: [0.0; 6],
            hits: TrackletHits::default(),
            vertex: -1,
        }
    }
}

impl Tracklet {
    /// The most spacepoints of a tracklet.
    pub const MOST_HITS: usize = 6;

    /// Returns its spacepoints, from the beam outwards: their places in the RoI.
    pub fn hits(&self) -> &[u32] {
        self.hits.as_slice()
    }

    /// Returns its vertex: a place in the list of the RoI's vertices.
    pub fn vertex(&self) -> Option<usize> {
        usize::try_from(self.vertex).ok()
    }

    /// Returns the standard deviation of z0 \[mm\]. It does not contain the width of the beam.
    pub fn z0_error_mm(&self) -> f64 {
        self.z_covariance[0].sqrt()
    }

    /// Returns the standard deviation of d0 \[mm\].
    pub fn d0_error_mm(&self) -> f64 {
        self.bend_covariance[5].sqrt()
    }

    /// Returns its real numbers in the order of the fields: parameters, momentum, chi2 and
    /// covariances.
    pub fn numbers(&self) -> [f64; 16] {
        let &Self { z0_mm, cot_theta, phi0, curvature, d0_mm, pt_gev, chi2, .. } = self;
        let [zz, zc, cc] = self.z_covariance;
        let [pp, pk, pd, kk, kd, dd] = self.bend_covariance;
        [z0_mm, cot_theta, phi0, curvature, d0_mm, pt_gev, chi2, zz, zc, cc, pp, pk, pd, kk, kd, dd]
    }

    pub(crate) fn set_vertex(&mut self, vertex: Option<usize>) {
        self.vertex = vertex.map_or(-1, |vertex| vertex as i32);
    }

    /// The tracklet of a search that has numbered vertices differently, as users get it.
    pub(crate) fn with_vertex(mut self, vertex: Option<usize>) -> Self {
        self.set_vertex(vertex);
        self.phi0 = normalised(self.phi0);
        self
    }
}

/// The hits of a tracklet: numbers of spacepoints in the event, from the beam outwards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(from = "Vec<u32>", into = "Vec<u32>"))]
#[derive(bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(crate) struct TrackletHits {
    numbers: [u32; Tracklet::MOST_HITS],
    count: u32,
}

impl TrackletHits {
    /// Appends a hit. Does nothing if there are [`Tracklet::MOST_HITS`].
    pub(crate) fn push(&mut self, number: u32) {
        if self.len() < Tracklet::MOST_HITS {
            self.numbers[self.len()] = number;
            self.count += 1;
        }
    }

    /// Returns the number of hits.
    pub(crate) fn len(&self) -> usize {
        self.count as usize
    }

    /// Returns the numbers of the spacepoints.
    pub(crate) fn as_slice(&self) -> &[u32] {
        &self.numbers[..self.len().min(Tracklet::MOST_HITS)]
    }
}

impl FromIterator<u32> for TrackletHits {
    fn from_iter<I: IntoIterator<Item = u32>>(numbers: I) -> Self {
        let mut hits = Self::default();
        numbers.into_iter().for_each(|number| hits.push(number));
        hits
    }
}

#[cfg(feature = "serde")]
impl From<Vec<u32>> for TrackletHits {
    fn from(numbers: Vec<u32>) -> Self {
        numbers.into_iter().collect()
    }
}

#[cfg(feature = "serde")]
impl From<TrackletHits> for Vec<u32> {
    fn from(hits: TrackletHits) -> Self {
        hits.as_slice().to_vec()
    }
}

/// A vertex of tracklets.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(not(feature = "internals"), allow(unreachable_pub, reason = "public in `internals`"))]
pub struct TrackletVertex {
    /// x, y and z about the beam \[mm\].
    pub place: [f64; 3],
    /// Of x, y and z \[mm^2\].
    pub covariance: [[f64; 3]; 3],
    /// Sum of the probabilities with which tracklets belong to it.
    pub weight: f64,
    /// Number of tracklets that belong to it more likely than not.
    pub tracklets: u64,
    /// Of the vertex over the vertices about it and over tracklets of no vertex.
    pub significance: f64,
    /// Sum of pT^2 of its tracklets \[GeV^2\].
    pub sum_pt2: f64,
}

#[cfg_attr(not(feature = "internals"), allow(unreachable_pub, reason = "public in `internals`"))]
impl TrackletVertex {
    /// Returns z \[mm\].
    pub fn z(&self) -> f64 {
        self.place[2]
    }

    /// Returns the standard deviation of z \[mm\].
    pub fn z_error(&self) -> f64 {
        self.covariance[2][2].sqrt()
    }

    /// Puts what tracklets know in place of what a histogram knows; `beam` is the beam at its z.
    pub(crate) fn refine(&self, vertex: &mut Vertex, beam: [f64; 2]) {
        let [[xx, xy, xz], [_, yy, yz], [_, _, zz]] = self.covariance;
        vertex.z_mm = self.z();
        vertex.z_error_mm = self.z_error();
        vertex.x_mm = Some(self.place[0] + beam[0]);
        vertex.y_mm = Some(self.place[1] + beam[1]);
        vertex.covariance_mm2 = Some([xx, xy, xz, yy, yz, zz]);
        vertex.tracklet_count = self.tracklets;
        vertex.sum_pt2_gev2 = self.sum_pt2;
    }
}
