//! Every option of the physics, under one name in Rust, in TOML and on the command line; validated
//! once.

use crate::error::{Error, Result};
use crate::max_layer::MaxLayer;
use crate::preset::Preset;
use crate::z_bins::ZBins;

/// Which slices a pair or triplet may reach into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Neighbours {
    /// The own slice and one on either side, for every pair of layers (the thesis's
    /// simplification).
    Single,
    /// As many as a track of [`Config::bending_pt_gev`] bends across, for each pair of layers.
    #[default]
    Bending,
}

/// Quantity that histograms count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Triplets {
    /// Pairs, each with weight 1.
    #[default]
    Off,
    /// Pairs that at least one third spacepoint confirms, each with weight 1.
    Any,
    /// Pairs weighted by the number of third spacepoints that confirm them.
    Count,
}

/// Weight of a confirmed pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Weighting {
    /// As [`Triplets`] says.
    #[default]
    Count,
    /// By the transverse momentum of the triplet's track, in place of the counts of [`Triplets`].
    /// Peaks are ranked by the directions of their tracks, too. The vertex of the hardest tracks
    /// therefore comes first at any pile-up ([`PtWeight`](crate::PtWeight)). Needs one histogram an
    /// RoI.
    Pt,
}

/// The definition of [`Vertex::significance`](crate::Vertex::significance), which
/// [`Config::min_significance`] cuts on. Both compare n, the entries in the peak's three bins, with
/// b, the mean of the background windows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Significance {
    /// The Poisson significance of Li and Ma (Astrophys. J. 272 (1983) 317, equation 17), of
    /// tracks: n and b are divided by the entries of a track. It holds at low counts, and also
    /// where the background windows are empty.
    #[default]
    Poisson,
    /// (n - b) / sqrt(b), the reference program's definition, of entries. None where b is 0, and
    /// far too large where b is below some ten entries.
    Gaussian,
}

/// The second search of an RoI in which the first one finds no peak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Fallback {
    /// No second search.
    #[default]
    None,
    /// With the preset full-scan, whose pairs also have tracks of low momentum. Range of z, beam,
    /// field, phi window, number of vertices, extrapolation, background and significance remain the
    /// first search's.
    FullScan,
}

/// Where along the beam a pair of spacepoints comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Extrapolation {
    /// Along a line that meets the beam: z = (z2 rho1 - z1 rho2) / (rho1 - rho2).
    #[default]
    Linear,
    /// Along the line through both, to where it is nearest to the beam: with d0 that distance, rho
    /// gives way to sqrt(rho^2 - d0^2) (thesis, section 5.1).
    Accurate,
}

/// The window of an RoI for which none is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum DefaultWindow {
    /// The full circle.
    #[default]
    FullScan,
    /// The smallest range that holds the RoI's spacepoints.
    Spacepoints,
}

