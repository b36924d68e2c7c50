//! The z histogram of a search, computed by the stages of the CPU engine.

use wasm_bindgen::prelude::*;
use zfinder::Status;
use zfinder::internals::Stages;
use zfinder::results::RoiSummary;

use crate::answers::Answers;
use crate::config::config_of;
use crate::events::Events;
use crate::exception;

/// Weights of pairs in z bins of equal width.
#[wasm_bindgen]
pub struct Histogram {
    /// Lower edge of the first bin \[mm\].
    pub low_mm: f64,
    /// Width of a bin \[mm\].
    pub bin_mm: f64,
    weights: Vec<f64>,
}

#[wasm_bindgen]
impl Histogram {
    /// Computes the histogram of an RoI that was searched with this configuration. It has no bins
    /// if the search rejected the RoI.
    ///
    /// # Errors
    /// An invalid configuration, an RoI that does not exist.
    pub fn of(config: &str, events: &Events, answers: &Answers, roi: usize) -> Result<Histogram, JsError> {
        let mut config = config_of(config)?;
        let RoiSummary { status, is_fallback, .. } = answers.roi(roi)?.summary();
        if !matches!(status, Status::Ok | Status::NoPeak) {
            return Ok(Histogram { low_mm: 0.0, bin_mm: 1.0, weights: Vec::new() });
        }
        if let Some(fallback) = config.fallback_config().filter(|_| is_fallback) {
            config = fallback;
        }
        let stages = Stages::new(&config, &events.detector, &events.batch, roi).map_err(exception)?;
        let (low_mm, bin_mm) = stages.bins_mm();
        Ok(Histogram { low_mm, bin_mm, weights: stages.weights().into_iter().map(|weight| weight as f64).collect() })
    }

    /// Returns the weights of all bins.
    #[must_use]
    pub fn weights(&self) -> Vec<f64> {
        self.weights.clone()
    }
}
