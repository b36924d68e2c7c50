//! Tracklets and vertices of the fast engines: the steps that the host takes in f64, whichever
//! engine found the chains of hits.

pub(crate) mod answer;
mod dense_places;
mod exp;
pub(crate) mod fit;
mod lanes;
mod mixture;
mod places;
pub(crate) mod roi_hits;
pub(crate) mod search;
#[cfg(test)]
pub(crate) mod toy;
mod vector;
mod vertex_fit;
pub(crate) mod vertices;
pub(crate) mod z_ranges;