/// Declares [`Config`], and from the list of its keys the comparison with its preset and its form
/// in files.
macro_rules! declare_config {
    ($(#[$about:meta])* pub struct Config { $($(#[$about_key:meta])* pub $key:ident: $type:ty,)+ }) => {
        $(#[$about])*
        pub struct Config {
            $($(#[$about_key])* pub $key: $type,)+
        }

        impl Config {
            /// Returns the names of the keys whose values differ from those of [`Config::preset`].
            pub fn changed_keys(&self) -> Vec<&'static str> {
                let preset = Self::preset(self.preset);
                [$((stringify!($key), self.$key != preset.$key)),+]
                    .into_iter()
                    .filter_map(|(key, is_changed)| is_changed.then_some(key))
                    .collect()
            }
        }

        /// Any of the keys of a [`Config`], as configuration files have them.
        #[cfg(feature = "serde")]
        #[derive(Clone, Debug, Default, serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct ConfigChanges {
            $($key: Option<$type>,)+
        }

        #[cfg(feature = "serde")]
        impl ConfigChanges {
            /// Returns the preset that the keys name.
            pub fn preset(&self) -> Option<Preset> {
                self.preset
            }

            /// Returns a configuration with these keys changed. The result is not validated.
            #[must_use]
            pub fn apply(self, config: Config) -> Config {
                Config { $($key: self.$key.unwrap_or(config.$key),)+ }
            }
        }
    };
}

declare_config! {
/// Every option of the physics. The defaults are the reference program's.
///
/// ```
/// use zfinder::{Config, Triplets};
/// let config = Config { z_bin_mm: 0.4, triplets: Triplets::Any, ..Config::default() };
/// config.validate()?;
/// # Ok::<(), zfinder::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Config {
    /// The preset from which the other keys start. It has no effect on a search.
    pub preset: Preset,
    /// Width of a phi slice \[degrees\], 0.01 to 360.
    pub phi_slice_deg: f64,
    /// Width of a z bin at eta = 0 \[mm\]. The range may have [`Config::MAX_BINS`] bins, and may
    /// end as many bins from z = 0.
    pub z_bin_mm: f64,
    /// How much wider a z bin gets with |eta| of the RoI \[mm\].
    pub z_bin_eta_coeff: f64,
    /// Lower end of the z range \[mm\]; a pair must lie above it.
    pub z_min_mm: f64,
    /// Upper end of the z range \[mm\]; a pair must lie below it.
    pub z_max_mm: f64,
    /// Neighbour slices: one either side, or as many as tracks bend across.
    pub neighbours: Neighbours,
    /// Factor on the bending.
    pub neighbour_multiplier: f64,
    /// Cap on the number of neighbour slices; none when absent.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub neighbour_max: Option<u32>,
    /// Transverse momentum \[GeV\] of the track whose bending sets the neighbour slices.
    pub bending_pt_gev: f64,
    /// Solenoid field \[T\].
    pub field_t: f64,
    /// Change of the bending with eta in the end-caps \[rad\], <= 0.
    pub dphi_deta: f64,
    /// How many of the filled layers, from the innermost, may hold the inner spacepoint of a pair.
    /// As many as the detector has, or more: all.
    pub first_layers: u32,
    /// Whether a third spacepoint must confirm a pair.
    pub triplets: Triplets,
    /// Triplets: largest difference of the two z extrapolations \[mm\].
    pub triplet_dz_mm: f64,
    /// Triplets: largest difference of the two curvatures \[rad/mm\].
    pub triplet_dk: f64,
    /// Triplets: difference of the two azimuths at the beam line must be below this \[rad\].
    pub triplet_dp: f64,
    /// Two histograms instead of one: of pairs that bend at most one slice up, and of pairs that
    /// bend at most one slice down. A track is in one of them, chance pairs are in both.
    pub charge_aware: bool,
    /// Histograms of each slice instead of the RoI's: a pair goes into those of the slices that its
    /// track may come from. An RoI with more than 2^25 bins in all of them is too much
    /// ([`Status::CapacityExceeded`](crate::Status::CapacityExceeded)).
    pub histogram_per_slice: bool,
    /// Most vertices wanted for an RoI.
    pub peaks: u32,
    /// A peak nearer than so many bins to a vertex that was found before is mixed into it.
    pub vertex_separation_bins: f64,
    /// So is one nearer than this fraction of its own |z|.
    pub vertex_distance_cut: f64,
    /// Share of a mixed peak in the vertex's z and weight, 0 to 1. 0 drops the peak.
    pub vertex_mixing: f64,
    /// Definition of a vertex's significance.
    pub significance: Significance,
    /// Least significance of a vertex. The first peak below it ends the search; 0 keeps all.
    pub min_significance: f64,
    /// Fraction of all windows of three bins, those of the lowest sums, whose mean is the
    /// background. 0: no background and no significance.
    pub percentile: f64,
    /// Between peaks of equal height, take the one nearest to the middle of the z range, not the
    /// one of lowest z.
    pub prefer_central: bool,
    /// Window of an RoI for which none is given.
    pub phi_window: DefaultWindow,
    /// In full scan, let slices at +pi and -pi be neighbours.
    pub wrap_full_scan: bool,
    /// Last layer that takes part, by number or by sensor.
    pub max_layer: MaxLayer,
    /// Beam position (x, y) at z = 0 \[mm\], subtracted before rho and phi are used.
    pub beam_spot_mm: [f64; 2],
    /// Slope of the beam (dx/dz, dy/dz).
    pub beam_spot_tilt: [f64; 2],
    /// Standard deviation of vertices in x and y about the beam \[mm\], in the error of z where
    /// weights go by pT. Below [`Config::BEAM_WIDTH_MM`] it has no effect.
    pub beam_width_mm: f64,
    /// How an RoI without a peak is searched again.
    pub fallback: Fallback,
    /// How z is extrapolated.
    pub extrapolation: Extrapolation,
    /// Weight of a confirmed pair.
    pub weighting: Weighting,
}
}

/// Reads any of the keys. Keys that are left out have the values of the preset that the key
/// `preset` names, else of [`Preset::Auto`].
#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Config {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let changes = ConfigChanges::deserialize(deserializer)?;
        let preset = changes.preset().unwrap_or(Preset::Auto);
        Ok(changes.apply(Self::preset(preset)))
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            preset: Preset::Default,
            phi_slice_deg: 0.2,
            z_bin_mm: 0.2,
            z_bin_eta_coeff: 0.1,
            z_min_mm: -200.0,
            z_max_mm: 200.0,
            neighbours: Neighbours::Bending,
            neighbour_multiplier: 1.0,
            neighbour_max: None,
            bending_pt_gev: 6.0,
            field_t: 2.0,
            dphi_deta: -0.02,
            first_layers: 3,
            triplets: Triplets::Off,
            triplet_dz_mm: 25.0,
            triplet_dk: 0.005,
            triplet_dp: 0.05,
            charge_aware: false,
            histogram_per_slice: false,
            peaks: 1,
            vertex_separation_bins: 0.0,
            vertex_distance_cut: 0.0,
            vertex_mixing: 0.0,
            significance: Significance::Poisson,
            min_significance: 0.0,
            percentile: 1.0,
            prefer_central: true,
            phi_window: DefaultWindow::FullScan,
            wrap_full_scan: true,
            max_layer: MaxLayer::All,
            beam_spot_mm: [0.0, 0.0],
            beam_spot_tilt: [0.0, 0.0],
            beam_width_mm: Self::BEAM_WIDTH_MM,
            fallback: Fallback::None,
            extrapolation: Extrapolation::Linear,
            weighting: Weighting::Count,
        }
    }
}

