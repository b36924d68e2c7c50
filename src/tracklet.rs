//! Tracklets and the vertices that they come from.

/// Cuts of the search for tracklets and vertices.
#[derive(Clone, Debug)]
pub struct TrackletCuts {
    /// The smallest transverse momentum \[GeV\].
    pub min_pt_gev: f64,
    /// The range of z at the beam \[mm\].
    pub z_range: [f64; 2],
    /// The largest chi2 of a triplet, of two degrees of freedom.
    pub max_triplet_chi2: f64,
    /// The largest cost of adding a hit to a chain: the chi2 of its triplet and of its curvature.
    pub max_step_cost: f64,
    /// The least significance of a vertex.
    pub min_significance: f64,
}

impl Default for TrackletCuts {
    fn default() -> Self {
        Self {
            min_pt_gev: 0.4,
            z_range: [-200.0, 200.0],
            max_triplet_chi2: 9.0,
            max_step_cost: 20.0,
            min_significance: 2.7,
        }
    }
}

/// The hits of a tracklet: numbers of spacepoints in the event, from the beam outwards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrackletHits {
    numbers: [u32; Self::MOST],
    count: u8,
}

impl TrackletHits {
    /// The most hits of a tracklet.
    pub const MOST: usize = 6;

    /// Appends a hit. Does nothing if there are [`TrackletHits::MOST`].
    pub fn push(&mut self, number: u32) {
        if self.len() < Self::MOST {
            self.numbers[self.len()] = number;
            self.count += 1;
        }
    }

    /// Returns the number of hits.
    pub fn len(&self) -> usize {
        usize::from(self.count)
    }

    /// Returns whether there is no hit.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the numbers of the spacepoints.
    pub fn as_slice(&self) -> &[u32] {
        &self.numbers[..self.len()]
    }
}

impl FromIterator<u32> for TrackletHits {
    fn from_iter<I: IntoIterator<Item = u32>>(numbers: I) -> Self {
        let mut hits = Self::default();
        numbers.into_iter().for_each(|number| hits.push(number));
        hits
    }
}

/// A short track, fitted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tracklet {
    /// Its spacepoints.
    pub hits: TrackletHits,
    /// z at the beam \[mm\].
    pub z0: f64,
    /// Standard deviation of z0 \[mm\], without the beam's width.
    pub z0_error: f64,
    /// Cotangent of the polar angle: the slope of z.
    pub cot: f64,
    /// Azimuth at the beam \[rad\].
    pub phi0: f64,
    /// Curvature, positive if phi grows with rho \[1/mm\].
    pub kappa: f64,
    /// Transverse impact parameter \[mm\], held near 0 by the beam.
    pub d0: f64,
    /// Standard deviation of d0 \[mm\].
    pub d0_error: f64,
    /// Transverse momentum \[GeV\].
    pub pt_gev: f64,
    /// Of the line in z, with two degrees of freedom fewer than hits.
    pub chi2: f64,
    /// The vertex, a place in the list of vertices.
    pub vertex: Option<u32>,
}

/// A vertex of tracklets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrackletVertex {
    /// x, y and z about the beam \[mm\].
    pub place: [f64; 3],
    /// Of x, y and z \[mm^2\].
    pub covariance: [[f64; 3]; 3],
    /// Sum of the probabilities with which tracklets belong to it.
    pub tracklets: f64,
    /// Of the vertex over the vertices about it and over tracklets of no vertex.
    pub significance: f64,
    /// Sum of pT^2 of its tracklets \[GeV^2\].
    pub sum_pt2: f64,
}

impl TrackletVertex {
    /// z \[mm\].
    pub fn z(&self) -> f64 {
        self.place[2]
    }

    /// Standard deviation of z \[mm\].
    pub fn z_error(&self) -> f64 {
        self.covariance[2][2].sqrt()
    }
}
