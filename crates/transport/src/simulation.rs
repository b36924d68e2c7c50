//! What a user asks for, and what comes of it.

use kernel_host::{Checks, Engine, Gpu, GpuOptions, Opened};
use rayon::prelude::*;

use crate::deposits::{Deposits, Grid, mev, units};
use crate::engine::capacity::Capacity;
use crate::engine::cpu::engine::CpuRun;
use crate::engine::ended::{Ended, Status};
use crate::engine::gpu::run::{GpuEngine, GpuSettings, StageTime};
use crate::engine::reference;
use crate::error::Result;
use crate::field::AnyField;
use crate::geometry::Geometry;
use crate::integrate::Accuracy;
use crate::number::Number;
use crate::philox::Random;
use crate::physics::{Cuts, ELECTRON_MASS};
use crate::track::{Kind, Primary, Process, Rejected, Track, check_capacity};
use crate::world::{Settings, World};

/// How the stages of a step are made into kernels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kernels {
    /// The length of the step, counting and sorting by process, and then the interactions: threads side by side do the same.
    #[default]
    Split,
    /// All of a track's step in one.
    Monolithic,
}

/// What a [`Simulation`] is built from.
#[derive(Clone, Debug)]
pub struct SimulationBuilder {
    engine: Engine,
    settings: Settings,
    grid: Grid,
    gpu: GpuSettings,
    capacity: Capacity,
}

impl SimulationBuilder {
    /// What computes; [`Engine::Auto`] if not given.
    #[must_use]
    pub fn engine(mut self, engine: Engine) -> Self {
        self.engine = engine;
        self
    }

    /// The magnetic field; the parametrised one if not given.
    #[must_use]
    pub fn field(mut self, field: AnyField) -> Self {
        self.settings.field = field;
        self
    }

    /// The tubes; the prototype's if not given.
    #[must_use]
    pub fn geometry(mut self, geometry: Geometry) -> Self {
        self.settings.geometry = geometry;
        self
    }

    /// Energies at which particles begin and end.
    #[must_use]
    pub fn cuts(mut self, cuts: Cuts) -> Self {
        self.settings.cuts = cuts;
        self
    }

    /// Of paths in the field.
    #[must_use]
    pub fn accuracy(mut self, accuracy: Accuracy) -> Self {
        self.settings.accuracy = accuracy;
        self
    }

    /// Where random numbers come from; seed 1 if not given.
    #[must_use]
    pub fn random(mut self, random: Random) -> Self {
        self.settings.random = random;
        self
    }

    /// Steps of a track at most; 1,000 if not given. What has made more is given up, and its energy is in [`Balance::abandoned`].
    #[must_use]
    pub fn most_steps(mut self, steps: u32) -> Self {
        self.settings.most_steps = steps;
        self
    }

    /// Bins of deposits.
    #[must_use]
    pub fn grid(mut self, grid: Grid) -> Self {
        self.grid = grid;
        self
    }

    /// How stages are made into kernels; [`Kernels::Split`] if not given. Answers are the same.
    #[must_use]
    pub fn kernels(mut self, kernels: Kernels) -> Self {
        self.gpu.kernels = kernels;
        self
    }

    /// Slots for tracks; as many as are needed if not given. With too few, a run ends as [`Status::CapacityExceeded`]. The reference
    /// engine has no slots.
    #[must_use]
    pub fn capacity(mut self, slots: usize) -> Self {
        self.capacity = Capacity::Fixed(slots);
        self
    }

    /// Slots that a GPU has at first; as many as the energy lets expect if not given. More are made when they are needed.
    #[must_use]
    pub fn capacity_at_first(mut self, slots: usize) -> Self {
        self.capacity = Capacity::AtFirst(slots);
        self
    }

    /// Kernels that guard themselves against their own faults; slower.
    #[must_use]
    pub fn checked(mut self, checked: bool) -> Self {
        self.gpu.checks = if checked { Checks::Checked } else { Checks::Trusted };
        self
    }

    /// Threads of a workgroup of step lengths and interactions on a GPU; 128 if not given.
    #[must_use]
    pub fn workgroup_size(mut self, threads: u32) -> Self {
        self.gpu.workgroup_size = Some(threads);
        self
    }