impl Config {
    /// More vertices than this for one RoI are refused: a histogram of the finest bins has no more
    /// real peaks.
    pub const MAX_PEAKS: u32 = 1024;
    /// Width of the beam that the error of z was adjusted with \[mm\], and the default.
    pub const BEAM_WIDTH_MM: f64 = 0.015;
    /// Most bins that all histograms of an RoI may have.
    pub(crate) const MOST_BINS_OF_ALL: u64 = 1 << 25;
    /// Most z bins a histogram may have.
    pub const MAX_BINS: u32 = 1 << 20;

    /// The configuration that RoIs without a peak are searched with; none if they are not searched
    /// again.
    pub fn fallback_config(&self) -> Option<Self> {
        let preset = match self.fallback {
            Fallback::None => return None,
            Fallback::FullScan => Self::preset(Preset::FullScan),
        };
        Some(Self {
            z_min_mm: self.z_min_mm,
            z_max_mm: self.z_max_mm,
            field_t: self.field_t,
            beam_spot_mm: self.beam_spot_mm,
            beam_spot_tilt: self.beam_spot_tilt,
            beam_width_mm: self.beam_width_mm,
            phi_window: self.phi_window,
            wrap_full_scan: self.wrap_full_scan,
            peaks: self.peaks,
            significance: self.significance,
            min_significance: self.min_significance,
            percentile: self.percentile,
            extrapolation: self.extrapolation,
            ..preset
        })
    }

