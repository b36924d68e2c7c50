//! `p2r scan`.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use command_host::{Chart, Failure, line_chart, median, rate, scientific, table};

use super::check::check;
use super::options::{EngineOptions, InputOptions, MapName, from_host};

/// Throughput of one event of ever more tracks, until the device is full: a table and a picture
///
/// The first tracks of each answer are held against the reference engine.
#[derive(Args)]
pub(super) struct Scan {
    /// Numbers of tracks
    #[arg(
        long,
        default_values_t = [32, 128, 512, 2048, 8192, 32_768, 131_072, 524_288],
        value_delimiter = ',',
        value_name = "N,N,...",
        help_heading = "Input"
    )]
    tracks: Vec<usize>,
    #[command(flatten)]
    input: InputOptions,
    /// Tracks that are laid out together
    #[arg(long, default_value_t = 32, value_name = "N", help_heading = "Input")]
    bsize: usize,
    /// How tracks are mapped onto the threads of a GPU
    #[arg(long, value_enum, default_values = ["v1", "v2", "v3"], value_delimiter = ',', value_name = "MAP,MAP,...")]
    map: Vec<MapName>,
    /// Threads of a workgroup of a GPU
    #[arg(long, default_value_t = 128, value_name = "N")]
    workgroup_size: u32,
    /// Rounds of each
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Draw them, too
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    engine: EngineOptions,
}

impl Scan {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let mut lines: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
        let mut description = String::new();
        for &map in &self.map {
            let fitter = self.engine.builder().map(map.into()).workgroup_size(self.workgroup_size).build::<f32>()?;
            description = fitter.description();
            let mut line = Vec::new();
            for &tracks in &self.tracks {
                let batch = self.input.simulate::<f32>(1, tracks, self.bsize)?;
                check(&fitter, &batch)?;
                let rounds = self.rounds as usize;
                let time = match fitter.time(&batch, rounds)? {
                    Some(times) => median(times),
                    None => from_host(&fitter, &batch, rounds)?,
                };
                line.push((tracks as f64, rate(tracks, time)));
            }
            if fitter.gpu().is_none() {
                lines = vec![("CPU".to_owned(), line)];
                break;
            }
            lines.push((format!("{map:?}").to_lowercase(), line));
        }
        let mut out = io::stdout().lock();
        writeln!(
            out,
            "{description}: tracks/s of one event, {} layers, groups of {}",
            self.input.layers(),
            self.bsize
        )?;
        let mut table = table(std::iter::once("tracks").chain(lines.iter().map(|(name, _)| name.as_str())), 0);
        for (row, tracks) in self.tracks.iter().enumerate() {
            let rates = lines.iter().map(|(_, line)| scientific(line[row].1));
            table.add_row(std::iter::once(tracks.to_string()).chain(rates));
        }
        writeln!(out, "{table}")?;
        match &self.plot {
            Some(path) => {
                let chart = Chart { caption: &description, x: "tracks of one event", y: "tracks/s" };
                line_chart(path, "p2r", chart, &lines)
            }
            None => Ok(()),
        }
    }
}