    /// Builds it.
    ///
    /// # Errors
    /// [`Error::Options`](crate::Error::Options), [`Error::Gpu`](crate::Error::Gpu).
    pub fn build(self) -> Result<Simulation> {
        let Self { engine, settings, grid, gpu: options, capacity } = self;
        settings.geometry.check()?;
        settings.cuts.check()?;
        settings.accuracy.check()?;
        settings.field.check()?;
        grid.check()?;
        let optional_features = GpuEngine::FEATURES;
        let runs = match engine.open(GpuOptions { optional_features, ..GpuOptions::default() })? {
            Opened::Gpu(gpu) => Runs::Gpu(Box::new(GpuEngine::new(gpu, &settings, &grid, options)?)),
            Opened::Cpu => Runs::Cpu(options.kernels),
            Opened::Reference => Runs::Reference,
        };
        Ok(Simulation { settings, grid, capacity, runs })
    }
}

/// Electrons and photons through a field and matter, step by step.
pub struct Simulation {
    settings: Settings,
    grid: Grid,
    capacity: Capacity,
    runs: Runs,
}

enum Runs {
    Gpu(Box<GpuEngine>),
    Cpu(Kernels),
    Reference,
}

/// Where the energy went \[MeV\]. What a positron would leave with an electron when it ends is counted with it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Balance {
    /// Of the particles that began.
    pub initial: f64,
    /// That stayed in matter.
    pub deposited: f64,
    /// That left the world.
    pub escaped: f64,
    /// Of tracks that were given up.
    pub abandoned: f64,
    /// Of tracks that are left.
    pub left: f64,
}

impl Balance {
    /// What is missing, in parts of what began.
    #[must_use]
    pub fn missing(&self) -> f64 {
        let &Self { initial, deposited, escaped, abandoned, left } = self;
        if initial > 0.0 { 1.0 - (deposited + escaped + abandoned + left) / initial } else { 0.0 }
    }
}

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How it ended.
    pub status: Status,
    /// Where energy stayed.
    pub deposits: Deposits,
    /// Where it went.
    pub balance: Balance,
    /// Steps that ended with each [`Process`], by its number.
    pub processes: [u64; Process::COUNT],
    /// Tracks that others made, beside or after themselves in their slots.
    pub secondaries: u64,
    /// Steps that all tracks made together.
    pub iterations: u32,
    /// Slots that were in use at most.
    pub slots: usize,
    /// Particles that were not transported, by their number, and why.
    pub rejected: Vec<(usize, Rejected)>,
    /// Tracks that are left, by their number.
    pub left: Vec<Track<f64>>,
}

impl Outcome {
    /// Of all tracks.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.processes.iter().sum()
    }
}

impl Simulation {
    /// What is to be said before it is built.
    #[must_use]
    pub fn builder() -> SimulationBuilder {
        let settings = Settings {
            field: AnyField::Parametrised,
            geometry: Geometry::default(),
            cuts: Cuts::default(),
            accuracy: Accuracy::default(),
            random: Random::Seeded(1),
            most_steps: 1000,
        };
        SimulationBuilder {
            engine: Engine::Auto,
            settings,
            grid: Grid::default(),
            gpu: GpuSettings { kernels: Kernels::default(), checks: Checks::Trusted, workgroup_size: None },
            capacity: Capacity::AsNeeded,
        }
    }

    /// Transports particles until no track is left.
    ///
    /// # Errors
    /// As [`Simulation::run_for`].
    pub fn run(&self, primaries: &[Primary]) -> Result<Outcome> {
        self.run_for(primaries, u32::MAX)
    }

    /// Transports particles so many steps of all tracks, at most. A track that has to wait for a slot makes its step later.
    ///
    /// # Errors
    /// [`Error::TooLarge`](crate::Error::TooLarge) for more particles than slots, [`Error::Gpu`](crate::Error::Gpu).
    pub fn run_for(&self, primaries: &[Primary], iterations: u32) -> Result<Outcome> {
        let tracks = |rejected: &mut Vec<_>| self.tracks::<f32>(primaries, rejected);
        let mut rejected = Vec::new();
        let (initial, ended) = match &self.runs {
            Runs::Reference => {
                let tracks = self.tracks::<f64>(primaries, &mut rejected);
                (energy(&tracks), reference::run(&self.settings, &self.grid, tracks, iterations))
            }
            Runs::Cpu(kernels) => {
                let tracks = tracks(&mut rejected);
                self.check_capacity(tracks.len())?;
                let run = CpuRun::new(&self.settings, &self.grid, *kernels, self.capacity, &tracks);
                (energy(&tracks), run.run(iterations)?)
            }
            Runs::Gpu(engine) => {
                let tracks = tracks(&mut rejected);
                self.check_capacity(tracks.len())?;
                (energy(&tracks), engine.run(self.capacity, &tracks, iterations)?)
            }
        };
        Ok(self.outcome(ended, initial, rejected))
    }

