//! Configurations of a soak: the cases of `bench`, options at the ends of their ranges, and random
//! ones.

use zfinder::config::{DefaultWindow, Kind, Neighbours, PairWeight, Significance, Value};
use zfinder::{Config, Detector, Engine, Preset, ZFinder};
use zfinder_cli::bench::words::{CaseName, word};

/// A configuration with its name.
#[derive(Clone)]
pub(super) struct SoakCase {
    pub(super) name: String,
    pub(super) config: Config,
    /// Whether options are at the ends of their ranges. Rounding may then move most entries, so
    /// answers are compared with the CPU engine's bits instead of the reference engine.
    pub(super) is_extreme: bool,
}

impl From<CaseName> for SoakCase {
    fn from(case: CaseName) -> Self {
        Self { name: word(case), config: case.config(), is_extreme: false }
    }
}

/// Returns configurations with options at the ends of their ranges, or as close as batches of about
/// 100,000 spacepoints allow.
pub(super) fn extremes() -> Vec<SoakCase> {
    let any = Config::preset(Preset::Default).with(|c| c.pair_weight = PairWeight::Any);
    let by_pt = Config::preset(Preset::HardScatter);
    let cases = [
        (
            "finest-bins",
            any.clone().with(|c| {
                c.z_bin_mm = 1e-3;
                c.z_bin_eta_coeff = 0.0;
                c.z_min_mm = -60.0;
                c.z_max_mm = 60.0;
            }),
        ),
        (
            "fine-bins-far-below",
            Config::preset(Preset::Default).with(|c| {
                c.z_bin_mm = 0.01;
                c.z_min_mm = -400.0;
                c.z_max_mm = 100.0;
            }),
        ),
        (
            "widest-range",
            Config::preset(Preset::Default).with(|c| {
                c.z_bin_mm = 1.0;
                c.z_min_mm = -1e5;
                c.z_max_mm = 1e5;
            }),
        ),
        (
            "widest-bins",
            any.clone().with(|c| {
                c.z_bin_mm = 1e4;
                c.z_bin_eta_coeff = 1e3;
                c.z_min_mm = -1e5;
                c.z_max_mm = 1e5;
            }),
        ),
        ("finest-slices", any.clone().with(|c| c.phi_slice_deg = 0.01)),
        ("one-slice", Config::preset(Preset::Default).with(|c| c.phi_slice_deg = 360.0)),
        (
            "softest-tracks",
            Config::preset(Preset::Default).with(|c| {
                c.bending_pt_gev = 0.05;
                c.dphi_deta = -1.0;
            }),
        ),
        (
            "strongest-field",
            by_pt.clone().with(|c| {
                c.field_t = 100.0;
                c.bending_pt_gev = 1e4;
                c.neighbour_multiplier = 1e3;
            }),
        ),
        (
            "open-cuts",
            Config::preset(Preset::Default).with(|c| {
                c.neighbours = Neighbours::Single;
                c.first_layers = u32::MAX;
                c.pair_weight = PairWeight::Count;
                c.triplet_dz_mm = 1e6;
                c.triplet_dk = 1e6;
                c.triplet_dp = 1e6;
            }),
        ),
        (
            "closed-cuts",
            any.clone().with(|c| {
                c.triplet_dz_mm = 0.0;
                c.triplet_dk = 0.0;
                c.triplet_dp = 0.0;
            }),
        ),
        (
            "most-peaks",
            any.clone().with(|c| {
                c.peaks = Config::MAX_PEAKS;
                c.vertex_separation_bins = 100.0;
                c.vertex_distance_cut = 0.5;
                c.vertex_mixing = 1.0;
                c.significance = Significance::Gaussian;
                c.percentile = 1e-4;
                c.prefer_central = false;
            }),
        ),
        (
            "farthest-beam",
            by_pt.with(|c| {
                c.beam_spot_mm = [1e3, -1e3];
                c.beam_spot_tilt = [1.0, -1.0];
                c.phi_window = DefaultWindow::Spacepoints;
            }),
        ),
    ];
    let case = |(name, config): (&str, Config)| SoakCase { name: name.to_owned(), config, is_extreme: true };
    cases.map(case).into()
}

