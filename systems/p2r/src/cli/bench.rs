//! `p2r bench`.

use std::io::{self, Write};

use clap::Args;
use command_host::{Failure, bench_heading, median, rate, scientific, table, write_json};
use kernel_host::{BusBandwidth, bus_bandwidth};
use p2r::{Batch, HIT, STATE, TRACK};
use serde::Serialize;

use super::check::check;
use super::options::{EngineOptions, InputOptions, MapName, ModeName, from_host};

/// Times fits: both modes, one layer and all, and the ways to lay tracks out and to map them onto threads
///
/// Times are medians: of the kernel, on the device's clock with tracks and hits there already; and from host memory to
/// host memory. The first tracks of each answer are held against the reference engine.
#[derive(Args)]
pub(super) struct Bench {
    /// Events
    #[arg(long, default_value_t = 100, value_name = "N", help_heading = "Input")]
    events: usize,
    /// Tracks of an event
    #[arg(long, default_value_t = 8192, value_name = "N", help_heading = "Input")]
    tracks: usize,
    #[command(flatten)]
    input: InputOptions,
    /// Tracks that are laid out together; 0: all of an event
    #[arg(long, default_values_t = [1, 8, 32, 128, 0], value_delimiter = ',', value_name = "N,N,...")]
    bsize: Vec<usize>,
    /// Threads of a workgroup of a GPU
    #[arg(long, default_values_t = [32, 64, 128, 256], value_delimiter = ',', value_name = "N,N,...")]
    workgroup_size: Vec<u32>,
    /// How tracks are mapped onto the threads of a GPU
    #[arg(long, value_enum, default_values = ["v1", "v2", "v3"], value_delimiter = ',', value_name = "MAP,MAP,...")]
    map: Vec<MapName>,
    /// Rounds of each
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
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
    /// Of copies that the device makes by itself, in GB/s.
    bus_to_device_gb_per_s: Option<f64>,
    bus_to_host_gb_per_s: Option<f64>,
    measured: Vec<Measured>,
}

#[derive(Serialize)]
struct Measured {
    mode: String,
    layers: usize,
    bsize: usize,
    /// Of a GPU.
    map: Option<String>,
    workgroup_size: Option<u32>,
    /// Tracks a second, of the kernel; none where there is no clock.
    kernel_tracks_per_s: Option<f64>,
    /// From host memory to host memory.
    tracks_per_s: Option<f64>,
    /// And as a share of what the bus allows, both ways at once.
    of_bus: Option<f64>,
}

impl Bench {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let rounds = self.rounds as usize;
        let first = self.engine.builder().build::<f32>()?;
        let on_gpu = first.gpu().is_some();
        let bus = first.gpu().map(bus_bandwidth).transpose().map_err(p2r::Error::from)?;
        let mut report = Report {
            version: env!("CARGO_PKG_VERSION"),
            debug_build: cfg!(debug_assertions),
            engine: first.description(),
            events: self.events,
            tracks: self.tracks,
            layers: self.input.layers(),
            bus_to_device_gb_per_s: bus.map(|bus| bus.to_device / 1e9),
            bus_to_host_gb_per_s: bus.map(|bus| bus.to_host / 1e9),
            measured: Vec::new(),
        };
        let all = self.input.simulate::<f32>(self.events, self.tracks, 32)?;
        let total = self.events * self.tracks;
        let mut out = io::stdout().lock();
        // What the number of layers costs.
        for mode in [ModeName::Sequential, ModeName::SeedState] {
            let fitter = self.engine.builder().mode(mode.into()).build::<f32>()?;
            for layers in [1, self.input.layers()] {
                let batch: Batch<f32> = all.relaid(32, layers)?;
                check(&fitter, &batch)?;
                let kernel = fitter.time(&batch, rounds)?.map(|times| rate(total, median(times)));
                let host = rate(total, from_host(&fitter, &batch, rounds)?);
                report.measured.push(Measured {
                    mode: format!("{mode:?}"),
                    layers,
                    bsize: 32,
                    map: on_gpu.then(|| "V1".to_owned()),
                    workgroup_size: on_gpu.then_some(128),
                    kernel_tracks_per_s: kernel,
                    tracks_per_s: Some(host),
                    of_bus: bus.map(|bus| host / allowed(bus, mode, layers)),
                });
            }
        }
        for &bsize in &self.bsize {
            let bsize = if bsize == 0 { self.tracks } else { bsize };
            let batch: Batch<f32> = all.relaid(bsize, self.input.layers())?;
            for &map in self.map.iter().filter(|_| on_gpu) {
                for &size in &self.workgroup_size {
                    let builder = self.engine.builder().map(map.into()).workgroup_size(size);
                    let fitter = builder.build::<f32>()?;
                    check(&fitter, &batch)?;
                    let kernel = fitter.time(&batch, rounds)?.map(|times| rate(total, median(times)));
                    report.measured.push(Measured {
                        mode: "Sequential".to_owned(),
                        layers: self.input.layers(),
                        bsize,
                        map: Some(format!("{map:?}")),
                        workgroup_size: Some(size),
                        kernel_tracks_per_s: kernel,
                        tracks_per_s: None,
                        of_bus: None,
                    });
                }
            }
            if !on_gpu {
                check(&first, &batch)?;
                report.measured.push(Measured {
                    mode: "Sequential".to_owned(),
                    layers: self.input.layers(),
                    bsize,
                    map: None,
                    workgroup_size: None,
                    kernel_tracks_per_s: None,
                    tracks_per_s: Some(rate(total, from_host(&first, &batch, rounds)?)),
                    of_bus: None,
                });
            }
        }
        if self.json {
            write_json(&mut out, &report)?;
        } else {
            print(&mut out, &report)?;
        }
        Ok(())
    }
}

/// Tracks a second that the bus allows: both ways are open at once.
fn allowed(bus: BusBandwidth, mode: ModeName, layers: usize) -> f64 {
    let there = (TRACK + layers * HIT) * size_of::<f32>();
    // A state, a status, and the sum of layers.
    let back = (STATE + 1 + usize::from(mode == ModeName::SeedState)) * size_of::<f32>();
    (bus.to_device / there as f64).min(bus.to_host / back as f64)
}

fn print(out: &mut impl Write, report: &Report) -> io::Result<()> {
    bench_heading(out, &report.engine)?;
    if let (Some(there), Some(back)) = (report.bus_to_device_gb_per_s, report.bus_to_host_gb_per_s) {
        writeln!(out, "the bus: {there:.1} GB/s to the device, {back:.1} GB/s back")?;
    }
    writeln!(out, "{} events of {} tracks\n", report.events, report.tracks)?;
    let header =
        ["mode", "layers", "bsize", "map", "workgroup", "kernel [tracks/s]", "host to host [tracks/s]", "of the bus"];
    let mut table = table(header, 1);
    for row in &report.measured {
        table.add_row([
            row.mode.clone(),
            row.layers.to_string(),
            row.bsize.to_string(),
            row.map.clone().unwrap_or_default(),
            row.workgroup_size.map_or_else(String::new, |size| size.to_string()),
            scientific(row.kernel_tracks_per_s),
            scientific(row.tracks_per_s),
            row.of_bus.map_or_else(String::new, |share| format!("{:.0} %", 100.0 * share)),
        ]);
    }
    writeln!(out, "{table}")
}
