//! Configurations as JSON, detectors as TOML, and adapters.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use zfinder::config::{ConfigChanges, Key, Kind, Word};
use zfinder::detector::{Layer, LayerKind, Sensor};
use zfinder::gpu::AdapterSummary;
use zfinder::{Config, Detector, Engine, Preset};

use crate::error::{IntoException, config_error};

/// Reads a configuration from JSON.
pub(crate) fn parse_config(json: &str) -> PyResult<Config> {
    let config: Config = serde_json::from_str(json).map_err(|error| config_error(&error.to_string()))?;
    config.validate().map_err(IntoException::into_exception)?;
    Ok(config)
}

fn to_json(config: &Config) -> PyResult<String> {
    serde_json::to_string(config).map_err(|error| config_error(&error.to_string()))
}

/// Reads a detector from TOML, or by its name if it is built in.
pub(crate) fn parse_detector(what: &str, text: &str) -> PyResult<Detector> {
    match Detector::built_in(text) {
        Ok(detector) => Ok(detector),
        Err(_) => zfinder_io::detector_from_toml(what, text).map_err(IntoException::into_exception),
    }
}

/// Returns the names of all presets, each with its use.
#[pyfunction]
pub(crate) fn presets() -> Vec<(&'static str, String)> {
    Preset::WORDS.iter().map(|word| (word.word, word.summary())).collect()
}

/// Returns the keys of the configuration, each as a dictionary.
#[pyfunction]
pub(crate) fn keys(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let form = |key: &Key| {
        let form = PyDict::new(py);
        form.set_item("name", key.name)?;
        form.set_item("group", key.group.as_str())?;
        form.set_item("type", python_type(key.kind))?;
        form.set_item("values", key.range())?;
        form.set_item("meaning", key.summary())?;
        Ok(form)
    };
    Config::KEYS.iter().map(form).collect()
}

/// Returns the annotation of a key's values in Python.
fn python_type(kind: Kind) -> String {
    let literal = |words: &[Word]| {
        let words: Vec<_> = words.iter().map(|word| format!("\"{}\"", word.word)).collect();
        format!("Literal[{}]", words.join(", "))
    };
    match kind {
        Kind::Flag => "bool".into(),
        Kind::Whole { optional, .. } => if optional { "int | None" } else { "int" }.into(),
        Kind::Real { .. } => "float".into(),
        Kind::Pair { .. } => "list[float]".into(),
        Kind::Word(words) => literal(words),
        Kind::WholeOrWord(words) => format!("int | {}", literal(words)),
        _ => "object".into(),
    }
}

/// Returns the names of the built-in detectors.
#[pyfunction]
pub(crate) fn detectors() -> Vec<&'static str> {
    Detector::BUILT_IN.to_vec()
}

/// Checks the name of an engine.
#[pyfunction]
pub(crate) fn check_engine(engine: &str) -> PyResult<()> {
    engine.parse::<Engine>().map(drop).map_err(IntoException::into_exception)
}

/// Returns the configuration of a preset with these keys changed. Keys and configuration are JSON.
#[pyfunction]
pub(crate) fn config_json(preset: &str, changes: &str) -> PyResult<String> {
    let mut config = Config::preset(preset.parse().map_err(IntoException::into_exception)?);
    let invalid = |error: serde_json::Error| config_error(&error.to_string());
    // By way of a value, so that errors name no line and column of JSON that the user never saw.
    let changes: serde_json::Value = serde_json::from_str(changes).map_err(invalid)?;
    let changes: ConfigChanges = serde_json::from_value(changes).map_err(invalid)?;
    changes.apply(&mut config);
    config.validate().map_err(IntoException::into_exception)?;
    to_json(&config)
}

/// Turns a configuration from TOML into JSON.
#[pyfunction]
pub(crate) fn config_from_toml(text: &str) -> PyResult<String> {
    to_json(&zfinder_io::config_from_toml(text).map_err(IntoException::into_exception)?)
}

/// Turns a configuration from JSON into TOML.
#[pyfunction]
pub(crate) fn config_to_toml(json: &str) -> PyResult<String> {
    Ok(zfinder_io::config_to_toml(&parse_config(json)?))
}

/// A detector.
#[pyclass(frozen, module = "pyzfinder._pyzfinder")]
pub(crate) struct DetectorCore(Detector);

/// A layer that no detector has.
const NO_LAYER: u8 = u8::MAX;

#[pymethods]
impl DetectorCore {
    /// Reads a detector. `text` is TOML or the name of a built-in detector.
    #[new]
    fn new(what: &str, text: &str) -> PyResult<Self> {
        parse_detector(what, text).map(Self)
    }

    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    fn to_toml(&self) -> String {
        zfinder_io::detector_to_toml(&self.0)
    }

