//! `p2r bench`.

use std::io::{self, Write};

use clap::Args;
use command_host::{Failure, bench_heading, median, rate, scientific, table, write_json};
use p2r::{Batch, Engine, Fitted, Fitter};
use serde::Serialize;

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
}

/// Tracks that are held against the reference engine.
const CHECKED: usize = 64;

impl Bench {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let rounds = self.rounds as usize;
        let first = self.engine.builder().build::<f32>()?;
        let on_gpu = first.gpu().is_some();
        let mut report = Report {
            version: env!("CARGO_PKG_VERSION"),
            debug_build: cfg!(debug_assertions),
            engine: first.description(),
            events: self.events,
            tracks: self.tracks,
            layers: self.input.layers(),
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
                self.check(&fitter, &batch)?;
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
                    self.check(&fitter, &batch)?;
                    let kernel = fitter.time(&batch, rounds)?.map(|times| rate(total, median(times)));
                    report.measured.push(Measured {
                        mode: "Sequential".to_owned(),
                        layers: self.input.layers(),
                        bsize,
                        map: Some(format!("{map:?}")),
                        workgroup_size: Some(size),
                        kernel_tracks_per_s: kernel,
                        tracks_per_s: None,
                    });
                }
            }
            if !on_gpu {
                self.check(&first, &batch)?;
                report.measured.push(Measured {
                    mode: "Sequential".to_owned(),
                    layers: self.input.layers(),
                    bsize,
                    map: None,
                    workgroup_size: None,
                    kernel_tracks_per_s: None,
                    tracks_per_s: Some(rate(total, from_host(&first, &batch, rounds)?)),
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

    /// The first tracks of a batch and the last one against the reference engine.
    fn check(&self, fitter: &Fitter<f32>, batch: &Batch<f32>) -> Result<(), Failure> {
        let layout = batch.layout();
        let reference = Fitter::builder().engine(Engine::Reference).mode(fitter.mode()).build::<f64>()?;
        let mut few = Batch::<f64>::new(p2r::Layout { events: 1, tracks: layout.tracks.min(CHECKED), ..layout })?;
        let at = |i: usize| if i == 0 { (layout.events - 1, layout.tracks - 1) } else { (0, i) };
        for i in 0..few.layout().tracks {
            let (event, track) = at(i);
            few.set_track(0, i, &batch.track(event, track));
            (0..layout.layers).for_each(|layer| few.set_hit(0, i, layer, &batch.hit(event, track, layer)));
        }
        let wanted = reference.fit(&few)?;
        let found = fitter.fit(batch)?;
        let alike = (0..few.layout().tracks).filter(|&i| alike(&found, at(i), &wanted, i)).count();
        if alike * 10 < few.layout().tracks * 9 {
            let tracks = few.layout().tracks;
            let what = format!("{}: {alike} of {tracks} tracks are the reference engine's", fitter.description());
            return Err(Failure::wrong_answer(what));
        }
        Ok(())
    }
}

/// Parameters within a fifth of their errors, and the same status. In f32 that holds for nine tracks in ten at least: smeared
/// covariances of the mini-app's hits need not be any, and a step near the one that corrects derivatives may fall on either
/// side.
fn alike(found: &Fitted<f32>, (event, track): (usize, usize), wanted: &Fitted<f64>, i: usize) -> bool {
    let (a, b) = (found.state(event, track), wanted.state(0, i));
    let variances = [6, 8, 11, 15, 20, 26];
    (0..6).all(|n| (a[n] - b[n]).abs() <= 0.2 * b[variances[n]].abs().sqrt().max(1e-5 * b[n].abs()))
        && found.status(event, track) == wanted.status(0, i)
}

fn print(out: &mut impl Write, report: &Report) -> io::Result<()> {
    bench_heading(out, &report.engine)?;
    writeln!(out, "{} events of {} tracks\n", report.events, report.tracks)?;
    let header = ["mode", "layers", "bsize", "map", "workgroup", "kernel [tracks/s]", "host to host [tracks/s]"];
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
        ]);
    }
    writeln!(out, "{table}")
}
