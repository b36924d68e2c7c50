//! Options of the engine and of the scheme.

use clap::{Args, ValueEnum};
use command_host::{Engines, MessageOptions};
use kernel_host::Gpu;
use lumi::{AdapterChoice, Engine, LumiCounter, LumiCounterBuilder, Scheme, is_worth_a_gpu};

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum SchemeName {
    /// Integer gains, lumi events only: exact
    Exact,
    /// Energies times 10^8 in 64 bits, a workgroup an event
    Fixed,
    /// f32, a thread an event, as in earlier programs; depends on the order
    Float,
}

impl From<SchemeName> for Scheme {
    fn from(name: SchemeName) -> Self {
        match name {
            SchemeName::Exact => Self::Exact,
            SchemeName::Fixed => Self::Fixed,
            SchemeName::Float => Self::Float,
        }
    }
}

#[derive(Args)]
pub(super) struct EngineOptions {
    #[command(flatten)]
    asked: command_host::EngineOptions<Self>,
}

impl Engines for EngineOptions {
    const WHAT: &str = "What counts";
}

impl EngineOptions {
    pub(super) fn builder(&self) -> LumiCounterBuilder {
        LumiCounter::builder().engine(self.asked.engine())
    }

    /// Returns options of a counter of so many lumi events. If the CPU is faster, it opens no
    /// GPU and says so.
    pub(super) fn builder_for(&self, lumi_events: usize, messages: MessageOptions) -> LumiCounterBuilder {
        if self.asked.engine() != Engine::Auto || is_worth_a_gpu(lumi_events) {
            return self.builder();
        }
        messages.note(format_args!("the CPU counts: a GPU is no faster for {lumi_events} lumi events"));
        LumiCounter::builder().engine(Engine::Cpu)
    }

    /// Returns the engine that a bench times: a GPU if `auto` opens one, whatever the number of
    /// events.
    pub(super) fn timed(&self) -> Result<Engine, lumi::Error> {
        match self.asked.engine() {
            Engine::Auto => {
                let counter = self.builder().build()?;
                let on = |gpu: &Gpu| Engine::Gpu(AdapterChoice::Open(gpu.clone()));
                Ok(counter.gpu().map_or(Engine::Cpu, on))
            }
            engine => Ok(engine),
        }
    }
}
