//! `transport run`.

use std::io;
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use command_host::{Code, Failure, Picture, check_distinct, write_file, write_json};
use transport::{AnyField, Outcome, Random, Status};

use super::input::InputOptions;
use super::options::{CutOptions, EngineOptions, FieldOptions, GridOptions, KernelsName, typed};
use super::output::{Output, check_folder};
use super::plot::{self, HeatMap};
use super::report::{Asked, BALANCE, Report};

/// Transports particles until no track is left, and reports where their energy went
///
/// Electrons and positrons radiate, knock out electrons and lose energy along curved paths, photons scatter, make pairs and are
/// absorbed; what they make is followed, too. The world is the prototype's: tubes of lead tungstate from 10 mm to 5 m around the axis
/// and to 3 m along it, in vacuum. All engines draw the same random numbers, track by track.
#[derive(Args)]
pub(super) struct Run {
    #[command(flatten)]
    input: InputOptions,
    #[command(flatten)]
    field: FieldOptions,
    /// Of --field map: write the map, as --field FILE.npy and numpy.load read it
    #[arg(long, value_name = "FILE.npy", help_heading = "World")]
    write_map: Option<PathBuf>,
    #[command(flatten)]
    cuts: CutOptions,
    /// Draw 0.123456 wherever a random number is wanted, which is how the prototype compares engines
    #[arg(long, help_heading = "World")]
    constant_random: bool,
    /// Steps of a track at most: with more of them it is given up, and its energy is told
    #[arg(long, default_value_t = 1000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Limits")]
    most_steps: u32,
    /// Stop after so many steps of all tracks
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Limits")]
    iterations: Option<u32>,
    /// Slots for tracks; if not given, as many as are needed. The reference engine has none
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1 << 28), help_heading = "Limits")]
    capacity: Option<u64>,
    #[command(flatten)]
    engine: EngineOptions,
    /// How the stages of a step are made into kernels; answers are the same
    #[arg(long, value_enum, default_value = "split", value_name = "HOW", help_heading = "Engine")]
    kernels: KernelsName,
    #[command(flatten)]
    grid: GridOptions,
    /// Draw where energy stayed, over z and r
    #[arg(long, value_name = "FILE.png|svg", help_heading = "Histogram")]
    plot: Option<PathBuf>,
    /// Write where energy stayed: .csv, a row a bin; .npz, for numpy.load
    #[arg(long, value_name = "FILE.csv|npz", help_heading = "Histogram")]
    output: Option<PathBuf>,
    /// JSON instead of text
    #[arg(long)]
    json: bool,
}

impl Run {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let output = self.output.as_deref().map(Output::of).transpose()?;
        let picture = self.plot.as_deref().map(Picture::of).transpose()?;
        let outputs = [&self.output, &self.plot, &self.write_map].into_iter().filter_map(|path| path.as_deref());
        check_distinct(self.input.file().into_iter().chain(self.field.file()), outputs)?;
        let grid = self.grid.grid();
        if let Some(picture) = &picture {
            check_folder(picture.path())?;
            plot::check(picture, &grid)?;
        }
        let field = self.field.field()?;
        self.write_map(&field)?;
        let random = if self.constant_random { Random::Constant } else { Random::Seeded(self.input.seed) };
        let builder = self.engine.builder().field(field).cuts(self.cuts.cuts()).random(random).grid(grid);
        let builder = builder.most_steps(self.most_steps).kernels(self.kernels.into());
        let builder = match self.capacity {
            Some(slots) => builder.capacity(slots as usize),
            None => builder,
        };
        let simulation = builder.build()?;
        let particles = self.input.particles()?;
        let start = Instant::now();
        let outcome = simulation.run_for(&particles.primaries, self.iterations.unwrap_or(u32::MAX))?;
        let seconds = start.elapsed().as_secs_f64();
        let cuts = self.cuts.cuts();
        let asked = Asked {
            version: env!("CARGO_PKG_VERSION"),
            engine: simulation.description(),
            particles: particles.text.clone(),
            field: self.field.text(),
            kernels: typed(self.kernels),
            random: if self.constant_random { "constant random numbers" } else { "random numbers by counter" }
                .to_owned(),
            electron_cut_mev: cuts.electron,
            photon_cut_mev: cuts.photon,
            stop_mev: cuts.stop,
        };
        let titles = [format!("Energy deposited by {}", particles.text), self.subtitle(&asked, &outcome)];
        let report = Report::of(asked, &particles, &outcome, seconds);
        if let Some(what) = report.nothing() {
            return Err(Failure::new(Code::Data, what));
        }
        if let Some(output) = output {
            output.write(&outcome.deposits)?;
        }
        if let Some(picture) = picture {
            picture.draw("transport", &HeatMap::of(&outcome.deposits, titles))?;
        }
        let mut out = io::stdout().lock();
        if self.json {
            write_json(&mut out, &report)?;
        } else {
            report.print(&mut out)?;
        }
        self.ended(&outcome)
    }

    fn write_map(&self, field: &AnyField) -> Result<(), Failure> {
        match (&self.write_map, field) {
            (Some(path), AnyField::Map(map)) => write_file(path, "transport", |out| map.write(out)),
            (Some(_), _) => Err(Failure::new(Code::Usage, "--write-map: there is no map; add --field map")),
            (None, _) => Ok(()),
        }
    }

    /// Of a picture.
    fn subtitle(&self, asked: &Asked, outcome: &Outcome) -> String {
        let ended = match outcome.status {
            Status::Finished => String::new(),
            Status::StepsMade => format!(", stopped after {} steps", outcome.iterations),
            Status::CapacityExceeded { .. } => ", capacity exceeded".to_owned(),
        };
        format!("{}; {}{ended}", asked.field, asked.engine)
    }

    /// What is wrong with what was reported.
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
