//! Options that are keys of the configuration, presets, and option values that `bench` shares.

use std::fs::File;
use std::io::{self, Read, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use zfinder::{
    Config, ConfigChanges, DefaultWindow, Extrapolation, Fallback, MaxLayer, Neighbours, Preset, Significance,
    Triplets, Weighting,
};

use super::beam_spot::BeamPosition;
use command_host::Failure;

/// The default of `--beam-spot-events`.
const BEAM_SPOT_EVENTS: NonZeroUsize = NonZeroUsize::new(100).expect("the default is not 0");

#[derive(Clone, Copy, ValueEnum)]
pub(super) enum PresetName {
    /// The reference program's: bending neighbours, 3 inner layers, 0.2 mm bins
    Default,
    /// For the beam spot: full scan in slices of 1 degree, 3 vertices
    #[value(alias = "beam_spot")]
    BeamSpot,
    /// For B physics: full scan in slices of 1 degree, 4 inner layers, 3 vertices
    Bphysics,
    /// Full scan in slices of 1 degree, 3 vertices
    #[value(alias = "full_scan")]
    FullScan,
    /// For jets: pairs that a third spacepoint confirms, 3 vertices
    Jet,
    /// For electrons and photons: confirmed pairs in narrow slices, a histogram a charge, 4
    /// vertices
    Egamma,
    /// For muons: the same for tracks that bend more
    Muon,
    /// For taus: the same in wider slices
    Tau,
    /// For many interactions: pixels, confirmed pairs in full scan, 4 vertices that stand out
    #[value(alias = "high_pileup")]
    HighPileup,
    /// For thousands of soft tracks, such as heavy ions: pixels, pairs confirmed within 0.5 mm in
    /// full scan
    #[value(alias = "high_multiplicity")]
    HighMultiplicity,
    /// For the hard scatter among many interactions: confirmed pairs weighted by pT, 4 vertices
    #[value(alias = "hard_scatter")]
    HardScatter,
    /// For any event: hard-scatter, and full-scan where it finds no peak
    Auto,
    /// The thesis's: single neighbours, all layers as inner layers, 0.4 mm bins
    Thesis,
}

#[derive(Clone, Copy, ValueEnum)]
enum NeighboursName {
    /// One slice on either side
    Single,
    /// As many slices as a track bends across
    Bending,
}

#[derive(Clone, Copy, ValueEnum)]
enum TripletsName {
    /// Count pairs of spacepoints
    Off,
    /// Count the pairs that a third spacepoint confirms: for many collisions at once
    Any,
    /// Count every third spacepoint that confirms a pair
    Count,
}

#[derive(Clone, Copy, ValueEnum)]
enum WeightingName {
    /// As --triplets says
    Count,
    /// By the transverse momentum of the track through the three spacepoints: for the hard scatter
    Pt,
}

#[derive(Clone, Copy, ValueEnum)]
enum FallbackName {
    /// Not at all
    None,
    /// With the preset full-scan
    FullScan,
}

#[derive(Clone, Copy, ValueEnum)]
enum SignificanceName {
    /// Poisson significance of the number of tracks, after Li and Ma
    Poisson,
    /// (n - b) / sqrt(b) of entries, as in the reference program
    Gaussian,
}

#[derive(Clone, Copy, ValueEnum)]
enum ExtrapolationName {
    /// Along a line that meets the beam
    Linear,
    /// Along the line through both spacepoints, to where it is nearest to the beam
    Accurate,
}

#[derive(Clone, Copy, ValueEnum)]
enum WindowName {
    /// The full circle
    FullScan,
    /// The smallest range that holds the RoI's spacepoints
    Spacepoints,
}

/// Options of one configuration.
#[derive(Args)]
pub(super) struct ConfigOptions {
    /// Preset to start from; --config and the options below change it [default: that of --config,
    /// else auto]
    #[arg(long, value_enum, help_heading = "Configuration")]
    preset: Option<PresetName>,
    /// TOML file with any of the keys that --print-config shows. Keys that it leaves out have the
    /// values of its key `preset`, of --preset, or of auto
    #[arg(long, value_name = "FILE.toml", help_heading = "Configuration")]
    config: Option<PathBuf>,
    /// Print the configuration that results, as TOML for --config, and exit
    #[arg(long, help_heading = "Configuration")]
    pub(super) print_config: bool,

    #[command(flatten)]
    keys: KeyOptions,
}

/// Keys of the configuration. Each option is a key in kebab-case; a unit `-mm` may be left out or
/// written.
#[derive(Args)]
pub(super) struct KeyOptions {
    /// Most vertices for an RoI, highest peak first
    #[arg(long, value_name = "N", help_heading = "Search")]
    peaks: Option<u32>,
    /// Which slices of phi a pair may reach into
    #[arg(long, value_enum, help_heading = "Search")]
    neighbours: Option<NeighboursName>,
    /// Quantity that is counted
    #[arg(long, value_enum, help_heading = "Search")]
    triplets: Option<TripletsName>,
    /// Weight of a pair that a third spacepoint confirms
    #[arg(long, value_enum, help_heading = "Search")]
    weighting: Option<WeightingName>,
    /// Window of an RoI for which --rois gives none
    #[arg(long, value_enum, help_heading = "Search")]
    phi_window: Option<WindowName>,
    /// Beam position in mm, subtracted before rho and phi are used; auto: found from tracks of the
    /// first events, with its slope and width
    #[arg(long, alias = "beam-spot-mm", value_name = "X,Y|auto", allow_hyphen_values = true, help_heading = "Search")]
    beam_spot: Option<BeamPosition>,
    /// Slope of the beam, dx/dz and dy/dz
    #[arg(long, value_name = "X,Y", value_parser = beam_spot_tilt, allow_hyphen_values = true, help_heading = "Search")]
    beam_spot_tilt: Option<[f64; 2]>,
    /// Standard deviation of vertices in x and y about the beam in mm; with --weighting pt, z_error
    /// contains it. --beam-spot auto finds it
    #[arg(long, alias = "beam-width-mm", value_name = "MM", help_heading = "Search")]
    beam_width: Option<f64>,
    /// Most events that --beam-spot auto reads before the search begins; it keeps them in memory
    #[arg(long, value_name = "N", default_value_t = BEAM_SPOT_EVENTS, help_heading = "Search")]
    beam_spot_events: NonZeroUsize,
    /// How z is extrapolated to the beam
    #[arg(long, value_enum, help_heading = "Search")]
    extrapolation: Option<ExtrapolationName>,
    /// Last layer that takes part: its number, or all, pixel, short-strip or long-strip
    #[arg(long, value_name = "N|SENSOR", help_heading = "Search")]
    max_layer: Option<MaxLayer>,
    /// How many of the filled layers, from the innermost, may hold the inner spacepoint of a pair
    #[arg(long, value_name = "N", help_heading = "Search")]
    first_layers: Option<u32>,

    /// Width of a bin of z at eta = 0, in mm
    #[arg(long, alias = "z-bin-mm", value_name = "MM", allow_negative_numbers = true, help_heading = "Histogram")]
    z_bin: Option<f64>,
    /// How much wider a bin gets with |eta| of the RoI, in mm
    #[arg(long, value_name = "MM", allow_negative_numbers = true, help_heading = "Histogram")]
    z_bin_eta_coeff: Option<f64>,
    /// Lower end of the range of z, in mm
    #[arg(long, alias = "z-min-mm", value_name = "MM", allow_negative_numbers = true, help_heading = "Histogram")]
    z_min: Option<f64>,
    /// Upper end of the range of z, in mm
    #[arg(long, alias = "z-max-mm", value_name = "MM", allow_negative_numbers = true, help_heading = "Histogram")]
    z_max: Option<f64>,
    /// A histogram for pairs that bend up and one for those that bend down
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", require_equals = true, help_heading = "Histogram")]
    charge_aware: Option<bool>,
    /// A histogram for each slice, of the pairs whose track may come from there
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", require_equals = true, help_heading = "Histogram")]
    histogram_per_slice: Option<bool>,
    /// Mix a peak closer than this many bins to a vertex into it
    #[arg(long, value_name = "BINS", allow_negative_numbers = true, help_heading = "Histogram")]
    vertex_separation_bins: Option<f64>,
    /// Mix a peak closer than this fraction of its |z| to a vertex into it
    #[arg(long, value_name = "FRACTION", allow_negative_numbers = true, help_heading = "Histogram")]
    vertex_distance_cut: Option<f64>,
    /// Contribution to z and weight of a peak that is mixed into a vertex, 0 to 1; 0 drops it
    #[arg(long, value_name = "FRACTION", allow_negative_numbers = true, help_heading = "Histogram")]
    vertex_mixing: Option<f64>,
    /// Second search of an RoI without a peak
    #[arg(long, value_enum, value_name = "PRESET", help_heading = "Histogram")]
    fallback: Option<FallbackName>,
    /// Definition of the significance
    #[arg(long, value_enum, value_name = "FORM", help_heading = "Histogram")]
    significance: Option<SignificanceName>,
    /// End at the first peak less significant than this; 0 keeps all
    #[arg(long, value_name = "SIGMA", allow_negative_numbers = true, help_heading = "Histogram")]
    min_significance: Option<f64>,
    /// Fraction of all windows of three bins, the lowest, whose mean is the background
    #[arg(long, value_name = "FRACTION", allow_negative_numbers = true, help_heading = "Histogram")]
    percentile: Option<f64>,
    /// Between peaks of equal height take the one nearest to the middle of the range, not the
    /// lowest z
    #[arg(long, value_name = "BOOL", help_heading = "Histogram")]
    prefer_central: Option<bool>,

    /// Width of a slice of phi, in degrees
    #[arg(long, value_name = "DEG", allow_negative_numbers = true, help_heading = "Slices and bending")]
    phi_slice_deg: Option<f64>,
    /// In full scan, let the slices at +pi and -pi be neighbours
    #[arg(long, value_name = "BOOL", help_heading = "Slices and bending")]
    wrap_full_scan: Option<bool>,
    /// Factor on the bending
    #[arg(long, value_name = "FACTOR", allow_negative_numbers = true, help_heading = "Slices and bending")]
    neighbour_multiplier: Option<f64>,
    /// Cap on the number of neighbour slices
    #[arg(long, value_name = "N", help_heading = "Slices and bending")]
    neighbour_max: Option<u32>,
    /// Transverse momentum of the track whose bending sets the neighbour slices, in GeV
    #[arg(long, value_name = "GEV", allow_negative_numbers = true, help_heading = "Slices and bending")]
    bending_pt_gev: Option<f64>,
    /// Solenoid field, in T
    #[arg(long, value_name = "T", allow_negative_numbers = true, help_heading = "Slices and bending")]
    field_t: Option<f64>,
    /// Change of the bending with eta in the end-caps, in rad, at most 0
    #[arg(long, value_name = "RAD", allow_negative_numbers = true, help_heading = "Slices and bending")]
    dphi_deta: Option<f64>,

    /// Largest difference of the two z extrapolations, in mm
    #[arg(long, alias = "triplet-dz-mm", value_name = "MM", allow_negative_numbers = true, help_heading = "Triplets")]
    triplet_dz: Option<f64>,
    /// Largest difference of the two curvatures, in rad/mm
    #[arg(long, value_name = "RAD/MM", allow_negative_numbers = true, help_heading = "Triplets")]
    triplet_dk: Option<f64>,
    /// The two azimuths at the beam line must differ by less than this, in rad
    #[arg(long, value_name = "RAD", allow_negative_numbers = true, help_heading = "Triplets")]
    triplet_dp: Option<f64>,
}

/// Parses `--threads`. A large number only costs memory, and systems refuse it.
pub(super) fn threads(text: &str) -> Result<NonZeroUsize, String> {
    const PER_CORE: usize = 8;
    const LEAST: usize = 64;
    let most = (PER_CORE * std::thread::available_parallelism().map_or(1, NonZeroUsize::get)).max(LEAST);
    let threads: NonZeroUsize = text.parse().map_err(|error| format!("{error}"))?;
    if threads.get() > most {
        return Err(format!("{most} is the most: {PER_CORE} for each core, or {LEAST}"));
    }
    Ok(threads)
}

fn two_numbers(text: &str) -> Option<[f64; 2]> {
    text.split_once(',').and_then(|(x, y)| Some([x.trim().parse().ok()?, y.trim().parse().ok()?]))
}

pub(super) fn beam_spot(text: &str) -> Result<[f64; 2], String> {
    two_numbers(text).ok_or_else(|| "two numbers in mm with a comma between them are expected, as in 0.97,-0.18".into())
}

pub(super) fn beam_spot_tilt(text: &str) -> Result<[f64; 2], String> {
    two_numbers(text).ok_or_else(|| "two slopes with a comma between them are expected, as in 1e-4,-2e-4".into())
}

impl From<PresetName> for Preset {
    fn from(name: PresetName) -> Self {
        match name {
            PresetName::Default => Preset::Default,
            PresetName::BeamSpot => Preset::BeamSpot,
            PresetName::Bphysics => Preset::Bphysics,
            PresetName::FullScan => Preset::FullScan,
            PresetName::Jet => Preset::Jet,
            PresetName::Egamma => Preset::Egamma,
            PresetName::Muon => Preset::Muon,
            PresetName::Tau => Preset::Tau,
            PresetName::HighPileup => Preset::HighPileup,
            PresetName::HighMultiplicity => Preset::HighMultiplicity,
            PresetName::HardScatter => Preset::HardScatter,
            PresetName::Auto => Preset::Auto,
            PresetName::Thesis => Preset::Thesis,
        }
    }
}

impl ConfigOptions {
    pub(super) fn config(&self) -> Result<Config, Failure> {
        self.config_or(PresetName::Auto)
    }

    /// Returns the configuration, with this preset instead of the default of
    /// [`ConfigOptions::config`].
    pub(super) fn config_or(&self, unnamed: PresetName) -> Result<Config, Failure> {
        self.keys.over(self.preset, unnamed, self.config.as_deref())
    }

    /// Returns the number of events for finding the beam spot; None if the beam spot is given.
    pub(super) fn beam_spot_events(&self) -> Option<NonZeroUsize> {
        self.keys.beam_spot_events()
    }

    /// Returns the file of `--config`.
    pub(super) fn file(&self) -> Option<&Path> {
        self.config.as_deref()
    }

    /// Prints the configuration to standard output as TOML.
    pub(super) fn print(&self, config: &Config) -> Result<(), Failure> {
        if self.beam_spot_events().is_some() {
            return Err(Failure::usage(
                "--print-config reads no events, from which --beam-spot auto finds the beam spot",
                "run `zfinder find --beam-spot auto` without it: a note says the beam spot as options",
            ));
        }
        let written = io::stdout().lock().write_all(zfinder_io::config_to_toml(config).as_bytes());
        written.map_err(|source| Failure::output("standard output", &source))
    }
}

impl KeyOptions {
    /// Applies preset, then file, then options, and validates the result. `unnamed` is the preset
    /// if neither `preset` nor the file names one.
    pub(super) fn over(
        &self,
        preset: Option<PresetName>,
        unnamed: PresetName,
        file: Option<&Path>,
    ) -> Result<Config, Failure> {
        let (preset, unnamed) = (preset.map(Preset::from), unnamed.into());
        let mut config = match file {
            None => Config::preset(preset.unwrap_or(unnamed)),
            Some(path) => of_file(path, preset, unnamed)?,
        };
        self.apply(&mut config);
        if self.beam_spot_events().is_some() && (self.beam_spot_tilt.is_some() || self.beam_width.is_some()) {
            return Err(Failure::usage(
                "--beam-spot auto finds the slope and the width of the beam, too",
                "leave out --beam-spot-tilt and --beam-width, or give the beam position",
            ));
        }
        config.validate()?;
        Ok(config)
    }

    /// Returns the number of events for finding the beam spot; None if the beam spot is given.
    pub(super) fn beam_spot_events(&self) -> Option<NonZeroUsize> {
        (self.beam_spot == Some(BeamPosition::Auto)).then_some(self.beam_spot_events)
    }

    fn apply(&self, config: &mut Config) {
        self.apply_names(config);
        set(&mut config.peaks, self.peaks);
        if let Some(BeamPosition::At(position)) = self.beam_spot {
            config.beam_spot_mm = position;
        }
        set(&mut config.beam_spot_tilt, self.beam_spot_tilt);
        set(&mut config.beam_width_mm, self.beam_width);
        set(&mut config.max_layer, self.max_layer);
        set(&mut config.charge_aware, self.charge_aware);
        set(&mut config.histogram_per_slice, self.histogram_per_slice);
        set(&mut config.first_layers, self.first_layers);
        set(&mut config.z_bin_mm, self.z_bin);
        set(&mut config.z_bin_eta_coeff, self.z_bin_eta_coeff);
        set(&mut config.z_min_mm, self.z_min);
        set(&mut config.z_max_mm, self.z_max);
        set(&mut config.vertex_separation_bins, self.vertex_separation_bins);
        set(&mut config.vertex_distance_cut, self.vertex_distance_cut);
        set(&mut config.vertex_mixing, self.vertex_mixing);
        set(&mut config.min_significance, self.min_significance);
        set(&mut config.percentile, self.percentile);
        set(&mut config.prefer_central, self.prefer_central);
        set(&mut config.phi_slice_deg, self.phi_slice_deg);
        set(&mut config.wrap_full_scan, self.wrap_full_scan);
        set(&mut config.neighbour_multiplier, self.neighbour_multiplier);
        config.neighbour_max = self.neighbour_max.or(config.neighbour_max);
        set(&mut config.bending_pt_gev, self.bending_pt_gev);
        set(&mut config.field_t, self.field_t);
        set(&mut config.dphi_deta, self.dphi_deta);
        set(&mut config.triplet_dz_mm, self.triplet_dz);
        set(&mut config.triplet_dk, self.triplet_dk);
        set(&mut config.triplet_dp, self.triplet_dp);
    }

    /// Applies the options whose values are names.
    fn apply_names(&self, config: &mut Config) {
        set(
            &mut config.neighbours,
            self.neighbours.map(|name| match name {
                NeighboursName::Single => Neighbours::Single,
                NeighboursName::Bending => Neighbours::Bending,
            }),
        );
        set(
            &mut config.triplets,
            self.triplets.map(|name| match name {
                TripletsName::Off => Triplets::Off,
                TripletsName::Any => Triplets::Any,
                TripletsName::Count => Triplets::Count,
            }),
        );
        set(
            &mut config.phi_window,
            self.phi_window.map(|name| match name {
                WindowName::FullScan => DefaultWindow::FullScan,
                WindowName::Spacepoints => DefaultWindow::Spacepoints,
            }),
        );
        set(
            &mut config.extrapolation,
            self.extrapolation.map(|name| match name {
                ExtrapolationName::Linear => Extrapolation::Linear,
                ExtrapolationName::Accurate => Extrapolation::Accurate,
            }),
        );
        set(
            &mut config.weighting,
            self.weighting.map(|name| match name {
                WeightingName::Count => Weighting::Count,
                WeightingName::Pt => Weighting::Pt,
            }),
        );
        set(
            &mut config.fallback,
            self.fallback.map(|name| match name {
                FallbackName::None => Fallback::None,
                FallbackName::FullScan => Fallback::FullScan,
            }),
        );
        set(
            &mut config.significance,
            self.significance.map(|name| match name {
                SignificanceName::Poisson => Significance::Poisson,
                SignificanceName::Gaussian => Significance::Gaussian,
            }),
        );
    }
}

fn set<T: Copy>(key: &mut T, option: Option<T>) {
    *key = option.unwrap_or(*key);
}

/// Returns the configuration of a file over this preset, else over the preset that the file names,
/// else over `unnamed`.
fn of_file(path: &Path, preset: Option<Preset>, unnamed: Preset) -> Result<Config, Failure> {
    let changes: ConfigChanges = toml::from_str(&read_text(path)?)
        .map_err(|error| zfinder_io::Error::Toml { what: path.display().to_string(), message: error.to_string() })?;
    if let (Some(named), Some(preset)) = (changes.preset(), preset)
        && named != preset
    {
        return Err(Failure::usage(
            format!("{} starts from the preset {named}, and --preset is {preset}", path.display()),
            "leave --preset out, or the key `preset` of the file",
        ));
    }
    let preset = changes.preset().or(preset).unwrap_or(unnamed);
    Ok(changes.apply(Config::preset(preset)))
}

/// Returns a value as the user types it.
pub fn word(value: impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

/// Reads a configuration, a detector or a report.
pub(super) fn read_text(path: &Path) -> Result<String, Failure> {
    /// Limit for a file, because a device may be endless.
    const MOST_BYTES: u64 = 1 << 26;
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(MOST_BYTES + 1).read_to_string(&mut text));
    let read = read.and_then(|length| match length as u64 {
        0..=MOST_BYTES => Ok(text),
        _ => Err(io::Error::other(format!("is longer than {} MiB", MOST_BYTES >> 20))),
    });
    read.map_err(|source| zfinder_io::Error::Io { path: path.to_owned(), source }.into())
}
