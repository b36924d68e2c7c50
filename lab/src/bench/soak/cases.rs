//! Configurations of a soak: the cases of `bench`, and options at the ends of their ranges.

use zfinder::{Config, DefaultWindow, Neighbours, Preset, Significance, Triplets};
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
    let any = Config { triplets: Triplets::Any, ..Config::default() };
    let by_pt = Config::preset(Preset::HardScatter);
    let cases = [
        (
            "finest-bins",
            Config { z_bin_mm: 1e-3, z_bin_eta_coeff: 0.0, z_min_mm: -60.0, z_max_mm: 60.0, ..any.clone() },
        ),
        ("fine-bins-far-below", Config { z_bin_mm: 0.01, z_min_mm: -400.0, z_max_mm: 100.0, ..Config::default() }),
        ("widest-range", Config { z_bin_mm: 1.0, z_min_mm: -1e5, z_max_mm: 1e5, ..Config::default() }),
        ("widest-bins", Config { z_bin_mm: 1e4, z_bin_eta_coeff: 1e3, z_min_mm: -1e5, z_max_mm: 1e5, ..any.clone() }),
        ("finest-slices", Config { phi_slice_deg: 0.01, ..any.clone() }),
        ("one-slice", Config { phi_slice_deg: 360.0, ..Config::default() }),
        ("softest-tracks", Config { bending_pt_gev: 0.05, dphi_deta: -1.0, ..Config::default() }),
        ("strongest-field", Config { field_t: 100.0, bending_pt_gev: 1e4, neighbour_multiplier: 1e3, ..by_pt.clone() }),
        (
            "open-cuts",
            Config {
                neighbours: Neighbours::Single,
                first_layers: u32::MAX,
                triplets: Triplets::Count,
                triplet_dz_mm: 1e6,
                triplet_dk: 1e6,
                triplet_dp: 1e6,
                ..Config::default()
            },
        ),
        ("closed-cuts", Config { triplet_dz_mm: 0.0, triplet_dk: 0.0, triplet_dp: 0.0, ..any.clone() }),
        (
            "most-peaks",
            Config {
                peaks: Config::MAX_PEAKS,
                vertex_separation_bins: 100.0,
                vertex_distance_cut: 0.5,
                vertex_mixing: 1.0,
                significance: Significance::Gaussian,
                percentile: 1e-4,
                prefer_central: false,
                ..any.clone()
            },
        ),
        (
            "farthest-beam",
            Config {
                beam_spot_mm: [1e3, -1e3],
                beam_spot_tilt: [1.0, -1.0],
                phi_window: DefaultWindow::Spacepoints,
                ..by_pt
            },
        ),
    ];
    let case = |(name, config): (&str, Config)| SoakCase { name: name.to_owned(), config, is_extreme: true };
    cases.map(case).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extremes_are_valid() {
        for case in extremes() {
            case.config.validate().unwrap_or_else(|error| panic!("{}: {error}", case.name));
        }
    }
}
