//! Reads and writes configurations and detectors in TOML.

use serde::{Deserialize, Serialize};
use zfinder::detector::{BendingPair, BendingTable, Layer, LayerKind, Sensor};
use zfinder::{Config, Detector};

use crate::error::{Error, Result};

/// Reads a configuration from TOML. Absent keys have the values of the preset that the key `preset`
/// names, else of the preset auto; unknown keys are errors.
///
/// # Errors
/// [`Error::Toml`] with the parser's words; [`Error::Zfinder`] for a value that
/// [`Config::validate`] refuses.
///
/// ```
/// use zfinder::{Config, Preset};
/// let config = zfinder_io::config_from_toml("z_bin_mm = 0.4")?;
/// assert_eq!(config, Config::preset(Preset::Auto).with(|c| c.z_bin_mm = 0.4));
/// let config = zfinder_io::config_from_toml("preset = \"jet\"\npeaks = 2")?;
/// assert_eq!(config, Config::preset(Preset::Jet).with(|c| c.peaks = 2));
/// # Ok::<(), zfinder_io::Error>(())
/// ```
pub fn config_from_toml(text: &str) -> Result<Config> {
    let config: Config = parse("configuration", text)?;
    config.validate()?;
    Ok(config)
}

/// Returns the preset of a configuration and its changed keys in words, for reports.
///
/// ```
/// let config = zfinder_io::config_from_toml("peaks = 2\nfallback = \"none\"")?;
/// assert_eq!(zfinder_io::config_summary(&config), "preset auto, peaks = 2, fallback = \"none\"");
/// # Ok::<(), zfinder_io::Error>(())
/// ```
pub fn config_summary(config: &Config) -> String {
    let changed = config.changed_keys().map(|key| format!(", {} = {}", key.name, key.get(config)));
    format!("preset {}{}", config.preset, changed.collect::<String>())
}

/// Returns the keys whose values differ from those of the preset, with their values. A key without
/// value is null.
pub(crate) fn changed_keys(config: &Config) -> Vec<(&'static str, serde_json::Value)> {
    let values = serde_json::to_value(config).unwrap_or_default();
    let value = |key: &str| values.get(key).cloned().unwrap_or_default();
    config.changed_keys().map(|key| (key.name, value(key.name))).collect()
}

/// Writes a configuration as TOML, with every key.
pub fn config_to_toml(config: &Config) -> String {
    ::toml::to_string(config).expect("a flat table of numbers and words is valid TOML")
}

/// Reads a detector from TOML in the form of `data/detectors`. `what` names the text in errors.
///
/// # Errors
/// [`Error::Toml`] with the parser's words; [`Error::Zfinder`] for tables that contradict
/// themselves.
///
/// ```
/// let detector = zfinder_io::detector_from_toml("telescope.toml", "
///     name = \"telescope\"
///     [[layer]]
///     kind = \"barrel\"
///     radius_mm = 30.0
///     [[layer]]
///     kind = \"endcap\"
///     z_mm = 500.0
///     r_max_mm = 150.0
/// ")?;
/// assert_eq!(detector.layers().len(), 2);
/// # Ok::<(), zfinder_io::Error>(())
/// ```
pub fn detector_from_toml(what: &str, text: &str) -> Result<Detector> {
    let toml: DetectorToml = parse(what, text)?;
    let layers = toml.layer.into_iter().map(Layer::from).collect();
    Ok(Detector::new(&toml.name, layers, toml.bending.map(BendingTable::from))?)
}

/// Writes a detector as TOML, which [`detector_from_toml`] reads.
pub fn detector_to_toml(detector: &Detector) -> String {
    let toml = DetectorToml {
        name: detector.name().to_owned(),
        layer: detector.layers().iter().map(LayerToml::from).collect(),
        bending: detector.bending().map(BendingToml::from),
    };
    ::toml::to_string(&toml).expect("tables of numbers and words are valid TOML")
}

