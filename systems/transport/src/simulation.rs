//! The simulation: options, runs and results.

use kernel_host::{Checks, Engine, Gpu, GpuOptions, Opened};
use rayon::prelude::*;

use crate::deposits::{Deposits, Grid, Scores, mev, units};
use crate::engine::Kernels;
use crate::engine::capacity::Capacity;
use crate::engine::cpu::engine::CpuRun;
use crate::engine::cpu::histories;
use crate::engine::ended::{Ended, Status};
use crate::engine::gpu::kernels::{GpuEngine, GpuSettings};
use crate::engine::gpu::time::StageTime;
use crate::engine::gpu::trust::TRUSTED;
use crate::engine::reference;
use crate::error::Result;
use crate::field::AnyField;
use crate::geometry::{Geometry, Mesh};
use crate::integrate::Accuracy;
use crate::number::Number;
use crate::philox::Random;
use crate::physics::{Cuts, ELECTRON_MASS};
use crate::track::{Kind, Primary, Process, Rejected, Track, check_capacity};
use crate::world::{Scattering, Settings, SortBy, World};

/// Options of a [`Simulation`]; see [`Simulation::builder`].
#[derive(Clone, Debug)]
pub struct SimulationBuilder {
    engine: Engine,
    settings: Settings,
    grid: Grid,
    gpu: GpuSettings,
    capacity: Capacity,
}

impl SimulationBuilder {
    /// Sets the engine; [`Engine::Auto`] by default.
    #[must_use]
    pub fn engine(mut self, engine: Engine) -> Self {
        self.engine = engine;
        self
    }

    /// Sets the magnetic field; the parametrised one by default.
    #[must_use]
    pub fn field(mut self, field: AnyField) -> Self {
        self.settings.field = field;
        self
    }

    /// Sets the geometry; the prototype's by default.
    #[must_use]
    pub fn geometry(mut self, geometry: Geometry) -> Self {
        self.settings.geometry = geometry;
        self
    }

    /// Sets the energy thresholds.
    #[must_use]
    pub fn cuts(mut self, cuts: Cuts) -> Self {
        self.settings.cuts = cuts;
        self
    }

    /// Sets the accuracy of paths in the field.
    #[must_use]
    pub fn accuracy(mut self, accuracy: Accuracy) -> Self {
        self.settings.accuracy = accuracy;
        self
    }

    /// Sets how electrons and positrons scatter along a step in matter; [`Scattering::None`] by
    /// default.
    #[must_use]
    pub fn scattering(mut self, scattering: Scattering) -> Self {
        self.settings.scattering = scattering;
        self
    }

    /// Sets the source of random numbers; seed 1 by default.
    #[must_use]
    pub fn random(mut self, random: Random) -> Self {
        self.settings.random = random;
        self
    }

    /// Sets the largest number of steps of a track; 1,000 by default. A track with more steps is
    /// abandoned, and its energy is in [`Balance::abandoned`].
    #[must_use]
    pub fn most_steps(mut self, steps: u32) -> Self {
        self.settings.most_steps = steps;
        self
    }

    /// Sets the largest number of loops: steps of a charged track in a row in vacuum that end at
    /// the integrator's limit, [`Accuracy::steps`]. A track with more circles in the field, and is
    /// abandoned; 0 never abandons it. 32 by default, about 2,000 steps of the integrator.
    #[must_use]
    pub fn most_loops(mut self, loops: u32) -> Self {
        self.settings.most_loops = loops;
        self
    }

    /// Sets whether [`Outcome::scores`] has the deposited energy by primary particle and material;
    /// false by default. A volume with a material of its own is scored by itself.
    #[must_use]
    pub fn scores(mut self, scores: bool) -> Self {
        self.settings.scores = scores;
        self
    }

    /// Sets the bins of deposits.
    #[must_use]
    pub fn grid(mut self, grid: Grid) -> Self {
        self.grid = grid;
        self
    }

    /// Sets how stages are grouped into kernels; [`Kernels::Split`] by default. The results are the
    /// same.
    #[must_use]
    pub fn kernels(mut self, kernels: Kernels) -> Self {
        self.gpu.kernels = kernels;
        self
    }

    /// Sets what split kernels sort interactions by; [`SortBy::Process`] by default. The results
    /// are the same.
    #[must_use]
    pub fn sort_by(mut self, sort_by: SortBy) -> Self {
        self.gpu.sort_by = sort_by;
        self
    }

    /// Sets the number of steps that one workgroup makes in a dispatch when few tracks are left on
    /// a GPU; 128 by default. 0 makes each step with its own dispatches. The results are the same.
    #[must_use]
    pub fn tail_steps(mut self, steps: u32) -> Self {
        self.gpu.tail_steps = steps;
        self
    }