/// Most options of a random configuration that differ from its preset.
const MOST_CHANGES: usize = 8;
/// Largest factor between a number and its preset's. Half of the configurations have numbers from
/// all of their ranges instead.
const MOST_FACTOR: f64 = 3.0;

/// Returns a random configuration: a preset with other options.
pub(super) fn random(seed: u64, number: u64) -> SoakCase {
    let mut rng = fastrand::Rng::with_seed(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let is_extreme = rng.bool();
    let mut config = Config::preset(Preset::ALL[rng.usize(..Preset::ALL.len())]);
    let mut name = format!("configuration {number}: {}", config.preset);
    for _ in 0..rng.usize(1..=MOST_CHANGES) {
        let key = &Config::KEYS[rng.usize(..Config::KEYS.len())];
        // The preset decides nothing, and the limits of an RoI's work keep a run short. A GPU
        // rounds about one in ten million roots and quotients of `accurate` in another way.
        if matches!(key.name, "preset" | "max_pairs" | "max_triplets" | "extrapolation") {
            continue;
        }
        let mut changed = config.clone();
        let value = random_value(&mut rng, key.kind, key.get(&config), is_extreme);
        if key.set(&mut changed, &value).is_ok() && is_valid(&changed) {
            config = changed;
            name += &format!(" {}={}", key.name, value.argument());
        }
    }
    // A wide search of full events takes each engine, the reference engine too, minutes for a
    // batch.
    config.max_pairs = config.max_pairs.min(1e6);
    config.max_triplets = config.max_triplets.min(3e7);
    SoakCase { name, config, is_extreme }
}

/// Whether a finder can be built: some keys go together with others, and with the detector.
fn is_valid(config: &Config) -> bool {
    ZFinder::builder(Detector::atlas2010()).config(config.clone()).engine(Engine::Cpu).build().is_ok()
}

/// Returns a value of a key: near the one that it has, or of the whole range.
fn random_value(rng: &mut fastrand::Rng, kind: Kind, now: Value, is_extreme: bool) -> Value {
    let mut number = |low: f64, high: f64, now: f64| match is_extreme {
        false => (now * MOST_FACTOR.powf(2.0 * rng.f64() - 1.0)).clamp(low, high),
        true if rng.u8(..4) == 0 => *rng.choice(&[low, high, 0.0]).unwrap_or(&low),
        true => {
            let size = (low.abs().max(high.abs()).ln() * rng.f64() - 3.0 * rng.f64()).exp();
            if low < 0.0 && rng.bool() { -size } else { size }
        }
    };
    match (kind, now) {
        (Kind::Word(words) | Kind::WholeOrWord(words), _) => {
            Value::Word(words[rng.usize(..words.len())].word.to_owned())
        }
        (Kind::Real { low, high }, Value::Number(now)) => Value::Number(number(low, high, now)),
        (Kind::Pair { low, high }, Value::Pair(now)) => Value::Pair(now.map(|now| number(low, high, now))),
        (Kind::Whole { low, high, .. }, now) => {
            let now = if let Value::Number(now) = now { now } else { f64::from(low) };
            Value::Number(number(low.into(), high.into(), now).round())
        }
        _ => Value::Flag(rng.bool()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_configurations_are_valid_and_repeat() {
        let mut changes = 0;
        for number in 0..300 {
            let case = random(1, number);
            case.config.validate().unwrap_or_else(|error| panic!("{}: {error}", case.name));
            assert_eq!(case.config, random(1, number).config);
            changes += case.config.changed_keys().count();
        }
        assert!(changes > 600, "{changes}");
    }

    #[test]
    fn extremes_are_valid() {
        for case in extremes() {
            case.config.validate().unwrap_or_else(|error| panic!("{}: {error}", case.name));
        }
    }
}
