//! The twin: the four stages in plain scalar code, with the functions of the shaders under the same names and in the same
//! order. Tests hold the kernels and the vectorised CPU engine to it, buffer by buffer.
//!
//! It decides and rounds as the kernels do, and leaves out everything that only makes them fast: tiles, shares of threads,
//! packed words, marks and queues.

mod confirmations;
pub(crate) mod find_peaks;
pub(crate) mod find_z;
pub(crate) mod slice_spacepoints;
pub(crate) mod sum_histos;

#[cfg(feature = "internals")]
pub use self::whole::Twin;

/// The stages one after the other.
#[cfg(feature = "internals")]
mod whole {
    use super::find_peaks::find_peaks;
    use super::find_z::find_z;
    use super::slice_spacepoints::{SlicedSpacepoints, slice_spacepoints};
    use super::sum_histos::sum_histos;
    use crate::config::Config;
    use crate::detector::Detector;
    use crate::engine::encoding::Lossless;
    use crate::engine::plan::Search;
    use crate::engine::real::Real;
    use crate::engine::vertices::Vertices;
    use crate::error::Result;
    use crate::histogram::{FixedPoint, HistogramPair};
    use crate::options::Accumulate;
    use crate::spacepoint::RoiView;
    use crate::vertex::RoiResult;

    /// A serial engine in f64 made of the twin's stages: the yardstick of `benches/serial.rs`.
    pub struct Twin {
        search: Search,
        spacepoints: Vec<<f64 as Real>::Spacepoint>,
        sliced: SlicedSpacepoints<f64>,
    }

    impl Twin {
        /// Makes the engine.
        ///
        /// # Errors
        /// A configuration that this detector cannot have.
        pub fn new(config: &Config, detector: &Detector) -> Result<Self> {
            let search = Search::new(config, detector)?;
            Ok(Self { search, spacepoints: Vec::new(), sliced: SlicedSpacepoints::default() })
        }

        /// Finds the vertices of an RoI.
        ///
        /// # Errors
        /// A z range that makes no histogram.
        pub fn find(&mut self, roi: RoiView<'_>) -> Result<RoiResult> {
            let Self { search, spacepoints, sliced } = self;
            let plan = search.plan(roi)?;
            spacepoints.clear();
            let taken = search.pack::<f64, _>(&Lossless, &plan, roi, |words| spacepoints.extend_from_slice(words));
            if taken.kept == 0 || plan.is_too_much() {
                return Ok(plan.result(taken, Vec::new(), taken.kept > 0));
            }
            slice_spacepoints(spacepoints, search.layers() as u32, plan.slices, sliced);
            let rows = [find_z::<f64, FixedPoint>(search, &plan, sliced, 0..plan.slices)];
            let mut total = HistogramPair::new(plan.histograms, plan.bins.bins);
            let overflow = sum_histos::<FixedPoint>(&rows, &mut total);
            let mut vertices = Vertices::new(search, &plan, Accumulate::Fixed, Vec::new());
            for peak in find_peaks(&mut total, &plan.bins, &search.config, plan.background_windows) {
                if !vertices.take(&peak) {
                    break;
                }
            }
            Ok(plan.result(taken, vertices.found(), overflow))
        }
    }
}
