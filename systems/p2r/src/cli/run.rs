//! `p2r run`.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use command_host::{Failure, precision_parser, rate, scientific, table, write_file, write_json};
use p2r::{Deviation, Number, Precision, Statistics};

use super::options::{EngineOptions, InputOptions, MapName, ModeName};

const F64_HELP: &str = "64 bits, on the reference engine and on GPUs that have them";

/// Fits simulated tracks, and prints what the public mini-app prints
#[derive(Args)]
pub(super) struct Run {
    /// Events
    #[arg(long, default_value_t = 20, value_name = "N", help_heading = "Input")]
    events: usize,
    /// Tracks of an event
    #[arg(long, default_value_t = 8192, value_name = "N", help_heading = "Input")]
    tracks: usize,
    /// Tracks that are laid out together
    #[arg(long, default_value_t = 32, value_name = "N", help_heading = "Input")]
    bsize: usize,
    #[command(flatten)]
    input: InputOptions,
    /// Where each layer begins
    #[arg(long, value_enum, default_value = "sequential", value_name = "MODE")]
    mode: ModeName,
    /// How tracks are mapped onto the threads of a GPU
    #[arg(long, value_enum, default_value = "v1", value_name = "MAP", help_heading = "Engine")]
    map: MapName,
    /// Threads of a workgroup of a GPU
    #[arg(long, default_value_t = 128, value_name = "N", help_heading = "Engine")]
    workgroup_size: u32,
    /// Numbers
    #[arg(long, value_parser = precision_parser(F64_HELP), default_value = "f32", value_name = "TYPE", help_heading = "Engine")]
    precision: Precision,
    #[command(flatten)]
    engine: EngineOptions,
    /// Write the fitted tracks: for numpy.load, events x tracks x (27 numbers and a status)
    #[arg(long, value_name = "FILE.npy")]
    output: Option<PathBuf>,
    /// JSON instead of a table
    #[arg(long)]
    json: bool,
}

impl Run {
    pub(super) fn run(&self) -> Result<(), Failure> {
        match self.precision {
            Precision::F32 => self.run_in::<f32>(),
            Precision::F64 => self.run_in::<f64>(),
        }
    }

    fn run_in<T: Number>(&self) -> Result<(), Failure> {
        let builder = self.engine.builder().mode(self.mode.into()).map(self.map.into());
        let fitter = builder.workgroup_size(self.workgroup_size).build::<T>()?;
        let batch = self.input.simulate::<T>(self.events, self.tracks, self.bsize)?;
        let start = Instant::now();
        let fitted = fitter.fit(&batch)?;
        let time = start.elapsed();
        if let Some(path) = &self.output {
            write_file(path, "p2r", |out| p2r::io::write(out, &fitted))?;
        }
        let statistics = Statistics::of(&batch, &fitted);
        let mut out = io::stdout().lock();
        if self.json {
            return Ok(write_json(&mut out, &statistics)?);
        }
        writeln!(out, "{}", fitter.description())?;
        let tracks = self.events * self.tracks;
        writeln!(
            out,
            "{} events of {} tracks, {} layers: {:.1} ms, {:.3e} tracks/s, from host memory to host memory, once",
            self.events,
            self.tracks,
            self.input.layers(),
            1e3 * time.as_secs_f64(),
            rate(tracks, time)
        )?;
        print(&mut out, &statistics)?;
        Ok(())
    }
}

fn print(out: &mut impl Write, statistics: &Statistics) -> io::Result<()> {
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
    writeln!(out, "{} tracks, {} NaN, {} failed", statistics.tracks, statistics.nans, statistics.failed)?;
    for (what, count) in &statistics.flagged {
        writeln!(out, "{count} {what}")?;
    }
    Ok(())
}