    /// The z range of an RoI and the width of its bins, with what they must satisfy.
    pub(crate) fn z_bins(&self, eta: f64, z_range: Option<(f64, f64)>) -> Result<ZBins> {
        ZBins::new(z_range.unwrap_or((self.z_min_mm, self.z_max_mm)), self.z_bin_mm + self.z_bin_eta_coeff * eta.abs())
    }

    /// Checks every value.
    ///
    /// # Errors
    /// [`Error::Config`] with the key, the value and what would be right.
    pub fn validate(&self) -> Result<()> {
        let within = |key: &'static str, value: f64, low: f64, high: f64| {
            if value >= low && value <= high {
                return Ok(());
            }
            Err(Error::Config { key, value: value.to_string(), reason: format!("must lie in [{low}, {high}]") })
        };
        within("phi_slice_deg", self.phi_slice_deg, 0.01, 360.0)?;
        within("z_bin_mm", self.z_bin_mm, 1e-3, 1e4)?;
        within("z_bin_eta_coeff", self.z_bin_eta_coeff, 0.0, 1e3)?;
        within("z_min_mm", self.z_min_mm, -1e5, 1e5)?;
        within("z_max_mm", self.z_max_mm, -1e5, 1e5)?;
        within("neighbour_multiplier", self.neighbour_multiplier, 0.0, 1e3)?;
        within("bending_pt_gev", self.bending_pt_gev, 0.05, 1e4)?;
        within("field_t", self.field_t, 0.0, 100.0)?;
        within("dphi_deta", self.dphi_deta, -1.0, 0.0)?;
        within("first_layers", f64::from(self.first_layers), 1.0, f64::from(u32::MAX))?;
        within("triplet_dz_mm", self.triplet_dz_mm, 0.0, 1e6)?;
        within("triplet_dk", self.triplet_dk, 0.0, 1e6)?;
        within("triplet_dp", self.triplet_dp, 0.0, 1e6)?;
        within("peaks", f64::from(self.peaks), 1.0, f64::from(Self::MAX_PEAKS))?;
        within("vertex_separation_bins", self.vertex_separation_bins, 0.0, f64::from(Self::MAX_BINS))?;
        within("vertex_distance_cut", self.vertex_distance_cut, 0.0, 1e6)?;
        within("vertex_mixing", self.vertex_mixing, 0.0, 1.0)?;
        within("min_significance", self.min_significance, 0.0, 1e9)?;
        within("percentile", self.percentile, 0.0, 1.0)?;
        within("beam_spot_mm", self.beam_spot_mm[0], -1e3, 1e3)?;
        within("beam_spot_mm", self.beam_spot_mm[1], -1e3, 1e3)?;
        within("beam_spot_tilt", self.beam_spot_tilt[0], -1.0, 1.0)?;
        within("beam_spot_tilt", self.beam_spot_tilt[1], -1.0, 1.0)?;
        within("beam_width_mm", self.beam_width_mm, 0.0, 1e3)?;
        if self.neighbour_max == Some(0) {
            return Err(Error::Config {
                key: "neighbour_max",
                value: "0".into(),
                reason: "must be at least 1; leave it out for no cap".into(),
            });
        }
        if self.weighting == Weighting::Pt && self.triplets == Triplets::Off {
            return Err(Error::Config {
                key: "weighting",
                value: "pt".into(),
                reason: "needs triplets = any or count: a pair's pT takes a third spacepoint".into(),
            });
        }
        if self.weighting == Weighting::Pt && (self.charge_aware || self.histogram_per_slice) {
            return Err(Error::Config {
                key: "weighting",
                value: "pt".into(),
                reason: "needs one histogram an RoI: charge_aware and histogram_per_slice must be off".into(),
            });
        }
        if let Some(fallback) = self.fallback_config() {
            fallback.validate()?;
        }
        self.z_bins(0.0, None).map(|_| ())
    }

    /// Checks that an RoI at `eta` with this z range \[mm\] has a histogram; the configuration's
    /// range if none is given.
    ///
    /// # Errors
    /// [`Error::Config`]: a range that is empty or not finite, or one with more than
    /// [`Config::MAX_BINS`] bins.
    pub fn validate_z_range(&self, eta: f64, z_range: Option<(f64, f64)>) -> Result<()> {
        self.z_bins(eta, z_range).map(|_| ())
    }

    /// Entries that a peak needs. Pairs meet by chance, so one pair is no peak (reference program).
    pub(crate) fn least_weight(&self) -> u32 {
        if self.triplets == Triplets::Off { 2 } else { 1 }
    }

    /// Histograms of an RoI of so many slices: of each charge, and of each slice.
    pub(crate) fn histograms(&self, slices: u32) -> u32 {
        let sets = if self.charge_aware { 2 } else { 1 };
        if self.histogram_per_slice { sets * slices } else { sets }
    }

    /// Returns the number of background windows in all `histograms` of an RoI: at least one if the
    /// background is requested.
    pub(crate) fn background_windows(&self, bins: &ZBins, histograms: u32) -> u32 {
        let windows = histograms.saturating_mul(bins.bins - 2);
        if self.percentile == 0.0 { 0 } else { ((self.percentile * f64::from(windows)) as u32).clamp(1, windows) }
    }

    /// Whether every peak is a vertex, whatever lies near it.
    fn keeps_every_peak(&self) -> bool {
        self.vertex_separation_bins == 0.0 && self.vertex_distance_cut == 0.0
    }

    /// Number of peaks that a search takes at first: some may be mixed into others, and some may
    /// not be significant.
    pub(crate) fn first_peaks(&self) -> u32 {
        if self.keeps_every_peak() && !self.ranks_beside_significance() { self.peaks } else { 2 * self.peaks + 6 }
    }

    /// Whether the highest peak may be less significant than a later one.
    pub(crate) fn ranks_beside_significance(&self) -> bool {
        self.weighting == Weighting::Pt && self.percentile > 0.0
    }

    /// The beam's position at z, which is what rho and phi are about.
    pub(crate) fn beam_at(&self, z: f64) -> [f64; 2] {
        [0, 1].map(|i| self.beam_spot_mm[i] + z * self.beam_spot_tilt[i])
    }

    /// Whether rho and phi are about the beam as they come.
    pub(crate) fn is_beam_at_origin(&self) -> bool {
        self.beam_spot_mm == [0.0; 2] && self.beam_spot_tilt == [0.0; 2]
    }

    /// Slices per radian.
    pub(crate) fn slices_per_rad(&self) -> f64 {
        180.0 / (std::f64::consts::PI * self.phi_slice_deg)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_out_of_range_name_their_key() {
        let refused = |change: fn(&mut Config), key: &str| {
            let mut config = Config::default();
            change(&mut config);
            let error = config.validate().expect_err(key).to_string();
            assert!(error.contains(key), "{key}: {error}");
        };
        refused(|c| c.phi_slice_deg = 0.0, "phi_slice_deg");
        refused(|c| c.phi_slice_deg = f64::NAN, "phi_slice_deg");
        refused(|c| c.z_bin_mm = -1.0, "z_bin_mm");
        refused(|c| c.z_min_mm = 300.0, "z_max_mm");
        refused(|c| c.peaks = 0, "peaks");
        refused(|c| c.dphi_deta = 0.1, "dphi_deta");
        refused(|c| (c.z_bin_mm, c.z_min_mm) = (0.001, -10_000.0), "z_bin_mm");
        refused(|c| (c.z_bin_mm, c.z_min_mm, c.z_max_mm) = (0.001, 2_000.0, 2_001.0), "z_bin_mm");
        refused(|c| c.neighbour_max = Some(0), "neighbour_max");
        refused(|c| c.beam_spot_tilt = [2.0, 0.0], "beam_spot_tilt");
        refused(|c| c.beam_width_mm = -0.01, "beam_width_mm");
        refused(|c| c.beam_width_mm = f64::NAN, "beam_width_mm");
        refused(|c| c.weighting = Weighting::Pt, "triplets");
        refused(|c| (c.weighting, c.triplets, c.charge_aware) = (Weighting::Pt, Triplets::Any, true), "charge_aware");
    }
}
