//! Every option of the physics: one table says name, type, unit, range, default and meaning of each
//! key, and every front end takes them from there.

mod keys;
mod max_layer;
mod preset;
mod preset_values;
#[cfg(feature = "serde")]
mod serde_form;
mod table;
pub(crate) mod value;
pub(crate) mod words;

pub use keys::{Group, Key, Kind};
pub use max_layer::MaxLayer;
pub use preset::Preset;
#[cfg(feature = "serde")]
pub use serde_form::ConfigChanges;
pub use table::{
    Config, DefaultWindow, Extrapolation, Fallback, Neighbours, PairWeight, Ranking, Significance, Tracklets, ZEstimate,
};
pub use value::Value;
pub use words::Word;

pub use crate::pt_weight::PtWeight;

use crate::error::{Error, Result};
use crate::z_bins::ZBins;

/// The preset [`Preset::Auto`].
impl Default for Config {
    fn default() -> Self {
        Self::preset(Preset::Auto)
    }
}

impl Key {
    /// Finds a key by its name. Hyphens stand for underscores, and a unit `_mm` at the end
    /// of the name may be left out.
    ///
    /// # Errors
    /// [`Error::UnknownKey`].
    ///
    /// ```
    /// use zfinder::config::Key;
    /// assert_eq!(Key::find("triplet-dz")?.name, "triplet_dz_mm");
    /// assert!(Key::find("triplet_dx").is_err());
    /// # Ok::<(), zfinder::Error>(())
    /// ```
    pub fn find(name: &str) -> Result<&'static Self> {
        let snake = name.replace('-', "_");
        let known = Config::KEYS.iter().find(|key| key.name == snake || key.short_name() == snake);
        known.ok_or_else(|| Config::unknown_key(name))
    }

    /// Returns the value of this key in a configuration.
    pub fn get(&self, config: &Config) -> Value {
        config.value(self.name)
    }

    /// Sets this key in a configuration.
    ///
    /// # Errors
    /// [`Error::Config`] if the value is of another type or out of range. The configuration is then
    /// unchanged.
    pub fn set(&self, config: &mut Config, value: &Value) -> Result<()> {
        self.check(value)?;
        if config.set_value(self.name, value) { Ok(()) } else { Err(self.refuse(value)) }
    }

    /// Reads a value as a command line has it: two numbers with a comma between them are a pair.
    ///
    /// # Errors
    /// [`Error::Config`] if the text is no value of this key.
    pub fn parse(&self, text: &str) -> Result<Value> {
        let number = || text.trim().parse().ok().map(Value::Number);
        let pair = || {
            let (x, y) = text.split_once(',')?;
            Some(Value::Pair([x.trim().parse().ok()?, y.trim().parse().ok()?]))
        };
        let word = || Some(Value::Word(text.to_owned()));
        let value = match self.kind {
            Kind::Flag => text.parse().ok().map(Value::Flag),
            Kind::Whole { optional: true, .. } if text == "none" => Some(Value::Absent),
            Kind::Whole { .. } | Kind::Real { .. } => number(),
            Kind::Pair { .. } => pair(),
            Kind::Word(_) => word(),
            Kind::WholeOrWord(_) => number().or_else(word),
        };
        let value = value.ok_or_else(|| self.error(text.to_owned()))?;
        // Words and ranges are checked where values are set.
        self.set(&mut Config::default(), &value).map_err(|_| self.error(text.to_owned()))?;
        Ok(value)
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
    pub const MAX_BINS: u32 = ZBins::MAX_BINS;

    /// Returns the configuration with changes.
    ///
    /// ```
    /// use zfinder::Config;
    /// let config = Config::default().with(|config| config.peaks = 2);
    /// assert_eq!(config.peaks, 2);
    /// ```
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Sets the key of this name to a value that is written as on the command line.
    ///
    /// # Errors
    /// [`Error::UnknownKey`], or [`Error::Config`] if the text is no value of the key.
    ///
    /// ```
    /// use zfinder::Config;
    /// let mut config = Config::default();
    /// config.set("beam_spot_mm", "0.97,-0.18")?;
    /// config.set("triplet-dz", "2.5")?;
    /// let error = config.set("peaks", "0").expect_err("out of range");
    /// assert_eq!(error.to_string(), "option `peaks`: 0 must be a whole number, 1 to 1024");
    /// # Ok::<(), zfinder::Error>(())
    /// ```
    pub fn set(&mut self, name: &str, value: &str) -> Result<()> {
        let key = Key::find(name)?;
        key.set(self, &key.parse(value)?)
    }

    /// Returns the keys whose values differ from those of [`Config::preset`].
    pub fn changed_keys(&self) -> impl Iterator<Item = &'static Key> {
        let preset = Self::preset(self.preset);
        Self::KEYS.iter().filter(move |key| key.get(self) != key.get(&preset))
    }

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
            max_pairs: self.max_pairs,
            max_triplets: self.max_triplets,
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
        for key in Self::KEYS {
            key.check(&key.get(self))?;
        }
        let refuse = |reason: &str| {
            let value = self.pair_weight.to_string();
            Err(Error::Config { key: "pair_weight", value, reason: reason.to_owned() })
        };
        let by_pt = self.pair_weight == PairWeight::Pt;
        if by_pt && (self.charge_aware || self.histogram_per_slice) {
            return refuse("needs one histogram an RoI: charge_aware and histogram_per_slice must be off");
        }
        if !by_pt && (self.ranking == Ranking::Directions || self.z_estimate == ZEstimate::Densest) {
            return refuse("needs ranking = entries and z_estimate = mean: the other choices take weights by pT");
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

    /// Returns whether tracklets are searched.
    pub fn takes_tracklets(&self) -> bool {
        self.all_vertices || self.tracklets != Tracklets::Off
    }

    /// Entries that a peak needs. Pairs meet by chance, so one pair is no peak (reference program).
    pub(crate) fn least_weight(&self) -> u32 {
        if self.pair_weight == PairWeight::One { 2 } else { 1 }
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
        self.ranking == Ranking::Directions && self.percentile > 0.0
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
            let mut config = Config::preset(Preset::Default);
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
        refused(|c| (c.pair_weight, c.charge_aware) = (PairWeight::Pt, true), "charge_aware");
        refused(|c| c.ranking = Ranking::Directions, "pair_weight");
        refused(|c| (c.pair_weight, c.z_estimate) = (PairWeight::Count, ZEstimate::Densest), "pair_weight");
    }
}
