//! `p2r bench`.

use std::io::{self, Write};

use clap::Args;
use command_host::{Failure, MessageOptions, Rows, bench_heading, median, rate, scientific, write_json};
use kernel_host::{BusBandwidth, bus_bandwidth};
use p2r::{Batch, Fitter, HIT, STATE, TRACK};
use serde::Serialize;

use super::check::check;
use super::options::{BenchInput, EngineOptions, MapName, ModeName, Shape, count, from_host};

/// Times fits: both modes, one layer and all, memory layouts and mappings onto threads
///
/// Times are medians: of the kernel, on the device's clock with tracks and hits in device memory;
/// and from host memory to host memory. The first tracks of each answer are compared with the
/// reference engine. A row is printed when it is measured.
#[derive(Args)]
pub(super) struct Bench {
    /// Events
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = count, help_heading = "Input")]
    events: usize,
    /// Tracks of an event
    #[arg(long, default_value_t = 8192, value_name = "N", value_parser = count, help_heading = "Input")]
    tracks: usize,
    #[command(flatten)]
    input: BenchInput,
    /// Tracks in a group of the memory layout; 0 for all of an event
    #[arg(long, default_values_t = [1, 8, 32, 128, 0], value_delimiter = ',', value_name = "N,N,...")]
    bsize: Vec<usize>,
    /// Threads of a workgroup of a GPU: their number, or rows and columns for v2 and v3, as in
    /// 2x64: x and y of the slides
    #[arg(long, default_values = ["32", "64", "128", "256"], value_delimiter = ',', value_name = "N|ROWSxCOLUMNS,...")]
    workgroup_size: Vec<Shape>,
    /// How tracks are mapped onto the threads of a GPU
    #[arg(long, value_enum, default_values = ["v1", "v2", "v3"], value_delimiter = ',', value_name = "MAP,MAP,...")]
    map: Vec<MapName>,
    /// Rounds of each
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: u32,
    /// JSON instead of tables
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    engine: EngineOptions,
}

#[derive(Serialize)]
struct Report {
    version: &'static str,
    debug_build: bool,
    engine: String,
    events: usize,
    tracks: usize,
    layers: usize,
    /// The bandwidth of copies by the device itself.
    bus_to_device_gb_per_s: Option<f64>,
    bus_to_host_gb_per_s: Option<f64>,
    measured: Vec<Measured>,
}

#[derive(Serialize)]
struct Measured {
    mode: String,
    layers: usize,
    bsize: usize,
    /// Absent on the CPU.
    map: Option<String>,
    workgroup: Option<String>,
    /// Of the kernel alone; none where there is no clock.
    kernel_tracks_per_s: Option<f64>,
    /// From host memory to host memory.
    tracks_per_s: Option<f64>,
    /// As a share of the rate that the bus allows with both directions in use at once.
    of_bus: Option<f64>,
}

/// Prints rows as they are measured, or keeps them for JSON.
struct Printer {
    rows: Rows,
    json: bool,
    measured: Vec<Measured>,
}

impl Printer {
    fn add(&mut self, row: Measured) -> Result<(), Failure> {
        if !self.json {
            self.rows.write(&mut io::stdout().lock(), &row.cells())?;
        }
        self.measured.push(row);
        Ok(())
    }
}

impl Bench {
    pub(super) fn run(&self, messages: MessageOptions) -> Result<(), Failure> {
        let first = self.engine.builder(self.input.spread()).build::<f32>()?;
        let bus = first.gpu().map(bus_bandwidth).transpose().map_err(p2r::Error::from)?;
        let (rows, header) = Rows::new(COLUMNS, 1);
        let mut printer = Printer { rows, json: self.json, measured: Vec::new() };
        let all = self.input.simulate::<f32>(self.events, self.tracks, 32)?;
        if !self.json {
            let mut out = io::stdout().lock();
            bench_heading(&mut out, &first.description())?;
            if let Some(bus) = bus {
                let (there, back) = (bus.to_device / 1e9, bus.to_host / 1e9);
                writeln!(out, "the bus: {there:.1} GB/s to the device, {back:.1} GB/s back")?;
            }
            writeln!(out, "{} events of {} tracks\n", self.events, self.tracks)?;
            printer.rows.write(&mut out, &header)?;
        }
        self.layers(&all, bus, first.gpu().is_some(), &mut printer)?;
        self.layouts(&all, &first, &mut printer, messages)?;
        if self.json {
            let report = Report {
                version: env!("CARGO_PKG_VERSION"),
                debug_build: cfg!(debug_assertions),
                engine: first.description(),
                events: self.events,
                tracks: self.tracks,
                layers: self.input.layers(),
                bus_to_device_gb_per_s: bus.map(|bus| bus.to_device / 1e9),
                bus_to_host_gb_per_s: bus.map(|bus| bus.to_host / 1e9),
                measured: printer.measured,
            };
            write_json(&mut io::stdout().lock(), &report)?;
        }
        Ok(())
    }