    /// Returns the layers, each as a dictionary.
    fn layers<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let config = Config::default();
        let graph = self.0.layer_graph([config.z_min_mm, config.z_max_mm]);
        let layer = |(number, layer): (u32, &Layer)| {
            let keys = PyDict::new(py);
            match layer.kind {
                LayerKind::Barrel { radius_mm } => {
                    keys.set_item("kind", "barrel")?;
                    keys.set_item("radius_mm", radius_mm)?;
                }
                LayerKind::Endcap { z_mm, r_max_mm } => {
                    keys.set_item("kind", "endcap")?;
                    keys.set_item("z_mm", z_mm)?;
                    keys.set_item("r_max_mm", r_max_mm)?;
                }
            }
            keys.set_item("sensor", layer.sensor.map(Sensor::as_str))?;
            keys.set_item("z_resolution_mm", layer.z_resolution_mm)?;
            keys.set_item("radiation_lengths", layer.radiation_lengths.unwrap_or(Layer::RADIATION_LENGTHS))?;
            keys.set_item("next", graph.outer(number))?;
            keys.set_item("ids", layer.ids.clone())?;
            Ok(keys)
        };
        (0..).zip(self.0.layers()).map(layer).collect()
    }

    /// Returns the layer of each volume and layer of a file, or [`NO_LAYER`].
    fn layer_of<'py>(
        &self,
        py: Python<'py>,
        volume_id: PyReadonlyArray1<'py, u64>,
        layer_id: PyReadonlyArray1<'py, u64>,
    ) -> Bound<'py, PyArray1<u8>> {
        let ids = volume_id.as_array().into_iter().zip(layer_id.as_array());
        let layer_of = |(&volume, &layer): (&u64, &u64)| {
            number(self.0.layer_by_id(volume.try_into().ok()?, layer.try_into().ok()?))
        };
        ids.map(|id| layer_of(id).unwrap_or(NO_LAYER)).collect::<Vec<u8>>().into_pyarray(py)
    }

    /// Returns the layer of each geometry identifier of ACTS, or [`NO_LAYER`].
    fn layer_of_geometry<'py>(
        &self,
        py: Python<'py>,
        geometry_id: PyReadonlyArray1<'py, u64>,
    ) -> Bound<'py, PyArray1<u8>> {
        let layer_of = |&id: &u64| number(self.0.layer_by_geometry_id(id)).unwrap_or(NO_LAYER);
        geometry_id.as_array().iter().map(layer_of).collect::<Vec<u8>>().into_pyarray(py)
    }

    /// Returns the layer nearest to each point, within a tolerance, or [`NO_LAYER`].
    fn layer_at<'py>(
        &self,
        py: Python<'py>,
        rho: PyReadonlyArray1<'py, f64>,
        z: PyReadonlyArray1<'py, f64>,
        tolerance_mm: f64,
    ) -> Bound<'py, PyArray1<u8>> {
        let points = rho.as_array().into_iter().zip(z.as_array());
        let layer_at = |(&rho, &z): (&f64, &f64)| number(self.0.layer_at(rho, z, tolerance_mm)).unwrap_or(NO_LAYER);
        points.map(layer_at).collect::<Vec<u8>>().into_pyarray(py)
    }
}

/// Returns a layer in the type of Python's columns.
fn number(layer: Option<u32>) -> Option<u8> {
    layer?.try_into().ok()
}

/// Returns the adapters of this machine, each as a dictionary.
#[pyfunction]
pub(crate) fn adapters(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let adapters = py.detach(zfinder::gpu::adapters).map_err(IntoException::into_exception)?;
    let adapter = |adapter: &AdapterSummary| {
        let keys = PyDict::new(py);
        keys.set_item("index", adapter.index)?;
        keys.set_item("name", &adapter.name)?;
        keys.set_item("kind", adapter.kind.to_string())?;
        keys.set_item("backend", &adapter.backend)?;
        keys.set_item("vendor", adapter.vendor)?;
        keys.set_item("device", adapter.device)?;
        keys.set_item("driver", &adapter.driver)?;
        keys.set_item("shader_f64", adapter.shader_f64)?;
        keys.set_item("timestamps", adapter.timestamps)?;
        keys.set_item("subgroups", adapter.subgroups)?;
        keys.set_item("workgroup_memory", adapter.workgroup_memory)?;
        keys.set_item("max_binding", adapter.max_binding)?;
        Ok(keys)
    };
    adapters.iter().map(adapter).collect()
}
