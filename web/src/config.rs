//! Presets, detectors and their layers.

use serde::Serialize;
use wasm_bindgen::prelude::*;
use zfinder::config::{Key, Word};
use zfinder::detector::LayerKind;
use zfinder::{Config, Detector, Preset};

use crate::{exception, json};

/// A preset, with its meaning in one line.
#[derive(Serialize)]
struct PresetLine {
    name: &'static str,
    about: String,
}

/// Returns the names of the presets and their meanings as JSON.
///
/// # Errors
/// A failed serialization.
#[wasm_bindgen]
pub fn presets() -> Result<String, JsError> {
    let line = |word: &Word| PresetLine { name: word.word, about: word.summary() };
    json(&Preset::WORDS.iter().map(line).collect::<Vec<_>>())
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

/// Returns a built-in detector by its name, or reads a detector from TOML.
pub(crate) fn detector_of(text: &str) -> Result<Detector, JsError> {
    if Detector::BUILT_IN.contains(&text) {
        return Detector::built_in(text).map_err(exception);
    }
    zfinder_io::detector_from_toml("detector", text).map_err(exception)
}

/// Reads a detector from the TOML of the file `file`, and returns its name.
///
/// # Errors
/// Invalid TOML, with the line, and layers that contradict each other.
#[wasm_bindgen]
pub fn detector_name(file: &str, toml: &str) -> Result<String, JsError> {
    Ok(zfinder_io::detector_from_toml(file, toml).map_err(exception)?.name().to_owned())
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum LayerShape {
    Barrel { radius_mm: f64, half_length_mm: f64 },
    Endcap { z_mm: f64, r_max_mm: f64 },
}

/// Returns positions and lengths of a detector's layers \[mm\] as JSON, for pictures. `detector` is
/// the name of a built-in detector, or TOML.
///
/// # Errors
/// No detector has this name, and the text is not TOML of a detector.
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
