//! `lumi count`.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use command_host::{Code, Failure, MessageOptions, check_distinct, write_file};
use lumi::io::Banks;
use lumi::{Error, Schemata, Sums};

use super::calibration::CalibrationOptions;
use super::engine::{EngineOptions, SchemeName};
use super::printout::Printout;

/// Counts the lumi events of a file and makes their summary banks
#[derive(Args)]
pub(super) struct Count {
    /// Events, as `lumi simulate` writes them
    #[arg(value_name = "EVENTS.npz")]
    input: PathBuf,
    #[command(flatten)]
    calibration: CalibrationOptions,
    /// Write the banks; `lumi decode`, `average` and `histogram` read them
    #[arg(long, short, value_name = "BANKS.npz", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Write all counters of all lumi events as columns, neither scaled nor clamped
    #[arg(long, value_name = "FILE.npz|.parquet", help_heading = "Output")]
    sums: Option<PathBuf>,
    /// How sums are computed
    #[arg(long, value_enum, default_value = "exact")]
    scheme: SchemeName,
    #[command(flatten)]
    engine: EngineOptions,
    #[command(flatten)]
    printout: Printout,
}

impl Count {
    pub(super) fn run(&self, messages: MessageOptions) -> Result<(), Failure> {
        let calibration = self.calibration.files()?;
        let inputs = std::iter::once(&self.input).chain(&calibration).map(PathBuf::as_path);
        check_distinct(inputs, [self.output.as_deref(), self.sums.as_deref()].into_iter().flatten())?;
        let is_parquet = self.sums.as_deref().map(is_parquet).transpose()?;
        let calorimeter = self.calibration.read()?;
        self.printout.check(&Schemata::new())?;
        let start = Instant::now();
        let batch = lumi::io::read_events(&self.input)?;
        messages.timed(format_args!("read {} events", batch.len()), start.elapsed());
        let (found, wanted) = (batch.cells(), calorimeter.cells().len());
        if found != wanted {
            let message = format!("{}: {}", self.input.display(), Error::Cells { found, wanted });
            return Err(Failure::new(Code::Data, message)
                .with_help("give the calorimeter of these events: --calibration FILE.toml"));
        }
        let builder = self.engine.builder_for(batch.lumi_events(), messages);
        let counter = builder.scheme(self.scheme.into()).calorimeter(calorimeter).build()?;
        let start = Instant::now();
        let counted = counter.count(&batch)?;
        let what = format_args!("{}: counted {} lumi events", counter.description(), counted.len());
        messages.timed(what, start.elapsed());
        let event_ids = counted.iter().map(|counters| counters.event_id).collect();
        let banks = Banks { event_ids, banks: counter.summaries(&batch, &counted) };
        if let Some(output) = &self.output {
            write_file(output, "lumi", |out| lumi::io::write_banks(out, &banks))?;
        }
        if let (Some(path), Some(is_parquet)) = (&self.sums, is_parquet) {
            write_sums(path, is_parquet, &Sums::of(counter.schemata(), counter.calorimeter(), &batch, &counted))?;
        }
        self.printout.print(counter.schemata(), &banks)
    }
}

/// Returns whether a name says Parquet, or NumPy's format.
fn is_parquet(path: &Path) -> Result<bool, Failure> {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("parquet") => Ok(true),
        Some("npz") => Ok(false),
        _ => Err(Failure::usage(
            format!("--sums {}: the ending says no format", path.display()),
            "name a file .npz or .parquet",
        )),
    }
}

fn write_sums(path: &Path, is_parquet: bool, sums: &Sums) -> Result<(), Failure> {
    if !is_parquet {
        return write_file(path, "lumi", |out| lumi::io::write_sums(out, sums));
    }
    let mut bytes = Vec::new();
    lumi::io::write_parquet(&mut bytes, sums)?;
    write_file(path, "lumi", |out| out.write_all(&bytes))
}
