//! Knobs of the simulation as options.

use clap::Args;
use zfinder_study::simulate::Simulation;

use super::super::options::pair;

/// Each knob is an option in kebab-case; a unit `-mm` may be left out or written.
#[derive(Args)]
pub(super) struct Knobs {
    /// Mean width of the phi window, in degrees: 1 to 359, or 360 for the full circle
    /// [lowlum: 103.3, highlum: 108.3]
    #[arg(
        long,
        value_name = "DEG",
        allow_negative_numbers = true,
        conflicts_with = "full_scan",
        help_heading = "Region of interest"
    )]
    window_deg: Option<f64>,
    /// Widths are flat within this of the mean, in degrees: 0 to 180 [lowlum: 5, highlum: 2]
    #[arg(
        long,
        value_name = "DEG",
        allow_negative_numbers = true,
        conflicts_with = "full_scan",
        help_heading = "Region of interest"
    )]
    window_spread_deg: Option<f64>,
    /// Tracks lie within this of the centre in eta: 0.01 to 5 [lowlum: 1.3, highlum: 1.4]
    #[arg(long, value_name = "ETA", allow_negative_numbers = true, help_heading = "Region of interest")]
    eta_half_width: Option<f64>,
    /// Centres are flat in eta within +- this: 0 to 5 [lowlum: 1.1, highlum: 1.2]
    #[arg(long, value_name = "ETA", allow_negative_numbers = true, help_heading = "Region of interest")]
    eta_centre_max: Option<f64>,

    /// x and y of the beam at z = 0, in mm: -10 to 10 [preset: 0,0]
    #[arg(long, alias = "beam-spot-mm", value_name = "X,Y", value_parser = pair, allow_hyphen_values = true, help_heading = "Beam")]
    beam_spot: Option<[f64; 2]>,
    /// Slope of the beam, dx/dz and dy/dz: -0.001 to 0.001 [preset: 0,0]
    #[arg(long, value_name = "X,Y", value_parser = pair, allow_hyphen_values = true, help_heading = "Beam")]
    beam_spot_tilt: Option<[f64; 2]>,
    /// Mean z of the collisions, in mm: -1000 to 1000 [preset: 0]
    #[arg(long, alias = "beam-z-mm", value_name = "MM", allow_negative_numbers = true, help_heading = "Beam")]
    beam_z: Option<f64>,
    /// Width of the beam in x, in mm: 0 to 1 [preset: 0]
    #[arg(long, alias = "beam-sigma-x-mm", value_name = "MM", allow_negative_numbers = true, help_heading = "Beam")]
    beam_sigma_x: Option<f64>,
    /// Width of the beam in y, in mm: 0 to 1 [preset: 0]
    #[arg(long, alias = "beam-sigma-y-mm", value_name = "MM", allow_negative_numbers = true, help_heading = "Beam")]
    beam_sigma_y: Option<f64>,
    /// Spread of the collisions along z, in mm: 0 to 1000 [preset: 56]
    #[arg(long, alias = "beam-sigma-z-mm", value_name = "MM", allow_negative_numbers = true, help_heading = "Beam")]
    beam_sigma_z: Option<f64>,

    /// Mean number of pile-up collisions: 0 to 10000 [lowlum: 4.6, highlum: 180]
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "Collisions")]
    pile_up: Option<f64>,
    /// rms over mean of that number, in addition to its Poisson spread: 0 to 1 [lowlum: 0, highlum:
    /// 0.18]
    #[arg(long, value_name = "FRACTION", allow_negative_numbers = true, help_heading = "Collisions")]
    pile_up_spread: Option<f64>,
    /// Mean charged particles of a pile-up collision, a unit of eta: 0 to 1000 [preset: 5.8]
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "Collisions")]
    tracks_per_eta: Option<f64>,
    /// Scale of the pT spectrum of pile-up, in GeV: 0.01 to 1000; mean pT = 2 scale / (power - 3)
    /// [preset: 0.96]
    #[arg(long, value_name = "GEV", allow_negative_numbers = true, help_heading = "Collisions")]
    pt_scale_gev: Option<f64>,
    /// Power of the pT spectrum of pile-up: 3.1 to 100 [preset: 6.6]
    #[arg(long, value_name = "POWER", allow_negative_numbers = true, help_heading = "Collisions")]
    pt_power: Option<f64>,

    /// Mean charged particles of the hard scatter, a unit of eta: 0 to 1000 [preset: 33]
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        help_heading = "Hard scatter: the more and the harder its tracks, the easier it is found"
    )]
    hard_tracks_per_eta: Option<f64>,
    /// Scale of its pT spectrum, in GeV: 0.01 to 1000; mean pT = 2 scale / (power - 3)
    /// [preset: 2.5]
    #[arg(
        long,
        value_name = "GEV",
        allow_negative_numbers = true,
        help_heading = "Hard scatter: the more and the harder its tracks, the easier it is found"
    )]
    hard_pt_scale_gev: Option<f64>,
    /// Power of its pT spectrum: 3.1 to 100 [preset: 5]
    #[arg(
        long,
        value_name = "POWER",
        allow_negative_numbers = true,
        help_heading = "Hard scatter: the more and the harder its tracks, the easier it is found"
    )]
    hard_pt_power: Option<f64>,

    /// Probability that a layer sees a track that crosses it: 0 to 1 [preset: 0.97]
    #[arg(long, value_name = "FRACTION", allow_negative_numbers = true, help_heading = "Tracker")]
    efficiency: Option<f64>,
    /// Factor on the resolution of all layers: 0 to 100; 0: they measure exactly [preset: 1]
    #[arg(long, value_name = "FACTOR", allow_negative_numbers = true, help_heading = "Tracker")]
    resolution: Option<f64>,
    /// Material of a layer, in radiation lengths: 0 to 1; 0: no multiple scattering [preset: 0.03]
    #[arg(long, value_name = "X0", allow_negative_numbers = true, help_heading = "Tracker")]
    radiation_lengths: Option<f64>,
    /// Mean number of noise spacepoints for one of a track: 0 to 100 [lowlum: 0.15, highlum: 0.35]
    #[arg(long, value_name = "RATIO", allow_negative_numbers = true, help_heading = "Tracker")]
    noise: Option<f64>,
    /// Solenoid field, in T: 0.01 to 20 [preset: 2]
    #[arg(long, value_name = "T", allow_negative_numbers = true, help_heading = "Tracker")]
    field_t: Option<f64>,
}

