//! Published tunings of the physics.

use std::fmt;
use std::str::FromStr;

use crate::config::{Config, DefaultWindow, Fallback, Neighbours, Significance, Triplets, Weighting};
use crate::detector::Sensor;
use crate::error::{Error, Result};
use crate::max_layer::MaxLayer;

/// Published tunings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Preset {
    /// The reference program's defaults: bending neighbours, three inner layers, pairs, one peak.
    #[default]
    Default,
    /// For the beam spot: full scan in wide slices, three vertices.
    BeamSpot,
    /// For B physics: full scan in wide slices, four inner layers, three vertices.
    Bphysics,
    /// Full scan in wide slices, three vertices.
    FullScan,
    /// For jets: pairs that a third spacepoint confirms, three vertices.
    Jet,
    /// For electrons and photons: confirmed pairs in narrow slices, histograms of each charge, four
    /// vertices.
    Egamma,
    /// For muons: the same, with tracks that bend more.
    Muon,
    /// For taus: the same in wider slices.
    Tau,
    /// For many interactions: pixels only, confirmed pairs in full scan, vertices that stand out of
    /// their background.
    HighPileup,
    /// For events of thousands of soft tracks, such as heavy ions: pixels only, pairs that a third
    /// spacepoint confirms within 0.5 mm, in full scan.
    HighMultiplicity,
    /// For the hard scatter among many interactions: confirmed pairs weighted by their pT, pixels
    /// and short strips, four vertices.
    HardScatter,
    /// For any event: the hard scatter, or, where no track is hard, the vertex of the most pairs.
    Auto,
    /// The thesis: single neighbours, all layers as inner layers, 0.4 mm bins.
    Thesis,
}

impl Preset {
    /// All presets.
    pub const ALL: [Preset; 13] = [
        Preset::Default,
        Preset::BeamSpot,
        Preset::Bphysics,
        Preset::FullScan,
        Preset::Jet,
        Preset::Egamma,
        Preset::Muon,
        Preset::Tau,
        Preset::HighPileup,
        Preset::HighMultiplicity,
        Preset::HardScatter,
        Preset::Auto,
        Preset::Thesis,
    ];
    /// Returns the name that commands and files use, in kebab-case.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::BeamSpot => "beam-spot",
            Self::Bphysics => "bphysics",
            Self::FullScan => "full-scan",
            Self::Jet => "jet",
            Self::Egamma => "egamma",
            Self::Muon => "muon",
            Self::Tau => "tau",
            Self::HighPileup => "high-pileup",
            Self::HighMultiplicity => "high-multiplicity",
            Self::HardScatter => "hard-scatter",
            Self::Auto => "auto",
            Self::Thesis => "thesis",
        }
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Reads a preset's name. Underscores stand for hyphens, too.
impl FromStr for Preset {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let kebab = name.replace('_', "-");
        Self::ALL.into_iter().find(|preset| preset.as_str() == kebab).ok_or_else(|| Error::Config {
            key: "preset",
            value: name.to_owned(),
            reason: format!("is not a preset: {}", Self::ALL.map(Self::as_str).join(", ")),
        })
    }
}

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
            ..Self::default()
        };
        let lepton = |phi_slice_deg, z_bin_mm, z_bin_eta_coeff, dphi_deta| Self {
            peaks: 4,
            phi_slice_deg,
            z_bin_mm,
            z_bin_eta_coeff,
            dphi_deta,
            charge_aware: true,
            vertex_separation_bins: 5.0,
            triplets: Triplets::Any,
            ..Self::default()
        };
        let pixels = |phi_slice_deg| Self {
            phi_slice_deg,
            triplets: Triplets::Any,
            max_layer: MaxLayer::Sensor(Sensor::Pixel),
            phi_window: DefaultWindow::FullScan,
            ..Self::default()
        };
        match preset {
            Preset::Default => Self::default(),
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
            Preset::Thesis => {
                Self { neighbours: Neighbours::Single, first_layers: 64, z_bin_mm: 0.4, ..Self::default() }
            }
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
            triplets: Triplets::Any,
            triplet_dz_mm: 6.0,
            triplet_dk: 5e-5,
            triplet_dp: 0.005,
            ..Self::default()
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
            triplets: Triplets::Any,
            triplet_dz_mm: 1.5,
            triplet_dk: 1e-4,
            max_layer: MaxLayer::Sensor(Sensor::ShortStrip),
            weighting: Weighting::Pt,
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for preset in Preset::ALL {
            assert_eq!(preset.to_string().parse::<Preset>().ok(), Some(preset));
        }
        assert_eq!("hard_scatter".parse::<Preset>().ok(), Some(Preset::HardScatter));
        let error = "hardscatter".parse::<Preset>().expect_err("no such preset").to_string();
        assert!(error.starts_with("option `preset`: hardscatter is not a preset: default, beam-spot"), "{error}");
    }
}