    /// Sets the number of slots for tracks. By default slots are added as needed. With too few
    /// slots a run ends with [`Status::CapacityExceeded`]. The reference engine has no slots.
    #[must_use]
    pub fn capacity(mut self, slots: usize) -> Self {
        self.capacity = Capacity::Fixed(slots);
        self
    }

    /// Sets the initial number of slots of a GPU. The default depends on the energy. Slots are
    /// added as needed.
    #[must_use]
    pub fn capacity_at_first(mut self, slots: usize) -> Self {
        self.capacity = Capacity::AtFirst(slots);
        self
    }

    /// Sets whether kernels have bounds checks; false by default. Checked kernels are slower.
    #[must_use]
    pub fn checked(mut self, checked: bool) -> Self {
        self.gpu.checks = if checked { Checks::CHECKED } else { TRUSTED };
        self
    }

    /// Sets the workgroup size of the step kernels on a GPU; 128 by default.
    #[must_use]
    pub fn workgroup_size(mut self, threads: u32) -> Self {
        self.gpu.workgroup_size = Some(threads);
        self
    }

    /// Builds a simulation.
    ///
    /// # Errors
    /// [`Error::Options`](crate::Error::Options), [`Error::Gpu`](crate::Error::Gpu).
    pub fn build(self) -> Result<Simulation> {
        let Self { engine, settings, grid, gpu: options, capacity } = self;
        let mesh = Mesh::new(&settings.geometry)?;
        settings.check()?;
        grid.check()?;
        let optional_features = GpuEngine::FEATURES;
        let runs = match engine.open(GpuOptions { optional_features, ..GpuOptions::default() })? {
            Opened::Gpu(gpu) => RunningEngine::Gpu(Box::new(GpuEngine::new(gpu, &settings, &mesh, &grid, options)?)),
            Opened::Cpu => RunningEngine::Cpu(options.kernels, options.sort_by),
            Opened::Reference => RunningEngine::Reference,
        };
        Ok(Simulation { settings, mesh, grid, capacity, runs })
    }
}

/// A simulation of electrons and photons in a field and in matter.
pub struct Simulation {
    settings: Settings,
    mesh: Mesh,
    grid: Grid,
    capacity: Capacity,
    runs: RunningEngine,
}

enum RunningEngine {
    Gpu(Box<GpuEngine>),
    Cpu(Kernels, SortBy),
    Reference,
}

/// The energy balance \[MeV\]. The energy of a positron includes its annihilation with an electron.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Balance {
    /// The energy of the primary particles.
    pub initial: f64,
    /// The energy deposited in matter.
    pub deposited: f64,
    /// The energy that left the world.
    pub escaped: f64,
    /// The energy of abandoned tracks.
    pub abandoned: f64,
    /// The energy of remaining tracks.
    pub left: f64,
}

impl Balance {
    /// Returns the missing energy as a fraction of the initial energy.
    #[must_use]
    pub fn missing(&self) -> f64 {
        let &Self { initial, deposited, escaped, abandoned, left } = self;
        if initial > 0.0 { 1.0 - (deposited + escaped + abandoned + left) / initial } else { 0.0 }
    }
}

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How the run ended.
    pub status: Status,
    /// The deposited energy by bin.
    pub deposits: Deposits,
    /// The energy balance.
    pub balance: Balance,
    /// The deposited energy \[MeV\] of each primary particle, in each material of the geometry;
    /// empty without [`SimulationBuilder::scores`].
    pub scores: Vec<Vec<f64>>,
    /// The number of steps that ended with each [`Process`].
    pub processes: [u64; Process::COUNT],
    /// The number of secondary tracks.
    pub secondaries: u64,
    /// The number of iterations; each is one step of all tracks.
    pub iterations: u32,
    /// The largest number of slots in use; on the CPU without a fixed capacity, of tracks in an
    /// iteration.
    pub slots: usize,
    /// The rejected particles by index, with the reason.
    pub rejected: Vec<(usize, Rejected)>,
    /// The remaining tracks, by number.
    pub left: Vec<Track<f64>>,
}

impl Outcome {
    /// Returns the number of steps of all tracks.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.processes.iter().sum()
    }
}

