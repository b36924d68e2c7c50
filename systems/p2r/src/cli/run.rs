//! `p2r run`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use command_host::{
    Failure, MessageOptions, check_distinct, precision_parser, rate, scientific, table, write_file, write_json,
};
use p2r::{Deviation, Fitted, Number, PULL_NAMES, Perigee, Precision, Quality, Statistics};
use serde::Serialize;

use super::input::{Input, InputOptions};
use super::options::{EngineOptions, MapName, ModeName, Shape, SpreadName};

const F64_HELP: &str = "64 bits, on the reference engine and on GPUs that have them";

/// Fits tracks of a file, or simulated ones; prints pulls and chi2, and of --spread seed the
/// statistics of the public mini-app
#[derive(Args)]
pub(super) struct Run {
    #[command(flatten)]
    input: InputOptions,
    /// Where each layer begins
    #[arg(long, value_enum, default_value = "sequential", value_name = "MODE")]
    mode: ModeName,
    /// How tracks are mapped onto the threads of a GPU
    #[arg(long, value_enum, default_value = "v1", value_name = "MAP", help_heading = "Engine")]
    map: MapName,
    /// Threads of a workgroup of a GPU: their number, or rows and columns for v2 and v3: x and y of
    /// the slides
    #[arg(long, default_value = "128", value_name = "N|ROWSxCOLUMNS", help_heading = "Engine")]
    workgroup_size: Shape,
    /// Number type
    #[arg(long, value_parser = precision_parser(F64_HELP), default_value = "f32", value_name = "TYPE", help_heading = "Engine")]
    precision: Precision,
    #[command(flatten)]
    engine: EngineOptions,
    /// Write the fitted tracks: .npz or .csv with chi2, status, pulls and the parameters at the
    /// beam line, or .npy of events x tracks x (27 numbers and a status)
    #[arg(long, short, value_name = "FILE.npz|.csv|.npy", help_heading = "Output")]
    output: Option<PathBuf>,
    /// JSON instead of tables
    #[arg(long, help_heading = "Output")]
    json: bool,
}

/// The format of an output file.
#[derive(Clone, Copy)]
enum Format {
    Arrays,
    Table,
    Array,
}

impl Format {
    /// Returns the format of a name, before anything is computed.
    fn of(path: &Path) -> Result<Self, Failure> {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("npz") => Ok(Self::Arrays),
            Some("csv") => Ok(Self::Table),
            Some("npy") => Ok(Self::Array),
            _ => Err(Failure::usage(
                format!("--output {}: the ending says no format", path.display()),
                "name a file .npz, .csv or .npy",
            )),
        }
    }
}

/// The output of `--json`.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    statistics: &'a Statistics,
    quality: &'a Quality,
}

impl Run {
    pub(super) fn run(&self, messages: MessageOptions) -> Result<(), Failure> {
        match self.precision {
            Precision::F32 => self.run_in::<f32>(messages),
            Precision::F64 => self.run_in::<f64>(messages),
        }
    }

    fn run_in<T: Number>(&self, messages: MessageOptions) -> Result<(), Failure> {
        check_distinct(self.input.files().iter().map(PathBuf::as_path), self.output.as_deref())?;
        if self.mode == ModeName::SeedState && self.input.has_material() {
            let help = "--mode sequential continues from layer to layer";
            return Err(Failure::usage("--detector: in --mode seed-state no track passes a layer", help));
        }
        let format = self.output.as_deref().map(Format::of).transpose()?;
        let builder = self.engine.builder(self.input.spread()).mode(self.mode.into()).map(self.map.into()).chi2(true);
        let shape = self.workgroup_size;
        let fitter = builder.workgroup_size(shape.threads()).rows(shape.rows).build::<T>()?;
        let input: Input<T> = self.input.read(messages)?;
        let start = Instant::now();
        let fitted = fitter.fit(&input.batch)?;
        let time = start.elapsed();
        if let (Some(path), Some(format)) = (&self.output, format) {
            self.write(path, format, &fitted, &input)?;
            messages.timed(format_args!("fitted and wrote {}", path.display()), start.elapsed());
        }
        let labels = &input.labels;
        let tracks = labels.track_ids.len();
        let statistics = Statistics::of(&input.batch, &fitted, tracks);
        let quality = Quality::of(&fitted, fitter.mode(), tracks, labels.truth.as_deref());
        let mut out = io::stdout().lock();
        if self.json {
            return Ok(write_json(&mut out, &Report { statistics: &statistics, quality: &quality })?);
        }
        writeln!(out, "{}", fitter.description())?;
        writeln!(
            out,
            "{tracks} tracks, {} layers: {:.1} ms, {:.3e} tracks/s, from host memory to host memory, once",
            input.batch.layout().layers,
            1e3 * time.as_secs_f64(),
            rate(tracks, time)
        )?;
        if self.input.spread() == SpreadName::Seed {
            print_statistics(&mut out, &statistics)?;
        }
        for (what, count) in &statistics.flagged {
            writeln!(out, "{count} {what}")?;
        }
        print_quality(&mut out, &quality)?;
        Ok(())
    }

    fn write<T: Number>(
        &self,
        path: &Path,
        format: Format,
        fitted: &Fitted<T>,
        input: &Input<T>,
    ) -> Result<(), Failure> {
        let mode = self.mode.into();
        let perigees = Perigee::all(&input.batch, fitted, &input.labels.charges);
        write_file(path, "p2r", |out| match format {
            Format::Arrays => p2r::io::write_arrays(out, fitted, mode, &input.labels, &perigees),
            Format::Table => p2r::io::write_table(out, fitted, mode, &input.labels, &perigees),
            Format::Array => p2r::io::write(out, fitted),
        })
    }
}

fn print_quality(out: &mut impl Write, quality: &Quality) -> io::Result<()> {
    let Quality { tracks, hits, chi2_per_ndf, pulls } = quality;
    let chi2 = chi2_per_ndf.map_or_else(String::new, |chi2| format!(", chi2/ndf {chi2:.3}"));
    writeln!(out, "{tracks} tracks without a fault: {hits:.1} hits on average{chi2}")?;
    if pulls.is_empty() {
        return Ok(());
    }
    let mut table = table(["pull", "mean", "width"], 1);
    for (name, Deviation { mean, spread }) in PULL_NAMES.iter().zip(pulls) {
        table.add_row([(*name).to_owned(), format!("{mean:.3}"), format!("{spread:.3}")]);
    }
    writeln!(out, "{table}")
}

/// Prints the statistics of the public mini-app, which are of copies of one track.
fn print_statistics(out: &mut impl Write, statistics: &Statistics) -> io::Result<()> {
    let mut table = table(["", "mean", "std/mean", "(fit - hit)/hit, mean", "std"], 1);
    for ((name, place), residual) in
        ["x [cm]", "y [cm]", "z [cm]", "r [cm]"].iter().zip(statistics.position).zip(statistics.residual)
    {
        let Deviation { mean, spread } = place;
        table.add_row([
            (*name).to_owned(),
            format!("{mean:.6}"),
            scientific(spread),
            scientific(residual.mean),
            scientific(residual.spread),
        ]);
    }
    for (name, mean) in [("pt [GeV]", statistics.pt), ("phi", statistics.phi), ("theta", statistics.theta)] {
        table.add_row([name.to_owned(), format!("{mean:.6}")]);
    }
    writeln!(out, "{table}")?;
    writeln!(out, "{} tracks, {} NaN, {} failed", statistics.tracks, statistics.nans, statistics.failed)
}
