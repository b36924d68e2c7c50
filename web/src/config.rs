//! Presets, detectors and their layers by name.

use serde::Serialize;
use wasm_bindgen::prelude::*;
use zfinder::config::Key;
use zfinder::detector::LayerKind;
use zfinder::{Config, Detector, Preset};

use crate::{exception, json};

/// Returns the names of the presets as JSON.
///
/// # Errors
/// A failed serialization.
#[wasm_bindgen]
pub fn presets() -> Result<String, JsError> {
    json(Preset::ALL)
}

/// A key of the configuration, with the option of the command that sets it.
#[derive(Serialize)]
struct KeyForm {
    name: &'static str,
    option: String,
    unit: &'static str,
}

/// Returns the keys of the configuration as JSON: names, options of the command, and units.
///
/// # Errors
/// A failed serialization.
#[wasm_bindgen]
pub fn keys() -> Result<String, JsError> {
    let form = |key: &Key| {
        let option = format!("--{}", key.short_name().replace('_', "-"));
        KeyForm { name: key.name, option, unit: key.unit }
    };
    json(&Config::KEYS.iter().map(form).collect::<Vec<_>>())
}

/// Returns the names of the built-in detectors as JSON.
///
/// # Errors
/// A failed serialization.
#[wasm_bindgen]
pub fn detectors() -> Result<String, JsError> {
    json(&Detector::BUILT_IN)
}

/// Returns the configuration of a preset as JSON.
///
/// # Errors
/// No preset has this name.
#[wasm_bindgen]
pub fn preset(name: &str) -> Result<String, JsError> {
    json(&Config::preset(name.parse().map_err(exception)?))
}

/// Reads a configuration from JSON, and validates it.
pub(crate) fn config_of(text: &str) -> Result<Config, JsError> {
    let config: Config = serde_json::from_str(text).map_err(exception)?;
    config.validate().map_err(exception)?;
    Ok(config)
}

pub(crate) fn detector_of(name: &str) -> Result<Detector, JsError> {
    Detector::built_in(name).map_err(exception)
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum LayerShape {
    Barrel { radius_mm: f64, half_length_mm: f64 },
    Endcap { z_mm: f64, r_max_mm: f64 },
}

/// Returns positions and lengths of a detector's layers \[mm\] as JSON, for pictures.
///
/// # Errors
/// No detector has this name.
#[wasm_bindgen]
pub fn layers(detector: &str) -> Result<String, JsError> {
    let detector = detector_of(detector)?;
    let shape = |kind| match kind {
        LayerKind::Barrel { radius_mm } => {
            LayerShape::Barrel { radius_mm, half_length_mm: detector.barrel_end(radius_mm) }
        }
        LayerKind::Endcap { z_mm, r_max_mm } => LayerShape::Endcap { z_mm, r_max_mm },
    };
    json(&detector.layers().iter().map(|layer| shape(layer.kind)).collect::<Vec<_>>())
}
