//! The histogram of z that the search sees, computed by the CPU engine's stages.

use wasm_bindgen::prelude::*;
use zfinder::Status;
use zfinder::internals::Stages;

use crate::answers::Answers;
use crate::config::config_of;
use crate::events::Events;
use crate::exception;

/// Weights in bins of equal width.
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
    /// The histogram of an RoI whose answer is known, with the configuration that found it. Without
    /// a bin where the RoI has nothing to search.
    ///
    /// # Errors
    /// A configuration out of range.
    pub fn of(config: &str, events: &Events, answers: &Answers, roi: usize) -> Result<Histogram, JsError> {
        let mut config = config_of(config)?;
        let result = answers.results.get(roi).ok_or_else(|| exception("there is no such RoI"))?;
        if !matches!(result.status, Status::Ok | Status::NoPeak) {
            return Ok(Histogram { low_mm: 0.0, bin_mm: 1.0, weights: Vec::new() });
        }
        if let Some(fallback) = config.fallback_config().filter(|_| result.fallback) {
            config = fallback;
        }
        let stages = Stages::new(&config, &events.detector, &events.batch, roi).map_err(exception)?;
        let (low_mm, bin_mm) = stages.bins_mm();
        Ok(Histogram { low_mm, bin_mm, weights: stages.weights().into_iter().map(|weight| weight as f64).collect() })
    }

    /// The weights.
    #[must_use]
    pub fn weights(&self) -> Vec<f64> {
        self.weights.clone()
    }
}
