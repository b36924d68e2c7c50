//! `lumi calibration`.

use std::path::PathBuf;

use clap::Args;
use command_host::{Failure, check_distinct, write_file};
use lumi::Calorimeter;

/// Writes the built-in calorimeter as files to start from: a TOML file, and in the same folder a
/// CSV file of its cells
///
/// `lumi count --calibration FILE.toml` counts with other gains, pedestals and places.
#[derive(Args)]
pub(super) struct Calibration {
    /// File to write; the cells go to FILE.csv
    #[arg(value_name = "FILE.toml")]
    output: PathBuf,
}

impl Calibration {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let cells = self.output.with_extension("csv");
        check_distinct([], [&*self.output, &*cells])?;
        // The user names the TOML file only: the CSV file is replaced with its own TOML file alone.
        if cells.exists() && !lumi::io::calorimeter_cells(&self.output).is_ok_and(|named| named == cells) {
            return Err(Failure::usage(
                format!("{} would be replaced, which {} does not name", cells.display(), self.output.display()),
                "give the file another name, or move the CSV file away",
            ));
        }
        let calorimeter = Calorimeter::lhcb();
        let name = cells.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        write_file(&cells, "lumi", |out| lumi::io::write_cells(out, &calorimeter))?;
        write_file(&self.output, "lumi", |out| lumi::io::write_calorimeter(out, &calorimeter, &name))
    }
}

/// Which calorimeter counts.
#[derive(Args)]
pub(super) struct CalibrationOptions {
    /// Geometry and calibration of the calorimeter, as `lumi calibration` writes them
    /// [default: LHCb's in outline]
    #[arg(long, value_name = "FILE.toml", help_heading = "Input")]
    calibration: Option<PathBuf>,
}

impl CalibrationOptions {
    /// Returns the files that are read: the TOML file, and the CSV file that it names.
    pub(super) fn files(&self) -> Result<Vec<PathBuf>, Failure> {
        let Some(path) = &self.calibration else { return Ok(Vec::new()) };
        Ok(vec![path.clone(), lumi::io::calorimeter_cells(path)?])
    }

    pub(super) fn read(&self) -> Result<Calorimeter, Failure> {
        Ok(match &self.calibration {
            Some(path) => lumi::io::read_calorimeter(path)?,
            None => Calorimeter::lhcb(),
        })
    }
}