impl Knobs {
    /// Sets the knobs that were given.
    pub(super) fn turn(&self, simulation: &mut Simulation) {
        fn set<T: Copy>(knob: &mut T, given: Option<T>) {
            *knob = given.unwrap_or(*knob);
        }
        set(&mut simulation.window_deg, self.window_deg);
        set(&mut simulation.window_spread_deg, self.window_spread_deg);
        set(&mut simulation.eta_half_width, self.eta_half_width);
        set(&mut simulation.eta_centre_max, self.eta_centre_max);
        set(&mut simulation.beam_spot_mm, self.beam_spot);
        set(&mut simulation.beam_spot_tilt, self.beam_spot_tilt);
        set(&mut simulation.beam_z_mm, self.beam_z);
        set(&mut simulation.beam_sigma_x_mm, self.beam_sigma_x);
        set(&mut simulation.beam_sigma_y_mm, self.beam_sigma_y);
        set(&mut simulation.beam_sigma_z_mm, self.beam_sigma_z);
        set(&mut simulation.pile_up, self.pile_up);
        set(&mut simulation.pile_up_spread, self.pile_up_spread);
        set(&mut simulation.tracks_per_eta, self.tracks_per_eta);
        set(&mut simulation.pt.scale_gev, self.pt_scale_gev);
        set(&mut simulation.pt.power, self.pt_power);
        set(&mut simulation.hard_tracks_per_eta, self.hard_tracks_per_eta);
        set(&mut simulation.hard_pt.scale_gev, self.hard_pt_scale_gev);
        set(&mut simulation.hard_pt.power, self.hard_pt_power);
        set(&mut simulation.efficiency, self.efficiency);
        set(&mut simulation.resolution, self.resolution);
        set(&mut simulation.radiation_lengths, self.radiation_lengths);
        set(&mut simulation.noise, self.noise);
        set(&mut simulation.field_t, self.field_t);
    }
}
