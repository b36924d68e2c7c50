//! Tracklets and vertices of the fast engines: the steps that the host takes in f64, whichever
//! engine found the chains of hits.

pub(crate) mod answer;
pub(crate) mod exp;
pub(crate) mod fit;
pub(crate) mod search;
#[cfg(test)]
pub(crate) mod toy;
mod vector;
pub(crate) mod vertex_fit;
pub(crate) mod vertices;
pub(crate) mod z_ranges;
