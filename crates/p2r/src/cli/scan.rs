//! `p2r scan`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use comfy_table::{CellAlignment, Table, presets};
use plotters::prelude::*;

use super::Failure;
use super::options::{EngineOptions, InputOptions, MapName, from_host, median, rate};

/// Throughput of one event of ever more tracks, until the device is full: a table and a picture
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
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        table.set_header(std::iter::once("tracks").chain(lines.iter().map(|(name, _)| name.as_str())));
        for (row, tracks) in self.tracks.iter().enumerate() {
            let rates = lines.iter().map(|(_, line)| format!("{:.3e}", line[row].1));
            table.add_row(std::iter::once(tracks.to_string()).chain(rates));
        }
        for column in 0..=lines.len() {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        writeln!(out, "{table}")?;
        match &self.plot {
            Some(path) => {
                draw(path, &description, &lines).map_err(|what| Failure::Plot(format!("{}: {what}", path.display())))
            }
            None => Ok(()),
        }
    }
}

const COLOURS: [RGBColor; 3] = [RGBColor(0, 90, 160), RGBColor(210, 110, 0), RGBColor(20, 130, 60)];

fn draw(path: &Path, description: &str, lines: &[(String, Vec<(f64, f64)>)]) -> Result<(), String> {
    let told = |error: &dyn std::fmt::Display| error.to_string();
    // A face of our own: no system needs to have one.
    plotters::style::register_font("sans-serif", FontStyle::Normal, dejavu::sans::regular())
        .map_err(|_| "the crate's own font cannot be read".to_owned())?;
    let points = || lines.iter().flat_map(|(_, line)| line.iter().copied());
    let range = |of: fn((f64, f64)) -> f64| {
        let (low, high) = points().map(of).fold((f64::MAX, f64::MIN_POSITIVE), |(a, b), v| (a.min(v), b.max(v)));
        low / 1.5..high * 1.5
    };
    let area = SVGBackend::new(path, (900, 600)).into_drawing_area();
    area.fill(&WHITE).map_err(|error| told(&error))?;
    let mut chart = ChartBuilder::on(&area)
        .caption(description, ("sans-serif", 20))
        .margin(15)
        .x_label_area_size(45)
        .y_label_area_size(80)
        .build_cartesian_2d(range(|point| point.0).log_scale(), range(|point| point.1).log_scale())
        .map_err(|error| told(&error))?;
    chart
        .configure_mesh()
        .x_desc("tracks of one event")
        .y_desc("tracks/s")
        .x_label_formatter(&|value| format!("{value:.0}"))
        .y_label_formatter(&|value| format!("{value:.0e}"))
        .label_style(("sans-serif", 15))
        .draw()
        .map_err(|error| told(&error))?;
    for ((name, line), colour) in lines.iter().zip(COLOURS.iter().cycle()) {
        chart
            .draw_series(LineSeries::new(line.iter().copied(), colour.stroke_width(2)).point_size(4))
            .map_err(|error| told(&error))?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 25, y)], colour.stroke_width(2)));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerRight)
        .background_style(WHITE)
        .border_style(BLACK)
        .label_font(("sans-serif", 16))
        .draw()
        .map_err(|error| told(&error))?;
    area.present().map_err(|error| told(&error))
}
