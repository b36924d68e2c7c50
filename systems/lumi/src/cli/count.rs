use std::path::PathBuf;

use clap::Args;
use command_host::{Failure, check_distinct, write_file};
use lumi::io::Banks;

use super::engine::{EngineOptions, SchemeName};
use super::printout::Printout;

/// Counts the lumi events of a file and makes their summary banks
#[derive(Args)]
pub(super) struct Count {
    /// Events, as `lumi simulate` writes them
    #[arg(value_name = "EVENTS.npz")]
    input: PathBuf,
    /// Where the banks are written; `lumi decode` reads them
    #[arg(long, short, value_name = "BANKS.npz")]
    output: Option<PathBuf>,
    /// How it is summed
    #[arg(long, value_enum, default_value = "exact")]
    scheme: SchemeName,
    #[command(flatten)]
    engine: EngineOptions,
    #[command(flatten)]
    printout: Printout,
}

impl Count {
    pub(super) fn run(&self) -> Result<(), Failure> {
        check_distinct([&*self.input], self.output.as_deref())?;
        let batch = lumi::io::read_events(&self.input)?;
        let counter = self.engine.builder().scheme(self.scheme.into()).build()?;
        let counted = counter.count(&batch)?;
        let event_ids = counted.iter().map(|counters| counters.event_id).collect();
        let banks = Banks { event_ids, banks: counter.summaries(&batch, &counted) };
        if let Some(output) = &self.output {
            write_file(output, "lumi", |out| lumi::io::write_banks(out, &banks))?;
        }
        self.printout.print(counter.schemata(), &banks)
    }
}
