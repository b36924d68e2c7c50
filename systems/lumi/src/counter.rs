//! The counter: builds an engine once, then counts.

use kernel_host::{Checks, Engine, Gpu, Opened};

use crate::calorimeter::Calorimeter;
use crate::counters::{EventCounters, Scheme, Settings};
use crate::engine::cpu;
use crate::engine::gpu::trust::TRUSTED;
use crate::engine::gpu::{GpuEngine, GpuSettings, KernelTime};
use crate::error::{Error, Result};
use crate::event::EventBatch;
use crate::summary::Schemata;

/// Returns whether a GPU counts so many lumi events faster than the CPU, from host memory to
/// counters: the rule of [`Engine::Auto`].
#[must_use]
pub fn is_worth_a_gpu(lumi_events: usize) -> bool {
    // One H100 and 16 cores of its host (lab/records/2026-11-27-lumi-figures.md): a call takes
    // 0.9 ms + 2.1 us a lumi event on the GPU, and 0.2 ms + 60 us a lumi event and core on the CPU.
    // They meet at 430 lumi events, which is 27 a core.
    lumi_events >= 27 * rayon::current_num_threads()
}

/// Options of a [`LumiCounter`]; see [`LumiCounter::builder`].
#[derive(Clone, Debug)]
pub struct LumiCounterBuilder {
    calorimeter: Calorimeter,
    engine: Engine,
    settings: Settings,
    gpu: GpuSettings,
}

/// Counts the lumi events of batches.
pub struct LumiCounter {
    calorimeter: Calorimeter,
    schemata: Schemata,
    settings: Settings,
    runs: RunningEngine,
}

enum RunningEngine {
    Gpu(Box<GpuEngine>),
    /// The GPU, or the CPU for batches that are not worth it.
    Either(Box<GpuEngine>),
    Cpu,
}

impl LumiCounterBuilder {
    /// Sets the engine; [`Engine::Auto`] by default: a hardware GPU if there is one, for batches
    /// that it counts faster than the CPU ([`is_worth_a_gpu`]).
    #[must_use]
    pub fn engine(mut self, engine: Engine) -> Self {
        self.engine = engine;
        self
    }

    /// Sets the scheme; [`Scheme::Exact`] by default.
    #[must_use]
    pub fn scheme(mut self, scheme: Scheme) -> Self {
        self.settings.scheme = scheme;
        self
    }

    /// Sets the calorimeter; [`Calorimeter::lhcb`] by default.
    #[must_use]
    pub fn calorimeter(mut self, calorimeter: Calorimeter) -> Self {
        self.calorimeter = calorimeter;
        self
    }

    /// Sets the cut that separates vertices; 25 by default. If the squared distance of two vertices
    /// is below this many times the sum of their variances, the vertex with fewer tracks is
    /// dropped.
    #[must_use]
    pub fn least_chi2(mut self, least_chi2: f32) -> Self {
        self.settings.least_chi2 = least_chi2;
        self
    }

    /// Sets the workgroup size on a GPU, a power of two from 32 to 256. By default each kernel has
    /// its own size. The size changes no sum, except with [`Scheme::Float`].
    #[must_use]
    pub fn workgroup_size(mut self, threads: u32) -> Self {
        self.gpu.workgroup_size = Some(threads.clamp(32, 256).next_power_of_two());
        self
    }

    /// Sets whether kernels have bounds checks; false by default. Checked kernels are slightly
    /// slower.
    #[must_use]
    pub fn checked(mut self, checked: bool) -> Self {
        self.gpu.checks = if checked { Checks::CHECKED } else { TRUSTED };
        self
    }

    /// Sets the largest number of bytes of one column (digits, hits, ...) that go to a GPU at once.
    /// Larger batches are counted in parts. By default the device sets the limit.
    #[must_use]
    pub fn most_column_bytes(mut self, bytes: u64) -> Self {
        self.gpu.most_column_bytes = bytes;
        self
    }