    fn check_capacity(&self, tracks: usize) -> Result<()> {
        match self.capacity {
            Capacity::Fixed(slots) => check_capacity(slots, tracks),
            Capacity::AtFirst(slots) => check_capacity(slots.max(tracks), tracks),
            Capacity::AsNeeded => check_capacity(tracks, tracks),
        }
    }

    /// Those that can be transported.
    fn tracks<T: Number>(&self, primaries: &[Primary], rejected: &mut Vec<(usize, Rejected)>) -> Vec<Track<T>> {
        let geometry = &self.settings.geometry;
        let track = |(place, primary): (usize, &Primary)| primary.track(place as u64, geometry);
        let found: Vec<_> = primaries.par_iter().enumerate().map(track).collect();
        let mut tracks = Vec::with_capacity(found.len());
        for (place, found) in found.into_iter().enumerate() {
            match found {
                Ok(track) => tracks.push(track),
                Err(why) => rejected.push((place, why)),
            }
        }
        tracks
    }

    /// What a particle of a kinetic energy \[MeV\] goes before a process happens to it, in the mean \[mm\]; infinitely far if it never does.
    #[must_use]
    pub fn mean_free_path(&self, kind: Kind, process: Process, kinetic: f64) -> f64 {
        let World { tables, electron_cut, photon_cut, .. } = World::<f64>::new(&self.settings);
        let rate = match (kind == Kind::Photon, process) {
            (false, Process::Bremsstrahlung) if kinetic > photon_cut => tables.of_electron(kinetic)[0],
            (false, Process::Moller) if kinetic > 2.0 * electron_cut => tables.of_electron(kinetic)[1],
            (true, Process::Compton) => tables.of_photon(kinetic)[0],
            (true, Process::Pair) if kinetic > 2.0 * ELECTRON_MASS => tables.of_photon(kinetic)[1],
            (true, Process::Photoelectric) => tables.of_photon(kinetic)[2],
            _ => 0.0,
        };
        1.0 / rate
    }

    /// How long each stage of the first step of particles takes on the GPU's clock, so many rounds, with everything there. None on the CPU,
    /// and on a GPU without such a clock.
    ///
    /// # Errors
    /// [`Error::Gpu`](crate::Error::Gpu).
    pub fn time(&self, primaries: &[Primary], rounds: usize) -> Result<Option<Vec<StageTime>>> {
        match &self.runs {
            Runs::Gpu(engine) => engine.time(&self.tracks(primaries, &mut Vec::new()), rounds),
            Runs::Cpu(_) | Runs::Reference => Ok(None),
        }
    }

    fn outcome(&self, ended: Ended, initial: f64, rejected: Vec<(usize, Rejected)>) -> Outcome {
        let Ended { status, tally, mut left, iterations, slots } = ended;
        left.par_sort_unstable_by_key(|track| track.number);
        let deposits = Deposits::new(self.grid, tally.deposits);
        let balance = Balance {
            initial,
            deposited: deposits.total(),
            escaped: mev(tally.escaped),
            abandoned: mev(tally.abandoned),
            left: mev(left.iter().map(|track| units(track.energy())).sum()),
        };
        Outcome {
            status,
            deposits,
            balance,
            processes: tally.processes,
            secondaries: tally.secondaries,
            iterations,
            slots,
            rejected,
            left,
        }
    }

    /// What computes, for people.
    #[must_use]
    pub fn description(&self) -> String {
        match &self.runs {
            Runs::Gpu(engine) => engine.description(),
            Runs::Cpu(_) => format!("CPU, f32, {} threads", rayon::current_num_threads()),
            Runs::Reference => "reference, f64".to_owned(),
        }
    }

    /// The device, if it is a GPU that computes.
    #[must_use]
    pub fn gpu(&self) -> Option<&Gpu> {
        match &self.runs {
            Runs::Gpu(engine) => Some(engine.gpu()),
            Runs::Cpu(_) | Runs::Reference => None,
        }
    }
}

fn energy<T: Number>(tracks: &[Track<T>]) -> f64 {
    tracks.iter().map(Track::energy).sum()
}
