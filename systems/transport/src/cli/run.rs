//! `transport run`.

use std::io;
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use command_host::{Code, Failure, MessageOptions, PictureOptions, check_distinct, note, write_file, write_json};
use transport::{AnyField, Outcome, Random, SimulationBuilder, Status};

use super::input::InputOptions;
use super::options::{
    AccuracyOptions, EngineOptions, FieldOptions, GeometryOptions, GridOptions, KernelsName, PhysicsOptions, ScoreName,
    SortName, typed,
};
use super::output::{Output, check_folder, check_scores, write_scores};
use super::plot;
use super::report::{BALANCE, Report, RunOptions, untrusted};

/// Transports particles until no track is left, and reports where their energy went
///
/// Electrons and positrons radiate, knock out electrons and lose energy along curved paths; photons
/// scatter, make pairs and are absorbed. Secondaries are transported, too. The default world is the
/// prototype's: tubes of lead tungstate from 10 mm to 5 m around the axis and to 3 m along it, in
/// vacuum. All engines draw the same random numbers for each track.
#[derive(Args)]
pub(super) struct Run {
    #[command(flatten)]
    input: InputOptions,
    #[command(flatten)]
    field: FieldOptions,
    /// Write the map of --field map, as --field FILE.npy and numpy.load read it
    #[arg(long, value_name = "FILE.npy", help_heading = "World")]
    write_map: Option<PathBuf>,
    #[command(flatten)]
    geometry: GeometryOptions,
    #[command(flatten)]
    physics: PhysicsOptions,
    #[command(flatten)]
    accuracy: AccuracyOptions,
    /// Use 0.123456 for all random numbers, as the prototype compares engines
    #[arg(long, help_heading = "World")]
    constant_random: bool,
    /// Steps of a track, at most; a track with more is given up, and its energy is reported
    #[arg(long, default_value_t = 1000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65_535), help_heading = "Limits")]
    most_steps: u32,
    /// Give up a charged track that circles in vacuum: after N steps in a row that end at
    /// --integration-steps; 0 is never
    #[arg(long, default_value_t = 32, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=255), help_heading = "Limits")]
    most_loops: u32,
    /// Stop after N steps of all tracks
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Limits")]
    iterations: Option<u32>,
    /// Slots for tracks [default: as many as are needed]. The reference engine has none
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1 << 28), help_heading = "Limits")]
    capacity: Option<u64>,
    #[command(flatten)]
    engine: EngineOptions,
    /// How the stages of a step are grouped into kernels; the results are the same
    #[arg(long, value_enum, default_value = "split", value_name = "HOW", help_heading = "Engine")]
    kernels: KernelsName,
    /// Sort key of split kernels; the results are the same
    #[arg(long, value_enum, default_value = "process", value_name = "KEY", help_heading = "Engine")]
    sort: SortName,
    /// Steps that one GPU workgroup makes in a dispatch when few tracks are left; 0 disables this
    #[arg(long, default_value_t = 128, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=10_000), help_heading = "Engine")]
    tail_steps: u32,
    /// Threads of a GPU's workgroup; the results are the same [default: 128, and 256 when few
    /// tracks are left]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(8..=1024), help_heading = "Engine")]
    workgroup_size: Option<u32>,
    #[command(flatten)]
    grid: GridOptions,
    /// Draw the deposited energy in z and r
    #[arg(long, value_name = "FILE.png|.svg|.pdf", help_heading = "Histogram")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    picture: PictureOptions,
    /// Write the deposited energy: .csv or .csv.gz, a row a bin; .npz, for numpy.load
    #[arg(long, value_name = "FILE.csv|csv.gz|npz", help_heading = "Histogram")]
    output: Option<PathBuf>,
    /// Write the deposited energy of each event in each material or volume, a row an event
    #[arg(long, value_name = "FILE.csv|csv.gz", help_heading = "Histogram")]
    scores: Option<PathBuf>,
    /// Columns of --scores
    #[arg(
        long,
        value_enum,
        default_value = "material",
        value_name = "WHAT",
        requires = "scores",
        help_heading = "Histogram"
    )]
    score_by: ScoreName,
    /// JSON instead of text
    #[arg(long)]
    json: bool,
}

