//! Configurations of a soak: the cases of `bench`, and options at the ends of their ranges.

use zfinder::config::{DefaultWindow, Neighbours, PairWeight, Significance};
use zfinder::{Config, Preset};
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
