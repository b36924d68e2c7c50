//! Options of the engine and of the scheme.

use clap::{Args, ValueEnum};
use command_host::Engines;
use lumi::{LumiCounter, LumiCounterBuilder, Scheme};

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
}
