//! The fitter: builds an engine once, then fits.

use std::any::Any;
use std::time::Duration;

use kernel_host::{Checks, Engine, Gpu, Opened, Precision};

use crate::batch::{Batch, Number};
use crate::engine::gpu::trust::TRUSTED;
use crate::engine::gpu::{GpuEngine, GpuSettings, IndexMap};
use crate::engine::{Fitted, Formulas, Mode, Task, cpu, reference};
use crate::error::{Error, Result};

/// Options of a [`Fitter`]; see [`Fitter::builder`].
#[derive(Clone, Debug)]
pub struct FitterBuilder {
    engine: Engine,
    task: Task,
    gpu: GpuSettings,
}

/// Fits the tracks of batches.
pub struct Fitter<T: Number> {
    task: Task,
    runs: RunningEngine<T>,
}

enum RunningEngine<T: Number> {
    Gpu(Box<GpuEngine<T>>),
    Cpu,
    Reference,
}

impl FitterBuilder {
    /// Sets the engine; [`Engine::Auto`] by default. The CPU computes in f32 only. The reference
    /// engine computes in f64, whatever the number type.
    #[must_use]
    pub fn engine(mut self, engine: Engine) -> Self {
        self.engine = engine;
        self
    }

    /// Sets where each layer begins; [`Mode::Sequential`] by default.
    #[must_use]
    pub fn mode(mut self, mode: Mode) -> Self {
        self.task.mode = mode;
        self
    }

    /// Sets the formulas of the propagation; [`Formulas::Exact`] by default.
    #[must_use]
    pub fn formulas(mut self, formulas: Formulas) -> Self {
        self.task.formulas = formulas;
        self
    }

    /// Sets whether [`Fitted::chi2`] is computed; false by default. It is four bytes a track more
    /// that a GPU returns.
    #[must_use]
    pub fn chi2(mut self, chi2: bool) -> Self {
        self.task.chi2 = chi2;
        self
    }

    /// Sets how tracks are mapped onto the threads of a GPU; [`IndexMap::ByTrack`] by default.
    #[must_use]
    pub fn map(mut self, map: IndexMap) -> Self {
        self.gpu.map = map;
        self
    }

    /// Sets the workgroup size on a GPU; 128 by default.
    #[must_use]
    pub fn workgroup_size(mut self, threads: u32) -> Self {
        self.gpu.workgroup_size = threads;
        self
    }

    /// Sets the number of rows of threads in a workgroup; 1 by default. A row takes an event
    /// ([`IndexMap::ByEvent`]) or a group of tracks ([`IndexMap::ByBatch`]). A workgroup of 32 and
    /// two rows is the block shape (2, 16) of the slides.
    #[must_use]
    pub fn rows(mut self, rows: u32) -> Self {
        self.gpu.rows = rows;
        self
    }

    /// Sets whether kernels have bounds checks; false by default. Checked kernels are slightly
    /// slower.
    #[must_use]
    pub fn checked(mut self, checked: bool) -> Self {
        self.gpu.checks = if checked { Checks::CHECKED } else { TRUSTED };
        self
    }

    /// Sets the approximate number of bytes of hits that go to a GPU at once; 32 MiB by default. An
    /// event is never split.
    #[must_use]
    pub fn part_bytes(mut self, bytes: u64) -> Self {
        self.gpu.part_bytes = bytes;
        self
    }

    /// Builds a fitter for f32 or f64.
    ///
    /// # Errors
    /// [`Error::Gpu`]; [`Error::NoF64`] or [`Error::NoF64OnCpu`] if the engine has no f64;
    /// [`Error::WorkgroupSize`].
    pub fn build<T: Number>(self) -> Result<Fitter<T>> {
        let Self { engine, task, gpu } = self;
        let runs = match engine.open(GpuEngine::<T>::device())? {
            Opened::Gpu(opened) => RunningEngine::Gpu(Box::new(GpuEngine::new(opened, task, gpu)?)),
            Opened::Cpu if T::PRECISION == Precision::F32 => RunningEngine::Cpu,
            Opened::Cpu => return Err(Error::NoF64OnCpu),
            Opened::Reference => RunningEngine::Reference,
        };
        Ok(Fitter { task, runs })
    }
}