    /// Builds a counter: opens the GPU and compiles the kernels.
    ///
    /// # Errors
    /// [`Error::Gpu`]; [`Error::NoReference`].
    pub fn build(self) -> Result<LumiCounter> {
        let Self { calorimeter, engine, settings, gpu } = self;
        let schemata = Schemata::new();
        let is_auto = engine == Engine::Auto;
        let runs = match engine.open(GpuEngine::device())? {
            Opened::Gpu(opened) => {
                let engine = Box::new(GpuEngine::new(opened, &calorimeter, &schemata, settings, gpu)?);
                if is_auto { RunningEngine::Either(engine) } else { RunningEngine::Gpu(engine) }
            }
            Opened::Cpu => RunningEngine::Cpu,
            Opened::Reference => return Err(Error::NoReference),
        };
        Ok(LumiCounter { calorimeter, schemata, settings, runs })
    }
}

impl LumiCounter {
    /// Returns the default options.
    #[must_use]
    pub fn builder() -> LumiCounterBuilder {
        LumiCounterBuilder {
            calorimeter: Calorimeter::lhcb(),
            engine: Engine::Auto,
            settings: Settings { scheme: Scheme::default(), least_chi2: 25.0 },
            gpu: GpuSettings { workgroup_size: None, checks: TRUSTED, most_column_bytes: u64::MAX },
        }
    }

    /// Returns the counters of all lumi events of a batch, in the order of the batch.
    ///
    /// # Errors
    /// [`Error::Cells`] if the batch belongs to another calorimeter; [`Error::EventTooLarge`];
    /// [`Error::Gpu`].
    pub fn count(&self, batch: &EventBatch) -> Result<Vec<EventCounters>> {
        self.check(batch)?;
        match &self.runs {
            RunningEngine::Gpu(engine) => engine.count(batch),
            RunningEngine::Either(engine) if is_worth_a_gpu(batch.lumi_events()) => engine.count(batch),
            RunningEngine::Either(_) | RunningEngine::Cpu => Ok(cpu::count(&self.calorimeter, self.settings, batch)),
        }
    }

    /// Returns the summary banks of counted events.
    #[must_use]
    pub fn summaries(&self, batch: &EventBatch, counted: &[EventCounters]) -> Vec<Vec<u32>> {
        let bank = |counters: &EventCounters| {
            self.schemata.encode(batch.event(counters.event).header, counters, &self.calorimeter)
        };
        counted.iter().map(bank).collect()
    }

    /// Returns how long each kernel takes in `rounds` rounds, measured by the GPU's clock, with the
    /// batch already in device memory. Returns None on the CPU and on a GPU without timestamps.
    ///
    /// # Errors
    /// As [`LumiCounter::count`].
    pub fn time(&self, batch: &EventBatch, rounds: usize) -> Result<Option<Vec<KernelTime>>> {
        self.check(batch)?;
        match &self.runs {
            RunningEngine::Gpu(engine) | RunningEngine::Either(engine) => engine.time(batch, rounds),
            RunningEngine::Cpu => Ok(None),
        }
    }

    fn check(&self, batch: &EventBatch) -> Result<()> {
        let (found, wanted) = (batch.cells(), self.calorimeter.cells().len());
        if found == wanted { Ok(()) } else { Err(Error::Cells { found, wanted }) }
    }

    /// Returns the calorimeter.
    #[must_use]
    pub fn calorimeter(&self) -> &Calorimeter {
        &self.calorimeter
    }

    /// Returns the schemata of the summaries.
    #[must_use]
    pub fn schemata(&self) -> &Schemata {
        &self.schemata
    }

    /// Returns the scheme.
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        self.settings.scheme
    }

    /// Describes the engine in words.
    #[must_use]
    pub fn description(&self) -> String {
        match &self.runs {
            RunningEngine::Gpu(engine) | RunningEngine::Either(engine) => engine.description(),
            RunningEngine::Cpu => format!("CPU, {} threads", rayon::current_num_threads()),
        }
    }

    /// Returns the device if the engine is a GPU.
    #[must_use]
    pub fn gpu(&self) -> Option<&Gpu> {
        match &self.runs {
            RunningEngine::Gpu(engine) | RunningEngine::Either(engine) => Some(engine.gpu()),
            RunningEngine::Cpu => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_events_are_for_the_cpu() {
        let threads = rayon::current_num_threads();
        assert!(!is_worth_a_gpu(0) && !is_worth_a_gpu(6 * threads) && is_worth_a_gpu(63 * threads));
    }

    #[test]
    fn there_is_no_reference_engine() {
        let refused = LumiCounter::builder().engine(Engine::Reference).build();
        assert!(matches!(refused, Err(Error::NoReference)));
    }
}
