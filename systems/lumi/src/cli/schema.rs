//! `lumi schema`.

use std::io::{self, Write};

use clap::Args;
use command_host::{Failure, table, write_json};
use lumi::{FieldLayout, Schemata};

/// Prints the layout of summary banks, with its version, for programs that decode banks
#[derive(Args)]
pub(super) struct Schema {
    /// JSON instead of a table
    #[arg(long)]
    json: bool,
}

impl Schema {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let layout = Schemata::new().layout();
        let mut out = io::stdout().lock();
        if self.json {
            return Ok(write_json(&mut out, &layout)?);
        }
        writeln!(out, "version {}", layout.version)?;
        for bank in &layout.banks {
            let lumi::BankLayout { name, key, words, fields } = bank;
            writeln!(out, "{name}: key {key:08x}, {words} words, the first {fields} fields")?;
        }
        let mut table = table(["field", "word", "bit", "bits", "shift", "scale", "unit"], 1);
        for FieldLayout { field, unit, .. } in &layout.fields {
            let (word, bit) = (field.offset / 32, field.offset % 32);
            let numbers = [word, bit, field.size].map(|number| number.to_string());
            let scaling = [field.spec.shift, field.spec.scale].map(|number| number.to_string());
            let cells = std::iter::once(field.spec.name.clone()).chain(numbers).chain(scaling);
            table.add_row(cells.chain([unit.unwrap_or_default().to_owned()]));
        }
        writeln!(out, "{table}")?;
        Ok(())
    }
}