fn parse<'a, T: Deserialize<'a>>(what: &str, text: &'a str) -> Result<T> {
    ::toml::from_str(text).map_err(|error| Error::Toml { what: what.into(), message: error.to_string() })
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct DetectorToml {
    name: String,
    layer: Vec<LayerToml>,
    bending: Option<BendingToml>,
}

#[derive(Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
enum LayerToml {
    Barrel {
        radius_mm: f64,
        sensor: Option<Sensor>,
        z_resolution_mm: Option<f64>,
        radiation_lengths: Option<f64>,
        next: Option<Vec<u32>>,
        #[serde(default)]
        ids: Vec<(u32, u32)>,
    },
    Endcap {
        z_mm: f64,
        r_max_mm: f64,
        sensor: Option<Sensor>,
        z_resolution_mm: Option<f64>,
        radiation_lengths: Option<f64>,
        next: Option<Vec<u32>>,
        #[serde(default)]
        ids: Vec<(u32, u32)>,
    },
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct BendingToml {
    pt_gev: f64,
    field_t: f64,
    #[serde(default)]
    barrel: Vec<(u32, u32, f64)>,
    #[serde(default)]
    endcap: Vec<(u32, u32, f64, f64)>,
}

impl From<LayerToml> for Layer {
    fn from(layer: LayerToml) -> Self {
        match layer {
            LayerToml::Barrel { radius_mm, sensor, z_resolution_mm, radiation_lengths, next, ids } => {
                let kind = LayerKind::Barrel { radius_mm };
                Self { kind, sensor, z_resolution_mm, radiation_lengths, next, ids }
            }
            LayerToml::Endcap { z_mm, r_max_mm, sensor, z_resolution_mm, radiation_lengths, next, ids } => {
                let kind = LayerKind::Endcap { z_mm, r_max_mm };
                Self { kind, sensor, z_resolution_mm, radiation_lengths, next, ids }
            }
        }
    }
}

impl From<&Layer> for LayerToml {
    fn from(layer: &Layer) -> Self {
        let Layer { kind, sensor, z_resolution_mm, radiation_lengths, next, ids } = layer.clone();
        match kind {
            LayerKind::Barrel { radius_mm } => {
                Self::Barrel { radius_mm, sensor, z_resolution_mm, radiation_lengths, next, ids }
            }
            LayerKind::Endcap { z_mm, r_max_mm } => {
                Self::Endcap { z_mm, r_max_mm, sensor, z_resolution_mm, radiation_lengths, next, ids }
            }
        }
    }
}

impl From<BendingTable> for BendingToml {
    fn from(BendingTable { pt_gev, field_t, pairs }: BendingTable) -> Self {
        let mut toml = Self { pt_gev, field_t, barrel: Vec::new(), endcap: Vec::new() };
        for BendingPair { inner, outer, dphi_rad, eta } in pairs {
            match eta {
                None => toml.barrel.push((inner, outer, dphi_rad)),
                Some(eta) => toml.endcap.push((inner, outer, dphi_rad, eta)),
            }
        }
        toml
    }
}

impl From<BendingToml> for BendingTable {
    fn from(toml: BendingToml) -> Self {
        let barrel = toml.barrel.into_iter().map(|(inner, outer, dphi_rad)| (inner, outer, dphi_rad, None));
        let endcap = toml.endcap.into_iter().map(|(inner, outer, dphi_rad, eta)| (inner, outer, dphi_rad, Some(eta)));
        let pair = |(inner, outer, dphi_rad, eta)| BendingPair { inner, outer, dphi_rad, eta };
        Self { pt_gev: toml.pt_gev, field_t: toml.field_t, pairs: barrel.chain(endcap).map(pair).collect() }
    }
}

#[cfg(test)]
mod tests {
    use zfinder::Preset;

    use super::*;

    #[test]
    fn configurations_survive_the_round_trip() {
        for &preset in Preset::ALL {
            let config = Config::preset(preset);
            assert_eq!(config_from_toml(&config_to_toml(&config)).expect("own output"), config);
        }
    }

    #[test]
    fn errors_of_a_configuration_name_its_key() {
        for (text, key) in [
            ("z_bin = 1.0", "z_bin"),
            ("pair_weight = \"some\"", "some"),
            ("max_layer = \"gold\"", "short-strip"),
            ("phi_slice_deg = nan", "phi_slice_deg"),
            ("z_bin_mm = 0.001\nz_min_mm = -10000.0", "z_bin_mm"),
            ("preset = \"auto\"\npair_weight = \"any\"", "ranking = entries"),
            ("preset = \"gold\"", "hard-scatter"),
        ] {
            let error = config_from_toml(text).expect_err(text).to_string();
            assert!(error.contains(key), "{text}: {error}");
        }
    }

    #[test]
    fn errors_of_a_detector_name_what_is_wrong() {
        for (text, word) in [
            ("name = \"x\"\nlayer = []", "layers"),
            ("name = \"x\"\n[[layer]]\nkind = \"cone\"", "cone"),
            ("name = \"x\"\n[[layer]]\nkind = \"barrel\"\nradius = 1.0", "radius"),
            (
                "name = \"x\"\n[[layer]]\nkind = \"barrel\"\nradius_mm = 1.0\nids = [[1, 1]]\n\
                 [[layer]]\nkind = \"barrel\"\nradius_mm = 2.0\nids = [[1, 1]]",
                "(1, 1)",
            ),
            (&telescope("next = [2]"), "layer 0: next = [.. 2 ..] needs the numbers of two layers with sensor"),
            (&telescope("radiation_lengths = 1.5"), "layer 0: radiation_lengths must be from 0.000001 to 1"),
        ] {
            let error = detector_from_toml("x.toml", text).expect_err(text).to_string();
            assert!(error.contains(word), "{error}");
        }
    }

    /// A detector with two pixel layers, whose first one has these keys too.
    fn telescope(keys: &str) -> String {
        format!(
            "name = \"telescope\"\n[[layer]]\nkind = \"barrel\"\nradius_mm = 30.0\nsensor = \"pixel\"\n{keys}\n\
             [[layer]]\nkind = \"endcap\"\nz_mm = 500.0\nr_max_mm = 90.0\nsensor = \"pixel\"\n"
        )
    }

    #[test]
    fn thickness_and_followers_survive_the_round_trip() {
        let text = telescope("radiation_lengths = 0.02\nnext = [1]");
        let detector = detector_from_toml("telescope.toml", &text).expect("valid");
        assert_eq!(detector.layers()[0].radiation_lengths, Some(0.02));
        assert_eq!(detector.layers()[0].next, Some(vec![1]));
        assert_eq!(detector_from_toml("again", &detector_to_toml(&detector)).expect("own output"), detector);
    }

    /// Users copy the files of `data/detectors`, so they must equal the built-in detectors.
    #[test]
    fn built_in_detectors_are_those_of_the_files() {
        for name in Detector::BUILT_IN {
            let path = format!("{}/../../data/detectors/{name}.toml", env!("CARGO_MANIFEST_DIR"));
            let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
            let read = detector_from_toml(&path, &text).expect("valid");
            assert_eq!(detector_from_toml(name, &detector_to_toml(&read)).expect("own output"), read);
            assert_eq!(read, Detector::built_in(name).expect("built in"), "{name}");
        }
    }
}
