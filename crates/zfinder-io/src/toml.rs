//! Reads and writes configurations and detectors in TOML.

use std::ops::Range;

use ::toml::Spanned;
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
    let toml: DetectorToml<Spanned<LayerToml>> = parse(what, text)?;
    let error = |(span, message): (Range<usize>, String)| Error::Toml {
        what: what.into(),
        message: excerpt(text, span, &message),
    };
    let (mut layers, mut spans) = (Vec::new(), Vec::new());
    for layer in toml.layer {
        spans.push(layer.span());
        layers.push(layer.into_inner().read(spans.last().cloned().unwrap_or_default()).map_err(error)?);
    }
    Detector::new(&toml.name, layers, toml.bending.map(BendingTable::from)).map_err(|refused| match &refused {
        zfinder::Error::Detector { layer: Some(number), .. } => {
            let span = spans.get(*number as usize).cloned().unwrap_or_default();
            error((span, refused.to_string()))
        }
        _ => refused.into(),
    })
}

/// Writes a detector as TOML, which [`detector_from_toml`] reads.
pub fn detector_to_toml(detector: &Detector) -> String {
    let toml = DetectorToml {
        name: detector.name().to_owned(),
        layer: detector.layers().iter().map(LayerToml::from).collect::<Vec<_>>(),
        bending: detector.bending().map(BendingToml::from),
    };
    ::toml::to_string(&toml).expect("tables of numbers and words are valid TOML")
}

fn parse<'a, T: Deserialize<'a>>(what: &str, text: &'a str) -> Result<T> {
    ::toml::from_str(text).map_err(|error| Error::Toml { what: what.into(), message: error.to_string() })
}

/// Returns a message about a part of a text, with the part's first line and its place, in the form
/// of the parser's own messages.
fn excerpt(text: &str, span: Range<usize>, message: &str) -> String {
    let before = &text[..span.start];
    let begin = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = text[begin..].lines().next().unwrap_or_default();
    let (number, column) = (before.matches('\n').count() + 1, text[begin..span.start].chars().count());
    let marked = text[span].lines().next().unwrap_or_default().trim_end().chars().count().max(1);
    let gutter = " ".repeat(number.to_string().len());
    format!(
        "line {number}, column {}\n{gutter} |\n{number} | {line}\n{gutter} | {}{}\n{message}",
        column + 1,
        " ".repeat(column),
        "^".repeat(marked)
    )
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct DetectorToml<L> {
    name: String,
    layer: Vec<L>,
    bending: Option<BendingToml>,
}

#[derive(Clone, Copy, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum KindToml {
    Barrel,
    Endcap,
}

/// A layer of either kind: serde would forget the places of keys in an enum of two tables.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct LayerToml {
    kind: KindToml,
    radius_mm: Option<Spanned<f64>>,
    z_mm: Option<Spanned<f64>>,
    r_max_mm: Option<Spanned<f64>>,
    sensor: Option<Sensor>,
    z_resolution_mm: Option<f64>,
    radiation_lengths: Option<f64>,
    next: Option<Vec<u32>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    ids: Vec<(u32, u32)>,
}

impl LayerToml {
    /// Returns the layer, or the place of the fault and words for it. `span` is the layer's place.
    fn read(self, span: Range<usize>) -> Result<Layer, (Range<usize>, String)> {
        let Self { kind, radius_mm, z_mm, r_max_mm, sensor, z_resolution_mm, radiation_lengths, next, ids } = self;
        let needed = |value: Option<Spanned<f64>>, key: &str| match value {
            Some(value) => Ok(value.into_inner()),
            None => Err((span.clone(), format!("this layer needs the key `{key}`"))),
        };
        let unknown = |value: Option<Spanned<f64>>, what: &str| match value {
            Some(value) => Err((value.span(), what.to_owned())),
            None => Ok(()),
        };
        let kind = match kind {
            KindToml::Barrel => {
                let other = "a layer of kind \"barrel\" has the size `radius_mm` only";
                unknown(z_mm, other)?;
                unknown(r_max_mm, other)?;
                LayerKind::Barrel { radius_mm: needed(radius_mm, "radius_mm")? }
            }
            KindToml::Endcap => {
                unknown(radius_mm, "a layer of kind \"endcap\" has the sizes `z_mm` and `r_max_mm`")?;
                LayerKind::Endcap { z_mm: needed(z_mm, "z_mm")?, r_max_mm: needed(r_max_mm, "r_max_mm")? }
            }
        };
        Ok(Layer { kind, sensor, z_resolution_mm, radiation_lengths, next, ids })
    }
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

impl From<&Layer> for LayerToml {
    fn from(layer: &Layer) -> Self {
        let Layer { kind, sensor, z_resolution_mm, radiation_lengths, next, ids } = layer.clone();
        // Places are not written.
        let value = |value: f64| Some(Spanned::new(0..0, value));
        let (kind, radius_mm, z_mm, r_max_mm) = match kind {
            LayerKind::Barrel { radius_mm } => (KindToml::Barrel, value(radius_mm), None, None),
            LayerKind::Endcap { z_mm, r_max_mm } => (KindToml::Endcap, None, value(z_mm), value(r_max_mm)),
        };
        Self { kind, radius_mm, z_mm, r_max_mm, sensor, z_resolution_mm, radiation_lengths, next, ids }
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
            (&telescope("radiation_lengths = 1.5"), "layer 0: radiation_lengths = 1.5 must be from 0.000001 to 1"),
        ] {
            let error = detector_from_toml("x.toml", text).expect_err(text).to_string();
            assert!(error.contains(word), "{error}");
        }
    }

    #[test]
    fn errors_of_a_detector_point_at_the_layer_and_its_key() {
        let text = telescope("radiation_lengths = 0.02");
        for (from, to, wanted) in [
            (
                "z_mm = 500.0",
                "z_mm = \"500\"",
                "line 9, column 8\n  |\n9 | z_mm = \"500\"\n  |        ^^^^^\ninvalid type",
            ),
            ("z_mm = 500.0", "z = 500.0", "line 9, column 1\n  |\n9 | z = 500.0\n  | ^\nunknown field `z`"),
            (
                "z_mm = 500.0\n",
                "",
                "line 7, column 1\n  |\n7 | [[layer]]\n  | ^^^^^^^^^\nthis layer needs the key `z_mm`",
            ),
            (
                "z_mm = 500.0",
                "radius_mm = 5.0",
                "line 9, column 13\n  |\n9 | radius_mm = 5.0\n  |             ^^^\na layer",
            ),
            ("\"endcap\"", "\"barrel\"", "9 | z_mm = 500.0\n  |        ^^^^^\na layer of kind \"barrel\""),
            (
                "z_mm = 500.0",
                "z_mm = -500.0",
                "7 | [[layer]]\n  | ^^^^^^^^^\ndetector `telescope`: layer 1: z_mm = -500",
            ),
            ("kind = \"endcap\"\n", "", "line 7, column 1\n  |\n7 | [[layer]]\n  | ^^^^^^^^^\nmissing field `kind`"),
        ] {
            let error = detector_from_toml("x.toml", &text.replace(from, to)).expect_err(to).to_string();
            assert!(error.contains(wanted), "{to}: {error}");
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
