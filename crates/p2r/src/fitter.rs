//! The fitter: builds an engine once, then fits.

use std::time::Duration;

use kernel_host::{Checks, Engine, Gpu, Opened};

use crate::batch::{Batch, Number};
use crate::engine::gpu::{GpuEngine, GpuSettings, IndexMap};
use crate::engine::{Fitted, Mode, reference};
use crate::error::{Error, Result};

/// What a [`Fitter`] is built from.
#[derive(Clone, Debug)]
pub struct FitterBuilder {
    engine: Engine,
    mode: Mode,
    gpu: GpuSettings,
}

/// Fits the tracks of batches.
pub struct Fitter<T: Number> {
    mode: Mode,
    runs: Runs<T>,
}

enum Runs<T: Number> {
    Gpu(Box<GpuEngine<T>>),
    Cpu,
    Reference,
}

impl FitterBuilder {
    /// What fits; [`Engine::Auto`] if not given. The CPU computes in f32 alone, the reference in f64 whatever the numbers' type.
    #[must_use]
    pub fn engine(mut self, engine: Engine) -> Self {
        self.engine = engine;
        self
    }

    /// Where each layer begins; [`Mode::Sequential`] if not given.
    #[must_use]
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// How tracks are mapped onto the threads of a GPU; [`IndexMap::ByTrack`] if not given.
    #[must_use]
    pub fn map(mut self, map: IndexMap) -> Self {
        self.gpu.map = map;
        self
    }

    /// Threads of a workgroup on a GPU; 128 if not given.
    #[must_use]
    pub fn workgroup_size(mut self, threads: u32) -> Self {
        self.gpu.workgroup_size = threads;
        self
    }

    /// Kernels that guard themselves against their own faults; a little slower.
    #[must_use]
    pub fn checked(mut self, checked: bool) -> Self {
        self.gpu.checks = if checked { Checks::Checked } else { Checks::Trusted };
        self
    }

    /// About how many bytes of hits go to a GPU at once; 32 MiB if not given. An event goes there as a whole.
    #[must_use]
    pub fn part_bytes(mut self, bytes: u64) -> Self {
        self.gpu.part_bytes = bytes;
        self
    }

    /// Builds it, for numbers of f32 or f64.
    ///
    /// # Errors
    /// [`Error::Gpu`]; [`Error::NoF64`] and [`Error::NoF64OnCpu`]; [`Error::WorkgroupSize`].
    pub fn build<T: Number>(self) -> Result<Fitter<T>> {
        let Self { engine, mode, gpu } = self;
        let runs = match engine.open(GpuEngine::<T>::device())? {
            Opened::Gpu(opened) => Runs::Gpu(Box::new(GpuEngine::new(opened, mode, gpu)?)),
            Opened::Cpu if T::NAME == "f32" => Runs::Cpu,
            Opened::Cpu => return Err(Error::NoF64OnCpu),
            Opened::Reference => Runs::Reference,
        };
        Ok(Fitter { mode, runs })
    }
}

impl<T: Number> Fitter<T> {
    /// The fitted tracks of a batch, laid out as they are.
    ///
    /// # Errors
    /// [`Error::EventTooLarge`]; [`Error::Gpu`].
    pub fn fit(&self, batch: &Batch<T>) -> Result<Fitted<T>> {
        let mut fitted = Fitted::new(batch.layout(), self.mode);
        self.fit_into(batch, &mut fitted)?;
        Ok(fitted)
    }

    /// The same into what an earlier fit gave, whose memory is used again if the batch is as large.
    ///
    /// # Errors
    /// As [`Fitter::fit`]; what `fitted` holds then is of no use.
    pub fn fit_into(&self, batch: &Batch<T>, fitted: &mut Fitted<T>) -> Result<()> {
        fitted.prepare(batch.layout(), self.mode);
        match &self.runs {
            Runs::Gpu(engine) => engine.fit(batch, fitted),
            Runs::Cpu => T::fit_on_cpu(batch, self.mode, fitted).ok_or(Error::NoF64OnCpu),
            Runs::Reference => {
                reference::fit(batch, self.mode, fitted);
                Ok(())
            }
        }
    }

    /// How long the kernel takes on the GPU's clock, `rounds` times over, with the batch there already. None on the CPU, and on
    /// a GPU without such a clock.
    ///
    /// # Errors
    /// As [`Fitter::fit`].
    pub fn time(&self, batch: &Batch<T>, rounds: usize) -> Result<Option<Vec<Duration>>> {
        match &self.runs {
            Runs::Gpu(engine) => engine.time(batch, rounds),
            Runs::Cpu | Runs::Reference => Ok(None),
        }
    }

    /// Where each layer begins.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// What fits, for people.
    #[must_use]
    pub fn description(&self) -> String {
        match &self.runs {
            Runs::Gpu(engine) => engine.description(),
            Runs::Cpu => format!("CPU, f32, {} threads", rayon::current_num_threads()),
            Runs::Reference => "reference, f64".to_owned(),
        }
    }

    /// The device, if it is a GPU that fits.
    #[must_use]
    pub fn gpu(&self) -> Option<&Gpu> {
        match &self.runs {
            Runs::Gpu(engine) => Some(engine.gpu()),
            Runs::Cpu | Runs::Reference => None,
        }
    }
}

impl Fitter<f32> {
    /// What is to be said before it is built.
    #[must_use]
    pub fn builder() -> FitterBuilder {
        let gpu = GpuSettings {
            map: IndexMap::default(),
            workgroup_size: 128,
            checks: Checks::Trusted,
            part_bytes: 32 << 20,
        };
        FitterBuilder { engine: Engine::Auto, mode: Mode::default(), gpu }
    }
}
