//! Ranges of the knobs.

use super::{FULL_CIRCLE_DEG, Simulation};
use zfinder::{Error, Result};

impl Simulation {
    /// Checks every knob.
    ///
    /// # Errors
    /// [`Error::Config`] with the knob, its value and its range.
    pub fn validate(&self) -> Result<()> {
        let refuse = |key, value: f64, reason| Err(Error::Config { key, value: value.to_string(), reason });
        for (key, value, low, high) in self.clone().ranges() {
            // NaN is in no range.
            if !(low..=high).contains(value) {
                return refuse(key, *value, format!("must lie in [{low}, {high}]"));
            }
        }
        if self.window_deg > 359.0 && self.window_deg < FULL_CIRCLE_DEG {
            return refuse("window_deg", self.window_deg, "must be at most 359, or 360 for the full circle".into());
        }
        Ok(())
    }

    /// Clamps every knob to its range, so that every distribution has valid parameters and every
    /// loop ends.
    pub(super) fn bounded(&self) -> Self {
        let mut bounded = self.clone();
        for (_, value, low, high) in bounded.ranges() {
            *value = if value.is_nan() { low } else { value.clamp(low, high) };
        }
        bounded
    }

    /// Returns key, value, and the ends of the range of each knob.
    pub(super) fn ranges(&mut self) -> [(&'static str, &mut f64, f64, f64); 25] {
        let [x, y] = &mut self.beam_spot_mm;
        let [slope_x, slope_y] = &mut self.beam_spot_tilt;
        [
            ("window_deg", &mut self.window_deg, 1.0, FULL_CIRCLE_DEG),
            ("window_spread_deg", &mut self.window_spread_deg, 0.0, 180.0),
            ("eta_half_width", &mut self.eta_half_width, 0.01, 5.0),
            ("eta_centre_max", &mut self.eta_centre_max, 0.0, 5.0),
            ("beam_spot_mm", x, -10.0, 10.0),
            ("beam_spot_mm", y, -10.0, 10.0),
            ("beam_spot_tilt", slope_x, -1e-3, 1e-3),
            ("beam_spot_tilt", slope_y, -1e-3, 1e-3),
            ("beam_z_mm", &mut self.beam_z_mm, -1e3, 1e3),
            ("beam_sigma_x_mm", &mut self.beam_sigma_x_mm, 0.0, 1.0),
            ("beam_sigma_y_mm", &mut self.beam_sigma_y_mm, 0.0, 1.0),
            ("beam_sigma_z_mm", &mut self.beam_sigma_z_mm, 0.0, 1e3),
            ("pile_up", &mut self.pile_up, 0.0, 1e4),
            ("pile_up_spread", &mut self.pile_up_spread, 0.0, 1.0),
            ("tracks_per_eta", &mut self.tracks_per_eta, 0.0, 1e3),
            ("hard_tracks_per_eta", &mut self.hard_tracks_per_eta, 0.0, 1e3),
            ("pt_scale_gev", &mut self.pt.scale_gev, 0.01, 1e3),
            ("pt_power", &mut self.pt.power, 3.1, 100.0),
            ("hard_pt_scale_gev", &mut self.hard_pt.scale_gev, 0.01, 1e3),
            ("hard_pt_power", &mut self.hard_pt.power, 3.1, 100.0),
            ("noise", &mut self.noise, 0.0, 100.0),
            ("efficiency", &mut self.efficiency, 0.0, 1.0),
            ("resolution", &mut self.resolution, 0.0, 100.0),
            ("radiation_lengths", &mut self.radiation_lengths, 0.0, 1.0),
            ("field_t", &mut self.field_t, 0.01, 20.0),
        ]
    }
}
