//! Options that say what counts, and how.

use clap::{Args, ValueEnum};
use lumi::{AdapterChoice, Engine, LumiCounter, LumiCounterBuilder, Scheme};

#[derive(Clone, Copy, ValueEnum)]
enum EngineName {
    /// A hardware GPU if there is one, else the CPU
    Auto,
    /// A hardware GPU, or the one of --adapter
    Gpu,
    /// All cores
    Cpu,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum SchemeName {
    /// Whole-number gains, lumi events only: exact
    Exact,
    /// Energies times 10^8 in 64 bits, a workgroup an event
    Fixed,
    /// f32, a thread an event: how it was done before; depends on the order
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
    /// What counts
    #[arg(long, value_enum, default_value = "auto", value_name = "ENGINE", help_heading = "Engine")]
    engine: EngineName,
    /// GPU by index, part of its name, or PCI id
    #[arg(long, value_name = "INDEX|NAME|PCI", help_heading = "Engine")]
    adapter: Option<AdapterChoice>,
}

impl EngineOptions {
    pub(super) fn builder(&self) -> LumiCounterBuilder {
        let engine = match (&self.adapter, self.engine) {
            (_, EngineName::Cpu) => Engine::Cpu,
            (Some(adapter), _) => Engine::Gpu(adapter.clone()),
            (None, EngineName::Gpu) => Engine::Gpu(AdapterChoice::Hardware),
            (None, EngineName::Auto) => Engine::Auto,
        };
        LumiCounter::builder().engine(engine)
    }
}
