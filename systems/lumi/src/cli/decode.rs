//! `lumi decode`.

use std::path::PathBuf;

use clap::Args;
use command_host::Failure;
use lumi::Schemata;

use super::printout::Printout;

/// Prints summary banks
#[derive(Args)]
pub(super) struct Decode {
    /// Banks, as `lumi count --output` writes them
    #[arg(value_name = "BANKS.npz")]
    input: PathBuf,
    #[command(flatten)]
    printout: Printout,
}

impl Decode {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let schemata = Schemata::new();
        self.printout.check(&schemata)?;
        self.printout.print(&schemata, &lumi::io::read_banks(&self.input)?)
    }
}
