//! The reference engine: serial, f64, written from the specification. It shares no stage with the
//! other engines, so that agreement between them is evidence.

mod engine;
mod histograms;
mod pair_weight;
mod pairs;
mod peaks;
mod ranking;
mod slices;
mod tracklet_answer;
mod tracklets;
mod z_estimate;

#[cfg(feature = "internals")]
pub use self::engine::FilledRoi;
pub use self::engine::ReferenceEngine;
#[cfg(feature = "internals")]
pub use self::histograms::{Histogram, Histograms};
#[cfg(feature = "internals")]
pub use self::pairs::Pair;
#[cfg(feature = "internals")]
pub use self::peaks::Peak;
#[cfg(any(test, feature = "internals"))]
pub use self::tracklets::{ReferenceTracklets, TrackletsOfEvent};