impl<T: Number> Fitter<T> {
    /// Returns the fitted tracks of a batch, in the layout of the batch.
    ///
    /// # Errors
    /// [`Error::EventTooLarge`]; [`Error::OutOfMemory`]; [`Error::Gpu`].
    pub fn fit(&self, batch: &Batch<T>) -> Result<Fitted<T>> {
        let mut fitted = Fitted::new(batch.layout(), self.task)?;
        self.fit_into(batch, &mut fitted)?;
        Ok(fitted)
    }

    /// Fits a batch into the result of an earlier fit. The memory is reused if the layout is the
    /// same.
    ///
    /// # Errors
    /// As [`Fitter::fit`]. The content of `fitted` is unspecified after an error.
    pub fn fit_into(&self, batch: &Batch<T>, fitted: &mut Fitted<T>) -> Result<()> {
        fitted.prepare(batch.layout(), self.task)?;
        match &self.runs {
            RunningEngine::Gpu(engine) => engine.fit(batch, fitted),
            RunningEngine::Cpu => fit_on_cpu(batch, self.task, fitted),
            RunningEngine::Reference => {
                reference::fit(batch, self.task, fitted);
                Ok(())
            }
        }
    }

    /// Returns how long the kernel takes in each of `rounds` rounds, measured by the GPU's clock,
    /// with the batch already in device memory. Returns None on the CPU and on a GPU without
    /// timestamps.
    ///
    /// # Errors
    /// As [`Fitter::fit`].
    pub fn time(&self, batch: &Batch<T>, rounds: usize) -> Result<Option<Vec<Duration>>> {
        match &self.runs {
            RunningEngine::Gpu(engine) => engine.time(batch, rounds),
            RunningEngine::Cpu | RunningEngine::Reference => Ok(None),
        }
    }

    /// Returns where each layer begins.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.task.mode
    }

    /// Returns the formulas of the propagation.
    #[must_use]
    pub fn formulas(&self) -> Formulas {
        self.task.formulas
    }

    /// Describes the engine in words.
    #[must_use]
    pub fn description(&self) -> String {
        match &self.runs {
            RunningEngine::Gpu(engine) => engine.description(),
            RunningEngine::Cpu => format!("CPU, f32, {} threads", rayon::current_num_threads()),
            RunningEngine::Reference => "reference, f64".to_owned(),
        }
    }

    /// Returns the device if the engine is a GPU.
    #[must_use]
    pub fn gpu(&self) -> Option<&Gpu> {
        match &self.runs {
            RunningEngine::Gpu(engine) => Some(engine.gpu()),
            RunningEngine::Cpu | RunningEngine::Reference => None,
        }
    }
}

impl Fitter<f32> {
    /// Returns the default options.
    #[must_use]
    pub fn builder() -> FitterBuilder {
        let gpu = GpuSettings {
            map: IndexMap::default(),
            workgroup_size: 128,
            rows: 1,
            checks: TRUSTED,
            part_bytes: 32 << 20,
        };
        FitterBuilder { engine: Engine::Auto, task: Task::default(), gpu }
    }
}

/// Fits on the CPU engine, which computes in f32 alone.
fn fit_on_cpu<T: Number>(batch: &Batch<T>, task: Task, fitted: &mut Fitted<T>) -> Result<()> {
    let (batch, fitted): (&dyn Any, &mut dyn Any) = (batch, fitted);
    match (batch.downcast_ref(), fitted.downcast_mut()) {
        (Some(batch), Some(fitted)) => {
            cpu::fit(batch, task, fitted);
            Ok(())
        }
        _ => Err(Error::NoF64OnCpu),
    }
}
