//! `p2r scan`.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use command_host::figure::{Axis, Entry, Figure, Key, Layer, Line, Marker, Panel, Point};
use command_host::{Failure, MessageOptions, PictureOptions, Rows, median, rate, scientific};

use super::check::check;
use super::options::{BenchInput, EngineOptions, MapName, Shape, count, from_host};

/// Throughput of one event of ever more tracks, for mappings and block shapes: a table and a
/// picture
///
/// The first tracks of each answer are compared with the reference engine. A row is printed when it
/// is measured.
#[derive(Args)]
pub(super) struct Scan {
    /// Numbers of tracks
    #[arg(
        long,
        default_values_t = [32, 128, 512, 2048, 8192, 32_768, 131_072, 524_288],
        value_delimiter = ',',
        value_name = "N,N,...",
        value_parser = count,
        help_heading = "Input"
    )]
    tracks: Vec<usize>,
    /// Events of so many tracks each
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = count, help_heading = "Input")]
    events: usize,
    #[command(flatten)]
    input: BenchInput,
    /// Tracks in a group of the memory layout
    #[arg(long, default_value_t = 32, value_name = "N", value_parser = count, help_heading = "Input")]
    bsize: usize,
    /// How tracks are mapped onto the threads of a GPU
    #[arg(long, value_enum, default_values = ["v1", "v2", "v3"], value_delimiter = ',', value_name = "MAP,MAP,...")]
    map: Vec<MapName>,
    /// Threads of a workgroup of a GPU: their number, or rows and columns, as in 1x32,2x16,16x2. v1
    /// has no rows
    #[arg(long, default_values = ["128"], value_delimiter = ',', value_name = "N|ROWSxCOLUMNS,...")]
    workgroup_size: Vec<Shape>,
    /// Rounds of each
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: u32,
    /// Draw the lines, too
    #[arg(long, value_name = "FILE.png|.svg|.pdf", help_heading = "Output")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    picture: PictureOptions,
    #[command(flatten)]
    engine: EngineOptions,
}

/// A line of the picture: a mapping and a block shape.
#[derive(Clone, Copy)]
struct Setup {
    map: MapName,
    shape: Shape,
}

impl Scan {
    pub(super) fn run(&self, messages: MessageOptions) -> Result<(), Failure> {
        let picture = self.picture.open_optional(self.plot.as_deref(), "p2r")?;
        let first = self.engine.builder(self.input.spread()).build::<f32>()?;
        let description = first.description();
        let setups = if first.gpu().is_some() { self.setups() } else { Vec::new() };
        let mut lines: Vec<(String, Vec<(f64, f64)>)> =
            setups.iter().map(|setup| (self.name(*setup), Vec::new())).collect();
        let build = |Setup { map, shape }: &Setup| {
            let builder = self.engine.builder(self.input.spread()).map((*map).into());
            builder.workgroup_size(shape.threads()).rows(shape.rows).build::<f32>()
        };
        let mut fitters = setups.iter().map(build).collect::<Result<Vec<_>, _>>()?;
        if lines.is_empty() {
            lines.push(("CPU".to_owned(), Vec::new()));
            fitters.push(first);
        }
        let mut out = io::stdout().lock();
        let (events, layers) = (self.events, self.input.layers());
        let of = if events == 1 { "one event".to_owned() } else { format!("{events} events") };
        writeln!(out, "{description}: tracks/s of {of}, {layers} layers, groups of {}", self.bsize)?;
        let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0).max(9);
        let rows = Rows::wide(lines.len() + 1, width);
        let names = std::iter::once("tracks".to_owned()).chain(lines.iter().map(|(name, _)| name.clone()));
        rows.write(&mut out, &names.collect::<Vec<_>>())?;
        for &tracks in &self.tracks {
            let batch = self.input.simulate::<f32>(events, tracks, self.bsize)?;
            let total = events * tracks;
            let mut row = vec![tracks.to_string()];
            for (line, fitter) in lines.iter_mut().zip(&fitters) {
                messages.detail(format_args!("{}, {tracks} tracks", line.0));
                check(fitter, &batch)?;
                let rounds = self.rounds as usize;
                let time = match fitter.time(&batch, rounds)? {
                    Some(times) => median(times),
                    None => from_host(fitter, &batch, rounds)?,
                };
                let rate = rate(total, time);
                line.1.push((tracks as f64, rate));
                row.push(scientific(rate));
            }
            rows.write(&mut out, &row)?;
        }
        match picture {
            Some(picture) => {
                let x = format!("tracks of {}", if events == 1 { "one event" } else { "an event" });
                picture.draw(&figure(description, x, &lines))
            }
            None => Ok(()),
        }
    }

    fn setups(&self) -> Vec<Setup> {
        let all = self.map.iter().flat_map(|&map| self.workgroup_size.iter().map(move |&shape| Setup { map, shape }));
        let mut setups: Vec<Setup> = Vec::new();
        for Setup { map, shape } in all {
            // Rows do not change v1.
            let shape = if map == MapName::V1 { Shape { rows: 1, columns: shape.threads() } } else { shape };
            if !setups.iter().any(|other| (other.map, other.shape) == (map, shape)) {
                setups.push(Setup { map, shape });
            }
        }
        setups
    }

    fn name(&self, Setup { map, shape }: Setup) -> String {
        let map = format!("{map:?}").to_lowercase();
        if self.workgroup_size.len() == 1 { map } else { format!("{map} {shape}") }
    }
}

/// Rates against numbers of tracks, both logarithmic.
fn figure(title: String, x: String, lines: &[(String, Vec<(f64, f64)>)]) -> Figure {
    let range = |of: fn(&(f64, f64)) -> f64| {
        let values = lines.iter().flat_map(|(_, line)| line.iter().map(of)).filter(|value| *value > 0.0);
        let (low, high) = values.fold((f64::INFINITY, 0.0_f64), |(low, high), v| (low.min(v), high.max(v)));
        if low <= high { (low / 1.5, high * 1.5) } else { (1.0, 10.0) }
    };
    let (across, up) = (range(|point| point.0), range(|point| point.1));
    let y = Axis::new("throughput [tracks/s]", up.0, up.1).log().with_headroom();
    let mut panel = Panel::new("scan", Axis::new(x, across.0, across.1).log(), y);
    for (number, (name, line)) in lines.iter().enumerate() {
        let points = line.iter().map(|&(x, y)| Point::new(x, y)).collect();
        panel.layers.push(Layer::Line(line.clone(), Line::numbered(number)));
        panel.layers.push(Layer::Points(points, Marker::numbered(number)));
        panel.legend.push(Entry::new(Key::Both(Marker::numbered(number), Line::numbered(number)), name.clone()));
    }
    Figure::new(title, panel)
}
