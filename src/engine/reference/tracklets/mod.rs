//! Tracklets: short tracks of pixel spacepoints, with momentum and errors, and the vertices that
//! they come from. Doublets along the edges of the layer graph make triplets, triplets make chains,
//! and of chains that share spacepoints the best ones are kept and fitted.
//!
//! Units are mm, GeV and T. The curvature kappa \[1/mm\] is such that pT = 0.0003 B / |kappa|, and
//! the azimuth of a track at rho is phi0 + kappa rho / 2. A track has z = z0 + cot s, with the arc
//! length s = rho (1 + kappa^2 rho^2 / 24).

mod chains;
mod event;
mod fit;
mod hits;
mod search;
#[cfg(test)]
mod tests;
mod triplets;
mod vertex_fit;
mod vertices;

#[cfg(any(test, feature = "internals"))]
pub use self::event::TrackletsOfEvent;
pub use self::search::ReferenceTracklets;