impl Run {
    pub(super) fn run(&self, messages: &MessageOptions) -> Result<(), Failure> {
        let output = self.output.as_deref().map(Output::of).transpose()?;
        let outputs =
            [&self.output, &self.plot, &self.write_map, &self.scores].into_iter().filter_map(|path| path.as_deref());
        let inputs = [self.input.file(), self.field.file(), self.geometry.file()];
        check_distinct(inputs.into_iter().flatten(), outputs)?;
        if let Some(path) = &self.scores {
            check_scores(path)?;
        }
        let grid = self.grid.grid();
        if let Some(path) = &self.plot {
            check_folder(path)?;
        }
        let picture = self.picture.open_optional(self.plot.as_deref(), "transport")?;
        if let (Some(picture), Some(path)) = (&picture, &self.plot) {
            plot::check(picture, &path.display().to_string(), &grid)?;
        }
        let geometry = self.geometry.geometry(self.score_by)?;
        let particles = self.input.particles()?;
        let field = self.field.field()?;
        self.write_map(&field)?;
        let materials: Vec<_> = geometry.materials.iter().map(|material| material.name().to_owned()).collect();
        let warnings: Vec<String> = untrusted(&particles.primaries).into_iter().collect();
        warnings.iter().for_each(|warning| note(&format!("warning: {warning}")));
        let start = Instant::now();
        let simulation = self.builder().field(field).geometry(geometry).grid(grid).build()?;
        messages.timed(format_args!("built for {}", simulation.description()), start.elapsed());
        let start = Instant::now();
        let outcome = simulation.run_for(&particles.primaries, self.iterations.unwrap_or(u32::MAX))?;
        let seconds = start.elapsed().as_secs_f64();
        messages.timed(format_args!("transported {}", particles.text), start.elapsed());
        let cuts = self.physics.cuts();
        let asked = RunOptions {
            version: env!("CARGO_PKG_VERSION"),
            engine: simulation.description(),
            particles: particles.text.clone(),
            field: self.field.text(),
            geometry: self.geometry.text(),
            kernels: typed(self.kernels),
            random: if self.constant_random { "constant random numbers" } else { "random numbers by counter" }
                .to_owned(),
            electron_cut_mev: cuts.electron,
            photon_cut_mev: cuts.photon,
            stop_mev: cuts.stop,
        };
        let title = format!("{}; {}", particles.text, self.subtitle(&asked, &outcome));
        let report = Report::of(asked, warnings, &particles, &outcome, seconds);
        if let Some(what) = report.nothing() {
            return Err(Failure::new(Code::Data, what));
        }
        if let Some(output) = output {
            output.write(&outcome.deposits)?;
        }
        if let Some(path) = &self.scores {
            write_scores(path, &particles, &outcome, &materials)?;
        }
        if let Some(picture) = picture {
            picture.draw(&plot::figure(&outcome.deposits, title))?;
        }
        let mut out = io::stdout().lock();
        if self.json {
            write_json(&mut out, &report)?;
        } else {
            report.print(&mut out)?;
        }
        self.ended(&outcome)
    }

    fn builder(&self) -> SimulationBuilder {
        let random = if self.constant_random { Random::Constant } else { Random::Seeded(self.input.seed) };
        let builder = self.engine.builder().random(random).cuts(self.physics.cuts()).accuracy(self.accuracy.accuracy());
        let builder = builder.scattering(self.physics.scattering()).scores(self.scores.is_some());
        let builder = builder.most_steps(self.most_steps).most_loops(self.most_loops).kernels(self.kernels.into());
        let builder = builder.sort_by(self.sort.into()).tail_steps(self.tail_steps);
        let builder = self.capacity.map_or(builder.clone(), |slots| builder.capacity(slots as usize));
        self.workgroup_size.map_or(builder.clone(), |threads| builder.workgroup_size(threads))
    }

    fn write_map(&self, field: &AnyField) -> Result<(), Failure> {
        match (&self.write_map, field) {
            (Some(path), AnyField::Map(map)) => write_file(path, "transport", |out| map.write(out)),
            (Some(_), _) => Err(Failure::new(Code::Usage, "--write-map: there is no map; add --field map")),
            (None, _) => Ok(()),
        }
    }

    /// The second part of a picture's title.
    fn subtitle(&self, asked: &RunOptions, outcome: &Outcome) -> String {
        let ended = match outcome.status {
            Status::Finished => String::new(),
            Status::StepsMade => format!(", stopped after {} steps", outcome.iterations),
            Status::CapacityExceeded { .. } => ", capacity exceeded".to_owned(),
        };
        format!("{}; {}; {}{ended}", asked.geometry, asked.field, asked.engine)
    }

    /// Fails if the reported run is wrong or has not finished.
    fn ended(&self, outcome: &Outcome) -> Result<(), Failure> {
        let (missing, left) = (outcome.balance.missing(), outcome.left.len());
        if missing.is_nan() || missing.abs() > BALANCE {
            let what = format!(
                "energies do not add up: {missing:.1e} of what was there at first is missing, and {BALANCE:e} may be"
            );
            return Err(Failure::wrong_answer(what));
        }
        let what = match outcome.status {
            Status::Finished => return Ok(()),
            Status::StepsMade => format!(
                "not finished: {left} tracks are left after {} steps of all. More --iterations, or none given, take them to their end",
                outcome.iterations
            ),
            Status::CapacityExceeded { waiting } => format!(
                "not finished: {waiting} tracks wait for room for what they make, and there are {} slots. Nothing is lost, {left} tracks \
                 are left; a larger --capacity, or none given, takes them to their end",
                self.capacity.unwrap_or(outcome.slots as u64)
            ),
        };
        Err(Failure::new(Code::Data, what))
    }
}