    fn total(&self) -> usize {
        self.events * self.tracks
    }

    fn rounds(&self) -> usize {
        self.rounds as usize
    }

    /// Measures the cost of layers.
    fn layers(
        &self,
        all: &Batch<f32>,
        bus: Option<BusBandwidth>,
        on_gpu: bool,
        printer: &mut Printer,
    ) -> Result<(), Failure> {
        for mode in [ModeName::Sequential, ModeName::SeedState] {
            let fitter = self.engine.builder(self.input.spread()).mode(mode.into()).build::<f32>()?;
            for layers in [1, self.input.layers()] {
                let batch: Batch<f32> = all.relaid(32, layers)?;
                check(&fitter, &batch)?;
                let kernel = self.kernel(&fitter, &batch)?;
                let host = rate(self.total(), from_host(&fitter, &batch, self.rounds())?);
                printer.add(Measured {
                    mode: format!("{mode:?}"),
                    layers,
                    bsize: 32,
                    map: on_gpu.then(|| "V1".to_owned()),
                    workgroup: on_gpu.then(|| "1x128".to_owned()),
                    kernel_tracks_per_s: kernel,
                    tracks_per_s: Some(host),
                    of_bus: bus.map(|bus| host / allowed(bus, mode, layers)),
                })?;
            }
        }
        Ok(())
    }

    /// Measures memory layouts and mappings onto threads.
    fn layouts(
        &self,
        all: &Batch<f32>,
        first: &Fitter<f32>,
        printer: &mut Printer,
        messages: MessageOptions,
    ) -> Result<(), Failure> {
        let layers = self.input.layers();
        let row = |bsize: usize| Measured {
            mode: "Sequential".to_owned(),
            layers,
            bsize,
            map: None,
            workgroup: None,
            kernel_tracks_per_s: None,
            tracks_per_s: None,
            of_bus: None,
        };
        for &bsize in &self.bsize {
            let bsize = if bsize == 0 { self.tracks } else { bsize };
            let batch: Batch<f32> = all.relaid(bsize, layers)?;
            if first.gpu().is_none() {
                check(first, &batch)?;
                let host = rate(self.total(), from_host(first, &batch, self.rounds())?);
                printer.add(Measured { tracks_per_s: Some(host), ..row(bsize) })?;
                continue;
            }
            for &map in &self.map {
                for &shape in &self.workgroup_size {
                    let builder =
                        self.engine.builder(self.input.spread()).map(map.into()).workgroup_size(shape.threads());
                    let fitter = builder.rows(shape.rows).build::<f32>()?;
                    messages.detail(format_args!("{map:?}, {shape}, groups of {bsize}"));
                    check(&fitter, &batch)?;
                    printer.add(Measured {
                        map: Some(format!("{map:?}")),
                        workgroup: Some(shape.to_string()),
                        kernel_tracks_per_s: self.kernel(&fitter, &batch)?,
                        ..row(bsize)
                    })?;
                }
            }
        }
        Ok(())
    }

    fn kernel(&self, fitter: &Fitter<f32>, batch: &Batch<f32>) -> Result<Option<f64>, Failure> {
        Ok(fitter.time(batch, self.rounds())?.map(|times| rate(self.total(), median(times))))
    }
}

/// The headings of the table and the widths of its columns.
const COLUMNS: [(&str, usize); 8] = [
    ("mode", 10),
    ("layers", 2),
    ("bsize", 5),
    ("map", 2),
    ("workgroup", 5),
    ("kernel [tracks/s]", 9),
    ("host to host [tracks/s]", 9),
    ("of the bus", 4),
];

impl Measured {
    fn cells(&self) -> [String; 8] {
        [
            self.mode.clone(),
            self.layers.to_string(),
            self.bsize.to_string(),
            self.map.clone().unwrap_or_default(),
            self.workgroup.clone().unwrap_or_default(),
            scientific(self.kernel_tracks_per_s),
            scientific(self.tracks_per_s),
            self.of_bus.map_or_else(String::new, |share| format!("{:.0} %", 100.0 * share)),
        ]
    }
}

/// Returns the rate that the bus allows with both directions in use at once \[tracks/s\].
fn allowed(bus: BusBandwidth, mode: ModeName, layers: usize) -> f64 {
    let there = (TRACK + layers * HIT) * size_of::<f32>();
    // A state, a status, and the sum of layers.
    let back = (STATE + 1 + usize::from(mode == ModeName::SeedState)) * size_of::<f32>();
    (bus.to_device / there as f64).min(bus.to_host / back as f64)
}