impl Simulation {
    /// Returns the default options.
    #[must_use]
    pub fn builder() -> SimulationBuilder {
        let settings = Settings {
            field: AnyField::Parametrised,
            geometry: Geometry::default(),
            cuts: Cuts::default(),
            accuracy: Accuracy::default(),
            scattering: Scattering::None,
            random: Random::Seeded(1),
            most_steps: 1000,
            most_loops: 32,
            scores: false,
        };
        SimulationBuilder {
            engine: Engine::Auto,
            settings,
            grid: Grid::default(),
            gpu: GpuSettings::default(),
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

    /// Transports particles for at most `iterations` steps of all tracks. A track that waits for a
    /// slot makes its step later.
    ///
    /// # Errors
    /// [`Error::TooLarge`](crate::Error::TooLarge) if there are more particles than slots;
    /// [`Error::Gpu`](crate::Error::Gpu).
    pub fn run_for(&self, primaries: &[Primary], iterations: u32) -> Result<Outcome> {
        let mut rejected = Vec::new();
        let materials = self.settings.scored_materials();
        let scores = Scores::<f32>::new(&self.grid, primaries.len(), materials)?;
        let (initial, ended) = match &self.runs {
            RunningEngine::Reference => {
                let tracks = self.tracks::<f64>(primaries, &mut rejected);
                let ended = reference::run(&self.settings, &self.grid, &tracks, primaries.len(), iterations);
                (energy(&tracks), ended)
            }
            &RunningEngine::Cpu(kernels, sort_by) => {
                let tracks = self.tracks(primaries, &mut rejected);
                self.check_capacity(tracks.len())?;
                let Self { settings, mesh, .. } = self;
                let ended = match self.capacity {
                    Capacity::Fixed(slots) => {
                        CpuRun::new(settings, mesh, scores, kernels, slots, &tracks).run(iterations)?
                    }
                    Capacity::AsNeeded | Capacity::AtFirst(_) => {
                        histories::run(settings, mesh, scores, (kernels, sort_by), &tracks, iterations)
                    }
                };
                (energy(&tracks), ended)
            }
            RunningEngine::Gpu(engine) => {
                let tracks = self.tracks(primaries, &mut rejected);
                self.check_capacity(tracks.len())?;
                (energy(&tracks), engine.run(self.capacity, &tracks, scores.count(), iterations)?)
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

    /// Makes the tracks of valid particles.
    fn tracks<T: Number>(&self, primaries: &[Primary], rejected: &mut Vec<(usize, Rejected)>) -> Vec<Track<T>> {
        let track = |(index, primary): (usize, &Primary)| primary.track(index, &self.mesh);
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

    /// Returns the mean free path \[mm\] of a particle with a kinetic energy \[MeV\] before a
    /// process, in a material of the geometry. Infinite if the process never happens.
    #[must_use]
    pub fn mean_free_path(&self, material: usize, kind: Kind, process: Process, kinetic: f64) -> f64 {
        let World { tables, electron_cut, photon_cut, .. } = World::<f64>::new(&self.settings, &self.mesh);
        let Some(tables) = tables.get(material) else { return f64::INFINITY };
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

    /// Returns how long each stage of the first step takes in `rounds` rounds, measured by the
    /// GPU's clock, with the tracks already in device memory. Returns None on the CPU and on a GPU
    /// without timestamps.
    ///
    /// # Errors
    /// [`Error::Gpu`](crate::Error::Gpu).
    pub fn time(&self, primaries: &[Primary], rounds: usize) -> Result<Option<Vec<StageTime>>> {
        match &self.runs {
            RunningEngine::Gpu(engine) => {
                let scores = Scores::<f32>::new(&self.grid, primaries.len(), self.settings.scored_materials())?;
                engine.time(&self.tracks(primaries, &mut Vec::new()), scores.count(), rounds)
            }
            RunningEngine::Cpu(..) | RunningEngine::Reference => Ok(None),
        }
    }

    fn outcome(&self, ended: Ended, initial: f64, rejected: Vec<(usize, Rejected)>) -> Outcome {
        let Ended { status, tally, mut left, iterations, slots } = ended;
        left.par_sort_unstable_by_key(|track| track.number);
        let (bins, scores) = tally.deposits.split_at(self.grid.count() + 1);
        let materials = self.settings.scored_materials().max(1);
        let scores = scores.chunks(materials).map(|sums| sums.iter().map(|&sum| mev(sum)).collect()).collect();
        let deposits = Deposits::new(self.grid, bins.to_vec());
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
            scores,
            processes: tally.processes,
            secondaries: tally.secondaries,
            iterations,
            slots,
            rejected,
            left,
        }
    }

    /// Describes the engine in words.
    #[must_use]
    pub fn description(&self) -> String {
        match &self.runs {
            RunningEngine::Gpu(engine) => engine.description(),
            RunningEngine::Cpu(..) => format!("CPU, f32, {} threads", rayon::current_num_threads()),
            RunningEngine::Reference => "reference, f64".to_owned(),
        }
    }

    /// Returns the device if the engine is a GPU.
    #[must_use]
    pub fn gpu(&self) -> Option<&Gpu> {
        match &self.runs {
            RunningEngine::Gpu(engine) => Some(engine.gpu()),
            RunningEngine::Cpu(..) | RunningEngine::Reference => None,
        }
    }
}

fn energy<T: Number>(tracks: &[Track<T>]) -> f64 {
    tracks.iter().map(Track::energy).sum()
}
