//! Values of the published tunings.

use crate::config::max_layer::MaxLayer;
use crate::config::preset::Preset;
use crate::config::table::{Config, DefaultWindow, Fallback, Neighbours, PairWeight, Ranking, Significance, ZEstimate};
use crate::detector::layers::Sensor;

impl Config {
    /// Returns the configuration of a preset.
    pub fn preset(preset: Preset) -> Self {
        Self { preset, ..Self::keys_of(preset) }
    }

    /// Returns the values of all keys of a preset but the key `preset`.
    fn keys_of(preset: Preset) -> Self {
        let wide = |z_bin_mm, z_bin_eta_coeff| Self {
            peaks: 3,
            phi_slice_deg: 1.0,
            z_bin_mm,
            z_bin_eta_coeff,
            dphi_deta: -0.025,
            phi_window: DefaultWindow::FullScan,
            ..Self::BASE
        };
        let lepton = |phi_slice_deg, z_bin_mm, z_bin_eta_coeff, dphi_deta| Self {
            peaks: 4,
            phi_slice_deg,
            z_bin_mm,
            z_bin_eta_coeff,
            dphi_deta,
            charge_aware: true,
            vertex_separation_bins: 5.0,
            pair_weight: PairWeight::Any,
            ..Self::BASE
        };
        let pixels = |phi_slice_deg| Self {
            phi_slice_deg,
            pair_weight: PairWeight::Any,
            max_layer: MaxLayer::Sensor(Sensor::Pixel),
            phi_window: DefaultWindow::FullScan,
            ..Self::BASE
        };
        match preset {
            Preset::Default => Self::BASE,
            Preset::BeamSpot | Preset::FullScan => wide(0.4, 0.2),
            Preset::Bphysics => Self { prefer_central: false, first_layers: 4, ..wide(0.2, 0.1) },
            Preset::Jet => Self::jet(),
            Preset::Egamma => Self {
                vertex_distance_cut: 0.02,
                triplet_dz_mm: 10.0,
                triplet_dk: 1e-5,
                triplet_dp: 0.05,
                first_layers: 4,
                ..lepton(0.1, 0.3, 0.15, -0.035)
            },
            Preset::Muon => Self {
                vertex_distance_cut: 0.1,
                triplet_dz_mm: 15.0,
                triplet_dk: 1e-4,
                triplet_dp: 0.1,
                first_layers: 4,
                ..lepton(0.15, 0.3, 0.15, -0.045)
            },
            Preset::Tau => Self {
                vertex_distance_cut: 0.01,
                triplet_dz_mm: 10.0,
                triplet_dk: 5e-5,
                triplet_dp: 0.05,
                ..lepton(0.3, 0.2, 0.2, -0.035)
            },
            Preset::HighPileup => Self {
                peaks: 4,
                triplet_dz_mm: 1.0,
                significance: Significance::Gaussian,
                min_significance: 10.0,
                percentile: 0.95,
                ..pixels(0.1)
            },
            // In crowded events, chance pairs fill any wide window. A narrow window keeps them out:
            // in z of the third spacepoint and in the width of a bin. Wide slices contain soft
            // tracks.
            Preset::HighMultiplicity => Self { z_bin_mm: 0.4, triplet_dz_mm: 0.5, ..pixels(0.5) },
            Preset::HardScatter => Self::hard_scatter(),
            // Tracks below 4 GeV add little weight. Without them a search takes a sixth less time.
            Preset::Auto => Self { bending_pt_gev: 4.0, fallback: Fallback::FullScan, ..Self::hard_scatter() },
            Preset::AllVertices => Self { bending_pt_gev: 4.0, all_vertices: true, ..Self::hard_scatter() },
            Preset::Thesis => Self { neighbours: Neighbours::Single, first_layers: 64, z_bin_mm: 0.4, ..Self::BASE },
        }
    }

    /// The preset for jets.
    fn jet() -> Self {
        Self {
            peaks: 3,
            phi_slice_deg: 0.8,
            z_bin_mm: 0.4,
            prefer_central: false,
            vertex_distance_cut: 0.01,
            pair_weight: PairWeight::Any,
            triplet_dz_mm: 6.0,
            triplet_dk: 5e-5,
            triplet_dp: 0.005,
            ..Self::BASE
        }
    }

    /// The preset for the hard scatter.
    fn hard_scatter() -> Self {
        Self {
            peaks: 4,
            phi_slice_deg: 0.4,
            vertex_separation_bins: 10.0,
            z_bin_mm: 0.3,
            z_bin_eta_coeff: 0.0,
            bending_pt_gev: 2.0,
            // Layers are counted from the barrel outwards: pixel disks are among the first 11.
            first_layers: 11,
            pair_weight: PairWeight::Pt,
            ranking: Ranking::Directions,
            z_estimate: ZEstimate::Densest,
            triplet_dz_mm: 1.5,
            triplet_dk: 1e-4,
            max_layer: MaxLayer::Sensor(Sensor::ShortStrip),
            ..Self::BASE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for &preset in Preset::ALL {
            assert_eq!(preset.to_string().parse::<Preset>().ok(), Some(preset));
        }
        assert_eq!("hard_scatter".parse::<Preset>().ok(), Some(Preset::HardScatter));
        let error = "hardscatter".parse::<Preset>().expect_err("no such preset").to_string();
        assert!(error.starts_with("option `preset`: hardscatter must be one of auto, hard-scatter"), "{error}");
    }
}
