//! The counter: builds an engine once, then counts.

use kernel_host::{Checks, Engine, Gpu, Opened};

use crate::calorimeter::Calorimeter;
use crate::counters::{EventCounters, Scheme};
use crate::engine::cpu::{self, Settings};
use crate::engine::gpu::{GpuEngine, GpuSettings, KernelTime};
use crate::error::{Error, Result};
use crate::event::EventBatch;
use crate::schema::Schemata;

/// What a [`LumiCounter`] is built from.
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
    runs: Runs,
}

enum Runs {
    Gpu(Box<GpuEngine>),
    Cpu,
}

impl LumiCounterBuilder {
    /// What counts; [`Engine::Auto`] if not given.
    #[must_use]
    pub fn engine(mut self, engine: Engine) -> Self {
        self.engine = engine;
        self
    }

    /// How it is summed; [`Scheme::Exact`] if not given.
    #[must_use]
    pub fn scheme(mut self, scheme: Scheme) -> Self {
        self.settings.scheme = scheme;
        self
    }

    /// The calorimeter; [`Calorimeter::lhcb`] if not given.
    #[must_use]
    pub fn calorimeter(mut self, calorimeter: Calorimeter) -> Self {
        self.calorimeter = calorimeter;
        self
    }

    /// Of two vertices whose distance squared is below this many times the sum of their variances, the one with fewer tracks
    /// is dropped; 25 if not given.
    #[must_use]
    pub fn least_chi2(mut self, least_chi2: f32) -> Self {
        self.settings.least_chi2 = least_chi2;
        self
    }

    /// Threads of a workgroup on a GPU, a power of two from 32 to 256; what each kernel likes best if not given. Sums are
    /// the same, but in the float scheme.
    #[must_use]
    pub fn workgroup_size(mut self, threads: u32) -> Self {
        self.gpu.workgroup_size = Some(threads.clamp(32, 256).next_power_of_two());
        self
    }

    /// Kernels that guard themselves against their own faults; a little slower.
    #[must_use]
    pub fn checked(mut self, checked: bool) -> Self {
        self.gpu.checks = if checked { Checks::Checked } else { Checks::Trusted };
        self
    }

    /// The most bytes of one kind (digits, hits, ...) that go to a GPU at once, if it allows for more; larger batches are
    /// counted in parts.
    #[must_use]
    pub fn most_column_bytes(mut self, bytes: u64) -> Self {
        self.gpu.most_column_bytes = bytes;
        self
    }

    /// Builds it: opens the GPU and compiles the kernels.
    ///
    /// # Errors
    /// [`Error::Gpu`]; [`Error::NoReference`].
    pub fn build(self) -> Result<LumiCounter> {
        let Self { calorimeter, engine, settings, gpu } = self;
        let schemata = Schemata::new();
        let runs = match engine.open(GpuEngine::device())? {
            Opened::Gpu(opened) => Runs::Gpu(Box::new(GpuEngine::new(opened, &calorimeter, &schemata, settings, gpu)?)),
            Opened::Cpu => Runs::Cpu,
            Opened::Reference => return Err(Error::NoReference),
        };
        Ok(LumiCounter { calorimeter, schemata, settings, runs })
    }
}

impl LumiCounter {
    /// What is to be said before it is built.
    #[must_use]
    pub fn builder() -> LumiCounterBuilder {
        LumiCounterBuilder {
            calorimeter: Calorimeter::lhcb(),
            engine: Engine::Auto,
            settings: Settings { scheme: Scheme::default(), least_chi2: 25.0 },
            gpu: GpuSettings { workgroup_size: None, checks: Checks::Trusted, most_column_bytes: u64::MAX },
        }
    }

    /// The counters of all lumi events of a batch, in their order.
    ///
    /// # Errors
    /// [`Error::Cells`] for a batch of another calorimeter; [`Error::EventTooLarge`]; [`Error::Gpu`].
    pub fn count(&self, batch: &EventBatch) -> Result<Vec<EventCounters>> {
        self.check(batch)?;
        match &self.runs {
            Runs::Gpu(engine) => engine.count(batch),
            Runs::Cpu => Ok(cpu::count(&self.calorimeter, self.settings, batch)),
        }
    }

    /// The summary banks of counted events.
    #[must_use]
    pub fn summaries(&self, batch: &EventBatch, counted: &[EventCounters]) -> Vec<Vec<u32>> {
        let bank = |counters: &EventCounters| {
            self.schemata.encode(batch.event(counters.event).header, counters, &self.calorimeter)
        };
        counted.iter().map(bank).collect()
    }

    /// How long each kernel takes on the GPU's clock, `rounds` times over, with the batch there already. None on the CPU, and
    /// on a GPU without such a clock.
    ///
    /// # Errors
    /// As [`LumiCounter::count`].
    pub fn time(&self, batch: &EventBatch, rounds: usize) -> Result<Option<Vec<KernelTime>>> {
        self.check(batch)?;
        match &self.runs {
            Runs::Gpu(engine) => engine.time(batch, rounds),
            Runs::Cpu => Ok(None),
        }
    }

    fn check(&self, batch: &EventBatch) -> Result<()> {
        let (found, wanted) = (batch.cells(), self.calorimeter.cells().len());
        if found == wanted { Ok(()) } else { Err(Error::Cells { found, wanted }) }
    }

    /// The calorimeter that it was built for.
    #[must_use]
    pub fn calorimeter(&self) -> &Calorimeter {
        &self.calorimeter
    }

    /// The schemata of its summaries.
    #[must_use]
    pub fn schemata(&self) -> &Schemata {
        &self.schemata
    }

    /// How it sums.
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        self.settings.scheme
    }

    /// What counts, for people.
    #[must_use]
    pub fn description(&self) -> String {
        match &self.runs {
            Runs::Gpu(engine) => engine.description(),
            Runs::Cpu => format!("CPU, {} threads", rayon::current_num_threads()),
        }
    }

    /// The device, if it is a GPU that counts.
    #[must_use]
    pub fn gpu(&self) -> Option<&Gpu> {
        match &self.runs {
            Runs::Gpu(engine) => Some(engine.gpu()),
            Runs::Cpu => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_no_reference_engine() {
        let refused = LumiCounter::builder().engine(Engine::Reference).build();
        assert!(matches!(refused, Err(Error::NoReference)));
    }
}
