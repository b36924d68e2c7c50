//! Tracks of a file or folder, or simulated ones.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use command_host::{Failure, MessageOptions, note};
use p2r::io::{EventOptions, Labels, Material, Sample, read_events, read_sample};
use p2r::{Batch, FIELD, MAX_LAYERS, Number};

use super::options::{SimulationOptions, SpreadName, positive};

#[derive(Args)]
pub(super) struct InputOptions {
    /// Tracks and hits: an .npz file, or a folder of events in the CSV files of TrackML or ACTS
    /// [default: simulated tracks]
    #[arg(value_name = "FILE.npz|FOLDER")]
    input: Option<PathBuf>,
    /// Of a file or folder: magnetic field along z in T
    /// [default: 3.8112 for a file, 2 for a folder]
    #[arg(long, value_name = "TESLA", allow_negative_numbers = true, help_heading = "Input")]
    field: Option<f64>,
    /// Of a folder: errors of hits in mm, across the direction from the beam and along the beam
    /// (on disks along that direction) [default: 0.05,0.5]
    #[arg(long, value_name = "MM,MM", num_args = 1, value_delimiter = ',', value_parser = positive,
        help_heading = "Input")]
    hit_errors: Vec<f64>,
    /// Of a folder: smallest transverse momentum of a particle in GeV
    #[arg(long, default_value_t = 0.5, value_name = "GEV", value_parser = positive, help_heading = "Input")]
    min_pt: f64,
    /// Of a folder: smallest number of hits of a particle
    #[arg(long, default_value_t = 5, value_name = "N", help_heading = "Input")]
    min_hits: usize,
    /// Of a file or folder: layers of a detector, as in zfinder's TOML. Tracks scatter in them
    /// (Highland), by the radiation_lengths of each [default: no scattering]
    #[arg(long, value_name = "FILE.toml", requires = "input", help_heading = "Input")]
    detector: Option<PathBuf>,
    /// Events to simulate
    #[arg(long, default_value_t = 20, value_name = "N", conflicts_with = "input", help_heading = "Input")]
    events: usize,
    /// Tracks of a simulated event
    #[arg(long, default_value_t = 8192, value_name = "N", conflicts_with = "input", help_heading = "Input")]
    tracks: usize,
    /// Tracks in a group of the memory layout
    #[arg(long, default_value_t = 32, value_name = "N", help_heading = "Input")]
    bsize: usize,
    /// Distribution of simulated tracks
    #[arg(
        long,
        value_enum,
        default_value = "helices",
        value_name = "KIND",
        conflicts_with = "input",
        help_heading = "Input"
    )]
    spread: SpreadName,
    #[command(flatten)]
    simulation: SimulationOptions,
}

/// Tracks that are fitted, and their labels.
pub(super) struct Input<T: Number> {
    pub(super) batch: Batch<T>,
    pub(super) labels: Labels,
}

impl InputOptions {
    /// Returns the files that are read: the file of the input, or the files of events in its
    /// folder.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        let is_read = |path: &PathBuf| {
            path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("event"))
        };
        // Reading the folder will report its errors.
        let in_folder = self.input.iter().filter_map(|path| path.read_dir().ok());
        let in_folder = in_folder.flat_map(|entries| entries.flatten().map(|entry| entry.path())).filter(is_read);
        self.input.iter().chain(&self.detector).cloned().chain(in_folder).collect()
    }

    pub(super) fn has_material(&self) -> bool {
        self.detector.is_some()
    }

    pub(super) fn spread(&self) -> SpreadName {
        self.spread
    }

    pub(super) fn read<T: Number>(&self, messages: MessageOptions) -> Result<Input<T>, Failure> {
        let start = Instant::now();
        let Some(path) = &self.input else {
            if self.field.is_some() || !self.hit_errors.is_empty() {
                let help = "name a file or folder; simulated tracks are in 3.8112 T";
                return Err(Failure::usage("--field and --hit-errors are for tracks of a file or folder", help));
            }
            let simulation = self.simulation.simulation(self.spread, self.events, self.tracks, self.bsize);
            let (batch, truth) = simulation.simulate_with_truth()?;
            messages.timed("simulated", start.elapsed());
            let ids = || (0..self.events as u64).flat_map(|event| (0..self.tracks as u64).map(move |i| (event, i)));
            let truth = (!truth.is_empty()).then_some(truth);
            let (event_ids, track_ids): (Vec<u64>, Vec<u64>) = ids().unzip();
            let charge = |(event, track): (u64, u64)| batch.track(event as usize, track as usize).charge;
            let charges = ids().map(charge).collect();
            return Ok(Input { batch, labels: Labels { event_ids, track_ids, charges, truth } });
        };
        let sample = if path.is_dir() {
            read_events(path, &self.event_options()?)?
        } else {
            read_sample(path, self.field.unwrap_or(FIELD))?
        };
        self.report(&sample, messages);
        messages.timed(format_args!("read {}", path.display()), start.elapsed());
        let mut batch = sample.batch(self.bsize)?;
        if let Some(path) = &self.detector {
            let outside = Material::read(path)?.set(&mut batch)?;
            if outside > 0 {
                note(&format!("warning: {outside} hits lie on no layer of {}", path.display()));
            }
        }
        Ok(Input { batch, labels: sample.labels() })
    }

    fn event_options(&self) -> Result<EventOptions, Failure> {
        let default = EventOptions::default();
        let (across_mm, along_mm) = match self.hit_errors[..] {
            [] => (default.across_mm, default.along_mm),
            [across, along] => (across, along),
            _ => return Err(Failure::usage("--hit-errors has two numbers", "as in --hit-errors 0.05,0.5")),
        };
        Ok(EventOptions {
            field: self.field.unwrap_or(default.field),
            across_mm,
            along_mm,
            min_pt: self.min_pt,
            min_hits: self.min_hits,
            seed: self.simulation.seed(),
        })
    }

    fn report(&self, sample: &Sample, messages: MessageOptions) {
        let Sample { tracks, left_out, hits_left_out } = sample;
        let hits = sample.hits();
        let on_disks = match sample.disk_hits() {
            0 => String::new(),
            count => format!(", {count} of them on disks"),
        };
        messages.note(format_args!("{} tracks, {hits} hits{on_disks}", tracks.len()));
        if *left_out > 0 {
            messages.note(format_args!(
                "{left_out} particles are left out: neutral, below --min-pt {} GeV or with less than --min-hits {} hits",
                self.min_pt, self.min_hits
            ));
        }
        if *hits_left_out > 0 {
            messages.note(format_args!(
                "{hits_left_out} hits are left out: the first ones of tracks with more than {MAX_LAYERS}"
            ));
        }
    }
}
