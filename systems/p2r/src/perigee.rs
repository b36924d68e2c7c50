//! Parameters of fitted tracks at the beam line.

use crate::batch::{Batch, Number, PARAMETERS, STATE};
use crate::engine::Fitted;
use crate::engine::reference::{Surface, covariance_of, cross};

/// The number of parameters at the beam line.
pub const PERIGEE: usize = 5;
/// The names of the parameters at the beam line, with their units.
pub const PERIGEE_NAMES: [&str; PERIGEE] = ["d0_cm", "z0_cm", "phi0", "theta0", "q_per_p"];

/// A track at its point of closest approach to the beam line, which is the z axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Perigee {
    /// d0 and z0 \[cm\], phi, theta, and the charge by the momentum \[1/GeV\].
    ///
    /// The point has x = -d0 sin(phi), y = d0 cos(phi) and z = z0.
    pub par: [f64; PERIGEE],
    /// The lower triangle of their covariance, row by row.
    pub cov: [f64; PERIGEE * (PERIGEE + 1) / 2],
}

impl Perigee {
    /// The value of a track that has no perigee: all numbers are NaN.
    pub const NONE: Self = Self { par: [f64::NAN; PERIGEE], cov: [f64::NAN; PERIGEE * (PERIGEE + 1) / 2] };

    /// Propagates a state with its covariance to the beam line. `bending` is the charge as in
    /// [`Track::charge`](crate::Track::charge), and `charge` is the particle's. Returns None if a
    /// number is not finite, or 1/pt or a charge is 0.
    #[must_use]
    pub fn of(state: &[f64; STATE], bending: f64, charge: f64) -> Option<Self> {
        let from = std::array::from_fn(|n| state[n]);
        let (at, j) = cross(from, bending, Surface::Perigee)?;
        let [x, y, z, ipt, phi, theta] = at;
        let (sin, cos) = phi.sin_cos();
        let row = |of: &dyn Fn(usize) -> f64| -> [f64; PARAMETERS] { std::array::from_fn(of) };
        // The position has no component along the direction, so phi does not change d0.
        let rows = [
            row(&|n| j[1][n] * cos - j[0][n] * sin),
            j[2],
            j[4],
            j[5],
            row(&|n| charge * (j[3][n] * theta.sin() + j[5][n] * ipt * theta.cos())),
        ];
        let cov = covariance_of(state);
        let entry = |i: usize, n: usize| -> f64 {
            let terms = (0..PARAMETERS).flat_map(|a| (0..PARAMETERS).map(move |b| (a, b)));
            terms.map(|(a, b)| rows[i][a] * cov[a][b] * rows[n][b]).sum()
        };
        let places = (0..PERIGEE).flat_map(|i| (0..=i).map(move |n| (i, n)));
        let mut perigee = Self { par: [y * cos - x * sin, z, phi, theta, charge * ipt * theta.sin()], ..Self::NONE };
        perigee.cov.iter_mut().zip(places).for_each(|(to, (i, n))| *to = entry(i, n));
        let is_sound = perigee.par.iter().chain(&perigee.cov).all(|number| number.is_finite());
        (is_sound && perigee.par[4] != 0.0).then_some(perigee)
    }

    /// Returns the perigees of the first tracks of a batch, event after event, for which charges
    /// are given. A track without a perigee has [`Perigee::NONE`].
    #[must_use]
    pub fn all(batch: &Batch<impl Number>, fitted: &Fitted<impl Number>, charges: &[f64]) -> Vec<Self> {
        let each = batch.layout().tracks.max(1);
        let of = |(i, &charge): (usize, &f64)| {
            let (event, track) = (i / each, i % each);
            let bending = batch.track(event, track).charge;
            Self::of(&fitted.state(event, track), bending, charge).unwrap_or(Self::NONE)
        };
        charges.iter().enumerate().map(of).collect()
    }

    /// Returns the errors of the parameters: the roots of their variances.
    #[must_use]
    pub fn errors(&self) -> [f64; PERIGEE] {
        std::array::from_fn(|n| self.cov[n * (n + 3) / 2].sqrt())
    }
}
